"""Gradients of operands that broadcasting repeated: summed by the kernel that computes them, or after it, all the same.

Imports the public names of arraygrad and the CuPy backend's switches. Runs on a device, and on the stand-in by
test_device_tests.py.
"""

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng(8)


SHAPES = {
    "a row": ((6, 5), (5,)),
    "a column": ((6, 5), (6, 1)),
    "both": ((6, 1), (1, 5)),
    "a number": ((6, 5), ()),
    "one element": ((6, 5), (1, 1)),
    "first axes": ((4, 3, 5), (5,)),
    "last axes": ((4, 3, 5), (4, 1, 1)),
    "the middle axis": ((4, 3, 5), (4, 1, 5)),
    "axes apart": ((4, 3, 5), (1, 3, 1)),
    "more axes on the other side": ((5,), (4, 3, 5)),
    "axes of one": ((1, 5), (4, 1, 1)),
    "nothing": ((0, 5), (5,)),
}
OPERATIONS = {
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "pow": lambda x, y: x**y,
    "maximum": lambda x, y: ag.maximum(x, y),
    "atan2": lambda x, y: ag.atan2(x, y),
    "where": lambda x, y: ag.where(x > 1.0, x, y),
}
G = {
    "in one piece": lambda cp, a: cp.asarray(a),
    "transposed": lambda cp, a: cp.asarray(np.ascontiguousarray(a.T)).T,
}


def evaluated(function, x, y, g):
    """Value and gradients over the library of `x`, as arrays."""
    a, b = ag.asarray(x, requires_grad=True), ag.asarray(y, requires_grad=True)
    z = function(a, b)
    return [t.array for t in (z, *ag.autograd.grad(z, [a, b], g))]


CASES = [(name, "float64 float64", "in one piece") for name in OPERATIONS]
CASES += [("multiply", "float32 float32", "transposed"), ("divide", "float64 float32", "in one piece")]


@pytest.mark.parametrize(("name", "dtypes", "layout"), CASES)
@pytest.mark.parametrize("shapes", SHAPES)
def test_gradients_are_those_of_the_table_and_of_numpy(cupy, switches, shapes, name, dtypes, layout):
    x, y = (
        RNG.uniform(0.5, 2.0, shape).astype(dtype) for shape, dtype in zip(SHAPES[shapes], dtypes.split(), strict=True)
    )
    g = RNG.uniform(0.5, 2.0, np.broadcast_shapes(x.shape, y.shape)).astype(np.result_type(x, y))
    function = OPERATIONS[name]
    expected = evaluated(function, x, y, g)
    tolerance = 1e-5 if "float32" in dtypes else 1e-12
    for step in (None, *reversed(switches)):
        if step is not None:
            step(False)
        found = evaluated(function, cupy.asarray(x), cupy.asarray(y), G[layout](cupy, g))
        for ours, numpys in zip(found, expected, strict=True):
            assert (ours.dtype, ours.shape) == (numpys.dtype, numpys.shape)
            np.testing.assert_allclose(ours.get(), numpys, rtol=tolerance, atol=tolerance)


def test_a_gradient_that_repeats_one_number_is_summed(cupy, switches):
    w = ag.asarray(cupy.asarray(RNG.uniform(size=5)), requires_grad=True)
    x = RNG.uniform(size=(6, 5))
    ag.sum(cupy.asarray(x) * w).backward()
    np.testing.assert_allclose(w.grad.numpy(), x.sum(0), rtol=1e-12)


def test_an_exactly_zero_gradient_stays_zero_in_the_sum(cupy, switches):
    with ag.zero_annihilates():
        x = ag.asarray(cupy.asarray(np.array([[1.0, 0.0], [2.0, 3.0]])))
        w = ag.asarray(cupy.asarray(np.array([0.5, 1.0])), requires_grad=True)
        z = x / (w * ag.asarray(cupy.asarray(np.array([[1.0, 0.0], [1.0, 1.0]]))))
    (found,) = ag.autograd.grad(z, [w], cupy.asarray(np.array([[1.0, 0.0], [1.0, 1.0]])))
    np.testing.assert_allclose(found.numpy(), [-12.0, -3.0])


def test_second_derivatives_pass_through_the_table(cupy, switches):
    def f(w, x):
        return ag.sum(ag.sin(x * w) * w)

    x, w, v = RNG.uniform(size=(6, 5)), RNG.uniform(size=5), RNG.uniform(size=5)
    found = ag.hvp(lambda w: f(w, cupy.asarray(x)))(cupy.asarray(w), cupy.asarray(v))
    np.testing.assert_allclose(found.get(), ag.hvp(lambda w: f(w, x))(w, v), rtol=1e-12)


def test_many_rows_and_indices_beyond_32_bits(cupy, switches):
    from arraygrad.backends.cuda.prepared import set_narrow

    x, w = RNG.uniform(size=(700, 3, 2)), RNG.uniform(size=(3, 1))
    for narrow in (None, 0):
        before = None if narrow is None else set_narrow(narrow)
        try:
            t = ag.asarray(cupy.asarray(w), requires_grad=True)
            g = cupy.asarray(np.ascontiguousarray(x.transpose(2, 1, 0))).transpose(2, 1, 0)
            (found,) = ag.autograd.grad(cupy.asarray(x) * t, [t], g)
        finally:
            if before is not None:
                set_narrow(before)
        np.testing.assert_allclose(found.numpy(), (x * x).sum((0, 2)).reshape(3, 1), rtol=1e-12)


def test_the_sum_is_one_launch(cupy, switches):
    host = pytest.importorskip("host_cuda")
    x = cupy.asarray(RNG.uniform(size=(6, 5)))
    w = ag.asarray(cupy.asarray(RNG.uniform(size=5)), requires_grad=True)

    def counted():
        z = x * w
        host.reset_counters()
        ag.autograd.grad(z, [w], x)
        return host.counters().get("launch", 0)

    counted()
    assert counted() == 1
    switches[1](False)
    counted()
    assert counted() > 1
