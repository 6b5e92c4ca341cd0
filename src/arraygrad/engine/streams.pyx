# Devices and streams of one run: which there are, who waits for whom, what must stay alive until a stream has passed.
# May import: engine.arrayops, engine.free_threading, engine.node, engine.input_buffer, engine.graph_task.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from arraygrad.engine.arrayops cimport DeviceRuntime, GradMeta
from arraygrad.engine.free_threading cimport read_stamp
from arraygrad.engine.node cimport Frame, Node
from arraygrad.engine.graph_task cimport GraphTask, side_state

# Note [Streams]
# ~~~~~~~~~~~~~~
# A node runs on the stream that was current when its result was made in forward. Kernels of one stream run in order,
# so only a gradient that goes from one stream to another needs care:
# (1) it is kept apart (OrderedBuffer) with an event recorded on the stream that made it; the consumer's stream waits
#     for the event when the consumer runs, not before, so that other work of that stream is not held up. No event is
#     recorded where both streams are the same.
# (2) memory belongs to the stream it was made on: an allocator may hand it out again to later work of that stream the
#     moment it is freed here, although the other stream still reads it. So such gradients, and saved values that a rule
#     read on another stream than theirs (Node.keep_foreign), are kept until the end of the run, and then the stream
#     that made them waits for the one that used them. A gradient of another stream never becomes a leaf's `.grad` or a
#     captured result itself, but a copy that is made on the receiving stream.
# (3) at the end the caller's own streams wait for every stream on which the run ended (leaves and captures), so that
#     results may be used as after any other operation. Final callbacks run on the caller's streams.
# Guarded by test_ST1_* to test_ST5_*.


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
    task.several_queues = task.multithreading and len(task.devices) + host > 1
    return 0


cdef object crossing(Frame f, Node child, int nr):
    """(runtime, producer's stream, event) if a gradient changes streams on its way to `child`, else None (1)."""
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
    if producer is None or consumer is None or producer is consumer or producer == consumer:
        return None
    return runtime, producer, runtime.record_event(producer)


cdef int note_leaf(GraphTask task, Frame f) except -1:
    """The run ends here on the frame's stream (3)."""
    if f.stream is not None:
        task.leaf_streams[f.key, id(f.stream)] = (f.runtime, f.stream)
    return 0


cdef int join_caller(GraphTask task) except -1:
    """The caller's streams wait for the run's (3); streams that made what others used wait for those (2)."""
    cdef DeviceRuntime runtime
    cdef dict made = {}
    cdef list done = []
    for (key, _), (runtime, stream) in task.leaf_streams.items():
        caller = task.devices[key][1]
        if caller is not None and caller is not stream and caller != stream:
            runtime.wait_stream(caller, stream)
    for runtime, producer, consumer, _ in task.kept:
        made[id(producer), id(consumer)] = (runtime, producer, consumer)
    for runtime, producer, consumer in made.values():
        pair = (producer, consumer)
        if pair not in done:            # a library may make a new object each time that it is asked for a stream
            done.append(pair)
            runtime.wait_stream(producer, consumer)
    task.kept.clear()
    task.leaf_streams.clear()
    return 0


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
