"""Metrics, kernels and distances of scikit-learn: code over an array-API namespace that ends in float(...).

The class: a function of sklearn.metrics that computes a number or a matrix of floating-point arrays x
array_api_dispatch. The reference are central differences of the plain calls, at points without ties.

Imports the public names of arraygrad.
"""

import contextlib

import numpy as np
import pytest

import arraygrad as ag

sklearn = pytest.importorskip("sklearn")
metrics = pytest.importorskip("sklearn.metrics")

Y = np.array([1.0, 2.0, 3.0, 4.5])
P = np.array([1.1, 1.85, 3.3, 4.1])
LABELS = np.array([0, 1, 1, 0])
CHANCES = np.array([0.2, 0.7, 0.6, 0.4])
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0])


def outputs(p):
    return np.stack([p, p**2], axis=1)


def _called(metric, more):
    return lambda p: metric(Y, p, **more)


OF_VALUES = {
    name: _called(getattr(metrics, name), more)
    for name, more in {
        "explained_variance_score": {}, "max_error": {}, "mean_absolute_error": {},
        "mean_absolute_percentage_error": {}, "mean_gamma_deviance": {}, "mean_poisson_deviance": {},
        "mean_tweedie_deviance": {"power": 1.5}, "mean_pinball_loss": {"alpha": 0.3}, "mean_squared_error": {},
        "mean_squared_log_error": {}, "median_absolute_error": {}, "r2_score": {}, "root_mean_squared_error": {},
        "root_mean_squared_log_error": {}, "d2_absolute_error_score": {}, "d2_tweedie_score": {"power": 1},
        "d2_pinball_score": {},
    }.items()
    if hasattr(metrics, name)
}  # fmt: skip
OF_VALUES |= {
    "weights": lambda p: metrics.mean_squared_error(Y, p, sample_weight=WEIGHTS),
    "score with weights": lambda p: metrics.r2_score(Y, p, sample_weight=WEIGHTS),
    "several outputs": lambda p: metrics.mean_squared_error(np.c_[Y, Y], outputs(p)),
    "raw values": lambda p: metrics.mean_squared_error(np.c_[Y, Y], outputs(p), multioutput="raw_values").sum(),
    "lists": lambda p: metrics.mean_squared_error(list(Y), p),
    "the other argument": lambda p: metrics.mean_squared_error(p, Y),
    "auc": lambda p: metrics.auc(Y, p),
    "euclidean_distances": lambda p: metrics.pairwise.euclidean_distances(p[:, None], Y[:, None]).sum(),
    "rbf_kernel": lambda p: metrics.pairwise.rbf_kernel(p[:, None], Y[:, None]).sum(),
    "polynomial_kernel": lambda p: metrics.pairwise.polynomial_kernel(p[:, None], Y[:, None]).sum(),
    "linear_kernel": lambda p: metrics.pairwise.linear_kernel(p[:, None], Y[:, None]).sum(),
    "cosine_similarity": lambda p: metrics.pairwise.cosine_similarity(outputs(p)).sum(),
}
OF_CHANCES = {
    "log_loss": lambda p: metrics.log_loss(LABELS, p),
    "brier_score_loss": lambda p: metrics.brier_score_loss(LABELS, p),
    "hinge_loss": lambda p: metrics.hinge_loss(2 * LABELS - 1, p),
}
CASES = [(name, f, P) for name, f in OF_VALUES.items()]
CASES += [(name, f, CHANCES) for name, f in OF_CHANCES.items()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "f", "point", "dispatch"),
    [(*case, False) for case in CASES] + [(*case, True) for case in CASES[::6]],
    ids=[case[0] for case in CASES] + [f"{case[0]} by dispatch" for case in CASES[::6]],
)
def test_metrics(name, f, point, dispatch, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True) if dispatch else contextlib.nullcontext():
        plain = f(point)
        value, gradient = ag.value_and_grad(f)(point)
        assert float(value) == pytest.approx(float(plain), rel=1e-14)
        assert f(point) == plain
        steps = np.eye(4) * 1e-6
        expected = [(float(f(point + h)) - float(f(point - h))) / 2e-6 for h in steps]
    assert gradient == pytest.approx(np.array(expected), rel=1e-6, abs=1e-8)


@pytest.mark.filterwarnings("ignore")
def test_plain_calls_are_what_they_were():
    before = metrics.mean_squared_error(Y, P), metrics.r2_score(Y, P)
    with pytest.raises(KeyError):
        ag.grad(lambda p: metrics.mean_squared_error(Y, p) + {}["none"])(P)
    assert (metrics.mean_squared_error(Y, P), metrics.r2_score(Y, P)) == before
    assert sklearn.utils.validation.np is np
