"""Linear systems that hold Tensors: objects of the names of SciPy's classes."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy.signal

import arraygrad as ag
from arraygrad.scipy import signal

TIMES = np.linspace(0.0, 2.0, 7)
DEN = np.array([1.0, 0.7, 0.3])


def gradient(f, a):
    return ag.grad(lambda a: f(a).sum())(a)


@pytest.mark.filterwarnings("ignore:Badly conditioned filter coefficients")  # SciPy says it of its own conversion
@pytest.mark.parametrize(
    "response",
    [
        lambda system: system.step(T=TIMES)[1],
        lambda system: system.impulse(T=TIMES)[1],
        lambda system: system.output(np.cos(TIMES), TIMES)[1],
        lambda system: system.bode([0.3, 0.9])[1],
        lambda system: system.to_ss().freqresp([0.3, 0.9])[1].real,
        lambda system: system.to_zpk().to_tf().step(T=TIMES)[1],
        lambda system: system.to_discrete(0.5).step(n=5)[1][0],
    ],
)
def test_a_system_of_tensors_responds_as_scipys_object(response):
    system = scipy.signal.TransferFunction([1.0], DEN)
    direction = np.array([0.2, 0.4, -0.3])

    def moved(t):
        return np.sum(response(scipy.signal.TransferFunction([1.0], DEN + t * direction)))

    ours = signal.TransferFunction([1.0], ag.tensor(DEN, requires_grad=True))
    np.testing.assert_allclose(response(ours).numpy(), response(system), rtol=1e-9)
    found = gradient(lambda den: response(signal.lti([1.0], den)), DEN) @ direction
    np.testing.assert_allclose(found, (moved(1e-5) - moved(-1e-5)) / 2e-5, rtol=1e-6)


def test_a_system_of_plain_arrays_is_scipys():
    assert type(signal.lti([1.0], DEN)) is type(scipy.signal.lti([1.0], DEN))


def test_functions_take_an_object_of_scipys_with_an_input_that_requires_grad():
    system = scipy.signal.lti([1.0], DEN)
    u = ag.tensor(np.cos(TIMES), requires_grad=True)
    _, y, _ = signal.lsim(system, u, TIMES)
    np.testing.assert_allclose(y.numpy(), scipy.signal.lsim(system, np.cos(TIMES), TIMES)[1], rtol=1e-12)
    (g,) = ag.autograd.grad(y.sum(), [u])
    assert np.all(g.numpy()[:-1] > 0)


def test_a_discrete_system_of_tensors_uses_its_time_step():
    a = ag.tensor(np.array([1.0, -0.5]), requires_grad=True)
    found = signal.dlti([1.0], a, dt=0.5).step(n=4)[1][0]
    expected = scipy.signal.dlti([1.0], [1.0, -0.5], dt=0.5).step(n=4)[1][0]
    np.testing.assert_allclose(found.numpy(), expected)


SYSTEMS = {
    "transfer function": lambda k: scipy.signal.TransferFunction([1.0], [1.0, k, 2.0]),
    "several outputs": lambda k: scipy.signal.TransferFunction([[k, 1.0], [2.0, 3.0]], [1.0, 2.0, k]),
    "zeros": lambda k: scipy.signal.ZerosPolesGain([k], [1.0, 2.0], 3.0),
    "states": lambda k: scipy.signal.StateSpace(
        [[0.0, 1.0], [-k, -0.1]], [[0.0, 1.0, 0.0], [1.0, 2.0, 1.0]], np.eye(2), np.zeros((2, 3))
    ),
    "discrete": lambda k: scipy.signal.dlti([[k, 1.0], [2.0, 0.5]], [[0.0], [1.0]], np.eye(2)[:1], [[0.0]], dt=0.1),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_counts_its_inputs_and_outputs(name):
    counts = []

    def f(k):
        system = SYSTEMS[name](k)
        counts.append((system.inputs, system.outputs))
        return k * (system.inputs + 2.0 * system.outputs)

    f(1.3)
    assert ag.grad(f)(1.3) == counts[0][0] + 2.0 * counts[0][1]
    assert counts[0] == counts[1]
