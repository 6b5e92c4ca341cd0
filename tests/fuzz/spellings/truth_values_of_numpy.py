"""Truth values in the place of integers: degrees, counts, shifts, lengths and axes of NumPy's functions.

The class: every function of `calls_of_numpy` x every integer that is an argument, an option or an item of one x True
and False. Some of NumPy's functions take a truth value for an int, some raise TypeError: ours do as each does.
"""

import ast
import re

import numpy as np

import arraygrad as ag

from .calls_of_numpy import CALLS_WITH_OPTIONS
from .options_of_numpy import REFUSALS, VALUES, compiled, names_in
from .spelling import Spelling

UNDECIDED = 0.1
MORE = """
np.reshape(v[:1], 1)
np.reshape(v, (4, 1))
v[:1].reshape(1)
np.broadcast_to(z, 3)
np.broadcast_to(z, (1, 2))
np.resize(v, 3)
np.full(2, z)
np.full((1, 2), z)
np.full_like(m, z, shape=2)
np.tile(v, 2)
np.tile(v, (2, 1))
np.take(m, 1, 1)
np.polyfit(v, u, 1)
np.polyint(v, 1, k=[z, y])
np.tensordot(v, u, 1)
np.transpose(c3, (0, 1, 2))
np.moveaxis(c3, (0, 1), (1, 2))
np.gradient(l, 2, edge_order=2)
np.var(m, 1, ddof=1)
np.fft.rfft(v, 3)
np.fft.irfft(v, 3)
np.fft.hfft(v, 3)
np.fft.ihfft(v, 3)
np.fft.fftn(m, (3, 2), (0, 1))
np.fft.irfftn(m, (3, 2), (0, 1))
v ** 1
v.repeat(1, 0)
v[1]
m[1, 0]
""".strip().splitlines()  # fmt: skip
# A Tensor without axes rounds as a number does, where NumPy's array has no round(); the items of r are a tuple's.
LEFT_OUT = re.compile(r"^round\(|lambda r:")


def _expanded():
    """Calls with each option that may be an integer, or several."""
    for text in [*CALLS_WITH_OPTIONS, *MORE]:
        call, _, options = text.partition(";")
        call = re.sub(r"\{(\w+)\}", lambda found: _first(found[1]), call).strip()
        if LEFT_OUT.search(call):
            continue
        yield call
        for option in options.split():
            name, _, values = option.partition("=")
            whole = [v for v in VALUES[values or name].split() if re.fullmatch(r"-?\d|\(-?\d(,-?\d)?,?\)", v)]
            for value in dict.fromkeys([*whole[:1], *[v for v in whole if v.startswith("(")][:1]]):
                yield f"{call[:-1]}{'' if call.endswith('()') else ', '}{name}={value})"


def _first(name):
    values = [value for value in VALUES[name].split() if value != "None"]
    return next((value for value in values if re.fullmatch(r"[01]", value)), values[0])


def _is_integer(node):
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant) and type(node.value) is int


def _places(tree):
    """(list of nodes, place in it) of each integer that is an argument, an exponent, an index, or an item of these."""
    for node in ast.walk(tree):
        given = []
        if isinstance(node, ast.Call):
            given = [node.args, *[keyword.__dict__ for keyword in node.keywords]]
        elif isinstance(node, (ast.BinOp, ast.Subscript)):
            given = [node.__dict__]
        for holder in given:
            for key in range(len(holder)) if isinstance(holder, list) else ("value", "right", "slice"):
                one = holder.get(key) if isinstance(holder, dict) else holder[key]
                if isinstance(one, (ast.Tuple, ast.List)):
                    yield from [(one.elts, i) for i, item in enumerate(one.elts) if _is_integer(item)]
                elif one is not None and _is_integer(one):
                    yield holder, key


def _spelled():
    found = {}
    for call in _expanded():
        for i in range(len(list(_places(ast.parse(call))))):
            for value in (True, False):
                tree = ast.parse(call)
                holder, key = list(_places(tree))[i]
                holder[key] = ast.Constant(value)
                found[ast.unparse(tree)] = None
    return list(found)


CALLS_OF_TRUTH_VALUES = _spelled()
SHAPES = {
    "a": (3, 2), "b": (3, 2), "v": (4,), "u": (4,), "w": (3,), "m": (3, 4), "o": (3, 4), "s": (4, 4), "t": (2, 4, 4),
    "z": (), "y": (), "l": (10,), "c3": (3, 3, 2), "g2": (4, 3), "h2": (1, 3), "i2": (3, 4, 3),
}  # fmt: skip


def member(rng, call, adopted):
    used = sorted(names_in(call) & set(SHAPES))
    arrays = []
    for name in used:
        numbers = rng.uniform(0.3, 2.5, size=SHAPES[name])
        arrays.append(np.round(numbers, 2) + 1e-4 * np.arange(numbers.size).reshape(numbers.shape))
    run = compiled(call, used, "contiguous")
    what = f"{call}{' adopted' if adopted else ''}"
    return Spelling(
        what, ag.adopt(run) if adopted else run, run, tuple(arrays), rtol=1e-5, refusals=REFUSALS, anywhere=True,
        may_be_nan=True,
    )  # fmt: skip


def seen_by_adoption_alone(call):
    return "polynomial" in call or re.search("into|item|fromiter|vectorize|kaiser|as_strided", call) is not None


def draw(rng):
    call = str(rng.choice(CALLS_OF_TRUTH_VALUES))
    return member(rng, call, seen_by_adoption_alone(call) or rng.random() < 0.5)
