"""Ufuncs of NumPy on lists of recorded numbers in adopted calls.

The class: a ufunc with a derivative x where its name stands x the form of the list (list, tuple, nested, with plain
numbers, with arrays), and the methods of ufuncs on lists. The reference are differences of the plain call.
"""

import copy
import functools
import pickle
import threading

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.3, 0.6])


def right(f, x=X, tolerance=1e-6):
    plain = f(x.copy())
    value, found = ag.value_and_grad(f)(x)
    steps = 1e-6 * np.eye(x.size)
    expected = [(f(x + step) - f(x - step)) / 2e-6 for step in steps]
    assert value == pytest.approx(plain, rel=1e-14, abs=1e-14)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-8)
    assert f(x.copy()) == plain
    return True


OF_ONE = """
    absolute arccos arcsin arcsinh arctan arctanh cbrt conjugate cos cosh deg2rad degrees exp exp2 expm1 fabs log log10
    log1p log2 negative positive rad2deg radians reciprocal sin sinh sqrt square tan tanh
""".split()
OF_TWO = """
    add arctan2 divide float_power fmax fmin fmod hypot logaddexp logaddexp2 maximum minimum multiply power remainder
    subtract
""".split()
FORMS = {
    "list": lambda x: [x[0], x[1]],
    "tuple": lambda x: (x[0], x[1]),
    "number": lambda x: [x[0], 0.25],
    "nested": lambda x: [[x[0], 0.25], [0.5, x[1]]],
    "arrays": lambda x: [x, 0.5 * x],
    "mixed": lambda x: [x, [0.5, x[0]]],
    "floats": lambda x: [float(x[0]), float(x[1])],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OF_ONE)
def test_of_one(name, form):
    assert right(lambda x: (getattr(np, name)(FORMS[form](x)) * np.array([1.0, 3.0])).sum())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OF_TWO)
def test_of_two(name, form):
    function = getattr(np, name)
    assert right(lambda x: (function(FORMS[form](x), [0.41, 0.83]) * np.array([1.0, 3.0])).sum())
    assert right(lambda x: (getattr(np, name)(np.array([0.41, 0.83]), FORMS[form](x)) * np.array([1.0, 3.0])).sum())


@pytest.mark.parametrize("form", FORMS)
def test_methods(form):
    def f(x):
        items = FORMS[form](x)
        found = np.add.reduce(items).sum() + 2.0 * np.multiply.reduce(items).sum()
        found += np.maximum.reduce(items, axis=0).sum()
        found += np.add.accumulate(items)[0].sum() + np.multiply.outer(items, [1.0, 2.0]).sum()
        return found + np.subtract.outer([1.0, 2.0], items).sum() + np.add.reduceat(items, [0, 1]).sum()

    assert right(f)


def test_at_takes_lists():
    def f(x):
        out = np.zeros(3)
        np.add.at(out, [0, 0], [x[0], x[1]])
        np.multiply.at(out, [0], [x[1]])
        return out.sum()

    assert right(f)


def test_several_results_and_signatures():
    def f(x):
        whole, part = np.divmod([3.0 * x[0], x[1]], 0.25)
        fraction, _ = np.modf([3.0 * x[0], x[1]])
        product = np.matmul([[x[0], 1.0], [2.0, x[1]]], [x[0], 3.0])
        return part.sum() + fraction.sum() + product.sum() + 0.0 * whole.sum()

    assert right(f)


@pytest.mark.parametrize("way", ["keyword", "tuple", "position"])
def test_out_is_no_input(way):
    def f(x):
        out = np.zeros(2)
        if way == "keyword":
            made = np.add([x[0], x[1]], [1.0, x[0]], out=out)
        elif way == "tuple":
            made = np.add([x[0], x[1]], [1.0, x[0]], out=(out,))
        else:
            made = np.add([x[0], x[1]], [1.0, x[0]], out)
        assert made is out
        return (out * np.array([1.0, 2.0])).sum()

    assert right(f)


def test_where_and_dtype():
    def f(x):
        found = np.sin([x[0], x[1]], where=[True, False], out=np.ones(2))
        assert np.sin([x[0], x[1]], dtype=np.float32).dtype == np.float32
        return found.sum()

    assert right(f)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_that_of_the_plain_call(dtype):
    kinds = []

    def f(x):
        found = [np.sin([x[0], x[1]]), np.add([x[0], 1.0], [1, 2]), np.exp((x, x)), np.maximum.reduce([x[0], x[1]])]
        kinds.append([one.dtype for one in found])
        return sum(one.sum() for one in found)

    x = X.astype(dtype)
    f(x)
    ag.grad(f)(x)
    assert kinds[0] == kinds[1]


PROGRAM = """
    import functools
    import numpy as np
    from numpy import exp, hypot
    OPS = {"sin": np.sin, "exp": exp}
    LIST = [np.sin, np.cos]
    HALF = functools.partial(np.multiply, 0.5)
    class Model:
        held = np.tanh
        def __init__(self): self.f = np.sqrt
    def named(x): return (exp([x[0], x[1]]) * hypot([x[0], 1.0], x)).sum()
    def item(x): return (OPS["sin"]([x[0], x[1]]) + OPS["exp"]((x[0], x[1]))).sum()
    def attribute(x): return Model().f([x[0], x[1]]).sum()
    def default(x, f=np.log): return f([x[0], x[1]]).sum()
    def partial(x): return HALF([x[0], x[1]]).sum()
    def reduced(x): return functools.reduce(np.multiply, [x[0], x[1], x[0]])
    def mapped(x): return sum(map(np.sin, [x[0], x[1]]))
    def over_axis(x): return np.apply_along_axis(np.sin, 0, x).sum()
    def table(x): return sum(f([x[0], x[1]]).sum() for f in (np.sin, np.cos, np.exp))
    def asked(x):
        f = np.sin
        assert isinstance(f, np.ufunc) and f.nin == 1 and f.__name__ == "sin" and repr(f) == "<ufunc 'sin'>"
        return f([x[0], x[1]]).sum()
"""
COMPARING = """
    import numpy as np
    LIST = [np.sin, np.cos]
    KEYS = {np.sin: 2.0}
    def typed(x): return x.sum() if type(np.sin) is np.ufunc else 0.0 * x.sum()
    def key(x): return x.sum() * KEYS[np.sin]
    def identity(x, f=np.sin): return x.sum() if f is np.sin and np.sin in LIST else 0.0 * x.sum()
"""
NAMES = "named item attribute default partial reduced mapped over_axis table asked".split()


@pytest.mark.parametrize("name", NAMES)
def test_places(program, name):
    main = program(main=PROGRAM)
    assert right(getattr(main, name))
    assert main.exp is np.exp
    assert main.LIST == [np.sin, np.cos]
    assert main.LIST[0] is np.sin
    assert main.OPS["sin"] is np.sin
    assert main.HALF.func is np.multiply
    assert type(main.np.sin) is np.ufunc


@pytest.mark.parametrize("name", ["typed", "key", "identity"])
def test_comparisons(program, name):
    main = program(main=COMPARING)
    assert right(getattr(main, name))
    assert main.LIST[0] is np.sin


def test_compared_one_is_refused_with_the_line(program):
    main = program(main=COMPARING + "    def f(x): return np.sin([x[0], x[1]]).sum() * identity(x)\n")
    with pytest.raises(TypeError, match=r"in identity: f is np.sin"):
        ag.grad(main.f)(X)


def test_held_by_a_class_is_refused(program):
    main = program(main=PROGRAM + "    def held(x): return Model.held([x[0], x[1]]).sum()\n")
    with pytest.raises(TypeError, match=r"main\.py"):
        ag.grad(main.held)(X)


def test_object_that_gives_a_tensor(program):
    main = program(
        main="""
        import numpy as np
        class Cell:
            def __init__(self, a): self.a = a
            def __array__(self, dtype=None, copy=None): return self.a
        def f(x): return (np.sin(Cell(x)) + np.multiply(Cell(2.0 * x), [x[0], 1.0])).sum()
    """
    )
    assert right(main.f)


def test_errors_are_those_of_numpy():
    def shapes(x):
        return np.add([x[0], x[1]], [1.0, 2.0, 3.0])

    def text(x):
        return np.sin(["a", "b"])

    def count(x):
        return np.add([x[0], x[1]])

    for f in (shapes, text, count):
        with pytest.raises((TypeError, ValueError)) as plain:
            f(X)
        with pytest.raises(type(plain.value)):
            ag.grad(f)(X)


def test_copies_and_pickles():
    def f(x):
        assert copy.copy(np.sin) is np.sin
        assert copy.deepcopy([np.sin])[0] is np.sin
        assert pickle.loads(pickle.dumps(np.sin)) is not None
        return np.sin([x[0], x[1]]).sum()

    assert right(f)


def test_second_derivatives():
    found = ag.hessian(lambda x: (np.sin([x[0], x[1]]) * np.exp((x[1], x[0]))).sum())(X)
    a, b = X
    expected = [
        [-np.sin(a) * np.exp(b), np.cos(a) * np.exp(b)],
        [np.cos(a) * np.exp(b), np.sin(a) * np.exp(b)],
    ]
    expected = np.array(expected) + [[np.sin(b) * np.exp(a), np.cos(b) * np.exp(a)],
                                     [np.cos(b) * np.exp(a), -np.sin(b) * np.exp(a)]]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_writes_after_do_not_reach_the_list():
    def f(x):
        items = [2.0 * x, x]
        made = np.sin(items)
        items[0][0] = 5.0
        return made.sum() + 0.0 * items[0].sum()

    assert right(f)


def test_constants_stay_out_of_the_gradient():
    found = ag.grad(lambda x: (np.sin([ag.stop_gradient(x[0]), x[1]]) * x[0]).sum())(X)
    np.testing.assert_allclose(found, [np.sin(X).sum(), X[0] * np.cos(X[1])], rtol=1e-12)


def test_other_threads_get_the_real_thing():
    found = []

    def f(x):
        sin = np.sin
        thread = threading.Thread(target=lambda: found.append(type(sin([0.5, 1.0]))))
        thread.start()
        thread.join()
        return np.sin([x[0], x[1]]).sum()

    ag.grad(f)(X)
    assert found == [np.ndarray]


def test_plain_adopted_plain_with_an_exception(program):
    main = program(
        main=PROGRAM
        + """
    def fails(x):
        np.sin([x[0], x[1]])
        raise RuntimeError("in the middle")
"""
    )
    before = dict(vars(main))
    with pytest.raises(RuntimeError, match="in the middle"):
        ag.grad(main.fails)(X)
    assert all(value is before[name] for name, value in vars(main).items() if name in before)
    assert main.named(X) == main.named(X.copy())


def test_function_that_numba_compiles_gets_the_real_one(program):
    pytest.importorskip("numba")
    main = program(
        main="""
        import numpy as np
        from numba import njit
        from numpy import sin
        @njit
        def compiled(v): return np.cos(sin(v))
        def f(x): return (x * compiled(0.5)).sum() + np.sin([x[0], x[1]]).sum()
    """
    )
    assert right(main.f)
    assert main.compiled(0.5) == pytest.approx(np.cos(np.sin(0.5)))


def test_reduce_of_functools_is_recorded():
    assert right(lambda x: functools.reduce(np.maximum, [x[0], 2.0 * x[1], 0.1]))
