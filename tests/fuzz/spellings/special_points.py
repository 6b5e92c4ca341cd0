"""Special functions at special points: zero, integers and ends, where formulas divide by what is zero there.

The class: a function of scipy.special of one number that is smooth at such a point, perhaps with parameters at their
own special values; first and second derivatives by differences of SciPy's values.
"""

import numpy as np
import scipy.special as theirs

import arraygrad.scipy.special as ours
from arraygrad.scipy import NotDifferentiable

from .spelling import Spelling

ANYWHERE = (0.0, 1.0, -1.0, 2.0, 0.5, -2.0)
RIGHT = (1.0, 2.0, 0.5, 3.0)
# name -> (call of the module, an argument and an order, where it is smooth, orders)
FUNCTIONS = {
    "shichi": (lambda m, x, n: m.shichi(x)[0], ANYWHERE, (0,)),
    "sici": (lambda m, x, n: m.sici(x)[0], ANYWHERE, (0,)),
    "sinc": (lambda m, x, n: m.sinc(x), ANYWHERE, (0,)),
    "exprel": (lambda m, x, n: m.exprel(x), ANYWHERE, (0,)),
    "spence": (lambda m, x, n: m.spence(x), RIGHT, (0,)),
    "rgamma": (lambda m, x, n: m.rgamma(x), ANYWHERE, (0,)),
    "cosm1": (lambda m, x, n: m.cosm1(x), ANYWHERE, (0,)),
    "pseudo_huber": (lambda m, x, n: m.pseudo_huber(1.0 + n, x), ANYWHERE, (0, 1, 2)),
    "huber": (lambda m, x, n: m.huber(2.5 + n, x), ANYWHERE, (0, 1)),
    "beta": (lambda m, x, n: m.beta(x, 0.5 + n), (-0.5, -1.5, 0.5, 2.0), (0, 1)),
    "spherical_jn": (lambda m, x, n: m.spherical_jn(n, x), ANYWHERE, (0, 1, 2, 3)),
    "spherical_in": (lambda m, x, n: m.spherical_in(n, x), ANYWHERE, (0, 1, 2, 3)),
    "spherical_yn": (lambda m, x, n: m.spherical_yn(n, x), RIGHT, (0, 1, 2)),
    "spherical_kn": (lambda m, x, n: m.spherical_kn(n, x), RIGHT, (0, 1, 2)),
    "jv": (lambda m, x, n: m.jv(n, x), ANYWHERE, (0, 1, 2, 3)),
    "iv": (lambda m, x, n: m.iv(n, x), ANYWHERE, (0, 1, 2, 3)),
    "struve": (lambda m, x, n: m.struve(n, x), ANYWHERE, (0, 1, 2)),
    "modstruve": (lambda m, x, n: m.modstruve(n, x), ANYWHERE, (0, 1, 2)),
    "ber": (lambda m, x, n: m.ber(x), ANYWHERE, (0,)),
    "bei": (lambda m, x, n: m.bei(x), ANYWHERE, (0,)),
    "berp": (lambda m, x, n: m.berp(x), ANYWHERE, (0,)),
    "gammainc": (lambda m, x, n: m.gammainc(1.0 + n, x), RIGHT, (0, 1, 2)),
    "ellipk": (lambda m, x, n: m.ellipk(x), (0.0, 0.5, -1.0), (0,)),
    "ellipe": (lambda m, x, n: m.ellipe(x), (0.0, 0.5, -1.0), (0,)),
    "boxcox": (lambda m, x, n: m.boxcox(2.0, x), ANYWHERE, (0,)),
    "inv_boxcox": (lambda m, x, n: m.inv_boxcox(0.25, x), ANYWHERE, (0,)),
    "besselpoly": (lambda m, x, n: m.besselpoly(x, 1.0, float(n)), ANYWHERE, (0, 1, 2)),
}
DEGREES = (-5, -3, -2, -1, 0, 1, 2, 3)  # SciPy has polynomials of degrees below zero, too
for _name in ("legendre", "chebyt", "chebyu", "chebyc", "chebys", "sh_legendre", "sh_chebyt", "sh_chebyu", "laguerre"):
    FUNCTIONS[f"eval_{_name}"] = (
        lambda m, x, n, _name=f"eval_{_name}": getattr(m, _name)(n, x), ANYWHERE, DEGREES
    )  # fmt: skip
# name -> parameters, differentiated once
BY_PARAMETERS = {"hyp0f1": 2, "hyp1f1": 3, "hyp2f1": 4}


def draw(rng):
    if rng.random() < 0.25:
        name = str(rng.choice(list(BY_PARAMETERS)))
        given = [np.array(v) for v in rng.choice([0.5, 1.0, 1.5, 2.0, 3.5, -0.5], size=BY_PARAMETERS[name] - 1)]
        arrays = (*given, np.array(float(rng.choice([-3.0, -0.5, 0.0, 0.25, 0.75]))))
        calls = (getattr(ours, name), getattr(theirs, name))
        what = f"special.{name}{tuple(map(float, arrays))}"
        return Spelling(what, *calls, arrays, rtol=1e-5, may_refuse=(NotDifferentiable,))  # too few digits
    name = str(rng.choice(list(FUNCTIONS)))
    call, points, orders = FUNCTIONS[name]
    n = int(rng.choice(orders))
    x = rng.choice(points, size=rng.integers(1, 4))
    what = f"special.{name} of {x!r}, order {n}"
    calls = (lambda x: call(ours, x, n), lambda x: call(theirs, x, n))
    return Spelling(what, *calls, (x,), order=2, rtol=1e-5)
