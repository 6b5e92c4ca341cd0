"""Adopted calls see what names, items and attributes are bound to now: Note [What is bound anew].

Imports the public names of arraygrad. Programs are modules written for the test.
"""

import functools
import math
import sys
import threading
import types

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.adoption import reach

MAIN = """
    import math, types, functools
    import numpy as np
    import other
    h = math.sin
    DT = int
    none = None
    OPS = {"f": math.sin, "k": 2.0}
    FS = [math.sin, 1.0]
    NESTED = {"a": {"f": math.sin}, "b": [math.sin]}
    SPACE = types.SimpleNamespace(f=math.sin)
    class Model:
        def __init__(self, f): self.f = f
        def __call__(self, x): return self.f(x)
    MODEL = Model(math.sin)
    def made(f): return lambda x: f(x)
    CLOSED = made(math.sin)
    def by_name(x): return h(x)
    def by_none(x): return 3.0 * x if none is None else none(x)
    def by_type(x): return 2.0 * x * DT(1)
    def by_item(x): return OPS["f"](x)
    def by_new_item(x): return OPS["new"](x) if "new" in OPS else 3.0 * x
    def by_list(x): return FS[0](x)
    def by_last(x): return FS[-1](x) if callable(FS[-1]) else 3.0 * x
    def by_nested(x): return NESTED["a"]["f"](x) + NESTED["b"][0](x)
    def by_space(x): return SPACE.f(x)
    def by_model(x): return MODEL(x)
    def by_closed(x): return CLOSED(x)
    def by_module(x): return other.h(x)
    def by_module_none(x): return 3.0 * x if other.none is None else other.none(x)
    def by_module_item(x): return other.OPS["f"](x)
    def by_module_class(x): return other.Made(x).value
"""
OTHER = """
    import math
    h = math.sin
    none = None
    OPS = {"f": math.sin}
    class Made:
        def __init__(self, x): self.value = math.sin(x)
    def sine(x): return math.sin(x)
"""
THIRD = """
    import math
    def exp(x): return math.exp(x)
    class Made:
        def __init__(self, x): self.value = math.exp(x)
"""


@pytest.fixture
def main(program):
    program(third=THIRD)
    program(other=OTHER)
    return program(main=MAIN)


def set_nested(m, f):
    m.NESTED["a"]["f"] = f
    m.NESTED["b"][0] = f


BINDINGS = {
    "by_name": lambda m, f: setattr(m, "h", f),
    "by_none": lambda m, f: setattr(m, "none", f),
    "by_item": lambda m, f: m.OPS.__setitem__("f", f),
    "by_new_item": lambda m, f: m.OPS.__setitem__("new", f),
    "by_item ": lambda m, f: setattr(m, "OPS", {"f": f}),
    "by_list": lambda m, f: m.FS.__setitem__(0, f),
    "by_list ": lambda m, f: m.FS.insert(0, f),
    "by_list  ": lambda m, f: setattr(m, "FS", [f]),
    "by_last": lambda m, f: m.FS.append(f),
    "by_nested": set_nested,
    "by_space": lambda m, f: setattr(m.SPACE, "f", f),
    "by_space ": lambda m, f: setattr(m, "SPACE", types.SimpleNamespace(f=f)),
    "by_model": lambda m, f: setattr(m.MODEL, "f", f),
    "by_model ": lambda m, f: setattr(m, "MODEL", m.Model(f)),
    "by_closed": lambda m, f: setattr(m, "CLOSED", m.made(f)),
    "by_closed ": lambda m, f: setattr(m.CLOSED.__closure__[0], "cell_contents", f),
    "by_module": lambda m, f: setattr(m.other, "h", f),
    "by_module_none": lambda m, f: setattr(m.other, "none", f),
    "by_module_item": lambda m, f: m.other.OPS.__setitem__("f", f),
}


@pytest.mark.parametrize("what", BINDINGS)
def test_what_is_bound_anew_between_calls_is_seen_by_the_next(main, what):
    third = sys.modules["third"]
    double = 2.0 if what == "by_nested" else 1.0
    kept = ag.grad(getattr(main, what.strip()), adopt=True)
    first = kept(0.5)
    for f, expected in (
        (math.exp, math.exp(0.5)),
        (third.exp, math.exp(0.5)),
        (math.sqrt, 0.5 / math.sqrt(0.5)),
        (functools.partial(math.pow, 2.0), math.log(2.0) * 2.0**0.5),
        (np.cos, -math.sin(0.5)),
        (lambda x: x * 3.0, 3.0),
        (math.sin, math.cos(0.5)),
    ):
        BINDINGS[what](main, f)
        assert kept(0.5) == pytest.approx(double * expected)
        assert kept(0.5) == pytest.approx(double * expected)
        assert ag.grad(getattr(main, what.strip()), adopt=True)(0.5) == pytest.approx(double * expected)
    assert first == pytest.approx(3.0 if what in ("by_none", "by_new_item", "by_last", "by_module_none") else
                                  double * math.cos(0.5))  # fmt: skip


def test_type_and_class_that_are_bound_anew_are_seen(main):
    gradient = ag.grad(main.by_type, adopt=True)
    assert gradient(0.5) == 2.0
    main.DT = float
    main.by_type.__code__ = (lambda x: DT(x) * 2.0).__code__  # noqa: F821
    assert gradient(0.5) == 2.0
    by_class = ag.grad(main.by_module_class, adopt=True)
    assert by_class(0.5) == pytest.approx(math.cos(0.5))
    main.other.Made = sys.modules["third"].Made
    assert by_class(0.5) == pytest.approx(math.exp(0.5))


def test_name_that_is_deleted_raises_as_in_a_plain_call(main):
    gradient = ag.grad(main.by_name, adopt=True)
    gradient(0.5)
    del main.h
    with pytest.raises(NameError):
        gradient(0.5)
    main.h = math.exp
    assert gradient(0.5) == pytest.approx(math.exp(0.5))


def test_comparison_with_a_name_that_is_bound_anew_answers_as_in_a_plain_call(program):
    main = program(
        main="""
        import math
        h = math.sin
        OPS = {"e": math.exp, "s": math.sin}
        def pick(g): return 1.0 if g is h else 2.0
        def f(x): return pick(OPS["e"]) * x
    """
    )
    gradient = ag.grad(main.f, adopt=True)
    assert gradient(0.5) == main.f(1.0) == 2.0
    main.h = math.exp
    assert gradient(0.5) == main.f(1.0) == 1.0
    main.h = math.sin
    assert gradient(0.5) == main.f(1.0) == 2.0


def test_comparison_with_a_name_of_a_module_that_is_bound_anew_answers_as_in_a_plain_call(program):
    program(names="import math\nh = math.sin")
    main = program(
        main="""
        import math, names
        OPS = {"e": math.exp, "s": math.sin}
        def f(x): return (1.0 if OPS["e"] is names.h else 2.0) * x
    """
    )
    gradient = ag.grad(main.f, adopt=True)
    assert gradient(0.5) == main.f(1.0) == 2.0
    main.names.h = math.exp
    assert gradient(0.5) == main.f(1.0) == 1.0


def test_key_of_a_dict_of_another_module_is_found(program):
    program(names="import math\nh = math.sin\nOPS = {'s': math.sin}")
    main = program(
        main="""
        import math, names
        NAMES = {math.sin: 2.0}
        def f(x): return NAMES.get(names.h, 3.0) * NAMES.get(names.OPS["s"], 5.0) * x
    """
    )
    assert ag.grad(main.f, adopt=True)(0.5) == main.f(1.0) == 4.0


SAME = """
    import math
    import numpy as np
    class Model:
        def __init__(self, k): self.k = k
        def __call__(self, x): return self.k * math.sin(x)
    class Other(Model): pass
    model = Model(2.0)
    count = 0
    table = np.zeros(3)
    def rule(k): return lambda x: k * x
    CACHE, HISTORY, TAPE, SEEN = {}, [], [rule(1.0)], [Model(1.0)]
    unused = None
    step = rule(2.0)
    def f(x):
        global count
        count += 1
        CACHE[str(count)] = float(count)
        HISTORY.append(np.ones(2))
        TAPE[0] = rule(float(count))
        SEEN.append(Model(2.0))
        return step(model(x)) + 0.0 * table.sum() + len(TAPE) * 0.0
"""


def test_numbers_arrays_objects_and_functions_made_anew_are_no_change(program, monkeypatch):
    main = program(main=SAME)
    gradient = ag.grad(main.f, adopt=True)
    gradient(0.5)
    searches = []
    plain = reach.Reach.search
    monkeypatch.setattr(reach.Reach, "search", lambda self: (searches.append(self), plain(self)))
    for i in range(5):
        main.model = main.Model(3.0)
        main.table = np.full(3, i)
        main.step = main.rule(2.0)
        main.unused = main.Other(1.0)
        assert gradient(0.5) == pytest.approx(6.0 * math.cos(0.5))
    assert not searches
    main.model = main.Other(4.0)
    assert gradient(0.5) == pytest.approx(8.0 * math.cos(0.5))
    assert searches


def test_name_that_the_program_binds_in_a_call_is_seen_by_the_next(program):
    main = program(
        main="""
        import math
        h = math.sin
        calls = 0
        OPS = {"f": math.sin}
        def f(x, real):
            global h, calls
            calls += 1
            y = h(x) + OPS["f"](x)
            h = real
            OPS["f"] = real
            return y
    """
    )
    gradient = ag.grad(main.f, adopt=True)
    assert gradient(0.5, math.exp) == pytest.approx(2.0 * math.cos(0.5))
    assert main.h is math.exp
    assert main.OPS["f"] is math.exp
    assert gradient(0.5, math.exp) == pytest.approx(2.0 * math.exp(0.5))
    assert main.calls == 2
    main.h = math.sqrt
    with pytest.raises(ValueError, match=r"math domain error|nonnegative input"):
        gradient(-0.5, math.exp)
    assert main.calls == 3
    assert main.h is math.sqrt


def test_name_that_another_thread_binds_in_a_call_is_seen_by_the_next(program):
    main = program(
        main="""
        import math
        h = math.sin
        def f(x, wait):
            y = h(x)
            wait()
            return y
        def g(x): return h(x)
    """
    )
    inside, done = threading.Event(), threading.Event()
    found = []

    def other():
        assert inside.wait(30)
        main.h = sys.modules["math"].exp
        found.append(main.g(0.5))
        done.set()

    def wait():
        inside.set()
        assert done.wait(30)

    thread = threading.Thread(target=other)
    thread.start()
    gradient = ag.grad(main.f, adopt=True)
    assert gradient(0.5, wait) == pytest.approx(math.cos(0.5))
    thread.join()
    assert found == [math.exp(0.5)]
    assert main.h is math.exp
    assert gradient(0.5, lambda: None) == pytest.approx(math.exp(0.5))


def test_name_that_is_bound_around_a_nested_call_is_seen_when_no_call_runs(program):
    main = program(
        main="""
        import math, types
        h = math.sin
        model = types.SimpleNamespace(f=lambda x: x * 2.0)
        def g(x): return h(x)
        def k(x): return model.f(x)
    """
    )
    inner, by_model = ag.grad(main.g, adopt=True), ag.grad(main.k, adopt=True)
    inner(0.5)
    by_model(0.5)
    third = {"__name__": "third"}
    exec("import math\ndef f(x): return math.exp(x)", third)

    def f(x):
        y = main.g(x)
        main.h = sys.modules["math"].exp
        with pytest.raises(TypeError, match="becomes a Python number"):
            inner(0.25)  # refused while a call runs that found another
        main.model = types.SimpleNamespace(f=third["f"])
        assert by_model(0.25) == pytest.approx(math.exp(0.25))
        return y

    assert ag.grad(f, adopt=True)(0.5) == pytest.approx(math.cos(0.5))
    assert main.h is math.exp
    assert inner(0.5) == pytest.approx(math.exp(0.5))
    assert by_model(0.5) == pytest.approx(math.exp(0.5))


def test_closure_that_is_bound_anew_is_seen():
    h = math.sin

    def bind(f):
        nonlocal h
        h = f

    gradient = ag.grad(lambda x: h(x), adopt=True)
    assert gradient(0.5) == pytest.approx(math.cos(0.5))
    bind(math.exp)
    assert gradient(0.5) == pytest.approx(math.exp(0.5))


def closed(first, second=math.exp):
    """A function that holds one function in a cell and one in a default argument, and what binds them anew."""

    def f(x, g=second):
        return first(x) * g(x)

    def bind(thing):
        nonlocal first
        first = thing

    def unbind():
        nonlocal first
        del first

    return f, bind, unbind


@pytest.mark.parametrize("change", ["cell", "default", "number of defaults", "cell to a function of the program's"])
def test_what_a_function_holds_is_seen_when_it_is_bound_anew(change):
    f, bind, _ = closed(math.sin)
    df = ag.grad(f, adopt=True)
    assert df(0.7) == pytest.approx(math.exp(0.7) * (math.sin(0.7) + math.cos(0.7)), rel=1e-14)
    if change == "cell":
        bind(math.cos)
    elif change == "default":
        f.__defaults__ = (math.log,)
    elif change == "number of defaults":
        f.__defaults__ = (0.7, math.log)
    else:
        bind(lambda x: math.sqrt(x))
    assert df(0.7) == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6, rel=1e-8)


def test_cell_that_is_deleted_in_a_call_or_between_calls_stays_empty():
    f, bind, unbind = closed(math.sin)

    def ends(x):
        y = f(x)
        unbind()
        return y

    for run in (lambda: ag.grad(ends, adopt=True)(0.7), unbind):
        bind(math.sin)
        run()
        with pytest.raises(NameError, match="first"):
            f(0.7)
        with pytest.raises(NameError, match="first"):
            ag.grad(f, adopt=True)(0.7)
    bind(math.sin)
    assert f(0.7) == math.sin(0.7) * math.exp(0.7)
    assert f.__closure__[0].cell_contents is math.sin


def test_attribute_of_an_argument_that_is_bound_anew_is_seen(main):
    gradient = ag.grad(lambda x, model: model(x), adopt=True)
    model = main.Model(math.sin)
    assert gradient(0.5, model) == pytest.approx(math.cos(0.5))
    model.f = math.cosh  # math.exp is compared by `is` in this file, which may keep it
    assert gradient(0.5, model) == pytest.approx(math.sinh(0.5))
    assert gradient(0.5, main.Model(math.sqrt)) == pytest.approx(0.5 / math.sqrt(0.5))


def test_function_that_is_called_again_by_backward_sees_what_is_bound_then(program):
    main = program(
        main="""
        import math
        import arraygrad as ag
        OPS = {"f": math.exp}
        def body(x): return OPS["f"](x)
        def f(x): return ag.checkpoint(body)(x) * 2.0
    """
    )
    x = ag.tensor(0.5, requires_grad=True)
    y = ag.adopt(main.f)(x)
    main.OPS["f"] = math.exp
    main.OPS["g"] = math.sin
    y.backward()
    assert x.grad.item() == pytest.approx(2.0 * math.exp(0.5))
    assert main.OPS["f"] is math.exp


def test_keys_of_watched_dicts_are_not_compared(program):
    main = program(
        main="""
        import math
        asked = []
        class Key:
            def __hash__(self): asked.append("hash"); return 1
            def __eq__(self, other): asked.append("=="); return self is other
        KEY = Key()
        OPS = {KEY: math.sin}
        def f(x): return sum(g(x) for g in OPS.values())
    """
    )
    gradient = ag.grad(main.f, adopt=True)
    gradient(0.5)
    main.OPS[main.KEY] = math.exp
    main.asked.clear()
    assert gradient(0.5) == pytest.approx(math.exp(0.5))
    assert "==" not in main.asked
