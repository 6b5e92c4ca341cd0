"""Functions that are given to solvers: what they depend on besides their arguments becomes arguments.

May import: autograd.grad_mode, autograd.graph, autograd.function_snapshots, core.containers, core.tensor, engine,
implicit.carried, implicit.common, implicit.copies, implicit.stores, numpy.

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
    One that changes what it reads is called on copies in backward: Note [What calls leave] in carried.py.
(3) Which Tensors are read is found by the look that `kept` takes (Note [Function snapshots], 2), and proved: what the
    solver's first call records, and each recorded call of the copy, leads to known Tensors alone. So nothing is lost
    unseen: what the look does not find is refused.
Guarded by tests/implicit/test_functions_that_read.py.
"""

import functools
import operator
import types

import numpy

from arraygrad.autograd.closed_functions import called_by
from arraygrad.autograd.function_snapshots import contents_of, held, kept
from arraygrad.autograd.grad_mode import no_grad
from arraygrad.autograd.graph import get_gradient_edge
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.tensor import Tensor
from arraygrad.engine.graph_task import current_graph_task_id
from arraygrad.engine.node import is_grad_enabled, take_sequence_nr
from arraygrad.implicit.carried import Carried, changes_things
from arraygrad.implicit.common import as_tensor, raw
from arraygrad.implicit.copies import Copies, attributes_of, is_recorded
from arraygrad.implicit.stores import ran_unrecorded

__all__ = ["depends", "lifted"]

_DEPTH = 4


def lifted(name, f, args=()):
    """(function(variables, *all), all): `f` as a function of its arguments and of the Tensors that it reads besides.

    The function may be kept for backward, which calls it as `kept` says; `name`, of the solver, is for its errors.
    """
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    read, elsewhere, carried = [], False, None
    f, args = _over_reading(f, args)

    def found(copy, places, codes):
        nonlocal read, elsewhere, carried
        read = list({id(t): t for t, _ in places}.values())
        elsewhere = not all(direct for _, direct in places)
        if changes_things(codes):
            carried = Carried(name, copy, codes, read)
            return carried.covers
        return None

    def bind(f):
        if carried is not None:
            return _Changing(name, f, read, elsewhere, carried)
        if not read:
            return f
        return _Reading(name, f, read) if elsewhere else _over_copies(f, read)

    function = kept(f, name, args, bind, found)
    function.on_copies = carried is not None  # nothing that later calls store is found by others
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
    whole.__dict__.update(function.__dict__)
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
    copies, n = Copies(f, tensors), len(tensors)
    last = ((), None)  # raw values and the copy over them: a solver calls with the same values many times

    def function(*given):
        nonlocal last
        values, (before, made) = given[-n:], last
        if len(before) != n or not all(map(operator.is_, values, before)):
            made = copies.of(f, values)
            if not any(isinstance(value, Tensor) for value in values):
                last = (values, made)
        return made(*given[:-n])

    return function


class _Reading:
    """The same for a function that may write to what it reads: see Note [What a function reads], 2 and 3."""

    def __init__(self, name, f, tensors):
        self.name = name
        self.f = f
        self.tensors = tensors
        self.copies = Copies(f, tensors)
        self.edges = {_key(t) for t in tensors}
        self.proved = False

    def __call__(self, *given):
        given, values = given[: -len(self.tensors)], given[-len(self.tensors) :]
        recorded = [leaf for leaf in flatten((given, values))[0] if is_recorded(leaf)]
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
        return unflatten(structure, [leaf.detach() if is_recorded(leaf) else leaf for leaf in leaves])

    def plainly(self, given, values):
        """(f(*given) for raw values of the Tensors, whether it changed what it reads).

        It is for one solution, which is computed otherwise where it did. It reads plain numbers, and is called as it
        stands where nothing is recorded. Before, a call is looked at as any other.
        """
        if not self.proved and is_grad_enabled():
            self(*given, *values)
        copier = self.copies.copier([a[()] if type(a) is numpy.ndarray and not a.ndim else a for a in values])
        return copier.of(self.f), copier.changed

    def proven(self, known, f, given):
        """f(*given), of which nothing that it records leads elsewhere than to known edges."""
        first = take_sequence_nr()
        result = f(*given)
        waiting = [_key(leaf) for leaf in flatten(result)[0] if is_recorded(leaf)]
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


class _Changing(_Reading):
    """The same for a function that may change what exists before it is called: see Note [What calls leave]."""

    def __init__(self, name, f, tensors, elsewhere, carried):
        super().__init__(name, f, tensors)
        self.elsewhere, self.carried = elsewhere, carried

    plainly = None  # type: ignore[assignment]  # it is looked at in each call

    def __call__(self, *given):
        n = len(given) - len(self.tensors)
        given, values = given[:n], given[n:]
        run = current_graph_task_id()
        recorded = [leaf for leaf in flatten((given, values))[0] if is_recorded(leaf)] if is_grad_enabled() else []
        if recorded:
            prove = {_key(leaf) for leaf in recorded} if self.tensors and self.elsewhere else None
            result = self.carried.call(
                given, values, run, lambda f: f(*given) if prove is None else self.proven(prove, f, given)
            )
            if run == self.carried.born:  # the solver's own call leaves what it does
                self.carried.call_itself(self.f, given)
            return result
        moved = not all(_same(t, value) for t, value in zip(self.tensors, values, strict=True))
        if run != self.carried.born or (moved and self.elsewhere):
            return self.carried.call(given, values, run, lambda f: f(*given))
        if not self.elsewhere:
            result = (self.copies.of(self.f, values) if self.tensors else self.f)(*given)
        else:
            if is_grad_enabled():
                ran_unrecorded()
            with no_grad():
                result = self.f(*given)
            if not self.proved and is_grad_enabled():
                self.proved = True
                self.carried.call(given, self.tensors, run, lambda f: self.proven(self.edges, f, given))
        self.carried.look(given, values, result)
        if self.elsewhere:
            self.carried.as_arrays()
        return result


_ACCUMULATORS = 2**64 - 1  # the number of a leaf's accumulator


def _key(t):
    edge = get_gradient_edge(t)
    return edge.node, edge.output_nr


def _same(tensor, value):
    """Whether a Tensor holds these values; nan is the same as nan."""
    now, then = tensor.array, raw(value)
    if now is then:
        return True
    if isinstance(then, (float, complex, numpy.generic)):  # a moved value
        then = numpy.asarray(then)
    now, then = tensor.detach(), as_tensor(then)
    return bool(((now == then) | ((now != now) & (then != then))).all())


# -- What is looked at before a solver runs ----------------------------------------------------------------------------


def _parts_of(f):
    """The values that a function holds: its closure's and its defaults."""
    if isinstance(f, functools.partial):
        return [f.func, f.args, f.keywords]
    if isinstance(f, types.FunctionType):
        cells = [part for cell in f.__closure__ or () for part in contents_of(cell)]
        return [*cells, f.__defaults__ or (), f.__kwdefaults__ or {}]
    if isinstance(f, types.MethodType):
        return [f.__func__, *attributes_of(f.__self__).values()]
    return list(attributes_of(f).values())


def depends(f, depth=_DEPTH):
    """Whether a Tensor that requires grad is found in the closure of a function, or of one that it holds.

    Also in the attributes of the object of a method, or of one that is called; of a transform, in all that it reads.
    """
    if not depth or not is_grad_enabled():
        return False
    if called_by(f) is not None:  # globals too: what a transform returns for plain arguments tells of none
        return any(is_recorded(value) for value in held(called_by(f)).values())
    for part in _parts_of(f):
        for leaf in flatten(part)[0]:
            if is_recorded(leaf) or (
                callable(leaf) and not isinstance(leaf, (type, Tensor)) and depends(leaf, depth - 1)
            ):
                return True
    return False
