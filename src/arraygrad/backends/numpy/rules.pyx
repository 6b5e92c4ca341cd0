# Compiled backward rules of reductions, matrix products and shapes, for plain float32 and float64 arrays; and
# the way of all compiled rules into the table. See Note [Compiled rules] in backends/numpy/elementwise.pyx.
# May import: engine.*, core.op, backends.numpy.loops, backends.numpy.forward, backends.numpy.elementwise,
# backends.numpy.places, backends.numpy.powers, backends.numpy.sigmoid, backends.numpy.sines, backends.numpy.pieces,
# backends.numpy.factors, backends.numpy.fourier, numpy (Python only).
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact

from arraygrad.backends.numpy.elementwise cimport (
    attach, attach_complex, attach_elementwise, attach_kernels, saved_for, saved_value, over_nonzero, real_view,
    set_out, wants_gradient,
)
from arraygrad.backends.numpy.forward cimport means, offer, product
from arraygrad.backends.numpy.loops cimport (
    KIND_COMPLEX, NOGIL_SIZE, SLOT_F64, ArrayView, LoopSet, axis_mask, binary_loop, copy_into, dot, empty_c,
    empty_dense, item_size, loop_set, report,
    reshaped, run_binary, same_shape, split_axes, strided, transposed, view_of,
)
from arraygrad.backends.numpy.factors cimport forward_solve, rule_cholesky, rule_solve
from arraygrad.backends.numpy.pieces cimport rule_concat
from arraygrad.backends.numpy.places cimport buffer_for, rule_getitem, rule_take
from arraygrad.backends.numpy.fourier cimport complex_products, rule_irfftn, rule_rfftn
from arraygrad.backends.numpy.powers cimport attach_powers
from arraygrad.backends.numpy.sines cimport attach_sines, rule_cos, rule_sin
from arraygrad.backends.numpy.sigmoid cimport (
    forward_log_softmax, forward_relu, forward_sigmoid, forward_softmax, rule_log_softmax, rule_softmax,
)
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.evaluate cimport waiting_gradient
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport Op, SAVE_ANS, SAVE_INPUT, SAVE_META

import numpy as np

from arraygrad.backends.numpy import forward

cdef extern from "extremum.hpp" namespace "arraygrad" nogil:
    int run_extremum(int slot, const char* g, const char* x, const char* ans, char* out, char* ties, Py_ssize_t outer,
                     Py_ssize_t inner, bint leading, bint add) noexcept

cdef extern from "moments.hpp" namespace "arraygrad" nogil:
    int run_spread(int slot, const char* x, const char* mean, const char* g, char* out, Py_ssize_t outer,
                   Py_ssize_t inner, bint leading) noexcept

cdef object numpy_add = np.add
cdef LoopSet* ADD = loop_set("add")
cdef LoopSet* SUBTRACT = loop_set("subtract")
cdef LoopSet* MULTIPLY = loop_set("multiply")
cdef LoopSet* DIVIDE = loop_set("divide")

cdef enum:
    FILL_SIZE = 4096        # elements; up to here a constant gradient is written out, so that the next rule owns memory


# Reductions

cdef object spread(object g, GradMeta meta, unsigned long long reduced):
    """g repeated over the reduced axes of the shape in `meta`: a new array, or (large and constant) a view of `g`."""
    cdef ArrayView v, r
    cdef Py_ssize_t strides[8]
    cdef Py_ssize_t size = 1, i
    cdef int axis = 0, d
    cdef bint constant = True, keepdims
    cdef object out
    view_of(g, &v)
    keepdims = v.ndim == meta.ndim
    for d in range(meta.ndim):
        size *= meta.dims[d]
        if (reduced >> d) & 1:
            strides[d] = 0
            axis += keepdims
        else:
            if axis >= v.ndim or v.dims[axis] != meta.dims[d]:
                return None
            strides[d] = v.strides[axis]
            constant = constant and meta.dims[d] == 1
            axis += 1
    if axis != v.ndim:
        return None
    if constant and size > FILL_SIZE:
        return strided(g, meta.ndim, meta.dims, strides)
    out = empty_c(g, meta.ndim, meta.dims)
    if constant:
        view_of(out, &r)
        if v.slot == SLOT_F64:
            for i in range(size):
                (<double*>r.data)[i] = (<double*>v.data)[0]
        else:
            for i in range(size):
                (<float*>r.data)[i] = (<float*>v.data)[0]
    else:
        copy_into(out, strided(g, meta.ndim, meta.dims, strides))
    return out


cdef bint added_to_waiting(Node node, GradMeta meta, object g, unsigned long long reduced) except -1:
    """Add g, repeated over the reduced axes, to the gradient that waits where it goes; see places.pyx."""
    cdef ArrayView v
    cdef Py_ssize_t dims[8]
    cdef int axis = 0, d
    cdef object out = buffer_for(node, meta, g)
    if out is None or view_of(out, &v) < 0 or v.size <= FILL_SIZE:
        return False
    view_of(g, &v)
    if v.ndim != meta.ndim:
        for d in range(meta.ndim):
            dims[d] = 1
            if not (reduced >> d) & 1:
                if axis >= v.ndim or v.dims[axis] != meta.dims[d]:
                    return False
                dims[d] = v.dims[axis]
                axis += 1
        if axis != v.ndim:
            return False
        g = reshaped(g, meta.ndim, dims)
        view_of(g, &v)
    for d in range(meta.ndim):
        if v.dims[d] != (1 if (reduced >> d) & 1 else meta.dims[d]):
            return False
    if binary_loop(ADD, out, g, out) is None:
        numpy_add(out, g, out)
    return True


cdef int reduced_by(Node node, Frame f, bint mean) except -1:
    cdef ArrayView g, r
    cdef GradMeta meta
    cdef unsigned long long mask = 0
    cdef object slot, out, grad = f.grad
    cdef Py_ssize_t count = 1
    cdef int d
    if not wants_gradient(node, f, 0):
        return 1
    slot = saved_value(node, 0)
    if type(slot) is not GradMeta or real_view(grad, &g) < 0:
        return 0
    meta = <GradMeta>slot
    if meta.ndim > 8 or not axis_mask((<list>node.args)[1], meta.ndim, &mask):
        return 0
    if mean:
        for d in range(meta.ndim):
            if (mask >> d) & 1:
                count *= meta.dims[d]
        if count == 0:
            return 0
        grad = binary_loop(DIVIDE, grad, count, None)
        if grad is None:
            return 0
    if added_to_waiting(node, meta, grad, mask):
        return 1
    out = spread(grad, meta, mask)
    if out is None:
        return 0
    view_of(out, &r)
    return 1 + set_out(f, 0, out, r.writeable)


cdef int rule_sum(Node node, Frame f) except -1:
    return reduced_by(node, f, False)

cdef int rule_mean(Node node, Frame f) except -1:
    return reduced_by(node, f, True)


cdef object buffer_like(Node node, object x, object g):
    """The gradient that waits at edge 0, if it is a row-major array of the shape and dtype of x, else None."""
    cdef ArrayView v, w
    cdef object out = waiting_gradient(node)
    if out is None or view_of(out, &w) < 0 or view_of(x, &v) != w.slot or not w.c_order or not w.writeable:
        return None
    return out if same_shape(&v, &w) and v.size > FILL_SIZE else None


cdef int rule_extremum(Node node, Frame f) except -1:
    """max and min."""
    cdef ArrayView g, x, a, r, t
    cdef unsigned long long mask = 0
    cdef Py_ssize_t outer, inner
    cdef bint leading, add
    cdef int slot, errors
    cdef object saved, ans, out, ties
    if not wants_gradient(node, f, 0):
        return 1
    saved = saved_for(node, SAVE_INPUT, 0)
    ans = saved_for(node, SAVE_ANS, -1)
    slot = real_view(saved, &x)
    if slot < 0 or real_view(ans, &a) != slot or real_view(f.grad, &g) != slot or x.ndim > 8 or x.size == 0:
        return 0
    if not x.c_order or not a.c_order or not g.c_order or not axis_mask((<list>node.args)[1], x.ndim, &mask):
        return 0
    if not split_axes(saved, mask, &outer, &inner, &leading):
        return 0
    out = buffer_like(node, saved, f.grad)
    add = out is not None
    if not add:
        out = empty_dense(saved)
    view_of(out, &r)
    ties = empty_dense(ans)
    view_of(ties, &t)
    if x.size < NOGIL_SIZE:
        errors = run_extremum(slot, g.data, x.data, a.data, r.data, t.data, outer, inner, leading, add)
    else:
        with nogil:
            errors = run_extremum(slot, g.data, x.data, a.data, r.data, t.data, outer, inner, leading, add)
    if errors:
        report("divide", errors)
    return 1 if add else 1 + set_out(f, 0, out, True)


cdef int spread_deviations(Node node, Frame f, object g, double factor) except -1:
    """out0 = factor * g * (x - mean) / (N - correction)."""
    cdef ArrayView x, v, m, r
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t count = 0, outer, inner
    cdef unsigned long long mask = 0
    cdef bint leading
    cdef int i, errors
    cdef object saved = saved_for(node, SAVE_INPUT, 0), axis = (<list>node.args)[1], mean, out
    cdef object correction = (<list>node.args)[2]
    if real_view(g, &v) < 0 or real_view(saved, &x) != v.slot or x.ndim > 8 or not axis_mask(axis, x.ndim, &mask):
        return 0
    if not (PyFloat_CheckExact(correction) or PyLong_CheckExact(correction)):
        return 0
    for i in range(x.ndim):
        dims[i] = 1 if (mask >> i) & 1 else x.dims[i]
    mean = means(saved, axis, &count)
    if mean is None or not count - correction > 0:
        return 0
    g = binary_loop(MULTIPLY, reshaped(g, x.ndim, dims), factor / (count - correction), None)
    if g is None:
        return 0
    view_of(g, &v)
    view_of(mean, &m)
    if not (x.c_order or x.f_order) or not m.c_order or not v.c_order \
            or not split_axes(saved, mask, &outer, &inner, &leading):
        out = product(SUBTRACT, saved, mean, None)
        return 1 + set_out(f, 0, product(MULTIPLY, out, g, out), True)
    out = empty_dense(saved)
    view_of(out, &r)
    if x.size < NOGIL_SIZE:
        errors = run_spread(x.slot, x.data, m.data, v.data, r.data, outer, inner, leading)
    else:
        with nogil:
            errors = run_spread(x.slot, x.data, m.data, v.data, r.data, outer, inner, leading)
    if errors:
        report("multiply", errors)
    return 1 + set_out(f, 0, out, True)


cdef int rule_var(Node node, Frame f) except -1:
    if not wants_gradient(node, f, 0):
        return 1
    return spread_deviations(node, f, f.grad, 2.0)


cdef int rule_std(Node node, Frame f) except -1:
    cdef object scaled
    if not wants_gradient(node, f, 0):
        return 1
    scaled = over_nonzero(f.grad, saved_for(node, SAVE_ANS, -1))
    return 0 if scaled is None else spread_deviations(node, f, scaled, 1.0)


# Products of matrices

cdef object outer(object a, object b):
    """Outer product of two plain vectors of one dtype."""
    cdef ArrayView va, vb, r
    cdef Py_ssize_t dims[2]
    cdef Py_ssize_t i, item
    cdef int errors = 0
    cdef object out
    view_of(a, &va)
    view_of(b, &vb)
    dims[0] = va.size
    dims[1] = vb.size
    item = item_size(va.slot)
    out = empty_c(a, 2, dims)
    view_of(out, &r)
    if r.size:
        with nogil:
            for i in range(va.size):
                errors |= run_binary(MULTIPLY, va.slot, va.data + i * va.strides[0], 0, vb.data, vb.strides[0],
                                     r.data + i * vb.size * item, item, vb.size)
    if errors:
        report("multiply", errors)
    return out


cdef int rule_matmul(Node node, Frame f) except -1:
    cdef ArrayView g, a, b
    cdef object x1, x2, out0 = None, out1 = None
    cdef bint first = wants_gradient(node, f, 0), second = wants_gradient(node, f, 1)
    cdef int slot = real_view(f.grad, &g), n1, n2
    if slot < 0:
        return 0
    n1 = n2 = -1
    if first:
        x2 = saved_for(node, SAVE_INPUT, 1)
        if real_view(x2, &b) != slot:
            return 0
        n2 = b.ndim
        n1 = rank(saved_for(node, SAVE_META, 0))
    if second:
        x1 = saved_for(node, SAVE_INPUT, 0)
        if real_view(x1, &a) != slot:
            return 0
        n1 = a.ndim
        n2 = rank(saved_for(node, SAVE_META, 1))
    if not 1 <= n1 <= 2 or not 1 <= n2 <= 2 or n1 == n2 == 1:
        return 0
    if first:
        if n2 == 1:
            out0 = outer(f.grad, x2)
        else:
            out0 = dot(f.grad, transposed(x2, NULL)) if n1 == 2 else dot(x2, f.grad)
    if second:
        if n1 == 1:
            out1 = outer(x1, f.grad)
        else:
            out1 = dot(transposed(x1, NULL), f.grad)
    if first:
        set_out(f, 0, out0, True)
    if second:
        set_out(f, 1, out1, True)
    return 1


cdef inline int rank(object meta) noexcept:
    return (<GradMeta>meta).ndim if type(meta) is GradMeta else -1


# Shapes

cdef int rule_reshape(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef object slot
    if not wants_gradient(node, f, 0):
        return 1
    slot = saved_value(node, 0)
    if type(slot) is not GradMeta or (<GradMeta>slot).ndim > 8 or view_of(f.grad, &g) < 0:
        return 0
    return 1 + set_out(f, 0, reshaped(f.grad, (<GradMeta>slot).ndim, (<GradMeta>slot).dims), f.owned)


cdef int rule_permute_dims(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef Py_ssize_t inverse[8]
    cdef Py_ssize_t i, k
    cdef object axes = (<list>node.args)[1]
    if not wants_gradient(node, f, 0):
        return 1
    if view_of(f.grad, &g) < 0 or g.ndim > 8 or type(axes) is not tuple or len(<tuple>axes) != g.ndim:
        return 0
    for i in range(g.ndim):
        item = (<tuple>axes)[i]
        if not PyLong_CheckExact(item):
            return 0
        k = PyLong_AsSsize_t(item)
        inverse[k + g.ndim if k < 0 else k] = i
    return 1 + set_out(f, 0, transposed(f.grad, inverse), f.owned)


cdef int rule_matrix_transpose(Node node, Frame f) except -1:
    cdef ArrayView g
    cdef Py_ssize_t axes[8]
    cdef int i
    if not wants_gradient(node, f, 0):
        return 1
    if view_of(f.grad, &g) < 0 or not 2 <= g.ndim <= 8:
        return 0
    for i in range(g.ndim):
        axes[i] = i
    axes[g.ndim - 1] = g.ndim - 2
    axes[g.ndim - 2] = g.ndim - 1
    return 1 + set_out(f, 0, transposed(f.grad, axes), f.owned)


# For tests

def try_rule(Node node, grad, *, bint owned=False, wanted=(True, True)):
    """Run the compiled rule of a node on a gradient.

    `owned` lends the gradient's memory. Returns None if the rule declined or there is none, else a list with
    (gradient, owned) per wanted edge; (None, False) for the others.
    """
    cdef Op op = <Op?>node.op
    cdef Frame f = Frame.__new__(Frame)
    if op.fast_rule == NULL:
        return None
    f.grad = grad
    f.owned = owned
    f.needs = (1 if wanted[0] else 0) | (2 if wanted[1] else 0)
    if not op.fast_rule(node, f):
        return None
    return [(f.out0, f.out_owned & 1 != 0), (f.out1, f.out_owned & 2 != 0)][:node.n_edges]


# Into the table

cdef int serve_complex(dict ops, str name) except -1:
    """Let the rule of an operation run where the result is complex."""
    cdef Op op
    if name in ops:
        op = ops[name]
        if op.fast_rule != NULL and op.loops == NULL:
            op.fast_kind = KIND_COMPLEX
    return 0


def install(dict ops, backend=None):
    """Give the operations of the table (name -> Op) their direct loops and compiled rules.

    Operations that are not in the table, or whose nodes keep other values than the rule expects, are passed over.
    Returns (names with loops, names with rules).
    """
    cdef list done = []
    loops = forward.install(ops)
    offer(ops, "sigmoid", forward_sigmoid, ("x",), loops)
    offer(ops, "softmax", forward_softmax, ("x", "axis"), loops)
    offer(ops, "log_softmax", forward_log_softmax, ("x", "axis"), loops)
    offer(ops, "relu", forward_relu, ("x",), loops)
    offer(ops, "solve", forward_solve, ("x1", "x2"), loops)
    attach(ops, "concat", rule_concat, ("arrays_meta",), done)
    attach(ops, "cholesky", rule_cholesky, ("ans",), done)
    attach(ops, "solve", rule_solve, ("ans", "x1", "x2_meta"), done)
    attach(ops, "rfftn", rule_rfftn, ("x_meta",), done)
    serve_complex(ops, "rfftn")
    attach(ops, "irfftn", rule_irfftn, ("x_meta",), done)
    attach_complex(complex_products)
    attach(ops, "softmax", rule_softmax, ("ans",), done)
    attach(ops, "log_softmax", rule_log_softmax, ("ans",), done)
    attach_elementwise(ops, done)
    attach(ops, "sin", rule_sin, ("x",), done)
    attach(ops, "cos", rule_cos, ("x",), done)
    attach_sines(ops)
    attach_powers(ops, done)
    attach_kernels(ops, done)
    attach(ops, "sum", rule_sum, ("x_meta",), done)
    attach(ops, "mean", rule_mean, ("x_meta",), done)
    attach(ops, "max", rule_extremum, ("x", "ans"), done)
    attach(ops, "min", rule_extremum, ("x", "ans"), done)
    attach(ops, "var", rule_var, ("x",), done)
    attach(ops, "std", rule_std, ("x", "ans"), done)
    attach(ops, "matmul", rule_matmul, ("x2", "x1_meta", "x1", "x2_meta"), done)
    attach(ops, "reshape", rule_reshape, ("x_meta",), done)
    attach(ops, "expand_dims", rule_reshape, ("x_meta",), done)
    attach(ops, "squeeze", rule_reshape, ("x_meta",), done)
    attach(ops, "permute_dims", rule_permute_dims, (), done)
    attach(ops, "matrix_transpose", rule_matrix_transpose, (), done)
    attach(ops, "_getitem", rule_getitem, ("x_meta",), done)
    attach(ops, "take", rule_take, ("x_meta",), done)
    return loops, done
