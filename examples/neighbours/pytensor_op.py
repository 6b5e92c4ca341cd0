"""PyTensor and PyMC: a NumPy function as an operation of theirs, with its derivative. Needs PyTensor.

In a PyMC model `potential = Function(log_likelihood)(a, b)` is a term of the posterior that its samplers differentiate.
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import grad
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

import arraygrad as ag


def _variables(args):
    return [pt.as_tensor_variable(arg) for arg in args]


class Function(Op):
    """`f` of arrays of floats, which returns an array of `ndim` axes."""

    __props__ = ("f", "ndim")

    def __init__(self, f, ndim=0):
        self.f, self.ndim = f, ndim

    def make_node(self, *args):
        result = pt.TensorType("float64", shape=(None,) * self.ndim)()
        return Apply(self, _variables(args), [result])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(self.f(*inputs), dtype="float64")

    def pullback(self, inputs, outputs, cotangents):
        return Pullback(self.f).make_node(*inputs, *cotangents).outputs


class Pullback(Op):
    """The gradients of `f` for a cotangent of its result, the last argument."""

    __props__ = ("f",)

    def __init__(self, f):
        self.f = f

    def make_node(self, *args):
        args = _variables(args)
        return Apply(self, args, [arg.type() for arg in args[:-1]])

    def perform(self, node, inputs, output_storage):
        value, pull = ag.vjp(self.f, *inputs[:-1])
        gradients = pull(np.reshape(inputs[-1], np.shape(value)))
        for output, gradient in zip(output_storage, gradients, strict=True):
            output[0] = np.asarray(gradient)


def decay(amounts, rate):
    """A loop that writes into an array, which PyTensor would want as a scan."""
    kept = np.zeros(5)
    for i in range(5):
        amounts = amounts * np.exp(-rate)
        kept[i] = np.sum(amounts**2)
    return np.sum(np.log(kept))


if __name__ == "__main__":
    amounts, rate = pt.dvector("amounts"), pt.dscalar("rate")
    value: Any = Function(decay)(amounts, rate)
    slopes: Any = grad(value, [amounts, rate])
    print([slope.eval({amounts: np.array([1.0, 2.0]), rate: 0.3}) for slope in slopes])
