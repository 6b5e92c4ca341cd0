# The compiled half of TrackedCall: what a transform does for every leaf and for every call.
# May import: engine.*, core.*, autograd.python_numbers, ops, numpy (Python only).
#
# What is rare, or has something to explain, is a method of the subclass in tracked_call.py.
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF
from libcpp.unordered_map cimport unordered_map
from libcpp.unordered_set cimport unordered_set
from libcpp.vector cimport vector
cimport cython

import numpy

from arraygrad.core.apply cimport apply_op
from arraygrad.core.containers cimport flatten_into, leaf_structure, unflatten_from
from arraygrad.core.decisions cimport decisions_in, watch_decisions
from arraygrad.core.exposed_memory cimport enter, expose
from arraygrad.core.nodes cimport OpNode, attach, new_op_node
from arraygrad.core.op cimport Op
from arraygrad.core.operands cimport is_like_scalar
from arraygrad.core.roots cimport edge_or_none
from arraygrad.core.value cimport Backend, TensorBase, Value, find_backend, new_tensor, registered, version_of
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.dead_gradients cimport let_go
from arraygrad.engine.engine cimport run_for_inputs
from arraygrad.engine.node cimport Edge, Node, ThreadState, thread_state, NODE_PYTHON

from arraygrad.core.containers import note_leaf_type
from arraygrad.core.convert import RUNNING
from arraygrad.core.exposed_memory import note_holder
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.tensor import Tensor
from arraygrad.ops import OPS

cdef extern from "Python.h":
    object PyObject_VectorcallDict(PyObject* function, PyObject** args, size_t n, PyObject* kwargs)
    PyObject** items_of "PySequence_Fast_ITEMS"(object items)

# What a leaf of a differentiated argument was, hence what its gradient is given back as.
cdef enum Kind:
    KIND_TENSOR = 0
    KIND_RAW = 1
    KIND_SCALAR = 2
    KIND_NUMBER = 3
    KIND_STATIC = 4

TENSOR, RAW, SCALAR, NUMBER, STATIC = KIND_TENSOR, KIND_RAW, KIND_SCALAR, KIND_NUMBER, KIND_STATIC

cdef Op _identity = OPS.get("_identity")
cdef object _ndarray = numpy.ndarray
note_leaf_type(Tensor)
note_leaf_type(numpy.ndarray)


# Note [Results]
# ~~~~~~~~~~~~~~
# A transform gives the value of a plain call, in its type: `round(v, 2)`, `json.dumps(v)` and `isinstance(v, float)` do
# what they do with that.
# (1) A result without axes is a scalar of NumPy's, or an array where NumPy's function gives an array: Note [Scalars]
#     in core/operands.pyx knows. It is an array of libraries without scalars.
# (2) Python's operators and math make Python numbers of Python numbers, and NumPy's functions make scalars of them. The
#     graph tells which: all behind the result are operators, and lead to arguments that were numbers. A constant
#     operand is not in the graph, and is taken for a Python number too.
# (3) If no argument was a number, what is not told by the graph is a scalar, which is a float too: what float() gave
#     back as it got it, what has a constant operand, and what has too many nodes.
# Guarded by tests/transforms/test_types_of_results.py.
ctypedef PyObject* NodePointer

cdef enum:
    MOST_SEEN = 256             # nodes that are looked at; of more the answer is a Python number
    NODE_FLOAT = 8192           # as in adoption/builtin_answers.pyx
    NODE_SCALAR = 24576

cdef frozenset _of_python = frozenset(
    [op.name for op in OPS.values() if op.entry.operator]
    + ["real", "imag", "conj", "_imag_of_real", "copy", "_copy", "_identity"]
)
cdef dict _running = RUNNING
cdef tuple _no_arguments = ()
cdef object _subclass = None            # TrackedCall; see use_tracked_calls
cdef bint _compiled = True
cdef GradMeta _number_meta = None
cdef object _nothing_beside = (None, None, None)
NOTHING_BESIDE = _nothing_beside


def set_compiled_calls(bint mode):
    """Whether calls are tracked, and arguments get their place in the graph, the short way; returns the mode before.

    For tests.
    """
    global _compiled
    previous = _compiled
    _compiled = mode
    return bool(previous)


def use_tracked_calls(cls):
    """Make `cls`, a subclass of TrackedCallBase, the class of what is tracked the short way."""
    global _subclass
    _subclass = cls


cdef bint may_be_number(Node node) except -1:
    """Whether Python's operators or math made the value of this node."""
    return node is not None and (
        node.flags & NODE_SCALAR == NODE_FLOAT or type(node.op) is Op and (<Op>node.op).name in _of_python
    )


cdef TensorBase placed(object raw, GradMeta meta):
    """A place in the graph over the caller's memory, which nothing lies behind.

    Unlike a leaf it may be written in place, and then the caller's array changes as it does in a plain call.
    """
    cdef TensorBase t = new_tensor(raw, meta)
    cdef OpNode node = new_op_node(_identity, meta, 0)
    node.n_edges = 1            # to nothing
    attach(t, node)
    t.array0d = True
    t.value.exposed = True
    enter(t.value)
    return t


cdef TensorBase number_leaf(object value):
    """A leaf over a Python float, in double precision."""
    cdef TensorBase t
    global _number_meta
    if _number_meta is None:
        _number_meta = (<TensorBase>wrap_raw(numpy.array(0.0))).value.meta
    t = new_tensor(_number_meta.ops.number(value), _number_meta)
    t.tracked = t.python = True
    return t


cdef tuple plain_positions(object argnums, Py_ssize_t n_args):
    """Positions that count from the front and rise, as a tuple; None for others, and for those that do not exist."""
    cdef Py_ssize_t before = -1
    if type(argnums) is int:
        return (argnums,) if 0 <= argnums < n_args else None
    if type(argnums) is not tuple:
        return None
    for argnum in <tuple>argnums:
        if type(argnum) is not int or not before < argnum < n_args:
            return None
        before = argnum
    return argnums


cdef bint requires_grad_within(object value, int depth) except -1:
    """Whether a Tensor that requires grad is, or is held by, an argument."""
    cdef object kind = type(value)
    if kind is Tensor:
        return (<TensorBase>value).tracked
    if depth and (kind is tuple or kind is list or kind is dict):
        for part in (<dict>value).values() if kind is dict else value:
            if requires_grad_within(part, depth - 1):
                return True
    return False


cdef bint has_tracked(tuple args, tuple argnums) except -1:
    """Whether an argument that is not differentiated is, or holds, a Tensor that requires grad."""
    cdef Py_ssize_t i
    for i in range(len(args)):
        if requires_grad_within(args[i], 4) and i not in argnums:
            return True
    return False


cdef class TrackedCallBase:
    """A call of `function` whose arguments at some positions are differentiated: see TrackedCall."""

    def __init__(self, name, function, args, argnums):
        self.begin(name, function, args, argnums)

    cdef int begin(self, object name, object function, tuple args, object argnums) except -1:
        cdef ThreadState* ts = thread_state()
        cdef int before = ts.grad_mode, inference = ts.inference
        cdef Py_ssize_t i
        cdef bint all_of_them
        cdef list leaves = []
        self.name = name
        self.function = function
        self.single = isinstance(argnums, int)
        self.argnums = plain_positions(argnums, len(args))
        all_of_them = self.argnums is not None and len(self.argnums) == len(args)       # in their order
        if self.argnums is None:
            self.argnums = self.positions(argnums, args)
        self.args = args
        if self.single:
            self.structure = flatten_into(args[self.argnums[0]], leaves)
        else:
            self.structure = flatten_into(args if all_of_them else tuple([args[i] for i in self.argnums]), leaves)
        self.kinds = []
        self.metas = []
        self.edges = []
        self.plain = True
        self.before = before != 0 or (ts.inference & 2) != 0
        self.nested = ts.transforms > 0 or (
            self.before and len(args) > len(self.argnums) and has_tracked(args, self.argnums))
        self.handed = []
        ts.grad_mode = 1
        ts.inference = 0                # a derivative is asked for, whatever surrounds the call
        try:
            for i in range(len(leaves)):
                self.handed.append(self.follow(i, leaves[i]))
        finally:
            ts = thread_state()
            ts.grad_mode = before
            ts.inference = inference
        if self.has_static:
            self.static = self.static_of(leaves)
        return 0

    cdef object follow(self, Py_ssize_t i, object leaf):
        """What the function gets in place of a leaf; notes its kind, metadata and edge."""
        cdef object kind = type(leaf), handed
        if kind is _ndarray:
            return self.follow_array(i, leaf, KIND_RAW)
        if kind is float:
            if self.beside is None:
                self.beside = self.arrays_beside()
            if self.beside is _nothing_beside:
                handed = number_leaf(leaf)
                self.note(KIND_NUMBER, (<TensorBase>handed).value.meta, handed)
                return handed
            return self.follow_array(i, self.array_of(leaf), KIND_NUMBER)
        return self.follow_other(i, leaf)

    cpdef object follow_array(self, Py_ssize_t i, object raw, int kind):
        """A place in the graph for a raw array."""
        cdef TensorBase handed
        cdef GradMeta meta
        try:
            meta = find_backend(raw).meta(raw)
        except TypeError as error:
            raise self.no_array(i, raw, error) from error
        if not meta.is_floating:
            return self.constant(i, raw, f"of dtype {meta.dtype}")
        if _compiled and kind == KIND_RAW and _identity is not None:
            handed = placed(raw, meta)
            self.note(kind, meta, handed)
            return handed
        handed = wrap_raw(raw)
        handed.requires_grad_()
        if kind == KIND_RAW:
            if _identity is not None:
                # A place in the graph of its own, over the caller's memory: unlike a leaf it may be written in place,
                # and then the caller's array changes as it does in a plain call.
                handed = apply_op(_identity, (handed,))
                handed.array0d = True
            note_holder(handed)
        else:
            handed.array0d = False
            handed.python = kind == KIND_NUMBER
        self.note(kind, meta, handed)
        return handed

    cpdef int note(self, int kind, object meta, object handed) except -1:
        """Note a leaf that is followed."""
        self.kinds.append(kind)
        self.metas.append(meta)
        edge = edge_or_none(<TensorBase?>handed)
        if edge is None:
            raise RuntimeError("cannot get a gradient edge of a Tensor that does not require grad")
        self.edges.append(edge)
        if kind == KIND_TENSOR:
            self.plain = False
        elif kind == KIND_NUMBER:
            self.has_number = True
        elif kind == KIND_RAW:
            self.has_array = True
        return 0

    cpdef int note_static(self) except -1:
        """Note a leaf that stays as it is."""
        self.kinds.append(KIND_STATIC)
        self.metas.append(None)
        self.has_static = True
        return 0

    cpdef object array_of(self, object value):
        """A Python number as a 0-d array of the precision and library of the arrays beside it (none: NumPy's own)."""
        if self.beside is None:
            self.beside = self.arrays_beside()
        xp, dtype, device = self.beside
        if xp is None:
            return numpy.array(value)
        return self.number_beside(value, xp, dtype, device)

    def call(self, dict kwargs=None, has_aux=False, check=True):
        """See `make`; returns self."""
        self.make(kwargs, has_aux, check)
        return self

    cdef int make(self, dict kwargs, bint has_aux, bint check) except -1:
        """Call the function with recording on and look at what it returned.

        `check=False` leaves `check_result` out.

        Raises
        ------
        TypeError
            If `has_aux` and the function did not return a pair.
        """
        cdef object result = None, cause = None
        cdef list leaves
        if kwargs and self.before and requires_grad_within(kwargs, 4):
            self.nested = True
        try:
            result = self.run(kwargs)
        except Exception as error:
            # NumPy wraps what an element's conversion raises: the advice is in the cause. Others replace it.
            cause = error.__cause__
            if self.warned is not None:
                self.tell_warnings()
            if not hasattr(cause, "lost_gradient"):
                if self.refused is not None and error is not self.refused:
                    error.add_note(f"Before that, arraygrad had refused this: {self.refused}")
                self.explain(error)
                raise
        if self.warned is not None:
            self.tell_warnings()
        if cause is not None:
            raise cause  # here, where it is in no circle with the error that it is the cause of
        self.aux = None
        if self.decisions is not None:
            self.look_for_searches()
            self.decisions = None
        if has_aux:
            result, self.aux = self.split(result)
        if type(result) is Tensor:
            self.outputs = [result]
            self.out_structure = leaf_structure
            if check and not (<TensorBase>result).tracked:
                self.check_result()
            elif self.refused is not None:
                self.tell_refusal(result.requires_grad)
        else:
            leaves = []
            self.out_structure = flatten_into(result, leaves)
            self.outputs = [leaf.__recorded__() if hasattr(type(leaf), "__recorded__") else leaf for leaf in leaves]
            if check:
                self.check_result()
            elif self.refused is not None:
                self.tell_refusal(True)
        self.record = self.before and (
            self.alias or ((self.nested or not self.plain) and self._reaches_others(self.outputs))
        )
        return 0

    cpdef object run(self, dict kwargs):
        """Call the function with recording on; what it returned."""
        cdef ThreadState* ts = thread_state()
        cdef int before = ts.grad_mode, inference = ts.inference
        cdef list args = list(<tuple>self.args)
        cdef Py_ssize_t at = 0, k
        cdef object chosen
        cdef PyObject* noted = NULL
        cdef PyObject** around
        cdef PyObject* keywords = <PyObject*>kwargs if kwargs else NULL
        cdef object result
        cdef Value value
        # What was handed over is kept, to see what was written: `args` holds it as well.
        cdef list handed = self.handed if self.has_array and (len(args) > 1 or len(self.handed) > 1) else None
        if self.single:
            args[<Py_ssize_t>self.argnums[0]] = unflatten_from(self.structure, self.handed, &at)
        else:
            chosen = unflatten_from(self.structure, self.handed, &at)
            for k in range(len(self.argnums)):
                args[<Py_ssize_t>self.argnums[k]] = chosen[k]
        self.args = self.handed = None          # the graph keeps what it needs of them
        self.thread = ts.thread_id
        _running[self] = self
        around = watch_decisions(&noted)
        ts.transforms += 1
        ts.grad_mode = 1
        ts.inference = 0
        try:
            result = PyObject_VectorcallDict(<PyObject*>self.function, items_of(args), <size_t>len(args), keywords)
            if handed is not None:
                for k in range(len(handed)):
                    if type(handed[k]) is Tensor:
                        value = (<TensorBase>handed[k]).value
                        if value.version != 0 or value.storage is not None and version_of(value) != 0:
                            self.look_for_shared(handed[k], handed, args)
            return result
        finally:
            ts = thread_state()
            ts.grad_mode = before
            ts.inference = inference
            ts.transforms -= 1
            watch_decisions(around)
            if noted != NULL:
                self.decisions = <dict>noted
                Py_DECREF(<object>noted)
                if around != NULL:
                    decisions_in(around).update(self.decisions)
            del _running[self]

    cpdef object plain_gradient(self):
        """The gradient of one real floating-point number, in the form of the arguments; its graph is freed.

        None: anything is unusual.
        """
        cdef TensorBase out
        cdef GradMeta meta
        cdef object begun
        cdef tuple found
        cdef Edge root
        if self.record or self.out_structure is not leaf_structure or type((<list>self.outputs)[0]) is not Tensor:
            return None
        out = <TensorBase>(<list>self.outputs)[0]
        meta = out.value.meta
        if not meta.is_floating or meta.is_complex or meta.ndim and meta.size != 1 or not self.edges:
            return None
        root = edge_or_none(out)
        if root is None:
            return None
        begun = meta.ops.begin(meta)
        found = run_for_inputs(root.node, root.input_nr, begun, self.edges)
        let_go(begun, meta.ops.recycle)
        return self.give_checked(found)

    cpdef object value(self):
        """What the function returned, raw where its arguments were."""
        cdef TensorBase out
        if not self.record and self.plain and self.out_structure is leaf_structure \
                and type((<list>self.outputs)[0]) is Tensor:
            out = <TensorBase>(<list>self.outputs)[0]
            if out.value.meta.ndim and self.has_array:
                expose(out)
                return out.value.raw
            return self.shown(out)
        return self.any_value()

    cpdef object shown(self, TensorBase out):
        """A result in the form that it has in a plain call: an array, a scalar or a Python number (Note [Results])."""
        cdef Backend backend = <Backend>out.value.meta.ops
        if not self.plain:
            return wrap_raw(out.value.raw) if out.tracked else out
        expose(out)
        if out.value.meta.ndim:
            return out.value.raw
        if not backend.scalars:
            return out.value.raw if self.has_array or KIND_SCALAR in self.kinds else self.as_number(out)
        if not is_like_scalar(out, backend):
            return out.value.raw
        if out.python or (self.has_number or out.tracked and may_be_number(out.grad_fn_)) and (
                self.is_python_number(out)):
            return self.as_number(out)
        return out.value.raw[()]

    cdef object as_number(self, TensorBase out):
        return give_back(KIND_NUMBER, out.value.raw, None)

    cdef bint is_python_number(self, TensorBase out) except -1:
        """Whether a result was computed by Python's operators and math alone, of Python numbers: (2), (3).

        Called if an argument was a number, or if one of those made the result.
        """
        cdef bint of_numbers = self.has_number
        cdef Edge edge
        cdef Node node
        cdef vector[NodePointer] left
        cdef unordered_set[NodePointer] seen
        cdef unordered_map[NodePointer, int] kinds          # of the nodes of leaves
        edge = edge_or_none(out)
        if edge is None:
            return True
        if of_numbers:
            for own, (kind, _) in zip(self.edges, self.live()):
                kinds[<PyObject*>(<Edge>own).node] = kind
        left.push_back(<PyObject*>edge.node)
        while not left.empty():
            node = <Node>left.back()
            left.pop_back()
            if node is None:
                if of_numbers:
                    continue
                return False
            if seen.count(<PyObject*>node):
                continue
            if seen.size() == MOST_SEEN:
                return of_numbers
            seen.insert(<PyObject*>node)
            if node.flags & (NODE_SCALAR | NODE_PYTHON):
                if node.flags & NODE_SCALAR == NODE_FLOAT or of_numbers and node.flags & NODE_SCALAR != NODE_SCALAR:
                    continue
                return False
            if kinds.count(<PyObject*>node):
                if kinds[<PyObject*>node] != KIND_NUMBER:
                    return False
            elif not may_be_number(node):
                return False
            else:                               # an operator of Python's has one or two operands
                left.push_back(<PyObject*>node.e0)
                if (<Op>node.op).n_inputs > 1:
                    left.push_back(<PyObject*>node.e1)
        return True

    cpdef object give(self, object gradients, object beside=()):
        """The container of gradients (one per edge; None: zero) in the form of the arguments.

        Raw ones are the caller's to write: none shares memory with another, or with an array of NumPy's in `beside`.
        """
        cdef Py_ssize_t k
        cdef list given = []
        if beside or len(gradients) > 1 and not are_apart(gradients):
            gradients = kept_apart(gradients, beside)
        for k in range(len(self.kinds)):
            if not self.has_static or self.kinds[k] != KIND_STATIC:
                given.append(give_back(self.kinds[k], gradients[len(given)], self.metas[k]))
        return self.nest(given)

    cpdef object give_checked(self, object gradients):
        """`give`, with a warning where all is zero because the result does not depend on the arguments."""
        cdef Py_ssize_t k = 0
        for g in gradients:
            while self.has_static and self.kinds[k] == KIND_STATIC:
                k += 1
            if (<GradMeta>self.metas[k]).ops.begins_nonzero(g) or not may_be_zero(g):
                break
            k += 1
        else:
            self.look_for_a_constant()
        return self.give(gradients)

    cpdef object nest(self, object per_edge):
        """The container of the arguments with these values, one per edge, in place of the leaves."""
        cdef Py_ssize_t k, at = 0
        cdef list items = []
        if self.structure is leaf_structure:
            return per_edge[0]
        if not self.has_static and type(per_edge) is list:
            return unflatten_from(self.structure, per_edge, &at)
        for k in range(len(self.kinds)):
            if self.kinds[k] == KIND_STATIC:
                items.append(self.static[k])
            else:
                items.append(per_edge[at])
                at += 1
        at = 0
        return unflatten_from(self.structure, items, &at)


cdef bint are_apart(object gradients) except -1:
    """Whether a few gradients are arrays of NumPy's over memory of different owners."""
    cdef unsigned long long owners[8]
    cdef Py_ssize_t n = 0, k
    cdef Backend backend = registered(_ndarray)
    if backend is None or len(gradients) > 8:
        return False
    for g in gradients:
        if type(g) is not _ndarray:
            return False
        owners[n] = backend.owner(g)
        for k in range(n):
            if owners[k] == owners[n]:
                return False
        n += 1
    return True


cpdef list kept_apart(object gradients, object beside):
    """Gradients (None, Tensors, raw arrays), with copies of raw ones that share memory with one before or beside."""
    cdef list found = list(gradients)
    cdef set owners = set()
    cdef Py_ssize_t k
    cdef object g, key
    for g in beside:
        if type(g) is _ndarray:
            owners.add(owner_of(g))
    for k in range(len(found)):
        g = found[k]
        if g is None or isinstance(g, TensorBase):
            continue
        key = owner_of(g) if type(g) is _ndarray else <size_t><void*>g
        if key in owners:
            found[k] = g.copy(order="K") if type(g) is _ndarray else copied(g)
        else:
            owners.add(key)
    return found


cdef object owner_of(object array):
    """The address of the array whose memory an array of NumPy's shows."""
    while type(array.base) is _ndarray:
        array = array.base
    return <size_t><void*>array


cdef object copied(object raw):
    return find_backend(raw).clone(raw, raw)


cdef enum:
    # Elements of a large gradient of which NumPy's `any`, which looks at all it gets, is asked first, and at most. Each
    # question costs a microsecond, as do 2000 elements.
    LOOKED_AT = 1 << 13
    AT_MOST = 1 << 17


cpdef bint may_be_zero(object gradient) except -1:
    """Whether a gradient is zero everywhere. A look at one number: most are told from zero by it.

    Others, such as those of extrema and gathers, have zeros in front, and soon something else.
    """
    cdef Py_ssize_t i = 0, n = LOOKED_AT
    if gradient is None:
        return True
    if type(gradient) is not _ndarray:
        return False
    if gradient.size and gradient.item(0) != 0:
        return False
    if gradient.size > 2 * LOOKED_AT and gradient.flags.c_contiguous:
        gradient = gradient.reshape(-1)
        while i < gradient.size:
            if gradient[i:i + n].any():
                return False
            i += n
            n = min(2 * n, AT_MOST)
        return True
    return not gradient.any()


cpdef object give_back(int kind, object gradient, GradMeta meta):
    """A gradient (None: zero) in the form of the leaf it belongs to."""
    if gradient is None:
        gradient = meta.ops.zeros(meta)
    elif isinstance(gradient, TensorBase):
        if kind == KIND_TENSOR or gradient.requires_grad:
            return gradient
        gradient = gradient.array
    if kind == KIND_TENSOR:
        return wrap_raw(gradient)
    if kind == KIND_NUMBER and not gradient.shape:
        return gradient.item() if type(gradient) is _ndarray else wrap_raw(gradient).item()
    if kind == KIND_SCALAR and not gradient.shape:
        return gradient[()]
    return gradient


@cython.auto_pickle(False)
cdef class Evaluated:
    """What `grad` and `value_and_grad` return: the call from the arguments to the results, with no frame of Python's.

    The subclass has what is rare: `track(args, kwargs)`, the call where parameters are chosen by name, and
    `pulled(tracked)`, the gradient of a result that is no plain number.
    """
    cdef object name, function, argnums
    cdef bint has_aux, with_value

    def prepare(self, name, function, argnums, bint has_aux, bint with_value):
        """The name of the transform, what is tracked, positions (None: `track` knows), what is returned."""
        self.name, self.function, self.argnums = name, function, argnums
        self.has_aux, self.with_value = has_aux, with_value

    def __call__(self, *args, **kwargs):
        cdef TrackedCallBase tracked
        cdef object gradients, value
        if _compiled and self.argnums is not None:
            tracked = <TrackedCallBase>(<PyTypeObject*>_subclass).tp_new(_subclass, <PyObject*>_no_arguments, NULL)
            tracked.begin(self.name, self.function, args, self.argnums)
            tracked.make(kwargs if kwargs else None, self.has_aux, True)
        else:
            tracked = self.track(args, kwargs)
        gradients = tracked.plain_gradient()
        if gradients is None:
            gradients = self.pulled(tracked)
        if not self.with_value:
            return (gradients, tracked.auxiliary()) if self.has_aux else gradients
        value = tracked.value()
        return ((value, tracked.auxiliary()), gradients) if self.has_aux else (value, gradients)
