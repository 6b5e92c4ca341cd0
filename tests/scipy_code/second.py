"""Second derivatives of Tensors in SciPy's own functions: `python second.py` prints what was found as JSON.

Each sample of `samples` that is differentiated is differentiated twice, where it stands and at equal numbers, where
algorithms that take a largest element apart have ties. The reference is the mixed difference of the plain call's values
along two directions, at two steps, which say how sure it is.

May import: arraygrad, numpy, scipy, samples, survey. It has to run with SCIPY_ARRAY_API=1 in its environment.
"""

import json
import sys
import warnings

import numpy as np
from samples import SAMPLES
from survey import function_of, leaves_of

import arraygrad as ag

STEPS = (1e-3, 5e-4)
# What differences say nothing about, and why.
LEFT_OUT = {
    "spatial.transform.Rotation.from_matrix": "matrices beside the rotations take another branch",
    "spatial.transform.Rotation.mean": "its matrix has equal eigenvalues to rounding",
    "stats.epps_singleton_2samp": "the second derivative of an ill-conditioned pseudo-inverse has few digits",
}
# Spreads are zero at equal numbers: they have a kink there, or what is divided by them has a pole.
POLES = frozenset(
    f"stats.{name}" for name in "alexandergovern boxcox_llf chisquare differential_entropy gzscore jarque_bera "
    "power_divergence sem tstd tsem ttest_1samp ttest_ind ttest_rel variation yeojohnson_llf zmap".split()
)  # fmt: skip


def mixed(value, step):
    """d2 value / ds dt at zero, of the fourth order."""

    def at(h):
        return (value(h, h) - value(h, -h) - value(-h, h) + value(-h, -h)) / (4.0 * h * h)

    return (4.0 * at(step) - at(2.0 * step)) / 3.0


def floating(leaf):
    value = leaf.numpy() if isinstance(leaf, ag.Tensor) else np.asarray(leaf)
    return value if value.dtype.kind in "fc" else None


def total_of(leaves, weights):
    total = 0.0
    for leaf, w in zip(leaves, weights, strict=True):
        if w is None:
            continue
        if isinstance(leaf, ag.Tensor):
            leaf = ag.where(ag.asarray(np.asarray(w != 0.0)), leaf, 0.0)
            total = total + ag.sum(ag.real(leaf * w) if floating(leaf).dtype.kind == "c" else leaf * w)
        else:
            total = total + np.sum(np.where(w != 0.0, np.real(leaf), 0.0) * w)
    return total


def compared(sample, arrays):
    """None where nothing can be said, "" where both agree, else what differs."""
    f = function_of(sample.name)
    rng = np.random.default_rng(3)
    directions = [[rng.uniform(0.3, 1.0, a.shape) * rng.choice([-1, 1], a.shape) for a in arrays] for _ in range(2)]
    tensors = [ag.tensor(a, requires_grad=True) for a in arrays]
    leaves = leaves_of(sample.call(f, *tensors))
    kept = [floating(leaf) for leaf in leaves]
    weights = [None if v is None else rng.uniform(0.5, 1.5, v.shape) * np.isfinite(v) for v in kept]
    total = total_of(leaves, weights)
    if not isinstance(total, ag.Tensor) or not total.requires_grad:
        return None

    def value(s, t):
        moved = [a + s * u + t * v for a, u, v in zip(arrays, *directions, strict=True)]
        found = leaves_of(sample.call(f, *moved))
        return float(total_of(found, weights))

    expected, coarser = (mixed(value, step) for step in STEPS[::-1])
    firsts = ag.autograd.grad(total, tensors, create_graph=True, allow_unused=True)
    along = 0.0
    for g, u in zip(firsts, directions[0], strict=True):
        if g is not None and g.requires_grad:
            along = along + ag.sum(ag.real(g * u))
    seconds = [None] * len(tensors)
    if isinstance(along, ag.Tensor) and along.requires_grad:
        seconds = ag.autograd.grad(along, tensors, allow_unused=True)
    found = sum(float(np.sum(np.real(g.numpy() * v))) for g, v in zip(seconds, directions[1], strict=True)
                if g is not None)  # fmt: skip
    size = max(1.0, abs(expected), abs(found) if np.isfinite(found) else 0.0)
    if not abs(expected - coarser) <= 1e-4 * size:
        return None
    return "" if abs(found - expected) <= 2e-4 * size else f"{found!r}, by differences {expected!r}"


def equal(arrays):
    """The arrays with all elements equal, None where they are no vectors of positive numbers."""
    if any(a.ndim != 1 or a.dtype.kind == "c" or a.size < 2 for a in arrays):
        return None
    return [np.full_like(a, 0.6 + 0.1 * i) for i, a in enumerate(arrays)]


def main(names):
    agreed, undecided, wrong = [], [], {}
    for sample in SAMPLES:
        if sample.name in LEFT_OUT or sample.name.startswith("sklearn."):
            continue
        if names and not sample.name.startswith(tuple(names)):
            continue
        for where, arrays in (("", sample.arrays), (" at equal numbers", equal(sample.arrays))):
            if arrays is None or (where and sample.name in POLES):
                continue
            name = f"{sample.name}{where}"
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    found = compared(sample, arrays)
            except Exception:  # what is refused is the survey's business
                undecided.append(name)
                continue
            if found is None:
                undecided.append(name)
            elif found:
                wrong[name] = found
            else:
                agreed.append(name)
    print(json.dumps({"agreed": agreed, "undecided": undecided, "wrong": wrong}))


if __name__ == "__main__":
    main(sys.argv[1:])
