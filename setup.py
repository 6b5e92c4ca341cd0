"""Builds the compiled modules: every .pyx under src/, as C++17. Metadata and tool settings stand in pyproject.toml.

Before, the C++ of elementwise rules is written out of the table of operations (`table_kernels`).

Each .pyx is compiled by itself, and all are linked into one library, `arraygrad._compiled`, whose module of that name
tells `import` what else is in it (src/arraygrad/_compiled.pyx says why).

Environment variables choose the kind of build (each kind is built in a folder of its own under build/):

ARRAYGRAD_DEBUG=1                            asserts on, live-object counters, index and None checks, -O0 -g
ARRAYGRAD_SANITIZE=thread|address,undefined  instrumented by the compiler's sanitizers, -O1 -g
ARRAYGRAD_TRACE=1                            line events for coverage of .pyx files (the C++ then lies beside them)
ARRAYGRAD_JOBS=n                             modules compiled at a time (default: the cores this process may use)

C++ and .pyx code find the macro ARRAYGRAD_DEBUG defined in a debug build, and only there.
"""

import functools
import hashlib
import importlib
import json
import os
import re
import struct
import sys
import sysconfig
import tempfile
import tomllib
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError, LinkError

sys.path.insert(0, str(Path(__file__).resolve().parent / "packaging"))
import census
import mending

del sys.path[0]

SOURCE = Path("src")
LIBRARY = "arraygrad._compiled"
# What Cython's utility functions are in, once for all modules: written by Cython, imported by nothing but the modules.
UTILITY = "arraygrad._cyutility"
MSVC = sys.platform == "win32"

# What is compiled against NumPy's headers (tests/package/test_layers.py holds all others to do without).
NUMPY_MODULES = "arraygrad.backends.numpy."
# What includes the kernels that are written out of the table.
KERNELS = "arraygrad.backends.numpy.elementwise"


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
# The functions that everyday programs call, by module. All others of these modules are compiled for size.
EVERYDAY = Path("packaging") / "everyday_functions.txt"
# What each module of a release build includes first.
ERROR_PATHS = SOURCE / "arraygrad" / "engine" / "error_paths.hpp"

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
    if not MSVC:
        # Cython compresses each module's strings by itself. A wheel compresses all together, to half of that, and an
        # import has nothing to unpack.
        defined.append(("CYTHON_COMPRESS_STRINGS", "0"))
    if TRACE:
        # sys.monitoring (Python 3.13 and later) does not report .pyx lines to coverage; the older interface does.
        defined += [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]
    return defined


def compiler_flags() -> list[str]:
    """Compiler options. Nothing that changes IEEE arithmetic: results are those of the plain formulas."""
    if MSVC:
        return msvc_flags()
    # Contracting a * b + c would round once where the plain formula rounds twice (clang does so by default).
    # Nothing reads errno after a function of <cmath>; setting it would keep square roots from being vectors. Both are
    # options of GCC and of clang, Apple's too.
    flags = ["-std=c++17", "-pthread", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno"]
    if SANITIZE:
        flags += [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-g", "-O1"]
    elif DEBUG:
        flags += ["-g", "-O0"]
    else:
        # -Os makes an eager call 1.5 times slower, -O2 kernels up to twice.
        flags += ["-g0", "-O3", "-ffunction-sections", "-fdata-sections", "-include", str(ERROR_PATHS)]
        flags += ["-fno-plt"] * (sys.platform == "linux")  # calls of Python's functions without a table of jumps
    # Debugging keeps assert() of C headers even where Python's own flags switch it off.
    return flags + ["-UNDEBUG"] * DEBUG


def msvc_flags() -> list[str]:
    """The same for Microsoft's compiler; setuptools adds /EHsc (C++ exceptions), /MD and /W3."""
    if SANITIZE not in ("", "address"):
        raise SystemExit(f"ARRAYGRAD_SANITIZE={SANITIZE}: of the sanitizers this compiler has address alone")
    return [
        "/std:c++17",
        "/Zc:__cplusplus",  # the macro says 1997 otherwise
        "/Zc:preprocessor",  # macros that pass __VA_ARGS__ on, as the standard has it
        "/utf-8",  # whatever the machine's code page is
        "/bigobj",  # templates make more sections than an object file holds by default
        "/fp:precise",  # IEEE arithmetic; a * b + c is not contracted, unless /fp:contract asks for it
        "/Od" if DEBUG else "/O2",
        *["/fsanitize=address", "/Zi"] * bool(SANITIZE),
        *["/UNDEBUG"] * DEBUG,
    ]


def linker_flags() -> list[str]:
    """Linker options."""
    if MSVC:
        return []
    # macOS has threads in its C library, and clang warns of an option that its linker has no use for.
    threads = ["-pthread"] if sys.platform != "darwin" else []
    return threads + [f"-fsanitize={SANITIZE}"] * bool(SANITIZE)


# Size of a release build. Code that GCC copies into each place that calls it, and whole functions for one value of an
# argument, make calls faster by 3 to 6 in a hundred instructions, and modules larger by a third. So it is worth it in
# the modules that take a hundredth or more of the instructions of some everyday program, by callgrind: FAST.
FAST = {
    *["arraygrad._cyutility", "arraygrad.adoption.of_lists", "arraygrad.core.calls"],
    *["arraygrad.adoption.bindings", "arraygrad.adoption.exchange", "arraygrad.backends.numpy.array_ops"],
    *["arraygrad.backends.numpy.ndarrays", "arraygrad.backends.numpy.contents"],
    "arraygrad.backends.numpy.elementwise",
    *["arraygrad.backends.numpy.factorizations", "arraygrad.backends.numpy.linalg", "arraygrad.backends.numpy.loops"],
    *["arraygrad.backends.numpy.reductions", "arraygrad.backends.numpy.shapes", "arraygrad.backends.numpy.sines"],
    *["arraygrad.backends.numpy.single", "arraygrad.backends.numpy.sorting", "arraygrad.core.accumulators"],
    *["arraygrad.core.apply", "arraygrad.core.containers", "arraygrad.core.elements", "arraygrad.core.function"],
    *["arraygrad.core.exposed_memory", "arraygrad.core.inplace", "arraygrad.core.interned_args"],
    *["arraygrad.core.nodes", "arraygrad.core.number_kinds", "arraygrad.core.number_ops"],
    "arraygrad.core.numpy_primitives",
    *["arraygrad.core.protocols", "arraygrad.core.saved_variables"],
    *["arraygrad.core.value", "arraygrad.core.views", "arraygrad.engine.arrayops", "arraygrad.engine.engine"],
    *["arraygrad.engine.evaluate", "arraygrad.engine.graph_task", "arraygrad.engine.node", "arraygrad.engine.numbers"],
    "arraygrad.engine.thread_main",
    *["arraygrad.program.form", "arraygrad.transforms.tracked_call_base"],
}
UNALIGNED = ["-fno-align-jumps", "-fno-align-loops", "-fno-align-labels"]
SPARING = [
    *["--param", "max-inline-insns-auto=8", "--param", "max-inline-insns-single=40"],
    *["--param", "inline-unit-growth=10", "--param", "inline-min-speedup=30", "--param", "early-inlining-insns=6"],
    *["-fno-ipa-cp-clone", "-fno-tree-partial-pre", "-fno-split-paths", "-fno-gcse-after-reload", *UNALIGNED],
    "-fno-align-functions",
]
# For modules with C++ of their own over NumPy's arrays, where what is copied is a loop's body more often.
SPARING_LOOPS = [
    *["--param", "max-inline-insns-auto=15", "--param", "max-inline-insns-single=70"],
    *["--param", "inline-min-speedup=30", "--param", "early-inlining-insns=6"],
]
OWN_HEADER = re.compile(r'^cdef extern from "\w+\.hpp"', re.MULTILINE)
# What runs once in a program, once for a function that is recorded, or rarely: less than one in two hundred of those
# instructions, in any of the programs.
SMALL = {
    *["arraygrad._compiled", "arraygrad.adoption.builtin_answers"],
    *["arraygrad.backends.cuda.prepared", "arraygrad.backends.cuda.row_plans"],
    *["arraygrad.backends.numpy.table", "arraygrad.backends.numpy.ufunc_calls", "arraygrad.core.barriers"],
    *["arraygrad.core.convert", "arraygrad.core.copies", "arraygrad.core.decisions", "arraygrad.core.exports"],
    *["arraygrad.core.graph_ops", "arraygrad.core.leaf_locks", "arraygrad.core.number_lists"],
    "arraygrad.core.saved_tensor",
    *["arraygrad.core.ufunc_methods", "arraygrad.engine.anomaly", "arraygrad.engine.context"],
    "arraygrad.engine.sharing",
}


def size_flags(module: Extension) -> list[str]:
    """What makes a module of a release build smaller; the compiler need not know it."""
    if MSVC or DEBUG or SANITIZE:
        return []
    if module.name in SMALL:
        return ["-Os"]
    if module.name in FAST:
        return [] if module.name.startswith(NUMPY_MODULES) else UNALIGNED
    return SPARING_LOOPS if module.name.startswith(NUMPY_MODULES) and has_own_header(module.name) else SPARING


def has_own_header(name: str) -> bool:
    """Whether a module's .pyx or .pxd takes anything from a C++ header of the package."""
    stem = SOURCE.joinpath(*name.split("."))
    paths = [path for suffix in (".pyx", ".pxd") if (path := stem.with_suffix(suffix)).exists()]
    return any(OWN_HEADER.search(path.read_text(encoding="utf-8")) for path in paths)


class Library(Extension):
    """The library of all modules: what it is linked with."""

    def __init__(self, modules: list[Extension]) -> None:
        sources = [source for module in modules for source in module.sources]
        super().__init__(LIBRARY, sources, language="c++", extra_link_args=linker_flags())
        self.modules = modules


@functools.cache
def includes(path: Path) -> list[str]:
    """The names that a file includes. Headers are those of many modules, and do not change while they are compiled."""
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


def included(source: str, folders: list[str]) -> list[str]:
    """The headers of these folders that a C++ file includes, itself or by one of them."""
    found: dict[Path, None] = {}
    waiting = [Path(source), ERROR_PATHS]
    while waiting:
        path = waiting.pop()
        for name in includes(path):
            for folder in (path.parent, *map(Path, folders)):
                header = folder / name
                if header.exists():
                    if header not in found:
                        found[header] = None
                        waiting.append(header)
                    break
    return [str(ERROR_PATHS), *map(str, found)]


def newer_group(sources: list[str], target: str) -> bool:
    """Whether a file is missing, or older than one that it is made of."""
    # setuptools has such a function in its modules of some versions only.
    if not os.path.exists(target):
        return True
    made = os.path.getmtime(target)
    return any(os.path.getmtime(source) > made for source in sources)


def write(name: str, text: str) -> Path:
    """The path of a file under the build's folder, written if it says anything new."""
    path = BUILD / "include" / name
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path


def table_kernels() -> str:
    """The text of table_kernels.cpp: C++ of the elementwise rules of the table.

    The table is plain Python, but its packages import what is not built yet: empty modules stand in for them.
    """
    packages = ["arraygrad", "arraygrad.ops", "arraygrad.backends", "arraygrad.backends.numpy"]
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "arraygrad"}
    for name in before:
        del sys.modules[name]
    for name in packages:
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(SOURCE.joinpath(*name.split(".")))]
    try:
        return importlib.import_module("arraygrad.backends.numpy.kernels").source()
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "arraygrad"]:
            del sys.modules[name]
        sys.modules.update(before)


def write_names(names: list[str]) -> Path:
    """Writes the header that tells the library what is in it, if it says anything new. Raises SystemExit where two
    modules have one name: a library has one PyInit_<last part>."""
    for name in names:
        same = [other for other in names if other.rpartition(".")[2] == name.rpartition(".")[2]]
        if same != [name]:
            raise SystemExit(f"the last parts of compiled modules' names must differ: rename one of {', '.join(same)}")
    functions = {name: f"PyInit_{name.rpartition('.')[2]}" for name in names}
    lines = [
        "// Written by setup.py: the compiled modules of the library, and what makes each.",
        '#include "Python.h"',
        *[f"PyMODINIT_FUNC {function}(void);" for function in functions.values()],
        "struct CompiledModule { const char* name; PyObject* (*init)(void); };",
        "static const CompiledModule ARRAYGRAD_MODULES[] = {",
        *[f'    {{"{name}", {function}}},' for name, function in functions.items()],
        "};",
        f"static const int ARRAYGRAD_MODULE_COUNT = {len(names)};",
    ]
    return write("modules.hpp", "\n".join(lines) + "\n")


def extensions() -> list[Extension]:
    """One per .pyx under src/, and that of Cython's utility functions."""
    made = [
        Extension(
            UTILITY,
            [str(SOURCE.joinpath(*UTILITY.split(".")).with_suffix(".cpp"))],
            include_dirs=[str(SOURCE / "arraygrad" / "engine")],
            define_macros=macros(),
            extra_compile_args=compiler_flags(),
        )
    ]
    paths = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in sorted(SOURCE.rglob("*.pyx"))}
    written = write_names([UTILITY, *[name for name in paths if name != LIBRARY]])
    kernels = write("table_kernels.cpp", table_kernels())
    for name, path in paths.items():
        # node.pxd and value.pxd include headers of their rooms, a module its own folder's (the C++ is under build/).
        include = [str(SOURCE / "arraygrad" / room) for room in ("engine", "core")] + [str(path.parent)]
        extra = []
        if name == LIBRARY:
            include.append(str(written.parent))
            extra.append(("CYTHON_EXTERN_C", 'extern "C"'))  # its public function's linkage: module_import.hpp
        if name.startswith(NUMPY_MODULES):
            import numpy

            include.append(numpy.get_include())
            extra.append(("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"))
        made.append(
            Extension(
                name,
                [str(path), str(kernels)] if name == KERNELS else [str(path)],
                language="c++",
                include_dirs=include,
                define_macros=macros() + extra,
                extra_compile_args=compiler_flags(),
            )
        )
    return made


# What writes stubs and pages of the documentation, and reads or writes files of the repository: of no use elsewhere.
OF_THE_REPOSITORY = re.compile(r"generate(_\w+)?|docstring_examples|scipy_survey|tensor_members")


def is_of_use(path: Path) -> bool:
    """Whether a file belongs in a wheel: no stub of a module that has nothing for Python, or nothing for programs."""
    if path.suffix != ".pyi":
        return True
    filled = re.search(r"^(?!#).", path.read_text(encoding="utf-8"), re.MULTILINE)
    return filled is not None and path in stubs_of_use()


@functools.cache
def stubs_of_use() -> frozenset[Path]:
    """The stubs that a type checker reads of a program: those beside Python, and what they lead to.

    Other compiled modules are arraygrad's own business. Their stubs serve its own checks, which run on the sources.
    """
    stubs = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.pyi")}
    waiting = [name for name, path in stubs.items() if not path.with_suffix(".pyx").exists()]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in stubs and name not in found:
            found.add(name)
            text = stubs[name].read_text(encoding="utf-8")
            waiting += [target for pair in STUB_IMPORT.findall(text) for target in pair if target]
            waiting += [f"{package}.{one}" for package, names in STUB_NAMES.findall(text) for one in names.split(", ")]
    return frozenset(stubs[name] for name in found)


STUB_IMPORT = re.compile(r"^ *(?:from (arraygrad[\w.]*) import|import (arraygrad[\w.]*))", re.MULTILINE)
STUB_NAMES = re.compile(r"^ *from (arraygrad[\w.]*) import ([\w, ]+)", re.MULTILINE)


class BuildPy(build_py):
    """The usual command, which also puts the demo's models from examples/ into the wheel, and leaves out what only the
    repository needs."""

    def find_package_modules(self, package, package_dir):
        found = super().find_package_modules(package, package_dir)
        if package != "arraygrad.tools" or self.editable_mode:
            return found
        return [module for module in found if not OF_THE_REPOSITORY.fullmatch(module[1])]

    def find_data_files(self, package, src_dir):
        found = super().find_data_files(package, src_dir)
        return found if self.editable_mode else [path for path in found if is_of_use(Path(path))]

    def run(self) -> None:
        super().run()
        # An editable install finds them where they are.
        if not self.editable_mode:
            folder = Path(self.build_lib) / "arraygrad" / "_examples"
            self.mkpath(str(folder))
            for path in sorted(Path("examples").glob("*.py")):
                self.copy_file(str(path), str(folder / path.name))


class BuildExt(build_ext):
    """The usual command, for one library out of many modules; it may also replace another kind of build's in place."""

    keeps_names = False

    def run(self) -> None:
        # Profilers and debuggers want the names of a build in place. (setuptools builds it as if it were none.)
        self.keeps_names = bool(self.inplace)
        super().run()

    def build_extension(self, library: Library) -> None:
        """Compiles the modules that changed, several at a time, and links all."""
        for module in library.modules:  # before several threads would ask
            self.accepted(*size_flags(module))
        for copied in (BUILD / "cython").rglob("*.hpp"):  # Cython's own, which would hide a newer one
            copied.unlink()
        with ThreadPoolExecutor(self.parallel or 1) as executor:
            objects = sorted(path for paths in executor.map(self.compiled, library.modules) for path in paths)
        path = self.get_ext_fullpath(library.name)
        # Builds in place and wheels are linked in one folder.
        kind = write("link.txt", "in place\n" if self.keeps_names else "for a wheel\n")
        order = order_of_sections(objects)
        if self.force or newer_group([*objects, str(kind), str(order)], path):
            # The compiler's class would leave a library that is newer than the objects, though it is of the other kind.
            Path(path).unlink(missing_ok=True)
            self.compiler.link_shared_object(
                objects,
                path,
                libraries=self.get_libraries(library),
                extra_postargs=library.extra_link_args + self.link_options(order),
                export_symbols=self.get_export_symbols(library),
                debug=self.debug,
                build_temp=self.build_temp,
                target_lang=library.language,
            )
        # A wheel takes all that is in the folder.
        remove_others(Path(self.build_lib), Path(path))

    def compiled(self, module: Extension) -> list[str]:
        """The object files of one module, made anew if anything that it is made of is newer."""
        objects = []
        for source in module.sources:
            (path,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
            objects.append(path)
            if self.force or newer_group([source, *included(source, module.include_dirs)], path):
                self.compiler.compile(
                    [source],
                    output_dir=self.build_temp,
                    macros=module.define_macros,
                    include_dirs=module.include_dirs,
                    debug=self.debug,
                    extra_postargs=module.extra_compile_args + self.accepted(*size_flags(module)),
                )
        return objects

    @functools.cache  # noqa: B019 (one command, which lives as long as the program)
    def accepted(self, *options: str) -> list[str]:
        """These options, or none where the compiler does not know them all."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "empty.cpp")
            source.write_text("", encoding="utf-8")
            try:
                self.compiler.compile([str(source)], output_dir=folder, extra_postargs=["-Werror", *options])
            except (CompileError, OSError):
                return []
        return list(options)

    def link_options(self, order: Path) -> list[str]:
        """What makes a release build's library smaller, as far as the linker knows it."""
        if MSVC or DEBUG or SANITIZE:
            return []
        # Cython writes many functions into each module that are the same in all: gold and lld keep one of them, where
        # nothing takes its address.
        options = self.linked("-fuse-ld=gold", "-Wl,--icf=safe")
        options += self.linked("-Wl,--gc-sections")
        # What Cython writes into many modules compresses better where its copies lie beside each other. Gold alone
        # takes a list; what it does not name stays in the modules' order.
        options += options and self.linked("-fuse-ld=gold", f"-Wl,--section-ordering-file={order}")
        options += self.linked(f"-Wl,--version-script={write('shown.txt', SHOWN)}")
        return options if self.keeps_names else options + self.linked("-Wl,--strip-all")

    def linked(self, *options: str) -> list[str]:
        """These options, or none where the linker does not know them all."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "empty.cpp")
            source.write_text("", encoding="utf-8")
            try:
                objects = self.compiler.compile([str(source)], output_dir=folder, extra_postargs=["-fPIC"])
                made = str(Path(folder, "empty.so"))
                self.compiler.link_shared_object(objects, made, extra_postargs=list(options), target_lang="c++")
            except (CompileError, LinkError, OSError):
                return []
        return list(options)

    def get_export_symbols(self, library: Library) -> list[str]:
        """What Windows' linker is told to show: the functions that `import` calls."""
        return [f"PyInit_{module.name.rpartition('.')[2]}" for module in library.modules]

    def copy_extensions_to_source(self) -> None:
        # Without force a file there that is newer stays, though it is of the other kind.
        self.force = True
        super().copy_extensions_to_source()
        remove_others(SOURCE, SOURCE / self.get_ext_filename(LIBRARY))


# What the library shows of itself, for a linker of ELF: what `import` calls.
SHOWN = "{ global: PyInit_*; local: *; };\n"


def order_of_sections(objects: list[str]) -> Path:
    """A list of sections: functions that Cython writes into many modules or for many types, by their names, and then
    what is seldom called, by size, as what is of one length is often alike: wrappers, other functions, and the parts of
    functions that are called more often."""
    found: set[bytes] = set()
    sizes: dict[bytes, int] = {}
    for path in objects:
        data = Path(path).read_bytes()
        found.update(UTILITY_SECTION.findall(data))
        sizes.update(sections(data))

    def seldom_key(name: bytes) -> tuple[bool, bool, int, bytes]:
        is_part = name.replace(b".unlikely", b"", 1) in sizes
        return is_part, b"__pyx_pw_" not in name, sizes[name], name

    seldom = {name for name in sizes if name.startswith(b".text.unlikely.")} - found
    names = sorted(found, key=section_key) + sorted(seldom, key=seldom_key)
    return write("sections.txt", "".join(f"{name.decode()}\n" for name in names))


def sections(data: bytes) -> list[tuple[bytes, int]]:
    """Name and size of each section of an object file; none where it is not ELF of 64 bits, low bytes first."""
    if data[:6] != b"\x7fELF\x02\x01":
        return []
    (start,) = struct.unpack_from("<Q", data, 0x28)
    step, count, names = struct.unpack_from("<3H", data, 0x3A)
    # Where there are many, the first header has their number and that of the names.
    count = count or struct.unpack_from("<Q", data, start + 0x20)[0]
    names = names if names != 0xFFFF else struct.unpack_from("<I", data, start + 0x28)[0]
    (texts,) = struct.unpack_from("<Q", data, start + names * step + 0x18)
    found = []
    for at in range(start, start + count * step, step):
        (name,) = struct.unpack_from("<I", data, at)
        name += texts
        found.append((data[name : data.index(b"\0", name)], struct.unpack_from("<Q", data, at + 0x20)[0]))
    return found


def section_key(name: bytes) -> tuple[bool, bytes, bytes]:
    """What starts modules comes first, as it runs together; what makes, frees and reads objects last, by kinds."""
    slot = re.search(rb"__pyx_(?:tp_[a-z]+|[gs]etprop)_", name)
    return b"__pyx_pymod_" not in name, slot[0] if slot else b"", name


def remove_others(folder: Path, library: Path) -> None:
    """Removes compiled modules of this Python that are not the library: older builds had a file for each module."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for path in folder.rglob(f"*{suffix}"):
        if path != library:
            path.unlink()


# A section's name in an object file.
UTILITY_SECTION = re.compile(
    rb"(?:\0|\.rela)(\.text\.[\w.]*?(?:__Pyx_|__pyx_(?:pymod|bisect|tp|getprop|setprop)_|Py_X?DECREF)[\w.]*)(?=\0)"
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def cythonized(modules: list[Extension], jobs: int) -> list[Extension]:
    """The modules, with C++ in the place of .pyx.

    What Cython writes into every module otherwise, the type of its functions and the parsing of arguments above all, is
    17 KB of each: they take it from UTILITY as they are imported. The library itself cannot, being what finds it.
    """
    options = {
        "nthreads": jobs if jobs > 1 else 0,
        "include_path": [str(SOURCE)],
        "compiler_directives": DIRECTIVES,
        # Coverage looks for the generated C++ beside the .pyx.
        "build_dir": None if TRACE else str(BUILD / "cython"),
    }
    shared = {"shared_utility_qualified_name": UTILITY, "shared_utility_features_disabled": ["MemoryView"]}
    library = [module for module in modules if module.name == LIBRARY]
    others = [module for module in modules if module.name != LIBRARY]
    defined = {module.name: module.define_macros for module in modules}
    made = cythonize(library, **options) + cythonize(others, **options, **shared)
    for module in made:
        # NumPy's .pxd names a macro, and Cython puts that in the place of all others.
        module.define_macros = list(dict.fromkeys([*defined[module.name], *module.define_macros]))
    return made


def everyday_functions() -> dict[str, frozenset[str]]:
    """Module -> its functions that everyday programs call, a method as Class_name, as EVERYDAY has them."""
    lines = [line for line in EVERYDAY.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {name: frozenset(functions.split()) for name, _, functions in (line.partition(":") for line in lines)}


def mended(modules):
    """The modules, with the C++ that Cython wrote mended (packaging/mending.py): modules of one library take functions
    of each other from the linker, and only the types and strings that they use. What everyday programs do not call is
    marked, and what is wrong where there is no memory is made safe."""
    everyday = {} if MSVC or DEBUG or SANITIZE or TRACE else everyday_functions()
    left_out = {"seldom called functions", "globals", "references"} if not everyday else set()
    left_out |= {"code objects"} if TRACE else set()
    left_out |= {"unused strings"} if MSVC else set()
    kinds = [kind for kind in census.FEWEST if kind not in left_out]
    paths = {module.name: Path(module.sources[0]) for module in modules}
    # What the last build has mended in the same way is as it left it, unless Cython has written it again since.
    memory = BUILD / "mended.json"
    BUILD.mkdir(parents=True, exist_ok=True)
    sources = (mending.__file__, census.__file__, EVERYDAY)
    how = digest(*[Path(one).read_text(encoding="utf-8") for one in sources], *kinds)
    known = json.loads(memory.read_text(encoding="utf-8")) if memory.exists() else {}
    known = known.get("modules", {}) if known.get("how") == how else {}
    texts = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
    texts = {name: text for name, text in texts.items() if known.get(name, [""])[0] != digest(text)}
    before = dict(texts)
    for name in texts.keys() - {LIBRARY}:
        texts[name] = mending.without_unused_types(mending.with_own_imports(texts[name]))
    texts = mending.linked_directly(texts)
    for name, text in texts.items():
        text = mending.with_checked_tracebacks(mending.with_safe_lists(mending.with_short_imports(text)))
        if "code objects" in kinds:
            text = mending.with_short_code_objects(text)
        if "unused strings" in kinds:  # MSVC compiles the strings in another form
            text = mending.without_unused_strings(text)
        if name in everyday:
            text = mending.with_seldom_marked(text, name, everyday[name])
        if everyday:
            text = mending.with_references_dropped(mending.with_globals_looked_up(text))
        if text != before[name]:
            paths[name].write_text(text, encoding="utf-8")
        known[name] = [digest(text), census.counts(text, kinds)]
    memory.write_text(json.dumps({"how": how, "modules": known}), encoding="utf-8")
    numbers = {name: known[name][1] for name in paths if name != LIBRARY}
    print(*census.report(numbers, kinds), sep="\n", flush=True)
    return modules


def digest(*texts: str) -> str:
    """What tells these texts from others."""
    return hashlib.blake2b("\0".join(texts).encode(), digest_size=16).hexdigest()


def long_description() -> str:
    """README.md for the package's page, where links to files of the tree have to be whole addresses."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = re.search(r'__version__ = "(.+)"', (SOURCE / "arraygrad" / "_version.py").read_text(encoding="utf-8"))
    base = f"{project['urls']['Source']}/blob/v{version[1]}/"
    return re.sub(r"\]\((?![a-z]+:|#)", f"]({base}", Path("README.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    # The guard is needed: cythonize's worker processes may import this file.
    jobs = job_count()
    modules = cythonized(extensions(), jobs)
    setup(
        long_description=long_description(),
        long_description_content_type="text/markdown",
        ext_modules=[Library(mended(modules))],
        cmdclass={"build_py": BuildPy, "build_ext": BuildExt},
        options={"build": {"build_base": str(BUILD)}, "build_ext": {"parallel": jobs}},
    )
