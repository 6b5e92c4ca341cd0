"""Right sides as small programs that are kept from one solution to the next.

May import: autograd.function_snapshots, autograd.graph, core, engine.node, implicit.columns, implicit.common, program,
transforms.tracked_call, numpy.

Note [Kept programs]
~~~~~~~~~~~~~~~~~~~~
(1) The right side at many points, with its derivatives there, is a recorded call and a backward run, of operations on
    rows. In the next solution of the same function they are the same operations. So they are noted on a tape (Note
    [Small programs]) when a function is met, and are replayed from then on: nothing is recorded then. The first
    solution replays them as well, so that the same solution has the same gradient, to the last bit.
(2) It is the same function where its code is, and all that it reads: what Note [Function snapshots] finds, arrays by
    their content, and the constants among the arguments. What the look can't tell is not kept: objects of which only
    compiled code knows what they hold, functions that change what they read.
(3) Nothing relies on that alone. At a few points beside the solution, with other parameters, a replay must have the
    values of a call of the function, when it is noted also its derivatives; and at the points of the solution the
    values that are known there. Otherwise it is recorded as ever.
(4) A value that is read (a branch, float()) ends a tape, and an operation that is not of the table, whose derivative
    may read anything, is not kept. So what is kept depends on its inputs and on (2) alone.
(5) A tape names all operations between time, state and values. Where these can make no jump, none is looked for:
    sums, products and entire functions, also of abs, sqrt, maximum; quotients of them, as long as nothing but sums,
    products and quotients is made of these and there is no abs or sqrt in them (x / abs(x), atan(1 / x)).
Guarded by tests/implicit/test_kept_programs.py.
"""

import functools
import threading
import types
import weakref

import numpy

from arraygrad.autograd.function_snapshots import SELF, differ
from arraygrad.autograd.graph import walk
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.containers import Structure
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor, edge_of
from arraygrad.engine.anomaly import is_anomaly_enabled
from arraygrad.engine.node import set_zero_annihilates
from arraygrad.implicit.columns import as_columns
from arraygrad.program import library
from arraygrad.program.calls import batched_in
from arraygrad.program.values import Batched, Tape
from arraygrad.transforms.tracked_call import TrackedCall

__all__ = ["Keeper", "forget"]

_MOST, _OF_ONE, _PROGRAMS = 64, 4, 16  # functions; of the same code; numbers of rows of one
_BYTES = 1 << 18  # of arrays that a function reads, and of constants of a program
_PARAMETERS = 64  # numbers of all parameters
BESIDE = 3  # points beside the solution that are compared
_FEW = 3  # points at which operations are named
_CLOSE = 1e-9  # relative, what values may be apart there
_PLAIN: tuple = (int, float, complex, str, bytes, type(None), numpy.generic, type, types.CodeType)

_COMPARED = frozenset((float, int, str, bool, tuple, Structure))

_lock = threading.Lock()
_known: dict = {}  # key -> entries, the last one used in front; written under the lock


class _Entry:
    """A function that was met: what it reads, and its programs by their numbers of rows."""

    def __init__(self, facts):
        self.facts, self.programs = facts, {}


def forget():
    """Forget all programs."""
    with _lock:
        _known.clear()


class Keeper:
    """The programs of one right side f(t, y, *parameters), which is `f` with all but these bound by `arguments`."""

    def __init__(self, f, arguments):
        self._f, self._arguments, self._entry = f, arguments, None

    def program(self, calls, t, y):
        """(what `_noted` gives for points t (m,), y (m, n), whether it was noted now); (None, False): there is none."""
        entry, rows = self._found(calls, y[0]), y.size
        if not entry:
            return None, False
        if rows in entry.programs:
            return entry.programs[rows], False
        if len(entry.programs) >= _PROGRAMS:
            entry.programs.clear()
        try:
            entry.programs[rows] = _noted(calls, t, y)
        except Exception:  # whatever it is, the call that is no replay tells it
            entry.programs[rows] = None
        return entry.programs[rows], True

    def jumpless(self, calls, t, y):
        """Whether the right side is known to make no jump: by its operations at a few points t (m,), y (m, n)."""
        entry = self._found(calls, y[0])
        if not entry:
            return False
        try:
            return _traced(calls, t[:_FEW], y[:_FEW], Tape())[-1]
        except Exception:  # as above
            return False

    def drop(self, y):
        """Keep none for so many points."""
        self._entry.programs[y.size] = None

    def _found(self, calls, state):
        if self._entry is None:
            self._entry = self._look(calls, state) or False
        return self._entry

    def _look(self, calls, state):
        if sum([p.size for p in calls.parameters]) > _PARAMETERS or is_anomaly_enabled():
            return None
        found = _facts(self._f, self._arguments)
        if found is None:
            return None
        codes, facts = found
        kinds = tuple([(p.shape, p.dtype) for p in (state, *calls.parameters)])
        key = (codes, tuple(self._arguments.positions()), kinds, calls.dtype, _annihilates())
        with _lock:
            entries = _known.pop(key, [])
            for i, entry in enumerate(entries):
                if _same(entry.facts, facts):
                    entries.insert(0, entries.pop(i))
                    break
            else:
                entries.insert(0, _Entry(facts))
                del entries[_OF_ONE:]
            _known[key] = entries
            while len(_known) > _MOST:
                del _known[next(iter(_known))]
            return entries[0]


def _annihilates():
    """Whether zero gradients absorb in rules now."""
    before = set_zero_annihilates(False)
    set_zero_annihilates(before)
    return before


class _Held:
    """An object that a fact is about: the same one."""

    def __init__(self, thing):
        self._of = weakref.ref(thing)

    def is_of(self, other):
        return type(other) is _Held and self._of() is not None and self._of() is other._of()


def _facts(f, arguments):
    """(ids of the code that a function reaches, {path: what it reads there}); None where that can't be told."""
    seen = getattr(f, "seen", None)
    if seen is None or seen.forgot or getattr(f, "on_copies", False):
        return None
    constants, structure = arguments.constants()
    # Code is told by where it is, which `facts` keep alive.
    facts, recorded, size = {"structure": structure, "code": list(seen.look.codes)}, {}, 0
    for path, value in [*seen.look.values.items(), *[(f"constant {i}", leaf) for i, leaf in constants if i]]:
        if isinstance(value, Tensor):
            if value.requires_grad:  # a parameter: which one
                facts[path] = (Tensor, recorded.setdefault(id(value), len(recorded)))
                continue
            value = raw_array(value)
        if isinstance(value, numpy.ndarray):
            size += value.nbytes
            if size > _BYTES or value.dtype.hasobject:
                return None
            value = value.copy()
        elif not isinstance(value, _PLAIN):
            if _is_told(seen.look, path, value):
                facts[path] = type(value)
                continue
            try:
                value = _Held(value)
            except TypeError:
                return None
        facts[path] = value
    return frozenset(map(id, seen.look.codes)), facts


def _is_told(look, path, value):
    """Whether what a function does with the object of its method depends on its class and on attributes that are seen.

    A program may well make a new object for each solution: `odeint(Model(k).rhs, ...)`.
    """
    if not path.endswith(SELF) or look.handed_on or look.any_name or type(getattr(value, "__dict__", None)) is not dict:
        return False
    names = [f"{path}.{name}" for name in look.attributes & vars(value).keys()]
    return all(any(one.startswith(name) for one in look.values) for name in names)


def _same(known, facts):
    if known.keys() != facts.keys():
        return False
    for path, value in facts.items():
        one = known[path]
        if one is value or path == "code" or (type(one) is type(value) and type(one) in _COMPARED and one == value):
            continue
        if type(one) is _Held:
            if not one.is_of(value):
                return False
        elif differ(one, value):
            return False
    return True


def _traced(calls, t, y, tape):
    """(tracked call, its inputs with rows, the value, whether it makes no jump), of points t (m,), y (m, n)."""
    rows, tape.operations = len(y), []
    time, state = Batched(t, rows, tape), Batched(y, rows, tape)
    parameters = [Batched(numpy.repeat(numpy.asarray(p)[None], rows, axis=0), rows, tape) for p in calls.parameters]
    t_of_call = wrap_raw(time)

    def function(*arrays):
        return calls.f(t_of_call, *arrays)

    function.differentiates = True
    with as_columns():
        tracked = TrackedCall("vjp", function, (state, *parameters), tuple(range(1 + len(parameters)))).call()
    operations, tape.operations = tape.operations, None
    value = tracked.outputs[0].array
    return tracked, [time, state, *parameters], value, _is_jumpless(operations, (time, state), parameters, value)


def _noted(calls, t, y):
    """(program of (t, y, *parameters, cotangents) with rows, that gives (values, gradients); which have rows; (5)).

    There is a row for each component and point, which has one unit vector as cotangent. None if it can't be kept.
    """
    (m, n), tape = y.shape, Tape()
    tracked, inputs, value, jumpless = _traced(calls, numpy.concatenate([t] * n), numpy.concatenate([y] * n), tape)
    result = tracked.outputs[0]
    if len(tracked.outputs) != 1 or value.shape != (n,) or value.dtype != y.dtype or not result.requires_grad:
        return None
    if not all(hasattr(node, "op_name") or not node.next_functions for node in walk([edge_of(result).node])):
        return None
    cotangents = Batched(_units(n, m, y.dtype), m * n, tape)
    with library.plain_arrays():
        found = tracked.pull((0,), (cotangents,), create_graph=False, keep_graph=True)
    results = [value, *found]
    program = tape.program([*inputs, cotangents], results, _BYTES)
    if program is None or any(step[0] is None and not step[3] for step in program.steps):
        return None
    return program, [None if one is None else one.rows is not None for one in results], jumpless


# Operations that are linear in what depends on time and state, or products; functions without poles and kinks; with.
_SUMS = frozenset(
    """
    add subtract negative positive multiply square stack concat reshape permute_dims matrix_transpose broadcast_to
    expand_dims squeeze sum mean roll flip matmul tensordot vecdot diff cumulative_sum einsum moveaxis unstack outer
    _getitem _setitem _copy _einsum _inner _matvec _vecmat diagonal trace tile pad real conj
    """.split()
)
_ENTIRE = frozenset("sin cos exp expm1 sinh cosh tanh atan asinh erf erfc sigmoid expit".split())
_BENT = frozenset("abs sqrt maximum minimum relu clip log log1p log2 log10 hypot _fabs max min".split())
_KEYED = frozenset(("_getitem", "_setitem"))  # whose second argument is a key
_POLE, _KINK = 1, 2


def _is_jumpless(operations, moving, fixed, value):
    """Whether a value, by all operations from `moving` and `fixed` on, is continuous in `moving`: Note, 5."""
    of = {id(one): None for one in fixed}  # id -> None: does not depend on `moving`; else flags
    of.update({id(one): 0 for one in moving})
    for op, bound, made in operations:
        given = []
        for i, arg in enumerate(bound):
            for one in batched_in(arg):
                if one.rows is not None and id(one) not in of:
                    return False
                flags = of.get(id(one))
                if flags is not None:
                    given.append((i, flags))
        flags = _flags(op.name, bound, given) if given else None
        if flags == _POLE | _KINK or flags == -1:
            return False
        for one in made if isinstance(made, (list, tuple)) else (made,):
            of[id(one)] = flags
    return id(value) in of


def _flags(name, bound, given):
    """Flags of a result of an operation, for (position, flags) of what it depends on; -1: it may jump."""
    found = 0
    for _, flags in given:
        found |= flags
    where = {i for i, _ in given}
    if name in _SUMS:
        return -1 if name in _KEYED and 1 in where else found
    if name == "divide":
        return found | _POLE if 1 in where else found
    if name == "pow" and where == {0} and isinstance(bound[1], (int, float)):
        if bound[1] == int(bound[1]):
            return found if bound[1] >= 0 else found | _POLE
        return found | _KINK if bound[1] > 0.0 and not found & _POLE else -1
    if name == "reciprocal":
        return found | _POLE
    if found & _POLE:
        return -1
    return found if name in _ENTIRE else found | _KINK if name in _BENT else -1


def derivatives(calls, found, t, y, m):
    """(values (m', n), derivatives of components by y (n, m', n) and by each parameter (n, m', ...) or None).

    Of points t (m'), y (m', n), as many as the program `found` is for; those from `m` on are compared with the
    function, with moved parameters. Then these; None where the values are not the function's.
    """
    program, has_rows, jumpless = found
    k, n = y.shape
    given, moved, last = [numpy.concatenate([t] * n), numpy.concatenate([y] * n)], [], slice(m, m + BESIDE)
    for i, p in enumerate(map(numpy.asarray, calls.parameters)):
        other = (p + 1e-3 * _between(p.shape, i) * p + 1e-6 * (p == 0.0)).astype(p.dtype)
        moved.append(other)
        whole = numpy.empty((n, k, *p.shape), p.dtype)
        whole[...] = p
        whole[:, last] = other
        given.append(whole.reshape(n * k, *p.shape))
    given.append(_units(n, k, y.dtype))
    made = program.replay(given)
    if not all(has_rows):
        made = [
            one if one is None or rows else numpy.broadcast_to(one, (n * k, *one.shape))
            for one, rows in zip(made, has_rows, strict=True)
        ]
    values, by_y, *rest = made
    values = values[:k]
    size = _CLOSE * numpy.abs(values).max(axis=0) + 1e-300
    beside = numpy.empty((BESIDE, n))
    for i in range(BESIDE):
        one = calls.f(float(t[m + i]), y[m + i], *moved)
        one = one.array if isinstance(one, Tensor) else one
        if numpy.shape(one) != (n,):
            return None
        beside[i] = one
    if not (numpy.abs(values[last] - beside) <= size).all():
        return None
    calls.jumpless = jumpless
    jac = numpy.zeros((n, k, n)) if by_y is None else by_y.reshape(n, k, n)
    return values, jac, [None if part is None else part.reshape(n, k, *part.shape[1:]) for part in rest], moved


@functools.lru_cache(maxsize=32)
def _units(n, k, dtype):
    """The unit vectors, each at k points."""
    found = numpy.repeat(numpy.eye(n, dtype=dtype), k, axis=0)
    found.flags.writeable = False
    return found


@functools.lru_cache(maxsize=64)
def _between(shape, i):
    """Numbers between 0.5 and 1, of no pattern."""
    size = int(numpy.prod(shape))
    return (0.5 + 0.5 * ((i + 1) * 0.6180339887498949 * numpy.arange(1.0, size + 1.0) % 1.0)).reshape(shape)
