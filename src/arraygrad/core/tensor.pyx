# Tensor: the class that users hold.
# May import: engine.*, all of core but calls, constructors, containers and function. (ops and others register here.)
import weakref

cimport cython
from cpython.object cimport PyObject

from arraygrad.engine.node cimport NodeHooks, share_deallocation, track
from arraygrad.core.adopted cimport (
    any_adopted, arraygrad_adopting, asked, asked_shape, class_of, formatted, numbers_first, numbers_inplace, text_of,
)
from arraygrad.core.apply cimport apply_op, binary, refresh, unary
from arraygrad.core.attributes cimport own_attributes
from arraygrad.core.copies cimport cast, copied, deepcopied, shallow
from arraygrad.core.convert cimport (
    are_two_keys, before_bytes, leaving, left, listed, looked_at, number, one_element, recorded_copy, refuse_conversion,
    refuse_store, representation, taken, warn_of_hooks,
)
from arraygrad.core.elements cimport put_element, use_operations
from arraygrad.core.exports cimport array_interface, array_of, fill_buffer, shared
from arraygrad.core.exposed_memory cimport expose
from arraygrad.core.inplace cimport array_written, inplace, setitem
from arraygrad.core.accumulators cimport leaf_hooks
from arraygrad.core.op cimport Op, named_op
from arraygrad.core.number_kinds cimport as_number, as_order, as_truth, is_no_array, is_repeated
from arraygrad.core.operands cimport is_like_scalar
from arraygrad.core.protocols cimport array_function, array_ufunc
from arraygrad.core.roots cimport plain_backward
from arraygrad.core.value cimport (
    Backend, TensorBase, assign_grad, find_backend, grad_of, is_tensor, join_base, leave_inference, new_tensor, raw_now,
    set_grad, version_of, wrap,
)
from arraygrad.core.views cimport indexed, key_of, transposed, use_shapes

from arraygrad.engine.later import called_later
from arraygrad.core.convert import warn_of_no_leaf
from arraygrad.engine.node import keep_for_ever
from arraygrad.core.graph_ops import RetainGrad
from arraygrad.core.value import set_tensor_type

import arraygrad.core.accumulators as _accumulators
import arraygrad.core.apply as _apply
import arraygrad.engine.node as _node
import arraygrad.core.inplace as _inplace
import arraygrad.core.nodes as _nodes
import arraygrad.core.roots as _roots
import arraygrad.core.value as _value

# Python code imports these from here; some are C types and functions to the compiled code above.
for _module, _names in (
    (_apply, ("apply_op",)),
    (_inplace, ("increment_version",)),
    (_node, ("is_grad_enabled", "is_inference_mode_enabled", "set_grad_mode", "switch_inference")),
    (_accumulators, ("AccumulateGrad",)),
    (_nodes, ("OpNode",)),
    (_roots, ("edge_of", "gradient_edge")),
    (_value, ("Backend", "Value", "backend_of", "register_backend", "set_backend_finder", "set_backend_namespaces",
              "set_saved_mutation")),
):
    globals().update({_name: getattr(_module, _name) for _name in _names})


cdef str NO_HOOK = ("cannot register a hook on a tensor that doesn't require gradient: make it, or what it is computed "
                    "from, by arraygrad.tensor(data, requires_grad=True)")

cdef Op ADD, SUB, MUL, TRUEDIV, FLOORDIV, MOD, POW, MATMUL, NEG, POS, ABS, INVERT
cdef Op AND, OR, XOR, LSHIFT, RSHIFT, LT, LE, EQ, NE, GT, GE


def install_operators(dict ops):
    """Take the operators, and what in-place writes need, from the compiled table (dict name -> Op)."""
    global ADD, SUB, MUL, TRUEDIV, FLOORDIV, MOD, POW, MATMUL, NEG, POS, ABS, INVERT
    global AND, OR, XOR, LSHIFT, RSHIFT, LT, LE, EQ, NE, GT, GE
    by = {op.entry.operator: op for op in ops.values() if op.entry.operator}
    ADD, SUB, MUL, TRUEDIV = by["add"], by["sub"], by["mul"], by["truediv"]
    FLOORDIV, MOD, POW, MATMUL = by["floordiv"], by["mod"], (<Op>by["pow"]).by_operator, by["matmul"]
    NEG, POS, ABS, INVERT = by["neg"], by["pos"], by["abs"], by["invert"]
    AND, OR, XOR, LSHIFT, RSHIFT = by["and"], by["or"], by["xor"], by["lshift"], by["rshift"]
    LT, LE, EQ, NE, GT, GE = by["lt"], by["le"], by["eq"], by["ne"], by["gt"], by["ge"]
    use_operations(ops["_getitem"], ops["_setitem"])
    use_shapes(ops["_getitem"], ops["permute_dims"])


def install_methods(dict methods):
    """Put functions into Tensor as methods (the type is compiled and refuses setattr)."""
    cdef dict namespace = <dict>(<PyTypeObject*>Tensor).tp_dict
    namespace.update(methods)
    keep_for_ever(namespace)
    PyType_Modified(<PyTypeObject*>Tensor)


cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        PyObject* tp_dict
    void PyType_Modified(PyTypeObject* t)


cdef class _Items:
    """Iterates over the first axis as over NumPy's arrays: each item is taken when it is asked for.

    So a loop sees what it has written ahead: `for i, v in enumerate(y): y[i + 1] += 0.5 * v`.
    """
    cdef Tensor tensor
    cdef Py_ssize_t at

    def __init__(self, Tensor tensor not None):
        self.tensor = tensor

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= len(self.tensor):
            raise StopIteration
        self.at += 1
        return self.tensor[self.at - 1]

    def __length_hint__(self):
        return max(len(self.tensor) - self.at, 0)


cdef class Tensor(TensorBase):
    """A differentiable view of an array of any Array-API library.

    Made by `arraygrad.asarray` (zero-copy), `arraygrad.tensor` (copies) and by operations on Tensors.

    >>> import arraygrad as ag
    >>> ag.tensor([1.0, 2.0], requires_grad=True) * 2
    Tensor([2., 4.], grad_fn=<MulBackward>)
    """

    def __init__(self, *args, **kwargs):
        raise TypeError("Tensor is made by arraygrad.asarray(array) or arraygrad.tensor(data)")

    @property
    def __class__(self):
        return class_of(self)

    # Public API: the array

    @property
    def array(self):
        """The raw array, zero-copy. Writing into it is not recorded; backward refuses what it needs of it then."""
        leaving(self, "array")
        if not self.value.exposed:
            expose(self)
        return self.value.raw

    @array.setter
    def array(self, value):
        array_written(self, value)

    @property
    def dtype(self):
        """The backend's own dtype object."""
        return self.value.meta.dtype if self.value.meta.ndim else asked(self, "dtype", self.value.meta.dtype)

    @property
    def shape(self):
        """Tuple of ints."""
        return self.value.meta.shape_tuple() if self.value.meta.ndim else asked_shape(self)

    @property
    def ndim(self):
        """Number of axes."""
        return self.value.meta.ndim if self.value.meta.ndim else asked(self, "ndim", self.value.meta.ndim)

    @property
    def size(self):
        """Number of elements."""
        return self.value.meta.size if self.value.meta.ndim else asked(self, "size", self.value.meta.size)

    @property
    def nbytes(self):
        """Bytes of the elements."""
        return self.value.raw.nbytes

    @property
    def itemsize(self):
        """Bytes of one element."""
        return self.value.raw.itemsize

    @property
    def strides(self):
        """Strides of the raw array, in bytes where the backend has them."""
        return self.value.raw.strides

    @property
    def flags(self):
        """Flags of the raw array."""
        return self.value.raw.flags

    @property
    def device(self):
        """The backend's device object of the array."""
        cdef object device = self.value.meta.device
        return device if device is not None else (<Backend>self.value.meta.ops).host_device(self.value.raw)

    @property
    def T(self):
        """The transpose: the standard's for two axes, NumPy's reversal of all axes otherwise."""
        return transposed(self)

    @property
    def mT(self):
        """The last two axes exchanged."""
        cdef Op op = named_op("matrix_transpose")
        return apply_op(op, op.bind((self,), {}))

    @property
    def real(self):
        """The real part (the Tensor itself where it is real)."""
        return as_number(self, 0, apply_op(named_op("real"), (self,))) if self.value.meta.is_complex else self

    @property
    def imag(self):
        """The imaginary part: zeros for a real Tensor."""
        op = named_op("imag" if self.value.meta.is_complex else "_imag_of_real")
        return as_number(self, 0, apply_op(op, (self,)))

    def numpy(self):
        """A numpy.ndarray of the values: detached, on the host, sharing memory where it can."""
        expose(self)
        return left(self, "numpy")

    def item(self, *index):
        """One element, the only one or that at `index`: a Python scalar, in a transform that follows it a Tensor."""
        return taken(self, index)

    def tolist(self):
        """The values as nested lists of Python scalars, in a transform that follows the tensor of 0-d Tensors."""
        return listed(self)

    # Public API: the graph

    @property
    def requires_grad(self):
        """Whether operations on this tensor are recorded."""
        if self.extra is not None:
            refresh(self)
        return bool(self.tracked)

    @requires_grad.setter
    def requires_grad(self, bint mode):
        set_requires_grad(self, mode, "only Tensors of floating point and complex dtype can require gradients")

    def requires_grad_(self, bint requires_grad=True):
        """Set `requires_grad` and return the tensor."""
        if requires_grad and self.tracked:
            return self
        set_requires_grad(self, requires_grad, "only Tensors of floating point dtype can require gradients")
        return self

    @property
    def grad_fn(self):
        """The node that computes this tensor's gradient contribution; None for leaves."""
        if self.extra is not None:
            refresh(self)
        return self.grad_fn_

    @property
    def output_nr(self):
        """Which output of `grad_fn`'s operation this tensor is."""
        if self.extra is not None:
            refresh(self)
        return self.output_nr_

    @property
    def is_leaf(self):
        """Whether no recorded operation made this tensor."""
        return self.grad_fn is None

    @property
    def retains_grad(self):
        """Whether `.grad` of this non-leaf is filled by backward."""
        cdef NodeHooks hooks = None if self.grad_fn is None else self.grad_fn_.hooks
        return bool(hooks is not None and hooks.retains and self.output_nr_ in hooks.retains)

    @property
    def version(self):
        """How often the memory was written in place, through this tensor or one that shares it."""
        return version_of(self.value)

    @property
    def grad(self):
        """The accumulated gradient, a Tensor of this tensor's shape, dtype and device, or None."""
        if self.grad_ is None and self.grad_fn is not None and not self.retains_grad:
            warn_of_no_leaf()
        return grad_of(self)

    @grad.setter
    def grad(self, value):
        assign_grad(self, value)

    @grad.deleter
    def grad(self):
        set_grad(self, None)

    def detach(self):
        """A Tensor over the same memory, not attached to the graph."""
        leaving(self, "detach")
        cdef TensorBase t = new_tensor(raw_now(self), self.value.meta)
        cdef long history
        join_base(t.value, self, &history)
        t.value.inference = self.value.inference
        t.array0d = not is_like_scalar(self, <Backend>self.value.meta.ops)
        return t

    def detach_(self):
        """Detach this tensor itself from the graph and return it."""
        if self.extra is not None and self.extra.parent is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self.grad_fn_ = None
        self.output_nr_ = 0
        self.tracked = False
        return self

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Compute gradients of this tensor and add them to the leaves' `.grad`; see arraygrad.autograd.backward."""
        if create_graph or inputs is not None or not plain_backward(self, gradient, retain_graph):
            _autograd.backward(self, gradient, retain_graph, create_graph, inputs)

    def retain_grad(self):
        """Keep this non-leaf's gradient in `.grad` when backward passes it (nothing to do on a leaf)."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.grad_fn_ is None:
            return
        track(<PyObject*>self)
        cdef NodeHooks hooks = self.grad_fn_.need_hooks()
        with cython.critical_section(hooks):
            if hooks.retains is None:
                hooks.retains = {}
        hooks.retains.setdefault(self.output_nr_, RetainGrad(weakref.ref(self)))

    def register_hook(self, hook):
        """Call `hook(grad)` with this tensor's gradient in every backward; what it returns takes its place.

        Returns a handle (`remove()` takes the hook away). Raises RuntimeError if the tensor doesn't require grad.
        What is not computed from `grad` by operations on Tensors has no further derivative: asking for one raises.
        """
        if not self.requires_grad:
            raise RuntimeError(NO_HOOK)
        track(<PyObject*>self)
        hooks = leaf_hooks(self) if self.grad_fn_ is None else self.grad_fn_.need_hooks()
        return hooks.add("tensor_pre", (self.output_nr_, called_later(hook)))

    def register_post_accumulate_grad_hook(self, hook):
        """Call `hook(tensor)` after a gradient was added to this leaf's `.grad`. Returns a handle."""
        if not self.requires_grad:
            raise RuntimeError(NO_HOOK)
        if self.grad_fn_ is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return leaf_hooks(self).add("post_accumulate", called_later(hook))

    # Conversions

    def __array_namespace__(self, /, *, api_version=None):
        """The differentiable namespace of this tensor's backend (always the same object)."""
        namespace = (<Backend>self.value.meta.ops).namespace
        if api_version is not None and api_version > namespace.__array_api_version__:
            raise ValueError(f"version {api_version} of the array API is not supported; "
                             f"{namespace.__array_api_version__} is")
        return namespace

    def __array__(self, dtype=None, copy=None):
        return array_of(self, dtype, copy)

    @property
    def __array_interface__(self):
        return array_interface(self)

    def __getbuffer__(self, Py_buffer* view, int flags):
        fill_buffer(self, view, flags)

    def __releasebuffer__(self, Py_buffer* view):
        pass                                # so that NumPy keeps the buffer, not the Tensor

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        refuse_conversion(self, "from_dlpack")
        kwargs = {}
        if stream is not None:
            kwargs["stream"] = stream
        if max_version is not None:
            kwargs["max_version"] = max_version
        if dl_device is not None:
            kwargs["dl_device"] = dl_device
        if copy is not None:
            kwargs["copy"] = copy
        return (self.value.raw if copy else shared(self)).__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.value.raw.__dlpack_device__()

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        return array_function(func, types, args, kwargs)

    def __float__(self):
        return number(self, "float")

    def __int__(self):
        if self.tracked or self.extra is not None:
            refuse_store(self)
        return int(one_element(self, "int"))

    def __complex__(self):
        return number(self, "complex")

    def __bool__(self):
        if self.value.meta.size != 1:
            raise ValueError(f"The truth value of an array with {self.value.meta.size} elements is ambiguous. "
                             "Use t.any() or t.all(); to choose element by element arraygrad.where(condition, a, b); "
                             "to join conditions of elements (a) & (b), (a) | (b) and ~a for `and`, `or` and `not`; "
                             "to find an array among others, as `in`, index() and remove() of a list do by ==, "
                             "any(t is other for other in others)")
        looked_at(self, "bool")
        return bool(self.value.raw)

    def __index__(self):
        looked_at(self, "index")
        if self.value.meta.ndim != 0 or self.value.meta.is_floating:
            raise TypeError(f"only a 0-d integer tensor can be an index, but got shape {self.shape} and dtype "
                            f"{self.dtype}")
        return self.value.raw.__index__() if hasattr(self.value.raw, "__index__") else int(self.value.raw)

    def __len__(self):
        if self.value.meta.ndim == 0:
            raise TypeError("len() of unsized object: the tensor is 0-d")
        return self.value.meta.shape_tuple()[0]

    def __iter__(self):
        if self.value.meta.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return _Items(self)

    def __contains__(self, item):
        found = self.detach() == item
        looked_at(self, "in")
        return bool((<Tensor>found).value.raw.any() if isinstance(found, Tensor) else found)

    def __repr__(self):
        return representation(self) if not any_adopted() else text_of(self, True)

    def __str__(self):
        return representation(self) if not any_adopted() else text_of(self, False)

    def __format__(self, spec):
        return formatted(self, spec)

    def __hash__(self):
        cdef Backend backend = <Backend>self.value.meta.ops
        if self.keyed or (arraygrad_adopting != NULL and backend.scalars and self.value.meta.ndim == 0 and (
                is_like_scalar(self, backend) or self.extra is not None and self.extra.parent is not None)):
            looked_at(self, "hash")
            value = self.value.raw.item()
            if value == value:              # of nan each has its own
                self.keyed = True
                return hash(value)
        return <Py_ssize_t>(<void*>self) >> 4

    def __copy__(self):
        copy = recorded_copy(self)
        return shallow(self) if copy is None else copy

    def __deepcopy__(self, memo):
        if id(self) not in memo and (copy := recorded_copy(self)) is not None:
            memo[id(self)] = copy
            return copy
        if self.grad_fn is not None and id(self) not in memo:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                               "protocol at the moment. Use t.copy() for a recorded copy, t.detach().copy() for the "
                               "values.")
        if id(self) in memo:
            return memo[id(self)]
        return deepcopied(self, memo, True)

    def __reduce__(self):
        before_bytes(self, "pickling")
        warn_of_hooks(self)
        expose(self)
        return (unpickle, (self.value.raw, bool(self.requires_grad)), own_attributes(self))

    def copy(self, str order="C"):
        """A recorded copy of the values, laid out in memory row by row ("C"), as ndarray.copy() does; "F", "A" and "K"
        as there. Libraries whose arrays have no layout keep theirs.
        """
        if order is None or order.upper() not in ("C", "F", "A", "K"):
            raise ValueError(f"copy: order must be one of 'C', 'F', 'A', or 'K', but got {order!r}")
        return copied(self, order.upper())

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """Cast to `dtype`, recorded between floating dtypes. Other parameters are ndarray's; `subok` says nothing."""
        return cast(self, dtype, order, casting, copy)

    def to_device(self, device, /, *, stream=None):
        """Move to a device of the same backend, recorded: the gradient moves back. `stream`: what copies (CuPy)."""
        cdef Op op = named_op("_to_device")
        return apply_op(op, op.bind((self, device), {} if stream is None else {"stream": stream}))

    # Indexing

    def __getitem__(self, key):
        if self.python:
            is_no_array(self, None)
        return indexed(self, key)

    def __setitem__(self, key, value):
        key = key_of(self, key)
        if not put_element(self, key, value):
            setitem(self, key, value)

    # Operators

    def __add__(self, other):
        return as_number(self, other, binary(ADD, self, other))

    def __radd__(self, other):
        return as_number(self, other, binary(ADD, other, self))

    def __iadd__(self, other):
        return as_number(self, other, inplace(self, ADD, other))

    def __sub__(self, other):
        return as_number(self, other, binary(SUB, self, other))

    def __rsub__(self, other):
        return as_number(self, other, binary(SUB, other, self))

    def __isub__(self, other):
        return as_number(self, other, inplace(self, SUB, other))

    def __mul__(self, other):
        return as_number(self, other, binary(MUL, self, other)) if not is_repeated(self, other) else NotImplemented

    def __rmul__(self, other):
        return as_number(self, other, binary(MUL, other, self)) if not is_repeated(self, other) else NotImplemented

    def __imul__(self, other):
        return as_number(self, other, inplace(self, MUL, other)) if not is_repeated(self, other) else NotImplemented

    def __truediv__(self, other):
        return as_number(self, other, numbers_first(TRUEDIV, self, other))

    def __rtruediv__(self, other):
        return as_number(self, other, numbers_first(TRUEDIV, other, self))

    def __itruediv__(self, other):
        return as_number(self, other, numbers_inplace(TRUEDIV, self, other))

    def __floordiv__(self, other):
        return as_number(self, other, numbers_first(FLOORDIV, self, other))

    def __rfloordiv__(self, other):
        return as_number(self, other, numbers_first(FLOORDIV, other, self))

    def __ifloordiv__(self, other):
        return as_number(self, other, numbers_inplace(FLOORDIV, self, other))

    def __mod__(self, other):
        return as_number(self, other, numbers_first(MOD, self, other))

    def __rmod__(self, other):
        return as_number(self, other, numbers_first(MOD, other, self))

    def __imod__(self, other):
        return as_number(self, other, numbers_inplace(MOD, self, other))

    def __divmod__(self, other):
        return self // other, binary(MOD, self, other)

    def __rdivmod__(self, other):
        return other // self, binary(MOD, other, self)

    def __pow__(self, other, mod):
        if mod is not None:
            return NotImplemented
        return as_number(self, other, numbers_first(POW, self, other))

    def __rpow__(self, other, mod):
        if mod is not None:
            return NotImplemented
        return as_number(self, other, numbers_first(POW, other, self))

    def __ipow__(self, other):
        return as_number(self, other, numbers_inplace(POW, self, other))

    def __matmul__(self, other):
        if self.python:
            is_no_array(self, other)
        return binary(MATMUL, self, other)

    def __rmatmul__(self, other):
        if self.python:
            is_no_array(self, other)
        return binary(MATMUL, other, self)

    def __imatmul__(self, other):
        return inplace(self, MATMUL, other)

    def __and__(self, other):
        return binary(AND, self, other)

    def __rand__(self, other):
        return binary(AND, other, self)

    def __iand__(self, other):
        return inplace(self, AND, other)

    def __or__(self, other):
        return binary(OR, self, other)

    def __ror__(self, other):
        return binary(OR, other, self)

    def __ior__(self, other):
        return inplace(self, OR, other)

    def __xor__(self, other):
        return binary(XOR, self, other)

    def __rxor__(self, other):
        return binary(XOR, other, self)

    def __ixor__(self, other):
        return inplace(self, XOR, other)

    def __lshift__(self, other):
        return binary(LSHIFT, self, other)

    def __rlshift__(self, other):
        return binary(LSHIFT, other, self)

    def __ilshift__(self, other):
        return inplace(self, LSHIFT, other)

    def __rshift__(self, other):
        return binary(RSHIFT, self, other)

    def __rrshift__(self, other):
        return binary(RSHIFT, other, self)

    def __irshift__(self, other):
        return inplace(self, RSHIFT, other)

    def __neg__(self):
        return as_number(self, 0, unary(NEG, self))

    def __pos__(self):
        return as_number(self, 0, unary(POS, self))

    def __abs__(self):
        return as_number(self, 0, unary(ABS, self))

    def __invert__(self):
        return unary(INVERT, self)

    def __lt__(self, other):
        return as_order(self, other, binary(LT, self, other))

    def __le__(self, other):
        return as_order(self, other, binary(LE, self, other))

    def __eq__(self, other):
        if (self.keyed or (is_tensor(other) and (<TensorBase>other).keyed)) and are_two_keys(self, other):
            return False
        return as_truth(self, other, binary(EQ, self, other))

    def __ne__(self, other):
        return as_truth(self, other, binary(NE, self, other))

    def __gt__(self, other):
        return as_order(self, other, binary(GT, self, other))

    def __ge__(self, other):
        return as_order(self, other, binary(GE, self, other))


share_deallocation(Tensor)
set_tensor_type(Tensor)

cdef object _autograd = None


def set_autograd(module):
    """Serve Tensor.backward by module.backward(tensor, gradient, retain_graph, create_graph, inputs)."""
    global _autograd
    _autograd = module
    keep_for_ever(module)


cdef int set_requires_grad(Tensor t, bint mode, str text) except -1:
    if mode and not t.value.meta.is_floating:
        raise RuntimeError(f"{text}, but got dtype {t.value.meta.dtype}: give "
                           "arraygrad.tensor(data, dtype=arraygrad.float64, requires_grad=True)")
    if mode and t.value.inference:
        leave_inference(t)
    if t.grad_fn is not None:
        if mode:
            return 0
        raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a computed "
                           "variable in a subgraph that doesn't require differentiation use var_no_grad = "
                           "var.detach().")
    t.tracked = mode
    return 0


def unpickle(raw, bint requires_grad):
    """A leaf over an unpickled array."""
    return leaf_over(raw, requires_grad)


cdef Tensor leaf_over(object raw, bint requires_grad):
    """A Tensor over a raw array, zero-copy."""
    cdef Tensor t = wrap(raw, find_backend(raw))
    t.array0d = True
    if requires_grad:
        set_requires_grad(t, True, "Only Tensors of floating point and complex dtype can require gradients")
    return t


def metadata_of(t):
    """GradMeta of a Tensor."""
    return (<Tensor?>t).value.meta
