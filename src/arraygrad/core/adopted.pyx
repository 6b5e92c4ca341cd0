# What Tensors answer otherwise while an adopted call runs: class, attributes, text, and operators of Python's numbers.
# May import: engine.free_threading, engine.node, core.op, core.value, core.apply, core.convert, core.inplace. (The
# adoption room registers its answers here.)
import importlib

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libc.math cimport fabs, floor, frexp, isfinite, pow
from libc.string cimport memset

from arraygrad.core.apply cimport binary
from arraygrad.core.convert cimport one_element, representation
from arraygrad.core.inplace cimport inplace
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport TensorBase
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport ThreadState, thread_state

from arraygrad.engine.node import keep_for_ever

# Note [Questions of the program]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Some questions have no name that could hold a stand-in: `x.__class__`, `case float():`, `x.shape`, `str(x)`, and
# operators that raise or turn complex for a Python float. A Tensor asks `any_adopted()` first, one load of a counter,
# and then the answers of the adoption room, which ask whether this thread runs an adopted call, and whether the
# instruction that asks belongs to the program: arraygrad's own code and the libraries see a Tensor as it is.
# Where no adopted call runs, a Tensor that a transform follows has `_teller` warn of a question that its plain value
# answers otherwise. Who asks is told by the namespace of the innermost frame of Python code, so that arraygrad's and
# NumPy's own questions cost no more than that. NumPy's compiled code asks each argument for its class in the program's
# frame: instructions that are known to ask nothing themselves are noted (`note_quiet`), and their answer is the type.
# Guarded by tests/adoption/test_adopted_answers.py and tests/adoption/test_unadopted_questions.py.
cdef object _answers = None             # see set_answers
cdef str _teller_name = None            # see set_teller
cdef object _teller = None

cdef extern from "Python.h":
    ctypedef struct PyCodeObject:
        pass

    ctypedef struct PyFrameObject:
        pass

    PyFrameObject* PyEval_GetFrame()
    PyObject* PyEval_GetGlobals()
    PyCodeObject* PyFrame_GetCode(PyFrameObject* frame)
    int PyFrame_GetLasti(PyFrameObject* frame)
    PyObject* PyDict_GetItem(object d, object key)


def set_answers(module):
    """Have `module` answer (arraygrad.adoption.tensor_answers)."""
    global _answers
    _answers = module
    keep_for_ever(module)


def set_teller(str name):
    """Have the module of that name warn where no adopted call runs (arraygrad.adoption.unadopted).

    It is imported by the first question.
    """
    global _teller_name
    _teller_name = name


cdef object teller():
    global _teller
    if _teller is None:
        _teller = importlib.import_module(_teller_name)
        keep_for_ever(_teller)
    return _teller


cdef str asking_module():
    """The name of the module whose Python code runs innermost; None: there is none."""
    cdef PyObject* namespace = PyEval_GetGlobals()
    cdef PyObject* name = NULL
    if namespace != NULL:
        name = PyDict_GetItem(<object>namespace, "__name__")
    if name == NULL or type(<object>name) is not str:
        return None
    return <str>name


cdef inline bint is_ours(str name) except -1:
    return name is not None and name.startswith(("arraygrad.", "numpy."))


cdef bint asked_by_us() except -1:
    """Whether the innermost frame of Python code is arraygrad's or NumPy's, which ask often."""
    return is_ours(asking_module())


cdef inline bint is_followed(TensorBase t) except -1:
    """Whether `t` may be what a transform follows that calls its function on this thread."""
    cdef ThreadState* ts
    if not t.tracked:
        return False
    ts = thread_state()
    return ts.transforms and ts.grad_mode


cdef enum:
    MOST_CODE = 4096            # so much code is known

    QUICK = 256                 # of these instructions so many are found without a look into the dict

cdef struct Quiet:
    PyCodeObject* code          # borrowed from `_quiet`
    Py_ssize_t at

cdef dict _quiet = {}           # id of code -> (the code, 2 * offsets of quiet instructions + whether in adopted calls)
cdef Quiet _quick[QUICK]        # each at the place that its code and offset give. The GIL guards it; without it unused.


def note_quiet(frame, bint adopted):
    """Note that the instruction that a frame is at asks for no class itself, in adopted calls or outside of them."""
    code = frame.f_code
    if code.co_filename.endswith(".pyx"):           # of a build with line events: it stands before the one that asks
        return
    known = _quiet.get(id(code))
    if known is None:
        if len(_quiet) >= MOST_CODE:
            memset(_quick, 0, sizeof(_quick))
            _quiet.clear()
        known = _quiet[id(code)] = (code, set())
    (<set>(<tuple>known)[1]).add(2 * frame.f_lasti + adopted)


cdef bint is_quiet(bint adopted) except -1:
    """Whether the innermost Python code is at such an instruction."""
    cdef PyFrameObject* frame = PyEval_GetFrame()     # borrowed
    cdef PyCodeObject* code
    cdef Py_ssize_t at
    cdef Quiet* place
    cdef object known
    if frame == NULL:
        return False
    code = PyFrame_GetCode(frame)
    Py_DECREF(<object><PyObject*>code)                  # the frame has it
    at = 2 * PyFrame_GetLasti(frame) + adopted
    place = &_quick[((<size_t>code >> 4) + <size_t>at) % QUICK]
    if place.code == code and place.at == at:
        return True
    known = _quiet.get(<Py_ssize_t>code)
    if known is None or at not in <set>(<tuple>known)[1]:
        return False
    if not FREE_THREADED:
        place.code, place.at = code, at
    return True


cdef object class_of(TensorBase t):
    """`t.__class__`."""
    cdef str asker
    cdef object found
    if any_adopted() and _answers is not None and not is_quiet(True) and not asked_by_us():
        found = _answers.class_of(t)
        if found is not type(t):
            return found
    if arraygrad_adopting == NULL and is_followed(t) and not is_quiet(False):
        asker = asking_module()
        if not is_ours(asker) or asker == "numpy._core.numeric":    # which has isscalar
            teller().tell_class(t)
    return type(t)


cdef object asked(TensorBase t, str name, object value):
    """The value of an attribute. Raise AttributeError if an adopted program asks it of what is a Python number."""
    cdef bint followed = is_followed(t)
    if t.value.meta.ndim == 0 and (followed or any_adopted()) and not asked_by_us():
        if any_adopted() and _answers is not None:
            _answers.ask_attribute(t, name)
        if followed:
            teller().tell_attribute(t, name)
    return value


cdef object asked_shape(TensorBase t):
    """`t.shape`."""
    return asked(t, "shape", t.value.meta.shape_tuple())


cdef str text_of(TensorBase t, bint shown):
    """`str(t)`, `repr(t)` if `shown`."""
    found = None if _answers is None else _answers.text_of(t, shown)
    return representation(t) if found is None else found


cdef str formatted(TensorBase t, str spec):
    """`format(t, spec)`, noted for whom reads the number from it."""
    if not spec:
        return str(t)
    text = format(one_element(t, "format"), spec)
    return note_text(text) if t.tracked else text


cpdef str note_text(str text):
    """Text of a Tensor, noted in adopted calls for whom reads a number from it."""
    if any_adopted() and _answers is not None:
        _answers.note_text(text)
    return text


cdef int number(object x, double* value) except -1:
    """Read a real number without axes: 1 if x is one, 0 if not."""
    cdef TensorBase t
    cdef double* place
    if type(x) is float:
        value[0] = <double>x
        return 1
    if isinstance(x, TensorBase):
        t = <TensorBase>x
        if t.value.meta.ndim or t.value.meta.is_complex or not t.value.meta.is_floating:
            return 0
        if t.value.meta.ops.number_at != NULL:
            place = t.value.meta.ops.number_at(<PyObject*>t.value.raw)
            if place != NULL:
                value[0] = place[0]
                return 1
        try:
            value[0] = float(t.value.raw)
        except TypeError:               # an array that stands for several numbers
            return 0
        return 1
    if type(x) is int or type(x) is bool:
        try:
            value[0] = <double>x
            return 1
        except OverflowError:
            return 0
    return 0


cdef object of_numbers(Op op, object a, object b):
    """What Python's numbers give in the place of an operator's result, None where they give no other."""
    cdef double x, y
    cdef bint power = op.name == "pow"
    if _answers is None or not number(b, &y) or y and not power:
        return None
    if power and (not number(a, &x) or (x > 0.0 or (y >= 0.0 if x == 0.0 else y == floor(y))) and is_finite(x, y)):
        return None
    return _answers.of_numbers(op.entry.operator, a, b)


cdef inline bint is_finite(double x, double y) noexcept:
    """Whether x ** y is finite. Where the exponents of 2 tell, no power is computed."""
    cdef int exponent = 0
    frexp(x, &exponent)                         # 2 ** (exponent - 1) <= abs(x) < 2 ** exponent
    return (abs(exponent) + 1) * fabs(y) < 1000.0 and x != 0.0 and isfinite(x) or isfinite(pow(x, y))


cdef object numbers_first(Op op, object a, object b):
    """`binary(op, a, b)`, or what Python's numbers give in its place."""
    found = of_numbers(op, a, b) if any_adopted() else None
    return binary(op, a, b) if found is None else found


cdef object numbers_inplace(Op op, TensorBase a, object b):
    """`inplace(a, op, b)`, or what Python's numbers give in its place."""
    found = of_numbers(op, a, b) if any_adopted() else None
    return inplace(a, op, b) if found is None else found
