"""Distances of two samples whose values are equal: within one sample, between both, and all of them.

The class: wasserstein_distance and energy_distance x weights of one, both and none x ties x by values and weights. A
derivative is that of differences: of both sides where they agree, their mean at a kink.
"""

import itertools

import numpy as np
import pytest
from scipy import stats

import arraygrad as ag

SAMPLES = {
    "no ties": ([0.3, 1.1, -0.4, 2.0], [0.9, 1.7, -1.0]),
    "within": ([0.0, 1.0, 1.0, 3.0], [0.5, 2.0, 2.0, -1.0]),
    "between": ([0.0, 1.0, 2.5], [1.0, 2.0, 0.0]),
    "both": ([0.0, 1.0, 1.0, 3.0], [1.0, 2.0, 2.0, 0.0]),
    "the same": ([1.0, 2.0, 3.0], [2.0, 3.0, 1.0]),
    "all equal": ([1.0, 1.0, 1.0], [1.5, 1.5]),
    "one of each": ([1.0], [2.0]),
}


def weights(values, seed):
    return np.random.default_rng(seed).uniform(0.5, 1.0, size=len(values))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("function", [stats.wasserstein_distance, stats.energy_distance])
def test_derivatives_are_those_of_differences(function, name):
    u, v = map(np.array, SAMPLES[name])
    for weighted in itertools.product((True, False), repeat=2):
        given = [
            u,
            v,
            *(weights(a, i) if one else None for i, (a, one) in enumerate(zip((u, v), weighted, strict=True))),
        ]
        if function.__name__ == "energy_distance" and function(*given) == 0.0:
            continue  # a square root at zero
        places = tuple(i for i, a in enumerate(given) if a is not None)
        found = ag.grad(function, argnums=places)(*given)
        for place, gradient in zip(places, found, strict=True):
            expected = np.zeros(gradient.shape)
            for k in range(gradient.size):
                above, below = ([a if a is None else a.copy() for a in given] for _ in range(2))
                above[place][k] += 1e-6
                below[place][k] -= 1e-6
                expected[k] = (function(*above) - function(*below)) / 2e-6
            np.testing.assert_allclose(gradient, expected, atol=2e-6, err_msg=f"{weighted} argument {place}")


def test_second_derivatives():
    u, v = np.array([0.3, 1.1, -0.4, 2.0]), np.array([0.9, 1.7, -1.0])
    w = weights(u, 0)
    hessian = ag.hessian(lambda w: stats.energy_distance(u, v, w))(w)
    gradient = ag.grad(lambda w: stats.energy_distance(u, v, w))
    expected = [(gradient(w + d) - gradient(w - d)) / 2e-5 for d in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(hessian, expected, atol=1e-8)
