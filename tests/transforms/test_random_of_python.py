"""Functions of Python's random by recorded parameters: right, or refused with a way out that is right.

The class: every function that draws by parameters x each parameter. Differences are those of the program with the seed
set anew, of the function itself or of what the error says to write.
"""

import random
import re

import numpy as np
import pytest

import arraygrad as ag

RECORDED = {
    "expovariate": lambda w: random.expovariate(w),
    "weibullvariate, scale": lambda w: random.weibullvariate(w, 1.5),
    "weibullvariate, shape": lambda w: random.weibullvariate(1.0, w),
    "paretovariate": lambda w: random.paretovariate(w),
    "uniform": lambda w: random.uniform(w, 2 * w),
    "gauss": lambda w: random.gauss(w, w),
    "normalvariate": lambda w: random.normalvariate(w, w),
    "vonmisesvariate, mu": lambda w: random.vonmisesvariate(w, 4.0),
    "gammavariate, beta": lambda w: random.gammavariate(2.5, w),
    "choice": lambda w: random.choice([w, 2 * w]),
}
NORMAL = r"numpy\.exp\(random\.normalvariate\(mu, sigma\)\)"
TRIANGULAR = r"scipy\.stats\.triang\.ppf\(random\.random\(\), \(mode - low\) / \(high - low\), low, high - low\)"


def triangular(low, high, mode):
    from scipy import stats

    return stats.triang.ppf(random.random(), (mode - low) / (high - low), low, high - low)


def gamma(alpha, beta):
    from scipy import stats

    return stats.gamma.ppf(random.random(), alpha, scale=beta)


def beta(a, b):
    from scipy import stats

    return stats.beta.ppf(random.random(), a, b)


# What is refused, what the error says, that, and whether it is the same number.
REFUSED = {
    "lognormvariate, mu": (lambda w: random.lognormvariate(w, 0.1), NORMAL,
                           lambda w: np.exp(random.normalvariate(w, 0.1)), True),
    "lognormvariate, sigma": (lambda w: random.lognormvariate(0.1, w), NORMAL,
                              lambda w: np.exp(random.normalvariate(0.1, w)), True),
    "of a generator": (lambda w: random.Random(3).lognormvariate(w, 0.1), NORMAL,
                       lambda w: np.exp(random.Random(3).normalvariate(w, 0.1)), True),
    "triangular, high": (lambda w: random.triangular(0.0, w, 0.1), TRIANGULAR, lambda w: triangular(0.0, w, 0.1), True),
    "triangular, mode": (lambda w: random.triangular(0.0, 1.0, w), TRIANGULAR, lambda w: triangular(0.0, 1.0, w), True),
    "gammavariate, alpha": (lambda w: random.gammavariate(2.5 + w, 2.0),
                            r"scipy\.stats\.gamma\.ppf\(random\.random\(\), alpha, scale=beta\)",
                            lambda w: gamma(2.5 + w, 2.0), False),
    "betavariate": (lambda w: random.betavariate(2.0 + w, 3.0),
                    r"scipy\.stats\.beta\.ppf\(random\.random\(\), alpha, beta\)", lambda w: beta(2.0 + w, 3.0), False),
    "vonmisesvariate, kappa": (lambda w: random.vonmisesvariate(0.0, w), "jump in kappa", None, False),
    "choices": (lambda w: random.choices([1.0, 2.0], [w, 1.0])[0], r"arraygrad\.stop_gradient\(t\)",
                lambda w: random.choices([1.0, 2.0], [float(ag.stop_gradient(w)), 1.0])[0] * w / 0.7, True),
}  # fmt: skip


def seeded(f):
    def function(w):
        random.seed(1)
        return f(w)

    return function


def check(f):
    f = seeded(f)
    assert ag.grad(f)(0.7) == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6, rel=1e-5)


@pytest.mark.parametrize("case", RECORDED)
def test_recorded(case):
    check(RECORDED[case])


@pytest.mark.parametrize("case", REFUSED)
def test_the_way_out_is_right(case):
    f, text, other, same = REFUSED[case]
    with pytest.raises(TypeError) as refused:
        ag.grad(seeded(f))(0.7)
    assert re.search(text, str(refused.value))
    if other is None:
        return
    if "scipy" in text:
        pytest.importorskip("scipy")
    check(other)
    if same:
        assert seeded(other)(0.7) == pytest.approx(seeded(f)(0.7), rel=1e-12)
