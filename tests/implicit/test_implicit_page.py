"""What docs/implicit.md and the docstrings show is what happens."""

import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest

import arraygrad as ag

pytest.importorskip("scipy", reason="the examples use SciPy")

PAGE = Path(__file__).parents[2] / "docs" / "implicit.md"


def test_examples_of_the_page():
    failed, attempted = doctest.testfile(str(PAGE), module_relative=False)
    assert attempted
    assert not failed


@pytest.mark.parametrize("name", ["problems", "linear", "ivp"])
def test_examples_of_the_docstrings(name):
    failed, attempted = doctest.testmod(importlib.import_module(f"arraygrad.implicit.{name}"))
    assert attempted
    assert not failed


def test_derivative_of_the_oscillator_on_the_page():
    from scipy.integrate import solve_ivp

    def amplitude(stiffness, damping):
        f = lambda t, y: np.stack([y[1], -stiffness * y[0] - damping * y[1]])
        y = solve_ivp(f, (0.0, 2.0), [1.0, 0.0], t_eval=[1.0, 2.0], method="DOP853", rtol=1e-12, atol=1e-12).y
        return np.sum(y[0] ** 2)

    h = 1e-5
    by_stiffness = (amplitude(4.0 + h, 0.1) - amplitude(4.0 - h, 0.1)) / (2 * h)
    by_damping = (amplitude(4.0, 0.1 + h) - amplitude(4.0, 0.1 - h)) / (2 * h)
    assert (by_stiffness, by_damping) == pytest.approx((-0.244996, -0.823334), abs=2e-6)


def test_implicit_is_imported_on_first_use():
    assert ag.implicit.root is importlib.import_module("arraygrad.implicit").root
