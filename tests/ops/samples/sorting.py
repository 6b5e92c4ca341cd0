"""Samples of the sorting functions."""

import itertools

import numpy as np

from samples._case import case, kink, real


def _weighted(xp, y):
    """Makes places distinguishable: the sum of a sorted array does not depend on its order."""
    return y * (xp.arange(y.shape[0], dtype=y.dtype) + 1)


def _sort(**options):
    return lambda xp, x: xp.sort(x, **options)


SAMPLES = {
    "sort": [
        *(
            case(f"axis={axis}, descending={descending}", _sort(axis=axis, descending=descending), real(3, 4))
            for axis, descending in itertools.product((-1, 0, 1), (False, True))
        ),
        case("not stable", _sort(stable=False), real(5)),
        case("three axes", _sort(axis=1), real(2, 3, 2)),
        case("empty", _sort(), np.zeros((2, 0))),
        kink("ties keep their order", lambda xp, x: _weighted(xp, xp.sort(x)), [[3.0, 1.0, 3.0]], [[2.0, 1.0, 3.0]]),
        kink(
            "descending ties",
            lambda xp, x: _weighted(xp, xp.sort(x, descending=True)),
            [[3.0, 1.0, 3.0]],
            [[1.0, 3.0, 2.0]],
        ),
    ]
}
