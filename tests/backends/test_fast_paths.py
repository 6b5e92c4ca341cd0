"""The NumPy backend's direct loops, each held to NumPy's ordinary call, bit by bit.

The rules that go with them are in test_fast_rules.py.
"""

import itertools

import numpy as np
import pytest
from fast_path_cases import DENSE, DTYPES, OTHER, SPECIAL, ordinary, outcome, plain, quiet, same, values_of

from arraygrad.backends.numpy import BACKEND
from arraygrad.backends.numpy.array_ops import try_loop
from arraygrad.backends.numpy.loops import loop_agrees, loop_dtypes, set_fast_paths
from arraygrad.backends.numpy.table import BINARY_LOOPS, UNARY_LOOPS
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.tensor import apply_op
from arraygrad.ops import OPS

# numpy.float_power has double precision only
BINARY = [(n, d) for n in (*BINARY_LOOPS, "pow") for d in DTYPES if (n, d) != ("_float_power", "float32")]


@pytest.mark.parametrize("name", sorted({*UNARY_LOOPS.values(), *BINARY_LOOPS.values(), "power"}))
def test_every_listed_ufunc_has_loops_for_both_real_dtypes(name):
    assert ({"d"} if name == "float_power" else {"f", "d"}) <= set(loop_dtypes(name))


def test_a_loop_that_gives_other_values_is_noticed():
    assert loop_agrees("sin", "d", np.sin)
    assert not loop_agrees("sin", "d", np.cos)
    assert not loop_agrees("add", "f", np.subtract)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", DENSE)
@pytest.mark.parametrize("name", UNARY_LOOPS)
def test_a_unary_loop_gives_numpys_result(name, layout, dtype):
    x = DENSE[layout](values_of(dtype))
    with quiet():
        got, _ = try_loop(BACKEND, OPS[name], x)
        expected = ordinary(name, x)
    same(got, expected)
    assert got.strides == expected.strides or x.size <= 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY_LOOPS)
def test_a_unary_loop_gives_numpys_result_for_special_values(name, dtype):
    with quiet():
        x = np.array(SPECIAL).astype(dtype)
        same(try_loop(BACKEND, OPS[name], x)[0], ordinary(name, x))


@pytest.mark.parametrize("layout", DENSE)
@pytest.mark.parametrize(("name", "dtype"), BINARY)
def test_a_binary_loop_gives_numpys_result(name, layout, dtype):
    a, b = (DENSE[layout](values_of(dtype, seed)) for seed in (1, 2))
    with quiet():
        got, _ = try_loop(BACKEND, OPS[name], a, b)
        expected = ordinary(name, a, b)
    same(got, expected)
    assert got.strides == expected.strides or a.size <= 1


@pytest.mark.parametrize(("name", "dtype"), BINARY)
def test_a_binary_loop_gives_numpys_result_for_special_values(name, dtype):
    with quiet():
        pairs = np.array(list(itertools.product(SPECIAL, SPECIAL))).astype(dtype)
        a, b = pairs[:, 0].copy(), pairs[:, 1].copy()
        same(try_loop(BACKEND, OPS[name], a, b)[0], ordinary(name, a, b))


@pytest.mark.parametrize("number", [2, 3, -1, 0, 2.0, 0.5, -1.5, 0.1, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "pow"])
def test_a_python_number_adopts_the_arrays_dtype(name, number):
    for dtype, layout in itertools.product(DTYPES, ["size 1", "0-d", "empty", "row-major", "column-major"]):
        x = DENSE[layout](values_of(dtype))
        for given in ((x, number), (number, x)):
            with quiet():
                got, expected = try_loop(BACKEND, OPS[name], *given)[0], ordinary(name, *given)
            try:
                same(got, expected)
            except AssertionError as error:
                raise AssertionError(f"{dtype}, {layout}, {given}") from error


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("layout", ["size 1", "0-d", "empty", "1-d", "row-major", "column-major", "3-d"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_single_element_broadcasts(dtype, layout, shape):
    x, one = DENSE[layout](values_of(dtype, 1)), values_of(dtype, 2)(shape)
    for a, b in ((x, one), (one, x)):
        got, _ = try_loop(BACKEND, OPS["subtract"], a, b)
        if got is None:
            assert one.ndim > x.ndim > 0  # the result has a shape of neither
        else:
            same(got, ordinary("subtract", a, b))


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_array_of_one_repeated_value_is_read_once(dtype):
    x, one = values_of(dtype, 1)((4, 5)), np.broadcast_to(values_of(dtype, 2)(()), (4, 5))
    same(try_loop(BACKEND, OPS["multiply"], x, one)[0], x * one)
    same(try_loop(BACKEND, OPS["divide"], one, x.T.copy().T)[0], one / x)


def test_operands_may_overlap():
    x = np.arange(10.0)
    same(try_loop(BACKEND, OPS["multiply"], x[:-1], x[1:])[0], x[:-1] * x[1:])
    same(try_loop(BACKEND, OPS["add"], x, x)[0], x + x)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_loops_give_numpys_result(dtype):
    generator = np.random.default_rng(3)
    a, b = (generator.normal(size=(2, 9)).astype(dtype) + generator.normal(size=(2, 9)) * 1j for _ in range(2))
    a, b = a.astype(dtype), b.astype(dtype)
    for name in ("add", "subtract", "multiply", "divide"):
        same(try_loop(BACKEND, OPS[name], a, b)[0], ordinary(name, a, b))
        same(try_loop(BACKEND, OPS[name], a, 2.5)[0], ordinary(name, a, 2.5))
        same(try_loop(BACKEND, OPS[name], 1 - 2j, b)[0], ordinary(name, 1 - 2j, b))
    for name in ("exp", "sin", "log", "sqrt", "negative"):
        same(try_loop(BACKEND, OPS[name], a)[0], ordinary(name, a))


@pytest.mark.parametrize("layout", OTHER)
@pytest.mark.parametrize("dtype", DTYPES)
def test_other_layouts_are_left_to_numpy(dtype, layout):
    x = OTHER[layout](values_of(dtype))
    assert try_loop(BACKEND, OPS["sin"], x)[0] is None
    assert try_loop(BACKEND, OPS["add"], x, x)[0] is None
    assert try_loop(BACKEND, OPS["add"], x, 1.0)[0] is None
    same(np.asarray((wrap_raw(x) + 1.0).array), np.asarray(x + 1.0))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.ones(3, np.float32), np.ones(3)),
        (np.ones(3), np.ones((2, 3))),
        (np.ones((2, 1)), np.ones((1, 3))),
        (np.ones((2, 3)), np.ones((2, 3), order="F")),
        (np.ones(3, np.float32), np.float64(2.0)),
        (np.ones(3), True),
        (np.ones(3), 2j),
        (np.ones(3), 2**53 + 1),
        (np.ones(3), 10**400),
        (np.ones(3, np.float32), 1e39),
        (np.ones(3, int), np.ones(3, int)),
        (np.ones(3, np.float16), np.ones(3, np.float16)),
        (np.ones(3).view(np.recarray), np.ones(3)),
    ],
    ids=repr,
)
def test_unlike_operands_are_left_to_numpy(a, b):
    assert try_loop(BACKEND, OPS["add"], a, b)[0] is None
    assert try_loop(BACKEND, OPS["add"], b, a)[0] is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_square_by_pow_is_numpys_power(dtype):
    with quiet():
        x = np.array(SPECIAL).astype(dtype)
        same(try_loop(BACKEND, OPS["pow"], x, 2)[0], np.power(x, 2))
        same(try_loop(BACKEND, OPS["pow"], x, 2.0)[0], np.power(x, 2.0))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_complex_square_by_pow_is_numpys_power_which_is_not_its_square(dtype):
    with quiet():
        x = wrap_raw(np.array([complex(a, b) for a in SPECIAL for b in SPECIAL]).astype(dtype))
        same(apply_op(OPS["pow"], (x, 2)).array, plain(apply_op, OPS["pow"], (x, 2)).array)
        same(apply_op(OPS["pow"], (x, 2)).array, np.power(x.array, 2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["exp", "expm1", "sinh", "cosh"])
def test_an_overflow_is_reported_also_where_a_loop_raises_it_by_the_c_library(name, dtype):
    # With glibc that is a bit of the x87 unit, where float32 and float64 are computed by SSE.
    for size in (1, 2, 21, 255, 256, 1000, 30_000):
        x = np.ones(size, dtype)
        x[-1] = 1e4
        with np.errstate(over="raise"), pytest.raises(FloatingPointError, match=f"overflow encountered in {name}"):
            try_loop(BACKEND, OPS[name], x)
        x[-1] = np.inf
        with np.errstate(over="raise"):
            try_loop(BACKEND, OPS[name], x)  # infinite, but no overflow; and nothing was left behind


def test_the_switch_turns_loops_and_rules_off():
    x = np.ones(3)
    assert plain(try_loop, BACKEND, OPS["add"], x, x) == (None, False)
    assert plain(try_loop, BACKEND, OPS["sin"], x) == (None, False)
    assert not plain(BACKEND.plain, x)
    assert try_loop(BACKEND, OPS["add"], x, x)[1]
    assert set_fast_paths(True) is True


# -- floating-point errors -------------------------------------------------------------------------------------------

TINY = 2.0**-1000
ERRORS = {
    "divide by zero in log": ("log", (np.array([1.0, 0.0]),)),
    "invalid in log": ("log", (np.array([-1.0, 1.0]),)),
    "invalid in sqrt": ("sqrt", (np.array([-1.0], np.float32),)),
    "overflow in exp": ("exp", (np.array([1000.0, 1.0]),)),
    "underflow in exp": ("exp", (np.array([-740.0, 1.0]),)),
    "divide by zero": ("divide", (np.array([1.0, 2.0]), np.array([0.0, 1.0]))),
    "divide by python zero": ("divide", (np.array([1.0, 2.0]), 0)),
    "invalid in divide": ("divide", (np.array([0.0]), np.array([0.0]))),
    "invalid in add": ("add", (np.array([np.inf]), np.array([-np.inf]))),
    "overflow in multiply": ("multiply", (np.array([1e300]), 1e300)),
    "underflow in multiply": ("multiply", (np.array([TINY]), np.array([TINY]))),
    "overflow in square by pow": ("pow", (np.array([1e300]), 2)),
    "divide by zero in pow": ("pow", (np.array([0.0, 1.0]), -1.0)),
    "overflow of a number's cast": ("multiply", (np.array([1.0], np.float32), 1e39)),
    "none": ("multiply", (np.array([np.nan, 1.0]), np.array([np.inf, 2.0]))),
}


@pytest.mark.parametrize("mode", ["ignore", "warn", "raise"])
@pytest.mark.parametrize("case", ERRORS)
def test_floating_point_errors_are_numpys(case, mode):
    name, operands = ERRORS[case]
    with np.errstate(all=mode):
        got, errors = outcome(lambda: apply_op(OPS[name], operands).array)
        expected, expected_errors = outcome(lambda: ordinary(name, *operands))
    assert errors == expected_errors
    assert bool(errors) == (mode != "ignore" and case != "none")
    if expected is not None:
        same(got, expected)


def test_underflow_is_ignored_by_default():
    got, errors = outcome(lambda: apply_op(OPS["exp"], (np.array([-740.0]),)).array)
    assert errors == []
    assert got[0] > 0


def test_an_error_handler_of_the_user_is_called():
    seen = []
    with np.errstate(divide="call", call=lambda kind, flag: seen.append((kind, flag))):
        apply_op(OPS["divide"], (np.array([1.0]), np.array([0.0])))
    assert seen == [("divide by zero", 1)]


def test_old_floating_point_errors_are_not_reported_again():
    with np.errstate(all="ignore"):
        apply_op(OPS["log"], (np.array([-1.0]),))
    with np.errstate(all="raise"):
        apply_op(OPS["add"], (np.array([1.0]), np.array([2.0])))
