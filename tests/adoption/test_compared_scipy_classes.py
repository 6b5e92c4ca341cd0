"""A class of SciPy's that a module compares by `is` has no stand-in anywhere in it: so this module is one of its own.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

pytest.importorskip("scipy")
from scipy.interpolate import interp1d
from scipy.sparse import coo_matrix, csr_matrix

PLACES = np.linspace(0.0, 1.0, 6)
X = np.array([0.3, 0.5, 0.7, 0.2, 0.9, 0.4])


def test_a_class_that_code_compares_is_the_class_itself():
    def f(x):
        made = interp1d(PLACES, PLACES)
        return x.sum() * (2.0 if type(made) is interp1d else 3.0)

    np.testing.assert_array_equal(ag.grad(f, adopt=True)(X), np.full(6, 2.0))


def test_a_recorded_sparse_matrix_is_of_the_class_that_code_compares():
    def f(x):
        made = coo_matrix((x, (np.arange(6), np.arange(6))), shape=(6, 6)).tocsr()
        return made.sum() * (2.0 if type(made) is csr_matrix and isinstance(made, csr_matrix) else 3.0)

    np.testing.assert_array_equal(ag.grad(f, adopt=True)(X), np.full(6, 2.0))
