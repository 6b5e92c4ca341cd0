# The only door between the engine and arrays: what the engine asks of them, and of the devices they live on.
# May import: engine.free_threading.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
cimport cython

from arraygrad.engine.free_threading cimport Section


cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)


class InvalidGradient(RuntimeError):
    """A gradient that can't serve for the value it belongs to. The engine adds which function returned it."""


cdef bint is_held(object array, Py_ssize_t held) except -1:
    """Whether anybody but the caller, who has `held` references to `array`, holds it or what it is a view of."""
    cdef object base
    if Py_REFCNT(<PyObject*>array) > held:
        return True
    base = getattr(array, "base", array)
    if base is array:                           # PyTorch makes the object of a base anew: no count tells
        return getattr(array, "_base", None) is not None
    while base is not None:
        if Py_REFCNT(<PyObject*>base) > 2:      # its view's and ours
            return True
        base = getattr(base, "base", getattr(base, "obj", None))    # of a memoryview what it shows
    return False


@cython.no_gc
@cython.freelist(256)
cdef class GradMeta:
    """GradMeta(ops, shape, dtype, device=None, device_key=None, stream=None, is_complex=False, is_floating=True)
--

    Shape, dtype and device of one input of a node: what a gradient that arrives there must look like.

    `device` is the backend's own device object and `device_key` a hashable name of it; both are None on the host.
    `stream` is the stream that was current when the value was made, None where the backend has none. Objects are
    shared freely between nodes and never change.
    """

    def __init__(self, ArrayOps ops, shape, object dtype, object device=None, object device_key=None,
                 object stream=None, bint is_complex=False, bint is_floating=True):
        cdef int i
        self.ops = ops
        self._shape = tuple(shape)
        self.ndim = <int>len(self._shape)
        if self.ndim <= 8:
            for i in range(self.ndim):
                self.dims[i] = self._shape[i] if isinstance(self._shape[i], int) else -1
        self.typenum = -1
        self.dtype = dtype
        self.device = device
        self.device_key = device_key
        self.stream = stream
        self.is_complex = is_complex
        self.is_floating = is_floating

    cdef tuple shape_tuple(self):
        cdef int i
        cdef tuple shape
        cdef Section section
        section.begin(<PyObject*>self)      # another thread may be setting it
        shape = self._shape
        section.end()
        if shape is None:
            shape = tuple([self.dims[i] for i in range(self.ndim)])
            with cython.critical_section(self):
                if self._shape is None:
                    self._shape = shape
        return shape

    @property
    def shape(self):
        """The shape, a tuple of ints (None where a lazy array does not know it)."""
        return self.shape_tuple()

    @property
    def size(self):
        """Number of elements, or None where a lazy array does not know it."""
        cdef object n = 1
        for d in self.shape_tuple():
            if d is None or d != d:
                return None
            n *= d
        return int(n)

    def __repr__(self):
        where = "" if self.device_key is None else f", device={self.device}"
        return f"GradMeta(shape={self.shape_tuple()}, dtype={self.dtype}{where})"


@cython.no_gc
cdef class AliasMeta(GradMeta):
    """AliasMeta(ops, shape, dtype, device, device_key, stream, is_complex, is_floating, home, ready=None)
--

    GradMeta of a value over memory of the stream `home`. `ready`: an event after which its content is there.
    """

    def __init__(self, ArrayOps ops, shape, object dtype, object device, object device_key, object stream,
                 bint is_complex, bint is_floating, object home, object ready=None):
        GradMeta.__init__(self, ops, shape, dtype, device, device_key, stream, is_complex, is_floating)
        self.home = home
        self.ready = ready


cdef object home_of(GradMeta meta):
    """The stream whose memory a value is: streams have memory of their own (engine.streams). None without streams."""
    return (<AliasMeta>meta).home if type(meta) is AliasMeta else meta.stream


cdef AliasMeta alias_meta(GradMeta meta, object home, object ready):
    """As `meta`, of a value over the memory of the stream `home`."""
    return AliasMeta(meta.ops, meta.shape_tuple(), meta.dtype, meta.device, meta.device_key, meta.stream,
                     meta.is_complex, meta.is_floating, home, ready)


cdef class DeviceRuntime:
    """Devices and streams of one backend. The defaults serve a backend without streams.

    Current devices and streams belong to a thread: an engine thread calls `enter` before it evaluates a node and
    `leave` with what `enter` returned after it. Where `caller_drives` is set, the thread that called backward drives a
    run whose nodes all lie on one device: nodes only issue work, and it would only wait for another thread.
    """

    cpdef object enter(self, object device_key, object stream):
        """Make device and stream current on this thread; returns what `leave` needs to restore them."""
        return None

    cpdef int leave(self, object token) except -1:
        """Restore what was current before the matching `enter`."""
        return 0

    def before_write(self, array):
        """Later work on the current stream will write to `array`: after what still copies it beside that stream."""

    def given(self, array):
        """The program gets `array` from a Tensor, and may write it from now on without a word."""

    cpdef object current_stream(self, object device_key):
        """The stream that new work on the device goes to, or None where the backend has no streams."""
        return None

    cpdef object record_event(self, object stream):
        """An event that has passed once all work now on `stream` is done."""
        return None

    cpdef int wait_event(self, object stream, object event) except -1:
        """Let later work on `stream` start only after `event` has passed. Does not block the host."""
        return 0

    cpdef int wait_stream(self, object waiting, object producer) except -1:
        """Let later work on `waiting` start only after the work now on `producer`."""
        if waiting is not producer:
            self.wait_event(waiting, self.record_event(producer))
        return 0


def _abstract(ops, what):
    return TypeError(f"{type(ops).__name__} must define ArrayOps.{what}")


cdef class ArrayOps:
    """ArrayOps(name, runtime=None)
--

    What the engine asks of arrays; one instance serves one backend. A subclass defines meta, matches, conform, add
    and clone; the other methods have defaults that are right, if slow, for arrays that are never shared or written.
    """

    def __cinit__(self, *args, **kwargs):
        self.name = type(self).__name__
        self.runtime = DeviceRuntime()

    def __init__(self, str name=None, DeviceRuntime runtime=None):
        if name is not None:
            self.name = name
        if runtime is not None:
            self.runtime = runtime

    cpdef GradMeta meta(self, object array):
        """Metadata of an array."""
        raise _abstract(self, "meta(array)")

    cpdef bint matches(self, GradMeta meta, object grad) except -1:
        """Whether `grad` is an array of exactly the shape, dtype and device of `meta`. Cheap."""
        raise _abstract(self, "matches(meta, grad)")

    cpdef object conform(self, GradMeta meta, object grad, bint realify):
        """`grad` made to match: summed over broadcast axes, cast, moved (0-d only).

        With `realify` a complex gradient for a real input is cut to its real part.

        Raises
        ------
        InvalidGradient
            If it can't match; the text says what was found and what was expected.
        """
        raise _abstract(self, "conform(meta, grad, realify)")

    cpdef object add(self, object a, object b):
        """a + b, a new array."""
        raise _abstract(self, "add(a, b)")

    cpdef object add_into(self, object a, object b):
        """a + b where nobody else holds `a`: its memory may be overwritten. Returns the sum."""
        return self.add(a, b)

    cpdef bint exclusive(self, object grad) except -1:
        """Whether there is evidence that the caller holds the only reference to `grad` and to its memory."""
        return False

    cpdef object clone(self, object array, object like):
        """A copy of `array`, laid out as `like` is where that is dense, else row-major."""
        raise _abstract(self, "clone(array, like)")

    cdef bint begins_nonzero(self, object grad) noexcept:
        """Whether a look at one element shows that a gradient is not zero everywhere. May say no where it is not."""
        return False

    cpdef bint has_nan(self, object grad) except -1:
        """Whether any element is NaN."""
        return grad != grad

    cpdef object zeros(self, GradMeta meta):
        """Zeros that match `meta`."""
        raise _abstract(self, "zeros(meta)")

    cpdef object ones(self, GradMeta meta):
        """Ones that match `meta`."""
        raise _abstract(self, "ones(meta)")

    cpdef object begin(self, GradMeta meta):
        """Ones that match `meta`, for a plain run to begin with: it only reads them, and lets them out as a copy."""
        return self.ones(meta)

    cpdef object let_out(self, object grad):
        """A gradient that leaves a run: itself, or a copy where the backend keeps it."""
        return grad

    cpdef object to_user(self, object grad):
        """The form in which hooks and user functions see a gradient."""
        return grad

    cpdef object from_user(self, object value):
        """The engine's form of what a hook or a user function returned.

        Raises
        ------
        TypeError
            If it is nothing that can be a gradient of this backend.
        """
        return value

    cpdef list followed(self, tuple shown):
        """What `replaced` has to know of the gradients that a hook is shown; taken before the hook runs."""
        return None

    cpdef object replaced(self, object node, str hook, object result, object new, list followed, uint64_t since):
        """`new`, the engine's form of `result`, which the hook of this name returned in place of a gradient.

        Parameters
        ----------
        node : Node
            At which the hook is registered.
        hook : str
        result : object
            What the hook returned.
        new : object
            What `from_user` made of it.
        followed : list or None
            Of the gradients that the hook was shown.
        since : int
            A sequence number taken before the hook ran.
        """
        return new

    cpdef unsigned long long owner(self, object raw) except? 0:
        """A number that arrays have in common whose memory comes from one place; 0: not known."""
        return 0

    cpdef object home(self, object array):
        """The stream whose memory `array` is, where the array itself tells; None where it does not."""
        return None

    cdef object number(self, double x):
        """An array without axes of this number, which nobody else holds."""
        raise _abstract(self, "number(x)")

    cdef bint read_number(self, object grad, double* x) except -1:
        """Read a gradient that is one number of double precision. False: it is anything else."""
        return False

    cdef object add_element(self, object held, GradMeta meta, uint64_t place, double x):
        """The gradient `held`, which the engine alone holds, with x added to one element, counted in row-major order.

        `held` None: zeros that match `meta`, and x there. None is returned where that is declined.
        """
        return None

    cdef bint take_element(self, object held, uint64_t place, double* x) except -1:
        """Read one element of a gradient that the engine alone holds, and leave zero there. False: declined."""
        return False
