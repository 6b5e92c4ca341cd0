"""Gradients that a plain backward computes on raw arrays: transposes of linear functions, by SciPy's own ones.

May import: core.constructors, engine, scipy._declare, scipy._guards, numpy.

The rule of a function is made of operations that are recorded, and holds for every order and every parameter. Where
only its data is differentiated, and the gradient itself is not, SciPy's compiled function gives the same in one or two
calls. Guarded by tests/scipy_rules/test_plain_gradients.py, which compares the two.
"""

import functools
import inspect

import numpy as np

from arraygrad.core.constructors import asarray
from arraygrad.engine.node import is_grad_enabled
from arraygrad.scipy._declare import REGISTRY
from arraygrad.scipy._guards import raw

__all__ = ["folded", "is_real", "plainly"]


def plainly(name, of):
    """Decorator of `formula(g, ...)`: the gradient of the parameter `of` of a declared function on raw arrays.

    With several parameters in `of` it gives a dict, and may ask for `needs`, the names that are wanted. It has the
    defaults of SciPy's function, and gives None where it declines: the rule that was declared serves then.
    """
    parameters = tuple(of.split())

    def declare(formula):
        rule = REGISTRY.get(name)
        if rule is None:  # an older SciPy
            return formula
        recorded = rule.gradients
        names = [n for n in inspect.signature(formula).parameters if n not in ("g", "ans", "needs")]
        special = [n for n in ("ans", "needs") if n in inspect.signature(formula).parameters]

        def plain(g, ans, needs, bound):
            if not needs.issubset(parameters):
                return None
            further = {"ans": ans, "needs": needs}
            named = {key: value for key, value in bound.items() if key in names}
            found = formula(g, **{key: further[key] for key in special}, **named)
            return {parameters[0]: found} if found is not None and not isinstance(found, dict) else found

        def pull(g, ans, tensors, at, bound):
            if is_grad_enabled() or isinstance(g, list) or any(place is not None for _, place in at):
                return recorded(g, ans, tensors, at, bound)
            named = {key: raw(value) for key, value in bound.items()}
            named.update({key: raw(t) for (key, _), t in zip(at, tensors, strict=True)})
            found = plain(raw(g), raw(ans), {key for key, _ in at}, named)
            if found is None:
                return recorded(g, ans, tensors, at, bound)
            return [_as_gradient(found[key], raw(t)) for (key, _), t in zip(at, tensors, strict=True)]

        rule.gradients, rule.plain = pull, plain
        return formula

    return declare


def _as_gradient(found, x):
    found = found.real if found.dtype.kind == "c" and x.dtype.kind != "c" else found
    return asarray(found if found.dtype == x.dtype else found.astype(x.dtype))


def is_real(*arrays):
    """Whether all are real numbers."""
    return all(np.asarray(a).dtype.kind in "biuf" for a in arrays)


@functools.lru_cache(maxsize=64)
def _beyond(before, n, after, mode):
    """(place in the extension, place where it came from) of all elements beyond the edges."""
    places = np.pad(np.arange(n), (before, after), mode=mode).tolist()
    return [(i, places[i]) for i in (*range(before), *range(before + n, before + n + after))]


def folded(whole, axis, before, n, mode):
    """The transpose of an extension to `before` elements more in front, and as many behind as there are.

    `mode` is numpy.pad's. What stands beyond the edges is added where it came from.
    """
    whole = np.moveaxis(whole, axis, 0)
    after = whole.shape[0] - before - n
    found = whole[before : before + n]
    if mode != "constant" and before + after and n:
        found = found.copy()
        for i, place in _beyond(before, n, after, mode):
            found[place] += whole[i]
    return np.moveaxis(found, 0, axis)
