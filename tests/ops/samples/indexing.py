"""Samples of the indexing functions."""

import itertools

from samples._case import case, cplx, kink, real


def _take(indices, **options):
    return lambda xp, x: xp.take(x, xp.asarray(indices), **options)


def _along(indices, **options):
    return lambda xp, x: xp.take_along_axis(x, xp.asarray(indices), **options)


SAMPLES = {
    "take": [
        case("one axis", _take([2, 0]), real(3)),
        case("repeated", _take([2, 0, 2, 2]), real(3)),
        case("negative", _take([-1, 0, 2]), real(3)),
        *(case(f"axis={axis}", _take([1, 0, 1], axis=axis), real(2, 3, 2)) for axis in (0, 1, 2, -1, -2)),
        case("complex", _take([1, 1, 0]), cplx(3)),
        kink("repeats add", _take([1, 1, 0]), [[5.0, 6.0, 7.0]], [[1.0, 2.0, 0.0]]),
    ],
    "take_along_axis": [
        case("last axis", _along([[2, 0], [1, 1]]), real(2, 3)),
        case("axis 0", _along([[1, 0, 1]], axis=0), real(2, 3)),
        case("broadcast indices", _along([[2, 0, 2, 1]], axis=1), real(2, 3)),
        case("complex", _along([[1, 1, 0]]), cplx(1, 2)),
        *(
            case(f"axis={axis}, repeated={i}", _along([[[i], [0]], [[1], [i]]], axis=axis), real(2, 2, 1))
            for axis, i in itertools.product((0, 1), (0, 1))
        ),
        kink("repeats add", _along([[1, 1, 0]]), [[[5.0, 6.0]]], [[[1.0, 2.0]]]),
    ],
}
