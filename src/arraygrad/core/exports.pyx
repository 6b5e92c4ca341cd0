# Memory of Tensors that code outside of the graph reads as a plain array.
# See Note [Who may write this memory] in exposed_memory.pyx.
# May import: _hints, core.apply, core.convert, core.exposed_memory, core.operands, core.write_protection, core.value.
import gc
import weakref

from cpython.buffer cimport PyBUF_WRITABLE, PyObject_GetBuffer
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF

from arraygrad.core.apply cimport refresh
from arraygrad.core.convert cimport asked_by_sparse, is_asked_by_name, no_array, values_of
from arraygrad.core.exposed_memory cimport expose, living
from arraygrad.core.operands cimport is_like_scalar
from arraygrad.core.value cimport LENT, Backend, TensorBase, Value

from arraygrad._hints import set_plain
from arraygrad.core.convert import exported_error, held_array_written, mark
from arraygrad.core.write_protection import hand_back

cdef extern from "Python.h":
    PyObject* PyEval_GetGlobals()
    Py_ssize_t Py_REFCNT(PyObject* o)
    PyObject* PyDict_GetItemString(PyObject* d, const char* key)

cdef extern from "adopted.hpp" nogil:
    PyObject* arraygrad_adopting

# Note [Memory that others read]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# In an adopted call `numpy.zeros(3)` is a Tensor, of which the program knows nothing. It gives it to code that takes
# plain arrays: a masked array, a memoryview, `torch.from_numpy`, a C extension. As long as no gradient reaches the
# Tensor such code gets the plain array that it would be, over the same memory, so that each sees what the other writes.
# (1) What is given is an array whose base is a memoryview of the Tensor's array. It lives as long as anything shows
#     that memory: an array, a view of it, a buffer. `exported` holds a weak reference to it.
# (2) A later write of a value that requires grad would show there without its gradient. So while the memoryview lives
#     such a write is refused (`refuse_exported`), with the place that gave the memory away. Plain writes are not.
# (3) What shows an address (`a.ctypes`, `__array_interface__`) may be kept as a number: it counts for as long as the
#     memory is there.
# (4) The other code may write, too. What nodes saved before is compared in backward (Note [Saved values] in value.pyx,
#     4), or copied where it is likely to write: a buffer that may be written, an address.
# (5) arraygrad's own code asks for arrays to compute with them, and what nodes keep of these is compared as ever.
# (6) Where the program itself made the Tensor over an array that it goes on to hold (`w = ag.asarray(work)`), or took
#     the array out (`p = t.numpy()`), it may only want its memory reused. So such a write goes on, and a warning says
#     that reads of the array give bare values. Reference counts tell whether anything but Tensors holds it. An array
#     from outside of an adopted call, which reads it by the Tensor (adoption.lent), is no such array.
# Guarded by tests/adoption/test_memory_that_others_read.py, (6) by tests/reliability/test_held_arrays.py.
cdef dict exported = {}                 # owner of memory -> {id of a weak reference: (it, where it was given away)}
cdef frozenset _ADDRESSES = frozenset(("ctypes", "__array_interface__"))
cdef object _arrays = None              # numpy


cdef bint is_adopting(TensorBase t) except -1:
    """Whether code of an adopted program asks for the array of `t`, which is more than a number."""
    cdef PyObject* names
    cdef PyObject* name = NULL
    if arraygrad_adopting == NULL:
        return False
    if not t.value.meta.ndim and is_like_scalar(t, <Backend>t.value.meta.ops):
        return False
    names = PyEval_GetGlobals()
    if names != NULL:
        name = PyDict_GetItemString(names, "__name__")
    return name == NULL or not isinstance(<object>name, str) or not (<str>name).startswith("arraygrad.")     # (5)


cdef object array_of(TensorBase t, object dtype, object copy):
    """`t.__array__(dtype, copy)`."""
    if t.tracked and asked_by_sparse():
        return no_array()
    if t.tracked and arraygrad_adopting != NULL and is_asked_by_name():
        return t if dtype is None else t.astype(dtype)
    array = values_of(t, "numpy.asarray", None if copy is False else dtype)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("a copy is needed to convert the dtype, but copy=False was asked for")
        return array.astype(dtype)
    if copy:
        return array.copy()
    if array is t.value.raw and is_adopting(t):
        return lent(t)
    expose(t)
    return array


cdef object shared(TensorBase t):
    """The raw array of `t` for a library that keeps its memory."""
    if is_plain(t) and is_adopting(t):
        return lent(t)
    expose(t)
    return t.value.raw


cdef bint is_plain(TensorBase t) except -1:
    """Whether `t` is over an array of NumPy's, and no gradient reaches it."""
    global _arrays
    if _arrays is None:
        import numpy
        _arrays = numpy
    if t.extra is not None:
        refresh(t)
    return not t.tracked and type(t.value.raw) is _arrays.ndarray


cdef object lent(TensorBase t):
    """A plain array over the memory of `t`, of NumPy's and without a gradient: (1)."""
    global _arrays
    cdef object made
    if _arrays is None:
        import numpy
        _arrays = numpy
    expose(t)
    made = _arrays.asarray(memoryview(t.value.raw))
    note(t, made.base)
    return made


cdef int note(TensorBase t, object shown) except -1:
    """Note that the memory of `t` is shown to others as long as the object `shown` lives."""
    cdef object owner = (<Backend>t.value.meta.ops).owner(t.value.raw)
    cdef dict known = exported.setdefault(owner, {})

    def ended(ref):
        known.pop(id(ref), None)
        if not known:
            exported.pop(owner, None)

    ref = weakref.ref(shown, ended)
    known[id(ref)] = (ref, mark())
    exported[owner] = known             # another thread may have taken an empty one out
    return 0


cdef int show_address(TensorBase t) except -1:
    """Note that the address of the memory of `t` leaves: (3)."""
    cdef object root = t.value.raw
    hand_back(t)
    while type(root.base) is _arrays.ndarray:
        root = root.base
    return note(t, root)


cdef object array_interface(TensorBase t):
    """`t.__array_interface__`, where a program asks for it."""
    if not is_adopting(t):
        raise AttributeError("__array_interface__")
    return plain_attribute(t, "__array_interface__")


cdef int fill_buffer(TensorBase t, Py_buffer* view, int flags) except -1:
    """The buffer protocol: the memory of what an adopted call made and no gradient reaches.

    Raises
    ------
    TypeError
        For any other Tensor.
    """
    cdef object array
    if not is_plain(t) or not is_adopting(t):
        if t.tracked:
            raise TypeError("a bytes-like object is required, not a Tensor that requires grad: compiled code asks for "
                            "its memory, which holds no gradient")
        raise TypeError("a bytes-like object is required, not 'arraygrad.core.tensor.Tensor'")
    if flags & PyBUF_WRITABLE == PyBUF_WRITABLE:
        hand_back(t)
    array = lent(t)
    Py_DECREF(None)                     # what Cython has put there
    view.obj = None
    PyObject_GetBuffer(array, view, flags)
    return 0


cdef int refuse_exported(TensorBase t) except -1:
    """Before a value that requires grad is written into `t`: refuse it where others read that memory (2)."""
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef object owner = backend.owner(t.value.raw)
    if exported.get(owner):
        where = held_by(backend, t.value.raw, owner)
        if where is not None:
            where = None
            gc.collect()                # what holds it may be garbage
            where = held_by(backend, t.value.raw, owner)
        if where is not None:
            raise exported_error(where)
    return 0


def lent_array(TensorBase t not None):
    """`t`, which stands for the call in all places of the array that it is over: no write to it is told (6)."""
    t.value.exposed = LENT
    return t


cdef int tell_holders(TensorBase t) except -1:
    """Before the first value that requires grad is written into `t`: warn where an array shows that memory (6)."""
    cdef Backend backend = <Backend>t.value.meta.ops
    if backend.mutable and is_shown(t.value, backend):
        held_array_written()
    return 0


cdef bint is_shown(Value v, Backend backend) except -1:
    """Whether anything but Values holds an array over the memory of `v`, as far as reference counts tell."""
    cdef list values = [v] if v.storage is None else living(v.storage)
    cdef dict known = {}                # id of an array of Values, or of what one is a view of: references known of
    cdef list arrays = []
    cdef Value one
    cdef object array, base
    for one in values:
        array = one.raw
        if id(array) not in known:
            known[id(array)] = 0
            arrays.append(array)
        known[id(array)] += 1
    for array in arrays:                # grows: bases of bases
        base = getattr(array, "base", None)
        if base is not None and base is not array:
            if id(base) not in known:
                known[id(base)] = 0
                arrays.append(base)
            known[id(base)] += 1
    base = array = None
    while arrays:
        array = arrays.pop()
        if Py_REFCNT(<PyObject*>array) > known[id(array)] + 1 and backend.shares_memory(array, v.raw):
            return True
    return False


cdef object held_by(Backend backend, object raw, object owner):
    """Where memory that the array `raw` shows was given to others who still have it; None: nowhere."""
    for ref, where in list(exported.get(owner, {}).values()):
        shown = ref()
        if shown is not None and backend.shares_memory(raw, shown if isinstance(shown, _arrays.ndarray) else shown.obj):
            return where
    return None


def plain_array(TensorBase t not None, bint written=True):
    """A plain array over the memory of what an adopted call made and no gradient reaches; None for any other Tensor.

    `written`: whoever gets it may write it, so what nodes have saved of it is copied.
    """
    if not is_plain(t) or arraygrad_adopting == NULL:
        return None
    if written:
        hand_back(t)
    return lent(t)


def plain_attribute(TensorBase t not None, str name):
    """An attribute of the plain array that what an adopted call made would be.

    Raises
    ------
    AttributeError
        If a gradient reaches `t`, outside of adopted calls, and of arrays of other libraries.
    """
    if not is_plain(t) or arraygrad_adopting == NULL:
        raise AttributeError(name)
    if name in _ADDRESSES:
        show_address(t)
        return getattr(t.value.raw, name)
    hand_back(t)
    return getattr(lent(t), name)


set_plain(plain_attribute)
