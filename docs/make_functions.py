"""Writes docs/_made/functions: a page for each public function of the table, and an index for each chapter."""

from pathlib import Path

import arraygrad as ag
from arraygrad.ops import OPS
from arraygrad.tools.generate import CHAPTER_TITLES

MODULES = {"": "arraygrad", "linalg": "arraygrad.linalg", "fft": "arraygrad.fft", "special": "arraygrad.special"}


def functions(chapter: str) -> list[str]:
    """The dotted names of a chapter's public functions."""
    found = []
    for op in OPS.values():
        if op.entry.chapter != chapter or op.name == "asarray" or op.name.startswith("_"):
            continue
        owner = getattr(ag, op.entry.extension) if op.entry.extension else ag
        if hasattr(owner, op.name):
            found.append(f"{MODULES[op.entry.extension]}.{op.name}")
    return found


def summary(name: str) -> str:
    """The first sentence of a function's docstring, behind its signature."""
    value = ag
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    lines = [line.strip() for line in (value.__doc__ or "").splitlines() if line.strip()]
    prose = [line for line in lines if not line.startswith(f"{name.rpartition('.')[2]}(")]
    return prose[0] if prose else ""


def write(folder: Path) -> None:
    """A folder for each chapter that has public functions, with an index."""
    for chapter, title in CHAPTER_TITLES.items():
        names = functions(chapter)
        if not names:
            continue
        place = folder / chapter
        place.mkdir(parents=True, exist_ok=True)
        rows = [f"| [`{name}`]({name}.md) | {summary(name)} |" for name in names]
        listed = "\n".join(["| function | |", "|---|---|", *rows])
        tree = "\n".join(["```{toctree}", ":hidden:", "", *names, "```"])
        (place / "index.md").write_text(f"# {title.replace('`', '')}\n\n{listed}\n\n{tree}\n")
        for name in names:
            directive = f"```{{eval-rst}}\n.. autofunction:: {name}\n```"
            (place / f"{name}.md").write_text(f"# {name}\n\n{directive}\n\nSee [all functions like it](index.md).\n")
