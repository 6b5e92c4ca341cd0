"""Type checkers accept what users write (user_code.py), find mistakes (wrong_code.py), and what they accept runs."""

import functools
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import pytest
import user_code

import arraygrad

HERE = Path(__file__).parent
# Where checkers find the stubs, unless they are installed beside them.
SOURCES = Path(arraygrad.__file__).resolve().parents[1]
IN_TREE = SOURCES.name == "src"
RUN = [
    value
    for value in vars(user_code).values()
    if isinstance(value, types.FunctionType)
    and value.__module__ == "user_code"
    and not inspect.signature(value).parameters
]


FILES = ("user_code.py", "wrong_code.py")


@functools.cache
def mypy():
    """What mypy says, and for each file the lines in which it finds errors."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed (pip install mypy)")
    environment = {**os.environ, "MYPYPATH": str(SOURCES) if IN_TREE else ""}
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file=", *FILES]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE, env=environment)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = {name: set(map(int, re.findall(rf"^{name}:(\d+): error", done.stdout, flags=re.M))) for name in FILES}
    return "\n".join([line for line in done.stdout.splitlines() if line.startswith(FILES)]), found


@functools.cache
def pyright():
    """The same of pyright."""
    if importlib.util.find_spec("basedpyright") is None:
        pytest.skip("basedpyright is not installed (pip install basedpyright)")
    options = {"include": [str(HERE)], "pythonVersion": "3.11", "typeCheckingMode": "standard"}
    if IN_TREE:
        options["extraPaths"] = [str(SOURCES)]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "pyrightconfig.json"
        config.write_text(json.dumps(options))
        python = ["--pythonpath", sys.executable]
        command = [sys.executable, "-m", "basedpyright", *python, "--outputjson", "-p", str(config)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = {name: set() for name in FILES}
    lines = []
    for one in json.loads(done.stdout)["generalDiagnostics"]:
        name = Path(one["file"]).name
        if one["severity"] == "error" and name in found:
            found[name].add(one["range"]["start"]["line"] + 1)
            lines.append(f"{name}:{one['range']['start']['line'] + 1}: {one['message']}")
    return "\n".join(lines), found


@pytest.mark.parametrize("function", RUN, ids=lambda function: function.__name__)
def test_what_checkers_accept_runs(function):
    if function.__name__ == "scipys_functions":
        pytest.importorskip("scipy")
    function()


def test_the_functions_of_the_file_are_run():
    assert len(RUN) >= 15


@pytest.mark.timeout(300)
@pytest.mark.parametrize("checker", [mypy, pyright], ids=["mypy", "pyright"])
def test_a_checker_accepts_what_users_write(checker):
    output, found = checker()
    assert not found["user_code.py"], output


@pytest.mark.timeout(300)
@pytest.mark.parametrize("checker", [mypy, pyright], ids=["mypy", "pyright"])
def test_a_checker_finds_mistakes_and_nothing_else(checker):
    output, found = checker()
    text = (HERE / "wrong_code.py").read_text().splitlines()
    wrong = {number for number, line in enumerate(text, 1) if line.endswith("# error")}
    assert len(wrong) >= 30
    assert found["wrong_code.py"] == wrong, output
