"""An operation is one entry of the table: all else follows without another line.

In a copy of the package an entry is added to a chapter; function, method, derivatives, CUDA's kernel and the CPU's are
asked for there. Building the copy would take minutes, so the kernel that a build would write is compiled by itself.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import arraygrad as ag

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
PACKAGE = Path(ag.__file__).parent

ENTRY = """
unary(
    "planted_gudermannian",
    lambda xp, g, x: g / xp.cosh(x),
    forward=lambda xp, x: xp.atan(xp.sinh(x)),
    method=True,
    doc="Gudermann's function.",
)
unary(
    "planted_softplus",
    lambda xp, g, x: g * xp.sigmoid(x),
    forward=lambda xp, x: xp.log1p(xp.exp(-xp.abs(x))) + xp.relu(x),
    doc="Its rule calls a function that the table composes of others.",
)
"""

USE = """
import sys
import numpy as np
import arraygrad as ag
import arraygrad.testing
from arraygrad.backends.cuda.fused import trace_rules
from arraygrad.backends.numpy.kernels import kernels, source
from arraygrad.ops import OPS

x = np.linspace(-2, 2, 9)
t = ag.tensor(x, requires_grad=True)
for y in (ag.planted_gudermannian(t), ag.numpy.planted_gudermannian(t), t.planted_gudermannian()):
    np.testing.assert_allclose(y.numpy(), np.arctan(np.sinh(x)), rtol=1e-15)
    assert y.grad_fn.name() == "PlantedGudermannianBackward"
(first,) = ag.autograd.grad(y.sum(), [t], create_graph=True)
np.testing.assert_allclose(first.numpy(), 1 / np.cosh(x), rtol=1e-14)
(second,) = ag.autograd.grad(first.sum(), [t])
np.testing.assert_allclose(second.numpy(), -np.sinh(x) / np.cosh(x) ** 2, rtol=1e-13, atol=1e-16)
assert ag.testing.gradgradcheck(ag.planted_gudermannian, (t,))
single = ag.tensor(x.astype("f4"), requires_grad=True)
ag.planted_gudermannian(single).sum().backward()
assert single.grad.dtype == np.float32

made = [(k.operation, k.name) for k in kernels()[0]]
assert {("planted_softplus", "x"), ("planted_softplus", "forward")} <= set(made)

f8 = np.dtype("f8")
print(trace_rules(OPS["planted_gudermannian"], f8, 1, [f8], [], [f8], False).body)
with open(sys.argv[1], "w") as file:
    file.write(source())
"""

HOST = r"""
#include "table_kernels.cpp"
using namespace arraygrad;

static void cosh_loop(char** args, const std::ptrdiff_t* n, const std::ptrdiff_t* steps, void*) {
  for (std::ptrdiff_t i = 0; i < *n; i++)
    *(double*)(args[1] + i * steps[1]) = std::cosh(*(const double*)(args[0] + i * steps[0]));
}

extern "C" int planted_gudermannian(const char* g, std::ptrdiff_t sg, const char* x, char* out, std::ptrdiff_t n) {
  LoopSet cosh = {"cosh", nullptr, {nullptr, cosh_loop}, {nullptr, nullptr}, 0, 0};
  const LoopSet* loops[MOST_LOOPS];
  for (int i = 0; i < n_table_loops; i++) loops[i] = std::strcmp(table_loops[i], "cosh") ? nullptr : &cosh;
  const Operand given[2] = {{g, sg, 8}, {x, 1, 8}};
  for (const RuleKernel& k : table_kernels)
    if (!std::strcmp(k.operation, "planted_gudermannian")) return run_rule(&k, loops, SLOT_F64, given, out, n);
  return -1;
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(what the program in the copy printed, the folder of the kernels that it wrote)."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(PACKAGE, folder / "arraygrad", ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "arraygrad" / "ops" / "beyond.py").open("a") as file:
        file.write(ENTRY)
    done = subprocess.run(
        [sys.executable, "-c", USE, str(folder / "table_kernels.cpp")],
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


def test_an_entry_gives_function_method_derivatives_and_cudas_kernel(built):
    printed, _ = built
    assert "cosh(a0)" in printed
    assert "o0 = " in printed


def test_an_entry_gives_the_cpus_kernel(built):
    _, folder = built
    if COMPILER is None:
        pytest.skip("no C++ compiler was found")
    if not (PACKAGE / "backends" / "numpy" / "rules.hpp").exists():
        pytest.skip("the package was installed without its headers")
    (folder / "host.cpp").write_text(HOST)
    include = [f"-I{folder}", f"-I{folder / 'arraygrad' / 'backends' / 'numpy'}"]
    flags = ["-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-w"]
    done = subprocess.run(
        [COMPILER, *flags, *include, str(folder / "host.cpp"), "-o", str(folder / "host.so")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[:4000]
    library = ctypes.CDLL(str(folder / "host.so"))
    for n, step in ((1, 1), (9, 1), (9, 0), (3000, 1), (3000, 0)):
        x, g, out = np.linspace(-2, 2, n), np.linspace(1, 3, n if step else 1), np.empty(n)
        places = [ctypes.c_void_p(a.ctypes.data) for a in (g, x, out)]
        assert library.planted_gudermannian(places[0], ctypes.c_ssize_t(step), *places[1:], ctypes.c_ssize_t(n)) == 0
        np.testing.assert_allclose(out, g / np.cosh(x), rtol=1e-14)
