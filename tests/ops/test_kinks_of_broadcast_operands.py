"""The class of norms of two operands of different shapes whose second derivative meets a zero.

The square of hypot is smooth: its Hessian has a closed form. Hypot itself has none where it is zero: it is nan there,
never zero. The mixed derivative of arctan2 is nan there, too.
"""

import numpy as np
import pytest

import arraygrad as ag

SHAPES = [
    ((3, 1), (2, 1, 4)), ((), (3,)), ((3,), ()), ((1,), (3,)), ((3,), (1,)), ((2, 3), (3,)), ((3,), (2, 3)),
    ((2, 1), (1, 3)), ((1, 1), (2, 3)), ((2, 3), (1, 1)), ((1, 2, 1), (3, 1, 2)), ((3,), (3,)), ((0,), (1,)),
]  # fmt: skip
ZEROS = ("none", "all", "first", "mixed")


def operands(shapes, zeros):
    rng = np.random.default_rng(len(zeros))
    found = [np.asarray(rng.uniform(0.5, 1.5, size=shape) * rng.choice([-1.0, 1.0], size=shape)) for shape in shapes]
    for a in found:
        if a.size and zeros == "all":
            a[...] = 0.0
        elif a.size and zeros != "none":
            a.flat[0] = 0.0
    if zeros == "mixed" and found[1].size:
        found[1].flat[-1] = 0.0
    return found


def weights_of(x, y):
    shape = np.broadcast_shapes(x.shape, y.shape)
    return np.arange(1.0, 1.0 + np.prod(shape, dtype=int)).reshape(shape)


def summed(a, shape):
    """The sum over the axes along which an array of `shape` was repeated."""
    a = a.sum(axis=tuple(range(a.ndim - len(shape))))
    return a.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1 != a.shape[i]), keepdims=True)


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("zeros", ZEROS)
@pytest.mark.parametrize("shapes", SHAPES)
def test_the_square_of_hypot(shapes, zeros, place):
    given = operands(shapes, zeros)
    w = weights_of(*given)

    def f(a):
        both = [a if i == place else b for i, b in enumerate(given)]
        return np.sum(w * np.hypot(*both) ** 2)

    found = np.asarray(ag.hessian(f)(given[place]))
    of = summed(w, given[place].shape)
    np.testing.assert_allclose(found, np.diag(2 * of.ravel()).reshape(found.shape), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("shapes", [pair for pair in SHAPES if pair[0] != (0,)])
def test_hypot_itself_has_no_second_derivative_at_zero(shapes, place):
    given = operands(shapes, "all")
    f = lambda a: np.sum(np.hypot(*[a if i == place else b for i, b in enumerate(given)]) * weights_of(*given))
    assert np.all(np.isnan(np.diagonal(np.reshape(ag.hessian(f)(given[place]), (given[place].size, -1)))))


@pytest.mark.parametrize("shapes", [pair for pair in SHAPES if pair[0] != (0,)])
def test_mixed_derivatives_are_those_of_the_square(shapes):
    x, y = operands(shapes, "first")
    tensors = [ag.tensor(a, requires_grad=True) for a in (x, y)]
    w = weights_of(x, y)
    first = ag.autograd.grad(np.sum(w * np.hypot(*tensors) ** 2), tensors, create_graph=True)
    second = ag.autograd.grad(np.sum(first[0]) + np.sum(first[1]), tensors)
    for found, a in zip(second, (x, y), strict=True):
        np.testing.assert_allclose(found.numpy(), 2 * summed(w, a.shape), rtol=1e-12)


@pytest.mark.parametrize("shapes", [pair for pair in SHAPES if pair[0] != (0,)])
def test_the_mixed_derivative_of_arctan2_at_the_origin(shapes):
    tensors = [ag.tensor(a, requires_grad=True) for a in operands(shapes, "all")]
    first = ag.autograd.grad(np.sum(np.arctan2(*tensors)), tensors, create_graph=True)
    for g, other in ((first[0], tensors[1]), (first[1], tensors[0])):
        (mixed,) = ag.autograd.grad(np.sum(g), [other], retain_graph=True)
        assert np.all(np.isnan(mixed.numpy()))
