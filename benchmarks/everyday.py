"""`python -m benchmarks.everyday`: which compiled functions everyday programs call, by callgrind.

setup.py compiles all other functions of the modules that `packaging/everyday_functions.txt` names for size. What the
compiler copied into its callers does not show, so count in a build without that:

    CXXFLAGS="-fno-inline" python setup.py build_ext --inplace --force
    python -m benchmarks.everyday --keep

The programs are the workloads, those of element_loops, and a few calls of what else is used every day. Calls that make
what later ones find are not counted.
May import: the standard library; NumPy and arraygrad only in the counted process.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "packaging" / "everyday_functions.txt"
MARK = "getppid"  # a function of the C library that nothing here calls but `run`
# What a row of these calls is called by a smaller one as well.
LARGE = {
    *["attention-matmul", "chain-10k-f32", "chain-1m-f32", "deconvolution", "fan-out-1", "fan-out-100", "gather"],
    *["heat-in-place", "hessian-50", "logistic-regression", "lstm", "mlp-large", "mlp-small", "normalise", "options"],
    *["reductions", "sort"],
}
HEADER = """\
# The functions of compiled modules that everyday programs call, a method as Class_name. setup.py compiles the other
# functions of these modules for size. Written by `python -m benchmarks.everyday --keep`.
"""


def run() -> None:
    """The counted process: each program, after it ran a few times, with a mark before and after."""
    for program in programs():
        for _ in range(3):
            program()
        os.getppid()
        program()
        os.getppid()


def programs():
    """Functions without arguments."""
    import arraygrad as ag

    from .everyday_programs import PROGRAMS
    from .libraries import LIBRARIES
    from .mechanics import element_loops
    from .workloads import WORKLOADS

    library = LIBRARIES["arraygrad"]()
    for workload in WORKLOADS.values():
        if workload.name not in LARGE:
            yield workload.run_of(library, workload.data())
    for name in element_loops.NAMES:
        function, args, argnums = element_loops.programs(name)
        yield functools.partial(ag.value_and_grad(function, argnums=argnums), *args)
    yield from PROGRAMS


def called(folder: Path) -> set[str]:
    """The names, as Cython writes them, of compiled functions that were called between marks."""
    found: set[str] = set()
    for path in folder.glob("out.*"):
        if int(path.suffix[1:]) % 2 == 0:
            found.update(re.findall(r"^c?fn=\(\d+\) .*?\b__pyx_(?:f|pw|pf)_(\w+)", path.read_text(), re.MULTILINE))
    return found


def everyday(names: set[str]) -> str:
    """The text of the list, with the modules that it has now."""
    read, known = setup_functions()
    modules = {"".join(f"{len(part)}{part}_" for part in module.split(".")): module for module in known}
    found: dict[str, set[str]] = {module: set() for module in known}
    for name in names:
        # One module's name may begin another's.
        prefix = max((p for p in modules if name.startswith(p)), key=len, default=None)
        if prefix is not None:
            found[modules[prefix]].add(read(name.removeprefix(prefix)))
    return HEADER + "".join(f"{module}: {' '.join(sorted(found[module]))}".rstrip() + "\n" for module in sorted(found))


def setup_functions():
    """setup.py's reading of names, and the modules whose seldom called functions it marks."""
    spec = importlib.util.spec_from_file_location("arraygrad_setup", ROOT / "setup.py")
    setup = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = setup
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        spec.loader.exec_module(setup)
        names = [".".join(path.relative_to(setup.SOURCE).with_suffix("").parts) for path in setup.SOURCE.rglob("*.pyx")]
        loops = {name for name in names if name.startswith(setup.NUMPY_MODULES) and setup.has_own_header(name)}
    finally:
        os.chdir(before)
    return setup.mending.function_name, sorted(set(names) - loops - {setup.LIBRARY})


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday", description=__doc__.splitlines()[0])
    parser.add_argument("--run", action="store_true", help="be the counted process")
    parser.add_argument("--keep", action="store_true", help=f"write {LIST.relative_to(ROOT)}; without, print the list")
    options = parser.parse_args(arguments)
    if options.run:
        run()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--dump-before={MARK}", f"--callgrind-out-file={folder}/out"]
        subprocess.run(
            [*command, sys.executable, "-m", "benchmarks.everyday", "--run"],
            check=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            cwd=ROOT,
        )
        text = everyday(called(Path(folder)))
    if options.keep:
        LIST.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
