"""Each operation's forward rule, derived by transposing its rules, against reverse mode and against differences.

The class: operation with a rule x sample of tests/ops (all of them) x double and single precision, and calls drawn from
the signatures (tests/ops/test_structure.py: stacks, broadcast operands, lengths of zero and one). Each call of the
operation that a sample makes is caught. <J v, w> is compared with <v, J^T w> by the Tensors' own gradients, J v with
central differences in double precision, and on rows with a loop over the rows. What is not derived is listed, with its
reason (`forward.NOT_DERIVED`, and REFUSED here for some arguments).
"""

import collections

import numpy as np
import pytest
from caught_calls import calls_of
from samples import samples
from test_structure import DEFAULTS, NO_CALLS, PARAMETERS, XP, array_of, calls, quietly

from arraygrad.autograd import grad
from arraygrad.core.tensor import Tensor
from arraygrad.ops import OPS, TABLE
from arraygrad.ops.structure import structure_of
from arraygrad.program.calls import apply
from arraygrad.program.forward import NOT_DERIVED, PLANS, forward
from arraygrad.program.plain import call_in, plain_call
from arraygrad.program.values import Batched, NotLinear

RULES = [name for name in TABLE if TABLE[name].rules and samples(name)]
TRIED = collections.Counter()


def parts(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def plain(value):
    """Arguments with NumPy's arrays."""
    if isinstance(value, Batched):
        return value.values
    if isinstance(value, (list, tuple)):
        made = [plain(one) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if type(value) is slice:
        return slice(plain(value.start), plain(value.stop), plain(value.step))
    return value


def some(rng, like):
    values = rng.uniform(-1, 1, like.shape)
    if like.dtype.kind == "c":
        values = values + 1j * rng.uniform(-1, 1, like.shape)
    return values.astype(like.dtype)


def is_inexact(value):
    return isinstance(value, Batched) and value.dtype.kind in "fc"


def tangents_of(rng, op, bound):
    """A tangent for each inexact input, None for others; None if there is none."""
    def one(x):
        return Batched(some(rng, x), None) if is_inexact(x) else None

    made = [[one(x) for x in bound[at]] if op.sequence >= 0 else one(bound[at]) for at in op.inputs]
    flat = made[0] if op.sequence >= 0 else made
    return made if any(x is not None for x in flat) else None


def inner(a, b):
    return float(np.sum(np.real(np.conj(np.asarray(a, "D")) * b)))


def by_reverse_mode(op, bound, tangents, cotangents):
    """<v, J^T w>, by Tensors."""
    leaves, along = [], []

    def leaf(x, tangent):
        if tangent is None:
            return plain(x)
        leaves.append(Tensor(x.values.copy(), requires_grad=True))
        along.append(tangent.values)
        return leaves[-1]

    arguments = [plain(arg) for arg in bound]
    for k, at in enumerate(op.inputs):
        if op.sequence >= 0:
            arguments[at] = type(bound[at])([leaf(x, t) for x, t in zip(bound[at], tangents[k], strict=True)])
        else:
            arguments[at] = leaf(bound[at], tangents[k])
    made = parts(call_in(XP, op)(*arguments))
    outputs = [(one, w) for one, w in zip(made, cotangents, strict=True) if w is not None]
    outputs = [(one, w) for one, w in outputs if isinstance(one, Tensor) and one.requires_grad]
    if not outputs:
        return 0.0
    found = grad([one for one, _ in outputs], leaves, [Tensor(w) for _, w in outputs], allow_unused=True)
    return sum(inner(g.numpy(), t) for g, t in zip(found, along, strict=True) if g is not None)


def moved(bound, op, tangents, h):
    arguments = list(bound)
    for k, at in enumerate(op.inputs):
        if op.sequence >= 0:
            pairs = zip(bound[at], tangents[k], strict=True)
            arguments[at] = type(bound[at])([x if t is None else Batched(x.values + h * t.values, None) for x, t in pairs])
        elif tangents[k] is not None:
            arguments[at] = Batched(bound[at].values + h * tangents[k].values, None)
    return [np.asarray(one) for one in parts(plain_call(op)(*[plain(arg) for arg in arguments]))]


def compare(rng, op, bound, said, smooth):
    """Compares the forward rule of one call."""
    tangents = tangents_of(rng, op, bound)
    if tangents is None:
        return 0
    ans = apply(op, bound)
    cotangents = [some(rng, one) if is_inexact(one) else None for one in parts(ans)]
    if all(w is None for w in cotangents):
        return 0
    for again in range(2):  # the second time by the program that is kept
        try:
            found = forward(op, bound, ans, tangents)
            error = None
        except Exception as raised:
            found, error = None, raised
        try:
            expected = by_reverse_mode(op, bound, tangents, cotangents)
        except Exception as raised:
            assert error is not None, (said, raised)
            assert type(error) is type(raised) or isinstance(error, NotLinear), (said, error, raised)
            return 0
        if error is not None:
            raise error
        for j, one, w in zip(found, parts(ans), cotangents, strict=True):
            assert j is None or (j.shape == one.shape and j.dtype == one.dtype), (said, j, one)
            assert j is None or w is not None, said
        value = sum(inner(w, j) for w, j in zip(cotangents, found, strict=True) if j is not None)
        size = sum(float(np.sum(np.abs(w * j))) for w, j in zip(cotangents, found, strict=True) if j is not None)
        single = any(one.dtype.itemsize // (1 + (one.dtype.kind == "c")) < 8 for one in [*found, *[x for x in parts(ans) if is_inexact(x)]] if one is not None)
        near = abs(value - expected) <= (2e-4 if single else 1e-9) * max(1.0, size, abs(expected))
        assert near or (not np.isfinite(value) and not np.isfinite(expected)), (said, again, value, expected)
    if smooth and not single:
        h = 1e-6
        up, down = moved(bound, op, tangents, h), moved(bound, op, tangents, -h)
        for a, b, j, w in zip(up, down, found, cotangents, strict=True):
            if w is None:
                continue
            slope = (a - b) / (2 * h)
            j = np.zeros_like(slope) if j is None else j
            scale = max(1.0, float(np.max(np.abs(slope[np.isfinite(slope)]), initial=0.0)))
            assert np.allclose(j, slope, rtol=2e-5, atol=3e-6 * scale, equal_nan=True), (said, j, slope)
    return 1


def as_single(a):
    return a.astype({"d": "f", "D": "F"}.get(a.dtype.char, a.dtype.char))


@pytest.mark.parametrize("name", RULES)
def test_forward_rules_are_transposed_rules(name):
    rng = np.random.default_rng(11)
    done = 0
    for case in samples(name):
        for change in (lambda a: a, as_single):
            if change is as_single and not case.single:
                continue
            with quietly():
                arrays = [Batched(change(a), None) for a in case.arrays]
                try:
                    found = calls_of(name, case, arrays)
                except Exception:
                    if change is as_single:
                        continue
                    raise
                for op, bound in found:
                    done += compare(rng, op, bound, f"{name}: {case.label}", case.expected is None)
    assert done or name in NOT_DERIVED
