"""Parts of CuPy whose GPU code is in its wheel or comes from CUDA's libraries: by NumPy, after a wait for the stream.

Sorting (Thrust), decompositions and solvers (cuSOLVER), triangular solves (cuBLAS), Fourier transforms (cuFFT), random
numbers of generators (cuRAND within kernels).
"""

import ctypes
import functools
import inspect
import sys

import cupy
import cupy.cuda.thrust
import cupy.fft._fft
import cupy.linalg
import cupyx.scipy.linalg
import numpy as np

import host_cuda

LINALG = (
    "inv pinv solve tensorsolve tensorinv cholesky qr svd eigh eigvalsh det slogdet lstsq eig eigvals matrix_rank"
).split()
LU = "lu lu_factor lu_solve".split()
PLAIN = (cupy.ndarray, int, float, complex, str, bool, np.generic, tuple, list, type(None))


def memory(address: int, shape, dtype) -> np.ndarray:
    """Device memory as an array."""
    count = int(np.prod(shape))
    if not count:
        return np.empty(shape, dtype)
    return np.frombuffer(
        (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(address), dtype=dtype
    ).reshape(shape)


def wait() -> None:
    with host_cuda.aside():
        cupy.cuda.get_current_stream().synchronize()


def sort(dtype, data, keys, shape) -> None:
    wait()
    values = memory(data, tuple(shape), dtype)
    values[...] = np.sort(values, axis=-1, kind="stable")


def argsort(dtype, indices, data, keys, shape) -> None:
    wait()
    values = memory(data, tuple(shape), dtype)
    order = np.argsort(values, axis=-1, kind="stable")
    memory(indices, tuple(shape), np.intp)[...] = order
    values[...] = np.take_along_axis(values, order, -1)


def lexsort(dtype, indices, keys, rows, count) -> None:
    wait()
    memory(indices, (count,), np.intp)[...] = np.lexsort(memory(keys, (rows, count), dtype))


def to_host(x):
    return x.get() if isinstance(x, cupy.ndarray) else type(x)(map(to_host, x)) if type(x) in (list, tuple) else x


def to_device(x):
    if isinstance(x, np.ndarray | np.generic):
        return cupy.asarray(np.asarray(x))
    return tuple(map(to_device, x)) if isinstance(x, tuple) else x


def by_numpy(original, function):
    """`function` of NumPy with the signature of CuPy's `original`, on CuPy's arrays alone."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def replacement(*args, **kwargs):
        signature.bind(*args, **kwargs)
        for x in (*args, *kwargs.values()):
            if not isinstance(x, PLAIN):
                raise TypeError(f"{original.__name__}: {type(x)}")
        with host_cuda.aside():
            return to_device(function(*map(to_host, args), **{name: to_host(x) for name, x in kwargs.items()}))

    return replacement


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=False):
    with host_cuda.aside():
        a, b = a.get(), b.get()
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        np.fill_diagonal(a, 1)
    a = a.T if trans in (1, "T") else a.conj().T if trans in (2, "C") else a
    return cupy.asarray(np.linalg.solve(a, b))


def transform(a, direction, value_type, norm, axis, overwrite_x, out_size=None, out=None, plan=None):
    """One axis of a Fourier transform, as `cupy.fft._fft._exec_fft`, where all of CuPy's transforms end."""
    function = {"R2C": np.fft.rfft, "C2R": np.fft.irfft}.get(value_type, np.fft.fft if direction < 0 else np.fft.ifft)
    if a.shape[axis] < 1:
        raise ValueError(f"Invalid number of FFT data points ({a.shape[axis]}) specified.")
    with host_cuda.aside():
        found = function(a.get(), out_size, axis=axis, norm=norm)
        if overwrite_x and value_type == "C2C" and a.base is None and a.flags.c_contiguous:
            a[...] = cupy.asarray(found)  # as CuPy, which has cuFFT write into its input
            return a
        return cupy.asarray(found)


class Generator(cupy.random.Generator):
    """What `cupy.random.default_rng` gives: NumPy's numbers of the same distributions, from the same seed."""

    def __init__(self, bit_generator):
        super().__init__(bit_generator)
        self.numpys = np.random.default_rng(bit_generator._seed_seq)


def drawn(name):
    """A method of Generator, by NumPy's of that name."""
    original = getattr(cupy.random.Generator, name)

    @functools.wraps(original)
    def method(self, *args, out=None, **kwargs):
        if out is not None:
            kwargs["size"] = out.shape
        with host_cuda.aside():
            found = getattr(self.numpys, name)(*map(to_host, args), **{k: to_host(x) for k, x in kwargs.items()})
        if out is None:
            return cupy.asarray(found)
        out[...] = cupy.asarray(found)
        return out

    return method


def install_generator() -> None:
    """From here on NumPy draws what CuPy's Generator would, whose kernels are compiled into its wheel."""
    for name in dir(np.random.Generator):
        if name[0] != "_" and callable(getattr(cupy.random.Generator, name, None)):
            setattr(Generator, name, drawn(name))
    everywhere(cupy.random.Generator, Generator)


def everywhere(original, replacement) -> None:
    """Replaces a function in every module of CuPy that holds it."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("cupy", "cupyx"):
            for attribute, value in list(vars(module).items()):
                if value is original:
                    setattr(module, attribute, replacement)


def install() -> None:
    """From here on NumPy does these parts."""
    for function in (sort, argsort, lexsort):
        setattr(cupy.cuda.thrust, function.__name__, function)
    for name in LINALG:
        if hasattr(cupy.linalg, name):
            everywhere(getattr(cupy.linalg, name), by_numpy(getattr(cupy.linalg, name), getattr(np.linalg, name)))
    everywhere(cupy.fft._fft._exec_fft, transform)
    everywhere(cupy.fft._fft._nd_plan_is_possible, lambda axes, ndim: False)  # so that each axis comes for itself
    everywhere(cupyx.scipy.linalg.solve_triangular, solve_triangular)
    install_generator()
    try:
        import scipy.linalg
    except ImportError:
        return
    for name in LU:
        ours = getattr(cupyx.scipy.linalg, name)
        everywhere(ours, by_numpy(ours, getattr(scipy.linalg, name)))
