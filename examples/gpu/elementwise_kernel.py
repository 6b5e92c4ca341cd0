"""An ElementwiseKernel in a Function: a smooth absolute value and its gradient, one launch each.

`ag.autograd.Function` is the longer form: forward and backward get Tensors, and what backward needs is saved by hand.
"""

import cupy
import numpy as np

import arraygrad as ag

smooth_abs_kernel = cupy.ElementwiseKernel(
    "float64 x, float64 width", "float64 y", "y = sqrt(x * x + width * width) - width", "smooth_abs"
)
slope_kernel = cupy.ElementwiseKernel(
    "float64 g, float64 x, float64 width",
    "float64 out",
    "out = g * x / sqrt(x * x + width * width)",
    "smooth_abs_slope",
)


class SmoothAbs(ag.autograd.Function):
    """sqrt(x^2 + width^2) - width: abs(x) without its kink."""

    @staticmethod
    def forward(ctx, x, width):
        ctx.save_for_backward(x)
        ctx.width = width
        return ag.asarray(smooth_abs_kernel(x.array, width))

    @staticmethod
    @ag.autograd.once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return ag.asarray(slope_kernel(g.array, x.array, ctx.width)), None


def loss(x):
    """A robust sum of deviations."""
    return ag.sum(SmoothAbs.apply(x - 0.25, 0.1))


def check():
    """Whether the gradient is that of finite differences."""
    x = cupy.asarray(np.random.default_rng(0).normal(size=(7,)))
    return ag.gradcheck(loss, (ag.asarray(x, requires_grad=True),))


if __name__ == "__main__":
    print("gradient agrees with finite differences:", check())
