"""Launches that go on to the rows of what they write, forward and backward: the same as by CuPy's functions and NumPy.

Whatever a program does between the operations of a loss, values and gradients are those of the same program over
NumPy, and those after `set_prepared(False)` and `set_fused(False)`. Runs on a device, and on the stand-in by
test_device_tests.py. Imports the public names of arraygrad and the CuPy backend's switches.
"""

import threading

import numpy as np
import pytest

import arraygrad as ag

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def close(found, expected):
    """Equal but for rounding; nan is nan."""
    found = np.asarray(found.get() if hasattr(found, "get") else found)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = {"rtol": 3e-5, "atol": 1e-4} if expected.dtype == "float32" else {"rtol": 1e-11, "atol": 1e-12}
    np.testing.assert_allclose(found, expected, equal_nan=True, **tolerance)


def agree(cupy, switches, program):
    """A program over CuPy gives what it gives over NumPy, and again without kernels of arraygrad's own."""
    expected = program(np)
    for step in (None, *reversed(switches)):
        if step is not None:
            step(False)
        for found, wanted in zip(program(cupy), expected, strict=True):
            close(found, wanted)


# What may follow softmax, log_softmax or logsumexp of z (n, m), with one-hot rows and indices. Most are whole losses.
ENDS = {
    "one-hot": lambda z, h, r, c: -ag.sum(h * ag.log_softmax(z)) / z.shape[0],
    "one-hot on the right": lambda z, h, r, c: ag.sum(ag.log_softmax(z) * h) * (-1.0 / z.shape[0]),
    "one-hot, mean": lambda z, h, r, c: -ag.mean(h * ag.log_softmax(z)),
    "number on the left": lambda z, h, r, c: -0.5 * ag.sum(h * ag.log_softmax(z, axis=1)),
    "a quotient of it": lambda z, h, r, c: 1.0 / ag.sum(h * ag.log_softmax(z, axis=1)),
    "rows": lambda z, h, r, c: -(ag.log_softmax(z)[r, c]).mean(),
    "rows, summed": lambda z, h, r, c: ag.sum(ag.log_softmax(z)[r, c]) / -7,
    "logsumexp": lambda z, h, r, c: ag.mean(ag.logsumexp(z, axis=1) - z[r, c]),
    "logsumexp, kept": lambda z, h, r, c: ag.sum(z - ag.logsumexp(z, axis=-1, keepdims=True)),
    "softmax, squares": lambda z, h, r, c: ag.mean((ag.softmax(z, axis=1) - h) ** 2),
    "entropy": lambda z, h, r, c: -ag.sum(ag.softmax(z) * ag.log_softmax(z)),
    "first axis": lambda z, h, r, c: -ag.sum(h * ag.log_softmax(z, axis=0)),
    "all axes": lambda z, h, r, c: -ag.sum(h * ag.log_softmax(z, axis=None)),
    "rows summed": lambda z, h, r, c: -(h * ag.log_softmax(z)).sum(axis=1).mean(),
    "a map between": lambda z, h, r, c: ag.sum(ag.exp(h * ag.log_softmax(z))),
}
DTYPES = ["float32", "float64"]


def data(shape, dtype, seed=0):
    """(z, one-hot rows, rows, columns)."""
    rng = np.random.default_rng(seed)
    n, m = shape
    columns = rng.integers(0, m, n)
    return (rng.normal(size=shape) * 2).astype(dtype), np.eye(m, dtype=dtype)[columns], np.arange(n), columns


def steps(end, values, bias=None, times=4):
    """A program that takes several steps: loss, gradient of z, of the bias."""
    z0, *others = values

    def program(xp):
        found = []
        b = None if bias is None else ag.asarray(xp.asarray(bias), requires_grad=True)
        h, r, c = map(xp.asarray, others)
        for k in range(times):
            z = ag.asarray(xp.asarray(z0 * z0.dtype.type(1 + k / 8)), requires_grad=True)
            loss = end(z if b is None else z + b, h, r, c)
            loss.backward()
            found += [loss.numpy(), z.grad.numpy()]
            if b is not None:
                found.append(b.grad.numpy())
                b.grad = None
        return found

    return program


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("end", ENDS)
def test_values_and_gradients_of_each_step(cupy, switches, end, bias, dtype):
    for shape in ((6, 5), (1, 4), (300, 3)) if dtype == "float32" else ((64, 10),):
        b = np.linspace(-1, 1, shape[1]).astype(dtype) if bias else None
        agree(cupy, switches, steps(ENDS[end], data(shape, dtype), b, 3))


SPECIAL = {
    "-inf among them": np.where(np.arange(24).reshape(4, 6) % 5 == 1, -np.inf, 0.5),
    "a row of -inf": np.where(np.arange(4)[:, None] == 2, -np.inf, np.linspace(-1, 1, 6)),
    "one inf": np.where(np.arange(24).reshape(4, 6) == 8, np.inf, 0.25),
    "nan": np.where(np.arange(24).reshape(4, 6) == 15, np.nan, 0.25),
}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("end", ["one-hot", "rows", "logsumexp", "softmax, squares"])
@pytest.mark.parametrize("kind", SPECIAL)
def test_special_rows(cupy, switches, kind, end, bias):
    columns = np.array([1, 2, 0, 5])
    values = SPECIAL[kind], np.eye(6)[columns], np.arange(4), columns
    agree(cupy, switches, steps(ENDS[end], values, np.linspace(-1, 1, 6) if bias else None, 3))


@pytest.mark.parametrize("dtype", ["float16", "complex128", "int64"])
def test_dtypes_without_kernels(cupy, dtype):
    z, _, r, c = data((6, 5), "float64")
    values = [xp.asarray(z).astype(dtype) for xp in (cupy, np)]
    for name in ("softmax", "log_softmax"):
        if dtype == "complex128":
            for x in values:
                with pytest.raises(TypeError, match=f"{name}: expected an array of a real dtype"):
                    getattr(ag, name)(ag.asarray(x))
        elif dtype == "float16":
            ours, numpys = (ag.mean(getattr(ag, name)(ag.asarray(x))[r, c]) for x in values)
            assert str(ours.dtype) == "float16"
            np.testing.assert_allclose(ours.numpy(), numpys.numpy(), rtol=1e-2)


# Indices of an array (6, 5), or of (2, 3, 4).
RNG = np.random.default_rng(3)
KEYS = {
    "one for each row": ((6, 5), (np.arange(6), RNG.integers(0, 5, 6))),
    "in another order": ((6, 5), (RNG.permutation(6), RNG.integers(0, 5, 6))),
    "rows more than once": ((6, 5), (np.array([0, 0, 3, 3, 3]), np.array([1, 2, 4, 4, 0]))),
    "an element more than once": ((6, 5), (np.array([2, 2, 2]), np.array([1, 1, 1]))),
    "from the end": ((6, 5), (np.array([-1, 5, 0, -6]), np.array([-5, 0, -1, 4]))),
    "int32": ((6, 5), (np.arange(6, dtype=np.int32), RNG.integers(0, 5, 6).astype(np.int32))),
    "a matrix of indices": ((6, 5), (RNG.integers(0, 6, (4, 3)), RNG.integers(0, 5, (4, 3)))),
    "three axes": ((2, 3, 4), (RNG.integers(0, 2, 9), RNG.integers(0, 3, 9), RNG.integers(0, 4, 9))),
    "many": ((6, 5), (RNG.integers(0, 6, 700), RNG.integers(0, 5, 700))),
    "more than are looked through": ((2, 3), (RNG.integers(0, 2, 3000), RNG.integers(0, 3, 3000))),
    "none": ((6, 5), (np.zeros(0, dtype=int), np.zeros(0, dtype=int))),
    "rows only": ((6, 5), (RNG.integers(0, 6, 9),)),
    "one number": ((6, 5), (np.array(2), np.array(3))),
}
OF_KEYS = {
    "taken": lambda z: z * 1.0,
    "log_softmax": ag.log_softmax,
    "softmax": lambda z: ag.softmax(z, axis=-1),
    "another axis": lambda z: ag.log_softmax(z, axis=0),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", OF_KEYS)
@pytest.mark.parametrize("kind", KEYS)
def test_elements_at_indices(cupy, switches, kind, name, weighted):
    shape, key = KEYS[kind]
    z0, weights = np.linspace(-2, 2, int(np.prod(shape))).reshape(shape), np.linspace(-1, 2, max(1, key[0].size))

    def program(xp):
        found = []
        places = tuple(map(xp.asarray, key))
        for k in range(3):
            z = ag.asarray(xp.asarray(z0 * (1 + k / 4)), requires_grad=True)
            y = OF_KEYS[name](z)[places]
            if weighted and key[0].size and y.ndim:
                y = ag.reshape(y, (key[0].size, -1)) * xp.asarray(weights[:, None])
            loss = ag.sum(y)
            loss.backward()
            found += [loss.numpy(), z.grad.numpy()]
        return found

    agree(cupy, switches, program)


def test_indices_beyond_the_end_wrap_as_cupys_do(cupy):
    z0 = cupy.asarray(np.linspace(-2, 2, 30).reshape(6, 5))
    for rows, columns in (([0, 7, -8], [1, 5, -7]), ([100], [1000])):
        found = []
        for by in (1, 0):
            z = ag.asarray(z0, requires_grad=True)
            key = [cupy.asarray(np.array(i)) for i in (rows, columns)]
            if not by:
                key = [k % n for k, n in zip(key, (6, 5), strict=True)]
            ag.sum(ag.log_softmax(z)[tuple(key)]).backward()
            found.append(z.grad.numpy())
        np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("kind", ["rows more than once", "an element more than once", "many", "a matrix of indices"])
def test_what_indices_name_more_than_once_has_the_same_bits_each_time(cupy, kind):
    shape, key = KEYS[kind]
    z0 = np.linspace(-2, 2, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    places = tuple(map(cupy.asarray, key))
    found = []
    for _ in range(5):
        z = ag.asarray(cupy.asarray(z0), requires_grad=True)
        y = ag.log_softmax(z)[places]
        ag.sum(y * y).backward()
        found.append(z.grad.numpy())
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


# What a program may do between the operations of a loss: (of the softmax, of what follows it, of its sum) -> the same.
def _written(where):
    def change(k, t, xp):
        if k == where:
            with ag.no_grad():
                t.detach()[...] = t.detach() * 0.5
        return t

    return change


def _given(where):
    def change(k, t, xp):
        if k == where:
            array = t.detach().array
            array[...] = array * 2.0
        return t

    return change


BETWEEN = {
    **{f"step {k} is written": _written(k) for k in (0, 1)},
    "step 1 is given away": _given(1),  # step 0 is saved, and CuPy's arrays do not tell of writes
    "a copy": lambda k, t, xp: t.copy(),
    "another map first": lambda k, t, xp: (ag.negative(t), t)[1],
    "another sum first": lambda k, t, xp: (ag.sum(t), t)[1],
    "a map of another array": lambda k, t, xp: (ag.negative(ag.asarray(xp.asarray([1.0, 2.0]))), t)[1],
    "a multiple": lambda k, t, xp: t * 2.0,
    "a multiple by zero": lambda k, t, xp: t + t * 0.0,
    "a stop": lambda k, t, xp: t - 0.5 * ag.stop_gradient(t),
    "a hook": lambda k, t, xp: (t.register_hook(lambda g: g * 2.0), t)[1],
    "a kept gradient": lambda k, t, xp: (t.retain_grad(), t)[1],
    "a second reader": lambda k, t, xp: t + 0.25 * t,
    "a checkpoint": lambda k, t, xp: ag.checkpoint(lambda x: x * 1.0)(t),
}


@pytest.mark.parametrize("end", ["one-hot", "rows", "logsumexp"])
@pytest.mark.parametrize("kind", BETWEEN)
def test_whatever_is_done_between_the_operations_of_a_loss(cupy, switches, kind, end):
    change = BETWEEN[kind]
    z0, one_hot, rows, columns = data((6, 5), "float64")

    def program(xp):
        found = []
        h, r, c = map(xp.asarray, (one_hot, rows, columns))
        b = ag.asarray(xp.asarray(np.linspace(-1, 1, 5)), requires_grad=True)
        for k in range(5):
            act = change if k > 1 else lambda k, t, xp: t
            z = ag.asarray(xp.asarray(z0 + k / 8), requires_grad=True)
            s = z + b
            if end == "logsumexp":
                y = act(0, ag.logsumexp(s, axis=1), xp)
                y = act(1, y - s[r, c], xp)
            else:
                y = act(0, ag.log_softmax(s), xp)
                y = act(1, h * y if end == "one-hot" else y[r, c], xp)
            loss = -act(2, ag.sum(y), xp) / 6
            try:
                loss.backward()
            except RuntimeError as error:  # what a rule saved was written
                found.append(np.asarray("modified" in str(error) or "written" in str(error)))
            else:
                found += [z.grad.numpy(), b.grad.numpy()]
                b.grad = None
            found.append(loss.numpy())
        return found

    expected = program(np)
    for step in (None, *reversed(switches)):
        if step is not None:
            step(False)
        for found, wanted in zip(program(cupy), expected, strict=True):
            if wanted.dtype == bool:
                assert bool(found) == bool(wanted)
            else:
                close(found, wanted)


def test_labels_that_are_written_after_the_softmax(cupy):
    z0, one_hot, rows, columns = data((6, 5), "float64")

    def program(xp):
        found = []
        h, r, c = xp.asarray(np.zeros_like(one_hot)), xp.asarray(rows), xp.asarray(columns.copy())
        for k in range(5):
            z = ag.asarray(xp.asarray(z0), requires_grad=True)
            y = ag.log_softmax(z + ag.asarray(xp.asarray(np.linspace(-1, 1, 5))))
            h[...] = xp.asarray(np.roll(one_hot, k, axis=1))
            c[...] = xp.asarray((columns + k) % 5)
            loss = -ag.sum(h * y) / 6 - y[r, c].mean()
            h[...] = 0.0
            found.append(loss.numpy())
        return found

    for ours, numpys in zip(program(cupy), program(np), strict=True):
        close(ours, numpys)


def test_numbers_that_change_from_step_to_step(cupy):
    z0, one_hot, _, _ = data((6, 5), "float64")
    numbers = [2.0, 2, 2.5, 0.0, -0.0, 3, 3, np.float64(3), np.inf, 10**30, 1, True, 7.0, 7.0]

    def program(xp):
        found = []
        h = xp.asarray(one_hot)
        for number in numbers:
            z = ag.asarray(xp.asarray(z0), requires_grad=True)
            loss = -ag.sum(h * ag.log_softmax(z)) / number
            loss.backward()
            found += [loss.numpy(), z.grad.numpy()]
        return found

    for ours, numpys in zip(program(cupy), program(np), strict=True):
        close(ours, numpys)


@pytest.mark.parametrize("end", ["one-hot", "rows", "logsumexp", "entropy"])
def test_gradients_of_what_lies_between_and_second_derivatives(cupy, switches, end):
    z0, *others = data((4, 3), "float64")

    def program(xp):
        h, r, c = map(xp.asarray, others)
        found = []
        for _ in range(3):
            z = ag.asarray(xp.asarray(z0), requires_grad=True)
            y = ag.log_softmax(z)
            w = h * y if end == "one-hot" else y[r, c] if end == "rows" else ag.exp(y)
            loss = -ag.sum(w)
            found += [g.numpy() for g in ag.autograd.grad(loss, [y, w, z])]
            g = ag.grad(lambda z: ENDS[end](z, h, r, c))
            found.append(np.asarray(ag.to_backend(ag.asarray(g(z.detach().array.copy())), "numpy")))
            twice = ag.grad(lambda z, g=g: ag.sum(g(z) ** 2))(xp.asarray(z0))
            found.append(np.asarray(twice.get() if hasattr(twice, "get") else twice))
        return found

    agree(cupy, switches, program)


def test_saved_values_that_hooks_hold(cupy):
    z0, *others = data((6, 5), "float64")

    def program(xp):
        h, r, c = map(xp.asarray, others)
        found = []
        for end in ("one-hot", "rows"):
            for _ in range(3):
                z = ag.asarray(xp.asarray(z0), requires_grad=True)
                with ag.autograd.graph.saved_tensors_hooks(lambda t: t * 2.0, lambda t: t * 0.5):
                    loss = ENDS[end](z, h, r, c)
                loss.backward()
                found.append(z.grad.numpy())
        return found

    for ours, numpys in zip(program(cupy), program(np), strict=True):
        close(ours, numpys)


def test_losses_on_two_streams(cupy):
    z0, *others = data((512, 8), "float64")
    h, r, c = map(cupy.asarray, others)
    expected = {end: ag.value_and_grad(lambda z, end=end: ENDS[end](z, *others))(z0) for end in ENDS}
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    cupy.cuda.Device().synchronize()
    for k, end in enumerate(("one-hot", "rows", "logsumexp") * 3):
        first, second = streams if k % 2 else streams[::-1]
        with first:
            z = ag.asarray(cupy.asarray(z0), requires_grad=True)
            y = ag.log_softmax(z) if end != "logsumexp" else ag.logsumexp(z, axis=1)
        second.wait_event(first.record())
        with second:
            if end == "logsumexp":
                loss = ag.mean(y - z[r, c])
            else:
                loss = -ag.sum(h * y) / 512 if end == "one-hot" else -y[r, c].mean()
        cupy.cuda.get_current_stream().wait_event(second.record())
        loss.backward()
        with first:
            junk = [cupy.full(z0.shape, np.nan) for _ in range(4)]
        cupy.cuda.Device().synchronize()
        close(loss.numpy(), np.asarray(expected[end][0]))
        close(z.grad.numpy(), np.asarray(expected[end][1]))
        del junk


def test_threads_have_each_their_own_losses(cupy):
    wrong = []

    def work(k):
        z0, *others = data((6 + k, 5), "float64", k)
        h, r, c = map(cupy.asarray, others)
        for j in range(30):
            end = ("one-hot", "rows", "logsumexp")[j % 3]
            loss, g = ag.value_and_grad(lambda z, end=end: ENDS[end](z, h, r, c))(cupy.asarray(z0))
            value, expected = ag.value_and_grad(lambda z, end=end: ENDS[end](z, *others))(z0)
            if not (np.allclose(loss.get(), value) and np.allclose(g.get(), expected)):
                wrong.append((k, end))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("seed", range(12))
def test_programs_of_many_losses(cupy, seed):
    """Losses of one shape in random order, some with something in between: what is expected often does not come."""
    z0, *others = data((4, 3), "float64", seed)

    def program(xp):
        rng = np.random.default_rng(seed)
        h, r, c = map(xp.asarray, others)
        b = ag.asarray(xp.asarray(np.linspace(-1, 1, 3)), requires_grad=True)
        found, changes = [], [BETWEEN[k] for k in ("a copy", "another map first", "a multiple", "a second reader")]
        for _ in range(25):
            z = ag.asarray(xp.asarray(z0 * rng.uniform(0.5, 2)), requires_grad=True)
            s = z + b if rng.uniform() < 0.6 else z * 1.0
            end = ENDS[list(ENDS)[rng.integers(len(ENDS))]]
            if rng.uniform() < 0.3:
                y = changes[rng.integers(len(changes))](0, ag.log_softmax(s), xp)
                loss = -ag.sum(h * y) / 4 if rng.uniform() < 0.5 else y[r, c].mean()
            else:
                loss = end(s, h, r, c)
            loss.backward()
            found += [loss.numpy(), z.grad.numpy()]
        return [*found, b.grad.numpy()]

    for ours, numpys in zip(program(cupy), program(np), strict=True):
        close(ours, numpys)
