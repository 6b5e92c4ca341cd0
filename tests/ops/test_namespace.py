"""Differentiable namespaces over NumPy and array_api_strict: completeness, signatures, creation, dtypes, pickling.

Imports the public names of arraygrad.
"""

import importlib
import inspect
import math
import operator
import pickle
import types

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.numpy as agnp
from arraygrad.tools import generate

strict = pytest.importorskip("array_api_strict")

NAMES = ("numpy", "array_api_strict")
SPEC_ONLY = {
    "Device",
    "ArrayAPIStrictFlags",
    "get_array_api_strict_flags",
    "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
    "__version__",
}
DTYPES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128").split()


@pytest.fixture(params=NAMES)
def xp(request):
    return importlib.import_module(f"arraygrad.{request.param}")


def standard_functions(extension=""):
    owner = getattr(strict, extension) if extension else strict
    return [
        name
        for name in owner.__all__
        if name not in SPEC_ONLY
        and not name.startswith("__")
        and callable(getattr(owner, name))
        and not isinstance(getattr(owner, name), type)
    ]


STANDARD = [(e, n) for e in ("", "linalg", "fft") for n in standard_functions(e) if n not in DTYPES]


# -- names and signatures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("extension", "name"), STANDARD, ids=lambda v: v or "main")
def test_function_of_the_standard_has_its_parameters(xp, extension, name):
    ours = inspect.signature(getattr(getattr(xp, extension) if extension else xp, name)).parameters
    theirs = inspect.signature(getattr(getattr(strict, extension) if extension else strict, name)).parameters
    positional = [p for p in theirs.values() if p.kind is p.POSITIONAL_ONLY]
    assert len([p for p in ours.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]) >= len(positional)
    for parameter in theirs.values():
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            assert parameter.name in ours
            found = ours[parameter.name]
            assert found.kind is parameter.kind or (
                parameter.kind is parameter.KEYWORD_ONLY and found.kind is found.POSITIONAL_OR_KEYWORD
            )
            assert (found.default is found.empty) == (parameter.default is parameter.empty)


@pytest.mark.parametrize(("extension", "name"), STANDARD, ids=lambda v: v or "main")
def test_top_level_has_the_function_too(extension, name):
    assert callable(getattr(getattr(ag, extension) if extension else ag, name))


def test_namespace_has_what_the_standard_added_in_2025(xp):
    for function in (xp.broadcast_shapes, xp.isin, xp.linalg.eig, xp.linalg.eigvals):
        assert callable(function)


def test_all_names_everything_that_the_namespace_offers(xp):
    assert set(xp.__all__) == set(dir(xp))
    assert all(hasattr(xp, name) for name in xp.__all__)
    assert {"linalg", "fft", "__array_namespace_info__", "__array_api_version__", "pi", "float32"} <= set(xp.__all__)


def test_internal_operations_are_not_public(xp):
    assert not [name for name in dir(xp) if name.startswith("_") and not name.startswith("__")]


def test_names_of_functions_say_where_they_are(xp):
    assert xp.sin.__name__ == xp.sin.__qualname__ == "sin"
    assert xp.sin.__module__ == xp.__name__
    assert xp.linalg.inv.__module__ == f"{xp.__name__}.linalg"
    assert xp.sin.__doc__


def test_wrong_arguments_raise_in_the_words_of_python(xp):
    t = xp.asarray([1.0])
    with pytest.raises(TypeError, match=r"sin\(\) takes exactly one argument \(2 given\)"):
        xp.sin(t, t)
    with pytest.raises(TypeError, match=r"sin\(\) takes no keyword arguments"):
        xp.sin(x=t)
    with pytest.raises(TypeError, match=r"add\(\) takes 2 positional arguments but 3 were given"):
        xp.add(t, t, t)
    with pytest.raises(TypeError, match=r"sum\(\) got an unexpected keyword argument 'axes'"):
        xp.sum(t, axes=0)


# -- identity ----------------------------------------------------------------------------------------------------------


def test_a_tensor_names_its_namespace_always_the_same(xp):
    t = xp.asarray([1.0])
    assert t.__array_namespace__() is xp
    assert t.__array_namespace__(api_version="2025.12") is xp
    assert (t + 1).__array_namespace__(api_version=None) is xp


def test_a_newer_version_of_the_standard_is_refused():
    with pytest.raises(ValueError, match=r"2099\.12 of the array API is not supported"):
        ag.asarray(1.0).__array_namespace__(api_version="2099.12")


def test_namespace_by_name_and_by_module_is_one_object():
    assert ag.namespace("numpy") is ag.namespace(np) is agnp
    assert ag.namespace("array_api_compat.numpy") is agnp
    assert ag.namespace(strict) is ag.namespace("array_api_strict") is ag.array_api_strict


def test_namespace_of_any_module_that_speaks_the_array_api():
    raw = types.ModuleType("somelibrary")
    raw.__dict__.update({name: getattr(strict, name) for name in strict.__all__})
    import sys

    sys.modules["somelibrary"] = raw
    try:
        built = ag.namespace(raw)
        assert built.__name__ == "arraygrad.somelibrary"
        assert ag.namespace("somelibrary") is built
        t = built.asarray([1.0, 2.0], requires_grad=True)
        built.sum(built.linalg.vector_norm(t)).backward()
        assert t.grad.shape == (2,)
        assert pickle.loads(pickle.dumps(built.fft.fft)) is built.fft.fft
    finally:
        for name in [name for name in sys.modules if name.startswith(("somelibrary", "arraygrad.somelibrary"))]:
            del sys.modules[name]


def test_namespace_refuses_a_module_that_is_none():
    with pytest.raises(TypeError, match="'math' is no Array-API namespace"):
        ag.namespace(math)


def test_namespace_of_a_missing_library_raises_import_error():
    with pytest.raises(ImportError):
        ag.namespace("no_such_library")


@pytest.mark.parametrize("path", ["sin", "sum", "zeros", "result_type", "linalg.solve", "linalg.matmul", "fft.rfft"])
def test_functions_pickle_by_name(xp, path):
    for owner in (xp, ag):
        function = owner
        for part in path.split("."):
            function = getattr(function, part)
        assert pickle.loads(pickle.dumps(function)) is function


# -- what it says about itself -----------------------------------------------------------------------------------------


def test_version_of_the_standard(xp):
    assert xp.__array_api_version__ == "2025.12"


def test_namespace_info_answers_as_the_standard_asks(xp):
    info = xp.__array_namespace_info__()
    assert isinstance(info.devices(), tuple)
    assert info.default_device() is None or info.default_device() in info.devices()
    assert {"boolean indexing", "data-dependent shapes", "max dimensions"} <= set(info.capabilities())
    assert set(info.default_dtypes()) == {"real floating", "complex floating", "integral", "indexing"}
    assert set(info.dtypes()) == set(DTYPES)
    assert set(info.dtypes(kind=("real floating", "bool"))) == {"bool", "float32", "float64"}
    for name in ("capabilities", "default_device", "devices", "default_dtypes", "dtypes"):
        inspect.signature(getattr(info, name))


def test_dtypes_are_those_of_the_library(xp):
    raw = np if xp is agnp else strict
    for name in DTYPES:
        assert getattr(xp, name) == getattr(raw, name)


def test_constants_are_python_numbers(xp):
    assert (xp.pi, xp.e, xp.inf, xp.newaxis) == (math.pi, math.e, math.inf, None)
    assert math.isnan(xp.nan)


def test_finfo_gives_python_floats_for_dtypes_arrays_and_tensors(xp):
    t = xp.asarray([1.0], dtype=xp.float32)
    for given in (xp.float32, t, t.array, t.dtype):
        info = xp.finfo(given)
        assert type(info.eps) is type(info.max) is type(info.min) is type(info.smallest_normal) is float
        assert (info.bits, info.eps, info.dtype) == (32, 2.0**-23, xp.float32)


def test_finfo_of_a_complex_dtype_is_that_of_its_parts(xp):
    assert xp.finfo(xp.complex64).eps == 2.0**-23


def test_iinfo_gives_python_ints(xp):
    for given in (xp.int8, xp.asarray([1], dtype=xp.int8)):
        info = xp.iinfo(given)
        assert (info.bits, info.min, info.max) == (8, -128, 127)
        assert type(info.max) is int


def test_isdtype_and_can_cast_return_real_bools(xp):
    assert xp.isdtype(xp.float32, "real floating") is True
    assert xp.isdtype(xp.float32, ("integral", xp.float32)) is True
    assert xp.can_cast(xp.asarray([1], dtype=xp.int8), xp.int16) is True
    assert xp.can_cast(xp.float64, xp.float32) is False


def test_result_type_takes_tensors_dtypes_and_scalars_in_any_order(xp):
    t = xp.asarray([1.0], dtype=xp.float32)
    assert xp.result_type(t, xp.float64) == xp.float64
    assert xp.result_type(1.0, t) == xp.float32


def test_broadcast_shapes_is_a_tuple(xp):
    assert xp.broadcast_shapes((3, 1), (4,), ()) == (3, 4)
    with pytest.raises(ValueError, match="lengths 3 and 2"):
        xp.broadcast_shapes((3,), (2,))


def test_top_level_dtype_functions_go_by_their_argument():
    assert ag.isdtype(strict.float32, "real floating") is True
    assert ag.finfo(strict.float32).dtype == strict.float32
    assert ag.result_type(ag.array_api_strict.asarray([1], dtype=strict.int8), strict.int16) == strict.int16


# -- creation ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda xp, **k: xp.zeros((2, 2), **k),
        lambda xp, **k: xp.ones(2, **k),
        lambda xp, **k: xp.full((2,), 3.0, **k),
        lambda xp, **k: xp.eye(2, **k),
        lambda xp, **k: xp.arange(3.0, **k),
        lambda xp, **k: xp.linspace(0.0, 1.0, 4, **k),
        lambda xp, **k: xp.empty((2,), **k),
        lambda xp, **k: xp.asarray([1.0, 2.0], **k),
        lambda xp, **k: xp.zeros_like(xp.ones(3), **k),
        lambda xp, **k: xp.ones_like(xp.ones(3), **k),
        lambda xp, **k: xp.full_like(xp.ones(3), 2.0, **k),
        lambda xp, **k: xp.empty_like(xp.ones(3), **k),
    ],
)
def test_creation_functions_make_leaves_that_may_require_grad(xp, make):
    plain, leaf = make(xp), make(xp, requires_grad=True)
    assert isinstance(plain, ag.Tensor)
    assert plain.__array_namespace__() is xp
    assert not plain.requires_grad
    assert leaf.requires_grad
    assert leaf.is_leaf


def test_integer_creation_refuses_requires_grad(xp):
    with pytest.raises(RuntimeError, match="floating point and complex dtype"):
        xp.zeros(2, dtype=xp.int64, requires_grad=True)


def test_like_functions_do_not_record(xp):
    t = xp.ones(2, requires_grad=True)
    assert not xp.zeros_like(t).requires_grad


def test_full_of_a_tensor_is_recorded(xp):
    t = xp.asarray(3.0, requires_grad=True)
    xp.sum(xp.full((2, 2), t)).backward()
    assert float(t.grad) == 4.0


def test_linspace_between_tensors_is_recorded(xp):
    stop = xp.asarray(2.0, requires_grad=True)
    xp.sum(xp.linspace(0.0, stop, 3)).backward()
    assert float(stop.grad) == pytest.approx(1.5)


def test_asarray_of_a_tensor_is_the_tensor(xp):
    t = xp.ones(2, requires_grad=True)
    assert xp.asarray(t) is t
    assert xp.asarray(t, copy=False) is t


def test_asarray_with_copy_is_recorded(xp):
    t = xp.ones(2, requires_grad=True)
    copied = xp.asarray(t, copy=True)
    xp.sum(copied * copied).backward()
    assert copied is not t
    assert t.grad.tolist() == [2.0, 2.0]


def test_asarray_with_dtype_is_a_recorded_cast(xp):
    t = xp.ones(2, requires_grad=True)
    cast = xp.asarray(t, dtype=xp.float32)
    xp.sum(cast).backward()
    assert cast.dtype == xp.float32
    assert t.grad.dtype == xp.float64


def test_asarray_stacks_nested_lists_of_tensors(xp):
    a, b = xp.asarray(1.0, requires_grad=True), xp.asarray(2.0, requires_grad=True)
    m = xp.asarray([[a, b], [b, 1.0]])
    assert m.shape == (2, 2)
    xp.sum(m).backward()
    assert (float(a.grad), float(b.grad)) == (1.0, 2.0)


def test_asarray_wraps_an_array_without_copying():
    a = np.zeros(3)
    agnp.asarray(a)[0] = 5.0
    assert a[0] == 5.0


def test_asarray_of_another_library_names_both():
    with pytest.raises(TypeError, match=r"array of array_api_strict was given to the namespace of numpy"):
        agnp.asarray(ag.array_api_strict.ones(2))
    with pytest.raises(TypeError, match=r"array of array_api_strict was given to the namespace of numpy"):
        agnp.asarray(strict.ones(2))


def test_from_dlpack_shares_memory_and_refuses_to_detach():
    a = np.arange(3.0)
    assert agnp.from_dlpack(a).tolist() == [0.0, 1.0, 2.0]
    assert agnp.from_dlpack(agnp.asarray(a)).tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(TypeError, match="requires grad"):
        agnp.from_dlpack(agnp.asarray(a, requires_grad=True))


# -- arguments that are no tensors -------------------------------------------------------------------------------------


def test_functions_take_scalars_and_lists(xp):
    assert isinstance(xp.sin(0.5), ag.Tensor)
    assert float(xp.sin(0.5)) == pytest.approx(math.sin(0.5))
    assert xp.sin(0.5).__array_namespace__() is xp
    assert xp.sum([1.0, 2.0]).item() == 3.0
    assert xp.add(1.0, 2.0).item() == 3.0
    assert xp.concat([[1.0], [2.0]]).tolist() == [1.0, 2.0]


def test_a_tensor_is_a_sequence_of_arrays_along_its_first_axis(xp):
    t = xp.asarray([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    joined = xp.concat(t)
    assert joined.tolist() == [1.0, 2.0, 3.0, 4.0]
    xp.sum(joined * joined).backward()
    assert t.grad.tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_functions_take_raw_arrays_as_constants():
    t = agnp.ones(2, requires_grad=True)
    agnp.sum(agnp.multiply(np.asarray([2.0, 3.0]), t)).backward()
    assert t.grad.tolist() == [2.0, 3.0]


def test_lists_beside_a_tensor_take_its_backend_and_device():
    t = ag.array_api_strict.ones(2, device=strict.Device("device1"))
    result = ag.add(t, [1.0, 2.0])
    assert result.__array_namespace__() is ag.array_api_strict
    assert result.device == strict.Device("device1")


def test_top_level_functions_take_the_backend_of_their_arguments():
    assert ag.sin(strict.asarray([0.5])).__array_namespace__() is ag.array_api_strict
    assert ag.zeros_like(ag.array_api_strict.ones(2)).__array_namespace__() is ag.array_api_strict
    assert ag.sin(0.5).__array_namespace__() is agnp
    assert ag.zeros(2).__array_namespace__() is agnp


def test_two_backends_in_one_call_raise_and_are_named():
    a, b = agnp.ones(2), ag.array_api_strict.ones(2)
    for call in (lambda: ag.add(a, b), lambda: ag.concat([a, b]), lambda: ag.where(a > 0, a, b), lambda: a * b):
        with pytest.raises(TypeError, match=r"numpy(?s:.*)array_api_strict"):
            call()


def test_zero_dimensional_results_are_tensors(xp):
    t = xp.asarray([1.0, 2.0])
    for result in (xp.sum(t), xp.max(t), t[0], xp.linalg.vector_norm(t), xp.argmax(t), xp.all(t > 0)):
        assert isinstance(result, ag.Tensor)
        assert result.ndim == 0


def test_results_with_fields_are_named_tuples(xp):
    m = xp.asarray([[2.0, 1.0], [1.0, 3.0]])
    for result, fields in (
        (xp.linalg.slogdet(m), ("sign", "logabsdet")),
        (xp.linalg.qr(m), ("Q", "R")),
        (xp.linalg.eigh(m), ("eigenvalues", "eigenvectors")),
        (xp.linalg.svd(m), ("U", "S", "Vh")),
        (xp.unique_counts(m), ("values", "counts")),
    ):
        assert isinstance(result, tuple)
        assert result._fields == fields
        assert all(getattr(result, field) is item for field, item in zip(fields, result, strict=True))


def test_meshgrid_and_unstack_return_tuples(xp):
    t = xp.asarray([1.0, 2.0])
    assert type(xp.meshgrid(t, t)) is tuple
    assert type(xp.unstack(t)) is tuple
    assert type(xp.broadcast_arrays(t, t)) is tuple
    assert type(xp.nonzero(t)) is tuple


# -- NumPy beyond the standard -----------------------------------------------------------------------------------------


def test_numpy_namespace_has_the_functions_of_numpy_that_are_served():
    t = agnp.array([[1.0, 2.0], [3.0, 4.0]])
    assert agnp.vstack([t, t]).shape == (4, 2)
    assert agnp.power(t, 2).tolist() == [[1.0, 4.0], [9.0, 16.0]]
    assert agnp.concatenate([np.ones(2), [2.0]]).tolist() == [1.0, 1.0, 2.0]
    assert agnp.linalg.norm(t[0], ord=1).item() == 3.0
    assert agnp.fft.fft2(t).shape == (2, 2)
    assert pickle.loads(pickle.dumps(agnp.vstack)) is agnp.vstack
    assert pickle.loads(pickle.dumps(agnp.linalg.norm)) is agnp.linalg.norm


def test_numpy_namespace_refuses_to_save_what_is_recorded_and_names_what_it_lacks(tmp_path):
    with pytest.raises(TypeError, match="savez"):
        agnp.savez(tmp_path / "file", ag.tensor([1.0], requires_grad=True))
    agnp.savez(tmp_path / "file", np.ones(2))
    with pytest.raises(AttributeError, match=r"no attribute 'no_such_name'$"):
        operator.attrgetter("no_such_name")(agnp)


def test_other_namespaces_have_the_standard_only(xp):
    assert hasattr(xp, "vstack") == (xp is agnp)


def test_import_of_the_submodules():
    import arraygrad.fft
    import arraygrad.linalg
    import arraygrad.numpy.fft
    import arraygrad.numpy.linalg

    assert arraygrad.numpy.linalg is agnp.linalg
    assert arraygrad.fft.fft.__module__ == "arraygrad.fft"
    assert arraygrad.linalg.inv([[2.0]]).tolist() == [[0.5]]


# -- what is generated -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_generated_stubs_and_pages_are_up_to_date(capsys):
    if not generate.DOCS.is_dir():
        pytest.skip("arraygrad is imported from an installed wheel, which has no docs")
    status = generate.main(["--check"])
    assert status == 0, capsys.readouterr().err
