"""The CUDA text of prepared kernels: one for each way in which its operands lie in memory.

May import: backends.cuda.fusion, numpy (its dtypes, which CuPy shares) and the standard library. The text compiles as
C++ too, for tests.

Note [Prepared kernels]
~~~~~~~~~~~~~~~~~~~~~~~
`cupy.ElementwiseKernel` looks at its arguments anew at each call: it broadcasts them, merges their axes, finds the
types, looks up the kernel, and wraps each array. That takes longer than the launch. Here all that depends on the
operation and the dtypes is settled when a kernel is made, and what depends on the layout is told by one letter for each
input, which is part of the kernel:
    c   contiguous, of the shape of the outputs: element i of all
    o   one element
    v   a number of the host's
    s   strided: broadcast, transposed, sliced
Outputs are row-major. Where an input is strided, the kernel gets the extents of the axes, merged as far as all inputs
let them, and the strides of the strided inputs, in elements. Indices are 32 bits wide unless some index would not fit.
Guarded by tests/gpu/test_prepared.py: every kind of layout against `ElementwiseKernel` and the table.

A sum (`sum_text_of`) is a kernel over rows (Note [Rows] in `backends/cuda/rows.py`) whose elements are computed as they
are added up: the gradient of what broadcasting repeated, of which no array of full size is written. Where the elements
are a gradient that goes on as well (of a map of `x @ w + b`, to the product), the same kernel writes them.
Guarded by tests/gpu/test_summed.py.
"""

from arraygrad.backends.cuda.fusion import PREAMBLE, c_type

__all__ = ["ROWS", "gather_text", "map_text", "place_statements", "sum_text_of", "text_of", "updates_text"]

_COMPLEX = "#include <cupy/complex.cuh>\n"

_REDUCTION = r"""
__device__ inline REAL {name}(REAL mine) {{
  REAL* shared = reinterpret_cast<REAL*>(ag_shared);
  const int here = threadIdx.y * blockDim.x + threadIdx.x;
  shared[here] = mine;
  __syncthreads();
  for (int half = blockDim.y / 2; half > 0; half /= 2) {{
    if (static_cast<int>(threadIdx.y) < half)
      shared[here] = {join}(shared[here], shared[here + half * blockDim.x]);
    __syncthreads();
  }}
  const REAL found = shared[threadIdx.x];
  __syncthreads();
  return found;
}}
"""

# What kernels over rows begin with: REAL is their type. Every thread of a block takes part in a reduction.
ROWS = r"""
extern __shared__ double ag_shared[];

template <typename T> __device__ inline T ag_nothing() { return static_cast<T>(__longlong_as_double(0xfff0000000000000LL)); }

__device__ inline REAL ag_plus(REAL a, REAL b) { return a + b; }

__device__ inline REAL ag_larger(REAL a, REAL b) { return a != a ? a : b != b ? b : a > b ? a : b; }
""" + "".join(  # noqa: E501
    _REDUCTION.format(name=name, join=join) for name, join in (("ag_row_sum", "ag_plus"), ("ag_row_max", "ag_larger"))
)

_FRAME = r"""
{structure}
extern "C" __global__ void {name}({parameters}) {{
  const long long step_ = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i_ = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i_ < n_; i_ += step_) {{
{places}
{loads}
{body}
{stores}
  }}
}}
"""


_SUM_FRAME = r"""
{structure}
extern "C" __global__ void {name}({parameters}) {{
  const long long row_ = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool live_ = row_ < rows_;
  const long long start_ = live_ ? (row_ / inner_) * count_ * inner_ + row_ % inner_ : 0;
  const long long stop_ = live_ ? count_ : 0;
  double total_ = 0.0;
  const long long step_ = blockDim.y * inner_;
  for (long long j_ = threadIdx.y, i_ = start_ + j_ * inner_; j_ < stop_; j_ += blockDim.y, i_ += step_) {{
{places}
{loads}
{body}
{stores}
    total_ += {output};
  }}
  const REAL sum_ = ag_row_sum(static_cast<REAL>(total_));
  if (live_ && threadIdx.y == 0) p_{output}[row_] = sum_;
}}
"""

# A block has elements of one pair: of those whose blocks end after it, the first.
_UPDATES = r"""
struct ag_pairs { REAL* targets[MOST]; const REAL* terms[MOST]; long long sizes[MOST]; int ends[MOST]; };

extern "C" __global__ void arraygrad_updates(const REAL factor, const int count, const ag_pairs pairs) {
  const int block = static_cast<int>(blockIdx.x);
  int k = 0;
  while (k + 1 < count && block >= pairs.ends[k]) ++k;
  const int begin = k ? pairs.ends[k - 1] : 0;
  const long long step = static_cast<long long>(pairs.ends[k] - begin) * blockDim.x;
  const long long n = pairs.sizes[k];
  REAL* target = pairs.targets[k];
  const REAL* term = pairs.terms[k];
  for (long long i = static_cast<long long>(block - begin) * blockDim.x + threadIdx.x; i < n; i += step)
    target[i] += factor * term[i];
}
"""


def updates_text(dtype, most):
    """The text of `arraygrad_updates`, which adds a multiple of an array to each of up to `most` arrays."""
    return _UPDATES.replace("REAL", c_type(dtype)).replace("MOST", str(most))


# A thread has elements of the array whose rows stand in the order of the indices.
_GATHER = r"""
extern "C" __global__ void arraygrad_{name}(const {real}* x, {parameters}, const long long inner,
    const long long size, const long long apart) {{
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long k = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; k < size; k += step) {{
    const long long row = k / inner;
    long long at = 0, j;
{places}
    at = at * inner + k % inner;
    {statement}
  }}
}}
"""
_ATOMICS = "#include <cupy/atomics.cuh>\n"  # double precision, on devices that have none of their own
_GATHERS = {"gather": "out[k] = x[at];", "scatter": "atomicAdd(out + at, x[k * apart]);"}


def place_statements(axes, number):
    """For each of some axes the statements that wrap index `number`, and join it to the place `at` in the array."""
    return [
        f"    j = static_cast<long long>(i{k}[{number}]) % n{k};\n    at = at * n{k} + (j < 0 ? j + n{k} : j);"
        for k in axes
    ]


def gather_text(name, dtype, index, count):
    """The text of `arraygrad_gather` or `arraygrad_scatter`, of `count` arrays of indices of dtype `index`."""
    kind = c_type(index)
    arrays = [f"const {kind}* i{k}" for k in range(count)]
    lengths = [f"const long long n{k}" for k in range(count)]
    places = place_statements(range(count), "row")
    real = c_type(dtype)
    parameters = ", ".join([*arrays, f"{real}* out", *lengths])
    return ("" if name == "gather" else _ATOMICS) + _GATHER.format(
        name=name, real=real, parameters=parameters, places="\n".join(places), statement=_GATHERS[name]
    )


def text_of(name, spec, kinds, ndim=0, wide=False):
    """The text of a kernel.

    Parameters
    ----------
    name : str
    spec : Spec
    kinds : str
        A letter for each input: Note [Prepared kernels].
    ndim : int
        Number of merged axes, where an input is strided.
    wide : bool
        Indices need 64 bits.
    """
    stores = "\n".join(f"    p_{output}[i_] = {output};" for output, _ in spec.outputs)
    return map_text(_FRAME, name, spec, kinds, ndim, wide, ["const long long n_"], stores=stores)


def sum_text_of(name, spec, kinds, ndim=0, wide=False, keeps=False):
    """The text of a kernel that adds up the one output of `spec`, which is real. Parameters as for `text_of`.

    `keeps`: it writes what it adds up as well, to the pointer behind that of the sums.
    """
    ((output, dtype),) = spec.outputs
    numbers = [f"const long long {number}" for number in ("rows_", "count_", "inner_")]
    if keeps:
        numbers.insert(0, f"{c_type(dtype)}* kept_")
    stores = f"    kept_[i_] = {output};" if keeps else ""
    text = ROWS + map_text(_SUM_FRAME, name, spec, kinds, ndim, wide, numbers, output=output, stores=stores)
    return text.replace("REAL", c_type(dtype))


def map_text(frame, name, spec, kinds, ndim, wide, numbers, **parts):
    """The text of a kernel that computes the outputs of `spec`, in a frame.

    `numbers`: the parameters behind the outputs. `parts`: what the frame has beside places, loads and body.
    """
    parameters, loads, strided = [], [], []
    dtypes = [dtype for _, dtype in (*spec.inputs, *spec.outputs)]
    for (input_name, dtype), kind in zip(spec.inputs, kinds, strict=True):
        c = c_type(dtype)
        if kind == "v":
            parameters.append(f"const {c} {input_name}")
            continue
        at = {"c": "i_", "o": "0", "s": f"at_{input_name}"}[kind]
        if kind == "s":
            strided.append(input_name)
        parameters.append(f"const {c}* p_{input_name}")
        loads.append(f"    const {c} {input_name} = p_{input_name}[{at}];")
    for output_name, dtype in spec.outputs:
        parameters.append(f"{c_type(dtype)}* p_{output_name}")
        loads.append(f"    {c_type(dtype)} {output_name};")
    parameters += numbers
    structure = places = ""
    if strided:
        kind = f"ag_layout_{len(strided)}_{ndim}"
        parameters.append(f"const {kind} layout_")
        structure = f"struct {kind} {{ long long extents[{ndim}]; long long strides[{len(strided)}][{ndim}]; }};"
        places = "\n".join(_places(strided, ndim, "unsigned long long" if wide else "unsigned int"))
    text = frame.format(
        structure=structure,
        name=name,
        parameters=", ".join(parameters),
        places=places,
        loads="\n".join(loads),
        body="\n".join(f"    {line}" for line in spec.body.splitlines()),
        **parts,
    )
    return ("" if all(d.kind != "c" for d in dtypes) and "complex" not in text else _COMPLEX) + PREAMBLE + text


def _places(strided, ndim, index):
    """Statements for the place of element i_ in each strided input."""
    lines = [f"    {index} rest_ = static_cast<{index}>(i_);"]
    lines += [f"    long long at_{name} = 0;" for name in strided]
    for axis in range(ndim - 1, -1, -1):
        if axis:
            lines.append(f"    const {index} c{axis}_ = rest_ % static_cast<{index}>(layout_.extents[{axis}]);")
            lines.append(f"    rest_ /= static_cast<{index}>(layout_.extents[{axis}]);")
        coordinate = f"c{axis}_" if axis else "rest_"
        for k, name in enumerate(strided):
            lines.append(f"    at_{name} += static_cast<long long>({coordinate}) * layout_.strides[{k}][{axis}];")
    return lines
