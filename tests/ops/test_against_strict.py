"""Values, dtypes and shapes of the standard's functions against array_api_strict's, on arrays that hypothesis draws.

Needs no checkout of the public suite (`python -m conformance` runs that). array_api_strict computes with NumPy but
checks every argument by the standard, so a difference is a wrong dtype, a wrong shape, a lost 0-d array, or a repair
that touches what was right. Imports the public names of arraygrad.
"""

import warnings
from collections import Counter

import numpy as np
import pytest

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed: nothing draws the arrays")
strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed: nothing to compare with")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import arraygrad.numpy as xp

EXAMPLES = settings(
    max_examples=25, deadline=None, database=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)

REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGER = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATING = REAL + COMPLEX
NUMERIC = INTEGER + FLOATING
ALL = ("bool", *NUMERIC)

# -- what is drawn -----------------------------------------------------------------------------------------------------

SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)


def values(dtype, size, draw):
    """`size` numbers of a dtype, small enough that no library overflows, zeros and equal ones among them."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        number = st.booleans()
    elif kind in "iu":
        number = st.integers(0 if kind == "u" else -5, 5)
    else:
        number = st.integers(-12, 12).map(lambda n: n / 4)
    drawn = [draw(number) for _ in range(size)]
    if kind == "c":
        drawn = [a + 1j * draw(number) for a in drawn]
    return np.array(drawn, dtype=dtype)


@st.composite
def arrays(draw, dtypes, count=1, shape=None, same=True):
    """`count` NumPy arrays of dtypes of one kind, whose shapes broadcast against each other."""
    full = draw(SHAPES) if shape is None else shape
    found = []
    kinds = [d for d in (INTEGER, REAL, COMPLEX, ("bool",)) if set(d) <= set(dtypes)]
    kind = draw(st.sampled_from(kinds))
    # no signed and unsigned 64-bit integers together: the standard leaves their promotion open
    names = [d for d in kind if d != "uint64"] if count > 1 else list(kind)
    for i in range(count):
        dtype = draw(st.sampled_from(names))
        own = full
        if i and not same:
            own = tuple([draw(st.sampled_from((n, 1))) for n in full])[draw(st.integers(0, len(full))) :]
        found.append(values(dtype, int(np.prod(own)), draw).reshape(own))
    return found


def axes(draw, ndim, several=True):
    """None, an axis, or some axes, from either end."""
    if not ndim:
        return None
    one = st.integers(-ndim, ndim - 1)
    if not several:
        return draw(one)
    some = st.lists(one, unique_by=lambda a: a % ndim, max_size=ndim).map(tuple)
    return draw(st.one_of(st.none(), one, some))


# -- comparing ---------------------------------------------------------------------------------------------------------


COMPARED = Counter()


def every(run):
    """Runs a test on all that is drawn; one of which nothing could be compared tests nothing."""
    before = COMPARED["calls"]
    run()
    assert COMPARED["calls"] > before


def compare(call, given, label):
    """The same call of both namespaces: equal values, dtypes and shapes, or the same class of error."""
    with np.errstate(all="ignore"):
        try:
            theirs = call(strict, *[strict.asarray(a) for a in given])
        except (ValueError, TypeError, IndexError) as error:
            # strict refuses more than the standard's text does, never less
            hypothesis.note(f"array_api_strict refuses: {error}")
            return
        COMPARED["calls"] += 1
        ours = call(xp, *[xp.asarray(a) for a in given])
    check(ours, theirs, label)


def check(ours, theirs, label):
    if isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs), label
        for a, b in zip(ours, theirs, strict=True):
            check(a, b, label)
        return
    if not isinstance(theirs, type(strict.zeros(1))):
        assert ours == theirs, label
        assert type(ours) is type(theirs), label
        return
    expected = np.asarray(theirs)
    found = ours.numpy()
    assert ours.dtype == expected.dtype, f"{label}: {ours.dtype}, not {expected.dtype}"
    assert ours.shape == expected.shape, f"{label}: {ours.shape}, not {expected.shape}"
    tolerance = 1e-5 if expected.dtype in (np.float32, np.complex64) else 1e-12
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=label)


# -- elementwise -------------------------------------------------------------------------------------------------------

UNARY = {
    **dict.fromkeys(
        "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin sinh sqrt tan".split(),
        FLOATING,
    ),
    **dict.fromkeys("tanh".split(), FLOATING),
    **dict.fromkeys("abs isfinite isinf isnan negative positive round sign square".split(), NUMERIC),
    **dict.fromkeys("ceil floor trunc".split(), INTEGER + REAL),
    **dict.fromkeys("conj real imag".split(), COMPLEX),
    "bitwise_invert": ("bool", *INTEGER),
    "logical_not": ("bool",),
    "signbit": REAL,
}
BINARY = {
    **dict.fromkeys("add multiply subtract equal not_equal".split(), NUMERIC),
    **dict.fromkeys("divide".split(), FLOATING),
    **dict.fromkeys("atan2 copysign hypot logaddexp nextafter".split(), REAL),
    **dict.fromkeys("floor_divide remainder".split(), REAL),
    **dict.fromkeys("greater greater_equal less less_equal maximum minimum".split(), INTEGER + REAL),
    **dict.fromkeys("bitwise_and bitwise_or bitwise_xor".split(), ("bool", *INTEGER)),
    **dict.fromkeys("logical_and logical_or logical_xor".split(), ("bool",)),
    "pow": FLOATING,
}


@pytest.mark.parametrize("name", sorted(UNARY))
def test_function_of_one_array_is_stricts(name):
    @EXAMPLES
    @given(arrays(UNARY[name]))
    def run(given):
        compare(lambda ns, x: getattr(ns, name)(x), given, name)

    every(run)


@pytest.mark.parametrize("name", sorted(BINARY))
def test_function_of_two_arrays_is_stricts(name):
    @EXAMPLES
    @given(arrays(BINARY[name], 2, same=False), st.booleans())
    def run(given, turned):
        first, second = given[::-1] if turned else given
        compare(lambda ns, x, y: getattr(ns, name)(x, y), (first, second), name)

    every(run)


@pytest.mark.parametrize("name", ["add", "multiply", "subtract", "maximum", "less", "pow", "divide", "atan2", "hypot"])
def test_python_scalar_on_either_side_keeps_the_arrays_dtype(name):
    @EXAMPLES
    @given(arrays(REAL), st.sampled_from((2, 0.5, -1.5)), st.booleans())
    def run(given, scalar, turned):
        def call(ns, x):
            return getattr(ns, name)(scalar, x) if turned else getattr(ns, name)(x, scalar)

        compare(call, given, f"{name} with {scalar}")

    every(run)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("operator", ["__add__", "__radd__", "__mul__", "__rsub__", "__truediv__", "__rtruediv__"])
def test_operator_with_a_complex_scalar_promotes_as_stricts(dtype, operator):
    given = [np.array([1.5, -2.0], dtype=dtype)]
    compare(lambda ns, x: getattr(x, operator)(1 + 2j), given, operator)


# -- reductions, order, sets -------------------------------------------------------------------------------------------

REDUCTIONS = {
    **dict.fromkeys("sum prod".split(), NUMERIC),
    **dict.fromkeys("mean".split(), FLOATING),
    **dict.fromkeys("max min".split(), INTEGER + REAL),
    **dict.fromkeys("std var".split(), REAL),
    **dict.fromkeys("all any count_nonzero".split(), ALL),
}


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
def test_reduction_is_stricts(name):
    @EXAMPLES
    @given(st.data())
    def run(data):
        (x,) = data.draw(arrays(REDUCTIONS[name]))
        options = {"axis": axes(data.draw, x.ndim), "keepdims": data.draw(st.booleans())}
        if name in ("std", "var"):
            options["correction"] = data.draw(st.sampled_from((0, 1, 0.5)))
        with warnings.catch_warnings():  # of the mean of nothing, and of too few degrees of freedom
            warnings.simplefilter("ignore", RuntimeWarning)
            compare(lambda ns, x: getattr(ns, name)(x, **options), [x], f"{name} {options}")

    every(run)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod", "argmax", "argmin", "sort", "argsort", "diff"])
def test_function_along_one_axis_is_stricts(name):
    @EXAMPLES
    @given(st.data())
    def run(data):
        shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple))
        (x,) = data.draw(arrays(INTEGER + REAL, shape=shape))
        options = {"axis": axes(data.draw, x.ndim, several=False)}
        if name.startswith("cumulative"):
            options["include_initial"] = data.draw(st.booleans())
        if name.startswith("arg") and name != "argsort":
            options["keepdims"] = data.draw(st.booleans())
        if name in ("sort", "argsort"):
            options["descending"] = data.draw(st.booleans())
        compare(lambda ns, x: getattr(ns, name)(x, **options), [x], f"{name} {options}")

    every(run)


@pytest.mark.parametrize(
    "name",
    ["unique_values", "unique_counts", "unique_inverse", "unique_all", "nonzero", "flip", "roll", "isin", "tile"],
)
def test_function_of_elements_is_stricts(name):
    @EXAMPLES
    @given(arrays(INTEGER + REAL))
    def run(given):
        more = {"roll": (1,), "tile": ((2, 1),)}.get(name, ())

        def call(ns, x):
            return ns.isin(x, ns.asarray(x, copy=True)) if name == "isin" else getattr(ns, name)(x, *more)

        compare(call, given, name)

    every(run)


# -- shapes, indexing, choice ------------------------------------------------------------------------------------------

SHAPE_CALLS = {
    "broadcast_to": lambda ns, x: ns.broadcast_to(x, (2, *x.shape)),
    "expand_dims": lambda ns, x: ns.expand_dims(x, axis=-1),
    "squeeze": lambda ns, x: ns.squeeze(ns.expand_dims(x, axis=0), axis=0),
    "permute_dims": lambda ns, x: ns.permute_dims(x, tuple(reversed(range(x.ndim)))),
    "moveaxis": lambda ns, x: ns.moveaxis(x, 0, -1),
    "reshape": lambda ns, x: ns.reshape(x, (-1,)),
    "concat": lambda ns, x: ns.concat([x, x], axis=-1),
    "concat flat": lambda ns, x: ns.concat([x, x], axis=None),
    "stack": lambda ns, x: ns.stack([x, x], axis=1),
    "unstack": lambda ns, x: ns.unstack(x, axis=0),
    "repeat": lambda ns, x: ns.repeat(x, 2, axis=-1),
    "broadcast_arrays": lambda ns, x: ns.broadcast_arrays(x, ns.asarray(True)),
    "tril": lambda ns, x: ns.tril(x, k=-1),
    "triu": lambda ns, x: ns.triu(x, k=1),
    "zeros_like": lambda ns, x: ns.zeros_like(x),
    "ones_like": lambda ns, x: ns.ones_like(x),
    "full_like": lambda ns, x: ns.full_like(x, 1),
    "astype": lambda ns, x: ns.astype(x, ns.bool),
    "clip": lambda ns, x: ns.clip(x, 0, 2),
    "take": lambda ns, x: ns.take(x, ns.asarray([0, 0]), axis=0),
    "take_along_axis": lambda ns, x: ns.take_along_axis(x, ns.argsort(x, axis=-1), axis=-1),
    "where": lambda ns, x: ns.where(x > 0, x, ns.zeros_like(x)),
    "where scalar": lambda ns, x: ns.where(x > 0, x, 1),
    "getitem": lambda ns, x: x[..., ::2],
    "getitem None": lambda ns, x: x[None, ...],
    "getitem mask": lambda ns, x: x[x > 0],
    "searchsorted": lambda ns, x: ns.searchsorted(ns.sort(ns.reshape(x, (-1,))), x, side="right"),
    "meshgrid": lambda ns, x: ns.meshgrid(ns.reshape(x, (-1,)), ns.reshape(x, (-1,)), indexing="ij"),
    "result_type": lambda ns, x: str(ns.result_type(x, ns.float64)).rpartition(".")[2].rstrip("'>"),
    "transpose": lambda ns, x: x.mT,
    "float": lambda ns, x: float(ns.sum(x)),
    "int": lambda ns, x: int(ns.sum(x)),
    "bool": lambda ns, x: bool(ns.any(x > 0)),
}


@pytest.mark.parametrize("name", sorted(SHAPE_CALLS))
def test_shape_indexing_and_choice_are_stricts(name):
    @EXAMPLES
    @given(arrays(INTEGER + REAL))
    def run(given):
        compare(SHAPE_CALLS[name], given, name)

    every(run)


# -- linear algebra and Fourier transforms -----------------------------------------------------------------------------


@st.composite
def stacks(draw, rows, columns, dtypes=FLOATING):
    """A stack of well-conditioned matrices."""
    (x,) = draw(arrays(dtypes, shape=(*draw(st.lists(st.integers(0, 2), max_size=1).map(tuple)), rows, columns)))
    return x + 9 * np.eye(rows, columns, dtype=x.dtype)


def _hermitian(ns, x):
    turned = ns.matrix_transpose(x)
    return x + (ns.conj(turned) if ns.isdtype(x.dtype, "complex floating") else turned)


LINALG = {
    "det": lambda ns, x: ns.linalg.det(x),
    "inv": lambda ns, x: ns.linalg.inv(x),
    "slogdet": lambda ns, x: ns.linalg.slogdet(x),
    "solve": lambda ns, x: ns.linalg.solve(x, x),
    "matrix_power": lambda ns, x: ns.linalg.matrix_power(x, 2),
    "matrix_rank": lambda ns, x: ns.linalg.matrix_rank(x),
    "trace": lambda ns, x: ns.linalg.trace(x, offset=1),
    "diagonal": lambda ns, x: ns.linalg.diagonal(x, offset=-1),
    "svdvals": lambda ns, x: ns.linalg.svdvals(x),
    "svd": lambda ns, x: ns.linalg.svd(x, full_matrices=False).S,
    "qr": lambda ns, x: ns.linalg.qr(x, mode="complete").R,
    "pinv": lambda ns, x: ns.linalg.pinv(x),
    "eigvalsh": lambda ns, x: ns.linalg.eigvalsh(_hermitian(ns, x)),
    "eigh": lambda ns, x: ns.linalg.eigh(_hermitian(ns, x)).eigenvalues,
    "cholesky": lambda ns, x: ns.linalg.cholesky(ns.matmul(_hermitian(ns, x), _hermitian(ns, x))),
    "matmul": lambda ns, x: ns.matmul(x, x),
    "matrix_transpose": lambda ns, x: ns.matrix_transpose(x),
    "tensordot": lambda ns, x: ns.tensordot(x, x, axes=((-1,), (-2,))),
    "vecdot": lambda ns, x: ns.vecdot(x, x, axis=-2),
    "cross": lambda ns, x: ns.linalg.cross(x, x + 1, axis=-1),
    "outer": lambda ns, x: ns.linalg.outer(ns.reshape(x, (-1,)), ns.reshape(x, (-1,))),
    **{
        f"matrix_norm {o}": lambda ns, x, o=o: ns.linalg.matrix_norm(x, ord=o, keepdims=True)
        for o in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"))
    },
    **{
        f"vector_norm {o}": lambda ns, x, o=o: ns.linalg.vector_norm(x, ord=o, axis=-1)
        for o in (0, 1, 2, 3.5, -1, float("inf"), -float("inf"))
    },
    **{
        f"{name} {norm}": lambda ns, x, name=name, norm=norm: getattr(ns.fft, name)(x + 0j, n=4, norm=norm)
        for name in ("fft", "ifft", "irfft", "hfft")
        for norm in ("backward", "ortho", "forward")
    },
    **{
        name: lambda ns, x, name=name: getattr(ns.fft, name)(x + 0j, axes=(-2, -1))
        for name in ("fftn", "ifftn", "irfftn", "fftshift", "ifftshift")
    },
}
REAL_FFT = {
    "rfft": lambda ns, x: ns.fft.rfft(x, axis=-2),
    "ihfft": lambda ns, x: ns.fft.ihfft(x, n=2),
    "rfftn": lambda ns, x: ns.fft.rfftn(x, s=(2, 4), axes=(-1, -2)),
}


@pytest.mark.parametrize("name", sorted(LINALG))
def test_linear_algebra_and_transforms_are_stricts(name):
    @EXAMPLES
    @given(stacks(3, 3))
    def run(x):
        compare(LINALG[name], [x], name)

    every(run)


@pytest.mark.parametrize("name", sorted(REAL_FFT))
def test_transform_of_real_arrays_is_stricts(name):
    @EXAMPLES
    @given(stacks(3, 3, REAL))
    def run(x):
        compare(REAL_FFT[name], [x], name)

    every(run)


# -- nothing is left out -----------------------------------------------------------------------------------------------

# Made from no array, of values that are not determined, or tested by name in test_namespace.
ELSEWHERE = {
    "asarray", "arange", "linspace", "empty", "zeros", "ones", "full", "eye", "empty_like", "from_dlpack",
    "bitwise_left_shift", "bitwise_right_shift", "broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "eig",
    "eigvals", "fftfreq", "rfftfreq",
}  # fmt: skip


def test_every_function_of_the_standard_is_compared():
    compared = {n.split()[0] for n in (*UNARY, *BINARY, *REDUCTIONS, *SHAPE_CALLS, *LINALG, *REAL_FFT)}
    compared |= {"cumulative_sum", "cumulative_prod", "argmax", "argmin", "sort", "argsort", "diff"}
    compared |= {"unique_values", "unique_counts", "unique_inverse", "unique_all", "nonzero", "flip", "roll", "isin"}
    compared |= {"tile"}
    functions = set()
    for owner in (strict, strict.linalg, strict.fft):
        for name in owner.__all__:
            found = getattr(owner, name, None)
            named = not name.startswith("_") and "strict" not in name.lower()
            if named and callable(found) and not isinstance(found, type) and not hasattr(strict, name + "_"):
                functions.add(name)
    functions -= set(ALL) | {"set_array_api_strict_flags"}
    assert functions - compared - ELSEWHERE == set()
