"""Imports point one way: every import and cimport of the package is read and held to the order of docs/architecture.md.

Imports nothing of arraygrad, but for one subprocess that shows which array libraries `import arraygrad` loads.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from sources import PACKAGE, Import, cython_imports, imports_of, module_name, python_imports, source_files

SOURCES = source_files(".py", ".pyx", ".pxd")
FILES = source_files(".py", ".pyx", ".pxd", ".hpp")
NAMESPACES = {"numpy", "cupy", "torch", "jax", "dask", "array_api_strict"}
OPTIONAL_LIBRARIES = {"cupy", "torch", "jax", "jaxlib", "dask", "array_api_strict", "scipy", "sklearn", "matplotlib"}
# What knows NumPy's C API, and how the other compiled modules reach it.
NUMPYS_OWN = {"ndarrays", "loops", "contents", "kernel_programs", "ufunc_loops", "c_api"}
ARRAY_LIBRARIES = {"numpy", "cupy", "torch", "jax", "dask", "array_api_strict", "array_api_compat", "scipy"}

ENGINE = {
    f"engine.{name}"
    for name in (
        "arrayops",
        "free_threading",
        "node",
        "dead_gradients",
        "input_buffer",
        "hooks",
        "anomaly",
        "graph_task",
        "switch",
        "modes",
        "context",
        "streams",
        "pool",
        "sharing",
        "later",
        "lifecycle",
        "evaluate",
        "thread_main",
        "threads",
        "numbers",
        "engine",
    )
}
# What the loop of a thread is made of: neither the loop, nor the threads, nor a whole run.
RUN = ENGINE - {f"engine.{name}" for name in ("engine", "pool", "thread_main", "threads")}
# What each room may import of arraygrad. A room may import itself only where it is named.
MAY_IMPORT = {
    "_version": set(),
    "_interpreter": set(),
    "_compiled": set(),
    "_hints": set(),
    "_progress": set(),
    "_first_use": {"_hints"},
    "engine": set(),  # the package's own __init__: a docstring
    "engine.free_threading": set(),
    "engine.arrayops": {"engine.free_threading"},
    "engine.later": set(),
    "engine.node": {"engine.arrayops", "engine.free_threading", "engine.later"},
    "engine.dead_gradients": {"engine.node"},
    "engine.input_buffer": {"engine.arrayops", "engine.node"},
    "engine.hooks": {"engine.arrayops", "engine.node"},
    "engine.anomaly": {"engine.arrayops", "engine.node"},
    "engine.lifecycle": set(),
    "engine.switch": set(),
    "engine.modes": {"engine.switch"},
    "engine.context": {"engine.node", "engine.graph_task"},
    "engine.graph_task": {"engine.arrayops", "engine.free_threading", "engine.node", "engine.input_buffer"},
    "engine.streams": ENGINE
    & {f"engine.{n}" for n in ("arrayops", "free_threading", "node", "input_buffer", "graph_task")},
    "engine.pool": set(),
    "engine.sharing": set(),
    "engine.evaluate": RUN - {"engine.evaluate", "engine.numbers"},
    "engine.numbers": RUN - {"engine.numbers"},
    "engine.thread_main": RUN,
    "engine.threads": RUN | {"engine.pool", "engine.thread_main"},
    "engine.engine": ENGINE - {"engine.engine"},
    "core.op": {"engine.arrayops", "engine.node", "_hints"},
    "ops": {"core.op", "ops"},
    # The compiled layer's own modules, each on the ones before it.
    "core": set(),  # the package's own __init__: a docstring
    "core.containers": set(),
    "core.value": ENGINE | {"core.op"},
    "core.write_protection": ENGINE | {"core.op", "core.value"},
    "core.attributes": {"core.value", "core.views", "engine.node", "_hints"},
    "core.saved_tensors_hooks": ENGINE | {"core.op", "core.value"},
    "core.constant_checks": ENGINE | {"core.op", "core.value"},
    "core.exposed_memory": ENGINE | {"core.op", "core.value", "core.write_protection", "core.constant_checks"},
    "core.leaf_locks": {"engine.free_threading", "core.value"},
    "core.saved_numbers": ENGINE | {"core.op", "core.value"},
    "core.accumulators": ENGINE | {"core.value", "core.write_protection", "core.leaf_locks"},
    "core.nodes": ENGINE
    | {f"core.{name}" for name in ("op", "value", "saved_tensors_hooks", "constant_checks", "saved_numbers")},
    "core.written_scalars": {"core.value"},
    "core.operands": {"engine.arrayops", "core.op", "core.value", "core.written_scalars"},
    "core.arguments": {"core.op", "core.value", "core.operands"},
    "core.number_kinds": {"core.operands", "core.value"},
    "core.interned_args": {"engine.free_threading", "core.op"},
    "core.saved_variables": ENGINE
    | {
        f"core.{name}"
        for name in ("op", "value", "saved_tensors_hooks", "constant_checks", "arguments", "interned_args", "nodes")
    },
    "core.number_ops": ENGINE
    | {f"core.{name}" for name in ("op", "value", "accumulators", "nodes", "saved_variables", "written_scalars")},
    "core.decisions": ENGINE | {"core.op", "core.value"},
    "core.apply": ENGINE
    | {
        f"core.{name}"
        for name in (
            "op",
            "value",
            "saved_tensors_hooks",
            "operands",
            "arguments",
            "decisions",
            "accumulators",
            "nodes",
            "saved_variables",
            "number_kinds",
            "number_ops",
            "written_scalars",
        )
    },
    "core.convert": ENGINE | {f"core.{name}" for name in ("op", "value", "nodes", "apply")},
    "core.exports": {"_hints"}
    | {f"core.{name}" for name in ("value", "write_protection", "exposed_memory", "operands", "apply", "convert")},
    "core.inplace": ENGINE
    | {
        f"core.{name}"
        for name in (
            "op",
            "value",
            "write_protection",
            "exports",
            "operands",
            "arguments",
            "accumulators",
            "nodes",
            "saved_variables",
            "apply",
            "written_scalars",
        )
    },
    "core.number_lists": ENGINE | {f"core.{name}" for name in ("op", "value", "nodes", "number_ops", "apply")},
    "core.elements": ENGINE
    | {f"core.{name}" for name in ("op", "value", "write_protection", "nodes", "apply", "inplace")},
    "core.views": ENGINE
    | {
        f"core.{name}"
        for name in ("op", "value", "arguments", "interned_args", "nodes", "saved_variables", "apply", "elements")
    },
    "core.barriers": ENGINE | {f"core.{name}" for name in ("op", "value", "accumulators", "nodes", "apply")},
    "core.function": ENGINE
    | {
        f"core.{name}"
        for name in (
            "op",
            "value",
            "write_protection",
            "saved_tensors_hooks",
            "constant_checks",
            "exposed_memory",
            "accumulators",
            "nodes",
            "apply",
            "inplace",
            "barriers",
        )
    },
    "core.saved_tensor": ENGINE
    | {
        f"core.{name}"
        for name in ("op", "value", "saved_tensors_hooks", "constant_checks", "saved_numbers", "nodes", "function")
    },
    "core.adopted": ENGINE | {f"core.{name}" for name in ("op", "value", "apply", "convert", "inplace")},
    "core.protocol_shapes": ENGINE
    | {f"core.{name}" for name in ("op", "value", "nodes", "apply", "number_lists", "views")},
    "core.ufunc_methods": ENGINE | {f"core.{name}" for name in ("op", "value", "apply", "views")},
    "core.numpy_primitives": ENGINE
    | {
        f"core.{name}"
        for name in ("op", "operands", "value", "arguments", "nodes", "apply", "decisions", "saved_variables", "views")
    },
    "core.protocols": ENGINE
    | {
        f"core.{name}"
        for name in (
            "op",
            "operands",
            "value",
            "nodes",
            "apply",
            "convert",
            "decisions",
            "protocol_shapes",
            "numpy_primitives",
            "ufunc_methods",
        )
    },
    "core.copies": ENGINE | {f"core.{name}" for name in ("op", "value", "attributes", "operands", "apply")},
    "core.calls": {"core.op", "core.value", "core.apply", "core.views", "core.written_scalars", "engine.node"},
    "core.graph_ops": ENGINE
    | {
        f"core.{name}"
        for name in (
            "op",
            "value",
            "constant_checks",
            "leaf_locks",
            "accumulators",
            "nodes",
            "apply",
            "barriers",
            "copies",
        )
    },
    "core.roots": ENGINE | {f"core.{name}" for name in ("op", "value", "accumulators", "nodes", "apply")},
}
CORE = {name for name in MAY_IMPORT if name.startswith("core")} | {"core.tensor", "core.constructors"}
NOT_YET = {"core.tensor", "core.constructors", "core.calls", "core.containers", "core.function"}
MAY_IMPORT["core.tensor"] = ENGINE | CORE - NOT_YET
MAY_IMPORT["core.constructors"] = ENGINE | CORE - NOT_YET | {"core.tensor"}
# The rooms above, each on the ones before it and on itself.
BELOW = ENGINE | CORE
MAY_IMPORT["backends"] = BELOW | {"ops", "backends"}
MAY_IMPORT["namespaces"] = MAY_IMPORT["backends"] | {"namespaces", "special", "_hints", "_first_use"}
MAY_IMPORT["special"] = MAY_IMPORT["namespaces"] - {"special"}
MAY_IMPORT["numpy_api"] = MAY_IMPORT["backends"] | {"namespaces", "numpy_api", "_hints"}
MAY_IMPORT["libraries"] = MAY_IMPORT["numpy_api"] | {"libraries"}
MAY_IMPORT["autograd"] = BELOW | {"autograd", "_first_use", "_hints"}
MAY_IMPORT["adoption"] = MAY_IMPORT["autograd"] | MAY_IMPORT["numpy_api"] | {"special", "interop", "adoption"}
MAY_IMPORT["testing"] = MAY_IMPORT["adoption"] | {"testing", "_progress"}
MAY_IMPORT["program"] = MAY_IMPORT["backends"] | {"program"}
MAY_IMPORT["batches"] = MAY_IMPORT["program"] | {"batches"}
MAY_IMPORT["transforms"] = MAY_IMPORT["adoption"] | MAY_IMPORT["batches"] | {"transforms", "_hints", "_progress"}
MAY_IMPORT["implicit"] = MAY_IMPORT["transforms"] | {"implicit"}
MAY_IMPORT["interop"] = MAY_IMPORT["autograd"] | MAY_IMPORT["backends"] | {"interop"}
MAY_IMPORT["typing"] = {"core.tensor", "core.constructors"}
MAY_IMPORT["memory"] = MAY_IMPORT["backends"]
# The package's face, and what stands on the finished package.
MAY_IMPORT["face"] = (set(MAY_IMPORT) | {
    "_compiled", "_first_use", "_hints", "_interpreter", "_version",
}) - {"face"}  # fmt: skip
MAY_IMPORT["scipy"] = MAY_IMPORT["face"] | {"face", "scipy"}  # computes with the finished package
MAY_IMPORT["tools"] = MAY_IMPORT["face"] | {"face", "scipy", "tools"}


def room_of(module: str) -> str:
    """The room of a module of arraygrad, given by its dotted name."""
    parts = module.split(".")[1:]
    if not parts:
        return "face"
    first = parts[0]
    if first in ("engine", "core"):
        return ".".join(parts[:2])
    if first in NAMESPACES | {"fft", "linalg"}:
        return "libraries"
    return "tools" if first == "__main__" else first


def internal(path: Path) -> list[Import]:
    """The imports of one file that stay within arraygrad, without those of the file itself (a .pyx and its .pxd)."""
    own = module_name(path)
    return [found for found in imports_of(path) if found.target.split(".")[0] == "arraygrad" and found.target != own]


def relative(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


# Each of these tests reads all files: as a test for each file they were two thousand, which cost more than the reading.


def test_imports_point_downwards():
    wrong = []
    for path in SOURCES:
        room = room_of(module_name(path))
        for found in internal(path):
            if room_of(found.target) not in MAY_IMPORT[room]:
                wrong.append(f"{found} ({room_of(found.target)}); {room} may import {sorted(MAY_IMPORT[room])}")
    assert not wrong, "\n".join(wrong)


def test_modules_import_each_other_without_a_cycle():
    imported = {module_name(path): set() for path in SOURCES}
    for path in SOURCES:
        name = module_name(path)
        # A package's face gathers its modules, and they may use what it holds: that circle is meant.
        imported[name].update(found.target for found in internal(path) if not found.target.startswith(f"{name}."))
    # What imports nothing that is left, or is imported by nothing that is left, stands in no circle.
    while True:
        left = {name: targets & imported.keys() - {name} for name, targets in imported.items()}
        wanted = set().union(*left.values())
        free = [name for name, targets in left.items() if not targets or name not in wanted]
        if not free:
            break
        for name in free:
            del imported[name]
    assert not left, f"these modules import each other in a circle: {left}"


def test_engine_knows_no_array_library():
    files = [path for path in FILES if path.parent.name == "engine"]
    headers = [path for path in files if path.suffix == ".hpp"]
    assert headers
    assert len(headers) < len(files)
    wrong = [relative(path) for path in headers if "numpy/" in path.read_text()]
    for path in set(files) - set(headers):
        wrong += [str(found) for found in imports_of(path) if found.target.split(".")[0] in ARRAY_LIBRARIES]
    assert not wrong


def test_only_modules_that_know_numpys_c_api_cimport_numpy():
    wrong = [
        str(found)
        for path in SOURCES
        for found in imports_of(path)
        if found.compiled and found.target.split(".")[0] == "numpy" and path.stem not in NUMPYS_OWN
    ]
    assert not wrong


def test_importing_arraygrad_imports_no_optional_library():
    code = f"import sys, arraygrad; print(sorted({OPTIONAL_LIBRARIES!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_files_begin_by_saying_what_they_hold():
    wrong = []
    for path in FILES:
        first = (path.read_text().lstrip().splitlines() or ["nothing"])[0]
        marks = ("//", "/*") if path.suffix == ".hpp" else ("#", '"""', 'r"""')
        if not first.startswith(marks):
            wrong.append(f"{relative(path)} begins with {first}, not with a docstring or comment")
    assert not wrong, "\n".join(wrong)


# The namespaces are a few lines each and all alike: the map in docs says once what they may import.
def test_files_say_at_their_top_what_they_may_import():
    wrong = []
    for path in SOURCES:
        if room_of(module_name(path)) == "libraries" or not imports_of(path):
            continue
        head = path.read_text().split("\nfrom ", 1)[0].split("\nimport ", 1)[0].split("\ncimport ", 1)[0]
        if "import" not in head.lower():
            wrong.append(relative(path))
    assert not wrong, f"these do not say before their first import what they may import: {wrong}"


def test_files_are_short_enough_to_be_one_concept():
    lengths = {relative(path): len(path.read_text().splitlines()) for path in FILES}
    assert not {path: lines for path, lines in lengths.items() if lines > 800}


# The reader itself: a check that reads nothing would pass for ever.


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("from . import kinds", ["arraygrad.ops.kinds"]),
        ("from ..core import tensor", ["arraygrad.core.tensor"]),
        ("from ..engine.node import (\n    Node,\n    Edge,\n)", ["arraygrad.engine.node"]),
        ("from arraygrad.engine import node, arrayops", ["arraygrad.engine.node", "arraygrad.engine.arrayops"]),
        ("import numpy as np, sys", ["numpy", "sys"]),
        ("def f():\n    from arraygrad.core import tensor", ["arraygrad.core.tensor"]),
    ],
)
@pytest.mark.parametrize("read", [python_imports, cython_imports])
def test_reader_finds_imports(read, text, targets):
    path = PACKAGE / "ops" / "elementwise.py"
    assert [found.target for found in read(path, text)] == targets


def test_reader_finds_cimports_outside_strings_and_comments():
    text = (
        '"""\nfrom numpy cimport a\n"""\n# cimport numpy\ncimport numpy as np  # why\nfrom .node cimport (\n  Node)\n'
    )
    found = list(cython_imports(PACKAGE / "engine" / "engine.pyx", text))
    assert [(one.target, one.compiled, one.line) for one in found] == [
        ("numpy", True, 5),
        ("arraygrad.engine.node", True, 6),
    ]
