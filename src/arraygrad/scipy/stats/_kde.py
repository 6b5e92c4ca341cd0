"""Kernel density estimates, differentiable in the points, the data, the weights and a numeric bandwidth.

May import: arraygrad, core.tensor, scipy._declare, scipy._guards, scipy.stats._functions, numpy, SciPy.
"""

import math

import numpy as np
from scipy import stats

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import REGISTRY, Rule, guarded, raw
from arraygrad.scipy._guards import NotDifferentiable, holds_tensor
from arraygrad.scipy.stats._functions import NAMES

__all__ = []


class gaussian_kde(stats.gaussian_kde):
    """scipy.stats.gaussian_kde; densities are recorded where Tensors are among its data or points."""

    def __init__(self, dataset, bw_method=None, weights=None):
        self._given = (dataset, bw_method, weights)
        super().__init__(raw(dataset), raw(bw_method), raw(weights))

    def set_bandwidth(self, bw_method=None):
        dataset, earlier, weights = self._given
        if bw_method is not None:
            self._given = (dataset, bw_method, weights)
        super().set_bandwidth(raw(bw_method if bw_method is not None else earlier))

    def evaluate(self, points):
        if not holds_tensor((self._given, points)):
            return super().evaluate(points)
        return ag.exp(self._log_density(points))

    __call__ = evaluate

    def pdf(self, x):
        return self.evaluate(x)

    def logpdf(self, x):
        if not holds_tensor((self._given, x)):
            return super().logpdf(x)
        return self._log_density(x)

    def _log_density(self, points):
        dataset, bandwidth, weights = self._given
        data = ag.asarray(dataset)
        data = data[None, :] if data.ndim == 1 else data
        points = ag.asarray(points)
        if points.ndim < 2:
            # A number, several points of one dimension, or one point of several.
            points = ag.reshape(points, (1, -1) if self.d == 1 else (-1, 1))
        weights = ag.ones(self.n) if weights is None else ag.asarray(weights)
        weights = weights / ag.sum(weights)
        effective = 1.0 / ag.sum(weights * weights)
        factor = self._factor(bandwidth, effective)
        away = data - ag.sum(data * weights, axis=-1, keepdims=True)
        covariance = ag.matmul(away * weights, ag.matrix_transpose(away)) / (1.0 - 1.0 / effective)
        lower = ag.linalg.cholesky(covariance) * factor
        apart = ag.reshape(points[:, :, None] - data[:, None, :], (self.d, -1))
        square = ag.sum(ag.linalg.solve(lower, apart) ** 2, axis=0)
        logs = ag.log(weights) - 0.5 * ag.reshape(square, (points.shape[1], self.n))
        norm = 0.5 * self.d * math.log(2.0 * math.pi) + ag.sum(ag.log(ag.linalg.diagonal(lower)))
        return ag.special.logsumexp(logs, axis=1) - norm

    def _factor(self, bandwidth, effective):
        if bandwidth is None or (isinstance(bandwidth, str) and bandwidth == "scott"):
            return effective ** (-1.0 / (self.d + 4.0))
        if isinstance(bandwidth, str):
            return (effective * (self.d + 2.0) / 4.0) ** (-1.0 / (self.d + 4.0))
        if isinstance(bandwidth, Tensor) or np.isscalar(bandwidth) or isinstance(bandwidth, np.ndarray):
            return bandwidth
        if holds_tensor(self._given, grad=True):
            raise NotDifferentiable(
                "arraygrad.scipy.stats.gaussian_kde: what bw_method depends on is not known; pass a number"
            )
        return self.factor


def _guard(method):
    original = getattr(stats.gaussian_kde, method)

    def call(self, *args, **kwargs):
        return guarded(
            f"stats.gaussian_kde.{method}",
            lambda _held, *a, **k: original(self, *a, **k),
            "the method has no rule here",
        )(self._given, *args, **kwargs)

    call.__doc__ = original.__doc__
    return call


for _method in ("integrate_gaussian", "integrate_box_1d", "integrate_box", "integrate_kde", "resample", "marginal"):
    if hasattr(stats.gaussian_kde, _method):
        setattr(gaussian_kde, _method, _guard(_method))
NAMES["gaussian_kde"] = gaussian_kde
REGISTRY["stats.gaussian_kde"] = Rule(
    "stats.gaussian_kde", ("points", "dataset", "weights", "bw_method"), "Silverman (1986)", "any", stats.gaussian_kde,
    gaussian_kde,
)  # fmt: skip
