# NumPy's generalized ufuncs, those behind numpy.fft and numpy.linalg among them, called by their own inner loops.
# May import: numpy (Python only), backends.numpy.loops.
#
# Note [Loops of generalized ufuncs]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Of the 5 to 15 us that np.fft.fft or np.linalg.inv take for a small array, NumPy's checks in Python and the dispatch
# of the ufunc are most. What they call in the end is a C function per dtype, public in PyUFuncObject as those of
# ufuncs are (Note [Direct loops] in loops.pyx). Modules that hold most of these ufuncs are private to NumPy, hence:
# (1) A loop is used if the ufunc is there, has the core dimensions that are expected, and lists the types.
# (2) What is computed by it is compared with NumPy's public function, by the first call of an operation for each dtype
#     (direct.pyx). One whose results differ takes NumPy's call from then on.
# (3) Results have NumPy's dtypes, shapes and order in memory. Where a loop reports what NumPy would raise an error for,
#     the forwards decline, so that NumPy computes again and raises. Layouts that are not served are declined too.
# Guarded by tests/backends/test_direct_gufuncs.py.
from cpython.exc cimport PyErr_Occurred
from cpython.object cimport PyObject

import importlib

import numpy as np

from arraygrad.backends.numpy.loops cimport N_SLOTS, SLOT_C64

cdef extern from "gufuncs.hpp" namespace "arraygrad" nogil:
    void take_loop(PyObject* ufunc, Py_ssize_t number, bint everywhere, Gufunc* g) noexcept
    int run_gufunc(const Gufunc* g, char** args, const Py_ssize_t* dims, const Py_ssize_t* steps) noexcept

cdef enum:
    NOGIL_WORK = 500            # as NumPy's: from so many elements (or their products) on the GIL is released

_FFT = "numpy.fft._pocketfft_umath"
_LINALG = "numpy.linalg._umath_linalg"
_SQUARE = "(m,m)->(m,m)"
_VALUES = "(m,m)->(m)"
_PAIRS = "(m,m)->(m),(m,m)"
# Per place (the enum of gufuncs.pxd): module, name, core dimensions, types for float32, float64, complex64, complex128;
# numpy.linalg computes float32 and complex64 in double precision.
_LISTED = (
    (_FFT, "fft", "(n),()->(m)", (None, None, "Ff->F", "Dd->D")),
    (_FFT, "ifft", "(m),()->(n)", (None, None, "Ff->F", "Dd->D")),
    (_FFT, "rfft_n_even", "(n),()->(m)", ("ff->F", "dd->D", None, None)),
    (_FFT, "rfft_n_odd", "(n),()->(m)", ("ff->F", "dd->D", None, None)),
    (_FFT, "irfft", "(m),()->(n)", (None, None, "Ff->f", "Dd->d")),
    (_LINALG, "inv", _SQUARE, (None, "d->d", None, "D->D")),
    (_LINALG, "det", "(m,m)->()", (None, "d->d", None, "D->D")),
    (_LINALG, "slogdet", "(m,m)->(),()", (None, "d->dd", None, "D->Dd")),
    (_LINALG, "cholesky_lo", _SQUARE, (None, "d->d", None, "D->D")),
    (_LINALG, "cholesky_up", _SQUARE, (None, "d->d", None, "D->D")),
    (_LINALG, "eigh_lo", _PAIRS, (None, "d->dd", None, "D->dD")),
    (_LINALG, "eigh_up", _PAIRS, (None, "d->dd", None, "D->dD")),
    (_LINALG, "eigvalsh_lo", _VALUES, (None, "d->d", None, "D->d")),
    (_LINALG, "eigvalsh_up", _VALUES, (None, "d->d", None, "D->d")),
    (_LINALG, "svd_f", "(m,n)->(m,m),(p),(n,n)", (None, "d->ddd", None, "D->DdD")),
    (_LINALG, "svd_s", "(m,n)->(m,p),(p),(p,n)", (None, "d->ddd", None, "D->DdD")),
    (_LINALG, "solve", "(m,m),(m,n)->(m,n)", (None, "dd->d", None, "DD->D")),
    (_LINALG, "solve1", "(m,m),(m)->(m)", (None, "dd->d", None, "DD->D")),
    (_LINALG, "lstsq", "(m,n),(m,nrhs),()->(n,nrhs),(nrhs),(),(p)", (None, "ddd->ddid", None, None)),
)

cdef Gufunc _found[N_GUFUNCS][4]
cdef bint _sought[N_GUFUNCS]
# For the transforms, by kind of input (real, complex) and whether there is a factor: whether NumPy computes single
# precision in double. It does where the factor is its int 1: types are then resolved in the order in which they are
# listed, and double precision comes first.
cdef bint _in_double[IRFFT + 1][2][2]


cdef const Gufunc* gufunc(int which, int slot) except? NULL:
    """The loop of a listed ufunc for a dtype, or NULL: there is none."""
    if not _sought[which]:
        seek(which)
    return &_found[which][slot] if _found[which][slot].fn != NULL else NULL


cdef bint in_double(int which, int slot, bint factor) noexcept:
    """Whether NumPy takes a transform of single precision to double. For a transform whose loop was looked for."""
    return _in_double[which][1 if slot >= SLOT_C64 else 0][factor]


cdef bint resolve(int which, object ufunc, str types) except -1:
    # False: this NumPy does not say.
    cdef int kind, factor
    single = np.dtype(np.float32)
    for kind, letter in enumerate("fF"):
        for factor, number in enumerate((int, single)):
            try:
                found = ufunc.resolve_dtypes((np.dtype(letter), number, np.dtype(types[-1])))
            except TypeError:                   # a complex array in a transform of real ones
                continue
            except AttributeError:
                return False
            _in_double[which][kind][factor] = found[1] != single
    return True


def _shape(text):
    """Core dimensions with their names replaced by numbers, in order: other names say the same."""
    names = {}
    letters = "".join([c if c.isalpha() else f" {c} " for c in text.replace(" ", "")])
    return " ".join([str(names.setdefault(word, len(names))) if word.isalpha() else word for word in letters.split()])


cdef int seek(int which) except -1:
    # Two threads that are here at once find the same; what says that it was found is written last.
    cdef int slot
    module, name, signature, types = _LISTED[which]
    try:
        owner = importlib.import_module(module)
    except ImportError:
        owner = None
    ufunc = getattr(owner, name, None)
    if type(ufunc) is np.ufunc and ufunc.signature is not None and _shape(ufunc.signature) == _shape(signature):
        listed = list(ufunc.types)
        for slot in range(N_SLOTS):
            if types[slot] in listed and (which > IRFFT or slot & 1 or resolve(which, ufunc, types[slot])):
                take_loop(<PyObject*>ufunc, listed.index(types[slot]), True, &_found[which][slot])
    _sought[which] = True
    return 0


cdef int run(const Gufunc* g, char** args, const Py_ssize_t* dims, const Py_ssize_t* steps, Py_ssize_t work) except -1:
    """Run a loop; `work` says how long. Returns the floating-point errors that it raised."""
    cdef int errors
    if work > NOGIL_WORK:
        with nogil:
            errors = run_gufunc(g, args, dims, steps)
    else:
        errors = run_gufunc(g, args, dims, steps)
    if PyErr_Occurred() != NULL:            # out of memory
        return -1
    return errors
