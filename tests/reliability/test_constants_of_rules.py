"""What rules read besides arrays among their arguments: a change between forward and backward is refused, never silent.

The class: whose rule (a primitive's, a Function's backward) x where the constant is (an argument, a keyword, ctx, the
closure, a default, a global, the closure of a helper, a partial, a class, a module, a bound method, self) x what holds
it (itself, a list, a dict, a dict in a dict, an object, an attribute of an attribute) x what it is (an array, a number,
an array in a list) x how it changes (written, exchanged).
"""

import functools
import itertools
import types

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.4, 0.7, 1.1])
CHANGED = "another value now|was written|were written"
pytestmark = pytest.mark.usefixtures("default_modes")


class Holder:
    """An object of the program's."""

    def __init__(self, value):
        self.value = value


class Nested:
    def __init__(self, value):
        self.inner = Holder(value)


HOLDERS = {
    "list": (lambda v: [v], lambda h: h[0], lambda h, v: h.__setitem__(0, v)),
    "dict": (lambda v: {"k": v}, lambda h: h["k"], lambda h, v: h.__setitem__("k", v)),
    "dict of dicts": (lambda v: {"a": {"k": v}}, lambda h: h["a"]["k"], lambda h, v: h["a"].__setitem__("k", v)),
    "object": (Holder, lambda h: h.value, lambda h, v: setattr(h, "value", v)),
    "object in an object": (Nested, lambda h: h.inner.value, lambda h, v: setattr(h.inner, "value", v)),
    "namespace": (lambda v: types.SimpleNamespace(value=v), lambda h: h.value, lambda h, v: setattr(h, "value", v)),
    "list of objects": (lambda v: [Holder(v)], lambda h: h[0].value, lambda h, v: setattr(h[0], "value", v)),
}
VALUES = {"number": lambda: 2.0, "array": lambda: np.full(3, 2.0), "list of arrays": lambda: [np.full(3, 2.0)]}


def first(value):
    return value[0] if isinstance(value, list) else value


def by_argument(holder, read):
    p = ag.primitive(lambda x, h: x * first(read(h)))
    p.defvjp(lambda ans, x, h: lambda g: g * first(read(h)))
    return lambda x: p(x, holder)


def by_attribute_argument(holder, read):
    """The rule names the attributes itself."""
    p = ag.primitive(lambda x, h: x * first(read(h)))
    if isinstance(holder, Nested):
        p.defvjp(lambda ans, x, h: lambda g: g * first(h.inner.value))
    elif isinstance(holder, list) and isinstance(holder[0], Holder):
        p.defvjp(lambda ans, x, h: lambda g: g * first(h[0].value))
    elif hasattr(holder, "value"):
        p.defvjp(lambda ans, x, h: lambda g: g * first(h.value))
    else:
        return by_argument(holder, read)
    return lambda x: p(x, holder)


def by_keyword(holder, read):
    p = ag.primitive(lambda x, *, h: x * first(read(h)))
    p.defvjp(lambda ans, x, *, h: lambda g: g * first(read(h)))
    return lambda x: p(x, h=holder)


def by_bound_method(holder, read):
    """The rule calls a bound method, of the dict or array itself where it is one."""
    if isinstance(holder, dict) and "k" in holder:
        get = holder.get
        p = ag.primitive(lambda x: x * first(get("k")))
        p.defvjp(lambda ans, x: lambda g: g * first(get("k")))
        return p
    return by_closure(holder, read)


def by_partial(holder, read):
    p = ag.primitive(lambda x: x * first(read(holder)))
    factor = functools.partial(lambda h: first(read(h)), holder)
    p.defvjp(lambda ans, x: lambda g: g * factor())
    return p


def by_class(holder, read):
    class Settings:
        kept = holder

        @staticmethod
        def factor():
            return first(read(Settings.kept))

    p = ag.primitive(lambda x: x * Settings.factor())
    p.defvjp(lambda ans, x: lambda g: g * Settings.factor())
    return p


def by_module(holder, read):
    module = types.ModuleType("settings_of_a_program")
    module.kept = holder
    p = ag.primitive(lambda x: x * first(read(module.kept)))
    p.defvjp(lambda ans, x: lambda g: g * first(read(module.kept)))
    return p


def by_method(holder, read):
    class Solver:
        def __init__(self):
            self.kept = holder

        def factor(self):
            return first(read(self.kept))

        def solve(self, x):
            p = ag.primitive(lambda x: x * self.factor())
            p.defvjp(lambda ans, x: lambda g: g * self.factor())
            return p(x)

    return Solver().solve


def by_closure(holder, read):
    p = ag.primitive(lambda x: x * first(read(holder)))
    p.defvjp(lambda ans, x: lambda g: g * first(read(holder)))
    return p


def by_helper(holder, read):
    def factor():
        return first(read(holder))

    p = ag.primitive(lambda x: x * factor())
    p.defvjp(lambda ans, x: lambda g: g * factor())
    return p


def by_default(holder, read):
    p = ag.primitive(lambda x: x * first(read(holder)))
    p.defvjp(lambda ans, x, h=holder: lambda g: g * first(read(h)))
    return p


def by_ctx(holder, read):
    class Scaled(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.h = holder
            return x * first(read(holder))

        @staticmethod
        def backward(ctx, g):
            return g * first(read(ctx.h))

    return Scaled.apply


def by_backward(holder, read):
    class Scaled(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * first(read(holder))

        @staticmethod
        def backward(ctx, g):
            return g * first(read(holder))

    return Scaled.apply


def by_once_differentiable(holder, read):
    class Scaled(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * first(read(holder))

        @staticmethod
        @ag.autograd.once_differentiable
        def backward(ctx, g):
            return g * first(read(holder))

    return Scaled.apply


def by_function_on_ctx(holder, read):
    class Scaled(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.pull = lambda g: g * first(read(holder))
            return x * first(read(holder))

        @staticmethod
        def backward(ctx, g):
            return ctx.pull(g)

    return Scaled.apply


WAYS = [
    by_argument,
    by_attribute_argument,
    by_keyword,
    by_closure,
    by_helper,
    by_bound_method,
    by_partial,
    by_class,
    by_module,
    by_method,
    by_default,
    by_ctx,
    by_backward,
    by_once_differentiable,
    by_function_on_ctx,
]
MEMBERS = [
    member
    for member in itertools.product(WAYS, HOLDERS, VALUES, ("exchanged", "written"))
    if member[2:] != ("number", "written")  # numbers are not written
]


@pytest.mark.parametrize(("way", "kind", "what", "how"), MEMBERS)
def test_a_constant_that_changes_before_backward_is_refused(way, kind, what, how):
    make, read, change = HOLDERS[kind]
    holder = make(VALUES[what]())
    function = way(holder, read)
    t = ag.tensor(X, requires_grad=True)
    y = function(t).sum()
    z = function(t).sum()
    z.backward()  # as it was
    np.testing.assert_allclose(t.grad.numpy(), np.full(3, 2.0))
    if how == "written":
        first(read(holder))[...] = 5.0
    else:
        new = {"number": 5.0, "array": np.full(3, 5.0), "list of arrays": [np.full(3, 5.0)]}[what]
        change(holder, new)
    with pytest.raises(RuntimeError, match=CHANGED):
        y.backward()
    t.grad = None
    function(t).sum().backward()  # a new call is of the new constant
    np.testing.assert_allclose(t.grad.numpy(), np.full(3, 5.0))


FACTOR, FACTORS = 2.0, np.full(3, 2.0)


def test_globals_that_change_are_refused():
    global FACTOR
    p = ag.primitive(lambda x: x * FACTOR * FACTORS)
    p.defvjp(lambda ans, x: lambda g: g * FACTOR * FACTORS)
    t = ag.tensor(X, requires_grad=True)
    y = p(t).sum()
    FACTORS[0] = 3.0
    with pytest.raises(RuntimeError, match=CHANGED):
        y.backward()
    FACTORS[0] = 2.0
    y = p(t).sum()
    FACTOR = 3.0
    try:
        with pytest.raises(RuntimeError, match=r"FACTOR has another value"):
            y.backward()
    finally:
        FACTOR = 2.0
    y.backward()
    np.testing.assert_allclose(t.grad.numpy(), np.full(3, 4.0))


def test_what_rules_write_themselves_is_not_compared():
    log, calls, work, number = [], {"n": 0}, np.zeros(3), 0

    def rule(ans, x):
        def pull(g):
            nonlocal number
            number += 1
            log.append(g)
            calls["n"] += 1
            np.multiply(g, 2.0, out=work)
            return work

        return pull

    p = ag.primitive(lambda x: 2 * x)
    p.defvjp(rule)
    np.testing.assert_allclose(ag.grad(lambda x: np.sum(p(p(p(x)))))(X), np.full(3, 8.0))
    assert (len(log), calls["n"], number) == (3, 3, 3)


def test_a_log_that_others_write_too_is_not_compared():
    order = []

    class Doubled(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            order.append("forward")
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            order.append("backward")
            return 2 * g

    t = ag.tensor(X, requires_grad=True)
    y = Doubled.apply(Doubled.apply(t))
    y.register_hook(lambda g: order.append("hook"))
    y.sum().backward()
    assert order == ["forward", "forward", "hook", "backward", "backward"]


def test_in_mode_off_nothing_is_compared():
    ag.set_constant_check("off")
    holder = {"k": 2.0}
    function = by_closure(holder, lambda h: h["k"])
    t = ag.tensor(X, requires_grad=True)
    y = function(t).sum()
    holder["k"] = 5.0
    y.backward()
    np.testing.assert_allclose(t.grad.numpy(), np.full(3, 5.0))
