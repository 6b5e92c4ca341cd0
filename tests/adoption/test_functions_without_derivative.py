"""Functions that are not recorded, on arrays that an adopted call made and no gradient reaches: they get plain arrays.

The class: a function without a derivative (of NumPy's, a ufunc of Numba's, scipy.special's) x its arguments (made by
numpy.zeros, nested in lists, keywords). A recorded value among them is refused as before, a write into them is an
error, and outside of adopted calls nothing changes.

Imports the public names of arraygrad.
"""

import io

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 1.0, 2.0])


def made():
    out = np.zeros(3)
    out[:] = [1.0, 2.0, 4.0]
    return out


def saved(w):
    file = io.BytesIO()
    np.savez(file, w=w)
    file.seek(0)
    return np.load(file)["w"]


def printed(w):
    file = io.StringIO()
    np.savetxt(file, w)
    return float(file.getvalue().split()[1])


FUNCTIONS = {
    "savez": lambda w, x: (x * saved(w)).sum(),
    "savetxt": lambda w, x: (x * printed(w)).sum(),
    "packbits": lambda w, x: x.sum() * np.packbits(w > 1.0)[0],
    "frexp": lambda w, x: (x * np.frexp(w)[0]).sum(),
    "spacing": lambda w, x: (x * np.spacing(w)).sum(),
    "nextafter": lambda w, x: (x * np.nextafter(w, 3.0)).sum(),
    "in a list": lambda w, x: x.sum() * len(np.histogram_bin_edges([w, w], bins=3)),
}


def differences(f):
    steps = np.eye(3) * 1e-6
    return np.array([(float(f(X + d)) - float(f(X - d))) / 2e-6 for d in steps])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_plain_arrays_are_given_to_functions_without_a_derivative(name):
    def f(x):
        return FUNCTIONS[name](made(), x)

    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    assert value == pytest.approx(float(f(X)))
    np.testing.assert_allclose(gradient, differences(f), rtol=1e-6, atol=1e-9)


def test_ufuncs_of_numba():
    numba = pytest.importorskip("numba")
    double = numba.vectorize(lambda a: 2.0 * a)

    def f(x):
        twice = double(made())
        twice[0] = x[1]  # new memory: it is recordable
        return (twice * x).sum()

    np.testing.assert_allclose(ag.grad(f, adopt=True)(X), differences(f), rtol=1e-6)
    with pytest.raises(TypeError, match="not differentiated"):
        ag.grad(lambda x: double(x * 1.0).sum(), adopt=False)(X)


def test_a_recorded_value_is_refused_as_before():
    def f(x):
        w = made()
        w[0] = x[0]
        return printed(w) + x.sum()

    with pytest.raises(TypeError, match="not differentiated"):
        ag.grad(f, adopt=True)(X)


def test_outside_of_adopted_calls_a_tensor_is_refused():
    with pytest.raises(TypeError, match="not differentiated"):
        np.savetxt(io.StringIO(), ag.tensor(X))
    ag.grad(lambda x: (x * printed(made())).sum(), adopt=True)(X)
    with pytest.raises(TypeError, match="not differentiated"):
        np.savetxt(io.StringIO(), ag.tensor(X))


def test_what_shares_memory_with_an_argument_holds_no_gradient():
    def f(x):
        w = made()
        np.savez(io.BytesIO(), w)
        w[0] = x[0]  # what was given is free to be written: the function kept nothing
        return (w * x).sum()

    np.testing.assert_allclose(ag.grad(f, adopt=True)(X), differences(f), rtol=1e-6)
