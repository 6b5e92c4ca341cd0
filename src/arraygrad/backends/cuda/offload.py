"""Saved values on their way to pinned host memory and back, while the device goes on computing (`save_on_cpu`).

May import: numpy. CuPy is handed in as a module.

Note [Offloading]
~~~~~~~~~~~~~~~~~
Copies run on a stream of their own, one per device; the host never waits.
(1) Out: the copying stream waits for the work that makes the array, and the array is kept until an event behind the
    copy has passed: CuPy's pool would hand its memory to later work of the stream that made it. Nobody waits for
    events; they are looked at whenever the next copy is made. A write in place waits for the copies of its memory.
(2) Back: the new array's memory may still be read by earlier work of the computing stream, so the copying stream waits
    for that first, and the computing stream waits for the copy. Pinned memory is kept as in (1).
    Where nobody asks for the array in the end, its stream waits all the same before the memory goes back.
(3) Backward needs values in the opposite order of saving: giving one back starts the copy of the one saved before it,
    which then runs beside the work of the node that asked.
Guarded by tests/gpu/test_stream_rules.py.
"""

import threading

__all__ = ["Offloaded", "Offloading"]


class Offloading:
    """Offloading(cupy, runtime): the copying streams, and what copies under way still read or write."""

    def __init__(self, cupy, runtime):
        self.cupy, self.runtime = cupy, runtime
        self._streams = {}  # device number -> stream; made under the GIL, a lost race makes one more
        self._lock = threading.Lock()  # of the list; several devices' threads bring values back
        self.pending = []  # (event, what must live until it has passed)

    def take(self, array):
        """Start copying `array`, on the device that is current, to the host."""
        return Offloaded(self, array)

    def stream(self, number):
        """The copying stream of a device, which must be current."""
        found = self._streams.get(number)
        if found is None:
            found = self._streams[number] = self.cupy.cuda.Stream(non_blocking=True)
        return found

    def keep(self, event, *objects):
        """Keep objects until `event` has passed; let go what older events have passed."""
        with self._lock:
            self.pending = [kept for kept in self.pending if not kept[0].done]
            self.pending.append((event, objects))

    def before_write(self, array):
        """The stream that is current for the array's device waits for the copies of its memory that are under way."""
        if not self.pending:
            return
        memory = array.data.mem
        with self._lock:
            events = [
                event
                for event, (kept, *_) in self.pending
                if getattr(kept, "data", None) is not None and getattr(kept.data, "mem", None) is memory
            ]
        current = self.runtime.stream_of(int(array.device))
        for event in events:
            self.runtime.wait_event(current, event)

    def kept(self):
        """How many copies were under way when last looked."""
        return len(self.pending)


class Offloaded:
    """One array in pinned host memory."""

    def __init__(self, owner, array):
        import cupyx  # pinned NumPy arrays are made there

        self._owner = owner
        self._number = int(array.device)
        self._ready = None  # (array, event, the stream whose memory it is) of a copy that was started ahead
        self.used = False
        cupy = owner.cupy
        with cupy.cuda.Device(self._number):
            dense = cupy.ascontiguousarray(array)
            self._host = cupyx.empty_pinned(dense.shape, dense.dtype)
            copying = owner.stream(self._number)
            copying.wait_event(cupy.cuda.get_current_stream(self._number).record())
            dense.get(stream=copying, out=self._host, blocking=False)
            owner.keep(copying.record(), dense, self._host)

    def prefetch(self):
        """Start copying back, behind the work that is issued by now."""
        if self._ready is not None:
            return
        owner, cupy = self._owner, self._owner.cupy
        with cupy.cuda.Device(self._number):
            current = owner.runtime.stream_of(self._number)
            back = cupy.empty(self._host.shape, dtype=self._host.dtype)
            copying = owner.stream(self._number)
            owner.runtime.wait_on(copying, current)
            back.set(self._host, stream=copying)
            event = copying.record()
            owner.keep(event, self._host)
        self._ready = back, event, current

    def __del__(self):
        # Of a copy that nobody asked for: before its memory goes back, its stream waits for the copying one.
        ready = getattr(self, "_ready", None)
        if ready is not None:
            _, event, stream = ready
            self._owner.runtime.wait_event(stream, event)

    def restore(self):
        """The array on its device; the stream that is current waits for the copy."""
        owner = self._owner
        current = owner.runtime.stream_of(self._number)
        if self._ready is not None and self._ready[2] != current:
            owner.keep(self._ready[1], self._ready[0])  # memory of another stream: not for this one
            self._ready = None
        self.prefetch()
        back, event, _ = self._ready
        self._ready = None
        self.used = True
        owner.runtime.wait_event(current, event)
        return back
