"""Arrays that were made before an adopted call: transforms, what is refused and stays, and whole programs.

Each is compared with differences of the plain program, and with what it leaves. Imports the public names of arraygrad.
"""

from __future__ import annotations

import collections
import concurrent.futures
import itertools
import threading
import types

import numpy as np
import pytest
from lent_arrays import X, check, difference, forget, program, write_and_sum

import arraygrad as ag


@pytest.fixture(autouse=True, scope="module")
def no_programs():
    """Take out the modules of the tests' programs."""
    yield
    forget()


# Transforms


def cubes(o, x):
    o.u[:] = x
    for k in range(1, 3):
        o.u[k] = o.u[k - 1] * x
    return o.u.sum()


def test_derivatives_of_every_transform():
    o = types.SimpleNamespace(u=np.zeros(3))

    def f(x):
        return cubes(o, x)

    first, second = 1 + 2 * X + 3 * X**2, 2 + 6 * X
    assert ag.jvp(f, (X,), (2.0,), adopt=True)[1] == pytest.approx(2 * first)
    assert ag.jacobian(f, adopt=True)(X) == pytest.approx(first)
    assert ag.jacfwd(f, adopt=True)(X) == pytest.approx(first)
    assert ag.elementwise_grad(f, adopt=True)(X) == pytest.approx(first)
    assert ag.hessian(f, adopt=True)(X) == pytest.approx(second)
    assert ag.hvp(f, adopt=True)(X, 1.0) == pytest.approx(second)
    assert ag.grad(ag.grad(f, adopt=True), adopt=True)(X) == pytest.approx(second)
    assert ag.grad(ag.grad(ag.grad(f)), adopt=True)(X) == pytest.approx(6.0)
    assert ag.grad(lambda a, x: f(x) * a, argnames="x", adopt=True)(2.0, X) == pytest.approx(2 * first)
    assert type(o.u) is np.ndarray


def test_an_array_that_an_inner_call_writes_is_recorded_in_the_outer_one_too():
    o = types.SimpleNamespace(u=np.zeros(2))

    def f(x):
        def g(z):
            o.u[:] = 0.0
            o.u[0] = z * x
            return o.u.sum() * z

        return ag.grad(g, adopt=True)(x) + o.u.sum()

    assert ag.grad(f, adopt=True)(X) == pytest.approx(4 * X + 2 * X)
    assert type(o.u) is np.ndarray
    assert o.u[0] == X * X


def test_a_checkpoint_that_reads_the_array_is_right_or_refused():
    o = types.SimpleNamespace(u=np.zeros(2))

    def f(x):
        o.u[:] = x
        return ag.checkpoint(lambda z: z * o.u.sum())(x)

    with pytest.raises(RuntimeError):
        ag.grad(f, adopt=True)(X)
    assert type(o.u) is np.ndarray


def test_writes_that_are_not_recorded_change_the_values():
    o = types.SimpleNamespace(u=np.zeros(2))

    def f(x):
        o.u[:] = x
        with ag.no_grad():
            o.u[0] = 5.0 * x
        o.u[1] *= ag.stop_gradient(x)
        return o.u.sum()

    def made_inside(x):
        o.u = np.zeros(2)
        return f(x)

    assert ag.grad(f, adopt=True)(X) == pytest.approx(1 + X)  # as in PyTorch: the history is that of `o.u[:] = x`
    np.testing.assert_allclose(o.u, [5.0 * X, X * X])
    assert ag.grad(made_inside, adopt=True)(X) == pytest.approx(1 + X)
    np.testing.assert_allclose(o.u, [5.0 * X, X * X])


# What is refused, and what stays as it is


@pytest.mark.parametrize(
    "array",
    [np.zeros(3, dtype=int), np.zeros(3, dtype=object), np.zeros(3, dtype=">f8"), np.zeros(3, dtype="f2")],
    ids=["int", "object", "byte order", "float16"],
)
def test_arrays_without_derivatives_are_refused(array):
    array = array.copy()  # one of objects holds what was written
    o = types.SimpleNamespace(u=array)

    def f(x):
        o.u[0] = x * 2.0
        return o.u[0] * x

    if array.dtype == object:  # holds Tensors
        assert ag.grad(f, adopt=True)(X) == pytest.approx(4 * X)
        return
    if array.dtype == int:  # cuts off, and says so
        with pytest.warns(UserWarning, match="cuts off its fraction"):
            assert ag.grad(f, adopt=True)(X) == int(2 * X)
        assert o.u is array
        return
    with pytest.raises(TypeError, match="plain array"):
        ag.grad(f, adopt=True)(X)
    assert o.u is array


def test_a_read_only_array_raises_what_numpy_raises():
    o = types.SimpleNamespace(u=np.zeros(3))
    o.u.flags.writeable = False

    def f(x):
        o.u[0] = x
        return o.u.sum()

    with pytest.raises(ValueError, match="read-only"):
        ag.grad(f, adopt=True)(X)


def test_a_view_of_another_dtype_has_the_write_refused():
    o = types.SimpleNamespace(u=np.zeros(3, dtype=complex))
    o.v = o.u.imag

    def f(x):
        o.u[0] = x * 1j
        return o.v.sum()

    with pytest.raises(TypeError, match="its dtype, or that of a view"):
        ag.grad(f, adopt=True)(X)
    del o.v
    assert ag.grad(lambda x: f_of_complex(o, x), adopt=True)(X) == pytest.approx(2 * X)


def f_of_complex(o, x):
    o.u[0] = x * 1j
    return (o.u * o.u.conj()).real.sum()


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_single_precision_stays(dtype):
    o = types.SimpleNamespace(u=np.zeros(3, dtype=dtype))
    seen = []

    def f(x):
        o.u[:] = 0
        o.u[1] = x * x
        seen.append(o.u.dtype)
        return abs(o.u).sum()

    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    assert (value, type(value)) == (f(X), type(f(X)))
    assert gradient == pytest.approx(2 * X)
    assert set(seen) == {np.dtype(dtype)}


def test_an_array_that_is_an_argument_too_has_the_write_refused():
    o = types.SimpleNamespace(u=np.ones(2))

    def f(x):
        o.u[0] = x[0] * 2.0
        return (o.u * x).sum()

    with pytest.raises(TypeError, match="an argument of the call"):
        ag.grad(f, adopt=True)(o.u)

    def g(x, u):
        u[0] = x
        return u.sum()

    with pytest.raises(TypeError, match="plain array"):
        ag.grad(g, adopt=True)(X, np.zeros(2))


def test_an_object_among_the_arguments_lends_its_arrays():
    o = types.SimpleNamespace(u=np.zeros(3))
    array = o.u
    for _ in range(2):
        assert ag.grad(lambda x, box: write_and_sum(box, x), adopt=True)(X, o) == pytest.approx(4 * X + 4 * X**3)
        assert ag.grad(write_and_sum, argnums=1, adopt=True)(o, X) == pytest.approx(4 * X + 4 * X**3)
    assert o.u is array


def test_no_array_is_lent_to_code_whose_surroundings_are_recorded():
    o = types.SimpleNamespace(u=np.zeros(3))
    t = ag.tensor(X, requires_grad=True)

    def f(x):
        return write_and_sum(o, x)

    for call in (
        lambda: ag.adopt(f)(t),
        lambda: ag.grad(f, adopt=True)(t),
        lambda: ag.grad(lambda x: ag.adopt(f)(x) + o.u.sum(), adopt=False)(X),
        lambda: ag.grad(lambda x: ag.grad(f, adopt=True)(x) + o.u.sum(), adopt=False)(X),
    ):
        with pytest.raises((TypeError, ValueError), match=r"plain array|setting an array element"):
            call()
        assert type(o.u) is np.ndarray


def test_no_array_is_lent_while_another_thread_runs():
    o = types.SimpleNamespace(u=np.zeros(3))
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        with pytest.raises(TypeError, match="another thread may run"):
            ag.grad(lambda x: write_and_sum(o, x), adopt=True)(X)
    finally:
        end.set()
        thread.join()
    check(lambda x: write_and_sum(o, x), lambda: o.u)


def test_a_thread_that_the_call_starts_finds_the_recorded_array():
    o = types.SimpleNamespace(u=np.zeros(3))

    def f(x):
        o.u[:] = 0.0
        thread = threading.Thread(target=write_and_sum, args=(o, x))
        thread.start()
        thread.join()
        return o.u.sum()

    assert ag.grad(f, adopt=True)(X) == pytest.approx(2 * X + 2)


def test_a_pool_that_waits_for_work_keeps_no_array_from_being_lent():
    o = types.SimpleNamespace(u=np.zeros(3))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(abs, range(4)))
        check(lambda x: write_and_sum(o, x), lambda: o.u)

        def f(x):
            o.u[:] = 0.0
            pool.submit(write_and_sum, o, x).result()
            return o.u.sum()

        assert ag.grad(f, adopt=True)(X) == pytest.approx(2 * X + 2)
        end = threading.Event()
        works = pool.submit(end.wait)
        try:
            with pytest.raises(TypeError, match="another thread may run"):
                ag.grad(lambda x: write_and_sum(o, x), adopt=True)(X)
        finally:
            end.set()
        works.result()


def test_the_way_out_that_the_error_names_works():
    o = types.SimpleNamespace(u=np.zeros(3))
    held = (o.u,)
    with pytest.raises(TypeError, match=r"x = numpy\.array\(x\)"):
        ag.grad(lambda x: write_and_sum(o, x), adopt=True)(X)

    def f(x):
        o.u = np.array(o.u)
        return write_and_sum(o, x)

    assert ag.grad(f, adopt=True)(X) == pytest.approx(4 * X + 4 * X**3)
    assert held[0] is not o.u


def test_data_that_is_only_read_stays_plain():
    f = program(
        """
        DATA = np.ones((4, 3))
        o = make(X=np.ones((4, 3)), u=np.zeros(3), seen=[])
        class Model:
            def __init__(self):
                self.y = np.ones(4)
                self.u = np.zeros(4)
            def reset(self):
                self.y[:] = 0.0
            def loss(self, x):
                out = np.zeros(4)
                out[:] = DATA @ (x * W) + o.X.sum(axis=1) - self.y
                o.seen.append([type(DATA).__name__, type(o.X).__name__, type(self.y).__name__, type(self.u).__name__])
                return (out ** 2).sum()
        model = Model()
        def f(x):
            return model.loss(x)
        """
    )
    assert ag.grad(f, adopt=True)(X) == pytest.approx(difference(f))
    import arraygrad.adoption.exchange as exchange

    kinds = []
    space = f.__globals__
    space["o"].seen = types.SimpleNamespace(
        append=lambda _: kinds.extend(type(a) for a in (space["DATA"], space["o"].X, space["model"].y))
    )
    ag.grad(f, adopt=True)(X)
    assert kinds == [np.ndarray] * 3
    assert not exchange.LOANS


# Programs


PROGRAMS = {
    "leapfrog": """
        class Bodies:
            def __init__(self, n=3):
                self.state = np.zeros((2, n, 2))
                self.pos, self.vel = self.state
                self.acc = np.empty((n, 2))
            def reset(self):
                self.pos[:] = [[0.0, 0.0], [1.0, 0.2], [-0.4, 1.1]]
                self.vel[...] = 0.0
            def forces(self, g):
                self.acc.fill(0.0)
                for i in range(len(self.pos)):
                    for j in range(len(self.pos)):
                        if i != j:
                            d = self.pos[j] - self.pos[i]
                            self.acc[i] += g * d / (d @ d + 0.1) ** 1.5
            def step(self, g, dt):
                self.forces(g)
                self.vel += 0.5 * dt * self.acc
                self.pos += dt * self.vel
                self.forces(g)
                self.vel += 0.5 * dt * self.acc
        bodies = Bodies()
        def f(x):
            bodies.reset()
            for _ in range(4):
                bodies.step(x, 0.1)
            return (bodies.state ** 2).sum()
        def state():
            return bodies.state
    """,
    "heat": """
        class Heat:
            def __init__(self, n=9):
                self.u, self.old = np.zeros(n), np.zeros(n)
                self.inner = slice(1, -1)
            def run(self, k, steps=5):
                self.u[:] = 0.0
                self.u[4] = 1.0
                for _ in range(steps):
                    np.copyto(self.old, self.u)
                    self.u[self.inner] += k * (self.old[2:] - 2.0 * self.old[1:-1] + self.old[:-2])
                    self.u[0] = self.u[1]
                    self.u[-1] = self.u[-2]
                return (self.u ** 2).sum()
        heat = Heat()
        def f(x):
            return heat.run(0.1 * x)
        def state():
            return heat.u
    """,
    "game": """
        class Ball:
            def __init__(self, x):
                self.start = np.array([x, 1.0])
                self.pos = self.start.copy()
                self.vel = np.array([1.0, 2.0])
            def update(self, g, dt):
                self.vel[1] -= g * dt
                self.pos += self.vel * dt
                if self.pos[1] < 0:
                    self.pos[1] *= -1
                    self.vel[1] *= -0.9
        class World:
            def __init__(self):
                self.balls = [Ball(float(i)) for i in range(4)]
            def tick(self, g):
                for ball in self.balls:
                    ball.update(g, 0.05)
        world = World()
        def f(x):
            for ball in world.balls:
                ball.pos[:] = ball.start
                ball.vel[:] = 1.0, 2.0
            for _ in range(12):
                world.tick(x)
            return sum(ball.pos @ ball.vel for ball in world.balls)
        def state():
            return world.balls[2].pos
    """,
    "atoms": """
        class Atoms:
            def __init__(self):
                self.arrays = {"positions": np.arange(9.0).reshape(3, 3) * 0.9, "momenta": np.zeros((3, 3))}
            def set_array(self, name, value):
                array = self.arrays[name]
                array[:] = value
            def get(self, name):
                return self.arrays[name].copy()
            @property
            def positions(self):
                return self.arrays["positions"]
            @positions.setter
            def positions(self, value):
                self.arrays["positions"][:] = value
        atoms = Atoms()
        start = atoms.get("positions")
        def f(x):
            atoms.positions = start
            atoms.set_array("momenta", 0.0)
            for _ in range(3):
                p = atoms.get("momenta") - 0.1 * x * atoms.positions
                atoms.positions = atoms.positions + 0.1 * p
                atoms.set_array("momenta", p)
            d = atoms.positions[:, None] - atoms.positions[None]
            return 1.0 / ((d ** 2).sum(axis=-1) + np.eye(3)).sum()
        def state():
            return atoms.positions
    """,
    "table": """
        TABLE = np.zeros(6)
        COUNTS = [np.zeros(2), np.zeros(2)]
        def fill(x):
            TABLE[0] = x
            for n in range(1, 6):
                TABLE[n] = TABLE[n - 1] * x / n
            for k, row in enumerate(COUNTS):
                row[:] = k * x
        def f(x):
            fill(x)
            return TABLE.sum() * COUNTS[1].sum()
        def state():
            return TABLE
    """,
    "filter": """
        class Kalman:
            def __init__(self):
                self.x = np.zeros((2, 1))
                self.P = np.eye(2)
                self.F = np.array([[1.0, 0.1], [0.0, 1.0]])
                self.H = np.array([[1.0, 0.0]])
                self.Q = np.eye(2)
            def reset(self, q):
                self.x[:] = 0.0
                self.P[:] = np.eye(2)
                self.Q[0, 0] = self.Q[1, 1] = q
            def step(self, z):
                self.x[:] = self.F @ self.x
                np.matmul(self.F @ self.P, self.F.T, out=self.P)
                self.P += self.Q
                s = self.H @ self.P @ self.H.T + 0.5
                k = self.P @ self.H.T / s
                self.x += k * (z - self.H @ self.x)
                self.P -= k @ self.H @ self.P
        kalman = Kalman()
        def f(x):
            kalman.reset(x)
            for z in (1.0, 1.4, 1.9):
                kalman.step(z)
            return kalman.x.sum() + kalman.P.sum()
        def state():
            return kalman.P
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_whole_programs_are_right_and_left_as_by_the_plain_run(name):
    check(program(PROGRAMS[name]))


def test_pairs_of_programs_that_share_an_array_are_right():
    source = """
        u = np.zeros(3)
        a, b = make(u=u), make(u=u[::-1])
        def f(x):
            a.u[:] = x
            b.u[0] = x * x
            return a.u[2] * b.u[1] + u[0]
        def g(x):
            b.u[:] = 1.0
            return (a.u * x).sum()
        def state():
            return u
        """
    f, g = program(source), program(source, "g")
    check(f)
    check(g)


def test_objects_made_between_calls_are_found():
    o = types.SimpleNamespace(box=None)

    def f(x):
        return write_and_sum(o.box, x)

    for n, kind in itertools.product((2, 3), (types.SimpleNamespace, lambda u: collections.ChainMap({"u": u}))):
        o.box = types.SimpleNamespace(u=np.zeros(n)) if kind is types.SimpleNamespace else Wrapped(np.zeros(n))
        array = o.box.u
        assert ag.grad(f, adopt=True)(X) == pytest.approx(4 * X**3 + 2 * X * (n - 1))
        assert o.box.u is array


class Wrapped:
    def __init__(self, u):
        self.u = u


@pytest.mark.parametrize("write", ["TABLE['row'][1] = x", "np.add.at(TABLE['row'], [1], x)", "fill(TABLE['row'], x)"])
def test_what_a_dict_is_given_from_a_list_is_written_through_the_dict(write):
    names = {"np": np, "TABLE": {"row": np.zeros(3)}, "ROWS": [np.arange(3.0), np.arange(3.0, 6.0)], "__name__": "rows"}
    source = f"""
def fill(a, x):
    a[1] = x

def f(x):
    TABLE["row"] = ROWS[1]
    {write}
    return (ROWS[1] ** 2).sum() + TABLE["row"][1]
"""
    exec(source, names)
    start = 4.0 if "add" in write else 0.0
    assert ag.grad(names["f"])(3.0) == pytest.approx(2.0 * (3.0 + start) + 1.0)
    assert names["TABLE"]["row"] is names["ROWS"][1]
    assert type(names["ROWS"][1]) is np.ndarray
