"""Results of NumPy's functions share memory with a Tensor where they share it with an array, and are copies elsewhere.

A write into a result must neither reach the argument of itself nor fail to reach it.
"""

import numpy as np
import pytest

import arraygrad as ag

V = np.asarray([0.3, 0.9, 0.6])
M = np.asarray([[0.1, 0.5, 0.9], [0.7, 0.2, 0.4]])
CALLS = """
np.reshape(m, -1); np.ravel(m); np.ravel(m.T); np.transpose(m); np.swapaxes(m, 0, 1); np.moveaxis(m, 0, 1)
np.rollaxis(m, 1); np.squeeze(m); np.expand_dims(m, 0); np.atleast_1d(v); np.atleast_2d(v); np.atleast_3d(v)
np.flip(v); np.fliplr(m); np.flipud(m); np.rot90(m, 0); np.rot90(m, 1); np.rot90(m, 2); np.roll(v, 0); np.repeat(v, 1)
np.tile(v, 1); np.concatenate([v]); np.vstack([m]); np.hstack([v]); np.stack([v]); np.block(v); np.block([v])
np.split(v, [1])[1]; np.array_split(v, 2)[0]; np.hsplit(m, [1])[0]; np.vsplit(m, [1])[0]; np.broadcast_to(v, (2, 3))
np.broadcast_arrays(v, v)[0]; np.diag(v); np.tril(m, 9); np.triu(m, -9); np.trim_zeros(v); np.compress([True], v)
np.take(v, [0, 1, 2]); np.take(v, 0); np.sort(v); np.partition(v, 1); np.diff(v, n=0); np.nan_to_num(v); np.real(v)
np.conj(v); np.positive(v); np.clip(v, -9, 9); np.pad(v, 0); np.copy(v); np.astype(v, v.dtype); np.where(True, v, v)
np.sum(v, axis=()); np.max(m, axis=()); np.matrix_transpose(m); np.einsum("ij->ji", m); np.einsum("i", v)
np.round(v, 2); np.select([[True] * 3], [v]); np.choose([0, 0, 0], [v]); np.meshgrid(v, v)[0]; np.meshgrid(v)[0]
np.meshgrid(v, v, sparse=True)[0]; np.meshgrid(v, v, sparse=True, copy=False)[0]; np.delete(v, 0); np.delete(v, [])
np.delete(m, slice(0, 2), axis=1); np.insert(v, 0, []); np.append(v, []); np.resize(v, 3); np.column_stack([m])
np.kron(v, 1.0); np.fft.fftshift(v); m.reshape(-1); v.ravel(); m.T; m.flatten(); v.squeeze(); m.transpose(); v.real
v.copy(); v.astype(v.dtype); v.clip(-9, 9); v.round(2); m.swapaxes(0, 1); v.take([0]); v[...]; v[None]; v[[0, 1]]
v[v > 0]; v[0:2]; m[0]; m[:, 0]; +v
""".replace("\n", ";").split(";")  # fmt: skip


@pytest.mark.parametrize("call", [call.strip() for call in CALLS if call.strip()])
@pytest.mark.parametrize("step", [1, -1], ids=["contiguous", "reversed"])
def test_a_result_shares_memory_with_a_tensor_where_numpys_does(call, step):
    arrays = {"v": V.copy(), "m": M.copy()}
    tensors = {name: ag.tensor(array) for name, array in arrays.items()}
    expected = eval(call, {"np": np, **{name: array[::step] for name, array in arrays.items()}})
    found = eval(call, {"np": np, **{name: tensor[::step] for name, tensor in tensors.items()}})
    shared = any(np.shares_memory(expected, array) for array in arrays.values())
    assert any(np.shares_memory(found.array, tensor.array) for tensor in tensors.values()) == shared
    np.testing.assert_array_equal(found.array, expected)


@pytest.mark.parametrize("call", [call.strip() for call in CALLS if call.strip()])
def test_a_result_of_a_read_only_array_can_be_written_where_numpys_can(call):
    arrays = {"v": np.broadcast_to(V, (1, 3))[0], "m": np.broadcast_to(M, (1, 2, 3))[0]}
    expected = eval(call, {"np": np, **arrays})
    found = eval(call, {"np": np, **{name: ag.asarray(array) for name, array in arrays.items()}})
    assert found.array.flags.writeable == np.asarray(expected).flags.writeable


@pytest.mark.parametrize("function", [lambda t: np.delete(t, 0), lambda t: np.compress([False], t)])
def test_a_result_without_elements_of_a_read_only_view_can_be_written(function):
    t = function(ag.linalg.diagonal(ag.tensor([[1.0]])))
    t[...] = t * 0.5
    assert t.shape == (0,)
