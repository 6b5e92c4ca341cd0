"""What SciPy's logsumexp gets as namespace: one in which its largest elements keep their derivatives.

May import: core.tensor.

Note [Largest elements taken apart]

scipy.special.logsumexp takes the largest elements out of the sum, as exp(a - max) = 1 each, and adds their count: a
cast of the mask a == max. Where one element is the largest, this is constant, and the derivatives are those of the sum.
Where several are, they are constant only together: the first derivative comes out right, as max shares it evenly, and
the second one lacks what these elements contribute. So for this function the cast of the mask is exp(a - max) where the
mask is true: the same ones, with the derivatives of what they stand for.
"""

import threading
import types

from arraygrad.core.tensor import Tensor

__all__ = ["asks_for_logsumexp", "with_largest"]

_HELPERS = ("scipy._lib", "scipy._external")  # until SciPy 1.17, and from 1.18 on

_last = threading.local()
_made: dict[str, types.ModuleType] = {}


def asks_for_logsumexp(frame):
    """Whether SciPy's logsumexp asks for a namespace, through SciPy's helpers that find it."""
    for _ in range(4):
        name = frame.f_globals.get("__name__", "")
        if not name.startswith("scipy."):
            return False
        if not name.startswith(_HELPERS):
            return name == "scipy.special._logsumexp" and frame.f_code.co_name == "logsumexp"
        frame = frame.f_back
        if frame is None:
            return False
    return False


def with_largest(public):
    """The namespace `public` for logsumexp; always the same one."""
    found = _made.get(public.__name__)
    if found is None:
        found = types.ModuleType(public.__name__, public.__doc__)
        found.__dict__.update(vars(public))
        found.max, found.astype = _max_of(public), _astype_of(public)
        _made[public.__name__] = found
    return found


def _max_of(public):
    def max(x, /, *, axis=None, keepdims=False):
        top = public.max(x, axis=axis, keepdims=keepdims)
        _last.terms = None
        if isinstance(x, Tensor) and x.requires_grad and keepdims and public.isdtype(x.dtype, "real floating"):
            away = public.where(public.isfinite(x), x - top, 0.0)
            _last.terms = public.exp(public.where(x == top, away, 0.0))
        return top

    return max


def _astype_of(public):
    def astype(x, dtype, /, **options):
        terms, _last.terms = getattr(_last, "terms", None), None
        if terms is not None and terms.shape == x.shape and public.isdtype(x.dtype, "bool"):
            return public.astype(public.where(x, terms, 0.0), dtype, **options)
        return public.astype(x, dtype, **options)

    return astype
