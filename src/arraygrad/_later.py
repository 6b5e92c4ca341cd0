"""Modules that are imported when something of theirs is first asked for: `later`.

May import: nothing of arraygrad. What only some operations need, such as the rules of the factorizations, would
otherwise be read and kept by every program that imports arraygrad: 0.1 ms a module.

From any thread: Python's own lock of the module makes one import it and the others wait. What that import raises, an
interruption too, is raised to whoever asked, nothing is kept of it, and the next one to ask tries again.

A fork waits for imports made here: in the child nobody would finish them, and whoever asked there would wait for ever.
It waits without a lock, and not for ever itself: an import may need a lock that the fork has taken already, such as
that of logging.

Signal handlers of the program's wait for an import that the main thread makes here: one that runs a backward would
find modules of which half is there. Ctrl-C does not wait: the import ends, and the next one to ask tries again.
"""

import _signal
import importlib
import os
import sys
import time
import weakref
from _thread import get_ident

__all__ = ["Importing", "import_module", "later"]

FORK_SECONDS = 10.0

# Those at work. Weak, because Ctrl-C may come where no `with` is there to end one.
_imports: weakref.WeakSet = weakref.WeakSet()


class Importing:
    """A block of code that imports something while the program runs.

    Forks in other threads wait for its end, and so do signal handlers, which run in the main thread: they run then.
    """

    __slots__ = ("__weakref__", "handlers", "thread")

    def __enter__(self):
        self.thread = get_ident()
        _imports.add(self)
        self.handlers = _Handlers()
        self.handlers.hold()

    def __exit__(self, *exc):
        _imports.discard(self)
        self.handlers.release()


class _Handlers:
    """Python's signal handlers, all but that of Ctrl-C, with `note` in their place between `hold` and `release`.

    Inside another block of the kind there are none left to hold, and threads other than the main one hold none.
    """

    def __init__(self):
        self.held = {}
        self.came = []
        self.note = self._note

    def _note(self, number, frame):
        self.came.append(number)

    def hold(self):
        try:
            for number in _signal.valid_signals():
                handler = _signal.getsignal(number)
                if callable(handler) and handler is not _signal.default_int_handler and not _is_note(handler):
                    self.held[number] = handler  # first: Ctrl-C may come in between
                    _signal.signal(number, self.note)
        except ValueError:  # not the main thread: handlers don't run here
            self.held.clear()
        except BaseException:
            self._put_back()
            raise

    def release(self):
        try:
            self._put_back()
        except BaseException:  # Ctrl-C
            self._put_back()
            raise
        finally:
            self._send_again()

    def _put_back(self):
        for number, handler in list(self.held.items()):
            if _signal.getsignal(number) is self.note:  # what was imported may have set one of its own
                _signal.signal(number, handler)

    def _send_again(self):
        while self.came:
            try:
                _signal.raise_signal(self.came.pop(0))
            finally:
                self._send_again()


def _is_note(handler):
    return isinstance(getattr(handler, "__self__", None), _Handlers)


def _before_fork():
    deadline = time.monotonic() + FORK_SECONDS
    while any(one.thread != get_ident() for one in list(_imports)) and time.monotonic() < deadline:
        time.sleep(0.001)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)


def import_module(name):
    """importlib.import_module, for which forks in other threads and signal handlers wait."""
    found = sys.modules.get(name)
    if found is not None and not getattr(getattr(found, "__spec__", None), "_initializing", False):
        return found
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
