"""Writes the table of docs/scipy.md: every function of SciPy that `arraygrad.scipy` declares.

May import: scipy (the room), importlib. The names are those of the SciPy that the table was written with, which it
states; with another minor version of SciPy, or without it, the page is left as it is, and not checked.
"""

import importlib
import re

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
        key = (name.split(".")[0], owner, rule.of, rule.order, rule.source, rule.reason)
        groups.setdefault(key, []).append(function)
    rows = {}
    for (chapter, owner, of, order, source, reason), functions in groups.items():
        names = " ".join(f"`{f}`" for f in functions)
        shown = f"{owner}: {names}" if owner else names
        if of:
            row = f"| {shown} | {', '.join(of)} | {ORDERS[order]} | {source} |"
        elif reason == "constant" or reason.startswith("it is constant"):
            row = f"| {shown} | constant | - | |"
        else:
            row = f"| {shown} | refused | - | {reason} |"
        rows.setdefault(chapter, []).append(row)
    parts = [f"The table of SciPy {version}: {_count(REGISTRY)}.\n"]
    for chapter in CHAPTERS:
        parts.append(f"### {chapter}\n\n| function | differentiable in | order | source |\n|---|---|---|---|")
        parts[-1] += "\n" + "\n".join(rows.get(chapter, []))
        parts.append("")
    return "\n".join(parts).rstrip()


def _split(name):
    """(the object or submodule, the function) of a dotted name, without the chapter."""
    _, *middle, function = name.split(".")
    return ".".join(middle), function


def _count(registry):
    differentiated = sum(1 for rule in registry.values() if rule.of)
    constant = sum(1 for rule in registry.values() if not rule.of and "constant" in rule.reason)
    return (
        f"{differentiated} functions and methods differentiated, {constant} rightly constant, "
        f"{len(registry) - differentiated - constant} refused with a reason"
    )
