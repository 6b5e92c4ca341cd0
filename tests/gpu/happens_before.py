"""Who comes before whom on pretended streams, and which work is not ordered at all: a race that no run has to show.

Each stream counts its work and knows, for each other stream, how much of that stream's work comes before its own
(a vector clock). An event is a copy of what its stream knows, waiting for one takes that in. Memory knows who wrote and
who read it last. `races` lists, in words, reads of what is not written yet by then, writes over what is still read, and
memory that goes back to its home, the stream that it was made on, while another stream may not be done with it.
Imports nothing of arraygrad.
"""

import threading
import weakref

races = []
lock = threading.RLock()
_clocks = {}  # stream -> {stream: how much of its work comes before}


class _Memories(dict):
    """An iterator too, so that a rule that runs kernels is not taken to depend on what ran before."""

    def __next__(self):
        raise StopIteration


_memories = _Memories()  # id of the array that owns memory -> Memory
_blocking = set()  # streams that wait for the default stream of their device, and it for them

NULL = 0  # the handle of the default stream


class Memory:
    """One allocation. A stream is (device, handle)."""

    def __init__(self, home, bytes):
        self.home, self.bytes = home, bytes
        self.written = (home, work(home))
        self.writer = "its making"
        self.reads = {}  # stream -> (count, name) of the last read

    def uses(self):
        """(name, (stream, count)) of the last write and of the reads since."""
        yield self.writer, self.written
        for stream, (count, name) in self.reads.items():
            yield name, (stream, count)


def clock(stream):
    """What is known to come before later work of a stream."""
    return _clocks.setdefault(stream, {})


def work(stream):
    """Count one piece of work of a stream."""
    own = clock(stream)
    if stream[1] == NULL:
        for other in _blocking:
            if other[0] == stream[0]:
                take_in(stream, clock(other))
    elif stream in _blocking:
        take_in(stream, clock((stream[0], NULL)))
    own[stream] = own.get(stream, 0) + 1
    return own[stream]


def take_in(stream, known):
    """Later work of `stream` comes after all of `known`."""
    own = clock(stream)
    for other, count in known.items():
        own[other] = max(own.get(other, 0), count)


def block(stream):
    """Note a stream that was not made with non_blocking=True."""
    _blocking.add(stream)


def event_of(stream):
    """What an event that is recorded now stands for."""
    with lock:
        work(stream)
        return dict(clock(stream))


def host_waits(known):
    """The host waited for `known`: whatever it asks for from now on comes after."""
    with lock:
        for stream in list(_clocks):
            take_in(stream, known)


def host_waits_for(stream):
    """The host waited for all work of a stream, of a device (None for the handle), or of all (None)."""
    with lock:
        for other in list(_clocks):
            if stream is None or other == stream or (stream[1] is None and other[0] == stream[0]):
                host_waits(dict(clock(other)))


def before(stream, when):
    """Whether work (another stream, its count) comes before later work of `stream`."""
    other, count = when
    return other == stream or clock(stream).get(other, 0) >= count


def memory_at(owner, bytes, home):
    """The Memory of the array that owns it, made on `home` if it is new. `owner` lives as long as views of it."""
    with lock:
        found = _memories.get(id(owner))
        if found is None:
            key = id(owner)
            found = _memories[key] = Memory(home, bytes)
            found.ends = weakref.ref(owner, lambda _: freed(key))
        return found


def freed(key):
    """The last array over a piece of memory is gone."""
    with lock:
        memory = _memories.pop(key, None)
        if memory is None or not memory.bytes:
            return
        for name, when in memory.uses():
            if not before(memory.home, when):
                races.append(f"memory of {memory.home} goes back before {name} on {when[0]} is done")


def ran(name, stream, reads, writes):
    """A kernel ran on `stream` that reads and writes these Memories."""
    with lock:
        now = work(stream)
        for memory in reads:
            if not before(stream, memory.written):
                races.append(
                    f"{name} on {stream} reads what {memory.writer} on {memory.written[0]} may not have written"
                )
            memory.reads[stream] = now, name
        for memory in writes:
            for other, when in memory.uses():
                if not before(stream, when):
                    races.append(f"{name} on {stream} writes over what {other} on {when[0]} uses")
            memory.written, memory.writer = (stream, now), name
            memory.reads = {}
