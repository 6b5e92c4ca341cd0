"""The solvers that `implicit` uses where the caller names none: SciPy's with exact derivatives, and plain iteration.

May import: implicit.common, transforms.tracked_call, transforms, numpy; scipy inside functions.

Each is called as `solver(fun, x0)` with a function of raw arrays and a raw starting point.
"""

from __future__ import annotations

import numpy

from arraygrad.implicit.common import ConvergenceError, raw
from arraygrad.transforms.following import grad, jacobian, value_and_grad
from arraygrad.transforms.tracked_call import meta_of

__all__ = ["iterate", "minimize_scipy", "root_scipy"]

# Newton's method doubles the digits: from the six or more that SciPy's solvers give, three steps reach the last one.
NEWTON_STEPS = 3
MOST_ITERATIONS = 10_000


def root_scipy(fun, x0):
    """scipy.optimize.root with the Jacobian by reverse mode, and Newton's steps."""
    optimize, x0 = _scipy("root", x0)
    found = optimize.root(
        lambda x: _flat(fun(x.reshape(x0.shape))), x0.ravel(), jac=lambda x: _square(jacobian(fun), x, x0)
    )
    if not found.success:
        return found
    return _newton(lambda x: _flat(fun(x)), jacobian(fun), found.x.reshape(x0.shape))


def minimize_scipy(fun, x0):
    """scipy.optimize.minimize by BFGS with the gradient by reverse mode, and Newton's steps."""
    optimize, x0 = _scipy("minimize", x0)

    def value_and_gradient(x):
        value, gradient = value_and_grad(fun)(x.reshape(x0.shape))
        return float(raw(value)), _flat(gradient)

    found = optimize.minimize(value_and_gradient, x0.ravel(), jac=True, options={"gtol": 1e-8})
    if not found.success and found.status != 2:  # 2: no further progress is possible in this precision
        return found
    gradient = grad(fun)
    return _newton(lambda x: _flat(gradient(x)), jacobian(gradient), found.x.reshape(x0.shape))


def iterate(fun, x0):
    """x = fun(x) until nothing changes but rounding."""
    xp = meta_of(x0).ops.xp
    epsilon = float(xp.finfo(x0.dtype).eps)
    x = x0
    change = 0.0
    for _ in range(MOST_ITERATIONS):
        new = fun(x)
        if tuple(getattr(new, "shape", ())) != tuple(x.shape):
            return new
        change = float(xp.max(xp.abs(new - x))) if x0.size else 0.0
        x = new if isinstance(new, type(x0)) else xp.asarray(new, dtype=x0.dtype)
        if not change > 4.0 * epsilon * (1.0 + float(xp.max(xp.abs(x))) if x0.size else 1.0):
            return x
    raise ConvergenceError(
        f"implicit.fixed_point: x still changed by {change:.3g} in iteration {MOST_ITERATIONS}: the map is no "
        "contraction near x0; pass a solver"
    )


def _scipy(name, x0):
    if not isinstance(x0, numpy.ndarray):
        raise TypeError(
            f"implicit.{name}: without a solver x0 must be an array of NumPy, for SciPy; got {type(x0).__name__}: "
            "pass solver="
        )
    try:
        from scipy import optimize
    except ImportError as error:
        raise ImportError(
            f"implicit.{name} uses SciPy where no solver is given: pass solver=, or pip install scipy"
        ) from error
    return optimize, x0.astype(numpy.float64)


def _flat(values):
    return numpy.ravel(numpy.asarray(raw(values), dtype=numpy.float64))


def _square(matrix, x, x0):
    return numpy.reshape(numpy.asarray(raw(matrix(x.reshape(x0.shape))), dtype=numpy.float64), (x0.size, x0.size))


def _newton(fun, derivative, x):
    """A few steps of Newton's method, as long as they make the residual smaller."""
    left = fun(x)
    for _ in range(NEWTON_STEPS):
        try:
            step = numpy.linalg.solve(_square(derivative, x.ravel(), x), left)
        except numpy.linalg.LinAlgError:
            break  # backward says so, if it matters
        new = x - step.reshape(x.shape)
        new_left = fun(new)
        if not numpy.linalg.norm(new_left) < numpy.linalg.norm(left):
            break
        x, left = new, new_left
    return x
