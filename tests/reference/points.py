"""Points at which derivatives are a matter of choice, or where a formula may overflow or divide by zero.

Poles, domain edges, branch cuts, infinities, nan, ties and kinks beyond those of tests/ops/samples. No expected values
stand here: at each point arraygrad agrees with the reference library, or `differences.py` documents how it differs.

Imports: numpy, the samples' own helpers.
"""

import math

import numpy as np
from samples._case import case

INF = math.inf
NAN = math.nan
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]


def _f(name, **options):
    def call(xp, *arrays):
        owner = xp
        for part in name.split(".")[:-1]:
            owner = getattr(owner, part)
        return getattr(owner, name.rpartition(".")[2])(*arrays, **options)

    return call


def _at(name, **points):
    """Cases of one function of one array: label -> elements."""
    return [case(label.replace("_", " "), _f(name), elements) for label, elements in points.items()]


def _pairs(name, **points):
    return [case(label.replace("_", " "), _f(name), *zip(*pairs, strict=True)) for label, pairs in points.items()]


_EXTREMES = {"infinities": [INF, -INF], "nan": [NAN]}
_HUGE = {"huge": [1e200, -1e200]}
_LOGARITHM = {"pole": [0.0], "negative": [-1.0], **_EXTREMES}
_CUT = [-2.0 + 0.0j, complex(-2.0, -0.0)]
_WIDE_CUT = [2.0 + 0.0j, complex(2.0, -0.0), -2.0 + 0.0j, complex(-2.0, -0.0)]
_TALL_CUT = [2.0j, complex(-0.0, 2.0), -2.0j, complex(-0.0, -2.0)]

POINTS = {
    "sqrt": _at("sqrt", pole=[0.0], negative=[-1.0], branch_cut=_CUT, complex_pole=[0j], **_EXTREMES),
    "log": _at("log", branch_cut=_CUT, complex_pole=[0j], **_LOGARITHM),
    "log2": _at("log2", branch_cut=_CUT, **_LOGARITHM),
    "log10": _at("log10", branch_cut=_CUT, **_LOGARITHM),
    "log1p": _at("log1p", pole=[-1.0], outside=[-2.0], **_EXTREMES),
    "reciprocal": _at("reciprocal", pole=[0.0], complex_pole=[0j], **_EXTREMES, **_HUGE),
    "square": _at("square", **_EXTREMES, **_HUGE),
    "exp": _at("exp", overflow=[1000.0, -1000.0], **_EXTREMES),
    "expm1": _at("expm1", overflow=[1000.0, -1000.0], **_EXTREMES),
    "sin": _at("sin", **_EXTREMES),
    "cos": _at("cos", **_EXTREMES),
    "tan": _at("tan", near_pole=[math.pi / 2], **_EXTREMES),
    "asin": _at("asin", edges=[-1.0, 1.0], outside=[2.0], branch_cut=_WIDE_CUT, nan=[NAN]),
    "acos": _at("acos", edges=[-1.0, 1.0], outside=[2.0], branch_cut=_WIDE_CUT, nan=[NAN]),
    "atan": _at("atan", branch_cut=_TALL_CUT, complex_pole=[1j], **_EXTREMES, **_HUGE),
    "sinh": _at("sinh", overflow=[1000.0, -1000.0], **_EXTREMES),
    "cosh": _at("cosh", overflow=[1000.0, -1000.0], **_EXTREMES),
    "tanh": _at("tanh", flat=[1000.0, -1000.0], **_EXTREMES),
    "asinh": _at("asinh", branch_cut=_TALL_CUT, complex_pole=[1j], **_EXTREMES, **_HUGE),
    "acosh": _at(
        "acosh", edge=[1.0], outside=[0.5], branch_cut=[0.5 + 0.0j, complex(0.5, -0.0)], huge=[1e200], nan=[NAN]
    ),
    "atanh": _at("atanh", edges=[-1.0, 1.0], outside=[2.0], branch_cut=_WIDE_CUT, nan=[NAN]),
    "abs": _at("abs", **_EXTREMES),
    "sign": _at("sign", **_EXTREMES),
    "round": _at("round", halves=[0.5, 1.5, -0.5], **_EXTREMES),
    "floor": _at("floor", integers=[0.0, 1.0]),
    "ceil": _at("ceil", integers=[0.0, 1.0]),
    "trunc": _at("trunc", integers=[0.0, 1.0]),
    "sigmoid": _at("sigmoid", flat=[1000.0, -1000.0], **_EXTREMES),
    "relu": _at("relu", **_EXTREMES),
    "divide": _pairs(
        "divide",
        pole=[(1.0, 0.0), (-1.0, 0.0)],
        zero_by_zero=[(0.0, 0.0)],
        infinities=[(1.0, INF), (INF, 1.0), (INF, INF)],
        huge=[(1e200, 1e200), (1.0, 1e200)],
        tiny=[(1e-200, 1e-200)],
    ),
    "remainder": _pairs(
        "remainder", by_zero=[(1.0, 0.0)], infinite_divisor=[(1.0, INF), (-1.0, INF)], jumps=[(-4.0, 2.0), (4.0, -2.0)]
    ),
    "pow": _pairs(
        "pow",
        zero_base=[(0.0, 0.5), (0.0, 1.0), (0.0, 2.0), (0.0, 3.0)],
        zero_base_negative_exponent=[(0.0, -1.0), (0.0, -2.0)],
        negative_base=[(-2.0, 2.0), (-2.0, 3.0), (-2.0, 0.0), (-2.0, -1.0)],
        negative_base_broken_exponent=[(-2.0, 0.5)],
        infinities=[(INF, 2.0), (2.0, INF), (0.5, INF), (INF, -1.0), (INF, 0.0)],
    )
    + [
        case("zero base, scalar exponents", lambda xp, x: xp.stack([xp.pow(x, n) for n in (0, 1, 2, 3, 0.5)]), 0.0),
        case("scalar zero base", lambda xp, x: xp.pow(0.0, x), [0.0, 1.0, 2.0]),
    ],
    "atan2": _pairs(
        "atan2",
        axes=[(0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0)],
        huge=[(1e200, 1e200)],
        infinities=[(INF, 1.0), (1.0, INF), (INF, INF)],
    ),
    "hypot": _pairs(
        "hypot", infinities=[(INF, 1.0), (1.0, INF), (INF, INF)], huge=[(1e200, 1e200)], tiny=[(1e-200, 0.0)]
    ),
    "logaddexp": _pairs("logaddexp", nan=[(NAN, 1.0), (1.0, NAN)]),
    "maximum": _pairs(
        "maximum", nan=[(NAN, 1.0), (1.0, NAN)], infinities=[(INF, INF), (-INF, 0.0)], zeros=[(0.0, -0.0)]
    ),
    "minimum": _pairs(
        "minimum", nan=[(NAN, 1.0), (1.0, NAN)], infinities=[(INF, INF), (-INF, 0.0)], zeros=[(0.0, -0.0)]
    ),
    "copysign": _pairs("copysign", infinities=[(INF, -1.0), (-INF, -1.0)]),
    "clip": [
        case("nan", lambda xp, x: xp.clip(x, -1.0, 1.0), [NAN]),
        case("at an array's bounds", lambda xp, x, a, b: xp.clip(x, a, b), [-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]),
    ],
    "prod": [case("zeros in rows", _f("prod", axis=1), [[0.0, 2.0], [0.0, 0.0], [INF, 0.0]])],
    "max": [
        case("nan", _f("max"), [1.0, NAN, 2.0]),
        case("infinities", _f("max"), [INF, INF, 0.0]),
        case("ties over two axes of three", _f("max", axis=(0, 2)), np.ones((2, 2, 2))),
    ],
    "min": [case("nan", _f("min"), [1.0, NAN, 2.0]), case("ties in rows", _f("min", axis=1), [[1.0, 1.0], [0.0, 1.0]])],
    "var": [
        case("one element, correction=1", _f("var", correction=1), [2.0]),
        case("constant", _f("var"), [2.0, 2.0]),
        case("infinity", _f("var"), [INF, 1.0]),
    ],
    "std": [
        case("one element, correction=1", _f("std", correction=1), [2.0]),
        case("infinity", _f("std"), [INF, 1.0]),
        case("complex constant", _f("std"), [2j, 2j]),
    ],
    "cumulative_prod": [case("infinity and zero", _f("cumulative_prod"), [INF, 0.0, 2.0])],
    "sort": [
        case("equal elements", _f("sort"), [2.0, 1.0, 2.0, 1.0]),
        case("nan", _f("sort"), [2.0, NAN, 1.0]),
    ],
    "logsumexp": [
        case("+inf", _f("logsumexp"), [INF, 0.0]),
        case("two infinities", _f("logsumexp"), [INF, INF]),
        case("some -inf", _f("logsumexp"), [-INF, 0.0]),
        case("no overflow", _f("logsumexp"), [1000.0, 999.0]),
    ],
    "softmax": [
        case("some -inf", _f("softmax", axis=-1), [-INF, 0.0, 1.0]),
        case("all -inf", _f("softmax", axis=-1), [-INF, -INF]),
        case("+inf", _f("softmax", axis=-1), [INF, 0.0]),
        case("no overflow", _f("softmax", axis=-1), [1000.0, 999.0]),
    ],
    "log_softmax": [
        case("some -inf", _f("log_softmax", axis=-1), [-INF, 0.0, 1.0]),
        case("all -inf", _f("log_softmax", axis=-1), [-INF, -INF]),
        case("+inf", _f("log_softmax", axis=-1), [INF, 0.0]),
        case("no overflow", _f("log_softmax", axis=-1), [1000.0, 0.0]),
    ],
    "vector_norm": [
        *(
            case(f"{label}, ord={order}", _f("linalg.vector_norm", ord=order), elements)
            for order in (0, 0.5, 1, 1.5, 2, 3, -1, INF, -INF)
            for label, elements in (("zeros", [0.0, 0.0]), ("one zero", [0.0, -2.0]), ("ties", [2.0, -2.0]))
        ),
        *(
            case(f"complex zeros, ord={order}", _f("linalg.vector_norm", ord=order), [0j, 0j])
            for order in (1, 2, 3, INF)
        ),
        case("infinity", _f("linalg.vector_norm"), [INF, 1.0]),
        case("huge", _f("linalg.vector_norm"), [1e200, 1e200]),
    ],
    "matrix_norm": [
        case(f"{label}, ord={order}", _f("linalg.matrix_norm", ord=order), x)
        for order in ("fro", "nuc", 1, -1, 2, -2, INF, -INF)
        for label, x in (("zeros", np.zeros((2, 2))), ("identity", np.eye(2)), ("singular", SINGULAR))
    ],
    "svdvals": [
        case("zeros", _f("linalg.svdvals"), np.zeros((2, 2))),
        case("singular", _f("linalg.svdvals"), SINGULAR),
    ],
    "svd": [
        case("values of the identity", lambda xp, x: xp.linalg.svd(x, full_matrices=False)[1], np.eye(2)),
        case("vectors of the identity", lambda xp, x: xp.linalg.svd(x, full_matrices=False)[0] ** 2, np.eye(2)),
        case("vectors of a singular matrix", lambda xp, x: xp.linalg.svd(x, full_matrices=False)[0] ** 2, SINGULAR),
    ],
    "eigvalsh": [case("zeros", _f("linalg.eigvalsh"), np.zeros((2, 2)))],
    "eigh": [
        case("values of the identity", lambda xp, x: xp.linalg.eigh(x)[0], np.eye(2)),
        case("vectors of the identity", lambda xp, x: xp.linalg.eigh(x)[1] ** 2, np.eye(2)),
    ],
    "eigvals": [case("identity", lambda xp, x: xp.linalg.eigvals(x) ** 2, np.eye(2))],
    "det": [
        case("rank 1 of 3", _f("linalg.det"), np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 2.0])),
        case("zeros", _f("linalg.det"), np.zeros((2, 2))),
        case("0 x 0", _f("linalg.det"), np.zeros((0, 0))),
    ],
    "slogdet": [
        case("zeros", lambda xp, x: xp.linalg.slogdet(x)[1], np.zeros((2, 2))),
        case("negative", lambda xp, x: xp.linalg.slogdet(x)[1], [[0.0, 1.0], [1.0, 0.0]]),
    ],
    "pinv": [
        case("singular", _f("linalg.pinv"), SINGULAR),
        case("zeros", _f("linalg.pinv"), np.zeros((2, 3))),
    ],
    "cholesky": [case("not symmetric", _f("linalg.cholesky"), [[2.0, 5.0], [1.0, 3.0]])],
    "matrix_power": [
        case("singular, n=3", lambda xp, x: xp.linalg.matrix_power(x, 3), SINGULAR),
        case("zeros, n=1", lambda xp, x: xp.linalg.matrix_power(x, 1), np.zeros((2, 2))),
    ],
    "where": [case("log of zero not chosen", lambda xp, x: xp.where(x > 0, xp.log(x), 0.0), [0.0, 1.0])],
}
