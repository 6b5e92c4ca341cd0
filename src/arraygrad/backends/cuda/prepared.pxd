# May cimport: nothing of arraygrad.
from libc.stdint cimport int64_t, intptr_t, uint64_t
from libcpp.vector cimport vector

# CuPy's own functions as its modules export them to Cython code, by the types that their names say.
ctypedef object (*launch_fn)(intptr_t, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                             unsigned int, unsigned int, intptr_t, intptr_t, intptr_t, int)
ctypedef intptr_t (*stream_fn)() except? -1
ctypedef object (*context_fn)()
ctypedef int (*device_fn)(int) except? -1
ctypedef intptr_t (*handle_fn)(int) except? 0
ctypedef object (*compute_fn)(object, int)
ctypedef object (*gemm_fn)(intptr_t, int, int, int, int, int, size_t, size_t, int, int, size_t, int, int, size_t,
                           size_t, int, int, int, int, int)
ctypedef object (*array_fn)(object, const vector[Py_ssize_t]&, object, object)

cdef enum:
    MOST_ARGUMENTS = 16         # of one kernel, inputs and outputs
    MOST_AXES = 8               # of a broadcast, before axes are merged
    MOST_DEVICES = 64           # of those whose functions are called directly
    ARGUMENT_BYTES = 16         # a pointer, or a number of up to 128 bits
    MOST_NUMBERS = 5            # of a kernel over rows


cdef struct Strided:
    # A broadcast: axes from the outermost, merged; strides in elements, of the strided inputs in their order.
    int ndim
    int count
    bint wide
    Py_ssize_t extents[MOST_AXES]
    Py_ssize_t strides[MOST_ARGUMENTS][MOST_AXES]


cdef class Block:
    """Memory for the arguments of one launch, and CuPy's pointers to its parts."""
    cdef char* room
    cdef object layout          # to the part behind the arguments
    cdef list pointers          # to each argument


cdef class Launcher:
    """How a library is called: its arrays, kernels, devices."""
    cdef readonly object array_type
    cdef readonly object raw_kernel
    cdef readonly object pointer_type
    cdef readonly object get_device
    cdef readonly bint plain_flags      # arrays have no `_c_contiguous`
    cdef list free                      # Blocks that no launch uses
    cdef dict grids                     # number of blocks -> its tuple, of small ones
    cdef public bint direct             # by the five that follow
    cdef readonly bint can_be_direct
    cdef launch_fn launch
    cdef stream_fn stream
    cdef context_fn context
    cdef device_fn device
    cdef array_fn array                 # NULL: not of the releases whose arrays it is known to make

    cdef int current_device(self) except -1
    cdef Block take(self)
    cdef int give(self, Block block) except -1
    cdef object grid_of(self, Py_ssize_t blocks)
    cdef bint contiguous(self, object array) except -1
    cdef object empty(self, object shape, object dtype)


cdef class Prepared:
    """A kernel of one text; its function on each device."""
    cdef Launcher launcher
    cdef object kernel
    cdef list functions
    cdef intptr_t addresses[MOST_DEVICES]       # of the functions; 0: not yet. Threads write the same number

    cdef object on(self, int device)
    cdef int run(self, int device, Py_ssize_t blocks, tuple threads, Block block, Py_ssize_t n, bint strided,
                 Py_ssize_t shared) except -1


cdef class Elementwise:
    """Elementwise(launcher, spec, name)"""
    cdef readonly Launcher launcher
    cdef readonly object spec
    cdef readonly str name
    cdef readonly dict variants         # (kinds, axes, wide) -> Prepared
    cdef int n_in, n_out
    cdef char codes[MOST_ARGUMENTS]     # dtype.char of each input
    cdef tuple in_dtypes
    cdef tuple out_dtypes

    cdef tuple call(self, list arguments, object out, bint ordered)
    cdef tuple place(self, list arguments, tuple shape, bint ordered, int device, Block block, char* kinds,
                     bint* strided, Py_ssize_t* size)
    cdef object text(self, str kinds, int ndim, bint wide)
    cdef Prepared variant(self, const char* kinds, int ndim, bint wide)


cdef class Summed(Elementwise):
    """Summed(launcher, spec, name, keeps=False)"""
    cdef bint keeps

    cdef object sum_of(self, list arguments, tuple full, tuple shape, tuple rows)


cdef class RowPlan:
    """RowPlan(rows, blocks, block, numbers, shape, dtype, shared, spreads=False)"""
    cdef Prepared kernel
    cdef bint spreads                   # the first array may be one number everywhere: the first number says so
    cdef Py_ssize_t blocks, shared, n_numbers
    cdef tuple threads
    cdef char numbers[MOST_NUMBERS * ARGUMENT_BYTES]    # as the kernel takes them
    cdef readonly tuple shape
    cdef readonly object dtype

    cdef object call(self, object a, object b, object c, object out=*)
    cdef bint takes(self, Block block, Py_ssize_t place, object x, int device) except -1
    cdef bint spread(self, Block block, object x, int device) except -1


cdef class SplitPlan(RowPlan):
    """SplitPlan(first, second)"""
    cdef RowPlan first, second


cdef class Gemm:
    """Gemm(cupy)"""
    cdef handle_fn handle
    cdef compute_fn compute
    cdef gemm_fn gemm
    cdef public bint serves
    cdef bint ready
    cdef int types[4]               # of cuBLAS, by the order of KINDS
    cdef int algorithms[MOST_DEVICES]
    cdef object capability

    cdef int find(self) except -1
    cdef int algorithm(self, int device) except? -2
    cdef bint multiply(self, int device, object dtype, char kind, bint transb, bint transa, int m, int n, int k,
                       object b, int ldb, object a, int lda, object c, int ldc) except -1


cdef bint put_array(Block block, Py_ssize_t place, object x, object dtype, int device) except -1
cdef bint put_number(Block block, Py_ssize_t place, object x, char code) except -1
cdef void pack(Strided* layout, char* to) noexcept
cdef Prepared new_prepared(Launcher launcher, str text, str name)
cdef int launch_rows(Prepared kernel, int device, Py_ssize_t blocks, tuple threads, list arguments,
                     Py_ssize_t shared) except -1


cdef inline void put_address(Block block, Py_ssize_t place, uint64_t address) noexcept:
    """Write an address as an argument."""
    (<uint64_t*>(block.room + place * ARGUMENT_BYTES))[0] = address


cdef inline void put_integer(Block block, Py_ssize_t place, int64_t number) noexcept:
    """Write an integer of 64 bits as an argument."""
    (<int64_t*>(block.room + place * ARGUMENT_BYTES))[0] = number
