# distutils: language = c++
# distutils: define_macros = NPY_TARGET_VERSION=NPY_2_0_API_VERSION
# The compiled half of the NumPy backend: what the engine asks of arrays, and forward operations by direct inner loops.
# May import: numpy (as C and Python), engine.arrayops, engine.node, op, value.
#
# Note [Direct loops]
# ~~~~~~~~~~~~~~~~~~~
# On small arrays four fifths of a ufunc call are dispatch: 245 ns for a sum of two numbers, 56 when the ufunc's own
# inner loop (public in PyUFuncObject) is called on an uninitialised result. So operands that a loop can walk as one
# dense run take it, and everything else is declined (None) and takes NumPy's ordinary call. Duties that come with it:
# (1) Operands: exact ndarrays, aligned, native byte order, one dtype out of float32, float64, complex64, complex128,
#     of one shape and layout; or one operand is a single element that broadcasts to the other's shape; or it is a
#     Python number, which adopts the array's dtype (NEP 50) unless it does not fit there.
# (2) Floating-point errors: status bits are cleared before and read after the loop, as NumPy does, and handed to
#     NumPy's own PyUFunc_GiveFloatingpointErrors, so np.errstate decides and the texts are NumPy's.
# (3) Trust: each loop found is run against its ufunc once, at import; one that differs is never used.
# (4) The GIL is released where the loop is long enough (NOGIL_SIZE) to pay for it.
# Guarded by tests/ops/test_fast_paths.py.
from libc.math cimport isinf
from libc.stdint cimport uint32_t
from cpython.complex cimport PyComplex_CheckExact, PyComplex_ImagAsDouble, PyComplex_RealAsDouble
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.ref cimport Py_INCREF
cimport numpy as cnp
from numpy cimport (NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_OWNDATA, NPY_ARRAY_WRITEABLE, NPY_CORDER,
                    NPY_KEEPORDER, PyArray_BASE, PyArray_BYTES, PyArray_CheckExact, PyArray_CopyInto, PyArray_DATA,
                    PyArray_DESCR, PyArray_DIM, PyArray_DIMS, PyArray_EMPTY, PyArray_FLAGS, PyArray_ISNOTSWAPPED,
                    PyArray_ITEMSIZE, PyArray_MatrixProduct, PyArray_NDIM, PyArray_NewCopy, PyArray_Newshape,
                    PyArray_Transpose, PyArray_TYPE, PyArray_ZEROS, ndarray, npy_intp)

import numbers
import warnings

import numpy as np

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport NODE_FAST
from arraygrad.op cimport Op
from arraygrad.value cimport Backend

from arraygrad.engine.arrayops import InvalidGradient

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(object o)
    long long PyLong_AsLongLongAndOverflow(object o, int* overflow) except? -1

cdef extern from "numpy/ufuncobject.h":
    int PyUFunc_GiveFloatingpointErrors(const char* name, int errors) except -1

cdef extern from "numpy/arrayobject.h":
    bint PyTypeNum_ISCOMPLEX(int) nogil
    bint PyTypeNum_ISFLOAT(int) nogil
    ctypedef struct PyArray_Descr
    ctypedef struct PyTypeObject
    object PyArray_NewFromDescr(PyTypeObject* cls, PyArray_Descr* descr, int nd, npy_intp* dims, npy_intp* strides,
                                void* data, int flags, void* like)
    object PyArray_NewLikeArray(ndarray prototype, cnp.NPY_ORDER order, PyArray_Descr* descr, int subok)

cdef extern from "numpy_arrays.hpp" namespace "arraygrad" nogil:
    int type_of_slot(int slot) noexcept
    int plain_slot(ndarray a) noexcept
    int dense_slot(ndarray a) noexcept
    bint is_run(ndarray a) noexcept
    bint same_dims(ndarray a, ndarray b) noexcept
    bint aligned_runs(ndarray a, ndarray b) noexcept
    bint is_dense(ndarray a) noexcept
    bint same_strides(ndarray a, ndarray b) noexcept
    bint is_repeated(ndarray a) noexcept
    npy_intp size_of(ndarray a) noexcept
    int fill_view(ndarray a, ArrayView* v) noexcept
    bint memory_bounds(ndarray a, char** low, char** high) noexcept
    void find_loops(cnp.ufunc u, LoopSet* s) noexcept

cnp.import_array()
cnp.import_ufunc()

cdef enum:
    MAX_SETS = 96

cdef long long MAX_EXACT_INT = 1LL << 53    # up to here integers are exact as float64; larger ones are left to NumPy

cdef bint _fast = True
cdef LoopSet _sets[MAX_SETS]
cdef int _n_sets = 0
cdef dict _set_index = {}

_add = np.add
_reduce_add = np.add.reduce


def set_fast_paths(bint mode):
    """Turn direct loops and compiled rules on or off for the process; returns the mode before.

    Off, every operation is NumPy's own call and every gradient comes from the table's rule.
    """
    global _fast
    cdef bint previous = _fast
    _fast = mode
    return previous


cdef bint fast_enabled() noexcept:
    return _fast


cdef int view_of(object array, ArrayView* view) noexcept:
    """Fill `view` from an exact ndarray; returns its slot, or -1 for anything a loop can't read."""
    if not PyArray_CheckExact(array):
        return -1
    return fill_view(<ndarray>array, view)


cdef class NumpyOps(Backend):
    """NumPy arrays, for the engine and for forward operations."""

    # What the engine asks

    cpdef GradMeta meta(self, object array):
        """Metadata of an ndarray."""
        cdef GradMeta m = GradMeta.__new__(GradMeta)
        cdef ndarray a = <ndarray?>array
        cdef int i, nd = PyArray_NDIM(a), typenum = PyArray_TYPE(a)
        m.ops = self
        m.ndim = nd
        m.typenum = typenum
        m.is_complex = PyTypeNum_ISCOMPLEX(typenum)
        m.is_floating = PyTypeNum_ISFLOAT(typenum) or m.is_complex
        m.dtype = <object>PyArray_DESCR(a)
        if not PyArray_ISNOTSWAPPED(a):
            m.dtype = m.dtype.newbyteorder("=")
        if nd <= 8:
            for i in range(nd):
                m.dims[i] = PyArray_DIM(a, i)
        else:
            m._shape = array.shape
        return m

    cpdef bint matches(self, GradMeta meta, object grad) except -1:
        """Whether `grad` is an exact ndarray with the shape and dtype of `meta`, in native byte order."""
        return PyArray_CheckExact(grad) and _matches(meta, <ndarray>grad)

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
        cdef object out = binary_loop(&_sets[0], a, b, None)
        return _add(a, b, out=...) if out is None else out

    cpdef object add_into(self, object a, object b):
        """a + b in a's memory, which nobody else may hold; a new array where b does not fit into it."""
        cdef object out = binary_loop(&_sets[0], a, b, a)
        if out is not None:
            return out
        if PyArray_CheckExact(a) and PyArray_CheckExact(b) and PyArray_FLAGS(<ndarray>a) & NPY_ARRAY_WRITEABLE \
                and PyArray_TYPE(<ndarray>a) == PyArray_TYPE(<ndarray>b) and same_dims(<ndarray>a, <ndarray>b):
            return _add(a, b, a)
        return _add(a, b, out=...)

    cpdef bint exclusive(self, object grad) except -1:
        """Whether the caller's variable is the only reference to `grad`, and `grad` owns its (writeable) memory.

        For callers in C: one reference, held by the caller's variable. Passing it as an argument adds none.
        """
        if not PyArray_CheckExact(grad) or Py_REFCNT(grad) != 1:
            return False
        return PyArray_BASE(<ndarray>grad) == NULL and \
            (PyArray_FLAGS(<ndarray>grad) & (NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE)) == \
            (NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE)

    cpdef object clone(self, object array, object like):
        """A copy of `array` with the strides of `like` where that is dense and of the same shape, else row-major."""
        cdef ndarray src = <ndarray?>array
        cdef ndarray pattern
        cdef object out
        if isinstance(like, ndarray):
            pattern = <ndarray>like
            if not PyArray_FLAGS(pattern) & NPY_ARRAY_C_CONTIGUOUS and same_dims(src, pattern) and is_dense(pattern):
                Py_INCREF(<object>PyArray_DESCR(src))    # NewLikeArray steals it
                out = PyArray_NewLikeArray(pattern, NPY_KEEPORDER, <PyArray_Descr*>PyArray_DESCR(src), 0)
                np.copyto(out, src)
                return out
        if PyArray_CheckExact(array):
            return PyArray_NewCopy(src, NPY_CORDER)
        return np.array(array, order="C", subok=False)

    cpdef bint has_nan(self, object grad) except -1:
        """Whether any element is NaN; False for dtypes that have none."""
        cdef ndarray a
        cdef int slot
        cdef bint found
        if PyArray_CheckExact(grad):
            a = <ndarray>grad
            slot = dense_slot(a)
            if slot == SLOT_F64 or slot == SLOT_C128:
                with nogil:
                    found = any_nan(<double*>PyArray_BYTES(a), size_of(a) * (1 + (slot == SLOT_C128)))
                return found
            if slot >= 0:
                with nogil:
                    found = any_nan(<float*>PyArray_BYTES(a), size_of(a) * (1 + (slot == SLOT_C64)))
                return found
        if np.asarray(grad).dtype.kind not in "fc":
            return False
        return bool(np.isnan(grad).any())

    cpdef object zeros(self, GradMeta meta):
        """Zeros that match `meta`."""
        if meta.ndim <= 8:
            return PyArray_ZEROS(meta.ndim, <npy_intp*>meta.dims, meta.typenum, 0)
        return np.zeros(meta.shape_tuple(), meta.dtype)

    cpdef object ones(self, GradMeta meta):
        """Ones that match `meta`."""
        cdef object out
        if meta.ndim <= 8:
            out = PyArray_EMPTY(meta.ndim, <npy_intp*>meta.dims, meta.typenum, 0)
            if meta.typenum == cnp.NPY_DOUBLE and meta.ndim == 0:
                (<double*>PyArray_BYTES(<ndarray>out))[0] = 1.0
            elif meta.typenum == cnp.NPY_FLOAT and meta.ndim == 0:
                (<float*>PyArray_BYTES(<ndarray>out))[0] = 1.0
            else:
                (<ndarray>out).fill(1)
            return out
        return np.ones(meta.shape_tuple(), meta.dtype)

    # What forward operations ask

    cdef object unary(self, Op op, object x, uint32_t* flags):
        """The result of a one-operand operation by direct loop, or None: declined."""
        if op.loops == NULL or not _fast:
            return None
        if op.fast_rule != NULL:
            flags[0] |= NODE_FAST
        return unary_loop(<LoopSet*>op.loops, x, None)

    cdef object binary(self, Op op, object a, object b, uint32_t* flags):
        """The result of a two-operand operation by direct loop, or None: declined."""
        if not _fast:
            return None
        if op.fast_rule != NULL:
            flags[0] |= NODE_FAST
        if op.loops == NULL:
            return None
        if op.fast_kind == KIND_POWER and _is_two(b):
            # NumPy's loop for powers gives x * x as well, at a fifth of the speed.
            return unary_loop(&_square_as_power, a, None)
        return binary_loop(<LoopSet*>op.loops, a, b, None)

    cdef GradMeta meta_like(self, object raw, GradMeta a, GradMeta b):
        """Metadata of `raw`; that of an operand where it is the same."""
        if PyArray_CheckExact(raw):
            if a is not None and _matches(a, <ndarray>raw):
                return a
            if b is not None and _matches(b, <ndarray>raw):
                return b
        return self.meta(raw)

    cpdef object wrap_raw(self, object result):
        """A NumPy function's result with scalars as 0-d arrays, also inside tuples and lists."""
        if isinstance(result, ndarray):
            return result
        if isinstance(result, np.generic):
            return np.asarray(result)
        if isinstance(result, tuple):
            items = [self.wrap_raw(r) for r in result]
            return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
        if isinstance(result, list):
            return [self.wrap_raw(r) for r in result]
        return result

    cpdef bint shares_memory(self, object a, object b) except -1:
        """Whether the memory bounds of two arrays overlap. May say yes for interleaved arrays, never no wrongly."""
        cdef char* low_a
        cdef char* high_a
        cdef char* low_b
        cdef char* high_b
        if not isinstance(a, ndarray) or not isinstance(b, ndarray):
            return False
        if not memory_bounds(<ndarray>a, &low_a, &high_a) or not memory_bounds(<ndarray>b, &low_b, &high_b):
            return False
        return low_a < high_b and low_b < high_a

    cpdef bint same_layout(self, object grad, object like) except -1:
        """Whether `grad` has the strides that `clone(grad, like)` would give it."""
        cdef ndarray g = <ndarray?>grad
        cdef ndarray a = <ndarray?>like
        if not same_dims(g, a):
            return False
        if PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS or not is_dense(a):
            return PyArray_FLAGS(g) & NPY_ARRAY_C_CONTIGUOUS != 0
        return same_strides(g, a)

    cpdef bint plain(self, object raw) except -1:
        """Whether compiled rules may be tried for a node with the result `raw`: an exact float32 or float64 ndarray."""
        return _fast and PyArray_CheckExact(raw) and \
            (PyArray_TYPE(<ndarray>raw) == cnp.NPY_DOUBLE or PyArray_TYPE(<ndarray>raw) == cnp.NPY_FLOAT)

    cpdef int check(self, object raw) except -1:
        """Refuse arrays that hold no numbers.

        Raises
        ------
        TypeError
            For object, string, date and structured dtypes.
        """
        if (<ndarray?>raw).dtype.kind not in "biufc":
            raise TypeError(f"a Tensor needs an array of numbers or booleans, but got dtype {(<ndarray>raw).dtype}; "
                            f"convert it, e.g. with raw.astype(float)")
        return 0

    cpdef object scalar(self, object x):
        """A NumPy scalar as a 0-d array, which keeps its dtype; any other number as a Python float or complex."""
        if isinstance(x, (np.generic, ndarray)):
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
            raise ValueError(f"asarray: NumPy arrays live on device 'cpu', but got device={device!r}")
        return np.asarray(obj, dtype=dtype)


# Gradients that have to be made to match

cdef inline bint _matches(GradMeta meta, ndarray a) noexcept:
    cdef int i
    cdef npy_intp* dims
    if PyArray_TYPE(a) != meta.typenum or PyArray_NDIM(a) != meta.ndim or not PyArray_ISNOTSWAPPED(a):
        return False
    dims = PyArray_DIMS(a)
    if meta.ndim > 8:
        return _matches_large(meta, a)
    for i in range(meta.ndim):
        if dims[i] != meta.dims[i]:
            return False
    return True


cdef bint _matches_large(GradMeta meta, ndarray a) noexcept:
    cdef int i
    for i in range(meta.ndim):
        if PyArray_DIM(a, i) != <npy_intp>meta._shape[i]:
            return False
    return True


cdef object _conform(GradMeta meta, object grad, bint realify):
    cdef tuple want = meta.shape_tuple(), have
    cdef Py_ssize_t lead, i
    if not isinstance(grad, (ndarray, np.generic, int, float, complex)):
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
        g = np.asarray(_reduce_add(g, axis=tuple(axes), keepdims=True)).reshape(want)
    if g.dtype != meta.dtype:
        g = g.astype(meta.dtype)
    return g


cdef str _shape_text(tuple have, tuple want):
    return f"got {list(have)} but expected shape compatible with {list(want)}"


# Direct loops

cdef int report(const char* name, int errors) except -1:
    """Warn or raise for floating-point errors as np.errstate says, in the name of a ufunc."""
    PyUFunc_GiveFloatingpointErrors(name, errors)
    return 0


cdef inline bint _read_number(object number, int slot, char* value) except -1:
    # A Python number as one element of the slot's dtype. False: not a number that NumPy would take silently.
    cdef double re, im = 0.0
    cdef double* as_double = <double*>value
    cdef float* as_float = <float*>value
    cdef long long integer
    cdef int overflow = 0
    if PyFloat_CheckExact(number):
        re = PyFloat_AS_DOUBLE(number)
    elif PyLong_CheckExact(number):
        integer = PyLong_AsLongLongAndOverflow(number, &overflow)
        if overflow or integer > MAX_EXACT_INT or integer < -MAX_EXACT_INT:
            return False
        re = <double>integer
    elif PyComplex_CheckExact(number) and slot >= SLOT_C64:
        re = PyComplex_RealAsDouble(number)
        im = PyComplex_ImagAsDouble(number)
    else:
        return False
    if slot == SLOT_F64:
        as_double[0] = re
    elif slot == SLOT_C128:
        as_double[0] = re
        as_double[1] = im
    else:
        as_float[0] = <float>re
        if slot == SLOT_C64:
            as_float[1] = <float>im
            if isinf(as_float[1]) and not isinf(im):
                return False
        if isinf(as_float[0]) and not isinf(re):
            return False
    return True


cdef inline bint _is_two(object b) except -1:
    if PyLong_CheckExact(b):
        return b == 2
    return PyFloat_CheckExact(b) and PyFloat_AS_DOUBLE(b) == 2.0


cdef object unary_loop(const LoopSet* loops, object x, object out):
    """A unary ufunc of `x` by direct loop, into `out` (an array like x that may be x itself) or a new array.

    None: declined, nothing was done.
    """
    cdef ndarray a
    cdef ndarray result
    cdef npy_intp n
    cdef int slot, errors = 0
    cdef char* px
    cdef char* po
    if not PyArray_CheckExact(x):
        return None
    a = <ndarray>x
    slot = dense_slot(a)
    if slot < 0 or loops.fn[slot] == NULL:
        return None
    if out is None:
        result = <ndarray>PyArray_EMPTY(PyArray_NDIM(a), PyArray_DIMS(a), type_of_slot(slot),
                                        not PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS)
    else:
        result = <ndarray>out
        if result is not a and (dense_slot(result) != slot or not aligned_runs(a, result)):
            return None
        if not PyArray_FLAGS(result) & NPY_ARRAY_WRITEABLE:
            return None
    n = size_of(a)
    px = PyArray_BYTES(a)
    po = PyArray_BYTES(result)
    if n < NOGIL_SIZE:
        if n:
            errors = run_unary(loops, slot, px, po, PyArray_ITEMSIZE(a), n)
    else:
        with nogil:
            errors = run_unary(loops, slot, px, po, PyArray_ITEMSIZE(a), n)
    if errors:
        report(loops.name, errors)
    return result


cdef object binary_loop(const LoopSet* loops, object a, object b, object out):
    """A binary ufunc of `a` and `b` by direct loop, into `out` (which may be a or b) or a new array.

    None: declined, nothing was done.
    """
    cdef double number[2]
    cdef ndarray like
    cdef ndarray result
    cdef npy_intp n, item, sa, sb
    cdef int slot, errors = 0
    cdef char* pa
    cdef char* pb
    cdef char* po
    if PyArray_CheckExact(a):
        slot = plain_slot(<ndarray>a)
        if slot < 0:
            return None
        pa = PyArray_BYTES(<ndarray>a)
        sa = item = PyArray_ITEMSIZE(<ndarray>a)
        like = <ndarray>a
        if PyArray_CheckExact(b):
            if plain_slot(<ndarray>b) != slot:
                return None
            pb = PyArray_BYTES(<ndarray>b)
            sb = item
            if not aligned_runs(like, <ndarray>b):
                if PyArray_NDIM(<ndarray>b) <= PyArray_NDIM(like) and is_repeated(<ndarray>b) and is_run(like) \
                        and (size_of(<ndarray>b) == 1 or same_dims(<ndarray>b, like)):
                    sb = 0
                elif PyArray_NDIM(like) <= PyArray_NDIM(<ndarray>b) and is_repeated(like) and is_run(<ndarray>b) \
                        and (size_of(like) == 1 or same_dims(<ndarray>b, like)):
                    sa = 0
                    like = <ndarray>b
                else:
                    return None
        else:
            if not is_run(like) or not _read_number(b, slot, <char*>number):
                return None
            pb = <char*>number
            sb = 0
    elif PyArray_CheckExact(b):
        slot = dense_slot(<ndarray>b)
        if slot < 0 or not _read_number(a, slot, <char*>number):
            return None
        like = <ndarray>b
        item = sb = PyArray_ITEMSIZE(like)
        pa = <char*>number
        pb = PyArray_BYTES(like)
        sa = 0
    else:
        return None
    if loops.fn[slot] == NULL:
        return None
    if out is None:
        result = <ndarray>PyArray_EMPTY(PyArray_NDIM(like), PyArray_DIMS(like), type_of_slot(slot),
                                        not PyArray_FLAGS(like) & NPY_ARRAY_C_CONTIGUOUS)
    else:
        if not PyArray_CheckExact(out):
            return None
        result = <ndarray>out
        if result is not like and (dense_slot(result) != slot or not aligned_runs(like, result)):
            return None
        if not PyArray_FLAGS(result) & NPY_ARRAY_WRITEABLE:
            return None
    n = size_of(like)
    po = PyArray_BYTES(result)
    if n < NOGIL_SIZE:
        if n:
            errors = run_binary(loops, slot, pa, sa, pb, sb, po, item, n)
    else:
        with nogil:
            errors = run_binary(loops, slot, pa, sa, pb, sb, po, item, n)
    if errors:
        report(loops.name, errors)
    return result


# Arrays for compiled rules, which know no NumPy

cdef object empty_dense(object like):
    """An uninitialised array with the shape, dtype and order of a dense one."""
    cdef ndarray a = <ndarray>like
    return PyArray_EMPTY(PyArray_NDIM(a), PyArray_DIMS(a), PyArray_TYPE(a),
                         not PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS)


cdef object empty_c(object like, int ndim, const Py_ssize_t* dims):
    """An uninitialised row-major array with the dtype of `like` and a shape of its own."""
    return PyArray_EMPTY(ndim, <npy_intp*>dims, PyArray_TYPE(<ndarray>like), 0)


cdef object zeros_c(object like, int ndim, const Py_ssize_t* dims):
    """Row-major zeros with the dtype of `like` and a shape of its own."""
    return PyArray_ZEROS(ndim, <npy_intp*>dims, PyArray_TYPE(<ndarray>like), 0)


cdef object strided(object base, int ndim, const Py_ssize_t* dims, const Py_ssize_t* strides):
    """A read-only view of an array's first element with any shape and strides that stay within it."""
    cdef ndarray a = <ndarray>base
    cdef object view
    Py_INCREF(<object>PyArray_DESCR(a))     # NewFromDescr steals it
    view = PyArray_NewFromDescr(<PyTypeObject*>ndarray, <PyArray_Descr*>PyArray_DESCR(a), ndim, <npy_intp*>dims,
                                <npy_intp*>strides, PyArray_DATA(a), 0, NULL)
    cnp.set_array_base(<ndarray>view, a)
    return view


cdef int copy_into(object out, object source) except -1:
    """out[...] = source, of one shape and dtype."""
    return PyArray_CopyInto(<ndarray>out, <ndarray>source)


cdef object reshaped(object a, int ndim, const Py_ssize_t* dims):
    """`a` in row-major order with another shape: a view where one can be made."""
    cdef cnp.PyArray_Dims shape
    shape.ptr = <npy_intp*>dims
    shape.len = ndim
    return PyArray_Newshape(<ndarray>a, &shape, NPY_CORDER)


cdef object transposed(object a, const Py_ssize_t* axes):
    """A view of `a` with permuted axes; NULL: reversed."""
    cdef cnp.PyArray_Dims order
    if axes == NULL:
        return PyArray_Transpose(<ndarray>a, NULL)
    order.ptr = <npy_intp*>axes
    order.len = PyArray_NDIM(<ndarray>a)
    return PyArray_Transpose(<ndarray>a, &order)


cdef object dot(object a, object b):
    """Matrix product of arrays of one or two dimensions and one dtype, by BLAS."""
    cdef object out
    cdef int errors
    fp_begin()
    out = PyArray_MatrixProduct(a, b)
    errors = fp_end()
    if errors:
        report("matmul", errors)
    return out if PyArray_CheckExact(out) else np.asarray(out)


# Finding the loops

cdef enum:
    KIND_NONE = 0
    KIND_UNARY = 1
    KIND_BINARY = 2
    KIND_POWER = 3

# Operation of the table -> ufunc.
UNARY_LOOPS = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atanh": "arctanh", "ceil": "ceil", "cos": "cos", "cosh": "cosh", "exp": "exp", "expm1": "expm1", "floor": "floor",
    "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2", "negative": "negative",
    "reciprocal": "reciprocal", "round": "rint", "sign": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt",
    "square": "square", "tan": "tan", "tanh": "tanh", "trunc": "trunc",
}
BINARY_LOOPS = {
    "add": "add", "atan2": "arctan2", "copysign": "copysign", "divide": "divide", "hypot": "hypot",
    "logaddexp": "logaddexp", "maximum": "maximum", "minimum": "minimum", "multiply": "multiply",
    "subtract": "subtract",
}


cdef LoopSet* loop_set(str ufunc, bint real=False) except NULL:
    """The loops of a ufunc by its NumPy name, found and checked at the first call. `real`: none for complex dtypes."""
    global _n_sets
    cdef LoopSet* loops
    cdef object u
    cdef int slot
    key = (ufunc, real)
    if key in _set_index:
        return &_sets[<int>_set_index[key]]
    if _n_sets == MAX_SETS:
        raise RuntimeError(f"loop_set: no room for the loops of {ufunc}; raise MAX_SETS")
    u = <cnp.ufunc?>getattr(np, ufunc)
    Py_INCREF(u)                # for the life of the process
    loops = &_sets[_n_sets]
    find_loops(<cnp.ufunc>u, loops)
    if real:
        loops.fn[<int>SLOT_C64] = loops.fn[<int>SLOT_C128] = NULL
    _set_index[key] = _n_sets
    _n_sets += 1
    for slot in range(N_SLOTS):
        if loops.fn[slot] != NULL and not _agrees(loops, slot, u):
            loops.fn[slot] = NULL
            warnings.warn(f"the inner loop of numpy.{ufunc} for {np.dtype("fdFD"[slot])} differs from the ufunc; "
                          f"ordinary calls are used instead", RuntimeWarning)
    return loops


cdef bint _agrees(const LoopSet* loops, int slot, object u) except -1:
    # 19 elements: enough for the vector part and the tail of every SIMD width, some outside the function's domain.
    x = np.linspace(-2.0, 3.0, 19).astype("fdFD"[slot])
    y = x[::-1].copy()
    one = x[11:12]
    with np.errstate(all="ignore"):
        if u.nin == 1:
            pairs = [(unary_loop(loops, v, None), u(v)) for v in (x, one)]
        else:
            pairs = [(binary_loop(loops, v, w, None), u(v, w)) for v, w in ((x, y), (x, one), (one, y), (one, one))]
    for got, expected in pairs:
        if got is None or got.tobytes() != expected.tobytes():
            return False
    return True


# For tests

def loop_dtypes(str ufunc):
    """The dtypes (characters out of "fdFD") for which a ufunc has a direct loop."""
    cdef LoopSet* loops = loop_set(ufunc)
    return "".join(["fdFD"[slot] for slot in range(N_SLOTS) if loops.fn[slot] != NULL])


def loop_agrees(str ufunc, str dtype, reference):
    """Whether the direct loop of a ufunc for a dtype gives what the ufunc `reference` gives."""
    cdef LoopSet* loops = loop_set(ufunc)
    return _agrees(loops, "fdFD".index(dtype), reference)


def try_loop(NumpyOps backend, Op op, *operands):
    """(result of an operation by direct loop or None: declined, whether its node may use a compiled rule)."""
    cdef uint32_t flags = 0
    cdef object out
    if len(operands) == 1:
        out = backend.unary(op, operands[0], &flags)
    else:
        out = backend.binary(op, operands[0], operands[1], &flags)
    return out, flags & NODE_FAST != 0


def install(dict ops, backend=None):
    """Give the operations of the table (name -> Op) their direct loops.

    Operations that are not in the table are passed over. Returns the names of the operations that got loops.
    """
    cdef Op op
    cdef list done = []
    for table, kind in ((UNARY_LOOPS, KIND_UNARY), (BINARY_LOOPS, KIND_BINARY), ({"pow": "power"}, KIND_POWER)):
        for name, ufunc in table.items():
            if name in ops:
                op = ops[name]
                # Where the table repairs NumPy's values, it does so for complex arrays.
                op.loops = loop_set(ufunc, op.entry.forward is not None)
                op.fast_kind = kind
                done.append(name)
    return done


loop_set("add")                 # _sets[0], which the sums of gradients use
cdef LoopSet _square_as_power = loop_set("square")[0]
_square_as_power.name = "power"
