"""Special functions and statistics at arguments away from their samples, to the second derivative.

The class: every sample of scipy.special and scipy.stats in tests/scipy_rules x arguments near those of the sample, of
another size, in another order, zero, or equal.
"""

import functools
import importlib

import numpy as np

from arraygrad.scipy import NotDifferentiable

from . import perturbed_samples
from .perturbed_samples import ANEW, ORDERS, TIES, drawn_anew, named, numbers_in, ordered, tied
from .spelling import Spelling

CALLS = 100
UNDECIDED = 0.6
CHAPTERS = ("special.", "stats.")
# SciPy finds these by iteration, with few digits, or slowly; the third derivative at the poles of a sphere is nan.
LEFT_OUT = ("special.ncfdtr", "special.chndtri", "special.pro_rad", "special.obl_rad", "special.sph_legendre_p")
# At an end of the interval that SciPy searches these solve nothing, and say so by nan.
INVERSES = {
    f"special.{name}" for name in (
        "gdtria gdtrib gdtrix chdtriv pdtrik btdtria btdtrib bdtrik bdtrin nbdtrik nbdtrin fdtri fdtridfd stdtridf "
        "chndtridf chndtrinc chndtrix ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc nctdtridf nctdtrinc nctdtrit"
    ).split()
}  # fmt: skip


@functools.cache
def samples():
    """(number, name, call, arrays) of all samples that are drawn from."""
    perturbed_samples.samples()  # reads them
    every = importlib.import_module("scipy_samples").SAMPLES
    return [
        (number, name, call, arrays)
        for number, (name, call, arrays, _) in enumerate(every)
        if arrays
        and name.startswith(CHAPTERS)
        and not name.startswith(LEFT_OUT)
        and all(0 < a.size <= perturbed_samples.MOST for a in arrays)
    ]


def draw(rng):
    every = samples()
    number, name, call, arrays = every[int(rng.integers(len(every)))]
    group = rng.choice(["anew", "anew", "order", "tie"])
    if group == "anew":
        kind = str(rng.choice([*ANEW, "around", "around", "scaled"]))
        arrays = drawn_anew(kind, arrays, rng)
    elif group == "order":
        kind = str(rng.choice(ORDERS))
        arrays = ordered(kind, arrays, rng)
    else:
        kind = str(rng.choice(TIES))
        arrays = tied(kind, arrays, rng)

    def of(root):
        return lambda *given: numbers_in(call(named(root, name), *given))

    return Spelling(
        f"{name} (sample {number}), {kind}: {[a.tolist() for a in arrays]}", of("arraygrad.scipy"), of("scipy"),
        tuple(np.ascontiguousarray(a).reshape(a.shape) for a in arrays), order=2, rtol=1e-4, value_rtol=1e-7,
        must_refuse=False, may_refuse=(NotDifferentiable, TypeError, ValueError), anywhere=True,
        may_be_nan=group == "tie" or name in INVERSES,
    )  # fmt: skip
