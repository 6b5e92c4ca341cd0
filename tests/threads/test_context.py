"""What the caller's context holds reaches the threads that run its nodes (GM4, GM5, AN5), and a rule's own (WK14)."""

import contextvars
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import backward, graph, is_anomaly_enabled, set_detect_anomaly, set_multithreading_enabled
from arraygrad.core.tensor import backend_of, gradient_edge
from arraygrad.engine.node import PyNode

strict = pytest.importorskip("array_api_strict")

ONE = strict.Device("device1")
TWO = strict.Device("device2")
LIMIT = 60
VARIABLE = contextvars.ContextVar("the_users_own", default="unset")


def leaf(data, device=ONE):
    """A leaf on a device."""
    return ag.asarray(strict.asarray(data, dtype=strict.float64, device=device), requires_grad=True)


def here():
    return threading.current_thread()


def on_device(rule, data=(1.0, 2.0), device=ONE, name="Special"):
    """An edge whose Python rule runs on the device's thread, and its leaf."""
    x = leaf(list(data), device)
    node = PyNode(name, rule, edges=[gradient_edge(x)], metas=(backend_of(x).meta(x.array),))
    return ag.autograd.GradientEdge(node, 0), x


def run(edge, x):
    """backward() from the edge with a gradient of ones."""
    backward(edge, strict.ones(x.shape, dtype=strict.float64, device=x.device))


def seen_on_device(question, **options):
    """What `question()` answers inside a rule on a device's thread."""
    answers = []

    def rule(g):
        assert here() is not caller
        answers.append(question())
        return g

    caller = here()
    run(*on_device(rule, **options))
    return answers[0]


# GM4


def test_GM4_context_variables_of_the_caller_are_seen_on_device_threads():
    token = VARIABLE.set("the caller's")
    try:
        assert seen_on_device(VARIABLE.get) == "the caller's"
    finally:
        VARIABLE.reset(token)
    assert seen_on_device(VARIABLE.get) == "unset"


def test_GM4_numpys_errstate_holds_for_rules_on_device_threads():
    with np.errstate(divide="raise", invalid="ignore"):
        assert seen_on_device(np.geterr)["divide"] == "raise"
        assert seen_on_device(np.geterr)["invalid"] == "ignore"

        def rule(g):
            np.ones(1) / np.zeros(1)
            return g

        edge, x = on_device(rule)
        with pytest.raises(FloatingPointError):
            run(edge, x)


def test_GM4_errstate_silences_a_rule_of_the_table_on_a_device():
    x = leaf([0.0, 1.0])
    y = ag.sqrt(x).sum()
    with np.errstate(all="ignore"):
        y.backward()  # one over zero; a warning would be an error here
    assert np.isinf(np.asarray(x.grad.to_device(strict.Device("CPU_DEVICE")).array)[0])


def test_GM4_hooks_and_callbacks_are_in_the_context_too():
    seen = []
    token = VARIABLE.set("the caller's")
    try:
        x = leaf([1.0])
        y = x * 2.0
        y.register_hook(lambda g: seen.append((VARIABLE.get(), here() is caller)))
        x.register_post_accumulate_grad_hook(
            lambda t: graph.queue_callback(lambda: seen.append((VARIABLE.get(), None)))
        )
        caller = here()
        y.backward()
    finally:
        VARIABLE.reset(token)
    assert seen == [("the caller's", False), ("the caller's", None)]


def test_GM4_what_a_rule_sets_ends_with_the_node():
    def rule(g):
        VARIABLE.set("the rule's")
        return g

    run(*on_device(rule))
    assert VARIABLE.get() == "unset"
    assert seen_on_device(VARIABLE.get) == "unset"


def test_GM4_two_callers_have_their_own_contexts_on_one_device_thread(together):
    def work(i):
        VARIABLE.set(i)
        return [seen_on_device(VARIABLE.get) for _ in range(20)]

    assert together(work, 4) == [[i] * 20 for i in range(4)]


def test_GM4_two_devices_are_in_the_context_at_once():
    barrier = threading.Barrier(2)
    seen = []

    def rule(g):
        barrier.wait(LIMIT)  # both rules run now
        seen.append(VARIABLE.get())
        barrier.wait(LIMIT)
        return g

    token = VARIABLE.set("both")
    try:
        a, b = on_device(rule)[0], on_device(rule, device=TWO)[0]
        ones = [strict.ones(2, dtype=strict.float64, device=device) for device in (ONE, TWO)]
        backward([a, b], ones)
    finally:
        VARIABLE.reset(token)
    assert seen == ["both", "both"]


def test_GM4_modes_of_the_caller_reach_a_backward_nested_on_a_device_thread():
    def nested():
        answers = []
        inner, x = on_device(lambda g: answers.append(here()) or g, device=TWO)
        run(inner, x)
        return answers[0] is here()

    assert seen_on_device(nested) is False
    assert seen_on_device(ag.autograd.is_multithreading_enabled) is True


def test_GM4_without_multithreading_all_nodes_run_on_the_caller():
    seen = []
    with set_multithreading_enabled(False):
        run(*on_device(lambda g: seen.append(here()) or g))
        assert not ag.autograd.is_multithreading_enabled()
    assert seen == [here()]
    assert ag.autograd.is_multithreading_enabled()


def test_GM4_set_multithreading_enabled_acts_at_once_and_decorates():
    before = set_multithreading_enabled(False)
    assert not ag.autograd.is_multithreading_enabled()
    with before:
        pass
    assert ag.autograd.is_multithreading_enabled()

    @set_multithreading_enabled(False)
    def inside():
        return ag.autograd.is_multithreading_enabled()

    assert inside() is False
    assert ag.autograd.is_multithreading_enabled()
    with pytest.raises(TypeError, match="set_multithreading_enabled: mode must be True or False, got int"):
        set_multithreading_enabled(0)


def test_GM4_zero_annihilates_and_grad_mode_reach_device_threads():
    x = leaf([0.0, 1.0])
    with np.errstate(all="ignore"), ag.zero_annihilates():
        (ag.sqrt(x) * 0.0).sum().backward()
    assert not np.isnan(np.asarray(x.grad.to_device(strict.Device("CPU_DEVICE")).array)).any()
    with ag.no_grad():
        assert seen_on_device(ag.is_grad_enabled) is False


def test_GM4_a_run_in_inference_mode_computes_ordinary_gradients_on_devices():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    with ag.inference_mode():
        y.backward()
        assert ag.is_inference_mode_enabled()
    assert not x.grad.is_inference()


# AN5 with devices


def test_AN5_device_threads_have_the_callers_anomaly_mode():
    with set_detect_anomaly(True):
        assert seen_on_device(is_anomaly_enabled) is True
    assert seen_on_device(is_anomaly_enabled) is False


def test_AN5_a_nan_on_a_device_is_found_and_explained_in_the_caller():
    with set_detect_anomaly(True), np.errstate(all="ignore"):
        y = (ag.sqrt(leaf([0.0, 1.0])) * 0.0).sum()
        shown = []
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, *rest: shown.append((str(message), here()))
            with pytest.raises(RuntimeError, match="Function 'SqrtBackward' returned nan values in its 0th output"):
                y.backward()
    assert len(shown) == 1
    assert shown[0][0].startswith("Error detected in SqrtBackward. Traceback of forward call")
    assert "ag.sqrt(leaf([0.0, 1.0]))" in shown[0][0]
    assert shown[0][1] is here()


def test_AN5_callers_with_and_without_the_mode_share_a_device_thread(together):
    def work(i):
        with set_detect_anomaly(bool(i % 2)), np.errstate(all="ignore"):
            errors = 0
            for _ in range(10):
                y = (ag.sqrt(leaf([0.0])) * 0.0).sum()
                try:
                    y.backward()
                except RuntimeError:
                    errors += 1
            return errors

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert together(work, 4) == [0, 10, 0, 10]


# GM5


def warning_rule(text, category=UserWarning):
    def rule(g):
        warnings.warn(text, category, stacklevel=1)
        return g

    return rule


def test_GM5_a_warning_on_a_device_thread_is_recorded_in_the_caller():
    edge, x = on_device(warning_rule("from the device"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(edge, x)
    assert [(str(w.message), w.category, w.filename) for w in caught] == [("from the device", UserWarning, __file__)]
    assert x.grad is not None


def test_GM5_pytest_warns_sees_it():
    edge, x = on_device(warning_rule("from the device"))
    with pytest.warns(UserWarning, match="from the device"):
        run(edge, x)


def test_GM5_the_callers_filters_decide():
    edge, x = on_device(warning_rule("not wanted", DeprecationWarning))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "not wanted", DeprecationWarning)
        run(edge, x)
    assert caught == []


def test_GM5_where_warnings_are_errors_the_first_one_is_the_runs_error():
    edge, x = on_device(warning_rule("an error"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="an error") as caught:
            run(edge, x)
    assert any(entry.name == "rule" for entry in caught.traceback)
    assert x.grad is None


def test_GM5_warnings_of_the_callers_own_nodes_pass_as_they_are():
    x = ag.tensor([1.0], requires_grad=True)
    order = []

    def hook(g):
        warnings.warn("on the caller", UserWarning, stacklevel=1)
        order.append("after")

    y = x * 2.0
    y.register_hook(hook)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *rest: order.append(str(message))
        y.sum().backward()
    assert order == ["on the caller", "after"]


# WK14


def test_WK14_a_rules_own_thread_can_have_its_node_and_task():
    def question():
        with ThreadPoolExecutor(1) as pool:
            bare = pool.submit(graph.current_graph_task_id).result(LIMIT)
            carried = pool.submit(
                graph.carry_context(lambda: (graph.current_graph_task_id(), graph.current_node().name()))
            ).result(LIMIT)
        return bare, carried, graph.current_graph_task_id()

    for answers in (seen_on_device(question), seen_on_host(question)):
        bare, carried, own = answers
        assert bare == -1
        assert own > 0
        assert carried == (own, "Special")


def seen_on_host(question):
    answers = []
    x = ag.tensor([1.0], requires_grad=True)

    def rule(g):
        answers.append(question())
        return g

    node = PyNode("Special", rule, edges=[gradient_edge(x)], metas=(backend_of(x).meta(x.array),))
    backward(ag.autograd.GradientEdge(node, 0), np.ones(1))
    return answers[0]


def test_WK14_modes_and_context_are_carried():
    def state():
        return ag.is_grad_enabled(), VARIABLE.get(), is_anomaly_enabled(), ag.is_inference_mode_enabled()

    def carried(function):
        with ThreadPoolExecutor(1) as pool:
            results = [pool.submit(function).result(LIMIT), pool.submit(state).result(LIMIT)]
        return results

    token = VARIABLE.set("carried")
    try:
        with ag.no_grad(), set_detect_anomaly(True):
            function = graph.carry_context(state)
    finally:
        VARIABLE.reset(token)
    assert carried(function) == [(False, "carried", True, False), (True, "unset", False, False)]
    with ag.inference_mode():
        function = graph.carry_context(state)
    assert carried(function) == [(False, "unset", False, True), (True, "unset", False, False)]


def test_WK14_callbacks_can_be_queued_from_a_carried_function():
    done = []

    def question():
        with ThreadPoolExecutor(1) as pool:
            pool.submit(graph.carry_context(lambda: graph.queue_callback(lambda: done.append(here())))).result(LIMIT)

    seen_on_host(question)
    assert done == [here()]


def test_WK14_after_the_run_there_is_no_task_any_more():
    kept = []
    seen_on_host(lambda: kept.append(graph.carry_context(graph.current_graph_task_id)))
    assert kept[0]() == -1
    assert graph.current_graph_task_id() == -1


def test_WK14_an_error_and_the_result_come_through():
    def fail(x, *, y):
        """Docstring."""
        raise KeyError(x, y)

    carried = graph.carry_context(fail)
    assert (carried.__name__, carried.__doc__) == ("fail", "Docstring.")
    with pytest.raises(KeyError, match="1, 2"):
        carried(1, y=2)
    with ag.no_grad():
        carried = graph.carry_context(fail)
    with pytest.raises(KeyError):
        carried(1, y=2)
    assert ag.is_grad_enabled()


def test_WK14_only_functions_can_be_carried():
    with pytest.raises(TypeError, match="carry_context: expected a function, but got int"):
        graph.carry_context(1)


def test_current_node_is_unset_in_callbacks():
    seen = []
    x = ag.tensor([1.0], requires_grad=True)
    y = x * 2.0
    y.register_hook(lambda g: graph.queue_callback(lambda: seen.append(graph.current_node())))
    y.sum().backward()
    assert seen == [None]
