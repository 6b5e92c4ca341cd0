"""Arrays that an adopted call makes are recorded, and those whose memory somebody else reads are not.

Imports the public names of arraygrad. The reference is the plain call: its value, and differences of it.
"""

import array

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag

X = np.asarray([0.45, 1.2, 2.3])
SHARED = np.zeros(3)


def filled(make):
    """A function that writes into an array that `make()` makes."""

    def f(x):
        out = make()
        out[0] = x[0] * x[1]
        out[1:2] += x[2]
        return (out[:3] ** 2).sum()

    return f


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.zeros(3), lambda: np.ones(3), lambda: np.full(3, 2.0), lambda: np.array([1.0, 2.0, 3.0]),
        lambda: np.array(SHARED), lambda: np.copy(SHARED), lambda: np.zeros_like(SHARED), lambda: np.arange(3.0),
        lambda: np.linspace(0.0, 1.0, 3), lambda: np.asarray([1.0, 2.0, 3.0]), lambda: np.asarray((1.0, 2.0, 3.0)),
        lambda: np.full_like(SHARED, 2.0), lambda: np.tile(1.0, 3), lambda: np.repeat(2.0, 3), lambda: np.eye(3)[0],
        lambda: np.r_[0.0:3.0], lambda: np.asarray(range(3), dtype=float), lambda: np.fromiter([1.0, 2.0, 3.0], float),
        lambda: np.fromfunction(lambda i: i * 1.0, (3,)), lambda: np.logspace(0.0, 1.0, 3),
    ],
)  # fmt: skip
def test_array_made_inside_can_be_written(make):
    f = filled(make)
    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.array([[x[0], 1.0], [x[1], x[2]]]).prod() + np.array([x, 2 * x])[1].sum(),
        lambda x: np.asarray([[[x[0]], [2.0]], [[x[1]], [x[2]]]])[:, :, 0].prod(axis=1).sum(),
        lambda x: np.sum([x[0], x[1]]) * np.mean([[x[0], 1.0], [x[1], x[2]]], axis=0)[1],
        lambda x: np.max([x[0], x[1]]) + np.std([x[0], x[1], 2.0]) + np.median([x[0], x[2], x[1]]),
        lambda x: np.dot([x[0], 1.0], [x[1], x[2]]) + np.cross([x[0], 1.0, 2.0], [x[1], x[2], 1.0])[1],
        lambda x: np.linalg.norm([x[0], x[1]]) + np.linalg.det([[x[0], 1.0], [1.0, x[1]]]),
        lambda x: np.diff([x[0], x[1], x[2]]).prod() + np.append([x[0]], [x[1], 2.0]).prod(),
        lambda x: np.concatenate([[x[0], 1.0], [x[1]]]).prod() + np.hstack([[x[0]], x]).sum(),
        lambda x: np.block([[np.ones(1) * x[0], 2.0], [3.0, x[1]]]).prod(),
        lambda x: np.vstack([[x[0], 1.0], [x[1], x[2]]]).prod() + np.outer([x[0], 2.0], [x[1], 1.0]).sum(),
        lambda x: np.full(3, x[0]).sum() + np.full((2, 2), [x[1], x[2]]).prod(),
        lambda x: np.full_like(SHARED, x[0]).sum() + np.ones((2, 3))[0] @ x,
        lambda x: np.fromiter((v * v for v in x), float).sum() + np.fromiter([x[0], x[1], x[2]], float, count=2).prod(),
        lambda x: np.fromfunction(lambda i, j: i * x[0] + j * x[1], (2, 3)).sum(),
        lambda x: np.vectorize(lambda v, w: v * w if v > 1.0 else w)(x, 2.0 * x).sum(),
        lambda x: np.vectorize(lambda v: v * x[0], otypes=[float])(np.arange(3.0)).sum(),
        lambda x: np.vectorize(lambda v: (v, v * v))(x)[1].sum(),
        lambda x: np.apply_along_axis(lambda row: row.sum() * x[0], 0, np.ones((2, 3))).sum(),
        lambda x: np.piecewise(x, [x < 1.0, x >= 1.0], [lambda v: v * v, 3.0]).sum(),
        lambda x: np.select([x < 1.0, x > 2.0], [x * x, 2.0 * x], 5.0).sum(),
        lambda x: (np.arange(0.0, x[2], x[0]) ** 2).sum() + np.arange(x[0], 3.0).sum() + np.arange(x[2]).sum(),
        lambda x: np.c_[x, x * x][1].prod() + np.r_[x[0], 1.0, [x[1], 2.0]].prod(),
        lambda x: (np.asarray(x) * np.asanyarray(x) * np.ascontiguousarray(x)).sum() + np.array(x, dtype=float)[0],
        lambda x: np.interp(x[0], [0.0, 1.0, 2.0], [0.0, x[1], 3.0]),
    ],
)
def test_arrays_of_recorded_values_are_recorded(f):
    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-13)
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-6, atol=1e-7)


class OverShared:
    """Hands out memory that it keeps."""

    def __array__(self, dtype=None, copy=None):
        return SHARED


class Interface:
    __array_interface__ = SHARED.__array_interface__


@pytest.mark.parametrize(
    "view",
    [
        lambda: np.asarray(SHARED), lambda: np.asanyarray(SHARED), lambda: np.array(SHARED, copy=None),
        lambda: np.ascontiguousarray(SHARED), lambda: np.asarray(SHARED[:2]), lambda: np.asarray(memoryview(SHARED)),
        lambda: np.frombuffer(SHARED), lambda: np.asarray(OverShared()), lambda: np.asarray(Interface()),
        lambda: np.r_[SHARED] if np.shares_memory(np.r_[SHARED], SHARED) else SHARED, lambda: SHARED.reshape(3, 1),
    ],
)  # fmt: skip
def test_array_over_memory_that_somebody_else_reads_stays_plain(view):
    """It would be read through the other name, without a gradient."""

    def f(x):
        view()[0] = x[0]
        return SHARED.sum() + 0.0 * x[0]

    with pytest.raises(TypeError, match="plain array"):
        ag.grad(f, adopt=True)(X)
    assert not SHARED.any()


def test_array_over_the_memory_of_a_buffer_stays_plain():
    numbers = array.array("d", [0.0, 0.0])

    def f(x):
        np.asarray(numbers)[0] = x[0]
        return sum(numbers) + 0.0 * x[0]

    with pytest.raises(TypeError, match="plain array"):
        ag.grad(f, adopt=True)(X)


def test_two_names_of_an_array_made_inside_are_one():
    def f(x):
        out = np.zeros(3)
        other = np.asarray(out)
        part = out[1:]
        other[0] = x[0]
        part[0] = x[1]
        return out.prod() + (out * np.arange(3.0)).sum() + other[1] * 2.0

    np.testing.assert_allclose(ag.grad(f, adopt=True)(X), central_differences(f, X), atol=1e-8)


def test_arrays_stay_raw_where_nothing_is_recorded():
    seen = []

    class Square(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(np.zeros(2))
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2.0 * ctx.saved_tensors[0]

    def f(x):
        with ag.no_grad():
            seen.append(np.zeros(2))
        return Square.apply(x).sum()

    np.testing.assert_allclose(ag.grad(f, adopt=True)(X), 2.0 * X)
    assert [type(made) for made in seen] == [np.ndarray] * 2


def test_primitives_compute_with_raw_arrays():
    seen = []

    @ag.primitive
    def cube(x):
        out = np.zeros(3)
        out[:] = x**3
        seen.append(type(out))
        return out

    ag.defvjp(cube, lambda ans, x: lambda g: g * 3.0 * x**2)
    np.testing.assert_allclose(ag.grad(lambda x: (cube(x) * np.ones(3)).sum(), adopt=True)(X), 3.0 * X**2)
    assert seen == [np.ndarray]


def test_integers_booleans_and_text_stay_arrays():
    def f():
        return [np.zeros(2, dtype=int), np.arange(3), np.ones(2, bool), np.array(["a"]), np.array([1, 2])]

    assert [type(a) for a in ag.adopt(f)()] == [np.ndarray] * 5


def test_single_precision_stays_single():
    def f(x):
        out = np.zeros(3, dtype=np.float32)
        out[:] = x * np.ones(3, np.float32)
        return out.sum()

    gradient = ag.grad(f, adopt=True)(X.astype(np.float32))
    assert gradient.dtype == np.float32
    assert gradient.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "make",
    [
        np.array, np.asarray, np.asanyarray, np.copy, np.zeros_like, np.block,
        lambda s: np.asarray(s, dtype=float), lambda s: np.array(s, copy=None), lambda s: np.full((), s),
        lambda s: np.full_like(s, s), lambda s: np.tile(s, ()), lambda s: np.asarray(np.array(s)),
        lambda s: np.array(s).copy(), lambda s: np.array(s).T, lambda s: np.array(s).squeeze(),
        lambda s: np.array(s).astype(float),
    ],
)  # fmt: skip
@pytest.mark.parametrize("scalar", [lambda x: x[0], lambda x: np.mean(x), lambda x: float(x[0])])
def test_array_without_axes_that_is_made_of_a_scalar_is_an_array(make, scalar):
    def f(x):
        s = scalar(x)
        a = make(s)
        b = a
        b += x[1]  # an array is written, so `a` is too
        assert isinstance(a, np.ndarray)
        assert type(a) is np.ndarray
        assert not np.isscalar(a)
        return a * s + (a * x[2] if isinstance(a, np.ndarray) else 5.0)

    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-7, atol=1e-8)


def test_argument_that_was_a_number_becomes_an_array_and_stays_a_number():
    def f(x):
        a = np.asarray(x)
        a += 1.0
        return a * x

    assert ag.value_and_grad(f, adopt=True)(0.31) == (pytest.approx(f(0.31)), pytest.approx(1.62))


def test_array_without_axes_stays_itself_by_asarray():
    def f(x):
        a = np.array(x[0])
        np.asarray(a)[...] = x[1] * x[2]
        return a * x[0]

    np.testing.assert_allclose(ag.grad(f, adopt=True)(X), [X[1] * X[2], X[0] * X[2], X[0] * X[1]])


def test_scalar_that_is_broadcast_to_no_axes_is_an_array():
    assert ag.grad(lambda x: x[0] * (2.0 if isinstance(np.broadcast_to(x[0], ()), np.ndarray) else 5.0), adopt=True)(
        X
    ).tolist() == [2.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.interp(x[0], range(3), [0.0, 1.0, 4.0]) * x[1], lambda x: np.trapezoid(x * x, range(3)),
        lambda x: np.dot(x, range(3)) * np.polyval(range(3), x).sum(), lambda x: np.outer(range(2), x * x).sum(),
        lambda x: np.r_[0 : x[0] : 5j, x[1]].prod() + (np.r_[x[0] : x[1] : 4j] ** 2).sum(),
    ],
)  # fmt: skip
def test_ranges_and_complex_steps_beside_tensors_are_arrays(f):
    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-7, atol=1e-8)


def test_arange_counts_in_the_precision_of_its_ends():
    def f(end):
        return end * np.arange(0, end, 0.2).size

    end = np.array(0.8, np.float32)
    value, gradient = ag.value_and_grad(f, adopt=True)(end)
    assert value == f(end)
    assert gradient == np.arange(0, end, 0.2).size
