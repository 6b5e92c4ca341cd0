"""An array of one library as an array of another.

May import: the array libraries, when an array of theirs is asked for.

Note [Transfers]
~~~~~~~~~~~~~~~~
(1) Memory is shared where both libraries can write in place and the array lies on a device of both: NumPy, PyTorch and
    CuPy, by DLPack. The Tensor over it is then a view like any other: writes through one are recorded for both.
(2) JAX arrays never change, so what comes to JAX from a library that can write is copied, and what leaves JAX for one
    that can is copied too; NumPy gets a read-only array over JAX's memory.
(3) A dask array is computed when it is transferred; what comes to dask is copied into chunks.
(4) What lies on a device comes to the host where the target is a build of PyTorch or JAX for processors alone.
(5) The dtype stays. A library that has it not (JAX without jax_enable_x64) raises.
Guarded by tests/backends/test_transfer.py.
"""

import importlib

__all__ = ["LIBRARIES", "convert", "library_of"]


def convert(x, library, device=None):
    """The raw array `x` as one of `library` on `device`.

    Raises
    ------
    TypeError
        If the library has no arrays of x's dtype.
    ImportError
        If the library is not installed.
    """
    source = library_of(x)
    if source == "dask" and library != "dask":
        return convert(importlib.import_module("numpy").asarray(x.compute()), library, device)
    if source == library:
        return _moved(x, library, device)
    result = _CONVERTERS.get(library, _to_other)(x, source, library, device)
    if _dtype_name(result) != _dtype_name(x):
        raise TypeError(
            f"to_backend: {library} made {_dtype_name(result)} of an array of {_dtype_name(x)}: the dtype has to stay; "
            + (
                "set jax.config.update('jax_enable_x64', True), or cast to a 32-bit dtype first"
                if library == "jax"
                else "cast to a dtype that it has first"
            )
        )
    return result


def library_of(x):
    """Name of the library of a raw array."""
    root = type(x).__module__.partition(".")[0]
    return {"jaxlib": "jax"}.get(root, root)


def _dtype_name(x):
    return str(x.dtype).rpartition(".")[2].partition("'")[0]


def _moved(x, library, device):
    if device is None or library in ("numpy", "dask"):
        return x
    if library == "torch":
        return x.to(device)
    if library == "jax":
        return importlib.import_module("jax").device_put(x, device)
    return importlib.import_module("array_api_compat").to_device(x, device)


def _on_host(x):
    number = getattr(x, "__dlpack_device__", lambda: (1, 0))()[0]
    return int(number) in (1, 3)  # kDLCPU, kDLCUDAHost


def _host_array(x, source):
    """A NumPy array of the values of x: over its memory where that is the host's."""
    numpy = importlib.import_module("numpy")
    if source == "numpy":
        return x
    if source == "cupy":
        return x.get()
    if source == "torch":
        return x.resolve_conj().resolve_neg().cpu().numpy()
    if source == "jax":
        return numpy.asarray(x)  # read-only
    if source == "array_api_strict":
        # Its pretended devices refuse to be exported; the pretence ends here, in a copy.
        return numpy.array(numpy.from_dlpack(x), copy=True)
    try:
        return numpy.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, AttributeError):
        return numpy.asarray(x)


def _to_numpy(x, source, library, device):
    return _host_array(x, source)


def _is_cpu(device):
    return str(device).partition(":")[0] == "cpu"


def _jax_has_gpus(jax):
    try:
        return bool(jax.devices("gpu"))
    except RuntimeError:  # a build for processors alone
        return False


def _to_torch(x, source, library, device):
    torch = importlib.import_module("torch")
    numpy = importlib.import_module("numpy")
    if source in ("cupy", "jax") and not _on_host(x) and torch.cuda.is_available() and not _is_cpu(device):
        result = torch.from_dlpack(x)
        result = result.clone() if source == "jax" else result
    else:
        host = _host_array(x, source)
        # PyTorch knows neither read-only memory nor negative strides nor foreign byte orders.
        if not host.flags.writeable or any(step < 0 for step in host.strides) or not host.dtype.isnative:
            host = numpy.array(host, dtype=host.dtype.newbyteorder("="), copy=True, order="C")
        result = torch.from_numpy(host)
    return result if device is None else result.to(device)


def _to_jax(x, source, library, device):
    jax = importlib.import_module("jax")
    if source in ("cupy", "torch") and not _on_host(x) and _jax_has_gpus(jax):
        # jnp.array copies: the other library may write into its memory later.
        result = jax.numpy.array(jax.dlpack.from_dlpack(x), copy=True)
    else:
        host = _host_array(x, source)
        if str(host.dtype) != str(jax.dtypes.canonicalize_dtype(host.dtype)):
            raise TypeError(
                f"to_backend: JAX has no {host.dtype} now and would cut it down: set "
                "jax.config.update('jax_enable_x64', True), or cast to a 32-bit dtype first"
            )
        result = jax.numpy.array(host, copy=True)
    return result if device is None else jax.device_put(result, device)


def _to_cupy(x, source, library, device):
    cupy = importlib.import_module("cupy")
    if source == "torch" and not _on_host(x):
        result = cupy.from_dlpack(x)
    elif source == "jax" and not _on_host(x):
        result = cupy.from_dlpack(x).copy()
    else:
        with cupy.cuda.Device(None if device is None else int(device)):
            return _uploaded(cupy, _host_array(x, source))
    if device is not None and int(device) != int(result.device):
        with cupy.cuda.Device(int(device)):
            result = cupy.array(result, copy=True)
    return result


def _uploaded(cupy, host):
    """A CuPy array of host memory. CuPy copies ordinary memory aside and does not wait for the device to take it from
    there; pinned memory it would read later, when the program may have written over it, so that is waited for."""
    pinned = getattr(cupy.cuda, "pinned_memory", None)
    if pinned is not None and host.size and pinned.is_memory_pinned(host.ctypes.data):
        return cupy.asarray(host, blocking=True)
    return cupy.asarray(host)


def _to_dask(x, source, library, device):
    array = importlib.import_module("dask.array")
    numpy = importlib.import_module("numpy")
    return array.from_array(numpy.array(_host_array(x, source), copy=True))


def _to_other(x, source, library, device):
    """Any other Array-API library, from the host's memory."""
    xp = importlib.import_module(library)
    numpy = importlib.import_module("numpy")
    return xp.asarray(numpy.array(_host_array(x, source), copy=True), device=device)


_CONVERTERS = {"cupy": _to_cupy, "dask": _to_dask, "jax": _to_jax, "numpy": _to_numpy, "torch": _to_torch}

LIBRARIES = (*_CONVERTERS, "array_api_strict")
