"""cuSPARSE's and cuSOLVER's functions of sparse matrices: by SciPy, after a wait for the current stream.

They stand in at CuPy's own Python functions (`cupyx.cusparse`), so all that lies above is CuPy's. SciPy is imported
when one of them is called; without it CuPy's sparse matrices do not reach the host either.
"""

import importlib

import cupy
import numpy as np

import host_cuda

# Functions of cupyx.cusparse that stand below; for all others CuPy is told that CUDA has them not.
THERE = frozenset(
    """
    csrmv csrmm2 csrgeam2 spgemm csr2csc csc2csr csrsort cscsort coosort coo2csr csr2coo csr2dense csc2dense
    sparseToDense denseToSparse csr2csr_compress csrsm2
    """.split()
)


def host(x):
    """An array or a sparse matrix as NumPy's or SciPy's."""
    if hasattr(x, "get"):
        with host_cuda.aside():
            return x.get()
    return x


def device(found, like):
    """SciPy's matrix as CuPy's, of the dtype of its indices that `like` has."""
    sparse = importlib.import_module("cupyx.scipy.sparse")
    parts = [cupy.asarray(found.data)]
    parts += [cupy.asarray(a, dtype=_index_dtype(like)) for a in (found.indices, found.indptr)]
    return getattr(sparse, f"{found.format}_matrix")(tuple(parts), shape=found.shape)


def _index_dtype(like):
    return like.row.dtype if like.format == "coo" else like.indices.dtype


def _of(a, trans):
    a = host(a)
    return a if trans in (False, 0, "N") else a.T if trans in (True, 1, "T") else a.conj().T


def product(a, x, y=None, alpha=1, beta=0, transa=False, transb=False):
    """csrmv and csrmm2: alpha op(A) op(x) + beta y."""
    x_ = host(x).T if transb else host(x)
    found = alpha * (_of(a, transa) @ x_)
    if y is not None:
        found = found + beta * host(y) if beta else found
    dtype = np.promote_types(a.dtype, x.dtype)
    found = cupy.asarray(np.asarray(found, dtype=dtype), order="F")
    if y is None:
        return found
    y[...] = found
    return y


def csrgeam2(a, b, alpha=1, beta=1):
    dtype = np.promote_types(a.dtype, b.dtype)
    found = (alpha * host(a) + beta * host(b)).astype(dtype)
    found.sort_indices()
    return device(found, a)


def spgemm(a, b, alpha=1):
    found = (alpha * (host(a) @ host(b))).astype(np.promote_types(a.dtype, b.dtype)).tocsr()
    found.sort_indices()
    return device(found, a)


def csr2csc(x):
    return device(host(x).tocsc(), x)


def csc2csr(x):
    return device(host(x).tocsr(), x)


def csr2dense(x, out=None):
    found = cupy.asarray(host(x).toarray(), order="F")
    if out is None:
        return found
    out[...] = found
    return out


def csr2coo(x, data, indices):
    return _coordinates(x, data, indices, "csr")


def csc2coo(x, data, indices):
    return _coordinates(x, data, indices, "csc")


def _coordinates(x, data, indices, format):
    sparse = importlib.import_module("cupyx.scipy.sparse")
    indptr = host(x.indptr)
    major = cupy.asarray(np.repeat(np.arange(indptr.size - 1), np.diff(indptr)).astype(x.indptr.dtype))
    where = (major, indices) if format == "csr" else (indices, major)
    return sparse.coo_matrix((data, where), shape=x.shape)


def coo2csr(x):
    """Of coordinates that are sorted by row."""
    return _compressed(x, x.row, x.col, "csr", x.shape[0])


def coo2csc(x):
    """Of coordinates that are sorted by column."""
    return _compressed(x, x.col, x.row, "csc", x.shape[1])


def _compressed(x, major, minor, format, count):
    sparse = importlib.import_module("cupyx.scipy.sparse")
    counts = np.bincount(host(major), minlength=count)
    indptr = cupy.asarray(np.concatenate([[0], np.cumsum(counts)]).astype(major.dtype))
    return getattr(sparse, f"{format}_matrix")((x.data, minor, indptr), shape=x.shape)


def csrsort(x):
    """Sorts the elements of each row (column) in place."""
    indptr, indices = host(x.indptr), host(x.indices)
    order = np.lexsort((indices, np.repeat(np.arange(indptr.size - 1), np.diff(indptr))))
    _ordered(x, cupy.asarray(order), "indices")


def coosort(x, sort_by="r"):
    if sort_by == "r" and x.has_canonical_format:
        return
    row, col = host(x.row), host(x.col)
    _ordered(x, cupy.asarray(np.lexsort((col, row) if sort_by == "r" else (row, col))), "row", "col")
    if sort_by == "c":
        x.has_canonical_format = False


def _ordered(x, order, *names):
    for name in ("data", *names):
        array = getattr(x, name)
        array[...] = array[order]


def denseToSparse(x, format="csr"):
    scipy_sparse = importlib.import_module("scipy.sparse")
    found = getattr(scipy_sparse, f"{format}_matrix")(host(x))
    if format == "coo":
        return importlib.import_module("cupyx.scipy.sparse").coo_matrix(found)
    return getattr(importlib.import_module("cupyx.scipy.sparse"), f"{format}_matrix")(found)


def csr2csr_compress(x, tol):
    found = host(x).copy()
    found.data[abs(found.data) <= tol] = 0
    found.eliminate_zeros()
    return device(found, x)


def csrsm2(a, b, alpha=1.0, lower=True, unit_diag=False, transa=False, blocking=True, level_info=False):
    """Solves op(A) x = alpha b with a triangle of A, in place."""
    scipy_sparse = importlib.import_module("scipy.sparse")
    linalg = importlib.import_module("scipy.sparse.linalg")
    full = host(a)
    triangle = (scipy_sparse.tril if lower else scipy_sparse.triu)(full, format="csr")
    if unit_diag:
        triangle = triangle - scipy_sparse.diags(triangle.diagonal()) + scipy_sparse.eye(full.shape[0])
    triangle = triangle.T if transa in (True, "T") else triangle.conj().T if transa == "H" else triangle
    b[...] = cupy.asarray(linalg.spsolve(triangle.tocsc(), alpha * host(b)).reshape(b.shape))


def csrlsvqr(A, b, tol=0, reorder=1):
    """cuSOLVER's: the solution of A x = b."""
    found = importlib.import_module("scipy.sparse.linalg").spsolve(host(A).tocsc(), host(b))
    return cupy.asarray(np.asarray(found, dtype=np.promote_types(A.dtype, b.dtype)))


def rows_of(nnz, indptr):
    """In CuPy's indexing: the row of each element."""
    indptr = host(indptr)
    return cupy.asarray(np.repeat(np.arange(indptr.size - 1), np.diff(indptr)).astype(np.int32))


def install() -> None:
    """From here on SciPy does these parts."""
    cusparse, cusolver = importlib.import_module("cupyx.cusparse"), importlib.import_module("cupyx.cusolver")
    index = importlib.import_module("cupyx.scipy.sparse._index")
    of_cusolver = cusolver.check_availability
    ours = {
        "csrmv": product, "csrmm2": product, "csc2dense": csr2dense, "sparseToDense": csr2dense, "cscsort": csrsort,
        "check_availability": THERE.__contains__, "getVersion": lambda: 12000,
    }  # fmt: skip
    for name in ("csrgeam2", "spgemm", "csr2csc", "csc2csr", "csr2dense", "csr2coo", "csc2coo", "coo2csr", "coo2csc",
                 "csrsort", "coosort", "denseToSparse", "csr2csr_compress", "csrsm2"):  # fmt: skip
        ours[name] = globals()[name]
    for name, function in ours.items():
        setattr(cusparse, name, function)
    for name in ("set_mat_type", "set_mat_index_base", "set_mat_fill_mode", "set_mat_diag_type"):
        setattr(cusparse.MatDescriptor, name, lambda self, value: None)
    cusparse.MatDescriptor.create = classmethod(lambda cls: cls(0))
    cusolver.csrlsvqr = csrlsvqr
    cusolver.check_availability = lambda name: name == "csrlsvqr" or of_cusolver(name)
    index._csr_indptr_to_coo_rows = rows_of
