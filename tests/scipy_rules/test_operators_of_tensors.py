"""Linear operators whose functions read Tensors: solutions, eigenvalues and products of every form of operator."""

import importlib

import numpy as np
import pytest

sp = pytest.importorskip("scipy.sparse", reason="SciPy, which is optional, is not installed")
theirs = importlib.import_module("scipy.sparse.linalg")

from scipy_differences import check

import arraygrad as ag
from arraygrad.scipy.sparse import linalg as ours

T, B = np.array([0.7, 1.3, 1.9, 2.4]), np.array([1.0, -0.5, 0.8, 0.3])
FIXED = np.diag([4.0, 5.0, 6.0, 7.0]) + 0.3
UPPER = np.triu(np.full((4, 4), 0.4))


def room(t):
    """The functions of SciPy for arrays, ours for Tensors."""
    return ours if isinstance(t, ag.Tensor) else theirs


class Diagonal(theirs.LinearOperator):
    """An operator of a program: a class derived from SciPy's."""

    def __init__(self, t):
        self.t = t
        super().__init__(np.dtype(float), (4, 4))

    def _matvec(self, x):
        return FIXED @ np.ravel(x) + self.t * np.ravel(x)

    def _rmatvec(self, x):
        return self._matvec(x)


class Columns(theirs.LinearOperator):
    """One that multiplies columns, and is its own adjoint."""

    def __init__(self, t):
        self.t = t
        super().__init__(np.dtype(float), (4, 4))

    def _matmat(self, X):
        return FIXED @ X + self.t[:, None] * X

    def _adjoint(self):
        return self


def of_functions(t, **more):
    matvec = lambda x: FIXED @ x + (t * x.T).T
    return room(t).LinearOperator((4, 4), matvec=matvec, rmatvec=matvec, **more)


# All symmetric, so that every solver takes them.
FORMS = {
    "functions": lambda t: of_functions(t, dtype=float),
    "dtype by a product": of_functions,
    "class": Diagonal,
    "columns": Columns,
    "sum": lambda t: of_functions(t) + room(t).aslinearoperator(FIXED),
    "difference": lambda t: of_functions(t) - room(t).aslinearoperator(0.1 * FIXED),
    "product": lambda t: of_functions(t) @ of_functions(t),
    "multiple": lambda t: 2.5 * of_functions(t),
    "multiple by an element": lambda t: of_functions(t) * t[1] if isinstance(t, ag.Tensor) else t[1] * of_functions(t),
    "power": lambda t: of_functions(t) ** 2,
    "transposed": lambda t: of_functions(t).T,
    "adjoint": lambda t: of_functions(t).H,
}
SOLVERS = ("cg", "gmres", "bicg", "bicgstab", "cgs", "minres", "lgmres", "gcrotmk", "qmr", "tfqmr")


@pytest.mark.parametrize("form", FORMS)
def test_solutions_have_first_and_second_derivatives(form):
    def solved(t, b):
        return room(t).cg(FORMS[form](t), b, rtol=1e-13, atol=0.0)[0]

    check(solved, solved, [T, B], rtol=1e-6, rtol2=1e-5, loose=1e-9)


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver(name):
    option = {"rtol": 1e-13}

    def solved(t, b):
        return getattr(room(t), name)(of_functions(t), b, **option)[0]

    check(solved, solved, [T, B], rtol=1e-6, rtol2=1e-5, loose=1e-8)
    x, info = getattr(ours, name)(of_functions(ag.tensor(T, requires_grad=True)), B, **option)
    plain, count = getattr(theirs, name)(of_functions(T), B, **option)
    assert info == count
    np.testing.assert_allclose(x.numpy(), plain, rtol=1e-12)


@pytest.mark.parametrize("name", ["gmres", "bicgstab", "lgmres"])
def test_operators_that_are_not_symmetric_need_no_adjoint(name):
    def solved(t, b):
        operator = room(t).LinearOperator((4, 4), matvec=lambda x: FIXED @ x + UPPER @ (t * x), dtype=float)
        return getattr(room(t), name)(operator, b, rtol=1e-13)[0]

    check(solved, solved, [T, B], rtol=1e-6, rtol2=1e-5, loose=1e-8)


def test_complex_operators():
    def solved(t, b):
        operator = room(t).LinearOperator((4, 4), matvec=lambda x: FIXED @ x + 1j * (UPPER @ (t * x)), dtype=complex)
        return room(t).gmres(operator, b, rtol=1e-13)[0]

    check(solved, solved, [T, B], rtol=1e-6, rtol2=1e-5, loose=1e-8)
    check(solved, solved, [T * (1.0 + 0.2j), B], rtol=1e-6, rtol2=1e-5, loose=1e-8)


@pytest.mark.parametrize("form", ["functions", "class", "columns", "sum", "power"])
def test_eigenvalues(form):
    def values(t):
        return room(t).eigsh(FORMS[form](t), k=2, return_eigenvectors=False, v0=B, tol=1e-14)

    def projector(t):
        v = room(t).eigsh(FORMS[form](t), k=1, v0=B, tol=1e-14)[1][:, 0]
        return v[:, None] * v[None, :]

    check(values, values, [T], rtol=1e-6, rtol2=1e-5, loose=1e-8)
    check(projector, projector, [T], rtol=1e-6, rtol2=1e-5, loose=1e-8)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, a, t: f.lobpcg(a, np.eye(4)[:, :1] + 0.1, tol=1e-12, maxiter=200)[0],
        lambda f, a, t: f.svds(a, k=2, v0=B, return_singular_vectors=False),
        lambda f, a, t: f.lsqr(a, B, atol=1e-14, btol=1e-14)[0],
        lambda f, a, t: f.lsmr(a, B, atol=1e-14, btol=1e-14)[0],
        lambda f, a, t: f.eigs(a, k=1, v0=B)[0].real,
    ],
    ids=["lobpcg", "svds", "lsqr", "lsmr", "eigs"],
)
@pytest.mark.filterwarnings("ignore:Exited", "ignore:The problem size 4")
def test_other_functions_of_operators(call):
    function = lambda t: call(room(t), of_functions(t), t)
    check(function, function, [T], rtol=1e-5, second=False, loose=1e-7)


@pytest.mark.filterwarnings("ignore:Calling `r?matvec` on 'column vectors'")  # SciPy 1.18 and later say so
def test_products():
    def products(t, x):
        fixed = lambda x: FIXED @ x + (t * x.T).T
        a = room(t).LinearOperator((4, 4), matvec=fixed, rmatvec=fixed)
        matrix = x[:, None] * np.array([1.0, 2.0])
        return (
            a @ x, a.dot(x), a * x, a(x), a.matvec(x[:, None]), a.rmatvec(x), a.matmat(matrix), a.rmatmat(matrix),
            a.T @ x, a.H @ x, (a + a) @ x, (a @ a) @ x, (a - 2.0 * a) @ x, (a / 2.0) @ x, (-a) @ x, (a**3) @ x,
        )  # fmt: skip

    check(products, products, [T, B])


def test_a_preconditioner_has_no_gradient_and_may_depend_on_tensors():
    def solved(t, b):
        inverse = room(t).LinearOperator((4, 4), matvec=lambda x: x / (t + 5.0))
        return room(t).gmres(of_functions(t), b, M=inverse, rtol=1e-13)[0]

    check(solved, solved, [T, B], rtol=1e-6, rtol2=1e-5, loose=1e-8)


def test_a_solution_that_is_none_has_scipys_value_and_no_gradient():
    t = ag.tensor(T, requires_grad=True)
    x, info = ours.cg(of_functions(t), B, maxiter=1)
    plain, count = theirs.cg(of_functions(T), B, maxiter=1)
    np.testing.assert_array_equal(x.numpy(), plain)
    assert info == count != 0
    with pytest.raises(RuntimeError, match=r"cg: the result is no solution: .* pass a smaller rtol"):
        x.sum().backward()


def test_single_precision():
    t = ag.tensor(T.astype(np.float32), requires_grad=True)
    fixed = FIXED.astype(np.float32)
    operator = ours.LinearOperator((4, 4), matvec=lambda x: fixed @ x + t * x, dtype=np.float32)
    x = ours.cg(operator, B.astype(np.float32), rtol=1e-6)[0]
    assert x.dtype == np.float32
    x.sum().backward()
    assert t.grad.dtype == np.float32
    w = np.linalg.solve(FIXED + np.diag(T), np.ones(4))
    np.testing.assert_allclose(t.grad.numpy(), -w * x.numpy(), rtol=1e-4)


@pytest.mark.parametrize("form", ["functions", "class", "columns", "product"])
def test_adopted_programs(form):
    """The plain call's operators, in a program that names SciPy alone."""

    def program(t):
        matvec = lambda x: FIXED @ x + t * x
        operator = {
            "functions": lambda: theirs.LinearOperator((4, 4), matvec=matvec),
            "class": lambda: Diagonal(t),
            "columns": lambda: Columns(t),
            "product": lambda: theirs.LinearOperator((4, 4), matvec=matvec) @ theirs.aslinearoperator(np.eye(4)),
        }[form]()
        assert isinstance(operator, theirs.LinearOperator)
        return theirs.cg(operator, B, rtol=1e-13)[0].sum() + theirs.gmres(operator, t, rtol=1e-13)[0][0]

    plain = program(T)
    value, found = ag.value_and_grad(program, adopt=True)(T)
    np.testing.assert_allclose(value, plain, rtol=1e-9)
    matrix = FIXED + np.diag(T)
    w, x, y = np.linalg.solve(matrix, np.ones(4)), np.linalg.solve(matrix, B), np.linalg.solve(matrix, T)
    first = np.linalg.solve(matrix, np.eye(4)[0])
    np.testing.assert_allclose(found, -w * x + first - first * y, rtol=1e-8)
    assert program(T) == plain


def test_what_hides_a_tensor_is_refused():
    class Hidden(theirs.LinearOperator):
        __slots__ = ("box",)

        def __init__(self, box):
            self.box = box
            super().__init__(np.dtype(float), (4, 4))

        def _matvec(self, x):
            return next(self.box) * x

    def lost(t):
        def box():
            while True:
                yield t

        return ours.cg(Hidden(box()), B)[0].sum()

    with pytest.raises(TypeError, match="depends on a Tensor that requires grad and is not among its arguments"):
        ag.grad(lost)(T)


def test_an_adjoint_that_is_not_given_is_scipys_error():
    operator = ours.LinearOperator((4, 4), matvec=lambda x: FIXED @ x, dtype=float)
    with pytest.raises(NotImplementedError, match="rmatvec is not defined"):
        operator.rmatvec(B)
    with pytest.raises(NotImplementedError, match="rmatvec is not defined"):
        operator.H @ B
