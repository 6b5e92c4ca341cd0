# Devices and streams of one run: which there are, who waits for whom, what must stay alive until a stream has passed.
# May import: engine.arrayops, engine.free_threading, engine.node, engine.input_buffer, engine.graph_task.
from _thread import get_ident     # threading would be imported for it alone

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from arraygrad.engine.arrayops cimport AliasMeta, ArrayOps, DeviceRuntime, GradMeta, alias_meta, home_of
from arraygrad.engine.free_threading cimport read_stamp
from arraygrad.engine.node cimport Frame, Node, thread_state
from arraygrad.engine.graph_task cimport GraphTask, side_state

# Note [Streams]
# ~~~~~~~~~~~~~~
# A node runs on the stream that was current when its result was made in forward. Kernels of one stream run in order,
# so only a gradient that goes from one stream to another needs care:
# (1) it is kept apart (OrderedBuffer) with an event recorded on the stream that made it; the consumer's stream waits
#     for the event when the consumer runs, not before, so that other work of that stream is not held up. No event is
#     recorded where both streams are the same.
# (2) memory belongs to the stream it was made on, its home: an allocator may hand it out again to later work of that
#     stream the moment it is freed here, although another stream still reads it. So such gradients, and saved values
#     that a rule reads on another stream than their home (Node.keep_foreign), are kept until the end of the run
#     (`keep`), and then their home waits for each stream that read them. A gradient of another stream never becomes a
#     leaf's `.grad` or a captured result itself, but a copy that is made on the receiving stream.
# (3) at the end the caller's own streams wait for every stream on which the run ended (leaves and captures), so that
#     results may be used as after any other operation. Final callbacks run on the caller's streams.
# (4) the home of memory is not the stream of whoever hands it on. A rule may return its gradient as it is, or a view of
#     it, so that memory of one stream goes over a second to a third: GraphTask.homes knows by the memory
#     (ArrayOps.owner) to whom it belongs. A value over the memory of another stream's (a view made on a second stream,
#     a transfer that shares memory) has an AliasMeta, which names the home. Where a library does not tell whose memory
#     an array is, whoever handed it on waits for all streams that it may have come to.
# (5) a copy that an in-place write left for a node (Note [Saved values]) is made on the writer's stream, perhaps after
#     the node's own forward: its AliasMeta has an event, which the stream that reads it waits for.
# (6) memory that the program gives (asarray) counts as that of the stream that is current then, unless a value over the
#     same memory is alive.
# Guarded by test_ST1_* to test_ST5_*, tests/gpu/test_stream_rules.py and the random graphs of tests/gpu/stress.py.


cdef GradMeta _meta_on_device(Node node, object key):
    cdef GradMeta meta
    cdef Py_ssize_t i
    for i in range(node.n_inputs):
        meta = node.meta_at(i)
        if meta is not None and meta.device_key == key:
            return meta
    return None


cdef object stream_of(Node node):
    """The stream a node runs on, None on the host and where the backend has no streams."""
    cdef object key = node.device_key()
    return None if key is None else _meta_on_device(node, key).stream


cdef DeviceRuntime runtime_of(Node node):
    """The runtime of a node's device; None on the host."""
    cdef object key = node.device_key()
    return None if key is None else _meta_on_device(node, key).ops.runtime


cdef int survey(GraphTask task, Node root) except -1:
    """Note the devices of the run, the caller's stream on each, and whether several threads will add gradients."""
    cdef vector[PyObject*] stack
    cdef Node node, child
    cdef DeviceRuntime runtime
    cdef Py_ssize_t i
    cdef set seen = {root}
    cdef bint host = False
    task.devices = {}
    stack.push_back(<PyObject*>root)
    while stack.size():
        node = <Node>stack.back()
        stack.pop_back()
        key = node.device_key()
        if key is None:
            host = host or node.n_edges > 0
        else:
            if stream_of(node) is not None:
                task.streams = True
            if key not in task.devices:
                runtime = runtime_of(node)
                task.devices[key] = (runtime, runtime.current_stream(key))
        for i in range(node.n_edges):
            child = node.edge_node(i)
            if child is not None and child not in seen and (
                    read_stamp(&child.stamp) == <uint64_t>task.id or side_state(task, child) is not None):
                seen.add(child)
                stack.push_back(<PyObject*>child)
    for runtime, _ in task.devices.values():
        if runtime.captures and get_ident() in runtime.captures:
            captured, first = runtime.captures[get_ident()]
            refuse_in_capture(captured, first, seen, task.devices, host)
            task.multithreading = task.streams = False      # all on the stream that captures
        elif len(task.devices) == 1 and not host and runtime.caller_drives:
            task.multithreading = False
    task.several_queues = task.multithreading and len(task.devices) + host > 1
    return 0


cdef int refuse_in_capture(object captured, uint64_t first, set nodes, dict devices, bint host) except -1:
    """Raise for a run that a graph of the device `captured` cannot hold; `first` is the number its capture began at."""
    cdef Node node
    if host or list(devices) != [captured]:
        raise RuntimeError(f"backward within capture(): everything has to lie on the device that captures, {captured}, "
                           f"but there are nodes on {'the host, ' if host else ''}{list(devices)}")
    for node in nodes:
        if node.n_edges and node.n_inputs and node.seq < first:
            raise RuntimeError(f"backward within capture(): {node.name()} was recorded before the block. What it saved "
                               "may be freed, and a graph would go on reading it: run the forward in the block too")
    return 0


cdef object crossing(GraphTask task, Frame f, Node child, int nr, object grad):
    """(runtime, producer's stream, event, thread) if `grad` changes stream or device on its way to `child`; else None.

    It is kept if it changes streams (1). What it is added to is added on the child's device: the event is None where
    only the device differs. The thread is the one that recorded the event.
    """
    cdef GradMeta meta = child.meta_at(nr)
    cdef DeviceRuntime runtime
    cdef object producer, consumer
    if meta is None or meta.device_key is None:
        return None
    consumer = stream_of(child)
    runtime = f.runtime
    producer = f.stream
    if producer is None or f.key != meta.device_key:
        # A host node made it, or a node of another device or library: on what is current for the device on this thread.
        other = meta.ops.runtime.current_stream(meta.device_key)
        if other is not None:
            runtime = meta.ops.runtime
            producer = other
    if producer is None or consumer is None:
        return None
    if producer is consumer or producer == consumer:
        return None if f.key == meta.device_key else (runtime, producer, None, 0)
    keep(task, meta.ops, grad, producer, consumer)
    return runtime, producer, runtime.record_event(producer), thread_state().thread_id


cdef int keep(GraphTask task, ArrayOps ops, object array, object maker, object reader) except -1:
    """Keep `array`, which `reader` will have read when the run ends, until its home has waited for that (2).

    Its home is `maker`, unless the run knows better (4).
    """
    cdef object home = None if task.graph_ops is None else task.graph_ops.home(array)
    cdef unsigned long long owner
    cdef bint known = True
    if home is None:
        owner = ops.owner(array)
        known = owner != 0
        home = task.homes.setdefault(owner, maker) if known else maker
    if home is not reader and home != reader:
        # While the array is kept nobody else gets its memory, so `homes` stays true.
        task.kept.append((ops.runtime, home, reader, array, known))
    return 0


cdef int keep_saved(GraphTask task, Node node, object stream) except -1:
    """Keep what `node` saved and its rule is about to read on `stream`, where its home is another."""
    cdef list found = []
    node.keep_foreign(stream, found)
    for ops, home, array in found:
        note_home(task, <ArrayOps>ops, home, stream, array)
    return 0


cdef int note_home(GraphTask task, ArrayOps ops, object home, object reader, object array) except -1:
    """Keep `array`, read by `reader`, of which the home is known."""
    cdef unsigned long long owner = ops.owner(array)
    if owner:
        task.homes[owner] = home
    task.kept.append((ops.runtime, home, reader, array, True))
    return 0


cdef int note_read(GradMeta meta, object array) except -1:
    """The node that runs on this thread, if any, is about to read `array`, a value of that metadata."""
    cdef void* task = thread_state().task
    cdef object reader
    cdef list found = []
    if task == NULL or meta.stream is None or not (<GraphTask>task).streams:
        return 0
    reader = meta.ops.runtime.current_stream(meta.device_key)
    find_foreign(meta, array, reader, found)
    for _, home, _ in found:
        note_home(<GraphTask>task, meta.ops, home, reader, array)
    return 0


cdef int find_foreign(GradMeta meta, object array, object reader, list found) except -1:
    """`reader` is about to read a value of that metadata: it waits for its content, where that is a copy (5).

    If its home is another stream, (ops, home, array) is appended to `found`.
    """
    cdef object home = home_of(meta)
    if type(meta) is AliasMeta and (<AliasMeta>meta).ready is not None:
        meta.ops.runtime.wait_event(reader, (<AliasMeta>meta).ready)
    if home is not None and home is not reader and home != reader:
        found.append((meta.ops, home, array))
    return 0


cdef GradMeta inherited(GradMeta own, GradMeta source):
    """Metadata `own` of a value that is over the memory of one with `source` (4)."""
    cdef object home = home_of(source)
    cdef object ready = (<AliasMeta>source).ready if type(source) is AliasMeta else None
    if ready is None and (home is None or home is own.stream or home == own.stream):
        return own
    return alias_meta(own, home, ready)


cdef GradMeta meta_of_copy(GradMeta meta):
    """Of a copy of a value of that metadata that was made just now (5)."""
    cdef object now
    if meta.stream is None:
        return meta
    now = meta.ops.runtime.current_stream(meta.device_key)
    return alias_meta(meta, now, meta.ops.runtime.record_event(now))


cdef int note_leaf(GraphTask task, Frame f) except -1:
    """The run ends here on the frame's stream (3)."""
    if f.stream is not None:
        task.leaf_streams[f.key, id(f.stream)] = (f.runtime, f.stream)
    return 0


cdef int join_caller(GraphTask task) except -1:
    """The caller's streams wait for the run's (3)."""
    cdef DeviceRuntime runtime
    for (key, _), (runtime, stream) in task.leaf_streams.items():
        caller = task.devices[key][1]
        if caller is not None and caller is not stream and caller != stream:
            runtime.wait_stream(caller, stream)
    task.leaf_streams.clear()
    return 0


cdef int let_go(GraphTask task) except -1:
    """The homes of what others read wait for those (2); nothing is kept any more."""
    cdef DeviceRuntime runtime
    cdef dict seen = {}
    cdef list pairs = []                # (runtime, home, reader)
    cdef list handed = []               # (from, to) where nobody tells whose memory it is
    for runtime, home, reader, _, known in task.kept:
        seen[id(home), id(reader), known] = (runtime, home, reader, known)
    for runtime, home, reader, known in seen.values():
        # A library may make a new object each time that it is asked for a stream: they are compared, not hashed.
        if (runtime, home, reader) not in pairs:
            pairs.append((runtime, home, reader))
        if not known and (home, reader) not in handed:
            handed.append((home, reader))
    for runtime, home, reader in pairs if not handed else all_pairs(pairs, handed):
        runtime.wait_stream(home, reader)
    task.kept.clear()
    task.homes.clear()
    return 0


cdef list all_pairs(list pairs, list handed):
    """`pairs`, and each home of memory that may have been handed on with every stream that it may have come to (4)."""
    cdef list found = list(pairs)
    cdef list reached
    for runtime, home, reader in pairs:
        if (home, reader) not in handed:
            continue
        reached = [reader]
        for at in reached:              # grows meanwhile
            for start, end in handed:
                if start == at and end != home and end not in reached:
                    reached.append(end)
                    if (runtime, home, end) not in found:
                        found.append((runtime, home, end))
    return found


cdef list enter_caller(GraphTask task):
    """Make the caller's streams current on this thread; returns what `leave_caller` needs."""
    cdef DeviceRuntime runtime
    cdef list tokens = []
    for key, (runtime, stream) in task.devices.items():
        if stream is not None:
            tokens.append((runtime, runtime.enter(key, stream)))
    return tokens


cdef int leave_caller(list tokens) except -1:
    cdef DeviceRuntime runtime
    while tokens:
        runtime, token = tokens.pop()
        runtime.leave(token)
    return 0
