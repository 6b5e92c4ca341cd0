# Fourier transforms of plain arrays: forwards and rules.
# May import: engine.arrayops, engine.node, core.op, backends.numpy.direct, backends.numpy.elementwise,
# backends.numpy.gufuncs, backends.numpy.ndarrays, backends.numpy.loops, ops.kinds; backends.numpy.spectra on first use.
#
# A transform over several axes is one pass of a loop of numpy.fft's ufuncs for each axis, in the order in which NumPy
# takes them: Note [Loops of generalized ufuncs] in gufuncs.pyx. Where a pass declines, the whole transform does.
from libc.math cimport sqrt
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact

from arraygrad.backends.numpy.direct cimport offer_direct
from arraygrad.backends.numpy.elementwise cimport attach, saved_value, set_out
from arraygrad.backends.numpy.gufuncs cimport (
    FFT, IFFT, IRFFT, RFFT_EVEN, RFFT_ODD, Gufunc, gufunc, in_double, run,
)
from arraygrad.backends.numpy.ndarrays cimport ArrayView, copy_into, empty_of, view_of
from arraygrad.backends.numpy.loops cimport KIND_COMPLEX, SLOT_C64, SLOT_F64, report
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport Op

from arraygrad.backends.numpy.ndarrays import swap_memory_handler
from arraygrad.ops.kinds import module_on_use

spectra = module_on_use("arraygrad.backends.numpy.spectra")

cdef extern from "weights.hpp" namespace "arraygrad":
    void run_weigh(int slot, char* x, Py_ssize_t rows, Py_ssize_t length, Py_ssize_t start, Py_ssize_t end,
                   double factor) noexcept
    void run_conjugate(int slot, char* x, Py_ssize_t n) noexcept
    void run_real_parts(int slot, const char* x, char* out, Py_ssize_t n) noexcept

cdef enum:
    MOST_AXES = 8

cdef enum Kind:
    FORWARD
    BACKWARD
    HALF                # of real numbers
    WHOLE               # the inverse of HALF

# What a transform is. Its rule is the opposite one, with the factor of the transform itself.
cdef struct Transform:
    Kind kind
    bint forward        # its factor is that of a transform, not of an inverse
    bint mirrored       # the spectrum is conjugated
    bint one_axis       # parameters are (x, n, axis, norm), else (x, s, axes, norm)

_LISTED = (
    ("fft", FORWARD, True, False, True),
    ("ifft", BACKWARD, False, False, True),
    ("rfft", HALF, True, False, True),
    ("irfft", WHOLE, False, False, True),
    ("hfft", WHOLE, True, True, True),
    ("ihfft", HALF, False, True, True),
    ("fftn", FORWARD, True, False, False),
    ("ifftn", BACKWARD, False, False, False),
    ("rfftn", HALF, True, False, False),
    ("irfftn", WHOLE, False, False, False),
)
cdef Transform TRANSFORMS[10]
cdef dict _places = {}              # name of an operation -> place in TRANSFORMS

cdef enum Factor:
    NO_FACTOR
    ROOT_FACTOR         # 1 / sqrt(n)
    FULL_FACTOR         # 1 / n
    STRANGE


# One axis

cdef Factor factor_of(object norm, bint forward):
    """The factor of a transform by the name of its norm. That of the opposite transform with the mirrored norm, too."""
    if type(norm) is not str:
        return STRANGE
    if norm == "backward":
        return NO_FACTOR if forward else FULL_FACTOR
    if norm == "forward":
        return FULL_FACTOR if forward else NO_FACTOR
    return ROOT_FACTOR if norm == "ortho" else STRANGE


cdef int order_of(const ArrayView* v) noexcept:
    """In which order NumPy lays out a result of other lengths: 0: rows, 1: columns first, -1: another one."""
    cdef int i
    if v.ndim <= 1 or v.c_order:
        return 0
    if v.f_order:
        return 1
    for i in range(v.ndim - 1):
        if abs(v.strides[i]) < abs(v.strides[i + 1]) or v.dims[i] == 1 or v.dims[i + 1] == 1:
            return -1
    return 0


cdef object along(object x, Kind kind, Py_ssize_t n, int axis, Factor factor, bint overwrite):
    """One pass: the transform of length n along an axis. None: declined. `overwrite`: x may become the result."""
    cdef ArrayView v, o
    cdef const Gufunc* g
    cdef Py_ssize_t dims[MOST_AXES]
    cdef Py_ssize_t counter[MOST_AXES]
    cdef Py_ssize_t shape[3]
    cdef Py_ssize_t steps[5]
    cdef char* args[3]
    cdef double scale = 1.0
    cdef float scale32 = 1.0
    cdef int slot = view_of(x, &v), order, i, inner = -1, errors = 0, which
    cdef Py_ssize_t left
    cdef object out, given = x
    cdef int to
    if slot < 0 or v.size == 0 or v.ndim > MOST_AXES or n < 1 or factor == STRANGE or kind == HALF and slot > SLOT_F64:
        return None
    order = order_of(&v)
    which = FFT if kind == FORWARD else IFFT if kind == BACKWARD else IRFFT if kind == WHOLE else \
        RFFT_ODD if n % 2 else RFFT_EVEN
    # `slot` becomes that of what the loop reads, `to` that of the result.
    to = slot & 1 if kind == WHOLE else slot | SLOT_C64
    if kind != HALF:
        slot |= SLOT_C64
    g = gufunc(which, slot)
    if order < 0 or g == NULL:
        return None
    if factor == FULL_FACTOR:
        scale, scale32 = 1.0 / n, <float>1.0 / <float>n
    elif factor == ROOT_FACTOR:
        scale, scale32 = 1.0 / sqrt(<double>n), root_of(n)
    if not slot & 1:
        scale = scale32
        if in_double(which, v.slot, factor != NO_FACTOR):
            slot |= 1
            g = gufunc(which, slot)
            if g == NULL:
                return None
    if slot != v.slot:
        x = empty_of(slot, v.ndim, v.dims, order)
        copy_into(x, given)
        view_of(x, &v)
    for i in range(v.ndim):
        dims[i] = v.dims[i]
        counter[i] = 0
        if i != axis and (inner < 0 or v.dims[i] > v.dims[inner]):
            inner = i
    dims[axis] = n // 2 + 1 if kind == HALF else n
    if (overwrite or x is not given) and kind <= BACKWARD and n == v.dims[axis]:
        out = x
    else:
        out = empty_of(slot | SLOT_C64 if kind == HALF else slot & 1 if kind == WHOLE else slot, v.ndim, dims, order)
    view_of(out, &o)
    shape[0], shape[1], shape[2] = 1 if inner < 0 else v.dims[inner], v.dims[axis], dims[axis]
    steps[0], steps[1], steps[2] = 0 if inner < 0 else v.strides[inner], 0, 0 if inner < 0 else o.strides[inner]
    steps[3], steps[4] = v.strides[axis], o.strides[axis]
    args[0], args[1], args[2] = v.data, <char*>&scale, o.data
    if not slot & 1:
        args[1] = <char*>&scale32
    left = v.size // (shape[0] * shape[1])
    while left > 0:
        left -= 1
        errors |= run(g, args, shape, steps, shape[0] * shape[2])
        i = v.ndim - 1
        while i >= 0:
            if i != axis and i != inner:
                counter[i] += 1
                args[0] += v.strides[i]
                args[2] += o.strides[i]
                if counter[i] < v.dims[i]:
                    break
                args[0] -= v.strides[i] * v.dims[i]
                args[2] -= o.strides[i] * v.dims[i]
                counter[i] = 0
            i -= 1
    report(g.name, errors)
    return narrowed(out, to, order)


cdef object narrowed(object out, int slot, int order):
    """A result in the precision of the argument."""
    cdef ArrayView v
    cdef object narrow
    if view_of(out, &v) == slot:
        return out
    narrow = empty_of(slot, v.ndim, v.dims, order)
    copy_into(narrow, out)
    return narrow


cdef inline float root_of(Py_ssize_t n) noexcept:
    # In single precision, as NumPy has it for single precision.
    cdef float root = <float>sqrt(<double><float>n)
    return <float>1.0 / root


cdef object conjugated(object x, bint copied):
    """A dense complex array conjugated in place, or (`copied`) a copy of any."""
    cdef ArrayView v
    cdef object out = x
    if copied:
        view_of(x, &v)
        out = empty_of(v.slot, v.ndim, v.dims, order_of(&v) == 1)
        copy_into(out, x)
    view_of(out, &v)
    if v.slot >= SLOT_C64:
        run_conjugate(v.slot, v.data, v.size)
    return out


cdef bint axis_at(object axis, int ndim, int* at) except -1:
    """The place of an axis; False: no int, or no such axis."""
    cdef Py_ssize_t i
    if not PyLong_CheckExact(axis) or not -ndim <= axis < ndim:
        return False
    i = PyLong_AsSsize_t(axis)
    at[0] = <int>(i + ndim if i < 0 else i)
    return True


cdef bint length_at(object n, Py_ssize_t* length) except -1:
    if not PyLong_CheckExact(n) or not 1 <= n < 1 << 48:
        return False
    length[0] = PyLong_AsSsize_t(n)
    return True


cdef object one(object args, Kind kind, bint forward, bint mirrored):
    """A transform of the parameters (x, n, axis, norm)."""
    cdef ArrayView v
    cdef int axis
    cdef Py_ssize_t n
    cdef object x = args[0], out
    if view_of(x, &v) < 0 or v.ndim == 0 or not axis_at(args[2], v.ndim, &axis):
        return None
    if args[1] is None:
        n = v.dims[axis] if kind != WHOLE else 2 * (v.dims[axis] - 1)
    elif not length_at(args[1], &n):
        return None
    if mirrored and kind == WHOLE and v.slot >= SLOT_C64:
        if order_of(&v) < 0:
            return None
        x = conjugated(x, True)
    out = along(x, kind, n, axis, factor_of(args[3], forward), False)
    return conjugated(out, False) if mirrored and kind == HALF and out is not None else out


# Several axes

cdef struct Axes:
    int n
    int at[MOST_AXES]
    Py_ssize_t length[MOST_AXES]


cdef bint axes_of(object s, object axes, const ArrayView* v, bint whole, Axes* a) except -1:
    """The axes of a transform over several, and its lengths; `whole`: of an irfftn. False: declined."""
    cdef int i, k
    if axes is None:
        a.n = v.ndim if s is None else <int>len(s) if type(s) is tuple or type(s) is list else 0
        if not 0 < a.n <= v.ndim or a.n > MOST_AXES:
            return False
        for i in range(a.n):
            a.at[i] = v.ndim - a.n + i
    elif type(axes) is tuple or type(axes) is list:
        a.n = <int>len(axes)
        if not 0 < a.n <= MOST_AXES:
            return False
        for i in range(a.n):
            if not axis_at(axes[i], v.ndim, &a.at[i]):
                return False
            for k in range(i):
                if a.at[k] == a.at[i]:
                    return False                # the lengths of one may follow those of the other
    else:
        return False
    if s is None:
        for i in range(a.n):
            a.length[i] = v.dims[a.at[i]]
        if whole:
            a.length[a.n - 1] = 2 * (a.length[a.n - 1] - 1)
        return True
    if type(s) is not tuple and type(s) is not list or <int>len(s) != a.n:
        return False
    for i in range(a.n):
        if not length_at(s[i], &a.length[i]):
            return False
    return True


cdef object passes(object x, Kind kind, const Axes* a, Factor factor):
    """A complex transform along each axis, the last one first."""
    cdef int i
    cdef bint overwrite = False
    for i in reversed(range(a.n)):
        x = along(x, kind, a.length[i], a.at[i], factor, overwrite)
        if x is None:
            return None
        overwrite = True
    return x


cdef object several(object args, Kind kind, bint forward):
    """A transform of the parameters (x, s, axes, norm)."""
    cdef ArrayView v
    cdef Axes a
    cdef Factor factor = factor_of(args[3], forward)
    cdef object x = args[0]
    cdef bint overwrite = False
    cdef int i
    if view_of(x, &v) < 0 or v.ndim == 0 or not axes_of(args[1], args[2], &v, kind == WHOLE, &a):
        return None
    if kind <= BACKWARD:
        return passes(x, kind, &a, factor)
    if kind == HALF:
        x = along(x, HALF, a.length[a.n - 1], a.at[a.n - 1], factor, False)
        a.n -= 1
        for i in reversed(range(a.n)):
            if x is not None:
                x = along(x, FORWARD, a.length[i], a.at[i], factor, True)
        return x
    for i in range(a.n - 1):
        x = along(x, BACKWARD, a.length[i], a.at[i], factor, overwrite)
        if x is None:
            return None
        overwrite = True
    return along(x, WHOLE, a.length[a.n - 1], a.at[a.n - 1], factor, overwrite)


cdef object forward_transform(int place, object args):
    """The transform at a place of TRANSFORMS."""
    cdef Transform* t = &TRANSFORMS[place]
    return one(args, t.kind, t.forward, t.mirrored) if t.one_axis else several(args, t.kind, t.forward)


# Rules

cdef object pooled(object function, tuple args):
    """function(*args), while every array that NumPy makes lives in the pool."""
    cdef object handler = swap_memory_handler()
    try:
        return function(*args)
    finally:
        swap_memory_handler(handler)


cdef GradMeta meta_kept(Node node, Frame f):
    """The metadata of the transform's input, or None: not kept, or nothing that the rules of this file serve."""
    cdef ArrayView g
    cdef object slot = saved_value(node, 0)
    if type(slot) is not GradMeta or view_of(f.grad, &g) < 0 or g.ndim == 0 or (<GradMeta>slot).ndim != g.ndim:
        return None
    return <GradMeta>slot


cdef int finish(Frame f, object out, GradMeta meta, const Axes* a) except -1:
    """Hand on a gradient: cut or filled to the lengths of the input, and real where that is."""
    cdef ArrayView v, o
    cdef tuple shape
    cdef int i
    cdef bint fits = True
    cdef object parts
    if meta.ndim > MOST_AXES:
        return 0
    view_of(out, &v)
    for i in range(v.ndim):
        fits = fits and v.dims[i] == meta.dims[i]
    if not fits:
        shape = meta.shape_tuple()
        out = pooled(spectra.fitted_axes, (out, shape, tuple([a.at[i] for i in range(a.n)])))
        view_of(out, &v)
    if v.slot >= SLOT_C64 and not meta.is_complex and (v.c_order or v.f_order):
        parts = empty_of(v.slot - SLOT_C64, v.ndim, v.dims, not v.c_order)
        view_of(parts, &o)
        run_real_parts(v.slot, v.data, o.data, v.size)
        out = parts
    return 1 + set_out(f, 0, out, True)


cdef int complex_rule(Node node, Frame f, Kind opposite, bint forward, bint one_axis) except -1:
    """The opposite transform, with the factor of the transform itself."""
    cdef ArrayView g
    cdef Axes a
    cdef int i
    cdef list args = <list>node.args
    cdef GradMeta meta = meta_kept(node, f)
    cdef object out
    if meta is None:
        return 0
    view_of(f.grad, &g)
    if one_axis:
        a.n = 1
        if not axis_at(args[2], g.ndim, &a.at[0]):
            return 0
    elif not axes_of(args[1], args[2], &g, False, &a):
        return 0
    for i in range(a.n):
        a.length[i] = g.dims[a.at[i]]
    out = passes(f.grad, opposite, &a, factor_of(args[3], forward))
    return 0 if out is None else finish(f, out, meta, &a)


cdef int weigh(object spectrum, Py_ssize_t n, int axis, double weight) except -1:
    """Multiply the frequencies that a half spectrum of n // 2 + 1 stands for twice: not the first, nor n / 2."""
    cdef ArrayView v
    cdef Py_ssize_t end = n // 2 + 1 - (1 if n % 2 == 0 and n > 1 else 0)
    view_of(spectrum, &v)
    if axis == v.ndim - 1 and v.c_order:
        run_weigh(v.slot, v.data, v.size // v.dims[axis], v.dims[axis], 1, end, weight)
    else:
        spectra.weigh_axis(spectrum, end, axis, weight)
    return 0


cdef object half_gradient(object g, Axes* a, Factor factor, Py_ssize_t n, bint mirrored):
    """The gradient of n real numbers for that of their half spectrum (mirrored: conjugated first). None: declined."""
    cdef ArrayView v
    cdef Axes inner = a[0]
    inner.n -= 1
    view_of(g, &v)
    if v.slot < SLOT_C64 or order_of(&v) < 0:
        return None
    if inner.n:
        g = passes(g, BACKWARD, &inner, factor)
    elif mirrored:
        g = conjugated(g, True)
    else:
        g = cloned_spectrum(g)
    if g is None:
        return None
    weigh(g, n, a.at[a.n - 1], 0.5)
    return along(g, WHOLE, n, a.at[a.n - 1], factor, False)


cdef object cloned_spectrum(object x):
    cdef ArrayView v
    view_of(x, &v)
    cdef object out = empty_of(v.slot, v.ndim, v.dims, order_of(&v) == 1)
    copy_into(out, x)
    return out


cdef object whole_gradient(object g, Axes* a, Factor factor, bint mirrored):
    """The gradient of a half spectrum for that of the real numbers that it gives. None: declined."""
    cdef int i
    cdef Py_ssize_t n = a.length[a.n - 1]
    g = along(g, HALF, n, a.at[a.n - 1], factor, False)
    for i in reversed(range(a.n - 1)):
        if g is not None:
            g = along(g, FORWARD, a.length[i], a.at[i], factor, True)
    if g is None:
        return None
    weigh(g, n, a.at[a.n - 1], 2.0)
    return conjugated(g, False) if mirrored else g


cdef int real_rule(Node node, Frame f, bint half, bint forward, bint one_axis, bint mirrored) except -1:
    """The rule of a transform of real numbers (`half`) or to such."""
    cdef ArrayView g
    cdef Axes a
    cdef int i
    cdef Py_ssize_t n = 0
    cdef list args = <list>node.args
    cdef GradMeta meta = meta_kept(node, f)
    cdef object out, length
    if meta is None or meta.ndim > MOST_AXES:
        return 0
    view_of(f.grad, &g)
    if one_axis:
        a.n = 1
        if not axis_at(args[2], g.ndim, &a.at[0]):
            return 0
    elif not axes_of(args[1], args[2], &g, False, &a):
        return 0
    for i in range(a.n):
        a.length[i] = g.dims[a.at[i]]
        if i and a.at[i] in [a.at[k] for k in range(i)]:
            return 0                                # an axis that is transformed twice
    if half:
        length = args[1] if one_axis or args[1] is None else args[1][a.n - 1]
        if length is None:
            n = meta.dims[a.at[a.n - 1]]
        elif not length_at(length, &n):
            return 0
        out = half_gradient(f.grad, &a, factor_of(args[3], forward), n, mirrored)
    else:
        out = whole_gradient(f.grad, &a, factor_of(args[3], forward), mirrored)
    return 0 if out is None else finish(f, out, meta, &a)


cdef int rule_transform(Node node, Frame f) except -1:
    """The rule of any transform of TRANSFORMS."""
    cdef object place = _places.get((<Op>node.op).name)
    cdef Transform* t
    if place is None:
        return 0
    t = &TRANSFORMS[<int>place]
    if t.kind <= BACKWARD:
        return complex_rule(node, f, BACKWARD if t.kind == FORWARD else FORWARD, t.forward, t.one_axis)
    return real_rule(node, f, t.kind == HALF, t.forward, t.one_axis, t.mirrored)


cdef int attach_transforms(dict ops, list forwards, list done) except -1:
    """Give the operations that are transforms their forward and their rule."""
    cdef Op op
    cdef Transform* t
    cdef tuple one_axis = ("x", "n", "axis", "norm"), axes = ("x", "s", "axes", "norm")
    for place, (name, kind, forward, mirrored, along_one) in enumerate(_LISTED):
        t = &TRANSFORMS[<int>place]
        t.kind, t.forward, t.mirrored, t.one_axis = kind, forward, mirrored, along_one
        _places[name] = place
        offer_direct(ops, name, forward_transform, place, one_axis if along_one else axes, forwards)
        if attach(ops, name, rule_transform, ("x_meta",), done) and kind != WHOLE:
            op = ops[name]
            op.complex_rule = True
            op.fast_kind = KIND_COMPLEX
    return 0
