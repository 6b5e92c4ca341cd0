# Ahead: what follows a sum with a repeated operand, or a product with a softmax, computed by the same launch.
# May import: core.op.
#
# Note [Computed ahead]
# ~~~~~~~~~~~~~~~~~~~~~
# `relu(x @ w + b)` adds and maps, by a launch each, where one would do: but when the sum is computed nobody has asked
# for the map. A network asks for the same one at each step. So what was taken of a value is remembered by what tells
# its launch, and the next such launch computes both and writes both. When it is asked for, it is there. There are two
# kinds of launches:
#   - A sum with a repeated operand, told by where that operand lies (the bias: a parameter stays there). An elementwise
#     map of it follows, or softmax, log_softmax or logsumexp.
#   - An elementwise operation on what softmax, log_softmax or logsumexp gave, and elements taken from it by indices,
#     told by operation, shapes and dtypes. A sum or mean of everything follows, then negatives, and products and
#     quotients with Python numbers: a loss.
# (1) It is the value of the map only while nobody writes the sum. Whoever writes a Tensor tells the runtime
#     (`before_write`), as does whoever gets its array (`given`): `drop` then. Arrays are known by weak references, the
#     stream has to be the same; anything else that is taken of them, or of another array, ends the expectation.
# (2) Where something else follows, or nothing, an output was written in vain. After three times nothing is expected
#     after such launches any more.
# (3) What a launch computes ahead is what its own kernel computes, of the same statements.
# (4) Nothing is read ahead but the launch's own operands and what it computes of them: an array of the program's that
#     comes in later, like the labels of a loss, may be written until then.
# Guarded by tests/gpu/test_computed_ahead.py and tests/gpu/test_mapped_rows.py.
import weakref

from arraygrad.core.op cimport Op

cdef enum:
    MOST_FOLLOWERS = 1024       # more are forgotten, all at once
    MOST_VAIN = 3               # times that the same launch's followers were expected in vain
    MOST_STEPS = 4              # that follow one launch


cdef class Ahead:
    """Ahead()
--

    What is foretold, and what was computed ahead by one launch.
    """

    def __init__(self):
        self.followers = {}
        self.vain = {}
        self.watched = None
        self.made = None
        self.rows = None

    cdef tuple foretold(self, object told):
        """((Op, how), ...) of what follows a launch; None: nothing is known of it.

        `how`: None for a map; (side, number) with one operand; the parameters behind the first of a reduction.
        """
        cdef object found = self.followers.get(told)
        return <tuple>found if type(found) is tuple else None

    cdef int note(self, object out, object told) except -1:
        """A value was computed alone: what is taken of it next may be foretold from then on."""
        cdef tuple made = self.made
        if made is not None:
            self.end(made[5])
        self.drop()
        if self.followers.get(told) != MOST_VAIN:
            self.watched = (weakref.ref(out), told, ())
        return 0

    cdef int note_rows(self, object out) except -1:
        """Softmax, log_softmax or logsumexp gave a value."""
        self.rows = weakref.ref(out)
        return 0

    cdef bint is_rows(self, object x) except -1:
        """Whether an array is the latest of these."""
        return self.rows is not None and self.rows() is x

    cdef int put(self, tuple values, tuple steps, object stream, object told) except -1:
        """A launch gave `values`: one of its own, and that of each step that follows."""
        cdef tuple made = self.made     # what it holds is let go when this is left
        self.watched = None
        self.made = (weakref.ref(values[0]), values[1:], steps, 0, stream, told)
        if made is not None:
            self.end(made[5])
        return 0

    cdef object take(self, Op op, object how, object x, object stream):
        """The value of `op` of `x` if it was computed ahead, else None: then `follow` wants to know the value."""
        cdef tuple made = self.made
        cdef tuple watched = self.watched
        cdef tuple step, steps, values
        cdef Py_ssize_t k
        if made is not None:
            k = made[3]
            values, step = made[1], made[2][k]
            if step[0] is op and (values[k - 1] if k else made[0]()) is x and step[1] == how:
                if made[4] is not stream:
                    self.drop()
                    return None
                self.made = None if k + 1 == len(values) else (None, values, made[2], k + 1, stream, made[5])
                return values[k]
            self.drop()
            self.end(made[5])
            return None
        self.watched = None
        if watched is None or watched[0] is None or len(<tuple>watched[2]) >= MOST_STEPS:
            return None
        if watched[0]() is x:
            if len(self.followers) >= MOST_FOLLOWERS:
                self.followers.clear()
                self.vain.clear()
            steps = (*watched[2], (op, how))
            known = self.followers.get(watched[1])
            if type(known) is not tuple or (<tuple>known)[:len(steps)] != steps:
                self.followers[watched[1]] = steps
            if type(watched[1]) is tuple:
                self.watched = (None, watched[1], steps)
        return None

    cdef int follow(self, object out) except -1:
        """`out` is what the latest `take` did not have: what is taken of it is a further step."""
        cdef tuple watched = self.watched
        if watched is not None and watched[0] is None:
            self.watched = (weakref.ref(out), watched[1], watched[2])
        return 0

    cdef int end(self, object told) except -1:
        """What was computed ahead was not asked for."""
        cdef int times = self.vain.get(told, 0) + 1
        self.vain[told] = times
        self.followers[told] = MOST_VAIN if times >= MOST_VAIN else 0
        return 0

    cdef int drop(self) except -1:
        """Something may be written: what was computed from it is no value of it any more."""
        cdef tuple _made = self.made    # let go when this is left
        self.watched = None
        self.made = None
        return 0
