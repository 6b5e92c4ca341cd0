"""Functions that the table has and no entry of the catalogue names: a new operation is used at once, of one array
elementwise or along axes, or of several arrays on whole cores of axes.

Functions of several arrays are used close to the real arrays of a sample, which may be anything that they take.
Where a function of one array may be used its samples say (tests/ops/samples): between the smallest and the largest
real argument, and on the longest part of that without a kink. The references run the forward of the table: on plain
NumPy, whose differences know nothing of the rule, and on PyTorch, which differentiates it.
Imports of arraygrad: the table.
"""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

from arraygrad.ops import OPS, TABLE
from arraygrad.ops.structure import axis_parameter, structure_of

from .program import MARGIN

KINDS = ("elementwise", "reduction", "scan")
SAMPLES = str(Path(__file__).parents[1] / "ops")


def new(words):
    """{name: interval} of the functions of one array, elementwise or along axes, with a forward, that are none of
    `words`.
    """
    found = {}
    for name, entry in TABLE.items():
        smooth = entry.kind in KINDS and entry.derivative in ("nonlinear", "linear")
        if smooth and required(entry) == ["x"] and entry.forward and not name.startswith("_"):
            interval = None if name in words else where(name)
            if interval is not None:
                found[name] = interval
    return found


def together(words):
    """{name: arrays of a sample, as lists} of the functions of several arrays and one result, on cores of axes, with a
    forward, that are none of `words`.
    """
    found = {}
    for name, entry in TABLE.items():
        several = len(entry.rules) > 1 and required(entry) == list(entry.rules) and not entry.results
        if entry.kind == "core" and several and entry.forward and not name.startswith("_") and name not in words:
            real = [s for s in samples_of(name) if s.expected is None and all(a.dtype.kind == "f" for a in s.arrays)]
            arrays = [[a.tolist() for a in s.arrays] for s in real if len(s.arrays) == len(entry.rules)]
            if arrays:
                found[name] = arrays[0]
    return found


def required(entry):
    """Names of the parameters that have to be given."""
    parts = [part.strip() for part in entry.signature.split(",")]
    return [part for part in parts if part not in ("/", "*") and "=" not in part]


def fewest_axes(name):
    """How many axes an argument has to have."""
    return 0 if axis_parameter(TABLE[name]) is None else 1


def options(g, name, argument):
    """What a call of a function gives beside its argument: an axis that the register `argument` has, and keepdims."""
    entry = TABLE[name]
    along = axis_parameter(entry)
    if along is None:
        return ""
    group = any(dim.endswith("*") for dim in structure_of(entry).operands[0].dims)
    axis = g.axes(argument) if group else g.axis(argument)
    return f", {along}={axis}" + (g.keepdims() if "keepdims" in entry.signature else "")


def samples_of(name):
    if SAMPLES not in sys.path:
        sys.path.append(SAMPLES)
    from samples import samples

    return samples(name)


def where(name):
    """The interval on which a function is used; None where its samples leave none."""
    real = [s for s in samples_of(name) if len(s.arrays) == 1 and s.arrays[0].dtype.kind == "f"]
    points = np.concatenate([s.arrays[0].ravel() for s in real if s.expected is None] or [np.zeros(0)])
    kinks = np.concatenate([s.arrays[0].ravel() for s in real if s.expected is not None] or [np.zeros(0)])
    if not points.size:
        return None
    inner = kinks[(kinks > points.min()) & (kinks < points.max())]
    low, high = max(pairwise(np.unique([points.min(), *inner, points.max()])), key=np.ptp, default=(0.0, 0.0))
    low, high = round(float(low) + MARGIN, 3), round(float(high) - MARGIN, 3)
    return (low, high) if low + MARGIN < high else None


def reference(space, name):
    """The function `name` by the table's forward, or None; `space` is the namespace it gets."""
    entry = TABLE.get(name)
    if entry is None or not entry.forward:
        return None
    return lambda *arrays, **options: entry.forward(space, *OPS[name].bind(arrays, options))


def path(name):
    """The function's name in the public namespace."""
    return f"special.{name}" if TABLE[name].chapter == "special" else name
