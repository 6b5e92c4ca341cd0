"""Every function of scipy.special that takes complex numbers, of complex numbers.

The class: the ufuncs with a loop of complex numbers, arguments in all quadrants, parameters that are fixed (whole, zero
and negative ones) or differentiated; first and second derivatives by differences of SciPy's values.
"""

import numpy as np
import scipy.special as theirs

import arraygrad.scipy.special as ours
from arraygrad.scipy import NotDifferentiable

from .spelling import Spelling

CALLS = 150
UNDECIDED = 0.5  # branch cuts, and values without digits


def _loops():
    """Name of each function and the letters of each of its loops with a complex argument in double precision."""
    found = {}
    for name in sorted(dir(theirs)):
        function = getattr(theirs, name)
        if not isinstance(function, np.ufunc) or not hasattr(ours, name):
            continue
        loops = [loop.partition("->")[0] for loop in function.types]
        loops = [loop for loop in loops if "D" in loop and not set(loop) & set("fFlgG")]
        if loops:
            found[name] = loops
    return found


LOOPS = _loops()


def draw(rng):
    name = str(rng.choice(list(LOOPS)))
    return member(rng, name, str(rng.choice(LOOPS[name])))


def member(rng, name, loop):
    shape = ((), (2,))[int(rng.integers(2))]
    low, high = ((0.2, 2.5), (-2.5, 2.5), (-0.9, 0.9))[int(rng.integers(3))]
    arrays, fixed, still = [], {}, rng.random() < 0.7  # many have no derivative by a parameter
    for place, letter in enumerate(loop):
        if letter in "qpiI":
            fixed[place] = int(rng.integers(0, 4))
        elif letter == "D":
            arrays.append(rng.uniform(low, high, shape) + 1j * rng.uniform(-1.5, 1.5, shape))
        elif still:
            many = [1.0, 2.0, 0.5, 1.3] if name.startswith("hyp") else [0.0, 1.0, 2.0, -1.0, -2.0, 0.5, 1.3, -0.7]
            fixed[place] = float(rng.choice(many))
        else:
            arrays.append(rng.uniform(0.2, 2.5, shape))

    def call(module):
        def run(*given):
            rest = iter(given)
            return getattr(module, name)(*[fixed[i] if i in fixed else next(rest) for i in range(len(loop))])

        return run

    what = f"special.{name}({', '.join(map(repr, arrays))}, with {fixed} by their places)"
    return Spelling(
        what, call(ours), call(theirs), tuple(map(np.asarray, arrays)), order=2, rtol=1e-5,
        may_refuse=(NotDifferentiable, TypeError), must_refuse=False, dtypes=False,
    )  # fmt: skip
