"""Kernel density estimates, differentiable in the points, the data, the weights and the bandwidth.

May import: arraygrad, core.constant_checks, core.tensor, scipy._declare, scipy._guards, scipy._precision,
scipy.stats._functions, numpy, SciPy.
"""

import math

import numpy as np
from scipy import stats

import arraygrad as ag
from arraygrad.core.constant_checks import Contents
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import REGISTRY, Rule, guarded, raw
from arraygrad.scipy._guards import holds_tensor, taken_down
from arraygrad.scipy._precision import as_precise
from arraygrad.scipy.stats._samples import NAMES

__all__ = []


def _attribute(name, formula):
    """An attribute that SciPy keeps as numbers, recorded by `formula(self)` where the estimate was made of Tensors."""
    theirs = getattr(stats.gaussian_kde, name, None)

    def get(self):
        if vars(self).get("_plainly", True) or not holds_tensor(self._held):
            return theirs.fget(self) if isinstance(theirs, property) else vars(self)[name]
        return formula(self)

    def put(self, value):
        if isinstance(theirs, property):
            raise AttributeError(f"gaussian_kde: {name} can't be set")
        vars(self)[name] = value

    return property(get, put, doc=getattr(theirs, "__doc__", None))


class gaussian_kde(stats.gaussian_kde):
    """scipy.stats.gaussian_kde; densities are recorded where Tensors are among its data or points.

    So are the attributes and the factors that it hands out. SciPy's own code, which runs while `_plainly` is true,
    finds numbers in them.
    """

    def __init__(self, dataset, bw_method=None, weights=None):
        self._plainly = True
        weights = taken_down(weights)  # SciPy divides them by their sum at once
        self._given = (dataset, weights)
        # SciPy looks at the data again in each call, and at their covariance once: what is written between counts half.
        self._contents = Contents({"the data set": dataset}, tensors=True)
        self._factor = None
        super().__init__(raw(dataset), None, raw(weights))
        if bw_method is not None:
            self.set_bandwidth(bw_method)
        self._plainly = False

    @property
    def _held(self):
        return self._given, self._factor

    def set_bandwidth(self, bw_method=None):
        if not isinstance(bw_method, Tensor):
            return super().set_bandwidth(bw_method)
        if bw_method.ndim:
            raise ValueError(f"gaussian_kde: expected bw_method as a number, got a Tensor of shape {bw_method.shape}")
        self._bw_method = "use constant"
        self.covariance_factor = lambda: bw_method
        return self._compute_covariance()

    def _compute_covariance(self):
        # SciPy calls it, and so do programs that have set covariance_factor to a function of their own.
        made, earlier = self.covariance_factor, vars(self).get("covariance_factor")
        self._plainly = False
        try:
            self._factor = made()
            plain = raw(self._factor)
            self._plainly, self.covariance_factor = True, lambda: plain[()] if isinstance(plain, np.ndarray) else plain
            super()._compute_covariance()
        finally:
            self._plainly = False
            del self.covariance_factor
            if earlier is not None:
                self.covariance_factor = earlier

    dataset = _attribute("dataset", lambda self: self._data())
    weights = _attribute("weights", lambda self: self._shares())
    neff = _attribute("neff", lambda self: 1.0 / ag.sum(self.weights * self.weights))
    factor = _attribute("factor", lambda self: self._factor)
    covariance = _attribute("covariance", lambda self: self._spread() * self.factor**2)
    cho_cov = _attribute("cho_cov", lambda self: ag.linalg.cholesky(self._spread()) * self.factor)
    inv_cov = _attribute("inv_cov", lambda self: ag.linalg.inv(self._spread()) / self.factor**2)
    log_det = _attribute(
        "log_det",
        lambda self: 2.0 * ag.sum(ag.log(ag.linalg.diagonal(self.cho_cov))) + self.d * math.log(2.0 * math.pi),
    )

    def scotts_factor(self):
        return self.neff ** (-1.0 / (self.d + 4.0))

    def silverman_factor(self):
        return (self.neff * (self.d + 2.0) / 4.0) ** (-1.0 / (self.d + 4.0))

    covariance_factor = scotts_factor

    def _data(self):
        self._contents.check("scipy.stats.gaussian_kde")
        data = ag.asarray(self._given[0])
        return data[None, :] if data.ndim == 1 else data

    def _shares(self):
        weights = self._given[1]
        weights = ag.ones(self.n) if weights is None else ag.reshape(as_precise(ag.asarray(weights), 64), (-1,))
        return weights / ag.sum(weights)

    def _spread(self):
        """The covariance of the data."""
        data, weights = self._data(), self._shares()
        away = data - ag.sum(data * weights, axis=-1, keepdims=True)
        return ag.matmul(away * weights, ag.matrix_transpose(away)) / (1.0 - 1.0 / self.neff)

    def evaluate(self, points):
        if not holds_tensor((self._held, points)):
            return self._theirs("evaluate", points)
        return ag.exp(self._log_density(points))

    __call__ = evaluate

    def pdf(self, x):
        return self.evaluate(x)

    def logpdf(self, x):
        if not holds_tensor((self._held, x)):
            return self._theirs("logpdf", x)
        return self._log_density(x)

    def integrate_box_1d(self, low, high):
        if not holds_tensor((self._held, low, high)):
            return self._theirs("integrate_box_1d", low, high)
        self._of_one_dimension("integrate_box_1d")
        spread, data = ag.sqrt(self.covariance[0, 0]), self._data()[0]
        ndtr = ag.special.ndtr
        return ag.sum(self._shares() * (ndtr((high - data) / spread) - ndtr((low - data) / spread)))

    def _of_one_dimension(self, method):
        if self.d != 1:
            raise ValueError(f"gaussian_kde.{method}: expected data of one dimension, got {self.d}")

    def integrate_box(self, low_bounds, high_bounds, *args, **kwargs):
        if not holds_tensor((self._held, low_bounds, high_bounds)):
            return self._theirs("integrate_box", low_bounds, high_bounds, *args, **kwargs)
        if self.d != 1:
            return _REFUSED["integrate_box"](self, low_bounds, high_bounds, *args, **kwargs)
        return self.integrate_box_1d(ag.reshape(ag.asarray(low_bounds), ()), ag.reshape(ag.asarray(high_bounds), ()))

    def integrate_gaussian(self, mean, cov):
        if not holds_tensor((self._held, mean, cov)):
            return self._theirs("integrate_gaussian", mean, cov)
        mean, cov = ag.asarray(mean), ag.asarray(cov)
        mean = ag.reshape(mean, (1,)) if mean.ndim == 0 else mean
        cov = ag.reshape(cov, (1, 1)) if cov.ndim < 2 else cov
        if mean.shape != (self.d,):
            raise ValueError(f"gaussian_kde.integrate_gaussian: expected mean of shape ({self.d},), got {mean.shape}")
        if cov.shape != (self.d, self.d):
            raise ValueError(
                f"gaussian_kde.integrate_gaussian: expected cov of shape ({self.d}, {self.d}), got {cov.shape}"
            )
        apart = self._data() - mean[:, None]
        return ag.sum(self._shares() * _normal_at(apart, self.covariance + cov))

    def integrate_kde(self, other):
        if not holds_tensor([self._held, getattr(other, "_held", None)]):
            return self._theirs("integrate_kde", other)
        if self.d != other.d:
            raise ValueError(f"gaussian_kde.integrate_kde: expected data of {self.d} dimensions, got {other.d}")
        theirs = ag.asarray(other.dataset)
        apart = ag.reshape(self._data()[:, :, None] - theirs[:, None, :], (self.d, -1))
        normal = _normal_at(apart, self.covariance + other.covariance)
        return ag.sum(ag.reshape(self._shares()[:, None] * ag.asarray(other.weights), (-1,)) * normal)

    def _theirs(self, method, *args, **kwargs):
        """SciPy's own method, which finds numbers in the attributes, also in those of another estimate."""
        estimates = _estimates(self, args, kwargs)
        try:
            for one in estimates:
                one._plainly = True
            return getattr(stats.gaussian_kde, method)(self, *args, **kwargs)
        finally:
            for one in estimates:
                one._plainly = False

    def _log_density(self, points):
        points = ag.asarray(points)
        if points.ndim < 2:
            # A number, several points of one dimension, or one point of several.
            points = ag.reshape(points, (1, -1) if self.d == 1 else (-1, 1))
        lower = ag.linalg.cholesky(self._spread()) * self.factor
        apart = ag.reshape(points[:, :, None] - self._data()[:, None, :], (self.d, -1))
        square = ag.sum(ag.linalg.solve(lower, apart) ** 2, axis=0)
        logs = ag.log(self._shares()) - 0.5 * ag.reshape(square, (points.shape[1], self.n))
        norm = 0.5 * self.d * math.log(2.0 * math.pi) + ag.sum(ag.log(ag.linalg.diagonal(lower)))
        return ag.special.logsumexp(logs, axis=1) - norm


def _normal_at(apart, cov):
    """The normal density of columns around zero."""
    lower = ag.linalg.cholesky(cov)
    square = ag.sum(ag.linalg.solve(lower, apart) ** 2, axis=0)
    log_root = ag.sum(ag.log(ag.linalg.diagonal(lower)))
    return ag.exp(-0.5 * square - 0.5 * apart.shape[0] * math.log(2.0 * math.pi) - log_root)


def _estimates(self, args, kwargs):
    return [self, *(a for a in (*args, *kwargs.values()) if isinstance(a, gaussian_kde))]


def _guard(method):
    original = getattr(stats.gaussian_kde, method)

    def call(self, *args, **kwargs):
        return guarded(
            f"stats.gaussian_kde.{method}",
            lambda _held, *a, **k: self._theirs(method, *a, **k),
            "the method has no rule here",
        )([one._held for one in _estimates(self, args, kwargs)], *args, **kwargs)

    call.__doc__ = original.__doc__
    return call


_REFUSED = {"integrate_box": _guard("integrate_box")}
for _method in ("resample", "marginal"):
    if hasattr(stats.gaussian_kde, _method):
        setattr(gaussian_kde, _method, _guard(_method))
NAMES["gaussian_kde"] = gaussian_kde
REGISTRY["stats.gaussian_kde"] = Rule(
    "stats.gaussian_kde", ("points", "dataset", "weights", "bw_method"), "Silverman (1986)", "any", stats.gaussian_kde,
    gaussian_kde,
)  # fmt: skip
