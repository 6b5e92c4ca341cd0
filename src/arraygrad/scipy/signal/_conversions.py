"""Transfer functions, zeros and poles, sections: conversions from one to another, and frequency transformations.

May import: arraygrad, scipy._declare, scipy.signal._chapter, numpy, SciPy.

Zeros of a polynomial follow its coefficients by the implicit function theorem, r' = -sum_k c_k' r^(n-k) / p'(r); a zero
that occurs twice has no derivative. Which zeros a section is made of is taken from SciPy, by selection.
"""

import numpy as np
from scipy import signal

import arraygrad as ag
from arraygrad.scipy._declare import REGISTRY, raw, ruled
from arraygrad.scipy.signal._chapter import CHAPTER, is_complex, shape_of

__all__ = [
    "analog_sections", "characteristic", "divided", "monic", "multiplied", "normalized_whole", "number", "plus",
    "poly_value", "roots", "sections", "to_digital", "to_tf", "transformed", "typed", "vector",
]  # fmt: skip

ROOTS = "implicit function theorem"
SUBSTITUTION = "definition (substitution)"


def vector(c):
    """Coefficients as a vector of floating-point numbers."""
    c = ag.reshape(ag.asarray(c), (-1,))
    return c if raw(c).dtype.kind in "fc" else ag.astype(c, ag.float64)


# -- polynomials, the highest power first -----------------------------------------------------------------------------


def multiplied(p, q):
    """The product of two polynomials."""
    n = shape_of(q)[0]
    found = 0.0
    for i in range(n):
        found = found + ag.pad(p, ((i, n - 1 - i),)) * q[i]
    return found


def plus(p, q):
    """The sum of two polynomials."""
    n = max(shape_of(p)[0], shape_of(q)[0])
    p, q = (ag.pad(c, ((n - shape_of(c)[0], 0),)) for c in (p, q))
    return p + q


def monic(zeros):
    """The polynomial with these zeros and the leading coefficient 1."""
    found = ag.asarray(np.ones(1, dtype=raw(zeros).dtype))
    for i in range(shape_of(zeros)[0]):
        grown = ag.pad(found, ((0, 1),))
        found = grown - ag.pad(found, ((1, 0),)) * zeros[i]
    return found


def poly_value(c, x):
    """The polynomial at x, by Horner's rule."""
    found = 0.0 * x
    for i in range(shape_of(c)[0]):
        found = found * x + c[i]
    return found


def divided(p, q):
    """(quotient, remainder) of polynomials; the remainder has one coefficient less than q."""
    n, m = shape_of(p)[0], shape_of(q)[0]
    quotient = []
    for _ in range(n - m + 1):
        share = p[0] / q[0]
        quotient.append(share)
        p = (p - ag.pad(q * share, ((0, shape_of(p)[0] - m),)))[1:]
    return (ag.stack(quotient) if quotient else ag.asarray(np.zeros(1))), p


def _zeros_of(c):
    return np.roots(c).astype(complex)


@ruled("signal._roots", _zeros_of, "c", ROOTS)
def roots(g, ans, c):
    c = ag.astype(ag.asarray(c), ag.complex128)
    n = shape_of(c)[0]
    slope = poly_value(c[:-1] * np.arange(n - 1, 0, -1.0), ans)
    powers = ag.stack([ans**k for k in range(n - 1, 0, -1)] + [ag.ones_like(ans)])
    return -ag.sum(ag.conj(powers / slope) * g, axis=1)


REGISTRY.pop("signal._roots")  # no function of SciPy's


def number(value):
    """A plain number, which SciPy wants for a sampling rate."""
    return None if value is None else float(raw(value))


def _as(found, like):
    """The real part where SciPy's result is real."""
    return ag.real(found) if is_complex(found) and np.asarray(like).dtype.kind != "c" else found


def _of_dtype(found, like):
    """Our results in the dtypes of SciPy's."""
    return tuple(ag.astype(_as(one, its), np.asarray(its).dtype) for one, its in zip(found, like, strict=True))


def _normalized(b, a, count=None):
    """Coefficients divided by a's first; `count` are those of b that SciPy keeps, counted from the last."""
    b = b if count is None else b[..., shape_of(b)[-1] - count :]
    return b / a[0], a / a[0]


@CHAPTER.by_composition("normalize", "b a", "definition")
def _normalize(b, a):
    plain = signal.normalize(raw(b), raw(a))
    b, a = ag.asarray(b), vector(a)
    a = a[shape_of(a)[0] - plain[1].size :]
    return _normalized(b if b.ndim else ag.reshape(b, (1,)), a, plain[0].shape[-1])


def normalized_whole(b, a):
    """The same with all coefficients of b: those that are cut are zero, and have their derivatives."""
    plain = signal.normalize(raw(b), raw(a))
    b, a = vector(b) if np.ndim(raw(b)) < 2 else ag.asarray(b), vector(a)
    b, a = _normalized(b, a[shape_of(a)[0] - plain[1].size :])
    lost = shape_of(b)[-1] - plain[0].shape[-1]
    if not lost:
        return b, a
    # What is no more than rounding becomes zero: its value goes, its derivative stays.
    first = b[..., :lost]
    return ag.concat([first - ag.stop_gradient(first), b[..., lost:]], axis=-1), a


def _zeros_and_poles(b, a):
    b, a = _normalize(b, vector(a))
    return _monic_parts(vector(b), a)


def _monic_parts(b, a):
    return roots(b / b[0]), roots(a), b[0]


@CHAPTER.by_composition("tf2zpk", "b a", ROOTS)
def _tf2zpk(b, a):
    return typed(_zeros_and_poles(b, a), signal.tf2zpk(raw(b), raw(a)))


def to_tf(z, p, k, real=True):
    """(b, a) of zeros, poles and gain."""
    b, a = k * monic(ag.asarray(z)), monic(ag.asarray(p))
    return (ag.real(b) if is_complex(b) else b, ag.real(a) if is_complex(a) else a) if real else (b, a)


@CHAPTER.by_composition("zpk2tf", "z p k", "definition")
def _zpk2tf(z, p, k):
    plain = signal.zpk2tf(raw(z), raw(p), raw(k))
    z, p = ag.asarray(z), ag.reshape(ag.asarray(p), (-1,))
    a = _as(monic(p), plain[1])
    if z.ndim < 2:
        return _as(k * monic(ag.reshape(z, (-1,))), plain[0]), a
    k = ag.broadcast_to(ag.asarray(k), (shape_of(z)[0],))
    return _as(ag.stack([k[i] * monic(z[i]) for i in range(shape_of(z)[0])]), plain[0]), a


# -- sections ---------------------------------------------------------------------------------------------------------


def sections(z, p, k, plain):
    """Sections of the zeros and poles that those of SciPy's sections `plain` are, whose gain is 1."""
    rows = []
    for columns, all_zeros in ((slice(0, 3), z), (slice(3, 6), p)):
        values = np.asarray(raw(all_zeros)).astype(complex)
        free = np.ones(values.size, dtype=bool)
        made = []
        for row in np.asarray(plain)[:, columns]:
            found = []
            for zero in np.roots(row):
                away = np.where(free, np.abs(values - zero), np.inf)
                i = int(np.argmin(away)) if away.size else 0
                if away.size and away[i] < 1e-4 * (1.0 + abs(zero)):
                    free[i] = False
                    found.append(all_zeros[i])
                else:  # one at the origin, added where there are fewer zeros than poles
                    found.append(ag.asarray(np.asarray(complex(np.round(zero, 12)))))
            lead = int(np.argmax(row != 0))
            polynomial = monic(ag.astype(ag.stack(found), ag.complex128)) if found else ag.asarray(np.ones(1))
            polynomial = ag.real(polynomial) if is_complex(polynomial) else polynomial
            made.append(ag.pad(polynomial, ((lead, 3 - lead - shape_of(polynomial)[0]),)))
        rows.append(ag.stack(made))
    first = np.zeros((len(plain), 1))
    first[0] = 1.0
    return ag.concat([rows[0] * (first * k + (1.0 - first)), rows[1]], axis=1)


def analog_sections(z, p, k, pairing, analog):
    plain = signal.zpk2sos(raw(z), raw(p), 1.0, pairing, analog=analog)
    return sections(z, p, k, plain)


@CHAPTER.by_composition("zpk2sos", "z p k", "definition; by selection")
def _zpk2sos(z, p, k, pairing=None, analog=False):
    return analog_sections(ag.asarray(z), ag.asarray(p), k, pairing, analog)


@CHAPTER.by_composition("tf2sos", "b a", ROOTS + "; by selection")
def _tf2sos(b, a, pairing=None, analog=False):
    return analog_sections(*_zeros_and_poles(b, a), pairing, analog)


@CHAPTER.by_composition("sos2tf", "sos", "definition")
def _sos2tf(sos):
    plain = signal.sos2tf(raw(sos))
    sos = ag.asarray(sos)
    b, a = ag.asarray(np.ones(1)), ag.asarray(np.ones(1))
    for i in range(shape_of(sos)[0]):
        b, a = multiplied(b, sos[i, :3]), multiplied(a, sos[i, 3:])
    return tuple(c[shape_of(c)[0] - one.size :] for c, one in zip((b, a), plain, strict=True))


@CHAPTER.by_composition("sos2zpk", "sos", ROOTS)
def _sos2zpk(sos):
    sos = ag.asarray(sos)
    z, p, k = [], [], 1.0
    for i in range(shape_of(sos)[0]):
        parts = _zeros_and_poles(sos[i, :3], sos[i, 3:])
        for found, zeros in ((z, parts[0]), (p, parts[1])):
            found.append(ag.pad(zeros, ((0, 2 - shape_of(zeros)[0]),)))
        k = k * parts[2]
    return ag.concat(z), ag.concat(p), k


# -- frequency transformations ----------------------------------------------------------------------------------------


def transformed(b, a, above, below, plain):
    """b(s) / a(s) with s replaced by above / below, two polynomials; `plain` is SciPy's result."""
    b, a = vector(b), vector(a)
    degree = max(shape_of(b)[0], shape_of(a)[0]) - 1
    above, below = vector(above), vector(below)
    powers = [[ag.asarray(np.ones(1))], [ag.asarray(np.ones(1))]]
    for found, base in zip(powers, (above, below), strict=True):
        for _ in range(degree):
            found.append(multiplied(found[-1], base))

    def of(c, count):
        n = shape_of(c)[0]
        total = ag.asarray(np.zeros(1))
        for i in range(n):
            k = n - 1 - i
            total = plus(total, multiplied(powers[0][k], powers[1][degree - k]) * c[i])
        return ag.pad(total, ((max(count - shape_of(total)[0], 0), 0),))[-count:]

    b, a = of(b, plain[0].size), of(a, plain[1].size)
    return b / a[0], a / a[0]


@CHAPTER.by_composition("lp2lp", "b a wo", SUBSTITUTION)
def _lp2lp(b, a, wo=1.0):
    wo = ag.asarray(wo)
    return transformed(b, a, ag.stack([1.0 / wo, 0.0 * wo]), np.ones(1), signal.lp2lp(raw(b), raw(a), raw(wo)))


@CHAPTER.by_composition("lp2hp", "b a wo", SUBSTITUTION)
def _lp2hp(b, a, wo=1.0):
    return transformed(b, a, ag.asarray(wo), np.array([1.0, 0.0]), signal.lp2hp(raw(b), raw(a), raw(wo)))


def _band(wo, bw):
    """(s^2 + wo^2, s bw)"""
    wo, bw = ag.asarray(wo), ag.asarray(bw)
    return ag.stack([0.0 * wo + 1.0, 0.0 * wo, wo * wo]), ag.stack([bw, 0.0 * bw])


@CHAPTER.by_composition("lp2bp", "b a wo bw", SUBSTITUTION)
def _lp2bp(b, a, wo=1.0, bw=1.0):
    return transformed(b, a, *_band(wo, bw), signal.lp2bp(raw(b), raw(a), raw(wo), raw(bw)))


@CHAPTER.by_composition("lp2bs", "b a wo bw", SUBSTITUTION)
def _lp2bs(b, a, wo=1.0, bw=1.0):
    square, line = _band(wo, bw)
    return transformed(b, a, line, square, signal.lp2bs(raw(b), raw(a), raw(wo), raw(bw)))


@CHAPTER.by_composition("bilinear", "b a fs", SUBSTITUTION)
def _bilinear(b, a, fs=1.0):
    fs = ag.asarray(fs)
    plain = signal.bilinear(raw(b), raw(a), number(fs))
    return transformed(b, a, ag.stack([2.0 * fs, -2.0 * fs]), np.ones(2), plain)


def _both(z, p):
    """Zeros and poles as complex vectors, and how many poles there are more."""
    z, p = (ag.astype(ag.reshape(ag.asarray(c), (-1,)), ag.complex128) for c in (z, p))
    return z, p, shape_of(p)[0] - shape_of(z)[0]


def _more(z, count, value):
    """z and further zeros that are constants."""
    return ag.concat([z, ag.asarray(np.full(count, value, dtype=complex))])


def typed(found, plain):
    """Each result real where SciPy's is."""
    return tuple(_as(one, like) for one, like in zip(found, plain, strict=True))


def _ratio(z, p):
    return ag.real(ag.prod(z) / ag.prod(p))


@CHAPTER.by_composition("lp2lp_zpk", "z p k wo", SUBSTITUTION)
def _lp2lp_zpk(z, p, k, wo=1.0):
    plain = signal.lp2lp_zpk(raw(z), raw(p), raw(k), raw(wo))
    z, p, degree = _both(z, p)
    return typed((z * wo, p * wo, k * ag.asarray(wo) ** degree), plain)


@CHAPTER.by_composition("lp2hp_zpk", "z p k wo", SUBSTITUTION)
def _lp2hp_zpk(z, p, k, wo=1.0):
    plain = signal.lp2hp_zpk(raw(z), raw(p), raw(k), raw(wo))
    z, p, degree = _both(z, p)
    return typed((_more(wo / z, degree, 0.0), wo / p, k * _ratio(-z, -p)), plain)


def _split(zeros, wo, plain):
    """The two zeros of s^2 - 2 z s + wo^2 for each z, in the order of SciPy's: the root has two signs at a cut."""
    n = shape_of(zeros)[0]
    away = ag.sqrt(zeros * zeros - ag.asarray(wo) ** 2)
    values, ours = plain[:n] - np.asarray(raw(zeros)), np.asarray(raw(away))
    away = away * np.where(np.abs(values - ours) <= np.abs(values + ours), 1.0, -1.0)
    return ag.concat([zeros + away, zeros - away])


@CHAPTER.by_composition("lp2bp_zpk", "z p k wo bw", SUBSTITUTION)
def _lp2bp_zpk(z, p, k, wo=1.0, bw=1.0):
    plain = signal.lp2bp_zpk(raw(z), raw(p), raw(k), raw(wo), raw(bw))
    z, p, degree = _both(z, p)
    half = 0.5 * ag.asarray(bw)
    found = (
        _more(_split(z * half, wo, plain[0]), degree, 0.0),
        _split(p * half, wo, plain[1]),
        k * ag.asarray(bw) ** degree,
    )
    return typed(found, plain)


@CHAPTER.by_composition("lp2bs_zpk", "z p k wo bw", SUBSTITUTION)
def _lp2bs_zpk(z, p, k, wo=1.0, bw=1.0):
    plain = signal.lp2bs_zpk(raw(z), raw(p), raw(k), raw(wo), raw(bw))
    z, p, degree = _both(z, p)
    half, wo = 0.5 * ag.asarray(bw), ag.asarray(wo)
    at = np.concatenate([np.full(degree, 1j), np.full(degree, -1j)])
    return typed(
        (ag.concat([_split(half / z, wo, plain[0]), wo * at]), _split(half / p, wo, plain[1]), k * _ratio(-z, -p)),
        plain,
    )


def to_digital(z, p, k, fs):
    """The bilinear transformation of zeros, poles and gain."""
    z, p, degree = _both(z, p)
    twice = 2.0 * ag.asarray(fs)
    gain = k * ag.real(ag.prod(twice - z) / ag.prod(twice - p))
    return _more((twice + z) / (twice - z), degree, -1.0), (twice + p) / (twice - p), gain


@CHAPTER.by_composition("bilinear_zpk", "z p k fs", SUBSTITUTION)
def _bilinear_zpk(z, p, k, fs):
    return typed(to_digital(z, p, k, fs), signal.bilinear_zpk(raw(z), raw(p), raw(k), number(fs)))


# -- partial fractions ------------------------------------------------------------------------------------------------


def _simple(name, p):
    from arraygrad.scipy._guards import NotDifferentiable

    values = np.asarray(raw(p))
    away = np.abs(values[:, None] - values[None, :]) + np.eye(values.size)
    if values.size and np.min(away) < 1e-3:
        raise NotDifferentiable(f"arraygrad.scipy.signal.{name}: a pole that occurs twice has no derivative")


def _residues(name, b, a):
    """(r, p, k) of b / a for simple poles, in SciPy's order."""
    plain = getattr(signal, name)(raw(b), raw(a))
    b, a = vector(b), vector(a)
    poles = roots(a)
    order = [int(np.argmin(np.abs(np.asarray(raw(poles)) - p))) for p in plain[1]]
    poles = ag.take(poles, np.array(order, dtype=int))
    _simple(name, poles)
    n = shape_of(a)[0]
    return b, a, poles, poly_value(a[:-1] * np.arange(n - 1, 0, -1.0), poles), plain


@CHAPTER.by_composition("residue", "b a", ROOTS, inert="tol rtype")
def _residue(b, a):
    b, a, p, slope, plain = _residues("residue", b, a)
    k = divided(b, a)[0][: plain[2].size] if plain[2].size else ag.asarray(plain[2])
    return _of_dtype((poly_value(b, p) / slope, p, k), plain)


@CHAPTER.by_composition("residuez", "b a", ROOTS, inert="tol rtype")
def _residuez(b, a):
    # In powers of 1 / z: r / (1 - p / z), what is left a polynomial in 1 / z.
    b, a, p, slope, plain = _residues("residuez", b, a)
    n, m = shape_of(b)[0], shape_of(a)[0]
    at = poly_value(b, p) * p ** (m - n)
    k = ag.flip(divided(ag.flip(b), ag.flip(a))[0]) if plain[2].size else ag.asarray(plain[2])
    return _of_dtype((at / (slope * p), p, k), plain)


def _inverse(name, r, p, k, forwards):
    plain = getattr(signal, name)(raw(r), raw(p), raw(k))
    r, p, k = (vector(c) for c in (r, p, k))
    r, p = (ag.astype(c, ag.complex128) for c in (r, p))
    _simple(name, p)
    n = shape_of(p)[0]
    a = monic(p)
    total = ag.asarray(np.zeros(1))
    for i in range(n):
        others = monic(ag.take(p, np.array([j for j in range(n) if j != i], dtype=int))) * r[i]
        total = plus(total, others) if forwards else total_of(total, others)
    if shape_of(k)[0]:
        whole = multiplied(k, a)
        total = plus(total, whole) if forwards else total_of(total, whole)
    count = plain[0].size
    size = shape_of(total)[0]
    b = total[max(size - count, 0) :] if forwards else total[:count]
    return _as(b, plain[0]), _as(a, plain[1])


def total_of(p, q):
    """The sum of polynomials in 1 / z, the lowest power first."""
    n = max(shape_of(p)[0], shape_of(q)[0])
    p, q = (ag.pad(c, ((0, n - shape_of(c)[0]),)) for c in (p, q))
    return p + q


@CHAPTER.by_composition("invres", "r p k", "definition", inert="tol rtype")
def _invres(r, p, k):
    return _inverse("invres", r, p, k, True)


@CHAPTER.by_composition("invresz", "r p k", "definition", inert="tol rtype")
def _invresz(r, p, k):
    return _inverse("invresz", r, p, k, False)


# -- state space ------------------------------------------------------------------------------------------------------


@CHAPTER.by_composition("tf2ss", "num den", "definition (the controller form)")
def _tf2ss(num, den):
    num, den = normalized_whole(num, den)
    num = num if num.ndim == 2 else ag.reshape(num, (1, -1))
    num = num[:, max(shape_of(num)[1] - shape_of(den)[0], 0) :]
    n = shape_of(den)[0]
    num = ag.pad(num, ((0, 0), (n - shape_of(num)[1], 0)))
    d = num[:, :1]
    if n == 1:
        zero = np.zeros((1, 1))
        return zero, np.zeros((1, shape_of(d)[1])), np.zeros((shape_of(d)[0], 1)), d
    a = ag.concat([-ag.reshape(den[1:], (1, -1)), ag.asarray(np.eye(n - 2, n - 1))], axis=0)
    return a, np.eye(n - 1, 1), num[:, 1:] - d * ag.reshape(den[1:], (1, -1)), d


def characteristic(a):
    """Coefficients of det(s - A), by the recursion of Faddeev and LeVerrier; and its matrices M_k, the first one 1."""
    n = shape_of(a)[0]
    m, c, kept = ag.asarray(np.eye(n)), [ag.asarray(np.ones(()))], []
    for k in range(1, n + 1):
        kept.append(m)
        m = ag.matmul(a, m)
        c.append(-ag.sum(m * np.eye(n)) / k)
        m = m + c[-1] * np.eye(n)
    return ag.stack(c), kept


@CHAPTER.by_composition("ss2tf", "A B C D", "Faddeev and LeVerrier's recursion", refuse={"input": "an integer"})
def _ss2tf(A, B, C, D, input=0):
    plain = signal.abcd_normalize(*[raw(m) for m in (A, B, C, D)])
    A, B, C, D = (
        ag.asarray(np.asarray(like)) if m is None else ag.reshape(ag.asarray(m), like.shape)
        for m, like in zip((A, B, C, D), plain, strict=True)
    )
    B, D = B[:, input : input + 1], D[:, input : input + 1]
    den, kept = characteristic(A)
    # C adj(s - A) B = sum_k s^(n-1-k) C M_k B.
    inner = ag.concat([ag.zeros_like(D), *[ag.matmul(ag.matmul(C, m), B) for m in kept]], axis=1)
    return inner + D * den, den


@CHAPTER.by_composition("zpk2ss", "z p k", "definition (the controller form)")
def _zpk2ss(z, p, k):
    return _tf2ss(*_zpk2tf(z, p, k))


@CHAPTER.by_composition("ss2zpk", "A B C D", ROOTS, refuse={"input": "an integer"})
def _ss2zpk(A, B, C, D, input=0):
    plain = signal.ss2zpk(*[raw(m) for m in (A, B, C, D)], input)
    b, a = _ss2tf(A, B, C, D, input)
    count = plain[0].size + 1  # leading zeros of b are no zeros at infinity
    return typed(_monic_parts(vector(b)[shape_of(a)[0] - count :], a), plain)


@CHAPTER.by_composition("abcd_normalize", "A B C D", "definition")
def _abcd_normalize(A=None, B=None, C=None, D=None):
    plain = signal.abcd_normalize(*[raw(m) for m in (A, B, C, D)])
    return tuple(
        like if m is None else ag.reshape(ag.asarray(m), like.shape)
        for m, like in zip((A, B, C, D), plain, strict=True)
    )


CHAPTER.no_rule("the iteration that chooses the gain has no rule", "place_poles")
CHAPTER.no_rule("which roots count as one jumps; take them as they are", "unique_roots")
