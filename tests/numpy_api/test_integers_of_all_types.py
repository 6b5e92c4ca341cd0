"""Integers that a function takes beside its array (shifts, axes, shapes, counts, offsets), of every integer type.

The class: NumPy takes its own integers, of any width and unsigned ones, and arrays without axes, in the place of
Python's. A rule that negates such a number, or subtracts from it, wraps where the type has no negative numbers.
Each gradient is compared with differences of the plain function.
"""

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.numpy

X = np.arange(1.0, 36.0).reshape(5, 7) ** 1.3 / 9
INTEGERS = {
    "int": int,
    "int8": np.int8,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint64": np.uint64,
    "int64": np.int64,
    "no axes": np.array,
    "unsigned, no axes": lambda n: np.array(n, dtype=np.uint32),
}
# Name -> function(x, i): i makes an integer of the type.
CALLS = {
    "roll": lambda x, i: np.roll(x, i(3), i(1)),
    "roll, flat": lambda x, i: np.roll(x, i(4)),
    "roll, several": lambda x, i: np.roll(x, (i(2), i(3)), (i(0), i(1))),
    "roll, array": lambda x, i: np.roll(x[0], np.array([1, 2], dtype=np.asarray(i(1)).dtype)),
    "full": lambda x, i: np.full(i(7), x[0]),
    "full_like": lambda x, i: np.full_like(x, x[0, 0], shape=i(3)),
    "broadcast_to": lambda x, i: np.broadcast_to(x[0, 0], i(3)),
    "tile": lambda x, i: np.tile(x, i(2)),
    "reshape": lambda x, i: np.reshape(x, i(35)),
    "resize": lambda x, i: np.resize(x, (i(4), i(3))),
    "repeat": lambda x, i: np.repeat(x, i(2), i(1)),
    "rot90": lambda x, i: np.rot90(x, i(1)),
    "diag": lambda x, i: np.diag(x, i(1)),
    "diagflat": lambda x, i: np.diagflat(x[0], i(1)),
    "trace": lambda x, i: np.trace(x, i(1)),
    "tril": lambda x, i: np.tril(x, i(1)),
    "diff": lambda x, i: np.diff(x, i(2), i(0)),
    "sum": lambda x, i: np.sum(x, i(1)),
    "cumsum": lambda x, i: np.cumsum(x, i(1)),
    "var": lambda x, i: np.var(x, i(1), ddof=i(2)),
    "take": lambda x, i: np.take(x, i(2), i(1)),
    "delete": lambda x, i: np.delete(x, i(2), i(1)),
    "insert": lambda x, i: np.insert(x, i(2), x[:, 0], i(1)),
    "moveaxis": lambda x, i: np.moveaxis(x, i(0), i(1)),
    "split": lambda x, i: np.split(x, i(5), i(0)),
    "pad": lambda x, i: np.pad(x, i(2), mode="reflect"),
    "linspace": lambda x, i: np.linspace(x[0], x[1], i(4), axis=i(1)),
    "gradient": lambda x, i: np.gradient(x, i(2), axis=i(1)),
    "power": lambda x, i: x ** i(3),
    "power of zero": lambda x, i: x ** i(0),
    "ldexp": lambda x, i: np.ldexp(x, i(3)),
    "matrix_power": lambda x, i: np.linalg.matrix_power(x[:3, :3], i(3)),
    "norm": lambda x, i: np.linalg.norm(x, i(3), axis=i(1)),
    "rfft": lambda x, i: np.fft.rfft(x, i(5), i(1)),
    "irfft": lambda x, i: np.fft.irfft(x, i(6), i(1)),
    "fftn": lambda x, i: np.fft.fftn(x, axes=np.array([i(0), i(1)])),
    "rfftn": lambda x, i: np.fft.rfftn(x, axes=np.array([i(1), i(0)])),
    "rfft2": lambda x, i: np.fft.rfft2(x, s=np.array([i(3), i(4)]), axes=(0, 1)),
    "irfftn": lambda x, i: np.fft.irfftn(x, s=np.array([i(3), i(4)]), axes=(i(0), i(1))),
    "fftshift": lambda x, i: np.fft.fftshift(x, np.array([i(1)])),
    "ifftshift": lambda x, i: np.fft.ifftshift(x, i(1)),
    "vander": lambda x, i: np.vander(x[0], i(3)),
    "polyder": lambda x, i: np.polyder(x[0], i(2)),
    "tensordot": lambda x, i: np.tensordot(x, x, ([i(0)], [i(0)])),
}


def weighted(out):
    pieces = out if isinstance(out, list) else [out]
    total = 0.0
    for piece in pieces:
        weights = np.cos(np.arange(1.0, piece.size + 1))
        total = total + (np.real(piece).reshape(-1) * weights).sum() + (np.imag(piece).reshape(-1) * weights**2).sum()
    return total


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", CALLS)
def test_gradient(name, kind):
    call, integer = CALLS[name], INTEGERS[kind]
    try:
        call(X, integer)
    except Exception as error:
        pytest.skip(f"NumPy: {error}")
    for _ in range(3):  # the first call of a function goes by another way than those that follow
        found = ag.grad(lambda x: weighted(call(x, integer)))(X)
    direction = np.sin(np.arange(35.0) ** 2).reshape(X.shape)
    step = 1e-5
    ahead, behind = (weighted(call(X + s * direction, integer)) for s in (step, -step))
    np.testing.assert_allclose((found * direction).sum(), (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-7)


TRANSFORMS = {
    "fft": lambda f, x, norm: f.fft(x, norm=norm),
    "rfft": lambda f, x, norm: f.rfft(x, n=4, norm=norm),
    "irfft": lambda f, x, norm: f.irfft(x, norm=norm),
    "ihfft": lambda f, x, norm: f.ihfft(x, norm=norm),
    "hfft": lambda f, x, norm: f.hfft(x, norm=norm),
    "ifftn": lambda f, x, norm: f.ifftn(x, norm=norm),
    "rfftn": lambda f, x, norm: f.rfftn(x, axes=(1, 0), norm=norm),
    "irfftn": lambda f, x, norm: f.irfftn(x, norm=norm),
}


@pytest.mark.parametrize("library", [np.fft, ag.fft, ag.numpy.fft], ids=["numpy", "arraygrad", "arraygrad.numpy"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_no_norm(name, library):
    """NumPy's None is "backward"."""
    call = TRANSFORMS[name]
    expected = ag.grad(lambda x: weighted(call(np.fft, x, "backward")))(X)
    for _ in range(2):
        np.testing.assert_allclose(ag.grad(lambda x: weighted(call(library, x, None)))(X), expected, rtol=1e-12)


@pytest.mark.parametrize("conditions", [lambda x: [x > 1.0, x <= 1.0], lambda x: [x > 1.0], lambda x: x > 1.0])
def test_piecewise_of_a_number(conditions):
    """NumPy makes an array of the number before it hands out items."""

    def square_or_one(x):
        return np.piecewise(x, conditions(x), [lambda x: x * x, 1.0])

    assert square_or_one(3.0) == 9.0
    assert ag.grad(square_or_one)(3.0) == 6.0
    assert ag.grad(ag.grad(square_or_one))(3.0) == 2.0
