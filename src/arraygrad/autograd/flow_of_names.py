"""Whether what functions read under some names may decide what they return: read off their source.

May import: the standard library.

Note [Values that reach no result]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
A rule may count its calls (`calls["n"] += 1`), raise at the hundredth, and log. The count has another value in backward
than when the operation was recorded, and the gradient is the same. `reach` follows values through the source, by
names: what an expression names it may depend on. Variables and attributes are one set of names for all functions, so a
name stands for every variable and attribute of that name. A name of the set may
(1) be changed in place or bound anew (`n += 1`, `calls[key] = calls.get(key, 0) + 1`, `seen.update(kind=1)`);
(2) be bound to another name or attribute, which joins the set; so do the parameters of a function that is given it,
    and the name of a function that returns it;
(3) decide whether an error is raised, whether something is shown (print, a logger), and whether (1) or (2) happens.
Anything else is taken to reach the result: it is returned, stored in an item of what the set does not name, given to a
function whose source is not known, or decides about a call, a loop or a return. So is everything where the source is
not there or is not that of the code, where an error is caught, and where names are looked up by texts.
Guarded by tests/autograd/test_values_that_reach_no_result.py.
"""

import ast
import functools
import linecache
import types

__all__ = ["reach"]

# Functions that return something of their arguments, or show it, and do nothing else.
_PLAIN_CALLS = frozenset(
    "abs bool complex divmod float format hash hex id int isinstance len max min print range repr round str sum tuple"
    " list dict set sorted enumerate zip".split()
)
_SHOWING = frozenset("debug info warning error critical exception warn".split())
_CALLING = frozenset(["key", "file"])  # keywords by which they call others
# Methods whose parameters are not operands.
_NO_OPERANDS = frozenset(f"__{name}__" for name in "init new post_init call enter exit del".split())
# Names by which code reaches what it does not name, or leaves it to others what is read.
_UNNAMED = frozenset(
    "getattr setattr delattr vars globals locals eval exec attrgetter methodcaller __dict__ __getattribute__ suppress "
    "asdict astuple dumps dump pickle".split()
)
_HARMLESS = (ast.Pass, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)
_BRANCHES = (ast.BoolOp, ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Reaches(Exception):
    """A value of the set may reach the result."""


def reach(names, codes, aliased=()):
    """Whether what stands under `names` may decide what the functions with these codes return or write elsewhere.

    Parameters
    ----------
    names : iterable of str
        Of variables and attributes.
    codes : iterable of code objects
        Of the functions that are called, and of all Python functions that these call.
    aliased : container of str
        Names of the functions among them that may be called by another name than theirs, or whose result is kept.

    Returns
    -------
    bool
        False where it is known that they decide nothing but errors.
    """
    try:
        nodes = [node for code in codes for node in _nodes_of(code)]
        _Flow(frozenset(names), nodes, aliased).follow()
    except _Reaches:
        return True
    return False


@functools.lru_cache(maxsize=32)
def _parsed(filename, text):
    """[(code, node)] of all functions in a source."""
    try:
        tree = ast.parse(text)
        whole = compile(text, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return []
    nodes = {}
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            first = min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]])
            nodes.setdefault((getattr(node, "name", "<lambda>"), first), []).append(node)
    found, waiting = [], [whole]
    while waiting:
        code = waiting.pop()
        found.append((code, nodes.get((code.co_name, code.co_firstlineno), ())))
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return found


def _nodes_of(code):
    """The functions in the source that a code may be of."""
    text = "".join(linecache.getlines(code.co_filename))
    for other, nodes in _parsed(code.co_filename, text):
        same = (other.co_name, other.co_firstlineno) == (code.co_name, code.co_firstlineno)
        if same and nodes and other.co_code == code.co_code and other.co_names == code.co_names:
            return nodes
    raise _Reaches


class _Flow:
    """The names that values flow to, from those that are given."""

    def __init__(self, names, nodes, aliased):
        self.names, self.nodes, self.aliased = names, nodes, aliased
        self.reached = set(names)
        self.parts = [part for node in nodes for part in ast.walk(node)]
        self.functions = {}
        for part in self.parts:
            if isinstance(part, ast.FunctionDef):
                self.functions.setdefault(part.name, []).append(part)
        for name, functions in self.functions.items():
            if name.startswith("__") and name not in _NO_OPERANDS:  # an operand may be of the set
                for function in functions:
                    self.reached.update(one.arg for one in function.args.args[1:])

    def follow(self):
        """Raise _Reaches where a value may reach the result."""
        for part in self.parts:
            if isinstance(part, ast.Try) and part.handlers:
                raise _Reaches
            if isinstance(part, (ast.ClassDef, ast.AsyncFunctionDef, ast.Await, ast.Match, ast.TryStar)):
                raise _Reaches
            if _name(part) in _UNNAMED:
                raise _Reaches
        if not all(any(_name(part) == name for part in self.parts) for name in self.names):
            raise _Reaches  # how it is read is not known
        known = -1
        while known != len(self.reached):
            known = len(self.reached)
            for node in self.nodes:
                self.function(node)

    def function(self, node):
        arguments = node.args
        for default in (*arguments.defaults, *arguments.kw_defaults, *getattr(node, "decorator_list", ())):
            if default is not None and self.has(default):
                raise _Reaches
        if isinstance(node, ast.Lambda):
            self.expression(node.body, False)
            if self.has(node.body):
                raise _Reaches
        else:
            self.block(node.body, False, node)

    def has(self, node):
        """Whether an expression names something of the set."""
        return any(_name(part) in self.reached for part in ast.walk(node))

    def block(self, statements, decided, function):
        for statement in statements:
            self.statement(statement, decided, function)

    def statement(self, node, decided, function):
        """`decided`: by something of the set. `function`: in which the statement stands."""
        if isinstance(node, ast.Raise):
            return
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.expression(part, decided)
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            if node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
                    self.store(target, decided or self.has(node.value))
        elif isinstance(node, ast.AugAssign):
            # In place, so other names may stand for it.
            if (decided or self.has(node.value) or self.has(node.target)) and not self.is_given(node.target):
                raise _Reaches
        elif isinstance(node, (ast.If, ast.While)):
            inner = decided or self.has(node.test)
            self.block(node.body, inner, function)
            self.block(node.orelse, inner, function)
        elif isinstance(node, ast.For):
            inner = decided or self.has(node.iter)
            self.store(node.target, inner)
            self.block(node.body, inner, function)
            self.block(node.orelse, inner, function)
        elif isinstance(node, ast.With):
            if any(self.has(item.context_expr) for item in node.items):
                raise _Reaches
            for item in node.items:
                self.expression(item.context_expr, decided)
            self.block(node.body, decided, function)
        elif isinstance(node, ast.Try):  # no handlers: follow()
            self.block([*node.body, *node.orelse, *node.finalbody], decided, function)
        elif isinstance(node, ast.FunctionDef):
            if decided:
                raise _Reaches
            self.function(node)
        elif isinstance(node, ast.Delete):
            if decided and not all(self.is_given(target) for target in node.targets):
                raise _Reaches
        elif isinstance(node, ast.Return):
            if decided or (node.value is not None and self.has(node.value)):
                name = function.name
                if name in self.aliased or name.startswith("__"):
                    raise _Reaches
                self.reached.add(name)
        elif not isinstance(node, (ast.Expr, ast.Assert, *_HARMLESS)) and (decided or self.has(node)):
            raise _Reaches

    def store(self, target, reached):
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self.store(part, reached)
        elif isinstance(target, ast.Starred):
            self.store(target.value, reached)
        elif isinstance(target, ast.Subscript):
            if (reached or self.has(target.slice)) and ("__setitem__" in self.functions or not self.is_given(target)):
                raise _Reaches
        elif reached or (isinstance(target, ast.Attribute) and self.has(target.value)):
            name = _name(target)
            if isinstance(target, ast.Attribute) and not self.functions.keys().isdisjoint(
                (name, "__setattr__", "__set__")
            ):
                raise _Reaches  # to set it runs code
            self.reached.add(name)

    def is_given(self, target, depth=4):
        """Whether what is changed is one of the names that were given, or part of it: a local name of it, too."""
        while isinstance(target, ast.Subscript):
            target = target.value
        if _name(target) in self.names:
            return True
        if not isinstance(target, ast.Name) or not depth:
            return False
        bound = [part for part in self.parts if any(_binds(one, target.id) for one in _targets(part))]
        return bool(bound) and all(
            isinstance(part, ast.Assign)
            and isinstance(part.value, (ast.Name, ast.Attribute, ast.Subscript))
            and _name(part.value) != target.id
            and self.is_given(part.value, depth - 1)
            for part in bound
        )

    def expression(self, node, decided):
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                self.call(part, decided)
            elif isinstance(part, ast.Lambda):
                self.function(part)
            elif isinstance(part, ast.NamedExpr):
                self.store(part.target, decided or self.has(part.value))
            elif isinstance(part, (ast.Yield, ast.YieldFrom)):
                if decided or self.has(part):
                    raise _Reaches
            if isinstance(part, ast.comprehension):
                self.store(part.target, self.has(part.iter))
            chosen = isinstance(part, _BRANCHES) or (isinstance(part, ast.Compare) and len(part.ops) > 1)
            if chosen and not decided and self.has(part):
                self.expression(part, True)  # whether its parts are computed may depend on the set

    def call(self, node, decided):
        name = _name(node.func)
        if isinstance(node.func, ast.Name):
            plain = name in _PLAIN_CALLS and name not in self.functions
        else:
            plain = name in _SHOWING and name not in self.functions
        if plain and not any(keyword.arg is None or keyword.arg in _CALLING for keyword in node.keywords):
            return
        own = isinstance(node.func, ast.Attribute) and name not in self.functions and self.is_given(node.func.value)
        if own:  # a method of a dict or list of the set
            return
        given = [*node.args, *[keyword.value for keyword in node.keywords]]
        if isinstance(node.func, ast.Attribute):
            given.append(node.func.value)
        if decided:
            raise _Reaches
        if any(self.has(part) for part in given):
            if name not in self.functions:
                raise _Reaches
            for function in self.functions[name]:
                arguments = function.args
                every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
                self.reached.update(one.arg for one in every)


def _name(node):
    """The name that a node looks up or binds; None: none."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _targets(node):
    """What a node binds."""
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.NamedExpr, ast.comprehension)):
        return [node.target]
    if isinstance(node, ast.withitem):
        return [node.optional_vars] if node.optional_vars is not None else []
    return [node] if isinstance(node, (ast.arg, ast.Import, ast.ImportFrom)) else []


def _binds(node, name):
    return any(
        name in (_name(part), getattr(part, "arg", None), getattr(part, "asname", None)) for part in ast.walk(node)
    )
