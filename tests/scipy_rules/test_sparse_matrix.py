"""Recorded sparse matrices against what a program may do with SciPy's: memory that is shared, zeros, kinds of arrays.

May import: arraygrad, numpy, pytest, SciPy. The reference is the same call on plain arrays, and differences of it.
"""

import copy

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from scipy_differences import slope

import arraygrad as ag
from arraygrad.scipy import sparse

VALUES = np.array([3.0, 0.4, 2.5, 4.0])
ROWS, COLUMNS = np.array([0, 0, 1, 2]), np.array([0, 2, 1, 2])
B = np.array([1.0, -2.0, 0.5])
pytestmark = [
    pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning"),
    pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning"),
]


def csr(x):
    return sp.csr_matrix((x, (ROWS, COLUMNS)), shape=(3, 3))


def array(x):
    return sp.csr_array((x, (ROWS, COLUMNS)), shape=(3, 3))


def as_plain(f, x):
    """The adopted value and gradient of f are those of the plain call."""
    value, gradient = ag.value_and_grad(f, adopt=True)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    expected = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[i] = 1.0
        expected[i] = slope(lambda t: float(f(x + t * d)), 1e-3)  # noqa: B023
    np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-8)


# -- zeros ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (sp.csr_matrix(x) @ B).sum(),
        lambda x: (sp.coo_array(x[:1]) @ B).sum(),
        lambda x: spl.spsolve(sp.csc_matrix(x), B).sum(),
        lambda x: spl.splu(sp.csc_matrix(x)).solve(B).sum(),
        lambda x: sp.kron(sp.csr_matrix(x), sp.csr_matrix(x)).toarray()[1].sum(),
        lambda x: spl.inv(sp.csc_array(x)).toarray().sum(),
        lambda x: (sp.csr_matrix(x).T * 2.0)[:2].sum(),
    ],
)
def test_zeros_that_a_pattern_leaves_out_have_their_derivative(f):
    as_plain(f, np.diag([1.0, 2.0, 3.0]))


def test_zeros_that_cancel_in_products_and_differences_have_their_derivative():
    def product(x):
        a = sp.csr_matrix((x[:2], (np.array([0, 0]), np.array([0, 1]))), shape=(2, 2))
        b = sp.csr_matrix((x[2:], (np.array([0, 1]), np.array([0, 0]))), shape=(2, 2))
        return ((a @ b) @ np.array([3.0, 1.0])).sum()

    as_plain(product, np.array([1.0, 1.0, 1.0, -1.0]))
    as_plain(lambda x: ((csr(x) - csr(VALUES)) @ B).sum(), VALUES.copy())


def test_eliminated_zeros_are_left_out_of_the_pattern_and_keep_their_derivative():
    def f(x):
        a = csr(x - 3.0)
        before = a.nnz
        a.eliminate_zeros()
        return (a @ B).sum() * (before - a.nnz)

    np.testing.assert_allclose(ag.grad(f, adopt=True)(VALUES), B[COLUMNS])


def test_values_written_beside_left_out_zeros_are_refused():
    def f(x):
        a = csr(x - 3.0)
        a.eliminate_zeros()
        a.data *= 2.0
        return a.sum()

    with pytest.raises(TypeError, match="left out zeros"):
        ag.grad(f, adopt=True)(VALUES)


def test_which_elements_find_gives_depends_on_values_as_in_scipy():
    def f(x):
        _, columns, values = sp.find(csr(x - 3.0 * (x == 3.0)))
        return (values * (columns + 1.0)).sum()

    value, gradient = ag.value_and_grad(f, adopt=True)(VALUES)
    np.testing.assert_allclose(value, f(VALUES))
    np.testing.assert_array_equal(gradient, [0.0, 3.0, 2.0, 3.0])


def test_an_infinite_factor_meets_no_zero_that_scipy_leaves_out():
    found = sparse.csr_array(ag.tensor(np.array([[1.0, 0.0], [2.0, 1.0]]), requires_grad=True)) @ np.array(
        [1.0, np.inf]
    )
    np.testing.assert_array_equal(found.numpy(), [1.0, np.inf])


# -- elements that are named more than once, or in no order -----------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a.nnz * a.sum() + a.tocsr().nnz * a.tocsr().power(2).sum() + a.T.tocsr().max() + abs(a.data).sum(),
        lambda a: (a.toarray() ** 2).sum() + (a @ a).sum() + a.power(2).sum() + spl.norm(a.tocsr()) ** 2,
        lambda a: (a.data * np.arange(4.0)).sum() + a.todia().sum() + (a.data * np.arange(a.data.size) ** 2.0).sum(),
    ],
)
def test_elements_named_twice_are_summed_where_scipy_sums_them(f):
    places = np.array([1, 0, 0, 0]), np.array([0, 1, 1, 1])
    as_plain(lambda x: f(sp.coo_matrix((x, places), shape=(2, 2))), VALUES)


@pytest.mark.parametrize("solve", [spl.spsolve, lambda a, b: spl.splu(a).solve(b)])
def test_a_solver_that_sorts_the_matrix_leaves_the_given_values_alone(solve):
    def f(x):
        a = sp.csc_matrix((x * 1.0, np.array([2, 0, 1, 2]), np.array([0, 2, 3, 4])), shape=(3, 3))
        return solve(a, B).sum() + (a.data * np.arange(4.0)).sum()

    t = ag.tensor(VALUES, requires_grad=True)
    sparse.linalg.spsolve(sparse.csc_matrix((t, np.array([2, 0, 1, 2]), np.array([0, 2, 3, 4])), shape=(3, 3)), B)
    np.testing.assert_array_equal(t.numpy(), [3.0, 0.4, 2.5, 4.0])
    as_plain(f, VALUES)


# -- memory that matrices share ---------------------------------------------------------------------------------------


def in_place(x):
    a = csr(x * 1.0)
    a.data *= 2.0
    a.data[0] = 5.0 * x[1]
    a.data[1:3] = a.data[1:3] ** 2
    return (a @ B).sum()


def shared_with_the_transpose(x):
    a = csr(x * 1.0)
    b = a.T
    a.data[0] = x[1]
    a.data *= x[0]
    return (b @ B).sum()


def shared_with_the_values(x):
    y = x * 1.0
    a = sp.csr_matrix((y, COLUMNS, np.array([0, 2, 3, 4])), shape=(3, 3))
    y[0] = x[1] * 7.0
    return (a @ B).sum()


def not_shared(x):
    a = csr(x * 1.0)
    b, c, d = a.copy(), a.tocsc(), copy.deepcopy(a)
    b.data *= 3.0
    c.data *= 0.0
    d[0, 0] = 4.0
    a.tocsr().data[1] = x[0] ** 2
    return (a @ B).sum()


def shared_by_a_constructor(x):
    a = csr(x * 1.0)
    b = sp.csr_matrix(a)
    b.data *= 3.0
    row = a[0]
    row.data *= 4.0
    return (a @ B).sum()


def values_assigned(x):
    a, constant = csr(x), csr(VALUES)
    turned = constant.T
    a.data = a.data / np.asarray(a.sum(1)).ravel()[np.repeat(np.arange(3), np.diff(a.indptr))]
    constant.data = constant.data * x
    return ((a + constant + turned) @ B).sum()


def written_under_another_name(x):
    a = sp.lil_matrix((3, 3))
    b = a
    a[0, 0] = x[0]
    a[1, 1] += x[1] * 2.0
    a.setdiag(x[:2], 1)
    return (b.tocsr() @ B).sum()


def multiplied_in_place(x):
    a = csr(x * 1.0)
    b = a
    a *= x[0]
    a /= 2.0
    a += sp.eye(3)
    return (a @ B).sum() + (b @ B).sum()


def constant_multiplied_in_place(x):
    a = csr(VALUES * 1.0)
    b = a
    a *= x[0]
    b -= csr(x**2)
    return (a @ B).sum() + (b @ B).sum()


def arguments_stay(x):
    a, b = csr(x), array(x).tocsc()
    a *= 2.0
    a.data[0] = 7.0
    b.data[:] = 1.0
    return a.sum() + b.sum() + x.sum()


@pytest.mark.parametrize(
    "f",
    [
        in_place, shared_with_the_transpose, shared_with_the_values, not_shared, shared_by_a_constructor,
        values_assigned, written_under_another_name, multiplied_in_place, constant_multiplied_in_place, arguments_stay,
    ],
)  # fmt: skip
def test_what_is_written_is_seen_where_scipy_shares_memory(f):
    as_plain(f, VALUES)


def test_a_tensor_is_not_written_into_a_constant_whose_memory_is_shared():
    def f(x):
        a = csr(VALUES)
        turned = a.T
        a[0, 0] = x[0]
        return (turned @ B).sum()

    with pytest.raises(TypeError, match="share"):
        ag.grad(f, adopt=True)(VALUES)


def test_a_class_that_serves_several_formats_is_not_called():
    a = sparse.csr_array(ag.tensor(np.eye(2), requires_grad=True))
    with pytest.raises(TypeError, match="by the class of its format"):
        a.__class__((a.data, a.indices, a.indptr), shape=a.shape)


# -- dtypes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csr_array", "coo_matrix", "csc_matrix", "lil_array", "dok_matrix"])
def test_float32_stays_and_is_made_where_it_is_asked_for(kind):
    x = ag.tensor(VALUES.astype(np.float32), requires_grad=True)
    a = sparse.coo_array((x, (ROWS, COLUMNS)), shape=(3, 3)).asformat(kind[:3])
    assert a.dtype == np.float32
    for found in (a @ B.astype(np.float32), (a + a).tocsr().data, a.sum(), a.power(2).tocoo().data, 2.0 * a.diagonal()):
        assert found.dtype == np.float32
    wide = sparse.csr_array((ag.tensor(VALUES, requires_grad=True), (ROWS, COLUMNS)), shape=(3, 3), dtype=np.float32)
    assert wide.data.dtype == np.float32


def test_complex_values_have_the_gradient_of_their_parts():
    def f(x):
        a = sp.csr_matrix((x * (1.0 + 2.0j), (ROWS, COLUMNS)), shape=(3, 3))
        return abs(a @ (B * 1j)).sum() + a.real.sum() + (a.conj().T @ B).imag.sum() + abs(a).sum()

    as_plain(f, VALUES)


def test_a_matrix_of_integers_takes_no_value_that_requires_grad():
    def f(x):
        a = sp.lil_matrix((3, 3), dtype=int)
        a[0, 0] = x[0]
        return a.sum()

    with pytest.raises(TypeError, match="dtype=float"):
        ag.grad(f, adopt=True)(VALUES)


# -- numpy.matrix, classes, and other kinds ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda a, d: (a * B).sum() + (d.T * d)[0, 0] + (d.T @ a @ d).sum() + np.ravel(d)[0] + d.A1[1],
        lambda a, d: np.asarray(d).ravel()[2] + np.array(a.sum(0)).flatten()[0] + np.squeeze(np.asarray(d))[1],
        lambda a, d: (sp.diags((1 / np.sqrt(d)).A1) @ a).sum() + a.multiply(d).sum() + (a / d).sum(),
        lambda a, d: (a.todense() ** 2).sum() + (a.todense() * a.todense()).sum() + a.todense()[0, 2],
        lambda a, d: np.linalg.norm(a.todense()) + (a.todense() - 2.0 * d).sum() + (1.0 - d).A1[1],
        lambda a, d: (a * a).sum() + (a**2).sum() + (a + np.outer(B, B)).sum(),
    ],
)
def test_sums_of_the_matrix_classes_multiply_as_matrices(f):
    as_plain(lambda x: f(csr(x), csr(x).sum(axis=1)), VALUES)


@pytest.mark.parametrize("function", [np.mean, np.cumsum, np.squeeze, np.diag])
def test_what_a_matrix_of_tensors_has_no_answer_for_is_refused(function):
    a = sparse.csr_matrix((ag.tensor(VALUES, requires_grad=True), (ROWS, COLUMNS)), shape=(3, 3))
    with pytest.raises(TypeError, match="A1 or A"):
        function(a.sum(axis=1))
    with pytest.raises(TypeError, match="A1 or A"):
        np.asarray(a.sum(axis=1))


def test_questions_of_class_and_format_have_the_plain_answers():
    def f(x):
        a = csr(x)
        asked = [
            sp.issparse(a), sp.isspmatrix(a), sp.isspmatrix_csr(a), sp.isspmatrix_coo(a), isinstance(a, sp.csr_matrix),
            isinstance(a, sp.csc_matrix), isinstance(a, sp.spmatrix), isinstance(a, sp.sparray),
            isinstance(a.tocsc(), sp.csc_matrix), isinstance(array(x), sp.sparray), type(a) == sp.csr_matrix,  # noqa: E721
        ]  # fmt: skip
        return a.sum() * sum(2.0**i for i, yes in enumerate(asked) if yes)

    as_plain(f, VALUES)


def test_a_class_that_a_function_imports_and_compares_is_itself():
    def f(x):
        from scipy.sparse import csr_matrix

        return csr(x).sum() * (2.0 if type(csr(x)) is csr_matrix else 3.0)

    as_plain(f, VALUES)


def test_modules_that_a_function_imports_are_recorded():
    def f(x):
        import scipy.sparse.linalg as solvers
        from scipy.sparse.linalg import spsolve

        return spsolve(csr(x).tocsc(), B).sum() + solvers.norm(csr(x)) ** 2

    as_plain(f, VALUES)


def test_loops_over_rows_and_over_the_arrays_of_a_matrix():
    def by_rows(x):
        a = array(x)
        return sum((r * r).sum() for r in a) + a[0] @ B + a[[0, 2]].sum() + (a[:, 1] * 2.0).sum() + a[-1, -1]

    def by_arrays(x):
        a, total = csr(x), 0.0
        for i in range(3):
            for k in range(a.indptr[i], a.indptr[i + 1]):
                total = total + a.data[k] * B[a.indices[k]] * (i + 1)
        return total

    as_plain(by_rows, VALUES)
    as_plain(by_arrays, VALUES)


def test_a_dok_matrix_is_a_mapping():
    def f(x):
        a = sp.dok_matrix((3, 3))
        a[0, 0] = x[0]
        a[1, 2] = x[1]
        a[0, 0] *= x[2]
        return sum(v * (i + 2 * j + 1) for (i, j), v in a.items()) + len(a) * a.get((0, 0)) + ((0, 0) in a)

    as_plain(f, VALUES)


def test_a_program_of_many_elements_is_assembled():
    n = 200

    def f(x):
        a = sp.lil_matrix((n, n))
        for i in range(n):
            a[i, i] += 2.0 + x[i % 4]
            if i:
                a[i, i - 1] = a[i - 1, i] = -x[i % 3]
        return spl.spsolve(a.tocsc(), np.ones(n)).sum()

    as_plain(f, VALUES)


def test_second_derivatives_go_through_assembly_products_and_solutions():
    def f(x):
        a = array(x)
        a[0, 1] = x[0] * x[1]
        return spl.spsolve(sp.csc_array(a @ a.T + sp.eye_array(3)), B) @ B

    found = ag.hessian(f, adopt=True)(VALUES)
    gradient = ag.grad(f, adopt=True)
    for i in range(4):
        d = np.eye(4)[i]
        expected = [slope(lambda t, k=k: gradient(VALUES + t * d)[k], 1e-3) for k in range(4)]  # noqa: B023
        np.testing.assert_allclose(found[i], expected, rtol=1e-6, atol=1e-8)


def test_matrices_of_scipys_own_meet_recorded_ones():
    own = sp.csr_array(np.arange(9.0).reshape(3, 3))
    x = ag.tensor(VALUES, requires_grad=True)
    a, dense = sparse.csr_array((x, (ROWS, COLUMNS)), shape=(3, 3)), array(VALUES).toarray()
    for found, expected in (
        (own @ a, own @ dense), (a @ own, dense @ own), (own + a, own.toarray() + dense),
        (a.multiply(own), dense * own), (own - a, own.toarray() - dense), (a - own, dense - own.toarray()),
        (own.dot(a), own @ dense),
    ):  # fmt: skip
        expected = expected.toarray() if sp.issparse(expected) else expected
        np.testing.assert_allclose(found.toarray().numpy(), expected)
        assert found.toarray().requires_grad
    with pytest.raises(TypeError, match="put this one first"):
        own.multiply(a)


@pytest.mark.parametrize(
    "make",
    [
        lambda t: sparse.csr_array((t, (ROWS[:3], COLUMNS[:3]))), lambda t: sparse.coo_matrix(t[None]), sparse.diags,
        lambda t: sparse.csr_array(np.eye(3)) @ t, lambda t: sparse.hstack([sparse.csr_array(np.eye(3)), t[:, None]]),
    ],
)  # fmt: skip
def test_values_of_other_libraries_are_refused(make):
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="to_backend"):
        make(ag.tensor(torch.ones(3, dtype=torch.float64), requires_grad=True))


def test_a_vector_that_is_constant_so_far_may_be_written_after_a_product_or_a_solve():
    def f(k):
        A = sparse.diags([k[0] * np.ones(5), -2.0 * k[1] * np.ones(6), k[2] * np.ones(5)], [-1, 0, 1]).tocsc()
        u, b, found = ag.ones(6), ag.zeros(6), 0.0
        for i in range(3):
            u -= 0.1 * (A @ u)
            u[1:-1] = (A @ u)[1:-1]
            b[:] = 0.0
            b[i] = 1.0
            found = found + sparse.linalg.spsolve(A, b)[0] + sparse.linalg.splu(A).solve(b)[1]
        return ag.sum(u**2) + found

    k = np.array([0.3, 1.1, 0.5])
    steps = 1e-6 * np.eye(3)
    expected = [(float(f(ag.asarray(k + h))) - float(f(ag.asarray(k - h)))) / 2e-6 for h in steps]
    np.testing.assert_allclose(ag.grad(f)(k), expected, rtol=1e-6)
    np.testing.assert_allclose(ag.jvp(f, (k,), (np.ones(3),))[1], sum(expected), rtol=1e-6)
