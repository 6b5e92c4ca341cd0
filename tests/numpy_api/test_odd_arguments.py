"""Arguments of rare types and values: NumPy's value, dtype, shape, layout or class of error, at the call itself.

Imports the public names of arraygrad.
"""

import warnings

import numpy as np
import pytest

import arraygrad as ag

M = np.array([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])

KEPT = (1.0, None, 0, 1, "a", np.True_, 2, [], 0.0)
AXES = (True, False, 1.0, None, "a", (0, 1), (0, 0), (True,), [0], 2, -3, np.int64(1), np.array(1), np.array([1]), ())
ORDERS = "ZCFAKkcf"
DTYPES = ("i4", "f4", "c16", "?", "f2", "g")


def _reductions():
    for name in ("sum prod max min mean var std median nanmean nansum nanmax nanprod nanvar nanmedian all any ptp "
                 "argmax count_nonzero average").split():  # fmt: skip
        f = getattr(np, name)
        for k in KEPT:
            yield f"{name}, keepdims={k!r}", lambda t, f=f, k=k: f(t, axis=0, keepdims=k)
    for name in ("quantile", "nanpercentile"):
        f = getattr(np, name)
        for k in KEPT:
            yield f"{name}, keepdims={k!r}", lambda t, f=f, k=k: f(t, 0.3, axis=0, keepdims=k)
    for name in ("sum", "mean", "var", "std", "max", "any"):
        for k in KEPT:
            yield f"method {name}, keepdims={k!r}", lambda t, n=name, k=k: getattr(t, n)(axis=0, keepdims=k)


def _axes():
    for name in ("sum max mean var median nansum nanmedian all ptp argmax average cumsum cumprod nancumsum diff sort "
                 "argsort flip squeeze expand_dims unique trapezoid gradient count_nonzero").split():  # fmt: skip
        f = getattr(np, name)
        for k in AXES:
            yield f"{name}, axis={k!r}", lambda t, f=f, k=k: f(t, axis=k)
    for name in ("sum", "mean", "argmax", "cumsum", "cumprod", "squeeze"):
        for k in AXES:
            yield f"method {name}, axis={k!r}", lambda t, n=name, k=k: getattr(t, n)(axis=k)
    for name, rest in (("take", ([0, 1],)), ("roll", (1,)), ("repeat", (2,)), ("delete", (0,)), ("insert", (0, 1.0)),
                       ("partition", (0,))):  # fmt: skip
        f = getattr(np, name)
        for k in (True, 1.0, (0, 1), [0], 2, np.array(1)):
            yield f"{name}, axis={k!r}", lambda t, f=f, rest=rest, k=k: f(t, *rest, axis=k)
    for k in ((True, 0), (1.0, 0), (0, 2), (0,), [1, 0], (0, 0), (-1, 0)):
        yield f"transpose, {k!r}", lambda t, k=k: np.transpose(t, k)


def _orders_and_modes():
    for o in ORDERS:
        for name in ("zeros_like", "ones_like", "ravel", "copy"):
            yield f"{name}, order={o!r}", lambda t, n=name, o=o: getattr(np, n)(t, order=o)
        yield f"full_like, order={o!r}", lambda t, o=o: np.full_like(t, 2.0, order=o)
        yield f"full_like of columns, order={o!r}", lambda t, o=o: np.full_like(t.T, 2.0, order=o)
        yield f"full_like of a row, order={o!r}", lambda t, o=o: np.full_like(t, t[0], order=o)
    for m in ("reduced", "r", "x", None, 1):
        yield f"qr, mode={m!r}", lambda t, m=m: np.linalg.qr(t.T, mode=m)


def _dtypes_and_matrices():
    for d in DTYPES:
        for name in ("sum", "prod", "mean", "var", "std", "cumsum", "nansum", "nanmean", "nanvar", "trace"):
            yield f"{name}, dtype={d!r}", lambda t, n=name, d=d: getattr(np, n)(t, dtype=d)
    for name in ("linspace", "geomspace", "logspace"):
        f = getattr(np, name)
        for k in ({"dtype": int}, {"dtype": "f4"}, {"dtype": complex}, {"axis": 1}, {"axis": -1}, {"axis": 5}):
            yield f"{name}, {k}", lambda t, f=f, k=k: f(t[0], t[1], 4, **k)
    for k in ({"dtype": int}, {"dtype": "f4"}, {"dtype": complex}, {"ddof": 1.5}, {"rowvar": None}, {"ddof": 5}):
        yield f"cov, {k}", lambda t, k=k: np.cov(t, **k)
    for name in ("polyadd", "polysub", "polymul", "polydiv"):
        f = getattr(np, name)
        yield f"{name} of matrices", lambda t, f=f: f(t, t)
        yield f"{name} of a matrix", lambda t, f=f: f(t, [1.0, 2.0])
    for name in ("polyder", "polyint", "roots", "poly"):
        yield f"{name} of a matrix", lambda t, n=name: getattr(np, n)(t)
    for name, w in (("zero", [1.0, -1.0]), ("too many", [1.0, 2.0, 3.0, 4.0]), ("of rows", [1.0, 2.0])):
        yield f"average, weights {name}", lambda t, w=w: np.average(t, axis=0, weights=w)
        yield f"average of all, weights {name}", lambda t, w=w: np.average(t, weights=w)
    yield "average, weights of two axes", lambda t: np.average(t, axis=(1, 0), weights=[[1.0, 2.0], [3, 4], [5, 6]])


def _blocks():
    arranged = {
        "one beside a list": lambda t: [t, [t]],
        "a list beside one": lambda t: [[t], t],
        "a level more in the second row": lambda t: [[t, t], [[t], t]],
        "nothing": lambda t: [],
        "an empty row": lambda t: [[t], []],
        "a tuple": lambda t: (t, t),
        "a tuple in a list": lambda t: [(t,)],
        "numbers": lambda t: [1.0, t[0, 0], 2],
        "numbers beside rows": lambda t: [[t[0], 1.0], [np.ones(3), t[1, 0]]],
        "three levels": lambda t: [[[t, 2 * t]], [[t, t]]],
        "rows that do not fit": lambda t: [[t, t], [t]],
        "a matrix above vectors": lambda t: [[t], [t[0]], [np.arange(3.0)]],
        "an array of three axes": lambda t: [t[None], t],
    }
    for name, make in arranged.items():
        yield f"block of {name}", lambda t, make=make: np.block(make(t))


CALLS = dict((*_reductions(), *_axes(), *_orders_and_modes(), *_dtypes_and_matrices(), *_blocks()))


def outcome(call, a):
    """(results as a tuple, None), or (None, the error)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = call(a)
        except Exception as error:
            return None, error
    return tuple(found) if isinstance(found, (tuple, list)) else (found,), None


@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_rare_arguments_ends_as_numpys(name):
    expected, error = outcome(CALLS[name], M.copy())
    for requires_grad in (True, False):
        t = ag.tensor(M, requires_grad=requires_grad)
        found, refusal = outcome(CALLS[name], t)
        if error is not None:
            # NumPy's own subclass where it computed
            assert refusal is not None, f"expected {error!r}"
            assert isinstance(refusal, type(error)) or isinstance(error, type(refusal)), repr(refusal)
            continue
        assert refusal is None, repr(refusal)
        for one, theirs in zip(found, map(np.asarray, expected), strict=True):
            ours = one.detach().numpy() if isinstance(one, ag.Tensor) else np.asarray(one)
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(ours, theirs, rtol=1e-5 if theirs.dtype.itemsize < 8 else 1e-13)
            assert ours.size < 2 or ours.strides == theirs.strides
            if isinstance(one, ag.Tensor) and one.requires_grad:
                with np.errstate(all="ignore"):
                    one.backward(np.ones(one.shape, one.dtype), retain_graph=True)


# Layouts

A = np.arange(60.0).reshape(3, 4, 5) + 0.5
LAYOUTS = {
    "rows": lambda a: a,
    "columns": np.asfortranarray,
    "turned": lambda a: np.ascontiguousarray(a.transpose(1, 0, 2)).transpose(1, 0, 2),
    "backwards": lambda a: a[::-1].copy()[::-1],
    "with gaps": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
}
LAID_OUT = {
    "piecewise": lambda a: np.piecewise(a, [a < 3, a >= 3], [lambda v: 2 * v, lambda v: v**2]),
    "piecewise of numbers": lambda a: np.piecewise(a, [a < 3, a >= 3], [1.0, lambda v: v**2]),
    "gradient": lambda a: np.gradient(a, axis=0),
    "gradients": lambda a: np.gradient(a, 0.5, edge_order=2)[2],
    "partition": lambda a: np.partition(a, 1, axis=0),
    "unique": lambda a: np.unique(a, axis=1),
    **{
        f"{f.__name__}, {q}, {axis}, {options}": lambda a, f=f, q=q, axis=axis, options=options: f(
            a, q, axis, **options
        )
        for f in (np.quantile, np.nanquantile, np.percentile, np.nanpercentile)
        for q in (0.3, [0.3], [0.3, 0.5], [[0.1, 0.2], [0.3, 0.4]])
        for axis in (None, 0, -1, (1, 0), ())
        for options in ({}, {"keepdims": True}, {"method": "hazen"})
    },
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", LAID_OUT)
def test_results_lie_in_memory_as_numpys(name, layout):
    a = LAYOUTS[layout](A)
    expected = LAID_OUT[name](a)
    t = ag.asarray(a)
    t.requires_grad_()
    if name.startswith("nan") and "[[" in name and ("(1, 0)" in name or "()" in name):
        with pytest.raises(TypeError, match="mixes the axes of q"):
            LAID_OUT[name](t)
        return
    found = LAID_OUT[name](t)
    ours = found.detach().numpy()
    np.testing.assert_allclose(ours, expected, rtol=1e-15)
    steps = [[s for s, n in zip(x.strides, x.shape, strict=True) if n > 1] for x in (ours, expected)]
    assert steps[0] == steps[1]
    g = np.cos(np.arange(found.size)).reshape(found.shape)
    found.backward(g)
    plain = ag.tensor(A.copy(), requires_grad=True)
    LAID_OUT[name](plain).backward(g)
    np.testing.assert_allclose(t.grad.numpy(), plain.grad.numpy(), rtol=1e-13)


# Views, counts


@pytest.mark.parametrize(
    "options", [{}, {"dtype": float}, {"dtype": "f8", "casting": "safe"}, {"optimize": True}], ids=str
)
@pytest.mark.parametrize("subscripts", ["ij->ij", "ij->ji", "ii->i", "ij", "...ij->...ji", "ij->i"])
def test_einsum_of_one_operand_is_a_view_where_numpys_is(subscripts, options):
    for requires_grad in (True, False):
        a = A[:, :3, 0].copy()
        t = ag.asarray(a, requires_grad=requires_grad)
        expected, found = np.einsum(subscripts, a, **options), np.einsum(subscripts, t, **options)
        ours = found.detach().array
        assert np.shares_memory(expected, a) == np.shares_memory(ours, t.array)
        assert (ours.strides, ours.dtype) == (expected.strides, expected.dtype)
        np.testing.assert_array_equal(ours, expected)


def test_einsum_refuses_an_ellipsis_without_place_in_the_result_as_numpy_does():
    for call in (lambda t: np.einsum("...i->i", t), lambda t: np.einsum("...i,i->i", t, t[0]),
                 lambda t: np.einsum(t, [..., 0], [0])):  # fmt: skip
        for a in (M, ag.tensor(M, requires_grad=True)):
            with pytest.raises(ValueError, match=r"ellipsis|\.\.\."):
                call(a)
    t = ag.tensor(M[0], requires_grad=True)
    np.testing.assert_array_equal(np.einsum("...i->i", t).detach().numpy(), np.einsum("...i->i", M[0]))


@pytest.mark.parametrize("least", [0, 5, -1, 2.0, True])
@pytest.mark.parametrize("places", [[0, 1, 2], [0, 1], [0.0, 1, 2], [-1, 0, 1], [[0, 1, 2]], np.uint64([0, 1, 2]), []],
                         ids=str)  # fmt: skip
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "c8"])
def test_counts_with_weights_end_as_numpys(dtype, places, least):
    w = np.array([1, 2, 3], dtype)
    t = ag.tensor(w, requires_grad=True)
    expected, error = outcome(lambda w: np.bincount(places, w, least), w)
    found, refusal = outcome(lambda w: np.bincount(places, w, least), t)
    assert type(refusal) is type(error), repr(refusal)
    if error is None:
        assert found[0].dtype == expected[0].dtype
        np.testing.assert_array_equal(found[0].detach().numpy(), expected[0])
        if found[0].requires_grad:
            found[0].backward(np.arange(1.0, found[0].size + 1))
            np.testing.assert_array_equal(t.grad.numpy(), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("order", ["K", "C", "F", "A"])
def test_a_ufunc_lays_its_result_out_as_its_order_says(order, requires_grad):
    def steps(x):
        return [s for s, n in zip(x.strides, x.shape, strict=True) if n > 1]

    for lay in LAYOUTS.values():
        a = lay(A)
        t = ag.asarray(a, requires_grad=requires_grad)
        for call in (lambda x, o: np.exp(x, order=o), lambda x, o: np.add(x, A, order=o),
                     lambda x, o: np.divmod(x, 0.3, order=o)[1]):  # fmt: skip
            expected, found = call(a, order), call(t, order)
            np.testing.assert_array_equal(found.detach().numpy(), expected)
            assert steps(found.detach().array) == steps(expected)
            if requires_grad:
                found.sum().backward()


def test_a_mean_of_chosen_elements_has_the_dtype_that_was_asked_for():
    t = ag.tensor(M, requires_grad=True)
    for dtype in ("f4", "f2", "c16"):
        found = np.mean(t, axis=0, dtype=dtype, where=M > 1)
        expected = np.mean(M, axis=0, dtype=dtype, where=M > 1)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-3)
        found.backward(np.ones(3, dtype))


SQUARE = np.arange(9.0).reshape(3, 3) + 0.5
ROWS = np.array([True, False, True])
PIECES = {
    "a mask of rows": (lambda x: [ROWS], [lambda v: v * [1.0, 2.0, 3.0], lambda v: -(v**2)]),
    "a mask of rows alone": (lambda x: ROWS, [lambda v: v.sum() * v]),
    "two masks of rows": (lambda x: [ROWS, ~ROWS], [lambda v: v.sum(axis=1, keepdims=True) * v, 4.0]),
    "a mask of all": (lambda x: x > 3, [lambda v: v**2]),
    "a mask of all in a list": (lambda x: [x > 3], [lambda v: v**2, lambda v: v.mean()]),
    "a number": (lambda x: [True], [lambda v: v**2]),
    "whole numbers": (lambda x: [1, 0, 1], [lambda v: v**2, lambda v: 3 * v]),
    "an array": (lambda x: [ROWS], [[1.0, 2.0, 3.0], lambda v: v]),
    "of wrong length": (lambda x: [ROWS[:2]], [lambda v: v]),
    "of columns": (lambda x: [x > 3, ROWS], [lambda v: v, 1.0]),
}


@pytest.mark.parametrize("name", PIECES)
def test_pieces_are_chosen_as_numpy_indexes(name):
    conditions, functions = PIECES[name]

    def call(x):
        return np.piecewise(x, conditions(x), functions)

    expected, error = outcome(call, SQUARE)
    t = ag.tensor(SQUARE, requires_grad=True)
    found, refusal = outcome(call, t)
    assert type(refusal) is type(error), repr(refusal)
    if error is None:
        np.testing.assert_array_equal(found[0].detach().numpy(), expected[0])
        g = np.cos(np.arange(9.0)).reshape(3, 3)
        found[0].backward(g)
        difference = np.zeros((3, 3))
        for place in np.ndindex(3, 3):
            moved = [SQUARE.copy(), SQUARE.copy()]
            moved[0][place] -= 1e-6
            moved[1][place] += 1e-6
            difference[place] = ((call(moved[1]) - call(moved[0])) * g).sum() / 2e-6
        np.testing.assert_allclose(t.grad.numpy(), difference, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("mode", ["linear_ramp", "maximum", "mean", "median", "constant", "wrap"])
def test_what_is_padded_lies_in_memory_as_numpys(mode):
    for a in (M, np.asfortranarray(M)):
        t = ag.asarray(a, requires_grad=True)
        expected, found = np.pad(a, (1, 2), mode), np.pad(t, (1, 2), mode)
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-15)
        assert found.detach().numpy().strides == expected.strides
        found.sum().backward()


@pytest.mark.parametrize("m", [0, 1, 3, 4, 9])
def test_derivatives_of_polynomials_beyond_their_degree_have_gradient_zero(m):
    p = np.array([1.0, 2.0, 3.0, 4.0])
    t = ag.tensor(p, requires_grad=True)
    found, expected = np.polyder(t, m), np.polyder(p, m)
    np.testing.assert_array_equal(found.detach().numpy(), expected)
    found.sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), [np.polyder(row, m).sum() for row in np.eye(4)])


@pytest.mark.parametrize("axis", [1, -2, 2, None, 1.0])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (np.asarray(0.0), np.asarray(1.0))], ids=("numbers", "arrays"))
def test_linspace_counts_the_axis_of_ends_without_axes(ends, axis):
    x = ag.tensor(0.5, requires_grad=True)
    with pytest.raises((ValueError, TypeError)) as plain:
        np.linspace(*ends, 3, axis=axis)
    with pytest.raises(plain.type):
        np.linspace(x, ends[1], 3, axis=axis)


MASKS = ((), (1,), (3,), (2, 3), (2, 1), (1, 3), (1, 2, 3), (1, 1, 1), (0,), (2, 0), (0, 1, 3))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("shape", [(), (3,), (1,), (2, 3), (2, 1), (0, 3), (0,)])
def test_copyto_broadcasts_its_mask_to_the_target_alone(shape, mask):
    where = np.ones(mask, bool)
    plain = np.zeros(shape)
    x = ag.tensor(0.5, requires_grad=True)
    t = ag.zeros(shape)
    try:
        np.copyto(plain, 0.5, where=where)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            np.copyto(t, x, where=where)
    else:
        np.copyto(t, x, where=where)
        np.testing.assert_array_equal(t.array, plain)


@pytest.mark.parametrize("dtype", [">f4", "<f4", ">f8", "<f8", ">c8", "<c16"])
@pytest.mark.parametrize(
    "f",
    [np.poly, lambda z: np.polyval(z, 0.5), lambda z: np.polyfit(np.arange(2.0), z, 1), lambda z: np.convolve(z, z)],
    ids=["poly", "polyval", "polyfit", "convolve"],
)
def test_numbers_with_bytes_in_another_order_have_gradients(f, dtype):
    z = np.asarray([-0.29, 0.65], dtype)
    found = ag.grad(lambda z: np.real(f(z)).sum())(z)
    native = ag.grad(lambda z: np.real(f(z)).sum())(z.astype(z.dtype.newbyteorder("=")))
    np.testing.assert_array_equal(found, native)
    e = 1e-3
    wide = z.astype(complex if z.dtype.kind == "c" else float)
    steps = [np.real(f(wide + e * d) - f(wide - e * d)).sum() / (2 * e) for d in np.eye(2)]
    np.testing.assert_allclose(np.real(found), steps, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("split", [np.array_split, np.split, np.vsplit])
@pytest.mark.parametrize(
    "sections", [2, np.int64(2), np.array(2), [1, 3], np.array([1, 3]), 3, 0, -1, (), 2.5, True], ids=repr
)
def test_sections_are_counted_as_numpy_counts_them(split, sections):
    x = np.arange(12.0).reshape(4, 3)
    try:
        expected = split(x, sections)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        with pytest.raises(type(error)):
            split(ag.tensor(x, requires_grad=True), sections)
        return
    found = split(ag.tensor(x, requires_grad=True), sections)
    assert [part.shape for part in found] == [part.shape for part in expected]
    for part, plain in zip(found, expected, strict=True):
        np.testing.assert_array_equal(part.detach().numpy(), plain)
