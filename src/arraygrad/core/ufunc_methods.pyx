# Methods of NumPy's ufuncs on Tensors, bound in C to the operation of the table that each is.
# May import: core.op, core.value, core.apply, core.views.
#
# `np.add.reduce(t)` is a sum, `np.add.accumulate(t)` a running sum, `np.multiply.outer(a, b)` a product of a reshaped
# operand. Served are recorded Tensors over real arrays of NumPy's that have elements, with an axis as an int, and no
# keyword beside axis and keepdims. Everything else is declined and takes the general path (numpy_api.ufuncs), errors
# among it.
# Guarded by tests/numpy_api/test_ufunc_methods.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from cpython.object cimport PyObject

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.core.apply cimport apply_op, binary
from arraygrad.core.op cimport Op, folding_op, named_op
from arraygrad.core.value cimport Backend, TensorBase, has_extra, is_tensor
from arraygrad.core.views cimport shape_op


cdef object ufunc_method(object ufunc, object method, Op op, PyObject** args, Py_ssize_t n, PyObject* names):
    """A method of a ufunc, which is `op` where it is called, with what stands from args[2] on.

    NotImplemented: declined.
    """
    if n < 3 or not op.n_arrays == 2:
        return NotImplemented
    if method == "outer":
        return outer(op, args, n, names)
    if not is_served(args[2]):
        return NotImplemented
    if method == "reduce":
        return reduced(folding_op(ufunc.__name__, "reduction"), args, n, names)
    if method == "accumulate":
        return accumulated(ufunc.__name__, args, n, names)
    return NotImplemented


cdef bint is_served(PyObject* x) noexcept:
    """Whether an operand is a recorded Tensor over a real array of NumPy's that has elements."""
    cdef GradMeta meta
    cdef int i
    if not is_tensor(<object>x) or not (<TensorBase>x).tracked or has_extra(<TensorBase>x):
        return False
    meta = (<TensorBase>x).value.meta
    if not (<Backend>meta.ops).scalars or not meta.is_floating or meta.is_complex or not 0 < meta.ndim <= 8:
        return False
    for i in range(meta.ndim):
        if meta.dims[i] == 0:
            return False
    return True


cdef bint read_axis(object axis, GradMeta meta, Py_ssize_t* found) except -1:
    """An axis counted from 0; False: no int, or no axis."""
    if not PyLong_CheckExact(axis) or not -8 <= axis < 8:
        return False
    found[0] = PyLong_AsSsize_t(axis)
    if found[0] < 0:
        found[0] += meta.ndim
    return 0 <= found[0] < meta.ndim


cdef object reduced(Op op, PyObject** args, Py_ssize_t n, PyObject* names):
    """ufunc.reduce(x, axis=0), and with keepdims."""
    cdef GradMeta meta = (<TensorBase>args[2]).value.meta
    cdef Py_ssize_t place = 0, i
    cdef bint keepdims = False
    cdef object axis = 0, key, value
    if op is None or n > 4:
        return NotImplemented
    if n == 4:
        axis = <object>args[3]
    for i in range(0 if names == NULL else len(<tuple>names)):
        key, value = (<tuple>names)[i], <object>args[n + i]
        if key == "axis" and n == 3:
            axis = value
        elif key == "keepdims" and (value is True or value is False):
            keepdims = value
        else:
            return NotImplemented
    if axis is not None:
        if not read_axis(axis, meta, &place):
            return NotImplemented
        axis = place
    if "dtype" in op.params:
        return apply_op(op, (<object>args[2], axis, None, keepdims))
    return apply_op(op, (<object>args[2], axis, keepdims))


cdef object accumulated(object name, PyObject** args, Py_ssize_t n, PyObject* names):
    """ufunc.accumulate(x, axis=0)."""
    cdef GradMeta meta = (<TensorBase>args[2]).value.meta
    cdef Py_ssize_t place = 0
    cdef object axis = 0
    cdef Op op = folding_op(name, "scan")
    if n == 4 and names == NULL:
        axis = <object>args[3]
    elif n == 3 and names != NULL and len(<tuple>names) == 1 and (<tuple>names)[0] == "axis":
        axis = <object>args[3]
    elif n != 3 or names != NULL:
        return NotImplemented
    if not read_axis(axis, meta, &place):
        return NotImplemented
    if op is not None:
        return apply_op(op, (<object>args[2], place, None, False))
    if (name == "maximum" or name == "minimum") and meta.ops.matches(meta, (<TensorBase>args[2]).value.raw) \
            and meta.dtype.char in "fd":
        return apply_op(named_op("_running_folds"), (<object>args[2], name, place))
    return NotImplemented


cdef object outer(Op op, PyObject** args, Py_ssize_t n, PyObject* names):
    """ufunc.outer(a, b) of Tensors and arrays of one dtype, one of which is recorded."""
    cdef object a, b
    cdef tuple shape
    cdef Py_ssize_t axes
    if n != 4 or names != NULL:
        return NotImplemented
    a, b = <object>args[2], <object>args[3]
    if is_served(args[2]):
        axes = axes_beside(b, (<TensorBase>a).value.meta)
        if axes < 0:
            return NotImplemented
        shape = (<TensorBase>a).value.meta.shape_tuple() + (1,) * axes
        return binary(op, shape_op(named_op("reshape"), (a, shape, None)), b)
    if not is_served(args[3]) or axes_beside(a, (<TensorBase>b).value.meta) < 0:
        return NotImplemented
    shape = (1,) * (<TensorBase>b).value.meta.ndim
    if is_tensor(a):
        shape = (<TensorBase>a).value.meta.shape_tuple() + shape
        return binary(op, shape_op(named_op("reshape"), (a, shape, None)), b)
    return binary(op, a.reshape(a.shape + shape), b)


cdef Py_ssize_t axes_beside(object x, GradMeta meta) except -2:
    """How many axes the other operand has, an array of NumPy's or a Tensor over one; -1: anything else."""
    cdef Backend backend = <Backend>meta.ops
    if is_tensor(x):
        return (<TensorBase>x).value.meta.ndim if (<TensorBase>x).value.meta.ops is backend else -1
    return x.ndim if type(x) is backend.array_type and x.dtype is meta.dtype else -1
