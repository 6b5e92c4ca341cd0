"""Maps of a sum with a repeated operand, computed with the sum, and their gradients with the operand's sum.

Whatever happens between the sum and the map, values and gradients are those of the same program over NumPy. Runs on a
device, and on the stand-in by test_device_tests.py. Imports the public names of arraygrad.
"""

import threading

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng(6)
MAPS = ["relu", "tanh", "sigmoid", "exp", "sin", "square", "abs", "negative", "log1p", "sign"]
SHAPES = {
    "rows": ((6, 4), (4,)), "one row": ((1, 4), (4,)), "one column": ((6, 1), (1,)), "stacks": ((3, 5, 4), (4,)),
    "matrices": ((3, 5, 4), (5, 4)), "a number": ((6, 4), ()), "many rows": ((700, 3), (3,)),
    "long": ((2, 3000), (3000,)), "nothing": ((0, 4), (4,)), "on the left": ((4,), (6, 4)),
    "a column": ((6, 4), (6, 1)), "large": ((1100, 300), (300,)),
}  # fmt: skip


def close(found, expected, dtype="float64"):
    """Equal but for rounding."""
    found = np.asarray(found.get() if hasattr(found, "get") else found)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = {"rtol": 3e-5, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-11}
    np.testing.assert_allclose(found, expected, **tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("name", MAPS)
def test_values_and_gradients_of_each_step(cupy, name, shapes, dtype):
    x, b = (np.abs(RNG.normal(size=shape)).astype(dtype) for shape in SHAPES[shapes])
    signs = np.where(RNG.uniform(size=np.broadcast_shapes(x.shape, b.shape)) < 0.7, 1.0, -0.25).astype(dtype)
    f = getattr(ag, name)

    def steps(xp):
        found = []
        bias = ag.asarray(xp.asarray(b), requires_grad=True)
        for k in range(4):
            t = ag.asarray(xp.asarray(x + x.dtype.type(k) / 8), requires_grad=True)
            h = t + bias
            y = f(h)
            ag.sum(y * xp.asarray(signs)).backward()
            found += [h.numpy(), y.numpy(), t.grad.numpy(), bias.grad.numpy()]
            bias.grad = None
        return found

    for ours, numpys in zip(steps(cupy), steps(np), strict=True):
        close(ours, numpys, dtype)


def trained(xp, act, between=lambda xp, h: h):
    """What steps of a layer give, with something between the sum and the map."""
    w = ag.asarray(xp.asarray(np.linspace(-1, 1, 12).reshape(4, 3)), requires_grad=True)
    b = ag.asarray(xp.asarray([0.5, -0.5, 0.0]), requires_grad=True)
    found = []
    for k in range(5):
        x = xp.asarray(np.linspace(-1, 1, 24).reshape(6, 4) + k / 7)
        h = x @ w + b
        h = between(xp, h)
        y = act(h)
        ag.sum(y * y).backward()
        found += [y.numpy(), w.grad.numpy(), b.grad.numpy()]
        with ag.no_grad():
            for p in (w, b):
                p -= 0.1 * p.grad
                p.grad = None
    return found


def through(change):
    """Between the sum and the map: something is done to the sum."""

    def between(xp, h):
        change(xp, h)
        return h

    return between


def _subtract(xp, h):
    h -= 0.25


def _item(xp, h):
    h[0] = 2.0


def _through_a_view(xp, h):
    h[1:][...] = h[1:] * 0.5


def _unrecorded(xp, h):
    with ag.no_grad():
        h *= 2.0


def _by_its_array(xp, h):
    h.detach().array[...] = 0.25


def _by_an_array_of_a_view(xp, h):
    h.detach()[1:].array[...] = -0.25


def _by_the_interface(xp, h):
    xp.asarray(h.detach())[...] = 0.75


def _added(xp, h):
    ag.autograd.add_scaled([h.detach()], [ag.ones_like(h.detach())], 0.5)


def _dirty(xp, h):
    class Tripled(ag.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            t.array[...] = t.array * 3.0
            ctx.mark_dirty(t)
            return t

        @staticmethod
        def backward(ctx, g):
            return g * 3.0

    Tripled.apply(h)


METHODS = {
    "sort": lambda xp, h: h.sort(axis=0),
    "fill": lambda xp, h: h.fill(0.25),
    "copyto": lambda xp, h: np.copyto(h, xp.asarray(np.full(h.shape, 0.75))),
    "put": lambda xp, h: np.put(h, [0, 1], [5.0, 6.0]),
    "flat": lambda xp, h: h.flat.__setitem__(0, 9.0),
    "a mask": lambda xp, h: h.__setitem__(h > 0, 0.25),
    "out=": lambda xp, h: np.multiply(h, 2.0, out=h),
    "add.at": lambda xp, h: np.add.at(h, xp.asarray([0, 0]), 1.0),
    "a transpose": lambda xp, h: h.T.__iadd__(1.0),
    "a reshape": lambda xp, h: h.reshape(-1).__setitem__(slice(None), 0.5),
    "rows": lambda xp, h: [row.__setitem__(0, 2.0) for row in h],
    "its array and back": lambda xp, h: setattr(h, "array", h.array.__imul__(2.0)),
}
WRITES = [
    _subtract,
    _item,
    _through_a_view,
    _unrecorded,
    _by_its_array,
    _by_an_array_of_a_view,
    _by_the_interface,
    _added,
]


CHANGES = {change.__name__[1:]: change for change in (*WRITES, _dirty)} | METHODS


@pytest.mark.parametrize("name", CHANGES)
def test_a_sum_that_is_written_before_its_map(cupy, name):
    if name in ("by_the_interface", "flat", "add.at") and "stand-in" in cupy.__version__:
        pytest.skip("the stand-in has not what this asks of CuPy")
    change = CHANGES[name]
    found, expected = [], []
    for xp, told in ((cupy, found), (np, expected)):
        x = xp.asarray(np.linspace(-1, 1, 12).reshape(4, 3))
        b = ag.asarray(xp.asarray([0.5, -0.5, 0.0]))
        for k in range(4):
            t = ag.asarray(x + k / 9)
            h = t + b
            if k > 1:
                change(xp, h)
            told.append(ag.relu(h).numpy())
    for ours, numpys in zip(found, expected, strict=True):
        close(ours, numpys)


@pytest.mark.parametrize("change", [_subtract, _item, _through_a_view])
def test_recorded_writes_before_the_map(cupy, change):
    for ours, numpys in zip(
        trained(cupy, ag.relu, through(change)), trained(np, ag.relu, through(change)), strict=True
    ):
        close(ours, numpys)


OTHERS = {
    "a copy": lambda xp, h: h.copy(),
    "another sum": lambda xp, h: h + ag.asarray(xp.asarray([1.0, -1.0, 0.0])),
    "a map of another array first": lambda xp, h: (ag.relu(h * 2.0), h)[1],
    "another map first": lambda xp, h: (ag.tanh(h), h)[1],
    "the map twice": lambda xp, h: (ag.relu(h), h)[1],
    "a reduction": lambda xp, h: h - ag.mean(h, axis=0),
    "a checkpoint": lambda xp, h: ag.checkpoint(lambda h: h * 1.0)(h),
    "a transpose": lambda xp, h: h.T,
    "rows": lambda xp, h: h[::2],
}


@pytest.mark.parametrize("between", OTHERS)
@pytest.mark.parametrize("act", [ag.relu, ag.tanh], ids=["relu", "tanh"])
def test_other_operations_between(cupy, between, act):
    results = [trained(xp, act, OTHERS[between]) for xp in (cupy, np)]
    for ours, numpys in zip(*results, strict=True):
        close(ours, numpys)


def test_maps_that_take_turns(cupy):
    def program(xp):
        turns, found = [ag.relu, ag.tanh, ag.relu, ag.exp, ag.relu], []
        b = ag.asarray(xp.asarray([0.5, -0.5, 0.0]), requires_grad=True)
        for k in range(20):
            t = ag.asarray(xp.asarray(np.linspace(-1, 1, 12).reshape(4, 3) * (k + 1) / 9), requires_grad=True)
            y = turns[k % 5](t + b) if k % 7 else t + b
            ag.sum(y).backward()
            found += [y.numpy(), t.grad.numpy()]
        return [*found, b.grad.numpy()]

    for ours, numpys in zip(program(cupy), program(np), strict=True):
        close(ours, numpys)


def test_two_layers_at_once(cupy):
    def program(xp):
        b, c = (ag.asarray(xp.asarray(v), requires_grad=True) for v in ([0.5, -0.5, 0.0], [0.1, 0.2, -0.3]))
        found = []
        for k in range(5):
            t = ag.asarray(xp.asarray(np.linspace(-1, 1, 12).reshape(4, 3) + k / 9))
            first, second = t + b, t * 2.0 + c
            y, z = ag.relu(first), ag.relu(second)
            ag.sum(y * z).backward()
            found += [y.numpy(), z.numpy(), b.grad.numpy().copy(), c.grad.numpy().copy()]
        return found

    for ours, numpys in zip(program(cupy), program(np), strict=True):
        close(ours, numpys)


def test_a_map_on_another_stream(cupy):
    b = ag.asarray(cupy.asarray([0.5, -0.5, 0.0]))
    x = np.linspace(-1, 1, 3 * 4096).reshape(4096, 3)
    t = ag.asarray(cupy.asarray(x))
    first, second = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    cupy.cuda.Device().synchronize()
    for _ in range(4):
        with first:
            h = t + b
        second.wait_event(first.record())
        with second:
            y = ag.relu(h)
        with first:
            junk = [cupy.full(x.shape, np.nan) for _ in range(4)]
        cupy.cuda.Device().synchronize()
        close(y.numpy(), np.maximum(x + np.array([0.5, -0.5, 0.0]), 0.0))
        del junk


def test_threads_have_each_their_own_values(cupy):
    b = ag.asarray(cupy.asarray([0.5, -0.5, 0.0]), requires_grad=True)
    wrong = []

    def work(k):
        x = np.linspace(-1, 1, 12).reshape(4, 3) * k
        t = ag.asarray(cupy.asarray(x))
        for _ in range(50):
            if not np.allclose(ag.relu(t + b).numpy(), np.maximum(x + np.array([0.5, -0.5, 0.0]), 0.0)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("second", [False, True])
def test_second_derivatives(cupy, second):
    def f(xp):
        x = xp.asarray(np.linspace(-1, 1, 12).reshape(4, 3))

        def loss(b):
            return ag.sum(ag.tanh(x + b) ** 2)

        b = xp.asarray([0.5, -0.5, 0.1])
        found = [ag.grad(loss)(b) for _ in range(3)]
        found.append(ag.grad(lambda b: ag.sum(ag.grad(loss)(b) ** 2))(b))
        return found

    for ours, numpys in zip(f(cupy), f(np), strict=True):
        close(ours, numpys)


def test_gradients_of_one_operand_only(cupy):
    for wanted in ((True, False), (False, True)):

        def f(xp, wanted=wanted):
            found = []
            for _ in range(3):
                t = ag.asarray(xp.asarray(np.linspace(-1, 1, 12).reshape(4, 3)), requires_grad=wanted[0])
                b = ag.asarray(xp.asarray([0.5, -0.5, 0.1]), requires_grad=wanted[1])
                ag.sum(ag.tanh(t + b)).backward()
                found.append((t if wanted[0] else b).grad.numpy())
            return found

        for ours, numpys in zip(f(cupy), f(np), strict=True):
            close(ours, numpys)


def test_a_gradient_that_hooks_see_or_change(cupy):
    def f(xp):
        found = []
        for place in range(3):
            t = ag.asarray(xp.asarray(np.linspace(-1, 1, 12).reshape(4, 3)), requires_grad=True)
            b = ag.asarray(xp.asarray([0.5, -0.5, 0.1]), requires_grad=True)
            h = t + b
            y = ag.tanh(h)
            seen = (h, y, b)[place]
            seen.register_hook(lambda g: g * 2.0)
            h.retain_grad()
            ag.sum(y).backward()
            found += [t.grad.numpy(), b.grad.numpy(), h.grad.numpy()]
        return found

    for ours, numpys in zip(f(cupy), f(np), strict=True):
        close(ours, numpys)
