"""Values that are written into the data of a sparse matrix of SciPy's own: the error names a way out that is right."""

import linecache
import re

import numpy as np
import pytest

sparse = pytest.importorskip("scipy.sparse", reason="SciPy, which is optional, is not installed")

import arraygrad as ag

X = np.array([0.3, 0.7])
DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [0.0, 4.0, 5.0]])
KINDS = [f"{name}_{kind}" for name in ("csr", "csc", "coo", "bsr", "dia") for kind in ("array", "matrix")]
MAKES = {"outside": "m = A", "copy": "m = A.copy()"}
WRITES = {
    "items": "[[0, 1]] = np.exp(-x)",
    "item": "[1] = x[0] * x[1]",
    "slice": "[:2] = x[:1] * x[1]",
    "row": "[0] = x[0] * x[1]",
}


def program(kind, make, write):
    names = {"np": np, "sparse": sparse, "A": getattr(sparse, kind)(DENSE), "__name__": "written"}
    names["A"].data = names["A"].data.copy()
    body = f"def f(x):\n    {MAKES[make]}\n"
    return names, body, "    m.data" + write + "\n", "    return np.sum(m @ np.arange(1.0, 4.0))\n"


def function(names, text):
    file = f"written_{abs(hash(text))}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)
    return names["f"]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_way_out_is_right(kind, make, write):
    if kind[:3] in ("bsr", "dia") and write == "items":
        write = "row"  # of blocks or diagonals
    names, head, store, end = program(kind, make, WRITES[write])
    with pytest.raises(TypeError) as refused:
        ag.grad(function(names, head + store + end))(X)
    text = str(refused.value)
    found = re.search(r"data = (numpy\.array\(m\.data\)), write into data, then (m = .*?shape=m\.shape\))\. ", text)
    assert found, text
    lines = f"    data = {found[1]}\n" + store.replace("m.data", "data") + f"    {found[2]}\n"
    other = function(names, head + lines.replace("numpy.", "np.").replace("scipy.sparse", "sparse") + end)
    value, gradient = ag.value_and_grad(other)(X)
    plain = function(names, head.replace("m = A\n", "m = A.copy()\n") + store + end)
    assert value == pytest.approx(plain(X), rel=1e-14)
    steps = np.eye(2) * 1e-6
    differences = [(plain(X + d) - plain(X - d)) / 2e-6 for d in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)
