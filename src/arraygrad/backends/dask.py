"""Backend of dask.array.Array: lazy arrays in chunks. Nothing here computes one.

May import: backends.generic, backends.repaired, dask, numpy, array-api-compat.

What dask.array lacks of the standard is made of the function for NumPy arrays, run block by block with the axes that it
works on in one chunk each (`apply_gufunc`). A dimension that is not known before a computation (after a boolean mask)
is None in a Tensor's shape; an operation that needs to know it raises and names the ways out.
"""

import functools

import array_api_compat.dask.array
import array_api_compat.numpy
import dask.array
import numpy

from arraygrad.backends import attach
from arraygrad.backends.generic import GenericBackend
from arraygrad.backends.repaired import RepairedNamespace, one_triangle

__all__ = ["DaskBackend", "raw_namespace", "register"]

_xp = array_api_compat.dask.array
_np = array_api_compat.numpy


class DaskBackend(GenericBackend):
    """dask.array.Array: a write makes a new array, so what others hold stays as it is."""

    def device_of(self, array):
        """None: chunks lie where the scheduler puts them."""
        return None

    def takes_lists(self):
        """True: lists beside an array become arrays."""
        return True

    def clone(self, array, like):
        """The array itself: `write` never changes one."""
        return array

    def asarray(self, obj, dtype, device):
        """A lazy array of scalars, lists or another array."""
        return _xp.asarray(obj, dtype=dtype)

    def to_device(self, array, device):
        """The array itself: there is one device."""
        return array

    def write(self, raw, key, value):
        """A new array with `value` at `key`."""
        fresh = raw.copy()
        fresh[key] = value
        return fresh

    def text(self, raw):
        """What the array is, not its values: printing computes nothing."""
        return repr(raw)


# -- shapes that have to be known --------------------------------------------------------------------------------------


def _known(name, shape):
    """Raise TypeError if a dimension of `shape` is not known."""
    for n in shape if isinstance(shape, tuple | list) else (shape,):
        if n is None or n != n:
            raise TypeError(
                f"{name}: needs a shape that is known before the computation, but got {tuple(shape)}: call "
                "x.compute_chunk_sizes() on the dask array first, or write where(mask, x, 0) instead of x[mask]"
            )


def _with_known_shape(name):
    function = getattr(_xp, name)
    at = 1 if name in ("broadcast_to", "reshape") else 0

    @functools.wraps(function)
    def checked(*args, **kwargs):
        if len(args) > at or "shape" in kwargs:
            _known(name, args[at] if len(args) > at else kwargs["shape"])
        return function(*args, **kwargs)

    return checked


# -- functions that dask.array lacks, or has for some arrays only ------------------------------------------------------


def _blockwise(name, signature, linalg=True):
    """function(*arrays, **options): NumPy's `name` on blocks that hold the axes named in `signature` as a whole."""
    function = getattr(_np.linalg if linalg else _np, name)
    inputs, _, outputs = signature.partition("->")
    ranks = [part.count(",") + 1 if part.strip("() ") else 0 for part in inputs.replace("),(", ")|(").split("|")]
    several = "),(" in outputs

    @functools.wraps(function)
    def blockwise(*arrays, **options):
        arrays = [dask.array.asarray(a) for a in arrays]
        part = functools.partial(_run_block, function, several, options)
        sample = part(*[numpy.ones((1,) * rank, a.dtype) for rank, a in zip(ranks, arrays, strict=True)])
        dtypes = [r.dtype for r in sample] if several else sample.dtype
        result = dask.array.apply_gufunc(part, signature, *arrays, output_dtypes=dtypes, allow_rechunk=True)
        return tuple(result) if several else result

    return blockwise


def _run_block(function, several, options, *blocks):
    result = function(*blocks, **options)
    return tuple(result) if several else numpy.asarray(result)


def _in_square_blocks(x):
    """Whether x is a matrix cut into square blocks of one size, which dask.array's own solvers are made for."""
    return x.ndim == 2 and x.numblocks[0] > 1 and len({*x.chunks[0], *x.chunks[1]}) == 1


def _in_stripes(x):
    """Whether x is a matrix cut along one axis only, which dask.array's own decompositions are made for."""
    return x.ndim == 2 and sorted(x.numblocks)[0] == 1 and max(x.numblocks) > 1


def _own_if_in_blocks(own, blockwise):
    """`own`, a function of dask.array's or its name, for a matrix in several blocks; `blockwise` for others."""
    own = getattr(_xp.linalg, own) if isinstance(own, str) else own

    @functools.wraps(own)
    def function(x, /):
        return (own if _in_square_blocks(x) else blockwise)(x)

    return function


def _lower_factor(x, /):
    """The lower Cholesky factor of a matrix in blocks; array-api-compat gives the upper one."""
    return dask.array.linalg.cholesky(x, lower=True)


def _svd(x, /, *, full_matrices=True):
    """Singular value decomposition; without full_matrices tall or wide matrices in blocks stay in blocks."""
    if not full_matrices and _in_stripes(x):
        return _xp.linalg.svd(x, full_matrices=False)
    m, n = x.shape[-2:]
    k = min(m, n)
    _known("svd", (m, n))
    rows, columns = (m, n) if full_matrices else (k, k)
    return _gufunc_sized(
        functools.partial(_np.linalg.svd, full_matrices=full_matrices),
        "(m,n)->(m,r),(k),(c,n)",
        {"r": rows, "k": k, "c": columns},
        x,
    )


def _qr(x, /, *, mode="reduced"):
    """QR decomposition; a reduced one of a tall matrix in row blocks stays in blocks."""
    if mode == "reduced" and _in_stripes(x) and x.numblocks[1] == 1:
        return _xp.linalg.qr(x)
    m, n = x.shape[-2:]
    _known("qr", (m, n))
    k = m if mode == "complete" else min(m, n)
    return _gufunc_sized(functools.partial(_np.linalg.qr, mode=mode), "(m,n)->(m,k),(k,n)", {"k": k}, x)


def _gufunc_sized(function, signature, sizes, x):
    """apply_gufunc with several results, and lengths of axes that only the results have."""
    part = functools.partial(_run_block, function, True, {})
    dtypes = [r.dtype for r in part(numpy.eye(1, dtype=x.dtype))]
    return tuple(
        dask.array.apply_gufunc(part, signature, x, output_dtypes=dtypes, output_sizes=sizes, allow_rechunk=True)
    )


def _svdvals(x, /):
    """Singular values."""
    return _svd(x, full_matrices=False)[1]


def _pinv(x, /, *, rtol=None):
    """Pseudo-inverse of matrices."""
    m, n = x.shape[-2:]
    _known("pinv", (m, n))
    function = functools.partial(_run_block, _np.linalg.pinv, False, {} if rtol is None else {"rtol": rtol})
    return dask.array.apply_gufunc(function, "(m,n)->(n,m)", x, output_dtypes=x.dtype, allow_rechunk=True)


def _solve(x1, x2, /):
    """Solution of linear systems; x2 is a vector if it has one axis."""
    if _in_square_blocks(x1) and x2.ndim <= 2:
        return _xp.linalg.solve(x1, x2)
    if x2.ndim == 1:
        return _blockwise("solve", "(n,n),(n)->(n)")(x1, x2)
    return _blockwise("solve", "(n,n),(n,k)->(n,k)")(x1, x2)


def _take_along_axis(x, indices, /, *, axis=-1):
    """Elements at `indices` along one axis, the others in step."""
    if not x.ndim:
        raise ValueError("take_along_axis: expected an array with axes, but got a 0-d one")
    x, indices = dask.array.moveaxis(x, axis, -1), dask.array.moveaxis(dask.array.asarray(indices), axis, -1)
    function = functools.partial(_run_block, _along_last, False, {})
    found = dask.array.apply_gufunc(function, "(n),(k)->(k)", x, indices, output_dtypes=x.dtype, allow_rechunk=True)
    return dask.array.moveaxis(found, -1, axis)


def _along_last(x, indices):
    shape = numpy.broadcast_shapes(x.shape[:-1], indices.shape[:-1])
    x = numpy.broadcast_to(x, (*shape, x.shape[-1]))
    return numpy.take_along_axis(x, numpy.broadcast_to(indices, (*shape, indices.shape[-1])), axis=-1)


def _from_dlpack(x, /, *, device=None, copy=None):
    """A lazy array over a copy of what speaks DLPack, which must lie on the host."""
    if isinstance(x, dask.array.Array):
        return x
    return dask.array.from_array(numpy.array(numpy.from_dlpack(x), copy=True))


def _matrix_power(x, n, /):
    """x multiplied by itself n times."""
    function = functools.partial(_run_block, _np.linalg.matrix_power, False, {"n": n})
    return dask.array.apply_gufunc(function, "(n,n)->(n,n)", x, output_dtypes=x.dtype, allow_rechunk=True)


def _transform(name):
    """A Fourier transform of dask.array after putting the axes that it works on into one chunk each."""
    own = getattr(_xp.fft, name)
    several = name.endswith("n")

    @functools.wraps(own)
    def transform(x, /, **options):
        if several:
            axes = options.get("axes")
            sizes = options.get("s")
            if axes is None:
                axes = range(x.ndim) if sizes is None else range(-len(sizes), 0)
            options["axes"] = tuple(axes)
        else:
            axes = (options.get("axis", -1),)
        return own(x.rechunk(dict.fromkeys([axis % x.ndim for axis in axes], -1)), **options)

    return transform


_OWN = {name: _with_known_shape(name) for name in ("broadcast_to", "reshape", "zeros", "ones", "full", "empty")}
_OWN |= {"take_along_axis": _take_along_axis, "from_dlpack": _from_dlpack}

_LINALG = {
    "det": _blockwise("det", "(n,n)->()"),
    "slogdet": _blockwise("slogdet", "(n,n)->(),()"),
    "eig": _blockwise("eig", "(n,n)->(n),(n,n)"),
    "eigvals": _blockwise("eigvals", "(n,n)->(n)"),
    "eigh": _blockwise("eigh", "(n,n)->(n),(n,n)"),
    "eigvalsh": _blockwise("eigvalsh", "(n,n)->(n)"),
    "inv": _own_if_in_blocks("inv", _blockwise("inv", "(n,n)->(n,n)")),
    "cholesky": _own_if_in_blocks(_lower_factor, _blockwise("cholesky", "(n,n)->(n,n)")),
    "solve": _solve,
    "svd": _svd,
    "svdvals": _svdvals,
    "qr": _qr,
    "pinv": _pinv,
    "matrix_power": _matrix_power,
    "matrix_rank": _blockwise("matrix_rank", "(m,n)->()"),
}

_FFT = {
    name: _transform(name)
    for name in ("fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft", "ihfft")
}

# dask.array's own cholesky reads the blocks of both triangles.
_LINALG |= one_triangle(RepairedNamespace(_xp, _OWN, linalg=_LINALG), mirror=True, functions=("cholesky",))
_raw = RepairedNamespace(_xp, _OWN, linalg=_LINALG, fft=_FFT)

BACKEND = DaskBackend("dask", _raw, dask.array.Array, False)
attach(BACKEND, "dask", dask.array.Array)


def raw_namespace():
    """array-api-compat's namespace over dask.array, with what it lacks."""
    return _raw


def register(obj):
    """The backend of dask arrays."""
    return BACKEND
