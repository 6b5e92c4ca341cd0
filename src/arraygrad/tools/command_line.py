"""The command line: `python -m arraygrad` reports, `demo` runs the main job, `check` and `profile` look at a function.

May import: `arraygrad`, `engine.node` (kind of build); inside functions `backends` (for --devices), `tools.demo`,
`tools.check`, `tools.profile`.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import platform
import re
import sys
from collections.abc import Sequence

from arraygrad import __version__
from arraygrad.engine.node import is_debug_build

# The libraries that have a namespace arraygrad.<name>, in the order in which they are reported.
BACKENDS = ("numpy", "cupy", "torch", "jax", "dask", "array_api_strict")

NOT_INSTALLED = "not installed"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command in `argv` (default: the process's) and returns the exit code.

    0: all is well; 1: a check failed; 2: the demo lacks a library, or there is nothing to check. A command or
    option that does not exist prints the usage and exits with 2 (SystemExit).
    """
    arguments = parser().parse_args(argv)
    if arguments.command == "demo":
        return demo(arguments)
    if arguments.command in ("check", "profile"):
        return examine(arguments)
    print(report(with_devices=arguments.devices))
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    top = argparse.ArgumentParser(
        prog="python -m arraygrad",
        description="Without a command: version, kind of build, and the array libraries found.",
    )
    top.add_argument("--version", action="version", version=f"arraygrad {__version__}")
    top.add_argument("--devices", action="store_true", help="import each library found and list its devices")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    demo_parser = commands.add_parser(
        "demo",
        help="train two plain NumPy models on real data, and check and time their gradients",
        description="Trains a network on handwritten digits and a logistic regression on the breast-cancer table, both "
        "plain NumPy code, with gradients from arraygrad; checks these against finite differences and against "
        "gradients written by hand, times them, and draws the losses and the recorded graphs. The exit code is 0 if "
        "the checks pass and the held-out accuracies are at least 0.95, 1 if not, 2 if a library is missing.",
    )
    demo_parser.add_argument("--out", metavar="DIR", help="folder for the pictures (default: a fresh ./arraygrad-demo)")
    demo_parser.add_argument("--seed", type=int, default=0, help="of initial weights and test directions (default: 0)")
    demo_parser.add_argument("--quick", action="store_true", help="fewer iterations and repetitions")
    check_parser = commands.add_parser(
        "check",
        help="check the gradient of a function of yours",
        description="Calls the function as it is, records and differentiates it, and compares the gradient with finite "
        "differences. Tells, with the line of your code, what is not supported, where a gradient is lost or not "
        "finite, and where the precision changes; and the time beside a plain call. The exit code is 0 if the gradient "
        "is right, 1 if not, 2 if there is no such function.",
    )
    _takes_a_function(check_parser)
    profile_parser = commands.add_parser(
        "profile",
        help="show which lines of a function of yours take time and memory",
        description="Calls the function once, then takes its value and gradient under autograd.graph.profile() "
        "and prints calls, time and memory of each line, forward and backward, the line that took longest first. The "
        "exit code is 2 if there is no such function.",
    )
    _takes_a_function(profile_parser)
    profile_parser.add_argument("--operations", action="store_true", help="a table of operations beside that of lines")
    return top


def _takes_a_function(parser: argparse.ArgumentParser) -> None:
    """The arguments of a command that calls a function of the user's."""
    parser.add_argument("target", metavar="MODULE:FUNCTION", help="package.model:loss, or model.py:loss")
    parser.add_argument(
        "--shapes",
        nargs="+",
        type=shape,
        metavar="SHAPE",
        help="of the arguments, filled with random numbers: 3x4, 5, or 0d for a scalar (default: every required "
        "argument is a scalar)",
    )
    parser.add_argument(
        "--inputs",
        metavar="[MODULE:]FUNCTION",
        help="a function that returns the tuple of arguments; may take a generator",
    )
    parser.add_argument(
        "--range", nargs=2, type=float, default=(-1.0, 1.0), metavar=("LOW", "HIGH"), help="of random numbers (-1 1)"
    )
    parser.add_argument(
        "--dtype",
        default="float64",
        choices=("float32", "float64", "complex64", "complex128"),
        help="of random numbers",
    )
    parser.add_argument("--argnums", nargs="+", type=int, metavar="N", help="arguments to differentiate, from 0")
    parser.add_argument("--seed", type=int, default=0, help="of random numbers (default: 0)")
    parser.add_argument(
        "--adopt",
        action=argparse.BooleanOptionalAction,
        help="record it as grad(f, adopt=True) or grad(f, adopt=False) does (default: as arraygrad.set_adoption says)",
    )


def shape(text: str) -> tuple[int, ...]:
    """The shape that a text like 3x4, 5 or 0d says."""
    if text == "0d":
        return ()
    if "x" in text and "," in text:
        raise argparse.ArgumentTypeError(
            f"expected a shape like 3x4, 5 or 0d, got {text!r}: a space stands between the shapes of two arguments, "
            f"--shapes {text.replace(',', ' ')}"
        )
    try:
        sizes = tuple(int(size) for size in re.split("[x,]", text))
    except ValueError:
        sizes = (-1,)
    if min(sizes) < 0:
        raise argparse.ArgumentTypeError(f"expected a shape like 3x4, 5 or 0d, got {text!r}")
    return sizes


def examine(arguments: argparse.Namespace) -> int:
    """Checks or profiles a user's function; one sentence and exit code 2 if there is nothing to look at."""
    from arraygrad.tools.check_inputs import CannotCheck

    module = importlib.import_module(f"arraygrad.tools.{arguments.command}")
    try:
        return module.run(arguments)
    except CannotCheck as error:
        print(error, file=sys.stderr)
        return 2


def demo(arguments: argparse.Namespace) -> int:
    """Runs the demo; one sentence and exit code 2 if it lacks something."""
    from arraygrad.tools.demo import CannotRun, run

    try:
        return run(out=arguments.out, seed=arguments.seed, quick=arguments.quick)
    except CannotRun as error:
        print(error, file=sys.stderr)
        return 2


def report(with_devices: bool = False) -> str:
    """Version, build, Python and the backends found. Imports no array library beyond NumPy unless `with_devices`."""
    build = "debug" if is_debug_build() else "release"
    python = f"{platform.python_implementation()} {platform.python_version()}{_gil()}"
    lines = [
        f"arraygrad {__version__}, {build} build",
        f"{python}, NumPy {installed_version('numpy')}, {platform.system()} {platform.machine()}",
        "",
        f"{'backend':<18}{'version':<16}devices",
    ]
    asked = False
    for name in BACKENDS:
        version = installed_version(name)
        if version is None:
            lines.append(f"{name:<18}{NOT_INSTALLED}")
        elif with_devices or name == "numpy":
            lines.append(f"{name:<18}{version:<16}{devices(name)}")
        else:
            lines.append(f"{name:<18}{version:<16}-")
            asked = True
    if asked:
        lines += ["", "Devices marked - are listed by `python -m arraygrad --devices`, which imports the libraries."]
    return "\n".join(lines)


def _gil() -> str:
    """What to say of a free-threaded Python; nothing for others."""
    enabled = getattr(sys, "_is_gil_enabled", None)
    if enabled is None or "free-threading" not in sys.version:
        return ""
    return " free-threaded (GIL on)" if enabled() else " free-threaded (GIL off)"


def installed_version(name: str) -> str | None:
    """The version of the library imported as `name`, found without importing it; None if there is none.

    "unknown" if it can be imported but no installed distribution says so.
    """
    try:
        if importlib.util.find_spec(name) is None:
            return None
    except ValueError:  # already imported, by hand and without a spec
        pass
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
    # Some wheels are named otherwise than what they install: cupy-cuda12x.
    for distribution in importlib.metadata.packages_distributions().get(name, ()):
        return importlib.metadata.version(distribution)
    return "unknown"


def devices(name: str) -> str:
    """The devices of a library, which is imported for it, or why it cannot tell."""
    from arraygrad.backends import raw_namespace

    try:
        found = raw_namespace(name).__array_namespace_info__().devices()
    except Exception as error:  # a broken installation can raise anything, and the report goes on
        return f"cannot tell: {type(error).__name__}: {error}".splitlines()[0]
    # array_api_strict's devices show as array_api_strict.Device('CPU_DEVICE'): what stands in the quotes is enough.
    return ", ".join(re.sub(r"^.*Device\('(.+)'\)$", r"\1", str(device)) for device in found)
