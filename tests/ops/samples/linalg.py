"""Samples of the linear algebra extension."""

import itertools
import math

import numpy as np

from samples._case import adjoint, case, cplx, hermitian, kink, matrices, positive, real


def _f(name, **options):
    return lambda xp, *arrays: getattr(xp.linalg, name)(*arrays, **options)


def _square(name):
    """One matrix, a stack, a 1 x 1 matrix; real and complex."""
    return [
        case("matrix", _f(name), matrices(3, 3)),
        case("stack", _f(name), matrices(2, 2, 2)),
        case("1 x 1", _f(name), matrices(1, 1)),
        case("complex", _f(name), matrices(3, 3, complex=True)),
        case("no matrices", _f(name), np.zeros((0, 2, 2))),
    ]


SAMPLES = {
    "inv": _square("inv"),
    "det": [
        *_square("det"),
        case("singular", _f("det"), [[1.0, 2.0], [2.0, 4.0]]),
        case("singular 3 x 3", _f("det"), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]),
        case("rank 1 of 3", _f("det"), np.outer([1.0, 2.0, -1.0], [0.5, 1.0, 3.0])),
        case("zero matrix", _f("det"), np.zeros((3, 3))),
        case("one singular in a stack", _f("det"), [[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]]),
        case("complex singular", _f("det"), [[1.0 + 1j, 2j], [2.0 + 0j, 2.0 + 2j]]),
        kink("known", _f("det"), [[[1.0, 2.0], [2.0, 4.0]]], [[[4.0, -2.0], [-2.0, 1.0]]]),
    ],
    "slogdet": [
        *_square("slogdet"),
        case("negative", _f("slogdet"), [[0.1, 2.0], [1.5, 0.3]]),
        case("log alone", lambda xp, x: xp.linalg.slogdet(x).logabsdet, matrices(2, 2, complex=True)),
        case("sign alone", lambda xp, x: xp.linalg.slogdet(x).sign, matrices(2, 2, complex=True)),
        kink(
            "singular",
            lambda xp, x: xp.linalg.slogdet(x).logabsdet,
            [[[1.0, 2.0], [2.0, 4.0]]],
            [[[math.inf, -math.inf], [-math.inf, math.inf]]],
        ),
    ],
    "solve": [
        case(f"{one} and {two}, {'complex' if c else 'real'}", _f("solve"), matrices(*one, complex=c), make(*two))
        for (one, two), (c, make) in itertools.product(
            (((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 2, 2), (2, 3)), ((2, 2), (2, 2, 1)), ((2, 2, 2), (2,))),
            ((False, real), (True, cplx)),
        )
    ]
    + [case("real and complex", _f("solve"), matrices(2, 2), cplx(2))],
    "matrix_power": [
        case(f"n={n}", lambda xp, x, n=n: xp.linalg.matrix_power(x, n), matrices(2, 2) / 2, order=2 if n else 1)
        for n in (-3, -1, 0, 1, 2, 3, 5, 6)
    ]
    + [
        case("complex", lambda xp, x: xp.linalg.matrix_power(x, 3), matrices(2, 2, complex=True) / 2),
        case("stack", lambda xp, x: xp.linalg.matrix_power(x, -2), matrices(2, 2, 2)),
    ],
    "outer": [
        case("real", _f("outer"), real(3), real(2)),
        case("complex", _f("outer"), cplx(3), cplx(2)),
        case("complex and real", _f("outer"), cplx(2), real(2)),
    ],
    "cross": [
        case("vectors", _f("cross"), real(3), real(3, seed=1)),
        case("stack", _f("cross"), real(2, 3), real(2, 3, seed=1)),
        case("broadcast", _f("cross"), real(2, 3), real(3, seed=1)),
        case("axis=-2", _f("cross", axis=-2), real(3, 2), real(3, 2, seed=1)),
        case("complex", _f("cross"), cplx(3), cplx(3, seed=1)),
    ],
    "diagonal": [
        case(f"{shape}, offset={offset}", _f("diagonal", offset=offset), real(*shape))
        for shape, offset in itertools.product(((3, 3), (2, 4), (4, 2), (2, 2, 3)), (-2, -1, 0, 1, 2))
    ]
    + [case("complex", _f("diagonal", offset=1), cplx(3, 3))],
    "trace": [
        case(f"{shape}, offset={offset}", _f("trace", offset=offset), real(*shape))
        for shape, offset in itertools.product(((3, 3), (2, 4), (4, 2), (2, 2, 3)), (-1, 0, 1))
    ]
    + [
        case("complex", _f("trace"), cplx(3, 3)),
        case("dtype", lambda xp, x: xp.linalg.trace(x, dtype=xp.complex128), real(2, 2), single=False),
    ],
    "pinv": [
        case("tall", _f("pinv"), real(3, 2)),
        case("wide", _f("pinv"), real(2, 3)),
        case("square", _f("pinv"), matrices(3, 3)),
        case("stack", _f("pinv"), real(2, 3, 2)),
        case("complex", _f("pinv"), cplx(3, 2)),
        case("rtol", _f("pinv", rtol=1e-8), real(3, 2)),
        case("array rtol", lambda xp, x: xp.linalg.pinv(x, rtol=xp.asarray([1e-8, 1e-9])), real(2, 3, 2)),
        case("differentiable rtol", lambda xp, x, r: xp.linalg.pinv(x, rtol=r), real(2, 3, 2), real(2) * 1e-3),
    ],
    "cholesky": [
        case(f"{label}, upper={upper}", lambda xp, x, u=upper: xp.linalg.cholesky(positive(xp, x), upper=u), x)
        for upper, (label, x) in itertools.product(
            (False, True), (("real", real(3, 3)), ("complex", cplx(2, 2)), ("stack", real(2, 2, 2)))
        )
    ]
    + [
        case("stored below", _f("cholesky"), np.tril(positive(np, real(3, 3)))),
        case("stored above", _f("cholesky", upper=True), np.triu(positive(np, cplx(2, 2)))),
        kink("one triangle", _f("cholesky"), [[[4.0, 0.0], [2.0, 10.0]]], [[[1 / 6, 0.0], [1 / 3, 1 / 6]]]),
    ],
}

# -- factorizations ---------------------------------------------------------------------------------------------------
# Vectors are determined up to a sign, or a phase: complex ones enter through their sizes or through projections.


def _qr(part, **options):
    return lambda xp, x: part(xp, xp.linalg.qr(x, **options))


def _both(xp, f):
    return f.Q, f.R


_QR_SHAPES = ((3, 3), (4, 2), (2, 4), (2, 3, 2))
SAMPLES["qr"] = [
    *(case(f"reduced {shape}", _qr(_both), real(*shape, seed=2)) for shape in _QR_SHAPES),
    *(case(f"reduced complex {shape}", _qr(_both), cplx(*shape, seed=2)) for shape in _QR_SHAPES[:3]),
    case("Q alone", _qr(lambda xp, f: f.Q), real(4, 2, seed=2)),
    case("R alone", _qr(lambda xp, f: f.R), real(4, 2, seed=2)),
    case("complete square", _qr(_both, mode="complete"), real(3, 3, seed=2)),
    case("complete wide", _qr(_both, mode="complete"), real(2, 4, seed=2)),
    case("complete tall, first columns", _qr(lambda xp, f: (f.Q[:, :2], f.R), mode="complete"), real(4, 2, seed=2)),
]


def _svd(part, **options):
    return lambda xp, x: part(xp, *xp.linalg.svd(x, **options))


def _signless(xp, u, s, vh):
    """What does not depend on the phases of U and Vh, which turn together."""
    return xp.matmul(u * (s**2)[..., None, :], vh), s, xp.abs(u), xp.abs(vh)


_SVD_SHAPES = ((3, 3), (4, 2), (2, 4), (2, 3, 2))
_SVD = _svd(_signless, full_matrices=False)
SAMPLES["svd"] = [
    *(case(f"reduced {shape}", _SVD, real(*shape, seed=3)) for shape in _SVD_SHAPES),
    *(
        case(f"complex {shape}", _svd(_signless, full_matrices=False), cplx(*shape, seed=3))
        for shape in _SVD_SHAPES[:3]
    ),
    case("S alone", _svd(lambda xp, u, s, vh: s), real(3, 2, seed=3)),
    case("U alone", _svd(lambda xp, u, s, vh: u[:, :2] ** 2), real(3, 2, seed=3)),
    case("Vh alone", _svd(lambda xp, u, s, vh: vh[:2, :] ** 2), real(2, 3, seed=3)),
    case("full square", _svd(_signless), real(3, 3, seed=3)),
    case("full, first vectors of tall", _svd(lambda xp, u, s, vh: _signless(xp, u[:, :2], s, vh)), real(4, 2, seed=3)),
    case("full, first vectors of wide", _svd(lambda xp, u, s, vh: _signless(xp, u, s, vh[:2, :])), real(2, 4, seed=3)),
]
SAMPLES["svdvals"] = [
    *(case(str(shape), _f("svdvals"), real(*shape, seed=3)) for shape in _SVD_SHAPES),
    case("complex", _f("svdvals"), cplx(3, 2, seed=3)),
    kink("equal values", _f("svdvals"), [2.0 * np.eye(2)], [np.eye(2)]),
]


def _eigh(part):
    return lambda xp, x: part(xp, *xp.linalg.eigh(hermitian(xp, x)))


def _projections(xp, values, vectors):
    return values, xp.matmul(vectors * (values**3)[..., None, :], adjoint(xp, vectors)), xp.abs(vectors)


SAMPLES["eigh"] = [
    case("values", _eigh(lambda xp, values, vectors: values), real(3, 3)),
    case("vectors", _eigh(lambda xp, values, vectors: vectors**2), real(3, 3)),
    case("both", _eigh(_projections), real(3, 3)),
    case("stack", _eigh(_projections), real(2, 2, 2)),
    case("complex", _eigh(_projections), cplx(3, 3)),
    case("stored below", lambda xp, x: _projections(xp, *xp.linalg.eigh(x)), np.tril(positive(np, real(3, 3)))),
]
SAMPLES["eigvalsh"] = [
    case("real", lambda xp, x: xp.linalg.eigvalsh(hermitian(xp, x)), real(3, 3)),
    case("complex", lambda xp, x: xp.linalg.eigvalsh(hermitian(xp, x)), cplx(3, 3)),
    case("stored below", lambda xp, x: xp.linalg.eigvalsh(x), np.tril(positive(np, cplx(3, 3)))),
    kink("equal values", lambda xp, x: xp.linalg.eigvalsh(x), [2.0 * np.eye(2)], [np.eye(2)]),
]


def _spectrum(xp, values, vectors):
    """Symmetric functions of the pairs, whose order may differ from call to call, and no phase."""
    return xp.sum(values**3, axis=-1), xp.sum(xp.abs(vectors) * xp.abs(values)[..., None, :], axis=-1)


SAMPLES["eig"] = [
    case(label, lambda xp, x: _spectrum(xp, *xp.linalg.eig(x)), x)
    for label, x in (("real", matrices(3, 3)), ("stack", matrices(2, 2, 2)), ("complex", matrices(3, 3, complex=True)))
] + [case("values alone", lambda xp, x: xp.sum(xp.linalg.eig(x).eigenvalues ** 3), matrices(3, 3))]
SAMPLES["eigvals"] = [
    case(label, lambda xp, x: xp.sum(xp.linalg.eigvals(x) ** 3, axis=-1), x)
    for label, x in (("real", matrices(3, 3)), ("stack", matrices(2, 2, 2)), ("complex", matrices(3, 3, complex=True)))
]

# -- norms ------------------------------------------------------------------------------------------------------------

SAMPLES["matrix_norm"] = [
    case(
        f"ord={ord}, {label}, keepdims={keepdims}",
        _f("matrix_norm", ord=ord, keepdims=keepdims),
        x,
    )
    for ord, (label, x), keepdims in itertools.product(
        ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf),
        (("real", real(2, 3, seed=4)), ("stack", real(2, 3, 2, seed=4)), ("complex", cplx(2, 3, seed=4))),
        (False, True),
    )
] + [
    kink("zero matrix", _f("matrix_norm"), [np.zeros((2, 2))], [np.zeros((2, 2))]),
    kink("ties of columns", _f("matrix_norm", ord=1), [[[1.0, -2.0], [2.0, 1.0]]], [[[0.5, -0.5], [0.5, 0.5]]]),
]
SAMPLES["vector_norm"] = [
    case(
        f"ord={ord}, axis={axis}, keepdims={keepdims}",
        _f("vector_norm", ord=ord, axis=axis, keepdims=keepdims),
        x,
        order=2 if ord else 1,
    )
    for ord, (axis, x), keepdims in itertools.product(
        (0, 1, 2, 3, 2.5, 0.5, -1, -2, math.inf, -math.inf),
        ((None, real(2, 3, low=0.5)), (0, -real(2, 3, low=0.5)), ((0, 2), real(2, 2, 2, low=0.5)), (-1, cplx(2, 2))),
        (False, True),
    )
] + [
    kink("zero vector", _f("vector_norm"), [[0.0, 0.0]], [[0.0, 0.0]]),
    kink("a zero, ord=1", _f("vector_norm", ord=1), [[0.0, -2.0]], [[0.0, -1.0]]),
    kink("a zero, ord=1.5", _f("vector_norm", ord=1.5), [[0.0, -2.0]], [[0.0, -1.0]]),
    kink("a zero, ord=0.5", _f("vector_norm", ord=0.5), [[0.0, -2.0]], [[0.0, -1.0]]),
    kink("a zero, ord=-1", _f("vector_norm", ord=-1), [[0.0, -2.0]], [[0.0, 0.0]]),
    kink("zero vector, ord=3", _f("vector_norm", ord=3), [[0.0, 0.0]], [[0.0, 0.0]]),
    kink("ties, ord=inf", _f("vector_norm", ord=math.inf), [[1.0, -1.0, 0.5]], [[0.5, -0.5, 0.0]]),
]
