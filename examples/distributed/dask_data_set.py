"""A loss over a data set that does not fit in memory, differentiated as it stands.

    python examples/distributed/dask_data_set.py                       # two worker processes on this machine
    python examples/distributed/dask_data_set.py tcp://scheduler:8786  # a cluster that runs already

The data are a dask array: a recipe for chunks, of which a worker holds a few at a time. The loss is written for NumPy
arrays. `arraygrad.value_and_grad` records it over the lazy arrays and gives back a lazy value and a lazy gradient,
which dask computes together, chunk by chunk, wherever its workers are.
"""

import sys
import time

import dask
import dask.array as da
import numpy as np

import arraygrad as ag

FEATURES = 20
TRUE = np.linspace(-1.0, 1.0, FEATURES)


def data_set(rows, chunk):
    """(features, target) of a logistic model with the weights TRUE, as lazy arrays in chunks of `chunk` rows."""
    rng = da.random.default_rng(0)
    features = rng.normal(size=(rows, FEATURES), chunks=(chunk, FEATURES))
    chance = 1.0 / (1.0 + da.exp(-(features @ TRUE)))
    return features, (rng.uniform(size=rows, chunks=chunk) < chance).astype("float64")


def loss(w, features, target):
    """Mean negative log-likelihood of a logistic regression, in NumPy's functions."""
    z = features @ w
    return np.mean(np.logaddexp(0.0, z) - target * z)


def fit(features, target, steps, rate=2.0):
    """Gradient descent; yields (loss, weights) after each step. Only the weights ever stand in this process."""
    w = np.zeros(features.shape[1])
    step = ag.value_and_grad(loss)
    for _ in range(steps):
        value, gradient = dask.compute(*step(da.from_array(w), features, target))
        w = w - rate * gradient
        yield float(value), w


def main(arguments):
    """Fit 2 million rows (320 MB of features, made anew from their recipe in every step) on two workers."""
    from dask.distributed import Client

    where = (
        {"address": arguments[0]} if arguments else {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    )
    with Client(**where) as client:
        print(f"{len(client.scheduler_info()['workers'])} workers")
        features, target = data_set(rows=2_000_000, chunk=100_000)
        started = time.perf_counter()
        for number, (value, w) in enumerate(fit(features, target, steps=4)):
            error = np.max(np.abs(w - TRUE))
            print(f"step {number}: loss {value:.4f}, largest error of a weight {error:.3f}, "
                  f"{time.perf_counter() - started:.1f} s")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
