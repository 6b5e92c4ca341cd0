"""Derivatives along a direction by differences of high order, and the comparison with arraygrad's.

May import: arraygrad, numpy. The reference is SciPy's own function, called on plain arrays. A formula of the eighth
order needs no small step: with one of 1e-2 both its error and the rounding it amplifies are near 1e-12.
"""

import numpy as np

import arraygrad as ag

EIGHTH = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)
SIXTH = (3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0)


def slope(f, step, weights=EIGHTH):
    """df/dt at t = 0."""
    return sum(w * (f((k + 1) * step) - f(-(k + 1) * step)) for k, w in enumerate(weights)) / step


def parts_of(result):
    """The floating-point arrays of a result as one real vector."""
    found = []
    for part in result if isinstance(result, (tuple, list)) else (result,):
        part = part.numpy() if isinstance(part, ag.Tensor) else np.asarray(part)
        if part.dtype.kind == "c":
            found += [part.real.ravel(), part.imag.ravel()]
        elif part.dtype.kind == "f":
            found.append(part.ravel())
    return np.concatenate(found)


def weighted(result, weights):
    """Sum of the parts of a recorded result, each element with its weight."""
    total, place = 0.0, 0
    for part in result if isinstance(result, (tuple, list)) else (result,):
        if not isinstance(part, ag.Tensor):
            continue
        kind = part.numpy().dtype.kind
        for real in (part.real, part.imag) if kind == "c" else (part,) if kind == "f" else ():
            n = int(np.prod(real.shape))
            total = total + (ag.reshape(real, (-1,)) * weights[place : place + n]).sum()
            place += n
    return total


def check(ours, theirs, arrays, step=1e-2, rtol=1e-7, second=True, scale=None, atol=0.0, rtol2=None, loose=1e-13):
    """Hold first and second derivatives of `ours(*arrays)` to differences of `theirs`.

    Parameters
    ----------
    ours, theirs : callable
        Take the arrays; results are arrays or tuples of them.
    arrays : sequence of array
        Where, and what is differentiated.
    step : float
        Of the differences, relative to the directions, which have elements between 1/2 and 1 times `scale`.
    rtol : float
        Of the derivative along each direction, relative to the sum of sizes that it is made of.
    """
    rng = np.random.default_rng(7)
    arrays = [np.asarray(a)[()] for a in arrays]  # some functions of SciPy want numbers, not arrays without axes
    values = parts_of(theirs(*arrays))
    weights = rng.uniform(0.5, 1.5, size=values.size)
    noise = 1e-9 * np.sum(np.abs(values)) + atol

    def direction(a):
        d = rng.uniform(0.5, 1.0, size=a.shape) * rng.choice([-1.0, 1.0], size=a.shape)
        if a.dtype.kind == "c":
            d = d + 1j * rng.uniform(0.5, 1.0, size=a.shape)
        return d * (1.0 if scale is None else scale)

    def along(f, directions):
        return lambda t: f(*[a + t * d for a, d in zip(arrays, directions, strict=True)])

    tensors = [ag.tensor(a, requires_grad=True) for a in arrays]
    result = ours(*tensors)
    np.testing.assert_allclose(
        parts_of(result), values, rtol=loose, atol=loose if loose > 1e-13 else 1e-300, err_msg="values"
    )
    gradients = ag.autograd.grad(weighted(result, weights), tensors, create_graph=second, allow_unused=True)
    for i, a in enumerate(arrays):
        d = direction(a)
        lone = [d if j == i else np.zeros_like(b) for j, b in enumerate(arrays)]
        expected = slope(lambda t: weights @ parts_of(along(theirs, lone)(t)), step)  # noqa: B023
        g = np.zeros_like(a) if gradients[i] is None else gradients[i].numpy()
        found = np.sum((np.conj(d) * g).real)
        size = np.sum(np.abs(d * g)) + abs(expected)
        assert abs(found - expected) <= rtol * size + noise, f"argument {i}: {found} and by differences {expected}"
    if not second:
        return
    first = [direction(a) for a in arrays]
    then = [direction(a) for a in arrays]

    def inner(gradients):
        total = 0.0
        for g, d in zip(gradients, first, strict=True):
            if g is not None:
                product = g * np.conj(d)
                total = total + (product.real if d.dtype.kind == "c" else product).sum()
        return total

    def gradient_at(*moved):
        tensors = [ag.tensor(a, requires_grad=True) for a in moved]
        return inner([
            None if g is None else g.numpy()
            for g in ag.autograd.grad(weighted(ours(*tensors), weights), tensors, allow_unused=True)
        ])  # fmt: skip

    expected = slope(along(gradient_at, then), step, SIXTH)
    total = inner(gradients)
    if not getattr(total, "requires_grad", False):
        seconds = [np.zeros_like(a) for a in arrays]
    else:
        seconds = ag.autograd.grad(total, tensors, allow_unused=True)
        seconds = [np.zeros_like(a) if s is None else s.numpy() for a, s in zip(arrays, seconds, strict=True)]
    found = sum(np.sum((np.conj(d) * s).real) for d, s in zip(then, seconds, strict=True))
    size = sum(np.sum(np.abs(d * s)) for d, s in zip(then, seconds, strict=True)) + abs(expected)
    assert abs(found - expected) <= (rtol2 or 10 * rtol) * size + noise, (
        f"second order: {found} and by differences {expected}"
    )
