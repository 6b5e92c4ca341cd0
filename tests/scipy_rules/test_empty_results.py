"""Results without elements have gradients of zeros: no formula is run, whatever it would look at.

The class: functions of scipy.linalg x shapes without elements (matrices without rows or columns, empty stacks). What
SciPy refuses is left out, and what arraygrad refuses by name. Values, shapes and dtypes are SciPy's.
"""

import warnings

import numpy as np
import pytest

plain = pytest.importorskip("scipy.linalg", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
import arraygrad.scipy.linalg as ours
from arraygrad.scipy import NotDifferentiable

CALLS = {
    "expm": lambda m, a: m.expm(a), "sqrtm": lambda m, a: m.sqrtm(a), "logm": lambda m, a: m.logm(a),
    "cosm": lambda m, a: m.cosm(a), "sinhm": lambda m, a: m.sinhm(a), "qr": lambda m, a: m.qr(a)[1],
    "rq": lambda m, a: m.rq(a, mode="economic")[0], "polar": lambda m, a: m.polar(a)[0],
    "polar, left": lambda m, a: m.polar(a, side="left")[1], "lu": lambda m, a: m.lu(a)[1],
    "lu_factor": lambda m, a: m.lu_factor(a)[0], "ldl": lambda m, a: m.ldl(a)[1], "inv": lambda m, a: m.inv(a),
    "hessenberg": lambda m, a: m.hessenberg(a), "pinv": lambda m, a: m.pinv(a), "svdvals": lambda m, a: m.svdvals(a),
    "svd": lambda m, a: m.svd(a)[1], "eigh": lambda m, a: m.eigh(a)[0], "eigvalsh": lambda m, a: m.eigvalsh(a),
    "eig": lambda m, a: m.eig(a)[0], "cholesky": lambda m, a: m.cholesky(a), "toeplitz": lambda m, a: m.toeplitz(a),
    "solve": lambda m, a: m.solve(a, np.ones(a.shape[-1:])), "lstsq": lambda m, a: m.lstsq(a, np.ones(a.shape[-2]))[0],
    "circulant": lambda m, a: m.circulant(a), "hankel": lambda m, a: m.hankel(a), "det": lambda m, a: m.det(a),
    "block_diag": lambda m, a: m.block_diag(a, a), "khatri_rao": lambda m, a: m.khatri_rao(a, a),
    "eigvals_banded": lambda m, a: m.eigvals_banded(a), "subspace_angles": lambda m, a: m.subspace_angles(a, a),
    "solveh_banded": lambda m, a: m.solveh_banded(a, np.ones(a.shape[-1])), "matrix_balance": lambda m, a:
    m.matrix_balance(a)[0], "solve_triangular": lambda m, a: m.solve_triangular(a, np.ones(a.shape[-1])),
    "diagsvd": lambda m, a: m.diagsvd(a, 2, 2),
}  # fmt: skip
SHAPES = [(0, 2), (2, 0), (0, 0), (0, 2, 2), (2, 0, 0), (3, 0, 2, 2), (2, 3, 0)]


def is_empty(name, shape):
    """Whether SciPy has a result, without elements."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return not np.asarray(CALLS[name](plain, np.ones(shape))).size
        except Exception:  # whatever SciPy raises
            return False


MEMBERS = [(name, shape) for name in CALLS for shape in SHAPES if is_empty(name, shape)]


@pytest.mark.parametrize(("name", "shape"), MEMBERS)
def test_gradients_of_results_without_elements(name, shape):
    a = np.ones(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.asarray(CALLS[name](plain, a))
        t = ag.tensor(a, requires_grad=True)
        try:
            found = CALLS[name](ours, t)
        except NotDifferentiable:
            return
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        if not found.requires_grad:
            return
        (gradient,) = ag.autograd.grad([np.sum(np.real(found))], [t], create_graph=True, allow_unused=True)
    assert gradient is None or gradient.shape == shape
