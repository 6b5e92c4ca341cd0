# Attaches this backend's compiled code to the entries of the table: direct loops, forwards and rules.
# May import: engine.*, core.elements, core.saved_numbers, core.op, core.numpy_primitives, core.value, core.views, numpy
# (Python only), the compiled modules of backends.numpy.
from arraygrad.backends.numpy.arrangements cimport forward_astype, rule_gather, rule_vecdot, rule_where
from arraygrad.backends.numpy.clipping cimport forward_clip, rule_clip
from arraygrad.backends.numpy.complex_rules cimport attach_complex
from arraygrad.backends.numpy.contractions cimport (
    forward_einsum, forward_tensordot, rule_einsum, rule_tensordot,
)
from arraygrad.backends.numpy.elementwise cimport attach, attach_elementwise, attach_kernels, rule_pass
from arraygrad.backends.numpy.factorizations cimport attach_factorizations
from arraygrad.backends.numpy.fourier cimport attach_transforms
from arraygrad.backends.numpy.joins cimport attach_joins
from arraygrad.backends.numpy.linalg cimport forward_matmul, forward_solve, rule_cholesky, rule_matmul, rule_solve
from arraygrad.backends.numpy.loops cimport (
    KIND_BINARY, KIND_COMPLEX, KIND_NONE, KIND_OPERATOR_POWER, KIND_POWER, KIND_SCIPY, KIND_UNARY, fast_enabled,
    forward_ptr, loop_set, set_forward,
)
from arraygrad.backends.numpy.norms cimport forward_norm, rule_norm
from arraygrad.backends.numpy.plans cimport KIND_PLANNED
from arraygrad.backends.numpy.polynomials cimport forward_linspace, rule_linspace
from arraygrad.backends.numpy.powers cimport attach_powers, forward_float_power
from arraygrad.backends.numpy.quotients cimport forward_floor_divide
from arraygrad.backends.numpy.reductions cimport attach_reductions
from arraygrad.backends.numpy.shapes cimport attach_places, forward_where, rule_scatter, rule_setitem
from arraygrad.backends.numpy.sines cimport attach_sines
from arraygrad.backends.numpy.single cimport (
    array_of_numbers, attach_numbers, put_single, single_element, single_number_at,
)
from arraygrad.backends.numpy.sorting cimport forward_sort, rule_sort
from arraygrad.backends.numpy.ufunc_loops cimport UfuncLoops, loops_of
from arraygrad.backends.numpy.strides cimport attach_views
from arraygrad.backends.numpy.windows cimport rule_windows
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.elements cimport serve
from arraygrad.core.saved_numbers cimport spell_out
from arraygrad.core.number_lists cimport serve_lists
from arraygrad.core.op cimport Op
from arraygrad.core.numpy_primitives cimport NumpyPrimitive
from arraygrad.core.value cimport Backend
from arraygrad.core.views cimport serve_views

import sys

import numpy as np

from arraygrad.backends.numpy.direct import prepare

_held = []                      # UfuncLoops that `Op.loops` borrows

# Operations whose value is that of a ufunc of scipy.special of that name.
SCIPY = frozenset("""
    gammaln gamma rgamma digamma erf erfc erfcx erfinv erfcinv erfi ndtr log_ndtr ndtri j0 j1 y0 y1 i0e i1 i1e k0 k1
    k0e k1e expit logit log_expit entr exp1 expi beta betaln xlogy xlog1py rel_entr kl_div loggamma dawsn
""".split())
# Operation of the table -> ufunc.
UNARY_LOOPS = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atanh": "arctanh", "ceil": "ceil", "cos": "cos", "cosh": "cosh", "exp": "exp", "expm1": "expm1", "floor": "floor",
    "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan",
    "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2", "negative": "negative",
    "reciprocal": "reciprocal", "round": "rint", "sign": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt",
    "square": "square", "tan": "tan", "tanh": "tanh", "trunc": "trunc", "_cbrt": "cbrt", "_deg2rad": "deg2rad",
    "_exp2": "exp2", "_fabs": "fabs", "_rad2deg": "rad2deg",
}
BINARY_LOOPS = {
    "add": "add", "atan2": "arctan2", "copysign": "copysign", "divide": "divide", "equal": "equal",
    "greater": "greater", "greater_equal": "greater_equal", "hypot": "hypot", "less": "less",
    "less_equal": "less_equal", "logaddexp": "logaddexp", "logical_and": "logical_and", "logical_or": "logical_or",
    "maximum": "maximum", "minimum": "minimum", "multiply": "multiply", "not_equal": "not_equal",
    "nextafter": "nextafter", "remainder": "remainder", "subtract": "subtract",
    "_fmax": "fmax", "_fmin": "fmin", "_fmod": "fmod", "_logaddexp2": "logaddexp2",
}


cdef int use_loops(Op op) except -1:
    """Find the loops of an operation whose `fast_kind` says that it has some."""
    cdef UfuncLoops loops
    if op.fast_kind == KIND_SCIPY:
        # The table's own way imports it, by the first call of the function.
        module = sys.modules.get("scipy.special")
        found = None if module is None else getattr(module, op.name, None)
        loops = loops_of(found) if isinstance(found, np.ufunc) else None
        if loops is not None:
            _held.append(loops)
            op.loops = <void*>loops
        return 0
    name = "power" if op.name == "pow" else (BINARY_LOOPS if op.fast_kind == KIND_BINARY else UNARY_LOOPS)[op.name]
    # Where the table repairs NumPy's values, it does so for complex arrays.
    op.loops = loop_set(name, op.entry.forward is not None or op.entry.derivative == "none")
    return 0


cdef int offer(dict ops, str name, forward_ptr forward, tuple params, list done) except -1:
    cdef Op op
    if name in ops:
        op = ops[name]
        if op.params == params:
            set_forward(op, forward)
            done.append(name)
    return 0


cdef int serve_complex(dict ops, str name) except -1:
    """Let the rule of an operation run where the result is complex."""
    cdef Op op
    if name in ops:
        op = ops[name]
        if op.fast_rule != NULL:
            op.complex_rule = True
            if op.loops == NULL:
                op.fast_kind = KIND_COMPLEX
    return 0


def install(dict ops, backend=None):
    """Give the operations of the table (name -> Op) their direct loops and compiled forwards and rules.

    Operations that are not in the table, or whose nodes keep other values than the rule expects, are passed over.
    Returns (names with loops or forwards, names with rules).
    """
    cdef Op op, twin
    cdef list loops = [], done = []
    for table, kind in ((UNARY_LOOPS, KIND_UNARY), (BINARY_LOOPS, KIND_BINARY), (("pow",), KIND_POWER)):
        for name in table:
            if name in ops:
                op = ops[name]
                op.fast_kind = kind     # the loops follow at the first call: use_loops
                if FREE_THREADED:       # where many threads may be the first
                    use_loops(op)
                if kind == KIND_POWER:
                    twin = op.by_operator
                    twin.fast_kind = KIND_OPERATOR_POWER
                    if FREE_THREADED:
                        use_loops(twin)
                loops.append(name)
    for name in SCIPY:
        op = ops.get(name)
        if op is not None and op.fast_kind == KIND_NONE and op.n_arrays:
            op.fast_kind = KIND_SCIPY
            loops.append(name)
    prepare(ops)
    offer(ops, "_float_power", forward_float_power, ("x1", "x2"), loops)
    offer(ops, "floor_divide", forward_floor_divide, ("x1", "x2"), loops)
    offer(ops, "matmul", forward_matmul, ("x1", "x2"), loops)
    offer(ops, "norm", forward_norm, ("x", "ord", "axis", "keepdims"), loops)
    offer(ops, "where", forward_where, ("condition", "x1", "x2"), loops)
    offer(ops, "sort", forward_sort, ("x", "axis", "descending", "stable"), loops)
    if "sort" in loops:
        op = ops["sort"]
        op.leaves = True
    offer(ops, "solve", forward_solve, ("x1", "x2"), loops)
    offer(ops, "astype", forward_astype, ("x", "dtype", "copy", "device"), loops)
    offer(ops, "clip", forward_clip, ("x", "min", "max"), loops)
    for name in ("einsum", "_einsum"):
        offer(ops, name, forward_einsum, ("subscripts", "operands", "optimize"), loops)
    offer(ops, "tensordot", forward_tensordot, ("x1", "x2", "axes"), loops)
    offer(ops, "linspace", forward_linspace, ("start", "stop", "num", "dtype", "device", "endpoint"), loops)
    attach(ops, "cholesky", rule_cholesky, ("ans",), done)
    attach(ops, "solve", rule_solve, ("ans", "x1", "x2_meta"), done)
    attach_transforms(ops, loops, done)
    attach_factorizations(ops, loops, done)
    attach(ops, "sort", rule_sort, ("x",), done)
    attach_elementwise(ops, done)
    attach_reductions(ops, loops, done)
    attach_views(ops, loops, done)
    attach_joins(ops, loops, done)
    attach_places(ops, loops)
    for name in ("_getitem", "take", "take_along_axis"):
        attach(ops, name, rule_gather, ("x_meta",), done)
    attach_sines(ops, done)
    attach_powers(ops, done)
    attach_complex(ops, done)
    attach_numbers(ops)
    attach_kernels(ops, loops, done)
    attach(ops, "matmul", rule_matmul, ("x2", "x1_meta", "x1", "x2_meta"), done)
    attach(ops, "_getitem_adjoint", rule_scatter, (), done)
    attach(ops, "_add_at", rule_scatter, (), done)
    attach(ops, "_setitem", rule_setitem, (), done)
    attach(ops, "clip", rule_clip, ("x", "min", "max"), done)
    for name in ("einsum", "_einsum"):
        attach(ops, name, rule_einsum, ("operands",), done)
    attach(ops, "tensordot", rule_tensordot, ("x2", "x1_meta", "x1", "x2_meta"), done)
    attach(ops, "vecdot", rule_vecdot, ("x1_meta", "x2", "x1", "x2_meta"), done)
    attach(ops, "where", rule_where, (), done)
    attach(ops, "_windows", rule_windows, ("x_meta",), done)
    attach(ops, "linspace", rule_linspace, (), done)
    attach(ops, "full_like", rule_pass, (), done)
    for name in ("_getitem", "_setitem", "concat", "expand_dims", "matrix_transpose", "moveaxis", "permute_dims",
                 "reshape", "squeeze", "stack"):
        serve_complex(ops, name)
    for name in ("vector_norm", "matrix_norm", "norm"):
        attach(ops, name, rule_norm, ("x", "ans"), done)
    if backend is not None:
        serve_views(<Backend?>backend, fast_enabled)
        serve_lists(<Backend?>backend, array_of_numbers)
        serve(<Backend?>backend, single_element, single_number_at, put_single,
              backend.meta(np.zeros((), np.float32)), backend.meta(np.zeros(())))
    return loops, done


def attach_alike(NumpyPrimitive r, Op op):
    """Give a recorded function the compiled rule of an operation with the same parameters, of which it keeps the same.

    The names of the arrays may differ. Returns whether it has one.
    """
    cdef Py_ssize_t i
    cdef dict renamed = dict(zip(r.op.params, op.params))
    cdef list saves = []
    if len(r.op.params) != len(op.params) or r.op.inputs != op.inputs:
        return False
    for i in range(len(op.params)):
        if i not in op.inputs and r.op.params[i] != op.params[i]:
            return False
    for name in r.op.saves:
        stem = name[:-5] if name.endswith("_meta") else name
        saves.append(renamed.get(stem, stem) + name[len(stem):])
    if tuple(saves) == op.saves:
        r.op.fast_rule = op.fast_rule
        if op.fast_kind == KIND_PLANNED:        # its row, which the rule looks up
            r.op.loops = op.loops
        r.op.complex_rule = op.complex_rule
    return r.op.fast_rule != NULL


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
    spell_out(node)
    f.grad = grad
    f.owned = owned
    f.needs = (1 if wanted[0] else 0) | (2 if wanted[1] else 0)
    if not op.fast_rule(node, f):
        return None
    return [(f.out0, f.out_owned & 1 != 0), (f.out1, f.out_owned & 2 != 0)][:node.n_edges]
