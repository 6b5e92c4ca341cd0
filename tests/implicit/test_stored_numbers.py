"""A function that stores numbers while a solver calls it is warned of, and the gradient stays that of the result."""

import functools
import warnings

import numpy as np
import pytest
from scipy import integrate as plain_integrate

import arraygrad as ag
from arraygrad.scipy import integrate, optimize

LOG = []


class Store:
    def __init__(self):
        self.last = 0.0
        self.state = {"log": []}

    def keeps_attribute(self, t, y, k):
        self.last = y[0] * 1.0
        return -k * y

    def keeps_in_a_dict(self, t, y, k):
        self.state["log"].append(y * 1.0)
        return -k * y

    def __call__(self, t, y, k):
        self.last = float(y[0]) if not isinstance(y, ag.Tensor) else 0.0
        return -k * y


def stored(where):
    """A right side that stores its values in `where`, of the closure."""

    def rhs(t, y, k):
        where.append(y[0])
        return -k * y

    return rhs


def rebinding():
    largest = 0.0

    def rhs(t, y, k):
        nonlocal largest
        largest = y[0] * 2.0
        return -k * y

    return rhs


def filling(array):
    def rhs(t, y, k):
        if not isinstance(y, ag.Tensor):
            array[0] = y[0]
        return -k * y

    return rhs


def in_a_global(t, y, k):
    LOG.append(y[0])
    return -k * y


def in_an_argument(log, t, y, k):
    log.append((t, y[0]))
    return -k * y


def behind_a_helper(log):
    def note(y):
        log.append([y[0]])

    def rhs(t, y, k):
        note(y)
        return -k * y

    return rhs


STORING = [
    (stored([]), "where"),
    (rebinding(), "largest"),
    (filling(np.zeros(3)), "array"),
    (in_a_global, "LOG"),
    (functools.partial(in_an_argument, []), "in_an_argument"),
    (behind_a_helper([]), "log"),
    (Store().keeps_attribute, "self"),
    (Store().keeps_in_a_dict, "self"),
    (Store(), "Store"),
]


def decay(rhs, solve):
    return lambda k: solve(rhs, (0.0, 1.0), np.ones(1), args=(k,), rtol=1e-8, atol=1e-8).y[0, -1]


@pytest.mark.keeps_objects  # what was stored lives as long as the cases
@pytest.mark.parametrize("solve", [integrate.solve_ivp, ag.implicit.solve_ivp])
@pytest.mark.parametrize(("rhs", "name"), STORING, ids=[name for _, name in STORING])
def test_what_a_right_side_stores_is_named(rhs, name, solve):
    with pytest.warns(UserWarning, match="a function that .* has stored numbers in ") as record:
        found = ag.grad(decay(rhs, solve))(2.0)
    assert found == pytest.approx(-np.exp(-2.0), rel=1e-5)
    said = str(record[0].message).partition("has stored numbers in ")[2]
    assert name in said or (solve is ag.implicit.solve_ivp and said.startswith("'f'"))
    assert all(one.filename == __file__ for one in record)


def counting():
    calls, flags, seen = [0], {}, set()
    parameters = {"k": [1.0, 2.0]}
    table = np.linspace(0.0, 1.0, 5)

    def rhs(t, y, k):
        calls[0] += 1
        flags["called"] = True
        flags["name"] = "rhs"
        seen.add(np.isnan(y[0]) if not isinstance(y, ag.Tensor) else False)
        return -k * y * parameters["k"][0] + 0.0 * table[0]

    return rhs


def test_counts_and_flags_are_no_numbers_of_the_solution():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ag.grad(decay(counting(), integrate.solve_ivp))(2.0)


def test_policy_off_and_constants_say_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ag.number_policy("off"):
            ag.grad(decay(stored([]), integrate.solve_ivp))(2.0)
        decay(stored([]), integrate.solve_ivp)(2.0)
        decay(stored([]), plain_integrate.solve_ivp)(2.0)
        with ag.no_grad():
            decay(stored([]), integrate.solve_ivp)(ag.tensor(2.0, requires_grad=True))


def noting(log, f):
    def function(*args):
        log.append(args[0])
        return f(*args)

    return function


@pytest.mark.parametrize(
    "solve",
    [
        lambda log, a: optimize.least_squares(noting(log, lambda x, a: x**3 - a), [1.0], args=(a,)).x[0],
        lambda log, a: optimize.root(noting(log, lambda x, a: x**3 - a), [1.0], args=(a,)).x[0],
        lambda log, a: optimize.brentq(noting(log, lambda x, a: x**3 - a), 0.0, 3.0, args=(a,)),
        lambda log, a: optimize.minimize(noting(log, lambda x, a: (x[0] - a) ** 2), [1.0], args=(a,)).x[0],
        lambda log, a: integrate.quad(noting(log, lambda x, a: np.exp(-a * x)), 0.0, 1.0, args=(a,))[0],
        lambda log, a: ag.implicit.root(noting(log, lambda x, a: x**3 - a))(1.0, a),
        lambda log, a: ag.implicit.fixed_point(noting(log, lambda x, a: np.cos(x) * a))(0.5, a),
        lambda log, a: ag.implicit.minimize(noting(log, lambda x, a: (x - a) ** 2))(0.5, a),
    ],
)
def test_every_solver_looks(solve):
    with pytest.warns(UserWarning, match="has stored numbers in 'log'"):
        ag.grad(lambda a: solve([], a))(1.1)
    with pytest.warns(UserWarning, match="has stored numbers in 'log'"):
        solve([], ag.tensor(1.1, requires_grad=True))


# What a function that fills an array and returns it looks like, and what else reads the array.
FILLED = {
    "attribute": "class D:\n    def __init__(self): self.d = np.zeros(2)\n    def rhs(self, t, y, k):\n"
    "        self.d[0] = -k * y[0]\n        self.d[1] = k * y[0] - y[1]\n        return self.d\n"
    "o = D()\nrhs = o.rhs\n",
    "copy": "class D:\n    def __init__(self): self.d = np.zeros(2)\n    def rhs(self, t, y, k):\n"
    "        self.d[0] = -k * y[0]\n        self.d[1] = k * y[0] - y[1]\n        return self.d.copy()\n"
    "o = D()\nrhs = o.rhs\n",
    "global": "d = np.zeros(2)\ndef rhs(t, y, k):\n    d[0] = -k * y[0]\n    d[1] = k * y[0] - y[1]\n    return d\n",
    "closure": "def make():\n    d = np.zeros(2)\n    def rhs(t, y, k):\n        d[0] = -k * y[0]\n"
    "        d[1] = k * y[0] - y[1]\n        return d\n    return rhs\nrhs = make()\n",
    "called": "class D:\n    def __init__(self): self.d = np.zeros(2)\n    def slope(self, y, k):\n"
    "        self.d[0] = -k * y[0]\n        self.d[1] = k * y[0] - y[1]\n        return self.d\n"
    "o = D()\nrhs = lambda t, y, k: o.slope(y, k)\n",
}
READ = {"attribute": "o.d[0]", "copy": "o.d.sum()", "global": "d[0]", "called": "o.d[1]"}
SOLVED = "solve_ivp(rhs, (0.0, 1.0), [1.0, 0.0], args=(k,), rtol=1e-10, atol=1e-12).y[1, -1]"


def filling_program(name, loss, more=""):
    names = {"__name__": "filled"}
    text = (
        f"import numpy as np\nfrom scipy.integrate import solve_ivp\n{FILLED[name]}{more}def f(k):\n    return {loss}\n"
    )
    exec(compile(text, "filled.py", "exec"), names)
    return names["f"]


@pytest.mark.parametrize("name", FILLED)
def test_an_array_that_is_filled_and_returned_says_nothing(name):
    f = filling_program(name, SOLVED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ag.grad(f)(0.7)
    # y[1] = k (exp(-k t) - exp(-t)) / (1 - k)
    value = lambda k: k * (np.exp(-k) - np.exp(-1.0)) / (1.0 - k)
    assert found == pytest.approx((value(0.7 + 1e-6) - value(0.7 - 1e-6)) / 2e-6, rel=1e-6)
    ag.adopt.clear()


@pytest.mark.parametrize("how", ["itself", "another function"])
@pytest.mark.parametrize("name", READ)
def test_such_an_array_that_the_program_reads_is_told(name, how):
    if how == "itself":
        f = filling_program(name, f"{SOLVED} + {READ[name]}")
    else:
        f = filling_program(name, f"{SOLVED} + read()", f"def read():\n    return {READ[name]}\n")
    with pytest.warns(UserWarning, match="has stored numbers"):
        ag.grad(f)(0.7)
    ag.adopt.clear()


@pytest.mark.parametrize(
    "kept",
    ["LOG.values.append(y[0] * 1.0)", "LOG.last = y[0] * 2.0", "LOG.table['y'] = y[0] * 1.0", "LOG.array[0] = y[0]"],
)
def test_numbers_that_an_object_of_the_module_keeps_are_told(kept):
    text = (
        "import numpy as np\nfrom scipy.integrate import solve_ivp\nclass Log:\n    def __init__(self):\n"
        "        self.values, self.table, self.last, self.array = [], {}, 0.0, np.zeros(2)\nLOG = Log()\n"
        f"def rhs(t, y, k):\n    {kept}\n    return -k * y\n"
        "def f(k):\n    return solve_ivp(rhs, (0.0, 1.0), [1.0], args=(k,)).y[0, -1]\n"
    )
    names = {"__name__": "logged"}
    exec(compile(text, "logged.py", "exec"), names)
    with pytest.warns(UserWarning, match="has stored numbers"):
        ag.grad(names["f"])(0.7)
    ag.adopt.clear()


# -- arrays that adopted functions make, and where they may stand ------------------------------------------------------

LEFT = None


def _in_a_dict():
    held = {}
    return (lambda y: held.update(y=y)), (lambda: held["y"])


def _in_a_global():
    def put(y):
        global LEFT
        LEFT = y

    return put, lambda: LEFT


def _in_an_attribute():
    class Kept:
        pass

    kept = Kept()
    return (lambda y: setattr(kept, "y", y)), lambda: kept.y


class Slotted:
    __slots__ = ("pair",)

    def put(self, y):
        self.pair = ("y", y)


def _in_a_slot():
    kept = Slotted()
    return kept.put, lambda: kept.pair[1]


PLACES = {"dict": _in_a_dict, "global": _in_a_global, "attribute": _in_an_attribute, "slot": _in_a_slot}
ARRAYS = {
    "list": lambda T, a: np.array([np.exp(-1.0 / T) * a, np.exp(-2.0 / T)]),
    "product": lambda T, a: np.exp(-np.array([1.0, 2.0]) / T) * a,
    "filled": lambda T, a: _filled(T, a),
    "number": lambda T, a: np.exp(-1.0 / T) * a,
}


def _filled(T, a):
    y = np.zeros(2)
    y[0] = np.exp(-1.0 / T) * a
    return y


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("place", PLACES)
def test_arrays_that_a_solvers_function_leaves_are_told(place, array):
    def function(a):
        put, get = PLACES[place]()

        def residual(T):
            y = ARRAYS[array](T, a)
            put(y)
            return np.sum(y) - 0.3

        T = optimize.brentq(residual, 0.1, 30.0, xtol=1e-13)
        return np.sum(get()) + a * T  # something else depends on `a` too

    with pytest.warns(UserWarning, match="has stored numbers in"):
        ag.grad(function)(1.3)
