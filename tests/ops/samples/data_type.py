"""Samples of the data type functions."""

from samples._case import case, cplx, real

SAMPLES = {
    "astype": [
        case("same dtype", lambda xp, x: xp.astype(x, xp.float64), real(3)),
        case("no copy", lambda xp, x: xp.astype(x, x.dtype, copy=False), real(3)),
        case("to complex", lambda xp, x: xp.astype(x, xp.complex128), real(2, 2)),
        case("complex", lambda xp, x: xp.astype(x, xp.complex128), cplx(3)),
    ]
}
