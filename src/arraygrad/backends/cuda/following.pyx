# CudaFollowing: launches that compute what follows them, too: Note [Computed ahead] in ahead.pyx.
# May import: core.op, core.value, backends.cuda.constants, backends.cuda.gradients, backends.cuda.mapped_rows,
# backends.cuda.prepared, backends.cuda.rows.
from arraygrad.backends.cuda.constants cimport is_constant
from arraygrad.backends.cuda.gradients cimport CudaGradients
from arraygrad.backends.cuda.mapped_rows cimport MappedRows
from arraygrad.backends.cuda.prepared cimport Elementwise
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend

import math

from arraygrad.backends.cuda.rows import layout, reduced_shape

cdef enum:
    KEPT_PLANS = 4096           # more are forgotten, all at once

# Those whose values are told to `ahead`, and that may follow a sum with a repeated operand.
cdef frozenset _SOFT = frozenset(("softmax", "log_softmax", "logsumexp"))
# What may follow the launch of an operation on one of these values: a sum or mean of everything, by how it is asked
# for, then maps of it.
cdef dict _WHOLE = {"sum": (None, None, False), "mean": (None, False)}
cdef frozenset SCALED = frozenset(("multiply", "divide"))


cdef class AheadPlan:
    cdef bint serves(self, bytes key, tuple first, tuple second) except -1:
        return self.key == key and self.first == first and self.second == second


cdef class CudaFollowing(CudaGradients):
    """CudaFollowing: forwards that may have been computed by the launch before."""

    cdef object reduced(self, Op op, tuple args):
        """The value of an operation of _ROWS from its raw parameters."""
        cdef object x = args[0]
        cdef object found = None
        cdef bint asked = False
        if self.ahead.is_asked() and type(x) is self.array_type and are_plain(args):
            asked = True
            found = self.ahead.take(op, args[1:], x, self.stream_here())
        if found is None:
            found = self.row_plans.forward(op, args)
            if found is None:
                return Backend.call(self, op, args)
            if asked:
                self.ahead.follow(found)
        if op.name in _SOFT:
            self.ahead.note_rows(found)
        return found

    cdef object gathered(self, Op op, object x, object key):
        """x[key] by one launch, with what is expected of it: Note [Computed ahead]. None: declined."""
        cdef object told, found
        cdef tuple steps, values
        cdef AheadPlan plan
        if type(x) is not self.array_type or not self.ahead.is_rows(x) or type(key) is not tuple:
            return self.gathers.taken(x, key)
        if len(<tuple>key) != 2:
            return self.gathers.taken(x, key)
        told = (op.index, x.dtype.char, x.shape, getattr((<tuple>key)[0], "shape", None))
        steps = self.ahead.foretold(told)
        if steps is not None:
            plan = self.plans_ahead.get(told)
            if plan is None or plan.steps is not steps:
                plan = self.keep_plan(told, steps, None)
                plan.row, plan.tail, plan.numbers = tail_of(steps)
                if plan.row is not None and type(told[3]) is tuple:
                    plan.layout = layout((math.prod(told[3]),), 0)
            if plan.layout is not None:
                values = self.gathers.taken_and_reduced(x, key, plan.row, plan.tail, plan.numbers, plan.layout)
                if values is not None:
                    self.ahead.put(values, steps, self.stream_here(), told)
                    return values[0]
        found = self.gathers.taken(x, key)
        if found is not None:
            self.ahead.note(found, told)
        return found

    cdef AheadPlan keep_plan(self, object told, tuple steps, bytes key):
        cdef AheadPlan plan = AheadPlan.__new__(AheadPlan)
        plan.steps, plan.key = steps, key
        if len(self.plans_ahead) >= KEPT_PLANS:
            self.plans_ahead.clear()
        self.plans_ahead[told] = plan
        return plan

    cdef object biased(self, Op op, Elementwise kernel, bytes key, object a, object b):
        """a + b of arrays of which one is repeated, and the map that is expected of it: Note [Computed ahead]."""
        cdef size_t address = (a if a.ndim < b.ndim else b).data.ptr
        cdef tuple steps = self.ahead.foretold(address)
        cdef tuple found = None
        cdef tuple first, second
        cdef AheadPlan plan
        if steps is not None:
            plan = self.plans_ahead.get(address)
            first, second = a.shape, b.shape
            if plan is None or plan.steps is not steps or not plan.serves(key, first, second):
                plan = self.keep_plan(address, steps, key)
                self.plan_sum(plan, op, a, b)
            if plan.layout is not None:
                found = (<MappedRows>plan.kernel).both([a, b], plan.full, plan.layout, (), plan.shape, (), True)
            elif plan.kernel is not None:
                found = (<Elementwise>plan.kernel).call([a, b], None, True)
            if found is not None:
                self.ahead.put(found, steps, self.stream_here(), address)
                return found[0]
        found = kernel.call([a, b], None, True)
        if found is None:
            return None
        self.ahead.note(found[0], address)
        return found[0]

    cdef int plan_sum(self, AheadPlan plan, Op op, object a, object b) except -1:
        """Settle how a sum with a repeated operand and what follows it are launched."""
        cdef Op follower = plan.steps[0][0]
        cdef object how = plan.steps[0][1]
        cdef object place = (plan.key, op.index, follower.index, how is None)
        cdef object chain = self.chains.get(place, self)
        if chain is self:
            name = f"arraygrad_{op.name}_{follower.name}"
            chain = None
            if how is None:
                spec = self.kernels.chain_spec(op, (a.dtype, b.dtype), follower)
                if spec is not None:
                    chain = Elementwise(self.launcher, spec, name)
            elif follower.name in _SOFT:
                spec = self.kernels.forward_spec(op, (a.dtype, b.dtype))
                if spec is not None and spec.outputs[0][1].char in "fd":
                    chain = MappedRows(self.launcher, spec, name, follower.name)
            self.chains[place] = chain
        self.plan_rows(plan, chain, a.shape, b.shape)
        if type(chain) is MappedRows and plan.full is not None:
            plan.layout = layout(plan.full, how[0])
            plan.shape = plan.full if len(<tuple>how) == 1 else reduced_shape(plan.full, how[0], how[1])
            if plan.layout is None:
                plan.kernel = None
        return 0

    cdef int plan_rows(self, AheadPlan plan, object chain, tuple first, tuple second) except -1:
        """Note a kernel and the shape that two shapes broadcast to, if it is one of them; else no kernel."""
        plan.kernel, plan.first, plan.second, plan.layout = chain, first, second, None
        if type(chain) is not MappedRows:
            return 0
        plan.full = broadcast_shapes(first, second)
        if plan.full != first and plan.full != second:
            plan.kernel = plan.full = None
        return 0

    cdef object of_rows(self, Op op, Elementwise kernel, bytes key, object a, object b):
        """An operation on the result of a softmax, and what is expected of it: Note [Computed ahead]."""
        cdef object told = (op.index, key, a.shape, b.shape)
        cdef tuple steps = self.ahead.foretold(told)
        cdef tuple found
        cdef AheadPlan plan
        if steps is not None:
            plan = self.plans_ahead.get(told)
            if plan is None or plan.steps is not steps:
                plan = self.keep_plan(told, steps, key)
                self.plan_total(plan, op, a, b)
            if plan.layout is not None:
                found = (<MappedRows>plan.kernel).both([a, b], plan.full, plan.layout, (), (), plan.numbers, True)
                if found is not None:
                    self.ahead.put(found, steps, self.stream_here(), told)
                    return found[0]
        found = kernel.call([a, b], None, True)
        if found is None:
            return None
        self.ahead.note(found[0], told)
        return found[0]

    cdef int plan_total(self, AheadPlan plan, Op op, object a, object b) except -1:
        """Settle how an operation, the sum or mean of all of it, and maps of that are launched."""
        row, tail, plan.numbers = tail_of(plan.steps)
        place = (plan.key, op.index, row, tail)
        chain = self.chains.get(place, self)
        if chain is self:
            chain = None
            spec = None if row is None else self.kernels.forward_spec(op, (a.dtype, b.dtype))
            if spec is not None and spec.outputs[0][1].char in "fd":
                name = "_".join(["arraygrad", op.name, row, *[step for step, _ in tail]])
                chain = MappedRows(self.launcher, spec, name, row, tail)
            self.chains[place] = chain
        self.plan_rows(plan, chain, a.shape, b.shape)
        if plan.kernel is not None and plan.full is not None:
            plan.layout = layout((math.prod(plan.full),), 0)
        return 0

    cdef object scaled(self, Op op, Elementwise kernel, object a, object b, bint right):
        """A product or quotient of an array and a number, which may have been computed ahead."""
        cdef tuple found
        cdef object x = a if right else b
        cdef object number = b if right else a
        cdef object value = None
        cdef bint asked = False
        try:
            asked = is_constant(number)
            if asked:
                value = self.ahead.take(op, ("right" if right else "left", number), x, self.stream_here())
            if value is not None:
                return value
            found = kernel.call([a, b], None, True)
        except OverflowError:
            return None                 # a number that is no double: CuPy says so
        if found is None:
            return None
        if asked:
            self.ahead.follow(found[0])
        return found[0]


cdef bint are_plain(tuple args) noexcept:
    """Whether the parameters behind the first can be compared: None, True, False, ints, and tuples of ints."""
    cdef object x
    for x in args[1:]:
        if type(x) is tuple:
            for item in <tuple>x:
                if type(item) is not int:
                    return False
        elif x is not None and type(x) is not bool and type(x) is not int:
            return False
    return True


cdef tuple tail_of(tuple steps):
    """(kernel over rows, tail, its numbers) of what follows, as `mapped_text_of` takes them; (None, (), ()): no kernel.
    """
    cdef list tail = []
    cdef list numbers = []
    cdef object op, how
    op, how = steps[0]
    if how is None or _WHOLE.get((<Op>op).name) != how:
        return None, (), ()
    for op, how in steps[1:]:
        if how is None:
            if (<Op>op).name != "negative":
                return None, (), ()
            tail.append(("negative", None))
        elif (<Op>op).name in SCALED:
            tail.append(((<Op>op).name, how[0]))
            numbers.append(how[1])
        else:
            return None, (), ()
    return steps[0][0].name, tuple(tail), tuple(numbers)


cdef tuple broadcast_shapes(tuple first, tuple second):
    """The shape that two shapes broadcast to; the first where they do not."""
    cdef tuple longer = first if len(first) >= len(second) else second
    cdef tuple other = second if longer is first else first
    cdef Py_ssize_t k, behind = len(longer) - len(other)
    cdef list found = list(longer)
    for k in range(len(other)):
        if found[behind + k] == 1:
            found[behind + k] = other[k]
    return tuple(found)
