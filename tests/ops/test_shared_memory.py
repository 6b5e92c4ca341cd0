"""Results that share memory with an argument are known as views of it, so that writes in place reach their gradients.

Every sample of the table is run on NumPy; what then shares memory must follow a recorded write into the argument.
"""

import numpy as np
import pytest
from samples import samples

import arraygrad as ag
from arraygrad.core.inplace import as_scalar
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.ops import TABLE

XP = backend_of(np.zeros(1)).graph_xp
NAMES = [name for name, entry in TABLE.items() if entry.rules and entry.chapter not in ("special", "internal")]


def tensors_in(output):
    if isinstance(output, Tensor):
        return [output]
    return [t for item in output for t in tensors_in(item)] if isinstance(output, (list, tuple)) else []


@pytest.mark.parametrize("name", NAMES)
def test_a_result_that_shares_memory_follows_a_write_into_its_argument(name):
    for sample in samples(name):
        leaves = [ag.tensor(a, requires_grad=True) for a in sample.arrays]
        arguments = [as_scalar(leaf * 1, False) for leaf in leaves]
        with np.errstate(all="ignore"):
            results = tensors_in(sample.call(XP, *arguments))
        for leaf, argument in zip(leaves, arguments, strict=True):
            shared = [r for r in results if np.shares_memory(r.array, argument.array) and r.dtype.kind in "fc"]
            if not shared:
                continue
            argument[...] = 0.0
            for result in shared:
                try:
                    found = ag.autograd.grad(ag.sum(ag.real(result)), leaf, retain_graph=True, materialize_grads=True)
                except RuntimeError as error:
                    if "returns multiple views" not in str(error):
                        raise
                else:
                    assert not found[0].numpy().any(), f"{sample.label}: a gradient of what was overwritten"


@pytest.mark.parametrize(
    "view",
    [
        lambda t: ag.broadcast_arrays(t, t)[1],
        lambda t: ag.broadcast_arrays(t, ag.asarray(np.ones((2, 3, 3))))[0],
        lambda t: ag.diff(t, n=0),
        lambda t: ag.linalg.matrix_power(t, 1),
        lambda t: ag.einsum("ij->ji", t).mT,
        lambda t: np.einsum(t, [0, ...], [..., 0]).T,
    ],
    ids=["broadcast_arrays", "broadcast_arrays to more axes", "diff n=0", "matrix_power 1", "einsum", "numpy.einsum"],
)
def test_a_view_by_a_rare_argument_follows_a_recorded_write(view):
    x = ag.tensor(np.arange(9.0).reshape(3, 3), requires_grad=True)
    t = x * 1.0
    v = view(t)
    assert np.shares_memory(v.array, t.array)
    t[0] = 5.0
    t *= x
    (gradient,) = ag.autograd.grad(v.sum(), x)
    expected = 2.0 * x.numpy()
    expected[0] = 5.0
    np.testing.assert_allclose(gradient.numpy(), expected * (v.size / t.size))


def test_a_write_into_the_diagonal_that_einsum_gives_reaches_the_matrix():
    x = ag.tensor(np.arange(9.0).reshape(3, 3), requires_grad=True)
    t = x * 1.0
    np.einsum("ii->i", t)[...] = x[0] * 2.0
    np.testing.assert_array_equal(t.numpy().diagonal(), [0.0, 2.0, 4.0])
    (gradient,) = ag.autograd.grad((t * t).sum(), x)
    expected = 2.0 * x.numpy() * (1.0 - np.eye(3))
    expected[0] += 8.0 * x.numpy()[0]
    np.testing.assert_allclose(gradient.numpy(), expected)
