"""Records in functions that are differentiated: fields are recorded, by name and index; one is a view."""

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
    "fromrecords": lambda x: np.rec.fromrecords([(F[i], 2.0 * x[i]) for i in range(3)], names="f,a"),
    "rec.array": lambda x: np.rec.array([(F[i], 2.0 * x[i]) for i in range(3)], dtype=[("f", float), ("a", float)]),
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
    "a field of one by number": lambda r: r[1][0] * r[-1][1],
    "one as a tuple": lambda r: sum(r[0]) + sum(r[2].item()) + len(r[1]),
    "one is a view": lambda r: one_is_a_view(r),
    "what is read of one is a number": lambda r: read_and_written(r),
    "one is written": lambda r: one_is_written(r),
    "several": lambda r: np.sum(r[["a"]]["a"]),
}


def one_is_a_view(r):
    one = r[1]
    r["a"][1] = r.f[0] * r.a[2]
    r.f[1] = r.a[0]
    return one["a"] + 3.0 * one.f


def read_and_written(r):
    by_name, by_attribute, by_number = r[1]["a"], r[1].a, r[1][1]
    r["a"][1] = 7.0
    return by_name + 2.0 * by_attribute + 3.0 * by_number + r[1].a


def one_is_written(r):
    r[0]["a"] = r.a[1] ** 2
    r[1].a = r.f[2] * r.a[0]
    r[2][1] = 5.0 * r[0].a
    r[1] = (r.a[2], r.f[0])
    return np.sum(r.f * r.a)


def changed(r):
    r.a[0] = r.a[1] * r.a[2]
    r["f"] = r.f + 1.0
    r.a = r.a * 2.0
    return np.sum(r.f * r.a)


USES["written"] = changed


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", MAKES)
def test_fields_are_recorded(make, use):
    if make == "dtype" and use in ("one is a view", "one is written"):
        pytest.skip("they write numbers into a field of integers")

    def f(x):
        return 1.0 * USES[use](MAKES[make](x))

    value, gradient = ag.value_and_grad(f)(X)
    assert value == pytest.approx(float(f(X)), rel=1e-14)
    for i, step in enumerate(np.eye(3) * 1e-6):
        assert gradient[i] == pytest.approx((f(X + step) - f(X - step)) / 2e-6, rel=1e-6, abs=1e-8)


ROWS = {
    "fields": lambda r: np.sum(r["f"] * r["a"] * r["n"]),
    "index": lambda r: r[1]["a"] * r[2]["n"] + r[0]["f"],
    "slice": lambda r: np.sum(r[1:]["a"]),
    "loop": lambda r: sum(one["f"] * one["a"] for one in r),
    "unpacked": lambda r: sum(f * a * n for f, a, n in r),
    "shape": lambda r: np.sum(r["a"]) * r.shape[0] * len(r),
    "sorted": lambda r: r[np.argsort(r["a"])]["a"][0],
    "a mask": lambda r: np.sum(r[r["n"] > 0]["a"]),
}


@pytest.mark.parametrize("name", ROWS)
def test_arrays_of_tuples_are_recorded(name):
    def f(x):
        rows = [(x[i] ** 2, 3.0 * x[i], i) for i in range(3)]
        return 1.0 * ROWS[name](np.array(rows, dtype=[("f", float), ("a", float), ("n", int)]))

    value, gradient = ag.value_and_grad(f)(X)
    assert value == pytest.approx(float(f(X)), rel=1e-14)
    for i, step in enumerate(np.eye(3) * 1e-6):
        assert gradient[i] == pytest.approx((f(X + step) - f(X - step)) / 2e-6, rel=1e-6, abs=1e-8)


def test_single_precision_stays():
    kind = [("a", np.float32)]
    f = lambda x: np.array([(x[0],), (x[1],)], dtype=kind)["a"].sum()
    value, gradient = ag.value_and_grad(f)(X.astype(np.float32))
    assert value.dtype == gradient.dtype == np.float32


def test_tuples_of_constants_are_arrays_of_numpy():
    def f(x):
        made = np.zeros(2)
        rows = np.array([(made[0], 1.0), (made[1], 2.0)], dtype=[("f", float), ("a", float)])
        assert type(rows) is np.ndarray
        return np.sum(np.sort(rows, order="a")["a"] * x[:2])

    np.testing.assert_allclose(ag.grad(f)(X), [1.0, 2.0, 0.0])


def test_tuples_that_do_not_fit_are_numpys_error():
    with pytest.raises((TypeError, ValueError)):
        ag.grad(lambda x: np.array([(x[0], 1.0), (x[1],)], dtype=[("f", float), ("a", float)])["f"].sum())(X)


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
