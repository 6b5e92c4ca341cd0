"""One program on arraygrad and on PyTorch: the few names in which the two differ. May import: arraygrad, torch."""

import pytest

import arraygrad as ag


class Library:
    """Leaves, constants, gradients and values of one library, float64; results are nested lists."""

    def __init__(self, name):
        self.name = name
        self.module = ag if name == "arraygrad" else pytest.importorskip("torch")
        self.autograd = self.module.autograd
        self.graph = self.autograd.graph

    def leaf(self, data):
        """A new leaf that requires grad."""
        return self.constant(data, requires_grad=True)

    def constant(self, data, requires_grad=False):
        """A new tensor of float64."""
        return self.module.tensor(data, dtype=self.module.float64, requires_grad=requires_grad)

    def values(self, t):
        """Nested lists of a tensor's values; None, and lists of tensors, too."""
        if t is None:
            return None
        if isinstance(t, list | tuple):
            return [self.values(item) for item in t]
        return t.detach().tolist()

    def grads(self, loss, *inputs):
        """The gradient of `loss` with respect to each input, None where it does not depend on it."""
        found = self.autograd.grad(loss, inputs, retain_graph=True, allow_unused=True)
        return self.values(found)
