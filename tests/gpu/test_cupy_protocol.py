"""CuPy's own functions on Tensors, and arraygrad.cupy on a machine without CuPy. Processes of their own; no GPU."""

import importlib.util
import inspect
import subprocess
import sys

import pytest
from programs import run

import arraygrad as ag

WITHOUT = """
import sys
sys.modules["cupy"] = None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "cupy" else found(name, *a)
import arraygrad as ag
import arraygrad.cupy as xp
"""


def without_cupy(code):
    """What a program prints on a machine without CuPy."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", WITHOUT + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_cupys_ufuncs_record_on_tensors():
    assert run("""
        x = ag.asarray(cupy.asarray([0.5, 1.0]), requires_grad=True)
        y = cupy.multiply(cupy.sin(x), cupy.add(cupy.asarray([1.0, 2.0]), x))
        print(type(y).__name__, type(y.array).__module__, y.requires_grad)
        ag.sum(y).backward()
        expected = np.cos([0.5, 1.0]) * np.asarray([1.5, 3.0]) + np.sin([0.5, 1.0])
        print(np.allclose(x.grad.numpy(), expected))
        print(np.allclose(cupy.power(x, 2).numpy(), [0.25, 1.0]))
        print(np.allclose(cupy.arcsin(x, dtype=np.float64).numpy()[0], np.arcsin(0.5)))
    """) == ["Tensor cupy True", "True", "True", "True"]


def test_cupys_ufuncs_write_into_tensors():
    assert run("""
        x = ag.asarray(cupy.asarray([0.5, 1.0]))
        out = ag.asarray(cupy.asarray([0.0, 0.0]))
        print(cupy.sin(x, out=out) is out, out.numpy().tolist() == np.sin([0.5, 1.0]).tolist())
        print(cupy.add(x, x, out) is out)
    """) == ["True True", "True"]


def test_a_kernel_of_the_users_own_names_the_way_out():
    assert run("""
        x = ag.asarray(cupy.asarray([0.5, 1.0]), requires_grad=True)
        kernel = cupy.ElementwiseKernel("T a", "T b", "b = a", "mine")
        try: kernel(x)
        except TypeError as error: print("mine" in str(error), "arraygrad.primitive" in str(error),
                                         "__array_namespace__" in str(error))
    """) == ["True True True"]


def test_the_cuda_interface_is_there_where_no_gradient_is_lost():
    class Raw:
        __cuda_array_interface__ = {"shape": (2,)}

    t = ag.tensor([1.0], requires_grad=True)
    assert not hasattr(t, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="requires grad"):
        t.__cuda_array_interface__  # noqa: B018
    assert not hasattr(t.detach(), "__cuda_array_interface__")
    assert type(t).__cuda_array_interface__.fget(type("T", (), {"requires_grad": False, "array": Raw})) == {
        "shape": (2,)
    }


def test_without_cupy_the_namespace_can_be_read():
    assert without_cupy("""
import inspect
print(set(xp.__all__) == {*ag.numpy.__all__, "capture"}, xp.__name__, inspect.signature(xp.softmax))
functions = [getattr(part, name) for part in (xp, xp.linalg, xp.fft) for name in part.__all__]
print(all(f.__doc__ for f in functions if callable(f)), xp.isdtype(xp.float32, "numeric"))
""") == ["True arraygrad.cupy (x, /, *, axis=-1)", "True True"]


@pytest.mark.parametrize(
    "call",
    [
        "xp.zeros(3)",
        "xp.sin([1.0])",
        "xp.fft.fftfreq(3)",
        "xp.__array_namespace_info__().devices()",
        "ag.namespace('cupy')",
        "ag.to_backend(ag.tensor([1.0]), 'cupy')",
    ],
)
def test_without_cupy_a_call_says_what_to_install(call):
    (line,) = without_cupy(f"""
try: {call}
except ImportError as error: print(error.name, "pip install arraygrad[cupy12x]" in str(error))
""")
    assert line == "cupy True"


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
def test_what_the_backend_uses_of_cupy_exists():
    import cupy
    import cupyx

    assert "stream" in inspect.getdoc(cupy.ndarray.get)
    assert "disable_timing" in str(inspect.signature(cupy.cuda.Event))
    assert "non_blocking" in str(inspect.signature(cupy.cuda.Stream))
    for name in ("ElementwiseKernel", "RawKernel", "ascontiguousarray", "empty"):
        assert hasattr(cupy, name)
    for name in ("Device", "Event", "Stream", "get_current_stream", "runtime", "UnownedMemory"):
        assert hasattr(cupy.cuda, name)
    assert hasattr(cupy.add, "at")
    assert hasattr(cupyx, "empty_pinned")


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
def test_cupy_takes_the_text_of_every_kernel():
    import cupy
    import numpy as np
    from test_fusion import CASES, FORWARDS, spec_of

    from arraygrad.backends.cuda.fused import ElementwiseKernels, trace_forward
    from arraygrad.backends.cuda.rows import KERNELS, source
    from arraygrad.ops import OPS

    kernels = ElementwiseKernels(cupy)
    specs = [spec_of(name, dtype) for name, dtype in CASES]
    specs += [trace_forward(OPS[name], [np.dtype(dtype)] * len(OPS[name].params)) for name, dtype in FORWARDS]
    for spec in specs:
        if spec.outputs:
            made = kernels._compile(spec, "arraygrad_test")
            assert [p.name for p in made.in_params] == [name for name, _ in spec.inputs]
    for name in KERNELS:
        assert cupy.RawKernel(source(name, "float32"), f"arraygrad_{name}").name == f"arraygrad_{name}"
