"""How statistics of samples are declared: written for samples along the last axis, served for every axis.

May import: arraygrad, scipy._axes, scipy._declare, numpy, SciPy.

SciPy treats `axis`, `nan_policy` and `keepdims` of most of its statistics in one place (`_axis_nan_policy`), so that
these mean the same everywhere. What is declared by `of_samples` has them from here.
"""

import inspect

import numpy as np
from scipy import stats

import arraygrad as ag
from arraygrad.scipy._axes import kept, ndim_of, ones
from arraygrad.scipy._declare import Chapter, raw

__all__ = ["CHAPTER", "NAMES", "along_samples", "of_samples", "samples_along"]

CHAPTER = Chapter("stats", stats)
NAMES = CHAPTER.names


def of_samples(name, of, source="SciPy", *, samples="a", paired=False, **options):
    """Decorator of a statistic of samples along the last axis, as one with SciPy's axis, nan_policy and keepdims.

    Parameters
    ----------
    name, of, source, **options
        Of `composed`.
    samples : str
        Parameters that are samples, separated by blanks; one may be a tuple of them. Those that are None are left out.
    paired : bool
        Whether SciPy pairs their elements: the axis itself broadcasts then, and a nan leaves all of them out.

    The formula has SciPy's other parameters. It returns an array, a tuple of several, or a list of what SciPy stacks
    in front.
    """

    def declare(formula):
        if CHAPTER.values(name) is not None:
            whole = along_samples(formula, CHAPTER.values(name), samples.split(), paired)
            CHAPTER.by_composition(name, of, source, **options)(whole)
        return formula

    return declare


def samples_along(axis, samples, paired=False):
    """(samples along the last axis, number of axes that `axis` is counted in)."""
    samples = [ag.asarray(a) for a in samples]
    return ones(axis, samples, paired), max(1, *map(ndim_of, samples))


def along_samples(formula, values, names, paired=False):
    """`formula` of samples along the last axis with the axis, nan_policy and keepdims of SciPy's function `values`."""
    shown = inspect.signature(formula)
    theirs = inspect.signature(values).parameters
    several = {key for key in names if theirs[key].kind is inspect.Parameter.VAR_POSITIONAL}
    default = theirs["axis"].default
    further = [
        inspect.Parameter("axis", inspect.Parameter.KEYWORD_ONLY, default=default),
        inspect.Parameter("nan_policy", inspect.Parameter.KEYWORD_ONLY, default="propagate"),
        inspect.Parameter("keepdims", inspect.Parameter.KEYWORD_ONLY, default=False),
    ]

    def whole(*args, axis=default, nan_policy="propagate", keepdims=False, **kwargs):
        given = dict(shown.bind(*args, **kwargs).arguments)
        keys = [key for key in names if given.get(key) is not None]
        counts = [len(given[key]) if key in several else None for key in keys]
        flat = [a for key in keys for a in (given[key] if key in several else (given[key],))]
        rows, ndim = samples_along(axis, flat, paired)

        def found(rows):
            rows, named = iter(rows), dict(given)
            for key, count in zip(keys, counts, strict=True):
                named[key] = next(rows) if count is None else tuple([next(rows) for _ in range(count)])
            return formula(**named)

        gaps = [np.isnan(np.asarray(raw(a))) for a in rows] if nan_policy == "omit" else []
        result = _row_by_row(found, rows, gaps, paired) if any(map(np.any, gaps)) else found(rows)
        if keepdims:
            parts = result if isinstance(result, (tuple, list)) else [result]
            parts = [kept(part, axis, ndim) for part in parts]
            result = type(result)(parts) if isinstance(result, (tuple, list)) else parts[0]
        return ag.stack(result) if isinstance(result, list) else result

    whole.__signature__ = shown.replace(parameters=[*shown.parameters.values(), *further])
    return whole


def _row_by_row(found, rows, gaps, paired):
    """The results of samples without their nan; nan where too few elements are left, as SciPy has it."""
    outer = np.broadcast_shapes(*[a.shape[:-1] for a in rows])
    if paired:
        gaps = [np.any(gaps, axis=0)] * len(rows)
    results, kind, count = [], None, 1
    for place in np.ndindex(*outer):
        left = [ag.take(a[place], np.flatnonzero(~gap[place])) for a, gap in zip(rows, gaps, strict=True)]
        try:
            result = found(left) if all(a.size for a in left) else None
        except (ArithmeticError, ValueError):  # a formula of the count
            result = None
        if result is None:
            results.append(sum(ag.sum(a) for a in left) * np.nan)
            continue
        kind = type(result) if isinstance(result, (tuple, list)) else None
        results.append(list(result) if kind else [result])
        count = len(results[-1])
    parts = [
        ag.reshape(ag.stack([ag.asarray(one[i] if isinstance(one, list) else one) for one in results]), outer)
        for i in range(count)
    ]
    return kind(parts) if kind else parts[0]
