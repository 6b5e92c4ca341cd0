"""pad lays its result out in memory as numpy.pad does: what is a view of it is the same. Imports: arraygrad."""

import numpy as np
import pytest

import arraygrad as ag

ARRAYS = {
    "row-major": np.arange(6.0).reshape(2, 3),
    "column-major": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "three axes": np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
    "every second": np.arange(24.0).reshape(4, 6)[::2, ::2],
    "one axis": np.arange(3.0),
}


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_a_padded_array_is_laid_out_as_numpys(array, mode):
    expected = np.pad(array, 1, mode)
    found = ag.pad(ag.asarray(array), 1, mode=mode).numpy()
    np.testing.assert_array_equal(found, expected)
    assert found.strides == expected.strides


def test_a_write_through_what_ravel_gives_reaches_a_row_major_result_alone():
    for array in (ARRAYS["row-major"], ARRAYS["column-major"]):
        x = ag.tensor(array.copy(order="K"), requires_grad=True)
        padded, expected = ag.pad(x, 1), np.pad(array, 1)
        flat, plain = padded.ravel(), expected.ravel()
        flat -= flat * 0.5
        plain -= plain * 0.5
        np.testing.assert_array_equal(padded.detach().numpy(), expected)
        ag.sum(padded).backward()
        assert np.all(x.grad.numpy() == (0.5 if array.flags.c_contiguous else 1.0))
