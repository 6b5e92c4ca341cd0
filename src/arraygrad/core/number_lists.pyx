# Lists of single numbers and Tensors of single numbers, joined to one Tensor in one step.
# May import: engine.*, core.op, core.value, core.nodes, core.number_ops, core.apply.
#
# Note [Lists of numbers]
# ~~~~~~~~~~~~~~~~~~~~~~~
# `np.array([y[1], -y[0], y[0] * y[1]])` is how programs write what is computed element by element: right sides of
# differential equations, rotations. `stack` would look at each part as at an array of any shape. Here the numbers are
# read, one array is made of them, and a node of `stack` is filled with what the general way fills in. Its gradient is
# handed on number by number (Note [Numbers], 6). Nested lists of equal lengths are joined as one list, and reshaped; as
# nobody sees that list, the result is no view.
# Served are lists and tuples of Tensors of double precision without axes, of which one at least is there, and plain
# numbers; what `number_operation` declines is declined here too.
# set_fast_paths(False) turns it off. Guarded by tests/core/test_lists_of_numbers.py.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport ThreadState, thread_state, NODE_ELEMENT
from arraygrad.core.apply cimport filled
from arraygrad.core.nodes cimport OpNode, attach, is_unobserved
from arraygrad.core.number_ops cimport read_operand
from arraygrad.core.op cimport Op, named_op
from arraygrad.core.value cimport Backend, TensorBase, new_tensor

cdef extern from "Python.h":
    Py_ssize_t PySequence_Fast_GET_SIZE(object items)
    PyObject* PySequence_Fast_GET_ITEM(object items, Py_ssize_t i)

cdef enum:
    MOST_AXES = 4
    MOST_NUMBERS = 4096                 # of longer lists what surrounds an element is little beside the list itself

cdef uint64_t EVERY = <uint64_t>-1      # in the place of an element's (engine.numbers)
cdef Backend _backend = None            # whose arrays are served
cdef make_ptr _make
cdef Op STACK = None
cdef Op RESHAPE


cdef int serve_lists(Backend backend, make_ptr make) except -1:
    """Join numbers to arrays of a backend, which `make` makes."""
    global _backend, _make
    _make = make
    _backend = backend
    return 0


cdef bint ready() except -1:
    """Whether the operations are those that are known here."""
    global STACK, RESHAPE
    cdef Op found
    if STACK is None:
        found = named_op("stack")
        RESHAPE = named_op("reshape")
        if found.params != ("arrays", "axis") or found.saves or found.static_positions != (1,):
            return False
        if RESHAPE.saves != ("x_meta",) or RESHAPE.keeps_args:
            return False
        STACK = found
    return True


cdef bint is_list(PyObject* x) noexcept:
    return isinstance(<object>x, (list, tuple))         # named tuples too


cdef bint read_all(object items, int level, Py_ssize_t* dims, int* ndim, vector[double]& numbers,
                   vector[PyObject*]& tensors, Backend backend) except -1:
    """Read the numbers of lists that lie in each other, whose lengths are the same. False: declined."""
    cdef Py_ssize_t i, n = PySequence_Fast_GET_SIZE(items)
    cdef PyObject* item
    cdef PyObject* tensor
    cdef double x = 0.0
    if n == 0 or n > MOST_NUMBERS or level == MOST_AXES:
        return False
    if level == ndim[0]:
        if numbers.size():
            return False                # a level that other branches lack
        ndim[0] += 1
        dims[level] = n
    elif dims[level] != n:
        return False
    for i in range(n):
        item = PySequence_Fast_GET_ITEM(items, i)
        if is_list(item):
            if not read_all(<object>item, level + 1, dims, ndim, numbers, tensors, backend):
                return False
            continue
        tensor = NULL
        if level + 1 < ndim[0] or numbers.size() == MOST_NUMBERS or not read_operand(item, &tensor, &x):
            return False
        if tensor != NULL and (<TensorBase>tensor).value.meta.ops is not backend:
            return False
        numbers.push_back(x)
        tensors.push_back(tensor)
    return True


cpdef object joined_numbers(object items):
    """A list or tuple of numbers, or of such lists, as one Tensor; None: declined."""
    cdef ThreadState* ts = thread_state()
    cdef vector[double] numbers
    cdef vector[PyObject*] tensors          # borrowed: the lists hold them, and no code of others runs meanwhile
    cdef Py_ssize_t dims[MOST_AXES]
    cdef Py_ssize_t i, size
    cdef int ndim = 0
    cdef bint recorded = False, found = False
    cdef TensorBase out, flat
    cdef list held
    cdef object raw
    if FREE_THREADED or _backend is None or not is_unobserved(ts) or ts.zero_annihilates:
        return None
    if not isinstance(items, (list, tuple)) or not ready():
        return None
    if not read_all(items, 0, dims, &ndim, numbers, tensors, _backend):
        return None
    size = <Py_ssize_t>numbers.size()
    for i in range(size):
        if tensors[i] != NULL:
            found = True
            recorded = recorded or (<TensorBase>tensors[i]).tracked
    if not found:
        return None
    held = [<object>tensors[i] if tensors[i] != NULL else None for i in range(size)]    # the collector may run below
    raw = _make(ndim, dims, numbers.data())
    if raw is None:
        return None
    out = new_tensor(raw, _backend.meta(raw))
    out.array0d = True
    if not recorded or not ts.grad_mode:
        return out
    if ndim == 1:
        attach(out, of_numbers(held, out))
    else:
        raw = _make(1, &size, numbers.data())
        flat = new_tensor(raw, _backend.meta(raw))
        attach(flat, of_numbers(held, flat))
        attach(out, filled(RESHAPE, (flat, None), out, 1, _backend))
    return out


cdef OpNode of_numbers(list held, TensorBase out):
    """The node of `out`, a list of numbers, of which those that are Tensors are `held`."""
    cdef OpNode node = filled(STACK, (held, 0), out, 1, _backend)
    node.flags |= NODE_ELEMENT
    node.print = EVERY
    return node
