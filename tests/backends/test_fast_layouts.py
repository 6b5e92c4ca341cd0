"""Compiled rules where arguments, results and gradients each have a layout of their own: the plain path's gradients.

Some layouts a direct loop takes, some it leaves to NumPy's call, whose result is laid out in yet another way; what a
rule computes further from that must not depend on it. Gradients come as the engine owns them (made by the node before)
and as it does not (given by the user).
"""

import itertools

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends.numpy.loops import set_fast_paths

SHAPE = (2, 4, 3)


def _axes(*order):
    return lambda a: np.ascontiguousarray(a.transpose(order)).transpose(np.argsort(order))


LAYOUTS = {
    "row-major": np.ascontiguousarray,
    "column-major": np.asfortranarray,
    "axes 1 0 2": _axes(1, 0, 2),
    "axes 0 2 1": _axes(0, 2, 1),
    "axes 2 0 1": _axes(2, 0, 1),
    "repeats last": lambda a: np.broadcast_to(a[..., :1], a.shape),
    "repeats first": lambda a: np.broadcast_to(np.asfortranarray(a[:1]), a.shape),
    "one number": lambda a: np.broadcast_to(a[0, 0, 0], a.shape),
    "every second": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
}
OPERATIONS = {
    "x * x": lambda x, y: x * x,
    "x * y": lambda x, y: x * y,
    "x / y": lambda x, y: x / y,
    "x - y": lambda x, y: x - y,
    "x / (1 + x * x)": lambda x, y: x / (1 + x * x) + y,
    "x / y[:1]": lambda x, y: x / y[:1],
    "x / y[..., :1]": lambda x, y: x / y[..., :1],
    "x[:, :1] / y": lambda x, y: x[:, :1] / y,
    "x * y[:, :1]": lambda x, y: x * y[:, :1],
    "x - y[0]": lambda x, y: x - y[0],
    "x ** 2": lambda x, y: x**2 * y,
    "maximum": ag.maximum,
    "atan": lambda x, y: ag.atan(x) + y,
    "sum": lambda x, y: ag.sum(x, axis=1, keepdims=True) * y,
    "mean": lambda x, y: ag.mean(x, axis=(0, 2), keepdims=True) / y,
    "var": lambda x, y: ag.var(x, axis=2, keepdims=True) / y,
}
RNG = np.random.default_rng(3)
X, Y, G, V, W = RNG.uniform(0.5, 2.0, (5, *SHAPE))


def _leaf(layout, values):
    return ag.asarray(LAYOUTS[layout](values)).requires_grad_()


def first_order(operation, layouts, owned):
    x, y = _leaf(layouts[0], X), _leaf(layouts[1], Y)
    g = ag.asarray(LAYOUTS[layouts[2]](G))
    out = OPERATIONS[operation](x, y)
    if owned:
        out, g = out * g.detach(), ag.asarray(np.ones(SHAPE))
    found = ag.autograd.grad([out], [x, y], [g], allow_unused=True)
    return [out.numpy(), *[t.numpy() for t in found if t is not None]]


def second_order(operation, layouts, owned):
    x, y = _leaf(layouts[0], X), _leaf(layouts[1], Y)
    out = OPERATIONS[operation](x, y)
    g = ag.asarray(LAYOUTS[layouts[2]](G))
    first = ag.autograd.grad([ag.exp(out * 0.1)], [x, y], [g], allow_unused=True, create_graph=True)
    first = [t for t in first if t is not None and t.requires_grad]
    seeds = [ag.asarray(LAYOUTS[layouts[(i + 1) % 3]](v)) for i, v in enumerate((V, W)[: len(first)])]
    if owned:
        first = [t * s for t, s in zip(first, seeds, strict=True)]
        seeds = [ag.asarray(np.ones(SHAPE))] * len(first)
    return [t.numpy() for t in ag.autograd.grad(first, [x, y], seeds, allow_unused=True) if t is not None]


@pytest.mark.parametrize("owned", [False, True], ids=["given", "owned"])
@pytest.mark.parametrize("order", [first_order, second_order], ids=["first", "second"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_gradients_do_not_depend_on_layouts(operation, order, owned):
    names = list(LAYOUTS)
    rng = np.random.default_rng(5)  # the same layouts whichever tests ran before
    for layouts in (
        itertools.product(names, names, names)
        if order is first_order
        else zip(names * 6, rng.permutation(names * 6).tolist(), rng.permutation(names * 6).tolist(), strict=True)
    ):
        found = order(operation, layouts, owned)
        before = set_fast_paths(False)
        try:
            expected = order(operation, layouts, owned)
        finally:
            set_fast_paths(before)
        assert len(found) == len(expected), layouts
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13, err_msg=str(layouts))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_windows_whose_rows_overlap_have_the_plain_gradient(dtype):
    raw, kernel = np.linspace(-1.0, 1.0, 50).astype(dtype), np.linspace(1.0, 2.0, 6).astype(dtype)

    def gradients():
        x, w = ag.asarray(raw, requires_grad=True), ag.asarray(kernel, requires_grad=True)
        y = np.lib.stride_tricks.sliding_window_view(x, 6) @ w
        y.backward(ag.asarray(np.arange(45, dtype=dtype)))
        return [t.grad.numpy() for t in (x, w)]

    found = gradients()
    previous = set_fast_paths(False)
    try:
        plain = gradients()
    finally:
        set_fast_paths(previous)
    for got, expected in zip(found, plain, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5 if dtype == "float32" else 1e-13)
