"""Every block of every page runs as pasted, from the top of its page, and prints what the page says.

Imports no module of arraygrad by itself: the pages do.
"""

import doctest
import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from page_blocks import DOCS, KNOWN, OPTIONS, ROOT, blocks, outputs, pages, run

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="docs/ is not beside the tests (an installed copy)")

PAGES = {str(page.relative_to(ROOT)): page for page in pages()}
# Blocks that nothing here can run, by page. A new one has to be argued for in the page itself.
NOT_RUN = {"docs/adding-an-operation.md": 3, "docs/adoption.md": 1, "docs/distributed.md": 3, "docs/gpu.md": 1}


@pytest.mark.parametrize("name", PAGES)
def test_fences_say_what_they_hold(name):
    for block in blocks(PAGES[name]):
        assert block.word in KNOWN or block.word.startswith("{"), f"{block}: what is {block.word!r}?"


@pytest.mark.parametrize(
    "name", [name for name in PAGES if any(b.word in ("python", "pycon") for b in blocks(PAGES[name]))]
)
def test_blocks_run_as_pasted(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    found = list(blocks(PAGES[name]))
    printed = outputs(found)
    names = {"__name__": "__main__"}
    left_out = set()
    for number, block in enumerate(found):
        if block.word not in ("python", "pycon") or block.mark in ("not run", "stand-in"):
            continue
        missing = [need for need in block.reason.split(", ") if block.mark and importlib.util.find_spec(need) is None]
        if missing:
            left_out.update(missing)
            continue
        run(block, names, printed.get(number))
    names.clear()  # what adopted calls have reached stays known, and these are no module's names
    if left_out:
        pytest.skip(f"all but the blocks that need {', '.join(sorted(left_out))}")


def test_the_page_on_check_shows_what_the_command_prints(tmp_path):
    shown = list(blocks(PAGES["docs/check.md"]))
    (model,) = [block for block in shown if block.word == "python"]
    (tmp_path / "model.py").write_text(model.body)
    commands = [block for block in shown if block.word == "sh" and "model.py" in block.body]
    texts = [block.body for block in shown if block.word == "text"]
    assert len(commands) == len(texts) == 2
    for command, text in zip(commands, texts, strict=True):
        done = run_python(command.body.split()[1:], tmp_path)
        printed = done.stdout + done.stderr.lstrip("\n")
        assert doctest.OutputChecker().check_output(text, printed, OPTIONS | doctest.NORMALIZE_WHITESPACE), printed


def test_errors_that_the_page_explains_are_raised_somewhere():
    table = (
        PAGES["docs/debugging.md"].read_text().partition("## What the errors mean")[2].partition("\n\n`backward(")[0]
    )
    rows = re.findall(r"^\| (.+?) \|", table, re.M)[2:]
    texts = [path.read_text() for path in (ROOT / "src" / "arraygrad").rglob("*.py*") if path.suffix in (".py", ".pyx")]
    source = re.sub(r'"\s*f?"', "", "\n".join(texts))  # literals that stand one after the other are one text
    assert len(rows) > 12
    for row in rows:
        for part in re.split(r" ?\.\.\. ?|\bX\b|\bindex \S+$|\bat index 0\b|TypeError on `np.asarray\(t\)`", row):
            assert part.strip() in source, row


def run_python(arguments, folder):
    """A finished process of this interpreter that finds this arraygrad."""
    package = Path(importlib.util.find_spec("arraygrad").origin).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def test_only_these_blocks_are_not_run():
    counted = {
        name: sum(block.mark == "not run" and block.word in ("python", "pycon") for block in blocks(page))
        for name, page in PAGES.items()
    }
    assert {name: count for name, count in counted.items() if count} == NOT_RUN


@pytest.mark.parametrize("name", [name for name in PAGES if any(b.mark == "stand-in" for b in blocks(PAGES[name]))])
def test_blocks_for_cupy_run_on_its_stand_in(name, tmp_path):
    marked = [(number, block) for number, block in enumerate(blocks(PAGES[name])) if block.mark == "stand-in"]
    printed = outputs(list(blocks(PAGES[name])))
    program = textwrap.dedent(f"""
        import sys
        sys.path[:0] = [{str(ROOT / "tests" / "gpu")!r}, {str(ROOT / "tests" / "docs")!r}]
        import stand_in
        from pathlib import Path
        from page_blocks import blocks, run
        printed = {printed!r}
        names = {{"__name__": "__main__"}}
        for number, block in enumerate(blocks(Path({str(PAGES[name])!r}))):
            if block.mark == "stand-in":
                run(block, names, printed.get(number))
                print("ran", block)
    """)
    done = run_python(["-c", program], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ran ") == len(marked)
