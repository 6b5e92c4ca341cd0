"""The optional array libraries for tests: imported when a test asks for one, skipped with the reason where missing.

Imports the public names of arraygrad.
"""

import importlib
import importlib.util

import numpy as np
import pytest

import arraygrad as ag

WHY = {
    "torch": "PyTorch is not installed (pip install torch)",
    "jax": "JAX is not installed (pip install jax)",
    "dask": "dask is not installed (pip install dask[array])",
    "cupy": "CuPy is not installed (pip install cupy-cuda12x or cupy-cuda13x)",
}


def require(name):
    """The module `name`, with 64 bits in JAX; skips the test where it is not installed."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(WHY.get(name, f"{name} is not installed"))
    module = importlib.import_module("dask.array" if name == "dask" else name)
    if name == "jax":
        module.config.update("jax_enable_x64", True)
    return module


def raw(name, values, dtype="float64"):
    """`values` as a raw array of the library."""
    values = np.asarray(values, dtype=dtype)
    if name == "torch":
        return require("torch").from_numpy(values.copy())
    if name == "jax":
        return require("jax").numpy.asarray(values)
    if name == "dask":
        return require("dask").from_array(values.copy(), chunks=2)
    return values.copy()


def leaf(name, values, dtype="float64"):
    """A leaf over the library that requires grad."""
    return ag.asarray(raw(name, values, dtype), requires_grad=True)


def numpy_of(t):
    """The values of a Tensor or raw array of any library."""
    return t.numpy() if isinstance(t, ag.Tensor) else ag.asarray(t).numpy()
