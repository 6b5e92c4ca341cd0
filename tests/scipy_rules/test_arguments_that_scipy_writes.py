"""What SciPy writes into its own arguments changes no gradient.

Of stacks with two axes and more, Rotation.from_matrix writes the nearest rotation matrices into the array that it is
given. The class: constructors of rotations x shapes of stacks x how far from a rotation the argument is.
"""

import numpy as np
import pytest

transform = pytest.importorskip("scipy.spatial.transform", reason="SciPy, which is optional, is not installed")

import arraygrad as ag


@pytest.mark.parametrize("shape", [(), (2,), (2, 2), (1, 2, 2)])
@pytest.mark.parametrize("size", [1e-3, 1.0, 40.0])
def test_nearest_rotation_of_stacks(shape, size):
    rng = np.random.default_rng(2)
    m = size * (np.eye(3) + 0.1 * rng.normal(size=(*shape, 3, 3)))
    kept, weights = m.copy(), rng.normal(size=(*shape, 3))

    def f(m):
        return np.sum(weights * transform.Rotation.from_matrix(m).apply(np.array([1.0, 2.0, 3.0])))

    found = ag.grad(f)(m)
    np.testing.assert_array_equal(m, kept)
    d = rng.normal(size=m.shape) * size
    expected = (f(m + 1e-5 * d) - f(m - 1e-5 * d)) / 2e-5
    np.testing.assert_allclose(np.sum(found * d), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["from_quat", "from_matrix", "from_rotvec", "from_mrp"])
@pytest.mark.parametrize("shape", [(), (2,), (2, 2)])
def test_arguments_are_what_they_were(name, shape):
    tail = (3, 3) if name == "from_matrix" else (4,) if name == "from_quat" else (3,)
    x = np.broadcast_to(2.0 * np.eye(3) if name == "from_matrix" else np.arange(1.0, 1.0 + tail[0]), (*shape, *tail))
    x = x.copy()
    kept = x.copy()
    ag.grad(lambda x: np.sum(getattr(transform.Rotation, name)(x).as_quat()))(x)
    np.testing.assert_array_equal(x, kept)
