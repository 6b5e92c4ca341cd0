"""numpy.vectorize with a signature, with excluded arguments and with arguments by name, against NumPy's own."""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import numpy as anp

RNG = np.random.default_rng(3)
A = RNG.uniform(0.5, 1.5, (2, 3, 3))
B = RNG.uniform(0.5, 1.5, (4, 1, 3))


def both(m, v):
    return m @ v, (v * v).sum()


CALLS = {
    "matrix": (lambda xp, a, b: xp.vectorize(xp.linalg.inv, signature="(m,m)->(m,m)")(a), A, B),
    "one matrix": (lambda xp, a, b: xp.vectorize(xp.linalg.inv, signature="(m,m)->(m,m)")(a), A[0], B),
    "broadcast": (lambda xp, a, b: xp.vectorize(lambda m, v: m @ v, signature="(m,n),(n)->(m)")(a, b), A, B),
    "second plain": (lambda xp, a, b: xp.vectorize(lambda m, v: m @ v, signature=" (m, n),(n) -> (m)")(a, B), A, B),
    "two results": (lambda xp, a, b: xp.vectorize(both, signature="(m,n),(n)->(m),()")(a, b)[0], A, B),
    "two results, a number": (lambda xp, a, b: xp.vectorize(both, signature="(m,n),(n)->(m),()")(a, b)[1], A, B),
    "a number": (lambda xp, a, b: xp.vectorize(xp.linalg.det, signature="(m,m)->()")(a), A, B),
    "new axis": (lambda xp, a, b: xp.vectorize(lambda v: xp.stack([v, v * v]), signature="(n)->(k,n)")(b), A, B),
    "factors": (lambda xp, a, b: xp.vectorize(xp.linalg.qr, signature="(m,n)->(m,k),(k,n)")(a)[1], A, B),
    "otypes": (lambda xp, a, b: xp.vectorize(lambda v: v * v, otypes=["f8"], signature="(n)->(n)")(a), A, B),
    "excluded": (lambda xp, a, b: xp.vectorize(lambda x, p: x**2 + p[0, 0, 0], excluded=[1])(a, b), A, B),
    "excluded name": (lambda xp, a, b: xp.vectorize(lambda x, p: x**2 + p[0, 0, 0], excluded={"p"})(a, p=b), A, B),
    "excluded before": (lambda xp, a, b: xp.vectorize(lambda p, x: x**2 + p.sum(), excluded=[0])(b, a), A, B),
    "by name": (lambda xp, a, b: xp.vectorize(lambda x, y: x * y * y)(a, y=b), A[:, 0], B[:, 0, 1][:2, None]),
    "all by name": (lambda xp, a, b: xp.vectorize(lambda x, y: x * y * y)(y=b, x=a), A[:, 0], B[:, 0, 1][:2, None]),
    "all of it": (
        lambda xp, a, b: xp.vectorize(lambda m, v, k: k * (m @ v), excluded={"k"}, signature="(m,n),(n)->(m)")(
            a, v=b, k=2.0
        ),
        A, B,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_are_numpys_and_the_gradient_is_that_of_differences(name):
    call, a, b = CALLS[name]
    plain = np.asarray(call(np, a, b))
    found = call(anp, *[ag.tensor(x, requires_grad=True) for x in (a, b)])
    np.testing.assert_array_equal(found.detach(), plain)
    weights = RNG.normal(size=plain.shape)
    ag.gradcheck(lambda a, b: (call(anp, a, b) * weights).sum() + 0.0 * b.sum(), (a, b))
    adopted = ag.value_and_grad(lambda a, b: (call(np, a, b) * weights).sum(), (0, 1), adopt=True)(a, b)
    recorded = ag.value_and_grad(lambda a, b: (call(anp, a, b) * weights).sum(), (0, 1))(a, b)
    np.testing.assert_array_equal(adopted[0], recorded[0])
    for one, other in zip(adopted[1], recorded[1], strict=True):
        np.testing.assert_array_equal(one, other)


WRONG = {
    "number of arguments": (lambda xp, a: xp.vectorize(both, signature="(m,n),(n)->(m),()")(a), TypeError),
    "number of results": (lambda xp, a: xp.vectorize(lambda m: m, signature="(m,n)->(m),()")(a), ValueError),
    "too few axes": (lambda xp, a: xp.vectorize(lambda m: m, signature="(m,n)->(m,n)")(a[0, 0]), ValueError),
    "another size": (lambda xp, a: xp.vectorize(lambda m: m, signature="(m,m)->(m,m)")(a[:, :2]), ValueError),
    "another size of a result": (lambda xp, a: xp.vectorize(lambda m: m[:1], signature="(m,n)->(m,n)")(a), ValueError),
    "no elements": (lambda xp, a: xp.vectorize(lambda m: m, signature="(m,n)->(m,n)")(a[:0]), ValueError),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_numpy_refuses_is_refused_in_its_words(name):
    call, kind = WRONG[name]
    with pytest.raises(kind) as plain:
        call(np, A)
    with pytest.raises(kind) as found:
        call(anp, ag.tensor(A, requires_grad=True))
    assert str(found.value).partition(":")[0] == str(plain.value).partition(":")[0]


def test_no_elements_with_otypes_give_none():
    square = anp.vectorize(lambda m: m * m, otypes=["f8"], signature="(m,n)->(m,n)")
    assert square(ag.tensor(A[:0], requires_grad=True)).shape == (0, 3, 3)
