"""The syntax of the function that code is, in what surrounds it, so that it compiles to the same code.

May import: the standard library.
"""

import __future__

import ast
import copy
import inspect
import linecache
import sys
import types
import warnings

__all__ = ["compiled", "syntax_of"]

_MANY = 1 << 15
_FLAGS = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


def syntax_of(code, namespace):
    """(a module with nothing but the function in what surrounds it, the function) as trees; None: not known."""
    named = _names_of(code)
    for node in _sources(code, namespace):
        tree = _surrounded(node, code)
        for imports in _imports(code.co_filename, namespace):
            tree.body[:-1] = [one for one, bound in imports if not named.isdisjoint(bound)]
            if compiled(tree, code) == code:
                return tree, node
    return None


def _sources(code, namespace):
    """The syntax that may be that of a function."""
    if not code.co_qualname.endswith(code.co_name):
        return
    lines = linecache.getlines(code.co_filename, namespace)
    first = code.co_firstlineno - 1
    if not 0 <= first < len(lines):
        return
    if code.co_name == "<lambda>":
        for node in _of_file(_parsed, code.co_filename, lines, _lambdas).get(code.co_firstlineno, ()):
            yield copy.deepcopy(node)  # it will be changed
        return
    last = _of_file(_lasts, code.co_filename, lines, _last_lines).get((code.co_firstlineno, code.co_name))
    block = "".join(inspect.getblock(lines[first:]) if last is None else lines[first:last])
    indented = block[:1] in " \t"
    tree = ast.parse("if 1:\n" * indented + block)
    node = tree.body[0].body[0] if indented else tree.body[0]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == code.co_name:
        ast.increment_lineno(node, first - indented)
        yield node


def _of_file(memory, filename, lines, read):
    """`read(lines)` of a file, kept in `memory` as long as it has these lines."""
    known = memory.get(filename)
    if known is None or known[0] is not lines:
        if len(memory) > _MANY:
            memory.clear()
        known = memory[filename] = (lines, read(lines))
    return known[1]


def _last_lines(lines):
    """{(first line, that of a decorator too; name): last line} of the functions of a file."""
    found = {}
    try:
        waiting = list(ast.parse("".join(lines)).body)
    except (SyntaxError, ValueError):  # part of a file, as a cell of a notebook with commands of its own
        return found
    while waiting:  # statements alone: expressions hold no function but lambdas
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            found[first, node.name] = node.end_lineno
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, name, ())
    return found


def _lambdas(lines):
    """{line: the syntax of the lambdas that begin there} of a file."""
    found = {}
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
    return found


_lasts: dict = {}  # name of a file -> (its lines, where its functions end)
_parsed: dict = {}  # name of a file -> (its lines, the lambdas in it)


def _surrounded(node, code):
    """A module with nothing but a function in the functions and classes that it is in."""
    parts = code.co_qualname.split(".")
    at = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
    outer = ast.copy_location(ast.Expr(node), node) if isinstance(node, ast.Lambda) else node
    free = [name for name in code.co_freevars if name != "__class__"]
    for i in range(len(parts) - 2, -1, -1):
        if parts[i] == "<locals>":
            continue
        if parts[i + 1] == "<locals>":
            given = [ast.Assign([ast.Name(name, ast.Store(), **at)], ast.Constant(None, **at), **at) for name in free]
            free = []
            nothing = ast.arguments([], [], None, [], [], None, [])
            outer = ast.FunctionDef(parts[i], nothing, [*given, outer], [], None, None, **at)
        else:
            outer = ast.ClassDef(parts[i], [], [], [outer], [], **at)
        if sys.version_info >= (3, 12):
            outer.type_params = []
    return ast.Module([outer], [])  # the syntax of the function has its places


def _names_of(code):
    """The names that code, and code of functions in it, has."""
    inner = [_names_of(one) for one in code.co_consts if isinstance(one, types.CodeType)]
    return {*code.co_names, *code.co_varnames, *code.co_freevars}.union(*inner)


def _bound(node):
    """The names that an import binds."""
    return {(one.asname or one.name).partition(".")[0] for one in node.names}


def _imports(filename, namespace):
    """The imports of a module, without and with those that are indented: calls of what is imported have other code.

    Each with the names that it binds.
    """
    lines = linecache.getlines(filename, namespace)
    return _of_file(_imported, filename, lines, _read_imports)


def _read_imports(lines):
    top, inner = [], []
    for i, line in enumerate(lines):
        if not line.lstrip().startswith(("import ", "from ")):
            continue
        for n in range(1, 100):
            text = "".join(lines[i : i + n]).lstrip()
            try:
                (top if line[0] in "if" else inner).append(ast.parse(text).body[0])
            except SyntaxError:
                if i + n < len(lines) and ("(" in text or text.rstrip().endswith("\\")):
                    continue
            break
    top = [(one, _bound(one)) for one in top if getattr(one, "module", None) != "__future__"]
    return top, [*top, *[(one, _bound(one)) for one in inner]]


_imported: dict = {}  # name of a file -> (its lines, the imports in it)


def compiled(tree, code):
    """The code of the function in a tree; None if it is not there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            waiting = [compile(tree, code.co_filename, "exec", code.co_flags & _FLAGS, True)]
        except (SyntaxError, ValueError):
            return None
    while waiting:
        one = waiting.pop()
        if one.co_name == code.co_name and one.co_firstlineno == code.co_firstlineno:
            return one
        waiting += [inner for inner in one.co_consts if isinstance(inner, types.CodeType)]
    return None
