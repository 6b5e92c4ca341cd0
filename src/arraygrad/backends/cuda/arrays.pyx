# CudaArrays: what the engine and the hot paths ask of CuPy's arrays, with prepared kernels.
# May import: engine.arrayops, engine.node, core.op, core.value, backends.cuda.prepared, backends.cuda.row_plans,
# backends.cuda.updates.
#
# Every method here has a slower twin in backends/generic.py or backends/cupy.py that does the same by CuPy's own
# functions; it serves what is declined here, and everything after `set_fused(False)` or `set_prepared(False)`.
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uint64_t

import operator
from threading import get_ident

from arraygrad.backends.cuda.prepared cimport Elementwise, Gemm, Launcher, RowPlan, Summed
from arraygrad.backends.cuda.row_plans cimport RowPlans
from arraygrad.core.op cimport Op, named_op
from arraygrad.core.value cimport Backend
from arraygrad.engine.arrayops cimport DeviceRuntime, GradMeta
from arraygrad.engine.node cimport NODE_ASIDE

from arraygrad.backends.cuda.updates import Updates

cdef enum:
    LONGEST_KEY = 64
    KEPT_LAYOUTS = 4096         # more are forgotten, all at once
    MOST_SUMMED = 11            # inputs of a kernel that sums

cdef uint32_t unused_flags = 0
# Operations that CuPy's own ufuncs compute, by the operators that write their results into arrays of any strides.
cdef dict _IN_PLACE = {
    "add": operator.iadd, "subtract": operator.isub, "multiply": operator.imul, "divide": operator.itruediv,
}
# Operations that `row_plans` may know, forward or backward.
cdef frozenset _ROWS = frozenset(("sum", "mean", "softmax", "log_softmax", "logsumexp", "var", "std", "max", "min"))


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
    cdef RowPlans row_plans
    cdef object products                # Products
    cdef readonly Gemm gemm
    cdef object several                 # Updates
    cdef list rules                     # per Op.index: dict from a key of types to (Elementwise, places, results), None
    cdef list forwards                  # per Op.index: dict from a key of types to Elementwise or None
    cdef frozenset forward_names
    cdef dict sum_layouts               # (shape, what it is summed to) -> how a kernel over rows goes through it, None
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
        self.row_plans = RowPlans(row_kernels, self.array_type, self.xp.broadcast_to)
        self.products = products
        self.gemm = products.gemm
        self.several = Updates(launcher)
        self.unowned = unowned
        self.kernels = kernels
        self.forward_names = frozenset(names)
        self.device_keys = {}
        self.rules = []
        self.forwards = []
        self.sum_layouts = {}
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

    cdef object call(self, Op op, object args):
        cdef object found
        if self.prepared and self.fuses and op.name in _ROWS:
            found = self.row_plans.forward(op, <tuple>args)
            if found is not None:
                return found
        return Backend.call(self, op, args)

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
            if self.are_matrices(a, b):
                return self.product(a, False, b, False, None)
            return self.stacks(a, b)
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

    def writer(self, Op op, object a, object b):
        """A function of `a` and `b` that writes the result of an operation on them into `a` by one launch.

        It returns False where it declines. None where there is no such function: where the result has not the dtype and
        shape of `a`, where `b` is no number and no array of CuPy's, and where an element of `b`, or another one of `a`,
        lies in memory that the launch writes.
        """
        cdef Elementwise kernel = None
        cdef char letters[4]
        cdef object dtype
        if not self.prepared or not self.fuses or type(a) is not self.array_type or not a.size:
            return None
        dtype = a.dtype
        if type(b) is self.array_type:
            if not self.reads_apart(a, b):
                return None
            letters[1] = <char>self.letter(b.dtype)
            letters[3] = b"a"
            dtype = b.dtype
        elif is_number(b):
            try:
                float(b)
            except OverflowError:
                return None             # CuPy says so
            letters[1] = <char>self.letter(dtype)
            letters[3] = b"n"
        else:
            return None
        letters[0] = <char>self.letter(a.dtype)
        letters[2] = b"a"
        if a.data.device_id != self.launcher.current_device():
            return None
        if not self.launcher.contiguous(a):
            if self.overlaps_itself(a):
                return None
        elif letters[0] and letters[1]:
            kernel = self.forward_kernel(op, <bytes>letters[:4], (a.dtype, dtype))
        if kernel is None:
            return _IN_PLACE.get(op.name) if a.dtype.kind in "fc" and dtype is a.dtype else None
        return kernel.into if kernel.out_dtypes[0] == a.dtype else None

    @property
    def updates(self):
        """The kernels that write many arrays by one launch (Updates); None: they are switched off."""
        return self.several if self.prepared and self.fuses else None

    cdef bint reads_apart(self, object a, object b) except -1:
        """Whether a launch that writes `a` may read `b` on the way: `a` itself, or elsewhere, and spread over `a`."""
        cdef tuple shape = a.shape
        cdef tuple other = b.shape
        cdef Py_ssize_t behind = len(shape) - len(other)
        cdef Py_ssize_t k
        cdef size_t first, second
        if behind < 0 or b.data.device_id != a.data.device_id:
            return False
        for k in range(len(other)):
            if other[k] != 1 and other[k] != shape[behind + k]:
                return False
        first, second = a.data.ptr, b.data.ptr
        if first == second and other == shape and b.strides == a.strides and b.dtype == a.dtype:
            return True
        if self.launcher.contiguous(a) and self.launcher.contiguous(b):
            return first + <size_t>a.nbytes <= second or second + <size_t>b.nbytes <= first
        return not self.shares_memory(a, b)

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
        cdef tuple outputs, shape
        if self.prepared and op.name in _ROWS and type(g) is self.array_type:
            found = self.row_rule(op, g, saved, statics)
            if found is not None:
                return [found]
        if not self.prepared or statics or type(g) is not self.array_type or len(saved) + len(targets) > 16:
            return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs)
        if op.name == "matmul":
            found = self.product_rules(g, wanted, saved)
            return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs) if found is None else found
        if op.kind != "elementwise":
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
        shape = g.shape
        for x in targets:
            key[n] = b"0"
            if x is not None:
                target = <GradMeta>x
                if target.shape_tuple() == shape:
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
        kernel, places, results, sums = <tuple>found
        if sums is not None:
            found = self.with_sums(<tuple>sums, g, saved, targets)
            if found is not None:
                return found
        outputs = ()
        if kernel is not None:
            arguments = [g if k < 0 else saved[k] for k in <list>places]
            outputs = (<Elementwise>kernel).call(arguments, None, False)
            if outputs is None:
                return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs)
        return [None if x is None else g if x == "g" else outputs[x] for x in <list>results]

    cdef list with_sums(self, tuple sums, object g, list saved, list targets):
        """The gradients of a node, those of operands that were repeated summed as they are computed; None: declined."""
        cdef list answer, arguments
        cdef Py_ssize_t k
        cdef object kernel, places, results, summed, layout, rest, parts
        cdef tuple outputs = ()
        cdef tuple key, shape
        kernel, places, results, summed = sums
        answer = []
        for number, _, _ in <list>summed:
            key = (g.shape, (<GradMeta>targets[number]).shape_tuple())
            layout = self.sum_layouts.get(key, self)
            if layout is self:
                if len(self.sum_layouts) >= KEPT_LAYOUTS:
                    self.sum_layouts.clear()
                layout = self.sum_layouts[key] = self.row_kernels.broadcast(*key)
            if layout is None:
                return None
            answer.append(layout)
        if kernel is not None:
            arguments = [g if k < 0 else saved[k] for k in <list>places]
            outputs = (<Elementwise>kernel).call(arguments, None, False)
            if outputs is None:
                return None
        found = [None if x is None else g if x == "g" else outputs[x] for x in <list>results]
        for layout, (number, kernel, places) in zip(answer, summed):
            arguments = [g if k < 0 else saved[k] for k in <list>places]
            shape = (<GradMeta>targets[number]).shape_tuple()
            layout, rest, parts = <tuple>layout
            if rest is None:
                found[number] = (<Summed>kernel).sum_of(arguments, g.shape, shape, layout)
            else:
                found[number] = self.in_parts(<Summed>kernel, arguments, g.shape, shape, layout, <dict>rest, parts)
            if found[number] is None:
                return None
        return found

    cdef object in_parts(self, Summed kernel, list arguments, tuple full, tuple shape, tuple layout, dict rest,
                         object parts):
        """A sum by two launches: Note [Rows] (3) in `backends/cuda/rows.py`."""
        cdef object dtype = kernel.out_dtypes[0]
        cdef object plan = rest.get(dtype)
        cdef object found = kernel.sum_of(arguments, full, (layout[0][0],), layout)
        if found is None:
            return None
        if plan is None:
            plan = rest[dtype] = self.row_kernels.parts_plan(layout, parts, shape, dtype)
        return (<RowPlan>plan).call(found, None, None)

    def rules_of(self, op):
        """The prepared rules of an operation: a dict from what their kernels depend on to what is launched."""
        return (self.rules[op.index] if op.index < len(self.rules) else None) or {}

    def made_rules(self, op, g, wanted, saved, statics, targets, absorbs):
        """(kernel or None, places of its arguments, results, sums) of a node's rules; None: they have no kernel.

        `sums`: None, or the same without the gradients of operands that were repeated, and a list of (number, kernel,
        places of its arguments) of these.
        """
        traced = self.kernels.rules_spec(op, g, wanted, saved, statics, targets, absorbs)
        if traced is None:
            return None
        spec, places = traced
        kernel = Elementwise(self.launcher, spec, f"arraygrad_{op.name}_backward") if spec.outputs else None
        return kernel, places, spec.results, self.made_sums(op, g, wanted, saved, statics, targets, absorbs)

    def made_sums(self, op, g, wanted, saved, statics, targets, absorbs):
        """What `made_rules` gives as `sums`."""
        summed, rest = [], wanted
        for number, target in enumerate(targets):
            if not wanted >> number & 1 or target is None or target.shape == g.shape:
                continue
            spec, places = self.kernels.rules_spec(op, g, 1 << number, saved, statics, targets, absorbs)
            if spec.results[number] != 0 or len(spec.inputs) > MOST_SUMMED:
                continue                # it hands the gradient on: the engine sums that
            if spec.outputs[0][1] != target.dtype or target.dtype.char not in "fd":
                continue
            summed.append((number, Summed(self.launcher, spec, f"arraygrad_{op.name}_sum"), places))
            rest &= ~(1 << number)
        if not summed:
            return None
        if not rest:
            return None, [], [None] * len(targets), summed
        spec, places = self.kernels.rules_spec(op, g, rest, saved, statics, targets, absorbs)
        kernel = Elementwise(self.launcher, spec, f"arraygrad_{op.name}_backward") if spec.outputs else None
        return kernel, places, spec.results, summed

    cdef object row_rule(self, Op op, object g, list saved, list statics):
        """The gradient of a reduction's array; None: declined."""
        cdef object number
        if op.name == "sum":
            return self.row_plans.spread_back(g, <GradMeta>saved[0], statics[0], statics[1])
        if op.name == "mean":
            if self.letter(g.dtype) == 0:
                return None
            number = <double>self.row_plans.joined(<GradMeta>saved[0], statics[0])
            g = self.binary(named_op("divide"), g, number, &unused_flags)
            return None if g is None else self.row_plans.spread_back(g, <GradMeta>saved[0], statics[0], statics[1])
        return self.row_plans.rule(op, g, saved, statics)

    # -- products

    cdef bint are_matrices(self, object a, object b) except -1:
        """Whether two arrays are matrices of one inexact dtype, not empty, on this device."""
        cdef int device
        if type(a) is not self.array_type or type(b) is not self.array_type or a.dtype is not b.dtype:
            return False
        if self.letter(a.dtype) == 0 or a.ndim != 2 or b.ndim != 2 or not a.size or not b.size:
            return False
        device = self.launcher.current_device()
        return a.data.device_id == device and b.data.device_id == device

    cdef object product(self, object a, bint transposes_a, object b, bint transposes_b, tuple shape):
        """The product of two matrices, each as it is or transposed, in a shape (None: its own). No transpose is made.
        """
        cdef object found = None
        cdef bint captures = bool(self.runtime.captures) and get_ident() in self.runtime.captures
        if not captures and self.gemm.serves and self.prepared:
            found = self.multiplied(a, transposes_a, b, transposes_b, shape)
            if found is not None:
                return found
        if transposes_a:
            a = a.T
        if transposes_b:
            b = b.T
        if captures:                    # CuPy calls no cuBLAS then
            found = self.products.matmul(a, b)
        found = a.dot(b) if found is None else found
        return found if shape is None else found.reshape(shape)

    cdef object multiplied(self, object a, bint transposes_a, object b, bint transposes_b, tuple shape):
        """The same by cuBLAS, with what CuPy's `dot` would tell it; None: it has to copy something, or to complain.

        cuBLAS reads matrices column by column. A row-major matrix is the transpose of what it reads, so it is asked for
        the transpose of the product: b^T a^T.
        """
        cdef tuple first = a.shape
        cdef tuple second = b.shape
        cdef Py_ssize_t rows, depth, columns, step_a, step_b
        cdef bint row_major_a = self.launcher.contiguous(a)
        cdef bint row_major_b = self.launcher.contiguous(b)
        cdef object out
        if not row_major_a and not a.flags.f_contiguous or not row_major_b and not b.flags.f_contiguous:
            return None
        rows, depth = first[1 if transposes_a else 0], first[0 if transposes_a else 1]
        columns = second[0 if transposes_b else 1]
        if second[1 if transposes_b else 0] != depth or rows == 1 and columns == 1:
            return None                 # `dot` says what is wrong, and has a kernel for two vectors
        if max(rows, depth, columns) > 0x7fffffff:
            return None
        step_a = first[1 if row_major_a else 0]
        step_b = second[1 if row_major_b else 0]
        out = self.launcher.empty((rows, columns) if shape is None else shape, a.dtype)
        if not self.gemm.multiply(self.launcher.current_device(), a.dtype, <char>self.letter(a.dtype),
                                  row_major_b == transposes_b, row_major_a == transposes_a, <int>columns, <int>rows,
                                  <int>depth, b, <int>step_b, a, <int>step_a, out, <int>columns):
            return None
        return out

    cdef object stacks(self, object a, object b):
        """The product of two stacks of which one is transposed, which CuPy would copy; None: declined."""
        if type(a) is not self.array_type or type(b) is not self.array_type or a.ndim < 3:
            return None
        if self.launcher.contiguous(a) and self.launcher.contiguous(b):
            return None
        if a.shape[a.ndim - 1] != b.shape[b.ndim - 2] if b.ndim > 1 else True:
            return None
        if self.runtime.captures and get_ident() in self.runtime.captures or not self.products.fits(a, b):
            return None
        return self.products.batched(a, False, b, False)

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
        if self.letter(g.dtype) == 0 or g.dtype.kind == "c":
            return None
        if wanted & 1:
            b = saved[0]
            meta = <GradMeta>saved[1]
            shape = meta.shape_tuple()
            if type(b) is not self.array_type or len(shape) < 2:
                return None
            if b.ndim > 2:
                return self.stack_rules(g, wanted, saved)
            if b.ndim != 2:
                return None
        if wanted & 2:
            a = saved[2]
            if (<GradMeta>saved[3]).ndim > 2:
                return self.stack_rules(g, wanted, saved)
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
        if g.ndim != 2 or b is not None and not self.are_matrices(g, b):
            return None
        if a is not None and not self.are_matrices(a, g):
            return None
        if b is not None:
            first = self.product(g, False, b, True, shape if len(shape) > 2 else None)
        if a is not None:
            second = self.product(a, True, g, False, None)
        return [first, second]

    cdef list stack_rules(self, object g, uint64_t wanted, list saved):
        """The same for two stacks of as many matrices; None: declined."""
        cdef object first = None
        cdef object second = None
        if self.runtime.captures and get_ident() in self.runtime.captures:
            return None
        if wanted & 1 and not self.products.fits(g, saved[0]) or wanted & 2 and not self.products.fits(saved[2], g):
            return None
        if wanted & 1:
            first = self.products.batched(g, False, saved[0], True)
        if wanted & 2:
            second = self.products.batched(saved[2], True, g, False)
        return [first, second]

    # -- sums

    cpdef object conform(self, GradMeta meta, object grad, bint realify):
        """`grad` summed over broadcast axes, cast to meta's dtype and, if 0-d, moved to its device."""
        cdef object found
        if self.prepared and self.fuses and type(grad) is self.array_type and grad.dtype is meta.dtype:
            if grad.data.device_id == self.launcher.current_device() == meta.device_key[2]:
                found = self.row_plans.summed(grad, meta.shape_tuple())
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
