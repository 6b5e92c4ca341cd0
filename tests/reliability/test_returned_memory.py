"""Memory that functions of the program return, or write: every gradient is that of the program as it ran, or refused.

The class: who returns the memory (a primitive, a Function by a raw array or a Tensor, a solver, an unpack hook, a
function that NumPy calls for each row) x what it is (a buffer of the function's, a view of it, an argument, a view of
one, a cache) x who writes it and when (the next call, the program, a Tensor) x 0-d and n-d arrays x create_graph.
"""

import itertools

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.inplace import as_scalar

X = np.array([0.4, 0.7, 1.1])
HELD = "memory that the program holds too"
pytestmark = pytest.mark.usefixtures("default_modes")


def doubled_by_primitive(give):
    """2 x by a primitive; `give(values)` says in which memory it returns them."""
    function = ag.primitive(lambda x: give(2 * np.asarray(x)))
    function.defvjp(lambda ans, x: lambda g: 2 * g)
    return function


def doubled_by_function(give):
    class Doubled(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return give(2 * x.array)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    return Doubled.apply


def doubled_by_tensor(give):
    class Doubled(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return ag.asarray(give(2 * x.array))

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    return Doubled.apply


def exponential_by_primitive(give):
    """exp(x), whose rule uses the answer."""
    function = ag.primitive(lambda x: give(np.exp(x)))
    function.defvjp(lambda ans, x: lambda g: g * ans)
    return function


MAKERS = {
    "primitive": (doubled_by_primitive, lambda v: 2 * v),
    "Function": (doubled_by_function, lambda v: 2 * v),
    "Function, Tensor": (doubled_by_tensor, lambda v: 2 * v),
    "ans": (exponential_by_primitive, np.exp),
}


class Buffer:
    """Memory that every call returns, whole or a part of it."""

    def __init__(self, shape, part):
        self.whole = np.zeros((2, *shape))
        self.part = part

    def __call__(self, values):
        one = self.whole[0, ...] if self.part == "view" else self.whole
        if self.part == "whole":
            if not hasattr(self, "own"):
                self.own = np.zeros(np.shape(values))
            one = self.own
        one[...] = values
        return one

    def memory(self):
        return self.own if self.part == "whole" else self.whole[0, ...]


def slope(f, x, create_graph):
    if not create_graph:
        return ag.grad(f)(x)
    t = ag.tensor(x, requires_grad=True)
    (g,) = ag.autograd.grad(f(t), t, create_graph=True)
    return g.detach().numpy()


MEMBERS = list(itertools.product(MAKERS, ("whole", "view"), ((), (3,), (2, 3)), (False, True)))


@pytest.mark.parametrize(("maker", "part", "shape", "create_graph"), MEMBERS)
def test_a_buffer_that_the_next_call_overwrites_gives_the_gradient_of_the_program(maker, part, shape, create_graph):
    function = MAKERS[maker][0](Buffer(shape, part))
    x = np.linspace(0.3, 1.1, int(np.prod(shape))).reshape(shape)

    def f(x):
        y = function(x)
        s = np.sum(y * y)
        function(3 * x)
        return s

    expected = 2 * np.exp(2 * x) if maker == "ans" else 8 * x
    np.testing.assert_allclose(slope(f, x, create_graph), expected, rtol=1e-12)


@pytest.mark.parametrize("writer", ["the next call", "the program"])
@pytest.mark.parametrize("part", ["whole", "view"])
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("use", ["result", "view of it"])
def test_a_result_whose_memory_was_written_since_is_not_used_again(maker, part, writer, use):
    buffer = Buffer((3,), part)
    function = MAKERS[maker][0](buffer)
    t = ag.tensor(X, requires_grad=True)
    y = function(t)
    shown = y[1:] if use == "view of it" else y
    if writer == "the program":
        buffer.memory()[...] = 7.0
    else:
        function(3 * t)
    with pytest.raises(RuntimeError, match=HELD):
        np.sum(shown * 2)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("part", ["whole", "view"])
def test_a_write_to_a_result_that_the_function_keeps_is_refused(maker, part):
    function = MAKERS[maker][0](Buffer((3,), part))
    y = function(ag.tensor(X, requires_grad=True))
    with pytest.raises(RuntimeError, match=HELD):
        y[0] = 5.0
    with pytest.raises(RuntimeError, match=HELD):
        y[1:] *= 2.0


@pytest.mark.parametrize("maker", MAKERS)
def test_a_new_array_may_be_written(maker):
    make, plain = MAKERS[maker]
    function = make(lambda values: values)

    def f(x):
        y = function(x)
        y[0] = 5.0
        y *= 2.0
        return np.sum(y)

    value, gradient = ag.value_and_grad(f)(X)
    expected = plain(X)
    expected[0] = 5.0
    np.testing.assert_allclose(value, 2 * expected.sum(), rtol=1e-14)
    slopes = 2 * (plain(X) if maker == "ans" else np.full(3, 2.0))
    slopes[0] = 0.0
    np.testing.assert_allclose(gradient, slopes, rtol=1e-14)


def test_what_a_function_keeps_on_ctx_alone_may_be_written():
    class Exponential(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = np.exp(x.array)
            ctx.kept = y.copy()
            ctx.save_for_backward(ag.asarray(np.exp(x.array)))
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    def f(x):
        y = Exponential.apply(x)
        y += 1.0
        return np.sum(y)

    np.testing.assert_allclose(ag.grad(f)(X), np.exp(X))


def test_a_cache_gives_right_gradients_and_is_not_written():
    cache = {}

    def looked_up(x):
        key = x.tobytes()
        if key not in cache:
            cache[key] = np.sin(x)
        return cache[key]

    sine = ag.primitive(looked_up)
    sine.defvjp(lambda ans, x: lambda g: g * np.cos(x))
    for _ in range(2):
        np.testing.assert_allclose(ag.grad(lambda x: np.sum(sine(x) * sine(x)))(X), np.sin(2 * X))
    y = sine(ag.tensor(X, requires_grad=True))
    with pytest.raises(RuntimeError, match=HELD):
        y += 1.0


# -- arguments --------------------------------------------------------------------------------------------------------


def shown_by_primitive(key):
    def rule(ans, x):
        def pull(g):
            out = np.zeros(x.shape)
            out[key] = g
            return out

        return pull

    function = ag.primitive(lambda x: x if key is Ellipsis else x[key])
    function.defvjp(rule)
    return function


def shown_by_function(key):
    class Shown(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x.array if key is Ellipsis else x.array[key]

        @staticmethod
        def backward(ctx, g):
            out = np.zeros(ctx.shape)
            out[key] = g.array
            return out

    return Shown.apply


KEYS = {"itself": Ellipsis, "a part": slice(1, None), "reversed": slice(None, None, -1)}


@pytest.mark.parametrize("make", [shown_by_primitive, shown_by_function])
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("written", ["result", "argument"])
def test_an_argument_that_is_returned_is_a_view(make, key, written):
    function = make(key)
    t = ag.tensor(X, requires_grad=True)
    y = t * 2
    z = function(y)
    assert np.shares_memory(z.detach().numpy(), y.detach().numpy())
    if written == "result":
        with pytest.raises(RuntimeError, match="view"):
            z[0] = 5.0
    else:
        y[...] = 5.0
        with pytest.raises(RuntimeError, match="view"):
            np.sum(z * 2)


@pytest.mark.parametrize("make", [shown_by_primitive, shown_by_function])
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_an_argument_that_is_returned_has_the_gradient_of_the_rule(make, key):
    function = make(key)
    expected = np.zeros(3)
    expected[key] = (4 * X * 2)[key]
    np.testing.assert_allclose(ag.grad(lambda x: np.sum(function(x * 2) ** 2))(X), expected, rtol=1e-14)


@pytest.mark.parametrize("make", [shown_by_primitive, shown_by_function])
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_without_a_gradient_writes_show_as_in_numpy(make, key):
    function = make(key)
    plain, y = X * 2, ag.asarray(X * 2)
    plain[key][...] = 5.0
    with ag.no_grad():
        z = function(y)
        z[...] = 5.0
    np.testing.assert_array_equal(y.numpy(), plain)


WROTE = "wrote into its argument 0"


def squared_in_place(x):
    return np.multiply(x, x, out=x)


def test_a_primitive_that_writes_its_argument_is_refused():
    function = ag.primitive(squared_in_place)
    function.defvjp(lambda ans, x: lambda g: 2 * x * g)

    def f(x):
        y = x * 1.0
        function(y)
        return np.sum(y)

    with pytest.raises(RuntimeError, match=WROTE):
        ag.grad(f)(X.copy())


def test_a_primitive_that_writes_a_constant_argument_is_refused():
    function = ag.primitive(lambda x, out: np.multiply(x, 2, out=out))
    function.defvjp(lambda ans, x, out: lambda g: 2 * g)
    with pytest.raises(RuntimeError, match="wrote into its argument 1"):
        ag.grad(lambda x: np.sum(function(x, np.zeros(3))))(X)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
@pytest.mark.parametrize("way", ["Tensor", "array", "view of the array"])
@pytest.mark.parametrize("n", [1, 2])
def test_a_forward_that_writes_an_argument_is_refused(way, shape, n):
    class Writes(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x, *others):
            if way == "Tensor":
                x[...] = x * x
            elif way == "array":
                x.array[...] = 7.0
            else:
                x.array.reshape(-1)[:1] = 7.0
            return x.sum()

        @staticmethod
        def backward(ctx, g):
            return (g,) + (None,) * (n - 1)

    t = ag.tensor(np.full(shape, 3.0), requires_grad=True)
    y = ag.reshape(t * ag.ones(shape), shape)
    y = as_scalar(ag.asarray(y), False)
    squares = y * y
    with pytest.raises(RuntimeError, match=WROTE):
        Writes.apply(y, *[t] * (n - 1))
    if shape and way != "Tensor":  # what was saved is gone
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            squares.sum().backward()


def test_a_forward_that_marks_what_it_writes_is_right():
    class Square(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.copy())
            x *= x
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    def f(x):
        y = x * 1.0
        Square.apply(y)
        return np.sum(y)

    np.testing.assert_allclose(ag.grad(f)(X), 2 * X)


# -- others that return arrays ----------------------------------------------------------------------------------------


def test_a_solver_that_returns_its_buffer_gives_the_gradient():
    A, out = np.diag([1.0, 2.0, 3.0]), np.zeros(3)

    def solver(A, b):
        out[...] = np.linalg.solve(A, b)
        return out

    def f(b):
        y = ag.implicit.linear_solve(A, b, solver)
        s = np.sum(y * y)
        ag.implicit.linear_solve(A, 3 * b, solver)
        return s

    np.testing.assert_allclose(ag.grad(f)(X), 2 * X / np.array([1.0, 4.0, 9.0]))


@pytest.mark.parametrize("kind", ["root", "fixed_point"])
def test_a_root_finder_that_returns_its_buffer_gives_the_gradient(kind):
    out = np.zeros(3)

    def solver(fun, x0):
        x = np.array(x0)
        for _ in range(60):
            x = x - fun(x) / (2 * x) if kind == "root" else fun(x)
        out[...] = x
        return out

    if kind == "root":
        solve = ag.implicit.root(lambda x, a: x * x - a, solver)
    else:
        solve = ag.implicit.fixed_point(lambda x, a: 0.5 * (x + a / x), solver)

    def f(a):
        y = solve(np.ones(3), a)
        s = np.sum(y**3)
        solve(np.ones(3), 3 * a)
        return s

    np.testing.assert_allclose(ag.grad(f)(X), 1.5 * np.sqrt(X))


@pytest.mark.parametrize("give", ["array", "Tensor", "view"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_an_unpack_hook_that_returns_its_buffer_gives_the_gradient(give, create_graph):
    out, kept = np.zeros(3), []
    shown = {"array": lambda: out, "Tensor": lambda: ag.asarray(out), "view": lambda: out[:]}[give]

    def pack(t):
        kept.append(t.numpy().copy())
        return len(kept) - 1

    def unpack(place):
        out[...] = kept[place]
        return shown()

    def f(x):
        with ag.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = np.arctan2(np.exp(x), 1.0 + x * x) / (2.0 + np.sin(x))
        return np.sum(y)

    def plain(x):
        return np.arctan2(np.exp(x), 1.0 + x * x) / (2.0 + np.sin(x))

    h = 1e-6
    np.testing.assert_allclose(slope(f, X, create_graph), (plain(X + h) - plain(X - h)) / (2 * h), rtol=1e-7)


def test_functions_that_numpy_calls_may_return_one_buffer():
    rows = np.arange(6.0).reshape(2, 3)
    out = np.zeros(3)

    def fills(row):
        out[...] = np.asarray(ag.stop_gradient(row)) * 2
        return out

    t = ag.tensor(rows, requires_grad=True)
    found = np.apply_along_axis(fills, 1, t)
    np.testing.assert_array_equal(np.asarray(ag.stop_gradient(found)), 2 * rows)
    found = ag.numpy.vectorize(fills, signature="(n)->(n)")(t) if hasattr(ag.numpy, "vectorize") else found
    np.testing.assert_array_equal(np.asarray(ag.stop_gradient(found)), 2 * rows)
    flat = ag.tensor([0.0, 1.0, 2.0], requires_grad=True)

    def one(values):
        out[:1] = values.shape[0]
        return out[:1]

    def two(values):
        out[:1] = -values.shape[0]
        return out[:1]

    found = np.piecewise(flat, [np.array([True, False, False]), np.array([False, True, True])], [one, two])
    np.testing.assert_array_equal(np.asarray(ag.stop_gradient(found)), [1.0, -2.0, -2.0])


def test_arrays_of_a_tuple_that_the_function_keeps():
    kept = (np.zeros(3), np.zeros(3))

    class Parts(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            np.multiply(x.array, 2.0, out=kept[0])
            np.multiply(x.array, 3.0, out=kept[1])
            return kept

        @staticmethod
        def backward(ctx, g, h):
            return 2 * g + 3 * h

    def f(x):
        y, _ = Parts.apply(x)
        s = np.sum(y * y)
        Parts.apply(3 * x)
        return s

    np.testing.assert_allclose(ag.grad(f)(X), 8 * X, rtol=1e-12)
