"""Transfer functions whose first coefficients are zero, which SciPy cuts, have the derivatives by these.

The class: functions of a system that are smooth in the coefficients of its numerator x numerators with no, one, two
and all coefficients zero, or rounding's size x denominators with and without a leading zero x systems as pairs and as
objects x adopted SciPy and arraygrad.scipy. The reference is differences of SciPy's own functions.
"""

import itertools

import numpy as np
import pytest
from scipy import signal

import arraygrad as ag
import arraygrad.scipy.signal as ours

TIMES, INPUT, W = np.linspace(0.0, 2.0, 5), np.array([0.0, 0.5, 1.0, -0.3, 0.2]), np.array([0.3, 1.1])
NUMERATORS = [[0.0, 1.0, 2.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1e-16, 0.7, 0.3], [0.4, 0.0, 0.2], [0.0, 0.3], [0.0]]
DENOMINATORS = [[1.0, 0.5, 0.2], [2.0, 0.9, 0.3]]
FUNCTIONS = {
    "tf2ss": lambda m, b, a: m.tf2ss(b, a),
    "step": lambda m, b, a: m.step((b, a), T=TIMES)[1],
    "impulse": lambda m, b, a: m.impulse((b, a), T=TIMES)[1],
    "lsim": lambda m, b, a: m.lsim((b, a), INPUT, TIMES)[1],
    "freqresp": lambda m, b, a: np.abs(m.freqresp((b, a), W)[1] + 1.0),
    "dstep": lambda m, b, a: m.dstep((b, a, 0.1), n=4)[1][0],
    "dimpulse": lambda m, b, a: m.dimpulse((b, a, 0.1), n=4)[1][0],
    "dlsim": lambda m, b, a: m.dlsim((b, a, 0.1), INPUT)[1],
    "cont2discrete": lambda m, b, a: m.cont2discrete(m.tf2ss(b, a), 0.1)[:4],
    "lti": lambda m, b, a: m.lti(b, a).to_ss().C,
    "step of lti": lambda m, b, a: m.step(m.lti(b, a), T=TIMES)[1],
    "method of TransferFunction": lambda m, b, a: m.TransferFunction(b, a).step(T=TIMES)[1],
    "freqresp of lti": lambda m, b, a: np.abs(m.lti(b, a).freqresp(W)[1] + 1.0),
    "dlti": lambda m, b, a: m.dlti(b, a, dt=0.1).impulse(n=4)[1][0],
}


def weighted(found):
    parts = found if isinstance(found, tuple) else (found,)
    return sum(np.sum(np.cos(np.arange(1.0, 1.0 + np.size(p))).reshape(np.shape(p)) * p) for p in parts)


@pytest.mark.filterwarnings("ignore:Badly conditioned")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_zero_coefficients_keep_their_derivatives(name):
    for b, a, module in itertools.product(NUMERATORS, DENOMINATORS, (ours, signal)):
        b = np.array(b)
        if "freqresp" in name and not b.any():
            continue  # SciPy divides by the first coefficient there

        def function(b, module=module, a=a):
            return weighted(FUNCTIONS[name](module, b, a))

        value, found = ag.value_and_grad(function)(b)
        assert value == pytest.approx(function(b, signal), rel=1e-8, abs=1e-10)
        step = 1e-5
        moves = step * np.eye(b.size)
        expected = [(function(b + d, signal) - function(b - d, signal)) / (2.0 * step) for d in moves]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7, err_msg=f"{name} {b} {a} {module.__name__}")


@pytest.mark.filterwarnings("ignore:Badly conditioned")
def test_attributes_show_what_scipy_keeps():
    t = ag.tensor(np.array([0.0, 1.0, 2.0]), requires_grad=True)
    system, plain = ours.lti(t, [2.0, 1.0]), signal.lti(np.array([0.0, 1.0, 2.0]), [2.0, 1.0])
    np.testing.assert_array_equal(system.num.detach().numpy(), plain.num)
    np.testing.assert_array_equal(system.den.detach().numpy(), plain.den)
