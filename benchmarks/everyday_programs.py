"""Short programs of what is used every day, for `benchmarks.everyday`: each entry of PROGRAMS runs one once.

May import: numpy, arraygrad.
"""

from __future__ import annotations

import math

import numpy as np

import arraygrad as ag
from arraygrad.autograd import Function

MATRIX = np.linspace(0.5, 2.0, 12).reshape(3, 4)
VECTOR = np.linspace(0.1, 1.0, 4)
SQUARE = np.eye(4) * 3 + np.linspace(0.0, 1.0, 16).reshape(4, 4)


def reductions(x):
    return np.sum(x * x) + np.mean(x) + np.max(x) + x.sum(axis=0)[0] + np.std(x) + np.var(x, axis=1).sum() + np.min(x)


def shapes(x):
    joined = np.sum(np.concatenate([x, x * 2], axis=0) ** 2) + np.sum(np.stack([x, x])[0] * x)
    return joined + np.sum(x.T @ x) + np.sum(x.reshape(-1)[1:] * x.ravel()[:-1]) + np.sum(np.transpose(x) ** 2)


def indexing(x):
    picked = x[0, 1] * x[1, 2] + np.sum(x[:, 1:] * x[:, :-1]) + np.sum(x[[0, 2]] ** 2)
    return picked + np.sum(x[x > 1.0]) + np.sum(x[..., None] * VECTOR)


def branches(x):
    return np.sum(np.where(x > 1, x, x * x) + np.maximum(x, 1.0) + np.abs(x) + np.clip(x, 0.6, 1.5) * x)


def elementwise(x):
    grown = np.exp(x) + np.log(x) + np.sqrt(x) + np.log1p(x) + np.power(x, 1.5) + x**3
    return np.sum(grown + np.sin(x) * np.cos(x) + np.tanh(x) + 2.0 / x - x + np.arctan2(x, 2.0))


def algebra(x):
    square = SQUARE + x.T @ x
    solved = np.sum(np.linalg.solve(square, VECTOR)) + np.linalg.slogdet(square)[1] + np.sum(np.linalg.inv(square))
    products = np.dot(x[0], VECTOR) + np.sum(x @ SQUARE) + np.sum(np.einsum("ij,kj->ik", x, x))
    return solved + products + np.linalg.norm(x) + np.trace(x.T @ x) + np.sum(np.outer(x[0], VECTOR))


def scans(x):
    return np.sum(np.cumsum(x, axis=1) ** 2) + np.prod(x) + np.sum(np.sort(x, axis=1)[:, 0]) + np.sum(np.diff(x) ** 2)


def writes(x):
    y = np.zeros(4) * x[0]
    for i in range(4):
        y[i] = x[1, i] * 2
        y[i] += 1
    y *= 2
    y[1:] -= 1
    return np.sum(y**2)


def numbers(x):
    total = 0.0
    for i in range(3):
        for j in range(4):
            total = total + (x[i, j] * math.sin(x[i, j]) if x[i, j] > 1 else x[i, j] ** 2)
    return total


FUNCTIONS = (reductions, shapes, indexing, branches, elementwise, algebra, scans, writes)
DERIVED = [ag.value_and_grad(function) for function in FUNCTIONS]
OF_NUMBERS = ag.value_and_grad(numbers)
TREE = ag.grad(lambda p: np.sum(p["w"] * p["b"][0]) + p["b"][1])
JACOBIAN, HESSIAN = ag.jacobian(lambda x: np.exp(x) * x[::-1]), ag.hessian(lambda x: np.sum(np.exp(x) * x[::-1]))


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


def transforms():
    for derived in DERIVED:
        derived(MATRIX)
        derived(MATRIX.astype(np.float32))
    OF_NUMBERS(MATRIX)
    TREE({"w": MATRIX, "b": [VECTOR, 2.0]})


def tensors():
    for function in FUNCTIONS:
        leaf = ag.tensor(MATRIX, requires_grad=True)
        function(leaf).backward()
        assert leaf.grad is not None


def graphs():
    leaf = ag.tensor(MATRIX, requires_grad=True)
    np.sum(Cube.apply(leaf)).backward()
    (gradient,) = ag.autograd.grad(np.sum(np.exp(leaf) ** 2), [leaf], create_graph=True)
    np.sum(gradient**2).backward()
    with ag.no_grad():
        leaf *= 0.5
    written = leaf * 2
    written += 1
    written[0] = 0
    np.sum(written).backward()
    for column in np.sum(leaf * leaf, axis=0):
        float(column.detach())
    leaf.detach().numpy()


def matrices():
    JACOBIAN(VECTOR)
    HESSIAN(VECTOR)
    ag.jvp(lambda x: np.sin(x) * x, (VECTOR,), (VECTOR,))
    _, pull = ag.vjp(lambda x: np.sin(x) * x, VECTOR)
    pull(VECTOR)


PROGRAMS = (transforms, tensors, graphs, matrices)
