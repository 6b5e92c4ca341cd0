"""The gradient under an integral at all nodes of a rule at once.

May import: implicit.columns, scipy._declare, numpy, SciPy.

Note [Slopes at all nodes]
~~~~~~~~~~~~~~~~~~~~~~~~~~
(1) SciPy's rule for arrays (`quad_vec`) asks for one value at a time. A recorded call of an integrand and its backward
    run cost a hundred times its arithmetic. So they are done for all nodes of an interval at once, where the integrand
    has such a form (Note [Calls at many points] in implicit/columns.py), and handed out one by one.
(2) Which nodes come next is known: a rule begins with whole intervals, and halves one in each step. The places of its
    nodes in an interval are read off its own calls. A number that is not among them is asked for alone, as ever.
(3) What is computed at once is held to calls on plain numbers: the value at every node, and the slopes at one. A
    program may catch an error that rows raise, and take another way for all of them. Nodes with another value or with
    slopes that are not finite are taken alone; so are all where the slopes differ, where the integrand has no such
    form, stores what it computes, or is called on copies.
Guarded by tests/scipy_rules/test_slopes_at_all_nodes.py.
"""

import bisect
import functools
import itertools

import numpy as np
from scipy import integrate

from arraygrad.implicit.columns import NoForm, beside, read_by_point, slopes_at
from arraygrad.scipy._declare import raw

__all__ = ["Nodes", "Slopes"]

_ELEMENTS = 1 << 18  # of the parameters at all nodes
_BRANCHES, _POINTS = 8, 3  # values that an integrand may read for nodes to be done together, and nodes of each
_CLOSE = 1e-7  # of values that are the same, relative to the largest
_MISSES = 3  # numbers that were no node, before it is given up


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
    """

    def __init__(self, f, constants, values, cotangent):
        self._f, self._constants, self._values, self._cotangent = f, constants, values, cotangent
        self._plain = constants(values)

    def at(self, x):
        """The gradients at numbers x (m,), (m, elements of all parameters), and where they are known to be right (m,).

        Raises
        ------
        NoForm
            If there is no form for many numbers at once.
        """
        size = sum([value.size for value in self._values])
        if size * len(x) > _ELEMENTS:
            raise NoForm
        values, rows = self._found(x, _BRANCHES)
        close = max(_CLOSE, 64 * float(np.finfo(values.dtype).eps)) * np.max(np.abs(values), initial=0.0) + 1e-300
        same = np.abs(values - self._of_numbers(x)) <= close
        return rows, same.reshape(len(x), -1).all(axis=1) & np.isfinite(rows).all(axis=1)

    def _of_numbers(self, x):
        """The values by a call on each plain number; nan where it raises, which is told where the number is alone."""
        f, given, found = self._f, self._plain, []
        for number in x.tolist():
            try:
                found.append(raw(f(number, *given)))
            except Exception:
                found.append(self._cotangent * np.nan)
        return np.array(found).reshape(len(x), *self._cotangent.shape)

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
        self._made, self._misses, self._begun = {}, 0, False
        self._finite = bool(np.isfinite(a) and np.isfinite(b))
        # SciPy's place t of an infinite interval lies at a number x: from 0 to 1, or from -1 to 1 through infinity.
        self._start, self._sign = (a, 1.0) if np.isfinite(a) else (b, -1.0) if np.isfinite(b) else (None, 1.0)
        ends = sorted((a, b)) if self._finite else [0.0, 1.0] if self._start is not None else [-1.0, 0.0, 1.0]
        inner = () if points is None or (self._finite and b < a) else map(self._place, points)  # as SciPy takes them
        self._ends = sorted({*ends, *[float(t) for t in inner if ends[0] < t < ends[-1]]})

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

    def _halves(self, t):
        """The halves of the interval that holds a place, which is divided from now on."""
        i = bisect.bisect_right(self._ends, t)
        if not 0 < i < len(self._ends):
            return []
        low, high = self._ends[i - 1 : i + 1]
        self._ends.insert(i, 0.5 * (low + high))
        return list(itertools.pairwise(self._ends[i - 1 : i + 2]))

    def _fetch(self, x):
        if self._begun:
            intervals = self._halves(self._place(x))
        else:
            intervals = list(itertools.pairwise(self._ends))
            if len(intervals) == 1:  # it is halved in any case
                intervals += self._halves(0.5 * sum(self._ends))
        self._begun = True
        if not intervals:
            return
        nodes = _places("gk21" if self._finite else "gk15")
        with np.errstate(all="ignore"):
            t = np.concatenate([0.5 * (low + high) + 0.5 * (high - low) * nodes for low, high in intervals])
            x = np.unique(self._number(t))
        x = x[np.isfinite(x)]
        try:
            rows, right = self._slopes.at(x)
            self._compare(x, rows, right)
        except NoForm:
            self._slopes = None
            return
        for i in np.flatnonzero(right).tolist():
            self._made[float(x[i])] = rows[i]

    def _compare(self, x, rows, right):
        """Hold the slopes at one of the nodes to those of a call there; NoForm."""
        places = np.flatnonzero(right)
        if not places.size:
            raise NoForm
        i = places[places.size // 3]
        alone = np.asarray(raw(self._f(float(x[i]))))
        close = np.sqrt(np.finfo(rows.dtype).eps)
        if not np.all(np.abs(rows[i] - alone) <= close * np.max(np.abs(alone), initial=0.0)):
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
