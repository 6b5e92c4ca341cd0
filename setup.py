"""Builds the compiled modules: every .pyx under src/, as C++17. Metadata and tool settings stand in pyproject.toml.

Environment variables choose the kind of build (each kind is built in a folder of its own under build/):

ARRAYGRAD_DEBUG=1                            asserts on, live-object counters, index and None checks, -O0 -g
ARRAYGRAD_SANITIZE=thread|address,undefined  instrumented by the compiler's sanitizers, -O1 -g
ARRAYGRAD_TRACE=1                            line events for coverage of .pyx files (the C++ then lies beside them)
ARRAYGRAD_JOBS=n                             modules compiled at a time (default: the cores this process may use)

C++ and .pyx code find the macro ARRAYGRAD_DEBUG defined in a debug build, and only there.
"""

import os
import re
import sys
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

SOURCE = Path("src")
MSVC = sys.platform == "win32"

# What is compiled against NumPy's headers (tests/package/test_layers.py holds all others to do without).
NUMPY_MODULES = "arraygrad.backends.numpy_"


def flag(name: str) -> bool:
    """Whether the environment variable is set to something other than nothing, 0 or false."""
    return os.environ.get(name, "").strip().lower() not in ("", "0", "false", "no")


DEBUG = flag("ARRAYGRAD_DEBUG")
TRACE = flag("ARRAYGRAD_TRACE")
SANITIZE = os.environ.get("ARRAYGRAD_SANITIZE", "").replace(" ", "")
KIND = "-".join(["debug" if DEBUG else "release"] + ["trace"] * TRACE + [SANITIZE.replace(",", "-")] * bool(SANITIZE))

# Each kind of build and each Python has a folder of its own, so that nothing stale is linked or copied. (The C++ that
# Cython writes belongs to one Python as well: it follows the NumPy headers installed there.)
BUILD = Path("build") / f"{KIND}-{sysconfig.get_config_var('SOABI') or sys.implementation.cache_tag}"

DIRECTIVES = {
    "language_level": 3,
    "freethreading_compatible": True,
    "binding": True,
    # The next two keep generated helpers out of the modules, where the stub test would find them.
    "autotestdict": False,
    "auto_pickle": False,
    # A release build trusts indices and cdef-class attributes to be good; a debug build proves that they are.
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "nonecheck": DEBUG,
    "linetrace": TRACE,
}


def job_count() -> int:
    """How many modules to compile at a time."""
    asked = os.environ.get("ARRAYGRAD_JOBS", "")
    if asked:
        return max(1, int(asked))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def macros() -> list[tuple[str, str | None]]:
    """Preprocessor definitions of this kind of build."""
    defined: list[tuple[str, str | None]]
    defined = [("ARRAYGRAD_DEBUG", "1")] if DEBUG else [("CYTHON_WITHOUT_ASSERTIONS", "1"), ("NDEBUG", None)]
    if TRACE:
        # sys.monitoring (Python 3.13 and later) does not report .pyx lines to coverage; the older interface does.
        defined += [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]
    return defined


def compiler_flags() -> list[str]:
    """Compiler options. Nothing that changes IEEE arithmetic: results are those of the plain formulas."""
    if MSVC:
        return ["/std:c++17", "/Od" if DEBUG else "/O2"]
    # Contracting a * b + c would round once where the plain formula rounds twice.
    flags = ["-std=c++17", "-pthread", "-fvisibility=hidden", "-ffp-contract=off"]
    if SANITIZE:
        flags += [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-g", "-O1"]
    elif DEBUG:
        flags += ["-g", "-O0"]
    else:
        flags += ["-g0", "-O3"]
    # Debugging keeps assert() of C headers even where Python's own flags switch it off.
    return flags + ["-UNDEBUG"] * DEBUG


def linker_flags() -> list[str]:
    """Linker options."""
    if MSVC:
        return []
    return ["-pthread"] + [f"-fsanitize={SANITIZE}"] * bool(SANITIZE)


def extensions() -> list[Extension]:
    """One extension per .pyx under src/, and the headers each may include."""
    headers = sorted(str(path) for path in SOURCE.rglob("*.hpp"))
    made = []
    for path in sorted(SOURCE.rglob("*.pyx")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        # node.pxd includes the engine's headers, a module its own folder's (the C++ is written under build/).
        include = [str(SOURCE / "arraygrad" / "engine"), str(path.parent)]
        extra = []
        if name.startswith(NUMPY_MODULES):
            import numpy

            include.append(numpy.get_include())
            extra.append(("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"))
        made.append(
            Extension(
                name,
                [str(path)],
                language="c++",
                include_dirs=include,
                define_macros=macros() + extra,
                extra_compile_args=compiler_flags(),
                extra_link_args=linker_flags(),
                depends=headers,
            )
        )
    return made


class BuildPy(build_py):
    """The usual command, which also puts the demo's models from examples/ into the wheel."""

    def run(self) -> None:
        super().run()
        # An editable install finds them where they are.
        if not self.editable_mode:
            folder = Path(self.build_lib) / "arraygrad" / "_examples"
            self.mkpath(str(folder))
            for path in sorted(Path("examples").glob("*.py")):
                self.copy_file(str(path), str(folder / path.name))


class BuildExt(build_ext):
    """The usual command, which may also replace the modules of another kind of build beside the sources."""

    def copy_extensions_to_source(self) -> None:
        # Without force a file there that is newer stays, though it is of the other kind.
        self.force = True
        super().copy_extensions_to_source()


# What Cython 3.3 writes for [f(x) for x in y]: the helper takes the item over, and gives it up where the list cannot
# grow; then the way out gives it up again.
APPEND = re.compile(
    r"(if \(unlikely\(__Pyx_ListComp_AppendAndDecref\(\w+, (?:\(PyObject\*\))?(\w+)\)\)\)) (__PYX_ERR\([^)]*\))"
)


def mended(modules):
    """The modules, with the C++ that Cython wrote made safe where there is no memory for a list."""
    for module in modules:
        for path in map(Path, module.sources):
            if path.suffix in (".c", ".cpp"):
                text = path.read_text(encoding="utf-8")
                good = APPEND.sub(r"\1 { \2 = 0; \3 }", text)
                if good != text:
                    path.write_text(good, encoding="utf-8")
    return modules


if __name__ == "__main__":
    # The guard is needed: cythonize's worker processes may import this file.
    jobs = job_count()
    modules = cythonize(
        extensions(),
        nthreads=jobs if jobs > 1 else 0,
        include_path=[str(SOURCE)],
        compiler_directives=DIRECTIVES,
        # Coverage looks for the generated C++ beside the .pyx.
        build_dir=None if TRACE else str(BUILD / "cython"),
    )
    setup(
        ext_modules=mended(modules),
        cmdclass={"build_py": BuildPy, "build_ext": BuildExt},
        options={"build": {"build_base": str(BUILD)}, "build_ext": {"parallel": jobs}},
    )
