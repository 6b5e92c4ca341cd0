"""Writes the table of docs/scipy.md: every function of SciPy that `arraygrad.scipy` declares.

May import: scipy (the room), tools.scipy_survey, importlib. The names are those of the SciPy that the table was written
with, which it states; with another minor version of SciPy, or without it, the page is left as it is, and not checked.
"""

import importlib
import re

from arraygrad.tools.scipy_survey import SURVEYED, survey

__all__ = ["scipy_page"]

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
