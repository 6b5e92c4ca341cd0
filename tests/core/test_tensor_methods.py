"""NumPy's everyday methods of Tensor: NumPy's values and signatures, recorded, on the tensor's own backend.

Imports the public names of arraygrad.
"""

import inspect

import numpy as np
import pytest

import arraygrad as ag

M = np.asarray([[0.3, -0.6, 0.9], [0.2, 0.5, -0.8]])
T3 = np.arange(24.0).reshape(2, 3, 4) / 7 - 1
C = M + 1j * M[::-1]


def call(text, *arrays):
    """A method call, written out; its names m, t, c are the arrays."""
    return pytest.param(text, id=text)


CALLS = [
    "m.sum()", "m.sum(0)", "m.sum(axis=(0, 1), keepdims=True)", "m.sum(1, 'float32')", "m.prod()", "m.prod(axis=1)",
    "m.mean()", "m.mean(axis=0, keepdims=True)", "m.mean(dtype='float32')", "m.max()", "m.max(axis=1)", "m.min(0)",
    "m.min(axis=1, keepdims=True)", "m.var()", "m.var(axis=0, ddof=1)", "m.std()", "m.std(1, ddof=1, keepdims=True)",
    "(m > 0).any()", "(m > 0).any(axis=0)", "(m > 0).all(1)",
    "(m > 0).all(axis=0, keepdims=True)", "m.argmax()", "m.argmax(axis=0)", "m.argmin(1)",
    "m.argmin(axis=1, keepdims=True)", "m.cumsum()", "m.cumsum(axis=1)", "m.cumsum(0, 'float32')", "m.cumprod(axis=0)",
    "m.clip(0.0, 0.5)", "m.clip(min=0.0)", "m.clip(max=0.5)", "m.round()", "m.round(1)", "(m * 100).round(-1)",
    "m.conj()", "c.conj()", "c.conjugate()", "c.real", "c.imag", "m.real", "m.imag",
    "m.reshape(3, 2)", "m.reshape((3, 2))", "m.reshape(-1)", "m.reshape(3, -1)", "m.reshape([6])", "m.ravel()",
    "m.flatten()", "m[:1].squeeze()", "m[:1].squeeze(0)", "m[:1].squeeze(axis=(0,))", "m.transpose()",
    "t.transpose()", "t.transpose(None)", "t.transpose(2, 0, 1)", "t.transpose((2, 0, 1))", "t.transpose(-1, 0, 1)",
    "t.swapaxes(0, 2)", "t.swapaxes(-1, 0)", "m.T", "t.T", "t.mT",
    "m.repeat(2)", "m.repeat(2, axis=1)", "m.diagonal()", "m.diagonal(1)", "t.diagonal(0, 0, 2)",
    "t.diagonal(offset=-1, axis1=2, axis2=1)", "m.trace()", "t.trace(1, axis1=1, axis2=2)",
    "m.take([0, 5])", "m.take([[0, 1], [2, 3]])", "m.take(2)", "m.take([2, 0], axis=1)", "m.take([[1], [0]], axis=0)",
    "m.argsort()", "m.argsort(axis=0)", "m.argsort(axis=None)", "(m > 0).nonzero()", "m.dot(m.T)", "m.dot(m[0])",
    "m.dot(2.0)", "m[0].dot(m[1])", "t.dot(t.swapaxes(1, 2))", "m.copy()", "m.astype('float32')",
    "m.tolist()", "m.item(0) if isinstance(m, np.ndarray) else m[0, 0].item()", "m.size", "m.ndim", "m.shape", "len(m)",
]  # fmt: skip


def evaluate(text, wrap):
    return eval(text, {"np": np, "m": wrap(M), "t": wrap(T3), "c": wrap(C)})


def plain(result):
    if isinstance(result, ag.Tensor):
        return result.numpy()
    return tuple(plain(r) for r in result) if isinstance(result, tuple) else result


@pytest.mark.parametrize("text", CALLS)
def test_method_has_numpys_values(text):
    expected = evaluate(text, lambda a: a)
    found = plain(evaluate(text, lambda a: ag.tensor(a, requires_grad=True)))
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for a, b in pairs:
        if isinstance(b, np.ndarray | np.generic):
            assert isinstance(a, np.ndarray)
            assert a.shape == b.shape
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=2e-7 if b.dtype == np.float32 else 1e-13, atol=1e-15)
        else:
            assert a == b


WITHOUT_GRADIENT = ("> 0)", "arg", "tolist", "item", "size", "ndim", "shape", "len", "m.imag")


@pytest.mark.parametrize("text", [t for t in CALLS if t.startswith(("m.reshape", "t.")) or
                                  not any(w in t for w in WITHOUT_GRADIENT)])  # fmt: skip
def test_method_is_recorded(text):
    result = evaluate(text, lambda a: ag.tensor(a, requires_grad=True))
    assert isinstance(result, ag.Tensor)
    assert result.requires_grad


@pytest.mark.parametrize(
    ("f", "gradient"),
    [
        (lambda t: t.sum(), np.ones_like(M)),
        (lambda t: t.mean(), np.full(M.shape, 1 / 6)),
        (lambda t: t.var(ddof=1), 2 * (M - M.mean()) / 5),
        (lambda t: t.reshape(3, 2).T.ravel()[:2].sum(), np.asarray([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])),
        (lambda t: t.cumsum()[2], np.asarray([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])),
        (lambda t: t.clip(-0.5, 0.5).sum(), np.asarray([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])),
        (lambda t: t.take([[0, 0], [5, 0]]).sum(), np.asarray([[3.0, 0.0, 0.0], [0.0, 0.0, 1.0]])),
        (lambda t: t.dot(np.asarray([1.0, 2.0, 3.0])).sum(), np.tile([1.0, 2.0, 3.0], (2, 1))),
        (lambda t: t.round().sum(), np.zeros_like(M)),
        (lambda t: t.astype("float32").sum(), np.ones_like(M)),
        (lambda t: t.diagonal().sum() + t.trace(), 2 * np.eye(2, 3)),
    ],
)
def test_gradient_flows_through_a_method(f, gradient):
    t = ag.tensor(M, requires_grad=True)
    f(t).backward()
    assert t.grad.dtype == np.float64
    np.testing.assert_allclose(t.grad.numpy(), gradient, rtol=1e-12)


@pytest.mark.parametrize("name", ["sum", "mean", "std", "max", "prod", "var"])
def test_reduction_of_float32_stays_float32(name):
    t = ag.tensor(M.astype(np.float32), requires_grad=True)
    result = getattr(t, name)()
    assert result.dtype == np.float32
    result.backward()
    assert t.grad.dtype == np.float32


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "std", "prod", "argmax", "all"])
def test_full_reduction_is_a_zero_dimensional_tensor(name):
    result = getattr(ag.tensor(M), name)()
    assert isinstance(result, ag.Tensor)
    assert result.shape == ()


@pytest.mark.parametrize("key", [np.s_[::-1], np.s_[::2], np.s_[:, ::2], np.s_[:, :2], np.s_[...]])
def test_ravel_is_a_view_only_where_numpys_is(key):
    array = np.arange(12.0).reshape(4, 3)
    for raw in (array, array.T, array[:, 0]):
        if raw.ndim == 1 and isinstance(key, tuple):
            continue
        t = ag.asarray(raw)[key]
        for flat in (t.ravel(), np.ravel(t)):
            assert np.shares_memory(flat.array, raw) == np.shares_memory(raw[key].ravel(), raw)
            np.testing.assert_array_equal(flat.array, raw[key].ravel())


def test_a_write_into_the_ravel_of_a_reversed_tensor_leaves_the_tensor():
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    t = x * 1.0
    flat = t[::-1].ravel()
    flat[0] = 0.0
    np.testing.assert_array_equal(t.numpy(), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(ag.autograd.grad((t * flat).sum(), x)[0].numpy(), [3.0, 4.0, 1.0])


def test_ravel_is_a_view_and_flatten_a_copy():
    t = ag.tensor(M)
    t.ravel()[0] = 7.0
    t.flatten()[1] = 9.0
    assert t.tolist()[0][:2] == [7.0, -0.6]


def test_fill_writes_in_place():
    t = ag.tensor(M)
    t.fill(2.0)
    assert t.tolist() == [[2.0] * 3] * 2


def test_correction_is_another_name_of_ddof():
    t = ag.tensor(M)
    assert t.std(axis=1, correction=1).tolist() == t.std(axis=1, ddof=1).tolist()


def test_ddof_and_correction_together_are_refused():
    with pytest.raises(TypeError, match=r"std\(\) got both ddof and correction"):
        ag.tensor(M).std(ddof=1, correction=1)


@pytest.mark.parametrize("order", ["C", "F", "A"])
@pytest.mark.parametrize("array", [M, np.asfortranarray(M), M.T], ids=["C", "F", "T"])
def test_order_of_reshape_is_numpys(array, order):
    for call in (lambda x: x.reshape(-1, 2, order=order), lambda x: x.ravel(order), lambda x: x.flatten(order)):
        np.testing.assert_array_equal(call(ag.asarray(array)).numpy(), call(array))


def test_order_of_memory_is_numpys():
    array = np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2)
    np.testing.assert_array_equal(ag.asarray(array).ravel("K").numpy(), array.ravel("K"))


def test_unknown_order_is_refused():
    with pytest.raises(ValueError, match=r"reshape\(\): order must be 'C', 'F', 'A' or 'K', got 'X'"):
        ag.tensor(M).reshape(6, order="X")


def test_axis_out_of_bounds_is_named():
    with pytest.raises(IndexError, match=r"swapaxes\(\): axis 2 is out of bounds for a tensor of 2 dimensions"):
        ag.tensor(M).swapaxes(0, 2)


def test_diagonal_along_one_axis_twice_is_refused():
    with pytest.raises(ValueError, match="axis1 and axis2 must differ"):
        ag.tensor(M).diagonal(0, 1, -1)


def test_negative_decimals_of_an_integer_tensor_are_refused_with_advice():
    with pytest.raises(TypeError, match=r"decimals >= 0: convert it with astype"):
        ag.tensor([15, 25]).round(-1)


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("sum", "(self, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True)"),
        ("squeeze", "(self, axis=None)"),
        ("reshape", "(self, *shape, order='C', copy=None)"),
        ("transpose", "(self, *axes)"),
        ("round", "(self, decimals=0, out=None)"),
        ("mean", "(self, axis=None, dtype=None, out=None, keepdims=False, *, where=True)"),
    ],
)
def test_method_has_a_signature_a_name_and_a_docstring(name, signature):
    method = getattr(ag.Tensor, name)
    assert str(inspect.signature(method)) == signature
    assert method.__qualname__ == f"Tensor.{name}"
    assert method.__doc__


@pytest.mark.parametrize("scalar", [np.bool_(True), np.int64(3), np.float32(2.5), np.complex128(1j)])
def test_numpy_scalars_become_tensors_of_their_dtype(scalar):
    t = ag.asarray(scalar)
    assert (t.dtype, t.shape, t.item()) == (scalar.dtype, (), scalar.item())


def test_methods_run_on_the_tensors_own_backend():
    strict = pytest.importorskip("array_api_strict")
    t = ag.array_api_strict.asarray(M.tolist(), device=strict.Device("device1"), requires_grad=True)
    result = t.reshape(3, 2).T.clip(-0.5, 0.5).std(axis=0).cumsum().sum()
    assert type(result.array) is type(t.array)
    assert result.device == strict.Device("device1")
    result.backward()
    assert t.grad.device == strict.Device("device1")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(axis=0, where=M > 0.4, initial=2.0), lambda x: x.prod(initial=3.0),
        lambda x: x.mean(where=M > 0.4), lambda x: x.std(where=M > 0.4),
        lambda x: x.max(initial=0.7, axis=1), lambda x: x.min(where=M > 0.4, initial=9.0),
        lambda x: x.var(axis=0, ddof=1, where=M > -9), lambda x: x.any(where=M > 9), lambda x: x.all(where=M > 9),
        lambda x: x.ptp(axis=0) if hasattr(x, "ptp") else np.ptp(x, axis=0), lambda x: x.argsort(kind="stable"),
        lambda x: x.compress([True, False], axis=0), lambda x: x.argpartition(1), lambda x: x.flat[1:3],
        lambda x: x.view(), lambda x: np.asarray(list(map(float, x.flat))), lambda x: np.asarray(len(x.flat)),
    ],
)  # fmt: skip
def test_keywords_and_methods_of_ndarray_have_numpys_values(call):
    found, expected = call(ag.asarray(M)), call(M)
    np.testing.assert_allclose(found.numpy() if isinstance(found, ag.Tensor) else found, expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "cumsum", "cumprod", "argmax", "std", "any"])
def test_out_of_a_method_is_written(name):
    expected = getattr(M, name)(axis=0)
    out = ag.asarray(np.zeros_like(expected))
    assert getattr(ag.asarray(M), name)(axis=0, out=out) is out
    np.testing.assert_allclose(out.numpy(), expected)


def test_in_place_methods_are_recorded():
    x = ag.tensor([3.0, 1.0, 2.0], requires_grad=True)
    t = x * 1
    t.sort()
    t.put([0], x[0] * 2)
    t[1] = x[1] * 5
    t.flat[2] = x[2] * 7
    assert t.tolist() == [6.0, 5.0, 14.0]
    t.sum().backward()
    assert x.grad.tolist() == [2.0, 5.0, 7.0]


def test_partition_in_place_has_numpys_values():
    a, t = np.asarray([3.0, 1.0, 2.0, 0.5]), ag.tensor([3.0, 1.0, 2.0, 0.5])
    a.partition(2)
    t.partition(2)
    assert t.tolist() == a.tolist()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda t: t.byteswap(), "byteswap has no derivative"),
        (lambda t: t.resize(3), "numpy.resize"),
        (lambda t: t.view(np.int64), "astype"),
        (lambda t: np.broadcast_to(t, (2, *t.shape)).setflags(write=True), "t.array.setflags"),
    ],
)
def test_method_without_a_derivative_is_refused_with_the_way_out(call, text):
    with pytest.raises(TypeError, match=text):
        call(ag.tensor(M))


def test_a_recorded_tensor_is_made_read_only():
    def f(x):
        y = x * 2.0
        y.setflags(write=True, align=True)
        y[0] = x[1]
        y.setflags(write=False)
        with pytest.raises(ValueError, match="read-only"):
            y[1] = 3.0
        return np.sum(y * y)

    np.testing.assert_array_equal(ag.grad(f)(np.array([1.0, 2.0])), [0.0, 20.0])
    ag.adopt.clear()
