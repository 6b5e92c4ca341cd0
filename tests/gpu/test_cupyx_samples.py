"""Every sample of SciPy's functions, over CuPy and by cupyx.scipy's function of that name.

Each has the gradient that it has over NumPy, where tests/scipy_rules holds it to differences of SciPy's function, or is
refused in words of arraygrad's, or cupyx's function fails on plain arrays as well. The arrays stay as they were.
"""

import importlib
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import arraygrad as ag

pytest.importorskip("scipy")
pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

FOLDER = Path(__file__).parent.parent / "scipy_rules"
CHAPTERS = ("fft", "interpolate", "linalg", "ndimage", "signal", "spatial", "special", "stats")

# Names of which no sample is recorded: interpolants and other classes, what cupyx computes otherwise than SciPy, ...
NOT_RECORDED = """
    interpolate.Akima1DInterpolator interpolate.BPoly interpolate.BSpline interpolate.BarycentricInterpolator
    interpolate.CloughTocher2DInterpolator interpolate.CubicHermiteSpline interpolate.CubicSpline
    interpolate.InterpolatedUnivariateSpline interpolate.KroghInterpolator interpolate.LSQUnivariateSpline
    interpolate.LinearNDInterpolator interpolate.NdBSpline interpolate.NdPPoly interpolate.NearestNDInterpolator
    interpolate.PPoly interpolate.PchipInterpolator interpolate.RBFInterpolator interpolate.RegularGridInterpolator
    interpolate.UnivariateSpline interpolate.interp1d interpolate.make_interp_spline interpolate.make_lsq_spline
    interpolate.splantider interpolate.splder signal.CZT signal.ZoomFFT
    signal.hilbert2 signal.lfilter_zi signal.lfiltic signal.peak_widths signal.spline_filter
"""
# ... samples with arrays of NumPy's in them, parameters that cupyx lacks, ...
NOT_RECORDED += """
    ndimage.gaussian_filter1d ndimage.standard_deviation ndimage.sum ndimage.sum_labels ndimage.variance
    signal.freqz_sos signal.lombscargle signal.sos2tf signal.sos2zpk signal.sosfilt signal.sosfilt_zi signal.sosfiltfilt
    signal.sosfreqz signal.symiirorder1 special.lpmv
"""
# ... what needs cuVS, and kernels that the compiler of the emulated device refuses.
NOT_RECORDED += """
    spatial.distance.canberra spatial.distance.cdist spatial.distance.chebyshev spatial.distance.cityblock
    spatial.distance.correlation spatial.distance.cosine spatial.distance.euclidean spatial.distance.hamming
    spatial.distance.jensenshannon spatial.distance.minkowski spatial.distance.pdist spatial.distance.russellrao
    spatial.distance.sqeuclidean spatial.distance_matrix
    signal.ellip signal.get_window signal.resample_poly signal.upfirdn signal.windows.exponential
    signal.windows.gaussian signal.windows.general_gaussian signal.windows.get_window signal.windows.kaiser
    signal.windows.tukey special.ellipj special.lambertw
"""


def samples():
    """{name: its samples} of the functions that cupyx.scipy has."""
    sys.path.insert(0, str(FOLDER))
    try:
        found = importlib.import_module("scipy_samples").SAMPLES
        for file in sorted(FOLDER.glob("samples_*.py")):
            importlib.import_module(file.stem)
    finally:
        sys.path.remove(str(FOLDER))
    by_name = {}
    for name, call, arrays, _ in found:
        if name.partition(".")[0] in CHAPTERS and has(name):
            by_name.setdefault(name, []).append((call, arrays))
    return by_name


def has(name):
    """Whether SciPy and cupyx.scipy have a function, and CuPy is there."""
    chapter, _, last = name.rpartition(".")
    try:
        importlib.import_module("cupy")
        return all(
            hasattr(importlib.import_module(f"{package}.{chapter}"), last) for package in ("scipy", "cupyx.scipy")
        )
    except ImportError:
        return False


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of cupyx.jit, which cupyx.scipy.signal imports
    SAMPLES = samples()


def program(library, name, call):
    """g(*arrays) of a module that imports the function's module as m."""
    package, _, last = f"{library}.{name}".rpartition(".")
    module = types.ModuleType("program")
    module.call = call
    exec(f"import {package} as m\ndef g(*arrays):\n    return call(m.{last}, *arrays)\n", module.__dict__)
    return module.g


def weighted(function, asarray):
    """The sum of all results, each element by a weight of its own."""

    def loss(*arrays):
        found, total = function(*arrays), 0.0
        for k, part in enumerate(found if isinstance(found, tuple | list) else (found,)):
            if not isinstance(part, ag.Tensor):
                continue
            kind = np.dtype(part.dtype).kind
            for real in (part.real, part.imag) if kind == "c" else (part,) if kind == "f" else ():
                weights = np.cos(np.arange(real.size) + k).reshape(real.shape)
                total = total + ag.sum(real * asarray(weights))
        return total

    return loss


def of_ours(error):
    """Whether an error says what to do in words of arraygrad's."""
    return "arraygrad" in str(error) or "requires grad" in str(error)


def outcome(cupy, name, call, arrays):
    """right, refused, or fails (cupyx's function does, too); anything else is what is wrong."""
    places = tuple(range(len(arrays)))
    over_scipy = ag.grad(weighted(program("scipy", name, call), np.asarray), argnums=places)(*arrays)
    given = [cupy.asarray(a) for a in arrays]
    try:
        found = ag.grad(weighted(program("cupyx.scipy", name, call), cupy.asarray), argnums=places)(*given)
    except Exception as error:
        if of_ours(error):
            return "refused"
        try:
            program("cupyx.scipy", name, call)(*map(cupy.array, arrays))
        except Exception:
            return "fails"
        return f"{type(error).__name__}: {error}"
    for array, as_given in zip(given, arrays, strict=True):
        np.testing.assert_array_equal(array.get(), as_given, err_msg="an argument was written")
    for mine, wanted in zip(found, over_scipy, strict=True):
        scale = float(np.max(np.abs(wanted), initial=1e-30))
        np.testing.assert_allclose(mine.get(), wanted, rtol=1e-5, atol=1e-7 * scale)
    return "right"


@pytest.mark.parametrize("name", SAMPLES or [pytest.param("", marks=pytest.mark.skip("CuPy is not installed"))])
def test_samples_have_the_gradients_of_scipys(cupy, name):
    found = [outcome(cupy, name, *sample) for sample in SAMPLES[name]]
    assert set(found) <= {"right", "refused", "fails"}
    assert "right" in found or name in NOT_RECORDED.split()


@pytest.mark.parametrize("name", NOT_RECORDED.split())
def test_the_way_out_that_refusals_name_leads_to_the_gradient(cupy, name):
    if name not in SAMPLES:
        pytest.skip("CuPy is not installed, or SciPy or cupyx has no such function")
    call, arrays = SAMPLES[name][0]
    places = tuple(range(len(arrays)))
    function = program("arraygrad.scipy", name, call)
    moved = weighted(lambda *tensors: function(*[ag.to_backend(t, "numpy") for t in tensors]), np.asarray)
    found = ag.grad(moved, argnums=places)(*map(cupy.asarray, arrays))
    wanted = ag.grad(weighted(program("scipy", name, call), np.asarray), argnums=places)(*arrays)
    for mine, theirs in zip(found, wanted, strict=True):
        assert type(mine) is cupy.ndarray
        np.testing.assert_allclose(mine.get(), theirs, rtol=1e-12)
