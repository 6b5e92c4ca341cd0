"""A pytest plugin: NumPy's inner loops of power, float_power, square and arctan2 get last bits of their own.

May import: numpy and the standard library, and has to be imported before arraygrad, as by
`python -m pytest -p replaced_loops` with this folder in PYTHONPATH. What runs then is what runs on a processor for
which each of these loops is another library's: no two of them round alike, power rounds otherwise for an exponent that
is given with a step of zero (a number), and a power of 1 is not what it was taken of. Only comparisons of two ways to
one result make sense there.
"""

import ctypes

import numpy as np
from numpy._core import _multiarray_umath

REPLACED = {
    np.power: ("ff->f", "dd->d", "FF->F", "DD->D"),
    np.float_power: ("dd->d", "DD->D"),
    np.square: ("f->f", "d->d", "F->F", "D->D"),
    np.arctan2: ("ff->f", "dd->d"),
}

_REPLACE_LOOP = 30  # PyUFunc_ReplaceLoopBySignature in the table of NumPy's C API, which never changes its order
_Loop = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.c_void_p,
)
_kept = []  # what NumPy holds pointers to
calls = {}  # name of a ufunc -> [(elements, steps)] of its calls since the list was emptied


def _function(index, *types):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(_multiarray_umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    return ctypes.PYFUNCTYPE(*types)(table[index])


def _replace(ufunc, signature, seed):
    types = signature.replace("->", "")
    numbers = (ctypes.c_int * len(types))(*[np.dtype(t).num for t in types])
    original = ctypes.c_void_p()
    dtype = np.dtype(types[-1])
    seen = calls.setdefault(ufunc.__name__, [])

    def loop(args, count, steps, data):
        n, all_steps = count[0], tuple(steps[i] for i in range(len(types)))
        seen.append((n, all_steps))
        # Twice: NumPy clears the floating-point status when the bits are turned, so the second call raises the errors.
        own = _Loop(original.value)
        scratch = ctypes.create_string_buffer(max(n, 1) * dtype.itemsize)
        pointers = (ctypes.c_void_p * len(types))(*[args[i] for i in range(len(types) - 1)], ctypes.addressof(scratch))
        own(pointers, count, (ctypes.c_ssize_t * len(types))(*all_steps[:-1], dtype.itemsize), data)
        _turn_bits(scratch, n, dtype, seed + 7 * (ufunc.nin == 2 and all_steps[1] == 0))
        result, step = args[len(types) - 1], all_steps[-1]
        own(args, count, steps, data)
        for i in range(1 if step == dtype.itemsize else n):
            size = n * dtype.itemsize if step == dtype.itemsize else dtype.itemsize
            ctypes.memmove(result + i * step, ctypes.addressof(scratch) + i * dtype.itemsize, size)

    callback = _Loop(loop)
    replace = _function(
        _REPLACE_LOOP,
        *[ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)],
        ctypes.POINTER(ctypes.c_void_p),
    )
    if replace(ufunc, ctypes.cast(callback, ctypes.c_void_p), numbers, ctypes.byref(original)) != 0:
        raise RuntimeError(f"numpy.{ufunc.__name__} has no loop {signature}")
    _kept.append((callback, numbers, original))


def _turn_bits(memory, n, dtype, seed):
    """Turn the last bit of about every third number, as a function of the number and the seed."""
    word = np.dtype(f"u{dtype.itemsize // (2 if dtype.kind == 'c' else 1)}")
    bits = np.frombuffer(memory, word)[: n * (dtype.itemsize // word.itemsize)]
    # Infinities, nan and numbers of few digits stay as they are.
    exponent = word.type(0x7F800000 if word.itemsize == 4 else 0x7FF << 52)
    long = (bits & exponent != exponent) & (bits & word.type(0xFFF) != 0)
    mixed = (bits >> word.type(1)) * word.type(2654435761 + 40014 * seed)
    chosen = (mixed >> word.type(word.itemsize * 8 - 7)) % word.type(3) == 0
    np.bitwise_xor(bits, word.type(1), out=bits, where=long & chosen)


for _seed, (_ufunc, _signatures) in enumerate(REPLACED.items(), 1):
    for _signature in _signatures:
        _replace(_ufunc, _signature, _seed)
