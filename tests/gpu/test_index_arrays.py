"""NumPy's functions on Tensors over CuPy beside arrays of CuPy's own: indices, masks, weights, edges, coordinates.

CuPy's arrays do not let NumPy convert them. Each call has the value and the gradient of the same call over NumPy.
"""

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu

X = np.array([1.0, 3.0, 2.0, 5.0])
PLACES, MASK = np.array([0, 1, 1]), np.array([True, False, True, True])


def written(function):
    """A call that writes into a copy of the Tensor, and gives it."""

    def call(xp, t):
        u = t * 1.0
        function(xp, u)
        return u

    return call


CALLS = {
    "add.at": written(lambda xp, u: np.add.at(u, xp.asarray(PLACES), xp.ones(3))),
    "subtract.at": written(lambda xp, u: np.subtract.at(u, xp.asarray(PLACES), xp.ones(3))),
    "maximum.at": written(lambda xp, u: np.maximum.at(u, xp.asarray(PLACES), xp.ones(3) * 2)),
    "multiply.at": written(lambda xp, u: np.multiply.at(u, (xp.asarray(PLACES),), xp.ones(3) * 2)),
    "put": written(lambda xp, u: np.put(u, xp.asarray(PLACES), xp.ones(3) * 2)),
    "place": written(lambda xp, u: np.place(u, xp.asarray(MASK), xp.ones(3) * 2)),
    "putmask": written(lambda xp, u: np.putmask(u, xp.asarray(MASK), xp.ones(4) * 2)),
    "copyto": written(lambda xp, u: np.copyto(u, xp.ones(4) * 2, where=xp.asarray(MASK))),
    "put_along_axis": written(lambda xp, u: np.put_along_axis(u, xp.asarray(PLACES), xp.ones(3) * 2, 0)),
    "add.reduceat": lambda xp, t: np.add.reduceat(t, xp.asarray([0, 2])),
    "take": lambda xp, t: np.take(t, xp.asarray(PLACES)),
    "take_along_axis": lambda xp, t: np.take_along_axis(t, xp.asarray(PLACES), 0),
    "bincount": lambda xp, t: np.bincount(xp.asarray([0, 1, 1, 3]), weights=t, minlength=6),
    "where": lambda xp, t: np.where(xp.asarray(MASK), t, 0.0),
    "select": lambda xp, t: np.select([xp.asarray(MASK)], [t], 0.0),
    "choose": lambda xp, t: np.choose(xp.asarray(PLACES), [t[:3], t[1:]]),
    "compress": lambda xp, t: np.compress(xp.asarray(MASK), t),
    "delete": lambda xp, t: np.delete(t, xp.asarray(PLACES)),
    "insert": lambda xp, t: np.insert(t, xp.asarray(PLACES), 2.0),
    "interp": lambda xp, t: np.interp(xp.asarray([0.5, 1.5]), xp.asarray(np.arange(4.0)), t),
    "digitize": lambda xp, t: np.digitize(t, xp.asarray([0.5, 1.5])),
    "histogram": lambda xp, t: np.histogram(t, bins=xp.asarray([0.5, 1.5, 9.0]))[0],
    "piecewise": lambda xp, t: np.piecewise(t, [xp.asarray(MASK)], [lambda v: v * 2, 0.0]),
    "split": lambda xp, t: np.split(t, xp.asarray([1, 2]))[1],
    "isin": lambda xp, t: np.isin(t, xp.asarray([1.0, 2.0])),
    "percentile": lambda xp, t: np.percentile(t, xp.asarray([30.0, 60.0])),
    "sum where": lambda xp, t: np.sum(t, where=xp.asarray(MASK)),
    "polyval": lambda xp, t: np.polyval(t, xp.ones(2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_that_over_numpy(cupy, name):
    call = CALLS[name]
    t, u = ag.asarray(X, requires_grad=True), ag.asarray(cupy.asarray(X), requires_grad=True)
    expected, found = ag.asarray(call(np, t)), ag.asarray(call(cupy, u))
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
    assert found.requires_grad == expected.requires_grad
    if expected.requires_grad:
        (wanted,) = ag.autograd.grad(ag.sum(expected * expected), [t])
        (gradient,) = ag.autograd.grad(ag.sum(found * found), [u])
        assert type(gradient.array) is cupy.ndarray
        np.testing.assert_allclose(gradient.numpy(), wanted.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal"])
def test_an_array_is_not_written_from_a_tensor(cupy, name):
    array, values = cupy.ones((2, 2)), ag.asarray(cupy.ones(2), requires_grad=True)
    further = {
        "copyto": (values,),
        "put": ([0, 1], values),
        "place": (cupy.ones((2, 2), bool), values),
        "putmask": (cupy.ones((2, 2), bool), values),
        "put_along_axis": (cupy.zeros((1, 2), int), values, 0),
        "fill_diagonal": (values,),
    }[name]
    with pytest.raises(TypeError):
        getattr(np, name)(array, *further)
    assert bool((array == 1).all())
