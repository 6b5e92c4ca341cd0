# CudaGradients: gradients of CuPy's arrays that one launch computes and sums, or that the host knows.
# May import: engine.arrayops, engine.graph_task, engine.node, core.nodes, core.op, core.value,
# backends.cuda.constants, backends.cuda.current, backends.cuda.gathers, backends.cuda.mapped_rows,
# backends.cuda.matrices, backends.cuda.prepared, backends.cuda.rows.
cimport cython
from libc.stdint cimport uint64_t

from threading import get_ident

from arraygrad.backends.cuda.constants cimport Constant, is_constant
from arraygrad.backends.cuda.current cimport CurrentStreams
from arraygrad.backends.cuda.mapped_rows cimport MappedRows
from arraygrad.backends.cuda.matrices cimport CudaMatrices
from arraygrad.backends.cuda.prepared cimport Elementwise, RowPlan, Summed
from arraygrad.core.nodes cimport OpNode, saved_slot
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Value
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED, read_stamp
from arraygrad.engine.graph_task cimport GraphTask, run_flags
from arraygrad.engine.node cimport (
    NODE_PACKED, Node, RUN_CAPTURE, RUN_NEEDED, RUN_OWNED, RUN_PARTIAL, ThreadState, thread_state,
)

from arraygrad.backends.cuda.rows import layout as layout_of

cdef enum:
    KEPT_LAYOUTS = 4096         # more are forgotten, all at once
    MOST_SUMMED = 11            # inputs of a kernel that sums


cdef class CudaGradients(CudaMatrices):
    """CudaGradients: what gradients are summed by, and the constants among them."""

    cdef object stream_here(self):
        """CuPy's stream that work goes to now."""
        return (<CurrentStreams>self.runtime).get_stream(self.launcher.current_device())

    cdef list with_sums(self, tuple sums, object g, list saved, list targets):
        """The gradients of a node, those of operands that were repeated summed as they are computed; None: declined."""
        cdef list answer, arguments
        cdef Py_ssize_t k
        cdef object kernel, places, results, summed, layout
        cdef tuple outputs = ()
        cdef tuple shape
        kernel, places, results, summed = sums
        answer = []
        for number, _, _ in <list>summed:
            layout = self.sum_layout((g.shape, (<GradMeta>targets[number]).shape_tuple()))
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
            found[number] = self.summed_by(<Summed>kernel, arguments, g.shape, shape, <tuple>layout)
            if found[number] is None:
                return None
        return found

    cdef list with_next(self, Elementwise kernel, list arguments, object g, uint64_t wanted, list targets):
        """The gradients of an elementwise node of which one is wanted, by a launch that computes what comes next, too.

        None: nothing that it knows comes next, or others read the gradient.
        """
        cdef Py_ssize_t k = 0
        cdef Node child
        cdef Op op
        if wanted & (wanted - 1) or not wanted or kernel.n_out != 1:
            return None
        while not wanted >> k & 1:
            k += 1
        child = next_reader(k)
        if child is None or type(child.op) is not Op or (<GradMeta>targets[k]).shape_tuple() != g.shape:
            return None
        op = <Op>child.op
        if op.name == "add":
            return self.with_bias(child, kernel, arguments, g, targets) if len(targets) == 1 else None
        if op.name == "softmax" or op.name == "log_softmax":
            return self.with_rows(<OpNode>child, kernel, arguments, g, k, targets)
        return None

    cdef list with_rows(self, OpNode child, Elementwise kernel, list arguments, object g, Py_ssize_t k, list targets):
        """Gradient `k` of a node whose argument is a softmax or log_softmax.

        The launch that writes it computes the gradient of that, too: `known_gradient` has it. See Note [Rows of a map].
        """
        cdef Op op = <Op>child.op
        cdef GradMeta target = <GradMeta>targets[k]
        cdef object dtype = kernel.out_dtypes[0]
        cdef tuple shape = g.shape
        cdef tuple place, found
        cdef object way, mapped
        cdef object ans = saved_answer(child, op)
        if dtype != target.dtype or type(ans) is not self.array_type or ans.shape != shape:
            return None
        if self.letter(dtype) not in (c"f", c"d"):
            return None
        place = (shape, child.args[op.static_positions[0]])
        try:
            way = self.row_ways.get(place, self)
        except TypeError:
            return None                 # a list of axes
        if way is self:
            if len(self.row_ways) >= KEPT_LAYOUTS:
                self.row_ways.clear()
            way = self.row_ways[place] = layout_of(*place)
        if way is None:
            return None
        mapped = self.mapping.get((kernel, op.name))
        if mapped is None:
            name = f"{kernel.name}_{op.name}"
            mapped = MappedRows(self.launcher, kernel.spec, name, f"{op.name}_backward")
            self.mapping[kernel, op.name] = mapped
        found = (<MappedRows>mapped).both(arguments, shape, <tuple>way, (ans,), shape, (), False)
        if found is None:
            return None
        self.known_rows = (found[0], op, found[1])
        return [found[0] if number == k else None for number in range(len(targets))]

    cdef object with_rows_at(self, object g, tuple shape, object key):
        """The same for elements that were taken of a softmax or log_softmax by indices."""
        cdef Node child = next_reader(0)
        cdef Op op
        cdef object ans, axis
        cdef tuple found
        if child is None or type(child.op) is not Op:
            return None
        op = <Op>child.op
        if op.name != "softmax" and op.name != "log_softmax":
            return None
        axis = (<OpNode>child).args[op.static_positions[0]]
        if type(axis) is not int or axis != -1 and axis != <Py_ssize_t>len(shape) - 1:
            return None
        ans = saved_answer(<OpNode>child, op)
        if type(ans) is not self.array_type or ans.shape != shape:
            return None
        found = self.gathers.added_rows(g, shape, key, f"{op.name}_backward", ans)
        if found is None:
            return None
        self.known_rows = (found[0], op, found[1])
        return found[0]

    cdef object known_gradient(self, Op op, object g):
        """The gradient that the launch which wrote `g` computed for the operation after it; None: there is none."""
        cdef tuple known = self.known_rows
        if known is None:
            return None
        self.known_rows = None
        return known[2] if known[0] is g and known[1] is op else None

    cdef object waiting(self, object dtype, tuple shape):
        """What waits for the gradient that the running node computes, if a kernel may add to it; None: nothing does."""
        cdef Node child = next_node(0)
        cdef object held
        if child is None or child.rflags & (RUN_OWNED | RUN_PARTIAL) != RUN_OWNED:
            return None
        held = child.g0                 # no array where gradients of other streams wait, too, or their order counts
        if type(held) is not self.array_type or held.shape != shape or held.dtype != dtype:
            return None
        if held.data.device_id != self.launcher.current_device() or not self.launcher.contiguous(held):
            return None
        return held

    cdef list with_bias(self, Node child, Elementwise kernel, list arguments, object g, list targets):
        """The gradient of a map whose argument is a sum `a + b` of which one operand was repeated, as a bias is.

        The launch that writes it adds it up for that operand, too: `conform` finds the sum in `known_sum`. None: it is
        another sum.
        """
        cdef GradMeta first, second
        cdef object layout, found, summed
        cdef tuple shape = g.shape
        cdef tuple target
        if child.n_edges != 2 or not is_wanted(child.e0) or not is_wanted(child.e1) or kernel.n_in > MOST_SUMMED:
            return None
        first, second = child.e0.meta_at(child.n0), child.e1.meta_at(child.n1)
        if first is None or second is None or first.dtype != second.dtype or kernel.out_dtypes[0] != first.dtype:
            return None
        target = second.shape_tuple()
        if target == shape:
            target = first.shape_tuple()
            first = second
        if target == shape or first.shape_tuple() != shape:
            return None
        if self.letter(first.dtype) not in (c"f", c"d"):
            return None
        layout = self.sum_layout((shape, target))
        if layout is None:
            return None
        summed = self.keeping.get(kernel)
        if summed is None:
            summed = Summed(self.launcher, kernel.spec, f"{kernel.name}_keeping", True)
            self.keeping[kernel] = summed
        found = self.summed_by(<Summed>summed, arguments, shape, target, <tuple>layout)
        if found is None:
            return None
        self.known_sum = (found[0], target, found[1])
        return [found[0]]

    cdef object sum_layout(self, tuple key):
        """How a kernel over rows goes through an array of shape key[0] to sum it to key[1], None: it declines."""
        cdef object layout = self.sum_layouts.get(key, self)
        if layout is self:
            if len(self.sum_layouts) >= KEPT_LAYOUTS:
                self.sum_layouts.clear()
            layout = self.sum_layouts[key] = self.row_kernels.broadcast(*key)
        return layout

    cdef object summed_by(self, Summed kernel, list arguments, tuple full, tuple shape, tuple found):
        """As Summed.sum_of, by what `sum_layout` gives."""
        layout, rest, parts = found
        if rest is None:
            return kernel.sum_of(arguments, full, shape, layout)
        return self.in_parts(kernel, arguments, full, shape, layout, <dict>rest, parts)

    cdef list of_constant(self, Op op, object g, uint64_t wanted, list saved, list targets):
        """The gradients of a node whose own is one number that the host knows everywhere, if they are such, too.

        See Note [Constants of a backward]. None: they are others.
        """
        cdef Constant constant = self.constants.of(g)
        cdef double number, factor
        cdef bint single
        cdef Py_ssize_t k
        cdef object dtype
        if constant is None:
            return None
        dtype = constant.array.dtype
        for k in range(len(targets)):
            if targets[k] is not None and (<GradMeta>targets[k]).dtype != dtype:
                return None
        number, name = constant.number, op.name
        single = dtype.char == "f"
        if name == "negative":
            return self.constant_list([-number], dtype, g.shape)
        if name == "subtract":
            return self.constant_list([number if wanted & 1 else None, -number if wanted & 2 else None], dtype, g.shape)
        if name == "divide" and wanted == 1 and self.constants.operand(op, "x2", saved, &factor) and factor:
            return self.constant_list([quotient(number, factor, single), None], dtype, g.shape)
        if name == "multiply" and wanted == 1 and self.constants.operand(op, "x2", saved, &factor):
            return self.constant_list([product(number, factor, single), None], dtype, g.shape)
        if name == "multiply" and wanted == 2 and self.constants.operand(op, "x1", saved, &factor):
            return self.constant_list([None, product(number, factor, single)], dtype, g.shape)
        return None

    cdef list constant_list(self, list numbers, object dtype, tuple shape):
        """Constants of a shape, None where there is None; None: one of the numbers has none."""
        cdef list found = []
        for number in numbers:
            if number is not None:
                number = self.constant(number, dtype, shape)
                if number is None:
                    return None
            found.append(number)
        return found

    cdef object constant(self, double number, object dtype, tuple shape):
        """An array of a shape, on the current device, that is one number everywhere and that nobody may write.

        None: there is none of this number here.
        """
        cdef Constant found
        cdef object device, stream, kernel, out
        cdef object runtime = self.runtime
        if not is_constant(number) or runtime.captures and get_ident() in runtime.captures:
            return None
        device = self.launcher.current_device()
        stream = self.stream_here()
        found = self.constants.find(number, dtype, device, stream)
        if found is None:
            out = self.launcher.empty((), dtype)
            kernel = self.fill_kernel(dtype)
            if (<Elementwise>kernel).call([number], out, False) is None:
                return None
            found = self.constants.add(number, out, device, stream)
            if found is None:
                return None
        return self.constants.repeated(found, shape)

    cdef object fill_kernel(self, object dtype):
        cdef object kernel = self.fills.get(dtype)
        if kernel is None:
            spec = self.kernels.fill_spec(dtype)
            kernel = self.fills[dtype] = Elementwise(self.launcher, spec, "arraygrad_fill")
        return kernel

    cdef object in_parts(self, Summed kernel, list arguments, tuple full, tuple shape, tuple layout, dict rest,
                         object parts):
        """A sum by two launches: Note [Rows] (3) in `backends/cuda/rows.py`."""
        cdef object dtype = kernel.out_dtypes[0]
        cdef object plan = rest.get(dtype)
        cdef object found = kernel.sum_of(arguments, full, (layout[0][0],), layout)
        cdef object kept = None
        if found is None:
            return None
        if plan is None:
            plan = rest[dtype] = self.row_kernels.parts_plan(layout, parts, shape, dtype)
        if kernel.keeps:
            kept, found = found
        found = (<RowPlan>plan).call(found, None, None)
        return (kept, found) if kernel.keeps else found


cdef Node next_node(Py_ssize_t k):
    """The node that gets the gradient of edge `k` of the node that this thread runs, by this thread and unseen by
    anybody on the way, on the same stream; else None.
    """
    cdef ThreadState* ts = thread_state()
    cdef GraphTask task
    cdef Node node, child
    if FREE_THREADED or ts.node == NULL or ts.task == NULL or k > 1:
        return None
    task, node = <GraphTask>ts.task, <Node>ts.node
    child = node.e1 if k else node.e0
    if child is None or node.hooks is not None or child.hooks is not None or task.own_queue or task.anomaly:
        return None
    if task.shared and task.multithreading or read_stamp(&child.stamp) != <uint64_t>task.id or child.n_inputs != 1:
        return None
    if task.has_exec_info and not child.rflags & RUN_NEEDED:
        return None
    if type(node.meta) is not GradMeta or type(child.meta) is not GradMeta:
        return None
    return child if (<GradMeta>node.meta).stream is (<GradMeta>child.meta).stream else None


cdef Node next_reader(Py_ssize_t k):
    """As next_node, if no other gradient goes there and the program does not get this one."""
    cdef Node child = next_node(k)
    if child is None or child.deps != 1 or child.g0 is not None or child.rflags & RUN_CAPTURE:
        return None
    return child


cdef object saved_answer(OpNode node, Op op):
    """The raw array that a node saved of its own result; None: it is gone, or was written, or a hook has it."""
    cdef object slot
    if node.flags & NODE_PACKED or node.args is None:
        return None
    slot = saved_slot(node, op.saves.index("ans"))
    if type(slot) is Value:
        return None if (<Value>slot).overwritten else (<Value>slot).raw
    return slot


cdef bint is_wanted(Node child) except -1:
    """Whether the run that this thread is in needs the gradient that arrives at `child`."""
    cdef GraphTask task
    if child is None:
        return False
    task = <GraphTask>thread_state().task
    return not task.has_exec_info or run_flags(task, child) & (RUN_NEEDED | RUN_CAPTURE) != 0


# As a kernel computes them: in single precision of what is single.

cdef double product(double a, double b, bint single) noexcept:
    return <float>a * <float>b if single else a * b


@cython.cdivision(True)
cdef double quotient(double a, double b, bint single) noexcept:
    return <float>a / <float>b if single else a / b
