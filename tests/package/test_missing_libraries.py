"""Looking at arraygrad where optional libraries are missing: help, hasattr, dir, inspect, pickle, doctest.

Everything runs in a process of its own, in which the optional libraries can't be imported.
"""

import subprocess
import sys
import textwrap

import pytest

OPTIONAL = (
    "cupy torch jax dask distributed array_api_strict scipy optree tqdm graphviz matplotlib pandas xarray autograd"
)
PRELUDE = f"""
import sys
for name in {OPTIONAL!r}.split():
    sys.modules[name] = None
import arraygrad as ag
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("library", ["torch", "jax", "dask", "array_api_strict"])
def test_hasattr_answers(library):
    run(
        f"""
        assert not hasattr(ag, {library!r})
        assert getattr(ag, {library!r}, 3) == 3
        try:
            ag.{library}
        except AttributeError as error:
            assert "has no attribute {library!r}" in str(error) and "pip install arraygrad[" in str(error), error
            assert isinstance(error.__cause__, ImportError)
        else:
            raise AssertionError("no error")
        """
    )


@pytest.mark.parametrize("library", ["torch", "jax", "dask", "array_api_strict"])
def test_importing_the_namespace_says_what_to_install(library):
    run(
        f"""
        for statement in ("import arraygrad.{library}", "from arraygrad import {library}"):
            try:
                exec(statement)
            except ImportError as error:
                assert "arraygrad.{library} needs {library}" in str(error) and "pip install" in str(error), error
            else:
                raise AssertionError(statement)
        """
    )


def test_cupys_namespace_can_be_read_and_says_what_to_install_when_used():
    run(
        """
        assert hasattr(ag, "cupy") and ag.cupy.sin.__doc__
        import inspect
        assert len(inspect.getmembers(ag.cupy)) > 150
        try:
            ag.cupy.asarray([1.0])
        except ImportError as error:
            assert "pip install" in str(error)
        else:
            raise AssertionError("no error")
        """
    )


def test_help_shows_the_package():
    out = run(
        """
        import pydoc
        help(ag)
        for name in ag.__all__:
            if callable(getattr(ag, name)):
                pydoc.render_doc(getattr(ag, name))
        """
    )
    assert "Reverse-mode automatic differentiation" in out
    assert "gradcheck" in out


def test_inspect_and_dir_walk_over_everything():
    run(
        """
        import inspect
        members = dict(inspect.getmembers(ag))
        assert {"grad", "sin", "Tensor", "linalg", "cupy"} <= set(members)
        assert not {"dask", "torch", "jax", "array_api_strict"} & set(members)
        assert {"dask", "torch"} <= set(dir(ag))
        missing = set(ag.__all__) - set(members)
        assert not missing, missing
        for name, value in members.items():
            if inspect.ismodule(value):
                inspect.getmembers(value)
        """
    )


def test_doctest_and_pickle_walk_over_the_modules():
    run(
        """
        import doctest, pickle, types

        assert doctest.DocTestFinder().find(ag)
        assert ag.exp is not None
        # pickle asks every module for the name of what does not say where it comes from
        found = types.FunctionType((lambda: 0).__code__, {}, "dask")
        found.__module__ = None
        found.__qualname__ = "dask"
        try:
            pickle.dumps(found)
        except (pickle.PicklingError, AttributeError):
            pass
        """
    )


def test_walking_over_the_packages_imports_what_can_be_imported():
    run(
        """
        import pkgutil
        names = {m.name for m in pkgutil.walk_packages(ag.__path__, "arraygrad.", onerror=lambda name: None)}
        assert "arraygrad.dask" in names and "arraygrad.ops.linalg" in names
        """
    )
