"""Custom Functions: what apply does with arguments and results (FN1-FN7, FN9)."""

import collections

import numpy as np
import pytest
from function_helpers import Cube, Product, Scale, two_outputs
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import Function, grad

# FN1


def test_FN1_forward_runs_with_grad_mode_off():
    class Look(Cube):
        @staticmethod
        def forward(ctx, x):
            Look.mode = ag.is_grad_enabled()
            return x * 2

    Look.apply(leaf([1.0]))
    assert Look.mode is False
    assert ag.is_grad_enabled()


def test_FN1_grad_mode_is_restored_after_an_error_in_forward():
    class Fails(Cube):
        @staticmethod
        def forward(ctx, x):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Fails.apply(leaf([1.0]))
    assert ag.is_grad_enabled()


def test_FN1_the_result_requires_grad_if_an_argument_does():
    assert Product.apply(leaf([1.0]), ag.tensor([2.0])).requires_grad
    assert not Product.apply(ag.tensor([1.0]), ag.tensor([2.0])).requires_grad


def test_FN1_under_no_grad_nothing_is_recorded():
    with ag.no_grad():
        y = Cube.apply(leaf([1.0]))
    assert not y.requires_grad
    assert y.grad_fn is None


def test_FN1_needs_input_grad_in_forward_says_which_arguments_require_grad():
    assert Product.apply(leaf([1.0]), ag.tensor([2.0])).grad_fn.in_forward == (True, False)


def test_FN1_gradients_of_any_order():
    assert ag.grad(Cube.apply)(2.0) == 12.0
    assert ag.grad(ag.grad(Cube.apply))(2.0) == 12.0
    assert ag.grad(ag.grad(ag.grad(Cube.apply)))(2.0) == 6.0


def test_FN1_gradcheck_and_gradgradcheck():
    x = np.array([0.5, -1.5])
    ag.gradcheck(Cube.apply, (x,))
    ag.gradgradcheck(Cube.apply, (x,))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_FN1_the_dtype_stays(dtype):
    x = leaf(np.asarray([1.0, 2.0], dtype=dtype))
    y = Cube.apply(x)
    (g,) = grad(y, x, ag.asarray(np.ones(2, dtype=dtype)))
    assert y.dtype == g.dtype == dtype


def test_FN1_works_on_array_api_strict():
    xp = pytest.importorskip("array_api_strict")
    x = ag.asarray(xp.asarray([1.0, 2.0]), requires_grad=True)
    y = Cube.apply(x)
    y.backward(xp.asarray([1.0, 1.0]))
    assert isinstance(x.grad.array, type(x.array))
    same(x.grad, [3.0, 12.0])


def test_FN1_a_raw_result_of_forward_becomes_a_tensor():
    class Raw(Cube):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return np.asarray(x.array**3)

    x = leaf([2.0])
    y = Raw.apply(x)
    assert isinstance(y, ag.Tensor)
    y.backward()
    same(x.grad, [12.0])


def test_FN1_so_does_a_numpy_scalar_which_numpy_makes_of_0d_arrays():
    class Raw(Cube):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return np.power(x.array, 3.0)

        @staticmethod
        def backward(ctx, g):
            return g.array * 3.0 * ctx.saved_tensors[0].array ** 2

    x = leaf(2.0)
    assert isinstance(np.power(x.array, 3.0), np.float64)
    y = Raw.apply(x)
    assert isinstance(y, ag.Tensor)
    y.backward()
    same(x.grad, 12.0)


# FN2


def test_FN2_setup_context_sees_arguments_with_defaults_and_the_result():
    y = Scale.apply(leaf([1.0]))
    assert len(y.grad_fn.inputs) == 2
    assert y.grad_fn.inputs[1] == 2.0
    y.backward()


@pytest.mark.parametrize("call", [lambda x: Scale.apply(x, 5.0), lambda x: Scale.apply(x=x, factor=5.0)])
def test_FN2_arguments_by_keyword_take_their_places(call):
    x = leaf([1.0])
    call(x).backward()
    same(x.grad, [5.0])


def test_FN2_keywords_work_in_the_first_style_too():
    class Times(Function):
        @staticmethod
        def forward(ctx, x, k=2.0):
            ctx.k = k
            return x * k

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None

    x = leaf([1.0])
    Times.apply(x, k=4.0).backward()
    Times.apply(x).backward()
    same(x.grad, [6.0])


def test_FN2_keyword_only_arguments_are_passed():
    class Power(Function):
        @staticmethod
        def forward(ctx, x, *, n):
            ctx.save_for_backward(x)
            ctx.n = n
            return x**n

        @staticmethod
        def backward(ctx, g):
            return g * ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1)

    x = leaf([3.0])
    Power.apply(x, n=2).backward()
    same(x.grad, [6.0])
    with pytest.raises(TypeError, match="keyword-only argument 'n' requires grad"):
        Power.apply(ag.tensor([1.0]), n=x)


def test_FN2_wrong_arguments_name_the_function():
    with pytest.raises(TypeError, match=r"Scale\.apply: got an unexpected keyword argument 'z'"):
        Scale.apply(leaf([1.0]), z=1)


def test_FN2_setup_context_runs_with_grad_mode_off():
    class Look(Scale):
        @staticmethod
        def setup_context(ctx, inputs, output):
            Look.mode = ag.is_grad_enabled()

    Look.apply(leaf([1.0]))
    assert Look.mode is False


# FN3


def test_FN3_other_arguments_and_results_pass_through():
    marker = object()

    class Mixed(Function):
        @staticmethod
        def forward(ctx, x, text, y, nothing):
            assert text == "text"
            assert nothing is None
            return marker, x * y, None, [1, 2], "bar"

        @staticmethod
        def backward(ctx, *grads):
            Mixed.grads = grads
            return grads[1], None, grads[1] * 2, None

    x, y = leaf([1.0]), leaf([2.0])
    out = Mixed.apply(x, "text", y, None)
    assert out[0] is marker
    assert out[2:] == (None, [1, 2], "bar")
    out[1].backward()
    assert [type(g) for g in Mixed.grads] == [type(None), ag.Tensor, type(None), type(None), type(None)]
    same(x.grad, [1.0])
    same(y.grad, [2.0])


def test_FN3_a_gradient_for_what_is_no_tensor_is_refused():
    class Wrong(Scale):
        @staticmethod
        def backward(ctx, g):
            return g, g

    with pytest.raises(RuntimeError, match="gradient different than None at position 2"):
        Wrong.apply(leaf([1.0])).backward()


def test_FN3_a_named_tuple_stays_one():
    Pair = collections.namedtuple("Pair", "a b")
    Named = two_outputs(forward=lambda ctx, x: Pair(x * 2.0, x * 3.0))
    out = Named.apply(leaf([1.0]))
    assert type(out) is Pair
    assert out.b.requires_grad


def test_FN3_a_tensor_hidden_in_a_list_is_refused_where_its_gradient_would_be_lost():
    class Listed(Function):
        @staticmethod
        def forward(ctx, items):
            return items[0] * 2

    with pytest.raises(TypeError, match="argument 0 is a list that holds a Tensor that requires grad"):
        Listed.apply([leaf([1.0])])
    same(Listed.apply([ag.tensor([1.0])]), [2.0])


def test_FN3_a_list_of_tensors_as_result_is_refused_where_gradients_would_be_lost():
    Listed = two_outputs("Listed", forward=lambda ctx, x: [x * 2.0])
    with pytest.raises(TypeError, match=r"Listed\.forward returned a list that holds Tensors"):
        Listed.apply(leaf([1.0]))


# FN4


def test_FN4_outputs_without_a_gradient_get_zeros():
    seen = {}

    def backward(ctx, a, b):
        seen["b"] = b
        return a

    a, _ = two_outputs(backward=backward).apply(leaf(np.ones(2, np.float32)))
    a.sum().backward()
    same(seen["b"], [0.0, 0.0], np.float32)


def test_FN4_or_none_where_grads_are_not_materialized():
    seen = {}

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2.0, x * 3.0

    def backward(ctx, a, b):
        seen["b"] = b
        return a

    a, _ = two_outputs(forward=forward, backward=backward).apply(leaf([1.0]))
    a.backward()
    assert seen["b"] is None


@pytest.mark.parametrize("way", ["method", "attribute"])
def test_FN4_none_for_outputs_that_have_no_derivative(way):
    seen = {}

    def forward(ctx, x):
        fixed = x * 3.0
        ctx.mark_non_differentiable(fixed)
        if way == "method":
            ctx.set_materialize_non_diff_grads(False)
        else:
            ctx._materialize_non_diff_grads = False
        assert not ctx._materialize_non_diff_grads
        return x * 2.0, fixed, x.astype(np.int64), x * 5.0

    def backward(ctx, *grads):
        seen["grads"] = grads
        return grads[0]

    y = two_outputs(forward=forward, backward=backward).apply(leaf([1.0]))
    y[0].backward()
    a, fixed, integers, unused = seen["grads"]
    assert fixed is None
    assert integers is None
    same(a, [1.0])
    same(unused, [0.0])


def test_FN4_outputs_without_a_derivative_get_zeros_at_first():
    seen = {}

    def forward(ctx, x):
        fixed = x * 3.0
        ctx.mark_non_differentiable(fixed)
        return x * 2.0, fixed

    def backward(ctx, *grads):
        seen["grads"] = grads
        return grads[0]

    two_outputs(forward=forward, backward=backward).apply(leaf([1.0]))[0].backward()
    same(seen["grads"][1], [0.0])


def test_FN4_materialize_grads_is_an_attribute_too():
    seen = {}

    def forward(ctx, x):
        assert ctx.materialize_grads is True
        ctx.materialize_grads = False
        return x * 2.0, x * 3.0

    def backward(ctx, a, b):
        seen["b"] = b
        return a

    two_outputs(forward=forward, backward=backward).apply(leaf([1.0]))[0].backward()
    assert seen["b"] is None


# FN5


def test_FN5_an_input_returned_as_it_is_becomes_a_new_tensor():
    Same = two_outputs("Same", forward=lambda ctx, x: x, backward=lambda ctx, g: g * 5.0)
    x = leaf([1.0])
    b = x * 1
    before = b.grad_fn
    y = Same.apply(b)
    assert y is not b
    assert b.grad_fn is before
    assert y.grad_fn.name() == "SameBackward"
    assert np.shares_memory(y.array, b.array)
    y.backward()
    same(x.grad, [5.0])


def test_FN5_without_recording_it_is_an_alias_without_history():
    Same = two_outputs("Same", forward=lambda ctx, x: x)
    x = leaf([1.0])
    with ag.no_grad():
        y = Same.apply(x)
    assert y is not x
    assert not y.requires_grad
    assert x.requires_grad


def test_FN5_a_tensor_returned_twice_stands_at_its_last_slot():
    seen = []

    def forward(ctx, x):
        y = x * 2.0
        return y, y

    def backward(ctx, a, b):
        seen.append((a.item(), b.item()))
        return a * 10.0 + b

    a, b = two_outputs(forward=forward, backward=backward).apply(leaf([1.0]))
    assert a is b
    assert a.output_nr == 1
    (a + b).backward()
    assert seen == [(0.0, 2.0)]


def test_FN5_a_foreign_tensor_with_a_history_of_its_own_is_returned_as_an_alias():
    other = leaf([7.0])
    names = {"other": other}.__getitem__  # by its variable it is refused: its gradient would be lost
    Foreign = two_outputs("Foreign", forward=lambda ctx, x: names("other"), backward=lambda ctx, g: g)
    y = Foreign.apply(leaf([1.0]))
    assert y is not other
    assert other.is_leaf
    same(y, [7.0])


# FN6


class Doubled(Function):
    """Writes its input in place."""

    @staticmethod
    def forward(ctx, x):
        x *= 2.0
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2.0


def test_FN6_a_dirty_input_is_the_output_and_gets_the_new_history():
    x = leaf([1.0, 2.0])
    b = x * 3.0
    y = Doubled.apply(b)
    assert y is b
    assert b.grad_fn.name() == "DoubledBackward"
    b.sum().backward()
    same(x.grad, [6.0, 6.0])


def test_FN6_a_dirty_input_is_counted_as_written_once_more():
    b = leaf([1.0]) * 1
    Doubled.apply(b)
    assert b.version == 2  # the write and the mark


def test_FN6_other_nodes_keep_what_they_saved():
    x = leaf([1.0])
    b = ag.exp(x)
    Doubled.apply(b)
    b.backward()
    same(x.grad, [2.0 * np.exp(1.0)])


def test_FN6_a_write_to_the_raw_array_is_seen_by_nodes_that_saved_it():
    class Raw(Doubled):
        @staticmethod
        def forward(ctx, x):
            x.array[...] *= 2.0
            ctx.mark_dirty(x)
            return x

    b = ag.exp(leaf([1.0]))
    Raw.apply(b)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        b.backward()


def test_FN6_a_dirty_view_rewrites_its_base():
    x = leaf([1.0, 2.0])
    b = x * 1
    Doubled.apply(b[:1])
    same(b, [2.0, 2.0])
    b.sum().backward()
    same(x.grad, [2.0, 1.0])


def test_FN6_a_dirty_tensor_that_did_not_require_grad_moves_into_the_graph():
    class AddTo(Function):
        @staticmethod
        def forward(ctx, total, x):
            total += x
            ctx.mark_dirty(total)
            return total

        @staticmethod
        def backward(ctx, g):
            return g, g

    total, x = ag.tensor([1.0]), leaf([2.0])
    assert AddTo.apply(total, x) is total
    assert total.requires_grad
    total.backward()
    same(x.grad, [1.0])


def test_FN6_dirty_means_returned():
    class Kept(Doubled):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 1

    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned"):
        Kept.apply(leaf([1.0]) * 1)


def test_FN6_a_leaf_that_requires_grad_is_refused():
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place operation"):
        Doubled.apply(leaf([1.0]))


def test_FN6_a_view_of_a_leaf_is_refused():
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        Doubled.apply(leaf([1.0, 2.0])[:1])


def test_FN6_marking_what_is_no_input_warns():
    class Odd(Doubled):
        @staticmethod
        def forward(ctx, x):
            y = x * 1
            ctx.mark_dirty(y)
            return y

    with pytest.warns(UserWarning, match=r"mark_dirty\(\) received a tensor that was not an input"):
        Odd.apply(leaf([1.0]))


def test_FN6_a_dirty_view_allows_one_output_only():
    class Both(Doubled):
        @staticmethod
        def forward(ctx, x):
            x *= 2.0
            ctx.mark_dirty(x)
            return x, x * 2

    with pytest.raises(RuntimeError, match="modifies inplace an input that is a view of another Tensor"):
        Both.apply((leaf([1.0, 2.0]) * 1)[:1])


# FN7, FN9


def test_FN7_marked_outputs_do_not_require_grad_and_backward_gets_zeros():
    seen = {}

    def forward(ctx, x):
        mask = x > 1.0
        position = x * 10.0
        ctx.mark_non_differentiable(mask, position)
        return x * 2.0, mask, position

    def backward(ctx, g, mask, position):
        seen.update(mask=mask, position=position)
        return g * 2.0

    y, mask, position = two_outputs(forward=forward, backward=backward).apply(leaf([1.0, 2.0]))
    assert not mask.requires_grad
    assert not position.requires_grad
    y.sum().backward()
    same(seen["mask"], [False, False], np.bool_)
    same(seen["position"], [0.0, 0.0], np.float64)


def test_FN9_integer_outputs_never_require_grad():
    Integers = two_outputs("Integers", forward=lambda ctx, x: (x * 2.0, ag.argmax(x)))
    y, index = Integers.apply(leaf([1.0, 3.0]))
    assert y.requires_grad
    assert not index.requires_grad
    assert index.grad_fn is None


@pytest.mark.parametrize("name", ["mark_dirty", "mark_non_differentiable"])
def test_marking_a_raw_array_is_refused_with_its_name(name):
    class Marks(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            getattr(ctx, name)(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(TypeError, match=rf"{name}: expected Tensors, .* got ndarray"):
        Marks.apply(np.ones(2))


def test_RQ2_a_function_has_a_higher_number_than_the_nodes_of_views_made_anew_for_it():
    """The numbers are the order in which gradients that meet are added, whichever thread computed them."""
    x = leaf([1.0, 2.0])
    base = x * 1
    view = base[:]
    base *= 2
    y = Scale.apply(view, 3.0)
    (following, _), *_ = y.grad_fn.next_functions
    assert y.grad_fn.sequence_nr > following.sequence_nr
