"""What a transform returns is an object with the function's name, which pickles where the function does."""

import concurrent.futures
import copy
import functools
import inspect
import multiprocessing
import pickle

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 1.5])
V = np.array([1.0, -2.0])


def loss(x, a=2.0):
    """The loss."""
    return np.sum(np.sin(x) * x) * a


def pair(x):
    return np.sum(x**2), {"n": 2}


def wave(x):
    return np.sin(x)


class Model:
    def __init__(self, scale):
        self.scale = scale

    def loss(self, x):
        return self.scale * np.sum(x**2)

    def __call__(self, x):
        return self.loss(x)


CASES = {
    "grad": (ag.grad(loss), (X,)),
    "grad of two": (ag.grad(loss, argnums=(0, 1)), (X, 3.0)),
    "grad by name": (ag.grad(loss, argnames="a"), (X, 3.0)),
    "grad with auxiliary data": (ag.grad(pair, has_aux=True), (X,)),
    "adopted": (ag.grad(loss, adopt=True), (X,)),
    "value_and_grad": (ag.value_and_grad(loss), (X,)),
    "elementwise_grad": (ag.elementwise_grad(wave), (X,)),
    "jacobian": (ag.jacobian(wave, chunk_size=2), (X,)),
    "jacfwd": (ag.jacfwd(wave), (X,)),
    "hessian": (ag.hessian(loss), (X,)),
    "hvp": (ag.hvp(loss), (X, V)),
    "of a gradient": (ag.elementwise_grad(ag.elementwise_grad(wave)), (X,)),
    "of a method": (ag.grad(Model(3.0).loss), (X,)),
    "of an object": (ag.grad(Model(3.0)), (X,)),
    "of a partial": (ag.grad(functools.partial(loss, a=5.0)), (X,)),
    "of a ufunc": (ag.elementwise_grad(np.sin), (X,)),
}


def same(a, b):
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b


@pytest.mark.parametrize("name", CASES)
def test_a_transformed_function_survives_a_pickle(name):
    g, args = CASES[name]
    assert same(pickle.loads(pickle.dumps(g))(*args), g(*args))


@pytest.mark.parametrize("name", CASES)
def test_a_copy_computes_the_same(name):
    g, args = CASES[name]
    assert same(copy.copy(g)(*args), g(*args))


def test_a_gradient_runs_in_another_process():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        found = list(pool.map(ag.grad(loss), [X, 2 * X]))
    np.testing.assert_array_equal(found, [ag.grad(loss)(X), ag.grad(loss)(2 * X)])


def test_a_gradient_of_a_local_function_is_pickles_error():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(ag.grad(lambda x: x))


@pytest.mark.parametrize("transform", [ag.grad, ag.value_and_grad, ag.jacobian, ag.hessian, ag.hvp])
def test_a_transformed_function_has_the_name_text_and_signature_of_the_function(transform):
    g = transform(loss)
    assert (g.__name__, g.__doc__, g.__module__) == ("loss", "The loss.", __name__)
    assert g.__wrapped__ is loss
    assert inspect.signature(g) == inspect.signature(loss)


def test_a_gradient_that_is_a_class_attribute_is_a_method():
    class Spring:
        def __init__(self, k):
            self.k = k

        def energy(self, x):
            return 0.5 * self.k * x**2

        force = ag.grad(energy, argnums=1)

    assert Spring(3.0).force(2.0) == 6.0
    assert Spring.force(Spring(3.0), 2.0) == 6.0


def test_methods_of_an_estimator_are_differentiated():
    class Ridge:
        def __init__(self, alpha=1.0):
            self.alpha = alpha

        def objective(self, w, X, y):
            return np.sum((X @ w - y) ** 2) + self.alpha * np.sum(w**2)

        def fit(self, X, y):
            step = ag.grad(self.objective)
            w = np.zeros(X.shape[1])
            for _ in range(200):
                w = w - 0.02 * step(w, X, y)
            self.coef_ = w
            return self

        def predict(self, X):
            return X @ self.coef_

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    y = X @ np.array([1.0, -1.0])
    model = Ridge(0.1).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(X.T @ X + 0.1 * np.eye(2), X.T @ y), rtol=1e-6)
    slope = ag.grad(lambda alpha: Ridge(alpha).objective(model.coef_, X, y))(0.1)
    assert slope == pytest.approx(np.sum(model.coef_**2))
    np.testing.assert_allclose(ag.jacobian(model.predict)(X)[0, 0], model.coef_)


def test_a_repr_says_what_it_is_of():
    assert repr(ag.grad(np.sin)) == "<grad of <ufunc 'sin'>>"
