"""Distributions as objects: SciPy's Normal, Logistic and Uniform, and what Bayesian summaries return.

May import: arraygrad, scipy._declare, scipy._guards, scipy.stats._functions and _univariate, numpy, SciPy.

The methods are those of `stats.norm`, `stats.logistic` and `stats.uniform` with the object's parameters.
"""

import functools
import math

import numpy as np
from scipy import stats

import arraygrad as ag
from arraygrad.scipy._declare import REGISTRY, Rule, composition, raw
from arraygrad.scipy._guards import Fixed, NotDifferentiable, holds_tensor
from arraygrad.scipy.stats._samples import NAMES
from arraygrad.scipy.stats._univariate import OBJECTS

__all__ = []

# Methods of SciPy's objects -> those of the distributions here; the first argument is a point, or there is none.
_AT = {"pdf": "pdf", "logpdf": "logpdf", "cdf": "cdf", "logcdf": "logcdf", "ccdf": "sf", "logccdf": "logsf",
       "icdf": "ppf", "iccdf": "isf"}  # fmt: skip
_OF = {"mean": "mean", "variance": "var", "standard_deviation": "std", "median": "mean", "mode": "mean",
       "entropy": "entropy"}  # fmt: skip
_OPERATORS = "add radd sub rsub mul rmul truediv rtruediv pow rpow neg pos abs".split()


class _LawType(type):
    """Calling the class gives SciPy's own object, recorded at its points, where no parameter is a Tensor."""

    def __call__(cls, **parameters):
        if holds_tensor(parameters):
            return super().__call__(**parameters)
        found = cls._scipy_class(**parameters)
        found.__class__ = _recorded(cls, type(found))
        return found

    def __instancecheck__(cls, value):
        return super().__instancecheck__(value) or (
            cls._scipy_class is not None and isinstance(value, cls._scipy_class)
        )


@functools.cache
def _recorded(law, kind):
    """The class `kind` of SciPy's with methods that are recorded at a Tensor."""

    def method(name):
        original = getattr(kind, name)

        @functools.wraps(original)
        def call(self, x, *rest, **options):
            if not holds_tensor((x, rest)):
                return original(self, x, *rest, **options)
            # The parameters as they are now, in an object of ours.
            ours = type.__call__(law, **{key: getattr(self, key) for key in law._names})
            return getattr(ours, name)(x, *rest, **options)

        return call

    members = {name: method(name) for name in _AT}
    members["__reduce__"] = lambda self: (_remade, (law.__name__, {key: getattr(self, key) for key in law._names}))
    return type(kind.__name__, (kind,), {**members, "__module__": kind.__module__, "__qualname__": kind.__qualname__})


def _remade(name, parameters):
    return NAMES[name](**parameters)


class _Law(Fixed, metaclass=_LawType):
    """A distribution with parameters that gradients reach."""

    _names = ()

    _scipy_class = None
    _distribution = ""

    def __init__(self, **parameters):
        self._parameters = parameters
        self._plain = self._scipy_class(**{key: raw(value) for key, value in parameters.items()})

    @property
    def scipy_object(self):
        """SciPy's own object, with raw parameters."""
        if holds_tensor(self._parameters, grad=True):
            raise NotDifferentiable(
                f"arraygrad.scipy.stats.{type(self).__name__}: a parameter requires grad, and SciPy's object would "
                "hold it as a constant. Pass its detach() if no gradient is wanted"
            )
        return self._plain

    def _located(self):
        """loc and scale."""
        given = self._parameters
        return given.get("mu", 0.0), given.get("sigma", 1.0)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        ours = OBJECTS[self._distribution]
        if name in _AT:

            def at(x, *rest, method=None):
                if not holds_tensor((self._parameters, x, rest)):
                    return getattr(self._plain, name)(x, *rest, method=method)
                if rest or method is not None:
                    raise NotDifferentiable(
                        f"arraygrad.scipy.stats.{type(self).__name__}.{name}: the derivative is known for one point "
                        "and the default method"
                    )
                return getattr(ours, _AT[name])(x, *self._located())

            return at
        if name in _OF and not (name == "mode" and self._distribution == "uniform"):

            def of(*, method=None):
                if not holds_tensor(self._parameters):
                    return getattr(self._plain, name)(method=method)
                return getattr(ours, _OF[name])(*self._located())

            return of
        if name in self._parameters:
            return self._parameters[name]
        return getattr(self.scipy_object, name)

    def __repr__(self):
        return f"<arraygrad.scipy.stats.{type(self).__name__} {self._parameters}>"


def _operator(name):
    def call(self, *others):
        return getattr(self.scipy_object, name)(*[raw(other) for other in others])

    return call


for _name in _OPERATORS:
    setattr(_Law, f"__{_name}__", _operator(f"__{_name}__"))


def _uniform_located(self):
    low, high = self._parameters["a"], self._parameters["b"]
    return low, ag.asarray(high) - low


def _law(name, distribution, parameters, **members):
    theirs = getattr(stats, name, None)
    if theirs is None:
        return
    kind = type(name, (_Law,), {
        "_scipy_class": theirs, "_distribution": distribution, "_names": tuple(parameters.split()),
        "__module__": "arraygrad.scipy.stats",
        "__doc__": theirs.__doc__, **members,
    })  # fmt: skip
    NAMES[name] = kind
    of = ("x", *parameters.split())
    REGISTRY[f"stats.{name}"] = Rule(f"stats.{name}", of, f"as stats.{distribution}", "any", theirs, kind)


_law("Normal", "norm", "mu sigma")
_law("Logistic", "logistic", "")
_law("Uniform", "uniform", "a b", _located=_uniform_located)

# -- Bayesian summaries -----------------------------------------------------------------------------------------------


def _mvsdist(data):
    data = ag.reshape(ag.asarray(data), (-1,))
    n = float(data.shape[0])
    mean, var = ag.mean(data), ag.var(data)
    if n > 1000:
        spread = ag.sqrt(var)
        norm = OBJECTS["norm"]
        return (norm(loc=mean, scale=ag.sqrt(var / n)), norm(loc=var, scale=math.sqrt(2.0 / n) * var),
                norm(loc=spread, scale=ag.sqrt(var / (2.0 * n))))  # fmt: skip
    half, total = 0.5 * (n - 1.0), 0.5 * n * var
    return (OBJECTS["t"](n - 1.0, loc=mean, scale=ag.sqrt(var / (n - 1.0))),
            OBJECTS["invgamma"](half, scale=total), OBJECTS["gengamma"](half, -2.0, scale=ag.sqrt(total)))  # fmt: skip


def _bayes_mvs(data, alpha=0.9):
    plain = stats.bayes_mvs(raw(data), alpha)
    laws = _mvsdist(data)
    data = ag.reshape(ag.asarray(data), (-1,))
    n = float(data.shape[0])
    mean, var = ag.mean(data), ag.var(data)
    if n > 1000:
        means = (mean, var, ag.sqrt(var))
    else:
        half, total = 0.5 * (n - 1.0), 0.5 * n * var
        # The means of the inverse gamma variable and of its root.
        factor = math.exp(math.lgamma(half - 0.5) - math.lgamma(half)) if n > 2 else math.inf
        means = (mean, total / (half - 1.0) if half > 1.0 else total * math.inf, ag.sqrt(total) * factor)
    ends = (0.5 * (1.0 - alpha), 0.5 * (1.0 + alpha))
    return tuple([
        type(one)(value, tuple([law.ppf(end) for end in ends]))
        for one, value, law in zip(plain, means, laws, strict=True)
    ])  # fmt: skip


for _name, _function in (("mvsdist", _mvsdist), ("bayes_mvs", _bayes_mvs)):
    NAMES[_name] = composition(f"stats.{_name}", getattr(stats, _name), "data", "Oliphant (2006)")(_function)

# -- Tukey's honest significance --------------------------------------------------------------------------------------


def _tukey_hsd(*args, equal_var=True):
    if not equal_var:
        raise NotDifferentiable(
            "arraygrad.scipy.stats.tukey_hsd: with equal_var=False the degrees of freedom depend on the samples, in "
            "which the studentized range has no derivative"
        )
    plain = stats.tukey_hsd(*[raw(a) for a in args])
    samples = [ag.reshape(ag.asarray(a), (-1,)) for a in args]
    sizes = np.array([float(a.shape[0]) for a in samples])
    k, df = len(samples), float(np.sum(sizes)) - len(samples)
    means = ag.stack([ag.mean(a) for a in samples])
    within = sum(ag.sum((a - ag.mean(a)) ** 2) for a in samples) / df
    error = ag.sqrt((1.0 / sizes + 1.0 / sizes[:, None]) * within / 2.0)
    away = means[:, None] - means
    first, second = np.triu_indices(k, 1)
    places = first * k + second
    t = ag.take(ag.reshape(ag.abs(away) / error, (-1,)), places)
    found = ag.concat([OBJECTS["studentized_range"].sf(t, float(k), df), ag.ones(1)])
    index = np.full((k, k), len(first))
    index[first, second] = index[second, first] = np.arange(len(first))
    p = ag.reshape(ag.take(found, index.ravel()), (k, k))
    return type(plain)(away, p, k, df, error)


if hasattr(stats, "tukey_hsd"):
    NAMES["tukey_hsd"] = composition("stats.tukey_hsd", stats.tukey_hsd, "args", "Tukey (1953)", order="first")(
        _tukey_hsd
    )
