"""Numbers drawn by the distributions of scipy.stats: location and scale have the derivatives of the plain call."""

import numpy as np
import pytest
from scipy import stats as plain

import arraygrad as ag
from arraygrad.scipy import stats

LAWS = {
    "norm": (), "expon": (), "gamma": (2.0,), "t": (5.0,), "beta": (2.0, 3.0), "uniform": (), "lognorm": (0.5,),
    "weibull_min": (1.5,), "cauchy": (), "laplace": (),
}  # fmt: skip
SIZES = {"none": None, "number": 3, "tuple": (2, 3), "empty": 0}
FORMS = {
    "keywords": lambda law, s, a, b, n: law.rvs(*s, loc=a, scale=b, size=n, random_state=4),
    "positions": lambda law, s, a, b, n: law.rvs(*s, a, b, n, random_state=4),
    "frozen": lambda law, s, a, b, n: law(*s, a, b).rvs(n, 4),
    "frozen by keywords": lambda law, s, a, b, n: law(*s, loc=a, scale=b).rvs(size=n, random_state=4),
    "generator": lambda law, s, a, b, n: law.rvs(*s, a, b, n, random_state=np.random.default_rng(4)),
    "scale alone": lambda law, s, a, b, n: law.rvs(*s, scale=b, size=n, random_state=4) * a,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", LAWS)
def test_location_and_scale(name, size, form):
    def f(law, x):
        return np.sum(FORMS[form](law, LAWS[name], x[0], x[1], SIZES[size]) ** 2)

    x, step = np.array([0.7, 1.3]), 1e-6
    value, gradient = ag.value_and_grad(lambda t: f(getattr(stats, name), t), adopt=False)(x)
    np.testing.assert_allclose(value, f(getattr(plain, name), x), rtol=1e-14)
    ends = [[f(getattr(plain, name), x + s * step * one) for s in (1, -1)] for one in np.eye(2)]
    np.testing.assert_allclose(gradient, np.subtract(*np.transpose(ends)) / (2 * step), rtol=1e-5, atol=1e-7)


def test_arrays_of_locations():
    x = np.array([0.7, 1.3, 2.0])
    gradient = ag.grad(lambda t: (stats.norm.rvs(t, 2.0, random_state=4) ** 2).sum(), adopt=False)(x)
    np.testing.assert_allclose(gradient, 2 * plain.norm.rvs(x, 2.0, random_state=4))


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda x: stats.norm.rvs(scale=-x, random_state=4), ValueError, "Domain error"),
        (lambda x: stats.gamma.rvs(x, random_state=4), TypeError, "ppf"),
        (lambda x: stats.norm.rvs(scale=0.0 * x, random_state=4), TypeError, "ppf"),
        (lambda x: stats.poisson.rvs(x, random_state=4), TypeError, "ppf"),
    ],
)
def test_what_is_refused(f, error, text):
    with pytest.raises(error, match=text):
        ag.grad(f, adopt=False)(1.3)
