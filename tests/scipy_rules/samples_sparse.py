"""Samples of scipy.sparse.

May import: numpy, scipy_samples, SciPy.
"""

import numpy as np
from scipy import sparse
from scipy_samples import sample, spread

ROWS, COLUMNS = np.array([0, 0, 1, 2, 2, 3, 3, 1]), np.array([0, 2, 1, 2, 0, 3, 1, 3])
VALUES = np.array([3.0, 0.4, 2.5, 4.0, -0.7, 3.5, 0.6, 0.3])
BOTH = np.concatenate([ROWS, COLUMNS, [0, 1]]), np.concatenate([COLUMNS, ROWS, [1, 0]])
B, BS, WIDE = spread(4, seed=2), spread(4, 2, seed=3), spread(2, 4, seed=4)
for _format in ("csr", "csc", "coo"):
    for _kind in ("array", "matrix"):
        sample(f"sparse.{_format}_{_kind}", VALUES, B, call=lambda f, v, b: f((v, (ROWS, COLUMNS)), shape=(4, 4)) @ b)
    sample(f"sparse.{_format}_array", VALUES, BS, WIDE, call=lambda f, v, b, c: (
        lambda a: (a @ b, c @ a, a.T @ b, a.dot(b)))(f((v, (ROWS, COLUMNS)), shape=(4, 4))))  # fmt: skip
    sample(f"sparse.{_format}_array", VALUES, call=lambda f, v: (lambda a: (
        a.toarray(), a.sum(), a.sum(axis=0), a.sum(axis=1), (2.0 * a + a.T).toarray(), a.diagonal(), a.tocsr().data))(
        f((v, (ROWS, COLUMNS)), shape=(4, 4))))  # fmt: skip
INDPTR = np.array([0, 2, 4, 6, 8])
INDICES = np.array([0, 2, 1, 3, 0, 2, 1, 3])
sample("sparse.csr_array sparse.csc_matrix", VALUES, B, call=lambda f, v, b: f((v, INDICES, INDPTR), shape=(4, 4)) @ b)
TWICE = np.r_[ROWS, 0, 0], np.r_[COLUMNS, 0, 2]
sample("sparse.csr_array", VALUES, call=lambda f, v: f((np.concatenate([v, v[:2]]), TWICE)).data)
sample("sparse.dia_array", spread(2, 4), B, call=lambda f, v, b: f((v, np.array([0, 1])), shape=(4, 4)) @ b)
sample("sparse.diags_array sparse.diags", B, spread(3), BS, call=lambda f, d, e, b: f([d, e], offsets=[0, -1]) @ b)
sample("sparse.csr_matrix", B, call=lambda f, b: f(np.diag([1.0, 2.0, 3.0, 4.0])) * b)


def made(v):
    """A matrix of our own for a Tensor, of SciPy's for an array."""
    from arraygrad.scipy import sparse as ours

    return (sparse if isinstance(v, np.ndarray) else ours).csc_array((v, (ROWS, COLUMNS)), shape=(4, 4))


def symmetric(v):
    from arraygrad.scipy import sparse as ours

    module = sparse if isinstance(v, np.ndarray) else ours
    values = np.concatenate([v, v, 0.1 * v[:1], 0.1 * v[:1]])
    return module.csr_array((values, BOTH), shape=(4, 4))


TIGHT = {"rtol": 1e-12, "atol": 1e-13}
sample("sparse.linalg.spsolve", VALUES, B, call=lambda f, v, b: f(made(v), b))
sample("sparse.linalg.spsolve", VALUES, BS, call=lambda f, v, b: f(made(v), b))
sample("sparse.linalg.splu", VALUES, BS, call=lambda f, v, b: f(made(v)).solve(b))
for _trans in ("T", "H"):
    sample("sparse.linalg.splu", VALUES, B, call=lambda f, v, b, trans=_trans: f(made(v)).solve(b, trans))
sample("sparse.linalg.factorized", VALUES, B, call=lambda f, v, b: f(made(v))(b))
for _name in ("gmres", "bicg", "bicgstab", "lgmres", "gcrotmk"):
    sample(f"sparse.linalg.{_name}", VALUES, B, call=lambda f, v, b: f(made(v), b, **TIGHT)[0], loose=1e-9)
for _name in ("cgs", "tfqmr"):
    sample(f"sparse.linalg.{_name}", VALUES, B, call=lambda f, v, b: f(made(v), b, **TIGHT)[0], loose=1e-8, rtol=1e-6)
sample("sparse.linalg.qmr", VALUES, B, call=lambda f, v, b: f(made(v), b, **TIGHT)[0], loose=1e-8, rtol=1e-6)
sample("sparse.linalg.cg", VALUES, B, call=lambda f, v, b: f(symmetric(v), b, **TIGHT)[0], loose=1e-9)
sample("sparse.linalg.minres", VALUES, B, call=lambda f, v, b: f(symmetric(v), b, rtol=1e-13)[0], loose=1e-9)
sample("sparse.linalg.lsqr", VALUES[:5], B, loose=1e-8, rtol=1e-6, call=lambda f, v, b: (lambda r: (r[0], r[3]))(
    f(tall(v), b, atol=1e-14, btol=1e-14)))  # fmt: skip
sample("sparse.linalg.lsqr", VALUES[:5], B[:2], loose=1e-8, rtol=1e-6,
       call=lambda f, v, b: f(tall(v).T, b, atol=1e-14, btol=1e-14)[0])  # fmt: skip


def tall(v):
    from arraygrad.scipy import sparse as ours

    module = sparse if isinstance(v, np.ndarray) else ours
    return module.csr_array((v, (np.array([0, 1, 2, 3, 3]), np.array([0, 1, 0, 1, 0]))), shape=(4, 2))


LOOSE = {"loose": 1e-8, "rtol": 1e-5, "step": 2e-3}
sample("sparse.linalg.lsmr", VALUES[:5], B, loose=1e-8, rtol=1e-6, call=lambda f, v, b: (lambda r: (r[0], r[3]))(
    f(tall(v), b, atol=1e-14, btol=1e-14)))  # fmt: skip
WIDE = np.random.default_rng(3).normal(size=(12, 12))
KEPT = np.abs(WIDE + WIDE.T) + 3.0 * np.eye(12) > 1.2
PLACES = np.nonzero(np.triu(KEPT))
SPREAD = WIDE[PLACES] + 4.0 * (PLACES[0] == PLACES[1]) * PLACES[0]


def large(v, both=True):
    """A symmetric matrix, of the elements on one side, or that triangle."""
    from arraygrad.scipy import sparse as ours

    module = sparse if isinstance(v, np.ndarray) else ours
    rows, columns = PLACES
    if not both:
        return module.csr_array((v, (rows, columns)), shape=(12, 12))
    off = np.flatnonzero(rows != columns)
    places = (np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]]))
    return module.csr_array((np.concatenate([v, v[off]]), places), shape=(12, 12))


START = np.linspace(1.0, 2.0, 12)
sample(
    "sparse.linalg.eigsh",
    SPREAD,
    **LOOSE,
    call=lambda f, v: f(large(v), 3, v0=START, tol=1e-14, return_eigenvectors=False),
)
sample("sparse.linalg.eigsh", SPREAD, **LOOSE, call=lambda f, v: (lambda w: (w[0], w[1] ** 2))(
    f(large(v), 2, v0=START, tol=1e-14)))  # fmt: skip
sample("sparse.linalg.lobpcg", SPREAD, loose=1e-4, rtol=1e-3, step=2e-3, second=False,
       call=lambda f, v: f(large(v), np.eye(12)[:, 10:], tol=1e-9, maxiter=300)[0])  # fmt: skip
sample("sparse.linalg.eigs", SPREAD, **LOOSE,
       call=lambda f, v: f(large(v, False), 2, v0=START, tol=1e-14, return_eigenvectors=False))  # fmt: skip
sample("sparse.linalg.svds", SPREAD, **LOOSE, call=lambda f, v: (lambda r: (r[0] ** 2, r[1], r[2] ** 2))(
    f(large(v, False), 2, v0=START, tol=1e-14)))  # fmt: skip
sample("sparse.linalg.expm_multiply", 0.1 * SPREAD, spread(12), call=lambda f, v, b: f(large(v, False), b), **LOOSE)
sample("sparse.linalg.expm_multiply", spread(12, 2), call=lambda f, b: f(0.1 * large(SPREAD), b, 0.0, 1.5, 4), **LOOSE)
sample(
    "sparse.linalg.spsolve_triangular",
    SPREAD,
    spread(12),
    call=lambda f, v, b: f(large(v, False), b, lower=False),
    **LOOSE,
)
sample("sparse.linalg.norm", VALUES, call=lambda f, v: f(made(v)))
