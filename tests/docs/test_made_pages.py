"""Pages that are made when the site is built hold every function that they are about."""

import importlib
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
scipy = pytest.importorskip("scipy")

from arraygrad.scipy import CHAPTERS, serves

if not serves(scipy.__version__):
    pytest.skip("arraygrad.scipy serves newer versions of SciPy", allow_module_level=True)


@pytest.fixture
def make_scipy(monkeypatch):
    """docs/make_scipy.py, which the site's settings import from their own folder."""
    monkeypatch.syspath_prepend(str(DOCS))
    yield importlib.import_module("make_scipy")
    for name in ("make_scipy", "make_docstrings"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_page_of_a_chapter_has_every_function_that_is_declared(make_scipy, chapter):
    text = make_scipy.page(chapter)
    directives = set(re.findall(rf"^\.\. py:\w+:: arraygrad\.scipy\.{chapter}\.([\w.]+)", text, re.M))
    module = importlib.import_module(f"arraygrad.scipy.{chapter}")
    objects = set(getattr(module, "OBJECTS", {}))
    declared = {name.partition(".")[2] for name in make_scipy.REGISTRY if name.startswith(f"{chapter}.")}
    assert directives == objects | {name for name in declared if name.rpartition(".")[0] not in objects}
    assert directives


def test_a_function_says_what_it_takes_and_what_it_is_differentiable_in(make_scipy):
    text = make_scipy.page("linalg")
    assert ".. py:function:: arraygrad.scipy.linalg.expm(A)\n" in text
    assert re.search(r"linalg\.expm\(A\)\n\n(   .*\n)*\n   Differentiable in ``A``\.\n", text)


def test_a_ufunc_shows_the_names_that_its_rule_has(make_scipy):
    assert "arraygrad.scipy.special.bdtr(k, n, p, out=None)\n" in make_scipy.page("special")


def test_a_distribution_has_its_methods_with_their_parameters(make_scipy):
    text = make_scipy.page("stats")
    normal = text[text.index("py:data:: arraygrad.scipy.stats.norm\n") :].split(".. py:")[0]
    assert "``logpdf``" in normal
    assert "differentiable in ``x``, ``loc``, ``scale``." in normal
