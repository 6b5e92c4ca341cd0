"""Operators of plain arrays and lists or tuples that hold what is differentiated.

The class: operator x side of the list x how the list is written (list, tuple, nested, under a name, in a conditional
name) x where the array comes from (module, integers made in the call, argument, slice). The gradient is that of
differences, and value and type are those of the plain call. Lists beside lists and numbers are joined and repeated, as
ever.
"""

import itertools

import numpy as np
import pytest

import arraygrad as ag

DATA = np.array([[1.5, 0.5], [2.0, 1.0]])
WHOLE = np.array([[2, 1], [3, 2]])


def source(sign, side, written, array):
    """The text of a program of x."""
    lists = {
        "list": "[x, 1.0 + x * x]",
        "tuple": "(2.0, x)",
        "nested": "[[x, 0.5], [1.0, 2.0 * x]]",
        "name": "beside",
        "arithmetic": "[0.5 * x + 1.0, 3]",
    }
    arrays = {
        "module": "DATA", "whole numbers": "np.array([[2, 1], [3, 2]])", "argument": "given", "slice": "DATA[::-1]",
    }  # fmt: skip
    sides = arrays[array], lists[written]
    expression = f" {sign} ".join(sides if side == "right" else sides[::-1])
    return (
        f"def program(x, given):\n    beside = [x, x + 1.0]\n    found = {expression}\n"
        "    return np.sum(found * found * np.array([1.0, 0.7]))\n"
    )


def built(text, path):
    path.write_text(text)
    names = {"np": np, "DATA": DATA}
    exec(compile(text, str(path), "exec"), names)
    return names["program"]


CASES = list(
    itertools.product(
        ["+", "-", "*", "/", "@", "**"],
        ["left", "right"],
        ["list", "tuple", "nested", "name", "arithmetic"],
        ["module", "whole numbers", "argument", "slice"],
    )
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case))
def test_list_beside_a_plain_array_is_recorded(case, tmp_path):
    program = built(source(*case), tmp_path / "program.py")
    rates = 0.8 + 1e-4 * np.array([-2.0, -1.0, 1.0, 2.0])
    differences = np.dot([1.0, -8.0, 8.0, -1.0], [program(x, WHOLE) for x in rates]) / 12e-4
    value, gradient = ag.value_and_grad(program)(0.8, WHOLE)
    assert value == program(0.8, WHOLE)
    assert gradient == pytest.approx(differences, rel=1e-8, abs=1e-9)


def joined(x):
    found = [x, 1.0] + [2.0 * x]
    return found[2] * len(found)


def repeated(x):
    found, n = [x, x * x] * 3, 2
    row = n * (x, 1.0)
    return sum(found) * len(row)


def tuples(x):
    shape = (x, 2.0)
    found = shape + (x,)
    return found[0] * found[2] * len(found)


def under_a_name(x):
    items = [x]
    items = items + [x * i for i in range(3)]
    return sum(items) + len(items)


class Point:
    def __init__(self, values):
        self.values = values

    def __add__(self, other):
        return Point([a + b for a, b in zip(self.values, other, strict=True)])

    __radd__ = __add__


def of_a_class(x):
    return sum(([x, 1.0] + Point([2.0, x])).values) * sum((Point([x, x]) + (x, 3.0)).values)


@pytest.mark.parametrize("program", [joined, repeated, tuples, under_a_name, of_a_class])
def test_lists_beside_other_things_are_what_they_are(program):
    value, gradient = ag.value_and_grad(program)(0.8)
    assert value == program(0.8)
    assert gradient == pytest.approx((program(0.8 + 1e-6) - program(0.8 - 1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "matmul", "pow"])
def test_lists_have_no_more_operators_than_in_a_plain_call(name):
    def program(x):
        lists = [x, 1.0]
        signs = {
            "add": lambda: lists + 1.0, "sub": lambda: [x, 1.0] - 1.0, "mul": lambda: [x, 1.0] * "a",
            "truediv": lambda: [x, 2.0] / 2.0, "matmul": lambda: (x, 1.0) @ 3, "pow": lambda: [x] ** 2,
        }  # fmt: skip
        return signs[name]()

    with pytest.raises(TypeError):
        program(0.8)
    with pytest.raises(TypeError, match=r"list|tuple|sequence"):
        ag.grad(program)(0.8)
