"""`adopt`: a function whose program makes recordable arrays and keeps its numbers recorded while it runs.

May import: adoption.builtin_answers, adoption.exchange, adoption.bindings, adoption.compiled_names,
adoption.cupy_names, adoption.drawn_numbers, adoption.why_real, adoption.lent, adoption.masked_names,
adoption.namespaces, adoption.stand_ins, adoption.pickled, adoption.reach, adoption.numba_names, adoption.numpy_names,
adoption.number_names, adoption.scipy_names, adoption.setting, adoption.subclasses, autograd.python_numbers,
core.adopted, adoption.tensor_answers, engine.later, numpy_api.plainly, numpy.

`numpy.zeros(3)` sees no argument that could say that its result will hold recorded values, and `math.sin(t)` asks a
Tensor for a number: NumPy and Python have no protocol for either. So `out = np.zeros(3); out[0] = x` and `math.sin(x)`
are refused where nothing is adopted. An adopted call, which is that of every transform unless it is told otherwise
(`adoption.setting`), runs the program with other names for them.

Note [Stand-ins]
~~~~~~~~~~~~~~~~
(1) While an adopted call runs, the modules that its function reaches (Note [What adoption reaches]) hold stand-ins
    under the names that they have for numpy, math, cmath, their functions and a few builtins. When the call ends the
    real things are back. Nothing is changed in NumPy or the standard library, and no function is copied: what the
    program assigns, globals included, is assigned where it says.
(2) A stand-in asks whether its own thread runs an adopted call, and is the real thing if not. So other threads see no
    difference, nor does what keeps a stand-in after the call.
(3) Calls that overlap, nested or on several threads, count: the last one to end puts the real things back. If a signal
    handler's exception arrives in between, stand-ins may stay, and do nothing.
(4) A stand-in computes what the real thing computes, and raises what it raises: each of math calls the real function
    on the plain numbers first.
(5) An array that a creation function makes is a Tensor only if nobody else holds its memory: `np.asarray(a)` of a plain
    array stays that array, because what is written into it is read through `a` too, where no gradient is.
(6) Why not copies of functions with other globals: methods, functions of other modules and all that looks names up by
    itself run the originals. Why not for good: compiled dispatchers (Numba's) and `np is numpy` would see the
    stand-ins outside of a call.
Guarded by tests/adoption.
"""

import sys

import numpy

from arraygrad.adoption import (
    compiled_names,
    cupy_names,
    drawn_numbers,
    lent,
    masked_names,
    numba_names,
    number_names,
    numpy_names,
    pickled,
    scalar_names,
    scipy_names,
    subclasses,
    tensor_answers,
    testing_names,
    text_names,
)
from arraygrad.adoption.bindings import real_of
from arraygrad.adoption.builtin_answers import given_as_float
from arraygrad.adoption.exchange import Adopted, forgetting, is_on, later
from arraygrad.adoption.lent import why_not_lent
from arraygrad.adoption.namespaces import forget
from arraygrad.adoption.reach import is_foreign, reach_of
from arraygrad.adoption.setting import packages_of
from arraygrad.adoption.stand_ins import pair_of
from arraygrad.adoption.why_real import why_numpy_is_kept, why_real
from arraygrad.autograd import python_numbers
from arraygrad.core.adopted import set_answers
from arraygrad.engine.later import set_later
from arraygrad.numpy_api import plainly

__all__ = ["adopt"]

python_numbers.set_adoption(
    is_on, numba_names.called_plainly, given_as_float, (why_real, why_numpy_is_kept, why_not_lent)
)
set_later(later, real_of)
plainly.set_adoption(is_on)
set_answers(tensor_answers)
scalar_names.install()
masked_names.install()
numpy_names.install()
number_names.install()
text_names.install()
testing_names.install()
drawn_numbers.install()
pickled.install()
numba_names.install()
compiled_names.install()
lent.install()
scipy_names.install()
subclasses.install()


def _adopt(function, packages=None):
    """A function whose program makes recordable arrays, and keeps its numbers recorded, while it is called.

    The transforms do it themselves, unless `adopt=False` or `arraygrad.set_adoption` says otherwise; `adopt(f)` serves
    code that calls `backward()`.

    Parameters
    ----------
    function : callable
        Functions, methods and callable objects of Python code. What is compiled runs as it is.
    packages : str or tuple of str, optional
        Names of the packages and modules that are reached; by default all that the function leads to, but the standard
        library and the array libraries.

    Returns
    -------
    callable
        Called as `function`. While it runs, floating-point and complex arrays that NumPy's creation functions make are
        Tensors, functions of math and cmath, `float` and `complex` of recorded Tensors stay recorded, and `isinstance`
        and `type` answer as for the plain value. `adopt.clear()` undoes what is left in modules, nothing but the names
        of builtins, and forgets what was searched.

    Raises
    ------
    TypeError
        If `function` can't be called, or `packages` are no names.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> def energy(t):
    ...     out = np.zeros(2)
    ...     out[0] = math.sin(t)
    ...     return out.sum()
    >>> t = ag.tensor(0.0, requires_grad=True)
    >>> ag.adopt(energy)(t).backward()
    >>> t.grad
    Tensor(1.)
    """
    if not callable(function):
        raise TypeError(f"adopt: expected a function, got {type(function).__name__}")
    return _adopted(function, _pair(function), None if packages is None else packages_of("adopt", packages))


def _pair(function):
    """What `pair_of` says of a function of NumPy, math or SciPy itself, once their libraries were looked for."""
    _look_for_libraries()
    of_numpy = type(function) is numpy.ufunc and getattr(numpy, function.__name__, None) is function
    return None if of_numpy else pair_of(function)  # a ufunc of NumPy gets Tensors, and needs nothing


def _adopted(function, pair, packages):
    return Adopted(function if pair is None else pair[1], reach_of(function, packages))


_modules = 0  # how many there were when libraries were looked for


def _look_for_libraries():
    """Put what stands in for the modules of SciPy and CuPy into the table as these are loaded."""
    global _modules
    if len(sys.modules) != _modules:
        _modules = len(sys.modules)
        refreshed = [one.refresh() for one in (scipy_names, cupy_names, compiled_names, text_names, numba_names)]
        if any(refreshed):
            forgetting(forget)


def adopts_by_default(function):
    """What calls a function as `set_adoption` says at that time; itself where adoption changes nothing."""
    pair = _pair(function)
    if pair is None and is_foreign(function):
        return function
    made = _adopted(function, pair, None)
    made.as_set = True
    return made


def _clear():
    """Forget which modules adoption reached, and take the names of builtins out of them again."""
    global _modules
    _modules = 0
    forgetting(forget)


adopt = _adopt
adopt.__name__ = adopt.__qualname__ = "adopt"
adopt.clear = _clear
_clear.__name__ = _clear.__qualname__ = "clear"
