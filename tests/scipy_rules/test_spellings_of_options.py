"""The class of options that are a text, in other spellings: capitals, first letters, hyphens, and a word of no meaning.

The members are made of the samples: each text that a signature of SciPy has as a default, in up to seven spellings.
Where SciPy answers, so do we, with its value and with the derivatives that differences of it have; where it raises, we
raise.
"""

import functools
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest
from scipy_differences import check

scipy = pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy_samples import SAMPLES, spread

import arraygrad as ag
from arraygrad.scipy import CHAPTERS
from arraygrad.scipy._declare import REGISTRY

for _samples in sorted(Path(__file__).parent.glob("samples_*.py")):
    importlib.import_module(_samples.stem)
for _chapter in CHAPTERS:
    importlib.import_module(f"arraygrad.scipy.{_chapter}")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
OF_UFUNCS = ("casting", "order")


def spellings(text):
    return sorted({
        text.upper(), text.capitalize(), text.title(), text[:1], text[:2], text.replace("-", "_"), "nonsense",
    } - {text})  # fmt: skip


def members():
    seen = set()
    for name, call, arrays, options in SAMPLES:
        rule = REGISTRY.get(name)
        try:
            parameters = inspect.signature(rule.values).parameters
        except (AttributeError, TypeError, ValueError):  # a method, or a ufunc
            continue
        for key, parameter in parameters.items():
            if isinstance(parameter.default, str) and key not in OF_UFUNCS and (name, key) not in seen:
                if _takes(call, rule.values, key, parameter.default, arrays):
                    seen.add((name, key))
                    yield pytest.param(name, key, call, arrays, options, id=f"{name}-{key}")


def _takes(call, function, key, text, arrays):
    """Whether the sample leaves the option open."""
    try:
        call(functools.partial(function, **{key: text}), *[a[()] for a in arrays])
    except Exception:
        return False
    return True


MEMBERS = list(members())


def test_there_are_many():
    assert len(MEMBERS) >= 60
    assert sum(len(spellings(inspect.signature(REGISTRY[m.values[0]].values).parameters[m.values[1]].default))
               for m in MEMBERS) >= 350  # fmt: skip


@pytest.mark.parametrize(("name", "key", "call", "arrays", "options"), MEMBERS)
def test_an_option_means_what_scipy_reads(name, key, call, arrays, options):
    rule = REGISTRY[name]
    plain = [a[()] for a in arrays]
    for text in spellings(inspect.signature(rule.values).parameters[key].default):
        ours, theirs = (functools.partial(f, **{key: text}) for f in (rule.function, rule.values))
        try:
            call(theirs, *plain)
        except Exception as error:
            with pytest.raises((ValueError, TypeError, KeyError, type(error)), match=""):
                call(ours, *[ag.tensor(a, requires_grad=True) for a in arrays])
            continue
        given = {**options, "second": False}
        check(lambda *a, f=ours: call(f, *a), lambda *a, f=theirs: call(f, *a), arrays, **given)


# The test of one sample against a law, whose values are not SciPy's own: every method beside every alternative.
def _against(alternative, method):
    return lambda f, x: f(x, scipy.stats.norm.cdf, alternative=alternative, method=method)[:2]


@pytest.mark.parametrize("method", ["auto", "exact", "asymp", "approx", "other"])
@pytest.mark.parametrize("alternative", ["two-sided", "t", "Two", "greater", "g", "GREATER", "less", "l", "Less"])
def test_of_one_sample(alternative, method):
    import arraygrad.scipy.stats as stats

    x = np.array([-0.62, -0.11, 0.83, 0.97, 1.7])
    call = _against(alternative, method)
    ours = lambda x: stats.ks_1samp(x, stats.norm.cdf, alternative=alternative, method=method)[:2]
    try:
        call(scipy.stats.ks_1samp, x)
    except ValueError as error:  # of an unknown method, from SciPy 1.18 on
        with pytest.raises(ValueError, match="Invalid value for method"):
            ours(ag.tensor(x, requires_grad=True))
        assert method == "other", error  # noqa: PT017
        return
    check(ours, lambda x: call(scipy.stats.ks_1samp, x), [x], step=1e-3, rtol=1e-6, second=False, loose=1e-10)


@pytest.mark.parametrize("method", ["auto", "exact", "asymp", "approx"])
def test_of_one_sample_without_elements(method):
    x = ag.tensor(spread(0), requires_grad=True)
    import arraygrad.scipy.stats as stats

    found = stats.ks_1samp(x, stats.norm.cdf, method=method)
    assert found.statistic != found.statistic
    assert found.pvalue != found.pvalue
