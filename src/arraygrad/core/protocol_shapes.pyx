# NumPy's functions of shape on Tensors, reductions, and products and norms of arrays alone: their arguments bound in C
# to one operation of the table, or to the few that the function is.
# May import: engine.*, core.op, core.value, core.nodes, core.apply, core.number_lists, core.views.
#
# Served are positional arguments of the commonest kinds: ints, tuples and lists of ints. Everything else is declined
# and takes the general path, errors among it. What an operation records, and that its result is a view, is the
# operation's own (apply.pyx); here nothing is computed.
# Guarded by tests/numpy_api/test_overhead_paths.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact

from arraygrad.core.apply cimport apply_op, binary, reversed_axes
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.core.number_lists cimport joined_numbers
from arraygrad.core.op cimport Op, named_op
from arraygrad.core.value cimport Backend, TensorBase, is_tensor, raw_now
from arraygrad.core.views cimport shape_op

cdef Op RESHAPE = None
cdef Op PERMUTE, SQUEEZE, EXPAND, BROADCAST, FLIP, DIAGONAL, MATMUL, NORM, VECTOR_NORM, MATRIX_NORM, TRACE
cdef Op SUM, MEAN, MAX, MIN, VAR, STD, INNER, CONVOLVE, CORRELATE, MESHGRID, SUBTRACT, EINSUM


cdef int find_operations() except -1:
    """Look up the operations, which the table does not have yet where this module is imported."""
    global RESHAPE, PERMUTE, SQUEEZE, EXPAND, BROADCAST, FLIP, DIAGONAL, MATMUL, NORM, VECTOR_NORM, MATRIX_NORM
    global TRACE, SUM, MEAN, MAX, MIN, VAR, STD, INNER, CONVOLVE, CORRELATE, MESHGRID, SUBTRACT, EINSUM
    if RESHAPE is not None:
        return 0
    PERMUTE, SQUEEZE, EXPAND = named_op("permute_dims"), named_op("squeeze"), named_op("expand_dims")
    BROADCAST, FLIP, DIAGONAL = named_op("broadcast_to"), named_op("flip"), named_op("diagonal")
    MATMUL, TRACE, MESHGRID = named_op("matmul"), named_op("trace"), named_op("meshgrid")
    INNER, CONVOLVE, CORRELATE = named_op("_inner"), named_op("_convolve"), named_op("_correlate")
    NORM, VECTOR_NORM, MATRIX_NORM = named_op("norm"), named_op("vector_norm"), named_op("matrix_norm")
    SUM, MEAN, MAX, MIN = named_op("sum"), named_op("mean"), named_op("max"), named_op("min")
    VAR, STD, SUBTRACT = named_op("var"), named_op("std"), named_op("subtract")
    EINSUM = named_op("einsum")
    RESHAPE = named_op("reshape")
    return 0


cdef shape_ptr shape_function(object name) except? NULL:
    """The function of shape of that NumPy name; NULL where `name` is None."""
    if name is None:
        return NULL
    find_operations()
    if name == "reshape":
        return reshape
    if name == "ravel":
        return ravel
    if name == "full_like":
        return full_like
    if name == "stack":
        return stack
    if name == "hstack":
        return hstack
    if name == "transpose":
        return transpose
    if name == "swapaxes":
        return swapaxes
    if name == "moveaxis":
        return moveaxis
    if name == "squeeze":
        return squeeze
    if name == "expand_dims":
        return expand_dims
    if name == "broadcast_to":
        return broadcast_to
    if name == "flip":
        return flip
    if name == "flipud":
        return flipud
    if name == "fliplr":
        return fliplr
    if name == "diagonal":
        return diagonal
    if name == "atleast_1d":
        return atleast_1d
    if name == "atleast_2d":
        return atleast_2d
    if name == "atleast_3d":
        return atleast_3d
    if name == "copy":
        return copy
    if name == "shape":
        return shape
    if name == "ndim":
        return ndim
    if name == "size":
        return size
    if name == "real":
        return real_part
    if name == "imag":
        return imaginary_part
    if name == "real_if_close":
        return real
    if name == "dot":
        return dot
    if name == "vdot":
        return vdot
    if name == "inner":
        return inner
    if name == "convolve":
        return convolve
    if name == "correlate":
        return correlate
    if name == "meshgrid":
        return meshgrid
    if name == "norm":
        return norm
    if name == "vector_norm":
        return vector_norm
    if name == "matrix_norm":
        return matrix_norm
    if name == "trace":
        return trace
    if name == "sum":
        return sum_of
    if name == "mean":
        return mean
    if name == "max" or name == "amax":
        return largest
    if name == "min" or name == "amin":
        return smallest
    if name == "var":
        return var
    if name == "std":
        return std
    raise ValueError(f"shape_function: no function {name!r}")


cdef bint takes_lists(shape_ptr function) noexcept:
    """Whether a function of shape is asked where its first argument is no Tensor."""
    return function is dot or function is stack or function is hstack


cdef object stack(tuple args):
    """numpy.stack of single numbers."""
    cdef object found = None
    if len(args) == 1 or len(args) == 2 and PyLong_CheckExact(args[1]) and args[1] == 0:
        found = joined_numbers(args[0])
    return NotImplemented if found is None else found


cdef object full_like(tuple args):
    """numpy.full_like of a plain number: of the Tensor its shape and dtype alone are asked."""
    cdef object value
    if len(args) != 2 or not isinstance(args[1], float) and type(args[1]) is not int:
        return NotImplemented
    value = float(args[1]) if isinstance(args[1], float) else args[1]      # NumPy's scalars among them
    return apply_op(named_op("full_like"), (args[0].detach(), value, None, None))


cdef object hstack(tuple args):
    """numpy.hstack of single numbers."""
    cdef object found = None
    if len(args) == 1 and (type(args[0]) is list or type(args[0]) is tuple) and args[0] and is_tensor(args[0][0]):
        found = joined_numbers(args[0])
    return NotImplemented if found is None else found


cdef inline GradMeta meta_of(tuple args):
    return (<TensorBase>args[0]).value.meta


cdef tuple ints(object value):
    """An int, or a tuple or list of ints, as a tuple of ints; None for anything else."""
    if PyLong_CheckExact(value):
        return (value,)
    if type(value) is list:
        value = tuple(<list>value)
    elif type(value) is not tuple:
        return None
    for item in <tuple>value:
        if not PyLong_CheckExact(item):
            return None
    return <tuple>value


cdef Py_ssize_t axis_of(object value, Py_ssize_t ndim) except? -1:
    """An axis counted from 0; -1 for anything that is no exact int or no axis."""
    cdef Py_ssize_t axis
    if not PyLong_CheckExact(value):
        return -1
    axis = PyLong_AsSsize_t(value)
    if axis < 0:
        axis += ndim
    return axis if 0 <= axis < ndim else -1


cdef object reshape(tuple args):
    cdef tuple wanted
    if len(args) != 2:
        return NotImplemented
    wanted = ints(args[1])
    return NotImplemented if wanted is None else shape_op(RESHAPE, (args[0], wanted, None))


cdef object ravel(tuple args):
    """Only of what lies as it is read: NumPy copies a run with gaps or in reverse, which a reshape would view."""
    cdef object raw
    cdef Backend backend
    if len(args) != 1:
        return NotImplemented
    raw = raw_now(<TensorBase>args[0])
    backend = <Backend>meta_of(args).ops
    # What is column-major is copied by both.
    if not (backend.same_layout(raw, raw) if backend.scalars else args[0].flags.c_contiguous):
        return NotImplemented
    return shape_op(RESHAPE, (args[0], (-1,), None))


cdef object transpose(tuple args):
    cdef Py_ssize_t nd = meta_of(args).ndim
    cdef tuple order
    if len(args) == 1 or len(args) == 2 and args[1] is None:
        order = reversed_axes(<int>nd)
    elif len(args) == 2:
        order = ints(args[1])
        if order is None or len(order) != nd or not order:
            return NotImplemented
    else:
        return NotImplemented
    return shape_op(PERMUTE, (args[0], order))


cdef tuple _in_order = tuple([tuple(range(n)) for n in range(9)])


cdef object swapaxes(tuple args):
    cdef Py_ssize_t nd = meta_of(args).ndim, i, j
    cdef list order
    if len(args) != 3:
        return NotImplemented
    i, j = axis_of(args[1], nd), axis_of(args[2], nd)
    if i < 0 or j < 0:
        return NotImplemented
    if nd == 2:
        return shape_op(PERMUTE, (args[0], <tuple>_in_order[2] if i == j else reversed_axes(2)))
    order = list(<tuple>_in_order[nd]) if nd <= 8 else list(range(nd))
    order[i], order[j] = order[j], order[i]
    return shape_op(PERMUTE, (args[0], tuple(order)))


cdef object moveaxis(tuple args):
    cdef Py_ssize_t nd = meta_of(args).ndim, i, j
    cdef list order
    if len(args) != 3:
        return NotImplemented
    i, j = axis_of(args[1], nd), axis_of(args[2], nd)
    if i < 0 or j < 0:
        return NotImplemented
    order = list(range(nd))
    order.insert(j, order.pop(i))
    return shape_op(PERMUTE, (args[0], tuple(order)))


cdef object squeeze(tuple args):
    cdef GradMeta m = meta_of(args)
    cdef tuple shape, axes
    cdef Py_ssize_t i
    if len(args) == 1 or len(args) == 2 and args[1] is None:
        shape = m.shape_tuple()
        return shape_op(SQUEEZE, (args[0], tuple([i for i in range(len(shape)) if shape[i] == 1])))
    if len(args) != 2:
        return NotImplemented
    axes = ints(args[1])
    return NotImplemented if axes is None else shape_op(SQUEEZE, (args[0], axes))


cdef object expand_dims(tuple args):
    if len(args) != 2 or not PyLong_CheckExact(args[1]):
        return NotImplemented
    return shape_op(EXPAND, args)


cdef object broadcast_to(tuple args):
    cdef tuple wanted
    if len(args) != 2:
        return NotImplemented
    wanted = ints(args[1])
    return NotImplemented if wanted is None else shape_op(BROADCAST, (args[0], wanted))


cdef object flip(tuple args):
    if len(args) == 1:
        return shape_op(FLIP, (args[0], None))
    if len(args) != 2 or not PyLong_CheckExact(args[1]):
        return NotImplemented
    return shape_op(FLIP, args)


cdef object flipud(tuple args):
    return shape_op(FLIP, (args[0], 0)) if len(args) == 1 and meta_of(args).ndim >= 1 else NotImplemented


cdef object fliplr(tuple args):
    return shape_op(FLIP, (args[0], 1)) if len(args) == 1 and meta_of(args).ndim >= 2 else NotImplemented


cdef object diagonal(tuple args):
    if meta_of(args).ndim != 2 or len(args) > 2 or len(args) == 2 and not PyLong_CheckExact(args[1]):
        return NotImplemented
    return shape_op(DIAGONAL, (args[0], 0 if len(args) == 1 else args[1]))


cdef object atleast_1d(tuple args):
    if len(args) != 1:
        return NotImplemented
    return shape_op(RESHAPE, (args[0], (1,), None)) if meta_of(args).ndim == 0 else args[0]


cdef object atleast_2d(tuple args):
    cdef GradMeta m
    if len(args) != 1:
        return NotImplemented
    m = meta_of(args)
    return args[0] if m.ndim >= 2 else shape_op(RESHAPE, (args[0], (1,) * (2 - m.ndim) + m.shape_tuple(), None))


cdef object atleast_3d(tuple args):
    cdef GradMeta m
    cdef tuple dims
    if len(args) != 1:
        return NotImplemented
    m = meta_of(args)
    if m.ndim >= 3:
        return args[0]
    dims = m.shape_tuple()
    dims = (1,) + (dims if m.ndim else (1,)) + (1,) if m.ndim < 2 else dims + (1,)
    return shape_op(RESHAPE, (args[0], dims, None))


cdef object copy(tuple args):
    return args[0].copy("K") if len(args) == 1 else NotImplemented


cdef object dot(tuple args):
    """Of vectors and matrices, one of which may be an array of the other's library, it is the matrix product."""
    cdef object a, b
    if len(args) != 2:
        return NotImplemented
    a, b = args
    if is_tensor(a):
        if not 1 <= (<TensorBase>a).value.meta.ndim <= 2 or not beside(b, <TensorBase>a):
            return NotImplemented
    elif not is_tensor(b) or not 1 <= (<TensorBase>b).value.meta.ndim <= 2 \
            or not beside(a, <TensorBase>b):
        return NotImplemented
    return binary(MATMUL, a, b)


cdef bint beside(object x, TensorBase t) except -1:
    """Whether x is a vector or matrix: a Tensor, or an array of exactly the class that `t` shows."""
    if is_tensor(x):
        return 1 <= (<TensorBase>x).value.meta.ndim <= 2
    return type(x) is type(t.value.raw) and 1 <= x.ndim <= 2


cdef object einsum(tuple args, object kwargs):
    """Of a text of subscripts, Tensors and arrays of their library, with nothing more said than `optimize`."""
    cdef object optimize = False, library = None
    cdef Py_ssize_t i
    if kwargs:
        if len(<dict>kwargs) != 1:
            return NotImplemented
        optimize = (<dict>kwargs).get("optimize")
        if optimize is not True and optimize is not False:
            return NotImplemented
    if len(args) < 2 or type(args[0]) is not str:
        return NotImplemented
    if "..." in <str>args[0] and "->" in <str>args[0] and "..." not in (<str>args[0]).rpartition("->")[2]:
        return NotImplemented               # NumPy's error, if it stands for axes
    for i in range(1, len(args)):
        if is_tensor(args[i]):
            library = type((<TensorBase>args[i]).value.raw)
    for i in range(1, len(args)):
        if type(args[i]) is not library and not is_tensor(args[i]):
            return NotImplemented
    find_operations()
    return apply_op(EINSUM, (args[0], args[1:], optimize))


cdef bint are_alike(tuple args) except -1:
    """Whether the first two arguments are real vectors of one dtype, of which the second may be an array of the other's
    library."""
    cdef object b
    if len(args) < 2 or not is_real(args, 1):
        return False
    b = args[1]
    if is_tensor(b):
        return (<TensorBase>b).value.meta.ndim == 1 and (<TensorBase>b).value.meta.dtype == meta_of(args).dtype
    return type(b) is type((<TensorBase>args[0]).value.raw) and b.ndim == 1 and b.dtype == meta_of(args).dtype


cdef object vdot(tuple args):
    """Of two real vectors it is their matrix product."""
    return binary(MATMUL, args[0], args[1]) if len(args) == 2 and are_alike(args) else NotImplemented


cdef object inner(tuple args):
    """Of two vectors it is their matrix product, complex ones too."""
    cdef object a, b
    if len(args) != 2:
        return NotImplemented
    a, b = args
    if not meta_of(args).is_floating or meta_of(args).ndim < 1:
        return NotImplemented
    if is_tensor(b):
        if (<TensorBase>b).value.meta.ndim < 1 or not (<TensorBase>b).value.meta.is_floating:
            return NotImplemented
        return binary(MATMUL if meta_of(args).ndim == (<TensorBase>b).value.meta.ndim == 1 else INNER, a, b)
    if type(b) is not type((<TensorBase>a).value.raw) or b.ndim < 1:
        return NotImplemented
    return binary(MATMUL if meta_of(args).ndim == 1 and b.ndim == 1 else INNER, a, b)


cdef bint is_mode(tuple args, str mode) except -1:
    """Whether nothing but two arguments, or that mode, is given."""
    return len(args) == 2 or len(args) == 3 and type(args[2]) is str and args[2] == mode


cdef inline Py_ssize_t length_of(object x) except -1:
    return (<TensorBase>x).value.meta.dims[0] if is_tensor(x) else len(x)


cdef object convolve(tuple args):
    """The full convolution of two real vectors."""
    if not is_mode(args, "full") or not are_alike(args) or length_of(args[0]) == 0 or length_of(args[1]) == 0:
        return NotImplemented
    return binary(CONVOLVE, args[0], args[1])


cdef object correlate(tuple args):
    """Of two real vectors, the second no longer than the first, where they overlap in full."""
    if not is_mode(args, "valid") or not are_alike(args) or not 0 < length_of(args[1]) <= length_of(args[0]):
        return NotImplemented
    return binary(CORRELATE, args[0], args[1])


cdef object meshgrid(tuple args):
    """Of vectors."""
    for x in args:
        if not is_tensor(x) or (<TensorBase>x).value.meta.ndim != 1:
            return NotImplemented
    return apply_op(MESHGRID, (args, "xy"))


cdef bint is_real(tuple args, int ndim) except -1:
    """Whether the first argument is real, of a floating-point dtype, with so many axes (0: one or more)."""
    cdef GradMeta m = meta_of(args)
    return m.is_floating and not m.is_complex and (m.ndim == ndim if ndim else m.ndim > 0)


# Norms and the trace: of the array alone.

cdef object norm(tuple args):
    return apply_op(NORM, (args[0], None, None, False)) if len(args) == 1 and is_real(args, 0) else NotImplemented


cdef object vector_norm(tuple args):
    return apply_op(VECTOR_NORM, (args[0], None, False, 2)) if len(args) == 1 and is_real(args, 0) else NotImplemented


cdef object matrix_norm(tuple args):
    return apply_op(MATRIX_NORM, (args[0], False, "fro")) if len(args) == 1 and is_real(args, 2) else NotImplemented


cdef object trace(tuple args):
    return apply_op(TRACE, (args[0], 0, None)) if len(args) == 1 and is_real(args, 2) else NotImplemented


# Reductions of floating-point Tensors, of which nothing but the axis is said

cdef inline bint is_reduced(tuple args) noexcept:
    return len(args) <= 2 and meta_of(args).is_floating


cdef inline object axis_in(tuple args):
    return args[1] if len(args) == 2 else None


cdef object sum_of(tuple args):
    return apply_op(SUM, (args[0], axis_in(args), None, False)) if is_reduced(args) else NotImplemented


cdef object mean(tuple args):
    return apply_op(MEAN, (args[0], axis_in(args), False)) if is_reduced(args) else NotImplemented


cdef object largest(tuple args):
    return apply_op(MAX, (args[0], axis_in(args), False)) if is_reduced(args) else NotImplemented


cdef object smallest(tuple args):
    return apply_op(MIN, (args[0], axis_in(args), False)) if is_reduced(args) else NotImplemented


cdef object var(tuple args):
    return apply_op(VAR, (args[0], axis_in(args), 0, False)) if is_reduced(args) else NotImplemented


cdef object std(tuple args):
    return apply_op(STD, (args[0], axis_in(args), 0, False)) if is_reduced(args) else NotImplemented


def ptp(x, axis=None, *, keepdims=False):
    """The largest less the smallest element of a Tensor over `axis` (None: all)."""
    find_operations()
    return binary(SUBTRACT, apply_op(MAX, (x, axis, keepdims)), apply_op(MIN, (x, axis, keepdims)))


# Products of several matrices

cdef enum:
    MOST_MATRICES = 16              # that the best order is found for in C


def product_of_all(items):
    """The product of two or more Tensors, all matrices but for a vector at either end: in the order of the fewest
    multiplications, of equal ones in that which numpy.linalg.multi_dot takes.

    Returns NotImplemented for other arrays, and for more than can be put in order here.
    """
    cdef double lengths[MOST_MATRICES + 1]
    cdef int split[MOST_MATRICES][MOST_MATRICES]
    cdef int i, n, ndim
    cdef GradMeta m = None
    if type(items) is not list and type(items) is not tuple or not 2 <= len(items) <= MOST_MATRICES:
        return NotImplemented
    n = <int>len(items)
    find_operations()
    for i in range(n):
        if not is_tensor(items[i]):
            return NotImplemented
        m = (<TensorBase>items[i]).value.meta
        ndim = m.ndim
        if ndim != 2 and (ndim != 1 or 0 < i < n - 1):
            return NotImplemented
        lengths[i] = 1 if ndim == 1 and i == 0 else m.dims[0]
    lengths[n] = 1 if m.ndim == 1 else m.dims[1]
    if n > 2:
        find_splits(lengths, n, split)
    return in_order(items, split, 0, n - 1)


cdef void find_splits(const double* lengths, int n, int[MOST_MATRICES][MOST_MATRICES] split) noexcept:
    """split[i][j]: the last matrix of the left part of the best product of those from i to j, lengths[i] by
    lengths[i + 1] each."""
    cdef double cost[MOST_MATRICES][MOST_MATRICES]
    cdef double found, least
    cdef int count, i, j, k
    if n == 3:                          # NumPy's own test, of which the second way wins where both cost the same
        found = lengths[0] * lengths[2] * (lengths[1] + lengths[3])
        least = lengths[1] * lengths[3] * (lengths[0] + lengths[2])
        split[0][2] = 1 if found < least else 0
        split[0][1] = 0
        split[1][2] = 1
        return
    for i in range(n):
        cost[i][i] = 0.0
    for count in range(2, n + 1):
        for i in range(n - count + 1):
            j = i + count - 1
            least = -1.0
            for k in range(i, j):
                found = cost[i][k] + cost[k + 1][j] + lengths[i] * lengths[k + 1] * lengths[j + 1]
                if least < 0.0 or found < least:
                    least = found
                    split[i][j] = k
            cost[i][j] = least


cdef object in_order(object items, int[MOST_MATRICES][MOST_MATRICES] split, int i, int j):
    cdef int k
    if i == j:
        return items[i]
    if i + 1 == j:
        return binary(MATMUL, items[i], items[j])
    k = split[i][j]
    return binary(MATMUL, in_order(items, split, i, k), in_order(items, split, k + 1, j))


# What is asked of a Tensor, no operation.

cdef object shape(tuple args):
    return meta_of(args).shape_tuple() if len(args) == 1 else NotImplemented


cdef object ndim(tuple args):
    return meta_of(args).ndim if len(args) == 1 else NotImplemented


cdef object size(tuple args):
    cdef Py_ssize_t n = 1
    if len(args) != 1:
        return NotImplemented
    for item in meta_of(args).shape_tuple():
        n *= <Py_ssize_t>item
    return n


cdef object real_part(tuple args):
    if len(args) != 1:
        return NotImplemented
    return apply_op(named_op("real"), args) if meta_of(args).is_complex else args[0]


cdef object imaginary_part(tuple args):
    if len(args) != 1:
        return NotImplemented
    return apply_op(named_op("imag" if meta_of(args).is_complex else "_imag_of_real"), args)


cdef object real(tuple args):
    return args[0] if len(args) == 1 and not meta_of(args).is_complex else NotImplemented
