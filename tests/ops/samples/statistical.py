"""Samples of the statistical functions."""

import itertools

import numpy as np

from samples._case import case, cplx, kink, real

AXES = (None, 0, 1, -1, (0, 1), (1,), (-1, 0), ())


def _reductions(name, make=real, axes=AXES, **options):
    """Every axis with and without keepdims, over two axes and three, a 0-d array and an empty one."""
    cases = []
    for axis, keepdims in itertools.product(axes, (False, True)):
        call = _call(name, axis=axis, keepdims=keepdims, **options)
        cases.append(case(f"axis={axis}, keepdims={keepdims}", call, make(2, 3)))
    call = _call(name, axis=(0, 2), **options)
    cases.append(case("three axes", call, make(2, 3, 2)))
    return cases


def _call(name, **options):
    return lambda xp, x: getattr(xp, name)(x, **options)


def _zero_d(name):
    return [case("0-d", _call(name), real()), case("0-d, keepdims", _call(name, keepdims=True), real())]


def _empty(name):
    return [
        case("empty", _call(name, axis=1), np.zeros((0, 2))),
        case("nothing", _call(name, axis=0), np.zeros((0, 2))),
    ]


def _complex(name, **options):
    return [
        case("complex", _call(name), cplx(2, 3), **options),
        case("complex, axis=1", _call(name, axis=1), cplx(2, 3), **options),
    ]


SAMPLES = {
    "sum": _reductions("sum") + _zero_d("sum") + _empty("sum") + _complex("sum"),
    "mean": _reductions("mean") + _zero_d("mean") + _complex("mean"),
    "prod": _reductions("prod") + _zero_d("prod") + _empty("prod") + _complex("prod"),
    "max": _reductions("max") + _zero_d("max"),
    "min": _reductions("min") + _zero_d("min"),
    "var": _reductions("var", axes=AXES[:-1]) + _complex("var", standard=False),
    "std": _reductions("std", axes=AXES[:-1]) + _complex("std", standard=False),
}
for _name in ("sum", "prod"):
    SAMPLES[_name].append(
        case("dtype", lambda xp, x, name=_name: getattr(xp, name)(x, dtype=xp.complex128), real(3), single=False)
    )
SAMPLES["mean"].append(case("empty", _call("mean", axis=1), np.zeros((0, 2))))
SAMPLES["prod"] += [
    case("one zero", _call("prod"), [2.0, 0.0, 3.0]),
    case("two zeros", _call("prod"), [2.0, 0.0, 3.0, 0.0]),
    case("zeros along an axis", _call("prod", axis=0), [[2.0, 0.0, 1.5], [0.0, 0.0, 3.0], [1.1, 2.0, 0.7]]),
    case("complex zero", _call("prod"), [2.0 + 1j, 0j, 1.0 - 3j]),
    kink("known", _call("prod"), [[2.0, 0.0, 3.0]], [[0.0, 6.0, 0.0]]),
]
SAMPLES["max"] += [
    kink("ties share", _call("max"), [[3.0, 1.0, 3.0]], [[0.5, 0.0, 0.5]]),
    kink("ties share over both axes", _call("max"), [[[3.0, 3.0], [3.0, 0.0]]], [[[1 / 3, 1 / 3], [1 / 3, 0.0]]]),
    kink("ties in one row", _call("max", axis=1), [[[3.0, 3.0], [3.0, 0.0]]], [[[0.5, 0.5], [1.0, 0.0]]]),
]
SAMPLES["min"] += [
    kink("ties share", _call("min"), [[1.0, 3.0, 1.0]], [[0.5, 0.0, 0.5]]),
]
for _name in ("var", "std"):
    SAMPLES[_name] += [
        case("correction=1", _call(_name, correction=1), real(4)),
        case("correction=1.5", _call(_name, axis=0, correction=1.5, keepdims=True), real(4, 2)),
    ]
SAMPLES["var"].append(case("0-d", _call("var"), real()))
SAMPLES["std"] += [
    kink("constant", _call("std"), [[2.0, 2.0, 2.0]], [[0.0, 0.0, 0.0]]),
    kink("one constant row", _call("std", axis=1), [[[2.0, 2.0], [0.0, 2.0]]], [[[0.0, 0.0], [-0.5, 0.5]]]),
]


def _scans(name):
    cases = [
        case("one axis", _call(name), real(4)),
        case("include_initial", _call(name, include_initial=True), real(4)),
        case("complex", _call(name), cplx(4)),
        case("single element", _call(name), real(1)),
        case("dtype", lambda xp, x: getattr(xp, name)(x, dtype=xp.complex128), real(3), single=False),
        case("empty", _call(name), np.zeros(0)),
    ]
    for axis, initial in itertools.product((0, 1, -1), (False, True)):
        label = f"axis={axis}, include_initial={initial}"
        cases.append(case(label, _call(name, axis=axis, include_initial=initial), real(2, 3)))
    return cases


SAMPLES["cumulative_sum"] = _scans("cumulative_sum")
SAMPLES["cumulative_prod"] = _scans("cumulative_prod") + [
    case("one zero", _call("cumulative_prod"), [2.0, 0.0, 3.0, 1.5]),
    case("two zeros", _call("cumulative_prod"), [2.0, 0.0, 3.0, 0.0, 1.5]),
    case("long", _call("cumulative_prod"), real(9, low=0.5, high=1.5)),
    kink("known", _call("cumulative_prod"), [[2.0, 0.0, 3.0]], [[1.0, 8.0, 0.0]]),
]
