"""Sparse matrices of constants are SciPy's own in every respect but that a product with a Tensor is recorded.

May import: arraygrad, numpy, pytest, SciPy.
"""

import copy
import operator
import pickle

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy.linalg
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

import arraygrad as ag
from arraygrad.scipy import sparse

DENSE = np.array([[2.0, 0.0, 1.0], [0.0, -3.0, 0.0], [0.5, 0.0, 4.0]])
B = np.array([1.0, 2.0, 3.0])
KINDS = [f"{f}_{kind}" for f in ("csr", "csc", "coo", "dia", "bsr", "lil", "dok") for kind in ("array", "matrix")]


def dense(a):
    return np.asarray(a.todense()) if scipy.sparse.issparse(a) else np.asarray(a)


@pytest.mark.parametrize("name", KINDS)
def test_operators_of_constants_are_scipys(name):
    ours, theirs = getattr(sparse, name)(DENSE), getattr(scipy.sparse, name)(DENSE)
    assert isinstance(ours, getattr(sparse, name))
    assert isinstance(ours, getattr(scipy.sparse, name))
    for operation in (
        lambda a: abs(a), lambda a: a**2, lambda a: a != 0, lambda a: a < -1.0, lambda a: a > 1.0, lambda a: a + a,
        lambda a: theirs + a, lambda a: a - theirs, lambda a: 2.0 * a, lambda a: a / 2.0, lambda a: -a, lambda a: a.T,
        lambda a: a @ a, lambda a: a @ B, lambda a: B @ a, lambda a: a * 2.0, lambda a: a.multiply(DENSE),
        lambda a: a.tocsr()[0, 2], lambda a: a.tocsr()[:2], lambda a: a.sum(axis=0), lambda a: a.maximum(a.T),
        lambda a: np.sqrt(abs(a)), lambda a: DENSE @ a, lambda a: DENSE + a, lambda a: a + DENSE,
    ):  # fmt: skip
        np.testing.assert_array_equal(dense(operation(ours)), dense(operation(theirs)))


def test_rows_are_iterated_and_copies_made():
    a = sparse.csr_array(DENSE)
    assert len(list(a)) == 3
    for made in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a.copy(), a.tocsc(), a.T):
        assert isinstance(made, (sparse.csr_array, sparse.csc_array))


def test_graph_algorithms_take_them():
    count, labels = scipy.sparse.csgraph.connected_components(sparse.csr_array(DENSE))
    assert count == 2
    np.testing.assert_array_equal(labels, [0, 1, 0])


def test_what_is_made_of_a_constant_takes_a_tensor():
    a = sparse.csr_array(DENSE)
    for made in (a, a.T, a.tocsc(), a[:2], sparse.vstack([a, a]), sparse.hstack([a, a]), 2.0 * a, a.tocoo(),
                 sparse.block_array([[a, None], [None, a]]), sparse.diags_array([1.0, 2.0, 3.0]), sparse.eye_array(3),
                 sparse.kron(a, np.eye(2)), abs(a), a + a):  # fmt: skip
        x = np.arange(1.0, made.shape[1] + 1.0)
        found = ag.jacobian(lambda x: made @ x)(x)  # noqa: B023
        np.testing.assert_allclose(found, dense(made))
        y = np.arange(1.0, made.shape[0] + 1.0)
        np.testing.assert_allclose(ag.jacobian(lambda y: y @ made)(y), dense(made).T)  # noqa: B023


@pytest.mark.parametrize("name", KINDS)
def test_a_tensor_of_values_makes_a_matrix_that_meets_constants(name):
    kind, constant = getattr(sparse, name), getattr(sparse, name)(DENSE)

    def f(x):
        a = kind(x)
        return ((a + constant) @ B).sum() + ((constant + a) @ B).sum() + ((constant - a) @ B).sum()

    np.testing.assert_allclose(ag.grad(f)(DENSE), np.broadcast_to(B, (3, 3)))


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning", "ignore:Casting complex values")
@pytest.mark.parametrize(
    "operation",
    [
        lambda a, t: a.nanmax(), lambda a, t: a.tocoo().tensordot(np.eye(3)), lambda a, t: np.asarray(a, float),
        lambda a, t: a / a, lambda a, t: a.maximum(1.0), lambda a, t: sparse.csr_array(DENSE).maximum(t),
        lambda a, t: setattr(a, "indices", [0]),
        lambda a, t: a.sum(out=np.zeros(3)), lambda a, t: a + 1.0, lambda a, t: a.power([1.0, 2.0]),
        lambda a, t: sparse.csr_array(t, dtype=int), lambda a, t: sparse.csr_array(t * 1j, dtype=float),
        lambda a, t: sparse.random_array((3, 3), density=t[0, 0]), lambda a, t: sparse.save_npz("unwritten", a),
        lambda a, t: sparse.permute_dims(a.tocoo(), (1, 0)), lambda a, t: sparse.coo_array((t[0], (B, B * 0))).T.data,
        lambda a, t: sparse.linalg.norm(a, 2), lambda a, t: sparse.linalg.spilu(a),
        lambda a, t: sparse.linalg.aslinearoperator(a) @ a,
    ],
)  # fmt: skip
def test_where_a_gradient_would_be_lost_it_is_refused(operation):
    t = ag.tensor(DENSE, requires_grad=True)
    with pytest.raises((TypeError, NotImplementedError)):
        operation(sparse.csr_array(t), t)


def test_comparisons_compare_values():
    a = sparse.csr_array(ag.tensor(DENSE, requires_grad=True))
    np.testing.assert_array_equal((a != 0).toarray(), DENSE != 0)
    np.testing.assert_array_equal((a > 1.0).toarray(), DENSE > 1.0)
    assert (a != sparse.csr_array(DENSE)).nnz == 0


def test_spsolve_of_constants_is_scipys_and_of_values_alone_recorded():
    a = sparse.csc_array(DENSE)
    np.testing.assert_array_equal(
        sparse.linalg.spsolve(a, B), scipy.sparse.linalg.spsolve(scipy.sparse.csc_array(DENSE), B)
    )
    found = ag.jacobian(lambda x: sparse.linalg.spsolve(sparse.csc_array(x), B))(DENSE)
    inverse = np.linalg.inv(DENSE)
    np.testing.assert_allclose(found, -np.einsum("ij,k->ijk", inverse, inverse @ B), atol=1e-14)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_scipys_own_matrix_times_a_tensor_is_recorded(format, kind):
    dense = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]])
    A = getattr(scipy.sparse, f"{format}_{kind}")(dense)
    x, y = ag.tensor(np.array([0.3, 0.5, 0.7]), requires_grad=True), ag.tensor(np.ones((4, 2)), requires_grad=True)
    (g,) = ag.autograd.grad((A @ x)[1], [x])
    np.testing.assert_array_equal(g.numpy(), dense[1])
    np.testing.assert_allclose((y @ A).numpy(), np.ones((4, 2)) @ dense)
    np.testing.assert_allclose((A @ ag.stack([x, x], axis=1)).numpy(), dense @ np.stack([x.numpy()] * 2, axis=1))
    if format != "coo":  # whose own dot asks for an array first
        np.testing.assert_allclose(A.dot(x).numpy(), dense @ x.numpy())
    assert (A.T @ y.T).requires_grad


def test_scipys_own_matrix_class_multiplies_by_a_star_too():
    A = scipy.sparse.csr_matrix(np.array([[1.0, 2.0], [0.0, 3.0]]))
    x = ag.tensor(np.ones(2), requires_grad=True)
    assert (A * x).requires_grad


OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64"])
@pytest.mark.parametrize("sign", OPERATORS)
def test_operators_of_scipys_own_matrix_and_a_tensor_are_recorded(format, kind, dtype, sign):
    dense = np.array([[1, 2, 0], [0, 3, 4]]).astype(dtype)
    A, of = getattr(scipy.sparse, f"{format}_{kind}")(dense), OPERATORS[sign]
    rng = np.random.default_rng(1)
    others = [np.asarray(1.7), rng.uniform(0.5, 1.5, (2, 3)), rng.uniform(0.5, 1.5, (1, 3))]
    if kind == "array":
        others.append(rng.uniform(0.5, 1.5, 3))
    others += [other + 0.5j for other in others]
    whole = lambda found: np.asarray(found.toarray() if hasattr(found, "toarray") else found)
    for other in others:
        for left in (True, False):
            call = of if left else (lambda A, x: of(x, A))
            try:
                plain = whole(call(A, other))
            except (TypeError, ValueError, NotImplementedError):
                with pytest.raises((TypeError, ValueError, NotImplementedError)):
                    call(A, ag.tensor(other, requires_grad=True))
                continue
            t = ag.tensor(other, requires_grad=True)
            if sign in "+-" and other.ndim == 0:  # which a dok_array alone takes
                with pytest.raises(TypeError, match="number that is not zero"):
                    call(A, t)
                continue
            found = call(A, t)
            found = found.toarray() if hasattr(found, "toarray") else getattr(found, "A", found)
            assert found.requires_grad
            np.testing.assert_allclose(found.numpy(), plain, rtol=1e-6 if dtype == "float32" else 1e-13)
            weights = rng.normal(size=plain.shape) + (1j if found.dtype.kind == "c" else 0.0)
            direction = rng.normal(size=other.shape) + (0.3j if np.iscomplexobj(other) else 0.0)
            (g,) = ag.autograd.grad([found], [t], [ag.asarray(weights.astype(found.dtype))])
            wide, step = A.astype(np.result_type(A.dtype, "float64")), 1e-4
            up, down = (whole(call(wide, other + h * direction)) for h in (step, -step))
            slope = (up - down) / (2 * step)
            expected = np.sum((np.conj(weights) * slope).real)
            assert np.sum((np.conj(g.numpy()) * direction).real) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_methods_of_scipys_own_matrix_refuse_a_tensor():
    A = scipy.sparse.csr_array(np.eye(2))
    x = ag.tensor(np.ones((2, 2)), requires_grad=True)

    class Scaled:
        def __mul__(self, other):
            return A.multiply(other)

    for operation in (lambda: np.asarray(x), lambda: A.multiply(x), lambda: A.maximum(x), lambda: Scaled() * x):
        with pytest.raises(TypeError):
            operation()


def test_programs_with_sparse_constants_are_differentiated():
    L = scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(4, 4), format="csr")

    def energy(a, h, d, v):
        return v @ ((L * a / h**2 + d) @ v)

    v, d = np.arange(1.0, 5.0), np.ones((4, 4))
    by_a, by_h = ag.grad(energy, argnums=(0, 1))(0.7, 0.5, d, v)
    assert by_a == pytest.approx(v @ (L @ v) / 0.25)
    assert by_h == pytest.approx(-2 * 0.7 * (v @ (L @ v)) / 0.125)
    np.testing.assert_allclose(ag.grad(energy, argnums=2)(0.7, 0.5, d, v), np.outer(v, v))


def test_an_elementwise_product_takes_the_elements_of_the_pattern():
    A = scipy.sparse.csr_array(DENSE)
    x = ag.tensor(np.arange(9.0).reshape(3, 3), requires_grad=True)
    for found in (x * A, sparse.csr_array(A) * x, sparse.csr_array(A).multiply(x)):
        np.testing.assert_array_equal(found.toarray().numpy(), x.numpy() * DENSE)
    (g,) = ag.autograd.grad((x * A).toarray().sum(), [x])
    np.testing.assert_array_equal(g.numpy(), DENSE)
    row = ag.tensor(np.array([1.0, 2.0, 3.0]), requires_grad=True)
    np.testing.assert_array_equal((row * A).toarray().numpy(), row.numpy() * DENSE)


USES = {
    "product": lambda A, x: A @ x,
    "product from the left": lambda A, x: x @ A,
    "spsolve": sparse.linalg.spsolve,
    "splu": lambda A, x: sparse.linalg.splu(A).solve(x),
    "factorized": lambda A, x: sparse.linalg.factorized(A)(x),
    "cg": lambda A, x: sparse.linalg.cg(A, x, rtol=1e-12)[0],
    "gmres": lambda A, x: sparse.linalg.gmres(A, x, rtol=1e-12)[0],
    "minres": lambda A, x: sparse.linalg.minres(A, x, rtol=1e-12)[0],
    "lsqr": lambda A, x: sparse.linalg.lsqr(A, x, atol=1e-14, btol=1e-14)[0],
    "lsmr": lambda A, x: sparse.linalg.lsmr(A, x, atol=1e-14, btol=1e-14)[0],
    "expm_multiply": sparse.linalg.expm_multiply,
    "expm_multiply at times": lambda A, x: sparse.linalg.expm_multiply(A, x, start=0.0, stop=1.0, num=3)[-1],
}
if hasattr(scipy.sparse.linalg, "funm_multiply_krylov"):

    def _multiplied(A, x):
        try:
            return sparse.linalg.funm_multiply_krylov(scipy.linalg.expm, A, x)
        except ValueError as error:  # it depends on rounding, as SciPy's own function does on plain arrays
            assert "not aligned" in str(error)  # noqa: PT017
            pytest.skip(f"SciPy, where the vectors span all: {error}")

    USES["funm_multiply_krylov"] = _multiplied


@pytest.mark.parametrize("make", [sparse.csc_matrix, scipy.sparse.csc_matrix], ids=["ours", "SciPy's"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_constant_that_is_written_afterwards_is_kept_or_refused(use, make):
    diagonal = np.array([1.0, 2.0, 3.0])

    def f(x):
        A = make(np.diag(diagonal))
        for scale in (1.0, 0.5):
            A.data[:] = scale * diagonal
            x = use(A, x)
        return ag.sum(x)

    x = np.array([0.3, 1.0, -0.7])
    steps = 1e-6 * np.eye(3)
    expected = [(float(f(ag.asarray(x + h))) - float(f(ag.asarray(x - h)))) / 2e-6 for h in steps]
    try:
        found = ag.grad(f)(x)
    except RuntimeError:
        with pytest.raises(RuntimeError, match=r"written|changed"):
            ag.grad(f)(x)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-5)
