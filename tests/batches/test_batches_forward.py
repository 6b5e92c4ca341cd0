"""Each operation of the table on rows of arrays gives what a loop over the rows gives.

The class: operation x call x which arrays have rows x how many rows (2, 1, none). Calls are those that the signatures
give (tests/ops/test_structure.py: stacks, axes of both signs and None, operands of different ndim, lengths of zero and
one; 230 operations) and samples of tests/ops, which have all other parameters. The reference is the operation on
NumPy's arrays, row by row. What the batch itself does row by row has to be listed, with a reason.
"""

import itertools

import numpy as np
import pytest
from samples import samples
from test_structure import DEFAULTS, NO_CALLS, PARAMETERS, XP, array_of, calls, quietly

from arraygrad.batches import derive
from arraygrad.batches.derive import PARAMETERS as ROW_PARAMETERS
from arraygrad.batches.derive import ROW_BY_ROW, namespace
from arraygrad.core.tensor import Tensor
from arraygrad.ops import OPS, TABLE
from arraygrad.ops.structure import structure_of
from arraygrad.program.calls import apply, batched_in
from arraygrad.program.plain import plain_call
from arraygrad.program.values import Batched, NoBatch

DRAWN = [name for name in TABLE if name not in NO_CALLS and structure_of(TABLE[name]).operands]
# Vectors that a factorization may turn, in a stack as alone.
TURNED = {"svd", "eig", "eigh", "_eigh_upper", "qr"}
# The dtype of an array that is made of none: another one in a stack.
ANY_VALUES = {"empty_like"}


@pytest.fixture
def looped(monkeypatch):
    """(operation, parameters with rows) of each batch that was made row by row."""
    found = []
    original = derive.one_by_one

    def noted(op, bound, n):
        names = [name for name, arg in zip(op.params, bound, strict=True) if batched_in(arg)]
        made = original(op, bound, n)
        found.append((op.name, tuple(names)))
        return made

    monkeypatch.setattr(derive, "one_by_one", noted)
    return found


def parts(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def detached(value):
    return value.detach() if isinstance(value, Tensor) else value


def alone(value, i):
    """The argument of row i."""
    if isinstance(value, Batched):
        if value.rows == 0:
            return np.full(value.shape, value.dtype.kind not in "iu", value.dtype)
        return value.values if value.rows is None else value.values[i]
    if type(value) in (list, tuple):
        return type(value)([alone(one, i) for one in value])
    return value


def compare(op, bound, n, said):
    """Compares a batch with the loop; returns whether there was something to compare."""
    call = plain_call(op)
    with quietly():
        try:
            expected = [call(*alone(tuple(bound), i)) for i in range(max(n, 1))]
        except Exception as error:
            with pytest.raises((type(error), NoBatch)):
                apply(op, tuple(bound))
            return False
        try:
            found = apply(op, tuple(bound))
        except NoBatch:
            shapes = {tuple((np.shape(part), np.asarray(part).dtype) for part in parts(one)) for one in expected}
            assert n == 0 or len(shapes) > 1, said
            return False
    for at, part in enumerate(parts(found)):
        assert part.rows in (n, None), said
        values = np.broadcast_to(part.values, (n, *part.values.shape)) if part.rows is None else part.values
        assert len(parts(found)) == len(parts(expected[0])), said
        for i in range(n):
            one = np.asarray(parts(expected[i])[at])
            assert values[i].shape == one.shape, (said, values[i].shape, one.shape)
            assert values[i].dtype == one.dtype, (said, values[i].dtype, one.dtype)
            if op.name not in ANY_VALUES:
                near = np.allclose(values[i], one, rtol=1e-5 if one.itemsize == 4 else 1e-10, atol=1e-7, equal_nan=True)
                assert near, (said, values[i], one)
        if n == 0:
            assert values.shape[1:] == np.shape(parts(expected[0])[at]), said
    return True


def choices(names):
    """Which of the operands have rows: all, and each alone."""
    return list(dict.fromkeys([tuple(names), *[(name,) for name in names]]))


def rows_for(rng, name, operand, shape, dtype, n):
    return np.stack([array_of(rng, name, operand, shape, dtype) for _ in range(n)] or [np.zeros(shape, dtype)])[:n]


@pytest.mark.parametrize("name", DRAWN)
def test_batches_of_calls_drawn_from_the_signature_are_loops(name, looped):
    rng = np.random.default_rng(3)
    op, operands = OPS[name], {operand.name: operand for operand in structure_of(TABLE[name]).operands}
    done = 0
    for place, (shapes, static) in enumerate(calls(name)):
        dtype = np.float32 if place % 4 == 3 and TABLE[name].chapter != "special" else np.float64
        given = [key for key in operands if key in shapes and key not in static]
        for chosen, n in zip(choices(given), itertools.cycle([2, 1, 0] if place % 3 else [2, 1, 2]), strict=False):
            if not given:
                continue
            arrays = {}
            for key in given:
                one = shapes[key][0] if operands[key].listed else shapes[key]
                if key in chosen:
                    made = [rows_for(rng, name, operands[key], one, dtype, n) for _ in "ab"]
                    made = [Batched(a.astype(array_of(rng, name, operands[key], one, dtype).dtype), n) for a in made]
                else:
                    made = [array_of(rng, name, operands[key], one, dtype) for _ in "ab"]
                arrays[key] = made if operands[key].listed else made[0]
            values = {**DEFAULTS[name], **static, **arrays}
            bound = [values.get(key) for key in PARAMETERS[name]]
            done += compare(op, bound, n, f"{name} {shapes} {static} rows of {chosen}: {n}")
    assert done > 1 or name in ROW_BY_ROW or name in ("_to_device",)
    assert listed(looped) == [], looped


def listed(looped):
    """Batches that were made row by row, and are not listed as such."""
    return [
        (name, params)
        for name, params in looped
        if name not in ROW_BY_ROW and not any((name, param) in ROW_PARAMETERS for param in params)
    ]


def with_samples():
    return [name for name in TABLE if samples(name)]


@pytest.mark.parametrize("name", with_samples())
def test_batches_of_samples_are_loops(name):
    rng = np.random.default_rng(4)
    found = samples(name)
    for case in found[:: -(-len(found) // 8)]:
        n = 2
        for chosen in choices(range(len(case.arrays))):
            arrays, rows = [], []
            for i, a in enumerate(case.arrays):
                scale = np.asarray(1.0 + 0.01 * np.arange(n)).reshape((n,) + (1,) * a.ndim)
                if i in chosen:
                    whole = a[None] * scale + 0.001 * rng.uniform(size=(n, *a.shape)) * (case.expected is None)
                    whole = np.asarray(whole, a.dtype)
                    arrays.append(Batched(whole, n))
                    rows.append(whole)
                else:
                    arrays.append(Batched(a, None))
                    rows.append(np.broadcast_to(a, (n, *a.shape)))
            with quietly():
                expected = [case.call(XP, *[np.asarray(row[i]) for row in rows]) for i in range(n)]
                try:
                    made = case.call(namespace, *arrays)
                except NoBatch:
                    assert name in ROW_BY_ROW or name in ("arange", "pad"), case.label
                    continue
            for at, part in enumerate(parts(made)):
                if not isinstance(part, Batched) or name in TURNED:
                    continue
                for i in range(n):
                    one = np.asarray(detached(parts(expected[i])[at]))
                    value = part.values if part.rows is None else part.values[i]
                    assert value.shape == one.shape, (case.label, chosen)
                    assert value.dtype == one.dtype, (case.label, chosen)
                    assert np.allclose(value, one, rtol=1e-9, atol=1e-12, equal_nan=True), (case.label, chosen)
