"""Rotations of constants, systems and their algebra, residues and regions without elements."""

import re

import numpy as np
import pytest
from plain_slopes import agree

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy import interpolate, ndimage, signal
from scipy.spatial.transform import Rotation, Slerp

import arraygrad as ag

VECTOR = np.array([0.1, 0.2, 0.3])
TIMES = np.arange(5.0)


def test_rotations_of_constants_meet_tensors():
    turn = [0.3, -0.4, 0.5]
    agree(lambda v: (Rotation.from_rotvec(turn).apply(v) * VECTOR).sum(), VECTOR)
    agree(lambda v: (Rotation.from_rotvec(turn).inv().apply(v) * VECTOR).sum(), VECTOR)
    agree(lambda v: (Rotation.from_rotvec([turn, turn])[1].apply(v, inverse=True) * VECTOR).sum(), VECTOR)
    agree(lambda n: ((Rotation.from_rotvec(turn) ** n).as_rotvec() * VECTOR).sum(), 1.7)
    agree(lambda v: ((Rotation.from_rotvec(turn) * Rotation.from_rotvec(v)).as_quat() ** 3).sum(), VECTOR)
    agree(lambda v: ((Rotation.from_rotvec(v) * Rotation.from_rotvec(turn) ** 2).as_quat() ** 3).sum(), VECTOR)
    ends = [[0.0, 0, 0], [0.3, 0.4, 0.5]]
    agree(lambda t: (Slerp([0.0, 1.0], Rotation.from_rotvec(ends))(t).as_matrix()[0] * VECTOR).sum(), 0.3)
    agree(lambda v: (Slerp([0.0, 1.0], Rotation.from_rotvec(ends))(0.3).apply(v) * VECTOR).sum(), VECTOR)


def test_other_ways_to_constant_rotations():
    agree(lambda v: (Rotation([0, 0, 0.6, 0.8]).apply(v) ** 3).sum(), VECTOR)
    agree(lambda q: (Rotation(q).as_matrix() ** 3).sum(), np.array([0.1, 0.2, 0.3, 0.9]))
    agree(lambda v: (Rotation.identity().apply(v) ** 2).sum(), VECTOR)
    agree(lambda v: sum((one.apply(v) ** 3).sum() for one in Rotation.create_group("C3")), VECTOR)
    agree(lambda v: (Rotation.align_vectors(np.eye(3), np.eye(3)[[1, 2, 0]])[0].apply(v) ** 3).sum(), VECTOR)
    with pytest.raises(TypeError, match="align_vectors: an argument requires grad, but it has no rule here"):
        ag.grad(lambda v: Rotation.align_vectors(v[None, :], [[1.0, 0, 0]])[1], adopt=True)(VECTOR)


def test_a_rotation_of_constants_is_scipys():
    from arraygrad.scipy.spatial import transform as ours

    found = ours.Rotation.from_rotvec(VECTOR)
    assert isinstance(found, Rotation)
    np.testing.assert_array_equal(found.as_quat(), Rotation.from_rotvec(VECTOR).as_quat())
    assert type(found.apply(VECTOR)) is np.ndarray


def test_residues():
    agree(lambda b: np.real(signal.residue(b, [1, 3, 2.0])[0] * [1.0, 2.0]).sum(), np.array([1.0, 0.4]))
    agree(lambda a: np.real(signal.residue([1.0, 0.4], a)[0] * [1.0, 2.0]).sum(), np.array([1.0, 3.0, 2.0]))
    agree(lambda a: np.abs(signal.residue([1.0, 0.4], a)[1]).sum(), np.array([1.0, 1.0, 2.0]))
    agree(lambda b: np.real(signal.residuez(b, [1, 0.3, 0.02])[0] * [1.0, 2.0]).sum(), np.array([1.0, 0.4]))
    agree(lambda b: np.real(signal.residue(b, [1, 3, 2.0])[2]).sum(), np.array([1.0, 0.4, 3.0, 2.0]))


def test_poles_and_zeros_of_systems():
    agree(lambda d: np.real(signal.lti([1.0, d], [2.0, 0.6 + d, 2.0]).poles).sum(), 0.4)
    agree(lambda d: np.real(signal.TransferFunction([1.0, d], [2.0, d, 2.0]).zeros).sum(), 0.4)
    agree(lambda d: signal.lti([1.0, d], [2.0 * d, 0.6, 2.0]).num.sum(), 0.4)
    agree(lambda d: np.imag(signal.StateSpace([[d, 1.0], [-1.0, 0.2]], [[1.0], [0.0]], [[1.0, 0.0]], [[0.0]]).poles[0])
          ** 2, 0.4)  # fmt: skip
    agree(lambda d: signal.StateSpace(signal.lti([1.0], [1.0, d])).A.sum(), 0.4)


WAYS = {
    "in a row": lambda s, t: s * t,
    "in the other order": lambda s, t: t * s,
    "side by side": lambda s, t: s + t,
    "difference": lambda s, t: t - s,
    "scaled": lambda s, t: 3.0 * s * 2.0 / 5.0,
    "by a matrix": lambda s, t: np.array([[2.0]]) * s * np.array([[0.3]]),
    "with a number added": lambda s, t: 1.0 - s + np.array([[0.3]]),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_algebra_of_state_spaces(way):
    def f(p):
        first = signal.StateSpace([[p[0], 0.1], [0.0, 0.3]], [[1.0], [p[1]]], [[1.0, p[2]]], [[0.2]])
        second = signal.StateSpace([[0.2]], [[1.5]], [[1.0]], [[0.4]])
        found = WAYS[way](first, second)
        parts = (found.A, found.B, found.C, found.D)
        return sum((np.cos(np.arange(m.size)).reshape(m.shape) * m).sum() for m in parts)

    agree(f, np.array([0.4, 0.5, 0.6]))


def test_systems_that_do_not_fit_are_refused():
    def f(d):
        first = signal.StateSpace([[d]], [[1.0]], [[1.0]], [[0.0]])
        return (first * signal.StateSpace([[0.2]], [[1.0]], [[1.0]], [[0.0]], dt=0.1)).A.sum()

    with pytest.raises(TypeError):
        f(0.3)
    with pytest.raises(TypeError, match="time steps None and"):
        ag.grad(f, adopt=True)(0.3)


@pytest.mark.parametrize("name", ["median", "minimum", "maximum"])
@pytest.mark.parametrize("index", [[1, 9], [9], [2, 0, 3]])
def test_regions_without_elements(name, index):
    labels = np.array([1, 1, 3, 4])
    agree(lambda x: getattr(ndimage, name)(x, labels, index) @ np.arange(1.0, len(index) + 1.0),
          np.array([0.3, 0.2, 0.5, 0.4]))  # fmt: skip
    agree(lambda x: ndimage.extrema(x, labels, index)[0].sum(), np.array([0.3, 0.2, 0.5, 0.4]))


def test_an_object_made_outside_says_to_make_it_inside():
    spline, turn = interpolate.CubicSpline(TIMES, TIMES**2), Rotation.from_rotvec(VECTOR)
    other = interpolate.KroghInterpolator(TIMES, TIMES**2)
    for f, x, what in (
        (lambda t: other(t), 0.3, "scipy.interpolate.KroghInterpolator is SciPy's own"),
        (lambda t: other(t), 0.3, "make it inside of the function, KroghInterpolator(...)(...)"),
        (lambda v: turn.apply(v).sum(), VECTOR, "make it inside of the function, Rotation(...).apply(...)"),
    ):
        with pytest.raises(TypeError, match=re.escape(what)):
            ag.grad(f, adopt=True)(x)
    with pytest.raises(TypeError, match=re.escape("make it by arraygrad.scipy.interpolate.CubicSpline, or inside of")):
        spline(ag.tensor(0.3, requires_grad=True))
