"""Recorded objects of SciPy stay what they were made of: attributes can't be set, buffers may be written afterwards.

Imports arraygrad, arraygrad.scipy.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy import sparse

import arraygrad as ag
from arraygrad.scipy import interpolate, signal, stats
from arraygrad.scipy.sparse import linalg
from arraygrad.scipy.spatial.transform import Rotation, Slerp

X = np.arange(6.0)
Y = np.sin(X) + X

OBJECTS = {
    "interp1d.fill_value": lambda a: interpolate.interp1d(X, Y * a, bounds_error=False, fill_value=0.0),
    "interp1d.y": lambda a: interpolate.interp1d(X, Y * a),
    "RegularGridInterpolator.method": lambda a: interpolate.RegularGridInterpolator((X,), Y * a),
    "Rbf.epsilon": lambda a: interpolate.Rbf(X, Y * a, epsilon=1.0),
    "multivariate_normal.mean": lambda a: stats.multivariate_normal(np.stack([a, a]), np.eye(2)),
    "norm.args": lambda a: stats.norm(a, 1.0),
    "lti.den": lambda a: signal.lti(np.stack([a]), np.stack([1.0 + 0 * a, a])),
    "StateSpace.A": lambda a: signal.StateSpace(np.eye(2) * a, np.ones((2, 1)), np.ones((1, 2)), np.zeros((1, 1))),
}


@pytest.mark.parametrize("what", OBJECTS)
def test_attributes_can_not_be_set_once_an_object_is_made(what):
    made, name = OBJECTS[what](ag.tensor(0.7, requires_grad=True)), what.partition(".")[2]
    with pytest.raises(AttributeError, match=rf"\.{name} can't be set.*Make a new"):
        setattr(made, name, 2.0)


def factors(a):
    matrix = sparse.csc_matrix(np.diag([1.0, 2.0, 3.0]))
    recorded = ag.adopt(lambda a: sparse.csc_matrix((np.stack([a, 2 * a, 1 + a]), matrix.indices, matrix.indptr)))(a)
    solve = linalg.splu(recorded).solve
    recorded.data[0] = 9.0
    return ag.sum(solve(np.ones(3)))


def test_factors_are_those_of_the_matrix_that_they_were_made_of():
    a = 0.77
    np.testing.assert_allclose(ag.grad(factors)(a), -1.5 / a**2 - 1.0 / (1 + a) ** 2)


@pytest.mark.parametrize("kind", [np.array, ag.tensor])
def test_a_buffer_may_be_written_after_an_object_was_made(kind):
    def density(a, written):
        buffer = kind(np.eye(2))
        made = stats.multivariate_normal(np.zeros(2), buffer)
        if written:
            buffer[0, 0] = 5.0
        return made.logpdf(np.stack([a, a * a]))

    value, gradient = ag.value_and_grad(density)(0.7, True)
    expected_value, expected = ag.value_and_grad(density)(0.7, False)
    assert (float(value), float(gradient)) == (float(expected_value), float(expected))


def test_times_of_rotations_may_be_written_afterwards():
    times = np.array([0.0, 1.0])
    between = Slerp(times, Rotation.from_rotvec(np.array([[0.1, 0.2, 0.3], [1.0, 1.0, 1.0]])))
    expected = ag.grad(lambda a: ag.sum(between(a).as_rotvec()))(0.7)
    times[1] = 2.0
    assert ag.grad(lambda a: ag.sum(between(a).as_rotvec()))(0.7) == expected


def test_a_density_of_data_that_were_written_is_refused():
    data = Y.copy()
    estimate = stats.gaussian_kde(data)
    assert np.isfinite(ag.grad(lambda a: estimate(a)[0])(0.7))
    data[0] = 9.0
    with pytest.raises(RuntimeError, match=r"the data set of scipy\.stats\.gaussian_kde was written"):
        ag.grad(lambda a: estimate(a)[0])(0.7)
