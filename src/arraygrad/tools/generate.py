"""Writes what is derived from the table and from the live objects: the stubs, and docs/operations.md,
docs/structure.md, docs/derivatives.md, docs/numpy-coverage.md and the table of docs/scipy.md.

    python -m arraygrad.tools.generate            write them
    python -m arraygrad.tools.generate --check    exit with 1, and name the files that differ from what would be written

May import: everything. Nothing of arraygrad imports this; what it writes is checked in and never runs.
"""

import argparse
import difflib
import sys
from pathlib import Path

from arraygrad.ops import OPS
from arraygrad.tools import (
    generate_coverage,
    generate_derivatives,
    generate_docstrings,
    generate_scipy,
    generate_structure,
    generate_stubs,
)

__all__ = ["generated", "main", "operations_page"]

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
DOCS = ROOT / "docs"

CHAPTER_TITLES = {
    "elementwise": "Elementwise functions",
    "statistical": "Statistical functions",
    "utility": "Utility functions",
    "manipulation": "Manipulation functions",
    "indexing": "Indexing functions",
    "searching": "Searching functions",
    "sorting": "Sorting functions",
    "set": "Set functions",
    "creation": "Creation functions",
    "data_type": "Data type functions",
    "linear_algebra": "Linear algebra",
    "linalg": "Linear algebra extension (`linalg`)",
    "fft": "Fourier transforms (`fft`)",
    "beyond": "Beyond the standard",
    "special": "Special functions (`special`)",
    "internal": "Internal operations",
}

HEADER = """\
# Operations

Every operation of the table, chapter by chapter as in the Array API standard. This page is generated from the table
(`python -m arraygrad.tools.generate`): change the entry, not the page.

*Differentiable* names the parameters that have a rule; `-` means none, and *zero* that the derivative is zero wherever
it exists. *Keeps* is what a recorded operation keeps for its rules, of the inputs that need a gradient: inputs and the
result by name, `_meta` for a shape and dtype without the array. *NumPy* names the functions of NumPy that are served
on Tensors by the entry.
"""


def generated():
    """dict path -> text of every generated file."""
    files = {PACKAGE / path: text for path, text in generate_stubs.stubs().items()}
    for room, docstrings in generate_docstrings.ROOMS.items():
        more = PACKAGE / room / "docstrings.txt"
        files[more] = docstrings(more.read_text() if more.exists() else "")
    files[DOCS / "operations.md"] = operations_page()
    page = DOCS / "numpy-coverage.md"
    files[page] = generate_coverage.coverage_page(page.read_text() if page.exists() else "")
    page = DOCS / "scipy.md"
    if page.exists():
        files[page] = generate_scipy.scipy_page(page.read_text())
        files.update(generate_scipy.scipy_stubs(PACKAGE, files[page]))
    files[DOCS / "structure.md"] = generate_structure.structure_page()
    files[DOCS / "derivatives.md"] = generate_derivatives.derivatives_page(ROOT, CHAPTER_TITLES)
    return files


def operations_page():
    """The text of docs/operations.md."""
    chapters = {}
    for op in OPS.values():
        chapters.setdefault(op.entry.chapter, []).append(op)
    parts = [HEADER]
    for chapter, ops in chapters.items():
        parts.append(f"\n## {CHAPTER_TITLES.get(chapter, chapter.replace('_', ' ').capitalize())}\n")
        parts.append("| operation | kind | derivative | differentiable | keeps | Tensor | NumPy |")
        parts.append("|---|---|---|---|---|---|---|")
        parts += [_row(op) for op in ops]
        parts.append("")
        parts += [f"**{op.name}**: {_cell(op.entry.doc)}\n" for op in ops]
    return "\n".join(parts).rstrip() + "\n"


def _row(op):
    entry = op.entry
    inputs = ", ".join([f"`{op.params[i]}`" for i in op.inputs]) or "-"
    if op.zero:
        inputs = "zero"
    keeps = ", ".join([f"`{name}`" for name in op.saves]) or "-"
    tensor = []
    if entry.operator:
        tensor.append(f"`__{entry.operator}__`")
    if entry.method:
        tensor.append(f"`.{entry.method if isinstance(entry.method, str) else op.name}`")
    numpy = ", ".join([f"`{name}`" for name in entry.numpy])
    cells = (f"`{op.name}({entry.signature})`", op.kind, op.derivative, inputs, keeps, " ".join(tensor), numpy)
    return f"| {' | '.join(cells)} |"


def _cell(text):
    return " ".join(text.split())


def main(argv=None):
    """Write the generated files, or with --check compare them; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m arraygrad.tools.generate", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a file is not up to date")
    options = parser.parse_args(argv)
    if not DOCS.is_dir():
        parser.error(f"{DOCS} does not exist: run this from a source tree")
    stale = []
    for path, text in generated().items():
        old = path.read_text() if path.exists() else ""
        if old == text:
            continue
        stale.append(path)
        if options.check:
            difference = difflib.unified_diff(old.splitlines(), text.splitlines(), "checked in", "generated", n=1)
            print(f"{path.relative_to(ROOT)} is not up to date:", *list(difference)[:20], sep="\n", file=sys.stderr)
        else:
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")
    if options.check and stale:
        print(f"{len(stale)} generated files differ: run python -m arraygrad.tools.generate", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
