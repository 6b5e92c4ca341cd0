"""The code of a function with other expressions, where an array is made or asked that no stand-in is called for.

May import: adoption.beside_lists, adoption.drawn_numbers, adoption.exchange, adoption.filled_caches, adoption.fresh,
adoption.identity_comparisons, adoption.one_value_caches, adoption.syntax_of_code, adoption.table, adoption.text_names,
adoption.together, adoption.written, autograd.python_numbers, core.tensor, numpy_api.arrays, the standard library,
numpy.

Note [Code that is rewritten]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
Names can be exchanged, methods of arrays can't: `table.copy()`, `X * 1.0`, `rng.normal(size=3)` and the functions of
libraries make plain arrays, into which no Tensor can be written, and `X.dot(t)` asks a compiled method. So functions
that the search finds have other code while the call runs, made of their source:
(1) What is assigned to a name or attribute that the code writes into (Note [Names that are written]) goes through
    `fresh`. Attributes are those that code of the module writes into, and of others that belong together with it
    (`together.py`). An array that nothing else holds becomes a Tensor over its memory there, as what `numpy.zeros`
    makes: its references are counted, those of the array that it shows included, and what shares memory otherwise
    stays plain.
    So does each item of a list or dict that is written out there (`rows = [X.copy() for _ in range(3)]`, `dict(a=y)`),
    and what is put into one later, by `rows[i] = ...`, `rows.append(...)`, `self.params["a"] = ...`; and what is given
    to a class of the program's whose `__init__` keeps it under a name that the code writes into: `Body(X.copy())` where
    `self.x += step` stands.
(2) Methods of arrays that take no Tensor (`X.dot(t)`) are called by the function of NumPy that they are, if the object
    is a plain array and an argument a Tensor. `o.astype(float)` of an array of objects asks each Tensor in it for a
    number: it is made of the Tensors. Methods that read numbers from text are called as they are, and what they have
    read is looked at (Note [Numbers read from text]). `t.astype(str)` is text where `t` is a constant.
    Operators of a plain array and a list that holds Tensors are those of an array in its place: `beside_lists.py`.
    Digits that are kept by whole numbers, `int(x * 1e6) / 1e6`, are told as those of numpy.round are.
    Dicts that are filled under keys of whole numbers or text are read through functions: Note [Filled caches]. So are
    the tests of caches of one value: Note [Caches of one value].
(3) The source has to be that of the function: unchanged, it is compiled to the same code, place for place. If it is
    not (no source, a decorator that makes code), the function keeps its code, and the write is refused, as ever. Of
    the lambdas that begin in a line it is the one that compiles to the code.
(4) The other code does the same outside of an adopted call: another thread may run it.
Guarded by tests/adoption/test_rewritten_code.py.
"""

import ast
import dis
import sys
import types
import typing

import numpy

from arraygrad.adoption.beside_lists import OPERATORS, is_list, may_stand_beside, names_of_lists, operate
from arraygrad.adoption.drawn_numbers import DRAWS, called
from arraygrad.adoption.exchange import TEXTS, is_on, makes_tensors
from arraygrad.adoption.filled_caches import (
    Caches,
    asked_for,
    item,
    key_made,
    looked_up,
    text_made,
)
from arraygrad.adoption.fresh import fresh, references, references_shown, set_counts
from arraygrad.adoption.identity_comparisons import codes_of
from arraygrad.adoption.one_value_caches import OneValue, asked, may_keep
from arraygrad.adoption.syntax_of_code import compiled, syntax_of
from arraygrad.adoption.table import stand_in_for
from arraygrad.adoption.text_names import METHODS, holds_text, rows_of, tell_method
from arraygrad.adoption.together import together
from arraygrad.adoption.written import WRITE_FIRST, WRITE_SELF, targets_of, written
from arraygrad.autograd.python_numbers import rounds
from arraygrad.core.tensor import Tensor
from arraygrad.numpy_api.arrays import holds_tensors, of_objects

__all__ = ["rewritten", "set_libraries"]

_FUNCTIONS = frozenset(("dot", "clip", "searchsorted"))  # the functions of NumPy of these names take Tensors
_METHODS = _FUNCTIONS | METHODS | DRAWS | {"astype"}
_PUTS = frozenset(("append", "insert", "setdefault"))  # of lists and dicts
_SHOWN = frozenset(("T", "mT", "flat", "real", "imag"))
_NAMED = (ast.Name, ast.Attribute, ast.Subscript)
_FRESH, _METHOD = "arraygrad: fresh", "arraygrad: method"
_KEY, _ITEM, _LOOK = "arraygrad: key", "arraygrad: item", "arraygrad: look"
_TEXT = "arraygrad: text of a key"
_IN = "arraygrad: in"
_CUT, _ASKED = "arraygrad: cut", "arraygrad: asked"
_BESIDE = "arraygrad: beside a list"
_RANDOM = ("random", "numpy.random")  # how the module is named
_WHOLE = frozenset("ceil fix floor int int32 int64 rint round trunc".split())  # functions that make whole numbers
_MANY = 1 << 15
_STORE_ATTR = dis.opmap["STORE_ATTR"]
_STORE_ITEM = dis.opmap["STORE_SUBSCR"]

_known: dict = {}  # id of a code object -> (it, its other code)
_attributes: dict = {}  # id of a namespace -> (its length, names of attributes that code there writes into)


def _method(array, name, *args, **kwargs):
    """`array.name(*args)`."""
    if name == "astype":
        return _astype(array, args, kwargs, sys._getframe(1))
    if name in DRAWS:
        return called(array, name, *args, **kwargs)
    if name in METHODS:
        found = getattr(array, name)(*args, **kwargs)
        if TEXTS and is_on():
            tell_method(array, name, args, found, sys._getframe(1))
            return rows_of(name, args, found)
        return found
    if type(array) is numpy.ndarray and makes_tensors() and holds_tensors((args, tuple(kwargs.values()))):
        return stand_in_for(getattr(numpy, name))(array, *args, **kwargs)
    return getattr(array, name)(*args, **kwargs)


def _astype(array, args, kwargs, frame):
    """`array.astype(*args)`: of or to objects, Tensors among them; of a constant as text; of text of a Tensor."""
    if type(array) is Tensor:
        given = args[0] if args else kwargs.get("dtype")
        if not array.requires_grad and is_on() and _is_text(given):
            return array.numpy().astype(*args, **kwargs)
        if given in (object, "O") and makes_tensors():  # as numpy.array(x, dtype=object): its numbers are recorded
            return array.copy()
    elif type(array) is numpy.ndarray and array.dtype.kind == "O" and makes_tensors():
        given = args[0] if args else kwargs.get("dtype")
        held = None if given is None or numpy.dtype(given).kind == "O" else of_objects(array)
        array = array if held is None else held
    found = array.astype(*args, **kwargs)
    if TEXTS and is_on() and (type(array) is not numpy.ndarray or holds_text(array)):
        tell_method(array, "astype", args, found, frame)
    return found


def _is_text(dtype):
    try:
        return dtype is not None and numpy.dtype(dtype).kind in "SUT"
    except TypeError:
        return False


def _digits_kept(function, digits, x):
    """`function(x)`, which makes a whole number of a value times a power of ten that it is divided by afterwards."""
    if type(x) is Tensor and x.requires_grad and is_on():
        rounds(x, digits)
    return function(x)


_IN_PLACE_OF = {
    _FRESH: fresh,
    _METHOD: _method,
    _KEY: key_made,
    _ITEM: item,
    _LOOK: looked_up,
    _TEXT: text_made,
    _IN: asked_for,
    _CUT: _digits_kept,
    _ASKED: asked,
    _BESIDE: operate,
}


def rewritten(code, namespace):
    """The code with these expressions; the code itself if it has none, or if its source is not known."""
    known = _known.get(id(code))
    if known is None or known[0] is not code:
        if len(_known) > _MANY:
            _known.clear()
        known = _known[id(code)] = (code, _rewritten(code, namespace))
    return known[1]


def _rewritten(code, namespace):
    if not _may_gain(code, namespace):
        return code
    try:
        found = syntax_of(code, namespace)
    except (SyntaxError, ValueError, IndentationError, OSError, TypeError, RecursionError):
        return code
    if found is None:
        return code
    tree, node = found
    nodes = list(ast.walk(node))
    attributes = _written_attributes(namespace) if _stores_attributes(code) or _may_fill(code) else frozenset()
    names = _names_written(nodes)
    change = _Change(names, attributes, namespace, _containers(nodes) if names else frozenset())
    change.caches = Caches(nodes) if _may_fill(code) else None
    change.tests = OneValue(nodes).tests if _may_keep(code) else {}
    change.cuts = _named_cuts(nodes)
    change.lists = names_of_lists(nodes) if may_stand_beside(code) else None
    if isinstance(node, ast.Lambda):
        node.body = change.visit(node.body)
    else:
        for statement in node.body:
            change.visit(statement)
    if not change.changes:
        return code
    ast.fix_missing_locations(tree)
    other = compiled(tree, code)
    if other is None or other.co_freevars != code.co_freevars:
        return code
    return _with_functions(other, change.looked)


def _may_gain(code, namespace):
    """Whether code, or code of functions in it, writes into what it names, or calls one of these methods."""
    if not _METHODS.isdisjoint(code.co_names) or targets_of(code) or _may_fill(code) or may_keep(code):
        return True
    if any(_keeps_what_is_written(made, namespace) for made in _classes_named(code, namespace)):
        return True
    if (not _WHOLE.isdisjoint(code.co_names) and any(map(_digits_of, code.co_consts))) or may_stand_beside(code):
        return True
    if _STORE_ATTR in code.co_code[::2] and not _written_attributes(namespace).isdisjoint(code.co_names):
        return True
    return any(_may_gain(inner, namespace) for inner in code.co_consts if isinstance(inner, types.CodeType))


def _digits_of(value):
    """n of a number 10**n with n > 1, None of any other."""
    if type(value) not in (int, float) or not 99 < value < 1e17:
        return None
    digits = len(str(int(value))) - 1
    return digits if value == 10**digits else None


def _power_of_ten(node):
    """n of the syntax of a number 10**n with n > 1, None of any other."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base, exponent = [getattr(side, "value", None) for side in (node.left, node.right)]
        return exponent if base == 10 and type(exponent) is int and exponent > 1 else None
    return _digits_of(getattr(node, "value", None))


def _may_fill(code):
    """Whether code, or code of functions in it, stores items."""
    if _STORE_ITEM in code.co_code[::2] or "setdefault" in code.co_names:
        return True
    return any(_may_fill(inner) for inner in code.co_consts if isinstance(inner, types.CodeType))


def _may_keep(code):
    """Whether code, or code of functions in it, may keep values: Note [Caches of one value]."""
    return may_keep(code) or any(_may_keep(inner) for inner in code.co_consts if isinstance(inner, types.CodeType))


def _stores_attributes(code):
    """Whether code, or code of functions in it, assigns to attributes."""
    return _STORE_ATTR in code.co_code[::2] or any(
        _stores_attributes(inner) for inner in code.co_consts if isinstance(inner, types.CodeType)
    )


def _classes_named(code, namespace):
    """The classes that code may name, as globals and as attributes of modules that are globals."""
    for name in code.co_names:
        value = namespace.get(name)
        if isinstance(value, type):
            yield value
        elif type(value) is types.ModuleType and not _is_library(value.__name__):
            for inner in code.co_names:
                if isinstance(vars(value).get(inner), type):
                    yield vars(value)[inner]


def _is_library(name):
    return not isinstance(name, str) or name.partition(".")[0] in sys.stdlib_module_names or _is_foreign(name)


_is_foreign: typing.Any = None  # reach.is_library


def set_libraries(question):
    """Have `question(name)` say whether a module belongs to a library that adoption does not reach."""
    global _is_foreign
    _is_foreign = question


def _keeps_what_is_written(made, namespace):
    """Whether `__init__` of a class assigns to an attribute that code here, or where the class is, writes into."""
    inits = [vars(base)["__init__"] for base in made.__mro__ if "__init__" in vars(base)]
    code = getattr(inits[0], "__code__", None)
    if code is None or (made.__module__ != "__main__" and _is_library(made.__module__)):
        return False
    known = _kept.get(id(code))
    if known is None or known[0] is not code:
        if len(_kept) > _MANY:
            _kept.clear()
        kept = [step.argval for step in dis.get_instructions(code) if step.opcode == _STORE_ATTR]
        known = _kept[id(code)] = (code, frozenset(kept))
    home = vars(sys.modules[made.__module__]) if made.__module__ in sys.modules else namespace
    return any(not known[1].isdisjoint(_written_attributes(one)) for one in (namespace, home))


_kept: dict = {}  # id of the code of an `__init__` -> (it, the attributes that it assigns to)


def _written_attributes(namespace):
    """Names through which the code of a module, and of those that belong together with it, writes into attributes."""
    size = len(namespace), len(sys.modules)
    known = _attributes.get(id(namespace))
    if known is None or known[0] != size:
        if len(_attributes) > _MANY:
            _attributes.clear()
        members = together(namespace)
        codes = [code for one in members for code in codes_of(one)]
        found = {name for code in codes for name in targets_of(code) if isinstance(name, str)}
        found = written(codes, codes) | found
        for one in members:  # each of them has these members
            _attributes[id(one)] = (len(one), size[1]), found
        known = _attributes[id(namespace)] = size, found
    return known[1]


def _with_functions(code, looked=()):
    """Code with the functions, and what is looked at, in the place of the texts that stand for them."""
    exchange = {**_IN_PLACE_OF, **dict(looked)}
    constants = [
        _with_functions(one, looked) if isinstance(one, types.CodeType) else _function_of(one, exchange)
        for one in code.co_consts
    ]
    return code.replace(co_consts=tuple(constants))


def _function_of(constant, exchange):
    return exchange.get(constant, constant) if type(constant) is str else constant


def _root(node):
    """("name" or "attribute", its text) of what an expression shows the memory of; None where that is not known."""
    while isinstance(node, ast.Subscript | ast.Starred) or (isinstance(node, ast.Attribute) and node.attr in _SHOWN):
        node = node.value
    if isinstance(node, ast.Name):
        return "name", node.id
    return ("attribute", node.attr) if isinstance(node, ast.Attribute) else None


def _items(root):
    """What stands for the arrays in a list or dict."""
    return None if root is None else ("items", *root)


def _shows(node):
    """What an expression may show the memory of: an array, or what is in a list or dict."""
    root, subscript = _root(node), node
    while isinstance(subscript, ast.Starred | ast.Attribute):
        subscript = subscript.value
    return {root, _items(root)} if isinstance(subscript, ast.Subscript) else {root}


def _names_written(nodes):
    """Names and attributes that the syntax of a function writes into: those of `_root`.

    What is put into a list or dict counts where the items are written into: `rows[i] = s` beside `rows[i][0] = x`.
    """
    found, same = set(), {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for one in [one for target in node.targets for one in _targets(target) if isinstance(one, ast.Subscript)]:
                found |= _shows(one.value)
            for target in node.targets:
                if isinstance(node.value, _NAMED):
                    _note_same(same, target, _shows(node.value))
                for item in _written_out(node.value):
                    same.setdefault(_items(_root(target)), set()).update(_shows(item))
        elif isinstance(node, ast.AugAssign):
            found |= _shows(node.target)
        elif isinstance(node, ast.For):
            of = _iterated(node.iter)
            for target in _targets(node.target):
                if isinstance(target, ast.Subscript):
                    found |= _shows(target.value)
                elif of and isinstance(target, ast.Name):
                    _note_same(same, target, of)
        elif isinstance(node, ast.Call):
            for written in _written_by(node):
                found |= _shows(written)
            of = node.func
            if isinstance(of, ast.Attribute) and of.attr in _PUTS and node.args and isinstance(node.args[-1], _NAMED):
                same.setdefault(_items(_root(of.value)), set()).update(_shows(node.args[-1]))
    waiting = list(found)
    while waiting:
        for one in same.get(waiting.pop(), ()):
            if one not in found:
                found.add(one)
                waiting.append(one)
    return found - {None}


def _written_out(node):
    """What a list, tuple or dict that is written out holds by name."""
    items = node.values if isinstance(node, ast.Dict) else getattr(node, "elts", ())
    for one in items:
        if isinstance(one, _NAMED):
            yield one
        else:
            yield from _written_out(one)


def _note_same(same, target, shown):
    """Note that a write into `target`, a name or an item, is one into what is `shown`."""
    root = _root(target)
    if isinstance(target, ast.Subscript):
        root = _items(root)
    same.setdefault(root, set()).update(shown)
    if root is not None and root[0] != "items":
        same.setdefault(_items(root), set()).update(
            [one if one is None or one[0] == "items" else _items(one) for one in shown]
        )


def _iterated(node):
    """What a loop goes over, in enumerate, zip and the like, too: those of `_root`."""
    if isinstance(node, ast.Call):
        of = [node.func.value] if isinstance(node.func, ast.Attribute) else node.args
        return {one for arg in of for one in _iterated(arg)}
    found = _root(node)
    return {found, _items(found)} if found is not None else set()


def _containers(nodes):
    """Names that the syntax of a function binds to a list or dict that is written out there."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and _is_container(node.value):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _is_container(node.value):
            found.add(node.target.id)
    return found


def _is_container(node):
    if isinstance(node, ast.BinOp):  # [None] * 3
        return _is_container(node.left) or _is_container(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("list", "dict")
    return isinstance(node, _DISPLAYS)


_DISPLAYS = (ast.List, ast.Dict, ast.ListComp, ast.DictComp)


def _targets(node):
    if isinstance(node, ast.Tuple | ast.List):
        for one in node.elts:
            yield from _targets(one)
    else:
        yield node


def _written_by(call):
    """What a call writes into."""
    found = []
    for keyword in call.keywords:
        if keyword.arg == "out":
            found += _targets(keyword.value)
    name = getattr(call.func, "attr", getattr(call.func, "id", None))
    if name in WRITE_FIRST and call.args:
        found.append(call.args[0])
    if name in WRITE_SELF and isinstance(call.func, ast.Attribute):
        found.append(call.func.value)
    ufunc = vars(numpy).get(name)
    if isinstance(ufunc, numpy.ufunc):
        found += call.args[ufunc.nin :]
    return found


def _cuts_off(node, digits):
    """Whether syntax is that of `int(x * 10**digits)` and the like."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return False
    scaled, name = node.args[0], getattr(node.func, "id", getattr(node.func, "attr", None))
    return (
        name in _WHOLE
        and isinstance(scaled, ast.BinOp)
        and isinstance(scaled.op, ast.Mult)
        and digits in (_power_of_ten(scaled.left), _power_of_ten(scaled.right))
    )


def _named_cuts(nodes):
    """{id of the syntax of such a call: digits} of those that are kept under a name, `n = int(x * 1e6)`, `n / 1e6`."""
    named = {}
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    named.setdefault(target.id, []).append(node.value)
    found = {}
    for node in nodes:
        digits = _power_of_ten(node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else None
        waiting = [node.left] if digits is not None else []
        while waiting:
            part = waiting.pop()
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult):
                waiting += [part.left, part.right]
            elif isinstance(part, ast.Name):
                found.update((id(one), digits) for one in named.get(part.id, ()) if _cuts_off(one, digits))
    return found


def _is_text_key(node):
    """Whether syntax is that of text: of a key of a dict, that is."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        return _is_text_key(node.left)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


class _Change(ast.NodeTransformer):
    """Puts the calls into a function."""

    def __init__(self, names, attributes, namespace, containers=frozenset()):
        self.names = names
        self.containers = containers
        self.caches = None  # of filled_caches; None: there are none
        self.tests = {}  # of one_value_caches
        self.looked = {}  # text that stands for a cache -> the cache
        self.cuts = {}  # id of the syntax of a call -> the digits that are kept by it
        self.lists = None  # names of lists of beside_lists; None: there is no such operator
        self.attributes = attributes
        self.namespace = namespace
        self.changes = 0

    def _writes(self, target):
        if isinstance(target, ast.Name):
            return ("name", target.id) in self.names
        if isinstance(target, ast.Attribute):
            return ("attribute", target.attr) in self.names or target.attr in self.attributes
        return False

    def _called(self, text, like, args, keywords=()):
        self.changes += 1
        made = ast.Call(ast.Constant(text), args, list(keywords))
        ast.copy_location(made.func, like)
        return ast.copy_location(made, like)

    def _through(self, value, *into):
        """The value through `fresh`, if it may be an array of its own; a list or dict with its items so."""
        if isinstance(value, ast.List | ast.Tuple):
            value.elts = [self._through(one) for one in value.elts]
        elif isinstance(value, ast.ListComp):
            value.elt = self._through(value.elt)
        elif isinstance(value, ast.Dict):
            value.values = [self._through(one) for one in value.values]
        elif isinstance(value, ast.Call) and getattr(value.func, "id", "") == "dict" and not value.args:
            for keyword in value.keywords:
                keyword.value = self._through(keyword.value) if keyword.arg else keyword.value
        elif isinstance(value, ast.DictComp):
            value.value = self._through(value.value)
        elif isinstance(value, ast.Call | ast.BinOp | ast.UnaryOp | ast.IfExp | ast.Subscript | ast.Attribute):
            return self._called(_FRESH, value, [value, *into])
        return value

    def _container(self, node):
        """The name of a container that is written into, to be read once more; None of anything else."""
        if isinstance(node, ast.Name) and node.id in self.containers and ("name", node.id) in self.names:
            return ast.copy_location(ast.Name(node.id, ast.Load()), node)
        return None

    def _is_module(self, node):
        """Whether an expression is a global module, or its attribute."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and isinstance(self.namespace.get(node.id), types.ModuleType)

    def _may_have(self, of):
        """Whether an expression may be a method: of a module only if that is numpy.random. [Drawn numbers]"""
        if not self._is_module(of.value):
            return True
        node = of.value
        return of.attr in DRAWS and (getattr(node, "attr", None) or self.namespace[node.id].__name__) in _RANDOM

    def visit_Assign(self, node):
        self.generic_visit(node)
        for target in node.targets:
            both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            if both and len(target.elts) == len(node.value.elts):
                pairs = zip(target.elts, node.value.elts, strict=True)
                node.value.elts = [self._through(v) if self._writes(t) else v for t, v in pairs]
        if len(node.targets) == 1:
            target = node.targets[0]
            if self._writes(target):
                node.value = self._through(node.value)
            elif isinstance(target, ast.Subscript) and (into := self._container(target.value)):
                node.value = self._through(node.value, into)
            elif isinstance(target, ast.Subscript) and self._writes(target.value) and _is_text_key(target.slice):
                node.value = self._through(node.value)
        return node

    def visit_NamedExpr(self, node):
        self.generic_visit(node)
        if self._writes(node.target):
            node.value = self._through(node.value)
        return node

    def visit_For(self, node):
        self.generic_visit(node)
        if isinstance(node.iter, (*_DISPLAYS, ast.Tuple)) and any(map(self._writes, _targets(node.target))):
            node.iter = self._through(node.iter)
        return node

    def visit_AnnAssign(self, node):
        self.generic_visit(node)
        if node.value is not None and self._writes(node.target):
            node.value = self._through(node.value)
        return node

    def _is_keeper(self, node):
        """Whether syntax names a class whose objects keep an array that is written into."""
        made = None
        if isinstance(node, ast.Name):
            made = self.namespace.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            made = vars(self.namespace.get(node.value.id) or types).get(node.attr) if self._is_module(node) else None
        return isinstance(made, type) and _keeps_what_is_written(made, self.namespace)

    def _of_cache(self, node):
        """What is known of the dict of this syntax, as syntax; None: the function fills none there. [Filled caches]"""
        if self.caches is None or not self.caches.dicts:
            return None
        known = self.caches.dicts.get(ast.dump(node))
        return None if known is None else [ast.copy_location(ast.Constant(one), node) for one in known]

    def visit_Subscript(self, node):
        read = isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice)
        known = self._of_cache(node.value) if read else None
        self.generic_visit(node)
        return node if known is None else self._called(_ITEM, node, [*known, node.value, node.slice])

    def visit_Compare(self, node):
        asks = len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn)
        known = self._of_cache(node.comparators[0]) if asks else None
        self.generic_visit(node)
        if known is None:
            return node
        found = self._called(_IN, node, [known[1], node.left, *node.comparators])
        return found if isinstance(node.ops[0], ast.In) else ast.copy_location(ast.UnaryOp(ast.Not(), found), node)

    def visit_If(self, node):
        cache = self.tests.get(id(node.test))
        self.generic_visit(node)
        if cache is not None:
            text = f"arraygrad: cache {len(self.looked)}"
            self.looked[text] = cache
            name = ast.copy_location(ast.Constant(text), node.test)
            node.test = self._called(_ASKED, node.test, [node.test, name])
        return node

    visit_While = visit_If

    def visit_JoinedStr(self, node):
        return self._text(node)

    def _text(self, node):
        """The text of a key beside the names that stand in it: Note [Filled caches] (4)."""
        makes_key = self.caches is not None and id(node) in self.caches.keys
        names = sorted({part.id for part in ast.walk(node) if isinstance(part, ast.Name)}) if makes_key else ()
        self.generic_visit(node)
        values = [ast.copy_location(ast.Name(name, ast.Load()), node) for name in names]
        return self._called(_TEXT, node, [node, *values]) if makes_key else node

    def visit_BinOp(self, node):
        if isinstance(node.op, ast.Mod):
            return self._text(node)
        self.generic_visit(node)
        digits = _power_of_ten(node.right) if isinstance(node.op, ast.Div) else None
        if digits is not None:
            node.left = self._cut(node.left, digits)
        if self.lists is not None and type(node.op) in OPERATORS:
            sides = [is_list(side, self.lists) for side in (node.left, node.right)]
            if any(sides) and not all(sides):
                name = ast.copy_location(ast.Constant(OPERATORS[type(node.op)]), node)
                return self._called(_BESIDE, node, [name, node.left, node.right])
        return node

    def _cut(self, node, digits):
        """A dividend, whose factors `int(x * 10**digits)` and the like go through `_digits_kept`."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            node.left, node.right = self._cut(node.left, digits), self._cut(node.right, digits)
        elif _cuts_off(node, digits):
            constant = ast.copy_location(ast.Constant(digits), node)
            return self._called(_CUT, node, [node.func, constant, node.args[0]])
        return node

    def visit_Call(self, node):
        of = node.func
        makes_key = self.caches is not None and id(node) in self.caches.keys
        looks = isinstance(of, ast.Attribute) and of.attr in ("get", "setdefault", "pop")
        known = self._of_cache(of.value) if looks else None
        self.generic_visit(node)
        if self._is_keeper(of):
            node.args = [one if isinstance(one, ast.Starred) else self._through(one) for one in node.args]
            for keyword in node.keywords:
                keyword.value = self._through(keyword.value) if keyword.arg else keyword.value
        if id(node) in self.cuts:
            constant = ast.copy_location(ast.Constant(self.cuts[id(node)]), node)
            return self._called(_CUT, node, [of, constant, *node.args])
        if makes_key:
            return self._called(_KEY, node, [of, *node.args], node.keywords)
        if known is not None:
            return self._called(_LOOK, node, [*known, of, *node.args], node.keywords)
        if isinstance(of, ast.Attribute) and of.attr in _METHODS and self._may_have(of):
            name = ast.copy_location(ast.Constant(of.attr), of)
            return self._called(_METHOD, node, [of.value, name, *node.args], node.keywords)
        if isinstance(of, ast.Attribute) and of.attr in _PUTS and node.args and self._container(of.value):
            node.args[-1] = self._through(node.args[-1])
        return node


def _counted():
    """What `references` and `references_shown` count of what nothing holds, called as rewritten code calls `fresh`."""
    names = {"copied": numpy.zeros(2).copy, "shown": numpy.zeros(4).reshape}
    found = []
    for text, call, count in (
        (_FRESH, "copied()", references),
        (_FRESH, "copied().reshape(1, 2)", references_shown),
    ):
        tree = ast.parse(f"def probe():\n    made = {call}\n    return made\n")
        change = _Change({("name", "made")}, frozenset(), {})
        tree = ast.fix_missing_locations(change.visit(tree))
        code = compiled(tree, types.SimpleNamespace(co_name="probe", co_firstlineno=1, co_filename="", co_flags=0))
        constants = [count if one == text else one for one in code.co_consts]
        found.append(types.FunctionType(code.replace(co_consts=tuple(constants)), names)())
    return found


set_counts(*_counted())
