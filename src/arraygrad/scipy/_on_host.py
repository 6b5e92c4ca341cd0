"""Rules for arrays on a device: they run there where they can, else on the host.

May import: core.containers, core.tensor, engine, interop.transfer, scipy._guards, scipy._libraries, numpy.
Note [Namesakes] in _libraries.py says when.
"""

import numpy

from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.tensor import Tensor
from arraygrad.engine.arrayops import InvalidGradient
from arraygrad.interop.transfer import to_backend
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy._libraries import host_array, library_of

__all__ = ["composed_on", "gradients_on"]

# What is no question of where a rule runs.
_FINAL = (NotDifferentiable, InvalidGradient, MemoryError)

# What a composition may give that runs on the host for arrays on a device.
_LEAVES = (Tensor, numpy.ndarray, numpy.generic, int, float, complex, str, type(None))

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


def composed_on(leaves, name, function, args, kwargs):
    """`function(*args, **kwargs)` of a composition whose arguments have `leaves`: where they lie, else on the host.

    What comes from the host lies on the device again, recorded.
    """
    library = library_of(leaves)
    if library is None:
        return function(*args, **kwargs)
    try:
        return function(*args, **kwargs)
    except _FINAL:
        raise
    except Exception as error:  # as above
        why = error
    args, kwargs = _on_host((args, kwargs), {})
    found, structure = flatten(function(*args, **kwargs))
    if not all(isinstance(leaf, _LEAVES) for leaf in found):
        raise NotDifferentiable(
            f"arraygrad.scipy.{name}: its derivative is not known for these arrays of {library} "
            f"({type(why).__name__}: {why}): move the arguments to NumPy (arraygrad.to_backend(x, 'numpy')), which "
            "keeps their gradients"
        ) from why
    device = next(leaf.device for leaf in leaves if library_of((leaf,)) is not None)
    on_device = [
        to_backend(leaf, library, device) if isinstance(leaf, Tensor | numpy.ndarray) else leaf for leaf in found
    ]
    return unflatten(structure, on_device)


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
