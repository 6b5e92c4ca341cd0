"""Gradients of programs that use SciPy under adopt=True, held to differences of the plain calls.

May import: arraygrad, numpy.
"""

import numpy as np

import arraygrad as ag


def differences(f, x, step=1e-3):
    """Central differences of two steps, by Richardson: the error is of the fourth order."""
    x = np.asarray(x, dtype=float)
    found = np.zeros(x.size)

    def moved(i, by):
        at = x.copy().ravel()
        at[i] += by
        return float(f(float(at[0]) if x.ndim == 0 else at.reshape(x.shape)))

    for i in range(x.size):
        wide, near = ((moved(i, h) - moved(i, -h)) / (2.0 * h) for h in (step, step / 2.0))
        found[i] = (4.0 * near - wide) / 3.0
    return found.reshape(x.shape)


def holds(f, x, rtol=1e-6, atol=1e-8):
    """The value is that of the plain call, and so is the gradient."""
    value, gradient = ag.value_and_grad(f, adopt=True)(x)
    np.testing.assert_allclose(float(value), float(f(x)), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gradient, differences(f, x), rtol=rtol, atol=atol)
