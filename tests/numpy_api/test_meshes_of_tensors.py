"""Functions of NumPy that give their arguments in other shapes keep the gradient, whatever the result is meant for.

The class: numpy.ix_ of sequences that are recorded, at each place, beside lists, arrays, truth values and lists of
Tensors. Imports arraygrad and arraygrad.numpy.
"""

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.numpy as anp

X = np.array([0.5, 1.5, -2.0])
OTHERS = ([1, 2], np.array([0.25, 4.0]), np.array([True, False, True]), [True, False])


@pytest.mark.parametrize("library", [np, anp])
@pytest.mark.parametrize("other", OTHERS, ids=str)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_open_meshes_of_recorded_sequences(library, other, place):
    weights = np.random.default_rng(place).normal(size=3)

    def mesh(x, ix_):
        return ix_(*[other] * place, x, *[other] * (2 - place))

    def f(x):
        return np.sum(mesh(x, library.ix_)[place].ravel() ** 2 * weights)

    np.testing.assert_allclose(ag.grad(f)(X), 2 * X * weights, rtol=1e-13)
    t = ag.tensor(X, requires_grad=True)
    for ours, theirs in zip(mesh(t, library.ix_), mesh(X, np.ix_), strict=True):
        assert np.array_equal(ours.numpy(), theirs)
        assert ours.dtype == theirs.dtype


def test_open_meshes_of_lists_of_tensors():
    gradient = ag.grad(lambda x: anp.ix_([0, 1], [x[0], 3 * x[1]])[1].sum())(X)
    assert gradient.tolist() == [1.0, 3.0, 0.0]


def test_open_meshes_are_indices():
    assert ag.grad(lambda x: np.outer(x, x)[np.ix_([0, 1], [2])].sum())(X).tolist() == [-2.0, -2.0, 2.0]
