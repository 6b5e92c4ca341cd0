"""dask: nothing is computed while a graph is recorded and run, shapes may be unknown.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest
from libraries import leaf, numpy_of, raw, require

import arraygrad as ag


@pytest.fixture
def dask():
    require("dask")
    import dask

    return dask


def refuse(*args, **kwargs):
    raise AssertionError("something was computed")


@pytest.mark.filterwarnings("ignore:.*does not depend on the arguments")  # gradients of linear functions
@pytest.mark.parametrize(
    "function",
    [
        lambda xp, x: xp.sum(xp.exp(x) * x @ x),
        lambda xp, x: xp.sum(xp.sort(x, axis=0) ** 2),
        lambda xp, x: xp.sum(xp.where(x > 0, x, 0.0)) + xp.max(x),
        lambda xp, x: xp.linalg.det(x),
        lambda xp, x: xp.sum(xp.take(x, xp.asarray([0, 1, 0]), axis=0)),
        lambda xp, x: xp.sum(xp.cumulative_prod(x, axis=1)),
    ],
)
def test_recording_and_backward_compute_nothing(dask, function):
    x = leaf("dask", [[1.0, 2.0], [3.0, 5.0]])
    with dask.config.set(scheduler=refuse):
        y = function(ag.dask, x)
        y.backward()
        again = ag.grad(lambda v: ag.dask.sum(ag.grad(lambda u: function(ag.dask, u))(v) ** 2))(x.array)
    expected = ag.grad(lambda v: function(ag.numpy, v))(numpy_of(x))
    np.testing.assert_allclose(numpy_of(x.grad), expected, rtol=1e-12)
    assert again.shape == (2, 2)


def test_printing_computes_nothing(dask):
    with dask.config.set(scheduler=refuse):
        assert "dask.array<" in repr(leaf("dask", [1.0, 2.0]) * 2.0)


def test_unknown_dimension_is_none(dask):
    t = ag.asarray(raw("dask", [1.0, -2.0, 3.0]))
    assert t[t > 0].shape == (None,)
    assert t[t > 0].size is None


def test_what_needs_a_shape_that_is_unknown_raises_and_names_the_ways_out(dask):
    x = leaf("dask", [1.0, -2.0, 3.0])
    y = ag.dask.sum(x[x > 0])
    with pytest.raises(TypeError, match=r"known before the computation.*compute_chunk_sizes\(\).*where"):
        y.backward()


def test_where_instead_of_a_mask_needs_no_shape(dask):
    x = leaf("dask", [1.0, -2.0, 3.0])
    ag.dask.sum(ag.dask.where(x > 0, x, 0.0) ** 2).backward()
    np.testing.assert_array_equal(numpy_of(x.grad), [2.0, 0.0, 6.0])


def test_truth_value_is_the_users_own_computation(dask):
    t = ag.asarray(raw("dask", [1.0]))
    assert bool(t > 0)
    with dask.config.set(scheduler=refuse), pytest.raises(AssertionError, match="something was computed"):
        bool(t > 0)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 4, 3)])
def test_svd_of_small_and_stacked_matrices(dask, shape, full):
    a = np.random.default_rng(0).normal(size=shape)
    array = require("dask").from_array(a, chunks=-1)
    u, s, vh = ag.dask.linalg.svd(array, full_matrices=full)
    k = min(shape[-2:])
    product = numpy_of(u)[..., :, :k] * numpy_of(s)[..., None, :] @ numpy_of(vh)[..., :k, :]
    np.testing.assert_allclose(product, a, atol=1e-12)
    assert u.shape == numpy_of(u).shape
    assert vh.shape == numpy_of(vh).shape


@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr_of_stacked_matrices(dask, mode):
    a = np.random.default_rng(0).normal(size=(2, 4, 3))
    q, r = ag.dask.linalg.qr(require("dask").from_array(a, chunks=-1), mode=mode)
    assert (q.shape, r.shape) == (numpy_of(q).shape, numpy_of(r).shape)
    np.testing.assert_allclose(numpy_of(q) @ numpy_of(r), a, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("slogdet", lambda la, a: la.slogdet(a)[1]),
        ("eigh", lambda la, a: la.eigh(a + a.mT if hasattr(a, "mT") else a)[0]),
        ("pinv", lambda la, a: la.pinv(a)),
        ("matrix_power", lambda la, a: la.matrix_power(a, 3)),
        ("matrix_rank", lambda la, a: la.matrix_rank(a)),
        ("cholesky", lambda la, a: la.cholesky(a @ a.mT)),
        ("eigvals", lambda la, a: abs(la.eigvals(a))),
    ],
)
def test_function_that_dask_lacks_runs_block_by_block(dask, name, call):
    a = np.random.default_rng(0).normal(size=(2, 3, 3))
    found = call(ag.dask.linalg, ag.asarray(require("dask").from_array(a, chunks=(1, 3, 2))))
    np.testing.assert_allclose(numpy_of(found), numpy_of(call(ag.numpy.linalg, ag.asarray(a))), atol=1e-10)
    assert found.shape == numpy_of(found).shape


def test_a_data_set_in_chunks_gives_the_gradient_of_the_whole(dask):
    rng = np.random.default_rng(0)
    features, target = rng.normal(size=(100, 4)), rng.normal(size=100)
    w = rng.normal(size=4)
    da = require("dask")

    def loss(w, features, target):
        return ((features @ w - target) ** 2).mean()

    lazy = ag.grad(loss)(da.from_array(w), da.from_array(features, chunks=(7, 4)), da.from_array(target, chunks=7))
    np.testing.assert_allclose(lazy.compute(), ag.grad(loss)(w, features, target), rtol=1e-12)
