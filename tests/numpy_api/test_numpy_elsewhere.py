"""NumPy's functions on Tensors of another library, on a device of its own: results and gradients stay there.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

strict = pytest.importorskip("array_api_strict")
xp = ag.array_api_strict

CALLS = {
    "nanmean": lambda a: np.nanmean(a, axis=0),
    "nanstd": lambda a: np.nanstd(a),
    "nanmax": lambda a: np.nanmax(a, axis=1),
    "quantile": lambda a: np.quantile(a, [0.2, 0.7], axis=0),
    "nanmedian": lambda a: np.nanmedian(a, axis=1),
    "interp": lambda a: np.interp(a[0, :], a[1, :], a[0, :]),
    "convolve": lambda a: np.convolve(a[0, :], a[1, :], "same"),
    "correlate": lambda a: np.correlate(a[0, :], a[1, :], "full"),
    "gradient": lambda a: np.gradient(a, axis=1),
    "unwrap": lambda a: np.unwrap(a * 9),
    "cov": lambda a: np.cov(a),
    "insert": lambda a: np.insert(a, 1, 0.5, axis=1),
    "delete": lambda a: np.delete(a, 1, axis=1),
    "block": lambda a: np.block([[a], [a]]),
    "pad ramp": lambda a: np.pad(a, 1, "linear_ramp"),
    "pad mean": lambda a: np.pad(a, 1, "mean"),
    "polyfit": lambda a: np.polyfit(a[0, :], a[1, :], 1),
    "polyval": lambda a: np.polyval(a[0, :], a[1, :]),
    "lstsq": lambda a: np.linalg.lstsq(a.T, a[0, :])[0],
    "cond": lambda a: np.linalg.cond(a[:, :2]),
    "select": lambda a: np.select([a > 0.5], [a * a], 0.0),
    "choose": lambda a: np.choose([0, 1, 0], [a[0, :], a[1, :]]),
    "bincount": lambda a: np.bincount([0, 2, 0], weights=a[0, :]),
    "histogram": lambda a: np.histogram([0.1, 0.5, 0.9], bins=2, weights=a[0, :])[0],
    "apply_along_axis": lambda a: np.apply_along_axis(np.sum, 1, a),
    "partition": lambda a: np.partition(a, 1, axis=1),
    "log where": lambda a: np.log(a, where=a > 0.5),
    "subtract.reduce": lambda a: np.subtract.reduce(a, axis=1),
    "modf": lambda a: np.modf(a * 3)[0],
    "fmax": lambda a: np.fmax(a, 0.5),
    "sum where": lambda a: np.sum(a, axis=1, where=a > 0.5),
    "unique": lambda a: np.unique(a, return_index=True)[0],
    "nan_to_num": lambda a: np.nan_to_num(a),
    "reshape F": lambda a: np.reshape(a, -1, order="F"),
}
A = np.asarray([[0.3, 0.6, 0.9], [0.25, 0.55, 1.3]])


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_function_runs_on_the_tensors_own_backend(call):
    device = strict.Device("device1")
    t = xp.asarray(strict.asarray(A.tolist(), device=device), requires_grad=True)
    result = call(t)
    assert type(result.array) is type(t.array)
    assert result.device == device
    np.testing.assert_allclose(result.numpy(), call(ag.asarray(A)).numpy(), rtol=1e-12, atol=1e-14)
    xp.sum(result * result).backward()
    assert t.grad.device == device
    own = ag.tensor(A, requires_grad=True)
    found = call(own)
    (found * found).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), own.grad.numpy(), rtol=1e-10, atol=1e-12)
