"""A wave packet moved by the split-step Fourier method, 50 steps of 256 places; the gradient is that of the potential.

May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload

STEP = 0.05


def make(n: int, steps: int) -> Data:
    rng = np.random.default_rng(29)
    place = np.linspace(-1, 1, n, endpoint=False)
    packet = np.exp(-20 * place**2 + 3j * place)
    frequency = np.fft.fftfreq(n, 2 / n)
    kinetic = np.exp(-0.5j * STEP * frequency**2)
    constants = SimpleNamespace(packet=packet, kinetic=kinetic, steps=steps, weights=rng.normal(size=n))
    return Data([rng.normal(size=n)], constants)


def formula(library, data):
    xp, c = library.xp, data.constants
    packet, kinetic, weights = (library.constant(a) for a in (c.packet, c.kinetic, c.weights))

    def f(potential):
        turn = xp.exp(potential * (-1j * STEP))
        psi = packet
        for _ in range(c.steps):
            psi = xp.fft.ifft(kinetic * xp.fft.fft(turn * psi))
        return xp.sum(xp.real(psi * xp.conj(psi)) * weights)

    return f


def hand(data: Data) -> Run:
    (potential,), c = data.leaves, data.constants
    back = c.kinetic.conj()

    def run():
        fft, ifft = np.fft.fft, np.fft.ifft
        turn = np.exp(potential * (-1j * STEP))
        psi, before = c.packet, []
        for _ in range(c.steps):
            before.append(psi)
            spectrum = fft(turn * psi)
            spectrum *= c.kinetic
            psi = ifft(spectrum)
        value = np.sum((psi.real**2 + psi.imag**2) * c.weights)
        g, g_turn, turned_back = 2.0 * c.weights * psi, np.zeros_like(turn), turn.conj()
        for psi in reversed(before):
            spectrum = fft(g)
            spectrum *= back
            g = ifft(spectrum)
            g_turn += g * psi.conj()
            g *= turned_back
        g_turn *= turned_back
        g_turn *= 1j * STEP
        return [value, g_turn.real]

    return run


WORKLOADS = [
    Workload(
        name="split-step",
        title="split-step Fourier method, 50 steps of 256 places, complex128",
        bar=1.3,
        moonshot=1.0,
        data=lambda: make(256, 50),
        tiny=lambda: make(4, 3),
        formula=formula,
        hand=hand,
        without={"mygrad": "no FFT"},
    )
]
