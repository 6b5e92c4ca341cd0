"""Samples of the linear algebra functions of the main namespace."""

from samples._case import case, cplx, real


def _pairs(call, *shapes):
    cases = []
    for one, two in shapes:
        cases.append(case(f"{one} and {two}", call, real(*one), real(*two, seed=1)))
        cases.append(case(f"complex {one} and {two}", call, cplx(*one), cplx(*two, seed=1), order=1))
    one, two = shapes[0]
    cases.append(case("real and complex", call, real(*one), cplx(*two, seed=1)))
    cases.append(case("complex and real", call, cplx(*one), real(*two, seed=1)))
    return cases


def _tensordot(axes):
    return lambda xp, x1, x2: xp.tensordot(x1, x2, axes=axes)


def _vecdot(**options):
    return lambda xp, x1, x2: xp.vecdot(x1, x2, **options)


SAMPLES = {
    "matmul": _pairs(
        lambda xp, x1, x2: xp.matmul(x1, x2),
        ((2, 3), (3, 2)),
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((2, 2, 3), (3, 2)),
        ((2, 3), (2, 3, 1)),
        ((2, 1, 2, 3), (2, 3, 2)),
        ((3,), (2, 3, 2)),
        ((2, 2, 3), (3,)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 2)),
    )
    + [case("one array twice", lambda xp, x: xp.matmul(x, x), real(2, 2))],
    "tensordot": _pairs(_tensordot(2), ((2, 2, 3), (2, 3, 2)))
    + _pairs(_tensordot(1), ((2, 3), (3, 2)))
    + _pairs(_tensordot(0), ((2,), (3,)))
    + _pairs(_tensordot(((0, 2), (1, 0))), ((2, 3, 4), (4, 2, 2)))
    + _pairs(_tensordot(((2, 0), (0, 1))), ((2, 3, 4), (4, 2, 2)))
    + _pairs(_tensordot(((-1, 1), (1, -1))), ((2, 3, 2), (2, 2, 3)))
    + _pairs(_tensordot(((1,), (0,))), ((2, 3), (3, 2))),
    "vecdot": _pairs(_vecdot(), ((2, 3), (2, 3)), ((3,), (2, 3)), ((2, 1, 3), (2, 3)))
    + _pairs(_vecdot(axis=-2), ((3, 2), (3, 2)))
    + _pairs(_vecdot(axis=-1), ((3,), (3,))),
    "matrix_transpose": [
        case("matrix", lambda xp, x: xp.matrix_transpose(x), real(2, 3)),
        case("stack", lambda xp, x: xp.matrix_transpose(x), real(2, 2, 3)),
        case("complex", lambda xp, x: xp.matrix_transpose(x), cplx(2, 3)),
    ],
}
