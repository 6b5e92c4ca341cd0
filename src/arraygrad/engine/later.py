"""What a function of the program is called as when a node keeps it, and what its names hold then. Imports nothing.

Backward calls it when the call that made the node may be over. Adoption (`arraygrad.adoption`), which concerns running
calls, is above the engine: it says here what it needs.
"""

__all__ = ["called_later", "real_thing", "set_later"]

_later = None  # see set_later
_real = None


def called_later(function):
    """A function that a node keeps to be called in backward, as it is to be kept.

    In an adopted call it is one whose call is adopted as the running call is; otherwise the function itself. See Note
    [Called later] in adoption/builtin_answers.pyx.
    """
    return function if _later is None else _later(function)


def real_thing(value):
    """What a name of the program holds when no adopted call runs, for a value that it holds now.

    In an adopted call a name may hold what stands in for a function, a module or the code of a function.
    """
    return value if _real is None else _real(value)


def set_later(later, real):
    """Have `later(function)` say what is kept in the place of a function, and `real(value)` what a stand-in is for."""
    global _later, _real
    _later, _real = later, real
