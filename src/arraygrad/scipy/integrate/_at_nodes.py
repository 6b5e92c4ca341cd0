"""The gradient under an integral at all nodes of a rule at once.

May import: implicit.columns, implicit.stores, scipy._declare, numpy, SciPy.

Note [Slopes at all nodes]
~~~~~~~~~~~~~~~~~~~~~~~~~~
(1) SciPy's rule for arrays (`quad_vec`) asks for one value at a time. A recorded call of an integrand and its backward
    run cost a hundred times its arithmetic. So they are done for all nodes of an interval at once, where the integrand
    has such a form (Note [Calls at many points] in implicit/columns.py), and handed out one by one.
(2) Which nodes come next is known: a rule begins with whole intervals, and halves one in each step. The places of its
    nodes in an interval are read off its own calls. A number that is not among them is asked for alone, as ever.
(3) What is computed at once is held to what is known: at the numbers where SciPy called the integrand for the integral
    itself, values are compared; at one node, the slopes, too. Otherwise, and where the integrand stores what it
    computes or is called on copies, nothing is done at once. Slopes that are not finite are taken alone.
Guarded by tests/scipy_rules/test_slopes_at_all_nodes.py.
"""

import bisect
import functools
import itertools

import numpy as np
from scipy import integrate

from arraygrad.implicit.columns import NoForm, beside, read_by_point, slopes_at
from arraygrad.implicit.stores import running
from arraygrad.scipy._declare import raw

__all__ = ["Calls", "Nodes", "Slopes"]

_KNOWN = 21  # calls whose values are kept, of the first interval
_ELEMENTS = 1 << 18  # of the parameters at all nodes
_BRANCHES, _POINTS = 8, 3  # values that an integrand may read for nodes to be done together, and nodes of each
_CLOSE = 1e-7  # of values that are the same, relative to the largest
_SMALL = 64  # elements of values that are kept
_MISSES = 3  # numbers that were no node, before it is given up


class Calls:
    """The integrand f(x) of raw arrays as SciPy calls it, which is to be differentiated; it notes its first values."""

    def __init__(self, f):
        self._f, self._watch = f, running()
        self.count, self.known = 0, []

    def __call__(self, x):
        value = self._f(x)
        self.count += 1
        if self.count <= _KNOWN and (type(value) is float or np.size(value) <= _SMALL):
            self.known.append((x, value if type(value) is float else np.array(value)))
        return value

    def may_be_together(self, f):
        """Whether the program's function may be called on something else than numbers: it stores nothing."""
        stores = self._watch is not None and self._watch.stored
        return len(self.known) > 0 and not stores and not getattr(f, "on_copies", False)


class Slopes:
    """The gradients of an integrand by its parameters, flat, at many numbers.

    Parameters
    ----------
    f : callable
        f(x, *parameters).
    constants : callable
        constants(values): all parameters, with values in the place of those that are differentiated.
    values : list of numpy.ndarray
    cotangent : numpy.ndarray
    known : list of (float, value)
        What f is at some numbers.
    """

    def __init__(self, f, constants, values, cotangent, known):
        self._f, self._constants = f, constants
        self._values, self._cotangent, self._known = values, cotangent, known

    def at(self, x):
        """The gradients at numbers x (m,), (m, elements of all parameters), or NoForm."""
        size = sum([value.size for value in self._values])
        if size * len(x) > _ELEMENTS:
            raise NoForm
        known, self._known = self._known, []
        found = self._found(np.concatenate([x, [x for x, _ in known]]), _BRANCHES)
        if known:
            expected = np.stack([np.reshape(value, self._cotangent.shape) for _, value in known])
            values = found[0][len(x) :]
            close = max(_CLOSE, 64 * float(np.finfo(values.dtype).eps))
            if not np.all(np.abs(values - expected) <= close * np.max(np.abs(expected)) + 1e-300):
                raise NoForm
        return found[1][: len(x)]

    def _found(self, x, branches):
        """(values, gradients) at x. Where f reads a value that differs by number, the numbers of each go together."""

        def of(time, *values):
            return self._f(time, *beside(time, self._constants(values)))

        try:
            values, parts = slopes_at(of, x, self._values, self._cotangent)
        except NoForm as error:
            read = read_by_point(error)
            kinds = () if read is None else np.unique(read)
            few = 1 < len(kinds) <= min(branches, len(x) // _POINTS) and len(read) == len(x)
            if not few or not np.array_equal(kinds, kinds):  # nan
                raise
        else:
            return values, self._flat(parts, len(x))
        groups = [np.flatnonzero(read == kind) for kind in kinds]
        found = [self._found(x[group], branches - len(kinds) + 1) for group in groups]
        order = np.argsort(np.concatenate(groups), kind="stable")
        return tuple(np.concatenate(pieces)[order] for pieces in zip(*found, strict=True))

    def _flat(self, parts, m):
        flat = [
            np.zeros((m, value.size), value.dtype) if part is None else part.reshape(m, -1)
            for part, value in zip(parts, self._values, strict=True)
        ]
        return np.concatenate(flat, axis=1)


class Nodes:
    """A function of a number, for `quad_vec` from a to b: its values come from `slopes`, of many nodes at once.

    Parameters
    ----------
    f : callable
        f(x): the value at one number.
    slopes : Slopes, or None
    a, b : float
    points : list of float, or None
        Where SciPy divides the interval first.
    """

    def __init__(self, f, slopes, a, b, points):
        self._f, self._slopes = f, slopes
        self._made, self._misses, self._compared = {}, 0, False
        self._finite = bool(np.isfinite(a) and np.isfinite(b))
        # SciPy's place t of an infinite interval lies at a number x: from 0 to 1, or from -1 to 1 through infinity.
        self._start, self._sign = (a, 1.0) if np.isfinite(a) else (b, -1.0) if np.isfinite(b) else (None, 1.0)
        if self._finite:
            self._ends, inner = [a, b], points or ()
        elif self._start is not None:
            self._ends, inner = [0.0, 1.0], map(self._place, points or ())
        else:
            self._ends, inner = [-1.0, 0.0, 1.0], map(self._place, points or ())
        self._forward = self._ends[0] < self._ends[-1]
        for t in sorted({float(t) for t in inner}):
            self._cut(t)
        self._begun = False

    def __call__(self, x):
        found = self._made.pop(x, None)
        if found is None and self._slopes is not None:
            self._fetch(x)
            found = self._made.pop(x, None)
            self._misses += found is None
            if self._misses == _MISSES:
                self._slopes = None
        return self._f(x) if found is None else found

    def _number(self, t):
        """The number at a place, by SciPy's own arithmetic."""
        if self._finite:
            return t
        if self._start is not None:
            return self._start + self._sign * (1 - t) / t
        return (1 - np.abs(t)) / t

    def _place(self, x):
        if self._finite:
            return x
        if self._start is not None:
            return 1 / (self._sign * (x - self._start) + 1)
        return (-1 if x < 0 else 1) / (abs(x) + 1)

    def _cut(self, t):
        """Divide the interval that holds a place there; (its ends, the place), or None."""
        ends = self._ends if self._forward else self._ends[::-1]
        i = bisect.bisect_right(ends, t)
        if not 0 < i < len(ends) or ends[i - 1] == t:
            return None
        low, high = ends[i - 1], ends[i]
        ends.insert(i, t)
        self._ends = ends if self._forward else ends[::-1]
        return low, t, high

    def _halved(self, t):
        """The halves of the interval that holds a place."""
        ends = self._ends if self._forward else self._ends[::-1]
        i = bisect.bisect_right(ends, t)
        if not 0 < i < len(ends):
            return []
        cut = self._cut(0.5 * (ends[i - 1] + ends[i]))
        return [] if cut is None else [cut[:2], cut[1:]]

    def _fetch(self, x):
        if self._begun:
            intervals = self._halved(self._place(x))
        else:
            intervals = list(itertools.pairwise(self._ends))
            if len(intervals) == 1:  # it is halved in any case
                intervals += self._halved(0.5 * (self._ends[0] + self._ends[1]))
        self._begun = True
        if not intervals:
            return
        nodes = _places("gk21" if self._finite else "gk15")
        if not self._forward:
            intervals = [(high, low) if low < high else (low, high) for low, high in intervals]
        with np.errstate(all="ignore"):
            t = np.concatenate([0.5 * (low + high) + 0.5 * (high - low) * nodes for low, high in intervals])
            x = np.unique(self._number(t))
        x = x[np.isfinite(x)]
        try:
            rows = self._slopes.at(x)
            if not self._compared:
                self._compared = True
                self._compare(x, rows)
        except NoForm:
            self._slopes = None
            return
        for number, row, right in zip(x.tolist(), rows, np.isfinite(rows).all(axis=1).tolist(), strict=True):
            if right:
                self._made[number] = row

    def _compare(self, x, rows):
        """Hold the slopes at one node to those of a call there."""
        i = len(x) // 3
        alone = np.asarray(raw(self._f(float(x[i]))))
        close = np.sqrt(np.finfo(rows.dtype).eps)
        right = np.abs(rows[i] - alone) <= close * np.max(np.abs(alone), initial=0.0)
        if not np.all(right | ~np.isfinite(alone)):
            raise NoForm


@functools.lru_cache(maxsize=2)
def _places(rule):
    """Where the nodes of a rule of `quad_vec` stand in the interval from -1 to 1, as it calls them there."""
    found = []

    def value(x):
        found.append(x)
        return 0.0

    integrate.quad_vec(value, -1.0, 1.0, quadrature=rule)
    return np.array(found[: int(rule[2:])])
