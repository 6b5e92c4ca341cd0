"""Training on several GPUs in one process: each has a part of the rows, gradients are averaged when they are there.

    python examples/distributed/cupy_data_parallel.py            # on all devices that CuPy finds
    python examples/distributed/cupy_data_parallel.py 0 2        # on these

Every device has a copy of the parameters. One backward of all devices' losses runs on one thread for each device. A
hook is called on the device's thread, with the gradient's stream current, right after a gradient was accumulated. It
averages over the devices by NCCL where CuPy has it, else by copies between the devices. The host waits for neither.
"""

import functools
import operator
import sys
import threading

import cupy
import numpy as np
from cupy.cuda import nccl

import arraygrad as ag

# dtype -> (NCCL's name of it, how many of these one element is)
TYPES = {"e": ("FLOAT16", 1), "f": ("FLOAT32", 1), "d": ("FLOAT64", 1), "F": ("FLOAT32", 2), "D": ("FLOAT64", 2)}


class NcclMean:
    """Means over devices by NCCL. Each device's thread calls its own communicator; calls meet by their order."""

    def __init__(self, devices):
        self.communicators = dict(zip(devices, nccl.NcclCommunicator.initAll(list(devices)), strict=True))

    def __call__(self, name, array):
        """Write the mean over all devices into `array`, as work of the current stream."""
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            raise ValueError(f"gradient {name}: NCCL takes memory in one piece, and this has strides {array.strides}")
        kind, times = TYPES[array.dtype.char]
        address, stream = array.data.ptr, cupy.cuda.get_current_stream()
        self.communicators[int(array.device)].allReduce(
            address, address, times * array.size, getattr(nccl, f"NCCL_{kind}"), nccl.NCCL_SUM, stream.ptr
        )
        array /= len(self.communicators)


class PeerMean:
    """The same by copies between the devices. The last device to call issues the work of all; calls meet by `name`."""

    def __init__(self, devices):
        self.devices, self.lock, self.arrived = list(devices), threading.Lock(), {}

    def __call__(self, name, array):
        """Write the mean over all devices into `array`, as work of the stream that is current now."""
        stream = cupy.cuda.get_current_stream()
        with self.lock:
            parts = self.arrived.setdefault(name, {})
            parts[int(array.device)] = array, stream, stream.record()
            if len(parts) < len(self.devices):
                return
            del self.arrived[name]
        parts = [parts[number] for number in self.devices]
        copies, read = zip(*[self.copied(array, stream, parts) for array, stream, _ in parts], strict=True)
        for (array, stream, _), values in zip(parts, copies, strict=True):
            with array.device, stream:
                for event in read:  # nobody reads any more what is written now
                    stream.wait_event(event)
                array[...] = functools.reduce(operator.add, values) / len(parts)  # in one order: equal bits everywhere

    @staticmethod
    def copied(array, stream, parts):
        """(copies of all parts beside one of them, an event after the last copy)."""
        with array.device, stream:
            values = []
            for part, _, made in parts:
                stream.wait_event(made)
                values.append(part.copy())
            return values, stream.record()


def average_gradients(copies, mean):
    """Average the gradients of all devices whenever a backward has made them.

    Parameters
    ----------
    copies : list of list of Tensor
        For each device its parameters. Their `.grad` must be None before each backward: what was averaged before must
        not be averaged again.
    mean : NcclMean or PeerMean

    Returns
    -------
    list of handles
        `remove()` ends it.
    """

    def average(name, parameter):
        mean(name, parameter.grad.array)

    return [
        p.register_post_accumulate_grad_hook(functools.partial(average, name))
        for parameters in copies
        for name, p in enumerate(parameters)
    ]


def loss(parameters, x, y):
    """Mean squared error of a small network of one hidden layer, in NumPy's functions."""
    w1, b1, w2 = parameters
    return np.mean((np.tanh(x @ w1 + b1) @ w2 - y) ** 2)


def start(seed=0):
    """The parameters, equal on all devices."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(3, 16)), np.zeros(16), rng.normal(size=16) / 4]


def rows(n=512):
    """The whole data set."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 3))
    return x, np.sin(x[:, 0]) * x[:, 1] + 0.5 * x[:, 2]


def train(devices, steps, rate=0.2, mean=None):
    """Gradient descent, each device on its part of the rows; returns (losses by step, parameters by device)."""
    x, y = rows()
    copies, parts = [], []
    for i, number in enumerate(devices):
        with cupy.cuda.Device(number):
            copies.append([ag.asarray(cupy.asarray(p), requires_grad=True) for p in start()])
            parts.append([cupy.asarray(a[i :: len(devices)]) for a in (x, y)])
    if len(devices) > 1:
        average_gradients(copies, mean or (NcclMean if nccl.available else PeerMean)(devices))
    history = []
    for _ in range(steps):
        losses = []
        for number, parameters, part in zip(devices, copies, parts, strict=True):
            with cupy.cuda.Device(number):
                losses.append(loss(parameters, *part))
        ag.autograd.backward(losses)  # the hooks run in here, on a thread for each device
        for number, parameters in zip(devices, copies, strict=True):
            with cupy.cuda.Device(number), ag.no_grad():
                for p in parameters:
                    p -= rate * p.grad
                    p.grad = None
        history.append([value.detach() for value in losses])
    return [[float(value) for value in losses] for losses in history], [[p.numpy() for p in ps] for ps in copies]


def main():
    """Train on all devices and compare with one device that has all rows."""
    devices = [int(a) for a in sys.argv[1:]] or list(range(cupy.cuda.runtime.getDeviceCount()))
    losses, copies = train(devices, steps=50)
    alone, (expected,) = train(devices[:1], steps=50)
    apart = max(np.max(np.abs(p - e)) for p, e in zip(copies[0], expected, strict=True))
    same = all(np.array_equal(p, q) for other in copies for p, q in zip(copies[0], other, strict=True))
    way = "one device" if len(devices) == 1 else "NCCL" if nccl.available else "copies between devices"
    print(f"{len(devices)} devices, {way}: mean loss {np.mean(losses[-1]):.12f}, one device {alone[-1][0]:.12f}")
    print(f"parameters differ from one device's by {apart:.1e}; between devices: {'no' if same else 'they differ'}")
    assert apart < 1e-10
    assert same


if __name__ == "__main__":
    main()
