# Ahead: the map that follows a sum with a repeated operand, computed by the launch of the sum.
# May import: core.op.
#
# Note [Computed ahead]
# ~~~~~~~~~~~~~~~~~~~~~
# `relu(x @ w + b)` adds and maps, by a launch each, where one would do: but when the sum is computed nobody has asked
# for the map. A network asks for the same one at each step. So the map that was taken of a sum is remembered by where
# the repeated operand lies (the bias: a parameter stays there), and the next sum with it computes both, by one launch
# that writes both. When the map is asked for, it is there.
# (1) It is the value of the map only while nobody writes the sum. Whoever writes a Tensor tells the runtime
#     (`before_write`), as does whoever gets its array (`given`): `drop` then. The array of the sum is known by a weak
#     reference, the stream has to be the same; another map, of it or of another array, ends the expectation.
# (2) Where another map of the sum is taken, or none, an output was written in vain. After three times nothing is
#     expected of that operand's sums any more.
# (3) What a launch computes ahead is what the map's own kernel computes, of the same statements.
# Guarded by tests/gpu/test_computed_ahead.py.
import weakref

from arraygrad.core.op cimport Op

cdef enum:
    MOST_FOLLOWERS = 1024       # more are forgotten, all at once
    MOST_VAIN = 3               # times that the same operand's map was expected in vain


cdef class Ahead:
    """Ahead()
--

    What is foretold, and the one value that was computed ahead.
    """

    def __init__(self):
        self.followers = {}
        self.vain = {}
        self.summed = None
        self.made = None

    cdef Op foretold(self, size_t address):
        """The map that follows a sum with the operand at an address; None: nothing is known of it."""
        cdef object found = self.followers.get(address)
        return <Op>found if type(found) is Op else None

    cdef int note_sum(self, object out, size_t address) except -1:
        """A sum was computed alone: what is taken of it next may be foretold from then on."""
        cdef tuple made = self.made
        if made is not None:
            self.end(made[4])
        self.drop()
        if self.followers.get(address) != MOST_VAIN:
            self.summed = (weakref.ref(out), address)
        return 0

    cdef int put(self, object out, Op op, object value, object stream, size_t address) except -1:
        """`value` is `op` of the sum `out`, computed with it."""
        cdef tuple made = self.made     # what it holds is let go when this is left
        self.summed = None
        self.made = (weakref.ref(out), op, value, stream, address)
        if made is not None:
            self.end(made[4])
        return 0

    cdef object take(self, Op op, object x, object stream):
        """The value of `op` of `x` if it was computed ahead, else None."""
        cdef tuple made = self.made
        cdef tuple summed = self.summed
        self.drop()
        if made is not None:
            if made[0]() is not x or made[1] is not op:
                self.end(made[4])
            elif made[3] is stream:
                return made[2]
        elif summed is not None and summed[0]() is x:
            if len(self.followers) >= MOST_FOLLOWERS:
                self.followers.clear()
                self.vain.clear()
            self.followers[summed[1]] = op
        return None

    cdef int end(self, object address) except -1:
        """What was computed ahead was not asked for."""
        cdef int times = self.vain.get(address, 0) + 1
        self.vain[address] = times
        self.followers[address] = MOST_VAIN if times >= MOST_VAIN else 0
        return 0

    cdef int drop(self) except -1:
        """Something may be written: what was computed from it is no value of it any more."""
        cdef tuple _made = self.made    # let go when this is left
        self.summed = None
        self.made = None
        return 0
