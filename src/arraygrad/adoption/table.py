"""The table of what stands in for what: pairs (real thing, stand-in) that are known from the start.

Note [Files of adoption] in __init__.py names the files beside it.

May import: the standard library.
"""

import functools
import sys
import types

__all__ = [
    "CALLED", "CREATORS", "LIKE", "MAKERS", "REALS", "SCALAR_TYPES", "STAND_INS", "STAND_IN_MODULES", "UFUNC_METHODS",
    "WITHOUT_SCALAR_TYPES", "stand_in", "stand_in_for", "stand_in_made", "stand_in_module", "stand_ins_of",
    "stands_for",
]  # fmt: skip


# Functions that make an array of numbers and shapes alone, and those that do so of the shape of another.
CREATORS = frozenset(
    """
    arange bartlett blackman empty eye full geomspace hamming hanning identity kaiser linspace logspace ones tri zeros
    """.split()
)
LIKE = frozenset("empty_like full_like ones_like zeros_like".split())
UFUNC_METHODS = frozenset("accumulate at outer reduce reduceat".split())

# id of a module, function or type -> (it, what stands in for it); written while the room is imported, and by `stand_in`
STAND_INS: dict = {}
# id of what stands in for something -> (it, the real thing)
REALS: dict = {}
# functions that give (the real thing, its stand-in) for a value whose stand-in is made when it is met, else None
MAKERS: list = []
# id of numpy and of numpy.ndarray -> what stands in for it where code does nothing with numpy.ndarray but call it
CALLED: dict = {}
# ids of NumPy's types of scalars that have stand-ins
SCALAR_TYPES: set = set()
# id of a stand-in for numpy -> the same without stand-ins for the types of scalars
WITHOUT_SCALAR_TYPES: dict = {}
# name of a module -> name that imports what stands in for it
STAND_IN_MODULES: dict = {}


def stand_in(real, other):
    """Have `other` stand in for the module, function or type `real` in adopted calls.

    `other` must do what `real` does wherever `exchange.is_on()` is False: other threads may find it meanwhile.
    """
    STAND_INS[id(real)] = (real, other)
    stands_for(other, real)
    if isinstance(real, types.ModuleType):
        name = f"arraygrad {real.__name__}"  # no program can write that
        sys.modules[name] = other
        STAND_IN_MODULES[real.__name__] = name


def stand_in_module(module):
    """Have a module with the names of `module`, and what stands in for them, stand in for it."""
    other = types.ModuleType(module.__name__, module.__doc__)
    vars(other).update(vars(module))
    vars(other).update(stand_ins_of(module))
    if not hasattr(module, "__getattr__"):  # which is copied: its names are made when they are asked for
        vars(other)["__getattr__"] = functools.partial(getattr, module)  # names and submodules that come later
    stand_in(module, other)


def stand_in_made(real, make):
    """(real, what stands in for it), made by `make(real)` when adoption first meets it."""
    if id(real) not in STAND_INS:
        stand_in(real, make(real))
    return STAND_INS[id(real)]


def stands_for(other, real):
    """Note what something stands in for, which a module may hold while a call runs."""
    REALS[id(other)] = (other, real)


def stand_in_for(value):
    """What stands in for a value; the value itself where nothing does."""
    real, other = STAND_INS.get(id(value), (None, None))
    return other if real is value else value


def stand_ins_of(module):
    """dict name -> what stands in for it, of a module's names."""
    found = {name: STAND_INS.get(id(value)) for name, value in vars(module).items()}
    return {name: pair[1] for name, pair in found.items() if pair is not None and pair[0] is vars(module)[name]}
