"""Sparse matrices of CuPy's: programs in the names of cupyx.scipy.sparse have the gradients of those over SciPy.

Operators of cupyx's matrices and Tensors are recorded everywhere; what makes matrices of Tensors, in adopted calls and
by arraygrad.scipy.sparse. cuSPARSE and cuSOLVER are SciPy's functions on the device of tools/host_cuda.
"""

import importlib
import types

import numpy as np
import pytest

import arraygrad as ag

scipy_sparse = pytest.importorskip("scipy.sparse")
pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]

N = 5
ROWS = np.array([0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4])
COLUMNS = np.array([0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4])
POINTERS = np.array([0, 2, 5, 8, 11, 13])
X = np.where(ROWS == COLUMNS, 4.0, 1.0) + 0.1 * np.sin(np.arange(13.0))
B = np.cos(np.arange(N) + 1.0)
NAMES = "csr = sp.csr_matrix((x, cols, ptr), shape=(5, 5)); "
SYMMETRIC = "s = sp.csr_matrix((x, (rows, cols)), shape=(5, 5)); s = (s + s.T) * 0.5; "

# Bodies of functions of the 13 values x; what they return is squared and summed.
ASSEMBLED = {
    "csr": NAMES + "return csr @ b",
    "csc": "return sp.csc_matrix((x, cols, ptr), shape=(5, 5)) @ b",
    "coo": "return sp.coo_matrix((x, (rows, cols)), shape=(5, 5)) @ b",
    "coo of pairs": "return sp.coo_matrix((x, (rows // 2, cols // 2)), shape=(3, 3)).tocsr() @ b[:3]",
    "csr of coordinates": "return sp.csr_matrix((x, (rows, cols)), shape=(5, 5)) @ b",
    "dia": "return sp.dia_matrix((x[:10].reshape(2, 5), offsets), shape=(5, 5)) @ b",
    "dense": "return sp.csr_matrix(x[:12].reshape(3, 4)) @ b[:4]",
    "sorted by the library": "return sp.csr_matrix((x[::-1], cols[::-1], ptr), shape=(5, 5)) @ b",
    "columns": NAMES + "return csr @ cp.stack([b, x[:5]], axis=1)",
    "from the left": NAMES + "return b @ csr",
    "rows from the left": NAMES + "return cp.stack([b, x[:5]]) @ csr",
    "star": NAMES + "return csr * x[:5]",
    "dot": NAMES + "return csr.dot(x[:5])",
    "transpose": NAMES + "return csr.T @ b",
    "H": NAMES + "return csr.H @ b",
    "sum": NAMES + "return csr.sum()",
    "sum of rows": NAMES + "return csr.sum(axis=1)",
    "sum of columns": NAMES + "return csr.sum(axis=0)",
    "mean": NAMES + "return csr.mean(axis=0)",
    "diagonal": NAMES + "return csr.diagonal()",
    "trace": NAMES + "return csr.trace()",
    "data": NAMES + "return csr.data * csr.tocsc().data",
    "toarray": NAMES + "return csr.toarray()",
    "added": NAMES + "return (csr + csr.T - 2 * csr) @ b",
    "scaled": NAMES + "return (csr * x[0] / x[1]) @ b",
    "multiplied": NAMES + "return csr.multiply(csr.T).toarray()",
    "multiplied by an array": NAMES + "return csr.multiply(x[:5]).toarray()",
    "of two": NAMES + "return (csr @ csr).toarray()",
    "power": NAMES + "return (csr ** 2).toarray()",
    "absolute": NAMES + "return abs(csr).toarray()",
    "elementwise": NAMES + "return csr.tanh().toarray() + csr.power(2).toarray()",
    "rows": NAMES + "return csr[1:3].toarray()",
    "element": NAMES + "return csr[1, 2]",
    "formats": NAMES + "return csr.tocoo().tocsc().tocsr() @ b",
    "conjugate": NAMES + "return csr.conj() @ b",
    "hstack": NAMES + "return sp.hstack([csr, csr.T]).toarray()",
    "vstack": NAMES + "return sp.vstack([csr, csr * 2]).toarray()",
    "bmat": NAMES + "return sp.bmat([[csr, None], [csr.T, csr]]).toarray()",
    "diags": "return sp.diags([x[:5], x[:4]], [0, 1]) @ b",
    "spdiags": "return sp.spdiags(x[:10].reshape(2, 5), cp.asarray([0, 1]), 5, 5) @ b",
    "kron": NAMES + "return sp.kron(csr, csr).sum(axis=1)",
    "tril": NAMES + "return sp.tril(csr).toarray()",
    "triu": NAMES + "return sp.triu(csr, k=1).toarray()",
    "beside a constant": NAMES + "return (csr + sp.identity(5, format='csr')) @ b",
    "stack of both": NAMES + "return sp.hstack([csr, sp.identity(5, format='csr')]).toarray()",
    "a constant": "return sp.csr_matrix((v, cols, ptr), shape=(5, 5)) @ x[:5]",
    "a constant's transpose": "return sp.csc_matrix((v, cols, ptr), shape=(5, 5)).T @ x[:5]",
    "a constant from the left": "return x[:5] @ sp.csr_matrix((v, cols, ptr), shape=(5, 5))",
    "a constant of columns": "return sp.coo_matrix((v, (rows, cols)), shape=(5, 5)) @ x[:10].reshape(5, 2)",
    "a constant in a sum": "return sp.csr_matrix((v, cols, ptr), shape=(5, 5)) + x[0] * cp.ones((5, 5))",
    "is a matrix": NAMES + "return b[int(sp.issparse(csr)) + int(sp.isspmatrix_csr(csr))] * "
    "x[int(isinstance(csr, sp.csr_matrix))]",
    "find": NAMES + "r, c, v = sp.find(csr); return v * v",
}
SOLVED = {
    "spsolve": NAMES + "return la.spsolve(csr, x[:5])",
    "spsolve of columns": NAMES + "return la.spsolve(csr, x[:10].reshape(5, 2))",
    "spsolve of a constant": "return la.spsolve(sp.csr_matrix((v, cols, ptr), shape=(5, 5)), x[:5])",
    "splu": NAMES + "return la.splu(csr.tocsc()).solve(x[:5])",
    "splu transposed": NAMES + "lu = la.splu(csr.tocsc()); return lu.solve(x[:5], 'T') + lu.solve(b)",
    "factorized": NAMES + "return la.factorized(csr.tocsc())(x[:5])",
    "spsolve_triangular": NAMES + "return la.spsolve_triangular(sp.tril(csr, format='csr'), x[:5])",
    "cg": SYMMETRIC + "return la.cg(s, x[:5], **tight)[0]",
    "gmres": NAMES + "return la.gmres(csr, x[:5], **tight)[0]",
    "bicgstab": NAMES + "return la.bicgstab(csr, x[:5], **tight)[0]",
    "cgs": NAMES + "return la.cgs(csr, x[:5], **tight)[0]",
    "minres": SYMMETRIC + "return la.minres(s, x[:5], **{'tol' if hasattr(cp, 'asnumpy') else 'rtol': 1e-12})[0]",
    "cg of a constant": "s = sp.csr_matrix((v, cols, ptr), shape=(5, 5)); return la.cg(s + s.T, x[:5], **tight)[0]",
    "cg of an operator": "return la.cg(la.LinearOperator((5, 5), matvec=lambda y: x[0] * y, dtype='d'), b, **tight)[0]",
    "gmres of an operator": "A = la.LinearOperator((5, 5), matvec=lambda y: x[:5] * y + y[::-1], "
    "rmatvec=lambda y: x[:5] * y + y[::-1], dtype='d'); return la.gmres(A, b * x[5], **tight)[0]",
    "eigsh of an operator": "A = la.LinearOperator((5, 5), matvec=lambda y: x[:5] * y + y[::-1], dtype='d'); "
    "return la.eigsh(A, k=2, which='LA', return_eigenvectors=False)",
    "aslinearoperator": NAMES + "A = la.aslinearoperator(csr); return A.matvec(b) + A.rmatvec(b)",
    "eigsh": SYMMETRIC + "return la.eigsh(s, k=2, which='LA', return_eigenvectors=False)",
    "eigenvectors": SYMMETRIC + "w, y = la.eigsh(s, k=1, which='LA'); return (y * y).sum(axis=1) * b",
    "norm": NAMES + "return la.norm(csr) + la.norm(csr, 1)",
    "matrix_power": NAMES + "return la.matrix_power(csr, 2).toarray()",
}


def program(body, over):
    """f(x) of a module that imports sparse matrices as sp, their solvers as la, arrays as cp."""
    package, arrays = ("cupyx.scipy.sparse", "cupy") if over == "cupy" else ("scipy.sparse", "numpy")
    module = types.ModuleType("program")
    exec(
        f"import {arrays} as cp\nimport {package} as sp\nimport {package}.linalg as la\n"
        f"def f(x, b, v, rows, cols, ptr, offsets, tight):\n    {body}\n",
        module.__dict__,
    )
    convert = importlib.import_module(arrays).asarray
    constants = [convert(a) for a in (B, X[::-1].copy(), ROWS, COLUMNS, POINTERS, np.array([0, 1]))]
    return lambda x: module.f(x, *constants, {"rtol": 1e-12})


def loss(function):
    """A weighted sum of squares of what a function returns."""

    def f(x):
        found = function(x)
        found = ag.asarray(found.A if hasattr(found, "A1") else found)  # of a numpy.matrix
        weights = ag.to_backend(
            np.cos(np.arange(found.size) * 0.7) + 1.5, type(found.array).__module__.partition(".")[0]
        )
        return ag.sum(ag.reshape(found, (-1,)) ** 2 * weights)

    return f


BODIES = {**ASSEMBLED, **SOLVED}


@pytest.mark.parametrize("name", BODIES)
def test_programs_have_the_gradients_of_scipys(cupy, name):
    expected = ag.grad(loss(ag.adopt(program(BODIES[name], "numpy"))))(X)
    found = ag.grad(loss(ag.adopt(program(BODIES[name], "cupy"))))(cupy.asarray(X))
    assert type(found) is cupy.ndarray
    np.testing.assert_allclose(found.get(), expected, rtol=1e-7, atol=1e-9)


SECOND = ["csr", "columns", "sum of rows", "of two", "spsolve", "splu", "cg", "eigsh", "cg of an operator"]


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(cupy, name):
    def curvature(over):
        f = loss(ag.adopt(program(BODIES[name], over)))
        return ag.grad(lambda x: ag.sum(ag.grad(f)(x) ** 2))

    found = curvature("cupy")(cupy.asarray(X))
    np.testing.assert_allclose(found.get(), curvature("numpy")(X), rtol=1e-6, atol=1e-8)


def matrices(cupy):
    """A matrix of cupyx of each format, and the dense array of each."""
    sparse = importlib.import_module("cupyx.scipy.sparse")
    x, rows, columns = cupy.asarray(X), cupy.asarray(ROWS), cupy.asarray(COLUMNS)
    coo = sparse.coo_matrix((x, (rows, columns)), shape=(N, N))
    dia = sparse.dia_matrix((x[:10].reshape(2, 5), cupy.asarray([0, 1])), shape=(N, N))
    return {"coo": coo, "csr": coo.tocsr(), "csc": coo.tocsc(), "dia": dia}


OPERATORS = {
    "S @ t": lambda s, t: s @ t,
    "t @ S": lambda s, t: t @ s,
    "S * t": lambda s, t: s * t,
    "t * S": lambda s, t: t * s,
    "S.dot(t)": lambda s, t: s.dot(t),
    "S + t": lambda s, t: s + ag.stack([t] * N),
    "t - S": lambda s, t: ag.stack([t] * N) - s,
    "S @ columns": lambda s, t: s @ ag.stack([t, 2.0 * t], axis=1),
    "number": lambda s, t: (s * t[0]) @ t,
    "divided": lambda s, t: (s / t[0]) @ t,
}


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_of_cupyx_matrices_and_tensors_are_recorded_step_by_step(cupy, operator, recorded):
    ours = importlib.import_module("arraygrad.scipy.sparse")
    for matrix in matrices(cupy).values():
        t = ag.asarray(cupy.asarray(B), requires_grad=recorded)
        u = ag.tensor(B, requires_grad=True)
        found = OPERATORS[operator](matrix, t)
        expected = OPERATORS[operator](ours.csr_matrix(matrix.get()), u)
        expected = getattr(expected, "A", expected)  # of a numpy.matrix
        assert type(found) is ag.Tensor
        assert type(found.array) is cupy.ndarray
        np.testing.assert_allclose(found.array.get(), expected.array, rtol=1e-12)
        if recorded:
            (found**2).sum().backward()
            (expected**2).sum().backward()
            np.testing.assert_allclose(t.grad.array.get(), u.grad.array, rtol=1e-12)


def test_matrices_of_tensors_step_by_step(cupy):
    sparse = importlib.import_module("arraygrad.scipy.sparse")
    x = ag.asarray(cupy.asarray(X), requires_grad=True)
    matrix = sparse.csr_matrix((x, cupy.asarray(COLUMNS), cupy.asarray(POINTERS)), shape=(N, N))
    assert type(matrix.indices) is cupy.ndarray
    assert type(matrix.pattern).__module__.startswith("cupyx.scipy.sparse")
    (matrix @ cupy.asarray(B)).sum().backward()
    np.testing.assert_allclose(x.grad.array.get(), B[COLUMNS])


def test_raw_arrays_make_matrices_of_cupyx(cupy):
    sparse = importlib.import_module("arraygrad.scipy.sparse")
    made = sparse.csr_matrix((cupy.asarray(X), cupy.asarray(COLUMNS), cupy.asarray(POINTERS)), shape=(N, N))
    assert type(made).__module__.startswith("cupyx.scipy.sparse")


def test_complex_values(cupy):
    def f(x, cp, sp, la):
        s = sp.csr_matrix((x * (1 + 0.5j), (cp.asarray(ROWS), cp.asarray(COLUMNS))), shape=(N, N))
        y = la.spsolve(s, s.conj() @ (cp.asarray(B) * 1j))
        return ag.sum(ag.real(ag.asarray(y)) ** 2) + ag.sum(ag.imag(ag.asarray(s.H @ y)))

    modules = [
        ("numpy", "scipy.sparse", "scipy.sparse.linalg", X),
        ("cupy", "cupyx.scipy.sparse", "cupyx.scipy.sparse.linalg", cupy.asarray(X)),
    ]
    found = []
    for *names, x in modules:
        cp, sp, la = map(importlib.import_module, names)
        found.append(ag.grad(ag.adopt(lambda x, cp=cp, sp=sp, la=la: f(x, cp, sp, la)))(x))
    np.testing.assert_allclose(found[1].get(), found[0], rtol=1e-9)


REFUSED = {
    "lsqr": ("la.lsqr(csr, b)", "lsqr: it is computed by SciPy.*to_backend"),
    "lsmr": ("la.lsmr(csr, b)", "lsmr: it is computed by SciPy.*to_backend"),
    "svds": ("la.svds(csr, 2)", "svds: it is computed by SciPy.*to_backend"),
    "a parameter": ("la.eigsh(csr, k=2, sigma=1.0)", "has no parameter sigma.*to_backend"),
    "a format": ("csr.tobsr() @ b", "no matrices of format 'bsr'"),
    "two libraries": ("csr @ ag.tensor(np.ones(5), requires_grad=True)", "cupy and numpy.*to_backend"),
    "of the right side": ("la.spsolve(csr, ag.tensor(np.ones(5), requires_grad=True))", "cupy and numpy.*to_backend"),
    "of splu": ("la.splu(csr).solve(ag.tensor(np.ones(5), requires_grad=True))", "cupy and numpy.*to_backend"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cupyx_lacks_is_refused_in_words(cupy, name):
    text, words = REFUSED[name]
    linalg = importlib.import_module("arraygrad.scipy.sparse.linalg")
    sparse = importlib.import_module("arraygrad.scipy.sparse")
    x = ag.asarray(cupy.asarray(X), requires_grad=True)
    csr = sparse.csr_matrix((x, cupy.asarray(COLUMNS), cupy.asarray(POINTERS)), shape=(N, N))
    with pytest.raises(TypeError, match=words):
        eval(text, {"csr": csr, "b": cupy.asarray(B), "la": linalg, "ag": ag, "np": np})


@pytest.mark.parametrize("kind", ["constant", "data", "values of a Tensor", "callable", "columns"])
def test_linear_solve(cupy, kind):
    def f(x, b, sparse, cp):
        where = cp.asarray(COLUMNS), cp.asarray(POINTERS)
        if kind == "callable":
            return ag.implicit.linear_solve(lambda y: x[:N] * y + 0.5 * y[::-1], b)
        if kind == "values of a Tensor":
            return ag.implicit.linear_solve(ours.csr_matrix((x, *where), shape=(N, N)), b)
        matrix = sparse.csr_matrix((cp.asarray(X), *where), shape=(N, N))
        b = ag.stack([b, x[:N]], axis=1) if kind == "columns" else b * x[0]
        return ag.implicit.linear_solve(matrix, b, data=None if kind == "constant" else x)

    ours, found = importlib.import_module("arraygrad.scipy.sparse"), []
    for arrays, package in (("numpy", "scipy.sparse"), ("cupy", "cupyx.scipy.sparse")):
        cp, sparse = importlib.import_module(arrays), importlib.import_module(package)
        x, b = (ag.asarray(cp.asarray(a), requires_grad=True) for a in (X, B))
        (f(x, b, sparse, cp) ** 2).sum().backward()
        found.append([ag.to_backend(t.grad, "numpy").array for t in (x, b)])
    for ours_, expected in zip(*found[::-1], strict=True):
        np.testing.assert_allclose(ours_, expected, rtol=1e-9)


METHODS = {
    "multiply": lambda s, t: s.multiply(t),
    "maximum": lambda s, t: s.maximum(s * t[0]),
    "power": lambda s, t: s.power(t[0]),
    "less": lambda s, t: s < t,
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_cupyx_matrices_name_the_way_out(cupy, name):
    sparse = importlib.import_module("arraygrad.scipy.sparse")
    matrix, t = matrices(cupy)["csr"], cupy.asarray(B)
    with pytest.raises(TypeError, match=r"arraygrad\.scipy\.sparse\.Matrix\(S\)"):
        ag.grad(lambda t: METHODS[name](matrix, t).sum())(t)
    if name in ("multiply", "maximum"):  # the way out
        assert ag.grad(lambda t: METHODS[name](sparse.Matrix(matrix), t).sum())(t).shape == (N,)


def test_a_tensor_that_a_program_gives_to_a_cupyx_matrix_as_its_values_is_recorded_in_products(cupy):
    def f(x):
        matrix = matrices(cupy)["csr"]
        matrix.data = x
        return ag.sum(matrix @ ag.asarray(cupy.asarray(B)))

    found = ag.grad(f, adopt=False)(cupy.asarray(X))
    np.testing.assert_allclose(found.get(), B[COLUMNS])


@pytest.mark.parametrize("made", ["csr", "csc"])
@pytest.mark.parametrize("places", ["one", "several"])
def test_what_a_refused_item_says_to_write_has_the_gradient_of_the_items(cupy, made, places):
    sparse = importlib.import_module("cupyx.scipy.sparse")
    base = scipy_sparse.csr_matrix((X, COLUMNS, POINTERS), shape=(N, N)).toarray()  # some are written over
    plain = getattr(sparse.csr_matrix(cupy.asarray(base)), f"to{made}")()
    rows, columns = np.array([0, 1, 4]), np.array([1, 4, 0])

    def written(matrix, x, xp):
        if places == "one":
            matrix[0, 1] = x[0] * x[1]
        else:
            matrix[xp.asarray(rows), xp.asarray(columns)] = x[:3] * x[1:4]
        return matrix

    def over(matrix, x, xp):
        return xp.sum((written(matrix, x, xp) @ x) ** 2)

    x = np.linspace(1.0, 2.0, N)
    with pytest.raises(TypeError, match=r"after S = arraygrad\.scipy\.sparse\.Matrix\(S\)"):
        ag.grad(lambda x: over(plain.copy(), x, cupy))(cupy.asarray(x))
    found = ag.grad(lambda x: over(ag.scipy.sparse.Matrix(plain), x, cupy))(cupy.asarray(x))
    expected = ag.grad(lambda x: over(ag.asarray(base) * 1.0, x, np))(x)
    np.testing.assert_allclose(found.get(), expected, rtol=1e-12)
    np.testing.assert_array_equal(plain.toarray().get(), base)
