"""Gradients of SciPy's functions here and of torch's functions of the same name are the same."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
from arraygrad.scipy import fft, signal, spatial

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
