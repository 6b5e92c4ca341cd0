"""Gradients that are single numbers, which pass from node to node without arrays: Note [Numbers] in engine/numbers.pyx.

What they are is what the ordinary path gives (set_fast_paths(False)), and what NumPy's own differences say; and whoever
looks at a node, or at a gradient on its way, finds what the ordinary path shows.
"""

import sysconfig
import warnings

import numpy as np
import pytest
from fast_path_cases import plain

import arraygrad as ag
from arraygrad.autograd import graph

UNARY = {"negative": np.negative, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "square": np.square, "tanh": np.tanh}
BINARY = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b]
SPECIAL = [0.0, -0.0, 1.5, -3.0, 1e-310, 1e-160, -1e200, 1e308, np.inf, -np.inf, np.nan]


def leaf(value):
    return ag.tensor(value, requires_grad=True)


def told(f, *values):
    """(bytes of the value and of each gradient, kinds of warnings) of f at values.

    Kernels name an error by another step of the formula than the table's rules do.
    """
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("always")
        leaves = [leaf(v) for v in values]
        out = f(*leaves)
        out.backward()
    found = [None if x.grad is None else x.grad.array.tobytes() for x in leaves]
    return out.array.tobytes(), found, {str(w.message).split(" in ")[0] for w in caught}


def program(seed, steps):
    """A random program over single numbers and elements of an array of 2 x 3, the same for each run."""

    def run(a, b, u):
        rng = np.random.default_rng(seed)
        numbers, w = [a, b, a * b], u * 1.0
        for _ in range(steps):
            i, j = (numbers[k] for k in rng.integers(0, len(numbers), 2))
            at = int(rng.integers(0, 2)), int(rng.integers(-3, 3))
            kind = rng.integers(0, 9)
            if kind < 4:
                numbers.append(BINARY[kind](i, j * 0.3 + 2.0))
            elif kind == 4:
                numbers.append(np.tanh(-i))
            elif kind == 5:
                numbers.append(np.sqrt(np.exp(np.tanh(i)) + np.square(np.tanh(j))))
            elif kind == 6:
                numbers.append(w[at])
            elif kind == 7:
                w[at] = np.tanh(i)
            else:
                w[at] += 0.1 * np.tanh(j)
        total = (w * np.arange(6.0).reshape(2, 3)).sum()
        for x in numbers[-5:]:
            total = total + np.tanh(x)
        return total

    return run


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_have_the_gradients_of_the_ordinary_path(seed):
    values = 0.7, 1.3, np.linspace(0.2, 1.2, 6).reshape(2, 3)

    def gradients():
        leaves = [leaf(v) for v in values]
        program(seed, 120)(*leaves).backward()
        return [x.grad.array for x in leaves]

    for found, expected in zip(gradients(), plain(gradients), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_have_the_gradients_of_differences(seed):
    run, u = program(seed, 40), np.linspace(0.2, 1.2, 6).reshape(2, 3)
    found = ag.grad(run, argnums=(0, 1, 2))(0.7, 1.3, u)
    step = 1e-6
    for k, (da, db, du) in enumerate([(step, 0, 0), (0, step, 0), (0, 0, step * np.eye(6)[4].reshape(2, 3))]):
        slope = (run(0.7 + da, 1.3 + db, u + du) - run(0.7 - da, 1.3 - db, u - du)) / (2 * step)
        np.testing.assert_allclose(found[k] if k < 2 else found[2][1, 1], slope, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number_have_the_bits_and_warnings_of_the_ordinary_path(name):
    for a in SPECIAL:
        for b in SPECIAL:
            f = lambda x, y: UNARY[name](x) * y
            assert told(f, a, b) == plain(told, f, a, b), (name, a, b)


@pytest.mark.parametrize("k", range(4))
def test_operators_on_gradients_of_any_size_have_the_bits_and_warnings_of_the_ordinary_path(k):
    for a in SPECIAL:
        for b in SPECIAL:
            for scale in (1e-300, 1e300):
                f = lambda x, y: BINARY[k](x, y) * scale + BINARY[k](x, 3) * 2  # noqa: B023
                assert told(f, a, b) == plain(told, f, a, b), (a, b, scale)


@pytest.mark.parametrize("exponent", [2, 3, 2.0, 3.0, 1, 0, -1, 0.5, 2.5, 4])
def test_powers_of_a_number_have_the_bits_and_warnings_of_the_ordinary_path(exponent):
    for a in SPECIAL:
        for b in (1.5, 1e-300, 1e300, np.inf, 0.0):
            f = lambda x, y: (x * 1.0) ** exponent * y + np.power(x, exponent)
            assert told(f, a, b) == plain(told, f, a, b), (a, b)


def test_powers_of_numbers_by_numbers():
    x, y = leaf(2.0), leaf(3.0)
    ((x * 1.0) ** (y * 1.0) + 2.0 ** (y * 1.0)).backward()
    assert x.grad.item() == pytest.approx(12.0)
    assert y.grad.item() == pytest.approx(16.0 * np.log(2.0))
    z = leaf(2.0)
    (first,) = ag.autograd.grad((z * 1.0) ** 3 + (z * 1.0) ** 2, [z], create_graph=True)
    (second,) = ag.autograd.grad(first, [z])
    assert (first.item(), second.item()) == (16.0, 14.0)


def test_a_number_used_by_arrays_and_numbers_gets_both_gradients():
    x, v = leaf(2.0), np.array([1.0, 2.0, 3.0])
    y = x * 3.0
    (y * y + (y * v).sum() + np.exp(y * 0.1) + (y + v).sum()).backward()
    assert x.grad.item() == pytest.approx(3 * (2 * 6.0 + 6.0 + 0.1 * np.exp(0.6) + 3.0), rel=1e-14)


@pytest.mark.parametrize("order", ["C", "F"])
def test_elements_written_into_gradients_of_any_layout_find_their_place(order):
    x, w = leaf(2.0), np.arange(12.0).reshape(3, 4)
    y = ag.asarray(np.zeros((3, 4), order=order)) * x
    y[2, 1] = x * x
    y[0, 3] = y[2, 1] * x
    (y * np.asarray(w, order=order)).sum().backward()
    assert x.grad.item() == pytest.approx(w[2, 1] * 4 + w[0, 3] * 12, rel=1e-14)


def test_hooks_at_numbers_see_arrays_and_may_change_them():
    seen = []
    x = leaf(2.0)
    a = x * 3.0
    b = a * a
    a.retain_grad()
    b.register_hook(lambda g: seen.append((type(g), g.shape, g.item())) or g * 10.0)
    b.grad_fn.register_prehook(lambda grads: seen.append(grads[0].item()))
    a.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].item(), outputs[0].item())))
    (b * 0.5).backward()
    assert seen == [(ag.Tensor, (), 0.5), 5.0, (180.0, 60.0)]
    assert a.grad.item() == 60.0
    assert x.grad.item() == 180.0


def test_a_gradient_that_a_hook_was_shown_is_not_written_afterwards():
    kept = []
    x = leaf(2.0)
    y = x * 3.0
    z = y + x
    y.register_hook(kept.append)
    (z * y).backward()
    before = [g.item() for g in kept]
    (x.grad * 2.0).item()
    (x * y).backward()
    assert [g.item() for g in kept[:1]] == before[:1] == [14.0]


def test_gradients_of_numbers_on_the_way_can_be_asked_for():
    x, u = leaf(2.0), leaf([1.0, 2.0])
    a = x * u[1]
    b = a * a * u[0]
    found = ag.autograd.grad(b * 3.0, [a, u, x])
    assert found[0].item() == 24.0
    assert found[1].numpy().tolist() == [48.0, 48.0]
    assert found[2].item() == 48.0


def test_a_branch_that_nobody_asks_for_is_not_run():
    x, y = leaf(2.0), leaf(3.0)
    ran = []
    a, b = x * 2.0, y * 2.0
    b.register_hook(ran.append)
    (found,) = ag.autograd.grad(a * b, [x])
    assert found.item() == 12.0
    assert not ran
    assert x.grad is None


def test_a_graph_is_kept_and_freed_as_by_the_ordinary_path():
    x = leaf(3.0)
    y = x * x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 54.0
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    s = x + 1.0 - x - x
    s.backward()
    s.backward()
    assert x.grad.item() == 52.0


def test_saved_numbers_go_one_node_at_a_time():
    alive = []
    x = leaf(1.5)
    a = x * x
    b = a * a
    c = b * b
    nodes = [t.grad_fn for t in (a, b, c)]

    def count(g):
        for k, node in enumerate(nodes):
            try:
                assert node.saved
                alive.append(k)
            except RuntimeError:
                pass

    a.register_hook(count)
    c.backward()
    assert alive == [0]


def test_second_derivatives_of_numbers_and_elements():
    def f(x):
        y = x * 1.0
        y[0] = y[0] * y[1] * np.exp(y[2])
        return y[0] * y[0] / y[1]

    x = np.array([1.2, 0.7, 0.3])
    step = 1e-5
    gradient = ag.grad(f)
    differences = [(gradient(x + step * e) - gradient(x - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(ag.hessian(f)(x), differences, rtol=1e-7, atol=1e-8)


def test_a_number_that_was_overwritten_counts_as_it_was():
    x = leaf(2.0)
    y = ag.asarray(np.array(0.0))
    y[...] = x * 3.0
    z = y * y
    with ag.no_grad():
        y[...] = 100.0
    z.backward()
    assert x.grad.item() == 36.0


def test_an_overwritten_number_is_an_error_where_that_is_asked_for():
    before = ag.set_saved_mutation("error")
    try:
        x = leaf(2.0)
        y = ag.asarray(np.array(0.0))
        y[...] = x * 3.0
        z = y * y * 2.0
        with ag.no_grad():
            y[...] = 100.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.backward()
    finally:
        ag.set_saved_mutation(before)


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="without the GIL nodes keep the key as it was written"
)
@pytest.mark.parametrize("key", [2, -1, (1, 2), (-1, 0)])
def test_nodes_of_elements_show_their_key_counted_from_the_front(key):
    shape = (4,) if isinstance(key, int) else (3, 4)
    x = leaf(np.zeros(shape))
    keys = (key,) if isinstance(key, int) else key
    expected = tuple(k % n for n, k in zip(shape, keys, strict=True))
    expected = expected[0] if isinstance(key, int) else expected
    read = x[key]
    y = x * 1.0
    y[key] = read
    for node in (read.grad_fn, y.grad_fn):
        assert node.saved["key"] == expected
        assert node._saved_key == expected
    y.sum().backward()
    assert read.grad_fn.saved["key"] == expected
    np.testing.assert_array_equal(x.grad.array, np.ones(shape))


def test_nodes_whose_key_was_looked_at_run_as_others_do():
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2.0
    y[1] = x[0] * x[2]
    assert y.grad_fn.saved["key"] == 1
    (y[1] * y[2]).backward()
    assert x.grad.numpy().tolist() == [18.0, 0.0, 12.0]


def test_anomaly_mode_names_the_node_of_a_number():
    x = leaf(0.0)
    y = np.sqrt(x * 1.0) * 0.0
    with pytest.warns(UserWarning, match="nomaly"), ag.autograd.detect_anomaly():
        with pytest.raises(RuntimeError, match=r"Function 'SqrtBackward' returned nan"), np.errstate(all="ignore"):
            y.backward()


def test_every_node_is_seen_by_a_profile():
    x = leaf(2.0)
    y = (x * x + x) * x
    with graph.profile() as profile:
        y.backward()
    for name in ("MulBackward", "AddBackward"):
        assert name in str(profile)


def test_zero_gradients_annihilate_infinite_derivatives_of_numbers():
    x = leaf(0.0)
    with ag.zero_annihilates(), np.errstate(all="ignore"):
        (np.sqrt(x) * 0.0).backward()
    assert x.grad.item() == 0.0


def test_a_backward_within_a_hook_runs_through_the_same_numbers():
    x = leaf(3.0)
    a = x * x
    b = a * x
    inner = []

    def again(g):
        inner.extend(g.item() for g in ag.autograd.grad(a, [x], retain_graph=True))

    b.register_hook(again)
    (b * 2.0).backward()
    assert inner == [6.0]
    assert x.grad.item() == 54.0


def test_gradients_of_other_dtypes_and_shapes_take_the_ordinary_way():
    x = leaf(np.float32(2.0))
    u = leaf(np.array([1.0, 2.0], np.float32))
    z = leaf(np.array(1.0 + 2.0j))
    out = x * x * u[1] + x
    out.backward()
    assert x.grad.dtype == np.float32
    assert x.grad.item() == 9.0
    assert u.grad.dtype == np.float32
    assert u.grad.numpy().tolist() == [0.0, 4.0]
    (z * z).real.backward()
    assert z.grad.item() == 2.0 - 4.0j


def test_numbers_of_two_precisions_meet_in_the_wider_one():
    x, y = leaf(np.float32(3.0)), leaf(2.0)
    (x * y * y).backward()
    assert x.grad.dtype == np.float32
    assert x.grad.item() == 4.0
    assert y.grad.item() == 12.0


def test_a_constant_array_that_changes_is_refused_as_by_the_ordinary_path():
    c, x = np.array(3.0), leaf(2.0)
    y = x * c * 2.0
    c[...] = 4.0
    with pytest.raises(RuntimeError, match="not through a Tensor"):
        y.backward()


def test_a_long_chain_of_numbers_is_differentiated():
    x = leaf(1.0)
    y = x
    for _ in range(50_000):
        y = y * 1.00001 + 1e-9
    y.backward()
    assert x.grad.item() == pytest.approx(1.00001**50_000, rel=1e-10)


def test_what_a_node_kept_of_a_computed_number_stands_in_the_graph_as_it_did():
    x = leaf(2.0)
    a, b = x * 3.0, np.exp(x)
    node = (a * b).grad_fn
    assert node._saved_x1.item() == 6.0
    assert node._saved_x1.grad_fn is a.grad_fn
    assert node._saved_x2.grad_fn is b.grad_fn
    assert b.grad_fn._saved_ans.grad_fn is b.grad_fn
    assert (x * a).grad_fn._saved_x1 is x
    (found,) = ag.autograd.grad(node._saved_x2 * 2.0, [x], retain_graph=True)
    assert found.item() == pytest.approx(2 * np.exp(2.0))
    (found,) = ag.autograd.grad(b, [x])
    assert found.item() == pytest.approx(np.exp(2.0))


def test_a_constant_that_a_node_kept_stays_a_number():
    x = leaf(2.0)
    node = ((x + 1.0) * 3.0).grad_fn
    assert node._saved_x2 == 3.0
    assert type(node._saved_x2) is float
    (found,) = ag.autograd.grad((x + 1.0) * 3.0 * x, [x], create_graph=True)
    (second,) = ag.autograd.grad(found, [x])
    assert second.item() == 6.0


def test_kept_numbers_that_were_looked_at_serve_as_before():
    x = leaf(2.0)
    a = x * 3.0
    y = a * a / x
    assert y.grad_fn.saved["x2"].item() == 2.0
    assert a.grad_fn.saved
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 18.0
    with pytest.raises(RuntimeError, match="second time"):
        assert y.grad_fn.saved


def test_hooks_for_one_kept_number_see_it_and_give_it_back():
    x = leaf(2.0)
    a = x * 3.0
    y = a * np.exp(a)
    seen = []
    y.grad_fn._raw_saved_x1.register_hooks(lambda t: seen.append(t.item()) or t.item(), lambda v: ag.asarray(v * 10.0))
    y.backward()
    assert seen == [6.0]
    assert x.grad.item() == pytest.approx(3 * (np.exp(6.0) + 60.0 * np.exp(6.0)))


def test_third_derivatives_of_numbers():
    x = leaf(0.7)
    found = np.tanh(x * x) / x
    for _ in range(3):
        (found,) = ag.autograd.grad(found, [x], create_graph=True)
    f = lambda v: np.tanh(v * v) / v
    h = 1e-3
    expected = (f(0.7 + 2 * h) - 2 * f(0.7 + h) + 2 * f(0.7 - h) - f(0.7 - 2 * h)) / (2 * h**3)
    assert found.item() == pytest.approx(expected, rel=1e-4)
