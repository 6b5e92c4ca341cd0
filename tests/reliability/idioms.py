"""Everyday lines of Python by which a value could leave the graph: what each does to a gradient.

Imports the public names of arraygrad. `read` takes the lines from docs/reliability.md, `in_a_transform` and
`step_by_step` run one of them. A line computes with `x`, a number, or `v`, a vector; with statements its result is `r`.
`a`, `m`, `o` and `rec` are fresh plain arrays, `x0` and `v0` plain values.

`python tests/reliability/idioms.py` writes the outcomes that it finds into the page.
"""

import array
import bisect
import cmath
import collections
import copy
import ctypes
import decimal
import fractions
import functools
import heapq
import io
import itertools
import json
import logging
import math
import operator
import pickle
import random
import re
import statistics
import struct
import time
import warnings
from pathlib import Path

import numpy as np

import arraygrad as ag

MARK = "<!-- idioms -->"
ROW = re.compile(r"^\| `` (.+?) `` \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
X, V = 0.73, np.array([0.7, 1.3, 2.2])
STEP = 1e-6
MODULES = (
    array, bisect, cmath, collections, copy, ctypes, decimal, fractions, functools, heapq, io, itertools, json, logging,
    math, operator, pickle, random, statistics, struct, time,
)  # fmt: skip


def read(page=PAGE):
    """(line of code, outcome in a transform, with adopt=False, step by step) of each row of the page's table."""
    return [(row[1].replace("\\|", "|"), *row.group(2, 3, 4)) for row in ROW.finditer(page.read_text().split(MARK)[1])]


def write(page=PAGE):
    """Put the outcomes that are found into the page's table."""

    def found(row):
        code = row[1].replace("\\|", "|")
        outcomes = (in_a_transform(code)[0], in_a_transform(code, adopt=False)[0], step_by_step(code)[0])
        return f"| `` {row[1]} `` | {' | '.join(outcomes)} |"

    before, table, after = page.read_text().split(MARK)
    page.write_text(MARK.join((before, ROW.sub(found, table), after)))


def argument(code):
    """The name of the variable that a line computes with."""
    return "v" if re.search(r"(?<![\w.'])v\b(?!')", code) else "x"


def evaluate(code, value):
    """The result of a line for a value of its variable."""
    space = {module.__name__: module for module in MODULES}
    space.update(np=np, ag=ag, x0=0.4, v0=np.array([0.5, 1.5, 0.25]), a=np.zeros(3), m=np.zeros((3, 3)))
    space.update(o=np.empty(2, object), rec=np.zeros(3, [("f", float)]).view(np.recarray))
    space[argument(code)] = value
    if "; r = " in code:
        exec(code, space)
        return space["r"]
    return eval(code, space)


def is_number(result):
    return isinstance(result, (int, float, complex, np.generic, np.ndarray, ag.Tensor)) or (
        type(result).__module__ in ("decimal", "fractions")
    )


def differences(code):
    """The derivative of a line on plain values; None where its result is no number (text, bytes, nothing)."""
    plain = X if argument(code) == "x" else V
    step = 2.0**-8 if "float32" in code else STEP  # a step that single precision holds
    if not is_number(evaluate(code, plain if argument(code) == "x" else plain.copy())):
        return None
    found = []
    for unit in [1.0] if argument(code) == "x" else np.eye(3):
        up, down = (np.sum(evaluate(code, plain + s * step * unit)) for s in (1.0, -1.0))
        found.append((float(up) - float(down)) / (2.0 * step))
    return np.array(found)


def _told(error):
    return f"refused: {type(error).__name__}"


# Step by step these give values or new leaves, as in PyTorch; the gradient is then that of the rest.
_LETS_OUT = ("item", "tolist", "copy.", "pickle", "tensor(", "tobytes")


def _compared(gradient, expected, code, outside):
    if not np.allclose(np.ravel(gradient), expected, rtol=1e-5, atol=1e-7):
        if any(word in code for word in ("stop_gradient", "detach", "ag.tensor(")):
            return "constant where asked"
        if outside and any(word in code for word in _LETS_OUT):
            return "number"
        return f"WRONG: {np.ravel(gradient)} for {expected}"
    return "recorded" if np.any(expected) else "constant"


def program(code):
    """A function that a program could have: the line in it, what the line needs among its globals and defaults."""
    space = {module.__name__: module for module in MODULES}
    space.update(np=np, ag=ag, x0=0.4, v0=np.array([0.5, 1.5, 0.25]), A=np.zeros(3), M=np.zeros((3, 3)))
    space.update(O=np.empty(2, object), R=np.zeros(3, [("f", float)]).view(np.recarray))
    body = code if "; r = " in code else f"r = {code}"
    exec(f"def line({argument(code)}, a=A, m=M, o=O, rec=R):\n    {body}\n    return r", space)
    return space["line"]


def in_a_transform(code, adopt=None):
    """(outcome, message) of a line inside of `ag.grad`."""
    expected = differences(code)
    start = X if argument(code) == "x" else V.copy()
    line = functools.partial(evaluate, code) if adopt is False else program(code)

    def f(value):
        result = line(value)
        if expected is None:
            return np.sum(value)
        return result.sum() if isinstance(result, ag.Tensor | np.ndarray) and np.ndim(result) else result

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            gradient = ag.grad(f, adopt=adopt)(start)
        except Exception as error:
            return _told(error), " ".join([str(error), *getattr(error, "__notes__", ())])
    said = " ".join([str(w.message) for w in caught])
    if expected is None:
        return "text", said
    outcome = _compared(gradient, expected, code, False)
    return (f"{outcome}, with a warning" if said else outcome), said


def step_by_step(code):
    """(outcome, message) of a line on a leaf, followed by backward()."""
    expected = differences(code)
    leaf = ag.tensor(X if argument(code) == "x" else V, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = evaluate(code, leaf)
            if isinstance(result, ag.Tensor) and result.requires_grad:
                result.sum().backward()
        except Exception as error:
            return _told(error), " ".join([str(error), *getattr(error, "__notes__", ())])
    said = " ".join([str(w.message) for w in caught])
    if expected is None:
        outcome = "text"
    elif isinstance(result, ag.Tensor) and result.requires_grad:
        outcome = _compared(0.0 if leaf.grad is None else leaf.grad.numpy(), expected, code, True)
    else:
        outcome = "number" if np.any(expected) else "constant"
    return (f"{outcome}, with a warning" if said else outcome), said


if __name__ == "__main__":
    write()
