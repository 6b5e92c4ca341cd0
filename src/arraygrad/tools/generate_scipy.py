"""Writes the table of docs/scipy.md, every function of SciPy that `arraygrad.scipy` declares, and the room's stubs.

May import: scipy (the room), tools.generate_stubs, tools.scipy_survey. The names are those of the SciPy that the table
was written with, which it states; with another minor version of SciPy, or without it, page and stubs are left as they
are, and not checked.
"""

import importlib
import inspect
import re

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

    Functions have SciPy's parameters, and Any for types: what comes back is a Tensor or an array, as what was given.
    Every other name of SciPy's is Any.
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
        functions = {}
        for name, rule in REGISTRY.items():
            room, *rest = name.split(".")
            if room == chapter and len(rest) == 1 and (rule.of or "constant" in rule.reason):
                functions[rest[0]] = _stub_line(rest[0], getattr(module, rest[0], None))
        objects = [f"{name}: Any" for name in sorted(getattr(module, "OBJECTS", ())) if "." not in name]
        lines = [functions[name] for name in sorted(functions) if functions[name]]
        lines.append("def __getattr__(name: builtins.str) -> Any: ...")
        path = root / "scipy" / (f"{chapter}/__init__.pyi" if hasattr(module, "__path__") else f"{chapter}.pyi")
        parts = [GENERATED + "import builtins\nfrom typing import Any", *["\n".join(objects)] * bool(objects)]
        found[path] = "\n\n".join([*parts, "\n".join(lines)]) + "\n"
    return found


def _stub_line(name, function):
    if not callable(function) or isinstance(function, type):
        return None
    try:
        signature = inspect.signature(function)
    except ValueError:
        signature = None
    # The keywords of ufuncs belong to NumPy's version.
    if signature is None or "casting" in signature.parameters:
        return f"def {name}(*args: Any, **kwargs: Any) -> Any: ..."
    signature = inspect.Signature([p.replace(annotation=p.empty) for p in signature.parameters.values()])
    return generate_stubs.function_line(name, signature, "Any", lambda function, parameter: "Any")
