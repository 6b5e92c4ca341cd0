# Raw arrays that nodes keep and the program may write: told by their content, or copied.
# See Note [Who may write this memory] in exposed_memory.pyx.
# May import: engine.*, core.op, core.value.
from libc.stdint cimport uint64_t

from arraygrad.engine.node cimport Node, NODE_CONSTANT, NODE_CONSTANT_FULL, NODE_PACKED
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport (
    Backend, TensorBase, Value, refuses_overwriting, registered, value_over, version_of, WRITTEN,
)

constant_check = CONSTANT_SAMPLE
_CHECKS = ("off", "sample", "full", "copy")


def set_constant_check(str mode):
    """What is done about raw arrays that take part in operations as constants, and may be written before backward.

    A raw array that a rule needs (`t * a`, `t @ a`), or one that `asarray` wrapped, is kept as it is, without a copy.
    If the program writes into it before backward runs, the gradient would be that of another program. (Writes through
    Tensors are always known: `set_saved_mutation`.)

    "sample" (the default): backward through that node raises RuntimeError if the content is not what it was. Of
    arrays of up to 32 KB every byte is compared, of larger ones both ends and pieces spread over the array, besides
    shape and dtype: an array that is refilled, or filled row by row, is found; a write to a few elements in the middle
    of a large one may not be.
    Small arrays of a narrower dtype than the Tensor's are promoted when they are used: backward reads that copy.
    "full": every element is compared. "copy": nodes keep a copy, so the gradient is that of the program as it ran.
    "off": nothing is done. Returns the previous mode.

    It holds for operations recorded from now on, in all threads. NumPy and PyTorch arrays are checked; those of other
    libraries only copied, in mode "copy".

    Raises
    ------
    ValueError
        If `mode` is none of these.

    Examples
    --------
    >>> import arraygrad as ag
    >>> import numpy as np
    >>> previous = ag.set_constant_check("copy")
    >>> a, t = np.array([1.0, 2.0]), ag.tensor([3.0, 4.0], requires_grad=True)
    >>> y = (t * a).sum()
    >>> a[:] = 0.0
    >>> y.backward()
    >>> t.grad
    Tensor([1., 2.])
    >>> ag.set_constant_check(previous)
    'copy'
    """
    global constant_check
    if mode not in _CHECKS:
        raise ValueError(f"set_constant_check: expected 'sample', 'full', 'copy' or 'off', but got {mode!r}")
    previous = _CHECKS[constant_check]
    constant_check = _CHECKS.index(mode)
    return previous


# Note [Constants that change]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# What Tensors write, their Values know (Note [Saved values]). But a raw array in `t * a`, or one that asarray wrapped,
# is also the caller's, who may write into it before backward without anyone seeing it. To copy each would cost as much
# as the operation. So the node keeps the array itself and a number made of its shape, dtype and content (Note
# [Fingerprints] in backends/numpy/fingerprint.hpp). Backward makes the number anew before the rule runs, and raises
# where it differs (run_rule in nodes.pyx). Value.exposed says whose memory may be the caller's; aliases inherit it. The
# number does not depend on strides: a Tensor that is written leaves its saved Value a copy in another layout.
# set_constant_check chooses; docs/reliability.md says what is not seen. Guarded by
# tests/reliability/test_changed_arrays.py.
cdef object constant_slot(Node node, object slot, Backend backend):
    """A slot in which arrays that the program holds too are copied or remembered by what they contain."""
    cdef object raw = slot
    if type(slot) is list:
        return [constant_slot(node, item, backend) for item in slot]
    if constant_check == CONSTANT_OFF or not backend.mutable:
        return slot
    if type(slot) is Value:
        if not (<Value>slot).exposed:
            return slot
        raw = (<Value>slot).raw
    if type(raw) is not backend.array_type:
        return slot
    if constant_check == CONSTANT_COPY or node.flags & NODE_PACKED:     # a hook may keep what it is given
        raw = backend.clone(raw, raw)
        return value_over(raw, (<Value>slot).meta) if type(slot) is Value else raw
    if constant_check == CONSTANT_FULL:
        node.flags |= NODE_CONSTANT_FULL
    node.flags |= NODE_CONSTANT
    node.print = 31 * node.print + backend.fingerprint(raw, constant_check == CONSTANT_FULL)
    return slot


cdef uint64_t content_now(Node node, object slot, uint64_t before, Backend backend) except? 0:
    """The number that constant_slot would make of a slot now, `before` being that of the slots before it."""
    if type(slot) is backend.array_type:
        return 31 * before + backend.fingerprint(slot, node.flags & NODE_CONSTANT_FULL != 0)
    if type(slot) is list:
        for item in slot:
            before = content_now(node, item, before, backend)
    elif type(slot) is Value and (<Value>slot).exposed:
        if (<Value>slot).overwritten:
            return before + 1           # differs from what it was, whatever it is now
        return content_now(node, (<Value>slot).raw, before, backend)
    return before


cdef object changed_error(Node node, list names, list slots, Backend backend):
    """The error about the arrays in `slots`, saved for the parameters `names`."""
    cdef list found = []
    for name, slot in zip(names, slots):
        for item in slot if type(slot) is list else (slot,):
            if type(item) is Value and (<Value>item).exposed:
                item = (<Value>item).raw
            if type(item) is backend.array_type:
                found.append(f"{name}: {item.dtype} {tuple(item.shape)}")
    operation = (<Op>node.op).name
    return RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: an array "
        f"that {node.name()} keeps ({', '.join(found)}) was written, and not through a Tensor, after {operation} had "
        f"used it. Give {operation} a copy (array.copy()) or a new array each time; set_constant_check('copy') makes "
        f"nodes keep copies.")


def constants_are_compared():
    """Whether set_constant_check is at another mode than "off"."""
    return constant_check != CONSTANT_OFF


WRITTEN_BETWEEN = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: {what} written, "
    "and not through a Tensor, after the forward had used it. Give it a copy (array.copy()) or a new array each time."
)


cdef class Contents:
    """Contents(items)
--

    What the arrays among `items`, a dict of names and objects, contain now. Lists, tuples and dicts are looked into.

    `tensors` says whether Tensors count too. With set_constant_check("off") nothing is remembered.
    """

    def __init__(self, dict items, bint tensors=False):
        self.arrays = {}
        self.prints = {}
        self.full = constant_check == CONSTANT_FULL
        self.tensors = tensors
        if constant_check != CONSTANT_OFF:
            for name, item in items.items():
                self.add(name, item, 0)

    def __bool__(self):
        return bool(self.arrays)

    cdef int add(self, object name, object item, int depth) except -1:
        cdef Backend backend
        if isinstance(item, TensorBase):
            if self.tensors and (<Backend>(<TensorBase>item).value.meta.ops).mutable:
                self.arrays[name] = item
                self.prints[name] = self.print_of(item)
        elif type(item) is list or type(item) is tuple or type(item) is dict:
            if depth < 4:
                for key, part in (item.items() if type(item) is dict else enumerate(item)):
                    self.add(f"{name}[{key!r}]", part, depth + 1)
        else:
            backend = registered(type(item))
            if backend is not None and backend.mutable:
                self.arrays[name] = item
                self.prints[name] = self.print_of(item)
        return 0

    cdef object print_of(self, object item):
        if isinstance(item, TensorBase):
            item = (<TensorBase>item).value.raw
        return registered(type(item)).fingerprint(item, self.full)

    def written(self):
        """Names of the arrays that contain something else now."""
        return [name for name, item in self.arrays.items() if self.print_of(item) != self.prints[name]]

    def forget(self, names):
        """Compare these no more."""
        for name in names:
            del self.arrays[name], self.prints[name]

    def renew(self):
        """What the arrays contain now is what they are to contain."""
        for name, item in self.arrays.items():
            self.prints[name] = self.print_of(item)

    def check(self, owner):
        """Raise RuntimeError if one of the arrays was written; `owner` says whose they are."""
        found = self.written()
        if found:
            were = "was" if len(found) == 1 else "were"
            raise RuntimeError(WRITTEN_BETWEEN.format(what=f"{', '.join(found)} of {owner} {were}"))


cdef object overwritten_error(Value v, Node node):
    if v.overwritten != WRITTEN:
        return RuntimeError(
            f"one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{v.meta.dtype} {v.meta.shape_tuple()}], saved by {node.name()}, was written, and not through a Tensor, "
            f"after its memory had been taken out of a Tensor (t.array, t.numpy(), DLPack). Write into a copy of it, "
            f"or through the Tensor under arraygrad.no_grad(); set_constant_check('copy') makes nodes keep copies.")
    return RuntimeError(
            f"one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{v.meta.dtype} {v.meta.shape_tuple()}], saved by {node.name()}, is at version {version_of(v)}; "
            f"expected version {v.version} instead. Hint: " + (
                "set_saved_mutation('copy') keeps a copy of what is overwritten, and anomaly detection finds the "
                "operation that failed to compute its gradient." if refuses_overwriting() else
                "it was not written through a Tensor. Write into the Tensor itself (x *= 2, x[...] = y), so that what "
                "nodes have saved is kept."))
