# distutils: language = c++
# distutils: define_macros = NPY_TARGET_VERSION=NPY_2_0_API_VERSION
# NumPy's inner loops for the compiled half of the NumPy backend. It, `ndarrays`, `contents` and `ufunc_loops` know
# NumPy's C API; the others use what they export.
# May import: numpy (as C and Python), engine.arrayops, engine.sharing, core.op, backends.numpy.ndarrays.
#
# Note [Direct loops]
# ~~~~~~~~~~~~~~~~~~~
# On small arrays four fifths of a ufunc call are dispatch: 245 ns for a sum of two numbers, 56 when the ufunc's own
# inner loop (public in PyUFuncObject) is called on an uninitialised result. So operands that a loop can walk as one
# dense run take it, and everything else is declined (None) and takes NumPy's ordinary call. Duties that come with it:
# (1) Operands: exact ndarrays, aligned, native byte order, one dtype out of float32, float64, complex64, complex128,
#     of one shape and layout; or one operand is a single element that broadcasts to the other's shape; or it is a
#     Python number, which adopts the array's dtype (NEP 50) unless it does not fit there; or one operand repeats for,
#     or is constant in, each row of the other. (1b) A loop may look at its steps, so they are those of NumPy's call.
# (2) Floating-point errors: status bits are cleared before and read after the loop, as NumPy does, and handed to
#     NumPy's own PyUFunc_GiveFloatingpointErrors, so np.errstate decides and the texts are NumPy's.
# (3) Trust: each loop is run against its ufunc once, when it is first asked for; one that differs is never used.
# (4) The GIL is released where the loop is long enough (NOGIL_SIZE) to pay for it; much longer ones may be shared by
#     several threads (Note [Shared kernels]).
# (5) Results live in the memory pool (memory_pool.hpp).
# Guarded by tests/backends/test_fast_paths.py.
from libc.math cimport isinf
from cpython.complex cimport PyComplex_CheckExact, PyComplex_ImagAsDouble, PyComplex_RealAsDouble
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
cimport cython
cimport numpy as cnp
from numpy cimport (
    NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE, PyArray_BYTES, PyArray_CheckExact, PyArray_DIM, PyArray_DIMS,
    PyArray_FLAGS, PyArray_ITEMSIZE, PyArray_NDIM, PyArray_TYPE, ndarray, npy_intp,
)

import warnings

import numpy as np

from arraygrad.backends.numpy.c_api cimport (
    PyLong_AsLongLongAndOverflow, PyUFunc_GiveFloatingpointErrors, matrix_product, type_of_slot, plain_slot, dense_slot,
    is_run, same_dims, aligned_runs, single_step, single_steps, size_of, is_repeated, row_pattern, Blocks,
    block_pattern, new_array,
)
from arraygrad.backends.numpy.ndarrays cimport memory_handler, new_number, reshaped
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.sharing cimport Team, team
from arraygrad.core.op cimport Op

cdef extern from "arrays.hpp" namespace "arraygrad":
    struct NumpyLoop:
        pass
    void find_loops(cnp.ufunc u, LoopSet* s) noexcept
    void take_float_sines(LoopSet* s, NumpyLoop* numpys) except +
    void find_products(cnp.ufunc u, LoopSet* s) noexcept
    int share_blocks(const LoopSet* s, int slot, const Blocks& p, const char* a, const char* b, char* out,
                     char* room) noexcept
    bint split_middle(ndarray a, unsigned long long mask, npy_intp* groups, Rows* r) noexcept
    bint number_of(object x, double* number) noexcept
    bint single_result(int code, double x, double y, double* out) noexcept
    int run_matmul(Team* team, const LoopSet* s, ndarray a, ndarray b, ndarray out, int turned) except -1

cnp.import_array()
cnp.import_ufunc()
cdef long long MAX_EXACT_INT = 1LL << 53    # up to here integers are exact as float64; larger ones are left to NumPy
cdef bint _fast = True
cdef LoopSet _matmul
find_products(<cnp.ufunc?>np.matmul, &_matmul)
# What NumPy begins a sum with: the sum of -0.0 alone is 0.0 or -0.0.
cdef double SUM_START = np.add.reduce(np.array([-0.0]))
cdef object _sum_start = SUM_START


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


# Direct loops

cdef int report_errors(const char* name, int errors) except -1:
    PyUFunc_GiveFloatingpointErrors(name, errors)
    return 0


cdef bint read_number(object number, int slot, char* value) except -1:
    """A Python number as one element of the slot's dtype. False: no number, or none that fits there silently."""
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


cdef inline int result_type(const LoopSet* loops, int slot) noexcept:
    return cnp.NPY_BOOL if loops.to_bool else type_of_slot(slot)


cdef object unary_loop(const LoopSet* loops, object x, object out):
    """A unary ufunc of `x` by direct loop, into `out` (an array like x that may be x itself) or a new array.

    None: declined, nothing was done.
    """
    cdef ndarray a
    cdef ndarray result
    cdef npy_intp n
    cdef int slot
    if not PyArray_CheckExact(x):
        return None
    a = <ndarray>x
    slot = dense_slot(a)
    if slot < 0 or loops.fn[slot] == NULL:
        return None
    if out is None:
        result = <ndarray>new_array(memory_handler, PyArray_NDIM(a), PyArray_DIMS(a), result_type(loops, slot),
                                    not PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS)
    else:
        result = <ndarray>out
        if loops.to_bool or result is not a and (dense_slot(result) != slot or not aligned_runs(a, result)):
            return None
        if not PyArray_FLAGS(result) & NPY_ARRAY_WRITEABLE:
            return None
    n = size_of(a)
    report(loops.name, share_unary(team, loops, slot, PyArray_BYTES(a), PyArray_ITEMSIZE(a) if n != 1 else
                                   single_step(a), PyArray_BYTES(result), PyArray_ITEMSIZE(result), n))
    return result


cdef object binary_loop(const LoopSet* loops, object a, object b, object out):
    """A binary ufunc of `a` and `b` by direct loop, into `out` (which may be a or b) or a new array.

    None: declined, nothing was done.
    """
    cdef double number[2]
    cdef ndarray like
    cdef ndarray result
    cdef npy_intp n, outer, item, sa, sb
    cdef int slot
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
                elif loops.fn[slot] == NULL:
                    return None
                elif row_pattern(like, <ndarray>b, &outer, &n):
                    return _by_rows(loops, slot, <ndarray>a, <ndarray>b, True, outer, n, out)
                elif row_pattern(<ndarray>b, like, &outer, &n):
                    return _by_rows(loops, slot, <ndarray>a, <ndarray>b, False, outer, n, out)
                else:
                    return _by_blocks(loops, slot, like, <ndarray>b) if out is None else None
        else:
            if not is_run(like) or not read_number(b, slot, <char*>number):
                return None
            pb = <char*>number
            sb = 0
    elif PyArray_CheckExact(b):
        slot = dense_slot(<ndarray>b)
        if slot < 0 or not read_number(a, slot, <char*>number):
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
        result = <ndarray>new_array(memory_handler, PyArray_NDIM(like), PyArray_DIMS(like), result_type(loops, slot),
                                    not PyArray_FLAGS(like) & NPY_ARRAY_C_CONTIGUOUS)
    else:
        if loops.to_bool or not PyArray_CheckExact(out):
            return None
        result = <ndarray>out
        if result is not like and (dense_slot(result) != slot or not aligned_runs(like, result)):
            return None
        if not PyArray_FLAGS(result) & NPY_ARRAY_WRITEABLE:
            return None
    n = size_of(like)
    po = PyArray_BYTES(result)
    item = PyArray_ITEMSIZE(result)
    if n == 1:                          # (1b)
        single_steps(a, b, &sa, &sb, &item)
    report(loops.name, share_binary(team, loops, slot, pa, sa, pb, sb, po, item, n))
    return result


cdef object _by_blocks(const LoopSet* loops, int slot, ndarray a, ndarray b):
    # Row-major operands that broadcast against each other over short rows (blocks.hpp).
    cdef Blocks p
    cdef ndarray result, room
    cdef npy_intp n
    if not block_pattern(a, b, &p):
        return None
    result = <ndarray>new_array(memory_handler, p.result_nd, p.result, result_type(loops, slot), 0)
    n = 2 * p.block
    room = <ndarray>new_array(memory_handler, 1, &n, type_of_slot(slot), 0)
    report(loops.name, share_blocks(loops, slot, p, PyArray_BYTES(a), PyArray_BYTES(b), PyArray_BYTES(result),
                                    PyArray_BYTES(room)))
    return result


cdef object _by_rows(const LoopSet* loops, int slot, ndarray a, ndarray b, bint first, npy_intp outer, npy_intp inner,
                     object out):
    # A row-major operand and one that repeats for each of its rows (inner > 0) or is constant in each (inner < 0).
    # `first`: a is the full one.
    cdef ndarray like = a if first else b
    cdef ndarray result
    if out is None:
        result = <ndarray>new_array(memory_handler, PyArray_NDIM(like), PyArray_DIMS(like), result_type(loops, slot), 0)
    elif not loops.to_bool and out is like and PyArray_FLAGS(like) & NPY_ARRAY_WRITEABLE:
        result = like
    else:
        return None
    report(loops.name, share_rows(team, loops, slot, PyArray_BYTES(a), PyArray_BYTES(b), first, PyArray_BYTES(result),
                                  outer, inner))
    return result


cdef inline bint add_axis(object axis, int ndim, unsigned long long* mask) except -1:
    cdef Py_ssize_t i
    if not PyLong_CheckExact(axis):
        return False
    i = PyLong_AsSsize_t(axis)
    if i < 0:
        i += ndim
    if not 0 <= i < ndim or (mask[0] >> i) & 1:
        return False
    mask[0] |= 1ULL << i
    return True


cdef bint axis_mask(object axis, int ndim, unsigned long long* mask) except -1:
    """Bits of the axes that `axis` (None, an int, a tuple of ints) names. False: something else, or no such axes."""
    mask[0] = 0
    if axis is None:
        mask[0] = (1ULL << ndim) - 1
        return True
    if type(axis) is not tuple:
        return add_axis(axis, ndim, mask)
    for item in <tuple>axis:
        if not add_axis(item, ndim, mask):
            return False
    return True


cdef bint split_axes(object x, unsigned long long mask, Rows* r) noexcept:
    """Split a dense ndarray into rows where the axes in `mask` end or (`leading`) begin. False: they do neither."""
    cdef ndarray a = <ndarray>x
    cdef int i, k = 0, nd = PyArray_NDIM(a)
    cdef unsigned long long first = mask & 1
    r.outer = r.inner = r.behind = 1
    if mask == 0 or nd == 0:
        return False
    if mask == (1ULL << nd) - 1:
        r.leading = False
        r.inner = size_of(a)
        return True
    if not PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS:
        return False
    while k < nd and ((mask >> k) & 1) == first:
        k += 1
    for i in range(nd):
        if i < k:
            r.outer *= PyArray_DIM(a, i)
        elif ((mask >> i) & 1) == first:
            return False
        else:
            r.inner *= PyArray_DIM(a, i)
    # One column is a row to numpy.add.reduce, which adds it pairwise.
    r.leading = first != 0 and r.inner != 1
    if first and r.inner == 1:
        r.outer, r.inner = 1, r.outer
    return True


cdef int reduced_dims(int ndim, const Py_ssize_t* dims, unsigned long long mask, bint keepdims,
                      Py_ssize_t* out) noexcept:
    """The shape `dims` reduced over the axes in `mask`, written to `out`; its number of axes."""
    cdef int i, n = 0
    for i in range(ndim):
        if keepdims or not (mask >> i) & 1:
            out[n] = 1 if (mask >> i) & 1 else dims[i]
            n += 1
    return n


cdef object reduce_by(const LoopSet* loops, object x, unsigned long long mask, bint keepdims):
    """Sum (`loops`: numpy.add's) of an exact ndarray over the axes in `mask`, in numpy.add.reduce's order.

    None: declined. Served are dense arrays reduced over all axes, and row-major ones over axes beside each other.
    """
    cdef ndarray a = <ndarray>x
    cdef ndarray result
    cdef npy_intp dims[8], groups = 1
    cdef Rows r
    cdef int slot = dense_slot(a), n_dims
    cdef double start[2]
    if slot < 0 or slot > SLOT_F64 or size_of(a) == 0 or loops.fn[slot] == NULL or PyArray_NDIM(a) > 8 \
            or not split_axes(a, mask, &r) and not split_middle(a, mask, &groups, &r):
        return None
    n_dims = reduced_dims(PyArray_NDIM(a), <const Py_ssize_t*>PyArray_DIMS(a), mask, keepdims, <Py_ssize_t*>dims)
    result = <ndarray>new_array(memory_handler, n_dims, dims, type_of_slot(slot), 0)
    read_number(_sum_start, slot, <char*>start)
    report("reduce", share_sum(team, loops, slot, PyArray_BYTES(a), PyArray_BYTES(result), r, <char*>start, groups))
    return result


cdef bint broadcast_mask(object array, GradMeta meta, unsigned long long* mask) noexcept:
    # Bits of the axes of an ndarray over which it has to be summed to the shape in `meta`. False: it can't be done so.
    cdef int i, lead = PyArray_NDIM(<ndarray>array) - meta.ndim
    if lead < 0 or PyArray_NDIM(<ndarray>array) > 8:
        return False
    mask[0] = (1ULL << lead) - 1
    for i in range(meta.ndim):
        if meta.dims[i] != PyArray_DIM(<ndarray>array, lead + i):
            if meta.dims[i] != 1:
                return False
            mask[0] |= 1ULL << (lead + i)
    return mask[0] != 0


cdef object sum_to(object x, GradMeta meta):
    """An exact ndarray summed over its broadcast axes to the shape in `meta`. None: declined."""
    cdef unsigned long long mask = 0
    cdef object out
    if not broadcast_mask(x, meta, &mask):
        return None
    out = reduce_by(_add, x, mask, True)
    return None if out is None else reshaped(out, meta.ndim, meta.dims)


cdef object sum_of_products(object x, object y, GradMeta meta):
    """x * y of two plain arrays of one shape, summed over broadcast axes to the shape in `meta`. None: declined."""
    cdef ndarray a = <ndarray>x, b = <ndarray>y, result, row
    cdef unsigned long long mask = 0
    cdef Rows r
    cdef int slot = dense_slot(a)
    cdef double start[2]
    if slot < 0 or slot > SLOT_F64 or dense_slot(b) != slot or not aligned_runs(a, b) or size_of(a) == 0 \
            or not broadcast_mask(a, meta, &mask) or not split_axes(a, mask, &r) \
            or _add.fn[slot] == NULL or _multiply.fn[slot] == NULL:
        return None
    result = <ndarray>new_array(memory_handler, meta.ndim, <npy_intp*>meta.dims, type_of_slot(slot), 0)
    row = result if r.leading else <ndarray>new_array(memory_handler, 1, <npy_intp*>&r.inner, type_of_slot(slot), 0)
    read_number(_sum_start, slot, <char*>start)
    report("multiply", share_product_sum(_add, _multiply, slot, PyArray_BYTES(a), PyArray_BYTES(b),
                                         PyArray_BYTES(result), r, <char*>start, PyArray_BYTES(row)))
    return result


cdef int set_forward(Op op, forward_ptr forward) except -1:
    """Let `forward` compute an operation on arrays of this backend."""
    op.loops = <void*>forward
    op.fast_kind = KIND_CALL
    return 0


cdef object single_number(int code, object a, object b):
    """A new array without axes of two numbers, of which one is such an array of float64. None: declined."""
    cdef double x, y, r
    if is_captured() or not number_of(a, &x) or not number_of(b, &y) or not single_result(code, x, y, &r):
        return None
    return new_number(r)


cdef object product_of(object a, object b):
    """numpy.dot of two plain arrays of one dtype."""
    return matrix_product(team, a, b, NULL)


cdef bint has_products(int slot) noexcept:
    """Whether numpy.matmul's loop for a dtype is known: `dot` takes stacks of matrices then."""
    return _matmul.fn[slot] != NULL


cdef object dot(object a, object b, int turned=0):
    """Matrix product of plain arrays of one dtype by numpy.matmul's loop: vectors, matrices, and stacks of matrices
    with the same leading axes, or a stack and one matrix. `turned` (of matrices) as in run_matmul."""
    cdef ndarray x = <ndarray>a, y = <ndarray>b
    cdef npy_intp dims[8]
    cdef int i, nd = 0
    for i in range(PyArray_NDIM(x) - 2):
        dims[nd] = PyArray_DIM(x, i)
        nd += 1
    if PyArray_NDIM(x) > 1:
        dims[nd] = PyArray_DIM(x, PyArray_NDIM(x) - (1 if turned & 1 else 2))
        nd += 1
    if PyArray_NDIM(y) > 1:
        dims[nd] = PyArray_DIM(y, PyArray_NDIM(y) - (2 if turned & 2 else 1))
        nd += 1
    cdef object out = new_array(memory_handler, nd, dims, PyArray_TYPE(x), False)
    report("matmul", run_matmul(team, &_matmul, x, y, <ndarray>out, turned))
    return out


# Finding the loops

@cython.internal
cdef class FoundLoops:
    cdef LoopSet loops
    cdef object ufunc                   # which `loops` borrows
    cdef NumpyLoop replaced             # of float32, where `loops` has ours in its place

cdef dict _found = {}                   # (name of the ufunc, real) -> FoundLoops; what is there stays


cdef LoopSet* loop_set(str ufunc, bint real=False) except NULL:
    """The loops of a ufunc by its NumPy name, found and checked at the first call. `real`: none for complex dtypes."""
    cdef tuple key = (ufunc, real)
    cdef FoundLoops found = <FoundLoops>_found.get(key)
    cdef int slot
    cdef list differing = []
    if found is not None:
        return &found.loops
    found = FoundLoops.__new__(FoundLoops)
    found.ufunc = <cnp.ufunc?>getattr(np, ufunc)
    find_loops(<cnp.ufunc>found.ufunc, &found.loops)
    if real:
        found.loops.fn[<int>SLOT_C64] = found.loops.fn[<int>SLOT_C128] = NULL
    with np.errstate(all="ignore"):
        for slot in range(N_SLOTS):
            if found.loops.fn[slot] != NULL and not _agrees(&found.loops, slot, found.ufunc):
                found.loops.fn[slot] = NULL
                differing.append(np.dtype("fdFD"[slot]))
    take_float_sines(&found.loops, &found.replaced)
    found = <FoundLoops>_found.setdefault(key, found)       # of several threads here the first counts, for everybody
    for dtype in differing:
        warnings.warn(f"the inner loop of numpy.{ufunc} for {dtype} differs from the ufunc; ordinary calls are used "
                      f"instead", RuntimeWarning)
    return &found.loops


cdef bint _agrees(const LoopSet* loops, int slot, object u) except -1:
    # 19 elements: enough for the vector part and the tail of every SIMD width, some outside the function's domain.
    x, y, one = _probes(slot)
    if u.nin == 1:
        pairs = [(unary_loop(loops, v, None), u(v)) for v in (x, one)]
    else:
        pairs = [(binary_loop(loops, v, w, None), u(v, w)) for v, w in ((x, y), (x, one), (one, y), (one, one))]
    return all([got is not None and got.tobytes() == expected.tobytes() for got, expected in pairs])


cdef dict _probe_arrays = {}            # slot -> what _agrees computes with


cdef tuple _probes(int slot):
    if slot not in _probe_arrays:
        x = (np.arange(19) * (5.0 / 18.0) - 2.0).astype("fdFD"[slot])
        _probe_arrays[slot] = (x, x[::-1].copy(), x[11:12])
    return _probe_arrays[slot]


cdef LoopSet* _add = loop_set("add")
cdef LoopSet* _multiply = loop_set("multiply")


# For tests

def loop_dtypes(str ufunc):
    """The dtypes (characters out of "fdFD") for which a ufunc has a direct loop."""
    return "".join(["fdFD"[slot] for slot in range(N_SLOTS) if loop_set(ufunc).fn[slot] != NULL])


def loop_agrees(str ufunc, str dtype, reference):
    """Whether the direct loop of a ufunc for a dtype gives what the ufunc `reference` gives."""
    return _agrees(loop_set(ufunc), "fdFD".index(dtype), reference)
