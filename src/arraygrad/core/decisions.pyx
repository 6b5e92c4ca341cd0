# What a traced program decides by comparisons of recorded values, noted per place.
# May import: engine.node, core.op, core.value, numpy.
#
# Note [Decisions of a program]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A comparison has no slope. Where it only says which of two formulas holds, nothing is lost. A search by comparisons
# (bisection, golden section) is another thing: its result is put together of values that comparisons selected, and
# depends on what was compared through the selection alone, which no gradient reaches. One sees it by what is compared:
# the two sides approach each other, from comparison to comparison at one place, while their derivatives do not.
# So a function transform has each place noted at which recorded values are compared: a few of the first pairs, and the
# last ones. transforms/searches.py looks at them when the function has returned. Places in arraygrad and NumPy are not
# the program's. Nothing is noted where no transform runs, and of the first comparisons at a place only their outcome.
# A search may come near its end late: where the first pairs do not approach each other, others are noted after a while.
# A comparison with zero asks for a sign. That of a product is decided by the factors, each of which approaches zero on
# its own: f(lo) * f(m) does at the speed of either, f(m) / f(lo) not at all. So what is noted are margins, of which the
# smallest one decides: the factors, where there are any.
# What says which of several values is the smallest (argmin, argsort) decides between the two smallest ones.
# A Tensor keeps its graph alive, and with that the arrays of the program. So most margins are kept as plain values, of
# large arrays a sample of their elements. `recorded` and `recent` have the few whose derivatives are asked for, each
# with the edge that it has then: the program may write into what it compared, `k[:] = f(m)`, and compare it again.
# Guarded by tests/adoption/test_own_searches.py.
#
# Note [Values that are equal]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Two numbers that were computed apart are hardly ever equal. Where a recorded one is equal to one that the program has
# from elsewhere, it most often asks a cache whether what it keeps was computed for this value: what was kept then is a
# constant, and the gradient through it is lost. So a comparison for equality whose answer is that all elements are
# equal is told to `_equal`, which knows what else may be equal (autograd/stale_caches.py). So is a size that is exactly
# zero and is compared with a bound, `abs(x - self.last) > 1e-9`, to `_near`.
#
# Note [Sizes and bounds]
# ~~~~~~~~~~~~~~~~~~~~~~~
# A tolerance is a comparison, too: `abs(new - x) > 1e-12` in a loop that solves one equation after the other. Each time
# the size falls below the bound, and nothing is selected by that. A search is another thing in all that one sees here:
# the size comes close to the bound; or it jumps below and above it by turns, and is smaller above it from time to time.
# So `bounded` says of all comparisons at a place, of numbers: the bounds are positive and about equal, no size is
# negative, it jumps below the bound by a quarter at least, it grows nowhere below it, and above the bound it begins
# anew with more than it had there before. `restarts` counts these beginnings.
import numpy

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

from arraygrad.core.op cimport Op
from arraygrad.core.value cimport Backend, TensorBase, is_tensor
from arraygrad.engine.node cimport thread_state

cdef extern from *:
    """
    #include <Python.h>
    // Where the running transform of this thread has the dict of the places that were noted, which it owns (NULL: none
    // was yet, as in most calls); NULL outside.
    static thread_local PyObject** arraygrad_decisions = NULL;
    """
    PyObject** arraygrad_decisions

cdef extern from "Python.h":
    ctypedef struct PyFrameObject:
        pass
    PyFrameObject* PyEval_GetFrame()                    # borrowed

cdef enum:
    IGNORED = 3             # so many comparisons at a place are not kept; of several elements at once:
    IGNORED_OF_SEVERAL = 1
    SEVERAL = 4             # elements
    FIRST = 16              # so many of the next ones are,
    LAST = 4                # and so many of the last
    RECORDED = 8            # so many of the first with their graphs, and of small arrays
    EVERY = 2               # one in so many of the others
    LARGE = 1000            # elements
    ASKED = 8               # at this one the frame is looked at
    BLOCK = 12              # where nothing approaches, so many values at a time say whether it does later

cdef frozenset deciding = frozenset(
    ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "sign", "signbit", "copysign"))
cdef frozenset bounds = frozenset(("less", "less_equal", "greater", "greater_equal"))
cdef frozenset equalities = frozenset(("equal", "not_equal"))
cdef frozenset comparing = frozenset(("array_equal", "array_equiv", "allclose", "isclose"))
cdef frozenset ordering = frozenset(("argmin", "argmax", "nanargmin", "nanargmax", "argsort", "argpartition"))
cdef object _selects = None
cdef object _approach = None
cdef object _factors = None
cdef object _equal = None
cdef object _near = None
cdef object _edge_of = None


def set_criteria(selects, approach, factors, edge_of):
    """Set the functions that look at what is noted.

    `selects(frame)` says whether the branches that are decided there select values, not places in a table.
    `approach(values, largest)` gives the largest differences, also of those of `largest` (None: there were none), and
    whether an element of these margins is much nearer.
    `factors(x)` gives what the sign of a Tensor is the product of, as a tuple of margins; None: it is no product.
    `edge_of(x)` gives the edge of a Tensor that requires grad.
    """
    global _selects, _approach, _factors, _edge_of
    _selects, _approach, _factors, _edge_of = selects, approach, factors, edge_of


def set_equality(told, told_of_zero):
    """Set the functions that are told of values that are equal.

    `told(a, b)`: a transform's function has compared two values, a Tensor among them, as equal.
    `told_of_zero(x, bound)`: it has compared a Tensor that requires grad and is zero with a bound that does not.
    """
    global _equal, _near
    _equal, _near = told, told_of_zero


cdef class Decided:
    """A place where recorded values are compared.

    A margin is a pair (a, b), whose difference decides.

    Attributes
    ----------
    first, last : list of tuple of margins
        Values, of every `stride`-th element.
    recorded : dict of int to tuple of margins
        By their place in `first`. A side that requires grad is a pair (value, edge), as one at least does.
    recent : list of tuple of margins
        Those of `last` in the same form, of small arrays.
    held, failed : bool, array of bool or None
        Whether some comparison before the last one said what the first one did, and whether some did not. None: that is
        not known.
    epsilon : float
        That of the dtype that is compared.
    largest : array or None
        The largest differences of those that `approach` has looked at, of each element.
    bounded, restarts : bool, int
        Note [Sizes and bounds].
    several : bool
        Whether several elements are compared at once.
    """
    cdef readonly object code
    cdef readonly int at
    cdef readonly Py_ssize_t count, stride
    cdef readonly list first, last, recent
    cdef readonly dict recorded
    cdef readonly bint ignored, several, bounded
    cdef readonly Py_ssize_t restarts
    cdef readonly double epsilon
    cdef readonly object line, held, failed, largest
    cdef object outcome         # whether the last one said what the first one did
    cdef object chosen          # what the first one said
    cdef Py_ssize_t start       # comparisons up to this one are not kept
    cdef Py_ssize_t next        # at this one, a block of values is looked at
    cdef bint paused            # only blocks of values are kept
    cdef bint asked
    cdef bint swapped           # the bound is the left operand
    cdef double bound           # the first one
    cdef double size, before    # in units of the bound: the last one; the last one above it, before those below

    cdef int forget(self) except -1:
        self.first, self.last, self.recent, self.recorded = [], [], [], {}
        return 0

    cdef int ignore(self) except -1:
        self.ignored = True
        return self.forget()


cdef PyObject** watch_decisions(PyObject** found) noexcept:
    """Have the places of this thread noted in a dict that `found[0]` owns (NULL until then); returns the one before."""
    global arraygrad_decisions
    cdef PyObject** before = arraygrad_decisions
    arraygrad_decisions = found
    return before


cdef dict decisions_in(PyObject** found):
    """The dict there."""
    cdef dict made
    if found[0] == NULL:
        made = {}
        Py_INCREF(made)
        found[0] = <PyObject*>made
    return <dict>found[0]


cdef int decided(Op op, object a, object b, TensorBase out) except -1:
    """Note an operation whose operands require grad and whose result has no slope. `b` is None for one operand."""
    cdef PyFrameObject* here
    if arraygrad_decisions == NULL or op.name not in deciding or not thread_state().grad_mode:
        return 0
    if b is not None and _equal is not None and op.name in equalities and are_equal(op.name, out.value.raw):
        _equal(a, b)
    if b is not None and _near is not None and op.name in bounds:
        if has_zeros_only(a) and not requires(b):
            _near(a, b)
        elif has_zeros_only(b) and not requires(a):
            _near(b, a)
    here = PyEval_GetFrame()
    if here == NULL:
        return 0
    return note(<object>here, a, 0.0 if b is None else b, out.value.raw, None)


cdef inline bint requires(object x) except -1:
    return type(x) is not float and is_tensor(x) and (<TensorBase>x).tracked


cdef bint has_zeros_only(object x) except -1:
    """Whether a value requires grad and has zeros only. Loops compare: most values are told by their first number."""
    cdef double first
    cdef TensorBase t
    cdef object raw
    if not requires(x):
        return False
    t = <TensorBase>x
    raw = t.value.raw
    if not t.value.meta.ndim and (<Backend>t.value.meta.ops).read_number(raw, &first):
        return first == 0.0
    return isinstance(raw, (numpy.ndarray, numpy.generic)) and raw.size and raw.item(0) == 0 and not raw.any()


cdef bint same_values(object answers, object a, object b) except -1:
    """Whether two values are equal, of which a function of NumPy's says that they are nearly so."""
    cdef object raw_a = raw_of(a), raw_b = raw_of(b), raw = raw_of(answers)
    if not numpy.all(raw) or not isinstance(raw_a, (numpy.ndarray, numpy.generic, float)) \
            or not isinstance(raw_b, (numpy.ndarray, numpy.generic, float)) or not numpy.size(raw_a):
        return False
    return numpy.all(numpy.equal(raw_a, raw_b))


cdef bint are_equal(str name, object answers) except -1:
    """Whether these answers of `equal` or `not_equal` say that all elements are equal."""
    if not isinstance(answers, (numpy.ndarray, numpy.bool_)) or not answers.size:
        return False
    return answers.all() if name == "equal" else not answers.any()


cdef int decided_by(object x, object outcome) except -1:
    """Note that `outcome` is made of the sign of `x`."""
    return note_by_us(x, raw_of(outcome), None)


def note_decision(x, outcome):
    """As before, of code that is not compiled."""
    decided_by(x, outcome)


cdef int ordered(Op op, tuple args, object result) except -1:
    """Note an operation without a derivative that may say where the smallest elements of its first argument are.

    Or the largest ones, which approach each other as the smallest do.
    """
    if arraygrad_decisions == NULL or op.name not in ordering:
        return 0
    return ordered_along(op.name, args[0], args[1], result)


cdef int ordered_by(str name, tuple args, dict kwargs, object places) except -1:
    """The same of a function of NumPy's, which was called with these arguments."""
    if arraygrad_decisions == NULL:
        return 0
    if name in comparing and _equal is not None and len(args) > 1 and same_values(places, args[0], args[1]):
        _equal(args[0], args[1])
    if name not in ordering or not args or not isinstance(args[0], TensorBase):
        return 0
    axis = -1 if name in ("argsort", "argpartition") else None
    at = 2 if name == "argpartition" else 1
    if len(args) > at:
        axis = args[at]
    elif kwargs is not None:
        axis = kwargs.get("axis", axis)
    return ordered_along(name, args[0], axis, places)


cdef int ordered_along(str name, object x, object axis, object places) except -1:
    places = raw_of(places)
    if name in ("argsort", "argpartition"):
        if not isinstance(places, numpy.ndarray) or not places.size:
            return 0
        places = places.take(0, 0 if axis is None else axis)
    return note_by_us(x, places, (axis,))


cdef int note_by_us(object x, object outcome, object axis) except -1:
    cdef PyFrameObject* here
    if arraygrad_decisions == NULL or not isinstance(x, TensorBase) or not (<TensorBase>x).tracked:
        return 0
    here = PyEval_GetFrame()
    if here == NULL or not thread_state().grad_mode:
        return 0
    return note(callers(<object>here), x, 0.0, outcome, axis)


cdef str module_of(object frame):
    cdef object name = frame.f_globals.get("__name__", "")
    return <str>name if isinstance(name, str) else ""


cdef inline bint is_ours(str name) except -1:
    return name.startswith(("arraygrad.", "numpy."))


cdef object raw_of(object x):
    return (<TensorBase>x).value.raw if isinstance(x, TensorBase) else x


cdef object callers(object frame):
    """The innermost frame that is neither arraygrad's nor NumPy's; the outermost where there is none."""
    while is_ours(module_of(frame)) and frame.f_back is not None:
        frame = frame.f_back
    return frame


cdef int note(object frame, object a, object b, object result, object axis) except -1:
    """Note that `a` and `b` were compared, or the elements of `a` along an axis."""
    cdef object code
    cdef Decided place
    cdef Py_ssize_t size
    cdef tuple margins
    if module_of(frame).startswith("arraygrad.adoption."):      # what stands in for a function of the program's
        frame = callers(frame)
    code = frame.f_code
    key = (<size_t><PyObject*>code << 16) + frame.f_lasti
    places = decisions_in(arraygrad_decisions)
    place = places.get(key)
    if place is None:
        place = Decided()
        place.code, place.at, place.line = code, frame.f_lasti, frame.f_lineno
        size = result.size if isinstance(result, numpy.ndarray) else 1
        place.several = size >= SEVERAL or axis is not None
        place.start = IGNORED_OF_SEVERAL if place.several else IGNORED
        place.stride = 1 + (size - 1) // LARGE if size else 1
        place.held = place.failed = False
        place.bounded = not place.several and axis is None
        place.size = -1.0
        place.epsilon = epsilon_of(a if isinstance(a, TensorBase) else b)
        place.ignored = is_ours(module_of(frame))
        place.forget()
        places[key] = place
    place.count += 1
    if place.ignored:
        return 0
    note_outcome(place, result)
    if place.bounded:
        place.bounded = note_size(place, a, b)
    if place.count <= place.start:
        return 0
    if place.count >= ASKED and not place.asked:
        place.asked = True
        if _selects is not None and not _selects(frame):
            return place.ignore()
    if place.paused and place.count <= place.next - BLOCK:
        return 0
    try:
        margins = margins_of(a, b, axis)
        note_margins(place, margins, numpy.shape(result if axis is None else margins[0][0]))
    except (TypeError, ValueError):     # a large array of a library that does not give it to NumPy
        place.ignore()
    return 0


cdef int note_outcome(Decided place, object result) except -1:
    """Note whether the comparison before said what the first one did, now that it was not the last one."""
    if place.held is None:
        return 0
    if place.outcome is not None:
        if numpy.shape(place.held) in ((), numpy.shape(place.outcome)):
            place.held, place.failed = place.held | place.outcome, place.failed | numpy.logical_not(place.outcome)
        else:
            place.held = place.failed = True
    if not isinstance(result, (bool, int, float, numpy.ndarray, numpy.generic)):
        place.held = place.failed = place.outcome = None
        return 0
    if numpy.ndim(result):
        result = result.flat[::place.stride]
    if place.chosen is None:
        place.chosen = result
    place.outcome = numpy.equal(result, place.chosen) if numpy.shape(result) == numpy.shape(place.chosen) else None
    if place.outcome is None:
        place.chosen = None
    return 0


cdef bint note_size(Decided place, object a, object b) except -1:
    """Whether a size and a bound are compared here still: Note [Sizes and bounds]."""
    cdef double x = 0.0, bound = 0.0, size, last = place.size
    if not read(a, &x) or not read(b, &bound):
        return False
    if last < 0.0:              # the first one
        place.swapped = x < bound if requires(a) and requires(b) else requires(b)
        place.bound = x if place.swapped else bound
    if place.swapped:
        x, bound = bound, x
    if not 0.25 * place.bound <= bound <= 4.0 * place.bound or not bound > 0.0 or not x >= 0.0:
        return False
    place.size = size = x / bound
    if size <= 1.0:
        if last > 1.0:
            place.before = last
            return size <= 0.75 * last
        return last < 0.0 or size <= last
    if 0.0 <= last <= 1.0:
        place.restarts += 1
        return size > place.before
    return True


cdef bint read(object x, double* number) except -1:
    cdef TensorBase t
    if is_tensor(x):
        t = <TensorBase>x
        return not t.value.meta.ndim and (<Backend>t.value.meta.ops).read_number(t.value.raw, number)
    if isinstance(x, (float, int, numpy.floating)):
        number[0] = x
        return True
    return False


cdef double epsilon_of(object x) except -1:
    try:
        return float(numpy.finfo((<TensorBase>x).value.raw.dtype).eps)
    except (AttributeError, TypeError, ValueError):     # of another library, of integers
        return 2.0**-52


cdef tuple margins_of(object a, object b, object axis):
    if axis is not None:
        return (two_smallest(a, axis[0]),)
    if _factors is not None:
        for x, other in ((a, b), (b, a)):
            if isinstance(x, TensorBase) and (<TensorBase>x).tracked and is_zero(other):
                found = _factors(x)
                if found is not None:
                    return found
    return ((a, b),)


cdef bint is_zero(object x) except -1:
    if isinstance(x, (float, int)):
        return x == 0
    return isinstance(x, (numpy.ndarray, numpy.generic)) and x.dtype.kind in "fiu" and not x.any()


cdef tuple two_smallest(object x, axis):
    """A margin: the smallest elements along an axis (None: of all), and those that come next."""
    cdef object raw
    if axis is None:
        x, axis = x.ravel(), 0
    raw = (<TensorBase>x).value.raw
    if not isinstance(raw, numpy.ndarray) or not raw.ndim or raw.shape[axis] < 2:
        raise ValueError
    order = numpy.moveaxis(numpy.argpartition(raw, 1, axis), axis, 0)[:2]
    others = numpy.meshgrid(*[numpy.arange(n) for n in order.shape[1:]], indexing="ij", sparse=True)
    found = [x[(*others[:axis % raw.ndim], at, *others[axis % raw.ndim:])] for at in order]
    return found[0], found[1]


cdef int note_margins(Decided place, tuple margins, tuple shape) except -1:
    cdef Py_ssize_t at = len(place.first)
    values = tuple([(sample(a, shape, place.stride), sample(b, shape, place.stride)) for a, b in margins])
    if place.paused:
        place.first.append(values)
        if place.count >= place.next:
            place.largest, near = _approach(place.first, place.largest)
            place.forget()
            place.paused = not near
            place.next = place.count + max(<Py_ssize_t>BLOCK, place.count // 16)
        return 0
    if at < FIRST:
        place.first.append(values)
        if at < RECORDED or (place.stride == 1 and at % EVERY == 0):
            place.recorded[at] = kept(margins)
        if at == FIRST - 1 and _approach is not None:
            place.largest, near = _approach(place.first, place.largest)
            if not near:
                place.forget()
                place.paused = True
                place.next = place.count + BLOCK
        return 0
    if len(place.last) == LAST:
        del place.last[0]
    place.last.append(values)
    if place.stride == 1:
        if len(place.recent) == LAST:
            del place.recent[0]
        place.recent.append(kept(margins))
    return 0


cdef tuple kept(tuple margins):
    """Margins with (value, edge) in the place of what requires grad, which the program may write into."""
    return tuple([(kept_side(a), kept_side(b)) for a, b in margins])


cdef object kept_side(object x):
    if requires(x):
        return own_value((<TensorBase>x).value.raw), _edge_of(x)
    return x if type(x) is tuple else own_value(raw_of(x))


cdef inline object own_value(object raw):
    return raw.copy() if isinstance(raw, numpy.ndarray) else raw


cdef object sample(object x, tuple shape, Py_ssize_t stride):
    """The value of one side; every `stride`-th element of what it is broadcast to."""
    if type(x) is tuple:                # (value, edge)
        raw = (<tuple>x)[0]
    else:
        raw = (<TensorBase>x).value.raw if isinstance(x, TensorBase) else x
    if stride == 1:
        return own_value(raw)
    return numpy.broadcast_to(raw, shape).flat[::stride]
