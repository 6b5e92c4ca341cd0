"""Entries of the table of operations and the helpers that define them.

May import: the standard library only. `arraygrad.core.op` compiles each `Entry` into an `Op`.

What follows from the kind of an operation:

=================== =================================================================================================
kind                meaning
=================== =================================================================================================
elementwise         each element of the result depends on the same element of the (broadcast) arguments only. On real
                    arrays, and on complex ones if `holomorphic`, the Jacobian is diagonal: its product with a
                    tangent t is the rule with g = t, summed over the arguments
bilinear            linear in each of two arrays: the tangent is f(t1, x2) + f(x1, t2)
linear              jointly linear in all its differentiable arrays: the tangent is the operation on the tangents
reduction           sums an axis away or picks from it; its rule spreads the gradient over that axis again
zero                piecewise constant: the derivative is zero wherever it exists, and so is every gradient
nondifferentiable   the result is boolean, integer or no array at all, or depends on no array's values
general             anything else
=================== =================================================================================================

A rule is a plain function. The names of its parameters say what it gets, and thereby what a node keeps for it:

- `g`                gradient of the result (a tuple, with None for undefined, where there are several results)
- `ans`, `xp`        the result; the namespace (a raw one, or the differentiable one under create_graph)
- an array parameter its array (a Python scalar arrives as a 0-d array of the result's dtype)
- `x_shape`, `x_dtype`, `x_device` of an array parameter `x`: metadata only, the array is not kept
- any other parameter of the operation, by name: its value

It returns the gradient of its parameter (a list for the parameter named by `sequence`), or None for zero.
Summing over broadcast axes, casting to the input's dtype and taking the real part for real inputs are done by the
engine. Where `holomorphic` is true and arrays are complex, the engine computes conj(rule(conj(g))), so the rule is the
plain real formula g * f'(x). Rules that are not holomorphic spell their complex formula out, in PyTorch's convention:
the gradient of a real loss L is dL/d(Re z) + i dL/d(Im z).
"""

import importlib
import sys
from collections.abc import Callable
from typing import NamedTuple

KINDS = ("elementwise", "bilinear", "linear", "reduction", "zero", "nondifferentiable", "general")

# What a rule may ask of an array parameter besides the array itself.
METADATA = ("shape", "dtype", "device")


class Entry(NamedTuple):
    """Everything about one operation, in one place, unchangeable. See the module's docstring for `kind` and `rules`."""

    name: str  # the standard's name; internal operations begin with "_"
    signature: str  # "x, /, *, axis=None": what stands between the parentheses of `def`
    kind: str
    rules: dict[str, Callable]  # differentiable parameter -> rule
    forward: Callable | None = None  # forward(xp, *params in order); None: the namespace's own function
    extension: str = ""  # "", "linalg" or "fft"
    operator: str | None = None  # "mul": Tensor.__mul__, __rmul__, __imul__
    method: bool | str = False  # also a method of Tensor (of that name, if a string)
    numpy: tuple[str, ...] = ()  # names in numpy of the ufunc or function it serves
    node: str | None = None  # stem of the node's name: "Mul" -> "MulBackward"
    holomorphic: bool = False
    may_view: bool = False  # the result may share memory with the first input
    makes_arrays: bool = False  # a 0-d result is an array in NumPy, where others are scalars; a cast gives what it gets
    results: tuple[str, ...] | None = None  # field names of several results; ("*",): a plain tuple
    sequence: str | None = None  # the parameter that is a list of arrays
    chapter: str = ""
    doc: str = ""
    elsewhere: str = ""  # a function of the same name that has a derivative in the parameters that have none here

    def __repr__(self):
        return f"<Entry {self.name}({self.signature}), {self.kind}>"


TABLE: dict[str, Entry] = {}

_parsed: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}  # many operations share a signature


def _parameters(signature: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Names of the parameters in a signature's text, in order, and all that a rule may ask for.

    Defaults are literals without commas.
    """
    found = _parsed.get(signature)
    if found is None:
        texts = [part.partition("=")[0].strip().lstrip("*") for part in signature.split(",")]
        names = tuple([text for text in texts if text not in ("", "/")])
        asked = frozenset(["g", "ans", "xp", *names, *[f"{name}_{what}" for name in names for what in METADATA]])
        found = _parsed[signature] = names, asked
    return found


def unary(name: str, rule: Callable, **options) -> Entry:
    """An elementwise function of one array, `name(x, /)`."""
    options.setdefault("holomorphic", True)
    return _define(name, "x, /", "elementwise", {"x": rule}, options)


def binary(name: str, *, x1: Callable, x2: Callable, kind: str = "elementwise", **options) -> Entry:
    """An elementwise function of two arrays or an array and a Python scalar, `name(x1, x2, /)`."""
    options.setdefault("holomorphic", True)
    return _define(name, "x1, x2, /", kind, {"x1": x1, "x2": x2}, options)


def elementwise(name: str, signature: str, **options) -> Entry:
    """An elementwise function of any other signature. Rules are given by parameter name."""
    options.setdefault("holomorphic", True)
    return _with_rules(name, signature, "elementwise", options)


def bilinear(name: str, signature: str, **options) -> Entry:
    """A function linear in each of its two arrays. Rules are given by parameter name."""
    options.setdefault("holomorphic", True)
    return _with_rules(name, signature, "bilinear", options)


def linear(name: str, signature: str, **options) -> Entry:
    """A function jointly linear in its differentiable arrays. Rules are given by parameter name."""
    return _with_rules(name, signature, "linear", options)


def reduction(name: str, rule: Callable, *, signature: str = "x, /, *, axis=None, keepdims=False", **options) -> Entry:
    """A function of one array that reduces some of its axes."""
    return _define(name, signature, "reduction", {"x": rule}, options)


def general(name: str, signature: str, **options) -> Entry:
    """Any other differentiable function. Rules are given by parameter name."""
    options.setdefault("holomorphic", True)
    return _with_rules(name, signature, "general", options)


def zero(name: str, signature: str, **options) -> Entry:
    """A piecewise constant function: every positional-only parameter gets a gradient of zeros."""
    arrays, _ = _parameters(signature.partition("/")[0])
    return _define(name, signature, "zero", dict.fromkeys(arrays, zero_rule), options)


def nondifferentiable(name: str, signature: str, **options) -> Entry:
    """A function without a derivative: boolean, integer or no array results, or new arrays from no arrays."""
    return _define(name, signature, "nondifferentiable", {}, options)


class _OnUse:
    """Stands for a module, whose names it keeps once they were used."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, attribute):
        found = getattr(importlib.import_module(self.__name__), attribute)
        setattr(self, attribute, found)
        return found


def module_on_use(name: str) -> _OnUse:
    """The module of that name, which the first use of one of its names imports. Rules call it by `module.name(...)`."""
    return _OnUse(name)


def zero_rule(xp, g):
    """The gradient of what does not depend on an argument's value: zeros, as for the result."""
    return xp.zeros_like(g)


_OPTIONS = frozenset(Entry._fields) - {"name", "signature", "kind", "rules", "chapter"}


def _with_rules(name: str, signature: str, kind: str, options: dict) -> Entry:
    rules = {key: options.pop(key) for key in list(options) if key not in _OPTIONS}
    return _define(name, signature, kind, rules, options)


def _define(name: str, signature: str, kind: str, rules: dict[str, Callable], options: dict) -> Entry:
    """Checks an entry and puts it into the table; `options` becomes its fields.

    Raises ValueError for a name already in the table, an unknown kind, a rule for something that is no parameter, and
    a rule that asks for something an operation does not have.
    """
    if name in TABLE:
        raise ValueError(f"operation {name!r} is already in the table (chapter {TABLE[name].chapter!r}): rename it")
    if kind not in KINDS:
        raise ValueError(f"operation {name!r}: unknown kind {kind!r}, expected one of {', '.join(KINDS)}")
    params, known = _parameters(signature)
    for param, rule in rules.items():
        _check_rule(name, params, known, param, rule)
    sequence = options.get("sequence")
    if sequence is not None and sequence not in params:
        raise ValueError(f"operation {name!r}: sequence={sequence!r} is no parameter, expected one of {params}")
    if not _OPTIONS.issuperset(options):
        raise TypeError(f"operation {name!r}: unknown options {', '.join(sorted(options.keys() - _OPTIONS))}")
    entry = TABLE[name] = Entry(name, signature, kind, rules, chapter=_calling_chapter(), **options)
    return entry


def _check_rule(name: str, params: tuple[str, ...], known: frozenset[str], param: str, rule: Callable) -> None:
    if param not in params:
        raise ValueError(f"operation {name!r}: rule for {param!r}, which is no parameter, expected one of {params}")
    code = rule.__code__
    asked = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    plain = not (rule.__defaults__ or code.co_kwonlyargcount or code.co_flags & 0x0C)  # 0x0C: *args or **kwargs
    if plain and known.issuperset(asked):
        return
    unknown = [a for a in asked if a not in known]
    what = f"asks for {', '.join(unknown)}" if unknown else "has defaults, keyword-only or variable parameters"
    raise ValueError(
        f"operation {name!r}: the rule of {param!r} {what}; a rule's parameters are plain names out of: "
        + ", ".join(("g", "ans", "xp", *params, *(f"{p}_{what}" for p in params for what in METADATA)))
    )


def _calling_chapter() -> str:
    """The chapter file from which a helper of this module was called."""
    frame, own = sys._getframe(3), globals()  # _define stands between, and the helper that called it
    while frame.f_globals is own and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_globals["__name__"].rpartition(".")[2]
