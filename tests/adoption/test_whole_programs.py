"""What whole programs do between their formulas: modules in attributes, keys that are functions of NumPy, graphs of
functions deep in objects, arrays of objects, indices through vectorize, results stored where a solver was called.

Imports the public names of arraygrad. Programs are modules written for the test.
"""

import numpy as np
import pytest

import arraygrad as ag


def right(f, *args, at=0):
    """Whether an adopted gradient is that of differences of the plain call, and what the plain call gives its value."""
    plain = f(*args)
    value, found = ag.value_and_grad(f, argnums=at, adopt=True)(*args)
    moved = [args[at] + step for step in (1e-6, -1e-6)]
    above, below = (f(*args[:at], one, *args[at + 1 :]) for one in moved)
    assert value == plain
    assert f(*args) == plain
    return found == pytest.approx((above - below) / 2e-6, rel=1e-6)


# -- modules that objects hold -----------------------------------------------------------------------------------------

MODULES = """
    import math
    import types
    import numpy as np

    class Shim:
        def __init__(self, source): self._source = source
        def __getattr__(self, name): return getattr(self._source, name)
    class Slots:
        __slots__ = ("xp",)
        def __init__(self): self.xp = np
    class Model:
        def __init__(self, xp=np):
            self.xp, self.m = xp, math
            self.table = {"np": xp}
            self.deep = types.SimpleNamespace(xp=xp)
    xp, MODEL = Shim(np), Model()

    def filled(zeros, x):
        out = zeros(2)
        out[0] = x * x
        return out.sum()
    def shim(x): return filled(xp.zeros, x)
    def attribute(x): return filled(MODEL.xp.zeros, x)
    def of_math(x): return MODEL.m.sin(x)
    def item(x): return filled(MODEL.table["np"].zeros, x)
    def deep(x): return filled(MODEL.deep.xp.zeros, x)
    def made_inside(x): return filled(Model().xp.zeros, x)
    def linear(x): return MODEL.xp.linalg.inv(MODEL.xp.array([[x, 0.0], [1.0, 2.0]])).sum()
"""


@pytest.mark.parametrize("name", ["shim", "attribute", "of_math", "item", "deep", "made_inside", "linear"])
def test_modules_that_objects_hold_are_exchanged(program, name):
    main = program(main=MODULES)
    assert right(getattr(main, name), 0.7)
    assert main.MODEL.xp is np
    assert main.MODEL.table["np"] is np


def test_module_in_an_attribute_that_is_compared_stays(program):
    main = program(main=f"{MODULES}    def compared(x): return x if MODEL.xp is np else 0.0 * x\n")
    assert ag.grad(main.compared, adopt=True)(0.7) == 1.0


# -- functions of NumPy that are keys or compared ----------------------------------------------------------------------

KEYS = """
    import math
    import numpy as np

    TABLE = {np.concatenate: 1, np.linalg.norm: 2, np.fft.fft: 3}
    SET = {math.exp}
    def found(f): return f in TABLE or f in SET
    def same(f): return f is np.ones
"""
USES_KEYS = """
    import math
    import numpy as np
    import numpy.linalg as la
    from numpy import concatenate
    import keys

    def f(x):
        for one in (np.concatenate, concatenate, np.linalg.norm, la.norm, np.fft.fft, math.exp):
            assert keys.found(one)
        assert not keys.found(np.zeros) and keys.same(np.ones) and not keys.same(np.zeros)
        out = np.zeros(3)
        out[0] = x
        out[1] = math.sin(x)
        pair = np.concatenate([out, np.array([x, 2.0 * x])])
        return (pair**2).sum() + np.linalg.inv(np.array([[x, 0.0], [0.0, 1.0]]))[0, 0]
"""


def test_a_function_that_is_a_key_keeps_no_other_from_being_exchanged(program):
    main = program(keys=KEYS, main=USES_KEYS)
    assert right(main.f, 0.7)
    assert main.np is np
    assert main.la is np.linalg


# -- functions deep in objects -----------------------------------------------------------------------------------------

GRAPH = """
    from collections import namedtuple
    import steps
    Edge = namedtuple("Edge", ["start", "transform"])
    class Graph:
        def __init__(self, edges):
            self._graph = {"a": {"b": [edge for edge in edges]}}
        def run(self, x): return self._graph["a"]["b"][0].transform(x)
    GRAPH = Graph([Edge("a", steps.first)])
    def f(x): return GRAPH.run(x)
"""


def test_functions_deep_in_objects_lead_on(program):
    steps = "import numpy as np\ndef first(x):\n    out = np.zeros(2)\n    out[1] = x * x\n    return out.sum()\n"
    assert right(program(steps=steps, main=GRAPH).f, 0.7)


# -- arrays of objects, vectorize, out= --------------------------------------------------------------------------------

ARRAYS = """
    import numpy as np

    def ragged(x):
        given = np.asarray([x, np.zeros(2), np.array([x, x])], dtype=object)
        assert given.shape == (3,)
        return given[0] + given[2].sum()
    def square(x): return (np.array([[x, 2.0], [3.0, x * x]], dtype=object) ** 2).sum()
    def of_array(x):
        parts = np.array(x * np.arange(3.0), dtype="O")
        assert parts.shape == (3,)
        return parts[1] * parts[2]
    def indices(x):
        table = x * np.arange(4.0)
        take = np.vectorize(lambda i: table[i])
        return (take(np.arange(4)) ** 2).sum() + take(2)
    def two(x):
        table = x * np.arange(4.0)
        return np.vectorize(lambda i, s: table[i] * s)(np.array([[0], [1]]), np.array([1.0, 2.0])).sum()
    def clipped(x):
        a = x * np.arange(4.0)
        np.clip(a, 0.5, 1.5, a)
        return (a**2).sum()
    def taken(x):
        a, out = x * np.arange(4.0), np.zeros(2)
        np.take(a, [1, 3], None, out)
        return (out**2).sum()
    def summed(x):
        a, out = x * np.ones((2, 3)), np.zeros(3)
        return (np.sum(a, 0, None, out) ** 2).sum() + out[1]
    def product(x):
        out = np.zeros((2, 2))
        np.dot(x * np.eye(2), np.ones((2, 2)), out)
        return (out**2).sum()
"""


@pytest.mark.parametrize(
    "name", ["ragged", "square", "of_array", "indices", "two", "clipped", "taken", "summed", "product"]
)
def test_arrays_of_objects_indices_and_out_by_position(program, name):
    assert right(getattr(program(main=ARRAYS), name), 0.7)


# -- solvers in methods ------------------------------------------------------------------------------------------------

SOLVERS = """
    import numpy as np
    from scipy.integrate import solve_ivp
    from scipy.optimize import brentq, minimize, newton

    class Decay:
        def __init__(self, k): self.k, self.traces, self.log, self.found = k, {}, [], {}
        def rhs(self, t, y): return [-self.k * y[0]]
        def __call__(self, y0):
            solved = solve_ivp(lambda t, y: self.rhs(t, y), (0.0, 1.0), [y0], rtol=1e-10, atol=1e-10)
            self.traces.update({"y": solved.y})
            self.log.append(solved.t)
            self.found["t"] = solved.t
            self.last = solved.y[0, -1]
            return self.last
    def stores(k):
        model = Decay(k)
        return model(1.0) + model(2.0)

    class Fluid:
        def __init__(self, k): self.k, self.p = k, None
        def __call__(self, **state): self.__init__(**state); return self.p
        def slope(self, x): return x * x - self.k
        def solve(self):
            def f(x): return self.slope(x)
            self.p = 2.0 * brentq(f, 0.0, 10.0, xtol=1e-14)
            return self.p
    def computed_anew(k): return Fluid(k).solve()

    def closure_as_argument(k):
        def scale(x): return k * x
        return newton(lambda x, f, c: f(x) * x - c, 1.0, args=(scale, 2.0))
    def object_as_argument(k):
        return brentq(lambda x, model, c: model.slope(x) + c - 1.0, 0.0, 10.0, args=(Fluid(k), 1.0), xtol=1e-14)
    def lists_beside_arrays(k):
        data = k * np.array([1.0, 2.0, 4.0])
        def loss(p):
            model = [p[0] + p[1] * t for t in (0.0, 1.0, 2.0)]
            return sum((model - data) ** 2)
        return minimize(loss, np.array([1.0, 1.0]), tol=1e-10).x[1]
"""
SOLVED = ["stores", "computed_anew", "closure_as_argument", "object_as_argument", "lists_beside_arrays"]


@pytest.mark.parametrize("name", SOLVED)
def test_solvers_in_whole_programs(program, name):
    f = getattr(program(main=SOLVERS), name)
    found = ag.grad(f, adopt=True)(0.7)
    assert found == pytest.approx((f(0.7 + 1e-5) - f(0.7 - 1e-5)) / 2e-5, rel=1e-4)


CHANGED = """
    from scipy.optimize import brentq

    class Adder:
        def __init__(self): self.c = 1.0
        def add(self, x): return x * self.c
    class Model:
        def __init__(self, k): self.k, self.m, self.ops, self.me, self.found = k, 1.0, Adder(), self, [1.0]
        def __call__(self, x): return self.m * x * x - self.k
        def solve(self): return brentq(lambda x: self.slope(x), 0.0, 10.0)
    class Called(Model):
        def slope(self, x): return self(x)
    class Renamed(Model):
        def slope(self, x):
            other = self
            return other(x)
    class Itself(Model):
        def slope(self, x): return self.me(x)
    class Handed(Model):
        def slope(self, x): return (lambda f: f(x))(self)
    class Added(Model):
        def slope(self, x): return self.ops.add(x) ** 2 - self.k
    class Read(Model):
        def slope(self, x):
            self.found.append(1.0)
            return self.found[0] * x * x - self.k
    def f(k, cls):
        model = cls(k)
        solved = model.solve()
        model.m = model.ops.c = model.found[0] = 3.0
        return solved
"""


@pytest.mark.parametrize("name", ["Called", "Renamed", "Itself", "Handed", "Added", "Read"])
def test_what_a_function_reads_and_changes_after_the_solver_is_refused(program, name):
    main = program(main=CHANGED)
    with pytest.raises(RuntimeError, match=r"ha(s|ve) another value"):
        ag.grad(lambda k: main.f(k, getattr(main, name)), adopt=True)(2.0)
