"""races.py: gradients read late. Prints `ok` or `RACE` for each case; exits with 1 when a race shows.

    run PREFIX python races.py              # on the host device; lazy mode, if HOST_CUDA_STREAMS says nothing
    HOST_CUDA_STREAMS=random:7 run PREFIX python races.py

On a machine with a GPU and the ordinary CuPy the same file holds the late reader back by a slow kernel.

How a case works: one stream makes memory, another stream reads it late (nothing waits for the reader), and meanwhile
the maker takes new memory and fills it with NaN. Where the engine gives the memory back before the reader has read it,
CuPy's pool hands it out again, and the reader finds NaN. The answer is that the maker's stream waits for the reader
before the memory goes back, or that the memory is kept until the reader is done.
"""

import os
import sys

if "HOST_CUDA_STREAMS" not in os.environ:
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "HOST_CUDA_STREAMS": "lazy"})

import cupy
import numpy as np

import arraygrad as ag

N = 1 << 16
SPIN = cupy.RawKernel(
    'extern "C" __global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n); }', "spin"
)
found = []


def new_stream():
    return cupy.cuda.Stream(non_blocking=True)


def after(waiting, made):
    """Later work on `waiting` comes after the work now on `made`."""
    waiting.wait_event(made.record())


def hold_back(stream):
    """The later work on `stream` is late. (On the host device that is lazy mode's doing: the kernel ends at once.)"""
    with stream:
        SPIN((1,), (1,), (np.int64(400_000_000),))


def use_up(stream):
    """Takes memory that is free for `stream` and writes over it."""
    with stream:
        return [cupy.full(N, np.nan) for _ in range(12)]


def settle():
    cupy.cuda.Device().synchronize()


def verdict(name, got, wanted):
    right = np.allclose(got, wanted)
    print(f"{'ok  ' if right else 'RACE'} {name}" + ("" if right else f": got {np.ravel(got)[:2]}, wanted {wanted}"))
    if not right:
        found.append(name)


def middle_stream(handed_on):
    """Stream 0 makes a gradient, stream 1 computes the next of it or hands it on as it is, stream 2 reads late."""
    s = [new_stream() for _ in range(3)]
    with s[2]:
        x = ag.asarray(cupy.full(N, 2.0), requires_grad=True)
        square = x * x
    after(s[1], s[2])
    with s[1]:
        y = square + 1.0 if handed_on else square * 1.0
    after(s[0], s[1])
    with s[0]:
        loss = ag.sum(ag.sin(y))
    for one in s:
        after(cupy.cuda.get_current_stream(), one)
    settle()
    hold_back(s[2])
    loss.backward()
    kept = use_up(s[0])
    settle()
    verdict(
        f"gradient {'handed on' if handed_on else 'computed'} on the stream between",
        x.grad.numpy(),
        4 * np.cos(4.0 + handed_on),
    )
    del kept


def saved_value(name, view):
    """Memory of stream 0; a view of it is taken and saved on stream 1, and read late by backward."""
    maker, reader = new_stream(), new_stream()
    with maker:
        values = ag.asarray(cupy.full(N, 3.0)) * 1.0
    after(reader, maker)
    with reader:
        weights = ag.asarray(cupy.full(N, 2.0), requires_grad=True)
        seen = view(values)
        loss = ag.sum(seen * weights)
    after(cupy.cuda.get_current_stream(), reader)
    settle()
    del values, seen
    hold_back(reader)
    loss.backward()
    del loss
    kept = use_up(maker)
    settle()
    verdict(f"saved value, {name}", weights.grad.numpy(), 3.0)
    del kept


def offloaded():
    """Saved values that lie on the host between forward and backward."""
    stream = new_stream()
    with stream:
        x = ag.asarray(cupy.full(N, 2.0), requires_grad=True)
        y = x
        with ag.autograd.graph.save_on_cpu():
            for _ in range(4):
                y = ag.sin(y) * 1.5
        loss = ag.sum(y)
    loss.backward()
    kept = use_up(stream)
    settle()
    value, slope = 2.0, 1.0
    for _ in range(4):
        slope *= 1.5 * np.cos(value)
        value = 1.5 * np.sin(value)
    verdict("save_on_cpu", x.grad.numpy(), slope)
    del kept


def two_devices():
    """A gradient that passes from one device to the other."""
    if cupy.cuda.runtime.getDeviceCount() < 2:
        return
    x = ag.asarray(cupy.full(N, 2.0), requires_grad=True)
    y = (x * 3.0).to_device(cupy.cuda.Device(1))
    with cupy.cuda.Device(1):
        loss = ag.sum(ag.sin(y) * 2.0)
        loss.backward()
        kept = use_up(cupy.cuda.Stream.null)
    kept += use_up(cupy.cuda.Stream.null)
    for number in (1, 0):
        cupy.cuda.Device(number).synchronize()
    verdict("two devices", x.grad.numpy(), 6 * np.cos(6.0))
    del kept


def captured(threads):
    """A step as a CUDA graph, launched again."""
    stream = new_stream()
    name = f"captured step, device threads {threads}"
    with stream, ag.autograd.set_multithreading_enabled(threads):
        w = ag.asarray(cupy.full(N, 0.5), requires_grad=True)
        x = cupy.full(N, 3.0)

        def step():
            w.grad = None
            ag.sum(ag.sin(w * x)).backward()

        for _ in range(3):
            step()
        stream.synchronize()
        stream.begin_capture()
        try:
            step()
        finally:
            graph = stream.end_capture()
        w.grad.array[...] = 0
        graph.launch(stream)
        stream.synchronize()
        verdict(name, w.grad.numpy(), 3 * np.cos(1.5))


for handed_on in (False, True):
    middle_stream(handed_on)
for name, view in {"itself": lambda a: a, "reshaped": lambda a: ag.reshape(a, (N,)), "sliced": lambda a: a[:]}.items():
    saved_value(name, view)
offloaded()
two_devices()
for threads in (True, False):
    try:
        captured(threads)
    except Exception as error:  # CUDA's own refusals; the next case is still worth trying
        print(f"FAIL captured step, device threads {threads}: {type(error).__name__}: {str(error)[:200]}")
        found.append("captured")
print(f"{len(found)} of the cases failed: {', '.join(found)}" if found else "no race")
sys.exit(bool(found))
