"""Classes that a program derives from those of the standard library and NumPy that have stand-ins in adopted calls.

The class: bases with a class that stands in for them (Decimal, Fraction, poly1d, ndenumerate) x what a derived class
asks of its base by name, special methods that `object` has too among it. With plain data it is what it is in a plain
call: Note [Methods that a class is asked for].

Imports the public names of arraygrad.
"""

import decimal
import fractions
import itertools

import numpy as np
import pytest

import arraygrad as ag

OBJECTS = {
    "decimal.Decimal": ("def __new__(cls, *given): return {base}.__new__(cls, *given)", '"0.5"', decimal),
    "fractions.Fraction": ("def __new__(cls, *given): return {base}.__new__(cls, *given)", "1, 3", fractions),
    "np.poly1d": ("def __init__(self, *given): {base}.__init__(self, *given)", "[1.0, 2.0]", np),
}
ASKED = {
    "text": "len({base}.__str__(me))",
    "representation": "len({base}.__repr__(me))",
    "equal": "1 + ({base}.__eq__(me, me) is True)",
    "other": "1 + ({base}.__ne__(me, other) is True)",
    "not equal": "1 + ({base}.__eq__(me, other) is True)",
    "hash": "1 + ({base}.__hash__ is None or {base}.__hash__(me) == hash(me))",
    "sum": "len(str({base}.__add__(me, me)))",
    "own text": "len(str(me))",
    "parts": "len({base}.__reduce__(me)) if {base} is not np.poly1d else 1.0",
}


@pytest.mark.parametrize(("base", "asked"), list(itertools.product(OBJECTS, ASKED)))
def test_what_a_derived_class_asks_of_its_base(program, base, asked):
    made, given, _ = OBJECTS[base]
    run = program(
        derivedoflibrary=f"""
        import decimal, fractions
        import numpy as np
        class Mine({base}):
            {made.format(base=base)}
            def __str__(self):
                return "mine: " + {base}.__str__(self)
            def __repr__(self):
                return "Mine: " + {base}.__repr__(self)
            __hash__ = {base}.__hash__
        def f(x):
            me, other = Mine({given}), Mine({given.replace("0.5", "0.7").replace("3", "7").replace("2.0", "5.0")})
            return x * ({ASKED[asked].format(base=base)})
        """
    ).f
    slope = run(1.0)
    assert slope > 0
    assert ag.grad(run)(3.0) == slope
    assert run(1.0) == slope
