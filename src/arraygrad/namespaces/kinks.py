"""Derivatives of gradients where a norm is zero.

May import: engine, core, ops. Begin with `at_kinks`.

Note [Kinks]
~~~~~~~~~~~~
The gradient of a norm n(x) is g x / n. At n = 0 it has no limit; the rules choose zero there, the subgradient of least
norm. What its derivative is depends on g:
(1) g goes to zero with n, as that of n ** 2 does, or of exp(-n ** 2). Then g / n has the limit dg/dn (L'Hopital), the
    gradient is dg/dn x near the kink, and its derivative dg/dn. The graph of g is there to be asked for dg/dn: nothing
    needs to tell squares from other functions.
(2) g is not zero. The gradient jumps, and its derivative is nan.
(3) g is zero, but not because n is: it depends on x in another way too, or one norm's g on another norm, or the limit
    is infinite. The derivative is nan.
(4) The size of a real number, and norms that add sizes or take the largest, are straight on both sides of the kink. In
    (2) the derivative is 0 for them, as it is for relu and maximum. In (1) it is dg/dn.
The gradient itself is what it was: what is added here is zero, with a derivative.

For (3) the gradient of g by the leaves behind x is computed, while the kink itself hands nothing on. Another norm that
is zero on that way hands nan on: whether it moves with this one is not known.
The result of a composition (arraygrad.scipy._declare) is computed twice: the program's g depends on the first, which
has SciPy's values, and the kink is in the second. `standing_for` says which result is which.
The derivatives of dg/dn are not those of g / n: they are larger by factors, and right where they are zero. `_Limit`
marks what is computed of them. There a limit other than zero counts as none, and its derivatives are nan.
Guarded by tests/numpy_api/test_kinks_of_norms.py.
"""

import contextlib
import math
import threading

from arraygrad.core.constructors import wrap_raw
from arraygrad.core.inplace import as_scalar
from arraygrad.core.tensor import AccumulateGrad, Tensor, apply_op, backend_of, edge_of
from arraygrad.engine.engine import execute
from arraygrad.engine.graph_task import current_node
from arraygrad.engine.node import Edge
from arraygrad.ops import OPS
from arraygrad.ops._helpers import over_nonzero

__all__ = ["at_kinks", "hands_on_nothing", "root_of_form", "standing_for"]

_IMPLICIT = OPS["_implicit"]


class _State(threading.local):
    """What this thread's recorded runs know.

    Attributes
    ----------
    blocked : set of Node, or None
        While a gradient is asked what it depends on: the nodes whose kinks hand nothing on.
    twice : list of (Edge, Tensor)
        Results of compositions that are being differentiated, outermost first: the place of SciPy's value in the
        graph, and the same computed again.
    asking : bool
        A limit is being computed. Other kinks on the way have their gradient, which is zero, but no limit: they would
        ask in turn. Derivatives that would need one are nan.
    """

    blocked = None
    asking = False

    def __init__(self):
        self.twice = []


_state = _State()


class _Undetermined:
    """Zeros whose derivative by x is nan where `lost` holds and the gradient that arrives is not zero.

    `lost` has the axes of x; of length one where it holds for all elements of x together.
    """

    def __init__(self, xp, x, lost):
        self.xp, self.lost = xp, lost
        self.solution = xp.zeros_like(x).array

    def pull(self, g, ans, arrays):
        if isinstance(g, Tensor):
            return [self._nan(self.xp, g, self.lost)]
        return [self._nan(backend_of(self.lost).xp, g, self.lost.array)]

    def _nan(self, xp, g, lost):
        hit = g != 0
        together = tuple([i for i, (n, m) in enumerate(zip(lost.shape, g.shape, strict=True)) if n == 1 != m])
        if together:
            hit = xp.any(hit, axis=together, keepdims=True)
        return xp.where(lost & hit, math.nan, xp.zeros_like(g))


class _LastLimit:
    """Limits that are zero, whose derivatives by themselves and by x are nan where a gradient arrives."""

    def __init__(self, xp, limit, x, spread):
        self.xp, self.spread, self.solution = xp, spread, xp.zeros_like(limit).array

    def pull(self, g, ans, arrays):
        _, x = arrays
        xp = self.xp if isinstance(g, Tensor) else backend_of(wrap_raw(g)).xp
        lost = xp.where(g != 0, math.nan, 0.0 * g)
        if isinstance(g, Tensor):
            return [lost, self.spread(lost) + xp.zeros_like(x)]
        return [lost, self.spread(wrap_raw(lost)).array + xp.zeros_like(x)]


class _Limit:
    """A limit as it is, or with `derived` a gradient that was computed of its derivative: a mark in the graph."""

    def __init__(self, solution, derived=False):
        self.solution, self.derived = solution.array, derived

    def pull(self, g, ans, arrays):
        return [_marked(g, True) if isinstance(g, Tensor) else g]


def _marked(limit, derived=False):
    return apply_op(_IMPLICIT, ([limit], _Limit(limit, derived)))


def at_kinks(xp, ordinary, g, x, ans, spread=None, *, square=True, straight=False):
    """The gradient g x / ans of a norm, recorded, with the derivatives that it has where `ans` is zero.

    Parameters
    ----------
    xp
        The namespace of a recorded rule, which must be running.
    ordinary : Tensor
        The gradient as it is elsewhere; zero where `ans` is.
    g, ans : Tensor
        The gradient of the norm, and the norm, or what is zero where that is.
    x : Tensor
        What is zero where `ans` is, of a shape that broadcasts to that of `ordinary`.
    spread : callable, optional
        Gives an array of the shape of `ans` the axes of x, of length one where they were reduced.
    square : bool
        The square of the norm is smooth. If not, the derivative is nan also where g / ans has a limit other than 0.
    straight : bool
        Note [Kinks] (4).
    """
    spread = spread or (lambda a: a)
    found = _limits(xp, g, ans, x, spread, square, straight)
    if found is None:
        return ordinary
    zero, limit, lost = found
    if x.shape != ordinary.shape:  # an operand that was broadcast
        x = xp.broadcast_to(x, ordinary.shape)
    at_zero = spread(zero)
    if limit is None:
        return xp.where(at_zero & spread(lost), math.nan, xp.where(at_zero, 0.0, ordinary))
    if limit.requires_grad or bool(xp.any(limit != 0)):
        ordinary = xp.where(at_zero, spread(limit) * xp.where(at_zero, x, 0.0), ordinary)
    return ordinary + _undetermined(xp, x, spread(lost)) if bool(xp.any(lost)) else ordinary


def _undetermined(xp, x, lost):
    return apply_op(_IMPLICIT, ([x], _Undetermined(xp, x, lost)))


def _limits(xp, g, ans, x, spread, square=True, straight=False):
    """(where `ans` is zero, the limit of g / ans there and zero elsewhere, where the derivative is nan).

    None: `ans` is zero nowhere. Without a limit g is asked what it depends on, and nan is to be handed on.
    """
    zero = ans == 0
    holds_nowhere = getattr(backend_of(ans).xp, "_library_holds_nowhere", None)
    if not bool(xp.any(zero)) if holds_nowhere is None else holds_nowhere(zero.array):
        return None
    node = current_node()
    jumps = zero & (g != 0)
    if _state.blocked is not None:
        return zero, None, jumps & (node not in _state.blocked)
    lost = zero & False if straight else jumps
    limit = xp.zeros_like(g)
    still = zero & (g == 0)
    if _state.asking:
        return zero, limit, (lost | still) if g.requires_grad else lost
    if g.requires_grad and bool(xp.any(still)):
        limit, unknown = _limit(xp, g, still, zero, node, straight)
        further = _has_marks(g)
        if further or not square:
            unknown = unknown | (still & (limit != 0))
        lost = lost | unknown
        limit = xp.where(still & ~unknown, limit, 0.0)
        if further:
            limit = apply_op(_IMPLICIT, ([limit, x], _LastLimit(xp, limit, x, spread)))
        elif limit.requires_grad:
            limit = _marked(limit)
    return zero, limit, lost


def _limit(xp, g, still, zero, node, straight):
    """(the limit of g / ans where `still` holds, where it is not known to be one)."""
    edge = Edge(node, 0)
    ones = xp.astype(still, g.dtype)
    (limit,) = _pull(g, ones, [edge])
    limit = xp.zeros_like(g) if limit is None else limit
    unknown = still & ~xp.isfinite(limit)
    several = math.prod(zero.shape) > 1
    weights = ones * _uneven(xp, g) if several else ones
    if several:  # each norm's g by its own norm alone: weights come back as they are given
        (weighted,) = _pull(g, weights, [edge])
        if weighted is not None:
            own = xp.abs(xp.where(xp.isfinite(limit), limit, 0.0))
            apart = xp.abs(weighted - weights * limit) > 64.0 * xp.finfo(g.dtype).eps * own
            if bool(xp.any(apart & zero)):
                unknown = unknown | still
    if bool(xp.any(still & ~unknown)) and _depends_otherwise(xp, g, weights, node, straight):
        unknown = unknown | still
    return limit, unknown


def _uneven(xp, g):
    """Numbers between 1 and 2, all different, of the shape of g."""
    steps = xp.arange(math.prod(g.shape), dtype=g.dtype, device=getattr(g, "device", None))
    turns = steps * 0.6180339887498949
    return xp.reshape(1.0 + (turns - xp.floor(turns)), g.shape)


def _pull(g, weights, targets):
    """Gradients of the sum of g * weights at edges of the graph, None where it does not depend on one."""
    places = [edge for edge, _ in _state.twice]
    found = list(_run(g, weights, [*targets, *places]))
    n = len(targets)
    for k, (_, again) in enumerate(_state.twice):
        arrived = found[n + k]
        if arrived is None or not again.requires_grad:
            continue
        for i, more in zip([*range(n), *range(n + k + 1, len(found))],
                           _run(again, arrived, [*targets, *places[k + 1 :]]), strict=True):  # fmt: skip
            found[i] = more if found[i] is None else found[i] if more is None else found[i] + more
    return found[:n]


def _run(root, gradient, edges):
    before, _state.asking = _state.asking, True
    try:
        return execute(
            [edge_of(root)], [gradient], keep_graph=True, create_graph=True, accumulate_grad=False, inputs=edges
        )
    finally:
        _state.asking = before


def _behind(nodes, ends=()):
    """Every node that the given ones lead to, themselves too; not what lies behind `ends`."""
    seen, stack = set(nodes), list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if node in ends:
            continue
        for target, _ in node.next_functions:
            if target is not None and target not in seen:
                seen.add(target)
                stack.append(target)


def _has_marks(g):
    """Whether g was computed of the derivative of a limit."""
    for node in _behind([edge_of(g).node]):
        if node.name() == "ImplicitBackward":
            problem = node.saved["problem"]
            if type(problem) is _Limit and problem.derived:
                return True
    return False


def _depends_otherwise(xp, g, weights, node, straight):
    """Whether g depends on what lies behind a node in another way than through that node.

    `straight`: whether on another kink there.
    """
    own = {node, *[edge.node for edge, _ in _state.twice]}
    ends = {found for found in _behind(own) if isinstance(found, AccumulateGrad) or not _leads_on(found)}
    roots = [edge_of(t).node for t in (g, *[again for _, again in _state.twice]) if t.requires_grad]
    common = [found for found in _behind(roots, own) if found in ends]
    if not common:
        return False
    _state.blocked = own
    try:
        found = _pull(g, weights, [Edge(end, 0) for end in common])
    finally:
        _state.blocked = None
    if straight:
        return any(bool(xp.any(xp.isnan(part))) for part in found if part is not None)
    return any(bool(xp.any(part != 0)) for part in found if part is not None)


def _leads_on(node):
    return any(target is not None for target, _ in node.next_functions)


def hands_on_nothing():
    """Whether the running rule is to hand nothing on, as it is asked what depends on x otherwise than through it."""
    return _state.blocked is not None and current_node() in _state.blocked


@contextlib.contextmanager
def standing_for(pairs):
    """While a composition is differentiated: pairs of its result, with SciPy's value, and the same computed again."""
    before = len(_state.twice)
    _state.twice += [(edge_of(first), again) for first, again in pairs]
    try:
        yield
    finally:
        del _state.twice[before:]


class _Root:
    """The length sqrt(total) of a vector that is zero where `total`, a quadratic form of it, is."""

    def __init__(self, total):
        raw = total.array
        self.solution = backend_of(total).xp.sqrt(raw)

    def pull(self, g, ans, arrays):
        if not isinstance(g, Tensor):
            return [0.5 * over_nonzero(backend_of(wrap_raw(g)).xp, g, ans), None]
        xp, (_, away) = g.__array_namespace__(), arrays
        found = _limits(xp, g, ans, away, lambda a: a[..., None])
        half = 0.5 * over_nonzero(xp, g, ans)
        if found is None:
            return [half, None]
        zero, limit, lost = found
        if limit is None:
            return [xp.where(zero & lost, math.nan, xp.where(zero, 0.0, half)), None]
        by_away = _undetermined(xp, away, lost[..., None]) if bool(xp.any(lost)) else None
        return [xp.where(zero, 0.5 * limit, half), by_away]


def root_of_form(total, away):
    """sqrt(total), the length of the vectors along the last axis of `away` by a quadratic form.

    Its gradient is zero where it is; the derivatives of that are those of Note [Kinks]. A complex form is no length:
    its root is the complex function.
    """
    if backend_of(total).xp.isdtype(total.dtype, "complex floating"):
        xp = total.__array_namespace__()
        zero = total == 0
        return xp.where(zero, total, xp.sqrt(xp.where(zero, 1.0, total)))
    found = apply_op(_IMPLICIT, ([total, away], _Root(total)))
    return found if found.ndim else as_scalar(found, True)
