"""The dtype of special functions with an order: SciPy's, by every way to the function and in every type of the order.

Imports of arraygrad: the public face.
"""

import numpy as np
import pytest
from scipy import special

import arraygrad as ag
import arraygrad.scipy

CALLS = {
    "multigammaln": lambda f, x, n: f(x, n),
    "polygamma": lambda f, x, n: f(n, x),
}


@pytest.mark.parametrize("way", ["own", "adopted"])
@pytest.mark.parametrize("order", [1, 2, np.int32(2), np.int64(1)], ids=repr)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
@pytest.mark.parametrize("name", CALLS)
def test_results_and_gradients_have_scipys_dtypes(name, shape, dtype, order, way):
    x = np.random.default_rng(0).uniform(2.5, 4.0, shape).astype(dtype)
    theirs, call = getattr(special, name), CALLS[name]
    expected = np.asarray(call(theirs, x, order))
    t = ag.tensor(x, requires_grad=True)
    if way == "own":
        found = call(getattr(arraygrad.scipy.special, name), t, order)
    else:
        found = ag.adopt(lambda x: call(theirs, x, order))(t)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-6)
    (g,) = ag.autograd.grad([found], [t], [ag.ones_like(found)])
    assert g.dtype == x.dtype
    wide, step = x.astype(float), 1e-5
    slope = (call(theirs, wide + step, order) - call(theirs, wide - step, order)) / (2 * step)
    np.testing.assert_allclose(g.numpy(), slope, rtol=1e-4 if dtype == "float32" else 1e-7)
