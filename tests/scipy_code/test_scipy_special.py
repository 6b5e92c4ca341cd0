"""Namespaces have `special`, which SciPy's array-API dispatch looks for."""

import numpy as np
import pytest

import arraygrad as ag


@pytest.mark.parametrize("library", ["numpy", "array_api_strict"])
def test_namespace_has_the_special_functions(library):
    pytest.importorskip(library)
    assert ag.namespace(library).special is ag.special


def test_namespace_of_a_tensor_leads_to_recorded_functions():
    x = ag.tensor([0.5], requires_grad=True)
    x.__array_namespace__().special.erf(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2.0 / np.sqrt(np.pi) * np.exp(-0.25))


def test_unknown_attribute_of_a_namespace_is_an_attribute_error():
    pytest.importorskip("array_api_strict")
    with pytest.raises(AttributeError, match=r"module 'arraygrad.array_api_strict' has no attribute 'nonsense'"):
        ag.namespace("array_api_strict").nonsense  # noqa: B018
