# Small programs: steps over numbered values, how they are replayed, and how the one for some arguments is found.
# May import: numpy (its dtypes).
#
# A step is an operation of the table on values and static parameters, or an array function that stands for one (rows of
# arrays: `batches`). What a step computes follows from its arguments' dtypes and shapes and from static parameters
# alone, so one program serves all arguments of one kind (`Kind`). A program is not changed after it is made, and a
# replay keeps its values for itself: threads may share programs.
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp

import numpy

cdef extern from "Python.h":
    object PyObject_Vectorcall(object function, PyObject** args, size_t n, PyObject* names)

cdef enum:
    AT_ONCE = 16            # arguments of a step that fit on the stack
    # What an argument is.
    AN_ARRAY = 0            # an Array: rows or not, shape and dtype count
    PARTS = 1               # a list or tuple: each part
    A_SLICE = 2
    A_NUMBER = 3            # a float or complex: bit by bit, as -0.0 and nan count
    EQUAL = 4               # a number, text, dtype
    THE_SAME = 5            # None, Ellipsis, and what is named as such
    MOST_OF_ONE = 64        # plans of one rule
    MOST = 1024             # plans of all; each holds a few hundred bytes


cdef object ndarray = numpy.ndarray


class NoKind(Exception):
    """An argument of which no kind is known: nothing that is computed of it can be kept."""


cdef class Array:
    """Array(values, rows=None, tape=None)
--

    What stands for arrays while a program is traced: the base of `Batched`.
    """

    def __init__(self, values, rows=None, tape=None):
        self.values = values
        self.rows = rows
        self.tape = tape


class ValueRef(int):
    """Where a value stands, among the arguments of a step."""
    __slots__ = ()

    def __repr__(self):
        return f"%{int(self)}"


cdef class Program:
    """Program(n_inputs, template, steps, results)
--

    Parameters
    ----------
    n_inputs : int
        How many of the first places the caller fills.
    template : list
        Per place a constant, or None.
    steps : list of tuple
        (operation or None, its arguments with a `ValueRef` for each value, function, places of what the function gets,
        place of its first result or -1, how many results it gives in a list or 0).
    results : list of int
        Places; -1 gives None.
    """

    def __init__(self, int n_inputs, list template, list steps, list results):
        cdef int i, j, n = 0
        cdef dict last = {}
        self.n_inputs, self.template, self.results = n_inputs, template, tuple(results)
        self.n_steps = len(steps)
        self.functions = [step[2] for step in steps]
        self.steps = tuple([
            (step[0], step[1], step[2], tuple(range(step[4], step[4] + (step[5] or 1))) if step[4] >= 0 else ())
            for step in steps
        ])
        for step in steps:
            n += len(step[3])
            self.most = max(self.most, len(step[3]))
        self.first = <int*>malloc((self.n_steps + 1) * sizeof(int))
        self.at = <int*>malloc(max(n, 1) * sizeof(int))
        self.out = <int*>malloc(max(self.n_steps, 1) * sizeof(int))
        self.n_out = <int*>malloc(max(self.n_steps, 1) * sizeof(int))
        if self.first == NULL or self.at == NULL or self.out == NULL or self.n_out == NULL:
            raise MemoryError
        n = 0
        for i, step in enumerate(steps):
            self.first[i] = n
            for j in step[3]:
                self.at[n] = j
                n += 1
                last[j] = i
            self.out[i], self.n_out[i] = step[4], step[5]
            if step[4] >= 0:
                for j in range(step[4], step[4] + (step[5] or 1)):
                    last.setdefault(j, i)
        self.first[self.n_steps] = n
        self.ends = [None] * self.n_steps
        constant = {j for j in range(n_inputs, len(template)) if template[j] is not None}
        for j, i in last.items():
            if j not in constant and j not in results:
                self.ends[i] = [*(self.ends[i] or ()), j]

    def __dealloc__(self):
        free(self.first)
        free(self.at)
        free(self.out)
        free(self.n_out)

    cpdef list replay(self, list arrays):
        """The results for arrays at the first places."""
        cdef list found = self.template[:], ends
        cdef PyObject* args[AT_ONCE]
        cdef int i, j, start, n
        cdef object function, made
        if len(arrays) != self.n_inputs:
            raise ValueError(f"a program of {self.n_inputs} arrays got {len(arrays)}")
        for i in range(self.n_inputs):
            found[i] = arrays[i]
        for i in range(self.n_steps):
            start = self.first[i]
            n = self.first[i + 1] - start
            function = <object>PyList_GET_ITEM(self.functions, i)
            if n <= AT_ONCE:
                for j in range(n):      # `found` holds them until the call is over
                    args[j] = <PyObject*>PyList_GET_ITEM(found, self.at[start + j])
                made = PyObject_Vectorcall(function, args, n, NULL)
            else:
                made = function(*[found[self.at[start + j]] for j in range(n)])
            if self.n_out[i]:
                for j, one in enumerate(made):
                    found[self.out[i] + j] = one
            elif self.out[i] >= 0:
                found[self.out[i]] = made
            ends = <list>self.ends[i]
            if ends is not None:
                for j in ends:
                    found[j] = None
        return [None if i < 0 else found[i] for i in self.results]

    @property
    def constants(self):
        """What stands at each place before the first step."""
        return tuple(self.template)

    def __repr__(self):
        lines = [f"{', '.join([f'%{i}' for i in outs])} = {getattr(op, 'name', None) or repr(function)}"
                 f"({', '.join(map(repr, args))})" for op, args, function, outs in self.steps]
        return "\n".join([f"Program of {self.n_inputs} arrays", *lines, f"results: {self.results}"])


cdef class Kind:
    """What an argument has to be for a program to serve it."""


cdef Kind kind_of(object arg, tuple same, list found):
    """The kind of an argument; the arrays in it are added to `found`."""
    cdef Kind kind = Kind.__new__(Kind)
    cdef object own = type(arg)
    kind.type = own
    if isinstance(arg, Array):
        kind.code = AN_ARRAY
        kind.type = (<Array>arg).rows is None
        kind.value, kind.dtype = (<Array>arg).values.shape, (<Array>arg).values.dtype
        found.append(arg)
    elif isinstance(arg, (list, tuple)):
        kind.code = PARTS
        kind.parts = tuple([kind_of(one, same, found) for one in arg])
    elif own is slice:
        kind.code = A_SLICE
        kind.parts = tuple([kind_of(one, same, found) for one in (arg.start, arg.stop, arg.step)])
    elif own is float or own is complex:
        kind.code, kind.value = A_NUMBER, arg
    elif own is int or own is str or own is bool or arg is None or arg is Ellipsis \
            or isinstance(arg, numpy.dtype):
        kind.code, kind.value = EQUAL, arg
    elif any([arg is one for one in same]):
        kind.code, kind.value = THE_SAME, arg
    else:
        raise NoKind(f"{own.__name__}")
    return kind


cdef bint same_number(double a, double b) noexcept:
    return memcmp(&a, &b, sizeof(double)) == 0


cdef bint serves(Kind kind, object arg, list found) except -1:
    """Whether an argument is of a kind; the values of arrays in it are added to `found`, in the order of `kind_of`.

    An array of NumPy's is an Array without rows.
    """
    cdef object values = arg, own
    cdef Py_ssize_t i
    cdef int code = kind.code
    if code == AN_ARRAY:
        if isinstance(arg, Array):
            if ((<Array>arg).rows is None) is not kind.type:
                return False
            values = (<Array>arg).values
        elif type(arg) is not ndarray or not kind.type:
            return False
        if values.shape != kind.value:
            return False
        own = values.dtype
        if own is not kind.dtype and own != kind.dtype:
            return False
        found.append(values)
        return True
    if arg is kind.value:
        return code == EQUAL or code == THE_SAME or (code == A_NUMBER)
    if type(arg) is not kind.type:
        return False
    if code == PARTS:
        if len(arg) != len(kind.parts):
            return False
        for i, one in enumerate(arg):
            if not serves(<Kind>kind.parts[i], one, found):
                return False
        return True
    if code == EQUAL:
        return arg == kind.value
    if code == A_NUMBER:
        if kind.type is float:
            return same_number(arg, kind.value)
        return same_number(arg.real, kind.value.real) and same_number(arg.imag, kind.value.imag)
    if code == A_SLICE:
        return serves(<Kind>kind.parts[0], arg.start, found) and serves(<Kind>kind.parts[1], arg.stop, found) \
            and serves(<Kind>kind.parts[2], arg.step, found)
    return False


cdef class Plan:
    """A program, and the kinds of the arguments that it serves."""


cdef class Plans:
    """Plans(*same)
--

    Programs by an operation, a number and the arguments that they serve. The number says which rule of the operation it
    is, or for how many rows. `same` are objects that may be among the arguments as they are.
    """

    def __init__(self, *same):
        self.of = {}
        self.same = same

    cpdef Plan find(self, object op, int k, list args, tuple extra, list found):
        """The plan for arguments of such kinds and an equal `extra`; the arrays in them are added to `found`."""
        cdef dict kept = <dict>self.of.get(op)
        cdef list plans = None if kept is None else <list>kept.get(k)
        cdef Plan plan
        cdef Py_ssize_t i, j
        if plans is None:
            return None
        for i in range(len(plans)):
            plan = <Plan>plans[i]
            if len(plan.kinds) != len(args):
                continue
            for j in range(len(args)):
                if not serves(<Kind>plan.kinds[j], args[j], found):
                    break
            else:
                if plan.extra == extra:
                    if i:
                        kept[k] = [plan, *plans[:i], *plans[i + 1:]]       # a new list: threads may read the old one
                    return plan
            del found[:]
        return None

    cpdef list replayed(self, object op, int k, list args, tuple extra):
        """What the program that is kept for such arguments makes of them; None where there is none."""
        cdef list found = []
        cdef Plan plan = self.find(op, k, args, extra, found)
        return None if plan is None or plan.program is None else plan.program.replay(found)

    cpdef Plan keep(self, object op, int k, list args, tuple extra, Program program):
        """Keep a program (None: nothing can be kept) for such arguments, in the place of the one that served them.

        NoKind if there is an argument of which no kind is known.
        """
        cdef Plan plan = Plan.__new__(Plan)
        cdef dict kept
        plan.kinds = tuple([kind_of(arg, self.same, []) for arg in args])
        plan.extra, plan.program = extra, program
        before = self.find(op, k, args, extra, [])
        if self.n >= MOST:
            self.of, self.n = {}, 0
        kept = self.of.setdefault(op, {})
        kept[k] = [plan, *[one for one in kept.get(k, ()) if one is not before][:MOST_OF_ONE - 1]]
        self.n += 1
        return plan

    def __len__(self):
        return sum([len(plans) for kept in self.of.values() for plans in kept.values()])

    def clear(self):
        """Forget all programs."""
        self.of, self.n = {}, 0
