"""Whether transforms adopt the functions that they are given: `set_adoption`.

May import: autograd.grad_mode, the standard library. `arraygrad` exports the name. The rest of the room takes its time
to import, and a process that turns adoption off does not need it.
"""

import contextvars
import importlib

from arraygrad.autograd.grad_mode import DecoratingMode

__all__ = ["adopted", "adoption_mode", "on_change", "packages_of", "set_adoption", "set_room"]

_mode = True  # the whole process; replaced in one step
_here: contextvars.ContextVar = contextvars.ContextVar("arraygrad.adoption", default=None)
_told = []  # see on_change


def adoption_mode():
    """What holds here: True, False, or a tuple of names of packages."""
    here = _here.get()
    return _mode if here is None else here


def packages_of(name, packages):
    """Names of packages as a tuple.

    Raises
    ------
    TypeError
        If they are none.
    """
    names = (packages,) if isinstance(packages, str) else packages
    if not isinstance(names, tuple | list | set | frozenset) or not all(isinstance(one, str) for one in names):
        raise TypeError(f"{name}: expected True, False or names of packages, got {packages!r}")
    return tuple(names)


def on_change(told):
    """Call `told()` whenever True may no longer be what holds everywhere; at once if that is so already."""
    _told.append(told)
    if _changed:
        told()


_changed = False


def _differs():
    """Tell that True may no longer be what holds everywhere."""
    global _changed
    _changed = True
    for told in _told:
        told()


def _set(mode):
    global _mode
    if mode is not True:
        _differs()
    before, _mode = _mode, mode
    return before


class set_adoption(DecoratingMode):
    """set_adoption(mode): have transforms run functions adopted, or not, where their `adopt` says nothing.

    Called alone it holds for the whole process, from now on. As a context manager or decorator it holds in the block or
    in the calls of the function, for this thread or task, and takes precedence over that of the process. What counts is
    where the function that a transform returned is called.

    Parameters
    ----------
    mode : bool, str or tuple of str
        True: adopt all that a function leads to, as a process does that says nothing. False: record what NumPy's and
        SciPy's protocols show, and refuse the rest. Names of packages and modules: adopt only what they hold.

    Raises
    ------
    TypeError
        If `mode` is none of these.

    Examples
    --------
    >>> import math
    >>> import arraygrad as ag
    >>> slope = ag.grad(lambda x: math.sin(x))
    >>> slope(0.0)
    1.0
    >>> with ag.set_adoption(False):
    ...     slope(0.0)
    Traceback (most recent call last):
        ...
    TypeError: ...
    """

    __slots__ = ("_before",)

    def __init__(self, mode):
        if not isinstance(mode, bool):
            mode = packages_of("set_adoption", mode)
        super().__init__(_here.set, mode, _here.reset)
        self._before = (_set(mode),)

    def _give_back(self):
        """Have the process as it was before: the setting is one of a block."""
        if self._before is not None:
            (before,), self._before = self._before, None
            _set(before)

    def __enter__(self):
        self._give_back()
        return super().__enter__()

    def __call__(self, function):
        """Decorate `function`; the process gets its setting back."""
        self._give_back()
        return super().__call__(function)

    def __repr__(self):
        return f"set_adoption({self.value!r})"


def adopted(function, adopt):
    """What calls a function adopted; itself where that is not asked for, or changes nothing.

    Parameters
    ----------
    function : callable
    adopt : bool, str, tuple of str or None
        None: as `set_adoption` says when the function is called.

    Raises
    ------
    TypeError
        If `adopt` is none of these.
    """
    if adopt is False or (adopt is None and getattr(function, "adopts_itself", False) is True):
        return function
    if _by_default is None:
        _import()
    if adopt is None:
        return _by_default(function)
    return _adopts(function) if adopt is True else _adopts(function, adopt)


_room = None  # see set_room
_adopts = _by_default = None  # of that module


def set_room(name):
    """Have the module of that name adopt functions; it is imported with the first one."""
    global _room
    _room = name


def _import():
    global _adopts, _by_default
    room = importlib.import_module(_room)
    _adopts, _by_default = room.adopt, room.adopts_by_default
