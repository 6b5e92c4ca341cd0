"""Samples of scipy.fft.

May import: numpy, scipy_samples.
"""

from scipy_samples import M, X, sample, spread

C = X + 1j * spread(4, seed=4)
sample("fft.fft fft.ifft fft.rfft fft.ihfft", X)
sample("fft.fft fft.ifft fft.irfft fft.hfft", C)
sample("fft.fft", M, call=lambda f, x: f(x, n=5, axis=0, norm="ortho", workers=1))
sample("fft.irfft fft.hfft", C, call=lambda f, x: f(x, n=5, norm="forward"))
sample("fft.fftn fft.ifftn fft.rfftn fft.fft2 fft.ifft2 fft.rfft2", M)
sample("fft.irfftn fft.irfft2", M + 0.3j)
sample("fft.fftn fft.ifftn fft.rfftn", M, call=lambda f, x: f(x, s=(3, 5), axes=(1, 0), norm="ortho"))
sample("fft.fftshift fft.ifftshift", M)
for _type in (1, 2, 3, 4):
    for _norm in (None, "ortho", "forward"):
        sample("fft.dct fft.idct fft.dst fft.idst", M, call=lambda f, x, type=_type, norm=_norm: f(x, type, norm=norm))
    sample("fft.dctn fft.idctn fft.dstn fft.idstn", M, call=lambda f, x, type=_type: f(x, type))
sample("fft.dct fft.idct fft.dst fft.idst", M, call=lambda f, x: f(x, n=6, axis=0))
sample("fft.dct fft.idct fft.dst fft.idst", M, call=lambda f, x: f(x, n=2, axis=0))
sample("fft.dct fft.idst", C)
sample("fft.dctn fft.idstn", M, call=lambda f, x: f(x, s=(2, 5), axes=(0, 1)))

SPECTRUM = spread(3, 4) + 1j * spread(3, 4, seed=2)
for _norm in (None, "ortho", "forward"):
    sample("fft.hfft2 fft.hfftn", SPECTRUM, call=lambda f, x, norm=_norm: f(x, norm=norm))
    sample("fft.ihfft2 fft.ihfftn", spread(3, 4), call=lambda f, x, norm=_norm: f(x, norm=norm))
sample("fft.hfftn fft.ihfftn", spread(3, 4, 2), call=lambda f, x: f(x, s=(4, 5), axes=(0, 1)))
sample("fft.fht fft.ifht", spread(2, 7), call=lambda f, a: f(a, 0.3, 0.7, 0.1, 0.2))
sample("fft.fftfreq fft.rfftfreq", 0.7, call=lambda f, d: f(7, d))
