"""How a chapter declares a function of SciPy: its differentiable parameters, its rule, the rule's source.

May import: autograd, core.containers, core.inplace, core.constructors, core.tensor, engine, implicit.lifting,
implicit.stores, namespaces.kinks, numpy_api.overlaps, numpy_api.overwritten, scipy, scipy._agreement,
scipy._core, scipy._guards, scipy._libraries, scipy._on_host, scipy._signatures, numpy, SciPy.

Values are SciPy's own: its function runs on raw arrays. The derivative is one of

- `composed`: the function written with operations that arraygrad differentiates. It runs in backward only, so that its
  derivative is that of the function, of every order.
- `ruled`: the gradients of the parameters, from the result's gradient `g`, the result `ans` and the arguments. They are
  Tensors, and what the rule computes of them is recorded: derivatives of gradients follow.

A Tensor that requires grad and stands elsewhere is refused by name, before SciPy runs.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections import namedtuple
from dataclasses import dataclass, field

import numpy
import scipy

from arraygrad.autograd import Function
from arraygrad.autograd import grad as gradients_of
from arraygrad.autograd.grad_mode import enable_grad
from arraygrad.core.constructors import asarray, wrap_raw
from arraygrad.core.containers import flatten, unflatten
from arraygrad.core.inplace import as_scalar
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled
from arraygrad.implicit.lifting import depends
from arraygrad.implicit.stores import watching
from arraygrad.namespaces.kinks import hands_on_nothing, standing_for
from arraygrad.numpy_api.overlaps import refuse_overlap
from arraygrad.numpy_api.overwritten import minding_overwriting
from arraygrad.scipy import OLDEST, serves
from arraygrad.scipy._agreement import agreed, all_nan
from arraygrad.scipy._core import over_core
from arraygrad.scipy._guards import (
    NotDifferentiable,
    guarded,
    holds_tensor,
    is_recorded_matrix,
    kind_of,
    mirror,
    raw,
    watched,
)
from arraygrad.scipy._libraries import is_foreign, library_of, namesake, same_memory
from arraygrad.scipy._on_host import composed_on, gradients_on
from arraygrad.scipy._precision import as_precise, as_precise_constant, precision_of
from arraygrad.scipy._signatures import binder, by_former_names, in_integers, parsed, signature_of

__all__ = [
    "REGISTRY", "Chapter", "Rule", "composed", "composition", "constant", "formulas", "gradients_of_composition",
    "guarded", "kind_of", "mirror", "once", "parsed", "raw", "refused", "register", "ruled",
]  # fmt: skip

if not serves(scipy.__version__):
    raise ImportError(
        f"arraygrad.scipy needs SciPy {'.'.join(map(str, OLDEST))} or later, but {scipy.__version__} is installed: "
        "pip install 'arraygrad[scipy]'"
    )

# Parameters that say how something is computed, not what.
INERT = frozenset(
    "check_finite overwrite_a overwrite_b overwrite_ab overwrite_x overwrite_y overwrite_data overwrite_b overwrite_c "
    "lapack_driver driver workers plan".split()
)

# Whether everyday calls are recorded as one node (_everyday.set_everyday_calls).
everyday_calls = True

# Dotted name below scipy -> Rule, in the order of declaration: what the generated page lists.
REGISTRY: dict = {}


@dataclass
class Rule:
    """One declared function.

    Attributes
    ----------
    name : str
        Dotted name below scipy.
    of : tuple of str
        Parameters that it is differentiated in.
    source : str
        Where the formula comes from.
    order : str
        "any", or "first" where the rule itself is not differentiated.
    values : callable or None
        SciPy's own function on raw arrays.
    function : callable
        Ours.
    reason : str
        Why it is refused; empty where it is not.
    core : str
        The signature of its core axes, in the language of ops/structure.py; empty where the formula counts them.
    """

    name: str
    of: tuple
    source: str
    order: str = "any"
    values: object = None
    function: object = None
    reason: str = ""
    core: str = ""
    refuse: dict = field(default_factory=dict)
    gradients: object = None
    signature: object = None
    whole: object = None
    known: frozenset | None = None
    binder: object = None
    plain: object = None  # plain(g, ans, needs, bound) on raw arrays: a dict of gradients, or None (_plainly)
    quick: object = None  # quick(args, kwargs) of everyday calls: the result, recorded, or None (_everyday)

    def bind(self, args, kwargs):
        """The arguments that a call gives, by the names of their parameters; those of **kwargs stand among them.

        Raises
        ------
        TypeError
            If they do not fit the signature.
        """
        if self.binder is None:
            self.binder = binder(self.signature)
        bound = self.binder(args, kwargs)
        return in_integers(bound, self.signature.parameters) if bool in map(type, bound.values()) else bound

    @functools.cached_property
    def node(self):
        """The class of its nodes. Few of a chapter's functions are called in a program."""
        space = {"__module__": __name__, "__doc__": f"A call of {self.name}."}
        return type(_camel(self.name), (_Values,), space)

    @property
    def constant(self):
        """Whether the result is constant wherever it has a derivative."""
        return not self.of and (self.reason == "constant" or self.reason.startswith("it is constant"))


def composed(name, values, of, source, *, order="any", refuse=None, same=True, inert=""):
    """Decorator of a composition whose derivative is that of SciPy's function `values`.

    Parameters
    ----------
    name : str
        Dotted name below scipy.
    values : callable
        SciPy's function.
    of : str
        Names of the differentiable parameters, separated by blanks. The composition has the parameters of SciPy's
        function, with its defaults; it may lack those that no gradient depends on.
    source : str
    order : str
    refuse : dict of str to str, optional
        Why a parameter is not differentiable.
    inert : str
        Names of parameters that change neither the result nor its derivative, beside those that are `INERT`.
    same : bool
        The composition has the values of SciPy's function too, not only its derivative; tests compare them.
    """

    def declare(formula):
        names = tuple(inspect.signature(formula).parameters)

        def pull(g, ans, tensors, at, bound):
            def call(tensors):
                return formula(**_named(names, bound, at, tensors))

            return gradients_of_composition(call, g, tensors, ans, name if same else None)

        signature = signature_of(values, formula)
        rule = Rule(name, tuple(of.split()), source, order, values, refuse=refuse or {}, signature=signature)
        rule.gradients = pull
        rule.whole = formula if same else None
        rule.known = frozenset((*names, *inert.split()))
        return register(rule)

    return declare


def ruled(name, values, of, source, *, order="any", refuse=None, signature=None, inert=""):
    """Decorator of a rule: `rule(g, ans, ...)` names the parameters of SciPy's function that it needs.

    It returns the gradient of the one differentiable parameter, or a dict of gradients by parameter; one that is a
    function without arguments is called where it is needed. `g` and `ans` are tuples where SciPy returns several
    arrays, with None for those without a gradient. Gradients of a broadcast argument are summed by the engine.
    """

    def declare(formula):
        names = [n for n in inspect.signature(formula).parameters if n not in ("g", "ans", "needs")]
        takes_needs = "needs" in inspect.signature(formula).parameters
        parameters = tuple(of.split())

        def pull(g, ans, tensors, at, bound):
            named = _named(names, bound, at, tensors)
            needed = {key for key, _ in at}
            if takes_needs:
                named["needs"] = needed
            found = formula(g, ans, **named)
            if not isinstance(found, dict):
                found = {parameters[0]: found}
            for key in needed:
                if callable(found.get(key)):
                    found[key] = found[key]()
            return [_leaf_of(found.get(key), place) for key, place in at]

        shown = parsed(signature) if signature else signature_of(values, None)
        rule = Rule(name, parameters, source, order, values, refuse=refuse or {}, signature=shown)
        rule.gradients = pull
        rule.known = frozenset((*names, *parameters, *inert.split()))
        return register(rule)

    return declare


def formulas(name, values, source, signature=None, *, order="any", refuse=None, **by):
    """Declare a function by one formula per differentiable parameter: `x=lambda g, ans, x, y: ...`.

    A formula gets what its own parameters name: `g`, `ans`, or parameters of the function.
    """
    wanted = {key: tuple(inspect.signature(formula).parameters) for key, formula in by.items()}

    def pull(g, ans, tensors, at, bound):
        given = {**_with(bound, at, tensors), "g": g, "ans": ans}
        found = {key: by[key](**{n: given[n] for n in wanted[key] if n in given}) for key in {key for key, _ in at}}
        return [_leaf_of(found[key], place) for key, place in at]

    shown = parsed(signature) if signature else signature_of(values, None)
    rule = Rule(name, tuple(by), source, order, values, refuse=refuse or {}, signature=shown)
    rule.gradients = pull
    rule.known = frozenset(shown.parameters) - {"out", "diff_n"}  # another result than the formula's
    return register(rule)


class _Once(Function):
    """A derivative that is known as a number: it is not differentiated again."""

    @staticmethod
    def forward(ctx, name, slope, *tensors):
        ctx.name = name
        return asarray(slope)

    @staticmethod
    def backward(ctx, g):
        raise NotDifferentiable(
            f"arraygrad.scipy.{ctx.name}: its derivative is known, a derivative of that one is not (order: first)"
        )


def once(name, slope, *arguments):
    """The raw array `slope`, a derivative at `arguments`, as a Tensor that refuses to be differentiated again."""
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    return _Once.apply(name, slope, *tensors)


def composition(name, original, of, source, *, order="any"):
    """Decorator of a function that is composed of differentiable ones throughout, its values too.

    For functions of SciPy that are themselves compositions, or call back into Python. Without a Tensor among its
    arguments the result is SciPy's.
    """

    def declare(function):
        rule = Rule(name, tuple(of.split()), source, order, original, function)
        REGISTRY[name] = rule

        @functools.wraps(original)
        def call(*args, **kwargs):
            leaves = _parts(flatten((args, kwargs))[0])  # functions in a list, such as events, too
            matrices = [leaf for leaf in leaves if is_recorded_matrix(leaf)]
            if matrices or any(isinstance(leaf, Tensor) or (callable(leaf) and depends(leaf)) for leaf in leaves):
                lost = matrices or [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.requires_grad]
                called = [leaf for leaf in leaves if callable(leaf) and not isinstance(leaf, (Tensor, type))]
                with watching(f"scipy.{name}", called, lost or any(map(depends, called))):
                    if called:
                        return function(*args, **kwargs)
                    return composed_on(leaves, name, function, args, kwargs)
            leaks = []
            plain = watched(name, args, leaks=leaks)
            named = dict(zip(kwargs, watched(name, kwargs.values(), leaks=leaks), strict=True))
            library = library_of((*plain, *named.values()))
            values = original if library is None else namesake(name, library, named)
            try:
                found = values(*plain, **named)
            except Exception:
                if not leaks:
                    raise
            else:
                if not leaks:  # SciPy may have caught the refusal
                    return found
            # A function has turned out to read a Tensor that was found in no closure and in no attribute of its object.
            with watching(f"scipy.{name}", leaks, True):
                return function(*args, **kwargs)

        rule.function = by_former_names(minding_overwriting(f"scipy.{name}", call, original), original)
        return _named_function(rule.function, name, original)

    return declare


def _parts(leaves):
    """Leaves, and in the place of a constraint of scipy.optimize what it holds."""
    found = []
    for leaf in leaves:
        found += vars(leaf).values() if type(leaf).__module__ == "scipy.optimize._constraints" else (leaf,)
    return found


def refused(name, original, reason):
    """A function of SciPy that has no derivative, declared so that the page and the error say why."""
    rule = Rule(name, (), "", "", original, reason=reason)
    REGISTRY[name] = rule
    rule.function = guarded(name, original, reason)
    return rule.function


def constant(name, original, refuse=None, signature=None):
    """A function of SciPy whose result is constant wherever it has a derivative: truth values, integers, ranks.

    `refuse`: parameters in which it is not, with the reason; `signature`: of the original, where Python knows none.
    """

    @functools.wraps(original)
    def call(*args, **kwargs):
        if refuse and is_grad_enabled() and holds_tensor((args, kwargs), grad=True):
            for key in [k for k, v in rule.bind(args, kwargs).items() if k in refuse and holds_tensor(v, grad=True)]:
                _refuse(rule, key)
        args, kwargs = [raw(a) for a in args], {key: raw(value) for key, value in kwargs.items()}
        library = library_of((*args, *kwargs.values()))
        return (original if library is None else namesake(name, library, kwargs))(*args, **kwargs)

    rule = REGISTRY[name] = Rule(name, (), "", "", original, call, reason="constant", refuse=refuse or {})
    rule.signature = parsed(signature) if signature else signature_of(original, call) if refuse else None
    return call


class Chapter:
    """Decorators that declare functions of one module of SciPy; an older SciPy may lack a function.

    Attributes
    ----------
    names : dict of str to callable
        Our functions by name.
    """

    def __init__(self, name, module):
        self.name = name
        self.module = module
        self.names = {}

    def by_rule(self, name, of, source, *, core=None, counted="first", each=False, **options):
        """`ruled` for the function `name`; of any axis, and of stacks, where `core` is a signature (see _core)."""
        return self._declared(ruled, name, of, source, options, core, counted=counted, each=each)

    def by_composition(self, name, of, source="SciPy", *, core=None, counted="first", each=False, **options):
        """`composed` for the function `name`; of any axis, and of stacks, where `core` is a signature (see _core)."""
        return self._declared(composed, name, of, source, options, core, counted=counted, each=each)

    def composition(self, name, of, source, **options):
        """`composition` for the function `name`."""
        return self._declared(composition, name, of, source, options)

    def _declared(self, kind, name, of, source, options, core=None, **axes):
        def decorate(formula):
            values = self.values(name)
            if values is not None:
                whole = formula if core is None else over_core(formula, core, values, **axes)
                self.names[name] = kind(f"{self.name}.{name}", values, of, source, **options)(whole)
                REGISTRY[f"{self.name}.{name}"].core = core or ""
            return formula

        return decorate

    def object(self, name, of, source, order="any"):
        """Decorator of a class of ours with the name of one of SciPy's: its methods are compositions."""

        def decorate(ours):
            if self.values(name) is not None:
                full = f"{self.name}.{name}"
                REGISTRY[full] = Rule(full, tuple(of.split()), source, order, self.values(name), ours)
                self.names[name] = ours
            return ours

        return decorate

    def values(self, name):
        """SciPy's function, None where this SciPy lacks it."""
        return getattr(self.module, name, None)

    def no_rule(self, reason, *names):
        """Functions that have no derivative, and why."""
        for name in names:
            if self.values(name) is not None:
                self.names[name] = refused(f"{self.name}.{name}", self.values(name), reason)

    def classes(self, reason, *names):
        """Classes, and functions without arrays, that stay SciPy's own: declared for the page, with the reason."""
        for name in names:
            value = self.values(name)
            if value is not None:
                REGISTRY[f"{self.name}.{name}"] = Rule(f"{self.name}.{name}", (), "", "", value, value, reason=reason)

    def constants(self, *names):
        """Functions whose result is constant wherever it has a derivative: truth values, integers."""
        for name in names:
            if self.values(name) is not None:
                self.names[name] = constant(f"{self.name}.{name}", self.values(name))


# -- calls ----------------------------------------------------------------------------------------------------------


def register(rule):
    REGISTRY[rule.name] = rule

    @functools.wraps(rule.values)
    def call(*args, **kwargs):
        if everyday_calls and rule.quick is not None:
            found = rule.quick(args, kwargs)
            if found is not None:
                return found
        return _call(rule, args, kwargs)

    rule.function = by_former_names(minding_overwriting(f"scipy.{rule.name}", call, rule.values), rule.values)
    return _named_function(rule.function, rule.name, rule.values)


def _named_function(call, name, original):
    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    call.__module__ = f"arraygrad.scipy.{name.rpartition('.')[0]}"
    call.__doc__ = (
        f"scipy.{name}, differentiable in {', '.join(REGISTRY[name].of)}.\n\n{getattr(original, '__doc__', '') or ''}"
    )
    return call


def _camel(name):
    return "".join(part[:1].upper() + part[1:] for part in name.replace(".", "_").split("_"))


def _call(rule, args, kwargs, fresh=False):
    """`fresh`: the array that is given as `output=` holds nothing yet."""
    # SciPy computes the value on raw arguments, so its own binding, defaults and errors hold. The Tensors among them
    # are taken out here and become the inputs of one node. What is no Tensor, and holds none, stays as it was given.
    # Without a Tensor nothing is bound, and SciPy alone is called.
    structure = None  # of arguments that are no containers
    if _LEAVES.issuperset(map(type, args)) and _LEAVES.issuperset(map(type, kwargs.values())):
        leaves = [*args, *kwargs.values()]
    else:
        leaves, structure = flatten((args, kwargs))
    values = rule.values
    if not any(isinstance(leaf, Tensor) for leaf in leaves):
        library = None if structure is None else library_of(leaves)
        if library is not None:
            values = namesake(rule.name, library, rule.bind(args, kwargs), rule.signature)
        return values(*args, **kwargs)
    try:
        bound = rule.bind(args, kwargs)
    except TypeError as error:
        raise TypeError(f"arraygrad.scipy.{rule.name}: {error}") from None
    as_given = structure, leaves
    recast = {key: _as_array(value) for key, value in bound.items() if isinstance(value, list)}
    if any(value is not bound[key] for key, value in recast.items()):
        bound.update(recast)
        if not any(p.kind is p.VAR_POSITIONAL for p in rule.signature.parameters.values()):
            rebound = rule.signature.bind(*args, **kwargs)
            rebound.arguments.update({key: v for key, v in recast.items() if key in rebound.arguments})
            args, kwargs = rebound.args, rebound.kwargs
            leaves, structure = flatten((args, kwargs))
    if isinstance(bound.get("out"), Tensor):
        raise TypeError(f"arraygrad.scipy.{rule.name}: out= takes plain arrays, whose content has no gradient")
    if not fresh and isinstance(bound.get("output"), (Tensor, numpy.ndarray)):
        return _written_to(rule, bound)
    at, tensors, foreign = _inputs(rule, bound)
    if foreign:
        values = _of_library(rule, bound, leaves)
        if not any(isinstance(value, Tensor) for value in recast.values()):
            structure, leaves = as_given  # lists of numbers stay what they are for a namesake
    if structure is None:
        raw_args, raw_kwargs = tuple(map(_plain, args)), dict(zip(kwargs, map(_plain, kwargs.values()), strict=True))
    else:
        raw_args, raw_kwargs = unflatten(structure, [_plain(leaf) for leaf in leaves])
    if tensors:
        if rule.known is not None:
            _check_known(rule, bound)
        # The caller's array is kept for backward, so SciPy must not overwrite it.
        raw_kwargs = {key: value for key, value in raw_kwargs.items() if not key.startswith("overwrite_")}
    result = values(*raw_args, **raw_kwargs)
    return _wrapped(rule, bound, at, tensors, leaves, result)


def _inputs(rule, bound):
    """(where the Tensors that are differentiated stand, these, whether any Tensor is one of another library)."""
    recording = is_grad_enabled()
    at, tensors = [], []
    foreign = False
    for key, value in bound.items():
        if value is None or type(value) in _NO_CONTAINERS:
            continue
        parts = (value,) if type(value) is Tensor else flatten(value)[0]
        for place, leaf in enumerate(parts):
            if not isinstance(leaf, Tensor):
                continue
            foreign = foreign or not isinstance(leaf.array, (numpy.ndarray, numpy.generic))
            if recording and leaf.requires_grad:
                if key not in rule.of:
                    _refuse(rule, key)
                at.append((key, None if len(parts) == 1 and parts[0] is value else place))
                tensors.append(leaf)
    return at, tensors, foreign


def _of_library(rule, bound, leaves):
    """The function of another library that computes the values: Note [Namesakes]."""
    library = library_of(leaves)
    if library is None:
        raise TypeError(
            f"arraygrad.scipy.{rule.name} is computed by SciPy, on arrays of NumPy: move the argument there "
            "(arraygrad.to_backend(x, 'numpy')), which keeps its gradient"
        )
    return namesake(rule.name, library, bound, rule.signature)


def _of_list(part):
    """A list of numbers that SciPy handed back, as an array: its elements may depend on what is differentiated."""
    found = _as_array(part) if type(part) is list else part
    return part if _is_array(found) and found.dtype.kind not in "fc" else found


def _wrapped(rule, bound, at, tensors, leaves, result):
    """SciPy's result with Tensors in it, which one node made of `tensors`."""
    held = [a for a in (raw(leaf) for leaf in leaves) if _is_array(a)]
    several = isinstance(result, (tuple, list))
    if _is_array(result) and result.dtype.kind not in "fc" and bound.get("output") is not None:
        tensors = []  # cast to integers, which have no derivative
    parts = result if several else (result,)
    if tensors and list in map(type, parts):
        parts = [_of_list(part) for part in parts]
    outs = tuple([_own(out, held) for out in parts])
    if not tensors:
        found = tuple([asarray(out) if _is_array(out) else out for out in outs])
    else:
        constants = _with(bound, at, [None] * len(at))
        # Tensors are saved as such: the program may write them afterwards, and backward finds what was there.
        still = {key: value for key, value in constants.items() if isinstance(value, Tensor)}
        constants = {key: None if key in still else raw(value) for key, value in constants.items()}
        state = (rule, at, constants, len(tensors), several, still)
        found = rule.node.apply(state, outs, *tensors)
    for out, made in zip(found, result if several else (result,), strict=True):
        if isinstance(out, Tensor) and not out.ndim and not _is_array(made):
            as_scalar(out)
    if not several:
        return found[0]
    return _rebuilt(result, found)


def _written_to(rule, bound):
    """The result of a call with an array as `output=`: SciPy writes to a new one, whose content is written there."""
    output = bound["output"]
    given = {key: value for key, value in bound.items() if key != "output"}
    refuse_overlap(f"scipy.{rule.name}", lambda output, **given: rule.values(output=output, **given), output, (), given)
    given = {**bound, "output": numpy.empty_like(numpy.asarray(raw(output)))}
    found = _call(rule, (), given, fresh=True)
    output[...] = (
        found if isinstance(output, Tensor) or (isinstance(found, Tensor) and found.requires_grad) else raw(found)
    )
    return output


# Arguments of which nothing needs to be looked through for Tensors, and those that are no containers.
_NO_CONTAINERS = frozenset((bool, int, float, complex, str, numpy.ndarray))
_LEAVES = _NO_CONTAINERS | {Tensor, type(None)}


@functools.cache
def _fields(name, fields):
    return namedtuple(name, fields)


def _rebuilt(result, found):
    """The results in a named tuple of SciPy's names.

    Of a class that holds more than its fields only these are taken: the others would be constants unseen.
    """
    if not hasattr(result, "_fields"):
        return found
    kind = type(result)
    if hasattr(result, "__dict__") or kind.__mro__[1] is not tuple:
        kind = _fields(kind.__name__, tuple(result._fields))
    return kind(*found)


def _as_array(value):
    """A list as the array that SciPy makes of it; one Tensor if it holds Tensors."""
    leaves = flatten(value)[0]
    if any(isinstance(leaf, Tensor) for leaf in leaves):
        several = len({numpy.shape(raw(leaf)) for leaf in leaves}) > 1  # as the factors and pivots of a matrix
        return value if several else asarray(value)
    if all(isinstance(leaf, (int, float, complex, numpy.generic)) for leaf in leaves):
        try:
            return numpy.asarray(value)
        except ValueError:  # rows of several lengths
            return value
    return value


def _plain(leaf):
    """What SciPy is given: an array without axes as NumPy's scalar, as some functions want a number."""
    if isinstance(leaf, Tensor) and isinstance(leaf.array, numpy.ndarray) and leaf.ndim == 0:
        return leaf.array[()]
    return raw(leaf)


def _own(out, held):
    """A result as an array of its own memory; what is no number stays."""
    if isinstance(out, (numpy.generic, float, int, complex)) and not isinstance(out, bool):
        return numpy.asarray(out)
    if isinstance(out, numpy.ndarray) and any(numpy.may_share_memory(out, a) for a in held):
        return out.copy()
    return out.copy() if is_foreign(out) and same_memory(out, held) else out


def _is_array(value):
    return isinstance(value, numpy.ndarray) or is_foreign(value)


class _Values(Function):
    """SciPy's values as results, with the gradients of the rule."""

    _recorded_by_rule = True  # the formulas are made of recorded operations; a result may have no derivative

    @staticmethod
    def forward(ctx, state, outs, *tensors):
        rule, at, constants, n, several, still = state
        ctx.state = (rule, at, n, several, tuple(still))
        ctx.bound = constants
        # Results have memory of their own (`_own`), which the program may write.
        wrapped = tuple([wrap_raw(out) if _is_array(out) else out for out in outs])
        kept = [out if isinstance(out, Tensor) else None for out in wrapped]
        ctx.others = [None if isinstance(out, Tensor) else out for out in wrapped]
        ctx.save_for_backward(*tensors, *kept, *still.values())
        ctx.set_materialize_grads(False)
        return wrapped

    @staticmethod
    def backward(ctx, *grads):
        rule, at, n, several, still = ctx.state
        saved = ctx.saved_tensors
        tensors = list(saved[:n])
        kept = saved[n : n + len(ctx.others)]
        outs = [other if out is None else out for out, other in zip(kept, ctx.others, strict=True)]
        constants = {**ctx.bound, **{key: raw(t) for key, t in zip(still, saved[n + len(kept) :], strict=True)}}
        needs = ctx.needs_input_grad[2:]
        if all(g is None for g in grads):
            return (None,) * (2 + n)
        if all(g is None or 0 in g.shape for g in grads):  # formulas may look at elements
            return (None, None, *[t * 0.0 if need else None for t, need in zip(tensors, needs, strict=True)])
        # All Tensors keep their place in the graph, for the gradients' own derivatives.
        bits = max(map(precision_of, outs))
        given = [as_precise(t, bits) for t in tensors]
        bound = _with(
            {key: as_precise_constant(value, key in rule.of, bits) for key, value in constants.items()}, at, given
        )
        wanted = [place for place, need in zip(at, needs, strict=True) if need]
        chosen = [t for t, need in zip(given, needs, strict=True) if need]
        g, ans = (list(grads), outs) if several else (grads[0], outs[0])
        with numpy.errstate(all="ignore"):  # SciPy's values come without warnings at poles, so do the formulas
            found = gradients_on(library_of(tensors), rule, g, ans, chosen, wanted, bound)
            found = iter([_fitting(one, tensor) for one, tensor in zip(found, chosen, strict=True)])
        return (None, None, *[next(found) if need else None for need in needs])


def _fitting(gradient, tensor):
    """A gradient with the real part alone where the argument is real."""
    if isinstance(gradient, Tensor) and gradient.array.dtype.kind == "c" and tensor.array.dtype.kind != "c":
        return gradient.real
    return gradient


def _with(bound, at, tensors):
    """The arguments with Tensors in their places."""
    bound = dict(bound)
    for (key, place), tensor in zip(at, tensors, strict=True):
        if place is None:
            bound[key] = tensor
        else:
            leaves, structure = flatten(bound[key])
            leaves[place] = tensor
            bound[key] = unflatten(structure, leaves)
    return bound


def _named(names, bound, at, tensors):
    bound = _with(bound, at, tensors)
    return {key: value for key, value in bound.items() if key in names}


def _leaf_of(value, place):
    """The gradient of one leaf of a parameter; `value` is shaped as the parameter."""
    return value if place is None or value is None else flatten(value)[0][place]


def gradients_of_composition(call, g, tensors, ans=None, name=None):
    """Gradients of `call(tensors)`, recorded where the run itself is.

    `ans` is the result of the node that runs, if that is the composition's: Note [Kinks] in namespaces/kinks.py.
    `name` is that of SciPy's function, where the composition has its values. Another value means that the composition
    is not SciPy's function of these arguments (another axis, another shape): its gradient is refused.
    """
    graph = is_grad_enabled()
    if graph and hands_on_nothing():
        return [None] * len(tensors)
    if name is not None and all_nan(ans):  # too few elements, or none of them in the domain
        return [t * math.nan for t in tensors]
    # The composition runs once more, recorded, and its graph is differentiated. In a plain run it starts from detached
    # Tensors, so that the graph ends there and dies with this call. In a recorded run it stays joined to the outer
    # graph, from which the next order of derivatives is made.
    inputs = tensors if graph else [t.detach().requires_grad_() for t in tensors]
    with enable_grad():
        if graph:
            # Places of their own in the graph: a Tensor that depends on another one is differentiated alone.
            inputs = [t + 0.0 for t in tensors]
        outs = call(inputs)
        several = isinstance(outs, (tuple, list))
        outs, g = (outs, g) if several else ((outs,), (g,))
        results = [None] * len(outs) if ans is None else ans if several else (ans,)
        pairs = [
            (out, gi if name is None or result is None else agreed(name, out, result, gi, tensors))
            for out, gi, result in zip(outs, g, results, strict=True)
            if gi is not None and isinstance(out, Tensor) and out.requires_grad
        ]
        if not pairs:
            return [None] * len(tensors)
        first = [
            (result, out if out.shape == result.shape else out.reshape(result.shape))
            for out, result in zip(outs, results, strict=True)
            if isinstance(result, Tensor) and result.requires_grad and isinstance(out, Tensor) and out.requires_grad
        ]
        # A result of SciPy that is narrower, or a number where ours is an array, has the gradient's shape.
        pairs = [(out, gi if gi.shape == out.shape else gi.reshape(out.shape)) for out, gi in pairs]
        # Of one that is complex by output= alone the imaginary part is constant.
        pairs = [(out, gi.real if numpy.isrealobj(raw(out)) else gi) for out, gi in pairs]
    with enable_grad() if graph else _nothing(), standing_for(first) if graph else _nothing():
        return list(
            gradients_of(
                [out for out, _ in pairs], inputs, [gi for _, gi in pairs], create_graph=graph, allow_unused=True
            )
        )


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


# -- what has no rule -------------------------------------------------------------------------------------------------


def _refuse(rule, key):
    reason = rule.refuse.get(key, "it has no rule")
    known = f"it is differentiable in {', '.join(rule.of)}" if rule.of else "it has no derivative"
    raise TypeError(
        f"arraygrad.scipy.{rule.name}: argument '{key}' requires grad, but is not differentiable ({reason}; {known}). "
        "Pass its detach() if no gradient is wanted"
    )


def _check_known(rule, bound):
    """Every parameter that the rule does not look at has to have its default."""
    for key, value in bound.items():
        if key in rule.known or key in INERT or key == "output":  # where the result goes, and its dtype
            continue
        parameter = rule.signature.parameters.get(key)
        default = inspect.Parameter.empty if parameter is None else parameter.default
        if value is default or (isinstance(value, (bool, int, float, str, tuple)) and value == default):
            continue
        raise NotDifferentiable(
            f"arraygrad.scipy.{rule.name}: an argument requires grad, but the derivative is not known for "
            f"{key}={value!r}; leave it at its default"
        )
