"""What the tests against every reference library share: which points, and when two gradients agree.

Imports nothing of arraygrad but its table; `peers` computes the gradients.
"""

import numpy as np
from differences import AGREEING, DOCUMENTED, LACKING, VALUES
from peers import flat, ones, ours, weight
from points import POINTS
from samples import samples

from arraygrad.ops import TABLE

# Internal operations have no counterpart elsewhere, but for indexing and assignment.
FUNCTIONS = [n for n, e in TABLE.items() if e.rules and (not n.startswith("_") or n in ("_getitem", "_setitem"))]

RTOL = 1e-8
ATOL = 1e-9  # of the largest element

# What a library raises where it has no such function, argument or derivative.
REFUSALS = (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError)


def shared(namespace):
    """The functions that a library's namespace has too."""
    return [name for name in FUNCTIONS if hasattr(_owner(namespace, name), name)]


def _owner(namespace, name):
    extension = TABLE[name].extension
    return getattr(namespace, extension) if extension else namespace


def few(cases, number):
    """At most `number` of the cases, evenly spread; all of those at kinks."""
    kinks = [case for case in cases if case.expected is not None]
    plain = [case for case in cases if case.expected is None]
    step = max(1, -(-len(plain) // number))
    return plain[::step] + kinks


def points(name, number):
    """(case, whether its results are weighted) for every sample and point of a function."""
    found = [(case, case.expected is None) for case in few(samples(name), number)]
    return found + [(case, False) for case in POINTS.get(name, ())]


def lacking(peer, name, label, order):
    """Why the library cannot be asked at this point to this order (0: the value), or None."""
    table = LACKING[peer]
    since, why = table.get((name, label)) or table.get((name, None)) or (order + 1, None)
    return why if order >= since else None


def documented(peer, name, label, order):
    """The documented difference at a point, or None."""
    if (peer, name, label) in AGREEING:
        return None
    return DOCUMENTED.get((peer, name, label, order)) or DOCUMENTED.get((peer, name, None, order))


def agree(a, b):
    """Whether two lists of arrays agree in shape, dtype, infinities, nan and value."""
    return all(_agree(p, q) for p, q in zip(a, b, strict=True))


def _agree(p, q):
    p, q = np.asarray(p), np.asarray(q)
    finite = np.abs(q[np.isfinite(q)])
    scale = max(1.0, finite.max()) if finite.size else 1.0
    return p.shape == q.shape and p.dtype == q.dtype and np.allclose(p, q, RTOL, ATOL * scale, equal_nan=True)


def check_values(peer, forward, name, number):
    """Every sample's results are the library's; returns how many samples were compared."""
    compared = 0
    for case in few(samples(name), number):
        if lacking(peer, name, case.label, 0) is None:
            compared += 1
            mine, theirs = forward(None, case), forward(peer, case)
            assert agree(mine, theirs) != ((peer, name, case.label) in VALUES), _message(name, case, mine, theirs)
    return compared


def check_gradients(peer, gradients, name, order, number):
    """Every sample's gradients are the library's, or differ as documented; returns (agreed, differed)."""
    agreed = differed = 0
    for case, weighted in points(name, number):
        if order > 1 and (not weighted or case.order < order):
            continue
        difference = documented(peer, name, case.label, order)
        weights = weight if weighted else ones
        with np.errstate(all="ignore"):
            mine = ours(case.call, case.arrays, order, weights)
            if lacking(peer, name, case.label, order):
                continue
            theirs = gradients(case.call, case.arrays, order, weights)
        if difference is None:
            assert agree(mine, theirs), _message(name, case, mine, theirs)
            agreed += 1
        else:
            assert not agree(mine, theirs), (
                f"{name}, {case.label}: no longer differs from {peer}, drop it from the table"
            )
            for found, stated in ((mine, difference.ours), (theirs, difference.theirs)):
                assert stated is None or agree(found, _as_found(stated, found)), _message(name, case, found, stated)
            differed += 1
    return agreed, differed


def check_refusals(peer, gradients, name):
    """Where the library is said to lack a function or its derivative, it still does."""
    for case, weighted in points(name, len(samples(name))):
        order = 1 if lacking(peer, name, case.label, 1) else 2
        if not lacking(peer, name, case.label, order) or (order > 1 and not weighted):
            continue
        try:
            theirs = gradients(case.call, case.arrays, order, weight if weighted else ones)
        except REFUSALS:
            continue
        raise AssertionError(f"{name}, {case.label}: {peer} no longer lacks it, its gradients are {theirs}")


def results(output, is_array, to_numpy):
    """The floating-point results of a call as NumPy arrays."""
    arrays = [to_numpy(r) for r in flat(output, is_array)]
    return [a for a in arrays if a.dtype.kind in "fc"]


def _as_found(stated, found):
    return [np.asarray(s, dtype=f.dtype).reshape(f.shape) for s, f in zip(stated, found, strict=True)]


def _message(name, case, mine, theirs):
    arrays = [a.tolist() for a in case.arrays]
    return f"{name}, {case.label}: at {arrays}\nours   {mine}\ntheirs {theirs}"
