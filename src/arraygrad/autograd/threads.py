"""How many threads may share the work of one large kernel of the NumPy backend.

May import: autograd, engine.sharing.
"""

from __future__ import annotations

import operator

from arraygrad.engine import sharing
from arraygrad.engine.modes import Mode

__all__ = ["get_num_threads", "set_num_threads"]

MOST = 4096  # far beyond any machine's cores: a larger number is a mistake


def set_num_threads(n):
    """Let up to `n` threads, the caller's included, share each large elementwise kernel; 1, the default: no others.

    Shared are the compiled loops, forwards and backward rules of NumPy arrays (float32, float64, complex) from a size
    on where two threads are faster than one: 256 KB of a costly function like exp, 8 MB of an addition. Smaller ones,
    sums of everything, sums over first axes, and whatever takes NumPy's own call are computed by the caller. Results,
    floating-point warnings and errors are those of one thread, to the last bit.

    It bounds what the whole process uses: what several Python threads compute at once shares these `n`, of which no
    more are used than there are cores. Above 1 it also bounds `autograd.set_cpu_workers`: a run is joined by at most
    n - 1 workers, and while one is in it, kernels are not shared. Nor are they while a product of matrices is computed,
    for which BLAS has threads of its own: how many, is for it to say.

    Acts on the whole process. In a `with` statement the previous number comes back at the end of the block. The other
    threads start when they are first needed, end after five seconds without work, and never run Python code.

    Parameters
    ----------
    n : int
        From 1 to 4096.

    Raises
    ------
    TypeError
        If `n` is no integer.
    ValueError
        If `n` is out of range.

    Examples
    --------
    >>> import arraygrad as ag
    >>> with ag.set_num_threads(2):
    ...     ag.get_num_threads()
    2
    """
    return Mode(sharing.set_num_threads, _checked(n), now=True)


def get_num_threads():
    """How many threads may share a kernel: what `set_num_threads` was given last, or 1.

    Returns
    -------
    int

    Examples
    --------
    >>> import arraygrad as ag
    >>> with ag.set_num_threads(4):
    ...     ag.get_num_threads()
    4
    """
    return sharing.get_num_threads()


def _checked(n):
    try:
        number = None if isinstance(n, bool) else operator.index(n)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"set_num_threads: expected `n` as a number of threads, an int, but got {type(n).__name__}")
    if not 1 <= number <= MOST:
        raise ValueError(f"set_num_threads: expected `n` as a number of threads from 1 to {MOST}, but got {number}")
    return number
