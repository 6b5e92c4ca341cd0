# What users put on a Tensor, and which Tensor a view belongs to.
# May import: core.value, core.views, engine.node, _hints.
from types import GetSetDescriptorType as GETSET

cimport cython
from cpython.object cimport PyObject

from arraygrad.core.value cimport Backend, Extra, TensorBase, is_led_to, need_extra
from arraygrad.core.views cimport set_shape
from arraygrad.engine.node cimport track_all

from arraygrad._hints import HINTED
from arraygrad.engine.node import keep_for_ever

cdef extern from "Python.h":
    ctypedef object (*getattrofunc)(object, object)
    ctypedef int (*setattrofunc)(object, object, PyObject*) except -1
    ctypedef struct PyTypeObject:
        getattrofunc tp_getattro
        setattrofunc tp_setattro
        PyObject* tp_dict
    object PyObject_GenericGetAttr(object o, object name)
    int PyObject_GenericSetAttr(object o, object name, PyObject* value) except -1
    void PyType_Modified(PyTypeObject* t)
    ctypedef struct PyGetSetDef:
        const char* doc
    ctypedef struct PyGetSetDescrObject:
        PyGetSetDef* d_getset

# Assigned to in other libraries with an effect on the array: to store the value and do nothing else would be wrong.
_MEANT_OTHERWISE = {
    "data": "write into the Tensor under no_grad: t[...] = values",
    "names": "axes of a Tensor have no names",
    "grad_dtype": "a gradient has its Tensor's dtype",
    "_grad": "set t.grad",
    "_backward_hooks": "call t.register_hook(hook)",
    "_post_accumulate_grad_hooks": "call t.register_post_accumulate_grad_hook(hook)",
}

# Properties without a setter, and what to write in the place of `t.name = value`.
_NOT_SET = {
    "dtype": "write t = t.astype(dtype), which is recorded",
    "strides": "they follow from the array: use t.reshape(shape), t.T or an index",
    "device": "write t = t.to_device(device)",
    "T": "write into the view, t.T[...] = values",
    "mT": "write into the view, t.mT[...] = values",
    "grad_fn": "write t = t.detach() for a Tensor outside of the graph",
    "is_leaf": "write t = t.detach() for a leaf with the same values",
}


# The class that `allow_attributes` was called for, and whether its attributes are looked for in Tensors already.
cdef PyTypeObject* _cls = NULL
cdef bint _looking = False
cdef set _free = set()                  # names that were found to be no property of the class


# Note [Attributes of the user's own]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# `t.main_grad = g` puts any name on a Tensor, as in PyTorch. A `__dict__` would make every Tensor larger, and a look-up
# of one's own would slow every method call down: CPython caches what it finds only for types that use its own look-up.
# (1) The attributes are in Extra, which Tensors get when they need it, so the garbage collector sees them.
# (2) The Tensor class gets its own look-up when the first attribute of a Tensor is set, and keeps it. Programs that set
#     none never pay. (A thread that finds the old one meanwhile finds what was there before.)
# (3) As in any object: properties come first, then the attributes, then methods.
# Guarded by tests/core/test_attributes.py.
cdef object get_attribute(object t, object name):
    cdef dict found = own_attributes(<TensorBase>t)
    if found is not None and name in found and not is_property(type(t), name):          # (3)
        return found[name]
    return PyObject_GenericGetAttr(t, name)


cdef int set_attribute(object t, object name, PyObject* value) except -1:
    cdef dict own
    try:
        return PyObject_GenericSetAttr(t, name, value)      # a property, or nothing that could be set
    except AttributeError:
        if is_property(type(t), name):
            if value != NULL and (name == "real" or name == "imag"):
                return write_part(<TensorBase>t, name, <object>value)
            if name == "shape":
                if value == NULL:
                    raise AttributeError("Cannot delete array shape") from None
                return set_shape(<TensorBase>t, <object>value)
            if name in _NOT_SET:
                raise AttributeError(f"Tensor.{name} can't be set: {_NOT_SET[name]}") from None
            raise
    if value == NULL:
        own = own_attributes(<TensorBase>t)
        if own is None or name not in own:
            raise AttributeError(f"'{type(t).__name__}' object has no attribute '{name}'")
        del own[name]
        return 0
    if name in _MEANT_OTHERWISE:
        raise AttributeError(f"Tensor.{name} can't be set: {_MEANT_OTHERWISE[name]}")
    attributes_of(<TensorBase>t)[name] = <object>value
    return 0


cdef int write_part(TensorBase t, str name, object value) except -1:
    """`t.real = value`, `t.imag = value`: a write into the view, recorded."""
    if not t.value.meta.is_complex and name == "imag":
        raise TypeError(f"Tensor.imag can't be set: a Tensor of dtype {t.value.meta.dtype} has no imaginary part; "
                        "convert it first, t = t.astype(complex)")
    if type(value) is complex:
        raise TypeError(f"Tensor.{name} = {value}: expected real numbers, got a complex one: take its real or imag")
    part = getattr(t, name)                 # a real Tensor is its own real part
    if part is not t and base_of(part) is None:
        other = "t.real + 1j * values" if name == "imag" else "values + 1j * t.imag"
        what = f"arrays of {type(t.value.raw).__module__.partition('.')[0]} can't be written through a view"
        if (<Backend>t.value.meta.ops).mutable:
            what = "a result without axes can't be written, as NumPy's scalars can't"
        raise AttributeError(f"Tensor.{name} can't be set: {what}. Make a new Tensor, t = {other}")
    part[...] = value
    return 0


cdef bint is_property(object cls, object name) except -1:
    """Whether `name` is something in the class that takes part when an attribute is set."""
    if name in _free:
        return False
    for base in cls.__mro__:
        if name in base.__dict__:
            if hasattr(type(base.__dict__[name]), "__set__"):
                return True
            break
    _free.add(name)
    return False


cdef dict attributes_of(TensorBase t):
    """The dict of a Tensor's own attributes, made on first use."""
    global _looking
    cdef Extra e = need_extra(t)
    cdef dict made
    if not _looking:
        _looking = True
        _cls.tp_getattro = get_attribute                                                # (2)
        PyType_Modified(_cls)
    if e.attributes is None:
        made = {}
        if is_led_to(t):                # as a hook of a leaf: leaf_hooks
            track_all()
        with cython.critical_section(e):
            if e.attributes is None:
                e.attributes = made
    return e.attributes


cdef dict own_attributes(TensorBase t):
    """The dict of a Tensor's own attributes, None if it has none."""
    cdef Extra e = t.extra
    cdef dict own
    if e is None:
        return None
    with cython.critical_section(e):        # another thread may be setting `t.__dict__`
        own = e.attributes
    return own if own else None


cdef int copy_attributes(TensorBase t, TensorBase out, dict memo) except -1:
    """Give `out`, a copy of `t`, the same attributes; with a memo deep copies of them."""
    cdef dict own = own_attributes(t)
    if own is None:
        return 0
    if memo is not None:
        from copy import deepcopy

        own = deepcopy(own, memo)
    attributes_of(out).update(own)
    return 0


def allow_attributes(type cls):
    """Let users set attributes of their own on instances of `cls`, the Tensor class."""
    global _cls
    _cls = <PyTypeObject*>cls
    _cls.tp_setattro = set_attribute
    PyType_Modified(_cls)


def install_hints(dict hints):
    """Put descriptors under names that Tensor has not into its base: what Tensor has comes before them."""
    cdef dict namespace = <dict>(<PyTypeObject*>TensorBase).tp_dict
    for name, hint in hints.items():
        namespace[name] = hint
    keep_for_ever(namespace)
    PyType_Modified(<PyTypeObject*>TensorBase)


def _get_dict(TensorBase t):
    """The attributes of the user's own, as `vars(t)` gives them."""
    return attributes_of(t)


def _set_dict(TensorBase t, value):
    if not isinstance(value, dict):
        raise TypeError(f"__dict__ must be set to a dictionary, not a '{type(value).__name__}'")
    set_dict(t, value if type(value) is dict else dict(value))


def _del_dict(TensorBase t):
    set_dict(t, {})


cdef int set_dict(TensorBase t, dict value) except -1:
    cdef Extra e
    attributes_of(t)
    e = t.extra
    with cython.critical_section(e):
        e.attributes, value = value, e.attributes       # the old ones go when the section is left
    return 0


# Views

cdef TensorBase base_of(TensorBase t):
    cdef TensorBase found = None
    cdef Extra e = t.extra
    if not (<Backend>t.value.meta.ops).mutable:
        return None                         # slices of immutable arrays are arrays of their own
    while e is not None and e.parent is not None:
        found = e.parent
        e = found.extra
    return found


def _base(TensorBase t):
    """The Tensor that this one is a view of, None if it is none; never a view itself."""
    return base_of(t)


def _is_view(TensorBase t):
    """Whether this is a view of another Tensor, made by an operation and not by `detach`."""
    return base_of(t) is not None


def _numpy_base(TensorBase t):
    """The Tensor that this one is a view of.

    Of what is no view the array that owns the memory (where a raw view was wrapped), or None.
    """
    cdef TensorBase found = base_of(t)
    return getattr(t.value.raw, "base", None) if found is None else found


def _directory(TensorBase t):
    """Names of the attributes and methods, those of the user's own too."""
    # Not by object.__dir__, which asks for `__dict__` and so makes one: note (2).
    return sorted({*dir(type(t))} - HINTED | {*(own_attributes(t) or ())})


METHODS = {
    "__dir__": _directory,
    "__dict__": property(_get_dict, _set_dict, _del_dict, doc=_get_dict.__doc__),
    "_base": property(_base, doc=_base.__doc__),
    "_is_view": _is_view,
    "base": property(_numpy_base, doc=_numpy_base.__doc__),
}


cdef list _texts = []                   # what descriptors point to, for ever


def document(member, str text):
    """Gives a function, property or compiled property of a class this docstring."""
    cdef bytes encoded
    if type(member) is GETSET:                  # its __doc__ cannot be set, what it is read from can
        encoded = text.encode()
        _texts.append(encoded)
        (<PyGetSetDescrObject*>member).d_getset.doc = encoded
    else:
        member.__doc__ = text
