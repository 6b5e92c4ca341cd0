"""A test of means answers nan, as SciPy's does, for a sample of equal observations whose mean is rounded."""

import numpy as np
import pytest
from scipy import stats

import arraygrad as ag
import arraygrad.scipy.stats


@pytest.mark.parametrize("number", [0.667, 0.1, 1 / 3, 2.0, -7.7, 1e-9])
@pytest.mark.parametrize("count", [3, 5, 7])
@pytest.mark.filterwarnings("ignore")
def test_alexandergovern_of_equal_observations_is_nan(number, count):
    samples = np.full(count, number), np.array([0.123, 0.456, 0.789])
    found = ag.scipy.stats.alexandergovern(*[ag.tensor(s, requires_grad=True) for s in samples])
    plain = stats.alexandergovern(*samples)
    np.testing.assert_array_equal(found.statistic.detach().numpy(), plain.statistic)
    np.testing.assert_array_equal(found.pvalue.detach().numpy(), plain.pvalue)
