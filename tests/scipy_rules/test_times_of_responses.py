"""The class of responses of linear systems at times that SciPy chooses: they reach to seven time constants of the
slowest mode, which the system determines.

The reference is SciPy's response, and differences of it: every description, real and complex modes, stable or not.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from plain_differences import holds
from scipy import signal

import arraygrad as ag

MODES = {
    "one": [-1.3], "two": [-0.7, -2.1], "a pair": [-0.6 + 1.2j, -0.6 - 1.2j],
    "a pair and one": [-1.1, -0.4 + 0.9j, -0.4 - 0.9j], "unstable": [0.5, -1.7], "at rest": [0.0, -1.2],
}  # fmt: skip
RESPONSES = {
    "step": lambda system, n: signal.step(system, N=n),
    "impulse": lambda system, n: signal.impulse(system, N=n),
    "lti.step": lambda system, n: signal.lti(*system).step(N=n),
    "lti.impulse": lambda system, n: signal.lti(*system).impulse(N=n),
}
NOT_AT_REST = [name for name in MODES if name != "at rest"]


def objective(result):
    times, response = result
    return np.sum(times * np.linspace(0.3, 1.0, 6)) + np.sum(response * np.linspace(1.0, 0.2, 6))


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("modes", NOT_AT_REST)
def test_by_the_denominator(name, modes):
    den = np.real(np.poly(MODES[modes]))
    holds(lambda d: objective(RESPONSES[name](([1.5], d), 6)), den, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("modes", [name for name in NOT_AT_REST if not np.iscomplexobj(MODES[name])])
def test_by_the_poles(name, modes):
    poles = np.array(MODES[modes])
    holds(lambda p: objective(RESPONSES[name](([], p, 1.5), 6)), poles, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("modes", NOT_AT_REST)
def test_by_the_matrix_of_the_state(name, modes):
    a, b, c, d = signal.tf2ss([1.5], np.real(np.poly(MODES[modes])))
    a = a + 0.05 * np.arange(a.size).reshape(a.shape)
    holds(lambda a: objective(RESPONSES[name]((a, b, c, d), 6)), a, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", RESPONSES)
def test_a_system_with_a_mode_at_rest_has_times_of_its_own(name):
    den = np.array([1.0, 1.2, 0.0])
    holds(lambda k: objective(RESPONSES[name](([k[0]], den), 6)), np.array([1.5]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("respond", ["step", "impulse", "lsim", "freqresp", "bode"])
def test_times_that_were_given_are_constants(respond):
    times, inputs = np.linspace(0.0, 2.0, 9), np.sin(np.arange(9.0))

    def f(x):
        system = signal.lti([1.0], [1.0, x[0], x[1]])
        if respond == "lsim":
            at, *_ = signal.lsim(system, inputs, times)
        elif respond in ("step", "impulse"):
            at, *_ = getattr(system, respond)(T=times)
        else:
            at, *_ = getattr(system, respond)(times + 0.1)
        _, y, _ = signal.lsim(system, inputs, T=at if respond in ("step", "impulse", "lsim") else at - 0.1)
        return (y**2).sum()

    def plain(x):
        _, y, _ = signal.lsim(signal.lti([1.0], [1.0, x[0], x[1]]), inputs, T=times)
        return (y**2).sum()

    x = np.array([1.3, 0.8])
    gradient = ag.grad(f, adopt=True)(x)
    steps = 1e-6 * np.eye(2)
    expected = [(plain(x + h) - plain(x - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
