"""NumPy's calls with the options that are drawn for each, as text: `call; option option=values`. No class of its own.

In a call, {name} stands for one of the values of that name.
"""

UNARY = """
    abs angle arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil conj cos cosh deg2rad exp exp2 expm1 fabs fix floor
    i0 imag isfinite log log10 log1p log2 negative positive rad2deg real reciprocal rint sign signbit sin sinc sinh
    spacing sqrt square tan tanh trunc modf frexp nan_to_num real_if_close degrees radians isnan round
""".split()
BINARY = """
    add arctan2 copysign divide float_power floor_divide fmax fmin fmod heaviside hypot logaddexp logaddexp2 maximum
    minimum mod multiply nextafter power remainder subtract divmod
""".split()
FOLDED = "add multiply maximum minimum fmax fmin subtract divide power logaddexp logaddexp2 hypot arctan2 float_power"
BASES = "polynomial chebyshev legendre laguerre hermite hermite_e".split()
PREFIX = dict(zip(BASES, "poly cheb leg lag herm herme".split(), strict=True))

REDUCTIONS = """
np.sum(a); axis=axes dtype keepdims initial where
np.prod(a); axis=axes dtype keepdims initial where
np.nansum(a); axis=axes dtype keepdims initial where
np.nanprod(a); axis=axes dtype keepdims initial where
np.mean(a); axis=axes dtype keepdims where
np.nanmean(a); axis=axes dtype keepdims where
np.var(a); axis=axes dtype keepdims where ddof
np.std(a); axis=axes dtype keepdims where ddof
np.var(a); axis=axes keepdims where correction
np.std(a); axis=axes keepdims where correction
np.nanvar(a); axis=axes dtype keepdims where ddof
np.nanstd(a); axis=axes dtype keepdims where correction
np.var(a, mean=np.mean(a, keepdims=True)); ddof keepdims
np.nanvar(a, mean=np.nanmean(a, axis=0, keepdims=True), axis=0); ddof
np.std(a, mean=z); ddof axis=axes
np.max(a); axis=axes keepdims
np.min(a); axis=axes keepdims
np.max(a, initial={initial}); axis=axes keepdims where
np.min(a, initial={initial}); axis=axes keepdims where
np.nanmax(a); axis=axes keepdims
np.nanmin(a, initial={initial}); axis=axes keepdims where
np.amax(a, initial={initial}, where=mask(a)); axis=axes keepdims
np.ptp(a); axis=axes keepdims
np.any(a); axis=axes keepdims where
np.all(a); axis=axes keepdims where
np.count_nonzero(a); axis=axes keepdims
np.argmax(a); axis keepdims
np.argmin(a); axis keepdims
np.nanargmax(a); axis keepdims
np.median(a); axis=axes keepdims overwrite_input
np.nanmedian(a); axis=axes keepdims overwrite_input
np.quantile(a.real, 0.3); axis=axes method keepdims overwrite_input
np.quantile(a.real, [0.0, 0.25, 1.0]); axis=axes method keepdims
np.quantile(a.real, np.abs(np.sin(z.real))); axis=axes method keepdims
np.quantile(a.real, np.abs(np.sin(m.real))); axis=axes method keepdims
np.nanquantile(a.real, 0.6); axis=axes method keepdims
np.percentile(a.real, [10, 50, 95.5]); axis=axes method keepdims
np.nanpercentile(a.real, [[20, 75]]); axis=axes method keepdims
np.quantile(v.real, 0.4, method='inverted_cdf', weights=np.abs(u.real)+0.1); keepdims
np.quantile(m.real, [0.2, 0.7], method='inverted_cdf', weights=np.abs(o.real)+0.1); axis=axes keepdims
np.average(a); axis=axes returned=bool keepdims
np.average(m, weights=o); axis=axes returned=bool keepdims
np.average(m, axis=1, weights=v); returned=bool keepdims
np.average(m, axis=0, weights=w); returned=bool keepdims
np.cumsum(a); axis dtype
np.cumprod(a); axis dtype
np.nancumsum(a); axis dtype
np.nancumprod(a); axis dtype
np.cumulative_sum(a); axis=axis_of_one dtype include_initial=bool
np.cumulative_prod(a); axis=axis_of_one dtype include_initial=bool
np.trace(s); offset dtype
np.trace(c3); offset axis1 axis2=axis1
np.diff(a); axis=axis_of_one n=num prepend=number append=number
np.diff(m, axis=-1, prepend=w[:, None], append=o[:, :1]); n=num
np.ediff1d(a); to_end=number to_begin=number
np.ediff1d(v, to_end=w); to_begin=number
np.gradient(a); axis=axes edge_order
np.gradient(a, {number}); axis=axis_of_one edge_order
np.gradient(v, np.cumsum(positive(u.real))); edge_order
np.gradient(m, np.cumsum(positive(w.real)), np.cumsum(positive(v.real))); edge_order
np.gradient(m, 0.5, np.cumsum(positive(v.real))); edge_order
np.trapezoid(v, u)
np.trapezoid(m); dx=number axis=axis_of_one
np.trapezoid(m, v)
np.trapezoid(m, w, axis=0)
np.trapezoid(m, o); axis=axis_of_one
np.unwrap(3*a.real); axis=axis_of_one period=number discont=number
np.cov(m); rowvar=bool bias=bool ddof dtype
np.cov(m, o); rowvar=bool bias=bool ddof
np.cov(v, u); bias=bool ddof rowvar=bool
np.cov(m, aweights=np.abs(v)); bias=bool ddof
np.cov(m, aweights=np.abs(v)+0.1, fweights=np.arange(v.shape[0])+1); bias=bool ddof
np.cov(m, fweights=np.arange(v.shape[0])); bias=bool ddof
np.corrcoef(m); rowvar=bool dtype
np.corrcoef(m, o); rowvar=bool
np.corrcoef(v, u)
np.convolve(l, w); mode=fold
np.convolve(w, l); mode=fold
np.correlate(l, w); mode=fold
np.correlate(w, l); mode=fold
np.interp(v.real, np.cumsum(positive(l.real)), l)
np.interp(v.real, np.sort(l.real), l); left right=left
np.interp(v.real, l.real, l.real**2, period={number}); left
np.interp(a.real, np.cumsum(np.abs(v.real)), u, left=z.real); right=left
np.bincount(np.arange(v.shape[0]) % 3, weights=v.real); minlength=num
np.histogram(v.real); bins range density
np.histogram(v.real, weights=u.real); bins range density
np.histogram(v.real, bins=np.sort(l.real), weights=u); density
np.histogram_bin_edges(v.real); bins range
np.histogram2d(v.real, u.real); range=density density
np.histogram2d(v.real, u.real, 3, weights=v*u); density
np.histogramdd(g2.real, 2); density
np.histogramdd(g2.real, 2, weights=v); density
np.digitize(v.real, np.sort(l.real)); right=bool
np.searchsorted(np.sort(l.real), v.real)
np.searchsorted(np.sort(l.real), v.real, side='right')
np.clip(a, {left}, {number})
np.clip(a.real, b.real - 1, b.real + 0.5)
np.clip(a.real, min=-0.5, max=z.real)
np.clip(a.real, 1.0, -1.0)
np.nan_to_num(a); nan=number posinf=left neginf=left copy=bool
np.nan_to_num(a, nan=np.nan, posinf=1.0)
np.angle(a); deg=bool
np.real_if_close(a + 0j); tol=initial
np.around(a); decimals
np.count_nonzero(v)
np.max(v, initial=z.real, where=mask(v))
np.sum(a, initial=z); axis=axes
np.prod(m, initial=z, where=mask(m)); axis=axes
into(np.sum, a); axis=axes keepdims
into(np.mean, a); axis=axes keepdims
into(np.max, a); axis=axes keepdims
into(np.std, a); axis=axes ddof
into(np.cumsum, a); axis
into(np.cumprod, a); axis
into(np.median, a); axis=axes
into(np.quantile, a.real, 0.3); axis=axes method
into(np.ptp, a); axis
into(np.clip, a.real, -0.5, 0.7)
into(np.matmul, s, v)
into(np.dot, m, v)
into(np.multiply, a, b); where=where
into(np.exp, a); where=where
into(np.take, v, [0, 0]); mode=clip_mode
into(np.concatenate, [v, u])
into(np.stack, [v, u]); axis=axis_of_one
into(np.trace, s)
into(np.outer, v, w)
into(np.einsum, 'ij,j->i', m, v)
into(np.fft.fft, v + 0j); norm
into(np.compress, mask(v), v)
into(np.choose, [0, 1], [z, y])
into(np.round, a)
"""
PLACES = """
np.sort(a); axis kind
np.sort(a, stable=True); axis
np.partition(l, 2); kind=density
np.partition(m, 0); axis
np.argsort(a); axis kind
np.sort_complex(a)
np.take(a, 0); axis mode=clip_mode
np.take(v, [[0, -1], [0, 0]]); mode=clip_mode
np.take(m, [0, 5, -7], mode='wrap'); axis
np.take(m, [0, 5, -7], mode='clip'); axis
np.take_along_axis(m, np.argsort(o, axis=1), axis=1)
np.take_along_axis(m, np.zeros((1, 1), int), axis={axis_of_one})
np.take_along_axis(m, np.array([0, 0]), axis=None)
np.choose(np.arange(v.shape[0]) % 2, [v, u]); mode=clip_mode
np.choose([0, 3, -1, 1], [z, y], mode='wrap')
np.choose([0, 3, -1, 1], [z, y], mode='clip')
np.compress([True, False, True], a); axis
np.extract(mask(a), a)
np.select([a.real > 0, a.real < -1], [a, 2 * a]); default=number
np.select([a.real > 0, mask(a)], [a, b], z)
np.piecewise(v, [v.real < 0, v.real >= 1], [np.sin, lambda x: x * x, 3.0])
np.where(a.real > 0, a, b)
np.where(mask(a), z, a)
np.insert(a, 1, {number}); axis
np.insert(v, [0, 1, 1], [z, y, z])
np.insert(m, 1, v, axis=0)
np.insert(m, [0], w[:, None], axis=1)
np.insert(m, slice(0, 2), z); axis
np.delete(a, 0); axis
np.delete(a, [0, -1]); axis
np.delete(a, slice(None, None, 2)); axis
np.delete(v, mask(v))
np.append(a, b)
np.append(m, o); axis
np.concatenate([m, o]); axis=axis dtype casting
np.concatenate([a, np.atleast_1d(z)], axis=None); dtype
np.stack([m, o]); axis=axis_of_one dtype casting
np.vstack([m, v]); dtype casting
np.hstack([m, o]); dtype
np.dstack([m, o])
np.column_stack([w, m])
np.block([[m, w[:, None]], [v, z]])
np.split(m, [1]); axis=axis_of_one
np.array_split(a, 3); axis=axis_of_one
np.array_split(a, [1, 1, 4]); axis=axis_of_one
np.hsplit(m, [1])
np.vsplit(m, [0, 1])
np.unstack(a); axis=axis_of_one
np.repeat(a, 2); axis
np.repeat(v, np.arange(v.shape[0])); axis
np.tile(a, (2, 1))
np.tile(a, 0)
np.resize(a, (2, 3))
np.reshape(a, -1); order
np.reshape(m, m.shape[::-1]); order copy=bool
np.ravel(a); order
np.transpose(a)
np.moveaxis(c3, 0, {axis_of_one})
np.rollaxis(c3, 2, {num})
np.roll(a, 2); axis=axes
np.roll(m, (1, -1)); axis=axes
np.rot90(m); k axes=fft_axes
np.flip(a); axis=axes
np.fliplr(m)
np.squeeze(a); axis=axes
np.expand_dims(a, {axes})
np.swapaxes(a, {axis_of_one}, {axis_of_one})
np.broadcast_to(a, (2,) + a.shape)
np.broadcast_arrays(a, b)
np.diag(v); k
np.diag(m); k
np.diagflat(m); k
np.diagonal(m); offset
np.diagonal(c3); offset axis1 axis2=axis1
np.tril(m); k
np.triu(c3); k
np.tri(3) * z
np.vander(v); N=num increasing=bool
np.meshgrid(v, w); indexing=index sparse=bool copy=bool
np.meshgrid(v, w, u); indexing=index sparse=bool
np.ix_(v, w)
np.trim_zeros(v); trim
np.trim_zeros(m); trim axis=axis_of_one
np.pad(v, 2); mode=pad_mode
np.pad(m, ((1, 0), (2, 3))); mode=pad_mode
np.pad(m, 3); mode=reflecting reflect_type=reflect
np.pad(m, (1, 2)); mode=statistic stat_length=stat
np.pad(a, 1, mode='linear_ramp'); end_values=number
np.pad(m, 1, mode='linear_ramp', end_values=z)
np.pad(m, 1, constant_values=((z, y), (1, 2)))
np.pad(a, dict([(0, (1, 2))])); mode=pad_mode
np.unique(a); return_index=bool return_inverse=bool return_counts=bool axis equal_nan=bool sorted=bool
np.unique_values(a)
np.unique_all(v)
np.union1d(v, w)
np.intersect1d(v, w); return_indices=bool
np.intersect1d(v, v[::2]); return_indices=bool
np.setdiff1d(v, w)
np.setxor1d(v, w)
np.isin(v, w); invert=bool
changed(lambda x: np.fill_diagonal(x, z), s)
changed(lambda x: np.fill_diagonal(x, v, wrap=True), i2[:, 0] * 1)
changed(lambda x: np.put(x, [0, 2, 5], [z, y], mode='wrap'), v)
changed(lambda x: np.put(x, [0, 2, 5, 0], v, mode='clip'), m)
changed(lambda x: np.place(x, mask(x), v), m)
changed(lambda x: np.putmask(x, mask(x), v), m)
changed(lambda x: np.putmask(x, x.real > 0, o), m)
changed(lambda x: np.copyto(x, v, where=mask(x)), m)
changed(lambda x: np.copyto(x, v, casting='unsafe'), m)
changed(lambda x: np.put_along_axis(x, np.zeros((1, 1), int), z, axis={axis_of_one}), m)
changed(lambda x: np.put_along_axis(x, np.array([0, 0]), z, axis=None), m)
changed(lambda x: x.sort(axis=0), m)
changed(lambda x: x.sort(axis=-1, kind='stable'), m)
changed(lambda x: x.partition(0, axis=-1), m)
changed(lambda x: x.fill(z), m)
changed(lambda x: x.put([0, -1], v[:1]), m)
changed(lambda x: x.__setitem__((slice(None), 0), w), m)
changed(lambda x: x.__setitem__(mask(x), z), a)
changed(lambda x: x.__setitem__([0, 0], v), m)
np.apply_along_axis(np.cumsum, {axis_of_one}, m)
np.apply_along_axis(lambda x: np.outer(x, x), {axis_of_one}, m)
np.apply_over_axes(np.sum, c3, {axes})
np.lib.stride_tricks.sliding_window_view(l, 3)
np.lib.stride_tricks.sliding_window_view(m, 1); axis=axes
np.linspace(z, y); num endpoint=bool retstep=bool dtype
np.linspace(v, u); num endpoint=bool retstep=bool axis=axis_of_one
np.logspace(z.real, y.real); num endpoint=bool base=number dtype
np.logspace(v.real, u.real); num endpoint=bool axis=axis_of_one
np.geomspace(positive(z), positive(y)); num endpoint=bool dtype
np.geomspace(positive(v), positive(u)); num endpoint=bool axis=axis_of_one
np.geomspace(z, 2 * z); num endpoint=bool
np.full((2, 2), z); dtype
np.full_like(m, z); dtype order
np.full_like(m, v)
np.array([z, y, 1.0]); dtype
np.array(m); dtype order ndmin=num copy=bool
np.asarray([v, u]); dtype order
np.asarray(m); dtype order copy=none
np.ascontiguousarray(m.T)
np.asfortranarray(m)
np.copy(m); order
np.astype(a, np.dtype({dtype})); copy=bool
np.arange(3) * z
np.fromiter([z, y], float)
np.require(m, requirements='F')
np.fromfunction(lambda i, j: i * z + j, (2, 3))
np.zeros_like(a) + a
np.vectorize(lambda x, y: x * y + 1.0)(v, u)
np.vectorize(lambda x: np.sum(x), signature='(n)->()')(m)
np.atleast_3d(a)
np.lib.stride_tricks.as_strided(v * 1, (2,), (v.itemsize,))
np.kaiser(4, z.real)
"""
LINEAR = """
np.dot(m, v)
np.dot(t, s)
np.dot(z, a)
np.inner(m, o)
np.inner(t, v)
np.outer(a, b)
np.vdot(m, o)
np.vdot(a, a)
np.vecdot(m, v); axis=axis_of_one
np.linalg.vecdot(m, o); axis=axis_of_one
np.matmul(t, v)
np.matmul(s, t)
np.matmul(t, s[..., :1])
np.matvec(t, v)
np.vecmat(v, t)
np.tensordot(m, o); axes=num
np.tensordot(m, o, axes=([1], [1]))
np.tensordot(t, s, axes=((1, 2), (0, 1)))
np.tensordot(s, t, axes=([-1], [-2]))
np.tensordot(v, w, axes=0)
np.kron(m, s)
np.kron(v, m)
np.cross(g2, h2)
np.cross(i2, g2)
np.cross(g2[:, :2], h2)
np.cross(g2[:, :2], h2[:, :2])
np.cross(i2, i2[::-1], axisa=2, axisb=2); axisc=axis1
np.linalg.cross(g2, h2)
np.einsum('ij,j->i', m, v); optimize=bool
np.einsum('ij,ij', m, o); optimize=bool
np.einsum('ij->ji', m)
np.einsum('ii->i', s)
np.einsum('...i,...j->...ij', t, s)
np.einsum('ijk,jk,k->i', t, s, v); optimize=bool
np.einsum('ii', s)
np.einsum(m, [0, 1], v, [1], [0])
np.einsum('ij,jk->ik', s, s); optimize=bool
np.einsum('i,i,i->i', v, u, v); optimize=bool
np.linalg.norm(a); ord axis=axes keepdims
np.linalg.norm(v); ord=vector_ord keepdims
np.linalg.norm(m, axis=-1); ord=vector_ord keepdims
np.linalg.norm(m); ord=matrix_ord keepdims
np.linalg.norm(t, axis=(0, 2)); ord=matrix_ord keepdims
np.linalg.norm(t, axis=(-1, -2)); ord=matrix_ord keepdims
np.linalg.vector_norm(a); ord=vector_ord axis=axes keepdims
np.linalg.matrix_norm(t); ord=matrix_ord keepdims
np.linalg.cond(regular(s)); p=matrix_ord
np.linalg.cond(m); p=cond_ord
np.linalg.det(s)
np.linalg.det(t)
np.linalg.slogdet(s)
np.linalg.slogdet(regular(t))
np.linalg.inv(regular(t))
np.linalg.inv(s)
np.linalg.pinv(m); rcond hermitian=none
np.linalg.pinv(t); rtol
np.linalg.pinv(hermitian(t), hermitian=True); rcond
np.linalg.solve(regular(t), s)
np.linalg.solve(regular(s), v)
np.linalg.solve(regular(t), v)
np.linalg.lstsq(m, w); rcond
np.linalg.lstsq(m, o); rcond
np.linalg.lstsq(m.T, v); rcond
np.linalg.matrix_power(regular(s), {k})
np.linalg.matrix_power(t, 3)
np.linalg.multi_dot([v, s, m.T])
np.linalg.multi_dot([m, s, s, u])
np.linalg.tensorinv(regular(s), ind=1)
np.linalg.tensorsolve(regular(s), v)
np.linalg.tensorsolve(regular(s), v, axes=(0,))
np.linalg.qr(m + 3 * np.eye(*m.shape)); mode=qr_mode
np.linalg.qr(regular(t)); mode=qr_mode
np.linalg.cholesky(definite(s)); upper=bool
np.linalg.cholesky(definite(t)); upper=bool
np.linalg.eigvalsh(s); UPLO
np.linalg.eigvalsh(hermitian(t)); UPLO
(lambda r: (r[0], abs(r[1])**2))(np.linalg.eigh(s, {UPLO}))
(lambda r: (r[0], abs(r[1])**2))(np.linalg.eigh(hermitian(t), {UPLO}))
np.sort_complex(np.linalg.eigvals(s))
np.sum(np.linalg.eigvals(s)**3)
(lambda r: (r[0], abs(r[1])**2))(np.linalg.eig(s))
np.linalg.svd(m, compute_uv=False); full_matrices=bool
np.linalg.svd(hermitian(s), compute_uv=False, hermitian=True)
np.linalg.svdvals(t)
(lambda r: (abs(r[0])**2, r[1], abs(r[2])**2))(np.linalg.svd(m, full_matrices=False))
(lambda r: (r[0] * r[1]) @ r[2])(np.linalg.svd(m, full_matrices=False))
(lambda r: (r[0] * r[1]) @ r[2])(np.linalg.svd(hermitian(s), hermitian=True))
np.linalg.trace(t); offset dtype
np.linalg.diagonal(t); offset
np.linalg.matrix_rank(m); rtol
np.linalg.outer(v, w)
np.fft.fft(a); n axis=axis_of_one norm
np.fft.ifft(a); n axis=axis_of_one norm
np.fft.rfft(a.real); n axis=axis_of_one norm
np.fft.irfft(a); n axis=axis_of_one norm
np.fft.hfft(a); n axis=axis_of_one norm
np.fft.ihfft(a.real); n axis=axis_of_one norm
np.fft.fft2(m); s axes=fft_axes norm
np.fft.ifft2(t); s axes=fft_axes norm
np.fft.rfft2(m.real); s axes=fft_axes norm
np.fft.irfft2(m); s axes=fft_axes norm
np.fft.fftn(t); s axes=fft_axes norm
np.fft.ifftn(a); s axes=fft_axes norm
np.fft.rfftn(t.real); s axes=fft_axes norm
np.fft.irfftn(t); s axes=fft_axes norm
np.fft.fftshift(a); axes
np.fft.ifftshift(a); axes
np.poly(v)
np.poly(s)
np.roots(l)
np.roots(np.concatenate([np.zeros(2), v, np.zeros(1)]))
np.polyval(v, a)
np.polyval(v, w)
np.polyadd(v, w)
np.polysub(v, w)
np.polymul(v, w)
np.polydiv(l, w)
np.polydiv(v, l)
np.polyder(l); m=num
np.polyint(v); m=num k=left
np.polyint(v, 2, k=[z, y])
np.polyfit(l.real, l**2, 2); rcond
np.polyfit(v.real, u, 1); rcond full=bool
np.polyfit(v.real, m.T, 1); rcond
np.polyfit(l.real, l.real**3, 2, w=positive(l.real)); rcond full=bool
np.i0(a)
np.sinc(a)
"""
METHODS = """
a.sum(); axis=axes dtype keepdims initial where
a.prod(); axis=axes dtype keepdims initial where
a.mean(); axis=axes dtype keepdims where
a.var(); axis=axes dtype keepdims where ddof
a.std(); axis=axes dtype keepdims where ddof
a.max(initial={initial}); axis=axes keepdims where
a.min(); axis=axes keepdims
a.cumsum(); axis dtype
a.cumprod(); axis dtype
a.clip({left}, {number})
a.clip(max=z.real)
a.round(); decimals
a.take([0, -1]); axis mode=clip_mode
a.repeat(2); axis
a.diagonal(); offset axis1 axis2=axis1
a.trace(); offset axis1 axis2=axis1 dtype
a.reshape(-1); order
a.ravel(); order
a.flatten(); order
a.copy(); order
a.astype({dtype}); order copy=bool
a.transpose()
a.squeeze(); axis=axes
a.swapaxes({axis_of_one}, {axis_of_one})
a.argsort(); axis kind
a.argmax(); axis keepdims
a.compress([True, False]); axis
a.dot(v)
m.dot(v)
a.conj()
a.searchsorted(z)
np.arange(3).choose([z, y, z * y])
a.nonzero()
a.any(); axis=axes keepdims where
a.item(0) if a.size == 1 else a
a.T
a.real * a.imag
list(v)
[x * x for x in m.flat]
m.flat[1:]
m[::-1, ::2]
m[..., None, :1]
m[[0, -1], [0, 0]]
m[mask(m)]
m[:, [0, 0]]
m[np.ix_([0], [0])]
a[...]
a[()]
a + b
a - b
a * b
a / b
a ** 2
a ** 3
a ** 0.5
a ** b
2.0 ** a
a % b
a // b
divmod(a, b)
-a
abs(a)
s @ v
v @ s
pow(a, 2)
round(z.real, 1)
a.__rpow__(2)
"""


def calls():
    """All calls, as text."""
    lines = [line for text in (REDUCTIONS, PLACES, LINEAR, METHODS) for line in text.strip().splitlines() if "(" in line
             or line[1:2] in " .[" or line.startswith(("-", "abs"))]  # fmt: skip
    lines += [f"np.{name}(a)" for name in UNARY] + [f"np.{name}(a, dtype={{dtype}})" for name in ("exp", "sqrt", "sin")]
    lines += [f"np.{name}(a, out=np.zeros_like(a) + b, where=mask(a))" for name in ("exp", "square", "sin")]
    lines += [f"np.{name}(a, b)" for name in BINARY] + [f"np.{name}(a, {{number}})" for name in BINARY]
    lines += [f"np.{name}({{number}}, b)" for name in BINARY]
    for name in FOLDED.split():
        lines += [
            f"np.{name}.reduce(a); axis=axis keepdims dtype",
            f"np.{name}.reduce(a, initial={{initial}}); axis=axis keepdims where",
            f"np.{name}.reduce(positive(a), initial=z); axis=axis keepdims where",
            f"np.{name}.accumulate(a); axis=axis_of_one dtype",
            f"np.{name}.outer(a, b)",
            f"np.{name}.reduceat(l, [0, 2, 1, 1]); dtype",
            f"np.{name}.reduceat(m, [0]); axis=axis_of_one",
            f"at(np.{name}, v, [0, 0, -1], {{number}})",
            f"at(np.{name}, v, [0, 0, -1], l[:3])",
            f"at(np.{name}, m, (slice(None), 0), w)",
            f"np.{name}(a, b, where=mask(a), out=np.ones_like(a) * b)",
        ]
    for name in ("negative", "square", "exp", "sqrt", "reciprocal", "abs"):
        lines.append(f"at(np.{name}, v, [0, 0, -1])")
    for basis in BASES:
        p, at = f"np.polynomial.{basis}", PREFIX[basis]
        lines += [
            f"{p}.{at}val(a, v); tensor=bool", f"{p}.{at}val(w, m); tensor=none", f"{p}.{at}val(v, m.T, tensor=False)",
            f"{p}.{at}val2d(v, u, m)", f"{p}.{at}grid2d(v, w, m)", f"{p}.{at}val3d(v, u, u, c3)",
            f"{p}.{at}grid3d(v, w, u, c3)", f"{p}.{at}add(v, w)", f"{p}.{at}sub(v, w)", f"{p}.{at}mul(v, w)",
            f"{p}.{at}mulx(v)", f"{p}.{at}div(l, w)", f"{p}.{at}pow(v, 3)",
            f"{p}.{at}der(m); m=num scl=number axis=axis1",
            f"{p}.{at}int(m); m=num scl=number axis=axis1 lbnd=number", f"{p}.{at}int(v, 1, k=z); lbnd=number",
            f"{p}.{at}fromroots(v)", f"{p}.{at}roots(v)", f"{p}.{at}companion(l)", f"{p}.{at}vander(a, 3)",
            f"{p}.{at}vander2d(v, u, [1, 2])", f"{p}.{at}vander3d(v, u, u, [1, 0, 2])",
            f"{p}.{at}fit(l.real, l, 2); full=bool rcond", f"{p}.{at}fit(l.real, l, [0, 2], w=positive(l.real))",
            f"{p}.{at}line(z, y)", f"{p}.{at}trim(v)",
        ]  # fmt: skip
        if basis != "polynomial":
            lines += [f"{p}.{at}2poly(v)", f"{p}.poly2{at}(v)", f"{p}.{at}weight(positive(v.real) / 3)"]
        kind = {"polynomial": "Polynomial", "hermite_e": "HermiteE"}.get(basis, basis.capitalize())
        c = f"np.polynomial.{kind}"
        lines += [
            f"{c}(v)(a)", f"{c}(v, domain=[0, 2])(a)", f"({c}(v) * {c}(w)).coef", f"({c}(v) + z).coef",
            f"{c}(v).deriv().coef", f"{c}(v).integ(1, k=[1.0], lbnd=0.5).coef", f"({c}(v) ** 2)(z)",
            f"{c}.fit(l.real, l, 2).convert().coef", f"{c}.fromroots(v).coef", f"{c}(v)(z) * {c}(v).degree()",
            f"divmod({c}(l), {c}(w))[0].coef", f"{c}.basis(2)(a)", f"{c}(v).linspace(3)", f"{c}(v).mapparms()",
            f"{c}(v).truncate(1).coef", f"{c}(v).roots()",
        ]  # fmt: skip
    return lines


CALLS_WITH_OPTIONS = calls()
