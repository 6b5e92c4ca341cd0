"""Matrix equations: Sylvester's, Lyapunov's and Riccati's, by the implicit function theorem.

May import: arraygrad, scipy._declare, scipy.linalg._chapter, numpy. The adjoint equation is of the same kind and solved
by the same function, so that derivatives of any order follow. Source of the linear ones: Kao and Hennequin (2020),
"Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati equations".
"""

import numpy as np

import arraygrad as ag
from arraygrad.scipy._declare import gradients_of_composition
from arraygrad.scipy.linalg._chapter import NAMES, adjoint, by_rule

__all__ = []

KAO = "Kao and Hennequin (2020)"
mm = ag.matmul


@by_rule("solve_sylvester", "a b q", KAO, core="a(m,m),b(n,n),q(m?,n?)->(m,n)")
def _solve_sylvester(g, ans, a, b, q):
    w = NAMES["solve_sylvester"](adjoint(ag.asarray(a)), adjoint(ag.asarray(b)), g)
    return {
        "a": lambda: -mm(w, adjoint(ans)),
        "b": lambda: -mm(adjoint(ans), w),
        "q": w if np.ndim(q) else ag.linalg.trace(w),
    }


@by_rule("solve_continuous_lyapunov", "a q", KAO, core="a(n,n),q(n,n)->(n,n)")
def _solve_continuous_lyapunov(g, ans, a, q):
    w = NAMES["solve_continuous_lyapunov"](adjoint(ag.asarray(a)), g)
    return {"a": lambda: -(mm(w, adjoint(ans)) + mm(adjoint(w), ans)), "q": w}


if "solve_continuous_lyapunov" in NAMES:
    NAMES["solve_lyapunov"] = NAMES["solve_continuous_lyapunov"]  # SciPy's old name


@by_rule("solve_discrete_lyapunov", "a q", KAO, core="a(n,n),q(n,n)->(n,n)", inert="method")
def _solve_discrete_lyapunov(g, ans, a, q):
    a = ag.asarray(a)
    w = NAMES["solve_discrete_lyapunov"](adjoint(a), g)
    return {"a": lambda: mm(mm(w, a), adjoint(ans)) + mm(mm(adjoint(w), a), ans), "q": w}


def _riccati(residual, multipliers, needs, **matrices):
    """Gradients by the residual of the equation at the solution, against the solution of the adjoint equation."""
    names = [name for name in matrices if name in needs]
    found = gradients_of_composition(
        lambda given: residual(**{**matrices, **dict(zip(names, given, strict=True))}),
        multipliers,
        [matrices[name] for name in names],
    )
    return dict(zip(names, found, strict=True))


@by_rule("solve_continuous_are", "a b q r", KAO, core="a(n,n),b(n,k),q(n,n),r(k,k)->(n,n)", inert="balanced")
def _solve_continuous_are(g, ans, a, b, q, r, needs):
    def residual(a, b, q, r):
        gain = ag.linalg.solve(r, mm(adjoint(b), ans))
        return mm(adjoint(a), ans) + mm(ans, a) - mm(mm(ans, b), gain) + q

    a, b, q, r = (ag.asarray(m) for m in (a, b, q, r))
    closed = a - mm(b, ag.linalg.solve(r, mm(adjoint(b), ans)))
    return _riccati(residual, NAMES["solve_continuous_lyapunov"](closed, -g), needs, a=a, b=b, q=q, r=r)


@by_rule("solve_discrete_are", "a b q r", KAO, core="a(n,n),b(n,k),q(n,n),r(k,k)->(n,n)", inert="balanced")
def _solve_discrete_are(g, ans, a, b, q, r, needs):
    def gain(a, b, r):
        return ag.linalg.solve(r + mm(mm(adjoint(b), ans), b), mm(mm(adjoint(b), ans), a))

    def residual(a, b, q, r):
        return mm(mm(adjoint(a), ans), a) - ans - mm(mm(mm(adjoint(a), ans), b), gain(a, b, r)) + q

    a, b, q, r = (ag.asarray(m) for m in (a, b, q, r))
    closed = a - mm(b, gain(a, b, r))
    return _riccati(residual, NAMES["solve_discrete_lyapunov"](closed, g), needs, a=a, b=b, q=q, r=r)
