# Values out of a Tensor: Python scalars, NumPy arrays, text.
# May import: engine.*, core.op, core.value, core.nodes, core.apply.
import dis
import functools
import importlib
import sys
import warnings

from arraygrad.core.apply cimport refresh
from arraygrad.engine.node cimport NodeHooks, thread_state
from arraygrad.core.value cimport Backend, TensorBase, is_tensor

from arraygrad.engine.node import keep_for_ever


# The function transforms that are calling their functions: id -> TrackedCall. `transforms.tracked_call` puts them in
# and takes them out.
RUNNING = {}
cdef extern from "adopted.hpp" namespace "arraygrad" nogil:
    bint any_adopted() noexcept

cdef dict _running = RUNNING


def running_here():
    """How many function transforms are calling their functions on this thread."""
    return thread_state().transforms


def outermost_here():
    """The outermost of the function transforms that are calling their functions on this thread; None: there is none."""
    cdef unsigned int here
    if not thread_state().transforms:
        return None
    here = thread_state().thread_id
    for trace in list(RUNNING.values()):
        if trace.thread == here:
            return trace
    return None


cdef str _guard_name = None             # see set_number_guard
cdef object _guard = None


def set_number_guard(str name):
    """Have the module of that name decide what is done when values of recorded Tensors leave, or where numpy itself is
    kept. It is imported by the first that does.
    """
    global _guard_name
    _guard_name = name


cdef object guard():
    global _guard
    if _guard is None:
        _guard = importlib.import_module(_guard_name)
        keep_for_ever(_guard)
    return _guard


def known_refusal(values, error):
    """`error`, which refuses one of the values, known to the transforms that follow it: the program may catch it."""
    if RUNNING:
        for x in values:
            if isinstance(x, TensorBase) and (<TensorBase>x).tracked:
                return guard().refusal(x, error)
    return error


def before_rounding(TensorBase t, decimals):
    """Tell of a recorded Tensor that is rounded to some digits while a transform follows it: the slope is zero."""
    if RUNNING and t.requires_grad:
        guard().rounds(t, decimals)


def mark():
    """Where the running program gives memory away: an object whose text is made when it is asked for."""
    return guard().mark()


def exported_error(where):
    """The error for a value that requires grad and is to be written into memory that was given away at `where`."""
    return guard().exported_error(where)


def held_array_written():
    """The warning of a write that an array of the program's shows (python_numbers.held_array_written)."""
    guard().held_array_written()


def place():
    """Where the running program is, as text."""
    return guard().place()


def numpy_is_kept():
    """In an adopted call where numpy itself makes plain arrays: why, as a sentence. "" elsewhere."""
    return guard().numpy_is_kept()


cdef object _notice = None              # see set_conversion_notice; written by one thread, for a check


def set_conversion_notice(notice):
    """Have `notice(how)` called whenever values leave a tensor that requires grad: by float, int, complex, item, tolist
    or numpy. None: no longer. Returns the previous one. For tools that look for lost gradients.
    """
    global _notice
    previous = _notice
    _notice = notice
    return previous


cdef object _watch = None               # see set_value_watch


def set_value_watch(watch):
    """Have `watch(raw array, how)` called whenever values leave any Tensor, or a program decides by them; None: no
    longer. Returns the previous one. For captures.
    """
    global _watch
    previous = _watch
    _watch = watch
    return previous


cdef int looked_at(TensorBase t, str how) except -1:
    """A program looks at the values of a Tensor."""
    if _watch is not None:
        _watch(t.value.raw, how)
    return 0


cdef int leaving(TensorBase t, str how) except -1:
    """Values leave the tensor by the conversion `how`."""
    if _watch is not None and how != "detach":
        _watch(t.value.raw, how)
    if _notice is not None:
        if t.extra is not None:
            refresh(t)
        if t.tracked:
            _notice(how)
    return 0


cdef object left(TensorBase t, str how):
    """The values of a tensor as a numpy.ndarray, noticed as leaving it."""
    leaving(t, how)
    if _running and recorded(t):
        guard().leaves(t, how)
    return to_numpy(t.value.raw)


cdef bint recorded(TensorBase t) except -1:
    """Whether operations on `t` are recorded now."""
    if t.extra is not None:
        refresh(t)
    return t.tracked and thread_state().grad_mode


cdef str ONE_OF_MANY = "t[i].item() is one of them, t.tolist() has all, and t.sum() and t.mean() are one number"


cdef object item_of(TensorBase t, str how="item"):
    """The value of a one-element tensor as a Python scalar."""
    leaving(t, how)
    cdef object raw = t.value.raw
    try:
        return raw.item() if hasattr(raw, "item") else to_numpy(raw).item()
    except ValueError as error:
        raise ValueError(f"{error}: {ONE_OF_MANY}") from None


cdef object taken(TensorBase t, tuple index):
    """`t.item(*index)`: a Python scalar, or in a transform that follows `t` a 0-d Tensor."""
    if index:
        return item_at(t, index)
    if (_running or any_adopted()) and recorded(t) and guard().stays(t):
        return guard().element(t)
    return item_of(t)


cdef object item_at(object t, tuple index):
    """`t.item(i)` with a flat index, `t.item(i, j)` and `t.item((i, j))` with one per axis."""
    import numpy
    if len(index) == 1 and isinstance(index[0], tuple):
        index = index[0]
    if len(index) == 1 and t.ndim != 1:
        if not -t.size <= index[0] < t.size:
            raise IndexError(f"item(): index {index[0]} is out of bounds for size {t.size}")
        index = tuple([int(i) for i in numpy.unravel_index(index[0] % t.size, t.shape)])
    if len(index) != t.ndim:
        raise ValueError(f"item(): expected a flat index or {t.ndim} indices, but got {len(index)}")
    return t[index].item()


cdef object listed(TensorBase t):
    """`t.tolist()`: nested lists of Python scalars, or in a transform that follows `t` of 0-d Tensors."""
    if (_running or any_adopted()) and recorded(t) and guard().stays(t):
        return guard().elements(t)
    return left(t, "tolist").tolist()


cdef object number(TensorBase t, str how):
    """The value for `float(t)` and `complex(t)`, of which no gradient leads back: the guard may refuse."""
    if t.tracked or t.extra is not None:
        refuse_store(t)
    cdef object value = one_element(t, how)
    value = float(value) if how == "float" else complex(value)
    if t.tracked and thread_state().grad_mode:
        guard().becomes_number(t, how)
    return value


cdef object recorded_copy(TensorBase t):
    """For the copy module: a recorded copy in a transform that follows `t`, otherwise None."""
    return guard().copied(t) if (_running or any_adopted()) and recorded(t) else None


cpdef int before_bytes(TensorBase t, str how) except -1:
    """Refuse bytes of what a transform follows, by `how`: "pickling", "tobytes()"."""
    looked_at(t, how)
    if _running and recorded(t):
        guard().becomes_bytes(t, how)
    return 0


cdef bint are_two_keys(TensorBase t, object other) except -1:
    """Whether `t`, or `other`, was hashed, and they are equal numbers but two keys where they are compared.

    See Note [Keys that are equal] in autograd/keys.py.
    """
    cdef TensorBase second
    if other is t or t.value.meta.ndim != 0:
        return False
    if not t.tracked and not (is_tensor(other) and (<TensorBase>other).tracked):
        return False                        # constants are keys by value
    if is_tensor(other):
        second = <TensorBase>other
        if second.value.meta.ndim != 0 or not (<Backend>second.value.meta.ops).scalars:
            return False
        value = second.value.raw.item()
    elif isinstance(other, (int, float, complex)) or hasattr(other, "item") and getattr(other, "ndim", None) == 0:
        value = other
    else:
        return False
    looked_at(t, "==")
    return bool(t.value.raw.item() == value) and not guard().is_one_key(t, other)


cdef object one_element(TensorBase t, str what):
    if t.value.meta.size != 1:
        arrays = "; NumPy's functions take arrays, numpy.sin for math.sin" if what in ("float", "complex") else ""
        raise TypeError(f"{what}: only a one-element tensor can be converted to a Python scalar, but got shape "
                        f"{t.value.meta.shape_tuple()}{arrays}; t.numpy() and t.tolist() give all values")
    return item_of(t, what)


cdef object to_numpy(object raw):
    import numpy
    if isinstance(raw, numpy.ndarray):
        return raw
    library = type(raw).__module__.partition(".")[0]
    if library == "cupy":
        return raw.get()
    if library == "torch":
        raw = raw.detach().cpu().resolve_conj().resolve_neg()
        # NumPy has no bfloat16; float32 holds each of its values.
        return raw.float().numpy() if str(raw.dtype) == "torch.bfloat16" else raw.numpy()
    try:
        return numpy.asarray(raw)
    except (RuntimeError, TypeError, BufferError):
        return numpy.from_dlpack(raw)


# Note [Numbers written into plain arrays]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# `array[i] = t` asks a 0-d Tensor for its value by the same slot as `float(t)`, which is explicit and allowed. The two
# differ in the instruction that the calling frame is at: where that stores an element, the value would lose its
# gradient in an array's memory, and the conversion is refused. Guarded by tests/numpy_api/test_writes.py.
_STORES = frozenset(dis.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in dis.opmap)
_code_of = functools.lru_cache(maxsize=512)(lambda code: code.co_code)


cdef int refuse_store(TensorBase t) except -1:
    """Raise TypeError if the calling Python frame is storing this Tensor as an element of a plain array."""
    cdef object frame
    if t.extra is not None:
        refresh(t)
    if not t.tracked or not thread_state().grad_mode:
        return 0
    try:
        frame = sys._getframe(0)
    except ValueError:                      # called by C without a Python frame: not a store
        return 0
    while frame is not None and frame.f_code.co_filename.endswith(".pyx"):
        frame = frame.f_back                # a build with line events has frames of its own
    if frame is None or not 0 <= frame.f_lasti < len(_code_of(frame.f_code)):
        return 0
    if _code_of(frame.f_code)[frame.f_lasti] in _STORES:
        error = guard().store_refused(t)
        if error is not None:
            raise error
    return 0


cdef int refuse_conversion(TensorBase t, str how) except -1:
    looked_at(t, how)
    if t.extra is not None:
        refresh(t)
    if t.tracked:
        refuse_store(t)
        error = guard().conversion_refused(t, how)
        if error is not None:
            raise error
    return 0


cdef object values_of(TensorBase t, str how, object dtype=None):
    """The values as an array of NumPy's; refused where a gradient would be lost.

    `dtype` is what is asked for. Integers have no slope, `numpy.int64(t)` as `int(t)`: they are given.
    """
    looked_at(t, how)
    if dtype is not None and getattr(dtype, "kind", "") in ("i", "u", "b"):
        refuse_store(t)
        return to_numpy(t.value.raw).astype(dtype)
    refuse_conversion(t, how)
    return to_numpy(t.value.raw)


# Note [Sparse matrices beside Tensors]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Before `A @ t`, `A * t` and `A / t` a sparse matrix of SciPy's asks `numpy.asanyarray(t)`, and leaves the operator to
# the Tensor where the answer is an object without axes, "not interpretable as an array". A Tensor that requires grad
# refuses that conversion everywhere else, as its gradient would be lost; there it gives such an object, and its own
# operator follows. The place is known by the calling frames: `A.multiply(t)`, a method, would give its caller
# NotImplemented, and is refused. Guarded by tests/scipy_rules/test_sparse_constants.py.
_ASKED_IN = {                            # functions of SciPy's that ask, and the operators that call them, in turn
    "_matmul_dispatch": (),
    "_multiply_2d_with_broadcasting": ("multiply", "__mul__"),
    "multiply": ("__mul__",),            # of three axes
    "_divide": ("__truediv__",),
}


cdef bint asked_by_sparse() except -1:
    """Whether the calling Python frame is SciPy's, deciding who computes an operator of a sparse matrix."""
    cdef object frame
    try:
        frame = sys._getframe(0)
    except ValueError:
        return False
    while frame is not None and frame.f_code.co_filename.endswith(".pyx"):
        frame = frame.f_back
    if not of_sparse(frame):
        return False
    callers = _ASKED_IN.get(frame.f_code.co_name)
    if callers is None:
        return False
    for name in callers:
        frame = frame.f_back
        while of_sparse(frame) and frame.f_code.co_name == "multiply" != name:  # a class's own method, after its base's
            frame = frame.f_back
        if not of_sparse(frame) or frame.f_code.co_name != name:
            return False
    return True


cdef bint of_sparse(object frame) except -1:
    """Whether a Python frame is of scipy.sparse."""
    return frame is not None and str(frame.f_globals.get("__name__")).startswith("scipy.sparse")


cdef bint is_asked_by_name() except -1:
    """Whether the program itself calls `t.__array__()`: an adopted call may give it the Tensor."""
    return guard().asks_by_name()


cdef object no_array():
    """What NumPy makes of an object that is no array."""
    import numpy
    return numpy.array(None, dtype=object)


cdef int warn_of_hooks(TensorBase t) except -1:
    """Pickling leaves history and hooks behind: say so, for each of them."""
    cdef NodeHooks hooks = None
    if t.extra is not None:
        refresh(t)
        hooks = t.extra.hooks
    if t.grad_fn_ is not None:
        hooks = t.grad_fn_.hooks
        warnings.warn("a Tensor that was computed is pickled: its values go along and its history does not, so no "
                      "gradient flows from what is loaded to what it was computed of. Give t.detach() where the values "
                      "are meant. Another process computes a gradient of its own: let it return that.",
                      UserWarning, stacklevel=2)
    if hooks is not None and hooks.tensor_pre:
        for nr, hook in hooks.tensor_pre.values():
            if nr == t.output_nr_:
                warnings.warn(f"backward hook {hook!r} on tensor will not be serialized. Remove it before pickling, or "
                              "register it again on what is loaded.", UserWarning, stacklevel=2)
    return 0


def warn_of_no_leaf():
    """Say that what is computed has no `grad`: it is asked for that of a Tensor that does not retain it."""
    warnings.warn("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                  "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                  "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. An update that binds the name "
                  "anew, w = w - step, makes such a Tensor of a leaf: write w -= step under arraygrad.no_grad().",
                  UserWarning, stacklevel=1)


def values_text(TensorBase t, *, str prefix=""):
    """The values as text; lines behind the first are indented as much as `prefix` is long."""
    import numpy
    cdef str text
    looked_at(t, "text")
    text = (<Backend>t.value.meta.ops).text(t.value.raw)
    if text is None:
        try:
            text = numpy.array2string(to_numpy(t.value.raw), separator=", ", prefix=prefix)
        except Exception:
            text = str(t.value.raw)
    return text


cdef str representation(TensorBase t):
    cdef list parts
    cdef bint known = True
    if t.extra is not None:
        try:
            refresh(t)
        except RuntimeError:                # a view that can't be used after its base was written can be shown
            known = False
    parts = [values_text(t, prefix="Tensor(")]
    if t.value.meta.device_key is not None:
        parts.append(f"device={t.value.meta.device}")
    plain = not t.value.meta.is_floating or str(t.value.meta.dtype) in ("float64", "complex128")
    if not plain or t.value.meta.size == 0:
        parts.append(f"dtype={t.value.meta.dtype}")
    if not known:
        parts.append("grad_fn=<Invalid>")
    elif t.grad_fn_ is not None:
        parts.append(f"grad_fn=<{t.grad_fn_.name()}>")
    elif t.tracked:
        parts.append("requires_grad=True")
    return f"Tensor({', '.join(parts)})"
