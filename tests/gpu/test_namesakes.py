"""SciPy's functions over arrays of CuPy's: values by cupyx.scipy, derivatives by the rules of arraygrad.scipy.

Programs written for cupyx.scipy run as they stand, and have the gradients of the same program over SciPy. What the
device under test lacks (a stand-in for cuFFT or cuSOLVER, a kernel that its compiler refuses) is skipped with the
reason.
"""

import importlib
import types

import numpy as np
import pytest

import arraygrad as ag

scipy_special = pytest.importorskip("scipy.special")
pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]

X = np.array([[2.0, 0.5, 0.1, 0.7], [0.3, 1.5, -0.4, 1.1], [0.2, -0.3, 1.7, 0.9], [0.4, 0.6, -0.8, 2.5]])

# Chapter -> expressions of the array x, the chapter m and the array library cp.
EXPRESSIONS = {
    "ndimage": [
        "m.gaussian_filter(x, 0.6)",
        "m.gaussian_filter(x, [0.6, 0.4])",
        "m.uniform_filter(x, 3)",
        "m.convolve(x, cp.ones((2, 2)))",
        "m.shift(x, 0.4, order=1)",
        "m.shift(x, 0.4)",
        "m.zoom(x, 1.5, order=1)",
        "m.map_coordinates(x, cp.asarray([[0.2, 1.3], [0.5, 1.1]]), order=1)",
        "m.sobel(x)",
        "m.maximum_filter(x, 2)",
        "m.sum(x)",
        "m.rotate(x, 20.0, order=1, reshape=False)",
        "m.laplace(x)",
        "m.spline_filter(x)",
        "m.affine_transform(x, cp.asarray([[0.9, 0.1], [0.0, 0.8]]), order=1)",
        "m.median_filter(x, 3)",
        "m.fourier_gaussian(x + 0j, 1.0).real",
        "m.label(x)[0] * x",
    ],
    "signal": [
        "m.fftconvolve(x, x)",
        "m.convolve2d(x, cp.ones((2, 2)))",
        "m.sosfilt(cp.asarray([[1.0, 0.5, 0.0, 1.0, 0.2, 0.0]]), x)",
        "m.detrend(x)",
        "m.hilbert(x).imag",
        "m.savgol_filter(x, 3, 1)",
        "m.medfilt(x)",
        "m.wiener(x)",
    ],
    "linalg": [
        "m.expm(x)",
        "m.lu_factor(x)[0]",
        "m.solve_triangular(x, x[0])",
        "m.toeplitz(x[0])",
        "m.khatri_rao(x, x)",
        "m.block_diag(x, x)",
        "m.circulant(x[0])",
    ],
    "fft": ["m.fft(x).real", "m.irfft(x)", "m.dct(x)", "m.fftn(x).real", "m.fftshift(x)"],
    "stats": ["m.zscore(x)", "m.trim_mean(x, 0.1)", "m.boxcox_llf(0.3, x[0] ** 2)", "m.zmap(x, x)"],
}
CASES = [(chapter, expression) for chapter, expressions in EXPRESSIONS.items() for expression in expressions]
LACKS = ("CuFFTError", "CUSOLVERError", "CUSPARSEError", "CompileException")


def program(package, library, expression):
    """f(x) of a module that imports a chapter as m and an array library as cp."""
    module = types.ModuleType("program")
    exec(f"import {library} as cp\nimport {package} as m\ndef f(x):\n    return {expression}\n", module.__dict__)
    return module.f


def weighted(function):
    """The sum of the results' squares."""

    def loss(x):
        found = function(x)
        return sum([ag.sum(ag.asarray(part) ** 2) for part in (found if isinstance(found, tuple) else (found,))])

    return loss


def on_device(function, *args):
    """function(*args), skipped where the device lacks what it needs."""
    try:
        return function(*args)
    except Exception as error:
        reasons = [type(e).__name__ for e in (error, error.__cause__) if e is not None]
        if any(reason in LACKS for reason in reasons) or any(f"({lack}:" in str(error) for lack in LACKS):
            pytest.skip(f"the device under test lacks what this needs: {reasons}")
        raise


@pytest.mark.parametrize(("chapter", "expression"), CASES, ids=[f"{c}-{e}" for c, e in CASES])
def test_programs_have_the_gradients_of_scipys(cupy, chapter, expression):
    importlib.import_module(f"cupyx.scipy.{chapter}")
    ours = weighted(ag.adopt(program(f"cupyx.scipy.{chapter}", "cupy", expression)))
    scipys = weighted(ag.adopt(program(f"scipy.{chapter}", "numpy", expression)))
    found = on_device(ag.grad(ours), cupy.asarray(X))
    assert type(found) is cupy.ndarray
    np.testing.assert_allclose(found.get(), ag.grad(scipys)(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("expression", ["m.gaussian_filter(x, 0.6)", "m.shift(x, 0.4)", "m.expm(x)", "m.zscore(x)"])
def test_second_derivatives(cupy, expression):
    chapter = next(c for c, e in CASES if e == expression)
    importlib.import_module(f"cupyx.scipy.{chapter}")

    def curvature(package, library):
        loss = weighted(ag.adopt(program(package, library, expression)))
        return ag.grad(lambda x: ag.sum(ag.grad(loss)(x) ** 2))

    found = on_device(curvature(f"cupyx.scipy.{chapter}", "cupy"), cupy.asarray(X))
    np.testing.assert_allclose(found.get(), curvature(f"scipy.{chapter}", "numpy")(X), rtol=1e-6, atol=1e-8)


_NOT_DRAWN = ("multigammaln", "round", "sph_harm_y")


def special_names():
    """Names of cupyx.scipy.special that SciPy has as well; none without CuPy."""
    try:
        importlib.import_module("cupy")
        special = importlib.import_module("cupyx.scipy.special")
    except ImportError:
        return []
    names = [name for name in dir(special) if not name.startswith("_") and callable(getattr(special, name))]
    return [name for name in names if hasattr(scipy_special, name) and name not in _NOT_DRAWN]


# Arguments before the last one, tried in turn: orders, then numbers.
BEFORE = (1, 1.5, 0.4, 3)


@pytest.mark.parametrize("name", special_names() or [pytest.param("", marks=pytest.mark.skip("CuPy is not installed"))])
def test_special_functions(cupy, name):
    x = np.array([0.3, 0.7])
    values = getattr(scipy_special, name)
    count = getattr(values, "nin", 2 if name in ("polygamma", "zeta") else 1)
    package = "cupyx.scipy.special"
    for before in BEFORE:
        given = [before] * (count - 1)
        text = (
            f"m.{name}({''.join(f'{a}, ' for a in given)}x)" if name != "multigammaln" else "m.multigammaln(x + 3, 2)"
        )
        try:
            (gradient,) = [ag.grad(weighted(ag.adopt(program("scipy.special", "numpy", text))))(x)]
        except Exception:  # SciPy has no value, or the rule no derivative, for these arguments
            continue
        try:
            plain = on_device(program(package, "cupy", text), cupy.asarray(x))
        except (TypeError, AttributeError, ValueError):  # cupyx takes no numbers there, or lacks a default
            continue
        found = on_device(ag.grad(weighted(ag.adopt(program(package, "cupy", text)))), cupy.asarray(x))
        if isinstance(plain, cupy.ndarray):
            np.testing.assert_allclose(plain.get(), program("scipy.special", "numpy", text)(x), rtol=1e-6)
        np.testing.assert_allclose(found.get(), gradient, rtol=1e-5, atol=1e-10)
        return
    pytest.skip("no derivative at these arguments over NumPy, or no value by cupyx")


def test_raw_arrays_and_tensors_without_a_gradient_have_the_values_of_cupyx(cupy):
    ours, theirs = importlib.import_module("arraygrad.scipy.special"), importlib.import_module("cupyx.scipy.special")
    x = cupy.asarray([0.3, 0.7])
    for given in (x, ag.asarray(x)):
        found = ours.i0e(given)
        found = found.array if isinstance(found, ag.Tensor) else found
        assert type(found) is cupy.ndarray
        assert bool((found == theirs.i0e(x)).all())


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("linalg.sqrtm", lambda m, x: m.sqrtm(x)),
        ("linalg.cholesky_banded", lambda m, x: m.cholesky_banded(x)),
        ("stats.kurtosis", lambda m, x: m.kurtosis(x)),
    ],
)
def test_what_cupyx_lacks_names_the_way_out(cupy, name, call):
    module = importlib.import_module(f"arraygrad.scipy.{name.partition('.')[0]}")
    x = ag.asarray(cupy.asarray(X), requires_grad=True)
    with pytest.raises(TypeError, match=r"to_backend\(x, 'numpy'\)"):
        call(module, x)


def test_a_parameter_that_cupyx_lacks_is_named(cupy):
    ndimage = importlib.import_module("arraygrad.scipy.ndimage")
    x = ag.asarray(cupy.asarray(X), requires_grad=True)
    with pytest.raises(TypeError, match=r"has no parameter radius"):
        ndimage.gaussian_filter1d(x, 0.6, radius=2)


@pytest.mark.parametrize("name", ["welch", "csd", "stft", "spectrogram", "coherence", "firwin"])
def test_defaults_that_have_another_name_in_cupyx(cupy, name):
    signal, x = importlib.import_module("arraygrad.scipy.signal"), np.sin(np.arange(32.0)) + np.arange(32.0) / 20 + 0.3

    def f(x):
        if name == "firwin":
            found = signal.firwin(7, 0.3 + x[1] / 100)
        else:
            second = (x[::-1],) if name in ("csd", "coherence") else ()
            found = getattr(signal, name)(x, *second, nperseg=16)[-1]
        return ag.sum(ag.abs(ag.asarray(found)) ** 2)

    found = on_device(ag.grad(f), cupy.asarray(x))
    np.testing.assert_allclose(found.get(), ag.grad(f)(x), rtol=1e-7, atol=1e-10)
