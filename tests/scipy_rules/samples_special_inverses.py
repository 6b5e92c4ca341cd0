"""Samples of scipy.special: inverses of distribution functions, noncentral ones, Kolmogorov and Smirnov.

May import: numpy, scipy_samples, SciPy.
"""

import numpy as np
from scipy import special
from scipy_samples import SIGNED, UNIT, A, B, X, sample, spread

# SciPy finds these by iteration, to about 1e-10.
FOUND = {"rtol": 1e-6, "rtol2": 1e-5, "step": 5e-3}
LOOSE = {"rtol": 2e-3, "rtol2": 2e-2, "step": 5e-3}
AT = np.array([3.1, 2.4, 4.2, 3.6])
INNER = spread(4, low=0.25, high=0.75, seed=11)

sample("special.gdtria special.btdtria", UNIT, A, INNER, **FOUND)
sample("special.gdtrib special.btdtrib", A, UNIT, INNER, **FOUND)
sample("special.gdtrix", A, B, UNIT, **FOUND)
sample("special.chdtriv", INNER, 3.0 * A, **FOUND)
sample("special.pdtrik", INNER, 3.0 * A, **FOUND)
sample("special.bdtrik special.nbdtrik", INNER, 4.0 * A, UNIT, **FOUND)
sample("special.bdtrin", A, INNER, INNER, **FOUND)
sample("special.nbdtrin", 3.0 * A, INNER, INNER, **FOUND)
sample("special.fdtri", A, 2.0 * B, UNIT, **FOUND)
sample("special.fdtridfd", A, np.array([0.6, 0.65, 0.7, 0.62]), np.array([1.4, 1.6, 2.1, 1.5]), **FOUND)
sample("special.stdtridf", np.array([0.80, 0.85, 0.82, 0.83]), np.array([1.4, 1.5, 1.2, 1.35]), **FOUND)
sample("special.nrdtrimn", UNIT, A, X)
sample("special.nrdtrisd", A, np.array([0.65, 0.8, 0.9, 0.7]), A + X, step=3e-3)
sample("special.chndtr", 2.0 * X, A, 2.0 * B, rtol=1e-6)
sample("special.chndtridf", AT, special.chndtr(AT, A, B), B, **FOUND)
sample("special.chndtrinc", AT, A, special.chndtr(AT, A, B), **FOUND)
sample("special.chndtrix", UNIT, A, 2.0 * B, **FOUND)
sample("special.ncfdtr", 2.0 * A, 3.0 * B, 2.0 * X, A, rtol=1e-6)
F_OF = special.ncfdtr(A, 4.0 * B, X, 2.0 * X)
sample("special.ncfdtri", A, 4.0 * B, X, F_OF, **FOUND)
# These have several solutions, and SciPy stops within 1e-5 of one.
sample("special.ncfdtridfd", A[1], F_OF[1], X[1], 2.0 * X[1], **LOOSE)
sample("special.ncfdtridfn", F_OF[1], 4.0 * B[1], X[1], 2.0 * X[1], **LOOSE)
sample("special.ncfdtrinc", A[1], 4.0 * B[1], F_OF[1], 2.0 * X[1], **LOOSE)
sample("special.nctdtr", 2.0 * A, SIGNED, SIGNED + 0.7, rtol=1e-6)
T_OF = special.nctdtr(A, SIGNED, 2.0 + SIGNED)
sample("special.nctdtridf", special.nctdtr(1.5, 0.3, 2.5), 0.3, 2.5, **LOOSE)
sample("special.nctdtrinc", A, T_OF, 2.0 + SIGNED, **LOOSE)
sample("special.nctdtrit", 2.0 * A, SIGNED, UNIT, **FOUND)
sample("special.kolmogorov", spread(4, low=0.3, high=1.8), step=3e-3)
sample("special.kolmogi", UNIT, step=3e-3, rtol=1e-6)
sample("special.smirnov", INNER, call=lambda f, d: f(np.array([3, 5, 8, 12]), d), step=1e-3)
sample("special.smirnovi", UNIT, call=lambda f, p: f(np.array([3, 5, 8, 12]), p), step=1e-4, rtol=1e-6, rtol2=1e-5)
sample("special.tklmbda", 0.5 * SIGNED, 0.3 * A, rtol=1e-6, step=5e-3)
sample("special.tklmbda", 0.5 * SIGNED, np.full(4, 1e-3), rtol=1e-6, step=1e-4)
