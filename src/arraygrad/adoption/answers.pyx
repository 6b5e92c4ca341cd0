# What an adopted call does often: whether this thread runs one, what isinstance, type and hasattr answer, the exchange
# of names. May import: adoption.bindings, adoption.objects, autograd.python_numbers, engine.node, core.apply,
# core.convert, core.op, core.value, core.operands, core.tensor, numpy, the standard library.
import dis
import functools
import sys
import threading
import types

import numpy

from cpython.object cimport PyObject

from arraygrad.adoption.bindings cimport Place as Held
from arraygrad.adoption.bindings cimport Watch, plain_to
from arraygrad.core.adopted cimport count_adopted
from arraygrad.core.apply cimport unary
from arraygrad.core.op cimport Op
from arraygrad.core.operands cimport has_tensor as list_has_tensor
from arraygrad.core.operands cimport rebinds
from arraygrad.core.value cimport TensorBase
from arraygrad.engine.node cimport NODE_PYTHON, Node, thread_state

from arraygrad.adoption.objects import asked_again, number_held, numbers_held
from arraygrad.autograd.python_numbers import Place, warn_at
from arraygrad.core.convert import RUNNING
from arraygrad.core.tensor import Tensor, asarray, gradient_edge

cdef extern from *:
    """
    // What the adopted call that this thread runs has put into place, a tuple that the call owns; NULL outside of one.
    // A thread that such a call starts is outside.
    static thread_local PyObject* arraygrad_adopting = NULL;
    """
    PyObject* arraygrad_adopting

cdef object dtype_type = numpy.dtype
cdef object real_double = numpy.dtype("float64")
cdef object complex_double = numpy.dtype("complex128")
cdef object tensor_type = Tensor
cdef object union_type = types.UnionType
cdef frozenset own_types = frozenset(Tensor.__mro__)


_lock = threading.RLock()                       # guards the `users` of Names and Places, and what stands below
cdef Py_ssize_t _searches_from = 0              # what was found before forget() was called so often is found anew
cdef Py_ssize_t _entries = 0                    # how many calls were entered
cdef bint _rebound = False                      # a name was found to be bound to something else
cdef object _renewed = None                     # reach.renewed, which does that for what was kept
cdef object _forget = None                      # reach.forget


cdef PyObject* set_adopting(PyObject* found) noexcept:
    global arraygrad_adopting
    cdef PyObject* before = arraygrad_adopting
    arraygrad_adopting = found
    return before


cdef class Namespace:
    """The places of one namespace (see Names in reach.py) that an adopted call exchanges."""
    cdef public dict namespace
    cdef public list places                 # of (dict, key, real thing, stand-in)
    cdef public list shared                 # of Place
    cdef public Py_ssize_t users            # running calls that have the stand-ins in place
    cdef public list siblings               # of Namespace: that run over this namespace; None: there is no other
    cdef public Namespace home              # the one that `state` asks; None: itself
    cdef public set named                   # names that code looks up here
    cdef public Watch watch                 # what is bound here; None: not looked yet
    cdef public bint stale                  # found before what was forgotten, and was running then
    cdef Py_ssize_t version                 # how often that changed in what matters
    cdef Py_ssize_t asked                   # the entry of a call at which it was compared last

    def state(self):
        """A number that changes when the number of names does, or what one of them is bound to."""
        return self.current()

    cdef Py_ssize_t current(self) except -1:
        global _rebound
        cdef bint same
        if self.home is not None:
            return self.home.current()
        if self.asked != _entries:
            self.asked = _entries
            if self.stale and not self.runs():
                self.stale = False
                self.version += 1
                _rebound = True
            elif self.watch is not None and not self.watch.same(self.namespace):
                self.watch, same = self.watch.renewed(self.namespace, self.named)
                if not same:
                    self.version += 1
                    _rebound = True
        return (self.version << 32) + len(self.namespace)

    def runs(self):
        """Whether a running call has stand-ins in place here."""
        cdef Namespace other
        if self.users:
            return True
        if self.siblings is not None:
            for other in self.siblings:
                if other.users:
                    return True
        return False


cdef class Route:
    """What calls of one function exchange. Subclasses search for it: see Reach in reach.py."""
    cdef public list found                  # of Namespace; None: not searched
    cdef public list own                    # of Place
    cdef public list sizes                  # the state of each namespace when it was searched
    cdef public Py_ssize_t stamp            # forgotten() when it was searched
    cdef public object root                 # what `watch` watches
    cdef public Watch watch                 # what the function itself holds: cells, attributes; None: nothing


cdef int exchange(list places, bint back) except -1:
    """Put stand-ins into places (dict, key, real thing, stand-in), or the real things back, where the others are."""
    cdef dict holder
    cdef tuple place
    cdef object found
    for place in places:
        holder = <dict>place[0]
        found = holder.get(place[1])            # the program may have put something else there
        if back:
            if found is place[3]:
                holder[place[1]] = place[2]
        elif found is place[2]:
            holder[place[1]] = place[3]
    return 0


cdef list unshared(Namespace names):
    """The places that no other running call over the same namespace has stand-ins in."""
    cdef Namespace other
    cdef set kept = set()
    for other in names.siblings:
        if other.users:
            kept.update([(id(place[0]), place[1]) for place in other.places])
    return [place for place in names.places if (id(place[0]), place[1]) not in kept]


cdef tuple enter(Route reach, tuple args, dict kwargs):
    """Put the stand-ins of a call into place: (Names, Places, the same of the call around it or None)."""
    cdef tuple found = None
    cdef object around = None if arraygrad_adopting == NULL else <object>arraygrad_adopting
    with _lock:
        for _ in range(3):                      # another thread may bind names all the time
            found = find(reach, args, kwargs, around)
            if not _rebound:
                break
        put(found)
    return found


cdef tuple find(Route reach, tuple args, dict kwargs, object around):
    """(Names, Places, `around`) of a call, searched anew if anything has changed."""
    global _entries
    cdef Py_ssize_t i
    cdef bint changed
    _entries += 1
    changed = reach.found is None or reach.stamp != _searches_from
    if not changed:
        for i in range(len(reach.found)):
            if (<Namespace>reach.found[i]).current() != <Py_ssize_t>reach.sizes[i]:
                changed = True
        if reach.watch is not None and not reach.watch.same(reach.root):
            changed = True
    if _rebound:
        forget_rebound()
        changed = True
    if changed:
        reach.stamp = _searches_from
        reach.search()
    for argument in args if not kwargs else (*args, *kwargs.values()):
        if not plain_to(argument, 4):
            return (*reach.with_arguments((*args, *kwargs.values())), around)
    return (reach.found, reach.own, around)


cdef int forget_rebound() except -1:
    global _rebound
    _forget()
    _rebound = False
    return 0


cdef int put(tuple found) except -1:
    cdef Namespace names
    count_adopted(1)
    for names in <list>found[0]:
        if names.users == 0:
            if names.siblings is not None and names not in names.siblings:
                names.siblings.append(names)
            exchange(names.places, False)
            for place in names.shared:
                (<Held>place).put()
        names.users += 1
    for place in <list>found[1]:
        (<Held>place).put()
    return 0


cdef int leave(tuple found) except -1:
    cdef Namespace names
    with _lock:
        count_adopted(-1)
        for names in <list>found[0]:
            names.users -= 1
            if names.users == 0:
                exchange(names.places if names.siblings is None else unshared(names), True)
                for place in names.shared:
                    (<Held>place).take_back()
        for place in <list>found[1]:
            (<Held>place).take_back()
    return 0


cdef class Called:
    """A function that is called as its subclasses say."""
    cdef object function

    def __get__(self, instance, owner):
        return self if instance is None else types.MethodType(self, instance)

    @property
    def __wrapped__(self):
        """The function."""
        return self.function

    @property
    def __module__(self):
        return self.function.__module__

    def __getattr__(self, name):
        return getattr(self.function, name)

    def __repr__(self):
        return f"<adopted {self.function!r}>"


cdef class Adopted(Called):
    """A function as an adopted call runs it. `reach` says where stand-ins go."""
    cdef Route reach

    def __init__(self, function, Route reach):
        self.function = function
        self.reach = reach

    @property
    def __doc__(self):                      # each class has one of its own, which is the type's otherwise
        return self.function.__doc__

    def __call__(self, *args, **kwargs):
        cdef tuple found = enter(self.reach, args, kwargs)
        cdef PyObject* before = set_adopting(<PyObject*>found)  # compiled: no signal handler runs before `finally`
        try:
            return self.function(*args, **kwargs)
        finally:
            set_adopting(before)
            leave(found)


# Note [Called later]
# ~~~~~~~~~~~~~~~~~~~
# Some functions of a program are kept by a node, and called by backward, when the adopted call is over: what a
# checkpoint computes again, the equation of a solved problem, the backward of a Function. They name np.zeros and
# math.sin as the rest of the program does.
# (1) Whoever keeps such a function keeps `later(function)`. In an adopted call that is a Kept, which puts the stand-ins
#     of this call, and of those around it, into place again. So the function finds what it found, or would have found,
#     when it was kept. Outside of adopted calls it is the function itself.
# (2) The calls count as others do (Note [Stand-ins], 3), so threads may run them at the same time.
# (3) What was found may be old: the modules have got more names, or bound some anew, or were forgotten
#     (`adopt.clear()`). Then it is looked at again, so that there is never a second count of the calls over one
#     namespace.
# Guarded by tests/adoption/test_called_later.py.

cdef class Kept(Called):
    """A function that is called later as in the adopted call that runs now (1)."""
    cdef tuple found
    cdef list sizes                         # of (Namespace, its state)
    cdef Py_ssize_t stamp

    @property
    def __doc__(self):
        return self.function.__doc__

    def __call__(self, *args, **kwargs):
        cdef tuple found = self.again()
        cdef PyObject* before = set_adopting(<PyObject*>found)
        try:
            return self.function(*args, **kwargs)
        finally:
            set_adopting(before)
            while found is not None:
                leave(found)
                found = found[2]

    cdef tuple again(self):
        cdef tuple found, level
        global _entries
        with _lock:
            _entries += 1
            if self.stamp != _searches_from or self.changed():
                if _rebound:
                    forget_rebound()
                self.look(_renewed(self.found))
            found = level = self.found
            while level is not None:
                put(level)
                level = level[2]
        return found

    cdef bint changed(self) except -1:
        for names, state in self.sizes:
            if (<Namespace>names).current() != state:
                return True
        return False

    cdef int look(self, tuple found) except -1:
        self.found = found
        self.stamp = _searches_from
        self.sizes = []
        while found is not None:
            for names in <list>found[0]:
                self.sizes.append((names, (<Namespace>names).current()))
            found = found[2]
        return 0


def later(function):
    """A function that is kept to be called later, as it is to be called then: Note [Called later]."""
    cdef Kept kept
    if arraygrad_adopting == NULL or type(function) is Kept:
        return function
    kept = Kept.__new__(Kept)
    kept.function = function
    with _lock:
        kept.look(<tuple>arraygrad_adopting)
    return kept


def set_renewal(renewed, forget):
    """Have `renewed(found)` look again at what a call has put into place, and `forget()` what was found: reach.py."""
    global _renewed, _forget
    _renewed = renewed
    _forget = forget


def forgotten():
    """What was found so far is to be found anew. Called with the lock held."""
    global _searches_from
    _searches_from += 1


def forgetting(forget):
    """Call `forget()` while no call is entered or left."""
    with _lock:
        return forget()


def is_on():
    """Whether this thread runs an adopted call."""
    return arraygrad_adopting != NULL


def running():
    """For each adopted call that this thread runs, innermost first: the list of Names that it exchanges."""
    cdef object level = None if arraygrad_adopting == NULL else <object>arraygrad_adopting
    found = []
    while level is not None:
        found.append((<tuple>level)[0])
        level = (<tuple>level)[2]
    return found


def makes_tensors():
    """Whether what an adopted call of this thread makes is to be recordable: not where nothing is recorded."""
    return arraygrad_adopting != NULL and thread_state().grad_mode != 0


def without(function, args, kwargs):
    """Call a function as if no adopted call were running: one that computes with raw arrays."""
    cdef PyObject* before = set_adopting(NULL)
    try:
        return function(*args, **kwargs)
    finally:
        set_adopting(before)


cdef object plain(TensorBase t):
    if t.value.meta.ndim == 0 and rebinds(t) and isinstance(t.value.meta.dtype, dtype_type):
        return t.value.meta.dtype.type
    return type(t.value.raw)


def plain_type(t):
    """The type that the value of a Tensor has in a plain call."""
    return plain(t)


def has_tensor(items):
    """Whether a nested list or tuple holds a Tensor."""
    return list_has_tensor(items)


def is_floating(TensorBase t):
    """Whether a Tensor has a dtype with a derivative."""
    return t.value.meta.is_floating


cdef bint holds_numbers(object items) except -1:
    """Whether a nested list holds a Tensor with a derivative: lists of conditions and indices mean something else."""
    cdef object kind
    for item in items:
        kind = type(item)
        if kind is float:
            continue
        if isinstance(item, TensorBase):
            if (<TensorBase>item).value.meta.is_floating:
                return True
        elif (kind is list or kind is tuple) and holds_numbers(item):
            return True
    return False


def gathered(data):
    """A nested list or tuple that holds Tensors as one Tensor; anything else as it is."""
    if (type(data) is list or type(data) is tuple) and list_has_tensor(data) and holds_numbers(data):
        return asarray(data)
    return data


def gathering(function):
    """A function of NumPy that takes lists of Tensors as it takes lists of numbers."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        if arraygrad_adopting != NULL:
            for a in args:
                if type(a) is list or type(a) is tuple:
                    args = tuple([gathered(a) for a in args])
                    break
            if kwargs:
                kwargs = {name: gathered(a) for name, a in kwargs.items()}
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError) as error:
            args, kwargs = asked_again(error, args, kwargs, arraygrad_adopting != NULL)
        return call(*args, **kwargs)
    return call


def recording(function, rule, element, op=None):
    """A function of one number that `rule(t)` computes of a 0-d Tensor: Note [Numbers that stay].

    `op` is the operation of the table that the rule is, if it is one.
    """
    cdef Op direct = op

    @functools.wraps(function)
    def call(x, /):
        if type(x) is not tensor_type:
            try:
                return function(x)
            except TypeError as error:
                x = number_held(error, x, arraygrad_adopting != NULL)
        if not is_kept(x):
            return function(x)
        function(number_of(x))
        if direct is not None and is_number(x):
            return made_float(unary(direct, x))
        return made_float(rule(element(x)))
    return call


def recording_first(function, several, op):
    """A function whose calls with one number are the operation `op`, and all others `several`."""
    cdef Op direct = op

    @functools.wraps(function)
    def call(*args, **kwargs):
        if len(args) == 1 and not kwargs and type(args[0]) is tensor_type and is_kept(args[0]) and is_number(args[0]):
            function(number_of(args[0]))
            return made_float(unary(direct, args[0]))
        return several(*args, **kwargs)
    return call


cdef bint is_number(TensorBase t):
    """Whether a recorded Tensor has no axes and is a scalar as it is."""
    return t.value.meta.ndim == 0 and rebinds(t)


def number_of(TensorBase t):
    """What the real function of math is given: the plain number, an array where there are axes."""
    return t.value.raw if t.value.meta.ndim else t.value.raw.item()


def stays(t):
    """Whether a number made of this argument stays recorded: Note [Numbers that stay], 2."""
    return type(t) is tensor_type and is_kept(t)


cdef bint is_kept(TensorBase t) except -1:
    if arraygrad_adopting == NULL or not thread_state().grad_mode or t.value.meta.size != 1:
        return False
    if not (t.tracked if t.extra is None else t.requires_grad):
        return False
    dtype = t.value.meta.dtype
    return dtype is real_double or dtype is complex_double or dtype == real_double or dtype == complex_double


# Note [Float or scalar of NumPy's]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# `x` is a float in a plain call where it was handed over as one, or where math or float() made it, and numpy.float64
# where NumPy computed it. Both are 0-d Tensors here. Where a question has two answers, the graph tells:
# (1) A leaf is what the caller handed over. What math and float() make has a mark on its node.
# (2) What Python's operators make is a scalar of NumPy's if one of the operands is, a float if all are; a constant
#     operand is not in the graph, so this may stay open. So it does where float() gave back the Tensor that it got.
# (3) An open question is refused, not guessed. For an attribute, `hasattr(x, "shape")`, the answer is that of a scalar,
#     with a warning.
cdef enum:
    NODE_FLOAT = 8192           # bits of Node.flags that the engine does not use: surely a float, perhaps a float
    NODE_MAYBE_FLOAT = 16384
    OPEN = 0
    FLOAT = 1
    SCALAR = 2

cdef frozenset operators = frozenset(
    f"{name}Backward" for name in "Add Sub Mul Div Pow Neg Pos Abs Remainder FloorDivide Copy".split()
)
cdef frozenset of_one = frozenset(f"{name}Backward" for name in "Neg Pos Abs Copy".split())
cdef frozenset twins = frozenset((float, complex, numpy.float64, numpy.complex128, numpy.floating, numpy.float32,
                                  numpy.complexfloating, numpy.inexact, numpy.number, numpy.generic))

cdef frozenset twin_names = frozenset(twin.__name__ for twin in twins)
# What a scalar of NumPy's has and a number of Python's lacks.
cdef dict lacking = {twin: frozenset(dir(scalar)) - frozenset(dir(twin))
                     for twin, scalar in ((float, numpy.float64), (complex, numpy.complex128))}


def made_float(made):
    """What math or float() made anew, marked as a float (1); also those in a tuple."""
    if type(made) is tuple:
        for item in made:
            made_float(item)
    elif type(made) is tensor_type and (<TensorBase>made).grad_fn_ is not None:
        (<TensorBase>made).grad_fn_.flags |= NODE_FLOAT
    return made


def given_as_float(TensorBase t, TensorBase made):
    """The Tensor `made` that float(t) gives, marked: anew, or the same Tensor (2)."""
    if made is not t:
        return made_float(made)
    if t.grad_fn_ is None:
        return t if origin(t) == FLOAT else made_float(t.copy())
    if not t.grad_fn_.flags & NODE_FLOAT:
        t.grad_fn_.flags |= NODE_MAYBE_FLOAT
    return t


cdef int origin(TensorBase t) except -1:
    """FLOAT, SCALAR or OPEN: what a recorded 0-d Tensor is in a plain call."""
    if not t.tracked:
        return SCALAR
    return origin_of(gradient_edge(t)[0], 0)


cdef int origin_of(Node node, int depth) except -1:
    cdef int one, other
    if node.flags & NODE_FLOAT:
        return FLOAT
    if node.flags & (NODE_MAYBE_FLOAT | NODE_PYTHON) or depth > 32:
        return OPEN
    name = node.name()
    if name.startswith("AccumulateGrad"):
        for trace in list(RUNNING.values()):
            for edge, (kind, _) in zip(trace.edges, trace.live()):
                if edge.node is node:
                    return FLOAT if kind == 3 else SCALAR if kind == 1 or kind == 2 else OPEN   # NUMBER, RAW, SCALAR
        return OPEN
    if name not in operators:
        return SCALAR
    one = origin_of(node.e0, depth + 1) if node.e0 is not None else OPEN
    if one == SCALAR or name in of_one:
        return one
    other = origin_of(node.e1, depth + 1) if node.e1 is not None else OPEN
    return SCALAR if other == SCALAR else FLOAT if one == FLOAT and other == FLOAT else OPEN


cdef object twin_of(object kind):
    """The Python type whose values a 0-d Tensor of this plain type may stand for; None where there is none."""
    if kind is numpy.float64 or kind is numpy.float32:
        return float
    return complex if kind is numpy.complex128 or kind is numpy.complex64 else None


def isinstance_(obj, class_or_tuple, /):
    """What stands in for isinstance."""
    if arraygrad_adopting == NULL or type(obj) is not tensor_type:
        if isinstance(obj, class_or_tuple):
            return True
        if arraygrad_adopting != NULL and id(type(obj)) in CLASSES:
            return issubclass(CLASSES[id(type(obj))](obj), class_or_tuple)
        return False
    kind = plain(obj)
    cdef bint found = issubclass(kind, class_or_tuple)
    twin = twin_of(kind)
    if twin is not None and class_or_tuple is not twin and issubclass(twin, class_or_tuple) != found:
        if names_tensors(class_or_tuple):
            return True
        return found == (known_origin(obj, twin, "isinstance(x, ...) of these classes") == SCALAR)
    return found or names_tensors(class_or_tuple)


cdef int known_origin(TensorBase t, object twin, str what) except -1:
    cdef int found = origin(t)
    if found == OPEN:
        raise TypeError(
            f"{Place(sys._getframe(0))}: {what} differs between a Python {twin.__name__} and a scalar of NumPy's, and "
            "which of them this Tensor is in a plain call is not known in an adopted one. "
            f"isinstance(x, {twin.__name__}) is True of both in double precision; {twin.__name__}(x) of a new number "
            f"and math's functions make a {twin.__name__}, numpy.asarray(x)[()] makes a scalar of NumPy's"
        )
    return found


def type_of(TensorBase t, frame):
    """What stands in for type(t): the plain type. An open one is refused where the frame compares it."""
    kind = plain(t)
    twin = twin_of(kind)
    if twin is None:
        return kind
    cdef int found = origin(t)
    if found == OPEN and compares(frame):
        known_origin(t, twin, "type(x)")
    return twin if found == FLOAT else kind


def called_type(cls, *args, **kwargs):
    """What a call of the stand-in for `type`, or of a class made by it, gives: `type` where it is the stand-in."""
    if cls._type is not cls:
        return type.__call__(cls, *args, **kwargs)
    if len(args) == 1 and not kwargs:
        if arraygrad_adopting != NULL and isinstance(args[0], TensorBase):
            return type_of(args[0], sys._getframe(0))      # compiled: the stand-in for `type` has no frame
        kind = type(args[0])
        if arraygrad_adopting != NULL and id(kind) in CLASSES:
            return CLASSES[id(kind)](args[0])
        return kind
    return type(*args, **kwargs)


# id of a class of ours -> a function of its object: the class of SciPy's that it counts as
CLASSES = {}


def called_number(cls, *args, **kwargs):
    """What a call of the stand-in for float or complex, or of a class that is derived from it, gives."""
    made = cls._recorded
    if made is None:                            # a class that the program derives from it
        return type.__call__(cls, *args, **kwargs)
    for x in args:
        if type(x) is tensor_type:
            number = made(*args, **kwargs)
            if number is not None:
                return number
        elif type(x) is str and arraygrad_adopting != NULL and x in TEXTS:
            at = Place(sys._getframe(0))
            warn_at(at, f"{at}: a number is read from text that was made of a Tensor, and has no gradient")
    try:
        return cls._real(*args, **kwargs)
    except TypeError as error:
        args = tuple(numbers_held(error, args, arraygrad_adopting != NULL))
    return called_number(cls, *args, **kwargs)


TEXTS = {}                              # the last texts that were made of Tensors in adopted calls: see asked.py


@functools.lru_cache(256)
def steps_of(code):
    """The instructions of a code object, but for those without a meaning."""
    return [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "PRECALL", "NOP")]


cdef bint compares(object frame) except -1:
    """Whether the instruction that a frame is at calls type(x) for a comparison with a type that has a twin."""
    cdef list steps = steps_of(frame.f_code)
    at = next((i for i, s in enumerate(steps) if s.offset >= frame.f_lasti), len(steps))
    end = next((i for i in range(at, min(at + 12, len(steps)))
                if steps[i].opname in ("IS_OP", "COMPARE_OP", "CONTAINS_OP")), None)
    if end is None:
        return False
    for i in range(max(0, at - 6), end):
        step = steps[i]
        if step.opname in ("LOAD_ATTR", "LOAD_GLOBAL", "LOAD_NAME") and any(
                step.argval == twin.__name__ for twin in twins):
            return True
        if i > at and step.opname == "LOAD_CONST" and step.argval in twin_names:    # type(x).__name__ == "float"
            return True
        if step.opname in ("LOAD_FAST", "LOAD_DEREF") and i > at:
            value = frame.f_locals.get(step.argval)
            if isinstance(value, type) and value in twins:
                return True
    return False


cdef bint names_tensors(object classes) except -1:
    """Whether a class, or one of a tuple or union of classes, is Tensor or a class that it derives from."""
    if isinstance(classes, tuple):
        for one in <tuple>classes:
            if names_tensors(one):
                return True
        return False
    if type(classes) is union_type:
        return names_tensors(classes.__args__)
    return classes in own_types


cdef bint lacks(TensorBase t, str name) except -1:
    """Whether the plain value of a Tensor has no attribute of this name, though the Tensor has one."""
    kind = plain(t)
    if name.startswith("__") and not hasattr(kind, name):
        return True
    twin = twin_of(kind)
    if twin is None or name not in lacking[twin]:
        return False
    cdef int found = origin(t)
    if found == OPEN:                           # both branches of such code serve mostly: told, not refused
        at = Place(sys._getframe(0))
        warn_at(at, f"{at}: a Python {twin.__name__} has no attribute {name!r}, a scalar of NumPy's has, and which of "
                    "them this Tensor is in a plain call is not known in an adopted one: the answer is that of a "
                    f"scalar of NumPy's. isinstance(x, {twin.__name__}) is True of both")
    return found == FLOAT


def hasattr_(obj, name, /):
    """What stands in for hasattr: a Tensor has what its plain value has, and what Tensors alone have."""
    if arraygrad_adopting != NULL and type(obj) is tensor_type and isinstance(name, str) and lacks(obj, name):
        return False
    return hasattr(obj, name)


def getattr_(obj, name, /, *default):
    """What stands in for getattr: as hasattr."""
    if arraygrad_adopting != NULL and type(obj) is tensor_type and isinstance(name, str):
        if name == "__class__":
            return type_of(obj, sys._getframe(0))
        if lacks(obj, name):
            if default:
                return default[0]
            raise no_attribute(obj, name)
    return getattr(obj, name, *default)


def no_attribute(TensorBase t, name):
    """The error for an attribute that the plain value of a Tensor lacks."""
    kind = plain(t)
    return AttributeError(f"{(twin_of(kind) or kind).__name__!r} object has no attribute {name!r}, and in an adopted "
                          "call this Tensor answers as its plain value. numpy.asarray(x) has what an array has",
                          name=name, obj=t)


def is_python_number(TensorBase t):
    """Whether a Tensor is a Python number in a plain call: True, False, or None where the graph does not tell."""
    if t.value.meta.ndim or not rebinds(t) or twin_of(plain(t)) is None:
        return False
    cdef int found = origin(t)
    return None if found == OPEN else found == FLOAT


def raw_of(TensorBase t):
    """The raw array, only looked at."""
    return t.value.raw


def twin_type(t):
    """The Python type whose values a 0-d Tensor may stand for; None: there is none."""
    return twin_of(plain(t))


def refuse_open(TensorBase t, str what):
    """Refuse a question that a Python number and a scalar of NumPy's answer differently."""
    known_origin(t, twin_of(plain(t)), what)
