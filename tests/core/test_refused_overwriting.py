"""set_saved_mutation("error"): an operation in place has its own gradient; what others saved is refused (SV1, VC)."""

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag

X = np.array([[1.2, 2.5], [3.1, 4.4]])
B = np.array([[0.5, 1.5], [2.5, 0.7]])
WEIGHTS = np.array([[1.0, 2.0], [3.0, 4.0]])


def multiplied(y, b):
    y *= b


def squared(y, b):
    y **= 2


def raised(y, b):
    y **= b


def divided(y, b):
    y /= b


def remainder(y, b):
    y %= b


def matrix_product(y, b):
    y @= b


def by_itself(y, b):
    y *= y


def by_its_transpose(y, b):
    y *= y.T


def by_its_row(y, b):
    y *= y[0]


def a_row(y, b):
    y[0] *= y[1]


def masked(y, b):
    y[y > 2] *= 2.5


WRITES = {
    function.__name__: function
    for function in (
        multiplied, squared, raised, divided, remainder, matrix_product, by_itself, by_its_transpose, by_its_row, a_row,
        masked,
    )
}  # fmt: skip
WRITES |= {
    "np.sin": lambda y, b: np.sin(y, out=y),
    "np.exp": lambda y, b: np.exp(y, out=y),
    "np.log": lambda y, b: np.log(y, out=y),
    "np.sqrt": lambda y, b: np.sqrt(y, out=y),
    "np.reciprocal": lambda y, b: np.reciprocal(y, out=y),
    "np.add": lambda y, b: np.add(y, b, out=y),
    "np.multiply": lambda y, b: np.multiply(y, b, out=y),
    "np.multiply_reversed": lambda y, b: np.multiply(b, y, out=y),
    "np.multiply_itself": lambda y, b: np.multiply(y, y, out=y),
    "np.multiply_where": lambda y, b: np.multiply(y, b, out=y, where=WEIGHTS > 2),
    "np.divide": lambda y, b: np.divide(b, y, out=y),
    "np.power": lambda y, b: np.power(y, b, out=y),
    "np.hypot": lambda y, b: np.hypot(y, b, out=y),
    "np.maximum": lambda y, b: np.maximum(y, b * 2, out=y),
    "np.matmul": lambda y, b: np.matmul(y, b, out=y),
    "np.dot": lambda y, b: np.dot(y, b, out=y),
    "np.einsum": lambda y, b: np.einsum("ij,jk->ik", y, b, out=y),
    "np.cumprod": lambda y, b: np.cumprod(y, axis=0, out=y),
    "np.clip": lambda y, b: np.clip(y, 1.5, 3.0, out=y),
    "np.clip_keyword": lambda y, b: np.clip(a=y, a_min=1.5, a_max=3.0, out=y),
    "np.prod_of_all_into_a_row": lambda y, b: np.prod(y, axis=0, out=y[0]),
    "np.var_into_a_row": lambda y, b: np.var(y, axis=0, out=y[0]),
    "np.multi_dot": lambda y, b: np.linalg.multi_dot([y, b], out=y),
    "np.multiply.at": lambda y, b: np.multiply.at(y, (np.array([0, 1]), np.array([1, 1])), b[0]),
    "np.multiply.accumulate": lambda y, b: np.multiply.accumulate(y, axis=0, out=y),
    "sort": lambda y, b: y.sort(axis=0),
}


def differences(write):
    """The gradient with respect to x and b, by central differences of the write on plain arrays."""

    def f(x, b):
        y = x.copy()
        write(y, b)
        return np.sum(y * WEIGHTS)

    found = []
    for which in (0, 1):
        gradient = np.empty_like(X)
        for i in np.ndindex(*X.shape):
            points = [X.copy(), B.copy()], [X.copy(), B.copy()]
            points[0][which][i] += 1e-6
            points[1][which][i] -= 1e-6
            gradient[i] = (f(*points[0]) - f(*points[1])) / 2e-6
        found.append(gradient)
    return found


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_an_operation_in_place_has_its_own_gradient(write, refuse_overwriting):
    x, b = leaf(X), leaf(B)
    y = x * 1.0
    write(y, b)
    (y * WEIGHTS).sum().backward()
    for t, expected in zip((x, b), differences(write), strict=True):
        found = np.zeros_like(X) if t.grad is None else t.grad.numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_what_an_operation_before_it_saved_is_refused(write, refuse_overwriting):
    x, b = leaf(X), leaf(B)
    y = x * 1.0
    z = y * y
    write(y, b)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_so_is_what_the_program_computed_of_it_before_it_assigns(refuse_overwriting):
    y, b = leaf(X) * 1.0, leaf(B)
    y[...] = y * b
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_second_derivatives_of_an_operation_in_place(refuse_overwriting):
    x = leaf([1.5, 2.0])
    y = x * 1.0
    y **= 3
    (g,) = ag.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = ag.autograd.grad(g.sum(), x)
    same(h, [9.0, 12.0])


def test_torch_has_the_same_gradients_of_operators_in_place(refuse_overwriting):
    torch = pytest.importorskip("torch")
    for write in (multiplied, squared, raised, divided):
        x, b = leaf(X), leaf(B)
        y = x * 1.0
        write(y, b)
        y.sum().backward()
        tx, tb = torch.tensor(X, requires_grad=True), torch.tensor(B, requires_grad=True)
        ty = tx * 1.0
        write(ty, tb)
        ty.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), rtol=1e-12)
        if tb.grad is not None:
            np.testing.assert_allclose(b.grad.numpy(), tb.grad.numpy(), rtol=1e-12)


def test_setting_a_view_where_it_is_already_records_nothing():
    x = leaf(X)
    b = x * 1.0
    v = b[0]
    v *= 3.0
    before = b.grad_fn
    b[0] = v
    assert b.grad_fn is before
    b.sum().backward()
    same(x.grad, [[3.0, 3.0], [1.0, 1.0]])


def test_setting_a_detached_view_cuts_the_region_off():
    x = leaf(X)
    b = x * 1.0
    b[0] = b.detach()[0]
    b.sum().backward()
    same(x.grad, [[0.0, 0.0], [1.0, 1.0]])


def test_setting_a_view_made_under_no_grad_cuts_the_region_off():
    x = leaf(X)
    b = x * 1.0
    with ag.no_grad():
        v = b[0]
    b[0] = v
    b.sum().backward()
    same(x.grad, [[0.0, 0.0], [1.0, 1.0]])
