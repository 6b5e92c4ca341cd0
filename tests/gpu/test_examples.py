"""The examples of examples/gpu, run with the stand-in for CuPy: what they ask of CuPy, and that their rules are right.

Their CUDA C++ is replaced by NumPy where the stand-in can't evaluate it; tests/gpu/test_cupy.py runs them on a device.
"""

import re
from pathlib import Path

import pytest
from programs import run

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "examples" / "gpu").glob("*.py") if path.stem != "__init__")

# What the stand-in lacks for each: CUDA C++ in NumPy, cupy.fuse as the function itself, cuTENSOR by einsum.
EXTRA = {
    "elementwise_kernel": "",
    "raw_kernel": """
        def distances(x, out, n, d):
            out[...] = ((x[:, None] - x[None]) ** 2).sum(-1)
        def distances_backward(g, x, out, n, d):
            out[...] = 2 * ((g + g.T)[:, :, None] * (x[:, None] - x[None])).sum(1)
        RawKernel.host = {"distances": distances, "distances_backward": distances_backward}
    """,
    "fused": """
        def fuse():
            return lambda f: lambda *args: (launches.append("fused"), f(*args))[1]
        cupy.fuse = fuse
        cupy.exp = _Ufunc("exp")
    """,
    "tensor_contraction": """
        cutensor = types.ModuleType("cupyx.cutensor")
        cutensor.create_mode = lambda *modes: modes
        def contraction(alpha, a, ma, b, mb, beta, c, mc):
            calls.append("contraction")
            text = f"{''.join(ma)},{''.join(mb)}->{''.join(mc)}"
            np.einsum(text, a.view(np.ndarray), b.view(np.ndarray), out=c.view(np.ndarray))
            return c
        cutensor.contraction = contraction
        cupyx.cutensor = cutensor
        sys.modules["cupyx.cutensor"] = cutensor
    """,
}


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_that_of_finite_differences(name):
    lines = run(f"""
        from stand_in import _Ufunc
{EXTRA[name]}
        sys.path.insert(0, {str(ROOT)!r})
        import importlib
        example = importlib.import_module("examples.gpu.{name}")
        print(example.check())
    """)
    assert lines == ["True"]


def test_every_way_of_writing_a_kernel_has_an_example():
    texts = {name: (ROOT / "examples" / "gpu" / f"{name}.py").read_text() for name in NAMES}
    for what in ("cupy.RawKernel", "cupy.ElementwiseKernel", "cupy.fuse", "cutensor.contraction"):
        assert any(what in text for text in texts.values())
    for text in texts.values():
        assert re.search(r"ag\.primitive|autograd\.Function", text)


def test_readme_lists_every_example():
    listed = re.findall(r"^\| \[(\w+)\]\(gpu/(\w+)\.py\)", (ROOT / "examples" / "README.md").read_text(), re.M)
    assert sorted(listed) == [(name, name) for name in NAMES]
