"""Signatures of SciPy's functions, and what binds arguments by them.

May import: the standard library.
"""

from __future__ import annotations

import functools
import inspect

__all__ = ["binder", "by_former_names", "former_names", "in_integers", "parsed", "signature_of"]


@functools.cache
def parsed(text):
    """The signature with these parameters, written as in a `def`. Distributions share most of theirs."""
    names = {}
    exec(f"def f({text}): pass", names)  # the text is a constant of a chapter
    return inspect.signature(names["f"])


def signature_of(values, formula):
    """The signature of SciPy's function; that of the formula where Python knows none, or a wrapper hides it."""
    try:
        found = inspect.signature(values)
    except (TypeError, ValueError):
        if formula is None:
            raise
        return inspect.signature(formula)
    kinds = {p.kind for p in found.parameters.values()}
    hidden = kinds == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}  # behind a wrapper
    return inspect.signature(formula) if hidden and formula is not None else found


def binder(signature):
    """What `Rule.bind` does for a signature: where it has no * parameter, by Python's own call, which costs a tenth."""
    parameters = signature.parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return functools.partial(_bound, signature)
    space = {"_absent": object()}
    plain = [p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else _ABSENT) for p in parameters]
    lines = [f"def bind{signature.replace(parameters=plain, return_annotation=signature.empty)}:", "    _given = {}"]
    for p in plain:
        given = "" if p.default is p.empty else f"if {p.name} is not _absent: "
        lines.append(f"    {given}_given[{p.name!r}] = {p.name}")
    exec("\n".join([*lines, "    return _given"]), space)  # names of parameters, which are identifiers
    quick = space["bind"]

    def bind(args, kwargs):
        try:
            return quick(*args, **kwargs)
        except TypeError:
            return _bound(signature, args, kwargs)  # its error says more

    return bind


# Parameters that are integers where they are not None.
_NUMBERS = frozenset("n N M num nfft n_out nperseg noverlap axis k m deg order maxiter".split())


def in_integers(bound, parameters):
    """Arguments by name, with 0 and 1 for the truth values that stand for numbers.

    SciPy takes them, as Python does. In a formula they would select elements, or have no negative.
    """
    numbers = {
        key: int(value)
        for key, value in bound.items()
        if type(value) is bool and key in parameters and _is_number(parameters[key])
    }
    return {**bound, **numbers}


def _is_number(parameter):
    """Whether True means 1: the parameter's default is a number or missing, or its name says it."""
    default = parameter.default
    if parameter.name == "deriv":
        return False  # SciPy itself selects elements by it
    if default is None:
        return parameter.name in _NUMBERS
    return default is parameter.empty or type(default) in (int, float)


def former_names(function):
    """{former: present} of the parameters that SciPy still takes by a former name, which no signature shows."""
    found = {}
    while hasattr(function, "__wrapped__"):
        names = getattr(getattr(function, "__code__", None), "co_freevars", ())
        if "old_name" in names and "new_name" in names:
            cells = dict(zip(names, function.__closure__, strict=True))
            found[cells["old_name"].cell_contents] = cells["new_name"].cell_contents
        function = function.__wrapped__
    return found


def by_former_names(call, original):
    """`call`, which takes the former names of `original`'s parameters too."""
    former = former_names(original)
    if not former:
        return call

    @functools.wraps(call)
    def renamed(*args, **kwargs):
        for old in former.keys() & kwargs.keys():
            if former[old] in kwargs:
                raise TypeError(
                    f"{original.__name__}() got two values of one argument: {former[old]!r}, and {old!r}, which is its "
                    "former name. Pass the first alone"
                )
            kwargs[former[old]] = kwargs.pop(old)
        return call(*args, **kwargs)

    return renamed


class _Absent:
    def __repr__(self):
        return "_absent"


_ABSENT = _Absent()


def _bound(signature, args, kwargs):
    """Arguments of **kwargs stand among the named ones; those of *args are one tuple under its name."""
    bound = dict(signature.bind(*args, **kwargs).arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD and parameter.name in bound:
            bound.update(bound.pop(parameter.name))
    return bound
