"""Samples of scipy.fftpack: every transform and operator, with every parameter.

May import: numpy, scipy_samples.
"""

import numpy as np
from scipy_samples import sample, spread

REAL, ODD, MATRIX = spread(6), spread(5, seed=1), spread(4, 5, seed=2)
COMPLEX = REAL + 1j * spread(6, seed=3)

for _name in ("fft", "ifft", "rfft", "irfft"):
    for _options in ({}, {"n": 4}, {"n": 5}, {"n": 8}, {"n": 9}):
        sample(f"fftpack.{_name}", REAL, call=lambda f, x, o=_options: f(x, **o))
        sample(f"fftpack.{_name}", ODD, call=lambda f, x, o=_options: f(x, **o))
    sample(f"fftpack.{_name}", MATRIX, call=lambda f, x: (f(x, axis=0), f(x, 3, 1), f(x, 6, 0)))
sample("fftpack.fft fftpack.ifft", COMPLEX)
sample("fftpack.rfft fftpack.irfft", np.array([0.7]))
sample("fftpack.rfft fftpack.irfft", np.array([0.7, -0.3]))
for _options in ({}, {"shape": (3, 6)}, {"shape": (6, -1)}, {"axes": (0,)}, {"shape": (3,), "axes": (0,)}):
    sample("fftpack.fftn fftpack.ifftn", MATRIX, call=lambda f, x, o=_options: f(x, **o))
sample("fftpack.fft2 fftpack.ifft2", MATRIX, call=lambda f, x: (f(x), f(x, (3, 6)), f(x, axes=(1, 0))))
for _name in ("dct", "idct", "dst", "idst"):
    for _type in (1, 2, 3, 4):
        for _norm in (None, "ortho"):
            sample(f"fftpack.{_name}", REAL, call=lambda f, x, t=_type, m=_norm: (f(x, t, norm=m), f(x, t, 4, norm=m)))
            sample(f"fftpack.{_name}n", MATRIX, call=lambda f, x, t=_type, m=_norm: (
                f(x, t, norm=m), f(x, t, (3, 6), norm=m), f(x, t, axes=(0,), norm=m)))  # fmt: skip
    sample(f"fftpack.{_name}", MATRIX, call=lambda f, x: (f(x, axis=0), f(x, 3, 7, 1)))

H, PERIOD, A, B = np.array(0.4), np.array(2.7), np.array(0.3), np.array(0.55)
for _x in (REAL, ODD, COMPLEX):
    for _order in (-3, -2, -1, 0, 1, 2, 3, 4):
        sample("fftpack.diff", _x, call=lambda f, x, n=_order: f(x, n))
        sample("fftpack.diff", _x, PERIOD, call=lambda f, x, p, n=_order: f(x, n, p))
    sample("fftpack.hilbert fftpack.ihilbert", _x)
    for _name in ("tilbert", "itilbert", "shift"):
        sample(f"fftpack.{_name}", _x, H)
        sample(f"fftpack.{_name}", _x, H, PERIOD)
    for _name in ("cs_diff", "sc_diff", "ss_diff", "cc_diff"):
        sample(f"fftpack.{_name}", _x, A, B)
        sample(f"fftpack.{_name}", _x, A, B, PERIOD)
sample("fftpack.rfftfreq", np.array(0.3), call=lambda f, d: (f(5, d), f(6, d)))
