"""scipy.sparse.csgraph: functions of graphs, which have no derivative, for matrices of ours.

May import: scipy._guards, scipy.sparse._matrix_base, core.containers, core.convert, SciPy.

What they tell of the pattern alone is a constant, whatever the values are. Of the weights they take constants: a matrix
that no gradient reaches is given to SciPy as its own.
"""

import functools

from scipy.sparse import csgraph

from arraygrad.core.containers import flatten
from arraygrad.core.convert import known_refusal
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled
from arraygrad.scipy._declare import mirror
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.sparse._matrix_base import Base, plain_of, tracked

# Their results are whole numbers that depend on the pattern, or piecewise constant in the weights.
_OF_THE_PATTERN = frozenset(
    """
    breadth_first_order connected_components depth_first_order maximum_bipartite_matching
    min_weight_full_bipartite_matching reverse_cuthill_mckee structural_rank
    """.split()
)


def _constant(name, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        values = [*args, *kwargs.values()]
        if name not in _OF_THE_PATTERN and is_grad_enabled() and tracked(*values):
            text = (
                f"arraygrad.scipy.sparse.csgraph.{name}: the weights require grad, but the function has no rule. Give "
                "it the matrix of numpy.asarray(arraygrad.stop_gradient(values)), and sum the weights along the path "
                "that it finds, values[path], which is recorded"
            )
            parts = [one._values if isinstance(one, Base) else one for one in values]
            raise known_refusal(flatten(parts)[0], NotDifferentiable(text))
        return function(*map(_plain, args), **{key: _plain(value) for key, value in kwargs.items()})

    return call


def _plain(value):
    return plain_of(value) if isinstance(value, (Base, Tensor)) else value


# Name -> what stands for SciPy's function.
FUNCTIONS = {
    name: _constant(name, getattr(csgraph, name))
    for name in csgraph.__all__
    if callable(getattr(csgraph, name)) and not isinstance(getattr(csgraph, name), type)
}
globals().update(FUNCTIONS)
__all__ = ["FUNCTIONS"]

__getattr__, __dir__ = mirror(globals(), csgraph)
