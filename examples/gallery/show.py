"""What `python -m examples.gallery.NAME` does: differentiates the example's loss, checks, fits and times it.

May import: arraygrad's public names, numpy, scipy.

The examples themselves know nothing of arraygrad. Each has `loss(params, *data())`, a scalar, the parameters to start
from (START) and those that the data were made with (TRUTH), or `recovered(params)`; some have `loss_and_gradient` by
hand. `params` is an array, a float, or a dict of them.
"""

from __future__ import annotations

import importlib
import math
import statistics
import sys
import time
from dataclasses import dataclass

import numpy as np

import arraygrad as ag
from arraygrad.core.containers import flatten, unflatten

__all__ = ["NAMES", "Result", "examine", "fit", "show"]

NAMES = (
    "count_regression",
    "deconvolution",
    "gaussian_process",
    "heat_inverse",
    "hidden_markov",
    "kalman",
    "lennard_jones",
    "ode_fit",
    "orbit",
    "portfolio",
    "ray_optics",
    "registration",
    "soft_clustering",
    "spline_fit",
)

# Central differences of losses of size one in float64 err by about 1e-9 at this step, and seldom meet a kink.
STEP = 1e-6
MOST_DIFFERENCE = 1e-5


@dataclass
class Result:
    """What was found. `difference` is relative to the largest derivative; times in seconds, nan where not measured."""

    size: int
    difference: float
    hand_difference: float | None
    loss_before: float
    loss_after: float
    miss: float  # distance of the fit from the truth
    tolerance: float
    plain: float = math.nan
    gradient: float = math.nan
    other: float = math.nan  # the gradient by hand, or by finite differences

    @property
    def right(self):
        """Whether the gradient is that of finite differences (and the one by hand) and the fit found the truth."""
        by_hand = self.hand_difference is None or self.hand_difference <= 1e-8
        return (
            self.difference <= MOST_DIFFERENCE
            and by_hand
            and self.miss <= self.tolerance
        )


class Packed:
    """A model with its parameters in one vector, as SciPy and finite differences want them."""

    def __init__(self, model):
        self.model = model
        self.data = model.data()
        leaves, self.structure = flatten(model.START)
        self.shapes = [np.shape(leaf) for leaf in leaves]
        self.kinds = [type(leaf) for leaf in leaves]
        self.ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        self.start = self.pack(model.START)
        # A change of 1 in a scaled parameter is worth as much in all of them.
        self.scale = np.broadcast_to(
            np.asarray(getattr(model, "SCALE", 1.0), dtype=float), self.start.shape
        )
        self.differentiated = ag.value_and_grad(model.loss)

    def pack(self, params):
        """The vector (size,) of all numbers."""
        return np.concatenate([np.ravel(leaf) for leaf in flatten(params)[0]])

    def unpack(self, vector):
        """The parameters again."""
        pieces = np.split(np.asarray(vector, dtype=float), self.ends[:-1])
        leaves = [
            float(piece[0]) if kind is float else piece.reshape(shape)
            for piece, shape, kind in zip(
                pieces, self.shapes, self.kinds, strict=True
            )
        ]
        return unflatten(self.structure, leaves)

    def loss(self, vector):
        """The model's own loss: a plain call."""
        return float(self.model.loss(self.unpack(vector), *self.data))

    def value_and_gradient(self, vector):
        """Loss and gradient by arraygrad."""
        value, gradient = self.differentiated(self.unpack(vector), *self.data)
        return float(value), self.pack(gradient)

    def differences(self, vector):
        """The gradient by central differences."""
        gradient = np.empty_like(vector)
        for i in range(vector.size):
            step = np.zeros_like(vector)
            step[i] = STEP * max(abs(vector[i]), 0.1)
            gradient[i] = (self.loss(vector + step) - self.loss(vector - step)) / (
                2.0 * step[i]
            )
        return gradient


def examine(name, timing=True):
    """The Result for an example: gradient against differences at the start, then a fit by L-BFGS."""
    model = importlib.import_module(f"{__package__}.{name}")
    packed = Packed(model)
    vector = packed.start
    before, gradient = packed.value_and_gradient(vector)
    expected = packed.differences(vector)
    size = np.max(np.abs(expected))
    by_hand = getattr(model, "loss_and_gradient", None)
    hand_difference = None
    if by_hand is not None:
        hand = packed.pack(by_hand(packed.unpack(vector), *packed.data)[1])
        hand_difference = float(np.max(np.abs(gradient - hand)) / size)

    found, losses = fit(model, packed)
    if hasattr(model, "recovered"):
        miss = float(model.recovered(found))
    else:
        miss = float(
            np.max(
                np.abs(
                    (packed.pack(found) - packed.pack(model.TRUTH)) / packed.scale
                )
            )
        )
    result = Result(
        size=vector.size,
        difference=float(np.max(np.abs(gradient - expected)) / size),
        hand_difference=hand_difference,
        loss_before=before,
        loss_after=losses[-1],
        miss=miss,
        tolerance=model.TOLERANCE,
    )
    if timing:
        params = packed.unpack(vector)
        result.plain = median_time(lambda: model.loss(params, *packed.data))
        result.gradient = median_time(
            lambda: packed.differentiated(params, *packed.data)
        )
        if by_hand is not None:
            result.other = median_time(lambda: by_hand(params, *packed.data))
        else:
            result.other = median_time(lambda: packed.differences(vector))
    return result


def fit(model, packed=None):
    """The parameters that SciPy's L-BFGS-B finds from START, and the losses: at the start and after each iteration."""
    from scipy.optimize import minimize

    packed = Packed(model) if packed is None else packed
    scale = packed.scale

    def scaled(z):
        value, gradient = packed.value_and_gradient(z * scale)
        return value, gradient * scale

    losses = [packed.loss(packed.start)]

    def note(intermediate_result):  # SciPy looks at the parameter's name
        losses.append(float(intermediate_result.fun))

    options = {"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-8}
    solution = minimize(
        scaled,
        packed.start / scale,
        jac=True,
        method="L-BFGS-B",
        callback=note,
        options=options,
    )
    losses.append(float(solution.fun))
    return packed.unpack(solution.x * scale), losses


def median_time(call):
    """Median seconds of a call, over at least three and at most 0.2 s."""
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 3 or (
        time.perf_counter() - begin < 0.2 and len(times) < 200
    ):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def show(name):
    """Prints the Result of an example; ends the process with 1 if the gradient or the fit is wrong."""
    result = examine(name)
    model = importlib.import_module(f"{__package__}.{name}")
    print((model.__doc__ or name).splitlines()[0])
    print(f"  parameters   {result.size}")
    print(
        f"  gradient     {result.difference:.1e} largest difference to central differences, relative to the largest"
    )
    other = "central differences"
    if result.hand_difference is not None:
        print(
            f"               {result.hand_difference:.1e} to the gradient by hand"
        )
        other = "by hand"
    print(
        f"  fit          loss {result.loss_before:.6g} -> {result.loss_after:.6g}"
    )
    print(
        f"               {result.miss:.2g} from the truth (at most {result.tolerance:g})"
    )
    print(
        f"  time         {1e3 * result.gradient:.3g} ms a gradient; {1e3 * result.other:.3g} ms {other}: ratio "
        f"{result.gradient / result.other:.2g}; {1e3 * result.plain:.3g} ms the loss alone: ratio "
        f"{result.gradient / result.plain:.2g}"
    )
    if not result.right:
        print("FAILED", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    for each in sys.argv[1:] or NAMES:
        show(each)
