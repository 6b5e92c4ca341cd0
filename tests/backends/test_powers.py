"""Powers: which loop NumPy takes for which exponent, and derivatives where one of the two is zero or negative.

Values are held to NumPy's own, bit by bit, derivatives to the numbers given here (PyTorch's, where it has finite ones,
and those of the formula).
"""

import itertools
import math

import numpy as np
import pytest
from fast_path_cases import outcome, plain, quiet, same

import arraygrad as ag
from arraygrad.backends.numpy import BACKEND
from arraygrad.backends.numpy.array_ops import try_loop
from arraygrad.backends.numpy.powers import ufunc_of_operator
from arraygrad.ops import OPS
from arraygrad.testing import gradcheck, gradgradcheck

EXPONENTS = [2, 2.0, 1, 1.0, 0, 0.0, -1, -1.0, 0.5, 3, 3.0, -2, -0.5, 2.5, True, np.float32(2), np.array(2.0), 2 + 0j]
LAYOUTS = {
    "0-d": lambda x: x[0],
    "one element": lambda x: x[:1],
    "row": lambda x: x,
    "every third": lambda x: x[::3],
    "backwards": lambda x: x[::-1],
    "column-major": lambda x: x[:3000].reshape(30, 100).T,
}


def numbers(dtype):
    rng = np.random.default_rng(3)
    x = rng.uniform(-3, 3, 4000)
    return (x + 1j * rng.uniform(-3, 3, 4000) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_the_operator_and_the_function_have_the_bits_of_numpys(dtype, layout):
    x = np.asarray(LAYOUTS[layout](numbers(dtype)))
    t = ag.asarray(x)
    for n in EXPONENTS:
        with quiet():
            expected, by_name = np.asarray(x**n), np.asarray(np.power(x, n))
            same((t**n).array, expected)
            same(plain(lambda n=n: (t**n).array), expected)
            same(np.power(t, n).array, by_name)
            if not isinstance(n, np.generic):
                same(ag.pow(t, ag.asarray(n) if isinstance(n, np.ndarray) else n).array, by_name)
                same(plain(lambda n=n: np.power(t, n).array), by_name)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_a_power_in_place_has_the_bits_of_numpys(dtype):
    for n in (2, 2.0, 0.5, -1, 3):
        x = numbers(dtype)
        t = ag.asarray(x.copy())
        with quiet():
            x **= n
            t **= n
        same(t.array, x)


@pytest.mark.parametrize("n", [2, 2.0, -1, -1.0, 0.5])
@pytest.mark.parametrize("mode", ["warn", "raise"])
def test_errors_of_a_power_are_reported_in_the_name_of_numpys_ufunc(n, mode):
    for x in (np.array([1e300, 2.0]), np.array([0.0, 2.0]), np.array([-1.0, 2.0])):
        with np.errstate(all=mode):
            assert outcome(lambda x=x: ag.asarray(x) ** n)[1] == outcome(lambda x=x: x**n)[1]
            assert outcome(lambda x=x: ag.pow(ag.asarray(x), n))[1] == outcome(lambda x=x: np.power(x, n))[1]


def test_the_operator_asks_numpy_which_ufunc_it_calls():
    for dtype, n in itertools.product((np.float64, np.complex128), EXPONENTS):
        assert isinstance(ufunc_of_operator(dtype, n), np.ufunc)
    assert ufunc_of_operator(np.float64, 2) is np.square
    assert ufunc_of_operator(np.float64, 3) is np.power


def test_the_operator_and_the_function_are_one_operation_by_name_node_and_rule():
    t = ag.tensor([1.5, 2.5], requires_grad=True)
    by_operator, by_name = t**3, ag.pow(t, 3)
    assert by_operator.grad_fn.name() == by_name.grad_fn.name() == "PowBackward"
    for y in (by_operator, by_name):
        (g,) = ag.autograd.grad(y.sum(), [t])
        np.testing.assert_array_equal(g.numpy(), 3 * np.array([1.5, 2.5]) ** 2)


def test_a_direct_loop_serves_the_operators_square():
    assert try_loop(BACKEND, OPS["pow"], np.ones(3), 2)[0] is not None


def test_float_power_is_numpys_own():
    x, y = np.abs(numbers("float64")), numbers("float64")[::-1]
    for a, b in ((x, y), (x.astype(np.float32), y), (x, 2), (x, 0.5), (numbers("complex128"), y)):
        t = ag.tensor(a, requires_grad=True)
        with quiet():
            result = np.float_power(t, b)
            same(result.array, np.float_power(a, b))
            abs(result).sum().backward()
        assert t.grad.dtype == a.dtype
    t = ag.tensor([2.0, 3.0], requires_grad=True)
    np.float_power(t, 3).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), [12.0, 27.0], rtol=1e-15)


def test_float_power_of_single_precision_is_numpys_in_every_layout():
    rng = np.random.default_rng(2)
    x = rng.uniform(0.2, 3.0, (5, 7)).astype(np.float32)
    special = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan], np.float32)
    pairs = [
        (x, x[::-1].copy()),
        (np.asfortranarray(x), np.asfortranarray(x)),
        (x.T, x.T),
        (x, np.asfortranarray(x)),
        (x, x[0]),
        (x[:, :1], x),
        (x[:, ::2], x[:, ::2]),
        (x, x.astype(np.float64)),
        (special, special[::-1].copy()),
        (special[:, None], special),
        (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)),
        (np.float32(1.7) * np.ones((), np.float32), x),
        (x, 2),
        (x, 0.1),
        (3, x),
        (np.full((200, 100), 1.1, np.float32), np.full((200, 100), 2.3, np.float32)),
    ]
    for a, b in pairs:
        with quiet():
            result = np.float_power(
                ag.asarray(a, requires_grad=True) if isinstance(a, np.ndarray) else a, ag.asarray(b)
            )
            expected = np.float_power(a, b)
        same(result.detach().array, expected)
        assert result.detach().array.strides == expected.strides or not expected.size


def test_derivatives_of_float_power_of_single_precision():
    a, b = (np.random.default_rng(i).uniform(0.5, 2.0, (3, 4)).astype(np.float32) for i in range(2))

    def derivatives(dtype):
        x, y = ag.tensor(a.astype(dtype), requires_grad=True), ag.tensor(b.astype(dtype).T.copy().T, requires_grad=True)
        first = ag.autograd.grad(np.float_power(x, y).sum(), (x, y), create_graph=True)
        second = ag.autograd.grad(sum(g.sum() for g in first), (x, y))
        return [t.detach().array for t in (*first, *second)]

    for got, expected in zip(derivatives(np.float32), derivatives(np.float64), strict=True):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_errors_of_float_power_of_single_precision_are_reported():
    x = ag.tensor(np.full((3, 3), 1e38, np.float32), requires_grad=True)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in float_power"):
        np.float_power(x, x)


# -- derivatives -------------------------------------------------------------------------------------------------------

INF, NAN = math.inf, math.nan
TINY = 5e-324  # the smallest subnormal: 1 / TINY overflows
LOG = math.log(TINY)


def derivatives(x1, x2, dtype=np.float64):
    """((by x1, by x2), (by x1 twice, by x1 then x2, by x2 then x1, by x2 twice)) of x1 ** x2."""
    a = ag.tensor(np.array(x1, dtype), requires_grad=True)
    b = ag.tensor(np.array(x2, dtype), requires_grad=True)
    first = ag.autograd.grad(a**b, [a, b], create_graph=True)
    second = [h for g in first for h in ag.autograd.grad(g, [a, b], retain_graph=True)]
    return [g.item() for g in first], [h.item() for h in second]


# (x1, x2), first and second derivatives. The mixed ones are x1 ** (x2 - 1) * (1 + x2 * log(x1)).
POINTS = [
    ((0.0, 0.0), (0, 0), (0, 0, 0, 0)),  # flat by convention, as in PyTorch
    ((0.0, 1.0), (1, 0), (0, 1, 1, 0)),  # 0 ** 0 counts as a constant: both orders of differentiating agree
    ((0.0, 2.0), (0, 0), (2, 0, 0, 0)),
    ((0.0, 3.0), (0, 0), (0, 0, 0, 0)),
    ((0.0, 1.5), (0, 0), (INF, 0, 0, 0)),
    ((0.0, 0.5), (INF, 0), (-INF, NAN, NAN, 0)),
    ((TINY, 0.0), (0, LOG), (0, INF, INF, LOG * LOG)),
    ((1e-310, 0.0), (0, math.log(1e-310)), (0, INF, INF, math.log(1e-310) ** 2)),
    ((TINY, 1.0), (1, TINY * LOG), (0, 1 + LOG, 1 + LOG, TINY * LOG * LOG)),
    ((2.0, 0.0), (0, math.log(2)), (0, 0.5, 0.5, math.log(2) ** 2)),
    ((2.0, 1.0), (1, 2 * math.log(2)), (0, 1 + math.log(2), 1 + math.log(2), 2 * math.log(2) ** 2)),
    ((-2.0, 3.0), (12, NAN), (-12, NAN, NAN, NAN)),
]


@pytest.mark.parametrize(("at", "first", "second"), POINTS)
def test_a_power_and_its_second_derivatives_at_the_edges(at, first, second):
    with quiet():
        got = derivatives(*at)
    np.testing.assert_allclose(got[0], first, rtol=1e-14)
    np.testing.assert_allclose(got[1], second, rtol=1e-13)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_0_and_1_have_finite_derivatives_everywhere(dtype, fast):
    small = np.finfo(dtype).smallest_subnormal
    x = np.array([0.0, small, -small, 4 * small, 2.0, -3.0, np.inf, -np.inf], dtype)

    def first_and_second(n):
        t = ag.tensor(x, requires_grad=True)
        (g,) = ag.autograd.grad((t**n).sum(), [t])
        (recorded,) = ag.autograd.grad((t**n).sum(), [t], create_graph=True)
        (h,) = ag.autograd.grad(recorded.sum(), [t])
        return g.array, recorded.array, h.array

    for n, expected in ((0, 0.0), (0.0, 0.0), (1, 1.0), (1.0, 1.0)):
        with quiet():
            got = first_and_second(n) if fast else plain(first_and_second, n)
        assert all(a.dtype == dtype for a in got)
        for a, value in zip(got, (expected, expected, 0.0), strict=True):
            np.testing.assert_array_equal(a, np.full(8, value))


def test_a_power_of_0_has_no_derivative_at_nan_either():
    t = ag.tensor([math.nan], requires_grad=True)
    (t**0).sum().backward()
    assert t.grad.numpy().tolist() == [0.0]


def test_third_derivatives_at_an_exponent_of_0_are_those_of_the_formula():
    a, b = ag.tensor(2.0, requires_grad=True), ag.tensor(0.0, requires_grad=True)
    (g,) = ag.autograd.grad(a**b, [a], create_graph=True)
    (h,) = ag.autograd.grad(g, [b], create_graph=True)
    np.testing.assert_allclose([q.item() for q in ag.autograd.grad(h, [a, b])], [-0.25, math.log(2)], rtol=1e-14)


def test_a_negative_real_base_has_a_derivative_by_a_complex_exponent():
    # d/dz (-2) ** z = (-2) ** z log(-2), log(-2) = log(2) + i pi. In PyTorch's convention g conj(f').
    z = np.array([0.5 + 1.0j, -1.0 + 0.25j, 2.0 + 0.0j])
    base = np.array([-2.0, -0.5, -3.0])
    derivative = base.astype(complex) ** z * np.log(base.astype(complex))
    for x1 in (base, ag.asarray(base), ag.asarray(base.astype(complex)), ag.tensor(base, requires_grad=True)):
        t = ag.tensor(z, requires_grad=True)
        (x1**t).sum().backward(ag.asarray(np.array(1.0 + 0j)))
        np.testing.assert_allclose(t.grad.numpy(), np.conj(derivative), rtol=1e-14)
    t = ag.tensor(z, requires_grad=True)  # by differences, to the second order
    assert gradcheck(lambda t: ag.asarray(base) ** t, (t,))
    assert gradgradcheck(lambda t: ag.asarray(base) ** t, (t,))
    x = ag.tensor(base, requires_grad=True)
    assert gradcheck(lambda x: x ** ag.asarray(z), (x,))


def test_a_power_agrees_with_torch_where_torch_is_right():
    torch = pytest.importorskip("torch")
    z = np.array([0.5 + 1.0j, -1.0 + 0.25j])
    base = np.array([-2.0, -0.5])
    ours, theirs = ag.tensor(z, requires_grad=True), torch.tensor(z, requires_grad=True)
    (ag.asarray(base) ** ours).real.sum().backward()
    (torch.tensor(base.astype(complex)) ** theirs).real.sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-13)
    for at, first, _ in POINTS:
        a, b = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in at)
        (a**b).backward()
        np.testing.assert_allclose([a.grad.item(), b.grad.item()], first, rtol=1e-13)


# -- inverse functions at the ends of their domains --------------------------------------------------------------------

ENDS = {
    "asin": {1.0: (INF, INF), -1.0: (INF, -INF), 0.5: (2 / math.sqrt(3), 4 / (3 * math.sqrt(3)))},
    "acos": {1.0: (-INF, -INF), -1.0: (-INF, INF), 0.5: (-2 / math.sqrt(3), -4 / (3 * math.sqrt(3)))},
    "acosh": {1.0: (INF, -INF), 2.0: (1 / math.sqrt(3), -2 / (3 * math.sqrt(3)))},
    "atanh": {1.0: (INF, INF), -1.0: (INF, -INF), 0.5: (4 / 3, 16 / 9)},
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ENDS)
def test_an_inverse_function_has_infinite_derivatives_of_the_right_sign_at_the_ends(name, dtype):
    for at, (first, second) in ENDS[name].items():
        t = ag.tensor(np.array(at, dtype), requires_grad=True)
        with quiet():
            (g,) = ag.autograd.grad(getattr(ag, name)(t), [t])
            (recorded,) = ag.autograd.grad(getattr(ag, name)(t), [t], create_graph=True)
            (h,) = ag.autograd.grad(recorded, [t])
        assert g.dtype == recorded.dtype == h.dtype == dtype
        np.testing.assert_allclose([g.item(), recorded.item(), h.item()], [first, first, second], rtol=1e-6)


@pytest.mark.parametrize("name", ENDS)
def test_an_inverse_function_agrees_with_torch_at_the_ends(name):
    torch = pytest.importorskip("torch")
    for at, expected in ENDS[name].items():
        t = torch.tensor(at, dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad(getattr(torch, name)(t), [t], create_graph=True)
        (h,) = torch.autograd.grad(g, [t])
        np.testing.assert_allclose([g.item(), h.item()], expected, rtol=1e-12)


def test_an_inverse_sine_keeps_its_digits_next_to_its_end():
    t = ag.tensor(1 - 2.0**-40, requires_grad=True)
    (g,) = ag.autograd.grad(ag.asin(t), [t], create_graph=True)
    d = 2.0**-40
    assert g.item() == pytest.approx(1 / math.sqrt(d * (2 - d)), rel=1e-15)
