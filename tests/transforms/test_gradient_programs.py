"""A function and its gradient as one program: replays give the bits of eager runs.

The class: programs of elementwise functions, matrix products, writes in place, loops on numbers, steps of a recurrent
network and of a filter x arrays other than those that were recorded. Branches are guards.
"""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import numpy as anp
from arraygrad.program.values import GuardFailed
from arraygrad.transforms.programs import gradient_program

RNG = np.random.default_rng(3)


def chain(x):
    for _ in range(8):
        x = anp.sin(x) * anp.exp(-x) + anp.tanh(x)
    return anp.sum(x)


def plain_chain(x):
    for _ in range(8):
        x = np.sqrt(x) * np.exp(-x) + np.log1p(x)
    return np.sum(x)


def mlp(w1, b, w2, x, y):
    return anp.mean((anp.tanh(x @ w1 + b) @ w2 - y) ** 2)


def heat(u):
    u = u * 1.0
    for _ in range(5):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return anp.sum(u * u)


def numbers(a, s):
    for _ in range(30):
        s = s + 0.1 * anp.sin(s) * a
    return s


def lstm(w, u, h, x):
    c = h
    for t in range(4):
        z = x[t] @ w + h @ u
        i, f, o = (1.0 / (1.0 + anp.exp(-z[:, k * 3 : k * 3 + 3])) for k in range(3))
        c = f * c + i * anp.tanh(z[:, 9:])
        h = o * anp.tanh(c)
    return anp.sum(h * h)


def kalman(a, q, p, z, own):
    x = anp.sum(p, axis=1)
    for t in range(3):
        p = a @ p @ a.T + q
        gain = anp.linalg.solve(p + own, p)
        x = a @ x + gain @ (z[t] - a @ x)
        p = p - gain @ p
    return anp.sum(x * x)


CASES = {
    "chain of one": (chain, [RNG.uniform(0.5, 1, 1)], 1),
    "chain": (chain, [RNG.uniform(0.5, 1, 100)], 1),
    "chain in single precision": (chain, [RNG.uniform(0.5, 1, 100).astype("f")], 1),
    "NumPy's functions": (plain_chain, [RNG.uniform(0.5, 1, (3, 4))], 1),
    "network": (mlp, [RNG.normal(size=s) for s in [(4, 8), (8,), (8, 1), (16, 4), (16, 1)]], 3),
    "written in place": (heat, [RNG.normal(size=32)], 1),
    "numbers": (numbers, [np.float64(0.3), np.float64(0.7)], 2),
    "recurrent": (lstm, [RNG.normal(size=s) for s in [(5, 12), (3, 12), (2, 3), (4, 2, 5)]], 2),
    "filter": (kalman, [*[np.eye(4) * s for s in (0.9, 1.0, 4.0)], RNG.normal(size=(3, 4)), np.eye(4)], 3),
}


@pytest.mark.parametrize("name", CASES)
def test_replays_give_the_bits_of_eager_runs(name):
    function, arrays, n = CASES[name]
    program = gradient_program(function, arrays, n)
    eager = ag.value_and_grad(function, argnums=tuple(range(n)))
    for factor in (1.0, 1.01, 0.97):
        given = [np.asarray(a * np.asarray(factor, a.dtype)) for a in arrays]
        value, gradients = eager(*given)
        found = program.replay(given)
        for one, other in zip([value, *gradients], found, strict=True):
            assert np.asarray(one).dtype == other.dtype
            assert np.array_equal(one, other), np.max(np.abs(one - other))


def test_a_branch_is_a_guard():
    def bent(x):
        return anp.sum(x * x) if anp.sum(x) > 0 else anp.sum(x)

    program = gradient_program(bent, [np.asarray([1.0, 2.0])], 1)
    assert [float(part) for part in np.ravel(program.replay([np.asarray([3.0, 4.0])])[1])] == [6.0, 8.0]
    with pytest.raises(GuardFailed):
        program.replay([np.asarray([-3.0, -4.0])])


def test_a_function_without_a_number_is_refused():
    with pytest.raises(TypeError, match="one real number"):
        gradient_program(lambda x: x * 2, [np.ones(2)], 1)
