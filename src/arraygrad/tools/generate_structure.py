"""Writes docs/structure.md: of each operation its kind, its signature of core axes, and how its axes are counted.

May import: core.constructors, ops, numpy_api, numpy. `tools.generate` calls it.
"""

import numpy

from arraygrad.core.constructors import asarray
from arraygrad.numpy_api.primitives import ENTRIES
from arraygrad.ops import TABLE
from arraygrad.ops._axes import CODES
from arraygrad.ops.kinds import DERIVATIVES, KINDS
from arraygrad.ops.structure import axis_parameter, text_of

__all__ = ["structure_page"]

HEADER = """\
# Structure

What each operation of the table does with axes, and each function of NumPy's beyond it that has rules of its own
(`numpy.median`). Result shapes, the places of axes, and the arguments of tests are
derived from these entries. This page is generated (`python -m arraygrad.tools.generate`): change the entry, not the
page. [Adding an operation](adding-an-operation.md) says how one is written.

## Signatures

A signature is that of a [generalised ufunc](https://numpy.org/doc/stable/reference/c-api/generalized-ufuncs.html): it
names the *core axes*, those that one element of the result needs. All other axes are loops: they broadcast, and are the
first ones of the result. `n*` is a group of axes, `n?` an axis that may be missing, `[(n)]` a list of arrays, `?` a
length that values decide. A length of a result may be an expression of lengths and parameters.

*Axis* names the parameter that says where the core axes stand; without one they are the last axes. *Counted* says, for
several arrays, by whose number of dimensions:

| counted | by |
|---|---|
{codes}

## Derivatives

| derivative | the result is |
|---|---|
{derivatives}
"""


def structure_page():
    """The text of docs/structure.md."""
    numpy.angle(asarray(numpy.ones(1)))  # the first call of NumPy's protocol makes the entries of its functions
    parts = [HEADER.format(codes=_rows(CODES), derivatives=_rows(DERIVATIVES))]
    for kind, meaning in KINDS.items():
        entries = [entry for entry in (*TABLE.values(), *ENTRIES.values()) if entry.kind == kind]
        parts.append(f"\n## {kind.capitalize()} ({len(entries)})\n\nEach element of the result comes from {meaning}.\n")
        parts += _table(kind, entries)
    return "\n".join(parts).rstrip() + "\n"


def _rows(meanings):
    return "\n".join([f"| `{word}` | {meaning} |" for word, meaning in meanings.items()])


def _table(kind, entries):
    if kind == "query":
        return [", ".join([f"`{entry.name}`" for entry in entries]) + "."]
    groups = {}
    for entry in entries:
        axis = axis_parameter(entry) or ""
        counted = (
            entry.counted if axis and (entry.counted != "own" or text_of(entry).split("->")[0].count("(") > 1) else ""
        )
        groups.setdefault((text_of(entry), axis, counted, entry.derivative), []).append(entry.name)
    rows = ["| signature | axis | counted | derivative | operations |", "|---|---|---|---|---|"]
    for (text, axis, counted, derivative), names in groups.items():
        listed = ", ".join([f"`{name}`" for name in names])
        rows.append(f"| `{text}` | {axis and f'`{axis}`'} | {counted} | {derivative} | {listed} |")
    return rows
