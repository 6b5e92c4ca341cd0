"""Digits that are rounded away: told where the rounded number is computed with, not where it is only shown.

The class: function that rounds (round, numpy.round, the method) x what becomes of the result (printed, made text of,
compared, under a name) x what else the program computes.
"""

import warnings

import numpy as np
import pytest

import arraygrad as ag

ROUNDED = {
    "round": "round(x * 1.37, 3)",
    "numpy.round": "np.round(x * 1.37, 3)",
    "array": "np.round(x * np.array([1.37, 2.11]), 3)[0]",
    "method": "(x * np.array([1.37, 2.11])).round(3)[1]",
}

SHOWN = {
    "printed": "print({0})",
    "printed with text": "print('x is', {0}, sep='')",
    "formatted": "text = f'{{{0}}} m'",
    "text": "text = str({0})",
    "compared": "y = x if {0} > 0.5 else 2.0 * x",
    "loop": "while {0} > 3.0:\n        x = x / 2.0",
    "name compared": "digits = {0}\n    if digits >= 0.3:\n        y = 3.0 * x",
    "name printed": "digits = {0}\n    print(digits, f'{{digits}}')",
    "two names": "digits = {0}\n    shown = digits\n    print(shown)",
}

COMPUTED = {
    "added": "y = y + {0}",
    "returned": "return {0}",
    "name added": "digits = {0}\n    print(digits)\n    y = y + digits",
    "name in a call": "digits = {0}\n    y = y + np.sin(digits)",
    "kept": "digits = {0}\n    kept = [digits]\n    y = y + kept[0]",
    "read by a function": "digits = {0}\n    y = y + (lambda: digits)()",
    "bound again": "digits = {0}\n    digits += 1.0\n    y = y + digits",
    "global": "global SHARED\n    SHARED = {0}\n    y = y + shared()",
}


def built(line, rounded, path):
    text = (
        "SHARED = 0.0\n\ndef shared():\n    return SHARED\n\n"
        f"def program(x):\n    y = x * x\n    {line.format(ROUNDED[rounded])}\n    return y + x\n"
    )
    path.write_text(text)
    names = {"np": np}
    exec(compile(text, str(path), "exec"), names)
    return names["program"]


def told(program):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        gradient = ag.grad(program)(0.77)
    return gradient, [str(w.message) for w in found if "digits has derivative zero" in str(w.message)]


@pytest.mark.parametrize("rounded", list(ROUNDED))
@pytest.mark.parametrize("shown", list(SHOWN))
def test_digits_that_are_only_shown_are_not_told(shown, rounded, tmp_path):
    program = built(SHOWN[shown], rounded, tmp_path / "program.py")
    gradient, found = told(program)
    assert not found
    assert gradient == pytest.approx((program(0.77 + 1e-6) - program(0.77 - 1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("rounded", list(ROUNDED))
@pytest.mark.keeps_objects  # a global keeps them
@pytest.mark.parametrize("computed", list(COMPUTED))
def test_digits_that_are_computed_with_are_told(computed, rounded, tmp_path):
    _, found = told(built(COMPUTED[computed], rounded, tmp_path / "program.py"))
    assert found
