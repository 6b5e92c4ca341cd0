"""Whether a number is asked for to make text of it: its value is only shown.

May import: the standard library.
"""

import dis
import inspect

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
    steps = [s for s in dis.get_instructions(frame.f_code) if s.offset <= frame.f_lasti and s.opname != "CACHE"]
    if steps[-1].argrepr not in ("%", "%="):
        return False
    right = _pushed(steps[:-1])
    left = right and _pushed(steps[:right])
    if left is None or left < right - 2 or (left == right - 2 and steps[right - 1].opname != "LOAD_ATTR"):
        return False
    step = steps[left]
    if step.opname == "LOAD_CONST":
        value = step.argval
    elif step.opname.startswith(("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")):
        name = step.argval if isinstance(step.argval, str) else None
        value = frame.f_locals.get(name, frame.f_globals.get(name))
    else:
        return False
    if left == right - 2:
        value = inspect.getattr_static(value, steps[right - 1].argval, None)
    return isinstance(value, str | bytes)


def _pushed(steps):
    """Index of the first of the instructions that together push the topmost value of the stack; None: not found."""
    depth = 0
    for i in range(len(steps) - 1, -1, -1):
        step = steps[i]
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            return None
        depth += dis.stack_effect(step.opcode, step.arg if step.opcode >= dis.HAVE_ARGUMENT else None)
        if depth == 1:
            return i
    return None


_BINARY = dis.opmap["BINARY_OP"]
