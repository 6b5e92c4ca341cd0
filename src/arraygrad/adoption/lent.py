"""Arrays that were made before an adopted call, which its code writes into: recordable while the call runs.

May import: adoption.builtin_answers, adoption.exchange, adoption.bindings, adoption.identity_comparisons,
adoption.reach, adoption.written, autograd.views_of_memory, core.convert, core.write_protection, core.constructors,
core.tensor, the standard library, numpy.

Note [Lent arrays]
~~~~~~~~~~~~~~~~~~
`self.state[i] = x` writes a recorded value into an array that was made before the call. NumPy's array has no place for
a gradient. So for the call its places hold a Tensor over the same memory, and afterwards the array again: the same
object, with the values that the plain program leaves, also after an exception.
(1) Which arrays: those whose names code writes through (Note [Names that are written] in written.py). Places are
    attributes, slots, items of lists and dicts, cells, globals, class attributes, default arguments.
(2) All or none. Whoever reads the memory in the call must find the Tensor, or the gradient would be lost without a
    word. An array of NumPy's is held by whoever uses its memory, views hold its owner, so references are counted: where
    one is not explained by a place that was found, the array stays, and a write into it is refused. Views in places
    become views of the Tensor. Local variables of the functions that wait for the call explain references too: they run
    when the array is back.
(3) Not if another thread may run code of the program meanwhile: it would find the Tensor. A thread that waits for work
    in a pool runs none but what the call gives it, which is part of the call as in a thread that it starts.
(4) Only where the call is all of what a transform follows: code outside of it would read the array, without a gradient.
    In nested transforms the array comes back when the outermost call ends.
(5) When the array goes back, what nodes saved of its memory is copied, as the program may write there, unseen. Tensors
    over it that the program has put into places are arrays again, too, and so is what it has bound the place to anew.
Guarded by tests/adoption/test_lent_arrays.py and test_lent_programs.py.
"""

import builtins
import functools
import gc
import inspect
import linecache
import sys
import threading
import types
import weakref

import numpy

from arraygrad.adoption.bindings import attributes_of, is_plain, references
from arraygrad.adoption.builtin_answers import raw_of
from arraygrad.adoption.exchange import LOANS, Adopted, running, set_lending
from arraygrad.adoption.identity_comparisons import attribute
from arraygrad.adoption.reach import adoptable, is_library, slots_of
from arraygrad.adoption.written import parameter
from arraygrad.autograd.views_of_memory import shown_of
from arraygrad.core.constructors import asarray
from arraygrad.core.convert import RUNNING, running_here
from arraygrad.core.exports import lent_array
from arraygrad.core.tensor import Tensor
from arraygrad.core.write_protection import hand_back

__all__ = ["install", "why_not_lent"]

_DEPTH = 8  # how deep objects in objects are followed
_OBJECTS = 20_000  # how many objects one search looks at
_ITEMS = 4096  # how many items of a container
_PLAIN = frozenset(
    (float, int, complex, str, bytes, bool, types.NoneType, numpy.float64, numpy.float32, numpy.int64, range, slice)
)
# Threads of tools, which run no code of the program.
_TOOLS = frozenset(
    """
    IPython ipykernel zmq tornado debugpy pydevd _pydevd_bundle _pydev_bundle tqdm pytest_timeout execnet xdist
    jupyter_client prompt_toolkit arraygrad
    """.split()
)
_SNAPSHOTS = sys.version_info < (3, 13)  # f_locals of a function holds what the variables hold a second time
_BORROWS = sys.version_info >= (3, 14)  # parameters may hold what the caller's variables hold, without a reference


_CONTAINERS = frozenset((dict, list, tuple, set, frozenset))
# What is looked into by its kind, or not at all.
_NO_OBJECTS = (
    types.FunctionType, types.MethodType, types.ModuleType, functools.partial, type, staticmethod, classmethod,
    property,
)  # fmt: skip


class _Found:
    """An array, and the places that hold it: (holder, key)."""

    __slots__ = ("box", "frames", "named", "places")

    def __init__(self, array):
        self.box = [array]  # so that references are counted without one more
        self.places = []
        self.named = False
        self.frames = 0  # references by variables of functions that wait


class _Walk:
    """A walk over what a call reaches, and what else holds arrays."""

    def __init__(self, names):
        self.arrays = {}
        self._names = names
        self._seen = {}
        self._dicts = set()  # ids of those that were looked at
        self._places = set()
        self._kept = []  # so that an id stays an id

    # What is found

    def array(self, holder, key, value, named):
        """An array in a place."""
        found = self.arrays.get(id(value))
        if found is None:
            found = self.arrays[id(value)] = _Found(value)
        found.named = found.named or named
        name = (id(holder[0]), id(holder[1])) if type(holder) is tuple else (id(holder), key)
        if name not in self._places:  # one place counts once, however it is reached: (2)
            self._places.add(name)
            found.places.append((holder, key))

    def tensor(self, holder, key, value):
        """A Tensor in a place."""

    def leave_out(self, dicts):
        """Have dicts left out of the walk."""
        self._kept += dicts
        self._dicts.update(map(id, dicts))

    # The walk

    def item(self, holder, key, value, depth, named):
        """What a place holds; without a holder: where nothing can be exchanged."""
        kind = type(value)
        if kind in _PLAIN:
            return
        if kind is numpy.ndarray:
            if holder is not None:
                self.array(holder, key, value, named)
        elif kind is Tensor:
            if holder is not None:
                self.tensor(holder, key, value)
        else:
            self.visit(value, depth, named)

    def visit(self, value, depth=0, named=False):
        """Look at what an object holds."""
        known = self._seen.get(id(value))
        kind = type(value)  # asked by issubclass: isinstance reads `__class__`, which may be code of the program
        if depth > _DEPTH or (known is not None and (known or not named)) or len(self._seen) > _OBJECTS:
            return
        self._seen[id(value)] = named
        if known is None:
            self._kept.append(value)
        elif not issubclass(kind, list | tuple | dict):  # seen before, but not as something that is written
            return
        if issubclass(kind, dict):
            if known is None or named:
                self.entries(value, depth, named, again=known is not None)
        elif issubclass(kind, list):
            if list.__len__(value) <= _ITEMS:
                for k, item in enumerate(list.__iter__(value)):
                    self._once(known, value, k, item, depth + 1, named)
        elif issubclass(kind, tuple | set | frozenset):
            base = next(one for one in (tuple, set, frozenset) if issubclass(kind, one))
            if base.__len__(value) <= _ITEMS:
                for item in base.__iter__(value):
                    self.item(None, None, item, depth + 1, named)
        elif issubclass(kind, types.FunctionType):
            self._function(value, depth)
        elif issubclass(kind, types.MethodType):
            self.visit(value.__func__, depth)
            self.item(None, None, value.__self__, depth, False)
        elif kind is functools.partial:
            self._partial(value, depth)
        elif issubclass(kind, type):
            self._class(value, depth)
        elif issubclass(kind, staticmethod | classmethod):
            self.visit(value.__func__, depth)
        if not issubclass(kind, _NO_OBJECTS) and kind not in _CONTAINERS:
            self._object(value, depth)

    def _once(self, known, holder, key, value, depth, named):
        """An item of a container; of one that was seen before only whether it is written is new."""
        if known is None or type(value) not in (numpy.ndarray, Tensor):
            self.item(holder, key, value, depth, named)
        elif id(value) in self.arrays:
            self.arrays[id(value)].named = True

    def entries(self, items, depth, named=False, names=None, again=False):
        """The items of a dict, a namespace or the attributes of an object; `names`: those that are looked at."""
        if dict.__len__(items) > _ITEMS:
            return
        if names is None and not again:
            if id(items) in self._dicts:
                return
            self._dicts.add(id(items))
            self._kept.append(items)
        if names is None:
            pairs = list(dict.items(items))
        else:  # of a namespace, whose names are text
            pairs = [(name, items.get(name)) for name in names & items.keys() if name != "__builtins__"]
        for key, value in pairs:
            if type(value) in _PLAIN:
                continue
            text = type(key) is str
            holder = items if text or is_plain(key) else None  # the hash of another may be code of the program
            self._once(True if again else None, holder, key, value, depth + 1, named or (text and key in self._names))

    def _function(self, function, depth):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if id(cell) in self._seen:
                continue
            self._seen[id(cell)] = True
            self._kept.append(cell)
            try:
                value = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            self.item(cell, None, value, depth + 1, name in self._names)
        code = function.__code__
        box = [function.__defaults__ or ()]
        own = references(box) == 2  # the tuple is nobody else's
        more = max(0, len(box[0]) - code.co_argcount)  # than there are parameters, which Python leaves unused
        names = ("",) * more + code.co_varnames[code.co_argcount + more - len(box[0]) : code.co_argcount]
        for k, value in enumerate(box[0]):
            self.item(function if own else None, k, value, depth + 1, parameter(code, names[k]) in self._names)
        for name, value in (function.__kwdefaults__ or {}).items():
            self.item(function.__kwdefaults__, name, value, depth + 1, parameter(code, name) in self._names)
        if function.__dict__:
            self.visit(function.__dict__, depth)

    def _partial(self, partial, depth):
        self.visit(partial.func, depth)
        code = getattr(getattr(partial.func, "__func__", partial.func), "__code__", None)
        names = code.co_varnames[isinstance(partial.func, types.MethodType) :] if type(code) is types.CodeType else ()
        box = [partial.args]
        own = references(box) == 2
        for k, value in enumerate(box[0]):
            named = k < len(names) and parameter(code, names[k]) in self._names
            self.item(partial if own else None, k, value, depth + 1, named)
        for name, value in partial.keywords.items():
            named = name in names and parameter(code, name) in self._names
            self.item(partial.keywords, name, value, depth + 1, named)

    def _class(self, cls, depth):
        for base in cls.__mro__[:-1]:
            module = sys.modules.get(base.__module__)
            if module is None or not _is_a_programs(vars(module)) or (base is not cls and id(base) in self._seen):
                continue
            self._seen[id(base)] = False
            self._kept.append(base)
            for name, value in list(vars(base).items()):
                if not name.startswith("__") and type(value) not in (types.FunctionType, property):
                    self.item(base, name, value, depth + 1, name in self._names)

    def _object(self, obj, depth):
        wrapped = attribute(obj, "__wrapped__")  # a transform of a program's function, for one
        if wrapped is not None and attribute(type(obj), "__wrapped__") is None:
            self.visit(wrapped, depth)
        cls = type(obj)
        if cls is not types.SimpleNamespace and (
            is_library(cls.__module__) or cls.__module__.partition(".")[0] in sys.stdlib_module_names
        ):
            return
        if issubclass(cls, threading.local):
            return
        self.visit(cls, depth)
        attributes = attributes_of(obj)
        if attributes is not None:
            self.entries(attributes, depth)
        for member, value in slots_of(obj):
            if value is attributes:  # of SimpleNamespace
                continue
            self.item((obj, member), None, value, depth + 1, member.__name__ in self._names)


class _Return(_Walk):
    """The walk after the call: Tensors over lent memory are arrays again, wherever the program has put them (5)."""

    def __init__(self, memory):
        super().__init__(())
        self._memory = memory

    def array(self, holder, key, value, named):
        pass

    def tensor(self, holder, key, value):
        raw = raw_of(value)
        if id(raw) in self._memory or id(raw.base) in self._memory:
            _put(holder, key, raw)


def _get(holder, key):
    """What a place holds; None where there is no such place any more."""
    if isinstance(holder, dict):
        return dict.get(holder, key)
    if isinstance(holder, list):
        return list.__getitem__(holder, key) if key < list.__len__(holder) else None
    if type(holder) is types.CellType:
        try:
            return holder.cell_contents
        except ValueError:
            return None
    if type(holder) is types.FunctionType:
        given = holder.__defaults__ or ()
        return given[key] if key < len(given) else None
    if type(holder) is functools.partial:
        return holder.args[key]
    if type(holder) is tuple:
        try:
            return holder[1].__get__(holder[0])
        except AttributeError:  # deleted
            return None
    return vars(holder).get(key)


def _put(holder, key, value):
    """Have a place hold a value; no code of the program runs."""
    if isinstance(holder, dict):
        dict.__setitem__(holder, key, value)
    elif isinstance(holder, list):
        list.__setitem__(holder, key, value)
    elif type(holder) is types.CellType:
        holder.cell_contents = value
    elif type(holder) is types.FunctionType:
        given = list(holder.__defaults__)
        given[key] = value
        holder.__defaults__ = tuple(given)
    elif type(holder) is functools.partial:
        args = list(holder.args)
        args[key] = value
        functools.partial.__setstate__(holder, (holder.func, tuple(args), holder.keywords, vars(holder)))
    elif type(holder) is tuple:
        holder[1].__set__(holder[0], value)
    else:
        type.__setattr__(holder, key, value)


class _Loan:
    """The arrays that are lent to one call."""

    def __init__(self, roots, names, namespaces):
        self._roots = roots
        self._namespaces = namespaces
        self._lent = []  # of (array, Tensor, places)
        self._memory = {}  # id -> array or owner of memory that is lent
        self._names = names

    def find(self, waiting):
        """Lend what can be; `waiting`: the innermost frame that waits for the call, None: none is known to."""
        walk = self._walk(_Walk(self._names))
        families = _written_families(walk)
        if not families:
            return
        if any(map(_unfit, families)):
            walk = families = None  # they hold references
            walk = self._wide(waiting)
            families = _written_families(walk)
            for generation in (1, 2):  # what solvers leave behind, which refer to themselves, is young
                if not any(map(_may_be_garbage, families)):
                    break
                walk = families = None
                gc.collect(generation)
                walk = self._wide(waiting)
                families = _written_families(walk)
            else:
                _note_held(families)
        for family in families:
            reason = _unfit(family) or self._lend(family)
            if reason:
                _note(family, reason)

    def _walk(self, walk):
        for namespace, names in self._namespaces:
            if not _is_a_programs(namespace):
                continue
            walk.entries(namespace, -1, names=names)
        for root in self._roots:
            walk.visit(root)
        return walk

    def _wide(self, frame):
        """The walk with all names of the namespaces, and what the frames that wait hold."""
        frames = []
        while frame is not None:
            if _is_a_programs(frame.f_globals):
                frames.append(frame)
            frame = frame.f_back
        walk = _Walk(self._names)
        # Before Python 3.13 this is a dict that the frame keeps, with a second reference to each variable.
        spaces = [frame.f_locals for frame in frames]
        walk.leave_out([space for frame, space in zip(frames, spaces, strict=True) if space is not frame.f_globals])
        self._walk(walk)
        for namespace in (*[namespace for namespace, _ in self._namespaces], *[f.f_globals for f in frames]):
            if _is_a_programs(namespace):
                walk.entries(namespace, -1, names=namespace.keys())
        walk.entries(vars(builtins), -1, names={"_"})  # what an interactive session showed last
        for frame, space in zip(frames, spaces, strict=True):
            if space is frame.f_globals:
                continue
            code = frame.f_code
            uncounted = {*code.co_cellvars, *code.co_freevars}
            if _BORROWS:
                uncounted.update(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
            for name, value in space.items():
                if type(value) is numpy.ndarray:
                    found = walk.arrays.get(id(value))
                    if found is None:
                        found = walk.arrays[id(value)] = _Found(value)
                    if code.co_flags & inspect.CO_OPTIMIZED:
                        found.frames += (name not in uncounted) + _SNAPSHOTS
                else:
                    walk.item(None, None, value, 0, False)
        return walk

    def _lend(self, family):
        """Put Tensors into the places of arrays over one memory, unless a view can't be made."""
        arrays = [found.box[0] for found in family]
        owner = _owner(arrays[0])
        root = arrays[0] if len(arrays) == 1 else owner
        base = lent_array(asarray(root))
        made = []
        try:
            for found, array in zip(family, arrays, strict=True):
                for holder, key in found.places:
                    _put(holder, key, array)
        except (AttributeError, TypeError):  # of a compiled class, for one
            return "a place that holds it can't be written"
        for found, array in zip(family, arrays, strict=True):
            shown = base if array is root else shown_of(base, root, array)
            if shown is None:
                return "a view of its memory has a form that indexing can't give"
            made.append((array, shown, found.places))
        self._memory[id(owner)] = owner
        self._memory.update({id(array): array for array in arrays})
        for loan in made:
            self._lent.append(loan)
            for holder, key in loan[2]:
                _put(holder, key, loan[1])
        return ""

    def back(self):
        """Put the arrays back."""
        if not self._lent:
            return
        given = {id(shown): array for array, shown, _ in self._lent}
        for _, _, places in self._lent:
            for holder, key in places:
                held = _get(holder, key)
                if type(held) is not Tensor:
                    continue
                if id(held) in given:
                    _put(holder, key, given[id(held)])
                elif held.ndim and type(raw_of(held)) is numpy.ndarray:  # another array, which the call has made
                    hand_back(held)
                    _put(holder, key, raw_of(held))
        for _, shown, _ in self._lent:
            hand_back(shown)
        self._walk(_Return(self._memory))


def _is_a_programs(namespace):
    """Whether a namespace is a program's, and none of numpy.polynomial, whose arrays are constants."""
    return adoptable(namespace) and (namespace.get("__name__") or "").partition(".")[0] != "numpy"


def _owner(array):
    """The array that owns the memory of an array; None where it is none of NumPy's."""
    base = array if array.base is None else array.base
    return base if type(base) is numpy.ndarray and base.base is None and base.flags.owndata else None


def _written_families(walk):
    """Lists of the arrays over one memory, if code writes through any of them."""
    families = {}
    for found in walk.arrays.values():
        owner = _owner(found.box[0])
        if owner is not None:
            families.setdefault(id(owner), []).append(found)
    return [family for family in families.values() if any(found.named for found in family)]


def _unfit(family):
    """Why the arrays over one memory can't be lent; "" if they can: every reference to them is explained (2)."""
    views = sum(found.box[0].base is not None for found in family)
    kinds = {found.box[0].dtype for found in family}
    owner = [family[0].box[0].base] if views == len(family) else [None]  # nobody's by itself
    if owner[0] is not None:
        kinds.add(owner[0].dtype)
    if len(kinds) > 1 or kinds.pop().char not in "fdFD":
        return "its dtype, or that of a view of its memory, is not float32, float64, complex64 or complex128 throughout"
    if not all(_is_usual(found.box[0]) for found in family) or (owner[0] is not None and not _is_usual(owner[0])):
        return "it, or a view of its memory, can't be written, is not aligned or has another byte order"
    if any(weakref.getweakrefcount(found.box[0]) for found in family):
        return "a weak reference leads to it"
    known = all(
        references(found.box) == 1 + len(found.places) + found.frames + (views if found.box[0].base is None else 0)
        for found in family
    )
    if not known or (owner[0] is not None and references(owner) != 1 + views):
        return _UNKNOWN
    return ""


_UNKNOWN = (
    "something that can't hold a Tensor in its place holds it, or a view of it, too: an argument of the call, a tuple "
    "or set, a list of more than 4096 items, a generator, an object of a library, the traceback of an error"
)


_held: dict = {}  # id of the owner of memory -> references to it, where collecting garbage has set nothing free


def _references_to(family):
    """(id of the owner of the memory of arrays, references to it)."""
    box = [_owner(family[0].box[0])]
    return id(box[0]), references(box)


def _may_be_garbage(family):
    """Whether something holds arrays that was not found, and collecting garbage may help: what an error has left."""
    if _unfit(family) != _UNKNOWN:
        return False
    owner, count = _references_to(family)
    return _held.get(owner) != count


def _note_held(families):
    if len(_held) > _ITEMS:
        _held.clear()
    _held.update(_references_to(family) for family in families if _unfit(family) == _UNKNOWN)


def _is_usual(array):
    """Whether an array may be written, and its elements lie in memory as NumPy's own do."""
    flags = array.flags
    return flags.writeable and flags.aligned and array.dtype.isnative and array.size > 0


_reasons: dict = {}  # thread -> {id of the owner of memory: why it was not lent to the running call}


def _note(family, reason):
    _reasons.setdefault(threading.get_ident(), {})[id(_owner(family[0].box[0]))] = reason


def why_not_lent(array, frame):
    """Why an array that the code of a frame writes into is no Tensor, as a sentence; "" where that is not known."""
    if not linecache.getlines(frame.f_code.co_filename, frame.f_globals):
        return (
            f"The source of {frame.f_code.co_name} is not known, so what methods and operators of arrays make in it "
            "is not recordable. "
        )
    known = _reasons.get(threading.get_ident(), {})
    if type(array) is not numpy.ndarray:
        return ""
    reason = known.get(None)
    if reason is None:
        holder = _tuple_with(array, frame)
        if holder:
            return f"The tuple {holder} holds it, in which nothing can be exchanged: make it a list. "
        reason = known.get(id(_owner(array)))
    if reason:
        return f"An array that was made before the call is recorded there in many cases, but {reason}. "
    return ""


def _tuple_with(array, frame):
    """The name of a tuple that holds an array, or an array over its memory; "" where none is found.

    The garbage collector does not know tuples of arrays, so those that the code names are looked at.
    """
    owner = _owner(array)
    if owner is None:
        return ""
    spaces = [("", frame.f_locals), ("", frame.f_globals)]
    spaces += [
        (f"{name}.", attributes_of(one) or {})
        for name, one in frame.f_locals.items()
        if not isinstance(one, (types.ModuleType, type))
    ]
    for prefix, space in spaces:
        for name, one in list(space.items()):
            if isinstance(one, tuple) and any(type(i) is numpy.ndarray and _owner(i) is owner for i in one):
                return f"{prefix}{name}"
    return ""


def _transforms_are_whole():
    """Whether each transform that runs follows an adopted call and no code beside it: (4)."""
    traces = list(RUNNING.values())
    if not traces or len(traces) != running_here() or traces[0].nested or traces[0].alias:
        return False
    adopted = 0
    for trace in traces:
        function = trace.function
        if type(function) is not Adopted:  # of arguments by name
            function = getattr(function, "_function", function)
        if type(function) is Adopted:
            adopted += 1
        elif not hasattr(function, "differentiates"):
            return False
    return adopted == len(running())


def _reason_of_call():
    """Why no array is lent to the call that begins; "" where some may be."""
    if not _transforms_are_whole():
        return (
            "not in this call: other code than that of an adopted transform, or a Tensor that requires grad among the "
            "arguments, could want its gradient afterwards"
        )
    if _others_may_run():
        return "not while another thread may run code of the program, which would find a Tensor in its place"
    return ""


def _others_may_run():
    """Whether another thread may run code of the program: (3)."""
    frames, waiting = sys._current_frames(), {}
    del frames[threading.get_ident()]  # a frame that holds itself would be freed by the garbage collector alone
    for frame in frames.values():
        if _waits_for_work(frame):
            executor = frame.f_locals["executor_reference"]()
            waiting.setdefault(id(executor), (executor, []))[1].append(frame)
            continue
        tops = set()
        while frame is not None:
            tops.add((frame.f_globals.get("__name__") or "").partition(".")[0])
            frame = frame.f_back
        if not tops & _TOOLS or not tops <= _TOOLS | sys.stdlib_module_names:
            return True
    return any(_has_given_work(executor, len(frames)) for executor, frames in waiting.values())


def _waits_for_work(frame):
    """Whether a thread of a ThreadPoolExecutor has nothing to do: only the call could give it work."""
    if frame.f_code.co_name != "_worker" or frame.f_globals.get("__name__") != "concurrent.futures.thread":
        return False
    queue = frame.f_locals.get("work_queue")
    return queue is not None and queue.empty()


def _has_given_work(executor, waiting):
    """Whether one of so many waiting threads of an executor has work that it does not know of yet.

    From CPython 3.13 on a queue hands what is put into it to a thread that waits, and is empty at once. The executor
    counts the idle threads: it takes one off when it gives work.
    """
    return _QUEUES_HAND_OVER and executor is not None and executor._idle_semaphore._value < waiting


_QUEUES_HAND_OVER = sys.version_info >= (3, 13)


def _lend(function, route, names, args, kwargs, outermost):
    """Lend arrays to a call; they go back with the outermost one.

    Parameters
    ----------
    function : callable
    route : Route
        It knows the names that code writes through.
    names : list of Names
        The namespaces that the call reaches.
    args, kwargs
        The arguments of the call.
    outermost : bool
        No adopted call is around this one.
    """
    here = threading.get_ident()
    if outermost:
        _reasons.pop(here, None)
    objects = [a for a in (*args, *kwargs.values()) if not is_plain(a)]
    writes = route.given_writes if objects else route.writes
    if not writes:
        return
    reason = _reason_of_call()
    if reason:
        _reasons.setdefault(here, {})[None] = reason
        return
    loan = _Loan((function, *objects), writes, [(one.namespace, one.looked_up()) for one in names])
    LOANS.setdefault(here, []).append(loan)
    loan.find(sys._getframe(1) if outermost else None)


def _give_back():
    """Put back what was lent to the calls of this thread."""
    loans = LOANS.pop(threading.get_ident(), ())[::-1]
    try:
        for loan in loans:
            loan.back()
    except BaseException:  # of a signal handler
        for loan in loans:
            loan.back()
        raise


def install():
    """Have adopted calls lend arrays."""
    set_lending(_lend, _give_back)
