# What an adopted call exchanges, and whether a thread runs one.
# May import: adoption.bindings, adoption.setting, engine.node, core.adopted, the standard library.
import sys
import threading
import types

from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF

from arraygrad.adoption.bindings cimport Patch
from arraygrad.adoption.bindings cimport Watch, plain_to
from arraygrad.adoption.vectorcalls cimport (
    PyObject_Vectorcall, PyVectorcall_NARGS, arraygrad_serve_calls, named, positional, vectorcall,
)
from arraygrad.core.adopted cimport arraygrad_adopting, arraygrad_has_gil, arraygrad_set_adopting, count_adopted
from arraygrad.engine.node cimport thread_state

from arraygrad.adoption.setting import adoption_mode, on_change

cdef extern from "Python.h":
    PyObject* PyList_GET_ITEM(object items, Py_ssize_t i) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject* items, Py_ssize_t i) noexcept
    PyObject* PyDict_GetItemWithError(PyObject* items, PyObject* key) except? NULL
    int PyDict_SetItem(PyObject* items, PyObject* key, PyObject* value) except -1


# Note [The lock of adoption]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~
# `_lock` guards the `users` of Names and Patches, and what stands below. Its thread may take it again, as a search runs
# code: finalizers, and what they adopt. Most calls need no search, and what they exchange is in modules, cells, dicts
# and lists alone: no code runs between their comparisons and the end of the exchange. The GIL guards them as well as
# the lock does, provided that no other thread is in the middle of something (`needs_lock`). Without a GIL all lock.
# Guarded by tests/adoption/test_setting.py.
cdef class Lock:
    """A lock that its thread may take again, and that says whether it is held."""
    cdef object lock
    cdef int held                               # how often

    def __cinit__(self):
        self.lock = threading.RLock()

    def __enter__(self):
        self.lock.acquire()
        self.held += 1

    def __exit__(self, *exc):
        self.held -= 1
        self.lock.release()


cdef Lock _lock = Lock()
cdef Py_ssize_t _searches_from = 0              # what was found before forget() was called so often is found anew
cdef Py_ssize_t _entries = 0                    # how many calls were entered
cdef bint _rebound = False                      # a name was found to be bound to something else
cdef object _renewed = None                     # reach.renewed, which does that for what was kept
cdef object _forget = None                      # reach.forget
cdef object _reach_of = None                    # reach.reach_of
cdef bint _differs = False                      # set_adoption may say something else than True


cdef bint binds_any(dict namespace, object names) except -1:
    for name in names:
        if name in namespace:
            return True
    return False


cdef class Namespace:
    """The places of one namespace (see Names in reach.py) that an adopted call exchanges."""
    cdef public dict namespace
    cdef public list places                 # of (dict, key, real thing, stand-in)
    cdef public list shared                 # of Patch
    cdef public Py_ssize_t users            # running calls that have the stand-ins in place
    cdef public list siblings               # of Namespace: that run over this namespace; None: there is no other
    cdef public Namespace home              # the one that `state` asks; None: itself
    cdef public set named                   # names that code looks up here
    cdef public Watch watch                 # what is bound here; None: not looked yet
    cdef public bint stale                  # found before what was forgotten, and was running then
    cdef public object absent               # names that code looks up and nothing is bound to; None: not looked yet
    cdef Py_ssize_t size, counted           # how many names: without those that nobody looks up; all
    cdef Py_ssize_t version                 # how often that changed in what matters
    cdef Py_ssize_t asked                   # the entry of a call at which it was compared last

    def state(self):
        """A number that changes when a name that is looked up is bound, or is bound to something else."""
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
        if len(self.namespace) != self.counted:
            # A name that no code looks up says nothing: what a notebook's cells or a loop at a module's end bind.
            if self.absent is None or len(self.namespace) < self.counted or binds_any(self.namespace, self.absent):
                self.size = len(self.namespace)
            self.counted = len(self.namespace)
        return (self.version << 32) + self.size

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
    cdef public list own                    # of Patch
    cdef public list sizes                  # the state of each namespace when it was searched
    cdef public Py_ssize_t stamp            # forgotten() when it was searched
    cdef public object root                 # what `watch` watches
    cdef public Watch watch                 # what the function itself holds: cells, attributes; None: nothing
    cdef public frozenset writes            # names through which code writes arrays; None: not searched
    cdef public frozenset given_writes      # the same with the objects among the last arguments
    cdef public bint by_items               # `watch` watches items_of(root), not root
    cdef tuple whole                        # what a call exchanges around which there is no other

    def searched(self, list found, list own, list sizes, Py_ssize_t stamp):
        """Note what was found, with the states of the namespaces and forgotten() at that time."""
        self.found, self.own, self.sizes, self.stamp = found, own, sizes, stamp
        self.whole = (found, own, None)


cdef int exchange(list places, bint back) except -1:
    """Put stand-ins into places (dict, key, real thing, stand-in), or the real things back, where the others are."""
    cdef PyObject* place                        # borrowed from the list, which nothing changes meanwhile
    cdef Py_ssize_t i, there = 3 if back else 2
    for i in range(len(places)):
        place = PyList_GET_ITEM(places, i)
        # The program may have put something else there.
        if PyDict_GetItemWithError(PyTuple_GET_ITEM(place, 0), PyTuple_GET_ITEM(place, 1)) == PyTuple_GET_ITEM(
                place, there):
            PyDict_SetItem(PyTuple_GET_ITEM(place, 0), PyTuple_GET_ITEM(place, 1), PyTuple_GET_ITEM(place, 5 - there))
    return 0


cdef list unshared(Namespace names):
    """The places that no other running call over the same namespace has stand-ins in."""
    cdef Namespace other
    cdef set kept = set()
    for other in names.siblings:
        if other.users:
            kept.update([(id(place[0]), place[1]) for place in other.places])
    return [place for place in names.places if (id(place[0]), place[1]) not in kept]


AWAITED = set()                             # names of modules that a search has met, and that were not imported yet
cdef set _awaited = AWAITED
cdef dict _modules = sys.modules
cdef Py_ssize_t _modules_seen = 0


cdef int look_for_modules() except -1:
    """Have all be found anew where a module is there that was waited for."""
    global _modules_seen, _rebound
    _modules_seen = len(_modules)
    for name in [name for name in _awaited if name in _modules]:
        _awaited.discard(name)
        _rebound = True
    return 0


cdef bint changed(Route reach) except -1:
    """Whether anything that a search has found has changed, or nothing was searched yet."""
    cdef Py_ssize_t i
    if len(_modules) != _modules_seen:
        look_for_modules()
    cdef bint found = reach.found is None or reach.stamp != _searches_from
    if not found:
        for i in range(len(reach.found)):
            if (<Namespace>reach.found[i]).current() != <Py_ssize_t>reach.sizes[i]:
                found = True
        if reach.watch is not None:
            if not (reach.watch.same_held(reach.root) if reach.by_items else reach.watch.same(reach.root)):
                found = True
    return found or _rebound


cdef bint needs_lock(list namespaces, list places) except -1:
    """Whether an exchange of these has to hold the lock: Note [The lock of adoption]."""
    cdef PyObject* names                            # borrowed from the list: no code runs here
    cdef Py_ssize_t i
    if not arraygrad_has_gil or _lock.held:
        return True
    for i in range(len(namespaces)):
        names = PyList_GET_ITEM(namespaces, i)
        if (<Namespace>names).siblings is not None or not are_light((<Namespace>names).shared):
            return True
    return not are_light(places)


cdef inline bint are_light(list places) noexcept:
    cdef Py_ssize_t i
    for i in range(len(places)):
        if not (<Patch>PyList_GET_ITEM(places, i)).light:
            return False
    return True


cdef tuple enter(Route reach, PyObject** args, Py_ssize_t given, PyObject* names, Py_ssize_t* alone):
    """Put the stand-ins of a call into place: (Names, Patches, the same of the call around it or None).

    `alone`: how many calls were entered with this one, which needed no lock; -1: it did.
    """
    cdef tuple found = None
    cdef Py_ssize_t entries = _entries + 1
    cdef object around = None if arraygrad_adopting == NULL else <object>arraygrad_adopting
    if names == NULL and reach.found is not None and not needs_lock(reach.found, reach.own):
        found = unchanged(reach, args, given, around)
        # Code has run after all, that of a finalizer, if it is another now, or a call was entered meanwhile.
        if found is not None and not (_rebound or reach.stamp != _searches_from or _entries != entries or _lock.held):
            put(found)
            alone[0] = entries
            return found
    alone[0] = -1
    with _lock:
        for _ in range(3):                      # another thread may bind names all the time
            found = find(reach, positional(args, given), named(args, given, names), around)
            if not _rebound:
                break
        put(found)
    return found


cdef tuple unchanged(Route reach, PyObject** args, Py_ssize_t given, object around):
    """(Names, Patches, `around`) of a call with these arguments if nothing is to be searched, else None."""
    global _entries
    cdef Py_ssize_t i
    _entries += 1
    if changed(reach):
        return None
    for i in range(given):
        if not plain_to(<object>args[i], 4):
            return None
    return reach.whole if around is None else (reach.found, reach.own, around)


cdef tuple find(Route reach, tuple args, dict kwargs, object around):
    """(Names, Patches, `around`) of a call, searched anew if anything has changed."""
    global _entries
    cdef bint anew
    _entries += 1
    anew = changed(reach)
    if _rebound:
        forget_rebound()
    if anew:
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
                (<Patch>place).put()
        names.users += 1
    for place in <list>found[1]:
        (<Patch>place).put()
    return 0


cdef int take_back(tuple found) except -1:
    """Take the stand-ins of a call out of their places, but for those that another call needs."""
    cdef Namespace names
    count_adopted(-1)
    for names in <list>found[0]:
        names.users -= 1
        if names.users == 0:
            exchange(names.places if names.siblings is None else unshared(names), True)
            for place in names.shared:
                (<Patch>place).take_back()
    for place in <list>found[1]:
        (<Patch>place).take_back()
    return 0


TEXTS = {}              # numbers in the last texts of Tensors in adopted calls, with their threads: text_names.py


cdef int forget_texts() except -1:
    """The outermost adopted call of this thread ends: text that is read later may be anybody's."""
    here = threading.get_ident()
    for text in [text for text, thread in list(TEXTS.items()) if thread == here]:
        TEXTS.pop(text, None)
    return 0


cdef int leave(tuple found, Py_ssize_t alone) except -1:
    """Take the stand-ins out of their places. `alone`: as `enter` has it."""
    if TEXTS and found[2] is None:
        forget_texts()
    if alone == _entries and not _lock.held:    # no call was entered since: nothing else is in these places
        return take_back(found)
    if not needs_lock(<list>found[0], <list>found[1]):
        return take_back(found)
    with _lock:
        return take_back(found)


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
    cdef void* called
    cdef Route reach
    cdef public bint as_set                 # adopted as set_adoption says, not always
    cdef dict others                        # packages -> what adopts these alone

    def __cinit__(self):
        self.called = <void*>serve

    def __init__(self, function, Route reach):
        self.function = function
        self.reach = reach

    @property
    def __doc__(self):                      # each class has one of its own, which is the type's otherwise
        return self.function.__doc__

    cdef object restricted(self, tuple packages):
        """What adopts these packages alone."""
        if self.others is None:
            self.others = {}
        found = self.others.get(packages)
        if found is None:
            found = self.others[packages] = Adopted(self.function, _reach_of(self.function, packages))
        return found


cdef PyObject* serve(PyObject* this, PyObject** args, size_t nargsf, PyObject* names) except NULL:
    """Adopted.__call__, as the vectorcall protocol has it."""
    cdef Adopted self = <Adopted>this
    cdef Py_ssize_t given = PyVectorcall_NARGS(nargsf)
    cdef tuple found
    cdef PyObject* before
    cdef object result
    cdef Py_ssize_t alone
    if self.as_set and _differs:
        mode = adoption_mode()
        if mode is not True:
            other = self.function if mode is False else self.restricted(mode)
            return PyObject_Vectorcall(<PyObject*>other, args, nargsf, names)
    found = enter(self.reach, args, given, names, &alone)
    before = arraygrad_set_adopting(<PyObject*>found)     # compiled: no signal handler runs before `finally`
    try:
        if self.reach.writes or self.reach.given_writes:
            _lend(
                self.function, self.reach, found[0], positional(args, given), named(args, given, names), before == NULL
            )
        result = vectorcall(<PyObject*>self.function, args, nargsf, names)
    finally:
        try:
            if _loans and before == NULL:
                _give_back()
        finally:
            arraygrad_set_adopting(before)
            leave(found, alone)
    Py_INCREF(result)
    return <PyObject*>result


cdef object _lend = None                    # lent._lend and lent._give_back
cdef object _give_back = None
cdef dict _loans = {}
LOANS = _loans                              # thread -> what was lent to its calls: Note [Lent arrays] in lent.py


def set_lending(lend, give_back):
    """Have `lend(function, route, names, args, kwargs, outermost)` lend arrays, `give_back()` end that: lent.py."""
    global _lend, _give_back
    _lend, _give_back = lend, give_back


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
        cdef PyObject* before = arraygrad_set_adopting(<PyObject*>found)
        try:
            return self.function(*args, **kwargs)
        finally:
            arraygrad_set_adopting(before)
            while found is not None:
                leave(found, -1)
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


def set_renewal(renewed, forget, reach_of):
    """Have `renewed(found)` look again at what a call has put into place, and `forget()` what was found: reach.py."""
    global _renewed, _forget, _reach_of
    _renewed = renewed
    _forget = forget
    _reach_of = reach_of


def _differ():
    global _differs
    _differs = True


on_change(_differ)


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
    cdef PyObject* before = arraygrad_set_adopting(NULL)
    try:
        return function(*args, **kwargs)
    finally:
        arraygrad_set_adopting(before)


cdef Adopted _one = Adopted(None, None)
arraygrad_serve_calls(<PyTypeObject*>Adopted, <char*>&_one.called - <char*><void*>_one)
