"""Samples of the utility functions."""

import numpy as np

from samples._case import case, cplx, real


def _diff(**options):
    return lambda xp, x: xp.diff(x, **options)


SAMPLES = {
    "diff": [
        *(case(f"n={n}", _diff(n=n), real(5)) for n in (0, 1, 2, 4)),
        *(case(f"axis={axis}, n=2", _diff(axis=axis, n=2), real(3, 4)) for axis in (0, 1, -1, -2)),
        case("more differences than elements", _diff(n=4), real(3)),
        case("complex", _diff(n=2), cplx(4)),
        case("prepend", lambda xp, x, a: xp.diff(x, prepend=a), real(3), real(2, seed=1)),
        case("append", lambda xp, x, b: xp.diff(x, append=b), real(3), real(2, seed=1)),
        case(
            "prepend and append, n=2",
            lambda xp, x, a, b: xp.diff(x, axis=0, n=2, prepend=a, append=b),
            real(3, 2),
            real(1, 2, seed=1),
            real(2, 2, seed=2),
        ),
        case("everything prepended", lambda xp, x, a: xp.diff(x, n=4, prepend=a), real(2), real(1, seed=1)),
        case("empty", _diff(), np.zeros((0, 3))),
    ]
}
