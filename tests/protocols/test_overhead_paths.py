"""The compiled paths of NumPy's protocols (Note [NumPy calls on Tensors]) give what the others give.

Imports the public names of arraygrad and arraygrad._protocols.
"""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import _protocols

A = np.asarray([[0.3, 0.6, 0.9], [0.2, 0.5, 0.8]])

CALLS = {
    "where": lambda a: np.where(a > 0.4, a, -a),
    "concatenate": lambda a: np.concatenate([a, A, a], axis=1),
    "stack": lambda a: np.stack((a, a), axis=-1),
    "sum": lambda a: np.sum(a, axis=0),
    "sum by keyword": lambda a: np.sum(a=a, keepdims=True),
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
    for names in (_protocols._FREE, _protocols._CONSTANT):
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
    with pytest.raises(TypeError, match="out= is not supported"):
        call(ag.asarray(A), y)
    z.backward()
    assert x.grad.tolist() == [4.0, 5.0, 6.0]
