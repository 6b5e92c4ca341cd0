"""Quantiles that stay where they are, whatever the shape: the centre of a symmetric law where the density is 0 or inf.

The class: `median`, `ppf(0.5)` and `isf(0.5)` of the laws that are a law of positive numbers with a random sign. All
derivatives in the shape and the scale are zero there, of every order, and that in the location is one.
"""

import numpy as np
import pytest

import arraygrad as ag

stats = pytest.importorskip("scipy.stats")

LAWS = [("dgamma", 0.6), ("dgamma", 1.1), ("dgamma", 1.7), ("dweibull", 0.7), ("dweibull", 2.07)]
CALLS = {
    "median": lambda law, *at: law.median(*at),
    "ppf": lambda law, *at: law.ppf(0.5, *at),
    "isf": lambda law, *at: law.isf(0.5, *at),
    "ppf of several": lambda law, *at: law.ppf(np.array([0.5, 0.5]), *at).sum() / 2,
}


@pytest.mark.filterwarnings("ignore:.*does not depend on")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("name", "shape"), LAWS)
def test_both_orders(name, shape, call):
    law, at = getattr(stats, name), (shape, 0.3, 1.7)
    function = lambda *at: CALLS[call](law, *at)
    np.testing.assert_array_equal(ag.grad(function, argnums=(0, 1, 2))(*at), [0.0, 1.0, 0.0])
    for i in range(3):
        second = ag.grad(lambda *at, i=i: ag.grad(function, argnums=i)(*at), argnums=(0, 1, 2))(*at)
        np.testing.assert_array_equal(second, [0.0, 0.0, 0.0])


@pytest.mark.parametrize(("name", "shape"), LAWS)
def test_beside_other_quantiles(name, shape):
    """A quantile beside the centre keeps its derivatives: differences of its first ones, in the shape."""
    law = getattr(stats, name)
    first = ag.grad(lambda a: law.ppf(np.array([0.3, 0.5]), a, 0.3, 1.7).sum())
    difference = (first(shape + 1e-5) - first(shape - 1e-5)) / 2e-5
    np.testing.assert_allclose(ag.grad(first)(shape), difference, rtol=1e-4)
