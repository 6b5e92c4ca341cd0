"""SciPy's functions that are declared constant: their results have no slope by any number that they are given.

The class: ranks, counts, truth values, places and nodes, with samples, weights, scales, locations and options of real
numbers. A number that a result does depend on has a derivative, or is refused.
"""

import importlib

import numpy as np

from .spelling import Spelling

CALLS = 80
UNDECIDED = 0.5  # steps of a count

# Calls of samples x, y, z of distinct numbers, positive weights w, truth values u, v (also as numbers: r, q), a matrix
# a and a number t.
TEMPLATES = """
spatial.distance.dice(r, q, w)
spatial.distance.hamming(r, q, w)
spatial.distance.jaccard(r, q, w)
spatial.distance.rogerstanimoto(r, q, w)
spatial.distance.russellrao(r, q, w)
spatial.distance.sokalsneath(r, q, w)
spatial.distance.yule(r, q, w)
spatial.distance.dice(u, v, w)
spatial.distance.hamming(u, v, w)
spatial.distance.jaccard(u, v, w)
spatial.distance.rogerstanimoto(u, v, w)
spatial.distance.russellrao(u, v, w)
spatial.distance.sokalsneath(u, v, w)
spatial.distance.yule(u, v, w)
spatial.distance.dice(x, y)
spatial.distance.rogerstanimoto(x, w)
spatial.distance.russellrao(x, y)
spatial.distance.sokalsneath(x, y)
spatial.distance.yule(x, w)
spatial.distance.hamming(x, y)
spatial.distance.jaccard(x, q)
spatial.distance.cdist(a, a, 'hamming', w=w[:3])
spatial.distance.pdist(a, 'jaccard', w=w[:3])
spatial.distance.is_valid_y(x[:3])
stats.rankdata(x)
stats.spearmanr(x, y)
stats.kendalltau(x, y)
stats.weightedtau(x, y)
stats.mannwhitneyu(x, y)
stats.wilcoxon(x, y)
stats.kruskal(x, y, z)
stats.friedmanchisquare(x, y, w)
stats.ansari(x, y)
stats.mood(x, y)
stats.fligner(x, y, proportiontocut=0.05)
stats.brunnermunzel(x, y)
stats.cramervonmises_2samp(x, y)
stats.ranksums(x, y)
stats.chatterjeexi(x, y)
stats.somersd(x, y)
stats.percentileofscore(x, t)
stats.ks_2samp(x, y)
stats.ks_2samp(x, z).statistic_location
stats.ks_2samp(a, z, axis=1).statistic_location
stats.ks_2samp(a, a + 0.3, axis=0, keepdims=True).statistic_location
stats.ks_2samp(x, z, axis=None).statistic_location
stats.kstest(x, z).statistic_location
stats.median_test(x, y)[:3]
stats.median_test(x, z, ties='above').median
stats.median_test(x, y, z, lambda_=t)[:2]
stats.median_test(x, y, nan_policy='omit').median
stats.binom.support(5, 0.3, t)
stats.binom.support(5, t)
stats.poisson.support(t, loc=t)
stats.randint.support(1, 6, loc=t)
stats.norm.support(t, t)
stats.uniform.support(t, t)
stats.geom(0.3, loc=t).support()
ndimage.distance_transform_edt(u, sampling=t)
ndimage.distance_transform_bf(a > 0, sampling=w[:2])
ndimage.histogram(x, -5, 5, 3)
ndimage.label(a)[0]
ndimage.maximum_position(a)
signal.square(x, t)
signal.argrelmax(x)[0]
signal.windows.hann(5)
signal.unit_impulse(4)
optimize.linear_sum_assignment(a)
""".strip().splitlines()

NUMBERS = "xyzwrqat"


def arrays_of(rng):
    n = int(rng.integers(5, 8))
    u, v = rng.random(n) < 0.5, rng.random(n) < 0.6
    u[:4], v[:4] = (True, True, False, False), (True, False, True, False)
    return {
        "x": rng.normal(size=n),
        "y": rng.normal(size=n) + 0.3,
        "z": rng.normal(size=int(rng.integers(3, 7))),
        "w": rng.uniform(0.2, 0.9, size=n),
        "u": u,
        "v": v,
        "r": u.astype(float),
        "q": v.astype(float),
        "a": rng.normal(size=(3, 3)),
        "t": np.asarray(rng.uniform(0.2, 0.9)),
    }


def draw(rng):
    return member(rng, str(rng.choice(TEMPLATES)))


def member(rng, text):
    module, _, rest = text.partition(".")
    names = compile(text, "call", "eval").co_names
    arrays = arrays_of(rng)
    used = [name for name in arrays if name in names]

    def call(package):
        def run(*given):
            chapter = importlib.import_module(f"{package}.{module}")
            if module == "spatial":
                importlib.import_module(f"{package}.spatial.distance")
            elif module == "signal":
                importlib.import_module(f"{package}.signal.windows")
            numbers = {key: g if np.ndim(g) else g[()] for key, g in zip(used, given, strict=True)}
            found = eval(f"chapter.{rest}", {"chapter": chapter, **numbers})
            if isinstance(found, tuple):
                return list(found)
            return [found.statistic, found.pvalue] if hasattr(found, "pvalue") else found

        return run

    what = f"{text} of " + ", ".join([f"{name}={arrays[name].tolist()}" for name in used])
    given = tuple(arrays[name] for name in used)
    return Spelling(
        what, call("arraygrad.scipy"), call("scipy"), given, order=2, may_refuse=(TypeError,), must_refuse=False,
        dtypes=False,
    )  # fmt: skip
