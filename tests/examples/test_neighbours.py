"""Each example of examples/neighbours runs with the library that it is for, and its derivatives are right."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def example(monkeypatch):
    """Imports an example, where the library that it needs is installed."""
    pytest.importorskip("scipy")

    def load(name, library):
        pytest.importorskip(library)
        return importlib.import_module(f"examples.neighbours.{name}")

    monkeypatch.syspath_prepend(str(ROOT))
    yield load
    for name in [name for name in sys.modules if name.startswith("examples.neighbours")]:
        del sys.modules[name]


def test_lmfit_fits_with_an_exact_jacobian(example):
    module = example("lmfit_fit", "lmfit")
    exact, differences = module.fit(), module.fit(None)
    for name, value in module.TRUTH.items():
        assert exact.params[name].value == pytest.approx(value, rel=1e-6)
    assert exact.nfev < differences.nfev


def test_emcees_walkers_start_in_the_posterior(example):
    module = example("emcee_start", "emcee")
    best, covariance, chain = module.sample()
    assert np.all(np.abs(chain.mean(axis=0) - best) < 0.5 * np.sqrt(np.diag(covariance)))
    np.testing.assert_allclose(chain.std(axis=0), np.sqrt(np.diag(covariance)), rtol=0.25)


def test_uncertainties_get_exact_slopes(example):
    module = example("uncertainties_wrap", "uncertainties")
    from uncertainties import ufloat

    area = module.with_errors(lambda a, b: np.sin(a) * b**2, 2)
    found = area(ufloat(0.5, 0.1), ufloat(2.0, 0.2))
    expected = np.hypot(np.cos(0.5) * 4.0 * 0.1, np.sin(0.5) * 4.0 * 0.2)
    assert found.nominal_value == pytest.approx(4.0 * np.sin(0.5))
    assert found.std_dev == pytest.approx(expected, rel=1e-12)
    swing = module.with_errors(module.period, 2)(ufloat(1.0, 0.01), 9.81)
    # The period is proportional to the root of the length, but for the error of the steps.
    assert swing.std_dev / swing.nominal_value == pytest.approx(0.005, rel=0.02)


@pytest.mark.filterwarnings("default")
def test_openmdaos_partials_are_those_of_differences(example):
    module = example("openmdao_component", "openmdao")
    prob = module.problem()
    prob.run_model()
    checked = prob.check_partials(out_stream=None, method="fd", form="central", step=1e-6)
    for partial in checked["wing"].values():
        np.testing.assert_allclose(partial["J_fwd"], partial["J_fd"], rtol=1e-6, atol=1e-8)
    prob.run_driver()
    assert prob["lift"][0] == pytest.approx(3.0, abs=1e-6)


@pytest.mark.filterwarnings("default")
def test_pytensor_differentiates_an_operation_of_a_numpy_function(example):
    module = example("pytensor_op", "pytensor")
    import pytensor.tensor as pt
    from pytensor import function

    amounts, rate = pt.dvector("amounts"), pt.dscalar("rate")
    value = module.Function(module.decay)(amounts, rate)
    run = function(
        [amounts, rate], [value, *pt.grad(value, [amounts, rate])], mode="FAST_COMPILE", on_unused_input="ignore"
    )
    found, by_amounts, by_rate = run(np.array([1.0, 2.0]), 0.3)
    # log(5 e^(-2 r k)) for k = 1 to 5, of the sum of squares 5
    assert found == pytest.approx(5 * np.log(5.0) - 2 * 0.3 * 15)
    np.testing.assert_allclose(by_amounts, 5 * 2 * np.array([1.0, 2.0]) / 5.0)
    assert by_rate == pytest.approx(-30.0)
