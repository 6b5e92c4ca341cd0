"""GenericBackend: any library whose arrays speak the Array API, with the standard's functions only.

May import: engine.arrayops, core.value, the package's own registry, backends.memory.
array-api-compat is imported by whoever chose `xp`.
"""

import numpy

from arraygrad.backends import attach
from arraygrad.backends.memory import extent
from arraygrad.core.value import Backend
from arraygrad.engine.arrayops import GradMeta, InvalidGradient

__all__ = ["GenericBackend", "register"]

# Libraries whose arrays can't be written in place, or whose slices are no views of the memory they were cut from.
_IMMUTABLE = frozenset(("jax", "dask"))


_made: dict[type, Backend] = {}  # of threads that see the first array of a type at once, all get the same


def register(obj, library, xp):
    """Make and register the backend of type(obj), an array of `library` with the namespace `xp`."""
    array_type = type(obj)
    mutable = library not in _IMMUTABLE and hasattr(array_type, "__setitem__")
    backend = _made.setdefault(array_type, GenericBackend(library, xp, array_type, mutable))
    return attach(backend, library, array_type)


class GenericBackend(Backend):
    """Backend(name, xp, array_type, mutable=True) over the standard's functions.

    Devices are compared with `==` and never hashed (CuPy's can't be). `device_key` names a device for the engine's
    per-device workers; it is None for CPU-like devices, whose work runs on the calling thread.
    """

    # -- metadata --------------------------------------------------------------------------------------------------

    def meta(self, array):
        """GradMeta of `array`. A dimension that a lazy array does not know is None."""
        is_complex, is_floating = self.dtype_class(array.dtype)
        device = self.device_of(array)
        key = self.device_key(device)
        stream = None if key is None else self.runtime.current_stream(key)
        return GradMeta(self, shape_of(array), array.dtype, device, key, stream, is_complex, is_floating)

    def device_of(self, array):
        """The array's device, as its library names it; None where it says nothing."""
        device = getattr(array, "device", None)
        return device() if callable(device) else device

    def device_key(self, device):
        """A hashable name of `device`, None for the host."""
        if device is None or is_host(device):
            return None
        number = getattr(device, "id", None)
        if number is None:
            number = getattr(device, "index", None)
        if isinstance(number, int):
            kind = getattr(device, "platform", None) or getattr(device, "type", None) or "device"
            return (self.name, str(kind), number)
        return (self.name, str(device))

    def dtype_class(self, dtype):
        """(is complex, is real or complex floating) of a dtype of this library; remembered per dtype."""
        known = _dtype_classes.get((self.name, dtype))
        if known is None:
            is_complex = bool(self.xp.isdtype(dtype, "complex floating"))
            known = (is_complex, is_complex or bool(self.xp.isdtype(dtype, "real floating")))
            _dtype_classes[self.name, dtype] = known
        return known

    # -- gradients -------------------------------------------------------------------------------------------------

    def matches(self, meta, grad):
        """Whether `grad` has exactly the shape, dtype and device of `meta`."""
        return (
            isinstance(grad, self.array_type)
            and shape_of(grad) == meta.shape
            and grad.dtype == meta.dtype
            and self.device_of(grad) == meta.device
        )

    def conform(self, meta, grad, realify):
        """`grad` summed over broadcast axes, cast to meta's dtype and, if 0-d, moved to its device.

        It is moved in any case where operations of the library read arrays of other devices (`reads_other_devices`).

        Raises
        ------
        InvalidGradient
            If it is no array of this backend, its shape can't be summed to meta's, it is complex where meta is real
            (and not `realify`), or it lies on another device.
        """
        xp = self.xp
        if not isinstance(grad, self.array_type):
            grad = self._constant(meta, grad)
        device = self.device_of(grad)
        if device != meta.device:
            if grad.ndim and not self.reads_other_devices:
                raise InvalidGradient(f"expected device {meta.device} but got {device}")
            grad = self.to_device(grad, meta.device)
        shape = shape_of(grad)
        if shape != meta.shape:
            grad = self._sum_to(meta, grad, shape)
        if self.dtype_class(grad.dtype)[0] and not meta.is_complex:
            if not realify:
                raise InvalidGradient(
                    f"got {grad.dtype} but expected real {meta.dtype}: return the real part where the input is real"
                )
            grad = xp.real(grad)
        if grad.dtype != meta.dtype:
            grad = xp.astype(grad, meta.dtype)
        return grad

    def add(self, a, b):
        """a + b, a new array."""
        return a + b

    def add_into(self, a, b):
        """a + b in the memory of `a` where the library can, which nobody else holds."""
        if self.mutable and a.ndim:
            a += b
            return a
        return a + b

    def clone(self, array, like):
        """A copy of `array`, row-major (the standard knows no layouts)."""
        return self.xp.asarray(array, copy=True)

    def has_nan(self, grad):
        """Whether any element is NaN; False for integers and booleans."""
        if not self.dtype_class(grad.dtype)[1]:
            return False
        return bool(self.xp.any(self.xp.isnan(grad)))

    def zeros(self, meta):
        """Zeros of meta's shape, dtype and device."""
        return self.xp.zeros(meta.shape, dtype=meta.dtype, device=meta.device)

    def ones(self, meta):
        """Ones of meta's shape, dtype and device."""
        return self.xp.ones(meta.shape, dtype=meta.dtype, device=meta.device)

    # -- forward ---------------------------------------------------------------------------------------------------

    def wrap_raw(self, result):
        """A function's result with the scalars that a library returns for 0-d results as arrays, in tuples too."""
        if isinstance(result, self.array_type):
            return result
        if isinstance(result, numpy.generic):
            return self.xp.asarray(result.item())
        if isinstance(result, tuple):
            items = [self.wrap_raw(r) for r in result]
            return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
        if isinstance(result, list):
            return [self.wrap_raw(r) for r in result]
        return result

    def asarray(self, obj, dtype, device):
        """An array of this backend from scalars, lists or another array; no copy where none is needed."""
        return self.xp.asarray(obj, dtype=dtype, device=device)

    def to_device(self, array, device):
        """`array` on `device`."""
        if hasattr(array, "to_device"):
            return array.to_device(device)
        from array_api_compat import to_device

        return to_device(array, device)

    def shares_memory(self, a, b):
        """Whether an element of `a` may lie in the memory of `b`: views of one buffer do, copies never."""
        if not self.mutable:
            return False
        if a is b:
            return True
        first, second = [self.memory(x) if isinstance(x, self.array_type) else extent(x) for x in (a, b)]
        return first is not None and second is not None and first[0] < second[1] and second[0] < first[1]

    def memory(self, array):
        """(first byte, one past the last byte) that `array` reaches, or None where its library does not say."""
        return extent(array)

    def content_token(self, raw):
        """The library's own version counter (PyTorch's), which every write in place moves on; 0 where it has none."""
        return getattr(raw, "_version", 0)

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _constant(self, meta, grad):
        if isinstance(grad, bool | int | float | complex):
            return self.xp.asarray(grad, dtype=self._scalar_dtype(meta, grad), device=meta.device)
        cls = type(grad)
        raise InvalidGradient(
            f"expected {self.array_type.__module__}.{self.array_type.__qualname__} but got "
            f"{cls.__module__}.{cls.__qualname__}"
        )

    def _scalar_dtype(self, meta, grad):
        if isinstance(grad, complex) and not meta.is_complex:
            return None
        return meta.dtype

    def _sum_to(self, meta, grad, shape):
        want = meta.shape
        extra = len(shape) - len(want)
        if extra < 0 or any(b not in (a, 1) for a, b in zip(shape[extra:], want, strict=True)):
            raise InvalidGradient(f"got {list(shape)} but expected shape compatible with {list(want)}")
        axes = tuple(range(extra)) + tuple(
            extra + i for i, (a, b) in enumerate(zip(shape[extra:], want, strict=True)) if a != b
        )
        # dtype: the standard lets sum() widen integers and small floats; a gradient keeps its own.
        grad = self.xp.sum(grad, axis=axes, dtype=grad.dtype, keepdims=True)
        return self.xp.reshape(grad, want) if extra else grad


# (library, dtype) -> (is complex, is floating). Filled under the GIL; a lost race recomputes the same value.
_dtype_classes: dict[tuple, tuple[bool, bool]] = {}


def shape_of(array):
    """The shape as a plain tuple; an unknown dimension (NaN in dask) is None."""
    shape = tuple(array.shape)
    for n in shape:
        if n is None or n != n:
            return tuple(None if n is None or n != n else int(n) for n in shape)
    return shape


def is_host(device):
    """Whether a library's device object means the CPU, so that its work needs no worker of its own."""
    kind = getattr(device, "type", None) or getattr(device, "platform", None)
    if isinstance(kind, str):
        # Several CPU devices (JAX can pretend to have them) are told apart by number: only the first is the host.
        return kind == "cpu" and not (getattr(device, "id", None) or 0)
    return str(device).lower() in ("cpu", "cpu_device", "host")
