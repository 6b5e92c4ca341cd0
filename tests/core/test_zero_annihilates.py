"""`zero_annihilates`: zero times an infinite derivative is zero, where it is asked for and nowhere else."""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import grad


def masked_log(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sum(np.where(x > 0, np.log(x), 0.0))


def masked_sqrt_ratio(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sum(np.where(x != 0, np.sqrt(np.abs(x)) / x, 0.0))


@pytest.fixture(autouse=True)
def quiet_infinities():
    with np.errstate(divide="ignore", invalid="ignore"):
        yield


def test_without_it_the_untaken_branch_gives_nan():
    assert np.isnan(ag.grad(masked_log)(np.array([0.0, 2.0]))[0])


@pytest.mark.parametrize("f", [masked_log, masked_sqrt_ratio])
def test_masked_code_differentiates_and_leaves_the_other_elements_alone(f):
    x = np.array([0.0, 2.0, 0.5])
    plain = ag.grad(f)(x)
    with ag.zero_annihilates():
        g = ag.grad(f)(x)
    assert g[0] == 0.0
    np.testing.assert_array_equal(g[1:], plain[1:])


def test_it_holds_for_second_derivatives():
    x = ag.tensor([0.0, 2.0], requires_grad=True)
    with ag.zero_annihilates():
        (g,) = grad(masked_log(x), x, create_graph=True)
        (h,) = grad(g.sum(), x)
    np.testing.assert_array_equal(h.numpy(), [0.0, -0.25])


def test_what_was_recorded_under_it_keeps_it_in_a_later_backward():
    x = ag.tensor([0.0, 2.0], requires_grad=True)
    with ag.zero_annihilates():
        y = masked_log(x)
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.5])


def test_a_nan_gradient_is_not_hidden():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    with ag.zero_annihilates():
        ag.log(x).backward(np.array([np.nan, 1.0]))
    assert np.isnan(x.grad.numpy()[0])
    assert x.grad.numpy()[1] == 0.5


def test_it_ends_with_its_block_also_on_errors():
    with pytest.raises(KeyError), ag.zero_annihilates(), ag.zero_annihilates():
        raise KeyError
    assert np.isnan(ag.grad(masked_log)(np.array([0.0, 2.0]))[0])


@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero):RuntimeWarning")  # errstate ends at the thread
def test_device_threads_follow_the_thread_that_called_backward():
    xp = pytest.importorskip("array_api_strict")
    device = xp.Device("device1")
    x = ag.asarray(xp.asarray([0.0, 2.0], dtype=xp.float64, device=device), requires_grad=True)
    zero = xp.zeros((2,), dtype=xp.float64, device=device)
    y = ag.where(x > 0, ag.log(x), zero).sum()
    with ag.zero_annihilates():
        y.backward()
    assert x.grad.tolist() == [0.0, 0.5]
