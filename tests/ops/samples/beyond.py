"""Samples of the functions beyond the standard."""

import numpy as np

from samples._case import case, cplx, kink, real
from samples.statistical import _call, _reductions, _zero_d


def _along(name):
    return [case(f"axis={axis}", _call(name, axis=axis), real(2, 3, 2)) for axis in (-1, 0, 1, (0, 2), None)]


def _einsum(name):
    def made(subscripts, *arrays, **options):
        call = lambda xp, *x: getattr(xp, name)(subscripts, *x, **options)
        return case(", ".join([subscripts, *[f"{key}={value}" for key, value in options.items()]]), call, *arrays)

    a, b, square = real(2, 3), real(3, 4, seed=1), real(3, 3, seed=2)
    return [
        made("ij,jk->ik", a, b),
        made("ij,jk->ik", a, b, optimize=False),
        made("ij,jk", a, b),
        made("ij,jk->", a, b),
        made("ij,jk->kij", a, b),
        made("i,j->ij", a[0], b[0]),
        made("i,i", a[0], b[:, 0]),
        made("ij->ji", a),
        made("ij->j", a),
        made("ij->", a),
        made("ii", square),
        made("ii->i", square),
        made("ij,jj->i", a, square),
        made("iij->ij", real(2, 2, 3)),
        made("iii->i", real(3, 3, 3)),
        made("ijij->", real(2, 3, 2, 3)),
        made("iijj,j->i", real(2, 2, 3, 3), a[0]),
        made("i,i,i->i", a[0], b[:, 0], b[:, 1]),
        made("ij,jk,kl->il", a, b, real(4, 2, seed=3)),
        made("ij,jk,ki,i->k", a, b, real(4, 2, seed=3), real(2, seed=4)),
        made("bij,bjk->bik", real(2, 2, 3), real(2, 3, 2, seed=1)),
        made("bhij,bhij->bh", real(2, 2, 3, 2), real(2, 2, 3, 2, seed=1)),
        made("...ij,...jk->...ik", real(2, 2, 3), real(2, 3, 2, seed=1)),
        made("...ij,jk->...ik", real(2, 2, 3), b),
        made("...ij,...jk", real(2, 1, 2, 3), real(3, 3, 2, seed=1)),
        made("...i,...i", real(2, 1, 3), real(3, seed=1)),
        made("i...,j...->...ij", real(2, 3), real(3, 1, seed=1)),
        made("...->...", a),
        made("...,...", a, b[0, :3]),
        made("ij,jk->ik", real(1, 3), real(3, 1, seed=1)),
        made("i,ij->ij", real(1), a),
        made("ij,->ij", a, real()),
        made("i,j,->", a[0], b[0], real()),
        made("ij,jk->ik", np.zeros((2, 0)), np.zeros((0, 3))),
        made("ij,jk->ik", cplx(2, 3), cplx(3, 2, seed=1)),
        made("ij,jk->ik", cplx(2, 3), b),
        made("ii,i->", cplx(3, 3), a[0]),
    ]


def _norms():
    x, cube = real(2, 3), real(2, 3, 2)
    vectors = [
        case(f"vector, ord={order}", _call("norm", ord=order, axis=axis, keepdims=keepdims), x)
        for order in (None, 1, 2, 3, 0.5, -2, np.inf, -np.inf)
        for axis, keepdims in ((1, False), (-2, True))
    ]
    matrices = [
        case(f"matrix, ord={order}", _call("norm", ord=order, axis=axis, keepdims=keepdims), cube)
        for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
        for axis, keepdims in (((0, 1), False), ((-1, 0), True))
    ]
    return [
        case("all", _call("norm"), x),
        case("all of three axes, keepdims", _call("norm", keepdims=True), cube),
        case("vector without axis", _call("norm", ord=3), x[0]),
        case("matrix without axis", _call("norm", ord=1), x),
        *vectors,
        *matrices,
        case("complex", _call("norm"), cplx(2, 3)),
        case("complex matrices", _call("norm", ord="nuc", axis=(0, 2)), cplx(2, 3, 2)),
        kink("zero", _call("norm"), [np.zeros((2, 2))], [np.zeros((2, 2))]),
    ]


def _pads():
    x = real(2, 3)
    pad = lambda label, array, **options: case(label, lambda xp, x: xp.pad(x, **options), array)
    return [
        *[
            pad(f"{mode}", x, pad_width=((1, 2), (0, 5)), mode=mode)
            for mode in ("edge", "reflect", "symmetric", "wrap")
        ],
        *[pad(f"{mode}, one element", x[:, :1], pad_width=2, mode=mode) for mode in ("edge", "reflect", "wrap")],
        *[pad(f"{mode}, nothing", x, pad_width=0, mode=mode) for mode in ("constant", "edge")],
        pad("constant", x, pad_width=1),
        pad("constant, value", x, pad_width=((1, 0), (0, 2)), constant_values=3.0),
        pad("constant, pairs of values", x, pad_width=(1, 2), constant_values=((1.0, 2.0), (3.0, 4.0))),
        pad("constant, complex", cplx(2, 2), pad_width={-1: 2}),
        pad("constant, empty", np.zeros((0, 2)), pad_width=1),
        pad("wrap, complex", cplx(3), pad_width=(4, 1), mode="wrap"),
        case("constant, 0-d array", lambda xp, x, v: xp.pad(x, 1, constant_values=v), x, real(seed=1)),
        case("constant, array (2,)", lambda xp, x, v: xp.pad(x, (1, 2), constant_values=v), x, real(2, seed=1)),
        case("constant, array (n, 2)", lambda xp, x, v: xp.pad(x, 1, constant_values=v), x, real(2, 2, seed=1)),
        case("constant, array (n, 1)", lambda xp, x, v: xp.pad(x, 2, constant_values=v), x, real(2, 1, seed=1)),
    ]


SAMPLES = {
    "einsum": _einsum("einsum"),
    "_einsum": [*_einsum("_einsum")[:3], *_einsum("_einsum")[-3:]],
    "_einsum_view": [
        case(subscripts, lambda xp, x, subscripts=subscripts: xp._einsum_view(x, subscripts), x)
        for subscripts, x in (
            ("ij->ji", real(2, 3)),
            ("ii->i", real(3, 3)),
            ("iij->ji", real(2, 2, 3)),
            ("...i->i...", real(2, 3, 2)),
            ("iijj->ji", cplx(2, 2, 3, 3)),
        )
    ],
    "norm": _norms(),
    "pad": _pads(),
    "logsumexp": _reductions("logsumexp", axes=(None, 0, 1, -1, (0, 1)))
    + _zero_d("logsumexp")
    + [
        kink("all -inf", _call("logsumexp"), [np.full(3, -np.inf)], [np.zeros(3)]),
        kink("large", _call("logsumexp"), [[1e16, 1e16]], [[0.5, 0.5]], single=False),
        kink("inf", _call("logsumexp"), [[np.inf, 0.0, -np.inf]], [[1.0, 0.0, 0.0]]),
        kink(
            "two infinities in a row",
            _call("logsumexp", axis=1),
            [[[np.inf, np.inf], [0.0, 0.0]]],
            [[[0.5, 0.5], [0.5, 0.5]]],
        ),
    ],
    "softmax": _along("softmax"),
    "log_softmax": _along("log_softmax"),
    "sigmoid": [
        case("real", _call("sigmoid"), real(2, 3)),
        case("0-d", _call("sigmoid"), real()),
        case("no elements", _call("sigmoid"), np.zeros((2, 0))),
        case("at zero", _call("sigmoid"), [0.0]),
        kink(
            "far out",
            _call("sigmoid"),
            [[40.0, -40.0, 800.0, -800.0]],
            [[4.248354255291589e-18, 4.248354255291589e-18, 0.0, 0.0]],
            second=[[-4.248354255291589e-18, 4.248354255291589e-18, 0.0, 0.0]],
        ),
    ],
    "relu": [
        case("no elements", _call("relu"), np.zeros((2, 0))),
        case("0-d", _call("relu"), real(low=0.5)),
        case("away from zero", _call("relu"), np.asarray([-1.5, 0.7, 2.0])),
        kink("at zero", _call("relu"), [np.asarray([0.0, -0.0])], [np.zeros(2)], second=[np.zeros(2)]),
    ],
}
