"""The package as installed: version, type marker, what a wheel holds, and nothing of one machine in the tree."""

import ast
import importlib
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from sources import PACKAGE, ROOT, module_name, source_files, tree_files

import arraygrad
from arraygrad import _compiled
from arraygrad.engine.node import is_debug_build, live_counts

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
COMPILED = [module_name(path) for path in source_files(".pyx")]
OF_THE_REPOSITORY = re.search(r'OF_THE_REPOSITORY = re.compile\(r"(.*)"\)', (ROOT / "setup.py").read_text())[1]


def installed_files() -> list[str]:
    """The files of the installed wheel; skips where arraygrad is imported from the source tree."""
    if Path(arraygrad.__file__).resolve().is_relative_to(PACKAGE):
        pytest.skip("arraygrad is imported from the source tree, not from an installed wheel")
    return [str(path) for path in importlib.metadata.files("arraygrad") or ()]


def test_version_stands_in_one_place():
    assert PYPROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "arraygrad._version.__version__"}
    assert arraygrad.__version__ == importlib.import_module("arraygrad._version").__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc|\.dev)\d+)?", arraygrad.__version__)


def test_installed_metadata_has_the_version():
    installed_files()
    assert importlib.metadata.version("arraygrad") == arraygrad.__version__


def test_type_marker_is_shipped():
    assert (Path(arraygrad.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_module_imports(name):
    module = importlib.import_module(name)
    assert Path(module.__file__).suffix in (".so", ".pyd")


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_modules_say_that_they_are_in_the_library(name):
    spec = importlib.util.find_spec(name)
    assert (spec.name, spec.origin, spec.has_location) == (name, _compiled.__file__, True)
    module = importlib.import_module(name)
    assert (module.__name__, module.__file__, module.__spec__.origin) == (name, spec.origin, spec.origin)
    assert module.__package__ == name.rpartition(".")[0]


def test_the_library_names_every_other_compiled_module():
    shared = "arraygrad._cyutility"  # which Cython writes
    assert sorted(_compiled.NAMES) == sorted([shared, *[name for name in COMPILED if name != _compiled.__name__]])


def test_the_library_is_the_only_compiled_file():
    found = [path for path in Path(arraygrad.__file__).parent.rglob("*") if path.suffix in (".so", ".pyd")]
    of_this_python = [path for path in found if path.name.endswith(sysconfig.get_config_var("EXT_SUFFIX"))]
    assert of_this_python == [Path(_compiled.__file__)]


def test_the_finder_stands_before_all_others_once():
    before = list(sys.meta_path)
    _compiled.install()
    assert sys.meta_path == before
    assert before.count(_compiled.Finder) == 1


@pytest.mark.parametrize(
    "name", ["arraygrad", "arraygrad.testing", "arraygrad._compiled", "apply", "arraygrad.no_such"]
)
def test_the_finder_leaves_every_other_name_to_others(name):
    assert _compiled.Finder.find_spec(name) is None


def test_a_file_that_an_older_build_left_is_not_imported(tmp_path):
    package = Path(arraygrad.__file__).parent
    for path in package.iterdir():
        (tmp_path / "arraygrad").mkdir(exist_ok=True)
        (tmp_path / "arraygrad" / path.name).symlink_to(path)
    left = tmp_path / "arraygrad" / ("apply" + sysconfig.get_config_var("EXT_SUFFIX"))
    left.write_bytes(b"no library")
    code = "import arraygrad, sys; print(arraygrad.__file__, sys.modules['arraygrad.core.apply'].__file__)"
    # -c puts the working folder first.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    face, apply = done.stdout.split()
    assert Path(face).parent == Path(apply).parent == tmp_path / "arraygrad"
    assert apply != str(left)


def test_a_library_has_no_second_module_of_a_name():
    last_parts = [name.rpartition(".")[2] for name in COMPILED]
    assert len(set(last_parts)) == len(last_parts)


def test_every_package_folder_has_an_init():
    folders = {path.parent for path in source_files(".py", ".pyx")}
    assert [str(folder.relative_to(ROOT)) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_wheel_holds_every_module():
    files = set(installed_files())
    wanted = [str(path.relative_to(PACKAGE.parent)) for path in source_files(".py")]
    # Tools of the repository alone, which its tests take from there (tests/conftest.py).
    left_out = [name for name in wanted if re.fullmatch(rf"arraygrad/tools/({OF_THE_REPOSITORY})\.py", name)]
    assert len(left_out) > 10
    assert sorted(name for name in [*wanted, "arraygrad/py.typed"] if name not in files) == sorted(left_out)


def test_wheel_holds_the_stubs_of_what_is_public():
    """Those beside Python, and what they import: a type checker of a program reads no others."""
    files = set(installed_files())
    stubs = {str(path.relative_to(PACKAGE.parent)): path for path in source_files(".pyi") if _says_something(path)}
    beside_python = {name for name, path in stubs.items() if not path.with_suffix(".pyx").exists()}
    assert sorted(beside_python - files) == []
    for name in stubs.keys() & files:
        for node in ast.walk(ast.parse(stubs[name].read_text())):
            if isinstance(node, ast.ImportFrom):
                imported = [f"{node.module}", *[f"{node.module}.{one.name}" for one in node.names]]
                needed = {f"{one.replace('.', '/')}.pyi" for one in imported} & stubs.keys()
                assert sorted(needed - files) == [], name


def _says_something(stub):
    return re.search(r"^[^#\n]", stub.read_text(), re.MULTILINE) is not None


def test_wheel_holds_the_models_of_the_demo():
    files = set(installed_files())
    for path in sorted((ROOT / "examples").glob("*.py")):
        assert f"arraygrad/_examples/{path.name}" in files
        assert (Path(arraygrad.__file__).parent / "_examples" / path.name).read_text() == path.read_text()


def test_wheel_holds_no_sources_of_the_build():
    sources = (".pyx", ".pxd", ".hpp", ".cpp", ".c", ".o")
    assert [name for name in installed_files() if name.endswith(sources)] == []


def test_wheel_installs_only_the_package():
    tops = {name.split("/")[0] for name in installed_files() if not name.startswith("..")}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"arraygrad"}


def test_links_of_the_installed_description_are_whole_addresses():
    installed_files()
    text = importlib.metadata.metadata("arraygrad").get_payload()
    assert "](https://" in text
    assert re.findall(r"\]\((?!https://)[^)]*\)", text) == []


def test_the_same_pythons_are_tested_classified_and_built():
    classified = {
        found[1]
        for text in PYPROJECT["project"]["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", text))
    }
    built = {f"3.{name[3:].split('-')[0]}" for name in PYPROJECT["tool"]["cibuildwheel"]["build"] if "t-" not in name}
    nox = (ROOT / "noxfile.py").read_text()
    oldest = re.search(r'OLDEST = "(3\.\d+)"', nox)[1]
    tested = {oldest, *re.findall(r'"(3\.\d+)"', re.search(r"PYTHONS = \[.*\]", nox)[0])}
    assert classified == built == tested
    assert PYPROJECT["project"]["requires-python"] == f">={oldest}"


def test_wheels_are_built_for_pythons_that_the_suite_has_run_on():
    row = re.search(r"^\| Python \|.*\|(.*)\|$", (ROOT / "docs/index.md").read_text(), re.MULTILINE)[1]
    tried = row.partition(". ")[0]  # what "only compiles" stands behind
    first, last = map(int, re.search(r"3\.(\d+) to 3\.(\d+)", tried).groups())
    for name in PYPROJECT["tool"]["cibuildwheel"]["build"]:
        minor, free_threaded = re.fullmatch(r"cp3(\d+)(t?)-\*", name).groups()
        assert f"3.{minor}t" in tried if free_threaded else first <= int(minor) <= last, name


def test_the_version_of_the_recipe_and_the_citation_is_the_packages():
    assert f'version: "{arraygrad.__version__}"' in (ROOT / "packaging/conda-forge/recipe.yaml").read_text()
    assert f"version: {arraygrad.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_recipe_requires_what_the_package_requires():
    recipe = (ROOT / "packaging/conda-forge/recipe.yaml").read_text()
    host, run = re.search(r"  host:\n(.*?)  run:\n(.*?)\n\n", recipe, flags=re.S).groups()
    assert set(PYPROJECT["build-system"]["requires"]) == {
        {"cython": "Cython"}.get(name, name) + bound for name, bound in re.findall(r"- ([\w-]+) (\S+)", host)
    }
    assert set(PYPROJECT["project"]["dependencies"]) == {
        name + bound for name, bound in re.findall(r"- ([\w-]+) (\S+)", run)
    }


def test_debug_build_counts_live_objects_and_release_does_not():
    assert bool(live_counts()) == is_debug_build()


def test_extras_hold_what_the_tests_need():
    extras = PYPROJECT["project"]["optional-dependencies"]
    names = {re.split(r"[\[<>=]", need)[0] for need in extras["test"]}
    assert {"pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "array-api-strict"} <= names
    # The demo is run by a test.
    assert set(extras["demo"]) <= set(extras["test"])


def test_names_of_tests_are_the_same_in_every_process(request):
    # pytest-xdist hands tests to its processes by name.
    assert [item.nodeid for item in request.session.items if re.search(r" at 0x[0-9a-f]+", item.nodeid)] == []


def test_the_extra_of_developers_holds_what_the_build_requires():
    extras = PYPROJECT["project"]["optional-dependencies"]
    needed = {need for need in PYPROJECT["build-system"]["requires"] if not need.startswith("numpy")}
    assert needed | {"arraygrad[test,lint]"} == set(extras["dev"])


def test_no_path_of_one_machine_in_the_tree():
    # Written so that the pattern does not find itself.
    pattern = re.compile(r"(?<![\w.*~])/(?:work|tmp|farm|root|home|Users)/\w")
    found = []
    for path in tree_files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {line}" for line in text.splitlines() if pattern.search(line)]
    assert not found


def test_no_stub_or_unfinished_mark_in_the_sources():
    pattern = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "raise NotImplemented" + "Error"]))
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in source_files(".py", ".pyx", ".pxd", ".hpp", ".pyi")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found


def test_functions_that_a_namespace_package_defines_itself_are_public_and_in_its_stub():
    # stubtest cannot look where the library is not installed.
    found = {}
    for init in sorted(PACKAGE.glob("*/__init__.py")):
        if "_namespace.build(" not in init.read_text():
            continue
        own, stub = (
            {one.name for one in ast.parse(path.read_text()).body if isinstance(one, ast.FunctionDef)}
            for path in (init, init.with_suffix(".pyi"))
        )
        assert {name for name in own if not name.startswith("_")} <= stub, init
        found[init.parent.name] = own
    assert found["cupy"] == {"capture"}
    assert "capture" in importlib.import_module("arraygrad.cupy").__all__


@pytest.mark.parametrize("name", ["arraygrad.autograd", "arraygrad.autograd.graph"])
def test_names_that_are_imported_later_are_there(name):
    module = sys.modules.get(name) or importlib.import_module(name)
    assert [n for n in module.__all__ if getattr(module, n, None) is None or n not in dir(module)] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_that_name'"):
        _ = module.nothing_of_that_name
