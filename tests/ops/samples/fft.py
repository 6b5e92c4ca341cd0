"""Samples of the Fourier transforms."""

import itertools

import numpy as np

from samples._case import case, cplx, real

NORMS = ("backward", "ortho", "forward")


def _call(name, **options):
    return lambda xp, x: getattr(xp.fft, name)(x, **options)


def _one(name, make, lengths):
    cases = []
    for n, norm in itertools.product(lengths, NORMS):
        cases.append(case(f"n={n}, {norm}", _call(name, n=n, norm=norm), make(4)))
    cases += [case(f"axis={axis}", _call(name, axis=axis), make(3, 4, seed=2)) for axis in (0, 1, -1, -2)]
    cases.append(case("n and axis", _call(name, n=5, axis=0), make(3, 2)))
    return cases


def _many(name, make):
    variants = [
        {},
        {"axes": (0,)},
        {"axes": (1, 0)},
        {"axes": (-1,), "s": (3,)},
        {"axes": (0, 1), "s": (4, 5)},
        {"axes": (0, 1), "s": (2, 2)},
        *({"axes": (0, 1), "norm": norm} for norm in NORMS),
    ]
    cases = [case(str(options), _call(name, **options), make(3, 4)) for options in variants]
    cases.append(case("three axes", _call(name, axes=(0, 2)), make(2, 2, 3)))
    return cases


SAMPLES = {
    "fft": _one("fft", cplx, (None, 2, 3, 4, 7)),
    "ifft": _one("ifft", cplx, (None, 2, 3, 4, 7)),
    "rfft": _one("rfft", real, (None, 1, 2, 3, 5, 8)),
    "irfft": _one("irfft", cplx, (None, 1, 2, 3, 5, 6, 9)),
    "hfft": _one("hfft", cplx, (None, 1, 2, 3, 5, 6, 9)),
    "ihfft": _one("ihfft", real, (None, 1, 2, 3, 5, 8)),
    "fftn": _many("fftn", cplx),
    "ifftn": _many("ifftn", cplx),
    "rfftn": _many("rfftn", real),
    "irfftn": _many("irfftn", cplx),
}
for _name in ("fftshift", "ifftshift"):
    SAMPLES[_name] = [
        case(f"axes={axes}", _call(_name, axes=axes), real(3, 4)) for axes in (None, 0, -1, (0, 1), (1,))
    ] + [case("complex", _call(_name), cplx(5)), case("empty", _call(_name), np.zeros(0))]
