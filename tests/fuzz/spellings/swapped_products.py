"""Products, convolutions and correlations that may swap their operands.

The class: real and complex numbers in either place, both precisions, all modes, boundaries, methods and origins, the
second operand smaller, larger, or larger in some axes only, of length one and none; second derivatives.
"""

import importlib

from .spelling import Spelling

CALLS = 60


def draw(rng):
    return (_numpys, _signals, _images, _along_axes)[int(rng.choice(4, p=[0.15, 0.45, 0.25, 0.15]))](rng)


def numbers(rng, shape, complex_, low):
    x = rng.uniform(-1.5, 1.5, shape)
    x = x + 1j * rng.uniform(-1.5, 1.5, shape) if complex_ else x
    return x.astype(("complex64" if complex_ else "float32") if low else x.dtype)


def pair(rng, first, second):
    low = rng.random() < 0.2
    return tuple(numbers(rng, shape, rng.random() < 0.5, low) for shape in (first, second))


def one_of(rng, *choices):
    return choices[int(rng.integers(len(choices)))]


def sizes(rng, ndim, low=1, high=5):
    return tuple(int(n) for n in rng.integers(low, high, size=ndim))


def call_of(package, name, keywords):
    chapter, _, function = name.rpartition(".")

    def call(*arrays):
        return getattr(importlib.import_module(f"{package}.{chapter}" if chapter else package), function)(
            *arrays, **keywords
        )

    return call


def of_scipy(name, arrays, keywords, **options):
    shapes = ", ".join(f"{a.dtype}{a.shape}" for a in arrays)
    return Spelling(f"scipy.{name}({shapes}, {keywords})", call_of("arraygrad.scipy", name, keywords),
                    call_of("scipy", name, keywords), arrays, order=2, **options)  # fmt: skip


def _numpys(rng):
    name = one_of(rng, "convolve", "correlate", "vdot", "inner", "dot", "outer", "kron", "vecdot", "matvec", "vecmat")
    n, m = sizes(rng, 2)
    keywords = {}
    if name in ("convolve", "correlate"):
        keywords["mode"] = one_of(rng, "full", "same", "valid")
        arrays = pair(rng, (n,), (m,))
    elif name == "matvec":
        arrays = pair(rng, (n, m), (m,))
    elif name == "vecmat":
        arrays = pair(rng, (n,), (n, m))
    else:
        arrays = pair(rng, (n,), (m if name in ("outer", "kron") else n,))
    shapes = ", ".join(f"{a.dtype}{a.shape}" for a in arrays)
    call = call_of("numpy", name, keywords)
    return Spelling(f"np.{name}({shapes}, {keywords})", call, call, arrays, order=2)


def _signals(rng):
    name = one_of(rng, "convolve", "correlate", "fftconvolve", "oaconvolve", "convolve2d", "correlate2d", "correlate2d")
    ndim = 2 if name.endswith("2d") else int(rng.integers(0, 3))
    empty = 0 if rng.random() < 0.05 else 1
    if name.endswith("2d"):
        empty = 1  # SciPy divides by a length of zero with boundary="wrap" or "symm", which ends the process
    first, second = sizes(rng, ndim, empty), sizes(rng, ndim, empty)
    if rng.random() < 0.4:  # one is larger in every axis
        first, second = (tuple(map(f, zip(first, second, strict=True))) for f in (max, min))
        if rng.random() < 0.5:
            first, second = second, first
    keywords = {"mode": one_of(rng, "full", "same", "valid")}
    if name.endswith("2d") and rng.random() < 0.6:
        keywords["boundary"] = one_of(rng, "fill", "wrap", "symm")
        if keywords["boundary"] == "fill" and rng.random() < 0.5:
            keywords["fillvalue"] = 0.7
    if name in ("convolve", "correlate") and rng.random() < 0.6:
        keywords["method"] = one_of(rng, "auto", "direct", "fft")
    return of_scipy(f"signal.{name}", pair(rng, first, second), keywords, value_rtol=1e-9)


def _images(rng):
    name = one_of(rng, "correlate", "convolve", "correlate1d", "convolve1d")
    ndim = int(rng.integers(1, 3))
    first = sizes(rng, ndim)
    keywords = {"mode": one_of(rng, "reflect", "constant", "nearest", "mirror", "wrap")}
    if keywords["mode"] == "constant" and rng.random() < 0.3:
        keywords["cval"] = 0.4
    if name.endswith("1d"):
        second = sizes(rng, 1)
        keywords["axis"] = int(rng.integers(-ndim, ndim))
        keywords["origin"] = int(rng.integers(-((second[0] - 1) // 2), (second[0] - 1) // 2 + 1))
    else:
        second = sizes(rng, ndim)
        keywords["origin"] = [int(rng.integers(-((n - 1) // 2), (n - 1) // 2 + 1)) for n in second]
        if ndim == 2 and rng.random() < 0.3:
            axis = int(rng.integers(-2, 2))
            second, keywords["axes"], keywords["origin"] = (second[axis],), (axis,), [keywords["origin"][axis]]
    return of_scipy(f"ndimage.{name}", pair(rng, first, second), keywords, value_rtol=1e-9)


def _along_axes(rng):
    name = one_of(rng, "fftconvolve", "oaconvolve")
    ndim = int(rng.integers(1, 4))
    axes = [int(a) for a in rng.permutation(ndim)[: rng.integers(1, ndim + 1)]]
    first, second = list(sizes(rng, ndim)), list(sizes(rng, ndim))
    for axis in range(ndim):
        if axis not in axes:  # these broadcast
            second[axis] = one_of(rng, first[axis], 1)
            if rng.random() < 0.3:
                first[axis] = 1
    axes = [a - ndim if rng.random() < 0.5 else a for a in axes]
    keywords = {"mode": one_of(rng, "full", "same", "valid"), "axes": axes[0] if len(axes) == 1 else axes}
    return of_scipy(f"signal.{name}", pair(rng, tuple(first), tuple(second)), keywords, value_rtol=1e-9)
