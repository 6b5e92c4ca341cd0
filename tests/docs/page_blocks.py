"""Reads the fenced blocks of README.md and of the pages in docs/, and runs them as a reader would: from the top.

Imports nothing of arraygrad. What a fence's first word means here:

    python      is run; a `text` fence right after it is what it prints (doctest's ... stands for anything)
    pycon       is run as a doctest
    text        what the block before it prints, or a picture made of text
    sh, cpp     commands and code for other programs: not run

An HTML comment on the line before a fence says more: `<!-- needs: torch -->` leaves the block out where that library is
missing, `<!-- stand-in: cupy -->` runs the blocks so marked together, with the stand-in for CuPy of tests/gpu,
`<!-- not run: reason -->` does what it says.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
KNOWN = {"python", "pycon", "text", "sh", "cpp"}
OPTIONS = doctest.ELLIPSIS

_FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<word>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)[ ]*$", re.M | re.S)
_MARK = re.compile(r"<!-- (needs|stand-in|not run): ([^\n]+?) -->\n\Z")


@dataclass(frozen=True)
class Block:
    """One fenced block: where it begins, its info string, its text, and what the comment before it says."""

    page: Path
    line: int
    word: str
    body: str
    follows: bool  # nothing but blank lines stand between the block before and this one
    mark: str | None
    reason: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """README.md and all pages of docs/ that are written by hand or generated into the tree."""
    found = [path for path in DOCS.rglob("*.md") if not {"_build", "_made"} & set(path.relative_to(DOCS).parts)]
    return [ROOT / "README.md", *sorted(found)]


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    end = None
    for found in _FENCE.finditer(text):
        mark = _MARK.search(text, 0, found.start())
        follows = end is not None and not text[end : found.start()].strip()
        line = text.count("\n", 0, found.start()) + 1
        word = found["word"].strip()
        kind, reason = (mark[1], mark[2]) if mark else (None, "")
        yield Block(page, line, word, found["body"], follows, kind, reason)
        end = found.end()


class Difference(AssertionError):
    """A block does not print what the page says."""


def run(block: Block, names: dict, expected: str | None) -> None:
    """Runs one python or pycon block in `names`; compares what it prints where the page says it."""
    # Lines of a traceback are those of the page, so an error names the place in the page.
    if block.word == "python":
        out = io.StringIO()
        code = compile("\n" * block.line + block.body, str(block), "exec")
        with contextlib.redirect_stdout(out):
            exec(code, names)
        if expected is not None and not doctest.OutputChecker().check_output(expected, out.getvalue(), OPTIONS):
            raise Difference(f"{block} prints\n{out.getvalue()}and the page says\n{expected}")
        return
    test = doctest.DocTestParser().get_doctest(block.body, {}, str(block), str(block.page), block.line)
    test.globs = names
    report = io.StringIO()
    result = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS).run(test, out=report.write, clear_globs=False)
    if result.failed:
        raise Difference(report.getvalue())


def outputs(found: list[Block]) -> dict[int, str]:
    """For the number of each python block that is followed by what it prints: that text."""
    return {
        number - 1: block.body
        for number, block in enumerate(found)
        if block.word == "text" and block.follows and found[number - 1].word == "python"
    }


def main(arguments: list[str]) -> int:
    """`python tests/docs/page_blocks.py PAGE...` runs pages and shows every block that prints something else."""
    wrong = 0
    for page in map(Path, arguments):
        found = list(blocks(page.resolve()))
        printed = outputs(found)
        names = {"__name__": "__main__"}
        for number, block in enumerate(found):
            if block.word in ("python", "pycon") and block.mark not in ("not run", "stand-in"):
                try:
                    run(block, names, printed.get(number))
                except Exception as error:
                    wrong += 1
                    print(f"---- {block}: {type(error).__name__}: {error}")
    return 1 if wrong else 0


if __name__ == "__main__":
    import sys

    sys.exit(main(sys.argv[1:]))
