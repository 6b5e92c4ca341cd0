"""Everyday calls of declared functions, recorded as one node each without the looks that rarer calls need.

May import: backends.numpy.table, core.numpy_primitives, core.constructors, core.tensor, ops, scipy._declare, numpy.

A declared function binds its arguments by SciPy's signature, looks through all of them for Tensors, and its rule makes
Tensors of what backward kept: 100 to 400 us for value and gradient. Calls on Tensors of one dtype beside arrays and
numbers are recorded as NumPy's functions are (Note [NumPy primitives] in core/numpy_primitives.pyx): SciPy's own
function on the raw arrays, and one node. What is not served there (other parameters, dtypes, libraries, hooks) takes
the declared way. Guarded by tests/scipy_rules/test_everyday_calls.py, which compares both ways.
"""

import functools

import numpy

from arraygrad.backends.numpy.table import attach_alike
from arraygrad.core.constructors import asarray
from arraygrad.core.numpy_primitives import call_primitive, make_primitive
from arraygrad.core.tensor import Tensor
from arraygrad.ops import OPS, Entry
from arraygrad.scipy import _declare
from arraygrad.scipy._declare import REGISTRY, _camel

__all__ = ["Agreeing", "declared_gradient", "everyday", "gradient_of", "named_rule", "set_everyday_calls"]


def set_everyday_calls(mode):
    """Whether everyday calls are recorded as one node; otherwise all take the declared way. Returns what it was."""
    before, _declare.everyday_calls = _declare.everyday_calls, bool(mode)
    return before


def everyday(name, signature, of="", *, rules=None, values=None, like=None, served=None, **options):
    """Serve calls of the declared function `name` that `signature` can bind.

    Parameters
    ----------
    name : str
        Dotted name below scipy. Nothing happens where this SciPy lacks the function. One that is served already is
        asked for this only where that does not serve.
    signature : str
        SciPy's parameters as far as they are served: arrays that may be Tensors, and what else the value depends on.
    of : str
        Names of the parameters that may require grad, separated by blanks; their gradients are those of `gradient_of`.
    rules : dict of str to callable, optional
        Parameter -> rule, written as those of the table, in the place of `of`.
    values : callable, optional
        SciPy's values, where that is not SciPy's own function.
    like : str, optional
        Operation of the table whose compiled rule serves, if it keeps the same.
    served : callable, optional
        served(args, kwargs) gives those that are recorded, or None.
    **options
        Of `make_primitive`.
    """
    rule = REGISTRY.get(name)
    if rule is None or rule.values is None:
        return
    if rules is None:
        params = [part.partition("=")[0].strip() for part in signature.split(",")]
        params = [param for param in params if param not in "*/"]
        rules = {key: gradient_of(name, key, params) for key in of.split()}
    fields = {key: options.pop(key) for key in ("results", "sequence") if key in options}
    if like is not None:
        fields["holomorphic"] = OPS[like].entry.holomorphic
    entry = Entry(f"scipy.{name}", signature, "core", rules, "nonlinear", node=_camel(name), **fields)
    made = make_primitive(entry, values or rule.values, numpy.ndarray, numpy.generic, **options)
    if like is not None:
        attach_alike(made, OPS[like])
    quick, before = functools.partial(call_primitive, made), rule.quick
    if served is not None:

        def quick(args, kwargs):
            found = served(args, kwargs)
            return None if found is None else call_primitive(made, *found)

    rule.quick = quick if before is None else functools.partial(_either, before, quick)


class Agreeing:
    """SciPy's values by fewer steps, as long as they are SciPy's: the first calls compare both, bit by bit.

    Parameters
    ----------
    whole : callable
        SciPy's own function.
    shorter : callable
        shorter(*args, **kwargs) gives the same values, or None where SciPy's own function has to look. It warns of
        nothing.
    """

    COMPARED = 4  # calls: what another version of SciPy computes otherwise shows in the first ones

    def __init__(self, whole, shorter):
        self.whole, self.shorter = whole, shorter
        self.left, self.agrees = self.COMPARED, True

    def __call__(self, *args, **kwargs):
        found = self.shorter(*args, **kwargs) if self.agrees else None
        if found is None:
            return self.whole(*args, **kwargs)
        if self.left > 0:
            self.left -= 1
            expected = self.whole(*args, **kwargs)
            same = numpy.shape(found) == numpy.shape(expected) and found.dtype == expected.dtype
            self.agrees = self.agrees and same and found.tobytes() == expected.tobytes()
            return expected
        return found


def _either(first, second, args, kwargs):
    found = first(args, kwargs)
    return second(args, kwargs) if found is None else found


def gradient_of(name, key, params):
    """The rule of one parameter: by what `plainly` declared for raw arrays, else by the declared rule.

    Parameters
    ----------
    params : list of str
        Names of all parameters that the rule gets.
    """
    rule = REGISTRY[name]

    def found(g, ans, bound):
        if rule.plain is not None and type(g) is numpy.ndarray and type(ans) is numpy.ndarray:
            with numpy.errstate(all="ignore"):
                gradient = rule.plain(g, ans, {key}, bound)
            if gradient is not None:
                return gradient[key]
        return declared_gradient(name, key, g, ans, bound)

    return named_rule(params, found)


def named_rule(params, found):
    """found(g, ans, bound) as a rule, whose parameters say what it gets; `bound` has them by name."""
    space = {"_found": found}
    given = ", ".join([f"{param!r}: {param}" for param in params])
    exec(f"def rule(g, ans, {', '.join(params)}): return _found(g, ans, {{{given}}})", space)  # names of parameters
    return space["rule"]


def declared_gradient(name, key, g, ans, bound):
    """The gradient of one parameter by the rule that was declared; raw arrays for raw ones."""
    rule = REGISTRY[name]
    with numpy.errstate(all="ignore"):  # as where the declared way runs it
        if isinstance(g, Tensor):
            return rule.gradients(g, ans, [bound[key]], [(key, None)], bound)[0]
        found = rule.gradients(asarray(g), asarray(ans), [asarray(bound[key])], [(key, None)], bound)[0]
    return found.array if isinstance(found, Tensor) else found
