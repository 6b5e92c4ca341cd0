"""Factorisations and functions of matrices of which some eigenvalues or singular values are equal, exactly or up to
rounding, close, or zero: every factorisation of numpy.linalg and scipy.linalg x first and second derivatives of what
does not depend on the choice of vectors (the simple ones of them, functions of the matrix) x complex x both triangles
x stacks in which only some matrices have equal values.

The second derivative by differences is that of gradients nearby, where no values are equal.

Imports of arraygrad: the public face.
"""

import numpy as np
import scipy.linalg as plain

import arraygrad.scipy.linalg as ours

from .spelling import Spelling

CALLS = 25

# Values of which the last one, or the first, is alone.
VALUES = {
    "equal": [1.0, 1.0, 3.0], "alone first": [-2.0, 1.0, 1.0], "zero": [0.0, 0.0, 2.0], "apart": [1.0, 2.0, 4.0],
    "close": [1.0, 1.0 + 1e-12, 3.0], "three": [0.5, 0.5, 0.5, 2.0], "two pairs": [1.0, 1.0, 2.0, 2.0, 4.0],
    "one zero": [0.0, 1.0, 3.0],
}  # fmt: skip


def turned(a):
    return np.conj(np.swapaxes(a, -1, -2))


def unitary(rng, n, kind):
    a = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if kind == "D" else 0.0)
    return np.linalg.qr(a)[0]


def hermitian(rng, values, kind, exactly):
    n = len(values)
    if exactly:  # a permutation of the diagonal: eigenvalues are equal to the last bit
        order = rng.permutation(n)
        return np.diag(np.asarray(values)[order]).astype(kind)
    q = unitary(rng, n, kind)
    return (q * np.asarray(values)) @ turned(q)


def general(rng, values, kind, exactly):
    """A matrix with these eigenvalues, whose vectors are not orthogonal."""
    n = len(values)
    p = np.eye(n) + 0.3 * np.triu(rng.normal(size=(n, n)), 1)
    if exactly:
        return (p @ np.diag(values) @ np.linalg.inv(p)).astype(kind)
    q = unitary(rng, n, kind)
    p = q @ p
    return (p * np.asarray(values)) @ np.linalg.inv(p)


def singular(rng, values, kind, exactly):
    """A matrix with these sizes as singular values, perhaps with more rows or columns."""
    n = len(values)
    s = np.diag(np.abs(values))
    more = int(rng.integers(0, 3))
    if more == 1:
        s = np.concatenate([s, np.zeros((1, n))])
    elif more == 2:
        s = np.concatenate([s, np.zeros((n, 1))], axis=1)
    if exactly:
        return s[rng.permutation(len(s))].astype(kind)
    return unitary(rng, s.shape[0], kind) @ s @ unitary(rng, s.shape[1], kind)


def sizes(a):
    return np.real(a) ** 2 + np.imag(a) ** 2


def outer(u, v):
    """u v^H, which does not depend on a phase that both have."""
    return u[..., :, None] * np.conj(v)[..., None, :]


def simple(values):
    """Places of the values that are alone, in ascending order."""
    values = np.sort(values)
    return [i for i, x in enumerate(values) if np.sum(np.abs(values - x) < 1e-6) == 1]


def of_eigh(name, values):
    at = simple(values)

    def vectors(module, *arrays, **options):
        w, v = getattr(module, name)(*arrays, **options)
        return [w[..., at], *[outer(v[..., :, i], v[..., :, i]) for i in at]]

    return vectors


def of_eigvalsh(values):
    at = simple(values)
    return lambda module, a, **options: module.eigvalsh(a, **options)[..., at]


def nearest(w, value):
    return np.argmin(np.abs(np.asarray(getattr(w, "array", w)) - value), axis=-1)


def of_eig(values):
    alone = [np.sort(values)[i] for i in simple(values)]

    def vectors(module, a):
        w, v = module.eig(a)
        found = []
        for value in alone:
            at = nearest(w, value)
            one = np.take_along_axis(v, at[..., None, None], axis=-1)[..., 0]
            found += [np.take_along_axis(w, at[..., None], axis=-1), outer(one, one)]
        return found

    return vectors


def of_eigvals(values):
    alone = [np.sort(values)[i] for i in simple(values)]

    def chosen(module, a):
        w = module.eigvals(a)
        return [np.take_along_axis(w, nearest(w, value)[..., None], axis=-1) for value in alone]

    return chosen


def of_svd(values):
    sizes_of = np.sort(np.abs(values))[::-1]
    at = [i for i in range(len(sizes_of)) if np.sum(np.abs(sizes_of - sizes_of[i]) < 1e-6) == 1 and sizes_of[i] > 0]

    def vectors(module, a):
        u, s, vh = module.svd(a, full_matrices=False)
        return [s[..., at], *[outer(u[..., :, i], np.conj(vh[..., i, :])) for i in at]]

    def alone(module, a):
        return (module.svdvals if hasattr(module, "svdvals") else np.linalg.svdvals)(a)[..., at]

    return vectors, alone


def call_of(name, pick=None, **fixed):
    def call(module, *arrays, **options):
        found = getattr(module, name)(*arrays, **fixed, **options)
        return found if pick is None else [found[i] for i in pick]

    return call


POSITIVE = ("equal", "apart", "close", "three", "two pairs")
# Functions of the whole matrix: smooth where values are equal. (call, matrix, labels of the values)
WHOLE = {
    "cholesky": (call_of("cholesky"), hermitian, POSITIVE),
    "qr": (call_of("qr", mode="economic"), singular, POSITIVE),
    "inv": (call_of("inv"), general, POSITIVE),
    "pinv": (call_of("pinv"), singular, POSITIVE),
    "det": (call_of("det"), general, tuple(VALUES)),
    "polar": (call_of("polar"), general, POSITIVE),
    "sqrtm": (call_of("sqrtm"), general, POSITIVE),
    "logm": (call_of("logm"), general, POSITIVE),
    "expm": (call_of("expm"), general, tuple(VALUES)),
    "sinm": (call_of("sinm"), hermitian, tuple(VALUES)),
    "lu": (call_of("lu", pick=(1, 2)), general, POSITIVE),
    "solve_sylvester": (lambda module, a: module.solve_sylvester(a, a, np.eye(a.shape[-1])), general, POSITIVE),
}


# Where values are zero to the last bit a zero in the gradient of their vectors may come of a product with the values,
# whose derivative is not zero. Nothing tells the two apart, so the derivative is nan. That holds for second derivatives
# of eigvals too, which are those of vectors. Other values, and zeros up to rounding, are drawn.
VECTORS = ("eigh", "eigh upper", "eigh of two", "eig", "eigvals", "svd")


def draw(rng, label=None, kind=None):
    labels = ["eigh", "eigh upper", "eigvalsh", "eig", "eigvals", "svd", "svdvals", "eigh of two", *WHOLE]
    label = str(rng.choice(labels)) if label is None else label
    kind = str(rng.choice(["d", "D"])) if kind is None else kind
    exactly = bool(rng.random() < 0.5) and label != "qr"  # LAPACK's signs jump at triangular matrices
    names = WHOLE[label][2] if label in WHOLE else tuple(VALUES)
    values = VALUES[str(rng.choice(names))]
    if label in VECTORS and 0.0 in values:
        exactly = False
        # LAPACK may make exact zeros of those up to rounding, of which two have no vectors of their own.
        if label in ("svd", "eig", "eigvals") or tuple(values).count(0.0) > 1:
            values = VALUES["equal"]
    options = {}
    theirs, mine = (np.linalg, np.linalg) if rng.random() < 0.5 else (plain, ours)
    if label in WHOLE:
        call, make, _ = WHOLE[label]
        theirs, mine = plain, ours
    elif label.startswith("eigvalsh"):
        call, make = of_eigvalsh(values), hermitian
    elif label.startswith("eigh"):
        call, make = of_eigh("eigh", values), hermitian
        if label == "eigh upper":
            options = {"UPLO": "U"} if theirs is np.linalg else {"lower": False}
        elif label == "eigh of two":
            theirs, mine = plain, ours
    elif label == "eig":
        call, make = of_eig(values), general
    elif label == "eigvals":
        call, make = of_eigvals(values), general
    else:
        vectors, alone = of_svd(values)
        call, make = (vectors if label == "svd" else alone), singular
    a = make(rng, values, kind, exactly)
    arrays = [a]
    if label == "eigh of two":
        b = unitary(rng, len(values), kind)
        p = np.eye(len(values)) + 0.2 * b
        arrays = [p @ a @ turned(p), p @ turned(p)]
    elif rng.random() < 0.3 and not exactly:  # only one of a stack has equal values
        other = make(rng, VALUES["apart"] if len(values) == 3 else np.arange(1.0, 1.0 + len(values)), kind, exactly)
        if label in ("eig", "eigvals"):  # chosen by their value
            other = 1.0 * a
        arrays = [np.stack([a, other])] if other.shape == a.shape else [np.stack([a, a])]
    shown = ", ".join([f"{array.dtype}{array.shape}" for array in arrays])
    return Spelling(
        f"{theirs.__name__}.{label}({shown}, {options}) with values {values}, exactly={exactly}: "
        f"{[array.tolist() for array in arrays]}",
        lambda *tensors: call(mine, *tensors, **options),
        lambda *given: call(theirs, *given, **options),
        tuple(arrays),
        order=2,
        rtol=1e-5,
        value_rtol=1e-8,
        step=2e-3,
        dtypes=False,
    )
