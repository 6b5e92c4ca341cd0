"""`primitive`: a function on raw arrays with a rule of the user's own for its gradient.

May import: autograd.closure_tensors, autograd.function_snapshots, autograd.source_locations, autograd.python_numbers,
core.barriers, core.constant_checks, core.exposed_memory, engine, core.graph_ops, core.constructors, core.tensor.
"""

from __future__ import annotations

import functools
import warnings
import weakref

from arraygrad.autograd.closure_tensors import read_beside
from arraygrad.autograd.function_snapshots import Reader, is_holder
from arraygrad.autograd.python_numbers import is_refused_here, unadopted
from arraygrad.autograd.source_locations import short
from arraygrad.core.barriers import recorded_gradients
from arraygrad.core.constant_checks import Contents, constants_are_compared
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.exposed_memory import ArgumentWatch, results_of
from arraygrad.core.graph_ops import Kept, attach_node, settled
from arraygrad.core.tensor import Tensor, edge_of, metadata_of
from arraygrad.engine.later import called_later
from arraygrad.engine.node import PyNode, is_grad_enabled, take_sequence_nr

__all__ = ["defvjp", "primitive"]

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time."
)

_MISSING = object()


def primitive(f):
    """A function on raw arrays that is recorded as one operation; `defvjp` says how its gradient is computed.

    Parameters
    ----------
    f : callable
        Takes raw arrays (of any library) and other values, returns a raw array, a number or a tuple of them. It should
        not write into its arguments.

    Returns
    -------
    callable
        On raw arrays it is `f` itself. On Tensors its results are Tensors, recorded if an argument requires grad. It
        has a method `defvjp(*rules, argnums=None)`, see `arraygrad.defvjp`.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> @ag.primitive
    ... def cube(x):
    ...     return x * x * x
    >>> cube.defvjp(lambda ans, x: lambda g: 3 * g * x * x)
    >>> ag.grad(lambda x: cube(x).sum())(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    if not callable(f):
        raise TypeError(f"primitive: expected a function, got {type(f).__name__}")
    return Primitive(f)


def defvjp(f, *rules, argnums=None):
    """Give a primitive the rules for its gradient.

    Parameters
    ----------
    f : a function made by `primitive`
    *rules : callable or None
        One per argument. `rule(ans, *args, **kwargs)` gets the result and the arguments of the call and returns a
        function of `g`, the gradient of the result (a tuple of them where there are several results, zeros where
        none arrived), that returns the gradient of its argument. Arrays are raw; in a run with create_graph they are
        Tensors, so a rule that can be differentiated again is written with operators and functions of the arrays'
        namespace. None: the gradient of that argument is zero.
    argnums : sequence of int, optional
        Positions of the arguments that the rules belong to. Default: 0, 1, 2, ...

    Raises
    ------
    TypeError
        If `f` is no primitive, or a rule is neither callable nor None.
    ValueError
        If there are not as many argnums as rules, or one occurs twice or is negative.

    Examples
    --------
    >>> import arraygrad as ag
    >>> cube = ag.primitive(lambda x: x**3)
    >>> ag.defvjp(cube, lambda ans, x: lambda g: 3 * g * x**2)
    >>> ag.grad(cube)(2.0)
    12.0
    """
    if not isinstance(f, Primitive):
        raise TypeError(f"defvjp: expected a function made by arraygrad.primitive, got {type(f).__name__}")
    f.defvjp(*rules, argnums=argnums)


_RULES = "a rule is given by f.defvjp(lambda ans, x: lambda g: g * slope), one for each argument"
# Names that HIPS autograd, JAX and PyTorch have for what defvjp does.
_OTHER_LIBRARIES = {
    "defgrad": _RULES,
    "defgrads": _RULES,
    "defjvp": f"forward derivatives are made of the reverse ones; {_RULES}",
    "defjvps": f"forward derivatives are made of the reverse ones; {_RULES}",
    "defvjp_all": _RULES,
    "register_autograd": _RULES,
}


class Primitive:
    """What `primitive` returns."""

    is_primitive = True

    def __init__(self, f):
        functools.update_wrapper(self, f)
        self._function = f
        self._rules = {}
        self._name = getattr(f, "__name__", type(f).__name__)

    def defvjp(self, *rules, argnums=None):
        """Set the rules of the arguments; see `arraygrad.defvjp`. Rules set before for other arguments stay."""
        if isinstance(argnums, int):
            raise TypeError(f"defvjp of {self._name}: argnums holds one position for each rule: argnums=({argnums},)")
        argnums = range(len(rules)) if argnums is None else tuple(argnums)
        if len(argnums) != len(rules) or len(set(argnums)) != len(rules) or any(i < 0 for i in argnums):
            raise ValueError(
                f"defvjp of {self._name}: expected one position for each of {len(rules)} rules, got argnums={argnums}"
            )
        for rule in rules:
            if rule is not None and not callable(rule):
                raise TypeError(f"defvjp of {self._name}: a rule is a function or None, got {type(rule).__name__}")
        self._rules.update(zip(argnums, rules, strict=True))
        self._reader = Reader(self._name, [rule for rule in self._rules.values() if rule is not None])

    def __getattr__(self, name):
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in _OTHER_LIBRARIES:
            text += f": {_OTHER_LIBRARIES[name]}"
        raise AttributeError(text)

    def __repr__(self):
        return f"<primitive {self._name}>"

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        if not any(isinstance(a, Tensor) for a in args) and not any(isinstance(a, Tensor) for a in kwargs.values()):
            return self._function(*args, **kwargs)
        recording = is_grad_enabled()
        tracked = [i for i, a in enumerate(args) if recording and isinstance(a, Tensor) and a.requires_grad]
        self._check(tracked, kwargs if recording else {})
        raw_args = [_raw(a) for a in args]
        raw_kwargs = {name: _raw(a) for name, a in kwargs.items()}
        everything = (*args, *kwargs.values())
        given = ArgumentWatch(everything, self._name) if tracked else None
        # Nothing but the list holds what the function returns: Note [Returned memory] in core/exposed_memory.pyx.
        try:
            box = [unadopted(self._function, raw_args, raw_kwargs)]
        except TypeError as error:
            if is_refused_here(error):  # the arguments are raw, so it is another Tensor that was refused
                error.args = read_beside(self._name, "").args
            raise
        if recording and _is_recorded(box[0]):
            raise read_beside(self._name, "")
        results, kind = results_of(box, everything, bool(tracked), self._name)
        if given is not None:
            given.check()
        tracked = [i for i in tracked if self._rules[i] is not None]
        if tracked and any(metadata_of(r).is_floating for r in results):
            self._record(tracked, args, raw_kwargs, results, kind is not None)
        if kind is None:
            return results[0]
        return kind(*results) if hasattr(kind, "_fields") else results

    def _check(self, tracked, kwargs):
        """Every Tensor whose gradient would be lost is refused, before the function runs."""
        for i in tracked:
            if i not in self._rules:
                raise TypeError(
                    f"{self._name}: argument {i} requires grad, but {self._name}.defvjp gave no rule for it; give one "
                    "(None for a zero gradient), or pass the argument's detach()"
                )
        for name, value in kwargs.items():
            if isinstance(value, Tensor) and value.requires_grad:
                raise TypeError(
                    f"{self._name}: argument {name!r} requires grad, but only positional arguments have rules; pass it "
                    "by position, or its detach()"
                )

    def _record(self, tracked, args, kwargs, results, several):
        metas = tuple([metadata_of(r) for r in results])
        kept = [Kept(a) if isinstance(a, Tensor) else a for a in args]
        constants = {f"argument {i}": a for i, a in enumerate(args) if not isinstance(a, Tensor)}
        constants.update({f"argument {name!r}": a for name, a in kwargs.items()})
        holders = {path: a for path, a in constants.items() if is_holder(a)}
        constants = Contents({path: a for path, a in constants.items() if path not in holders})
        reader = self._reader
        seen = reader.seen(holders) if constants_are_compared() else None
        answers = [Kept(r, False) for r in results]
        state = [kept, answers]
        rules = [self._rules[i] for i in tracked]
        later = called_later(_pulled)
        owner = [None]
        name = self._name

        def backward(*grads):
            if not state:
                raise RuntimeError(FREED)
            kept, answers = state
            constants.check(name)
            if seen is None:
                return pulled_back(kept, answers, grads)
            reader.begin(seen)
            try:
                return pulled_back(kept, answers, grads)
            finally:
                reader.end(seen)

        def pulled_back(kept, answers, grads):
            graph = any(isinstance(g, Tensor) for g in grads)
            grads = [_zeros(meta, graph) if g is None else g for g, meta in zip(grads, metas, strict=True)]
            if graph:
                values = [a.tensor() if isinstance(a, Kept) else a for a in kept]
                node = owner[0]()
                found = [
                    a.tensor(node, k) if m.is_floating else a.tensor()
                    for k, (a, m) in enumerate(zip(answers, metas, strict=True))
                ]
            else:
                values = [a.array() if isinstance(a, Kept) else a for a in kept]
                found = [a.array() for a in answers]
            pulled = later if graph else _pulled  # raw arrays stay raw in an adopted call, as in the forward
            ans, g = (tuple(found), tuple(grads)) if several else (found[0], grads[0])
            since = take_sequence_nr() if graph else 0
            gradients = tuple([_gradient(name, i, settled(pulled(name, i, r, ans, values, kwargs, g), grads), graph)
                               for i, r in zip(tracked, rules, strict=True)])  # fmt: skip
            return recorded_gradients(node, name, gradients, grads, since) if graph else gradients

        node = PyNode(_node_name(name), backward, [edge_of(args[i]) for i in tracked], metas, state.clear)
        owner[0] = weakref.ref(node)
        attach_node(node, results)


def _pulled(name, i, rule, ans, values, kwargs, g):
    """What the rule of an argument gives for `g`."""
    try:
        pull = rule(ans, *values, **kwargs)
    except TypeError as error:
        if error.__traceback__.tb_next is not None:  # raised in the rule, not by its call
            raise
        raise TypeError(f"{_form(name, i, rule, len(values))}, but {error}") from None
    if not callable(pull):
        raise TypeError(
            f"{_form(name, i, rule, len(values))}, the gradient of the result, but returned {type(pull).__name__}"
        )
    found = pull(g)
    if found is None:
        _warn_of_nothing(name, i, pull)
    return found


def _warn_of_nothing(name, i, pull):
    """Warn, once a place, of a function that a rule has returned and that gives no gradient."""
    text = (
        f"{name}.defvjp: the rule of argument {i} gave None for the gradient, and the argument requires grad: its "
        "gradient is zero. Does it lack a return statement? Where zero is meant, give None in the place of the rule, "
        "or return zeros"
    )
    code = getattr(pull, "__code__", None)
    if code is None:
        warnings.warn(text, UserWarning, stacklevel=2)
    else:
        warnings.warn_explicit(text, UserWarning, code.co_filename, code.co_firstlineno, registry=_told_of_nothing)


_told_of_nothing = {}  # the registry of its warnings


def _form(name, i, rule, n):
    code = getattr(rule, "__code__", None)
    at = "" if code is None else f" ({short(code.co_filename)}:{code.co_firstlineno})"
    given = ", ".join(["ans", *[f"x{k}" for k in range(n)]] if n > 1 else ["ans", "x"])
    return f"{name}.defvjp: the rule of argument {i}{at} is called as rule({given}) and returns a function of g"


def recorded_rules(function):
    """(name, rules) of the primitive whose node calls this function; None: it is none of a primitive's."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_qualname != "Primitive._record.<locals>.backward":
        return None
    held = dict(zip(code.co_freevars, function.__closure__, strict=True))
    inner = held["pulled_back"].cell_contents
    held.update(zip(inner.__code__.co_freevars, inner.__closure__, strict=True))
    return held["name"].cell_contents, held["rules"].cell_contents


def _is_recorded(result):
    """Whether a Tensor that requires grad is in what a function of raw arrays has returned."""
    if isinstance(result, (tuple, list)):
        return any(map(_is_recorded, result))
    return isinstance(result, Tensor) and result.requires_grad


def _raw(value):
    return value.array if isinstance(value, Tensor) else value


def _zeros(meta, graph):
    zeros = meta.ops.zeros(meta)
    return wrap_raw(zeros) if graph else zeros


def _gradient(name, i, value, graph):
    """What a rule returned as the engine takes it."""
    if value is None or isinstance(value, Tensor) == graph:
        return value
    if not graph:
        return value.array
    raise RuntimeError(
        f"{name}: in a run with create_graph the rule of argument {i} gets Tensors and has to return one, but returned "
        f"{type(value).__name__}, whose own derivative is unknown; write the rule with operators and functions of the "
        "arrays' namespace (arraygrad.asarray(...) for what is constant)"
    )


def _node_name(name):
    return "".join([part[:1].upper() + part[1:] for part in name.strip("_<>").split("_")]) + "Backward"
