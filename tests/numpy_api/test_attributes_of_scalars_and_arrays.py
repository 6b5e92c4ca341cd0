"""What a Tensor has and does as its plain value does, where programs ask: attributes and writes of scalars and arrays.

The class: every public attribute and method of NumPy's arrays and scalars x (computed scalar, array without axes,
vector, matrix). A program that asks `hasattr(x, "itemset")`, or whether a write raises, takes the branch of the plain
call.
"""

import numpy as np
import pytest

import arraygrad as ag

PLAIN = {
    "scalar": lambda xp: xp.asarray(np.array([2.0, 1.0]))[0],
    "sum": lambda xp: xp.asarray(np.array([2.0, 1.0])).sum(),
    "array without axes": lambda xp: xp.asarray(np.array([2.0, 1.0]))[0, ...],
    "vector": lambda xp: xp.asarray(np.array([2.0, 1.0])),
    "matrix": lambda xp: xp.asarray(np.array([[2.0, 1.0], [0.5, 3.0]])),
}
NAMES = sorted(
    {n for n in (*dir(np.ndarray), *dir(np.float64)) if not n.startswith("_")} | {"itemset", "ptp", "newbyteorder"}
)
# Memory and text hold no gradient: refused as attributes that a Tensor lacks, with what to write instead.
WITHOUT_GRADIENT = {
    "ctypes", "data", "dump", "dumps", "from_number", "fromhex", "getfield", "hex", "setfield", "tofile",
}  # fmt: skip
# Methods of arrays that Tensors without axes have too.
ALSO_OF_SCALARS = {"argpartition", "dot", "mT", "partition"}


def has(x, name):
    try:
        getattr(x, name)
    except AttributeError:
        return False
    except ValueError:  # NumPy's mT of what has less than two axes
        return True
    return True


@pytest.mark.parametrize("kind", PLAIN)
def test_tensor_has_the_attributes_of_its_plain_value(kind):
    plain, t = PLAIN[kind](np), PLAIN[kind](ag)
    differing = {name for name in NAMES if has(plain, name) != has(t, name)}
    allowed = WITHOUT_GRADIENT | (ALSO_OF_SCALARS if kind in ("scalar", "sum") else set())
    assert differing <= allowed
    assert {name for name in ("itemset", "ptp", "newbyteorder") if hasattr(t, name)} == set()
    assert hasattr(t, "is_integer") == hasattr(plain, "is_integer")


@pytest.mark.parametrize("name", ["itemset", "ptp"])
def test_methods_that_numpy_has_no_more_say_what_to_write(name):
    with pytest.raises(AttributeError, match="NumPy 2"):
        getattr(ag.tensor([1.0, 2.0]), name)


WRITES = {
    "y[...] = 3": lambda y: y.__setitem__(..., 3.0),
    "y[()] = 3": lambda y: y.__setitem__((), 3.0),
    "y[...] += 1": lambda y: y.__setitem__(..., y[...] + 1.0),
    "y[0] = 3": lambda y: y.__setitem__(0, 3.0),
    "y.fill(3)": lambda y: y.fill(3.0),
    "y.put(0, 3)": lambda y: y.put(0, 3.0),
    "y.sort()": lambda y: y.sort(),
    "y[True] = 3": lambda y: y.__setitem__(True, 3.0),
    "y[None] = 3": lambda y: y.__setitem__(None, 3.0),
}


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("recorded", [False, True])
def test_writes_do_what_they_do_to_the_plain_value(write, kind, recorded):
    plain = PLAIN[kind](np)
    t = PLAIN[kind](ag)
    if recorded:
        x = ag.tensor(np.array([[2.0, 1.0], [0.5, 3.0]])[0 if kind != "matrix" else slice(None)], requires_grad=True)
        t = {"scalar": lambda: (x * 1.0)[0], "sum": lambda: (x * 1.0).sum(), "vector": lambda: x * 1.0,
             "matrix": lambda: x * 1.0, "array without axes": lambda: (x * 1.0)[0, ...]}[kind]()  # fmt: skip
    raised = []
    for value in (plain, t):
        try:
            WRITES[write](value)
            raised.append(None)
        except Exception as error:
            raised.append(type(error))
    assert (raised[0] is None) == (raised[1] is None)
    assert np.array_equal(t.detach().numpy(), plain)
    if raised[0] is TypeError:
        assert raised[1] is TypeError


def test_program_that_tries_to_write_takes_the_branch_of_the_plain_call():
    def f(x):
        y = x[0]
        try:
            y[...] = 3.0
        except TypeError:
            return 2.0 * y
        return y * x[1]

    x = np.array([1.0, 5.0])
    assert f(x) == 2.0
    value, gradient = ag.value_and_grad(f)(x)
    assert value == 2.0
    assert gradient.tolist() == [2.0, 0.0]


INTEGERS = {
    "+=": lambda n, k: n.__iadd__(k),
    "-=": lambda n, k: n.__isub__(k),
    "*=": lambda n, k: n.__imul__(k),
    "//=": lambda n, k: n.__ifloordiv__(k + 1),
    "|=": lambda n, k: n.__ior__(k),
    "np.add(out=)": lambda n, k: np.add(n, k, out=n),
    "np.maximum(out=)": lambda n, k: np.maximum(n, k, out=n),
    "np.add.at": lambda n, k: np.add.at(n, [0, 0, 1], k[[0, 1, 1]]),
}


@pytest.mark.parametrize("op", INTEGERS)
@pytest.mark.parametrize("adopt", [False, True])
@pytest.mark.parametrize("kind", [int, np.int32, np.uint8, float])
def test_integers_made_of_a_tensor_are_written_into_plain_arrays(op, adopt, kind):
    if kind is float and op == "|=":
        pytest.skip("floats have no bits")

    counts = np.array([7, 9]).astype(kind)  # outside of what is adopted

    def f(x):
        n = counts.copy()
        INTEGERS[op](n, np.floor(x * 10).astype(int if kind is float else kind))
        return (x * n).sum()

    x = np.array([1.12, 2.34])
    value, gradient = ag.value_and_grad(f, adopt=adopt)(x)
    assert value == f(x)
    n = counts.copy()
    INTEGERS[op](n, np.floor(x * 10).astype(int if kind is float else kind))
    np.testing.assert_array_equal(gradient, n)


def test_floats_are_not_written_into_plain_arrays():
    def f(x):
        n = np.ones(2)
        n += x
        return n.sum()

    with pytest.raises(TypeError, match="can't be written into a plain array"):
        ag.grad(f, adopt=False)(np.ones(2))


TO_INTEGERS = {
    "np.int64": np.int64, "np.intp": np.intp, "np.int32": np.int32, "np.uint8": np.uint8, "int": int,
    "np.int64(float64)": lambda t: np.int64(np.floor(t)), "astype": lambda t: np.floor(t).astype(np.int64),
    "asarray": lambda t: np.asarray(t, dtype=int), "round": lambda t: np.int64(np.round(t)), "np.bool_": np.bool_,
    "int_": np.int_,
}  # fmt: skip


@pytest.mark.parametrize("convert", TO_INTEGERS)
@pytest.mark.parametrize("adopt", [False, True])
@pytest.mark.parametrize("place", ["index", "range", "zeros", "take"])
def test_an_integer_made_of_a_tensor_is_a_plain_one(convert, adopt, place):
    xs = np.array([1.0, 2.0, 3.0, 5.0])

    def f(x):
        i = TO_INTEGERS[convert](x)
        if place == "index":
            return x * (xs[i] if convert != "np.bool_" else 3.0)
        if place == "range":
            return x * sum(range(int(i)))
        if place == "zeros":
            return x * len(np.zeros(int(i) + 1))
        return x * np.take(xs, i)

    value, gradient = ag.value_and_grad(f, adopt=adopt)(2.3)
    assert value == f(2.3)
    assert gradient == pytest.approx(f(2.3) / 2.3)


def test_element_of_an_array_of_integers_is_cut_off_as_in_a_plain_call():
    def f(x):
        o = np.zeros(3, dtype=int)
        o[0] = x
        return x * o[0]

    with pytest.warns(UserWarning, match="cuts off its fraction"):
        assert ag.grad(f)(2.3) == 2.0
    with pytest.raises(TypeError):
        ag.grad(f, adopt=False)(2.3)
