"""Lists, attributes, partials and other places that hold functions of math: stand-ins there, and nothing left behind.

Imports the public names of arraygrad. Programs are modules written for the test.
"""

import copy
import functools
import math
import pickle
import sys
import threading
import types

import numpy as np
import pytest

import arraygrad as ag

PLACES = """
    import functools, math, types
    import numpy as np
    from dataclasses import dataclass
    from typing import Callable

    p = functools.partial(math.pow, 2.0)
    by_word = functools.partial(lambda x, f: f(x), f=math.exp)
    in_tuple = (functools.partial(math.pow, 2.0),)
    FS = [math.exp, math.sin]
    DEEP = {"a": [math.exp, {"b": math.sin}]}
    SPACE = types.SimpleNamespace(f=math.exp, fs=[math.sin])
    V = np.vectorize(math.exp)
    class Model:
        SHARED = [math.exp]
        TABLE = {"f": math.exp}
        def __init__(self, f):
            self.f = f
            self.fs = [math.sin, f]
            self.table = {"f": f}
        def __call__(self, x): return self.f(x) + self.fs[0](x) * self.fs[1](x) + self.table["f"](x)
    @dataclass
    class Data:
        f: Callable
    MODEL = Model(math.exp)
    DATA = Data(math.exp)
    class Owner: data = Data(math.exp)

    def partial(x): return p(x)
    def keyword(x): return by_word(x)
    def inside_tuple(x): return in_tuple[0](x)
    def of_list(x): return FS[0](x) * FS[1](x) + sum(f(x) for f in FS)
    def deep(x): return DEEP["a"][0](x) * DEEP["a"][1]["b"](x)
    def space(x): return SPACE.f(x) + SPACE.fs[0](x)
    def vectorized(x): return V(np.array([1.0, 2.0]) * x).sum()
    def model(x): return MODEL(x)
    def of_class(x): return Model.SHARED[0](x) + Model.TABLE["f"](x)
    def data(x): return DATA.f(x)
    def of_owner(x): return Owner.data.f(x)
"""
E5, S5, C5 = math.exp(0.5), math.sin(0.5), math.cos(0.5)
OF_MODEL = E5 + C5 * E5 + S5 * E5 + E5
EXPECTED = {
    "partial": math.log(2.0) * 2.0**0.5,
    "keyword": E5,
    "inside_tuple": math.log(2.0) * 2.0**0.5,
    "of_list": E5 * S5 + E5 * C5 + E5 + C5,
    "deep": E5 * S5 + E5 * C5,
    "space": E5 + C5,
    "vectorized": E5 + 2.0 * math.e,
    "model": OF_MODEL,
    "of_class": 2.0 * E5,
    "data": E5,
    "of_owner": E5,
}


def same(a, b):
    return a is b


@pytest.fixture
def main(program):
    return program(main=PLACES)


@pytest.mark.parametrize("name", EXPECTED)
def test_places_are_reached(main, name):
    assert ag.grad(getattr(main, name), adopt=True)(0.5) == pytest.approx(EXPECTED[name])
    assert ag.grad(getattr(main, name), adopt=True)(0.5) == pytest.approx(EXPECTED[name])


def test_objects_in_arguments_and_closures_are_reached(main):
    model = main.Model(math.exp)
    holder = [model, math.exp]
    assert ag.grad(lambda x, m: m(x), adopt=True)(0.5, model) == pytest.approx(OF_MODEL)
    assert ag.grad(lambda x, m: m[0](x), adopt=True)(0.5, [model]) == pytest.approx(OF_MODEL)
    assert ag.grad(lambda x: model(x), adopt=True)(0.5) == pytest.approx(OF_MODEL)
    assert ag.grad(lambda x: holder[0](x) + holder[1](x), adopt=True)(0.5) == pytest.approx(OF_MODEL + E5)
    assert ag.grad(model.__call__, adopt=True)(0.5) == pytest.approx(OF_MODEL)
    assert ag.grad(model, adopt=True)(0.5) == pytest.approx(OF_MODEL)
    assert ag.grad(functools.partial(math.pow, 2.0), adopt=True)(0.5) == pytest.approx(math.log(2.0) * 2.0**0.5)


def real_things(main):
    """All that the places hold, which must be the real things outside of a call."""
    m = main.MODEL
    found = [
        main.p.func, main.in_tuple[0].func, *main.FS, main.DEEP["a"][0], main.DEEP["a"][1]["b"], main.SPACE.f,
        main.SPACE.fs[0], main.V.pyfunc, m.f, *m.fs, m.table["f"], main.Model.SHARED[0], main.Model.TABLE["f"],
        main.DATA.f, main.Owner.data.f, main.by_word.keywords["f"],
    ]  # fmt: skip
    assert main.p.args == (2.0,)
    assert main.p.keywords == {}
    return found


def all_of(main, x):
    return sum(getattr(main, name)(x) for name in EXPECTED)


@pytest.mark.parametrize("raises", [False, True])
def test_real_things_are_back_after_the_call(main, raises):
    before = real_things(main)
    inside = []

    def f(x):
        inside.extend(real_things(main))
        y = all_of(main, x)
        if raises:
            raise KeyError("x")
        return y

    gradient = ag.grad(f, adopt=True)
    if raises:
        with pytest.raises(KeyError):
            gradient(0.5)
    else:
        assert gradient(0.5) == pytest.approx(sum(EXPECTED.values()))
    assert not any(same(a, b) for a, b in zip(before, inside, strict=True))
    assert all(same(a, b) for a, b in zip(before, real_things(main), strict=True))
    assert all(same(type(f(*(2.0,) * (1 + (f.__name__ == "pow")))), float) for f in inside)  # what is kept


def test_nested_calls_share_the_places(main):
    before = real_things(main)
    inner = ag.grad(main.of_list, adopt=True)

    def f(x):
        y = inner(0.5) * main.of_list(x)
        with pytest.raises(ZeroDivisionError):
            ag.grad(lambda t: main.FS[0](t) / 0, adopt=True)(1.0)
        return y + main.model(x) + main.partial(x)

    expected = EXPECTED["of_list"] ** 2 + OF_MODEL + EXPECTED["partial"]
    assert ag.grad(f, adopt=True)(0.5) == pytest.approx(expected)
    assert all(same(a, b) for a, b in zip(before, real_things(main), strict=True))


def test_list_that_two_modules_share_keeps_its_stand_ins_until_the_last_call_ends(main, program):
    other = program(other="from main import FS\ndef g(x): return FS[0](x)")
    inside, leave = threading.Event(), threading.Event()
    found = []

    def wait(x):
        inside.set()
        assert leave.wait(30)
        return other.g(x)

    thread = threading.Thread(target=lambda: found.append(ag.grad(wait, adopt=("other",))(0.5)))
    thread.start()
    assert inside.wait(30)
    assert ag.grad(main.of_list, adopt=True)(0.5) == pytest.approx(EXPECTED["of_list"])
    leave.set()
    thread.join()
    assert found == [pytest.approx(E5)]
    assert same(main.FS[0], math.exp)


def test_threads_that_record_at_once_leave_the_places_as_they_were(main):
    before = real_things(main)
    failed = []

    def work(name):
        gradient = ag.grad(getattr(main, name), adopt=True)
        for _ in range(100):
            if not math.isclose(gradient(0.5), EXPECTED[name]):
                failed.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("of_list", "model", "partial", "space")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert all(same(a, b) for a, b in zip(before, real_things(main), strict=True))


def test_another_thread_computes_plain_numbers_with_the_places(main):
    expected = all_of(main, 0.5)
    found = []
    inside, done = threading.Event(), threading.Event()

    def other():
        assert inside.wait(30)
        found.append(all_of(main, 0.5))
        found.append([type(f(0.5)) for f in main.FS])
        done.set()

    def f(x):
        inside.set()
        assert done.wait(30)
        return all_of(main, x)

    thread = threading.Thread(target=other)
    thread.start()
    ag.grad(f, adopt=True)(0.5)
    thread.join()
    assert found == [expected, [float, float]]


def refused(f):
    with pytest.raises(TypeError, match="becomes a Python number"):
        ag.grad(f, adopt=True)(1.0)
    return True


# Comparisons that no real thing takes part in: they have no price.
RECORDED = (
    "type(1.0) is KIND.k", "np.ones(1).dtype.type is KIND.n", "any([type(1.0) is k for k in KIND])",
    "type(1.0) is KIND[0] and float('1')", "p.func is math.pow", "DATA == D", "DATA in D",
)  # fmt: skip


class TestComparisons:
    """The adopted call takes the branch of the plain call, or is refused."""

    @pytest.mark.parametrize(
        ("more", "body"),
        [
            ("", "FS[0] is math.exp"),
            ("", "math.exp is FS[0]"),
            ("", "FS[0] == math.exp"),
            ("", "math.exp in FS"),
            ("", "FS.index(math.sin) == 1"),
            ("", "FS.count(math.sin) == 1"),
            ("", "FS == [math.exp, math.sin]"),
            ("T = (math.exp, math.sin)", "T[0] in FS"),
            ("T = (math.exp, math.sin)", "[t for t in T] == FS"),
            ("T = (math.exp, math.sin)", "all(map(lambda a, b: a is b, T, FS))"),
            ("T = (math.exp, math.sin)", "FS.index(T[1]) == 1"),
            ("T = (math.exp, math.sin)", "tuple(FS) == T"),
            ("class K: f = math.exp", "K.f in FS"),
            ("class K: f = math.exp", "K.f is MODEL.f"),
            ("class K: f = staticmethod(math.exp)", "K.f is MODEL.f"),
            ("S = {math.exp}", "FS[0] in S"),
            ("S = {math.exp}\ndef ask(s, f): return f in s", "ask(S, MODEL.f)"),
            ("NAMES = {math.exp: 1}", "NAMES.get(MODEL.f) == 1"),
            ("NAMES = {math.exp: 1}\ndef ask(n, f): return n.get(f) == 1", "ask(NAMES, SPACE.f)"),
            ("", "MODEL.f is math.exp"),
            ("", "SPACE.f is math.exp and SPACE.fs[0] is math.sin"),
            ("", "p.func is math.pow"),
            ("", "V.pyfunc is math.exp"),
            ("D = Data(math.exp)", "DATA == D"),
            ("D = (Data(math.exp),)", "DATA in D"),
            ("G = getattr(__import__('importlib').import_module('math'), 'exp')", "G is FS[0]"),
            ("def late(): return getattr(__import__('sys').modules['math'], 'exp')", "late() in FS"),
            ("def late(): return getattr(__import__('sys').modules['math'], 'exp')", "late() is FS[0]"),
            ("def late(): return getattr(__import__('sys').modules['math'], 'exp')", "FS[0] == late()"),
            ("def late(): return getattr(__import__('sys').modules['math'], 'exp')", "MODEL.f is late()"),
            ("KIND = types.SimpleNamespace(k=float, n=np.float64, xp=np)", "type(1.0) is KIND.k"),
            ("KIND = types.SimpleNamespace(k=float, n=np.float64, xp=np)", "np.ones(1).dtype.type is KIND.n"),
            ("KIND = [float, np]", "any([type(1.0) is k for k in KIND])"),
            ("KIND = (float, int)", "type(1.0) is KIND[0] and float('1')"),
            ("from collections import deque, namedtuple\nQ = deque([math.exp])", "Q[0] in FS"),
            ("from collections import namedtuple\nN = namedtuple('N', 'f')(math.exp)", "N.f in FS"),
            ("@dataclass(frozen=True)\nclass F:\n        f: Callable\nR = {F(math.exp): 1}", "F(FS[0]) in R"),
            ("class Slots:\n        __slots__ = ('f',)\nS = Slots(); S.f = math.exp", "S.f in FS"),
        ],
    )
    def test_branch_is_that_of_the_plain_call(self, program, more, body):
        more = more.replace("\n", "\n    ")
        source = f"{PLACES}\n    {more}\n    def f(x): return x * (2.0 if {body} else 3.0)\n"
        main = program(main=source)
        assert main.f(1.0) == 2.0
        assert ag.grad(main.f, adopt=True)(1.0) == 2.0
        source += f"    def g(x): return x * (2.0 if {body} else 3.0) + 0.0 * FS[0](x) + 0.0 * MODEL(x)\n"
        main = program(more=source)
        assert ag.grad(main.g, adopt=True)(1.0) == 2.0 if body in RECORDED else refused(main.g)

    def test_real_function_among_the_arguments_is_found_in_a_list(self, program):
        main = program(main=PLACES + "    def f(x, g): return x * (2.0 if g in FS else 3.0)\n"
                       "    def k(x, g): return x * (2.0 if [f for f in FS if f is g[0]] else 3.0)")  # fmt: skip
        assert ag.grad(main.f, adopt=True)(1.0, math.exp) == 2.0
        assert ag.grad(main.k, adopt=True)(1.0, [math.exp]) == 2.0
        assert ag.grad(main.k, adopt=True)(1.0, {0: math.exp}) == 2.0

    def test_another_thread_that_compares_in_the_module_sees_the_real_things(self, program):
        main = program(main=PLACES + "    def compares(): return FS[0] is math.exp, MODEL.f is math.exp\n")
        inside, done = threading.Event(), threading.Event()
        found = []

        def other():
            assert inside.wait(30)
            found.append(main.compares())
            done.set()

        def f(x):
            inside.set()
            assert done.wait(30)
            return x * 2.0 if main.DATA and main.FS else main.model(x)

        thread = threading.Thread(target=other)
        thread.start()
        assert ag.grad(f, adopt=True)(0.5) == 2.0
        thread.join()
        assert found == [(True, True)]


CHANGES = {
    "FS.append(math.tan)": ["exp", "sin", "tan"],
    "FS.append(FS[0])": ["exp", "sin", "exp"],
    "FS.insert(0, 5.0)": [5.0, "exp", "sin"],
    "FS.pop()": ["exp"],
    "FS.pop(0)": ["sin"],
    "FS.reverse()": ["sin", "exp"],
    "FS.clear()": [],
    "FS[:] = FS[1:] + FS[:1] + [1.0]": ["sin", "exp", 1.0],
    "FS[0] = 3.0": [3.0, "sin"],
    "FS.sort(key=lambda f: -len(f.__name__) if f is FS[0] else 0)": ["exp", "sin"],
    "FS.extend([2.0] * 300)": ["exp", "sin"] + [2.0] * 300,
    "FS[0], FS[1] = FS[1], FS[0]": ["sin", "exp"],
}


@pytest.mark.parametrize("change", CHANGES)
def test_list_that_the_program_changes_stays_changed(program, change):
    main = program(main=PLACES + f"    def f(x):\n        y = FS[0](x)\n        {change}\n        return y")
    if " is " in change:  # the search leaves what is compared alone
        assert refused(main.f)
        return
    assert ag.grad(main.f, adopt=True)(0.5) == pytest.approx(E5)
    expected = [getattr(math, item) if isinstance(item, str) else item for item in CHANGES[change]]
    assert len(main.FS) == len(expected)
    assert all(
        same(a, b) or a == b or (callable(a) and a(0.5) == b(0.5) and type(a(0.5)) is float)
        for a, b in zip(main.FS, expected, strict=True)
    )


def test_attributes_that_the_program_changes_stay_changed(program):
    main = program(
        main=PLACES
        + """
    OTHER = Model(math.exp)
    def f(x):
        y = MODEL.f(x) + SPACE.f(x) + OTHER.f(x)
        MODEL.f = 7.0
        MODEL.new = 8.0
        del SPACE.f
        OTHER.__dict__ = {"g": 9.0}
        p.mark = 10.0
        V.pyfunc = float
        return y
    """
    )
    assert ag.grad(main.f, adopt=True)(0.5) == pytest.approx(3.0 * E5)
    assert (main.MODEL.f, main.MODEL.new, vars(main.OTHER), main.p.mark) == (7.0, 8.0, {"g": 9.0}, 10.0)
    assert not hasattr(main.SPACE, "f")
    assert main.V.pyfunc("2") == 2.0
    assert same(main.p.func, math.pow)


def test_code_of_objects_does_not_run(program):
    main = program(
        main="""
        import math
        ran = []
        class Object:
            __slots__ = ("f", "__dict__", "__weakref__")
            def __init__(self):
                self.f = math.tan
                self.__dict__["g"] = math.exp
                self.__dict__["k"] = math.sin
            @property
            def k(self): ran.append("get"); return self.__dict__["k"]
            @k.setter
            def k(self, value): ran.append("set")
            def __getattr__(self, name): ran.append(("getattr", name)); raise AttributeError(name)
            def __getattribute__(self, name):
                if name not in ("f", "g", "__dict__", "__class__"): ran.append(("getattribute", name))
                return object.__getattribute__(self, name)
            def __setattr__(self, name, value):
                if name != "f": ran.append(("setattr", name))
                object.__setattr__(self, name, value)
            def __delattr__(self, name): ran.append("delattr")
            def __eq__(self, other): ran.append("=="); return True
            __hash__ = object.__hash__
            def __len__(self): ran.append("len"); return 1
            def __bool__(self): ran.append("bool"); return True
        class Hashed:
            def __init__(self): self.f = math.exp
            def __hash__(self): ran.append("hash"); return hash(self.f)
        class Dict(dict):
            def items(self): ran.append("items"); return dict.items(self)
            def values(self): ran.append("values"); return dict.values(self)
            def __iter__(self): ran.append("iter"); return dict.__iter__(self)
            def get(self, *a): ran.append("get"); return dict.get(self, *a)
            def __setitem__(self, k, v): ran.append("setitem"); dict.__setitem__(self, k, v)
        class List(list):
            def __iter__(self): ran.append("iter"); return list.__iter__(self)
            def __len__(self): ran.append("len"); return list.__len__(self)
            def __getitem__(self, i): ran.append("getitem"); return list.__getitem__(self, i)
        OBJECT, HASHED, DICT, LIST = Object(), Hashed(), Dict(f=math.exp), List([math.exp])
        def f(x): return OBJECT.g(x)
        def slot(x): return OBJECT.f(x)
        def hashed(x): return HASHED.f(x)
        def of_dict(x): DICT; return x * 2.0
        def of_list(x): LIST; return x * 2.0
        def by_argument(x, o): return o.g(x)
    """
    )
    main.ran.clear()
    for _ in range(2):
        assert ag.grad(main.f, adopt=True)(0.5) == pytest.approx(E5)
        assert ag.grad(main.by_argument, adopt=True)(0.5, main.OBJECT) == pytest.approx(E5)
    for refused in (main.slot, main.hashed):
        with pytest.raises(TypeError, match="becomes a Python number"):
            ag.grad(refused, adopt=True)(0.5)
    assert main.ran == []
    assert same(main.OBJECT.__dict__["g"], math.exp)
    assert same(main.OBJECT.__dict__["k"], math.sin)


def test_copies_made_in_the_call_behave_as_the_real_things_afterwards(program):
    main = program(
        main=PLACES
        + """
    import copy
    kept = []
    def f(x):
        kept.extend([copy.copy(MODEL), copy.deepcopy(MODEL), list(FS), dict(DEEP), copy.copy(p), copy.copy(SPACE)])
        return MODEL(x)
    """
    )
    assert ag.grad(main.f, adopt=True)(0.5) == pytest.approx(OF_MODEL)
    shallow, deep, functions, deeper, partial, space = main.kept
    plain = main.MODEL(0.5)
    assert shallow(0.5) == plain
    assert deep(0.5) == plain
    assert [f(0.5) for f in functions] == [math.exp(0.5), math.sin(0.5)]
    assert type(functions[0](0.5)) is float
    assert deeper["a"][0](0.5) == math.exp(0.5)
    assert partial(3.0) == 8.0
    assert space.f(0.5) == math.exp(0.5)
    for model in (shallow, deep, main.MODEL):
        assert ag.grad(lambda x, m: m(x), adopt=True)(0.5, model) == pytest.approx(OF_MODEL)
    t = ag.tensor(0.5, requires_grad=True)
    with pytest.warns(UserWarning, match="becomes a Python number"):
        assert type(functions[0](t)) is float
    assert pickle.loads(pickle.dumps(main.MODEL))(0.5) == plain
    assert same(copy.copy(main.MODEL).f, math.exp)


def test_pickle_in_the_call_names_the_real_functions(program):
    main = program(
        main=PLACES
        + """
    import io, pickle
    import pickle as other
    from pickle import dumps
    W = functools.partial(np.sum, axis=0)
    kept = []
    def f(x):
        held = [MODEL, FS, DEEP, p, SPACE, V, W, DATA.f]
        file = io.BytesIO()
        pickle.dump(held, file, 5)
        kept.extend([pickle.dumps(held), other.dumps(held, protocol=0), dumps(held, 4), file.getvalue()])
        copied = pickle.loads(kept[0])[0]
        return MODEL(x) + float(copied(0.5)) * 0.0
    def inside(x):
        from pickle import dumps as d
        kept.append(d([MODEL, FS, DEEP, p, SPACE, V, W, DATA.f]))
        return MODEL(x)
    """
    )
    assert ag.grad(main.f, adopt=True)(0.5) == pytest.approx(OF_MODEL)
    assert ag.grad(main.inside, adopt=True)(0.5) == pytest.approx(OF_MODEL)
    assert len(main.kept) == 5
    for written in main.kept:
        assert b"arraygrad" not in written
        model, functions, deep, partial, space, vectorized, summed, function = pickle.loads(written)
        for found in (model.f, model.fs[1], model.table["f"], functions[0], deep["a"][0], space.f, function):
            assert same(found, math.exp)
        assert same(partial.func, math.pow)
        assert same(summed.func, np.sum)
        assert type(vectorized) is np.vectorize
        assert same(vectorized.pyfunc, math.exp)


@pytest.mark.parametrize("make", ["copy.copy", "copy.deepcopy"])
def test_copies_made_in_the_call_are_recorded_there(program, make):
    pytest.importorskip("scipy.stats")
    main = program(
        main=PLACES
        + f"""
    import copy
    import scipy.stats
    MODELS = [Data(math.exp), Data(np.vectorize(math.exp)), Data(scipy.stats.norm), Data(scipy.stats.norm.logpdf)]
    def f(x):
        exp, vectorized, norm, logpdf = [{make}(m).f for m in MODELS]
        return exp(x) + vectorized(np.array([1.0, 2.0]) * x).sum() + norm.logpdf(x) + logpdf(x)
    """
    )
    assert ag.grad(main.f, adopt=True)(0.5) == pytest.approx(E5 + E5 + 2.0 * math.e - 1.0)


def test_objects_of_arguments_are_not_kept_alive(main):
    import gc
    import weakref

    gradient = ag.grad(lambda x, m: m(x), adopt=True)
    model = main.Model(math.exp)
    model.data = np.zeros(3)
    seen, data = weakref.ref(model), weakref.ref(model.data)
    gradient(0.5, model)
    del model
    gc.collect()
    assert seen() is None
    assert data() is None


def test_names_of_libraries_stay_real(main):
    held = types.SimpleNamespace(names=vars(math), module=math)
    real = dict(vars(math))
    seen = []

    def f(x):
        seen.extend(held.names[name] is value for name, value in real.items())
        return math.exp(x)

    assert ag.grad(f, adopt=True)(0.5) == pytest.approx(E5)
    assert all(seen)
    assert sys.modules["math"].exp is real["exp"]
