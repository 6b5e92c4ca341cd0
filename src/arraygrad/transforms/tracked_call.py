"""One call of a function with some of its arguments followed by the graph: what every function transform is made of.

May import: core.containers, core.exposed_memory, core.inplace, core.constructors, core.tensor, engine, autograd.graph,
autograd.source_locations, ops, transforms.caught, transforms.searches, transforms.tracked_call_base, transforms.whole.
The transforms themselves are in `gradients.py`; `tracked_call_base.pyx` is the compiled half of `TrackedCall`.
"""

from __future__ import annotations

import functools
import inspect
import re
import struct
import sys
import warnings

import numpy

from arraygrad.autograd.graph import walk
from arraygrad.autograd.source_locations import (
    SourceLocation,
    is_raised_by_us,
    told_of,
    value_met,
    warn_at,
    warn_explicit,
)
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.containers import LEAF, align, flatten, leaf_names, stands_for, unflatten
from arraygrad.core.exposed_memory import raw_handle
from arraygrad.core.inplace import is_scalar
from arraygrad.core.tensor import Tensor, apply_op, backend_of, edge_of, gradient_edge, metadata_of
from arraygrad.engine.engine import execute
from arraygrad.engine.node import is_grad_enabled
from arraygrad.ops import OPS
from arraygrad.transforms.caught import goes_on_with_it
from arraygrad.transforms.searches import searches, told
from arraygrad.transforms.tracked_call_base import (
    NOTHING_BESIDE,
    NUMBER,
    RAW,
    SCALAR,
    STATIC,
    TENSOR,
    TrackedCallBase,
    give_back,
    use_tracked_calls,
)
from arraygrad.transforms.whole import STATIC_TYPES, is_static, may_stay

__all__ = [
    "TrackedCall",
    "function_name",
    "give_back",
    "meta_of",
    "needs_graph",
    "normalize_tree",
    "parameter_name",
    "run",
]


def function_name(function):
    """A name of the user's function for messages."""
    return getattr(function, "__name__", None) or type(function).__name__


def meta_of(value):
    """GradMeta of a Tensor, a raw array or a NumPy scalar. Raises TypeError for anything else."""
    if isinstance(value, numpy.generic):
        value = numpy.asarray(value)
    return metadata_of(value) if isinstance(value, Tensor) else backend_of(value).meta(value)


# Libraries whose objects hold arrays, but are no containers of parameters.
_NO_CONTAINERS = frozenset(("numpy", "scipy", "cupy", "cupyx", "pandas", "polars", "xarray", "sympy", "sparse"))


# Note [Nested transforms]
# ~~~~~~~~~~~~~~~~~~~~~~~~
# (1) A Tensor that requires grad, as an outer transform or the user's own graph hands it over, becomes an alias: a new
#     place in the graph over the same memory. Derivatives are taken there, so a function that reaches the same Tensor
#     another way too (a closure) is differentiated with respect to its argument only.
# (2) The results must then stay part of the outer graph: the inner run is recorded (create_graph) and its results are
#     Tensors. This is so too where the arguments are raw but the function has closed over a Tensor of an outer
#     transform: the graph behind the result shows it (`_reaches_others`).
# (3) Outside of any other transform raw arguments give raw results, without a look at the graph: whatever else the
#     function depends on is a constant then, as for every function of raw arrays. Not so where an argument that is not
#     differentiated is, or holds, a Tensor that requires grad: the result joins its graph, as in (2).
# Guarded by tests/transforms/test_nesting.py.
_ADOPTED = "With adopt=True, as in arraygrad.grad(f, adopt=True), it may be recorded. "
_PLAIN = "Where only the number is meant, give it float(arraygrad.stop_gradient(x))"
_told: dict = {}  # the registry of warnings of searches
# Parts of errors of others, and what to say of them.
_KNOW_NO_TENSOR = (
    ("Tensor to Decimal is not supported", f"a Decimal has no gradient: compute in floats. {_PLAIN}"),
    ("argument should be a string or a Rational", f"a Fraction has no gradient: compute in floats. {_PLAIN}"),
    ("Tensor is not JSON serializable",
     ("text has no gradient. Where only the values are meant, give it "
      "numpy.asarray(arraygrad.stop_gradient(x)).tolist()")),
    ("The only supported seed types are",
     "a seed has no gradient: random.Random(float(arraygrad.stop_gradient(x))), random.seed in the same way"),
    ("unmarshallable object", f"bytes have no gradient. {_PLAIN}"),
    ("required argument is not a float", f"bytes have no gradient. {_PLAIN}"),
    ("' for 'numpy.ndarray' objects doesn't apply to a '",
     ("a method that is taken of the class numpy.ndarray knows no Tensor here: write x.name(...), or super().name(...) "
      "in a class that derives from it, in the place of numpy.ndarray.name(x, ...)")),
    ("Iterator operand is flagged as writeable, but is an object",
     "numpy.nditer takes no Tensor: loop over i in numpy.ndindex(x.shape), and write x[i] = value"),
    ("it's not the same object as math.",
     ("another process has a record of its own: let it compute its gradient by a transform and return that, or write "
      "the loop in this process")),
    ("ufunc 'bitwise_xor' not supported for the input types", "a power is x ** 2: ^ is for truth values and integers"),
    ("Supplied output array must be contiguous",
     "a generator writes into plain arrays alone: write what it gives, b[...] = rng.standard_normal(b.shape)"),
)  # fmt: skip

_TAKES_NO_TENSOR = (
    "if that is what is not expected there, write it with functions and operators of NumPy, SciPy and math, which are "
    "recorded; arraygrad.primitive gives any other function its derivative. Where only the values are meant, "
    "arraygrad.stop_gradient(x) is a constant, float(arraygrad.stop_gradient(x)) its number, "
    "numpy.asarray(arraygrad.stop_gradient(x)) its array"
)
# The error of a function that was given an argument of the transform.
_OPTION = re.compile(r"got an unexpected keyword argument '(argnums|argnames|has_aux|adopt)'$")
_PLAIN_TEXTS = (Exception.__str__, BaseException.__str__)  # of errors whose text is their first argument
_OF_TYPES = (TypeError, AttributeError, NotImplementedError, struct.error, numpy.exceptions.DTypePromotionError)


@functools.cache
def _steps(n):
    """Names of the nodes of step functions, whose derivative is zero, where the table has `n` operations."""
    return frozenset(op.node_name for op in OPS.values() if op.zero)


class TrackedCall(TrackedCallBase):
    """A call of `function` whose arguments at some positions are differentiated.

    Parameters
    ----------
    name : str
        Name of the transform, for messages.
    function : callable
    args : tuple
        Positional arguments of the call.
    argnums : int or tuple of int
        Positions of the differentiated ones; negative ones count from the end.

    Attributes
    ----------
    structure : Structure
        Of the differentiated arguments: of the argument itself for an integer, of a tuple of them otherwise.
    kinds, metas : list
        Per leaf: what it was (TENSOR, RAW, SCALAR, NUMBER, STATIC) and its GradMeta (None for STATIC).
    edges : list of Edge
        Where the gradients of the leaves that are not STATIC arrive.
    outputs : list
        Leaves of what the function returned; `out_structure` is its structure and `aux` the auxiliary part.
    record : bool
        Results are Tensors and part of an outer graph.
    left : object or None
        Where a value that depends on the arguments left the graph last, by a call that was let go; `str` tells it.
    known : tuple of dict
        Sequence numbers of nodes that were seen to reach the arguments, and of others, set by the first question.
    looked : dict
        Places where comparisons were looked at, set with the first one: `autograd.stale_caches`.
    refused : TypeError or None
        The last refusal of such a call, which the function may have caught.
    warned : list of dict or None
        Warnings that are given when the call ends, set with the first one.
    refusals : dict of str to TypeError
        All of them by their texts, set with the first one.
    rounded : set of (code object, int)
        Instructions that round and were told of, set with the first one.
    """

    __slots__ = ("known", "looked", "refusals", "rounded")
    known: tuple[dict[int, None], dict[int, None]]
    looked: dict[object, int]
    refusals: dict[str, TypeError]
    rounded: set[tuple[object, int]]

    # Calling the function

    def split(self, result):
        """The two parts of what a function with auxiliary data returned."""
        known = isinstance(result, tuple)
        if not known or len(result) != 2:
            found = f"a tuple of {len(result)}" if known else type(result).__name__
            raise TypeError(
                f"{self.name}: with has_aux=True '{function_name(self.function)}' must return a pair "
                f"(result, auxiliary data), got {found}"
            )
        return result

    def check_result(self):
        """Look at a result that is no single recorded Tensor: one without any has no gradient.

        Raises
        ------
        TypeError
            If it is so because a value left the graph: Note [Numbers that leave], 5.
        """
        is_recorded = any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in self.outputs)
        if self.refused is not None:
            self.tell_refusal(is_recorded)
        if is_recorded or not self.edges:
            return
        if any(isinstance(leaf, Tensor) for leaf in self.outputs):  # transforms look at what they pull back from it
            return
        name = function_name(self.function)
        if self.left is not None:
            raise TypeError(
                f"{self.name}: '{name}' returned no recorded Tensor, and its gradient would be zero, because a value "
                f"left the graph: {self.left}. Compute the result from the Tensor, or leave that argument out of "
                "argnums"
            )
        if len(self.outputs) == 1 and self.outputs[0] is None and self.any_value() is None:
            raise TypeError(
                f"{self.name}: '{name}' returned NoneType, but {self.name} needs an array, or a container of arrays; "
                "does it lack a return statement?"
            )
        numbers = [leaf for leaf in self.outputs if not isinstance(leaf, (bool, numpy.bool_))]
        if any(isinstance(leaf, (int, float, complex, numpy.generic, numpy.ndarray)) for leaf in numbers):
            self.warn_of_a_constant()

    def tell_warnings(self):
        """Give the warnings of the call: under the filters of the caller, not of the program: see `warn_at`."""
        held, self.warned = self.warned, None
        for warning in held:
            warnings.warn_explicit(**warning)

    def tell_refusal(self, recorded):
        """What the function caught of what was refused: raise it, or warn of it where the result is recorded.

        The function went on in another way than a plain call, where nothing is refused. One that tries math, or float,
        and computes the same of the Tensor itself has lost nothing.
        """
        if not recorded:
            raise self.refused
        for refused in self.refusals.values():
            if hasattr(refused, "told") or goes_on_with_it(refused):  # told by a transform inside of this one
                continue
            refused.told = True
            traceback = refused.__traceback__
            if traceback is not None and traceback.tb_frame.f_code.co_filename.endswith(".pyx"):
                traceback = None  # NumPy asked and went on: no frame of the program is in it
            warn_at(
                SourceLocation(sys._getframe(1) if traceback is None else traceback.tb_frame),
                f"{self.name}: '{function_name(self.function)}' caught what arraygrad refused and went on, where a "
                "plain call refuses nothing: its value may be another one, and its gradient may lack what depends on "
                f"that value. {'' if refused.adopted else _ADOPTED}Refused was: {refused}",
                None if traceback is None else traceback.tb_lineno,
            )
            return

    def look_for_searches(self):
        """Warn where the function searched by comparisons: its result lacks what they selected."""
        if hasattr(self.function, "differentiates"):
            return
        for place in searches(self.decisions.values(), self.edges):
            warn_explicit(
                f"{told(place)}: '{function_name(self.function)}' compares values here that depend on what {self.name} "
                "differentiates, again and again until they are equal, as a bisection or a golden section search does. "
                "What such a search finds is selected by the comparisons, and no gradient reaches through these: the "
                "gradient lacks this part, or is that of the first ends of the interval. Use arraygrad.implicit (root, "
                "minimize, ...) or SciPy's solvers, or take one step of Newton's method at the end: x - f(x, a) / s "
                "with the constant s = df/dx. Where the value found is meant as a constant, give the search "
                "arraygrad.stop_gradient(a)",
                place.code.co_filename,
                place.line,
                registry=_told,
            )

    def explain(self, error):
        """Add the way out to an error of the standard library or NumPy that knows no Tensor."""
        text = str(error)
        way = told_of(error)
        if way:
            raise TypeError(way) from error
        known = [what for sign, what in _KNOW_NO_TENSOR if sign in text]
        option = _OPTION.search(text)
        if option is not None:
            given = f"{option[1]}={'1' if option[1] == 'argnums' else 'True' if option[1] != 'argnames' else repr('x')}"
            self._say(error, text, [f"{option[1]} belongs to {self.name}: {self.name}(f, {given})(x)"])
            return
        # That a Tensor lacks an attribute may be said by arraygrad, and no more than that.
        bare = isinstance(error, AttributeError) and text.endswith(repr(error.name))
        told = is_raised_by_us(error) and not bare
        met = value_met(error, Tensor) if isinstance(error, _OF_TYPES) and not told else None
        if met is not None:
            where, name = met
            known = known or [_TAKES_NO_TENSOR]
            known[0] = f"{where}: {name} is, or holds, a Tensor where a plain call has numbers: {known[0]}"
        self._say(error, text, [f"{self.name}: {what}" for what in known])

    def _say(self, error, text, said):
        """Put what there is to say into the text of an error, where it has one that can be set; else into its notes.

        What was refused before, and is the cause of the error at the same place, is not said twice.
        """
        before = str(self.refused) if self.refused is not None else ""
        place = before.partition(": ")[0]
        notes = getattr(error, "__notes__", [])
        if before and notes and notes[-1].endswith(before) and (text == before or any(place in line for line in said)):
            notes.pop()
        if not said:
            return
        if type(error).__str__ in _PLAIN_TEXTS and error.args and error.args[0] == text:
            error.args = ("\n".join([text, *said]), *error.args[1:])
            return
        for line in said:
            error.add_note(line)

    def is_constant(self):
        """Whether the graph behind the results leads to the arguments through step functions only, or not at all."""
        own = {edge.node for edge in self.edges}
        steps = _steps(len(OPS))
        return own.isdisjoint(walk(self._nodes(self.outputs), lambda node: node.name() in steps))

    def warn_of_a_constant(self):
        """Say that the result does not depend on the arguments; of a derivative that is no surprise."""
        if hasattr(self.function, "differentiates") or self.is_told:
            return
        self.is_told = True
        warn_at(
            SourceLocation(sys._getframe(1)),
            f"{self.name}: the result of '{function_name(self.function)}' does not depend on the arguments: its "
            "derivative is zero. If it should depend on them, its values were computed where arraygrad could not "
            "follow, or by a step function such as round",
        )

    def look_for_a_constant(self):
        """Warn of a gradient that is zero because the result does not depend on the arguments."""
        if isinstance(self.outputs[0], Tensor) and self.is_constant():
            self.warn_of_a_constant()

    def any_value(self):
        """The value, whatever the function returned."""
        return unflatten(self.out_structure, [self._shown(leaf, self.record) for leaf in self.outputs])

    def auxiliary(self):
        """The auxiliary data, raw where the arguments were."""
        leaves, structure = flatten(self.aux)
        return unflatten(
            structure,
            [
                self._shown(leaf, self.record or (self.nested and self.before and self._reaches_others((leaf,))))
                for leaf in leaves
            ],
        )

    def roots(self):
        """Indices of the outputs that depend on anything differentiable."""
        return [i for i, leaf in enumerate(self.outputs) if isinstance(leaf, Tensor) and leaf.requires_grad]

    @property
    def out_kind(self):
        """The kind that results are given back as: Python numbers only where all arguments are."""
        if not self.plain:
            return TENSOR
        return RAW if RAW in self.kinds or SCALAR in self.kinds else NUMBER

    # Derivatives

    def pull(self, indices, cotangents, *, create_graph, keep_graph):
        """Gradients at `edges` (None: undefined) for the given cotangents of outputs `indices`."""
        if not self.edges or not indices:
            return (None,) * len(self.edges)
        roots = [edge_of(self.outputs[i]) for i in indices]
        return run(roots, cotangents, self.edges, create_graph=create_graph, keep_graph=keep_graph)

    def live(self):
        """(kind, meta) of each leaf that is not STATIC, in the order of `edges`."""
        return [pair for pair in zip(self.kinds, self.metas, strict=True) if pair[0] != STATIC]

    def directions(self, tree, what):
        """The leaves of `tree`, a container of tangents for the arguments, as one Tensor or raw array per edge."""
        return normalize_tree(self.name, what, tree, self.structure, self.metas)

    # Helpers

    def positions(self, argnums, args):
        """The positions of the differentiated arguments, none of them negative."""
        return _positions(self.name, self.function, argnums, len(args))

    def follow_other(self, i, leaf):
        """What the function gets in place of a leaf that is neither a plain NumPy array nor a float."""
        kind = type(leaf)
        if kind is Tensor:
            return self._follow_tensor(i, leaf)
        if is_static(leaf):
            if self._is_argument(i):
                raise TypeError(
                    f"{self.name}: {self._leaf_name(i)} is {leaf!r}, which has no derivative: "
                    "choose the arguments to differentiate by argnums, or give a floating-point number or an array"
                )
            self.note_static()
            return leaf
        if kind is complex:
            return self.follow_array(i, self.array_of(leaf), NUMBER)
        if isinstance(leaf, (int, numpy.integer, numpy.bool_)):
            return self.constant(i, leaf, "int" if isinstance(leaf, int) else f"of dtype {leaf.dtype}")
        if isinstance(leaf, numpy.generic):
            return self.follow_array(i, numpy.asarray(leaf), SCALAR)
        return self.follow_array(i, leaf, RAW)

    def constant(self, i, leaf, what):
        """A leaf of integers or truth values as it is: Note [Leaves without a derivative].

        Raises
        ------
        TypeError
            If it may be meant as a floating-point number.
        """
        chosen = [self.args[k] for k in self.argnums]
        leaves, structure = flatten(chosen[0] if self.single else tuple(chosen))
        if self._is_argument(i) or not may_stay(structure, leaves, i):
            raise self.integer(i, what)
        self.note_static()
        return leaf

    def static_of(self, leaves):
        """What the gradient holds for each leaf that is not differentiated; None for the others too.

        Raises
        ------
        TypeError
            If an argument holds nothing else than integers.
        """
        start = 0
        for _, structure in self._arguments():
            own = range(start, start + structure.n_leaves)
            start = own.stop
            whole = [i for i in own if self.kinds[i] == STATIC and not is_static(leaves[i])]
            if whole and all(self.kinds[i] == STATIC for i in own):
                leaf = leaves[whole[0]]
                raise self.integer(whole[0], "int" if isinstance(leaf, int) else f"of dtype {leaf.dtype}")
        return [leaf if is_static(leaf) else None for leaf in leaves]

    def look_for_shared(self, written, handed, args):
        """Raise TypeError if an argument that the function has written into shares memory with another one."""
        target = raw_handle(written)
        if not isinstance(target, numpy.ndarray) or not target.size:
            return
        node = written.grad_fn
        if node is None or any(edge.node is node for edge in self.edges):
            return  # no write was recorded: what another argument shows there is a constant as it is
        for other in [*handed, *args]:
            if other is written:
                continue
            array = raw_handle(other) if isinstance(other, Tensor) else other
            if isinstance(array, numpy.ndarray) and numpy.may_share_memory(array, target):
                raise TypeError(
                    f"{self.name}: the function writes into an argument that shares memory with another argument, "
                    "which no gradient can follow: give it a copy, `f(v, v.copy())`, or let the function make its "
                    "own, `a = a * 2` in the place of `a *= 2`"
                )

    def no_array(self, i, leaf, error):
        """The TypeError for a leaf of which no Tensor can be made."""
        cls = type(leaf)
        library = cls.__module__.partition(".")[0] in _NO_CONTAINERS
        if hasattr(leaf, "__dict__") and not hasattr(leaf, "__array__") and not library:
            error = (
                f"it is an object of class {cls.__qualname__}, whose attributes are not looked into. Make it a "
                f"dataclass, or call arraygrad.register_container({cls.__qualname__}) once; where it is no parameter, "
                "as self of a method, choose other arguments by argnums"
            )
        return TypeError(f"{self.name}: {self._leaf_name(i)} can't be differentiated: {error}")

    def _follow_tensor(self, i, tensor):
        meta = meta_of(tensor)
        if not meta.is_floating:
            return self.constant(i, tensor, f"of dtype {meta.dtype}")
        if tensor.requires_grad and self.before:
            if is_scalar(tensor) and tensor.ndim == 0:
                handed = tensor.copy()
            else:
                handed = apply_op(OPS["reshape"], OPS["reshape"].bind((tensor, tensor.shape), {}))  # (1)
            self.alias = True
        else:
            handed = tensor.detach().requires_grad_()
        self.note(TENSOR, meta, handed)
        return handed

    def arrays_beside(self):
        """(namespace, dtype, device) of the arrays among all arguments, whose precision Python numbers take.

        The namespace is None where there are none, the dtype where none of them is floating.
        """
        dtypes = []
        like = None
        for leaf in flatten(self.args)[0]:
            if type(leaf) is float:  # long lists of them are common
                continue
            raw = raw_handle(leaf) if isinstance(leaf, Tensor) else leaf
            if isinstance(raw, (float, complex, int, *STATIC_TYPES)) and not isinstance(raw, numpy.generic):
                continue
            try:
                meta = meta_of(raw)
            except TypeError:  # no array
                continue
            if like is None:
                like = meta
            if meta.is_floating and meta.ops is like.ops:
                dtypes.append(meta.dtype)
        if like is None:
            return NOTHING_BESIDE
        xp = like.ops.xp
        return xp, xp.result_type(*dtypes) if dtypes else None, like.device

    @staticmethod
    def number_beside(value, xp, dtype, device):
        """A Python number as a 0-d array beside arrays: see arrays_beside."""
        if dtype is None:
            return xp.asarray(value, device=device)
        if isinstance(value, complex):
            dtype = xp.result_type(dtype, xp.complex64)
        elif xp.isdtype(dtype, "complex floating"):
            dtype = xp.finfo(dtype).dtype
        return xp.asarray(value, dtype=dtype, device=device)

    def integer(self, i, what):
        """The TypeError for a leaf of integers or booleans."""
        if self._is_argument(i):
            way = "give a floating-point value, or choose other arguments by argnums"
        else:
            value = "3.0 instead of 3" if what == "int" else "an array of floats"
            way = f"write {value} if it is differentiated, or pass it as another argument if it is a constant"
        return TypeError(
            f"{self.name}: {self._leaf_name(i)} is an integer or boolean ({what}), which has no derivative: {way}"
        )

    def _arguments(self):
        """(position, structure) of each differentiated argument."""
        return zip(self.argnums, (self.structure,) if self.single else self.structure.children, strict=True)

    def _is_argument(self, i):
        """Whether leaf `i` is an argument itself, not something inside of one."""
        start = 0
        for _, structure in self._arguments():
            if structure is LEAF and start == i:
                return True
            start += structure.n_leaves
        return False

    def _leaf_name(self, i):
        names = []
        for position, structure in self._arguments():
            parameter = parameter_name(self.function, position)
            names += [f"argument {position} ({name})" for name in leaf_names(structure, parameter)]
        return names[i]

    def _shown(self, leaf, record):
        if not isinstance(leaf, Tensor) or record:
            return leaf
        return self.shown(leaf)

    def like(self, output, derivative):
        """A derivative of an output (raw, or a Tensor) in the form of its value."""
        if isinstance(derivative, Tensor) and (not self.plain or derivative.requires_grad):
            return derivative
        raw = raw_handle(derivative) if isinstance(derivative, Tensor) else derivative
        if not self.plain:
            return wrap_raw(raw) if isinstance(output, Tensor) else raw
        if raw.ndim or not isinstance(output, Tensor):
            return raw
        value = self.shown(output)
        if isinstance(value, numpy.generic):
            return raw[()]
        return give_back(NUMBER if isinstance(value, (float, complex)) else RAW, raw, None)

    def _reaches_others(self, outputs):
        """Whether the graph behind any output leads to a leaf that is not one of this call."""
        own = {edge.node for edge in self.edges}
        nodes = walk(self._nodes(outputs), own.__contains__)
        return any(node not in own and _is_end(node) for node in nodes)

    @staticmethod
    def _nodes(outputs):
        return [gradient_edge(t)[0] for t in outputs if isinstance(t, Tensor) and t.requires_grad]


use_tracked_calls(TrackedCall)


def _is_end(node):
    """Whether nothing lies behind a node: a leaf's, or the place of an argument of a transform."""
    return all(target is None for target, _ in node.next_functions)


def run(roots, cotangents, edges, *, create_graph, keep_graph):
    """Gradients at `edges`: raw arrays, or Tensors with create_graph. A cotangent is a Tensor or a raw array."""
    if create_graph:
        given = [c if isinstance(c, Tensor) else wrap_raw(c) for c in cotangents]
    else:
        given = [raw_handle(c) if isinstance(c, Tensor) else c for c in cotangents]
    return execute(roots, given, keep_graph=keep_graph, create_graph=create_graph, accumulate_grad=False, inputs=edges)


def needs_graph(tracked, directions):
    """Whether derivatives along `directions` are part of an outer graph."""
    return is_grad_enabled() and (tracked.record or any(isinstance(d, Tensor) and d.requires_grad for d in directions))


def normalize_tree(name, what, tree, structure, metas):
    """Leaves of a container of tangents or cotangents, in the order of `structure`; checked.

    Parameters
    ----------
    name, what : str
        Transform and argument, for messages.
    tree : object
        Container that must equal `structure`; a named tuple may be another class's, or a tuple.
    structure : Structure
    metas : list of GradMeta or None
        What each leaf must look like; where it is None the leaf is left out.

    Returns
    -------
    list
        A Tensor or a raw array of the right shape per leaf that has a GradMeta.

    Raises
    ------
    TypeError
        If the structure differs, a leaf is no number, or it is complex where a real one is expected.
    ValueError
        If a shape differs.
    """
    if structure is LEAF and not isinstance(tree, (list, tuple, dict)):
        leaves = [tree]
    else:
        leaves, own = flatten(tree)
        if not stands_for(own, structure):
            if structure is LEAF and metas[0] is not None:
                raise TypeError(
                    f"{name}: {what} must be an array of shape {metas[0].shape}, got a {type(tree).__name__}"
                )
            stars = ", where * is an array" if "*" in f"{structure!r}{own!r}" else ""
            raise TypeError(f"{name}: {what} must be nested as {structure!r}, got {own!r}{stars}")
        leaves = align(own, leaves, structure)
    names = None
    checked = []
    for i, (leaf, meta) in enumerate(zip(leaves, metas, strict=True)):
        if meta is None:
            continue
        if names is None:
            names = leaf_names(structure, what)
        checked.append(_direction(name, names[i], leaf, meta))
    return checked


def _direction(name, what, leaf, meta):
    if isinstance(leaf, (int, float, complex, numpy.generic)) and not isinstance(leaf, bool):
        if isinstance(leaf, numpy.generic):
            leaf = leaf.item()
        if isinstance(leaf, complex) and not meta.is_complex:
            raise TypeError(f"{name}: {what} is complex, but it must be real ({meta.dtype})")
        leaf = meta.ops.xp.asarray(leaf, dtype=meta.dtype, device=meta.device)
    try:
        own = meta_of(leaf)
    except TypeError as error:
        raise TypeError(
            f"{name}: {what} must be an array or a Tensor of shape {meta.shape}, got {type(leaf).__name__}"
        ) from error
    if own.ops is not meta.ops:
        raise TypeError(f"{name}: {what} is an array of {own.ops.name}, but it must be one of {meta.ops.name}")
    if own.shape != meta.shape:
        raise ValueError(f"{name}: {what} must have shape {meta.shape}, got {own.shape}")
    if own.is_complex and not meta.is_complex:
        raise TypeError(f"{name}: {what} is complex ({own.dtype}), but it must be real ({meta.dtype})")
    return leaf


def _positions(name, function, argnums, n_args):
    if isinstance(argnums, int) and 0 <= argnums < n_args:
        return (argnums,)
    given = (argnums,) if isinstance(argnums, int) else argnums
    positions = []
    for argnum in given:
        if not n_args and _takes_nothing(function):
            raise TypeError(
                f"{name}: '{function_name(function)}' has no parameters, so there is nothing to differentiate it by: "
                "make the numbers its parameters, lambda x: ..., and call the result with their values"
            )
        if not -n_args <= argnum < n_args:
            chosen = parameter_name(function, argnum) if argnum >= 0 else ""
            chosen = chosen if chosen.isidentifier() else _any_name(function)
            raise TypeError(
                f"{name}: argnums has {argnum}, but '{function_name(function)}' was called with {n_args} "
                f"positional argument{'s' * (n_args != 1)}: pass the arguments to differentiate by position, or choose "
                f"them by name, argnames={chosen!r}. Positions count from 0"
            )
        positions.append(argnum % n_args)
    if len(set(positions)) != len(positions):
        raise ValueError(f"{name}: argnums {argnums} names an argument twice")
    return tuple(positions)


def _takes_nothing(function):
    try:
        return not inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _any_name(function):
    """The name of a parameter that is given by name; "x" where none is known."""
    name = parameter_name(function, 0)
    return name if name.isidentifier() else "x"


def parameter_name(function, position):
    """The name of a parameter as its function spells it; args[1] where that is not known."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return f"args[{position}]"
    if position < len(parameters) and parameters[position].kind in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ):
        return parameters[position].name
    return f"args[{position}]"
