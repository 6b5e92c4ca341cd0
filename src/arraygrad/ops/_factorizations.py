"""Rules of matrix factorizations.

May import: ops._helpers. Everything uses only the standard. None of them is holomorphic: conjugation is spelled out, H
is the conjugate transpose. Derivations: Giles (2008), "Collected matrix derivative results for forward and reverse
mode"; Murray (2016) for Cholesky; Townsend (2016) for the singular value decomposition; Boeddeker et al. (2017) for
complex eigenvectors.
"""

from arraygrad.ops._helpers import adjoint, eye_mask, is_complex

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
    """(g_q + Q S) R^-H, where the Hermitian S has the lower triangle of R g_r^H - g_q^H Q."""
    lower = xp.matmul(r, adjoint(xp, g_r)) - xp.matmul(adjoint(xp, g_q), q)
    strict = xp.tril(lower, k=-1)
    own = eye_mask(xp, lower.shape[-2], lower.shape[-1], 0, lower)
    diagonal = xp.where(own, (lower + adjoint(xp, lower)) / 2, 0.0)
    total = g_q + xp.matmul(q, strict + adjoint(xp, strict) + diagonal)
    return adjoint(xp, _solve_upper(xp, r, adjoint(xp, total)))


# -- singular values --------------------------------------------------------------------------------------------------


def svdvals(xp, g, x):
    """U diag(g) V^H."""
    found = compiled(xp, "_svdvals_gradient", g, x)
    if found is not None:
        return found
    u, _, vh = xp.linalg.svd(x, full_matrices=False)
    return xp.matmul(u * g[..., None, :], vh)


def svd(xp, g, ans, x_shape, full_matrices):
    """U (skew(U^H g_U) / E S + S skew(V^H g_V) / E + diag(g_S)) V^H, where E_ij = s_j^2 - s_i^2 and skew(a) = a - a^H.

    For more rows than columns plus (1 - U U^H) g_U S^-1 V^H, for fewer U S^-1 g_V^H (1 - V V^H). Complex x: also the
    imaginary part of the diagonal of U^H g_U, over S, inside the brackets.
    """
    g_u, g_s, g_vh = g
    u, s, vh = ans
    m, n = x_shape[-2:]
    k = s.shape[-1]
    if full_matrices and m > n:
        _refuse_extra(xp, "svd", "U", g_u, None if g_u is None else g_u[..., :, k:], "full_matrices=False")
        u, g_u = u[..., :, :k], None if g_u is None else g_u[..., :, :k]
    if full_matrices and n > m:
        _refuse_extra(xp, "svd", "Vh", g_vh, None if g_vh is None else g_vh[..., k:, :], "full_matrices=False")
        vh, g_vh = vh[..., :k, :], None if g_vh is None else g_vh[..., :k, :]
    if g_u is None and g_vh is None:
        return xp.matmul(u * g_s[..., None, :], vh)
    found = compiled(xp, "_svd_gradient", g_u, g_s, g_vh, u, s, vh)
    if found is not None:
        return found
    own = eye_mask(xp, k, k, 0, s)
    column, row = s[..., :, None], s[..., None, :]
    gap = xp.where(own, 1.0, (row - column) * (row + column))
    inner = xp.zeros_like(gap) if g_s is None else xp.where(own, g_s[..., None, :], 0.0)
    turn_u = None if g_u is None else xp.matmul(adjoint(xp, u), g_u)
    turn_v = None if g_vh is None else xp.matmul(vh, adjoint(xp, g_vh))
    if turn_u is not None:
        inner = inner + _skew(xp, turn_u, own) / gap * row
    if turn_v is not None:
        inner = inner + column * (_skew(xp, turn_v, own) / gap)
    if is_complex(xp, u.dtype):
        _check_phase(xp, "svd", own, *(t for t in (turn_u, turn_v) if t is not None))
        if turn_u is not None:  # the phase of a pair of vectors is carried by U
            inner = inner + xp.where(own, (turn_u - xp.conj(turn_u)) / (2 * row), 0.0)
    gradient = xp.matmul(xp.matmul(u, inner), vh)
    if g_u is not None and m > k:
        outside = g_u - xp.matmul(u, turn_u)
        gradient = gradient + xp.matmul(outside / row, vh)
    if g_vh is not None and n > k:
        outside = g_vh - xp.matmul(adjoint(xp, turn_v), vh)
        gradient = gradient + xp.matmul(u, outside / column)
    return gradient


def _skew(xp, a, own):
    """a - a^H without its diagonal."""
    return xp.where(own, 0.0, a - adjoint(xp, a))


# -- eigenvalues ------------------------------------------------------------------------------------------------------


def eigvalsh(xp, g, x, upper=False):
    """V diag(g) V^H in the triangle that was read."""
    found = compiled(xp, "_eigvalsh_gradient", g, x, upper)
    if found is not None:
        return found
    _, v = xp._eigh_upper(x) if upper else xp.linalg.eigh(x)
    return of_triangle(xp, xp.matmul(v * g[..., None, :], adjoint(xp, v)), upper)


def eigh(xp, g, ans, upper=False):
    """V (V^H g_v / (l_j - l_i) + diag(g_l)) V^H in the triangle that was read."""
    g_l, g_v = g
    values, v = ans
    found = compiled(xp, "_eigh_gradient", g_l, g_v, values, v, upper)
    if found is not None:
        return found
    vh = adjoint(xp, v)
    if g_v is None:
        return of_triangle(xp, xp.matmul(v * g_l[..., None, :], vh), upper)
    own = eye_mask(xp, v.shape[-1], v.shape[-1], 0, v)
    turn = xp.matmul(vh, g_v)
    if is_complex(xp, v.dtype):
        _check_phase(xp, "eigh", own, turn)
    gap = xp.where(own, 1.0, values[..., None, :] - values[..., :, None])
    diagonal = 0.0 if g_l is None else g_l[..., None, :]
    inner = xp.where(own, diagonal, turn / gap)
    return of_triangle(xp, xp.matmul(xp.matmul(v, inner), vh), upper)


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
    _, v = xp.linalg.eig(x)
    vh = adjoint(xp, v)
    return xp.linalg.solve(vh, g[..., :, None] * vh)


def eig(xp, g, ans):
    """V^-H ((V^H g_v - V^H V Re(diag(V^H g_v))) / conj(l_j - l_i) + diag(g_l)) V^H: vectors keep length one."""
    g_l, g_v = g
    values, v = ans
    vh = adjoint(xp, v)
    if g_v is None:
        return xp.linalg.solve(vh, g_l[..., :, None] * vh)
    own = eye_mask(xp, v.shape[-1], v.shape[-1], 0, v)
    turn = xp.matmul(vh, g_v)
    _check_phase(xp, "eig", own, turn)
    lengths = xp.sum(xp.where(own, xp.real(turn), 0.0), axis=-2)
    turn = turn - xp.matmul(vh, v * lengths[..., None, :])
    gap = xp.where(own, 1.0, xp.conj(values[..., None, :] - values[..., :, None]))
    diagonal = 0.0 if g_l is None else g_l[..., None, :]
    inner = xp.where(own, diagonal, turn / gap)
    return xp.linalg.solve(vh, xp.matmul(inner, vh))


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
