"""What stands in for functions that read numbers from text: they warn of text that was made of a Tensor.

May import: adoption.builtin_answers, adoption.either, adoption.exchange, adoption.table, the standard library, numpy.

Note [Numbers read from text]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
Text holds no gradient, so a number that is written out and read again is a constant. A program that shows its numbers
does the first half only, and is right; the second half is where the gradient is lost.
(1) `str`, `repr` and `format` of a Tensor note the numbers in their text, `tensor_answers.note_text`, until the
    adopted call of their thread ends. The last ones stay.
(2) float, complex, numpy.array and their like look for the number that they read: `builtin_answers.tell_text`.
(3) What is given a document, or computes while it reads, is judged by its result: the functions here warn where a
    number in it is a noted one, and `eval` where one is in its text. Numbers that every program writes, 0, 1 and -1, do
    not count.
(4) Decimal and Fraction take one number. Their classes have stand-ins that only their call goes through.
Other readers are not seen: files of other programs, `astype` of an array of text, `exec`, configparser, csv,
Context.create_decimal, pandas.
Guarded by tests/adoption/test_numbers_read_from_text.py.
"""

import ast
import decimal
import fractions
import functools
import json
import re
import sys
import tomllib

import numpy

from arraygrad.adoption.builtin_answers import warn_of_text
from arraygrad.adoption.either import StandInClass
from arraygrad.adoption.exchange import TEXTS, is_on
from arraygrad.adoption.table import stand_in, stand_in_module

__all__ = ["READERS", "install", "reader"]

PASSES_ERRORS_ON = True  # what is raised here is the real function's: autograd.source_locations
_LEAVES = 4096  # so many numbers of a result are compared
_COMMON = (0.0, 1.0, -1.0)
_NUMBER = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def _tell_read(found, frame):
    """Warn if `found`, which a function has read from text, holds a number whose text was made of a Tensor."""
    noted = set(TEXTS)
    noted.difference_update(_COMMON)
    if noted and not noted.isdisjoint(_numbers_in(found, [])):
        warn_of_text(frame)


def _numbers_in(found, numbers_found):
    """The floating-point numbers of nested containers and arrays, at most `_LEAVES` of them, appended to a list."""
    if len(numbers_found) >= _LEAVES:
        return numbers_found
    if isinstance(found, float | decimal.Decimal | fractions.Fraction):
        numbers_found.append(float(found))
    elif isinstance(found, complex):
        numbers_found += [found.real, found.imag]
    elif isinstance(found, dict):
        for item in found.values():
            _numbers_in(item, numbers_found)
    elif isinstance(found, list | tuple | set | frozenset):
        for item in found:
            _numbers_in(item, numbers_found)
    elif type(found) is numpy.ndarray and found.dtype.kind in "fc":
        flat = found.ravel()[:_LEAVES]
        numbers_found += flat.real.tolist() + flat.imag.tolist()
    return numbers_found


def reader(real):
    """A function that reads text, by its result (3)."""

    @functools.wraps(real)
    def read(*args, **kwargs):
        found = real(*args, **kwargs)
        if TEXTS and is_on():
            _tell_read(found, sys._getframe(1))
        return found

    return read


@functools.wraps(eval)
def _eval(source, globals=None, locals=None, /):
    frame = sys._getframe(1)
    if globals is None:
        globals = frame.f_globals
        if locals is None:
            locals = frame.f_locals
            if locals is not globals and not isinstance(locals, dict):
                locals = dict(locals)  # as of locals(): a proxy of the frame from Python 3.13 on
    found = eval(source, globals, locals)
    if TEXTS and is_on() and isinstance(source, str):
        _tell_read([found, [sign * float(number) for number in _NUMBER.findall(source) for sign in (1, -1)]], frame)
    return found


class _NumberClass(StandInClass):
    """The type of what stands in for Decimal and Fraction."""

    def __call__(cls, *args, **kwargs):
        found = cls._real(*args, **kwargs)
        if TEXTS and is_on() and any(isinstance(x, str) for x in args):
            _tell_read(found, sys._getframe(1))
        return found


# (module, what is read there, what makes the stand-in of it).
READERS = (
    (json, ("load", "loads"), reader),
    (tomllib, ("load", "loads"), reader),
    (ast, ("literal_eval",), reader),
    (decimal, ("Decimal",), _NumberClass.of),
    (fractions, ("Fraction",), _NumberClass.of),
)


def install():
    """Put the functions of the standard library that read numbers into the table, with their modules, and `eval`."""
    for module, names, make in READERS:
        for name in names:
            real = getattr(module, name)
            stand_in(real, make(real))
        stand_in_module(module)
    stand_in(eval, _eval)
