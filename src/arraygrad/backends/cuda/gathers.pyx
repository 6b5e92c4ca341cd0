# Rows at places that integer arrays name, `x[i]` and `x[i, j]`, and what adds rows there: each one launch.
# May import: backends.cuda.prepared, backends.cuda.texts.
#
# CuPy's own indexing by arrays wraps and joins the indices by several kernels, and its `add.at` does so again. Here a
# thread finds the place of its element from the indices as they lie. An index wraps at the end of its axis, as CuPy's
# do. What is named more than once is added up by atomic additions, as CuPy's are, in no fixed order.
# Guarded by tests/gpu/test_gathers.py.
from libc.stdint cimport int64_t

from arraygrad.backends.cuda.prepared cimport (
    Block, Launcher, Prepared, new_prepared, put_address, put_integer,
)

from arraygrad.backends.cuda.texts import gather_text

cdef enum:
    MOST_INDEXED = 4            # axes that are indexed
    THREADS = 128
    MOST_BLOCKS = 0x7fffffff

cdef tuple _threads = (THREADS,)


cdef class Gathers:
    """Gathers(launcher)
--

    `taken` reads and `added` adds; each gives None where its kernel does not serve.
    """

    def __init__(self, Launcher launcher not None):
        self.launcher = launcher
        self.gathers = {}
        self.scatters = {}

    cpdef object taken(self, object x, object key):
        """x[key]."""
        cdef Launcher launcher = self.launcher
        cdef int device = launcher.current_device()
        cdef tuple parts, shape
        cdef object out
        cdef Py_ssize_t n
        if type(x) is not launcher.array_type:
            return None
        shape = x.shape
        parts = self.parts_of(x, shape, key, device)
        if parts is None or not launcher.contiguous(x):
            return None
        n = len(parts)
        out = launcher.empty(<tuple>parts[0].shape + shape[n:], x.dtype)
        if out.size:
            self.launch(self.gathers, "gather", device, x, parts, out, shape, out.size, 1)
        return out

    cpdef object added(self, object x, tuple shape, object key):
        """Zeros of `shape` with x added at `key`, as often as `key` names a place."""
        cdef Launcher launcher = self.launcher
        cdef int device = launcher.current_device()
        cdef tuple parts
        cdef object out
        cdef int64_t apart = 1
        if type(x) is not launcher.array_type:
            return None
        parts = self.parts_of(x, shape, key, device)
        if parts is None or x.shape != <tuple>parts[0].shape + shape[len(parts):]:
            return None
        if not launcher.contiguous(x):
            if any(x.strides):
                return None
            apart = 0               # one number everywhere, as the gradient of a sum is: the first
        out = launcher.empty(shape, x.dtype)
        out.data.memset_async(0, out.nbytes)
        if x.size:
            self.launch(self.scatters, "scatter", device, x, parts, out, shape, x.size, apart)
        return out

    cdef tuple parts_of(self, object x, tuple shape, object key, int device):
        """The arrays of a key, all of one shape and integer dtype and in one piece; None: it is another one."""
        cdef Launcher launcher = self.launcher
        cdef tuple parts = key if type(key) is tuple else (key,)
        cdef object part, other
        cdef object dtype = None
        cdef object lengths = None
        if not 0 < len(parts) <= min(<Py_ssize_t>MOST_INDEXED, <Py_ssize_t>len(shape)) or 0 in shape:
            return None
        if x.dtype.char not in "fd" or x.data.device_id != device:
            return None                 # CuPy says what to do about arrays of another device
        for part in parts:
            if type(part) is not launcher.array_type or part.data.device_id != device:
                return None
            if not launcher.contiguous(part):
                return None
            other = part.dtype
            if dtype is None:
                dtype, lengths = other, part.shape
                if dtype.char not in "ilq" or not <tuple>lengths:
                    return None
            elif other is not dtype and other != dtype or part.shape != lengths:
                return None
        return parts

    cdef int launch(self, dict kernels, str name, int device, object x, tuple parts, object out, tuple shape,
                    Py_ssize_t size, int64_t apart) except -1:
        cdef Launcher launcher = self.launcher
        cdef object dtype = x.dtype
        cdef object index = parts[0].dtype
        cdef Py_ssize_t n = len(parts)
        cdef object key = (dtype.char, index.char, n)
        cdef object found = kernels.get(key)
        cdef int64_t inner = 1
        cdef Py_ssize_t k
        cdef Block block
        if found is None:
            found = new_prepared(launcher, gather_text(name, dtype, index, n), f"arraygrad_{name}")
            found = kernels.setdefault(key, found)
        for k in range(n, len(shape)):
            inner *= <int64_t>shape[k]
        block = launcher.take()
        try:
            put_address(block, 0, x.data.ptr)
            for k in range(n):
                put_address(block, 1 + k, parts[k].data.ptr)
                put_integer(block, 2 + n + k, shape[k])
            put_address(block, 1 + n, out.data.ptr)
            put_integer(block, 2 + 2 * n, inner)
            put_integer(block, 3 + 2 * n, size)
            put_integer(block, 4 + 2 * n, apart)
            (<Prepared>found).run(device, min((size + THREADS - 1) // THREADS, <Py_ssize_t>MOST_BLOCKS), _threads,
                                  block, 5 + 2 * n, False, 0)
        finally:
            launcher.give(block)
        return 0
