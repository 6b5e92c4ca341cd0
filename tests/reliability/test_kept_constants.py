"""What Functions, primitives and checkpoints keep of the program's arrays is compared before it is used again."""

import numpy as np
import pytest

import arraygrad as ag

MODIFIED = "has been modified by an inplace operation"
W = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def _default_modes():
    W[:] = [1.0, 2.0, 3.0]
    yield
    ag.set_constant_check("sample")


def leaf():
    return ag.tensor([0.5, 1.0, 1.5], requires_grad=True)


# -- custom Functions ----------------------------------------------------------------------------------------


class Product(ag.autograd.Function):
    """x * w, w a Tensor that is saved."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, g * x


class Scale(ag.autograd.Function):
    """x * w, w a raw array that is an attribute of ctx."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.w = w
        return x * w

    @staticmethod
    def backward(ctx, g):
        return g * ctx.w, None


class ScaleAll(ag.autograd.Function):
    """x * a * b, in a list."""

    @staticmethod
    def forward(ctx, x, *factors):
        ctx.factors = list(factors)
        for factor in factors:
            x = x * factor
        return x

    @staticmethod
    def backward(ctx, g):
        for factor in ctx.factors:
            g = g * factor
        return g, None, None


def test_a_saved_tensor_over_an_array_that_was_written_is_refused():
    x, w = leaf(), np.array([1.0, 2.0, 3.0])
    y = Product.apply(x, ag.asarray(w)).sum()
    w[0] = 9.0
    with pytest.raises(RuntimeError, match=rf"{MODIFIED}.*ProductBackward.*save_for_backward"):
        y.backward()


def test_a_saved_tensor_that_was_written_through_a_tensor_is_kept():
    x, w = leaf(), np.array([1.0, 2.0, 3.0])
    t = ag.asarray(w)
    y = Product.apply(x, t).sum()
    t += 1
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [1.0, 2.0, 3.0])


def test_in_mode_copy_a_function_keeps_a_copy_of_what_it_saves():
    ag.set_constant_check("copy")
    x, w = leaf(), np.array([1.0, 2.0, 3.0])
    y = Product.apply(x, ag.asarray(w)).sum()
    w[:] = 9.0
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [1.0, 2.0, 3.0])


def test_a_raw_array_on_ctx_that_was_written_is_refused():
    x, w = leaf(), np.array([1.0, 2.0, 3.0])
    y = Scale.apply(x, w).sum()
    w[0] = 9.0
    with pytest.raises(RuntimeError, match=rf"{MODIFIED}: w of the ctx of Scale was written"):
        y.backward()


def test_raw_arrays_in_a_list_on_ctx_that_were_written_are_refused():
    x, a, b = leaf(), np.ones(3), np.ones(3)
    y = ScaleAll.apply(x, a, b).sum()
    b *= 2
    with pytest.raises(RuntimeError, match=rf"{MODIFIED}: factors\[1\]"):
        y.backward()


def test_raw_arrays_on_ctx_that_were_not_written_give_the_gradient():
    x, w = leaf(), np.array([1.0, 2.0, 3.0])
    y = Scale.apply(x, w).sum()
    y.backward(retain_graph=True)
    y.backward()
    np.testing.assert_array_equal(x.grad.array, 2 * w)


def test_a_backward_may_write_arrays_of_its_own_ctx():
    class Counts(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.calls = np.zeros(1)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ctx.calls += 1
            return g * 2

    x = leaf()
    y = Counts.apply(x).sum()
    for _ in range(3):
        y.backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad.array, [6.0, 6.0, 6.0])


# -- primitives ----------------------------------------------------------------------------------------


@ag.primitive
def scaled(x, w, *, shift=None):
    return x * w if shift is None else (x + shift) * w


scaled.defvjp(lambda ans, x, w, shift=None: lambda g: g * w, lambda ans, x, w, shift=None: lambda g: g * x)


@pytest.mark.parametrize("wrap", [lambda a: a, ag.asarray], ids=["raw", "Tensor over it"])
def test_an_argument_of_a_primitive_that_was_written_is_refused(wrap):
    x, w = leaf(), np.array([1.0, 2.0, 3.0])
    y = scaled(x, wrap(w)).sum()
    w[2] = 0.0
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_a_keyword_argument_of_a_primitive_that_was_written_is_refused():
    x, shift = leaf(), np.ones(3)
    y = scaled(x, 2.0, shift=shift).sum()
    shift += 1
    with pytest.raises(RuntimeError, match=rf"{MODIFIED}: argument 'shift' of scaled"):
        y.backward()


def test_a_primitives_argument_that_a_tensor_wrote_is_kept():
    x, t = leaf(), ag.asarray(np.array([1.0, 2.0, 3.0]))
    y = scaled(x, t).sum()
    t *= 7
    y.backward()
    np.testing.assert_array_equal(x.grad.array, [1.0, 2.0, 3.0])


# -- checkpoints ----------------------------------------------------------------------------------------


def closure_over(w):
    return lambda x: np.sin(x * w)


def default_of(w):
    def f(x, factor=w):
        return np.sin(x * factor)

    return f


def method_of(w):
    class Layer:
        def __init__(self):
            self.w = w

        def call(self, x):
            return np.sin(x * self.w)

    return Layer().call


def callable_of(w):
    class Layer:
        def __init__(self):
            self.w = w

        def __call__(self, x):
            return np.sin(x * self.w)

    return Layer()


def nested(w):
    inner = closure_over(w)
    return lambda x: inner(x) * 2


def in_a_dict(w):
    parameters = {"w": [w]}
    return lambda x: np.sin(x * parameters["w"][0])


def partial_of(w):
    import functools

    return functools.partial(lambda w, x: np.sin(x * w), w)


def of_globals(w):
    return uses_global


def uses_global(x):
    return np.sin(x * W)


HOLDERS = {f.__name__: f for f in (closure_over, default_of, method_of, callable_of, nested, in_a_dict, partial_of,
                                   of_globals)}  # fmt: skip


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_a_checkpoint_whose_function_finds_a_written_array_is_refused(holder):
    x = leaf()
    y = ag.checkpoint(holder(W))(x).sum()
    W[1] = -4.0
    with pytest.raises(RuntimeError, match=rf"{MODIFIED}.*of the checkpoint of"):
        y.backward()


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_a_checkpoint_whose_function_finds_its_arrays_as_they_were_gives_the_gradient(holder):
    x = leaf()
    factor = 2.0 if holder is nested else 1.0
    ag.checkpoint(holder(W))(x).sum().backward()
    np.testing.assert_allclose(x.grad.array, factor * W * np.cos(np.array([0.5, 1.0, 1.5]) * W), rtol=1e-15)


def test_a_raw_argument_of_a_checkpoint_that_was_written_is_refused():
    x, w = leaf(), np.array([1.0, 2.0, 3.0])
    y = ag.checkpoint(lambda x, w: np.sin(x * w))(x, w).sum()
    w[0] = 5.0
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_a_tensor_in_the_closure_of_a_checkpoint_that_was_updated_is_refused():
    x, w = leaf(), ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = ag.checkpoint(lambda x: np.sin(x * w))(x).sum()
    with ag.no_grad():
        w -= 0.1
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_what_a_checkpoints_function_writes_itself_is_not_compared():
    x, mean = leaf(), np.zeros(3)

    def normalised(x):
        mean[:] = 0.9 * mean + 0.1 * x.detach().numpy()
        return np.sin(x)

    layer = ag.checkpoint(normalised)
    layer(layer(x)).sum().backward()
    inner = np.sin(np.array([0.5, 1.0, 1.5]))
    np.testing.assert_allclose(x.grad.array, np.cos(inner) * np.cos(np.array([0.5, 1.0, 1.5])), rtol=1e-14)


def test_in_mode_off_a_checkpoint_compares_nothing():
    ag.set_constant_check("off")
    x = leaf()
    y = ag.checkpoint(uses_global)(x).sum()
    W[:] = 0.0
    y.backward()
    np.testing.assert_array_equal(x.grad.array, np.zeros(3))


# -- indices, names and attributes of ctx ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pick",
    [
        lambda x, m: np.take(x, m),
        lambda x, m: np.take(x, m, axis=0),
        lambda x, m: x.take(m),
        lambda x, m: np.take_along_axis(x, m, axis=0),
        lambda x, m: ag.take(x, m),
        lambda x, m: ag.take(x, ag.asarray(m)),
        lambda x, m: x[m],
        lambda x, m: x[ag.asarray(m)],
        lambda x, m: np.compress(m == m, x[m]),
        lambda x, m: np.choose(m % 2, [x[:2], x[2:]]),
        lambda x, m: np.repeat(x[:2], m + 1),
        lambda x, m: np.where(m > 0, x[:2], x[2:]),
    ],
)
@pytest.mark.parametrize("transform", [True, False], ids=["transform", "step by step"])
def test_index_array_that_is_written_later_gives_the_gradient_of_the_run(pick, transform):
    def f(x):
        m = np.array([0, 1])
        y = pick(x, m)
        m[0] = 3
        return np.sum(y**2)

    x = np.array([1.0, 2.0, 3.0, 4.0])
    expected = np.array([(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(4)])
    if transform:
        found = ag.grad(f)(x)
    else:
        leaf = ag.tensor(x, requires_grad=True)
        f(leaf).backward()
        found = leaf.grad.numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


class Holder:
    pass


def test_checkpoint_of_a_function_whose_closure_is_bound_anew_has_the_number_of_its_call():
    def f(x):
        k = 2.0

        @ag.checkpoint
        def g(z):
            return np.tanh(z * k)

        y = g(x)
        k = 3.0
        return np.sum(y * x)

    x = np.array([0.1, 0.5])
    np.testing.assert_allclose(ag.grad(f)(x), np.tanh(2 * x) + 2 * x / np.cosh(2 * x) ** 2)


@pytest.mark.parametrize("what", ["dict", "attribute"])
def test_checkpoint_of_a_function_that_reads_another_number_the_second_time_is_refused(what):
    def f(x):
        entries, holder = {"k": 2.0}, Holder()
        holder.k = 2.0

        @ag.checkpoint
        def g(z):
            return np.tanh(z * {"dict": entries["k"], "attribute": holder.k}[what])

        y = g(x)
        entries["k"] = holder.k = 3.0
        return np.sum(y * x)

    with pytest.raises(RuntimeError, match="is not the same when it is called again"):
        ag.grad(f)(np.array([0.1, 0.5]))


def test_checkpoint_of_a_function_that_gives_the_same_numbers_is_not_refused():
    calls = []

    def g(x):
        calls.append(1)
        return np.sum(np.exp(x) * np.where(x > 10.0, np.nan, x))

    x = np.linspace(0.0, 1.0, 100)
    np.testing.assert_allclose(ag.grad(ag.checkpoint(g))(x), np.exp(x) * (1 + x), rtol=1e-12)
    assert len(calls) == 2


@pytest.mark.parametrize("nested", [False, True])
def test_tensor_on_ctx_that_is_written_later_is_refused(nested):
    class Square(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = {"x": [x]} if nested else x
            return x**2

        @staticmethod
        def backward(ctx, g):
            x = ctx.kept["x"][0] if nested else ctx.kept
            return 2.0 * g * x

    def f(x):
        z = x * 1.0
        y = Square.apply(z)
        z *= 3.0
        return (y * z).sum()

    with pytest.raises(RuntimeError, match="ctx of Square was written"):
        ag.grad(f)(np.array([0.1, 0.5]))
