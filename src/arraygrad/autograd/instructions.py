"""The instructions of code in one form for all versions of Python, and by how much each changes the stack.

May import: the standard library.

(1) What only the interpreter needs is left out: CACHE, EXTENDED_ARG, NOP, NOT_TAKEN, PRECALL.
(2) An instruction for two variables is two.
(3) A call has the names of its keywords itself, and `effect` is that of all of it.
"""

import dis
import functools
import sys

__all__ = ["Step", "forget_steps", "is_called", "start_of", "steps_of"]

_WITHOUT_MEANING = frozenset(("CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "PRECALL"))
_PAIRS: dict[str, tuple[str, str]] = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


class Step:
    """An instruction, with the attributes of `dis.Instruction`.

    Attributes
    ----------
    opname, opcode, arg, argval, argrepr, offset, positions
        As `dis` has them; `arg` is 0 where there is none.
    effect : int
        By how much it changes the height of the stack where it does not jump.
    jumps : bool
    keywords : tuple of str
        Of a call: the names of its last arguments.
    """

    __slots__ = (
        "arg", "argrepr", "argval", "effect", "jumps", "keywords", "offset", "opcode", "opname", "positions",
    )  # fmt: skip

    def __init__(self, one, opname, argval, effect):
        self.opname, self.argval, self.effect = opname, argval, effect
        self.opcode = dis.opmap[opname]
        self.arg, self.argrepr, self.offset, self.positions = one.arg or 0, one.argrepr, one.offset, one.positions
        self.jumps, self.keywords = one.opcode in _JUMPS, ()

    @property
    def line(self):
        return self.positions.lineno if self.positions else None


_FEW = 256  # code objects whose instructions are kept after a search


def forget_steps():
    """Let go of the instructions of much code."""
    if steps_of.cache_info().currsize > _FEW:
        steps_of.cache_clear()


@functools.lru_cache(maxsize=1 << 14)
def steps_of(code):
    """The instructions of code, as a list of Step; functions in the code are not looked into.

    A search for what a function leads to asks for the same code in several places: `forget_steps` ends that.
    """
    found = []
    keywords = ()
    for one in dis.get_instructions(code):
        name = one.opname
        if name in _WITHOUT_MEANING:
            continue
        if name in _PAIRS:
            for part, value in zip(_PAIRS[name], one.argval, strict=True):
                found.append(Step(one, part, value, 1 if part == "LOAD_FAST" else -1))
            continue
        if name == "KW_NAMES":  # until Python 3.12
            keywords = code.co_consts[one.arg]
            continue
        if name in ("CALL", "CALL_KW"):
            if name == "CALL_KW":
                keywords = found.pop().argval
            step = Step(one, name, one.argval, -1 - one.arg)
            step.keywords, keywords = keywords, ()
        else:
            has_argument = one.opcode >= dis.HAVE_ARGUMENT
            step = Step(one, name, one.argval, dis.stack_effect(one.opcode, one.arg if has_argument else None))
        found.append(step)
    return found


def start_of(steps, end):
    """Where the instructions begin that push the value which is topmost before `steps[end]`; None: not found.

    A value behind a jump, as of a conditional expression, is not found.
    """
    height = 0
    for i in range(end - 1, -1, -1):
        if steps[i].jumps:
            return None
        height += steps[i].effect
        if height >= 1:  # 2: with a NULL beside it
            return i
    return None


def is_called(steps, at):
    """Whether a name or attribute that an instruction loads is what a call calls: a NULL, or itself, is beside it."""
    step = steps[at]
    if step.opname == "LOAD_METHOD" or (step.opname == "LOAD_ATTR" and sys.version_info >= (3, 12) and step.arg & 1):
        return True
    if step.opname == "LOAD_GLOBAL" and step.arg & 1:
        return True
    after = steps[at + 1].opname
    if sys.version_info >= (3, 13):
        return step.opname.startswith("LOAD_") and after == "PUSH_NULL"
    if after in ("LOAD_ATTR", "LOAD_METHOD"):
        return False
    while at and steps[at].opname == "LOAD_ATTR":
        at -= 1
    first = steps[at]
    return (first.opname == "LOAD_GLOBAL" and bool(first.arg & 1)) or (
        at > 0 and first.opname.startswith("LOAD_") and steps[at - 1].opname == "PUSH_NULL"
    )
