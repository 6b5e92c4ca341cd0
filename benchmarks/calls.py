"""What `benchmarks.operations` calls: every function of the table and of NumPy that has a derivative, with arguments.

A case makes (call, leaves): `call(f, *leaves)` runs a function, NumPy's on raw arrays or ours on Tensors. Functions of
nothing but arrays need no case of their own: their signature of core axes in the table says what they take, and one of
INTERVALS where they are defined. What neither NumPy nor SciPy has is compared with the table's forward on raw arrays.
May import: numpy; scipy and arraygrad where a name is looked up.
"""

# ruff: noqa: B008  a default of a lambda here is made once for each kit, which is meant

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Call = Callable[..., Any]


class Kit:
    """Arguments of one size, layout and dtype. `n`: side of the matrices; vectors have n * n elements, rows n."""

    def __init__(self, n: int, transposed: bool = False, dtype: str = "float64") -> None:
        self.n, self.transposed, self.dtype = n, transposed, np.dtype(dtype)
        self.rng = np.random.default_rng(0)
        self.places = self.rng.integers(0, n, n)
        self.mask = self.matrix() > 1.0

    def _laid_out(self, a: np.ndarray) -> np.ndarray:
        a = a.astype(self.dtype)
        if not self.transposed:
            return np.ascontiguousarray(a)
        if a.ndim < 2:
            return np.repeat(a, 2)[::2] if a.ndim else a
        return np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)

    def array(self, *shape: int, low: float = 0.5, high: float = 1.5) -> np.ndarray:
        return self._laid_out(self.rng.uniform(low, high, shape))

    def number(self) -> np.ndarray:
        return np.asarray(self.rng.uniform(0.5, 1.5), self.dtype)

    def matrix(self, low: float = 0.5, high: float = 1.5) -> np.ndarray:
        return self.array(self.n, self.n, low=low, high=high)

    def vector(self) -> np.ndarray:
        return self.array(self.n * self.n)

    def row(self) -> np.ndarray:
        return self.array(self.n)

    def points(self) -> np.ndarray:
        return np.linspace(0.0, 2.0, self.n * self.n).astype(self.dtype)

    def definite(self) -> np.ndarray:
        a = self.rng.normal(size=(self.n, self.n))
        return self._laid_out(a @ a.T / self.n + np.eye(self.n))

    def complex(self) -> np.ndarray:
        half = np.result_type(self.dtype, np.complex64)
        return (self.matrix() + 1j * self.matrix()).astype(half)


def one(make: str = "matrix", **fixed: Any) -> Callable[[Kit], tuple[Call, Sequence[np.ndarray]]]:
    return lambda kit: ((lambda f, x: f(x, **fixed)), [getattr(kit, make)()])


def two(first: str = "matrix", second: str = "matrix", **fixed: Any) -> Callable[[Kit], tuple[Call, list]]:
    return lambda kit: ((lambda f, x, y: f(x, y, **fixed)), [getattr(kit, first)(), getattr(kit, second)()])


def then(*more: Any, make: str = "matrix", **fixed: Any) -> Callable[[Kit], tuple[Call, list]]:
    """f(x, *more)."""
    return lambda kit: ((lambda f, x: f(x, *more, **fixed)), [getattr(kit, make)()])


def after(first: Any, make: str = "matrix", **fixed: Any) -> Callable[[Kit], tuple[Call, list]]:
    """f(first, x)."""
    return lambda kit: ((lambda f, x: f(first, x, **fixed)), [getattr(kit, make)()])


def listed(make: str = "matrix", **fixed: Any) -> Callable[[Kit], tuple[Call, list]]:
    """f([x, y])."""
    return lambda kit: ((lambda f, x, y: f([x, y], **fixed)), [getattr(kit, make)(), getattr(kit, make)()])


TABLE_CASES: dict[str, Callable[[Kit], tuple[Call, Sequence[np.ndarray]]]] = {
    "clip": then(0.7, 1.2),
    "reshape": lambda kit: ((lambda f, x: f(x, (-1,))), [kit.matrix()]),
    "expand_dims": lambda kit: ((lambda f, x: f(x, axis=0)), [kit.matrix()]),
    "squeeze": lambda kit: ((lambda f, x: f(x, axis=0)), [kit.array(1, kit.n, kit.n)]),
    "permute_dims": then((1, 0)),
    "moveaxis": then(0, 1),
    "roll": then(3),
    "broadcast_to": lambda kit: ((lambda f, x: f(x, (kit.n, kit.n))), [kit.row()]),
    "broadcast_arrays": lambda kit: ((lambda f, x, y: f(x, y)), [kit.row(), kit.matrix()]),
    "repeat": then(2),
    "tile": then((2, 1)),
    "take": lambda kit: ((lambda f, x: f(x, kit.places, axis=0)), [kit.matrix()]),
    "take_along_axis": lambda kit: (
        (lambda f, x, at=np.argsort(kit.matrix(), axis=1): f(x, at, axis=1)),
        [kit.matrix()],
    ),
    "where": lambda kit: ((lambda f, x, y: f(kit.mask, x, y)), [kit.matrix(), kit.matrix()]),
    "unique_values": one("row"),
    "unique_counts": one("row"),
    "unique_inverse": one("row"),
    "unique_all": one("row"),
    "full_like": lambda kit: ((lambda f, c, x=kit.matrix(): f(x, c)), [kit.number()]),
    "linspace": lambda kit: ((lambda f, a, b: f(a, b, 64)), [kit.number(), kit.number()]),
    "astype": lambda kit: (
        (lambda f, x, to=np.dtype("float32" if kit.dtype == "float64" else "float64"): f(x, to)),
        [kit.matrix()],
    ),
    "tensordot": two(axes=1),
    "matrix_power": then(3),
    "ifft": one("complex"),
    "ifftn": one("complex"),
    "irfft": one("complex"),
    "irfftn": one("complex"),
    "hfft": one("complex"),
    "einsum": lambda kit: ((lambda f, x, y: f("ij,jk->ik", x, y)), [kit.matrix(), kit.matrix()]),
    "pad": then(1),
    "multigammaln": lambda kit: ((lambda f, x: f(x, 2)), [kit.matrix(2.0, 3.0)]),
    "polygamma": after(1),
    "yn": after(1),
    "kn": after(1),
    "expn": after(1),
    "zeta": lambda kit: ((lambda f, q, x=kit.matrix(2.0, 3.0): f(x, q)), [kit.matrix()]),
    "gammainc": lambda kit: ((lambda f, x, a=kit.matrix(): f(a, x)), [kit.matrix()]),
    "gammaincc": lambda kit: ((lambda f, x, a=kit.matrix(): f(a, x)), [kit.matrix()]),
    "gammaincinv": lambda kit: ((lambda f, x, a=kit.matrix(): f(a, x)), [kit.matrix(0.2, 0.8)]),
    "gammainccinv": lambda kit: ((lambda f, x, a=kit.matrix(): f(a, x)), [kit.matrix(0.2, 0.8)]),
    "betainc": lambda kit: ((lambda f, x, a=kit.matrix(): f(a, a, x)), [kit.matrix(0.2, 0.8)]),
    "betaincc": lambda kit: ((lambda f, x, a=kit.matrix(): f(a, a, x)), [kit.matrix(0.2, 0.8)]),
    "betaincinv": lambda kit: ((lambda f, x, a=kit.matrix(): f(a, a, x)), [kit.matrix(0.2, 0.8)]),
    **{name: after(1.5) for name in ("jv", "yv", "iv", "ive", "kv", "kve")},
}
"""Functions of the table whose arguments their signature does not tell."""

NUMPY_CASES: dict[str, Callable[[Kit], tuple[Call, Sequence[np.ndarray]]]] = {
    "angle": one("complex"),
    "append": two(),
    "array_split": then(3),
    "atleast_1d": one(),
    "atleast_2d": one("row"),
    "atleast_3d": one(),
    "average": lambda kit: ((lambda f, x, w: f(x, weights=w)), [kit.matrix(), kit.matrix()]),
    "bincount": lambda kit: (
        (lambda f, w, at=kit.rng.integers(0, kit.n, kit.n * kit.n): f(at, w)),
        [kit.vector()],
    ),
    "block": listed(),
    "choose": lambda kit: ((lambda f, x, y, at=kit.mask.astype(int): f(at, [x, y])), [kit.matrix(), kit.matrix()]),
    "column_stack": listed(),
    "compress": lambda kit: ((lambda f, x: f(kit.mask[0], x, axis=0)), [kit.matrix()]),
    "convolve": lambda kit: ((lambda f, x, y: f(x, y)), [kit.vector(), kit.row()]),
    "copy": one(),
    "corrcoef": one(),
    "correlate": lambda kit: ((lambda f, x, y: f(x, y)), [kit.vector(), kit.row()]),
    "cov": one(),
    "cumprod": one(axis=0),
    "cumsum": one(axis=0),
    "deg2rad": one(),
    "degrees": one(),
    "delete": then(1, axis=0),
    "diag": one("row"),
    "diagflat": one("row"),
    "divmod": two(),
    "dot": two(),
    "dsplit": lambda kit: ((lambda f, x: f(x, 2)), [kit.array(4, 4, max(2, kit.n // 2 * 2))]),
    "dstack": listed(),
    "ediff1d": one("vector"),
    "exp2": one(),
    "extract": lambda kit: ((lambda f, x: f(kit.mask, x)), [kit.matrix()]),
    "fabs": one(),
    "fft.fft2": one(),
    "fft.ifft2": one("complex"),
    "fft.irfft2": one("complex"),
    "fft.rfft2": one(),
    "fliplr": one(),
    "flipud": one(),
    "float_power": two(),
    "fmax": two(),
    "fmin": two(),
    "fmod": two(),
    "frexp": one(),
    "geomspace": lambda kit: ((lambda f, a, b: f(a, b, 64)), [kit.number(), kit.number()]),
    "gradient": one("vector"),
    "hsplit": then(2),
    "hstack": listed(),
    "i0": one(),
    "inner": two(),
    "insert": lambda kit: ((lambda f, x, y: f(x, 1, y, axis=0)), [kit.matrix(), kit.row()]),
    "interp": lambda kit: (
        (lambda f, x, y, at=kit.points(): f(x, at, y)),
        [kit.vector(), kit.vector()],
    ),
    "kron": lambda kit: ((lambda f, x, y: f(x, y)), [kit.matrix(), kit.array(2, 2)]),
    "ldexp": then(2),
    "lib.stride_tricks.sliding_window_view": then(3, make="vector"),
    "linalg.cond": one("definite"),
    "linalg.lstsq": lambda kit: ((lambda f, x, y: f(x, y)[0]), [kit.definite(), kit.row()]),
    "linalg.multi_dot": lambda kit: ((lambda f, x, y, z: f([x, y, z])), [kit.matrix(), kit.matrix(), kit.row()]),
    "linalg.tensorinv": lambda kit: ((lambda f, x: f(x, ind=1)), [kit.definite()]),
    "linalg.tensorsolve": two("definite", "row"),
    "logaddexp2": two(),
    "logspace": lambda kit: ((lambda f, a, b: f(a, b, 64)), [kit.number(), kit.number()]),
    "matvec": two("matrix", "row"),
    "median": one(axis=0),
    "modf": one(),
    "nan_to_num": one(),
    "nancumprod": one(axis=0),
    "nancumsum": one(axis=0),
    "nanmax": one(axis=0),
    "nanmean": one(axis=0),
    "nanmedian": one(axis=0),
    "nanmin": one(axis=0),
    "nanpercentile": then(30, axis=0),
    "nanprod": one(axis=0),
    "nanquantile": then(0.3, axis=0),
    "nanstd": one(axis=0),
    "nansum": one(axis=0),
    "nanvar": one(axis=0),
    "partition": then(2),
    "percentile": then(30, axis=0),
    "poly": lambda kit: ((lambda f, x: f(x)), [kit.array(6)]),
    "polyadd": two("row", "row"),
    "polyder": one("row"),
    "polydiv": lambda kit: ((lambda f, x, y: f(x, y)), [kit.row(), kit.array(3)]),
    "polyfit": lambda kit: ((lambda f, y, at=kit.points(): f(at, y, 2)), [kit.vector()]),
    "polyint": one("row"),
    "polymul": two("row", "row"),
    "polysub": two("row", "row"),
    "polyval": lambda kit: ((lambda f, c, x: f(c, x)), [kit.array(4), kit.matrix()]),
    "ptp": one(axis=0),
    "quantile": then(0.3, axis=0),
    "rad2deg": one(),
    "radians": one(),
    "ravel": one(),
    "real_if_close": one(),
    "resize": lambda kit: ((lambda f, x: f(x, (2 * kit.n, kit.n))), [kit.matrix()]),
    "rollaxis": then(1),
    "roots": lambda kit: ((lambda f, x: f(x)), [kit.array(6)]),
    "rot90": one(),
    "select": lambda kit: (
        (lambda f, x, y: f([kit.mask, ~kit.mask], [x, y])),
        [kit.matrix(), kit.matrix()],
    ),
    "split": then(2),
    "swapaxes": then(0, 1),
    "transpose": one(),
    "trapezoid": one("vector"),
    "trim_zeros": one("row"),
    "unwrap": one("vector"),
    "vander": then(4, make="row"),
    "vdot": two("row", "row"),
    "vecmat": two("row", "matrix"),
    "vsplit": then(2),
    "vstack": listed(),
}
"""Functions of NumPy beyond the table, as NumPy's protocols serve them."""

OPERATORS: dict[str, Callable[[Kit], tuple[Call, Sequence[np.ndarray]]]] = {
    "t + t": lambda kit: ((lambda _, x, y: x + y), [kit.matrix(), kit.matrix()]),
    "t + raw": lambda kit: ((lambda _, x, b=kit.matrix(): x + b), [kit.matrix()]),
    "raw + t": lambda kit: ((lambda _, x, b=kit.matrix(): b + x), [kit.matrix()]),
    "t + row": lambda kit: ((lambda _, x, y: x + y), [kit.matrix(), kit.row()]),
    "t * raw": lambda kit: ((lambda _, x, b=kit.matrix(): x * b), [kit.matrix()]),
    "t * 2.0": lambda kit: ((lambda _, x: x * 2.0), [kit.matrix()]),
    "1 - t": lambda kit: ((lambda _, x: 1 - x), [kit.matrix()]),
    "t / t": lambda kit: ((lambda _, x, y: x / y), [kit.matrix(), kit.matrix()]),
    "t / row": lambda kit: ((lambda _, x, y: x / y), [kit.matrix(), kit.row()]),
    "t ** 2": lambda kit: ((lambda _, x: x**2), [kit.matrix()]),
    "-t": lambda kit: ((lambda _, x: -x), [kit.matrix()]),
    "t @ t": lambda kit: ((lambda _, x, y: x @ y), [kit.matrix(), kit.matrix()]),
    "t @ raw": lambda kit: ((lambda _, x, b=kit.matrix(): x @ b), [kit.matrix()]),
    "raw @ t": lambda kit: ((lambda _, x, b=kit.matrix(): b @ x), [kit.matrix()]),
    "t @ t, 3-d": lambda kit: ((lambda _, x, y: x @ y), [kit.array(4, kit.n, kit.n), kit.array(4, kit.n, kit.n)]),
    "t[2]": lambda kit: ((lambda _, x: x[2]), [kit.matrix()]),
    "t[:, 1:]": lambda kit: ((lambda _, x: x[:, 1:]), [kit.matrix()]),
    "t[index]": lambda kit: ((lambda _, x: x[kit.places]), [kit.matrix()]),
    "t[rows, columns]": lambda kit: ((lambda _, x, r=np.arange(kit.n): x[r, kit.places]), [kit.matrix()]),
    "t[mask]": lambda kit: ((lambda _, x: x[kit.mask]), [kit.matrix()]),
    "t.T": lambda kit: ((lambda _, x: x.T), [kit.matrix()]),
    "t.sum()": lambda kit: ((lambda _, x: x.sum()), [kit.matrix()]),
    "sum, axis": lambda kit: ((lambda _, x: x.sum(axis=0)), [kit.matrix()]),
    "mean, axis": lambda kit: ((lambda _, x: x.mean(axis=0)), [kit.matrix()]),
    "var, axis": lambda kit: ((lambda _, x: x.var(axis=0)), [kit.matrix()]),
    "max, axis": lambda kit: ((lambda _, x: x.max(axis=1)), [kit.matrix()]),
}

# What the table's functions are compared with where NumPy and scipy.special have none of the name.
BARE: dict[str, Call] = {
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "logsumexp": lambda x: np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x),
    "softmax": lambda x: (lambda e: e / np.sum(e, axis=-1, keepdims=True))(np.exp(x - np.max(x, -1, keepdims=True))),
    "log_softmax": lambda x: (lambda y: y - np.log(np.sum(np.exp(y), -1, keepdims=True)))(
        x - np.max(x, -1, keepdims=True)
    ),
    "loggamma": lambda x: _special("gammaln")(x),
    "std": lambda x: np.std(x),
    "cumulative_sum": lambda x: np.cumsum(x, axis=0),
    "cumulative_prod": lambda x: np.cumprod(x, axis=0),
    "unique_counts": lambda x: np.unique(x, return_counts=True),
    "unique_all": lambda x: np.unique_all(x),
    "norm": lambda x: np.linalg.norm(x),
}
TABLE_CASES["cumulative_sum"] = TABLE_CASES["cumulative_prod"] = lambda kit: (
    (lambda f, x: f(x) if f in BARE.values() else f(x, axis=0)),
    [kit.matrix()],
)

# Entries of the table without a call of their own.
NOT_CALLED = {
    "arange": "makes an array whose shape depends on the values",
    "full": "full_like does the same",
    "eig": "eigvals does the same, and has a gradient without a choice of phases",
}


# NumPy's functions that Tensors have and that no row calls: they have no derivative, write to their first argument,
# call the user's function, or are another name or a part of one that is there.
NOT_MEASURED = frozenset(
    """
    allclose apply_along_axis apply_over_axes argpartition argwhere around array2string array_equal array_equiv
    array_repr array_str as_strided asarray_chkfinite common_type copyto diag_indices_from digitize einsum_path
    fill_diagonal fix flatnonzero histogram histogram2d histogram_bin_edges histogramdd intersect1d isclose iscomplex
    iscomplexobj isfortran isneginf isposinf isreal isrealobj ix_ lexsort logn may_share_memory min_scalar_type
    nanargmax nanargmin ndim packbits piecewise place put put_along_axis putmask ravel_multi_index require row_stack
    setdiff1d setxor1d shape shares_memory size sort_complex tril_indices_from triu_indices_from union1d unique
    unpackbits unravel_index vectorize
    """.split()
)


def _special(name: str) -> Call | None:
    import scipy.special

    return getattr(scipy.special, name, None)


@dataclass(frozen=True)
class Row:
    """One line: the function on raw arrays, ours on Tensors, and the case that calls both."""

    name: str
    bare: Call | None
    ours: Call | None
    case: Callable[[Kit], tuple[Call, Sequence[np.ndarray]]]


def _found(owner: Any, path: str) -> Any:
    for part in path.split("."):
        owner = getattr(owner, part, None)
    return owner


def _bare(entry: Any) -> Call:
    if entry.name in BARE:
        return BARE[entry.name]
    for path in (entry.name, f"linalg.{entry.name}", f"fft.{entry.name}"):
        found = _found(np, path)
        if callable(found):
            return found
    found = _special(entry.name)
    if found is not None:
        return found
    if entry.forward is None:
        raise LookupError(f"{entry.name}: neither NumPy nor SciPy has it, and it has no forward: add it to BARE")
    defaults = {
        name: p.default for name, p in inspect.signature(eval(f"lambda {entry.signature}: None")).parameters.items()
    }
    names = list(defaults)

    def bare(*arrays: Any, **options: Any) -> Any:
        return entry.forward(np, *arrays, *[options.get(name, defaults[name]) for name in names[len(arrays) :]])

    return bare


# Where a function of arrays alone may be defined, the usual one first.
INTERVALS = ((0.5, 1.5), (0.2, 0.8), (1.5, 2.5), (-0.8, -0.2), (-2.5, -1.5))


def _case_by_signature(entry: Any, bare: Call) -> Callable[[Kit], tuple[Call, Sequence[np.ndarray]]]:
    """A case of an operation whose signature of core axes (`arraygrad.ops.structure`) says all that it needs."""
    from arraygrad.ops.structure import axis_parameter, structure_of

    parameters = inspect.signature(eval(f"lambda {entry.signature}: None")).parameters
    required = [name for name, p in parameters.items() if p.default is p.empty]
    operands = [o for o in structure_of(entry).operands if o.name in required]
    if not operands or [o.name for o in operands] != required or any(o.dims is None for o in operands):
        raise LookupError(f"{entry.name}({entry.signature}) needs a case in benchmarks/calls.py")
    low, high = _domain(bare, len(operands)) if entry.kind == "elementwise" else INTERVALS[0]
    along = axis_parameter(entry) is not None

    def array(kit: Kit, dims: tuple[str, ...]) -> np.ndarray:
        if dims == ("3",):
            return kit.array(kit.n, 3)
        if len(dims) == 2 and dims[0] == dims[1]:
            return kit.definite()
        if len(dims) == 1 and not along and not dims[0].endswith("*"):
            return kit.row()
        return kit.matrix(low, high)

    if operands[0].listed:
        dims = operands[0].dims
        several = parameters[required[0]].kind is inspect.Parameter.VAR_POSITIONAL
        return lambda kit: ((lambda f, x, y: f(x, y) if several else f([x, y])), [array(kit, dims), array(kit, dims)])
    return lambda kit: ((lambda f, *arrays: f(*arrays)), [array(kit, o.dims) for o in operands])


def _domain(bare: Call, arrays: int) -> tuple[float, float]:
    """The first of INTERVALS on which an elementwise function is finite, the usual one if it is on none."""
    for low, high in INTERVALS:
        with np.errstate(all="ignore"):
            if np.all(np.isfinite(bare(*[np.linspace(low, high, 9)] * arrays))):
                return low, high
    return INTERVALS[0]


def rows() -> list[Row]:
    """Every public function with a derivative: operators, the table's, and NumPy's beyond the table."""
    import arraygrad.numpy as an
    from arraygrad import special
    from arraygrad.ops import TABLE

    found = [Row(name, None, None, case) for name, case in OPERATORS.items()]
    for name, entry in TABLE.items():
        if name.startswith("_") or not entry.rules or entry.derivative == "zero" or name in NOT_CALLED:
            continue
        bare = _bare(entry)
        case = TABLE_CASES.get(name) or _case_by_signature(entry, bare)
        ours = _found(special, name) if entry.chapter == "special" else None
        for path in (name, f"linalg.{name}", f"fft.{name}"):
            ours = ours if callable(ours) else _found(an, path)
        if ours is None:
            ours = _found(special, name)
        found.append(Row(name, bare, ours, case))
    for name, case in NUMPY_CASES.items():
        function = _found(np, name)
        if function is not None:
            found.append(Row(f"np.{name}", function, function, case))
    return found
