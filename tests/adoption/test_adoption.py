"""adopt=True: what NumPy's creation functions make inside of a differentiated function is recordable, there alone.

Imports the public names of arraygrad.
"""

import functools
import threading

import numpy as np
import pytest
from central_differences import central_differences
from numpy import zeros

import arraygrad as ag
from arraygrad.adoption.calls import adopt as adopted

X = np.asarray([0.5, 1.0, 2.0])
SCALE = 3.0


def running_products(x):
    out = np.zeros(len(x))
    total = 1.0
    for i in range(len(x)):
        total = total * x[i]
        out[i] = total
    return np.sum(out)


def helper(x):
    table = np.empty((2, len(x)))
    table[0] = x * SCALE
    table[1, :] = np.sin(x)
    return table


def calls_a_helper(x):
    return helper(x).sum()


def recursive(x, n):
    if n == 0:
        return np.ones(3) * x
    kept = zeros(3)
    kept[:] = recursive(x, n - 1)
    return kept * x


def fills(x):
    a = np.full((2, 3), x[0])
    a[1] = x
    return (a * a).sum()


def writes_a_global(x):
    global SCALE
    SCALE = 2.0
    return np.sum(x)


FUNCTIONS = [
    running_products,
    calls_a_helper,
    fills,
    lambda x: np.sum(recursive(x, 3)),
    lambda x: np.array([x[0], 2.0, x[1] * x[2]]).prod(),
    lambda x: (np.eye(3) * x).sum() + np.array([[1.0, 2.0], [3.0, x[0]]]).sum(),
    lambda x: np.r_[x, 1.0, x[0]].prod() + np.r_[0:3, x].sum(),
    lambda x: (np.c_[x, x * x] ** 2).sum(),
    lambda x: np.vectorize(lambda a: a * a if a > 0.7 else 3 * a)(x).sum(),
    lambda x: np.asarray(x, dtype=np.float64).sum() * np.ascontiguousarray(x)[0],
    lambda x: np.linspace(x[0], x[1], 4).prod(),
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_adopted_function_has_numpys_value_and_the_derivative_of_central_differences(f):
    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-7, atol=1e-8)


def test_without_adoption_the_write_is_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"adopt=True"):
        ag.grad(running_products, adopt=False)(X)


def test_numpy_stays_as_it_is_for_other_code_and_threads():
    seen = []

    def f(x):
        other = threading.Thread(target=lambda: seen.append(isinstance(np.zeros(2), ag.Tensor)))
        other.start()
        other.join()
        seen.append(isinstance(np.zeros(2), ag.Tensor))
        return np.sum(x)

    ag.grad(f, adopt=True)(X)
    assert seen == [False, True]
    assert type(np.zeros(2)) is np.ndarray
    assert type(helper(X)) is np.ndarray


def test_globals_are_looked_up_live(monkeypatch):
    gradient = ag.grad(calls_a_helper, adopt=True)
    before = gradient(X)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    np.testing.assert_allclose(gradient(X) - before, 2.0)


def test_import_inside_the_function_is_adopted():
    def f(x):
        import numpy
        from numpy import ones

        out = numpy.zeros(3)
        out[:] = x * ones(3)
        return out.sum()

    assert ag.grad(f, adopt=True)(X).tolist() == [1.0, 1.0, 1.0]


def test_decorated_functions_methods_partials_and_callables_are_adopted():
    def twice(g):
        @functools.wraps(g)
        def wrapper(x):
            return 2 * g(x)

        return wrapper

    class Model:
        def loss(self, x):
            return running_products(x)

        def __call__(self, x):
            out = np.zeros(3)
            out[:] = x
            return out.sum()

    plain = ag.grad(running_products, adopt=True)(X)
    np.testing.assert_allclose(ag.grad(twice(running_products), adopt=True)(X), 2 * plain)
    np.testing.assert_allclose(ag.grad(Model().loss, adopt=True)(X), plain)
    assert ag.grad(Model(), adopt=True)(X).tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(ag.grad(functools.partial(running_products), adopt=True)(X), plain)


def test_closures_share_what_is_assigned_to():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        out = np.zeros(3)
        out[:] = x
        return out.sum()

    ag.grad(f, adopt=True)(X)
    assert calls == 1


def test_integers_and_booleans_stay_arrays():
    def f():
        return [np.zeros(2, dtype=int), np.arange(3), np.ones(2, bool), np.array(["a"])]

    assert [type(a) for a in adopted(f)()] == [np.ndarray] * 4


def test_every_transform_adopts():
    f, g = running_products, helper
    expected = ag.grad(f, adopt=True)(X)
    np.testing.assert_allclose(ag.vjp(f, X, adopt=True)[1](1.0)[0], expected)
    np.testing.assert_allclose(ag.jvp(f, (X,), (np.ones(3),), adopt=True)[1], expected.sum())
    np.testing.assert_allclose(ag.linearize(f, X, adopt=True)[1](np.ones(3)), expected.sum())
    np.testing.assert_allclose(ag.elementwise_grad(g, adopt=True)(X), SCALE + np.cos(X))
    jacobian = ag.jacobian(g, adopt=True)(X)
    np.testing.assert_allclose(jacobian[0], np.eye(3) * SCALE)
    np.testing.assert_allclose(ag.jacfwd(g, adopt=True)(X), jacobian)
    hessian = ag.hessian(f, adopt=True)(X)
    np.testing.assert_allclose(hessian, [[0, 1 + X[2], X[1]], [1 + X[2], 0, X[0]], [X[1], X[0], 0]])
    np.testing.assert_allclose(ag.hvp(f, adopt=True)(X, np.ones(3)), hessian.sum(axis=1))


def test_function_may_assign_a_global(monkeypatch):
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    ag.grad(writes_a_global, adopt=True)(X)
    assert SCALE == 2.0


def test_compiled_function_runs_as_it_is():
    assert ag.grad(np.sum, adopt=True)(X).tolist() == [1.0, 1.0, 1.0]


def test_what_can_not_be_called_is_refused():
    with pytest.raises(TypeError, match=r"adopt: expected a function, got int"):
        adopted(3)


@pytest.mark.parametrize("packages", [3, [1], object()])
def test_packages_must_be_names(packages):
    with pytest.raises(TypeError, match="names of packages"):
        ag.grad(helper, adopt=packages)


def test_adopted_function_keeps_its_name_and_documentation():
    assert adopted(helper).__name__ == "helper"
    assert ag.grad(running_products, adopt=True).__name__ == "running_products"
