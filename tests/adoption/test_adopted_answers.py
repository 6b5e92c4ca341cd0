"""What Tensors answer in adopted calls where no name holds a stand-in: class, attributes, text, operators of numbers.

Imports the public names of arraygrad. The reference is the plain call: its value, and differences of it.
"""

import functools
import logging
import math
import numbers
import operator

import numpy as np
import pytest

import arraygrad as ag

S = 0.6173
V = np.asarray([0.45, 1.2])
# `class_is` compares `float` by `is`, so this module has no stand-in for it: the answers are asked without one.


def compared(f, x=S):
    """Value and slope of an adopted call are those of the plain one."""
    value, slope = ag.value_and_grad(f, adopt=True)(x)
    assert value == pytest.approx(f(x), rel=1e-14)
    assert slope == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-7)


def match_float(x):
    match x:
        case float():
            return x * 2.0
        case _:
            return x * 3.0


def match_one_of_two(x):
    match x * x:
        case int() | float():
            return x * 2.0
        case _:
            return x * 3.0


def match_in_a_list(x):
    match [x, 2.0]:
        case [float(a), b]:
            return a * b
        case _:
            return x * 7.0


def match_abstract_class(x):
    match x:
        case str() | int():
            return x * 5.0
        case numbers.Real():
            return x * 2.0
        case _:
            return x * 3.0


def match_scalar_of_numpy(x):
    match x * x:
        case np.floating():
            return x * 2.0
        case float():
            return x * 3.0


def match_attribute(x):
    class Point:
        def __init__(self, x):
            self.x = x

    match Point(x):
        case Point(x=float(a)):
            return a * 2.0
        case _:
            return x * 3.0


def class_is(x):
    return x * 2.0 if x.__class__ is float else x * 3.0


def name_of_class(x):
    return x * 2.0 if x.__class__.__name__ == "float" else x * 3.0


def getattr_of_class(x):
    return x * 2.0 if getattr(x, "__class__", None) == float else x * 3.0  # noqa: E721


def getattr_with_default(x):
    return x * 2.0 if getattr(x, "ndim", None) is None else x * 3.0


def getattr_caught(x):
    try:
        return x * getattr(x, "shape")[0]  # noqa: B009
    except AttributeError:
        return x * 2.0


def hasattr_shape(x):
    return x * 2.0 if hasattr(x, "shape") or hasattr(x, "__array__") else x * 3.0


def shape_caught(x):
    try:
        return x * 2.0 + x.shape[0]
    except AttributeError:
        return x * 3.0


def dtype_caught(x):
    try:
        x.dtype, x.size, x.ndim  # noqa: B018
    except AttributeError as error:
        return x * (3.0 if error.name == "dtype" else 4.0)
    return x * 2.0


def division_by_zero(x):
    try:
        return 1.0 / (x - x)
    except ZeroDivisionError:
        return x * 2.0


def other_divisions_by_zero(x):
    found = x
    for divide in (operator.floordiv, operator.mod, divmod, operator.itruediv):
        try:
            divide(x, x - x)
        except ZeroDivisionError:
            found = found * 2.0
    return found


def power_of_zero(x):
    try:
        return (x - x) ** -1
    except ZeroDivisionError:
        return x * 2.0


def power_that_overflows(x):
    try:
        return (x * x) ** -1e6
    except OverflowError:
        return x * 2.0


def root_of_negative(x):
    return abs((-x) ** 0.5) + ((-x) ** 1.3).imag + ((-2.0) ** x).real


def root_in_place(x):
    y = -x
    y **= 0.5
    return y.imag


def length_of_text(x):
    return x * len(str(x)) + x * len(f"{x}") + x * len(repr(x)) + x * len(f"{x!r:>30}")


@functools.singledispatch
def dispatched(x):
    return x * 3.0


@dispatched.register
def _(x: float):
    return x * 2.0


class Dispatching:
    @functools.singledispatchmethod
    def call(self, x):
        return x * 3.0

    @call.register
    def _(self, x: float):
        return x * 2.0


def single_dispatch(x):
    return dispatched(x) + dispatched(x * x) + dispatched(2.0 * x) + Dispatching().call(x) + dispatched(1)


@pytest.mark.parametrize(
    "f",
    [
        match_float, match_one_of_two, match_in_a_list, match_abstract_class, match_scalar_of_numpy, match_attribute,
        class_is, name_of_class, getattr_of_class, getattr_with_default, getattr_caught, hasattr_shape, shape_caught,
        dtype_caught, division_by_zero, other_divisions_by_zero, power_of_zero, power_that_overflows, root_of_negative,
        root_in_place, single_dispatch,
    ],
)  # fmt: skip
def test_a_number_that_was_a_float_answers_as_a_float(f):
    compared(f)


@pytest.mark.parametrize("f", [length_of_text])
def test_text_of_a_number_is_that_of_the_plain_number(f):
    value, slope = ag.value_and_grad(f, adopt=True)(S)
    assert value == f(S)
    assert slope == pytest.approx(f(S) / S, rel=1e-14)  # text has no slope


def scalar_answers(v):
    x = v[0] * 2.0
    match x:
        case np.floating():
            found = [1]
        case float():
            found = [2]
    match v:
        case list():
            found += [3]
        case np.ndarray():
            found += [4]
    with np.errstate(all="ignore"):
        found += [bool(np.isnan((-x) ** 0.5)), bool(np.isinf(1.0 / (x - x)))]
    return (
        *found, x.__class__.__name__, v.__class__ is np.ndarray, hasattr(x, "shape"), getattr(x, "ndim", None),
        getattr(v, "shape", None), x.shape, v.dtype.kind, str(x), repr(x), str(v), f"{v}", repr(v),
        f"{x:.2f}", getattr(v, "missing", 7), hasattr(v, "missing"),
    )  # fmt: skip


def test_a_scalar_and_an_array_of_numpy_answer_as_in_the_plain_call():
    found = []
    ag.grad(lambda v: (found.append(scalar_answers(v)), v.sum())[1], adopt=True)(V)
    assert found == [scalar_answers(V)]


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda y: y.__class__ is np.float64, "differs between a Python float and a scalar"),
        (lambda y: y.__class__.__name__ == "float64", "differs between a Python float and a scalar"),
        (lambda y: (-y) ** 0.5, r"is complex for Python's floats and nan for scalars of NumPy's"),
    ],
)
def test_an_open_question_is_refused(ask, text):
    with pytest.raises(TypeError, match=text):
        ag.grad(lambda x: x * (2.0 if ask(x * np.float64(2.0)) else 3.0), adopt=True)(S)


@pytest.mark.parametrize("ask", [lambda y: hasattr(y, "shape"), lambda y: getattr(y, "ndim", None) == 0])
def test_an_open_question_for_an_attribute_is_answered_with_a_warning(ask):
    with pytest.warns(UserWarning, match=r"test_adopted_answers\.py:\d+.*the answer is that of a scalar of NumPy's"):
        assert ag.grad(lambda x: x * (2.0 if ask(x * np.float64(2.0)) else 3.0), adopt=True)(S) == 2.0


def test_an_open_match_is_refused_for_a_class_of_numpys_alone():
    def f(x):
        match x * np.float64(2.0):
            case np.float64():
                return x
        return x * 2.0

    with pytest.raises(TypeError, match=r"case float64\(\) differs between a Python float"):
        ag.grad(f, adopt=True)(S)
    compared(lambda x: match_float(x * 2.0))


def test_an_attribute_that_a_float_lacks_is_an_error_that_names_the_way_out():
    with pytest.raises(AttributeError, match=r"'float' object has no attribute 'shape'.*numpy\.asarray\(x\)"):
        ag.grad(lambda x: x * len(x.shape), adopt=True)(S)
    with pytest.raises(AttributeError, match=r"'float' object has no attribute 'ndim'"):
        ag.grad(lambda x: x * getattr(x, "ndim"), adopt=True)(S)  # noqa: B009
    assert ag.grad(lambda x: np.asarray(x).reshape(np.asarray(x).shape)[()] * 2.0, adopt=True)(S) == 2.0


# Code that serves PyTorch as well asks for what PyTorch's Tensors have, and would cut the gradient off.
def detached(x):
    if hasattr(x, "detach"):
        x = x.detach().numpy()
    return x


ASKING = {
    "hasattr": detached,
    "getattr and a default": lambda x: getattr(x, "numpy", lambda: x)(),
    "callable": lambda x: x.numpy() if callable(getattr(x, "numpy", None)) else x,
    "requires_grad": lambda x: x.detach() if hasattr(x, "requires_grad") and x.requires_grad else x,
    "the array": lambda x: getattr(x, "array", x),
    "a loop": lambda x: _unwrapped(x),
    "cpu": lambda x: x.cpu().numpy() if hasattr(x, "cpu") else x,
}


def _unwrapped(x):
    while hasattr(x, "array"):
        x = x.array
    return x


@pytest.mark.parametrize("ask", ASKING)
@pytest.mark.parametrize("at", [2.0, np.array([1.0, 2.0]), np.float64(3.0)])
def test_attributes_of_tensors_alone_are_missing_as_in_the_plain_call(ask, at):
    def function(x):
        return np.sum(ASKING[ask](x) ** 2 * x)

    np.testing.assert_allclose(ag.grad(function)(at), 3.0 * np.asarray(at) ** 2)


def test_single_dispatch_on_tensors_finds_them():
    @functools.singledispatch
    def double(x):
        return x * 3.0

    double.register(ag.Tensor, lambda x: x * 2.0)
    assert ag.grad(lambda x: double(x), adopt=True)(S) == 2.0


def test_libraries_and_other_code_see_a_tensor():
    def f(x):
        assert isinstance(x, ag.Tensor)
        assert np.shape(x) == ()
        assert np.asarray(x).shape == ()
        return np.sin(x) * 2.0

    assert ag.grad(f, adopt=True)(S) == pytest.approx(2.0 * math.cos(S))
    t = ag.tensor(S, requires_grad=True)
    assert t.__class__ is ag.Tensor
    assert t.shape == ()
    assert getattr(t, "ndim") == 0  # noqa: B009
    assert repr(t) == "Tensor(0.6173, requires_grad=True)"
    assert ag.grad(lambda x: x * len("%.3f" % x))(S) == 5.0  # noqa: UP031
    with pytest.raises(TypeError, match="becomes a Python number"):
        ag.grad(lambda x: x * len("%.3f" % x), adopt=False)(S)  # noqa: UP031


def test_numbers_can_be_logged_and_printed(caplog, capsys):
    def f(x):
        logging.getLogger("adopted").warning("at %.3f", x)
        print(f"x = {x:.3f}", x)
        return x * 2.0

    assert ag.grad(f, adopt=True)(S) == 2.0
    assert "at 0.617" in caplog.text
    assert capsys.readouterr().out == "x = 0.617 0.6173\n"


TEXTS = {
    "str": str,
    "repr": lambda x: repr(x).removeprefix("np.float64(").removesuffix(")"),
    "format": lambda x: format(x, ".17g"),
    "f-string": lambda x: f"{x:.6f}",
    "method": "{:.3e}".format,
    "among others": lambda x: f"x = {x:+.4f}; y = 2".split(";")[0].split("=")[1],
    "of an array": lambda x: str(np.stack([x, 2.0 * x])).strip("[]").split()[0],
    "of a list": lambda x: f"{[x, 1.0]}".strip("[]").removeprefix("np.float64(").split(",")[0].removesuffix(")"),
}
READERS = {
    "float": lambda text: complex(text).real,  # `complex` has a stand-in in this module, `float` has none
    "array": lambda text: np.array([text], float)[0],
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_number_read_from_text_of_a_tensor_is_told(text, read):
    with pytest.warns(UserWarning, match=r"test_adopted_answers\.py.*read from text that was made of a Tensor"):
        found = ag.grad(lambda x: x * read(text(x)), adopt=True)(S)
    assert found == read(text(S))


@pytest.mark.parametrize("f", [lambda x: "%.3f" % x, lambda x: "%s: %e, %g" % ("a", x, x * x)])  # noqa: UP031
def test_a_percent_sign_of_text_shows_the_value_and_is_refused_without_adoption(f):
    assert ag.grad(lambda x: x * len(f(x)), adopt=True)(S) == len(f(S))
    with pytest.raises(TypeError, match=r"For text write f'\{x:\.3f\}'"):
        ag.grad(lambda x: x * len(f(x)), adopt=False)(S)


def test_a_percent_sign_of_numbers_is_no_text():
    class Wheel:
        def __mod__(self, other):
            return float(other)

    wheel, format = Wheel(), "%.3f"
    assert type(wheel % 1) is float  # `float` has no stand-in here
    with pytest.raises(TypeError, match="becomes a Python number"):
        ag.grad(lambda x: x * (wheel % x), adopt=True)(S)
    with pytest.raises(TypeError, match="becomes a Python number"):
        ag.grad(lambda x: x * operator.mod(wheel, x) * len(format), adopt=True)(S)


def test_leaves_outside_of_transforms_have_what_tensors_have():
    t = ag.tensor(S, requires_grad=True)
    ag.adopt(lambda t: t * 2.0 if t.shape == () and t.ndim == 0 else t * 3.0)(t).backward()
    assert float(t.grad) == 2.0


def hash_of_an_array(x):
    try:
        hash(x)
    except TypeError:
        return (x * x).sum()
    return x.sum()


def hash_of_a_view(x):
    try:
        return {hash(x[1:]): 3.0}[0] * x.sum()
    except TypeError as error:
        return (x**3).sum() if "unhashable" in str(error) else x.sum()


def hash_of_a_scalar(x):
    return (x * x).sum() if hash(x[0]) == hash(x[:1].max()) else x.sum()


def hash_of_something_else(x):
    return (x * x).sum() if hash("a") == hash("a") and hash((1, 2)) == hash((1, 2)) else x.sum()


@pytest.mark.parametrize("f", [hash_of_an_array, hash_of_a_view, hash_of_a_scalar, hash_of_something_else])
def test_what_is_hashable_is_that_of_the_plain_call(f):
    x = np.array([0.5, 1.5, 2.5])
    value, gradient = ag.value_and_grad(f)(x)
    assert value == f(x)
    steps = 1e-6 * np.eye(3)
    np.testing.assert_allclose(gradient, [(f(x + d) - f(x - d)) / 2e-6 for d in steps], rtol=1e-6)


def test_arrays_without_axes_that_broadcast_arrays_makes_are_arrays():
    def f(x):
        a, b = np.broadcast_arrays(x, 2)
        assert isinstance(a, np.ndarray)
        assert isinstance(b, np.ndarray)
        return a**b

    assert ag.value_and_grad(f)(3.0) == (9.0, 6.0)


@pytest.mark.parametrize("adopt", [True, False])
@pytest.mark.filterwarnings("ignore:.*another branch")
def test_instructions_that_ask_for_no_class_are_told_from_those_that_do_however_many_there_are(adopt):
    """NumPy asks each operand for its class in the frame of the program, whose instructions are noted: thousands here.

    Half of the functions ask themselves, at the offset where the others multiply. Code is freed between them.
    """
    kinds = set()
    for i in range(1200):
        asks = i % 2 == 0
        space = {"V": V, "kinds": kinds}
        exec(
            f"def f(x):\n    y = {'kinds.add(x.__class__)' if asks else 'V * x'}\n    return (V * x).sum() * {i}.0",
            space,
        )
        kinds.clear()
        for _ in range(2):
            assert ag.grad(space["f"], adopt=adopt)(np.asarray([1.0, 2.0])) == pytest.approx(V * i)
        assert kinds == (set() if not asks else {np.ndarray} if adopt else {ag.Tensor})
