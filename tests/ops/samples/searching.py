"""Samples of the searching functions."""

import numpy as np

from samples._case import case, cplx, kink, real


def _where(xp, x1, x2):
    return xp.where(xp.asarray([True, False, True]), x1, x2)


SAMPLES = {
    "where": [
        case("same shape", _where, real(3), real(3, seed=1)),
        case("broadcast", _where, real(2, 1), real(3, seed=1)),
        case("condition broadcasts", lambda xp, x, y: xp.where(xp.asarray([[True], [False]]), x, y), real(3), real()),
        case("scalar second", lambda xp, x: _where(xp, x, 2.0), real(3)),
        case("scalar first", lambda xp, x: _where(xp, 2.0, x), real(3)),
        case("complex", _where, cplx(3), cplx(3, seed=1)),
        case("complex and real", _where, cplx(3), real(3, seed=1)),
        case("condition from the array", lambda xp, x: xp.where(x > 0, xp.exp(x), x * x), real(4)),
        case("empty", lambda xp, x: xp.where(x > 0, x, 0.0), np.zeros((0, 2))),
        kink("not multiplied", lambda xp, x: xp.where(x > 0, x, -x), [[np.inf, -np.inf]], [[1.0, -1.0]]),
    ]
}
