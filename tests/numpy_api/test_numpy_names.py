"""arraygrad.numpy has every public name of the installed NumPy: `import arraygrad.numpy as np` does in existing files.

Imports arraygrad and arraygrad.numpy.
"""

import types
import warnings

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.numpy as anp

NAMES = [name for name in dir(np) if not name.startswith("_")]
V = np.asarray([0.5, 1.0, 2.0])


@pytest.mark.parametrize("name", NAMES)
def test_public_name_is_there(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(np, name)
        ours = getattr(anp, name)
    if isinstance(theirs, types.FunctionType | np.ufunc) or type(theirs).__name__ == "_ArrayFunctionDispatcher":
        assert callable(ours)
    elif name not in ("linalg", "fft", "r_", "c_", "vectorize", "e", "pi", "inf", "nan", "array", "bool"):
        assert ours is theirs or callable(ours)
    # finfo and iinfo are functions of the standard.
    if isinstance(theirs, type) and name not in ("vectorize", "finfo", "iinfo"):
        assert ours is theirs


@pytest.mark.parametrize("part", ["linalg", "fft"])
def test_public_name_of_a_submodule_is_there(part):
    missing = [name for name in getattr(np, part).__all__ if not hasattr(getattr(anp, part), name)]
    assert missing == []


@pytest.mark.parametrize("name", ["Randomized", "_core", "__wrapped__", "array2"])
def test_name_that_numpy_lacks_or_keeps_to_itself_is_not_there(name):
    with pytest.raises(AttributeError, match=name):
        getattr(anp, name)
    assert not hasattr(anp.linalg, name)


def test_objects_without_a_derivative_are_numpys():
    for name in (
        "random",
        "ndarray",
        "dtype",
        "errstate",
        "mgrid",
        "ogrid",
        "s_",
        "lib",
        "testing",
        "polynomial",
        "ma",
    ):
        assert getattr(anp, name) is getattr(np, name)
    assert anp.newaxis is None
    assert anp.linalg.LinAlgError is np.linalg.LinAlgError
    assert anp.__version__ == np.__version__


@pytest.mark.parametrize(
    "make",
    [
        lambda xp: xp.identity(3), lambda xp: xp.tri(3), lambda xp: xp.hamming(4), lambda xp: xp.kaiser(4, 2.0),
        lambda xp: xp.fromfunction(lambda i, j: i + j, (2, 2)), lambda xp: xp.fromiter(iter(V), float),
        lambda xp: xp.fromstring("1 2 3", sep=" "), lambda xp: xp.frombuffer(V), lambda xp: xp.r_[V, 1.0],
        lambda xp: xp.c_[V, V], lambda xp: xp.loadtxt(["1 2", "3 4"]),
    ],
)  # fmt: skip
def test_function_that_makes_an_array_makes_a_tensor(make):
    made = make(anp)
    assert isinstance(made, ag.Tensor)
    np.testing.assert_array_equal(made.numpy(), make(np))
    assert made.dtype == make(np).dtype


def test_the_standard_wins_where_the_two_differ():
    assert isinstance(anp.zeros(3), ag.Tensor)
    assert isinstance(anp.sum(V), ag.Tensor)
    with pytest.raises(TypeError):
        anp.zeros(3, float)  # the standard's dtype is given by name


def test_program_written_for_numpy_is_differentiated():
    def f(x, np):
        grid = np.mgrid[0:3]
        out = np.stack([np.sin(x), np.hypot(x, 1.0), np.r_[x[0], x[1:]]])
        with np.errstate(all="ignore"):
            made = np.fromiter((v * v for v in x), np.float64)
        return np.sum(out * np.asarray(grid)) + np.sum(made) + np.linalg.norm(np.identity(3) @ x[:, np.newaxis])

    step = 1e-6
    expected = [(f(V + step * e, np) - f(V - step * e, np)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(ag.grad(lambda x: f(x, anp))(V), expected, rtol=1e-6)
