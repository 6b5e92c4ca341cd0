"""Compiled rules of complex arrays, held to the table's and to differences."""

import numpy as np
import pytest
from fast_path_cases import plain

import arraygrad as ag
from arraygrad.backends.numpy.table import try_rule

COMPLEX = ("complex64", "complex128")
SHAPES = [(), (1,), (7,), (3, 4), (2, 3, 4), (0, 3)]
LOOSE = {"complex64": {"rtol": 3e-5, "atol": 1e-5}, "complex128": {"rtol": 1e-12, "atol": 1e-13}}


def numbers(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape), dtype)


def reals(dtype, shape, seed=0):
    return np.asarray(np.random.default_rng(seed).normal(size=shape), np.zeros(1, dtype).real.dtype)


def pulled_back(f, xs, g):
    ts = [ag.asarray(x, requires_grad=True) for x in xs]
    out = f(*ts)
    g = np.broadcast_to(g, out.shape) if np.ndim(g) == 0 else g
    return [t.array for t in ag.autograd.grad(out, ts, ag.asarray(g))]


def check(f, xs, dtype, seed=5, layouts=True):
    """The gradients of f are those of the table's rules, for gradients in several layouts."""
    out = f(*xs)
    kind = numbers if out.dtype.kind == "c" else reals
    shape = np.shape(out)
    whole = kind(dtype, (*shape, 2), seed)
    gradients = [whole[..., 0].copy()]
    if layouts:
        gradients += [whole[..., 1], np.array(whole[..., 0], order="F"), kind(dtype, (), seed)]
    for g in gradients:
        for got, expected in zip(pulled_back(f, xs, g), plain(pulled_back, f, xs, g), strict=True):
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(got, expected, **LOOSE[dtype])


ONE = {
    "abs": np.abs,
    "abs squared": lambda z: np.abs(z) ** 2,
    "square": np.square,
    "power of two": lambda z: z**2,
    "power of two, floating": lambda z: z**2.0,
    "numpy.power": lambda z: np.power(z, 2),
    "power of three": lambda z: z**3,
    "real": lambda z: z.real,
    "imag": lambda z: z.imag,
    "both parts": lambda z: z.real * z.real + z.imag * z.imag,
    "parts and more": lambda z: (z.real * 2.0 + np.abs(z)) * z.imag + np.conj(z).imag + (z * z).real,
    "parts of parts": lambda z: z.real.real + z.imag * 3.0 + z.real[..., ::-1] if z.ndim else z.real,
    "over a number": lambda z: z / 2.5,
    "over a whole number": lambda z: z / 3,
    "number over": lambda z: (1.5 - 2j) / z,
    "over itself": lambda z: z / z,
    "smallest part": lambda z: z.real.min() + z.imag.max() if z.size else z.real.sum(),
    "smallest along an axis": lambda z: z.real.min(axis=-1) if z.size and z.ndim else z.real,
}


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ONE)
def test_gradients_are_those_of_the_table(name, dtype, shape):
    check(ONE[name], [numbers(dtype, shape)], dtype)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", ONE)
def test_gradients_of_arrays_with_gaps_are_those_of_the_table(name, dtype):
    for x in (
        numbers(dtype, (4, 6))[:, ::2],
        numbers(dtype, (4, 6))[::-1],
        np.asfortranarray(numbers(dtype, (4, 3))),
        np.broadcast_to(numbers(dtype, (3,)), (4, 3)),
    ):
        check(ONE[name], [x], dtype)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(
    "shapes", [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 4), ()), ((), (3, 4)), ((3, 1), (1, 4))], ids=str
)
def test_gradients_of_quotients_are_those_of_the_table(dtype, shapes):
    a, b = numbers(dtype, shapes[0]), numbers(dtype, shapes[1], 1)
    r = reals(dtype, shapes[1], 2) + np.asarray(3, reals(dtype, ()).dtype)
    for x, y in ((a, b), (a, r), (reals(dtype, shapes[0], 3), b), (np.asfortranarray(a), np.asfortranarray(b))):
        check(np.divide, [x, y], dtype)
        check(lambda x, y=y: x / y, [x], dtype)
        check(lambda y, x=x: x / y, [y], dtype)


def test_gradients_of_quotients_of_two_precisions_are_those_of_the_table():
    check(np.divide, [numbers("complex64", (3, 4)), numbers("complex128", (3, 4), 1)], "complex128")
    check(np.divide, [numbers("complex64", (3, 4)), reals("complex128", (3, 4), 1)], "complex128")


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("special", [0.0, -0.0, np.inf, np.nan, 1e-310, 1e-200, 1e200, 1e-42, 1e-20, 1e20])
def test_gradients_at_special_values_are_those_of_the_table(dtype, special):
    if dtype == "complex64" and np.isfinite(special) and abs(special) > 1e38:
        pytest.skip("no number of single precision")
    parts = [special, 2.0, 0.0, -1.5]
    z = np.asarray([complex(a, b) for a in parts for b in parts], dtype)
    w = numbers(dtype, z.shape, 1)
    with np.errstate(all="ignore"):
        check(np.abs, [z], dtype, layouts=False)
        check(lambda z: z**2, [z], dtype, layouts=False)
        for x, y in ((z, w), (z, w.real.copy())):
            check(np.divide, [x, y], dtype, layouts=False)


def test_size_at_zero_has_the_gradient_zero_and_what_is_zero_times_infinite_is_nan():
    z = np.asarray([0j, 3 + 4j])
    (got,) = pulled_back(np.abs, [z], np.asarray([2.0, 5.0]))
    np.testing.assert_array_equal(got, [0, 3 + 4j])
    with np.errstate(invalid="ignore"):
        (got,) = pulled_back(np.abs, [z], np.asarray([np.inf, 5.0]))
    assert np.isnan(got[0])


def test_errors_are_reported_as_numpy_says():
    z = np.asarray([1e-200 + 0j])
    t = ag.asarray(z, requires_grad=True)
    with np.errstate(all="ignore"):
        y = np.asarray([1e250 + 0j]) / t
    with np.errstate(over="raise", invalid="ignore"), pytest.raises(FloatingPointError):
        y.backward(ag.asarray(np.asarray([1e250 + 0j])))


@pytest.mark.parametrize("name", ["abs", "square", "power of two", "real", "imag", "over itself", "over a number"])
def test_the_rule_runs_and_the_switch_turns_it_off(name):
    t = ag.asarray(numbers("complex128", (3, 4)), requires_grad=True)
    out = ONE[name](t)
    g = (numbers if out.dtype.kind == "c" else reals)("complex128", (3, 4), 3)
    assert try_rule(out.grad_fn, g) is not None


@pytest.mark.parametrize(
    "name",
    ["abs", "abs squared", "square", "power of two", "both parts", "parts and more", "over itself", "number over"],
)
def test_gradients_are_those_of_differences(name):
    t = ag.tensor(numbers("complex128", (3, 4)), requires_grad=True)
    assert ag.gradcheck(ONE[name], (t,))
    assert ag.gradgradcheck(ONE[name], (t,))
    a, b = (ag.tensor(numbers("complex128", (3, 4), k), requires_grad=True) for k in (1, 2))
    r = ag.tensor(reals("complex128", (3, 4), 3) + 3.0, requires_grad=True)
    assert ag.gradcheck(np.divide, (a, b))
    assert ag.gradcheck(np.divide, (a, r))
    assert ag.gradcheck(lambda a, r: a / r.max(), (a, r))


SHAPED = {
    "slice": lambda z: z[1:, ::2] * 2.0,
    "element": lambda z: z[1, 2] * z[0, 0],
    "row": lambda z: z[1] * z[..., 1:2],
    "slices that overlap": lambda z: z[1:] * z[:-1] + z[1:, ::-1],
    "gather": lambda z: z[[2, 0, 0]] * z,
    "mask": lambda z: z[np.array([True, False, True])],
    "reshape": lambda z: z.reshape(2, 6) * 1j,
    "transpose": lambda z: z.T @ z,
    "axes": lambda z: z[:, None].squeeze(1) + np.expand_dims(z, 0).transpose(2, 1, 0)[..., 0].T,
    "sum": lambda z: z.sum() + z.sum(axis=0) * z.sum(axis=(0, 1), keepdims=True),
    "join": lambda z: np.concatenate([z, z * 2.0]) * np.stack([z, z]).reshape(6, 4),
    "roll": lambda z: np.roll(z, 1, axis=0) * z + np.moveaxis(z, 0, 1).T,
    "large slices": lambda z: np.tile(z, (50, 50))[1:-1, 2:] * np.tile(z, (50, 50))[:-2, :-2],
}


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", SHAPED)
def test_gradients_of_places_and_shapes_are_those_of_the_table(name, dtype):
    for x in (numbers(dtype, (3, 4)), np.asfortranarray(numbers(dtype, (3, 4))), numbers(dtype, (3, 8))[:, ::2]):
        check(SHAPED[name], [x], dtype)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(
    "key", [1, (1, 2), (slice(None), 1), slice(1, None), (slice(None, None, -1), 0), ..., [0, 2]], ids=repr
)
@pytest.mark.parametrize("kind", [numbers, reals])
def test_gradients_of_assignments_are_those_of_the_table(key, dtype, kind):
    z = numbers(dtype, (3, 4))
    for value in (kind(dtype, z[key].shape, 2), kind(dtype, (), 3)):

        def f(z, value):
            y = z * 1j
            y[key] = value
            y[0] *= 2.0
            y[key] += y[key] * 1.5
            return y * y

        check(f, [z, value], dtype)


def test_compiled_rules_of_places_and_shapes_run_for_complex_results():
    z = ag.asarray(numbers("complex128", (3, 4)), requires_grad=True)
    for out in (z[1:], z[1, 2], z.reshape(12), z.T, np.concatenate([z, z]), np.stack([z, z])):
        assert try_rule(out.grad_fn, numbers("complex128", out.shape, 1)) is not None


def test_parts_of_one_array_share_a_gradient_with_hooks_and_other_uses():
    z = numbers("complex128", (3, 4))

    def f(z, seen):
        y = z * 1.0
        y.register_hook(lambda g: seen.append(g.array.copy()) or g)
        return (y.real * y.imag + y.real + np.abs(y) + (y * y).imag).sum()

    def gradient(seen):
        t = ag.asarray(z, requires_grad=True)
        f(t, seen).backward()
        return t.grad.array

    fast, slow = [], []
    np.testing.assert_allclose(gradient(fast), plain(gradient, slow), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(fast[0], slow[0], rtol=1e-12, atol=1e-13)
    assert len(fast) == len(slow) == 1


def test_gradient_that_is_wanted_of_a_part_is_not_written_into():
    z = ag.asarray(numbers("complex128", (3, 4)), requires_grad=True)
    a, b = z.real, z.imag
    g = reals("complex128", (3, 4), 3)
    kept = g.copy()
    grads = ag.autograd.grad([a, b], [z], [ag.asarray(g), ag.asarray(g)])[0].array
    np.testing.assert_array_equal(grads, g + 1j * g)
    np.testing.assert_array_equal(g, kept)
    first = ag.autograd.grad(z.real, z, ag.asarray(g))[0].array
    second = ag.autograd.grad(z.imag, z, ag.asarray(g))[0].array
    np.testing.assert_array_equal(first, g + 0j)
    np.testing.assert_array_equal(second, 1j * g)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("layout", ["rows", "columns", "every second"])
def test_parts_and_sizes_of_many_numbers_are_those_of_the_plain_path(layout, dtype):
    rng = np.random.default_rng(0)
    z = (rng.normal(size=(70, 40)) + 1j * rng.normal(size=(70, 40))).astype(dtype)
    z[3, 5:9] = 0
    z = {"rows": z, "columns": np.asfortranarray(z), "every second": z[::2]}[layout]
    weights = rng.normal(size=z.shape).astype(z.real.dtype)

    def gradients():
        found = []
        for f in (lambda t: np.sum(t.real), lambda t: np.sum(t.imag * weights), lambda t: np.sum(np.abs(t)),
                  lambda t: np.sum(np.abs(t) * weights), lambda t: np.sum(t.real**2 + t.imag**2),
                  lambda t: np.sum(t.imag * weights - t.real * weights),
                  lambda t: np.sum((t * t.conj()).real)):  # fmt: skip
            t = ag.asarray(z, requires_grad=True)
            f(t).backward()
            found.append(t.grad.numpy())
        return found

    for got, expected in zip(gradients(), plain(gradients), strict=True):
        np.testing.assert_allclose(got, expected, rtol=2e-5 if dtype == "complex64" else 1e-12, atol=1e-7)


@pytest.mark.parametrize("number", [1e-200 + 1e-200j, 1e200 + 1e200j, 5e-324j, np.inf + 0j, complex(np.nan, 1)])
def test_one_number_at_the_ends_of_the_range_among_many(number):
    z = np.full(1000, 3.0 - 4.0j)
    z[300] = number

    def gradient():
        t = ag.asarray(z, requires_grad=True)
        np.sum(np.abs(t)).backward()
        return t.grad.numpy()

    with np.errstate(all="ignore"):
        np.testing.assert_allclose(gradient(), plain(gradient), rtol=1e-14)
