"""Arrays without axes that pass saved-tensor hooks come back as arrays, and computed scalars as scalars.

The class: how the 0-d Tensor was made (an array, a computed scalar) x what pack keeps (the Tensor, an array, a number)
x who keeps it (a Function, a primitive in a recorded run) x with hooks or without.
"""

import numpy as np
import pytest

import arraygrad as ag

HOOKS = {
    "none": None,
    "the Tensor": (lambda t: t, lambda t: t),
    "an array": (lambda t: t.numpy().copy(), lambda a: a),
    "a Tensor of an array": (lambda t: t.numpy().copy(), ag.asarray),
    "a number": (lambda t: t.item(), np.float64),
}


class Keeps(ag.autograd.Function):
    @staticmethod
    def forward(ctx, x, seen):
        ctx.save_for_backward(x)
        ctx.seen = seen
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        ctx.seen.append((x.shape, x.ndim, x.dtype, as_is(x)))
        return g * 2, None


def as_is(t):
    """Whether `t += 0` gives t itself."""
    found = t.detach()
    before = found
    found += 0.0
    return found is before


@pytest.mark.parametrize("hooks", HOOKS.values(), ids=HOOKS)
@pytest.mark.parametrize("computed", [False, True])
def test_saved_tensors_of_a_function(hooks, computed):
    t = ag.tensor(np.array(2.0), requires_grad=True)
    x = ag.sum(t * ag.ones(3)) if computed else t
    seen = []
    if hooks is None:
        y = Keeps.apply(x, seen)
    else:
        with ag.autograd.graph.saved_tensors_hooks(*hooks):
            y = Keeps.apply(x, seen)
    y.backward()
    ((shape, ndim, dtype, array),) = seen
    assert (shape, ndim, dtype) == ((), 0, np.float64)
    assert array is as_is(x)
