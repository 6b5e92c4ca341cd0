"""mypy and pyright accept the code of every page and of examples/, with unannotated functions looked into."""

import doctest
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import arraygrad

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(arraygrad.__file__).resolve().parents[1]
pytestmark = [
    pytest.mark.skipif(not (ROOT / "docs").exists(), reason="docs/ is not beside the tests (an installed copy)"),
    pytest.mark.timeout(600),
]

PLANTED = ("ag.grad(3.0)", "ag.sin(None)", "ag.tensor([1.0]).unsqueeze(0)", "ag.cat([x])", "np.sum(x).backwards()")
# What checkers say of code that is right: of attributes that SciPy looks for on functions, of PyTorch's gradients,
# which may be None, and of dask's functions, whose parameters they take to be of the type of their defaults.
KNOWN = {
    ("docs/scipy.md", "terminal"),
    ("docs/scipy.md", "direction"),
    ("docs/backends.md", "tolist"),
    ("docs/distributed.md", "chunks"),
    ("docs/distributed.md", "compute"),
    ("examples/distributed/dask_data_set.py", "chunks"),
    ("examples/distributed/dask_data_set.py", "compute"),
}


def code_of(page, blocks):
    """The code of a page, each line at its place in it."""
    lines = [""] * (page.read_text(encoding="utf-8").count("\n") + 2)
    for block in blocks(page):
        parts = []
        if block.word == "python" and block.mark != "not run":
            parts = [(0, block.body)]
        elif block.word == "pycon" and block.mark != "not run":
            parts = [(example.lineno, example.source) for example in doctest.DocTestParser().get_examples(block.body)]
        for offset, text in parts:
            for number, line in enumerate(text.splitlines(), block.line + offset):
                lines[number] = line
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with a file for each page that has code, and the page that each is of."""
    sys.path.insert(0, str(ROOT / "tests" / "docs"))
    try:
        from page_blocks import blocks, pages
    finally:
        sys.path.pop(0)
    folder, names = tmp_path_factory.mktemp("pages"), {}
    for page in pages():
        text, name = code_of(page, blocks), str(page.relative_to(ROOT))
        if text.strip():
            file = re.sub(r"\W", "_", name.removesuffix(".md")) + ".py"
            (folder / file).write_text(text, encoding="utf-8")
            names[file] = name
    return folder, names


def told(found, names):
    """What was found, with the pages' names in the files' place, but for what is known."""
    lines = []
    for path, line, message in found:
        name = names.get(Path(path).name) or str(Path(path).resolve().relative_to(ROOT))
        if not any(name == page and f'"{word}"' in message for page, word in KNOWN):
            lines.append(f"{name}:{line}: {message}")
    return lines


def mypy(folder):
    # One page after the other gives a name another meaning; what libraries are not installed are Any.
    (folder / "mypy.ini").write_text(
        "[mypy]\ncheck_untyped_defs = true\nignore_missing_imports = true\nfollow_imports = silent\n"
        "allow_redefinition_new = true\nlocal_partial_types = true\nexplicit_package_bases = true\n"
        "disable_error_code = no-redef\n"
    )
    # mypy finds installed packages by itself, and refuses their folder.
    places = [str(ROOT)] if "site-packages" in SOURCES.parts else [str(SOURCES), str(ROOT)]
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(places)}
    command = [sys.executable, "-m", "mypy", "--no-incremental", "--config-file=mypy.ini", ".", str(ROOT / "examples")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert not done.stderr, done.stderr
    return re.findall(r"^(.+?):(\d+): error: (.*)$", done.stdout, flags=re.M)


def pyright(folder):
    # Parameters of libraries without stubs are not guessed from the values that stand in for them.
    options = {
        "include": [str(folder), str(ROOT / "examples")],
        "extraPaths": [str(SOURCES), str(ROOT)],
        "typeCheckingMode": "standard",
        "useLibraryCodeForTypes": False,
        "reportMissingImports": False,
        "reportMissingModuleSource": False,
        "reportRedeclaration": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(options))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson", "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [
        (one["file"], one["range"]["start"]["line"] + 1, one["message"])
        for one in json.loads(done.stdout)["generalDiagnostics"]
        if one["severity"] == "error"
    ]


@pytest.mark.parametrize(("checker", "package"), [(mypy, "mypy"), (pyright, "basedpyright")], ids=["mypy", "pyright"])
def test_a_checker_accepts_pages_and_examples_and_finds_what_is_planted(checker, package, written):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    folder, names = written
    assert len(names) >= 25
    # The first page's code once more, with mistakes at its end.
    text = (folder / "docs_ten_minutes.py").read_text(encoding="utf-8")
    (folder / "planted.py").write_text(text + "\n".join(PLANTED) + "\n", encoding="utf-8")
    found = checker(folder)
    assert told([one for one in found if Path(one[0]).name != "planted.py"], names) == []
    lines = {int(line) - text.count("\n") for path, line, _ in found if Path(path).name == "planted.py"}
    assert lines == {number for number, _ in enumerate(PLANTED, 1)}
