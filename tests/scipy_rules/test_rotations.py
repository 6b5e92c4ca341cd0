"""Rotations of matrices that are not orthogonal, at gimbal locks, and what is constant of a rotation."""

import numpy as np
import pytest
from plain_slopes import agree

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy.spatial.transform import Rotation

import arraygrad as ag
from arraygrad.scipy.spatial import transform

MATRIX = np.eye(3) + 0.3 * np.array([[0, -1.0, 0.2], [0.5, 0, 0], [0, 0.1, 0.3]])
WEIGHTS = np.cos(np.arange(9.0)).reshape(3, 3)
VECTOR = np.array([0.1, 0.2, 0.3])


@pytest.mark.parametrize("matrix", [MATRIX, 3.0 * MATRIX, Rotation.from_rotvec(VECTOR).as_matrix(), np.eye(3)])
def test_a_matrix_that_is_not_orthogonal(matrix):
    # SciPy takes the elements of a matrix that is orthogonal to 1e-5 in its diagonal: differences step over that.
    def f(m):
        return (Rotation.from_matrix(m).as_matrix() * WEIGHTS).sum()

    agree(f, matrix, rtol=1e-4, atol=1e-4)
    agree(lambda m: (Rotation.from_matrix(np.stack([m, MATRIX])).as_matrix()[0] * WEIGHTS).sum(), matrix, atol=1e-4)


def test_a_matrix_that_is_said_to_be_valid():
    matrix = Rotation.from_rotvec(VECTOR).as_matrix()
    ours = Rotation.from_matrix
    try:
        ours(matrix, assume_valid=True)
    except TypeError:
        pytest.skip("this SciPy has no assume_valid")
    agree(lambda m: (Rotation.from_matrix(m, assume_valid=True).as_matrix() * WEIGHTS).sum(), MATRIX)


def test_a_matrix_of_the_other_hand_is_refused_as_by_scipy():
    with pytest.raises(ValueError, match="Non-positive determinant"):
        ag.grad(lambda m: Rotation.from_matrix(m).as_matrix().sum(), adopt=True)(-np.eye(3))


@pytest.mark.parametrize("degrees", [False, True])
@pytest.mark.parametrize(("seq", "second"), [("xyz", 90), ("ZYX", 90), ("zyx", -90), ("zxz", 0), ("XYX", 180)])
def test_a_gimbal_lock_has_scipys_angles_and_no_derivative(seq, second, degrees):
    unit = 1.0 if degrees else np.pi / 180.0

    def f(a):
        angles = np.stack([a, second * unit + 0.0 * a, 20.0 * unit + 0.0 * a])
        return Rotation.from_euler(seq, angles, degrees=degrees).as_euler(seq, degrees=degrees)[0]

    with pytest.warns(UserWarning, match="Gimbal lock detected"):
        expected = f(30.0 * unit)
    with (
        pytest.warns(UserWarning, match="Gimbal lock detected"),
        pytest.warns(RuntimeWarning, match="as_euler: no derivative at a gimbal lock"),
    ):
        value, gradient = ag.value_and_grad(f, adopt=True)(30.0 * unit)
    assert value == pytest.approx(expected, abs=1e-12)
    assert np.isnan(gradient)


def test_angles_beside_a_locked_rotation_keep_their_derivative():
    angles = np.array([[0.3, 0.4, 0.5], [0.3, np.pi / 2, 0.0]])
    agree(lambda a: (Rotation.from_euler("xyz", a).as_euler("xyz")[0] * VECTOR).sum(), angles)


@pytest.mark.parametrize("seq", ["xyz", "ZXZ"])
def test_angles_without_a_lock(seq):
    agree(lambda v: (Rotation.from_rotvec(v).as_euler(seq) * WEIGHTS[0]).sum(), np.array([0.4, 0.5, -0.3]))


def test_reduce_and_approx_equal():
    group = Rotation.create_group("O")
    agree(lambda v: (Rotation.from_rotvec(v).reduce().as_matrix() * WEIGHTS).sum(), VECTOR)
    for sides in ((group,), (None, group), (group, Rotation.create_group("C3"))):
        agree(lambda v, s=sides: (Rotation.from_rotvec(9.0 * v).reduce(*s).as_matrix() * WEIGHTS).sum(), VECTOR)
        agree(lambda v, s=sides: (Rotation.from_rotvec([9.0 * v, v]).reduce(*s).as_matrix()[0] * WEIGHTS).sum(), VECTOR)
    agree(lambda v: (v * Rotation.from_rotvec(v).approx_equal(Rotation.identity())).sum(), VECTOR)
    agree(lambda v: (v * Rotation.identity().approx_equal(Rotation.identity())).sum(), VECTOR)


def test_what_a_rotation_of_a_tensor_lacks_is_refused_by_name():
    with pytest.raises(TypeError, match=r"Rotation\.as_davenport: the rotation holds a Tensor.*compose it of as_euler"):
        ag.grad(lambda v: Rotation.from_rotvec(v).as_davenport(np.eye(3), "e", 0).sum(), adopt=True)(VECTOR)


# -- matrices that are rotations already: the nearest one has derivatives of every order -------------------------------

TURN = Rotation.from_rotvec([0.4, -0.7, 0.9]).as_matrix()
NEAR_ROTATIONS = {
    "exactly": np.eye(3)[[1, 2, 0]], "up to rounding": TURN, "nearly": TURN + 1e-11 * np.arange(9.0).reshape(3, 3),
    "roughly": TURN + 0.02 * np.cos(np.arange(9.0).reshape(3, 3)), "not": TURN @ np.diag([1.0, 2.0, 0.7]),
}  # fmt: skip
OF_ROTATIONS = {
    "as_rotvec": lambda r: r.as_rotvec() @ np.array([0.3, -1.0, 0.5]),
    "as_matrix": lambda r: np.sum(r.as_matrix() * np.sin(np.arange(9.0).reshape(3, 3) + 1.0)),
    "as_quat": lambda r: r.as_quat() @ np.array([0.3, 0.8, -1.0, 0.5]),
    "as_euler": lambda r: r.as_euler("zyx") @ np.array([0.3, -1.0, 0.5]),
    "apply": lambda r: np.prod(r.apply([1.0, 2.0, 3.0])),
}


@pytest.mark.parametrize("how", NEAR_ROTATIONS)
@pytest.mark.parametrize("name", OF_ROTATIONS)
def test_derivatives_of_every_order_of_the_nearest_rotation(name, how):
    """By differences of the derivative one order lower, along a direction."""

    def f(m):
        return OF_ROTATIONS[name](transform.Rotation.from_matrix(m))

    m = NEAR_ROTATIONS[how]
    along = np.random.default_rng(3).normal(size=(3, 3))

    def slope(function):
        return lambda m: np.sum(ag.grad(function)(m) * along)

    lower = [f, slope(f), slope(slope(f))]
    for order, function in enumerate(lower, 1):
        found = float(np.sum(ag.grad(function)(m) * along))
        h = 1e-3
        ends = [float(np.asarray(function(m + k * h * along))) for k in (1, -1, 2, -2)]
        expected = (8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h)
        size = max(abs(expected), 1.0)
        assert abs(found - expected) < 1e-6 * size * 30.0 ** (order - 1), (order, found, expected)
