"""`adopt=True`: inside a function that is differentiated, NumPy's creation functions hand out recordable arrays.

May import: core.tensor, namespaces.bind, numpy_api.arrays, numpy_api.rearranging, numpy.

`numpy.zeros(3)` sees no argument that could say that its result will hold recorded values, so NumPy has no protocol for
it, and `out = np.zeros(3); out[0] = x` is refused. `adopted(f)` is a copy of a Python function that runs with another
view of its module: the name that stands for numpy there stands for a namespace whose creation functions wrap their
result. NumPy itself, other code and other threads see nothing of it.

Note [What adoption reaches]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~
(1) Globals are looked up live in the function's own module. What is found is replaced if it is the numpy module, one of
    the creation functions (`from numpy import zeros`), or a Python function of the same module, which is adopted in
    turn: helpers of one file need nothing. Functions defined inside the function share its view.
(2) The same holds for what the function closes over; a Python function in a closure is adopted whatever its module is,
    so decorated functions work. `import numpy` inside the body works too.
(3) Not reached: functions of other modules called by name, methods of classes (but for the one that is given), default
    arguments, which were computed before, and compiled functions. They see NumPy as it is, and where they write a
    recorded value into a plain array that raises, as it does everywhere.
    A Tensor is no numpy.ndarray: code that asks isinstance(x, np.ndarray) takes the other way.
(4) Arrays of integers, booleans and other dtypes without a derivative stay plain arrays.
(5) A function that assigns a global variable is refused: the assignment would not reach its module.
Guarded by tests/numpy_api/test_adoption.py.
"""

import builtins
import dis
import functools
import types

import numpy

from arraygrad.core.tensor import Tensor, asarray
from arraygrad.namespaces.bind import contains_tensor
from arraygrad.numpy_api.arrays import ARRAYS, holds_tensors
from arraygrad.numpy_api.rearranging import Vectorize

__all__ = ["CREATION", "adopted"]


def adopted(f):
    """A copy of a function in which NumPy's creation functions make recordable arrays.

    Parameters
    ----------
    f : callable
        A Python function, a method, a `functools.partial`, or an object whose class has a Python `__call__`.

    Returns
    -------
    callable
        Called as `f`, with the same results; floating-point and complex arrays that zeros, ones, empty, full, eye,
        identity, arange, linspace, array, asarray, the `_like` functions, r_, c_ and vectorize make inside are Tensors.

    Raises
    ------
    TypeError
        If `f` is no Python function, or assigns a global variable.

    Examples
    --------
    >>> import numpy as np
    >>> from arraygrad.numpy_api.adoption import adopted
    >>> type(adopted(lambda: np.zeros(2))()).__name__
    'Tensor'
    """
    return _adopted(f, {})


def _adopted(f, done):
    """`done`: id of a function -> (the function, its copy); keeps recursion finite and the functions alive."""
    if isinstance(f, functools.partial):
        return functools.partial(_adopted(f.func, done), *f.args, **f.keywords)
    if isinstance(f, types.MethodType):
        return types.MethodType(_adopted(f.__func__, done), f.__self__)
    if not isinstance(f, types.FunctionType):
        call = next((vars(cls)["__call__"] for cls in type(f).__mro__ if "__call__" in vars(cls)), None)
        if isinstance(call, types.FunctionType) and not isinstance(f, type):
            return types.MethodType(_adopted(call, done), f)
        raise TypeError(
            f"adopt: expected a Python function, got {getattr(f, '__qualname__', None) or type(f).__name__}: NumPy's "
            "creation functions can be replaced in Python code only; wrap it in a function, or make its arrays "
            "recordable with arraygrad.asarray"
        )
    if id(f) in done:
        return done[id(f)][1]
    _check(f.__code__)
    view = _View(f.__globals__, done)
    cells = f.__closure__ and tuple([_Later(cell) for cell in f.__closure__])
    copy = types.FunctionType(f.__code__, view, f.__name__, f.__defaults__, cells and tuple([c.cell for c in cells]))
    copy.__kwdefaults__ = f.__kwdefaults__
    functools.update_wrapper(copy, f)
    done[id(f)] = (f, copy)  # before its closure is looked at: a function may close over itself
    for later in cells or ():
        later.fill(done)
    return copy


def _check(code):
    """Refuse code, or code of a function in it, that assigns a global variable (5)."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            raise TypeError(
                f"adopt: '{code.co_name}' assigns the global variable '{instruction.argval}', which would not reach "
                "its module: return the value instead, or keep it in a list or dict"
            )
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _check(constant)


class _Later:
    """A cell of the copy: the function's own where nothing in it is replaced, so that `nonlocal` writes are shared."""

    __slots__ = ("cell", "own")

    def __init__(self, own):
        self.own = own
        self.cell = own
        try:
            value = own.cell_contents
        except ValueError:  # not assigned yet
            return
        if value is numpy or isinstance(value, types.FunctionType) or _creates(value):
            self.cell = types.CellType()

    def fill(self, done):
        """Put the replacement into the cell (2)."""
        if self.cell is not self.own:
            self.cell.cell_contents = _replacement(self.own.cell_contents, None, done)


class _View(dict):
    """The globals of a module as an adopted function sees them, looked up live (1)."""

    __slots__ = ("_done", "_live")

    def __init__(self, live, done):
        self._live = live
        self._done = done
        # The interpreter takes these from the dict itself.
        super().__init__(__builtins__=_BUILTINS, __name__=live.get("__name__"))

    def __getitem__(self, name):
        return _replacement(self._live[name], self._live, self._done)


def _creates(value):
    try:
        return value in CREATION
    except TypeError:  # not hashable
        return False


def _replacement(value, home, done):
    """What an adopted function gets in place of a value. `home`: globals of its module; None: any module's function."""
    if value is numpy:
        return _NAMESPACE
    if isinstance(value, types.FunctionType):
        inside = value.__globals__ is home or (home is None and not _is_ours(value.__module__))
        if inside and not _creates(value):
            return _adopted(value, done)
    return CREATION[value] if _creates(value) else value


def _is_ours(module):
    return (module or "").partition(".")[0] in ("arraygrad", "numpy")


def _import(name, globals=None, locals=None, fromlist=(), level=0):
    module = builtins.__import__(name, globals, locals, fromlist, level)
    return _NAMESPACE if module is numpy else module


_BUILTINS = {**vars(builtins), "__import__": _import}


# -- the namespace -----------------------------------------------------------------------------------------------------


def _recordable(result):
    """An array with a derivative as a Tensor, also in tuples; anything else as it is (4)."""
    if isinstance(result, tuple):
        return tuple([_recordable(item) for item in result])
    if type(result) is numpy.ndarray and result.dtype.kind in "fc":
        return asarray(result)
    return result


def _creating(function):
    """A creation function whose result is recordable; arguments may be Tensors where NumPy's may not."""

    @functools.wraps(function)
    def create(*args, **kwargs):
        return _recordable(function(*args, **kwargs))

    return create


def _from_data(function):
    """numpy.array and its like: of Tensors and lists of them, recorded; of anything else NumPy's, made recordable."""

    @functools.wraps(function)
    def create(obj, *args, **kwargs):
        if not holds_tensors(obj):
            return _recordable(function(obj, *args, **kwargs))
        return ARRAYS[function](obj, *args, **kwargs)

    return create


def _full(shape, fill_value, dtype=None, order="C", **kwargs):
    if isinstance(fill_value, Tensor):
        value = fill_value if dtype is None else fill_value.astype(numpy.dtype(dtype))
        return numpy.broadcast_to(value, shape).copy()
    return _recordable(numpy.full(shape, fill_value, dtype, order, **kwargs))


def _full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, **kwargs):
    return numpy.full_like(asarray(a), fill_value, dtype, order, subok, shape, **kwargs)


class _Joined:
    """numpy.r_ and numpy.c_: slices, numbers, arrays and Tensors between brackets, joined."""

    __slots__ = ("_columns", "_own")

    def __init__(self, own, columns):
        self._own = own
        self._columns = columns

    def __getitem__(self, key):
        items = key if isinstance(key, tuple) else (key,)
        if not contains_tensor(items):
            return _recordable(self._own[key])
        if isinstance(items[0], str):
            raise TypeError("numpy.r_: a string of axes is not supported beside Tensors: use numpy.concatenate")
        pieces = [numpy.r_[item] if isinstance(item, slice) else item for item in items]
        return numpy.column_stack(pieces) if self._columns else numpy.concatenate(numpy.atleast_1d(*pieces, 0)[:-1])


def _creation():
    """dict numpy function -> what stands for it."""
    plain = (
        "arange", "empty", "empty_like", "eye", "fromfunction", "fromiter", "geomspace", "identity", "linspace",
        "logspace", "ones", "ones_like", "tri", "zeros", "zeros_like", "diag", "vander", "meshgrid", "loadtxt", "load",
        "frombuffer", "copy", "tile", "repeat", "bartlett", "blackman", "hamming", "hanning", "kaiser",
    )  # fmt: skip
    found = {getattr(numpy, name): _creating(getattr(numpy, name)) for name in plain}
    found.update({function: _from_data(function) for function in ARRAYS})
    found[numpy.full] = _full
    found[numpy.full_like] = _full_like
    found[numpy.vectorize] = Vectorize
    return found


class _Namespace(types.ModuleType):
    """numpy, with creation functions that make recordable arrays."""

    def __getattr__(self, name):
        value = getattr(numpy, name)
        return CREATION[value] if _creates(value) else value

    def __dir__(self):
        return dir(numpy)


CREATION = _creation()
_NAMESPACE = _Namespace("numpy", numpy.__doc__)
_NAMESPACE.r_ = _Joined(numpy.r_, False)
_NAMESPACE.c_ = _Joined(numpy.c_, True)
