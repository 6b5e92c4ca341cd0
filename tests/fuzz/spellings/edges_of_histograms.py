"""The edges of NumPy's histograms: of data of any shape, of one number and of none, with bins= and range= of all kinds.

By the data, by the ends of range=, by edges that are given and by weights; in one dimension and several, with and
without density. Counts are steps: data stay away from the edges between which they lie.
"""

import numpy as np

from .arrays_of_numpy import Draw, spelling

CALLS = 120
RULES = ("auto", "fd", "sqrt", "scott", "rice", "sturges", "doane", "stone")


def _bins(d, by_rule=True):
    if by_rule and d.chance(0.3):
        return d.one_of(*RULES)
    return d.one_of(1, 2, 3, np.int64(4))


def _values(d, shape):
    return d.array((1,) if d.chance(0.15) else shape, ("float64", "float64", "float32"))


def _edges(d, low=-3.0):
    return np.cumsum(np.concatenate([[low], 0.5 + d.rng.random(d.integer(1, 3)) * 2]))


def _one(d):
    x = _values(d, d.shape(0, 2))
    options = {}
    name = d.one_of("histogram_bin_edges", "histogram")
    if name == "histogram" and d.chance(0.4) and x.size:
        options["density"] = True
    how = d.one_of("bins", "range", "edges", "weights")
    if how == "edges":
        return f"np.{name}", getattr(np, name), (x, _edges(d)), options
    if how == "range":
        ends = np.array([-2.0 - d.rng.random(), 2.0 + d.rng.random()])
        bins = _bins(d, x.size > 1)

        def histogram(x, ends, **options):
            return getattr(np, name)(x, bins, range=(ends[0], ends[1]), **options)

        return f"np.{name}(bins={bins!r}, range=)", histogram, (x, ends), options
    if how == "weights" and name == "histogram" and x.size > 1:
        weights = 0.5 + d.rng.random(x.shape)
        bins = _bins(d, by_rule=False)

        def weighted(x, weights, **options):
            return np.histogram(x, bins, weights=weights, **options)

        return f"np.histogram(bins={bins!r}, weights=)", weighted, (x, weights), options
    varied = x.size > 1  # or the rules choose other numbers of bins beside it
    return f"np.{name}", getattr(np, name), (x,), {"bins": _bins(d, varied), **options}


def _several(d):
    n = d.integer(2, 4)
    x, y = [d.rng.normal(size=n) for _ in range(2)]
    options = {"density": True} if d.chance(0.5) else {}
    how = d.one_of("bins", "each", "edges", "sample", "range")
    if how == "bins":
        return "np.histogram2d", np.histogram2d, (x, y), {"bins": d.integer(1, 3), **options}
    if how == "each":
        return "np.histogram2d", np.histogram2d, (x, y), {"bins": [d.integer(1, 3), d.integer(1, 3)], **options}
    if how == "edges":
        given, bins = _edges(d), d.integer(1, 3)

        def with_edges(x, y, given, **options):
            return np.histogram2d(x, y, [given, bins], **options)

        return f"np.histogram2d(bins=[edges, {bins}])", with_edges, (x, y, given), options
    if how == "range":
        bins = d.integer(1, 3)

        def with_range(x, y, ends, **options):
            return np.histogram2d(x, y, bins, range=[(ends[0], ends[1]), (-4.0, 4.0)], **options)

        return f"np.histogram2d(bins={bins}, range=)", with_range, (x, y, np.array([-4.2, 4.3])), options
    return "np.histogramdd", np.histogramdd, (np.stack([x, y], 1),), {"bins": [d.integer(1, 3), 2], **options}


def draw(rng):
    d = Draw(rng, empty=0.1)
    return spelling(*d.one_of(_one, _one, _several)(d), step=1e-6, rtol=1e-5, dtypes=False)
