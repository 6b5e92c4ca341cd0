"""Samples of scipy.special: orthogonal polynomials, Legendre functions, factorials.

May import: numpy, scipy_samples.
"""

import numpy as np
from scipy_samples import SIGNED, UNIT, A, B, X, sample

DEGREES = np.array([0, 1, 2, 5])

sample("special.eval_chebyc special.eval_chebys special.eval_sh_chebyu", UNIT, call=lambda f, x: f(DEGREES, x))
sample("special.eval_sh_jacobi", UNIT, call=lambda f, x: f(4, 2.7, 1.2, x))
sample("special.assoc_laguerre", X, call=lambda f, x: f(x, 3, 1.4))
sample("special.lpmv", UNIT, call=lambda f, x: f(np.array([0, 1, 2, 0]), np.array([2, 3, 3, 1.5]), x), rtol=1e-6)
for _order in (0, 1, 2):
    sample("special.legendre_p", UNIT, call=lambda f, z, k=_order: f(DEGREES, z, diff_n=k))
    sample("special.legendre_p_all", UNIT, call=lambda f, z, k=_order: f(4, z, diff_n=k))
    sample("special.assoc_legendre_p", UNIT, call=lambda f, z, k=_order: f(4, np.array([0, 1, 3, -2]), z, diff_n=k))
    sample("special.assoc_legendre_p_all", UNIT, call=lambda f, z, k=_order: f(3, 2, z, diff_n=k))
    sample("special.sph_legendre_p", X, call=lambda f, t, k=_order: f(4, np.array([0, 1, 3, -2]), t, diff_n=k))
    sample("special.sph_legendre_p_all", X, call=lambda f, t, k=_order: f(3, 2, t, diff_n=k))
sample("special.assoc_legendre_p", UNIT, call=lambda f, z: f(4, 2, z, norm=True))
sample("special.assoc_legendre_p", 1.0 + X, call=lambda f, z: f(4, 2, z, branch_cut=3))
sample("special.legendre_p_all special.assoc_legendre_p_all", 0.4,
       call=lambda f, z: f(3, z) if f.__name__ == "legendre_p_all" else f(3, 2, z))  # fmt: skip
sample("special.sph_harm_y_all", X, B, call=lambda f, theta, phi: f(3, 2, theta, phi))
# Beyond [0, pi] the values are those of the angle there that has the same cosine.
sample("special.sph_harm_y", np.array([4.1, -0.5, 7.0, -4.0]), 0.3, call=lambda f, theta, phi: f(3, 2, theta, phi))
sample("special.sph_harm_y_all", np.array([4.1, -0.5, 7.0, -4.0]), np.full(4, 0.3),
       call=lambda f, theta, phi: f(3, 2, theta, phi))  # fmt: skip
sample("special.comb special.perm", 3.0 + A, B)
sample("special.comb", 3.0 + A, B, call=lambda f, n, k: f(n, k, repetition=True))
sample("special.factorial", B)
sample("special.diric", SIGNED, call=lambda f, x: f(x, 5))
sample("special.diric", np.array([0.0, 2.0 * np.pi, 1e-9, 3.0]), call=lambda f, x: f(x, 4), step=1e-3)
