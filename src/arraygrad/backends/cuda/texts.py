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
"""

from arraygrad.backends.cuda.fusion import PREAMBLE, c_type

__all__ = ["text_of"]

_COMPLEX = "#include <cupy/complex.cuh>\n"

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
    parameters, loads, stores, strided = [], [], [], []
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
        stores.append(f"    p_{output_name}[i_] = {output_name};")
    parameters.append("const long long n_")
    structure = places = ""
    if strided:
        kind = f"ag_layout_{len(strided)}_{ndim}"
        parameters.append(f"const {kind} layout_")
        structure = f"struct {kind} {{ long long extents[{ndim}]; long long strides[{len(strided)}][{ndim}]; }};"
        places = "\n".join(_places(strided, ndim, "unsigned long long" if wide else "unsigned int"))
    frame = _FRAME.format(
        structure=structure,
        name=name,
        parameters=", ".join(parameters),
        places=places,
        loads="\n".join(loads),
        body="\n".join(f"    {line}" for line in spec.body.splitlines()),
        stores="\n".join(stores),
    )
    return ("" if all(d.kind != "c" for d in dtypes) and "complex" not in frame else _COMPLEX) + PREAMBLE + frame


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
