"""Places in the program: where its own code runs, among that of arraygrad and of libraries, and what it computes there.

May import: autograd.of_libraries, core.convert, the standard library. `python_numbers` says what happened to a value
there.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
import os
import textwrap
import types
import warnings

from arraygrad.autograd.of_libraries import is_made_by_sympy, told
from arraygrad.core.convert import outermost_here

__all__ = [
    "SourceLocation",
    "is_raised_by_us",
    "object_of",
    "only_shown",
    "own_frame",
    "parsed",
    "short",
    "source_of",
    "syntax_of_function",
    "told_of",
    "value_met",
    "warn_at",
    "warn_explicit",
    "where_text",
]

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_STANDARD_LIBRARY = (os.path.dirname(os.__file__), "<frozen")


class SourceLocation:
    """Where a value became a number: the innermost frame of neither arraygrad, the libraries nor the standard library.

    Attributes
    ----------
    frame : frame
    filename, function, module : str
    line : int
    expression : str
        The source of what that frame is computing, "" where it is not known.
    called : object
        The function that is called there, None where it is not known.
    through : str
        The library, pandas or SciPy, that this code called and that went on to where the value is used; "" if none.
    target : object
        What is indexed there, None where it is not known.
    outer : frame or None
        The innermost frame that is no installed package's either, where there is one and it is another; `library` is
        the name of the package then, "" else.
    callers : list of str
        That function and the callers of it that belong to the same package, innermost first.
    """

    def __init__(self, frame):
        self.through = ""
        inner = None
        while frame.f_back is not None and is_ours(frame):
            top = frame.f_globals.get("__name__", "").partition(".")[0]
            self.through = top if top in ("pandas", "scipy") else self.through
            inner = frame if top == "scipy" else inner
            frame = frame.f_back
        self.frame = frame
        self.filename = frame.f_code.co_filename
        self.function = frame.f_code.co_qualname
        self.module = frame.f_globals.get("__name__", "")
        self.line = frame.f_lineno
        self.registry = frame.f_globals.setdefault("__warningregistry__", {})
        self.expression = _source(frame)
        self.called = _called(self.expression, frame)
        if self.called is None and self.through == "scipy":
            self.called = _method_of(inner)
        self.target = _target(self.expression, frame)
        self.callers = []
        package = self.module.partition(".")[0]
        outer = frame
        while outer is not None and (_is_installed(outer.f_code.co_filename) or is_ours(outer)):
            outer = outer.f_back
        self.outer = outer if outer is not frame else None
        self.library = package if self.outer is not None else ""
        while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
            self.callers.append(frame.f_code.co_name)
            frame = frame.f_back

    def __str__(self):
        if is_ours(self.frame):  # no code of the program is on the way
            return "in a thread of the standard library's"
        where = where_text(self.filename, self.line, self.function, self.expression)
        if self.outer is None:
            return where
        code = self.outer.f_code
        asked = where_text(code.co_filename, self.outer.f_lineno, code.co_qualname, _source(self.outer))
        return f"{asked} (by {where})"


def warn_at(place, text, line=None):
    """Warn about a place, or another line of its frame, once for each."""
    warn_explicit(text, place.filename, line or place.line, place.registry, place.module)


def warn_explicit(text, filename, line, registry, module=None):
    """`warnings.warn_explicit`, once the outermost transform that runs on this thread has called its function.

    What the program itself says of warnings, as `simplefilter("ignore")` or `catch_warnings(record=True)`, is about its
    own: it would silence these, or take another branch by them.
    """
    warning = {"message": text, "category": UserWarning, "filename": filename, "lineno": line, "registry": registry}
    if module is not None:
        warning["module"] = module
    trace = outermost_here()
    if trace is None:
        warnings.warn_explicit(**warning)
        return
    if trace.warned is None:
        trace.warned = []
    trace.warned.append(warning)


def where_text(filename, line, function, expression):
    return f"{short(filename)}:{line}, in {function}{': ' * bool(expression)}{expression}"


def told_of(error):
    """Where in the program an error of a library that knows no Tensor arose, and what to write there; "" for others."""
    step = _own_step(error)
    if step is None:  # the function itself is a library's
        return told(error, "", frozenset())
    libraries = {_package(step) for step in _traceback(error)}
    text = told(error, _computed(step), libraries, _entered(step))
    return f"{_where(step)}: {text}" if text else ""


def _package(step):
    return step.tb_frame.f_globals.get("__name__", "").partition(".")[0]


def _entered(step):
    """The module that the program's own code called a function of, with a Tensor among its arguments; "" for others.

    Compiled functions show no arguments: of these the names in the call are looked at.
    """
    inner = step.tb_next
    if inner is None or is_ours(inner.tb_frame):
        return ""
    given = list(inner.tb_frame.f_locals.values())
    if not given:
        tree = parsed(_computed(step))
        given = [object_of(node, step.tb_frame) for node in (ast.walk(tree) if tree is not None else ())]
    return inner.tb_frame.f_globals.get("__name__", "") if any(map(_holds_tensor, given)) else ""


def _holds_tensor(value):
    if type(value) in (list, tuple):
        return any(map(_holds_tensor, value))
    return str(type(value).__module__).startswith("arraygrad.")  # or a sparse matrix that holds one


def _traceback(error):
    """The entries of an error's traceback, outermost first."""
    step = error.__traceback__
    while step is not None:
        yield step
        step = step.tb_next


def _own_step(error):
    """The innermost of them that is the program's own code; None where there is none."""
    found = None
    for step in _traceback(error):
        filename = step.tb_frame.f_code.co_filename
        of_cython = filename in ("View.MemoryView", "<stringsource>") or filename.endswith(".pxd")
        if not of_cython and not _is_installed(filename) and not is_ours(step.tb_frame):
            found = step
    return found


def _computed(step):
    """The text of the expression that an entry of a traceback was computing."""
    return source_of(step.tb_frame.f_code, step.tb_lasti, step.tb_frame.f_globals)


def _where(step):
    code = step.tb_frame.f_code
    return where_text(code.co_filename, step.tb_lineno, code.co_qualname, _computed(step))


def is_raised_by_us(error):
    """Whether a function of arraygrad's raised an error, and so has said what there is to say."""
    steps = list(_traceback(error))
    while steps and steps[-1].tb_frame.f_globals.get("PASSES_ERRORS_ON"):
        steps.pop()
    filename = steps[-1].tb_frame.f_code.co_filename if steps else ""
    return filename.startswith(_PACKAGE) or (filename.endswith((".pyx", ".pxd")) and "arraygrad" in filename)


def value_met(error, kind):
    """(place, name) of a value of class `kind` in the line of the program's own code where an error arose.

    The first one that requires grad, where there is one. None where that line has none, or its source is not there.
    Only names, items and attributes are looked at: no code of the program is run.
    """
    step = _own_step(error)
    tree = None if step is None else parsed(_computed(step))
    first = None
    for node in ast.walk(tree) if tree is not None else ():
        found = object_of(node, step.tb_frame)
        for item in found if type(found) in (list, tuple) else (found,):
            if type(item) is kind:
                if item.requires_grad:
                    return _where(step), ast.unparse(node)
                first = first or ast.unparse(node)
    return None if first is None else (_where(step), first)


def _is_installed(filename):
    return "site-packages" in filename or "dist-packages" in filename or is_made_by_sympy(filename)


_LIBRARIES = ("numpy", "scipy", "pandas")


def is_ours(frame):
    filename = frame.f_code.co_filename
    module = frame.f_globals.get("__name__", "")
    if filename.startswith(_PACKAGE) or filename.endswith(".pyx") or module.partition(".")[0] in _LIBRARIES:
        return True
    return filename.startswith(_STANDARD_LIBRARY) and "-packages" not in filename


def own_frame(frame):
    """The innermost frame, from this one on, that is no library's; the outermost of all where there is none."""
    while frame.f_back is not None and is_ours(frame):
        frame = frame.f_back
    return frame


def syntax_of_function(code):
    """(the syntax of the function that code is, or is in; its first line), (None, 0) where it is not known."""
    try:
        lines, first = inspect.getsourcelines(code)
        return ast.parse(textwrap.dedent("".join(lines))), first
    except (OSError, SyntaxError, TypeError, ValueError):
        return None, 0


def short(filename):
    try:
        return filename.removeprefix(os.path.join(os.getcwd(), ""))
    except OSError:  # the folder is gone
        return filename


def _source(frame):
    """The text of the expression that a frame is computing, in one line."""
    return source_of(frame.f_code, frame.f_lasti, frame.f_globals)


def source_of(code, at, names):
    """The text of the expression of the instruction at an offset; `names`: the globals of the code's module."""
    try:
        first, last, start, end = list(code.co_positions())[at // 2]
    except IndexError:
        return ""
    if None in (first, last, start, end):
        return ""
    lines = [linecache.getline(code.co_filename, n, names).encode() for n in range(first, last + 1)]
    if not all(lines):
        return ""
    lines[-1] = lines[-1][:end]  # columns count bytes
    lines[0] = lines[0][start:]
    return " ".join(b" ".join(lines).decode(errors="replace").split())


def parsed(expression):
    """The syntax of an expression, None of text that is none."""
    try:
        return ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def only_shown(frame):
    """Whether what a frame is computing is compared, printed or made text of there, and nothing else."""
    tree, first = syntax_of_function(frame.f_code)
    asked = parsed(_source(frame))
    if tree is None or asked is None:
        return False
    text, line = ast.dump(asked), frame.f_lineno - first + 1
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and node.lineno <= line <= node.end_lineno and ast.dump(node) == text
    ]
    return bool(found) and all(_is_shown(node, above, tree) for node in found)


def _is_shown(node, above, tree, named=()):
    """Whether syntax is compared, printed or made text of, itself or under a name that is bound to it."""
    parent = above[node]
    while isinstance(parent, ast.Subscript) and parent.value is node:
        node, parent = parent, above[parent]
    if isinstance(parent, ast.Compare | ast.FormattedValue):
        return True
    if isinstance(parent, ast.Call):
        return node in parent.args and getattr(parent.func, "id", "") in ("print", "str", "repr", "format")
    if not isinstance(parent, ast.Assign) or len(parent.targets) > 1 or not isinstance(parent.targets[0], ast.Name):
        return False
    name = parent.targets[0].id
    if name in named or any(name in getattr(one, "names", ()) for one in ast.walk(tree)):  # global, nonlocal
        return False
    read = [one for one in ast.walk(tree) if isinstance(one, ast.Name) and one.id == name and one not in parent.targets]
    return all(isinstance(one.ctx, ast.Load) and _is_shown(one, above, tree, (*named, name)) for one in read)


def _dotted(node):
    """(`a`, ["b", "c"]) of the syntax of `a.b.c`."""
    names = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return node, names


def _target(expression, frame):
    """The object that an expression `x[...]` indexes: an array, however often, and what `d["a"]` of a dict finds."""
    node = parsed(expression)
    return object_of(node.value, frame) if isinstance(node, ast.Subscript) else None


_CONTAINERS = (dict, list, tuple)
_KEYS = (str, int, bool, float, type(None))


def object_of(node, frame):
    """The object that a name, an attribute or an item of a container is there; runs no code of the program."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        return inspect.getattr_static(object_of(node.value, frame), node.attr, None)
    if not isinstance(node, ast.Subscript):
        return None
    found = object_of(node.value, frame)
    if type(found) not in _CONTAINERS:
        return found
    key = _key(node.slice, frame)
    try:
        return found[key] if type(key) in _KEYS else None
    except (LookupError, TypeError):
        return None


def _key(node, frame):
    """The value of a key that is written as a number, a text or a name; else something that is no key."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return object_of(node, frame) if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) else node


def _called(expression, frame):
    """The object that the outermost call of an expression calls, where it is a plain or dotted name."""
    tree = parsed(expression)
    if not isinstance(tree, ast.Call):
        return None
    node, names = _dotted(tree.func)
    if isinstance(node, ast.Call):  # a method of what is made there, as in scipy.stats.norm(m, 1.0).logpdf(x)
        made = _called(ast.unparse(node), frame)
        return made if _is_scipys(made) else None
    if not isinstance(node, ast.Name):
        return None
    for space in (frame.f_locals, frame.f_globals, vars(builtins)):
        if node.id in space:
            found = space[node.id]
            break
    else:
        return None
    for name in names:
        if isinstance(found, types.ModuleType) and name in vars(found):
            found = vars(found)[name]
        elif _is_scipys(found) and not _is_computed(found, name):
            found = getattr(found, name, None)
        else:
            return None
    return found


def _is_computed(owner, name):
    """Whether an attribute is a property: to read it would run its code, which may be what is looked at."""
    return isinstance(inspect.getattr_static(owner, name, None), (property, functools.cached_property))


def _method_of(frame):
    """The method of an object of SciPy's, or the object that is called, whose code a frame of SciPy's runs; or None."""
    owner = frame.f_locals.get("self")
    name = frame.f_code.co_name
    if owner is None:
        return None
    if not _is_scipys(owner):  # of a class that is derived from one of SciPy's
        found = [vars(base).get(name) for base in type(owner).__mro__]
        found = [function for function in found if getattr(function, "__code__", None) is frame.f_code]
        return types.MethodType(found[0], owner) if found else None
    return owner if name == "__call__" or _is_computed(owner, name) else getattr(owner, name, None)


def _is_scipys(value):
    """Whether a value is a class of SciPy's, or an object such as a distribution, whose attributes may be asked for."""
    module = value.__module__ if isinstance(value, type) else type(value).__module__
    return isinstance(module, str) and module.partition(".")[0] == "scipy"
