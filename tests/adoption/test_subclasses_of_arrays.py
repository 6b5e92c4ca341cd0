"""Subclasses of arrays that are refused: NumPy's own matrices, all of them where nothing is adopted; the ways out.

What adopted calls record is in test_subclasses_that_are_recorded.py.
"""

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.3, 0.4, 0.5])


class Viewed(np.ndarray):
    """Made by a view, with an attribute: what NumPy's manual shows."""

    def __new__(cls, values, name="x"):
        made = np.asarray(values, dtype=float).view(cls)
        made.name = name
        return made

    def __array_finalize__(self, other):
        self.name = getattr(other, "name", "none")

    def norm(self):
        return np.sqrt((self**2).sum())


class Filled(np.ndarray):
    """Made by the base's `__new__`, and written."""

    def __new__(cls, *values):
        made = super().__new__(cls, (len(values),))
        made[:] = values
        return made


class Holding:
    """The way out: a class that holds the array."""

    def __init__(self, values):
        self.values = np.asarray(values, dtype=float)

    def norm(self):
        return np.sqrt((self.values**2).sum())


REFUSED = {
    "of a Tensor": lambda t: Viewed(t).norm(),
    "a constant beside a Tensor": lambda t: (Viewed([1.0, 2.0, 3.0]) * t).sum(),
    "written": lambda t: Filled(*t).sum(),
    "a matrix": lambda t: np.matrix(t).sum(),
    "a matrix of columns": lambda t: np.asmatrix(t).T.sum(),
    "a constant matrix": lambda t: (np.asmatrix(np.eye(3)) * t.reshape(3, 1)).sum(),
    "a view": lambda t: (t * 1.0).view(Viewed).sum(),
    "its own memory": lambda t: np.array(t, copy=True).view(np.matrix).sum(),
}
ADOPTED = {"a matrix", "a matrix of columns", "a constant matrix", "its own memory"}  # refused there, too
MADE_BEFORE = Viewed([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("name", "adopt"), [(name, name in ADOPTED) for name in REFUSED] + [(n, False) for n in sorted(ADOPTED)]
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_refused_with_words(name, adopt):
    with pytest.raises(TypeError) as error:
        ag.grad(REFUSED[name], adopt=adopt)(X)
    text = str(error.value)
    assert any(words in text for words in ("numpy.array", "numpy.asarray", "arraygrad.asarray", "leave the view out"))


def test_one_made_before_the_call_is_refused():
    with pytest.raises(TypeError, match=r"give numpy\.asarray\(x\)"):
        ag.grad(lambda t: (MADE_BEFORE * t).sum(), adopt=False)(X)
    found = ag.grad(lambda t: (np.asarray(MADE_BEFORE) * t).sum(), adopt=False)(X)
    np.testing.assert_array_equal(found, [1.0, 2.0, 3.0])


def test_a_class_that_holds_the_array():
    found = ag.grad(lambda t: Holding(t * t).norm(), adopt=True)(X)
    np.testing.assert_allclose(found, 2.0 * X**3 / np.sqrt((X**4).sum()))


def test_matrices_as_arrays():
    found = ag.grad(lambda t: (np.linalg.inv(np.diag(t)) @ np.diag(t).T @ np.diag(t)).sum(), adopt=True)(X)
    np.testing.assert_allclose(found, np.ones(3))
