"""Samples of scipy.special.

May import: numpy, scipy_samples.
"""

import numpy as np
from scipy_samples import SIGNED, UNIT, A, B, X, sample, spread

Z = SIGNED[:3] + 1j * spread(3, seed=5)
FAR = spread(4, low=2.1, high=4.3, seed=3)

sample("special.exp2 special.exp10 special.cosm1 special.exprel special.softplus", SIGNED)
sample("special.exprel", spread(4, low=-0.3, high=0.3))
sample("special.sindg special.cosdg special.tandg special.cotdg", 20.0 + 30.0 * X)
sample("special.cbrt special.log1pmx special.spence special.wrightomega", X)
sample("special.spence", spread(4, low=0.95, high=1.05), step=1e-3)
sample("special.radian", X, A, B)
sample("special.huber special.pseudo_huber", A, 3.0 * SIGNED, step=1e-3)
sample("special.binom special.poch special.agm", A + 2.0, B)
sample("special.agm", 1.7, 1.7)
sample("special.boxcox special.boxcox1p", X, B)
sample("special.boxcox special.boxcox1p", X, np.full(4, 1e-3), step=1e-4)
sample("special.inv_boxcox special.inv_boxcox1p", X, B)
sample("special.inv_boxcox special.inv_boxcox1p", X, 1e-5, step=1e-5, rtol=1e-6)
sample("special.lambertw special.wofz special.spence", Z, step=3e-3)
sample("special.voigt_profile", SIGNED, A, B)
sample("special.sici special.shichi special.fresnel", X)
sample("special.ellipk special.ellipe special.ellipkm1", UNIT)
sample("special.ellipk special.ellipe", spread(4, low=-0.015, high=0.015), step=1e-3)
sample("special.ellipkm1", spread(4, low=0.985, high=1.015), step=1e-3)
sample("special.ellipkinc special.ellipeinc", X / 1.5, UNIT)
sample("special.ellipj", X, UNIT)
sample("special.ellipj", 4.0 + X, spread(4, low=0.008, high=0.018), step=5e-4)
sample("special.elliprf special.elliprd", A, B + 3.0, X)
sample("special.elliprc", A, B + 2.0)
sample("special.elliprg", A, B + 3.0, X)
sample("special.elliprj", A, B + 3.0, X, 6.0 + B)
sample("special.elliprc", A, A * 1.003, step=1e-3)
sample("special.elliprd", A, B + 3.0, A * 0.995, step=1e-3)
sample("special.elliprd special.elliprg special.elliprf", A, A, A, step=1e-3)
sample("special.elliprj", A, A, A, A, step=1e-3)
sample("special.powm1", X, SIGNED)
sample("special.zeta", 1.0 + A, call=lambda f, x: f(x))
sample("special.zeta", 1.0 + A, B)
sample("special.zetac", np.array([2.3, 5.1, 0.4, -1.5, -4.3, 1.4]))
sample("special.hyp0f1", SIGNED, call=lambda f, x: f(1.3, x))
sample("special.hyp1f1 special.hyperu", X, call=lambda f, x: f(0.7, 1.4, x))
sample("special.hyp2f1", UNIT, call=lambda f, x: f(0.7, 1.4, 2.2, x))
sample("special.logsumexp", SIGNED)
sample("special.logsumexp", spread(3, 4), spread(3, 4, seed=2), call=lambda f, a, b: f(a, axis=1, b=b, keepdims=True))
sample("special.logsumexp", SIGNED, np.array([0.4, -1.3, 0.6, -0.9]), call=lambda f, a, b: f(a, b=b, return_sign=True))

sample("special.kv special.kve", A, B)
sample("special.kv special.kve", SIGNED, spread(4, low=0.1, high=20.0))
sample("special.gammainc special.gammaincc", A, B)
sample("special.gammainc special.gammaincc", spread(4, low=8.0, high=20.0), spread(4, low=9.0, high=20.0, seed=1))
sample("special.betainc special.betaincc", A, B, UNIT)
sample("special.gammaincinv special.gammainccinv", A, UNIT, rtol=1e-6)
sample("special.betaincinv special.betainccinv", A, B, UNIT, rtol=1e-6)
sample("special.gdtr special.gdtrc", A, B, X)
sample("special.chdtr special.chdtrc", A, X)
sample("special.chdtri", A, UNIT, rtol=1e-6)
sample("special.pdtr special.pdtrc", X, call=lambda f, m: f(2.0, m))
sample("special.bdtr special.bdtrc", UNIT, call=lambda f, p: f(2.0, 5, p))
sample("special.nbdtr special.nbdtrc", UNIT, call=lambda f, p: f(2, 5, p))
sample("special.fdtr special.fdtrc", A, B, X)
sample("special.stdtr", A, SIGNED)
sample("special.stdtrit", A, UNIT, rtol=1e-6)
sample("special.fdtri", UNIT, call=lambda f, p: f(3.0, 5.0, p), rtol=1e-6)
sample("special.pdtri", UNIT, call=lambda f, p: f(2, p), rtol=1e-6)
sample("special.bdtri special.nbdtri", UNIT, call=lambda f, p: f(2, 5, p), rtol=1e-6)
sample("special.ndtri_exp", -A)
sample("special.owens_t", SIGNED, B)

sample("special.hankel1 special.hankel2 special.jve special.yve special.hankel1e special.hankel2e special.struve "
       "special.modstruve", FAR, call=lambda f, z: f(1.5, z))  # fmt: skip
sample("special.hankel1 special.hankel2 special.hankel1e special.hankel2e", Z + 1.0, call=lambda f, z: f(1.5, z))
sample("special.jvp special.yvp special.ivp special.kvp special.h1vp special.h2vp", FAR, call=lambda f, z: f(1.5, z, 2))
sample("special.airy", SIGNED)
sample("special.airy", Z)
sample("special.spherical_jn special.spherical_yn special.spherical_in special.spherical_kn", FAR,
       call=lambda f, z: f(2, z))  # fmt: skip
sample("special.spherical_jn special.spherical_yn special.spherical_in special.spherical_kn", FAR,
       call=lambda f, z: f(2, z, derivative=True))  # fmt: skip
sample("special.ber special.bei special.ker special.kei special.berp special.beip special.kerp special.keip", X)
sample("special.eval_legendre special.eval_chebyt special.eval_chebyu special.eval_laguerre special.eval_hermite "
       "special.eval_hermitenorm special.eval_sh_legendre special.eval_sh_chebyt", UNIT,
       call=lambda f, x: f(np.array([0, 1, 2, 5]), x))  # fmt: skip
sample("special.eval_gegenbauer special.eval_genlaguerre", UNIT, call=lambda f, x: f(4, 0.7, x))
sample("special.legendre_p", UNIT, call=lambda f, x: f(np.array([0, 1, 2, 5]), x))
sample("special.eval_jacobi", UNIT, call=lambda f, x: f(4, 0.7, 1.2, x))
sample("special.sph_harm_y", X, B, call=lambda f, theta, phi: f(3, 1, theta, phi))
sample("special.sph_harm_y", X, B, call=lambda f, theta, phi: f(3, -2, theta, phi))
sample("special.sph_harm_y", X, B, call=lambda f, theta, phi: f(2, 2, theta, phi))
