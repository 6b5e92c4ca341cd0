# CudaArrays: what the engine and the hot paths ask of CuPy's arrays, with prepared kernels.
# May import: engine.arrayops, engine.node, core.op, core.value, backends.cuda.prepared.
#
# Every method here has a slower twin in backends/generic.py or backends/cupy.py that does the same by CuPy's own
# functions; it serves what is declined here, and everything after `set_fused(False)` or `set_prepared(False)`.
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uint64_t

from threading import get_ident

from arraygrad.backends.cuda.prepared cimport Elementwise, Launcher
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend
from arraygrad.engine.arrayops cimport DeviceRuntime, GradMeta
from arraygrad.engine.node cimport NODE_ASIDE

cdef enum:
    LONGEST_KEY = 64


# Streams

cdef class CurrentStreams(DeviceRuntime):
    """CurrentStreams: the quick way through `enter` and `leave` where device and stream are current already.

    Stands in front of CupyRuntime among the bases of the runtime. `get_device` and `get_stream` are CuPy's functions.
    """
    cdef public object get_device
    cdef public object get_stream
    cdef public dict last               # device -> its stream that was seen last, as the engine knows it

    cpdef object current_stream(self, object device_key):
        """As CudaRuntime.current_stream."""
        cdef object number = device_key[2]
        cdef object found = self.last.get(number)
        if found is None or found.stream is not self.get_stream(number):
            found = self.current_stream_slowly(device_key)
            self.last[number] = found
        return found

    cpdef object enter(self, object device_key, object stream):
        """As CudaRuntime.enter; the stream itself where nothing has to change."""
        cdef object number = device_key[2]
        if self.captures and get_ident() in self.captures:
            return None                 # the run is on the stream that captures: Note [Captures] (1)
        if stream is not None and self.get_device() == number and self.get_stream(number) is stream.stream:
            return stream
        return self.enter_slowly(device_key, stream)

    cpdef int leave(self, object token) except -1:
        """As CudaRuntime.leave."""
        if type(token) is tuple or token is None:
            self.leave_slowly(token)
        elif self.get_device() != token.device or self.get_stream(token.device) is not token.stream:
            self.leave_slowly((token.device, token.device, token))
        return 0


# Arrays

cdef class CudaArrays(Backend):
    """CudaArrays: the compiled part of the backend of CuPy's arrays.

    `prepare_launches` has to be called before the first operation.
    """
    cdef readonly Launcher launcher
    cdef public bint prepared           # set_prepared
    cdef object kernels                 # ElementwiseKernels: traces, and the way without prepared kernels
    cdef object row_kernels             # RowKernels
    cdef object captured_products       # Products
    cdef list rules                     # per Op.index: dict from a key of types to (Elementwise, places, results), None
    cdef list forwards                  # per Op.index: dict from a key of types to Elementwise or None
    cdef frozenset forward_names
    cdef dict fills                     # dtype.char -> Elementwise
    cdef dict sums                      # dtype.char -> Elementwise of a + b
    cdef dict codes                     # id of a dtype that is known -> its letter
    cdef object unowned                 # class of memory that came from another library
    cdef dict device_keys               # number of a device -> its key
    cdef tuple kept                     # those dtypes, so that no other object takes their ids

    def prepare_launches(self, Launcher launcher, kernels, row_kernels, products, names, dtypes, unowned):
        """Take what launches are made with.

        The kernels of the table, of rows and of products within captures, the names of the forwards that are served,
        the dtypes that kernels know, and the class of memory that belongs to others.
        """
        self.launcher = launcher
        self.row_kernels = row_kernels
        self.captured_products = products
        self.unowned = unowned
        self.kernels = kernels
        self.forward_names = frozenset(names)
        self.device_keys = {}
        self.rules = []
        self.forwards = []
        self.fills = {}
        self.sums = {}
        self.kept = tuple(dtypes)
        self.codes = {id(dtype): ord(dtype.char) for dtype in self.kept}
        self.prepared = True

    cdef int letter(self, object dtype) except -1:
        """The letter of a dtype that kernels know, 0: they do not."""
        cdef object found = self.codes.get(id(dtype))
        return 0 if found is None else <int>found

    # -- metadata

    cdef bint fits(self, GradMeta meta, object array) except -1:
        """Whether an array has exactly the shape, dtype and device of `meta`."""
        cdef tuple shape
        cdef int i
        if type(array) is not self.array_type:
            return False
        if array.dtype is not meta.dtype and array.dtype != meta.dtype:
            return False
        shape = array.shape
        if len(shape) != meta.ndim:
            return False
        if meta.ndim > 8:
            return shape == meta.shape_tuple() and array.data.device_id == meta.device_key[2]
        for i in range(meta.ndim):
            if <Py_ssize_t>shape[i] != meta.dims[i]:
                return False
        return array.data.device_id == meta.device_key[2]

    cpdef GradMeta meta(self, object array):
        """GradMeta of an array."""
        cdef object dtype = array.dtype
        cdef int letter = self.letter(dtype)
        cdef object key, number
        cdef GradMeta m
        cdef tuple shape
        cdef int i
        if letter == 0 or type(array) is not self.array_type:
            return self.meta_slowly(array)
        number = array.data.device_id
        key = self.device_keys.get(number)
        if key is None:
            key = self.device_keys[number] = self.device_key(number)
        shape = array.shape
        m = GradMeta.__new__(GradMeta)
        m.ops = self
        m._shape = shape
        m.ndim = <int>len(shape)
        if m.ndim <= 8:
            for i in range(m.ndim):
                m.dims[i] = shape[i]
        m.typenum = -1
        m.dtype = dtype
        m.device = array.device
        m.device_key = key
        m.stream = self.runtime.current_stream(key)
        m.is_complex = letter == c"F" or letter == c"D"
        m.is_floating = True
        return m

    cpdef bint matches(self, GradMeta meta, object grad) except -1:
        """Whether `grad` has exactly the shape, dtype and device of `meta`."""
        return self.fits(meta, grad)

    cdef bint on_current_stream(self, GradMeta meta) except -1:
        cdef object runtime = self.runtime
        if type(meta) is GradMeta and isinstance(runtime, CurrentStreams):
            if (<CurrentStreams>runtime).get_stream(meta.device_key[2]) is meta.stream.stream:
                return True
        return Backend.on_current_stream(self, meta)

    cdef uint64_t fingerprint(self, object raw, bint full) except? 0:
        return 1                        # CuPy's arrays do not tell when they are written

    cpdef bint owns_memory(self, object raw) except -1:
        """Whether an array is no view and its memory comes from CuPy's allocator, not from another library."""
        return type(raw) is self.array_type and raw.base is None and not isinstance(raw.data.mem, self.unowned)

    # -- forward

    cdef object unary(self, Op op, object x, uint32_t* flags):
        cdef Elementwise kernel
        cdef tuple found
        cdef char letter
        if not self.prepared or not self.fuses or type(x) is not self.array_type:
            return None
        letter = <char>self.letter(x.dtype)
        if letter == 0:
            return None
        kernel = self.forward_kernel(op, <bytes>(&letter)[:1], (x.dtype,))
        if kernel is None:
            return None
        flags[0] &= ~<uint32_t>NODE_ASIDE
        found = kernel.call([x], None, True)
        return None if found is None else found[0]

    cdef object binary(self, Op op, object a, object b, uint32_t* flags):
        cdef Elementwise kernel
        cdef tuple found
        cdef char letters[4]
        cdef object da = None
        cdef object db = None
        if not self.prepared or not self.fuses:
            return None
        if type(a) is self.array_type:
            da = a.dtype
            letters[0] = <char>self.letter(da)
            letters[2] = b"a"
        if type(b) is self.array_type:
            db = b.dtype
            letters[1] = <char>self.letter(db)
            letters[3] = b"a"
        if da is None:
            if db is None or not is_number(a):
                return None
            letters[0] = letters[1]
            letters[2] = b"n"
            da = db
        elif db is None:
            if not is_number(b):
                return None
            letters[1] = letters[0]
            letters[3] = b"n"
            db = da
        if letters[0] == 0 or letters[1] == 0:
            return None
        if op.name == "matmul":
            return self.product(a, b) if self.are_matrices(a, b) else None
        kernel = self.forward_kernel(op, <bytes>letters[:4], (da, db))
        if kernel is None:
            return None
        try:
            found = kernel.call([a, b], None, True)
        except OverflowError:
            return None                 # a number that is no double: CuPy says so
        return None if found is None else found[0]

    cdef Elementwise forward_kernel(self, Op op, bytes key, tuple dtypes):
        cdef dict known
        cdef object found
        while len(self.forwards) <= op.index:
            self.forwards.append(None)
        known = self.forwards[op.index]
        if known is None:
            known = self.forwards[op.index] = {}
        found = known.get(key, self)
        if found is self:
            found = None
            if op.name in self.forward_names and op.by_operator is None:
                spec = self.kernels.forward_spec(op, dtypes)
                if spec is not None:
                    found = Elementwise(self.launcher, spec, f"arraygrad_{op.name}")
            known[key] = found
        return <Elementwise>found

    # -- backward

    cpdef object fused(self, Op op, object g, unsigned long long wanted, list saved, list statics, list targets,
                       bint absorbs):
        """The wanted gradients of a node from this backend's kernels; None: by the table's rules."""
        cdef char key[LONGEST_KEY]
        cdef int n = 0
        cdef Py_ssize_t k
        cdef object x, found
        cdef GradMeta target
        cdef dict known
        cdef list arguments
        cdef tuple outputs
        if not self.prepared or statics or type(g) is not self.array_type or len(saved) + len(targets) > 16:
            return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs)
        if op.name == "matmul":
            found = self.product_rules(g, wanted, saved)
            return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs) if found is None else found
        if op.kind != "elementwise" and op.kind != "bilinear" and op.kind != "zero" and op.name != "where":
            return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs)
        key[0] = <char>(wanted & 0x7f)
        key[1] = <char>absorbs
        key[2] = <char>self.letter(g.dtype)
        n = 3
        if key[2] == 0:
            return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs)
        for x in saved:
            if x is None:
                key[n] = b"0"
                key[n + 1] = b"0"
            elif type(x) is self.array_type:
                key[n] = b"a"
                key[n + 1] = <char>self.letter(x.dtype)
            elif isinstance(x, GradMeta):
                key[n] = b"m"
                key[n + 1] = <char>self.letter((<GradMeta>x).dtype)
            elif is_number(x) or type(x) is complex:
                key[n] = b"c" if type(x) is complex else b"n"
                key[n + 1] = b"0"
            else:
                return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs)
            if key[n + 1] == 0:
                return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs)
            n += 2
        for x in targets:
            key[n] = b"0"
            if x is not None:
                target = <GradMeta>x
                if target.shape_tuple() == g.shape:
                    key[n] = <char>self.letter(target.dtype)
                    if key[n] == 0:
                        return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs)
            n += 1
        while len(self.rules) <= op.index:
            self.rules.append(None)
        known = self.rules[op.index]
        if known is None:
            known = self.rules[op.index] = {}
        name = PyBytes_FromStringAndSize(key, n)
        found = known.get(name, self)
        if found is self:
            found = known[name] = self.made_rules(op, g, wanted, saved, statics, targets, absorbs)
        if found is None:
            return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs)
        kernel, places, results = <tuple>found
        outputs = ()
        if kernel is not None:
            arguments = [g if k < 0 else saved[k] for k in <list>places]
            outputs = (<Elementwise>kernel).call(arguments, None, False)
            if outputs is None:
                return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs)
        return [None if x is None else g if x == "g" else outputs[x] for x in <list>results]

    def rules_of(self, op):
        """The prepared rules of an operation: a dict from what their kernels depend on to what is launched."""
        return (self.rules[op.index] if op.index < len(self.rules) else None) or {}

    def made_rules(self, op, g, wanted, saved, statics, targets, absorbs):
        """(kernel or None, places of its arguments, results) of a node's rules; None: they have no kernel."""
        traced = self.kernels.rules_spec(op, g, wanted, saved, statics, targets, absorbs)
        if traced is None:
            return None
        spec, places = traced
        kernel = Elementwise(self.launcher, spec, f"arraygrad_{op.name}_backward") if spec.outputs else None
        return kernel, places, spec.results

    # -- products

    cdef bint are_matrices(self, object a, object b) except -1:
        """Whether `dot` is the product of two arrays: matrices of one inexact dtype, on this device."""
        cdef int device
        if type(a) is not self.array_type or type(b) is not self.array_type or a.dtype is not b.dtype:
            return False
        if self.letter(a.dtype) == 0 or a.ndim != 2 or b.ndim != 2 or not a.size or not b.size:
            return False
        device = self.launcher.current_device()
        return a.data.device_id == device and b.data.device_id == device

    cdef object product(self, object a, object b):
        """The product of two matrices, by a kernel of our own while this thread captures: CuPy has none then."""
        cdef object found
        if self.runtime.captures and get_ident() in self.runtime.captures:
            found = self.captured_products.matmul(a, b)
            if found is not None:
                return found
        return a.dot(b)

    cdef list product_rules(self, object g, uint64_t wanted, list saved):
        """The gradients of a product of matrices, by products that read the other matrix transposed; None: declined.

        A stack of matrices times one matrix is a product of matrices too, of all rows of the stack.
        """
        cdef object a = None
        cdef object b = None
        cdef object first = None
        cdef object second = None
        cdef GradMeta meta
        cdef tuple shape
        # saved: x2, metadata of x1, x1, metadata of x2 (ops/_products.py); None where no wanted rule asks
        if wanted & 1:
            b = saved[0]
            meta = <GradMeta>saved[1]
            shape = meta.shape_tuple()
            if type(b) is not self.array_type or b.ndim != 2 or len(shape) < 2 or self.letter(g.dtype) == 0:
                return None
        if wanted & 2:
            a = saved[2]
            if type(a) is not self.array_type or a.ndim < 2 or (<GradMeta>saved[3]).ndim != 2:
                return None
            if a.ndim > 2:
                if not self.launcher.contiguous(a):
                    return None
                a = a.reshape(-1, a.shape[a.ndim - 1])
        if g.ndim > 2:
            if not self.launcher.contiguous(g):
                return None
            g = g.reshape(-1, g.shape[g.ndim - 1])
        if g.ndim != 2 or g.dtype.kind == "c":
            return None
        if b is not None:
            b = b.T
            if not self.are_matrices(g, b):
                return None
        if a is not None:
            a = a.T
            if not self.are_matrices(a, g):
                return None
        if b is not None:
            first = self.product(g, b)
            if len(shape) > 2:
                first = first.reshape(shape)
        if a is not None:
            second = self.product(a, g)
        return [first, second]

    # -- sums

    cpdef object conform(self, GradMeta meta, object grad, bint realify):
        """`grad` summed over broadcast axes, cast to meta's dtype and, if 0-d, moved to its device."""
        cdef object found
        if self.prepared and self.fuses and type(grad) is self.array_type and grad.dtype is meta.dtype:
            if grad.data.device_id == self.launcher.current_device() == meta.device_key[2]:
                found = self.row_kernels.sum_to(grad, meta.shape_tuple())
                if found is not None:
                    return found
        return self.conform_slowly(meta, grad, realify)

    cdef object added(self, object a, object b, object out):
        cdef object kernel
        cdef tuple found
        if not self.prepared or not self.fuses or type(a) is not self.array_type or type(b) is not self.array_type:
            return None
        if self.letter(a.dtype) == 0 or a.dtype is not b.dtype:
            return None
        kernel = self.sums.get(a.dtype)
        if kernel is None:
            spec = self.kernels.sum_spec(a.dtype)
            kernel = self.sums[a.dtype] = Elementwise(self.launcher, spec, "arraygrad_accumulate")
        found = (<Elementwise>kernel).call([a, b], out, out is None)
        return None if found is None else found[0]

    cpdef object add(self, object a, object b):
        """a + b, a new array."""
        cdef object found = self.added(a, b, None)
        return a + b if found is None else found

    cpdef object add_into(self, object a, object b):
        """a + b in the memory of `a`, which nobody else holds."""
        cdef object found
        if not a.ndim:
            return self.add(a, b)
        found = self.added(a, b, a)
        if found is None:
            a += b
        return a

    cpdef object ones(self, GradMeta meta):
        """Ones of meta's shape, dtype and device."""
        cdef object found = self.filled(meta, 1.0)
        return self.xp.ones(meta.shape, dtype=meta.dtype, device=meta.device) if found is None else found

    cpdef object zeros(self, GradMeta meta):
        """Zeros of meta's shape, dtype and device."""
        cdef object found = self.filled(meta, 0.0)
        return self.xp.zeros(meta.shape, dtype=meta.dtype, device=meta.device) if found is None else found

    cdef object filled(self, GradMeta meta, double number):
        cdef object kernel, out
        if not self.prepared or not self.fuses or self.letter(meta.dtype) == 0:
            return None
        if self.launcher.current_device() != meta.device_key[2]:
            return None
        kernel = self.fills.get(meta.dtype)
        if kernel is None:
            spec = self.kernels.fill_spec(meta.dtype)
            kernel = self.fills[meta.dtype] = Elementwise(self.launcher, spec, "arraygrad_fill")
        out = self.launcher.empty(meta.shape_tuple(), meta.dtype)
        return None if (<Elementwise>kernel).call([number], out, False) is None else out


cdef inline bint is_number(object x) noexcept:
    return type(x) is float or type(x) is int
