# May cimport: core.op.
from arraygrad.core.op cimport Op


cdef class Ahead:
    """Ahead()"""
    cdef dict followers                 # what tells a launch -> (Op, how) of what follows; MOST_VAIN: expect nothing
    cdef dict vain                      # the same -> how often what follows was expected in vain
    cdef tuple watched                  # (weak reference to the latest value, what told its launch, what followed)
    # (weak reference to a launch's own value, the values of the steps that follow, the steps, how many of them were
    # asked for, stream, what told the launch), or None
    cdef tuple made
    cdef object rows                    # weak reference to the latest softmax, log_softmax or logsumexp, or None

    cdef tuple foretold(self, object told)
    cdef int note(self, object out, object told) except -1
    cdef int note_rows(self, object out) except -1
    cdef bint is_rows(self, object x) except -1
    cdef int put(self, tuple values, tuple steps, object stream, object told) except -1
    cdef object take(self, Op op, object how, object x, object stream)
    cdef int follow(self, object out) except -1
    cdef int end(self, object told) except -1
    cdef int drop(self) except -1
    cdef inline bint is_asked(self) noexcept:
        """Whether `take` has to be asked before a map or a reduction is computed."""
        return self.watched is not None or self.made is not None
