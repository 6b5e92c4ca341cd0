"""What stands in for CuPy in adopted calls: its functions on Tensors are their NumPy kin, what it makes are Tensors.

May import: adoption.builtin_answers, adoption.either, adoption.exchange, adoption.table, adoption.numpy_names,
adoption.scipy_names, core.constructors, core.tensor, interop.transfer, ops, numpy, the standard library;
arraygrad.scipy by its name, as SciPy is optional. CuPy is never imported: its modules are there once the program has
imported them.

CuPy has a protocol for ufuncs and for nothing else: `cupy.sum(t)`, `cupy.matmul(t, t)` and `cupy.linalg.solve(t, b)`
know its own arrays. NumPy's functions of the same names ask a Tensor, which computes by CuPy and records. So in an
adopted call a function of CuPy's that gets a Tensor is NumPy's of that name.
"""

import functools
import importlib
import inspect
import re
import sys
import types

import numpy

from arraygrad.adoption.builtin_answers import gathered, has_tensor
from arraygrad.adoption.either import EitherClass
from arraygrad.adoption.exchange import is_on, makes_tensors
from arraygrad.adoption.numpy_names import module_of
from arraygrad.adoption.scipy_names import MatrixClass, is_of_matrices
from arraygrad.adoption.table import CREATORS, LIKE, UFUNC_METHODS, stand_in, stand_in_for
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.tensor import Tensor, apply_op
from arraygrad.interop.transfer import to_backend
from arraygrad.ops import OPS

__all__ = ["refresh"]

_FROM_DATA = frozenset("array asarray asanyarray asarray_chkfinite ascontiguousarray asfarray asfortranarray".split())
# Functions of cupyx.scipy.special that are no ufuncs, by the operations of the table that they are, and their defaults.
_OF_SPECIAL = {"softmax": {"axis": None}, "log_softmax": {"axis": None}, "logsumexp": {"axis": None, "keepdims": False}}
_CHAPTERS = ("cupy.lib.stride_tricks", "cupy.linalg", "cupy.fft", "cupyx", "cupy")
# Names that NumPy has dropped, or has not, by what they are there.
_OTHER_NAMES = {
    "alltrue": numpy.all,
    "cumproduct": numpy.cumprod,
    "in1d": lambda a, b, *options, **named: numpy.isin(numpy.ravel(a), b, *options, **named),
    "msort": lambda a: numpy.sort(a, axis=0),
    "product": numpy.prod,
    "round_": numpy.round,
    "row_stack": numpy.vstack,
    "sometrue": numpy.any,
    "trapz": numpy.trapezoid,
    "scatter_add": numpy.add.at,
    "scatter_max": numpy.maximum.at,
    "scatter_min": numpy.minimum.at,
}
_RAISE = ("builtins", "numpy", "cupy", "cupyx", "scipy")
_SAID = re.compile(r"arraygrad|requires grad|Tensor")  # in errors that say what to do
_ROOM = "arraygrad.scipy"
_QUESTION = re.compile("isspmatrix|issparse$")  # whether something is a matrix of that library's
# A chapter comes after its own chapters, which it then holds.
_SCIPY = (
    "linalg", "special", "fft", "ndimage", "signal.windows", "signal", "sparse.linalg", "sparse", "stats",
    "interpolate", "spatial.distance", "spatial",
)  # fmt: skip
# Functions of cupyx.scipy whose names SciPy has dropped, or has not, by what they are there.
_OTHER_OF_SCIPY = {
    "linalg.kron": ("numpy", "kron"),
    "special.btdtr": (f"{_ROOM}.special", "betainc"),
    "special.btdtri": (f"{_ROOM}.special", "betaincinv"),
}

_done: set = set()  # names of modules whose functions are in the table


def refresh():
    """Put what stands in for those modules of CuPy that are loaded by now into the table; whether any was new."""
    names = [*_CHAPTERS, *[f"cupyx.scipy.{part}" for part in _SCIPY]]
    new = [name for name in names if name not in _done and name in sys.modules]
    for name in new:
        _done.add(name)
        _install(name)
    if new:
        finds = getattr(sys.modules.get("cupyx.scipy"), "get_array_module", None)
        if finds is not None:
            stand_in(finds, _module_for(finds))
        for name in ("cupy.lib", "cupyx.scipy", "cupyx", "cupy"):  # each holds those before it, or the modules above
            if isinstance(sys.modules.get(name), types.ModuleType):
                stand_in(sys.modules[name], module_of(sys.modules[name]))
    return bool(new)


def _install(name):
    module = sys.modules[name]
    library, _, chapter = name.partition(".")
    kin = numpy if library == "cupy" else None
    for part in chapter.split(".") if kin is not None and chapter else ():
        kin = getattr(kin, part)
    for function_name, real in list(vars(module).items()):
        if function_name.startswith("_") or (real is not None and real is getattr(kin, function_name, None)):
            continue  # NumPy's own function under CuPy's name is NumPy's
        if library == "cupyx" and _is_cupys(real, function_name):
            continue
        full = f"{name}.{function_name}"
        if type(real).__name__ == "ufunc" and isinstance(getattr(numpy, function_name, None), numpy.ufunc):
            stand_in(real, _Ufunc(real, getattr(numpy, function_name)))
        elif name == "cupy" and function_name in ("r_", "c_"):
            stand_in(real, _Joined(real, stand_in_for(getattr(numpy, function_name))))
        elif isinstance(real, type) and library == "cupyx" and chapter and not issubclass(real, BaseException):
            kind = _OfMatrices if is_of_matrices(real) else _OfTensors
            stand_in(real, kind(real, _class_of_scipy(name, function_name) or _without_tensors(real, full)))
        elif not _is_function(real) and not (name == "cupyx.scipy.special" and _lacks_rules(real, function_name)):
            continue
        elif name == "cupy" and function_name == "get_array_module":
            stand_in(real, _module_for(real))
        elif name == "cupy" and function_name == "asnumpy":
            stand_in(real, _to_host(real))
        elif name == "cupy" and function_name in _FROM_DATA:
            stand_in(real, _from_data(real))
        elif name == "cupyx.scipy.special" and function_name in _OF_SPECIAL:
            stand_in(real, _operation(real, function_name))
        else:
            find = functools.partial(_dispatching, kin, function_name)
            if library == "cupyx" and chapter:
                find = functools.partial(_of_scipy, real, name.removeprefix("cupyx.scipy."), function_name)
            stand_in(real, _gate(real, find, full, name == "cupy"))
    if name != "cupy":
        stand_in(module, module_of(module))


def _is_function(real):
    """Whether a thing of CuPy's is a function, or called as one as `cupy.matmul` is. Its ufuncs ask Tensors."""
    kind = type(real)
    return callable(real) and not isinstance(real, type | types.ModuleType) and kind.__name__ != "ufunc"


def _is_cupys(real, name):
    """Whether a thing of cupyx's is CuPy's own of that name, as `cupyx.scipy.special.round` is."""
    return real is not None and real is getattr(sys.modules.get("cupy"), name, None)


def _lacks_rules(real, name):
    """Whether a ufunc of cupyx.scipy.special is an operation of the table that has no rule for one of its operands."""
    op = OPS.get(name)
    return type(real).__name__ == "ufunc" and op is not None and 0 < len(op.inputs) < len(op.params)


def _broadcast_arrays(*arrays):
    """As CuPy's: what is no array stays as it is."""
    places = [place for place, a in enumerate(arrays) if hasattr(a, "shape")]
    found = dict(zip(places, numpy.broadcast_arrays(*[arrays[place] for place in places]), strict=True))
    return [found.get(place, a) for place, a in enumerate(arrays)]


def _piecewise(x, condlist, funclist):
    """As CuPy's: conditions broadcast to x."""
    conditions = [condlist] if numpy.ndim(condlist) == 0 else condlist
    return numpy.piecewise(x, [numpy.broadcast_to(c, x.shape) for c in conditions], funclist)


# Names whose arguments mean something else to NumPy.
_ARGUMENTS_DIFFER = {"broadcast_arrays": _broadcast_arrays, "piecewise": _piecewise}


def _dispatching(kin, name):
    """NumPy's function of a name, if it asks its arguments."""
    if name in _ARGUMENTS_DIFFER:
        return _ARGUMENTS_DIFFER[name]
    found = getattr(kin, name, None)
    if isinstance(found, numpy.ufunc) or hasattr(found, "_implementation"):
        return found
    other = stand_in_for(found)
    return _OTHER_NAMES.get(name) if other is found else other


class _Ufunc:
    """A ufunc of CuPy's, which asks Tensors where it is called; its methods do not, and are those of NumPy's."""

    __slots__ = ("_kin", "_real")

    def __init__(self, real, kin):
        self._real, self._kin = real, kin

    @property  # type: ignore[misc]
    def __class__(self):
        return type(self._real)

    def __call__(self, *args, **kwargs):
        if is_on() and any(isinstance(a, list | tuple) and has_tensor([a]) for a in args):
            return stand_in_for(self._kin)(*args, **kwargs)
        return self._real(*args, **kwargs)

    def __getattr__(self, name):
        found = getattr(self._real, name)
        return self._method(found, getattr(self._kin, name)) if name in UFUNC_METHODS else found

    def _method(self, real, kin):
        @functools.wraps(real)
        def method(*args, **kwargs):
            return (kin if is_on() and _given(args, kwargs) else real)(*args, **kwargs)

        return method

    def __repr__(self):
        return repr(self._real)

    def __reduce__(self):
        return self._real.__reduce__()


class _Joined:
    """`cupy.r_` and `cupy.c_`: NumPy's where Tensors are joined."""

    __slots__ = ("_kin", "_real")

    def __init__(self, real, kin):
        self._real, self._kin = real, kin

    def __getitem__(self, key):
        return (self._kin if is_on() and has_tensor([key]) else self._real)[key]

    def __getattr__(self, name):
        return getattr(self._real, name)


def _to_host(real):
    """`cupy.asnumpy`: a Tensor comes to NumPy with its gradient."""

    @functools.wraps(real)
    def asnumpy(a, *args, **kwargs):
        return to_backend(a, "numpy") if is_on() and isinstance(a, Tensor) else real(a, *args, **kwargs)

    return asnumpy


def _given(args, kwargs):
    """Whether a Tensor is among the arguments, or what holds one: a recorded matrix, a function."""
    given = [*args, *kwargs.values()]
    return has_tensor(given) or any(map(_is_recorded, given))


def _is_recorded(value):
    if isinstance(value, list | tuple):
        return any(map(_is_recorded, value))
    return hasattr(type(value), "scipy_object") or type(value).__module__.startswith(f"{_ROOM}.sparse")


class _OfTensors(EitherClass):
    """A class of cupyx.scipy's: what is made of Tensors is an object of ours, or refused."""

    __slots__ = ()

    def __call__(self, *args, **kwargs):
        if is_on() and args and type(args[0]).__module__.startswith(f"{_ROOM}.sparse"):
            args, kwargs = _matrix_moved(args, kwargs)
        ours = is_on() and (_given(args, kwargs) or self._real.__name__ == "LinearOperator")
        return (self._ours if ours else self._real)(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self._real, name)


class _OfMatrices(_OfTensors, MatrixClass):
    """One of sparse matrices."""

    __slots__ = ()


def _matrix_moved(args, kwargs):
    """The arguments of a class of cupyx's whose first may be a matrix of SciPy's, as adopted calls make them.

    Recorded values go to the device with their gradient. A constant matrix is SciPy's own object, which cupyx copies.
    """
    matrix = args[0]
    if isinstance(matrix, sys.modules["scipy.sparse"].spmatrix | sys.modules["scipy.sparse"].sparray):
        own = next(kind for kind in type(matrix).__mro__ if kind.__module__.startswith("scipy."))
        return (own(matrix), *args[1:]), kwargs
    if importlib.import_module(f"{_ROOM}.sparse._devices").library_in((matrix,)) is not None:
        return args, kwargs
    triple = matrix.tocoo()
    values = to_backend(triple.data, "cupy")
    return ((values, (triple.row, triple.col)), *args[1:]), {"shape": matrix.shape, **kwargs}


def _class_of_scipy(module, name):
    """The class of ours for one of cupyx.scipy.sparse; None where there is none."""
    chapter = module.removeprefix("cupyx.scipy.")
    if chapter.partition(".")[0] != "sparse":
        return None
    try:
        ours = importlib.import_module(f"{_ROOM}.{chapter}")
    except ImportError:
        return None
    found = getattr(ours, name, None)
    return found if isinstance(found, type) and found.__module__.startswith(_ROOM) else None


def _absent(theirs, known, key):
    """The default of a parameter that SciPy's function has not; what no argument is for one that it has."""
    return _absent if key in known else theirs.parameters[key].default


@functools.cache
def _of_scipy(real, chapter, name):
    """The function of arraygrad.scipy of a name, called as cupyx.scipy's `real` is; None where there is none."""
    try:
        ours = getattr(importlib.import_module(f"{_ROOM}.{chapter}"), name, None)
        if ours is None and f"{chapter}.{name}" in _OTHER_OF_SCIPY:
            module, other = _OTHER_OF_SCIPY[f"{chapter}.{name}"]
            return getattr(importlib.import_module(module), other)
    except ImportError:
        return None
    if not callable(ours):
        return None
    if chapter == "sparse" and _QUESTION.match(name):
        library_in = importlib.import_module(f"{_ROOM}.sparse._devices").library_in
        return lambda x: library_in((x,)) == "cupy" and ours(x)
    rule = importlib.import_module(f"{_ROOM}._declare").REGISTRY.get(f"{chapter}.{name}")
    try:
        theirs = inspect.signature(real)
        known = (
            rule.signature if rule is not None and rule.signature is not None else inspect.signature(ours)
        ).parameters
    except (TypeError, ValueError):
        return ours
    if any(p.kind is p.VAR_POSITIONAL for p in known.values()):
        return ours
    other_names = importlib.import_module(f"{_ROOM}._libraries").other_names
    names = other_names(theirs.parameters, known)
    defaults = {
        key: p.default
        for key, p, own in [(key, p, known.get(names.get(key, key))) for key, p in theirs.parameters.items()]
        if own is not None and key != "plan" and p.default is not p.empty and own.default is not p.empty
        and (type(p.default) is not type(own.default) or p.default != own.default)
    }  # fmt: skip

    @functools.wraps(ours)
    def call(*args, **kwargs):
        given = {**defaults, **theirs.bind(*args, **kwargs).arguments}
        given = {names.get(key, key): value for key, value in given.items() if value is not _absent(theirs, known, key)}
        lacking = [key for key in given if key not in known]
        if lacking:
            raise TypeError(
                f"cupyx.scipy.{chapter}.{name}: an argument is a Tensor, and the derivative is not known for "
                f"{', '.join(lacking)}, which SciPy's function has not: leave it out"
            )
        first = [key for key, p in known.items() if p.kind is p.POSITIONAL_ONLY and key in given]
        return ours(*[given.pop(key) for key in first], **given)

    return call


def _gate(real, find, full, creates):
    """`real` as it is where no Tensor is given; else its kin, by `find()`, or an error that names the way out."""
    fresh = creates and full.rpartition(".")[2] in CREATORS | LIKE

    @functools.wraps(real)
    def function(*args, **kwargs):
        if not is_on():
            return real(*args, **kwargs)
        if not _given(args, kwargs):
            made = real(*args, **kwargs)
            return _own(made) if fresh and makes_tensors() else made
        kin = find()
        if kin is not None and fresh:
            made = kin(*args, **kwargs)
            return to_backend(made, "cupy") if isinstance(made, Tensor) else made
        if kin is not None:
            return _by_kin(full, stand_in_for(kin), args, kwargs)
        try:
            return real(*args, **kwargs)
        except Exception as error:
            raise _no_derivative(full) from error

    return function


def _by_kin(full, kin, args, kwargs):
    """kin(*args, **kwargs), which may take less than CuPy's function does: what it says itself gets CuPy's name."""
    try:
        return kin(*args, **kwargs)
    except Exception as error:
        text, owner = str(error), type(error).__module__.partition(".")[0]
        if _SAID.search(text) is None and owner in _RAISE:  # not an exception of the program's
            name = getattr(kin, "__name__", "<")
            name = "NumPy" if name[0] in "<_" else f"{getattr(kin, '__module__', None) or 'numpy'}.{name}"
            said = (
                f"{full} is given a Tensor, so that {name} computes it, which records and may take less than CuPy's "
                "function does. Arguments that both take are recorded; arraygrad.stop_gradient(x).array is CuPy's "
                "array, without a gradient"
            )
            if error.args == (text,):
                error.args = (f"{text}\n{said}",)
            else:
                error.add_note(said)
        raise


def _without_tensors(real, full):
    """What makes objects of a class of cupyx.scipy's in adopted calls: of raw arrays alone."""

    def make(*args, **kwargs):
        if _given(args, kwargs):
            raise _no_derivative(full)
        return real(*args, **kwargs)

    return make


def _no_derivative(full):
    return TypeError(
        f"{full} knows CuPy's arrays, and arraygrad has no derivative of it: use a function of "
        "t.__array_namespace__(), move the argument to NumPy (arraygrad.to_backend(x, 'numpy'), which keeps its "
        "gradient) for a function of arraygrad.scipy, make a function of raw arrays that calls it "
        "differentiable by arraygrad.primitive or arraygrad.autograd.Function, or give t.array (not recorded)"
    )


def _own(made):
    """A Tensor over an array that nobody else holds; what has no derivative as it is."""
    return wrap_raw(made) if getattr(getattr(made, "dtype", None), "kind", "") in ("f", "c") else made


def _from_data(real):
    """`cupy.array` and its like: a Tensor stays one, a list of Tensors becomes one."""

    @functools.wraps(real)
    def create(*args, **kwargs):
        if not makes_tensors() or not args:
            return real(*args, **kwargs)
        data, *rest = args
        if not has_tensor([data]):
            made = real(*args, **kwargs)
            return made if made is data or made.base is not None or not isinstance(data, list | tuple) else _own(made)
        dtype = rest[0] if rest else kwargs.get("dtype")
        found = data if isinstance(data, Tensor) else gathered(data)
        found = to_backend(found, "cupy") if isinstance(found, Tensor) else found
        if dtype is not None and found.dtype != dtype:
            return found.astype(numpy.dtype(dtype))
        return found.copy() if real.__name__ == "array" and found is data and kwargs.get("copy", True) else found

    return create


def _module_for(real):
    """`get_array_module` of cupy or cupyx.scipy: what it finds takes Tensors, as adopted code sees it."""

    @functools.wraps(real)
    def get_array_module(*args):
        found = real(*map(_array_of, args))
        return stand_in_for(found) if is_on() else found

    return get_array_module


def _array_of(value):
    """The plain array of a Tensor, or that of the values of a recorded matrix; anything else as it is."""
    value = getattr(value, "_values", value) if _is_recorded(value) else value
    return value.detach().array if isinstance(value, Tensor) else value


def _operation(real, name):
    """A function of cupyx.scipy.special that is an operation of the table."""
    op, defaults = OPS[name], _OF_SPECIAL[name]

    @functools.wraps(real)
    def function(x, *args, **kwargs):
        if not is_on() or not _given((x, *args), kwargs):
            return real(x, *args, **kwargs)
        given = {**defaults, **dict(zip(defaults, args, strict=False)), **kwargs}
        unknown = {k for k in given if k not in defaults and given[k] is not None}
        if unknown or len(args) > 1 or isinstance(given["axis"], Tensor):
            ours = _of_scipy(real, "special", name)
            if ours is None:
                raise _no_derivative(f"cupyx.scipy.special.{name}")
            return ours(x, *args, **kwargs)
        if name != "logsumexp" and given["axis"] is None:
            flat = apply_op(OPS["reshape"], OPS["reshape"].bind((x, (-1,)), {}))
            found = apply_op(op, op.bind((flat,), {"axis": 0}))
            return apply_op(OPS["reshape"], OPS["reshape"].bind((found, x.shape), {}))
        return apply_op(op, op.bind((x,), {k: given[k] for k in defaults}))

    return function
