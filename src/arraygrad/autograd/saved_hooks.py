"""What is done to values that nodes save: `saved_tensors_hooks` and the hooks made with it.

May import: engine, core.constructors, core.tensor, core.saved_tensors_hooks. The stack of hooks itself belongs to a
thread and is in the compiled core (`saved`, Note [Saved-tensor hooks]).
"""

from __future__ import annotations

import contextlib
import os
import weakref

import numpy

from arraygrad.core.constructors import wrap_raw
from arraygrad.core.saved_tensors_hooks import disable_hooks, pop_hooks, push_hooks
from arraygrad.core.tensor import metadata_of
from arraygrad.engine.modes import Mode

__all__ = ["disable_saved_tensors_hooks", "save_on_cpu", "save_on_disk", "saved_tensors_hooks"]


class saved_tensors_hooks(Mode):
    """saved_tensors_hooks(pack, unpack): in this block, keep `pack(tensor)` of each value that an operation saves.

    When the value is needed, in backward or through `node.saved`, `unpack` of that gives it back. Hooks belong to a
    thread; of nested blocks only the innermost counts. They are chosen when a value is saved, so backward may be called
    outside of the block; operations that a backward pass itself records (`create_graph`) follow the hooks that are
    active where the pass is called.

    Parameters
    ----------
    pack : callable
        Called once per saved value, with recording off, with a detached Tensor over the program's own memory, which it
        must not write. Python scalars don't come here. What it returns may be anything.
    unpack : callable
        Called with what pack returned each time the value is needed; must return a Tensor, or a raw array, of the same
        shape, dtype and device. Nothing checks that its values are the same.

    Raises
    ------
    RuntimeError
        On entering, where `disable_saved_tensors_hooks` is active; from the operation, if pack writes its argument.
    TypeError
        From backward, if unpack returns no array.

    Examples
    --------
    >>> import arraygrad as ag
    >>> kept = []
    >>> def pack(t):
    ...     kept.append(t.shape)
    ...     return t.astype("float32")
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> with ag.autograd.graph.saved_tensors_hooks(pack, lambda t: t.astype("float64")):
    ...     y = ag.exp(x)
    >>> kept
    [(2,)]
    """

    def __init__(self, pack, unpack):
        for name, hook in (("pack", pack), ("unpack", unpack)):
            if not callable(hook):
                raise TypeError(f"saved_tensors_hooks: {name} must be callable, got {type(hook).__name__}")
        super().__init__(push_hooks, (pack, unpack), pop_hooks, paired=False)


class disable_saved_tensors_hooks(Mode):
    """disable_saved_tensors_hooks(message): in this block no saved-tensor hooks can be entered on this thread.

    For code that is wrong under such hooks: RuntimeError(message) is raised where they are entered, or on entering this
    block while some are active.

    Examples
    --------
    >>> import arraygrad as ag
    >>> with ag.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with ag.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: not here
    """

    def __init__(self, error_message):
        super().__init__(disable_hooks, str(error_message), pop_hooks, paired=False)


class save_on_cpu(saved_tensors_hooks):
    """In this block values are saved in host memory, and moved back to their device when they are needed.

    Values that are on the host already are kept as they are. The gradients are the same; device memory is traded for
    transfers. Those of CuPy arrays run beside the computation, through pinned memory and on a stream of their own, and
    the way back of a value begins when the one saved after it is asked for.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([0.0, 1.0], requires_grad=True)
    >>> with ag.autograd.graph.save_on_cpu():
    ...     y = ag.exp(x).sum()
    >>> y.backward()
    >>> x.grad
    Tensor([1.        , 2.71828183])
    """

    def __init__(self):
        self._order = []  # what backends offload by themselves, weakly, in the order of saving
        super().__init__(self._to_host, _from_host)

    def _to_host(self, t):
        meta = metadata_of(t)
        if meta.device_key is None or meta.size == 0:
            return t
        offload = getattr(meta.ops, "offload", None)
        if offload is None:
            return meta, t.numpy()
        kept = _Offloaded(offload(t.array), self._order)
        self._order.append(weakref.ref(kept))
        return kept


class _Offloaded:
    """A value on its way to host memory; giving it back starts the way back of what was saved before it."""

    def __init__(self, copy, order):
        self.copy = copy
        self._order = order
        self._place = len(order)

    def restore(self):
        """The value, a raw array on its own device."""
        result = self.copy.restore()
        for place in range(self._place - 1, max(self._place - 1 - _LOOK_BACK, -1), -1):
            earlier = self._order[place]()
            if earlier is not None and not earlier.copy.used:
                earlier.copy.prefetch()
                break
        return result


# A node saves a few values and asks for them in order, so the next value to come may lie a few places further back.
_LOOK_BACK = 8


def _from_host(kept):
    if isinstance(kept, _Offloaded):
        return kept.restore()
    if not isinstance(kept, tuple):
        return kept
    meta, array = kept
    return meta.ops.asarray(array, meta.dtype, meta.device)


class save_on_disk(saved_tensors_hooks):
    """save_on_disk(directory=None): in this block values are saved in files, and read when they are needed.

    A file is deleted when the node that saved it dies or lets its values go (backward without retain_graph), and at the
    latest when the interpreter ends.

    Parameters
    ----------
    directory : str or path, optional
        Where the files are; it must exist. Default: the system's folder for temporary files.

    Raises
    ------
    FileNotFoundError
        If `directory` does not exist.
    OSError
        From an operation, if its values can't be written. No file is left behind.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([0.0, 1.0], requires_grad=True)
    >>> with ag.autograd.graph.save_on_disk():
    ...     y = ag.exp(x).sum()
    >>> y.backward()
    >>> x.grad
    Tensor([1.        , 2.71828183])
    """

    def __init__(self, directory=None):
        import tempfile  # here: importing arraygrad has no need of it

        directory = os.fspath(tempfile.gettempdir() if directory is None else directory)
        if not os.path.isdir(directory):
            raise FileNotFoundError(f"save_on_disk: the directory {directory!r} does not exist")
        self.directory = directory
        super().__init__(self._write, _Kept.read)

    def _write(self, t):
        return _Kept(self.directory, t)


class _Kept:
    """One saved value in a file, which is deleted with this object."""

    def __init__(self, directory, t):
        import tempfile

        meta = metadata_of(t)
        array = numpy.ascontiguousarray(t.numpy()).reshape(meta.shape)
        handle, self.path = tempfile.mkstemp(prefix="arraygrad-", suffix=".saved", dir=directory)
        os.close(handle)
        # Before anything can fail: whatever happens, the file goes.
        self._remove = weakref.finalize(self, _remove, self.path)
        self.meta = meta
        self.dtype = array.dtype
        try:
            array.tofile(self.path)
        except BaseException:
            self._remove()
            raise

    def read(self):
        """The value, a raw array on its own device."""
        array = numpy.fromfile(self.path, dtype=self.dtype).reshape(self.meta.shape)
        return wrap_raw(self.meta.ops.asarray(array, self.meta.dtype, self.meta.device))


def _remove(path):
    # Nobody could catch an error of a finalizer, and the directory may be gone already.
    with contextlib.suppress(OSError):
        os.unlink(path)
