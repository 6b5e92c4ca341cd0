"""Samples of the creation functions that take arrays."""

import itertools

from samples._case import case, cplx, kink, real

SAMPLES = {
    "asarray": [
        case("identity", lambda xp, x: xp.asarray(x), real(3)),
        case("copy", lambda xp, x: xp.asarray(x, copy=True), real(3)),
        case("dtype", lambda xp, x: xp.asarray(x, dtype=xp.complex128), real(3)),
    ],
    "full": [
        case("fill value", lambda xp, v: xp.full((2, 3), v), real()),
        case("one axis", lambda xp, v: xp.full(4, v), real()),
        case("dtype", lambda xp, v: xp.full((2,), v, dtype=xp.complex128), real()),
        kink("adds up", lambda xp, v: xp.full((2, 3), v), [1.5], [6.0]),
    ],
    "full_like": [
        case("fill value", lambda xp, v: xp.full_like(xp.zeros((2, 2), dtype=v.dtype), v), real()),
    ],
    "arange": [
        case("start", lambda xp, a: xp.arange(a, 5.0, 1.5), 0.3),
        case("step", lambda xp, d: xp.arange(0.5, 5.0, d), 1.3),
        case("start and step", lambda xp, a, d: xp.arange(a, 5.0, d), 0.3, 1.3),
    ],
    "linspace": [
        case("both ends", lambda xp, a, b: xp.linspace(a, b, 5), 0.5, 2.0),
        case("start only", lambda xp, a: xp.linspace(a, 2.0, 4), 0.5),
        case("stop only", lambda xp, b: xp.linspace(0.0, b, 4), 0.5),
        case("without endpoint", lambda xp, a, b: xp.linspace(a, b, 4, endpoint=False), 0.5, 2.0),
    ],
    "meshgrid": [
        *(
            case(f"{len(n)} arrays, {indexing}", lambda xp, *a, i=indexing: xp.meshgrid(*a, indexing=i), *map(real, n))
            for indexing, n in itertools.product(("xy", "ij"), ((3,), (3, 2), (3, 2, 4)))
        ),
        case("one result used", lambda xp, x, y: xp.meshgrid(x, y)[0], real(3), real(2)),
        case("complex", lambda xp, x, y: xp.meshgrid(x, y), cplx(3), cplx(2)),
    ],
    "tril": [case(f"k={k}", lambda xp, x, k=k: xp.tril(x, k=k), real(3, 4)) for k in (-1, 0, 1)]
    + [case("stack", lambda xp, x: xp.tril(x), cplx(2, 3, 3))],
    "triu": [case(f"k={k}", lambda xp, x, k=k: xp.triu(x, k=k), real(3, 4)) for k in (-1, 0, 1)]
    + [case("stack", lambda xp, x: xp.triu(x), cplx(2, 3, 3))],
}
