"""NumPy's protocols on Tensors: `np.sin(t)`, `np.add(array, t)`, `np.sum(t, axis=0)` give recorded Tensors.

May import: ops, core.convert, core.constructors, core.tensor, core.inplace, core.protocol_shapes,
backends.numpy.ufunc_calls, namespaces.bind, numpy_api.functions, numpy_api.gathered, numpy_api.overlaps,
numpy_api.plainly, numpy_api.rearranging, numpy.

`__array_ufunc__` serves every ufunc that a table entry names (`Entry.numpy`) and those of scipy.special that the table
has, `__array_function__` the functions of `gathered`. The work is done on the tensor's own
backend. Anything else raises TypeError with the way out: nothing is ever detached silently.
"""

import functools
import inspect
import sys
import types

import numpy

from arraygrad.backends.numpy import ufunc_calls
from arraygrad.core.constructors import asarray
from arraygrad.core.convert import place
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.inplace import as_scalar, is_scalar, read_apart
from arraygrad.core.protocol_shapes import ptp
from arraygrad.core.protocols import add_primitives, add_protocol_functions, is_served, numpy_function
from arraygrad.core.tensor import Tensor, apply_op, backend_of
from arraygrad.namespaces.bind import function_for, to_tensor
from arraygrad.numpy_api.overlaps import refuse_overlap
from arraygrad.numpy_api.plainly import adopting, are_plain, computed_plainly, implementation, plain_call, stand_in_of
from arraygrad.ops import OPS

__all__ = ["array_function", "array_ufunc", "handlers", "is_of_python", "numpy_name", "ufuncs"]

# What a ufunc call may say without changing what is computed.
_HARMLESS = {
    "order": ("K", "C", "A", "F"),
    "subok": (True, False),
    "signature": (None,),
}


# numpy ufunc -> function of Tensors. Filled on first use; a lost race fills them twice with equal functions.
_ufuncs: dict = {}
_scipy_ufuncs: dict = {}  # filled when scipy.special has been imported, by whoever called it
_plain: dict = {}  # numpy ufunc -> Op, filled by _served()


_gathered: types.ModuleType | None = None


def _written():
    """The module of what is written in Python. It is imported by the first call that no compiled way serves: it would
    be a quarter of `import arraygrad`, and most programs do without it."""
    global _gathered
    if _gathered is None:  # an import statement that finds its module takes as long as a small operation
        from arraygrad.numpy_api import gathered

        _gathered = gathered
    return _gathered


def ufuncs():
    """dict numpy ufunc -> function of Tensors."""
    if not _ufuncs:
        found = {}
        for op in OPS.values():
            for name in op.entry.numpy:
                ufunc = getattr(numpy, name, None)
                if isinstance(ufunc, numpy.ufunc):
                    found.setdefault(ufunc, function_for(op, "arraygrad"))
        for name, function in _written().UFUNCS.items():
            if hasattr(numpy, name):
                found.setdefault(getattr(numpy, name), function)
        found[_CLIP] = numpy.clip  # whose own protocol serves Tensors
        _ufuncs.update(found)
    return _ufuncs


# What an array's own method `clip` calls with two limits. NumPy does not show the ufunc.
_CLIP = numpy._core.umath.clip  # type: ignore[attr-defined]


def _ufunc(ufunc):
    """The function of Tensors that serves a ufunc of NumPy or of scipy.special, None if there is none."""
    function = ufuncs().get(ufunc)
    if function is None:
        if not _scipy_ufuncs:
            _scipy_ufuncs.update(_written().scipy_ufuncs())
            add_primitives(_written().scipy_functions(_settled, _written().scipy_operations()))
        function = _scipy_ufuncs.get(ufunc)
    return function


def is_of_python(ufunc):
    """Whether numpy.frompyfunc has made a ufunc: it knows objects alone."""
    return (
        type(ufunc) is numpy.ufunc
        and ufunc.signature is None
        and ufunc.types == ["O" * ufunc.nin + "->" + "O" * ufunc.nout]
    )


def array_ufunc(ufunc, method, inputs, kwargs):
    """Tensor.__array_ufunc__: run a NumPy ufunc, or one of its methods, on Tensors.

    Raises
    ------
    TypeError
        If the ufunc, its method or a keyword has no recorded counterpart, or if `out` is no Tensor, as in
        `array += tensor`.
    """
    if (kwargs or method == "at") and _writes_integers(method, inputs, kwargs):
        kwargs = {key: _raw(value) for key, value in kwargs.items()}
        return getattr(ufunc, method)(*map(_raw, inputs), **kwargs)
    if "out" in kwargs and adopting() and _writes_plain_values(inputs, kwargs):
        return getattr(ufunc, method)(*map(_raw, inputs), **{key: _raw(value) for key, value in kwargs.items()})
    op = _plain.get(ufunc)
    compiled = stand_in_of(ufunc) if op is None and method == "__call__" else None
    if compiled is not None:
        return compiled(*inputs, **kwargs)
    if op is not None and method == "__call__" and len(kwargs) == 1 and isinstance(kwargs.get("out"), tuple):
        (out,) = kwargs["out"]
        if isinstance(out, Tensor) and any(type(x) is Tensor for x in inputs):
            _write(_name(ufunc), out, apply_op(op, read_apart(inputs, (out,))))
            return out
    function = _ufunc(ufunc)
    if function is None and "out" not in kwargs and is_of_python(ufunc):
        from arraygrad.numpy_api.rearranging import of_python_function

        return of_python_function(ufunc, method, inputs, kwargs)
    name = _name(ufunc)
    out = _outs(name, kwargs.pop("out", None), _STEPS.get(ufunc, ()) if method == "__call__" else ())
    if function is None:
        if out is not None:
            raise _unsupported(name, ufunc)
        return computed_plainly(getattr(ufunc, method), inputs, kwargs, lambda: _unsupported(name, ufunc))
    if out is not None:
        inputs = read_apart(inputs, tuple([target for target in out if isinstance(target, Tensor)]))
    if method == "__call__":
        dtype, where = kwargs.pop("dtype", None), kwargs.pop("where", True)
        if ufunc.signature is not None:
            placed = {key: kwargs.pop(key) for key in ("axes", "axis", "keepdims") if key in kwargs}
            function = _written().over_axes(ufunc, function, **placed) if placed else function
        casting = kwargs.pop("casting", "same_kind")
        if casting != "same_kind":
            _check_casting(ufunc, name, casting, inputs, dtype, out)
        _check_keywords(name, kwargs)
        backend = _backend((*inputs, where, *(out or ())))
        inputs = [to_tensor(x, backend) if isinstance(x, list | tuple) else x for x in inputs]
        if not any(isinstance(x, Tensor) for x in inputs):
            inputs[0] = to_tensor(inputs[0], backend)
        if dtype is None and where is True:
            result = function(*inputs)
        else:
            result = _written().call(function, inputs, dtype, where, None if out is None else out[0])
        if out is None and kwargs.get("order", "K") != "K":
            result = _in_order(result, kwargs["order"], inputs)
    else:
        handler = _written().METHODS.get(method)
        if handler is None or ufunc.nout != 1 or (ufunc.nin != 2 and not (method == "at" and ufunc.nin == 1)):
            raise _unsupported(f"{name}.{method}")
        try:
            if method == "reduceat":
                kwargs.pop("indices", None)  # which NumPy passes among the inputs too
            result = handler(ufunc, function, *inputs, **kwargs)
        except TypeError as error:
            if "unexpected keyword" not in str(error):
                raise
            raise TypeError(f"{name}.{method}: {error} for Tensors: leave it out") from None
    if out is None:
        return _settled(None, result, inputs)
    results = result if isinstance(result, tuple) else (result,)
    for target, value in zip(out, results, strict=True):
        if target is not None:
            _write(name, target, value)
    written = tuple([value if target is None else target for target, value in zip(out, results, strict=True)])
    return written if isinstance(result, tuple) else written[0]


@functools.lru_cache(maxsize=1024)
def _parameters(function):
    """The names of a function's parameters up to those that have no position; () where it has no `out` among them."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    names = tuple([p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD or p.kind is p.POSITIONAL_ONLY])
    return names if "out" in names else ()


def _with_out_named(function, args, kwargs):
    """The arguments with `out`, and what follows it, by name: numpy.clip(x, 0.0, 1.0, x)."""
    names = _parameters(function)
    at = names.index("out") if names else len(args)
    if len(args) <= at or args[at] is None:
        return args, kwargs
    return args[:at], {**kwargs, **dict(zip(names[at:], args[at:], strict=False))}


# Functions that write into their first argument: an array there stays what it is, and is refused beside a Tensor.
_WRITING = frozenset((numpy.copyto, numpy.put, numpy.place, numpy.putmask, numpy.put_along_axis, numpy.fill_diagonal))


def _beside_tensors(function, args, kwargs):
    """The arguments with constant Tensors in the places of arrays on a device, which NumPy converts by no means."""
    wrapped = [_wrapped(a) for a in args]
    if function in _WRITING and args:
        wrapped[0] = args[0]
    return tuple(wrapped), {key: value if key == "out" else _wrapped(value) for key, value in kwargs.items()}


def _wrapped(value):
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)([_wrapped(item) for item in value])
    return asarray(value) if _on_device(type(value)) else value


def _on_device(kind):
    return not issubclass(kind, Tensor) and hasattr(kind, "__cuda_array_interface__")


def array_function(function, types, args, kwargs):
    """Tensor.__array_function__: run a NumPy function on Tensors.

    Raises
    ------
    TypeError
        If the function has no recorded counterpart, or is called with an argument that has none.
    """
    written = _written()
    ours = written.FUNCTIONS.get(function) or written.ARRAYS.get(function)
    if len(types) > 1 and any(map(_on_device, types)):
        args, kwargs = _beside_tensors(function, args, kwargs)
    if len(args) > 2 or function in _OUT_IS_SECOND:
        args, kwargs = _with_out_named(function, args, kwargs)
    if getattr(function, "__module__", None) == "numpy.fft" and not is_served(function):
        _serve_fft()
    if ours is not None and (not kwargs or kwargs.get("out") is None):
        if kwargs and "out" in kwargs:
            kwargs = {key: value for key, value in kwargs.items() if key != "out"}
        result = ours(*args, **kwargs)
        return result if function in written.VALUED else _settled(function, result, args)
    module = getattr(function, "__module__", None) or "numpy"
    name = f"{module}.{getattr(function, '__name__', function)}"
    if ours is None and module.startswith("numpy.polynomial") and hasattr(function, "_implementation"):
        return function._implementation(*args, **kwargs)  # NumPy's plain code, which adopted calls record
    if ours is None:
        return computed_plainly(function, args, kwargs, lambda: _unsupported(name))
    (out,) = _outs(name, kwargs["out"])
    theirs = implementation(function)
    given = {key: value for key, value in kwargs.items() if key != "out"}
    refuse_overlap(name, lambda out, *args, **kwargs: theirs(*args, out=out, **kwargs), out, args, given)
    kwargs = {key: read_apart(value, (out,)) for key, value in given.items()}
    result = ours(*read_apart(args, (out,)), **kwargs)
    if function is numpy.clip and kwargs.get("where", True) is not True:
        result = numpy.where(kwargs["where"], result, out)  # what is not chosen stays
    if getattr(result, "shape", out.shape) != out.shape and function not in _BROADCAST_INTO_OUT:
        raise ValueError(f"{name}: a result of shape {result.shape} does not fit into out= of shape {out.shape}")
    out[...] = result
    return out


# Functions whose second parameter is `out`.
_OUT_IS_SECOND = frozenset((numpy.fix, numpy.isneginf, numpy.isposinf))

# Functions that are ufuncs: their results are broadcast into out=.
_BROADCAST_INTO_OUT = frozenset((numpy.clip, numpy.round, numpy.around, numpy.fix, numpy.copyto))

# Functions whose results without axes are arrays in NumPy: the first give scalars here, the others arrays or views.
_MADE_ARRAYS = frozenset("select piecewise copy i0 cov apply_along_axis".split()).union(
    *[op.entry.numpy for op in OPS.values() if op.makes_arrays and op.name != "astype"]
)
_ARRAYS = _MADE_ARRAYS.union(
    "squeeze reshape broadcast_to moveaxis transpose swapaxes rollaxis flip expand_dims diagonal real imag".split()
)


def _settled(function, result, args):
    """The result of a handler: a Tensor without axes is a scalar where NumPy gives one (Note [Scalars])."""
    if type(result) is tuple:
        return tuple([_settled(function, item, args) for item in result])
    if type(result) is not Tensor or result.shape:
        return result
    name = getattr(function, "__name__", None)
    if name in _ARRAYS:
        return as_scalar(result, False) if name in _MADE_ARRAYS and is_scalar(result) else result
    if is_scalar(result) or any(result is arg for arg in args):
        return result
    as_scalar(result)
    return result if is_scalar(result) else as_scalar(result.copy())  # a view of what the handler made


def numpy_name(module, name):
    """What `arraygrad.numpy` shows of NumPy beyond the standard: `numpy.vstack`, `numpy.power`, `numpy.random`.

    Where the two differ the standard wins: `zeros`, `sum` and whatever else it names has its parameters and its result,
    a Tensor. All other public names are NumPy's: recorded where they have a derivative, else the same object.

    Raises
    ------
    AttributeError
        If NumPy has no such public name.
    """
    owner = numpy
    for part in module.split(".")[2:]:
        owner = getattr(owner, part)
    missing = AttributeError(f"module {module!r} has no attribute {name!r}")
    if name.startswith("_") and name != "__version__":
        raise missing
    theirs = getattr(owner, name, missing)
    if theirs is missing:
        raise missing
    try:
        ours = ufuncs().get(theirs) or _written().FUNCTIONS.get(theirs) or _written().ARRAYS.get(theirs)
    except TypeError:  # not hashable, so no function
        ours = None
    if type(ours) is types.FunctionType:
        is_ufunc = isinstance(theirs, numpy.ufunc)
        # A ufunc's protocol does so itself; what makes arrays has parameters that NumPy's lacks.
        own = is_ufunc or theirs in _written().ARRAYS
        shown = numpy_function(theirs, ours if own else _of_any_arrays(theirs, ours), is_ufunc)
        ours = sys.modules[module].__dict__[name] = functools.update_wrapper(shown, ours)
    if ours is not None:
        sys.modules[module].__dict__[name] = ours
        return ours
    return theirs if owner is not numpy else _written().numpys_own(name)


def _of_any_arrays(theirs, ours):
    """`ours`, which takes Tensors, with NumPy's own function for arguments that are all plain."""

    def called(*args, **kwargs):
        if all(map(are_plain, args)) and all(map(are_plain, kwargs.values())):
            return plain_call(theirs, args, kwargs)
        return ours(*args, **kwargs)

    return called


def handlers():
    """What the core asks for when NumPy first calls a Tensor's protocol (protocols.set_protocol_handlers)."""
    return array_ufunc, array_function, ufuncs, _recorded, *_served()


def _recorded():
    """What is recorded as one node, or as an operation under another name (Note [NumPy primitives])."""
    return _written().functions(_settled)


# Reductions whose method of Tensor has the same axis, ddof and keepdims. Those of the first line are faster than
# NumPy's function, where nothing is recorded as well.
_REDUCTIONS = {
    "sum": "sum", "mean": "mean", "max": "max", "min": "min", "amax": "max", "amin": "min", "var": "var", "std": "std",
}  # fmt: skip
_SLOWER = {"prod": "prod", "any": "any", "all": "all", "argmax": "argmax", "argmin": "argmin"}

# Functions of shape and reductions, bound in C (protocol_shapes.pyx), and what is asked of a Tensor.
_SHAPES = """
    reshape ravel transpose swapaxes moveaxis squeeze expand_dims broadcast_to flip flipud fliplr diagonal atleast_1d
    atleast_2d atleast_3d copy shape ndim size real imag real_if_close dot vdot inner trace linalg.norm linalg.trace
    linalg.vector_norm linalg.matrix_norm sum mean max min amax amin var std convolve correlate meshgrid stack hstack
    full_like
"""

# Functions of shape that are a method of Tensor with the same parameters in the same order.
_DIRECT = ("reshape", "ravel", "transpose", "squeeze", "swapaxes", "diagonal", "take")

# For functions that are a method of the array they are given first, with the same parameters in the same
# order: that saves NumPy's own Python wrappers. Keywords other than axis, keepdims and ddof go to the function.
_METHODS = {
    "sum": "sum", "prod": "prod", "max": "max", "min": "min", "amax": "max", "amin": "min", "mean": "mean",
    "var": "var", "std": "std", "cumsum": "cumsum", "cumprod": "cumprod", "repeat": "repeat", "take": "take",
    "trace": "trace", "clip": "clip", "argmax": "argmax", "argmin": "argmin", "any": "any", "all": "all",
    "argsort": "argsort", "round": "round", "around": "round", "nonzero": "nonzero",
}  # fmt: skip

# Functions whose first parameters are those of an operation with a compiled forward.
_FORWARD = {"where": "where", "concatenate": "concat", "concat": "concat", "stack": "stack"}

# Functions whose results share no memory with their arguments, and which write nothing: where nothing is recorded they
# run on the raw arrays (Note [NumPy calls on Tensors]). Results share memory for some arguments of those in the second
# list, and have no derivative in the third.
_FREE = """
    append average bincount block choose clip column_stack compress concat concatenate convolve copy corrcoef
    correlate cov cross cumprod cumsum cumulative_prod cumulative_sum delete diagflat dot dstack ediff1d extract
    full_like histogram hstack inner insert interp kron logspace max mean median min nancumprod nancumsum nanmax nanmean
    nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar outer pad partition percentile poly polyadd
    polyfit polymul polysub polyval prod ptp quantile repeat resize roll roots select sort stack std sum take
    take_along_axis tensordot tile trace trapezoid tril triu unwrap vander var vdot vstack where
    linalg.cholesky linalg.cond linalg.cross linalg.det linalg.eigvals linalg.eigvalsh linalg.inv linalg.matmul
    linalg.matrix_norm linalg.norm linalg.outer linalg.pinv linalg.solve linalg.svdvals linalg.tensordot linalg.trace
    linalg.vecdot linalg.vector_norm
"""
_FRESH = """
    around diag diff einsum gradient linalg.matrix_power linalg.multi_dot meshgrid polyder polyint round
"""
# NumPy imports numpy.fft on first use, so these join when the first of them is called.
_FREE_FFT = """
    fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ifftshift fft.ihfft fft.irfft
    fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
"""
_CONSTANT = """
    all allclose any argmax argmin argpartition argsort argwhere array_equal array_equiv count_nonzero digitize
    empty_like flatnonzero isclose isin iscomplex iscomplexobj isneginf isposinf isreal isrealobj lexsort nanargmax
    nanargmin nonzero ones_like searchsorted zeros_like
"""

# How many leading arguments are arrays that are read; two of all other functions.
_READS = {"where": 3, "interp": 3, "insert": 3, "clip": 3, "einsum": 100, "meshgrid": 100}


def _serve_fft():
    for name in _FREE_FFT.split():
        function = getattr(numpy.fft, name.removeprefix("fft."))
        add_protocol_functions({function: {"free": implementation(function)}})
    add_primitives(_written().fft_functions(_settled))


def _served():
    """What the compiled paths serve (protocols.set_protocol_handlers): dict numpy ufunc -> Op, and dict numpy function
    -> what is known of it."""
    if not _plain:
        _plain.update(_plain_ufuncs())
    found = {}

    def note(name, key, value):
        owner, _, last = name.rpartition(".")
        function = getattr(getattr(numpy, owner) if owner else numpy, last, None)
        if function is not None:
            found.setdefault(function, {})[key] = value(function) if callable(value) else value

    for kind, names in (("free", _FREE), ("fresh", _FRESH), ("constant", _CONSTANT)):
        for name in names.split():
            note(name, kind, implementation)
    methods = (("reduction", Tensor, _REDUCTIONS), ("slower", Tensor, _SLOWER), ("method", numpy.ndarray, _METHODS))
    for key, owner, table in methods:
        for name, method in table.items():
            note(name, key, lambda _, owner=owner, method=method: getattr(owner, method))
    note("ptp", "slower", lambda _: ptp)
    for name in _DIRECT:
        note(name, "direct", lambda _, name=name: getattr(Tensor, name))
    for name, call in (("dot", ufunc_calls.dot), ("copy", ufunc_calls.copy), ("linalg.norm", ufunc_calls.norm)):
        note(name, "free", lambda _, call=call: call)
    for name in ("dot", "linalg.norm"):
        note(name, "scalar", True)
    note("einsum", "contracts", True)
    for name, op in _FORWARD.items():
        note(name, "op", lambda _, op=op: OPS[op])
    for name in _SHAPES.split():
        note(name, "shape", name.removeprefix("linalg."))
    for name, count in _READS.items():
        note(name, "reads", count)
    return _plain, found


def _plain_ufuncs():
    """dict numpy ufunc -> Op, for operations that are exactly a call of the ufunc on one or two arrays."""
    return {
        getattr(numpy, name): op
        for op in OPS.values()
        if tuple(op.params) in (("x",), ("x1", "x2"))
        for name in op.entry.numpy
        if isinstance(getattr(numpy, name, None), numpy.ufunc)
    }


def _backend(inputs):
    """Backend of the Tensor among a ufunc's inputs (it may be in `out` alone: None then)."""
    for x in inputs:
        if isinstance(x, Tensor):
            return backend_of(x)
    return None


def _writes_integers(method, inputs, kwargs):
    """Whether a call writes into plain arrays, and its Tensors hold integers, which have no gradient to lose."""
    out = kwargs.get("out")
    outs = inputs[:1] if method == "at" else out if isinstance(out, tuple) else (out,)
    if not all(type(target) is numpy.ndarray for target in outs):
        return False
    tensors = [x for x in (*inputs, *kwargs.values()) if isinstance(x, Tensor)]
    return all(isinstance(raw_array(t), numpy.ndarray) and t.dtype.kind in "iub" for t in tensors)


def _writes_plain_values(inputs, kwargs):
    """Whether an adopted program writes into arrays of NumPy's by `out=`, or `a *= t`, what no gradient reaches."""
    outs = kwargs["out"] if isinstance(kwargs["out"], tuple) else (kwargs["out"],)
    if not all(type(target) is numpy.ndarray for target in outs):
        return False
    tensors = [x for x in (*inputs, *kwargs.values()) if isinstance(x, Tensor)]
    return all(isinstance(raw_array(t), numpy.ndarray) and not t.requires_grad for t in tensors)


def _raw(x):
    return raw_array(x) if isinstance(x, Tensor) else x


# The results of ufuncs that are steps: their values lose no gradient in a plain array.
_STEPS: dict = {
    numpy.floor: (0,), numpy.ceil: (0,), numpy.trunc: (0,), numpy.rint: (0,), numpy.sign: (0,),
    numpy.floor_divide: (0,), numpy.divmod: (0,), numpy.modf: (1,), numpy.frexp: (1,),
}  # fmt: skip


def _outs(name, out, steps=()):
    """The Tensors (or None) that a call writes its results to, as a tuple; None where there are none.

    Plain arrays of NumPy's are taken for the results at the places `steps`.
    """
    if out is None:
        return None
    outs = out if isinstance(out, tuple) else (out,)
    if all(target is None for target in outs):
        return None
    for i, target in enumerate(outs):
        if target is not None and not isinstance(target, Tensor) and not (i in steps and type(target) is numpy.ndarray):
            from arraygrad.numpy_api.functions import not_written

            raise not_written(name, target, "leave out= out and take the result, x = x + t instead of x += t, or ")
    return outs


def _write(name, out, result):
    """out[...] = result, of which an assignment would leave out axes of length 1 that a ufunc does not."""
    if getattr(result, "ndim", 0) > out.ndim:
        raise ValueError(f"{name}: a result of shape {result.shape} does not fit into out= of shape {out.shape}")
    if isinstance(out, Tensor):
        out[...] = result
    else:  # of `_STEPS`
        numpy.copyto(out, result.detach().numpy() if isinstance(result, Tensor) else result, casting="same_kind")


def _in_order(result, order, inputs):
    """What a ufunc gave, in memory as its order= says; other libraries' arrays as they are."""
    if type(result) is tuple:
        return tuple([_in_order(item, order, inputs) for item in result])
    raw = raw_array(result)
    if type(raw) is not numpy.ndarray:
        return result
    if order == "A":
        shown = [raw_array(x) if isinstance(x, Tensor) else numpy.asarray(x) for x in inputs]
        order = "F" if all(x.flags.f_contiguous for x in shown) else "C"
    done = raw.flags.f_contiguous if order == "F" else raw.flags.c_contiguous
    return result if done else result.copy(order)


def _check_keywords(name, kwargs):
    for key, value in kwargs.items():
        harmless = _HARMLESS.get(key, ())
        if not any(value is h or (isinstance(h, str) and value == h) for h in harmless):
            raise TypeError(f"{name}: {key}= is not supported for Tensors: leave it out")


def _check_casting(ufunc, name, casting, inputs, dtype, out):
    """Pass where casting= changes nothing: NumPy allows the casts by it, and by "same_kind", which is the default.

    Raises
    ------
    numpy.exceptions.UFuncTypeError
        As NumPy does, where `casting` does not allow a cast.
    TypeError
        Where "same_kind" does not.
    """
    empty = [x if type(x) in (int, float, complex) else numpy.empty(0, _dtype_of(x)) for x in inputs]
    outs = [None if one is None else numpy.empty(0, _dtype_of(one)) for one in out or (None,) * ufunc.nout]
    if ufunc.signature is not None:
        empty, outs = [[None if x is None else numpy.empty((0, 0), x.dtype) for x in some] for some in (empty, outs)]
    chosen = {"out": tuple(outs), **({} if dtype is None else {"dtype": dtype})}
    ufunc(*empty, casting=casting, **chosen)  # resolve_dtypes() of NumPy 2.4 ends the process where it refuses an int
    try:
        ufunc(*empty, **chosen)
    except TypeError as error:
        raise TypeError(
            f"{name}: casting={casting!r} allows a cast that no gradient passes ({error}): cast with "
            "t.astype(dtype) where a constant is meant, and leave casting= out"
        ) from None


def _dtype_of(x):
    """NumPy's dtype of an array of any library, a Tensor or a list."""
    return numpy.dtype(str(x.dtype)) if hasattr(x, "dtype") else numpy.asarray(x).dtype


def _name(ufunc):
    """numpy.sin or, for a ufunc that NumPy does not have, its own name."""
    owner = "numpy." if getattr(numpy, ufunc.__name__, None) is ufunc else "ufunc "
    return f"{owner}{ufunc.__name__}"


def _unsupported(name, ufunc=None):
    special = sys.modules.get("scipy.special")
    if special is not None and ufunc is not None and getattr(special, ufunc.__name__, None) is ufunc:
        return TypeError(
            f"{name} was called with a Tensor, which SciPy's own function does not differentiate: take "
            f"arraygrad.scipy.special.{ufunc.__name__}, which is recorded or says why not, or call SciPy's in "
            "arraygrad.grad(f, adopt=True). t.numpy() is detached: no gradient flows through it"
        )
    if name in _WRITERS:
        return TypeError(
            f"{place()}: {name} is not differentiated by arraygrad: it writes plain numbers, without a gradient, and "
            "was called with a Tensor. Give it the values, numpy.asarray(arraygrad.stop_gradient(t)), or step by step "
            "t.numpy(), or call it outside of the function that is differentiated"
        )
    return TypeError(
        f"{place()}: {name} is not differentiated by arraygrad and was called with a Tensor: compose it from "
        "operations that are (the page Operations lists them), or give it the values, to which no gradient flows, "
        "numpy.asarray(arraygrad.stop_gradient(t)), or step by step t.numpy()"
    )


_WRITERS = frozenset(("numpy.save", "numpy.savetxt", "numpy.savez", "numpy.savez_compressed"))
