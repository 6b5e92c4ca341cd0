"""Kernels that reduce rows and use the result at once: softmax, logsumexp, variance, extrema, each one launch.

May import: backends.cuda.prepared, backends.cuda.texts, ops._axes, numpy. CuPy is handed in as a module. The CUDA
text compiles as C++ too, for tests.

Note [Rows]
~~~~~~~~~~~
An array of (outer, n, inner) elements in row-major order is outer * inner rows of n elements, `inner` apart. A block
has blockDim.x rows next to each other and blockDim.y threads for each; a thread takes every blockDim.y-th element. What
a row reduces to passes through shared memory, one slot per thread. Every thread takes part in every reduction, those of
rows beyond the end with nothing to add, because each reduction has barriers in it.
(1) Few long rows would leave most of the device idle: `Rows.layout` declines, and the table's own functions run.
(2) Sums are of the array's own type, a thread's share first, then by halves: no less precise than a plain sum. `sum`
    and `mean`, whose rows may be long, add a thread's share in double precision.
(3) Few columns of many rows would be one block, each of its threads with thousands of elements. `sum` and `mean` are
    two launches there: parts of each row, as many as keep the device busy, then the parts of each row. What belongs to
    a part depends on the shape alone, so a sum has the same bits at each run.
Guarded by tests/gpu/test_rows.py: every kernel against the table over NumPy.
"""

import math
import operator

import numpy

from arraygrad.backends.cuda.prepared import RowLauncher, RowPlan, SplitPlan
from arraygrad.backends.cuda.texts import ROWS
from arraygrad.ops._axes import normalize_axes

__all__ = ["KERNELS", "RowKernels", "layout", "source"]

THREADS = 256

# Rows longer than this are left to the library's own reductions where there are fewer than FEW_BLOCKS blocks.
LONG, FEW_BLOCKS = 16384, 64

# A sum whose threads would have this many elements or more, in fewer than FEW_BLOCKS blocks, is split into parts: at
# least SHARE elements for each thread, at most as many blocks as fill a large device twice.
SPLIT, SHARE, MANY_BLOCKS = 128, 32, 264

KEPT_LAYOUTS = 4096

# Around each kernel's own statements: `row` is this thread's row, `start` its first element, EACH(k) visits its share
# of the elements; `live` is false beyond the last row.
_FRAME = r"""
extern "C" __global__ void NAME(PARAMETERS, const long long rows, const long long n, const long long inner) {
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool live = row < rows;
  const long long start = live ? (row / inner) * n * inner + row % inner : 0;
  const long long stop = live ? n : 0;
#define EACH(k) \
  for (long long j_ = threadIdx.y, k = start + j_ * inner; j_ < stop; j_ += blockDim.y, k += blockDim.y * inner)
BODY
#undef EACH
}
"""

_MAXIMUM = """
  REAL top = ag_nothing<REAL>();
  EACH(k) top = ag_larger(top, x[k]);
  top = ag_row_max(top);
  if (!isfinite(top)) top = REAL(0);
"""
_MEAN = """
  REAL mean = REAL(0);
  EACH(k) mean += x[k];
  mean = ag_row_sum(mean) / REAL(n);
"""
_SQUARES = """
  REAL squares = REAL(0);
  EACH(k) { const REAL away = x[k] - mean; squares += away * away; }
  squares = ag_row_sum(squares) / static_cast<REAL>(freedom);
"""

# Sums are kept in double precision until a thread has its share: Note [Rows] (2).
_TOTAL = """
  double total = 0.0;
  EACH(k) total += x[k];
  const REAL sum = ag_row_sum(static_cast<REAL>(total));
"""

# name -> (parameters, statements). Gradients of reductions have one element per row. `apart`: 1, or 0 where the
# gradient is one number everywhere, as that of a sum is.
KERNELS = {
    "sum": ("const REAL* x, REAL* out", _TOTAL + "  if (live && threadIdx.y == 0) out[row] = sum;\n"),
    "mean": ("const REAL* x, REAL* out", _TOTAL + "  if (live && threadIdx.y == 0) out[row] = sum / REAL(n);\n"),
    "softmax": (
        "const REAL* x, REAL* out",
        _MAXIMUM
        + """
  REAL total = REAL(0);
  EACH(k) { const REAL e = exp(x[k] - top); out[k] = e; total += e; }
  total = ag_row_sum(total);
  EACH(k) out[k] /= total;
""",
    ),
    "softmax_backward": (
        "const REAL* g, const REAL* ans, REAL* out, const long long apart",
        """
  REAL total = REAL(0);
  EACH(k) total += g[k * apart] * ans[k];
  total = ag_row_sum(total);
  EACH(k) out[k] = ans[k] * (g[k * apart] - total);
""",
    ),
    "log_softmax": (
        "const REAL* x, REAL* out",
        _MAXIMUM
        + """
  REAL total = REAL(0);
  EACH(k) total += exp(x[k] - top);
  const REAL shift = log(ag_row_sum(total));
  EACH(k) out[k] = (x[k] - top) - shift;
""",
    ),
    "log_softmax_backward": (
        "const REAL* g, const REAL* ans, REAL* out, const long long apart",
        """
  REAL total = REAL(0);
  EACH(k) total += g[k * apart];
  total = ag_row_sum(total);
  EACH(k) out[k] = g[k * apart] - exp(ans[k]) * total;
""",
    ),
    "logsumexp": (
        "const REAL* x, REAL* out",
        _MAXIMUM
        + """
  REAL total = REAL(0);
  EACH(k) total += exp(x[k] - top);
  total = ag_row_sum(total);
  if (live && threadIdx.y == 0) out[row] = log(total) + top;
""",
    ),
    "logsumexp_backward": (
        "const REAL* g, const REAL* x, const REAL* ans, REAL* out, const long long apart",
        """
  const REAL found = live ? ans[row] : REAL(0);
  const bool infinite = isinf(found);
  const bool nothing = infinite && found < REAL(0);
  const bool endless = infinite && found > REAL(0);
  REAL total = REAL(0);
  EACH(k) total += endless ? REAL(x[k] == found) : exp(x[k] - (nothing ? REAL(0) : found));
  total = ag_row_sum(total);
  if (nothing) total = REAL(1);
  EACH(k) {
    const REAL weight = endless ? REAL(x[k] == found) : exp(x[k] - (nothing ? REAL(0) : found));
    out[k] = g[row * apart] * (weight / total);
  }
""",
    ),
    "var": (
        "const REAL* x, REAL* out, const double freedom",
        _MEAN + _SQUARES + "  if (live && threadIdx.y == 0) out[row] = squares;\n",
    ),
    "var_backward": (
        "const REAL* g, const REAL* x, REAL* out, const long long apart, const double freedom",
        _MEAN + "  EACH(k) out[k] = REAL(2) * g[row * apart] * ((x[k] - mean) / static_cast<REAL>(freedom));\n",
    ),
    "std": (
        "const REAL* x, REAL* out, const double freedom",
        _MEAN + _SQUARES + "  if (live && threadIdx.y == 0) out[row] = sqrt(squares);\n",
    ),
    "std_backward": (
        "const REAL* g, const REAL* x, const REAL* ans, REAL* out, const long long apart, const double freedom",
        _MEAN
        + """
  const REAL slope = !live || ans[row] == REAL(0) ? REAL(0) : g[row * apart] / ans[row];
  EACH(k) out[k] = slope * ((x[k] - mean) / static_cast<REAL>(freedom));
""",
    ),
    "extremum_backward": (
        "const REAL* g, const REAL* x, const REAL* ans, REAL* out, const long long apart",
        """
  const REAL found = live ? ans[row] : REAL(0);
  REAL ties = REAL(0);
  EACH(k) ties += REAL(x[k] == found || x[k] != x[k]);
  ties = ag_row_sum(ties);
  EACH(k) out[k] = REAL(x[k] == found || x[k] != x[k]) * (g[row * apart] / ties);
""",
    ),
}

# The sums of parts of rows, each of `share` elements or what is left, as an array of (outer, parts, inner); and what
# makes their mean of them.
_PART = r"""
extern "C" __global__ void arraygrad_sum_part(const REAL* x, REAL* out, const long long rows, const long long n,
    const long long inner, const long long share) {
  const long long parts = (n + share - 1) / share;
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool live = row < rows * parts;
  const long long first = row / inner % parts * share;
  const long long start = live ? (row / inner / parts * n + first) * inner + row % inner : 0;
  const long long stop = live ? (n - first < share ? n - first : share) : 0;
  double total = 0.0;
  for (long long j_ = threadIdx.y, k = start + j_ * inner; j_ < stop; j_ += blockDim.y, k += blockDim.y * inner)
    total += x[k];
  const REAL sum = ag_row_sum(static_cast<REAL>(total));
  if (live && threadIdx.y == 0) out[row] = sum;
}
"""
_MEAN_OF_PARTS = (
    "const REAL* x, REAL* out, const double freedom",
    _TOTAL + "  if (live && threadIdx.y == 0) out[row] = sum / static_cast<REAL>(freedom);\n",
)


# Gradients that are added to an array, in the place of what the kernel writes otherwise.
KERNELS.update(
    {
        f"{name}_added": (parameters, statements.replace("out[k] =", "out[k] +="))
        for name, (parameters, statements) in KERNELS.items()
        if name.endswith("_backward")
    }
)


def source(name, dtype):
    """The CUDA text of a kernel for float32 or float64; the kernel is called `arraygrad_<name>`."""
    if name == "sum_part":
        text = ROWS + _PART
    else:
        parameters, statements = _MEAN_OF_PARTS if name == "mean_of_parts" else KERNELS[name]
        text = ROWS + _FRAME.replace("NAME", f"arraygrad_{name}").replace("PARAMETERS", parameters)
        text = text.replace("BODY", statements)
    return text.replace("REAL", {"f": "float", "d": "double"}[numpy.dtype(dtype).char])


def layout(shape, axis, split=False):
    """((rows, n, inner), (blockDim.x, blockDim.y), blocks) for reducing `axis` of a row-major array.

    None where the axes are not next to each other, nothing is reduced or left, or few long rows make a bad launch.
    `split`: columns may be long, as they are added up in parts.
    """
    try:
        for a in axis if isinstance(axis, (tuple, list)) else () if axis is None else (axis,):
            operator.index(a)
        axes = sorted(normalize_axes(axis, len(shape)))
    except (TypeError, ValueError):
        return None  # the library says what is wrong with it
    if not axes or axes != list(range(axes[0], axes[0] + len(axes))) or axes[0] < 0 or axes[-1] >= len(shape):
        return None
    if math.prod(shape) == 0:
        return None
    n = math.prod(shape[axes[0] : axes[-1] + 1])
    inner = math.prod(shape[axes[-1] + 1 :])
    rows = math.prod(shape[: axes[0]]) * inner
    return _filled(rows, n, inner, split)


def _filled(rows, n, inner, split=False):
    across = 1  # columns of a block: eight float32 next to each other are what memory gives at least
    while inner > 1 and across < rows and across < (16 if rows >= 16 * MANY_BLOCKS // 2 else 8):
        across *= 2
    deep = 1
    while deep < n and deep * across < THREADS:
        deep *= 2
    wide = 1
    while wide < rows and wide * deep < THREADS:
        wide *= 2
    blocks = -(-rows // wide)
    if n > LONG and blocks < FEW_BLOCKS and not (split and inner > 1):
        return None
    return (rows, n, inner), (wide, deep), blocks


def share_of(found):
    """How many elements of a row one of several parts has, for what `layout` gives; None: rows stay whole."""
    (_, n, _), (_, deep), blocks = found
    if blocks >= FEW_BLOCKS or n < SPLIT * deep:
        return None
    return -(-n // min(n // (SHARE * deep), -(-MANY_BLOCKS // blocks)))


def divided(found):
    """`found` for parts of equal size, and their number, where rows are split; None where they have no such parts."""
    (rows, n, inner), _, _ = found
    wanted = -(-n // share_of(found))
    parts = next((p for p in range(wanted, wanted // 4, -1) if n % p == 0), 1)
    filled = None if parts == 1 else _filled(rows * parts, n // parts, inner)
    return None if filled is None else (filled, parts)


def broadcast_layout(shape, target):
    """`layout` for summing an array of `shape` over the axes in which it was broadcast from `target`; None as there."""
    extra = len(shape) - len(target)
    if extra < 0:
        return None
    axes = [*range(extra), *[extra + i for i, n in enumerate(target) if n != shape[extra + i]]]
    if any(target[i - extra] != 1 for i in axes if i >= extra):
        return None
    # Axes of one element between them are no gap.
    axes = [i for i in axes if shape[i] != 1]
    if not axes:
        return None
    gaps = [i for i in range(axes[0], axes[-1]) if i not in axes and shape[i] != 1]
    return None if gaps else layout(shape, tuple(range(axes[0], axes[-1] + 1)), True)


class RowKernels:
    """RowKernels(cupy, launcher): forwards and gradients by name; each gives None where its kernel does not serve."""

    def __init__(self, cupy, launcher):
        self._cupy = cupy
        self._launcher = launcher
        self._compiled = {}
        self._launchers = {}
        self._layouts, self._sums = {}, {}
        self.prepared = True

    def forward(self, name, x, axis, keepdims=None, correction=None):
        """softmax, log_softmax (keepdims None), logsumexp, var or std of a real array over `axis`."""
        found = self._fit(x, axis)
        if found is None:
            return None
        if keepdims is None:
            out = self._cupy.empty(x.shape, dtype=x.dtype)
        else:
            out = self._cupy.empty(reduced_shape(x.shape, axis, keepdims), dtype=x.dtype)
        self._launch(name, x.dtype, found, (x, out), correction)
        return out

    def backward(self, name, g, x, ans, axis, correction=None):
        """The gradient of the same: `g`, and of x and ans what the kernel asks for (None: not needed)."""
        like = ans if x is None else x
        found = self._fit(like, axis)
        if found is None or g.dtype != like.dtype:
            return None
        arrays = [self._cupy.ascontiguousarray(a) for a in (g, x, ans) if a is not None]
        out = self._cupy.empty(like.shape, dtype=like.dtype)
        self._launch(f"{name}_backward", like.dtype, found, (*arrays, out), correction)
        return out

    def sum_to(self, x, shape):
        """`x` summed over the axes that broadcasting to its shape repeated; `shape`: what is left."""
        key = (x.shape, shape)
        found = self._sums.get(key, self)
        if found is self:
            found = broadcast_layout(*key)
            if found is not None and share_of(found) is not None:
                found = None  # the library's own sum uses more of the device
            self._find(key, found, self._sums)
        if found is None or x.dtype.char not in "fd" or not x.flags.c_contiguous or not self._is_here(x):
            return None
        out = self._cupy.ndarray(shape, x.dtype)
        self._launch("sum", x.dtype, found, (x, out), None)
        return out

    def plan(self, name, shape, axis, keepdims, correction, dtype):
        """The RowPlan of a kernel for arrays of one shape; keepdims None: the result has it too. None: declined."""
        found = layout(shape, axis, name in ("sum", "mean"))
        if found is None:
            return None
        return self._plan(
            name, found, shape if keepdims is None else reduced_shape(shape, axis, keepdims), correction, dtype
        )

    def sum_plan(self, shape, target, dtype):
        """The RowPlan that sums arrays of a shape over the axes in which it was broadcast from `target`, or None."""
        found = broadcast_layout(shape, target)
        return None if found is None else self._plan("sum", found, target, None, dtype)

    def broadcast(self, shape, target):
        """How a kernel goes through an array of a shape to sum it over the axes in which it was broadcast.

        (layout, RowPlans by dtype that then add up `parts` of each row, or None, parts); None: declined.
        """
        found = broadcast_layout(shape, target)
        if found is None or share_of(found) is None:
            return None if found is None else (found, None, 1)
        found = divided(found)
        return None if found is None else (found[0], {}, found[1])

    def parts_plan(self, found, parts, shape, dtype):
        """The RowPlan that adds up what a kernel with the layout `found` has left of each row."""
        (rows, _, inner), _, _ = found
        return self._whole("sum", _filled(rows // parts, parts, inner), shape, None, dtype)

    def _plan(self, name, found, shape, correction, dtype):
        share = share_of(found) if name in ("sum", "mean") else None
        if share is None:
            return self._whole(name, found, shape, correction, dtype)
        (rows, n, inner), _, _ = found
        parts = -(-n // share)
        _, block, blocks = _filled(rows * parts, share, inner)
        threads = block[0] * block[1] * dtype.itemsize
        launcher = self._launcher_of("sum_part", dtype)
        first = RowPlan(launcher, blocks, block, (rows, n, inner, share), (rows * parts,), dtype, threads)
        rest = _filled(rows, parts, inner)
        if name == "sum":
            return SplitPlan(first, self._whole("sum", rest, shape, None, dtype))
        (_, _, inner), block, blocks = rest
        numbers = (float(n), rows, parts, inner)
        threads = block[0] * block[1] * dtype.itemsize
        launcher = self._launcher_of("mean_of_parts", dtype)
        return SplitPlan(first, RowPlan(launcher, blocks, block, numbers, shape, dtype, threads))

    def _whole(self, name, found, shape, correction, dtype):
        (rows, n, inner), block, blocks = found
        extra = () if correction is None else (float(max(n - correction, 0)),)
        shared = block[0] * block[1] * dtype.itemsize
        apart = (1,) if "_backward" in name else ()
        numbers = (*apart, *extra, rows, n, inner)
        return RowPlan(self._launcher_of(name, dtype), blocks, block, numbers, shape, dtype, shared, bool(apart))

    def _launcher_of(self, name, dtype):
        key = (name, dtype.char)
        launcher = self._launchers.get(key)
        if launcher is None:
            launcher = RowLauncher(self._launcher, source(name, dtype), f"arraygrad_{name}")
            self._launchers[key] = launcher
        return launcher

    def _fit(self, x, axis):
        if x.dtype.char not in "fd" or not x.flags.c_contiguous or not self._is_here(x):
            return None
        key = (x.shape, axis)
        try:
            found = self._layouts.get(key, self)
        except TypeError:
            return layout(*key)  # a list of axes
        return self._find(key, layout(*key), self._layouts) if found is self else found

    def _is_here(self, x):
        """Whether an array is on the current device, where a kernel may read it: CuPy says what to do otherwise."""
        return x.data.device_id == self._cupy.cuda.runtime.getDevice()

    @staticmethod
    def _find(key, found, known):
        """Remember a layout; they are forgotten, all at once, when there are many."""
        if len(known) >= KEPT_LAYOUTS:
            known.clear()
        known[key] = found
        return found

    def _launch(self, name, dtype, found, arrays, correction):
        (rows, n, inner), block, blocks = found
        key = (name, dtype.char)
        shared = block[0] * block[1] * dtype.itemsize
        if self.prepared:
            apart = (1,) if name.endswith("_backward") else ()
            extra = () if correction is None else (float(max(n - correction, 0)),)
            self._launcher_of(name, dtype)(blocks, block, [*arrays, *apart, *extra, rows, n, inner], shared)
            return
        kernel = self._compiled.get(key)
        if kernel is None:
            kernel = self._compiled[key] = self._cupy.RawKernel(source(name, dtype), f"arraygrad_{name}")
        apart = (numpy.int64(1),) if name.endswith("_backward") else ()
        extra = () if correction is None else (numpy.float64(max(n - correction, 0)),)
        sizes = (numpy.int64(rows), numpy.int64(n), numpy.int64(inner))
        kernel((blocks,), block, (*arrays, *apart, *extra, *sizes), shared_mem=shared)


def reduced_shape(shape, axis, keepdims):
    """The shape that is left of `shape` when `axis` is reduced."""
    axes = normalize_axes(axis, len(shape))
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)
