"""Training on two devices, examples/distributed/cupy_data_parallel.py, by copies and by what NCCL is called with.

Skipped, with the reason, where there are not two devices. Imports the public names of arraygrad, and the example.
"""

import importlib.util
import threading
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import arraygrad as ag

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("two_devices")]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "distributed" / "cupy_data_parallel.py"


@pytest.fixture
def example(cupy):
    specification = importlib.util.spec_from_file_location("cupy_data_parallel", EXAMPLE)
    module = importlib.util.module_from_spec(specification)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # CuPy's, where it finds no NCCL
        specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("threads", [True, False])
def test_training_on_two_devices_is_that_on_one(example, threads):
    with ag.autograd.set_multithreading_enabled(threads):
        losses, (first, second) = example.train([0, 1], 10, mean=example.PeerMean([0, 1]))
    alone, (expected,) = example.train([0], 10)
    np.testing.assert_allclose([np.mean(pair) for pair in losses], np.ravel(alone), rtol=1e-12)
    for p, q, e in zip(first, second, expected, strict=True):
        np.testing.assert_array_equal(p, q)
        np.testing.assert_allclose(p, e, rtol=0, atol=1e-12)


def test_the_means_are_right_on_streams_of_their_own(cupy, example):
    copies, losses, places = [], [], []
    for number in (0, 1):
        with cupy.cuda.Device(number):
            places.append(cupy.cuda.Stream(non_blocking=True))
            with places[number]:
                copies.append([ag.asarray(cupy.full(4096, 0.5), requires_grad=True)])
    handles = example.average_gradients(copies, example.PeerMean([0, 1]))
    for number, (p,) in enumerate(copies):
        with cupy.cuda.Device(number), places[number]:
            losses.append(ag.sum(p * p * (number + 1.0)))
    ag.autograd.backward(losses)
    junk = []
    for number in (0, 1):
        with cupy.cuda.Device(number), places[number]:
            junk += [cupy.full(4096, np.nan) for _ in range(8)]
    for number in (0, 1):
        cupy.cuda.Device(number).synchronize()
    for number, (p,) in enumerate(copies):
        with cupy.cuda.Device(number):
            np.testing.assert_array_equal(p.grad.array.get(), np.full(4096, 1.5))
    for handle in handles:
        handle.remove()


class Communicator:
    """In NCCL's place: notes what each call was given, and adds nothing up."""

    calls = []

    def __init__(self, number):
        self.number = number

    @staticmethod
    def initAll(devices):
        return [Communicator(number) for number in devices]

    def allReduce(self, source, target, size, kind, operation, stream):
        assert source == target
        self.calls.append((self.number, size, kind, operation, stream, threading.get_ident()))


def test_nccl_is_given_each_gradient_on_its_devices_stream(cupy, example, monkeypatch):
    names = {f"NCCL_{kind}": kind for kind in ("FLOAT16", "FLOAT32", "FLOAT64", "SUM")}
    fake = types.SimpleNamespace(NcclCommunicator=Communicator, **names)
    monkeypatch.setattr(example, "nccl", fake)
    monkeypatch.setattr(Communicator, "calls", [])
    copies, losses, places = [], [], []
    for number in (0, 1):
        with cupy.cuda.Device(number):
            places.append(cupy.cuda.Stream(non_blocking=True))
            with places[number]:
                leaves = [cupy.full((2, 3), 0.5), cupy.full(4, 0.5, dtype=np.float32), cupy.full(2, 1j)]
                copies.append([ag.asarray(a, requires_grad=True) for a in leaves])
    example.average_gradients(copies, example.NcclMean([0, 1]))
    for number, (a, b, c) in enumerate(copies):
        with cupy.cuda.Device(number), places[number]:
            losses.append(ag.sum(a * a) + ag.sum(b * b) + ag.sum(ag.real(c * ag.conj(c))))
    ag.autograd.backward(losses)
    for number in (0, 1):
        mine = [call[1:] for call in Communicator.calls if call[0] == number]
        assert sorted(call[:3] for call in mine) == [
            (4, "FLOAT32", "SUM"),
            (4, "FLOAT64", "SUM"),
            (6, "FLOAT64", "SUM"),
        ]
        assert {call[3] for call in mine} == {places[number].ptr}
        assert len({call[4] for call in mine}) == 1
        cupy.cuda.Device(number).synchronize()
        with cupy.cuda.Device(number):  # nothing was added up: each is half of what it was
            np.testing.assert_array_equal(copies[number][0].grad.array.get(), np.full((2, 3), 0.5))
    orders = [[call[1] for call in Communicator.calls if call[0] == number] for number in (0, 1)]
    assert orders[0] == orders[1]


def test_nccl_refuses_memory_that_is_not_in_one_piece(cupy, example, monkeypatch):
    monkeypatch.setattr(example, "nccl", types.SimpleNamespace(NcclCommunicator=Communicator))
    with pytest.raises(ValueError, match="one piece"):
        example.NcclMean([0, 1])("w", cupy.zeros((4, 4))[::2, ::2])
