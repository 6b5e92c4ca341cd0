"""Updates of many parameters at once, in place and unrecorded.

May import: core.inplace, core.tensor, numpy.
"""

import numpy

from arraygrad.core.inplace import add_scaled as _add_scaled
from arraygrad.core.inplace import unlike as _unlike
from arraygrad.core.tensor import Tensor, backend_of

__all__ = ["add_scaled"]


def add_scaled(targets, terms, factor=1.0):
    """Add a multiple of each term to its target in place: `targets[k] += factor * terms[k]` under `no_grad()`.

    A step of gradient descent is `add_scaled(parameters, [p.grad for p in parameters], -rate)`. Over CuPy, float32 and
    float64 arrays in row-major order are written by one kernel for up to 32 of them, without a temporary; other arrays
    take the statements above. The values are the same but for rounding (a kernel may fuse product and sum).

    Parameters
    ----------
    targets : sequence of Tensor
        What is written, of any shapes and dtypes. Leaves that require grad may be among them. One that stands twice, or
        shares memory with another, is updated as the statements would do it, in their order.
    terms : sequence of (Tensor, array of the target's library, number or None)
        As many, each of a shape that broadcasts to its target's. None leaves the target as it is: a `.grad` that no
        backward has filled.
    factor : int, float, complex or NumPy scalar

    Raises
    ------
    TypeError
        If a target is no Tensor, a term is none of those named above, the factor is no number, a target is never
        written (arrays of JAX, computed Tensors without axes), or a sum has another kind of dtype than its target.
    ValueError
        If there are not as many terms as targets, or a term does not broadcast to its target.

    Notes
    -----
    Lengths, types and shapes are looked at before anything is written. Where a later pair fails for its dtype, those
    before it have been updated. Not recorded, as within `no_grad()`; what nodes have saved of a target is kept from the
    write, as it is from `+=`.

    Examples
    --------
    >>> import arraygrad as ag
    >>> w, b = ag.tensor([1.0, 2.0], requires_grad=True), ag.tensor([0.5], requires_grad=True)
    >>> ag.sum(w * w + b).backward()
    >>> ag.autograd.add_scaled([w, b], [w.grad, b.grad], -0.25)
    >>> w.detach(), b.detach()
    (Tensor([0.5, 1. ]), Tensor([0.]))
    """
    targets, terms = list(targets), list(terms)
    if isinstance(factor, numpy.generic):
        factor = factor.item()
    if not isinstance(factor, (int, float, complex)):
        raise TypeError(f"add_scaled: expected a number as factor, got {type(factor).__name__}")
    if len(targets) != len(terms):
        raise ValueError(f"add_scaled: {len(targets)} targets, but {len(terms)} terms: give one for each, or None")
    for k in _unlike(targets, terms):
        _check(k, targets[k], terms[k])
    if any(term is None for term in terms):
        given = [k for k, term in enumerate(terms) if term is not None]
        targets, terms = [targets[k] for k in given], [terms[k] for k in given]
    _add_scaled(targets, terms, factor)


def _check(k, target, term):
    if not isinstance(target, Tensor):
        raise TypeError(f"add_scaled: targets[{k}] is no Tensor but {type(target).__name__}")
    if term is None or isinstance(term, (int, float, complex, numpy.number)):
        return
    backend = backend_of(target)
    if backend_of(term) is not backend if isinstance(term, Tensor) else not isinstance(term, backend.array_type):
        raise TypeError(
            f"add_scaled: terms[{k}] is no Tensor or array of {backend.name}, as targets[{k}] is, but "
            f"{type(term).__name__}; arraygrad.to_backend(x, {backend.name!r}) moves arrays between libraries"
        )
    if len(term.shape) > len(target.shape) or any(
        n not in (1, m) for n, m in zip(reversed(term.shape), reversed(target.shape), strict=False)
    ):
        raise ValueError(
            f"add_scaled: terms[{k}] of shape {tuple(term.shape)} does not fit targets[{k}] of shape {target.shape}"
        )
