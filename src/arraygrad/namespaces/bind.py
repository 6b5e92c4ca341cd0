"""Public functions from the table: one per entry, with its exact signature.

May import: engine, core.apply, core.op, core.operands, ops, core.constructors, core.tensor, core.calls. Methods of
Tensor are in `numpy_api.methods`, NumPy's protocols in `numpy_api.handlers`.

A function does three things: put its arguments in the order of the entry's parameters, make arrays of Python lists
and of lone scalars, and call `apply_op`, which unwraps, computes, records and wraps. All are compiled closures
(`calls`), so that a call costs no frame of Python; those of one and two arrays have real parameters and bind nothing.
"""

import inspect
import math

import numpy

from arraygrad.core.apply import note_signs
from arraygrad.core.calls import binary_function, general_function, unary_function
from arraygrad.core.constructors import asarray, tensor, wrap_raw
from arraygrad.core.operands import held_array
from arraygrad.core.tensor import Tensor, apply_op, backend_of, install_operators, set_saved_mutation
from arraygrad.engine.node import keep_for_ever
from arraygrad.namespaces.docstrings import documented
from arraygrad.ops import OPS, TABLE

__all__ = [
    "CONSTANTS",
    "DTYPES",
    "NAMES",
    "array_positions",
    "contains_tensor",
    "function_for",
    "make_functions",
    "to_tensor",
]

install_operators(OPS)
note_signs(OPS["sign"], OPS["copysign"])
for _function in (asarray, tensor, set_saved_mutation):
    _function.__doc__ = documented(_function.__name__, (_function.__doc__ or "").rstrip(), "numpy_api")

# What every namespace has besides functions.
CONSTANTS = {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}

DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
)

# What stands at top level besides what the package itself imports: functions, constants, and NumPy's dtypes.
NAMES = frozenset((
    *[name for name, entry in TABLE.items() if not entry.extension and not name.startswith("_")], *CONSTANTS, *DTYPES,
)) - {"asarray"}  # fmt: skip

# Parameters of the standard's functions that are arrays. Everything else is static (axes, shapes, dtypes, flags).
ARRAY_PARAMETERS = frozenset(("x", "x1", "x2", "x3", "condition", "indices", "values", "arrays", "operands"))

_SCALARS = (bool, int, float, complex, numpy.generic)
_LISTED = (list, tuple, *_SCALARS)


def function_for(op, module, default=None, arrays=False):
    """The public function of a table Op, as `module` shows it.

    Parameters
    ----------
    op
        The compiled table entry.
    module
        Dotted name of the module that holds the function: with the entry's name it is where pickle looks for it.
    default
        Function without arguments that returns the Backend of calls without any array, as `sin(0.5)`; None: NumPy.
    arrays : bool
        Whether results without axes are arrays to write, as the standard has them (Note [Scalars], 5, in operands.pyx).
    """
    signature = op.signature
    if _all_positional(signature) and op.sequence < 0:
        places = array_positions(op)
        if len(op.params) == 1 and places == (0,) and op.defaults[0] is inspect.Parameter.empty:
            function = unary_function(op, lambda x: _operand(x, default), arrays)
        elif len(op.params) == 2 and places == (0, 1) and op.defaults[1] is inspect.Parameter.empty:
            function = binary_function(op, lambda pair: _operands(places, pair, default), arrays)
        else:
            function = _general(op, default, arrays)
    else:
        function = _general(op, default, arrays)
    function.__name__ = op.name
    function.__qualname__ = op.name
    function.__module__ = module
    extension = op.entry.extension
    function.__doc__ = documented(f"{extension}.{op.name}" if extension else op.name, op.entry.doc)
    function.__signature__ = signature
    keep_for_ever(function)
    return function


def make_functions(extension, module, default=None, arrays=False):
    """dict name -> public function of every entry of one extension ("", "linalg", "fft") that has a public name."""
    return {
        op.name: function_for(op, module, default, arrays)
        for op in OPS.values()
        if op.entry.extension == extension and not op.name.startswith("_")
    }


def array_positions(op):
    """Positions of the parameters of `op` that are arrays; a sequence of arrays is not among them."""
    return tuple(
        i for i, name in enumerate(op.params) if i != op.sequence and (name in ARRAY_PARAMETERS or i in op.inputs)
    )


def to_tensor(obj, backend=None, dtype=None, device=None):
    """A Tensor of scalars, (nested) lists of scalars and Tensors, an array or a Tensor.

    Lists and scalars become arrays of `backend` (NumPy where it is None); what is a Tensor or an array already keeps
    its own backend.
    """
    if backend is None or isinstance(obj, Tensor) or not isinstance(obj, _LISTED):
        return asarray(obj, dtype=dtype, device=device)
    if isinstance(obj, list | tuple) and contains_tensor(obj):
        return asarray(obj, dtype=dtype, device=device)
    if isinstance(obj, numpy.generic):
        obj = numpy.asarray(obj) if dtype is None else obj.item()  # unlike Python's, NumPy's scalars have a dtype
    return wrap_raw(backend.wrap_raw(backend.asarray(obj, dtype, device)))


def contains_tensor(obj):
    """Whether a nested list or tuple holds a Tensor somewhere."""
    return any(isinstance(item, Tensor) or (isinstance(item, list | tuple) and contains_tensor(item)) for item in obj)


# -- kinds of functions ------------------------------------------------------------------------------------------------


def _general(op, default, arrays):
    positions = array_positions(op)
    return general_function(
        op,
        positions,
        lambda bound: _operands(positions, bound, default),
        None if op.sequence < 0 else lambda bound: _sequence(op.sequence, bound, default),
        numpy.ndarray,
        arrays,
    )


# -- arguments that are no Tensors -------------------------------------------------------------------------------------


def _operand(x, default):
    """A lone operand: scalars and lists become Tensors, arrays pass."""
    if isinstance(x, _LISTED):
        return to_tensor(x, default() if default is not None else None)
    return _given(x)


def _given(x):
    """The array that an object of a program's class holds; anything else as it is."""
    if isinstance(x, Tensor | numpy.ndarray):
        return x
    made = held_array(x)
    return x if made is None else made


def _operands(positions, args, default):
    """`args` with lists made Tensors, and with one scalar made a Tensor where there is no array at all."""
    lists = scalars = found = None
    for i in positions:
        value = args[i]
        if isinstance(value, Tensor):
            found = value.array
        elif value is None:
            continue
        elif isinstance(value, _SCALARS):
            scalars = (i,) if scalars is None else (*scalars, i)
        elif isinstance(value, list | tuple):
            lists = (i,) if lists is None else (*lists, i)
        else:
            found = _given(value)
            if found is not value:
                args = (*args[:i], found, *args[i + 1 :])
                found = found.array if isinstance(found, Tensor) else found
    if found is not None and lists is None and (scalars is None or isinstance(found, numpy.ndarray)):
        return args
    backend = backend_of(found) if found is not None else default() if default is not None else None
    device = None if found is None or isinstance(found, numpy.ndarray) else getattr(found, "device", None)
    args = list(args)
    for i in lists or ():
        args[i] = to_tensor(args[i], backend, device=device)
    if found is None and lists is None and scalars is not None:
        args[scalars[0]] = to_tensor(args[scalars[0]], backend)
    elif found is not None and not isinstance(found, numpy.ndarray):
        # Other libraries take Python scalars only, and those keep the dtype of the arrays.
        for i in scalars or ():
            args[i] = args[i].item() if isinstance(args[i], numpy.generic) else args[i]
    return tuple(args)


def _sequence(position, args, default):
    """`args` with the list of arrays at `position` made of arrays only."""
    items = args[position]
    if isinstance(items, Tensor):
        # A Tensor is a sequence along its first axis, as an array is to numpy.concatenate.
        items = apply_op(OPS["unstack"], (items, 0))
    elif _has_listed(items):
        found = next((i for i in items if not isinstance(i, _LISTED)), None)
        if found is not None:
            backend = backend_of(found.array if isinstance(found, Tensor) else found)
        else:
            backend = default() if default is not None else None
        items = [to_tensor(i, backend) if isinstance(i, _LISTED) else _given(i) for i in items]
    else:
        given = [_given(i) for i in items]
        if all(new is old for new, old in zip(given, items, strict=True)):
            return args
        items = given
    return (*args[:position], items, *args[position + 1 :])


def _has_listed(items):
    # A loop: for a hundred Tensors it costs a quarter of any() over a generator.
    for item in items:
        if type(item) is not Tensor and isinstance(item, _LISTED):
            return True
    return False


def _all_positional(signature):
    kinds = (inspect.Parameter.POSITIONAL_ONLY,)
    return all(p.kind in kinds for p in signature.parameters.values())
