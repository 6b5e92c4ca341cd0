"""scipy.linalg's functions of stacks: every function that takes them x leading axes on each operand, equal, broadcast,
of length one and empty x vectors and matrices on the right side x core sizes 1 to 3 x complex, both precisions x flags
(lower, trans, transposed, assume_a, side, mode).

Values are held to SciPy's own, derivatives to differences of SciPy's own values. Where a result is one of many (signs
and phases of vectors), the call takes what does not depend on the choice.

Imports of arraygrad: the public face.
"""

import itertools

import numpy as np
import scipy.linalg as plain

import arraygrad.scipy.linalg as ours

from .spelling import Spelling

CALLS = 60
BATCHES = ((), (2,), (3,), (1,), (2, 3), (2, 1), (0,), (2, 0))
EMPTY_WEIGHT = 0.1


# -- operands: core arrays of random numbers, well conditioned --------------------------------------------------------


def general(rng, draw, n):
    return draw(n, n) + 2.5 * np.eye(n)


def of_two_signs(rng, draw, n):
    """With eigenvalues near -2 and 2: the sign of a matrix has large slopes where one is near zero."""
    vectors = draw(n, n) / n + 2.0 * np.eye(n)
    return vectors @ np.diag(rng.choice([-2.0, 2.0], n) + 0.2 * draw(n)) @ np.linalg.inv(vectors)


def close_to_one(rng, draw, n):
    return 0.3 * draw(n, n) / n + np.eye(n)


def small(rng, draw, n):
    return 0.4 * draw(n, n) / n


def positive(rng, draw, n):
    a = draw(n, n)
    return a @ a.conj().T + np.diag(1.0 + np.arange(n))


def symmetric(rng, draw, n):
    a = draw(n, n)
    return 0.3 * (a + a.conj().T) + np.diag(1.5 * np.arange(n))


def triangle(rng, draw, n):
    return 0.5 * draw(n, n) + np.diag(1.5 + np.arange(n) / 2)


def any_matrix(rng, draw, n):
    return draw(n, n)


def tall(rng, draw, n):
    return draw(n + 1, n) + 2.0 * np.eye(n + 1, n)


def wide(rng, draw, n):
    return draw(n, n + 1) + 2.0 * np.eye(n, n + 1)


def vector(rng, draw, n):
    return draw(n)


def shorter(rng, draw, n):
    return draw(max(n - 1, 0))


def longer(rng, draw, n):
    return draw(n + 1)


def columns(rng, draw, n):
    return draw(n, 2)


def rows(rng, draw, n):
    return draw(2, n)


def longer_rows(rng, draw, n):
    return draw(2, n + 1)


def very_tall(rng, draw, n):
    return draw(2 * n + 1, n)


def paired_values(rng, draw, n):
    """Eigenvalues of which pairs are conjugate."""
    pairs = [part for z in draw(n // 2 + 1) for part in (1j + z, np.conj(1j + z))]
    return np.array(pairs[:n] if n % 2 == 0 else [0.5 + draw().real, *pairs[: n - 1]])


def tall_columns(rng, draw, n):
    return draw(n + 1, 2)


def one_right_side(rng, draw, n):
    return draw(n + 1)


def dominant(rng, draw, n):
    return draw(n) / n + 3.0 * np.eye(n)[0]


def coefficients(rng, draw, n):
    return draw(n + 1) / n + 3.0 * np.eye(n + 1)[0]


def spectrum(rng, draw, n):
    return draw(n) + 2.0 * np.arange(n)


def hermitian_band(rng, draw, n):
    """Two diagonals in upper form."""
    return np.stack([0.4 * draw(n), 2.0 + np.abs(draw(n))])


def general_band(rng, draw, n):
    """One diagonal above, two below."""
    return np.concatenate([0.3 * draw(1, n), 3.0 + np.abs(draw(1, n)), 0.3 * draw(2, n)])


def number(rng, draw, n):
    return draw()


# -- calls ------------------------------------------------------------------------------------------------------------


def paired(name, second=()):
    """f((first, second), ...) of the arrays first, ..."""

    def call(module, first, *others, **options):
        return getattr(module, name)((first, *second), *others, **options)

    return call


def pair(name):
    def call(module, c, r, b, **options):
        return getattr(module, name)((c, r), b, **options)

    return call


def part(name, which):
    def call(module, *arrays, **options):
        found = getattr(module, name)(*arrays, **options)
        return [found[i] for i in which]

    return call


def sizes(name):
    """Absolute values: of vectors with a sign or phase of LAPACK's choice."""

    def call(module, *arrays, **options):
        found = getattr(module, name)(*arrays, **options)
        return [np.abs(one) for one in found]

    return call


def factored(name, factor):
    """f(factor(a), b): the factors by SciPy's function itself."""

    def call(module, a, b, **options):
        return getattr(module, name)(getattr(module, factor)(a), b, **options)

    return call


def banded(module, ab, b):
    return module.solve_banded((2, 1), ab, b)


def cholesky_of_band(module, ab, lower):
    return module.cholesky_banded(ab[..., ::-1, :] if lower else ab, lower=lower)


def solved_by_band(module, ab, b, lower):
    return module.cho_solve_banded((ab[..., ::-1, :] if lower else ab, lower), b)


def of_pairs(module, w, v):
    """Of an odd number of values the first one is real, also of those nearby: SciPy refuses one without a partner."""
    if np.iscomplexobj(w) and np.shape(w)[-1] % 2:
        w = np.concatenate([np.real(w[..., :1]) + 0j, w[..., 1:]], axis=-1)
    return module.cdf2rdf(w, v)


def band_solved(module, ab, b, lower):
    return module.solveh_banded(ab[..., ::-1, :] if lower else ab, b, lower=lower)


def projector(name):
    """The projector on the columns."""

    def call(module, *arrays, **options):
        q = getattr(module, name)(*arrays, **options)[0]
        return np.matmul(q, np.conj(np.swapaxes(q, -1, -2)))

    return call


def riccati(name):
    def call(module, a, b, q, r):
        q, r = (0.5 * (m + np.conj(np.swapaxes(m, -1, -2))) for m in (q, r))
        return getattr(module, name)(a, b, q, r)

    return call


LOWER = ({"lower": True}, {"lower": False})
NONE = ({},)
ASSUMED = (
    {}, {"transposed": True}, {"assume_a": "diagonal"}, {"assume_a": "tridiagonal"}, {"assume_a": "upper triangular"},
    {"assume_a": "lower triangular"}, {"assume_a": "gen"},
)  # fmt: skip
SYMMETRIC = tuple({"assume_a": form, "lower": lower} for form in ("sym", "her", "pos") for lower in (True, False))
MODES = tuple({"mode": mode} for mode in ("full", "same", "valid"))
CONJUGATE = ({}, {"conjugate": True})

# name: (call or None, operands, options). An operand is a function of this module, or a choice of several.
CASES = {
    "solve": (None, (general, (vector, columns)), ASSUMED),
    "solve symmetric": ("solve", (positive, (vector, columns)), SYMMETRIC),
    "solve_triangular": (None, (triangle, (vector, columns)), tuple(
        {"trans": t, "lower": low, "unit_diagonal": u}
        for t, low, u in itertools.product((0, 1, 2, "N", "T", "C"), (True, False), (True, False)))),
    "inv": (None, (general,), NONE),
    "inv structured": ("inv", (positive,), tuple(
        {"assume_a": f, "lower": low} for f in ("sym", "her", "pos") for low in (True, False))),
    "det": (None, (general,), NONE),
    "pinv": (None, ((general, tall, wide),), NONE),
    "pinvh": (None, (positive,), LOWER),
    "lstsq": (part("lstsq", (0,)), ((tall,), (one_right_side, tall_columns)), NONE),
    "lstsq residues": (part("lstsq", (0, 1, 3)), ((tall,), (one_right_side, tall_columns)), NONE),
    "lstsq square": (part("lstsq", (0, 3)), ((general,), (vector, columns)), NONE),
    "cholesky": (None, (positive,), LOWER),
    "cho_factor": (part("cho_factor", (0,)), (positive,), LOWER),
    "cho_solve lower": (paired("cho_solve", (True,)), (triangle, (vector, columns)), NONE),
    "cho_solve upper": (paired("cho_solve", (False,)), (triangle, (vector, columns)), NONE),
    "lu": (None, ((general, tall, wide),), ({}, {"permute_l": True}, {"p_indices": True})),
    "lu_factor": (part("lu_factor", (0,)), (general,), NONE),
    "lu_solve": (factored("lu_solve", "lu_factor"), (general, (vector, columns)),
                 ({}, {"trans": 1}, {"trans": 2})),
    "qr": (None, ((general, tall, wide),), ({"mode": "economic"},)),
    "qr of pivots": (part("qr", (0, 1)), ((general, tall),), ({"mode": "economic", "pivoting": True},)),
    "qr_multiply": (None, (tall, (one_right_side, longer_rows)), ({"mode": "right"},)),
    "qr_multiply of rows": ("qr_multiply", (general, (vector, rows)), CONJUGATE),
    "qr_multiply from the left": ("qr_multiply", (general, (vector, columns)),
                                  ({"mode": "left"}, {"mode": "left", "conjugate": True})),
    "rq": (None, (general,), NONE),
    "svd": (sizes("svd"), ((general, tall, wide),), ({"full_matrices": False},)),
    "svdvals": (None, ((general, tall, wide),), NONE),
    "polar": (None, (general,), ({}, {"side": "left"})),
    "eigh": (sizes("eigh"), (symmetric,), LOWER),
    "eigh of two": (sizes("eigh"), (symmetric, positive), LOWER),
    "eigvalsh": (None, (symmetric,), LOWER),
    "eigvalsh of two": ("eigvalsh", (symmetric, positive), LOWER),
    "eigvals": (None, (symmetric,), NONE),
    "eig_banded": (sizes("eig_banded"), (hermitian_band,), NONE),
    "eigvals_banded": (None, (hermitian_band,), NONE),
    "eigvalsh_tridiagonal": (None, (spectrum, shorter), NONE),
    "solve_banded": (banded, (general_band, (vector, columns)), NONE),
    "solveh_banded": (band_solved, (hermitian_band, (vector, columns)), LOWER),
    "cholesky_banded": (cholesky_of_band, (hermitian_band,), LOWER),
    "cho_solve_banded": (solved_by_band, (hermitian_band, (vector, columns)), LOWER),
    "solve_toeplitz": (None, (dominant, (vector, columns)), NONE),
    "solve_toeplitz of two": (pair("solve_toeplitz"), (dominant, vector, (vector, columns)), NONE),
    "matmul_toeplitz": (None, (dominant, (vector, columns)), NONE),
    "matmul_toeplitz of two": (pair("matmul_toeplitz"), (longer, vector, (vector, columns)), NONE),
    "toeplitz": (None, ((vector, number),), NONE),
    "toeplitz of two": ("toeplitz", ((vector, number), (longer, number)), NONE),
    "circulant": (None, ((vector, number),), NONE),
    "hankel": (None, (vector,), NONE),
    "hankel of two": ("hankel", (vector, longer), NONE),
    "companion": (None, (coefficients,), NONE),
    "fiedler": (None, (spectrum,), NONE),
    "fiedler_companion": (None, (coefficients,), NONE),
    "leslie": (None, (longer, vector), NONE),
    "convolution_matrix": (lambda module, a, mode: module.convolution_matrix(a, 2, mode), (vector,), MODES),
    "block_diag": (None, ((any_matrix, vector, number), (tall, rows), (wide, any_matrix)), NONE),
    "khatri_rao": (None, (any_matrix, tall), NONE),
    "expm": (None, (any_matrix,), NONE),
    "expm_frechet": (None, (small, any_matrix), ({}, {"compute_expm": False})),
    "logm": (None, (close_to_one,), NONE),
    "sqrtm": (None, (close_to_one,), NONE),
    "fractional_matrix_power": (lambda module, a: module.fractional_matrix_power(a, 0.4), (close_to_one,), NONE),
    "sinm": (None, (small,), NONE),
    "cosm": (None, (small,), NONE),
    "tanm": (None, (small,), NONE),
    "sinhm": (None, (small,), NONE),
    "coshm": (None, (small,), NONE),
    "tanhm": (None, (small,), NONE),
    "signm": (None, (of_two_signs,), NONE),
    "solve_sylvester": (None, (general, general, (any_matrix, number)), NONE),
    "solve_continuous_lyapunov": (None, (general, any_matrix), NONE),
    "solve_discrete_lyapunov": (None, (small, any_matrix), ({}, {"method": "bilinear"})),
    "solve_continuous_are": (riccati("solve_continuous_are"), (small, columns, positive, positive), NONE),
    "solve_discrete_are": (riccati("solve_discrete_are"), (small, columns, positive, positive), NONE),
    "subspace_angles": (None, (very_tall, very_tall), NONE),  # of more columns than rows some angle is zero, and noise
    "orthogonal_procrustes": (None, (tall, tall), NONE),
    "cdf2rdf": (of_pairs, (paired_values, any_matrix), NONE),
    "diagsvd": (lambda module, s: module.diagsvd(s, np.shape(s)[-1], 4), (vector,), NONE),
    "matrix_balance": (part("matrix_balance", (0,)), (general,), NONE),
    "ldl": (part("ldl", (0, 1)), (symmetric,), LOWER),
    "hessenberg": (None, (any_matrix,), ({}, {"calc_q": True})),
    "norm": (lambda module, a, axis: module.norm(a, axis=axis), (any_matrix,), ({"axis": (-2, -1)}, {"axis": -1})),
}  # fmt: skip

REAL_ONLY = {"ldl", "hessenberg", "fiedler", "eigh of two", "eigvalsh of two", "subspace_angles", "polar",
             "matrix_balance"}  # fmt: skip


def stacked(rng, make, draw, n, batch):
    count = int(np.prod(batch))
    found = [make(rng, draw, n) for _ in range(max(count, 1))]
    return np.reshape(np.stack(found)[:count], (*batch, *np.shape(found[0])))


def part_of(rng, batch):
    """Leading axes that broadcast to `batch`."""
    own = tuple(1 if rng.random() < 0.2 else m for m in batch)
    return own[int(rng.integers(0, len(batch) + 1)) :] if rng.random() < 0.5 else own


def member(rng, label, batch=None, kind=None, n=None, options=None):
    call, operands, choices = CASES[label]
    name = label.split()[0]
    if call is None or isinstance(call, str):
        name = call or name

        def call(module, *arrays, name=name, **options):
            return getattr(module, name)(*arrays, **options)

    if kind is None:
        kind = str(rng.choice(["d", "d", "D", "f", "F"]))
    if label in REAL_ONLY:
        kind = kind.lower().replace("z", "d")
    if label == "eigvals":  # in single precision LAPACK may give them in another order
        kind = kind.replace("f", "d").replace("F", "D")
    n = int(rng.integers(1, 4)) if n is None else n
    if batch is None:
        empty = rng.random() < EMPTY_WEIGHT
        batch = BATCHES[int(rng.choice([i for i, b in enumerate(BATCHES) if (0 in b) == empty]))]
    options = choices[int(rng.integers(len(choices)))] if options is None else options

    def draw(*shape):
        found = rng.normal(size=shape)
        return found + 1j * rng.normal(size=shape) if kind in "DF" else found

    m = 2 if name.endswith("_are") else n
    arrays = []
    for place, operand in enumerate(operands):
        make = operand[int(rng.integers(len(operand)))] if isinstance(operand, tuple) else operand
        size = 2 if name.endswith("_are") and place == 3 else m
        # A vector on the right side has no stack: with leading axes it would be a matrix.
        alone = isinstance(operand, tuple) and make in (vector, one_right_side, number) and right_side(operand)
        own = () if alone else part_of(rng, batch)
        arrays.append(stacked(rng, make, draw, size, own).astype(kind))

    shown = ", ".join([f"{a.dtype}{a.shape}" for a in arrays])
    text = f"linalg.{label}({shown}, {options}) of {[a.tolist() for a in arrays]}"
    return Spelling(
        text,
        lambda *tensors: call(ours, *tensors, **options),
        lambda *given: call(plain, *given, **options),
        tuple(arrays),
        order=2,
        rtol=1e-5,
        value_rtol=1e-9 if kind in "dD" else 2e-3,
        step=1e-3,
    )


def right_side(operand):
    return any(one in (columns, rows, tall_columns, longer_rows) for one in operand) or operand == (any_matrix, number)


def draw(rng):
    labels = sorted(CASES)
    return member(rng, labels[int(rng.integers(len(labels)))])
