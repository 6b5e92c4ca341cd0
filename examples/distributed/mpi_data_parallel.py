"""Training on several processes: each has a part of the data, gradients are averaged as soon as they are there.

    mpiexec -n 2 python examples/distributed/mpi_data_parallel.py

Every process runs the same program on its own rows. A hook on each parameter is called right after its gradient was
accumulated, and averages it over all processes by MPI's Allreduce, in place. Hooks run in the order in which backward
reaches the parameters; that order is the same everywhere because the graph is, so the calls meet.
"""

import numpy as np
from mpi4py import MPI

import arraygrad as ag


def average_gradients(parameters, comm):
    """Average each parameter's `.grad` over the processes of `comm` whenever a backward has added to it.

    Parameters
    ----------
    parameters : list of Tensor
        Leaves over NumPy arrays, with equal values everywhere. Their `.grad` must be None before each backward: what
        was averaged before must not be averaged again.
    comm : mpi4py communicator

    Returns
    -------
    list of handles
        `remove()` ends it.
    """

    def average(parameter):
        gradient = parameter.grad.array
        comm.Allreduce(MPI.IN_PLACE, gradient, op=MPI.SUM)
        gradient /= comm.size

    return [parameter.register_post_accumulate_grad_hook(average) for parameter in parameters]


def model(parameters, x):
    """A small network of one hidden layer, in NumPy's functions."""
    w1, b1, w2 = parameters
    return np.tanh(x @ w1 + b1) @ w2


def loss(parameters, x, y):
    """Mean squared error."""
    return np.mean((model(parameters, x) - y) ** 2)


def start(seed=0):
    """The parameters, equal on all processes."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(3, 16)), np.zeros(16), rng.normal(size=16) / 4]


def rows(n=512):
    """The whole data set."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 3))
    return x, np.sin(x[:, 0]) * x[:, 1] + 0.5 * x[:, 2]


def train(comm, steps, rate=0.2):
    """Gradient descent on this process's part of the rows; returns the losses on it and the parameters."""
    parameters = [ag.tensor(p, requires_grad=True) for p in start()]
    average_gradients(parameters, comm)
    x, y = rows()
    x, y = x[comm.rank :: comm.size], y[comm.rank :: comm.size]
    losses = []
    for _ in range(steps):
        value = loss(parameters, x, y)
        value.backward()
        with ag.no_grad():
            for p in parameters:
                p -= rate * p.grad
                p.grad = None
        losses.append(float(value))
    return losses, [p.numpy() for p in parameters]


def main():
    """Train on all processes and compare with one process that has all rows."""
    comm = MPI.COMM_WORLD
    losses, parameters = train(comm, steps=50)
    alone, expected = train(MPI.COMM_SELF, steps=50)
    apart = max(np.max(np.abs(p - e)) for p, e in zip(parameters, expected, strict=True))
    mean = comm.allreduce(losses[-1]) / comm.size
    spread = comm.allreduce(parameters[0].sum(), op=MPI.MAX) - comm.allreduce(parameters[0].sum(), op=MPI.MIN)
    if comm.rank == 0:
        print(f"{comm.size} processes: mean loss {mean:.12f}, one process {alone[-1]:.12f}")
        print(f"parameters differ from one process's by {apart:.1e}, between processes by {spread:.1e}")
    assert apart < 1e-10
    assert spread == 0.0


if __name__ == "__main__":
    main()
