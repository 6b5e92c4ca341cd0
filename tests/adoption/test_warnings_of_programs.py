"""What a program says of warnings is about its own: those of a transform are given when its call ends.

The class: how the program handles warnings x what a transform warns of x nested transforms. The value and the gradient
are those without the handling, and the caller gets the warning.
"""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

import arraygrad as ag


@contextlib.contextmanager
def recorded():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    if found:
        raise AssertionError("the program counts warnings")


@contextlib.contextmanager
def filtered(action):
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        yield


HANDLING = {
    "ignore": lambda: filtered("ignore"),
    "error": lambda: filtered("error"),
    "always": lambda: filtered("always"),
    "record": recorded,
    "nothing": contextlib.nullcontext,
}


class Kept:
    last, value = 0.7, 0.25

    def of(self, x):
        if self.last != x:
            self.value = x * x
        return self.value


TOLD = {
    "rounded": lambda x: round(x * 3.0, 9) * x,
    "text": lambda x: float(str(x)) * x,
    "a cache of one value": lambda x: Kept().of(x) * x,
    "cut off": lambda x: int(x * 1e6) / 1e6 * x,
}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("handling", HANDLING)
def test_the_caller_gets_the_warning_and_the_program_does_not(handling, told, nested):
    def function(x):
        try:
            with HANDLING[handling]():
                return TOLD[told](x)
        except (Warning, AssertionError):
            return 100.0 * x

    def outer(x):
        with HANDLING[handling]():
            return ag.value_and_grad(function)(x)[0]

    with pytest.warns(UserWarning, match="test_warnings_of_programs.py"):
        value, gradient = ag.value_and_grad(outer if nested else function)(0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = ag.value_and_grad(TOLD[told])(0.7)
    assert (value, gradient) == plain


def test_warnings_come_with_an_error_too():
    def function(x):
        TOLD["text"](x)
        raise KeyError("of the program")

    with pytest.warns(UserWarning, match="text"), pytest.raises(KeyError, match="of the program"):
        ag.grad(function)(0.7)


def test_the_programs_own_warnings_stay_where_they_are():
    seen = []

    def function(x):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            warnings.warn("of the program", RuntimeWarning, stacklevel=1)
            np.mean(np.zeros(0))
        seen.append(len(found))
        return x * x

    function(0.7)
    ag.grad(function)(0.7)
    assert seen[0] == seen[1] > 1
