"""Factorisations: the rules of the table, at the signs and orders that SciPy's LAPACK chose.

May import: arraygrad, core.tensor, engine, namespaces.namespace, ops._factorizations, scipy._declare,
scipy._guards, scipy.linalg._chapter, numpy, SciPy.
"""

import functools

import numpy as np
import scipy.linalg

import arraygrad as ag
from arraygrad.core.tensor import backend_of
from arraygrad.engine.node import is_grad_enabled
from arraygrad.namespaces.namespace import make_graph_namespace
from arraygrad.ops import _factorizations as table
from arraygrad.scipy._declare import REGISTRY, raw
from arraygrad.scipy._guards import NotDifferentiable, holds_tensor
from arraygrad.scipy.linalg._chapter import (
    NAMES,
    adjoint,
    by_composition,
    by_rule,
    is_complex,
    no_rule,
    shape_of,
)
from arraygrad.scipy.linalg._solve import rows_of

__all__ = []


# What the table's rules see of NumPy where they are recorded: its internal operations too.
_GRAPH = make_graph_namespace(lambda: ag.numpy, backend_of(ag.asarray(np.zeros(()))))


def namespace_of(t):
    return _GRAPH


# -- Cholesky ---------------------------------------------------------------------------------------------------------


@by_composition("cholesky", "a", "Murray (2016)", core="a(n,n)->(n,n)")
def _cholesky(a, lower=False):
    return ag.linalg.cholesky(ag.asarray(a), upper=not lower)


@by_composition("cho_factor", "a", "Murray (2016)", core="a(n,n)->(n,n),()")
def _cho_factor(a, lower=False):
    a = ag.asarray(a)
    factor = ag.linalg.cholesky(a, upper=not lower)
    if _keeps_the_other_triangle():
        factor = factor + (ag.triu(a, k=1) if lower else ag.tril(a, k=-1))
    return factor, None


@functools.cache
def _keeps_the_other_triangle():
    """Whether cho_factor leaves in the other triangle what it was, as before SciPy 1.18, which clears it."""
    return bool(scipy.linalg.cho_factor(np.array([[2.0, 1.0], [1.0, 2.0]]))[0][1, 0])


# -- LU ---------------------------------------------------------------------------------------------------------------


def _lu_gradient(g_l, g_u, lower, upper):
    """The gradient of L U, rows permuted: L^-H (tril(L^H g_L, -1) + triu(g_U U^H)) U^-H for square matrices.

    What is below or right of the square part is a solution with the other factor.
    """
    m, n = shape_of(lower)[-2], shape_of(upper)[-1]
    k = min(m, n)
    first, beside = upper[..., :, :k], []
    top = lower[..., :k, :]
    g_top = None if g_l is None else g_l[..., :k, :]
    g_first = None if g_u is None else g_u[..., :, :k]
    if m > n and g_l is not None:
        rest = _right_solve(g_l[..., k:, :], adjoint(first))
        extra = -ag.matmul(adjoint(lower[..., k:, :]), rest)
        g_first = extra if g_first is None else g_first + extra
        beside = [rest]
    elif m > n:
        beside = [ag.zeros_like(lower[..., k:, :])]
    if n > m and g_u is not None:
        rest = ag.linalg.solve(adjoint(top), g_u[..., :, k:])
        extra = -ag.matmul(rest, adjoint(upper[..., :, k:]))
        g_top = extra if g_top is None else g_top + extra
        beside = [rest]
    elif n > m:
        beside = [ag.zeros_like(upper[..., :, k:])]
    inner = 0.0
    if g_top is not None:
        inner = inner + ag.tril(ag.matmul(adjoint(top), g_top), k=-1)
    if g_first is not None:
        inner = inner + ag.triu(ag.matmul(g_first, adjoint(first)))
    square = _right_solve(ag.linalg.solve(adjoint(top), inner), adjoint(first))
    return ag.concat([square, *beside], axis=-2 if m > n else -1) if beside else square


def _right_solve(b, a):
    """b a^-1."""
    return ag.matrix_transpose(ag.linalg.solve(ag.matrix_transpose(a), ag.matrix_transpose(b)))


@by_rule("lu", "a", "Giles (2008); de Hoog et al. (2011)", core="a(m,n)->?")
def _lu(g, ans, a, permute_l=False, p_indices=False):
    *_, g_l, g_u = g
    *p, lower, upper = ans
    if not raw(lower).size or not raw(upper).size:  # SciPy's permutations of nothing have another shape
        return ag.zeros_like(ag.asarray(a))
    if permute_l:
        p = scipy.linalg.lu(raw(a))[0]
        turned = np.swapaxes(p, -1, -2)
        lower, g_l = ag.matmul(turned, lower), None if g_l is None else ag.matmul(turned, g_l)
    else:
        p = np.asarray(raw(p[0]))
        p = np.eye(p.shape[-1])[p] if p_indices else p
    return ag.matmul(p, _lu_gradient(g_l, g_u, lower, upper))


@by_rule("lu_factor", "a", "Giles (2008); de Hoog et al. (2011)", core="a(m,n)->(m,n),(min(m,n))", each=True)
def _lu_factor(g, ans, a):
    packed, piv = ans
    m, n = shape_of(packed)
    k = min(m, n)
    mask = np.tril(np.ones((m, k)), -1)
    lower = packed[:, :k] * mask + np.eye(m, k)
    found = _lu_gradient(g[0][:, :k] * mask, ag.triu(g[0][:k, :]), lower, ag.triu(packed[:k, :]))
    return ag.take(found, np.argsort(rows_of(raw(piv), m)), axis=0)


# -- QR ---------------------------------------------------------------------------------------------------------------


@by_rule(
    "qr",
    "a",
    "the table: Giles (2008); Seeger et al. (2017)",
    core="a(m,n)->?",
    each=lambda named: named.get("pivoting", False),
)
def _qr(g, ans, a, mode="full", pivoting=False):
    a = ag.asarray(a)
    m, n = shape_of(a)[-2:]
    k = min(m, n)
    if mode == "r":
        r = ans[0]
        g_r, g_q = g[0], None
        q = _right_solve(a[..., :, ans[1]][..., :, :k] if pivoting else a[..., :, :k], r[..., :k, :k])
        r, g_r, mode = r[..., :k, :], g_r[..., :k, :], "economic"
    elif mode in ("full", "economic"):
        q, r = ans[0], ans[1]
        g_q, g_r = g[0], g[1]
    else:
        raise NotDifferentiable(f"arraygrad.scipy.linalg.qr: the derivative is not known for mode={mode!r}")
    _full_rank(raw(r), k)
    rule = "complete" if mode == "full" else "reduced"
    found = table.qr(namespace_of(q), (g_q, g_r), (q, r), (m, n), rule)
    if not pivoting:
        return found
    order = np.asarray(raw(ans[-1]))
    return ag.take(found, np.argsort(order), axis=-1)


def _full_rank(r, k):
    """Refuse a matrix whose first k columns are dependent: R has a zero there but for rounding errors."""
    size = np.abs(np.diagonal(r[..., :k, :k], axis1=-2, axis2=-1))
    least = max(r.shape[-2:]) * np.finfo(size.dtype).eps * np.max(size, axis=-1, initial=0.0)
    if np.any(np.min(size, axis=-1, initial=np.inf) <= least):
        raise np.linalg.LinAlgError(
            "arraygrad.scipy.linalg.qr: expected a matrix of full rank, but R has a zero on its diagonal (to rounding "
            f"errors: {np.min(size):.1e} beside {np.max(size):.1e}), where the decomposition has no derivative. "
            "svdvals has one there"
        )


def _whole_factors(decompose):
    """`qr` that refuses mode='raw' of what requires grad: Householder's vectors would be constants unseen."""

    @functools.wraps(decompose)
    def qr(a, overwrite_a=False, lwork=None, mode="full", *args, **kwargs):
        kwargs.update(zip(("pivoting", "check_finite"), args, strict=False))
        if lwork is not None:  # SciPy 1.18 warns of it
            kwargs["lwork"] = lwork
        if mode == "raw" and is_grad_enabled() and holds_tensor(a, grad=True):
            raise NotDifferentiable(
                "arraygrad.scipy.linalg.qr: expected mode as 'full', 'economic' or 'r' for a matrix that requires "
                "grad, got 'raw', whose vectors and tau have no rule. Pass its detach() if no gradient is wanted"
            )
        return decompose(a, overwrite_a=overwrite_a, mode=mode, **kwargs)

    return qr


NAMES["qr"] = REGISTRY["linalg.qr"].function = _whole_factors(NAMES["qr"])


# -- singular values --------------------------------------------------------------------------------------------------


@by_rule("svd", "a", "the table: Townsend (2016)", core="a(m,n)->?")
def _svd(g, ans, a, full_matrices=True, compute_uv=True):
    a = ag.asarray(a)
    if not compute_uv:
        u, _, vh = NAMES["svd"](a, full_matrices=False)
        return ag.matmul(u * g[..., None, :], vh)
    return table.svd(namespace_of(a), tuple(g), tuple(ans), a, full_matrices)


@by_composition("svdvals", "a", "the table: Townsend (2016)", core="a(m,n)->(min(m,n))")
def _svdvals(a):
    return ag.linalg.svdvals(ag.asarray(a))


# -- eigenvalues ------------------------------------------------------------------------------------------------------


def _generalized(g_w, g_v, w, v, a, b, again):
    """Gradients of a and b from dw_i = v_i^H (da - w_i db) v_i and dv = v c, both Hermitian.

    c_ij = v_i^H (da - w_j db) v_j / (w_j - w_i), and c_ii = -v_i^H db v_i / 2 as v^H b v = 1.
    """
    xp = namespace_of(v)
    own = np.eye(shape_of(v)[-1], dtype=bool)
    of_a = of_b = 0.0
    in_a = ag.zeros_like(v)
    in_b = ag.zeros_like(v)
    if g_w is not None:
        in_a = in_a + ag.where(own, g_w[..., None, :], 0.0)
        in_b = in_b + ag.where(own, (g_w * w)[..., None, :], 0.0)
    if g_v is not None:
        turn = ag.matmul(adjoint(v), g_v)
        table._check_phase(xp, "eigh", own, turn) if is_complex(v) else None
        over_gap, chosen, at, zero = table.by_pairs(xp, g_w, g_v, w, v, own, turn, again)
        of_a = of_b = zero
        for j in at:
            one, row = v[..., :, j, None], adjoint(v)[..., j, None, :]
            y, m = table.by_equations(xp, chosen, a, v[..., :, j], None, g_v[..., :, j], b)
            part = ag.matmul(y, row)
            of_a, of_b = of_a + part, of_b + w[..., j, None, None] * part + 0.5 * m * ag.matmul(one, row)
        if at:  # what they leave to the sums
            turn = ag.where(chosen[..., None, None] & ag.any(g_v.detach() != 0, axis=-2, keepdims=True), 0.0, turn)
        in_a = in_a + ag.where(own, 0.0, over_gap)
        in_b = in_b + ag.where(own, 0.5 * turn, over_gap * w[..., None, :])

    def outer(inner):
        return ag.matmul(ag.matmul(v, inner), adjoint(v))

    return of_a + outer(in_a), -(of_b + outer(in_b))


@by_rule(
    "eigh",
    "a b",
    "the table: Giles (2008); de Leeuw (2007) with b",
    core="a(n,n),b(n,n)->?",
    inert="type turbo eigvals",
)
def _eigh(g, ans, a, b=None, lower=True, eigvals_only=False, type=1):
    if type != 1 and b is not None:
        raise NotDifferentiable(f"arraygrad.scipy.linalg.eigh: the derivative is not known for type={type}")
    if eigvals_only:
        w, v = NAMES["eigh"](a, b, lower=lower)
        g_w, g_v = g, None
    else:
        (g_w, g_v), (w, v) = g, ans
    if b is None:
        return table.eigh(namespace_of(v), (g_w, g_v), (w, v), ag.asarray(a), not lower)
    xp = namespace_of(v)
    pair = [table.hermitian(xp, ag.asarray(m), not lower) for m in (a, b)]
    of_a, of_b = _generalized(g_w, g_v, w, v, *pair, lambda: NAMES["eigvalsh"](a, b, lower=lower))
    return {"a": table.of_triangle(xp, of_a, not lower), "b": table.of_triangle(xp, of_b, not lower)}


@by_composition("eigvalsh", "a b", "the table: Giles (2008); de Leeuw (2007) with b", core="a(n,n),b(n,n)->(?)")
def _eigvalsh(a, b=None, lower=True):
    return NAMES["eigh"](ag.asarray(a), b, lower=lower)[0]


@by_rule("eig", "a", "the table: Boeddeker et al. (2017)", core="a(n,n)->?")
def _eig(g, ans, a, right=True):
    if not right:
        raise NotDifferentiable("arraygrad.scipy.linalg.eig: the derivative needs right=True; use eigvals")
    return table.eig(namespace_of(ans[1]), tuple(g), tuple(ans), ag.asarray(a))


@by_composition("eigvals", "a", "the table: Boeddeker et al. (2017)", core="a(n,n)->(n)")
def _eigvals(a):
    return NAMES["eig"](ag.asarray(a))[0]


def _selected(w, select, select_range):
    """Those of the ascending eigenvalues that SciPy's `select` names: all, by value in (low, high], or by index."""
    which = select.lower()[0] if isinstance(select, str) else "avi"[select]
    if which == "a":
        return w
    low, high = np.asarray(raw(select_range))
    if which == "i":
        return w[int(low) : int(high) + 1]
    values = np.asarray(raw(w))
    return w[np.flatnonzero((low < values) & (values <= high))]


@by_composition("eigh_tridiagonal", "d e", "the table: Giles (2008)", core="d(n),e(m)->(p),(n,p)", each=True)
def _eigh_tridiagonal(d, e, eigvals_only=False, select="a", select_range=None):
    d, e = ag.asarray(d), ag.asarray(e)
    n = shape_of(d)[0]
    if not eigvals_only:
        raise NotDifferentiable(
            "arraygrad.scipy.linalg.eigh_tridiagonal: the derivative is known with eigvals_only=True; use eigh of the "
            "matrix for the vectors"
        )
    matrix = ag.pad(e[:, None] * np.eye(n - 1), ((1, 0), (0, 1))) + d[:, None] * np.eye(n)
    return _selected(NAMES["eigvalsh"](matrix), select, select_range)


@by_composition("eigvalsh_tridiagonal", "d e", "the table: Giles (2008)", core="d(n),e(m)->(p)", each=True)
def _eigvalsh_tridiagonal(d, e, select="a", select_range=None):
    return _eigh_tridiagonal(d, e, True, select, select_range)


# -- polar decomposition, and bases ----------------------------------------------------------------------------------


def _unitary_gradient(g, u, a):
    """The gradient by `a` of its unitary polar factor `u`, where `g` is that by `u`.

    With P = u^H a, a change da of `a` with full rank changes `u` by u W + (1 - u u^H) da P^-1, where W P + P W is
    u^H da - da^H u: what divides is sums of two singular values, so one of a square real `a` may be tiny.
    """
    m, n = shape_of(a)[-2:]
    if m < n:
        return adjoint(_unitary_gradient(adjoint(g), adjoint(u), adjoint(a)))
    p = ag.matmul(adjoint(u), a)
    p = 0.5 * (p + adjoint(p))
    inner = ag.matmul(adjoint(u), g)
    w = NAMES["solve_sylvester"](p, p, inner - adjoint(inner))
    found = ag.matmul(u, 0.5 * (w - adjoint(w)))
    return found if m == n else found + _right_solve(g - ag.matmul(u, inner), p)


@by_rule("polar", "a", "Higham (1986)", core="a(m,n)->(m,n),(p,p)")
def _polar(g, ans, a, side="right"):
    (g_u, g_p), (u, _), a = g, ans, ag.asarray(a)
    found = 0.0
    if g_p is not None:  # p = u^H a, or a u^H
        h = 0.5 * (g_p + adjoint(g_p))
        found, g_more = (ag.matmul(u, h), ag.matmul(a, h)) if side == "right" else (ag.matmul(h, u), ag.matmul(h, a))
        g_u = g_more if g_u is None else g_u + g_more
    return found + _unitary_gradient(g_u, u, a)


@by_rule("orthogonal_procrustes", "A B", "Schoenemann (1966); Higham (1986)", core="A(m,n),B(m,n)->(n,n),()")
def _orthogonal_procrustes(g, ans, A, B):
    (g_u, g_sum), (u, _), A, B = g, ans, ag.asarray(A), ag.asarray(B)
    product, n = ag.matmul(adjoint(A), B), shape_of(u)[-1]
    if g_u is not None and np.any(np.linalg.matrix_rank(np.asarray(raw(product))) < n - 1):
        raise NotDifferentiable(
            f"arraygrad.scipy.linalg.orthogonal_procrustes: the rank of A^H B is less than {n - 1}, so the matrix that "
            "maps A to B is one of many, which has no derivative: give both at least as many rows as columns"
        )
    found = 0.0 if g_u is None else _unitary_gradient(g_u, u, product)
    if g_sum is not None:
        found = found + ag.asarray(g_sum)[..., None, None] * u
    return {"A": lambda: ag.matmul(B, adjoint(found)), "B": lambda: ag.matmul(A, found)}


no_rule(
    "its vectors are one of many bases of a space, which has no derivative; use the projector, "
    "1 - pinv(a) @ a for the null space",
    "null_space", "orth",
)  # fmt: skip
no_rule("the factorisation has no rule", "schur", "rsf2csf", "qz", "ordqz", "cossin")
