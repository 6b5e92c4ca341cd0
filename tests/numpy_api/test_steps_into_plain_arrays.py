"""Results of ufuncs that are steps, written into plain arrays by `out=`: they have no gradient to lose there."""

import numpy as np
import pytest

import arraygrad as ag

X = np.array([1.2, -2.6, 3.9])
# ufunc, further operands, place of the step among its results, how many results.
STEPS = {
    "floor": (np.floor, (), 0, 1),
    "ceil": (np.ceil, (), 0, 1),
    "trunc": (np.trunc, (), 0, 1),
    "rint": (np.rint, (), 0, 1),
    "sign": (np.sign, (), 0, 1),
    "floor_divide": (np.floor_divide, (0.7,), 0, 1),
    "divmod": (np.divmod, (0.7,), 0, 2),
    "modf": (np.modf, (), 1, 2),
    "frexp": (np.frexp, (), 1, 2),
}
FORMS = {
    "keyword": lambda ufunc, x, rest, out: ufunc(x, *rest, out=out if len(out) > 1 else out[0]),
    "tuple": lambda ufunc, x, rest, out: ufunc(x, *rest, out=out),
    "position": lambda ufunc, x, rest, out: ufunc(x, *rest, *out),
}


def given(name):
    """(ufunc, further operands, out with one plain array, that array) anew."""
    ufunc, rest, place, n = STEPS[name]
    plain = np.zeros(3, np.int32 if name == "frexp" else float)
    return ufunc, rest, tuple(plain if i == place else None for i in range(n)), plain


@pytest.mark.parametrize("adopt", [True, False])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_written_and_the_other_result_has_its_gradient(name, form, adopt):
    def f(x, out, ufunc, rest):
        found = FORMS[form](ufunc, x, rest, out)
        results = found if isinstance(found, tuple) else (found,)
        return sum(np.sum(r * x * (i + 1)) for i, r in enumerate(results))

    ufunc, rest, out, plain = given(name)
    gradient = ag.grad(lambda x: f(x, out, ufunc, rest), adopt=adopt)(X)
    expected = ufunc(X, *rest)
    assert np.array_equal(plain, expected[STEPS[name][2]] if isinstance(expected, tuple) else expected)
    for i in range(3):
        step = np.zeros(3)
        step[i] = 1e-6
        ends = [f(x, given(name)[2], ufunc, rest) for x in (X + step, X - step)]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("name", [name for name in STEPS if STEPS[name][3] == 2])
def test_the_result_with_a_slope_is_refused_in_a_plain_array(name):
    ufunc, rest, place, _ = STEPS[name]
    out = tuple(None if i == place else np.zeros(3) for i in range(2))
    with pytest.raises(TypeError, match="can't be written into a plain array"):
        ufunc(ag.tensor(X, requires_grad=True), *rest, out=out)


def test_what_numpy_refuses_is_refused():
    t = ag.tensor(X, requires_grad=True)
    with pytest.raises(TypeError, match="same_kind"):
        np.floor(t, out=np.zeros(3, int))
    with pytest.raises(ValueError, match=r"broadcast|fit"):
        np.floor(t, out=np.zeros(2))
    with pytest.raises(ValueError, match="does not fit"):
        np.floor(t[None], out=np.zeros(3))


@pytest.mark.parametrize("adopt", [True, False])
def test_copyto_of_constants_into_plain_arrays(adopt):
    def f(x, plain):
        np.copyto(plain, np.ones(3) * 2.0)
        np.copyto(plain, 5.0, where=np.array([True, False, False]))
        return np.sum(x * plain)

    assert np.array_equal(ag.grad(f, adopt=adopt)(X, np.zeros(3)), [5.0, 2.0, 2.0])
    with pytest.raises(TypeError, match="can't be written into a plain array"):
        np.copyto(np.zeros(3), ag.tensor(X, requires_grad=True))
    plain = np.zeros(3)
    np.copyto(plain, ag.tensor(X))
    assert np.array_equal(plain, X)
