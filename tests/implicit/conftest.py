"""Fixtures of the tests of initial value problems."""

import pytest


@pytest.fixture
def by_steps(monkeypatch):
    """The adjoint equation, which is integrated where the steps are not enough, is not there."""

    def refuse(*_):
        raise AssertionError("the steps gave no gradient")

    monkeypatch.setattr("arraygrad.implicit.ivp._Problem._adjoint_equation", refuse)
