"""Samples of the functions beyond the standard."""

import numpy as np

from samples._case import case, kink, real
from samples.statistical import _call, _reductions, _zero_d


def _along(name):
    return [case(f"axis={axis}", _call(name, axis=axis), real(2, 3, 2)) for axis in (-1, 0, 1, (0, 2), None)]


SAMPLES = {
    "logsumexp": _reductions("logsumexp", axes=(None, 0, 1, -1, (0, 1)))
    + _zero_d("logsumexp")
    + [
        kink("all -inf", _call("logsumexp"), [np.full(3, -np.inf)], [np.zeros(3)]),
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
    "sigmoid": [case("real", _call("sigmoid"), real(2, 3)), case("0-d", _call("sigmoid"), real())],
    "relu": [
        case("away from zero", _call("relu"), np.asarray([-1.5, 0.7, 2.0])),
        kink("at zero", _call("relu"), [np.asarray([0.0, -0.0])], [np.zeros(2)]),
    ],
}
