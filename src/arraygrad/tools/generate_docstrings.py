"""Writes what the docstrings of public functions and of Tensor say beyond their first paragraph: docstrings.txt.

May import: arraygrad's public names, ops, tools.docstring_examples, tools.tensor_members, tools.generate_derivatives.
`tools.generate` calls it.

The files are text: `== NAME`, then what follows the entry's own sentence. Derivatives are the rules' own source text,
and examples are run here, so both are what the table does. `namespaces.docstrings` reads the files.
"""

import contextlib
import io
import re
import textwrap

import numpy as np

import arraygrad as ag
from arraygrad.ops import OPS
from arraygrad.tools.docstring_examples import ARRAYS, CALLS, SHAPES
from arraygrad.tools.generate_derivatives import formulas
from arraygrad.tools.tensor_members import FUNCTIONS, MEMBERS, START

__all__ = ["ROOMS"]

# Functions that have a docstring of their own, not the table's.
BY_HAND = {"asarray"}

_BROADCAST = "the shape that {names} broadcast to."


def docstrings(old):
    """The text of namespaces/docstrings.txt; `old` where SciPy, which some examples need, is not installed."""
    try:
        import scipy  # noqa: F401
    except ImportError:
        return old
    parts = [
        f"== {key_of(op)}\n{described(op)}"
        for op in OPS.values()
        if not op.name.startswith("_") and op.name not in BY_HAND
    ]
    return "\n".join(parts)


def of_tensors(old):
    """The text of numpy_api/docstrings.txt, likewise."""
    try:
        import scipy  # noqa: F401
    except ImportError:
        return old
    parts = [f"== {name}\n{member(*said)}" for name, said in FUNCTIONS.items()]
    parts += [f"== Tensor.{name}\n{member(*said)}" for name, said in MEMBERS.items()]
    return "\n".join(parts)


# Folder of the package -> what writes its text out of the old one.
ROOMS = {"namespaces": docstrings, "numpy_api": of_tensors}


def key_of(op):
    """The name under which a function's text stands: with its extension, as sums and `linalg` have names in common."""
    return f"{op.entry.extension}.{op.name}" if op.entry.extension else op.name


def described(op):
    """Everything below the first paragraph of a function's docstring."""
    shape = SHAPES.get(op.name) or _shape(op)
    lines = ["Returns", "-------", _result(op, shape), ""]
    lines += ["Notes", "-----", *_derivative(op), ""]
    lines += ["Examples", "--------", *_example(op), ""]
    return "\n".join(lines)


def _shape(op):
    arrays = [name for name in op.params if name in ("x", "x1", "x2", "a", "b", "n", "v", "y", "q", "d")]
    if op.kind == "reduction":
        return "x's shape without the axes in `axis` (None: all); with `keepdims` they stay, of length 1."
    if len(arrays) == 1:
        return f"{arrays[0]}'s shape."
    return _BROADCAST.format(names=f"{', '.join(arrays[:-1])} and {arrays[-1]}")


def _result(op, shape):
    """The type, and below it what is known of shape and dtype."""
    kinds = r"(?:a |an )(named tuple|tuple|list|bool|dtype|object)\b"
    found = re.match(kinds, shape)
    if found:
        type_, text = found[1], shape[0].upper() + shape[1:]
    else:
        type_, text = "Tensor", f"Shape: {shape}{'' if 'dtype' in shape else _dtype(op)}"
    return f"{type_}\n" + textwrap.fill(text, 100, initial_indent="    ", subsequent_indent="    ")


def _dtype(op):
    """What the kind says of the result's dtype, where the entry's own sentence does not."""
    if op.derivative == "none":
        boolean = re.match(r"is|logical|less|greater|equal|not_equal|signbit", op.name)
        return " Dtype: bool." if boolean else ""
    if "dtype" in op.params or op.name in ("abs", "real", "imag"):
        return ""
    if len(op.params) == 1 or op.zero or op.kind != "elementwise":
        return " Dtype: x's." if op.params[0] == "x" else ""
    return (
        " Dtype: by the library's promotion of the arguments; a Python number takes the dtype of the array beside it."
    )


def member(text, operation, calls):
    """Everything below the first paragraph of a member's docstring."""
    lines = [*textwrap.wrap(text, 100), ""] if text else []
    if operation:
        lines += ["Notes", "-----", *_derivative(OPS[operation]), ""]
    if calls:
        lines += ["Examples", "--------", *transcript(calls), ""]
    return "\n".join(lines)


def transcript(calls):
    """The lines of START that are needed and these, as Python's prompt shows them with what they print."""
    used = [line for line in START if "numpy" not in line or any("np." in call for call in calls)]
    used = [line for line in used if not line.startswith("t =") or any(re.search(r"\bt\b", call) for call in calls)]
    names, lines = {}, []
    for line in [*used, *calls]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(line, "<example>", "single"), names)
        lines += [f">>> {line}", *out.getvalue().splitlines()]
    return lines


def _derivative(op):
    if op.zero:
        return ["The function is piecewise constant: its gradient is zero."]
    if not op.differentiable:
        return ["There is no derivative. The result does not require grad."]
    found = formulas(op)
    rules = []
    for parameter, formula in found:
        statements = formula.splitlines()
        if len(statements) == 1:
            rules += textwrap.wrap(f"{parameter}: {formula}", 100, subsequent_indent="    ")
        else:
            rules += [f"{parameter}:", *[f"    {line}" for line in statements]]
    keeps = ", ".join(f"`{name}`" for name in op.saves) or "nothing"
    return [
        "Gradient, where g is that of the result, ans, and functions are those of the standard::",
        "",
        *[f"    {line}" for line in rules],
        "",
        f"Kept for backward: {keeps}.",
    ]


def _example(op):
    prefix = f"ag.{op.entry.extension}." if op.entry.extension else "ag."
    function = f"{prefix}{op.name}"
    calls = CALLS.get(op.name)
    if calls is None:
        arguments = "x" if op.n_positional == 1 else "x, above_one"
        calls = [f"{{f}}({arguments})"]
        if op.differentiable and not op.zero:
            rest = arguments[1:]
            calls.append(f"ag.grad(lambda a: ag.sum({{f}}(a{rest})))(x)")
    calls = [call.format(f=function, p=prefix) for call in calls]
    used = [name for name in ARRAYS if any(re.search(rf"\b{name}\b(?!=)", call) for call in calls)]
    names = {"np": np, "ag": ag, **{name: eval(ARRAYS[name], {"np": np}) for name in used}}
    lines = [">>> import numpy as np", ">>> import arraygrad as ag"]
    lines += [f">>> {name} = {ARRAYS[name]}" for name in used]
    for call in calls:
        lines += [f">>> {call}", repr(eval(call, names))]
    return lines
