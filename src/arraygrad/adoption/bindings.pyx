# What names, items and attributes are bound to: noticed when it changes, and exchanged for stand-ins.
# Note [Files of adoption] in __init__.py names the files beside it.
# May import: adoption.stand_ins, adoption.table, core.tensor, numpy_api.rearranging, numpy, the standard library.
import functools
import types
import weakref

import numpy

cimport cython
from libcpp.vector cimport vector
from cpython.dict cimport PyDict_Next
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport Py_TYPE, PyObject, PyTypeObject
from cpython.ref cimport Py_XDECREF

from arraygrad.adoption.stand_ins import METHOD_CODE, pair_of
from arraygrad.adoption.table import REALS, STAND_INS, WITHOUT_SCALAR_TYPES
from arraygrad.core.tensor import Tensor
from arraygrad.numpy_api.rearranging import Vectorize

cdef extern from *:
    """
    static CYTHON_INLINE PyTypeObject* arraygrad_type(PyObject* value) { return Py_TYPE(value); }
    """
    PyTypeObject* arraygrad_type(PyObject* value) noexcept

cdef extern from "Python.h":
    object PyObject_GenericGetDict(object obj, void* context)
    PyObject* PyFunction_GetClosure(object function)
    PyObject* PyFunction_GetDefaults(object function)
    PyObject* PyCell_Get(object cell)                   # a new reference; NULL without an error: not assigned
    int PyCell_Set(object cell, object value) except -1
    PyObject* PyList_GET_ITEM(object items, Py_ssize_t i)
    Py_ssize_t Py_REFCNT(PyObject* obj)

cdef enum:
    MANY = 256              # so many items of a container are looked at
    MOST_NUMBERS_WATCHED = 16   # a container of numbers alone is watched up to this number
    DEPTH = 3               # containers and objects in a namespace, and in these, are watched
    ALL = 512               # so many items and attributes of them, per namespace

cdef set plain_types = {numpy.ndarray, float, int, complex, str, bytes, bool, type(None), numpy.float64, Tensor}
cdef set containers = {dict, list, tuple}
# What code calls or takes attributes of: another one leads elsewhere. Classes count too.
cdef set telling_types = {
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.MethodWrapperType, types.ClassMethodDescriptorType, numpy.ufunc,
    numpy.vectorize, functools.partial, staticmethod, classmethod, property, type(numpy.sum),
    type(functools.lru_cache(len)),
}
cdef set compiled_types = {
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType, type(numpy.sum),
}
cdef object array_type = numpy.ndarray
cdef object tensor_type = Tensor
cdef object function_type = types.FunctionType
cdef object method_type = types.MethodType
cdef object cell_type = types.CellType
cdef object partial_type = functools.partial
cdef object set_partial = functools.partial.__setstate__


def is_plain(argument):
    """Whether an argument is, or a list, tuple or dict holds, numbers and arrays alone: no code of the program."""
    return plain_to(argument, 4)


cdef bint plain_to(object argument, int depth) except -1:
    """is_plain, for containers that are no deeper than that: one may hold itself."""
    cdef object kind = type(argument)
    if kind is tensor_type or kind is array_type or kind in plain_types:
        return True
    if kind is dict:
        argument = list((<dict>argument).values())
    elif kind is not list and kind is not tuple:
        return False
    if not depth:
        return False
    if len(argument) > MANY:                    # data: not searched
        return True
    for item in argument:
        if type(item) not in plain_types and not plain_to(item, depth - 1):
            return False
    return True


def references(list box):
    """How many references there are to the object in a list of one."""
    return Py_REFCNT(PyList_GET_ITEM(box, 0))


def attributes_of(obj):
    """The dict of an object's own attributes, found without running code of the program; None where there is none."""
    try:
        found = PyObject_GenericGetDict(obj, NULL)
    except AttributeError:
        return None
    return found if type(found) is dict else None


# Note [What is bound anew]
# ~~~~~~~~~~~~~~~~~~~~~~~~~
# What a search has found holds as long as names are bound to what they were bound to. So each adopted call compares,
# before it begins, the bindings with those that the search saw (a Watch per namespace):
# (1) Functions, classes, modules and what has a stand-in are compared by identity; a number or an object by its type,
#     so another number, array or model of the same class is no change. Only pointers are compared: about 2 ns a name.
# (2) The dicts, lists, tuples and objects that a namespace holds are watched as it is, if they hold more than numbers
#     and arrays, or are small. One that holds something with a stand-in must itself be the same object.
# (3) What differs is looked at closely before it counts as a change (`Watch.renewed`): a number in the place of
#     another, a function made anew of the same code, one more item of a type that was there.
# (4) A name that the program binds while a call runs is found by the next call. While stand-ins are in place, they
#     count as the real things.
# (5) After a change all searches are forgotten, as by `adopt.clear()`: what code compares may be another thing now, in
#     modules too that name this one.
# Guarded by tests/adoption/test_bound_anew.py.

cdef class Watch:
    """What a namespace, container, object or function held when it was looked at."""

    def __dealloc__(self):
        PyMem_Free(self.entries)

    cdef bint same(self, object found) except -1:
        """Whether it holds the same (1), (4)."""
        if type(found) is not self.kind:
            return False
        if self.root is not None and (self.root() if self.weak else self.root) is not found:
            return False
        items = items_of(found)
        with cython.critical_section(items):
            return self.same_items(items)

    cdef bint same_items(self, object items) except -1:
        cdef Py_ssize_t at, i = 0
        cdef PyObject* key = NULL
        cdef PyObject* value = NULL
        cdef Entry* entry = self.entries
        if type(items) is dict:
            if len(<dict>items) != self.size and not self.namespace:
                return False
            for _ in range(self.size):
                at = entry.at
                if not PyDict_Next(<dict>items, &at, &key, &value) or key != entry.key:
                    return False                # moved, or deleted
                if entry.inner != NULL or not (value == entry.value if entry.value != NULL
                                               else arraygrad_type(value) == entry.kind):
                    if not matches(entry, value):
                        return False
                entry += 1
            return True
        if len(items) != self.size:
            return False
        if type(items) is list:
            for i in range(self.size):
                if i >= len(<list>items) or not matches(&self.entries[i], <PyObject*>(<list>items)[i]):
                    return False
            return True
        for i in range(self.size):
            if not matches(&self.entries[i], <PyObject*>(<tuple>items)[i]):
                return False
        return True

    cdef bint same_held(self, object found) except -1:
        """`same_items(items_of(found))`; of a function without a tuple of what it holds."""
        cdef PyObject* closure
        cdef PyObject* defaults
        cdef PyObject* value
        cdef tuple cells = (), values = ()
        cdef Entry* entry = self.entries
        cdef bint same
        if type(found) is not function_type:
            return self.same_items(items_of(found))
        closure = PyFunction_GetClosure(found)          # borrowed
        defaults = PyFunction_GetDefaults(found)
        if closure != NULL:
            cells = <tuple>closure
        if defaults != NULL:
            values = <tuple>defaults
        if len(cells) + len(values) != self.size:
            return False
        for cell in cells:
            value = PyCell_Get(cell)
            try:
                same = matches(entry, <PyObject*>None if value == NULL else value)
            finally:
                Py_XDECREF(value)
            if not same:
                return False
            entry += 1
        for default in values:
            if not matches(entry, <PyObject*>default):
                return False
            entry += 1
        return True

    def holds(self, found):
        """Whether it holds the same (1), (4)."""
        return self.same(found)

    def renewed(self, found, named=None):
        """(the Watch of what it holds now, whether the difference is none that matters): (3).

        `named`: of a namespace: the names that code looks up. Others are not looked at.
        """
        cdef Watch made = watch(found, named)
        if made is None:
            return None, not self.tells()
        return made, made.alike(self)

    def holds_items(self, found):
        """Whether what `found` holds is the same: of a Watch of `held_items`."""
        return self.same_items(items_of(found))

    def lets_go(self):
        """Whether it keeps nothing alive that could hold data of a program."""
        if self.root is not None:
            return False
        for thing in self.kept:
            if type(thing) is Watch:
                if not (<Watch>thing).lets_go():
                    return False
            elif type(thing) is function_type:
                if thing.__closure__ or thing.__defaults__ or thing.__kwdefaults__ or thing.__dict__:
                    return False
            elif not (isinstance(thing, (type, types.ModuleType, numpy.ufunc)) or type(thing) in compiled_types):
                return False
        return True

    cdef bint tells(self) except -1:
        """Whether any entry is more than a number."""
        cdef Py_ssize_t i
        for i in range(self.size):
            if self.entries[i].value != NULL or <object>self.entries[i].kind not in plain_types:
                return True
        return False

    cdef bint alike(self, Watch old) except -1:
        """Whether what was watched as `old` leads where it led."""
        cdef Py_ssize_t i, j
        cdef dict places = None
        cdef set kinds
        if self.kind is not old.kind or (self.root is None) != (old.root is None):
            return False
        if self.root is not None and (self.root() if self.weak else self.root) is not (
                old.root() if old.weak else old.root):
            return False
        kinds = {<object>old.entries[i].kind for i in range(old.size) if not tells_more(&old.entries[i])} | plain_types
        if self.keys is not None:
            places = {id(key): i for i, key in enumerate(old.keys)}  # no hash and no == of the program's
        if self.namespace and places.keys() != {id(key) for key in self.keys}:
            return False
        for i in range(self.size):
            if places is not None:
                j = places.get(id(self.keys[i]), -1)
            else:
                j = i if i < old.size else -1
            if j >= 0 and alike_entries(&self.entries[i], &old.entries[j]):
                continue
            if self.namespace:
                return False
            if self.entries[i].value != NULL or tells_more(&self.entries[i]):
                return False
            if <object>self.entries[i].kind not in kinds:
                return False
        return True


def held_items(function):
    """What a function closes over and its default arguments, or the function and object of a method; None of others.

    None also where it holds more: attributes, or defaults of keyword arguments.
    """
    if type(function) is function_type:
        if function.__kwdefaults__ or function.__dict__:
            return None
    elif type(function) is not method_type:
        return None
    return items_of(function)


cdef bint tells_more(Entry* entry) except -1:
    """Whether what is bound there holds more than numbers."""
    return entry.inner != NULL and (<Watch>entry.inner).tells()


cdef object items_of(object found):
    """The dict, list or tuple of what something holds."""
    kind = type(found)
    if kind is dict or kind is list or kind is tuple:
        return found
    if kind is function_type:
        return held_by_function(found)
    if kind is method_type:
        return (found.__func__, found.__self__)
    if kind is partial_type:
        return (found.func, found.args, found.keywords)
    return attributes_of(found) or {}


cdef tuple held_by_function(object function):
    """The contents of its cells, None of one that is not assigned yet, and its default arguments."""
    cdef PyObject* closure = PyFunction_GetClosure(function)        # borrowed
    cdef PyObject* defaults = PyFunction_GetDefaults(function)
    cdef PyObject* found
    cdef list held
    if closure == NULL:
        return () if defaults == NULL else <tuple>defaults
    held = []
    for cell in <tuple>closure:
        found = PyCell_Get(cell)
        held.append(None if found == NULL else <object>found)
        Py_XDECREF(found)
    if defaults != NULL:
        held += <tuple>defaults
    return tuple(held)


cdef bint matches(Entry* entry, PyObject* value) except -1:
    """Whether a value is the one that was there, or as that one."""
    if entry.value != NULL:
        if value != entry.value and real_of(<object>value) is not <object>entry.value:
            return False
    elif arraygrad_type(value) != entry.kind:
        return False
    if entry.inner == NULL or value == NULL:
        return True
    return (<Watch>entry.inner).same(<object>value)


cdef bint alike_entries(Entry* new, Entry* old) except -1:
    if new.value != NULL and old.value != NULL:
        if new.value == old.value:
            return alike_inner(new, old)
        first, second = <object>new.value, <object>old.value
        if type(first) is function_type and type(second) is function_type:
            return first.__code__ is second.__code__ and first.__globals__ is second.__globals__ and (
                alike_inner(new, old) and not (first.__kwdefaults__ or first.__dict__))
        if type(first) is method_type and type(second) is method_type:
            return first.__func__ is second.__func__ and type(first.__self__) is type(second.__self__) and (
                new.inner == NULL and old.inner == NULL)
        return False
    if new.value != NULL:
        return False
    if <object>new.kind in plain_types:
        return True
    return old.value == NULL and new.kind == old.kind and alike_inner(new, old)


cdef bint alike_inner(Entry* new, Entry* old) except -1:
    if new.inner == NULL or old.inner == NULL:
        return new.inner == old.inner
    return (<Watch>new.inner).alike(<Watch>old.inner)


cpdef object real_of(object value):
    """The real thing where a value is a stand-in (4); the value itself where it is none."""
    cdef object kind = type(value)
    if kind in plain_types:
        return value
    known = REALS.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    if kind is Vectorize:                       # a program's own holds what it wraps
        return value if "__wrapped__" in value.__dict__ else value._plain
    if kind is function_type and value.__code__ is METHOD_CODE:
        return value.__wrapped__
    return value


cdef bint tells(object value) except -1:
    return type(value) in telling_types or isinstance(value, type) or id(value) in STAND_INS


def watch(found, named=None):
    """The Watch of a container, or of a namespace in which code looks up what is `named`; None: nothing can matter."""
    cdef Py_ssize_t left = ALL
    return watch_of(found, named, 0, &left)


cdef Watch watch_of(object found, named, int depth, Py_ssize_t* left):
    cdef Watch made
    cdef bint namespace = named is not None
    cdef Entry* entry
    cdef Py_ssize_t i = 0, at = 0, before = 0
    cdef PyObject* key = NULL
    cdef PyObject* value = NULL
    cdef vector[Py_ssize_t] offsets
    cdef bint matter, rooted = False
    cdef object kind = type(found)
    cdef bint held = kind not in containers and kind is not method_type
    items = items_of(found)
    if not namespace and (len(items) > MANY or (kind is dict and "__name__" in <dict>items)):
        return None
    made = Watch.__new__(Watch)
    made.namespace = namespace
    made.kind = kind
    made.kept = []
    if type(items) is dict:
        made.keys = []
        values = []
        with cython.critical_section(items):
            while PyDict_Next(<dict>items, &at, &key, &value):
                if not namespace or <object>key in named:
                    made.keys.append(<object>key)
                    values.append(<object>value)
                    offsets.push_back(before)
                before = at
    else:
        values = list(items)
    made.entries = <Entry*>PyMem_Calloc(len(values) + 1, sizeof(Entry))
    if made.entries == NULL:
        raise MemoryError
    made.size = len(values)
    if depth:
        left[0] -= made.size
    # An attribute that is a number may become a function; what a function closes over seldom does, and costs more.
    matter = namespace or (made.size <= MOST_NUMBERS_WATCHED and kind is not function_type and kind is not partial_type)
    for item in values:
        thing = real_of(item)
        entry = &made.entries[i]
        if made.keys is not None:
            entry.key = <PyObject*>made.keys[i]
            entry.at = offsets[i]
        i += 1
        made.kept.append(type(thing))
        entry.kind = Py_TYPE(thing)
        if type(thing) in plain_types:
            matter = matter or thing is None
            continue
        if tells(thing):
            matter = True
            rooted = rooted or pair_of(thing) is not None
            made.kept.append(thing)
            entry.value = <PyObject*>thing
            if type(thing) is not function_type and type(thing) is not method_type and type(thing) is not partial_type:
                continue
            if type(thing) is function_type and not (thing.__closure__ or thing.__defaults__):
                continue
        elif type(thing) not in containers and not watched_object(thing):
            matter = matter or not held
            continue
        if depth < DEPTH and left[0] > 0 and (namespace or held or made.size <= MOST_NUMBERS_WATCHED):
            inner = watch_of(thing, None, depth + 1, left)
            if inner is not None:
                matter = True
                made.kept.append(inner)
                entry.inner = <PyObject*>inner
    if not matter:
        return None
    if rooted and not namespace and kind is not tuple and kind is not function_type and kind is not method_type:
        made.root = found
        if held:
            try:
                made.root = weakref.ref(found)
                made.weak = True
            except TypeError:
                made.root = found
    return made


cdef bint watched_object(object value) except -1:
    """Whether the attributes of an object are those of a program's class."""
    return type(value) is types.SimpleNamespace or bool(type(value).__flags__ & (1 << 9))   # made by `class`


cdef class Likeness:
    """What an argument of a call was like: another one that fits leads to the same code.

    `itself`: only the very object fits. It must then take weak references, or TypeError is raised.
    """
    cdef object kind
    cdef object ref
    cdef Watch watch

    def __init__(self, argument, bint itself):
        self.kind = type(argument)
        self.watch = None if isinstance(argument, (type, types.ModuleType)) else watch(argument)
        if itself or tells(argument) or (self.watch is not None and not self.watch.lets_go()):
            self.ref = weakref.ref(argument)

    cdef bint fits(self, object argument) except -1:
        return type(argument) is self.kind and (self.ref is None or self.ref() is argument) and (
            self.watch is None or self.watch.same(argument))


def fit(list likenesses, list arguments):
    """Whether each argument fits the Likeness at its place."""
    cdef Py_ssize_t i
    if len(likenesses) != len(arguments):
        return False
    for i in range(len(likenesses)):
        if not (<Likeness>likenesses[i]).fits(arguments[i]):
            return False
    return True


cdef class Patch:
    """A cell, a default argument, an item or an attribute that holds a stand-in, which several searches may find.

    `users` says how many running calls have the stand-in there; Note [The lock of adoption] in exchange.pyx guards it.
    A `loose` one holds a thing that may be reached by other ways too, where it has no stand-in: Note [What adoption
    reaches], 8.
    """

    def __init__(self, holder, key, thing, other, loose):
        self.holder = holder
        self.weak = False
        if type(holder) not in (dict, list, cell_type, partial_type):
            try:
                self.holder = weakref.ref(holder)
                self.weak = True
            except TypeError:
                pass
        self.key = key
        self.thing = thing
        self.other = other
        self.loose = loose
        self.light = type(holder) in (list, cell_type) or (type(holder) is dict and type(key) is str)
        self.users = 0

    @staticmethod
    def of(holder, key, real, other, loose=False, whole=False):
        """The Patch there, one for all. Unless `whole`, numpy is shown without types of scalars."""
        if not whole:
            other = WITHOUT_SCALAR_TYPES.get(id(other), other)
        name = (id(holder), key, id(real), id(other))
        place = _known.get(name)
        if place is None or (<Patch>place).held_by() is not holder:
            place = _known[name] = Patch(holder, key, real, other, loose)
        elif not loose:
            (<Patch>place).loose = False
        return place

    @property
    def real(self):
        """The id of the real thing."""
        return id(self.thing)

    @property
    def pair(self):
        """(the real thing, its stand-in)."""
        return self.thing, self.other

    def but_for_types(self):
        """This, with the stand-in for numpy that has no types of scalars."""
        other = WITHOUT_SCALAR_TYPES.get(id(self.other), self.other)
        holder = self.held_by()
        return self if other is self.other or holder is None else Patch.of(
            holder, self.key, self.thing, other, self.loose)

    cdef object held_by(self):
        return self.holder() if self.weak else self.holder

    cpdef put(self):
        """Put the stand-in there, unless it is there."""
        if not self.users:
            self.swap(self.thing, self.other)
        self.users += 1

    cpdef take_back(self):
        """Put the real thing back when nobody needs the stand-in any more."""
        self.users -= 1
        if not self.users:
            self.swap(self.other, self.thing)

    cdef int swap(self, object old, object new) except -1:
        cdef Py_ssize_t i
        cdef list items
        cdef PyObject* value
        holder = self.held_by()
        kind = type(holder)
        if kind is dict:
            if (<dict>holder).get(self.key) is old:
                (<dict>holder)[self.key] = new
        elif kind is list:                      # the program may have moved it
            items = <list>holder
            with cython.critical_section(items):
                for i in range(len(items)):
                    if items[i] is old:
                        items[i] = new
        elif kind is cell_type:
            value = PyCell_Get(holder)          # NULL: the program has deleted it
            Py_XDECREF(value)                   # `old` is held by this
            if value == <PyObject*>old:
                PyCell_Set(holder, new)
        elif kind is partial_type:              # it stays the object that it is, with its arguments and attributes
            if holder.func is old:
                set_partial(holder, (new, holder.args, holder.keywords, PyObject_GenericGetDict(holder, NULL)))
        elif isinstance(holder, type):          # a class of a library's, whose objects the program has
            if vars(holder).get(self.key) is old:
                setattr(holder, self.key, new)
        elif kind is not function_type:
            attributes = None if holder is None else attributes_of(holder)
            if attributes is not None and (<dict>attributes).get(self.key) is old:
                (<dict>attributes)[self.key] = new
        elif self.key == "__code__":
            if holder.__code__ is old:
                holder.__code__ = new
        else:
            defaults = holder.__defaults__
            if defaults is not None and any([item is old for item in defaults]):
                holder.__defaults__ = tuple([new if item is old else item for item in defaults])
        return 0


_known = weakref.WeakValueDictionary()          # (ids of the holder, key, ids of real thing and stand-in) -> Patch
