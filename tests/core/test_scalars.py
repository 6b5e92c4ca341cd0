"""In-place operators on 0-d Tensors: a new Tensor where NumPy has a scalar, the same one where it has an array.

Imports the public names of arraygrad. The reference is NumPy itself: each program runs on plain arrays too.
"""

import numpy as np
import pytest

import arraygrad as ag

X = np.array([1.5, -0.5, 2.0])


def kept(value):
    """The value before and after `+=`, as a program that keeps the old one sees them."""
    before = value
    value += 1.0
    return before * value


SCALARS = {
    "sum": lambda x: np.sum(x),
    "method": lambda x: x.max(),
    "mean": lambda x: x.mean(),
    "element": lambda x: x[1],
    "element of a matrix": lambda x: np.outer(x, x)[1, 2],
    "product": lambda x: x @ x,
    "norm": lambda x: np.linalg.norm(x),
    "determinant": lambda x: np.linalg.det(np.outer(x, x) + np.eye(3)),
    "sine of a sum": lambda x: np.sin(x.sum()),
    "sum of scalars": lambda x: x[0] + x[1],
    "negative": lambda x: -x[0],
    "einsum": lambda x: np.einsum("i,i->", x, x),
    "iteration": lambda x: list(x)[2],
    "cast": lambda x: x.sum().astype(np.float64),
    "copy": lambda x: x.sum().copy(),
    "real part": lambda x: np.real(x[0]),
    "clip": lambda x: np.clip(x[0], -1.0, 1.0),
    "dot": lambda x: np.dot(x, x),
    "trace": lambda x: np.trace(np.outer(x, x)),
    "cumulative sum's end": lambda x: np.cumsum(x)[-1],
    "transpose": lambda x: x.sum().T,
    "transposed by the function": lambda x: np.transpose(x.sum()),
    "reshaped to no axes": lambda x: x.sum().reshape(()),
    "interpolation": lambda x: np.interp(0.3, np.array([0.0, 1.0, 2.0]), x),
}
ARRAYS = {
    "where": lambda x: np.where(x[0] > 0.0, x[0], x[1]),
    "ellipsis": lambda x: (x * 1.0)[0, ...],
    "reshape": lambda x: x[:1].copy().reshape(()),
    "vector": lambda x: x * 2.0,
    "cast of an array": lambda x: (x * 1.0)[0, ...].astype(np.float64),
    "roll": lambda x: np.roll(x.sum(), 1),
    "pad": lambda x: np.pad(x.sum(), 1),
    "all of a scalar": lambda x: x.sum()[...],
}


@pytest.mark.parametrize("value", [*SCALARS.values(), *ARRAYS.values()], ids=[*SCALARS, *ARRAYS])
def test_value_kept_from_before_an_in_place_operator_is_numpys(value):
    expected = np.sum(kept(value(X.copy())))
    found, gradient = ag.value_and_grad(lambda x: np.sum(kept(value(x))))(X.copy())
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    h = 1e-6
    for i in range(3):
        up, down = (np.sum(kept(value(X + h * s * np.eye(3)[i]))) for s in (1, -1))
        np.testing.assert_allclose(gradient[i], (up - down) / (2 * h), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("x", [2.0, np.float64(2.0), np.array(2.0)], ids=["float", "NumPy scalar", "0-d array"])
def test_argument_is_written_in_place_only_where_numpy_writes_it(x):
    expected = kept(x.copy() if isinstance(x, np.ndarray) else x)
    value, gradient = ag.value_and_grad(kept)(x.copy() if isinstance(x, np.ndarray) else x)
    assert value == expected
    assert gradient == (6.0 if isinstance(x, np.ndarray) else 5.0)  # d (x + 1)^2, d x (x + 1)


def test_argument_of_a_nested_transform_is_a_scalar_too():
    second = ag.grad(ag.grad(lambda x: kept(x * x)))(2.0)
    assert second == 12.0 * 4.0 + 2.0  # x^2 (x^2 + 1) = x^4 + x^2


@pytest.mark.parametrize(
    "shown",
    [
        lambda s: s.reshape(1),
        lambda s: s[...],
        lambda s: s[None],
        lambda s: np.atleast_1d(s),
        lambda s: np.atleast_2d(s),
        lambda s: np.ravel(s),
        lambda s: np.expand_dims(s, 0),
        lambda s: s.T.reshape(1, 1),
    ],
)
def test_what_is_made_of_a_scalar_has_memory_of_its_own(shown):
    def f(x):
        s = x.sum()
        array = shown(s)
        array *= 3.0
        array[...] += 1.0
        return s * array.sum()

    expected = f(X.copy())
    value, gradient = ag.value_and_grad(f)(X.copy())
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    np.testing.assert_allclose(gradient, np.full(3, 6.0 * X.sum() + 1.0), rtol=1e-14)


def test_zero_dimensional_array_made_by_the_program_is_written():
    total = ag.asarray(np.array(1.0))
    same = total
    total += ag.tensor(2.0, requires_grad=True)
    assert same is total
    assert same.item() == 3.0


def test_leaf_of_a_scalar_type_is_refused_as_every_leaf():
    x = ag.tensor(2.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x += 1.0


@pytest.mark.parametrize("f", [lambda v: np.dot(v, v), np.linalg.norm, np.sum, lambda v: v.mean(), lambda v: np.max(v)])
def test_scalar_that_is_not_recorded_is_a_scalar_too(f):
    before = now = f(ag.asarray(X))
    now += 1.0
    assert before.item() == f(X)


def test_detached_scalar_is_a_scalar():
    a = ag.tensor([1.0, 2.0], requires_grad=True).sum().detach()
    b = a
    b += 1.0
    assert (a.item(), b.item()) == (3.0, 4.0)


def test_scalar_follows_numpys_promotion():
    a = ag.tensor(np.ones(2, np.float32), requires_grad=True).sum()
    a += np.float64(1.0)
    plain = np.ones(2, np.float32).sum()
    plain += np.float64(1.0)
    assert a.dtype == plain.dtype


def test_sum_kept_over_a_loop_has_each_value():
    def f(x):
        total, seen = x[0], []
        for value in x[1:]:
            seen.append(total)
            total += value
        return seen[0] * 100.0 + seen[1] * 10.0 + total

    assert ag.grad(f)(X).tolist() == [111.0, 11.0, 1.0]


def test_arrays_of_torch_without_axes_are_written_in_place():
    torch = pytest.importorskip("torch")
    a = ag.asarray(torch.tensor([1.0, 2.0], dtype=torch.float64)).sum()
    b = a
    b += 1.0
    assert a is b


def test_in_place_operator_of_jax_leaves_the_old_array():
    jax = pytest.importorskip("jax")
    a = ag.asarray(jax.numpy.asarray([1.0, 2.0])) * 1.0
    b = a
    b += 1.0
    assert a.tolist() == [1.0, 2.0]
    assert b.tolist() == [2.0, 3.0]


def halved_through_its_real_part(x):
    """A complex array without axes, of which a view is written: half of the real part, all of the imaginary one."""
    a = ag.tensordot(x, x, axes=1)
    part = ag.real(a)
    part[...] = part * 0.5
    return a


Z = np.array([-1.8 - 0.2j, 0.2 + 0.4j])
HALVED = np.conj(0.5 * 2 * Z)  # gradient of the real part of a, which is half of that of sum(z * z)


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_write_through_a_view_of_an_array_without_axes_has_its_gradient(create_graph):
    x = ag.tensor(Z, requires_grad=True)
    (g,) = ag.autograd.grad(ag.real(halved_through_its_real_part(x)), x, create_graph=create_graph)
    np.testing.assert_allclose(g.detach().numpy(), HALVED, rtol=1e-14)


def test_second_derivatives_pass_through_a_write_into_a_view_of_an_array_without_axes():
    # Real part of a: (Re z)^2 - (Im z)^2 over two, so its gradient's derivative along v is conj(v).
    x = ag.tensor(Z, requires_grad=True)
    (g,) = ag.autograd.grad(ag.real(halved_through_its_real_part(x)), x, create_graph=True)
    v = np.array([1.0 + 2.0j, -0.5 + 0.25j])
    (h,) = ag.autograd.grad(g, x, ag.asarray(v))
    np.testing.assert_allclose(h.numpy(), np.conj(v), rtol=1e-14)


def test_a_checkpoint_calls_its_function_again_on_an_array_without_axes_as_it_was():
    def f(x):
        a = ag.astype(x, ag.float64)
        view = a[...]
        view += a
        return a * view

    found = []
    for function in (f, ag.checkpoint(f)):
        x = ag.tensor(np.array(1.5), requires_grad=True)
        function(x).backward()
        found.append(x.grad.item())
    assert found == [12.0, 12.0]  # (2 x) ** 2


STANDARD = {
    "a sum": lambda xp, t: xp.sum(t),
    "a quotient": lambda xp, t: xp.sum(t) / 2.0,
    "a number minus it": lambda xp, t: 1.0 - xp.max(t),
    "of two": lambda xp, t: xp.sum(t) * xp.min(t),
    "negated": lambda xp, t: -xp.mean(t),
    "a function of it": lambda xp, t: xp.exp(xp.sum(t)),
    "of linalg": lambda xp, t: xp.linalg.vector_norm(t),
    "one of several": lambda xp, t: xp.linalg.slogdet(xp.eye(3) * t)[1],
    "a reshaped one": lambda xp, t: xp.reshape(xp.sum(t), ()),
}
WRITES = {
    "all": lambda z, v: z.__setitem__(..., v),
    "empty key": lambda z, v: z.__setitem__((), v),
    "mask": lambda z, v: z.__setitem__(z == z, v),
}


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", STANDARD)
def test_results_of_the_standards_functions_are_arrays_to_write(name, write, requires_grad):
    for xp in (ag.numpy, ag.tensor(X).__array_namespace__()):
        t = ag.tensor(X, requires_grad=requires_grad)
        z = STANDARD[name](xp, t)
        before = z * 1.0
        WRITES[write](z, t[2] * 3.0)
        assert float(z.detach()) == 6.0
        assert float(before.detach()) == float(STANDARD[name](xp, ag.tensor(X)))  # what was computed of it stays
        if requires_grad:
            z.backward()
            np.testing.assert_array_equal(t.grad.numpy(), [0.0, 0.0, 3.0])


def test_what_array_api_strict_writes_is_written():
    xp = pytest.importorskip("array_api_strict")
    for name in ("a sum", "a quotient", "a number minus it", "of two", "negated", "a function of it"):
        z = STANDARD[name](xp, xp.asarray(X))
        z[...] = 6.0
        assert float(z) == 6.0


def test_functions_of_numpy_give_scalars_beside_the_standards():
    t = ag.tensor(X, requires_grad=True)
    for z in (np.sum(t), t.sum(), t[0], np.exp(np.sum(t)), np.sum(t) / 2.0, ag.sum(t)):
        with pytest.raises(TypeError, match="does not support item assignment"):
            z[...] = 1.0
    total = last = ag.numpy.sum(t)
    total += 1.0  # an operator gives a new one, as of NumPy's scalars
    assert float(last.detach()) == 3.0
    assert type(ag.value_and_grad(lambda x: ag.numpy.sum(x) / 2.0)(X)[0]) is np.float64
