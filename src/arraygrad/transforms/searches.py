"""Results of searches by comparisons: seen in what a traced program compared, and told.

May import: autograd.places, core.decisions, core.tensor, engine.engine, the standard library, numpy.

What is noted is said in Note [Decisions of a program] in core/decisions.pyx. A place is a search if
(1) both outcomes occurred: a test that ends a loop has one outcome until its last;
(2) what is compared approaches each other: the difference d of the two sides becomes SHRUNK times smaller;
(3) the derivative of d by the arguments does not follow: |dd/dx| / |d| grows as a power of 1 / d.
In a bisection by `m * m < a` the derivative of d = m * m - a is -1 at all times. Where what is compared is computed by
steps that depend on the arguments, as in Newton's method, d moves with its own derivative: at the solution
d(m * m - a)/da is zero too. (3) is free of scales. Where the product of two values is compared with zero, or two values
of a minimum with each other, d is of second order in the distance from the solution and its derivative of first, so the
power is 1/2; elsewhere it is 1. Where d moves with its own derivative it is 0. The test asks for POWER.
(4) A search for a place in a table selects indices. What is made of them has the derivative that it has.
Guarded by tests/adoption/test_own_searches.py.
"""

import ast
import functools
import inspect
import textwrap
import types

import numpy

from arraygrad.autograd.places import short, source_of
from arraygrad.core.decisions import set_criteria
from arraygrad.core.tensor import Tensor, edge_of
from arraygrad.engine.engine import execute

__all__ = ["searches"]

MANY = 10  # so many comparisons at least
FEWEST = 6  # so many of them with a difference that is no rounding error
KNOWN = 5  # so many of them with a derivative that is not zero
FLOOR = 1e-11
SHRUNK = 2.0**-7
POWER = 0.28


def searches(places, edges):
    """Of what a trace has noted: the places (code, line, offset) of searches by comparisons.

    Parameters
    ----------
    places : iterable of Decided
    edges : list of Edge
        Those of the differentiated arguments.
    """
    return [place for place in places if _is_search(place, edges)]


def told(place):
    """Where a place is, as text."""
    code = place.code
    where = f"{short(code.co_filename)}:{place.line}, in {code.co_qualname}"
    expression = source_of(code, place.at, {})
    return f"{where}: {expression}" if expression else where


def _is_search(place, edges):
    if place.ignored or place.count < MANY:
        return False
    values = _differences([*place.first, *place.last])
    if values is None:
        return False
    at, start, _ = _nearest(values)
    sizes = numpy.abs(values[:, at])
    if not 0.0 < start < numpy.inf:
        return False
    used = numpy.flatnonzero(sizes > FLOOR * start)  # rounding decides below
    if len(used) < FEWEST:
        return False
    end = numpy.median(sizes[used[-3:]])
    if len(set(values[used[:-1], at] > 0.0)) == 1 or not end <= SHRUNK * start:  # the last one may end a loop
        return False
    asked = [i for i in used if i in place.recorded]
    try:
        steepness = numpy.array([_steepness(place.recorded[i], values[i, at], at * place.stride, edges)
                                 for i in asked])  # fmt: skip
    except Exception:  # the result may not depend on what has no derivative, or was overwritten since
        return False
    known = (steepness > 0.0) & numpy.isfinite(steepness)
    if numpy.count_nonzero(known) < KNOWN:
        return False
    x, y = numpy.log(sizes[numpy.array(asked)[known]]), numpy.log(steepness[known])
    x -= numpy.mean(x)
    return -float(x @ y) >= POWER * float(x @ x)  # the power, by least squares


def _differences(pairs):
    """(pairs, elements): of the values of pairs. None where they are no numbers, or not always as many."""
    try:
        with numpy.errstate(all="ignore"):
            found = [_difference(pair) for pair in pairs]
    except (TypeError, ValueError):
        return None
    return numpy.array(found) if len({d.size for d in found}) == 1 and found[0].size else None


def _nearest(values, last=3):
    """(the element that approaches most, how far apart its sides were, how many times nearer the last ones are)."""
    with numpy.errstate(all="ignore"):
        starts = numpy.max(numpy.abs(values[:3]), axis=0)
        ends = numpy.median(numpy.abs(values[-last:]), axis=0) / starts
    at = int(numpy.argmin(numpy.where(numpy.isfinite(ends), ends, numpy.inf)))
    return at, starts[at], ends[at]


def approach(pairs):
    """Whether the sides of the first pairs may approach each other in any element: half of them are nearer."""
    values = _differences(pairs)
    return values is not None and bool(_nearest(values, len(values))[2] <= 0.25)


def _raw(x):
    return numpy.asarray(x.detach().numpy() if isinstance(x, Tensor) else x)


def _difference(pair):
    a, b = _raw(pair[0]), _raw(pair[1])
    return numpy.ravel(numpy.subtract(a, b, dtype=float))


def _steepness(pair, d, at, edges):
    """|dd/dx| / |d| of the element number `at`, whose difference is d."""
    squares = 0.0
    roots, seeds = [], []
    shape = numpy.broadcast_shapes(_raw(pair[0]).shape, _raw(pair[1]).shape)
    seed = numpy.zeros(shape)
    seed.reshape(-1)[at] = 1.0
    for side, sign in ((pair[0], 1.0), (pair[1], -1.0)):
        if isinstance(side, Tensor) and side.requires_grad:
            roots.append(edge_of(side))
            seeds.append(_summed(sign * seed, side.shape).astype(_raw(side).dtype))
    if not roots:
        return 0.0
    for g in _run(roots, seeds, edges):
        if g is not None:
            squares += float(numpy.sum(numpy.abs(_raw(g)) ** 2))
    smallest = numpy.finfo(float).tiny
    return float(numpy.sqrt(squares)) / max(abs(float(d)), smallest)


def _summed(seed, shape):
    """The gradient of an operand that was broadcast."""
    extra = seed.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(extra + i for i, n in enumerate(shape) if n == 1 and seed.shape[extra + i] != 1)
    return numpy.sum(seed, axis=axes, keepdims=True).reshape(shape) if axes else seed.reshape(shape)


def _run(roots, seeds, edges):
    return execute(roots, seeds, keep_graph=True, accumulate_grad=False, inputs=edges)


# -- what a branch selects (4) -----------------------------------------------------------------------------------------


def selects(frame):
    """Whether the branches that a frame decides between give names other values than indices."""
    kinds = set()
    for name in _moved(frame.f_code, frame.f_lineno):
        value = frame.f_locals.get(name)
        if isinstance(value, (bool, types.FunctionType)) or value is None:
            continue
        if isinstance(value, (int, numpy.integer)):
            kinds.add(int)
        elif isinstance(value, (float, complex, numpy.inexact)) or (
            isinstance(value, (Tensor, numpy.ndarray)) and value.ndim == 0
        ):
            kinds.add(float)
    return kinds != {int}


@functools.lru_cache(maxsize=256)
def _moved(code, line):
    """Names in the branches of the innermost if of a line."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError, TypeError, ValueError):
        return ()
    at = line - code.co_firstlineno + 1
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.If, ast.IfExp)) and node.test.lineno <= at <= node.test.end_lineno
    ]
    if not found:
        return ()
    node = found[-1]
    if isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    else:
        parts = [*node.body, *node.orelse]
    return tuple({n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)})


set_criteria(selects, approach)
