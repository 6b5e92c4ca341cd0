"""numpy.vectorize of functions with every habit: what they return, what they write, how they are called."""

import itertools

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 1.5, 2.5])


class Log:
    """What a vectorized function writes beside what it returns."""

    def __init__(self):
        self.out = np.zeros(3)
        self.seen = []
        self.calls = 0


def nothing(log, i, v):
    log.out[i] = v * v


def nothing_but_adds(log, i, v):
    log.out[i] += v * v


def value(log, i, v):
    return v * v


def value_and_write(log, i, v):
    log.out[i] += v
    return 3.0 * v * v


def branch(log, i, v):
    return v if v > 1.0 else v * v


def constant(log, i, v):
    log.calls += 1
    return 2.0 * log.calls


def first_none(log, i, v):
    log.out[i] += v
    return None if i == 0 else 1.0


def two(log, i, v):
    log.out[i] += v
    return v * v, 2.0 * v


def constant_and_value(log, i, v):
    return float(i), v**3


def text(log, i, v):
    log.out[i] = v
    return f"row {i}"


def closes_over(log, i, v):
    return log.factor * v * i


def whole_first(log, i, v):
    return 0 if i == 0 else v * 10.0


FUNCTIONS = (nothing, nothing_but_adds, value, value_and_write, branch, constant, first_none, two, constant_and_value,
             text, closes_over, whole_first)  # fmt: skip
OPTIONS = {
    "plain": {},
    "cached": {"cache": True},
    "excluded": {"excluded": {"other"}},
    "floats": {"otypes": [float]},
    "objects": {"otypes": [object]},
}


def total(made):
    """The sum of a result's numbers."""
    if isinstance(made, tuple):
        return sum(total(part) for part in made)
    if made.dtype.kind in "OU":
        return 0.0 * len(made)
    return (made * np.array([1.0, 2.0, 3.0])).sum()


def program(function, options, arguments):
    def run(x):
        log = Log()
        log.factor = x[1]
        called = np.vectorize(lambda i, v: function(log, i, v), **OPTIONS[options])
        rows = np.arange(3)
        made = called(rows, x) if arguments == "recorded" else called(rows, np.array([0.5, 1.5, 2.5]))
        run.made = made
        return total(made) + (log.out**2).sum() + log.calls + 0.0 * x.sum()

    return run


def cases():
    for function, options, arguments in itertools.product(FUNCTIONS, OPTIONS, ("recorded", "constant")):
        several = function in (two, constant_and_value)
        if options == "floats" and (several or function in (nothing, nothing_but_adds, first_none, text)):
            continue  # NumPy's errors
        if options == "objects" and several:
            continue
        yield function, options, arguments


@pytest.mark.parametrize(("function", "options", "arguments"), list(cases()))
def test_as_numpy_calls_it(function, options, arguments):
    run = program(function, options, arguments)
    plain = run(X)
    kinds = [getattr(one, "dtype", None) for one in (run.made if isinstance(run.made, tuple) else (run.made,))]
    result, found = ag.value_and_grad(run, adopt=True)(X)
    np.testing.assert_allclose(result, plain, rtol=1e-14)
    assert kinds == [getattr(one, "dtype", None) for one in (run.made if isinstance(run.made, tuple) else (run.made,))]
    h = 1e-4
    steps = [(run(X + h * d) - run(X - h * d)) / (2 * h) for d in np.eye(3)]
    if function is not whole_first:  # whose values are cut off: steps have no slope
        np.testing.assert_allclose(found, steps, rtol=1e-6, atol=1e-7)
    else:
        assert not found.any() or options == "floats" or kinds[0].kind == "f"


def test_a_decorator_with_options():
    def run(x):
        @np.vectorize(otypes=[float])
        def square(v):
            """Of one number."""
            return v * v

        assert square.__name__ == "square"
        assert square.__doc__ == "Of one number."
        return square(x).sum()

    np.testing.assert_allclose(ag.grad(run, adopt=True)(X), 2.0 * X)


def test_what_it_makes_of_constants_can_be_written():
    def run(x):
        out = np.vectorize(lambda i: 1.0 * i)(np.arange(3))
        out[1] = x[0] ** 2
        return (out * np.array([1.0, 2.0, 3.0])).sum()

    np.testing.assert_allclose(ag.grad(run, adopt=True)(X), [4.0 * X[0], 0.0, 0.0])


def test_constants_come_as_pythons_numbers():
    def run(x):
        names = {0: 1.0, 1: 2.0, 2: 3.0}
        return np.vectorize(lambda i, v: names[i] * v)(np.arange(3), x).sum()

    np.testing.assert_allclose(ag.grad(run, adopt=True)(X), [1.0, 2.0, 3.0])


def test_no_elements():
    def run(x):
        return np.vectorize(lambda v: v * v, otypes=[float])(x[:0]).sum() + x.sum()

    np.testing.assert_allclose(ag.grad(run, adopt=True)(X), [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="size 0 inputs"):
        ag.grad(lambda x: np.vectorize(lambda v: v)(x[:0]).sum(), adopt=True)(X)
