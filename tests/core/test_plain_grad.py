"""The compiled way in which everyday calls of autograd.grad find their roots gives what the general way gives."""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd.graph import get_gradient_edge
from arraygrad.core.roots import plain_inputs, plain_roots, set_compiled_backward


def leaf(data, dtype=np.float64):
    return ag.asarray(np.array(data, dtype=dtype), requires_grad=True)


def both_ways(call):
    """(outcome of the compiled way, outcome of the general way): arrays, or the error's type and text."""
    found = []
    for mode in (True, False):
        previous = set_compiled_backward(mode)
        try:
            result = call()
            found.append([None if g is None else (g.numpy().tolist(), g.dtype, g.shape) for g in result])
        except (RuntimeError, TypeError, ValueError) as error:
            found.append((type(error), str(error)))
        finally:
            set_compiled_backward(previous)
    return found


CASES = {
    "as it should be": lambda y, z: ([y, z], [ag.asarray(np.ones(3)), ag.asarray(np.ones(()))]),
    "one of each": lambda y, z: ([y], [ag.asarray(np.full(3, 2.0))]),
    "raw gradients": lambda y, z: ([y, z], [np.ones(3), np.ones(())]),
    "no gradient for a scalar": lambda y, z: ([y, z], [ag.asarray(np.ones(3)), None]),
    "another dtype": lambda y, z: ([y], [ag.asarray(np.ones(3, np.float32))]),
    "a complex gradient": lambda y, z: ([y], [ag.asarray(np.ones(3, np.complex128))]),
    "another shape": lambda y, z: ([y], [ag.asarray(np.ones(4))]),
    "too few": lambda y, z: ([y, z], [ag.asarray(np.ones(3))]),
    "no array": lambda y, z: ([y], ["one"]),
    "an output without a graph": lambda y, z: ([y.detach()], [ag.asarray(np.ones(3))]),
    "an edge": lambda y, z: ([get_gradient_edge(y)], [ag.asarray(np.ones(3))]),
    "a Tensor alone": lambda y, z: (y, ag.asarray(np.ones(3))),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_gives_what_the_general_way_gives(create_graph, case):
    def call():
        x = leaf([1.0, 2.0, 3.0])
        y = x * x
        outputs, given = CASES[case](y, y.sum())
        return ag.autograd.grad(outputs, [x, y], given, create_graph=create_graph, allow_unused=True)

    compiled, general = both_ways(call)
    assert compiled == general


def test_inputs_that_are_no_leaves_or_need_no_gradient_are_found_as_ever():
    def call(targets):
        x = leaf([1.0, 2.0])
        y = x * 3.0
        return ag.autograd.grad([y * y], targets(x, y), [ag.asarray(np.ones(2))], allow_unused=True)

    for targets in (
        lambda x, y: [x],
        lambda x, y: (y, x),
        lambda x, y: {"a": x}.values(),
        lambda x, y: [get_gradient_edge(x), y],
        lambda x, y: [x.detach()],
        lambda x, y: [leaf([1.0])],
        lambda x, y: [1.0],
    ):
        compiled, general = both_ways(lambda targets=targets: call(targets))
        assert compiled == general


def test_only_what_needs_no_words_takes_the_compiled_way():
    x = leaf([1.0, 2.0])
    y, g = x * 2.0, ag.asarray(np.ones(2))
    edges, given = plain_roots([y], [g])
    assert edges[0].node is y.grad_fn
    assert given[0] is g
    assert plain_roots([y], g) is None
    assert plain_roots([y], [np.ones(2)]) is None
    assert plain_roots([y], [g, g]) is None
    assert plain_roots([g], [g]) is None
    assert plain_inputs((x, g)) is None
    assert plain_inputs((x, y))[1].node is y.grad_fn


def test_hooks_of_outputs_and_inputs_are_called():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.register_hook(lambda g: g * 10.0)
    x.register_hook(lambda g: g + 1.0)
    (got,) = ag.autograd.grad([y], [x], [ag.asarray(np.ones(2))])
    np.testing.assert_array_equal(got.numpy(), [21.0, 21.0])


def test_a_recorded_gradient_of_a_broadcast_operand_is_one_sum():
    b, a = leaf([1.0, 2.0, 3.0]), leaf(np.ones((4, 3)))
    (g,) = ag.autograd.grad([(a + b) ** 2], [b], [ag.asarray(np.ones((4, 3)))], create_graph=True)
    assert g.grad_fn.name() == "SumBackward"
    assert g.shape == (3,)
    column = leaf(np.ones((4, 1)))
    (g,) = ag.autograd.grad([(a[None] * column) ** 2], [column], [ag.asarray(np.ones((1, 4, 3)))], create_graph=True)
    assert g.shape == (4, 1)
    (h,) = ag.autograd.grad(g.sum(), column)
    np.testing.assert_allclose(h.numpy(), np.full((4, 1), 6.0))
