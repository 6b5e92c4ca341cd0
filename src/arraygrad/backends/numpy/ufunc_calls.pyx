# NumPy's functions on plain arrays without NumPy's Python wrappers: what the protocols run where nothing is recorded.
# May import: numpy (Python only), backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.ufunc_loops.
#
# Each has the parameters of NumPy's function and gives its values bit by bit (norm's as a 0-d array). What it does not
# serve goes to NumPy's implementation. Guarded by tests/numpy_api/test_overhead_paths.py.
from libc.math cimport sqrt

import numpy as np

from arraygrad.backends.numpy.ndarrays cimport ArrayView, cloned, has_axes, reshaped, view_of, wrapped
from arraygrad.backends.numpy.loops cimport SLOT_F64, fast_enabled, product_of
from arraygrad.backends.numpy.ufunc_loops cimport UfuncLoops, loops_of, run_loops

_norm = getattr(np.linalg.norm, "_implementation", np.linalg.norm)
_dot = getattr(np.dot, "_implementation", np.dot)
_copy = getattr(np.copy, "_implementation", np.copy)


def dot(a, b, out=None):
    """numpy.dot of plain arrays."""
    cdef ArrayView x, y
    if out is None and fast_enabled() and view_of(a, &x) >= 0 and view_of(b, &y) == x.slot:
        return product_of(a, b)
    return _dot(a, b, out)


def copy(a, order="K", subok=False):
    """numpy.copy of plain arrays."""
    cdef ArrayView v
    if order == "K" and fast_enabled() and view_of(a, &v) >= 0 and (v.c_order or v.f_order):
        return cloned(a, a)
    return _copy(a, order=order, subok=subok)


def norm(x, ord=None, axis=None, keepdims=False):
    """numpy.linalg.norm of plain arrays."""
    cdef ArrayView v
    cdef Py_ssize_t n
    cdef object out
    if ord is None and axis is None and keepdims is False and fast_enabled() and view_of(x, &v) == SLOT_F64 \
            and v.c_order:
        n = v.size
        if v.ndim != 1:
            x = reshaped(x, 1, &n)
        out = wrapped(product_of(x, x))
        if view_of(out, &v) == SLOT_F64 and v.ndim == 0:
            (<double*>v.data)[0] = sqrt((<double*>v.data)[0])
            return out
    return _norm(x, ord, axis, keepdims)


def by_loop(ufunc):
    """A ufunc of plain arrays, by direct loop (Note [Loops of any ufunc]) where there is one for them."""
    cdef UfuncLoops loops = loops_of(ufunc)
    if loops is None:
        return ufunc

    def of_one(x):
        cdef object out = run_loops(loops, x, None, None) if fast_enabled() and has_axes(x) else None
        return ufunc(x) if out is None else out

    def of_two(a, b):
        cdef object out = None
        if fast_enabled() and (has_axes(a) or has_axes(b)):     # NumPy gives scalars of others
            out = run_loops(loops, a, b, None)
        return ufunc(a, b) if out is None else out

    return of_one if loops.nin == 1 else of_two if loops.nin == 2 else ufunc
