"""The survey of SciPy's names: nine of ten that have a derivative are differentiated, and its declarations are true."""

import importlib

import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from arraygrad.scipy._declare import REGISTRY
from arraygrad.tools.scipy_survey import HAS_NONE, SURVEYED, TAKES_NONE, survey


@pytest.mark.parametrize("module", SURVEYED)
def test_nine_of_ten_names_with_a_derivative_are_differentiated(module):
    found = survey(module)
    assert found.with_derivative > 10
    assert found.share >= 0.9, f"refused in {module}: {' '.join(found.refused)}"


@pytest.mark.parametrize("module", SURVEYED)
def test_a_name_that_is_declared_without_a_derivative_has_no_rule(module):
    importlib.import_module(f"arraygrad.scipy.{module}")
    for table in (TAKES_NONE, HAS_NONE):
        for names in table.get(module, {}).values():
            for name in names.split():
                ours = [key for key, rule in REGISTRY.items() if key.split(".")[:2] == [module, name] and rule.of]
                assert not ours, f"{name} is differentiated: {ours}"


@pytest.mark.parametrize("module", SURVEYED)
def test_every_public_name_is_counted_once(module):
    found = survey(module)
    parts = [found.differentiated, found.constant, found.refused, *found.none.values(), *found.without.values()]
    names = [name for part in parts for name in part]
    assert len(names) == len(set(names)) == found.public
    theirs = set(importlib.import_module(f"scipy.{module}").__all__)
    assert set(names) <= theirs
