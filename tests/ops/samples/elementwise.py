"""Samples of the elementwise functions."""

import math

import numpy as np

from samples._case import away, case, cplx, kink, real

INF = math.inf

# name -> domain of the real samples; those in COMPLEX have complex samples too, of both parts within the second pair
REAL = {
    "acos": (-0.9, 0.9),
    "acosh": (1.3, 3.0),
    "asin": (-0.9, 0.9),
    "asinh": (-2.0, 2.0),
    "atan": (-2.0, 2.0),
    "atanh": (-0.9, 0.9),
    "cos": (-3.0, 3.0),
    "cosh": (-2.0, 2.0),
    "exp": (-2.0, 2.0),
    "expm1": (-2.0, 2.0),
    "log": (0.3, 3.0),
    "log1p": (-0.6, 2.0),
    "log2": (0.3, 3.0),
    "log10": (0.3, 3.0),
    "negative": (-2.0, 2.0),
    "positive": (-2.0, 2.0),
    "reciprocal": (0.4, 2.0),
    "sin": (-3.0, 3.0),
    "sinh": (-2.0, 2.0),
    "sqrt": (0.3, 3.0),
    "square": (-2.0, 2.0),
    "tan": (-1.0, 1.0),
    "tanh": (-2.0, 2.0),
}


def _fun(name):
    return lambda xp, x: getattr(xp, name)(x)


def _unary(name, low, high):
    f = _fun(name)
    return [
        case("real", f, real(2, 3, low=low, high=high)),
        case("0-d", f, real(low=low, high=high, seed=1)),
        case("empty", f, np.zeros((2, 0))),
        # each quadrant of the complex plane, off the axes where the branch cuts are
        case("complex", f, cplx(5) * np.array([1, 1j, -1, -1j, 1 + 1j]) + 0.1j),
        case("complex 0-d", f, np.array(0.4 - 0.7j)),
    ]


SAMPLES = {name: _unary(name, *domain) for name, domain in REAL.items()}

SAMPLES["abs"] = [
    case("real", _fun("abs"), away(2, 3)),
    case("complex", _fun("abs"), cplx(4)),
    kink("at zero", _fun("abs"), [[0.0, -2.0]], [[0.0, -1.0]], second=[[0.0, 0.0]]),
    kink("complex at zero", _fun("abs"), [[0j, 3 + 4j]], [[0j, 0.6 + 0.8j]]),
]
SAMPLES["sign"] = [
    case("real", _fun("sign"), away(2, 3), order=1),
    case("complex", _fun("sign"), cplx(4)),
    kink("at zero", _fun("sign"), [[0.0, -2.0]], [[0.0, 0.0]]),
    kink("complex at zero", _fun("sign"), [[0j, 2.0 + 0j]], [[0j, 0j]]),
]
SAMPLES["conj"] = [case("complex", _fun("conj"), cplx(2, 2)), case("real", _fun("conj"), real(3))]
SAMPLES["real"] = [case("complex", _fun("real"), cplx(2, 2)), case("real", _fun("real"), real(3))]
SAMPLES["imag"] = [
    case("complex", _fun("imag"), cplx(2, 2)),
    case("complex 0-d", _fun("imag"), np.array(1 + 2j)),
]
for _name in ("ceil", "floor", "round", "trunc"):
    SAMPLES[_name] = [
        kink("zeros", _fun(_name), [[-1.3, 0.4, 2.0, 2.7]], [[0.0, 0.0, 0.0, 0.0]]),
        case("away from jumps", _fun(_name), [-1.3, 0.4, 2.2, 2.7], order=1),
    ]

# -- two arrays -------------------------------------------------------------------------------------------------------


def _two(name):
    return lambda xp, x1, x2: getattr(xp, name)(x1, x2)


def _broadcasts(name, make1, make2, scalar=1.5):
    """Samples over every way two operands can broadcast."""
    constant = {"order": 1} if name == "copysign" else {}  # with a constant size, even the gradient is
    f = _two(name)
    return [
        case("same shape", f, make1(2, 3), make2(2, 3)),
        case("trailing axis", f, make1(2, 3), make2(3)),
        case("leading axis", f, make1(3), make2(2, 3)),
        case("both broadcast", f, make1(2, 1), make2(1, 3)),
        case("0-d and array", f, make1(), make2(2)),
        case("array and 0-d", f, make1(2), make2()),
        case("both 0-d", f, make1(), make2()),
        case("empty", f, make1(0, 3), make2(3)),
        case("scalar second", lambda xp, x: getattr(xp, name)(x, scalar), make1(3)),
        case("scalar first", lambda xp, x: getattr(xp, name)(scalar, x), make2(3), **constant),
    ]


def _complex_pairs(name, make1=cplx, make2=cplx):
    f = _two(name)
    return [
        case("complex", f, make1(2, 2), make2(2, 2, seed=3)),
        case("complex broadcast", f, make1(2, 1), make2(2, seed=3)),
        case("complex and real", f, make1(3), real(3, low=0.5)),
        case("real and complex", f, real(3, low=0.5), make2(3, seed=3)),
    ]


def _second(maker):
    return lambda *shape: maker(*shape, seed=5)


def _same(name):
    return [case("one array twice", lambda xp, x: getattr(xp, name)(x, x), real(3, low=0.5))]


for _name in ("add", "subtract", "multiply"):
    SAMPLES[_name] = _broadcasts(_name, real, _second(real)) + _complex_pairs(_name) + _same(_name)
SAMPLES["divide"] = _broadcasts("divide", real, _second(away)) + _complex_pairs("divide") + _same("divide")


def _positive(*shape, seed=0):
    return real(*shape, low=0.4, high=2.0, seed=seed)


SAMPLES["pow"] = (
    _broadcasts("pow", _positive, _second(real))
    + _complex_pairs("pow")
    + _same("pow")
    + [
        case("negative base, scalar exponent", lambda xp, x: xp.pow(x, 3), away(3)),
        case("exponent zero", _two("pow"), _positive(3), np.zeros(3)),
        kink(
            "at zero",
            _two("pow"),
            [[0.0, 0.0, 0.0, 2.0], [0.0, 2.0, 1.0, 0.0]],
            [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, math.log(2.0)]],
        ),
        kink("complex at zero", _two("pow"), [[0j, 0j], [0j, 2 + 0j]], [[0j, 0j], [0j, 0j]]),
        kink("negative base", _two("pow"), [[-2.0], [2.0]], [[-4.0], [math.nan]]),
        kink(
            "exponent zero, where 1 / x1 overflows",
            _two("pow"),
            [[1e-310, -1e-310, math.inf], [0.0, 0.0, 0.0]],
            [[0.0, 0.0, 0.0], [math.log(1e-310), math.nan, math.inf]],
            single=False,
        ),
        case("negative real base, complex exponent", _two("pow"), -0.4 - real(3, low=0.1), cplx(3, seed=3)),
    ]
)
SAMPLES["remainder"] = [
    case("signs", _two("remainder"), [5.3, -5.3, 5.3, -5.3], [2.0, 2.0, -2.0, -2.0]),
    case("broadcast", _two("remainder"), [[5.3], [-1.1]], [2.0, 0.7, 3.1]),
    case("scalar", lambda xp, x: xp.remainder(x, 2.0), [5.3, -1.1]),
    kink("at a jump", _two("remainder"), [[4.0], [2.0]], [[1.0], [-2.0]]),
]
SAMPLES["floor_divide"] = [
    case("away from jumps", _two("floor_divide"), [5.3, -5.3], [2.0, 2.0], order=1),
    kink("zeros", _two("floor_divide"), [[4.0, -5.0], [2.0, 0.7]], [[0.0, 0.0], [0.0, 0.0]]),
]
SAMPLES["atan2"] = [
    *_broadcasts("atan2", away, _second(away)),
    kink("origin", _two("atan2"), [[0.0, 0.0], [0.0, 2.0]], [[0.0, 0.5], [0.0, 0.0]]),
    kink("tiny", _two("atan2"), [[1e-200], [0.0]], [[0.0], [-1e200]], single=False),
]
SAMPLES["hypot"] = [
    *_broadcasts("hypot", away, _second(away)),
    kink("origin", _two("hypot"), [[0.0, 0.0], [0.0, -2.0]], [[0.0, 0.0], [0.0, -1.0]]),
]
SAMPLES["logaddexp"] = [
    *_broadcasts("logaddexp", real, _second(real)),
    *_same("logaddexp"),
    kink(
        "infinities",
        _two("logaddexp"),
        [[-INF, -INF, INF, INF, 1.0], [-INF, 1.0, 1.0, INF, INF]],
        [[0.5, 0.0, 1.0, 0.5, 0.0], [0.5, 1.0, 0.0, 0.5, 1.0]],
    ),
    kink("no overflow", _two("logaddexp"), [[1000.0, -1000.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]),
]
SAMPLES["copysign"] = [
    *_broadcasts("copysign", away, _second(away)),
    kink("at zero", _two("copysign"), [[0.0, -2.0, 3.0], [-1.0, 0.0, -0.0]], [[0.0, -1.0, -1.0], [0.0, 0.0, 0.0]]),
]
SAMPLES["nextafter"] = [
    case("between", _two("nextafter"), real(2, 3), real(3, seed=5)),
    kink("passes through", _two("nextafter"), [[1.0, -2.0], [3.0, -5.0]], [[1.0, 1.0], [0.0, 0.0]]),
]
SAMPLES["maximum"] = [
    *_broadcasts("maximum", real, _second(real)),
    kink("ties", _two("maximum"), [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], [[0.5, 0.0, 1.0], [0.5, 1.0, 0.0]]),
    kink("tie with a scalar", lambda xp, x: xp.maximum(x, 0.0), [[0.0, -1.0, 1.0]], [[0.5, 0.0, 1.0]]),
]
SAMPLES["minimum"] = [
    *_broadcasts("minimum", real, _second(real)),
    kink("ties", _two("minimum"), [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], [[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]),
]

# -- clip -------------------------------------------------------------------------------------------------------------

_X = [-2.1, -0.4, 0.6, 1.9]
SAMPLES["clip"] = [
    case("no bounds", lambda xp, x: xp.clip(x), _X),
    case("scalar bounds", lambda xp, x: xp.clip(x, -1.0, 1.0), _X),
    case("keywords", lambda xp, x: xp.clip(x, min=-1.0, max=1.0), _X),
    case("lower scalar", lambda xp, x: xp.clip(x, 0.0), _X),
    case("upper scalar", lambda xp, x: xp.clip(x, max=0.0), _X),
    case("array bounds", lambda xp, x, lo, hi: xp.clip(x, lo, hi), _X, [-1.0, -1.1, 0.9, 0.8], [1.0, 1.1, 1.2, 1.3]),
    case("broadcast bounds", lambda xp, x, lo, hi: xp.clip(x, lo, hi), np.reshape(_X, (2, 2)), -1.0, [0.5, 1.1]),
    case("lower array", lambda xp, x, lo: xp.clip(x, lo), _X, [-1.0, -1.1, 0.9, 0.8]),
    case("upper array", lambda xp, x, hi: xp.clip(x, None, hi), _X, [-1.0, -1.1, 0.9, 0.8]),
    kink("at the bounds", lambda xp, x: xp.clip(x, -1.0, 1.0), [[-1.0, 1.0]], [[1.0, 1.0]]),
    kink(
        "crossed bounds",
        lambda xp, x, lo, hi: xp.clip(x, lo, hi),
        [[-3.0, 0.0, 3.0], [1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]],
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]],
        standard=False,
    ),
    kink(
        "equal bounds",
        lambda xp, x, lo, hi: xp.clip(x, lo, hi),
        [[-3.0, 3.0], [1.0, 1.0], [1.0, 1.0]],
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
    ),
]

# -- numbers far out, and on both sides of a cut ----------------------------------------------------------------------

_M0 = -0.0
_ROOT = 1 / math.sqrt(3)
for _name, _points, _slopes in (
    # the derivative is that of the side which the signs of the zeros say
    ("asin", [2 + 0j, complex(2, _M0), -2 + 0j, complex(-2, _M0)], [-1j, 1j, 1j, -1j]),
    ("acos", [2 + 0j, complex(2, _M0), -2 + 0j, complex(-2, _M0)], [1j, -1j, -1j, 1j]),
    ("acosh", [-2 + 0j, complex(-2, _M0)], [-1, -1]),
    ("asinh", [2j, complex(_M0, 2), complex(0, -2), complex(_M0, -2)], [1j, -1j, -1j, 1j]),
):
    # gradients are conjugates of derivatives
    _expected = [[_ROOT * s for s in _slopes]]
    SAMPLES[_name].append(kink("both sides of the cuts", _fun(_name), [_points], _expected, single=False))
_FAR = 1e200 + 1e200j
for _name, _slope in (("asin", 1j), ("acos", -1j), ("acosh", 1), ("asinh", 1)):
    _expected = [[complex(_slope / _FAR).conjugate()]]
    SAMPLES[_name].append(kink("far out", _fun(_name), [[_FAR]], _expected, single=False))
SAMPLES["atan"].append(kink("far out", _fun("atan"), [[_FAR]], [[0j]], single=False))
SAMPLES["logaddexp"].append(
    kink("large", _two("logaddexp"), [[1e16, 1e300], [1e16, 0.0]], [[0.5, 1.0], [0.5, 0.0]], single=False)
)
