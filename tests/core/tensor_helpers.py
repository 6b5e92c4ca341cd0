"""Builders for tests of Tensors over NumPy arrays. May import: arraygrad, numpy."""

import numpy as np

import arraygrad as ag
from arraygrad.autograd import GradientEdge
from arraygrad.core.tensor import backend_of, gradient_edge
from arraygrad.engine.node import PyNode


def leaf(data, dtype=None):
    """A new leaf that requires grad."""
    return ag.tensor(data, dtype=dtype, requires_grad=True)


def same(t, expected, dtype=None):
    """Assert that a Tensor (or array) has exactly these values, and the dtype if one is given."""
    assert t is not None
    array = t.numpy() if isinstance(t, ag.Tensor) else np.asarray(t)
    np.testing.assert_array_equal(array, expected)
    if dtype is not None:
        assert array.dtype == dtype
    return True


def python_function(fn, *inputs, name="Special", like=None):
    """The edge of a Python node over `inputs`: fn(raw gradient) returns one raw gradient per input.

    The gradient that arrives has the shape and dtype of `like` (default: the first input).
    """
    like = inputs[0] if like is None else like
    edges = [gradient_edge(t) if t.requires_grad else None for t in inputs]
    return GradientEdge(PyNode(name, fn, edges=edges, metas=(backend_of(like).meta(like.array),)), 0)


def nodes_of(t):
    """Every node of the graph of a Tensor, by name (the last one of a name wins)."""
    found, stack = {}, [t.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None:
            found[node.name()] = node
            stack.extend(child for child, _ in node.next_functions)
    return found
