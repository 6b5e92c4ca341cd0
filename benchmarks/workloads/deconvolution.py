"""FFT deconvolution, 512 x 512, float64: squared misfit of a blurred image to data.

y = irfftn(rfftn(x) * h), loss = sum((y - d)^2) with h the transfer function of a Gaussian blur (complex, constant).
hand: the gradient of the image is irfftn(conj(h) rfftn(2 (y - d))), with no scaling because both transforms are a pair.
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(n: int) -> Data:
    rng = np.random.default_rng(14)
    x, d = rng.normal(size=(2, n, n))
    u, v = np.fft.fftfreq(n)[:, None], np.fft.rfftfreq(n)[None]
    h = np.exp(-20 * (u * u + v * v)) * np.exp(-2j * np.pi * 0.3 * v)
    return Data([x], SimpleNamespace(d=d, h=h))


def formula(library, data):
    xp = library.xp
    d, h = library.constant(data.constants.d), library.constant(data.constants.h)
    shape = data.constants.d.shape
    axes = {"dim": (0, 1)} if library.name == "torch" else {"axes": (0, 1)}

    def f(x):
        r = xp.fft.irfftn(xp.fft.rfftn(x, **axes) * h, s=shape, **axes) - d
        return xp.sum(r * r)

    return f


def hand(data: Data) -> Run:
    (x,), d, h = data.leaves, data.constants.d, data.constants.h
    conjugate = h.conj()
    axes = (0, 1)

    def run():
        spectrum = np.fft.rfftn(x, axes=axes)
        spectrum *= h
        r = np.fft.irfftn(spectrum, s=x.shape, axes=axes)
        r -= d
        loss = np.vdot(r, r)
        r *= 2
        spectrum = np.fft.rfftn(r, axes=axes)
        spectrum *= conjugate
        return [loss, np.fft.irfftn(spectrum, s=x.shape, axes=axes)]

    return run


WORKLOADS = [
    Workload(
        name="deconvolution",
        title="FFT deconvolution, 512 x 512, float64",
        bar=1.1,
        moonshot=1.0,
        data=lambda: make(512),
        tiny=lambda: make(4),
        formula=formula,
        hand=hand,
        without={"mygrad": "no FFT"},
    )
]
