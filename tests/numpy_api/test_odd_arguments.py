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


CALLS = dict((*_reductions(), *_axes(), *_orders_and_modes(), *_dtypes_and_matrices()))


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
