"""What `verbose=True` tells while an equation is solved: how often the function was called, and how far it is.

May import: implicit.common, transforms.tracked_call, sys, time.
"""

import sys
import time

from arraygrad.implicit.common import raw
from arraygrad.transforms.tracked_call import meta_of

__all__ = ["Watched"]

PERIOD = 2.0  # seconds between lines


class Watched:
    """A solver's function that prints a line to stderr every two seconds, and one at the end.

    `what(value, x)` is the array whose largest element tells how far the solver is; `said` names it.
    """

    def __init__(self, name, fun, said, what):
        self._name = name
        self._fun = fun
        self._said = said
        self._what = what
        self._calls = 0
        self._last = None
        self._begun = self._told = time.monotonic()

    def __call__(self, x):
        value = self._fun(x)
        self._calls += 1
        self._last = (raw(x), raw(value))
        now = time.monotonic()
        if now >= self._told + PERIOD:
            self._told = now
            self._tell("solving")
        return value

    def finish(self):
        """Print the last line."""
        self._tell("solved")

    def _tell(self, state):
        seconds = time.monotonic() - self._begun
        text = f"{self._name}: {state}, {self._calls} call{'s' * (self._calls != 1)} of the function in {seconds:.1f} s"
        if self._last is not None:
            x, value = self._last
            text += f", {self._said} {_largest(self._what(value, x)):.3g}"
        print(text, file=sys.stderr, flush=True)


def _largest(array):
    if isinstance(array, int | float):
        return float(array)
    size, xp = meta_of(array).size, meta_of(array).ops.xp
    if size == 1:
        return float(xp.reshape(array, ()))
    return float(xp.max(xp.abs(array))) if size else 0.0
