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
NUMPYS_OWN = {"numpy_loops", "numpy_contents", "numpy_c"}
ARRAY_LIBRARIES = {"numpy", "cupy", "torch", "jax", "dask", "array_api_strict", "array_api_compat", "scipy"}

ENGINE = {
    f"engine.{name}"
    for name in (
        "arrayops",
        "free_threading",
        "node",
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
        "lifecycle",
        "evaluate",
        "engine",
    )
}
# What each room may import of arraygrad. A room may import itself only where it is named.
MAY_IMPORT = {
    "_version": set(),
    "_interpreter": set(),
    "_compiled": set(),
    "engine": set(),  # the package's own __init__: a docstring
    "engine.free_threading": set(),
    "engine.arrayops": {"engine.free_threading"},
    "engine.node": {"engine.arrayops", "engine.free_threading"},
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
    "engine.evaluate": ENGINE - {"engine.engine", "engine.evaluate", "engine.pool"},
    "engine.engine": ENGINE - {"engine.engine"},
    "op": {"engine.arrayops", "engine.node"},
    "ops": {"op", "ops"},
    # The tensor's own modules, each on the ones before it.
    "value": ENGINE | {"op"},
    "attributes": {"value"},
    "saved": ENGINE | {"op", "value"},
    "constants": ENGINE | {"op", "value"},
    "given": ENGINE | {"op", "value", "constants"},
    "nodes": ENGINE | {"op", "value", "saved", "constants"},
    "saving": ENGINE | {"op", "value", "saved", "constants", "nodes"},
    "operands": {"op", "value"},
    "apply": ENGINE | {"op", "value", "saved", "operands", "nodes", "saving"},
    "inplace": ENGINE | {"op", "value", "operands", "nodes", "saving", "apply"},
    "function": ENGINE | {"op", "value", "saved", "constants", "nodes", "apply", "inplace"},
    "saved_handles": ENGINE | {"op", "value", "saved", "constants", "nodes", "function"},
    "convert": ENGINE | {"op", "value", "nodes", "apply"},
    "protocol_shapes": ENGINE | {"op", "value", "nodes", "apply"},
    "protocols": ENGINE | {"op", "value", "nodes", "apply", "protocol_shapes"},
    "copies": ENGINE | {"op", "value", "attributes", "operands", "apply"},
    "calls": {"op", "value", "apply"},
    "graph_ops": ENGINE | {"op", "value", "constants", "nodes", "apply", "copies"},
    "roots": ENGINE | {"op", "value", "nodes", "apply"},
    "tensor": ENGINE
    | {"op", "value", "attributes", "given", "operands", "nodes", "saving", "apply", "inplace", "convert", "copies"}
    | {"graph_ops", "protocols", "roots"},
}
MAY_IMPORT["backends"] = MAY_IMPORT["tensor"] | {
    "ops",
    "tensor",
    "backends",
    "saved",
    "constants",
    "function",
}
MAY_IMPORT["_bind"] = MAY_IMPORT["backends"] | {"_bind", "calls"}
MAY_IMPORT["_namespace"] = MAY_IMPORT["_bind"] | {"_namespace"}
MAY_IMPORT["namespaces"] = MAY_IMPORT["_namespace"] | {"namespaces"}
# The public interfaces, in plain Python: anything below, and each other without a cycle.
MAY_IMPORT["interfaces"] = MAY_IMPORT["namespaces"] | {
    "interfaces",
    "_compiled",
    "_interpreter",
    "_version",
    "saved_handles",
}
# What stands on the finished package, and the package's face itself.
MAY_IMPORT["applications"] = MAY_IMPORT["interfaces"] | {"applications"}

APPLICATIONS = {"__main__", "_check", "_demo", "_generate"}


def room_of(module: str) -> str:
    """The room of a module of arraygrad, given by its dotted name."""
    parts = module.split(".")[1:]
    if not parts:
        return "applications"
    first = parts[0]
    if first == "engine":
        return ".".join(parts[:2])
    if first in MAY_IMPORT:
        return first
    if first in ("_cupy_protocol", "_methods", "_methods_more", "_protocols") or first.startswith("_numpy_"):
        return "_bind"
    if first in ("_creation", "_dispatch", "_info", "special"):
        return "_namespace"
    if first in NAMESPACES | {"fft", "linalg"}:
        return "namespaces"
    if first in APPLICATIONS or any(first.startswith(f"{name}_") for name in APPLICATIONS):
        return "applications"
    return "interfaces"


def internal(path: Path) -> list[Import]:
    """The imports of one file that stay within arraygrad, without those of the file itself (a .pyx and its .pxd)."""
    own = module_name(path)
    return [found for found in imports_of(path) if found.target.split(".")[0] == "arraygrad" and found.target != own]


def relative(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_imports_point_downwards(path):
    room = room_of(module_name(path))
    wrong = [
        f"{found} (room {room_of(found.target)})"
        for found in internal(path)
        if room_of(found.target) not in MAY_IMPORT[room]
    ]
    assert not wrong, f"room {room} may import {sorted(MAY_IMPORT[room])}, but\n" + "\n".join(wrong)


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


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name == "engine"], ids=relative)
def test_engine_knows_no_array_library(path):
    if path.suffix == ".hpp":
        assert "numpy/" not in path.read_text()
        return
    wrong = [str(found) for found in imports_of(path) if found.target.split(".")[0] in ARRAY_LIBRARIES]
    assert not wrong


def test_only_two_modules_cimport_numpy():
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


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_file_begins_by_saying_what_it_holds(path):
    first = path.read_text().lstrip().splitlines()[:1]
    marks = ("//", "/*") if path.suffix == ".hpp" else ("#", '"""', 'r"""')
    assert first, f"{relative(path)} is empty"
    assert first[0].startswith(marks), f"{relative(path)} begins with {first[0]}, not with a docstring or comment"


# The namespaces are a few lines each and all alike: the map in docs says once what they may import.
@pytest.mark.parametrize("path", [path for path in SOURCES if room_of(module_name(path)) != "namespaces"], ids=relative)
def test_file_says_at_its_top_what_it_may_import(path):
    if not imports_of(path):
        return
    head = path.read_text().split("\nfrom ", 1)[0].split("\nimport ", 1)[0].split("\ncimport ", 1)[0]
    assert "import" in head.lower(), f"{relative(path)} does not say before its first import what it may import"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_file_is_short_enough_to_be_one_concept(path):
    assert len(path.read_text().splitlines()) <= 800


# The reader itself: a check that reads nothing would pass for ever.


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("from . import kinds", ["arraygrad.ops.kinds"]),
        ("from .. import tensor", ["arraygrad.core.tensor"]),
        ("from ..engine.node import (\n    Node,\n    Edge,\n)", ["arraygrad.engine.node"]),
        ("from arraygrad.engine import node, arrayops", ["arraygrad.engine.node", "arraygrad.engine.arrayops"]),
        ("import numpy as np, sys", ["numpy", "sys"]),
        ("def f():\n    from arraygrad import tensor", ["arraygrad.core.tensor"]),
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
