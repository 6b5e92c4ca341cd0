"""Values that are followed and equal, and whether they are one: whether their derivatives are equal, too.

May import: autograd.graph, core.convert, core.exposed_memory, core.tensor, engine.engine, numpy.

Note [Values that are equal by chance]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
A starting point is often `numpy.ones(n)`, and parameters of it that are equal have derivatives of their own. A cache
that is asked for one finds what was computed for another: the right value, and the gradient of the other. The branch
`if a == b: return a`, for the formula (a - b) / log(a / b), holds at such points alone, and has another derivative than
the formula.
(1) Two values that are exactly equal, and whose derivatives by the arguments of the running transforms differ, are told
    where the program finds that out (`tell_twins` in autograd/stale_caches.py). Not told are checks: `assert`, and an
    `if` that raises; values of which one is made of the other: the steps of an iteration.
(2) Keys of caches under text, whole numbers and hashes are told where what is found was computed for another value
    (adoption/filled_caches.py).
(3) Numbers that are keys themselves are one key in a cache if their derivatives are equal, `x[0]` and `x[0]`. Second
    derivatives may still differ, so with several transforms they are two (autograd/keys.py).
Guarded by tests/adoption/test_equal_by_chance.py.
"""

import numpy

from arraygrad.autograd.graph import walk
from arraygrad.core.convert import RUNNING
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor, edge_of
from arraygrad.engine.engine import execute

__all__ = ["are_one_value", "are_twins", "has_slope", "looks_of", "share_memory"]

_ALIKE = 1e-3  # derivatives of the last steps of an iteration differ by less, in units of the larger
_EXACT = 1e-12
_LOOKS = 100  # so many pairs of keys of a trace
_KEYS = "keys"  # beside the places that a trace has looked at


def looks_of(trace):
    """{place: how many looks} of a trace."""
    try:
        return trace.looked
    except AttributeError:
        trace.looked = {}
        return trace.looked


def are_twins(a, b):
    """Whether two Tensors that are followed have different derivatives, and neither is made of the other."""
    edges = edge_of(a), edge_of(b)
    first, second = [edge.node for edge in edges]
    if (first is second and edges[0].input_nr == edges[1].input_nr) or a.shape != b.shape or share_memory(a, b):
        return False
    if first is not second and (first in walk([second]) or second in walk([first])):
        return False
    difference = _difference(a, b)
    return difference is not None and difference > _ALIKE


def are_one_value(a, b):
    """Whether two equal numbers that the only running transform follows have the same derivative; False: not known."""
    traces = list(RUNNING.values())
    if len(traces) != 1:
        return False
    looks = looks_of(traces[0])
    count = looks[_KEYS] = looks.get(_KEYS, 0) + 1
    if count > _LOOKS:
        return False
    difference = _difference(a, b)
    return difference is not None and difference <= _EXACT


def _difference(a, b):
    """How much the derivatives of two Tensors differ, in units of the larger; None: all zero, or not known."""
    try:
        pairs = list(zip(_slopes(a), _slopes(b), strict=True))
    except Exception:  # it may not depend on what has no derivative
        return None
    size = max((numpy.max(numpy.abs(one), initial=0.0) for pair in pairs for one in pair), default=0.0)
    return max((numpy.max(numpy.abs(x - y), initial=0.0) for x, y in pairs), default=0.0) / size if size else None


def has_slope(x):
    """Whether a Tensor depends on the arguments of the only running transform; True: not known."""
    if len(RUNNING) != 1:
        return True
    try:
        return any(map(numpy.any, _slopes(x)))
    except Exception:  # it may not depend on what has no derivative
        return True


def _slopes(x):
    """Derivatives of a weighted sum of a Tensor's elements by what the running transforms follow."""
    inputs = [edge for trace in list(RUNNING.values()) for edge in trace.edges]
    weights = numpy.cos(numpy.arange(float(x.size))).reshape(x.shape)  # any that do not cancel
    seeds = [weights.astype(x.dtype)]
    return list(map(_plain, execute([edge_of(x)], seeds, keep_graph=True, accumulate_grad=False, inputs=inputs)))


def _plain(slope):
    return numpy.zeros(()) if slope is None else numpy.asarray(raw_array(slope) if isinstance(slope, Tensor) else slope)


def share_memory(a, b):
    """Whether two values, Tensors or plain ones, may show the same memory of NumPy's."""
    raws = [raw_array(x) if isinstance(x, Tensor) else x for x in (a, b)]
    return all(isinstance(raw, numpy.ndarray) for raw in raws) and numpy.may_share_memory(*raws)
