# Several backward runs over one graph at once: gradients with an axis in front, along which the runs stand.
# May import: engine.*, core.*, batches, program, numpy (Python only).
#
# Note [Batched runs]
# ~~~~~~~~~~~~~~~~~~~
# The rows of a Jacobian are backward runs over the same graph. For small arrays a run costs more than its arithmetic,
# and n products of a matrix and a vector cost more than one of two matrices. So all runs go through the graph together:
# the gradient of a result of shape s has the shape (n, *s).
# (1) The rule of a node is the table's, run on rows (batches.rules), what the node saved being the same in all of them.
# (2) What a run may do besides rules (hooks, tracers, anomaly mode, packed values, create_graph), and a node that is
#     none of the table's, has the runs made one by one: `possible` is False. So does a rule that reads values which
#     differ by row, and any error: `pull` returns None, and the single runs say what it is.
# (3) So does any error of floating point. What a rule makes of infinities and 0 / 0, and which warnings it gives, is
#     thus always what it does in a run of its own.
# (4) `rows` bounds how many runs go together, so that their gradients stay in the cache.
# (5) The cotangents of all elements of a result are the rows of an identity matrix. Behind operations on single
#     elements, and views that keep their order, row i is zero but for element i: a `Diagonal` holds these elements, and
#     the rules run on it as on one row. A product of a matrix and a vector makes of it the matrix with scaled rows.
#     Other operations get it written out. What is not finite could be 0 * inf elsewhere in its row: (2).
# set_batched_runs(False) turns it off. Guarded by tests/transforms/test_batched_runs.py.
from cpython.ref cimport Py_REFCNT
from libc.math cimport isfinite

import numpy

from arraygrad.core.saved_numbers cimport spell_out
from arraygrad.core.nodes cimport (
    BACKWARD_TWICE, OpNode, check_constants, drop_saved, metadata, raw_of, saved_slot, unpack,
)
from arraygrad.core.op cimport Op, PLAN_G, PLAN_SAVED, PLAN_STATIC, PLAN_XP, SAVE_INPUT, SAVE_META
from arraygrad.core.roots cimport edge_or_none
from arraygrad.core.value cimport Backend, TensorBase, registered
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.engine cimport runs_are_observed
from arraygrad.engine.free_threading cimport gate_closed, gate_enter, gate_leave
from arraygrad.engine.node cimport (
    Edge, Node, thread_state, NODE_ACCUMULATE, NODE_ASIDE, NODE_BARE, NODE_CONSTANT, NODE_PACKED,
    NODE_PYTHON, NODE_ZERO_ABSORBS,
)
from arraygrad.program.form cimport Plans

from arraygrad.batches.derive import ALONE, namespace
from arraygrad.batches.keys import behind_rows, is_region, keeps_order
from arraygrad.batches.rules import PLANS, pull
from arraygrad.program.values import Batched
from arraygrad.core.nodes import at_precision

cdef enum:
    LARGEST = 1 << 18       # elements of the gradients of one node, of all runs that go together
    # Microseconds, about: of a run and of a node in it, and of those of a batch, whose rules are Python's.
    RUN = 7
    BATCH = 30
# Of a node of a run, and of a batch.
cdef double RUN_NODE = 0.3, BATCH_NODE = 3.0

cdef Plans plans = PLANS
cdef object _mode = True    # set_batched_runs


def set_batched_runs(mode):
    """Whether rows of Jacobians are computed together where that is possible and seems faster; returns the mode before.

    "always": where it is possible.
    """
    global _mode
    previous = _mode
    if mode not in (True, False, "always"):
        raise ValueError(f"set_batched_runs: expected True, False or 'always', but got {mode!r}")
    _mode = mode
    return previous


cdef double most_nodes(Py_ssize_t n) except -1:
    """How many nodes a graph may have for n runs to take less time together than one by one."""
    if _mode == "always" or n * RUN_NODE >= BATCH_NODE:
        return 1e18
    return max(0.0, (n * RUN - BATCH) / (BATCH_NODE - n * RUN_NODE))


# Views whose gradient has the elements of theirs in the same order.
cdef frozenset IN_ORDER = frozenset(["_copy", "_identity", "astype", "expand_dims", "reshape", "squeeze"])


cdef class Diagonal:
    """Gradients of as many runs as there are elements: that of run i is zero but for element i, `values[i]`."""
    cdef object values      # an array of a gradient's shape

    cdef object written(self):
        """All gradients, an array (n, *shape)."""
        cdef Py_ssize_t n = self.values.size
        rows = numpy.zeros(n * n, dtype=self.values.dtype)
        rows[::n + 1] = self.values.ravel()
        return rows.reshape((n, *self.values.shape))


cdef Diagonal diagonal_of(object values):
    cdef Diagonal made = Diagonal.__new__(Diagonal)
    made.values = values
    return made


cdef object written(object g):
    """Gradients of all runs, a Diagonal's too, as an array."""
    return (<Diagonal>g).written() if isinstance(g, Diagonal) else g


cdef object finite(object values):
    """The values; FloatingPointError if one is infinite or nan, or the sum of squares is."""
    if not isfinite(<double>numpy.vdot(values, values)):
        raise FloatingPointError
    return values


cdef class Batch:
    """Batch(out, edges, n)
--

    `n` backward runs from the Tensor `out` to `edges`, made together. `possible` says whether they can be and whether
    that is worth it, `rows` how many at a time.
    """
    cdef readonly bint possible
    cdef readonly Py_ssize_t rows
    cdef Node root
    cdef dict targets               # node -> where its gradient stands in what pull() returns
    cdef dict needed                # node -> whether one of the targets is reached from it
    cdef list order                 # the nodes that run, each after those that lead to it
    cdef Py_ssize_t n_edges

    def __init__(self, TensorBase out, list edges, Py_ssize_t n):
        cdef Edge edge = edge_or_none(out)
        cdef Py_ssize_t widest
        cdef double most = most_nodes(n)
        cdef Node node
        if not _mode or edge is None or edge.input_nr or thread_state().zero_annihilates or runs_are_observed():
            return
        self.root = edge.node
        self.targets = {}
        self.n_edges = len(edges)
        for place, edge in enumerate(edges):
            if not is_end(edge.node) or edge.input_nr or edge.node in self.targets:
                return
            self.targets[edge.node] = place
        if most < 1 or self.root in self.targets or not self.find_order(most):
            return
        widest = 1
        for node in [*self.order, *self.targets]:
            widest = max(widest, size_of(node.meta_at(0)))
        self.rows = min(n, LARGEST // widest)
        self.possible = self.rows > 1 and len(self.order) <= most_nodes(self.rows)

    cdef bint find_order(self, double most) except -1:
        """Find the nodes that run; False where one of them is to run by itself, or more than `most` do."""
        cdef list stack = [self.root], order = []
        cdef Node node, child
        cdef Py_ssize_t i
        cdef bint ready, wanted
        self.needed = {}
        while stack:
            node = <Node>stack[len(stack) - 1]
            if node in self.needed:
                stack.pop()
                continue
            if node in self.targets:
                self.needed[node] = True
                continue
            ready = True
            wanted = False
            for i in range(node.n_edges):
                child = node.edge_node(i)
                if child is None:
                    continue
                if child not in self.needed:
                    stack.append(child)
                    ready = False
                elif self.needed[child]:
                    wanted = True
            if not ready:
                continue
            stack.pop()
            self.needed[node] = wanted
            if wanted:
                if len(order) >= most or not self.serves(node):
                    return False
                order.append(node)
        order.reverse()
        self.order = order
        return True

    cdef bint serves(self, Node node) except -1:
        """Whether a node has rules for several runs, and nothing besides."""
        cdef Op op
        if not isinstance(node, OpNode) or not is_plain(node) or node.flags & (
                NODE_PACKED | NODE_ZERO_ABSORBS | NODE_PYTHON):
            return False
        op = <Op>node.op
        return op.name not in ALONE and not (op.keeps_args and node.flags & NODE_ASIDE)     # no parameters, then

    def pull(self, Py_ssize_t start, Py_ssize_t stop):
        """Per edge the gradients of the elements start to stop of `out`, an array (stop - start, ...) (None: zero).

        None: make them one by one. An array that nothing else holds comes as it is, others as copies.
        """
        cdef dict waiting = {self.root: self.cotangents(start, stop)}
        cdef set owned = set()
        cdef Node node
        cdef list found
        settings = numpy.geterr()
        if settings["under"] != "ignore":
            return None
        try:
            with numpy.errstate(divide="raise", over="raise", invalid="raise"):
                for node in self.order:
                    g = waiting.pop(node, None)
                    if g is not None:
                        owned.discard(node)
                        self.run(node, g, stop - start, waiting, owned)
        except Exception:       # the runs one by one say what it is
            return None
        found = [None] * self.n_edges
        g = None
        for node, place in self.targets.items():
            g = waiting.pop(node, None)
            if isinstance(g, Diagonal):
                g = written(g)
            if g is not None and (Py_REFCNT(g) > 1 or g.base is not None or not g.flags.c_contiguous):
                g = numpy.array(g, order="C")
            found[place] = g
            g = None
        return found

    cdef object cotangents(self, Py_ssize_t start, Py_ssize_t stop):
        cdef GradMeta meta = self.root.meta_at(0)
        cdef tuple shape = meta.shape_tuple()
        cdef Py_ssize_t size = size_of(meta)
        if start == 0 and stop == size:
            return diagonal_of(numpy.ones(shape, dtype=meta.dtype))
        rows = numpy.zeros((stop - start, size), dtype=meta.dtype)
        rows.ravel()[start::size + 1] = 1
        return rows.reshape((stop - start, *shape))

    cdef int run(self, Node node, object g, Py_ssize_t n, dict waiting, set owned) except -1:
        """Run the rules of a node."""
        cdef OpNode op_node = <OpNode>node
        if node.flags & NODE_BARE:
            return self.run_rules(op_node, g, n, waiting, owned)
        gate_enter(&node.gate)
        try:
            if gate_closed(&node.gate):
                raise RuntimeError(BACKWARD_TWICE)
            if node.flags & NODE_CONSTANT:
                check_constants(op_node, <Op>node.op)
            spell_out(node)
            return self.run_rules(op_node, g, n, waiting, owned)
        finally:
            if gate_leave(&node.gate):
                drop_saved(op_node)

    cdef int run_rules(self, OpNode node, object g, Py_ssize_t n, dict waiting, set owned) except -1:
        cdef Op op = <Op>node.op
        cdef Node child
        cdef GradMeta meta
        cdef Py_ssize_t k
        cdef list shapes, dtypes, found, args
        cdef tuple extra
        if op.sequence >= 0:
            g = written(g)
            shapes, dtypes = [], []
            for k in range(node.n_edges):
                child = node.edge_node(k)
                meta = child.meta_at(0) if child is not None and self.needed[child] else None
                shapes.append(None if meta is None else meta.shape_tuple())
                dtypes.append(None if meta is None else meta.dtype)
            args = self.arguments(node, op, 0, g, n)
            extra = (n, tuple(shapes), tuple(dtypes), False)
            found = plans.replayed(op, 0, args, extra)
            if found is None:
                found = pull(op, 0, args, *extra)
            for k in range(node.n_edges):
                if shapes[k] is not None and found[k] is not None:
                    self.deliver(node.edge_node(k), found[k], waiting, owned)
            return 0
        for k in range(len(op.inputs)):
            child = node.edge_node(k)
            if child is None or not self.needed[child]:
                continue
            if isinstance(g, Diagonal):
                r = self.of_diagonal(node, op, k, <Diagonal>g, child)
                if r is not None:
                    self.deliver(child, r, waiting, owned)
                    continue
                g = written(g)
            if op.name == "_getitem" and is_region(node.args[1]):
                self.add_region(child, g, behind_rows(node.args[1]), n, waiting, owned)
                continue
            r = self.of_rule(node, op, k, g, n, child)
            if r is not None:
                self.deliver(child, r, waiting, owned)
        return 0

    cdef object of_rule(self, OpNode node, Op op, Py_ssize_t k, object g, Py_ssize_t n, Node child):
        """What the rule of input k makes of the gradients of n runs."""
        cdef GradMeta meta = child.meta_at(0)
        cdef list args = self.arguments(node, op, k, g, n)
        cdef tuple extra = (n, meta.shape_tuple(), meta.dtype, False)
        cdef list found = plans.replayed(op, k, args, extra)
        return found[0] if found is not None else pull(op, k, args, *extra)

    cdef object of_diagonal(self, OpNode node, Op op, Py_ssize_t k, Diagonal g, Node child):
        """The gradients of input k for a Diagonal's: a Diagonal, or an array; None where they are to be written out."""
        cdef GradMeta own = node.meta_at(0), meta = child.meta_at(0)
        cdef tuple shape = own.shape_tuple(), behind = meta.shape_tuple()
        cdef Py_ssize_t what, index
        if op.elementwise and shape == behind or op.name in IN_ORDER and size_of(own) == size_of(meta):
            r = self.of_rule(node, op, k, g.values[numpy.newaxis], 1, child)
            return None if r is None else diagonal_of(finite(r).reshape(behind))
        if op.name == "_getitem" and size_of(own) == size_of(meta) and keeps_order(node.args[1]):
            return diagonal_of(g.values.astype(meta.dtype, copy=False).reshape(behind))
        if op.name != "matmul" or len(shape) != len(behind) or len(shape) > 2 or (
                len(shape) == 2 and (shape[k] != 1 or behind[k] != 1)):
            return None
        for what, index in <tuple>op.plans[k]:
            if what == PLAN_SAVED:
                matrix = unpack(node, op, index, <Backend>own.ops, own, False)
                if type(matrix) is not numpy.ndarray or matrix.ndim != 2:
                    return None
                rows = g.values.reshape((-1, 1)) * (matrix if k else matrix.T)
                rows = finite(rows.astype(meta.dtype, order="C", copy=False))
                return rows if len(behind) == 1 else rows.reshape((len(rows), *behind))
        return None

    cdef list arguments(self, OpNode node, Op op, Py_ssize_t k, object g, Py_ssize_t n):
        """What the rule of input k asks for, in order."""
        cdef GradMeta meta = node.meta_at(0)
        cdef Backend backend = <Backend>meta.ops
        cdef list args = []
        for what, index in <tuple>op.plans[k]:
            if what == PLAN_G:
                g = Batched(g, n)
                args.append((g,) if op.multi else g)        # a node of one result hands on its gradient alone
            elif what == PLAN_XP:
                args.append(namespace)
            elif what == PLAN_SAVED:
                value = unpack(node, op, index, backend, meta, False)
                if op.elementwise and op.save_kind[index] == SAVE_INPUT and len(op.params) > 1:
                    value = at_precision(value, meta, backend.rule_xp)
                args.append(value)
            elif what == PLAN_STATIC:
                value = raw_of(node.args[index], node)
                args.append(at_precision(value, meta, backend.rule_xp) if op.elementwise else value)
            else:
                args.append(metadata(saved_slot(node, index), what, op.save_kind[index] == SAVE_META, meta))
        return args

    cdef int add_region(self, Node child, object g, object region, Py_ssize_t n, dict waiting, set owned) except -1:
        """What reading a region sends back: it joins the gradient that waits."""
        cdef GradMeta meta = child.meta_at(0)
        cdef object whole = written(waiting.get(child))
        if whole is None or child not in owned:
            made = numpy.zeros((n, *meta.shape_tuple()), dtype=meta.dtype)
            if whole is not None:
                made += whole
            waiting[child] = whole = made
            owned.add(child)
        whole[region] += g
        return 0

    cdef int deliver(self, Node child, object r, dict waiting, set owned) except -1:
        """Add gradients to those that wait for a node."""
        cdef object before = waiting.get(child)
        if before is None:
            waiting[child] = r
        elif isinstance(before, Diagonal) and isinstance(r, Diagonal):
            waiting[child] = diagonal_of((<Diagonal>before).values + (<Diagonal>r).values)
        elif child in owned:
            numpy.add(before, written(r), before)
        else:
            waiting[child] = written(before) + written(r)
            owned.add(child)
        return 0


cdef Py_ssize_t size_of(GradMeta meta) except -1:
    cdef Py_ssize_t size = 1
    for d in meta.shape_tuple():
        size *= d
    return size


cdef bint is_plain(Node node):
    """Whether a node has one real result on NumPy's arrays and no hooks."""
    cdef GradMeta meta
    if node.n_inputs != 1 or node.hooks is not None:
        return False
    meta = node.meta_at(0)
    return meta is not None and not meta.is_complex and meta.stream is None and meta.ops is registered(numpy.ndarray)


cdef bint is_end(Node node):
    """Whether nothing lies behind a node, and nothing but its gradient is asked of it."""
    cdef Py_ssize_t i
    cdef TensorBase leaf
    if not is_plain(node):
        return False
    for i in range(node.n_edges):
        if node.edge_node(i) is not None:
            return False
    if node.flags & NODE_ACCUMULATE:
        leaf = <TensorBase>node.s0
        return leaf is not None and (leaf.extra is None or leaf.extra.hooks is None)
    return True
