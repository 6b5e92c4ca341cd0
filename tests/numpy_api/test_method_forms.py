"""Every form in which ndarray's methods take their arguments, on recorded Tensors: by position, by keyword, wrong ones.

Values, dtypes, shapes and types of errors are those of ndarray's own methods. Imports the public names of arraygrad.
"""

import inspect
import warnings

import numpy as np
import pytest

import arraygrad as ag

M = np.array([[3.0, 1.0, 2.0], [0.5, -1.5, 4.0]])
CHOSEN = np.array([True, False, True])


class Out:
    """Stands for an array to write into."""

    def __init__(self, *shape, dtype=float):
        self.shape, self.dtype = shape, dtype


def form(*args, **kwargs):
    return args, kwargs


SUMS = [
    form(), form(0), form(1, None), form(1, np.float32), form(1, None, None), form(1, None, None, True),
    form(1, None, Out(2), False), form(1, None, Out(2)), form(1, None, None, False, 2.0),
    form(1, None, None, False, 2.0, CHOSEN), form(axis=(0, 1), keepdims=True), form(initial=3.0), form(where=CHOSEN),
    form(0, None, True), form(bad=1), form(out=Out(3), axis=0), form(out=Out(4), axis=0), form(axis=1.5), form(axis=()),
    form(None, None, None, False, 2.0, True, 3), form(1, None, None, False, 2.0, initial=1.0),
]  # fmt: skip
EXTREMA = [
    form(), form(0), form(1, None), form(1, None, True), form(1, Out(2), False), form(1, Out(2)),
    form(1, None, False, 2.0), form(1, None, False, 2.0, CHOSEN), form(1, True), form(1, None, True, 2.0, True, 1),
    form(initial=1.0, where=CHOSEN), form(where=CHOSEN), form(axis="a"),
]  # fmt: skip
SPREADS = [
    form(), form(0), form(1, None, None, 1), form(1, None, None, 1, True), form(1, None, Out(2), 1, False),
    form(1, None, 1), form(ddof=1), form(mean=np.array([[2.0], [1.0]]), axis=1), form(where=CHOSEN),
    form(1, None, None, 1, True, True), form(ddof=0.5),
]  # fmt: skip
TESTS = [form(), form(0), form(1, None), form(where=CHOSEN), form(axis=1, keepdims=True)]
PLACES = [
    form(), form(0), form(1, None), form(1, None, True), form(1, keepdims=True), form(1, Out(2, dtype=int)),
    form(1, True), form(axis=5),
]  # fmt: skip
SCANS = [
    form(), form(0), form(1, None), form(1, np.float32), form(1, None, None), form(1, None, Out(2, 3)),
    form(1, None, Out(2, 3), 1), form(axis=None, out=Out(6)),
]  # fmt: skip
ORDERED = [form(), form("F"), form(order="A"), form("K"), form("Z"), form("f"), form(1), form(None)]
FORMS = {
    "sum": SUMS, "prod": SUMS, "max": EXTREMA, "min": EXTREMA, "var": SPREADS, "std": SPREADS, "any": TESTS,
    "all": TESTS, "argmax": PLACES, "argmin": PLACES, "cumsum": SCANS, "cumprod": SCANS, "ravel": ORDERED,
    "flatten": ORDERED,
    "mean": [form(), form(0), form(1, np.float32), form(1, None, None, True), form(1, None, Out(2), False),
             form(1, None, True), form(where=CHOSEN), form(1, None, None, False, True)],
    "take": [form([0, 1]), form([0, 1], 1), form([0, 5], 1, None, "wrap"), form([0, 5], 1, None, "clip"),
             form([0, 5], mode="wrap"), form([0, 5], 1, None, "raise"), form([0, 5], mode="clip", axis=0),
             form([0, 1], 1, Out(2, 2)), form(True), form([True, False]), form([0.5]), form([0], mode="bad"),
             form([[0, 1]], axis=1), form(indices=[0, 1], axis=1), form(), form([0], 1, None, "wrap", 3), form([]),
             form(np.array([0, -7]), mode="clip"), form(np.array([True])), form(np.array([0.5])),
             form(2, 0, mode="wrap")],
    "clip": [form(0.0, 1.0), form(None, 1.0), form(min=0.0), form(max=1.0), form(0.0, 1.0, Out(2, 3)),
             form(0.0, 1.0, out=Out(2, 3)), form(0.0, 1.0, dtype=np.float32), form(0.0, 1.0, casting="unsafe"),
             form(0.0, 1.0, dtype=int), form(0.0, 1.0, dtype=np.float32, casting="safe"), form(0.0, 1.0, None),
             form([0.0, 0.0, 1.0], 2.0), form(0, 1, where=True), form(0.0, 1.0, bad=1)],
    "round": [form(), form(1), form(decimals=1), form(1, None), form(0, Out(2, 3)), form(-1), form(1.5),
              form(1, None, 1), form(out=Out(2, 3))],
    "astype": [form(np.float32), form("f4"), form(np.float32, "F"), form(np.float32, "C", "same_kind"),
               form(np.float32, casting="safe"), form(float, casting="safe"), form(float, "K", "unsafe", True, False),
               form(float, order="F"), form(float, order="Z"), form(float, casting="bad"), form(float, subok=False),
               form(dtype=np.float32), form(), form(float, "K", "unsafe", True, False, 1), form(np.float32, "C", "no")],
    "trace": [form(), form(1), form(0, 1, 0), form(0, 0, 1, np.float32), form(0, 0, 1, None, Out()), form(0, 0, 0),
              form(offset=1, out=None)],
    "dot": [form(np.ones(3)), form(np.ones((3, 2)), Out(2, 2)), form(np.ones((3, 2)), None), form(b=np.ones(3)),
            form()],
    "reshape": [form(6), form(3, 2), form((3, 2)), form((3, 2), order="F"), form((3, 2), order="f"), form(), form(None),
                form(()), form((3, 2), order="Z"), form(1.5), form((4, 2))],
    "compress": [form([True, False], 0), form([True, False], 0, Out(1, 3)), form([True, False], axis=0, out=None)],
    "argsort": [form(), form(0), form(None), form(-1, "stable"), form(-1, None, "a"), form(stable=True),
                form(-1, "bad")],
    "argpartition": [form(1), form(1, -1, "introselect", None), form(9), form(1, -1, "bad"),
                     form(1, -1, "introselect", "a")],
    "sort": [form(), form(0), form(-1, "stable"), form(-1, None, "a"), form(stable=True), form(-1, "bad"), form(None)],
    "partition": [form(1), form(1, 0), form(9), form(1, -1, "introselect", "a"), form(1, None)],
    "put": [form([0, 1], 9.0), form([0, 9], 9.0, "wrap"), form([0, 9], 9.0, mode="clip"), form([0, 9], 9.0),
            form([0.5], 1.0), form([True], 1.0), form([0], 1.0, "bad")],
}  # fmt: skip
CASES = [(name, i) for name, forms in FORMS.items() for i in range(len(forms))]


def filled(value, of_tensors):
    if not isinstance(value, Out):
        return value
    made = np.zeros(value.shape, value.dtype)
    return ag.asarray(made) if of_tensors else made


def plain(value):
    return value.detach().numpy() if isinstance(value, ag.Tensor) else value


def outcome(obj, name, args, kwargs, of_tensors):
    """(error, result, what the object is afterwards)."""
    args = [filled(value, of_tensors) for value in args]
    kwargs = {key: filled(value, of_tensors) for key, value in kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = getattr(obj, name)(*args, **kwargs)
        except Exception as error:
            return error, None, None
    return None, plain(result), plain(obj)


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "plain"])
@pytest.mark.parametrize(("name", "number"), CASES)
def test_a_method_takes_what_that_of_ndarray_takes(name, number, recorded):
    args, kwargs = FORMS[name][number]
    error, expected, after = outcome(M.copy(), name, args, kwargs, False)
    t = ag.tensor(M.copy(), requires_grad=recorded) * 1.0
    found_error, found, found_after = outcome(t, name, args, kwargs, True)
    if error is not None:
        assert isinstance(found_error, type(error)), found_error
        return
    assert found_error is None
    if expected is None:
        assert found is None
    else:
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-15)
    np.testing.assert_array_equal(found_after, after)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda t: t.take([0, 5], 1, None, "wrap"), [[1, 0, 1], [1, 0, 1]]),
        (lambda t: t.take([True, False]), [[1, 1, 0], [0, 0, 0]]),
        (lambda t: np.take(t, True), [[0, 1, 0], [0, 0, 0]]),
        (lambda t: t.max(1, None, True), [[1, 0, 0], [0, 0, 1]]),
        (lambda t: t.sum(1, None, None, False, 2.0, CHOSEN), [[1, 0, 1], [1, 0, 1]]),
        (lambda t: t.astype(np.float32, "F", "same_kind"), [[1, 1, 1], [1, 1, 1]]),
        (lambda t: t.sum(0, out=ag.asarray(np.zeros(3))), [[1, 1, 1], [1, 1, 1]]),
        (lambda t: t.clip(0.75, 2.5, dtype=np.float32), [[0, 1, 1], [0, 0, 0]]),
        (lambda t: np.clip(t, 0.75, 2.5, where=CHOSEN), [[0, 0, 1], [0, 0, 0]]),
        (lambda t: np.clip(t, 0.75, 2.5, where=CHOSEN, out=t * 1.0), [[0, 1, 1], [0, 1, 0]]),
        (lambda t: np.einsum("ij->i", t, dtype=np.float32, casting="same_kind"), [[1, 1, 1], [1, 1, 1]]),
        (lambda t: np.tensordot(t, np.ones(2), axes=-1), [[2, 2, 2], [2, 2, 2]]),
    ],
)
def test_gradients_follow_the_forms(call, expected):
    t = ag.tensor(M, requires_grad=True)
    call(t).sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), expected)


def test_what_clip_does_not_choose_stays_in_out():
    out = ag.asarray(np.full((2, 3), 7.0))
    np.clip(ag.tensor(M, requires_grad=True), 0.75, 2.5, out=out, where=CHOSEN)
    expected = np.clip(M, 0.75, 2.5, out=np.full((2, 3), 7.0), where=CHOSEN)
    np.testing.assert_array_equal(out.detach().numpy(), expected)


def test_a_sum_does_not_fit_into_a_larger_out():
    for out in (np.zeros(3), np.zeros((1, 3))):
        with pytest.raises(ValueError, match="does not fit into out="):
            np.sum(ag.tensor(M, requires_grad=True), out=ag.asarray(out))


@pytest.mark.parametrize("axes", [-1, -2, 0])
def test_a_tensor_product_over_less_than_one_axis_is_one_over_none(axes):
    t = ag.tensor(M, requires_grad=True)
    found = np.tensordot(t, M, axes)
    np.testing.assert_array_equal(found.detach().numpy(), np.tensordot(M, M, axes))
    found.sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), np.full(M.shape, M.sum()))


@pytest.mark.parametrize("axis", [None, 0, -1, (0,), (0, 1), (), 5, 1.5, "a"], ids=str)
@pytest.mark.parametrize("a", [M, M[0], np.array(2.0)], ids=["matrix", "vector", "number"])
@pytest.mark.parametrize("method", ["accumulate", "reduceat", "reduce"])
@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.subtract, np.hypot, np.logaddexp], ids=lambda u: u.__name__)
def test_axes_of_a_ufuncs_methods_are_numpys(ufunc, method, a, axis):
    places = ([0, 1],) if method == "reduceat" else ()
    error, expected, _ = outcome(getattr(ufunc, method), "__call__", (a, *places), {"axis": axis}, False)
    t = ag.tensor(a, requires_grad=True)
    found_error, found, _ = outcome(getattr(ufunc, method), "__call__", (t, *places), {"axis": axis}, True)
    if error is not None:
        assert isinstance(found_error, type(error)), found_error
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.sort(a, order="a"),
        lambda a: np.argsort(a, order="a"),
        lambda a: np.partition(a, 1, order="a"),
        lambda a: np.argpartition(a, 1, order="a"),
        lambda a: np.convolve(a[0], [1.0, 2.0], mode=None),
        lambda a: np.einsum("ij->i", a, dtype=np.float32),
        lambda a: np.clip(a, 0.0, 1.0, dtype=int),
    ],
)
def test_what_numpy_refuses_is_refused_with_its_type(call):
    error, _, _ = outcome(call, "__call__", (M,), {}, False)
    assert error is not None
    with pytest.raises(type(error)):
        call(ag.tensor(M, requires_grad=True))


@pytest.mark.parametrize("a", [-1.5, [-1.5], [[-1.5, 2.0]], [[-1.5], [2.0]]], ids=str)
def test_a_hypotenuse_of_one_side_is_its_length(a):
    a = np.array(a)
    for axis in (None, 0, -1):
        t = ag.tensor(a, requires_grad=True)
        found = np.hypot.reduce(t, axis=axis)
        np.testing.assert_array_equal(found.detach().numpy(), np.hypot.reduce(a, axis=axis))


FUNCTIONS = {
    "cov of a vector": lambda a: np.cov(a[0], rowvar=0),
    "cov of a vector, dtype": lambda a: np.cov(a[0], rowvar=False, dtype=np.float64),
    "corrcoef of a vector": lambda a: np.corrcoef(a[0], rowvar=0),
    "more lengths than axes": lambda a: np.fft.fftn(a[0], s=(2, 2)),
    "a pseudo-inverse of a vector": lambda a: np.linalg.pinv(a[0], hermitian=True),
    "a rank of a vector": lambda a: np.linalg.matrix_rank(a[0], hermitian=True),
    "a rank by tol": lambda a: np.linalg.matrix_rank(a, tol=2.0),
    "whole numbers between": lambda a: np.linspace(a, a[::-1], 4, dtype=int),
    "whole numbers between two": lambda a: np.linspace(a[1, 1], a[0, 0], 4, dtype=int),
    "a whole mean": lambda a: np.mean(a, dtype=int),
    "a whole mean of an axis": lambda a: a.mean(0, int),
    "a whole variance": lambda a: np.var(a, axis=0, dtype=int, ddof=1),
    "a whole deviation": lambda a: a.std(1, np.int32),
    "a whole mean without nan": lambda a: np.nanmean(a, dtype=int),
    "a whole variance without nan": lambda a: np.nanvar(a, dtype=int),
    "whole pieces": lambda a: np.concatenate([a, a], dtype=int),
    "whole rows": lambda a: np.vstack([a, a], dtype=int),
    "splits of too few axes": lambda a: np.vsplit(a[0], 1),
    "splits in depth": lambda a: np.dsplit(a, 2),
    "splits into no section": lambda a: np.split(a, 0),
    "splits into 1.5 sections": lambda a: np.array_split(a, 1.5)[0],
    "trims of no name": lambda a: np.trim_zeros(a[0], "x"),
    "a compressed axis of several": lambda a: np.compress([True], a, axis=(0,)),
    "out=None": lambda a: np.cumulative_sum(a[0], out=None) if hasattr(np, "cumulative_sum") else np.cumsum(a[0]),
    "a quantile of nothing": lambda a: np.nanquantile(a[:0], 0.3, method="hazen"),
    "quantiles of nothing": lambda a: np.nanquantile(a[:0], [0.3, 0.4], axis=0, method="hazen", keepdims=True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_rare_call_gives_what_it_gives_of_arrays(name):
    if name == "trims of no name" and "axis" not in inspect.signature(np.trim_zeros).parameters:
        pytest.skip("this NumPy does not check it")
    error, expected, _ = outcome(FUNCTIONS[name], "__call__", (M,), {}, False)
    found_error, found, _ = outcome(FUNCTIONS[name], "__call__", (ag.tensor(M, requires_grad=True),), {}, True)
    assert (found_error is None) == (error is None), (found_error, error)
    if error is not None:
        assert isinstance(found_error, type(error)), found_error
        return
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_more_lengths_than_axes_are_refused_whatever_was_transformed_before():
    np.fft.fftn(ag.tensor(M, requires_grad=True))
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        with pytest.raises(np.exceptions.AxisError):
            getattr(np.fft, name)(ag.tensor(M[0], requires_grad=True), s=(2, 2))
        t = ag.tensor(M, requires_grad=True)
        found = getattr(np.fft, name)(t, s=(2,), axes=(0,)) if name != "irfftn" else np.fft.irfftn(t, s=(2, 4))
        assert found.requires_grad
