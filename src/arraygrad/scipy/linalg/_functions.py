"""Functions of matrices, and norms.

May import: arraygrad, scipy._declare, scipy.linalg._chapter, numpy, SciPy.

The derivative of an analytic function f along E is the block right above of f([[A, E], [0, A]]) (Higham 2008, Functions
of Matrices, 3.6). It is a sum of products A^i E A^j with coefficients that f has, so the gradient is the conjugate of
the derivative at A^T along the conjugate of the result's gradient G, by the same function: it is differentiable again.
(At A^H along G it is the same only where f(conj z) = conj f(z): not so of roots and logarithms on the negative axis.)
A real matrix stays real on the way: rounding would put its eigenvalues to either side of a branch cut.
"""

import functools

import numpy as np
import scipy.linalg

import arraygrad as ag
from arraygrad.scipy._declare import REGISTRY, raw
from arraygrad.scipy.linalg._chapter import NAMES, adjoint, by_composition, by_rule, no_rule, shape_of

__all__ = []

HIGHAM = "Higham (2008), 3.6"


def _frechet(name, a, e, *rest, result=None):
    """The derivative of the function `name` at a along e; the function's value there is compared with that of a^T."""
    n = shape_of(a)[-1]
    upper = ag.concat([a, e], axis=-1)
    below = ag.concat([ag.zeros_like(a), a], axis=-1)
    whole = NAMES[name](ag.concat([upper, below], axis=-2), *rest)
    if result is not None:
        _check_blocks(name, whole, result)
    return whole[..., :n, n:]


def _adjoint_frechet(name, a, g, ans, *rest):
    """What the derivative of `name` at a does to a gradient of the result."""
    a, g = ag.matrix_transpose(a), ag.asarray(g)
    if not _is_complex(g):
        return ag.conj(_frechet(name, a, g, *rest))
    if _is_complex(a):
        return ag.conj(_frechet(name, a, ag.conj(g), *rest))
    found = [_frechet(name, a, part, *rest, result=ans) for part in (ag.real(g), ag.imag(g))]
    return ag.conj(found[0] - 1j * found[1])


def _check_blocks(name, whole, result):
    """Refuse a derivative of which the function itself came out otherwise: eigenvalues fell to both sides of a cut."""
    whole, result = [x.detach().array if isinstance(x, ag.Tensor) else x for x in (whole, result)]
    n = result.shape[-1]
    expected = np.swapaxes(result, -1, -2)
    for block in (whole[..., :n, :n], whole[..., n:, n:]):
        if not np.allclose(block, expected, rtol=1e-5, atol=1e-5 * np.max(np.abs(expected), initial=0.0)):
            raise np.linalg.LinAlgError(
                f"arraygrad.scipy.linalg.{name}: the derivative can't be computed for this matrix, whose eigenvalues "
                "on the negative axis fall to either side of the branch cut by rounding"
            )


def _is_complex(a):
    return ag.isdtype(a.dtype, "complex floating")


def _analytic(name, parameter="A"):
    def rule(g, ans, **given):
        return _adjoint_frechet(name, ag.asarray(given[parameter]), g, ans)

    rule.__signature__ = _names(parameter)
    by_rule(name, parameter, HIGHAM, core=f"{parameter}(n,n)->(n,n)", inert="disp blocksize")(rule)


def _names(parameter):
    import inspect

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(n, kind) for n in ("g", "ans", parameter)])


for _name in ("expm", "logm", "sinm", "cosm", "tanm", "sinhm", "coshm", "tanhm"):
    _analytic(_name)


@by_rule("sqrtm", "A", "Sylvester's equation", core="A(n,n)->(n,n)", inert="disp blocksize")
def _sqrtm(g, ans, A):
    x = ag.asarray(ans)
    if len(shape_of(x)) > 2:
        return _adjoint_frechet("sqrtm", ag.asarray(A), g, ans)
    return NAMES["solve_sylvester"](adjoint(x), adjoint(x), ag.asarray(g))


def _with_error(name):
    """disp=False: the function and an estimate of its error, which has no derivative."""
    alone, theirs = NAMES[name], getattr(scipy.linalg, name)

    @functools.wraps(theirs)
    def both(A, disp=None, **options):
        if not isinstance(A, ag.Tensor) or disp is None or disp:  # SciPy's default is an object of its own
            return alone(A, **({} if disp is None else {"disp": disp}), **options)
        return alone(A, **options), theirs(raw(A), disp=disp, **options)[1]

    return both


for _name in ("logm", "sqrtm"):
    NAMES[_name] = REGISTRY[f"linalg.{_name}"].function = _with_error(_name)


@by_rule("fractional_matrix_power", "A", HIGHAM, core="A(n,n)->(n,n)", refuse={"t": "it has no rule"})
def _fractional_matrix_power(g, ans, A, t):
    return _adjoint_frechet("fractional_matrix_power", ag.asarray(A), g, ans, t)


@by_composition("expm_frechet", "A E", HIGHAM, core="A(n,n),E(n,n)->?", inert="method")
def _expm_frechet(A, E, compute_expm=True):
    A, E = ag.asarray(A), ag.asarray(E)
    found = _frechet("expm", A, E)
    return (NAMES["expm"](A), found) if compute_expm else found


@by_composition("norm", "a", "the table")
def _norm(a, ord=None, axis=None, keepdims=False):
    return np.linalg.norm(ag.asarray(a), ord=ord, axis=axis, keepdims=keepdims)


no_rule("the function has no rule", "funm", "expm_cond")
