"""Arrays that methods, operators, libraries and generators make in adopted calls, and methods of plain arrays.

Each line is held to differences of the plain call; what shares memory with something else stays plain, and a write of a
recorded value into it is refused.
"""

from __future__ import annotations

import contextlib
import sys
import types
import weakref

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.adoption.rewritten import rewritten

# Ways to an array of X, which is plain and made before the call; nothing else holds what they give.
WAYS = {
    "copy": "X.copy()",
    "astype": "X.astype(float)",
    "product": "X * 1.0",
    "sum": "X.sum(axis=0) + np.zeros(3)",
    "negative": "-X",
    "library": "lib.scaled(X)",
    "view of a copy": "X.copy().reshape(-1)[:3]",
    "transposed copy": "X.copy().T.T",
    "rows": "X[[0, 1]]",
    "chosen": "X.copy() if x > 0 else X * 2.0",
    "generator": "rng.normal(size=3)",
    "of a dict": "D['x'].copy()",
    "einsum": "lib.einsum('ij->j', X)",
}
# How a recorded value gets into it, and is read.
WRITES = {
    "item": "v[..., 1] = x",
    "slice": "v[..., :2] = x",
    "in place": "v += x",
    "times": "v *= x",
    "out": "np.multiply(v, x, out=v)",
    "copyto": "np.copyto(v, x)",
    "fill": "v.fill(x)",
    "alias": "w = v; w[..., 0] = x",
    "loop": "[v.__setitem__((..., i), x * i) for i in range(3)]",
    "augmented item": "v[..., 2] += x",
}
PLACES = {
    "local": "v = {way}\n    {write}\n    return (v ** 2).sum()",
    "annotated": "v: object = {way}\n    {write}\n    return (v ** 2).sum()",
    "pair": "v, u = {way}, 1.0\n    {write}\n    return (v ** 2).sum() * u",
    "attribute": "s = Some()\n    s.v = {way}\n    v = s.v\n    {write}\n    return (s.v ** 2).sum()",
    "closure": "v = {way}\n    def put():\n        nonlocal v\n        {write}\n    put()\n    return (v ** 2).sum()",
}


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A function of the module with this source, whose file is there."""

    def make(source, name="f"):
        path = tmp_path / "of_a_program.py"
        path.write_text(source)
        module = types.ModuleType("of_a_program")
        module.__file__ = str(path)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(source, str(path), "exec"), vars(module))
        return getattr(module, name)

    lib = types.ModuleType("numba.of_a_library")  # a library that is not reached
    exec("import numpy as np\ndef scaled(x):\n    return x * 1.5\neinsum = np.einsum", vars(lib))
    monkeypatch.setitem(sys.modules, "of_a_library", lib)
    return make


HEAD = """
import numpy as np
import of_a_library as lib
X = np.arange(6.0).reshape(2, 3) + 1.0
D = {'x': X}
HELD = []
class Generator:
    def normal(self, size):
        return np.random.default_rng(3).normal(size=size)
rng = Generator()
class Some:
    pass
"""


def _slope(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("way", WAYS)
def test_what_the_code_makes_and_writes_into_is_recorded(program, way, write, place):
    body = PLACES[place].format(way=WAYS[way], write=WRITES[write])
    f = program(f"{HEAD}\ndef f(x):\n    {body}\n")
    code, before = f.__code__, f(1.3)
    got = ag.grad(f)(1.3)
    assert f.__code__ is code
    assert f(1.3) == before
    assert type(f(1.3)) is type(before)
    np.testing.assert_allclose(got, _slope(f, 1.3), rtol=1e-7)


# What else may hold the array, or memory of it; `keep` is called with it before it is assigned.
HOLDERS = {
    "list": "HELD.append",
    "view": "lambda v: HELD.append(v[:1])",
    "memoryview": "lambda v: HELD.append(memoryview(v))",
    "closure": "lambda v: HELD.append(lambda: v)",
    "weak reference": "lambda v: (HELD.append(weakref.ref(v)), ALIVE.append(v))",
    "attribute": "lambda v: setattr(BOX, 'v', v)",
    "dict": "lambda v: CACHE.__setitem__(len(CACHE), v)",
    "view with another dtype": "lambda v: HELD.append(v.view(np.int64))",
    "tuple": "lambda v: HELD.append((v,))",
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("way", ["X.copy()", "X * 1.0", "X.copy().reshape(-1)", "X.astype(float)[:, :2]"])
def test_what_something_else_holds_stays_plain_and_is_not_written(program, way, holder):
    source = f"""{HEAD}
import weakref
ALIVE, CACHE, BOX = [], {{}}, Some()
keep = {HOLDERS[holder]}
def kept():
    made = {way}
    keep(made)
    return made
def f(x):
    v = kept()
    v[0] = x
    return v.sum() + 0.0 * len(HELD)
"""
    f = program(source)
    assert f(2.0) is not None
    with pytest.raises(TypeError, match="can't be written into a plain array"):
        ag.grad(f)(2.0)


def test_an_array_from_outside_is_not_taken_for_one_of_the_call(program):
    f = program(f"{HEAD}\nT = (X,)\ndef f(x):\n    v = T[0]\n    v[0, 0] = x\n    return T[0].sum()\n")
    with pytest.raises(TypeError, match="can't be written into a plain array"):
        ag.grad(f)(2.0)


def test_a_weak_reference_alone_keeps_the_array_plain(program):
    source = f"""{HEAD}
import weakref
def kept():
    made = X.copy()
    HELD.append(weakref.ref(made))
    return made
def f(x):
    v = kept()
    v[0] = x
    return HELD[-1]().sum()
"""
    with pytest.raises(TypeError, match="can't be written into a plain array"):
        ag.grad(program(source))(2.0)
    assert weakref.ref  # the module is the program's, too


METHODS = {
    "X.dot(np.array([x, 2.0, 3.0 * x])).sum()": "dot",
    "X.dot(np.array([x, 2.0, 3.0 * x]), out=np.zeros(2)).sum()": "dot, out",
    "X.clip(x, 4.0).sum()": "clip",
    "X.clip(min=x, max=2.0 * x).sum()": "clip by names",
    "(X + x).dot(X.T).sum()": "dot of a Tensor",
    "X.T.dot(X).sum() * x": "dot of plain arrays",
    "Some2().dot(x)": "a method of the program's own",
}


@pytest.mark.parametrize("expression", METHODS)
def test_methods_of_plain_arrays_take_tensors(program, expression):
    more = "class Some2:\n    def dot(self, x):\n        return x * x\n"
    f = program(f"{HEAD}\n{more}\ndef f(x):\n    return {expression}\n")
    np.testing.assert_allclose(ag.grad(f)(1.3), _slope(f, 1.3), rtol=1e-7)


@pytest.mark.parametrize(
    "body",
    [
        "return np.dot(X, X.T).sum() * x",
        "return np.clip(X, 0.0, x).sum()",
        "v = np.zeros(3) + x\n    return v.sum()",
        "v = X.copy()\n    return v.sum() * x",
        "v = X[0]\n    return v[0] * x",
    ],
)
def test_code_that_gains_nothing_is_left_as_it_is(program, body):
    f = program(f"{HEAD}\ndef f(x):\n    {body}\n")
    assert rewritten(f.__code__, f.__globals__) is f.__code__


SHARED = {
    "view of a local array": "a = X * 2.0\n    v = a[0]\n    v[1] = x\n    return a.sum()",
    "item of a generator": "g = (r for r in [X * 2.0])\n    v = next(g)\n    v[0] = x\n    return v.sum()",
    "strided": "v = np.lib.stride_tricks.as_strided(X * 2.0, (2,), (8,))\n    v[0] = x\n    return v.sum()",
    "buffer": "b = bytearray(24)\n    v = np.frombuffer(b)\n    v[0] = x\n    return float(np.frombuffer(b)[0])",
    "row of an array in a list": "rows = [X * 2.0]\n    v = rows[0][1]\n    v[0] = x\n    return rows[0].sum()",
    "transposed": "a = X * 2.0\n    v = a.T\n    v[0] = x\n    return a.sum()",
    "same in two names": "a = X * 2.0\n    v = lib.scaled and a\n    v[0] = x\n    return a.sum()",
}


@pytest.mark.parametrize("kind", SHARED)
def test_memory_that_two_names_show_is_right_or_refused(program, kind):
    f = program(f"{HEAD}\ndef f(x):\n    {SHARED[kind]}\n")
    with contextlib.suppress(TypeError):  # refused
        np.testing.assert_allclose(ag.grad(f)(1.3), _slope(f, 1.3), rtol=1e-7)


# `BODY` stands for what writes into a copy.
BODY = "v = X.copy(); v[0] = x; return v.sum()"
FUNCTIONS = {
    "method": "class A:\n    def m(self, x):\n        BODY\nf = A().m",
    "static": "class A:\n    @staticmethod\n    def m(x):\n        BODY\nf = A.m",
    "super": "class B:\n    def m(self, x):\n        return x\nclass A(B):\n    def m(self, x):\n"
    "        v = X.copy()\n        v[0] = super().m(x)\n        return v.sum()\nf = A().m",
    "private": "class A:\n    __k = 2.0\n    def m(self, x):\n        v = X.copy()\n        v[0] = self.__k * x\n"
    "        return v.sum()\nf = A().m",
    "made": "def make(k):\n    def f(x):\n        v = X.copy()\n        v[0] = k * x\n        return v.sum()\n"
    "    return f\nf = make(3.0)",
    "decorated": "import functools\ndef twice(g):\n    @functools.wraps(g)\n    def h(x):\n        return 2 * g(x)\n"
    "    return h\n@twice\ndef f(x):\n    BODY",
    "generator": "def parts(x):\n    v = X.copy()\n    v[0] = x\n    yield v.sum()\n"
    "def f(x):\n    return sum(parts(x))",
    "defaults": "def f(x, Y=X):\n    v = Y.copy()\n    v[0] = x\n    return v.sum()",
    "inner": "def f(x):\n    def g(x):\n        BODY\n    return g(x)",
    "comments": "def f(x):  # one\n    # two\n    v = (X\n         .copy())  # three\n\n    v[0] = x\n"
    "    return v.sum()",
    "long text": "def f(x):\n    '''A text\nat the margin.'''\n    BODY",
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_functions_of_all_kinds_are_found_in_their_source(program, kind):
    f = program(f"{HEAD}\n{FUNCTIONS[kind]}\n".replace("BODY", BODY))
    np.testing.assert_allclose(ag.grad(f)(1.3), _slope(f, 1.3), rtol=1e-7)


EQUATIONS = {
    "quad": "return integrate.quad(g, 0.0, 1.0, args=(x,))[0]",
    "quad of a closure": "return integrate.quad(lambda u: g(u, x), 0.0, 1.0)[0]",
    "brentq": "return optimize.brentq(lambda z: z**3 + z - g(0.3, x), -9.0, 9.0, xtol=1e-14)",
    "solve_ivp": "return integrate.solve_ivp(Rate(x).rhs, (0.0, 1.0), [1.0], rtol=1e-9, atol=1e-9).y[0, -1]",
    "checkpoint": "return ag.checkpoint(lambda u: g(u, u))(x)",
}


@pytest.mark.parametrize("inner", ["", "import numpy as np\n    "])
@pytest.mark.parametrize("kind", EQUATIONS)
def test_functions_that_backward_calls_again_are_the_same_then(program, kind, inner):
    pytest.importorskip("scipy")
    f = program(
        f"""{HEAD}
import arraygrad as ag
from scipy import integrate, optimize
def g(u, a):
    {inner}v = X[0].copy()
    v[1] = a * u
    return np.exp(-v).sum() + X.dot(v)[0]
class Rate:
    def __init__(self, k):
        self.k = k
    def rhs(self, t, y):
    {inner.replace("    ", "") and "    import numpy as np"}
        v = X[0].copy()
        v[0] = self.k * y[0]
        return np.array([-v[0] - 0.1 * v[1]])
def f(x):
    {EQUATIONS[kind]}
"""
    )
    np.testing.assert_allclose(ag.grad(f)(1.3), _slope(f, 1.3, 1e-5), rtol=1e-5)


def test_code_of_modules_that_are_not_named_stays(program):
    f = program(f"{HEAD}\ndef g(x):\n    v = X.copy()\n    v[0] = x\n    return v.sum()\ndef f(x):\n    return g(x)\n")
    assert ag.grad(f)(2.0) == 3.0
    for one in (f, f.__globals__["g"]):
        with pytest.raises(TypeError, match="can't be written into a plain array"):
            ag.grad(one, adopt=(__name__,))(2.0)
        assert ag.grad(one, adopt=("of_a_program",))(2.0) == 3.0


def test_a_function_whose_source_is_another_keeps_its_code(tmp_path):
    source = f"{HEAD}\ndef f(x):\n    v = X.copy()\n    v[0] = x\n    return v.sum()\n".replace("of_a_library", "math")
    path = tmp_path / "changed.py"
    path.write_text(source.replace("v[0] = x", "v[1] = x"))
    space = {"__name__": "changed", "__file__": str(path)}
    exec(compile(source, str(path), "exec"), space)
    with pytest.raises(TypeError, match="can't be written into a plain array"):
        ag.grad(space["f"])(2.0)


def test_lines_of_errors_are_those_of_the_source(program):
    f = program(f"{HEAD}\ndef f(x):\n    v = X.copy()\n    v[0] = x\n    return v.sum() / {{}}[0]\n")
    with pytest.raises(KeyError) as plain:
        f(1.0)
    with pytest.raises(KeyError) as adopted:
        ag.grad(f)(1.0)
    assert [step.lineno for step in plain.traceback][-1] == [step.lineno for step in adopted.traceback][-1]


def test_other_threads_get_plain_arrays_from_the_code_that_runs_meanwhile(program):
    import threading

    source = "hook = None\ndef f(x):\n    v = X.copy()\n    if hook:\n        hook()\n    v[0] = x\n    return v.sum()"
    f = program(f"{HEAD}\n{source}\n")
    found = []

    def other():
        space = f.__globals__
        hook, space["hook"] = space["hook"], None
        found.append(type(f(2.0)))
        space["hook"] = hook

    def hook():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    f.__globals__["hook"] = hook
    assert ag.grad(f)(2.0) == 3.0
    assert found == [np.float64]
