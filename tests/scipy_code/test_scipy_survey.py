"""What docs/scipy.md says of SciPy's functions is what happens: one process with SCIPY_ARRAY_API=1 tries them all."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import arraygrad

scipy = pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
pytest.importorskip("sklearn", reason="scikit-learn, which is optional, is not installed")

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "scipy.md").read_text()
# The page says which versions it holds for; others may have moved a function from one list to the other.
KNOWN = version("scipy").startswith("1.17.") and version("scikit-learn").startswith("1.9.")
DOCUMENTED = {"differentiated", "constant", "number", "refused"}


@pytest.fixture(scope="module")
def survey():
    """Outcomes and SciPy's own list, from a process of its own."""
    path = os.pathsep.join([str(Path(arraygrad.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(HERE / "survey.py")], capture_output=True, text=True, env=environment, timeout=110
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_gradient_is_wrong_or_lost(survey):
    wrong = {
        name: (outcome, detail)
        for name, (outcome, detail) in survey["outcomes"].items()
        if outcome in ("wrong gradient", "detached", "another result")
    }
    assert wrong == {}


@pytest.mark.skipif(not KNOWN, reason="the page is of other versions of SciPy and scikit-learn")
def test_outcomes_are_those_documented(survey):
    other = {name: found for name, found in survey["outcomes"].items() if found[0] not in DOCUMENTED}
    assert other == {}


@pytest.mark.skipif(not KNOWN, reason="the page is of other versions of SciPy and scikit-learn")
def test_table_of_the_page_is_up_to_date(survey):
    said = {}
    for line in PAGE.split("<!-- table")[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[1] in DOCUMENTED:
            said.update({f"{cells[0]}.{name}": cells[1] for name in cells[2].split()})
    found = {name: outcome for name, (outcome, _) in survey["outcomes"].items()}
    assert said == found, "run SCIPY_ARRAY_API=1 python tests/scipy_code/survey.py --page"


@pytest.mark.skipif(not KNOWN, reason="the page is of other versions of SciPy and scikit-learn")
def test_every_function_of_scipys_list_is_called_or_left_out_with_a_reason(survey):
    missing = [name for name in survey["listed"] if name not in survey["outcomes"] and name not in survey["left_out"]]
    assert missing == []
    assert len(survey["listed"]) > 400


@pytest.mark.skipif(not KNOWN, reason="the page is of other versions of SciPy and scikit-learn")
def test_most_pure_functions_are_differentiated(survey):
    found = [outcome for outcome, _ in survey["outcomes"].values()]
    assert found.count("differentiated") > 150
