"""A ufunc of SciPy given itself to adopt or a transform is what a function that calls it would be."""

import numpy as np
import pytest
from scipy import special

import arraygrad as ag

UFUNCS = sorted(name for name in dir(special) if isinstance(getattr(special, name), np.ufunc))


@pytest.fixture(autouse=True)
def _no_tensors_left():
    yield
    ag.adopt.clear()


def outcome(function, count):
    """The values of a call and which of them are recorded, or the words of its refusal."""
    tensors = [ag.tensor(np.array([0.6, 0.7]), requires_grad=True) for _ in range(count)]
    try:
        results = function(*tensors)
    except Exception as error:
        return type(error).__name__, str(error).rpartition(": ")[2]
    results = results if isinstance(results, tuple) else (results,)
    return [(np.asarray(ag.asarray(r).detach()).tolist(), getattr(r, "requires_grad", False)) for r in results]


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.filterwarnings("ignore")
def test_an_adopted_ufunc_does_what_an_adopted_call_of_it_does(name):
    ufunc = getattr(special, name)
    assert repr(outcome(ag.adopt(ufunc), ufunc.nin)) == repr(outcome(ag.adopt(lambda *a: ufunc(*a)), ufunc.nin))


@pytest.mark.parametrize(
    ("name", "derivative"),
    [
        ("spence", lambda x: np.log(x) / (1 - x)),
        ("exp10", lambda x: np.log(10) * 10**x),
        ("exprel", lambda x: (x * np.exp(x) - np.expm1(x)) / x**2),
        ("cbrt", lambda x: x ** (-2 / 3) / 3),
        ("cosm1", lambda x: -np.sin(x)),
    ],
)
def test_grad_of_a_ufunc_is_its_derivative(name, derivative):
    np.testing.assert_allclose(ag.grad(getattr(special, name))(0.7), derivative(0.7), rtol=1e-12)


def test_ufuncs_of_numpy_and_of_programs_get_tensors():
    x = ag.tensor(np.array([0.6, 0.7]), requires_grad=True)
    assert ag.adopt(np.exp)(x).requires_grad
    np.testing.assert_allclose(ag.grad(np.sin)(0.7), np.cos(0.7))
    doubled = np.frompyfunc(lambda value: value + value, 1, 1)
    assert repr(ag.adopt(doubled)(np.array([1.0]))) == repr(doubled(np.array([1.0])))
