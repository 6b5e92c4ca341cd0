"""What a handler of the program does about a refusal: does it compute the same of the Tensor itself?

May import: the standard library.

    try:
        return math.sin(x)
    except TypeError:
        return numpy.sin(x)

has the value and the gradient of the plain call. A handler that takes a constant in the place of `x` has not, nor has
one that computes something else: in a plain call nothing is refused, and the program goes on without it. The graph does
not tell them apart, so the source of both is compared. `float(x)` is `x` there, and `math.sin` is `numpy.sin`.
"""

import ast
import builtins
import copy
import functools
import inspect
import textwrap
import types

__all__ = ["goes_on_with_it"]

_NUMBERS = (float, complex)
_MAKERS = frozenset(("asarray", "asanyarray", "ascontiguousarray", "float64", "complex128", "double"))
_NAMES = {  # of math: NumPy's
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "pow": "power", "fabs": "abs", "absolute": "abs",
}  # fmt: skip


def goes_on_with_it(error):
    """Whether the handler that caught `error` computes of the Tensor what was tried.

    False where that is not known: the source is not there, or `contextlib.suppress` has caught the error.
    """
    trace = error.__traceback__
    if trace is None:
        return False
    frame = trace.tb_frame  # which caught it: the traceback begins there
    values = {**vars(builtins), **frame.f_globals, **frame.f_locals}
    for tried, handlers in _handlers(frame.f_code, trace.tb_lineno):
        for handler in handlers:
            caught = _value(handler.type, values)
            if caught is None:
                return False
            if isinstance(error, caught):
                return _same(tried, handler.body, values)
    return False


def _same(tried, body, values):
    """Whether the statements of a handler compute what the tried ones do."""
    done = [s for s in body if not isinstance(s, (ast.Pass, ast.Continue, ast.Expr))]  # print(x) computes nothing
    tried = [_Bare(values).visit(copy.deepcopy(s)) for s in tried]
    if not done:  # what keeps the Tensor is bound to it already
        return all(isinstance(s, ast.Assign) and _is_itself(s) for s in tried)
    done = [_Bare(values).visit(copy.deepcopy(s)) for s in done]
    return [ast.dump(s) for s in tried] == [ast.dump(s) for s in done]


def _is_itself(statement):
    """Whether a statement, without what makes numbers, assigns a name to itself."""
    (target, *more), value = statement.targets, statement.value
    return not more and isinstance(target, ast.Name) and isinstance(value, ast.Name) and target.id == value.id


class _Bare(ast.NodeTransformer):
    """Takes what makes a number or an array of a value away, and the module that a function is of."""

    def __init__(self, values):
        self.values = values

    def visit_Call(self, node):
        made = isinstance(node.func, ast.Name) and any(self.values.get(node.func.id) is kind for kind in _NUMBERS)
        node = self.generic_visit(node)
        made = made or (isinstance(node.func, ast.Name) and node.func.id in _MAKERS)
        return node.args[0] if made and len(node.args) == 1 and not node.keywords else node

    def visit_Attribute(self, node):
        if isinstance(node.value, ast.Name) and isinstance(self.values.get(node.value.id), types.ModuleType):
            return ast.Name(_NAMES.get(node.attr, node.attr), node.ctx)
        return self.generic_visit(node)

    def visit_Name(self, node):
        return ast.Name(_NAMES.get(node.id, node.id), node.ctx)


def _value(expression, values):
    """The classes that an except clause names, None where they are not known."""
    if expression is None:
        return BaseException
    if any(not isinstance(part, (ast.Name, ast.Attribute, ast.Tuple, ast.Load)) for part in ast.walk(expression)):
        return None
    try:
        return eval(compile(ast.Expression(expression), "<except>", "eval"), dict(values))
    except (NameError, AttributeError):
        return None


@functools.lru_cache(maxsize=256)
def _handlers(code, line):
    """The try statements around a line of a function, innermost first: (statements of that line, except clauses)."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError, TypeError):
        return []
    at = line - code.co_firstlineno + 1
    around = [t for t in ast.walk(tree) if isinstance(t, ast.Try) and t.body[0].lineno <= at <= t.body[-1].end_lineno]
    around.sort(key=lambda t: t.body[-1].end_lineno - t.body[0].lineno)
    return [([s for s in t.body if s.lineno <= at <= s.end_lineno], t.handlers) for t in around]
