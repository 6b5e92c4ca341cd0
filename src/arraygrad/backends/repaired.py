"""A library's raw namespace with some functions of our own in place of its own or of missing ones: `RepairedNamespace`.

Functions for it that several libraries need: `one_triangle`.

May import: the standard library only.
"""

import functools
import types

__all__ = ["RepairedNamespace", "one_triangle"]


class RepairedNamespace(types.ModuleType):
    """RepairedNamespace(raw, own, **extensions): the functions `own` (dict name -> function), else those of `raw`.

    `extensions` maps "linalg" or "fft" to a dict of functions for that part. The name stays that of `raw`.
    """

    def __init__(self, raw, own, **extensions):
        super().__init__(raw.__name__, raw.__doc__)
        self.__dict__["_raw"] = raw
        self.__dict__.update(own)
        for name, functions in extensions.items():
            self.__dict__[name] = RepairedNamespace(getattr(raw, name), functions)

    def __getattr__(self, name):
        value = getattr(self.__dict__["_raw"], name)
        if not name.startswith("__"):
            self.__dict__[name] = value
        return value

    def __dir__(self):
        return sorted({*dir(self._raw), *self.__dict__})


def one_triangle(raw, *, mirror, functions=("cholesky", "eigh", "eigvalsh")):
    """Functions of `raw.linalg` that read of Hermitian matrices what NumPy's read, which the gradients are those of.

    That is the lower triangle, and the upper one for cholesky(x, upper=True). mirror: the library reads more than its
    lower triangle, and gets one that was mirrored.
    """

    def adjoint(x):
        x = raw.matrix_transpose(x)
        return raw.conj(x) if raw.isdtype(x.dtype, "complex floating") else x

    def read(x):
        return raw.tril(x) + adjoint(raw.tril(x, k=-1)) if mirror else x

    def cholesky(x, /, *, upper=False):
        return adjoint(raw.linalg.cholesky(read(adjoint(x)))) if upper else raw.linalg.cholesky(read(x))

    def eigh(x, /):
        return raw.linalg.eigh(read(x))

    def eigvalsh(x, /):
        return raw.linalg.eigvalsh(read(x))

    made = {"cholesky": cholesky, "eigh": eigh, "eigvalsh": eigvalsh}
    return {name: functools.wraps(getattr(raw.linalg, name))(made[name]) for name in functions}
