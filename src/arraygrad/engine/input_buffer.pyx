# Gradients that meet in one input of a node.
# May import: engine.arrayops, engine.node.
from operator import itemgetter

cimport cython
from arraygrad.engine.arrayops cimport ArrayOps, DeviceRuntime


cdef object accumulate(ArrayOps ops, object held, bint held_owned, object grad, bint grad_owned, bint grad_mode):
    """Sum of the gradient in the slot and a new one.

    In place only into a buffer that the engine alone holds ("owned": a rule of this run made it), and never while
    gradients are themselves recorded. The user's own arrays are never owned, so they are never written.
    """
    if ops is None:                     # no metadata says what they are
        return held + grad
    if not grad_mode:
        if held_owned:
            return ops.add_into(held, grad)
        if grad_owned:
            return ops.add_into(grad, held)
    return ops.add(held, grad)


@cython.final
@cython.no_gc
cdef class PartialGradient:
    """A gradient that waits in a node's slot and is written in part so far; where it is not, it is zero.

    Rules that write one region of it after another keep it so. Whoever else takes it out of the slot has it finished.
    """


cdef class InputBuffer:
    """InputBuffer(n)
--

    One slot per input of a node, empty at first. Used for nodes with several inputs; a single input has its slot in
    the node itself.
    """

    def __init__(self, Py_ssize_t n):
        self.slots = [None] * n
        self.owned_bits = 0

    def __len__(self):
        return len(self.slots)

    cdef int put(self, Py_ssize_t pos, object grad, bint owned, ArrayOps ops, bint grad_mode) except -1:
        # Addition may let other threads run: what is there is taken out of the slot, added outside of it, and put
        # back once the slot is found empty. No lock is held while arrays are added.
        cdef object held
        cdef bint held_owned
        cdef uint64_t bit = (<uint64_t>1 << pos) if pos < 64 else 0
        if grad is None:
            return 0
        while True:
            with cython.critical_section(self):
                held = self.slots[pos]
                held_owned = (self.owned_bits & bit) != 0
                if held is None:
                    self.slots[pos] = grad
                    if owned:
                        self.owned_bits |= bit
                else:
                    self.slots[pos] = None
                    self.owned_bits &= ~bit
            if held is None:
                return 0
            grad = accumulate(ops, held, held_owned, grad, owned, grad_mode)
            owned = not grad_mode
            held = None

    def add(self, Py_ssize_t pos, object grad, bint owned, ArrayOps ops, bint grad_mode=False):
        """Add a gradient (None: nothing) to slot `pos`. `owned`: nobody but the caller holds it."""
        if not 0 <= pos < len(self.slots):
            raise IndexError(f"input buffer has {len(self.slots)} slots, but got a gradient for slot {pos}")
        self.put(pos, grad, owned, ops, grad_mode)

    def owned(self, Py_ssize_t pos):
        """Whether slot `pos` holds a buffer that only the engine refers to."""
        return pos < 64 and (self.owned_bits >> pos) & 1 == 1

    def variables(self):
        """Move the list of gradients out; the buffer holds no reference afterwards."""
        slots = self.slots
        self.slots = [None] * len(slots)
        self.owned_bits = 0
        return slots


cdef object _order = itemgetter(0, 1)


cdef class OrderedBuffer:
    """Gradients on their way to a node, kept apart until it runs.

    Used where they must not be added as they arrive: several threads deliver them and the sum is to be the same to the
    last bit whatever their timing, or they come from other streams than the node's. They are added in the order in
    which a single thread would deliver them: by falling sequence number of the node they come from, then by its edge.
    """

    def __cinit__(self):
        self.items = []

    cdef int put(self, object order, Py_ssize_t edge, Py_ssize_t slot, object grad, bint owned, ArrayOps ops,
                 object crossing) except -1:
        self.items.append((order, edge, slot, grad, owned, ops, crossing))
        return 0

    cdef InputBuffer fold(self, Py_ssize_t n, bint grad_mode, object stream, bint copied):
        """The sums, slot by slot, computed on `stream`, which first waits for what other streams made.

        What came from another stream is never owned, because its memory is that stream's: a leaf makes a copy of its
        own. With `copied` it is copied here, because it leaves the engine (a captured gradient).
        """
        cdef InputBuffer sums = InputBuffer(n)
        cdef DeviceRuntime runtime
        cdef Py_ssize_t i
        cdef dict last = {}
        for _, _, _, _, _, _, crossing in self.items:
            if crossing is not None and crossing[2] is not None:
                # Of what one thread recorded on a stream the last event says all.
                last[id(crossing[1]), crossing[3]] = crossing
        for runtime, _, event, _ in last.values():
            runtime.wait_event(stream, event)
        self.items.sort(key=_order)
        if self.before is not None:                 # what was there before gradients were kept apart comes first
            for i, grad in enumerate(self.before.slots):
                if grad is not None:
                    sums.put(i, grad, self.before.owned(i), self.before_ops, grad_mode)
            self.before = None
        for _, _, slot, grad, owned, ops, crossing in self.items:
            if crossing is not None and crossing[2] is not None:
                owned = False
                if copied and ops is not None:
                    grad = (<ArrayOps>ops).clone(grad, grad)
                    owned = True
            sums.put(slot, grad, owned, ops, grad_mode)
        self.items = []
        return sums
