"""Modules that load NumPy's and SciPy's modules when they are asked, as libraries make them to be imported fast."""

import importlib
import types

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 1.5, -0.5, 2.0])


class Proxy(types.ModuleType):
    """Asks the module of its name for everything."""

    def __getattr__(self, name):
        return getattr(importlib.import_module(self.__name__), name)


class Changing(types.ModuleType):
    """Becomes the module when it is asked first: its class and its names change."""

    def __getattribute__(self, name):
        own = object.__getattribute__(self, "__name__")
        module = importlib.import_module(own)
        types.ModuleType.__getattribute__(self, "__dict__").update(vars(module))
        self.__class__ = Loaded
        return getattr(module, name)


class Loaded(types.ModuleType):
    pass


SPECTRUM = "lambda x: (np.abs(lazy.fft(x)) ** 2 * np.arange(4.0)).sum()"
FILLED = """
def f(x):
    out = lazy.zeros(4)
    out[1:] = x[1:] * x[0]
    return (out**2).sum()
"""
CASES = {
    "scipy.fftpack": f"f = {SPECTRUM}",
    "numpy.fft": f"f = {SPECTRUM}",
    "numpy": FILLED,
    "scipy.fft": f"f = {SPECTRUM}",
}


@pytest.mark.parametrize("kind", [Proxy, Changing])
@pytest.mark.parametrize("name", CASES)
def test_functions_of_a_proxy_are_recorded(name, kind):
    if name.startswith("scipy"):
        pytest.importorskip("scipy")
    proxy = kind(name)
    program = {"__name__": "program_with_a_proxy", "np": np, "lazy": proxy}
    exec(CASES[name], program)
    f = program["f"]
    found = ag.grad(f)(X)
    assert program["lazy"] is proxy
    h = 1e-6
    expected = [(f(X + e) - f(X - e)) / (2.0 * h) for e in np.eye(4) * h]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(ag.grad(f)(X), found)


def test_a_module_of_the_programs_own_is_left_alone():
    proxy = Proxy("types")
    proxy.scale = 3.0
    np.testing.assert_array_equal(ag.grad(lambda x: (proxy.scale * x).sum())(X), np.full(4, 3.0))
