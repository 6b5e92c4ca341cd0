"""Matrices of a given form, made of their parameters: every element is a parameter, a constant or a product.

May import: arraygrad, scipy._declare, scipy.linalg._chapter, numpy. The source of each is its definition.
"""

import numpy as np

import arraygrad as ag
from arraygrad.scipy.linalg._chapter import by_composition, constants, is_complex, shape_of

__all__ = ["gather"]

DEFINITION = "definition"


def gather(values, places):
    """The last axis of `values` spread over a matrix of places."""
    taken = ag.take(values, places.ravel(), axis=-1)
    return ag.reshape(taken, (*shape_of(values)[:-1], *places.shape))


@by_composition("toeplitz", "c r", DEFINITION, core="c(m),r(n)->(m,n)")
def _toeplitz(c, r=None):
    c = ag.asarray(c)
    r = (ag.conj(c) if is_complex(c) else c) if r is None else ag.asarray(r)
    m, n = shape_of(c)[-1], shape_of(r)[-1]
    values = ag.concat([ag.flip(c, axis=-1), r[..., 1:]], axis=-1)
    return gather(values, m - 1 - np.arange(m)[:, None] + np.arange(n)[None, :])


@by_composition("circulant", "c", DEFINITION, core="c(n)->(n,n)")
def _circulant(c):
    c = ag.asarray(c)
    n = shape_of(c)[-1]
    return gather(c, (np.arange(n)[:, None] - np.arange(n)[None, :]) % n)


@by_composition("hankel", "c r", DEFINITION)
def _hankel(c, r=None):
    c = np.ravel(ag.asarray(c))  # SciPy 1.17 flattens: no stacks
    r = ag.zeros_like(c) if r is None else np.ravel(ag.asarray(r))
    m, n = shape_of(c)[-1], shape_of(r)[-1]
    return gather(ag.concat([c, r[..., 1:]], axis=-1), np.arange(m)[:, None] + np.arange(n)[None, :])


@by_composition("companion", "a", DEFINITION, core="a(n)->(n-1,n-1)")
def _companion(a):
    a = ag.asarray(a)
    n = shape_of(a)[-1]
    first = (-a[..., 1:] / a[..., :1])[..., None, :]
    rest = np.broadcast_to(np.eye(n - 2, n - 1), (*shape_of(a)[:-1], n - 2, n - 1))
    return ag.concat([first, ag.asarray(np.array(rest))], axis=-2)


@by_composition("leslie", "f s", DEFINITION, core="f(n),s(m)->(n,n)")
def _leslie(f, s):
    f, s = ag.asarray(f), ag.asarray(s)
    n = shape_of(f)[-1]
    below = s[..., :, None] * np.eye(n - 1, n)
    return ag.concat([f[..., None, :], below], axis=-2)


@by_composition("fiedler", "a", DEFINITION, core="a(n)->(n,n)")
def _fiedler(a):
    a = ag.asarray(a)
    return ag.abs(a[..., :, None] - a[..., None, :])


@by_composition("convolution_matrix", "a", DEFINITION, core="a(m)->(p,n)", refuse={"n": "an integer"})
def _convolution_matrix(a, n, mode="full"):
    a = ag.asarray(a)
    m = shape_of(a)[-1]
    places = np.arange(m + n - 1)[:, None] - np.arange(n)[None, :]
    inside = (places >= 0) & (places < m)
    whole = ag.where(inside, gather(a, np.clip(places, 0, m - 1)), 0.0)
    if mode == "full":
        return whole
    if mode == "same":
        start = (min(n, m) - 1) // 2
        return whole[..., start : start + max(n, m), :]
    return whole[..., min(n, m) - 1 : max(n, m), :]


@by_composition("block_diag", "arrs", DEFINITION, core="arrs[(m,n)]->(sum(m),sum(n))")
def _block_diag(arrs):
    arrs = [ag.asarray(a) for a in arrs]
    columns = sum(shape_of(a)[-1] for a in arrs)
    rows, start = [], 0
    for a in arrs:
        n = shape_of(a)[-1]
        width = [(0, 0)] * (a.ndim - 1) + [(start, columns - start - n)]
        rows.append(ag.pad(a, tuple(width)))
        start += n
    return ag.concat(rows, axis=-2)


@by_composition("kron", "a b", DEFINITION)
def _kron(a, b):
    return np.kron(ag.asarray(a), ag.asarray(b))


@by_composition("khatri_rao", "a b", DEFINITION, core="a(m,k),b(n,k)->(m*n,k)")
def _khatri_rao(a, b):
    a, b = ag.asarray(a), ag.asarray(b)
    product = a[..., :, None, :] * b[..., None, :, :]
    return ag.reshape(product, (*shape_of(product)[:-3], -1, shape_of(a)[-1]))


constants("issymmetric", "ishermitian", "bandwidth")
