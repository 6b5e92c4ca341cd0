"""Library functions that are called at once (backends/numpy/direct.pyx), beside the table's own way to them."""

import numpy as np
import pytest
from fast_path_cases import plain

import arraygrad as ag
import arraygrad.numpy as an
from arraygrad import special
from arraygrad.backends.numpy import direct
from arraygrad.core.tensor import apply_op
from arraygrad.ops import OPS

pytest.importorskip("scipy.special").gamma(1.0)

_rng = np.random.default_rng(3)


def real(*shape):
    return _rng.normal(size=shape)


def definite(n):
    a = real(n, n)
    return a @ a.T + np.eye(n)


LAST = [{}, {"axis": 0}, {"axis": -2}, {"n": 3}, {"n": 7, "axis": 0, "norm": "ortho"}, {"norm": "forward"}]
MANY = [{}, {"axes": (0,)}, {"axes": (-1, 0)}, {"s": (3, 3)}, {"s": (3, 3), "axes": (0, 1)}, {"norm": "ortho"}]
CASES = {
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), LAST),
    **dict.fromkeys(("fftn", "ifftn", "rfftn", "irfftn"), MANY),
    **{name: [{}, {"axes": 1}, {"axes": (0, -1)}] for name in ("fftshift", "ifftshift")},
    "sort": [{}, {"axis": 0}, {"descending": True}, {"stable": False}],
    "prod": [{}, {"axis": 0}, {"axis": (0, 1)}, {"axis": -1, "keepdims": True}, {"dtype": np.float32}],
    "cumulative_sum": [
        {"axis": 0},
        {"axis": -1},
        {"axis": 1, "include_initial": True},
        {"axis": 0, "dtype": np.float32},
    ],
    "cumulative_prod": [{"axis": 0}, {"axis": -1}, {"axis": 1, "include_initial": True}],
    "svd": [{}, {"full_matrices": False}],
    **{name: [{}, {"k": 1}, {"k": -2}] for name in ("tril", "triu")},
    "trace": [{}, {"offset": 1}, {"offset": -1, "dtype": np.float64}],
    "unstack": [{}, {"axis": 1}, {"axis": -1}],
    "vector_norm": [{}, {"axis": 0}, {"axis": -1, "keepdims": True, "ord": 1}, {"axis": (0, 1)}],
    "unique_values": [{}],
    "matrix_norm": [{}, {"keepdims": True}, {"ord": 1}, {"ord": "nuc"}],
    **{key: [{}, {"axis": 0}, {"axis": -1, "keepdims": True}] for key in ("any", "all", "argmax", "argmin")},
}
MATRICES = {name: [{}] for name in ("cholesky", "eigh", "eigvalsh", "slogdet", "inv", "det")}
TWO = {
    "take_along_axis": [((4, 5), (4, 2), {}), ((4, 5), (1, 5), {"axis": 0}), ((4, 5), (2,), {"axis": 0})],
    "cross": [((4, 3), (4, 3), {}), ((3, 4), (3, 4), {"axis": 0}), ((4, 3), (3,), {}), ((3,), (4, 3), {})],
    "vecdot": [((4, 3), (4, 3), {}), ((3, 4), (3, 4), {"axis": 0}), ((4, 3), (3,), {}), ((3,), (3,), {})],
    "outer": [((4,), (3,), {}), ((1,), (1,), {})],
    "_inner": [((4, 3), (5, 3), {}), ((3,), (3,), {}), ((2, 4, 3), (3,), {})],
    "_matvec": [((4, 3), (3,), {}), ((2, 4, 3), (2, 3), {})],
    "_vecmat": [((4,), (4, 3), {}), ((2, 4), (2, 4, 3), {})],
}
ORDERS = {"expn": 2, "kn": 1, "yn": 1}


def found(name):
    for owner in (special, an, an.linalg, an.fft):
        if callable(getattr(owner, name, None)) and name in OPS:
            return getattr(owner, name)
    raise LookupError(name)


def parts(result):
    return [np.asarray(t) for t in (result if isinstance(result, tuple) else (result,))]


def assert_same(some, others):
    for a, b in zip(parts(some), parts(others), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()


def arrays(name):
    if name in MATRICES:
        return [definite(4), definite(3).astype(np.float32), np.stack([definite(3), definite(3)])]
    a = real(4, 5)
    found = [a, a.astype(np.float32), np.asfortranarray(a), a[::2, ::-1], real(4, 5, 2)]
    return found if "fft" in name else [*found, real(3, 0)]  # NumPy's transforms of nothing give what memory held


def test_every_operation_that_is_called_at_once_has_cases():
    assert {*direct.CALLS} == {*CASES, *MATRICES, *TWO, "repeat", "matrix_power", "_angle_of_real"}


@pytest.mark.parametrize("name", [*CASES, *MATRICES])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_are_those_of_the_tables_way(name):
    f = found(name)
    for a in arrays(name):
        for options in (CASES | MATRICES)[name]:
            try:
                expected = plain(lambda a=a, options=options: f(a, **options))
            except Exception as error:
                with pytest.raises(type(error), match=None):
                    f(a, **options)
            else:
                assert_same(f(a, **options), expected)


@pytest.mark.parametrize("name", TWO)
def test_values_of_two_arrays_are_those_of_the_tables_way(name):
    op = OPS[name]
    for first, second, options in TWO[name]:
        for dtype in ("float64", "float32", "complex128"):
            x = real(*first).astype(dtype)
            y = np.zeros(second, int) if name == "take_along_axis" else (real(*second) * dtype_one(dtype)).astype(dtype)
            args = (ag.asarray(x), y if name == "take_along_axis" else ag.asarray(y))
            f = lambda args=args, options=options: apply_op(op, op.bind(args, options))
            try:
                expected = plain(f)
            except Exception as error:
                with pytest.raises(type(error)):
                    f()
            else:
                assert_same(f(), expected)


def dtype_one(dtype):
    return 1 + 1j if dtype.startswith("c") else 1


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, -1])
def test_powers_of_matrices_are_those_of_the_tables_way(n):
    for a in (definite(4), definite(3).astype(np.float32), np.stack([definite(3), definite(3)])):
        assert_same(an.linalg.matrix_power(a, n), plain(lambda a=a: an.linalg.matrix_power(a, n)))


def test_the_angle_of_real_numbers_is_that_of_the_tables_way():
    for dtype in (np.float32, np.float64):
        t = ag.tensor(np.array([[1.0, -0.0, 0.0], [-2.0, np.inf, np.nan]], dtype), requires_grad=True)
        assert_same(np.angle(t).detach(), plain(lambda t=t: np.angle(t).detach()))


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": -1}])
@pytest.mark.parametrize("repeats", [0, 2, np.array([1, 0, 2])])
def test_repeat_is_that_of_the_tables_way(repeats, options):
    a = real(3, 3) if options or np.ndim(repeats) == 0 else real(3)
    assert_same(an.repeat(a, repeats, **options), plain(lambda: an.repeat(a, repeats, **options)))


@pytest.mark.parametrize("name", sorted(direct.UFUNCS))
def test_special_functions_of_several_parameters_are_those_of_the_tables_way(name):
    f = found(name)
    n = len(OPS[name].params)
    x = np.linspace(0.1, 0.9, 7)
    order = ORDERS.get(name, 1.5)
    calls = [(order,) * (n - 1) + (x,), (order,) * (n - 1) + (x.astype(np.float32),)]
    if name not in ORDERS:
        calls += [
            (x + 1.0,) * (n - 1) + (x,),
            (np.float32(1.5) + 0 * x.astype(np.float32),) * (n - 1) + (x[:1].astype(np.float32),),
        ]
    for given in calls:
        f(*given)
        assert_same(f(*given), plain(lambda given=given: f(*given)))


@pytest.mark.parametrize("order", [1.5, -1])
def test_an_order_that_is_none_is_refused_as_by_the_table(order):
    special.expn(2, real(2) ** 2)
    with pytest.raises(TypeError, match="order must be an int"):
        special.expn(order, real(2))


@pytest.mark.parametrize("name", ["fft", "rfft", "fftshift", "fftn"])
def test_an_axis_that_is_not_there_is_named(name):
    key = "axis" if name in ("fft", "rfft") else "axes"
    with pytest.raises(IndexError, match=f"{name}: axis 5 is out of bounds"):
        found(name)(real(3, 3), **{key: 5 if key == "axis" else (5,)})
