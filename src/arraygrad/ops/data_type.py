"""Data type functions.

May import: ops.kinds; ops._dtypes on first use. Rules use only the standard.
"""

from arraygrad.ops.kinds import module_on_use, query, view

_dtypes = module_on_use("arraygrad.ops._dtypes")

# What the kinds of NumPy's dtypes say of those that hold no numbers: objects, text, bytes, times.
_NO_NUMBERS = frozenset("OSUmM")


def _astype(xp, x, dtype, copy, device):
    # NumPy would warn and drop the imaginary parts; its bool is whether either part is not zero
    kind = getattr(x.dtype, "kind", "")
    if (kind == "c" or (not kind and xp.isdtype(x.dtype, "complex floating"))) and not _keeps_complex(xp, dtype):
        raise TypeError(
            f"astype: dtype={dtype} would drop the imaginary parts of {x.dtype}; take real(x), imag(x) or abs(x) first"
        )
    if device is None:
        out = xp.astype(x, dtype, copy=copy)
    else:
        out = xp.astype(x, dtype, copy=copy, device=device)
    if out.shape != x.shape:  # NumPy repeats each element, whose gradient would have another shape
        raise TypeError(
            f"astype: dtype={dtype!r} is a subarray, by which NumPy adds axes to the result; expected a dtype of "
            f"numbers. Cast to {out.dtype}, and repeat the elements by broadcast_to(x[..., None], shape)"
        )
    if getattr(out.dtype, "kind", "") in _NO_NUMBERS:
        way = "; text has no gradient: numpy.asarray(arraygrad.stop_gradient(t)).astype(str)"
        way = way if out.dtype.kind in "SU" else ""
        raise TypeError(
            f"astype: dtype={dtype} holds no numbers; expected a boolean, integer or floating-point dtype{way}"
        )
    return out


def _keeps_complex(xp, dtype):
    dtype = xp.empty(0, dtype=dtype).dtype if isinstance(dtype, str | type) else dtype  # names and Python's types
    return xp.isdtype(dtype, ("complex floating", "bool"))


view(
    "astype",
    "x, dtype, /, *, copy=True, device=None",
    core="()->()",
    forward=_astype,
    x=lambda g: g,
    method=True,
    may_view=True,
    makes_arrays=True,
    numpy=("astype",),
    doc="x as `dtype`; with copy=False x itself if it has that dtype. Its gradient is cast back. Complex to real is an "
    "error (take `real`, `imag` or `abs`); a cast to an integer or boolean dtype ends the graph.",
)
query(
    "can_cast",
    "from_, to, /",
    numpy=("can_cast",),
    doc="Whether one dtype (or an array's) can be cast to another by the standard's promotion rules: a bool.",
)
query(
    "finfo",
    "type, /",
    forward=lambda xp, type: _dtypes.finfo(xp, type),
    doc="Limits of a floating-point dtype (or an array's), as Python floats: bits, eps, max, min, smallest_normal, "
    "dtype.",
)
query(
    "iinfo",
    "type, /",
    forward=lambda xp, type: _dtypes.iinfo(xp, type),
    doc="Limits of an integer dtype (or an array's), as Python ints: bits, max, min, dtype.",
)
query("isdtype", "dtype, kind", doc="Whether a dtype is of a kind, equals another, or any of a tuple of them: a bool.")
query(
    "result_type",
    "*arrays_and_dtypes",
    numpy=("result_type",),
    doc="The dtype to which arrays, dtypes and Python scalars promote together.",
)
