# NumpyOps: what the engine and forward operations ask of NumPy's arrays.
# May import: numpy (Python only), engine.arrayops, engine.node, core.op, core.value, backends.numpy.contents,
# backends.numpy.direct, backends.numpy.elementwise, backends.numpy.ndarrays, backends.numpy.loops,
# backends.numpy.powers, backends.numpy.kernel_programs, backends.numpy.reductions, backends.numpy.shapes,
# backends.numpy.sines, backends.numpy.single, backends.numpy.table, backends.numpy.ufunc_loops, backends.memory.
cimport cython
from libc.stdint cimport uint32_t, uint64_t
from cpython.object cimport PyObject

import numbers

import numpy as np

from arraygrad.backends.numpy.contents cimport (
    content_of, fits, has_overlaps, meta_of, owner_address, owns, promoted_array, serve_single,
)
from arraygrad.backends.numpy.direct cimport by_direct
from arraygrad.backends.numpy.elementwise cimport forward_of_table
from arraygrad.backends.numpy.ndarrays cimport (
    ArrayView, bounds_overlap, cloned, has_axes, held_once, is_scalar, keep_for_reuse, laid_out_as, new_number,
    ones_for, same_shape, view_of, wrapped, zeros_for,
)
from arraygrad.backends.numpy.loops cimport (
    KIND_BINARY, KIND_CALL, KIND_DIRECT, KIND_OPERATOR_POWER, KIND_POWER, KIND_SCIPY, KIND_SINE, KIND_TABLE, KIND_UNARY,
    SLOT_C128, SLOT_C64, SLOT_F64, LoopSet, any_nan, binary_loop, fast_enabled, forward_ptr, is_captured, item_size,
    loop_set, not_captured, reduce_by, single_number, sum_to, unary_loop,
)
from arraygrad.backends.numpy.powers cimport power, power_by_operator
from arraygrad.backends.numpy.plans cimport KIND_PLANNED, planned
from arraygrad.backends.numpy.kernel_programs cimport by_door, noted_in_place, noted_loop, noted_write, settled
from arraygrad.backends.numpy.reductions cimport added_whole
from arraygrad.backends.numpy.shapes cimport add_at as add_rows_at
from arraygrad.backends.numpy.sines cimport sines_of
from arraygrad.backends.numpy.single cimport (
    element_taken, is_single, read_number_array, single_loop, with_element,
)
from arraygrad.backends.numpy.table cimport use_loops
from arraygrad.backends.numpy.ufunc_loops cimport UfuncLoops, run_loops
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport Section
from arraygrad.engine.node cimport NODE_ASIDE, NODE_FAST, NODE_NUMBER, set_recycler
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend, drop_dead_tensors

from arraygrad.backends.numpy.ndarrays import swap_memory_handler
from arraygrad.engine.arrayops import InvalidGradient

cdef LoopSet* ADD = loop_set("add")

cdef object _ndarray = np.ndarray
_add = np.add
_add_reduce = np.add.reduce


cdef enum:
    BOOL = 0                            # NPY_BOOL
    LAST_NUMBER = 16                    # NPY_CLONGDOUBLE: NumPy's types up to here, and half, are numbers and booleans
    HALF = 23                           # NPY_HALF
    POOLED_BYTES = 1 << 16              # below, malloc keeps freed memory by itself, and setting the handler costs more


cdef bint in_pool(object array) noexcept:
    """Whether what is computed of an array is large enough for memory of the pool to pay."""
    cdef ArrayView v
    cdef int slot = view_of(array, &v)
    return slot >= 0 and v.size * item_size(slot) >= POOLED_BYTES


cdef inline bint is_compiled(Op op) noexcept:
    return op.fast_kind == KIND_CALL or op.fast_kind == KIND_PLANNED


cdef inline object compiled(Op op, object args):
    """The result of a compiled forward, None: declined."""
    return planned(op, args) if op.fast_kind == KIND_PLANNED else (<forward_ptr>op.loops)(args)


cdef bint has_loops(Op op) except -1:
    """Whether an operation has direct loops; finds them."""
    if not KIND_UNARY <= op.fast_kind <= KIND_POWER and op.fast_kind < KIND_SINE or op.fast_kind == KIND_DIRECT:
        return False
    use_loops(op)
    return op.loops != NULL


cdef object by_scipy(Op op, object a, object b):
    """A ufunc of scipy.special on plain arrays of one dtype, which the result has too. None: declined."""
    cdef UfuncLoops u = <UfuncLoops>op.loops
    cdef ArrayView v, w
    cdef int slot = view_of(a, &v)
    cdef object out
    if slot < 0 or slot > SLOT_F64 or b is not None and view_of(b, &w) != slot:
        return None
    out = run_loops(u, a, b, None)
    if out is not None:
        return out
    out = wrapped(u.ufunc(a) if b is None else u.ufunc(a, b))
    return out if view_of(out, &w) == slot else None


cdef object called(Op op, object a, object b, uint32_t* flags):
    """The result of a compiled forward of two operands, None: declined. NODE_ASIDE means what it does to `binary`."""
    cdef object out = compiled(op, (a, b))
    if type(out) is tuple:
        flags[0] |= NODE_ASIDE
    return out


cdef object ordinary(NumpyOps self, Op op, object args):
    """The result of NumPy's own call."""
    cdef object out
    if fast_enabled():
        out = by_direct(op, args)
        if out is not None:
            return out
    if op.fast_kind == KIND_OPERATOR_POWER:
        return args[0] ** args[1]
    return Backend.call(self, op, args)


cdef inline object unary_of(NumpyOps self, Op op, object x, uint32_t* flags):
    cdef bint asked = flags[0] & NODE_ASIDE
    flags[0] = 0
    if not fast_enabled():
        return None
    if op.fast_rule != NULL:
        flags[0] = NODE_FAST
    if op.loops == NULL and not has_loops(op):
        return None
    if op.fast_kind != KIND_UNARY:
        if op.fast_kind == KIND_TABLE:
            return forward_of_table(op, x)
        if op.fast_kind == KIND_SCIPY:
            return by_scipy(op, x, None)
        if asked and op.fast_kind >= KIND_SINE:
            both = sines_of(op, x)
            if both is not None:
                flags[0] |= NODE_ASIDE
                return both
        if is_compiled(op):
            return compiled(op, (x,))
    if op.number_rule != NULL and not has_axes(x) and is_single(x):
        flags[0] |= NODE_NUMBER
    return unary_loop(<LoopSet*>op.loops, x, None)


cdef inline object binary_of(NumpyOps self, Op op, object a, object b, uint32_t* flags):
    cdef object out
    if not fast_enabled():
        return None
    if op.fast_rule != NULL:
        flags[0] |= NODE_FAST
    if op.loops == NULL and not has_loops(op):
        return None
    if op.fast_kind == KIND_BINARY:
        if (<LoopSet*>op.loops).single and not has_axes(a):
            out = single_number((<LoopSet*>op.loops).single, a, b)
            if out is not None:
                if op.number_rule != NULL:
                    flags[0] |= NODE_NUMBER
                return out
        return binary_loop(<LoopSet*>op.loops, a, b, None)
    if is_compiled(op):
        return called(op, a, b, flags)
    if op.fast_kind == KIND_SCIPY:
        return by_scipy(op, a, b)
    if op.fast_kind == KIND_POWER:
        out = power(a, b)
    elif op.fast_kind == KIND_OPERATOR_POWER:
        out = power_by_operator(a, b)
    else:
        return binary_loop(<LoopSet*>op.loops, a, b, None)
    if out is not None and op.number_rule != NULL and is_single(a) and (type(b) is int or type(b) is float):
        flags[0] |= NODE_NUMBER
    return out


cdef object call_of(NumpyOps self, Op op, object args):
    cdef object out
    if is_compiled(op) and op.n_arrays == 0 and fast_enabled():
        out = compiled(op, args)
        if out is not None:
            return out
    if not args or not fast_enabled() or is_captured() or not in_pool(args[0]):
        return ordinary(self, op, args)
    handler = swap_memory_handler()
    try:
        return ordinary(self, op, args)
    finally:
        swap_memory_handler(handler)


@cython.final
@cython.internal
cdef class Raw:
    """An operation on raw parameters, as a capture calls it again (Note [Captured kernels] in capture.hpp, (4))."""
    cdef NumpyOps ops
    cdef Op op

    def __cinit__(self, NumpyOps ops, Op op):
        self.ops, self.op = ops, op

    def __call__(self, *args):
        cdef object out = self.ops.wrap_raw(call_of(self.ops, self.op, args))
        if is_captured() and KIND_UNARY <= self.op.fast_kind <= KIND_BINARY and has_loops(self.op):
            noted_loop(<LoopSet*>self.op.loops, args, out)
        return out

    def __repr__(self):
        return self.op.name


cdef GradMeta number_meta(NumpyOps ops, object array):
    cdef GradMeta m = meta_of(ops, array)
    if m.typenum > LAST_NUMBER and m.typenum != HALF:
        ops.check(array)
    return m


cdef GradMeta test_meta(NumpyOps ops, object array, GradMeta like):
    """Metadata of a result that is not like its operand: what comparisons give is remembered with the operand's."""
    cdef GradMeta m
    cdef Section section
    section.begin(<PyObject*>like)          # another thread may be setting it
    m = like.bools
    section.end()
    if m is not None and fits(m, array):
        return m
    m = number_meta(ops, array)
    if m.typenum == BOOL:
        with cython.critical_section(like):
            like.bools = m
    return m


cdef class NumpyOps(Backend):
    """NumPy arrays, for the engine and for forward operations."""

    def __cinit__(self, *args, **kwargs):
        self.recycle = keep_for_reuse
        serve_single(self, drop_dead_tensors)
        self.scalars = True

    # What the engine asks

    cpdef GradMeta meta(self, object array):
        """Metadata of an ndarray. Refuses what holds no numbers, as `check`: no result may be such an array either."""
        return number_meta(self, array)

    cpdef bint matches(self, GradMeta meta, object grad) except -1:
        """Whether `grad` is an exact ndarray with the shape and dtype of `meta`, in native byte order."""
        return fits(meta, grad)

    cpdef object conform(self, GradMeta meta, object grad, bint realify):
        """`grad` as an ndarray that matches `meta`: summed over broadcast axes, cast.

        Raises
        ------
        InvalidGradient
            If the shape can't be reached by summing, or `grad` is complex, `meta` real and `realify` not set.
        """
        return _conform(meta, grad, realify)

    cpdef object add(self, object a, object b):
        """a + b, a new ndarray."""
        cdef object out = binary_loop(ADD, a, b, None) if fast_enabled() else None
        return wrapped(_add(a, b)) if out is None else out

    cpdef object add_into(self, object a, object b):
        """a + b in a's memory, which nobody else may hold; a new array where b does not fit into it."""
        cdef ArrayView va, vb
        cdef object out
        if not fast_enabled():
            return wrapped(_add(a, b))
        out = single_loop(ADD, a, b, a)
        if out is None:
            out = binary_loop(ADD, a, b, a)
        if out is not None:
            return out
        if view_of(a, &va) >= 0 and view_of(b, &vb) == va.slot and va.writeable and same_shape(&va, &vb):
            if noted_in_place(ADD, a, b):
                return a
            return _add(a, b, a)
        return wrapped(_add(a, b))

    cpdef bint exclusive(self, object grad) except -1:
        """Whether the caller's variable is the only reference to `grad`, and `grad` owns its (writeable) memory.

        For callers in C: one reference, held by the caller's variable. Passing it as an argument adds none.
        From Python 3.14 on Python's stack borrows references, but only from variables that count theirs, so whatever
        Python code still holds makes two. (An argument that Python code passed would not: tests/core/
        test_held_gradients.py.)
        """
        return held_once(grad)

    cpdef bint owns_memory(self, object raw) except -1:
        """Whether an array's memory is its own and no other array's."""
        return owns(raw)

    cpdef object clone(self, object array, object like):
        """A copy of `array` with the strides of `like` where that is dense and of the same shape, else row-major."""
        return cloned(array, like)

    cpdef bint has_nan(self, object grad) except -1:
        """Whether any element is NaN; False for dtypes that have none."""
        cdef ArrayView v
        cdef int slot = view_of(grad, &v)
        cdef bint found
        if slot >= 0 and (v.c_order or v.f_order):
            with nogil:
                if slot == SLOT_F64 or slot == SLOT_C128:
                    found = any_nan(<double*>v.data, v.size * (1 + (slot == SLOT_C128)))
                else:
                    found = any_nan(<float*>v.data, v.size * (1 + (slot == SLOT_C64)))
            return found
        if np.asarray(grad).dtype.kind not in "fc":
            return False
        return bool(np.isnan(grad).any())

    cdef bint begins_nonzero(self, object grad) noexcept:
        cdef ArrayView v
        cdef int slot = view_of(grad, &v)
        if slot < 0 or v.size == 0 or slot > SLOT_F64:
            return False
        return (<double*>v.data)[0] != 0 if slot == SLOT_F64 else (<float*>v.data)[0] != 0

    cpdef object zeros(self, GradMeta meta):
        """Zeros that match `meta`."""
        return zeros_for(meta)

    cpdef object ones(self, GradMeta meta):
        """Ones that match `meta`."""
        return ones_for(meta)

    cdef object number(self, double x):
        return new_number(x)

    cdef bint read_number(self, object grad, double* x) except -1:
        return read_number_array(grad, x)

    cdef object add_element(self, object held, GradMeta meta, uint64_t place, double x):
        return with_element(held, meta, place, x)

    cdef bint take_element(self, object held, uint64_t place, double* x) except -1:
        return element_taken(held, place, x)

    # What forward operations ask

    cdef object unary(self, Op op, object x, uint32_t* flags):
        """The result of a one-operand operation by direct loop, or None: declined.

        With NODE_ASIDE in the flags before and after: (the result, what the node keeps for its compiled rule).
        """
        out = unary_of(self, op, x, flags)
        return settled(out, Raw(self, op), (x,)) if is_captured() else out

    cdef object binary(self, Op op, object a, object b, uint32_t* flags):
        """The result of a two-operand operation by direct loop, or None: declined.

        With NODE_ASIDE in the flags: (the result, a list that the node keeps for its compiled rule).
        """
        out = binary_of(self, op, a, b, flags)
        return settled(out, Raw(self, op), (a, b)) if is_captured() else out

    cdef object call(self, Op op, object args):
        """Run the raw operation on raw parameters, given in order: compiled where there is one for them.

        What NumPy makes on its way and returns lives in the pool where the first operand is large.
        """
        return by_door(Raw(self, op), tuple(args)) if is_captured() else call_of(self, op, args)

    cpdef object write(self, object raw, object key, object value):
        """raw[key] = value; returns `raw`."""
        if not is_captured() or not noted_write(raw, key, value):
            raw[key] = value
        return raw

    cdef object forward(self, Op op, object raws):
        """Compiled forward of an operation on its raw parameters in order, None where there is none for them."""
        cdef object out
        if is_compiled(op) and fast_enabled():
            out = compiled(op, raws)
            return (<tuple>out)[0] if type(out) is tuple else out
        if op.fast_kind == KIND_TABLE and fast_enabled():
            return forward_of_table(op, raws[0])
        if op.fast_kind == KIND_DIRECT and fast_enabled():
            return by_direct(op, raws)
        return None

    cdef object promoted(self, object raw, GradMeta meta):
        """Small arrays of narrower numbers in the dtype that NumPy promotes them to, so that compiled rules serve them.

        NumPy's loops convert on their way; backward would again, in every rule.
        """
        return promoted_array(raw, meta.typenum) if fast_enabled() else raw

    cdef tuple leaving(self, Op op, object raws):
        """(the result, what the node keeps behind its parameters) by a compiled forward, None where it declines."""
        cdef object found = None
        if is_compiled(op) and fast_enabled():
            found = compiled(op, <tuple>raws + (True,))
        return None if found is None else <tuple>found

    cdef GradMeta meta_like(self, object raw, GradMeta a, GradMeta b):
        """Metadata of `raw`; that of an operand where it is the same."""
        if a is not None and fits(a, raw):
            return a
        if b is not None and fits(b, raw):
            return b
        return test_meta(self, raw, a) if a is not None and a.typenum != BOOL else number_meta(self, raw)

    cpdef object wrap_raw(self, object result):
        """A NumPy function's result with scalars as 0-d arrays, also inside tuples and lists."""
        if type(result) is _ndarray:
            return result
        if is_scalar(result):           # before any isinstance() that fails, which asks an object for its __class__
            return wrapped(result)
        if isinstance(result, _ndarray):
            return result
        if isinstance(result, tuple):
            items = [self.wrap_raw(r) for r in result]
            return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
        if isinstance(result, list):
            return [self.wrap_raw(r) for r in result]
        return result

    cpdef bint shares_memory(self, object a, object b) except -1:
        """Whether the memory bounds of two arrays overlap. May say yes for interleaved arrays, never no wrongly."""
        if isinstance(a, _ndarray) and isinstance(b, _ndarray):
            return bounds_overlap(a, b)
        from arraygrad.backends.memory import overlap       # a transfer may have given its memory to another library
        return overlap(a, b)

    cpdef bint same_layout(self, object grad, object like) except -1:
        """Whether `grad` has the strides that `clone(grad, like)` would give it."""
        return laid_out_as(grad, like)

    cpdef bint plain(self, object raw, Op op=None) except -1:
        """Whether compiled rules may be tried for a node with the result `raw`: an exact float32 or float64 ndarray.

        A complex one too, if the rule of `op` is made for those.
        """
        cdef ArrayView v
        cdef int slot = view_of(raw, &v)
        return fast_enabled() and slot >= 0 and (slot <= SLOT_F64 or op is not None and op.complex_rule)

    cpdef int check(self, object raw) except -1:
        """Refuse arrays that hold no numbers.

        Raises
        ------
        TypeError
            For object, string, date and structured dtypes.
        """
        if raw.dtype.kind not in "biufc":
            if raw.dtype.names:
                way = f"take one field of it, raw[{raw.dtype.names[0]!r}], as fields have no common dtype"
            elif raw.dtype.kind in "mM":
                way = "convert it, raw" if raw.dtype.kind == "m" else "convert differences, (raw - raw.flat[0])"
                way += " / numpy.timedelta64(1, 's')"
            elif raw.dtype.kind == "O":
                way = ("convert it, raw.astype(float), where each element is one number. (NumPy makes such an array of "
                       "None, text and objects among the numbers too)")
            else:
                way = "convert it, e.g. with raw.astype(float)"
            raise TypeError(f"a Tensor needs an array of numbers or booleans, but got dtype {raw.dtype}; {way}")
        return 0

    cdef uint64_t fingerprint(self, object raw, bint full) except? 0:
        return content_of(raw, full)

    cpdef int add_at(self, object raw, object key, object value) except -1:
        """Add `value` to raw[key] in place, once for every time an element is named."""
        if not fast_enabled() or bounds_overlap(raw, value) or not add_rows_at(raw, key, value):
            not_captured("sums at places")
            _add.at(raw, key, value)
        return 0

    def takes_lists(self):
        """True: lists beside an array become arrays."""
        return True

    cpdef unsigned long long owner(self, object raw) except? 0:
        """The address of what the memory of an ndarray belongs to."""
        return owner_address(raw)

    cpdef bint overlaps_itself(self, object raw) except -1:
        """Whether elements of an ndarray share memory, as in what as_strided and broadcast_to make."""
        return has_overlaps(raw)

    cpdef object scalar(self, object x):
        """A NumPy scalar as a 0-d array, which keeps its dtype; any other number as a Python float or complex."""
        if isinstance(x, (np.generic, _ndarray)):
            return np.asarray(x)
        if hasattr(x, "item"):
            return x.item()
        return complex(x) if isinstance(x, numbers.Complex) and not isinstance(x, numbers.Real) else float(x)

    cpdef object asarray(self, object obj, object dtype, object device):
        """`obj` as an ndarray of `dtype` (None: NumPy's choice), without a copy where it is one already.

        Raises
        ------
        ValueError
            If `device` is neither None nor "cpu".
        """
        if device is not None and device != "cpu":
            raise ValueError(f"asarray: NumPy arrays live on device 'cpu', but got device={device!r}: make the Tensor "
                             "of a CuPy array, or move it by arraygrad.to_backend(t, 'cupy')")
        if dtype is None:
            return np.asarray(obj)
        try:
            return np.asarray(obj, dtype=dtype)
        except TypeError as error:
            if type(dtype).__module__.partition(".")[0] == "numpy" or "interpret" not in str(error):
                raise
            raise TypeError(f"{error}: give a dtype of NumPy's, numpy.float32 or arraygrad.float32") from None


# Gradients that have to be made to match

cdef object _conform(GradMeta meta, object grad, bint realify):
    cdef tuple want, have
    cdef Py_ssize_t lead, i
    cdef ArrayView v
    if type(grad) is _ndarray and grad.dtype is meta.dtype and fast_enabled() and view_of(grad, &v) >= 0 \
            and added_whole(v.size):
        g = sum_to(grad, meta)
        if g is not None:
            return g
    want = meta.shape_tuple()
    if not isinstance(grad, (_ndarray, np.generic, int, float, complex)):
        raise InvalidGradient(f"expected an array, but got {type(grad).__name__}")
    g = np.asarray(grad)
    if g.dtype.kind not in "biufc":
        raise InvalidGradient(f"got dtype {g.dtype}, but expected one that casts to {meta.dtype}")
    have = g.shape
    if have != want:
        lead = len(have) - len(want)
        if lead < 0:
            raise InvalidGradient(_shape_text(have, want))
        axes = list(range(lead))
        for i in range(len(want)):
            if have[lead + i] != want[i]:
                if want[i] != 1:
                    raise InvalidGradient(_shape_text(have, want))
                axes.append(lead + i)
    if g.dtype.kind == "c" and not meta.is_complex:
        if not realify:
            raise InvalidGradient(f"got dtype {g.dtype}, but expected {meta.dtype}: a complex gradient for a real "
                                  f"value; take its real part where that is meant")
        g = g.real
    if have != want:
        if g.dtype.kind in "biu":
            g = g.astype(meta.dtype)
        g = _sum_over(g, axes).reshape(want)
    if g.dtype != meta.dtype:
        g = g.astype(meta.dtype)
    return g


cdef object _sum_over(object g, list axes):
    cdef unsigned long long mask = 0
    cdef object out = None
    if type(g) is _ndarray and g.ndim <= 8 and fast_enabled() and added_whole(g.size):
        for axis in axes:
            mask |= 1ULL << <int>axis
        out = reduce_by(ADD, g, mask, True)
    return wrapped(_add_reduce(g, axis=tuple(axes), keepdims=True)) if out is None else out


set_recycler(keep_for_reuse)


cdef str _shape_text(tuple have, tuple want):
    return f"got {list(have)} but expected shape compatible with {list(want)}"


# For tests

def try_loop(NumpyOps backend, Op op, *operands):
    """(result of an operation by direct loop or None: declined, whether its node may use a compiled rule)."""
    cdef uint32_t flags = 0
    cdef object out
    if len(operands) == 1:
        out = backend.unary(op, operands[0], &flags)
    else:
        out = backend.binary(op, operands[0], operands[1], &flags)
    return out, flags & NODE_FAST != 0


def try_call(Op op, tuple args):
    """The result of an operation by compiled forward for raw parameters in order, or None: declined, or none there."""
    if not fast_enabled():
        return None
    if op.fast_kind == KIND_TABLE:
        return forward_of_table(op, args[0])
    return compiled(op, args) if is_compiled(op) else None
