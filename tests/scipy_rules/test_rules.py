"""Every declared rule is held to differences of SciPy's own values, first and second order. Every rule has a sample."""

import functools
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest
from scipy_differences import check, parts_of

scipy = pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy_samples import SAMPLES, plain

import arraygrad as ag
from arraygrad.scipy import CHAPTERS, stats
from arraygrad.scipy._declare import REGISTRY
from arraygrad.tools.scipy_survey import survey

# Names that newer versions of SciPy want spelled otherwise are served as long as they are there.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.* is deprecated in favor of:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.* is deprecated and will be removed in SciPy:DeprecationWarning"),
]


def theirs(name):
    """SciPy's object of a dotted name."""
    chapter, *rest = name.split(".")
    return functools.reduce(getattr, rest, importlib.import_module(f"scipy.{chapter}"))


def named(rule, args, kwargs):
    """The arguments of a call that the composition looks at, by name; those of *args as one tuple."""
    known = inspect.signature(rule.whole).parameters
    given = dict(rule.signature.bind(*args, **kwargs).arguments)
    given.update(given.pop("kwargs", {}))
    return {key: value for key, value in given.items() if key in known}


for _samples in sorted(Path(__file__).parent.glob("samples_*.py")):
    importlib.import_module(_samples.stem)
for _chapter in CHAPTERS:
    importlib.import_module(f"arraygrad.scipy.{_chapter}")
NUMBERED = [pytest.param(*one, id=f"{one[0]}-{i}") for i, one in enumerate(SAMPLES)]


@pytest.mark.parametrize(("name", "call", "arrays", "options"), NUMBERED)
def test_rule_has_the_derivatives_of_scipys_function(name, call, arrays, options):
    rule = REGISTRY.get(name)
    if rule is None and not hasattr(importlib.import_module("scipy." + name.split(".")[0]), name.split(".")[1]):
        pytest.skip("this version of SciPy does not have the function")
    if name == "interpolate.bisplrep" and scipy.__version__.startswith("1.18."):
        pytest.skip("SciPy 1.18 leaves aside the knots that bisplrep is given")
    ours = rule.function
    if rule.whole is not None and not any(np.iscomplexobj(a) for a in arrays):
        found = call(lambda *a, **k: rule.whole(**named(rule, a, k)), *[ag.asarray(a) for a in arrays])
        np.testing.assert_allclose(
            parts_of(found), parts_of(call(theirs(name), *[a[()] for a in arrays])), rtol=1e-7, atol=1e-12
        )
    check(functools.partial(call, ours), functools.partial(call, theirs(name)), arrays, **options)


ELEMENTWISE = [one for one in NUMBERED if one.values[0].startswith("special.") and one.values[1] is plain
               and not one.values[0].endswith("logsumexp")]  # fmt: skip


@pytest.mark.parametrize(("name", "call", "arrays", "options"), ELEMENTWISE)
def test_elementwise_rule_serves_numbers_as_it_does_arrays(name, call, arrays, options):
    if name not in REGISTRY:
        pytest.skip("this version of SciPy does not have the function")
    f = REGISTRY[name].function
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    several = [ag.tensor(np.broadcast_to(a, shape).copy(), requires_grad=True) for a in arrays]
    single = [ag.tensor(np.broadcast_to(a, shape).ravel()[0], requires_grad=True) for a in arrays]

    def total(result):
        parts = result if isinstance(result, tuple) else (result,)
        return sum(ag.abs(part).sum() for part in parts)

    of_several = ag.autograd.grad(total(f(*several)), several)
    for g, expected in zip(ag.autograd.grad(total(f(*single)), single), of_several, strict=True):
        np.testing.assert_allclose(g.numpy(), expected.numpy().ravel()[0], rtol=1e-12, atol=1e-14)


def test_every_rule_has_a_sample():
    univariate = {f"stats.{name}." for name, one in stats.OBJECTS.items() if one.kind != "multivariate"}
    need = {name for name, rule in REGISTRY.items()
            if rule.gradients is not None and not any(name.startswith(one) for one in univariate)}  # fmt: skip
    for module in ("sparse", "sparse.linalg"):  # whose functions are objects of ours
        need.update(f"{module}.{name}" for name in survey(module).differentiated)
    need.discard("sparse.linalg.LinearOperator")  # whose functions are the program's: test_operators_of_tensors.py
    assert need - {name for name, *_ in SAMPLES} == set()
