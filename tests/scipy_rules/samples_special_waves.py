"""Samples of scipy.special: solutions of differential equations, integrals of Bessel functions.

May import: numpy, scipy_samples.
"""

import numpy as np
from scipy_samples import SIGNED, UNIT, A, X, sample, spread

FAR = spread(4, low=2.1, high=4.3, seed=3)
# Eigenvalues of the samples below, of pro_cv(1, 3, 1.7) and obl_cv(1, 3, 1.7).
PRO_VALUE, OBL_VALUE = 13.357362874978477, 10.665728417455476

sample("special.pbdv special.pbvv", SIGNED, call=lambda f, x: f(1.3, x))
sample("special.pbwa", X, call=lambda f, x: f(0.7, x), rtol=1e-6, rtol2=1e-6)
sample("special.mathieu_cem special.mathieu_sem", 50.0 * X, call=lambda f, x: f(np.array([1, 2, 2, 3]), 1.7, x))
sample("special.mathieu_modcem1 special.mathieu_modcem2 special.mathieu_modsem1 special.mathieu_modsem2", X,
       call=lambda f, x: f(np.array([1, 2, 2, 3]), 1.7, x), rtol=1e-6)  # fmt: skip
sample("special.mathieu_a special.mathieu_b", A, call=lambda f, q: f(np.array([1, 2, 5, 6]), q), second=False)
sample("special.pro_ang1 special.obl_ang1", UNIT, call=lambda f, x: f(1, 3, 1.7, x))
sample("special.pro_rad1 special.pro_rad2", FAR, call=lambda f, x: f(1, 3, 1.7, x), rtol=1e-5, rtol2=1e-5)
sample("special.obl_rad1 special.obl_rad2", FAR, call=lambda f, x: f(1, 3, 1.7, x), rtol=1e-5, rtol2=1e-5)
sample("special.pro_ang1_cv", UNIT, call=lambda f, x: f(1, 3, 1.7, PRO_VALUE, x))
sample("special.obl_ang1_cv", UNIT, call=lambda f, x: f(1, 3, 1.7, OBL_VALUE, x))
sample("special.pro_rad1_cv special.pro_rad2_cv", FAR, call=lambda f, x: f(1, 3, 1.7, PRO_VALUE, x), rtol=1e-5,
       rtol2=1e-5)  # fmt: skip
sample("special.obl_rad1_cv special.obl_rad2_cv", FAR, call=lambda f, x: f(1, 3, 1.7, OBL_VALUE, x), rtol=1e-5,
       rtol2=1e-5)  # fmt: skip
sample("special.pro_cv special.obl_cv", A, call=lambda f, c: f(1, 3, c), second=False, rtol=1e-6)
sample("special.kelvin", X)
sample("special.airye", X)
sample("special.airye", -X, call=lambda f, z: f(z)[3])
sample("special.itj0y0 special.iti0k0 special.it2j0y0 special.it2i0k0", X, rtol=1e-6)
sample("special.it2j0y0 special.it2i0k0", spread(4, low=0.6, high=2.5), rtol=1e-6)
sample("special.itairy", X, rtol=1e-6)
sample("special.itstruve0 special.it2struve0 special.itmodstruve0", X, rtol=1e-6)
sample("special.modfresnelp special.modfresnelm", X, rtol=1e-6)
for _order in (0.0, 0.4, 1.0, 2.5):
    sample("special.besselpoly", X, call=lambda f, a, nu=_order: f(a, 0.7, nu))
sample("special.wright_bessel special.log_wright_bessel", X, call=lambda f, x: f(0.7, 1.2, x))
sample("special.lqn special.riccati_jn special.riccati_yn", 0.6, call=lambda f, x: f(3, x))
sample("special.lqmn", 0.6, call=lambda f, x: f(2, 3, x))
sample("special.lmbda", 0.6, call=lambda f, x: f(2.3, x))
sample("special.pbdv_seq special.pbvv_seq", 0.6, call=lambda f, x: f(2.3, x))
