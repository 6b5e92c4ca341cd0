"""Differentiable Array-API namespace over CuPy."""

import importlib as _importlib

from arraygrad import backends as _backends
from arraygrad.cupy import fft, linalg
from arraygrad.namespaces import namespace as _namespace

__all__: list[str] = []


def capture():
    """A block of work on the current device as a CUDA graph, which one call runs again.

    In the block nothing runs: operations, backward passes and writes into arrays are written down. `launch()` of what
    the block gives runs them all, on the same arrays. So the step has to read its data from arrays that stay, and to
    write its results into arrays that stay. Run the step once before: kernels are compiled then, not in the block.

    Examples
    --------
    >>> with ag.cupy.capture() as graph:                             # doctest: +SKIP
    ...     loss = ag.sum((x @ w - y) ** 2)
    ...     (gradient,) = ag.autograd.grad(loss, w)
    ...     with ag.no_grad():
    ...         w -= 0.1 * gradient
    >>> for batch in batches:                                        # doctest: +SKIP
    ...     x[...] = batch
    ...     graph.launch()

    Raises
    ------
    ImportError
        If CuPy is not installed.
    RuntimeError
        In a block of another capture; at the block's end, if something in it waits for the device.
    """
    _backends.raw_namespace("cupy")  # raises where CuPy is not there
    return _importlib.import_module("arraygrad.backends.cupy").capture()


_namespace.build(globals(), "cupy")
__all__ += ["capture"]
