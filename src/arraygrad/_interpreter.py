"""Refuses to be imported in a subinterpreter, before anything compiled is loaded there.

May import: nothing of arraygrad. The core's threads, tables and immortal objects belong to the process, and NumPy's do
as well. Without this check the first interpreter that imports arraygrad would get it, and every other an error that
names neither arraygrad nor the reason; were the first a subinterpreter, the program itself would be refused.
"""

import sys

__all__ = ["in_main_interpreter"]


def in_main_interpreter() -> bool:
    """Whether this code runs in the interpreter that the process started with (True where that can't be found out)."""
    import _thread

    ask = getattr(_thread, "_is_main_interpreter", None)  # what threading itself uses, since 3.12
    if ask is not None:
        return ask()
    try:
        import _xxsubinterpreters as interpreters  # 3.11
    except ImportError:
        return True
    return interpreters.get_current() == interpreters.get_main()


if sys.implementation.name == "cpython" and not in_main_interpreter():
    raise ImportError(
        "arraygrad cannot be imported in a subinterpreter: its engine, like NumPy, exists once per process. "
        "Import it in the main interpreter; use threads (or free-threaded Python) or processes for parallel work."
    )
