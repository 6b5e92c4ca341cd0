"""`overwrite_a=True` and its kin: the gradient is that of the plain call, or reading what SciPy left is refused."""

import importlib
import inspect
import warnings

import numpy as np
import pytest
from plain_differences import differences

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy
from scipy import fft, fftpack, linalg, signal

import arraygrad as ag
from arraygrad.scipy import CHAPTERS
from arraygrad.scipy._declare import REGISTRY

for _chapter in CHAPTERS:  # each is in REGISTRY once it is loaded
    importlib.import_module(f"arraygrad.scipy.{_chapter}")

X = np.random.default_rng(4).normal(size=(3, 3))
GOOD = np.eye(3) * 3.0 + 0.1


def positive(y):
    return y @ y.T + np.eye(3)


def triangle(y):
    return np.tril(y) + 3.0 * np.eye(3)


def banded(y):
    return np.abs(y) + np.array([[0.0], [6.0], [0.0]])


def _qr(y, a):
    """Factors that may be overwritten: recorded, as plain arrays have no place for what depends on y."""
    return [part + 0.0 * y[0, 0] for part in linalg.qr(a, mode="economic")]


# Name below scipy -> call(y, flag): of one argument that may be overwritten, written by `y`.
CALLS = {
    "linalg.cho_factor": lambda y, **k: np.triu(linalg.cho_factor(y, **k)[0]),  # below SciPy defines nothing
    "linalg.cho_solve": lambda y, **k: linalg.cho_solve(linalg.cho_factor(GOOD), y, **k),
    "linalg.cho_solve_banded": lambda y, **k: linalg.cho_solve_banded(
        (linalg.cholesky_banded(np.array([[0.0, 0.1, 0.1], [3.0, 3.0, 3.0]])), False), y, **k
    ),
    "linalg.cholesky": lambda y, **k: linalg.cholesky(y, **k),
    "linalg.cholesky_banded": lambda y, **k: linalg.cholesky_banded(y, lower=True, **k),
    "linalg.det": lambda y, **k: linalg.det(y, **k),
    "linalg.eig": lambda y, **k: abs(linalg.eig(y, **k)[0]),
    "linalg.eig_banded": lambda y, **k: linalg.eig_banded(y, lower=True, eigvals_only=True, **k),
    "linalg.eigh": lambda y, **k: linalg.eigh(y, **k)[0],
    "linalg.eigvals": lambda y, **k: abs(linalg.eigvals(y, **k)),
    "linalg.eigvals_banded": lambda y, **k: linalg.eigvals_banded(y, lower=True, **k),
    "linalg.eigvalsh": lambda y, **k: linalg.eigvalsh(y, **k),
    "linalg.hessenberg": lambda y, **k: abs(linalg.hessenberg(y, **k)),
    "linalg.inv": lambda y, **k: linalg.inv(y, **k),
    "linalg.ldl": lambda y, **k: linalg.ldl(y, **k)[1],
    "linalg.lstsq": lambda y, **k: linalg.lstsq(y, np.ones(3), **k)[0],
    "linalg.lu": lambda y, **k: linalg.lu(y, **k)[2],
    "linalg.lu_factor": lambda y, **k: linalg.lu_factor(y, **k)[0],
    "linalg.lu_solve": lambda y, **k: linalg.lu_solve(linalg.lu_factor(GOOD), y, **k),
    "linalg.matrix_balance": lambda y, **k: linalg.matrix_balance(y, **k)[0],
    "linalg.qr": lambda y, **k: abs(linalg.qr(y, mode="economic", **k)[1]),
    "linalg.qr_delete": lambda y, **k: abs(linalg.qr_delete(*_qr(y, GOOD), 1, **k)[1]) + 0.0 * y[:2],
    "linalg.qr_insert": lambda y, **k: abs(linalg.qr_insert(*_qr(y, GOOD[:, :2]), y[:, 0], 1, "col", **k)[1]),
    "linalg.qr_multiply": lambda y, **k: abs(linalg.qr_multiply(GOOD, y, **k)[0]),
    "linalg.qr_update": lambda y, **k: abs(linalg.qr_update(*_qr(y, GOOD), y[0], y[1], **k)[1]),
    "linalg.rq": lambda y, **k: abs(linalg.rq(y, mode="economic", **k)[0]),
    "linalg.solve": lambda y, **k: linalg.solve(GOOD, y, **k),
    "linalg.solve_banded": lambda y, **k: linalg.solve_banded((1, 1), banded(np.ones((3, 3))), y, **k),
    "linalg.solve_triangular": lambda y, **k: linalg.solve_triangular(np.tril(GOOD), y, lower=True, **k),
    "linalg.solveh_banded": lambda y, **k: linalg.solveh_banded(np.array([[0.0, 0.1, 0.1], [3.0] * 3]), y, **k),
    "linalg.svd": lambda y, **k: linalg.svd(y, full_matrices=False, **k)[1],
    "linalg.svdvals": lambda y, **k: linalg.svdvals(y, **k),
    "signal.detrend": lambda y, **k: signal.detrend(y, type="constant", **k),
}
# What has to be put in for y, and the flag where it is not overwrite_a.
GIVEN = {
    "linalg.cho_factor": positive, "linalg.cholesky": positive, "linalg.ldl": positive, "linalg.det": triangle,
    "linalg.eigh": positive, "linalg.eigvalsh": positive, "linalg.inv": triangle, "linalg.lu_factor": triangle,
    "linalg.lu": triangle, "linalg.eig_banded": banded, "linalg.eigvals_banded": banded,
    "linalg.cholesky_banded": lambda y: np.abs(y) * 0.1 + np.array([[6.0], [0.0], [0.0]]),
}  # fmt: skip
NO_RULE = {"linalg.null_space", "linalg.ordqz", "linalg.qz", "linalg.schur"}
for _module, _names in ((fft, dir(fft)), (fftpack, dir(fftpack))):
    for _name in _names:
        try:
            _flags = "overwrite_x" in inspect.signature(getattr(_module, _name)).parameters
        except (TypeError, ValueError):
            continue
        if _flags:
            _two = _name.endswith(("n", "2"))
            CALLS[f"{_module.__name__.removeprefix('scipy.')}.{_name}"] = (
                lambda y, f=getattr(_module, _name), **k: abs(f(y, **k))  # noqa: B008
            )


def flags_of(name):
    module, _, function = name.rpartition(".")
    function = getattr(importlib.import_module(f"scipy.{module}"), function)
    return [p for p in inspect.signature(function).parameters if p.startswith("overwrite_")]


def test_every_function_that_may_overwrite_is_among_these():
    found = set()
    for name in REGISTRY:
        module, _, function = name.rpartition(".")
        try:
            owner = importlib.import_module(f"scipy.{module}")
            named = inspect.signature(getattr(owner, function)).parameters
        except (ImportError, AttributeError, TypeError, ValueError):
            continue
        if any(p.startswith("overwrite_") for p in named):
            found.add(name)
    assert found - NO_RULE - {"sparse.linalg.spsolve_triangular"} == CALLS.keys() & found
    assert CALLS.keys() - found == set()


def weighed(a):
    a = np.asarray(a)
    return (a**2 * np.arange(1, 1 + a.size).reshape(a.shape)).sum()


def the_result_alone(y, call):
    return weighed(call(y))


def saved_before(y, call):
    z = np.sin(y)
    return weighed(call(y)) + weighed(z)


def read_afterwards(y, call):
    return weighed(call(y)) + weighed(np.abs(y) + 0.1)


def written_afterwards(y, call):
    found = call(y)
    y[0] = 0.5
    return weighed(found)


def the_result_is_written(y, call):
    found = call(y)
    if np.ndim(found):
        found[0] = 0.5
    return weighed(found) + weighed(np.abs(y))


KEEPS_A_TRIANGLE = linalg.cho_factor(np.array([[2.0, 1.0], [1.0, 2.0]]))[0][1, 0] == 1.0
PROGRAMS = (the_result_alone, saved_before, read_afterwards, written_afterwards, the_result_is_written)
LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "strided": lambda a: np.repeat(a, 2, axis=0)[::2]}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
def test_an_argument_that_may_be_overwritten(name, layout, program):
    flags = dict.fromkeys(flags_of(name), True)
    if name == "linalg.cho_factor" and program in (read_afterwards, the_result_is_written) and not KEEPS_A_TRIANGLE:
        pytest.skip("the argument holds what SciPy does not define: from 1.18 on, zeros or what stood there")

    def f(x):
        y = LAYOUTS[layout](GIVEN.get(name, lambda y: y * 1.0)(x))
        return program(y, lambda y: CALLS[name](y, **flags))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            f(X.copy())
        except ValueError as error:
            pytest.skip(f"the plain call: {error}")  # a result that SciPy gives as a read-only view
        if program not in (the_result_alone, saved_before):
            try:
                ag.grad(f, adopt=True)(X.copy())
            except (RuntimeError, TypeError) as error:
                refusal = str(error)
            else:
                refusal = ""
            if "overwrite_" in refusal:
                return
        value, gradient = ag.value_and_grad(f, adopt=True)(X.copy())
        np.testing.assert_allclose(value, f(X.copy()), rtol=1e-10)
        np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-5, atol=1e-6)


def test_a_plain_array_that_would_hold_what_is_recorded_is_refused():
    b = np.ones(3)
    with pytest.raises(TypeError, match=r"overwrite_b=True.*plain array"):
        ag.grad(lambda a, b: linalg.solve(a, b, overwrite_b=True).sum())(GOOD, b)
    np.testing.assert_array_equal(b, 1.0)


def test_the_result_in_the_arguments_memory_is_recorded_there():
    def f(x):
        y = x * 1.0
        found = fft.dct(y, overwrite_x=True)
        y[0] = 2.0
        return weighed(found) + weighed(y)

    x = np.array([0.3, -0.4, 0.8])
    value, gradient = ag.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x))
    np.testing.assert_allclose(gradient, differences(f, x), rtol=1e-8)
    assert scipy.fft.dct is fft.dct
