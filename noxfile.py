"""The suite on every supported Python, and with the lowest and the newest of what it needs: `nox`.

    nox                      what this machine has an interpreter for; others are skipped, and named
    nox -s tests-3.13        one Python, newest packages
    nox -s lowest            Python 3.11 with the lowest numpy, array-api-compat, Cython, ... that pyproject.toml allows
    nox -s newest            the newest of everything, pre-releases too
    nox -s docs              the site, with the code of its pages run first
    nox -s free_threaded     without the GIL; whether the modules leave it off is tested first
    nox -s tests -- -k add   arguments for pytest stand behind --
    nox -s cupy_host         tests/gpu and the stress test on the real CuPy, over a CUDA device in host memory
    nox -s cupy_host_conformance -- ARRAY_API_TESTS    the public Array-API suite there, from a checkout

Every session builds the modules for its own Python. `nox --error-on-missing-interpreters` fails where a Python lacks.
`nox --download-python auto` lets nox fetch those that are missing, where the network allows it.
"""

import os

import nox

nox.needs_version = ">=2024.10"
nox.options.sessions = ["tests", "free_threaded", "lowest"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = False
nox.options.default_venv_backend = "uv|virtualenv"

OLDEST = "3.11"
PYTHONS = [OLDEST, "3.12", "3.13", "3.14"]
FREE_THREADED = ["3.13t", "3.14t"]
SUITE = ("-q", "-p", "no:cacheprovider", "--timeout", "600")


def run_suite(session: nox.Session, *options: str, env: dict[str, str] | None = None) -> None:
    """Shows what is installed, then runs pytest on the installed package."""
    session.run(
        "python",
        "-c",
        "import sys, numpy, array_api_compat, array_api_strict, arraygrad as ag;"
        "print(sys.version.split()[0], 'numpy', numpy.__version__, 'array-api-compat', array_api_compat.__version__,"
        " 'array-api-strict', array_api_strict.__version__, ag.__file__)",
        env=env,
    )
    session.run("python", *options, "-m", "pytest", *SUITE, *(session.posargs or ("tests",)), env=env)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The whole suite with the newest released packages."""
    session.install(".[test,strict]", env=build_environment(session))
    run_suite(session)


@nox.session(python=FREE_THREADED)
def free_threaded(session: nox.Session) -> None:
    """The suite without the GIL. What has no wheel for this Python is left out: its tests are skipped and say so."""
    wheels = [word for name in ("numpy", "scipy", "hypothesis") for word in ("--only-binary", name)]
    tools = ["pytest>=8.2", "pytest-timeout>=2.3", "hypothesis>=6.100", "scipy>=1.17", "autograd>=1.7", "tqdm>=4.66"]
    session.install(*wheels, ".[strict]", *tools, "graphviz>=0.20", env=build_environment(session))
    # A module that needs the GIL would turn it on, with this warning.
    session.run(
        "python", "-W", "error::RuntimeWarning", "-c", "import sys, arraygrad; assert not sys._is_gil_enabled()"
    )
    run_suite(session)


@nox.session(python=OLDEST, venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """The lowest version of each requirement, at build and at run time."""
    metadata = nox.project.load_toml("pyproject.toml")
    build, run_time = metadata["build-system"]["requires"], metadata["project"]["dependencies"]
    session.install("--resolution", "lowest-direct", *build, *run_time)
    # What the tests themselves use is the newest that goes with them: no requirement of theirs may raise ours.
    freeze = session.run("uv", "pip", "freeze", silent=True, external=True) or ""
    kept = [line for line in freeze.splitlines() if line.partition("==")[0].lower() in ("numpy", "array-api-compat")]
    session.install("--no-build-isolation", ".[test,strict]", *kept, env=build_environment(session))
    run_suite(session)


@nox.session(python=PYTHONS[-1])
def newest(session: nox.Session) -> None:
    """Pre-releases of everything: what will break next. Not among the default sessions."""
    session.install("--pre", ".[test,strict]", env=build_environment(session))
    run_suite(session)


@nox.session(python=PYTHONS[2])
def docs(session: nox.Session) -> None:
    """The site into docs/_build. Warnings are errors, a link to no page is one; every code block is run."""
    session.install(".[docs,test]", env=build_environment(session))
    session.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/docs")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", "-q", "docs", "docs/_build", *session.posargs)


def host_device(session: nox.Session) -> tuple[str, ...]:
    """Builds what tools/host_cuda describes, with this checkout in it, and returns what a command there begins with.

    It stands where HOST_CUDA_PREFIX says, by default beside nox's environments, and is used again the next time.
    """
    prefix = os.path.abspath(os.environ.get("HOST_CUDA_PREFIX") or os.path.join(str(session.cache_dir), "host_cuda"))
    session.run("tools/host_cuda/build.sh", prefix, external=True)
    run = ("tools/host_cuda/run", prefix)
    requirements = ("pytest>=8.2", "pytest-timeout>=2.3", "hypothesis>=6.100", "array-api-strict>=2.3", "scipy>=1.13")
    session.run(*run, "pip", "install", "-q", ".", *requirements, external=True, env=build_environment(session))
    return run


@nox.session(venv_backend="none")
def cupy_host(session: nox.Session) -> None:
    """tests/gpu with real streams: eager, random and as late as is legal; the known races; 200 random programs."""
    run = host_device(session)
    for streams in ("eager", "random:1", "lazy"):
        # A kernel is compiled where a test first needs it: one test may compile hundreds.
        tests = ("-m", "gpu", "--timeout", "7200", *(session.posargs or ("tests/gpu",)))
        session.run(*run, "python", "-m", "pytest", *SUITE, *tests, external=True, env={"HOST_CUDA_STREAMS": streams})
    session.run(*run, "python", "tools/host_cuda/races.py", external=True)
    session.run(*run, "python", "tests/gpu/stress.py", "--programs", "200", external=True)


@nox.session(venv_backend="none")
def cupy_host_conformance(session: nox.Session) -> None:
    """`python -m conformance --backend cupy` there. Behind --: the checkout of array-api-tests, then options."""
    run = host_device(session)
    if not session.posargs:
        session.error("name the checkout of array-api-tests: nox -s cupy_host_conformance -- PATH")
    suite, *options = session.posargs
    session.run(*run, "pip", "install", "-q", "-r", os.path.join(suite, "requirements.txt"), external=True)
    command = ("python", "-m", "conformance", "--suite", suite, "--backend", "cupy", *options)
    session.run(*run, *command, external=True)


def build_environment(session: nox.Session) -> dict[str, str]:
    """A caller's settings must not change what is built."""
    kept = {name: os.environ[name] for name in ("ARRAYGRAD_JOBS", "CPATH", "CC", "CXX") if name in os.environ}
    return {"ARRAYGRAD_DEBUG": "", "ARRAYGRAD_SANITIZE": "", "ARRAYGRAD_TRACE": "", **kept}
