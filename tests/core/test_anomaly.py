"""Anomaly mode: nan is found where it arises (AN1, AN2), errors name the forward call (AN3, AN4), per context (AN5)."""

import asyncio
import contextvars
import gc
import os
import threading
import traceback
import warnings
import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, nodes_of, python_function

import arraygrad as ag
from arraygrad.autograd import (
    detect_anomaly,
    grad,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from arraygrad.engine.node import live_counts

NAN = r"Function 'SqrtBackward' returned nan values in its 0th output\."
NO_FORWARD = "No forward pass information available. Enable detect anomaly during forward pass for more information."


@pytest.fixture
def anomaly():
    """Anomaly mode for the whole test."""
    with set_detect_anomaly(True):
        yield


def nan_graph():
    """A sum whose backward makes a nan at the square root of zero."""
    return (ag.sqrt(leaf([0.0, 1.0])) * 0.0).sum()


def run_collecting(function):
    """(error raised, texts of the warnings) of a call; numpy's own warnings are left out."""
    error = None
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            function()
        except Exception as raised:
            error = raised
    return error, [str(w.message) for w in caught]


# AN1


def test_AN1_detect_anomaly_warns_when_it_is_made():
    with pytest.warns(UserWarning, match=r"^Anomaly Detection has been enabled\. This mode will increase the runtime"):
        detect_anomaly()
    assert not is_anomaly_enabled()


def test_AN1_the_warning_points_at_the_user():
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled") as caught:
        detect_anomaly()
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_AN1_the_context_managers_restore_both_settings():
    assert (is_anomaly_enabled(), is_anomaly_check_nan_enabled()) == (False, False)
    with detect_anomaly(check_nan=False):
        assert (is_anomaly_enabled(), is_anomaly_check_nan_enabled()) == (True, False)
        with set_detect_anomaly(True):
            assert (is_anomaly_enabled(), is_anomaly_check_nan_enabled()) == (True, True)
            with set_detect_anomaly(False):
                assert (is_anomaly_enabled(), is_anomaly_check_nan_enabled()) == (False, False)
            assert is_anomaly_check_nan_enabled()
        assert (is_anomaly_enabled(), is_anomaly_check_nan_enabled()) == (True, False)
    assert not is_anomaly_enabled()


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_AN1_the_mode_is_restored_after_an_error():
    mode = detect_anomaly()
    with pytest.raises(KeyError), mode, mode:
        raise KeyError
    assert not is_anomaly_enabled()


def test_AN1_set_detect_anomaly_acts_at_once():
    before = set_detect_anomaly(True)
    assert is_anomaly_enabled()
    before.__exit__()
    assert not is_anomaly_enabled()


def test_AN1_the_mode_must_be_a_bool():
    with pytest.raises(TypeError, match="set_detect_anomaly: mode must be True or False, got int"):
        set_detect_anomaly(1)


# AN2


@pytest.mark.filterwarnings("ignore")
def test_AN2_a_nan_is_an_error_at_the_rule_that_made_it(anomaly):
    with pytest.raises(RuntimeError, match=NAN):
        nan_graph().backward()


@pytest.mark.filterwarnings("ignore")
def test_AN2_without_the_mode_the_nan_arrives():
    x = leaf([0.0, 1.0])
    (ag.sqrt(x) * 0.0).sum().backward()
    assert np.isnan(x.grad.numpy()[0])


@pytest.mark.filterwarnings("ignore")
def test_AN2_check_nan_false_lets_nan_pass():
    with set_detect_anomaly(True, check_nan=False):
        nan_graph().backward()


def test_AN2_the_output_is_counted_among_the_edges(anomaly):
    x, y = leaf([1.0]), leaf([2.0])
    edge = python_function(lambda g: (g, g * np.nan), x, y)
    error, _ = run_collecting(lambda: grad(edge, [x, y], grad_outputs=np.ones(1)))
    assert str(error) == "Function 'Special' returned nan values in its 1th output."


def test_AN2_undefined_outputs_are_not_looked_at(anomaly):
    x, y = leaf([1.0]), leaf([2.0])
    gx, gy = grad(python_function(lambda g: (g, None), x, y), [x, y], grad_outputs=np.ones(1), allow_unused=True)
    assert gx.numpy() == 1.0
    assert gy is None


def test_AN2_infinity_is_no_nan(anomaly):
    x = leaf([0.0])
    with np.errstate(divide="ignore"):
        ag.sqrt(x).sum().backward()
    assert x.grad.numpy()[0] == np.inf


@pytest.mark.parametrize("bad", [complex(np.nan, 1.0), complex(1.0, np.nan)])
def test_AN2_either_part_of_a_complex_gradient_counts(anomaly, bad):
    x = leaf([1.0 + 2.0j])
    edge = python_function(lambda g: g * 0 + bad, x)
    error, _ = run_collecting(lambda: grad(edge, x, grad_outputs=np.ones(1, complex)))
    assert "returned nan values in its 0th output" in str(error)


def test_AN2_complex_gradients_without_nan_pass(anomaly):
    x = leaf([1.0 + 2.0j])
    ag.real(x * x).sum().backward()
    assert x.grad.numpy()[0] == 2.0 - 4.0j


def test_AN2_integer_gradients_and_scalars_are_cast_before_they_are_searched(anomaly):
    x = leaf([1.0, 2.0])
    (g,) = grad(python_function(lambda g: np.array([1, 2]), x), x, grad_outputs=np.ones(2))
    assert g.dtype == np.float64
    error, _ = run_collecting(
        lambda: grad(python_function(lambda g: np.array([np.nan, 1.0], np.float32), x), x, grad_outputs=np.ones(2))
    )
    assert "in its 0th output" in str(error)


@pytest.mark.parametrize("shape", [(3, 4), (0,), ()])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_AN2_gradients_are_the_same_in_the_mode(shape, dtype):
    data = np.random.default_rng(3).normal(size=shape).astype(dtype)

    def gradient():
        x = ag.tensor(data, requires_grad=True)
        y = ag.exp(x) * x + x
        ag.real(y.sum()).backward()
        return x.grad.numpy()

    plain = gradient()
    with set_detect_anomaly(True):
        checked = gradient()
    assert checked.dtype == plain.dtype
    np.testing.assert_array_equal(checked, plain)


@pytest.mark.filterwarnings("ignore")
def test_AN2_a_nan_in_a_recorded_gradient_is_found(anomaly):
    x = leaf([0.0])
    with pytest.raises(RuntimeError, match=NAN):
        grad((ag.sqrt(x) * 0.0).sum(), x, create_graph=True)


def test_AN2_a_nan_behind_a_written_view_is_found(anomaly):
    x = leaf([1.0, 2.0])
    y = x * 1.0
    view = y[0:1]
    view *= 3.0
    error, texts = run_collecting(lambda: y.backward(np.array([1.0, np.nan])))
    assert str(error) == "Function 'ViewWriteBackward' returned nan values in its 0th output."
    assert texts[0].startswith("Error detected in ViewWriteBackward. Traceback of forward call")
    assert "view *= 3.0" in texts[0]


# AN3


def test_AN3_the_warning_shows_the_forward_call(anomaly):
    error, texts = run_collecting(nan_graph().backward)
    assert isinstance(error, RuntimeError)
    assert len(texts) == 1
    assert texts[0].startswith(
        "Error detected in SqrtBackward. Traceback of forward call that caused the error:\n  File "
    )
    assert "return (ag.sqrt(leaf([0.0, 1.0])) * 0.0).sum()" in texts[0]
    assert "in nan_graph" in texts[0]


def test_AN3_recorded_outside_of_the_mode():
    y = nan_graph()
    with set_detect_anomaly(True):
        _, texts = run_collecting(y.backward)
    assert texts == [f"Error detected in SqrtBackward. {NO_FORWARD}"]


def test_AN3_any_error_is_explained(anomaly):
    x = leaf([1.0])

    def fail(g):
        raise KeyError("rule")

    def build():
        return python_function(fail, x)

    edge = build()
    error, texts = run_collecting(lambda: grad(edge, x, grad_outputs=np.ones(1)))
    assert isinstance(error, KeyError)
    assert len(texts) == 1
    assert texts[0].startswith("Error detected in Special. Traceback")
    assert "in build" in texts[0]


def test_AN3_a_hook_that_raises_is_explained(anomaly):
    y = leaf([1.0]) * 2.0

    def hook(g):
        raise ZeroDivisionError

    y.register_hook(hook)
    error, texts = run_collecting(lambda: y.sum().backward())
    assert isinstance(error, ZeroDivisionError)
    assert [t.split(".")[0] for t in texts] == ["Error detected in MulBackward"]


def test_AN3_a_post_hook_may_bring_the_nan(anomaly):
    y = leaf([1.0]) * 2.0
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0] * np.nan, *grad_inputs[1:]))
    error, _ = run_collecting(lambda: y.sum().backward())
    assert str(error) == "Function 'MulBackward' returned nan values in its 0th output."


def test_AN3_a_leaf_hook_that_raises_is_explained(anomaly):
    x = leaf([1.0])

    def hook(t):
        raise ZeroDivisionError

    x.register_post_accumulate_grad_hook(hook)
    error, texts = run_collecting(lambda: (x * 2.0).sum().backward())
    assert isinstance(error, ZeroDivisionError)
    assert texts[0].startswith("Error detected in AccumulateGrad.")


def test_AN3_an_inner_run_explains_itself_before_the_outer_one(anomaly):
    x = leaf([1.0])
    y = x * 2.0
    inner = nan_graph()
    y.register_hook(lambda g: inner.backward())
    _, texts = run_collecting(lambda: y.sum().backward())
    assert [t.split(".")[0] for t in texts] == ["Error detected in SqrtBackward", "Error detected in MulBackward"]


def test_AN3_where_warnings_are_errors_the_first_error_is_raised_with_a_note(anomaly):
    y = nan_graph()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match=NAN) as caught:
            y.backward()
    assert caught.value.__notes__[0].startswith("Error detected in SqrtBackward. Traceback of forward call")


def test_AN3_the_texts_are_on_stderr_too_where_warnings_are_errors(anomaly, capsys):
    y = nan_graph()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match=NAN):
            y.backward()
    text = capsys.readouterr().err
    assert "Error detected in SqrtBackward. Traceback of forward call" in text
    assert "in nan_graph" in text


def test_AN3_the_warning_points_at_the_call_of_backward(anomaly):
    y = nan_graph()
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError):
            y.backward()
    assert caught[0].filename == __file__


def test_AN3_errors_of_arguments_are_not_explained(anomaly):
    error, texts = run_collecting(lambda: leaf([1.0, 2.0]).backward())
    assert "grad can be implicitly created only for scalar outputs" in str(error)
    assert texts == []


def test_AN3_nothing_is_said_outside_of_the_mode():
    with set_detect_anomaly(True):
        y = leaf([1.0]) * 2.0
    y.register_hook(lambda g: 1 / 0)
    error, texts = run_collecting(lambda: y.sum().backward())
    assert isinstance(error, ZeroDivisionError)
    assert texts == []


def test_ND10_in_the_mode_a_node_keeps_where_it_was_recorded(anomaly):
    y = leaf([1.0]) * 2.0
    stack = y.grad_fn.metadata["traceback_"]
    assert isinstance(stack, traceback.StackSummary)
    assert stack[-1].filename == __file__
    assert stack[-1].line == "y = leaf([1.0]) * 2.0"
    assert "parent_" not in y.grad_fn.metadata


# AN4


def test_AN4_recorded_gradients_know_the_node_that_recorded_them(anomaly):
    x = leaf([2.0])
    y = ag.exp(x)
    (g,) = grad(y.sum(), x, create_graph=True)
    assert g.grad_fn.metadata["parent_"] is y.grad_fn


def test_AN4_a_plain_backward_has_no_parents_to_give(anomaly):
    x = leaf([2.0])
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append((g * 2.0).grad_fn))
    y.sum().backward()
    assert seen == [None]


def test_AN4_the_parents_are_warned_of_in_turn(anomaly):
    x = leaf([0.0])
    y = x**1.5
    with np.errstate(all="ignore"):
        (g,) = grad(y.sum(), x, create_graph=True)
    # d2/dx2 of x**1.5 at 0 is infinite, times 0 is nan
    error, texts = run_collecting((g * 0.0).sum().backward)
    assert "returned nan values" in str(error)
    assert texts[0].startswith("Error detected in PowBackward. Traceback of forward call that caused the error:\n")
    assert texts[1].startswith(
        "Previous calculation was induced by PowBackward. "
        "Traceback of forward call that induced the previous calculation:\n"
    )
    assert "y = x**1.5" in texts[1]
    assert len(texts) == 2


def test_AN4_a_parent_recorded_outside_of_the_mode():
    x = leaf([0.0])
    y = x**1.5
    with set_detect_anomaly(True), np.errstate(all="ignore"):
        (g,) = grad(y.sum(), x, create_graph=True)
        _, texts = run_collecting((g * 0.0).sum().backward)
    assert texts[1] == f"Previous calculation was induced by PowBackward. {NO_FORWARD}"


def test_AN4_a_circle_of_parents_in_metadata_ends(anomaly):
    y = nan_graph()
    node = nodes_of(y)["SqrtBackward"]
    node.metadata["parent_"] = node
    _, texts = run_collecting(y.backward)
    assert len(texts) == 1
    node.metadata.clear()


def test_AN4_metadata_and_parents_die_with_the_graph(anomaly):
    x = leaf([2.0])
    y = ag.exp(x)
    node = weakref.ref(y.grad_fn)
    (g,) = grad(y.sum(), x, create_graph=True)
    del y
    gc.collect()
    assert node() is not None, "the gradient's graph needs it"
    del g
    gc.collect()
    assert node() is None


def test_AN4_callbacks_record_without_a_parent(anomaly):
    x = leaf([2.0])
    found = []

    def callback():
        with ag.enable_grad():
            found.append((x * 2.0).grad_fn.metadata)

    y = x * x
    y.register_hook(lambda g: ag.autograd.graph.queue_callback(callback))
    y.sum().backward()
    assert list(found[0]) == ["traceback_"]


# AN5


def test_AN5_a_thread_has_its_own_mode(anomaly):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(is_anomaly_enabled()))
    thread.start()
    thread.join()
    assert seen == [False]


def test_AN5_a_mode_set_in_a_thread_stays_there():
    def work():
        set_detect_anomaly(True)
        y = leaf([1.0]) * 2.0
        assert "traceback_" in y.grad_fn.metadata

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not is_anomaly_enabled()
    assert (leaf([1.0]) * 2.0).grad_fn.metadata == {}


def test_AN5_tasks_do_not_see_each_others_mode():
    async def one(mode, mine, other):
        with set_detect_anomaly(mode):
            mine.set()
            await other.wait()
            y = leaf([1.0]) * 2.0
            return is_anomaly_enabled(), "traceback_" in y.grad_fn.metadata

    async def both():
        a, b = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(one(True, a, b), one(False, b, a))

    assert asyncio.run(both()) == [(True, True), (False, False)]
    assert not is_anomaly_enabled()


def test_AN5_one_task_finds_its_nan_while_another_ignores_its_own():
    async def one(mode, mine, other):
        with set_detect_anomaly(mode):
            y = nan_graph()
            mine.set()
            await other.wait()
            return run_collecting(y.backward)

    async def both():
        a, b = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(one(True, a, b), one(False, b, a))

    (found, texts), (missed, silent) = asyncio.run(both())
    assert "returned nan values" in str(found)
    assert len(texts) == 1
    assert missed is None
    assert silent == []


def test_AN5_a_context_that_is_dropped_takes_its_mode_along():
    gc.collect()
    context = contextvars.copy_context()
    context.run(set_detect_anomaly, True)
    assert context.run(is_anomaly_enabled)
    assert not is_anomaly_enabled()
    del context
    y = leaf([1.0]) * 2.0
    assert y.grad_fn.metadata == {}


def test_AN5_off_costs_nothing_but_a_test():
    # With the mode off a node has neither metadata nor hooks, which is what the engine's fast path looks at.
    before = live_counts()
    y = nan_graph()
    assert y.grad_fn.metadata == {}
    del y
    assert live_counts() == before


def test_the_place_is_told_without_frames_of_arraygrad(recwarn):
    @ag.primitive
    def halved(x):
        return x / 2.0

    halved.defvjp(lambda ans, x: lambda g: g * float("nan"))

    def f(x):
        return ag.sum(halved(x))

    with pytest.raises(RuntimeError, match="HalvedBackward"), ag.autograd.detect_anomaly():
        ag.grad(f)(np.ones(2))
    (told,) = [str(w.message) for w in recwarn if "Error detected" in str(w.message)]
    assert "return ag.sum(halved(x))" in told
    assert os.path.dirname(ag.__file__) not in told
