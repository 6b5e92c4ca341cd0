"""NumPy's functions in every dtype with rarely given parameters: dtypes, shapes, containers and bits of the plain call.

A member is a function, the dtypes of its arrays (of both precisions, long double, half, complex, integers and truth
values as second operands, bytes in the other order) and parameters that few calls give: where=, initial=, dtype=,
keepdims=, ddof=, correction=, mean=, weights, spacings, modes, density=, casts.
"""

import ast

import numpy as np

from .spelling import Spelling

DTYPES = ("float64", "float32", "complex128", "complex64", "longdouble", "clongdouble", "float16", ">f8", ">c16")
OPERANDS = (*DTYPES, "int64", "int8", "uint16", "bool")

# Calls of a matrix x, vectors u and v of one length, weights w of x's columns, r of its rows, a symmetric matrix s, a
# stack t; {name} is replaced by one of CHOICES.
CHOICES = {
    "axis": ("None", "0", "1", "-1", "-2"),
    "one": ("0", "1", "-1"),
    "keep": ("True", "False"),
    "ddof": ("0", "1"),
    "number": ("2", "1.5", "np.float32(1.5)", "np.float64(0.5)", "True"),
    "dtype": ("None", "'f4'", "'f8'", "'c16'", "'g'"),
    "method": ("'linear'", "'hazen'", "'nearest'", "'lower'", "'median_unbiased'"),
    "q": ("0.3", "[0.25, 0.5]", "np.float32(0.7)", "1"),
    "step": ("0.3", "2", "np.float32(0.3)", "u", "np.cumsum(np.abs(u) + 1)", "[0, 1, 3, 4]"),
    "edge": ("1", "2"),
    "pad": ("1", "(2, 3)", "5"),
    "odd": ("'even'", "'odd'"),
    "mode": ("'mean'", "'median'", "'maximum'", "'minimum'"),
    "fold": ("'full'", "'same'", "'valid'"),
    "bool": ("True", "False"),
    "exponent": ("2", "0.5", "2.0", "np.float32(2)", "u"),
    "ord": ("None", "1", "2", "'fro'", "'nuc'", "np.inf"),
    "norm": ("None", "'ortho'", "'forward'"),
}
TEMPLATES = """
np.sum(x, axis={axis}, keepdims={keep}, where=mask, initial={number})
np.prod(x, axis={axis}, keepdims={keep}, where=mask, initial={number})
np.nansum(x, axis={axis}, keepdims={keep}, where=mask, initial={number})
np.nanprod(x, axis={axis}, keepdims={keep}, where=mask, initial={number})
np.mean(x, axis={axis}, keepdims={keep}, where=mask)
np.mean(x, axis={axis}, dtype={dtype})
np.nanmean(x, axis={axis}, keepdims={keep}, where=mask)
np.var(x, axis={axis}, keepdims={keep}, where=mask)
np.std(x, axis={axis}, where=mask, ddof={ddof})
np.var(x, axis={axis}, ddof={ddof}, dtype={dtype})
np.std(x, axis={axis}, correction={ddof}, keepdims={keep})
np.var(x, axis={axis}, mean=np.mean(x, axis={axis}, keepdims=True), ddof={ddof})
np.nanvar(x, axis={axis}, where=mask, keepdims={keep})
np.nanstd(x, axis={axis}, ddof={ddof}, dtype={dtype})
np.max(x, axis={axis}, initial={number}, where=mask)
np.ptp(x, axis={axis}, keepdims={keep})
np.average(x, axis=1, weights=w, returned={bool})
np.average(x, axis=0, weights=r, keepdims={keep})
np.median(x, axis={axis}, keepdims={keep})
np.nanmedian(x.real, axis={axis}, keepdims={keep})
np.quantile(x.real, {q}, axis={axis}, method={method}, keepdims={keep})
np.nanpercentile(x.real, 30, axis={axis}, method={method})
np.cumsum(x, axis={axis}, dtype={dtype})
np.cumulative_prod(x, axis={one}, dtype={dtype})
np.trace(x, dtype={dtype})
np.sort_complex(x)
np.sort_complex(v)
np.diff(x, axis={one}, prepend={number})
np.ediff1d(v, to_end={number}, to_begin=v[:1])
np.gradient(v, {step}, edge_order={edge})
np.gradient(x, {number}, axis={one}, edge_order=1)
np.gradient(x, 0.3, np.cumsum(np.abs(w) + 1), edge_order=1)
np.gradient(x, r, np.asarray([0.5, 1.25, 2.5], "f4"))
np.trapezoid(v, u)
np.trapezoid(x, w, axis=-1)
np.trapezoid(x, dx={number}, axis={one})
np.unwrap(x.real, axis={one}, period={number})
np.interp(x.real, [0.0, 1.0, 2.5], np.asarray([1.0, 3.0, 2.0]), left={number}, right=0)
np.convolve(v, u, {fold})
np.correlate(v, u[:2], {fold})
np.cov(x, bias={bool}, rowvar={bool}, dtype={dtype})
np.cov(x, aweights=np.abs(w), ddof={ddof})
np.cov(x, fweights=[1, 2, 3], aweights=[0.5, 1.0, 2.0])
np.cov(v, u, ddof={ddof})
np.corrcoef(v, u)
np.corrcoef(x, rowvar={bool})
np.histogram(v.real, 3, density={bool})
np.histogram(v.real, 3, range=(0, 3), density={bool})
np.histogram([0.1, 0.2, 1.2, 3.0], 3, weights=v, density={bool})
np.histogram(np.asarray([0.1, 0.2, 1.2, 3.0]), [0, 1, 2, 4], weights=v, density={bool})
np.histogram_bin_edges(v.real, 4)
np.histogram2d([0.0, 1, 2, 2], [1.0, 0, 1, 1.5], 2, weights=v, density={bool})
np.histogramdd(np.asarray([[0.0, 1], [2, 2], [1.0, 0], [1, 1.5]]), 2, weights=v, density={bool})
np.pad(v, {pad}, mode='linear_ramp', end_values={number})
np.pad(x, {pad}, mode={mode})
np.pad(x, 2, mode={mode}, stat_length=2)
np.pad(v, {pad}, mode='reflect', reflect_type={odd})
np.pad(x, {pad}, mode='symmetric', reflect_type={odd})
np.pad(v, {pad}, constant_values={number})
np.clip(x.real, {number}, None)
np.round(x, 1)
np.angle(x, deg={bool})
np.nan_to_num(x, nan={number})
np.i0(v.real)
np.sinc(v)
np.sinc(x)
np.where(mask, x, {number})
np.where(mask, x, w)
np.select([mask], [x], {number})
np.insert(v, 1, {number})
np.append(v, {number})
np.append(v, u)
np.concatenate([x, w[None]])
np.stack([v, u], dtype={dtype})
np.block([[x, x], [x, x]])
np.meshgrid(v, u, sparse={bool})
np.diag(v, 1)
np.diagflat(x)
np.vander(v, 3, increasing={bool})
np.kron(x, w)
np.dot(t, v)
np.dot(t, np.moveaxis(t, 1, 2))
np.dot(x, w)
np.inner(x, w)
np.tensordot(t, x, axes=([1], [1]))
np.vecdot(x, w)
np.cross(x, w)
np.linalg.cross(w, x)
np.einsum('ij,j', x, w)
np.linalg.norm(x, {ord}, keepdims={keep})
np.linalg.norm(x, 3, axis={one})
np.linalg.matrix_norm(x, ord='nuc', keepdims={keep})
np.linalg.cond(s, {ord})
np.linalg.pinv(x)
np.linalg.pinv(s, hermitian=True)
np.linalg.svd(s, hermitian=True, compute_uv=False)
np.linalg.eigvals(s)
np.linalg.eigvalsh(s)
np.linalg.lstsq(s, w)
np.linalg.lstsq(x.T, w)
np.linalg.matrix_power(s, -2)
np.linalg.multi_dot([w, s, x.T])
np.linalg.tensorsolve(s, w)
np.linalg.slogdet(s)
np.fft.fft(x, norm={norm}, axis={one})
np.fft.irfft(v, norm={norm})
np.poly(v)
np.roots(v)
np.polyval(v, {number})
np.polyval(v, u)
np.polyadd(v, [1, 2])
np.polymul(v, u)
np.polydiv(v, 1.5 * np.abs(u[:2]) + 1)
np.polydiv([1.0, 3, 2, 4], v[:2])
np.polyint(v, 2, k=[1, 2])
np.polyfit([0.0, 1, 2, 3], v, 1)
np.logspace(0, v[0].real, 4, base=2)
np.geomspace(1, 5 + v[0].real, 4)
np.linspace(v, u, 3, axis=-1)
np.linspace(v[0], u[0], 4, retstep=True)
np.float_power(np.abs(v), {exponent})
np.power(np.abs(v), {exponent})
np.add(v, {number})
np.add(v, u)
np.multiply(v, u, dtype={dtype})
np.arctan2(v.real, u.real)
np.add.reduce(x, axis={axis}, initial={number}, where=mask)
np.maximum.reduce(x.real, axis={axis}, initial=w[0].real - {number} - 0.0031415, where=mask)
np.fmin.reduce(x.real, axis={axis}, initial=w[0].real - {number} - 0.0031415, where=mask)
np.hypot.reduce(x.real, axis={axis}, initial=w[0].real - {number}, where=mask)
np.max(x.real, axis={axis}, initial=w[0].real - 0.0031415, where=mask)
np.power.reduce(np.abs(x), axis=1)
np.logaddexp.accumulate(v.real)
at(np.power, np.abs(v), [0, 0, 1], {number})
at(np.multiply, v, [0, 0, 1], u[:3])
at(np.subtract, v, [0, 2, 0], u[:3])
x.var(where=mask)
x.std(axis={axis}, ddof={ddof}, where=mask)
x.dot(w)
x.round(1)
""".strip().splitlines()


def at(ufunc, x, places, *operand):
    x = np.copy(x)
    ufunc.at(x, places, *operand)
    return x


MASK = np.array([[True, False, True], [False, True, True]])


def array(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind in "fc":
        numbers = np.round(rng.uniform(0.3, 2.5, size=shape), 3)
        numbers += 1e-5 * np.arange(1, numbers.size + 1).reshape(shape)  # no two are equal, and none is a bound
        return (numbers + 1j * rng.uniform(0.1, 0.9, size=shape) if dtype.kind == "c" else numbers).astype(dtype)
    whole = rng.integers(0, 2 if dtype.kind == "b" else 4, size=shape)
    if whole.ndim == 1 and np.ptp(whole) == 0:  # distances of zero, by which numpy.gradient divides
        whole[0] += -1 if whole[0] else 1
    return whole.astype(dtype)


def draw(rng):
    dtype, other = str(rng.choice(DTYPES)), str(rng.choice(OPERANDS))
    return member(rng, str(rng.choice(TEMPLATES)), dtype, dtype if rng.random() < 0.5 else other)


def member(rng, call, dtype, other):
    """A call with random parameters, of arrays of one dtype and operands of another."""
    for name, choices in CHOICES.items():
        while f"{{{name}}}" in call:
            call = call.replace(f"{{{name}}}", str(rng.choice(choices)), 1)
    s = array(rng, (3, 3), dtype)
    s = (s + s.T) / 2 + np.diag(np.array([5, 7, 9], s.dtype))
    arrays = {
        "x": array(rng, (2, 3), dtype),
        "v": array(rng, 4, dtype),
        "u": array(rng, 4, other),
        "w": array(rng, 3, other),
        "r": np.cumsum(array(rng, 2, dtype)),
        "s": s.real if "hermitian" in call or "eigvals" in call else s,
        "t": array(rng, (2, 3, 4), dtype),
    }
    names = _names(call)
    used = {name: a for name, a in arrays.items() if name in names}

    def run(*given):
        return eval(call, {"np": np, "at": at, "mask": MASK.copy(), **dict(zip(used, given, strict=True))})

    what = f"{call} of " + ", ".join([f"{name} {a.dtype.str}" for name, a in used.items()])
    # A derivative by differences needs more digits than half precision has, or a narrower dtype=. The remainder of
    # polydiv has another length in another precision.
    narrow = any(a.dtype == np.float16 for a in used.values()) or "'f4'" in call or "polydiv" in call
    return Spelling(
        what,
        run,
        run,
        tuple(used.values()),
        order=0 if narrow else 1,
        bits=True,
        may_refuse=(TypeError,),
        must_refuse=False,
    )


def _names(call):
    """The names that a call is made of."""
    return {node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)}
