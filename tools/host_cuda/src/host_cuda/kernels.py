"""Kernels: g++ in NVRTC's place. A kernel's "cubin" is the path of the library that g++ made of it."""

import hashlib
import os
import re
import subprocess
import sys
import threading

from cupy.cuda import compiler, nvrtc

from . import CACHE, HERE

FLAGS = ("-std=c++17", "-O1", "-w", "-fpermissive", "-fPIC", "-ffp-contract=off")
FOLDER = os.path.join(CACHE, "kernels")
WITH_NVRTC = os.environ.get("HOST_CUDA_NVRTC") == "1"
HEADERS = os.path.join(os.environ["CUDA_PATH"], "include")

# Shared memory whose size the launch says
DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\s*\(\d+\)\s*)?([\w<>: ]+?)\s+(\w+)\s*\[\s*\]\s*;")
_BOUNDS = r"(?:__launch_bounds__\s*\([^)]*\)\s*)?"
_GLOBAL = rf"(?:__global__\s+{_BOUNDS}void|void\s+__global__)\s+{_BOUNDS}(\w+)\s*\("  # C++ takes them in either order
KERNEL = re.compile(rf'extern\s+"C"\s+{_GLOBAL}')
BLOCK_OF_C = re.compile(r'extern\s+"C"\s*\{')
KERNEL_IN_BLOCK = re.compile(_GLOBAL)


def names_of(source: str) -> list[str]:
    """The kernels that a source exports by their plain names."""
    return list(dict.fromkeys((KERNEL_IN_BLOCK if BLOCK_OF_C.search(source) else KERNEL).findall(source)))


def host_source(source: str, expressions: dict[str, str]) -> str:
    """A kernel's source with what g++ needs around it; `expressions`: by what name each name expression is exported."""
    text = DYNAMIC.sub(r"static \1* const \2 = reinterpret_cast<\1*>(hc_shared);", source)
    exports = [f"HC_KERNEL({name}, {name})" for name in names_of(source)]
    exports += [f"HC_KERNEL({name}, {expression})" for expression, name in expressions.items()]
    return "\n".join(['#include "kernel.h"', text, *exports, ""])


def build(source: str, options: tuple, expressions: dict[str, str], name: str) -> bytes:
    """The path of the library made of a source, from the cache where it is there."""
    flags = [*FLAGS, *(o for o in options if o.startswith(("-D", "-I", "-U"))), f"-I{HEADERS}"]
    text = host_source(source, expressions)
    key = hashlib.sha256(repr((text, flags)).encode()).hexdigest()[:40]
    os.makedirs(FOLDER, exist_ok=True)
    for ending in (".so", ".sync.so"):
        if os.path.exists(found := os.path.join(FOLDER, key + ending)):
            return found.encode() + b"\0"
    path = os.path.join(FOLDER, f"{key}.cpp")
    mine = f"{path}.{os.getpid()}.{threading.get_ident()}"
    with open(f"{mine}.cpp", "w") as file:
        file.write(text)
    done = subprocess.run(
        ["g++", *flags, f"-I{HERE}", "-shared", f"{mine}.cpp", "-o", f"{mine}.so"], capture_output=True, text=True
    )
    os.replace(f"{mine}.cpp", path)
    if done.returncode:
        print(f"host_cuda: g++ refused {path}", file=sys.stderr)
        raise compiler.CompileException(done.stderr, source, name, options)
    with open(f"{mine}.so", "rb") as file:
        synchronizes = b"\0hc_sync\0" in file.read()
    made = os.path.join(FOLDER, key + (".sync.so" if synchronizes else ".so"))
    os.replace(f"{mine}.so", made)
    return made.encode() + b"\0"


def compile_program(self, options=(), log_stream=None):
    """Takes the place of `cupy.cuda.compiler._NVRTCProgram.compile`."""
    expressions = {e: f"expression_{i}" for i, e in enumerate(self.name_expressions or ())}
    if WITH_NVRTC and self.src.strip():
        checked_by_nvrtc(self, options)
    image = build(self.src, tuple(options), expressions, self.name)
    return image, expressions or None


def checked_by_nvrtc(self, options) -> None:
    """NVRTC compiles without a GPU: raises what it has against the source, and prints its warnings."""
    program = nvrtc.createProgram(self.src, self.name, (), ())
    try:
        for expression in self.name_expressions or ():
            nvrtc.addNameExpression(program, expression)
        try:
            nvrtc.compileProgram(
                program, (*options, "--diag-suppress=177")
            )  # a variable that is never used: CuPy's own kernels have them
        except nvrtc.NVRTCError:
            raise compiler.CompileException(
                nvrtc.getProgramLog(program), self.src, self.name, options, "nvrtc"
            ) from None
        if "warning" in (log := nvrtc.getProgramLog(program)):
            print(f"host_cuda: NVRTC warns:\n{log}", file=sys.stderr)
    finally:
        nvrtc.destroyProgram(program)


def install() -> None:
    """From here on CuPy compiles by g++."""
    compiler._NVRTCProgram.compile = compile_program


def precompile_header() -> None:
    """Makes the headers that most kernels include quicker to read; build.sh calls it."""
    from cupy._core import core

    options = core.assemble_cupy_compiler_options(())
    flags = [*FLAGS, *(o for o in options if o.startswith(("-D", "-I"))), f"-I{HEADERS}"]
    subprocess.run(
        ["g++", *flags, "-x", "c++-header", os.path.join(HERE, "kernel.h"), "-o", os.path.join(HERE, "kernel.h.gch")],
        check=True,
    )
