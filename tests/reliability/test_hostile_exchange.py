"""DLPack producers that lie, and pickles from elsewhere."""

import copyreg
import ctypes
import io
import pickle
import sys

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.accumulators import AccumulateGrad
from arraygrad.core.nodes import OpNode


class Producer:
    """Whatever `make` returns is its capsule."""

    def __init__(self, make):
        self.make = make

    def __dlpack__(self, **options):
        return self.make()

    def __dlpack_device__(self):
        return (1, 0)


def capsule():
    return np.arange(3.0).__dlpack__()


def used():
    made = capsule()
    np.from_dlpack(Producer(lambda: made))
    return made


_NAME = ctypes.create_string_buffer(b"other")  # a capsule keeps the pointer to its name
_kept = []


def renamed():
    made = np.empty(3)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    _kept.append(made)
    return new(made.ctypes.data, ctypes.cast(_NAME, ctypes.c_char_p), None)


@pytest.mark.parametrize(
    "make", [used, renamed, lambda: None, lambda: 5, object], ids=["used", "renamed", "None", "5", "object"]
)
def test_a_capsule_that_is_none_is_refused_with_what_was_expected(make):
    with pytest.raises(ValueError, match=r"Producer.__dlpack__\(\) to return a new capsule named 'dltensor'"):
        ag.from_dlpack(Producer(make))


def test_an_error_of_the_producer_arrives_as_it_is():
    def fail():
        raise LookupError("the producer's own")

    with pytest.raises(LookupError, match="the producer's own"):
        ag.from_dlpack(Producer(fail))


@pytest.mark.parametrize("what", [capsule(), object(), 3.0, [1.0]], ids=["capsule", "object", "float", "list"])
def test_what_is_no_producer_is_refused(what):
    with pytest.raises(TypeError, match="expected an array, an object with the method __dlpack__"):
        ag.from_dlpack(what)


@pytest.mark.parametrize("array", [np.array([None]), np.zeros(2, "M8[s]"), np.arange(2, dtype=">f8")], ids=str)
def test_arrays_that_dlpack_does_not_know_are_refused(array):
    if array.dtype.isnative and array.dtype.kind == "f":
        array = array.view(array.dtype.newbyteorder())
    with pytest.raises(BufferError):
        ag.from_dlpack(array)


def test_a_tensor_that_requires_grad_is_not_handed_out():
    x = ag.tensor([1.0], requires_grad=True)
    for take in (ag.from_dlpack, np.from_dlpack, lambda t: t.__dlpack__()):
        with pytest.raises(TypeError, match="requires grad"):
            take(x)


@pytest.mark.parametrize("options", [{"stream": 5}, {"dl_device": (2, 0)}, {"max_version": "x"}])
def test_options_that_cannot_be_met_are_refused(options):
    with pytest.raises((RuntimeError, BufferError, TypeError, ValueError)):
        ag.tensor([1.0]).__dlpack__(**options)


def test_memory_that_the_producer_writes_is_noticed():
    a = np.ones(3)
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * ag.from_dlpack(a)).sum()
    a[:] = 7.0
    with pytest.raises(RuntimeError, match="has been modified"):
        y.backward()


def test_the_memory_lives_as_long_as_the_tensor():
    t = ag.from_dlpack(Producer(capsule))
    np.testing.assert_array_equal((t + 1.0).array, [1.0, 2.0, 3.0])


# Pickles


def globals_of(data):
    """The names that a pickle imports."""
    names = set()

    class Noting(pickle.Unpickler):
        def find_class(self, module, name):
            names.add((module, name))
            return super().find_class(module, name)

    Noting(io.BytesIO(data)).load()
    return names


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_tensor_names_our_constructor_and_numpys_only(protocol):
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    data = pickle.dumps(x, protocol)
    ours = {name for name in globals_of(data) if name[0].startswith("arraygrad")}
    others = {name[0].split(".")[0] for name in globals_of(data)} - {"arraygrad"}
    assert ours == {("arraygrad.core.tensor", "unpickle")}
    assert others <= {"numpy", "_codecs"}
    back = pickle.loads(data)
    np.testing.assert_array_equal(back.array, x.array)
    assert back.requires_grad


class Listed(pickle.Unpickler):
    """Unpickles what a careful reader would allow."""

    def find_class(self, module, name):
        if (module, name) != ("arraygrad.core.tensor", "unpickle") and module.split(".")[0] != "numpy":
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
        return super().find_class(module, name)


def test_a_restricted_unpickler_can_read_tensors():
    x = ag.tensor([1.0, 2.0])
    np.testing.assert_array_equal(Listed(io.BytesIO(pickle.dumps(x))).load().array, x.array)


def test_a_pickle_cut_anywhere_is_an_error():
    data = pickle.dumps(ag.tensor([1.0, 2.0], requires_grad=True))
    for end in range(len(data) - 1):
        with pytest.raises((EOFError, pickle.UnpicklingError, ValueError, TypeError)):
            pickle.loads(data[:end])


def unpickle(*args):
    return sys.modules["arraygrad.core.tensor"].unpickle(*args)


@pytest.mark.parametrize(
    "state",
    [
        ("text", False), (None, False), (3.0, True), ([1.0], True), (np.array([None]), False),
        (np.array(["a"]), False), (np.ma.masked_array([1.0]), True), (np.zeros(2, "M8[s]"), False), (dict, True), (),
        (np.ones(2),), (np.ones(2), True, "more"),
    ],
    ids=str,
)  # fmt: skip
def test_a_state_that_no_tensor_has_is_refused(state):
    with pytest.raises(TypeError):
        unpickle(*state)


def test_integers_that_require_grad_are_refused():
    with pytest.raises(RuntimeError, match="Only Tensors of floating point"):
        unpickle(np.array([1]), True)


class Bare:
    """Pickles as cls.__new__(cls), which no object of arraygrad does."""

    def __init__(self, cls):
        self.cls = cls

    def __reduce_ex__(self, protocol):
        return copyreg.__newobj__, (self.cls,)


@pytest.mark.parametrize("cls", [ag.Tensor, OpNode, AccumulateGrad])
def test_a_class_cannot_be_instantiated_past_its_constructors(cls):
    # The opcode NEWOBJ with a class: written by hand, because pickle itself checks the object against it.
    name = f"c{cls.__module__}\n{cls.__qualname__}\n".encode()
    for make in (
        lambda: cls.__new__(cls),
        lambda: copyreg.__newobj__(cls),
        lambda: pickle.loads(b"\x80\x02" + name + b")\x81."),
        cls,
    ):
        with pytest.raises((TypeError, pickle.UnpicklingError)):
            make()


def test_the_class_of_tensors_has_no_state_to_set():
    x = ag.tensor([1.0])
    with pytest.raises((AttributeError, TypeError)):
        x.__setstate__({"value": None})
    for name in ("value", "meta", "grad_fn_", "tracked", "extra", "accumulator"):
        setattr(x, name, None)  # an attribute of the user's own, whatever the compiled field is called
    assert (x + 1).tolist() == [2.0]
