"""NumPy functions on Tensors (`__array_function__`): NumPy's values, recorded, and what is refused.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

# np.fix, since NumPy 2.5
pytestmark = pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")

M = np.asarray([[0.3, 0.6, 0.9], [0.2, 0.5, 0.8], [1.1, 0.7, 0.4]])
V = np.asarray([0.7, 0.1, 0.4])
S = M @ M.T + np.eye(3)  # symmetric and positive definite
T3 = np.arange(24.0).reshape(2, 3, 4) / 7


def case(text, *arrays):
    """A call of numpy, written out; its names m, v, s, t are the arrays."""
    return pytest.param(text, arrays or (M,), id=text)


CALLS = [
    # reductions
    case("np.sum(m)"), case("np.sum(m, axis=0)"), case("np.sum(m, axis=(0, 1), keepdims=True)"),
    case("np.sum(m, 1, np.float64)"), case("np.prod(m, axis=1)"), case("np.mean(m, axis=0)"), case("np.mean(m)"),
    case("np.max(m, axis=1)"), case("np.amax(m)"), case("np.min(m, axis=0, keepdims=True)"), case("np.amin(m)"),
    case("np.ptp(m, axis=0)"), case("np.var(m)"), case("np.var(m, axis=0, ddof=1)"), case("np.std(m, ddof=1)"),
    case("np.std(m, axis=1, keepdims=True, correction=1)"), case("np.average(m, axis=0)"),
    case("np.average(m, axis=1, weights=v)", M, V), case("np.average(v, weights=[1, 2, 3])", V),
    case("np.cumsum(m)"), case("np.cumsum(m, axis=1)"), case("np.cumprod(m, axis=0)"), case("np.median(m)"),
    case("np.median(m, axis=0)"), case("np.median(t, axis=(0, 2), keepdims=True)", T3),
    case("np.median(t, axis=1)", T3),
    case("np.any(m > 0.5, axis=0)"), case("np.all(m > 0.5)"), case("np.argmax(m)"), case("np.argmin(m, axis=1)"),
    case("np.count_nonzero(m > 0.5)"),
    # elementwise
    case("np.where(m > 0.5, m, 0.0)"), case("np.where(m > 0.5, 1.0, v)", M, V), case("np.where(m > 0.5)"),
    case("np.clip(m, 0.3, 0.8)"), case("np.clip(m, None, 0.8)"), case("np.clip(m, min=v)", M, V),
    case("np.round(m)"), case("np.round(m, 1)"), case("np.real(m)"), case("np.imag(m)"), case("np.angle(m)"),
    case("np.nan_to_num(m)"), case("np.isclose(m, m + 1e-9)"), case("np.allclose(m, m)"), case("np.array_equal(m, m)"),
    case("np.array_equal(m, v)", M, V), case("np.diff(m)"), case("np.diff(m, n=2, axis=0)"),
    case("np.diff(v, prepend=0.0)", V), case("np.trapezoid(m)"), case("np.trapezoid(m, dx=0.5, axis=0)"),
    case("np.trapezoid(m, v)", M, V), case("np.fix(m * 3)"),
    # shape
    case("np.reshape(m, (9,))"), case("np.reshape(m, -1)"), case("np.ravel(m)"), case("np.transpose(m)"),
    case("np.transpose(t, (2, 0, 1))", T3), case("np.swapaxes(t, 0, -1)", T3), case("np.moveaxis(t, 0, -1)", T3),
    case("np.moveaxis(t, [0, 1], [-1, -2])", T3), case("np.squeeze(m[:1])"), case("np.squeeze(m[:1], axis=0)"),
    case("np.expand_dims(m, 1)"), case("np.expand_dims(m, (0, -1))"), case("np.broadcast_to(v, (2, 3))", V),
    case("np.broadcast_arrays(m, v)[1]", M, V), case("np.flip(m)"), case("np.flip(m, 1)"), case("np.flipud(m)"),
    case("np.fliplr(m)"), case("np.rot90(m)"), case("np.rot90(m, 2)"), case("np.rot90(m, 3)"), case("np.rot90(m, 4)"),
    case("np.roll(m, 1)"), case("np.roll(m, (1, 2), axis=(0, 1))"), case("np.repeat(m, 2)"),
    case("np.repeat(m, [1, 2, 0], axis=0)"), case("np.tile(v, 2)", V), case("np.tile(m, (2, 1, 2))"),
    case("np.atleast_1d(v.sum())", V), case("np.atleast_2d(v)", V), case("np.atleast_3d(m)"),
    case("np.tril(m)"), case("np.triu(m, 1)"), case("np.diagonal(m)"), case("np.diagonal(t, 1, 0, 2)", T3),
    case("np.trace(m)"), case("np.trace(t, axis1=1, axis2=2)", T3), case("np.diag(v)", V), case("np.diag(v, 2)", V),
    case("np.diag(v, -1)", V), case("np.diag(m, 1)"), case("np.meshgrid(v, v)[0]", V),
    case("np.meshgrid(v, v, indexing='ij')[1]", V), case("np.matrix_transpose(t)", T3), case("np.copy(m)"),
    # joining and splitting
    case("np.concatenate([m, m])"), case("np.concatenate((m, m), axis=1)"), case("np.concatenate([m, m], axis=None)"),
    case("np.concatenate([v, [1.0, 2.0]])", V), case("np.stack([v, v], axis=1)", V), case("np.vstack([m, v])", M, V),
    case("np.hstack([v, v])", V), case("np.hstack([m, m])"), case("np.dstack([m, m])"),
    case("np.column_stack([v, m])", V, M), case("np.append(v, 1.0)", V), case("np.append(m, m, axis=0)"),
    case("np.split(v, 3)[1]", V), case("np.split(m, [1, 2])[2]"), case("np.array_split(v, 2)[0]", V),
    case("np.hsplit(m, 3)[0]"), case("np.vsplit(m, 3)[1]"), case("np.unstack(m)[2]"), case("np.concatenate(t)", T3),
    # sorting, indexing
    case("np.sort(m)"), case("np.sort(m, axis=None)"), case("np.argsort(m, axis=0)"),
    case("np.take(m, [0, 2], axis=1)"),
    case("np.take(m, [[0, 8], [3, 3]])"), case("np.take(m, 1, axis=0)"),
    case("np.take_along_axis(m, np.argsort(m, axis=1), axis=1)"), case("np.nonzero(m > 0.5)"),
    case("np.flatnonzero(m > 0.5)"), case("np.searchsorted(np.sort(v), 0.3)", V), case("np.unique(m)"),
    # creation, questions
    case("np.zeros_like(m)"), case("np.ones_like(m, dtype=np.float32)"), case("np.full_like(m, 2.0)"),
    case("np.empty_like(m).shape"), case("np.shape(m)"), case("np.ndim(m)"), case("np.size(m)"), case("np.size(m, 0)"),
    case("np.iscomplexobj(m)"), case("np.isrealobj(m)"), case("np.result_type(m, np.float32)"),
    case("np.linspace(0.0, v.sum(), 5)", V),
    # products
    case("np.dot(m, v)", M, V), case("np.dot(v, v)", V), case("np.dot(m, m)"),
    case("np.dot(t, t.swapaxes(1, 2))", T3),
    case("np.dot(2.0, m)"), case("np.vdot(m, m)"), case("np.inner(m, v)", M, V), case("np.inner(v, v)", V),
    case("np.outer(v, v)", V), case("np.tensordot(m, m)"), case("np.tensordot(m, m, axes=([0], [1]))"),
    case("np.kron(m, v)", M, V), case("np.kron(v, m)", V, M), case("np.cross(m, v)", M, V),
    case("np.matmul(m, v)", M, V),
    case("np.vecdot(m, v)", M, V),
    # linalg
    case("np.linalg.solve(s, v)", S, V), case("np.linalg.inv(s)", S), case("np.linalg.det(m)"),
    case("np.linalg.slogdet(s)[1]", S), case("np.linalg.cholesky(s)", S), case("np.linalg.cholesky(s, upper=True)", S),
    case("np.linalg.norm(m)"), case("np.linalg.norm(m, axis=1)"), case("np.linalg.norm(v, 1)", V),
    case("np.linalg.norm(m, 'nuc')"), case("np.linalg.norm(t, axis=(0, 2), keepdims=True)", T3),
    case("np.linalg.norm(m, 2, axis=(0, 1))"), case("np.linalg.norm(v, np.inf)", V), case("np.linalg.pinv(m)"),
    case("np.linalg.matrix_power(m, 3)"), case("np.linalg.eigvalsh(s)", S), case("np.linalg.eigh(s)[0]", S),
    case("np.linalg.eigvalsh(s, 'U')", S), case("np.linalg.svd(m, compute_uv=False)"), case("np.linalg.svd(m)[1]"),
    case("np.linalg.qr(m)[1]"), case("np.linalg.matrix_rank(m)"), case("np.linalg.multi_dot([m, m, v])", M, V),
    case("np.linalg.multi_dot([v, m, m])", V, M), case("np.linalg.multi_dot([m, m])"),
    case("np.linalg.multi_dot([v, m, m[:, :1], v[None, :], m])", V, M), case("np.linalg.multi_dot((v, v))", V),
    case("np.linalg.matrix_norm(m)"), case("np.linalg.vector_norm(m, axis=0)"), case("np.linalg.outer(v, v)", V),
    case("np.linalg.trace(m)"), case("np.linalg.cross(m, m[::-1])"), case("np.linalg.svdvals(m)"),
    # fft
    case("np.fft.fft(m)"), case("np.fft.fft(m, n=4, axis=0)"), case("np.fft.ifft(m, norm='ortho')"),
    case("np.fft.rfft(m)"), case("np.fft.irfft(np.fft.rfft(m), n=3)"), case("np.fft.fft2(m)"), case("np.fft.ifftn(m)"),
    case("np.fft.rfftn(m)"), case("np.fft.fftshift(m, axes=0)"), case("np.fft.ifftshift(m)"),
]  # fmt: skip

# Names of the arrays in a call, by their identity.
NAMES = {id(M): "m", id(V): "v", id(S): "s", id(T3): "t"}


def evaluate(text, arrays, wrap):
    return eval(text, {"np": np, **{NAMES[id(a)]: wrap(a) for a in arrays}})


def plain(result):
    """A result with its Tensors as NumPy arrays."""
    if isinstance(result, ag.Tensor):
        return result.numpy()
    return tuple(plain(r) for r in result) if isinstance(result, tuple) else result


@pytest.mark.parametrize(("text", "arrays"), CALLS)
def test_function_has_numpys_values(text, arrays):
    expected = evaluate(text, arrays, lambda a: a)
    found = plain(evaluate(text, arrays, lambda a: ag.tensor(a, requires_grad=True)))
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
        if isinstance(b, np.ndarray | np.generic):
            assert np.shape(a) == np.shape(b)
            assert np.asarray(a).dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
        else:
            assert a == b


RECORDED = [p for p in CALLS if not any(
    word in p.id for word in ("like", "> 0.5, axis", "> 0.5)", "argm", "argsort(m, axis=0)", "round", "fix", "shape(m)",
                              "ndim", "size", "obj", "result_type", "isclose", "allclose", "array_equal", "imag",
                              "searchsorted", "matrix_rank", "count")
)]  # fmt: skip


@pytest.mark.parametrize(("text", "arrays"), RECORDED)
def test_function_is_recorded(text, arrays):
    found = evaluate(text, arrays, lambda a: ag.tensor(a, requires_grad=True))
    assert isinstance(found, ag.Tensor)
    assert found.requires_grad


@pytest.mark.parametrize(
    ("call", "gradient"),
    [
        (lambda t: np.sum(t * t), 2 * M),
        (lambda t: np.mean(t), np.full(M.shape, 1 / 9)),
        (lambda t: np.trace(t), np.eye(3)),
        (lambda t: np.linalg.det(t), np.linalg.det(M) * np.linalg.inv(M).T),
        (lambda t: np.concatenate([t, t]).sum(), np.full(M.shape, 2.0)),
        (lambda t: np.where(t > 0.5, t, 0).sum(), (M > 0.5) * 1.0),
        (lambda t: np.median(t), (np.median(M) == M) * 1.0),
    ],
)
def test_gradient_flows_through_a_numpy_function(call, gradient):
    t = ag.tensor(M, requires_grad=True)
    call(t).backward()
    np.testing.assert_allclose(t.grad.numpy(), gradient, rtol=1e-12)


def test_existing_numpy_code_is_differentiated_unchanged():
    def loss(w, x, y):
        return np.mean((np.tanh(x @ w) - y) ** 2)

    w = ag.tensor(V, requires_grad=True)
    loss(w, M, V).backward()
    h = np.tanh(M @ V)
    np.testing.assert_allclose(w.grad.numpy(), M.T @ (2 * (h - V) * (1 - h * h)) / 3)


def test_float32_stays_float32():
    t = ag.tensor(M.astype(np.float32), requires_grad=True)
    result = np.linalg.norm(np.concatenate([np.mean(t, axis=0), np.std(t, axis=1, ddof=1), np.median(t, axis=0)]))
    assert result.dtype == np.float32
    result.backward()
    assert t.grad.dtype == np.float32


def test_full_like_with_a_tensor_value_is_recorded():
    value = ag.tensor(2.0, requires_grad=True)
    np.full_like(ag.asarray(M), value).sum().backward()
    assert float(value.grad) == 9.0


def test_copyto_writes_a_tensor_and_is_recorded():
    t, target = ag.tensor(V, requires_grad=True), ag.zeros(3)
    np.copyto(target, t)
    target.sum().backward()
    assert t.grad.tolist() == [1.0, 1.0, 1.0]


def test_copyto_into_an_array_is_refused():
    with pytest.raises(TypeError, match="a Tensor can't be written into a plain array"):
        np.copyto(np.zeros(3), ag.tensor(V, requires_grad=True))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda t: np.savez("unused", t), "numpy.savez"),
        (lambda t: np.savetxt("unused", t), "numpy.savetxt"),
        (lambda t: np.save("unused", t), "numpy.save"),
    ],
)
def test_function_without_a_counterpart_is_refused_with_the_way_out(call, name):
    with pytest.raises(TypeError, match=rf"{name} is not differentiated by arraygrad.*t\.numpy\(\)"):
        call(ag.tensor(M, requires_grad=True))


def test_functions_run_on_the_tensors_own_backend():
    strict = pytest.importorskip("array_api_strict")
    t = ag.array_api_strict.asarray([[2.0, 1.0], [1.0, 3.0]], device=strict.Device("device1"), requires_grad=True)
    result = np.sum(np.concatenate([np.linalg.inv(t), np.where(t > 1.5, t, 0.0)]), axis=0)
    assert type(result.array) is type(t.array)
    assert result.device == strict.Device("device1")
    np.mean(result).backward()
    assert t.grad.device == strict.Device("device1")
    assert np.shape(t.grad) == (2, 2)


def test_conversion_of_a_tensor_that_requires_grad_is_refused():
    t = ag.tensor(V, requires_grad=True)
    with pytest.raises(TypeError, match=r"t\.numpy\(\)"):
        np.asarray(t)
    np.testing.assert_array_equal(np.asarray(t.detach()), V)


@pytest.mark.parametrize(
    "shapes", [((3, 4), (4,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((3,), (3,)), ((), (3,)), ((2, 3, 4), (4,))]
)
@pytest.mark.parametrize("raw", ["first", "second", "neither", "a list"])
def test_dot_takes_a_raw_array_on_either_side(raw, shapes):
    a, b = (np.random.default_rng(0).normal(size=shape) for shape in shapes)
    x = a if raw == "first" else a.tolist() if raw == "a list" else ag.asarray(a, requires_grad=True)
    y = b if raw == "second" else ag.asarray(b, requires_grad=True)
    out = np.dot(x, y)
    assert isinstance(out, ag.Tensor)
    np.testing.assert_allclose(out.numpy(), np.dot(a, b), rtol=1e-14)
    out.sum().backward()
    for t, at, other in ((x, 0, b), (y, 1, a)):
        if isinstance(t, ag.Tensor):
            step = np.zeros(t.shape)
            step.flat[-1] = 1.0
            moved = np.dot(step, other) if at == 0 else np.dot(other, step)
            np.testing.assert_allclose(np.ravel(t.grad.numpy())[-1], np.sum(moved), rtol=1e-13)
