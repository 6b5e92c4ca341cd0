"""The compiled paths of NumPy's protocols (Note [NumPy calls on Tensors]) give what the others give.

Imports the public names of arraygrad and arraygrad.numpy_api.handlers.
"""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.protocols import set_compiled_protocols
from arraygrad.numpy_api import handlers

A = np.asarray([[0.3, 0.6, 0.9], [0.2, 0.5, 0.8]])

CALLS = {
    "where": lambda a: np.where(a > 0.4, a, -a),
    "concatenate": lambda a: np.concatenate([a, A, a], axis=1),
    "stack": lambda a: np.stack((a, a), axis=-1),
    "sum": lambda a: np.sum(a, axis=0),
    "sum by keyword": lambda a: np.sum(a=a, keepdims=True),
    "sum of all": lambda a: np.sum(a),
    "sum over axes": lambda a: np.sum(a, (0, -1)),
    "sum without axes": lambda a: np.sum(a, None),
    "mean": lambda a: np.mean(a),
    "mean over an axis": lambda a: np.mean(a, 0),
    "largest": lambda a: np.amax(a, 1),
    "smallest": lambda a: np.min(a),
    "var": lambda a: np.var(a, 1),
    "std of all": lambda a: np.std(a),
    "mean of ints": lambda a: np.mean(np.round(a * 10).astype(int), 1),
    "mean with dtype": lambda a: np.mean(a, dtype=np.float32),
    "max with where": lambda a: np.max(a, where=a > 0.4, initial=0.0),
    "std": lambda a: np.std(a, axis=1, ddof=1),
    "dot": lambda a: np.dot(a, a.T),
    "norm": lambda a: np.linalg.norm(a),
    "inv": lambda a: np.linalg.inv(a @ a.T),
    "argmax": lambda a: np.argmax(a, axis=1),
    "nonzero": lambda a: np.nonzero(a > 0.4),
    "zeros_like": lambda a: np.zeros_like(a),
    "percentile": lambda a: np.percentile(a, [10, 90], axis=0),
    "histogram": lambda a: np.histogram(a, bins=3),
    "clip": lambda a: np.clip(a, 0.3, None),
    "reshape": lambda a: np.reshape(a, (3, -1)),
    "transpose": lambda a: np.transpose(a, (1, 0)),
    "transpose reversed": lambda a: np.transpose(a),
    "ravel": lambda a: np.ravel(a),
    "reshape by list": lambda a: np.reshape(a, [6]),
    "swapaxes": lambda a: np.swapaxes(a, 0, -1),
    "moveaxis": lambda a: np.moveaxis(np.stack([a, a]), 0, -1),
    "squeeze": lambda a: np.squeeze(a[:1]),
    "squeeze axis": lambda a: np.squeeze(a[:1], 0),
    "squeeze axes": lambda a: np.squeeze(a[:1, :1], (0, -1)),
    "expand_dims": lambda a: np.expand_dims(a, -2),
    "broadcast_to": lambda a: np.broadcast_to(a, (4, 2, 3)),
    "broadcast_to from one": lambda a: np.broadcast_to(a[:1], (5, 3)),
    "flip": lambda a: np.flip(a),
    "flip axis": lambda a: np.flip(a, 1),
    "diagonal": lambda a: np.diagonal(a, -1),
    "atleast_1d": lambda a: np.atleast_1d(a[0, 0]),
    "atleast_2d": lambda a: np.atleast_2d(a[0]),
    "real": lambda a: np.real(a) * 1.0,
    "where with a number": lambda a: np.where(a > 0.4, a, 0.0),
    "where with raw": lambda a: np.where(A > 0.4, -1, a),
    "where broadcast": lambda a: np.where(A[0] > 0.4, a, a),
    "concatenate columns": lambda a: np.concatenate((a.T, a.T), -1),
    "concatenate flattened": lambda a: np.concatenate([a, a[0:1]], None),
    "stack last": lambda a: np.stack([a, A], -1),
    "prod": lambda a: np.prod(a, 1),
    "any": lambda a: np.any(a, 1),
    "clip with a bound": lambda a: np.clip(a, 0.3, a * 0.9),
    "dot with raw first": lambda a: np.dot(A.T, a),
    "dot of vectors": lambda a: np.dot(a[0], a[1]),
    "dot with a vector": lambda a: np.dot(a, A[0]),
    "dot of a vector": lambda a: np.dot(A[:, 0], a),
    "cumsum": lambda a: np.cumsum(a, 0),
    "diff": lambda a: np.diff(a),
    "diff of order 0": lambda a: np.diff(a, 0),
    "einsum": lambda a: np.einsum("ij,kj->ik", a, a),
    "einsum of a view": lambda a: np.einsum("ij->ji", a),
    "diag": lambda a: np.diag(a),
    "diag of a vector": lambda a: np.diag(a[0]),
    "tril": lambda a: np.tril(a),
    "round": lambda a: np.round(a, 1),
    "copy": lambda a: np.copy(a),
    "full_like": lambda a: np.full_like(a, 2.0),
    "modf": lambda a: np.modf(a * 3),
    "divmod": lambda a: np.divmod(a, 0.25),
    "add.reduce": lambda a: np.add.reduce(a, axis=1),
    "multiply.outer": lambda a: np.multiply.outer(a[0], a[1]),
    "add.accumulate": lambda a: np.add.accumulate(a, axis=1),
    "vecdot": lambda a: np.vecdot(a, a),
    "vdot": lambda a: np.vdot(a[0], a[1]),
    "vdot with raw": lambda a: np.vdot(a[0], A[1]),
    "inner": lambda a: np.inner(a, a),
    "inner with raw": lambda a: np.inner(a, A),
    "inner with a vector": lambda a: np.inner(a, a[0]),
    "inner of vectors": lambda a: np.inner(a[0], a[1]),
    "convolve": lambda a: np.convolve(a[0], a[1]),
    "convolve with raw": lambda a: np.convolve(a[0], A[1], "full"),
    "convolve in part": lambda a: np.convolve(a[0], a[1], "valid"),
    "correlate": lambda a: np.correlate(a[0], a[1, :2]),
    "correlate with a longer": lambda a: np.correlate(a[0, :2], a[1]),
    "correlate with raw": lambda a: np.correlate(a[0], A[1], "valid"),
    "meshgrid": lambda a: np.meshgrid(a[0], a[1]),
    "meshgrid by rows": lambda a: np.meshgrid(a[0], a[1], indexing="ij"),
    "ptp": lambda a: np.ptp(a),
    "ptp along an axis": lambda a: np.ptp(a, 0),
    "ptp with keepdims": lambda a: np.ptp(a, axis=1, keepdims=True),
    "multi_dot": lambda a: np.linalg.multi_dot([a, a.T, A[:, 0]]),
    "greater": lambda a: np.greater(a, 0.4),
    "isnan": lambda a: np.isnan(a),
    "logical_and": lambda a: np.logical_and(a > 0.3, a < 0.7),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("mode", ["plain", "no_grad", "recorded"])
def test_values_are_numpys_whichever_path_is_taken(call, mode):
    t = ag.tensor(A, requires_grad=mode != "plain")
    with ag.set_grad_enabled(mode != "no_grad"):
        found = call(t)
    expected = call(A)
    for a, b in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
        assert isinstance(a, ag.Tensor)
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-14)
        assert mode == "recorded" or not a.requires_grad


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("mode", ["plain", "no_grad", "recorded"])
def test_compiled_protocols_give_what_the_handlers_give(call, mode):
    t = ag.tensor(A, requires_grad=mode != "plain")
    with ag.set_grad_enabled(mode != "no_grad"):
        compiled = call(t)
        previous = set_compiled_protocols(False)
        try:
            handled = call(t)
        finally:
            set_compiled_protocols(previous)
    several = isinstance(handled, tuple)
    for a, b in zip(compiled, handled, strict=True) if several else [(compiled, handled)]:
        assert type(a) is type(b)
        assert (a.shape, a.dtype, a.requires_grad) == (b.shape, b.dtype, b.requires_grad)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-14)
        assert (a.grad_fn is None) == (b.grad_fn is None)
        assert np.shares_memory(a.array, t.array) == np.shares_memory(b.array, t.array)


def test_the_switch_says_what_was_before():
    assert set_compiled_protocols(False) is True
    assert set_compiled_protocols(True) is False


@pytest.mark.parametrize("ask", [np.shape, np.ndim, np.size, np.iscomplexobj])
def test_what_is_asked_of_a_tensor_is_no_tensor(ask):
    assert ask(ag.asarray(A)) == ask(A)
    assert type(ask(ag.asarray(A))) is type(ask(A))


def test_protocol_methods_can_be_called_as_methods():
    t = ag.asarray(A)
    assert t.__array_ufunc__(np.add, "__call__", t, 1.0).tolist() == (A + 1.0).tolist()
    assert t.__array_ufunc__(np.add, "reduce", t, axis=1).tolist() == A.sum(axis=1).tolist()
    assert t.__array_function__(np.sum, (ag.Tensor,), (t,), {}).item() == A.sum()
    assert t.__array_function__(func=np.sum, types=(), args=(t,), kwargs={}).item() == A.sum()
    with pytest.raises(TypeError, match="takes a ufunc"):
        t.__array_ufunc__(np.add)
    with pytest.raises(TypeError, match="takes func, types, args and kwargs"):
        t.__array_function__(np.sum, (), (t,))


def test_hooks_around_operations_see_functions_that_would_run_on_raw_arrays():
    seen = []
    with ag.autograd.graph.op_hooks(before=lambda name, args: seen.append(name)):
        np.concatenate([ag.asarray(A), A])
    assert seen == ["concat"]


def test_what_is_served_without_recording_shares_no_memory():
    a = np.asarray([[4.0, 1.0], [1.0, 3.0]])
    v = np.asarray([1.0, 2.0])
    calls = {"pad": lambda f: f(a, 0), "roll": lambda f: f(a, 0), "tile": lambda f: f(a, 1),
             "repeat": lambda f: f(a, 1, 0), "delete": lambda f: f(a, [], 0),
             "insert": lambda f: f(a, [], np.zeros((0, 2)), 0),
             "clip": lambda f: f(a, None, 9.0), "compress": lambda f: f([True, True], a, 0),
             "take": lambda f: f(a, [0, 1], 0), "concatenate": lambda f: f([a]), "vstack": lambda f: f([a]),
             "hstack": lambda f: f([a]), "dstack": lambda f: f([a]), "column_stack": lambda f: f([a]),
             "stack": lambda f: f([a]), "sort": lambda f: f(a), "partition": lambda f: f(a, 0),
             "unwrap": lambda f: f(v), "ediff1d": lambda f: f(v), "vander": lambda f: f(v, 1),
             "interp": lambda f: f(v, v, v), "convolve": lambda f: f(v, [1.0]), "correlate": lambda f: f(v, [1.0]),
             "polyadd": lambda f: f(v, 0.0), "polymul": lambda f: f(v, [1.0]), "cumsum": lambda f: f(v),
             "nancumsum": lambda f: f(v), "append": lambda f: f(v, []), "median": lambda f: f(v[:1]),
             "nanmedian": lambda f: f(v[:1]), "nanmax": lambda f: f(v, ()), "nansum": lambda f: f(v, ()),
             "max": lambda f: f(v, ()), "quantile": lambda f: f(v[:1], 0.5), "select": lambda f: f([v > 0], [v]),
             "kron": lambda f: f(v, 1.0), "dot": lambda f: f(v, 1.0), "trace": lambda f: f(a),
             "extract": lambda f: f(v > 0, v), "choose": lambda f: f([0, 0], [v, v])}  # fmt: skip
    with ag.no_grad():
        for name, call in calls.items():
            result = call(getattr(np, name))
            assert not np.shares_memory(result, a), name
            assert not np.shares_memory(result, v), name


def test_view_keeps_its_history_when_its_base_is_written_later():
    x = ag.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    base = ag.asarray(np.zeros(4))
    view = np.reshape(base, (2, 2))
    base[:] = x * 2
    view.sum().backward()
    assert x.grad.tolist() == [2.0] * 4


def test_tensors_of_another_library_take_the_general_path():
    pytest.importorskip("array_api_strict")
    t = ag.array_api_strict.asarray([1.0, 2.0])
    found = np.concatenate([t, t])
    assert type(found.array) is type(t.array)
    assert np.argmax(t).array.dtype == ag.array_api_strict.int64


def test_out_is_written_where_nothing_is_recorded():
    out = ag.asarray(np.zeros(3))
    assert np.sum(ag.asarray(A), axis=0, out=out) is out
    np.testing.assert_allclose(out.numpy(), A.sum(axis=0))


def test_functions_named_for_the_compiled_paths_exist():
    for names in (handlers._FREE, handlers._CONSTANT):
        for name in names.split():
            owner, _, last = name.rpartition(".")
            if last.startswith("cumulative_"):  # since NumPy 2.1
                continue
            assert hasattr(getattr(np, owner) if owner else np, last), name


@pytest.mark.parametrize(
    "call",
    [
        lambda a, out: np.max(a, 0, out),
        lambda a, out: np.clip(a[0], 0.0, 0.5, out),
        lambda a, out: np.sum(a, 0, None, out),
        lambda a, out: np.dot(a[:, 0], a, out),
        lambda a, out: np.median(a, 0, out),
    ],
)
def test_positional_out_never_overwrites_what_a_node_has_saved(call):
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = ag.asarray(np.asarray([4.0, 5.0, 6.0]))
    z = (x * y).sum()
    call(ag.asarray(A), y)
    assert y.tolist() != [4.0, 5.0, 6.0]
    z.backward()
    assert x.grad.tolist() == [4.0, 5.0, 6.0]
