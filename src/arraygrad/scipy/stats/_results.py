"""Results of tests beside their fields: confidence intervals, degrees of freedom, errors; what is left out says so.

May import: arraygrad, core.tensor, scipy._declare, scipy._guards, scipy.stats._functions, _samples and
_univariate, SciPy.

SciPy's result objects keep numbers of the samples, which would be constants unseen. A recorded result has the fields of
SciPy's tuple, and these by formula, made of the samples where they are asked for.
"""

import functools
import math

from scipy import stats

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import REGISTRY, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.stats._samples import NAMES, samples_along
from arraygrad.scipy.stats._univariate import OBJECTS

__all__ = []


def _of_one(a, popmean=0.0, axis=0, **_):
    """(estimate, its standard error, degrees of freedom) of one sample."""
    (a, _), _ = samples_along(axis, [a, popmean])
    return _mean_and_error(a)


def _mean_and_error(a):
    n = a.shape[-1]
    return ag.mean(a, axis=-1), ag.std(a, axis=-1, correction=1) / math.sqrt(n), float(n - 1)


def _of_pairs(a, b, axis=0, **_):
    (a, b), _ = samples_along(axis, [a, b], paired=True)
    return _mean_and_error(a - b)


def _of_two(a, b, axis=0, equal_var=True, **_):
    (a, b), _ = samples_along(axis, [a, b])
    n, m = a.shape[-1], b.shape[-1]
    u, v = ag.var(a, axis=-1, correction=1), ag.var(b, axis=-1, correction=1)
    away = ag.mean(a, axis=-1) - ag.mean(b, axis=-1)
    if equal_var:
        df = float(n + m - 2)
        return away, ag.sqrt(((n - 1.0) * u + (m - 1.0) * v) / df * (1.0 / n + 1.0 / m)), df
    u, v = u / n, v / m
    return away, ag.sqrt(u + v), (u + v) ** 2 / (u**2 / (n - 1.0) + v**2 / (m - 1.0))


def _level(confidence_level):
    if isinstance(confidence_level, Tensor) and confidence_level.requires_grad:
        raise NotDifferentiable(
            "arraygrad.scipy.stats: confidence_interval has a derivative in the samples, none in confidence_level"
        )
    level = float(raw(confidence_level))
    if not 0.0 <= level <= 1.0:
        raise ValueError(f"confidence_interval: expected a level between 0 and 1, got {level}")
    return level


def _interval(low, high):
    kind = type(stats.ttest_1samp([0.0, 1.0], 0.0).confidence_interval())
    return kind(low=low, high=high)


def _t_interval(measured):
    def interval(given, result, confidence_level=0.95):
        level, side = _level(confidence_level), given.get("alternative", "two-sided")
        middle, error, df = measured(**given)
        beyond = 0.5 * (1.0 - level) if side == "two-sided" else 1.0 - level
        length = OBJECTS["t"].ppf(1.0 - beyond, df) * error
        endless = ag.full_like(middle, math.inf)
        return _interval(
            -endless if side == "less" else middle - length, endless if side == "greater" else middle + length
        )

    return interval


def _t_further(measured):
    def df(given, result):
        return measured(**given)[2] + 0.0 * raw(result[0])

    return {"df": df, "confidence_interval()": _t_interval(measured)}


def _pearson_interval(given, result, confidence_level=0.95, method=None):
    if method is not None:
        raise NotDifferentiable("arraygrad.scipy.stats.pearsonr: confidence_interval has a derivative with method=None")
    level, side = _level(confidence_level), given.get("alternative", "two-sided")
    (x, _), _ = samples_along(given.get("axis", 0), [given["x"], given["y"]])
    n, r = x.shape[-1], result[0]
    one = ag.ones_like(r)
    if n <= 3:
        return _interval(-one, one)
    # Fisher's transformation.
    length = stats.norm.ppf(0.5 + 0.5 * level if side == "two-sided" else level) / math.sqrt(n - 3.0)
    low, high = ag.tanh(ag.atanh(r) - length), ag.tanh(ag.atanh(r) + length)
    return _interval(-one if side == "less" else low, one if side == "greater" else high)


def _intercept_error(given, result):
    (x, _), _ = samples_along(given.get("axis", 0), [given["x"], given["y"]], paired=True)
    return result.stderr * ag.sqrt(ag.mean(x * x, axis=-1))


# Function -> attribute (a method where it ends in "()") -> formula(arguments, result, ...).
_FURTHER = {
    "ttest_1samp": _t_further(_of_one),
    "ttest_rel": _t_further(_of_pairs),
    "ttest_ind": _t_further(_of_two),
    "pearsonr": {"correlation": lambda given, result: result[0], "confidence_interval()": _pearson_interval},
    "pointbiserialr": {"correlation": lambda given, result: result[0]},
    "linregress": {"intercept_stderr": _intercept_error},
}
for _name in ("f_oneway levene bartlett skewtest kurtosistest normaltest jarque_bera combine_pvalues theilslopes "
              "siegelslopes power_divergence chisquare ttest_ind_from_stats").split():  # fmt: skip
    _FURTHER[_name] = {}


def _check_plain(name, attribute, given):
    """The formulas are for samples as they are, and results without axes of length one."""
    if given.get("keepdims") or given.get("nan_policy") == "omit":
        raise NotDifferentiable(
            f"arraygrad.scipy.stats.{name}: {attribute} has a derivative for keepdims=False and "
            "nan_policy='propagate'. Call the function so"
        )


@functools.cache
def _kind(name, fields):
    """The named tuple `fields` with further attributes."""
    further = _FURTHER[name]

    def find(self, attribute):
        given = vars(self).get("_given")
        if given is not None and (attribute in further or f"{attribute}()" in further):
            _check_plain(name, attribute, given)
        if given is not None and attribute in further:
            return further[attribute](given, self)
        if given is not None and f"{attribute}()" in further:
            return functools.partial(further[f"{attribute}()"], given, self)
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        shown = ", ".join([*fields._fields, *further])
        raise AttributeError(
            f"arraygrad.scipy.stats.{name}: a recorded result has {shown}, and no {attribute}: numbers of the samples "
            "that SciPy's result keeps beside these would be constants unseen. Compute it of these, or pass detach()"
        )

    return type(fields.__name__, (fields,), {"__getattr__": find, "__module__": __name__})


def _with_further(name):
    rule, function = REGISTRY[f"stats.{name}"], NAMES[name]

    @functools.wraps(function)
    def call(*args, **kwargs):
        result = function(*args, **kwargs)
        if not hasattr(result, "_fields") or not any(isinstance(part, Tensor) for part in result):
            return result
        found = _kind(name, type(result))(*result)
        found._given = dict(rule.signature.bind(*args, **kwargs).arguments)
        return found

    NAMES[name] = rule.function = call


for _name in _FURTHER:
    if _name in NAMES and REGISTRY[f"stats.{_name}"].gradients is not None:
        _with_further(_name)
