"""Banded matrices, QR decompositions that are changed or applied, and angles between subspaces.

May import: arraygrad, scipy._declare, scipy.linalg, numpy, SciPy. What is banded is composed of the whole matrix, whose
elements outside of the band are constants.
"""

import dataclasses
import functools

import numpy as np
import scipy.linalg

import arraygrad as ag
from arraygrad.scipy._declare import REGISTRY, gradients_of_composition, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.linalg import _equations as _declared  # noqa: F401 (declares solve_continuous_lyapunov)
from arraygrad.scipy.linalg._chapter import (
    NAMES,
    adjoint,
    by_composition,
    by_rule,
    constants,
    is_complex,
    no_rule,
    shape_of,
)
from arraygrad.scipy.linalg._forms import gather
from arraygrad.scipy.linalg._solve import GILES

__all__ = []

DEFINITION = "definition"
mm = ag.matmul

# -- bands ------------------------------------------------------------------------------------------------------------


def _whole(ab, lower):
    """The triangle of a matrix whose diagonals are the rows of `ab`."""
    ab = ag.asarray(ab)
    count, n = shape_of(ab)[-2:]
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    row = i - j if lower else count - 1 + i - j
    inside = (row >= 0) & (row < count)
    inside &= (i >= j) if lower else (i <= j)
    taken = ab[..., np.clip(row, 0, count - 1), np.broadcast_to(j, row.shape)]
    return ag.where(inside, taken, 0.0)


def _band(a, count, lower, beyond):
    """The diagonals of a triangle as rows, and `beyond` where a row has no element."""
    n = shape_of(a)[-1]
    row, j = np.arange(count)[:, None], np.arange(n)[None, :]
    i = j + row if lower else j + row - count + 1
    inside = (i >= 0) & (i < n)
    return ag.where(inside, a[..., np.clip(i, 0, n - 1), np.broadcast_to(j, i.shape)], beyond)


@by_composition("cholesky_banded", "ab", "Murray (2016)", core="ab(u,n)->(u,n)")
def _cholesky_banded(ab, lower=False):
    triangle = _whole(ab, lower)
    factor = ag.linalg.cholesky(_hermitian(triangle, lower), upper=not lower)
    # Where a row has no element of the matrix SciPy leaves what was given.
    return _band(factor, shape_of(ag.asarray(ab))[-2], lower, beyond=ag.asarray(ab))


def _hermitian(triangle, lower):
    return triangle + adjoint(ag.tril(triangle, k=-1) if lower else ag.triu(triangle, k=1))


@by_composition("cho_solve_banded", "cb_and_lower b", GILES, core="cb_and_lower[(u,n),()],b(n,k?)->(n,k?)")
def _cho_solve_banded(cb_and_lower, b):
    cb, lower = cb_and_lower
    return NAMES["cho_solve"]((_whole(cb, bool(lower)), bool(lower)), ag.asarray(b))


@functools.cache
def _first_row_of_one():
    """Whether of one eigenvalue LAPACK reads the first row of an upper form, as up to 3.12, in place of the last."""
    return bool(scipy.linalg.eigvals_banded(np.array([[1.0], [2.0]]))[0] == 1.0)


def _read(ab, lower, select):
    """The triangle whose eigenvalues SciPy gives."""
    if shape_of(ag.asarray(ab))[-1] == 1 and not lower and select in ("a", "all", 0) and _first_row_of_one():
        ab = ag.asarray(ab)[:1]
    return _whole(ab, lower)


def _chosen(found, all_values):
    """Which of all eigenvalues SciPy gave, in its order."""
    return np.array([int(np.argmin(np.abs(all_values - w))) for w in found], dtype=int)


@by_rule(
    "eig_banded",
    "a_band",
    "the table: Giles (2008)",
    core="a_band(u,n)->(p),(n,p)",
    each=True,
    inert="select_range max_ev",
)
def _eig_banded(g, ans, a_band, lower=False, eigvals_only=False, select="a"):
    g_w, w, g_v, v = (g, ans, None, None) if eigvals_only else (g[0], ans[0], g[1], ans[1])

    def call(given):
        all_w, all_v = NAMES["eigh"](_read(given[0], lower, select), lower=lower)
        places = _chosen(raw(w), raw(all_w))
        vectors = ag.take(all_v, places, axis=1)
        if v is not None:  # at SciPy's signs and phases: the product must not depend on the phases of either
            turn = (
                ag.sum(ag.conj(vectors) * v, axis=0) if is_complex(vectors) else np.sum(raw(vectors) * raw(v), axis=0)
            )
            vectors = vectors * (turn / np.abs(turn))
        return ag.take(all_w, places), vectors

    return gradients_of_composition(call, (g_w, g_v), [ag.asarray(a_band)])[0]


@by_composition(
    "eigvals_banded", "a_band", "the table: Giles (2008)", core="a_band(u,n)->(p)", each=True, inert="select_range"
)
def _eigvals_banded(a_band, lower=False, select="a", select_range=None):
    all_w = NAMES["eigvalsh"](_read(a_band, lower, select), lower=lower)
    found = scipy.linalg.eigvals_banded(raw(a_band), lower=lower, select=select, select_range=select_range)
    return ag.take(all_w, _chosen(found, raw(all_w)))


# -- QR ---------------------------------------------------------------------------------------------------------------


def _signed_qr(a, plain):
    """The decomposition of a at the signs of SciPy's (q, r)."""
    q, r = plain
    square = q.shape[0] == q.shape[1] and r.shape[0] == q.shape[1]
    mine = NAMES["qr"](a, mode="full" if square and q.shape[0] > r.shape[1] else "economic")
    k = min(mine[1].shape)
    sign = np.ones(mine[0].shape[1])
    sign[:k] = np.sign(np.real(np.diagonal(raw(mine[1]))[:k]) * np.real(np.diagonal(r)[:k]))
    return mine[0] * sign, mine[1] * sign[:, None]


ONE_BASIS = "columns of Q beyond those of the matrix are one of many bases; use mode='economic' shapes"


def _economic(name, q, r):
    if shape_of(q)[0] > shape_of(r)[1] and shape_of(q)[0] == shape_of(q)[1]:
        raise NotDifferentiable(f"arraygrad.scipy.linalg.{name}: {ONE_BASIS}")


def _changed(name, of):
    def declare(formula):
        by_composition(name, of, "the table: Giles (2008); Seeger et al. (2017)", inert="overwrite_qruv overwrite_qru "
                       "overwrite_qr rcond")(formula)  # fmt: skip
        return formula

    return declare


@_changed("qr_update", "Q R u v")
def _qr_update(Q, R, u, v):
    Q, R, u, v = (ag.asarray(m) for m in (Q, R, u, v))
    _economic("qr_update", Q, R)
    u, v = (m if m.ndim > 1 else ag.reshape(m, (-1, 1)) for m in (u, v))
    plain = scipy.linalg.qr_update(*[raw(m) for m in (Q, R, u, v)])
    return _signed_qr(mm(Q, R) + mm(u, adjoint(v)), plain)


@_changed("qr_insert", "Q R u")
def _qr_insert(Q, R, u, k, which="row"):
    Q, R, u = (ag.asarray(m) for m in (Q, R, u))
    plain = scipy.linalg.qr_insert(raw(Q), raw(R), raw(u), k, which)
    _economic("qr_insert", *plain)
    a = mm(Q, R)
    if which == "row":
        u = u if u.ndim > 1 else ag.reshape(u, (1, -1))
        return _signed_qr(ag.concat([a[:k], u, a[k:]], axis=0), plain)
    u = u if u.ndim > 1 else ag.reshape(u, (-1, 1))
    return _signed_qr(ag.concat([a[:, :k], u, a[:, k:]], axis=1), plain)


@_changed("qr_delete", "Q R")
def _qr_delete(Q, R, k, p=1, which="row"):
    Q, R = ag.asarray(Q), ag.asarray(R)
    plain = scipy.linalg.qr_delete(raw(Q), raw(R), k, p, which)
    _economic("qr_delete", *plain)
    a = mm(Q, R)
    axis = 0 if which == "row" else 1
    n = shape_of(a)[axis]
    kept = np.delete(np.arange(n), np.arange(k % n, k % n + p))
    return _signed_qr(ag.take(a, kept, axis=axis), plain)


@by_composition("qr_multiply", "a c", "the table: Giles (2008)", core="a(m,n),c(p,q?)->?,(r,n)", each=True)
def _qr_multiply(a, c, mode="right", conjugate=False):
    a, c = ag.asarray(a), ag.asarray(c)
    if shape_of(a)[0] < shape_of(a)[1]:
        raise NotDifferentiable("arraygrad.scipy.linalg.qr_multiply: a tall or square matrix has derivatives")
    q, r = NAMES["qr"](a, mode="economic")
    q = ag.conj(q) if conjugate else q
    return (mm(c, q) if mode == "right" else mm(q, c)), r


@by_composition("rq", "a", "the table: Giles (2008); the QR of the matrix turned round", core="a(m,n)->?", each=True)
def _rq(a, mode="full"):
    a = ag.asarray(a)
    m, n = shape_of(a)
    if mode == "r" or m > n or (mode == "full" and m < n):
        raise NotDifferentiable("arraygrad.scipy.linalg.rq: square, or wide with mode='economic', it has derivatives")
    r0, _ = scipy.linalg.rq(raw(a), mode=mode)
    q, r = NAMES["qr"](adjoint(ag.flip(a, axis=0)), mode="economic")
    q, r = ag.flip(adjoint(q), axis=0), ag.flip(ag.flip(adjoint(r), axis=0), axis=1)
    sign = np.sign(np.real(np.diagonal(raw(r))) * np.real(np.diagonal(r0)))
    return r * sign, q * sign[:, None]


@by_composition("subspace_angles", "A B", "Knyazev and Argentati (2002)", core="A(m,n),B(m,p)->(min(n,p))", each=True)
def _subspace_angles(A, B):
    bases = [NAMES["qr"](ag.asarray(m), mode="economic")[0] for m in (A, B)]
    first, second = bases if shape_of(bases[0])[1] >= shape_of(bases[1])[1] else bases[::-1]
    inner = mm(adjoint(first), second)
    # Subspaces with more dimensions together than the space has some in common: angles that are zero always.
    m, shared = shape_of(first)[0], sum(shape_of(basis)[1] for basis in bases)
    always = max(shared - m, 0)
    cosines = ag.linalg.svdvals(_kept_apart(inner, slice(0, always)))
    sines = ag.linalg.svdvals(_kept_apart(second - mm(first, inner), slice(shape_of(second)[1] - always, None)))
    small = np.asarray(raw(cosines)) ** 2 >= 0.5
    k = shape_of(sines)[0]
    small = small[:k][::-1]
    zero = np.arange(k) >= k - always
    sine, cosine = ag.where(small & ~zero, sines, 0.0), ag.where(small, 0.0, ag.flip(cosines[:k]))
    return ag.where(small, ag.asin(sine), ag.acos(cosine))


def _kept_apart(a, which):
    """The matrix plus a constant by which these singular values, that do not matter, differ by a few roundings.

    Values that are equal to the last bit would leave those that matter without second derivatives.
    """
    u, s, vh = np.linalg.svd(raw(a), full_matrices=False)
    count = len(s[which])
    if count < 2:
        return a
    steps = 4.0 * np.finfo(s.dtype).eps * np.arange(count, 0, -1, dtype=s.dtype)
    return a + (u[:, which] * steps) @ vh[which]


# -- others -----------------------------------------------------------------------------------------------------------


@by_composition("diagsvd", "s", DEFINITION, core="s(n)->(M,N)", each=True)
def _diagsvd(s, M, N):
    s = ag.asarray(s)
    k = shape_of(s)[0]
    return ag.pad(s[:, None] * np.eye(k), ((0, M - k), (0, N - k)))


@by_rule("signm", "A", "Kenney and Laub (1991)", core="A(n,n)->(n,n)", inert="disp")
def _signm(g, ans, A):
    # S^2 = 1 and A S = S A give N S' + S' N = A' - S A' S, with N = A S.
    s = adjoint(ans)
    n = adjoint(mm(ag.asarray(A), ans))
    w = NAMES["solve_sylvester"](n, n, g)
    return w - mm(mm(s, w), s)


@by_composition("matrix_balance", "A", "by pieces: the scales are powers of two", core="A(n,n)->(n,n),(n,n)", each=True)
def _matrix_balance(A, permute=True, scale=True, separate=False):
    A = ag.asarray(A)
    _, turn = scipy.linalg.matrix_balance(raw(A), permute, scale, False)
    return mm(mm(np.linalg.inv(turn), A), turn), None


@by_composition("fiedler_companion", "a", DEFINITION, core="a(n)->(n-1,n-1)")
def _fiedler_companion(a):
    a = ag.asarray(a)
    n = shape_of(a)[-1]
    # Which coefficient stands where, read from one whose coefficients are their own numbers.
    labels = -scipy.linalg.fiedler_companion(np.arange(1.0, n + 1.0))
    ones = labels == -1.0
    places = np.where(ones | (labels == 0.0), 1.0, labels).astype(int) - 1
    first = ag.reshape(a[..., 0], (*shape_of(a)[:-1], *[1] * places.ndim))
    return ag.where(ones, 1.0, ag.where(labels == 0.0, 0.0, -gather(a, places) / first))


@by_composition(
    "ldl",
    "A",
    "elimination, by the blocks that SciPy chose",
    core="A(n,n)->(n,n),(n,n),(n)",
    each=True,
    inert="overwrite_a",
)
def _ldl(A, lower=True, hermitian=True):
    A = ag.asarray(A)
    if raw(A).dtype.kind == "c":
        raise NotDifferentiable("arraygrad.scipy.linalg.ldl: real matrices have derivatives")
    _, d0, perm = scipy.linalg.ldl(raw(A), lower)
    whole = ag.tril(A) + ag.matrix_transpose(ag.tril(A, k=-1)) if lower else (
        ag.triu(A) + ag.matrix_transpose(ag.triu(A, k=1)))  # fmt: skip
    n = shape_of(A)[0]
    rest = ag.take(ag.take(whole, perm, axis=0), perm, axis=1)
    blocks, k = [], 0
    while k < n:
        size = 2 if k + 1 < n and (d0[k + 1, k] != 0 or d0[k, k + 1] != 0) else 1
        blocks.append(np.arange(k, k + size))
        k += size
    columns, d = [None] * n, 0.0
    for block in blocks if lower else blocks[::-1]:
        block_d = ag.take(ag.take(rest, block, axis=0), block, axis=1)
        side = ag.linalg.solve(block_d, ag.take(rest, block, axis=0))  # the block's rows of the other factor
        rest = rest - mm(mm(ag.matrix_transpose(side), block_d), side)
        spread = np.eye(n)[:, block]
        d = d + mm(mm(spread, block_d), spread.T)
        for row, at in enumerate(block):
            columns[at] = side[row]
    factor = ag.stack(columns, axis=1)
    return ag.take(factor, np.argsort(perm), axis=0), d, None


@by_composition("hessenberg", "a", "reflections (Householder 1958)", core="a(n,n)->?", each=True)
def _hessenberg(a, calc_q=False):
    a = ag.asarray(a) + 0.0
    n = shape_of(a)[0]
    plain = scipy.linalg.hessenberg(raw(a))
    h, q = a, ag.asarray(np.eye(n))
    for k in range(n - 2):
        x = h[k + 1 :, k]
        if not np.any(raw(x)[1:]):
            continue
        beta = -float(np.sign(raw(x)[0]) or 1.0) * ag.sqrt(ag.sum(x * x))
        v = ag.pad(x - beta * np.eye(n - k - 1)[0], ((k + 1, 0),))
        turn = np.eye(n) - (2.0 / ag.sum(v * v)) * (v[:, None] * v[None, :])
        h, q = mm(mm(turn, h), turn), mm(q, turn)
    rounding = np.sqrt(np.finfo(plain.dtype).eps) * np.max(np.abs(plain), initial=0.0)
    if raw(a).dtype.kind == "c" or np.any(np.abs(np.triu(raw(h) - plain, -1)) > rounding):
        raise NotDifferentiable("arraygrad.scipy.linalg.hessenberg: real matrices in their own order have derivatives")
    h = ag.triu(h, k=-1)
    return (h, q) if calc_q else h


@by_composition("cdf2rdf", "w v", DEFINITION)
def _cdf2rdf(w, v):
    """Counts axes itself: leading axes of w and v broadcast in the vectors, the values keep those of w."""
    w, v = ag.asarray(w), ag.asarray(v)
    *batch, n = shape_of(w)
    turn = np.broadcast_to(np.eye(n, dtype=complex), (*batch, n, n)).copy()
    links = np.zeros((*batch, n, n))
    for at in np.ndindex(*batch):
        pairs = np.flatnonzero(np.imag(raw(w)[at]))
        for j, k in zip(pairs[::2], pairs[1::2], strict=True):
            turn[(*at, j, j)], turn[(*at, j, k)], turn[(*at, k, j)], turn[(*at, k, k)] = 0.5j, 0.5, -0.5j, 0.5
            links[(*at, j, k)] = links[(*at, k, j)] = 1.0
    real, imag = (ag.real(w), ag.imag(w)) if raw(w).dtype.kind == "c" else (w, 0.0 * w)
    return real[..., :, None] * np.eye(n) + imag[..., :, None] * links, ag.real(
        mm(ag.astype(v, ag.complex128), ag.asarray(turn))
    )


if "solve_continuous_lyapunov" in NAMES:  # SciPy's old name
    REGISTRY["linalg.solve_lyapunov"] = dataclasses.replace(
        REGISTRY["linalg.solve_continuous_lyapunov"], name="linalg.solve_lyapunov"
    )

constants("dft", "hadamard", "helmert", "hilbert", "invhilbert", "pascal", "invpascal", "find_best_blas_type",
          "get_blas_funcs", "get_lapack_funcs")  # fmt: skip
no_rule("its sketch is random; multiply by a matrix of your own", "clarkson_woodruff_transform")
