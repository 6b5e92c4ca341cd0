# Operations on single numbers of double precision: computed, made a Tensor and recorded in one step.
# May import: engine.*, core.op, core.value, core.saved_variables, core.accumulators, core.nodes, core.written_scalars.
#
# Note [Operations on numbers]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The way of any operation (apply.pyx) asks at each step what it has before it: which library, which arrays, what its
# result is, what its node keeps. Where all operands are numbers of double precision, Tensors without axes or plain
# ones, there is one answer. So the value is computed of C doubles (Op.number_value), the result is a Tensor that is
# kept for that (Note [Free list of Tensors]), and its node is filled once, with what the general way fills in: same
# flags, same edges, the same slots (Note [Saved numbers]).
# Declined, before anything is done, is whatever the general way looks at beside that: hooks around operations and for
# saved values, inference mode, set_saved_mutation("error"), zero_annihilates, views, memory that the program holds too,
# an error of floating point. Free-threaded builds take the general way.
# A scalar of double precision of NumPy's counts as the plain number that it is (Note [Scalars as numbers]).
# set_fast_paths(False) turns it off. Guarded by tests/backends/test_tensor_freelist.py and
# tests/backends/test_number_gradients.py.
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint32_t

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport has_bit, set_bit
from arraygrad.engine.node cimport (
    Node, NodeParts, ThreadState, inference_used, new_node_of, thread_state, NODE_FAST, NODE_HAS_PARENT, NODE_NUMBER,
    NODE_REALIFY, NODE_SAVES,
)
from arraygrad.core.accumulators cimport accumulator_of
from arraygrad.core.nodes cimport OpNode, attach, bare_kind, op_kind
from arraygrad.core.op cimport Op, SAVE_ANS
from arraygrad.core.saved_variables cimport hooks_for_saved
from arraygrad.core.value cimport (
    Backend, TensorBase, Value, has_extra, number_tensor, refuses_overwriting, tensor_type, watch,
)
from arraygrad.core.written_scalars cimport ITEMS_WRITTEN, let_items_be_written

from arraygrad.engine.node import keep_for_ever

cdef extern from "Python.h":
    PyTypeObject* type_of "Py_TYPE"(PyObject* o) noexcept
    bint is_float "PyFloat_CheckExact"(PyObject* o) noexcept
    bint is_int "PyLong_CheckExact"(PyObject* o) noexcept
    double float_value "PyFloat_AS_DOUBLE"(PyObject* o) noexcept
    PyObject* new_float "PyFloat_FromDouble"(double x) noexcept
    long long int_value "PyLong_AsLongLongAndOverflow"(PyObject* o, int* overflow) except? -1
    PyObject* counted "Py_NewRef"(PyObject* o) noexcept
    void Py_XDECREF(PyObject* o) noexcept

cdef long long MOST_EXACT = 1LL << 53   # up to here integers are exact in double precision
cdef PyTypeObject* scalar_type = NULL   # the class of scalars that are plain numbers
cdef Backend _backend = None            # beside whose arrays they are
cdef int _real, _complex                # of these dtypes


def serve_scalars(type cls, GradMeta real, GradMeta double_complex):
    """Take scalars of a class, which is derived from float, for plain numbers: Note [Scalars as numbers].

    `real` and `double_complex` are the metadata of arrays beside which they are.
    """
    global scalar_type, _backend, _real, _complex
    _real, _complex = real.typenum, double_complex.typenum
    _backend = <Backend>real.ops
    scalar_type = <PyTypeObject*>cls
    keep_for_ever(cls)


# Note [Scalars as numbers]
# ~~~~~~~~~~~~~~~~~~~~~~~~~
# An element of a data array, a[i], is a numpy.float64: loops over data compute with those, beside Tensors, at each
# step. As an array without axes it would go the long way.
# (1) Beside arrays of double precision, real or complex, it gives what a Python float of its value gives, bit by bit.
#     A narrower array becomes a wider one beside it, and not beside a float: there it stays what it is.
# (2) For Python's power an exponent that NumPy treats in a way of its own is a float or an array without axes, and the
#     ways differ (Note [Powers]). Such scalars stay what they are.
# (3) What a node keeps is the float.
# Guarded by tests/ops/test_scalars_beside_tensors.py.
cdef object as_float(Op op, object x, GradMeta meta, bint on_right):
    """A scalar beside an array as the number that it is, None where it is none."""
    cdef double value
    if type_of(<PyObject*>x) != scalar_type or meta.ops is not _backend:
        return None
    if meta.typenum != _real and meta.typenum != _complex:                              # (1)
        return None
    value = float_value(<PyObject*>x)
    return None if on_right and op.name == "pow" and is_special(value) else value


cdef inline bint is_special(double exponent) noexcept:
    """(2)"""
    return exponent == 2.0 or exponent == 1.0 or exponent == 0.5 or exponent == 0.0 or exponent == -1.0


cdef inline bint read(PyObject* operand, PyObject** tensor, double* x) except -1:
    """Read an operand, and set `tensor` where it is one. False: declined."""
    cdef int overflow = 0
    cdef long long integer
    cdef double* place
    cdef PyObject* v
    if type_of(operand) == tensor_type:
        v = <PyObject*>(<TensorBase>operand).value
        if (<Value>v).meta.ndim or (<Value>v).exposed or (<Value>v).meta.ops.number_at == NULL or \
                has_extra(<TensorBase>operand):
            return False
        place = (<Value>v).meta.ops.number_at(<PyObject*>(<Value>v).raw)
        if place == NULL:
            return False
        x[0] = place[0]
        tensor[0] = operand
        return True
    if is_float(operand) or type_of(operand) == scalar_type:
        x[0] = float_value(operand)
        return True
    if not is_int(operand):
        return False
    integer = int_value(operand, &overflow)
    x[0] = <double>integer
    return not overflow and -MOST_EXACT <= integer <= MOST_EXACT


cdef bint read_operand(PyObject* operand, PyObject** tensor, double* x) except -1:
    """`read`, for other modules."""
    return read(operand, tensor, x)


cdef inline Node edge(PyObject* tensor, int* nr, NodeParts* parts):
    """The node that the Tensor's gradient goes to, at input `nr`; None: it has none.

    A reference of the caller's own: making the other edge's node may collect garbage, and so run anything.
    """
    cdef Node node
    if tensor == NULL or not (<TensorBase>tensor).tracked:
        return None
    node = (<TensorBase>tensor).grad_fn_
    if node is None:
        node = accumulator_of(<TensorBase>tensor)
    else:
        nr[0] = (<TensorBase>tensor).output_nr_
    if not has_bit(&node.flags, NODE_HAS_PARENT):
        set_bit(&node.flags, NODE_HAS_PARENT)
    if node.topo >= parts.topo:
        parts.topo = node.topo + 1
    return node


cdef inline PyObject* kept(PyObject* operand, PyObject* tensor, double x, NodeParts* parts) noexcept:
    """What a node keeps of an operand; NULL: no memory."""
    if tensor == NULL:
        return counted(operand) if type_of(operand) != scalar_type else new_float(x)
    parts.flags |= NODE_SAVES
    if (<TensorBase>tensor).grad_fn_ is not None:
        return new_float(x)
    watch((<TensorBase>tensor).value)
    return counted(<PyObject*>(<TensorBase>tensor).value)


cdef TensorBase number_operation(Op op, PyObject* a, PyObject* b):
    """The result of an operation with a `number_value` on one number (b is NULL) or two; None: declined."""
    cdef PyObject* ta = NULL
    cdef PyObject* tb = NULL
    cdef double x, y = 0.0, r
    cdef ThreadState* ts
    cdef NodeParts parts
    cdef Node first, second
    cdef TensorBase out
    cdef uint32_t needs
    cdef int k
    cdef PyObject* slot
    if not read(a, &ta, &x) or b != NULL and not read(b, &tb, &y) or ta == NULL and tb == NULL:
        return None
    if op.n_saves > 2 and (tb != NULL or b != NULL and type_of(b) == scalar_type and is_special(y)):
        return None                     # a number to the power of a Tensor: its node may keep three values; (2)
    if inference_used or hooks_for_saved() or refuses_overwriting():
        return None
    ts = thread_state()
    if ts.zero_annihilates or not op.number_value(op, x, y, &r):
        return None
    out = number_tensor(r, (<TensorBase>(tb if ta == NULL else ta)).value.meta)
    if ta != NULL and (<TensorBase>ta).array0d == ITEMS_WRITTEN or \
            tb != NULL and (<TensorBase>tb).array0d == ITEMS_WRITTEN:
        let_items_be_written(out)
    needs = (ta != NULL and (<TensorBase>ta).tracked) | (tb != NULL and (<TensorBase>tb).tracked) << 1
    if not needs or not ts.grad_mode:
        return out
    parts.e0 = parts.e1 = parts.s0 = parts.s1 = NULL
    parts.n0 = parts.n1 = 0
    parts.topo = 0
    parts.thread_id = ts.thread_id
    parts.n_edges = 1 if b == NULL else 2
    parts.flags = NODE_NUMBER | NODE_REALIFY | (NODE_FAST if op.fast_rule != NULL else 0)
    parts.meta = <PyObject*>out.value.meta
    parts.op = <PyObject*>op
    first = edge(ta, &parts.n0, &parts)
    if first is not None:
        parts.e0 = <PyObject*>first
    second = edge(tb, &parts.n1, &parts)
    if second is not None:
        parts.e1 = <PyObject*>second
    for k in range(op.n_saves):
        if not op.save_for[k] & needs:
            continue
        if op.save_kind[k] == SAVE_ANS:
            parts.flags |= NODE_SAVES
            slot = new_float(r)
        elif op.save_pos[k] == 0:
            slot = kept(a, ta, x, &parts)
        else:
            slot = kept(b, tb, y, &parts)
        if slot == NULL:
            Py_XDECREF(parts.s0)
            raise MemoryError
        if k == 0:
            parts.s0 = slot
        else:
            parts.s1 = slot
    attach(out, <OpNode>new_node_of(&bare_kind if op.bare else &op_kind, &parts))
    return out
