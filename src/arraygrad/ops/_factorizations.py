"""Rules of matrix factorizations.

May import: ops._helpers. Everything uses only the standard. None of them is holomorphic: conjugation is spelled out, H
is the conjugate transpose. Derivations: Giles (2008), "Collected matrix derivative results for forward and reverse
mode"; Murray (2016) for Cholesky; Townsend (2016) for the singular value decomposition; Boeddeker et al. (2017) for
complex eigenvectors.
"""

from arraygrad.ops._helpers import adjoint, eye_mask, is_complex, is_dask, is_on_device, is_tensor, unrecorded

# How far, in absolute terms, a gradient may be from not depending on a vector's phase (PyTorch's tolerance).
PHASE_TOLERANCE = 1e-2


def compiled(xp, name, *args):
    """What a library's own function for a part of a rule gives; None: it has none, or not for these arrays."""
    function = getattr(xp, name, None)
    return None if function is None else function(*args)


def of_triangle(xp, gradient, upper=False):
    """The gradient of a Hermitian matrix as that of the elements of one triangle, which is all that is read of it.

    Those outside of the diagonal stand for two elements. The diagonal's imaginary part is not read.
    """
    own = compiled(xp, "_triangle_gradient", gradient, upper)
    if own is not None:
        return own
    both = gradient + adjoint(xp, gradient)
    if upper:
        return (xp.triu(both) + xp.triu(both, k=1)) / 2
    return (xp.tril(both) + xp.tril(both, k=-1)) / 2


def cholesky(xp, g, ans, upper):
    """L^-H (P + P^H) / 2 L^-1 in one triangle, where P is the lower triangle of L^H g with half its diagonal."""
    if upper:
        ans, g = adjoint(xp, ans), adjoint(xp, g)
    lh = adjoint(xp, ans)
    inner = xp.matmul(lh, g)
    inner = (xp.tril(inner) + xp.tril(inner, k=-1)) / 2
    inner = (inner + adjoint(xp, inner)) / 2
    half = _solve_upper(xp, lh, inner)
    return of_triangle(xp, adjoint(xp, _solve_upper(xp, lh, adjoint(xp, half))), upper)


def _solve_upper(xp, a, b):
    """a^-1 b for an upper triangular a: by the library's own function for those where its namespace has one."""
    own = getattr(xp, "_solve_triangular", None)
    return xp.linalg.solve(a, b) if own is None else own(a, b, lower=False)


# -- QR ---------------------------------------------------------------------------------------------------------------


def qr(xp, g, ans, x_shape, mode):
    """(g_Q + Q S) R^-H, where the Hermitian S has the lower triangle of R g_R^H - g_Q^H Q.

    For more columns than rows, x = [X | Y], R = [U | Q^H Y], this is the gradient of X, with R for U and g_Q + Y g_Y^H
    for g_Q; that of Y is Q g_Y, where g_Y are the last columns of g_R.
    """
    g_q, g_r = g
    q, r = ans
    m, n = x_shape[-2:]
    if m >= n and q.shape == x_shape:
        found = compiled(xp, "_qr_gradient", g_q, g_r, q, r)
        if found is not None:
            return found
    if mode == "complete" and m > n:
        _refuse_extra(xp, "qr", "Q", g_q, None if g_q is None else g_q[..., :, n:], "mode='reduced'")
        g_q = None if g_q is None else g_q[..., :, :n]
        g_r = None if g_r is None else g_r[..., :n, :]
        q, r = q[..., :, :n], r[..., :n, :]
    g_q = xp.zeros_like(q) if g_q is None else g_q
    g_r = xp.zeros_like(r) if g_r is None else g_r
    if m >= n:
        return _qr_tall(xp, g_q, g_r, q, r)
    # x = [X | Y] with square X = Q U, and R = [U | Q^H Y]
    g_rest = g_r[..., :, m:]
    g_q = g_q + xp.matmul(q, xp.matmul(r[..., :, m:], adjoint(xp, g_rest)))
    return xp.concat([_qr_tall(xp, g_q, g_r[..., :, :m], q, r[..., :, :m]), xp.matmul(q, g_rest)], axis=-1)


def qr_forward(xp, x, mode):
    """The library's qr; NumPy has modes that give no Q, or not R."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: expected mode as 'reduced' or 'complete', got {mode!r}")
    return xp.linalg.qr(x, mode=mode)


def _qr_tall(xp, g_q, g_r, q, r):
    """(g_q + Q S) R^-H, where the Hermitian S has the lower triangle of R g_r^H - g_q^H Q; nan where R is singular."""
    singular = xp.any(xp.linalg.diagonal(unrecorded(r)) == 0, axis=-1)
    if is_on_device(r) or (not is_dask(r) and bool(xp.any(singular))):
        r = xp.where(singular[..., None, None], xp.nan, r)
    lower = xp.matmul(r, adjoint(xp, g_r)) - xp.matmul(adjoint(xp, g_q), q)
    strict = xp.tril(lower, k=-1)
    own = eye_mask(xp, lower.shape[-2], lower.shape[-1], 0, lower)
    diagonal = xp.where(own, (lower + adjoint(xp, lower)) / 2, 0.0)
    total = g_q + xp.matmul(q, strict + adjoint(xp, strict) + diagonal)
    return adjoint(xp, _solve_upper(xp, r, adjoint(xp, total)))


# -- singular values --------------------------------------------------------------------------------------------------


def decomposed(xp, x):
    """(U, S, V^H) for a rule, in its reduced form; U and S are nan where a matrix is not finite.

    LAPACK may not return from the vectors of a matrix with infinities, though it does from the values alone.
    """
    finite = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
    if is_dask(x) or (not is_on_device(x) and bool(xp.all(finite))):
        return xp.linalg.svd(x, full_matrices=False)
    u, s, vh = xp.linalg.svd(xp.where(finite, x, 0.0), full_matrices=False)
    return xp.where(finite, u, xp.nan), xp.where(finite[..., 0], s, xp.nan), vh


def svdvals(xp, g, x):
    """U diag(g) V^H."""
    found = compiled(xp, "_svdvals_gradient", g, x)
    if found is not None:
        return found
    u, values, vh = decomposed(xp, x)
    g = _as_of(g, values)
    none = _unused_zeros(xp, g, values)
    if none is not None:
        tiny = xp.where(none, xp.finfo(values.dtype).eps * _spread(xp, values)[0], 0.0)
        moved = xp.matmul(unrecorded(u) * tiny[..., None, :], unrecorded(vh))
        u, values, vh = xp.linalg.svd(x + moved, full_matrices=False)
    return xp.matmul(u * g[..., None, :], vh)


def svd(xp, g, ans, x, full_matrices):
    """U (skew(U^H g_U) / E S + S skew(V^H g_V) / E + diag(g_S)) V^H, where E_ij = s_j^2 - s_i^2 and skew(a) = a - a^H.

    For more rows than columns plus (1 - U U^H) g_U S^-1 V^H, for fewer U S^-1 g_V^H (1 - V V^H). Complex x: also the
    imaginary part of the diagonal of U^H g_U, over S, inside the brackets.
    """
    g_u, g_s, g_vh = g
    u, s, vh = ans
    if 0 in x.shape:
        return xp.zeros_like(x)
    m, n = x.shape[-2:]
    k = s.shape[-1]
    if full_matrices and m > n:
        _refuse_extra(xp, "svd", "U", g_u, None if g_u is None else g_u[..., :, k:], "full_matrices=False")
        u, g_u = u[..., :, :k], None if g_u is None else g_u[..., :, :k]
    if full_matrices and n > m:
        _refuse_extra(xp, "svd", "Vh", g_vh, None if g_vh is None else g_vh[..., k:, :], "full_matrices=False")
        vh, g_vh = vh[..., :k, :], None if g_vh is None else g_vh[..., :k, :]
    if g_u is None and g_vh is None and _unused_zeros(xp, g_s, s) is not None:
        return svdvals(xp, g_s, x)
    if g_u is None and g_vh is None:
        return xp.matmul(u * g_s[..., None, :], vh)
    found = compiled(xp, "_svd_gradient", g_u, g_s, g_vh, u, s, vh)
    if found is not None:
        return found
    own = eye_mask(xp, k, k, 0, s)
    column, row = s[..., :, None], s[..., None, :]
    equal = _equal(xp, s, own)
    of_u = xp.zeros_like(u) if g_u is None else g_u
    of_v = xp.zeros_like(adjoint(xp, vh)) if g_vh is None else adjoint(xp, g_vh)
    used = _has_gradient(xp, of_u) | _has_gradient(xp, of_v)
    largest, share = _spread(xp, s)
    zero = unrecorded(s) <= share * largest
    believed = _believed(xp, g_s, s, used, equal, equal | (own & zero[..., None, :]))
    counted = ~_exact_zeros(xp, s)
    of_row, of_column = counted[..., None, :], counted[..., :, None]
    alone = 0.0
    if _is_recorded(s):
        lost = xp.any(equal, axis=-2) | (zero & (m != n))
        if bool(xp.any(lost)):
            alone = _without_derivative(xp, of_u, lost) + _without_derivative(xp, of_v, lost)
        found = _alone(xp, s, used, zero=True)
        if found is not None:
            alone = alone + _singular_vectors_alone(xp, found, x, u, s, vh, of_u, of_v)
            rest = ~(found[0][..., None] & used)[..., None, :]
            g_u = None if g_u is None else xp.where(rest, g_u, 0.0)
            g_vh = None if g_vh is None else xp.where(xp.matrix_transpose(rest), g_vh, 0.0)
        s = _not_divided_by(xp, s, None if found is None else found[0], used, lambda: xp.linalg.svdvals(x))
        column, row = s[..., :, None], s[..., None, :]
    gap = xp.where(own, 1.0, (row - column) * (row + column))
    inner = xp.zeros_like(gap) if g_s is None else xp.where(own, g_s[..., None, :], 0.0)
    turn_u = None if g_u is None else xp.matmul(adjoint(xp, u), g_u)
    turn_v = None if g_vh is None else xp.matmul(vh, adjoint(xp, g_vh))
    if turn_u is not None:
        inner = inner + _over(xp, _skew(xp, turn_u, own), gap, equal, believed) * row
    if turn_v is not None:
        inner = inner + column * _over(xp, _skew(xp, turn_v, own), gap, equal, believed)
    zero_row, zero_column = zero[..., None, :], zero[..., :, None]
    if is_complex(xp, u.dtype):
        _check_phase(xp, "svd", own, *(t for t in (turn_u, turn_v) if t is not None))
        if turn_u is not None:  # the phase of a pair of vectors is carried by U
            phase = xp.where(own, turn_u - xp.conj(turn_u), 0.0)
            inner = inner + _over(xp, phase, xp.where(own, 2 * row, 1.0), zero_row & own, of_row)
    gradient = alone + xp.matmul(xp.matmul(u, inner), vh)
    if g_u is not None and m > k:
        outside = g_u - xp.matmul(u, turn_u)
        gradient = gradient + xp.matmul(_over(xp, outside, row, zero_row, of_row), vh)
    if g_vh is not None and n > k:
        outside = g_vh - xp.matmul(adjoint(xp, turn_v), vh)
        gradient = gradient + xp.matmul(u, _over(xp, outside, column, zero_column, of_column))
    return gradient


def _skew(xp, a, own):
    """a - a^H without its diagonal."""
    return xp.where(own, 0.0, a - adjoint(xp, a))


# -- vectors of values that are equal, and of those that are not -------------------------------------------------------
#
# Sums over all vectors divide by the gaps between values. A pair of values that are equal has no derivative of its
# vectors: nan where a gradient needs them. "Equal" is up to the rounding of the values: what is below has no digits.
# Where vectors have no gradient their pair counts for nothing. Zeros of a gradient do not say that, though: that of
# V diag(l) V^H is zero for vectors whose l is zero, and depends on them, also where l is of another call. So of values
# that are zero to the last bit they are never believed. Of others they are where the values have no gradient at all, or
# others have one (`_believed`).
#
# For derivatives of these sums the pairs that have no gradient matter too. Their parts cancel, but for rounding errors
# that are divided by their gap. So where values are close, a recorded gradient of vectors whose own value stands alone
# is that of the equations that they solve, which hold no other vectors.


def _spread(xp, values):
    """The size of the largest of values (..., n), and their rounding error as a share of it."""
    size = xp.abs(unrecorded(values))
    return xp.max(size, axis=-1, keepdims=True), 8 * values.shape[-1] * xp.finfo(size.dtype).eps


def _equal(xp, values, own):
    """(..., n, n): pairs of values, not of one with itself, that are equal up to rounding."""
    if values.shape[-1] < 2:
        return own & ~own
    largest, share = _spread(xp, values)
    values = unrecorded(values)
    gaps = xp.abs(values[..., None, :] - values[..., :, None])
    return ~own & (gaps <= share * largest[..., None])


def _not_divided_by(xp, values, chosen, used, again):
    """The values as constants, where all that is divided by their gaps is zero.

    Of a stack in which only some matrices are so they are those of `again()`: the decomposition's own would have
    gradients of zero for the others, which are not those of values that have none.
    """
    divided = xp.any(used, axis=-1) if chosen is None else xp.any(used, axis=-1) & ~chosen
    if not bool(xp.any(divided)):
        return unrecorded(values)
    return values if chosen is None or not bool(xp.any(chosen)) else again()


def _over(xp, a, gap, equal, believed):
    """a / gap; where values are equal nan, or zero if a is zero and that is believed. A constant there."""
    none = equal & (unrecorded(a) == 0) & believed
    return xp.where(none, 0.0, xp.where(equal, xp.nan, a / xp.where(equal, 1.0, gap)))


def _believed(xp, g_values, values, used, equal, lost):
    """(..., n, n): whether zeros in gradients of vectors of equal values mean that the vectors have none.

    Values that are equal up to rounding, but not to the last bit, have a gap: zero over it is zero. `lost` are the
    places of `equal`, and others where a gradient of vectors has no derivative.
    """
    shared = xp.any(lost, axis=-2)
    found = ~xp.any(used & shared, axis=-1, keepdims=True)
    if g_values is not None:
        there = unrecorded(g_values) != 0
        found = found & xp.any(there, axis=-1, keepdims=True) & ~xp.any(there & shared, axis=-1, keepdims=True)
    row, column = unrecorded(values)[..., None, :], unrecorded(values)[..., :, None]
    zero = _exact_zeros(xp, values)[..., None, :]
    return ~zero & (found[..., None] | (row != column))


def _exact_zeros(xp, values):
    """(..., n): which values are zero to the last bit, in a matrix of which all that are zero up to rounding are.

    Where another one is not, a product with the values has a gradient of its vector, which says what the zeros do not.
    """
    if values.shape[-1] == 0:
        return xp.zeros_like(unrecorded(values), dtype=xp.bool)
    largest, share = _spread(xp, values)
    zero = unrecorded(values) == 0
    rounded = (xp.abs(unrecorded(values)) <= share * largest) & ~zero
    return zero & ~xp.any(rounded, axis=-1, keepdims=True)


def _unused_zeros(xp, g, values):
    """(..., n): which values are `_exact_zeros` and have no gradient, in the recorded gradient of values.

    A constant gradient of zero says that the value does not matter: its vector has no part in the result. The rules of
    vectors cannot know that of zeros. So the caller moves these values away from zero. None where there are none.
    """
    if not _is_recorded(values) or (_is_recorded(g) and g.requires_grad):
        return None
    none = _exact_zeros(xp, values) & (unrecorded(g) == 0)
    return none if bool(xp.any(none)) else None


def _without_derivative(xp, g, columns):
    """Zero, whose derivative by the columns of g is nan: these have no gradient, and none is known if they had one."""
    return xp.sum(xp._zero_unknown(xp.where(columns[..., None, :], g, 0.0)), axis=(-2, -1), keepdims=True)


def _is_recorded(a):
    """Whether what is computed of `a` is recorded, and its values can be looked at without computing them early."""
    return is_tensor(a) and not is_dask(a)


def _alone(xp, values, used, zero=False, every=False):
    """(which of the stack, which values) have gradients through `used` that are to be computed one by one.

    Parameters
    ----------
    values : array (..., n)
    used : array of bool (..., n)
        Which have a gradient of their vector.
    zero : bool
        Whether zero is among the values.
    every : bool
        Whether to give all values that stand alone, not only those that are used.

    Returns
    -------
    (array of bool (...), list of int), or None where no values are close
    """
    n = values.shape[-1]
    if n == 0 or 0 in values.shape:
        return None
    values = unrecorded(values)
    own = eye_mask(xp, n, n, 0, values)
    largest, share = _spread(xp, values)
    gaps = xp.where(own, xp.inf, xp.abs(values[..., None, :] - values[..., :, None]))
    nearest = xp.min(gaps, axis=-1)
    if zero:
        nearest = xp.minimum(nearest, xp.abs(values))
    close = xp.any(nearest <= xp.finfo(nearest.dtype).eps ** 0.5 * largest, axis=-1)
    if not bool(xp.any(close)):
        return None
    apart = nearest > share * largest
    chosen = close & xp.all(~used | apart, axis=-1) & xp.any(used, axis=-1)
    wanted = apart if every else used
    at = [j for j in range(n) if bool(xp.any(chosen & wanted[..., j]))]
    return (chosen, at) if at else None


def _as_of(g, values):
    """The gradient of values; as one that depends on them, if it changes with anything: then zeros are not believed."""
    return g + 0.0 * values if _is_recorded(g) and g.requires_grad else g


def by_equations(xp, chosen, a, v, g_value, g_v, b=None):
    """(y, m) of the gradient y v^H of a, where v is the vector of an eigenvalue of a that stands alone, `value`.

    (value - a) dv + v dvalue = da v and v^H dv = 0 are regular equations for the changes. With a Hermitian b, where
    a v = value b v and v^H b v = 1, they are (value b - a) dv + b v dvalue = (da - value db) v and v^H b dv =
    -v^H db v / 2, so that the gradient of b is -value y v^H - m v v^H / 2. Elsewhere than at `chosen` both are zero.
    """
    value = _quotient_of(xp, a, v, b)  # not the decomposition's: nothing here depends on other values
    n = v.shape[-1]
    size = xp.abs(unrecorded(value))
    scale = xp.where(size == 0, 1.0, size)[..., None, None]  # of the border: any will do, this one keeps the digits
    chosen = chosen[..., None, None]
    one = xp.eye(n, dtype=v.dtype, device=getattr(v, "device", None))
    border = v[..., :, None] if b is None else xp.matmul(b, v[..., :, None])
    column, row = scale * border, scale * adjoint(xp, border)
    matrix = xp.concat([
        xp.concat([value[..., None, None] * (one if b is None else b) - a, column], axis=-1),
        xp.concat([row, xp.zeros_like(row[..., :1])], axis=-1),
    ], axis=-2)  # fmt: skip
    regular = xp.eye(n + 1, dtype=v.dtype, device=getattr(v, "device", None))
    g_value = xp.zeros_like(row[..., :1]) if g_value is None else scale * g_value[..., None, None]
    g = xp.concat([g_v[..., :, None], g_value], axis=-2)
    y = xp.linalg.solve(adjoint(xp, xp.where(chosen, matrix, regular)), xp.where(chosen, g, 0.0))
    return y[..., :n, :], scale * y[..., n:, :]


def _quotient_of(xp, a, v, b):
    """v^H a v / v^H b v, the eigenvalue of v; what is below is one, or the constant that it is."""
    column = v[..., :, None]
    row = adjoint(xp, column)
    below = unrecorded(xp.matmul(row, column if b is None else xp.matmul(b, column)))
    found = (xp.matmul(row, xp.matmul(a, column)) / below)[..., 0, 0]
    return found if b is None or not is_complex(xp, found.dtype) else xp.astype(xp.real(found), found.dtype)


def _has_gradient(xp, g):
    """Which columns of a gradient are not zero."""
    return xp.any(unrecorded(g) != 0, axis=-2)


def _singular_vectors_alone(xp, found, x, u, s, vh, g_u, g_v):
    """The gradient of x by those of singular vectors that are computed one by one.

    (u, v) is an eigenvector of [[0, x], [x^H, 0]], its singular value the eigenvalue.
    """
    chosen, at = found
    v = adjoint(xp, vh)
    m = x.shape[-2]
    xh = adjoint(xp, x)
    whole = xp.concat([
        xp.concat([xp.zeros_like(xp.matmul(x, xh)), x], axis=-1),
        xp.concat([xh, xp.zeros_like(xp.matmul(xh, x))], axis=-1),
    ], axis=-2)  # fmt: skip
    if is_complex(xp, u.dtype):
        own = eye_mask(xp, s.shape[-1], s.shape[-1], 0, s)
        _check_phase(xp, "svd", own, xp.matmul(adjoint(xp, u), g_u), xp.matmul(vh, g_v))
    gradient = 0.0
    for j in at:
        both = xp.concat([u[..., :, j], v[..., :, j]], axis=-1)
        g = xp.concat([g_u[..., :, j], g_v[..., :, j]], axis=-1)
        y, _ = by_equations(xp, chosen, whole, both, None, g)
        gradient = gradient + xp.matmul(y[..., :m, :], vh[..., j, None, :])
        gradient = gradient + xp.matmul(u[..., :, j, None], adjoint(xp, y[..., m:, :]))
    return gradient


# -- eigenvalues ------------------------------------------------------------------------------------------------------


def eigvalsh(xp, g, x, upper=False):
    """V diag(g) V^H in the triangle that was read."""
    found = compiled(xp, "_eigvalsh_gradient", g, x, upper)
    if found is not None:
        return found
    decompose = xp._eigh_upper if upper else xp.linalg.eigh
    values, v = decompose(x)
    g = _as_of(g, values)
    none = _unused_zeros(xp, g, values)
    if none is not None:  # the same vectors of x + c 1
        one = xp.eye(x.shape[-1], dtype=x.dtype, device=getattr(x, "device", None))
        shift = xp.where(xp.any(none, axis=-1, keepdims=True), _spread(xp, values)[0], 0.0)
        values, v = decompose(x + xp.astype(shift, x.dtype)[..., None] * one)
    return of_triangle(xp, xp.matmul(v * g[..., None, :], adjoint(xp, v)), upper)


def eigh(xp, g, ans, x, upper=False):
    """V (V^H g_v / (l_j - l_i) + diag(g_l)) V^H in the triangle that was read."""
    g_l, g_v = g
    values, v = ans
    found = compiled(xp, "_eigh_gradient", g_l, g_v, values, v, upper)
    if found is not None:
        return found
    vh = adjoint(xp, v)
    if g_v is None and _unused_zeros(xp, g_l, values) is not None:
        return eigvalsh(xp, g_l, x, upper)
    if g_v is None:
        return of_triangle(xp, xp.matmul(v * g_l[..., None, :], vh), upper)
    own = eye_mask(xp, v.shape[-1], v.shape[-1], 0, v)
    turn = xp.matmul(vh, g_v)
    if is_complex(xp, v.dtype):
        _check_phase(xp, "eigh", own, turn)
    over_gap, chosen, at, alone = by_pairs(
        xp, g_l, g_v, values, v, own, turn, lambda: xp._eigvalsh_upper(x) if upper else xp.linalg.eigvalsh(x)
    )
    a = hermitian(xp, x, upper) if at else None
    for j in at:
        y, _ = by_equations(xp, chosen, a, v[..., :, j], None, g_v[..., :, j])
        alone = alone + xp.matmul(y, vh[..., j, None, :])
    diagonal = 0.0 if g_l is None else g_l[..., None, :]
    inner = xp.where(own, diagonal, over_gap)
    return of_triangle(xp, alone + xp.matmul(xp.matmul(v, inner), vh), upper)


def by_pairs(xp, g_l, g_v, values, v, own, turn, again):
    """(turn / (l_j - l_i) but for the vectors that are left to equations, where in the stack, which ones, zero).

    `again()` gives the values as those of a function of the matrix. The zero has the derivative nan by gradients of
    vectors of equal values.
    """
    used = _has_gradient(xp, g_v)
    equal = _equal(xp, values, own)
    believed = _believed(xp, g_l, values, used, equal, equal)
    zero, chosen, at = 0.0, None, ()
    if _is_recorded(v):
        lost = xp.any(equal, axis=-2)
        if bool(xp.any(lost)):
            zero = _without_derivative(xp, g_v, lost)
        chosen, at = _alone(xp, values, used) or (None, ())
        if at:
            turn = xp.where((chosen[..., None] & used)[..., None, :], 0.0, turn)
        values = _not_divided_by(xp, values, chosen, used, again)
    gap = xp.where(own, 1.0, values[..., None, :] - values[..., :, None])
    return _over(xp, turn, gap, equal, believed), chosen, at, zero


def hermitian(xp, x, upper):
    """The matrix that eigh reads from one triangle of x."""
    read, rest = (xp.triu(x), xp.triu(x, k=1)) if upper else (xp.tril(x), xp.tril(x, k=-1))
    found = read + adjoint(xp, rest)
    if is_complex(xp, x.dtype):  # of the diagonal the real part is read
        own = eye_mask(xp, x.shape[-1], x.shape[-1], 0, x)
        found = xp.where(own, xp.astype(xp.real(found), found.dtype), found)
    return found


def eigh_upper_forward(xp, x):
    """eigh of the matrix whose upper triangle is that of x, by the library's own way of reading it if it has one."""
    own = getattr(xp, "_library_eigh_upper", None)
    return xp.linalg.eigh(adjoint(xp, x)) if own is None else own(x)


def eigvalsh_upper_forward(xp, x):
    """As eigh_upper_forward, the eigenvalues alone."""
    own = getattr(xp, "_library_eigvalsh_upper", None)
    return xp.linalg.eigvalsh(adjoint(xp, x)) if own is None else own(x)


def eigvals(xp, g, x):
    """V^-H diag(g) V^H."""
    return eig(xp, (g, None), xp.linalg.eig(x), x)


def eig(xp, g, ans, x):
    """V^-H ((V^H g_v - V^H V Re(diag(V^H g_v))) / conj(l_j - l_i) + diag(g_l)) V^H: vectors keep length one."""
    g_l, g_v = g
    values, v = ans
    vh = adjoint(xp, v)
    used = xp.zeros_like(values, dtype=xp.bool) if g_l is None else unrecorded(g_l) != 0
    used = used if g_v is None else used | _has_gradient(xp, g_v)
    alone, rest = _eigenvectors_alone(xp, g_l, g_v, values, v, x, used)
    if rest is False:
        return alone
    if rest is not None:
        vh = xp.where(rest[..., None], vh, xp.eye(v.shape[-1], dtype=v.dtype, device=getattr(v, "device", None)))
        g_l = None if g_l is None else xp.where(rest, g_l, 0.0)
        g_v = None if g_v is None else xp.where(rest[..., None], g_v, 0.0)
    if g_v is None:
        return alone + xp.linalg.solve(vh, g_l[..., :, None] * vh)
    own = eye_mask(xp, v.shape[-1], v.shape[-1], 0, v)
    turn = xp.matmul(vh, g_v)
    _check_phase(xp, "eig", own, turn)
    lengths = xp.sum(xp.where(own, xp.real(turn), 0.0), axis=-2)
    turn = turn - xp.matmul(vh, v * lengths[..., None, :])
    equal = _equal(xp, values, own)
    gap = xp.where(own, 1.0, xp.conj(values[..., None, :] - values[..., :, None]))
    diagonal = 0.0 if g_l is None else g_l[..., None, :]
    inner = xp.where(own, diagonal, _over(xp, turn, gap, equal, _believed(xp, g_l, values, used, equal, equal)))
    return alone + xp.linalg.solve(vh, xp.matmul(inner, vh))


def _eigenvectors_alone(xp, g_l, g_v, values, v, x, used):
    """(gradient of x by what is computed one by one, which of the stack remain: all if None, none if False).

    Also where nothing is recorded: of equal eigenvalues there may be fewer vectors than the solution by all needs.
    """
    if is_dask(v):
        return 0.0, None
    recorded, gradient = _is_recorded(v), 0.0
    if recorded and values.shape[-1]:
        lost = xp.any(_equal(xp, values, eye_mask(xp, v.shape[-1], v.shape[-1], 0, v)), axis=-2)
        if bool(xp.any(lost)):
            for g in (g_v, None if g_l is None else g_l[..., None, :]):
                gradient = gradient if g is None else gradient + _without_derivative(xp, g, lost)
    if g_v is not None and values.shape[-1] > 1:
        several = xp.sum(xp.astype(_exact_zeros(xp, values), xp.int64), axis=-1) > 1
        gradient = gradient + xp.where(several[..., None, None], xp.nan, xp.zeros_like(unrecorded(v)))
    found = _alone(xp, values, used, every=recorded)
    if found is None:
        return gradient, None
    chosen, at = found
    if g_v is not None:
        own = eye_mask(xp, v.shape[-1], v.shape[-1], 0, v)
        turn = xp.matmul(adjoint(xp, v), g_v)
        _check_phase(xp, "eig", own, turn)
    for j in at:
        one = v[..., :, j]
        g_one = xp.zeros_like(one) if g_v is None else g_v[..., :, j]
        y, _ = by_equations(xp, chosen, x, one, None if g_l is None else g_l[..., j], g_one)
        gradient = gradient + xp.matmul(y, xp.conj(one)[..., None, :])
    return gradient, False if bool(xp.all(chosen)) else ~chosen[..., None]


def eig_forward(xp, x):
    """The library's eig; eigenvalues and vectors are complex, as the standard asks, also where all are real."""
    values, vectors = xp.linalg.eig(x)
    return _complex(xp, values), _complex(xp, vectors)


def eigvals_forward(xp, x):
    """The library's eigvals, complex also where all are real."""
    return _complex(xp, xp.linalg.eigvals(x))


def _complex(xp, a):
    return a if is_complex(xp, a.dtype) else xp.astype(a, xp.result_type(a.dtype, xp.complex64))


# -- what has no derivative -------------------------------------------------------------------------------------------


def _refuse_extra(xp, name, factor, g, extra, instead):
    """Raises if a gradient reaches the arbitrary vectors that complete a factor to a square matrix."""
    if g is not None and bool(xp.any(extra != 0)):
        raise RuntimeError(
            f"{name}: a gradient reaches the last {extra.shape[-1] if factor in ('Q', 'U') else extra.shape[-2]} "
            f"vectors of {factor}, which only complete it to a square matrix: they are arbitrary and have no "
            f"derivative. Use {instead}, or slice them off."
        )


def _check_phase(xp, name, own, *turns):
    """Raises if a gradient depends on the phases of complex vectors, which are arbitrary."""
    total = sum(turns[1:], turns[0])
    if bool(xp.any(xp.where(own, xp.abs(xp.imag(total)), 0.0) > PHASE_TOLERANCE)):
        raise RuntimeError(
            f"{name}: the gradient depends on the phase of the vectors. They are determined only up to a factor "
            f"exp(i phi) each, so a function of them that changes with the phase has no derivative. Use a function "
            f"that does not, for instance of abs(vectors)."
        )
