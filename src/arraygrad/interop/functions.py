"""Functions of PyTorch and JAX inside arraygrad's graph, and functions of arraygrad inside theirs.

May import: core.containers, interop.transfer, interop.foreign and whatever they may; torch and jax when a function
of theirs is wrapped.

Each side keeps its own graph of its own function, and a backward run of one side calls the other's for that part:

- `from_torch(f)`, `from_jax(f)`: a function of the other library as one recorded operation here;
- `as_torch(f)`, `as_jax(f)`: a function written for arraygrad as one operation there.

Second and higher derivatives work in all four directions: a backward run that is itself recorded calls the gradient of
the function as a wrapped function again, at the price of evaluating the function once more.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util

__all__ = ["as_jax", "as_torch", "from_jax", "from_torch"]


def from_torch(f, *, others="raise"):
    """A PyTorch function as an operation of arraygrad.

    Parameters
    ----------
    f : callable
        Takes torch tensors, in nested dicts, lists, tuples and dataclasses as well, and returns such.
    others : "raise", "accumulate" or "ignore"
        What becomes of torch tensors that require grad and that `f` uses without being given them (the parameters of a
        module): TypeError at the call, their `.grad` is added to as `torch.autograd.backward` would (in plain runs
        only), or nothing.

    Returns
    -------
    callable
        Called with Tensors or raw arrays of any library in place of torch tensors. Results are Tensors of the library
        of the first of them, on the device PyTorch left them on.

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    TypeError
        When called: if `f` returns something that is no tensor where one is needed, or uses other tensors (see above).

    Warns
    -----
    UserWarning
        If PyTorch's results depend on none of the differentiated arguments, as after `torch.tensor(x)`:
        the gradient is zero.

    Examples
    --------
    >>> import arraygrad as ag
    >>> import torch
    >>> f = ag.interop.from_torch(torch.nn.functional.softplus)
    >>> x = ag.tensor([0.0, 1.0], requires_grad=True)
    >>> f(x).sum().backward()
    """
    if others not in ("raise", "accumulate", "ignore"):
        raise ValueError(f"from_torch: others must be 'raise', 'accumulate' or 'ignore', got {others!r}")
    library = _library("torch", "from_torch", f)
    return _named(f, library.incoming(f, others))


def from_jax(f):
    """A JAX function (jitted or not) as an operation of arraygrad.

    Parameters
    ----------
    f : callable
        Takes jax arrays, in nested dicts, lists, tuples and dataclasses as well, and returns such.

    Returns
    -------
    callable
        Called with Tensors or raw arrays of any library in place of jax arrays. Results are Tensors of the library of
        the first of them. Integers, booleans and whatever is no array are passed on and have no gradient.

    Raises
    ------
    ImportError
        If JAX is not installed.
    TypeError
        When called: if an array's dtype is none of JAX's (64 bits without jax_enable_x64).

    Warns
    -----
    UserWarning
        If JAX's results depend on none of the differentiated arguments, as after `jax.lax.stop_gradient`:
        the gradient is zero.

    Examples
    --------
    >>> import arraygrad as ag
    >>> import jax, numpy as np
    >>> f = ag.interop.from_jax(jax.numpy.sin)
    >>> ag.grad(lambda x: ag.sum(f(x)))(np.zeros(1, dtype=np.float32)).item()
    1.0
    """
    library = _library("jax", "from_jax", f)
    return _named(f, library.incoming(f))


def as_torch(f, library="torch"):
    """A function written for arraygrad as a differentiable PyTorch function.

    Parameters
    ----------
    f : callable
        Takes Tensors over `library`, in containers as well, and returns such.
    library : str
        Whose arrays `f` works on: "torch" shares memory with the arguments, others get them by `to_backend`.

    Returns
    -------
    callable
        Takes and returns torch tensors; a `torch.autograd.Function` under the hood, so it may stand anywhere in a
        PyTorch model. Keyword arguments are passed on and have no gradient.

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    TypeError
        When called: if a keyword argument requires grad, or a result is no array.

    Examples
    --------
    >>> import arraygrad as ag
    >>> import torch
    >>> f = ag.interop.as_torch(lambda x: ag.sum(ag.sin(x)))
    >>> x = torch.tensor([0.0], dtype=torch.float64, requires_grad=True)
    >>> f(x).backward()
    >>> x.grad.item()
    1.0
    """
    module = _library("torch", "as_torch", f)
    return _named(f, module.outgoing(f, library))


def as_jax(f, library="numpy", result=None):
    """A function written for arraygrad as a JAX function with its own gradient: works under jit, grad and vmap.

    Parameters
    ----------
    f : callable
        Takes Tensors over `library`, in containers as well, and returns such.
    library : str
        Whose arrays `f` works on. It is called from inside JAX's computations, where JAX's own functions may wait for
        ever: so NumPy is the default, and "jax" is refused.
    result : container of jax.ShapeDtypeStruct, optional
        Shapes and dtypes of the results. Default: found by calling `f` once with ones of the arguments' shapes, each
        time that JAX traces the function.

    Returns
    -------
    callable
        Takes and returns jax arrays (`jax.custom_vjp` over `jax.pure_callback`). Forward-mode derivatives (jax.jvp,
        jax.jacfwd) raise JAX's error for functions with a custom vjp.

    Raises
    ------
    ImportError
        If JAX is not installed.
    ValueError
        If `library` is "jax".

    Examples
    --------
    >>> import arraygrad as ag
    >>> import jax
    >>> f = ag.interop.as_jax(lambda x: ag.sum(ag.sin(x)))
    >>> jax.grad(f)(jax.numpy.zeros(1)).item()
    1.0
    """
    if library == "jax":
        raise ValueError("as_jax: f is called inside JAX's computations, where JAX's own functions may deadlock; write "
                         "it for NumPy arrays (library='numpy') or another library")  # fmt: skip
    module = _library("jax", "as_jax", f)
    return _named(f, module.outgoing(f, library, result))


def _library(name, what, f):
    if not callable(f):
        raise TypeError(f"{what}: expected a function, got {type(f).__name__}")
    if importlib.util.find_spec(name) is None:
        raise ImportError(
            f"arraygrad.interop.{what} needs {name}, which is not installed: pip install arraygrad[{name}]", name=name
        )
    return importlib.import_module(f"arraygrad.interop.{name}")


def _named(f, wrapped):
    try:
        return functools.wraps(f)(wrapped)
    except AttributeError:  # a partial or an object without the usual names
        return wrapped
