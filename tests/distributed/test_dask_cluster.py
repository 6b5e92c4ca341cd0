"""A data set in chunks, differentiated on one machine's scheduler and on a cluster of two processes.

Imports the public names of arraygrad, and examples/distributed/dask_data_set.py.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import arraygrad as ag

pytest.importorskip("dask", reason="dask is not installed (pip install dask[array])")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "distributed" / "dask_data_set.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("dask_data_set", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_descent_over_chunks_is_that_over_the_whole(example):
    features, target = example.data_set(rows=1000, chunk=130)
    x, y = features.compute(), target.compute()
    w = np.zeros(example.FEATURES)
    for value, found in example.fit(features, target, steps=3):
        expected, gradient = ag.value_and_grad(example.loss)(w, x, y)
        w = w - 2.0 * gradient
        assert value == pytest.approx(float(expected), rel=1e-12)
        np.testing.assert_allclose(found, w, rtol=1e-9)


def test_value_and_gradient_are_lazy(example):
    import dask
    import dask.array as da

    def refuse(*args, **kwargs):
        raise AssertionError("something was computed")

    features, target = example.data_set(rows=1000, chunk=130)
    with dask.config.set(scheduler=refuse):
        value, gradient = ag.value_and_grad(example.loss)(da.zeros(example.FEATURES), features, target)
    assert isinstance(value, da.Array)
    assert isinstance(gradient, da.Array)


def test_no_task_holds_more_than_a_few_chunks(example):
    """The largest block that any task makes is a chunk of the features: nothing gathers the data set."""
    import dask.array as da
    from dask.callbacks import Callback

    largest = []

    def look(key, result, dsk, state, worker):
        largest.append(getattr(result, "nbytes", 0))

    features, target = example.data_set(rows=10_000, chunk=500)
    value, gradient = ag.value_and_grad(example.loss)(da.zeros(example.FEATURES), features, target)
    with Callback(posttask=look):
        da.compute(value, gradient, scheduler="sync")
    assert 0 < max(largest) <= 500 * example.FEATURES * 8


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the cluster's own threads and sockets
def test_descent_on_two_worker_processes(example):
    distributed = pytest.importorskip("distributed", reason="distributed is not installed (pip install distributed)")
    features, target = example.data_set(rows=1000, chunk=130)
    expected = list(example.fit(features, target, steps=2))
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert len(client.scheduler_info()["workers"]) == 2
        found = list(example.fit(features, target, steps=2))
        ran = client.run(lambda dask_worker: len(dask_worker.state.log))
    for (value, w), (value_expected, w_expected) in zip(found, expected, strict=True):
        assert value == pytest.approx(value_expected, rel=1e-12)
        np.testing.assert_allclose(w, w_expected, rtol=1e-9)
    assert min(ran.values()) > 0, "a worker did nothing"
