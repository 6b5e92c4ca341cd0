"""Arrays that were made before an adopted call, which the call writes into.

The class: what holds the array x how it is written x what else shows its memory x when it is read, with errors in the
middle. Each member is a program of its own; the reference are differences of the plain program, and what it leaves. A
member is right, or refused. Imports the public names of arraygrad.
"""

from __future__ import annotations

import builtins
import functools
import gc
import sys
import textwrap
import types
import weakref

import numpy as np
import pytest
from lent_arrays import X, check, forget, program, write_and_sum

import arraygrad as ag

# name -> (statements at the module's level, the expression for the array, a statement within the function)
HOLDERS = {
    "attribute": ("o = make(u=np.zeros(3))", "o.u", ""),
    "deep attribute": ("o = make(p=make(q=make(u=np.zeros(3))))", "o.p.q.u", ""),
    "slot": ("o = Slotted(); o.u = np.zeros(3)", "o.u", ""),
    "frozen dataclass": ("o = Frozen(np.zeros(3))", "o.u", ""),
    "dataclass": ("o = Data(np.zeros(3))", "o.u", ""),
    "namespace": ("o = types.SimpleNamespace(u=np.zeros(3))", "o.u", ""),
    "class": ("", "Shared.u", ""),
    "dict": ("o = {'u': np.zeros(3)}", "o['u']", ""),
    "dict of an object": ("o = make(d=collections.OrderedDict(u=np.zeros(3)))", "o.d['u']", ""),
    "list": ("o = [None, np.zeros(3)]", "o[1]", ""),
    "list of an object": ("o = make(l=[make(u=np.zeros(3))])", "o.l[0].u", ""),
    "list of lists": ("o = make(l=[[np.zeros(3)]])", "o.l[0][0]", ""),
    "global": ("u = np.zeros(3)", "u", "global u"),
    "part of a larger array": ("o = make(u=np.zeros(9)[2:8:2])", "o.u", ""),
    "reshaped": ("o = make(u=np.zeros((3, 1)).reshape(3))", "o.u", ""),
}
WRITES = {
    "item": "{u}[0] = x * x",
    "negative item": "{u}[-1] = x * {u}[0]",
    "slice": "{u}[1:] = x * W[1:]",
    "all": "{u}[...] = x * W",
    "mask": "{u}[W > 1.5] = x",
    "places": "{u}[[0, 2]] = x",
    "item in place": "{u}[1] += x * x",
    "slice in place": "{u}[:2] *= x",
    "whole in place": "{u} += x * W",
    "power in place": "{u} **= x",
    "out": "np.multiply(W, x, out={u})",
    "out by position": "np.add(W, x, {u})",
    "copyto": "np.copyto({u}, x * W)",
    "add.at": "np.add.at({u}, [0, 1, 1], x)",
    "fill": "{u}.fill(x)",
    "local variable": "v = {u}; v[2] = x",
    "local variable of a view": "v = {u}[1:]; v *= x",
    "several variables": "v, w = {u}, 2.0; v[0] = w * x",
    "function": "write({u}, x)",
    "recursion": "for k in range(1, 3): {u}[k] = x * {u}[k - 1]",
    "several targets": "{u}[0], {u}[2] = x, x * x",
    "nested function": "(lambda target: write(target, x))({u})",
}
RESULTS = {
    "afterwards": ("", "({u} ** 2 * W).sum()"),
    "before and afterwards": ("y = {u} * x", "(y * {u}).sum() + x * y.sum()"),
}


@pytest.fixture(autouse=True, scope="module")
def no_programs():
    """Take out the modules of the tests' programs."""
    yield
    forget()


@functools.cache
def writers(holder):
    """A program with one holder, and a function for each write and result."""
    setup, u, declared = HOLDERS[holder]
    source = f"{setup}\ndef state():\n    return {u}\n"
    for n, write in enumerate(WRITES.values()):
        for k, (before, value) in enumerate(RESULTS.values()):
            lines = [declared, f"{u}[:] = [1.5, 0.5, 2.0]", before.format(u=u), write.format(u=u)]
            body = "\n    ".join(line for line in lines if line)
            source += f"def f{n}_{k}(x):\n    {body}\n    return {value.format(u=u)}\n"
    return vars(sys.modules[program(source, "state").__globals__["__name__"]])


def written(holder, write, result="afterwards"):
    return writers(holder)[f"f{list(WRITES).index(write)}_{list(RESULTS).index(result)}"]


# A frozen dataclass refuses what binds its attribute anew, in the plain program too.
WRITTEN = [
    (holder, write)
    for holder in HOLDERS
    for write in WRITES
    if not (holder == "frozen dataclass" and write in ("whole in place", "power in place"))
]


@pytest.mark.parametrize(("holder", "write"), WRITTEN)
def test_a_written_array_is_recorded_and_left_as_by_the_plain_program(holder, write):
    for result in RESULTS if holder == "attribute" else ("before and afterwards",):
        check(written(holder, write, result))


def test_a_variable_of_a_closure_is_recorded():
    u = np.zeros(3)

    def f(x):
        nonlocal u
        u[:] = [1.5, 0.5, 2.0]
        u *= x
        u[1] = x * x
        return (u**2).sum()

    check(f, lambda: u)


def test_default_arguments_and_arguments_of_partials_are_recorded():
    def f(x, u=np.zeros(2), *, v=np.zeros(2)):  # noqa: B008
        u[:] = v[:] = x
        u[1] = v[0] * x
        return u.sum() + v.sum()

    check(f, lambda: f.__defaults__[0])
    g = functools.partial(lambda u, x, v: write_both(u, v, x), np.zeros(2), v=np.zeros(2))
    check(g, lambda: g.args[0])


def write_both(u, v, x):
    u[:] = v[:] = x
    u[1] = v[0] * x
    return u.sum() + v.sum()


def test_methods_properties_and_helpers_reach_the_array():
    f = program(
        """
        class Grid:
            def __init__(self):
                self._u = np.zeros(3)
            @property
            def u(self):
                return self._u
            @u.setter
            def u(self, value):
                self._u[:] = value
            def rows(self):
                return [self._u]
            def parts(self):
                for k in range(3):
                    yield self._u[k : k + 1]
        class Step:
            def __init__(self, target):
                self.target = target
            def __call__(self, x):
                self.target[0] = x * x
        grid = Grid()
        def f(x):
            grid.u = 0.0
            Step(grid.u)(x)
            grid.u[1] = x * grid.u[0]
            for row in grid.rows():
                row[2] = x
            for part in grid.parts():
                part *= x
            getattr(grid, "_u")[2] += x
            return (grid.u * W).sum()
        def state():
            return grid._u
        """
    )
    check(f)


# What else shows the memory

VIEWS = {
    "itself": "{u}",
    "part": "{u}[1:]",
    "reversed": "{u}[::-1]",
    "every second": "{u}[::2]",
    "column": "{u}.reshape(3, 1)",
    "row": "{u}[None]",
    "element": "{u}[1:2].reshape(())",
}
PLACES = {
    "attribute": ("h = make(v={v})", "h.v", True),
    "item": ("h = {{'v': {v}}}", "h['v']", True),
    "list": ("h = [{v}]", "h[0]", True),
    "global": ("h = {v}", "h", True),
    "slot": ("h = Slotted(); h.u = {v}", "h.u", True),
    "closure": ("h = (lambda v: lambda: v)({v})", "h()", True),
    "tuple": ("h = ({v},)", "h[0]", False),
    "deque": ("h = collections.deque([{v}])", "h[0]", False),
    "generator": ("h = (lambda v: (v.sum() for _ in iter(int, 1)))({v})", "next(h)", False),
    "memoryview": ("h = memoryview({v})", "np.asarray(h)", False),
    "masked array": ("h = np.ma.array({v}, copy=False)", "h.data", False),
    "iterator": ("h = {v}.flat", "h[0]", False),
    "cache": ("h = functools.lru_cache(lambda: hidden.pop()); hidden = [{v}]; h()", "h()", False),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("view", VIEWS)
def test_whoever_reads_the_memory_finds_the_recorded_values_or_the_write_is_refused(view, place):
    setup, read, served = PLACES[place]
    f = program(
        f"""
        o = make(u=np.zeros(3))
        {setup.format(v=VIEWS[view].format(u="o.u"))}
        def f(x):
            o.u[:] = [1.5, 0.5, 2.0]
            o.u[1] = x * x
            return ({read} ** 2).sum() + o.u[1]
        def state():
            return o.u
        """
    )
    if served:
        check(f)
        return
    value = f(X)
    array, left = f.__globals__["state"](), f.__globals__["state"]().copy()
    with pytest.raises(TypeError, match="can't be written into a plain array") as error:
        ag.grad(f, adopt=True)(X)
    assert "lent_program.py:" in str(error.value)
    assert f(X) == value
    assert f.__globals__["state"]() is array
    np.testing.assert_array_equal(array, left)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("shape", ["(2, 3)", "(3, 2)", "(2, 3, 2)"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_view_that_is_written_shows_in_the_array_and_the_other_way_round(view, shape, order):
    views = {
        "itself": "[...]", "part": "[1:, :2]", "reversed": "[::-1, ::-1]", "every second": "[:, ::2]",
        "column": ".T", "row": "[0]", "element": "[1, 1]",
    }  # fmt: skip
    one = views[view] if view != "element" or shape != "(2, 3, 2)" else "[1, 1, 1:]"
    f = program(
        f"""
        o = make(u=np.zeros({shape}, order="{order}"))
        h = make(v=o.u{one} if np.ndim(o.u{one}) else o.u[1:2, 1])
        def f(x):
            o.u[...] = np.arange(o.u.size).reshape(o.u.shape)
            h.v *= x
            o.u[1] += x * x
            h.v[...] += o.u.mean()
            return (o.u ** 2).sum() + (h.v ** 3).sum()
        def state():
            return o.u
        """
    )
    check(f)


def test_a_weak_reference_to_the_array_has_the_write_refused():
    o = types.SimpleNamespace(u=np.zeros(3))
    seen = weakref.ref(o.u)

    def f(x):
        o.u[0] = x * x
        return seen().sum()

    with pytest.raises(TypeError, match="a weak reference leads to it"):
        ag.grad(f, adopt=True)(X)


def test_local_variables_of_who_waits_are_no_hindrance_and_see_the_result():
    array = np.zeros(3)
    part = array[1:]
    o = types.SimpleNamespace(u=array)
    check(lambda x: write_and_sum(o, x), lambda: o.u)
    assert array[0] == X * X
    assert part.base is array


HIDING = {
    "a namespace that a variable holds, too": "space = o.__dict__; kept = [space, space]",
    "locals() of a function that waits": "space = locals()",
    "globals()": "space = globals()",
    "a list in several places": "o.l = [o.u]; o.m = o.l; kept = {'l': o.l}",
    "an object in several places": "o.p = types.SimpleNamespace(u=o.u); o.q = o.p; kept = vars(o.p)",
}


@pytest.mark.parametrize("way", HIDING)
def test_a_place_that_is_reached_in_several_ways_hides_nothing(way):
    lines = textwrap.indent(HIDING[way].replace("; ", "\n"), "    ")
    run = program(
        f"""
import arraygrad as ag
o = make(u=np.zeros(3))
u = o.u
hidden = (o.u,)
def f(x):
    o.u[:] = x
    return hidden[0].sum()
def run():
    again = o.u
{lines}
    return ag.grad(f, adopt=True)(1.3)
def free():
    global hidden
    hidden = [o.u]
    return run()
        """,
        "run",
    )
    with pytest.raises(TypeError, match="plain array"):
        run()
    assert run.__globals__["free"]() in (3.0, pytest.approx(3.0))


def test_a_tuple_of_default_arguments_that_two_functions_share_hides_nothing():
    def f(x, u=np.zeros(2)):  # noqa: B008
        u[:] = x * x
        return other(x)

    def g(x, u):
        return u.sum()

    other = types.FunctionType(g.__code__, g.__globals__, "other", f.__defaults__)
    with pytest.raises(TypeError, match="plain array"):
        ag.grad(f, adopt=True)(X)
    del other
    other = types.FunctionType(g.__code__, g.__globals__, "other", (*f.__defaults__,))
    assert ag.grad(f, adopt=True)(X) == pytest.approx(4 * X)


def test_what_an_error_left_is_collected_before_the_write_is_refused():
    o = types.SimpleNamespace(u=np.zeros(3))
    gc.disable()
    try:
        loop = [o.u]
        loop.append(loop)
        del loop
        check(lambda x: write_and_sum(o, x), lambda: o.u)
    finally:
        gc.enable()


def test_what_an_interactive_session_showed_last_is_no_hindrance(monkeypatch):
    o = types.SimpleNamespace(u=np.zeros(3))
    monkeypatch.setattr(builtins, "_", o.u, raising=False)
    check(lambda x: write_and_sum(o, x), lambda: o.u)
    assert builtins._ is o.u


# What is left behind


@pytest.mark.parametrize("holder", HOLDERS)
def test_an_error_in_the_middle_leaves_what_the_plain_program_leaves(holder):
    setup, u, declared = HOLDERS[holder]
    f = program(
        f"""
        {setup}
        def f(x):
            {declared or "pass"}
            {u}[:] = [1.5, 0.5, 2.0]
            {u}[1] = x * x
            raise KeyError("middle")
        def state():
            return {u}
        """
    )
    state = f.__globals__["state"]
    array = state()
    with pytest.raises(KeyError, match="middle"):
        ag.grad(f, adopt=True)(X)
    assert state() is array
    np.testing.assert_array_equal(array, [1.5, X * X, 2.0])


def test_swapped_and_renamed_arrays_are_arrays_again():
    o = types.SimpleNamespace(a=np.zeros(2), b=np.zeros(2), log=[])
    arrays = [o.a, o.b]

    def f(x):
        o.a, o.b = arrays_of(o)
        o.a[:], o.b[:] = 1.0, 2.0
        for _ in range(3):
            o.b[:] = o.a * x
            o.a, o.b = o.b, o.a
        o.last = o.a
        o.part = o.a[1:]
        o.log.append(o.b)
        return o.part.sum() * o.last.sum()

    def arrays_of(o):
        return (o.a, o.b) if o.first == "a" else (o.b, o.a)

    o.first = "a"
    assert ag.grad(f, adopt=True)(X) == pytest.approx(12 * X**5)
    assert [o.a, o.b] == [o.last, o.log[-1]] or (o.a is o.last and o.b is o.log[-1])
    assert {id(o.a), id(o.b)} == {id(one) for one in arrays}
    assert type(o.part) is np.ndarray
    assert o.part.base is o.a


def test_a_new_array_in_the_place_stays_there_and_is_an_array():
    o = types.SimpleNamespace(u=np.zeros(2))

    def f(x):
        o.u[:] = x
        o.u = o.u * x
        o.u[0] += 1.0
        return (o.u * o.u).sum()

    for _ in range(2):
        first = o.u
        _, pull = ag.vjp(f, X, adopt=True)
        np.testing.assert_array_equal(first, [X, X])
        assert type(o.u) is np.ndarray
        np.testing.assert_allclose(o.u, [X * X + 1, X * X])
        o.u[:] = 7.0
        assert pull(1.0)[0] == pytest.approx(4 * X * (X * X + 1) + 4 * X**3)
        del first, pull


def test_nothing_else_of_the_program_changes():
    f = written("attribute", "item")
    space = f.__globals__
    o = space["o"]
    f(X)
    before = {name: id(value) for name, value in space.items()}, dict(vars(o)), f.__code__, f.__defaults__
    ag.grad(f, adopt=True)(X)
    with pytest.raises(TypeError):
        ag.grad(f, adopt=True)("no number")
    ag.adopt.clear()
    after = {name: id(space[name]) for name in before[0]}, dict(vars(o)), f.__code__, f.__defaults__
    assert after[0] == before[0]
    assert after[1:] == before[1:]


def test_no_reference_to_the_array_is_left():
    o = types.SimpleNamespace(u=np.zeros(3))
    write_and_sum(o, X)
    before = sys.getrefcount(o.u)
    ag.grad(lambda x: write_and_sum(o, x), adopt=True)(X)
    after = sys.getrefcount(o.u)
    assert after == before


def test_the_gradient_shares_no_memory_with_the_array():
    o = types.SimpleNamespace(u=np.zeros(3))

    def f(w):
        o.u[:] = 2.0
        o.u[0] = 5.0
        return (o.u * w).sum()

    gradient = ag.grad(f, adopt=True)(np.ones(3))
    assert not np.shares_memory(gradient, o.u)
    np.testing.assert_array_equal(gradient, [5.0, 2.0, 2.0])


@pytest.mark.parametrize("transform", ["vjp", "linearize"])
def test_what_the_program_writes_before_the_derivative_is_asked_for_does_not_change_it(transform):
    o = types.SimpleNamespace(u=np.zeros(3))

    def f(x):
        o.u[:] = x
        return (o.u * o.u).sum() * x

    _, derivative = getattr(ag, transform)(f, X, adopt=True)
    o.u[:] = 100.0
    found = derivative(1.0)
    assert (found[0] if transform == "vjp" else found) == pytest.approx(9 * X**2)
    np.testing.assert_array_equal(o.u, 100.0)


def test_the_array_as_the_result_is_the_array():
    o = types.SimpleNamespace(u=np.zeros(3))

    def f(x):
        o.u[:] = 0.0
        o.u[1] = x * x
        return o.u

    value, pull = ag.vjp(f, X, adopt=True)
    assert value is o.u
    assert pull(np.ones(3))[0] == pytest.approx(2 * X)
    del value, pull  # they hold the array, and what shows it
    np.testing.assert_allclose(ag.jacobian(f, adopt=True)(X), [0.0, 2 * X, 0.0])
    loss = ag.value_and_grad(lambda x: (f(x).sum(), o.u), has_aux=True, adopt=True)
    (_, aux), _ = loss(X)
    assert aux is o.u


def test_function_with_more_defaults_than_parameters():
    def helper(a, b=2.0):
        return a * b

    helper.__defaults__ = (1.0, 2.0, 3.0)
    o = types.SimpleNamespace(u=np.zeros(3), helper=helper)

    def f(x):
        o.u[:] = 0.0
        o.u[1] = o.helper(x, 3.0) * x
        return o.u.sum()

    assert ag.grad(f)(X) == pytest.approx(6.0 * X)
    assert type(o.u) is np.ndarray
