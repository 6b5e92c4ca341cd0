"""Results that are written into memory which the same call reads: what NumPy computes, or a refusal."""

import warnings

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag

X = np.array([0.8, 0.5, 0.6, 0.3, 0.9, 0.7])

# Each writes into an array that it reads; y has six elements.
WRITES = {
    "flat, forward": lambda y: y.flat.__setitem__(slice(1, None), y[:-1]),
    "flat, backward": lambda y: y.flat.__setitem__(slice(None, -1), y[1:]),
    "flat, indices": lambda y: y.flat.__setitem__([1, 2, 3], y[:3]),
    "flat, all": lambda y: setattr(y, "flat", y[::-1]),
    "flat of a matrix": lambda y: y.reshape(2, 3).flat.__setitem__(slice(None, None, 2), y[1:4]),
    "items": lambda y: y.__setitem__(slice(1, None), y[:-1]),
    "items, indices": lambda y: y.__setitem__([1, 2, 3], y[:3]),
    "concatenate": lambda y: np.concatenate([y[1:], y[:1]], out=y),
    "concatenate, in order": lambda y: np.concatenate([y[:2], y[2:]], out=y),
    "stack": lambda y: np.stack([y[3:], y[:3]], out=y.reshape(2, 3)),
    "ptp": lambda y: np.ptp(y.reshape(2, 3), axis=1, out=y[1:3]),
    "ptp beside": lambda y: np.ptp(y[:4].reshape(2, 2), axis=1, out=y[4:]),
    "sum": lambda y: np.sum(y.reshape(2, 3), axis=0, out=y[:3]),
    "max": lambda y: np.max(y.reshape(2, 3), axis=1, out=y[::5]),
    "mean": lambda y: np.mean(y.reshape(2, 3), axis=1, out=y[1:3]),
    "std": lambda y: np.std(y.reshape(2, 3), axis=1, out=y[1:3]),
    "var": lambda y: np.var(y.reshape(2, 3), axis=0, out=y[1:4]),
    "median": lambda y: np.median(y.reshape(2, 3), axis=1, out=y[1:3]),
    "quantile": lambda y: np.quantile(y.reshape(2, 3), 0.3, axis=1, out=y[1:3]),
    "nanmean": lambda y: np.nanmean(y.reshape(2, 3), axis=1, out=y[1:3]),
    "nanmax": lambda y: np.nanmax(y.reshape(2, 3), axis=1, out=y[1:3]),
    "cumsum": lambda y: np.cumsum(y, out=y),
    "cumsum, moved": lambda y: np.cumsum(y[:-1], out=y[1:]),
    "cumprod": lambda y: np.cumprod(y[::-1], out=y),
    "nancumsum": lambda y: np.nancumsum(y[:-1], out=y[1:]),
    "take": lambda y: np.take(y, [1, 0, 3, 2, 5, 4], out=y, mode="clip"),
    "take, moved": lambda y: np.take(y, [4, 3, 2], out=y[2:5], mode="clip"),
    "compress": lambda y: np.compress([0, 1, 1, 1], y[:4], out=y[:3]),
    "choose": lambda y: np.choose([0, 1, 1, 0, 0], [y[1:], y[:-1]], out=y[:5]),
    "dot": lambda y: np.dot(y[:4].reshape(2, 2), y[1:5].reshape(2, 2), out=y[2:].reshape(2, 2)),
    "matmul": lambda y: np.matmul(y[:4].reshape(2, 2), y[1:5].reshape(2, 2), out=y[2:].reshape(2, 2)),
    "einsum": lambda y: np.einsum("ij->ji", y[:4].reshape(2, 2), out=y[1:5].reshape(2, 2)),
    "einsum, products": lambda y: np.einsum("i,i->i", y[:-1], y[1:], out=y[1:]),
    "outer": lambda y: np.outer(y[:2], y[1:3], out=y[:4].reshape(2, 2)),
    "clip": lambda y: np.clip(y[:-1], 0.47, 0.77, out=y[1:]),
    "trace": lambda y: np.trace(y.reshape(1, 2, 3), axis1=1, axis2=2, out=y[1:2]),
    "add": lambda y: np.add(y[:-1], y[1:], out=y[1:]),
    "sin": lambda y: np.sin(y[::-1], out=y),
    "accumulate": lambda y: np.multiply.accumulate(y[::-1], out=y),
    "reduceat": lambda y: np.add.reduceat(y, [0, 2, 4], out=y[1:4]),
    "at": lambda y: np.add.at(y, [1, 2, 2], y[:3]),
    "put": lambda y: np.put(y, [1, 2, 3], y[:3]),
    "put of a reverse": lambda y: np.put(y, [0, 1, 2, 3, 4, 5], y[::-1]),
    "ndarray.put": lambda y: y.put([3, 2, 1], y[:3]),
    "place": lambda y: np.place(y, np.array([0, 1, 1, 1, 0, 0], bool), y[:3]),
    "putmask": lambda y: np.putmask(y, np.array([0, 1, 1, 0, 0, 1], bool), y[::-1]),
    "put_along_axis": lambda y: np.put_along_axis(y, np.array([1, 2, 3]), y[:3], 0),
    "fill_diagonal": lambda y: np.fill_diagonal(y[:4].reshape(2, 2), y[1:3]),
    "copyto": lambda y: np.copyto(y[1:], y[:-1]),
    "ndarray.cumsum": lambda y: y[:-1].cumsum(out=y[1:]),
    "ndarray.mean": lambda y: y.reshape(2, 3).mean(axis=1, out=y[1:3]),
    "ndarray.take": lambda y: y.take([1, 0, 3], out=y[2:5], mode="clip"),
    "ndarray.compress": lambda y: y[:4].compress([0, 1, 1, 1], out=y[:3]),
    "ndarray.dot": lambda y: y[:4].reshape(2, 2).dot(y[1:5].reshape(2, 2), out=y[2:].reshape(2, 2)),
    "ndarray.clip": lambda y: y[:-1].clip(0.47, 0.77, out=y[1:]),
    "ndarray.std": lambda y: y.reshape(2, 3).std(axis=1, out=y[1:3]),
    "ndarray.fill": lambda y: y[1:].fill(y[0]),
    "sort of a view": lambda y: y[1:5].sort(),
}
# Those in which NumPy writes while it reads.
REFUSED = {
    "flat, forward", "flat of a matrix", "flat, indices", "flat, all", "concatenate", "stack", "ptp", "einsum", "put",
    "put of a reverse", "ndarray.put", "place", "putmask", "put_along_axis", "fill_diagonal", "einsum, products",
}  # fmt: skip


def weighed(a):
    return (np.sin(a) * np.arange(1, 1 + np.size(a))).sum()


def of_computed(x, write):
    y = x * 1.5
    write(y)
    return weighed(y)


def of_filled(x, write):
    y = np.zeros(6)
    y[:] = x
    before = np.sin(y)
    write(y)
    return weighed(y) + weighed(before)


@pytest.mark.parametrize("program", [of_computed, of_filled])
@pytest.mark.parametrize("what", WRITES)
def test_a_result_that_overlaps_an_operand(what, program):
    def f(x):
        return program(x, WRITES[what])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value, gradient = ag.value_and_grad(f, adopt=True)(X.copy())
        except TypeError as error:
            refusal = str(error)
            assert what in REFUSED, refusal
            assert "reads what it has written already" in refusal
            return
        np.testing.assert_allclose(value, f(X.copy()), rtol=1e-12)
        np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-6, atol=1e-8)


def test_equal_numbers_do_not_hide_an_overlap():
    def f(x):
        y = x * 1.0
        y.flat[1:] = y[:-1]
        return y @ np.array([1.0, 10.0, 100.0])

    with pytest.raises(TypeError, match=r"reads what it has written already.*x\.copy\(\)"):
        ag.grad(f)(np.ones(3))
