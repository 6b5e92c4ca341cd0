"""What to write in the place of functions of libraries that take no Tensor, and which errors of theirs say so.

May import: the standard library.

A library that converts what it is given asks a Tensor for an array, which is refused with these words. Others know no
Tensor at all and raise errors of their own: `told` reads them.
"""

import re

__all__ = ["MASKED", "of_code", "of_plain_calls", "of_target", "told", "way_of"]

_WAYS = {
    "astropy": "A Quantity holds plain numbers: compute with the numbers, q.to_value(unit), and give the result its "
    "unit outside of the function that is differentiated. ",
    "cv2": "OpenCV's functions take no Tensor that requires grad: scipy.ndimage and scipy.signal have filters and "
    "transforms that are recorded, and arraygrad.primitive gives a function its derivative. ",
    "jax": "JAX's functions take no Tensor: wrap the function once, g = arraygrad.interop.from_jax(f), and call g(t), "
    "which is recorded; in float64 after jax.config.update('jax_enable_x64', True). ",
    "mpmath": "mpmath's numbers hold no gradient: NumPy's functions and those of arraygrad.special are recorded. ",
    "pandas": "pandas keeps plain numbers: compute with arrays, x * series.to_numpy() and x[mask.to_numpy()], and make "
    "a Series of the result outside of the function that is differentiated. ",
    "sympy": "SymPy's functions take no Tensor: make a function of NumPy's of the expression, "
    "sympy.lambdify(symbols, expression, 'numpy'), and call that, which is recorded. ",
    "torch": "PyTorch's functions take no Tensor of arraygrad's: wrap the function once, "
    "g = arraygrad.interop.from_torch(f), and call g(t), which is recorded. In f stands a torch tensor already: leave "
    "torch.tensor(x) and torch.from_numpy(x) out of it, which cut the gradient off. ",
}
_WAYS["jaxlib"] = _WAYS["jax"]
_HELD = (
    "An attribute keeps the real module (self.xp.sum(t)) where code that the call reaches asks importlib or "
    "sys.modules for modules: name the modules that are to be reached, adopt=('package.module',), or import cupy where "
    "it is called. "
)
_WAYS["cupy"] = _WAYS["cupyx"] = (
    "CuPy's code takes its own arrays here. Functions of cupy and cupyx.scipy that adopted code calls by their names "
    f"are recorded, as those of arraygrad.numpy and arraygrad.scipy are everywhere. {_HELD}A matrix of cupyx's takes "
    "recorded values, S[rows, columns] = values, after S = arraygrad.scipy.sparse.Matrix(S), or is made of them, "
    "csr_matrix((values, (rows, columns)), shape). "
)
_WAYS["xarray"] = (
    "xarray keeps plain numbers: compute with arrays, x * data.values, and make a DataArray of the result outside of "
    "the function that is differentiated. "
)
MASKED = (
    "A masked array holds no gradient of its own: keep the values and the mask apart. numpy.where(mask, 0.0, x).sum(), "
    "x[~mask].mean() and x * m.filled(0.0) of a masked array m are recorded. So are in adopted calls "
    "numpy.ma.array(x, mask=mask), numpy.ma.masked_where(condition, x), and what numpy.ma computes of these: "
    "numpy.ma.multiply(m, x) for m * x. "
)

_OF_EXTENSIONS = (
    "Compiled code asks for the memory of a Tensor that requires grad, and what it computes of the memory has no "
    "gradient: compute that with functions of NumPy's, which are recorded, or give the compiled function its "
    "derivative by arraygrad.primitive. It takes numpy.asarray(arraygrad.stop_gradient(t)) where only the values are "
    "meant."
)
_MEMORY = ("__array_interface__", "__array_struct__", "__cuda_array_interface__")  # how code asks for it by name
_OF_BOUND = "This function is bound to C++, where a Tensor that requires grad fits no parameter. "
_OF_OBJECTS = (
    "NumPy asks this object for its array, by `__array__`, in compiled code that takes no Tensor from it. "
    "{}numpy.asarray(x) of the object x is recorded: give that to the function. "
)
_OF_NUMBERS = (
    "Python asks this object for its number, by `{}`, in compiled code that takes no Tensor from it. {}float(x), "
    "functions of math and numpy.array([x], dtype=float) of the object x are recorded. "
)
_OF_CUPY_WRITTEN = (
    "An array of CuPy's that was made before the call stays CuPy's own. Put a Tensor in its place first, "
    "x = arraygrad.asarray(x, copy=True), or make the array inside of the function that is differentiated, where "
    "cupy.zeros and its like make arrays that are recorded. What reads the old array gets no gradient. "
)
_OF_CUPYX = (
    "Methods of cupyx's sparse matrices know CuPy's arrays and numbers alone, where a Tensor is given: those of "
    "arraygrad.scipy.sparse.Matrix(S), which is the same matrix, are recorded. Operators, S @ t, S * t and S + A, are "
    "recorded for S itself. "
)
_OF_CUPY = (
    "CuPy's code takes its own arrays here, and a Tensor is given. Functions of cupy and cupyx.scipy that adopted code "
    "calls by their names are recorded, as those of arraygrad.numpy and arraygrad.scipy are everywhere; methods of an "
    "object of cupyx's that was made before the call are not: make it inside of the function that is differentiated, "
    f"or take that of arraygrad.scipy. {_HELD}A kernel of your own takes t.array in arraygrad.autograd.Function, or in "
    "a function that arraygrad.primitive gives its derivative. "
)
_OF_RANDOM = (
    "CuPy draws random numbers by parameters that are arrays of its own, and a Tensor is given: draw numbers that "
    "depend on none, and compute with them, loc + scale * cupy.random.standard_normal(size), which is recorded. Give "
    "arraygrad.stop_gradient(x).array where only the values are meant. "
)
_OF_CONTAINERS = (
    r"^can't multiply sequence by non-int of type 'float'|^bad operand type for unary .+: '(list|tuple|dict)'"
    r"|^unsupported operand type\(s\) for .+: '(list|tuple|dict)' and '(?:int|float|list|tuple|dict)'"
    r"|^unsupported operand type\(s\) for .+: '(?:int|float)' and '(list|tuple|dict)'"
)
_OF_JSON = (
    "JSON holds no gradient: write it outside of the function that is differentiated, or give it the values, "
    "numpy.asarray(arraygrad.stop_gradient(x)).tolist(). default=float gives a Tensor again there: default=lambda x: "
    "numpy.asarray(arraygrad.stop_gradient(x)).tolist() gives the values."
)
_ADOPTED = "In arraygrad.grad(f, adopt=True) "
_OF_WHOLE_NUMBERS = (
    "A length or an index is a whole number, which holds no gradient: give int(x), or compiled code that takes any "
    "number float(arraygrad.stop_gradient(x))."
)
_NUMBER = "Where only the number is meant, give it float(arraygrad.stop_gradient(x))."


_MADE_BY_SYMPY = (
    "sympy.lambdify has made this code within the call. Make the function before the one that is differentiated is "
    "called, or by sympy.lambdify(symbols, expression, [{'array': arraygrad.asarray}, 'numpy']). "
)


def way_of(library, adopting):
    """What to write where a function of a third party's library gets a Tensor that requires grad."""
    known = _WAYS.get(library)
    if known is None:
        known = f"{library}'s functions take no Tensor where they convert what they are given. "
        if not adopting:
            known += f"{_ADOPTED}what is Python code of theirs may be recorded. "
        known += "Compose the value of functions that are recorded, or define its derivative by arraygrad.primitive. "
    return f"Give {library} t.detach() where only the values are meant, as for a plot, a log or a check. {known}"


# What a transform calls may be called plainly, too, where its arrays have no `detach`.
_OF_PLAIN_CALLS = (
    ("t.detach() and t.numpy() give the values without a gradient", "arraygrad.stop_gradient(t) gives the values"),
    (", or t.detach().", "."),
    ("t.detach().numpy()", "numpy.asarray(arraygrad.stop_gradient(t))"),
    ("t.detach()", "arraygrad.stop_gradient(t)"),
)


def of_plain_calls(text):
    """What an error says to write, in words that serve a plain call of the program as well."""
    for spelling, other in _OF_PLAIN_CALLS:
        text = text.replace(spelling, other)
    return text


def of_code(filename):
    """What to write where code that a library has made takes no Tensor; "" for other files."""
    return _MADE_BY_SYMPY if is_made_by_sympy(filename) else ""


def is_made_by_sympy(filename):
    """Whether a file's name is one that sympy.lambdify gives to the code that it makes."""
    return filename.startswith("<lambdifygenerated")


def of_target(target):
    """What to write where a value is stored in an object that holds plain numbers; "" for arrays and others."""
    module = type(target).__module__
    if module.partition(".")[0] == "cupy":
        return _OF_CUPY_WRITTEN
    return MASKED if module.startswith("numpy.ma") else _WAYS.get(module.partition(".")[0], "")


def told(error, expression, libraries, entered=""):
    """What to write in the place of an expression that raised `error`, as what it calls knows no Tensor; "" for others.

    `libraries`: names of the packages whose frames the error came through. `entered`: name of the
    module whose function the expression gave a Tensor, where it is known.
    """
    text = str(error)
    cupys = entered.partition(".")[0] in ("cupy", "cupyx") and not re.search(r"arraygrad|requires grad", text)
    if isinstance(error, RecursionError):
        return f"{_WAYS['sympy']}{_NUMBER}" if "sympy" in libraries else ""
    if "is not a numpy array, neither a scalar" in text:
        return f"{_WAYS['cv2']}They take numpy.asarray(arraygrad.stop_gradient(t)) where only the values are meant."
    if "cupyx" in libraries and (isinstance(error, NotImplementedError) or "expected scalar, dense matrix" in text):
        return _OF_CUPYX
    if isinstance(error, AttributeError) and error.name in _MEMORY:
        return _OF_EXTENSIONS
    if isinstance(error, KeyError) and len(error.args) == 1 and type(error.args[0]).__name__ == "Tensor":
        return (
            "A number that is being differentiated is another key than an equal constant, or an equal number with "
            "another derivative. In a table of constants look the value up, table[float(arraygrad.stop_gradient(x))]: "
            "what is found has no derivative by x; numpy.interp of the table's keys and values has one. Where the "
            "keys are being differentiated, take their positions, {i: f(v) for i, v in enumerate(x)}."
        )
    if text == "Circular reference detected" and "json" in libraries:
        return _OF_JSON
    if not isinstance(error, (TypeError, ValueError, *((AttributeError, NotImplementedError) if cupys else ()))):
        return ""
    if "incorrect type (expected cupy" in text and "got arraygrad." in text:  # compiled code of CuPy's: it has no frame
        return _OF_CUPY
    if libraries & {"cupy", "cupyx"} and re.search(r"must be (a )?cupyx?\.|Unsupported type .*arraygrad\.", text):
        return _OF_CUPY
    if cupys:
        return f"{_OF_RANDOM if entered.startswith('cupy.random') else _OF_CUPY}What was raised there: {text}"
    found = re.search(_OF_CONTAINERS, text)
    if found is not None:
        kind = next((name for name in found.groups() if name), "list")
        way = "take its items" if kind == "dict" else "make an array of it, numpy.array(x)"
        return f"A {kind} has no arithmetic, in a plain call either ({text}): {way}, and compute with that."
    if text.startswith("numpy.ma.MaskedArray can't be differentiated"):
        return f"{MASKED}{_NUMBER}"
    if re.match(r"numpy\.matrix can't be differentiated|Tensor\.view\(", text):
        return text  # with the line
    if "__array__ method not producing an array" in text:
        return f"{_OF_OBJECTS.format(_ADOPTED)}{_NUMBER}"
    found = re.search(r"(__\w+__) returned non-\w+ \(type arraygrad\.", text)
    if found is not None:
        return f"{_OF_NUMBERS.format(found[1], _ADOPTED)}{_NUMBER}"
    if re.search(r"must be .*Tensor.*, not .*arraygrad\.|expected np\.ndarray \(got arraygrad", text):
        return f"{_WAYS['torch']}torch.from_numpy(t.numpy()) holds the values, without a gradient."
    if re.search(r"arraygrad\.core\.tensor\.Tensor'>'? (is not a valid JAX type|at position \d)", text):
        if "stop_gradient(" in expression:
            return "The constant of the same values is arraygrad.stop_gradient(x), which the other operations take."
        return f"{_WAYS['jax']}jax.numpy.asarray(t.numpy()) holds the values, without a gradient."
    if re.search(
        r"has incorrect type \(expected numpy\.ndarray, got .*Tensor\)|must be numpy\.ndarray, not .*Tensor", text
    ):
        return _OF_EXTENSIONS
    if "not a Tensor that requires grad: compiled code asks for its memory" in text:
        return _OF_EXTENSIONS
    if re.match(r".+\(\): incompatible (function|constructor) arguments\.", text):  # pybind11, nanobind
        return f"{_OF_BOUND}{_OF_EXTENSIONS}"
    if text.startswith("cannot create mpf from"):
        return f"{_WAYS['sympy' if 'sympy' in libraries else 'mpmath']}{_NUMBER}"
    if "Different number of diagonals and offsets" in text:
        return (
            "SciPy's diags takes no Tensor: take arraygrad.scipy.sparse.diags, which is recorded, or call SciPy's in "
            "arraygrad.grad(f, adopt=True)."
        )
    if text == "Object of type Tensor is not JSON serializable":
        return _OF_JSON
    if "only a 0-d integer tensor can be an index" in text and _called_compiled(expression):
        return _OF_WHOLE_NUMBERS
    if text.startswith("expected a sequence of integers or a single integer, got '"):
        return _OF_WHOLE_NUMBERS
    if re.search(r"\bforward\(\) takes \d+ positional arguments? but \d+ (?:was|were) given", text):
        return "The first parameter of forward is its context: def forward(ctx, x)."
    if re.search(r"\(\) takes 0 positional arguments but \d+ (?:was|were) given", text):
        return "Make what the function is differentiated in its parameters, def f(x), and call the result with values."
    if text == "'int' object is not callable" and ".size(" in expression:
        return "The size of a Tensor is a number, as that of an array: x.size, or x.shape[0] for x.size(0)."
    return ""


def _called_compiled(expression):
    """Whether an expression is a call, and none of an index."""
    return "(" in expression and "[" not in expression
