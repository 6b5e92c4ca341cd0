"""Values that leave the graph as Python numbers: refused in transforms, warned of outside, or kept.

Imports the public names of arraygrad. docs/reliability.md has the whole table (tests/reliability/test_idioms.py).
"""

import array
import cmath
import copy
import decimal
import math
import os
import pickle
import statistics
import struct
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import python_numbers

X = np.array([0.5, 1.27, -0.75])


@pytest.fixture(autouse=True)
def _without_adoption():
    with ag.set_adoption(False):
        yield


def fill(value):
    a = np.zeros(2)
    a.fill(value)
    return a.sum()


def set_item(value):
    a = np.zeros(2)
    a.__setitem__(0, value)
    return a.sum()


LEAVING = {
    "float": float,
    "complex": complex,
    "math.sin": math.sin,
    "math.fsum": lambda v: math.fsum([v, v]),
    "math.isnan": math.isnan,
    "cmath.exp": cmath.exp,
    "statistics.mean": lambda v: statistics.mean([v, v]),
    "statistics.fmean": lambda v: statistics.fmean([v, v]),
    "text by %": lambda v: "%f" % v,  # noqa: UP031
    "array.array": lambda v: array.array("d", [v]),
    "numpy.fromiter": lambda v: np.fromiter([v], float),
    "ndarray.fill": fill,
    "ndarray.__setitem__": set_item,
    "map": lambda v: list(map(float, [v])),
    "as_integer_ratio": lambda v: v.as_integer_ratio(),
    "numpy.float64": np.float64,
    "decimal": lambda v: decimal.Decimal(float(v)),
}


@pytest.mark.parametrize("leave", LEAVING.values(), ids=LEAVING)
def test_number_that_depends_on_an_argument_is_refused_in_a_transform(leave):
    def f(x):
        return x[0] * np.asarray(leave(x[1])).ravel()[0] + x[2]

    with pytest.raises(TypeError):
        ag.grad(f)(X)


def test_struct_pack_is_refused_and_says_what_happened():
    with pytest.raises(struct.error) as caught:
        ag.grad(lambda x: struct.unpack("d", struct.pack("d", x[0]))[0])(X)
    text = str(caught.value)
    assert "test_numbers.py:" in text
    assert "struct.pack" in text
    assert "bytes have no gradient" in text
    assert "float(arraygrad.stop_gradient(x))" in text
    assert not hasattr(caught.value, "__notes__") or not "".join(caught.value.__notes__)


def rotation(angle):
    return math.sin(angle) * 2.0


def test_refusal_names_the_line_the_function_and_the_way_out():
    with pytest.raises(TypeError) as caught:
        ag.grad(rotation)(0.5)
    text = str(caught.value)
    assert "test_numbers.py:" in text
    assert "in rotation: math.sin(angle)" in text
    assert "Use numpy.sin, which is recorded" in text
    assert "arraygrad.stop_gradient(t)" in text


@pytest.mark.parametrize(
    ("function", "name"),
    [(math.acos, "numpy.arccos"), (math.erf, "arraygrad.erf"), (math.lgamma, "arraygrad.special.gammaln")],
)
def test_functions_with_another_name_in_numpy_are_named(function, name):
    called = function
    with pytest.raises(TypeError, match=f"Use {name}, which is recorded"):
        ag.grad(lambda x: called(x))(0.5)


def test_a_refusal_that_numpy_wraps_comes_out_itself():
    def f(x):
        a = np.zeros(3)
        a[:2] = [x[0], x[1]]
        return a.sum()

    with pytest.raises(TypeError, match=r"plain array|becomes a Python number"):
        ag.grad(f)(X)


def test_function_that_tries_math_and_then_numpy_is_differentiated():
    def sine(x):
        try:
            return math.sin(x)
        except TypeError:
            return np.sin(x)

    assert ag.grad(sine)(0.5) == np.cos(0.5)


def test_refusal_that_the_function_swallows_is_raised_where_nothing_else_is_left():
    def f(x):
        try:
            return math.sin(x[0])
        except TypeError:
            return 0.0

    with pytest.raises(TypeError, match="becomes a Python number"):
        ag.grad(f)(X)


ITEMS = {
    "item": lambda x: x.sum().item() ** 2,
    "item of an index": lambda x: x.item(1) * x.item((0,)),
    "item of a matrix": lambda x: (x[:, None] * x).item(1, 2) + (x[:, None] * x).item(4),
    "tolist": lambda x: sum([v * v for v in x.tolist()]),
    "nested tolist": lambda x: (x[:, None] * x).tolist()[2][1],
    "min and max": lambda x: min(x) * max(x),
    "sorted": lambda x: sorted(x)[1] * sorted(x, reverse=True)[0],
    "sum": lambda x: sum(x) ** 2,
    "abs": lambda x: abs(x[2]) * x[0],
    "divmod": lambda x: divmod(x[1], 0.5)[1] * divmod(2.0, x[1])[1],
    "pow": lambda x: pow(x[1], 3),
    "round": lambda x: round(x[1]) * x[2] + np.round(x[1]) * x[0],
    "floor": lambda x: math.floor(x[1]) * x[0] + math.ceil(x[1]) * x[2] + math.trunc(x[1]),
    "int": lambda x: int(x[1] * 3) * x[0],
    "copy": lambda x: np.sum(copy.copy(x) * x),
    "deepcopy": lambda x: np.sum(copy.deepcopy([x])[0] * x),
}


@pytest.mark.parametrize("f", ITEMS.values(), ids=ITEMS)
def test_elements_and_builtins_stay_in_the_graph(f):
    value, gradient = ag.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
    for i in range(3):
        h = 1e-6 * np.eye(3)[i]
        np.testing.assert_allclose(gradient[i], (f(X + h) - f(X - h)) / 2e-6, rtol=1e-7, atol=1e-8)


def test_elements_stay_in_the_graph_to_second_order():
    assert ag.hessian(lambda x: x.item() ** 3)(2.0) == 12.0


def test_float_arguments_survive_the_copy_module():
    assert ag.grad(lambda x: copy.deepcopy(x) * copy.copy(x) * x)(2.0) == 12.0


def test_pickling_in_a_transform_is_refused():
    with pytest.raises(TypeError, match="pickling of a Tensor that is being differentiated would lose its gradient"):
        ag.grad(lambda x: np.sum(pickle.loads(pickle.dumps(x))))(X)


def test_bytes_in_a_transform_are_refused():
    with pytest.raises(
        TypeError, match=r"tobytes\(\) of a Tensor that is being differentiated would lose its gradient"
    ):
        ag.grad(lambda x: x.sum() + np.frombuffer(x.tobytes()).sum())(X)


def test_text_shows_the_value():
    seen = []
    ag.grad(lambda x: seen.append(f"{x[0]:.2f} {x[1]}") or x.sum())(X)
    assert seen[0].startswith("0.50 Tensor(1.27")


def test_step_by_step_float_warns_once_per_place():
    t = ag.tensor(2.0, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            assert float(t) == 2.0
        math.sin(t)
    assert [w.category for w in caught] == [UserWarning] * 2
    assert caught[0].filename == __file__
    assert "a Tensor that requires grad becomes a Python number" in str(caught[0].message)


def test_step_by_step_item_tolist_and_numpy_are_silent():
    t = ag.tensor([2.0], requires_grad=True)
    assert (t.item(), t.tolist(), t.numpy().tolist(), int(t), f"{t:.1f}") == (2.0, [2.0], [2.0], 2, "2.0")
    assert type(t.item()) is float


def test_nothing_is_said_where_nothing_is_recorded():
    t = ag.tensor(2.0, requires_grad=True)
    assert float(t.detach()) == 2.0
    with ag.no_grad():
        assert float(t) == 2.0
    assert ag.grad(lambda x: x * float(ag.stop_gradient(x)))(3.0) == 3.0


def test_tensor_of_another_graph_only_warns_in_a_transform():
    w = ag.tensor(2.0, requires_grad=True)
    with pytest.warns(UserWarning, match="requires grad becomes a Python number"):
        assert ag.grad(lambda x: x * float(w * w))(3.0) == 4.0


def test_element_in_another_thread_is_a_number_while_this_one_runs_a_transform():
    found = []

    def f(x):
        other = ag.tensor(2.0, requires_grad=True)
        thread = threading.Thread(target=lambda: found.append((type(other.item()), type(x.item()))))
        thread.start()
        thread.join()
        return x * x

    ag.grad(f)(3.0)
    assert found == [(float, ag.Tensor)]


@pytest.mark.parametrize("policy", ["raise", "warn", "off"])
def test_policy_holds_inside_and_outside(policy):
    before = ag.set_number_policy(policy)
    try:
        t = ag.tensor(2.0, requires_grad=True)
        for use in (lambda: float(t), lambda: ag.grad(lambda x: x * float(x))(3.0)):
            if policy == "raise":
                with pytest.raises(TypeError, match="becomes a Python number"):
                    use()
            elif policy == "warn":
                with pytest.warns(UserWarning, match="becomes a Python number"):
                    use()
            else:
                use()
    finally:
        assert ag.set_number_policy(before) == policy


def test_policy_of_a_block_ends_with_it():
    t = ag.tensor(2.0, requires_grad=True)
    with ag.number_policy("raise"):
        with ag.number_policy("off"):
            assert float(t) == 2.0
        with pytest.raises(TypeError):
            float(t)
    with pytest.warns(UserWarning, match="becomes a Python number"):
        float(t)


@pytest.mark.parametrize("set_policy", [ag.set_number_policy, lambda p: ag.number_policy(p).__enter__()])
def test_unknown_policy_is_refused(set_policy):
    with pytest.raises(ValueError, match="expected 'default', 'raise', 'warn' or 'off', but got 'never'"):
        set_policy("never")


@pytest.mark.parametrize(
    "f",
    [lambda x: float(np.sum(x**2)), lambda x: float(x[0]) * 2.0, lambda x: x.numpy().sum()],
    ids=["float", "in the middle", "numpy"],
)
def test_result_that_is_no_tensor_because_values_left_is_refused_under_every_policy(f):
    with (
        ag.number_policy("off"),
        pytest.raises(TypeError, match="returned no recorded Tensor, and its gradient would"),
    ):
        ag.grad(f)(X)


@pytest.mark.parametrize("f", [lambda x: round(x[0] * x[1]), lambda x: np.sum(np.floor(x)), lambda x: np.sum(x > 0)])
def test_result_that_depends_on_the_arguments_by_steps_only_has_a_zero_gradient_and_a_warning(f):
    with pytest.warns(UserWarning, match="does not depend on the arguments: its derivative is zero"):
        assert ag.grad(lambda x: f(x) * 1.0)(X).tolist() == [0.0, 0.0, 0.0]


ROUNDED = {
    "round": lambda x: round(x[0] * x[1], 4),
    "numpy.round": lambda x: np.round(x, 3).sum(),
    "numpy.around": lambda x: np.around(x, 3).sum(),
    "method": lambda x: x.round(3).sum(),
    "into an array": lambda x: np.round(x, 3, out=ag.zeros(3)).sum(),
    "complex": lambda x: np.round(x + 1j * x, 3).real.sum(),
}


@pytest.mark.parametrize("f", ROUNDED.values(), ids=ROUNDED)
def test_rounding_to_digits_tells_that_a_part_of_the_gradient_is_zero(f):
    with pytest.warns(UserWarning, match=r"test_numbers.py:\d+, in .* digits has derivative zero") as told:
        assert ag.grad(lambda x: f(x) + x[0])(X).tolist() == [1.0, 0.0, 0.0]
    assert len(told) == 1


def test_rounding_that_cuts_nothing_off_says_nothing():
    def f(x):
        shown = round(ag.stop_gradient(x[0]), 4) + np.round(np.array([1.23456]), 3)[0]
        return x[1] * (shown + round(x[2]) + np.round(x[2], -1) + np.rint(x[0]))

    ag.grad(f)(X)
    ag.tensor(1.2345, requires_grad=True).round(2)


def test_rounding_in_a_loop_is_told_once():
    def f(x):
        total = x[0]
        for _ in range(50):
            total = total + np.round(total, 6)
        return total

    with pytest.warns(UserWarning, match="has derivative zero") as told:
        ag.grad(f)(X)
    assert len(told) == 1


def test_derivative_that_is_constant_is_no_concern():
    assert ag.grad(ag.grad(lambda x: 3.0 * x))(2.0) == 0.0
    assert not ag.hessian(lambda x: np.sum(3.0 * x))(X).any()


def test_error_that_comes_out_of_numpy_is_in_no_circle_of_causes():
    def f(x):
        a = np.zeros(3)
        a[0] = x[0]
        return a.sum()

    with pytest.raises(TypeError) as caught:
        ag.grad(f)(X)
    error, seen = caught.value, []
    while error is not None:
        assert error not in seen
        seen.append(error)
        error = error.__cause__ or error.__context__


def test_constant_result_beside_a_container_of_tensors_is_no_concern():
    value, pull = ag.vjp(lambda x: {"a": x * 2.0, "n": 3.0}, 1.0)
    assert value == {"a": 2.0, "n": 3.0}
    assert pull({"a": 1.0, "n": 0.0})[0] == 2.0


def test_stop_gradient_goes_through_containers():
    t = ag.tensor([1.0, 2.0], requires_grad=True)
    stopped = ag.stop_gradient({"a": [t * 2.0, 3], "b": "text"})
    assert not stopped["a"][0].requires_grad
    assert (stopped["a"][0].tolist(), stopped["a"][1], stopped["b"]) == ([2.0, 4.0], 3, "text")
    plain = [1.0, np.ones(2)]
    assert ag.stop_gradient(plain) is plain


def test_a_modulus_is_refused():
    with pytest.raises(TypeError):
        pow(ag.tensor(2.0), 3, 5)


METRICS = """
import numpy as np, arraygrad as ag, sklearn
from sklearn import metrics
sklearn.set_config(array_api_dispatch=True)
y = np.array([0.5, 1.0, 2.0])
for name in ("mean_squared_error", "r2_score", "mean_absolute_error"):
    try:
        print(name, ag.grad(lambda p: getattr(metrics, name)(y, p))(np.array([0.4, 1.2, 1.9])))
    except TypeError as error:
        print(error)
"""


def test_metrics_of_scikit_learn_are_refused_with_their_formula():
    pytest.importorskip("sklearn")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", METRICS],
        capture_output=True, text=True, check=True, env={**os.environ, "SCIPY_ARRAY_API": "1"},
    )  # fmt: skip
    squared, r2, absolute = done.stdout.splitlines()
    assert "Write the metric's formula with NumPy: numpy.mean((y - p) ** 2)" in squared
    assert "formula with NumPy: 1 - numpy.sum((y - p) ** 2) / numpy.sum((y - numpy.mean(y)) ** 2)" in r2
    assert "formula with NumPy: numpy.mean(numpy.abs(y - p))" in absolute


def test_values_that_leave_in_a_loop_are_looked_up_once_for_each_node(monkeypatch):
    """The cost of `x.numpy()` does not grow with the graph behind x, also where it is a side branch."""
    follows = python_numbers._follows
    behind = []

    def counted(trace, node):
        before = [len(d) for d in getattr(trace, "known", ({}, {}))] if trace.left is not None else [0, 0]
        found = follows(trace, node)
        behind.append(sum(len(d) for d in trace.known) - sum(before))
        return found

    monkeypatch.setattr(python_numbers, "_follows", counted)

    def f(x):
        for _ in range(300):
            np.unique(x * 2.0)
            x = x + np.sin(x) * 1e-3
        return x.sum()

    ag.grad(f)(X)
    assert len(behind) >= 300
    assert max(behind) < 20  # nodes that were new to it


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: x * 2.0, lambda x: np.sin(x)[1:]])
def test_result_without_a_tensor_names_where_the_values_left(wrap):
    def f(x):
        for _ in range(3):
            x = wrap(x)
            found = x.numpy()
        return found.sum()

    with pytest.raises(TypeError, match=r"test_numbers.py:\d+, in .*f: x.numpy\(\)"):
        ag.grad(f)(X)


def test_values_of_another_graph_do_not_leave_that_of_the_arguments():
    w = ag.tensor(X, requires_grad=True)
    u = ag.tensor(X, requires_grad=True) * 2.0

    def f(x):
        for _ in range(3):
            found = w.numpy().sum() + u.numpy().sum() + (w * u).numpy().sum()
        return float(found)

    with pytest.warns(UserWarning, match="constant|depend"):
        assert ag.grad(f)(X).tolist() == [0.0, 0.0, 0.0]

    def g(x):
        y = x * w
        for _ in range(3):
            found = w.numpy().sum() + y.numpy().sum()
        return float(found)

    with pytest.raises(TypeError, match="left the graph"):
        ag.grad(g)(X)


def test_value_that_leaves_a_nested_transform_leaves_both_graphs():
    def outer(x):
        def inner(y):
            return (x * y).numpy().sum()

        return ag.grad(inner)(x).sum()

    with pytest.raises(TypeError, match="left the graph"):
        ag.grad(outer)(X)


@pytest.mark.parametrize("place", [0, 1, 2000, 2047, 2048, 70_000, 299_999])
def test_gradient_that_is_zero_almost_everywhere_is_no_zero_gradient(place):
    x = np.zeros(300_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.flatnonzero(ag.grad(lambda t: np.round(t[place] * 0.0) + t[place] * 2.0)(x)).tolist() == [place]


def test_large_gradient_of_zeros_warns():
    with pytest.warns(UserWarning, match="does not depend on the arguments"):
        assert not ag.grad(lambda t: np.sum(np.round(t)))(np.zeros(300_000)).any()
