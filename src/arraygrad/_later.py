"""Modules that are imported when something of theirs is first asked for: `later`.

May import: nothing of arraygrad. What only some operations need, such as the rules of the factorizations, would
otherwise be read and kept by every program that imports arraygrad: 0.1 ms a module.

From any thread: Python's own lock of the module makes one import it and the others wait. What that import raises, an
interruption too, is raised to whoever asked, nothing is kept of it, and the next one to ask tries again.

A fork waits for imports made here: in the child nobody would finish them, and whoever asked there would wait for ever.
It waits without a lock, and not for ever itself: an import may need a lock that the fork has taken already, such as
that of logging.
"""

import importlib
import os
import time
import weakref
from _thread import get_ident

__all__ = ["Importing", "import_module", "later"]

FORK_SECONDS = 10.0

# Those at work. Weak, because Ctrl-C may come where no `with` is there to end one.
_imports: weakref.WeakSet = weakref.WeakSet()


class Importing:
    """A block of code that imports something while the program runs: forks in other threads wait for its end."""

    __slots__ = ("__weakref__", "thread")

    def __enter__(self):
        self.thread = get_ident()
        _imports.add(self)

    def __exit__(self, *exc):
        _imports.discard(self)


def _before_fork():
    deadline = time.monotonic() + FORK_SECONDS
    while any(one.thread != get_ident() for one in list(_imports)) and time.monotonic() < deadline:
        time.sleep(0.001)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)


def import_module(name):
    """importlib.import_module, for which forks in other threads wait."""
    with Importing():
        return importlib.import_module(name)


class _Later:
    """Stands for a module: the first attribute asked for imports it, from then on its names are this object's."""

    __slots__ = ("__dict__", "__later__")

    def __init__(self, name):
        self.__later__ = name

    def __getattr__(self, attribute):
        # Reached for what is not in __dict__: everything at first, later what the module does not have either.
        if attribute[:2] == attribute[-2:] == "__":  # what looks at objects asks for it, such as inspect.unwrap
            raise AttributeError(f"{self!r} has no attribute {attribute!r}", name=attribute, obj=self)
        module = import_module(self.__later__)
        self.__dict__ = module.__dict__
        return getattr(module, attribute)

    def __repr__(self):
        return f"<module {self.__later__!r}, imported when it is first used>"


def later(name):
    """What can be used as the module of that dotted name, without importing it yet."""
    return _Later(name)
