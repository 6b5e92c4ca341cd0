"""Gradients without arrays: Python floats, mutable boxes, and three devices that record what happens on them.

May import: arraygrad.engine only, no array library.
"""

import threading

from arraygrad.engine.arrayops import ArrayOps, DeviceRuntime, GradMeta, InvalidGradient
from arraygrad.engine.engine import execute
from arraygrad.engine.node import Edge, PyNode

LAST = 2**64 - 1  # sequence number of accumulators: they run as soon as they are ready


class FloatOps(ArrayOps):
    """A gradient is a Python float."""

    def meta(self, array):
        """Metadata of any float."""
        return GradMeta(self, (), float)

    def matches(self, meta, grad):
        """A float matches, nothing else does."""
        return type(grad) is float

    def conform(self, meta, grad, realify):
        """Ints become floats; a complex number only if a rule may have made it for a real input."""
        if isinstance(grad, complex):
            if not realify:
                raise InvalidGradient(f"got {grad} but expected a real number")
            return grad.real
        if isinstance(grad, (int, float)):
            return float(grad)
        raise InvalidGradient(f"got {type(grad).__name__} but expected float")

    def add(self, a, b):
        """Sum."""
        return a + b

    def clone(self, array, like):
        """Floats never change: the same one serves."""
        return array

    def zeros(self, meta):
        """Zero."""
        return 0.0

    def ones(self, meta):
        """One."""
        return 1.0


class Box:
    """A mutable fake array of one number, weakly referenceable, so that identity and overwriting can be seen."""

    __slots__ = ("__weakref__", "device", "value")

    def __init__(self, value, device=None):
        self.value = value
        self.device = device

    def __repr__(self):
        return f"Box({self.value}, {self.device})"


class BoxOps(ArrayOps):
    """Boxes on a device; `calls` lists every addition as (method, value held, value added, thread name)."""

    def __init__(self, name="box", runtime=None):
        self.calls = []

    def meta_on(self, device, stream=None):
        """Metadata of a Box on a device (None: the host)."""
        return GradMeta(self, (), float, device=device, device_key=device, stream=stream)

    def meta(self, array):
        """Metadata of a Box."""
        return self.meta_on(array.device)

    def matches(self, meta, grad):
        """Any Box on the right device."""
        return isinstance(grad, Box) and grad.device == meta.device_key

    def conform(self, meta, grad, realify):
        """Only a Box on the right device serves."""
        if not isinstance(grad, Box):
            raise InvalidGradient(f"got {type(grad).__name__} but expected Box")
        if grad.device != meta.device_key:
            raise InvalidGradient(f"expected device {meta.device_key} but got {grad.device}")
        return grad

    def add(self, a, b):
        """A new Box."""
        self.calls.append(("add", a.value, b.value, threading.current_thread().name))
        return Box(a.value + b.value, a.device)

    def add_into(self, a, b):
        """Overwrites a."""
        self.calls.append(("add_into", a.value, b.value, threading.current_thread().name))
        a.value += b.value
        return a

    def clone(self, array, like):
        """A new Box."""
        return Box(array.value, array.device)

    def zeros(self, meta):
        """A Box of zero."""
        return Box(0.0, meta.device_key)

    def ones(self, meta):
        """A Box of one."""
        return Box(1.0, meta.device_key)


class FakeRuntime(DeviceRuntime):
    """Devices "dev0", "dev1", "dev2" with named streams; `log` lists (event, argument, ..., thread name)."""

    def __init__(self):
        self.log = []
        self.local = threading.local()

    def note(self, *what):
        """Append to the log with the name of the thread it happens on."""
        self.log.append((*what, threading.current_thread().name))

    def enter(self, device_key, stream):
        """Make device and stream current; the token is what was current before."""
        before = getattr(self.local, "current", None)
        self.local.current = (device_key, stream)
        self.note("enter", device_key, stream)
        return before

    def leave(self, token):
        """Restore."""
        self.note("leave", getattr(self.local, "current", None))
        self.local.current = token
        return 0

    def current(self):
        """(device, stream) current on this thread, None if nothing was entered."""
        return getattr(self.local, "current", None)

    def current_stream(self, device_key):
        """The stream that was entered last on this thread for the device."""
        now = self.current()
        return now[1] if now is not None and now[0] == device_key else None

    def record_event(self, stream):
        """An event is a label that names its stream."""
        self.note("record", stream)
        return ("event", stream)

    def wait_event(self, stream, event):
        """Only noted."""
        self.note("wait", stream, event)
        return 0


class DeviceOps(BoxOps):
    """BoxOps over a FakeRuntime."""

    def __init__(self):
        runtime = FakeRuntime()
        ArrayOps.__init__(self, "fake", runtime)
        self.calls = []
        self.log = runtime.log


FLOATS = FloatOps("float")
FLOAT = GradMeta(FLOATS, (), float)


def as_edge(e):
    """Edge of an Edge, a node (input 0) or (node, input number)."""
    if isinstance(e, Edge):
        return e
    return Edge(*e) if isinstance(e, tuple) else Edge(e, 0)


def run(roots, grads, *, keep_graph=False, accumulate_grad=True, inputs=()):
    """execute() with the defaults of a plain backward; roots and inputs may be nodes, pairs or Edges."""
    return execute(
        [as_edge(r) for r in roots],
        list(grads),
        keep_graph=keep_graph,
        create_graph=False,
        accumulate_grad=accumulate_grad,
        inputs=[as_edge(i) for i in inputs],
    )


def capture(roots, grads, inputs, *, keep_graph=False):
    """execute() as autograd.grad() calls it: the gradients that arrive at `inputs`."""
    return run(roots, grads, keep_graph=keep_graph, accumulate_grad=False, inputs=inputs)


def edges_of(nexts):
    """Edges (None stays None) of nodes, pairs or Edges."""
    return [None if e is None else as_edge(e) for e in nexts]


def sink(name="sink", store=None, meta=FLOAT, log=None):
    """A stand-in for an accumulator: no edges, runs as soon as it is ready, appends its gradient to `store`."""

    def take(g):
        if log is not None:
            log.append(name)
        if store is not None:
            store.append(g)
        return ()

    node = PyNode(name, take, metas=(meta,))
    node._set_sequence_nr(LAST)
    return node


def node(name, nexts, fn=None, metas=(FLOAT,), log=None, release=None):
    """A PyNode with edges to `nexts`; without `fn` it hands its gradient to every edge."""
    count = len(nexts)

    def apply(*grads):
        if log is not None:
            log.append(name)
        if fn is not None:
            return fn(*grads)
        return (grads[0],) * count

    return PyNode(name, apply, edges=edges_of(nexts), metas=metas, release=release)


def chain(length, end, fn=None):
    """`length` nodes one after another that lead to `end`; the root of the chain."""
    for _ in range(length):
        end = PyNode("link", fn if fn is not None else _pass, edges=(Edge(end, 0),), metas=(FLOAT,))
    return end


def _pass(g):
    return g
