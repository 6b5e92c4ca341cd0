"""Docstrings of everything public: more than one line, with an example wherever something can be called, which runs.

Imports the public names of arraygrad.
"""

import doctest
import inspect
import re
import warnings

import pytest
from page_blocks import DOCS

import arraygrad as ag
import arraygrad.testing
from arraygrad import fft, implicit, interop, linalg, memory, special
from arraygrad.ops import OPS

MODULES = (ag.autograd, ag.autograd.graph, ag.testing, implicit, interop, memory)
# Names that are no function: dtypes and constants are the libraries' own.
NOT_OURS = {"bool", *(f"{kind}{bits}" for kind in ("int", "uint", "float", "complex") for bits in (8, 16, 32, 64, 128))}


def public():
    """dict dotted name -> object of all functions, classes and members of Tensor."""
    found = {}
    for name in ag.__all__:
        value = getattr(ag, name)
        if callable(value) and not inspect.ismodule(value) and name not in NOT_OURS:
            found[f"arraygrad.{name}"] = value
    for module in MODULES:
        found |= {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
    found = {name: value for name, value in found.items() if not inspect.ismodule(value)}
    for module in (linalg, fft, special):
        extension = module.__name__.rpartition(".")[2]
        for op in OPS.values():
            if op.entry.extension == extension and not op.name.startswith("_"):
                found[f"{module.__name__}.{op.name}"] = getattr(module, op.name)
    for name in dir(ag.Tensor):
        if not name.startswith("_") and hasattr(ag.Tensor, name):  # some names are there to say what to use instead
            found[f"arraygrad.Tensor.{name}"] = inspect.getattr_static(ag.Tensor, name)
    return found


PUBLIC = public()


def test_no_public_docstring_is_one_line_only():
    short = [name for name, value in PUBLIC.items() if len((value.__doc__ or "").strip().splitlines()) < 2]
    assert len(PUBLIC) > 350
    assert short == []


def test_everything_public_is_in_the_reference():
    pages = "".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    shown = set(re.findall(r"(?:function|class|exception):: (\S+)", pages))
    table = {op.name for op in OPS.values()}  # on pages that are made of the table when the site is built
    names = {name for name in PUBLIC if ".Tensor." not in name and name.rpartition(".")[2] not in table}
    again = {"arraygrad.autograd.graph.GradientEdge", "arraygrad.gradcheck", "arraygrad.gradgradcheck"}  # second names
    assert names - shown == again


def test_everything_public_has_an_example():
    without = {name for name, value in PUBLIC.items() if ">>>" not in (value.__doc__ or "")}
    assert without == set()


@pytest.mark.parametrize("name", PUBLIC)
def test_example_prints_what_it_says(name):
    if name.startswith("arraygrad.special."):
        pytest.importorskip("scipy", reason="special functions of NumPy arrays are SciPy's")
    text = inspect.cleandoc(PUBLIC[name].__doc__)
    for library in re.findall(r"^>>> import (torch|jax)\b", text, re.M):
        pytest.importorskip(library)
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    report = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = runner.run(test, out=report.append)
    assert not result.failed, "".join(report)


@pytest.mark.parametrize(
    "op", [op for op in OPS.values() if not op.name.startswith("_") and op.differentiable], ids=str
)
def test_a_differentiable_function_shows_its_gradient(op):
    if op.name == "asarray":
        return
    module = getattr(ag, op.entry.extension) if op.entry.extension else ag
    text = getattr(module, op.name).__doc__
    assert "piecewise constant" in text if op.zero else "Gradient, where g is that of the result" in text
