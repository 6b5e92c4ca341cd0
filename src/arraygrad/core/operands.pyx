# What stands beside a Tensor in an operation and is no Tensor: numbers, arrays, lists, other classes.
# May import: engine.arrayops, core.op, core.value, core.written_scalars.
import importlib
import numbers
import operator
from types import FunctionType

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend, TensorBase, find_backend, registered, wrap
from arraygrad.core.written_scalars cimport ITEMS_WRITTEN

cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char* where) except *       # not zero is an error: 1 or -1
    void Py_LeaveRecursiveCall()

# The double precision of each dtype that is narrower.
WIDER = {"float16": "float64", "float32": "float64", "complex64": "complex128"}

# Note [Operands of other classes]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# An operator on a Tensor and something that is neither a number nor an array follows NumPy's ndarray:
# (1) A class that says `__array_ufunc__ = None`, or has a higher `__array_priority__`, gets its turn: NotImplemented.
#     Not so arrays of PyTorch and JAX, whose operators know no Tensors: Python would say no more than that.
# (2) So does an array of a library that no backend serves (xarray, pandas, pint), and any class with the reflected
#     operator, where NumPy would make an array of objects. If the class then asks the Tensor for its values, a Tensor
#     that requires grad refuses.
# (3) Lists, tuples, ranges, buffers and other sequences become arrays as numpy.asarray makes them; lists and tuples
#     that hold Tensors are stacked, recorded. Ragged ones are NumPy's ValueError.
# (4) `==`, `!=` and the orders with anything else (None, text, any object) are NumPy's own, element by element; they
#     have no derivative. Any other operator is an error: an array of objects is no Tensor.
# (5) A computed integer without axes is like a scalar of NumPy's (Note [Scalars]): it repeats sequences
#     and text, `[0] * mask.sum()`. One that was made as an array multiplies their elements, and so does a real number,
#     by which nothing can be repeated.
# (6) Operators of SciPy's own sparse matrices and a Tensor that requires grad are those of arraygrad.scipy.sparse, and
#     are recorded. For `A @ t` see Note [Sparse matrices beside Tensors]. So are all operations of cupyx's matrices and
#     Tensors, whether they require grad or not: cupyx leaves those to the Tensor.
# (7) An object of a class that the program derives from numpy.ndarray becomes in adopted calls one of the same class
#     that holds a Tensor: Note [Classes derived from arrays] in adoption/subclasses.py.
# Arrays of other libraries take the lists that the library itself takes (`Backend.takes_lists`); otherwise (3) is a
# TypeError, in comparisons too, where the library may answer with a single False.
# Guarded by tests/core/test_operands.py and tests/duck_arrays/test_other_classes.py.
cdef dict _MIRRORED = {"lt": "__gt__", "le": "__ge__", "gt": "__lt__", "ge": "__le__", "eq": "__eq__", "ne": "__ne__"}
cdef frozenset _KNOW_NO_TENSORS = frozenset(("torch", "jax", "jaxlib"))
cdef object _absent = object()
cdef object _asarray = None


def set_asarray(function):
    """Register the function that makes a Tensor of a list of Tensors."""
    global _asarray
    _asarray = function


cdef object _subclasses = None


def set_subclasses(function):
    """Register what makes an object with a Tensor of one whose class derives from numpy.ndarray, or None of it."""
    global _subclasses
    _subclasses = function


cdef object listed(object items):
    """A list or tuple that holds Tensors as one Tensor, stacked and recorded."""
    return _asarray(items)


cdef object other_operand(Op op, object x, Backend backend):
    """The raw form of an operand that is no Tensor: scalar or array of the same backend. NotImplemented if neither."""
    if type(x) is backend.array_type:
        return x
    if type(x) in (int, bool, complex, float):
        return x
    if isinstance(x, numbers.Number):
        return backend.scalar(x)
    if is_numpy_scalar(x):
        return backend.scalar(x) if x.dtype.kind in "biufc" else NotImplemented
    other = registered(type(x))
    if other is backend:
        return x
    return NotImplemented if other is None or backend.scalars or not is_single(x) else backend.scalar(x)


cdef object strange_operand(Op op, object x, TensorBase t, bint on_left, bint* done):
    """What an operand that is no number beside the Tensor `t` stands for: see Note [Operands of other classes].

    Returns a Tensor, or an array that `other_operand` takes; with `done` the result of the operation: NotImplemented
    where the class of `x` decides. Raises TypeError for arrays of other libraries and for what is no operand,
    ValueError for ragged lists.
    """
    cdef type cls = type(x)
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef bint comparison = op.entry.operator in _MIRRORED
    cdef bint takes_lists = backend.takes_lists()
    cdef object found
    done[0] = True
    if cls is not list and cls is not tuple:
        if op.entry.operator in _OF_SPARSE and str(cls.__module__).startswith(_SPARSE):
            if str(cls.__module__).startswith("cupyx") or (t.tracked and (on_left or op.entry.operator != "truediv")):
                return beside_sparse(op.entry.operator, x, t, on_left)                          # (6)
        if not on_left and gives_way(x):
            if str(cls.__module__).partition(".")[0] not in _KNOW_NO_TENSORS:
                return its_answer(op, x, t)                                                     # (1)
            done[0] = False
            return array_like(op, x, True, t)
        if is_array_like(cls):
            if _subclasses is not None and issubclass(cls, backend.array_type) and op.entry.operator is not None:
                found = _subclasses(x)
                if found is not None:
                    operation = getattr(operator, op.entry.operator)
                    return operation(found, t) if on_left else operation(t, found)              # (7)
            found = array_like(op, x, on_left, t)                                               # (2)
            done[0] = found is NotImplemented
            return its_answer(op, x, t) if done[0] else found
        if takes_lists and not comparison and not on_left and answers(op, cls):
            return NotImplemented
    if op.entry.operator == "mul" and is_sequence(x) and counts(t, backend):
        return x * int(t.value.raw)                                                             # (5)
    if not takes_lists:
        if isinstance(x, (list, tuple)):
            raise TypeError(f"{op.name}: {backend.name} takes no {cls.__name__} beside an array; make it one first, "
                            f"arraygrad.{backend.name}.asarray(x)")
        return NotImplemented
    done[0] = False
    if isinstance(x, (list, tuple)) and has_tensor(x):
        return listed(list(x))                                                                  # (3)
    import numpy
    found = numpy.array(x)
    if found.dtype.kind in "biufc":
        return wrap(backend.asarray(found, None, None), backend)
    if not comparison:
        raise TypeError(f"{op.name}: expected numbers or booleans beside a Tensor, but got {cls.__name__}, of which "
                        f"NumPy makes an array of dtype {found.dtype}")
    done[0] = True
    if backend.name != "numpy":
        return NotImplemented
    found = getattr(operator, op.entry.operator)                                                # (4)
    found = found(x, t.value.raw) if on_left else found(t.value.raw, x)
    return found if found is NotImplemented else wrap(backend.wrap_raw(found), backend)


_SPARSE = ("scipy.sparse", "cupyx.scipy.sparse")
_OF_SPARSE = ("matmul", "mul", "add", "sub", "truediv")
_SCIPY = "arraygrad.scipy"             # by its name, as SciPy is optional


cdef object beside_sparse(str name, object x, TensorBase t, bint on_left):
    """The operator of a sparse matrix of SciPy's or cupyx's and a Tensor."""
    ours = importlib.import_module(f"{_SCIPY}.sparse._constants").recorded_of(x)
    return getattr(ours, f"__{name}__" if on_left else f"__r{name}__")(t)


cdef object its_answer(Op op, object x, TensorBase t):
    """NotImplemented, for Python to ask the class of `x`.

    An array that does not know Tensors may leave `==` to Python, whose answer is a single False: so that is asked for
    here, and is an error.
    """
    cdef object name = op.entry.operator
    cdef object shape = getattr(x, "shape", ())
    if name not in ("eq", "ne") or not isinstance(shape, tuple) or not shape:
        return NotImplemented
    found = getattr(type(x), _MIRRORED[name])(x, t)
    if found is NotImplemented or isinstance(found, bool):
        raise TypeError(f"{op.name}: {type(x).__name__} does not compare itself with a Tensor element by element; "
                        f"compare it with t.numpy()")
    return found


cdef bint is_sequence(object x) except -1:
    """Whether Python repeats an object that is multiplied by an int: lists, text, deques, array.array."""
    return isinstance(x, (list, tuple, str, bytes, bytearray)) or type(x).__module__ in ("array", "collections")


cdef bint counts(TensorBase t, Backend backend) except -1:
    """Whether a sequence times the Tensor `t` is the sequence repeated, as the library has it (5)."""
    if t.value.meta.ndim or t.value.meta.is_floating or "bool" in str(t.value.meta.dtype):
        return False
    return is_like_scalar(t, backend) or backend.name == "torch"


# Note [Scalars]
# ~~~~~~~~~~~~~~
# `b = a; b += 1` changes `a` where `a` is an array of NumPy's, and leaves it where `a` is a scalar, as numpy.sum(x),
# x[0] and every computed number without axes are. Here both are 0-d Tensors. Programs keep an old value that way
# (`last = total; total += step`), so the operator must give the name a new Tensor where NumPy would, and write in place
# where NumPy would:
# (1) Backend.scalars is true for NumPy, whose 0-d results are scalars; other libraries give arrays.
# (2) TensorBase.array0d is set where a 0-d Tensor is made as an array: by asarray, tensor and creation functions, and
#     by the operations that give arrays in NumPy too (Op.makes_arrays). Casts, copies and detach hand it on.
#     A Python float or NumPy scalar that a transform hands to a function is a scalar.
# (3) A 0-d view shows memory of an array (x[0, ...], a.reshape(())), so it is an array. x[0] is none. What looks like a
#     view of a scalar (s.reshape(1), s[None], s[...]) is an array of its own, as in NumPy, and what has no axes, as
#     s.T, is the scalar again: see note_view.
# (4) Arrays of immutable libraries know no in-place operator: Python computes `a + b` and gives the name to that.
# (5) To the Array API standard a result without axes is an array, whose items may be written, and its code does that
#     (`z = xp.sum(x) / n; z[z < 0] = 0`). NumPy raises there. So TensorBase.array0d is ITEMS_WRITTEN in such results of
#     the functions of the standard's namespaces, and of operators on them: they are written, also by a mask. In-place
#     operators give new Tensors as in (1), which the standard leaves open, and a transform gives a scalar.
# Guarded by tests/core/test_scalars.py.
cdef bint is_like_scalar(TensorBase t, Backend backend):
    """Whether a Tensor is a number without axes of which NumPy would make a scalar (Note [Scalars])."""
    return (backend.scalars and t.value.meta.ndim == 0 and (not t.array0d or t.array0d == ITEMS_WRITTEN)
            and (t.extra is None or t.extra.parent is None))


cdef bint rebinds(TensorBase t):
    """Whether `t op= other` gives a new Tensor and leaves `t` as it is."""
    cdef Backend backend = <Backend>t.value.meta.ops
    return not backend.mutable or is_like_scalar(t, backend)                # (4), or (1) to (3)


cdef bint gives_way(object x) except -1:
    """Whether NumPy's ndarray would leave an operator to the class of `x`."""
    cdef object ufunc = getattr(type(x), "__array_ufunc__", _absent)
    if ufunc is not _absent:
        return ufunc is None
    priority = getattr(x, "__array_priority__", 0.0)
    return isinstance(priority, (int, float)) and priority > 0.0


cdef bint is_array_like(type cls) except -1:
    return (hasattr(cls, "__array_namespace__") or hasattr(cls, "__array__") or hasattr(cls, "__dlpack__")
            or hasattr(cls, "__array_ufunc__")) and not is_numpy_class(cls)


cdef bint is_numpy_class(type cls) except -1:
    """Whether `cls` is a class of NumPy's scalars."""
    return cls.__module__ == "numpy" and not hasattr(cls, "__array_finalize__") and hasattr(cls, "item")


cdef bint is_single(object x) except -1:
    return getattr(x, "ndim", None) == 0 and hasattr(x, "item")


def held_array(x):
    """What an object of a program's class gives as its array, by `__array__`: an array or a Tensor. None: it has none.

    NumPy takes no Tensor there. Arrays with protocols of their own, and labelled arrays of libraries, are not asked:
    their library, units or labels would be lost.
    """
    if hasattr(type(x), "__recorded__"):
        return x.__recorded__()
    cdef object method = getattr(type(x), "__array__", None)
    if type(method) is not FunctionType or str(type(x).__module__).partition(".")[0] in _LABELLED:
        return None
    for name in ("__array_namespace__", "__array_function__", "__array_ufunc__"):
        if getattr(type(x), name, None) is not None:
            return None
    return x.__array__()


_LABELLED = frozenset(("pandas", "polars", "xarray", "torch", "jax", "jaxlib", "cupy", "arraygrad"))


def held_number(x):
    """What an object of a program's class gives as its number, by `__float__` or `__complex__`; None: it has none."""
    cdef object method
    for name in ("__complex__", "__float__"):
        method = getattr(type(x), name, None)
        if type(method) is FunctionType:
            return method(x)
    return None


cdef object array_like(Op op, object x, bint on_left, TensorBase t):
    """An array that `other_operand` takes now that its type is known, or a Tensor; NotImplemented where its class
    decides (2)."""
    cdef object found
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef Backend other
    import numpy
    try:
        other = find_backend(x)
    except TypeError:
        if on_left or issubclass(type(x), numpy.ndarray) or not answers(op, type(x)):
            found = held_array(x)
            if found is not None:
                return found
            raise
        return NotImplemented
    if other is backend:
        return x
    if is_like_scalar(t, backend) and not other.scalars:
        return _asarray(x)                          # and `of_one_library` moves the number: Note [Numbers that move]
    if is_single(x):
        return backend.scalar(x)
    found = backend.of_another(x)
    if found is None:
        raise mixed(op, backend, other)
    return found


cdef bint answers(Op op, type cls) except -1:
    """Whether a class has a method of its own for an operator whose left side gave way."""
    cdef object name = op.entry.operator
    cdef object mirrored, method
    if name is None or is_numpy_class(cls):
        return False
    mirrored = _MIRRORED.get(name)
    if mirrored is not None:
        return getattr(cls, mirrored) is not getattr(object, mirrored)
    mirrored = f"__r{name}__"
    method = getattr(cls, mirrored, None)
    if method is None:
        return False
    for base in cls.__mro__:
        if mirrored in base.__dict__:
            return base.__module__ not in ("builtins", "collections", "array")      # those repeat or join
    return False


cdef object mixed(Op op, Backend a, Backend b):
    return TypeError(f"{op.name}: operands on two backends, {a.name} and {b.name}; convert one of them explicitly, "
                     f"e.g. arraygrad.to_backend(x, {a.name!r}), which is recorded")


cdef tuple of_one_library(Op op, TensorBase a, TensorBase b):
    """The operands for Tensors of two libraries, where one is a number, or a constant that the other takes.

    Raises TypeError for any others.
    """
    cdef Backend of_a = <Backend>a.value.meta.ops
    cdef Backend of_b = <Backend>b.value.meta.ops
    cdef object other
    if of_a.scalars != of_b.scalars:
        other = number_beside(a, of_b, b.value.meta) if of_a.scalars else number_beside(b, of_a, a.value.meta)
        if other is not None:
            return (other, b) if of_a.scalars else (a, other)
    other = None if a.tracked else of_b.of_another(a.value.raw)
    if other is not None:
        return other, b
    other = None if b.tracked else of_a.of_another(b.value.raw)
    if other is None:
        raise mixed(op, of_a, of_b)
    return a, other


# Note [Numbers that move]
# ~~~~~~~~~~~~~~~~~~~~~~~~
# A computed number of NumPy's (Note [Scalars]) is a Python number or a scalar in a plain call, and programs have it
# beside arrays of any library: `2.0 * a` of a CuPy array, `cupy.where(a > x, a, x)`, `a[0] = x`. So there it becomes an
# array without axes of that library, on the device of what it stands beside, and the move is recorded; where it does
# not require grad it becomes a plain number. It has the precision of the array, as `Backend.scalar` has plain numbers.
# What was made as an array without axes is an array of another library, which a plain call refuses, too.
# Guarded by tests/core/test_numbers_that_move.py and tests/gpu/test_host_numbers.py.
cdef object _moved = None


def set_moved(function):
    """Register the function that makes a Tensor one of another library, by its name, on a device, recorded."""
    global _moved
    _moved = function


def number_beside(TensorBase t not None, Backend backend not None, GradMeta like):
    """A number as it stands beside an array of another library, of metadata `like`; None: `t` is no number.

    `like` is None where a function of the library's namespace is given numbers alone.
    """
    cdef str wanted
    if not is_like_scalar(t, <Backend>t.value.meta.ops) or backend.scalars:
        return None
    if not t.tracked:
        return t.value.raw.item()
    if like is None:
        return _moved(t, backend.name, None)
    if is_narrow(like):
        wanted = "complex64" if t.value.meta.is_complex else "float16" if "float16" in str(like.dtype) else "float32"
        if str(t.value.meta.dtype) != wanted:
            t = t.astype(wanted)
    return _moved(t, backend.name, like.device)


def of_the_library(Op op not None, tuple args not None, Backend backend):
    """The arguments with the numbers of NumPy's among them moved to `backend`, None: to that of the first array.

    Raises TypeError where there is no number to move, or an array stands in its place.
    """
    cdef list ours = [], others = []
    collect(args, ours, others)
    if backend is None:
        backend = <Backend>(<GradMeta>others[0]).ops
    for meta in others:
        if (<GradMeta>meta).ops is not backend:
            raise mixed(op, <Backend>(<GradMeta>meta).ops, backend)
    for t in ours:
        if backend.scalars or not is_like_scalar(t, <Backend>(<TensorBase>t).value.meta.ops):
            raise mixed(op, <Backend>(<TensorBase>t).value.meta.ops, backend)
    return numbers_moved(args, backend, widest(others))


cdef GradMeta widest(list metas):
    """The metadata by which a number takes its precision: the first of a wide real kind, or of a narrow one, or any."""
    cdef GradMeta found = None
    cdef GradMeta meta
    for meta in metas:
        if meta.is_floating and not is_narrow(meta):
            return meta
        if found is None or meta.is_floating and not found.is_floating:
            found = meta
    return found


cdef bint is_narrow(GradMeta meta) except -1:
    return str(meta.dtype).rpartition(".")[2] in WIDER


cdef int collect(object items, list ours, list others) except -1:
    """Put Tensors over NumPy into `ours`, and the metadata of arrays and Tensors of other libraries into `others`."""
    cdef Backend backend
    for item in items:
        if isinstance(item, TensorBase):
            if (<Backend>(<TensorBase>item).value.meta.ops).scalars:
                ours.append(item)
            else:
                others.append((<TensorBase>item).value.meta)
        elif type(item) is list or type(item) is tuple:
            collect(item, ours, others)
        elif is_array_like(type(item)) or hasattr(type(item), "__array_function__"):
            backend = find_backend(item)
            if not backend.scalars:
                others.append(backend.meta(item))
    return 0


cdef tuple numbers_moved(object items, Backend backend, GradMeta like):
    """The items with each Tensor over NumPy, also in lists, as it stands beside an array of metadata `like`."""
    cdef list moved = []
    for item in items:
        if isinstance(item, TensorBase) and (<Backend>(<TensorBase>item).value.meta.ops).scalars:
            item = number_beside(item, backend, like)
        elif type(item) is tuple:
            item = numbers_moved(item, backend, like)
        elif type(item) is list:
            item = list(numbers_moved(item, backend, like))
        moved.append(item)
    return tuple(moved)


cdef int check_operand(Op op, object arg, Backend backend) except -1:
    """Refuse what is handled as an array and is none of the backend's: masked arrays, quantities, other libraries'.

    The library's own function would drop what makes them special, or answer with something that no gradient reaches.
    1 for an array of another library beside a Tensor over NumPy, which may be a number (`of_the_library`).
    """
    cdef type cls = type(arg)
    if isinstance(arg, TensorBase) or cls is backend.array_type or arg is None or cls in (int, bool, float, complex):
        return 0
    if cls is list or cls is tuple:
        for item in arg:
            if check_operand(op, item, backend):
                return 1
        return 0
    if isinstance(arg, numbers.Number) or is_numpy_scalar(arg):
        return 0
    if hasattr(cls, "__array_namespace__") or hasattr(cls, "__array_function__") or isinstance(arg, backend.array_type):
        other = find_backend(arg)
        if other is not backend:
            if backend.scalars:
                return 1
            raise mixed(op, backend, other)
    return 0


cdef bint is_numpy_scalar(object obj) except -1:
    """Whether an object is a scalar of NumPy's; numpy.bool is no numbers.Number, as the others are."""
    return type(obj).__module__ == "numpy" and getattr(obj, "shape", None) == ()


cdef bint has_tensor(object items) except -1:
    for item in items:
        if isinstance(item, TensorBase):
            return True
        if isinstance(item, (list, tuple)) and nested(has_tensor, item):
            return True
        if type(item) is slice and (isinstance(item.start, TensorBase) or isinstance(item.stop, TensorBase)):
            return True
    return False


cdef object array_of_list(object items, Backend backend):
    """The array of numbers that NumPy makes of a list; None of one that holds Tensors, or that gives no such array."""
    cdef object array
    if has_tensor(items):
        return None
    try:
        array = backend.asarray(items, None, None)
    except (TypeError, ValueError):
        return None                             # NumPy's function says what is wrong
    return array if array.dtype.kind in "biufc" else None


cdef bint nested(bint (*question)(object) except -1, object item) except -1:
    """question(item), for the questions that ask what lists hold: one that holds itself is an error, not a crash."""
    cdef bint answer
    Py_EnterRecursiveCall(b" in lists that hold lists")
    try:
        answer = question(item)
    finally:
        Py_LeaveRecursiveCall()
    return answer


cdef bint spread(object items, Py_ssize_t level, list lengths, list parts) except -1:
    """Put what nested lists hold into `parts`, and the length of each level into `lengths`; False if they differ."""
    cdef Py_ssize_t n = len(items)
    cdef Py_ssize_t lists = 0
    if level == len(lengths):
        if parts or not n:
            return False                    # a level that other branches lack
        lengths.append(n)
    elif lengths[level] != n:
        return False
    for item in items:
        if isinstance(item, (list, tuple)):
            lists += 1
            if not spread(item, level + 1, lengths, parts):
                return False
        elif level + 1 < len(lengths):
            return False
        else:
            parts.append(item)
    return lists == 0 or lists == n
