"""What a handler of the program does about a refusal: does it go on with the Tensor itself?

May import: core.containers, core.tensor.

    try:
        return math.sin(x)
    except TypeError:
        return numpy.sin(x)

has the whole gradient, but a handler that takes a constant in the place of `x` has not. The graph does not tell them
apart, as `x` may be used elsewhere in both, so the source of the handler is read.
"""

import ast
import builtins
import functools
import inspect
import textwrap

from arraygrad.core.containers import flatten
from arraygrad.core.tensor import Tensor

__all__ = ["goes_on_with_it"]


def goes_on_with_it(error):
    """Whether the handler that caught `error` computes with the Tensor that was refused.

    `error.names` is a code object, and the names in its refused expression that are Tensors. False where that is not
    known: the source is not there, or `contextlib.suppress` has caught the error.
    """
    trace, known = error.__traceback__, getattr(error, "names", None)
    if trace is None or known is None:
        return False
    frame = trace.tb_frame  # which caught it: the traceback begins there
    values = {**vars(builtins), **frame.f_globals, **frame.f_locals}
    code, tensors = known
    if code is not frame.f_code:  # a caller has caught it
        tensors = [name for name, value in frame.f_locals.items() if _holds_tensor(value)]
    for tried, handlers in _handlers(frame.f_code, trace.tb_lineno):
        for handler in handlers:
            caught = _value(handler.type, values)
            if caught is None:
                return False
            if isinstance(error, caught):
                return bool(_names(tried).intersection(_computed_with(handler.body, tried), tensors))
    return False


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


def _computed_with(body, tried):
    """The names that a handler computes with; of one that does nothing, the name that keeps its value."""
    if all(isinstance(statement, (ast.Pass, ast.Continue)) for statement in body):
        return {t.id for s in tried if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)}
    return _names([s for s in body if not isinstance(s, ast.Expr)])  # a call on its own, print(x), computes nothing


def _names(statements):
    """The names that are read, but for comparisons, which have no slope."""
    found, left = set(), list(statements)
    while left:
        part = left.pop()
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            found.add(part.id)
        if not isinstance(part, ast.Compare):
            left += ast.iter_child_nodes(part)
    return found


def _holds_tensor(value):
    return any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in flatten(value)[0])


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
