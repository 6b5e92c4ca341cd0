"""Arrays that an adopted call made, given to code that takes plain arrays: Note [Memory that others read].

The class: a way to give an array away (the buffer protocol, an address, `__array__`, DLPack, a copy into bytes) x
what follows (the other code reads, it writes, the program writes plain numbers, a recorded value is written: into the
array, a view of it, or beside what was given away) x dtypes and layouts. A plain write shows on both sides, as in a
plain call. A recorded value in memory that others still read is refused; one written after they have let go of it is
recorded. An array that a gradient reaches is given to nobody.

Imports the public names of arraygrad.
"""

import array
import ctypes
import gc
import hashlib
import io
import pickle
import struct
import zlib

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")

# What has a view of the memory of `a`, and how it reads the element at a place.
VIEWS = {
    "memoryview": (memoryview, lambda v, i: v[i]),
    "data": (lambda a: a.data, lambda v, i: v[i]),
    "frombuffer": (np.frombuffer, lambda v, i: v[i]),
    "frombuffer of memoryview": (lambda a: np.frombuffer(memoryview(a)), lambda v, i: v[i]),
    "ctypes": (lambda a: a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), lambda v, i: v[i]),
    "from_buffer": (lambda a: (ctypes.c_double * len(a)).from_buffer(a), lambda v, i: v[i]),
    "as_ctypes": (lambda a: np.ctypeslib.as_ctypes(a), lambda v, i: v[i]),
    "an address": (
        lambda a: a.__array_interface__["data"][0], lambda v, i: ctypes.c_double.from_address(v + 8 * i).value
    ),
    "view": (lambda a: a.view(np.int64), lambda v, i: struct.unpack("d", struct.pack("q", v[i]))[0]),
    "view of bytes": (lambda a: a.view(np.uint8), lambda v, i: v[8 * i : 8 * i + 8].view(np.float64)[0]),
    "masked array": (lambda a: np.ma.array(a, mask=[0, 0, 0, 1]), lambda v, i: v.data[i]),
    "masked view": (lambda a: np.ma.array(a, mask=[1, 0, 0, 0])[1:], lambda v, i: v[i - 1]),
    "matrix": (np.asmatrix, lambda v, i: v[0, i]),
    "PickleBuffer": (pickle.PickleBuffer, lambda v, i: memoryview(v).cast("B").cast("d")[i]),
    "record array": (lambda a: a.view([("f", float)]), lambda v, i: v["f"][i]),
}  # fmt: skip

# What copies the values of `a`, and gives one of them.
COPIES = {
    "tobytes": lambda a: np.frombuffer(a.tobytes())[1],
    "bytes": lambda a: np.frombuffer(bytes(a))[1],
    "bytearray": lambda a: np.frombuffer(bytearray(a))[1],
    "array": lambda a: array.array("d", a)[1],
    "BytesIO": lambda a: np.frombuffer(_written(a))[1],
    "zlib": lambda a: np.frombuffer(zlib.decompress(zlib.compress(a)))[1],
    "hashlib": lambda a: hashlib.sha256(a).digest()[0],
    "save": lambda a: _saved(a)[1],
    "pickle": lambda a: pickle.loads(pickle.dumps(a))[1],
    "dumps": lambda a: pickle.loads(a.dumps())[1],
    "byteswap": lambda a: a.byteswap().byteswap()[1],
    "struct": lambda a: struct.unpack_from("d", a, 8)[0],
    "join": lambda a: np.frombuffer(b"".join([a, a]))[5],
    "tolist of a view": lambda a: memoryview(a).tolist()[1],
}  # fmt: skip

# What writes 7.0 into a[1] without the program.
WRITERS = {
    "pack_into": lambda a: struct.pack_into("d", a, 8, 7.0),
    "readinto": lambda a: io.BytesIO(struct.pack("d", 7.0)).readinto(memoryview(a).cast("B")[8:16]),
    "memoryview": lambda a: memoryview(a).__setitem__(1, 7.0),
    "pointer": lambda a: a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)).__setitem__(1, 7.0),
    "memmove": lambda a: ctypes.memmove(a.ctypes.data + 8, struct.pack("d", 7.0), 8),
    "view": lambda a: a.view(np.int64).__setitem__(1, struct.unpack("q", struct.pack("d", 7.0))[0]),
    "data": lambda a: a.data.__setitem__(1, 7.0),
}  # fmt: skip


def _written(a):
    file = io.BytesIO()
    file.write(a)
    return file.getvalue()


def _saved(a):
    file = io.BytesIO()
    np.save(file, a)
    file.seek(0)
    return np.load(file)


def made():
    a = np.zeros(4)
    a[:] = [1.0, 2.0, 4.0, 8.0]
    return a


def check(f, slope):
    """The gradient at 3.0 is `slope`, and the value that of the plain call."""
    value, gradient = ag.value_and_grad(f)(3.0)
    assert value == f(3.0)
    assert gradient == pytest.approx(slope, rel=1e-12)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_reads_what_the_array_holds(name):
    give, read = VIEWS[name]

    def f(x):
        a = made()
        v = give(a)
        return x * read(v, 1)

    check(f, 2.0)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shows_plain_writes_of_the_program(name):
    give, read = VIEWS[name]

    def f(x):
        a = made()
        y = x * a
        v = give(a)
        a[1] = 5.0
        a[2:] += 1.0
        return x * read(v, 1) + (y * a).sum()

    # The node of x * a keeps what it saved.
    check(f, 5.0 + 1.0 + 2.0 * 5.0 + 4.0 * 5.0 + 8.0 * 9.0)


@pytest.mark.parametrize("place", ["array", "slice", "operator", "root"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_recorded_value_in_memory_that_others_read_is_refused(name, place):
    give, read = VIEWS[name]

    def f(x):
        a = made()
        v = give(a[:] if place == "root" else a)
        if place == "slice":
            a[1:][0] = x
        elif place == "operator":
            a *= x
        else:
            a[1] = x
        return read(v, 1) * 1.0 + 0.0 * x

    with pytest.raises(TypeError, match=r"test_memory_that_others_read\.py:\d+, in .*memory other code has"):
        ag.grad(f)(3.0)


@pytest.mark.parametrize("name", VIEWS)
def test_the_ways_out_of_that_refusal(name):
    give, read = VIEWS[name]

    def into_a_copy(x):
        a = made()
        v = give(a)
        a = a.copy()
        a[1] = x
        return read(v, 1) * a.sum()

    def a_copy_given(x):
        a = made()
        v = give(a.copy())
        a[1] = x
        return read(v, 1) * (a * a).sum()

    check(into_a_copy, 2.0)
    if name != "an address":  # which does not keep the copy
        check(a_copy_given, 2.0 * 6.0)


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("ctypes", "as_ctypes", "an address")])
def test_what_was_let_go_of_is_written_as_ever(name):
    give, read = VIEWS[name]

    def f(x):
        a = made()
        v = give(a)
        k = float(read(v, 1))
        del v
        a[1] = x
        return k * (a * a).sum()

    check(f, 2.0 * 6.0)


def test_garbage_that_holds_a_view_refuses_nothing():
    def f(x):
        a = made()
        ring = [memoryview(a)]
        ring.append(ring)
        del ring
        a[1] = x
        return (a * a).sum()

    gc.disable()
    try:
        check(f, 6.0)
    finally:
        gc.enable()


MASKED = ["masked array", "masked view"]


@pytest.mark.parametrize("name", MASKED)
def test_a_masked_array_of_what_a_gradient_reaches_shows_its_memory(name):
    give, read = VIEWS[name]

    def f(x):
        a = made()
        a[1] = x
        v = give(a)
        a[1] = a[1] ** 2
        v[0] = 5.0 * x
        return read(v, 1) * a[0 if name == "masked array" else 1]

    for x, slope in [(3.0, 135.0 if name == "masked array" else 2.0 * 25.0 * 3.0)]:
        check(f, slope)
        assert f(x) == (5.0 * x * x**2 if name == "masked array" else 25.0 * x * x)


@pytest.mark.parametrize("name", [name for name in VIEWS if name not in MASKED])
def test_an_array_that_a_gradient_reaches_is_given_to_nobody(name):
    give, read = VIEWS[name]

    def f(x):
        a = made()
        a[1] = x
        return read(give(a), 1) * 1.0

    with pytest.raises((TypeError, AttributeError)):
        ag.grad(f)(3.0)


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_the_values(name):
    copy = COPIES[name]

    def f(x):
        a = made()
        k = float(copy(a))
        a[1] = x
        return k * a.sum()

    k = float(copy(made()))
    check(f, k)

    def lost(x):
        a = made() * x
        return copy(a) * 1.0

    with pytest.raises((TypeError, AttributeError)):
        ag.grad(lost)(3.0)


@pytest.mark.parametrize("name", WRITERS)
def test_what_other_code_writes_shows_and_nodes_keep_what_they_saved(name):
    write = WRITERS[name]

    def f(x):
        a = made()
        y = x * a
        write(a)
        return (y * a).sum()

    if name in ("memoryview", "readinto"):  # is asked for to read, most times: compared in backward, not copied
        with pytest.raises(RuntimeError, match="was written"):
            ag.grad(f)(3.0)
        return
    check(f, 1.0 + 14.0 + 16.0 + 64.0)


@pytest.mark.parametrize("name", WRITERS)
def test_what_other_code_writes_later_is_found_in_backward(name):
    write = WRITERS[name]

    def f(x):
        a = made()
        write(a)
        y = x * x * a  # saved while its memory is known elsewhere
        memoryview(a)[1] = 9.0
        return y.sum()

    with pytest.raises(RuntimeError, match="was written"):
        ag.grad(f)(3.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("form", ["rows", "columns", "steps", "reversed", "empty"])
def test_buffers_of_all_layouts(dtype, form):
    def shown(a):
        a = {"rows": a, "columns": a.T, "steps": a[:, ::2], "reversed": a[::-1], "empty": a[:0]}[form]
        view = memoryview(a)
        return (view.shape, view.strides, view.format, view.readonly, view.c_contiguous), np.array(view)

    seen = []

    def f(x):
        a = np.zeros((2, 4), dtype=dtype)
        a[0] = [1, 2, 3, 4]
        seen.append(shown(a))
        return x * 2.0

    ag.grad(f)(3.0)
    plain = np.zeros((2, 4), dtype=dtype)
    plain[0] = [1, 2, 3, 4]
    facts, values = shown(plain)
    assert seen[0][0] == facts
    assert np.array_equal(np.asarray(seen[0][1]), values)


def test_what_the_program_writes_into_what_it_was_given():
    def f(x):
        a = made()
        v = memoryview(a)
        v[1] = 5.0
        m = np.asmatrix(a)
        m[0, 2] = 6.0
        return x * a.sum()

    check(f, 1.0 + 5.0 + 6.0 + 8.0)

    def lost(x):
        m = np.asmatrix(made())
        m[0, 2] = x
        return m.sum()

    with pytest.raises(TypeError):
        ag.grad(lost)(3.0)


def test_flags_are_set_on_the_array():
    def f(x):
        a = made()
        a.setflags(write=False)
        try:
            a[0] = 5.0
        except ValueError:
            pass
        return x * a[0]

    check(f, 1.0)


def test_second_derivatives_and_nested_transforms():
    def f(x):
        a = made()
        return x**3 * memoryview(a)[1]

    assert ag.hessian(f)(3.0) == pytest.approx(36.0)
    assert ag.grad(lambda x: ag.grad(f)(x) * x)(3.0) == pytest.approx(2.0 * 3 * 3 * 9.0)


def test_an_error_in_the_middle_leaves_nothing_behind():
    held = []

    def f(x):
        a = made()
        held.append(memoryview(a))
        raise KeyError("here")

    with pytest.raises(KeyError):
        ag.grad(f)(3.0)
    assert held[0][1] == 2.0
    held.clear()

    def g(x):
        a = made()
        a[1] = x
        return (a * a).sum()

    check(g, 6.0)


def test_outside_of_adopted_calls_a_tensor_has_no_buffer():
    t = ag.zeros(3)
    with pytest.raises(TypeError, match="bytes-like object is required"):
        memoryview(t)
    with pytest.raises(AttributeError):
        t.ctypes  # noqa: B018
    assert not hasattr(t, "__array_interface__")
    assert np.asarray(t) is t.array
