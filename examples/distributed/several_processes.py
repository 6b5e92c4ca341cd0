"""Gradient descent over the rows of several processes, with the standard library alone.

    python examples/distributed/several_processes.py

Each call of the pool computes the value and the gradient of a part of the rows. What travels are the parameters to the
workers, and a number and a gradient back, as plain NumPy arrays. The rows stay with the workers, which make (or read)
them when they are first asked for.
"""

import functools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import arraygrad as ag

ROWS, PARTS, TRUE = 10_000, 4, np.array([1.0, -2.0, 0.5])


@functools.cache
def rows(part):
    """(features, target) of one part; a program would read them from a file."""
    rng = np.random.default_rng(part)
    features = rng.normal(size=(ROWS // PARTS, TRUE.size))
    return features, features @ TRUE


def loss(w, features, target):
    """The sum of squared errors: sums of parts add up to that of the whole."""
    return np.sum((features @ w - target) ** 2)


def value_and_gradient(w, part):
    """Runs in a worker. A function of a module, because workers find it by its name."""
    return ag.value_and_grad(loss)(w, *rows(part))


def fit(pool, steps=40, rate=0.2):
    """Gradient descent with the mean over all rows; returns the weights."""
    w = np.zeros(TRUE.size)
    for _ in range(steps):
        found = list(pool.map(functools.partial(value_and_gradient, w), range(PARTS)))
        w = w - rate * sum(gradient for _, gradient in found) / ROWS
    return w


def main():
    """Fit on two processes and print the weights."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        print(np.round(fit(pool), 2))


if __name__ == "__main__":  # workers import this file
    main()
