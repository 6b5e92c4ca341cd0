"""Gradients of functions: `grad`, `value_and_grad`, `elementwise_grad`, `vjp`, `jvp`, `linearize`, `jacobian`, ...

May import: _hints, _progress, core.containers, engine, ops, core.constructors, core.tensor, adoption,
transforms.tracked_call, transforms.transformed, transforms.jacobians, transforms.tracked_call_base, numpy.

A transform takes a function and gives a function (or, for `vjp`, `jvp` and `linearize`, results at one point). What
they have in common:

- Arguments may be arrays, Python or NumPy floats, Tensors, or nested dicts, lists, tuples, named tuples and dataclasses
  of them. What is raw comes back raw, of the same library, dtype and device; a Python float comes back as a Python
  float; a Tensor as a Tensor, part of its graph if it requires grad. None, strings and bools inside a container stay.
- `argnums` chooses the differentiated positional arguments, or `argnames` parameters by their names; the others are
  passed as they are. An integer or a name gives one result, a tuple a tuple of results.
- The value of the function is given in the type that it has in a plain call: `np.sum(x)` is a scalar of NumPy's.
- An argument that the result does not depend on has a zero gradient.
- A Python float enters the function as a 0-d array of the precision of the arrays beside it (float64 without any).
- Complex numbers follow PyTorch: the gradient of a real function f at z = x + iy is df/dx + i df/dy, the direction of
  steepest ascent.
- A function may write into its raw arguments in place; the caller's array changes as it does in a plain call.
- The function is adopted: arrays that NumPy's creation functions make while it runs are recordable, so
  `out = np.zeros(3)` and `out[0] = x` have a gradient, and numbers of math stay recorded. What that reaches, and what
  it does not, is said in `arraygrad.adopt`; `adopt=False` and `arraygrad.set_adoption` turn it off.
"""

from __future__ import annotations

import contextlib
import inspect

import numpy

from arraygrad._hints import unexpected
from arraygrad._progress import progress as progress_bar
from arraygrad.adoption.setting import adopted
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.containers import LEAF, unflatten
from arraygrad.core.exposed_memory import raw_handle
from arraygrad.core.tensor import Tensor, edge_of
from arraygrad.transforms.jacobians import forward_blocks, in_structure, reverse_blocks
from arraygrad.transforms.tracked_call import (
    TrackedCall,
    function_name,
    meta_of,
    needs_graph,
    normalize_tree,
    run,
)
from arraygrad.transforms.tracked_call_base import Evaluated, kept_apart
from arraygrad.transforms.transformed import (
    Names,
    Transformed,
    accepts,
    chosen,
    exact,
    flag,
    given_at_once,
    instead,
    one_by_one,
    track_call,
)

__all__ = [
    "elementwise_grad",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
]


@exact
def grad(f=None, argnums=0, has_aux=False, *more, argnames=None, adopt=None, **unknown):
    """The function that computes the gradient of `f`.

    Parameters
    ----------
    f : callable
        Its result is a real scalar: an array of one element.
    argnums : int or tuple of int
        Positions of the arguments to differentiate.
    has_aux : bool
        `f` returns a pair (scalar, auxiliary data).
    argnames : str or tuple of str, optional
        Names of the parameters to differentiate, in the place of `argnums`. They may be given by position or by
        keyword, or be left out where they have a default. A name gives one gradient, a tuple of names a tuple.
    adopt : bool, str or tuple of str, optional
        True: arrays that NumPy's creation functions make while `f` runs are recordable, and numbers of math stay
        recorded, in all modules that `f` leads to (see `arraygrad.adopt`). Names: in these packages and modules only.
        False: nowhere. By default what `arraygrad.set_adoption` says, True in a process that does not call it.

    Returns
    -------
    callable
        Called as `f`; returns the gradient, of the shape, dtype and structure of the argument (a tuple of gradients for
        a tuple of argnums), or (gradient, auxiliary data) with `has_aux`.

    Raises
    ------
    TypeError
        When called: if an argument to differentiate is an integer, a boolean or no array; if the result is complex, an
        array of integers, a truth value or no array.
    ValueError
        When called: if the result is no scalar.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> ag.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    >>> ag.grad(lambda p: p["a"] * p["b"])({"a": 2.0, "b": 5.0})
    {'a': 5.0, 'b': 2.0}
    """
    options = {"argnums": argnums, "has_aux": has_aux, "argnames": argnames, "adopt": adopt}
    return _Gradient(grad, f, *_checked("grad", f, argnums, argnames, adopt, unknown, more), **options)


class _Evaluation(Transformed, Evaluated):
    def __init__(self, transform, original, function, which, **options):
        super().__init__(transform, original, function, which, **options)
        self.named(transform.__name__)

    def named(self, name):
        """Have errors speak of `name`, the transform that the user called."""
        self._called = name
        positions = None if isinstance(self._which, Names) else self._which
        self.prepare(name, self._f, positions, flag(name, self._options["has_aux"]), self._transform is value_and_grad)
        return self

    def track(self, args, kwargs):
        return track_call(self._called, self._f, args, kwargs, self._which, self._options["has_aux"])

    def pulled(self, tracked):
        _scalar(tracked)
        return _pull_ones(tracked)


class _Gradient(_Evaluation):
    differentiates = True


@exact
def value_and_grad(f=None, argnums=0, has_aux=False, *more, argnames=None, adopt=None, **unknown):
    """The function that computes the value of `f` together with its gradient, at hardly more cost than the gradient.

    Parameters and errors are those of `grad`.

    Returns
    -------
    callable
        Called as `f`; returns (value, gradient), or ((value, auxiliary data), gradient) with `has_aux`.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> ag.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    options = {"argnums": argnums, "has_aux": has_aux, "argnames": argnames, "adopt": adopt}
    checked = _checked("value_and_grad", f, argnums, argnames, adopt, unknown, more)
    return _Evaluation(value_and_grad, f, *checked, **options)


@exact
def elementwise_grad(f=None, argnums=0, *more, argnames=None, adopt=None, **unknown):
    """The function that computes the derivative of an elementwise function `f` at every element.

    Precisely: the gradient of the sum of the result, which is the derivative at each element if each element of the
    result depends on the same element of the argument only. Only the shapes are checked.

    Parameters
    ----------
    f : callable
        Its result is a real array of any shape.
    argnums : int or tuple of int
    argnames : str or tuple of str, optional
    adopt : bool, str or tuple of str, optional
        As for `grad`.

    Returns
    -------
    callable
        Called as `f`; returns the derivative, of the shape, dtype and structure of the argument.

    Raises
    ------
    TypeError
        When called: as `grad`.
    ValueError
        When called: if the argument can't be broadcast to the shape of the result, as of `np.sum`. Nothing else shows
        whether `f` is elementwise: of `np.cumsum` this is the gradient of the sum.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> ag.elementwise_grad(np.sin)(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    options = {"argnums": argnums, "argnames": argnames, "adopt": adopt}
    checked = _checked("elementwise_grad", f, argnums, argnames, adopt, unknown, more)
    return _Derivative(elementwise_grad, f, *checked, **options)


class _Derivative(Transformed):
    differentiates = True

    def __call__(self, /, *args, **kwargs):
        tracked = track_call("elementwise_grad", self._f, args, kwargs, self._which)
        meta = _real_array(tracked)
        if tracked.roots() and tracked.structure is LEAF and not _broadcasts(tracked.metas[0].shape, meta.shape):
            raise ValueError(
                f"elementwise_grad: '{function_name(tracked.function)}' made a result of shape {meta.shape} of an "
                f"argument of shape {tracked.metas[0].shape}, so it is not elementwise: use grad for a scalar result, "
                "jacobian for others"
            )
        return _pull_ones(tracked)


def vjp(f, *primals, has_aux=False, adopt=None):
    """The value of `f` and the function that multiplies cotangents by its Jacobian from the left.

    Parameters
    ----------
    f : callable
        Any function of arrays; its results may be a container.
    *primals
        The arguments; all are differentiated.
    has_aux : bool
        `f` returns a pair (result, auxiliary data).
    adopt : bool, str or tuple of str, optional
        As for `grad`.

    Returns
    -------
    value
        What `f` returned, raw where the arguments are.
    pull : callable
        `pull(cotangent)`, with a cotangent shaped and nested as `value`, returns a tuple with the gradient of each of
        `primals`. For a named tuple, one of another class with the same fields will do, as `f` returns it for plain
        arrays, and a tuple. It may be called any number of times; it keeps what the derivatives need alive.
    auxiliary data
        With `has_aux`.

    Raises
    ------
    TypeError, ValueError
        As `grad`; if a cotangent's structure, shape or dtype does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> value, pull = ag.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pull(np.array([1.0, 10.0]))
    (array([ 3., 40.]), array([ 1., 20.]))
    """
    f, _ = _checked("vjp", f, (), None, adopt)
    _check_given("vjp", f, primals, "value, pull = vjp(f, x)")
    with one_by_one("vjp", primals):
        tracked = TrackedCall("vjp", f, primals, tuple(range(len(primals)))).call(has_aux=has_aux)
    metas = [_float_meta(leaf) for leaf in tracked.outputs]

    def pull(cotangent):
        """Gradients of the arguments for a cotangent of the result."""
        given = normalize_tree("vjp", "cotangent", cotangent, tracked.out_structure, metas)
        given = iter(given)
        given = [None if meta is None else next(given) for meta in metas]
        indices = tracked.roots()
        given = [given[i] for i in indices]
        pulled = tracked.pull(indices, given, create_graph=needs_graph(tracked, given), keep_graph=True)
        return tracked.give(pulled, _raw_in(given))

    if has_aux:
        return tracked.value(), pull, tracked.auxiliary()
    return tracked.value(), pull


@exact
def jvp(f, primals, tangents, *, adopt=None, **unknown):
    """The value of `f` and its derivative along `tangents`.

    Parameters
    ----------
    f : callable
    primals, tangents : tuple
        The arguments of `f`, all of which are differentiated, and a direction of the same shapes and structure.
    adopt : bool, str or tuple of str, optional
        As for `grad`.

    Returns
    -------
    (value, tangent)
        Of the same structure and shapes; the tangent has the dtype of the value.

    Raises
    ------
    TypeError, ValueError
        As `grad`; if `tangents` does not fit `primals`.

    Notes
    -----
    The derivative is taken by two reverse passes: the first is linear in its cotangent, and the second differentiates
    that linear function.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> ag.jvp(np.sin, (np.array([0.0, np.pi]),), (np.array([1.0, 2.0]),))
    (array([0.0000000e+00, 1.2246468e-16]), array([ 1., -2.]))
    """
    value, push = _linearize("jvp", f, primals, adopt, unknown)
    return value, push(tangents, False)


def linearize(f, *primals, adopt=None):
    """The value of `f` and its derivative as a linear function of directions.

    Parameters
    ----------
    f : callable
    *primals
        The arguments; all are differentiated.
    adopt : bool, str or tuple of str, optional
        As for `grad`.

    Returns
    -------
    value
    push : callable
        `push(*tangents)`, shaped and nested as `primals`, returns the derivative of the result along them. `f` is not
        called again; use it for many directions at one point.

    Raises
    ------
    TypeError, ValueError
        As `grad`; if the tangents do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> value, push = ag.linearize(lambda x: x**2, np.array([1.0, 2.0]))
    >>> push(np.array([1.0, 0.0])), push(np.array([0.0, 1.0]))
    (array([2., 0.]), array([0., 4.]))
    """
    value, push = _linearize("linearize", f, primals, adopt)

    def push_tangents(*tangents):
        """The derivative of the result along tangents of the arguments."""
        return push(tangents, True)

    return value, push_tangents


@exact
def jacobian(f=None, argnums=0, chunk_size=None, *more, argnames=None, adopt=None, progress=False, **unknown):
    """The function that computes the Jacobian of `f`, row by row, in reverse mode.

    Parameters
    ----------
    f : callable
        Its result is an array of any shape, or a container of them.
    argnums : int or tuple of int
    chunk_size : int, optional
        How many rows may be computed at a time, which bounds the memory that they take. Rows of small arrays go
        through the graph together where its operations allow it; the others are computed one by one.
    argnames : str or tuple of str, optional
    adopt : bool, str or tuple of str, optional
        As for `grad`.
    progress : bool
        Show a bar where it takes longer than two seconds, on a terminal or in a notebook, if tqdm is installed.

    Returns
    -------
    callable
        Called as `f`; returns, in the structure of the result and within that in the structure of the argument, arrays
        of the result's shape followed by the argument's.

        Complex numbers: the rows of a real result are its gradients (see `grad`); a complex result of a complex
        argument must be holomorphic and gives its complex derivatives; of a real argument it gives d(Re f) + i d(Im f).

    Raises
    ------
    TypeError
        When called: as `grad`, but for the kind of the result.
    ValueError
        If `chunk_size` is not positive. When called: if a complex function of a complex argument is not holomorphic
        there.

    See Also
    --------
    jacfwd : column by column, better where the result is larger than the argument.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> ag.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    checked = _checked("jacobian", f, argnums, argnames, adopt, unknown, more)
    if chunk_size is not None and (isinstance(chunk_size, bool) or not isinstance(chunk_size, int) or chunk_size < 1):
        raise ValueError(f"jacobian: chunk_size must be a positive int or None, got {chunk_size!r}")

    options = {
        "argnums": argnums, "chunk_size": chunk_size, "argnames": argnames, "adopt": adopt, "progress": progress,
    }  # fmt: skip
    return _Rows(jacobian, f, *checked, **options)


class _Rows(Transformed):
    differentiates = True

    def __call__(self, /, *args, **kwargs):
        tracked = track_call("jacobian", self._f, args, kwargs, self._which)
        chunk_size = self._options.get("chunk_size")
        found = _followed(
            self._options, "rows", tracked.outputs, lambda done: reverse_blocks(tracked, chunk_size, done)
        )
        return in_structure(tracked, found)


def _followed(options, title, arrays, compute):
    """`compute(done)`, where `done(n)` moves a bar over the elements of `arrays`; None where no bar is asked for."""
    if not options.get("progress"):
        return compute(None)
    with progress_bar(sum([getattr(one, "size", 1) for one in arrays]), title, title.removesuffix("s")) as bar:
        return compute(bar.update)


jacrev = jacobian


@exact
def jacfwd(f=None, argnums=0, *more, argnames=None, adopt=None, progress=False, **unknown):
    """The function that computes the Jacobian of `f`, column by column.

    Parameters, result and errors are those of `jacobian`; it takes one pass per element of the argument where
    `jacobian` takes one per element of the result.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> ag.jacfwd(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    options = {"argnums": argnums, "argnames": argnames, "adopt": adopt, "progress": progress}
    return _Columns(jacfwd, f, *_checked("jacfwd", f, argnums, argnames, adopt, unknown, more), **options)


class _Columns(Transformed):
    differentiates = True

    def __call__(self, /, *args, **kwargs):
        tracked = track_call("jacfwd", self._f, args, kwargs, self._which)
        metas = [meta for _, meta in tracked.live()]
        push = _Pushforward(tracked)
        found = _followed(self._options, "columns", metas, lambda done: forward_blocks(tracked, push, done))
        return in_structure(tracked, found)


@exact
def hessian(f=None, argnums=0, *more, argnames=None, adopt=None, progress=False, **unknown):
    """The function that computes the matrix of second derivatives of `f`.

    Parameters
    ----------
    f : callable
        Its result is a real array.
    argnums : int or tuple of int
    argnames : str or tuple of str, optional
    adopt : bool, str or tuple of str, optional
        As for `grad`.
    progress : bool
        Show a bar where it takes longer than two seconds, on a terminal or in a notebook, if tqdm is installed.

    Returns
    -------
    callable
        Called as `f`; for a scalar (an array of one element) and an array argument of shape s returns an array of shape
        s + s, for a result of shape r one of shape r + s + s. For containers and tuples of argnums: in the structure of
        the argument, and within that again, the block of the two; None where the argument holds no number.

    Raises
    ------
    TypeError
        When called: as `grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> ag.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    options = {"argnums": argnums, "argnames": argnames, "adopt": adopt, "progress": progress}
    return _Hessian(hessian, f, *_checked("hessian", f, argnums, argnames, adopt, unknown, more), **options)


class _Hessian(Transformed):
    differentiates = True

    def __init__(self, transform, original, function, which, **options):
        super().__init__(transform, original, function, which, **options)
        which = {name: options[name] for name in ("argnums", "argnames", "progress")}
        self._rows = jacobian(_First(grad, function, function, self._which), **which)

    def __call__(self, /, *args, **kwargs):
        return self._rows(*args, **kwargs)


class _First(Transformed):
    """The first derivatives of which a Hessian has the derivatives: a gradient, or the rows of several results."""

    differentiates = True

    def __call__(self, /, *args, **kwargs):
        tracked = track_call("hessian", self._f, args, kwargs, self._which)
        meta = _real_array(tracked)
        if meta is None or meta.size == 1:
            return _pull_ones(tracked)
        return tracked.nest(reverse_blocks(tracked, None)[0])


@exact
def hvp(f=None, argnums=0, *more, argnames=None, adopt=None, **unknown):
    """The function that multiplies a vector by the Hessian of `f`, without computing the Hessian.

    Parameters
    ----------
    f : callable
        Its result is a real scalar.
    argnums : int or tuple of int
    argnames : str or tuple of str, optional
    adopt : bool, str or tuple of str, optional
        As for `grad`.

    Returns
    -------
    callable
        `hvp(f)(*args, vector)`: the arguments of `f`, then the vector, shaped and nested as the differentiated argument
        (a tuple for a tuple of argnums). Returns the product in the same form. SciPy calls `hessp(x, p, *args)`, with
        the vector second: give it `lambda x, p, *args: hvp(f)(x, *args, p)`.

    Raises
    ------
    TypeError, ValueError
        When called: as `grad`; if the vector does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> x, v = np.array([1.0, 2.0]), np.array([1.0, 10.0])
    >>> ag.hvp(lambda x: np.sum(x**3))(x, v)
    array([  6., 120.])
    """
    options = {"argnums": argnums, "argnames": argnames, "adopt": adopt}
    return _Product(hvp, f, *_checked("hvp", f, argnums, argnames, adopt, unknown, more), **options)


class _Product(Transformed):
    differentiates = True

    def __call__(self, /, *args, **kwargs):
        if not args:
            raise TypeError(f"hvp: '{function_name(self._f)}' takes its arguments and then the vector, got no argument")
        *args, vector = args
        try:
            tracked = track_call("hvp", self._f, tuple(args), kwargs, self._which)
        except TypeError:
            name = function_name(self._f)
            if "args" in kwargs and not accepts(self._f, (*args, vector), kwargs):
                raise TypeError(
                    f"hvp: '{name}' has no parameter args: hvp(f)(*args, vector) takes the arguments of '{name}' one "
                    "by one, and the vector last, hvp(f)(x, 2.0, v)"
                ) from None
            if accepts(self._f, args, kwargs) or not accepts(self._f, (*args, vector), kwargs):
                raise
            text = (
                f"hvp: the vector, the last argument, is missing: hvp(f)(*args, vector), with all arguments of '{name}'"
            )
            raise TypeError(text) from None
        try:
            _scalar(tracked)
            vectors = tracked.directions(vector, "vector")
        except (TypeError, ValueError) as error:
            if len(args) > 1 and numpy.shape(vector) != numpy.shape(args[0]) == numpy.shape(args[1]):
                error.args = (f"{error}. The vector comes last: hvp(f)(*args, vector)",)
            raise
        indices = tracked.roots()
        gradients = tracked.pull(indices, _ones(tracked, indices), create_graph=True, keep_graph=True)
        create_graph = needs_graph(tracked, vectors)
        pairs = [(edge_of(g), v) for g, v in zip(gradients, vectors, strict=True) if g is not None and g.requires_grad]
        if not pairs:
            return tracked.give((None,) * len(tracked.edges))
        products = run(
            [e for e, _ in pairs],
            [v for _, v in pairs],
            tracked.edges,
            create_graph=create_graph,
            keep_graph=create_graph,
        )
        return tracked.give(products, _raw_in(vectors))


# Helpers


def _raw_in(given):
    """The raw arrays among Tensors and arrays, and those that the Tensors show."""
    return [raw_handle(g) if isinstance(g, Tensor) else g for g in given]


def _broadcasts(shape, result):
    """Whether an array of a shape is spread over a result of another."""
    return len(shape) <= len(result) and all(
        n in (1, m) for n, m in zip(reversed(shape), reversed(result), strict=False)
    )


def _checked(name, f, argnums, argnames, adopt, unknown=None, more=()):
    """(the function to tracked: `f`, or what calls it adopted; what is differentiated)."""
    if unknown:
        raise TypeError(unexpected(name, next(iter(unknown)), ("argnums", "argnames")))
    if not callable(f):
        raise TypeError(f"{name}: f must be callable, got {type(f).__name__}{instead(name, f)}")
    if more:
        raise TypeError(given_at_once(name))
    which = chosen(name, argnums, argnames)
    return adopted(f, adopt), which


def _ones(tracked, indices):
    metas = [meta_of(tracked.outputs[i]) for i in indices]
    return [meta.ops.ones(meta) for meta in metas]


def _pull_ones(tracked):
    indices = tracked.roots()
    # The graph is freed as the run goes, unless results are part of an outer graph.
    found = tracked.pull(indices, _ones(tracked, indices), create_graph=tracked.record, keep_graph=tracked.record)
    return tracked.give_checked(found)


def _float_meta(leaf):
    """GradMeta of an output that can have a cotangent; None for one that is no array."""
    if isinstance(leaf, (int, float, complex, str, type(None))):
        return None
    return meta_of(leaf)


_COMPARED = "return the numbers that are compared, counted or cut to integers, which have a slope"


def _real_array(tracked):
    """The one array that the function returned; TypeError if it is anything else or not real."""
    name = tracked.name
    what = f"{name}: '{function_name(tracked.function)}' returned"
    if tracked.out_structure is not LEAF:
        raise TypeError(
            f"{what} a {tracked.out_structure.kind}, but {name} needs one array; return the item to differentiate, or "
            "use vjp or jacobian for several results"
            + ("" if name == "elementwise_grad" else ", and has_aux=True if the second of two is auxiliary data")
        )
    (out,) = tracked.outputs
    if isinstance(out, (bool, numpy.bool_)):
        raise TypeError(f"{what} a truth value, which has no derivative: {_COMPARED}")
    if isinstance(out, (int, float)):
        return None
    try:
        meta = meta_of(out)
    except TypeError:
        lacking = "; does it lack a return statement?" if out is None else ""
        if isinstance(out, (str, bytes)):
            lacking = ": text has no gradient, so return the number, and make the text outside"
        elif inspect.isgenerator(out) or inspect.iscoroutine(out):
            lacking = ": the function yields or awaits; give one that returns its result"
        if type(out).__module__.partition(".")[0] == "xarray":
            lacking = ": return its array, result.data"
        raise TypeError(f"{what} {type(out).__name__}, but {name} needs an array{lacking}") from None
    if meta.is_complex:
        raise TypeError(
            f"{what} complex values ({meta.dtype}), but {name} needs real ones: take its real or imaginary "
            "part or its absolute value, or use vjp or jacobian"
        )
    if isinstance(out, Tensor) and not meta.is_floating:
        raise TypeError(f"{what} values of dtype {meta.dtype}, but {name} needs floating-point ones: {_COMPARED}")
    return meta


def _scalar(tracked):
    meta = _real_array(tracked)
    if meta is not None and meta.size != 1:
        name = function_name(tracked.function)
        first = ""
        if getattr(tracked.aux, "shape", None) == () or isinstance(tracked.aux, float):
            first = "with has_aux=True return (scalar, auxiliary data), the scalar first; or "
        if hasattr(tracked.function, "differentiates"):
            raise ValueError(
                f"{tracked.name}: a derivative of '{name}' is an array of shape {meta.shape}, but "
                f"{tracked.name} needs a scalar: use hessian for all second derivatives, hvp for a weighted sum of "
                "them, jacobian of a gradient"
            )
        raise ValueError(
            f"{tracked.name}: '{name}' returned an array of shape {meta.shape}, "
            f"but {tracked.name} needs a scalar: {first}use elementwise_grad for an elementwise function, jacobian "
            "for all derivatives, vjp for a weighted sum of them, or sum the result"
        )


class _Pushforward:
    """The derivative of a tracked call as a linear function of directions, by transposing its reverse pass."""

    def __init__(self, tracked):
        self.tracked = tracked
        self.indices = tracked.roots()
        metas = [meta_of(tracked.outputs[i]) for i in self.indices]
        self.cotangents = [wrap_raw(meta.ops.zeros(meta), requires_grad=True) for meta in metas]
        self.gradients = tracked.pull(self.indices, self.cotangents, create_graph=True, keep_graph=True)
        self.edges = [edge_of(c) for c in self.cotangents]

    def __call__(self, directions, *, create_graph, keep_graph):
        """Per output: the derivative (raw, or Tensor with create_graph), None where it is zero or has none."""
        results = [None] * len(self.tracked.outputs)
        pairs = [
            (edge_of(g), d)
            for g, d in zip(self.gradients, directions, strict=True)
            if g is not None and d is not None and g.requires_grad
        ]
        if pairs:
            found = run(
                [e for e, _ in pairs],
                [d for _, d in pairs],
                self.edges,
                create_graph=create_graph,
                keep_graph=keep_graph,
            )
            for i, tangent in zip(self.indices, found, strict=True):
                results[i] = tangent
        return results


def _check_given(name, f, primals, call):
    """Raises TypeError where a transform at a point gets no point: unlike `grad`, it returns no function of it."""
    if not primals:
        raise TypeError(
            f"{name}: no arguments to differentiate {function_name(f)!r} for: {name} takes them together with the "
            f"function, {call}"
        )


def _linearize(name, f, primals, adopt, unknown=None):
    f, _ = _checked(name, f, (), None, adopt, unknown)
    if not isinstance(primals, (tuple, list)):
        raise TypeError(
            f"{name}: primals must be a tuple of the arguments, got {type(primals).__name__}: {name}(f, (x,), (v,))"
        )
    _check_given(name, f, primals, "value, push = linearize(f, x)" if name == "linearize" else "jvp(f, (x,), (v,))")
    with one_by_one(name, primals) if name == "linearize" else contextlib.nullcontext():
        tracked = TrackedCall(name, f, tuple(primals), tuple(range(len(primals)))).call()
    pushforward = _Pushforward(tracked)

    def push(tangents, keep_graph):
        if not isinstance(tangents, (tuple, list)):
            raise TypeError(f"{name}: tangents must be a tuple, one per argument, got {type(tangents).__name__}")
        directions = tracked.directions(tuple(tangents), "tangents")
        create_graph = needs_graph(tracked, directions)
        found = pushforward(directions, create_graph=create_graph, keep_graph=keep_graph or create_graph)
        found = kept_apart(found, _raw_in(directions))
        return unflatten(
            tracked.out_structure,
            [_tangent(tracked, out, tangent) for out, tangent in zip(tracked.outputs, found, strict=True)],
        )

    return tracked.value(), push


def _tangent(tracked, output, tangent):
    """The derivative of one output in the form of its value; zero for what does not depend on the arguments."""
    if tangent is None:
        meta = _float_meta(output)
        if meta is None:
            return 0.0 if isinstance(output, (int, float)) and not isinstance(output, bool) else None
        zero = meta.ops.zeros(meta)
        return zero[()] if isinstance(output, numpy.generic) else tracked.like(output, zero)
    return tracked.like(output, tangent)
