"""How a special function is declared, and the functions that `arraygrad.special` has already.

May import: arraygrad, engine, numpy_api.beyond, scipy._declare, scipy._guards,
scipy._libraries, numpy, SciPy.
"""

import functools
import inspect

import numpy as np
from scipy import special

import arraygrad as ag
from arraygrad import special as table
from arraygrad.engine.node import is_grad_enabled
from arraygrad.numpy_api.beyond import scipys_dtype
from arraygrad.ops import OPS
from arraygrad.scipy._declare import REGISTRY, Chapter, Rule, formulas, guarded, raw
from arraygrad.scipy._guards import NotDifferentiable, holds_tensor
from arraygrad.scipy._libraries import host_array

__all__ = ["CHAPTER", "NAMES", "as_ufuncs", "composition_of", "declare"]

CHAPTER = Chapter("special", special)
NAMES = CHAPTER.names


def declare(name, signature, source, refuse=None, order="any", **by):
    """`formulas` for a ufunc of scipy.special; an older SciPy may lack it."""
    values = getattr(special, name, None)
    if values is not None:
        NAMES[name] = formulas(
            f"special.{name}", values, source, f"{signature}, out=None", refuse=refuse, order=order, **by
        )


def composition_of(name, of, source, **options):
    """Decorator: `by_composition` for a ufunc, whose own signature names no parameters."""
    declared = CHAPTER.by_composition(name, of, source, **options)

    def decorate(formula):
        declared(formula)
        if name in NAMES:
            REGISTRY[f"special.{name}"].signature = inspect.signature(formula)
        return formula

    return decorate


def _take_over():
    for name in table.__all__:
        if not hasattr(special, name):
            continue
        NAMES[name] = getattr(table, name)
        op = OPS[{"psi": "digamma", "jn": "jv"}.get(name, name)]
        of = tuple(op.params[i] for i in op.inputs)
        source = "see derivatives.md" if of else ""
        reason = "" if of else "it is constant wherever it has a derivative"
        REGISTRY[f"special.{name}"] = Rule(
            f"special.{name}", of, source, "any", getattr(special, name), NAMES[name], reason
        )
    for name in ("exp2", "log1p", "expm1"):
        if hasattr(special, name) and hasattr(ag, name):
            NAMES[name] = getattr(ag, name)
            REGISTRY[f"special.{name}"] = Rule(
                f"special.{name}", ("x",), "see derivatives.md", "any", getattr(special, name), NAMES[name]
            )


# -- calls as those of a ufunc ----------------------------------------------------------------------------------------

# Parameters that SciPy truncates to whole numbers: function -> place by name.
_TRUNCATED = {
    "kn": {"n": 0}, "yn": {"n": 0}, "expn": {"n": 0}, "bdtr": {"n": 1}, "bdtrc": {"n": 1}, "bdtri": {"n": 1},
    "nbdtr": {"k": 0, "n": 1}, "nbdtrc": {"k": 0, "n": 1}, "nbdtri": {"k": 0, "n": 1},
}  # fmt: skip
_OF_UFUNCS = frozenset(("where", "out", "casting", "order", "dtype", "subok", "signature", "sig"))


def as_ufuncs():
    """Wrap the functions of `NAMES`: SciPy's dtypes; of ufuncs the keywords, and orders that have to be whole."""
    for name in table.__all__:
        theirs = getattr(special, name, None)
        if name in ("polygamma", "multigammaln") or (isinstance(theirs, np.ufunc) and theirs.nin > 1):
            NAMES[name] = _with_precision(name, NAMES[name], theirs)
            if f"special.{name}" in REGISTRY:  # which adopted calls take
                REGISTRY[f"special.{name}"].function = NAMES[name]
    for name, function in list(NAMES.items()):
        theirs = getattr(special, name, None)
        if isinstance(theirs, np.ufunc):
            NAMES[name] = _as_ufunc(name, function, theirs)
            if f"special.{name}" in REGISTRY:
                REGISTRY[f"special.{name}"].function = NAMES[name]


def _with_precision(name, function, theirs):
    """`function` in the precision in which SciPy's computes: beside a number a float32 array is one of float64 to some.

    Those of `arraygrad.special` keep the precision of the arrays.
    """

    @functools.wraps(function)
    def call(*args, **kwargs):
        singles = [a for a in args if isinstance(a, ag.Tensor) and a.array.dtype == np.float32]
        if singles and len(args) > 1 and not kwargs and scipys_dtype(theirs, args) == np.float64:
            if name == "multigammaln" or (name == "polygamma" and np.all(raw(args[0]) == 0)):
                return function(*args).astype(np.float64)  # where SciPy adds numbers in single precision
            args = [a.astype(np.float64) if any(a is t for t in singles) else a for a in args]
        return function(*args, **kwargs)

    return call


def _as_ufunc(name, function, theirs):
    truncated = _TRUNCATED.get(name, {})
    with_keywords = guarded(f"special.{name}", theirs, "the derivative is not known for a ufunc's keywords")

    @functools.wraps(function)
    def call(*args, **kwargs):
        if kwargs and not _OF_UFUNCS.isdisjoint(kwargs):
            if holds_tensor((args, kwargs)) and "out" in kwargs and set(kwargs) == {"out"}:
                return function(*args, **kwargs)  # which says why not
            return with_keywords(*args, **kwargs)
        if truncated and is_grad_enabled() and holds_tensor((args, kwargs), grad=True):
            for key, place in truncated.items():
                order = np.asarray(host_array(raw(args[place] if place < len(args) else kwargs.get(key, 0))))
                if np.any(order != np.floor(order)):
                    raise NotDifferentiable(
                        f"arraygrad.scipy.special.{name}: an argument requires grad, but {key}={order} is no whole "
                        "number, and SciPy truncates it: pass a whole number"
                    )
        return function(*args, **kwargs)

    return call


_take_over()
