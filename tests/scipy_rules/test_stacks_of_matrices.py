"""scipy.linalg's functions of stacks: leading axes on any operand, equal or broadcast, vectors and matrices.

The class: every function of scipy.linalg that takes stacks. The generated form, with values held to SciPy's own and
derivatives to differences, is tests/fuzz/spellings/stacks_of_scipy_linalg.py; here are cases whose gradients are known,
and that the gradient of a stack is that of its matrices one by one.
"""

import numpy as np
import pytest
import scipy.linalg

import arraygrad as ag
import arraygrad.scipy.linalg as sl

rng = np.random.default_rng(3)
A = rng.normal(size=(2, 1, 3, 3)) + 3.0 * np.eye(3)
POSITIVE = np.matmul(A, np.swapaxes(A, -1, -2))
B, VECTOR, COLUMNS = rng.normal(size=(4, 3, 3)), rng.normal(size=3), rng.normal(size=(4, 3, 2))
BESIDE = 0.3 * rng.normal(size=(2, 1, 1, 3))
BAND = np.concatenate([BESIDE, np.full((2, 1, 1, 3), 3.0), BESIDE], axis=-2)


def total(f):
    return lambda *args: np.sum(f(*args))


KNOWN = {
    "cho_solve": (lambda v: sl.cho_solve((np.stack([np.eye(2)] * 3), True), v), np.ones(2), [3.0, 3.0]),
    "toeplitz": (lambda c: sl.toeplitz(c, np.ones(2)), np.ones((2, 3)), [[2.0, 2.0, 1.0]] * 2),
    "toeplitz of a number": (sl.toeplitz, np.array(2.0), 1.0),
    "circulant of a number": (sl.circulant, np.array(2.0), 1.0),
    "fiedler_companion": (sl.fiedler_companion, np.ones((2, 3)), [[2.0, -1.0, -1.0]] * 2),
    "solve_sylvester, a number": (lambda q: sl.solve_sylvester(np.stack([np.eye(2), 2 * np.eye(2)]), np.eye(2), q),
                                  np.array(3.0), 2 * (1 / 2 + 1 / 3)),
    "solve by one number": (lambda b: sl.solve(np.array([[4.0]]), b), np.ones((3, 2)), [[0.25] * 2] * 3),
    "solve_circulant": (lambda b: sl.solve_circulant(np.array([[2.0, 0.0], [4.0, 0.0]]), b, baxis=-1, outaxis=-1),
                        np.ones((1, 2)), [[0.75, 0.75]]),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_gradients_that_are_known(name):
    f, x, expected = KNOWN[name]
    np.testing.assert_allclose(ag.grad(total(f))(x), expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Beginning in SciPy:FutureWarning")
def test_hankel_flattens():
    found = ag.grad(total(sl.hankel))(np.ones((2, 3)))
    flat = not sl.hankel(ag.asarray(np.ones((2, 3)))).ndim == 3
    np.testing.assert_allclose(found, [[1, 2, 3], [4, 5, 6]] if flat else [[1, 2, 3], [1, 2, 3]])


def lower(module, ab, b):
    return module.solve_banded((1, 1), ab, b)


# f(module, first, second) of stacks that broadcast: (2, 1) on the first, (4,) or none on the second.
TWO = {
    "solve": (lambda m, a, b: m.solve(a, b), A, (VECTOR, COLUMNS)),
    "solve sym": (lambda m, a, b: m.solve(a, b, assume_a="sym"), POSITIVE, (VECTOR, COLUMNS)),
    "solve_triangular": (lambda m, a, b: m.solve_triangular(a, b, trans=1), A, (VECTOR, COLUMNS)),
    "lstsq": (lambda m, a, b: m.lstsq(a, b)[0], A, (VECTOR, COLUMNS)),
    "cho_solve": (lambda m, a, b: m.cho_solve((a, True), b), A, (VECTOR, COLUMNS)),
    "lu_solve": (lambda m, a, b: m.lu_solve(m.lu_factor(a), b), A, (VECTOR, COLUMNS)),
    "solve_banded": (lower, BAND, (VECTOR, COLUMNS)),
    "solve_toeplitz": (lambda m, c, b: m.solve_toeplitz(c, b), A[..., 0], (VECTOR, COLUMNS)),
    "matmul_toeplitz": (lambda m, c, b: m.matmul_toeplitz(c, b), A[..., 0], (VECTOR, COLUMNS)),
    "solve_sylvester": (lambda m, a, b: m.solve_sylvester(a, np.eye(3), b), A, (B,)),
    "solve_discrete_lyapunov": (lambda m, a, b: m.solve_discrete_lyapunov(a, b), 0.1 * A, (B,)),
    "expm_frechet": (lambda m, a, b: m.expm_frechet(a, b)[1], 0.1 * A, (B,)),
    "leslie": (lambda m, f, s: m.leslie(f, s), A[..., 0], (B[..., 0, :2],)),
    "block_diag": (lambda m, a, b: m.block_diag(a, b, 2.0), A, (VECTOR, COLUMNS)),
    "khatri_rao": (lambda m, a, b: m.khatri_rao(a, b), A, (B,)),
    "subspace_angles": (lambda m, a, b: m.subspace_angles(a[..., :1], b[..., :1]), A, (B,)),
    "qr_multiply": (lambda m, a, c: m.qr_multiply(a, c)[0], A, (VECTOR, B)),
    "toeplitz": (lambda m, c, r: m.toeplitz(c, r), A[..., 0], (VECTOR, COLUMNS[..., 0])),
}


def core_axes(name, second):
    vector = name in ("leslie", "toeplitz")
    return min(second.ndim, 1 if vector else 2)


@pytest.mark.parametrize(("name", "which"), [(n, i) for n, (_, _, s) in TWO.items() for i in range(len(s))])
def test_the_gradient_of_a_stack_is_that_of_its_matrices(name, which):
    call, first, seconds = TWO[name]
    second = seconds[which]
    axes = 1 if first.ndim == 3 else 2
    batch = np.broadcast_shapes(first.shape[: first.ndim - axes], second.shape[: second.ndim - core_axes(name, second)])
    value = call(scipy.linalg, first, second)
    weights = np.random.default_rng(5).normal(size=value.shape)

    def whole(a, b):
        return np.sum(call(sl, a, b) * weights)

    def one_by_one(a, b):
        wide = np.broadcast_to(a, batch + a.shape[a.ndim - axes :])
        core = core_axes(name, second)
        other = np.broadcast_to(b, batch + b.shape[b.ndim - core :])
        return sum(np.sum(call(sl, wide[i], other[i]) * weights[i]) for i in np.ndindex(*batch))

    np.testing.assert_allclose(whole(first, second), one_by_one(first, second), rtol=1e-9)
    for place in (0, 1):
        found = ag.grad(whole, place)(first, second)
        assert found.shape == (first, second)[place].shape
        np.testing.assert_allclose(found, ag.grad(one_by_one, place)(first, second), rtol=1e-7, atol=1e-9)


def test_a_declaration_names_parameters_that_the_formula_has():
    from arraygrad.scipy._core import over_core

    with pytest.raises(TypeError, match=r"expected a parameter of its own for each of 'a\(n,n\),b\(n\)->\(n\)'"):
        over_core(lambda a: a, "a(n,n),b(n)->(n)", scipy.linalg.solve)


def test_values_and_vectors_whose_stacks_broadcast():
    """cdf2rdf's values keep the leading axes of w, its vectors have those of w and v."""
    draws = np.random.default_rng(5)
    w = np.array([[[0.5, 1 + 2j, 1 - 2j]], [[1 + 1j, 1 - 1j, 2.0]]])
    v = draws.normal(size=(1, 4, 3, 3)) + 1j * draws.normal(size=(1, 4, 3, 3))
    tensors = [ag.tensor(a, requires_grad=True) for a in (w, v)]
    found, expected = sl.cdf2rdf(*tensors), scipy.linalg.cdf2rdf(w, v)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)
    weights = [draws.normal(size=one.shape) for one in expected]
    gradients = ag.autograd.grad([np.sum(a * b) for a, b in zip(found, weights, strict=True)], tensors)
    moved = 1j * draws.normal(size=(2, 1)), draws.normal(size=v.shape) * (1 - 0.5j)
    change = np.zeros(w.shape, complex)  # of pairs
    change[0, 0, 1:], change[1, 0, :2] = (moved[0][0, 0], -moved[0][0, 0]), (moved[0][1, 0], -moved[0][1, 0])
    step = scipy.linalg.cdf2rdf(w + change, v + moved[1])  # linear in both
    slope = sum(np.sum((a - b) * c) for a, b, c in zip(step, expected, weights, strict=True))
    ours = sum(np.sum(np.real(np.conj(g.numpy()) * d)) for g, d in zip(gradients, (change, moved[1]), strict=True))
    np.testing.assert_allclose(ours, slope, rtol=1e-10)


def test_angles_of_subspaces_that_share_directions_have_second_derivatives():
    """Of two that share all but one, at coordinate axes: cosines and sines of the shared ones are equal exactly."""
    a = np.eye(4)[:, :3]
    b = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, np.cos(0.4), np.sin(0.4)]]).T

    def f(b):
        return sl.subspace_angles(a, b)[0]

    step, direction = 1e-4, np.random.default_rng(2).normal(size=b.shape)
    second = np.sum(ag.hessian(f)(b) * direction[:, :, None, None] * direction)
    values = [scipy.linalg.subspace_angles(a, b + h * direction)[0] for h in (-step, 0.0, step)]
    np.testing.assert_allclose(second, (values[0] - 2 * values[1] + values[2]) / step**2, rtol=1e-5, atol=1e-6)
