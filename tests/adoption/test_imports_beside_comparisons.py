"""Functions that import in their body what they compare, warn of or catch, beside what they call: it is recorded."""

import linecache

import numpy as np
import pytest

import arraygrad as ag

pytest.importorskip("scipy")

# How a function uses the class that it imports beside `spsolve`.
USES = {
    "is": "    if rhs is MatrixRankWarning:\n        return 0.0\n",
    "is in a generator": "    any(one is MatrixRankWarning for one in (rhs,))\n",
    "is of a type": "    caught = [one for one in (rhs,) if type(one) is MatrixRankWarning]\n",
    "handed over": "    warnings.simplefilter('error', MatrixRankWarning)\n    flag = rhs is K\n",
    "caught": "    try:\n        flag = rhs is K\n    except MatrixRankWarning:\n        return 0.0\n",
    "kept": "    kinds = [MatrixRankWarning]\n    flag = rhs is kinds\n",
}
IMPORTS = {
    "first": "MatrixRankWarning, spsolve", "last": "spsolve, MatrixRankWarning",
    "renamed": "spsolve, MatrixRankWarning as Unused, MatrixRankWarning",
}  # fmt: skip
HEAD = "import warnings\nimport numpy as np\n"


@pytest.mark.parametrize("branch", [False, True])
@pytest.mark.parametrize("imports", IMPORTS)
@pytest.mark.parametrize("use", USES)
def test_what_has_no_stand_in_keeps_nothing_else_real(use, imports, branch):
    body = f"    from scipy.sparse.linalg import {IMPORTS[imports]}\n{USES[use]}    return spsolve(K, rhs)\n"
    if branch:
        body = "    if sparse:\n" + "".join(f"    {line}\n" for line in body.splitlines())
    text = (
        f"{HEAD}def solve(K, rhs, sparse=True):\n{body}def f(x):\n    from scipy.sparse import coo_matrix\n"
        "    K = coo_matrix((np.array([x[0], 1.0, x[1]]), ([0, 0, 1], [0, 1, 1])), shape=(2, 2)).tocsr()\n"
        "    return solve(K, np.array([1.0, 2.0])).sum()\n"
    )
    names = {"__name__": "importing"}
    file = f"importing_{abs(hash(text))}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)
    np.testing.assert_allclose(ag.grad(names["f"])(np.array([2.0, 3.0])), [-1 / 12, -1 / 9])
    ag.adopt.clear()
