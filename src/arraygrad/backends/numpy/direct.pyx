# NumPy's and SciPy's functions called at once, where the table's way to them checks, converts and looks up first.
# May import: numpy (Python only), core.op, backends.numpy.ndarrays, backends.numpy.loops, backends.numpy.ufunc_loops.
#
# What the table's forward does for every library and dtype costs one to ten microseconds; on plain arrays and with
# parameters that nothing is wrong with it comes to one call. That call is made here, with NumPy's values bit by bit.
# Anything else is declined and takes the table's way, errors among it. set_fast_paths(False) leaves that alone.
# Guarded by tests/backends/test_direct_calls.py.
#
# Transforms and factorizations have compiled forwards besides, which do without NumPy's function: Note [Loops of
# generalized ufuncs] in gufuncs.pyx. The first call for a dtype compares such a forward with NumPy's function. Rules
# have them as functions of the raw namespace (RawFunction).
cimport cython
from libc.math cimport fabs
from libc.string cimport memchr

import importlib
import sys
import warnings

import numpy as np

from arraygrad.backends.numpy.ndarrays cimport ArrayView, bools_of, view_of, wrapped
from arraygrad.backends.numpy.loops cimport (
    KIND_DIRECT, SLOT_F32, SLOT_F64, LoopSet, at_first_use, binary_loop, fast_enabled,
)
from arraygrad.backends.numpy.ufunc_loops cimport UfuncLoops, loops_of, run_loops
from arraygrad.core.op cimport Op

from arraygrad.engine.node import keep_for_ever

cdef object _ndarray = np.ndarray


def sorted_copy(x, axis=-1, stable=True):
    """numpy.sort, by the kind that the standard's `stable` asks for."""
    out = x.copy(order="K")
    out.sort(axis, "stable" if stable else None)
    return out


def product(x, axis=None, keepdims=False):
    """numpy.prod of plain arrays."""
    return np.multiply.reduce(x, axis, None, None, keepdims)


def angle_of_real(x):
    """numpy.angle of plain arrays."""
    return np.arctan2(0.0, x)


def distinct(x):
    """The distinct elements of plain arrays in order, as the standard has them: each nan is one."""
    return np.unique(x, equal_nan=False)


# What rules ask of raw arrays of NumPy; other namespaces don't have these functions.

def holds_nowhere(mask):
    """Whether no element of a mask is true."""
    cdef ArrayView v
    if type(mask) is np.bool:
        return not mask
    if bools_of(mask, &v) and (v.c_order or v.f_order):
        return memchr(v.data, 1, <size_t>v.size) == NULL
    return not np.any(mask)


def no_negative(x):
    """Whether an array or number is one of NumPy's real floating-point ones and holds none below zero; nan is none."""
    cdef ArrayView v
    cdef bint found = False
    cdef Py_ssize_t i
    cdef int slot
    if type(x) is np.float64 or type(x) is np.float32:
        return not x < 0
    slot = view_of(x, &v)
    if slot < 0 or slot > SLOT_F64 or not (v.c_order or v.f_order):
        return False
    if slot == SLOT_F64:
        for i in range(v.size):
            found |= (<double*>v.data)[i] < 0.0
    else:
        for i in range(v.size):
            found |= (<float*>v.data)[i] < 0.0
    return not found


def computed_only_where(mask, function, other, x):
    """function(x) of an array, but where a mask does not hold, there `other` (a new array), which is as good."""
    if not (mask.flags.c_contiguous and x.flags.c_contiguous and other.flags.c_contiguous) \
            or 2 * np.count_nonzero(mask) > mask.size:
        return function(x)
    places = mask.reshape(-1).nonzero()[0]
    other.reshape(-1)[places] = function(x.reshape(-1).take(places))
    return other


def is_moderate(x):
    """Whether all elements of a floating-point array are far from zero and from overflow: quotients keep their digits.
    """
    cdef ArrayView v
    cdef int slot = view_of(x, &v)
    cdef bint fine = True
    cdef Py_ssize_t i
    if slot < 0 or slot > SLOT_F64:
        return False
    if not (v.c_order or v.f_order):
        x = np.ascontiguousarray(x)
        view_of(x, &v)
    if slot == SLOT_F64:
        for i in range(v.size):
            fine &= (fabs((<double*>v.data)[i]) > 1e-140) & (fabs((<double*>v.data)[i]) < 1e140)
    else:
        for i in range(v.size):
            fine &= (fabs((<float*>v.data)[i]) > 1e-15) & (fabs((<float*>v.data)[i]) < 1e15)
    return fine


# Operation -> (function, or its name below numpy; NumPy's names of the parameters after the array, None for one that
# has to be at its default, "*" for an array; how many of them are ints that are passed by position). Arrays are passed
# by position, and a keyword that is at its default is not passed.
_TRANSFORM = ("n", "axis", "norm")
_TRANSFORMS = (None, "axes", "norm")
CALLS = {
    **{name: (f"fft.{name}", _TRANSFORM, 0) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{name: (f"fft.{name}", _TRANSFORMS, 0) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{name: (f"fft.{name}", ("axes",), 0) for name in ("fftshift", "ifftshift")},
    "_angle_of_real": (angle_of_real, (), 0),
    "sort": (sorted_copy, ("axis", None, "stable"), 0),
    "prod": (product, ("axis", None, "keepdims"), 0),
    "cumulative_sum": (np.ndarray.cumsum, ("axis", None, None), 0),
    "cumulative_prod": (np.ndarray.cumprod, ("axis", None, None), 0),
    **{name: (getattr(np.ndarray, name), ("axis", "keepdims"), 0) for name in ("any", "all", "argmax", "argmin")},
    "repeat": (np.ndarray.repeat, ("repeats", "axis"), 1),
    "cholesky": ("linalg.cholesky", (None,), 0),
    "svd": ("linalg.svd", ("full_matrices",), 0),
    **{name: (f"linalg.{name}", (), 0) for name in ("eigh", "eigvalsh", "slogdet", "inv", "det")},
    "unstack": ("unstack", ("axis",), 0),
    **{name: (name, ("k",), 0) for name in ("tril", "triu")},
    "trace": (np.ndarray.trace, ("offset", "dtype"), 0),
    "matrix_norm": ("linalg.matrix_norm", ("keepdims", "ord"), 0),
    "vector_norm": ("linalg.vector_norm", ("axis", "keepdims", "ord"), 0),
    "unique_values": (distinct, (), 0),
    "matrix_power": ("linalg.matrix_power", ("n",), 1),
    "take_along_axis": ("take_along_axis", ("*", "axis"), 0),
    "cross": ("linalg.cross", ("*", "axis"), 0),
    "vecdot": ("vecdot", ("*", "axis"), 0),
    "outer": ("outer", ("*",), 0),
    **{f"_{name}": (name, ("*",), 0) for name in ("inner", "matvec", "vecmat")},
}
# Operations of several arrays or numbers that are a ufunc of scipy.special of that name; `zeta` is a function of Python
# there, which calls a ufunc.
UFUNCS = frozenset("jv yn yv iv ive kn kv kve expn gammainc gammaincc gammaincinv gammainccinv betainc betaincc "
                   "betaincinv zeta".split())


@cython.final
@cython.internal
cdef class Direct:
    cdef object function
    cdef tuple names
    cdef int positional
    cdef bint is_ufunc
    cdef UfuncLoops loops       # of the ufunc, None: they can't be called directly
    cdef UfuncLoops base        # of the ufunc for order zero,
    cdef object scale           # the function of the order that the values are multiplied by, and what it gave
    cdef dict scales
    cdef bint is_order          # the first argument of the ufunc is an int, not less than zero
    cdef bint alone             # without an axis for one dimension only
    cdef int most               # axes of an array; 0: any


@cython.final
@cython.internal
cdef class Forward:
    cdef kernel_ptr function
    cdef int place                  # which of the operations that the function computes
    cdef Op op
    cdef int compared           # bits of the slots for which that has been done
    cdef int differing          # bits of those in which results differ


cdef enum:
    MOST_ORDER = 150            # of polygamma: its factorial is finite

cdef LoopSet* MULTIPLY = NULL
cdef list _direct = []          # per Op.index: Direct, its name while it is not looked up, None
cdef list _forwards = []        # per Op.index: Forward, None


def prepare(dict ops):
    """Note which operations have a call here; it is looked up when it is first made."""
    cdef Op op
    _direct.extend([None] * (1 + max([(<Op>op).index for op in ops.values()], default=-1) - len(_direct)))
    _forwards.extend([None] * (len(_direct) - len(_forwards)))
    for name in (*CALLS, *UFUNCS, "polygamma"):
        op = ops.get(name)
        if op is not None and (name not in CALLS or len(op.params) == 1 + len(CALLS[name][1])):
            _direct[op.index] = name
            if name not in CALLS:
                op.fast_kind = KIND_DIRECT      # rules call it at once too


cdef Direct find(Op op):
    cdef Direct d = Direct.__new__(Direct)
    if op.name not in CALLS:
        # The table's own way imports SciPy, by the first call of the function.
        special = sys.modules.get("scipy.special")
        d.function = getattr(special, op.name, None)
        d.is_ufunc = True
        d.is_order = op.name == "expn"
        if op.name == "polygamma" and d.function is not None:
            d.loops = hurwitz(special)
            d.base = loops_of(special.digamma)
            d.scale = special.gamma
            d.scales = {}
            if d.loops is None or d.base is None:
                return None
        elif op.name == "zeta":
            d.loops = hurwitz(special)
            d.function = None
            if d.loops is None:
                return None
        elif not isinstance(d.function, np.ufunc):
            return None
        else:
            d.loops = loops_of(d.function)
    else:
        found, d.names, d.positional = CALLS[op.name]
        if isinstance(found, str):
            owner, _, name = found.rpartition(".")
            found = getattr(getattr(np, owner) if owner else np, name, None)
            found = getattr(found, "_implementation", found)
        if found is None:                       # of a later NumPy
            _direct[op.index] = None
            return None
        d.function = found
        d.alone = op.name in ("cumulative_sum", "cumulative_prod")
        d.most = 2 if op.name == "trace" else 1 if op.name == "outer" else 0
    keep_for_ever(d, d.function, d.names, d.scale, d.scales)
    _direct[op.index] = d
    return d


cdef int offer_direct(dict ops, str name, kernel_ptr function, int place, tuple params, list done) except -1:
    """Let a compiled forward compute an operation, if it has these parameters, before its call is asked."""
    cdef Op op = ops.get(name)
    cdef Forward f
    if op is not None and op.params == params:
        f = Forward.__new__(Forward)
        f.function = function
        f.place = place
        f.op = op
        keep_for_ever(f)
        _forwards[op.index] = f
        done.append(name)
    return 0


cdef object by_forward(Forward f, Op op, object args):
    cdef ArrayView v
    cdef int slot = view_of(args[0], &v)
    if slot < 0 or f.differing & 1 << slot:
        return None
    if not f.compared & 1 << slot:
        if not agrees(f, op.name, slot):
            f.differing |= 1 << slot
            warnings.warn(f"{op.name}: the loop behind NumPy's function gives other values for {args[0].dtype} than "
                          f"the function, which is called instead", RuntimeWarning)
            return None
        f.compared |= 1 << slot
    return f.function(f.place, args)


cdef tuple by_numpy(str name, object x):
    """What NumPy's function gives for an array and no other parameters."""
    if name in ("_eigh_upper", "_eigvalsh_upper"):
        found = getattr(np.linalg, name[1:-6])(x, UPLO="U")
    elif name == "solve":
        found = np.linalg.solve(x, x[:, 0])
    else:
        found = getattr(np.linalg if hasattr(np.linalg, name) else np.fft, name)(x)
    return tuple(found) if isinstance(found, tuple) else (found,)


cdef bint agrees(Forward f, str name, int slot) except -1:
    """Whether a forward gives what NumPy's function does, bit by bit, and declines what that raises errors for."""
    cdef Op op = f.op
    square = np.array([[4.0, 1.0, -2.0], [1.0, 3.0, 0.5], [-2.0, 0.5, 6.0]]).astype("fdFD"[slot])
    with np.errstate(all="ignore"):
        for probe in (square, square.T[:, :2], np.zeros_like(square)):
            found = f.function(f.place, (probe, probe[:, 0], *op.defaults[2:]) if name == "solve" else
                               (probe, *op.defaults[1:]))
            try:
                expected = by_numpy(name, probe)
            except (TypeError, np.linalg.LinAlgError):
                if found is not None:
                    return False
                continue
            if found is None:
                continue
            for a, b in zip(found if type(found) is tuple else (found,), expected):
                if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
                    return False
    return True


@cython.final
cdef class RawFunction:
    """A function of the raw namespace: an operation's compiled forward where it serves the call, else NumPy's.

    Values are those of NumPy's function; results of no axes are arrays, and of several a plain tuple.
    """
    cdef Forward f
    cdef str owner
    cdef object plain               # the library's function; None until the first call that needs it

    def __call__(self, *args, **kwargs):
        cdef Op op = self.f.op
        cdef list given
        if fast_enabled() and 0 < len(args) <= len(op.params):
            given = list(op.defaults)
            given[:len(args)] = args
            for name, value in kwargs.items():
                given[op.positions[name]] = value
            out = by_forward(self.f, op, given)
            if out is not None:
                return out
        if self.plain is None:
            self.plain = getattr(importlib.import_module(f"numpy.{self.owner}"), op.name)
        return self.plain(*args, **kwargs)


def raw_functions(dict ops, str owner):
    """dict name -> RawFunction of what stands in `owner` below numpy and has a compiled forward."""
    cdef Op op
    cdef RawFunction made
    cdef dict found = {}
    for name, op in ops.items():
        if op.entry.extension == owner and 0 <= op.index < len(_forwards) and _forwards[op.index] is not None:
            made = RawFunction.__new__(RawFunction)
            made.f = _forwards[op.index]
            made.owner = owner
            keep_for_ever(made)
            found[name] = made
    return found


cdef UfuncLoops hurwitz(object special):
    """The loops of what scipy.special.zeta calls, which is no public name. None: there is no such ufunc."""
    ufunc = getattr(getattr(special, "_ufuncs", None), "_zeta", None)
    return None if ufunc is None else loops_of(ufunc, special.zeta)


cdef object by_direct(Op op, object args):
    """The result of an operation by one call, None: declined, nothing was done."""
    cdef object found, out
    cdef Direct d
    if not 0 <= op.index < len(_direct):
        return None
    found = _forwards[op.index]
    if found is not None:
        out = by_forward(<Forward>found, op, args)
        if out is not None:
            return out
    found = _direct[op.index]
    if found is None:
        return None
    d = find(op) if type(found) is str else <Direct>found
    if d is None:
        return None
    if d.scale is not None:
        return scaled(d, args[0], args[1])
    return ufunc_of(d, args) if d.is_ufunc else call_of(d, op, <tuple>args)


cdef object scaled(Direct d, object n, object x):
    """polygamma(n, x) = (-1)^(n + 1) n! zeta(n + 1, x), the order an int, as SciPy's function computes it."""
    cdef ArrayView v
    cdef int slot
    if type(n) is not int or not 0 <= n <= MOST_ORDER:
        return None
    slot = view_of(x, &v)
    if slot == SLOT_F32 and n > 0:
        x = x.astype(np.float64)        # SciPy's n is an array of int64, beside which float32 is float64
    elif slot != SLOT_F64:
        return None
    if n == 0:
        return run_loops(d.base, x, None, None)
    values = run_loops(d.loops, <double>(n + 1), x, None)
    if values is None:
        return None
    scale = d.scales.get(n)
    if scale is None:
        scale = d.scales[n] = (-1.0) ** (n + 1) * float(d.scale(n + 1.0))
    if scale != 1.0:
        values = binary_loop(at_first_use(&MULTIPLY, "multiply"), scale, values, values)
    return values if values is None or slot == SLOT_F64 else values.astype(np.float32)


cdef object ufunc_of(Direct d, object args):
    """The ufunc by its loop, else by a call on float64 and numbers, or on float32 alone."""
    cdef ArrayView v
    cdef int slot = -1, here
    cdef bint numbers = False
    cdef list given
    cdef object out
    cdef Py_ssize_t n = len(args)
    if d.is_order and (type(args[0]) is not int or args[0] < 0):
        return None
    if d.loops is not None and n == d.loops.nin:
        out = run_loops(d.loops, args[0], args[1] if n > 1 else None, args[2] if n > 2 else None)
        if out is not None:
            return out
    if d.function is None:
        return None
    given = []
    for arg in args:
        if type(arg) is float or type(arg) is int:
            numbers = True
            arg = float(arg)
        else:
            here = view_of(arg, &v)
            if here < 0 or here > SLOT_F64 or slot >= 0 and slot != here:
                return None
            slot = here
        given.append(arg)
    if slot < 0 or numbers and slot != SLOT_F64:
        return None
    out = wrapped(d.function(*given))
    return out if view_of(out, &v) == slot else None


cdef bint is_axis(object value, Py_ssize_t ndim) except -1:
    return type(value) is int and -ndim <= value < ndim


cdef object call_of(Direct d, Op op, tuple args):
    cdef Py_ssize_t i, ndim
    cdef dict kwargs = None
    cdef object value, second = None
    if type(args[0]) is not _ndarray:
        return None
    ndim = args[0].ndim
    if ndim == 0 or d.alone and ndim > 1 and args[1] is None or d.most and ndim > d.most:
        return None
    for i in range(len(d.names)):
        value = args[i + 1]
        name = d.names[i]
        if i < d.positional:
            if type(value) is not int or value < 0:
                return None
            second = value
            continue
        if name == "*":
            # Where an axis is counted, it is one place of both.
            if type(value) is not _ndarray or value.ndim == 0 or value.ndim != ndim and (d.most or len(d.names) > 1):
                return None
            second = value
            continue
        if value is op.defaults[i + 1]:
            if (name == "axis" or name == "axes") and type(value) is int and not is_axis(value, ndim):
                return None
            continue
        if name is None or name == "norm" and type(value) is not str:
            return None
        if name == "axis" and not (value is None and op.defaults[i + 1] is None or is_axis(value, ndim)):
            if type(value) is not tuple or op.name != "prod":
                return None
        if name == "axes" and type(value) is not tuple:
            return None
        if type(value) is tuple:
            for item in <tuple>value:
                if not is_axis(item, ndim):
                    return None
        if name == "n" and type(value) is not int:
            return None
        if kwargs is None:
            kwargs = {}
        kwargs[name] = value
    if second is not None:
        return d.function(args[0], second) if kwargs is None else d.function(args[0], second, **kwargs)
    return d.function(args[0]) if kwargs is None else d.function(args[0], **kwargs)


# For tests

def try_forward(Op op, tuple args):
    """The result of an operation by the loop behind NumPy's function, None: declined, or there is none."""
    return None if _forwards[op.index] is None else by_forward(_forwards[op.index], op, args)


def forward_agrees(Op op, str dtype):
    """Whether the loop behind NumPy's function gives what the function does."""
    return agrees(_forwards[op.index], op.name, "fdFD".index(dtype))
