"""Evaluations that are noted are the last ones of each time, as numbers, whatever a right side returns.

The class: what a right side returns (lists, tuples, arrays of many dtypes and layouts, what is no number) x the order
of its arguments x the way of time x times that come back. The reference is a list of all calls.
"""

import numpy as np
import pytest

from arraygrad.backends.numpy.noted_calls import NotedCalls

STATE = np.array([0.3, -0.7])

RESULTS = {
    "list": lambda y: [y[1], -y[0]],
    "tuple": lambda y: (float(y[1]), -y[0]),
    "whole numbers": lambda y: [y[1], 2],
    "array": lambda y: np.array([y[1], -y[0]]),
    "view": lambda y: np.array([y[1], 9.0, -y[0]])[::2],
    "float32": lambda y: y[::-1].astype(np.float32),
    "integers": lambda y: np.array([1, 2]),
    "column": lambda y: np.array([[y[1]], [-y[0]]]),
    "one list": lambda y, held=[0.0, 0.0]: held.__setitem__(slice(None), [y[1], y[0]]) or held,
}
OTHERS = {
    "text": lambda y: ["1.0", "2.0"],
    "truth values": lambda y: [True, False],
    "complex": lambda y: [1j, 0.0],
    "complex array": lambda y: y * 1j,
    "arrays in a list": lambda y: [y[:1], y[1:]],
    "too few": lambda y: [y[0]],
    "too many": lambda y: np.zeros(3),
    "nothing": lambda y: None,
}


def called(f, times, state_first, backwards=False, way=1.0):
    noted = NotedCalls(f, 2, state_first, backwards)
    for k, t in enumerate(times):
        y = STATE * (1.0 + k)
        noted(*((y, way * t) if state_first else (way * t, y)), 5.0)
    return noted


@pytest.mark.parametrize("state_first", [False, True])
@pytest.mark.parametrize("name", RESULTS)
def test_results_are_noted_as_numbers(name, state_first):
    results = []

    def f(a, b, k):
        assert k == 5.0
        found = RESULTS[name](a if state_first else b)
        results.append(np.array(found, dtype=float).reshape(-1))
        return found

    noted = called(f, [0.0, 0.5, 1.0], state_first)
    t, y, slopes = noted.points()
    assert noted.plain
    assert noted.count == 3
    np.testing.assert_array_equal(t, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(y, [STATE, 2.0 * STATE, 3.0 * STATE])
    np.testing.assert_array_equal(slopes, results)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_such_result_is_told(name):
    noted = NotedCalls(lambda t, y: OTHERS[name](y), 2, False, False)
    found = noted(0.0, STATE)
    expected = OTHERS[name](STATE)
    assert type(found) is type(expected)
    assert not noted.plain
    noted(1.0, STATE)  # what follows is called as ever
    assert noted.count == 2


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_the_last_evaluations_in_order_are_left(seed, way):
    rng = np.random.default_rng(seed)
    times, now = [], 0.0
    for _ in range(30):
        now = max(now + rng.choice([0.0, 0.25, 0.5, -0.25, -0.5]), 0.0)
        times.append(now)
    noted = called(lambda t, y, _: [t, y[0]], times, False, way < 0.0, way)
    kept = [k for k in range(30) if all(times[k] < later for later in times[k + 1 :])]
    t, y, slopes = noted.points()
    np.testing.assert_array_equal(t, way * np.array(times)[kept])
    np.testing.assert_array_equal(y, [STATE * (1.0 + k) for k in kept])
    np.testing.assert_array_equal(slopes[:, 0], t)


def test_errors_of_a_right_side_are_its_own():
    def f(t, y):
        raise KeyError("none")

    with pytest.raises(KeyError, match="none"):
        NotedCalls(f, 2, False, False)(0.0, STATE)


def test_nothing_is_noted_before_a_call():
    t, y, slopes = NotedCalls(list, 2, False, False).points()
    assert t.shape == (0,)
    assert y.shape == slopes.shape == (0, 2)
