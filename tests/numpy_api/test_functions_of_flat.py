"""NumPy's functions and ufuncs of `x.flat`, which they take for the array of its elements.

The class: function x layout of the array (rows, columns, a slice, no axes) x constant, recorded or in an adopted call.
"""

import numpy as np
import pytest

import arraygrad as ag

FUNCTIONS = {
    "sum": lambda x: np.sum(x.flat),
    "mean": lambda x: np.mean(x.flat, dtype=float),
    "max": lambda x: np.max(a=x.flat),
    "dot": lambda x: np.dot(x.flat, x.flat),
    "norm": lambda x: np.linalg.norm(x.flat),
    "concatenate": lambda x: np.sum(np.concatenate([x.flat, x.ravel()]) ** 2),
    "clip": lambda x: np.sum(np.clip(x.flat, -0.5, 0.8) ** 2),
    "cumsum": lambda x: np.sum(np.cumsum(x.flat) ** 2),
    "exp": lambda x: np.sum(np.exp(x.flat)),
    "multiply": lambda x: np.sum(np.multiply(x.flat, np.arange(1.0, x.size + 1.0))),
    "reduce": lambda x: np.multiply.reduce(x.flat),
}

LAYOUTS = {
    "rows": lambda x: np.reshape(x, (2, 3)),
    "columns": lambda x: np.reshape(x, (3, 2)).T,
    "slice": lambda x: np.reshape(x, (2, 3))[:, ::2],
    "vector": lambda x: np.reshape(x, (6,)),
    "no axes": lambda x: np.reshape(x[:1], ()),
}

X = np.array([0.3, -0.4, 1.2, 0.7, 0.25, -0.9])


@pytest.mark.parametrize("adopt", [True, False])
@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("function", list(FUNCTIONS))
def test_function_of_flat_is_that_of_the_elements(function, layout, adopt):
    def program(x):
        return FUNCTIONS[function](LAYOUTS[layout](x) * 1.0)

    gradient = ag.grad(program, adopt=adopt)(X)
    differences = [(program(X + h) - program(X - h)) / 2e-6 for h in 1e-6 * np.eye(6)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)
    constant = FUNCTIONS[function](ag.asarray(LAYOUTS[layout](X) * 1.0))
    assert not getattr(constant, "requires_grad", False)
    np.testing.assert_array_equal(np.asarray(constant), program(X))
