"""What adopted calls refuse says what to write instead; what is recorded in its place.

Imports the public names of arraygrad. The reference of what is recorded is the plain call, and differences of it.
"""

import collections
import decimal
import fractions
import json
import math
import struct
import sys

import numpy as np
import pytest

import arraygrad as ag

S, X = 0.6173, np.asarray([0.5, 1.0, 2.0])
# From Python 3.14 a Fraction asks for a float first.
FRACTION = "a Fraction has no gradient" if sys.version_info < (3, 14) else "becomes a Python number by float()"


class Activation:
    function = math.exp
    recorded = staticmethod(lambda x: math.exp(x))


FUNCTIONS = (math.exp,)


class Sub(np.ndarray):
    def __init__(self):
        self.name = "x"


def stored(dtype):
    def f(x):
        o = np.zeros(3, dtype=dtype)
        o[0] = x
        return x

    return f


def stored_in_a_field(x):
    o = np.zeros(3, dtype=[("a", float)])
    o["a"][0] = x
    return x


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (stored_in_a_field, "the array is structured.*use one array for each field"),
        (lambda x: np.random.gamma(x, 1.0, 2).sum(), r"scale \* rng\.gamma\(shape, size=\.\.\.\) is recorded"),
        (lambda x: np.random.default_rng(0).chisquare(x), r"scipy\.stats\.chi2\.ppf\(u, df\)"),
        (
            lambda x: np.asarray([x, 1.0]).view(Sub).sum(),
            r"Tensor\.view\(Sub\): .*Sub defines __init__: leave the view",
        ),
        (lambda x: np.asarray([x, 1.0]).view(type=np.matrix).sum(), r"Tensor\.view\(matrix\): a subclass of numpy\."),
        (lambda x: Activation.function(x), r"a class attribute or a tuple holds it.*math\.exp\(x\)"),
        (lambda x: FUNCTIONS[0](x), "a class attribute or a tuple holds it"),
        (
            lambda x: x if type(np.float64(2.0) * x) == np.float64 else 2.0 * x,  # noqa: E721
            r"test_adopted_refusals\.py:\d+, in .*differs",
        ),
    ],
)
def test_a_refusal_names_the_way_out(f, text):
    with pytest.raises(TypeError, match=text):
        ag.grad(f, adopt=True)(S)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("make", [np.matrix, np.asmatrix])
def test_a_matrix_is_refused_with_arrays_in_its_place(make):
    with pytest.raises(TypeError, match=r"A matrix of NumPy's holds no gradient: use arrays, numpy\.array"):
        ag.grad(lambda x: make([[x, 1.0]]).sum(), adopt=True)(S)


@pytest.mark.parametrize(
    ("f", "note"),
    [
        (lambda x: float(decimal.Decimal(x)), "a Decimal has no gradient"),
        (lambda x: float(fractions.Fraction(x)), FRACTION),
        (lambda x: len(json.dumps({"x": x})) * x, "JSON holds no gradient"),
        (lambda x: struct.unpack("d", struct.pack("d", x))[0], "bytes have no gradient"),
        (lambda x: sum(v * 1.0 for v in np.nditer(np.array([x, 1.0]))), "numpy.nditer takes no Tensor: loop over"),
    ],
)
def test_errors_of_others_that_know_no_tensor_are_explained(f, note):
    with pytest.raises((TypeError, struct.error)) as error:
        ag.grad(f, adopt=True)(S)
    assert any(note in line for line in (str(error.value), *getattr(error.value, "__notes__", ())))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: Activation.recorded(x) + Activation().recorded(x),
        lambda x: (np.histogram([0.1, 0.2, 0.3], bins=2, weights=[x, x * x, 1.0])[0] * np.array([1.0, 3.0])).sum(),
        lambda x: np.average([1.0, 2.0, 5.0], weights=[x, x * x, 1.0]),
        lambda x: (np.array(collections.deque([x, 2.0 * x])) ** 2).sum(),
        lambda x: np.asarray(collections.deque([x, 2.0])).prod(),
    ],
)
def test_lists_and_functions_that_are_recorded(f):
    value, slope = ag.value_and_grad(f, adopt=True)(S)
    assert value == pytest.approx(f(S), rel=1e-14)
    assert slope == pytest.approx((f(S + 1e-6) - f(S - 1e-6)) / 2e-6, rel=1e-7)


def test_write_into_an_array_from_outside():
    outside = np.zeros(3)
    held = (outside,)  # where no Tensor can be put: tests/adoption/test_lent_arrays.py has arrays that are recorded

    def f(x):
        outside[0] = x[0]
        return outside.sum()

    with pytest.raises(TypeError, match=r"test_adopted_refusals\.py:\d+, in .*f.*a tuple or set.*numpy\.array\(x\)"):
        ag.grad(f, adopt=True)(X)
    assert held[0] is outside

    def g(x):
        inside = np.array(outside)  # the way it names
        inside[0] = x[0]
        return inside.sum()

    assert ag.grad(g, adopt=True)(X).tolist() == [1.0, 0.0, 0.0]


def test_creation_function_without_adoption():
    with pytest.raises(TypeError, match=r"in .*: np\.array\(\[x\[0\]\]\).*arraygrad\.grad\(f, adopt=True\)"):
        ag.grad(lambda x: np.array([x[0]]).sum(), adopt=False)(X)


def test_function_of_a_list_without_adoption():
    with pytest.raises(
        TypeError, match=r"np\.sum\(\[x\[0\]\]\).*arraygrad\.asarray\(\[\.\.\.\]\) in the place of a list"
    ):
        ag.grad(lambda x: np.sum([x[0]]), adopt=False)(X)


def test_operator_that_writes_into_an_array_from_outside():
    outside = np.zeros(3)
    held = (outside,)

    def f(x, copied):
        [y] = [copied(outside)]
        y += x
        return y.sum()

    with pytest.raises(TypeError, match=r"numpy\.add: .* where arraygrad\.grad\(f\) adopts, x = numpy\.array\(x\)"):
        ag.grad(f, adopt=True)(X, lambda a: a.copy())
    assert ag.grad(f, adopt=True)(X, lambda a: np.array(a)).tolist() == [1.0, 1.0, 1.0]
    assert held[0] is outside


def test_scalar_type_of_numpy():
    with pytest.raises(TypeError, match=r"np\.float16\(x\[0\]\).*leave the 0-d Tensor as it is"):
        ag.grad(lambda x: np.float16(x[0]), adopt=True)(X)


def test_generator_of_random_numbers():
    rng = np.random.default_rng(1)
    with pytest.raises(TypeError, match=r"mu \+ sigma \* rng\.normal"):
        ag.grad(lambda x: rng.normal(x[0], 1.0), adopt=False)(X)
    assert ag.grad(lambda x: rng.normal(x[0], 1.0), adopt=True)(X).tolist() == [1.0, 0.0, 0.0]
    drawn = rng.normal(size=3)
    assert ag.grad(lambda x: (x[0] + x[1] * drawn).sum(), adopt=True)(X).tolist() == [3.0, drawn.sum(), 0.0]


def test_function_of_scipy_without_adoption_names_the_room():
    optimize = pytest.importorskip("scipy.optimize")
    with pytest.raises(TypeError, match=r"optimize\.nnls.*Take arraygrad\.scipy\.optimize\.nnls, which is recorded"):
        ag.grad(lambda x: optimize.nnls(np.eye(3), x)[1], adopt=False)(X)


def test_function_of_scipy_is_named_at_the_line_that_calls_it():
    vq = pytest.importorskip("scipy.cluster.vq")
    with pytest.raises(
        TypeError,
        match=r"test_adopted_refusals\.py:\d+, in .*vq\.whiten\(.*arraygrad\.scipy (has no rule for cluster\.vq|has a)",
    ):
        ag.grad(lambda x: vq.whiten(np.outer(x, x)).sum(), adopt=True)(X)
