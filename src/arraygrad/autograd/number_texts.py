"""Whether a number is asked for to make text of it: its value is only shown.

May import: autograd.instructions, the standard library.
"""

import dis
import inspect
import re

from arraygrad.autograd.instructions import start_of, steps_of

__all__ = ["formats", "logs", "shown", "text_filled"]

_FIELD = re.compile(r"%(?:\(\w*\))?[-+ #0]*(?:\d+|\*)?(\.(?:\d+|\*))?[hlL]?([eEfFgG])")
_MOST_DIGITS = 17  # that a number of `%.*f` may have


def logs(frame):
    """Whether a frame of logging makes the text of a record."""
    if frame.f_globals.get("__name__") != "logging":
        return False
    return frame.f_code.co_name == "getMessage" or formats(frame)


def formats(frame):
    """Whether a frame is at `text % ...`, where the text is a constant, a variable or an attribute."""
    return _format_of(frame) is not None


def text_filled(frame):
    """The text with `%` in it whose numbers a frame makes, by the operator or as logging does; None: it makes none.

    Bytes are none: who reads a number from them is not told.
    """
    if logs(frame):
        return str(getattr(frame.f_locals.get("self"), "msg", ""))
    found = _format_of(frame)
    return found if isinstance(found, str) else None


def shown(text, value):
    """What a text with `%` in it may show of a number: a text for each of its fields."""
    found = set()
    for digits, kind in _FIELD.findall(text):
        for one in [f".{n}" for n in range(_MOST_DIGITS + 1)] if digits == ".*" else (digits,):
            found.add(f"%{one}{kind}" % value)
    return found


def _format_of(frame):
    """The text of `text % ...`, None elsewhere."""
    while frame.f_back is not None and frame.f_code.co_filename.endswith(".pyx"):
        frame = frame.f_back  # a build with line events has frames of its own
    if frame.f_lasti < 0 or frame.f_code.co_code[frame.f_lasti] != _BINARY:
        return None
    steps = [step for step in steps_of(frame.f_code) if step.offset <= frame.f_lasti]
    if steps[-1].argrepr not in ("%", "%="):
        return None
    right = start_of(steps, len(steps) - 1)
    left = right and start_of(steps, right)
    if left is None or left < right - 2 or (left == right - 2 and steps[right - 1].opname != "LOAD_ATTR"):
        return None
    step = steps[left]
    if step.opname == "LOAD_CONST":
        value = step.argval
    elif step.opname.startswith(("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")):
        value = frame.f_locals.get(step.argval, frame.f_globals.get(step.argval))
    else:
        return None
    if left == right - 2:
        value = inspect.getattr_static(value, steps[right - 1].argval, None)
    return value if isinstance(value, str | bytes) else None


_BINARY = dis.opmap["BINARY_OP"]
