"""Gradients with shared host work are bitwise those of one thread, by whichever rule. Imports: the public face."""

import numpy as np
import pytest

import arraygrad as ag

FUNCTIONS = {
    "x * x": lambda x, y: x * x,
    "x * y": lambda x, y: x * y,
    "x * y * x": lambda x, y: x * y * x,
    "x / y + x": lambda x, y: x / y + x,
    "x ** 2 + x * x": lambda x, y: x**2 + x * x,
}


def gradients(function, dtype, n):
    rng = np.random.default_rng(3)

    def draw():
        values = rng.normal(size=n) + (1j * rng.normal(size=n) if np.dtype(dtype).kind == "c" else 0)
        return values.astype(dtype)

    x, y = (ag.tensor(draw(), requires_grad=True) for _ in range(2))
    found = ag.autograd.grad([function(x, y)], [x, y], [draw()], allow_unused=True)
    return [None if g is None else g.numpy().tobytes() for g in found]


@pytest.mark.parametrize("n", [1, 3, 64])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_shared_host_work_gives_the_gradients_of_one_thread(function, dtype, n):
    alone = gradients(function, dtype, n)
    with ag.autograd.set_cpu_workers(2):
        shared = gradients(function, dtype, n)
    assert shared == alone
