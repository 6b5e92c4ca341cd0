"""Products with the Jacobians of a right side at many points, for states of more values than `many_steps` is for.

May import: implicit.columns, implicit.common, implicit.many_steps, numpy.

Note [Large states]
~~~~~~~~~~~~~~~~~~~
(1) A product with the Jacobian of a large state is a recorded call and its backward run, which costs several plain
    calls. Most Jacobians have a structure: one matrix for all points (linear equations), or few entries in each row
    (neighbours on a grid). It is found in whole Jacobians at two states near the solution. Rows that share no column
    are then one product together: for a chain of neighbours three or four products, at all points at once, give all
    Jacobians (Curtis, Powell, Reid 1974).
(2) Nothing relies on the structure that was found. At every point a product of random numbers with the Jacobian, by
    the right side's own backward run, is compared with that of what was found. A difference, as where an entry is zero
    at the two states and not at others, is NoForm.
(3) Without a structure, whole Jacobians are computed where the method needs them anyway, else `NoForm` says that
    products one after the other cost less.
Guarded by tests/implicit/test_large_states.py.
"""

import functools

import numpy

from arraygrad.implicit.columns import NoForm, at_once
from arraygrad.implicit.common import raw
from arraygrad.implicit.many_steps import all_added, beside_state, jacobians

__all__ = ["LARGEST", "Between", "OneByOne", "products_at", "random_signed", "walked"]

LARGEST = 1000  # values of a state of which a whole Jacobian is computed
_COLOURS = 24  # products that give a Jacobian, at most
_CHECKED = 1e-10  # relative, what a product may be apart


class Products:
    """The Jacobians J_k of a right side at points, and its derivatives by the parameters.

    `transposed(k, p)` is J_k^T p, `forwards(k, x)` is J_k x, `matrix(k)` is J_k (n, n),
    `by_parameters(cotangents (m, n))` as that of `Calls.linear`. `constant`: J_k is the same at all points.
    """

    constant = False

    def __init__(self, pull):
        self._pull = pull

    def by_parameters(self, cotangents):
        """Gradients by each of the parameters, summed over the points; None where one is zero."""
        return self._pull(cotangents)[1:]


class _Constant(Products):
    constant = True

    def __init__(self, pull, matrix):
        super().__init__(pull)
        self._matrix, self._transpose = matrix, numpy.ascontiguousarray(matrix.T)

    def transposed(self, k, p):
        return self._transpose.dot(p)

    def forwards(self, k, x):
        return self._matrix.dot(x)

    def matrix(self, k):
        return self._matrix

    def whole(self, weights):
        """(products of weights (m, n) at all points, bounds of their rounding)."""
        return weights @ self._matrix, numpy.abs(weights) @ numpy.abs(self._matrix)


class _Compressed(Products):
    """Few entries in each row: `values` (groups, m, n), entries of column j in the rows `rows[:, j]`."""

    def __init__(self, pull, values, rows):
        super().__init__(pull)
        self._values, self._rows, self._columns = values, rows, numpy.arange(rows.shape[1])
        self._flat = rows.reshape(-1)

    def transposed(self, k, p):
        return (self._values[:, k] * p[self._rows]).sum(axis=0)

    def forwards(self, k, x):
        return numpy.bincount(self._flat, (self._values[:, k] * x).reshape(-1), len(x))

    def matrix(self, k):
        n = self._rows.shape[1]
        found = numpy.zeros((n, n))
        # A colour without a row that has this column has the value zero there: it is added, not set.
        for values, rows in zip(self._values[:, k], self._rows, strict=True):
            found[rows, self._columns] += values
        return found

    def whole(self, weights):
        products, bounds = numpy.zeros(weights.shape), numpy.zeros(weights.shape)
        for c, rows in enumerate(self._rows):
            part = self._values[c] * weights[:, rows]
            products += part
            bounds += numpy.abs(part, out=part)
        return products, bounds


class _Whole(Products):
    def __init__(self, pull, matrices):
        super().__init__(pull)
        self._matrices = matrices

    def transposed(self, k, p):
        return p.dot(self._matrices[k])

    def forwards(self, k, x):
        return self._matrices[k].dot(x)

    def matrix(self, k):
        return self._matrices[k]


class Between(Products):
    """Those at other points of steps: `weights` (others, points) of the points of each step."""

    def __init__(self, products, weights):
        self._products, self._weights = products, weights
        self.constant = products.constant

    def transposed(self, k, p):
        step, i = divmod(k, len(self._weights))
        row = self._weights[i]
        return sum(w * self._products.transposed(step * len(row) + j, p) for j, w in enumerate(row))

    def matrix(self, k):
        step, i = divmod(k, len(self._weights))
        row = self._weights[i]
        if self.constant:
            return self._products.matrix(0)
        return sum(w * self._products.matrix(step * len(row) + j) for j, w in enumerate(row))

    def by_parameters(self, cotangents):
        """None: they are the caller's."""
        return []


class OneByOne(Products):
    """The same by a recorded call at each point, as it is asked for."""

    def __init__(self, calls, t, y):
        self._calls, self._t, self._y, self._pulls = calls, t, y, {}

    def _of(self, k):
        found = self._pulls.get(k)
        if found is None:
            found = self._pulls[k] = self._calls.one(self._t[k], self._calls.cast(self._y[k]))[1]
        return found

    def transposed(self, k, p):
        found = self._of(k)(self._calls.cast(p))[0]
        return numpy.zeros(p.shape) if found is None else numpy.asarray(found, dtype=p.dtype)

    def forwards(self, k, x):
        """By a difference: it serves an estimate."""
        y, size = self._y[k], float(numpy.max(numpy.abs(x), initial=0.0))
        if not size > 0.0:
            return numpy.zeros(x.shape)
        h = 1e-6 * (1.0 + float(numpy.max(numpy.abs(y), initial=0.0))) / size
        ends = [(y + one * x).astype(self._calls.dtype or y.dtype) for one in (h, -h)]
        above, below = (
            numpy.asarray(raw(self._calls.f(float(self._t[k]), one, *self._calls.parameters)), dtype=float)
            for one in ends
        )
        return (above - below) / (2.0 * h)

    def matrix(self, k):
        pull, n = self._of(k), self._y.shape[1]
        rows = [pull(unit)[0] for unit in numpy.eye(n, dtype=self._calls.dtype)]
        return numpy.asarray([numpy.zeros(n) if row is None else row for row in rows], dtype=float)

    def by_parameters(self, cotangents):
        rest = [None] * len(self._calls.parameters)
        for k, cotangent in enumerate(cotangents):
            if not cotangent.any():
                continue
            parts = self._of(k)(self._calls.cast(cotangent))[1:]
            rest = all_added(rest, parts)
        return rest


def products_at(calls, t, y, known=None, whole=False):
    """(values (m, n), `Products`) of a right side at points t (m,), y (m, n).

    Parameters
    ----------
    calls : Calls
    known : numpy.ndarray (m, n), optional
        The values that it has to have.
    whole : bool
        Where the Jacobians have no structure they are computed entry by entry.

    Raises
    ------
    NoForm
        If the right side has no form for many points at once, or without `whole` no structure.
    """
    if y.shape[1] > LARGEST:
        raise NoForm
    if calls.structure is None and calls.together:
        try:
            calls.structure = _structure(calls, t, calls.cast(y))
        except NoForm:
            calls.together = False
    values, pull = calls.at_once(t, y, known)
    weights = random_signed(11, *y.shape)
    same, rows = calls.structure
    by_y = pull(weights)[0]
    expected = numpy.zeros(y.shape) if by_y is None else by_y
    if same is not None:
        found = _Constant(pull, same)
        if _checked(found, weights, expected):
            return values, found
        calls.structure = None, rows
    if rows is not None:
        groups, at, empty = rows
        compressed = numpy.zeros((len(groups), *y.shape))
        for c, group in enumerate(groups):
            unit = numpy.zeros(y.shape)
            unit[:, group] = 1.0
            row = pull(unit)[0]
            if row is not None:
                compressed[c] = row
                compressed[c][:, empty[c]] = 0.0
        found = _Compressed(pull, compressed, at)
        if _checked(found, weights, expected):
            return values, found
        calls.structure = None, None
    if not whole:
        raise NoForm
    return values, _Whole(pull, jacobians(pull, *y.shape))


def _checked(found, weights, expected):
    products, bounds = found.whole(weights)
    return bool(numpy.all(numpy.abs(products - expected) <= _CHECKED * bounds + 1e-300))


@functools.lru_cache(maxsize=16)
def random_signed(seed, *shape):
    """Numbers between 0.5 and 1, of no pattern, with signs of none; they are not to be written."""
    random = numpy.random.default_rng(seed)
    found = random.uniform(0.5, 1.0, shape) * random.choice([-1.0, 1.0], shape)
    found.flags.writeable = False
    return found


def _structure(calls, t, y):
    """(the matrix that the Jacobian seems to be at all points, (groups of its rows, see `_grouped`)), or Nones.

    From one whole Jacobian beside the solution, which is compared with a call at one point. Rows for other points are
    with it, as a form for many points has to tell them apart.

    Raises
    ------
    NoForm
        As `Calls.at_once`.
    """
    n, k = y.shape[1], len(t) // 2
    state = beside_state(y, k)
    at = numpy.append(numpy.repeat(k, n), [0, -1])
    states = numpy.concatenate([numpy.repeat(state[None], n, axis=0), y[[0, -1]]])
    values, pull = at_once(calls.f, t[at], states, calls.parameters)
    cotangents = numpy.concatenate([numpy.eye(n), numpy.ones((2, n))])
    found = pull(cotangents)[0]
    matrix = numpy.zeros((n, n)) if found is None else numpy.asarray(found[:n], dtype=float)
    calls.compare(t[k], state, values, pull)
    return matrix, _grouped(matrix != 0.0)


def _grouped(pattern):
    """(rows of each group, (groups, n) the row of each column, where there is none); None for too many groups."""
    n = len(pattern)
    most = min(_COLOURS, n // 3)
    if pattern.sum(axis=0).max(initial=0) > most:
        return None
    taken, groups = [], []
    for i, row in enumerate(numpy.packbits(pattern, axis=1)):
        columns = int.from_bytes(row.tobytes(), "big")
        for c, known in enumerate(taken):
            if not known & columns:
                taken[c] |= columns
                groups[c].append(i)
                break
        else:
            if len(groups) == most:
                return None
            taken.append(columns)
            groups.append([i])
    at = numpy.zeros((len(groups), n), dtype=numpy.intp)
    empty = numpy.ones((len(groups), n), dtype=bool)
    for c, group in enumerate(groups):
        rows, columns = numpy.nonzero(pattern[group])
        at[c, columns] = numpy.asarray(group)[rows]
        empty[c, columns] = False
    return groups, at, empty


def walked(tableau, h, blocks, after, by_state, by_stages):
    """Gradients through steps that follow each other, one step after the other; as `gradients_of_steps`.

    `blocks`: list of (slice, Products), some of the stages each, with points in the order (step, stage).
    """
    m, n = by_state.shape
    count = blocks[-1][0].stop
    a, whole = tableau.a[:count, :count], tableau.whole[:count, None]
    where = [(products, part.stop - part.start, part.start) for part, products in blocks]
    of = [entry for entry, (part, _) in zip(where, blocks, strict=True) for _ in range(part.start, part.stop)]
    cotangents = numpy.empty((m, count, n))
    p = after
    for k in range(m - 1, -1, -1):
        if tableau.implicit:
            rest, p = _solved(a, h[k], of, k, by_stages[k, :count] + whole * p), p + by_state[k]
            cotangents[k] = h[k] * rest
            for i, (products, width, first) in enumerate(of):
                p = p + products.transposed(k * width + i - first, cotangents[k, i])
            continue
        rest = cotangents[k]
        numpy.multiply(whole, p, out=rest)
        rest += by_stages[k, :count]
        rest *= h[k]
        p = p + by_state[k]
        weights = h[k] * a
        for i in range(count - 1, -1, -1):
            products, width, first = of[i]
            by_y = products.transposed(k * width + i - first, rest[i])
            p += by_y
            if i:
                rest[:i] += weights[i, :i, None] * by_y
    grown = None
    for part, products in blocks:
        parts = products.by_parameters(numpy.ascontiguousarray(cotangents[:, part]).reshape(-1, n))
        grown = all_added(grown, parts)
    return p, grown


def _solved(a, h, of, k, given):
    """L (stages, n) with L_i - h sum_j a_ji J_j^T L_j = given_i."""
    count, n = given.shape
    if all(products.constant for products, _, _ in of):
        return _by_eigenvalues(a, h, of[0][0].matrix(0), given)
    system = numpy.empty((count, n, count, n))
    for j, (products, width, first) in enumerate(of):
        system[:, :, j] = (-h * a[j])[:, None, None] * products.matrix(k * width + j - first).T
    system = system.reshape(count * n, count * n)
    system.flat[:: count * n + 1] += 1.0
    return numpy.linalg.solve(system, given.reshape(-1)).reshape(count, n)


def _by_eigenvalues(a, h, matrix, given):
    """The same for one matrix: a system of n unknowns for each eigenvalue of `a`, one of a pair for both."""
    values, vectors = numpy.linalg.eig(a.T)
    parts = numpy.linalg.solve(vectors, given)
    found = numpy.zeros(given.shape)
    for k, value in enumerate(values):
        if value.imag < 0.0:
            continue
        pair = value.imag > 0.0
        q, part, vector = (value, parts[k], vectors[:, k]) if pair else (value.real, parts[k].real, vectors[:, k].real)
        system = -h * q * matrix.T
        system.flat[:: len(system) + 1] += 1.0
        solved = vector[:, None] * numpy.linalg.solve(system, part)
        found += 2.0 * solved.real if pair else solved
    return found
