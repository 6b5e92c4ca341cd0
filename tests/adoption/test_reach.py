"""Which code an adopted call reaches, and that nothing of it is left behind.

Imports the public names of arraygrad, and arraygrad.adoption's stand-ins where a test looks for them. Programs are
modules written for the test.
"""

import functools
import inspect
import math
import sys
import textwrap
import threading
import types

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.adoption.calls  # fills the table of stand-ins
from arraygrad.adoption import reach
from arraygrad.adoption.table import STAND_INS

X = np.asarray([0.5, 1.0, 2.0])


def same(a, b):
    """`a is b`: a module that compares one of the names itself has no stand-in for it."""
    return a is b


def equal(a, b):
    return a == b


LIBRARY = """
    import math
    from math import exp
    import numpy as np
    from numpy import zeros

    def fill(x):
        out = zeros(3)
        out[0] = math.sin(x[0])
        out[1] = exp(x[1])
        return out

    class Base:
        def inherited(self, x):
            out = np.zeros(3)
            out[2] = x[2]
            return out

    class Model(Base):
        scale = 2.0
        def __init__(self, n): self.n = n
        def method(self, x): return fill(x) * self.scale
        @property
        def table(self): return np.zeros(self.n)
        @staticmethod
        def static(x):
            out = np.empty(1); out[0] = x[0]; return out
        @classmethod
        def made(cls, x):
            out = cls(3).table; out[:] = x; return out
        def __call__(self, x): return self.method(x)
        def __add__(self, x): return self.method(x)

    def decorated(f):
        def wrapper(*args): return f(*args) * 1.0
        return wrapper

    @decorated
    def through_a_decorator(x): return fill(x)

    def generator(x):
        for i in range(3):
            out = np.zeros(1)
            out[0] = x[i] * x[i]
            yield out

    TABLE = {"sin": math.sin, "fill": lambda x: fill(x)}
    MODEL = Model(3)

    def with_defaults(x, sine=math.sin, *, make=np.zeros):
        out = make(1); out[0] = sine(x[0]); return out
"""
FILLED = "np.cos(X[0]), np.exp(X[1]), 0"
CALLS = {
    "m.fill(x).sum()": FILLED,
    "m.Model(3).method(x).sum()": "2*np.cos(X[0]), 2*np.exp(X[1]), 0",
    "m.MODEL(x).sum()": "2*np.cos(X[0]), 2*np.exp(X[1]), 0",
    "(m.MODEL + x).sum()": "2*np.cos(X[0]), 2*np.exp(X[1]), 0",
    "m.MODEL.inherited(x).sum()": "0, 0, 1",
    "m.Model.static(x)[0]": "1, 0, 0",
    "m.Model.made(x).sum()": "1, 1, 1",
    "m.through_a_decorator(x).sum()": FILLED,
    "sum(out[0] for out in m.generator(x))": "2*X[0], 2*X[1], 2*X[2]",
    "m.TABLE['sin'](x[0]) + m.TABLE['fill'](x)[1]": FILLED,
    "m.with_defaults(x)[0]": "np.cos(X[0]), 0, 0",
    "functools.partial(m.fill, x)().sum()": FILLED,
    "[f(x) for f in (m.fill, m.MODEL)][0].sum()": FILLED,
    "(lambda g: g(x).sum())(m.fill)": FILLED,
    "getattr(m, 'fill')(x).sum()": FILLED,
}


@pytest.mark.parametrize(("call", "expected"), CALLS.items())
def test_code_of_another_module_is_reached(program, call, expected):
    if call.startswith("getattr"):
        source = "import library as m\ndef f(x): return m.fill(x).sum()"
    else:
        source = f"import functools, library as m\ndef f(x): return {call}"
    main = program(library=LIBRARY, main=source)
    expected = eval(f"[{expected}]", {"np": np, "X": X})
    np.testing.assert_allclose(ag.grad(main.f, adopt=True)(X), expected)


def test_modules_of_a_package_and_relative_imports_are_reached(program):
    main = program(
        pkg_inner="import numpy as np\ndef g(x):\n    out = np.zeros(1); out[0] = x[0]; return out",
        pkg_outer="from . import inner\nfrom .inner import g\ndef f(x): return inner.g(x)[0] * g(x)[0]",
        main="import pkg.outer\ndef f(x): return pkg.outer.f(x)",
    )
    assert ag.grad(main.f, adopt=True)(X).tolist() == [1.0, 0.0, 0.0]


def test_a_module_that_a_function_imports_in_its_body_is_reached(program):
    main = program(library=LIBRARY, main="def f(x):\n    from library import fill\n    return fill(x).sum()")
    import library  # noqa: F401

    np.testing.assert_allclose(ag.grad(main.f, adopt=True)(X), [np.cos(X[0]), np.exp(X[1]), 0])


def test_objects_functions_and_modules_that_are_arguments_are_reached(program):
    library = program(library=LIBRARY)

    def f(x, model, fill, module, more):
        return model.method(x)[0] + fill(x)[1] + module.Model.static(x)[0] + more["list"][0](x)[0]

    expected = [2 * np.cos(X[0]) + 1 + np.cos(X[0]), np.exp(X[1]), 0]
    given = (library.Model(3), library.fill, library, {"list": [library.fill]})
    np.testing.assert_allclose(ag.grad(f, adopt=True)(X, *given), expected)


def test_attributes_of_objects_are_reached(program):
    library = program(library=LIBRARY)
    holder = types.SimpleNamespace(model=library.Model(3), step=functools.partial(library.fill))

    class Owner:
        def __init__(self):
            self.holder = holder

        def loss(self, x):
            return self.holder.model.method(x)[0] + self.holder.step(x)[1]

    np.testing.assert_allclose(ag.grad(Owner().loss, adopt=True)(X), [2 * np.cos(X[0]), np.exp(X[1]), 0])


def test_containers_that_hold_themselves_end_the_search():
    ring, table = [1.0], {"a": 1.0}
    ring.append(ring)
    table["b"] = table
    assert (
        ag.grad(lambda x, ring, table: (x * ring[0] * table["a"]).sum(), adopt=True)(X, ring, table).tolist()
        == [1.0] * 3
    )


def test_objects_among_arguments_are_reached_at_every_call(program):
    library = program(library=LIBRARY)
    gradient = ag.grad(lambda x, fill: fill(x).sum(), adopt=True)
    for fill in (np.sin, library.fill, np.sin, library.MODEL, library.Model(3).method):
        expected = ag.grad(lambda x, fill=fill: fill(x).sum(), adopt=True)(X)
        np.testing.assert_allclose(gradient(X, fill), expected)


def test_object_among_the_globals_is_reached_again_when_its_type_changes(program):
    program(library=LIBRARY)
    program(
        other="""
        import numpy as np
        class Squares:
            def fill(self, x):
                out = np.zeros(3)
                out[:2] = x[:2] ** 2
                return out
    """
    )
    main = program(
        main="""
        import math
        import library, other
        model = None
        compares = lambda f: f is math.exp
        def f(x): return (x * 3.0 if model is None else model.fill(x)).sum()
    """
    )
    gradient = ag.grad(main.f, adopt=True)
    library = sys.modules["library"]
    for _ in range(2):
        for model, expected in (
            (None, [3.0, 3.0, 3.0]),
            (types.SimpleNamespace(fill=library.fill), [np.cos(X[0]), np.exp(X[1]), 0.0]),
            (sys.modules["other"].Squares(), [1.0, 2.0, 0.0]),
        ):
            main.model = model
            np.testing.assert_allclose(gradient(X), expected)
            np.testing.assert_allclose(ag.grad(main.f, adopt=True)(X), expected)


def test_another_object_of_the_same_type_is_not_searched_anew(program, monkeypatch):
    main = program(
        main="""
        class Model:
            def __init__(self, k): self.k = k
            def __call__(self, x): return self.k * x
        model = Model(1.0)
        def f(x): return model(x).sum()
    """
    )
    gradient = ag.grad(main.f, adopt=True)
    assert gradient(X).tolist() == [1.0] * 3
    searches = []
    monkeypatch.setattr(reach.Reach, "search", lambda self: searches.append(self))
    for k in (2.0, 3.0):
        main.model = main.Model(k)
        assert gradient(X).tolist() == [k] * 3
    assert not searches


ALLOCATES = """
    import numpy as np
    def f(x: np.ndarray) -> np.ndarray:
        out = np.ndarray(x.shape, dtype=x.dtype)
        out[0] = x[0] ** 2
        out[1:] = np.ndarray(shape=(2,))
        out[1:] = 3.0 * x[1:]
        counts = np.ndarray(2, dtype=int)
        counts[:] = 4
        assert type(counts).__name__ == "ndarray" and np.array([1.0]).sum() == 1.0
        return out.sum() * counts.sum()
"""


def test_array_type_that_is_called_makes_arrays_that_can_be_written(program):
    main = program(main=ALLOCATES)
    assert ag.grad(main.f, adopt=True)(X).tolist() == [8.0, 24.0, 24.0]
    assert same(main.np, np)
    named = program(named=ALLOCATES.replace("import numpy as np", "import numpy as np\n    from numpy import ndarray")
                    .replace("np.ndarray(", "ndarray("))  # fmt: skip
    assert ag.grad(named.f, adopt=True)(X).tolist() == [8.0, 24.0, 24.0]
    assert same(named.ndarray, np.ndarray)


def test_array_over_memory_of_another_stays_an_array(program):
    main = program(
        main="""
        import numpy as np
        memory = np.zeros(3)
        def f(x):
            part = np.ndarray(3, buffer=memory)
            part[0] = x[0]
            return part.sum()
    """
    )
    with pytest.raises(TypeError, match="plain array"):
        ag.grad(main.f, adopt=True)(X)


@pytest.mark.parametrize(
    "line",
    [
        "assert type(np.ones(2, dtype=int)) is np.ndarray",
        "assert isinstance(x, np.ndarray)",
        "assert np.ones(2, dtype=int).view(np.ndarray).shape == (2,)",
        "assert np.ndarray in (np.ndarray, float)",
        "kind = np.ndarray",
    ],
)
def test_array_type_that_is_used_otherwise_has_no_stand_in(program, line):
    rest = ALLOCATES.replace("out = np.ndarray(x.shape, dtype=x.dtype)", f"{line}\n        out = np.zeros(3)")
    rest = rest.replace("out[1:] = np.ndarray(shape=(2,))", "np.ndarray(shape=(2,))")
    main = program(main=rest)
    assert ag.grad(main.f, adopt=True)(X).tolist() == [8.0, 24.0, 24.0]
    program(
        other="""
        import numpy as np
        def same(kind): return kind is np.ndarray
        def of(x): return isinstance(x, np.ndarray)
    """
    )
    main = program(caller=f"import other\n{textwrap.dedent(ALLOCATES)}".replace(
        "    return out", "    assert other.of(x) and other.same(type(counts))\n    return out"))  # fmt: skip
    assert ag.grad(main.f, adopt=True)(X).tolist() == [8.0, 24.0, 24.0]


def test_stand_in_for_the_array_type_answers_as_the_type(program):
    main = program(
        main="""
        import numpy as np
        def f(x, ask):
            ask(np)
            out = np.ndarray(3)
            out[:] = x
            return out.sum()
    """
    )
    answers = []

    def ask(xp):
        answers.extend([
            isinstance(np.ones(2), xp.ndarray), isinstance(2.0, xp.ndarray),
            issubclass(np.ma.MaskedArray, xp.ndarray),
            equal(xp.ndarray, np.ndarray), equal(np.ndarray, xp.ndarray), not equal(xp.ndarray, float),
            repr(xp.ndarray),
            hash(xp.ndarray) == hash(np.ndarray), same(xp.ndarray.sum, xp.ndarray.sum), type(xp.ndarray(2)),
        ])  # fmt: skip

    assert ag.grad(lambda x: main.f(x, ask), adopt=True)(X).tolist() == [1.0] * 3
    assert answers[:-1] == [True, False, True, True, True, True, "<class 'numpy.ndarray'>", True, True]


def test_names_of_packages_narrow_what_is_reached(program):
    main = program(library=LIBRARY, main="import library as m\ndef f(x): return m.fill(x).sum()")
    with pytest.raises(TypeError, match=r"becomes a Python number|plain array"):
        ag.grad(main.f, adopt=("main",))(X)
    expected = [np.cos(X[0]), np.exp(X[1]), 0]
    np.testing.assert_allclose(ag.grad(main.f, adopt=("main", "library"))(X), expected)
    np.testing.assert_allclose(ag.grad(main.f, adopt="library")(X), expected)


def test_names_of_packages_that_nothing_has_are_an_error(program):
    main = program(library=LIBRARY, main="import library as m\ndef f(x): return m.fill(x).sum()")
    with pytest.raises(ValueError, match="adopt: no module or package that is imported is called 'libary'"):
        ag.grad(main.f, adopt=("libary",))(X)
    np.testing.assert_allclose(ag.grad(main.f, adopt=("libary", "library"))(X), [np.cos(X[0]), np.exp(X[1]), 0])


def test_name_that_is_compared_by_identity_is_left_alone(program):
    main = program(
        main="""
        import numpy as np
        NAMESPACES = [np]
        KIND = float
        def f(x, xp=np):
            a = 2.0 if xp is np else 3.0
            b = 5.0 if NAMESPACES[0] is np else 7.0
            c = 11.0 if type(1.0) is KIND and KIND is float else 13.0
            return x[0] * (a * b * c)
        """
    )
    assert main.f(X) == 55.0
    assert ag.grad(main.f, adopt=True)(X).tolist() == [110.0, 0.0, 0.0]


def test_a_function_that_assigns_a_global_assigns_it(program):
    main = program(main="COUNT = 0\ndef f(x):\n    global COUNT\n    COUNT += 1\n    return x.sum()")
    ag.grad(main.f, adopt=True)(X)
    assert main.COUNT == 1


def test_notebook_that_binds_a_global_to_a_function_of_another_module(program):
    other = program(other="import math\ndef sine(x): return math.sin(x[0])")
    third = program(third="import math\nclass Model:\n    def __init__(self, x): self.value = math.exp(x[0])")
    cell = {"__name__": "__main__"}
    exec("import math\ndef model(x): return math.cos(x[0])\ndef loss(x): return 2.0 * model(x)", cell)
    loss = ag.grad(cell["loss"], adopt=True)
    assert loss(X)[0] == pytest.approx(-2.0 * np.sin(X[0]))
    cell["model"] = other.sine
    assert loss(X)[0] == pytest.approx(2.0 * np.cos(X[0]))
    cell["model"] = lambda x: third.Model(x).value
    assert loss(X)[0] == pytest.approx(2.0 * np.exp(X[0]))
    exec("def model(x): return math.sqrt(x[0])", cell)
    assert loss(X)[0] == pytest.approx(1.0 / np.sqrt(X[0]))


def test_module_named_as_one_of_the_standard_library_is_reached(program):
    before = sys.modules.pop("this", None)
    try:
        main = program(this=LIBRARY, main="import this as m\ndef f(x): return m.fill(x).sum()")
        np.testing.assert_allclose(ag.grad(main.f, adopt=True)(X), [np.cos(X[0]), np.exp(X[1]), 0])
    finally:
        if before is not None:
            sys.modules["this"] = before


def test_function_that_was_executed_in_a_bare_namespace_is_reached():
    names = {}
    exec("import math, numpy as np\ndef f(x):\n    out = np.zeros(1); out[0] = math.sin(x[0]); return out[0]", names)
    np.testing.assert_allclose(ag.grad(names["f"], adopt=True)(X), [np.cos(X[0]), 0, 0])


def test_what_is_kept_of_the_search_stays_bounded(monkeypatch):
    monkeypatch.setattr("arraygrad.adoption.reach._MANY", 20)
    monkeypatch.setattr("arraygrad.adoption.namespaces.MANY", 20)
    monkeypatch.setattr("arraygrad.adoption.code._MANY", 20)
    from arraygrad.adoption import code, namespaces, reach

    for i in range(60):
        module = {"__name__": f"made{i}"}
        exec("import numpy as np\ndef f(x):\n    out = np.zeros(1); out[0] = x; return out[0]", module)
        assert ag.grad(module["f"], adopt=True)(2.0) == 1.0
    assert max(map(len, (namespaces._namespaces, reach._leads, reach._reaches, code._named, code._importing))) <= 40


def namespace_of(module):
    return {name: value for name, value in vars(module).items() if name != "__builtins__"}


@pytest.mark.parametrize("raises", [False, True])
def test_module_is_as_before_after_the_call(program, raises):
    main = program(library=LIBRARY, main="import library as m\ndef f(x): return m.with_defaults(x)[0]")
    library = sys.modules["library"]
    before = namespace_of(library)
    tables = dict(library.TABLE)
    defaults = library.with_defaults.__defaults__, dict(library.with_defaults.__kwdefaults__)
    inside = []

    def f(x):
        inside.append(library.np)
        if raises:
            raise KeyError("x")
        return main.f(x)

    if raises:
        with pytest.raises(KeyError):
            ag.grad(f, adopt=True)(X)
    else:
        ag.grad(f, adopt=True)(X)
    assert not same(inside[0], np)
    assert library.TABLE == tables
    assert (library.with_defaults.__defaults__, library.with_defaults.__kwdefaults__) == defaults
    ag.adopt.clear()
    after = namespace_of(library)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


def test_numpy_and_the_standard_library_are_not_touched():
    real = {module: dict(vars(module)) for module in (np, np.linalg, math)}
    seen = []

    def f(x):
        seen.extend(vars(module)[name] is value for module, names in real.items() for name, value in names.items())
        return np.zeros(2).sum() * x[0] + math.sin(x[0])

    ag.grad(f, adopt=True)(X)
    assert seen
    assert all(seen)


def test_namespace_in_a_global_dict_is_not_touched(program):
    main = program(main="import math\nNAMES = vars(math)\ndef f(x): return math.sin(x[0]), NAMES['sin'], vars(math)")
    _, found, names = ag.adopt(main.f)(X)
    assert same(found, math.sin)
    assert names["cos"] is not None


def test_calls_that_overlap_leave_the_module_as_it_was(program):
    main = program(
        main="""
        import numpy as np
        def g(x):
            out = np.zeros(1); out[0] = x * x; return out[0]
        """
    )

    def f(x):
        before = ag.grad(main.g, adopt=True)(x)
        out = main.np.zeros(1)
        out[0] = before * x
        return out[0] + main.g(x)

    assert ag.grad(f, adopt=True)(3.0) == pytest.approx(2 * 2 * 3.0 + 2 * 3.0)
    assert same(main.np, np)


def test_calls_that_overlap_and_leave_different_names_alone_do_not_disturb_each_other(program):
    main = program(
        library="""
        import math
        def sine(x): return math.sin(x)
        """,
        compares="import numpy as np, library\ndef g(x, xp=np): return library.sine(x) * (2.0 if xp is np else 3.0)",
        main="""
        import library, compares
        def f(x):
            before = globals()["in" + "ner"](x[2])
            return library.sine(x[0]) + before
        """,
    )
    library, compares = sys.modules["library"], sys.modules["compares"]
    main.inner = ag.grad(compares.g, adopt=True)  # the search from `main.f` does not find what it compares
    main.inner(X[2])
    found = ag.grad(main.f, adopt=True)(X)
    np.testing.assert_allclose(found, [np.cos(X[0]), 0.0, -2 * np.sin(X[2])])
    assert same(library.math, math)


def test_another_thread_sees_numpy_while_one_records(program):
    main = program(library=LIBRARY)
    seen = []
    inside, done = threading.Event(), threading.Event()

    def other():
        assert inside.wait(30)
        seen.append((main.np.zeros(2), main.math.sin(0.5), main.np.array([1.0]), type(main.MODEL.table)))
        done.set()

    def f(x):
        inside.set()
        assert done.wait(30)
        return main.fill(x).sum()

    thread = threading.Thread(target=other)
    thread.start()
    ag.grad(f, adopt=True)(X)
    thread.join()
    assert [type(value) for value in seen[0][:3]] == [np.ndarray, float, np.ndarray]
    assert seen[0][3] is np.ndarray


def test_threads_that_record_at_once_leave_the_module_as_it_was(program):
    main = program(library=LIBRARY, main="import library as m\ndef f(x): return m.MODEL(x).sum()")
    library = sys.modules["library"]
    failed = []

    def work():
        gradient = ag.grad(main.f, adopt=True)
        for _ in range(100):
            if not np.allclose(gradient(X), [2 * np.cos(X[0]), 2 * np.exp(X[1]), 0]):
                failed.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert same(library.np, np)
    assert same(library.math, math)
    assert same(library.TABLE["sin"], math.sin)


def test_stand_in_that_is_kept_does_nothing_after_the_call():
    kept = []

    def f(x):
        kept.extend([np, math.sin, np.zeros, float, isinstance])
        return x.sum()

    ag.grad(f, adopt=True)(X)
    namespace, sine, make, number, ask = kept
    assert type(namespace.zeros(2)) is np.ndarray
    assert type(make(2)) is np.ndarray
    assert same(type(sine(0.5)), float)
    assert same(type(number("2")), float)
    t = ag.tensor(2.0, requires_grad=True)
    assert not ask(t, float)
    with pytest.warns(UserWarning, match="becomes a Python number"):
        assert same(type(number(t)), float)


def name_of(real):
    return f"{getattr(real, '__module__', '')}.{getattr(real, '__name__', type(real).__name__)}"


@pytest.mark.parametrize("real", sorted([pair[0] for pair in STAND_INS.values()], key=name_of), ids=name_of)
def test_stand_in_has_the_name_and_parameters_of_the_real_thing(real):
    other = STAND_INS[id(real)][1]
    if hasattr(real, "__name__"):
        assert other.__name__ == real.__name__
    if isinstance(real, types.ModuleType):
        assert [name for name in vars(real) if not hasattr(other, name)] == []
        return
    if isinstance(real, type):
        return
    try:
        expected = inspect.signature(real)
    except (TypeError, ValueError):
        return
    assert inspect.signature(other) == expected


def test_functions_without_transforms_are_adopted_by_adopt():
    @ag.adopt
    def f(t):
        """What it does."""
        out = np.zeros(2)
        out[0] = math.sin(t)
        return out.sum()

    t = ag.tensor(0.0, requires_grad=True)
    f(t).backward()
    assert t.grad.item() == 1.0
    assert (f.__name__, f.__doc__) == ("f", "What it does.")


def test_adopt_decorates_methods():
    class Model:
        @ag.adopt
        def loss(self, t):
            out = np.zeros(2)
            out[0] = t * t
            return out.sum()

    t = ag.tensor(3.0, requires_grad=True)
    Model().loss(t).backward()
    assert t.grad.item() == 6.0


PLAIN = """
    import math
    import functools
    import numpy as np

    def is_float(v): return type(v) is float
    class Asks:
        @staticmethod
        def is_type(v): return v is type
        @functools.lru_cache
        def nested(self, v): return [w is complex for w in (v,)][0]
    CHECKS = {"isinstance": lambda v: v is isinstance}
    NAMES = {math.sin: "sin"}
    def name_of(v): return NAMES.get(v)
    def same(v): return v == math.cos or v in (1, math.tan)

    def f(x):
        return x * 2 * float("1") * complex(1).real * isinstance(1, int) * len(type("T", (), {}).__name__)
"""


def test_function_that_the_search_does_not_find_sees_the_real_builtins(program):
    asks = "\n    def g(x): return x * 2 * float(1) if globals()['is_' + 'float'](1.5) else x * 5\n"
    main = program(main=PLAIN + asks)
    assert ag.grad(main.g, adopt=True)(0.31) == 2.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.is_float(1.5), lambda m: m.Asks.is_type(type), lambda m: m.Asks().nested(complex),
        lambda m: m.CHECKS["isinstance"](isinstance), lambda m: m.name_of(m.math.sin) == "sin",
        lambda m: m.same(m.math.cos), lambda m: m.same(m.math.tan),
    ],
)  # fmt: skip
def test_module_has_no_stand_in_for_what_any_code_there_compares(program, ask):
    main = program(main=f"from builtins import complex, float, isinstance, type\n{textwrap.dedent(PLAIN)}")
    seen = []
    double = main.f  # a search that finds the module itself finds all code in it
    asking, asked = threading.Event(), threading.Event()

    def f(x):
        asking.set()
        assert asked.wait(30)
        return double(x)

    def other():  # no search finds what another thread runs
        assert asking.wait(30)
        seen.append(ask(main))
        asked.set()

    thread = threading.Thread(target=other)
    thread.start()
    assert ag.grad(f, adopt=True)(0.31) == 2.0
    thread.join()
    assert seen == [True]


class _Term:
    def __init__(self, rule):
        self.rule = rule


def test_objects_in_lists_of_arguments_are_searched_once_and_again_when_they_are_others(monkeypatch):
    searches = []
    plain_search = reach._Search

    class Counting(plain_search):
        __slots__ = ()

        def __init__(self):
            searches.append(1)
            super().__init__()

    monkeypatch.setattr(reach, "_Search", Counting)

    def total(x, terms, names):
        return sum(term.rule(x) for term in terms) + names["k"].rule(x)

    sine, root = (_Term(lambda x: math.sin(x) * x), _Term(lambda x: math.sqrt(x)))
    f = ag.grad(total, adopt=True)
    first = f(0.5, [sine, root], {"k": root})
    done = len(searches)
    assert f(0.5, [sine, root], {"k": root}) == first
    assert len(searches) == done
    other = f(0.5, [root, root], {"k": sine})
    assert len(searches) > done
    assert first == pytest.approx(math.sin(0.5) + 0.5 * math.cos(0.5) + 2 * 0.5 / math.sqrt(0.5))
    assert other == pytest.approx(first)


@pytest.mark.parametrize("wrap", ["contextmanager", "wraps", "closure", "lru_cache", "mixed"])
@pytest.mark.parametrize("n", [1, 4, 5, 12])
def test_decorators_are_reached_through_however_many_there_are(wrap, n, program):
    made = program(
        decorated="""
        import contextlib, functools, math

        @contextlib.contextmanager
        def entered():
            yield

        def wraps(f):
            @functools.wraps(f)
            def call(*args):
                return f(*args)
            return call

        def closure(f):
            def call(*args):
                return f(*args)
            return call

        KINDS = {"contextmanager": lambda f: entered()(f), "wraps": wraps, "closure": closure,
                 "lru_cache": functools.lru_cache(None)}

        def program(wrap, n):
            def f(x):
                return math.sin(float(x)) * x
            for i in range(n):
                kinds = list(KINDS.values())
                f = (kinds[i % 4] if wrap == "mixed" else KINDS[wrap])(f)
            return f
        """
    )
    gradient = ag.grad(made.program(wrap, n), adopt=True)(0.5)
    assert gradient == pytest.approx(np.sin(0.5) + 0.5 * np.cos(0.5))


TEXT = (
    "import numpy as np\nfrom math import exp\n"
    "class Gas:\n    k = 2.0\n    def h(self, T):\n        return np.asarray(T, dtype=float) ** self.k + exp(0.1 * T)\n"
    "    @property\n    def p(self): return 3.0\n"
    "class Mix(Gas):\n    def g(self, T):\n        out = np.zeros(2)\n        out[0] = self.h(T)\n"
    "        out[1] = T\n        return out\n"
)


@pytest.mark.parametrize("name", [None, "a module that is none", "numpy_like"])
@pytest.mark.parametrize("held", ["global", "closure", "attribute", "list"])
def test_objects_of_classes_that_exec_has_made_are_reached(name, held):
    namespace = {} if name is None else {"__name__": name}
    exec(compile(TEXT, "gas.py", "exec"), namespace)
    mix = namespace["Mix"]()
    holder = types.SimpleNamespace(mix=mix, all=[mix])
    found = {"m": mix, "holder": holder, "np": np}
    code = {"global": "m", "closure": "c", "attribute": "holder.mix", "list": "holder.all[0]"}[held]
    text = f"def make(c):\n    def f(T):\n        return np.sum({code}.g(T)) * {code}.p\n    return f\n"
    exec(compile(text, "program.py", "exec"), found)
    f = found["make"](mix)
    value, gradient = ag.value_and_grad(f)(1.7)
    assert value == pytest.approx(f(1.7), rel=1e-14)
    assert gradient == pytest.approx(3.0 * (2.0 * 1.7 + 0.1 * np.exp(0.17) + 1.0), rel=1e-12)
    assert type(f(1.7)) is np.float64


@pytest.mark.parametrize("kind", ["class", "function"])
def test_what_a_program_has_put_into_numpy_is_reached(kind, monkeypatch):
    ag.adopt.clear()  # what is bound in numpy anew later is not seen
    home = {"__name__": "a_program_for_numpy_2"}
    text = "import numpy as np\n"
    if kind == "class":
        text += "class put:\n    def __init__(self, rows):\n        self.array = np.array(rows, dtype=float)\n"
    else:
        text += "def put(rows):\n    out = np.zeros((2, 2))\n    out[:] = np.array(rows, dtype=float)\n    return out\n"
    exec(compile(text, "put.py", "exec"), home)
    monkeypatch.setitem(sys.modules, "a_program_for_numpy_2", types.SimpleNamespace(**home))
    monkeypatch.setattr(np, "put_by_a_program", home["put"], raising=False)

    def f(x):
        made = np.put_by_a_program([[x, 1.0], [2.0, x]])
        return np.sum(getattr(made, "array", made) ** 2)

    assert f(3.0) == 23.0
    assert ag.grad(f)(3.0) == 12.0
