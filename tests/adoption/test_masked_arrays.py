"""Masked arrays of recorded data with masked elements: values, masks, dtypes and gradients are those of the plain call.

The class: ways to mask x operations (of each element, sums, moves, writes, views, masks that depend on values) x
float32 and float64. The references are the plain call and its differences. Shared, hard and written masks are NumPy's.
What would show the data of a masked element after an operation is refused.
"""

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 1.5, 2.5, 0.8, 3.1, 1.1])
MASK = np.array([False, True, False, False, True, False])
OTHER = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
PLAIN = np.ma.array(OTHER, mask=[True, False, False, False, True, False])

MAKE = {
    "array": lambda x: np.ma.array(x, mask=MASK.copy()),
    "masked_array": lambda x: np.ma.masked_array(x, mask=MASK.copy()),
    "masked_array by place": lambda x: np.ma.masked_array(x, MASK.copy()),
    "of a list": lambda x: np.ma.array([x[i] for i in range(6)], mask=MASK.copy()),
    "masked_where": lambda x: np.ma.masked_where(x > 2.0, x),
    "masked_greater": lambda x: np.ma.masked_greater(x, 2.0),
    "masked_less": lambda x: np.ma.masked_less(x, 1.0),
    "masked_inside": lambda x: np.ma.masked_inside(x, 1.0, 2.0),
    "masked_outside": lambda x: np.ma.masked_outside(x, 0.6, 3.0),
    "masked_equal": lambda x: np.ma.masked_equal(x, 2.5),
    "masked_invalid": lambda x: np.ma.masked_invalid(np.where(MASK, np.nan, x)),
    "of another": lambda x: np.ma.masked_where(x < 0.7, np.ma.array(x, mask=MASK.copy())),
    "an element": lambda x: with_element(np.ma.array(x)),
    "the mask": lambda x: with_mask(np.ma.array(x)),
    "fancy": lambda x: np.ma.array(x, mask=MASK.copy())[np.arange(6)],
}


def with_element(m):
    m[1] = np.ma.masked
    return m


def with_mask(m):
    m.mask = MASK.copy()
    return m


def changed(m, f):
    f(m)
    return m


def through_a_view(m):
    m[1:4][0] = np.ma.masked
    m[2:][...] *= 2.0


LINES = {
    "itself": lambda m, x: m,
    "operators": lambda m, x: 2.0 * m - m / (1.0 + m * m) + m**2 - (-m) + 1.0 / m,
    "beside arrays": lambda m, x: m * x + OTHER * m,
    "beside plain": lambda m, x: m * PLAIN + np.ma.multiply(PLAIN, m),
    "two masks": lambda m, x: m + np.ma.masked_greater(x, 1.0),
    "ufuncs": lambda m, x: np.sin(m) + np.ma.exp(m) * np.ma.cos(m),
    "domains": lambda m, x: np.ma.sqrt(m - 1.0) + np.ma.log(m - 0.7),
    "domain of arccos": lambda m, x: np.ma.arccos(m),
    "division": lambda m, x: m / (np.where(x > 2.0, 0.0, x)),
    "power": lambda m, x: m**x + np.ma.power(m, 1.5),
    "maximum": lambda m, x: np.ma.maximum(m, 1.0) + np.ma.minimum(m, x**2),
    "clip": lambda m, x: m.clip(0.6, 2.0),
    "where": lambda m, x: np.ma.where(m > 1.0, m, 2.0 * x),
    "where of plain": lambda m, x: np.ma.where(MASK, x, m),
    "sum": lambda m, x: m.sum() * np.ma.sum(m * m),
    "np.sum": lambda m, x: np.sum(m) + np.mean(m) + np.std(m) + np.max(m),
    "mean": lambda m, x: m.mean() * np.ma.mean(m**3),
    "var": lambda m, x: m.var() + np.ma.var(m, ddof=1),
    "std": lambda m, x: m.std() + m.std(ddof=1),
    "prod": lambda m, x: m.prod(),
    "max": lambda m, x: m.max() - m.min() + np.ma.max(m**2),
    "ptp": lambda m, x: m.ptp() if hasattr(m, "ptp") else np.ma.ptp(m),
    "cumsum": lambda m, x: m.cumsum() + np.ma.cumprod(m),
    "median": lambda m, x: np.ma.median(m),
    "average": lambda m, x: np.ma.average(m) + np.ma.average(m, weights=OTHER),
    "average by x": lambda m, x: np.ma.average(m, weights=x),
    "anom": lambda m, x: m.anom(),
    "dot": lambda m, x: np.ma.dot(m, m) + np.ma.dot(m, x),
    "dot of plain": lambda m, x: np.ma.dot(PLAIN, m),
    "average of plain": lambda m, x: np.ma.average(PLAIN, weights=x) * m,
    "concatenate of plain": lambda m, x: np.ma.concatenate([x, PLAIN, m]),
    "axis": lambda m, x: m.reshape(2, 3).sum(axis=0),
    "mean along an axis": lambda m, x: m.reshape(3, 2).mean(axis=1),
    "var along an axis": lambda m, x: m.reshape(2, 3).var(axis=1),
    "keepdims": lambda m, x: m.reshape(2, 3) - m.reshape(2, 3).mean(axis=1, keepdims=True),
    "max along an axis": lambda m, x: m.reshape(2, 3).max(axis=1),
    "average along an axis": lambda m, x: np.ma.average(m.reshape(2, 3), axis=0, weights=[1.0, 3.0]),
    "filled": lambda m, x: m.filled(0.0) * np.ma.filled(m, 7.0),
    "filled by default": lambda m, x: np.minimum(m.filled(), 5.0),
    "filled by x": lambda m, x: m.filled(2.0 * x[0]),
    "compressed": lambda m, x: m.compressed() ** 2,
    "ma.compressed": lambda m, x: np.ma.compressed(m * 2.0),
    "not masked": lambda m, x: m[~np.ma.getmaskarray(m)],
    "not masked by mask": lambda m, x: m[~m.mask] * 2.0,
    "slice": lambda m, x: m[1:4] * m[::2],
    "fancy": lambda m, x: m[[4, 0, 0]],
    "item": lambda m, x: sum(m[i] * i for i in range(6) if m[i] is not np.ma.masked),
    "iterated": lambda m, x: sum(v * v for v in m if v is not np.ma.masked),
    "ravel": lambda m, x: m.reshape(2, 3).T.ravel(),
    "concatenate": lambda m, x: np.ma.concatenate([m, x * m]),
    "stack": lambda m, x: np.ma.vstack([m, m * 2.0]),
    "count": lambda m, x: m.sum() / m.count(),
    "compared": lambda m, x: x * np.ma.filled(m > 1.0, False),
    "copy": lambda m, x: changed(m.copy(), lambda c: c.__setitem__(2, np.ma.masked)) + m,
    "astype": lambda m, x: m.astype(np.float64) * 2.0,
    "in place": lambda m, x: changed(m, lambda m: m.__imul__(2.0)),
    "in place by masks": lambda m, x: changed(m, lambda m: m.__iadd__(np.ma.masked_greater(x, 1.0))),
    "in place division": lambda m, x: changed(m, lambda m: m.__itruediv__(x)),
    "set": lambda m, x: changed(m, lambda m: m.__setitem__(0, x[1] * 3.0)),
    "unmasked by a value": lambda m, x: changed(m, lambda m: m.__setitem__(slice(0, 3), x[3:] ** 2)),
    "set masked": lambda m, x: changed(m, lambda m: m.__setitem__(2, np.ma.masked)),
    "set of masked": lambda m, x: changed(m, lambda m: m.__setitem__(slice(0, 2), np.ma.array(x[:2], mask=[0, 1]))),
    "set by a mask": lambda m, x: changed(m, lambda m: m.__setitem__(x > 2.0, 0.5)),
    "through a view": lambda m, x: changed(m, through_a_view),
    "through a view after an operation": lambda m, x: changed(m * 2.0, lambda m: m[1:4].__imul__(3.0)),
    "fixed": lambda m, x: np.ma.fix_invalid(m) * 2.0,
    "mask written": lambda m, x: changed(m, lambda m: m.mask.__setitem__(5, True)),
    "hardened": lambda m, x: changed(m, lambda m: m.harden_mask()) * 2.0,
    "fill value": lambda m, x: changed(m, lambda m: m.set_fill_value(3.0)).filled(),
    "masks that depend on values": lambda m, x: np.ma.masked_where(m * m > m.mean(), m).sum() * m.sum(),
    "masked again": lambda m, x: np.ma.masked_less(m - 1.0, 0.0),
    "data": lambda m, x: np.where(MASK, 0.0, m.filled(0.0)) * 2.0,
    "questions": lambda m, x: (
        m * (np.ma.is_masked(m) + 2.0 * np.ma.isMaskedArray(m) + isinstance(m, np.ma.MaskedArray))
    ),
    "a loop": lambda m, x: sum((m * k).sum() for k in range(3)),
}


def outcome(name, make, x, seen):
    made = LINES[name](MAKE[make](x * 1.0), x * 1.0)
    seen.append((np.shape(made), np.ma.getmaskarray(made).tolist() if np.ndim(made) else np.ma.is_masked(made)))
    if made is np.ma.masked:
        return x[0] * 0.0
    flat = made.filled(0.25) if np.ma.isMaskedArray(made) else made
    flat = flat.reshape(-1) if np.ndim(flat) else flat * np.ones(1)
    return (flat * np.cos(np.arange(1.0, flat.size + 1.0))).sum()


def differences(f, x, h=1e-4):
    found = np.zeros_like(x)
    for i, e in enumerate(np.eye(x.size) * h):
        found[i] = (8.0 * (f(x + e) - f(x - e)) - (f(x + 2.0 * e) - f(x - 2.0 * e))) / (12.0 * h)
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("name", LINES)
def test_values_masks_and_gradients(name, make):
    seen = []
    loss = lambda x: outcome(name, make, x, seen)
    plain = loss(X)
    value, grad = ag.value_and_grad(loss)(X)
    assert seen[0] == seen[1]
    np.testing.assert_allclose(value, plain, rtol=1e-12)
    skips = make == "masked_equal"  # it masks one number, which differences leave
    if not skips:
        np.testing.assert_allclose(grad, differences(loss, X), rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", sorted({*LINES} - {"astype", "filled by default", "fill value"}))
def test_single_precision_stays(name):
    def loss(x):
        made = LINES[name](np.ma.array(x * np.float32(1.0), mask=MASK.copy()), x)
        kinds.append(getattr(made, "dtype", None))
        return (made.filled(0.0) if np.ma.isMaskedArray(made) else made).sum()

    kinds = []
    x = X.astype(np.float32)
    plain = loss(x)
    value, grad = ag.value_and_grad(loss)(x)
    assert kinds[0] == kinds[1]
    assert grad.dtype == np.float32
    np.testing.assert_allclose(value, plain, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(grad, ag.grad(loss)(X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["operators", "mean", "var along an axis", "domains", "set", "cumsum"])
def test_second_derivatives(name):
    loss = lambda x: outcome(name, "array", x, [])
    rows = [differences(lambda x, i=i: ag.grad(loss)(x)[i], X) for i in range(6)]
    np.testing.assert_allclose(ag.hessian(loss)(X), rows, rtol=1e-5, atol=1e-6)


def test_masks_of_views_are_shared_as_numpy_has_it():
    def masks(x):
        found = []
        for m in (np.ma.array(x), np.ma.array(x, mask=MASK.copy()), np.ma.masked_array(x, MASK & False)):
            part, turned, picked, whole = m[2:5], m.reshape(2, 3), m[[0, 2]], m.view()
            part[0] = np.ma.masked
            turned[0, 0] = np.ma.masked
            picked[1] = np.ma.masked
            m[5] = np.ma.masked
            whole[3] = np.ma.masked
            found += [np.ma.getmaskarray(one).tolist() for one in (m, part, turned, picked, whole)]
        return found

    def f(x):
        seen.append(masks(x))
        return x.sum()

    seen = [masks(X)]
    ag.grad(f)(X)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("copy", [False, True])
def test_the_mask_of_the_program_is_shared_as_numpy_has_it(copy):
    def f(x):
        mask = MASK.copy()
        m = np.ma.array(x, mask=mask, copy=copy)
        m[0] = np.ma.masked
        m.reshape(2, 3)[1, 2] = np.ma.masked
        masks.append(mask.tolist())
        return m.sum()

    masks = []
    assert f(X) == pytest.approx(ag.value_and_grad(f)(X)[0])
    assert masks[0] == masks[1]


def test_the_shape_of_the_data_stays():
    def f(x):
        m = np.ma.array(x, mask=MASK.copy())
        m.shape = (2, 3)
        return m.sum(axis=0).sum() * x.shape[0]

    value, grad = ag.value_and_grad(f)(X)
    assert value == pytest.approx(f(X))
    np.testing.assert_allclose(grad, np.where(MASK, 0.0, 6.0))


SHOWN = {
    "data": lambda m: m.data.sum(),
    "getdata": lambda m: np.ma.getdata(m).sum(),
    "asarray": lambda m: np.asarray(m).sum(),
    "view": lambda m: m.view(np.ndarray).sum(),
    "no mask": lambda m: changed(m, lambda m: setattr(m, "mask", False)).sum(),
    "an element of the mask": lambda m: changed(m, lambda m: m.mask.__setitem__(slice(None), False)).sum(),
    "concatenate of numpy": lambda m: np.concatenate([m, m]).sum(),
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_data_of_what_an_operation_has_masked_is_refused(name):
    f = lambda x: SHOWN[name](np.ma.array(x, mask=MASK.copy()) * 2.0)
    with pytest.raises(TypeError, match=r"test_masked_arrays\.py:\d+, in .*masked array"):
        ag.grad(f)(X)


@pytest.mark.parametrize("name", sorted({*SHOWN} - {"an element of the mask"}))
def test_data_that_was_only_masked_is_shown(name):
    f = lambda x: SHOWN[name](np.ma.array(x * 2.0, mask=MASK.copy()))
    value, grad = ag.value_and_grad(f)(X)
    assert value == pytest.approx(f(X))
    np.testing.assert_allclose(grad, differences(f, X), rtol=1e-8)


REFUSED = {
    "a fit": lambda m, x: np.ma.polyfit(X, m, 1).sum(),
    "a median along an axis": lambda m, x: np.ma.median(m.reshape(2, 3), axis=0).sum(),
    "sort": lambda m, x: np.ma.sort(m).sum(),
    "the class": lambda m, x: np.ma.MaskedArray(x, mask=MASK.copy()).sum(),
    "a write into a hard mask": lambda m, x: changed(m, lambda m: (m.harden_mask(), m.__setitem__(1, x[0]))).sum(),
    "out": lambda m, x: m.sum(out=np.zeros(())),
    "a plain one beside x": lambda m, x: (PLAIN * x).sum(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_rule_is_refused_with_a_way_out(name):
    with pytest.raises(TypeError, match=r"test_masked_arrays\.py:\d+, in .*masked array"):
        ag.grad(lambda x: REFUSED[name](np.ma.array(x, mask=MASK.copy()), x))(X)
