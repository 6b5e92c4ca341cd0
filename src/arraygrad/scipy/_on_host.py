"""Rules for arrays on a device: they run there where they can, else on the host.

May import: core.containers, core.tensor, engine, interop.transfer, scipy._guards, scipy._libraries. Note [Namesakes] in
_libraries.py says when.
"""

from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.tensor import Tensor
from arraygrad.engine.arrayops import InvalidGradient
from arraygrad.interop.transfer import to_backend
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy._libraries import host_array

__all__ = ["gradients_on"]

# What is no question of where a rule runs.
_FINAL = (NotDifferentiable, InvalidGradient, MemoryError)

# Names of functions whose rules have turned out to need the host.
_host_rules: set = set()


def gradients_on(library, rule, g, ans, tensors, at, bound):
    """`rule.gradients(g, ans, tensors, at, bound)` for arrays of a library; None is NumPy.

    Returns
    -------
    list of Tensor or None
        On the device of their arguments. Where the rule ran on the host, the copies are recorded too.
    """
    if library is None:
        return rule.gradients(g, ans, tensors, at, bound)
    if rule.name not in _host_rules:
        try:
            return rule.gradients(g, ans, tensors, at, bound)
        except _FINAL:
            raise
        except Exception as error:  # of NumPy, SciPy, the library or a kernel that does not compile
            why = error
    else:
        why = None
    moved = {}
    given = _on_host((g, ans, tensors, bound), moved)
    try:
        found = rule.gradients(*given[:3], at, given[3])
    except _FINAL:
        raise
    except Exception as error:
        raise NotDifferentiable(
            f"arraygrad.scipy.{rule.name}: its derivative is not known for these arrays of {library} "
            f"({type(error).__name__}: {error}): move the arguments to NumPy (arraygrad.to_backend(x, 'numpy')), which "
            "keeps their gradients"
        ) from (why or error)
    _host_rules.add(rule.name)
    return [
        to_backend(one, library, t.device) if isinstance(one, Tensor) else one
        for one, t in zip(found, tensors, strict=True)
    ]


def _on_host(value, moved):
    """The value with NumPy's arrays in it; a Tensor that stands in it several times is one Tensor again."""
    leaves, structure = flatten(value)
    return unflatten(structure, [_leaf(leaf, moved) for leaf in leaves])


def _leaf(leaf, moved):
    if not isinstance(leaf, Tensor):
        return host_array(leaf)
    found = moved.get(id(leaf))
    if found is None:
        found = moved[id(leaf)] = (to_backend(leaf, "numpy"), leaf)
    return found[0]
