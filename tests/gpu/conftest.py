"""Fixtures of the tests for a device. CuPy is imported by the tests that ask for it."""

import pytest


@pytest.fixture
def cupy():
    import cupy

    return cupy


@pytest.fixture
def two_devices(cupy):
    """Skips where there are not two devices."""
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("only one CUDA device")


@pytest.fixture
def switches():
    """(set_fused, set_prepared), set back afterwards."""
    from arraygrad.backends.cupy import set_fused, set_prepared

    before = set_fused(True), set_prepared(True)
    yield set_fused, set_prepared
    set_fused(before[0])
    set_prepared(before[1])
