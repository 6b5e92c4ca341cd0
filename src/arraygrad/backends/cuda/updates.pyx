# Updates: many arrays that are written in place by one launch.
# May import: backends.cuda.prepared, backends.cuda.texts.
#
# Note [One launch for many updates]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# `targets[k] += factor * terms[k]` for all k has the values of as many statements one after the other. A launch reads
# and writes all its arrays in no order, so it takes pairs as long as no array of a pair shares memory with one that
# another pair of the launch writes; the next launch of the stream comes after it. Arrays of a pair are either one and
# the same or apart. A pair that the kernel does not serve (another dtype or shape, gaps, another device) is left to the
# caller, who computes it after what comes before it.
# Guarded by tests/gpu/test_parameter_updates.py.
from libc.stdint cimport int32_t, int64_t, uint64_t

from arraygrad.backends.cuda.prepared cimport Block, Launcher, Prepared, new_prepared, ARGUMENT_BYTES, MOST_ARGUMENTS

from arraygrad.backends.cuda.texts import updates_text

cdef enum:
    MOST_PAIRS = 32             # of one launch: their addresses are an argument of the kernel
    THREADS = 256               # of a block
    SHARE = 4                   # elements of a thread, where there are enough
    MOST_BLOCKS = 0x100000      # of one pair

cdef tuple _threads = (THREADS,)


cdef struct Pairs:
    uint64_t targets[MOST_PAIRS]
    uint64_t terms[MOST_PAIRS]
    int64_t sizes[MOST_PAIRS]
    int32_t ends[MOST_PAIRS]    # one beyond the last block of a pair


cdef class Updates:
    """Updates(launcher)
--

    The kernels that add multiples of arrays to arrays, for float32 and float64.
    """
    cdef Launcher launcher
    cdef dict kernels           # dtype.char -> Prepared

    def __init__(self, Launcher launcher):
        self.launcher = launcher
        self.kernels = {}

    def serves(self, target, term):
        """Whether the kernels serve a pair of arrays, whatever other pairs there are."""
        cdef Launcher launcher = self.launcher
        cdef uint64_t first, second
        cdef int device
        if type(target) is not launcher.array_type or type(term) is not launcher.array_type:
            return False
        if target.dtype.char not in "fd" or term.dtype != target.dtype or term.shape != target.shape or not target.size:
            return False
        if not launcher.contiguous(target) or not launcher.contiguous(term):
            return False
        device = launcher.current_device()
        if target.data.device_id != device or term.data.device_id != device:
            return False
        first, second = target.data.ptr, term.data.ptr
        return first == second or first + <uint64_t>target.nbytes <= second or second + <uint64_t>term.nbytes <= first

    def add(self, list targets, list terms, double factor):
        """`targets[k] += factor * terms[k]` of pairs that the kernels serve; returns the number of launches."""
        cdef Py_ssize_t start = 0, stop
        cdef int launches = 0
        while start < len(targets):
            stop = self.launched(targets, terms, factor, start)
            launches += 1
            start = stop
        return launches

    cdef Py_ssize_t launched(self, list targets, list terms, double factor, Py_ssize_t start) except -1:
        """Launch with the pairs from `start` on that one launch may take; the place of the first that it does not."""
        cdef Launcher launcher = self.launcher
        cdef object dtype = targets[start].dtype
        cdef Py_ssize_t k = start
        cdef int n = 0
        cdef int64_t blocks = 0, more
        cdef uint64_t bytes_of
        cdef Prepared kernel
        cdef Block block = launcher.take()
        # The kernel reads it where the layout of strided arrays is, which is larger.
        cdef Pairs* pairs = <Pairs*>(block.room + MOST_ARGUMENTS * ARGUMENT_BYTES)
        try:
            while k < len(targets) and n < MOST_PAIRS:
                if targets[k].dtype != dtype:
                    break
                pairs.targets[n] = targets[k].data.ptr
                pairs.terms[n] = terms[k].data.ptr
                pairs.sizes[n] = targets[k].size
                bytes_of = <uint64_t>dtype.itemsize
                if meets(pairs, n, bytes_of):
                    break
                more = min((pairs.sizes[n] + THREADS * SHARE - 1) // (THREADS * SHARE), <int64_t>MOST_BLOCKS)
                blocks += more
                pairs.ends[n] = <int32_t>blocks
                n += 1
                k += 1
            kernel = <Prepared>self.kernels.get(dtype.char)
            if kernel is None:
                kernel = new_prepared(launcher, updates_text(dtype, MOST_PAIRS), "arraygrad_updates")
                kernel = <Prepared>self.kernels.setdefault(dtype.char, kernel)
            if dtype.char == "f":
                (<float*>block.room)[0] = <float>factor
            else:
                (<double*>block.room)[0] = factor
            (<int32_t*>(block.room + ARGUMENT_BYTES))[0] = n
            kernel.run(launcher.current_device(), blocks, _threads, block, 2, True, 0)
        finally:
            launcher.give(block)
        return k


cdef bint meets(Pairs* pairs, int n, uint64_t itemsize) noexcept:
    """Whether pair `n` shares memory that is written with one before it."""
    cdef int k
    cdef uint64_t size = <uint64_t>pairs.sizes[n] * itemsize
    cdef uint64_t other
    for k in range(n):
        other = <uint64_t>pairs.sizes[k] * itemsize
        if crosses(pairs.targets[n], size, pairs.targets[k], other):
            return True
        if crosses(pairs.terms[n], size, pairs.targets[k], other):
            return True
        if crosses(pairs.targets[n], size, pairs.terms[k], other):
            return True
    return False


cdef inline bint crosses(uint64_t a, uint64_t size_a, uint64_t b, uint64_t size_b) noexcept:
    return a < b + size_b and b < a + size_a
