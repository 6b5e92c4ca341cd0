"""Cosine and sine transforms with all their options.

The class: scipy.fft's eight functions, all types, norms, orthogonalize= of all kinds, real and complex numbers in both
precisions, axes of both signs, lengths that are cut and filled; second derivatives.
"""

from .swapped_products import numbers, of_scipy, one_of, sizes

CALLS = 40


def draw(rng):
    name = one_of(rng, "dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn")
    ndim = int(rng.integers(1, 4))
    shape = sizes(rng, ndim, 2, 6)
    x = numbers(rng, shape, rng.random() < 0.4, rng.random() < 0.2)
    keywords = {
        "type": int(rng.integers(1, 5)),
        "norm": one_of(rng, None, "backward", "ortho", "forward"),
        "orthogonalize": one_of(rng, None, True, False),
    }
    axes = [int(a) - (ndim if rng.random() < 0.5 else 0) for a in rng.permutation(ndim)[: rng.integers(1, ndim + 1)]]
    if name.endswith("n"):
        keywords["axes"] = axes
        if rng.random() < 0.4:
            keywords["s"] = [int(n) for n in rng.integers(2, 7, len(axes))]
    else:
        keywords["axis"] = axes[0]
        if rng.random() < 0.4:
            keywords["n"] = int(rng.integers(2, 7))
    return of_scipy(f"fft.{name}", (x,), keywords, value_rtol=1e-5 if x.dtype.itemsize <= 8 else 1e-10)
