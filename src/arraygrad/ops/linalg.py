"""Linear algebra extension.

May import: ops.kinds, ops._factorizations, ops._norms, ops._diagonals, ops._products, ops._solvers. Rules use
only the standard and the table's internal operations. matmul, matrix_transpose, tensordot and vecdot are in
ops.linear_algebra.
"""

from arraygrad.ops import _diagonals, _factorizations, _norms, _products, _solvers
from arraygrad.ops.kinds import core, reduction, view

# -- products ---------------------------------------------------------------------------------------------------------

core(
    "outer",
    "x1, x2, /",
    core="(m),(n)->(m,n)",
    derivative="multilinear",
    x1=lambda xp, g, x2: xp.matmul(g, x2),
    x2=lambda xp, g, x1: xp.matmul(x1, g),
    extension="linalg",
    numpy=("linalg.outer",),
    doc="All products x1[i] * x2[j] of two one-dimensional arrays, without conjugation.",
)
core(
    "cross",
    "x1, x2, /, *, axis=-1",
    core="(3),(3)->(3)",
    derivative="multilinear",
    forward=_products.cross,
    x1=lambda xp, g, x1_shape, x2, axis: _products.cross_rule(xp, g, x2, len(x1_shape), axis, True),
    x2=lambda xp, g, x1, x2_shape, axis: _products.cross_rule(xp, g, x1, len(x2_shape), axis, False),
    extension="linalg",
    numpy=("linalg.cross",),
    doc="Cross product of vectors of three elements along `axis`, counted by the dimensions of each array and of the "
    "result; the other axes broadcast. Numeric dtypes.",
)
core(
    "matrix_power",
    "x, n, /",
    core="(m,m)->(m,m)",
    x=_solvers.matrix_power,
    may_view=True,  # the first power is x itself
    extension="linalg",
    numpy=("linalg.matrix_power",),
    doc="Square matrices (..., m, m) to the integer power n; the identity for n == 0, inverses for n < 0.",
)

# -- diagonals --------------------------------------------------------------------------------------------------------

view(
    "diagonal",
    "x, /, *, offset=0",
    core="(m,n)->(diagonal(m, n, offset))",
    x=_diagonals.diagonal,
    extension="linalg",
    may_view=True,
    numpy=("linalg.diagonal",),
    doc="The diagonals of the matrices (..., m, n), `offset` above the main one (below, if negative).",
)
reduction(
    "trace",
    "x, /, *, offset=0, dtype=None",
    core="(m,n)->()",
    derivative="linear",
    x=_diagonals.trace,
    extension="linalg",
    numpy=("linalg.trace",),
    doc="Sums of the diagonals of the matrices (..., m, n), `offset` above the main one, computed in `dtype` if given.",
)

# -- equations and determinants ---------------------------------------------------------------------------------------

core(
    "inv",
    "x, /",
    core="(n,n)->(n,n)",
    x=_solvers.inv,
    extension="linalg",
    numpy=("linalg.inv",),
    doc="Inverses of square matrices (..., n, n), floating-point dtypes; an error for an exactly singular one.",
)
core(
    "solve",
    "x1, x2, /",
    core="(n,n),(n,k?)->(n,k?)",
    x1=_solvers.solve_x1,
    x2=_solvers.solve_x2,
    extension="linalg",
    numpy=("linalg.solve",),
    doc="x with x1 @ x = x2, for square x1 (..., n, n) and x2 (..., n, k), or (n,) if one-dimensional; floating-point "
    "dtypes; an error for an exactly singular x1.",
)
core(
    "det",
    "x, /",
    core="(n,n)->()",
    x=lambda xp, g, x: g[..., None, None] * xp._cofactor(x),
    extension="linalg",
    numpy=("linalg.det",),
    doc="Determinants of square matrices (..., n, n), floating-point dtypes. The gradient is the matrix of cofactors, "
    "right at singular matrices too (PyTorch: zero at rank n - 1), and so are second derivatives.",
)
core(
    "slogdet",
    "x, /",
    core="(n,n)->(),()",
    x=_solvers.slogdet,
    extension="linalg",
    results=("sign", "logabsdet"),
    holomorphic=False,
    numpy=("linalg.slogdet",),
    doc="Sign and logarithm of the size of determinants of square matrices (..., n, n), floating-point dtypes. The "
    "sign of complex matrices has a gradient too. Singular matrices have logabsdet -inf and an infinite gradient "
    "along their cofactors.",
)
core(
    "pinv",
    "x, /, *, rtol=None",
    core="(m,n)->(n,m)",
    x=_solvers.pinv,
    rtol=lambda xp, rtol_shape, rtol_dtype, rtol_device: xp.zeros(rtol_shape, dtype=rtol_dtype, device=rtol_device),
    extension="linalg",
    holomorphic=False,
    numpy=("linalg.pinv",),
    doc="Moore-Penrose pseudo-inverses of matrices (..., m, n), singular values below rtol times the largest taken for "
    "zero. The rank is taken as locally constant (Golub and Pereyra 1973): the gradient of rtol is zero. Where rtol "
    "leaves out singular values that are not zero, the gradient is refused.",
)
core(
    "matrix_rank",
    "x, /, *, rtol=None",
    core="(m,n)->()",
    extension="linalg",
    numpy=("linalg.matrix_rank",),
    doc="Number of singular values above rtol times the largest: an integer array.",
)

# -- factorizations ---------------------------------------------------------------------------------------------------

core(
    "cholesky",
    "x, /, *, upper=False",
    core="(n,n)->(n,n)",
    x=_factorizations.cholesky,
    extension="linalg",
    holomorphic=False,
    numpy=("linalg.cholesky",),
    doc="Lower (or upper) triangular factor L of Hermitian positive definite matrices (..., n, n): x = L @ L^H. An "
    "error if x is not positive definite. Only the lower (or upper) triangle of x is read, and the gradient is that of "
    "its elements, with zeros in the other triangle (Murray 2016).",
)
core(
    "qr",
    "x, /, *, mode='reduced'",
    core="(m,n)->(m,m if mode == 'complete' else min(m, n)),(m if mode == 'complete' else min(m, n),n)",
    forward=_factorizations.qr_forward,
    x=_factorizations.qr,
    extension="linalg",
    results=("Q", "R"),
    holomorphic=False,
    numpy=("linalg.qr",),
    doc="Orthonormal columns Q and upper triangular R with x = Q @ R, for matrices (..., m, n) whose first min(m, n) "
    "columns are independent. With mode='complete' and m > n the last m - n columns of Q are arbitrary: a gradient "
    "that reaches them is an error (Seeger et al. 2017; Roberts and Roberts 2020).",
)
core(
    "svd",
    "x, /, *, full_matrices=True",
    core="(m,n)->(m,m if full_matrices else min(m, n)),(min(m, n)),(n if full_matrices else min(m, n),n)",
    x=_factorizations.svd,
    extension="linalg",
    results=("U", "S", "Vh"),
    holomorphic=False,
    numpy=("linalg.svd",),
    doc="Singular value decomposition of matrices (..., m, n). The columns of U and rows of Vh beyond min(m, n) are "
    "arbitrary: a gradient that reaches them is an error. Gradients that come through the vectors of singular "
    "values that are equal up to rounding are nan; for complex x these must not depend on the vectors' phases "
    "(Townsend 2016).",
)
core(
    "svdvals",
    "x, /",
    core="(m,n)->(min(m, n))",
    x=_factorizations.svdvals,
    extension="linalg",
    holomorphic=False,
    numpy=("linalg.svdvals",),
    doc="Singular values of matrices (..., m, n), largest first. The gradient is finite for equal ones too.",
)
core(
    "eigh",
    "x, /",
    core="(n,n)->(n),(n,n)",
    x=lambda xp, g, ans, x: _factorizations.eigh(xp, g, ans, x),
    extension="linalg",
    results=("eigenvalues", "eigenvectors"),
    holomorphic=False,
    numpy=("linalg.eigh",),
    doc="Eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices (..., n, n). Gradients that "
    "come through the vectors of eigenvalues that are equal up to rounding are nan; for complex x these must not "
    "depend on the vectors' phases. "
    "Only the lower triangle of x is read, and the gradient is that of its elements.",
)
core(
    "eigvalsh",
    "x, /",
    core="(n,n)->(n)",
    x=lambda xp, g, x: _factorizations.eigvalsh(xp, g, x),
    extension="linalg",
    holomorphic=False,
    numpy=("linalg.eigvalsh",),
    doc="Eigenvalues, ascending, of Hermitian matrices (..., n, n). The gradient is finite for equal ones too. Only "
    "the lower triangle of x is read, and the gradient is that of its elements.",
)
core(
    "eig",
    "x, /",
    core="(n,n)->(n),(n,n)",
    forward=_factorizations.eig_forward,
    x=_factorizations.eig,
    extension="linalg",
    results=("eigenvalues", "eigenvectors"),
    holomorphic=False,
    numpy=("linalg.eig",),
    doc="Eigenvalues and eigenvectors of length one, complex, of square matrices (..., n, n). Gradients that "
    "come through the vectors of equal eigenvalues are nan; they must not depend on the vectors' phases "
    "(Boeddeker et al. 2017).",
)
core(
    "eigvals",
    "x, /",
    core="(n,n)->(n)",
    forward=_factorizations.eigvals_forward,
    x=_factorizations.eigvals,
    extension="linalg",
    holomorphic=False,
    numpy=("linalg.eigvals",),
    doc="Eigenvalues, complex, of square matrices (..., n, n). Their gradient needs a full set of eigenvectors.",
)

# -- norms ------------------------------------------------------------------------------------------------------------

reduction(
    "matrix_norm",
    "x, /, *, keepdims=False, ord='fro'",
    core="(m,n)->()",
    x=_norms.matrix_norm,
    extension="linalg",
    holomorphic=False,
    numpy=("linalg.matrix_norm",),
    doc="Norms of matrices (..., m, n): 'fro', 'nuc', 1, -1, inf, -inf (sums of sizes along columns or rows), 2, -2 "
    "(extreme singular values). Ties share the gradient evenly. At a zero matrix the gradient of 'fro', 1, -1, inf and "
    "-inf is zero; norms by singular values have that of the library's singular vectors there, as in PyTorch.",
)
reduction(
    "vector_norm",
    "x, /, *, axis=None, keepdims=False, ord=2",
    x=_norms.vector_norm,
    extension="linalg",
    numpy=("linalg.vector_norm",),
    doc="Norms over `axis` (None: all, an int or a tuple) of any order: sum(abs(x) ** ord) ** (1 / ord), the largest "
    "or smallest size for inf and -inf, the number of non-zeros for 0 (zero gradient). Ties share the gradient evenly; "
    "elements that are zero get zero.",
)
