"""Samples of scipy.linalg.

May import: numpy, scipy_samples.
"""

import numpy as np
from scipy_samples import COV, A, X, positive_definite, sample, spread

rng = np.random.default_rng(3)
S = rng.normal(size=(3, 3)) + 2.0 * np.eye(3)
S2 = rng.normal(size=(3, 3)) + 2.0 * np.eye(3)
STACK = rng.normal(size=(2, 3, 3)) + 2.0 * np.eye(3)
C = S + 1j * rng.normal(size=(3, 3))
TALL, WIDE = rng.normal(size=(4, 3)), rng.normal(size=(3, 4))
V, W = rng.normal(size=3), rng.normal(size=(3, 2))


def symmetric(a):
    return 0.5 * (a + np.swapaxes(a, -1, -2).conj())


def sized(*parts):
    """Vectors without their sign, which LAPACK may choose anew at every place."""
    return tuple([abs(part) for part in parts])


for _a in (S, STACK, C):
    sample("linalg.inv linalg.det linalg.expm", _a)
    sample("linalg.solve", _a, W, step=3e-3)
sample("linalg.solve linalg.solve_triangular", S, V)
sample("linalg.solve", S, W, call=lambda f, a, b: f(a, b, transposed=True))
for _form in ("sym", "pos", "upper triangular", "lower triangular", "diagonal"):
    sample("linalg.solve", COV, W, call=lambda f, a, b, form=_form: f(a, b, assume_a=form), step=3e-3)
    sample("linalg.solve", COV, W, call=lambda f, a, b, form=_form: f(a, b, assume_a=form, lower=True), step=3e-3)
for _lower in (True, False):
    for _trans in (0, 1):
        sample("linalg.solve_triangular", S, W,
               call=lambda f, a, b, lower=_lower, trans=_trans: f(a, b, lower=lower, trans=trans))  # fmt: skip
    sample("linalg.solve_triangular", S, W, call=lambda f, a, b, lower=_lower: f(a, b, lower=lower, unit_diagonal=True))
    sample("linalg.cholesky linalg.cho_factor", COV, call=lambda f, a, lower=_lower: f(a, lower=lower))
    sample("linalg.cho_solve", S, W, call=lambda f, c, b, lower=_lower: f((c, lower), b))
    sample("linalg.pinvh linalg.eigvalsh", COV, call=lambda f, a, lower=_lower: f(a, lower=lower))
    sample("linalg.eigh", COV, call=lambda f, a, lower=_lower: sized(*f(a, lower=lower)), step=3e-3)
    sample("linalg.eigh", COV, positive_definite(3, 9), step=2e-3,
           call=lambda f, a, b, lower=_lower: sized(*f(a, b, lower=lower)))  # fmt: skip
    sample("linalg.solveh_banded", np.stack([spread(4, low=0.2, high=0.8), 4.0 + X]), spread(4, 2), call=(
        lambda f, ab, b, lower=_lower: f(ab[::-1, :] if lower else ab, b, lower=lower)))  # fmt: skip
sample("linalg.eigvalsh", COV, positive_definite(3, 9))
sample("linalg.eigh", COV, call=lambda f, a: f(a, eigvals_only=True))
sample("linalg.cholesky linalg.eigvalsh", np.stack([COV, positive_definite(3, 9)]))
sample("linalg.pinv linalg.svdvals", TALL)
sample("linalg.pinv linalg.svdvals", WIDE)
for _a in (TALL, WIDE, S, STACK):
    sample("linalg.lu", _a)
    sample("linalg.svd", _a, call=lambda f, a: sized(*f(a, full_matrices=False)), step=3e-3)
    sample("linalg.qr", _a, call=lambda f, a: f(a, mode="economic"))
sample("linalg.lu_factor", S)
sample("linalg.lu_factor", TALL)
sample("linalg.lu_factor", WIDE)
sample("linalg.lu", S, call=lambda f, a: f(a, p_indices=True)[1:])
sample("linalg.svd", S, call=lambda f, a: f(a, compute_uv=False))
sample("linalg.qr", TALL, call=lambda f, a: f(a)[1])
sample("linalg.qr", WIDE, call=lambda f, a: f(a))
sample("linalg.qr", TALL, call=lambda f, a: f(a, mode="r"))
sample("linalg.qr", TALL, call=lambda f, a: f(a, pivoting=True, mode="economic"))
for _trans in (0, 1):
    sample("linalg.lu_solve", S, W, call=lambda f, lu, b, trans=_trans: f((lu, np.array([1, 2, 2])), b, trans=trans))
sample("linalg.lstsq", TALL, spread(4, 2))
sample("linalg.lstsq", WIDE, V)
sample("linalg.eig", S, call=lambda f, a: (lambda w, v: (w, abs(v)))(*f(a)), step=3e-3)
sample("linalg.eigvals", S)
sample("linalg.eigh_tridiagonal", X, A[:3], call=lambda f, d, e: f(d, e, eigvals_only=True))
sample("linalg.eigvalsh_tridiagonal", X, A[:3])
for _select, _range in (("a", None), ("i", (1, 2)), ("v", (0.0, 4.0)), ("Index", (0, 1)), (2, (3, 3)), ("v", (50, 60))):
    sample("linalg.eigvalsh_tridiagonal", X, A[:3],
           call=lambda f, d, e, s=_select, r=_range: f(d, e, select=s, select_range=r))  # fmt: skip
    sample("linalg.eigh_tridiagonal", X, A[:3],
           call=lambda f, d, e, s=_select, r=_range: f(d, e, True, select=s, select_range=r))  # fmt: skip
sample("linalg.polar", S)
sample("linalg.polar", WIDE, call=lambda f, a: f(a, side="left"))
for _side in ("left", "right"):
    sample("linalg.polar", WIDE, call=lambda f, a, side=_side: f(a, side=side))
    sample("linalg.polar", TALL, call=lambda f, a, side=_side: f(a, side=side))
    sample("linalg.polar", spread(2, 4, seed=4), call=lambda f, a, side=_side: f(a, side=side))
sample("linalg.orthogonal_procrustes", TALL, spread(4, 3))
sample("linalg.solve_banded", np.stack([spread(4, low=0.2, high=0.8), 4.0 + X, spread(4, low=0.2, high=0.8, seed=3)]),
       spread(4, 2), call=lambda f, ab, b: f((1, 1), ab, b))  # fmt: skip
sample("linalg.solve_banded", np.concatenate([spread(2, 4, low=0.1, high=0.8), [5.0 + X], spread(1, 4)]), spread(4),
       call=lambda f, ab, b: f((1, 2), ab, b))  # fmt: skip
T, R = np.array([4.0, 1.0, 0.5]), np.array([4.0, 0.7, 0.2])
sample("linalg.solve_toeplitz linalg.matmul_toeplitz", T, V)
sample("linalg.solve_toeplitz linalg.matmul_toeplitz", T, R, W, call=lambda f, c, r, b: f((c, r), b))
sample("linalg.solve_circulant", T, V)

EIGHT = COV + 0.1 * S
sample("linalg.logm linalg.sqrtm linalg.sinm linalg.cosm linalg.tanm linalg.sinhm linalg.coshm linalg.tanhm",
       EIGHT / 3.0, rtol=1e-6)  # fmt: skip
sample("linalg.fractional_matrix_power", EIGHT, call=lambda f, a: f(a, 0.4), rtol=1e-6)
sample("linalg.expm_frechet", S / 3.0, S2)
sample("linalg.norm", TALL)
sample("linalg.norm", TALL, call=lambda f, a: f(a, 3, axis=1))
sample("linalg.norm", TALL, call=lambda f, a: f(a, "nuc"))

sample("linalg.solve_sylvester", COV, S, W @ W.T)
sample("linalg.solve_continuous_lyapunov", COV, S)
sample("linalg.solve_discrete_lyapunov", S / 5.0, COV, step=3e-3)
sample("linalg.solve_continuous_are linalg.solve_discrete_are", S / 3.0, W, COV, positive_definite(2, 7),
       call=lambda f, a, b, q, r: f(a, b, symmetric(q), symmetric(r)), rtol=1e-6)  # fmt: skip

sample("linalg.toeplitz linalg.hankel", V)
sample("linalg.toeplitz linalg.hankel", V, spread(4))
sample("linalg.circulant linalg.companion linalg.fiedler", spread(4))
sample("linalg.leslie", spread(4), spread(3))
for _mode in ("full", "same", "valid"):
    sample("linalg.convolution_matrix", V, call=lambda f, a, mode=_mode: f(a, 5, mode))
sample("linalg.block_diag linalg.kron linalg.khatri_rao", spread(2, 3), spread(4, 3))

BAND = np.stack([np.r_[0.0, spread(4, low=0.1, high=0.4)], 2.0 + spread(5)])  # the row above, and the diagonal
LOWER = np.stack([BAND[1], np.r_[BAND[0, 1:], 0.0]])
CLOSE = {"step": 1e-3, "loose": 1e-9, "rtol": 1e-6}


def _upper(above, diagonal):
    return np.stack([np.concatenate([np.zeros(1), above]), diagonal])


def _lower(above, diagonal):
    return np.stack([diagonal, np.concatenate([above, np.zeros(1)])])


for _low, _form in ((False, _upper), (True, _lower)):
    sample("linalg.cholesky_banded linalg.eigvals_banded linalg.eig_banded", BAND[0, 1:], BAND[1], **CLOSE,
           call=lambda f, above, diagonal, low=_low, form=_form: f(form(above, diagonal), lower=low))  # fmt: skip
    sample("linalg.cho_solve_banded", BAND[0, 1:], BAND[1], spread(5, 2), **CLOSE,
           call=lambda f, above, diagonal, b, low=_low, form=_form: f((form(above, diagonal), low), b))  # fmt: skip
sample("linalg.eigvals_banded", BAND, call=lambda f, ab: f(ab, select="i", select_range=(1, 2)), **CLOSE)
sample("linalg.eig_banded", BAND, call=lambda f, ab: f(ab, eigvals_only=True, select="i", select_range=(1, 2)), **CLOSE)
TALL, FLAT = spread(5, 3, seed=11), spread(3, 5, seed=12)
sample("linalg.qr_multiply", TALL, spread(2, 5), call=lambda f, a, c: f(a, c), **CLOSE)
sample("linalg.qr_multiply", TALL, spread(3, 2), call=lambda f, a, c: f(a, c, "left"), **CLOSE)
sample("linalg.rq", TALL[:3], **CLOSE)
sample("linalg.rq", FLAT, call=lambda f, a: f(a, mode="economic"), **CLOSE)
SQUARE = TALL[:3]
sample("linalg.qr_update", TALL[:4], X, X[:3], call=lambda f, a, u, v: f(*np.linalg.qr(a), u, v), **CLOSE)
sample("linalg.qr_insert", SQUARE[:, :2], X[:3], call=lambda f, a, u: f(*np.linalg.qr(a), u, 1, "col"), **CLOSE)
sample("linalg.qr_insert", TALL[:4], X[:3], call=lambda f, a, u: f(*np.linalg.qr(a), u, 2), **CLOSE)
sample("linalg.qr_delete", TALL, call=lambda f, a: f(*np.linalg.qr(a), 1), **CLOSE)
sample("linalg.subspace_angles", TALL[:, :2], spread(5, 2, seed=13), **CLOSE)
sample("linalg.diagsvd", X, call=lambda f, s: f(s, 4, 6), **CLOSE)
sample("linalg.signm", np.array([[1.3, 0.4], [0.2, -0.9]]), **CLOSE)
sample("linalg.matrix_balance", np.array([[1.3, 40.0], [0.002, -0.9]]), call=lambda f, a: f(a)[0], **CLOSE)
sample("linalg.fiedler_companion", spread(6), **CLOSE)
sample("linalg.solve_lyapunov", np.array([[1.3, 0.4], [0.2, 0.9]]), spread(2, 2), **CLOSE)
_SYM = np.array([[0.3, 1.2, 0.5, 0.9], [1.2, 0.1, 0.7, 0.4], [0.5, 0.7, 2.3, 0.6], [0.9, 0.4, 0.6, 1.9]])
for _low in (True, False):
    for _matrix in (_SYM, COV, _SYM + 5.0 * np.eye(4)):
        sample("linalg.ldl", _matrix, call=lambda f, a, low=_low: f(a, lower=low)[:2], **CLOSE)
sample("linalg.hessenberg", spread(5, 5, low=-1.0, high=1.0), call=lambda f, a: f(a, calc_q=True), **CLOSE)
sample("linalg.hessenberg", spread(4, 4, low=-1.0, high=1.0), **CLOSE)
sample("linalg.cdf2rdf", np.array([0.3, 1.2, 0.4]), spread(3, 3), spread(3), **CLOSE, call=lambda f, w, v, u: f(
    np.stack([w[0] + 0j, w[1] + 1j * w[2], w[1] - 1j * w[2]]),
    np.stack([v[:, 0] + 0j, v[:, 1] + 1j * u, v[:, 1] - 1j * u], axis=1)))  # fmt: skip
