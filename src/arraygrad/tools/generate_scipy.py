"""Writes the table of docs/scipy.md, every function of SciPy that `arraygrad.scipy` declares, and the room's stubs.

May import: scipy (the room), tools.generate_stubs, tools.scipy_survey. The names are those of the SciPy that the table
was written with, which it states; with another minor version of SciPy, or without it, page and stubs are left as they
are, and not checked.
"""

import importlib
import inspect
import re

import numpy as np

from arraygrad.tools import generate_stubs
from arraygrad.tools.generate_stubs import GENERATED
from arraygrad.tools.scipy_survey import SURVEYED, survey

__all__ = ["scipy_page", "scipy_stubs"]

BEGIN = "<!-- declared: python -m arraygrad.tools.generate -->"
END = "<!-- end of declared -->"

ORDERS = {"any": "any", "first": "first", "": "-"}


def scipy_page(old):
    """The text of docs/scipy.md with its table made anew; `old` as it is where that cannot be done here."""
    try:
        import scipy
    except ImportError:
        return old
    version = ".".join(scipy.__version__.split(".")[:2])
    stated = re.search(r"table of SciPy (\d+\.\d+)", old)
    if BEGIN not in old or (stated is not None and stated.group(1) != version):
        return old
    before, rest = old.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{_table(version)}\n{END}{after}"


def _table(version):
    from arraygrad.scipy import CHAPTERS
    from arraygrad.scipy._declare import REGISTRY

    for chapter in CHAPTERS:
        importlib.import_module(f"arraygrad.scipy.{chapter}")
    groups = {}
    for name, rule in REGISTRY.items():
        owner, function = _split(name)
        key = (
            name.split(".")[0],
            owner,
            rule.of,
            rule.order,
            rule.source,
            "constant" if rule.constant else rule.reason,
        )
        groups.setdefault(key, []).append(function)
    rows = {}
    for (chapter, owner, of, order, source, reason), functions in groups.items():
        names = " ".join(f"`{f}`" for f in functions)
        shown = f"{owner}: {names}" if owner else names
        if of:
            row = f"| {shown} | {', '.join(of)} | {ORDERS[order]} | {source} |"
        elif reason == "constant":
            row = f"| {shown} | constant | - | |"
        else:
            row = f"| {shown} | refused | - | {reason} |"
        rows.setdefault(chapter, []).append(row)
    parts = [f"The table of SciPy {version}: {_count(REGISTRY)}.\n", _survey()]
    for chapter in CHAPTERS:
        parts.append(f"### {chapter}\n\n| function | differentiable in | order | source |\n|---|---|---|---|")
        parts[-1] += "\n" + "\n".join(rows.get(chapter, []))
        parts.append("")
    return "\n".join(parts).rstrip()


def _survey():
    """How many of SciPy's public names are differentiated, by module, and which are not."""
    rows = [
        "SciPy's public names: how many take real arrays, have a derivative in any argument, are differentiated.\n",
        "| module | names | real arrays | with a derivative | differentiated | rightly constant | refused | share |",
        "|---|---|---|---|---|---|---|---|",
    ]
    left, without = [], []
    for one in map(survey, SURVEYED):
        rows.append(
            f"| {one.module} | {one.public} | {one.real} | {one.with_derivative} | {len(one.differentiated)} | "
            f"{one.real - one.with_derivative} | {len(one.refused)} | {100.0 * one.share:.1f} % |"
        )
        if one.refused:
            left.append(f"- {one.module}: " + " ".join(f"`{name}`" for name in one.refused))
        for reason, names in (*one.without.items(), *one.none.items()):
            without.append(f"- {one.module}, {reason}: " + " ".join(f"`{name}`" for name in names))
    rows.append("\nRefused, though they have a derivative:\n")
    rows += left
    rows.append("\nWithout a derivative, or without real arrays, by reason:\n")
    rows += without
    return "\n".join(rows) + "\n"


def _split(name):
    """(the object or submodule, the function) of a dotted name, without the chapter."""
    _, *middle, function = name.split(".")
    return ".".join(middle), function


def _count(registry):
    differentiated = sum(1 for rule in registry.values() if rule.of)
    constant = sum(1 for rule in registry.values() if rule.constant)
    return (
        f"{differentiated} functions and methods differentiated, {constant} rightly constant, "
        f"{len(registry) - differentiated - constant} refused with a reason"
    )


def scipy_stubs(root, page):
    """dict path -> text of the stubs of arraygrad.scipy, of the SciPy that `page` states; empty where that is not here.

    Functions have SciPy's parameters. One that returns one array returns a Tensor where an argument that it is
    differentiated in is one, and what SciPy returns otherwise, which is Any. Every other name of SciPy's is Any.
    """
    try:
        import scipy
    except ImportError:
        return {}
    version = ".".join(scipy.__version__.split(".")[:2])
    if f"table of SciPy {version}:" not in page:
        return {}
    from arraygrad.scipy import CHAPTERS
    from arraygrad.scipy._declare import REGISTRY

    # Functions that chapters add when they are imported must not depend on which were imported before.
    modules = {chapter: importlib.import_module(f"arraygrad.scipy.{chapter}") for chapter in CHAPTERS}
    imports = [f"from arraygrad.scipy import {chapter} as {chapter}" for chapter in CHAPTERS]
    imports.append("from arraygrad.scipy._guards import NotDifferentiable as NotDifferentiable")
    face = [
        GENERATED + "import builtins\nfrom typing import Any",
        "\n".join(imports),
        "OLDEST: builtins.tuple[builtins.int, builtins.int]",
        "def counterparts(*chapters: builtins.str) -> builtins.dict[Any, Any]: ...",
        "def serves(version: builtins.str) -> builtins.bool: ...",
    ]
    found = {root / "scipy" / "__init__.pyi": "\n\n".join(face) + "\n"}
    for chapter, module in modules.items():
        original = importlib.import_module(f"scipy.{chapter}")
        functions = {}
        for name, rule in REGISTRY.items():
            room, *rest = name.split(".")
            if room == chapter and len(rest) == 1 and (rule.of or "constant" in rule.reason):
                own, theirs = getattr(module, rest[0], None), getattr(original, rest[0], None)
                functions[rest[0]] = _stub_lines(rest[0], own, theirs, rule.of)
        listed = [
            f"{name}: {_kind_of_law(value)}"
            for name, value in sorted(getattr(module, "OBJECTS", {}).items())
            if "." not in name
        ]
        lines = [functions[name] for name in sorted(functions) if functions[name]]
        lines.append("def __getattr__(name: builtins.str) -> Any: ...")
        classes = _LAW_CLASS if any(one.endswith("_Law") for one in listed) else ""
        text = "\n\n".join([classes.rstrip()] * bool(classes) + ["\n".join(listed)] * bool(listed) + ["\n".join(lines)])
        path = root / "scipy" / (f"{chapter}/__init__.pyi" if hasattr(module, "__path__") else f"{chapter}.pyi")
        found[path] = generate_stubs.stub_text(set(), text + "\n")
    return found


# Methods of a distribution that take points or probabilities, and give an array of the same shape.
_LAW_METHODS = ("cdf", "isf", "logcdf", "logpdf", "logpmf", "logsf", "pdf", "pmf", "ppf", "sf")
_LAW_CLASS = "class _Law:\n    def __call__(self, *args: Any, **kwds: Any) -> Any: ...\n" + "".join([
    f"    @overload\n    def {name}(self, x: _Tensor, *args: Any, **kwds: Any) -> _Tensor: ...\n"
    f"    @overload\n    def {name}(self, x: Any, *args: Any, **kwds: Any) -> Any: ...\n"
    for name in _LAW_METHODS
]) + "    def __getattr__(self, name: builtins.str) -> Any: ...\n"  # fmt: skip


def _kind_of_law(value):
    from arraygrad.scipy.stats._univariate import Distribution

    return "_Law" if isinstance(value, Distribution) else "Any"


def _stub_lines(name, function, original, of):
    """The definition of a function, or its overloads: first those where one of the arguments `of` is a Tensor."""
    if not callable(function) or isinstance(function, type):
        return None
    P = inspect.Parameter
    if isinstance(original, np.ufunc):
        # The keywords of ufuncs belong to NumPy's version.
        inputs = [P(f"x{i}" if original.nin > 1 else "x", P.POSITIONAL_ONLY) for i in range(original.nin)]
        parameters = [*inputs, P("args", P.VAR_POSITIONAL), P("kwargs", P.VAR_KEYWORD)]
        of, one = [p.name for p in inputs], original.nout == 1
    else:
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except ValueError:
            parameters = [P("args", P.VAR_POSITIONAL), P("kwargs", P.VAR_KEYWORD)]
        one = _returns_an_array(original)
    signature = inspect.Signature([p.replace(annotation=p.empty) for p in parameters])
    traced = [p.name for p in parameters if p.name in of and p.default is p.empty and p.kind in _BY_POSITION]
    plain = generate_stubs.function_line(name, signature, "Any", lambda function, parameter: "Any")
    if not one or not traced:
        return plain
    lines = [
        generate_stubs.function_line(
            name, signature, "_Tensor", lambda function, p, chosen=chosen: "_Tensor" if p.name == chosen else "Any"
        )
        for chosen in traced
    ]
    return "\n".join([f"@overload\n{line}" for line in (*lines, plain)])


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_RETURNED = re.compile(r"\nReturns\n-------\n(.*?)(?:\n\n[A-Z][\w ]+\n---|\Z)", re.DOTALL)


def _returns_an_array(original):
    """Whether SciPy's docstring says that the function returns one array or number, and nothing else."""
    section = _RETURNED.search(inspect.getdoc(original) or "")
    if section is None:
        return False
    heads = [line for line in section.group(1).splitlines() if line and not line.startswith(" ")]
    if len(heads) != 1:
        return False
    name, _, kind = heads[0].rpartition(":")
    words = set(re.findall(r"\w+", kind))
    array = words & {"array", "ndarray", "float", "scalar", "array_like"}
    return "," not in name and bool(array) and not words & {"tuple", "list", "None", "sparse"}
