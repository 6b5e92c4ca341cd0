"""Programs written for CuPy, differentiated as they stand: in an adopted call its functions record.

Imports the public names of arraygrad. Runs on a device, and on the stand-in by test_device_tests.py.
"""

import importlib
import sys
import types

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu

X = np.array([[2.0, 0.5], [0.3, 1.5]])

# Each is run over CuPy as it stands, and over NumPy with that name in CuPy's place.
PROGRAMS = {
    "products": "return cp.sum(cp.matmul(x, x) ** 2) + cp.dot(x[0], x[1]) + cp.sum(cp.tensordot(x, x, 1))",
    "linalg": "return cp.sum(cp.linalg.inv(x)) + cp.linalg.det(x) + cp.sum(cp.linalg.solve(x, x[0]))",
    "names imported by themselves": "return total(solve(x, x[1]))",
    "lists of arrays": "return cp.sum(cp.concatenate([x, x * 2]) ** 2) + cp.sum(cp.stack([x[0], x[1]]) * x)",
    "creation": "out = cp.zeros(3); out[0] = x[0, 0] * x[1, 1]; out[2] = cp.mean(x); return cp.sum(out * out)",
    "arrays of numbers": "return cp.sum(cp.array([x[0, 0], x[1, 1]]) ** 2) + cp.sum(cp.asarray(x) * cp.arange(2.0))",
    "choices": "return cp.sum(cp.where(x > 1, x, x * x)) + cp.max(x) + cp.trace(x)",
    "axes": "return cp.sum(cp.transpose(x)[0]) + cp.sum(cp.cumsum(x, axis=0)) + cp.linalg.norm(cp.outer(x[0], x[1]))",
    "einsum": "return cp.sum(cp.einsum('ij,kj->ik', x, x))",
    "ufuncs": "return cp.sum(cp.sin(x) * cp.multiply(x, 2.0))",
}


def program(library, body):
    """The function f of a program's text, with `library` in CuPy's place."""
    module = types.ModuleType("program")
    names = f"import {library} as cp\nfrom {library} import sum as total\nfrom {library}.linalg import solve\n"
    exec(f"{names}def f(x):\n    {body}\n", module.__dict__)
    return module.f


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_the_program_over_numpy(cupy, name):
    expected = ag.grad(program("numpy", PROGRAMS[name]), adopt=True)(X)
    found = ag.grad(program("cupy", PROGRAMS[name]), adopt=True)(cupy.asarray(X))
    assert type(found) is cupy.ndarray
    np.testing.assert_allclose(found.get(), expected, rtol=1e-10)


def test_functions_of_special_are_recorded(cupy):
    special = pytest.importorskip("cupyx.scipy.special")
    if not hasattr(special, "logsumexp"):
        pytest.skip("the stand-in has no special functions")

    def over(cp, sp):
        def f(x):
            return cp.sum(sp.logsumexp(x, axis=1)) + cp.sum(sp.softmax(x) * x) + cp.sum(sp.log_softmax(x, 0)[0])

        return f

    import scipy.special

    expected = ag.grad(over(np, scipy.special), adopt=True)(X)
    found = ag.grad(over(cupy, special), adopt=True)(cupy.asarray(X))
    np.testing.assert_allclose(found.get(), expected, rtol=1e-10)


def test_the_module_of_an_array_is_cupy(cupy):
    if not hasattr(cupy, "get_array_module"):
        pytest.skip("the stand-in has no get_array_module")

    def f(x):
        xp = cupy.get_array_module(x)
        return xp.sum(xp.matmul(x, x)) + xp.sum(xp.ones(2) * x)

    found = ag.grad(f, adopt=True)(cupy.asarray(X))
    np.testing.assert_allclose(found.get(), ag.grad(lambda x: np.sum(x @ x) + np.sum(x))(X), rtol=1e-12)


def test_the_module_of_a_plain_array_takes_tensors(cupy):
    if not hasattr(cupy, "get_array_module"):
        pytest.skip("the stand-in has no get_array_module")
    data = cupy.asarray(X)

    def f(x):
        xp = cupy.get_array_module(data)
        return xp.sum(xp.matmul(data, x), axis=0)[0] + cupy.get_array_module(X).sum(x)

    found = ag.grad(f, adopt=True)(data)
    np.testing.assert_allclose(found.get(), ag.grad(lambda x: np.sum(X @ x, axis=0)[0] + np.sum(x))(X), rtol=1e-12)


def test_arrays_of_cupys_own_are_left_as_they_are(cupy):
    seen = []

    def f(x):
        data = cupy.asarray(X)
        seen.append(cupy.asarray(data) is data)
        seen.append(type(cupy.matmul(data, data)) is cupy.ndarray)
        return cupy.sum(x * cupy.matmul(data, data))

    found = ag.grad(f, adopt=True)(cupy.asarray(X))
    np.testing.assert_allclose(found.get(), X @ X, rtol=1e-12)
    assert seen == [True, True]


def test_what_has_no_derivative_names_the_way_out(cupy):
    function = getattr(cupy, "no_kin_of_numpys", None)  # the stand-in's
    if function is None:
        function = importlib.import_module("cupyx.scipy.fft").get_fft_plan

    def f(x):
        return cupy.sum(function(x)[0])

    with pytest.raises(TypeError, match=r"arraygrad\.primitive"):
        ag.grad(f, adopt=True)(cupy.asarray(X))


def test_nothing_is_left_behind(cupy):
    before = sys.modules["cupy"]
    f = program("cupy", PROGRAMS["products"])
    ag.grad(f, adopt=True)(cupy.asarray(X))
    assert f.__globals__["cp"] is before
    with pytest.raises(TypeError):
        cupy.matmul(ag.asarray(cupy.asarray(X)), cupy.asarray(X))


@pytest.mark.parametrize("name", ["stack", "size"])
def test_compiled_functions_of_cupys_that_get_a_tensor_are_refused_in_words(cupy, name):
    if "stand-in" in cupy.__version__:
        pytest.skip("the stand-in compiles nothing")
    function = {"stack": lambda t: ag.sum(cupy.stack([t, t])), "size": lambda t: ag.sum(t) * cupy.size(t)}[name]
    with pytest.raises(TypeError, match="CuPy's code takes its own arrays here, and a Tensor is given"):
        ag.grad(function, adopt=False)(cupy.ones(3))
