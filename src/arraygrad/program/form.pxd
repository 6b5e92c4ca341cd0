# Small programs: what they are, and how the one for some arguments is found. form.pyx says how they are replayed.
cdef class Array:
    cdef public object values       # an array of a library
    cdef public object rows         # how many arrays stand along its first axis; None: it is one array
    cdef public object tape         # that notes what is done with it, None: none


cdef class Program:
    cdef readonly int n_inputs      # the first places, which the caller fills
    cdef readonly tuple steps       # per step (operation or None, its arguments, function, places of results)
    cdef readonly tuple results     # places; -1: none
    cdef list template              # what stands at each place before the first step: the constants
    cdef list functions             # per step
    cdef int n_steps
    cdef int most                   # arguments of a step
    cdef int* first                 # per step where its arguments begin in `at`, and where the last ones end
    cdef int* at                    # places of arguments
    cdef int* out                   # per step the place of its first result; -1: none
    cdef int* n_out                 # per step how many results stand there in order; 0: one, which is no list
    cdef list ends                  # per step the places that no later step reads, None: none

    cpdef list replay(self, list arrays)


cdef class Kind:
    cdef int code
    cdef object type
    cdef object value               # of an array its shape; else what it has to be equal to
    cdef object dtype
    cdef tuple parts


cdef class Plan:
    cdef readonly Program program   # None: it can't be kept for such arguments
    cdef tuple kinds
    cdef object extra


cdef class Plans:
    cdef tuple same                 # objects that arguments may be, as they are
    cdef dict of                    # op -> number -> plans, those found last in front
    cdef int n

    cpdef Plan find(self, object op, int k, list args, tuple extra, list found)
    cpdef list replayed(self, object op, int k, list args, tuple extra)
    cpdef Plan keep(self, object op, int k, list args, tuple extra, Program program)
