"""Eigenvalues of sparse matrices stand where SciPy has them, with and without the vectors.

The class: eigsh, eigs and svds x which= x sigma= x mode= x real and complex matrices x matrices and operators x with
vectors and without. ARPACK gives the same eigenvalues in another order where no vectors are asked for. The reference
for gradients is v^H dA v, from the eigenvalues of the dense matrix.
"""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import linalg

import arraygrad as ag

N, START = 24, np.random.default_rng(1).normal(size=24)
REAL = np.random.default_rng(2).normal(size=(N, N)) * (np.random.default_rng(3).random((N, N)) < 0.4)
MATRICES = {
    "real": REAL + REAL.T + np.diag(np.arange(N) / 3.0 - 4.0),
    "complex": REAL + REAL.T + 1j * (REAL - REAL.T) + np.diag(np.arange(N) / 3.0 - 4.0),
}
CASES = [
    (kind, which, sigma, mode)
    for kind, which, (sigma, mode) in itertools.product(
        MATRICES, ("LM", "SM", "LA", "SA", "BE"), ((None, "normal"), (0.3, "normal"), (0.3, "cayley"))
    )
    if not (kind == "complex" and (which == "BE" or mode != "normal"))
]


@pytest.mark.parametrize(("kind", "which", "sigma", "mode"), CASES)
@pytest.mark.parametrize("vectors", [True, False])
def test_eigsh(kind, which, sigma, mode, vectors):
    matrix = MATRICES[kind]
    pattern = sparse.csr_array(matrix)

    def values(data):
        found = linalg.eigsh(
            sparse.csr_array((data, pattern.indices, pattern.indptr), shape=(N, N)), 3, which=which, sigma=sigma,
            mode=mode, v0=START, return_eigenvectors=vectors, tol=1e-12, maxiter=4000,
        )  # fmt: skip
        return found[0] if vectors else found

    plain = values(pattern.data)
    found = ag.value_and_grad(lambda data: np.sum(values(data) * np.array([1.0, 10.0, 100.0])))(pattern.data)
    assert found[0] == pytest.approx(plain @ [1.0, 10.0, 100.0], rel=1e-8)
    every, v = np.linalg.eigh(matrix)
    places = [int(np.argmin(np.abs(every - one))) for one in plain]
    rows = np.repeat(np.arange(N), np.diff(pattern.indptr))
    expected = sum(
        weight * v[rows, k] * np.conj(v[pattern.indices, k])
        for weight, k in zip((1.0, 10.0, 100.0), places, strict=True)
    )
    np.testing.assert_allclose(found[1], expected, atol=1e-6)


@pytest.mark.parametrize("which", ["LM", "SA"])
def test_eigsh_of_operators(which):
    matrix = MATRICES["real"]

    def values(scale):
        operator = linalg.LinearOperator((N, N), matvec=lambda x: matrix @ x * scale, dtype=float)
        return linalg.eigsh(operator, 3, which=which, v0=START, return_eigenvectors=False, tol=1e-12)

    np.testing.assert_allclose(ag.jacobian(values)(1.0), values(1.0), rtol=1e-8)


@pytest.mark.parametrize("which", ["LM", "LR", "SR", "LI"])
@pytest.mark.parametrize("vectors", [True, False])
def test_eigs(which, vectors):
    matrix = REAL + np.diag(np.arange(N) / 2.0)
    pattern = sparse.csr_array(matrix)

    def values(scale, module=sparse):
        found = linalg.eigs(
            module.csr_array((pattern.data * scale, pattern.indices, pattern.indptr), shape=(N, N)), 4, which=which,
            v0=START, return_eigenvectors=vectors, tol=1e-12, maxiter=4000,
        )  # fmt: skip
        return found[0] if vectors else found

    plain = values(1.0)
    np.testing.assert_allclose(ag.jacobian(lambda s: np.real(values(s)))(1.0), plain.real, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ag.jacobian(lambda s: np.imag(values(s)))(1.0), plain.imag, rtol=1e-7, atol=1e-9)
