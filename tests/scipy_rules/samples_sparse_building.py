"""Samples of what makes sparse matrices of sparse matrices: assembly, blocks, slices, products, functions of matrices.

May import: numpy, scipy_samples, SciPy. Matrices are made of arrays for SciPy's function and of Tensors for ours.
"""

import warnings

import numpy as np
from scipy import linalg as dense_linalg
from scipy import sparse
from scipy_samples import sample, spread

ROWS, COLUMNS = np.array([0, 0, 1, 2, 2, 3, 3, 1]), np.array([0, 2, 1, 2, 0, 3, 1, 3])
VALUES = np.array([3.0, 0.4, 2.5, 4.0, -0.7, 3.5, 0.6, 0.3])
OTHER = np.array([0.5, 1.5, -0.3, 0.8])


def room(values):
    """SciPy's module for arrays, ours for Tensors."""
    from arraygrad.scipy import sparse as ours

    return sparse if isinstance(values, np.ndarray) else ours


def first(v, kind="csr_array"):
    return getattr(room(v), kind)((v, (ROWS, COLUMNS)), shape=(4, 4))


def second(w, kind="csc_array"):
    return getattr(room(w), kind)((w, (np.array([0, 1, 3, 2]), np.array([1, 1, 0, 2]))), shape=(4, 4))


def dense(a):
    """Of any result an array, the kind of which the comparison knows."""
    a = a.toarray() if hasattr(a, "toarray") else a
    return np.asarray(a) if isinstance(a, np.ndarray) else getattr(a, "A", a)


def total(*found):
    return tuple(dense(a) for a in found)


def both(name, call, **options):
    sample(name, VALUES, OTHER, call=call, **options)


def of_kind(f, v):
    """The first matrix as one of the class `f`."""
    format, kind = f.__name__.split("_")
    return first(v, f"csr_{kind}").asformat(format)


for _kind in ("csr_array", "csc_matrix", "coo_array", "csr_matrix", "coo_matrix", "bsr_array", "dia_matrix"):
    both(f"sparse.{_kind}", lambda f, v, w: (lambda a, b: total(
        a + b, b - a, -a, a @ b, (b @ a).T @ a, 2.0 * a, a * w[0] / w[1]))(of_kind(f, v), second(w)))  # fmt: skip
for _kind in ("csr_array", "csc_matrix", "coo_array", "csr_matrix", "coo_matrix"):
    _name = f"sparse.{_kind}"
    both(_name, lambda f, v, w: (lambda a, b: total(
        a.multiply(a + b), a.multiply(w), a.multiply(w[:, None]), a.power(3), a**2, a.maximum(b), a.minimum(b)))(
        first(v, f.__name__), second(w)))  # fmt: skip
    sample(_name, VALUES, call=lambda f, v: (lambda a: total(
        a.sum(axis=0), a.sum(axis=1), a.sum(), a.mean(axis=1), a.mean(), a.trace(), a.max(axis=0), a.min(axis=1),
        a.max(), a.diagonal(1), abs(a), a.sin(), a.expm1(), a.tanh(), a.todense()))(first(v, f.__name__)))  # fmt: skip
    sample(_name, VALUES, call=lambda f, v: (lambda a: total(
        *[a.asformat(to) for to in ("csr", "csc", "coo", "dia", "bsr", "lil", "dok")], a.T.tocsr().data,
        a.reshape(2, 8), a.tocsc().data, a.tocoo().data))(first(v, f.__name__)))  # fmt: skip
for _kind in ("csr_array", "csc_matrix"):
    sample(f"sparse.{_kind}", VALUES, call=lambda f, v: (lambda a: total(
        a[1], a[:, 2], a[2, 2], a[0, 1], a[1:3], a[[0, 2]], a[[0, 2], [0, 2]], a[np.ix_([0, 2], [1, 2])], a[::-1]))(
        first(v, f.__name__)))  # fmt: skip


def written(f, v, w):
    a = first(v, f.__name__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
        a[0, 1] = w[0]
        a[2, :] = w
        a[3, 1:3] = w[1:3] * w[0]
        a[1, 1] += w[2]
        a.setdiag(w[:3] * v[0], 1)
    return dense(a)


def assembled(f, v, w):
    a = f((4, 4))
    a[0, 0] = 2.0
    for i in range(4):
        a[i, i] += v[i]
        if i:
            a[i, i - 1] = w[i] * v[i]
            a[i - 1, i] -= w[i]
    a[-1, 0] = w[0]
    a[2, 3] = 0.0
    return total(a, a.tocsr() @ v[:4], a[2, 2], a.T, a + a)


def assembled_by_parts(f, v, w):
    a = f((4, 4))
    a[1, :] = w
    a[np.ix_([0, 2], [0, 2])] = np.stack([w[:2], v[:2]])
    a[:, 3] = v[:4]
    return dense(a)


both("sparse.csr_array sparse.csc_matrix", written)
for _name in ("lil_array", "lil_matrix", "dok_array", "dok_matrix"):
    both(f"sparse.{_name}", assembled)
    both(f"sparse.{_name}", assembled_by_parts)
sample("sparse.csr_array sparse.coo_matrix sparse.dia_matrix sparse.bsr_matrix sparse.bsr_array sparse.csc_array",
       VALUES.reshape(2, 4), call=lambda f, v: dense(f(v)))  # fmt: skip
sample("sparse.dia_matrix sparse.bsr_array", spread(2, 4), call=lambda f, v: dense(
    f((v, np.array([0, 1])), shape=(4, 4)) if f.__name__ == "dia_matrix" else
    f((v.reshape(2, 2, 2), np.array([0, 1]), np.array([0, 1, 2])))))  # fmt: skip

both("sparse.hstack", lambda f, v, w: total(f([first(v), second(w)]), f([first(v), w[:, None]], format="csr")))
both(
    "sparse.vstack", lambda f, v, w: total(f([first(v), second(w)], format="csc", dtype=float), f([first(v), w[None]]))
)
both("sparse.bmat", lambda f, v, w: total(f([[first(v), None], [None, second(w)]]), f([[first(v, "csr_matrix")]])))
both("sparse.block_array", lambda f, v, w: total(f([[first(v), second(w)]], format="csc")))
both("sparse.block_diag", lambda f, v, w: total(f([first(v), w[:, None], second(w)])))
both("sparse.kron", lambda f, v, w: total(f(first(v), second(w)), f(np.eye(2), second(w), format="csr")))
both("sparse.kronsum", lambda f, v, w: total(f(first(v), second(w)), f(second(w), np.eye(2) + 1.0)))
sample(
    "sparse.tril sparse.triu", VALUES, call=lambda f, v: total(f(first(v)), f(first(v), 1), f(first(v), format="csc"))
)
sample("sparse.find", VALUES, call=lambda f, v: f(first(v))[2])
sample("sparse.spdiags", VALUES.reshape(2, 4), call=lambda f, v: dense(f(v, np.array([0, 1]), 4, 4)))
sample("sparse.diags", OTHER, call=lambda f, w: total(f(w), f([w, w[:3]], [0, -1]), f([w[0], w[1]], [0, 1], (4, 4))))
sample(
    "sparse.diags_array", OTHER, call=lambda f, w: total(f([w, w[:3]], offsets=[0, -1], format="csr"), f(w, offsets=1))
)
sample("sparse.expand_dims", VALUES, call=lambda f, v: dense(f(first(v, "coo_array"), axis=0)))
sample("sparse.permute_dims", VALUES, call=lambda f, v: dense(f(first(v, "coo_array"), (1, 0), copy=True)))
sample("sparse.swapaxes", VALUES, call=lambda f, v: dense(f(first(v, "coo_array"), 0, 1)))

sample("sparse.linalg.inv", VALUES, call=lambda f, v: dense(f(first(v, "csc_array"))))
sample("sparse.linalg.expm", VALUES, call=lambda f, v: dense(f(0.3 * first(v, "csc_array"))), loose=1e-10, rtol=1e-6)
sample("sparse.linalg.matrix_power", VALUES, call=lambda f, v: total(*[f(first(v), n) for n in (1, 2, 5)]))
sample("sparse.linalg.onenormest", VALUES, call=lambda f, v: f(first(v, "csc_array")))
for _order, _axis in (
    (None, None),
    (1, None),
    (-1, None),
    (np.inf, None),
    (None, 0),
    (2, 1),
    (1, 1),
    (np.inf, 0),
    (3, 1),
):
    sample("sparse.linalg.norm", VALUES, call=lambda f, v, o=_order, a=_axis: f(first(v), o, a))
both("sparse.linalg.aslinearoperator", lambda f, v, w: (lambda a: (
    a.matvec(w), a.rmatvec(w), a @ w, a.T @ w, (a + a) @ w, (2.0 * a).dot(w), (a**2) @ w))(f(first(v))))  # fmt: skip
both("sparse.linalg.spsolve", lambda f, v, w: total(f(first(v, "csc_array"), second(w)), f(first(v), w[:, None])))
both("sparse.linalg.spsolve_triangular", lambda f, v, w: f(room(v).tril(first(v), format="csr"), w[:, None]))


def exponential(values):
    """expm of SciPy for arrays, ours for Tensors."""
    from arraygrad.scipy import linalg as ours

    return dense_linalg.expm if isinstance(values, np.ndarray) else ours.expm


def turned(m):
    return 1j * dense_linalg.expm(m)


KRYLOV = {"loose": 1e-8, "rtol": 1e-6}
both("sparse.linalg.funm_multiply_krylov", lambda f, v, w: f(exponential(v), 0.2 * first(v), w, t=1.0), **KRYLOV)
sample("sparse.linalg.funm_multiply_krylov", OTHER, **KRYLOV,
       call=lambda f, w: f(dense_linalg.expm, 0.2 * first(VALUES), w))  # fmt: skip
sample("sparse.linalg.funm_multiply_krylov", OTHER, **KRYLOV,
       call=lambda f, w: f(turned, (0.2 + 0.1j) * first(VALUES), w * (1 + 0.5j)))  # fmt: skip
