"""Updates in place, `p -= rate * g`: one launch into the memory that is there, and what in-place writes promise.

Each test compares with the same over NumPy. Runs on a device, and on the stand-in by test_device_tests.py.
"""

import contextlib
import itertools
import operator

import numpy as np
import pytest

import arraygrad as ag

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

RNG = np.random.default_rng(5)
OPERATORS = {"+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv}
DTYPES = ("float16", "float32", "float64", "complex64", "complex128", "int32")

# (what is written of an array, what it is updated by), both made of an array of 4 x 6 and one like it.
TARGETS = {
    "itself": lambda a: a,
    "row": lambda a: a[1],
    "column": lambda a: a[:, 2],
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1],
    "steps": lambda a: a[::2, 1::2],
    "one element": lambda a: a[1:2, 2:3],
    "0-d": lambda a: a[1, 2, ...],
    "nothing": lambda a: a[:0],
}
OTHERS = {
    "number": lambda t, b: 1.5,
    "int": lambda t, b: 2,
    "huge int": lambda t, b: 10**400,
    "array": lambda t, b: b[tuple(slice(0, n) for n in t.shape)] if t.ndim == 2 and t.shape[0] < 5 else t + t,
    "0-d array": lambda t, b: b[0, 0, ...],
    "itself": lambda t, b: t,
    "its detached alias": lambda t, b: t.detach() if isinstance(t, ag.Tensor) else t,
    "its mirror image": lambda t, b: t[::-1],
    "its first row": lambda t, b: t[:1],
    "neighbours": lambda t, b: (t.ravel() if t.ndim == 0 else t)[:1],
    "its transpose": lambda t, b: t.T,
    "single precision": lambda t, b: b[0, 0, ...].astype("float32"),
    "too large": lambda t, b: b[:, 0][(None,) * (t.ndim + 1)],
    "of another size": lambda t, b: b.ravel()[:23],
}


def both(cupy, values, **options):
    """Tensors over CuPy and over NumPy."""
    return ag.asarray(cupy.asarray(values), **options), ag.asarray(np.array(values), **options)


def numbers(dtype, shape=(4, 6)):
    values = RNG.uniform(1.0, 2.0, shape)
    if dtype.startswith("complex"):
        values = values + 1j * RNG.uniform(1.0, 2.0, shape)
    return (values * 10 if dtype == "int32" else values).astype(dtype)


def attempted(function, *args):
    """The kind of error of a call, None: none."""
    try:
        function(*args)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sign", OPERATORS)
def test_values_and_versions_are_those_over_numpy(cupy, sign, dtype):
    rtol = 1e-2 if dtype == "float16" else 1e-5 if dtype in ("float32", "complex64") else 1e-13
    for (target, view), (what, other) in itertools.product(TARGETS.items(), OTHERS.items()):
        values, more = numbers(dtype), numbers(dtype)
        ends = []
        for t, b in zip(both(cupy, values), both(cupy, more), strict=True):
            memory = t.array
            shown = view(t)
            error = attempted(lambda s, o, b: OPERATORS[sign](s, o(s, b)), shown, other, b)
            assert t.array is memory
            ends.append((error is None, t.version, t.numpy()))
        (ran, version, found), (wanted_ran, wanted_version, wanted) = ends
        if what == "huge int" or (dtype == "int32" and ran != wanted_ran):  # each library's own rules of casting
            continue
        assert (ran, version) == (wanted_ran, wanted_version), (target, what)
        np.testing.assert_allclose(found, wanted, rtol=rtol, err_msg=f"{target} {sign} {what}")


def launches_of(cupy, run):
    """Launches, copies and allocations of a call, by names."""
    host_cuda = pytest.importorskip("host_cuda")
    run()
    pool = cupy.get_default_memory_pool()
    cupy.cuda.Device().synchronize()
    pool.free_all_blocks()
    host_cuda.reset_counters()
    run()
    counted = host_cuda.counters()
    return {name: n for name, n in counted.items() if name in ("launch", "on_device", "malloc", "to_host") and n}


@pytest.mark.parametrize("target", ["itself", "row", "column", "transposed", "steps", "0-d"])
@pytest.mark.parametrize("sign", OPERATORS)
def test_an_update_is_one_launch_without_a_copy_or_memory(cupy, sign, target):
    p = ag.asarray(cupy.asarray(numbers("float32")), requires_grad=True)
    shown = TARGETS[target](p)
    g = ag.asarray(cupy.ones_like(shown.array))

    def update():
        with ag.no_grad():
            OPERATORS[sign](shown, g)

    assert launches_of(cupy, update) == {"launch": 1}


def test_an_update_by_a_number_or_a_row_is_one_launch(cupy):
    p = ag.asarray(cupy.asarray(numbers("float64")), requires_grad=True)
    row = cupy.ones(6)

    def update():
        with ag.no_grad():
            OPERATORS["-="](p, 0.5)
            OPERATORS["*="](p, row)

    assert launches_of(cupy, update) == {"launch": 2}


# What a node has saved of the memory, by the Tensor that it was given.
SAVED = {
    "itself": lambda w: w,
    "a row": lambda w: w[1],
    "transposed": lambda w: w.T,
    "elements by step": lambda w: w[::2, ::3],
    "reshaped": lambda w: w.reshape((24,)),
}
# Where it is written.
WRITES = {
    "itself": lambda w: w,
    "its alias": lambda w: w.detach(),
    "a row": lambda w: w[1],
    "another row": lambda w: w[2],
    "a column": lambda w: w[:, 3],
    "a view of a view": lambda w: w.T[1:][::2],
}


def written_between(f, w, x, write, repeats=1):
    """Gradients of w and x, where memory of w is written between forward and backward."""
    loss = ag.sum(f(w) * f(x) ** 2)
    with ag.no_grad():
        for _ in range(repeats):
            write(w)
    loss.backward()
    return w.grad.numpy(), x.grad.numpy(), w.numpy(), w.version


@pytest.mark.parametrize("saved", SAVED)
@pytest.mark.parametrize("written", WRITES)
@pytest.mark.parametrize("repeats", [1, 2])
def test_what_a_node_has_saved_stays_as_it_was(cupy, saved, written, repeats):
    w, x = numbers("float64"), numbers("float64")

    def write(w):
        part = WRITES[written](w)
        part -= part * 0.5 + 1.0

    ends = [
        written_between(SAVED[saved], *ts, write, repeats)
        for ts in zip(both(cupy, w, requires_grad=True), both(cupy, x, requires_grad=True), strict=True)
    ]
    for found, wanted in zip(*ends, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    slope = np.zeros((4, 6))  # of the sum over w x**2 by x: 2 w x, at the old values
    SAVED[saved](slope)[...] = SAVED[saved](2 * w * x)
    np.testing.assert_allclose(ends[0][1], slope, rtol=1e-13)


@pytest.mark.parametrize("saved", SAVED)
@pytest.mark.parametrize("written", WRITES)
def test_where_overwriting_is_an_error_backward_raises_what_it_raises_over_numpy(cupy, saved, written):
    def write(w):
        part = WRITES[written](w)
        part -= 1.0

    errors, before = [], ag.set_saved_mutation("error")
    try:
        for w, x in zip(
            both(cupy, numbers("float64"), requires_grad=True),
            both(cupy, numbers("float64"), requires_grad=True),
            strict=True,
        ):
            errors.append(attempted(written_between, SAVED[saved], w, x, write))
    finally:
        ag.set_saved_mutation(before)
    assert errors[0] is errors[1]
    assert errors[0] is RuntimeError or "row" in written or "column" in written or "view" in written


def test_an_update_that_fails_leaves_values_versions_and_saved_values(cupy):
    before = ag.set_saved_mutation("error")
    try:
        w = ag.asarray(cupy.asarray(numbers("float64")), requires_grad=True)
        loss = ag.sum(w * w)
        with ag.no_grad():
            for other in (cupy.ones(5), cupy.ones((2, 4, 6)), cupy.ones((4, 6), dtype="complex128"), "text", 1j):
                assert attempted(operator.isub, w, other) is not None
        assert w.version == 0
        loss.backward()
        np.testing.assert_allclose(w.grad.numpy(), 2 * w.numpy())
    finally:
        ag.set_saved_mutation(before)


def test_a_recorded_update_stays_recorded(cupy):
    values, more = numbers("float64"), numbers("float64")
    ends = []
    for x, z in zip(both(cupy, values, requires_grad=True), both(cupy, more, requires_grad=True), strict=True):
        y = x * 1.0
        y -= z * 2.0
        y[1] *= z[0]
        u = ag.asarray(y.detach() * 0.0)
        u += y  # what requires no grad takes on a history
        u[:, 2] -= 3.0
        u.T[1] /= z[:, 1]
        ag.sum(u * u * y).backward()
        ends.append((x.grad.numpy(), z.grad.numpy(), u.numpy(), u.version))
    for found, wanted in zip(*ends, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_leaves_are_refused_outside_of_no_grad_and_constants_are_written(cupy):
    w = ag.asarray(cupy.asarray(numbers("float64")), requires_grad=True)
    for other in (1.0, w.array, w.detach()):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            w -= other
        with pytest.raises(RuntimeError, match="view of a leaf"):
            w[1] -= 1.0
    c = w.detach() * 1.0
    c -= w.detach()
    assert not c.requires_grad
    assert not c.numpy().any()
    c += w
    assert c.requires_grad


def test_an_update_of_part_of_a_history_drops_no_gradient(cupy):
    ends = []
    for x in both(cupy, numbers("float64"), requires_grad=True):
        y = x * 3.0
        row = y[1]
        with ag.no_grad():
            row *= 2.0  # unrecorded by wish
        y *= y
        row -= 1.0
        ag.sum(y**2).backward()
        ends.append((x.grad.numpy(), y.numpy(), y.version, row.version))
    for found, wanted in zip(*ends, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_hooks_of_operations_see_an_update(cupy):
    w = ag.asarray(cupy.asarray(numbers("float64")), requires_grad=True)
    seen = []
    with ag.no_grad(), ag.autograd.graph.op_hooks(lambda name, *rest: seen.append(name), lambda *rest: None):
        w -= 1.0
    assert any("subtract" in str(name) for name in seen)


def test_inference_tensors_are_refused_outside_of_their_mode(cupy):
    with ag.inference_mode():
        t = ag.asarray(cupy.ones(3)) * 2.0
        t -= 1.0
    assert t.numpy().tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match="inference tensor"):
        t -= 1.0


# (shape, strides in elements) of views of twelve numbers, and whether two of their elements are one.
STRIDED = [
    ((2, 2), (1, 1), True),
    ((3, 2), (0, 1), True),
    ((3, 4), (2, 1), True),
    ((4,), (0,), True),
    ((2, 3), (5, 2), False),
    ((2, 2), (3, 2), False),
    ((2, 2, 2), (3, 2, 5), True),
    ((3, 1, 4), (4, 0, 1), False),
    ((1, 2), (0, 3), False),
]


@pytest.mark.filterwarnings("ignore:.*an array that the program still holds")
@pytest.mark.parametrize(("shape", "steps", "shared"), STRIDED)
def test_elements_that_share_memory_are_written_as_over_numpy_and_refused_where_recorded(cupy, shape, steps, shared):
    if not hasattr(cupy, "lib"):
        pytest.skip("the stand-in has no as_strided")
    ends = []
    for xp in (cupy, np):
        base = xp.arange(12.0)
        t = ag.asarray(xp.lib.stride_tricks.as_strided(base, shape, tuple(8 * step for step in steps)))
        t -= 1.5
        w = ag.asarray(xp.asarray(2.0), requires_grad=True)
        with pytest.raises(RuntimeError, match="single memory location") if shared else contextlib.nullcontext():
            t *= w
        with pytest.raises(RuntimeError, match="single memory location") if shared else contextlib.nullcontext():
            t[0] = w
        ends.append(ag.asarray(base).numpy())
    np.testing.assert_array_equal(*ends)


def test_random_updates_end_in_what_they_end_in_over_numpy(cupy):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = rng.uniform(1.0, 2.0, (2, 4, 6))
        ends = []
        for over in (cupy, np):
            draw = np.random.default_rng(seed)
            w, x = (ag.asarray(over.asarray(v), requires_grad=True) for v in values)
            losses = []
            for _ in range(8):
                shown = list(SAVED.values())[draw.integers(len(SAVED))]
                losses.append(ag.sum(shown(w * x if draw.random() < 0.5 else w)))
                losses.append(ag.sum(w[draw.integers(4)] * x[draw.integers(4)]))
                with ag.no_grad():
                    part = list(WRITES.values())[draw.integers(len(WRITES))](w)
                    source = list(WRITES.values())[draw.integers(len(WRITES))](w)
                    sign = list(OPERATORS)[draw.integers(3)]
                    if source.shape != part.shape and draw.random() < 0.7:
                        source = float(draw.uniform(0.5, 1.5))
                    attempted(OPERATORS[sign], part, source)
            sum(losses[1:], losses[0]).backward()
            ends.append((w.numpy(), w.grad.numpy(), x.grad.numpy(), w.version))
        for found, wanted in zip(*ends, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, err_msg=f"seed {seed}")


def test_an_update_on_another_stream_keeps_what_backward_reads(cupy):
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    n = 1 << 14
    w = ag.asarray(cupy.full(n, 3.0), requires_grad=True)
    x = ag.asarray(cupy.full(n, 2.0), requires_grad=True)
    streams[0].wait_event(cupy.cuda.get_current_stream().record())
    with streams[0]:
        loss = ag.sum(w * x)
    streams[1].wait_event(streams[0].record())
    with streams[1], ag.no_grad():
        for _ in range(3):
            w -= 0.5 * w
    cupy.cuda.get_current_stream().wait_event(streams[1].record())
    loss.backward()
    cupy.cuda.Device().synchronize()
    assert np.array_equal(x.grad.numpy(), np.full(n, 3.0))
    assert np.array_equal(w.grad.numpy(), np.full(n, 2.0))
    assert np.array_equal(w.numpy(), np.full(n, 3.0 / 8))


def test_updates_on_another_device_than_the_current_one(cupy, two_devices):
    with cupy.cuda.Device(1):
        w = ag.asarray(cupy.full(5, 3.0), requires_grad=True)
        g = ag.asarray(cupy.full(5, 1.0))
    with ag.no_grad(), cupy.cuda.Device(1):
        w -= 2.0 * g
    assert int(w.device) == 1
    assert w.numpy().tolist() == [1.0] * 5


def test_a_step_without_prepared_kernels_ends_in_the_same_values(cupy, switches):
    set_fused, set_prepared = switches
    ends = []
    for fused, prepared in ((True, True), (True, False), (False, False)):
        set_fused(fused)
        set_prepared(prepared)
        w = ag.asarray(cupy.arange(6.0).reshape(2, 3), requires_grad=True)
        for _ in range(3):
            ag.sum(ag.sin(w) * w).backward()
            with ag.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
        ends.append((w.numpy(), w.version))
    for values, version in ends[1:]:
        np.testing.assert_allclose(values, ends[0][0], rtol=1e-12)
        assert version == ends[0][1] == 3
