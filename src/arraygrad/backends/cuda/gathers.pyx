# Rows at places that integer arrays name, `x[i]` and `x[i, j]`, and what adds rows there: each one launch.
# May import: backends.cuda.prepared, backends.cuda.row_texts, backends.cuda.rows, backends.cuda.texts.
#
# CuPy's own indexing by arrays wraps and joins the indices by several kernels, and its `add.at` does so again. Here a
# thread finds the place of its element from the indices as they lie. An index wraps at the end of its axis, as CuPy's
# do. Where every axis has indices, what is named more than once is added up in their order, by a launch that writes the
# zeros too (Note [Rows of a map] in row_texts.py). Elsewhere by atomic additions, as CuPy's are, in no fixed order.
# Guarded by tests/gpu/test_gathers.py and tests/gpu/test_mapped_rows.py.
from libc.stdint cimport int64_t

from arraygrad.backends.cuda.prepared cimport (
    MOST_ARGUMENTS, Block, Launcher, Prepared, new_prepared, put_address, put_integer, put_number,
)

from arraygrad.backends.cuda.row_texts import gathered_text_of, scatter_fits, scattered_text_of
from arraygrad.backends.cuda.rows import layout
from arraygrad.backends.cuda.texts import gather_text

cdef enum:
    MOST_INDEXED = 4            # axes that are indexed
    THREADS = 128
    MOST_BLOCKS = 0x7fffffff
    KEPT_LAYOUTS = 4096         # more are forgotten, all at once

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
        self.row_kernels = {}
        self.layouts = {}

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
        cdef tuple parts, both
        cdef object out
        cdef int64_t apart = 1
        if type(x) is not launcher.array_type:
            return None
        both = self.added_rows(x, shape, key, None, None)
        if both is not None:
            return both[0]
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

    cdef tuple added_rows(self, object x, tuple shape, object key, str row, object ans):
        """What `added` gives, for a key with indices for each axis, and the result of a kernel over its last axis.

        `row`: the kernel of a gradient, which reads `ans` as well; without one (None) the result is None.
        """
        cdef Launcher launcher = self.launcher
        cdef int device = launcher.current_device()
        cdef tuple parts, place
        cdef object dtype = x.dtype
        cdef object found, kept, out
        cdef Prepared kernel
        cdef Py_ssize_t k, n, at
        cdef Py_ssize_t size = x.size
        cdef int64_t apart = 1
        cdef Block block
        if type(key) is not tuple or len(<tuple>key) != len(shape) or len(shape) < 2 or not size:
            return None
        place = (shape, size)
        found = self.layouts.get(place, self)
        if found is self:
            found = layout(shape, len(shape) - 1)
            if found is not None and not scatter_fits(found, size):
                found = None
            if len(self.layouts) >= KEPT_LAYOUTS:
                self.layouts.clear()
            self.layouts[place] = found
        if found is None:
            return None
        parts = self.parts_of(x, shape, key, device)
        if parts is None or x.shape != parts[0].shape:
            return None
        if not launcher.contiguous(x):
            if any(x.strides):
                return None
            apart = 0               # as above
        if row is not None and (ans.dtype != dtype or ans.data.device_id != device or not launcher.contiguous(ans)):
            return None
        n = len(parts)
        kernel = self.kernel_of("scatter", row, (), dtype, parts)
        sizes, threads, blocks = found
        kept = launcher.empty(shape, dtype)
        out = None if row is None else launcher.empty(shape, dtype)
        block = launcher.take()
        try:
            put_address(block, 0, x.data.ptr)
            for k in range(n):
                put_address(block, 1 + k, parts[k].data.ptr)
            put_address(block, 1 + n, kept.data.ptr)
            at = n + 2
            if row is not None:
                put_address(block, at, ans.data.ptr)
                put_address(block, at + 1, out.data.ptr)
                at += 2
            for k in range(n - 1):
                put_integer(block, at, shape[k])
                at += 1
            put_integer(block, at, size)
            put_integer(block, at + 1, apart)
            for k in range(3):
                put_integer(block, at + 2 + k, sizes[k])
            kernel.run(device, blocks, threads, block, at + 5, False, threads[0] * threads[1] * dtype.itemsize)
        finally:
            launcher.give(block)
        return kept, out

    cdef tuple taken_and_reduced(self, object x, object key, str row, tuple tail, tuple numbers,
                                 tuple found):
        """(x[key] for indices of each axis, its sum or mean, what the maps of `tail` make of that); None: declined.

        `found`: the layout of a row of all indices.
        """
        cdef Launcher launcher = self.launcher
        cdef int device = launcher.current_device()
        cdef tuple parts, shape, lengths
        cdef object dtype = x.dtype
        cdef object one
        cdef list outputs
        cdef Prepared kernel
        cdef Py_ssize_t k, n, at
        cdef Block block
        shape = x.shape
        if type(key) is not tuple or len(<tuple>key) != len(shape):
            return None
        parts = self.parts_of(x, shape, key, device)
        if parts is None or not launcher.contiguous(x):
            return None
        n = len(parts)
        lengths = parts[0].shape
        if 2 * n + 6 + len(tail) + len(numbers) > MOST_ARGUMENTS:
            return None
        kernel = self.kernel_of("gather", row, tail, dtype, parts)
        sizes, threads, blocks = found
        outputs = [launcher.empty(lengths, dtype)]
        for _ in range(1 + len(tail)):
            outputs.append(launcher.empty((), dtype))
        block = launcher.take()
        try:
            put_address(block, 0, x.data.ptr)
            for k in range(n):
                put_address(block, 1 + k, parts[k].data.ptr)
            at = n + 1
            for one in outputs:
                put_address(block, at, one.data.ptr)
                at += 1
            for one in numbers:
                put_number(block, at, one, <char>ord(dtype.char))
                at += 1
            for k in range(n):
                put_integer(block, at, shape[k])
                at += 1
            for k in range(3):
                put_integer(block, at + k, sizes[k])
            kernel.run(device, blocks, threads, block, at + 3, False, threads[0] * threads[1] * dtype.itemsize)
        finally:
            launcher.give(block)
        return tuple(outputs)

    cdef Prepared kernel_of(self, str kind, str row, tuple tail, object dtype, tuple parts):
        """The kernel of Note [Rows of a map] that gathers or scatters by `parts`."""
        cdef object index = parts[0].dtype
        cdef object place = (kind, row, tail, dtype.char, index.char, len(parts))
        cdef object found = self.row_kernels.get(place)
        if found is None:
            name = "_".join(["arraygrad", kind, row or "rows", *[step for step, _ in tail]])
            if kind == "gather":
                text = gathered_text_of(name, dtype, index, len(parts), row, tail)
            else:
                text = scattered_text_of(name, dtype, index, len(parts), row)
            found = self.row_kernels.setdefault(place, new_prepared(self.launcher, text, name))
        return <Prepared>found

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
