"""Each operation's forward rule, derived by transposing its rules, against reverse mode and against differences.

The class: operation with a rule x sample of tests/ops (all of them, a third in single precision too), and calls drawn
from the signatures (tests/ops/test_structure.py: stacks, broadcast operands, lengths of zero and one). Each call of the
operation that a sample makes is caught. <J v, w> is compared with <v, J^T w> by the Tensors' own gradients, J v with
central differences in double precision, and on rows with a loop over the rows. What a rule refuses (gradients of
vectors that are arbitrary) its forward rule refuses with the same error. What is not derived is listed, with its reason
(`forward.NOT_DERIVED`).
"""

import numpy as np
import pytest
from caught_calls import calls_of
from samples import samples
from test_structure import DEFAULTS, NO_CALLS, PARAMETERS, XP, array_of, calls, quietly

import arraygrad as ag
from arraygrad.autograd import grad
from arraygrad.batches import derive  # noqa: F401  what operations do to rows
from arraygrad.core.tensor import Tensor
from arraygrad.ops import OPS, TABLE
from arraygrad.ops.structure import structure_of
from arraygrad.program.calls import apply
from arraygrad.program.forward import NOT_DERIVED, forward, run_steps, trace_forward
from arraygrad.program.plain import call_in, plain_call
from arraygrad.program.rules import with_arrays
from arraygrad.program.values import Batched, GuardFailed, NoBatch, NotLinear, mapped

RULES = [name for name in TABLE if TABLE[name].rules and name not in NOT_DERIVED]


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


def tangents_of(rng, op, bound, alone=None):
    """A tangent for each inexact input (or the one that stands there alone), None for others; None if there is none."""

    def one(x, wanted):
        return Batched(some(rng, x), None) if is_inexact(x) and wanted else None

    if op.sequence >= 0:
        made = [[one(x, alone in (None, i)) for i, x in enumerate(bound[op.sequence])]]
    else:
        made = [one(bound[at], alone in (None, k)) for k, at in enumerate(op.inputs)]
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
        leaves.append(ag.tensor(x.values, requires_grad=True))
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
    found = grad([one for one, _ in outputs], leaves, [ag.asarray(w) for _, w in outputs], allow_unused=True)
    return sum(inner(g.numpy(), t) for g, t in zip(found, along, strict=True) if g is not None)


def moved(bound, op, tangents, h):
    arguments = list(bound)
    for k, at in enumerate(op.inputs):
        if op.sequence >= 0:
            pairs = zip(bound[at], tangents[k], strict=True)
            arguments[at] = type(bound[at])(
                [x if t is None else Batched(x.values + h * t.values, None) for x, t in pairs]
            )
        elif tangents[k] is not None:
            arguments[at] = Batched(bound[at].values + h * tangents[k].values, None)
    return [np.asarray(one) for one in parts(plain_call(op)(*[plain(arg) for arg in arguments]))]


def compare(rng, op, bound, said, smooth, alone=None):
    """Compares the forward rule of one call: whether there was something to compare."""
    ans = apply(op, bound)
    bound = with_arrays(op, bound, ans)
    tangents = tangents_of(rng, op, bound, alone)
    if tangents is None:
        return 0
    cotangents = [some(rng, one) if is_inexact(one) else None for one in parts(ans)]
    if all(w is None for w in cotangents):
        return 0
    for again in range(2):  # the second time by the program that is kept
        try:
            found = forward(op, bound, ans, tangents)
            error = None
        except Exception as raised:
            found, error = None, raised
        if error is not None:  # what the rule refuses, reverse mode refuses too
            with pytest.raises(type(error)):
                by_reverse_mode(op, bound, tangents, cotangents)
            return 0
        expected = by_reverse_mode(op, bound, tangents, cotangents)
        for j, one, w in zip(found, parts(ans), cotangents, strict=True):
            assert j is None or (j.shape == one.shape and j.dtype == one.dtype), (said, j, one)
            assert j is None or w is not None, said
        value = sum(inner(w, j) for w, j in zip(cotangents, found, strict=True) if j is not None)
        size = sum(float(np.sum(np.abs(w * j))) for w, j in zip(cotangents, found, strict=True) if j is not None)
        flat = [*tangents[0]] if op.sequence >= 0 else tangents
        single = any(one is not None and one.dtype.char in "fF" for one in [*found, *cotangents, *flat])
        near = abs(value - expected) <= (
            2e-4 if single else 1e-9 if TABLE[op.name].chapter != "special" else 1e-7
        ) * max(1.0, size, abs(expected))
        broken = not all(np.all(np.isfinite(one.values)) for one in parts(ans) if is_inexact(one))
        assert near or (not np.isfinite(value) and (broken or not np.isfinite(expected))), (
            said,
            again,
            value,
            expected,
        )
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
    for place, case in enumerate(samples(name)):
        for change in (lambda a: a, as_single):
            if change is as_single and (place % 3 or not case.single):
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
                    if len(op.inputs) > 1 and place % 4 == 0 and change is not as_single:
                        for k in range(len(op.inputs)):
                            compare(rng, op, bound, f"{name}: {case.label}, {op.inputs[k]} alone", False, k)
    assert done


DRAWN = [name for name in RULES if name not in NO_CALLS and structure_of(TABLE[name]).operands]


@pytest.mark.parametrize("name", DRAWN)
def test_forward_rules_of_calls_drawn_from_the_signature(name):
    rng = np.random.default_rng(5)
    op, operands = OPS[name], {operand.name: operand for operand in structure_of(TABLE[name]).operands}
    drawn = list(calls(name))
    for place, (shapes, static) in enumerate(drawn[:: -(-len(drawn) // 12)]):
        dtype = np.float32 if place % 4 == 3 and TABLE[name].chapter != "special" else np.float64
        arrays = {}
        for key in operands:
            if key in shapes and key not in static:
                listed = operands[key].listed
                each = [
                    array_of(rng, name, operands[key], one, dtype) for one in (shapes[key] if listed else [shapes[key]])
                ]
                each = [Batched(np.asarray(one), None) for one in each]
                arrays[key] = each if listed else each[0]
        values = {**DEFAULTS[name], **static, **arrays}
        bound = tuple([values.get(key) for key in PARAMETERS[name]])
        with quietly():
            try:
                plain_call(op)(*plain(bound))
            except Exception:  # no call at all: test_structure says which
                continue
            compare(rng, op, bound, f"{name} {shapes} {static}", False)


def in_rows(value, taken):
    """The same structure with two rows for each array that `taken` lists, in order: itself, and a little more."""
    if isinstance(value, Batched):
        more = value.values * np.asarray(1.01, value.dtype) if value.dtype.kind in "fc" else value.values
        taken.append(Batched(np.stack([value.values, more]), 2))
        return taken[-1]
    return mapped(value, lambda one: in_rows(one, taken))


def row(value, i):
    if isinstance(value, Batched):
        return Batched(value.values[i], None)
    return mapped(value, lambda one: row(one, i))


# Operations whose programs are not run on rows, and why.
ALONE = {
    "_strided": "strides in bytes are those of one row's memory",
}


@pytest.mark.parametrize("name", RULES)
def test_forward_rules_run_on_rows(name):
    rng = np.random.default_rng(17)
    done, refused = 0, []
    found = samples(name)
    for case in found[:: -(-len(found) // 6)]:
        with quietly():
            for op, bound in calls_of(name, case, [Batched(a, None) for a in case.arrays]):
                ans = apply(op, bound)
                bound = with_arrays(op, bound, ans)
                tangents = tangents_of(rng, op, bound)
                if tangents is None:
                    continue
                given = in_rows([bound, ans, tangents], [])
                alone = [row(given, i) for i in range(2)]
                try:
                    expected = [forward(op, *one) for one in alone]
                    program, _, _ = trace_forward(op, alone[0])
                    taken = []
                    in_rows([bound, ans, tangents], taken)
                    made = run_steps(program, taken)
                except (NoBatch, NotLinear, GuardFailed, ValueError, RuntimeError) as error:
                    refused.append((case.label, repr(error)))
                    continue
                for at, one in enumerate(made):
                    for i in range(2):
                        if one is None:
                            assert expected[i][at] is None
                            continue
                        value = one.values if one.rows is None else one.values[i]
                        assert np.allclose(value, expected[i][at], rtol=1e-8, atol=1e-9, equal_nan=True), (
                            case.label,
                            i,
                        )
                done += 1
    assert done or name in ALONE, refused


@pytest.mark.parametrize("name", NOT_DERIVED)
def test_what_has_no_forward_rule_says_why(name):
    with pytest.raises(NotLinear, match=NOT_DERIVED[name]):
        forward(OPS[name], (), None, [])
