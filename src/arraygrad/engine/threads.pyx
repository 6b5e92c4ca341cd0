# Threads that run a graph beside the caller's: drivers of nested runs, workers that share host work, device threads.
# May import: every other room of engine but engine.engine. Knows no array and no operation.
import sys

from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF, Py_XINCREF
from libc.stdint cimport uint32_t
from libcpp.memory cimport make_shared, shared_ptr

from arraygrad.engine.node cimport Frame, Node, ThreadState, thread_state
from arraygrad.engine.graph_task cimport CReadyQueue, DEPTH_SHUTDOWN, GraphTask, NodeTask, local_queue
from arraygrad.engine.evaluate cimport DeviceQueue, fail
from arraygrad.engine.sharing cimport team
from arraygrad.engine.thread_main cimport drain, thread_main

from arraygrad.engine.lifecycle import devices, devices_lock, on_fork, thread_name

cdef enum:
    # A waiting thread wakes up this often to let Ctrl-C through.
    WAIT_MILLISECONDS = 20
    # A nested backward goes on in another thread when this many stand on the stack of one (PyTorch's MAX_DEPTH),
    # when they have used so many bytes of it, or half of the frames that Python permits.
    NESTED_RUNS = 60
    NESTED_BYTES = 512 * 1024

cdef dict _devices = devices            # device key -> DeviceThread; changed under devices_lock()
cdef set shared_runs = set()            # the runs in progress that use device threads, for a forked child


cdef uint32_t thread_number(ThreadState* ts):
    """The number of the calling thread, whose state `ts` is."""
    if ts.thread_id == 0:
        Node.__new__(Node)            # making a node numbers the thread
    return ts.thread_id


cdef int wait_on(CReadyQueue* queue, GraphTask task, Frame f) except -1:
    """Run what comes into `queue` until `task` is complete, and let Ctrl-C through."""
    thread_main(queue, task, f, WAIT_MILLISECONDS)
    return 0


# Nested runs that need a stack of their own, and workers that share a run's nodes

cdef bint stack_is_deep(ThreadState* ts) except -1:
    """Whether a nested run should leave this thread's stack."""
    cdef char here = 0
    cdef Py_ssize_t used = <const char*>ts.stack_base - &here
    cdef int frames = 0
    if ts.depth > NESTED_RUNS or used > NESTED_BYTES or -used > NESTED_BYTES:
        return True
    if ts.depth % 8 == 0:                       # counting takes as long as there are frames
        frame = sys._getframe()
        while frame is not None:
            frames += 1
            frame = frame.f_back
        return frames > sys.getrecursionlimit() // 2
    return False


cdef class Driver:
    """Drives a run on a thread of the pool, with the modes of the thread that called backward()."""
    cdef GraphTask task
    cdef ThreadState state              # the caller's
    cdef bint nested                    # in place of the caller, who sleeps; else beside it

    def __call__(self):
        cdef ThreadState* ts = thread_state()
        cdef uint32_t number = thread_number(ts)
        cdef ThreadState before = ts[0]
        cdef GraphTask task = self.task
        cdef Frame f = Frame.__new__(Frame)
        cdef shared_ptr[CReadyQueue] queue
        cdef bint entered = False
        self.task = None
        ts[0] = self.state
        ts.thread_id = number
        ts.saved_hooks = before.saved_hooks             # the loop sets the run's
        Py_XINCREF(<PyObject*>ts.op_hooks)
        ts.depth = 1
        ts.stack_base = <const void*>&number
        try:
            if self.nested:
                task.owner = number
                queue = task.queue                      # the caller's: runs nested in this one use it too
                local_queue().swap(queue)
                try:
                    if not drain(local_queue().get(), task, f):
                        wait_on(local_queue().get(), task, f)
                finally:
                    local_queue().swap(queue)
            elif not task.completed:
                entered = team.enter()                  # Note [Shared kernels] (4)
                wait_on(task.queue.get(), task, f)
        finally:
            team.leave(entered)
            Py_XDECREF(<PyObject*>ts.op_hooks)
            before.saved_hooks = ts.saved_hooks
            ts[0] = before


cdef object _pool = None                # engine.pool: nested runs and workers import it, and `threading` with it


cdef object lent():
    global _pool
    if _pool is None:
        import arraygrad.engine.pool as found
        _pool = found
    return _pool


cdef int drive_elsewhere(GraphTask task) except -1:
    """Let a thread of the pool drive the run while this one sleeps."""
    job = None
    try:
        job = lent().Job(_driver(task, True))
        lent().NESTED.submit(job)
    except BaseException as error:
        fail(task, error)
        if job is None or job.cancel():         # no thread has it, and none will: its tasks leave the queue here
            drain(task.queue.get(), task, Frame.__new__(Frame))
            return 0
    while True:
        try:
            job.wait()
            return 0
        except BaseException as error:
            fail(task, error)          # Ctrl-C: nodes that have not run yet are discarded
        if task.completed:
            return 0


cdef Driver _driver(GraphTask task, bint nested):
    cdef Driver driver = Driver.__new__(Driver)
    driver.task = task
    driver.state = thread_state()[0]
    driver.nested = nested
    return driver


def engage(GraphTask task):
    """One more worker for a run that has several large nodes ready. Not to get one costs time only."""
    task.workers -= 1
    try:
        lent().WORKERS.submit(lent().Job(_driver(task, False)))
    except RuntimeError:
        task.workers = 0


def helper_threads():
    """Threads lent to nested runs and to shared host work at the moment: a list of threading.Thread."""
    return lent().NESTED.threads() + lent().WORKERS.threads()


# Device threads
cdef class DeviceThread(DeviceQueue):
    """A daemon thread that runs the nodes of one device."""
    cdef readonly object key
    cdef readonly object thread
    cdef object started
    cdef bint serves

    def __init__(self, key):
        import threading

        self.key = key
        self.queue = make_shared[CReadyQueue]()
        self.queue.get().share()
        self.started = threading.Event()
        self.thread = threading.Thread(target=self.main, name=thread_name(key), daemon=True)

    def main(self):
        try:
            self.serve()
        finally:
            self.started.set()          # the caller waits for it

    cdef int serve(self) except -1:
        cdef ThreadState* ts = thread_state()
        cdef Frame f = Frame.__new__(Frame)
        ts.worker = 1
        # Nodes of a backward that a node of this device starts run here too: this queue is the thread's CPU queue.
        local_queue().swap(self.queue)
        self.queue = local_queue()
        self.serves = True
        self.started.set()
        thread_main(local_queue().get(), None, f, -1)
        return 0

    def start(self):
        """Start the thread and wait until it serves its queue."""
        try:
            self.thread.start()
            self.started.wait()
            if not self.serves:
                raise RuntimeError(f"the thread for device {self.key} ended before it could run anything")
        except BaseException:           # Ctrl-C too, with the thread on its way
            self.stop()
            raise

    def stop(self):
        cdef NodeTask t
        t.task = NULL
        t.node = NULL
        t.depth = DEPTH_SHUTDOWN
        t.seq = 0
        self.queue.get().push(t)


cdef int start_devices(GraphTask task) except -1:
    """Start a thread for each device of the graph that has none yet."""
    for key in task.devices:
        if key not in _devices:
            with devices_lock():
                if key not in _devices:
                    worker = DeviceThread(key)
                    worker.start()
                    _devices[key] = worker
    return 0


def device_threads():
    """The engine's device threads: a dict from device key to threading.Thread."""
    return {key: worker.thread for key, worker in _devices.items()}


def _renew_after_fork():
    """In a forked child: a fresh queue for this thread, an end to runs that wait for lost threads; returns the old."""
    cdef shared_ptr[CReadyQueue] queue = make_shared[CReadyQueue]()
    cdef DeviceThread old = DeviceThread.__new__(DeviceThread)
    cdef GraphTask task
    local_queue().swap(queue)
    old.queue = queue
    left = [old, *shared_runs]
    for task in shared_runs:
        fail(task, RuntimeError("the process was forked in the middle of this backward, whose device threads did not "
                                "come along: call backward() in the child, or fork outside of it"))
        task.completed = True
    shared_runs.clear()
    return left


on_fork.append(_renew_after_fork)
