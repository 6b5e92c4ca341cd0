"""Functions that are given to solvers: what they depend on besides their arguments becomes arguments.

May import: autograd.grad_mode, autograd.graph, autograd.kept_functions, core.containers, core.tensor, engine,
implicit.common, implicit.stores, numpy.

A solver calls a function many times on raw arrays, and the gradient comes from the solved equation. So what the
function depends on must be among the inputs of the solution's node. Begin reading at `lifted`.

Note [What a function reads]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~
(1) Tensors that a function reads besides its arguments, in its closure, its defaults, its globals, the attributes of
    its object, the items of containers, become arguments of a copy of it. The copy is over copies of all that leads
    from the function to such a Tensor (a closure, an object, a list, a namespace), with the arguments in their places.
(2) Backward calls the copy, and so does all that moves these values. The solver calls the copy on raw arrays where the
    Tensors stand in closures, defaults and tuples alone. Otherwise it calls the function itself, which may write to its
    object, and records nothing.
(3) Which Tensors are read is found by the look that `kept` takes (Note [Kept functions], 2), and proved: what the
    solver's first call records, and each recorded call of the copy, leads to known Tensors alone. So nothing is lost
    unseen: what the look does not find is refused.
Guarded by tests/implicit/test_functions_that_read.py.
"""

import collections
import copy
import functools
import types

import numpy

from arraygrad.autograd.grad_mode import no_grad
from arraygrad.autograd.graph import get_gradient_edge
from arraygrad.autograd.kept_functions import contents_of, function_over, kept, names_of, written_cells
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled, take_sequence_nr
from arraygrad.implicit.common import as_tensor, raw
from arraygrad.implicit.stores import ran_unrecorded

__all__ = ["depends", "lifted"]

_DEPTH = 4


def lifted(name, f, args=()):
    """(function(variables, *all), all): `f` as a function of its arguments and of the Tensors that it reads besides.

    The function may be kept for backward, which calls it as `kept` says; `name`, of the solver, is for its errors.
    """
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    read, elsewhere = [], False
    f, args = _over_reading(f, args)

    def found(places):
        nonlocal read, elsewhere
        read = list({id(t): t for t, _ in places}.values())
        elsewhere = not all(direct for _, direct in places)

    def bind(f):
        if not read:
            return f
        return _Reading(name, f, read) if elsewhere else _over_copies(f, read)

    function = kept(f, name, args, bind, found)
    return _of_tensors(function, (*args, *read)), (*args, *read)


def _of_tensors(function, args):
    """`function`, given Tensors where the program's has Tensors, as soon as one of what it is given is a Tensor.

    What is no variable is moved as a raw array, which would meet Tensors in the program: a list of Tensors minus it is
    an array of NumPy's own.
    """
    leaves = flatten(args)[0]
    arrays = [isinstance(leaf, Tensor) and leaf.ndim > 0 for leaf in leaves]
    if not any(arrays):
        return function
    n = len(args)

    def whole(*given):
        if any(isinstance(leaf, Tensor) for leaf in flatten(given)[0]):
            found, structure = flatten(given[len(given) - n :])
            if len(found) == len(leaves):
                found = [
                    as_tensor(leaf) if array and isinstance(leaf, numpy.ndarray) else leaf
                    for leaf, array in zip(found, arrays, strict=True)
                ]
                given = (*given[: len(given) - n], *unflatten(structure, found))
        return function(*given)

    whole.__name__ = function.__name__
    whole.compares_itself = True
    return whole


def _over_reading(f, args):
    """(function, arguments): f without those arguments that read Tensors themselves, functions and objects.

    The function that is given back holds them, where the look finds what they read (3).
    """
    reading = tuple([any(not isinstance(leaf, Tensor) and depends(leaf) for leaf in flatten(arg)[0]) for arg in args])
    if not any(reading):
        return f, args
    function = functools.partial(_over, f, reading, *[arg for arg, reads in zip(args, reading, strict=True) if reads])
    function.__name__ = getattr(f, "__name__", type(f).__name__)
    return function, tuple([arg for arg, reads in zip(args, reading, strict=True) if not reads])


def _over(f, reading, *given):
    """f(variables, all its arguments) of those that read Tensors, the variables, and the other arguments."""
    n = sum(reading)
    end = len(given) - len(reading) + n
    reads, own, rest = iter(given[:n]), given[n:end], iter(given[end:])
    return f(*own, *[next(reads if of_reading else rest) for of_reading in reading])


def _over_copies(f, tensors):
    """function(*given, *values): a copy of f with the values in the places of the Tensors, called on what is given."""
    copies, n = _Copies(f, tensors), len(tensors)

    def function(*given):
        return copies.of(f, given[-n:])(*given[:-n])

    return function


class _Reading:
    """The same for a function that may write to what it reads: see Note [What a function reads], 2 and 3."""

    def __init__(self, name, f, tensors):
        self.name = name
        self.f = f
        self.tensors = tensors
        self.copies = _Copies(f, tensors)
        self.edges = {_key(t) for t in tensors}
        self.proved = False

    def __call__(self, *given):
        given, values = given[: -len(self.tensors)], given[-len(self.tensors) :]
        recorded = [leaf for leaf in flatten((given, values))[0] if _is_recorded(leaf)]
        if recorded and is_grad_enabled():
            return self.proven({_key(leaf) for leaf in recorded}, self.copies.of(self.f, values), given)
        if not all(_same(t, value) for t, value in zip(self.tensors, values, strict=True)):
            return self.copies.of(self.f, values)(*given)
        if self.proved or not is_grad_enabled():
            ran_unrecorded()
            with no_grad():
                return self.f(*given)
        self.proved = True
        leaves, structure = flatten(self.proven(self.edges, self.f, given))
        return unflatten(structure, [leaf.detach() if _is_recorded(leaf) else leaf for leaf in leaves])

    def proven(self, known, f, given):
        """f(*given), of which nothing that it records leads elsewhere than to known edges."""
        first = take_sequence_nr()
        result = f(*given)
        waiting = [_key(leaf) for leaf in flatten(result)[0] if _is_recorded(leaf)]
        seen = set()
        while waiting:
            edge = waiting.pop()
            if edge in known or edge in seen:
                continue
            seen.add(edge)
            node = edge[0]
            if not first <= node.sequence_nr < _ACCUMULATORS:
                raise TypeError(
                    f"{self.name}: '{getattr(self.f, '__name__', type(self.f).__name__)}' depends on a Tensor that "
                    "requires grad and is not among its arguments, and where it reads it was not found, so its "
                    "gradient would be lost: pass it as an argument. Of an object that holds it pass what it is made "
                    "of, and make it in the function"
                )
            waiting += [tuple(following) for following in node.next_functions if following[0] is not None]
        return result


_ACCUMULATORS = 2**64 - 1  # the number of a leaf's accumulator


def _key(t):
    edge = get_gradient_edge(t)
    return edge.node, edge.output_nr


def _is_recorded(leaf):
    return isinstance(leaf, Tensor) and leaf.requires_grad


def _same(tensor, value):
    """Whether a Tensor holds these values; nan is the same as nan."""
    now, then = tensor.array, raw(value)
    if now is then:
        return True
    if isinstance(then, (float, complex, numpy.generic)):  # a moved value
        then = numpy.asarray(then)
    now, then = tensor.detach(), as_tensor(then)
    return bool(((now == then) | ((now != now) & (then != then))).all())


# -- Copies over other values ------------------------------------------------------------------------------------------

_LISTS = (list, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_MOST = 5000  # so many things are followed
# Objects of these are not copied: what they hold stays, and is refused if it matters (3).
_LIBRARIES = frozenset(["numpy", "scipy", "arraygrad", "builtins", "array_api_compat"])


class _Copies:
    """Copies of what leads from a function to some Tensors: Note [What a function reads], 1."""

    def __init__(self, f, tensors):
        self.ids = [id(t) for t in tensors]
        self._written = written_cells(f)
        self._leading = {id(t) for t in tensors}  # ids of what leads to one of them
        self._alive = []
        self._search(f)

    def _search(self, f):
        """Find what leads to the Tensors: those who hold, of everything that f leads to, from the Tensors upwards."""
        holders, waiting, seen = {}, [f], {id(f)}
        while waiting and len(seen) < _MOST:
            one = waiting.pop()
            self._alive.append(one)
            for part in self._parts(one):
                holders.setdefault(id(part), []).append(id(one))
                if id(part) not in seen and not isinstance(part, Tensor):
                    seen.add(id(part))
                    waiting.append(part)
        found = list(self.ids)
        while found:
            for holder in holders.get(found.pop(), ()):
                if holder not in self._leading:
                    self._leading.add(holder)
                    found.append(holder)

    def _parts(self, one):
        """What a thing holds that may be copied."""
        if isinstance(one, types.FunctionType):
            parts = [p for c in one.__closure__ or () if id(c) not in self._written for p in contents_of(c)]
            parts += [one.__defaults__, one.__kwdefaults__]
            space = one.__globals__
            if space.get("__name__", "").partition(".")[0] not in _LIBRARIES:
                parts += [space[name] for name in names_of(one.__code__) if name in space]
            return parts
        if isinstance(one, types.MethodType):
            return [one.__self__, one.__func__]
        if isinstance(one, functools.partial):
            return [one.func, one.args, one.keywords]
        if isinstance(one, tuple) or type(one) in _LISTS:
            return list(one)
        if type(one) in _DICTS:
            return list(one.values())
        if hasattr(type(one), "__del__"):
            return []  # the end of a copy would close what the object holds
        return list(_attributes(one).values())

    def of(self, one, values):
        """`one` with these values in the places of the Tensors; the very same where it leads to none of them."""
        return _Copier(self, values).of(one)

    def leads(self, one):
        return id(one) in self._leading

    def is_written(self, cell):
        return id(cell) in self._written


class _Copier:
    """One copy of everything, so that what was one thing is one thing again."""

    def __init__(self, plan, values):
        self.plan = plan
        self.made = dict(zip(plan.ids, values, strict=True))
        self.spaces = {}

    def of(self, one):
        if not self.plan.leads(one):
            return one
        if id(one) in self.made:
            return self.made[id(one)]
        if isinstance(one, types.FunctionType):
            return self._function(one)
        if isinstance(one, types.MethodType):
            return types.MethodType(self.of(one.__func__), self.of(one.__self__))
        if isinstance(one, functools.partial):
            return type(one)(self.of(one.func), *self.of(one.args), **self.of(one.keywords))
        if isinstance(one, tuple):
            parts = [self.of(part) for part in one]
            return type(one)._make(parts) if hasattr(type(one), "_make") else type(one)(parts)
        kind = type(one)
        made = self.made[id(one)] = copy.copy(one) if kind in _LISTS or kind in _DICTS else _shell(one)
        if kind in _LISTS:
            for i, part in enumerate(one):
                made[i] = self.of(part)
        elif kind in _DICTS:
            for key, part in one.items():
                made[key] = self.of(part)
        else:
            for name, part in _attributes(one).items():
                if not self._is_computed_again(one, name, part):
                    object.__setattr__(made, name, self.of(part))
        return made

    def _is_computed_again(self, one, name, part):
        """Whether an attribute is what a cached property has computed of the Tensors since: of their old values."""
        return (
            isinstance(getattr(type(one), name, None), functools.cached_property)
            and not self.plan.leads(part)
            and any(map(_is_recorded, flatten(part)[0]))
        )

    def _function(self, f):
        space, names = self._space(f)
        made = function_over(f, self._is_own, self.of, self.made, space)
        for name in names:
            space[name] = self.of(f.__globals__[name])
        return made

    def _is_own(self, cell):
        return not self.plan.is_written(cell) and any(map(self.plan.leads, contents_of(cell)))

    def _space(self, f):
        """(the globals of a copy of a function, the names among them whose values are to be copied)."""
        space = f.__globals__
        names = [name for name in names_of(f.__code__) if name in space and self.plan.leads(space[name])]
        if not names or space.get("__name__", "").partition(".")[0] in _LIBRARIES:
            return self.spaces.get(id(space), space), ()
        if id(space) not in self.spaces:
            self.spaces[id(space)] = dict(space)
        return self.spaces[id(space)], names


def _shell(one):
    """An object of the same class, without attributes: no code of the program runs."""
    return types.SimpleNamespace() if type(one) is types.SimpleNamespace else object.__new__(type(one))


def _attributes(one):
    """{name: value} of what an object of a program's class holds, in its dict and its slots; {} for anything else."""
    cls = type(one)
    if cls is types.SimpleNamespace:
        return vars(one)
    if isinstance(one, type) or cls.__module__.partition(".")[0] in _LIBRARIES or not _made_of_object(cls):
        return {}
    held = getattr(one, "__dict__", None)
    found = dict(held) if type(held) is dict else {}
    for base in cls.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, types.MemberDescriptorType) and name not in found:
                try:
                    found[name] = member.__get__(one)
                except AttributeError:  # not assigned
                    continue
    return found


@functools.lru_cache(maxsize=1024)
def _made_of_object(cls):
    """Whether a class and its bases are made by `class` statements, so that its objects are no more than attributes.

    Compiled code may make classes with the same flag. Those have a compiled `__new__` of their own.
    """
    return all(
        base is object
        or (base.__flags__ & _MADE_BY_CLASS and not isinstance(vars(base).get("__new__"), types.BuiltinFunctionType))
        for base in cls.__mro__
    )


_MADE_BY_CLASS = 1 << 9  # Py_TPFLAGS_HEAPTYPE


# -- What is looked at before a solver runs ----------------------------------------------------------------------------


def _parts_of(f):
    """The values that a function holds: its closure's and its defaults."""
    if isinstance(f, functools.partial):
        return [f.func, f.args, f.keywords]
    if isinstance(f, types.FunctionType):
        cells = [part for cell in f.__closure__ or () for part in contents_of(cell)]
        return [*cells, f.__defaults__ or (), f.__kwdefaults__ or {}]
    if isinstance(f, types.MethodType):
        return [f.__func__, *_attributes(f.__self__).values()]
    return list(_attributes(f).values())


def depends(f, depth=_DEPTH):
    """Whether a Tensor that requires grad is found in the closure of a function, or of one that it holds.

    Also in the attributes of the object of a method, or of one that is called.
    """
    if not depth or not is_grad_enabled():
        return False
    for part in _parts_of(f):
        for leaf in flatten(part)[0]:
            if _is_recorded(leaf) or (
                callable(leaf) and not isinstance(leaf, (type, Tensor)) and depends(leaf, depth - 1)
            ):
                return True
    return False
