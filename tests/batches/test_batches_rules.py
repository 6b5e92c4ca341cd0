"""Each rule of the table on rows of gradients, and of what was saved, gives what a loop over the rows gives.

The class: rule x sample of tests/ops (up to eight of each operation) x what has rows (only the gradient, as in a
Jacobian; everything, as in a batch). Each call of the operation that a sample makes is caught, its rules are run on
rows, and then again by the plan that this left, with other values; the reference is the rule in each row on NumPy's
arrays, with what the engine does behind it. Rules that read values are listed with their reason (`rules.READ`), and so
are operations whose rules have no form for rows (`derive.ALONE`).
"""

import numpy as np
import pytest
from caught_calls import calls_of, is_complex
from samples import samples
from test_structure import quietly

from arraygrad.batches import rules
from arraygrad.batches.derive import ALONE, namespace
from arraygrad.batches.rules import READ
from arraygrad.ops import TABLE
from arraygrad.program.calls import apply, batched_in
from arraygrad.program.plain import PLAIN, plain_call
from arraygrad.program.rules import arguments, with_arrays
from arraygrad.program.values import Batched, NoBatch

N = 2


def rows(value, i):
    """A value of row i."""
    if isinstance(value, Batched):
        return value.values if value.rows is None else value.values[i]
    if isinstance(value, (list, tuple)):
        made = [rows(one, i) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


def in_rows(case, everything):
    """The arrays of a sample, all in N rows that differ a little, or all as they are."""
    arrays = []
    for a in case.arrays:
        scale = np.asarray(1.0 + 0.01 * np.arange(N)).reshape((N,) + (1,) * a.ndim)
        arrays.append(Batched(np.asarray(a[None] * scale, a.dtype), N) if everything else Batched(a, None))
    return arrays


def gradient_of(rng, part, with_rows):
    shape = (N, *part.shape) if with_rows else part.shape
    values = rng.normal(size=shape)
    if part.dtype.kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return Batched(values.astype(part.dtype), N if with_rows else None)


def by_row(op, k, args, conj, i, shapes, dtypes):
    """The gradients of row i, by the rule on NumPy's arrays and what the engine does."""
    args = [PLAIN if arg is namespace else rows(arg, i) for arg in args]
    names = op.rules[k].__code__.co_varnames
    if conj:
        args = [
            (tuple(None if g is None else np.conj(g) for g in arg) if isinstance(arg, tuple) else np.conj(arg))
            if name == "g" else arg
            for name, arg in zip(names, args, strict=False)
        ]  # fmt: skip
    made = op.rules[k](*args)
    return [
        one if one is None else engine(np.conj(one) if conj else np.asarray(one), shape, dtype)
        for one, shape, dtype in zip(made if op.sequence >= 0 else [made], shapes, dtypes, strict=True)
    ]


def engine(made, shape, dtype):
    more = made.ndim - len(shape)
    axes = tuple(i for i in range(made.ndim) if i < more or shape[i - more] != made.shape[i])
    made = made.sum(axis=axes, keepdims=True).reshape(shape)
    return (made.real if made.dtype.kind == "c" and np.dtype(dtype).kind != "c" else made).astype(dtype)


RULES = [name for name in TABLE if TABLE[name].rules and samples(name) and name not in ALONE]


@pytest.fixture
def read(monkeypatch):
    """How often a rule looked at a value of rows."""
    found = []
    one = Batched.one

    def noted(self, *change):
        found.append(self)
        return one(self, *change)

    monkeypatch.setattr(Batched, "one", noted)
    return found


def some_samples(name):
    found = samples(name)
    return found[:: -(-len(found) // 8)]


@pytest.mark.parametrize("name", RULES)
def test_rules_on_rows_are_loops(name, read):
    rng = np.random.default_rng(7)
    done, reads = 0, 0
    for case in samples(name) if name in READ else some_samples(name):
        for everything in (False, True):
            with quietly():
                try:
                    calls = calls_of(name, case, in_rows(case, everything))
                except NoBatch:
                    continue
                for op, bound in calls:
                    read.clear()
                    done += compare_rules(rng, op, bound, case.label)
                    reads += len(read)
    assert done
    assert (reads > 0) == (name in READ)


def compare_rules(rng, op, bound, label):
    ans = apply(op, bound) if batched_in(list(bound)) else plain_call(op)(*bound)
    bound = with_arrays(op, bound, ans)
    done = 0
    for k, at in enumerate(op.inputs):
        like = list(bound[at]) if op.sequence >= 0 else [bound[at]]
        if not all(isinstance(one, Batched) and one.dtype.kind in "fc" for one in like):
            continue
        shapes, dtypes = tuple(one.shape for one in like), tuple(one.dtype for one in like)
        given = (shapes, dtypes) if op.sequence >= 0 else (shapes[0], dtypes[0])
        for _ in range(2):  # the second time by its plan
            g = tuple(gradient_of(rng, part, True) for part in ans) if op.multi else gradient_of(rng, ans, True)
            args = arguments(op, k, g, bound, ans)
            conj = op.holomorphic and is_complex([*bound, ans])
            said = f"{op.name} {label} {op.params[at]}"
            try:
                expected = [by_row(op, k, args, conj, i, shapes, dtypes) for i in range(N)]
            except Exception as error:
                with pytest.raises((type(error), NoBatch)):
                    rules.pull(op, k, args, N, *given, conj)
                break
            try:
                found = rules.pull(op, k, args, N, *given, conj)
            except NoBatch:
                assert op.name in READ, said
                break
            done += 1
            for at_part, part in enumerate(found if op.sequence >= 0 else [found]):
                if part is None:
                    assert all(one[at_part] is None for one in expected), said
                    continue
                assert part.shape == (N, *shapes[at_part]), said
                assert part.dtype == dtypes[at_part], said
                whole = np.stack([one[at_part] for one in expected])
                assert np.allclose(part, whole, rtol=1e-8, atol=1e-9, equal_nan=True), (said, part, whole)
    return done
