"""What to write in the place of functions of math, statistics, scikit-learn and of random generators; what is flat.

May import: the standard library.
"""

import re
import sys

__all__ = ["drawn", "has_no_slope", "holder_of_numbers", "metric", "recorded_name"]

# What computes the same as a function of math or cmath, recorded. Names that are NumPy's too are not listed.
_NUMPY_NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh",
    "atan2": "arctan2", "pow": "power", "fsum": "sum", "dist": "linalg.norm", "sumprod": "dot", "phase": "angle",
    "remainder": "remainder",
}  # fmt: skip
_SPECIAL_NAMES = {"erf": "erf", "erfc": "special.erfc", "gamma": "special.gamma", "lgamma": "special.gammaln"}
_STATISTICS_NAMES = {
    "fmean": "mean", "mean": "mean", "median": "median", "pstdev": "std", "pvariance": "var",
    "stdev": "std(x, ddof=1)", "variance": "var(x, ddof=1)", "geometric_mean": "exp(numpy.mean(numpy.log(x)))",
    "harmonic_mean": "size(x) / numpy.sum(1 / x)", "correlation": "corrcoef(x, y)[0, 1]",
    "covariance": "cov(x, y)[0, 1]", "linear_regression": "polyfit(x, y, 1), slope and intercept",
    "median_low": "sort(x)[(len(x) - 1) // 2]",
    "median_high": "sort(x)[len(x) // 2]", "quantiles": "quantile(x, p, method='weibull')",
}  # fmt: skip

# Metrics of scikit-learn end in float(...): what each computes, of one output and without weights.
_METRICS = {
    "explained_variance_score": "1 - numpy.var(y - p) / numpy.var(y)",
    "log_loss": "-numpy.mean(y * numpy.log(p) + (1 - y) * numpy.log(1 - p))",
    "max_error": "numpy.max(numpy.abs(y - p))",
    "mean_absolute_error": "numpy.mean(numpy.abs(y - p))",
    "mean_absolute_percentage_error": "numpy.mean(numpy.abs(y - p) / numpy.abs(y))",
    "mean_gamma_deviance": "2 * numpy.mean(numpy.log(p / y) + y / p - 1)",
    "mean_pinball_loss": "numpy.mean(numpy.maximum(alpha * (y - p), (alpha - 1) * (y - p)))",
    "mean_poisson_deviance": "2 * numpy.mean(y * numpy.log(y / p) - y + p)",
    "mean_squared_error": "numpy.mean((y - p) ** 2)",
    "mean_squared_log_error": "numpy.mean((numpy.log1p(y) - numpy.log1p(p)) ** 2)",
    "r2_score": "1 - numpy.sum((y - p) ** 2) / numpy.sum((y - numpy.mean(y)) ** 2)",
    "root_mean_squared_error": "numpy.sqrt(numpy.mean((y - p) ** 2))",
    "root_mean_squared_log_error": "numpy.sqrt(numpy.mean((numpy.log1p(y) - numpy.log1p(p)) ** 2))",
}

# Methods of random generators, and what is recorded in their place.
_DRAWN = {
    "uniform": "What a generator draws is a constant: a + (b - a) * rng.uniform(size=...) is recorded. ",
    "normal": "What a generator draws is a constant: mu + sigma * rng.normal(size=...) is recorded. ",
    "exponential": "What a generator draws is a constant: scale * rng.exponential(size=...) is recorded. ",
    "multivariate_normal": (
        "What a generator draws is a constant: mean + numpy.linalg.cholesky(cov) @ rng.normal(size=...) is recorded. "
    ),
    "gamma": (
        "What a generator draws is a constant: scale * rng.gamma(shape, size=...) is recorded. In the shape its draws "
        "jump, and have no derivative: scipy.stats.gamma.ppf(u, shape) of uniform numbers u has one. "
    ),
    "beta": "By rejection its draws jump, and have no derivative: scipy.stats.beta.ppf(u, a, b) of uniform u has one. ",
    "standard_gamma": "By rejection its draws jump: scipy.stats.gamma.ppf(u, shape) of uniform u has a derivative. ",
    "chisquare": "By rejection its draws jump: scipy.stats.chi2.ppf(u, df) of uniform u has a derivative. ",
    "standard_t": "By rejection its draws jump: scipy.stats.t.ppf(u, df) of uniform u has a derivative. ",
    **dict.fromkeys(
        ("binomial", "geometric", "negative_binomial", "poisson", "multinomial"),
        "What it draws are whole numbers, which have no derivative: give it arraygrad.stop_gradient(t) where constants "
        "are meant. ",
    ),
    "permutation": "A generator takes no Tensor: x[rng.permutation(len(x))] is recorded. ",
    "permuted": "A generator takes no Tensor: numpy.take_along_axis(x, rng.permuted(places, axis=1), 1) is recorded. ",
    "choice": "A generator takes no Tensor: x[rng.choice(len(x), ...)] is recorded. Probabilities have no derivative. ",
    "shuffle": "A generator takes no Tensor: x[rng.permutation(len(x))] is recorded. ",
}


def drawn(expression):
    """What to write in the place of the method of a random generator that an expression calls; "" for others."""
    found = re.search(r"\.(\w+)\(", expression.partition("default_rng(")[2] or expression)
    return _DRAWN.get(found.group(1), "") if found else ""


_JUMPS = "By rejection its draws jump in {}, and have no derivative: "
# Functions of Python's random that ask math for a number of their parameters.
_DRAWN_BY_PYTHON = {
    "lognormvariate": "numpy.exp(random.normalvariate(mu, sigma)) is the same number, and is recorded. ",
    "triangular": (
        "scipy.stats.triang.ppf(random.random(), (mode - low) / (high - low), low, high - low) is the same number, and "
        "is recorded. "
    ),
    "gammavariate": _JUMPS.format("alpha")
    + "scipy.stats.gamma.ppf(random.random(), alpha, scale=beta) has one. In beta alone gammavariate is recorded. ",
    "betavariate": _JUMPS.format("its parameters") + "scipy.stats.beta.ppf(random.random(), alpha, beta) has one. ",
    "vonmisesvariate": _JUMPS.format("kappa") + "in mu alone it is recorded. ",
    "choices": "Weights choose, and have no derivative. ",
}


def _drawn_by_python(expression):
    """What to write in the place of a function of Python's random that an expression calls; "" for others."""
    found = re.search(r"(?<!np\.)(?<!numpy\.)\brandom\.(?:Random\(.*?\)\.)?(\w+)\(", expression)
    found = found or re.search(r"\.(\w+variate)\(", expression)
    return _DRAWN_BY_PYTHON.get(found.group(1), "") if found else ""


_BYTES = "struct writes bytes, which have no gradient: pack the value outside of the function that is differentiated. "
_CTYPES = (
    "ctypes holds plain numbers, and no gradient comes back from what is computed of them: use functions of NumPy's, "
    "or give a function that calls compiled code its derivative by arraygrad.primitive. "
)
_SHARED = "Shared memory holds plain numbers: let each process compute a gradient, and add them. "
_ARRAY = "array.array holds plain numbers: use a list, or numpy.array(x), which is recorded. "
_HOLDERS = {
    "_struct": _BYTES, "struct": _BYTES, "ctypes": _CTYPES, "_ctypes": _CTYPES, "array": _ARRAY,
    "multiprocessing": _SHARED,
}  # fmt: skip


def holder_of_numbers(called, target, expression=""):
    """What to say where what is called, or stored into, holds plain numbers of its own; "" for others."""
    for thing in (called, getattr(called, "__self__", None), target):
        kind = thing if isinstance(thing, type) else type(thing)
        bases = [kind.__module__, *[base.__module__ for base in kind.__mro__[:-1]], getattr(thing, "__module__", None)]
        for module in bases:
            found = _HOLDERS.get(module.partition(".")[0] if isinstance(module, str) else "")
            if found:
                return found
    if "ctypes." in expression:  # (ctypes.c_double * 2)(x, x)
        return _CTYPES
    if getattr(called, "__name__", "") in ("format_float_positional", "format_float_scientific"):
        return "It makes text, which has no gradient: write f'{x:.6g}', which shows the value. "
    return _drawn_by_python(expression)


def recorded_name(function):
    """The recorded namesake of a function of math, cmath or statistics; "" for others."""
    module, name = getattr(function, "__module__", None), getattr(function, "__name__", "")
    if module in ("math", "cmath"):
        if name in _SPECIAL_NAMES:
            return f"arraygrad.{_SPECIAL_NAMES[name]}"
        known = _NUMPY_NAMES.get(name, name)
        return f"numpy.{known}" if name in _NUMPY_NAMES or hasattr(sys.modules.get("numpy"), known) else ""
    if module == "statistics" and name in _STATISTICS_NAMES:
        return f"numpy.{_STATISTICS_NAMES[name]}"
    return "numpy.array(x)" if module == name == "array" else ""


def metric(callers):
    """What to write in the place of a metric of scikit-learn; `callers`: names of the functions that run."""
    formula = next((_METRICS[name] for name in callers if name in _METRICS), None)
    if formula is None:
        return "Functions of scikit-learn that end in a Python number have no gradient: write the formula with NumPy. "
    return f"Write the metric's formula with NumPy: {formula}. "


def has_no_slope(called):
    """Whether a function of NumPy's gives truth values or whole numbers alone, of real and complex numbers too."""
    if type(called).__name__ != "ufunc":
        return getattr(called, "__module__", None) == "numpy" and getattr(called, "__name__", "") in _WITHOUT_SLOPE
    loops = [loop.split("->") for loop in called.types]
    results = [out for taken, out in loops if set(taken) & set("efdgFDG")]
    return bool(results) and not set("".join(results)) - set("?bBhHiIlLqQpPnN")


_WITHOUT_SLOPE = frozenset(
    """
    all allclose any argmax argmin argpartition argsort argwhere array_equal array_equiv count_nonzero digitize
    flatnonzero isclose iscomplex isin isneginf isposinf isreal lexsort nanargmax nanargmin nonzero searchsorted
    """.split()
)
