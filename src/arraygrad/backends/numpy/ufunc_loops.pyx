# distutils: language = c++
# distutils: define_macros = NPY_TARGET_VERSION=NPY_2_0_API_VERSION
# Inner loops of ufuncs of up to three operands of several types and with several results: SciPy's, modf, divmod, ldexp.
# May import: numpy (as C and Python), backends.numpy.lanes, backends.numpy.ndarrays, backends.numpy.loops.
#
# Note [Loops of any ufunc]
# ~~~~~~~~~~~~~~~~~~~~~~~~~
# What Note [Direct loops] in loops.pyx does for operands of one dtype, with fewer layouts and more types: float32,
# float64 and C's int and long. Served are arrays of exactly the types of one of the ufunc's loops, dense in one order
# and of one shape, single elements beside them, and Python numbers, which adopt the types of that loop. Everything else
# is declined. Duties:
# (1) Floating-point errors are those of the loop, reported in the ufunc's name. The x87 unit is asked too: SciPy's code
#     is in several languages.
# (2) SciPy's loops may raise: a warning that is an error, scipy.special.errstate. That is looked for after each loop,
#     and no loop is shared by threads, whose exceptions would be lost.
# (3) Trust: each loop is run against the ufunc once, when it is first asked for; one that differs is never used.
# Guarded by tests/backends/test_ufunc_loops.py.
from cpython.exc cimport PyErr_Occurred
from cpython.long cimport PyLong_CheckExact
cimport numpy as cnp
from numpy cimport PyArray_CheckExact, PyArray_ISBEHAVED_RO, PyArray_TYPE, ndarray

import sys

import numpy as np

from arraygrad.backends.numpy.lanes cimport small_row_major
from arraygrad.backends.numpy.ndarrays cimport ArrayView, empty_c, empty_dense, same_shape, view_of
from arraygrad.backends.numpy.loops cimport SLOT_F32, SLOT_F64, read_number, report
from arraygrad.engine.node import keep_for_ever

cdef extern from "inner_loops.hpp" namespace "arraygrad" nogil:
    void fp_begin(bint everywhere) noexcept
    int fp_end(bint everywhere) noexcept

cdef extern from "numpy/ufuncobject.h":
    ctypedef struct PyUFuncObject:
        int nin, nout, nargs, ntypes
        void** functions
        const void* const* data
        const char* types
        const char* name

cnp.import_array()

cdef enum:
    LONG_LOOP = 500         # elements, from which on NumPy gives up the GIL
    LIMIT = 1 << 30         # Python ints within it fit every type of integers that loops have

cdef enum Trust:
    REFUSED = -1
    UNKNOWN = 0
    GIVEN = 1


cdef object _int = np.zeros(0, np.intc)


cdef UfuncLoops loops_of(object ufunc, object reference=None):
    """The loops of a ufunc, of which `reference` (None: the ufunc) gives the values. None: none that can be called."""
    cdef UfuncLoops u
    cdef PyUFuncObject* f = <PyUFuncObject*>ufunc
    cdef int k, i
    if type(ufunc) is not np.ufunc or ufunc.signature is not None or ufunc.nargs > MOST_OPERANDS or ufunc.nout > 2:
        return None
    u = UfuncLoops.__new__(UfuncLoops)
    u.ufunc = ufunc
    u.reference = ufunc if reference is None else reference
    u.nin, u.nout, u.name = f.nin, f.nout, f.name
    for k in range(f.ntypes):
        if u.n_loops == MOST_LOOPS or not is_served(f.types + k * f.nargs, f.nin, f.nargs):
            continue
        for i in range(f.nargs):
            u.types[u.n_loops][i] = f.types[k * f.nargs + i]
        u.fn[u.n_loops] = <loop_fn>f.functions[k]
        u.data[u.n_loops] = <void*>f.data[k] if f.data != NULL else NULL
        u.n_loops += 1
    keep_for_ever(u, u.ufunc, u.reference)
    return u


cdef bint is_served(const char* types, int nin, int nargs) noexcept:
    """Whether operands are of types that are told apart here, at least one of them floating."""
    cdef int i
    cdef bint floating = False
    for i in range(nargs):
        if types[i] == cnp.NPY_FLOAT or types[i] == cnp.NPY_DOUBLE:
            floating = floating or i < nin
        elif types[i] != cnp.NPY_INT and types[i] != cnp.NPY_LONG:
            return False
    return floating


cdef bint number_as(object number, int typenum, char* storage) except -1:
    """A Python number as one element of a type. False: no number, or none that fits there silently."""
    if typenum == cnp.NPY_DOUBLE or typenum == cnp.NPY_FLOAT:
        return read_number(number, SLOT_F64 if typenum == cnp.NPY_DOUBLE else SLOT_F32, storage)
    if not PyLong_CheckExact(number) or not -LIMIT < number < LIMIT:
        return False
    if typenum == cnp.NPY_INT:
        (<int*>storage)[0] = <int>number
    elif typenum == cnp.NPY_LONG:
        (<long*>storage)[0] = <long>number
    else:
        return False
    return True


cdef object run_loops(UfuncLoops u, object a, object b, object c):
    """The ufunc of its operands (those beyond them are not looked at); None: declined, nothing was done."""
    cdef int k
    for k in range(u.n_loops):
        if u.trusted[k] != REFUSED and takes(u, k, 0, a) and (u.nin < 2 or takes(u, k, 1, b)) \
                and (u.nin < 3 or takes(u, k, 2, c)):
            if u.trusted[k] == UNKNOWN:
                u.trusted[k] = GIVEN if agrees(u, k) else REFUSED
                if u.trusted[k] == REFUSED:
                    return None
            return run_loop(u, k, a, b, c)
    return None


cdef inline bint takes(UfuncLoops u, int k, int i, object x) noexcept:
    """Whether a loop may take `x` as its i-th operand: an array of that type, or a number that is looked at later."""
    if PyArray_CheckExact(x):
        return PyArray_TYPE(<ndarray>x) == u.types[k][i]
    return type(x) is float and (u.types[k][i] == cnp.NPY_DOUBLE or u.types[k][i] == cnp.NPY_FLOAT) or type(x) is int


cdef object run_loop(UfuncLoops u, int k, object a, object b, object c):
    """One of the ufunc's loops on operands that it takes. None: declined."""
    cdef ArrayView view[MOST_OPERANDS]
    cdef Py_ssize_t steps[MOST_OPERANDS]
    cdef char* data[MOST_OPERANDS]
    cdef double number[MOST_OPERANDS]
    cdef Py_ssize_t n
    cdef int i, errors, like = -1
    cdef bint floating = False              # numbers beside integers alone would be float64 to NumPy
    cdef object x, first, second = None
    for i in range(u.nin):
        x = a if i == 0 else b if i == 1 else c
        if not PyArray_CheckExact(x):
            if not number_as(x, u.types[k][i], <char*>&number[i]):
                return None
            view[i].data = <char*>&number[i]
            view[i].size = 1
            view[i].ndim = -1               # not the shape of any array
            continue
        if not PyArray_ISBEHAVED_RO(<ndarray>x):
            return None
        if view_of(x, &view[i]) >= 0:
            floating = True
        if not (view[i].c_order or view[i].f_order):
            return None
        if like < 0 or view[i].size > view[like].size or view[i].size == view[like].size \
                and view[i].ndim > view[like].ndim:
            like = i
    if like < 0 or not floating:
        return None
    for i in range(u.nin):
        data[i] = view[i].data
        if view[i].ndim < 0:
            steps[i] = 0
        elif same_shape(&view[i], &view[like]):
            if not (view[i].c_order and view[like].c_order or view[i].f_order and view[like].f_order):
                return run_in_rows(u, k, a, b, c)
            steps[i] = size_of_type(u.types[k][i])
        elif view[i].size == 1 and view[i].ndim <= view[like].ndim:
            steps[i] = 0
        else:
            return None
    n = view[like].size
    x = a if like == 0 else b if like == 1 else c
    first = result_like(x, u.types[k][u.nin])
    data[u.nin] = cnp.PyArray_BYTES(<ndarray>first)
    steps[u.nin] = size_of_type(u.types[k][u.nin])
    if u.nout == 2:
        second = result_like(x, u.types[k][u.nin + 1])
        data[u.nin + 1] = cnp.PyArray_BYTES(<ndarray>second)
        steps[u.nin + 1] = size_of_type(u.types[k][u.nin + 1])
    if n == 0:
        errors = 0
    elif n < LONG_LOOP:
        fp_begin(True)
        u.fn[k](data, &n, steps, u.data[k])
        errors = fp_end(True)
    else:
        with nogil:
            fp_begin(True)
            u.fn[k](data, &n, steps, u.data[k])
            errors = fp_end(True)
    raise_pending()                                                 # (2)
    report(u.name, errors)
    return first if second is None else (first, second)


cdef object run_in_rows(UfuncLoops u, int k, object a, object b, object c):
    """`run_loop` of small operands of both orders as row-major ones: NumPy's result is so too. None: declined."""
    cdef list rows = []
    cdef object x
    for x in (a, b, c)[:u.nin]:
        if PyArray_CheckExact(x):
            x = small_row_major(x)
            if x is None:
                return None
        rows.append(x)
    return run_loop(u, k, rows[0], rows[1], rows[2] if u.nin > 2 else None)


cdef inline int size_of_type(int typenum) noexcept:
    return 8 if typenum == cnp.NPY_DOUBLE else sizeof(long) if typenum == cnp.NPY_LONG else 4


cdef object result_like(object like, int typenum):
    """An uninitialised array with the shape and order of a dense one."""
    cdef ndarray a = <ndarray>like
    if PyArray_TYPE(a) == typenum:
        return empty_dense(like)
    if typenum == cnp.NPY_INT and cnp.PyArray_IS_C_CONTIGUOUS(a):
        return empty_c(_int, cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a))
    return cnp.PyArray_EMPTY(cnp.PyArray_NDIM(a), cnp.PyArray_DIMS(a), typenum, not cnp.PyArray_IS_C_CONTIGUOUS(a))


cdef int raise_pending() except -1:
    """Raise the exception that a loop has set, if any."""
    return -1 if PyErr_Occurred() != NULL else 0


# (3)

cdef bint agrees(UfuncLoops u, int k) except -1:
    """Whether a loop gives what the ufunc's reference gives: 19 elements, some outside of many functions' domains."""
    cdef int i
    cdef list given = [probe(u.types[k][i], i == u.nin - 1) for i in range(u.nin)]
    special = sys.modules.get("scipy.special")
    try:
        with np.errstate(all="ignore"):
            if special is None:
                return same_values(u, k, given)
            with special.errstate(all="ignore"):
                return same_values(u, k, given)
    except Exception:
        return False


cdef bint same_values(UfuncLoops u, int k, list given) except -1:
    cdef int i
    for i in range(-1, u.nin if u.nin > 1 else 0):
        operands = [x[1:2] if place == i else x for place, x in enumerate(given)]   # one element beside arrays
        padded = operands + [None] * (3 - u.nin)
        got, expected = run_loop(u, k, padded[0], padded[1], padded[2]), u.reference(*operands)
        if type(expected) is not tuple:
            got, expected = (got,), (expected,)
        for one, other in zip(got, expected, strict=True):
            if one is None or one.dtype != other.dtype or one.tobytes() != other.tobytes():
                return False
    return True


cdef object probe(int typenum, bint last):
    """Numbers from -2 to 3 for the last operand, from 1 to 4 without fractions (orders) for the others."""
    dtype = <object>cnp.PyArray_DescrFromType(typenum)
    return (np.arange(19) * (5.0 / 18.0) - 2.0 if last else 1.0 + np.arange(19) % 4).astype(dtype)


# For tests

def dtypes_of(ufunc, reference=None):
    """The operand types, as letters, of the loops of a ufunc that are called directly."""
    cdef UfuncLoops u = loops_of(ufunc, reference)
    cdef int k, i
    found = []
    if u is not None:
        for k in range(u.n_loops):
            if agrees(u, k):
                found.append("".join([np.dtype(<object>cnp.PyArray_DescrFromType(u.types[k][i])).char
                                      for i in range(u.nin)]))
    return found


def call(ufunc, *operands):
    """The ufunc by its loop, None where that is declined."""
    cdef UfuncLoops u = loops_of(ufunc)
    given = operands + (None,) * (3 - len(operands))
    return None if u is None else run_loops(u, given[0], given[1], given[2])
