"""cupy.fuse in a primitive: CuPy joins the operations of a Python function into one launch, forward and backward.

arraygrad's own elementwise gradients are one launch each already; fusing pays where a whole chain becomes one.
"""

import cupy
import numpy as np

import arraygrad as ag


@cupy.fuse()
def swish_value(x, slope):
    return x / (1.0 + cupy.exp(-slope * x))


@cupy.fuse()
def swish_slope(g, x, slope):
    s = 1.0 / (1.0 + cupy.exp(-slope * x))
    return g * (s + slope * x * s * (1.0 - s))


@ag.primitive
def swish(x, slope):
    """x sigmoid(slope x), for a constant slope."""
    return swish_value(x, slope)


swish.defvjp(lambda ans, x, slope: lambda g: swish_slope(g, x, slope), None)


def loss(x):
    """Any function of arraygrad's around it."""
    return ag.sum(ag.square(swish(x, 1.5)))


def check():
    """Whether the gradient is that of finite differences."""
    x = cupy.asarray(np.random.default_rng(0).normal(size=(4, 3)))
    return ag.gradcheck(loss, (ag.asarray(x, requires_grad=True),))


if __name__ == "__main__":
    print("gradient agrees with finite differences:", check())
