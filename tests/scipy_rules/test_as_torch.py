"""Gradients of SciPy's functions here and of torch's functions of the same name are the same."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
from arraygrad.scipy import fft, signal, sparse, spatial

SPECTRUM = np.random.default_rng(0).normal(size=(3, 4)) + 1j * np.random.default_rng(1).normal(size=(3, 4))
WEIGHTS = np.random.default_rng(2).normal(size=64)


def total(found, weights, cos):
    """A sum that depends on every element, of either library."""
    flat = found.reshape(-1)
    n = flat.shape[0]
    return (cos(flat.real) * weights[:n]).sum() + ((flat * flat.conj()).real * weights[:n]).sum()


@pytest.mark.parametrize("name", ["hfft2", "ihfft2", "hfftn", "ihfftn"])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_transforms_of_hermitian_spectra(name, norm):
    x = SPECTRUM.real if name.startswith("i") else SPECTRUM
    ours, theirs = ag.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    total(getattr(fft, name)(ours, norm=norm), WEIGHTS, np.cos).backward()
    total(getattr(torch.fft, name)(theirs, norm=norm), torch.tensor(WEIGHTS), torch.cos).backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-12)


def test_the_inverse_of_a_short_time_transform():
    z = np.random.default_rng(3).normal(size=(5, 7)) + 1j * np.random.default_rng(4).normal(size=(5, 7))
    ours, theirs = ag.tensor(z, requires_grad=True), torch.tensor(z, requires_grad=True)
    window = np.hanning(9)[:-1]
    _, x = signal.istft(ours, window=window, nperseg=8, noverlap=4)
    y = torch.istft(theirs, 8, 4, 8, torch.tensor(window), center=True) * window.sum()
    n = x.shape[0]
    np.testing.assert_allclose(x.numpy(), y.detach().numpy()[:n], rtol=1e-10, atol=1e-12)
    (x * WEIGHTS[:n]).sum().backward()
    (y[:n] * torch.tensor(WEIGHTS[:n])).sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_distances_to_the_nearest_points():
    points, queries = WEIGHTS[:12].reshape(4, 3), WEIGHTS[12:27].reshape(5, 3)
    a, b = ag.tensor(points, requires_grad=True), torch.tensor(points, requires_grad=True)
    spatial.KDTree(a).query(queries)[0].sum().backward()
    torch.cdist(torch.tensor(queries), b).min(dim=1).values.sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-12)


ROWS, COLUMNS = np.array([0, 0, 1, 2, 2, 3, 3, 1]), np.array([0, 2, 1, 2, 0, 3, 1, 3])
VALUES = np.array([3.0, 0.4, 2.5, 4.0, -0.7, 3.5, 0.6, 0.3])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda a: a @ a, lambda a: a @ a),
        (lambda a: a.T @ a.multiply(a) - a, lambda a: a.T @ (a * a) - a),
        (lambda a: sparse.kron(a, a[:2]), lambda a: torch.kron(a, a[:2])),
        (lambda a: sparse.kronsum(a, a), lambda a: torch.kron(torch.eye(4), a) + torch.kron(a, torch.eye(4))),
        (lambda a: sparse.hstack([a, a.T]), lambda a: torch.hstack([a, a.T])),
        (lambda a: sparse.vstack([sparse.tril(a), a[[1, 3]]]), lambda a: torch.vstack([torch.tril(a), a[[1, 3]]])),
        (lambda a: sparse.block_diag([a, a[:, 1:]]), lambda a: torch.block_diag(a, a[:, 1:])),
        (lambda a: sparse.diags_array(a.sum(axis=1)) - a, lambda a: torch.diag(a.sum(dim=1)) - a),
        (lambda a: sparse.linalg.inv(a.tocsc()), torch.linalg.inv),
        (lambda a: sparse.linalg.expm((0.3 * a).tocsc()), lambda a: torch.linalg.matrix_exp(0.3 * a)),
        (lambda a: sparse.linalg.matrix_power(a, 5), lambda a: torch.linalg.matrix_power(a, 5)),
        (lambda a: sparse.linalg.norm(a, 1), lambda a: torch.linalg.norm(a, 1)),
        (lambda a: sparse.linalg.norm(a, axis=1), lambda a: torch.linalg.norm(a, dim=1)),
        (lambda a: sparse.linalg.spsolve(a.tocsc(), VALUES[:4]), lambda a: torch.linalg.solve(
            a, torch.tensor(VALUES[:4]))),
        (lambda a: sparse.linalg.spsolve(a.tocsc(), a.T.tocsc()), lambda a: torch.linalg.solve(a, a.T)),
    ],
)  # fmt: skip
def test_sparse_matrices_and_the_same_with_dense_ones(ours, theirs):
    torch.set_default_dtype(torch.float64)
    x, y = ag.tensor(VALUES, requires_grad=True), torch.tensor(VALUES, requires_grad=True)
    found = ours(sparse.csr_array((x, (ROWS, COLUMNS)), shape=(4, 4)))
    found = found.toarray() if isinstance(found, sparse.Matrix) else found
    dense = theirs(torch.zeros(4, 4).index_put((torch.tensor(ROWS), torch.tensor(COLUMNS)), y))
    torch.set_default_dtype(torch.float32)
    weights = np.random.default_rng(5).normal(size=found.size)
    total(found, weights, np.cos).backward()
    total(dense, torch.tensor(weights), torch.cos).backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-9, atol=1e-11)
