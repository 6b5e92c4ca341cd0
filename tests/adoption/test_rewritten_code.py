"""Arrays that methods, operators, libraries and generators make in adopted calls, and methods of plain arrays.

Each line is held to differences of the plain call; what shares memory with something else stays plain, and a write of a
recorded value into it is refused.
"""

from __future__ import annotations

import contextlib
import dis
import linecache
import math
import sys
import types
import warnings
import weakref

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.adoption.fresh import fresh
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


# Lists and dicts that hold what the code makes, how it gets there, and where a recorded value is written into it.
CONTAINERS = {
    "list": ("rows = [{way}, {way}]", "rows[1][..., 0]"),
    "comprehension": ("rows = [{way} for _ in range(2)]", "rows[1][..., 0]"),
    "nested": ("rows = [[{way}], [{way}]]", "rows[1][0][..., 0]"),
    "tuple": ("rows = ({way}, 1.0)", "rows[0][..., 0]"),
    "dict": ("rows = {{0: {way}, 1: {way}}}", "rows[1][..., 0]"),
    "comprehension of a dict": ("rows = {{i: {way} for i in range(2)}}", "rows[1][..., 0]"),
    "appended": ("rows = []\n    for i in range(2):\n        rows.append({way})", "rows[1][..., 0]"),
    "put": ("rows = [None] * 2\n    for i in range(2):\n        rows[i] = {way}", "rows[1][..., 0]"),
    "new key": ("rows = {{}}\n    for i in range(2):\n        rows[i] = {way}", "rows[1][..., 0]"),
    "attribute": ("s = Some()\n    s.rows = [{way}]", "s.rows[0][..., 0]"),
    "alias": ("rows = [{way}]\n    row = rows[0]", "row[..., 0]"),
    "walrus": ("if (row := {way}) is not None:\n        pass", "row[..., 0]"),
    "loop": ("rows = [{way}, {way}]\n    for row in rows:\n        row[..., 1] = x * x", "rows[0][..., 0]"),
    "enumerated": ("rows = [{way}]\n    for i, row in enumerate(rows):\n        row[..., i] = x", "rows[0][..., 1]"),
    "list of names": ("row = {way}\n    rows = [row, 1.0]", "rows[0][..., 0]"),
    "nested list of names": ("row = {way}\n    rows = [[row], 1.0]", "rows[0][0][..., 0]"),
    "dict of names": ("row = {way}\n    rows = {{'a': row}}", "rows['a'][..., 0]"),
    "tuple of names": ("row = {way}\n    rows = (1.0, row)", "rows[1][..., 0]"),
    "name appended": ("rows = []\n    row = {way}\n    rows.append(row)", "rows[0][..., 0]"),
    "name put": ("rows = [None]\n    row = {way}\n    rows[0] = row", "rows[0][..., 0]"),
    "name put, item taken": ("rows = [None]\n    row = {way}\n    rows[0] = row\n    one = rows[0]", "one[..., 0]"),
    "name put, looped": (
        "rows = [None]\n    row = {way}\n    rows[0] = row\n    for one in rows:\n        one[..., 1] = x * x",
        "rows[0][..., 0]",
    ),
    "loop over a display": (
        "rows = []\n    for row in [{way}]:\n        row[..., 1] = x\n        rows.append(row)",
        "row[..., 0]",
    ),
}
READS = "sum((v ** 2).sum() for v in {of})"


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("way", WAYS)
def test_items_of_containers_that_are_written_into_are_recorded(program, way, container):
    make, target = CONTAINERS[container]
    held = make.format(way=WAYS[way])
    f = program(
        f"{HEAD}\ndef f(x):\n    {held}\n    {target} = 3.0 * x\n"
        f"    {target} += x * x\n    return ({target} ** 2).sum()\n"
    )
    before = f(1.3)
    got = ag.grad(f)(1.3)
    assert f(1.3) == before
    np.testing.assert_allclose(got, _slope(f, 1.3), rtol=1e-7)


def test_items_that_share_memory_with_something_else_are_not_written(program):
    f = program(f"{HEAD}\ndef f(x):\n    rows = [X.copy()] * 2\n    rows[1][0] = x\n    return rows[0].sum()\n")
    with pytest.raises(TypeError, match="can't be written into a plain array"):
        ag.grad(f)(1.3)


def test_views_of_a_name_in_a_list_are_written_as_views(program):
    make = "keep = X.copy()\n    rows = [keep, keep[:1]]"
    f = program(f"{HEAD}\ndef f(x):\n    {make}\n    rows[1][0] = x\n    return (rows[0] ** 2).sum()\n")
    assert ag.grad(f)(1.3) == pytest.approx(7.8)


def test_numbers_that_are_put_into_arrays_are_not_looked_at(program):
    f = program(
        f"{HEAD}\ndef f(x):\n    made = X * 0.0\n    for i in range(2):\n        s = x * i\n        s = s + X[i]\n"
        "        made[i] = s\n    return made.sum()\n"
    )
    other = rewritten(f.__code__, f.__globals__)
    assert sum(ins.argval is fresh for ins in dis.get_instructions(other)) == 1  # X * 0.0
    assert ag.grad(f)(1.3) == pytest.approx(3.0)


def test_what_is_stored_into_a_plain_array_stays_plain(program):
    f = program(f"{HEAD}\nY = np.zeros(3)\ndef f(x):\n    Y[:] = X[0] * 2.0\n    return x * Y.sum()\n")
    assert ag.grad(f)(1.3) == f(1.0)


# What no gradient reaches, written by a function into its argument, a plain array `a`.
PLAIN_WRITES = (
    "a *= np.ones(3)", "a += np.ones_like(v)", "np.multiply(a, np.ones(3), out=a)", "np.add(a, np.ones(3), a)",
    "np.add.reduce(np.ones((2, 3)), axis=0, out=a)", "a **= np.zeros(3) + 2.0",
    "a[1:] -= np.ones(2)", "np.exp(np.zeros(3), out=a)",
)  # fmt: skip


@pytest.mark.parametrize("write", PLAIN_WRITES)
def test_what_no_gradient_reaches_is_written_into_plain_arrays(program, write):
    f = program(
        f"{HEAD}\ndef put(a, v):\n    {write}\n    return (a * v).sum()\ndef f(x): return put(X[0] * 1.0, x * X[1])\n"
    )
    before = f(1.3)
    value, got = ag.value_and_grad(f)(1.3)
    assert (value, f(1.3)) == (before, before)
    np.testing.assert_allclose(got, _slope(f, 1.3), rtol=1e-7)


@pytest.mark.parametrize(
    "write",
    [
        "a *= v",
        "np.multiply(a, v, out=a)",
        # NumPy 2.4 keeps the input of a reduction for which __array_ufunc__ raises, whatever its class.
        pytest.param("np.add.reduce([a, v], axis=0, out=a)", marks=pytest.mark.keeps_objects),
    ],
)
def test_what_a_gradient_reaches_is_not_written_into_plain_arrays(program, write):
    f = program(
        f"{HEAD}\ndef put(a, v):\n    {write}\n    return a.sum()\ndef f(x): return put(X[0] * 1.0, x * X[1])\n"
    )
    with pytest.raises(TypeError, match="can't be written into a plain array"):
        ag.grad(f)(1.3)


# Lambdas of a module, several of which begin in one line.
LAMBDAS = {
    "module": "g = lambda v: X.dot(v)\ndef f(x): return g(x * X[0]).sum()",
    "two": "G = [(lambda v: X.dot(v)), (lambda v: X.dot(v) * 2.0)]\ndef f(x): return G[1](x * X[0]).sum()",
    "closure": "def make(k):\n    return lambda v: X.clip(v, k)\ng = make(9.0)\ndef f(x): return g(x).sum()",
    "nested": "g = lambda k: (lambda v: X.dot(v) * k)\nh = g(2.0)\ndef f(x): return h(x * X[0]).sum()",
    "method": "class A:\n    g = lambda self, v: X.dot(v)\ndef f(x): return A().g(x * X[0]).sum()",
    "itself": "f = lambda x: X.dot(x * X[0]).sum()",
    "walrus": "g = lambda v: [(a := X.copy()), a.__setitem__((0, 1), v), a][2]\ndef f(x): return g(x).sum()",
    "lines": "g = (lambda v:\n     X.dot(\n         v))\ndef f(x): return g(x * X[0]).sum()",
}


@pytest.mark.parametrize("name", LAMBDAS)
def test_lambdas_are_rewritten(program, name):
    f = program(f"{HEAD}\n{LAMBDAS[name]}\n")
    np.testing.assert_allclose(ag.grad(f)(1.3), _slope(f, 1.3), rtol=1e-7)


# What is made of arrays of objects that hold Tensors.
OBJECTS = (
    "o.astype(float).sum()", "o.astype('d', copy=True)[1] ** 2", "o.reshape(1, 3).astype(np.float64).sum()",
    "o.astype(complex).real.sum()", "np.array(o, dtype=float).sum()", "np.asarray(o, float)[2]",
    "o.sum()", "(o * 2.0).astype(float).prod()", "o.tolist()[0]", "o.astype(object)[0] * 2.0",
    "np.sum(o.astype(float))", "(lambda p: p.astype(float).sum())(o)",
)  # fmt: skip
MADE = {
    "list": "np.array([v * v for v in x], dtype=object)",
    "vectorize": "np.vectorize(lambda v: v * v, otypes=[object])(x)",
    "vectorize by a letter": "np.vectorize(lambda v: v * v if v > 0 else 0.0, otypes='O')(x)",
    "frompyfunc": "np.frompyfunc(lambda v: v * v, 1, 1)(x)",
    "frompyfunc of two": "np.frompyfunc(lambda v, w: v * w + 1.0, 2, 1)(x, x[::-1])",
    "outer": "np.frompyfunc(lambda v, w: v * w, 2, 1).outer(x, x)[0]",
    "accumulated": "np.frompyfunc(lambda v, w: v * w, 2, 1).accumulate(x)",
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("read", OBJECTS)
def test_arrays_of_objects_keep_what_they_hold(program, read, made):
    f = program(f"{HEAD}\ndef f(x):\n    o = {MADE[made]}\n    return {read}\n")
    x = np.array([0.7, 1.3, -0.4])
    steps = [(f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6 for d in np.eye(3)]
    np.testing.assert_allclose(ag.grad(f)(x), steps, rtol=1e-6, atol=1e-7)


def test_arrays_of_objects_beside_tensors_and_texts_are_refused(program):
    x = np.array([0.7, 1.3, -0.4])
    f = program(f"{HEAD}\ndef f(x):\n    return (x * np.array([v for v in x], dtype=object)).sum()\n")
    with pytest.raises(TypeError, match=r"convert it, raw.astype\(float\)"):
        ag.grad(f)(x)
    f = program(f"{HEAD}\ndef f(x):\n    return np.array([x[0], 'text'], dtype=object).astype(float).sum()\n")
    with pytest.raises((TypeError, ValueError)):
        ag.grad(f)(x)


def test_code_without_source_says_so(program):
    f = program(
        f"{HEAD}\nexec('def g(x):\\n    a = X.copy()\\n    a[0] = x\\n    return a.sum()')\ndef f(x): return g(x)\n"
    )
    with pytest.raises(TypeError, match="The source of g is not known"):
        ag.grad(f)(1.3)
    f = program(
        f"{HEAD}\nexec('def g(x):\\n    a = np.array(X)\\n    a[0] = x\\n    return a.sum()')\ndef f(x): return g(x)\n"
    )
    np.testing.assert_allclose(ag.grad(f)(1.3), 3.0)


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


DIGITS = {
    "int": "x * (int(x * 1e6) / 1e6)",
    "whole": "x * (int(x * 1000) / 1000)",
    "power": "x * (int(10**4 * x) / 10**4)",
    "floor": "x * math.floor(x * 1e3) / 1e3",
    "ceil": "math.ceil(x * 1e3) / 1e3 * x",
    "round": "x * round(x * 100) / 100.0",
    "numpy": "x * np.floor(x * 1e5) / 1e5",
    "rint": "x * np.rint(x * 1e5) / 1e5",
    "sum": "x * (int((x + 1.0) * 1e6) / 1e6 - 1.0)",
    "int64": "x * (np.int64(x * 1e6) / 1e6)",
}
CUTS = ["int(x * 1e6)", "math.floor(1e6 * x)", "math.ceil(x * 10**6)", "np.trunc(x * 1e6)", "np.int64(x * 1e6)"]
NAMED = {
    f"{cut}, {name}": body.replace("CUT", cut)
    for cut in CUTS
    for name, body in {
        "a name": "n = CUT; y = n / 1e6 * x",
        "a factor": "n = CUT; y = x * n / 10**6",
        "two names": "n = CUT; m = n / 1e6; y = m * x",
        "annotated": "n: float = CUT; y = n / 1e6 * x",
        "walrus": "y = x * n / 1e6 if (n := CUT) > 0 else x",
    }.items()
}


def told_of_digits(body):
    names = {"__name__": "cut", "np": np, "math": math}
    source = f"def f(x):\n    {body}\n"
    linecache.cache["cut.py"] = len(source), None, source.splitlines(keepends=True), "cut.py"
    exec(compile(source, "cut.py", "exec"), names)
    f = names["f"]
    plain = f(0.7371234)
    with pytest.warns(UserWarning, match=r"cut\.py:2, in f: .* rounded to \d digits has derivative zero"):
        value, gradient = ag.value_and_grad(f)(0.7371234)
    assert value == plain
    assert gradient == pytest.approx(plain / 0.7371234, rel=1e-12)
    ag.adopt.clear()


@pytest.mark.parametrize("body", NAMED.values(), ids=NAMED)
def test_digits_that_are_kept_under_a_name_are_told(body):
    told_of_digits(f"{body}\n    return y")


@pytest.mark.parametrize("text", DIGITS.values(), ids=DIGITS)
def test_digits_that_whole_numbers_keep_are_told(text):
    told_of_digits(f"return {text}")


@pytest.mark.parametrize(
    "text",
    [
        "x - math.floor(x / 0.3) * 0.3",
        "x * int(x * 1e3)",
        "x * (int(x * 8) / 8)",
        "x * 100 / 100",
        "x * (n := int(x * 1e3)) + 0 * n",
        "x * (n := int(x * 10000.0)) / 1e3 + 0 * n",
    ],
)
def test_other_whole_numbers_say_nothing(text):
    names = {"__name__": "cut", "np": np, "math": math}
    source = f"def f(x):\n    return {text}\n"
    linecache.cache["cut.py"] = len(source), None, source.splitlines(keepends=True), "cut.py"
    exec(compile(source, "cut.py", "exec"), names)
    f, h = names["f"], 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradient = ag.grad(f)(0.7371234)
    assert gradient == pytest.approx((f(0.7371234 + h) - f(0.7371234 - h)) / (2.0 * h), rel=1e-6)
    ag.adopt.clear()


# Classes that keep an array, and what writes into it.
KEEPERS = {
    "plain": "class Body:\n    def __init__(self, x): self.x = x\n    def move(self, p): self.x += p\n",
    "item": "class Body:\n    def __init__(self, x): self.x = x\n    def move(self, p): self.x[0] = self.x[1] + p[0]\n",
    "dataclass": "import dataclasses\n@dataclasses.dataclass\nclass Body:\n    x: np.ndarray\n"
    "    def move(self, p): self.x[:2] += p[:2]\n",
    "derived": "class Base:\n    def __init__(self, x): self.x = x\n"
    "class Body(Base):\n    def move(self, p): self.x *= p\n",
    "super": "class Base:\n    def __init__(self, x): self.x = x\nclass Body(Base):\n"
    "    def __init__(self, x):\n        super().__init__(x)\n        self.x = self.x\n"
    "    def move(self, p): self.x -= p\n",
    "two": "class Body:\n    def __init__(self, x, v=None): self.x, self.v = x, x * 2.0\n"
    "    def move(self, p):\n        self.v += p\n        self.x += self.v * p\n",
    "slots": "class Body:\n    __slots__ = ('x',)\n    def __init__(self, x): self.x = x\n"
    "    def move(self, p): np.add(self.x, p, out=self.x)\n",
    "outside": "class Body:\n    def __init__(self, x): self.x = x\n    def move(self, p): pass\n",
}
GIVEN = ("X.copy()", "X * 1.0", "x=X.copy()", "X[0] + 0.0", "np.asarray(X.copy())", "lib.scaled(X)[0]")


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("name", KEEPERS)
def test_arrays_given_to_objects_that_write_into_them(name, given, tmp_path, monkeypatch):
    given = given.replace("X.copy()", "X[0].copy()").replace("X * 1.0", "X[0] * 1.0")
    more = "b.x += 0.5 * p; " if name == "outside" else ""
    source = (
        f"import numpy as np\nimport lib_of_bodies as lib\nX = np.arange(6.0).reshape(2, 3)\n{KEEPERS[name]}\n"
        f"def f(p):\n    b = Body({given})\n    for _ in range(2):\n        b.move(p); {more}b.x[1] -= p[2]\n"
        "    return np.sum(b.x ** 2)\n"
    )
    lib = types.ModuleType("lib_of_bodies")
    exec("def scaled(x): return x * 0.5", vars(lib))
    path = tmp_path / "bodies.py"
    path.write_text(source)
    module = types.ModuleType("bodies")
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "lib_of_bodies", lib)
    monkeypatch.setitem(sys.modules, "bodies", module)
    exec(compile(source, str(path), "exec"), vars(module))
    p, f = np.array([0.3, -0.2, 0.7]), module.f
    before = module.X.copy()
    gradient = ag.grad(f)(p)
    for i in range(3):
        step = np.zeros(3)
        step[i] = 1e-6
        assert gradient[i] == pytest.approx((f(p + step) - f(p - step)) / 2e-6, abs=1e-7)
    assert np.array_equal(module.X, before)
    assert type(f(p)) is np.float64
    ag.adopt.clear()
