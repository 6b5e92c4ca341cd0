"""What becomes of a call of a public name of CuPy's on Tensors, beside the same call on plain arrays.

`outcome` compares value and gradient with the plain call: the gradient along a direction with central differences.
Helper of test_every_name.py. Imports the public names of arraygrad.
"""

import importlib
import re
import types
import warnings

import numpy as np

import arraygrad as ag

# No element is where functions have kinks, and no two sums of elements are equal.
X = np.array([[1.93, 0.52], [0.31, 1.47]])
ALONG = np.array([[0.3, -0.7], [0.9, 0.4]])
STEP = 1e-6

# What errors of arraygrad's say: its name, a way out, or why there is no gradient.
OURS = re.compile(
    r"arraygrad|requires grad|0-d integer tensor|use numpy\.|order must be|gradient depends|rule of the pseudo-inverse"
    r"|expected an array or a Tensor"
)


def line(n):
    """0.0 to n - 1."""
    return importlib.import_module("cupy").arange(float(n))


def matrix_of(x):
    """A symmetric sparse matrix with the elements of x."""
    package = "arraygrad" if isinstance(x, ag.Tensor) else "cupyx"
    return importlib.import_module(f"{package}.scipy.sparse").csr_matrix(x + x.T)


# How names are called, in turn.
CALLS = [
    lambda f, x: f(x),
    lambda f, x: f(x * 0.4),
    lambda f, x: f(x, x),
    lambda f, x: f(x * 0.4, x),
    lambda f, x: f(x, x * 0.4),
    lambda f, x: f(x, 1),
    lambda f, x: f(1, x),
    lambda f, x: f([x, x]),
    lambda f, x: f(x, x, x),
    lambda f, x: f(x, x + 1.0, x * 0.4),
    lambda f, x: f(x[0]),
    lambda f, x: f(x[0], x[0]),
    lambda f, x: f(x[0], x[1], 1),
    lambda f, x: f(x, axis=0),
    lambda f, x: f(x, "float32"),
    lambda f, x: f(x, (2, 2)),
    lambda f, x: f(x[0] > 1.0, x),
    lambda f, x: f([x > 1.0], [x]),
    lambda f, x: f(x, x > 1.0, 0),
    lambda f, x: f(x, x > 1.0, x[0]),
    lambda f, x: f((x > 1.0) * 1, [x, x]),
    lambda f, x: f((x[0] > 1.0) * 1, x[0]),
    lambda f, x: f(x, (line(2) > 0.5) * 1, x, 0),
    lambda f, x: f(x, (x > 1.0) * 1, 0),
    lambda f, x: f(lambda row: row * 2, 0, x),
    lambda f, x: f((2, 2), x[0, 0]),
    lambda f, x: f(x @ x.T),
    lambda f, x: f(x[0], x[0], x[0]),
    lambda f, x: f(matrix_of(x)),
    lambda f, x: f(matrix_of(x), matrix_of(x)),
    lambda f, x: f(matrix_of(x), x[0]),
    lambda f, x: f([matrix_of(x), matrix_of(x)]),
    lambda f, x: f([[matrix_of(x)]]),
    lambda f, x: f(matrix_of(x), 1),
    lambda f, x: f(x[0], [0, 1]),
    lambda f, x: f(x, 0, 1),
    lambda f, x: f(8),
    lambda f, x: f(8, 0.5),
    lambda f, x: f(8, x[0, 1]),
    lambda f, x: f("hann", 8, 4),
    lambda f, x: f((line(2), line(2)), x, x * 0.1),
    lambda f, x: f(line(4), x.ravel(), line(2) + 0.5),
    lambda f, x: f((line(8), x.ravel(), 3)),
    lambda f, x: f(x, (x > 1.0) * 1, [0, 1], importlib.import_module("cupy").sum, "float64", 0),
    lambda f, x: f(x[1, 0], 0, line(2) * 0.6 + 0.2, line(2) * 0.2 + 0.35, 1.0, 20.0, "butter"),
    lambda f, x: f(line(8), x[0, 0], 1.0, x[1, 0]),
    lambda f, x: f(x[0], x[1], line(30) * x[0, 0]),
    lambda f, x: f(x, line(3), line(3) ** 2),
    lambda f, x: f((line(6) + 1.0)[None] * x[0, 0]),
    lambda f, x: f(x, x[:, :1], x[:1], x[:1, :1]),
    lambda f, x: f(x, 50.0, interpolation="linear"),
    lambda f, x: f(x, x[:1].sum(), x[1:].sum() + 3.0),
    lambda f, x: f(x[0, 0], x[1, 1], (3,)),
    lambda f, x: f(x, None, None, (2, 2)),
    lambda f, x: f("ij,jk", x, x),
    lambda f, x: f(x[0], x[1], x[0], x[1]),
    lambda f, x: f(x.ravel(), 2),
    lambda f, x: f(x + 0j),
    lambda f, x: f(1, 1, x),
    lambda f, x: f(1.5, x, x),
    lambda f, x: f(0, 1, 0.5, x),
    lambda f, x: f(x[None]),
    lambda f, x: f(matrix_of(x), x),
]


def parts_of(found):
    """The arrays and numbers of a result, as a list."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list | tuple):
        return [part for item in found for part in parts_of(item)]
    return [found.toarray() if hasattr(found, "tocsr") else found]


def raw(value):
    """The array of a Tensor. To adopted code hasattr and getattr answer as for a plain array, which has no `array`."""
    return value.array if isinstance(value, ag.Tensor) else value


def weighted(cupy, found):
    """The sum of all inexact elements of some results, each by a weight of its own, real and imaginary parts apart."""
    total = 0.0
    for k, part in enumerate(parts_of(found)):
        if isinstance(part, float | complex):
            total = total + part.real * np.cos(k) + part.imag * np.sin(k)
            continue  # a scalar of NumPy's is a float, and counts once
        if not all(hasattr(part, name) for name in ("dtype", "shape", "real", "ndim")):
            continue
        kind = np.dtype(part.dtype).kind
        for j, real in enumerate((part.real, part.imag) if kind == "c" else (part,) if kind == "f" else ()):
            weights = np.cos(np.arange(np.prod(real.shape)) * 1.3 + k + j).reshape(real.shape)
            on_host = isinstance(raw(real), np.ndarray | np.generic)
            term = (real * (weights if on_host else cupy.asarray(weights))).sum()
            term = float(term) if on_host and not isinstance(term, ag.Tensor) else term
            total = total + (ag.to_backend(term, "cupy") if on_host and isinstance(term, ag.Tensor) else term)
    return total


def number(value):
    """A number of whatever kind as a float."""
    value = raw(value)
    return float(value.get() if hasattr(value, "get") else value)


def program(module, name, call):
    """g(u) of a module that imports CuPy's as cp: a call of one of its names."""
    made = types.ModuleType("program")
    made.call = call
    exec(f"import {module} as cp\ndef g(u):\n    return call(cp.{name}, u)\n", made.__dict__)
    return made.g


def outcome(cupy, module, name, call, adopt):
    """right, constant, kink or refused; None where the plain call fails; anything else says what is wrong."""
    g = program(module, name, call)

    def run(x):
        cupy.random.seed(7)
        u = x * 1.0
        return weighted(cupy, [g(u), u])  # the argument may have been written

    def plain(values):
        return number(run(cupy.asarray(values)))

    try:
        value = plain(X)
        slopes = [(plain(X + h * ALONG) - plain(X - h * ALONG)) / (2 * h) for h in (STEP, 3 * STEP)]
    except Exception:  # not a call of this name's
        return None
    if not np.isfinite([value, *slopes]).all():
        return None
    seen = []

    def f(t):
        total = run(t)
        seen.append(number(total))
        return total + 0.0 * ag.sum(t)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            gradient = ag.grad(f, adopt=adopt)(cupy.asarray(X))
        except Exception as error:
            text = " ".join([type(error).__name__, str(error), *getattr(error, "__notes__", [])])
            return "refused" if OURS.search(text) else text
    found = float(np.sum(gradient.get() * ALONG))
    if not np.isclose(seen[0], value, rtol=1e-6, atol=1e-9):
        return f"value {seen[0]} for {value}"
    if abs(slopes[1] - slopes[0]) > 1e-4 * max(1.0, abs(slopes[0])):
        return "kink"
    if np.isclose(found, slopes[0], rtol=1e-5, atol=1e-5 + 1e-8 * abs(value)):
        return "right"
    if any(OURS.search(str(w.message)) for w in told):
        return "refused"
    return f"gradient {found} for {slopes[0]}"
