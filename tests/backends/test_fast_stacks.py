"""Gradients of stacks of small matrices by loops of our own: those of the table's rules, and with the same errors."""

import numpy as np
import pytest
from fast_path_cases import DTYPES, plain

import arraygrad as ag
from arraygrad.backends.numpy import stacks
from arraygrad.backends.numpy.table import try_rule
from arraygrad.testing import gradcheck, gradgradcheck

SIZES = [1, 2, 3, 4, 5, 16, 32, 33]


def numbers(shape, dtype, seed=0):
    return np.random.default_rng((seed, *shape)).normal(size=shape).astype(dtype)


def regular(shape, dtype, seed=0):
    a = numbers((*shape[:-1], shape[-1]), "float64", seed)
    return (a @ a.swapaxes(-1, -2) / shape[-1] + np.eye(shape[-1])).astype(dtype)


FUNCTIONS = {
    "cholesky": ag.linalg.cholesky,
    "cholesky upper": lambda x: ag.linalg.cholesky(x, upper=True),
    "det": ag.linalg.det,
    "slogdet": lambda x: ag.linalg.slogdet(x)[1],
    "qr q": lambda x: ag.linalg.qr(x)[0],
    "qr r": lambda x: ag.linalg.qr(x)[1],
    "qr": lambda x: ag.concat([*ag.linalg.qr(x)], axis=-2),
    "pinv": ag.linalg.pinv,
    "pinv rtol": lambda x: ag.linalg.pinv(x, rtol=1e-9),
    "inv": ag.linalg.inv,
    "svdvals": ag.linalg.svdvals,
    "eigvalsh": ag.linalg.eigvalsh,
    "eigvalsh upper": lambda x: np.linalg.eigvalsh(x, UPLO="U"),
}


def gradient(f, x, weights):
    t = ag.tensor(x, requires_grad=True)
    f(t).backward(weights)
    return t.grad.numpy()


def close(got, expected, dtype):
    assert got.dtype == expected.dtype == np.dtype(dtype)
    assert got.shape == expected.shape
    scale = np.abs(expected).max(initial=1e-30)
    np.testing.assert_allclose(got / scale, expected / scale, atol=2e-5 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_is_that_of_the_tables_rule(name, n, dtype):
    f = FUNCTIONS[name]
    for x in (regular((3, n, n), dtype), regular((2, 3, n, n), dtype, 1).swapaxes(0, 1)):
        weights = numbers(f(ag.asarray(x)).shape, dtype, 2)
        for given in (weights, np.broadcast_to(weights[:1], weights.shape), weights[::-1]):
            close(gradient(f, x, given), plain(gradient, f, x, given), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5, 2), (2, 2, 7, 4), (4, 3, 1), (3, 2, 5)])
@pytest.mark.parametrize("name", ["qr q", "qr r", "pinv", "pinv rtol", "svdvals"])
def test_matrices_that_are_not_square(name, shape, dtype):
    x, f = numbers(shape, dtype), FUNCTIONS[name]
    weights = numbers(f(ag.asarray(x)).shape, dtype, 2)
    close(gradient(f, x, weights), plain(gradient, f, x, weights), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 3, 40])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)])
def test_the_gradients_of_solve_are_the_tables(wanted, n, columns, dtype):
    x = numbers((4, n, n), dtype) + 2 * n**0.5 * np.eye(n, dtype=dtype)
    b, g = numbers((4, n, columns), dtype, 1), numbers((4, n, columns), dtype, 2)

    def run():
        given = [ag.tensor(a, requires_grad=want) for a, want in zip((x, b), wanted, strict=True)]
        ag.linalg.solve(*given).backward(g)
        return [t.grad.numpy() for t in given if t.requires_grad]

    for ours, theirs in zip(run(), plain(run), strict=True):
        close(ours, theirs, dtype)


def test_right_sides_that_broadcast_are_left_to_the_table():
    x, b = regular((4, 3, 3), "float64"), numbers((3, 2), "float64")
    assert gradcheck(ag.linalg.solve, (ag.tensor(x, requires_grad=True), ag.tensor(b, requires_grad=True)))
    assert gradcheck(ag.linalg.solve, (ag.tensor(x, requires_grad=True), ag.tensor(b[:, 0], requires_grad=True)))


def test_stacks_of_small_matrices_are_served():
    x = regular((5, 3, 3), "float64")
    for name in ("cholesky", "det"):
        found = FUNCTIONS[name](ag.tensor(x, requires_grad=True))
        assert try_rule(found.grad_fn, np.ones(found.shape)) is not None
    p = np.linalg.pinv(x)
    assert stacks.pinv_gradient(np.ones_like(p), p, x) is not None
    assert stacks.pinv_gradient(np.ones_like(p[0]), p[0], x[0]) is None
    assert stacks.svdvals_gradient(np.ones((5, 3)), x) is not None
    assert stacks.eigvalsh_gradient(np.ones((5, 3)), x, False) is not None


@pytest.mark.parametrize("name", ["det", "slogdet", "qr r", "pinv"])
@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_one_singular_matrix_of_a_stack(name, at):
    x, f = regular((3, 3, 3), "float64"), FUNCTIONS[name]
    x[at] = np.diag([1.0, 2.0, 0.0])
    weights = numbers(f(ag.asarray(x)).shape, "float64", 2)

    def run():
        try:
            return gradient(f, x, weights)
        except (np.linalg.LinAlgError, RuntimeError) as error:
            return str(error)

    ours, theirs = run(), plain(run)
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("name", ["cholesky", "det", "slogdet", "qr r", "pinv"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_gradients_that_are_not_finite_are_spread_as_the_table_does(name):
    x, f = regular((3, 3, 3), "float64"), FUNCTIONS[name]
    weights = numbers(f(ag.asarray(x)).shape, "float64", 2)
    weights[1] = np.nan
    weights[2] = np.inf
    np.testing.assert_array_equal(gradient(f, x, weights), plain(gradient, f, x, weights))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_empty_stacks_have_empty_gradients(name):
    f, x = FUNCTIONS[name], np.zeros((0, 3, 3))
    assert gradient(f, x, np.zeros(f(ag.asarray(x)).shape)).shape == x.shape


@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_derivatives_agree_with_finite_differences(name):
    x, f = ag.tensor(regular((2, 3, 3), "float64"), requires_grad=True), FUNCTIONS[name]
    assert gradcheck(f, (x,))
    assert gradgradcheck(f, (x,))


def test_pinv_refuses_what_rtol_leaves_out():
    x = np.stack([np.diag([1.0, 0.5, 1e-3]), np.eye(3)])
    t = ag.tensor(x, requires_grad=True)
    found = ag.linalg.pinv(t, rtol=1e-2)
    with pytest.raises(RuntimeError, match="leaves out singular values"):
        found.sum().backward()


@pytest.mark.parametrize("name", ["svdvals", "eigvalsh"])
@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0), (2.0, 1.0, 1.0), (2.0, 1.0, 0.0), (1.0, 1e-9, 1e-3), (0.0,) * 3])
def test_equal_and_small_values(name, values):
    turn = np.linalg.qr(numbers((2, 3, 3), "float64"))[0]
    x, f = turn * np.array(values) @ turn.swapaxes(-1, -2), FUNCTIONS[name]
    weights = np.broadcast_to([1.0, 0.5, 0.5] if name == "svdvals" else [0.5, 0.5, 1.0], (2, 3))
    if values[0] == values[1] and values[0]:
        weights = np.ones((2, 3))  # equal values share one gradient
    if name == "svdvals" and values[2] == 0.0:
        weights = weights * [1.0, 1.0, 0.0]  # a zero has a kink
    ours, theirs = gradient(f, x, weights), plain(gradient, f, x, weights)
    if any(values):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)
    assert np.isfinite(ours).all()
