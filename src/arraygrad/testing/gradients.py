"""Checks of gradients against finite differences: `gradcheck`, `gradgradcheck`; `assert_allclose` for results.

May import: _progress, adoption, autograd, core.containers, core.barriers, core.constructors, core.tensor. Comparisons
are done in NumPy on the host, whatever the backend.

Complex numbers are handled as pairs of real ones throughout: a complex element has a real and an imaginary component,
each perturbed by itself, and the gradient of a real function at x + iy is df/dx + i df/dy, as in PyTorch.
"""

from __future__ import annotations

import contextlib
import warnings

import numpy

from arraygrad import autograd
from arraygrad._progress import progress as progress_bar
from arraygrad.adoption.setting import adopted
from arraygrad.autograd.custom_rules import told_rules
from arraygrad.autograd.grad_mode import enable_grad
from arraygrad.autograd.primitive import Primitive
from arraygrad.core.barriers import undefined_grad
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.containers import LEAF, flatten, leaf_names
from arraygrad.core.tensor import Tensor, backend_of, metadata_of

__all__ = ["GradcheckError", "assert_allclose", "gradcheck", "gradgradcheck"]

# Central differences have an error of eps**2 f''' / 6 + rounding / eps; with the rounding of float32, 6e-8 relative,
# no step gives more than two or three digits.
FLOAT32_TOLERANCE = 1e-3


class GradcheckError(AssertionError, RuntimeError):
    """A gradient that differs from finite differences, or breaks another promise that every gradient makes.

    A RuntimeError too, as PyTorch's is.

    Examples
    --------
    >>> import arraygrad as ag
    >>> import numpy as np
    >>> wrong = ag.primitive(lambda x: x**2)
    >>> wrong.defvjp(lambda ans, x: lambda g: 3 * g * x)
    >>> ag.gradcheck(wrong, [np.array([1.0])])
    Traceback (most recent call last):
        ...
    arraygrad.testing.gradients.GradcheckError: ...
    """


def gradcheck(
    f,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    order=1,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    seed=0,
    adopt=None,
    progress=False,
):
    """Compare the gradients of `f` with central differences.

    Every column of every Jacobian is compared. Besides, results must have the same shapes and dtypes in every
    evaluation of `f`, gradients must have the dtype and shape of their inputs, the backward run must give the same
    result twice, undefined gradients of all results must give undefined gradients or zeros, and it must not matter
    whether a result that does not take part has an undefined gradient or one of zeros.

    Parameters
    ----------
    f : callable
        Takes the inputs by position; returns a Tensor or a container of them.
    inputs : Tensor, raw array, float, or sequence of them
        For parameters in a dict, check a function of one vector, which `ravel_tree` makes. If any is a Tensor, those
        Tensors that require grad are checked. Without any Tensor, all floating-point arrays and floats are.
        float64 and complex128 unless tolerances are wide. They are copied, never changed.
    eps : float
        Step of the differences.
    atol, rtol : float
        |analytic - numeric| <= atol + rtol * |numeric| must hold for every element.
    order : int
        2 also checks the gradients of the gradients (`gradgradcheck`).
    raise_exception : bool
        Raise if a check fails; otherwise return False.
    nondet_tol : float
        Largest difference between two backward runs.
    check_undefined_grad : bool
        Try undefined gradients (None, for a rule that does not materialize them).
    seed : int
        Of the random cotangents for the second order.
    adopt : bool, str or tuple of str, optional
        Whether `f` is adopted, as for `arraygrad.grad`.
    progress : bool
        Show a bar where it takes longer than two seconds, on a terminal or in a notebook, if tqdm is installed.

    Returns
    -------
    bool
        True if all checks hold.

    Raises
    ------
    GradcheckError
        An AssertionError that names the result, the input, the two matrices and their largest difference.
    TypeError
        If an input is a dict or another container of parameters; whatever `f` refuses.
    ValueError
        If nothing is to be checked: no input requires grad, no result depends on one, or `order` is neither 1 nor 2.

    Warns
    -----
    UserWarning
        If an input has less than double precision and the tolerances are narrower than its rounding allows.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> ag.gradcheck(lambda x, y: ag.sin(x) * y, [np.array([0.5, 1.0]), np.array([2.0, 3.0])])
    True
    """
    if order not in (1, 2):
        raise ValueError(f"gradcheck: order must be 1 or 2, got {order!r}")
    f = adopted(f, adopt)
    leaves = _leaves("gradcheck", inputs)
    _warn_precision(leaves, max(atol, rtol))
    try:
        _check_first_order(f, leaves, eps, atol, rtol, nondet_tol, check_undefined_grad, progress)
        if order == 2:
            gradgradcheck(f, leaves, eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol, seed=seed, progress=progress)
    except GradcheckError as error:
        if raise_exception:
            _name_rules(error, f, leaves)
            raise
        return False
    return True


def gradgradcheck(
    f,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    seed=0,
    adopt=None,
    progress=False,
):
    """Compare the gradients of the gradients of `f` with central differences.

    Checks the function that maps the inputs and the gradients of the results to the gradients of the inputs.

    Parameters
    ----------
    f, inputs, eps, atol, rtol, raise_exception, nondet_tol
        As in `gradcheck`.
    grad_outputs : sequence of array or Tensor, optional
        A gradient for each floating-point result; by default random ones. If any is a Tensor, those that require grad
        are checked as the inputs are, the others are constants; without any Tensor, all are checked.
    seed : int
        Of the random gradients: the same ones in every call.
    adopt : bool, str or tuple of str
    progress : bool
        As in `gradcheck`.

    Returns
    -------
    bool

    Raises
    ------
    GradcheckError, ValueError
        As `gradcheck`.

    Examples
    --------
    >>> import arraygrad as ag
    >>> import numpy as np
    >>> ag.gradgradcheck(lambda a: ag.sum(ag.sin(a)), [np.array([0.5, 1.0])])
    True
    """
    f = adopted(f, adopt)
    leaves = _leaves("gradgradcheck", inputs)
    _warn_precision(leaves, max(atol, rtol))
    outputs = _outputs(f, leaves)
    if grad_outputs is None:
        rng = numpy.random.default_rng(seed)
        grad_outputs = [_random_like(rng, out) for out in outputs]
    else:
        any_tensor = any(isinstance(g, Tensor) for g in grad_outputs)
        grad_outputs = [_fresh(g, g.requires_grad if isinstance(g, Tensor) else not any_tensor) for g in grad_outputs]
        if len(grad_outputs) != len(outputs):
            raise ValueError(
                f"gradgradcheck: {len(outputs)} results require grad, but {len(grad_outputs)} grad_outputs were given"
            )
    n = len(leaves)

    def gradients(*args):
        found = autograd.grad(
            _outputs(f, args[:n]),
            [x for x in args[:n] if x.requires_grad],
            args[n:],
            create_graph=True,
            allow_unused=True,
        )
        # One that depends on nothing that is checked (of a linear f) is to be constant: differences tell.
        return tuple([g if g.requires_grad else g.detach().requires_grad_() for g in found if g is not None])

    try:
        _check_first_order(gradients, leaves + grad_outputs, eps, atol, rtol, nondet_tol, False, progress)
    except GradcheckError as error:
        if raise_exception:
            raise GradcheckError(
                f"second derivatives (inputs from number {n} on are the gradients of the results): {error}"
            ) from None
        return False
    return True


def assert_allclose(actual, expected, *, rtol=None, atol=0.0, equal_nan=True, check_dtype=True):
    """Assert that two arrays, or containers of them, are equal up to rounding.

    Parameters
    ----------
    actual, expected : Tensor, raw array, number, or a container of them
    rtol : float, optional
        |actual - expected| <= atol + rtol * |expected|. By default 1e-7 in double precision, 1e-4 in single.
    atol : float
    equal_nan : bool
        NaN equals NaN.
    check_dtype : bool
        The dtypes must be equal too (of arrays; a Python number has none).

    Raises
    ------
    AssertionError
        Naming the place in the container, both dtypes, shapes or values.

    Examples
    --------
    >>> import arraygrad as ag
    >>> from arraygrad.testing import assert_allclose
    >>> assert_allclose(ag.asarray([1.0, 2.0]) * 2, ag.asarray([2.0, 4.0]))
    """
    ours, structure = flatten(actual)
    theirs, expected_structure = flatten(expected)
    assert structure == expected_structure, f"containers differ: {structure!r} and {expected_structure!r}"
    for name, a, b in zip(leaf_names(structure, "result"), ours, theirs, strict=True):
        dtypes = [str(x.dtype) for x in (a, b) if hasattr(x, "dtype")]
        assert not check_dtype or len(set(dtypes)) < 2, f"{name}: dtypes differ: {dtypes[0]} and {dtypes[1]}"
        x, y = _host(a), _host(b)
        assert x.shape == y.shape, f"{name}: shapes differ: {x.shape} and {y.shape}"
        tolerance = rtol
        if tolerance is None:
            tolerance = 1e-4 if any(v.dtype.char in "fFe" for v in (x, y)) else 1e-7
        numpy.testing.assert_allclose(x, y, rtol=tolerance, atol=atol, equal_nan=equal_nan, err_msg=name)


def _name_rules(error, f, leaves):
    """Have the error name what else it may come from: chance, and rules of the user's own, unless f is one itself."""
    if _is_random(f, leaves):
        told = (
            "f gives other values at the same inputs: differences of it mean nothing. Draw its random numbers outside "
            "of it, or from a generator that it makes with a fixed seed, numpy.random.default_rng(0)"
        )
        error.args = (f"{error}\n{told}",)
        return
    told = "" if isinstance(getattr(f, "__wrapped__", f), Primitive) else told_rules(_results(f, leaves))
    if told:
        error.args = (f"{error}\n{told}",)


def _is_random(f, leaves):
    """Whether f gives other values when it is called again with the same inputs."""
    first, second = (
        [out.numpy() for out in _results(f, [_fresh(leaf, leaf.requires_grad) for leaf in leaves])] for _ in range(2)
    )
    return len(first) != len(second) or not all(
        numpy.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(first, second, strict=True)
    )


# Inputs and outputs


def _host(value):
    return value.numpy() if isinstance(value, Tensor) else _to_numpy(value)


def _to_numpy(value):
    if isinstance(value, (int, float, complex, numpy.ndarray, numpy.generic)):
        return numpy.asarray(value)
    return wrap_raw(value).numpy()


def _fresh(value, requires_grad):
    """A new leaf with the value of a Tensor, raw array or number."""
    if isinstance(value, Tensor):
        return _like(metadata_of(value), value.numpy(), requires_grad)
    if isinstance(value, (int, float, complex, numpy.generic)):
        value = numpy.asarray(value)
    meta = backend_of(value).meta(value)
    return _like(meta, _to_numpy(value), requires_grad and meta.is_floating)


def _like(meta, host, requires_grad):
    """A new leaf of the backend, dtype and device of `meta` with the values of a NumPy array."""
    host = numpy.array(host, copy=True, order="C")
    raw = host if meta.ops.array_type is numpy.ndarray else meta.ops.asarray(host, meta.dtype, meta.device)
    return wrap_raw(raw, requires_grad=requires_grad)


def _leaves(name, inputs):
    if isinstance(inputs, Tensor) or not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    for i, x in enumerate(inputs):
        if not isinstance(x, (Tensor, list, tuple)) and flatten(x)[1] is not LEAF:
            raise TypeError(
                f"{name}: input {i} is a {type(x).__name__}, not an array: check the function of one vector, vector, "
                f"back = arraygrad.ravel_tree(parameters) and {name}(lambda v: f(back(v)), [vector])"
            )
    any_tensor = any(isinstance(x, Tensor) for x in inputs)
    leaves = [_fresh(x, x.requires_grad if isinstance(x, Tensor) else not any_tensor) for x in inputs]
    if not any(x.requires_grad for x in leaves):
        raise ValueError(
            f"{name}: no input requires grad, so there is nothing to check: pass floating-point arrays, "
            "or Tensors with requires_grad=True"
        )
    return leaves


def _warn_precision(leaves, tolerance):
    for i, leaf in enumerate(leaves):
        if not leaf.requires_grad:
            continue
        meta = metadata_of(leaf)
        if meta.ops.xp.finfo(meta.dtype).bits < 64 and tolerance < FLOAT32_TOLERANCE * 10:
            warnings.warn(
                f"gradcheck: input {i} is {meta.dtype}, too coarse for finite differences with these tolerances: check "
                "in double precision, or pass eps, atol and rtol of about 1e-2",
                UserWarning,
                stacklevel=3,
            )


def _results(f, leaves):
    """The results of f that depend on the inputs, in order. f may write into its arguments."""
    try:
        with enable_grad():
            found = flatten(_called(f, leaves))[0]
    except Exception as error:
        cause = error.__cause__
        if not hasattr(cause, "lost_gradient"):
            raise
    else:
        cause = None
    if cause is not None:  # NumPy wraps a refusal, which says what to do
        raise cause
    return [out for out in found if isinstance(out, Tensor) and out.requires_grad]


def _called(f, leaves):
    """What f gives for the leaves, or for recorded copies of them where it writes into them."""
    try:
        return f(*[leaf if leaf.requires_grad else leaf.copy() for leaf in leaves])
    except RuntimeError as error:
        if "leaf Variable that requires grad is being used in an in-place operation" not in str(error):
            raise
    return f(*[leaf.copy() for leaf in leaves])


def _outputs(f, leaves):
    """As _results. ValueError if there are none."""
    outputs = _results(f, leaves)
    if not outputs:
        raise ValueError(
            "gradcheck: no result of f requires grad, so there is nothing to check: f must return Tensors "
            "computed from its inputs"
        )
    return outputs


def _random_like(rng, out):
    meta = metadata_of(out)
    host = rng.standard_normal(out.shape)
    if meta.is_complex:
        host = host + 1j * rng.standard_normal(out.shape)
    return _like(meta, numpy.asarray(host).astype(out.numpy().dtype), True)


# Jacobians, over real components


def _components(host):
    """The real components of a NumPy array, as a flat real array."""
    host = numpy.ascontiguousarray(host)
    return (host.view(host.real.dtype) if host.dtype.kind == "c" else host).reshape(-1)


def _step(host, component, change):
    """A copy of the array with one of its real components changed."""
    moved = numpy.array(host, copy=True, order="C").reshape(-1)
    parts = moved.view(moved.real.dtype) if moved.dtype.kind == "c" else moved
    parts[component] += change
    return moved.reshape(host.shape)


def _same_kind(found, outputs, where):
    """Raises GradcheckError where results are not as many, of the shapes and dtypes, as those at the inputs given."""
    if len(found) != len(outputs):
        raise GradcheckError(
            f"f gives {len(found)} results that require grad {where}, but {len(outputs)} at the inputs that were "
            "given: it is not one function of its inputs"
        )
    for k, (now, then) in enumerate(zip(found, outputs, strict=True)):
        for what in ("shape", "dtype"):
            if getattr(now, what) != getattr(then, what):
                raise GradcheckError(
                    f"result {k} has {what} {getattr(now, what)} {where}, but {what} {getattr(then, what)} at the "
                    "inputs that were given: it is not one function of its inputs"
                )


def _numeric(f, leaves, index, outputs, eps, done):
    """Per result the matrix (components of the result, components of input `index`) of central differences."""
    host = leaves[index].numpy()
    columns = [[] for _ in outputs]
    for component in range(_components(host).size):
        values = []
        for change in (eps, -eps):
            moved = [_fresh(leaf, leaf.requires_grad) for leaf in leaves]
            moved[index] = _like(metadata_of(leaves[index]), _step(host, component, change), True)
            found = _results(f, moved)
            _same_kind(found, outputs, f"where component {component} of input {index} is changed by {change:g}")
            values.append(
                [_components(out.numpy().astype(complex if out.numpy().dtype.kind == "c" else float)) for out in found]
            )
        for column, plus, minus in zip(columns, *values, strict=True):
            column.append((plus - minus) / (2 * eps))
        done(1)
    return [numpy.stack(column, axis=1) if column else None for column in columns]


def _analytic(outputs, k, wanted):
    """Per input the matrix (components of result k, components of the input) of gradients, by backward runs."""
    meta = metadata_of(outputs[k])
    zeros = numpy.zeros(outputs[k].shape, dtype=outputs[k].numpy().dtype)
    rows = [[] for _ in wanted]
    for component in range(_components(zeros).size):
        cotangent = _like(meta, _step(zeros, component, 1.0), False)
        found = autograd.grad(outputs[k], wanted, cotangent, retain_graph=True, allow_unused=True)
        for i, (row, g, x) in enumerate(zip(rows, found, wanted, strict=True)):
            if g is None:
                row.append(numpy.zeros(_components(x.numpy()).size))
                continue
            if g.shape != x.shape or g.dtype != x.dtype:
                raise GradcheckError(
                    f"the gradient of result {k} by checked input {i} has shape {g.shape} and dtype "
                    f"{g.dtype}, but the input has {x.shape} and {x.dtype}"
                )
            row.append(_components(g.numpy()).astype(float))
    return [numpy.stack(row, axis=0) if row else None for row in rows]


def _check_first_order(f, leaves, eps, atol, rtol, nondet_tol, check_undefined_grad, progress):
    leaves = [_fresh(leaf, leaf.requires_grad) for leaf in leaves]
    outputs = _outputs(f, leaves)
    indices = [i for i, leaf in enumerate(leaves) if leaf.requires_grad]
    wanted = [leaves[i] for i in indices]
    # f may write into its inputs' memory only through recorded operations, which refuse leaves: values are as given.
    components = sum([_components(leaf.numpy()).size for leaf in wanted])
    with progress_bar(components, "differences", "component") if progress else contextlib.nullcontext() as bar:
        done = bar.update if progress else (lambda n: None)
        numeric = [_numeric(f, leaves, i, outputs, eps, done) for i in indices]
    for k in range(len(outputs)):
        analytic = _analytic(outputs, k, wanted)
        again = _analytic(outputs, k, wanted)
        for at, (i, a, b) in enumerate(zip(indices, analytic, again, strict=True)):
            n = numeric[at][k]
            if a is None or n is None:
                continue
            _compare(k, i, a, n, atol, rtol)
            difference = _largest(a, b)
            if difference > nondet_tol:
                raise GradcheckError(
                    f"the gradient of result {k} by input {i} is not reproducible: two backward runs "
                    f"differ by {difference:.3g} (nondet_tol={nondet_tol:g})"
                )
    if check_undefined_grad:
        if len(outputs) > 1:
            _check_undefined(outputs, wanted, indices)
        _check_all_undefined(outputs, wanted, indices)


def _largest(a, b):
    with numpy.errstate(invalid="ignore"):
        difference = numpy.abs(a - b)
    difference[(a == b) | (numpy.isnan(a) & numpy.isnan(b))] = 0.0
    difference[numpy.isnan(difference)] = numpy.inf
    return float(difference.max(initial=0.0))


def _compare(k, i, analytic, numeric, atol, rtol):
    with numpy.errstate(invalid="ignore"):
        difference = numpy.abs(analytic - numeric)
        excess = difference - (atol + rtol * numpy.abs(numeric))
    excess[numpy.isnan(excess)] = numpy.inf
    excess[analytic == numeric] = -1.0  # infinite alike
    if excess.size and excess.max() > 0:
        row, column = numpy.unravel_index(int(excess.argmax()), excess.shape)
        raise GradcheckError(
            f"the gradient of result {k} by input {i} is wrong: the largest difference is "
            f"{difference[row, column]:.6g}, at component {row} of the result and component {column} of the input, "
            f"where the analytic derivative is {analytic[row, column]:.6g} and the numeric one "
            f"{numeric[row, column]:.6g} (atol={atol:g}, rtol={rtol:g}).\n"
            f"analytic (rows: components of the result):\n{analytic}\nnumeric:\n{numeric}"
        )


def _check_all_undefined(outputs, wanted, indices):
    """Where every result has an undefined gradient, so have the inputs, or zeros."""
    zeros = [_like(metadata_of(out), numpy.zeros_like(out.numpy()), False) for out in outputs]
    try:
        found = autograd.grad(undefined_grad(*outputs), wanted, zeros, retain_graph=True, allow_unused=True)
    except Exception as error:
        raise GradcheckError(
            f"a backward run whose results have undefined gradients (None) raised {type(error).__name__}: {error}\n"
            "A rule that does not let them be materialized has to take None; or pass check_undefined_grad=False."
        ) from error
    for i, g in zip(indices, found, strict=True):
        if g is not None and g.numpy().any():
            raise GradcheckError(
                f"the gradient of input {i} is {g.numpy()} where the results' gradients are undefined (None), but it "
                "has to be undefined or zeros"
            )


def _check_undefined(outputs, wanted, indices):
    """A result that takes no part may have an undefined gradient or zeros: the others' gradients are the same."""
    for k, out in enumerate(outputs):
        cotangent = _like(metadata_of(out), numpy.ones(out.shape, dtype=out.numpy().dtype), False)
        zeros = [
            cotangent if j == k else _like(metadata_of(other), numpy.zeros_like(other.numpy()), False)
            for j, other in enumerate(outputs)
        ]
        alone = autograd.grad(out, wanted, cotangent, retain_graph=True, allow_unused=True)
        together = autograd.grad(outputs, wanted, zeros, retain_graph=True, allow_unused=True)
        for i, a, b in zip(indices, alone, together, strict=True):
            x = 0.0 if a is None else a.numpy()
            y = 0.0 if b is None else b.numpy()
            if not numpy.allclose(x, y, rtol=1e-10, atol=1e-12, equal_nan=True):
                raise GradcheckError(
                    f"the gradient of result {k} by input {i} depends on whether the gradients of the "
                    f"other results are undefined or zeros: {x} and {y}"
                )
