"""What calls of a function leave for later calls: arrays that it works in, counters, caches, logs.

May import: autograd.grad_mode, autograd.instructions, autograd.function_snapshots, autograd.views_of_memory,
core.containers, core.exposed_memory, core.constructors, core.tensor, engine, implicit.copies, program, numpy.

Note [What calls leave]
~~~~~~~~~~~~~~~~~~~~~~~
A function that a solver calls may fill an array that exists before (`self.d[0] = y[1]`), count its calls, or log them.
Backward calls it again with Tensors. It must find room for them, its result must not depend on what other calls have
left, and what it leaves must not stay: a plain run leaves what the solver's own calls left.
(1) A repeated call runs on copies (copies.py) of all that the function changes, made anew for each call: Tensors over
    new memory in the places of arrays, and new containers, objects, cells and globals. So nothing of the program is
    written, whichever threads run.
(2) What it changes is found by comparing what it leads to with what that was when the solver was called, and by calls
    on copies of everything it leads to: what differs afterwards is changed. Of arrays single elements are told apart:
    an element that no call writes is a constant.
(3) Its result must be the same whatever calls have left. So it is called on copies that hold what there was at first,
    what there is now, and several other numbers, `nan` among them, in the places of all numbers that calls change. A
    difference is an error in the repeated call. All variants are tried in the first call of each backward run, two in
    each further one, on plain numbers. The repeated call itself has what there was at first, with `nan`. What only an
    earlier call has written (`if self.table is None: ...`) is taken as it was left, where it is there.
(4) Where something holds memory that the walk has not found, the copies would have other contents than it. So in calls
    of the solver the memory itself holds other numbers while a copy is called: at this moment it is the function's own.
(5) Not looked at: functions whose code stores nothing but in its local variables.
Guarded by tests/implicit/test_work_arrays.py and test_what_calls_leave.py.
"""

import collections
import dis
import functools
import sys
import types

import numpy

from arraygrad.autograd.function_snapshots import names_of
from arraygrad.autograd.grad_mode import no_grad
from arraygrad.autograd.instructions import start_of, steps_of
from arraygrad.autograd.views_of_memory import shown_of
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor
from arraygrad.engine.graph_task import current_graph_task_id
from arraygrad.implicit.copies import Copier, Walk, live_contents, shared_attributes
from arraygrad.program.values import Batched

__all__ = ["Carried", "changes_things", "is_same_thing"]

_FILLS: tuple = (numpy.nan, 0.0, 1.0, -1.0, 2.0, 1e30, -1e30)
_VARIANTS: tuple = (
    ("now", None),
    ("before", None),
    *[(("before", "now")[k % 2], fill) for k, fill in enumerate(_FILLS)],
)
_RECORDED = _VARIANTS[2]  # of the repeated call
_BYTES = 1 << 26  # of the largest arrays that are looked at
_ITEMS = 10_000  # of the longest containers
_NEAR, _NEAR_SINGLE = 1e-9, 1e-4  # how near results have to be, in double and in single precision

# Methods by which code changes their object, or an array that they are given.
_CHANGING = frozenset(
    """
    append appendleft extend insert add update setdefault pop popleft popitem remove discard clear sort reverse rotate
    fill put itemset partition resize setfield byteswap copyto place putmask put_along_axis fill_diagonal at shuffle
    __setitem__ __setattr__ setattr
    """.split()
)


@functools.lru_cache(maxsize=512)
def _changes(code):
    """(whether code may change more than local variables, the globals that it stores, the attributes that it does)."""
    changes, names, attributes = False, set(), set()
    steps = steps_of(code)
    for at, step in enumerate(steps):
        name = step.opname
        changes = changes or "out" in step.keywords
        if name in ("STORE_ATTR", "DELETE_ATTR"):
            changes = True
            attributes.add(step.argval)
        elif name in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"):
            changes = changes or not _is_own(code, steps, at)
        elif name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            changes = True
            names.add(step.argval)
        elif name in ("STORE_DEREF", "DELETE_DEREF"):
            changes = changes or step.argval in code.co_freevars
        elif name == "BINARY_OP":
            changes = changes or step.argrepr.endswith("=")
        elif name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_NAME"):
            changes = changes or step.argval in _CHANGING
        elif name == "CALL_FUNCTION_EX":
            changes = changes or not _calls_by_name(steps, at)  # with `out` among what it is given, maybe
        elif isinstance(step.argval, types.CodeType):
            inner, more, held = _changes(step.argval)
            changes, names, attributes = changes or inner, names | more, attributes | held
    return changes, frozenset(names), frozenset(attributes)


# NumPy's functions that make a new array in each call.
_MAKERS = frozenset("zeros empty ones full zeros_like empty_like ones_like full_like".split())
_LOCAL = ("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK")


def _is_own(code, steps, at):
    """Whether an assignment to items is into a local variable that is nothing but arrays and lists made in the call."""
    if steps[at].opname == "DELETE_SUBSCR":
        return False
    start = at
    for _ in range(2 if steps[at].opname == "STORE_SLICE" else 1):
        start = start_of(steps, start) if start else None
    if not start or steps[start - 1].opname not in _LOCAL:
        return False
    name, joins = steps[start - 1].argval, dis.findlabels(code.co_code)
    given = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    stores = [i for i, step in enumerate(steps) if step.opname == "STORE_FAST" and step.argval == name]
    made = all(_makes(steps, i - 1) and steps[i].offset not in joins for i in stores)
    return bool(stores) and made and name not in code.co_varnames[:given]


def _makes(steps, at):
    """Whether an instruction makes a list, or calls one of the `_MAKERS` of NumPy."""
    if steps[at].opname in ("BUILD_LIST", "LIST_EXTEND"):
        return True
    if steps[at].opname not in ("CALL", "CALL_KW"):
        return False
    start = at
    for _ in range(steps[at].arg):
        start = start_of(steps, start) if start else None
    if not start or start < 2:
        return False
    function, module = steps[start - 1], steps[start - 2]
    return function.argval in _MAKERS and module.opname == "LOAD_GLOBAL" and module.argval in ("np", "numpy")


def _calls_by_name(steps, at):
    """Whether f(*args) has no keywords, and `f` is a variable, as a function that hands its arguments on has it."""
    if sys.version_info >= (3, 14):  # there is always something in the place of keywords
        at -= 1
        start = start_of(steps, at) if steps[at].opname == "PUSH_NULL" else None
    else:
        start = None if steps[at].arg & 1 else start_of(steps, at)
    if not start:
        return False
    called = steps[start - 1]
    if called.opname == "PUSH_NULL" and start > 1:
        called = steps[start - 2]
    return called.opname in ("LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_GLOBAL")


def changes_things(codes):
    """Whether functions with these code objects may change something that exists before they are called."""
    return any(_changes(code)[0] for code in codes)


class Carried:
    """What a function that a solver calls may change: see Note [What calls leave].

    Parameters
    ----------
    name : str
        Of the solver.
    f : callable
        The function that backward calls.
    codes : iterable of code
        All that it reaches.
    tensors : list of Tensor
        Those that it reads, in whose places copies hold other values.
    """

    def __init__(self, name, f, codes, tensors):
        self.name, self.f, self.tensors = name, f, tensors
        self.globals = frozenset().union(*[_changes(code)[1] for code in codes])
        self.attributes = frozenset().union(*[_changes(code)[2] for code in codes])
        walk = Walk(f, shared=True)
        self.before = {}  # id -> (thing, what it held)
        for thing in self.things_of(walk):
            contents = self.contents_of(thing)
            if contents is not None and len(contents) <= _ITEMS:
                self.before[id(thing)] = (thing, contents)
        # id of memory -> (what owns it, a copy of its contents)
        self.arrays = {key: (root, root.copy("K")) for key, (root, _) in _families(walk.arrays).items()}
        self.written = {}  # id of memory -> elements that calls write
        self.rebound = {}  # id -> keys of what calls bind anew; None: all
        self.holders = {}  # id -> such a thing
        self.born = current_graph_task_id()
        self._plan = self._run = None
        self._calls = self._looks = 0
        self._broken = ""  # why it can't be called on copies

    def things_of(self, walk):
        """What may hold something: the globals, too, that code stores names in."""
        spaces = {}
        if self.globals:
            spaces = {id(f.__globals__): f.__globals__ for f in walk.things if isinstance(f, types.FunctionType)}
        return [*walk.things, *spaces.values()]

    def contents_of(self, thing):
        """What a thing holds now; of globals what stands under the names that code stores."""
        if _is_space(thing):
            return {name: thing[name] for name in self.globals if name in thing}
        return live_contents(thing)

    def covers(self, before, now):
        """Whether two values show memory whose changes are looked at here."""
        owner = _owner(now)
        return owner is not None and id(owner) in self.arrays and is_same_thing(before, now)

    def call(self, given, values, run, recorded):
        """The function on copies: f(*given), with `values` in the places of the Tensors.

        Parameters
        ----------
        given, values : sequence
        run : int
            Number of the backward run; `born`: that of the solver's own calls.
        recorded : callable
            recorded(f): calls a copy of the function on what is given, and returns the result.

        Raises
        ------
        RuntimeError
            If the result depends on what earlier calls have left.
        """
        self._calls += 1
        plan, again = self._plan, _is_power_of_four(self._calls)
        first = plan is None or (again if run == self.born or not plan else run != self._run)
        if not (first or plan):
            return recorded(plan.copy(values, _RECORDED, plan.tensors))
        columns = any(isinstance(_raw(leaf), Batched) for leaf in flatten((given, values))[0])
        points = _points((given, values), columns)
        if first:
            plan, self._run = _Plan(self, points[0][1]), run
            self._plan = plan
        if not plan:
            return recorded(plan.copy(values, _RECORDED, plan.tensors))
        if self._broken:
            raise RuntimeError(self._broken)
        variants = _VARIANTS if first else (_VARIANTS[self._calls % len(_VARIANTS)],)
        known = [plan.outcome(point, _RECORDED) for _, point in points]
        for variant in variants:
            for (_, point), outcome in zip(points, known, strict=True):
                if variant is not _RECORDED and not _agree(outcome, plan.outcome(point, variant)):
                    raise RuntimeError(self._depends(plan))
        result = recorded(plan.copy(values, _RECORDED, plan.columns if columns else plan.tensors))
        for (k, _), outcome in zip(points, known, strict=True):
            if not _agree(outcome, (None, *_leaves(result, k)), 1e3):
                raise RuntimeError(self._depends(plan))
        return result

    def call_itself(self, f, given):
        """Have a call of the solver's own, which was recorded on copies, leave what a plain one leaves."""
        if self._plan:
            with no_grad():
                f(*_points(given, False)[0][1])

    def look(self, given, values, result):
        """After a call of the solver: note what it changes, and that copies return the same: (4)."""
        self._looks += 1
        if self._broken or not _is_power_of_four(self._looks):
            return
        ((_, point),) = _points((given, values), False)
        plan = _Plan(self, point)
        was = [
            (root, root.copy("K"), self.written[key])
            for key, (root, _) in plan.families.items()
            if self.written[key].any()
        ]
        if not was:
            return
        leaves, structure = flatten(point)  # they may be in such memory, too
        point = unflatten(structure, [leaf.copy() if type(leaf) is numpy.ndarray else leaf for leaf in leaves])
        known = (None, *_leaves(result, copy=True))
        try:
            for root, _, mask in was:
                _fill(root, mask, 1.7e29)
            agrees = _agree(known, plan.outcome(point, _RECORDED))
        finally:
            for root, contents, _ in was:
                root[...] = contents
        if not agrees:
            self._broken = self._depends(plan)

    def as_arrays(self):
        """Have what an unrecorded call has bound to places be arrays: values of Tensors that it reads were Tensors."""
        for key, thing in self.holders.items():
            known, keys = self.before.get(key), self.rebound[key]
            before = dict(_pairs(known[1])) if known else {}
            if type(thing) in (list, collections.deque):
                places = range(len(thing) - 1, -1, -1)
            elif isinstance(thing, dict) and not _is_space(thing):
                places = list(reversed(thing))
            else:
                places = None
            for name in keys or () if places is None else places:
                value = _pairs_of(thing).get(name) if places is None else thing[name]
                if type(value) is Tensor and not value.requires_grad and not is_same_thing(before.get(name), value):
                    _put(thing, name, value.array if value.ndim else value.array[()])
                elif places is not None:  # what is left was there before
                    break

    def _depends(self, plan):
        what = ", ".join(plan.labels()[:4]) or "what it holds"
        f = getattr(self.f, "__name__", type(self.f).__name__)
        return (
            f"{self.name}: what '{f}' returns depends on what an earlier call has left in {what}, or something else "
            "holds that memory: it is no function of the arguments, so there is no gradient. Have each call write all "
            "that it reads there before it reads it (work[:] = 0.0 where it adds up), or make the array in the "
            "function: work = numpy.empty(n). What goes from call to call belongs into what is solved for"
        )


_CONTAINERS: tuple = (types.CellType, list, dict, set, collections.deque)


def _is_space(thing):
    return type(thing) is dict and "__builtins__" in thing


def _pairs_of(thing):
    return thing if _is_space(thing) else dict(_pairs(live_contents(thing)))


def _put(thing, name, value):
    if isinstance(thing, types.CellType):
        thing.cell_contents = value
    elif isinstance(thing, (list, dict, collections.deque)):
        thing[name] = value
    else:
        object.__setattr__(thing, name, value)


def _is_power_of_four(n):
    return n & (n - 1) == 0 and n.bit_length() % 2 == 1


class _Plan:
    """Which things are copied, and what the copies hold; for `Copier`. It is true where calls change anything."""

    def __init__(self, carried, point):
        self._carried = carried
        self._walk = Walk(carried.f, shared=True)
        self._ids = [id(t) for t in carried.tensors]
        self._things = {id(thing): thing for thing in carried.things_of(self._walk)}
        self.families = _families(self._walk.arrays)
        self.changed = {}  # id -> keys of what is another thing than when the solver was called
        for key, thing in self._things.items():
            known = carried.before.get(key)
            now = carried.contents_of(thing)
            keys = frozenset() if now is None or known is None else _rebound(known[1], now)
            if keys is None or keys:
                self.changed[key] = keys
        self._lead([key for key, thing in self._things.items() if key in self.changed or self._may_change(thing)])
        self._search(point)
        self.drifted = {
            key: _differs(root, carried.arrays[key][1]) if key in carried.arrays else numpy.zeros(root.shape, bool)
            for key, (root, _) in self.families.items()
        }
        self._cover()
        self.masks = {}  # id of memory -> elements that are filled
        for key in self.families:
            mask = self.drifted[key] | carried.written[key]
            if mask.any():
                self.masks[key] = mask
        self.families = {key: one for key, one in self.families.items() if key in self.masks}
        self.changed = _united(self.changed, carried.rebound, self._things)
        self._lead(self.changed)

    def __bool__(self):
        return bool(self.changed or self.masks)

    def labels(self):
        """What the program calls what calls change."""
        labels = self._walk.labels
        named = [labels.get(id(part), "") for _, family in self.families.values() for part in family]
        for key, keys in self.changed.items():
            thing = self._things[key]
            name = labels.get(key) or type(thing).__name__
            if _is_space(thing):
                named += keys
            elif keys is None or isinstance(thing, (types.CellType, list, dict)):
                named.append(name)
            else:
                named += [f"{name}.{k}" for k in keys]
        return list(dict.fromkeys(filter(None, named)))

    # What calls change

    def _may_change(self, thing):
        """Whether a call may change what a thing holds: of objects, an attribute that code stores."""
        held = live_contents(thing)
        if held is None or _is_space(thing):
            return held is not None
        return isinstance(thing, _CONTAINERS) or not self._carried.attributes.isdisjoint(held)

    def _search(self, point):
        """Call the function on copies of everything, with other contents of the arrays, and see what it writes.

        Carried keeps it: what any call writes is filled.
        """
        carried = self._carried
        given, values = point
        for key, (root, _) in self.families.items():
            carried.written.setdefault(key, numpy.zeros(root.shape, bool))
        for moved in (0.0, 1.0, -1.0):
            copier = Copier(self, dict(zip(self._ids, values, strict=True)), _VARIANTS[0])
            scratch = {}
            for key, (root, family) in self.families.items():
                mine = root.copy("K")
                if moved and root.dtype.kind in "fc":
                    mine[...] = numpy.where(numpy.isfinite(mine), moved * (1.01 * mine + 0.1234), 0.1234)
                scratch[key] = mine, mine.copy("K")
                copier.made.update(_raw_views(root, family, mine))
            _outcome(copier.of(carried.f), given)
            for key, (mine, before) in scratch.items():
                carried.written[key] = carried.written[key] | _differs(mine, before)
            for thing, made, held in copier.filled:
                self._note(thing, _rebound(held, live_contents(made)))
            for key, space in copier.spaces.items():
                if key not in self._things:
                    continue
                held = {name: copier.of(value) for name, value in self._space_contents(key, _VARIANTS[0]).items()}
                self._note(self._things[key], _rebound(held, {n: space[n] for n in carried.globals if n in space}))

    def _note(self, thing, keys):
        known = self._carried.rebound.get(id(thing), frozenset())
        if keys is None or keys:
            self._carried.rebound[id(thing)] = None if keys is None or known is None else known | keys
            self._carried.holders[id(thing)] = self._things[id(thing)] = thing

    def _cover(self):
        """Arrays that calls write and bind to places are other ones in each call: all their elements are filled."""
        carried = self._carried
        for key, keys in carried.rebound.items():
            thing = self._things.get(key)
            if thing is None:
                continue
            known = carried.before.get(key)
            for contents in (carried.contents_of(thing), known[1] if known else None):
                for name, value in _pairs(contents):
                    for leaf in flatten(value)[0] if keys is None or name in keys else ():
                        owner = _owner(leaf)
                        if owner is not None and id(owner) in self.families and carried.written[id(owner)].any():
                            self.drifted[id(owner)] = numpy.ones(owner.shape, bool)

    # What Copier asks

    def _lead(self, things):
        ids = {*self._ids, *things}
        names = self._carried.globals
        if names:
            ids.update(
                id(f)
                for f in self._walk.things
                if isinstance(f, types.FunctionType) and id(f.__globals__) in ids and _names(f) & names
            )
        ids.update(id(part) for _, family in self.families.values() for part in family)
        self._leading = self._walk.leading(ids)

    def leads(self, one):
        """Whether it is copied."""
        return id(one) in self._leading

    def contents(self, one, variant):
        """What the copy of a thing holds before what leads on is copied; None: the thing stays."""
        now = live_contents(one)
        if now is None:
            return None
        contents = self._filled(id(one), now, variant)
        if isinstance(contents, dict) and type(one) is not dict:
            more = shared_attributes(one, contents)
            contents = {**{key: part for key, part in more.items() if self.leads(part)}, **contents}
        return contents

    def space(self, f, variant):
        """{name: value} of the globals of a copied function that are others than the function's."""
        space = f.__globals__
        found = {name: space[name] for name in _names(f) if name in space and self.leads(space[name])}
        if id(space) in self.changed:
            found.update(self._space_contents(id(space), variant))
        return found

    def _space_contents(self, key, variant):
        return self._filled(key, self._carried.contents_of(self._things[key]), variant)

    def _filled(self, key, now, variant):
        """What there is or was, with other numbers in the places that calls bind anew; of what was, in all others."""
        base, fill = variant
        known = self._carried.before.get(key)
        if base == "now" or known is None:
            keys = self._carried.rebound.get(key, frozenset())
            if fill is None or keys == frozenset():
                return now
            pairs = _pairs(now)
        else:
            keys = self.changed.get(key, frozenset())
            if keys == frozenset():
                return now
            there = dict(_pairs(now))
            pairs = [
                (name, there[name] if is_same_thing(there.get(name, _NOWHERE), part) else part)
                for name, part in _pairs(known[1])
            ]
        filled = [(name, self._other(part, fill) if keys is None or name in keys else part) for name, part in pairs]
        return dict(filled) if isinstance(now, dict) else [part for _, part in filled]

    def _other(self, value, fill):
        leaves, structure = flatten(value)
        return unflatten(structure, [leaf if self._is_filled(leaf) else _other_number(leaf, fill) for leaf in leaves])

    def _is_filled(self, leaf):
        """Whether a copy of an array has other numbers anyhow."""
        owner = _owner(leaf)
        return owner is not None and id(owner) in self.families and id(leaf) in self._walk.arrays

    # Copies

    def copy(self, values, variant, views):
        """The function on copies; `views(owner, arrays, copy)`: what stands in the places of arrays over one memory."""
        if not (self or self._ids):
            return self._carried.f
        copier = Copier(self, dict(zip(self._ids, values, strict=True)), variant)
        base, fill = variant
        for key, (root, family) in self.families.items():
            known = self._carried.arrays.get(key)
            mine = (root if base == "now" or known is None else known[1]).copy("K")
            if fill is not None:
                _fill(mine, self.masks[key] if base == "before" else self._carried.written[key], fill)
            copier.made.update(views(root, family, mine))
        return copier.of(self._carried.f)

    def outcome(self, point, variant):
        """(error, structure, leaves) of a call on copies, of plain numbers."""
        given, values = point
        return _outcome(self.copy(values, variant, _raw_views), given)

    def tensors(self, root, family, mine):
        """Tensors over a copy of memory, as views of one."""
        if mine.dtype.kind not in "fc":
            return _raw_views(root, family, mine)
        base, found, views = wrap_raw(mine), {}, _raw_views(root, family, mine)
        for part in family:
            view = views[id(part)]
            shown = base if view is mine else shown_of(base, mine, view) if view.dtype == mine.dtype else None
            if shown is None:
                name = self._walk.labels.get(id(part)) or "an array"
                raise RuntimeError(
                    f"{self._carried.name}: the function works in {name}, a view of memory in a form that has no "
                    "gradient: work in a contiguous array of one dtype, made in the function: work = numpy.empty(n)"
                )
            found[id(part)] = shown
        return found

    def columns(self, root, family, mine):
        """Tensors for calls at many points."""
        if mine.dtype.kind not in "fc" or len(family) > 1 or _raw(family[0]) is not root:
            raise TypeError("views of one memory have no form for many points")
        return {id(family[0]): wrap_raw(Batched(mine, None))}


# Helpers


def _names(f):
    return names_of(f.__code__) | _changes(f.__code__)[1]


def _raw(value):
    return raw_array(value) if isinstance(value, Tensor) else value


def _pairs(contents):
    if contents is None:
        return ()
    return contents.items() if isinstance(contents, dict) else enumerate(contents)


def _united(changed, rebound, things):
    found = dict(changed)
    for key, keys in rebound.items():
        if key in things:
            known = found.get(key, frozenset())
            found[key] = None if keys is None or known is None else known | keys
    return found


_NOWHERE = object()


def is_same_thing(a, b):
    """Whether two values are one, or arrays or Tensors that show the same memory in the same way."""
    if a is b:
        return True
    a, b = _raw(a), _raw(b)
    if type(a) is not numpy.ndarray or type(b) is not numpy.ndarray:
        return False
    return a.size > 0 and a.__array_interface__ == b.__array_interface__


def _rebound(before, now):
    """Keys of what is another thing; None where that can't be told of single ones."""
    if isinstance(before, dict):
        return frozenset(
            key
            for key in before.keys() | now.keys()
            if not is_same_thing(before.get(key, _NOWHERE), now.get(key, _NOWHERE))
        )
    if isinstance(now, tuple):
        return frozenset() if set(map(id, before)) == set(map(id, now)) else None
    n = min(len(before), len(now))
    found = [k for k in range(n) if not is_same_thing(before[k], now[k])]
    return frozenset((*found, *range(n, max(len(before), len(now)))))


def _owner(value):
    """The array whose memory an array or a Tensor shows; None where such memory is not looked at."""
    array = _raw(value)
    if type(array) is not numpy.ndarray:
        return None
    owner = array if type(array.base) is not numpy.ndarray else array.base
    usual = owner.flags.c_contiguous or owner.flags.f_contiguous
    return owner if owner.dtype.kind in "fciub" and usual and owner.nbytes <= _BYTES else None


def _families(arrays):
    """{id: (owner, arrays and Tensors)} of those over one memory, that may be written."""
    found = {}
    for part in arrays.values():
        owner = _owner(part)
        if owner is not None and owner.flags.writeable and owner.size:
            found.setdefault(id(owner), (owner, []))[1].append(part)
    return found


def _raw_views(root, family, mine):
    """{id: array} of what shows of the memory `mine` what arrays show of that of `root`."""
    start, found = root.__array_interface__["data"][0], {}
    for part in family:
        array = _raw(part)
        if array is root:
            found[id(part)] = mine
        else:
            offset = array.__array_interface__["data"][0] - start
            buffer = mine.reshape(-1, order="A")
            found[id(part)] = numpy.ndarray(array.shape, array.dtype, buffer, offset, array.strides)
    return found


def _differs(a, b):
    with numpy.errstate(all="ignore"):
        return (a != b) & ~((a != a) & (b != b))


def _fill(array, mask, number):
    """Write a number into elements, where they can hold it."""
    number = _as_kind(array.dtype.kind, number, array.dtype.itemsize)
    if number is not None:
        array[mask] = number


def _as_kind(kind, number, size=8):
    if kind == "b":
        return bool(number) if number in (0.0, 1.0) else None
    if kind in "iu":
        return int(number) if number in (0.0, 1.0, 2.0) or (number == -1.0 and kind == "i") else None
    return number if kind in "fc" and not (size < 4 and abs(number) > 1e3) else None


def _other_number(value, number):
    """A leaf with another number in the place of each of its own; as it is where it holds none. None: a copy."""
    if isinstance(value, Tensor):
        if value.requires_grad:
            return value
        return wrap_raw(_other_number(raw_array(value), number))
    if type(value) is numpy.ndarray:
        value = value.copy()
        if number is not None:
            _fill(value, ..., number)
        return value
    if number is None:
        return value
    kind = {float: "f", complex: "c", int: "i", bool: "b"}.get(type(value))
    if isinstance(value, numpy.generic):
        kind = value.dtype.kind
    number = None if kind is None else _as_kind(kind, number)
    return value if number is None else type(value)(number)


def _points(given, columns):
    """[(number, what is given as plain numbers)]; of many points the first, the middle one and the last."""
    leaves, structure = flatten(given)
    m = 1
    if columns:
        m = max(_raw(leaf).rows or 1 for leaf in leaves if isinstance(_raw(leaf), Batched))
    return [
        (k, unflatten(structure, [_number(_at(_raw(leaf), k)) for leaf in leaves]))
        for k in dict.fromkeys((0, m // 2, m - 1))
    ]


def _at(value, k):
    """What a Batched holds at one point."""
    if not isinstance(value, Batched):
        return value
    return (value.values if value.rows is None else value.values[k]).copy()


def _number(value):
    """An array without axes as the number that a solver gives."""
    if type(value) is numpy.ndarray and not value.ndim:
        return float(value) if value.dtype == numpy.float64 else value[()]
    return value


def _leaves(result, k=0, copy=False):
    leaves, structure = flatten(result)
    leaves = [_at(_raw(leaf), k) for leaf in leaves]
    return structure, [numpy.array(leaf) if copy and type(leaf) is numpy.ndarray else leaf for leaf in leaves]


def _outcome(f, given):
    try:
        with no_grad(), numpy.errstate(all="ignore"):
            return None, *_leaves(f(*given))
    except Exception as error:
        return type(error), None, []


def _agree(a, b, wider=1.0):
    """Whether two outcomes are the same, to rounding."""
    if a[0] is not b[0] or len(a[2]) != len(b[2]):
        return False
    return all(_same(x, y, wider) for x, y in zip(a[2], b[2], strict=True))


def _same(x, y, wider):
    try:
        x, y = numpy.asarray(x), numpy.asarray(y)
    except Exception:
        return x is y
    if x.shape != y.shape and x.size != 1:
        return False
    if x.dtype.kind not in "fc" or y.dtype.kind not in "fc":
        return bool(numpy.all(x == y))
    near = _NEAR if min(x.dtype.itemsize, y.dtype.itemsize) >= 8 else _NEAR_SINGLE
    with numpy.errstate(all="ignore"):
        size = numpy.max(numpy.abs(x), initial=0.0, where=numpy.isfinite(x))
        close = (x == y) | (numpy.abs(x - y) <= wider * near * size) | ((x != x) & (y != y))
    return bool(numpy.all(close))
