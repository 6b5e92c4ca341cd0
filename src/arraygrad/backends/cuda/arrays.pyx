# CudaArrays: what the engine and the hot paths ask of CuPy's arrays, with prepared kernels.
# May import: engine.arrayops, engine.node, core.op, core.value, backends.cuda.ahead, backends.cuda.constants,
# backends.cuda.current, backends.cuda.following, backends.cuda.gathers, backends.cuda.gradients,
# backends.cuda.prepared, backends.cuda.row_plans, backends.cuda.updates.
#
# Every method here has a slower twin in backends/generic.py or backends/cupy.py that does the same by CuPy's own
# functions; it serves what is declined here, and everything after `set_fused(False)` or `set_prepared(False)`.
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uint64_t

import operator

from arraygrad.backends.cuda.ahead cimport Ahead
from arraygrad.backends.cuda.constants cimport Constant, Constants
from arraygrad.backends.cuda.current cimport CurrentStreams
from arraygrad.backends.cuda.following cimport SCALED, CudaFollowing
from arraygrad.backends.cuda.gathers cimport Gathers
from arraygrad.backends.cuda.gradients cimport quotient
from arraygrad.backends.cuda.prepared cimport Elementwise, Launcher, Summed
from arraygrad.backends.cuda.row_plans cimport RowPlans
from arraygrad.core.op cimport Op, named_op
from arraygrad.core.value cimport Backend
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport NODE_ASIDE

from arraygrad.backends.cuda.updates import Updates

cdef enum:
    LONGEST_KEY = 64
    MOST_SUMMED = 11            # inputs of a kernel that sums

cdef uint32_t unused_flags = 0
cdef object _written = object()         # in the place of a gradient that was added to what waits for it
# Operations that CuPy's own ufuncs compute, by the operators that write their results into arrays of any strides.
cdef dict _IN_PLACE = {
    "add": operator.iadd, "subtract": operator.isub, "multiply": operator.imul, "divide": operator.itruediv,
}
# Operations that `row_plans` may know, forward or backward.
cdef frozenset _ROWS = frozenset(("sum", "mean", "softmax", "log_softmax", "logsumexp", "var", "std", "max", "min"))


cdef class CudaArrays(CudaFollowing):
    """CudaArrays: the compiled part of the backend of CuPy's arrays.

    `prepare_launches` has to be called before the first operation.
    """
    cdef object several                 # Updates
    cdef list rules                     # per Op.index: dict from a key of types to (Elementwise, places, results), None
    cdef list forwards                  # per Op.index: dict from a key of types to Elementwise or None
    cdef frozenset forward_names
    cdef dict sums                      # dtype.char -> Elementwise of a + b
    cdef object unowned                 # class of memory that came from another library
    cdef object pooled                  # class of the memory that CuPy's pool gives out
    cdef dict device_keys               # number of a device -> its key
    cdef tuple kept                     # those dtypes, so that no other object takes their ids

    def prepare_launches(self, Launcher launcher, kernels, row_kernels, products, names, dtypes, unowned, pooled):
        """Take what launches are made with.

        The kernels of the table, of rows and of products within captures, the names of the forwards that are served,
        the dtypes that kernels know, and the classes of memory that belongs to others and of the pool's.
        """
        self.launcher = launcher
        self.row_kernels = row_kernels
        self.row_plans = RowPlans(row_kernels, self.array_type, self.xp.broadcast_to)
        self.products = products
        self.gemm = products.gemm
        self.gathers = Gathers(launcher)
        self.constants = Constants(self.array_type, self.xp.broadcast_to)
        self.ahead = Ahead()
        if isinstance(self.runtime, CurrentStreams):
            (<CurrentStreams>self.runtime).ahead = self.ahead
        self.chains = {}
        self.plans_ahead = {}
        self.keeping = {}
        self.mapping = {}
        self.row_ways = {}
        self.known_rows = None
        self.known_sum = None
        self.several = Updates(launcher)
        self.unowned = unowned
        self.pooled = pooled
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
        if type(raw) is not self.array_type or raw.base is not None or isinstance(raw.data.mem, self.unowned):
            return False
        return id(raw) not in self.constants.by_array

    cpdef object to_user(self, object grad):
        """A Tensor over a gradient, for hooks and functions of the user's, who may write it."""
        return Backend.to_user(self, self.let_out(grad))

    cpdef object let_out(self, object grad):
        """A gradient that leaves the run: a copy of one that is a constant."""
        return grad if self.constants.of(grad) is None else grad.copy()

    cpdef bint shares_memory(self, object a, object b) except -1:
        """Whether an element of `a` may lie in the memory of `b`."""
        cdef object first, second
        if type(a) is self.array_type and type(b) is self.array_type:
            first, second = a.data.mem, b.data.mem
            if first is not second and type(first) is self.pooled and type(second) is self.pooled:
                return False            # what the pool gives out at one time lies apart
        return self.shares_memory_slowly(a, b)

    # -- forward

    cdef object call(self, Op op, object args):
        cdef object found
        if self.prepared and self.fuses:
            if op.name in _ROWS:
                return self.reduced(op, <tuple>args)
            if op.name == "_getitem":
                found = self.gathered(op, args[0], args[1])
                if found is not None:
                    return found
        return Backend.call(self, op, args)

    cdef object unary(self, Op op, object x, uint32_t* flags):
        cdef Elementwise kernel
        cdef tuple found
        cdef object value
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
        if self.ahead.is_asked():
            value = self.ahead.take(op, None, x, self.stream_here())
            if value is not None:
                return value
            found = kernel.call([x], None, True)
            if found is not None:
                self.ahead.follow(found[0])
        else:
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
        if letters[2] == letters[3]:
            if op.name == "add" and a.ndim != b.ndim:
                return self.biased(op, kernel, <bytes>letters[:4], a, b)
            if self.ahead.is_rows(a) or self.ahead.is_rows(b):
                return self.of_rows(op, kernel, <bytes>letters[:4], a, b)
        elif op.name in SCALED and self.ahead.is_asked():
            return self.scaled(op, kernel, a, b, letters[3] == b"n")
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
        if self.prepared and not absorbs and self.constants.by_array:
            found = self.of_constant(op, g, wanted, saved, targets)
            if found is not None:
                return found
        if self.prepared and op.name in _ROWS and type(g) is self.array_type:
            found = self.known_gradient(op, g)
            if found is not None:
                return [found]
            found = self.row_rule(op, g, saved, statics)
            if found is not None:
                return [None if found is _written else found]
        if self.prepared and op.name == "_getitem" and type(g) is self.array_type:
            found = self.with_rows_at(g, (<GradMeta>saved[0]).shape_tuple(), statics[0])
            if found is None:
                found = self.gathers.added(g, (<GradMeta>saved[0]).shape_tuple(), statics[0])
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
            found = self.with_next(<Elementwise>kernel, arguments, g, wanted, targets)
            if found is not None:
                return found
            outputs = (<Elementwise>kernel).call(arguments, None, False)
            if outputs is None:
                return self.fused_slowly(op, g, wanted, saved, statics, targets, absorbs)
        return [None if x is None else g if x == "g" else outputs[x] for x in <list>results]

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
        cdef Constant constant
        cdef Py_ssize_t count
        cdef object number, found
        if op.name == "sum" or op.name == "mean":
            constant = self.constants.of(g)
            if constant is not None and (<GradMeta>saved[0]).dtype == g.dtype:
                number = constant.number
                if op.name == "mean":
                    count = self.row_plans.joined(<GradMeta>saved[0], statics[0])
                    number = quotient(constant.number, count, g.dtype.char == "f")
                found = self.constant(number, g.dtype, (<GradMeta>saved[0]).shape_tuple())
                if found is not None:
                    return found
        if op.name == "sum":
            return self.row_plans.spread_back(g, <GradMeta>saved[0], statics[0], statics[1])
        if op.name == "mean":
            if self.letter(g.dtype) == 0:
                return None
            number = <double>self.row_plans.joined(<GradMeta>saved[0], statics[0])
            g = self.binary(named_op("divide"), g, number, &unused_flags)
            return None if g is None else self.row_plans.spread_back(g, <GradMeta>saved[0], statics[0], statics[1])
        if op.name == "logsumexp":
            found = self.waiting(g.dtype, (<tuple>saved[op.saves.index("x")].shape))
            if found is not None and self.row_plans.rule(op, g, saved, statics, found) is not None:
                return _written
        return self.row_plans.rule(op, g, saved, statics, None)

    # -- sums

    cpdef object conform(self, GradMeta meta, object grad, bint realify):
        """`grad` summed over broadcast axes, cast to meta's dtype and, if 0-d, moved to its device."""
        cdef object found
        cdef tuple known = self.known_sum
        if known is not None:
            self.known_sum = None
            if known[0] is grad and known[1] == meta.shape_tuple() and known[2].dtype == meta.dtype:
                return known[2]
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

    cpdef object begin(self, GradMeta meta):
        """What a plain run begins with at a loss: ones that nobody may write."""
        cdef object found = None
        if self.prepared and self.fuses and not meta.is_complex and self.letter(meta.dtype):
            if self.launcher.current_device() == meta.device_key[2]:
                found = self.constant(1.0, meta.dtype, meta.shape_tuple())
        return self.ones(meta) if found is None else found

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
        kernel = self.fill_kernel(meta.dtype)
        out = self.launcher.empty(meta.shape_tuple(), meta.dtype)
        return None if (<Elementwise>kernel).call([number], out, False) is None else out


cdef inline bint is_number(object x) noexcept:
    return type(x) is float or type(x) is int
