"""`t.shape = shape`: the Tensor, its views, its aliases and what is written afterwards are as those of an array."""

import gc
import itertools

import numpy as np
import pytest

import arraygrad as ag

# NumPy deprecates it for its own arrays, from 2.5 on.
pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")

X = np.arange(1.0, 13.0)


def reshaped(a, shape):
    a.shape = shape
    return a


MAKES = {
    "result": lambda x: x * 2.0,
    "copy": lambda x: x.copy(),
    "view": lambda x: (x * 2.0)[:],
    "reshaped": lambda x: (x * 2.0).reshape((3, 4)),
    "part": lambda x: (np.concatenate([x, x]) * 2.0)[:12],
    "written": lambda x: _written(x * 2.0),
}
VIEWS = {
    "none": lambda y: (),
    "slice": lambda y: (y[1:3],),
    "element": lambda y: (y[1:2],),
    "transposed": lambda y: (y.T,),
    "view of a view": lambda y: (y[1:], y[1:][1:]),
    "reversed": lambda y: (y[::-1],),
}
STEPS = {
    "nothing": lambda y, views, x: None,
    "write": lambda y, views, x: y.__setitem__(0, x[3] * y[1]),
    "scale": lambda y, views, x: y.__imul__(x[0]),
    "view written": lambda y, views, x: [v.__setitem__(Ellipsis, x[2]) for v in views],
    "both": lambda y, views, x: [y.__setitem__((..., 0), x[5]), [v.__imul__(3.0) for v in views], y.__iadd__(x[1])],
    "again": lambda y, views, x: [reshaped(y, (2, 6)), y.__setitem__(1, x[0] ** 2), reshaped(y, (-1, 3))],
    "flat": lambda y, views, x: [reshaped(y, 12), y.__setitem__(4, x[0])],
}


def _written(y):
    y[2:4] = y[0] * y[1]
    return y


def program(make, views, step):
    def run(x):
        y = MAKES[make](x)
        seen = VIEWS[views](y)
        before = (y * y).sum()
        y.shape = (4, 3)
        STEPS[step](y, seen, x)
        total = before + (y * np.arange(1.0, 13.0).reshape(y.shape)).sum() + (y[0] ** 2).sum()
        for i, one in enumerate(seen):
            total = total + (one**2).sum() * (i + 1.5)
        return total

    return run


@pytest.mark.parametrize(("make", "views", "step"), list(itertools.product(MAKES, VIEWS, STEPS)))
def test_value_and_gradients(make, views, step):
    run = program(make, views, step)
    value, found = ag.value_and_grad(run)(X)
    np.testing.assert_allclose(value, run(X.copy()), rtol=1e-14)
    h = 1e-3  # of polynomials: exact but for rounding
    steps = []
    for d in np.eye(X.size):
        near = [run(X + k * h * d) for k in (-2, -1, 1, 2)]
        steps.append((near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * h))
    np.testing.assert_allclose(found, steps, rtol=1e-6, atol=1e-5)


def test_second_derivatives():
    run = program("written", "slice", "both")
    d = np.linspace(-1.0, 1.0, X.size)
    h, first = 1e-4, ag.grad(run)
    np.testing.assert_allclose(ag.hvp(run)(X, d), (first(X + h * d) - first(X - h * d)) / (2 * h), rtol=1e-6, atol=1e-5)


def test_the_same_object_under_every_name():
    t = ag.tensor(X, requires_grad=True) * 1.0
    other = t
    t.shape = 3, -1
    assert other is t
    assert other.shape == (3, 4)
    assert t.array.shape == (3, 4)
    other[1] = 0.0
    assert not t.detach().numpy()[1].any()


def test_constants_and_attributes_and_garbage():
    t = ag.asarray(X.copy())
    t.label = "mine"
    view = t[2:5]
    t.shape = (2, 6)
    assert t.label == "mine"
    t[0] = 7.0
    np.testing.assert_array_equal(view.numpy(), [7.0, 7.0, 7.0])
    del t
    gc.collect()
    view[0] = 1.0
    assert not view.requires_grad


def test_what_nodes_have_saved_is_protected():
    x = ag.tensor(X, requires_grad=True)
    y = x * 1.0
    kept = (y * y).sum()
    y.shape = (3, 4)
    y[...] = 0.0
    kept.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2.0 * X)


def test_without_recording():
    with ag.no_grad():
        y = ag.tensor(X, requires_grad=True) * 2.0
        y.shape = (6, 2)
        y[0] = 0.0
    assert y.shape == (6, 2)
    assert not y.requires_grad
    assert not y.numpy()[0].any()


def test_refusals():
    leaf = ag.tensor(X, requires_grad=True)
    with pytest.raises(AttributeError, match=r"write t = t\.reshape\(shape\)"):
        leaf.shape = (3, 4)
    assert leaf.shape == (12,)
    kept = leaf * 1.0
    kept.retain_grad()
    with pytest.raises(AttributeError, match=r"write t = t\.reshape\(shape\)"):
        kept.shape = (3, 4)
    with pytest.raises(AttributeError, match=r"write t = t\.reshape\(shape\)"):
        leaf.sum().shape = (1,)
    turned = (leaf * 1.0).reshape((3, 4)).T
    with pytest.raises(AttributeError, match="Incompatible shape for in-place modification"):
        turned.shape = (12,)
    assert turned.shape == (4, 3)
    turned[0, 0] = 5.0
    with pytest.raises(ValueError, match="reshape"):
        turned.shape = (5, 5)
    turned.sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), [0.0] + [1.0] * 11)
    with pytest.raises(TypeError):
        turned.shape = "text"
    with pytest.raises((AttributeError, TypeError)):
        del turned.shape


def test_adopted_programs():
    def run(x):
        out = np.zeros(12)
        part = out[:4]
        out[:] = x
        out.shape = (3, 4)
        out[1] *= out[0]
        part[0] = x[11]
        return (out**2).sum() + out.T[0].sum()

    value, found = ag.value_and_grad(run, adopt=True)(X)
    np.testing.assert_allclose(value, run(X))
    h = 1e-5
    steps = [(run(X + h * d) - run(X - h * d)) / (2 * h) for d in np.eye(12)]
    np.testing.assert_allclose(found, steps, rtol=1e-6, atol=1e-5)


# Arrays without elements: how they are made, and the shapes that NumPy lets them have.
EMPTIES = {
    "zeros": lambda x: np.zeros((0, 3)),
    "result": lambda x: np.ones((0, 3)) * x[0],
    "part": lambda x: (x * 2.0)[:0],
    "part of a view": lambda x: x.reshape((4, 3))[2:2],
    "mask": lambda x: x[x < -1.0],
    "list": lambda x: np.array([v for v in x if v < -1.0]),
    "columns": lambda x: (x * 2.0).reshape((4, 3))[:, 3:],
    "with an attribute": lambda x: _marked((x * 2.0)[:0]),
}
EMPTY_SHAPES = [(-1, 3), (0,), (0, 3), (4, 0), (2, 0, 3), 0, (2, 3)]


def _marked(a):
    if isinstance(a, ag.Tensor):
        a.unit = "m"
    return a


@pytest.mark.parametrize("shape", EMPTY_SHAPES, ids=str)
@pytest.mark.parametrize("make", EMPTIES)
def test_arrays_without_elements(make, shape):
    def f(x):
        a = EMPTIES[make](x)
        a.shape = shape
        full = np.concatenate([a.reshape(-1), x])
        return np.sum(full * full) * (1 + a.ndim) + x[0] * a.shape[0] + np.sum(a)

    if shape == (2, 3):
        for call in (f, ag.grad(f)):
            with pytest.raises((AttributeError, ValueError)):
                call(X)
        return
    value, gradient = ag.value_and_grad(f)(X)
    assert value == f(X)
    ndim, rows = (1, 0) if shape == 0 else (len(shape), max(shape[0], 0))
    expected = 2.0 * X * (1 + ndim)
    expected[0] += rows
    np.testing.assert_allclose(gradient, expected)
