"""Kernels of the GPU backend compiled as plain C++ and run on the host, on NumPy arrays.

Imports backends.cuda's fused, fusion, rows and texts. A block's threads become real threads with a real barrier.
"""

import ctypes
import re
import shutil
import subprocess

import numpy as np

from arraygrad.backends.cuda.fused import statement_types
from arraygrad.backends.cuda.fusion import PREAMBLE
from arraygrad.backends.cuda.rows import source
from arraygrad.backends.cuda.texts import sum_text_of, text_of

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")

SHIM = r"""
#include <barrier>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>
#define __device__
#define __global__
#define __shared__
using std::complex;
using std::abs; using std::exp; using std::log; using std::log10; using std::log2; using std::log1p; using std::expm1;
using std::sqrt; using std::sin; using std::cos; using std::tan; using std::asin; using std::acos; using std::atan;
using std::sinh; using std::cosh; using std::tanh; using std::asinh; using std::acosh; using std::atanh;
using std::floor; using std::ceil; using std::trunc; using std::rint; using std::erf; using std::erfc;
using std::lgamma; using std::cbrt; using std::pow; using std::fmod; using std::hypot; using std::atan2;
using std::copysign; using std::nextafter; using std::fabs; using std::isnan; using std::isinf; using std::isfinite;
using std::signbit;
inline double __longlong_as_double(long long bits) { double x; std::memcpy(&x, &bits, sizeof x); return x; }
struct Triple { unsigned int x, y, z; };
thread_local Triple threadIdx, blockIdx;
Triple blockDim, gridDim;
std::unique_ptr<std::barrier<>> gate;
inline void __syncthreads() { gate->arrive_and_wait(); }
double ag_shared[65536];
template <typename F> void launch(int blocks, int wide, int deep, F body) {
  blockDim = {static_cast<unsigned>(wide), static_cast<unsigned>(deep), 1};
  for (int b = 0; b < blocks; ++b) {
    gate = std::make_unique<std::barrier<>>(wide * deep);
    std::vector<std::thread> threads;
    for (int t = 0; t < wide * deep; ++t)
      threads.emplace_back([=] {
        threadIdx = {static_cast<unsigned>(t % wide), static_cast<unsigned>(t / wide), 0};
        blockIdx = {static_cast<unsigned>(b), 0, 0};
        body();
      });
    for (auto& t : threads) t.join();
  }
}
"""


def elementwise_text(number, spec):
    """C++ of one Spec: a loop over arrays of n elements."""
    types = statement_types(spec)
    count = len(spec.inputs)
    parameters = [f"{'const ' if i < count else ''}{kind}* p_{name}" for i, (kind, name) in enumerate(types)]
    loads = [f"{'const ' if i < count else ''}{kind} &{name} = p_{name}[i_];" for i, (kind, name) in enumerate(types)]
    return (
        f'extern "C" void k{number}(long long n_, {", ".join(parameters)}) {{\n'
        f"  for (long long i_ = 0; i_ < n_; ++i_) {{\n{' '.join(loads)}\n{spec.body}\n  }}\n}}\n"
    )


def prepared_text(number, spec, kinds, ndim=0, wide=False):
    """C++ of a prepared kernel, and of what calls it for each thread of a grid."""
    text = text_of(f"k{number}_", spec, kinds, ndim, wide).replace(PREAMBLE, "").replace('extern "C"', "")
    text = re.sub(r"#include .*", "", text)
    parameters = re.search(rf"void k{number}_\((.*?)\) {{", text, re.S).group(1)
    names = [p.split()[-1].lstrip("*") for p in parameters.split(",")]
    structure = re.search(r"struct (\w+)", text)
    called = list(names)
    if structure:
        parameters = parameters.replace(f"const {structure.group(1)} layout_", "const void* layout_at_")
        called[-1] = f"*static_cast<const {structure.group(1)}*>(layout_at_)"
    return (
        f"namespace prepared_{number} {{\n{text}\n"
        f'extern "C" void p{number}(unsigned blocks_, unsigned threads_, {parameters}) {{\n'
        "  gridDim = {blocks_, 1, 1}; blockDim = {threads_, 1, 1};\n"
        "  for (unsigned b = 0; b < blocks_; ++b) for (unsigned t = 0; t < threads_; ++t) {\n"
        f"    blockIdx = {{b, 0, 0}}; threadIdx = {{t, 0, 0}}; k{number}_({', '.join(called)});\n  }}\n}}\n}}\n"
    )


def row_text(name, dtype, text=None):
    """C++ of one row kernel, or of a `text` that has `arraygrad_<name>`, and of what launches it, in a namespace."""
    letter = np.dtype(dtype).char
    text = (source(name, dtype) if text is None else text).replace(PREAMBLE, "").replace('extern "C"', "")
    text = re.sub(r"extern __shared__ double ag_shared\[\];", "", text)
    parameters = re.search(rf"void arraygrad_{name}\((.*?)\) {{", text, re.S).group(1)
    names = [p.split()[-1].lstrip("*") for p in parameters.split(",")]
    structure = re.search(r"struct (ag_layout\w+)", text)
    if structure:
        kind = f"{name}_{letter}::{structure.group(1)}"
        parameters = parameters.replace(f"const {structure.group(1)} layout_", "const void* layout_at_")
        names[-1] = f"*static_cast<const {kind}*>(layout_at_)"
    return (
        f"namespace {name}_{letter} {{\n{text}\n}}\n"
        f'extern "C" void r_{name}_{letter}(int blocks_, int wide_, int deep_, {parameters}) {{\n'
        f"  launch(blocks_, wide_, deep_, [=] {{ {name}_{letter}::arraygrad_{name}({', '.join(names)}); }});\n}}\n"
    )


def sum_text(number, spec, kinds, ndim=0):
    """C++ of a kernel that sums what it computes, and of what launches it with real threads."""
    text = sum_text_of(f"s{number}_", spec, kinds, ndim).replace(PREAMBLE, "").replace('extern "C"', "")
    text = re.sub(r"extern __shared__ double ag_shared\[\];", "", text)
    parameters = re.search(rf"void s{number}_\((.*?)\) {{", text, re.S).group(1)
    names = [p.split()[-1].lstrip("*") for p in parameters.split(",")]
    structure = re.search(r"struct (\w+)", text)
    if structure:
        kind = f"summed_{number}::{structure.group(1)}"
        parameters = parameters.replace(f"const {structure.group(1)} layout_", "const void* layout_at_")
        names[-1] = f"*static_cast<const {kind}*>(layout_at_)"
    return (
        f"namespace summed_{number} {{\n{text}\n}}\n"
        f'extern "C" void t{number}(int blocks_, int wide_, int deep_, {parameters}) {{\n'
        f"  launch(blocks_, wide_, deep_, [=] {{ summed_{number}::s{number}_({', '.join(names)}); }});\n}}\n"
    )


def compile_text(texts, folder):
    """The shared library of all texts."""
    path, library = folder / "kernels.cpp", folder / "kernels.so"
    path.write_text(SHIM + PREAMBLE + "\n".join(texts))
    options = ["-std=c++20", "-O1", "-ffp-contract=off", "-fcx-fortran-rules", "-pthread", "-shared", "-fPIC", "-w"]
    if "clang" in COMPILER:
        options.remove("-fcx-fortran-rules")
    done = subprocess.run([COMPILER, *options, str(path), "-o", str(library)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    return ctypes.CDLL(str(library))


def run_elementwise(library, number, spec, arrays):
    """The outputs of a Spec on one-dimensional arrays, by name of the input."""
    n = next(iter(arrays.values())).size
    inputs = [np.ascontiguousarray(np.broadcast_to(arrays[name], (n,)).astype(dtype)) for name, dtype in spec.inputs]
    outputs = [np.empty(n, dtype=dtype) for _, dtype in spec.outputs]
    getattr(library, f"k{number}")(
        ctypes.c_longlong(n), *[a.ctypes.data_as(ctypes.c_void_p) for a in (*inputs, *outputs)]
    )
    return outputs
