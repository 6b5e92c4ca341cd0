"""put_along_axis of empty and small arrays: it takes, and refuses, the shapes that NumPy does. 5,368 members."""

import itertools

import numpy as np
import pytest

import arraygrad as ag

SHAPES = [(0,), (2, 0), (0, 2), (2, 2, 0), (1, 2, 0), (2,), (2, 2), (2, 1, 2)]
VALUES = [(), (1,), (2,), (0,), (1, 1), (2, 1), (1, 2), (2, 1, 2), (2, 1, 2, 1), (1, 1, 1, 1), (1, 2, 0)]


def outcome(target, indices, values, axis):
    """The error's type, or the values that the array has then."""
    try:
        np.put_along_axis(target, indices, values, axis)
    except Exception as error:
        return type(error)
    return target.tolist() if isinstance(target, np.ndarray) else target.numpy().tolist()


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_are_taken_as_numpy_takes_them(shape):
    for axis in (None, *range(-len(shape), len(shape))):
        for picked in itertools.product((0, 1, 2), repeat=1 if axis is None else len(shape)):
            if np.prod(shape) == 0 and np.prod(picked) != 0:
                continue  # an index into no elements
            indices = np.zeros(picked, int)
            for given in VALUES:
                values = np.ones(given)
                expected = outcome(np.zeros(shape), indices, values, axis)
                for item in (values, ag.tensor(values, requires_grad=True)):
                    target = ag.tensor(np.zeros(shape), requires_grad=True) * 1.0
                    assert outcome(target, indices, item, axis) == expected, (axis, picked, given)
