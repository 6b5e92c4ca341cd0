"""Operators of a plain array and a list or tuple that holds Tensors: `ROTATION @ [x, y, z]`, `size * (t, 1.0)`.

May import: adoption.builtin_answers, adoption.exchange, autograd.instructions, numpy_api.arrays, the standard library,
numpy.

NumPy makes an array of the list, which a Tensor in it refuses. So functions with such an operator have other code
(Note [Code that is rewritten]): the list is made an array of the Tensors in it, if the other operand is a plain array.
A list that is written out in the expression counts, and a name that is bound to one in the same function.
"""

import ast
import itertools
import operator
import types

import numpy

from arraygrad.adoption.builtin_answers import gathered
from arraygrad.adoption.exchange import makes_tensors
from arraygrad.autograd.instructions import start_of, steps_of
from arraygrad.numpy_api.arrays import holds_tensors

__all__ = ["OPERATORS", "is_list", "may_stand_beside", "names_of_lists", "operate"]

OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.MatMult: "matmul", ast.Pow: "pow",
}  # fmt: skip
_SIGNS = frozenset(("+", "-", "*", "/", "@", "**"))
_BUILDS = frozenset(("BUILD_LIST", "BUILD_TUPLE"))


def operate(name, a, b):
    """`a + b` and the like, of which one may be a list."""
    if type(a) is numpy.ndarray:
        if type(b) in (list, tuple) and makes_tensors() and holds_tensors(b):
            b = gathered(b)
    elif type(b) is numpy.ndarray and type(a) in (list, tuple) and makes_tensors() and holds_tensors(a):
        a = gathered(a)
    return getattr(operator, name)(a, b)


def is_list(node, names):
    """Whether syntax is that of a list or tuple with other items than constants, or one of these names."""
    if isinstance(node, ast.Name):
        return node.id in names
    return isinstance(node, ast.List | ast.Tuple) and not all(map(_is_constant, node.elts))


def _is_constant(node):
    if isinstance(node, ast.List | ast.Tuple):
        return all(map(_is_constant, node.elts))
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def names_of_lists(nodes):
    """Names that the syntax of a function binds to such lists and tuples."""
    return frozenset(
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and is_list(node.value, ())
        for target in node.targets
        if isinstance(target, ast.Name)
    )


def may_stand_beside(code):
    """Whether code, or code of functions in it, has such an operator of a list that is built in it."""
    if any(may_stand_beside(inner) for inner in code.co_consts if isinstance(inner, types.CodeType)):
        return True
    steps = steps_of(code)
    if not any(step.opname in _BUILDS for step in steps):
        return False
    named = {
        after.argval
        for step, after in itertools.pairwise(steps)
        if step.opname in _BUILDS and after.opname.startswith("STORE_")
    }
    for i, step in enumerate(steps):
        if step.opname == "BINARY_OP" and step.argrepr in _SIGNS:
            right = start_of(steps, i)
            ends = [steps[i - 1]] if not right else [steps[i - 1], steps[right - 1]]
            if any(end.opname in _BUILDS or (end.opname.startswith("LOAD_") and end.argval in named) for end in ends):
                return True
    return False
