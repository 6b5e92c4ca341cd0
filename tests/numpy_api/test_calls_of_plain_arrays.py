"""The functions that arraygrad.numpy has beyond the standard, called with plain arrays, do what NumPy does.

The class: a call without a Tensor, of each function, in several dtypes, with rare parameters, out=, infinite numbers,
complex numbers and objects. Values, dtypes, shapes, containers, errors and what is written are NumPy's; arrays of
numbers come as Tensors.

Imports arraygrad, arraygrad.numpy, and the calls of tests/fuzz/spellings.
"""

import re
import warnings

import numpy as np
import pytest
from tests.fuzz.spellings import values_of_numpy

import arraygrad as ag
import arraygrad.numpy as anp

BEYOND = [
    call
    for call in values_of_numpy.TEMPLATES
    if (found := re.match(r"np\.(\w+)\(", call)) and found[1] not in (*anp.__all__, "add", "power", "float_power")
]
RARE = """
np.histogram(x)
np.histogram(x, bins='auto', density=True)
np.histogram(x, bins=[0.0, 1.0, 4.0], weights=np.ones((2, 3)))
np.histogram_bin_edges(x, 4)
np.histogram2d(v, v, 3)
np.histogramdd(x.T, 2)
np.histogramdd([v, v, v], bins=[2, [0.0, 1.0, 3.0], 2])
np.digitize(v, np.array([0.0, 1.0, 2.0]))
np.bincount(np.array([0, 1, 1]), np.ones(3))
np.select([v > 1, v > 0], [v, 2 * v], 7)
np.piecewise(v, [v > 1], [1.0, 2.0])
np.insert(v, [], [])
np.insert(v, 1, 5)
np.delete(v, [0, -1])
np.append(v, [1, 2])
np.nan_to_num(np.array([np.nan, np.inf]), copy=False, posinf=3)
np.nanmin(x, axis=1, out=np.zeros(2))
np.nanmedian(x, axis=0, out=np.zeros(3))
np.percentile(x, 5, None, np.zeros(()), False, 'linear')
np.nanargmax(x, axis=0, out=np.zeros(3, int))
np.nanmedian(np.array([-np.inf, -np.inf, np.nan]))
np.nanmedian(np.array([1 + 2j, 3j, np.nan]))
np.nanmedian([[np.nan, np.inf], [np.nan, np.inf]], axis=0)
np.median([np.inf, np.inf, 1.0])
np.interp([1, 2, 2.5, 3, 4], [1, 2, 3, 4], [1, 2, np.inf, 4])
np.interp([1, 2, 2.5, 3, 4], [1, 2, 3, 4], [1, 2, np.nan, 4])
np.interp(0.5, [0, 1], [0j, complex(0, -np.inf)])
np.percentile(np.array([15, 20, 35], np.int8), 40.0, method='inverted_cdf')
np.quantile(np.array([15, 20, 35], np.uint16), 0.4, method='inverted_cdf', weights=[1, 2, 3])
np.ediff1d(np.array([1, 2, 3]), to_end=np.nan)
np.ediff1d(np.array([1, 2, 3], np.int8), to_begin=np.array([4], np.int8))
np.diag_indices_from(np.eye(2))
np.ix_([True, False], [1, 2])
np.ix_(v, [1, 2])
np.ix_(x, [1, 2])
np.unravel_index(5, (2, 3))
np.polyfit([0.0, 1, 2, 3], [1.0, 2, 4, 9], 1, cov=True)
np.polyfit([0.0, 1, 2, 3], [1.0, 2, 4, 9], 1, full=True)
np.nanvar(np.array([1, 2, 4]), ddof=0.5)
np.nanmean(np.array(['a', 'b']))
np.nancumsum(x, dtype='f4')
np.cov(x, rowvar=False)
np.corrcoef(x)
np.gradient(x)
np.lexsort((v, v))
np.apply_along_axis(lambda row: row * 2, 0, x)
np.vstack([v, v])
np.block([[v, v], [v, v]])
np.split(v, 2)
np.array_split(v, 3)
np.unwrap(v)
np.trim_zeros(np.array([0, 1.0, 0]))
np.setxor1d(v, [1.0])
np.partition(v, 1)
np.rot90(x, -1)
np.nanquantile(np.array([1, None, 2]), 0.5)
np.linalg.lstsq(x, [1.0, 2.0])
np.linalg.cond(x, 'fro')
np.linalg.norm(x, 3)
np.fft.fftshift(x, axes=[1])
""".strip().splitlines()


def outcome(library, call, arrays):
    arrays = {name: np.array(a, copy=True) for name, a in arrays.items()}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            text = re.sub("^np", "library", call)  # the arrays stay NumPy's
            found = eval(
                text,
                {"library": library, "np": np, "at": values_of_numpy.at, "mask": values_of_numpy.MASK.copy(), **arrays},
            )
        except Exception as error:
            return type(error), arrays
    return found, arrays


def described(value):
    """Containers, dtypes, shapes and elements of a result."""
    if isinstance(value, tuple | list):
        return type(value).__name__, [described(item) for item in value]
    if isinstance(value, ag.Tensor | np.ndarray | np.generic):
        array = value.numpy() if isinstance(value, ag.Tensor) else np.asarray(value)
        return array.dtype.newbyteorder("="), array.shape, str(array.tolist())
    return value


def check(call, arrays):
    theirs, their_arrays = outcome(np, call, arrays)
    ours, our_arrays = outcome(anp, call, arrays)
    if isinstance(theirs, type):
        assert isinstance(ours, type), f"{call} gives {ours}, NumPy {theirs.__name__}"
        return
    assert described(ours) == described(theirs), call
    assert described(list(our_arrays.values())) == described(list(their_arrays.values()))


@pytest.mark.parametrize("call", RARE)
def test_rare_calls_of_plain_arrays_do_what_numpy_does(call):
    check(call, {"x": np.array([[0.3, 1.7, 2.2], [1.1, np.nan, 0.4]][: 1 + ("nan" in call)] * (2 - ("nan" in call))),
                 "v": np.array([0.5, 1.5, 0.7, 2.5])})  # fmt: skip


@pytest.mark.parametrize("call", BEYOND)
def test_calls_of_plain_arrays_have_numpys_values(call):
    rng = np.random.default_rng(len(call))
    for dtype in (*values_of_numpy.DTYPES, "int64", "int8", "uint16", "bool"):
        drawn = values_of_numpy.member(rng, call, dtype, str(rng.choice([dtype, "int64", "float32"])))
        text, _, names = drawn.what.rpartition(" of ")
        check(text, dict(zip([name.split()[0] for name in names.split(", ")], drawn.arrays, strict=True)))


def test_functions_that_the_program_gives_may_hold_tensors():
    t = ag.tensor(2.0, requires_grad=True)
    ag.sum(anp.apply_along_axis(lambda row: row * t, 0, np.ones((2, 2)))).backward()
    assert t.grad.numpy() == 4.0
