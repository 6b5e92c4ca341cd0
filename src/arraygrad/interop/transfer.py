"""`to_backend`: an array of one library as an array of another, recorded, so that one backward crosses both.

May import: backends, ops, core.constructors, core.tensor.
"""

from __future__ import annotations

from arraygrad import backends
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.tensor import Tensor, apply_op, backend_of, metadata_of
from arraygrad.ops import OPS

__all__ = ["to_backend"]

_OP = OPS.get("_to_backend")


def to_backend(x, library, device=None):
    """`x` as a Tensor over another array library. The gradient goes back the same way.

    Parameters
    ----------
    x : Tensor or raw array
        Of any library. A raw array gives a Tensor that does not require grad.
    library : str
        "numpy", "torch", "jax", "cupy", "dask", "array_api_strict", or another Array-API library by its module's name.
    device : optional
        Where the result lies, an object or name of that library; None: where `x` lies if that library can use it, else
        that library's default device.

    Returns
    -------
    Tensor
        Of x's shape and dtype. NumPy, PyTorch and CuPy share memory where they can, and the result is then a view of
        `x`; JAX and dask get a copy. A Tensor that is where it should be comes back as itself.
        A dask array is computed.

    Raises
    ------
    ImportError
        If the library is not installed; the text names the extra that brings it.
    TypeError
        If `x` is no array, or the library has no arrays of its dtype (float64 in JAX without jax_enable_x64).

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> y = ag.to_backend(x * 2, "array_api_strict")
    >>> (y * y).sum().backward()
    >>> x.grad
    Tensor([ 8., 16.])
    """
    if not isinstance(library, str):
        raise TypeError(f"to_backend: expected the name of an array library, got {type(library).__name__}")
    if not hasattr(backends.raw_namespace(library), "asarray"):  # ImportError where it is missing
        raise TypeError(f"to_backend: {library!r} is no array library: the module has no asarray")
    if not isinstance(x, Tensor):
        backend_of(x)  # TypeError for what is no array
        x = wrap_raw(x)
    source = backend_of(x).name
    if source == library:
        return x if device is None or device == x.device else x.to_device(device)
    meta = metadata_of(x)
    back = meta.device if meta.device is not None or source in ("numpy", "dask") else x.device
    return apply_op(_OP, (x, library, device, source, back))
