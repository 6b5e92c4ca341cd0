"""Column-major arrays on compiled paths: values, memory layout, warnings and gradients (reductions.pyx, lanes.pyx)."""

import numpy as np
import pytest
from fast_path_cases import plain

import arraygrad as ag
import arraygrad.numpy as an
from arraygrad.backends.numpy import BACKEND
from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.backends.numpy.table import try_rule
from arraygrad.ops import OPS

SHAPES = [(8, 8), (3, 5), (5, 3), (2, 7), (1, 4), (4, 1), (2, 3, 4), (0, 3), (3, 0), (70, 40)]


def columns(shape, dtype, seed=0):
    return np.array(np.random.default_rng(seed).normal(size=shape).astype(dtype), order="F")


def lies(x):
    return x.strides if all(n > 1 for n in x.shape) else None


def calls(x):
    """(name, ours, NumPy's or None) of what is served, for an array of this shape."""
    last = x.ndim - 1
    places = np.arange(x.shape[0])[::-1].copy() if x.shape[0] else np.zeros(0, int)
    whole = tuple(np.indices(x.shape).reshape(x.ndim, -1)[:, ::2])
    order = np.argsort(x, axis=-1)
    mask = x > 0.1
    for axis in (0, -1, last):
        yield f"softmax {axis}", lambda t, axis=axis: ag.softmax(t, axis=axis), None
        yield f"log_softmax {axis}", lambda t, axis=axis: ag.log_softmax(t, axis=axis), None
        yield f"roll {axis}", lambda t, axis=axis: an.roll(t, 2, axis=axis), lambda x, axis=axis: np.roll(x, 2, axis)
        if x.size:
            yield f"logsumexp {axis}", lambda t, axis=axis: ag.logsumexp(t, axis=axis), None
            if x.size < 1000:  # of more the product is out of range
                yield f"prod {axis}", lambda t, axis=axis: an.prod(t, axis=axis), lambda x, axis=axis: np.prod(x, axis)
            yield f"max kept {axis}", lambda t, axis=axis: an.max(t, axis=axis, keepdims=True), None
            yield f"min of equal {axis}", lambda t, axis=axis: an.min(an.round(t), axis=axis), None
            yield f"max {axis}", lambda t, axis=axis: an.max(t, axis=axis), lambda x, axis=axis: np.max(x, axis)
            yield f"min {axis}", lambda t, axis=axis: an.min(t, axis=axis), lambda x, axis=axis: np.min(x, axis)
        yield (
            f"sum {axis}",
            lambda t, axis=axis: an.sum(t, axis=axis, keepdims=True),
            lambda x, axis=axis: np.sum(x, axis, keepdims=True),
        )
        yield f"sum {axis}", lambda t, axis=axis: an.sum(t, axis=axis), lambda x, axis=axis: np.sum(x, axis)
    if x.size:
        yield "logsumexp all", ag.logsumexp, None
        yield "max all", lambda t: an.max(t), None
        yield "min of two readers", lambda t: an.min(t) + an.max(t, axis=-1).sum() + an.max(t), None
        if x.size < 1000:
            yield "prod all", lambda t: an.prod(t), None
    yield "roll", lambda t: an.roll(t, 3), lambda x: np.roll(x, 3)
    yield "fftshift", an.fft.fftshift, np.fft.fftshift
    yield "ifftshift", lambda t: an.fft.ifftshift(t, axes=0), lambda x: np.fft.ifftshift(x, axes=0)
    yield "tril", lambda t: an.tril(t, k=1), lambda x: np.tril(x, 1)
    yield "triu", lambda t: an.triu(t, k=-1), lambda x: np.triu(x, -1)
    yield "take", lambda t: an.take(t, places, axis=0), lambda x: np.take(x, places, 0)
    yield "rows and columns", lambda t: t[whole], lambda x: x[whole]
    yield "mask", lambda t: t[mask], lambda x: x[mask]
    yield "mask in rows", lambda t: t[np.array(mask, order="C")], lambda x: x[mask]
    yield "vector_norm", an.linalg.vector_norm, np.linalg.vector_norm
    for way in ("C", "F"):
        chosen, places_of = np.array(mask, order=way), np.array(order, order=way)
        yield f"where {way}", lambda t, m=chosen: an.where(m, t, t * 2.0), lambda x, m=chosen: np.where(m, x, x * 2.0)
        yield f"where number {way}", lambda t, m=chosen: an.where(m, t, 0.5), lambda x, m=chosen: np.where(m, x, 0.5)
        yield (
            f"along axis {way}",
            lambda t, i=places_of: an.take_along_axis(t, i, axis=-1),
            lambda x, i=places_of: np.take_along_axis(x, i, -1),
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_layouts_and_gradients(shape, dtype):
    x = columns(shape, dtype)
    for name, ours, numpys in calls(x):

        def run(ours=ours):
            t = ag.tensor(x, requires_grad=True)
            out = ours(t)
            g = np.random.default_rng(3).normal(size=out.shape).astype(dtype)
            out.backward(g)
            return out.numpy(), t.grad.numpy()

        (value, gradient), (expected, slow) = run(), plain(run)
        assert value.dtype == expected.dtype == dtype, name
        assert lies(value) == lies(expected), name
        tolerance = 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance, err_msg=name)
        np.testing.assert_allclose(gradient, slow, rtol=tolerance, atol=tolerance, err_msg=name)
        if numpys is not None:
            other = np.asarray(numpys(x))
            np.testing.assert_array_equal(value, other, err_msg=name)
            assert lies(value) == lies(other), name


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("softmax", (1,)),
        ("log_softmax", (0,)),
        ("logsumexp", (0, False)),
        ("max", (0, False)),
        ("sum", (1, None, False)),
        ("take", (np.array([1, 0, 2]), 0)),
    ],
)
def test_the_compiled_way_is_taken_and_owns_its_result(name, arguments):
    x = columns((5, 7), "float64")
    out = try_call(OPS[name], (x, *arguments))
    assert out is not None
    assert out.base is None
    assert out.flags.owndata


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "longdouble", "complex64", "complex128", "int64", "uint8", "bool"]
)
def test_copies_lie_as_numpys(dtype):
    x = (np.arange(120) % 7).astype(dtype).reshape(4, 5, 6)
    for a in (
        x,
        x.T,
        x[0].T,
        x.transpose(1, 0, 2),
        x[:, ::2],
        x[0, :1].T,
        x[..., ::-1],
        np.broadcast_to(x[0], x.shape),
        x[:0].T,
        np.asfortranarray(np.zeros((70, 80), dtype)),
        x[0, 0, 0, ...],
    ):
        expected = np.copy(a)
        for copy in (BACKEND.clone(a, a), np.copy(ag.asarray(a)).array):
            assert copy.dtype == expected.dtype
            np.testing.assert_array_equal(copy, expected)
            assert not np.shares_memory(copy, a)
            if a.flags.c_contiguous or a.flags.f_contiguous:
                assert lies(copy) == lies(expected)


def test_a_column_major_mask_is_kept_as_it_was():
    x, mask = columns((6, 5), "float64"), columns((6, 5), "float64", 1) > 0
    before = mask.copy("F")
    for call in (lambda t: t[mask], lambda t: np.extract(mask, t)):
        t = ag.tensor(x, requires_grad=True)
        out = call(t)
        mask[...] = False
        out.sum().backward()
        mask[...] = before
        np.testing.assert_array_equal(t.grad.numpy(), before.astype(float))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["max", "min", "prod", "logsumexp"])
def test_rules_of_reductions_lie_as_the_operand(name, dtype):
    for shape in ((4, 4), (3, 5)):
        for axis in (None, 0, 1, -1):
            x = ag.tensor(columns(shape, dtype), requires_grad=True)
            out = getattr(an if name != "logsumexp" else ag, name)(x, axis=axis)
            ((gradient, owned),) = try_rule(out.grad_fn, np.ones(out.shape, dtype))
            assert owned
            assert gradient.flags.f_contiguous
            assert gradient.flags.owndata
            assert gradient.shape == shape


def test_where_is_served_where_all_lie_alike():
    x = columns((5, 7), "float64")
    assert try_call(OPS["where"], (x > 0, x, x)).flags.f_contiguous
    assert try_call(OPS["where"], (x > 0, x, 1.0)).flags.f_contiguous
    assert np.where(x > 0, x, x.copy("C")).flags.c_contiguous


def test_a_turned_result_can_be_written_and_kept():
    x = ag.tensor(columns((6, 4), "float64"), requires_grad=True)
    y = ag.softmax(x, axis=-1)
    y[0] = 0.0
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy()[1:], 0.0, atol=1e-15)
    for _ in range(50):  # memory that is handed out again lies as it is asked for
        rows = ag.softmax(ag.asarray(np.ones((6, 4))), axis=-1)
        assert rows.numpy().flags.c_contiguous
        assert ag.softmax(ag.asarray(columns((4, 6), "float64")), axis=-1).numpy().flags.f_contiguous


def test_warnings_are_those_of_the_plain_way():
    x = columns((4, 4), "float64")
    x[1, 2] = np.nan
    x[0, 0] = np.inf
    for function in (lambda t: ag.softmax(t, axis=-1), lambda t: ag.logsumexp(t, axis=0), lambda t: an.max(t, axis=0)):

        def outcome(function=function):
            try:
                with np.errstate(all="raise"):
                    return function(ag.asarray(x)).numpy()
            except FloatingPointError as error:
                return str(error)

        got, expected = outcome(), plain(outcome)
        if isinstance(expected, str):
            assert got == expected
        else:
            np.testing.assert_array_equal(got, expected)


def test_special_functions_of_both_orders_lie_in_rows():
    special = pytest.importorskip("scipy.special")
    rows, lying = np.abs(columns((4, 5), "float64")).copy("C") + 0.1, np.abs(columns((4, 5), "float64", 1)) + 0.1
    out = special.gammainc(rows, ag.tensor(lying, requires_grad=True))
    expected = special.gammainc(rows, lying)
    np.testing.assert_array_equal(out.numpy(), expected)
    assert out.numpy().flags.c_contiguous
    assert expected.flags.c_contiguous
