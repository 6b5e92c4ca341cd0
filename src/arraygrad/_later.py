"""Modules that are imported when something of theirs is first asked for: `later`.

May import: nothing of arraygrad. What only some operations need, such as the rules of the factorizations, would
otherwise be read and kept by every program that imports arraygrad: 0.1 ms a module.

From any thread: Python's own lock of the module makes one import it and the others wait. What that import raises, an
interruption too, is raised to whoever asked, nothing is kept of it, and the next one to ask tries again. A fork waits
for imports made here: in the child nobody would finish them, and whoever asked there would wait for ever.
"""

import os
from _thread import RLock
from importlib import import_module

__all__ = ["importing", "later"]

importing = RLock()  # held while something is imported late, here and for the first array of a library
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=importing.acquire, after_in_parent=importing.release, after_in_child=importing.release)


class _Later:
    """Stands for a module: the first attribute asked for imports it, from then on its names are this object's."""

    __slots__ = ("__dict__", "__later__")

    def __init__(self, name):
        self.__later__ = name

    def __getattr__(self, attribute):
        # Reached for what is not in __dict__: everything at first, later what the module does not have either.
        with importing:
            module = import_module(self.__later__)
        self.__dict__ = module.__dict__
        return getattr(module, attribute)

    def __repr__(self):
        return f"<module {self.__later__!r}, imported when it is first used>"


def later(name):
    """What can be used as the module of that dotted name, without importing it yet."""
    return _Later(name)
