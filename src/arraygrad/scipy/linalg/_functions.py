"""Functions of matrices, and norms.

May import: arraygrad, scipy._declare, scipy.linalg._chapter, numpy, SciPy.

The derivative of an analytic function f along E is the block right above of f([[A, E], [0, A]]) (Higham 2008, Functions
of Matrices, 3.6); the gradient is the derivative at A^H along the gradient of the result, by the same function: it is
differentiable again.
"""

import numpy as np

import arraygrad as ag
from arraygrad.scipy.linalg._chapter import NAMES, adjoint, by_composition, by_rule, no_rule, shape_of

__all__ = []

HIGHAM = "Higham (2008), 3.6"


def _frechet(name, a, e, *rest):
    """The derivative of the function `name` at a along e."""
    n = shape_of(a)[-1]
    upper = ag.concat([a, e], axis=-1)
    below = ag.concat([ag.zeros_like(a), a], axis=-1)
    whole = NAMES[name](ag.concat([upper, below], axis=-2), *rest)
    return whole[..., :n, n:]


def _analytic(name, parameter="A"):
    def rule(g, ans, **given):
        a = ag.asarray(given[parameter])
        # Where a real matrix has a complex function the conjugate matters; g has the result's dtype.
        return _frechet(name, adjoint(a), g)

    rule.__signature__ = _names(parameter)
    by_rule(name, parameter, HIGHAM, inert="disp blocksize")(rule)


def _names(parameter):
    import inspect

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(n, kind) for n in ("g", "ans", parameter)])


for _name in ("expm", "logm", "sqrtm", "sinm", "cosm", "tanm", "sinhm", "coshm", "tanhm"):
    _analytic(_name)


@by_rule("fractional_matrix_power", "A", HIGHAM, refuse={"t": "it has no rule"})
def _fractional_matrix_power(g, ans, A, t):
    return _frechet("fractional_matrix_power", adjoint(ag.asarray(A)), g, t)


@by_composition("expm_frechet", "A E", HIGHAM, inert="method")
def _expm_frechet(A, E, compute_expm=True):
    A, E = ag.asarray(A), ag.asarray(E)
    found = _frechet("expm", A, E)
    return (NAMES["expm"](A), found) if compute_expm else found


@by_composition("norm", "a", "the table")
def _norm(a, ord=None, axis=None, keepdims=False):
    return np.linalg.norm(ag.asarray(a), ord=ord, axis=axis, keepdims=keepdims)


no_rule("the function has no rule", "funm", "expm_cond")
