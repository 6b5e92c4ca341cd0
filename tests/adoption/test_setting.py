"""Transforms adopt by default: `adopt=None` is what `set_adoption` says where the transformed function is called.

The class: a transform x what is said of adoption (nothing, at the transform, for a block, for the process, by names) x
a function that is made anew, of code that was searched before, and holds the same or something else.
"""

import functools
import gc
import math
import pickle
import sys
import threading
import types
import weakref

import numpy as np
import pytest

import arraygrad as ag

Filled = r"plain array|becomes a Python number"
REAL_MATH = id(math)  # no comparison by `is`: it would keep the real one in adopted calls


def filled(x):
    out = np.zeros(2)
    out[0] = x * x
    return out.sum()


def by_math(x):
    return math.sin(x)


@pytest.fixture(autouse=True)
def _as_before():
    yield
    ag.set_adoption(True)


TRANSFORMS = {
    "grad": lambda f, **how: ag.grad(f, **how)(0.5),
    "value_and_grad": lambda f, **how: ag.value_and_grad(f, **how)(0.5)[1],
    "elementwise_grad": lambda f, **how: ag.elementwise_grad(f, **how)(0.5),
    "jacobian": lambda f, **how: ag.jacobian(f, **how)(0.5),
    "jacrev": lambda f, **how: ag.jacrev(f, **how)(0.5),
    "jacfwd": lambda f, **how: ag.jacfwd(f, **how)(0.5),
    "vjp": lambda f, **how: ag.vjp(f, 0.5, **how)[1](1.0)[0],
    "jvp": lambda f, **how: ag.jvp(f, (0.5,), (1.0,), **how)[1],
    "linearize": lambda f, **how: ag.linearize(f, 0.5, **how)[1](1.0),
    "hvp": lambda f, **how: ag.hvp(lambda x: f(x) * x, **how)(0.5, 1.0),
    "hessian": lambda f, **how: ag.hessian(lambda x: f(x) * x, **how)(0.5),
}
SECOND = 2 * math.cos(0.5) - 0.5 * math.sin(0.5)  # of x sin(x)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform_adopts_unless_told_otherwise(name):
    transform = TRANSFORMS[name]
    expected = SECOND if name in ("hvp", "hessian") else math.cos(0.5)
    assert transform(by_math) == pytest.approx(expected)
    assert transform(by_math, adopt=True) == pytest.approx(expected)
    assert transform(by_math, adopt=(__name__,)) == pytest.approx(expected)
    with pytest.raises(TypeError, match=Filled):
        transform(by_math, adopt=False)
    with ag.set_adoption(False):
        with pytest.raises(TypeError, match=Filled):
            transform(by_math)
        assert transform(by_math, adopt=True) == pytest.approx(expected)
    assert transform(by_math) == pytest.approx(expected)


@pytest.mark.parametrize("adopt", [1, 0, 2.0, ("a", 1), [None], object()])
def test_what_is_no_setting_is_refused_at_once(adopt):
    with pytest.raises(TypeError, match="expected True, False or names of packages"):
        ag.grad(filled, adopt=adopt)
    with pytest.raises(TypeError, match="expected True, False or names of packages"):
        ag.set_adoption(adopt)
    assert ag.grad(filled)(3.0) == 6.0


def test_call_counts_not_the_place_where_the_transform_was_made():
    made_on = ag.grad(filled)
    with ag.set_adoption(False):
        made_off = ag.grad(filled)
        with pytest.raises(TypeError, match=Filled):
            made_on(3.0)
    assert made_on(3.0) == made_off(3.0) == 6.0


def test_setting_of_the_process_holds_until_the_next_one_and_a_block_takes_precedence():
    ag.set_adoption(False)
    with pytest.raises(TypeError, match=Filled):
        ag.grad(filled)(3.0)
    with ag.set_adoption(True):
        assert ag.grad(filled)(3.0) == 6.0
        with ag.set_adoption(False), pytest.raises(TypeError, match=Filled):
            ag.grad(filled)(3.0)
        assert ag.grad(filled)(3.0) == 6.0
    with pytest.raises(TypeError, match=Filled):
        ag.grad(filled)(3.0)
    ag.set_adoption(True)
    assert ag.grad(filled)(3.0) == 6.0


def test_block_holds_in_its_own_thread_and_a_setting_in_all():
    found = []

    def elsewhere():
        try:
            found.append(ag.grad(filled)(3.0))
        except TypeError:
            found.append("refused")

    def run():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    with ag.set_adoption(False):
        run()
    ag.set_adoption(False)
    run()
    assert found == [6.0, "refused"]


def test_decorator_and_error_leave_the_setting_as_it_was():
    @ag.set_adoption(False)
    def plain(x):
        return ag.grad(filled)(x)

    assert ag.grad(filled)(3.0) == 6.0
    for _ in range(2):
        with pytest.raises(TypeError, match=Filled):
            plain(3.0)
    with pytest.raises(KeyError), ag.set_adoption(False):
        raise KeyError
    assert ag.grad(filled)(3.0) == 6.0
    assert repr(ag.set_adoption(("numpy", "scipy"))) == "set_adoption(('numpy', 'scipy'))"


def test_names_restrict_it_for_a_block():
    with ag.set_adoption(__name__):
        assert ag.grad(filled)(3.0) == 6.0
    with ag.set_adoption(("xml",)), pytest.raises(TypeError, match=Filled):
        ag.grad(filled)(3.0)
    with ag.set_adoption("no_such_package_anywhere"), pytest.raises(ValueError, match="no module or package"):
        ag.grad(filled)(3.0)


def test_transforms_in_transforms_and_checks():
    assert ag.grad(ag.grad(by_math))(0.5) == pytest.approx(-math.sin(0.5))
    assert ag.grad(lambda x: ag.grad(filled)(x) * x)(3.0) == 12.0
    assert ag.gradcheck(filled, [3.0])
    assert ag.gradgradcheck(filled, [3.0])
    assert ag.grad(lambda x: ag.checkpoint(filled)(x))(3.0) == 6.0


def test_transform_pickles_with_its_setting():
    for how, refused in ({}, False), ({"adopt": True}, False), ({"adopt": False}, True):
        again = pickle.loads(pickle.dumps(ag.grad(filled, **how)))
        if refused:
            with pytest.raises(TypeError, match=Filled):
                again(3.0)
        else:
            assert again(3.0) == 6.0


@pytest.mark.parametrize("function", [np.exp, ag.sum, ag.tanh, len.__call__])
def test_compiled_and_library_functions_stay_as_they_are(function):
    from arraygrad.adoption.setting import adopted

    assert adopted(function, None) is function


def test_function_of_math_itself_is_adopted():
    assert ag.grad(math.sin)(0.5) == pytest.approx(math.cos(0.5))


# -- functions made anew -----------------------------------------------------------------------------------------------


def of_code(held):
    """A function of one code, whatever it holds."""
    return lambda x: held(x) if callable(held) else np.sum(held * x)


def of_default(held):
    return lambda x, held=held: held(x) if callable(held) else np.sum(held * x)


class Model:
    def __init__(self, held):
        self.held = held

    def loss(self, x):
        return self.held(x) if callable(self.held) else np.sum(self.held * x)


HOLDERS = {"closure": of_code, "default": of_default, "method": lambda held: Model(held).loss}


@functools.cache
def module(name):
    """A module of its own, with functions that need adoption."""
    made = types.ModuleType(name)
    sys.modules[name] = made
    text = "import math, numpy as np\ndef fill(x):\n    o = np.zeros(1)\n    o[0] = math.exp(x)\n    return o.sum()\n"
    exec(text, vars(made))
    return made


@pytest.mark.parametrize("holder", HOLDERS)
def test_function_of_known_code_that_holds_something_else_is_searched(holder):
    make = HOLDERS[holder]
    helper = module("module_of_setting_test")
    held = {
        "number": (2.0, 2.0), "array": (np.full(1, 3.0), 3.0), "math": (math.sin, math.cos(0.5)),
        "own": (filled, 1.0), "module's": (helper.fill, math.exp(0.5)), "other math": (math.exp, math.exp(0.5)),
        "partial": (functools.partial(math.pow, 2.0), math.log(2.0) * 2**0.5),
        "nested": (lambda x: helper.fill(x), math.exp(0.5)), "model": (Model(math.sin).loss, math.cos(0.5)),
    }  # fmt: skip
    names = list(held)
    for step in (1, 2, 3):  # each before and after the others
        for i in range(3 * len(names)):
            value, expected = held[names[i * step % len(names)]]
            assert ag.grad(make(value))(0.5) == pytest.approx(expected), names[i * step % len(names)]


def test_cell_that_is_bound_anew_is_seen():
    held = 2.0
    model = Model(2.0)

    def f(x):
        return held(x) if callable(held) else held * x

    gradient, of_model = ag.grad(f), ag.grad(model.loss)
    assert gradient(0.5) == of_model(0.5) == 2.0
    held = model.held = math.sin
    assert gradient(0.5) == of_model(0.5) == pytest.approx(math.cos(0.5))
    held = model.held = 3.0
    assert gradient(0.5) == of_model(0.5) == ag.grad(f)(0.5) == 3.0


def test_argument_that_leads_elsewhere_is_searched():
    gradient = ag.grad(lambda x, model: model.loss(x))
    arguments = [(2.0, 2.0), (math.sin, math.cos(0.5)), (filled, 1.0), (np.ones(1), 1.0), (math.exp, math.exp(0.5))]
    for value, expected in arguments:
        for _ in range(3):
            assert gradient(0.5, Model(value)) == pytest.approx(expected)


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_a_function_holds_is_not_kept_alive(holder):
    class Data(np.ndarray):
        pass

    def run():
        data = np.ones(1).view(Data)
        nested = lambda x: np.sum(x * np.asarray(data))
        ag.grad(HOLDERS[holder](nested))(0.5)
        ag.grad(lambda x, f: f(x))(0.5, nested)
        model = Model(data)
        ag.grad(lambda x, m: np.sum(x * np.asarray(m.held)))(0.5, model)
        return weakref.ref(data), weakref.ref(model)

    refs = run()
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


def test_threads_adopt_and_do_not_at_the_same_time():
    wrong = []
    start = threading.Barrier(6)

    def work(i):
        start.wait()
        for k in range(150):
            x = 0.1 + 0.01 * k
            if i % 3 == 0:
                right = filled(x) == x * x and type(filled(x)) is np.float64
            elif i % 3 == 1:
                right = ag.grad(filled)(x) == pytest.approx(2 * x)
            else:
                right = ag.grad(lambda y, x=x: math.sin(y) * x)(x) == pytest.approx(math.cos(x) * x)
            if not right:
                wrong.append((i, k))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert id(globals()["math"]) == REAL_MATH
