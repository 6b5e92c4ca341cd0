"""Many calls of a small function at once: arrays of a library whose arrays are several, of one shape.

May import: adoption.numpy_names, batches, program, implicit.common, transforms.tracked_call, core.containers,
core.constructors, core.tensor, numpy.

Note [Calls at many points]
~~~~~~~~~~~~~~~~~~~~~~~~~~~
(1) The right side of an equation is wanted with its Jacobian at all stages of many steps, and a recorded call costs
    far more than its arithmetic where the state is small. So it is called once, with Tensors over `Batched`: an array
    of shape s that stands for m arrays of that shape, one for each point (Note [Small programs]).
(2) Batched is an array library like others here: the function, the table's rules and adoption see the shape s.
(3) An array of NumPy in an operator beside Batched is a constant, the same at all points. A value that would have to
    be one number (a branch, float(), an index) and differs by point is refused, and so is an array of NumPy in other
    functions. Then, and where the values are not those that the solver had at these points,
    `at_once` raises NoForm. `read_by_point` tells the values: where there are few, as those of a branch, the caller
    calls the function once for the points of each. Otherwise it calls it point by point.
Guarded by tests/implicit/test_calls_at_many_points.py.
"""

import contextlib

import numpy

from arraygrad.adoption.numpy_names import made_over
from arraygrad.batches import derive  # noqa: F401  what operations do to rows
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.tensor import Tensor
from arraygrad.implicit.common import raw
from arraygrad.program import library
from arraygrad.program.values import Batched, NoBatch
from arraygrad.transforms.tracked_call import TrackedCall

__all__ = ["NoForm", "are_close", "as_columns", "at_once", "beside", "read_by_point", "slopes_at"]

_CLOSE = 1e-7  # how near the values have to be, relative to the largest of each component


class NoForm(Exception):
    """A function has no form for many points at once: it is to be called point by point."""


def beside(y, constants):
    """What stands beside `y` in a call: with a Tensor over Batched, arrays of floats are such Tensors."""
    if not isinstance(y, Tensor) or not isinstance(y.array, Batched):
        return constants
    leaves, structure = flatten(constants)
    return unflatten(structure, [wrap_raw(Batched(x, None)) if _is_plain(x) else x for x in leaves])


@contextlib.contextmanager
def as_columns():
    """Within it, arrays of NumPy may stand beside Batched, and arrays that an adopted function makes are Batched.

    So a function may fill them: `out = numpy.zeros(2); out[0] = y[1]`.
    """
    with library.plain_arrays(), made_over(_constant):
        yield


def _constant(array):
    return Batched(array, None)


def _is_plain(x):
    return type(x) is numpy.ndarray and x.dtype.kind in "fc" and x.ndim > 0


def at_once(f, t, y, parameters, known=None, apart=False):
    """The function at many points, and what multiplies by its Jacobians there.

    Parameters
    ----------
    f : callable
        f(t, y, *parameters), of the shape (n,) of y.
    t : numpy.ndarray (m,)
    y : numpy.ndarray (m, n)
    parameters : sequence of numpy.ndarray
        The same at all points.
    known : numpy.ndarray (m, n), optional
        The values that the function has to have.
    apart : bool
        Gradients by the parameters are those of each point, not their sum.

    Returns
    -------
    values : numpy.ndarray (m, n)
    pull : callable
        pull(cotangents (m, n)): gradients by y (m, n) and by each of the parameters, summed over the points; None
        where one is zero. It may be called any number of times.

    Raises
    ------
    NoForm
        If the function has no form for many points, or other values than `known`; `pull` may raise it as well.
    """
    m, n = y.shape
    given = [Batched(numpy.ascontiguousarray(y), m)]
    for p in map(numpy.asarray, parameters):
        given.append(_in_each_row(p, m) if apart else Batched(p, None))
    tracked, values = _called(f, t, given, (n,))
    if known is not None and not are_close(values, known).all():
        raise NoForm

    def pull(cotangents):
        by_y, *rest = _pulled(tracked, values.dtype, cotangents)
        by_y = None if by_y is None else numpy.broadcast_to(by_y.values, (m, n))
        if apart:
            return by_y, *[_rows_of(part, m) for part in rest]
        # A gradient that is the same at all points stands there once.
        return (by_y, *[
            None if part is None else part.values * m if part.rows is None else part.values.sum(axis=0)
            for part in rest
        ])  # fmt: skip

    return values, pull


def slopes_at(f, x, parameters, cotangent):
    """The values of a function at many points, and its gradients by the parameters at each of them.

    Parameters
    ----------
    f : callable
        f(x, *parameters) for a number x, of the shape of the cotangent.
    x : numpy.ndarray (m,)
    parameters : sequence of numpy.ndarray
    cotangent : numpy.ndarray
        The same at all points.

    Returns
    -------
    values : numpy.ndarray (m, *shape)
    gradients : list of numpy.ndarray (m, *shape of the parameter), or None where one is zero

    Raises
    ------
    NoForm
        As `at_once`.
    """
    m = len(x)
    tracked, values = _called(f, x, [_in_each_row(p, m) for p in parameters], cotangent.shape)
    cotangents = numpy.repeat(cotangent[None], m, axis=0)
    return values, [_rows_of(part, m) for part in _pulled(tracked, values.dtype, cotangents)]


def _in_each_row(p, m):
    return Batched(numpy.repeat(p[None], m, axis=0), m)


def _rows_of(part, m):
    return None if part is None else numpy.broadcast_to(part.values, (m, *part.shape))


def _called(f, t, given, shape):
    """(tracked call, values (m, *shape)) of f at points t (m,) with arrays `given`, which are Batched."""
    time = wrap_raw(Batched(numpy.ascontiguousarray(t), len(t)))

    def function(*arrays):
        return f(time, *arrays)

    function.differentiates = True
    try:
        with as_columns():
            tracked = TrackedCall("vjp", function, tuple(given), tuple(range(len(given)))).call()
        value = raw(tracked.outputs[0])
    except Exception as error:  # whatever it is, the call point by point tells it
        raise NoForm from error
    if len(tracked.outputs) != 1 or not isinstance(value, Batched) or value.shape != shape:
        raise NoForm
    return tracked, numpy.broadcast_to(value.values, (len(t), *shape))


def _pulled(tracked, dtype, cotangents):
    """The gradients, Batched or None, of the arrays of a call for cotangents (m, *shape) of its values of a dtype."""
    if not getattr(tracked.outputs[0], "requires_grad", False):
        return (None,) * len(tracked.edges)
    if cotangents.dtype != dtype:
        cotangents = (cotangents if dtype.kind == "c" else cotangents.real).astype(dtype)
    try:
        return tracked.pull((0,), (Batched(cotangents, len(cotangents)),), create_graph=False, keep_graph=True)
    except Exception as error:
        raise NoForm from error


def read_by_point(error):
    """The value for each row that a NoForm is raised for, (rows,); None where it is raised for something else."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, NoBatch):
            values = getattr(error, "values", None)
            return values if values is not None and values.ndim == 1 else None
        error = error.__cause__ or error.__context__
    return None


def are_close(values, known, k=slice(None)):
    """Whether values (m, n) at each point (those `k`) are those that are known (m, n), as a truth value for each."""
    size = numpy.max(numpy.abs(values), axis=0, initial=0.0)
    return numpy.all(numpy.abs(values[k] - known) <= _CLOSE * size + 1e-300, axis=-1)
