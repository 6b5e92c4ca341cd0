"""Where the project's files are, and what each source file of arraygrad imports. Imports nothing of arraygrad."""

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "arraygrad"

# Folders that hold no text of the project: builds, environments, caches, what the demo and sphinx write.
NOT_OURS = {"build", "dist", "__pycache__", "_build", "_made", "arraygrad-demo"}


@dataclass(frozen=True)
class Import:
    """One imported module, as an absolute dotted name."""

    path: Path
    line: int
    target: str
    compiled: bool  # a cimport

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} imports {self.target}"


def tree_files() -> Iterator[Path]:
    """Every file of the project that is text or could be, without builds, environments and caches."""
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden = [part for part in parts if part.startswith(".") and part not in (".ci", ".github", ".gitignore")]
        if hidden or NOT_OURS.intersection(parts) or any(part.endswith(".egg-info") for part in parts):
            continue
        if path.is_file() and path.suffix not in (".so", ".pyd", ".pyc"):
            yield path


def source_files(*suffixes: str) -> list[Path]:
    """The files of the package with these suffixes, sorted."""
    return sorted(path for path in PACKAGE.rglob("*") if path.suffix in suffixes and path.is_file())


def module_name(path: Path) -> str:
    """The dotted name of a source file: src/arraygrad/ops/__init__.py is arraygrad.ops."""
    parts = list(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(path: Path) -> list[str]:
    """The dotted parts of the package that `.` means in this file."""
    return list(path.relative_to(PACKAGE.parent).parent.parts)


@functools.cache
def is_module(dotted: str) -> bool:
    """Whether a dotted name is a module or package of arraygrad."""
    base = PACKAGE.parent.joinpath(*dotted.split("."))
    return base.is_dir() or any(base.with_suffix(suffix).exists() for suffix in (".py", ".pyx", ".pxd"))


@functools.cache
def imports_of(path: Path) -> tuple[Import, ...]:
    """Every import and cimport of one file, at whatever depth. `from p import m` counts as p.m if that is a module."""
    read = python_imports if path.suffix == ".py" else cython_imports
    return tuple(read(path, path.read_text()))


def resolve(path: Path, line: int, module: str, names: list[str], compiled: bool) -> Iterator[Import]:
    """The imports that `from module import names` makes; `module` may begin with dots."""
    level = len(module) - len(module.lstrip("."))
    if level:
        package = package_of(path)
        base = package[: len(package) - level + 1]
        module = ".".join([*base, module[level:]] if module[level:] else base)
    rest = False
    for name in names:
        if module.split(".")[0] == "arraygrad" and is_module(f"{module}.{name}"):
            yield Import(path, line, f"{module}.{name}", compiled)
        else:
            rest = True
    if rest or not names:
        yield Import(path, line, module, compiled)


def python_imports(path: Path, text: str) -> Iterator[Import]:
    """The imports of a .py file, also importlib.import_module("literal")."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(path, node.lineno, alias.name, False)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from resolve(path, node.lineno, module, [alias.name for alias in node.names], False)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            name = node.args[0].value
            if called in ("import_module", "__import__") and isinstance(name, str):
                yield from resolve(path, node.lineno, name, [], False)


def cython_imports(path: Path, text: str) -> Iterator[Import]:
    """The imports and cimports of a .pyx or .pxd file."""
    # Strings and comments become blank, line numbers stay.
    text = re.sub(r'""".*?"""', lambda found: "\n" * found.group().count("\n"), text, flags=re.S)
    text = re.sub(r"#[^\n]*", "", text)
    pattern = r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+(c?import)\b[ \t]*(\([^)]*\)|[^\n]*)|(c?import)\b[ \t]+([^\n]*))"
    for found in re.finditer(pattern, text, flags=re.M):
        line = text.count("\n", 0, found.start(1) if found.group(1) else found.start(4)) + 1
        names = [
            part.split()[0] for part in (found.group(3) or found.group(5)).strip("() \n").split(",") if part.split()
        ]
        if found.group(1):
            yield from resolve(path, line, found.group(1), names, found.group(2) == "cimport")
        else:
            for name in names:
                yield Import(path, line, name, found.group(4) == "cimport")
