"""Every transform over every kind of container, and every transform of every other: one function, one set of numbers.

The function's derivatives are known by hand, so that every entry can be compared with a formula.
"""

import dataclasses
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.containers import flatten, unflatten

W = np.array([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7]])
B = np.array([0.2, -0.4])
Point = namedtuple("Point", "w b")


@dataclasses.dataclass
class Layer:
    w: object
    b: object
    name: str = "layer"
    frozen: object = None
    flag: bool = True


class Registered:
    """A container that only optree knows."""

    def __init__(self, w, b):
        self.w, self.b = w, b


# How (w, b) are packed, and taken out again.
PACKINGS = {
    "tuple": (lambda w, b: (w, b), lambda p: (p[0], p[1])),
    "list": (lambda w, b: [w, b], lambda p: (p[0], p[1])),
    "dict": (lambda w, b: {"w": w, "b": b}, lambda p: (p["w"], p["b"])),
    "ordered dict": (lambda w, b: OrderedDict(b=b, w=w), lambda p: (p["w"], p["b"])),
    "named tuple": (lambda w, b: Point(w, b), lambda p: (p.w, p.b)),
    "dataclass": (lambda w, b: Layer(w, b), lambda p: (p.w, p.b)),
    "nested": (
        lambda w, b: {"deep": [Point(w, {"b": (b,)})], "no": None},
        lambda p: (p["deep"][0].w, p["deep"][0].b["b"][0]),
    ),
    "optree": (lambda w, b: Registered(w, b), lambda p: (p.w, p.b)),
}
packings = pytest.mark.parametrize("packing", list(PACKINGS))


@pytest.fixture
def pack(packing):
    """(make, take) of the packing under test."""
    if packing == "optree":
        optree = pytest.importorskip("optree", reason="optree, which is optional, is not installed")
        try:
            optree.register_pytree_node(
                Registered,
                lambda p: ((p.w, p.b), None),
                lambda _, children: Registered(*children),
                namespace=optree.registry.__GLOBAL_NAMESPACE,
            )
        except ValueError:  # by the test before
            pass
    return PACKINGS[packing]


def scalar(w, b):
    """sum(w^3) + sum(w)^2 * sum(b^2): all its derivatives are simple."""
    return np.sum(w**3) + np.sum(w) ** 2 * np.sum(b**2)


def gradient(w, b):
    return 3 * w**2 + 2 * w.sum() * (b @ b) * np.ones_like(w), 2 * w.sum() ** 2 * b


def curvature(w, b, vw, vb):
    """The Hessian times (vw, vb)."""
    s, q = w.sum(), b @ b
    hw = 6 * w * vw + 2 * q * vw.sum() * np.ones_like(w) + 4 * s * (b @ vb) * np.ones_like(w)
    hb = 4 * s * vw.sum() * b + 2 * s**2 * vb
    return hw, hb


VW, VB = np.linspace(-1.0, 1.0, 6).reshape(2, 3), np.array([0.7, -0.1])


def same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@packings
def test_grad(pack):
    make, take = pack
    g = ag.grad(lambda p: scalar(*take(p)))(make(W, B))
    assert type(g) is type(make(W, B))
    same(take(g), gradient(W, B))


@packings
def test_value_and_grad_with_auxiliary_data(pack):
    make, take = pack
    f = lambda p: (scalar(*take(p)), make(take(p)[0] * 2.0, 1.0))
    (value, aux), g = ag.value_and_grad(f, has_aux=True)(make(W, B))
    assert value == pytest.approx(scalar(W, B))
    same(take(aux), (2.0 * W, 1.0))
    same(take(g), gradient(W, B))


@packings
def test_vjp(pack):
    make, take = pack
    value, pull = ag.vjp(lambda p: make(take(p)[0] ** 2, take(p)[1] * 3.0), make(W, B))
    same(take(value), (W**2, 3.0 * B))
    (pulled,) = pull(make(VW, VB))
    same(take(pulled), (2.0 * W * VW, 3.0 * VB))


@packings
def test_jvp_and_linearize(pack):
    make, take = pack
    f = lambda p: make(take(p)[0] ** 2, np.sum(take(p)[1]))
    expected = (2.0 * W * VW, VB.sum())
    same(take(ag.jvp(f, (make(W, B),), (make(VW, VB),))[1]), expected)
    _, push = ag.linearize(f, make(W, B))
    same(take(push(make(VW, VB))), expected)
    same(take(push(make(0.0 * VW, VB))), (0.0 * VW, VB.sum()))


@packings
@pytest.mark.parametrize("jac", [ag.jacrev, ag.jacfwd])
def test_jacobian_of_containers_by_containers(pack, jac):
    make, take = pack
    J = jac(lambda p: make(take(p)[1] * 2.0, np.sum(take(p)[0]) * take(p)[1]))(make(W, B))
    by_first, by_second = take(J)
    same(take(by_first), (np.zeros((2, 2, 3)), 2.0 * np.eye(2)))
    same(take(by_second), (np.multiply.outer(B, np.ones((2, 3))), W.sum() * np.eye(2)))


@packings
def test_hessian(pack):
    make, take = pack
    H = ag.hessian(lambda p: scalar(*take(p)))(make(W, B))
    blocks = [take(row) for row in take(H)]
    hw = np.tensordot(blocks[0][0], VW, 2) + blocks[0][1] @ VB
    hb = np.tensordot(blocks[1][0], VW, 2) + blocks[1][1] @ VB
    same((hw, hb), curvature(W, B, VW, VB))


@packings
def test_hvp(pack):
    make, take = pack
    same(take(ag.hvp(lambda p: scalar(*take(p)))(make(W, B), make(VW, VB))), curvature(W, B, VW, VB))


@packings
def test_elementwise_grad(pack):
    make, take = pack
    g = ag.elementwise_grad(lambda p: np.sin(take(p)[0]) * 2.0)(make(W, B))
    same(take(g), (2.0 * np.cos(W), 0.0 * B))


@packings
def test_tensors_in_containers_are_followed_to_their_graph(pack):
    make, take = pack
    w, b = ag.tensor(W, requires_grad=True), ag.tensor(B, requires_grad=True)
    g = ag.grad(lambda p: scalar(*take(p)))(make(w, b))
    (take(g)[0] * VW).sum().backward(retain_graph=True)
    same((w.grad, b.grad), curvature(W, B, VW, 0.0 * VB))


# argnums


@pytest.mark.parametrize(
    ("argnums", "single"), [(0, True), (1, True), (-1, True), ((0, 1), False), ((1, 0), False), ([1], False)]
)
@pytest.mark.parametrize("transform", [ag.grad, ag.jacrev, ag.jacfwd])
def test_argnums(transform, argnums, single):
    found = transform(scalar, argnums)(W, B)
    expected = gradient(W, B)
    if single:
        same((found,), (expected[argnums],))
    else:
        assert type(found) is tuple
        same(found, [expected[i] for i in argnums])


@pytest.mark.parametrize("argnums", [0, -2, (0, 1), [1]])
def test_argnums_of_elementwise_grad(argnums):
    rows = np.outer([1.0, 2.0], B)
    found = ag.elementwise_grad(lambda x, y: np.sin(x) * y, argnums)(rows, B)
    expected = {0: np.cos(rows) * B, 1: np.sin(rows).sum(axis=0)}
    if isinstance(argnums, int):
        same((found,), (expected[argnums % 2],))
    else:
        same(found, [expected[i] for i in argnums])


@pytest.mark.parametrize(
    "f", [np.sum, np.mean, lambda w: w[0], lambda w: w @ w.T], ids=["sum", "mean", "row", "product"]
)
def test_elementwise_grad_refuses_a_result_that_the_argument_is_not_spread_over(f):
    with pytest.raises(ValueError, match=r"of shape \(2, 3\), so it is not elementwise: use grad"):
        ag.elementwise_grad(f)(np.ones((2, 3)))


@pytest.mark.parametrize("argnums", [(0, 1), (1, 0), (-1,)])
def test_argnums_of_hessian_and_product(argnums):
    vectors = tuple([(VW, VB)[i] for i in argnums])
    full = curvature(W, B, *[v if i in argnums or i - 2 in argnums else 0.0 * v for i, v in enumerate((VW, VB))])
    expected = [full[i] for i in argnums]
    same(ag.hvp(scalar, argnums)(W, B, vectors), expected)
    H = ag.hessian(scalar, argnums)(W, B)
    for row, wanted in zip(H, expected, strict=True):
        total = sum(np.tensordot(block, v, v.ndim) for block, v in zip(row, vectors, strict=True))
        np.testing.assert_allclose(total, wanted, rtol=1e-12, atol=1e-12)


# Transforms of transforms


def packed_curvature():
    """The Hessian of `scalar` in w, as a matrix (6, 6)."""
    columns = [curvature(W, B, unit.reshape(2, 3), 0.0 * B)[0].ravel() for unit in np.eye(6)]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("outer", [ag.jacrev, ag.jacfwd], ids=["jacrev", "jacfwd"])
@pytest.mark.parametrize("inner", [ag.grad, ag.jacrev, ag.jacfwd])
def test_jacobian_of_every_first_derivative_is_the_hessian(outer, inner):
    H = outer(inner(scalar))(W, B)
    np.testing.assert_allclose(H.reshape(6, 6), packed_curvature(), rtol=1e-12, atol=1e-12)


def test_hessian_vector_product_by_every_pair_of_transforms():
    expected = curvature(W, B, VW, 0.0 * B)[0]
    by_grad = lambda w: ag.grad(scalar)(w, B)
    found = {
        "hvp": ag.hvp(scalar)(W, B, VW),
        "jvp of grad": ag.jvp(by_grad, (W,), (VW,))[1],
        "linearize of grad": ag.linearize(by_grad, W)[1](VW),
        "vjp of grad": ag.vjp(by_grad, W)[1](VW)[0],
        "grad of jvp": ag.grad(lambda w: ag.jvp(lambda w: scalar(w, B), (w,), (VW,))[1])(W),
        "grad of linearize": ag.grad(lambda w: ag.linearize(lambda w: scalar(w, B), w)[1](VW))(W),
        "grad of vjp": ag.grad(lambda w: np.sum(ag.vjp(lambda w: scalar(w, B), w)[1](1.0)[0] * VW))(W),
        "grad of grad": ag.grad(lambda w: np.sum(by_grad(w) * VW))(W),
        "jvp of jacfwd": ag.jvp(lambda w: ag.jacfwd(scalar)(w, B), (W,), (VW,))[1],
        "grad of value_and_grad": ag.grad(lambda w: np.sum(ag.value_and_grad(scalar)(w, B)[1] * VW))(W),
    }
    for name, product in found.items():
        np.testing.assert_allclose(product, expected, rtol=1e-12, atol=1e-12, err_msg=name)


def test_third_derivatives_agree():
    f = lambda x: np.sum(np.sin(x) * x)
    x = np.array([0.3, 0.8])
    # (x sin x)''' = -3 sin x - x cos x
    expected = np.zeros((2, 2, 2))
    for i in range(2):
        expected[i, i, i] = -3.0 * np.sin(x[i]) - x[i] * np.cos(x[i])
    for third in (ag.jacrev(ag.hessian(f)), ag.jacfwd(ag.hessian(f)), ag.jacrev(ag.jacfwd(ag.jacrev(f)))):
        np.testing.assert_allclose(third(x), expected, atol=1e-12)
    np.testing.assert_allclose(ag.hessian(lambda x: ag.hvp(f)(x, np.ones(2)).sum())(x).shape, (2, 2))


def test_hvp_of_a_function_that_is_a_gradient():
    inner = lambda x: ag.grad(lambda y: np.sum(y**4))(x).sum()
    np.testing.assert_allclose(ag.hvp(inner)(np.array([1.0, 2.0]), np.array([1.0, 10.0])), [24.0, 480.0])


# What is given back


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_raw_arrays_come_back_raw_and_keep_their_dtype_everywhere(dtype):
    w, b = W.astype(dtype), B.astype(dtype)
    vw = VW.astype(dtype)
    results = [
        ag.grad(scalar)(w, b),
        *ag.value_and_grad(scalar)(w, b),
        ag.elementwise_grad(np.sin)(w),
        *ag.vjp(np.sin, w)[1](vw),
        *ag.jvp(np.sin, (w,), (vw,)),
        ag.linearize(np.sin, w)[1](vw),
        ag.jacrev(np.sin)(w),
        ag.jacfwd(np.sin)(w),
        ag.hessian(scalar)(w, b),
        ag.hvp(scalar)(w, b, vw),
    ]
    assert {type(r) for r in results} == {np.ndarray, np.dtype(dtype).type}  # the value is a scalar
    assert {r.dtype for r in results} == {np.dtype(dtype)}


@pytest.mark.parametrize("chunk_size", [None, 1, 2, 100])
def test_chunk_size_changes_no_value(chunk_size):
    np.testing.assert_array_equal(ag.jacobian(np.sin, chunk_size=chunk_size)(B), np.diag(np.cos(B)))


@packings
def test_container_of_gradients_can_be_used_for_a_step(pack):
    make, take = pack
    params = make(W, B)
    g = ag.grad(lambda p: scalar(*take(p)))(params)
    leaves, structure = flatten(params)
    stepped = unflatten(
        structure,
        [p - 0.1 * d if isinstance(p, np.ndarray) else p for p, d in zip(leaves, flatten(g)[0], strict=True)],
    )
    same(take(stepped), [p - 0.1 * d for p, d in zip((W, B), gradient(W, B), strict=True)])


def test_static_parts_of_a_container_stay_in_the_gradient():
    g = ag.grad(lambda p: scalar(p.w, p.b))(Layer(W, B, name="first", frozen=None, flag=False))
    assert (g.name, g.frozen, g.flag) == ("first", None, False)
