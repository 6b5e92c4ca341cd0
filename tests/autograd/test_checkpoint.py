"""ag.checkpoint: the same gradients, fewer saved values, one more evaluation."""

import gc
import weakref

import numpy as np
import pytest
from function_helpers import Cube
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import grad
from arraygrad.autograd.graph import saved_tensors_hooks

DATA = np.array([0.1, 0.5, -0.3])


def layer(x):
    return np.tanh(np.exp(x) * x)


def saved_arrays(t):
    """How many arrays the graph behind a tensor keeps: distinct ones, place holders not counted."""
    seen, stack, kept = set(), [t.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        kept.update(id(item) for item in gc.get_referents(node) if type(item).__name__ == "Value")
        stack.extend(child for child, _ in node.next_functions)
    return len(kept)


class Calls:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function = function
        self.count = 0

    def __call__(self, *args, **kwargs):
        self.count += 1
        return self.function(*args, **kwargs)


PROGRAMS = {
    "one": lambda c, x: c(layer)(x),
    "two in a row": lambda c, x: c(layer)(c(layer)(x)),
    "nested": lambda c, x: c(lambda x: c(layer)(layer(x)))(x),
    "nested three deep": lambda c, x: c(lambda x: c(lambda x: c(layer)(layer(x)) * x)(x))(x),
    "nested first": lambda c, x: c(lambda x: layer(c(layer)(x)))(x),
    "closure": lambda c, x: c(lambda y: np.sin(y) * x)(x * 2.0),
    "gradient inside": lambda c, x: c(lambda x: x * ag.grad(lambda y: np.sum(np.sin(y) * x))(x))(x),
    "two results": lambda c, x: np.multiply(*c(lambda x: (np.exp(x), np.sin(x)))(x)),
    "containers": lambda c, x: c(lambda p: {"y": np.exp(p["a"][0]) * p["b"]})({"a": [x], "b": x * x})["y"],
    "keywords": lambda c, x: c(lambda x, *, power: x**power * np.exp(x))(x, power=2.0),
    "in place": lambda c, x: c(_in_place)(x),
    "constants": lambda c, x: c(lambda x, w: np.exp(x * w))(x, np.array([1.0, 2.0, 3.0])),
    "nothing saved": lambda c, x: c(lambda x: x + 1.0)(x) * x,
}


def _in_place(x):
    y = x * 1.0
    y[1:] *= x[:-1]
    y *= y
    return np.exp(y)


@pytest.fixture(params=PROGRAMS.values(), ids=PROGRAMS.keys())
def program(request):
    return request.param


def plain(f):
    return f


@pytest.mark.parametrize("early_stop", [True, False])
def test_gradients_are_the_same(program, early_stop):
    def check(f):
        return ag.checkpoint(f, early_stop=early_stop)

    expected = ag.grad(lambda x: np.sum(program(plain, x)))(DATA)
    np.testing.assert_array_equal(ag.grad(lambda x: np.sum(program(check, x)))(DATA), expected)


def test_second_derivatives_are_the_same(program):
    def hessian(c):
        return ag.hessian(lambda x: np.sum(program(c, x) ** 2))(DATA)

    np.testing.assert_allclose(hessian(ag.checkpoint), hessian(plain), rtol=1e-12)


def test_values_are_the_same_and_need_no_gradient(program):
    np.testing.assert_array_equal(
        ag.asarray(program(ag.checkpoint, DATA)).numpy(), ag.asarray(program(plain, DATA)).numpy()
    )


def chain(wrap, n, x):
    for _ in range(n):
        x = wrap(layer)(x)
    return x


def test_a_chain_keeps_the_arguments_of_its_pieces_only():
    x = leaf(DATA)
    assert saved_arrays(chain(plain, 8, x)) > 16
    assert saved_arrays(chain(ag.checkpoint, 8, x)) == 0  # place holders; the arguments are with the checkpoints


def test_what_operations_would_save_is_freed_in_forward():
    inside = []

    def f(x):
        y = ag.exp(x)
        inside.append(weakref.ref(y.array))
        return y * y

    x = leaf(DATA)
    z = ag.checkpoint(f)(x)
    gc.collect()
    assert inside[0]() is None
    z.sum().backward()
    same(x.grad, 2 * np.exp(DATA) * np.exp(DATA))


def test_arguments_of_a_nested_checkpoint_are_not_kept():
    inside = []

    def inner(y):
        inside.append(weakref.ref(y.array))
        return ag.exp(y)

    z = ag.checkpoint(lambda x: ag.checkpoint(inner)(ag.sin(x)))(leaf(DATA))
    gc.collect()
    assert inside[0]() is None
    z.sum().backward()


def test_one_piece_at_a_time_is_alive_in_backward():
    alive = []
    values = []

    def f(x):
        y = ag.exp(x)
        values.append(weakref.ref(y.array))
        return ag.sin(y)

    x = leaf(DATA)
    y = x
    for _ in range(4):
        y = ag.checkpoint(f)(y)
        y.register_hook(lambda g: alive.append(sum(v() is not None for v in values)))
    y.sum().backward()
    assert alive == [0, 0, 0, 0]


def test_the_function_is_called_once_more():
    f = Calls(layer)
    x = leaf(DATA)
    y = ag.checkpoint(f)(x)
    assert f.count == 1
    y.sum().backward()
    assert f.count == 2


def test_nested_functions_are_called_once_more_per_level():
    f = Calls(layer)
    y = ag.checkpoint(lambda x: ag.exp(ag.checkpoint(f)(x)))(leaf(DATA))
    y.sum().backward()
    assert f.count == 3


def test_early_stop_ends_the_second_call_with_the_last_value():
    reached = []

    def f(x):
        y = ag.exp(x)
        reached.append("exp")
        z = y + 1.0
        reached.append("end")
        return z

    ag.checkpoint(f)(leaf(DATA)).sum().backward()
    assert reached == ["exp", "end"]
    reached.clear()
    ag.checkpoint(f, early_stop=False)(leaf(DATA)).sum().backward()
    assert reached == ["exp", "end"] * 2


def test_early_stop_passes_the_functions_own_handlers():
    def f(x):
        try:
            return ag.exp(x) * 2.0
        except Exception:
            return x

    x = leaf(DATA)
    ag.checkpoint(f)(x).sum().backward()
    same(x.grad, 2.0 * np.exp(DATA))


def test_retain_graph_calls_it_again_for_each_run():
    f = Calls(layer)
    x = leaf(DATA)
    y = ag.checkpoint(f)(x).sum()
    y.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    y.backward()
    assert f.count == 3
    same(x.grad, 2 * first)


def test_a_freed_graph_says_so():
    y = ag.checkpoint(layer)(leaf(DATA)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_arguments_overwritten_later_are_kept_as_they_were():
    x = leaf(DATA)
    b = x * 1
    y = ag.checkpoint(ag.exp)(b)
    z = ag.checkpoint(lambda b: b * b)(b)
    b += 100.0
    (y + z).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(DATA) + 2 * DATA, rtol=1e-15)


def test_an_argument_that_the_function_writes_is_written_once():
    def f(b):
        b *= 2.0
        return ag.exp(b)

    x = leaf(DATA)
    b = x * 1
    y = ag.checkpoint(f)(b)
    same(b, 2 * DATA)
    y.sum().backward()
    same(b, 2 * DATA)
    same(x.grad, np.exp(2 * DATA) * 2)


def test_inner_gradients_see_the_checkpointed_function_once():
    f = ag.checkpoint(lambda x: np.sin(x) * x)
    assert ag.grad(ag.grad(ag.grad(f)))(0.3) == pytest.approx(ag.grad(ag.grad(ag.grad(lambda x: np.sin(x) * x)))(0.3))


def test_custom_functions_inside():
    f = ag.checkpoint(lambda x: Cube.apply(ag.exp(x)))
    assert ag.grad(f)(0.0) == 3.0
    assert ag.grad(ag.grad(f))(0.0) == 9.0


def test_random_numbers_are_the_same_in_the_second_call():
    def f(x):
        return x * x * np.random.random(3)

    np.random.seed(1)
    x = leaf(DATA)
    y = ag.checkpoint(f)(x)
    after = np.random.random()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * y.numpy() / DATA, rtol=1e-15)
    np.random.seed(1)
    np.random.random(3)
    assert np.random.random() == after
    assert np.random.random() != after


def test_generators_among_the_arguments_are_set_back():
    x = leaf(DATA)
    rng = np.random.default_rng(1)
    y = ag.checkpoint(lambda x, rng: x * x * rng.random(3))(x, rng)
    following = np.random.default_rng(1).random(6)[3:]
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * y.numpy() / DATA, rtol=1e-15)
    np.testing.assert_array_equal(rng.random(3), following)


def test_a_function_that_differs_is_refused():
    calls = []

    def fewer(x):
        calls.append(1)
        return ag.exp(ag.exp(x)) if len(calls) == 1 else ag.exp(x)

    with pytest.raises(RuntimeError, match="it saved 2 values the first time and 1 now"):
        ag.checkpoint(fewer)(leaf(DATA)).sum().backward()

    def other(x):
        calls.append(1)
        return ag.exp(x).sum() if len(calls) == 3 else ag.exp(x[:1]).sum()

    with pytest.raises(RuntimeError, match=r"value 0 that it saves had shape \(3,\).* and has shape \(1,\)"):
        ag.checkpoint(other)(leaf(DATA)).backward()


def test_an_error_in_the_second_call_comes_through_and_backward_can_be_tried_again():
    broken = [False]

    def f(x):
        if broken[0]:
            raise KeyError("mine")
        return ag.exp(x)

    x = leaf(DATA)
    y = ag.checkpoint(f)(x).sum()
    broken[0] = True
    with pytest.raises(KeyError, match="mine"):
        y.backward()
    assert ag.is_grad_enabled()
    broken[0] = False
    y.backward()
    same(x.grad, np.exp(DATA))


def test_under_no_grad_it_is_the_function_itself():
    packed = []

    def f(x):
        with ag.enable_grad():
            y = ag.exp(x)
        return y

    with ag.no_grad(), saved_tensors_hooks(lambda t: packed.append(t), lambda t: t):
        ag.checkpoint(f)(leaf(DATA))
    assert len(packed) == 1


def test_hooks_around_it_get_its_arguments_only():
    packed = []

    def pack(t):
        packed.append(t.numpy().copy())
        return t

    x = leaf(DATA)
    with saved_tensors_hooks(pack, lambda t: t):
        y = ag.checkpoint(layer)(x)
    assert len(packed) == 1
    np.testing.assert_array_equal(packed[0], DATA)
    y.sum().backward()


def test_saved_values_can_be_looked_at_outside_of_backward():
    y = ag.checkpoint(lambda x: ag.exp(x))(leaf(DATA))
    same(y.grad_fn.saved["ans"], np.exp(DATA))
    y.sum().backward()


def test_it_decorates_and_keeps_the_name():
    @ag.checkpoint
    def named(x):
        """Documented."""
        return x

    assert named.__name__ == "named"
    assert named.__doc__ == "Documented."


def test_a_second_call_that_saves_more_is_found_out_if_it_runs_to_its_end():
    calls = []

    def f(x):
        calls.append(x)
        y = np.exp(x)
        return y if len(calls) == 1 else np.tanh(y)

    x = leaf(DATA)
    y = ag.checkpoint(f, early_stop=False)(x)
    with pytest.raises(RuntimeError, match="it saved 1 values the first time and 2 now"):
        y.sum().backward()
    assert x.grad is None


def test_without_early_stop_a_backward_within_the_function_sees_the_values_so_far():
    def f(x):
        y = np.exp(x)
        (g,) = grad(y.sum(), x, create_graph=True)
        return g * np.sin(x)

    x = leaf(DATA)
    ag.checkpoint(f, early_stop=False)(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(DATA) * (np.sin(DATA) + np.cos(DATA)))


def test_it_takes_functions_only():
    with pytest.raises(TypeError, match="checkpoint: expected a function, got int"):
        ag.checkpoint(3)


def test_it_works_on_array_api_strict():
    xp = pytest.importorskip("array_api_strict")
    x = ag.asarray(xp.asarray([0.5]), requires_grad=True)
    (g,) = grad(ag.checkpoint(lambda x: ag.exp(x) * x)(x), x)
    np.testing.assert_allclose(g.numpy(), np.exp(0.5) * 1.5)
