"""Random programs on several streams and devices, whose gradients must be those of the same program over NumPy.

    python tests/gpu/stress.py                          # 100 programs
    python tests/gpu/stress.py --minutes 30             # as many as there is time for
    python tests/gpu/stress.py --seed 4711 --programs 1 # one of them again

Runs on what CuPy finds, a GPU or the host device (tools/host_cuda; lazy mode if HOST_CUDA_STREAMS says nothing). Exits
with 1 if a gradient was wrong, and prints the seeds; with 2 if there is no CuPy or no device.

A program orders by events what a user has to order: an operation waits for what it reads, a write for who still reads,
and before memory is dropped all streams wait for each other. Everything is late otherwise. It makes views, transfers
between devices and through the host, writes in place, takes losses, calls functions of arraygrad.scipy, packs saved
values, has functions whose rules hand their gradient on, and after backward() every stream takes memory and fills it
with NaN. What backward() reads then must not have been given back before. Imports the public names of arraygrad.
"""

import argparse
import contextlib
import functools
import gc
import importlib
import os
import sys
import time
import warnings

import numpy as np

import arraygrad as ag

SIZE = 64


@functools.cache
def kinds():
    """How many kinds of operations there are: those of arraygrad.scipy need SciPy, and CuPy's chapters of its names."""
    try:
        chapters = ("ndimage", "special", "fft", "signal", "sparse", "sparse.linalg")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of cupyx.jit, which cupyx.scipy.signal imports
            for name in ("scipy", *[f"cupyx.scipy.{chapter}" for chapter in chapters]):
                importlib.import_module(name)
    except ImportError:
        return 24
    return 31


class Hand(ag.autograd.Function):
    """x itself, whose rule hands its gradient on: as it is, or as a view of it."""

    @staticmethod
    def forward(ctx, x, how):
        ctx.how = how
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        return (g, g[:], ag.reshape(ag.reshape(g, (2, -1)), (-1,)))[ctx.how], None


class Keep(ag.autograd.Function):
    """x * t, with t kept by save_for_backward, or as an attribute."""

    @staticmethod
    def forward(ctx, x, t, attribute):
        if attribute:
            ctx.t = t
        else:
            ctx.save_for_backward(t)
        ctx.attribute = attribute
        return x * t

    @staticmethod
    def backward(ctx, g):
        return g * (ctx.t if ctx.attribute else ctx.saved_tensors[0]), None, None


product = ag.primitive(lambda x, t: x * t)
product.defvjp(lambda ans, x, t: lambda g: g * t, lambda ans, x, t: lambda g: g * x)


class Item:
    """A Tensor of a program, its device, and the memory that it shares with its views."""

    def __init__(self, tensor, device, memory):
        self.tensor, self.device, self.memory = tensor, device, memory


class Memory:
    """The events after the last writes of some memory, and after reads since. Nobody writes to what is fixed."""

    def __init__(self, writes, fixed=False):
        self.writes, self.reads, self.fixed = list(writes), [], fixed


class Host:
    """The program over NumPy, where nothing is late."""

    places = None

    def __init__(self, devices):
        self.devices = devices

    def array(self, values):
        """An array of the program's own."""
        return np.array(values)

    def at(self, place):
        """Nothing is current on the host."""
        return contextlib.nullcontext()

    def on(self, tensor):
        """Nothing is current on the host."""
        return contextlib.nullcontext()

    def record(self, place):
        """No event."""
        return None

    def wait(self, place, events):
        """Nothing to wait for."""

    def fence(self):
        """Nothing to wait for."""

    def settle(self):
        """Nothing is late."""

    def junk(self):
        """No memory to spoil."""

    def to_device(self, tensor, device, carrier):
        """One operation, as on devices."""
        return tensor * 1.0

    def through_host(self, tensor):
        """One operation, as on devices."""
        return tensor * 1.0

    def number_of(self, place):
        """A device number like that of the program on devices."""
        return place % self.devices


class Machine:
    """The program over CuPy: `streams` places on `devices` devices, each a stream of its own."""

    def __init__(self, cupy, streams, devices):
        self.cupy, self.devices = cupy, devices
        self.places = []
        for i in range(streams):
            with cupy.cuda.Device(i % devices):
                self.places.append((i % devices, cupy.cuda.Stream(non_blocking=True)))
        self.null = [(number, cupy.cuda.Stream.null) for number in range(devices)] if devices else []
        self.spoilt = []

    def array(self, values):
        """An array of the program's own, on the device and stream that are current."""
        return self.cupy.asarray(values)

    @contextlib.contextmanager
    def at(self, place):
        """Make a place current."""
        number, stream = self._place(place)
        with self.cupy.cuda.Device(number), stream:
            yield

    def _place(self, place):
        return self.places[place % len(self.places)] if isinstance(place, int) else place

    def number_of(self, place):
        """The device of a place."""
        return self._place(place)[0]

    def on(self, tensor):
        """Make a Tensor's device current."""
        return self.cupy.cuda.Device(int(tensor.device))

    def record(self, place):
        """An event after all work of a place."""
        number, stream = self._place(place)
        with self.cupy.cuda.Device(number):
            return stream.record()

    def wait(self, place, events):
        """Later work of a place waits for events."""
        number, stream = self._place(place)
        with self.cupy.cuda.Device(number):
            for event in events:
                if event is not None:
                    stream.wait_event(event)

    def fence(self):
        """All streams wait for each other, the default streams too."""
        everywhere = [*self.places, *self.null]
        events = [self.record(place) for place in everywhere]
        for place in everywhere:
            self.wait(place, events)

    def settle(self):
        """Wait for everything."""
        for number in range(self.devices):
            self.cupy.cuda.Device(number).synchronize()

    def junk(self):
        """Every stream takes memory that is free for it, and writes NaN over it."""
        for number, stream in (*self.places, *self.null):
            with self.cupy.cuda.Device(number), stream:
                self.spoilt += [self.cupy.full(SIZE, np.nan) for _ in range(12)]

    def to_device(self, tensor, device, carrier):
        """A recorded copy on another device, by its current stream or, where there is such a one, by the carrier."""
        place = None if carrier is None else self.places[carrier % len(self.places)]
        stream = None if place is None or place[0] != device else place[1]
        return tensor.to_device(self.cupy.cuda.Device(device), stream=stream)

    def through_host(self, tensor):
        """Two recorded transfers."""
        return ag.to_backend(ag.to_backend(tensor, "numpy"), "cupy", device=self.cupy.cuda.Device())


class Program:
    """One random program, made of its seed: `run(machine)` gives its gradients as NumPy arrays."""

    def __init__(self, seed):
        self.seed = seed
        rng = np.random.default_rng(seed)
        self.streams, self.devices = int(rng.integers(1, 5)), int(rng.integers(1, 3))
        self.length = int(rng.integers(4, 20))
        self.threads = bool(rng.integers(0, 4))
        self.waits = not rng.integers(0, 4)  # may contain what waits for the device and so hides what is late
        self.second = not rng.integers(0, 6)
        self.way = int(rng.integers(0, 4))

    def run(self, machine):
        """The gradients of the leaves."""
        with ag.autograd.set_multithreading_enabled(self.threads):
            return self._run(machine)

    def _run(self, machine):
        self.rng = rng = np.random.default_rng((self.seed, 1))
        leaves, items = [], []
        for _ in range(int(rng.integers(1, 4))):
            place = int(rng.integers(0, 1 << 20)) % max(self.streams, 1)
            values = rng.uniform(0.2, 0.9, SIZE)
            with machine.at(place):
                leaf = ag.asarray(machine.array(values), requires_grad=True)
            leaves.append(leaf)
            items.append(Item(leaf, machine.number_of(place), Memory([machine.record(place)], fixed=True)))
        for _ in range(self.length):
            self.step(machine, items)
            if rng.random() < 0.15 and len(items) > 5:  # the program lets something go
                machine.fence()
                del items[int(rng.integers(len(leaves), len(items)))]
        losses = self.losses(machine, items)
        machine.fence()
        items.clear()
        if rng.random() < 0.7:
            machine.settle()
        place = int(rng.integers(0, 1 << 20)) % self.streams
        with machine.at(place):
            found = self.backward(machine, losses, leaves)
        del losses
        machine.junk()
        machine.settle()
        return [None if g is None else np.array(g.numpy()) for g in found]

    def step(self, machine, items):
        """One more operation, somewhere."""
        rng = self.rng
        place = int(rng.integers(0, 1 << 20)) % self.streams
        device = machine.number_of(place)
        a, b = (items[int(rng.integers(max(0, len(items) - 6), len(items)))] for _ in range(2))
        a, b = (self.brought(machine, item, place, device) for item in (a, b))
        kind = int(rng.integers(0, kinds()))
        constant = rng.uniform(0.3, 0.8, SIZE)
        b.memory.fixed |= kind == 8  # what is set on ctx must not be written any more
        with machine.at(place):
            machine.wait(place, [*a.memory.writes, *b.memory.writes])
            if kind == 0 and not a.memory.fixed:
                machine.wait(place, a.memory.reads)
                a.tensor[: SIZE // 2] = b.tensor[SIZE // 2 :] * 0.5
                a.memory.writes, a.memory.reads = [machine.record(place)], []
                b.memory.reads.append(a.memory.writes[0])
                return
            result, view = self.operation(machine, kind, a.tensor, b.tensor, constant)
        event = machine.record(place)
        for item in (a, b):
            item.memory.reads.append(event)
        if view:
            a.memory.writes.append(event)
        items.append(Item(result, device, a.memory if view else Memory([event])))

    def brought(self, machine, item, place, device):
        """`item` on the device of a place, by a recorded transfer."""
        if item.device == device:
            return item
        carrier = (None, int(self.rng.integers(0, 1 << 20)))[int(self.rng.integers(0, 2))]
        with machine.at(self.source(machine, item.device)), machine.at(place):
            machine.wait(self.source(machine, item.device), item.memory.writes)
            moved = machine.to_device(item.tensor, device, carrier)
        event = machine.record(place)
        item.memory.reads.append(event)
        return Item(moved, device, Memory([event]))

    def source(self, machine, device):
        """A place on a device."""
        if machine.places is None:
            return 0
        for number, place in enumerate(machine.places):
            if place[0] == device:
                return number
        return (device, machine.cupy.cuda.Stream.null)

    def operation(self, machine, kind, a, b, constant):
        """(a new Tensor of a and b, whether it is a view of a)."""
        rng = self.rng
        how = int(rng.integers(0, 3))
        if kind <= 2:
            return ag.sin(a) * b, False
        if kind == 3:
            return (a + 1.0, a + b, b - 0.25)[how], False  # rules that hand the gradient on
        if kind == 4:
            return Hand.apply(a, how), False
        if kind == 5:
            return ag.tanh(a) + machine_like(machine, a, constant), False
        if kind == 6:
            return (ag.reshape(ag.reshape(a, (2, -1)), (-1,)), a[:], ag.flip(ag.expand_dims(a, axis=0)[0]))[how], True
        if kind == 7:
            return ag.concat([a[: SIZE // 2], b[SIZE // 2 :]]), False
        if kind == 8:
            return Keep.apply(a, ag.reshape(b, (-1,)) if how else b.detach()[:], bool(how)), False
        if kind == 9:
            return product(a, b[:]), False
        if kind == 10:
            with ag.autograd.graph.saved_tensors_hooks(
                *((lambda t: t, lambda t: t), (lambda t: [t], lambda kept: kept[0]))[how % 2]
            ):
                return ag.sin(a) * b, False
        if kind == 11:
            t = ag.exp(-ag.sin(a)) * b  # bounded, however large a has become
            t.register_hook((lambda g: None, lambda g: None if g is None else g * 1.0, lambda g: g)[how])
            return t, False
        if kind == 12:
            return ag.checkpoint(lambda x, y: ag.sin(x) * ag.tanh(y))(a, b), False
        if kind == 13:
            return ag.sum(ag.stack([a, b, a]), axis=0) * 0.3, False
        if kind == 14:
            return ag.softmax(a) * b + ag.sum(a[:4]), False
        if kind == 15 and self.waits:
            return (machine.through_host(a) if how else a * 1.0), False
        if kind == 16 and self.waits:
            with ag.autograd.graph.save_on_cpu():
                return ag.sin(a) * b * 0.5, False
        if kind == 17:
            x, y = (ag.reshape(t, ((8, 8), (2, 4, 8), (4, 4, 4))[how]) for t in (a, b))
            y = ag.matrix_transpose(y)
            return ag.reshape(ag.broadcast_to(ag.sum(x @ y, axis=-1, keepdims=True) * 0.1, x.shape), (-1,)), False
        if kind == 18:
            return ag.reshape(ag.reshape(a, (8, 8)) * (b[:8], ag.reshape(b[:8], (8, 1)), b[:1])[how], (-1,)), False
        if kind == 19:
            return a * (ag.mean(b), ag.sum(b) * 0.02, ag.logsumexp(b) * 0.1)[how], False
        if kind == 20:
            return ag.reshape(ag.log_softmax(ag.reshape(a, (8, 8)), axis=how - 1) * 0.1, (-1,)) * b, False
        if kind == 21:
            w = ag.asarray(machine_like(machine, a, constant)) * 1.0
            shown = (w, w[:], ag.reshape(w, (8, 8)))[how]
            result = a * w
            with ag.no_grad():  # what the product has saved stays
                shown -= 0.5 * shown
                w *= b.detach()
                ag.autograd.add_scaled([w, ag.reshape(w, (8, 8))], [b.detach(), 0.5], 0.25)
            return result + w, False
        if kind == 22:
            places = machine_like(machine, a, rng.integers(-SIZE, SIZE, SIZE // 2))
            found = (lambda: a[places], lambda: ag.take(a, places % SIZE), lambda: matrix(a)[places % 8, places % 7])
            return ag.concat([found[how]() * 0.5, b[: SIZE // 2]]), False
        if kind == 23:
            z, labels = matrix(a) + b[:8], rng.integers(0, 8, 8)
            rows, columns, one_hot = (machine_like(machine, a, v) for v in (np.arange(8), labels, np.eye(8)[labels]))
            found = (
                lambda: -ag.sum(one_hot * ag.log_softmax(z)) / 8,
                lambda: -(ag.log_softmax(z)[rows, columns]).mean(),
                lambda: ag.mean(ag.logsumexp(z, axis=1) - z[rows, columns]),
            )
            return ag.sin(a) * found[how](), False
        return self.of_scipy(machine, kind, a, b, how, constant), False

    def of_scipy(self, machine, kind, a, b, how, constant):
        """A new Tensor of a and b by functions of arraygrad.scipy: on devices by those of cupyx.scipy."""
        if kind == 24:
            ndimage = importlib.import_module("arraygrad.scipy.ndimage")
            filters = (
                lambda t: ndimage.gaussian_filter1d(t, 1.2),
                lambda t: ndimage.uniform_filter1d(t, 3),
                ndimage.sobel,
            )
            return filters[how](a) * b * 0.5
        if kind == 25:
            special = importlib.import_module("arraygrad.scipy.special")
            return (special.i0e, special.ndtr, special.log_ndtr)[how](ag.tanh(a)) * b
        if kind == 26 and self.waits:
            fft = importlib.import_module("arraygrad.scipy.fft")
            return (fft.dct(a) * 0.1, ag.abs(fft.fft(a)) * 0.1 + b, ag.real(fft.ifft(a + b)))[how]
        if kind == 27:
            signal = importlib.import_module("arraygrad.scipy.signal")
            found = (
                lambda: signal.convolve(a, b[:5], "same", "direct"),
                lambda: signal.correlate(a, b[:4], "same", "direct"),
                lambda: signal.lfilter(machine.array([0.2, 0.1]), machine.array([1.0, -0.5]), a) * b,
            )
            return found[how]() * 0.3
        if kind == 28:
            data = (constant, b, ag.tanh(b))[how]
            return banded(machine, machine.array(data) if how == 0 else data, self.rng) @ a * 0.5
        if kind == 29 and self.waits:
            solve = importlib.import_module("arraygrad.scipy.sparse.linalg").spsolve
            return solve(banded(machine, ag.tanh(b) + 4.0, None), a)
        if kind == 30 and self.waits:
            x = matrix(ag.tanh(a))
            x = x @ ag.matrix_transpose(x) + machine.array(8.0 * np.eye(8))
            found = (ag.linalg.solve, lambda x, y: ag.linalg.inv(x) * y, lambda x, y: ag.linalg.cholesky(x) * y)[how]
            return ag.reshape(found(x, matrix(b)), (-1,)) * 0.5
        return a * ag.asarray(b.array if how else b.detach()) + b

    def losses(self, machine, items):
        """One number per device, of the last values."""
        losses = []
        for device in sorted({item.device for item in items}):
            place = self.source(machine, device)
            last = [item for item in items if item.device == device][-4:]
            with machine.at(place):
                machine.wait(place, [event for item in last for event in item.memory.writes])
                losses.append(ag.sum(ag.tanh(sum((item.tensor for item in last[1:]), last[0].tensor * 1.0))))
        return losses

    def backward(self, machine, losses, leaves):
        """The gradients, in one of the ways to ask for them."""
        losses = [loss for loss in losses if loss.requires_grad]
        if self.second:
            first = ag.autograd.grad(losses, leaves, create_graph=True, allow_unused=True)
            again = []
            for g in first:
                if g is not None and g.requires_grad:
                    with machine.on(g):
                        again.append(ag.sum(g * g))
            if again:
                losses = again
        if self.way == 0:
            return ag.autograd.grad(losses, leaves, allow_unused=True)
        if self.way == 1:
            ag.autograd.backward(losses, retain_graph=True)
        ag.autograd.backward(losses, atomic=self.way == 3)
        return [leaf.grad for leaf in leaves]


class Shaken(Host):
    """The program over NumPy with other last bits, which shows how much of them comes out at its end."""

    def array(self, values):
        """An array of the program's own."""
        values = np.array(values)
        if values.dtype.kind != "f":
            return values
        return values * (1.0 + 2e-15 * (-1.0) ** np.arange(values.size).reshape(values.shape))


def matrix(a):
    """The elements of `a` as a square."""
    return ag.reshape(a, (8, 8))


def banded(machine, data, rng):
    """A sparse matrix of `data` with an element in each row: on the diagonal, or anywhere."""
    sparse = importlib.import_module("arraygrad.scipy.sparse")
    columns = np.arange(SIZE) if rng is None else rng.integers(0, SIZE, SIZE)
    places = [machine.array(i.astype(np.int32)) for i in (columns, np.arange(SIZE + 1))]
    return sparse.csr_matrix((data, *places), shape=(SIZE, SIZE))


def machine_like(machine, a, values):
    """An array of the program's own, beside `a`."""
    return machine.array(values)


def differences(cupy, seed):
    """What is wrong with the gradients of the program of a seed, in words; None: nothing."""
    program = Program(seed)
    devices = min(program.devices, cupy.cuda.runtime.getDeviceCount())
    host_devices = program.devices if devices == program.devices else 1
    wanted = program.run(Host(host_devices))
    machine = Machine(cupy, max(program.streams, devices), devices)
    found = program.run(machine)
    del machine
    gc.collect()
    # Elements may be small differences of large numbers: of these the gradients of the other leaves tell.
    bound = max(1e-10, 1e-12 * max([np.max(np.abs(g)) for g in wanted if g is not None], default=0.0))
    shaken = None
    for i, (one, two) in enumerate(zip(found, wanted, strict=True)):
        if (one is None) != (two is None):
            return f"leaf {i}: {one} for {two}"
        if one is not None and not np.allclose(one, two, rtol=1e-8, atol=bound):
            shaken = shaken or program.run(Shaken(host_devices))
            if not np.allclose(one, two, rtol=1e-8, atol=bound + 10.0 * np.max(np.abs(shaken[i] - two))):
                return f"leaf {i}: off by {np.max(np.abs(one - two))}"
    return None


def main():
    """Run programs and report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=100)
    options = parser.parse_args()
    if "HOST_CUDA_STREAMS" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "HOST_CUDA_STREAMS": "lazy"})
    try:
        import cupy

        cupy.cuda.runtime.getDevice()
    except Exception as error:  # whatever CuPy says where it, its libraries or a device are missing
        print(f"nothing to run on: {type(error).__name__}: {error}", file=sys.stderr)
        return 2

    end = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    seed, wrong = options.seed, []
    while time.monotonic() < end if end is not None else seed < options.seed + options.programs:
        try:
            what = differences(cupy, seed)
        except Exception as error:  # the next program is still worth running
            what = f"{type(error).__name__}: {str(error)[:300]}"
        if what is not None:
            wrong.append(seed)
            print(f"seed {seed}: {what}", flush=True)
        seed += 1
    mode = os.environ["HOST_CUDA_STREAMS"]
    print(f"{seed - options.seed} programs ({mode}), {len(wrong)} with other gradients than over NumPy: {wrong[:20]}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
