"""`python -m arraygrad profile MODULE:FUNCTION`: which lines take the time and the memory of a value and a gradient?

May import: arraygrad's public names, adoption.setting, core.containers, tools.check_inputs, numpy.
"""

from __future__ import annotations

import time

import numpy

import arraygrad
from arraygrad.adoption.setting import adopted
from arraygrad.core.containers import flatten, unflatten
from arraygrad.tools.check_inputs import CannotCheck, differentiated, load, make_inputs

__all__ = ["run"]


def run(options):
    """The command: prints the tables and returns 0. Raises CannotCheck if there is no such function."""
    function, _ = load(options.target)
    args, kwargs = make_inputs(function, options)
    argnums = differentiated(function, args) if options.argnums is None else tuple(options.argnums)
    try:
        function(*args, **kwargs)
    except Exception as error:
        raise CannotCheck(
            f"a plain call of {options.target} raises {type(error).__name__}: {error}. "
            "--shapes gives the shape of each argument, as in --shapes 3 100x3; without it each is a single number"
        ) from error
    both = _value_and_gradient(adopted(function, options.adopt), args, kwargs, argnums)
    start = time.perf_counter()
    function(*args, **kwargs)
    plain = time.perf_counter() - start
    both()  # what is made once, such as stand-ins and rules, is made here
    start = time.perf_counter()
    both()
    whole = time.perf_counter() - start
    with arraygrad.autograd.graph.profile() as profile:
        both()
    print(options.target)
    print(f"  a plain call takes {1000 * plain:.3g} ms, value and gradient {1000 * whole:.3g} ms")
    print()
    print(profile.by_line)
    if options.operations:
        print()
        print(profile)
    return 0


def _value_and_gradient(function, args, kwargs, argnums):
    """A call of `function` and of its gradient: of a sum of its results, where these are more than one number."""

    def chosen(*parts):
        given = list(args)
        for at, part in zip(argnums, parts, strict=True):
            given[at] = part
        return function(*given, **kwargs)

    def both():
        # `function` is adopted, if it is: what stands around it here needs no adoption.
        value, pull = arraygrad.vjp(chosen, *[args[at] for at in argnums], adopt=False)
        leaves, structure = flatten(value)
        pull(unflatten(structure, [_ones(leaf) for leaf in leaves]))

    return both


def _ones(leaf):
    if isinstance(leaf, float | complex):
        return type(leaf)(1.0)
    return numpy.ones_like(leaf) if hasattr(leaf, "dtype") else leaf
