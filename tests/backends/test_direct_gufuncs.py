"""The loops behind numpy.fft and numpy.linalg, called at once, and compiled rules of factorizations."""

import warnings

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.numpy as an
from arraygrad.backends.numpy import direct
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.ops import OPS

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fftn", "ifftn", "rfftn", "irfftn")
SQUARE = ("inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh")
MATRIX = ("svd",)
_ONE_AXIS = [{}, {"axis": 0}, {"n": 3}, {"n": 9, "axis": 0, "norm": "ortho"}, {"norm": "forward"}, {"n": 1}]
_AXES = [{"axes": (0,)}, {"axes": (-1, 0)}, {"axes": (0, 0)}]
_MANY_AXES = [{}, {"s": (5, 6), "axes": (1, 0), "norm": "ortho"}, {"norm": "forward"}, *_AXES]
OPTIONS = {
    **dict.fromkeys(ONE, _ONE_AXIS),
    **dict.fromkeys(MANY, _MANY_AXES),
    "svd": [{}, {"full_matrices": False}],
    "cholesky": [{}, {"upper": True}],
}
SHAPES = [(5,), (6, 6), (7, 4), (4, 6), (3, 4, 5), (2, 3, 4, 4), (1, 6), (6, 1), (1, 1)]


def function(name):
    return getattr(an.fft if name in OPTIONS and name not in MATRIX + SQUARE else an.linalg, name)


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng((seed, *shape))
    return (rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype in "FD" else 0)).astype(dtype)


def layouts(a):
    yield a
    if a.ndim > 1:
        yield from (np.asfortranarray(a), a.swapaxes(0, 1), a[::2], a[..., ::-1], a[:, ::2])


def plainly(f):
    before = set_fast_paths(False)
    try:
        return f()
    finally:
        set_fast_paths(before)


def outcome(f):
    """What a call gives, down to bits and strides; or the error that it raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = f()
        except Exception as error:
            return type(error), str(error)
    parts = [np.asarray(t) for t in (result if isinstance(result, tuple) else (result,))]
    return [
        (a.dtype, a.shape, [s for s, n in zip(a.strides, a.shape, strict=True) if n > 1], a.tobytes()) for a in parts
    ], {str(w.message).split(" in ")[0] for w in caught}


def assert_same(f, a, options):
    assert outcome(lambda: f(a, **options)) == outcome(lambda: plainly(lambda: f(a, **options)))


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("name", [*ONE, *MANY])
def test_transforms_are_numpys_bit_by_bit_in_every_layout(name, dtype):
    for shape in SHAPES:
        for a in layouts(numbers(shape, dtype)):
            for options in OPTIONS[name]:
                assert_same(function(name), a, options)


def matrices(name, dtype):
    for shape in SHAPES[1:]:
        for a in layouts(numbers(shape, dtype)):
            yield a
            if a.shape[-1] == a.shape[-2]:
                turned = a.conj().swapaxes(-1, -2)
                yield (a @ turned + np.eye(a.shape[-1])).astype(dtype)
                yield a * 0
                yield (a * 1e30).astype(dtype)
            if name not in MATRIX:  # LAPACK may never come back from the singular values of an infinite matrix
                for bad in (np.nan, np.inf):
                    b = a.copy()
                    b.flat[0] = bad
                    yield b


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("name", [*SQUARE, *MATRIX])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_factorizations_are_numpys_bit_by_bit_with_their_errors(name, dtype):
    for a in matrices(name, dtype):
        for options in OPTIONS.get(name, [{}]):
            assert_same(function(name), a, options)


@pytest.mark.parametrize("dtype", "fdFD")
def test_solutions_are_numpys_bit_by_bit(dtype):
    for a in matrices("solve", dtype):
        if a.ndim == 2 and a.shape[0] == a.shape[1]:
            for b in (a[:, 0], a, a[:, :2]):
                assert_same(lambda a, b=b: an.linalg.solve(a, b), a, {})


def usual(name):
    """Parameters of an operation for everyday calls."""
    defaults = OPS[name].defaults
    square = numbers((4, 4), "d") + 4 * np.eye(4)
    a = square @ square.T if name in ("cholesky", "eigh", "eigvalsh", "_eigh_upper", "_eigvalsh_upper") else square
    return (a, a[0]) if name == "solve" else (a, *defaults[1:])


NAMES = [*ONE, *MANY, *SQUARE, *MATRIX, "solve", "_eigh_upper", "_eigvalsh_upper"]


@pytest.mark.parametrize("name", NAMES)
def test_everyday_calls_are_served(name):
    if not hasattr(getattr(np.linalg, "_umath_linalg", None), "svd_s"):
        pytest.skip("this NumPy has other ufuncs")
    assert direct.try_forward(OPS[name], usual(name)) is not None


@pytest.mark.parametrize("name", NAMES)
def test_a_loop_that_differs_from_numpys_function_is_noticed(monkeypatch, name):
    stem = name.removeprefix("_").removesuffix("_upper")
    owner = np.linalg if hasattr(np.linalg, stem) else np.fft
    assert direct.forward_agrees(OPS[name], "d")
    real = getattr(owner, stem)

    def other(*args, **kwargs):
        found = real(*args, **kwargs)
        return tuple([a + 1 for a in found]) if isinstance(found, tuple) else found + 1

    monkeypatch.setattr(owner, stem, other)
    assert not direct.forward_agrees(OPS[name], "d")


@pytest.mark.parametrize(
    "call",
    [
        lambda: an.fft.fft(np.full(8, 1e308)),
        lambda: an.fft.rfft(np.full(8, np.inf)),
        lambda: an.fft.fft(np.full(8, 3e38, np.float32)),
        lambda: an.linalg.det(np.eye(2) * 1e200),
    ],
)
def test_floating_point_errors_are_reported_as_by_numpy(call):
    def texts():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        return {str(w.message) for w in caught}

    assert texts() == plainly(texts) != set()
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        call()


# Least squares, and what is solved of tensors


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("rcond", [None, 0.3])
@pytest.mark.parametrize("columns", [None, 1, 2])
@pytest.mark.parametrize("dtype", "fd")
def test_least_squares_are_numpys_bit_by_bit(shape, rcond, columns, dtype):
    a, b = numbers(shape, dtype), numbers((shape[0],) if columns is None else (shape[0], columns), dtype, 1)
    for singular in (False, True):
        if singular:
            a[:, 0] = a[:, 1]
        for given in (a, np.asfortranarray(a), a[:, ::-1]):
            ours = np.linalg.lstsq(ag.tensor(given, requires_grad=True), b, rcond)
            theirs = np.linalg.lstsq(given, b, rcond)
            for place, (found, expected) in enumerate(zip(ours, theirs, strict=True)):
                found = np.asarray(found.detach() if isinstance(found, ag.Tensor) else found)
                assert found.shape == np.shape(expected)
                assert place == 2 or found.dtype == expected.dtype == np.dtype(dtype)
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("call", [lambda a: np.linalg.pinv(a), lambda a: np.linalg.lstsq(a, a[:, 0], None)[0]])
def test_results_beyond_single_precision_are_reported_as_by_numpy(call):
    a = np.array([[1e-40, 0.0], [0.0, 1.0]], np.float32)
    assert outcome(lambda: call(ag.asarray(a)).numpy()) == outcome(lambda: np.asarray(call(a)))


@pytest.mark.parametrize("rtol", [None, 1e-7, 0.2])
def test_pseudoinverses_of_single_precision_cut_off_as_numpys(rtol):
    wide = np.float32(2.0) ** np.arange(0, -40, -1, dtype=np.float32)
    for n in (2, 5, 24, 27, 40):
        a = np.diag(wide[:n])
        np.testing.assert_array_equal(an.linalg.pinv(ag.asarray(a), rtol=rtol).array, np.linalg.pinv(a, rtol=rtol))
        np.testing.assert_array_equal(np.linalg.pinv(ag.tensor(a, requires_grad=True)).detach(), np.linalg.pinv(a))


@pytest.mark.parametrize(
    "a", [np.diag([1.0, 0.0]), np.zeros((2, 2)), np.diag([1.0, np.nan]), np.diag([1e-320, 1.0]), np.eye(3) * 2]
)
@pytest.mark.parametrize("p", [None, 2, -2])
def test_condition_numbers_of_singular_matrices_are_numpys(a, p):
    try:
        expected = np.linalg.cond(a, p)
    except np.linalg.LinAlgError:
        with pytest.raises(np.linalg.LinAlgError):
            np.linalg.cond(ag.tensor(a, requires_grad=True), p)
        return
    np.testing.assert_array_equal(np.linalg.cond(ag.tensor(a, requires_grad=True), p).detach(), expected)


def test_a_tensor_equation_that_does_not_fit_is_refused_as_by_numpy():
    a = ag.tensor(numbers((4, 3), "d"), requires_grad=True)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.tensorsolve(a, np.ones(4))


# Rules


def gradients(name, a, chosen, options):
    t = ag.tensor(a, requires_grad=True)
    found = function(name)(t, **options)
    found = [r for i, r in enumerate(found) if i in chosen] if isinstance(found, tuple) else [found]
    total = 0.0
    for i, r in enumerate(found):
        weights = numbers(r.shape, "d", 7 + i).astype(np.asarray(r.detach()).dtype)
        total = total + (r * weights).real.sum()
    (g,) = ag.autograd.grad(total, [t])
    return g.numpy()


RULES = [
    ("qr", (4, 4), {}, ((0,), (1,), (0, 1))),
    ("qr", (6, 4), {}, ((0,), (1,), (0, 1))),
    ("qr", (4, 6), {}, ((0, 1),)),
    ("svd", (4, 4), {}, ((0,), (1,), (2,), (0, 1, 2))),
    ("svd", (6, 4), {"full_matrices": False}, ((0,), (2,), (0, 1, 2))),
    ("svd", (4, 6), {"full_matrices": False}, ((0,), (2,), (0, 1, 2))),
    ("svdvals", (4, 5), {}, ((0,),)),
    ("eigh", (4, 4), {}, ((0,), (1,), (0, 1))),
    ("eigvalsh", (4, 4), {}, ((0,),)),
    ("det", (4, 4), {}, ((0,),)),
    ("slogdet", (4, 4), {}, ((1,), (0, 1))),
    ("pinv", (5, 3), {}, ((0,),)),
    ("inv", (4, 4), {}, ((0,),)),
    *[(name, (4, 5), {}, ((0,),)) for name in (*ONE, *MANY)],
    *[(name, (4, 5), {"n": n, "axis": 0, "norm": "ortho"}, ((0,),)) for name in ONE for n in (3, 6)],
    *[(name, (3, 4, 5), {"s": (6, 3), "axes": (2, 0), "norm": "forward"}, ((0,),)) for name in MANY],
]


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize(("name", "shape", "options", "choices"), RULES)
def test_gradients_are_those_of_the_tables_rules(name, shape, options, choices, dtype):
    if dtype in "FD" and name in ("rfft", "ihfft", "rfftn", "svd", "eigh", "qr"):
        pytest.skip("for real arrays, or weights that depend on phases")
    tolerance = 2e-3 if dtype in "fF" else 1e-11
    for a in (numbers(shape, dtype, 3), np.asfortranarray(numbers(shape, dtype, 4))):
        for chosen in choices:
            ours = gradients(name, a, chosen, options)
            theirs = plainly(lambda a=a, chosen=chosen: gradients(name, a, chosen, options))
            assert ours.dtype == theirs.dtype == a.dtype
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())


@pytest.mark.parametrize(
    ("name", "a"),
    [
        ("svd", np.eye(3)),
        ("eigh", np.diag([1.0, 1.0, 2.0])),
        ("qr", np.zeros((3, 3))),
        ("det", np.diag([1.0, 2.0, 0.0])),
        ("slogdet", np.diag([1.0, 2.0, 0.0])),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_has_no_gradient_gives_what_the_tables_rules_say(name, a):
    def run():
        try:
            return gradients(name, a, (0, 1, 2), {})
        except np.linalg.LinAlgError as error:
            return str(error)

    np.testing.assert_array_equal(run(), plainly(run))


def test_gradients_of_gradients_of_a_factorization_are_those_of_the_tables_rules():
    a = numbers((4, 3), "d", 5)

    def run():
        t = ag.tensor(a, requires_grad=True)
        q, r = np.linalg.qr(t)
        (g,) = ag.autograd.grad((q * a).sum() + (r * r).sum(), [t], create_graph=True)
        (h,) = ag.autograd.grad((g * g).sum(), [t])
        return h.numpy()

    np.testing.assert_allclose(run(), plainly(run), rtol=1e-10, atol=1e-10)
