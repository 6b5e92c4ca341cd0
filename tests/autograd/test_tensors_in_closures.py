"""Functions and primitives that read a Tensor besides their arguments: refused, in every spelling of reading one.

The class: spellings of reading x ways of calling, by transforms and step by step. Each row of READINGS makes, of a
Tensor `w` that requires grad, a function `read()` that gives it inside of forward. HARMLESS are looks at such a Tensor
that need none of its values. See Note [Tensors beside arguments] in autograd/closure_tensors.py.
"""

import functools
import gc
import types
import warnings
import weakref

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import Function

X = np.array([0.5, 0.7])
GLOBAL = CONFIG = None


@pytest.fixture(autouse=True)
def _no_tensor_stays_in_a_global():
    """Debug builds count the objects that live after a test."""
    global GLOBAL, CONFIG
    yield
    GLOBAL = CONFIG = None


class Model:
    def __init__(self, w):
        self.w = w
        self.layers = [types.SimpleNamespace(w=w)]
        self.n = 3

    def __call__(self):
        return self.w

    def method(self):
        return self.w

    def count(self):
        return self.n

    @property
    def weight(self):
        return self.w


class Slotted:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w


def helper(w):
    return w


def of_global(w):
    global GLOBAL
    GLOBAL = w
    return lambda: GLOBAL


def of_global_dict(w):
    global CONFIG
    CONFIG = {"k": w, "n": 3}
    return lambda: CONFIG["k"]


def of_default(w):
    def read(w=w):
        return w

    return read


def of_object(w, name):
    model = Model(w)
    return {
        "attribute": lambda: model.w,
        "call": lambda: model(),
        "method": lambda: model.method(),
        "property": lambda: model.weight,
        "bound": model.method,
    }[name]


def of_container(w, name):
    config, several, key = {"k": w, "n": 3}, [w, 2.0], "k"
    return {
        "item": lambda: config["k"],
        "get": lambda: config.get("k"),
        "computed": lambda: config[key],
        "list": lambda: several[0],
        "loop": lambda: next(iter([v for v in several if not isinstance(v, float)])),
        "values": lambda: next(iter(config.values())),
    }[name]


def of_nested(w):
    model = Model(w)
    return lambda: model.layers[0].w


def of_slots(w):
    held = Slotted(w)
    return lambda: held.w


def of_inner(w):
    return lambda: (lambda: w * 1.0)()


READINGS = {
    "closure": lambda w: lambda: w,
    "an item": lambda w: lambda: w[:],
    "global": of_global,
    "global dict": of_global_dict,
    "default": of_default,
    "partial": lambda w: functools.partial(helper, w),
    "slots": of_slots,
    "nested": of_nested,
    "an inner function": of_inner,
    "a helper": lambda w: lambda: helper(w),
    **{f"object, {n}": functools.partial(of_object, name=n)
       for n in ("attribute", "call", "method", "property", "bound")},
    **{f"container, {n}": functools.partial(of_container, name=n)
       for n in ("item", "get", "computed", "list", "loop", "values")},
}  # fmt: skip


def by_function(read):
    class Product(Function):
        @staticmethod
        def forward(ctx, y):
            return y * read()

        @staticmethod
        def backward(ctx, g):
            return g

    return Product.apply


def by_setup(read):
    class Product(Function):
        @staticmethod
        def forward(y):
            return y * read()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g

    return Product.apply


def by_primitive(read):
    p = ag.primitive(lambda y: y * read())
    p.defvjp(lambda ans, y: lambda g: g)
    return p


def by_numbers(read):
    p = ag.primitive(lambda y: y * np.array([float(v) for v in read()]))
    p.defvjp(lambda ans, y: lambda g: g)
    return p


def by_array(read):
    p = ag.primitive(lambda y: y * np.asarray(read()))
    p.defvjp(lambda ans, y: lambda g: g)
    return p


MADE = {
    "Function": by_function, "setup_context": by_setup, "primitive": by_primitive, "numbers": by_numbers,
    "asarray": by_array,
}  # fmt: skip


def step_by_step(f, x):
    t = ag.tensor(x, requires_grad=True)
    f(t).backward()


TRANSFORMS = {
    "grad": lambda f, x: ag.grad(f)(x),
    "value_and_grad": lambda f, x: ag.value_and_grad(f)(x),
    "jacobian": lambda f, x: ag.jacobian(f)(x),
    "hessian": lambda f, x: ag.hessian(f)(x),
    "vjp": lambda f, x: ag.vjp(f, x)[1](1.0),
    "not adopted": lambda f, x: ag.grad(f, adopt=False)(x),
    "step by step": step_by_step,
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.filterwarnings("ignore:.*becomes a Python number")
def test_a_tensor_that_is_read_is_refused(reading, made, transform):
    if transform == "step by step" and made == "numbers":
        return  # warned of, as every float() of a Tensor is

    def f(x):
        return np.sum(MADE[made](READINGS[reading](x * 1.0))(x * 2.0))

    with pytest.raises(TypeError, match=r"requires grad,? besides its arguments.*pass it as an argument"):
        TRANSFORMS[transform](f, X)


@pytest.mark.parametrize("made", ["Function", "primitive"])
def test_a_constant_argument_makes_no_difference(made):
    t = ag.tensor(X, requires_grad=True)
    with pytest.raises(TypeError, match="besides its arguments"):
        MADE[made](lambda: t)(ag.asarray(X))


@pytest.mark.parametrize("transform", ["grad", "hessian", "jacobian", "not adopted"])
@pytest.mark.parametrize("kind", ["Function", "primitive"])
def test_as_an_argument_it_has_its_gradient(kind, transform):
    class Product(Function):
        @staticmethod
        def forward(ctx, y, w):
            ctx.save_for_backward(y, w)
            return y * w

        @staticmethod
        def backward(ctx, g):
            y, w = ctx.saved_tensors
            return g * w, g * y

    p = ag.primitive(lambda y, w: y * w)
    p.defvjp(lambda ans, y, w: lambda g: g * w, lambda ans, y, w: lambda g: g * y)
    product = p if kind == "primitive" else Product.apply
    found = TRANSFORMS[transform](lambda x: np.sum(product(x * 2.0, x * 1.0)), X)
    np.testing.assert_allclose(found, 4.0 * np.eye(2) if transform == "hessian" else 4.0 * X)


HARMLESS = {
    "shape": lambda w: lambda: np.ones(w.shape),
    "size and dtype": lambda w: lambda: np.ones(w.size, w.dtype),
    "len": lambda w: lambda: np.ones(len(w)),
    "is None": lambda w: lambda: np.ones(2) if w is None else 1.0,
    "is not None": lambda w: lambda: 1.0 if w is not None else np.ones(2),
    "isinstance": lambda w: lambda: 1.0 if isinstance(w, ag.Tensor) else 2.0,
    "detach": lambda w: lambda: 0.0 * w.detach() + 1.0,
    "another key": lambda w: (lambda config: lambda: config["n"] / 3.0)({"k": w, "n": 3}),
    "get of another key": lambda w: (lambda config: lambda: config.get("n") / 3.0)({"k": w, "n": 3}),
    "another item": lambda w: (lambda several: lambda: several[1])([w, 1.0]),
    "another attribute": lambda w: (lambda model: lambda: model.n / 3.0)(Model(w)),
    "another method": lambda w: (lambda model: lambda: model.count() / 3.0)(Model(w)),
}


@pytest.mark.parametrize("harmless", HARMLESS)
@pytest.mark.parametrize("made", ["Function", "setup_context", "primitive"])
def test_looks_at_a_tensor_are_no_reads(made, harmless):
    def f(x):
        return np.sum(MADE[made](HARMLESS[harmless](x * 1.0))(x * 2.0))

    np.testing.assert_allclose(ag.grad(f)(X), [2.0, 2.0])


def test_the_argument_itself_may_be_read_by_its_other_name():
    def f(x):
        class Square(Function):
            @staticmethod
            def forward(ctx, y):
                ctx.save_for_backward(y)
                return x * y

            @staticmethod
            def backward(ctx, g):
                return 2.0 * g * ctx.saved_tensors[0]

        return np.sum(Square.apply(x))

    np.testing.assert_allclose(ag.grad(f)(X), 2.0 * X)


def test_what_is_only_saved_for_backward_is_no_read():
    def f(x):
        w = x * 3.0

        class Product(Function):
            @staticmethod
            def forward(ctx, y):
                ctx.save_for_backward(y, w)
                return y * w.detach()

            @staticmethod
            def backward(ctx, g):
                return g * ctx.saved_tensors[1]

        return np.sum(Product.apply(x))

    np.testing.assert_allclose(ag.grad(f)(X), 3.0 * X)


def test_a_name_is_looked_up_anew_in_each_call():
    global GLOBAL
    GLOBAL = np.ones(2)
    apply = by_function(lambda: GLOBAL)
    t = ag.tensor(X, requires_grad=True)
    apply(t).sum().backward()
    GLOBAL = t * 1.0
    with pytest.raises(TypeError, match="reads GLOBAL, a Tensor"):
        apply(t)
    GLOBAL = np.ones(2)
    apply(t).sum().backward()
    np.testing.assert_allclose(t.grad.array, [2.0, 2.0])


@pytest.mark.parametrize("place", ["attribute", "class", "object", "module"])
def test_an_attribute_is_looked_up_anew_in_each_call(place):
    class Settings:
        k = 1.0

    settings = types.ModuleType("of_the_program") if place == "module" else Settings()
    if place != "class":
        settings.k = 2.0
    apply = by_function(lambda: settings.k)
    t = ag.tensor(X, requires_grad=True)
    for _ in range(2):
        apply(t)
    if place == "class":
        Settings.k = t
    elif place == "object":
        settings = Settings()
        settings.k = t
    else:
        settings.k = t
    with pytest.raises(TypeError, match=r"reads settings\.k, a Tensor"):
        apply(t * 2.0)


def test_a_function_keeps_nothing_alive_that_its_program_has_let_go():
    held = Model(1.0)
    kept = weakref.ref(held)
    apply = by_function(lambda: held.w)
    t = ag.tensor(X, requires_grad=True)
    for _ in range(2):
        apply(t)
    held = None
    gc.collect()
    assert kept() is None


def test_nothing_is_refused_where_nothing_is_recorded():
    t = ag.tensor(X, requires_grad=True)
    with ag.no_grad():
        for made in ("Function", "primitive"):
            np.testing.assert_allclose(np.asarray(MADE[made](lambda: t)(t.detach()).array), X * X)


# Rules that give nothing


@pytest.mark.parametrize("transform", ["grad", "jacobian", "vjp", "step by step"])
@pytest.mark.parametrize("rule", ["no return", "None"])
def test_a_rule_that_gives_nothing_is_told_once(rule, transform):
    def without(g):
        g * 2.0

    p = ag.primitive(lambda x: 2.0 * x)
    p.defvjp(lambda ans, x: without if rule == "no return" else lambda g: None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            TRANSFORMS[transform](lambda x: np.sum(p(x)) + np.sum(x), X)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "the rule of argument 0 gave None" in str(caught[0].message)


@pytest.mark.parametrize("way", ["None in the place of the rule", "zeros"])
def test_a_gradient_that_is_meant_to_be_zero_is_not_told_of(way):
    p = ag.primitive(lambda x: np.floor(x))
    p.defvjp(None if way.startswith("None") else lambda ans, x: lambda g: np.zeros(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(ag.grad(lambda x: np.sum(p(x)) + np.sum(x))(X), [1.0, 1.0])
