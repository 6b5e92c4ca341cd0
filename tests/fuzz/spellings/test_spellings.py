"""A fixed part of every class of generated calls; `python -m tests.fuzz.spellings` is the long form."""

import numpy as np
import pytest

import arraygrad as ag

from ..gradients import Mismatch
from .classes import classes, drawn
from .spelling import Counts, Spelling, check

CALLS = 60  # of each class, where it does not say another number


@pytest.mark.parametrize("name", classes())
def test_generated_calls_do_what_the_plain_calls_do(name):
    module, counts = classes()[name], Counts()
    for seed in range(getattr(module, "CALLS", CALLS)):
        check(drawn(name, module, seed), counts, seed)
    ag.adopt.clear()  # what it found of a program holds the program's globals, and those what the program left there
    assert counts.gradients > 0
    assert counts.undecided <= getattr(module, "UNDECIDED", 0.1) * counts.gradients


def wrong(x):
    return ag.stop_gradient(x) * x


LIES = {
    "a wrong value": (lambda x: x * 1.001, np.positive, 1, "value"),
    "another shape": (lambda x: x.sum(), np.positive, 1, "value"),
    "another dtype": (lambda x: x.astype(np.float32), np.positive, 1, "value"),
    "a wrong gradient": (wrong, np.square, 1, "gradient"),
    "a gradient that is dropped": (lambda x: ag.stop_gradient(x * x), np.square, 1, "gradient"),
    "a wrong second derivative": (lambda x: _lying(x), np.square, 2, "second derivative"),
    "an error": (lambda x: x.no_such_method(), np.square, 1, "refused"),
    "an answer where there is none": (lambda x: x * x, lambda x: np.linalg.inv(x[0]), 1, "accepted"),
}

_lying = ag.primitive(lambda x: x * x)
_lying.defvjp(lambda ans, x: lambda g: 2 * g * ag.stop_gradient(x))


@pytest.mark.parametrize("lie", LIES)
def test_the_comparison_sees(lie):
    ours, plain, order, what = LIES[lie]
    spelling = Spelling("f(x)", ours, plain, (np.asarray([0.3, 1.2]),), order=order)
    with pytest.raises(Mismatch) as caught:
        check(spelling)
    assert caught.value.what == what


def _steep(x):
    return x + ag.sqrt(x - ag.stop_gradient(x))


def test_the_comparison_sees_an_infinite_slope_in_single_precision():
    spelling = Spelling("f(x)", _steep, np.positive, (np.asarray([0.3, 1.2], np.float32),))
    with pytest.raises(Mismatch) as caught:
        check(spelling)
    assert caught.value.what == "gradient"


def test_what_may_be_refused_is_counted():
    counts = Counts()

    def refuse(x):
        raise NotImplementedError("no derivative by x: use y instead")

    check(Spelling("f(x)", refuse, np.square, (np.ones(2),), may_refuse=(NotImplementedError,)), counts)
    assert counts.refused == 1
