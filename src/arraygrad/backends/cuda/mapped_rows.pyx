# MappedRows: a map and a kernel over its rows, one launch: Note [Rows of a map] in row_texts.py.
# May import: backends.cuda.prepared, backends.cuda.row_texts.
# Guarded by tests/gpu/test_mapped_rows.py.
from arraygrad.backends.cuda.prepared cimport (
    ARGUMENT_BYTES, MOST_ARGUMENTS, Block, Elementwise, Launcher, Prepared, Strided, pack, put_address, put_array,
    put_integer, put_number,
)

from arraygrad.backends.cuda.row_texts import mapped_text_of

cdef enum:
    SIZES = 3                   # rows, n, inner


cdef class MappedRows(Elementwise):
    """MappedRows(launcher, spec, name, row, tail=())
--

    The kernels of a Spec of one output, float32 or float64, whose rows the kernel `row` of backends.cuda.rows reduces.
    `tail`: the maps of its one result, as for `mapped_text_of`.
    """

    def __init__(self, Launcher launcher, spec, str name, str row, tuple tail=()):
        super().__init__(launcher, spec, name)
        self.row, self.tail = row, tail

    cdef object text(self, str kinds, int ndim, bint wide):
        return mapped_text_of(self.name, self.spec, kinds, ndim, wide, self.row, self.tail)

    cdef tuple both(self, list arguments, tuple full, tuple layout, tuple read, tuple shape, tuple numbers,
                    bint ordered):
        """(the map's result, of shape `full`, that of its rows, of `shape`, those of the tail); None: not by a kernel.

        `layout` as `backends.cuda.rows.layout` gives it for `full`; `read`: the arrays that `row` reads beside the
        first, `numbers`: those of the tail; `ordered` as for `call`.
        """
        cdef Launcher launcher = self.launcher
        cdef char kinds[MOST_ARGUMENTS]
        cdef int device = launcher.current_device()
        cdef bint strided = False
        cdef Block block
        cdef Strided* places
        cdef Prepared kernel
        cdef object dtype = self.out_dtypes[0]
        cdef object x
        cdef list found
        cdef Py_ssize_t n = self.n_in
        cdef Py_ssize_t size
        sizes, threads, blocks = layout
        if n + len(read) + len(self.tail) + len(numbers) + 2 + SIZES > MOST_ARGUMENTS:
            return None
        block = launcher.take()
        try:
            places = <Strided*>(block.room + MOST_ARGUMENTS * ARGUMENT_BYTES)
            if self.place(arguments, None, ordered, device, block, kinds, &strided, &size) != full:
                return None
            for x in read:
                n += 1
                if type(x) is not launcher.array_type or not launcher.contiguous(x):
                    return None
                if not put_array(block, n, x, dtype, device):
                    return None
            found = [launcher.empty(full, dtype), launcher.empty(shape, dtype)]
            put_address(block, self.n_in, found[0].data.ptr)
            put_address(block, n + 1, found[1].data.ptr)
            n += 2
            for _ in self.tail:
                x = launcher.empty((), dtype)
                put_address(block, n, x.data.ptr)
                found.append(x)
                n += 1
            for x in numbers:
                put_number(block, n, x, <char>ord(dtype.char))
                n += 1
            for x in sizes:
                put_integer(block, n, x)
                n += 1
            kernel = self.variant(kinds, places.ndim if strided else 0, strided and places.wide)
            if strided:
                pack(places, block.room + MOST_ARGUMENTS * ARGUMENT_BYTES)
            kernel.run(device, blocks, threads, block, n, strided, threads[0] * threads[1] * dtype.itemsize)
            return tuple(found)
        finally:
            launcher.give(block)
