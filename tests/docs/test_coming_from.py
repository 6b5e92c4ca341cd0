"""Every row of the tables in docs/coming-from: both columns are run, and give what the page says.

Imports no module of arraygrad by itself: the pages do.
"""

import importlib.util
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from page_blocks import DOCS, ROOT, blocks

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="docs/ is not beside the tests (an installed copy)")

LIBRARIES = {"hips-autograd": "autograd", "pytorch": "torch", "jax": "jax", "mygrad": "mygrad"}
ROW = re.compile(r"^\| (.+) \|$", re.M)


def rows(name, width):
    """The cells of the rows with `width` columns, headings left out."""
    text = (DOCS / "coming-from" / f"{name}.md").read_text()
    found = [[cell.strip() for cell in re.split(r" \| ", line)] for line in ROW.findall(text)]
    return [cells for cells in found if len(cells) == width and all("`" in cell for cell in cells[:1])]


def code(cell):
    """The text between backticks."""
    return cell.strip("`").strip()


def value(line, setup):
    """What a line gives: its statements are run, and the last one is the value if it is an expression."""
    names = {}
    exec(setup, names)
    *statements, last = re.split(r"; (?![^(]*\))", line)
    for statement in statements:
        exec(statement, names)
    try:
        compile(last, line, "eval")
    except SyntaxError:
        exec(last, names)
        return None
    return eval(last, names)


def plain(result):
    """Arrays of either library as NumPy's, containers item by item."""
    if isinstance(result, (tuple, list)):
        return [plain(item) for item in result]
    if isinstance(result, (bool, str, type(None))):
        return result
    for take in ("detach", "get"):
        result = getattr(result, take)() if hasattr(result, take) else result
    return np.asarray(getattr(result, "data", result) if type(result).__module__.startswith("mygrad") else result)


def same(ours, theirs):
    """Whether two results are equal but for rounding."""
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, np.ndarray):
        return ours.shape == np.shape(theirs) and np.allclose(ours, theirs, rtol=1e-6)
    return ours == theirs


def setups(name):
    """The page's two blocks of names: ours, and the other library's."""
    ours, theirs = list(blocks(DOCS / "coming-from" / f"{name}.md"))[:2]
    return ours.body, theirs.body


@pytest.mark.parametrize("name", LIBRARIES)
def test_tables_have_rows(name):
    assert len(rows(name, 2)) >= 14
    assert len(rows(name, 4)) >= 4


@pytest.mark.parametrize(("name", "row"), [(n, r) for n in LIBRARIES for r in range(len(rows(n, 2)))])
def test_spelling(name, row):
    theirs, ours = map(code, rows(name, 2)[row])
    our_setup, their_setup = setups(name)
    result = plain(value(ours, our_setup))
    if importlib.util.find_spec(LIBRARIES[name]) is None:
        pytest.skip(f"{LIBRARIES[name]} is not installed: only our column was run")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = plain(value(theirs, their_setup))
    assert same(result, expected), (result, expected)


def outcome(line, setup):
    """repr of a line's value, or the name of the exception that it raises."""
    try:
        return repr(value(line, setup))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize(("name", "row"), [(n, r) for n in LIBRARIES for r in range(len(rows(n, 4)))])
def test_difference(name, row):
    theirs, their_outcome, ours, our_outcome = map(code, rows(name, 4)[row])
    our_setup, their_setup = setups(name)
    assert outcome(ours, our_setup) == our_outcome
    if importlib.util.find_spec(LIBRARIES[name]) is None:
        pytest.skip(f"{LIBRARIES[name]} is not installed: only our column was run")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert outcome(theirs, their_setup) == their_outcome


def test_cupy_rows_run_on_its_stand_in(tmp_path):
    found = [list(map(code, row)) for row in rows("cupy", 2)]
    assert len(found) >= 10
    setup = next(b.body for b in blocks(DOCS / "coming-from" / "cupy.md") if b.mark == "stand-in")
    program = f"""
import sys
sys.path[:0] = [{str(ROOT / "tests" / "gpu")!r}, {str(ROOT / "tests" / "docs")!r}]
import stand_in
import numpy as np
names = {{}}
exec({setup!r}, names)
for theirs, ours in {found!r}:
    result = eval(ours, names)
    result = result.detach().numpy() if hasattr(result, "detach") else result
    # The left column is evaluated with NumPy: the stand-in lacks some functions.
    plain = {{name: names[name].get() for name in ("x", "m")}}
    expected = plain["x"] if theirs == "x.get()" else eval(theirs.replace("cupy.", "np."), {{"np": np, **plain}})
    assert np.allclose(result, expected), (theirs, ours)
print("same")
"""
    package = Path(importlib.util.find_spec("arraygrad").origin).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("same\n")
