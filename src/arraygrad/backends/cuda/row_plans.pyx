# RowPlans: reductions and their gradients by kernels over rows, launched with what a first call of the shape settled.
# May import: core.op, engine.arrayops, backends.cuda.prepared, ops._axes.
#
# What it declines (other dtypes, arrays that are not row-major or lie on another device, axes in a list) is left to
# RowKernels in backends/cuda/rows.py and to the library: each method gives None then.
# Guarded by tests/gpu/test_rows.py and tests/gpu/test_row_plans.py.
from arraygrad.backends.cuda.prepared cimport RowPlan
from arraygrad.core.op cimport Op
from arraygrad.engine.arrayops cimport GradMeta

import math

from arraygrad.ops._axes import keepdims_shape, normalize_axes

cdef enum:
    KEPT = 4096                 # plans, and ways to spread, that are kept; more are forgotten all at once

# Operations whose forward is a kernel over rows, of the operation's name.
cdef frozenset _FORWARD = frozenset(("sum", "mean", "softmax", "log_softmax", "logsumexp", "var", "std"))
# Operation -> kernel of its rule, whether that reads x, whether it reads the result.
cdef dict _RULES = {
    "softmax": ("softmax_backward", False, True),
    "log_softmax": ("log_softmax_backward", False, True),
    "logsumexp": ("logsumexp_backward", True, True),
    "var": ("var_backward", True, False),
    "std": ("std_backward", True, True),
    "max": ("extremum_backward", True, True),
    "min": ("extremum_backward", True, True),
}


cdef class Form:
    """Where an operation's parameters are among its arguments, and what its rule reads among what is saved; -1: none.
    """
    cdef int axis, keepdims, correction, dtype
    cdef bint forward
    cdef str kernel             # of the rule, None: it has none
    cdef str added              # the one that adds what it computes
    cdef int x, ans, static_axis, static_correction


cdef inline int place(object names, object name):
    return names.index(name) if name in names else -1


cdef Form form_of(Op op):
    cdef Form form = Form.__new__(Form)
    cdef tuple statics = tuple([op.params[i] for i in op.static_positions])
    form.axis, form.keepdims = place(op.params, "axis"), place(op.params, "keepdims")
    form.correction, form.dtype = place(op.params, "correction"), place(op.params, "dtype")
    form.forward = op.name in _FORWARD
    form.x = form.ans = -1
    if op.name in _RULES:
        form.kernel, reads_x, reads_ans = _RULES[op.name]
        form.added = f"{form.kernel}_added"
        form.x = place(op.saves, "x") if reads_x else -1
        form.ans = place(op.saves, "ans") if reads_ans else -1
    form.static_axis, form.static_correction = place(statics, "axis"), place(statics, "correction")
    return form


cdef inline bint is_axis(object axis) noexcept:
    """Whether an axis is None, an int, or a tuple of ints. True == 1 would find the plan of 1."""
    if type(axis) is tuple:
        for item in <tuple>axis:
            if type(item) is not int:
                return False
        return True
    return axis is None or type(axis) is int


cdef class RowPlans:
    """RowPlans(kernels, array_type, spread)
--

    `kernels` makes plans (RowKernels), `spread` is the library's broadcast_to.
    """

    def __init__(self, kernels, array_type, spread):
        self.kernels = kernels
        self.array_type = array_type
        self.spread = spread
        self.forms = {}
        self.plans = {}
        self.spreads = {}

    cdef object forward(self, Op op, tuple args):
        """The value of a reduction, softmax or log_softmax from its raw parameters in order."""
        cdef Form form = self.forms.get(op.name)
        cdef object x = args[0]
        cdef object keepdims = None
        cdef object correction = None
        cdef object plan
        if form is None:
            form = self.forms[op.name] = form_of(op)
        if not form.forward or type(x) is not self.array_type or not is_axis(args[form.axis]):
            return None
        if form.dtype >= 0 and args[form.dtype] is not None:
            return None
        if form.keepdims >= 0:
            keepdims = args[form.keepdims]
            if keepdims is not True and keepdims is not False:
                return None
        if form.correction >= 0:
            correction = args[form.correction]
            if type(correction) is not float and type(correction) is not int:
                return None
        plan = self.planned((op.name, x.shape, args[form.axis], keepdims, correction, x.dtype))
        return None if plan is None else (<RowPlan>plan).call(x, None, None)

    cdef object rule(self, Op op, object g, list saved, list statics, object held):
        """The gradient of x, for those operations whose rule is a kernel over rows.

        `held`: an array of its shape that it is added to, None: a new one.
        """
        cdef Form form = self.forms.get(op.name)
        cdef object x = None
        cdef object ans = None
        cdef object correction = None
        cdef object like, plan
        if form is None:
            form = self.forms[op.name] = form_of(op)
        if form.kernel is None:
            return None
        if form.x >= 0:
            x = saved[form.x]
        if form.ans >= 0:
            ans = saved[form.ans]
        like = ans if x is None else x
        if type(like) is not self.array_type or not is_axis(statics[form.static_axis]):
            return None
        if form.static_correction >= 0:
            correction = statics[form.static_correction]
            if type(correction) is not float and type(correction) is not int:
                return None
        kernel = form.kernel if held is None else form.added
        plan = self.planned((kernel, like.shape, statics[form.static_axis], None, correction, like.dtype))
        return None if plan is None else (<RowPlan>plan).call(g, x, ans, held)

    cdef object summed(self, object grad, tuple target):
        """`grad` summed over the axes in which it was broadcast from the shape `target`."""
        cdef object plan = self.planned((None, grad.shape, target, None, None, grad.dtype))
        return None if plan is None else (<RowPlan>plan).call(grad, None, None)

    cdef object planned(self, tuple key):
        cdef object found = self.plans.get(key, self)
        if found is self:
            name, shape, axis, keepdims, correction, dtype = key
            found = None
            if dtype.char == "f" or dtype.char == "d":
                if name is None:
                    found = self.kernels.sum_plan(shape, axis, dtype)
                else:
                    found = self.kernels.plan(name, shape, axis, keepdims, correction, dtype)
            if len(self.plans) >= KEPT:
                self.plans.clear()
            self.plans[key] = found
        return found

    cdef object spread_back(self, object g, GradMeta meta, object axis, object keepdims):
        """The gradient of a sum as a view of the summed array's shape."""
        cdef tuple shape = meta.shape_tuple()
        cdef tuple key
        cdef object found
        if not is_axis(axis) or keepdims is not True and keepdims is not False:
            return None
        if axis is None or keepdims:
            return self.spread(g, shape)
        key = (shape, axis)
        found = self.spreads.get(key)
        if found is None:
            if len(self.spreads) >= KEPT:
                self.spreads.clear()
            found = self.spreads[key] = keepdims_shape(shape, axis)
        return self.spread(g.reshape(found), shape)

    cdef Py_ssize_t joined(self, GradMeta meta, object axis) except -1:
        """How many elements a reduction over `axis` joins into one, at least 1."""
        cdef tuple shape = meta.shape_tuple()
        return max(1, math.prod([shape[i] for i in normalize_axes(axis, len(shape))]))
