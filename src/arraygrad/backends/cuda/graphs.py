"""CUDA graphs of whole training steps: captured once, replayed by one call.

May import: core.apply, core.tensor, engine.node. CuPy is handed in as a module.

Note [Captures]
~~~~~~~~~~~~~~~
While a stream captures, what is issued on it is written down and not run. CUDA forbids some things meanwhile, and the
memory that the graph names has to stay where it is:
(1) The capture has a stream of its own. Forward work goes there because it is current. A node of the backward would run
    on the stream on which its result was made, and a leaf's on that of the leaf: a stream that does not capture. So all
    nodes of a run run on the capturing stream, no event is recorded between them, and the caller drives the run
    (`survey` in engine/streams.pyx asks `DeviceRuntime.captures`). The device is waited for once before, so that what
    was made on any other stream is there.
(2) Arrays made in the block lie in a memory pool of their own, which nobody else takes memory from, and which the graph
    keeps.
(3) Arrays that were there before and that an operation reads are kept by the graph, in case the program drops them.
    What an operation saved before the block may be freed by its backward in the block: such a backward is refused.
    Products of two matrices come from backends/cuda/products.py: CuPy calls no cuBLAS meanwhile.
(4) What waits for the device (`float(t)`, `t.numpy()`) raises, and so does work on another device or on the host: it
    would happen once, not at each launch.
Guarded by tests/gpu/test_graphs.py.
"""

import threading

from arraygrad.core.apply import pop_op_hooks, push_op_hooks
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import take_sequence_nr

__all__ = ["CapturedGraph"]

_WAITS = (
    "capture: something in the block waits for the device, which a graph cannot hold: float(t), item(), numpy(), "
    "printing, an index by a boolean mask, or a transfer. Move it out of the block, and read results after launch()."
)
_NO_CUBLAS = (
    "capture: CuPy calls no cuBLAS while a stream captures. A product of two matrices of float32 or float64 (a @ b) "
    "has a kernel of our own; stacks of matrices, vectors, complex numbers and other products have none: write them "
    "as such products, or leave them out of the block."
)


class CapturedGraph:
    """A step of work on one device, captured in a `with` block: `launch()` runs all of it again.

    Made by `arraygrad.cupy.capture()`.
    """

    def __init__(self, cupy, runtime, device_key):
        self._cupy, self._runtime, self._key = cupy, runtime, device_key
        self._graph = None
        self._kept = []
        self._pool = None
        self._open = None

    def __enter__(self):
        cuda = self._cupy.cuda
        if self._graph is not None or self._open is not None:
            raise RuntimeError("capture: this graph has been captured already; call capture() again for another")
        if threading.get_ident() in self._runtime.captures:
            raise RuntimeError("capture: this thread captures a graph already; captures cannot be nested")
        if cuda.get_current_stream().is_capturing():
            raise RuntimeError("capture: the current stream is capturing already, by CuPy's begin_capture()")
        number = cuda.runtime.getDevice()
        cuda.Device(number).synchronize()
        self._key = (*self._key[:2], number)
        self._pool = cuda.MemoryPool()
        stream = cuda.Stream(non_blocking=True)
        blocks = [stream, cuda.using_allocator(self._pool.malloc)]
        for block in blocks:
            block.__enter__()
        self._open = stream, blocks, push_op_hooks((self._keep, None))
        self._runtime.captures[threading.get_ident()] = self._key, take_sequence_nr()
        try:
            stream.begin_capture()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind, error, traceback):
        stream = self._open[0]
        graph = failure = None
        try:
            graph = stream.end_capture()
        except Exception as broken:
            failure = broken
        finally:
            self._close()
        if error is not None:
            if "cuBLAS" in str(error) and "capture" in str(error):
                raise RuntimeError(_NO_CUBLAS) from error
            if "StreamCapture" in str(error) or "is capturing" in str(error):
                raise RuntimeError(_WAITS) from error
            return False
        if failure is not None:
            raise RuntimeError(_WAITS if "Invalidated" in str(failure) else f"capture: {failure}") from failure
        self._graph = graph
        return False

    def _close(self):
        _, blocks, hooks = self._open
        self._open = None
        del self._runtime.captures[threading.get_ident()]
        pop_op_hooks(hooks)
        for block in reversed(blocks):
            block.__exit__(None, None, None)

    def _keep(self, name, args):
        """Before each operation: keep the arrays that it reads, (3)."""
        for arg in args:
            if isinstance(arg, Tensor):
                self._kept.append(arg.detach())
                if arg.is_leaf and arg.grad is not None:
                    self._kept.append(arg.grad.detach())
            elif isinstance(arg, self._cupy.ndarray):
                self._kept.append(arg)
            elif isinstance(arg, (list, tuple)):
                self._keep(name, arg)

    def launch(self, stream=None):
        """Run the captured work once more, on `stream` or the current one, behind what that stream has to do.

        Raises
        ------
        RuntimeError
            If nothing was captured: the block raised, or has not ended.
        """
        if self._graph is None:
            raise RuntimeError("launch: nothing was captured: the block of capture() raised, or has not ended")
        self._graph.launch(stream)

    def __repr__(self):
        return f"<CapturedGraph on device {self._key[2]}{'' if self._graph is not None else ', nothing captured'}>"
