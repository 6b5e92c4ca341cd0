"""Custom Functions: what ctx keeps, how backward is called and checked (FN8, FN10, FN12, FN14, ND8)."""

import gc
import threading
import weakref

import numpy as np
import pytest
from function_helpers import Cube, Product, Scale
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import Function, grad, graph, once_differentiable

# FN8


def test_FN8_only_tensors_and_none_are_saved():
    class Wrong(Cube):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)
            return x * 1

    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 0 is of type int"):
        Wrong.apply(leaf([1.0]))


def test_FN8_none_reads_back_none():
    class Optional(Cube):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(None, x)
            return x * 1

    assert Optional.apply(leaf([1.0])).grad_fn.saved_tensors[0] is None


def test_FN8_the_last_call_counts():
    class Twice(Cube):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x)
            ctx.save_for_backward(x)
            return x * 1

    assert len(Twice.apply(leaf([1.0])).grad_fn.saved_tensors) == 1


def test_FN8_an_input_is_the_same_object():
    x = leaf([1.0])
    assert Cube.apply(x).grad_fn.saved_tensors[0] is x


def test_FN8_an_output_is_saved_without_a_cycle_and_has_its_history():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = ag.exp(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    y = Exp.apply(leaf([1.0]))
    node = weakref.ref(y.grad_fn)
    assert y.grad_fn.saved_tensors[0].grad_fn is y.grad_fn
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()
    assert ag.grad(ag.grad(Exp.apply))(0.0) == 1.0


def test_FN8_saved_tensors_are_freed_after_backward():
    y = Cube.apply(leaf([1.0]))
    node = y.grad_fn
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        node.saved_tensors  # noqa: B018
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_FN8_retain_graph_keeps_them():
    x = leaf([2.0])
    y = Cube.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    same(x.grad, [24.0])


def test_FN8_a_function_that_saves_nothing_runs_again():
    x = leaf([1.0])
    y = Scale.apply(x)
    y.backward()
    y.backward()
    same(x.grad, [4.0])


def test_FN8_saved_tensors_of_a_kept_ctx_outlive_the_graph():
    y = Cube.apply(leaf([2.0]))
    ctx = y.grad_fn
    del y
    same(ctx.saved_tensors[0], [2.0])


def test_FN8_an_input_overwritten_later_is_kept_as_it_was():
    x = leaf([2.0])
    b = x * 1
    y = Cube.apply(b)
    b += 100.0
    y.backward()
    same(x.grad, [12.0])


def test_FN8_or_refused(refuse_overwriting):
    b = leaf([2.0]) * 1
    y = Cube.apply(b)
    b += 100.0
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*is at version 1; expected version 0"):
        y.backward()


def test_FN8_writing_a_saved_tensor_in_backward_leaves_the_saved_value():
    class Careless(Cube):
        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            x = x.detach()
            x *= 0.0
            return g * 3 * ctx.saved_tensors[0] ** 2

    x = leaf([2.0])
    Careless.apply(x * 1).backward()
    same(x.grad, [12.0])


# FN10


class Sine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x.array
        return np.asarray(np.sin(x.array))

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        Sine.mode = ag.is_grad_enabled()
        return g.array * np.cos(ctx.x)


def test_FN10_backward_runs_without_grad_mode():
    x = leaf([0.0])
    grad(Sine.apply(x).sum(), x, create_graph=True)
    assert Sine.mode is False


def test_FN10_differentiating_twice_raises():
    x = leaf([0.0])
    y = Sine.apply(x)
    (g,) = grad(y, x, leaf([1.0]), create_graph=True)
    same(g, [1.0])
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_diff"):
        g.backward()


def test_FN10_also_where_the_incoming_gradient_does_not_require_grad():
    x = leaf([0.0])
    (g,) = grad(Sine.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.backward()
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        ag.grad(ag.grad(Sine.apply))(0.0)


def test_FN10_a_plain_pass_gives_plain_gradients():
    x = leaf([0.0])
    (g,) = grad(Sine.apply(x), x)
    assert not g.requires_grad


# FN12


def test_FN12_the_node_is_an_instance_of_name_backward_and_is_the_ctx():
    seen = {}

    class Seen(Cube):
        @staticmethod
        def forward(ctx, x):
            seen["forward"] = ctx
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen["backward"] = ctx
            return g

    y = Seen.apply(leaf([1.0]))
    node = y.grad_fn
    assert type(node).__name__ == node.name() == "SeenBackward"
    assert isinstance(node, graph.Node)
    y.backward()
    assert seen["forward"] is node
    assert seen["backward"] is node


def test_FN12_ctx_takes_any_attribute():
    class Attributes(Cube):
        @staticmethod
        def forward(ctx, x):
            ctx.device, ctx.saved, ctx.anything = "a", "b", "c"
            return x * 1

        @staticmethod
        def backward(ctx, g):
            assert (ctx.device, ctx.saved, ctx.anything) == ("a", "b", "c")
            return g

    x = leaf([1.0])
    Attributes.apply(x).backward()
    same(x.grad, [1.0])


def test_FN12_attributes_live_as_long_as_the_node():
    class Thing:
        pass

    class Holds(Cube):
        @staticmethod
        def forward(ctx, x):
            ctx.thing = Thing()
            return x * 1

    y = Holds.apply(leaf([1.0]))
    thing = weakref.ref(y.grad_fn.thing)
    gc.disable()
    try:
        assert thing() is not None
        del y
        assert thing() is None
    finally:
        gc.enable()


def test_FN12_a_cycle_through_ctx_is_collected():
    class Cycle(Cube):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.result = y
            ctx.self = ctx
            return y

    y = Cycle.apply(leaf([1.0]))
    node = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert node() is None


# FN14


def test_FN14_boxed_grads_call_hands_backward_a_list():
    class Boxed(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2.0, x * 3.0

        @staticmethod
        def backward(ctx, grads):
            a, b = grads
            grads.clear()
            return a * 2.0 + b * 3.0

    x = leaf([1.0])
    a, b = Boxed.apply(x)
    (a + b).backward()
    same(x.grad, [5.0])


# ND8


def test_ND8_needs_input_grad_follows_the_running_pass():
    a, b = leaf([2.0]), leaf([3.0])
    y = Product.apply(a, b)
    grad(y, a, retain_graph=True)
    assert Product.asked == (True, False)
    grad(y, [b], retain_graph=True)
    assert Product.asked == (False, True)
    y.backward(inputs=[b], retain_graph=True)
    assert Product.asked == (False, True)
    y.backward()
    assert Product.asked == (True, True)


def test_ND8_it_holds_through_the_graph_below():
    a, b = leaf([2.0]), leaf([3.0])
    y = Product.apply(ag.exp(a), ag.exp(b))
    grad(y, a)
    assert Product.asked == (True, False)


# More of the machinery


def test_VO1_wrong_counts_of_gradients_are_named_and_extra_none_dropped():
    class Few(Product):
        @staticmethod
        def backward(ctx, g):
            return (g,)

    class Extra(Cube):
        @staticmethod
        def backward(ctx, g):
            return g, None, None

    with pytest.raises(
        RuntimeError, match=r"function FewBackward returned an incorrect number of gradients \(expected 2, got 1\)"
    ):
        Few.apply(leaf([1.0]), leaf([1.0])).backward()
    x = leaf([1.0])
    Extra.apply(x).backward()
    same(x.grad, [1.0])


def test_VO7_something_else_than_a_gradient_is_refused():
    class Number(Cube):
        @staticmethod
        def backward(ctx, g):
            return 5

    with pytest.raises(TypeError, match=r"expected Variable or None \(got int\)"):
        Number.apply(leaf([1.0])).backward()


def test_VO7_a_gradient_for_a_tensor_that_does_not_require_grad_is_ignored():
    x = leaf([3.0])

    class All(Product):
        @staticmethod
        def backward(ctx, g):
            return g, g * 100.0

    All.apply(x, ag.tensor([1.0])).backward()
    same(x.grad, [1.0])


@pytest.mark.parametrize("create_graph", [False, True])
def test_VO3_gradients_of_functions_are_summed_to_the_input(create_graph):
    class Broadcast(Function):
        @staticmethod
        def forward(ctx, x):
            return x + ag.zeros((3, 2))

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf([1.0, 2.0])
    (g,) = grad(Broadcast.apply(x).sum(), x, create_graph=create_graph)
    same(g, [3.0, 3.0])


def test_DG1_deep_chains_of_functions_run_and_are_freed_without_recursion():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(1.0)
    y = x
    for _ in range(150_000):
        y = Same.apply(y)
    y.backward()
    assert x.grad.item() == 1.0
    del y


def test_DG1_deep_chains_that_mix_functions_and_operations_are_freed():
    x = leaf(1.0)
    y = x
    for _ in range(60_000):
        y = Scale.apply(y) * 0.5
    del y
    gc.collect()


def test_AG10_functions_run_in_two_threads_at_once():
    x = leaf(np.ones(4))
    start = threading.Barrier(2)
    errors = []

    def work():
        try:
            start.wait()
            for _ in range(50):
                Cube.apply(x).sum().backward()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    same(x.grad, np.full(4, 300.0))


def test_ND2_a_function_node_can_be_called_by_hand():
    x = leaf([2.0])
    y = Cube.apply(x)
    same(y.grad_fn(ag.tensor([1.0])), [12.0])
    with pytest.raises(TypeError, match="CubeBackward expected 1 arguments, got 2 instead"):
        y.grad_fn(1, 2)


def test_GM2_the_mode_in_backward_is_create_graph():
    modes = []

    class Look(Cube):
        @staticmethod
        def backward(ctx, g):
            modes.append(ag.is_grad_enabled())
            return g

    x = leaf([1.0])
    y = Look.apply(x)
    grad(y, x)
    grad(y, x, create_graph=True)
    with ag.no_grad():
        grad(y, x)
    assert modes == [False, True, False]


def test_summary_and_draw_show_functions():
    y = Cube.apply(leaf([1.0, 2.0]))
    assert "CubeBackward" in graph.summary(y)
    assert "CubeBackward" in graph.draw(y).source
