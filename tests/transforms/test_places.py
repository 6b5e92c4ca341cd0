"""Arguments get their place in the graph by a short way and by a general one: both must give the same."""

import contextlib

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.transforms.tracked_call_base import set_compiled_calls


@contextlib.contextmanager
def compiled(mode):
    before = set_compiled_calls(mode)
    try:
        yield
    finally:
        set_compiled_calls(before)


def both(compute):
    """The result of `compute()` by either way."""
    results = []
    for mode in (True, False):
        with compiled(mode):
            results.append(compute())
    return results


def written(x):
    x[1:] *= 2.0
    x += 1.0
    return np.sum(x**2)


def viewed(x):
    part = x[::2]
    part *= 3.0
    return np.sum(x * x[::-1])


def nested(x):
    inner = ag.grad(lambda y: np.sum(np.sin(y) * x))
    return np.sum(inner(np.array([0.1, 0.2, 0.3])) * x)


def closed_over(x):
    return np.sum(ag.grad(lambda y: np.sum(y * y * x))(np.ones(3)))


def twice(x):
    return np.sum(ag.grad(lambda y: np.sum(y**3))(x) ** 2)


def itself(x):
    return x[0]


def by_hand(x):
    y = ag.asarray(np.ones(3), requires_grad=True)
    (g,) = ag.autograd.grad(np.sum(y * x), (y,), create_graph=True)
    return np.sum(g * g)


FUNCTIONS = [written, viewed, nested, closed_over, twice, itself, by_hand]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_value_and_gradient_are_the_same_by_either_way(function):
    short, general = both(lambda: ag.value_and_grad(function)(np.array([1.0, -2.0, 0.5])))
    np.testing.assert_array_equal(short[0], general[0])
    np.testing.assert_array_equal(short[1], general[1])


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_differences(function):
    x = np.array([1.0, -2.0, 0.5])
    step = 1e-6
    expected = [(float(function(x + step * e)) - float(function(x - step * e))) / (2 * step) for e in np.eye(3)]
    with compiled(True):
        np.testing.assert_allclose(ag.grad(function)(x.copy()), expected, rtol=1e-6, atol=1e-6)


def test_writes_reach_the_callers_array_by_either_way():
    def compute():
        x = np.array([1.0, 2.0, 3.0])
        ag.grad(written)(x)
        return x

    for after in both(compute):
        np.testing.assert_array_equal(after, [2.0, 5.0, 7.0])


def test_a_derivative_of_a_closure_stays_in_the_graph_of_the_outer_argument():
    with compiled(True):
        hessian = ag.jacobian(ag.grad(lambda x: ag.grad(lambda y: np.sum(y**2 * x))(np.ones(2)).sum() * np.sum(x**2)))
        np.testing.assert_allclose(hessian(np.array([1.0, 2.0])), 2 * np.array([[6 + 4, 4 + 2], [4 + 2, 6 + 8]]))


@pytest.mark.parametrize("mode", [True, False])
def test_a_tensor_of_the_function_that_outlives_it_can_be_differentiated_again(mode):
    kept = []

    def f(x):
        kept.append(np.sum(x * x))
        return kept[-1]

    with compiled(mode):
        ag.vjp(f, np.array([1.0, 2.0]))
        assert kept[0].requires_grad
        kept[0].backward()  # nothing lies behind the argument: there is nothing to add to


@pytest.mark.parametrize("mode", [True, False])
def test_in_inference_mode_the_gradient_is_that_of_differences(mode):
    with compiled(mode), ag.inference_mode():
        np.testing.assert_allclose(ag.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0])), [2.0, 4.0])


def test_a_write_to_an_argument_that_was_saved_is_noticed():
    x = np.array([1.0, 2.0])

    def f(y):
        z = np.sum(y * y)
        x[0] = 5.0  # the caller's array is the argument
        return z

    by_either = both(lambda: (x.__setitem__(0, 1.0), _outcome(f, x))[1])
    assert by_either[0] == by_either[1]


def _outcome(f, x):
    try:
        return ag.grad(f)(x).tolist()
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("constant", [3.0, np.array(3.0)], ids=["number", "array"])
def test_an_argument_without_axes_that_the_program_writes_is_refused(constant):
    x = np.array(2.0)

    def g(y):
        z = y * y
        x[()] = 5.0
        return z

    assert ag.grad(lambda y: y * constant * y)(x) == 12.0
    np.testing.assert_array_equal(ag.grad(lambda y: y * np.array(4.0) * y)(x), 16.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        ag.grad(g)(x)


def test_arguments_without_axes_stand_beside_leaves_over_the_programs_arrays():
    z = ag.asarray(np.array(3.0), requires_grad=True)
    assert ag.grad(lambda y: y * z * y)(np.array(2.0)) == 12.0


def logistic(w, b=0.5, *, scale=1.0):
    z = np.dot(np.arange(6.0).reshape(2, 3), w) * scale + b
    return np.mean(np.logaddexp(0.0, z))


def of_containers(p, unused):
    return np.sum(p["w"] * p["pair"][0]) * p["pair"][1] + np.sum(p["empty"][0] if p["empty"] else 0.0)


CALLS = {
    "by position": (logistic, (np.ones(3), 0.25), {"scale": 2.0}, {"argnums": (0, 1)}),
    "by keyword": (logistic, (np.ones(3),), {"b": 0.25}, {}),
    "by name": (logistic, (np.ones(3),), {"b": 0.25}, {"argnames": ("b", "w")}),
    "in falling order": (logistic, (np.ones(3), 0.25), {}, {"argnums": (1, 0)}),
    "from the end": (logistic, (np.ones(3), 0.25), {}, {"argnums": -1}),
    "as a list": (logistic, (np.ones(3), 0.25), {}, {"argnums": [0, 1]}),
    "float32": (logistic, (np.ones(3, np.float32), 0.25), {}, {"argnums": (0, 1)}),
    "many arguments": (lambda *x: x[0] * x[9] + x[5], tuple(map(float, range(10))), {}, {"argnums": (0, 5, 9)}),
    "containers": (
        of_containers,
        ({"w": np.ones(2), "pair": (2.0, 3.0), "what": None, "empty": []}, 1.0),
        {},
        {},
    ),
    "a list": (lambda x: x[0] * x[1], ([2.0, np.array(3.0)],), {}, {}),
    "a tensor": (logistic, (ag.tensor(np.ones(3)),), {}, {}),
    "a result of one element": (lambda x: x[:1] * 2.0, (np.ones(3),), {}, {}),
    "a constant": (lambda x, y: y * 2.0, (np.ones(3), 2.0), {}, {"argnums": (0, 1)}),
}  # fmt: skip


def as_text(value):
    """Types, dtypes and values, to the last bit."""
    return repr((type(value), value.dtype, value.tobytes()) if isinstance(value, np.ndarray) else value)


@pytest.mark.parametrize("aux", [False, True])
@pytest.mark.parametrize("transform", [ag.grad, ag.value_and_grad])
@pytest.mark.parametrize("case", CALLS)
def test_a_call_gives_the_same_without_the_compiled_way(case, transform, aux):
    f, args, kwargs, which = CALLS[case]

    def with_aux(*args, **kwargs):
        value = f(*args, **kwargs)
        return value, {"value": value * 2.0}

    if aux and "argnames" in which:
        pytest.skip("the function takes any arguments")
    compute = transform(with_aux if aux else f, has_aux=aux, **which)
    short, general = both(lambda: compute(*args, **kwargs))
    assert [as_text(leaf) for leaf in leaves_of(short)] == [as_text(leaf) for leaf in leaves_of(general)]


def leaves_of(tree):
    if isinstance(tree, dict):
        return list(tree) + leaves_of(list(tree.values()))
    if isinstance(tree, (list, tuple)):
        return [type(tree).__name__] + [leaf for item in tree for leaf in leaves_of(item)]
    return [tree]


@pytest.mark.parametrize("transform", [ag.grad, ag.value_and_grad])
@pytest.mark.parametrize(
    ("f", "args", "error"),
    [
        (lambda x: x, (np.ones(3),), ValueError),
        (lambda x: x * 1j, (np.array(1.0),), TypeError),
        (lambda x: None, (np.ones(3),), TypeError),
        (lambda x: np.sum(x), (np.ones(3, int),), TypeError),
        (lambda x: np.sum(x), (), TypeError),
        (lambda x: np.sum(x), (np.ones(3), 1.0), TypeError),
        (lambda x: 1 / 0, (np.ones(3),), ZeroDivisionError),
    ],
    ids=["a vector", "complex", "nothing", "integers", "no argument", "an argument too many", "its own error"],
)
def test_a_call_fails_the_same_without_the_compiled_way(transform, f, args, error):
    def compute():
        with pytest.raises(error) as caught:
            transform(f)(*args)
        return type(caught.value), str(caught.value), ag.is_grad_enabled()

    short, general = both(compute)
    assert short == general


def test_a_function_that_raises_leaves_no_transform_running():
    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ag.grad(fails)(1.0)
    t = ag.tensor(2.0, requires_grad=True)
    assert isinstance(t.item(), float)


def test_a_function_gets_its_own_keyword_named_self():
    assert ag.grad(lambda x, **kwargs: x * kwargs["self"])(3.0, self=2.0) == 2.0


def test_gradients_that_begin_with_a_zero_are_no_constants():
    x = np.array([0.0, 2.0])
    np.testing.assert_array_equal(ag.grad(lambda x: np.sum(x * x))(x), 2 * x)
    np.testing.assert_array_equal(ag.grad(lambda p: np.sum(p["b"] * p["b"]))({"a": None, "b": x})["b"], 2 * x)
