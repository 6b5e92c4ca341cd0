"""SciPy's functions away from the samples that their rules are tested at.

The class: every sample of tests/scipy_rules x arrays that are drawn anew, of other sizes and signs; rows in another
order; a first element that is zero; float32. A function that sorts, cuts, chooses or weighs by itself shows that only
there: at a sample made for it, what a rule leaves out may be nothing. Ties, of which a derivative is a choice, have
classes of their own (equal_values), and are compared by value alone here.
"""

import functools
import importlib
import itertools
import pathlib
import sys

import numpy as np

from .spelling import Spelling

CALLS = 150
UNDECIDED = 0.5  # sums that cancel, tails that underflow

FOLDER = pathlib.Path(__file__).parents[2] / "scipy_rules"
# Their results are those of an iteration that stops at a tolerance, so differences tell that of the plain call alone.
ITERATED = (
    "optimize.", "integrate.odeint", "integrate.solve_ivp", "integrate.solve_bvp", "integrate.ode", "integrate.quad",
    "integrate.nquad", "integrate.nsum", "integrate.dblquad", "integrate.tplquad", "integrate.cubature",
    "integrate.tanhsinh",
    "interpolate.RegularGridInterpolator", "interpolate.interpn", "interpolate.CloughTocher", "sparse.linalg.",
    "stats.", "special.", "differentiate.",
    # Polynomials through many points, and phases that turn many times: differences tell little far away.
    "interpolate.lagrange", "interpolate.Barycentric", "interpolate.barycentric", "interpolate.Krogh", "signal.chirp",
    "signal.sweep_poly",
)  # fmt: skip
MOST = 64  # elements of an array


@functools.cache
def samples():
    """(number, name, call, arrays) of all samples that are drawn from."""
    sys.path.insert(0, str(FOLDER))
    try:
        found = importlib.import_module("scipy_samples").SAMPLES
        for path in sorted(FOLDER.glob("samples_*.py")):
            importlib.import_module(path.stem)
    finally:
        sys.path.remove(str(FOLDER))
    return [
        (number, name, call, arrays)
        for number, (name, call, arrays, _) in enumerate(found)
        if arrays and all(0 < a.size <= MOST for a in arrays) and not name.startswith(ITERATED)
    ]


def like(values, array, rng):
    """Real numbers, or complex ones where the array is complex."""
    if not np.iscomplexobj(array):
        return values
    return values + 1j * rng.permutation(values.reshape(-1)).reshape(values.shape)


ANEW = {
    "normal": lambda a, rng: like(3.0 * rng.normal(size=a.shape), a, rng),
    "wide": lambda a, rng: like(np.exp(rng.normal(size=a.shape)), a, rng),
    "unit": lambda a, rng: like(rng.uniform(0.01, 0.99, size=a.shape), a, rng),
    "around": lambda a, rng: a * (1.0 + 0.5 * rng.uniform(-1.0, 1.0, size=a.shape)),
    "scaled": lambda a, rng: a * np.exp(rng.normal()) * (1.0 + 0.3 * rng.normal(size=a.shape)),
}
ORDERS = ("rows in another order", "rows reversed", "one reversed", "sorted")
TIES = ("first is zero", "two are equal")


def drawn_anew(kind, arrays, rng):
    only = int(rng.integers(-1, len(arrays)))  # -1: all of them
    return [a if only >= 0 and i != only else np.asarray(ANEW[kind](a, rng)) for i, a in enumerate(arrays)]


def ordered(kind, arrays, rng):
    most = max(a.shape[0] if a.ndim else 0 for a in arrays)
    if kind.startswith("rows"):
        places = rng.permutation(most) if kind == ORDERS[0] else np.arange(most)[::-1]
        return [a[places] if a.ndim and a.shape[0] == most else a for a in arrays]
    i = int(rng.integers(len(arrays)))
    changed = arrays[i][..., ::-1] if kind == "one reversed" and arrays[i].ndim else arrays[i]
    if kind == "sorted" and arrays[i].ndim and not np.iscomplexobj(arrays[i]):
        changed = np.sort(arrays[i], axis=0)
    return [changed if j == i else a for j, a in enumerate(arrays)]


def tied(kind, arrays, rng):
    i = int(rng.integers(len(arrays)))
    a = arrays[i].copy()
    flat = a.reshape(-1)
    flat[-1 if kind == "two are equal" else 0] = flat[0] if kind == "two are equal" else 0.0
    return [a if j == i else b for j, b in enumerate(arrays)]


def numbers_in(found):
    """The arrays and numbers of a result, those of floating point alone."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, (tuple, list)):
        return list(itertools.chain.from_iterable(map(numbers_in, found)))
    return [found] if getattr(found, "dtype", np.dtype(float if type(found) is float else int)).kind in "fc" else []


def named(root, name):
    found = importlib.import_module(root)
    for part in name.split("."):
        if not hasattr(found, part):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


def draw(rng):
    every = samples()
    number, name, call, arrays = every[int(rng.integers(len(every)))]
    group = rng.choice(["anew", "anew", "order", "tie", "float32"])
    if group == "anew":
        kind = str(rng.choice(list(ANEW)))
        given = drawn_anew(kind, arrays, rng)
    elif group == "order":
        kind = str(rng.choice(ORDERS))
        given = ordered(kind, arrays, rng)
    elif group == "tie":
        kind = str(rng.choice(TIES))
        given = tied(kind, arrays, rng)
    else:
        kind = "float32"
        given = [a.astype(np.complex64 if np.iscomplexobj(a) else np.float32) for a in arrays]

    def of(root):
        return lambda *a: numbers_in(call(named(root, name), *a))

    # Of a symmetric matrix in another order an eigenvector may have an element that is zero, whose size has a kink.
    by_value = group == "tie" or (group == "order" and name.startswith("linalg."))
    low = kind == "float32"
    return Spelling(
        f"{name} (sample {number}), {kind}: {[a.tolist() for a in given]}", of("arraygrad.scipy"), of("scipy"),
        tuple(np.ascontiguousarray(a).reshape(a.shape) for a in given), order=0 if by_value else 1, rtol=1e-5,
        value_rtol=1e-4 if low else 1e-8, step=1e-4, dtypes=not name.startswith("sparse."), must_refuse=False,
        may_refuse=(TypeError, NotImplementedError, ValueError),
    )  # fmt: skip
