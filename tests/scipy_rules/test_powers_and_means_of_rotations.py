"""Powers, products, means and reductions of rotations: SciPy's values, and derivatives of both orders.

The class: operations of stacks of rotations x shapes of stacks x quaternions whose scalar part is positive and negative
x quaternions that are not normalised x weights x axes.
"""

import numpy as np
import pytest

transform = pytest.importorskip("scipy.spatial.transform", reason="SciPy, which is optional, is not installed")
Rotation = transform.Rotation

import arraygrad as ag

RNG = np.random.default_rng(11)


def _held(f, *arrays, atol=1e-9):
    """Value, gradient and second derivative of f along a direction, each against differences of one order less."""
    rng = np.random.default_rng(5)
    plain = f(*arrays)
    value, pull = ag.vjp(f, *arrays)
    np.testing.assert_allclose(value, plain, atol=1e-13)
    w = rng.normal(size=plain.shape)
    d, u = ([rng.normal(size=a.shape) for a in arrays] for _ in range(2))

    def moved(t):
        return [a + t * b for a, b in zip(arrays, d, strict=True)]

    def dot(g, v):
        return sum(np.sum(a * b) for a, b in zip(g, v, strict=True))

    def scalar(arrays):
        return np.sum(w * f(*arrays))

    first = (scalar(moved(1e-5)) - scalar(moved(-1e-5))) / 2e-5
    np.testing.assert_allclose(dot(pull(w), d), first, rtol=1e-6, atol=atol)
    second = (dot(ag.grad(scalar)(moved(1e-5)), u) - dot(ag.grad(scalar)(moved(-1e-5)), u)) / 2e-5
    np.testing.assert_allclose(dot(ag.hvp(scalar)(list(arrays), d), u), second, rtol=1e-5, atol=1e3 * atol)


@pytest.mark.parametrize("power", [-2, -1, 0, 1, 2, 0.5, -1.0, 1.0])
@pytest.mark.parametrize("shape", [(4,), (5, 4), (2, 3, 4)])
def test_powers(power, shape):
    _held(lambda q: (Rotation.from_quat(q) ** power).as_quat(), RNG.normal(size=shape))


@pytest.mark.parametrize("power", [-2.0, 0.3, 2.5])
def test_powers_that_are_differentiated(power):
    _held(lambda q, n: (Rotation.from_quat(q) ** n).as_quat(), RNG.normal(size=(5, 4)), np.array(power))


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_products_of_quaternions_that_are_not_normalised(shape):
    def f(p, q):
        return (Rotation(p, normalize=False) * Rotation(q, normalize=False)).as_quat()

    _held(f, RNG.normal(size=shape), RNG.normal(size=shape))


@pytest.mark.parametrize(("shape", "axis"), [((3, 4), None), ((2, 3, 4), None), ((2, 3, 4), 0), ((2, 3, 4), -1),
                                             ((2, 3, 4), (0, 1)), ((2, 3, 4), ())])  # fmt: skip
@pytest.mark.parametrize("weighted", [False, True])
def test_means(shape, axis, weighted):
    near = 0.3 * RNG.normal(size=shape) + np.array([1.0, -0.5, 0.2, 1.0])
    if axis is None and len(shape) == 2:
        keywords = {}
    else:
        keywords = {"axis": axis}
    if not weighted:
        _held(lambda q: Rotation.from_quat(q).mean(**keywords).as_matrix(), near)
        return
    weights = RNG.uniform(0.5, 2.0, size=shape[:-1])
    _held(lambda q, w: Rotation.from_quat(q).mean(w, **keywords).as_matrix(), near, weights)


def test_mean_of_two_rotations():
    """All other eigenvalues of the form are equal."""
    _held(lambda v: Rotation.from_rotvec(v).mean().as_quat(), np.array([[0.0, 0.0, 0.0], [0.02, 0.0, 0.0]]))


@pytest.mark.parametrize("sides", ["left", "right", "both"])
def test_members_of_groups_that_reduce_a_rotation(sides):
    q, left, right = RNG.normal(size=(5, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=(4, 4))

    def f(q, *groups):
        given = dict(zip({"left": ["left"], "right": ["right"]}.get(sides, ["left", "right"]), groups, strict=True))
        return Rotation.from_quat(q).reduce(**{k: Rotation.from_quat(v) for k, v in given.items()}).as_quat()

    _held(f, q, *{"left": [left], "right": [right]}.get(sides, [left, right]))


def test_errors_are_those_of_scipy():
    q = np.eye(4)[:2]
    for call, words in (
        (lambda q: Rotation.from_quat(q).mean(np.array([-1.0, 1.0])).as_quat(), "non-negative"),
        (lambda q: transform.Slerp([1.0, 0.0], Rotation.from_quat(q))(0.5).as_quat(), "increasing"),
        (lambda q: transform.Slerp([0.0, 1.0, 2.0], Rotation.from_quat(q))(0.5).as_quat(), "number of"),
    ):
        with pytest.raises(ValueError, match=words):
            call(q)
        with pytest.raises(ValueError, match=words):
            ag.vjp(call, q)
