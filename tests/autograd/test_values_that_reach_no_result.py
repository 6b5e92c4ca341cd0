"""Counts, logs and guards of rules and callbacks: changed since the call and read again, they are no refusal.

The class: what holds the value (a dict, a Counter, an attribute, an attribute of an object in a class, a global, an
array) x how the rule uses it (counts, counts by an alias, by a helper, by a method, raises at a limit, shows it,
copies it to another attribute, returns it from a helper that is called for its effect) x whose rule it is (a
primitive's, a Function's). Its counterpart: every way in which such a value does reach the gradient is refused as
before (returned, stored in an array, an item, an argument written by a helper, a branch, a loop, an alias, an
exception that is caught, a property, an operator, a text).

Imports arraygrad, autograd.flow_of_names.
"""

import collections
import itertools
import threading
import types

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd.flow_of_names import reach

X = np.array([0.4, 0.7, 1.1])


class Stats:
    """What a program counts in."""

    def __init__(self):
        self.n, self.limit, self.last, self.flag = 0, 1000, 0, False
        self.by = collections.Counter()
        self.cells = np.zeros(2)
        self.scale = 2.0
        self.table = [2.0, 2.0]

    def tick(self):
        self.n += 1
        return self.n

    def guarded(self, kind):
        number = self.by[kind]
        self.by[kind] += 1
        if kind == "rule" and number == self.limit:
            self.flag = True
            raise RuntimeError(f"the limit {number}")

    def __call__(self, kind):
        self.guarded(kind)


STATS = Stats()
CALLS = {"n": 0, "k": 0}
COUNT = 0
LOCK = threading.Lock()


class Owner:
    stats = STATS


def note(key):
    with LOCK:
        CALLS[key] = CALLS.get(key, 0) + 1


def tick():
    CALLS["n"] += 1
    return CALLS["n"]


def count_item():
    CALLS["n"] += 1


def count_by_get():
    note("k")


def count_by_helper_with_result():
    tick()


def count_attribute():
    STATS.n += 1


def count_by_method():
    STATS.tick()


def count_by_alias():
    by = STATS.by
    by["x"] += 1


def count_by_update():
    STATS.by.update(x=1)


def count_array():
    STATS.cells[0] += 1


def count_global():
    global COUNT
    COUNT += 1


def guard():
    Owner.stats.guarded("rule")


def guard_by_call():
    Owner.stats("rule")


def guard_inline():
    if CALLS["n"] > 10_000:
        raise RuntimeError("too many calls")
    CALLS["n"] += 1


def assert_inline():
    assert STATS.n < 10_000, "too many calls"
    STATS.n += 1


def show():
    if CALLS["n"] % 1000 == 999:
        print("calls:", CALLS["n"])
    CALLS["n"] += 1


def copy_to_an_attribute():
    STATS.last = STATS.n
    STATS.n += 1


def number_each():
    number = CALLS["n"] + 1
    CALLS["n"] = number


HARMLESS = (
    count_item, count_by_get, count_by_helper_with_result, count_attribute, count_by_method, count_by_alias,
    count_by_update, count_array, count_global, guard, guard_by_call, guard_inline, assert_inline, show,
    copy_to_an_attribute, number_each,
)  # fmt: skip


def by_primitive(use, scale):
    p = ag.primitive(lambda x: x * 2.0)

    def rule(ans, x):
        def pull(g):
            use()
            return g * scale()

        return pull

    p.defvjp(rule)
    return p


def by_function(use, scale):
    class Scaled(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            use()
            return g * scale()

    return Scaled.apply


def two():
    return 2.0


@pytest.mark.parametrize("way", [by_primitive, by_function])
@pytest.mark.parametrize("use", HARMLESS)
def test_a_count_that_others_advance_is_no_other_function(way, use):
    f = way(use, two)
    t = ag.tensor(X, requires_grad=True)
    y = f(t).sum()
    use()  # what another operation does
    STATS.n += 1
    CALLS["n"] += 1
    CALLS["k"] += 1
    y.backward()
    np.testing.assert_array_equal(t.grad.numpy(), np.full(3, 2.0))


def test_a_guard_raises_at_its_limit_and_afterwards_all_goes_on():
    stats = Stats()

    def use():
        stats.guarded("rule")

    f = by_primitive(use, two)
    t = ag.tensor(X, requires_grad=True)
    losses = [f(t).sum() for _ in range(3)]
    stats.limit = 1
    losses[0].backward()
    with pytest.raises(RuntimeError, match="the limit 1"):
        losses[1].backward()
    losses[2].backward()
    np.testing.assert_array_equal(t.grad.numpy(), np.full(3, 4.0))


# Ways in which a count does reach the gradient. Each is a rule's factor, 2.0 while no count was advanced.
def returned():
    return 2.0 + CALLS["n"]


def returned_by_a_helper():
    return 1.0 + tick()


def by_local():
    n = CALLS["n"]
    factor = 2.0
    factor = factor + n
    return factor


def by_augmented_local():
    factor = 2.0
    factor += CALLS["n"]
    return factor


def by_branch():
    if CALLS["n"] > 0:
        return 3.0
    return 2.0


def by_expression():
    return 3.0 if CALLS["n"] else 2.0


def by_and():
    return (CALLS["n"] and 3.0) or 2.0


def by_assigned_branch():
    factor = 2.0
    if CALLS["n"]:
        factor = 3.0
    return factor


def by_loop():
    factor = 2.0
    for _ in range(CALLS["n"]):
        factor = factor * 2.0
    return factor


def by_comprehension():
    return 2.0 + sum([1.0 for _ in range(CALLS["n"])])


def by_item():
    out = [2.0]
    out[0] = 2.0 + CALLS["n"]
    return out[0]


def by_alias_of_what_is_written():
    table = STATS.table
    other = table
    other[0] = 2.0 + CALLS["n"]
    return STATS.table[0]


def by_array():
    out = np.full(1, 2.0)
    np.add(out, CALLS["n"], out=out)
    return out[0]


def fill(out, n):
    out[0] = 2.0 + n


def by_argument_of_a_helper():
    out = np.empty(1)
    fill(out, CALLS["n"])
    return out[0]


def by_append():
    out = [2.0]
    out.append(2.0 + CALLS["n"])
    return out[-1]


def by_attribute():
    STATS.scale = 2.0 + CALLS["n"]
    return STATS.scale


def by_caught_error():
    try:
        guard_zero()
    except RuntimeError:
        return 3.0
    return 2.0


def guard_zero():
    if CALLS["n"] > 0:
        raise RuntimeError("once only")


class Shown:
    """Reads a count by a property, operators and a text."""

    @property
    def factor(self):
        return 2.0 + CALLS["n"]

    @property
    def kept(self):
        return self._kept

    @kept.setter
    def kept(self, value):
        self._kept = 2.0 + value

    def __add__(self, other):
        return other + CALLS["n"]

    def __str__(self):
        return str(2.0 + CALLS["n"])


SHOWN = Shown()


def by_property():
    return SHOWN.factor


def by_setter():
    SHOWN.kept = CALLS["n"]
    return SHOWN.kept


def by_operator():
    return SHOWN + 2.0


def by_text():
    return float(str(SHOWN))


def by_another_name():
    return OTHER["n"] + 2.0


OTHER = CALLS


def by_function_of_another_name():
    return 1.0 + ANOTHER["tick"]()


ANOTHER = {"tick": lambda: 1 + CALLS["n"]}


def by_get():
    return 2.0 + CALLS.get("n")


def by_bound_method():
    return 2.0 + GET("n")


GET = CALLS.get


def by_walrus():
    return 2.0 + (n := CALLS["n"]) * 1.0 + 0.0 * n


def by_getattr():
    return 2.0 + getattr(STATS, "n")  # noqa: B009 (what is tested)


class Made:
    """A constructor that reads."""

    def __init__(self):
        self.value = 2.0 + CALLS["n"]


def by_constructor():
    return Made().value


def by_break():
    factor = 2.0
    for _ in range(2):
        if CALLS["n"] == 0:
            break
        factor = factor + 1.0
    return factor


def by_deleted_item():
    table = {"k": 3.0}
    if not CALLS["n"]:
        del table["k"]
    return table.get("k", 2.0)


DECIDING = (
    returned, returned_by_a_helper, by_local, by_augmented_local, by_branch, by_expression, by_and, by_assigned_branch,
    by_loop, by_comprehension, by_item, by_alias_of_what_is_written, by_array, by_argument_of_a_helper, by_append,
    by_attribute, by_caught_error, by_property, by_setter, by_operator, by_text, by_another_name,
    by_function_of_another_name, by_get, by_bound_method, by_walrus, by_getattr, by_constructor, by_break,
    by_deleted_item,
)  # fmt: skip


@pytest.mark.parametrize("way", [by_primitive, by_function])
@pytest.mark.parametrize("factor", DECIDING)
def test_a_count_that_decides_the_gradient_is_refused(way, factor):
    CALLS["n"], STATS.n = 0, 0

    def use():  # the rule names the count, whatever else it does
        CALLS["k"] = CALLS["n"]
        STATS.last = STATS.n

    f = way(use, factor)
    t = ag.tensor(X, requires_grad=True)
    y = f(t).sum()
    CALLS["n"], STATS.n = 5, 5
    with pytest.raises(RuntimeError, match=r"another value now|was written|were written"):
        y.backward()


@pytest.mark.parametrize(("use", "factor"), list(itertools.product((count_item, guard_inline, show), (two, by_local))))
def test_each_value_is_judged_by_itself(use, factor):
    """A count beside a constant that has changed: the constant is named."""
    settings = types.SimpleNamespace(rate=2.0)
    f = by_primitive(use, lambda: settings.rate * factor() / 2.0)
    CALLS["n"] = 0
    t = ag.tensor(X, requires_grad=True)
    y = f(t).sum()
    CALLS["n"] += 1
    settings.rate = 3.0
    with pytest.raises(RuntimeError, match=r"settings\.rate") as error:
        y.backward()
    assert ("CALLS" in str(error.value)) == (factor is by_local)


def test_code_without_its_source_is_taken_to_read():
    space = {"CALLS": CALLS}
    exec("def use():\n    CALLS['n'] += 1\n", space)
    assert reach(["CALLS"], [space["use"].__code__])
    assert not reach(["CALLS"], [count_item.__code__])
    f = by_primitive(space["use"], two)
    t = ag.tensor(X, requires_grad=True)
    y = f(t).sum()
    CALLS["n"] += 1
    with pytest.raises(RuntimeError, match="CALLS has another value now"):
        y.backward()


def test_an_integral_whose_integrand_counts_what_others_count_too():
    integrate = pytest.importorskip("arraygrad.scipy.integrate")
    stats = Stats()

    def integrand(x, a):
        if x > 2.0:  # never here, so that the forward calls do not show it
            stats.n += 1
        return a * x

    a = ag.tensor(0.7, requires_grad=True)
    y = integrate.quad(integrand, 0, 1, args=(a,))[0]
    stats.n += 1
    y.backward()
    assert float(a.grad) == pytest.approx(0.5)


class Layer:
    def __init__(self):
        self.mask, self.buffer, self.notes = np.ones(3), np.zeros(3), {"scale": 1.0}


def by_attribute_set(layer):
    def run(x):
        layer.mask = (x > 0) * 1.0
        return x * layer.mask

    def pull(g):
        found = g * layer.mask
        layer.mask = np.zeros(3)
        return found

    return run, pull


def by_item_set(layer):
    def run(x):
        layer.notes["scale"] = float(x[0])
        return x * layer.notes["scale"]

    def pull(g):
        found = g * layer.notes["scale"]
        layer.notes["scale"] = 0.0
        return found

    return run, pull


def by_content(layer):
    def run(x):
        layer.mask[...] = (x > 0) * 1.0
        return x * layer.mask

    def pull(g):
        found = g * layer.mask
        layer.mask[...] = 0.0
        return found

    return run, pull


@pytest.mark.parametrize("make", [by_attribute_set, by_item_set, by_content])
def test_what_a_rule_changes_itself_may_not_be_changed_by_others(make):
    """Also after a run in which the rule was seen to change it."""
    run, pull = make(Layer())
    p = ag.primitive(run)
    p.defvjp(lambda ans, x: pull)
    a, b = (ag.tensor(value, requires_grad=True) for value in ([2.0, -1.0, 1.0], [-1.0, 1.0, 1.0]))
    p(a).sum().backward()
    first = a.grad.numpy().copy()
    p(a).sum().backward()  # one after the other: each as it is
    np.testing.assert_array_equal(a.grad.numpy(), 2 * first)
    y = p(a).sum()
    p(b)
    with pytest.raises(RuntimeError, match=r"another value now|was written"):
        y.backward()


def test_a_buffer_that_a_rule_fills_is_its_own():
    layer = Layer()
    p = ag.primitive(lambda x: x * 2.0)

    def pull(g):
        np.multiply(g, 2.0, out=layer.buffer)
        return layer.buffer.copy()

    p.defvjp(lambda ans, x: pull)
    t = ag.tensor(X, requires_grad=True)
    losses = [p(t).sum() for _ in range(3)]
    for loss in losses:
        loss.backward()
    np.testing.assert_array_equal(t.grad.numpy(), np.full(3, 6.0))
