"""Arguments over the same memory, one of which the function writes into: refused, or right where nothing is shared.

The class: the same array twice, views and overlapping slices, in positions, dicts and lists, differentiated or not x
ways of writing. In a plain call each sees what is written into the other; a gradient of either alone does not.
"""

import numpy as np
import pytest

import arraygrad as ag

WRITES = {
    "operator": "a *= 2.0",
    "item": "a[0] = a[1] * 3.0",
    "slice": "a[...] = a * a",
    "out": "np.multiply(a, 3.0, out=a)",
}


def program(write):
    names = {"np": np}
    exec(
        f"def f(a, b):\n    {write}\n    return (a * b).sum()", names
    )  # its code has no file: the line is not looked for
    return names["f"]


PAIRS = {
    "same": lambda v: (v, v),
    "view": lambda v: (v, v[:]),
    "reversed": lambda v: (v, v[::-1]),
    "overlapping": lambda v: (v[:-1], v[1:]),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("argnums", [0, (0, 1)])
def test_writes_into_shared_arguments_are_refused(write, pair, argnums):
    f = program(WRITES[write])
    with pytest.raises(TypeError, match="shares memory with another argument"):
        ag.grad(f, argnums=argnums)(*PAIRS[pair](np.array([1.0, 2.0, 3.0])))


@pytest.mark.parametrize("write", WRITES)
def test_writes_into_shared_items_of_a_container_are_refused(write):
    f, v = program(WRITES[write]), np.array([1.0, 2.0, 3.0])
    for given, call in (({"a": v, "b": v}, lambda p: f(p["a"], p["b"])), ([v, v], lambda p: f(*p))):
        with pytest.raises(TypeError, match="shares memory with another argument"):
            ag.grad(call)(given)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_the_way_out_is_right(write, argnums):
    f, v = program(WRITES[write]), np.array([1.0, 2.0, 3.0])
    found = ag.grad(f, argnums=argnums)(v.copy(), v.copy())
    step = 1e-6
    for place, gradient in zip((0, 1) if argnums == (0, 1) else (argnums,), found if argnums == (0, 1) else [found],
                               strict=True):  # fmt: skip
        for i in range(3):
            ends = []
            for s in (step, -step):
                args = [v.copy(), v.copy()]
                args[place][i] += s
                ends.append(f(*args))
            assert gradient[i] == pytest.approx((ends[0] - ends[1]) / (2.0 * step), rel=1e-7, abs=1e-7)


def test_shared_arguments_that_are_read_only_are_served():
    v = np.array([1.0, 2.0, 3.0])
    a, b = ag.grad(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(v, v)
    np.testing.assert_allclose(a, 2.0 * v * v)
    np.testing.assert_allclose(b, v * v)
