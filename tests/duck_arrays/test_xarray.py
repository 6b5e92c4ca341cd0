"""xarray over Tensors: labelled arrays whose data are Tensors, used as xarray's documentation uses duck arrays.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

xarray = pytest.importorskip("xarray", reason="xarray is not installed (pip install xarray)")

VALUES = np.arange(6.0).reshape(2, 3) / 4 + 0.25

# name -> function of a DataArray with dims x (coordinates 10, 20) and y
FUNCTIONS = {
    "arithmetic": lambda d: d * 2 + d**2 - 1 / d,
    "ufunc": lambda d: np.exp(d) * np.sin(d),
    "sum": lambda d: (d * d).sum("y"),
    "mean": lambda d: d.mean("x", skipna=False) * d,
    "max": lambda d: d.max("x", skipna=False) * d.isel(x=0),
    "cumsum": lambda d: d.cumsum("y", skipna=False) * d,
    "isel": lambda d: d.isel(x=0) * d.isel(y=[0, 2, 0]).sum(),
    "isel mask": lambda d: d.isel(y=np.array([True, False, True])),
    "sel": lambda d: d.sel(x=20) ** 2,
    "transpose": lambda d: d.transpose("y", "x") * d,
    "where": lambda d: d.where(d > 0.6, 0.0) * d,
    "xr.where": lambda d: xarray.where(d > 0.6, d**2, 0.0),
    "dot": lambda d: xarray.dot(d, d, dim="y"),
    "matmul": lambda d: d @ d.T,
    "concat": lambda d: xarray.concat([d, d * 2], "x"),
    "stack": lambda d: d.stack(z=("x", "y")) ** 2,
    "broadcast": lambda d: d.isel(x=0) * d,
    "roll": lambda d: d.roll(y=1) * d,
    "shift": lambda d: d.shift(y=1, fill_value=0.0) * d,
    "diff": lambda d: d.diff("y") ** 2,
    "clip": lambda d: d.clip(0.6, 1.1) * d,
    "fillna": lambda d: d.fillna(0.0) ** 2,
    "groupby": lambda d: d.groupby("x").sum() ** 2,
    "weighted": lambda d: d.weighted(xarray.DataArray([1.0, 2.0, 3.0], dims="y")).mean("y") ** 2,
    "constants": lambda d: d * xarray.DataArray(np.full((2, 3), 3.0), dims=("x", "y")),
    "apply_ufunc": lambda d: xarray.apply_ufunc(lambda v: np.tanh(v) * v, d),
    "apply_ufunc with a core dimension": lambda d: xarray.apply_ufunc(
        lambda v: np.linalg.norm(v, axis=-1), d, input_core_dims=[["y"]]
    ),
    "dataset": lambda d: xarray.Dataset({"a": d, "b": d * 2}).sum()["b"],
    "integrate": lambda d: d.integrate("x") ** 2,
}


def labelled(values):
    return xarray.DataArray(values, dims=("x", "y"), coords={"x": [10, 20]})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradient_over_tensors(name):
    f = FUNCTIONS[name]
    result = f(labelled(ag.asarray(VALUES, requires_grad=True)))
    assert isinstance(result.data, ag.Tensor)
    np.testing.assert_allclose(result.data.numpy(), f(labelled(VALUES)).to_numpy(), rtol=1e-12)
    # Not the leaf itself: xarray copies deeply here and there, and a deep copy of a leaf is another leaf, as in torch.
    assert ag.gradcheck(lambda v: f(labelled(v * 1.0)).data, (ag.tensor(VALUES, requires_grad=True),))


def test_gradient_of_a_labelled_loss():
    found = ag.grad(lambda v: (np.exp(labelled(v)) ** 2).sum().data)(VALUES)
    np.testing.assert_allclose(found, 2 * np.exp(2 * VALUES))


def test_deep_copy_of_what_is_in_a_graph_is_refused():
    d = labelled(ag.asarray(VALUES, requires_grad=True)) * 2
    with pytest.raises(RuntimeError, match="graph leaves"):
        d.copy(deep=True)
    assert d.copy(deep=False).data.requires_grad


def test_coordinates_stay():
    d = labelled(ag.asarray(VALUES, requires_grad=True))
    assert (d * 2).sel(x=20).coords["x"].item() == 20


def test_assignment_is_recorded():
    x = ag.tensor(VALUES, requires_grad=True)
    d = labelled(x) * 1.0
    d.loc[{"x": 10}] = d.sel(x=20) * 3.0
    d.sum().data.backward()
    assert x.grad.tolist() == [[0.0] * 3, [4.0] * 3]


def test_tensors_over_another_library():
    pytest.importorskip("array_api_strict")
    t = ag.array_api_strict.ones((2, 3), requires_grad=True)
    d = xarray.DataArray(t, dims=("x", "y"))
    (d * d).sum("x", skipna=False).sum(skipna=False).data.backward()
    assert t.grad.tolist() == [[2.0] * 3] * 2


def test_conversion_that_would_drop_the_gradient_raises():
    d = labelled(ag.asarray(VALUES, requires_grad=True))
    for convert in (lambda: d.values, lambda: d.to_numpy(), lambda: float(d[0, 0])):
        with pytest.raises(TypeError, match="would drop its gradient silently"):
            convert()
    assert d[0, 0].item() == 0.25
    np.testing.assert_array_equal(d.copy(data=d.data.detach()).values, VALUES)


def test_printing_shows_the_tensor():
    text = repr(labelled(ag.asarray(VALUES, requires_grad=True)))
    assert "Tensor(" in text
    assert "requires_grad=True" in text
