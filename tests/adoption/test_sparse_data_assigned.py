"""`A.data = x` of a sparse matrix of SciPy's own that was made before the call, with a Tensor that requires grad.

The class: formats x ways to use the matrix afterwards. Products with arrays that are recorded have the right gradient;
whatever SciPy's own code computes is refused with a way out, which is followed.
"""

import linecache
import re

import numpy as np
import pytest

sparse = pytest.importorskip("scipy.sparse", reason="SciPy, which is optional, is not installed")

import arraygrad as ag

# The matrices keep the Tensors that were assigned to them, and the functions' namespaces keep the matrices.
pytestmark = pytest.mark.keeps_objects

X = np.array([0.3, 0.7, 1.1])
DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [0.0, 4.0, 5.0]])
KINDS = [f"{name}_{kind}" for name in ("csr", "csc", "coo", "bsr", "dia") for kind in ("array", "matrix")]
RECORDED = {
    "A @ x": "A @ x",
    "x @ A": "x @ A",
    "twice": "A @ (A @ x)",
    "a matrix of columns": "A @ np.stack([x, x * x], axis=1)",
    "beside one of the call": '(sparse.eye_array(3, format="csr") @ A) @ x',
}
REFUSED = {
    "a constant vector": "A @ np.ones(3)",
    "a product of matrices": "(A @ A) @ x",
    "a sum of matrices": "(A + A) @ x",
    "the transpose": "A.T @ x",
    "a method of the transpose": "A.T.dot(x)",
    "the negative": "(-A) @ x",
    "a copy": "A.copy() @ x",
    "dense": "A.toarray() @ x",
    "a multiple": "A.multiply(2.0) @ x",
}


def function(kind, use, head=""):
    names = {"np": np, "sparse": sparse, "A": getattr(sparse, kind)(DENSE), "__name__": "assigned"}
    names["values"] = names["A"].data.copy()
    text = (
        f"def f(x):\n    global A\n{head}    A.data = values * np.exp(x[0] * x[1])\n    return np.sum(({use}) ** 2)\n"
    )
    file = f"assigned_{abs(hash(text + kind))}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)
    return names["f"]


def differences(kind, use):
    plain = function(kind, use)
    return np.array([(plain(X + step) - plain(X - step)) / 2e-6 for step in np.eye(3) * 1e-6])


@pytest.mark.parametrize("use", RECORDED)
@pytest.mark.parametrize("kind", KINDS)
def test_products_with_arrays_are_recorded(kind, use):
    value, gradient = ag.value_and_grad(function(kind, RECORDED[use]))(X)
    assert value == pytest.approx(function(kind, RECORDED[use])(X), rel=1e-13)
    np.testing.assert_allclose(gradient, differences(kind, RECORDED[use]), rtol=1e-6)


@pytest.mark.parametrize("use", REFUSED)
@pytest.mark.parametrize("kind", KINDS)
def test_what_scipy_computes_is_refused_and_the_way_out_is_right(kind, use):
    with pytest.raises(TypeError) as refused:
        ag.grad(function(kind, REFUSED[use]))(X)
    found = re.search(
        rf"SciPy's own, made outside .*?: make it inside of the function, ({kind})\(\.\.\.\)", str(refused.value)
    )
    assert found, str(refused.value)
    gradient = ag.grad(function(kind, REFUSED[use], head=f"    A = sparse.{found[1]}(A, copy=True)\n"))(X)
    np.testing.assert_allclose(gradient, differences(kind, REFUSED[use]), rtol=1e-6)


def test_an_error_in_a_property_of_scipys_is_the_error():
    class Lazy(sparse.csr_array):
        __module__ = "scipy.of_a_test"

        @property
        def values(self):
            return np.array(self.kept)

    made = Lazy(DENSE)

    def f(x):
        made.kept = x
        return np.sum(made.values)

    with pytest.raises(TypeError, match="drop its gradient silently"):
        ag.grad(f, adopt=False)(X)
