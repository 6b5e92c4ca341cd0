"""`z.real = x` and `z.imag = x`: written as NumPy does, recorded. Properties that can't be set say what to write.

Imports the public names of arraygrad. Values are NumPy's, gradients are compared with differences.
"""

import numpy as np
import pytest

import arraygrad as ag

Z = np.array([[1.0 + 2.0j, 3.0 - 1.0j], [0.5 + 0.25j, -2.0 + 0.5j]])
X = np.array([[0.3, 0.7], [-0.4, 1.1]])
W = np.array([[1.0 - 0.5j, 0.25 + 2.0j], [-1.0 + 1.0j, 0.5 + 0.5j]])


def real_is_set(z, x):
    z.real = x


def imaginary_part_is_set(z, x):
    z.imag = x * x


def both_of_each_other(z, x):
    z.real = z.imag * x
    z.imag = z.real


def row_broadcast(z, x):
    z.imag = x[0]


def number(z, x):
    z.real = 2.5
    z.imag = x.sum()


def parts_of_views(z, x):
    z[1:].real = x[:1]
    z.T.imag = x
    z[:, 0].imag = 3.0 * x[1]


def updated_in_place(z, x):
    z.real += x
    z.imag *= x * x


def view_taken_before(z, x):
    row = z[0]
    z.real = x
    row.imag = row.real * x[1]


WRITES = [real_is_set, imaginary_part_is_set, both_of_each_other, row_broadcast, number, parts_of_views,
          updated_in_place, view_taken_before]  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
def test_values_are_those_of_numpy(write):
    expected = Z.copy()
    write(expected, X)
    for z, x in ((ag.tensor(Z), X), (ag.tensor(Z), ag.tensor(X)), (ag.tensor(Z), ag.tensor(X, requires_grad=True))):
        write(z, x)
        np.testing.assert_array_equal(z.detach().numpy(), expected)


@pytest.mark.parametrize("write", WRITES)
def test_gradients_of_first_and_second_order_are_those_of_differences(write):
    def f(a, x):
        z = a * (1.0 + 0.5j)
        write(z, x)
        return (z * z * W).real + abs(z)

    def g(x):
        z = ag.tensor(Z)  # a constant that is written
        write(z, x)
        return (z * W).imag * x

    inputs = (ag.tensor(Z, requires_grad=True), ag.tensor(X, requires_grad=True))
    assert ag.gradcheck(f, inputs)
    assert ag.gradgradcheck(f, inputs)
    assert ag.gradcheck(g, inputs[1:])


@pytest.mark.parametrize("write", WRITES[:6])
def test_recorded_in_adopted_calls(write):
    def f(x, xp):
        z = np.array(Z)
        write(z, x)
        return (z * z * W).real.sum()

    slope = ag.grad(f, adopt=True)(X, np)
    expected = np.empty_like(X)
    for place in np.ndindex(X.shape):
        e = np.zeros_like(X)
        e[place] = 1e-6
        expected[place] = (f(X + e, np) - f(X - e, np)) / 2e-6
    np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-8)


def test_real_tensor_is_its_own_real_part_and_has_no_imaginary_one():
    x = ag.tensor(X, requires_grad=True)
    t = ag.tensor(np.ones((2, 2)))
    t.real = x * 2.0
    t.sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    with pytest.raises(TypeError, match=r"Tensor\.imag can't be set: .*float64 has no imaginary part; convert it"):
        t.imag = 1.0


def test_scalars_and_complex_numbers_are_refused():
    z = ag.tensor(Z, requires_grad=True)
    total = z.sum()
    with pytest.raises(AttributeError, match=r"result without axes can't be written.*t = values \+ 1j \* t\.imag"):
        total.real = 1.0
    with pytest.raises(TypeError, match=r"Tensor\.imag = 1j: expected real numbers, got a complex one: take its real"):
        (z * 2.0).imag = 1j
    assert ag.tensor(1.0 + 2.0j).sum().item() == 1.0 + 2.0j
    number = ag.tensor(1.0 + 2.0j)  # an array without axes
    number.imag = 4.0
    assert number.item() == 1.0 + 4.0j


def test_leaf_is_written_under_no_grad_alone():
    z = ag.tensor(Z, requires_grad=True)
    with pytest.raises(
        RuntimeError, match=r"a view of a leaf .* in-place .*write into a copy, or under arraygrad\.no_g"
    ):
        z.real = X
    with ag.no_grad():
        z.real = X
    np.testing.assert_array_equal(z.detach().numpy(), X + 1j * Z.imag)


def test_arrays_without_views_refuse_what_would_be_written_into_a_copy():
    pytest.importorskip("dask.array")
    z = ag.to_backend(ag.tensor(Z), "dask")
    with pytest.raises(AttributeError, match=r"dask can't be written through a view\. Make a new Tensor, t = values"):
        z.real = 1.0
    with pytest.raises(AttributeError, match=r"Make a new Tensor, t = t\.real \+ 1j \* values"):
        z.imag = 1.0


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("dtype", r"t = t\.astype\(dtype\)"), ("strides", "use t.reshape"),
        ("T", r"t\.T\[\.\.\.\] = values"), ("mT", r"t\.mT\[\.\.\.\] = values"), ("device", r"t\.to_device\(device\)"),
        ("grad_fn", r"t = t\.detach\(\)"), ("is_leaf", r"t = t\.detach\(\)"),
    ],
)  # fmt: skip
def test_property_that_can_not_be_set_says_what_to_write(name, way):
    for t in (ag.tensor(X), ag.tensor(X, requires_grad=True), ag.tensor(X, requires_grad=True) * 2.0):
        with pytest.raises(AttributeError, match=rf"^Tensor\.{name} can't be set: .*{way}"):
            setattr(t, name, (4,))
        assert t.shape == (2, 2)
    with pytest.raises(AttributeError):
        del t.shape
