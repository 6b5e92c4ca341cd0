"""Results of searches by comparisons: seen in what a tracked program compared, and told.

May import: autograd.flow_of_names, autograd.source_locations, autograd.stale_caches, core.decisions, core.tensor,
engine.engine, engine.node, the standard library, numpy.

What is noted is said in Note [Decisions of a program] in core/decisions.pyx. A place is a search if
(1) both outcomes occurred: a test that ends a loop has one outcome until its last;
(2) what is compared approaches each other: the difference d of the two sides becomes SHRUNK times smaller;
(3) the derivative of d by the arguments does not follow: s = |dd/dx| / |d| grows as a power of 1 / d.
In a bisection by `m * m < a` the derivative of d = m * m - a is -1 at all times. Where what is compared is computed by
steps that depend on the arguments, as in Newton's method, d moves with its own derivative: at the solution
d(m * m - a)/da is zero too. (3) is free of scales. Where two values of a minimum are compared with each other, d is of
second order in the distance from the solution (of a flat one, of fourth) and its derivative of first (of third), so the
power is 1/2 (1/4); elsewhere it is 1. Where d moves with its own derivative, s is bounded if the steps converge
linearly: d = C(x) r(x)^k. If they converge faster, it grows as log(1 / d): d = C(x)^(2^k). So the test asks for the
power of 1 / d that s / log(1 / d) grows by, and for GROWTH.
(4) A search for a place in a table selects indices. What is made of them has the derivative that it has.
(5) What min(a, b) gives as a value has the derivative of the smaller: the steps of a dynamic program are none of a
search, unless the program compares what they gave. So it is with branches that give what their test compares, as a
limiter of slopes does: `if abs(a) < abs(b): return a`, `return b`.
(6) A size that jumps below a bound ends an iteration: `while abs(step) > 1e-8`. Where several iterations come to their
ends at one place, both outcomes occur, and nothing is selected: Note [Sizes and bounds] in core/decisions.pyx.
(7) `x == 0` asks for a point, beside which it says the same on both sides.
(8) A branch may bind local names that decide nothing which the function returns, stores or calls: a root that is shown.
(9) An integral by ever smaller parts keeps all of them: where the difference of a coarse and a fine value is large, the
function returns the sum of what it gives for the parts, else the fine one.
Guarded by tests/adoption/test_own_searches.py.
"""

import ast
import functools
import types
from typing import NamedTuple

import numpy

from arraygrad.autograd.flow_of_names import reach
from arraygrad.autograd.source_locations import parsed, short, source_of, syntax_of_function
from arraygrad.autograd.stale_caches import tell_equal, tell_near
from arraygrad.core.decisions import set_criteria, set_equality
from arraygrad.core.tensor import Tensor, edge_of
from arraygrad.engine.engine import execute
from arraygrad.engine.node import Edge

__all__ = ["searches"]

MANY = 10  # so many comparisons at least
MANY_OF_SEVERAL = 7  # of several elements at once, whose searches divide an interval into as many parts
FEWEST = 6  # so many of them with a difference that is no rounding error
FEWEST_OF_SEVERAL = 5
KNOWN = 4  # so many of them with a derivative that is not zero
FLOOR = 1e-11
EPSILONS = 64.0  # and of float32
OPERANDS = 4096.0  # epsilons of two operands that are small themselves
NEAREST = 6
SHRUNK = 2.0**-7
NEARER = 0.25
GROWTH = 0.05
ELEMENTS = 6  # so many elements of an array are looked at
FACTORS = 8  # a product of more is not taken apart


def searches(places, edges):
    """Of what a trace has noted: the places (code, line, offset) of searches by comparisons.

    Parameters
    ----------
    places : iterable of Decided
    edges : list of Edge
        Those of the differentiated arguments.
    """
    found = [place for place in places if _is_search(place, edges)]
    return [place for place in found if not any(ask(place) for ask in _NO_SEARCHES)]


def told(place):
    """Where a place is, as text."""
    code = place.code
    where = f"{short(code.co_filename)}:{place.line}, in {code.co_qualname}"
    expression = source_of(code, place.at, {})
    return f"{where}: {expression}" if expression else where


def _is_search(place, edges):
    if (
        place.ignored
        or (place.bounded and place.restarts)
        or place.count < (MANY_OF_SEVERAL if place.several else MANY)
    ):
        return False
    values = _differences([*place.first, *place.last])
    if values is None:
        return False
    recorded = dict(place.recorded)
    for i, margins in enumerate(place.recent, len(values) - len(place.recent)):
        recorded[i] = margins
    starts, ends = _ends(values, place.largest)
    if _has_constant_side(recorded) and _asks_for_a_point(place):
        return False
    near = numpy.flatnonzero((ends <= SHRUNK) & (starts > 0.0) & (starts < numpy.inf))
    if place.held is not None:
        both = numpy.ravel(numpy.logical_and(place.held, place.failed))
        near = near[both[near]] if both.size == values.shape[1] else near
    near = near[numpy.argsort(ends[near], kind="stable")]
    asked = numpy.unique(numpy.linspace(0, len(near) - 1, min(ELEMENTS, len(near))).astype(int))
    return any(_is_selected(place, recorded, values[:, at], at, edges) for at in near[asked].tolist())


def _is_selected(place, recorded, values, at, edges):
    """Whether an element that approaches zero does so without its derivative (3)."""
    sizes = numpy.abs(values)
    noted = [*place.first, *place.last]
    rounded = max(FLOOR, EPSILONS * place.epsilon) * numpy.max(sizes[: max(3, len(sizes) // 2)])
    exact = [OPERANDS * place.epsilon * _operand(margins, at) for margins in noted]
    used = numpy.flatnonzero(sizes > numpy.minimum(rounded, exact))  # rounding decides below
    if len(used) < (FEWEST_OF_SEVERAL if place.several else FEWEST):
        return False
    if place.held is None and len(set(values[used[:-1]] > 0.0)) == 1:  # the last one may end a loop
        return False
    asked = [i for i in used if i in recorded]
    try:
        steepness = numpy.array([_steepness(recorded[i], at * place.stride, edges) for i in asked])
    except Exception:  # the result may not depend on what has no derivative, or was overwritten since
        return False
    known = (steepness > 0.0) & numpy.isfinite(steepness)
    if numpy.count_nonzero(known) < KNOWN:
        return False
    sizes, steepness = sizes[numpy.array(asked)[known]], steepness[known]
    nearest = numpy.argsort(sizes)[: max(NEAREST, len(sizes) // 2)]  # elsewhere other terms may be larger
    # Where both sides are on one side of a minimum's slope, their difference follows. So the steepest so far counts.
    x = numpy.log(sizes[nearest][::-1])
    y = numpy.log(numpy.maximum.accumulate(steepness[nearest][::-1])) - numpy.log(1.0 + numpy.max(x) - x)
    x -= numpy.mean(x)
    return -float(x @ y) >= GROWTH * float(x @ x)  # the power, by least squares


def _is_recorded(side):
    return type(side) is tuple or (isinstance(side, Tensor) and side.requires_grad)


def _has_constant_side(recorded):
    """Whether what is compared is compared with constants each time."""
    return all(_is_recorded(a) != _is_recorded(b) for margins in recorded.values() for a, b in margins)


def _asks_for_a_point(place):
    """Whether a comparison is one for equality (7)."""
    asked = _asked(place)[0]
    if isinstance(asked, ast.Call):
        return getattr(asked.func, "attr", getattr(asked.func, "id", "")) in ("equal", "not_equal")
    return isinstance(asked, ast.Compare) and isinstance(asked.ops[0], ast.Eq | ast.NotEq)


def _operand(margins, at):
    """The size of the operands of which the smallest margin of an element is the difference; infinity of one alone."""
    _, which, shape = _smallest(margins)
    a, b = (numpy.ravel(numpy.broadcast_to(_raw(side), shape))[at] for side in margins[which[at]])
    return max(abs(a), abs(b)) if a and b else numpy.inf


def _differences(noted):
    """(comparisons, elements): their smallest margins. None where they are no numbers, or not always as many."""
    try:
        with numpy.errstate(all="ignore"):
            found = [_smallest(margins)[0] for margins in noted]
    except (TypeError, ValueError):
        return None
    return numpy.array(found) if len({d.size for d in found}) == 1 and found[0].size else None


def _smallest(margins):
    """(elements): the margin of each element that is the smallest; its number; the shape that margins have together."""
    values = [numpy.asarray(numpy.subtract(_raw(a), _raw(b), dtype=float)) for a, b in margins]
    shape = numpy.broadcast_shapes(*[v.shape for v in values])
    values = numpy.array([numpy.ravel(numpy.broadcast_to(v, shape)) for v in values])
    which = numpy.argmin(numpy.where(numpy.isnan(values), numpy.inf, numpy.abs(values)), axis=0)
    return numpy.take_along_axis(values, which[None], axis=0)[0], which, shape


def _ends(values, largest):
    """Of each element: the largest difference of the first half, or so far; how much nearer the last three are."""
    starts = numpy.max(numpy.abs(values[: max(3, len(values) // 2)]), axis=0)
    if largest is not None and largest.shape == starts.shape:
        starts = numpy.fmax(starts, largest)
    with numpy.errstate(all="ignore"):
        return starts, numpy.median(numpy.abs(values[-3:]), axis=0) / starts


def approach(noted, largest):
    """(the largest differences so far, whether later ones of these are much nearer in some element)."""
    values = _differences(noted)
    if values is None:
        return None, False
    sizes = numpy.abs(values)
    found = numpy.max(sizes[: len(sizes) // 2], axis=0)
    if largest is not None and largest.shape == found.shape:
        found = numpy.fmax(found, largest)
    with numpy.errstate(all="ignore"):
        # The next search at this place may have begun since.
        nearest = numpy.min(
            [numpy.median(sizes[i : i + 4], axis=0) for i in range(len(sizes) // 2, len(sizes) - 3)], axis=0
        )
        return found, bool(numpy.any(nearest <= NEARER * found))


def _raw(x):
    if type(x) is tuple:  # (value, edge)
        return x[0]
    return numpy.asarray(x.detach().numpy() if isinstance(x, Tensor) else x)


def _steepness(margins, at, edges):
    """|dd/dx| / |d| of the element number `at`, whose difference is d."""
    squares = 0.0
    roots, seeds = [], []
    values, which, shape = _smallest(margins)
    seed = numpy.zeros(shape)
    seed.reshape(-1)[at] = 1.0
    for side, sign in zip(margins[which[at]], (1.0, -1.0), strict=True):
        if type(side) is tuple or (isinstance(side, Tensor) and side.requires_grad):
            raw = _raw(side)
            roots.append(side[1] if type(side) is tuple else edge_of(side))
            seeds.append(_summed(sign * seed, raw.shape).astype(raw.dtype))
    if not roots:
        return 0.0
    for g in _run(roots, seeds, edges):
        if g is not None:
            squares += float(numpy.sum(numpy.abs(_raw(g)) ** 2))
    smallest = numpy.finfo(float).tiny
    return float(numpy.sqrt(squares)) / max(abs(float(values[at])), smallest)


def factors(x):
    """What the sign of a Tensor is the product of: a tuple of margins ((value, edge), 0.0). None: of nothing."""
    found = []
    edge = edge_of(x)
    _take_apart(edge.node, edge.input_nr, _raw(x), found)
    return tuple([(one, 0.0) for one in found]) if 1 < len(found) <= FACTORS else None


def _take_apart(node, nr, value, found):
    name = node.name()
    if len(found) <= FACTORS:
        if name == "NegBackward":
            return _take_apart(*node.next_functions[0], -value, found)
        if name == "MulBackward":
            sides = node._saved_x1, node._saved_x2
            if all(isinstance(side, Tensor) and side.requires_grad for side in sides):
                for side in sides:
                    edge = edge_of(side)
                    _take_apart(edge.node, edge.input_nr, _raw(side), found)
                return None
        if name == "DivBackward":
            below = node._saved_x2
            (above, above_nr), _ = node.next_functions
            if above is not None and isinstance(below, Tensor) and below.requires_grad:
                edge = edge_of(below)
                with numpy.errstate(all="ignore"):
                    _take_apart(above, above_nr, numpy.asarray(value * _raw(below)), found)
                return _take_apart(edge.node, edge.input_nr, _raw(below), found)
    found.append((value, Edge(node, nr)))
    return None


def _summed(seed, shape):
    """The gradient of an operand that was broadcast."""
    extra = seed.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(extra + i for i, n in enumerate(shape) if n == 1 and seed.shape[extra + i] != 1)
    return numpy.sum(seed, axis=axes, keepdims=True).reshape(shape) if axes else seed.reshape(shape)


def _run(roots, seeds, edges):
    return execute(roots, seeds, keep_graph=True, accumulate_grad=False, inputs=edges)


# -- what a branch selects (4) -----------------------------------------------------------------------------------------


def selects(frame):
    """Whether the branches that a frame decides between give names other values than indices, or not all parts (9)."""
    if _keeps_all_parts(frame):
        return False
    kinds = set()
    places = _moved(frame.f_code, frame.f_lineno)
    for name in places.names:
        value = frame.f_locals.get(name)
        if isinstance(value, (bool, types.FunctionType)) or value is None:
            continue
        if isinstance(value, (int, numpy.integer)):
            kinds.add(int)
        elif isinstance(value, (float, complex, numpy.inexact)) or (
            isinstance(value, (Tensor, numpy.ndarray)) and value.ndim == 0
        ):
            kinds.add(float)
    if kinds != {int}:
        return True
    return not any(isinstance(frame.f_locals.get(name), (int, numpy.integer)) for name in places.indices)


class _Places(NamedTuple):
    """What the branches of an if name; what the code around takes for a place in a table, or hands to a function."""

    names: tuple
    indices: tuple


@functools.lru_cache(maxsize=256)
def _moved(code, line):
    """The _Places of the innermost if, or of the while, of a line."""
    tree, first = syntax_of_function(code)
    if tree is None:
        return _Places((), ())
    at = line - first + 1
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.If, ast.IfExp)) and node.test.lineno <= at <= node.test.end_lineno
    ]
    if not found:
        return _walked(tree, at)
    node = found[-1]
    if isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    else:
        parts = [*node.body, *node.orelse]
    indices = [one.slice for one in ast.walk(tree) if isinstance(one, ast.Subscript)]
    indices += [one for call in ast.walk(node.test) if isinstance(call, ast.Call) for one in call.args
                if isinstance(one, ast.Name)]  # fmt: skip
    return _Places(_named(parts), _named(indices))


def _walked(tree, at):
    """The same of a while: `while h > heights[i + 1]: i += 1`, which walks along what its test indexes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.While) and node.test.lineno <= at <= node.test.end_lineno and not node.orelse:
            indices = [one.slice for one in ast.walk(node.test) if isinstance(one, ast.Subscript)]
            return _Places(_named(node.body), _named(indices))
    return _Places((), ())


def _keeps_all_parts(frame):
    """Whether a function gives the sum of what it gives for all parts, or a recorded value that was compared (9)."""
    for difference, given in _divided(frame.f_code, frame.f_lineno):
        values = [frame.f_locals.get(name) for name in given]
        if given <= difference and all(isinstance(value, Tensor) and value.requires_grad for value in values):
            return True
    return False


@functools.lru_cache(maxsize=256)
def _divided(code, line):
    """[(names in the difference whose size an if of a line compares, names in what is returned where it is small)]."""
    tree, first = syntax_of_function(code)
    if tree is None or not isinstance(tree.body[0], ast.FunctionDef):
        return []
    function, at = tree.body[0], line - first + 1
    found = []
    for block in [function.body, *[node.orelse for node in ast.walk(function) if isinstance(node, ast.If)]]:
        for i, node in enumerate(block):
            if not isinstance(node, ast.If) or not node.test.lineno <= at <= node.test.end_lineno:
                continue
            returned = [_returned(branch) for branch in (node.body, node.orelse or block[i + 1 :])]
            whole = [_calls_added(value, function.name) > 1 for value in returned]
            sizes = [call.args[0] for call in ast.walk(node.test) if isinstance(call, ast.Call) and len(call.args) == 1
                     and getattr(call.func, "attr", getattr(call.func, "id", "")) in ("abs", "fabs")]  # fmt: skip
            if sorted(whole) == [False, True] and len(sizes) == 1 and returned[whole.index(False)] is not None:
                names = set(_named(sizes))
                if isinstance(sizes[0], ast.Name):  # error = fine - coarse
                    bound = [one.value for one in ast.walk(function) if isinstance(one, ast.Assign)
                             and any(name in _named(one.targets) for name in names)]  # fmt: skip
                    sizes = bound if len(bound) == 1 else []
                    names.update(_named(sizes))
                while sizes and isinstance(sizes[0], ast.BinOp) and isinstance(sizes[0].right, ast.Constant):
                    sizes = [sizes[0].left]
                small = returned[whole.index(False)]
                coarse = _difference_of(sizes, function)
                calls = [
                    call for call in ast.walk(returned[whole.index(True)]) if _calls_added(call, function.name) == 1
                ]
                if _is_sum(small) and any(all(_is_given(call, i, function) for call in calls) for i in coarse):
                    found.append((frozenset(names), frozenset(_named([small]))))
    return found


def _returned(statements):
    """What a block without an if or a loop returns; None: that is not known."""
    if not statements or not isinstance(statements[-1], ast.Return):
        return None
    return statements[-1].value if all(isinstance(one, ast.Assign) for one in statements[:-1]) else None


def _calls_added(node, name):
    """How many calls of a function of this name a sum has, which is nothing but a sum of these; 0 of anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [_calls_added(part, name) for part in (node.left, node.right)]
        return sum(parts) if all(parts) else 0
    called = node.func if isinstance(node, ast.Call) else None
    return int(getattr(called, "id", getattr(called, "attr", None)) == name)


def _difference_of(sizes, function):
    """The places of the function's parameters that are one side of a difference."""
    if not sizes or not isinstance(sizes[0], ast.BinOp) or not isinstance(sizes[0].op, ast.Sub):
        return []
    sides = [getattr(side, "id", None) for side in (sizes[0].left, sizes[0].right)]
    return [i for i, one in enumerate(function.args.args) if one.arg in sides]


def _is_given(call, i, function):
    """Whether a call of a function gives it something else for its parameter number `i` than it has itself."""
    name = function.args.args[i].arg
    at = i - isinstance(call.func, ast.Attribute)  # self
    given = [*call.args[at : at + 1], *[one.value for one in call.keywords if one.arg == name]]
    return len(given) == 1 and name not in _named(given) and not isinstance(given[0], ast.Starred)


def _is_sum(node):
    """Whether an expression has nothing but names and numbers, sums, and quotients and products with numbers."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return _is_sum(node.left) and _is_sum(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return _is_sum(node.left) and isinstance(node.right, ast.Constant)
    return isinstance(node, ast.Name)


# -- what is no search (5, 8) ------------------------------------------------------------------------------------------


def _asked(place):
    """(syntax of a comparison, of the function around it, the line there); None for what is not known."""
    tree, first = syntax_of_function(place.code)
    return parsed(source_of(place.code, place.at, {})), tree, None if tree is None else place.line - first + 1


def _gives_a_value(place):
    """Whether a place is min(a, b) or max(a, b) of numbers whose result is only computed with, and compared nowhere."""
    call, tree, line = _asked(place)
    if tree is None or not isinstance(call, ast.Call) or getattr(call.func, "id", "") not in ("min", "max"):
        return False
    if call.keywords or any(isinstance(one, ast.Tuple | ast.Starred) for one in call.args) or len(call.args) < 2:
        return False
    text = ast.dump(call)
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.stmt) or not statement.lineno <= line <= statement.end_lineno:
            continue
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Expr):
            if not any(ast.dump(node) == text for node in ast.walk(statement)):
                continue
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            given = set(_named([target for target in targets if target is not None]))
            asked = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
            within = [part for node in ast.walk(statement) if isinstance(node, ast.Compare | ast.Subscript)
                      for part in ast.walk(node.left if isinstance(node, ast.Compare) else node.value)]  # fmt: skip
            within += [part for node in asked for one in node.comparators for part in ast.walk(one)]
            return given.isdisjoint(_named(asked)) and not any(ast.dump(part) == text for part in within)
    return False


def _decides_nothing(place):
    """Whether a place is the test of an if, whose branches bind local names that decide nothing but what is shown."""
    code = place.code
    asked, tree, line = _asked(place)
    if not isinstance(asked, ast.Compare) or tree is None or not isinstance(tree.body[0], ast.FunctionDef):
        return False
    nodes = [node for statement in tree.body[0].body for node in ast.walk(statement)]
    if any(isinstance(node, _STORES) for node in nodes):
        return False
    if any(isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load) for node in nodes):
        return False
    text = ast.dump(asked)
    branches = [node for node in nodes if isinstance(node, ast.If) and node.lineno <= line <= node.end_lineno]
    for node in reversed(branches):
        if any(ast.dump(part) == text for part in ast.walk(node.test)):
            names = _bound([*node.body, *node.orelse])
            return (
                bool(names)
                and names <= set(code.co_varnames) - set(code.co_cellvars)
                and not any(_is_method_of(names, part) for part in nodes)
                and not reach(names, [code], (code.co_name,))
            )
    return False


# What stores values where the source of one function does not tell.
_STORES = (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.NamedExpr, ast.AsyncFunctionDef)
_COMPUTING = frozenset(("abs", "float", "max", "min"))


def _bound(statements):
    """The names that statements bind; nothing where they do anything else."""
    names = set()
    for node in statements:
        calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
        if any(getattr(call.func, "id", "") not in _COMPUTING for call in calls):
            return set()
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if not isinstance(part, ast.Name):
                        return set()
                    names.add(part.id)
        elif isinstance(node, ast.If):
            for inner in (node.body, node.orelse):
                found = _bound(inner)
                if inner and not found:
                    return set()
                names |= found
        else:
            return set()
    return names


def _is_method_of(names, node):
    """Whether a node is a call of a method of what stands under one of the names."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return not names.isdisjoint(_named([node.func.value]))


def _gives_what_it_compares(place):
    """Whether each branch of an if gives, in one place, what its tests compare: several of these, or a constant."""
    asked, tree, line = _asked(place)
    if tree is None or not isinstance(asked, ast.Compare):
        return False
    text = ast.dump(asked)
    for node in ast.walk(tree):
        for statements in [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]:
            for i, statement in enumerate(statements if isinstance(statements, list) else ()):
                if not isinstance(statement, ast.If) or not statement.lineno <= line <= statement.end_lineno:
                    continue
                while i and isinstance(statements[i - 1], ast.If):  # the first of several that return
                    i -= 1
                tests, branches = _chain(statements[i:])
                if any(ast.dump(part) == text for test in tests for part in ast.walk(test)):
                    return _give_these(branches, set(_named(tests)), tree)
    return False


def _chain(statements):
    """The tests of an if with its elifs; their branches. Of ifs that return: with those that follow, and a return."""
    tests, branches = [], []
    for node in statements:
        if not isinstance(node, ast.If):
            branches.append([node])
            break
        while True:
            tests.append(node.test)
            branches.append(node.body)
            if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
                break
            node = node.orelse[0]
        if node.orelse or not all(isinstance(branch[-1], ast.Return) for branch in branches):
            branches.append(node.orelse)
            break
    return tests, branches


def _give_these(branches, compared, tree):
    """Whether branches return, or assign to one name that is compared nowhere, several of the names `compared`."""
    given, targets = set(), set()
    for branch in branches:
        if len(branch) != 1 or not isinstance(branch[0], ast.Return | ast.Assign):
            return False
        value = branch[0].value
        if isinstance(value, ast.Name) and value.id in compared:
            given.add(value.id)
        elif not isinstance(value, ast.Constant):
            return False
        targets.add(tuple(map(ast.dump, getattr(branch[0], "targets", ()))))
    asked = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
    names = _named([target for branch in branches for target in getattr(branch[0], "targets", ())])
    return len(given) > 1 and len(targets) == 1 and set(names).isdisjoint(_named(asked))


def _named(nodes):
    return tuple({n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)})


_NO_SEARCHES = (_gives_a_value, _gives_what_it_compares, _decides_nothing)

set_criteria(selects, approach, factors, edge_of)
set_equality(tell_equal, tell_near)
