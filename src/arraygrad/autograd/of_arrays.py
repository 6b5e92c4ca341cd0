"""What to write where plain arrays meet Tensors in ways that ask no Tensor: their methods, lists beside them.

May import: the standard library.
"""

import ast
import re

__all__ = ["is_of_operators", "of_an_array"]

_INTO_A_COPY = "write into a copy that is recordable, x = arraygrad.asarray(x, copy=True) and then "
# Methods of plain arrays that take no Tensor, and what is recorded in their place.
_METHODS = {
    "dot": "a @ b and numpy.dot(a, b) are recorded",
    "searchsorted": "numpy.searchsorted(a, v) takes one",
    "choose": "numpy.choose(a, choices) is recorded",
    "put": f"{_INTO_A_COPY}x[indices] = values",
    "fill": f"{_INTO_A_COPY}x[...] = value",
    "setfield": f"{_INTO_A_COPY}x[...] = value",
    "__setitem__": f"{_INTO_A_COPY}x[key] = value",
    "sum": "x.sum() + start is recorded, where start is what initial= has",
    "prod": "x.prod() * start is recorded, where start is what initial= has",
    "max": "numpy.maximum(x.max(), start) is recorded, where start is what initial= has",
    "min": "numpy.minimum(x.min(), start) is recorded, where start is what initial= has",
    "var": "compute ((x - x.mean()) ** 2).sum() / (x.size - ddof)",
    "std": "compute numpy.sqrt(((x - x.mean()) ** 2).sum() / (x.size - ddof))",
}  # fmt: skip
_METHOD = re.compile(rf"\.({'|'.join(_METHODS)})\(")


def of_an_array(expression):
    """What to say where a method of a plain array is called with a Tensor; "" elsewhere."""
    found = _METHOD.search(expression)
    return f"An array's method {found[1]} takes no Tensor: {_METHODS[found[1]]}. " if found else ""


def is_of_operators(expression):
    """Whether the text of an expression is one operator between two others: `model - data`."""
    return _is_one(expression, ast.BinOp)


def is_index(expression):
    """Whether the text of an expression takes an item: `table[x]`."""
    return _is_one(expression, ast.Subscript)


def _is_one(expression, kind):
    try:
        return isinstance(ast.parse(expression.strip(), mode="eval").body, kind)
    except (SyntaxError, ValueError):
        return False
