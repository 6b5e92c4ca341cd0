"""Entries of the table of operations and the helpers that define them.

May import: the standard library only. `arraygrad.core.op` compiles each `Entry` into an `Op`.

Two words say what an operation is. Its *kind* says which elements of the arguments an element of the result comes from
(KINDS), its *derivative* how the result depends on their values (DERIVATIVES).

`core` is the operation's signature as a generalised ufunc, in the language of `ops.structure`: the axes that one
element needs, and those that it makes. All other axes are loops, and broadcast. `counted` says by which operand's
number of dimensions `axis` is counted, where there are several (`ops._axes`). Result shapes and axes follow from both.

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

# Kind -> what each element of the result comes from.
KINDS = {
    "elementwise": "the same element of the (broadcast) arguments",
    "reduction": "all elements along some axes, which are gone from the result, or of length one",
    "scan": "elements along an axis, or some, which stay (an initial element may be added)",
    "core": "all elements of the core axes: matrices, vectors, signals",
    "transform": "all elements along axes, of which the transform sets the lengths: Fourier's",
    "view": "one element; the places are those of strides over the argument, or the same in other memory",
    "gather": "one element; the places are known without the values (but of `unique_*`)",
    "scatter": "the elements put there, or added up; elsewhere another argument's, or zero",
    "join": "one element of one of several arguments",
    "creation": "no array's values: a new array",
    "search": "values that are compared: indices, or whether one is among others",
    "query": "no array at all: dtypes, shapes, limits",
    "call": "whatever a function of the user's makes of the arguments",
}
# Derivative -> how the result depends on the arguments' values.
DERIVATIVES = {
    "nonlinear": "anything but the following",
    "linear": "jointly linear in all arrays that have a rule: the tangent is the operation on the tangents",
    "multilinear": "linear in each of its arrays alone: the tangent is a sum, with one tangent in each term",
    "zero": "piecewise constant: the derivative is zero wherever it exists, and so is every gradient",
    "none": "boolean, integer or no array at all, or independent of all values",
}

# What a rule may ask of an array parameter besides the array itself.
METADATA = ("shape", "dtype", "device")


class Entry(NamedTuple):
    """Everything about one operation, in one place, unchangeable. See the module's docstring for the fields."""

    name: str  # the standard's name; internal operations begin with "_"
    signature: str  # "x, /, *, axis=None": what stands between the parentheses of `def`
    kind: str
    rules: dict[str, Callable]  # differentiable parameter -> rule
    derivative: str = "none"
    core: str = ""  # "(m,n),(n)->(m)"; "" of an elementwise function: one element of each positional parameter
    counted: str = "own"  # how `axis` is counted: a code of ops._axes
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
    folds: str = ""  # the ufunc of NumPy's whose `reduce` a reduction is, whose `accumulate` a scan is
    elsewhere: str = ""  # a function of the same name that has a derivative in the parameters that have none here

    def __repr__(self):
        return f"<Entry {self.name}({self.signature}), {self.kind}, {self.derivative}>"


TABLE: dict[str, Entry] = {}


def folding(kind: str) -> dict[str, str]:
    """{name of a ufunc: the operation of a kind, "reduction" or "scan", that folds with it}."""
    return {entry.folds: entry.name for entry in TABLE.values() if entry.folds and entry.kind == kind}


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


def binary(name: str, *, x1: Callable, x2: Callable, **options) -> Entry:
    """An elementwise function of two arrays or an array and a Python scalar, `name(x1, x2, /)`."""
    options.setdefault("holomorphic", True)
    return _define(name, "x1, x2, /", "elementwise", {"x1": x1, "x2": x2}, options)


def elementwise(name: str, signature: str, **options) -> Entry:
    """An elementwise function of any other signature. Rules are given by parameter name."""
    return _with_rules(name, signature, "elementwise", options)


def zero(name: str, signature: str, **options) -> Entry:
    """A piecewise constant elementwise function: every positional-only parameter gets a gradient of zeros."""
    arrays, _ = _parameters(signature.partition("/")[0])
    options["derivative"] = "zero"
    return _define(name, signature, "elementwise", dict.fromkeys(arrays, zero_rule), options)


def reduction(name: str, signature: str = "x, /, *, axis=None, keepdims=False", **options) -> Entry:
    """A function that reduces some axes: all, unless `core` says otherwise. Rules are given by parameter name."""
    options.setdefault("core", "(n*)->()")
    return _with_rules(name, signature, "reduction", options)


def scan(name: str, signature: str, **options) -> Entry:
    """A function of the elements along an axis, whose result keeps it. Rules are given by parameter name."""
    options.setdefault("core", "(n)->(n)")
    return _with_rules(name, signature, "scan", options)


def core(name: str, signature: str, **options) -> Entry:
    """A function of the core axes that `core` names. Rules are given by parameter name."""
    return _with_rules(name, signature, "core", options)


def transform(name: str, signature: str, **options) -> Entry:
    """A linear transform along axes, whose lengths in the result `core` says. Rules are given by parameter name."""
    options.setdefault("derivative", "linear")
    return _with_rules(name, signature, "transform", options)


def view(name: str, signature: str, **options) -> Entry:
    """The elements in another arrangement, or in other memory. Rules are given by parameter name."""
    options.setdefault("derivative", "linear")
    return _with_rules(name, signature, "view", options)


def gather(name: str, signature: str, **options) -> Entry:
    """Elements taken from known places. Rules are given by parameter name."""
    options.setdefault("derivative", "linear")
    return _with_rules(name, signature, "gather", options)


def scatter(name: str, signature: str, **options) -> Entry:
    """Elements put, or added, at known places. Rules are given by parameter name."""
    options.setdefault("derivative", "linear")
    return _with_rules(name, signature, "scatter", options)


def join(name: str, signature: str, **options) -> Entry:
    """Several arrays side by side. Rules are given by parameter name."""
    options.setdefault("derivative", "linear")
    return _with_rules(name, signature, "join", options)


def creation(name: str, signature: str, **options) -> Entry:
    """A new array out of parameters. Rules, where these are numbers that it is linear in, are given by name."""
    return _with_rules(name, signature, "creation", options)


def search(name: str, signature: str, **options) -> Entry:
    """Indices, or answers, that comparing values gives."""
    return _with_rules(name, signature, "search", options)


def query(name: str, signature: str, **options) -> Entry:
    """A question about dtypes or shapes, whose answer is no array."""
    return _with_rules(name, signature, "query", options)


def call(name: str, signature: str, **options) -> Entry:
    """A function that others supply. Rules are given by parameter name."""
    return _with_rules(name, signature, "call", options)


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

    Raises ValueError for a name already in the table, an unknown derivative, a rule for something that is no parameter,
    and a rule that asks for something an operation does not have.
    """
    if name in TABLE:
        raise ValueError(f"operation {name!r} is already in the table (chapter {TABLE[name].chapter!r}): rename it")
    derivative = options.setdefault("derivative", "nonlinear" if rules else "none")
    if derivative not in DERIVATIVES:
        raise ValueError(
            f"operation {name!r}: unknown derivative {derivative!r}, expected one of {', '.join(DERIVATIVES)}"
        )
    if derivative not in ("linear", "zero", "none") and kind != "reduction":  # reductions say it themselves
        options.setdefault("holomorphic", True)
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
