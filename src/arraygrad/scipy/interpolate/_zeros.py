"""Places where a spline has a given value, by the implicit function theorem: r' = -s(r; c') / s'(r).

May import: core.tensor, scipy._declare, numpy. The places are SciPy's; the gradient is recorded in terms of
them and of the coefficients, so that derivatives of any order follow.
"""

import numpy as np

from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import REGISTRY, gradients_of_composition, ruled

__all__ = ["IMPLICIT", "zeros_of"]

IMPLICIT = "implicit function theorem"


def _places(places, f, slope, *held):
    return places.copy()


@ruled("interpolate._zeros", _places, "held", IMPLICIT, signature="places, f, slope, *held", inert="places")
def _zeros(g, ans, f, slope, held):
    recorded = [i for i, one in enumerate(held) if isinstance(one, Tensor)]

    def of(given):
        values = list(held)
        for i, one in zip(recorded, given, strict=True):
            values[i] = one
        return f(ans, *values)

    w = -g / slope(ans, *held)
    found = dict(zip(recorded, gradients_of_composition(of, w, [held[i] for i in recorded]), strict=True))
    return {"held": tuple([found.get(i) for i in range(len(held))])}


REGISTRY.pop("interpolate._zeros")  # no function of SciPy's


def zeros_of(places, f, slope, *held):
    """Places where f(places, *held) = 0, as SciPy found them, recorded in what f is made of."""
    return _zeros(np.asarray(places, dtype=float), f, slope, *held)
