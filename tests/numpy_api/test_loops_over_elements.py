"""numpy.broadcast and numpy.ndenumerate in functions that are differentiated: shapes and recorded elements."""

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 1.0, 2.0])
OTHERS = {
    "number": 2.0, "column": np.array([[1.0], [3.0]]), "list": [[1.0], [3.0]], "empty": np.zeros((0, 3)),
    "same": X, "without axes": np.array(4.0), "integers": np.arange(3),
}  # fmt: skip


def shape(b):
    return (b.shape, b.ndim, b.nd, b.size, b.numiter, b.index)


def products(b):
    total = 0.0
    for i, (u, v) in enumerate(b):
        total = total + (i + 1) * u * u * v
    return total


def held(f, x):
    value, gradient = ag.value_and_grad(f)(x)
    assert np.asarray(value) == pytest.approx(np.asarray(f(x)), rel=1e-14)
    flat = x.reshape(-1)
    for i in range(flat.size):
        step = np.zeros(flat.size)
        step[i] = 1e-6
        step = step.reshape(x.shape)
        assert gradient.reshape(-1)[i] == pytest.approx((f(x + step) - f(x - step)) / 2e-6, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", OTHERS)
def test_broadcast_has_the_shape_and_the_elements_of_its_arrays(name):
    other = OTHERS[name]
    shapes = []

    def f(x):
        b = np.broadcast(x, other)
        shapes.append(shape(b))
        assert isinstance(b, np.broadcast)
        total = products(b)
        assert b.index == b.size
        b.reset()
        assert b.index == 0
        first, _ = b.iters
        return total + products(b) + sum(v for v in first) + b.size * np.sum(x)

    held(f, X)
    assert len(set(shapes)) == 1


@pytest.mark.parametrize("x", [X, np.arange(6.0).reshape(2, 3), np.array(1.5), np.zeros((0, 2))], ids=np.shape)
def test_ndenumerate_gives_places_and_elements(x):
    def f(x):
        pairs = np.ndenumerate(x)
        assert isinstance(pairs, np.ndenumerate)
        total = 1.0 * np.sum(x)
        for place, v in pairs:
            total = total + (1 + sum(place)) * v * v
        return total

    held(f, x)


def test_lists_of_recorded_numbers():
    held(lambda x: sum((1 + i + j) * v * v for (i, j), v in np.ndenumerate([[x[0], 1.0], [2.0, x[1]]])), X)
    held(lambda x: products(np.broadcast([x[0], x[1]], 3.0)), X)


def test_shapes_that_do_not_fit_are_numpys_error():
    for f in (lambda x: np.broadcast(x, np.ones(2)), ag.grad(lambda x: np.broadcast(x, np.ones(2)))):
        with pytest.raises(ValueError, match="shape mismatch"):
            f(X)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_elements_are_written_from_a_list(kind):
    def f(x):
        out = np.zeros((3, 1))
        out.flat = kind([v * v for v in x])
        out.flat[1:] = kind([x[0] * 2.0, x[1] * 3.0])
        return np.sum(out[:, 0] * np.arange(1.0, 4.0))

    held(f, X)


def test_a_tensor_alone_names_what_to_write():
    with pytest.raises(TypeError, match=r"numpy\.broadcast_shapes"):
        np.broadcast(ag.tensor(X, requires_grad=True), 2.0)


@pytest.mark.parametrize("write", ["element", "slice", "in place"])
def test_broadcast_shows_what_is_written_afterwards(write):
    def f(x):
        a = np.zeros(3)
        a[:] = [1.0, 2.0, 4.0]
        b = np.broadcast(a, np.ones((2, 1)))
        if write == "element":
            a[1] = x[0] * x[1]
        elif write == "slice":
            a[1:] = x[1:] ** 2
        else:
            a *= x
        return sum((i + 1) * u * u * v for i, (u, v) in enumerate(b))

    held(f, X)


def walked(a):
    it = a.flat
    found = [next(it), next(it), it.index, it.coords, it[4], it.index, it.coords, next(it), it.index]
    it[3] = 9.0
    found += [it.index, *list(it), it.index, *it, len(it), iter(it) is it]
    it = a.flat
    next(it)
    for v in it:
        found += [v, it.index, it.coords]
    return found


@pytest.mark.parametrize("shape", [(2, 3), (6,), (1, 2, 3), (3, 2, 1)])
def test_flat_is_an_iterator(shape):
    a = np.arange(6.0).reshape(shape)
    assert walked(ag.tensor(a)) == walked(a.copy())


def test_flat_of_no_axes_and_no_elements():
    for a in (np.array(5.0), np.zeros((0, 3))):
        found = []
        for x in (a, ag.tensor(a)):
            it = x.flat
            found.append((it.index, len(it), [float(v) for v in it], it.index, next(it, None)))
        assert found[0] == found[1]


def test_elements_that_flat_gives_are_recorded():
    def f(x):
        it = x.reshape(2, 3).flat
        next(it)
        total = next(it) ** 2 + it[4] + it.index * x[0]
        next(it)
        return total + next(it)

    np.testing.assert_allclose(ag.grad(f)(np.arange(1.0, 7.0)), [0, 5, 0, 0, 1, 0])


def test_astype_object_keeps_numbers_that_are_recorded():
    def f(x):
        o = x.astype(object)
        return (o * o).sum() + x.astype("O")[0]

    np.testing.assert_allclose(ag.grad(f)(X), 2 * X + [1, 0, 0])
    ag.adopt.clear()
