"""Right sides that are kept as programs: what they read may change, jumps are found, and the look for them is left out.

See Note [Kept programs].
"""

import functools
import threading
import types
import warnings

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.implicit import kept_programs, many_steps, step_kernels

integrate = pytest.importorskip("scipy.integrate")

METHODS = ("RK23", "RK45", "DOP853", "BDF", "Radau", "LSODA", "odeint")
TIMES = np.linspace(0.0, 2.0, 6)
START = np.array([1.0, 0.3])
SCALE = 2.0
module = types.ModuleType("of_a_test")
module.scale = 2.0


@pytest.fixture(autouse=True)
def _nothing_kept():
    kept_programs.forget()
    yield
    kept_programs.forget()


def solved(method, f, *args, tolerance=1e-8):
    """The solution (n, m) of dy/dt = f(t, y, *args)."""
    how = {"rtol": tolerance, "atol": tolerance}
    if method == "odeint":
        return integrate.odeint(f, START, TIMES, args, tfirst=True, **how).T
    return integrate.solve_ivp(f, (0.0, 2.0), START, method, TIMES, args=args, **how).y


def loss_of(f, method, *constants):
    return lambda k: np.sum(solved(method, f, k, *constants)[:, 1:] ** 2)


def difference(f, k, *constants):
    """The derivative of `loss_of` by differences of tight solutions."""

    def at(k):
        return np.sum(solved("DOP853", f, k, *constants, tolerance=1e-13)[:, 1:] ** 2)

    h = 1e-4
    return (8.0 * (at(k + h) - at(k - h)) - (at(k + 2.0 * h) - at(k - 2.0 * h))) / (12.0 * h)


@pytest.fixture
def recorded(monkeypatch):
    """How often right sides are recorded at many points, outside of programs."""
    found, at_once = [], many_steps.at_once

    def counted(*args, **kwargs):
        found.append(1)
        return at_once(*args, **kwargs)

    monkeypatch.setattr(many_steps, "at_once", counted)
    return found


def spring(k, c, t, y):
    return [y[1], -k * c * np.sin(y[0]) - 0.1 * c * y[1]]


class Model:
    def __init__(self, scale):
        self.scale, self.inner = scale, types.SimpleNamespace(scale=scale)

    def slope(self, t, y, k):
        return spring(k, self.scale, t, y)

    def through(self, t, y, k):
        return spring(k, self.inner.scale, t, y)


class Shared:
    scale = 2.0

    def slope(self, t, y, k):
        return spring(k, self.scale, t, y)


def sines(k, t, y):
    return [y[1], -k * np.sin(y[0])]


def cubes(k, t, y):
    return [y[1], -k * (y[0] - y[0] ** 3 / 3.0)]


# Each makes (right side, constants of the call, what changes what it reads to another number).


def by_closure():
    scale = 2.0

    def change(value):
        nonlocal scale
        scale = value

    return (lambda t, y, k: spring(k, scale, t, y)), (), change


def by_global():
    def change(value):
        global SCALE
        SCALE = value

    return (lambda t, y, k: spring(k, SCALE, t, y)), (), change


def by_default():
    def slope(t, y, k, scale=2.0):
        return spring(k, scale, t, y)

    def change(value):
        slope.__defaults__ = (value,)

    return slope, (), change


def by_keyword_default():
    def slope(t, y, k, *, scale=2.0):
        return spring(k, scale, t, y)

    return slope, (), lambda value: slope.__kwdefaults__.update(scale=value)


def by_attribute():
    model = Model(2.0)
    return model.slope, (), lambda value: setattr(model, "scale", value)


def by_attribute_of_another():
    model = Model(2.0)
    return model.through, (), lambda value: setattr(model.inner, "scale", value)


def by_class():
    return Shared().slope, (), lambda value: setattr(Shared, "scale", value)


def by_list():
    held = [2.0]
    return (lambda t, y, k: spring(k, held[0], t, y)), (), lambda value: held.__setitem__(0, value)


def by_dict():
    held = {"scale": 2.0}
    return (lambda t, y, k: spring(k, held["scale"], t, y)), (), lambda value: held.update(scale=value)


def by_array():
    held = np.array([2.0])
    return (lambda t, y, k: spring(k, held[0], t, y)), (), lambda value: held.__setitem__(0, value)


def by_module():
    return (lambda t, y, k: spring(k, module.scale, t, y)), (), lambda value: setattr(module, "scale", value)


def by_function():
    inner = sines

    def change(value):
        nonlocal inner
        inner = cubes if value != 2.0 else sines

    return (lambda t, y, k: inner(k, t, y)), (), change


def by_partial():
    held = [2.0]

    def slope(scale, t, y, k):
        return spring(k, scale[0], t, y)

    return functools.partial(slope, held), (), lambda value: held.__setitem__(0, value)


def by_argument():
    held = [2.0]
    return (lambda t, y, k, scale: spring(k, scale, t, y)), held, lambda value: held.__setitem__(0, value)


def by_array_as_argument():
    held = np.array([2.0])
    return (lambda t, y, k, c: spring(k, c[0], t, y)), (held,), lambda value: held.__setitem__(0, value)


WAYS = [
    by_closure, by_global, by_default, by_keyword_default, by_attribute, by_attribute_of_another, by_class, by_list,
    by_dict, by_array, by_module, by_function, by_partial, by_argument, by_array_as_argument,
]  # fmt: skip


@pytest.mark.parametrize("method", ["odeint", "RK45"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_a_right_side_reads_may_change_between_solutions(way, method):
    f, constants, change = way()
    try:
        for value in (2.0, 2.0, 2.01, 3.5, 3.5, 2.0, 0.7):
            change(value)
            found = ag.grad(loss_of(f, method, *constants))(1.3)
            assert found == pytest.approx(difference(f, 1.3, *constants), rel=2e-5), value
    finally:
        change(2.0)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_programs_of_other_functions_are_told_by_their_values(way, monkeypatch):
    """Where the look at what a function reads sees no difference, values beside the solution do."""
    monkeypatch.setattr(kept_programs, "_same", lambda known, facts: True)
    replayed, derivatives = [], many_steps.derivatives

    def watched(*args):
        replayed.append(derivatives(*args))
        return replayed[-1]

    monkeypatch.setattr(many_steps, "derivatives", watched)
    # Steps of one length: all solutions have as many.
    how = {"rtol": 1e6, "atol": 1e6, "first_step": 0.01, "max_step": 0.01}

    def loss(k):
        return np.sum(
            integrate.solve_ivp(f, (0.0, 2.0), START, "RK45", TIMES, args=(k, *constants), **how).y[:, 1:] ** 2
        )

    f, constants, change = way()
    try:
        for value in (2.0, 2.0, 2.01, 3.5):
            change(value)
            assert ag.grad(loss)(1.3) == pytest.approx(difference(f, 1.3, *constants), rel=1e-5), value
        # Other code has a program of its own; a SimpleNamespace can't be told from another, so nothing is kept of it.
        refused = {by_function: [False, False], by_attribute_of_another: []}.get(way, [True, True])
        assert [one is None for one in replayed[-2:]] == refused
    finally:
        change(2.0)


def test_a_part_that_vanishes_along_the_solution_is_told_by_values_beside_it(monkeypatch):
    monkeypatch.setattr(kept_programs, "_same", lambda known, facts: True)
    scale = 1.0

    def slope(t, y, k):  # y[0] * y[1] stays 0.3 along the solution
        return [k * y[0] + scale * (y[0] * y[1] - 0.3), -k * y[1]]

    for scale in (1.0, 1.0, -2.0):  # noqa: B007  it is the variable that slope reads
        found = ag.grad(loss_of(slope, "odeint"))(0.5)
        assert found == pytest.approx(difference(slope, 0.5), rel=2e-5)


@pytest.mark.parametrize("method", METHODS)
def test_each_solution_of_a_function_has_the_same_gradient_to_the_last_bit(method, recorded):
    grad = ag.grad(loss_of(lambda t, y, k: spring(k, 2.0, t, y), method))
    first = grad(1.3)
    del recorded[:]
    other, again = grad(1.31), grad(1.3)
    assert not recorded
    assert first == again
    assert first != other
    kept_programs.forget()
    assert first == grad(1.3)


def test_parameters_in_closures_are_inputs():
    def both(k, c):
        return np.sum(solved("odeint", lambda t, y, one: spring(one, c, t, y), k)[:, 1:] ** 2)

    for k, c in ((1.3, 2.0), (1.3, 2.0), (0.8, 2.5), (1.3, 2.0)):
        by_k, by_c = ag.grad(both, argnums=(0, 1))(k, c)
        assert by_k == pytest.approx(difference(lambda t, y, k, c=c: spring(k, c, t, y), k), rel=2e-5)
        assert by_c == pytest.approx(difference(lambda t, y, c, k=k: spring(k, c, t, y), c), rel=2e-5)


def test_one_tensor_in_two_places_is_told_from_two_tensors():
    def slope(t, y, a, b):
        return [y[1], -a * np.sin(y[0]) - b * y[1]]

    def one(k):
        return np.sum(solved("odeint", slope, k, k) ** 2)

    def two(k):
        return np.sum(solved("odeint", slope, k, 1.0 * k) ** 2)

    found = [ag.grad(loss)(0.6) for loss in (one, two, one, two)]
    assert found == pytest.approx([difference(lambda t, y, k: slope(t, y, k, k), 0.6)] * 4, rel=2e-5)


class Doubled(ag.autograd.Function):
    """Its derivative is another one than that of its value, and reads a number of its own."""

    factor = 2.0

    @staticmethod
    def forward(ctx, x):
        return 2.0 * x

    @staticmethod
    def backward(ctx, g):
        return Doubled.factor * g


def test_derivatives_that_are_not_of_the_table_are_not_kept():
    grad = ag.grad(loss_of(lambda t, y, k: ag.stack([y[1], -Doubled.apply(k * y[0])]), "RK45"))
    try:
        found = [grad(1.3), grad(1.3)]
        Doubled.factor = 0.0
        assert found[0] == found[1] != 0.0
        assert grad(1.3) == 0.0
    finally:
        Doubled.factor = 2.0


def test_the_zero_of_masked_code_is_that_of_the_mode():
    def slope(t, y, k):
        return [y[1], -k * y[0] + np.where(y[0] > 1e3, np.sqrt(0.0 * k), 0.0)]

    grad = ag.grad(loss_of(slope, "RK45"))
    with np.errstate(all="ignore"):
        assert np.isnan(grad(1.3))
        with ag.zero_annihilates():
            found = grad(1.3)
        assert found == pytest.approx(difference(lambda t, y, k: [y[1], -k * y[0]], 1.3), rel=2e-5)
        assert np.isnan(grad(1.3))


def test_threads_share_programs():
    def run(scale, into):
        grad = ag.grad(loss_of(lambda t, y, k: spring(k, scale, t, y), "odeint"))
        into += [grad(1.3) for _ in range(20)]

    found = [[], [], []]
    threads = [threading.Thread(target=run, args=pair) for pair in zip((2.0, 2.0, 3.5), found, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for scale, one in zip((2.0, 2.0, 3.5), found, strict=True):
        expected = difference(lambda t, y, k, scale=scale: spring(k, scale, t, y), 1.3)
        assert one == pytest.approx([expected] * 20, rel=2e-5)


def test_few_functions_are_kept():
    for k in range(90):
        space = {}
        exec(f"def slope(t, y, k):\n    return [y[1], -k * y[0] + {k}e-3]", space)
        ag.grad(loss_of(space["slope"], "RK23"))(1.0)
    assert len(kept_programs._known) <= kept_programs._MOST


# -- jumps -------------------------------------------------------------------------------------------------------------

JUMPLESS = {
    "sine": lambda t, y, k: np.stack([y[1], -k * np.sin(y[0])]),
    "quotient": lambda t, y, k: np.stack([y[1], -k * y[0] / (3.0 + y[0])]),
    "quotient of quotients": lambda t, y, k: np.stack([y[1], -k / (1.0 + 1.0 / (3.0 + y[0] ** 2))]),
    "bent": lambda t, y, k: np.stack([y[1], -k * np.abs(y[0])]),
    "maximum": lambda t, y, k: np.maximum(y, k) - y,
    "root of a bend": lambda t, y, k: np.sqrt(np.abs(y)) * k,
    "time": lambda t, y, k: k * y * np.exp(-t) + np.cos(t),
    "constant divisor": lambda t, y, k: np.tanh(y / k),
    "matrix": lambda t, y, k: k * (np.array([[0.0, 1.0], [-1.0, 0.0]]) @ y),
    "sum": lambda t, y, k: k * y - np.sum(y**3),
    "stiff time": lambda t, y, k: -k * (y - t**2),
}
JUMPING = {
    "sign": lambda t, y, k: np.stack([y[1], -k * np.sign(y[0])]),
    "quotient of a bend": lambda t, y, k: np.stack([y[1], -k * y[0] / np.abs(y[0])]),
    "product of a bend and a quotient": lambda t, y, k: np.stack([y[1], np.abs(y[0]) * (k / y[0])]),
    "root over a number": lambda t, y, k: np.stack([y[1], np.sqrt(y[0] ** 2) / y[0] * k]),
    "function of a pole": lambda t, y, k: np.stack([y[1], k * np.arctan(1.0 / y[0])]),
    "exponential of a pole": lambda t, y, k: np.stack([y[1], k / (1.0 + np.exp(1.0 / y[0]))]),
    "function of a tangent": lambda t, y, k: np.stack([y[1], k * np.arctan(np.tan(y[0]))]),
    "where": lambda t, y, k: np.stack([y[1], np.where(y[0] > 0.5, k, -k)]),
    "where of time": lambda t, y, k: y * np.where(t > 1.0, k, 1.0),
    "step of time": lambda t, y, k: k * y * np.heaviside(t - 1.0, 0.5),
    "floor": lambda t, y, k: k * y - np.floor(3.0 * t),
    "remainder": lambda t, y, k: k * y - t % 0.7,
    "branch": lambda t, y, k: np.stack([y[1], -k if y[0] > 0.0 else k]),
    "table": lambda t, y, k: k * y * np.array([1.0, 2.0])[(y > 0.5).astype(int)],
    "negative power": lambda t, y, k: np.stack([y[1], k * np.arctan(y[0] ** -1)]),
    "power zero": lambda t, y, k: np.stack([y[1], k * np.abs(y[0]) ** y[0]]),
}


class Right:
    """What `_traced` takes of a `Calls`."""

    parameters = (np.asarray(1.3),)

    def __init__(self, f):
        self.f = f


def is_jumpless(f):
    times, states = np.array([0.1, 0.2, 0.3]), np.array([[1.0, 0.2], [0.9, 0.3], [0.8, 0.1]])
    try:
        return kept_programs._traced(Right(f), times, states, kept_programs.Tape())[-1]
    except Exception:
        return False


@pytest.mark.parametrize("name", JUMPLESS)
def test_right_sides_without_a_jump_are_known(name):
    assert is_jumpless(JUMPLESS[name])


@pytest.mark.parametrize("name", JUMPING)
def test_right_sides_that_may_jump_are_not_taken_for_continuous(name):
    assert not is_jumpless(JUMPING[name])


@pytest.mark.parametrize("method", ["odeint", "RK45", "LSODA"])
def test_a_jump_is_told_in_each_solution(method):
    def slope(t, y, k):
        return np.stack([y[1], np.where(t < k, 1.0, 30.0) - y[0]])

    grad = ag.grad(loss_of(slope, method))
    for _ in range(4):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert np.isnan(grad(1.01))
        assert any("jumps" in str(one.message) for one in told)


def test_a_jump_is_told_where_a_program_of_another_function_makes_none(monkeypatch):
    monkeypatch.setattr(kept_programs, "_same", lambda known, facts: True)
    height = [0.0]

    def slope(t, y, k):
        return np.stack([y[1], height[0] * np.where(t < k, 1.0, 30.0) - y[0]]) if height[0] else np.stack([y[1], -y[0]])

    grad = ag.grad(loss_of(slope, "odeint"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert grad(1.01) == 0.0
        height[0] = 1.0
        assert np.isnan(grad(1.01))
    assert any("jumps" in str(one.message) for one in told)


# -- odeint's own evaluations ------------------------------------------------------------------------------------------


def as_tuple(t, y, k):
    return y[1], -k * np.sin(y[0])


FILLED = [0.0, 0.0]


def as_one_list(t, y, k):
    FILLED[0], FILLED[1] = y[1], -k * np.sin(y[0])
    return FILLED


def as_array(t, y, k):
    return np.array([y[1], -k * np.sin(y[0])])


def of_time(t, y, k):
    return [y[1] * np.cos(3.0 * t), -k * y[0] + np.exp(-t)]


def fast(t, y, k):
    return [-k * 40.0 * y[0], 12.0 * y[0] - 9.0 * y[1] * y[1]]


@pytest.mark.parametrize("points", [2, 3, 40])
@pytest.mark.parametrize("end", [2.0, -1.5])
@pytest.mark.parametrize("f", [as_tuple, as_one_list, as_array, of_time, fast], ids=lambda f: f.__name__)
def test_odeint_reads_its_own_evaluations(f, end, points):
    if f is fast and end < 0.0:
        end = -0.02
    times = np.linspace(0.0, end, points)

    def loss(k, y0, tolerance=1e-9):
        y = integrate.odeint(lambda y, t, k: f(t, y, k), y0, times, (k,), rtol=tolerance, atol=tolerance)
        return np.sum(y[1:] ** 2)

    with ag.number_policy("off"):
        by_k, by_start = ag.grad(loss, argnums=(0, 1))(1.3, START)
    moves = [(1e-4, np.zeros(2)), (0.0, np.array([1e-4, 0.0])), (0.0, np.array([0.0, 1e-4]))]
    expected = [(loss(1.3 + k, START + y, 1e-12) - loss(1.3 - k, START - y, 1e-12)) / 2e-4 for k, y in moves]
    np.testing.assert_allclose([by_k, *by_start], expected, rtol=2e-5, atol=1e-7)


def generated(seed):
    """(right side, y0, parameters, times) of smooth terms; some solutions rest soon, so that steps become long."""
    random = np.random.default_rng(seed)
    n, p = int(random.integers(1, 5)), int(random.integers(1, 4))

    def term():
        i, j, k, c = *random.integers(0, n, 2), random.integers(0, p), round(random.uniform(0.3, 1.5), 2)
        return random.choice([
            f"a[{k}]*np.sin(y[{i}])", f"{c}*y[{i}]*np.cos(a[{k}]*y[{j}])", f"-a[{k}]*y[{i}]", f"-{c}*y[{i}]**3",
            f"{c}*np.tanh(y[{i}]*y[{j}])", f"a[{k}]*np.exp(-y[{i}]**2)", f"{c}*np.cos({c}*t)*y[{i}]",
            f"a[{k}]*y[{i}]/(1.5+y[{j}]**2)", f"np.sqrt(1.0+y[{i}]**2)*{c}*np.sin(t)", f"a[{k}]*t*np.exp(-t)",
        ])  # fmt: skip

    lines = [" + ".join(term() for _ in range(random.integers(1, 4))) + f" - 0.3*y[{i}]" for i in range(n)]
    space = {"np": np}
    exec(f"def slope(t, y, *a):\n    return [{', '.join(lines)}]", space)
    end = float(random.uniform(1.0, 8.0)) if seed % 4 else -float(random.uniform(0.3, 1.0))
    times = np.linspace(0.0, end, int(random.choice([2, 5, 17, 60])))
    return space["slope"], random.uniform(-1.0, 1.0, n), tuple(random.uniform(0.5, 2.0, p)), times


@pytest.mark.parametrize("tolerance", [1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("seed", sorted({*range(25)} - {15}))  # of 15 the solution leaves all bounds
def test_gradients_of_odeint_are_as_exact_as_its_solution(seed, tolerance):
    f, y0, parameters, times = generated(seed)

    def loss(y0, *a):
        return np.sum(integrate.odeint(f, y0, times, a, tfirst=True, rtol=tolerance, atol=tolerance) ** 2)

    def exact(y0, *a):
        how = {"rtol": 1e-13, "atol": 1e-13}
        return np.sum(integrate.solve_ivp(f, (0.0, times[-1]), y0, "DOP853", times, args=a, **how).y ** 2)

    argnums = tuple(range(1 + len(parameters)))
    found, expected = (
        np.concatenate([np.ravel(one) for one in ag.grad(which, argnums)(y0, *parameters)]) for which in (loss, exact)
    )
    assert np.max(np.abs(found - expected)) <= 200.0 * tolerance * np.max(np.abs(expected))


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_points_of_an_interpolation_are_apart(way):
    times = way * np.array([0.0, 1e-5, 2e-5, 0.1, 0.2, 0.35, 0.351, 0.352, 0.5, 0.8])
    stencils = step_kernels.stencils(times)
    assert len(stencils) == len(times) - 1
    for k, stencil in enumerate(stencils):
        points, length = np.sort(np.abs(times[stencil])), np.abs(times[k + 1] - times[k])
        assert {k, k + 1} <= set(stencil)
        assert np.min(np.diff(points)) >= 0.49 * length
    assert not step_kernels.stencils(times[:3]).size


def test_a_stiff_solution_by_odeint_is_called_again():
    def robertson(y, t, k):
        flow = k * y[0] - 1e4 * y[1] * y[2]
        return [-flow, flow - 3e7 * y[1] ** 2, 3e7 * y[1] ** 2]

    def loss(k, tolerance=1e-9):
        y = integrate.odeint(
            robertson, [1.0, 0.0, 0.0], [0.0, 0.4, 4.0, 40.0], (k,), rtol=tolerance, atol=tolerance * 1e-4
        )
        return np.sum(y[1:, 0] ** 2)

    expected = (loss(0.04 + 1e-5, 1e-12) - loss(0.04 - 1e-5, 1e-12)) / 2e-5
    assert ag.grad(loss)(0.04) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("tfirst", [False, True])
def test_the_jacobian_of_odeint_gets_what_the_right_side_gets(tfirst):
    seen = set()

    def slope(y, t, k):
        return [-5e4 * k * y[0], y[0] - y[1]]

    def jacobian(y, t, k):
        seen.add(f"{np.shape(y)} {np.shape(t)} {k}")
        return [[-5e4 * k, 0.0], [1.0, -1.0]]

    def turned(f):
        return (lambda t, y, k: f(y, t, k)) if tfirst else f

    def loss(k):
        y = integrate.odeint(turned(slope), START, TIMES, (k,), turned(jacobian), tfirst=tfirst, rtol=1e-8, atol=1e-10)
        return np.sum(y[1:] ** 2)

    expected = (loss(1.3 + 1e-4) - loss(1.3 - 1e-4)) / 2e-4
    seen.clear()
    assert ag.grad(loss)(1.3) == pytest.approx(expected, rel=1e-4)
    assert seen == {"(2,) () 1.3"}


def test_an_error_of_a_right_side_is_raised():
    def slope(y, t, k):
        if t > 1.0:
            raise ValueError("beyond")
        return [y[1], -k * y[0]]

    with pytest.raises(ValueError, match="beyond"):
        ag.grad(lambda k: np.sum(integrate.odeint(slope, START, TIMES, (k,))))(1.3)
