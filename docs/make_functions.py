"""Writes docs/_made/functions/*.md: a page for each chapter of the table, with every function's docstring."""

from pathlib import Path

import arraygrad as ag
from arraygrad.ops import OPS
from arraygrad.tools.generate import CHAPTER_TITLES

MODULES = {"": "arraygrad", "linalg": "arraygrad.linalg", "fft": "arraygrad.fft", "special": "arraygrad.special"}


def write(folder: Path) -> None:
    """One page for each chapter that has public functions."""
    folder.mkdir(parents=True, exist_ok=True)
    for chapter, title in CHAPTER_TITLES.items():
        ops = [
            op
            for op in OPS.values()
            if op.entry.chapter == chapter and op.name not in {"asarray"} and not op.name.startswith("_")
        ]
        if not ops:
            continue
        lines = [f"# {title.replace('`', '')}", "", "```{eval-rst}"]
        for op in ops:
            module = MODULES[op.entry.extension]
            if hasattr(ag if not op.entry.extension else getattr(ag, op.entry.extension), op.name):
                lines.append(f".. autofunction:: {module}.{op.name}")
        (folder / f"{chapter}.md").write_text("\n".join([*lines, "```", ""]))
