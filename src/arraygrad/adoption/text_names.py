"""What stands in for functions that read numbers from text: they warn of text that was made of a Tensor.

May import: adoption.builtin_answers, adoption.either, adoption.exchange, adoption.table, autograd.source_locations, the
standard library, numpy; libraries where the program has loaded them.

Note [Numbers read from text]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
Text holds no gradient, so a number that is written out and read again is a constant. A program that shows its numbers
does the first half only, and is right; the second half is where the gradient is lost.
(1) `str`, `repr` and `format` of a Tensor note the numbers in their text, `tensor_answers.note_text`, until the
    adopted call of their thread ends. The last ones stay.
(2) float, complex, numpy.array and their like look for the number that they read: `builtin_answers.tell_text`.
(3) What is given a document, or computes while it reads, is judged by its result: the functions here warn where a
    number in it is a noted one, and `eval`, `exec` and `compile` where one is in their text. Numbers that every program
    writes, 0, 1 and -1, do not count.
(4) Decimal and Fraction take one number. Their classes have stand-ins that only their call goes through. csv.reader
    gives rows, and its stand-in an iterator that looks at each.
(5) No name holds a method: `a.astype(float)` of an array of text, `context.create_decimal`, `parser.getfloat`,
    `fetchone` of a database. The code of a function that calls one is rewritten, and asks `tell_method` (Note [Code
    that is rewritten]).
(6) Another program that is given such text answers with numbers of its own. It is told by what it is given, where its
    output is read (`subprocess`).
Not seen are text that is cut into parts of numbers, files that other programs read, and text that is stored into an
array of numbers.
Guarded by tests/adoption/test_numbers_read_from_text.py.
"""

import __future__

import functools
import importlib
import re
import sys
import types

import numpy

from arraygrad.adoption.builtin_answers import warn_of_text
from arraygrad.adoption.either import StandInClass
from arraygrad.adoption.exchange import TEXTS, is_on
from arraygrad.adoption.table import STAND_INS, stand_in, stand_in_module
from arraygrad.autograd.source_locations import SourceLocation, warn_at
from arraygrad.core.convert import known_refusal

__all__ = [
    "LIBRARIES", "METHODS", "READERS", "Rows", "holds_text", "install", "load", "reader", "refresh", "rows_of",
    "tell_method", "tell_read",
]  # fmt: skip

PASSES_ERRORS_ON = True  # what is raised here is the real function's: autograd.source_locations
_LEAVES = 4096  # so many numbers of a result are compared
_COMMON = (0.0, 1.0, -1.0)
_OF_NUMBERS = frozenset(("decimal", "_decimal", "_pydecimal", "fractions"))  # modules of classes of numbers
_NUMBER = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_FLAGS = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)

# Methods that read numbers from text (5). `execute` is asked for the text of its query, all others for their result.
METHODS = frozenset("create_decimal decode eval execute fetchall fetchmany fetchone getfloat raw_decode".split())


def tell_read(found, frame):
    """Warn if `found`, which a function has read from text, holds a number whose text was made of a Tensor."""
    noted = set(TEXTS)
    noted.difference_update(_COMMON)
    if not noted:
        return
    numbers = _numbers_in(found, [])
    # Readers of tables may miss the last bits of a number.
    if not noted.isdisjoint(numbers) or not set(map(_nearly, noted)).isdisjoint(map(_nearly, numbers)):
        warn_of_text(frame)


def _nearly(number):
    return format(number, ".14g")


def _numbers_in(found, numbers_found):
    """The floating-point numbers of nested containers and arrays, at most `_LEAVES` of them, appended to a list."""
    if len(numbers_found) >= _LEAVES:
        return numbers_found
    if isinstance(found, float):
        numbers_found.append(found)
    elif hasattr(found, "as_integer_ratio") and any(base.__module__ in _OF_NUMBERS for base in type(found).__mro__):
        numbers_found.append(float(found))
    elif isinstance(found, complex):
        numbers_found += [found.real, found.imag]
    elif isinstance(found, dict):
        for item in found.values():
            _numbers_in(item, numbers_found)
    elif isinstance(found, list | tuple | set | frozenset):
        for item in found:
            _numbers_in(item, numbers_found)
    elif type(found) is numpy.ndarray:
        flat = found.ravel()[:_LEAVES]
        if found.dtype.names:
            for name in found.dtype.names:
                _numbers_in(flat[name], numbers_found)
        elif found.dtype.kind in "fc":
            numbers_found += flat.real.tolist() + flat.imag.tolist()
        elif found.dtype.kind == "O":
            _numbers_in(flat.tolist(), numbers_found)
    elif isinstance(found, numpy.void) and found.dtype.names:
        _numbers_in(found.reshape(1), numbers_found)
    elif type(getattr(found, "array", None)) is numpy.ndarray:  # a Tensor
        _numbers_in(found.array, numbers_found)
    elif hasattr(type(found), "to_numpy"):  # a table, a column
        _numbers_in(found.to_numpy(), numbers_found)
    return numbers_found


def numbers_written(text):
    """The numbers that are written in a text, with either sign: a sign may be an operator."""
    return [sign * float(number) for number in _NUMBER.findall(text) for sign in (1, -1)]


def holds_text(data):
    """Whether numbers that are made of data, a nested list or an array, are read from text."""
    if isinstance(data, str | bytes | bytearray):
        return True
    if isinstance(data, list | tuple):
        return any(holds_text(item) for item in data)
    if type(data) is numpy.ndarray:
        return data.dtype.kind in "SUT" or (data.dtype.kind == "O" and holds_text(data.ravel()[:_LEAVES].tolist()))
    return False


def _is_query(args):
    return bool(args) and isinstance(args[0], str) and args[0].lstrip()[:6].lower() == "select"


def rows_of(name, args, found):
    """What a method has given; what a query gives with its rows looked at, where the program loops over it."""
    return Rows(found) if name == "execute" and _is_query(args) and hasattr(found, "fetchone") else found


def tell_method(obj, name, args, found, frame):
    """Warn where a method of `METHODS`, or `astype` of text, has `found` a number that was written of a Tensor."""
    if name == "execute":
        if not _is_query(args):
            return
        found = [numbers_written(str(part)) for part in args]
    elif name == "eval":  # of a table of pandas
        found = [found, numbers_written(str(args[0]) if args else "")]
    elif name == "create_decimal":  # to the digits of its context
        found = [found, numbers_written(str(args[0]) if args else "")]
    elif name == "decode" and type(obj).__name__ != "JSONDecoder":
        return
    tell_read(found, frame)


def reader(real):
    """A function that reads text, by its result (3)."""

    @functools.wraps(real)
    def read(*args, **kwargs):
        found = real(*args, **kwargs)
        if TEXTS and is_on():
            tell_read(found, sys._getframe(1))
        return found

    return read


def _names(frame, globals, locals):
    """The names that code which a frame runs has, by default the frame's own."""
    if globals is None:
        globals = frame.f_globals
        if locals is None:
            locals = frame.f_locals
            if locals is not globals and not isinstance(locals, dict):
                locals = dict(locals)  # as of locals(): a proxy of the frame from Python 3.13 on
    return globals, locals


@functools.wraps(eval)
def _eval(source, globals=None, locals=None, /):
    frame = sys._getframe(1)
    found = eval(source, *_names(frame, globals, locals))
    if TEXTS and is_on() and isinstance(source, str):
        tell_read([found, numbers_written(source)], frame)
    return found


@functools.wraps(exec)
def _exec(source, globals=None, locals=None, /, **kwargs):
    frame = sys._getframe(1)
    if TEXTS and is_on() and isinstance(source, str):
        tell_read(numbers_written(source), frame)
    exec(source, *_names(frame, globals, locals), **kwargs)


@functools.wraps(compile)
def _compile(source, filename, mode, flags=0, dont_inherit=False, optimize=-1, **kwargs):
    frame = sys._getframe(1)
    if TEXTS and is_on() and isinstance(source, str):
        tell_read(numbers_written(source), frame)
    inherited = 0 if dont_inherit else frame.f_code.co_flags & _FLAGS
    return compile(source, filename, mode, flags | inherited, True, optimize, **kwargs)


class Rows:
    """What csv.reader and a query give, whose rows are looked at (4)."""

    def __init__(self, real):
        self._real = real

    def __iter__(self):
        return self

    def __next__(self):
        row = next(self._real)
        if TEXTS and is_on():
            tell_read(row, sys._getframe(1))
        return row

    def __getattr__(self, name):
        return getattr(self._real, name)


def _rows(real):
    @functools.wraps(real)
    def read(*args, **kwargs):
        found = real(*args, **kwargs)
        return Rows(found) if is_on() else found

    return read


class _DictReaderClass(StandInClass):
    """The type of what stands in for csv.DictReader, which asks a csv.reader of its own."""

    def __call__(cls, *args, **kwargs):
        found = cls._real(*args, **kwargs)
        if is_on():
            found.reader = Rows(found.reader)
        return found


def _tell_given(args, kwargs, frame):
    """(6)"""
    given = list(map(str, _texts_in([*args, *kwargs.values()])))
    noted = set(TEXTS)
    noted.difference_update(_COMMON)
    if noted and not noted.isdisjoint([number for text in given for number in numbers_written(text)]):
        at = SourceLocation(frame)
        warn_at(
            at,
            f"{at}: another program is given text that was made of a Tensor, and no gradient comes back from it: "
            "arraygrad.primitive gives a function that calls it a derivative; make the text of "
            "arraygrad.stop_gradient(x) where a constant is meant",
        )


def _texts_in(items):
    for item in items:
        if isinstance(item, str):
            yield item
        elif isinstance(item, list | tuple):
            yield from _texts_in(item)
        elif isinstance(item, bytes):
            yield item.decode("ascii", "replace")


def _given(real):
    """A function that gives another program text, and its output back."""

    @functools.wraps(real)
    def call(*args, **kwargs):
        if TEXTS and is_on() and (real.__name__ != "run" or "stdout" in kwargs or kwargs.get("capture_output")):
            _tell_given(args, kwargs, sys._getframe(1))
        return real(*args, **kwargs)

    return call


class _ProcessClass(StandInClass):
    """The type of what stands in for subprocess.Popen."""

    def __call__(cls, *args, **kwargs):
        if TEXTS and is_on() and "stdout" in kwargs:
            _tell_given(args, kwargs, sys._getframe(1))
        return cls._real(*args, **kwargs)


class _NumberClass(StandInClass):
    """The type of what stands in for Decimal and Fraction."""

    def __call__(cls, *args, **kwargs):
        try:
            found = cls._real(*args, **kwargs)
        except TypeError as error:
            raise known_refusal(args, error)  # noqa: B904 (the same error)
        if TEXTS and is_on() and any(isinstance(x, str) for x in args):
            tell_read(found, sys._getframe(1))
        return found


# Modules of the standard library, what reads there, and what makes the stand-in of it; known when they are loaded.
READERS: dict = {
    "json": {"load loads": reader},
    "tomllib": {"load loads": reader},
    "plistlib": {"load loads": reader},
    "locale": {"atof": reader},
    "ast": {"literal_eval": reader},
    "decimal": {"Decimal": _NumberClass.of},
    "fractions": {"Fraction": _NumberClass.of},
    "csv": {"reader": _rows, "DictReader": _DictReaderClass.of},
    "subprocess": {"run check_output getoutput getstatusoutput": _given, "Popen": _ProcessClass.of},
}
# Other libraries, and what reads there.
LIBRARIES = {
    "pandas": (
        "eval read_clipboard read_csv read_fwf read_html read_json read_sql read_sql_query read_table read_xml "
        "to_numeric"
    ),
    "polars": "read_csv read_json read_ndjson",
    "orjson": "loads",
    "ujson": "load loads",
    "simplejson": "load loads",
    "yaml": "full_load load safe_load unsafe_load",
    "toml": "load loads",
    "tomli": "load loads",
    "msgpack": "unpackb",
}
_MODULES: dict = READERS | {name: {names: reader} for name, names in LIBRARIES.items()}


def install():
    """Put `eval`, `exec` and `compile` into the table, and the modules that are loaded."""
    for real, other in ((eval, _eval), (exec, _exec), (compile, _compile)):
        stand_in(real, other)
    refresh()


def refresh():
    """Put what reads numbers in modules that are loaded by now into the table; whether any was new."""
    loaded = [name for name in _MODULES if type(sys.modules.get(name)) is types.ModuleType]  # None forbids an import
    new = [name for name in loaded if id(sys.modules[name]) not in STAND_INS]
    for name in new:
        module = sys.modules[name]
        for names, make in _MODULES[name].items():
            for reads in names.split():
                real = getattr(module, reads, None)
                if isinstance(real, types.FunctionType | types.BuiltinFunctionType | type):
                    stand_in(real, make(real))
        stand_in_module(module)
    return bool(new)


def load(names):
    """Load those of the modules with these names that code will import: what stands in for them must be there."""
    new = [name for name in names if name in _MODULES and name not in sys.modules]
    for name in new:
        try:
            importlib.import_module(name)
        except Exception:  # the program's affair, when it comes to that
            continue
    if new:
        refresh()
