"""docs/numerics.md: its cases are those of hard_cases.py, and arraygrad still answers what it says.

Needs neither torch nor jax. Imports the public names of arraygrad.
"""

import hard_cases
import numpy as np
import pytest

# one case has no degree of freedom
pytestmark = pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning")

ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split(" | ")]
    for line in hard_cases.PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| `")
]
CASES = [case for cases in hard_cases.CASES.values() for case in cases]


def test_every_case_is_on_the_page():
    stated = [(row[0], row[1]) for row in ROWS]
    assert stated == [(f"`{e.replace('xp.', '')}`", hard_cases.text(hard_cases.inputs(a))) for e, a, _ in CASES]


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{e} {i}" for i, (e, *_) in enumerate(CASES)])
def test_answer_on_the_page_is_ours(number):
    with np.errstate(all="ignore"):
        found = hard_cases.ours(*CASES[number][:2])
    for stated, mine in zip(ROWS[number][2:4], found, strict=True):
        assert hard_cases.close(hard_cases.numbers(mine), hard_cases.numbers(stated)), (stated, mine)
