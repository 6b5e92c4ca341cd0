"""What a function of the program is called as when a node keeps it. Imports nothing.

Backward calls it when the call that made the node may be over. Adoption (`arraygrad.adoption`), which concerns running
calls, is above the engine: it says here what it needs.
"""

__all__ = ["called_later", "set_later"]

_later = None  # see set_later


def called_later(function):
    """A function that a node keeps to be called in backward, as it is to be kept.

    In an adopted call it is one whose call is adopted as the running call is; otherwise the function itself. See Note
    [Called later] in adoption/answers.pyx.
    """
    return function if _later is None else _later(function)


def set_later(later):
    """Have `later(function)` say what is kept in the place of a function."""
    global _later
    _later = later
