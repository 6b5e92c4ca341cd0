"""Whether a number is asked for to make text of it: its value is only shown.

May import: autograd.instructions, the standard library.
"""

import dis
import inspect

from arraygrad.autograd.instructions import start_of, steps_of

__all__ = ["formats", "logs"]


def logs(frame):
    """Whether a frame of logging makes the text of a record."""
    if frame.f_globals.get("__name__") != "logging":
        return False
    return frame.f_code.co_name == "getMessage" or formats(frame)


def formats(frame):
    """Whether a frame is at `text % ...`, where the text is a constant, a variable or an attribute."""
    while frame.f_back is not None and frame.f_code.co_filename.endswith(".pyx"):
        frame = frame.f_back  # a build with line events has frames of its own
    if frame.f_lasti < 0 or frame.f_code.co_code[frame.f_lasti] != _BINARY:
        return False
    steps = [step for step in steps_of(frame.f_code) if step.offset <= frame.f_lasti]
    if steps[-1].argrepr not in ("%", "%="):
        return False
    right = start_of(steps, len(steps) - 1)
    left = right and start_of(steps, right)
    if left is None or left < right - 2 or (left == right - 2 and steps[right - 1].opname != "LOAD_ATTR"):
        return False
    step = steps[left]
    if step.opname == "LOAD_CONST":
        value = step.argval
    elif step.opname.startswith(("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")):
        value = frame.f_locals.get(step.argval, frame.f_globals.get(step.argval))
    else:
        return False
    if left == right - 2:
        value = inspect.getattr_static(value, steps[right - 1].argval, None)
    return isinstance(value, str | bytes)


_BINARY = dis.opmap["BINARY_OP"]
