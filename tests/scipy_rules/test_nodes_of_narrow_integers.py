"""Interpolants through nodes that are integers of any type: SciPy's value and its gradient, or a refusal by name.

The class: a constant array of nodes beside points or values that require grad. Some of SciPy's functions subtract the
nodes in their own type, where an unsigned or narrow one wraps. A formula over floats is another function then.
"""

import numpy as np
import pytest

import arraygrad as ag

interpolate = pytest.importorskip("scipy.interpolate")

NODES, SIGNED = [1, 20, 30, 100], [-100, -20, 30, 100]
VALUES = np.array([1.0, 2.0, 3.5, 5.0])
POINTS = np.array([10.0, 22.5])
KINDS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
CALLS = {
    "KroghInterpolator": lambda t, y, x: interpolate.KroghInterpolator(t, y)(x),
    "krogh_interpolate": lambda t, y, x: interpolate.krogh_interpolate(t, y, x),
    "lagrange": lambda t, y, x: interpolate.lagrange(t, y)(x),
    "BarycentricInterpolator": lambda t, y, x: interpolate.BarycentricInterpolator(t, y)(x),
    "barycentric_interpolate": lambda t, y, x: interpolate.barycentric_interpolate(t, y, x),
    "CubicSpline": lambda t, y, x: interpolate.CubicSpline(t, y)(x),
    "PchipInterpolator": lambda t, y, x: interpolate.PchipInterpolator(t, y)(x),
    "Akima1DInterpolator": lambda t, y, x: interpolate.Akima1DInterpolator(t, y)(x),
    "make_interp_spline": lambda t, y, x: interpolate.make_interp_spline(t, y, k=2)(x),
    "interp1d": lambda t, y, x: interpolate.interp1d(t, y, kind="quadratic")(x),
    "RegularGridInterpolator": lambda t, y, x: interpolate.RegularGridInterpolator((t,), y)(x),
    "RBFInterpolator": lambda t, y, x: interpolate.RBFInterpolator(t[:, None], y, kernel="linear")(x[:, None]),
}


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.filterwarnings("ignore:`lagrange` is deprecated:DeprecationWarning")  # of SciPy 1.18
@pytest.mark.parametrize("nodes", [NODES, SIGNED], ids=["positive", "signed"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_value_and_gradient_or_refusal(name, kind, nodes):
    if kind.startswith("u") and nodes is SIGNED:
        pytest.skip("unsigned")
    call, t = CALLS[name], np.array(nodes, dtype=kind)
    seen = []

    def value(y, x):
        seen.append(call(t, y, x))
        return (seen[-1] * [1.0, -0.7]).sum()

    plain = call(t, VALUES, POINTS)
    try:
        of_values, of_points = ag.grad(value, argnums=(0, 1))(VALUES, POINTS)
    except ag.scipy.NotDifferentiable:
        if kind in ("int32", "int64"):
            raise
        return
    np.testing.assert_allclose(np.asarray(seen[0].detach()), plain, rtol=1e-10)
    for i, found in ((0, of_values), (1, of_points)):
        direction = np.sin(np.arange(1.0, found.size + 1) ** 2)
        moved = [[a + s * direction if i == j else a for j, a in enumerate((VALUES, POINTS))] for s in (1e-5, -1e-5)]
        ahead, behind = (value(*args) for args in moved)
        np.testing.assert_allclose((found * direction).sum(), (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-8)
