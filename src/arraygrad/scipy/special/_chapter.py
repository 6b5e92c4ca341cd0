"""How a special function is declared, and the functions that `arraygrad.special` has already.

May import: arraygrad, scipy._declare, SciPy.
"""

import inspect

from scipy import special

import arraygrad as ag
from arraygrad import special as table
from arraygrad.ops import OPS
from arraygrad.scipy._declare import REGISTRY, Rule, composed, formulas

__all__ = ["NAMES", "composition_of", "declare"]

# Name -> our function.
NAMES: dict = {}


def declare(name, signature, source, refuse=None, **by):
    """`formulas` for a ufunc of scipy.special; an older SciPy may lack it."""
    values = getattr(special, name, None)
    if values is not None:
        NAMES[name] = formulas(f"special.{name}", values, source, f"{signature}, out=None", refuse=refuse, **by)


def composition_of(name, of, source, **options):
    """Decorator: `composed` for a function of scipy.special."""

    def decorate(formula):
        values = getattr(special, name, None)
        if values is not None:
            NAMES[name] = composed(f"special.{name}", values, of, source, **options)(formula)
            REGISTRY[f"special.{name}"].signature = inspect.signature(formula)  # a ufunc's own names no parameters
        return formula

    return decorate


def _take_over():
    for name in table.__all__:
        if not hasattr(special, name):
            continue
        NAMES[name] = getattr(table, name)
        op = OPS[{"psi": "digamma", "jn": "jv"}.get(name, name)]
        of = tuple(op.params[i] for i in op.inputs)
        source = "see derivatives.md" if of else ""
        reason = "" if of else "it is constant wherever it has a derivative"
        REGISTRY[f"special.{name}"] = Rule(
            f"special.{name}", of, source, "any", getattr(special, name), NAMES[name], reason
        )
    for name in ("exp2", "log1p", "expm1"):
        if hasattr(special, name) and hasattr(ag, name):
            NAMES[name] = getattr(ag, name)


_take_over()
