"""Labelled arrays as arguments and results of transforms: refused with the line to write, which is right when written.

The class: a library (pandas, xarray, astropy) x its classes x an argument, a result, an operand.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 1.0, 2.0])


def labelled(name):
    """(the module, an object of each of its classes over X)."""
    module = pytest.importorskip(name)
    if name == "pandas":
        return module, [module.Series(X), module.DataFrame({"a": X}), module.Index(X)]
    if name == "xarray":
        return module, [module.DataArray(X, dims="t"), module.Dataset({"a": ("t", X)})]
    return module, [X * module.m, 3.0 * module.m]


@pytest.mark.parametrize("adopt", [True, False])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pandas", r"pass its values, \w+\.to_numpy\(\)"),
        ("xarray", r"pass its array, x\.data, and give it its labels in the function, x\.copy\(data=t\)"),
        ("astropy.units", r"give its numbers, q\.to_value\(unit\)"),
    ],
)
def test_an_argument_is_refused_with_the_line_to_write(name, text, adopt):
    for one in labelled(name)[1]:
        with pytest.raises(TypeError, match=text):
            ag.grad(lambda x: (x**2).sum(), adopt=adopt)(one)


@pytest.mark.parametrize("adopt", [True, False])
def test_the_lines_to_write_are_right(adopt):
    xarray, (array, _) = labelled("xarray")
    found = ag.grad(lambda t: (array.copy(data=t) ** 2).sum().data, adopt=adopt)(array.data)
    np.testing.assert_allclose(found, 2 * X)
    with pytest.raises(TypeError, match=r"returned DataArray, but grad needs an array: return its array, result\.data"):
        ag.grad(lambda t: (xarray.DataArray(t, dims="t") ** 2).sum(), adopt=adopt)(X)


@pytest.mark.parametrize("adopt", [True, False])
def test_numbers_of_a_series_and_of_a_quantity_are_right(adopt):
    pandas, (series, *_) = labelled("pandas")
    found = ag.grad(lambda t: (t**2).sum(), adopt=adopt)(series.to_numpy())
    np.testing.assert_allclose(pandas.Series(found, series.index), 2 * X)
    units = pytest.importorskip("astropy.units")
    found = ag.grad(lambda t: (t**2).sum(), adopt=adopt)((X * units.km).to_value(units.m))
    np.testing.assert_allclose(found, 2000 * X)
