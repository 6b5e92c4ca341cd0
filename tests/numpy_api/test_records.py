"""numpy.rec.fromarrays in functions that are differentiated: fields are recorded, by name, number and index."""

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 1.0, 2.0])
F = np.array([1.0, 5.0, 10.0])
MAKES = {
    "names": lambda x: np.rec.fromarrays([F, x * 2.0], names="f,a"),
    "list of names": lambda x: np.rec.fromarrays([F, x * 2.0], names=["f", "a"]),
    "dtype": lambda x: np.rec.fromarrays([np.arange(3), x * 2.0], dtype=[("f", int), ("a", float)]),
    "list of numbers": lambda x: np.rec.fromarrays([F, [v * 2.0 for v in x]], names="f,a"),
    "both": lambda x: np.rec.fromarrays([x * x, 2.0 * x], names="f,a"),
}
USES = {
    "attributes": lambda r: np.sum(r.f * r.a),
    "names": lambda r: np.sum(r["f"] * r["a"]),
    "index": lambda r: r[1].a * r[1]["f"],
    "slice": lambda r: np.sum(r[1:].a * r.f[1:]),
    "mask": lambda r: np.sum(r[np.asarray([True, False, True])].a),
    "loop": lambda r: sum(one.f * one.a for one in r),
    "shape": lambda r: np.sum(r.a) * r.shape[0] * len(r) * r.ndim * r.size,
    "dtype": lambda r: np.sum(r[r.dtype.names[1]]),
    "number": lambda r: np.sum(r.field(1) * r.field("f")),
    "copy": lambda r: np.sum(r.copy().a * 3.0),
    "several": lambda r: np.sum(r[["a"]]["a"]),
}


def changed(r):
    r.a[0] = r.a[1] * r.a[2]
    r["f"] = r.f + 1.0
    r.a = r.a * 2.0
    return np.sum(r.f * r.a)


USES["written"] = changed


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", MAKES)
def test_fields_are_recorded(make, use):
    def f(x):
        return 1.0 * USES[use](MAKES[make](x))

    value, gradient = ag.value_and_grad(f)(X)
    assert value == pytest.approx(float(f(X)), rel=1e-14)
    for i, step in enumerate(np.eye(3) * 1e-6):
        assert gradient[i] == pytest.approx((f(X + step) - f(X - step)) / 2e-6, rel=1e-6, abs=1e-8)


def test_constants_stay_records_of_numpy():
    def f(x):
        r = np.rec.fromarrays([F, np.ones(3)], names="f,a")
        assert isinstance(r, np.recarray)
        return np.sum(x * r.f)

    np.testing.assert_allclose(ag.grad(f)(X), F)


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda r: np.sum(r), "take their fields, r\\.f"),
        (lambda r: r.b, "their fields are f, a"),
        (lambda r: np.sort(r, order="a"), "take their fields"),
    ],
)
def test_what_needs_the_memory_names_the_fields(use, text):
    with pytest.raises((TypeError, AttributeError), match=text):
        ag.grad(lambda x: use(MAKES["names"](x)))(X)


def test_a_field_of_integers_is_refused():
    with pytest.raises(TypeError, match="field a has the dtype int"):
        ag.grad(lambda x: np.sum(np.rec.fromarrays([F, x], dtype=[("f", float), ("a", int)]).f))(X)


def test_shapes_that_differ_are_numpys_error():
    for call in (lambda x: np.rec.fromarrays([F[:2], x]), ag.grad(lambda x: np.rec.fromarrays([F[:2], x]))):
        with pytest.raises(ValueError, match="array-shape mismatch"):
            call(X)
