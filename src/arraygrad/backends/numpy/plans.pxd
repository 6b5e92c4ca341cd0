# Operations whose forward is a row of a catalogue, which one planner of their kind reads.
# May cimport: core.op.
from arraygrad.core.op cimport Op

cdef enum:
    KIND_PLANNED = 12       # Op.loops is a Planned (Op.fast_kind, as loops.pxd has it)

# Gets a row of the planner's catalogue and the operation's parameters in order; None: declined.
ctypedef object (*planner_ptr)(const void* row, object args)

cdef struct Planned:
    planner_ptr forward
    const void* row

cdef inline object planned(Op op, object args):
    cdef const Planned* p = <const Planned*>op.loops
    return p.forward(p.row, args)

cdef inline const void* planned_row(Op op) noexcept:
    """What rules of the kind look up."""
    return (<const Planned*>op.loops).row


cdef inline bint serve_plan(dict ops, str name, tuple params, Planned* p, list done) except -1:
    """Give an operation its plan, if it has the parameters that the planner reads."""
    cdef Op op = <Op>ops.get(name)
    if op is None or op.params != params:
        return False
    op.loops = p
    op.fast_kind = KIND_PLANNED
    done.append(name)
    return True
