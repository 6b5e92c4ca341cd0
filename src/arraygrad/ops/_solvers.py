"""Rules of inverses, linear equations and determinants.

May import: ops._helpers. Everything uses only the standard and the table's internal operations.
`mT` in comments is the plain transpose, `H` the conjugate one. Rules of holomorphic functions have no conjugation.
"""

import math

from arraygrad.ops._helpers import adjoint, is_complex, is_dask


def inv(xp, g, ans):
    """-inv(x)^T g inv(x)^T."""
    turned = xp.matrix_transpose(ans)
    return -xp.matmul(xp.matmul(turned, g), turned)


def _solve_transposed(xp, x1, g, x2_ndim):
    """solve(x1^T, g), where g has the shape of the solution: vectors if x2 was one."""
    turned = xp.matrix_transpose(x1)
    if x2_ndim == 1:
        return xp.linalg.solve(turned, g[..., None])[..., 0]
    return xp.linalg.solve(turned, g)


def solve_x1(xp, g, ans, x1, x2_shape):
    """-solve(x1^T, g) ans^T."""
    back = _solve_transposed(xp, x1, g, len(x2_shape))
    if len(x2_shape) == 1:
        return -back[..., :, None] * ans[..., None, :]
    return -xp.matmul(back, xp.matrix_transpose(ans))


def solve_x2(xp, g, x1, x2_shape):
    """solve(x1^T, g)."""
    return _solve_transposed(xp, x1, g, len(x2_shape))


def slogdet(xp, g, ans, x):
    """(g_log + i Im(g_sign conj(sign))) inv(x)^H."""
    g_sign, g_log = g
    sign, logabsdet = ans
    own = getattr(xp, "_slogdet_gradient", None)
    if own is not None:
        found = own(g_log, x)
        if found is not None:
            return found
    weight = xp.zeros_like(logabsdet) if g_log is None else g_log
    if is_complex(xp, x.dtype):
        weight = xp.astype(weight, x.dtype)
        if g_sign is not None:
            weight = weight + 1j * xp.imag(g_sign * xp.conj(sign))
    weight = weight[..., None, None]
    singular = sign == 0
    if bool(xp.any(singular)):
        # no inverse: the size of the gradient is infinite, its direction that of the cofactors
        singular = singular[..., None, None]
        cofactors = xp._cofactor(x)
        if is_complex(xp, x.dtype):
            cofactors = xp.conj(cofactors)
        own = xp.eye(x.shape[-1], dtype=x.dtype, device=getattr(x, "device", None))
        regular = weight * adjoint(xp, xp.linalg.inv(xp.where(singular, own, x)))
        flat = (cofactors == 0) | (weight == 0)
        infinite = xp.where(flat, 0.0, xp.where(flat, 1.0, weight * cofactors) * math.inf)
        return xp.where(singular, infinite, regular)
    return weight * adjoint(xp, xp.linalg.inv(x))


def check_cut(xp, x, rtol, p=None):
    """Refuse what the rule does not hold for: it takes the singular values that `rtol` leaves out for zero.

    With the pseudo-inverse p, singular values are asked for only where some may be left out.
    """
    if 0 in x.shape or (p is not None and _is_of_full_rank(xp, x, p)):
        return
    values = xp.linalg.svdvals(x)
    largest = xp.max(values, axis=-1, keepdims=True)
    noise = 100.0 * max(x.shape[-2:]) * xp.finfo(values.dtype).eps * largest
    share = rtol[..., None] if getattr(rtol, "ndim", 0) else rtol
    if bool(xp.any((values <= share * largest) & (values > noise))):
        raise RuntimeError(
            "pinv: rtol (rcond, cond) leaves out singular values that are not zero, for which the rule of the "
            "pseudo-inverse does not hold. Write it by the svd: u, s, vh = svd(x, full_matrices=False), and with the k "
            "values that are kept vh[:k].conj().T / s[:k] @ u[:, :k].conj().T"
        )


def _is_of_full_rank(xp, x, p):
    """Whether p, the pseudo-inverse of x, surely has as many singular values as x: p x or x p is near one."""
    if is_dask(x):
        return False
    found = xp.matmul(p, x) if x.shape[-2] >= x.shape[-1] else xp.matmul(x, p)
    k = found.shape[-1]
    one = xp.eye(k, dtype=found.dtype, device=getattr(x, "device", None))
    return bool(xp.all(xp.abs(found - one) < 0.5 / k))


def pinv(xp, g, ans, x, rtol):
    """Golub and Pereyra: -P^H g P^H + P^H P g^H (1 - P x) + (1 - x P) g^H P P^H, for P = pinv(x)."""
    if rtol is not None:
        check_cut(xp, x, rtol, ans)
    own = getattr(xp, "_pinv_gradient", None)
    if own is not None:
        found = own(g, ans, x)
        if found is not None:
            return found
    p = ans
    ph = adjoint(xp, p)
    gh = adjoint(xp, g)

    def product(a, b, c):  # the square matrix between has the shorter side
        if x.shape[-2] >= x.shape[-1]:
            return xp.matmul(a, xp.matmul(b, c))
        return xp.matmul(xp.matmul(a, b), c)

    left = product(ph, p, gh)
    right = product(gh, p, ph)
    return -product(ph, g, ph) + (left - product(left, p, x)) + (right - product(x, p, right))


def matrix_power(xp, g, x, n):
    """Sum over i of (x^T)^i g (x^T)^(n - 1 - i), in log(n) products; for n < 0 through the inverse."""
    if n == 0:
        return xp.zeros_like(x)
    if n < 0:
        inverse = xp.matrix_transpose(xp.linalg.inv(x))
        return -xp.matmul(xp.matmul(inverse, _power_sum(xp, inverse, g, -n)[1]), inverse)
    return _power_sum(xp, xp.matrix_transpose(x), g, n)[1]


def _power_sum(xp, t, g, n):
    """(t^n, sum of t^i g t^(n - 1 - i) for i < n)."""
    if n == 1:
        return t, g
    power, total = _power_sum(xp, t, g, n // 2)
    total = xp.matmul(power, total) + xp.matmul(total, power)
    power = xp.matmul(power, power)
    if n % 2:
        total = xp.matmul(t, total) + xp.matmul(g, power)
        power = xp.matmul(t, power)
    return power, total
