# Kernels launched by prepared functions: what a call needs is written into memory that CuPy has pointers to already.
# May import: backends.cuda.texts. CuPy is handed in.
#
# See Note [Prepared kernels] in backends/cuda/texts.py. What is used of CuPy is documented, but for `CPointer`, which
# its kernels take as an argument that lies at an address, and the flag `_c_contiguous` of its arrays.
#
# Note [Direct calls]
# ~~~~~~~~~~~~~~~~~~~
# CuPy's compiled modules export functions to Cython code, each under a name with its C signature (`__pyx_capi__`). A
# `cimport` of them would tie the build of this package to CuPy. They are looked up here when CuPy is there, and used
# only if the signature is to the letter the one that is written down here. Otherwise, or with `direct` off, the same is
# done by Python's calls.
# (1) A signature of plain integers says all that there is to know. One that names a type of CuPy's own does not: what
#     makes arrays takes a `shape_t`, which is a std::vector<Py_ssize_t> in the releases of _SAME_SHAPES. In others
#     `cupy.ndarray` makes them.
# Guarded by tests/gpu/test_prepared.py: both ways give the same.
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.stdint cimport int32_t, int64_t, intptr_t, uint64_t
from libc.string cimport memcpy

import importlib
import re
import sys

from arraygrad.backends.cuda.texts import sum_text_of, text_of

cdef enum:
    THREADS = 128               # of a block: what CuPy's own elementwise kernels take
    MOST_BLOCKS = 0x7fffffff    # of a launch; the rest is the loop's
    KEPT_GRIDS = 1024           # tuples of grids that are kept

cdef Py_ssize_t NARROW = 0x7fffffff     # the largest index that 32 bits are used for
cdef tuple _threads = (THREADS,)


_LAUNCH = "PyObject *(intptr_t, " + "unsigned int, " * 7 + "intptr_t, intptr_t, intptr_t, int __pyx_skip_dispatch)"
_EXPORTED = (
    ("cupy_backends.cuda.api.driver", "launchKernel", _LAUNCH),
    ("cupy_backends.cuda.stream", "get_current_stream_ptr", "intptr_t (void)"),
    ("cupy_backends.cuda.api.runtime", "_ensure_context", "PyObject *(void)"),
    ("cupy_backends.cuda.api.runtime", "getDevice", "int (int __pyx_skip_dispatch)"),
)
_ARRAY_SIGNATURE = ("struct __pyx_obj_4cupy_5_core_4core__ndarray_base *(PyObject *, "
                    "__pyx_t_4cupy_5_core_7_carray_shape_t const &, PyObject *, PyObject *)")
_SAME_SHAPES = ("14",)


cdef void* exported(str module, str name, str signature) except? NULL:
    """A function that one of CuPy's modules exports, NULL: it has none of that signature."""
    try:
        capsule = importlib.import_module(module).__pyx_capi__[name]
    except (ImportError, AttributeError, KeyError):
        return NULL
    text = signature.encode()
    return PyCapsule_GetPointer(capsule, text) if PyCapsule_IsValid(capsule, text) else NULL


cdef class Block:
    def __cinit__(self):
        self.room = <char*>PyMem_Malloc(MOST_ARGUMENTS * ARGUMENT_BYTES + sizeof(Strided))
        if self.room == NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_Free(self.room)


cdef Block new_block(object pointer_type):
    cdef Block block = Block.__new__(Block)
    cdef int i
    block.pointers = [pointer_type(<size_t>(block.room + i * ARGUMENT_BYTES)) for i in range(MOST_ARGUMENTS)]
    block.layout = pointer_type(<size_t>(block.room + MOST_ARGUMENTS * ARGUMENT_BYTES))
    return block


cdef class Launcher:
    """Launcher(cupy)"""

    def __init__(self, cupy):
        from cupy.cuda.function import CPointer

        self.array_type = cupy.ndarray
        self.raw_kernel = cupy.RawKernel
        self.pointer_type = CPointer
        self.get_device = cupy.cuda.runtime.getDevice
        self.plain_flags = not hasattr(cupy.ndarray, "_c_contiguous")
        self.free = []
        self.grids = {}
        self.find_direct(cupy)

    def find_direct(self, cupy):
        """Look for the functions of Note [Direct calls]."""
        cdef void* found[4]
        cdef int k
        self.direct = self.can_be_direct = False
        for k, (module, name, signature) in enumerate(_EXPORTED):
            found[k] = exported(module, name, signature)
            if found[k] == NULL:
                return
        self.launch = <launch_fn>found[0]
        self.stream = <stream_fn>found[1]
        self.context = <context_fn>found[2]
        self.device = <device_fn>found[3]
        if cupy.__version__.split(".")[0] in _SAME_SHAPES and sys.platform == "linux":
            self.array = <array_fn>exported("cupy._core.core", "_ndarray_init", _ARRAY_SIGNATURE)
        self.direct = self.can_be_direct = True

    cdef int current_device(self) except -1:
        return self.device(0) if self.direct else self.get_device()

    cdef Block take(self):
        """A Block that nobody else uses: a launch may give up the GIL while CUDA reads its arguments."""
        if self.free:
            try:
                return <Block>self.free.pop()
            except IndexError:
                pass
        return new_block(self.pointer_type)

    cdef int give(self, Block block) except -1:
        self.free.append(block)
        return 0

    cdef object grid_of(self, Py_ssize_t blocks):
        cdef object found = self.grids.get(blocks)
        if found is None:
            found = (blocks,)
            if len(self.grids) < KEPT_GRIDS:
                self.grids[blocks] = found
        return found

    cdef bint contiguous(self, object array) except -1:
        return array.flags.c_contiguous if self.plain_flags else array._c_contiguous

    cdef object empty(self, object shape, object dtype):
        cdef vector[Py_ssize_t] extents
        if not self.direct or self.array == NULL:
            return self.array_type(shape, dtype)
        for n in <tuple>shape:
            extents.push_back(n)
        return self.array(self.array_type, extents, dtype, None)


cdef class Prepared:
    cdef object on(self, int device):
        """The function on the current device, whose number is `device`."""
        cdef object found
        if device < len(self.functions):
            found = self.functions[device]
            if found is not None:
                return found
        found = self.kernel.kernel
        while len(self.functions) <= device:
            self.functions.append(None)
        self.functions[device] = found
        return found

    cdef int run(self, int device, Py_ssize_t blocks, tuple threads, Block block, Py_ssize_t n, bint strided,
                 Py_ssize_t shared) except -1:
        """Launch with the first `n` arguments of `block`, and its layout where an input is strided."""
        cdef list arguments
        cdef void* places[MOST_ARGUMENTS + 1]
        cdef Py_ssize_t k
        if self.launcher.direct and device < MOST_DEVICES:
            if self.addresses[device] == 0:
                self.addresses[device] = self.on(device).ptr
            for k in range(n):
                places[k] = block.room + k * ARGUMENT_BYTES
            places[n] = block.room + MOST_ARGUMENTS * ARGUMENT_BYTES
            self.launcher.context()
            self.launcher.launch(self.addresses[device], <unsigned int>blocks, 1, 1, threads[0],
                                 threads[1] if len(threads) > 1 else 1, 1, <unsigned int>shared,
                                 self.launcher.stream(), <intptr_t>places, 0, 0)
            return 0
        arguments = block.pointers[:n]
        if strided:
            arguments.append(block.layout)
        if shared:
            self.on(device)(self.launcher.grid_of(blocks), threads, arguments, shared)
        else:
            self.on(device)(self.launcher.grid_of(blocks), threads, arguments)
        return 0


cdef Prepared new_prepared(Launcher launcher, str text, str name):
    cdef Prepared found = Prepared.__new__(Prepared)
    found.launcher = launcher
    found.kernel = launcher.raw_kernel(text, name)
    found.functions = []
    return found


cdef inline int put_pointer(Block block, Py_ssize_t place, object data) except -1:
    """Write the address of an array's `data` as an argument."""
    put_address(block, place, <uint64_t>data.ptr)
    return 0


cdef bint put_array(Block block, Py_ssize_t place, object x, object dtype, int device) except -1:
    """Write the address of an array as an argument; False where it is of another dtype or device."""
    cdef object data = x.data
    cdef object found = x.dtype
    if data.device_id != device or found is not dtype and found != dtype:
        return False
    put_pointer(block, place, data)
    return True


cdef bint put_number(Block block, Py_ssize_t place, object x, char code) except -1:
    """Write a Python number as an argument of a type; False where it is none of those."""
    cdef char* at = block.room + place * ARGUMENT_BYTES
    cdef complex z
    if code == b"f":
        (<float*>at)[0] = <float><double>x
    elif code == b"d":
        (<double*>at)[0] = <double>x
    elif code == b"F":
        z = x
        (<float*>at)[0] = <float>z.real
        (<float*>at)[1] = <float>z.imag
    elif code == b"D":
        z = x
        (<double*>at)[0] = z.real
        (<double*>at)[1] = z.imag
    elif code == b"q" or code == b"l":
        (<int64_t*>at)[0] = <int64_t>x
    elif code == b"i":
        (<int32_t*>at)[0] = <int32_t>x
    elif code == b"?":
        at[0] = 1 if x else 0
    else:
        return False
    return True


cdef class Elementwise:
    """Elementwise(launcher, spec, name)
--

    The kernels of one Spec. Called with a list of arguments in the order of `spec.inputs`, arrays and Python numbers.
    """

    def __init__(self, Launcher launcher, spec, str name):
        cdef int k
        self.launcher = launcher
        self.spec = spec
        self.name = re.sub(r"\W", "_", name)
        self.variants = {}
        self.n_in = len(spec.inputs)
        self.n_out = len(spec.outputs)
        if self.n_in + self.n_out >= MOST_ARGUMENTS:
            raise ValueError(f"{name}: {self.n_in + self.n_out} arguments")
        self.in_dtypes = tuple([dtype for _, dtype in spec.inputs])
        self.out_dtypes = tuple([dtype for _, dtype in spec.outputs])
        for k in range(self.n_in):
            self.codes[k] = ord(self.in_dtypes[k].char)

    def __call__(self, *arguments, out=None, ordered=False):
        """The outputs, a tuple; None where these arguments are not for a prepared kernel."""
        return self.call(list(arguments), out, ordered)

    def into(self, object out, object other):
        """Write the one output for `out` and `other` into `out`. False: these are not for a prepared kernel."""
        return self.call([out, other], out, False) is not None

    cdef object text(self, str kinds, int ndim, bint wide):
        return text_of(self.name, self.spec, kinds, ndim, wide)

    cdef Prepared variant(self, const char* kinds, int ndim, bint wide):
        cdef bytes letters = kinds[:self.n_in]
        cdef object key = letters if ndim == 0 else (letters, ndim, wide)
        cdef object found = self.variants.get(key)
        if found is None:
            text = self.text(letters.decode(), ndim, wide)
            found = self.variants.setdefault(key, new_prepared(self.launcher, text, self.name))
        return <Prepared>found

    cdef tuple call(self, list arguments, object out, bint ordered):
        """As __call__. `out`: an array for the first output. `ordered`: only if a row-major result is what CuPy gives.
        """
        cdef Launcher launcher = self.launcher
        cdef object dtype
        cdef char kinds[MOST_ARGUMENTS]
        cdef int k
        cdef int device = launcher.current_device()
        cdef bint strided = False
        cdef Py_ssize_t size, blocks
        cdef Block block
        cdef Strided* layout
        cdef tuple outputs, shape
        cdef Prepared kernel
        block = launcher.take()
        try:
            layout = <Strided*>(block.room + MOST_ARGUMENTS * ARGUMENT_BYTES)
            shape = self.place(arguments, None if out is None else out.shape, ordered, device, block, kinds, &strided,
                               &size)
            if shape is None:
                return None
            if out is None:
                if self.n_out == 1:
                    outputs = (launcher.empty(shape, self.out_dtypes[0]),)
                else:
                    outputs = tuple([launcher.empty(shape, dtype) for dtype in self.out_dtypes])
            else:
                if out.shape != shape or not launcher.contiguous(out) or out.data.device_id != device:
                    return None
                outputs = (out,)
            for k in range(self.n_out):
                put_pointer(block, self.n_in + k, outputs[k].data)
            (<int64_t*>(block.room + (self.n_in + self.n_out) * ARGUMENT_BYTES))[0] = size
            kernel = self.variant(kinds, layout.ndim if strided else 0, strided and layout.wide)
            if strided:
                pack(layout, block.room + MOST_ARGUMENTS * ARGUMENT_BYTES)
            blocks = min((size + THREADS - 1) // THREADS, <Py_ssize_t>MOST_BLOCKS)
            kernel.run(device, blocks, _threads, block, self.n_in + self.n_out + 1, strided, 0)
            return outputs
        finally:
            launcher.give(block)

    cdef tuple place(self, list arguments, tuple shape, bint ordered, int device, Block block, char* kinds,
                     bint* strided, Py_ssize_t* size):
        """Write the inputs into `block` and tell their kinds; the shape that the arrays among them broadcast to.

        None where they are not for a prepared kernel. `shape`: what it is where no input is an array. `strided`: is set
        if an input is, and then the block's layout says how they lie. `size`: of that shape.
        """
        cdef Launcher launcher = self.launcher
        cdef object first = None
        cdef object x, other
        cdef int k
        cdef bint mixed = False
        cdef Strided* layout = <Strided*>(block.room + MOST_ARGUMENTS * ARGUMENT_BYTES)
        strided[0] = False
        for k in range(self.n_in):
            x = arguments[k]
            if type(x) is not launcher.array_type:
                if not put_number(block, k, x, self.codes[k]):
                    return None
                kinds[k] = b"v"
                continue
            if not put_array(block, k, x, self.in_dtypes[k], device):
                return None
            other = x.shape
            if first is None:
                first = other
            elif other != first:
                mixed = True
            kinds[k] = b"c" if launcher.contiguous(x) else b"s"
            if kinds[k] == b"s":
                strided[0] = True
        if first is not None:
            shape = first
        elif shape is None:
            return None
        if ordered and strided[0]:
            return None
        if mixed or strided[0]:
            shape = spread(launcher, arguments, self.n_in, kinds, layout)
            if shape is None:
                return None
            strided[0] = layout.count > 0
        size[0] = 1
        for other in shape:
            size[0] *= <Py_ssize_t>other
        return None if size[0] == 0 else shape


cdef class Summed(Elementwise):
    """Summed(launcher, spec, name, keeps=False)
--

    The kernels that add up the one output of a Spec over rows, as they compute it. `keeps`: and write it, too.
    """

    def __init__(self, Launcher launcher, spec, str name, bint keeps=False):
        Elementwise.__init__(self, launcher, spec, name)
        self.keeps = keeps

    cdef object text(self, str kinds, int ndim, bint wide):
        return sum_text_of(self.name, self.spec, kinds, ndim, wide, self.keeps)

    cdef object sum_of(self, list arguments, tuple full, tuple shape, tuple rows):
        """The sum, of `shape`, of what has the shape `full`; `rows` as `backends.cuda.rows.layout` gives it. None: not
        for a prepared kernel. If it keeps what it adds up: (that, the sum).
        """
        cdef Launcher launcher = self.launcher
        cdef char kinds[MOST_ARGUMENTS]
        cdef int device = launcher.current_device()
        cdef bint strided = False
        cdef Block block
        cdef Strided* layout
        cdef Prepared kernel
        cdef object out
        cdef object kept = None
        cdef Py_ssize_t k, n, size
        sizes, threads, blocks = rows
        block = launcher.take()
        try:
            layout = <Strided*>(block.room + MOST_ARGUMENTS * ARGUMENT_BYTES)
            if self.place(arguments, None, False, device, block, kinds, &strided, &size) != full:
                return None
            n = self.n_in + 1
            out = launcher.empty(shape, self.out_dtypes[0])
            put_pointer(block, self.n_in, out.data)
            if self.keeps:
                kept = launcher.empty(full, self.out_dtypes[0])
                put_pointer(block, n, kept.data)
                n += 1
            for k in range(3):
                put_integer(block, n + k, sizes[k])
            kernel = self.variant(kinds, layout.ndim if strided else 0, strided and layout.wide)
            if strided:
                pack(layout, block.room + MOST_ARGUMENTS * ARGUMENT_BYTES)
            kernel.run(device, blocks, threads, block, n + 3, strided,
                       threads[0] * threads[1] * self.out_dtypes[0].itemsize)
            return (kept, out) if self.keeps else out
        finally:
            launcher.give(block)


cdef tuple spread(Launcher launcher, list arguments, int n, char* kinds, Strided* layout):
    """The shape that the arrays among the arguments broadcast to, and what a kernel has to know of it.

    None where they do not broadcast or have too many axes: CuPy says what is wrong. Arrays of one element become "o".
    """
    cdef Py_ssize_t extents[MOST_AXES]
    cdef Py_ssize_t strides[MOST_ARGUMENTS][MOST_AXES]
    cdef int ndim = 0
    cdef int k, axis, count, behind, merged
    cdef Py_ssize_t extent, size = 1
    cdef tuple shape, steps
    cdef object x
    cdef bint fits
    for k in range(n):
        if kinds[k] != b"v":
            ndim = max(ndim, <int>len(<tuple>arguments[k].shape))
    if ndim > MOST_AXES:
        return None
    for axis in range(ndim):
        extents[axis] = 1
    for k in range(n):
        if kinds[k] == b"v":
            continue
        shape = arguments[k].shape
        behind = ndim - <int>len(shape)
        for axis in range(behind, ndim):
            extent = shape[axis - behind]
            if extent != 1:
                if extents[axis] != 1 and extents[axis] != extent:
                    return None
                extents[axis] = extent
    for axis in range(ndim):
        size *= extents[axis]
    result = tuple([extents[axis] for axis in range(ndim)])
    count = 0
    for k in range(n):
        if kinds[k] == b"v":
            continue
        x = arguments[k]
        if <Py_ssize_t>x.size == 1:
            kinds[k] = b"c" if size == 1 else b"o"
            continue
        shape = x.shape
        if kinds[k] == b"c" and <Py_ssize_t>x.size == size:
            continue                            # as many elements, in the same order: leading axes of one at most
        kinds[k] = b"s"
        steps = x.strides
        behind = ndim - <int>len(shape)
        for axis in range(ndim):
            if axis < behind or <Py_ssize_t>shape[axis - behind] == 1:
                strides[count][axis] = 0
                continue
            if <Py_ssize_t>steps[axis - behind] % <Py_ssize_t>x.itemsize != 0:
                return None
            strides[count][axis] = <Py_ssize_t>steps[axis - behind] // <Py_ssize_t>x.itemsize
        count += 1
    layout.count = count
    layout.wide = size > NARROW
    layout.ndim = 0
    if count == 0:
        return result
    # Neighbouring axes become one where every strided input walks through both at one stride.
    merged = 0
    for axis in range(ndim):
        if extents[axis] == 1 and ndim > 1:
            continue
        fits = merged > 0
        if fits:
            for k in range(count):
                if layout.strides[k][merged - 1] != strides[k][axis] * extents[axis]:
                    fits = False
                    break
        if fits:
            layout.extents[merged - 1] *= extents[axis]
        else:
            layout.extents[merged] = extents[axis]
            merged += 1
        for k in range(count):
            layout.strides[k][merged - 1] = strides[k][axis]
    layout.ndim = merged
    return result


cdef void pack(Strided* layout, char* to) noexcept:
    """Write extents and strides where the kernel's structure of `ndim` axes has them. `to` may be the layout's own."""
    cdef int64_t packed[MOST_AXES + MOST_ARGUMENTS * MOST_AXES]
    cdef int k, axis
    cdef int ndim = layout.ndim
    cdef int count = layout.count
    for axis in range(ndim):
        packed[axis] = layout.extents[axis]
        for k in range(count):
            packed[ndim + k * ndim + axis] = layout.strides[k][axis]
    memcpy(to, packed, (ndim + count * ndim) * sizeof(int64_t))


cdef int launch_rows(Prepared kernel, int device, Py_ssize_t blocks, tuple threads, list arguments,
                     Py_ssize_t shared) except -1:
    """Launch with arrays, floats and ints (64 bits) as they come."""
    cdef Launcher launcher = kernel.launcher
    cdef Block block = launcher.take()
    cdef Py_ssize_t k
    try:
        for k in range(len(arguments)):
            x = arguments[k]
            if type(x) is launcher.array_type:
                put_pointer(block, k, x.data)
            else:
                put_number(block, k, x, b"d" if type(x) is float else b"q")
        kernel.run(device, blocks, threads, block, len(arguments), False, shared)
    finally:
        launcher.give(block)
    return 0


cdef class RowLauncher:
    """RowLauncher(launcher, text, name): a kernel over rows, called (blocks, threads, arguments, shared bytes)."""
    cdef Prepared kernel

    def __init__(self, Launcher launcher, str text, str name):
        self.kernel = new_prepared(launcher, text, name)

    def __call__(self, Py_ssize_t blocks, tuple threads, list arguments, Py_ssize_t shared):
        launch_rows(self.kernel, self.kernel.launcher.current_device(), blocks, threads, arguments, shared)


cdef class RowPlan:
    """RowPlan(rows, blocks, block, numbers, shape, dtype, shared, spreads=False)
--

    A kernel over rows for arrays of one shape: `rows` is its RowLauncher, `numbers` come behind the arrays, `shape` is
    the result's. `spreads`: the first array may be one number everywhere, and the first of `numbers` becomes 0 then.
    """

    def __init__(self, RowLauncher rows, Py_ssize_t blocks, tuple block, tuple numbers, tuple shape, dtype,
                 Py_ssize_t shared, bint spreads=False):
        cdef Block written = rows.kernel.launcher.take()
        cdef Py_ssize_t n = 0
        self.kernel = rows.kernel
        self.blocks = blocks
        self.threads = block
        self.shape = shape
        self.dtype = dtype
        self.shared = shared
        self.spreads = spreads
        if len(numbers) > MOST_NUMBERS:
            raise ValueError(f"{len(numbers)} numbers")
        for x in numbers:
            put_number(written, n, x, b"d" if type(x) is float else b"q")
            n += 1
        self.n_numbers = n
        memcpy(self.numbers, written.room, n * ARGUMENT_BYTES)
        self.kernel.launcher.give(written)

    cdef object call(self, object a, object b, object c, object out=None):
        """The result for up to three arrays (None: no more); None where one is not of this dtype, row-major and here.

        `out`: a row-major array of the result's shape and dtype, here, that the kernel writes.
        """
        cdef Launcher launcher = self.kernel.launcher
        cdef int device = launcher.current_device()
        cdef Py_ssize_t n = 1
        cdef bint everywhere = False
        cdef Block block = launcher.take()
        try:
            if not self.takes(block, 0, a, device):
                everywhere = self.spreads and self.spread(block, a, device)
                if not everywhere:
                    return None
            if b is not None:
                if not self.takes(block, n, b, device):
                    return None
                n += 1
            if c is not None:
                if not self.takes(block, n, c, device):
                    return None
                n += 1
            if out is None:
                out = launcher.empty(self.shape, self.dtype)
            put_pointer(block, n, out.data)
            memcpy(block.room + (n + 1) * ARGUMENT_BYTES, self.numbers, self.n_numbers * ARGUMENT_BYTES)
            if everywhere:
                put_integer(block, n + 1, 0)
            n += 1 + self.n_numbers
            self.kernel.run(device, self.blocks, self.threads, block, n, False, self.shared)
        finally:
            launcher.give(block)
        return out

    cdef bint takes(self, Block block, Py_ssize_t place, object x, int device) except -1:
        cdef Launcher launcher = self.kernel.launcher
        return (type(x) is launcher.array_type and launcher.contiguous(x)
                and put_array(block, place, x, self.dtype, device))

    cdef bint spread(self, Block block, object x, int device) except -1:
        """Write the address of the first array if it is one number everywhere; False: it is not."""
        return (type(x) is self.kernel.launcher.array_type and not any(x.strides)
                and put_array(block, 0, x, self.dtype, device))


cdef class SplitPlan(RowPlan):
    """SplitPlan(first, second)
--

    A reduction of one array in two launches: `first` reduces parts of its rows, `second` what is left of them.
    """

    def __init__(self, RowPlan first not None, RowPlan second not None):
        self.first = first
        self.second = second
        self.shape = second.shape
        self.dtype = second.dtype

    cdef object call(self, object a, object b, object c, object out=None):
        cdef object parts = self.first.call(a, None, None)
        return None if parts is None else self.second.call(parts, None, None, out)


KINDS = "fdFD"
cdef float _one_f[2]
cdef float _zero_f[2]
cdef double _one_d[2]
cdef double _zero_d[2]
_one_f[0], _one_f[1], _zero_f[0], _zero_f[1] = 1.0, 0.0, 0.0, 0.0
_one_d[0], _one_d[1], _zero_d[0], _zero_d[1] = 1.0, 0.0, 0.0, 0.0

_GEMM = "PyObject *(intptr_t, " + "int, " * 5 + "size_t, size_t, int, int, size_t, int, int, size_t, size_t, " + (
    "int, int, int, int, int __pyx_skip_dispatch)")
_PRODUCTS = (
    ("cupy.cuda.device", "get_cublas_handle", "intptr_t (int __pyx_skip_dispatch)"),
    ("cupy._core._routines_linalg", "get_compute_type", "PyObject *(PyObject *, int __pyx_skip_dispatch)"),
    ("cupy_backends.cuda.libs.cublas", "gemmEx", _GEMM),
)


cdef class Gemm:
    """Gemm(cupy)
--

    cuBLAS's product of two matrices, asked for as CuPy's `dot` asks: in the type that `CUPY_TF32` and
    `cupy._core.set_compute_type` choose, by the algorithm for the device. `serves`: what this needs of CuPy is there.
    """

    def __init__(self, cupy):
        cdef int k
        for k in range(MOST_DEVICES):
            self.algorithms[k] = -2
        self.serves = cupy.__version__.split(".")[0] in _SAME_SHAPES and not getattr(cupy.cuda.runtime, "is_hip", False)
        self.ready = False

    cdef int find(self) except -1:
        """Look for CuPy's functions, when they are first needed: that loads cuBLAS."""
        cdef void* found[3]
        cdef int k
        self.serves = False
        for k, (module, name, signature) in enumerate(_PRODUCTS):
            found[k] = exported(module, name, signature)
            if found[k] == NULL:
                return 0
        self.handle = <handle_fn>found[0]
        self.compute = <compute_fn>found[1]
        self.gemm = <gemm_fn>found[2]
        self.capability = importlib.import_module("cupy.cuda.device").get_compute_capability
        type_of = importlib.import_module("cupy._core._dtype").to_cuda_dtype
        for k in range(4):
            self.types[k] = type_of(importlib.import_module("numpy").dtype(KINDS[k]))
        self.serves = self.ready = True
        return 0

    cdef int algorithm(self, int device) except? -2:
        """What CuPy chooses for the current device: CUBLAS_GEMM_DEFAULT, from 8.0 on its _TENSOR_OP; -3: it does
        otherwise.
        """
        cdef int capability, found
        if device < MOST_DEVICES and self.algorithms[device] != -2:
            return self.algorithms[device]
        capability = int(self.capability())
        found = 99 if capability >= 80 else -1 if capability >= 50 else -3
        if device < MOST_DEVICES:
            self.algorithms[device] = found
        return found

    cdef bint multiply(self, int device, object dtype, char kind, bint transb, bint transa, int m, int n, int k,
                       object b, int ldb, object a, int lda, object c, int ldc) except -1:
        """c = b a in cuBLAS's order, of matrices that it may read transposed. False: not here, or not this dtype."""
        cdef int place, number, kind_of_sum
        cdef size_t one, zero
        if not self.ready:
            if self.serves:
                self.find()
            if not self.ready:
                return False
        if self.algorithm(device) == -3:
            return False
        if kind == b"f":
            place, one, zero = 0, <size_t>_one_f, <size_t>_zero_f
        elif kind == b"d":
            place, one, zero = 1, <size_t>_one_d, <size_t>_zero_d
        elif kind == b"F":
            place, one, zero = 2, <size_t>_one_f, <size_t>_zero_f
        elif kind == b"D":
            place, one, zero = 3, <size_t>_one_d, <size_t>_zero_d
        else:
            return False
        number = self.types[place]
        kind_of_sum = self.compute(dtype, 0)
        if place % 2 == 0:
            # CUBLAS_COMPUTE_32F, _PEDANTIC, _FAST_TF32, for CuPy's COMPUTE_TYPE_PEDANTIC and _TF32
            kind_of_sum = 69 if kind_of_sum == 2 else 77 if kind_of_sum == 7 else 68
        else:
            kind_of_sum = 71 if kind_of_sum == 2 else 70
        self.gemm(self.handle(0), transb, transa, m, n, k, one, b.data.ptr, number, ldb, a.data.ptr, number, lda, zero,
                  c.data.ptr, number, ldc, kind_of_sum, self.algorithm(device), 0)
        return True


def set_narrow(Py_ssize_t largest):
    """The largest index that 32 bits are used for; returns the previous. For tests of the wide kernels."""
    global NARROW
    previous, NARROW = NARROW, min(largest, 0x7fffffff)
    return previous
