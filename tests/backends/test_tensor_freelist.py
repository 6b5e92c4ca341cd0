"""Operations on single numbers in one step, and their results, which are handed out again when they have died.

Note [Operations on numbers] in core/number_ops.pyx, Note [Free list of Tensors] in core/tensor_freelist.hpp. What is
recorded is what the general way records, and nobody can tell a result that is handed out again from a new one.
"""

import gc
import sysconfig
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from fast_path_cases import plain

import arraygrad as ag
from arraygrad import memory
from arraygrad.autograd import graph
from arraygrad.core.inplace import as_scalar
from arraygrad.engine.node import is_debug_build

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
keeps = pytest.mark.skipif(
    FREE_THREADED or is_debug_build(), reason="results are kept on builds with the GIL, and not in debug builds"
)
BINARY = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
}
UNARY = {
    "negative": lambda a: -a,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "square": np.square,
    "tanh": np.tanh,
}
OPERANDS = {
    "leaf": lambda: ag.tensor(1.75, requires_grad=True),
    "computed": lambda: ag.tensor(0.5, requires_grad=True) * 5.0,
    "constant tensor": lambda: ag.tensor(1.25),
    "float": lambda: 0.75,
    "int": lambda: 3,
    "bool": lambda: True,
    "scalar": lambda: np.float64(1.5),
    "single scalar": lambda: np.float32(1.5),
    "single precision": lambda: ag.tensor(np.float32(2.5), requires_grad=True),
    "integer tensor": lambda: ag.tensor(4),
    "array": lambda: ag.tensor([1.0, 2.0], requires_grad=True),
    "raw array": lambda: np.array(2.25),
    "view": lambda: ag.tensor([1.5, 2.5], requires_grad=True)[0, ...],
    "given": lambda: given(ag.tensor(0.5, requires_grad=True) * 3.0),
    "large int": lambda: 2**60 + 1,
}


pytestmark = pytest.mark.usefixtures("own_pool")


def given(t):
    """The Tensor, after the program was given its array."""
    assert t.array is not None
    return t


def leaf(value):
    return ag.tensor(value, requires_grad=True)


def shown(value):
    """What a saved value or a result is, as text."""
    if isinstance(value, ag.Tensor):
        way = None if value.grad_fn is None else value.grad_fn.name()
        return str(value.dtype), value.shape, value.detach().array.tobytes(), value.requires_grad, way, value.is_leaf
    return type(value).__name__, repr(value)


def described(t):
    """All that users see of a result and of its node."""
    node, found = t.grad_fn, [shown(t), t.version]
    if node is not None:
        found += [node.name(), node.topological_nr, node.input_metadata[0].shape, node.input_metadata[0].dtype]
        found += [(None if n is None else n.name(), nr) for n, nr in node.next_functions]
        found += [(name, shown(value)) for name, value in node.saved.items()]
    return found


@pytest.mark.parametrize("right", OPERANDS)
@pytest.mark.parametrize("left", OPERANDS)
def test_an_operation_of_two_numbers_records_what_the_general_way_records(left, right):
    for name, function in BINARY.items():

        def run(function=function):
            a, b = OPERANDS[left](), OPERANDS[right]()
            out = function(a, b)
            return described(out) if isinstance(out, ag.Tensor) else out

        assert run() == plain(run), name


@pytest.mark.parametrize("operand", ["leaf", "computed", "constant tensor", "view", "given", "single precision"])
@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_number_records_what_the_general_way_records(name, operand):
    def run():
        return described(UNARY[name](OPERANDS[operand]()))

    run()
    assert run() == plain(run)


@pytest.mark.parametrize("operand", ["leaf", "computed", "constant tensor", "view", "given", "single precision"])
@pytest.mark.parametrize("power", [2, 2.0, 3, 3.0, -1, -1.0, 0.5, 1, 1.0, 0, 0.0, 2.5, -3, 60, True, 2**60 + 1])
def test_a_power_of_a_number_records_what_the_general_way_records(power, operand):
    def run():
        with np.errstate(over="ignore"):
            results = [f(OPERANDS[operand]()) for f in (lambda t: t**power, lambda t: np.power(t, power))]
        return [described(t) for t in results]

    run()
    assert run() == plain(run)


def test_a_number_to_the_power_of_a_tensor_keeps_what_its_rule_asks_for():
    x, y = leaf(1.5), leaf(2.5)
    for _ in range(2):
        found = ag.autograd.grad(x**y + 3.0**y + x**2 * y, [x, y])
        assert found[0].item() == pytest.approx(2.5 * 1.5**1.5 + 7.5)
        assert found[1].item() == pytest.approx(1.5**2.5 * np.log(1.5) + 3.0**2.5 * np.log(3.0) + 2.25)


def test_an_operand_on_both_sides_has_two_edges():
    x = leaf(3.0)
    y = x * 2.0
    z = y * y - y / y
    z.backward()
    assert [n for n, _ in (y * y).grad_fn.next_functions] == [y.grad_fn, y.grad_fn]
    assert x.grad.item() == 24.0


@keeps
def test_a_result_that_died_is_handed_out_again():
    x = leaf(2.0)
    t = x * 3.0
    before = id(t)
    del t
    u = x + 0.5
    assert id(u) == before
    assert (u.item(), u.grad_fn.name(), u.version, u.output_nr) == (2.5, "AddBackward", 0, 0)
    del u
    with ag.no_grad():
        v = x - 0.5
    assert id(v) == before
    assert not v.requires_grad
    assert v.grad_fn is None
    assert v.is_leaf


@keeps
def test_as_many_are_kept_as_were_asked_for():
    x = leaf(2.0)
    results = [x * float(i) for i in range(5)]
    sums = [ag.tensor([1.0, 2.0]).sum() for _ in range(50)]
    kept = memory.statistics()["cached"]
    del results, sums
    assert memory.statistics()["cached"] >= kept
    again = [x + float(i) for i in range(5)]
    assert len({id(t) for t in again}) == 5


@pytest.mark.parametrize(
    "hold",
    [
        lambda t: t.array,
        lambda t: t.array.view(np.int64),
        lambda t: t.array[None],
        lambda t: memoryview(t.array),
        lambda t: t.numpy(),
        lambda t: t.detach(),
        lambda t: t[None],
        lambda t: t.reshape(1),
        lambda t: (t * t).grad_fn,
        lambda t: ag.exp(t),
    ],
    ids=["array", "other-dtype", "axis", "memoryview", "numpy", "detached", "view", "reshaped", "saved", "function"],
)
def test_what_somebody_holds_keeps_its_value(hold):
    x = leaf(1.5)
    t = x * 2.0
    held = hold(t)

    def value(h):
        h = h.saved["x1"] if isinstance(h, graph.Node) else h
        return np.array(h.detach().array if isinstance(h, ag.Tensor) else h).tobytes()

    before = value(held)
    del t
    others = [x * float(i) for i in range(100)]
    assert value(held) == before
    del others
    others = [x + float(i) for i in range(100)]
    assert value(held) == before
    assert others[3].item() == 4.5


def _shape(a):
    a.shape = (1, 1)


def _dtype(a):
    a.dtype = np.int64


def _value(a):
    a[()] = 99.0


@pytest.mark.parametrize(
    "change", [lambda a: a.setflags(write=False), _shape, _dtype, _value], ids=["read-only", "shape", "dtype", "value"]
)
@pytest.mark.filterwarnings("ignore:Setting the (shape|dtype):DeprecationWarning")
def test_a_result_whose_array_the_program_changed_is_not_taken_for_new(change):
    x = leaf(2.0)
    for _ in range(3):
        t = x * 3.0
        change(t.array)
        del t
        for k in range(3):
            u = x * float(k)
            assert (u.array.shape, u.array.dtype, u.array.flags.writeable) == ((), np.float64, True)
            assert u.item() == 2.0 * k


def test_marks_of_one_result_are_not_those_of_the_next():
    x = leaf(2.0)
    seen = []
    t = x * 3.0
    t.retain_grad()
    t.register_hook(lambda g: seen.append(g.item()))
    t.name = "first"
    t.backward()
    assert t.grad.item() == 1.0
    del t
    for _ in range(3):
        u = x * 3.0
        assert not hasattr(u, "name")
        u.backward()
        with pytest.warns(UserWarning, match="not a leaf"):
            assert u.grad is None
        del u
    assert seen == [1.0]
    assert x.grad.item() == 12.0


def test_a_number_that_requires_grad_by_itself_is_a_leaf():
    constant = ag.tensor(2.0)
    for _ in range(3):
        t = constant * 3.0
        assert not t.requires_grad
        t.requires_grad_()
        (t * t).backward()
        assert t.grad.item() == 12.0
        del t
        u = constant * 5.0
        assert not u.requires_grad
        assert u.grad is None


def test_in_place_writes_leave_what_nodes_saved():
    x = leaf(2.0)
    t = x * 3.0
    y = t * t
    last = t
    t += 1.0
    assert (last.item(), t.item()) == (6.0, 7.0)
    a = as_scalar(ag.tensor(np.array(3.0)) * 1.0, False)
    b = leaf(2.0) * a
    a[...] = 100.0
    assert a.item() == 100.0
    y.backward()
    b.backward()
    assert x.grad.item() == 36.0


def test_an_overwritten_number_is_an_error_where_that_is_asked_for():
    previous = ag.set_saved_mutation("error")
    try:
        x, c = leaf(2.0), ag.tensor(np.array(3.0))
        y = x * c
        c[...] = 5.0
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            y.backward()
    finally:
        ag.set_saved_mutation(previous)


def test_weak_references_end_with_the_result():
    x = leaf(2.0)
    for _ in range(4):
        t = x * 3.0
        reference = weakref.ref(t)
        node = weakref.ref(t.grad_fn)
        del t
        assert reference() is None
        assert node() is None


def test_a_circle_through_a_result_is_collected():
    x = leaf(2.0)
    for _ in range(3):
        t = x * 3.0
        node = weakref.ref(t.grad_fn)
        t.register_hook(lambda g, t=t: None)
        del t
        gc.collect()
        assert node() is None


def test_live_results_never_share_memory():
    rng = np.random.default_rng(0)
    x, live = leaf(2.0), {}
    for i in range(6000):
        live[i] = x * float(i) if i % 3 else np.exp(x) - float(i)
        if rng.random() < 0.6:
            del live[int(rng.choice(list(live)[-50:]))]
    places = [t.array.__array_interface__["data"][0] for t in live.values()]
    assert len(set(places)) == len(places) > 2048
    assert len({id(t) for t in live.values()}) == len(places)
    for i, t in live.items():
        assert t.item() == (2.0 * i if i % 3 else np.exp(2.0) - i)


@keeps
def test_they_count_as_memory_of_the_pool_and_leave_with_it():
    x = leaf(2.0)
    results = [x * float(i) for i in range(100)]
    before = memory.statistics()
    del results
    assert memory.statistics()["cached"] >= before["cached"] + 800
    results = [x * float(i) for i in range(100)]
    assert memory.statistics()["hits"] >= before["hits"] + 100
    assert [t.item() for t in results] == [2.0 * i for i in range(100)]
    del results
    memory.empty_cache()
    assert memory.statistics()["cached"] == 0
    assert (x * 4.0).item() == 8.0


def test_a_limit_of_zero_keeps_none():
    memory.set_limit(0)
    x = leaf(2.0)
    for k in range(5):
        assert (x * float(k)).item() == 2.0 * k
    assert memory.statistics()["cached"] == 0


@keeps
def test_tracemalloc_counts_live_results_and_not_what_is_kept():
    x = leaf(2.0)
    del [x * float(i) for i in range(2)][:]
    tracemalloc.start()
    try:
        live = [x * float(i) for i in range(500)]
        during = tracemalloc.get_traced_memory()[0]
        del live
        again = [x * float(i) for i in range(500)]
        assert tracemalloc.get_traced_memory()[0] >= 500 * 8
        del again
        numpys = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)])
        assert sum(trace.size for trace in numpys.traces) < 500 * 8
        assert during > 500 * 8
    finally:
        tracemalloc.stop()


def test_a_program_that_raises_half_way_leaves_nothing_behind():
    def steps(x):
        for _ in range(20):
            x = x * x
            with np.errstate(over="raise"):
                y = x * 1e200
        return y

    for _ in range(3):
        with pytest.raises(FloatingPointError, match="overflow"):
            ag.value_and_grad(steps)(1e30)
        value, slope = ag.value_and_grad(lambda x: x * x + 2.0 * x)(3.0)
        assert (value, slope) == (15.0, 8.0)


@pytest.mark.parametrize(("a", "b"), [(1e200, 1e200), (1e-200, 1e-200), (np.inf, np.inf), (np.nan, 1.0), (0.0, 0.0)])
def test_errors_of_floating_point_are_told_as_by_the_general_way(a, b):
    def run():
        found = []
        with np.errstate(all="call"):
            before = np.seterrcall(lambda kind, flag: found.append(kind))
            try:
                x, y = leaf(a), leaf(b)
                values = [f(x, y).array.tobytes() for f in BINARY.values()]
                values += [f(x).array.tobytes() for f in UNARY.values()]
            finally:
                np.seterrcall(before)
        return values, found

    assert run() == plain(run)


def test_hooks_around_operations_see_numbers():
    seen = []
    x = leaf(2.0)
    with graph.op_hooks(lambda name, args: seen.append(name), lambda *args: None):
        y = -(x * 3.0) + x
    y.backward()
    assert seen == ["multiply", "negative", "add"]
    assert x.grad.item() == -2.0


def test_hooks_for_saved_values_see_numbers():
    packed = []
    x = leaf(2.0)
    t = x * 3.0
    with graph.saved_tensors_hooks(lambda s: packed.append(s.item()) or s, lambda s: s):
        y = t * t
    y.backward()
    assert packed == [6.0, 6.0]
    assert x.grad.item() == 36.0


def test_inference_mode_makes_numbers_that_are_never_saved():
    x = leaf(2.0)
    with ag.inference_mode():
        t = x * 3.0
    assert not t.requires_grad
    with pytest.raises(RuntimeError, match="Inference tensors"):
        x * t
    assert (x * 3.0).requires_grad


def test_zero_gradients_annihilate_infinite_slopes_of_numbers():
    with ag.zero_annihilates(), np.errstate(divide="ignore", invalid="ignore"):
        x = leaf(0.0)
        y = np.sqrt(x) * 0.0
        y.backward()
    assert x.grad.item() == 0.0


def test_anomaly_mode_names_the_line_of_a_number():
    with pytest.warns(UserWarning, match="Anomaly"):
        mode = ag.autograd.detect_anomaly()
    with mode:
        t = leaf(2.0) * 3.0
    assert t.grad_fn.metadata["traceback_"][-1].name == "test_anomaly_mode_names_the_line_of_a_number"


def test_a_backward_of_numbers_gives_back_what_hooks_make_of_gradients():
    x = leaf(2.0)
    a = x * 3.0
    held = []
    a.register_hook(lambda g: held.append(g) or g * 2.0)
    b = a * a + a
    b.backward()
    assert x.grad.item() == 78.0
    values = [h.item() for h in held]
    for _ in range(3):
        (leaf(5.0) * 2.0 * 3.0).backward()
    assert [h.item() for h in held] == values == [13.0]


def test_gradients_that_the_program_holds_are_not_written_by_later_runs():
    x, y = leaf(2.0), leaf(3.0)
    kept = []
    for k in range(20):
        kept.append(ag.autograd.grad(x * y * float(k), [x, y]))
    for k, (gx, gy) in enumerate(kept):
        assert (gx.item(), gy.item()) == (3.0 * k, 2.0 * k)


def test_second_derivatives_of_numbers():
    f = lambda v: np.exp(v * v) / v - np.sqrt(v)
    x = leaf(0.75)
    (first,) = ag.autograd.grad(f(x), [x], create_graph=True)
    (second,) = ag.autograd.grad(first, [x])
    h = 1e-4
    assert second.item() == pytest.approx((f(0.75 + h) - 2 * f(0.75) + f(0.75 - h)) / h**2, rel=1e-5)


def test_an_input_that_stands_on_the_way_to_another_runs_and_is_told():
    x = leaf(2.0)
    a = x * 3.0
    b = a * a
    c = b + a
    found = ag.autograd.grad(c, [a, b, x])
    assert [g.item() for g in found] == [13.0, 1.0, 39.0]
    (found,) = ag.autograd.grad(x * 3.0 + ag.tensor(1.0, requires_grad=True), [x])
    assert found.item() == 3.0


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs_have_the_gradients_of_the_general_way_for_any_inputs(seed):
    def run():
        rng = np.random.default_rng(seed)
        numbers = [leaf(float(v)) for v in rng.uniform(0.5, 1.5, 4)]
        for _ in range(60):
            i, j = rng.integers(0, len(numbers), 2)
            name = list(BINARY)[rng.integers(0, 4)]
            numbers.append(np.tanh(BINARY[name](numbers[i], numbers[j] * 0.5 + 1.25)))
        inputs = [numbers[k] for k in rng.choice(50, 6, replace=False)]
        out = numbers[-1] + numbers[-2]
        found = ag.autograd.grad(out, inputs, allow_unused=True)
        return [None if g is None else g.item() for g in found]

    for a, b in zip(run(), plain(run), strict=True):
        assert a == pytest.approx(b, rel=1e-12) if a is not None else b is None


def test_threads_compute_with_numbers_of_their_own():
    f = ag.value_and_grad(lambda x, y: (x * y - x / y) * (x + 3.0) + np.exp(y) * x, argnums=(0, 1))
    expected = [f(1.0 + k, 2.0) for k in range(4)]
    wrong = []

    def work(k):
        for _ in range(300):
            if f(1.0 + k, 2.0) != expected[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
