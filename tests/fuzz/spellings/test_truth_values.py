"""Every call with a truth value in the place of an integer, of which other tests draw some."""

import numpy as np
import pytest

import arraygrad as ag

from . import truth_values_of_numpy as of_numpy
from . import truth_values_of_scipy as of_scipy
from .spelling import Counts, check, quiet

PARTS = 8


# NumPy 2.4 keeps the operand of a ufunc's reduce or accumulate for good where __array_ufunc__ raises.
@pytest.mark.keeps_objects
@pytest.mark.parametrize("part", range(PARTS))
def test_calls_of_numpy(part):
    counts = Counts()
    for number, call in enumerate(of_numpy.CALLS_OF_TRUTH_VALUES[part::PARTS]):
        adopted = of_numpy.seen_by_adoption_alone(call) or number % 2 == 1
        check(of_numpy.member(np.random.default_rng(number), call, adopted), counts, number)
    ag.adopt.clear()  # it holds what it found of each call
    assert counts.refused_by_both > 50
    assert counts.gradients > 100


def test_calls_of_scipy():
    counts = Counts()
    for number, given in enumerate(quiet(of_scipy.members)):
        check(of_scipy.member(*given), counts, number)
    assert counts.gradients > 200
    assert counts.refused < 0.05 * counts.calls
