"""The CUDA text of kernels over rows whose elements are computed first: a map or indices, the rows of it, one launch.

May import: backends.cuda.fusion, backends.cuda.rows, backends.cuda.texts, ops.expression. The text compiles as C++ too.

Note [Rows of a map]
~~~~~~~~~~~~~~~~~~~~
A kernel over rows (Note [Rows] in `backends/cuda/rows.py`) reads an array that another launch has written just before:
`log_softmax(x @ w + b)`, the mean of `log_softmax(z)[rows, labels]`, the gradient of log_softmax for what `one_hot * y`
hands back. Here one launch writes that array and goes on. Each thread computes the elements that it reads later, so
nothing has to wait, and the statements that follow are those of the kernel over rows: the bits are the same.
(1) What is written first is a whole array as it would be without this: whoever else reads it finds it.
(2) Indices name places in any order. A thread looks through its share of all indices for those of its row. A row that
    one index names, as it is in a loss, is written at once. What several name is added up by one thread, in the order
    of the indices: unlike atomic additions, to the same bits each time. `scatter_fits` declines what would look long.
(3) Where everything is reduced to one number, maps of it by numbers of the host's (`-total / n`) are written too.
Guarded by tests/gpu/test_mapped_rows.py.
"""

from arraygrad.backends.cuda.fusion import c_type, statements
from arraygrad.backends.cuda.rows import KERNELS
from arraygrad.backends.cuda.texts import ROWS, map_text, place_statements
from arraygrad.ops.expression import Expression

__all__ = ["gathered_text_of", "mapped_text_of", "row_inputs", "scatter_fits", "scattered_text_of"]

# A thread looks through so many indices at most, and all blocks through so many unless the array is larger.
MOST_LOOKED_AT, FEW_LOOKS = 128, 1 << 21

_HEAD = r"""
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool live = row < rows;
  const long long start = live ? (row / inner) * n * inner + row % inner : 0;
  const long long stop = live ? n : 0;
#define EACH(k) \
  for (long long j_ = threadIdx.y, k = start + j_ * inner; j_ < stop; j_ += blockDim.y, k += blockDim.y * inner)
"""
_MAP = r"""
{structure}
extern "C" __global__ void {name}({parameters}) {{
HEAD
  for (long long j_ = threadIdx.y, i_ = start + j_ * inner; j_ < stop; j_ += blockDim.y, i_ += blockDim.y * inner) {{
{places}
{loads}
{body}
    p_{output}[i_] = {output};
  }}
ROW_STATEMENTS
#undef EACH
}}
"""
_GATHER = r"""
extern "C" __global__ void {name}(const REAL* from_, {parameters}) {{
HEAD
  EACH(t_) {{
    long long at = 0, j;
{places}
    kept_[t_] = from_[at];
  }}
ROW_STATEMENTS
#undef EACH
}}
"""
_SCATTER = r"""
extern "C" __global__ void {name}(const REAL* from_, {parameters}, const long long size_, const long long apart_,
    const long long rows, const long long n, const long long inner) {{
HEAD
  REAL hits = REAL(0), found = REAL(0);
  if (live) for (long long t_ = threadIdx.y; t_ < size_; t_ += blockDim.y) {{
    long long at = 0, j;
{places}
    if (at == row) {{ hits += REAL(1); found += static_cast<REAL>(t_); }}
  }}
  hits = ag_row_sum(hits);
  found = ag_row_sum(found);
  long long column = -1, j;
  REAL value = REAL(0);
  if (live && hits == REAL(1)) {{
    const long long t_ = static_cast<long long>(found);
{last}
    column = j;
    value = from_[t_ * apart_];
  }}
  EACH(k) kept_[k] = k - start == column ? value : REAL(0);
  __syncthreads();
  if (live && hits > REAL(1) && threadIdx.y == 0) for (long long t_ = 0; t_ < size_; ++t_) {{
    long long at = 0;
{places}
    if (at != row) continue;
{last}
    kept_[start + j] += from_[t_ * apart_];
  }}
  __syncthreads();
ROW_STATEMENTS
#undef EACH
}}
"""


def row_inputs(row):
    """The names of the arrays that a kernel over rows reads beside the first, which the same launch has written."""
    return [p.split("*")[1].strip() for p in KERNELS[row][0].split(",")[1:] if "const REAL*" in p]


def _row_part(row, first, tail, dtype):
    """(parameters behind the first array, statements) of a kernel over rows that reads the array `first`, and then maps
    its one result as `tail` says.
    """
    if row is None:
        return [], ""
    parameters, body = KERNELS[row]
    parts = [p.strip() for p in parameters.split(",")]
    name = parts[0].split("*")[1].strip()
    lines = [f"  const REAL* {name} = {first};"]
    if "const long long apart" in parts:
        lines.append("  const long long apart = 1;")
    kept = [p for p in parts[1:] if p != "const long long apart"]
    outputs, numbers, code = _tail_part(tail, dtype)
    return [*kept, *outputs, *numbers], "\n".join([*lines, body, code])


def _tail_part(tail, dtype):
    """(parameters of outputs, of numbers, statements) of the maps that follow a result, each of the one before it.

    `tail`: a list of (operation's name, None, "left" or "right": where its number stands).
    """
    if not tail:
        return [], [], ""
    expression = Expression()
    value, results, numbers = expression.input("s_", dtype), [], []
    for k, (name, side) in enumerate(tail):
        if side is None:
            value = -value
        else:
            number = expression.input(f"q{k}", dtype)
            numbers.append(f"const REAL q{k}")
            a, b = (value, number) if side == "right" else (number, value)
            value = a * b if name == "multiply" else a / b
        results.append(value)
    lines, codes, _ = statements(results)
    stores = [f"t{k}[0] = {code};" for k, code in enumerate(codes)]
    body = "\n".join(f"    {line}" for line in ["const REAL s_ = out[row];", *lines, *stores])
    outputs = [f"REAL* t{k}" for k in range(len(tail))]
    return outputs, numbers, f"  if (live && threadIdx.y == 0) {{\n{body}\n  }}"


def _finished(text, body, dtype):
    return text.replace("HEAD", _HEAD).replace("ROW_STATEMENTS", body).replace("REAL", c_type(dtype))


def mapped_text_of(name, spec, kinds, ndim, wide, row, tail):
    """The text of a kernel that computes the one output of `spec` and reduces its rows by the kernel `row`.

    Parameters are the inputs of `spec`, the array of its output, what `row` reads beside it, its result, those of
    `tail` and its numbers, rows, n and inner. `kinds`, `ndim` and `wide` as for `text_of`.
    """
    ((output, dtype),) = spec.outputs
    parameters, body = _row_part(row, f"p_{output}", tail, dtype)
    parameters += [f"const long long {number}" for number in ("rows", "n", "inner")]
    text = ROWS + map_text(_MAP, name, spec, kinds, ndim, wide, parameters, output=output)
    return _finished(text, body, dtype)


def gathered_text_of(name, dtype, index, count, row, tail):
    """The text of a kernel that takes elements by `count` arrays of indices of dtype `index`, one for each axis.

    Parameters are the array, the indices, the taken elements, the result of `row` and of `tail` and its numbers, the
    length of each axis, rows, n and inner.
    """
    rest, body = _row_part(row, "kept_", tail, dtype)
    lengths = [f"const long long n{k}" for k in range(count)]
    sizes = [f"const long long {number}" for number in ("rows", "n", "inner")]
    arrays = [f"const {c_type(index)}* i{k}" for k in range(count)]
    parameters = ", ".join([*arrays, "REAL* kept_", *rest, *lengths, *sizes])
    places = "\n".join(place_statements(range(count), "t_"))
    return _finished(ROWS + _GATHER.format(name=name, parameters=parameters, places=places), body, dtype)


def scattered_text_of(name, dtype, index, count, row):
    """The text of a kernel that adds elements at places that `count` arrays of indices name, one for each axis.

    Parameters are the elements, the indices, the array of zeros and sums, what `row` reads beside it and its result,
    the length of each axis but the last, the number of indices, 0 if all elements are the first or 1, rows, n and
    inner. Without `row` (None) the array is all.
    """
    rest, body = _row_part(row, "kept_", (), dtype)
    arrays = [f"const {c_type(index)}* i{k}" for k in range(count)]
    lengths = [f"const long long n{k}" for k in range(count - 1)]
    parameters = ", ".join([*arrays, "REAL* kept_", *rest, *lengths])
    places = "\n".join(place_statements(range(count - 1), "t_"))
    last = f"    j = static_cast<long long>(i{count - 1}[t_]) % n;\n    if (j < 0) j += n;"
    return _finished(ROWS + _SCATTER.format(name=name, parameters=parameters, places=places, last=last), body, dtype)


def scatter_fits(found, size):
    """Whether so many indices may be looked through in a launch of a layout: Note [Rows of a map] (2)."""
    (rows, n, _), (_, deep), blocks = found
    return size <= MOST_LOOKED_AT * deep and blocks * size <= max(FEW_LOOKS, rows * n)
