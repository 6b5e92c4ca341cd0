"""Samples of the special functions: inside the domain, on both sides of where a rule changes its formula."""

import numpy as np

from samples._case import case, cplx, kink, real


def _call(name, *parameters):
    """Call of a function with parameters, numbers or lists, before its arrays."""

    def call(xp, *arrays):
        owner = xp if name in ("erf", "gammaln") else xp.special
        given = [xp.asarray(p) if isinstance(p, list) else p for p in parameters]
        return getattr(owner, name)(*given, *arrays)

    return call


def _one(name, *parameters, low=0.2, high=3.0, extra=()):
    """A function of one array: a range, a 0-d array, and further points."""
    cases = [
        case("real", _call(name, *parameters), real(2, 3, low=low, high=high)),
        case("0-d", _call(name, *parameters), real(low=low, high=high)),
    ]
    if len(extra):
        cases.append(case("further", _call(name, *parameters), np.asarray(extra)))
    return cases


def _two(name, low=0.2, high=3.0):
    """A function of two arrays: broadcasting, and a Python scalar on either side."""
    a, b = real(2, 3, low=low, high=high), real(3, low=low, high=high, seed=1)
    return [
        case("broadcast", _call(name), a, b),
        case("0-d", _call(name), real(low=low, high=high), real(low=low, high=high, seed=1)),
        case("scalar first", lambda xp, x: getattr(xp.special, name)(1.5, x), b),
        case("scalar second", lambda xp, x: getattr(xp.special, name)(x, 1.5), b),
    ]


def _orders(name, orders, **options):
    return [
        one
        for v in orders
        for one in [case(f"order {v}: {c.label}", c.call, *c.arrays) for c in _one(name, v, **options)]
    ]


def _complex(name, *parameters, **options):
    return [case("complex", _call(name, *parameters), cplx(2, 2) + 1.7, **options)]


_BOTH = (-2.5, -0.3, 0.0, 1e-3, 4.0, 12.0)
_POSITIVE = (0.05, 4.0, 12.0)

SAMPLES = {
    "gamma": [*_one("gamma", extra=(-0.5, -1.4, 6.0)), *_complex("gamma", order=1, standard=False)],
    "gammaln": _one("gammaln", extra=(-0.5, -1.4, 60.0)),
    "loggamma": [*_one("loggamma", extra=(60.0,)), *_complex("loggamma", order=1, standard=False)],
    "rgamma": _one("rgamma", extra=(-2.5, -1.0, -0.4, 0.0, 6.0)),
    "digamma": _one("digamma", extra=(-0.5, -1.4, 60.0)),
    "polygamma": _orders("polygamma", (0, 1, 2, 3), extra=(20.0,)),
    "multigammaln": [
        case(f"dimension {d}", lambda xp, a, d=d: xp.special.multigammaln(a, d), real(2, 3, low=1.2, high=4.0))
        for d in (1, 3)
    ],
    "beta": [*_two("beta"), case("far", _call("beta"), [20.0, 40.0], [0.5, 1.5])],
    "betaln": [*_two("betaln"), case("far", _call("betaln"), [20.0, 0.5, 100.0], [0.5, 40.0, 200.0])],
    "gammainc": [*_one("gammainc", 2.5), *_one("gammainc", [0.5, 1.0, 4.0])],
    "gammaincc": [*_one("gammaincc", 2.5), *_one("gammaincc", [0.5, 1.0, 4.0])],
    "gammaincinv": _one("gammaincinv", 2.5, low=0.1, high=0.9),
    "gammainccinv": _one("gammainccinv", 2.5, low=0.1, high=0.9),
    "betainc": _one("betainc", 2.5, 1.5, low=0.1, high=0.9),
    "betaincc": _one("betaincc", 2.5, 1.5, low=0.1, high=0.9),
    "betaincinv": _one("betaincinv", 2.5, 1.5, low=0.1, high=0.9),
    "gammasgn": [case("both signs", _call("gammasgn"), [-1.4, -0.5, 2.0], order=1)],
    "erf": [*_one("erf", low=-2.0, high=2.0), *_complex("erf")],
    "erfc": [*_one("erfc", low=-2.0, high=2.0), *_complex("erfc")],
    "erfcx": _one("erfcx", low=-2.0, extra=(9.0, 11.0, 30.0)),
    "erfinv": _one("erfinv", low=-0.9, high=0.9),
    "erfcinv": _one("erfcinv", low=0.1, high=1.9),
    "erfi": [*_one("erfi", low=-2.0, high=2.0), *_complex("erfi")],
    "dawsn": _one("dawsn", low=-2.0, extra=(-11.0, 9.0, 11.0, 30.0)),
    "ndtr": _one("ndtr", low=-2.0, high=2.0),
    "log_ndtr": _one("log_ndtr", low=-3.0, extra=(-30.0, -12.0, 6.0)),
    "ndtri": _one("ndtri", low=0.1, high=0.9),
    "j0": _one("j0", extra=_BOTH),
    "j1": _one("j1", extra=_BOTH),
    "jv": [
        *_orders("jv", (0, 1, 2, -1), extra=_BOTH),
        *_orders("jv", (0.5, -1.5), extra=_POSITIVE),
        *_complex("jv", 1.5),
    ],
    "y0": _one("y0", extra=_POSITIVE),
    "y1": _one("y1", extra=_POSITIVE),
    "yn": _orders("yn", (0, 1, 2), extra=(4.0, 12.0)),
    "yv": [*_orders("yv", (0, 1.5), extra=(4.0, 12.0)), *_complex("yv", 1.5)],
    "i0": _one("i0", extra=(-2.5, 0.0, 5.0)),
    "i1": _one("i1", extra=(-2.5, 0.0, 5.0)),
    "iv": [
        *_orders("iv", (0, 1, 2), extra=(-2.5, 0.0, 5.0)),
        *_orders("iv", (0.5,), extra=(5.0,)),
        *_complex("iv", 1.5),
    ],
    "i0e": [
        *_one("i0e", extra=(-60.0, -2.5, 20.0, 60.0)),
        kink("at zero", _call("i0e"), [np.zeros(2)], [np.zeros(2)]),
    ],
    "i1e": [*_one("i1e", extra=(-60.0, -2.5, 20.0, 60.0)), kink("at zero", _call("i1e"), [[0.0]], [[0.5]])],
    "ive": [
        *_orders("ive", (0, 1, 2), extra=(-60.0, -2.5, 20.0, 70.0)),
        *_orders("ive", (0.5,), extra=(20.0, 70.0)),
    ],
    "k0": _one("k0", extra=_POSITIVE),
    "k1": _one("k1", extra=(4.0, 12.0)),
    "kn": _orders("kn", (0, 1, 2), extra=(4.0, 12.0)),
    "kv": [*_orders("kv", (0, 1.5), extra=(4.0, 12.0)), *_complex("kv", 1.5)],
    "k0e": _one("k0e", extra=(4.0, 20.0, 60.0)),
    "k1e": _one("k1e", extra=(4.0, 20.0, 60.0)),
    "kve": _orders("kve", (0, 1, 1.5), extra=(4.0, 20.0, 70.0)),
    "expit": _one("expit", low=-3.0, extra=(-30.0, 30.0)),
    "logit": _one("logit", low=0.1, high=0.9),
    "log_expit": _one("log_expit", low=-3.0, extra=(-30.0, 30.0)),
    "xlogy": [
        *_two("xlogy"),
        kink("zeros", _call("xlogy"), [[0.0, 0.0], [0.0, 2.0]], [[0.0, np.log(2.0)], [0.0, 0.0]]),
    ],
    "xlog1py": [
        *_two("xlog1py"),
        kink("zeros", _call("xlog1py"), [[0.0, 0.0], [-1.0, 1.0]], [[0.0, np.log(2.0)], [0.0, 0.0]]),
    ],
    "entr": [*_one("entr"), kink("at zero", _call("entr"), [[0.0]], [[np.inf]], second=[[-np.inf]])],
    "rel_entr": [
        *_two("rel_entr"),
        kink("zeros", _call("rel_entr"), [[0.0, 0.0], [0.0, 2.0]], [[0.0, -np.inf], [0.0, 0.0]]),
    ],
    "kl_div": [
        *_two("kl_div"),
        kink("zeros", _call("kl_div"), [[0.0, 0.0], [0.0, 2.0]], [[0.0, -np.inf], [1.0, 1.0]]),
    ],
    "zeta": [*_one("zeta", 3.0), *_one("zeta", [1.5, 2.0, 4.0])],
    "sinc": [
        *_one("sinc", low=-3.0, extra=(-1.0, -0.2, 0.0, 1e-3, 0.4, 0.6, 2.0)),
        *_complex("sinc"),
    ],
    "exp1": [*_one("exp1"), *_complex("exp1")],
    "expi": [*_one("expi", extra=(-0.5, -2.0)), *_complex("expi")],
    "expn": _orders("expn", (0, 1, 2, 3)),
}
