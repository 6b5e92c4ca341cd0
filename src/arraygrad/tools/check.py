"""`python -m arraygrad check MODULE:FUNCTION`: is a function's gradient right, and if not, where is it lost?

May import: arraygrad's public names, adoption.setting, tools.check_differences, tools.check_inputs, tools.check_lines,
transforms.tracked_call, core.containers, numpy.

The function is called as it is, then recorded, then differentiated, then differenced; what goes wrong on the way is
told with the line of the user's own code. `run` is the command, `examine` what it prints.
"""

from __future__ import annotations

import copy
import functools
import inspect
import statistics
import time
from dataclasses import dataclass, field

import numpy

from arraygrad.adoption.setting import adopted, adoption_mode
from arraygrad.autograd import grad_mode
from arraygrad.autograd.custom_rules import told_rules
from arraygrad.autograd.python_numbers import number_policy
from arraygrad.core.containers import flatten, leaf_names, unflatten
from arraygrad.core.tensor import Tensor, edge_of
from arraygrad.tools.check_differences import compare
from arraygrad.tools.check_inputs import CannotCheck, differentiated, load, make_inputs
from arraygrad.tools.check_lines import Lines, Own, nodes_behind, own_line, shown
from arraygrad.transforms.tracked_call import STATIC, TrackedCall, meta_of, parameter_name

__all__ = ["CannotCheck", "Report", "examine", "run"]

# Relative steps: the cube root of the rounding error of the arithmetic.
STEP = {"double": 6e-6, "single": 5e-3}
# What the difference may be beside rounding. A wrong term is larger by orders of magnitude.
MOST_ERROR = {"double": 1e-5, "single": 2e-2}
# Seconds of repetition for each of the two timings.
TIMING_SECONDS = 0.3


@dataclass
class Report:
    """What `examine` found.

    Attributes
    ----------
    facts : list of (title, text)
    problems : list of str
        The gradient is wrong, refused, lost or not finite.
    notes : list of str
        Worth knowing; the gradient is right all the same.
    """

    facts: list = field(default_factory=list)
    problems: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def text(self):
        """The report as it is printed."""
        lines = [f"  {title:<12}{text}" for title, text in self.facts]
        for mark, texts in (("PROBLEM", self.problems), ("note", self.notes)):
            for text in texts:
                first, *rest = text.split("\n")
                lines += [f"  {mark:<12}{first}", *[f"{'':<14}{line}" for line in rest]]
        return "\n".join(lines)


def run(options):
    """The command: prints the report; 0 if the gradient is right, 1 if not. Raises CannotCheck."""
    function, package = load(options.target)
    args, kwargs = make_inputs(function, options)
    report = examine(
        function, args, kwargs, argnums=options.argnums, seed=options.seed, package=package, adopt=options.adopt
    )
    if options.shapes is None and options.inputs is None:
        report.notes.append(
            "each argument is a single number, as the command did not say more: name the shapes of arrays, one for "
            "each argument, as in --shapes 3 100x3"
        )
    print(f"{options.target}")
    print(report.text())
    if report.problems:
        n = len(report.problems)
        print(f"FAILED: {n} problem{'s' if n > 1 else ''}")
        return 1
    print("  ok")
    return 0


def examine(function, args, kwargs=None, *, argnums=None, seed=0, package="", adopt=None):
    """Compare the gradient of `function(*args, **kwargs)` with finite differences, and look for what is lost.

    Parameters
    ----------
    function : callable
        Of arrays, floats and containers of them; returns the same.
    args, kwargs
        What it is called with. They are copied for every call.
    argnums : tuple of int, optional
        Arguments to differentiate; by default all that hold floating-point numbers and no integers.
    seed : int
        Of the weights of several results, and of the directions.
    package : str
        Dotted name of the function's module: its files count as the user's own code.
    adopt : bool, str, tuple of str, optional
        Whether the function is adopted, as for `arraygrad.grad`: by default as `set_adoption` says.

    Returns
    -------
    Report
    """
    return _Examination(function, tuple(args), dict(kwargs or {}), argnums, seed, package, adopt).report


class _Examination:
    def __init__(self, function, args, kwargs, argnums, seed, package, adopt):
        self.function = function
        self.adopts = (adoption_mode() if adopt is None else adopt) is True
        self.recorded = adopted(function, adopt)
        self.args = args
        self.kwargs = kwargs
        self.report = Report()
        self.rng = numpy.random.default_rng(seed)
        self.own = Own(_file_of(function), package)
        self.argnums = differentiated(function, args) if argnums is None else tuple(argnums)
        self._examine()

    def _examine(self):
        if not self._plain() or not self._record():
            return
        gradients = self._gradients()
        if gradients is None:
            return
        self._dtypes()
        right = self._compare(gradients)
        self._conversions(right)
        self._time()

    # The function as it is

    def _plain(self):
        try:
            values = self._call()
            again = self._call()
        except Exception as error:  # anything that the user's own code may raise
            self._failed("the plain call of the function fails, with no part of arraygrad in it", error)
            return False
        self.leaves, self.structure = flatten(values)
        self.plain = [_host(leaf) for leaf in self.leaves]
        self.live = [i for i, value in enumerate(self.plain) if value is not None and value.dtype.kind in "fc"]
        self._fact("result", ", ".join(_described(value) for value in self.plain if value is not None) or "nothing")
        if not self.live:
            kinds = ", ".join(sorted({type(leaf).__name__ for leaf in self.leaves})) or "nothing"
            self._problem(
                f"the function returns no floating-point number or array (but {kinds}), so it has no gradient"
            )
            return False
        for i in self.live:
            if not numpy.all(numpy.isfinite(self.plain[i])):
                self._problem(
                    f"{self._result(i)} is not finite for these inputs: choose others (--range, --inputs), or look at "
                    "what divides by zero or leaves its domain"
                )
                return False
        if any(not numpy.array_equal(a, b) for a, b in zip(self.plain, map(_host, flatten(again)[0]), strict=False)):
            self._problem(
                "two calls with equal arguments give different results, so nothing can be compared: does it draw "
                "random numbers, or keep state?"
            )
            return False
        return True

    def _call(self, replaced=None):
        """The plain function on copies of the arguments (`replaced`: differentiated leaves)."""
        args = copy.deepcopy(self.args)
        if replaced is not None:
            args = self._with_leaves(args, replaced)
        with grad_mode.no_grad():
            return self.function(*args, **copy.deepcopy(self.kwargs))

    def _with_leaves(self, args, replaced):
        leaves, structure = flatten(tuple([args[i] for i in self.argnums]))
        at = iter(replaced)
        mixed = [next(at) if k in self.followed else leaf for k, leaf in enumerate(leaves)]
        args = list(args)
        for position, value in zip(self.argnums, unflatten(structure, mixed), strict=True):
            args[position] = value
        return tuple(args)

    # Recorded

    def _record(self):
        lines = Lines(self.own)
        args = copy.deepcopy(self.args)
        try:
            tracked = TrackedCall("check", self.recorded, args, self.argnums)
            leaves, structure = flatten(tuple([self.args[i] for i in self.argnums]))
            self.followed = [k for k, kind in enumerate(tracked.kinds) if kind != STATIC]
            self.inputs = [leaves[k] for k in self.followed]
            names = [
                name
                for i, child in zip(self.argnums, structure.children, strict=True)
                for name in leaf_names(child, parameter_name(self.function, i))
            ]
            self.names = [names[k] for k in self.followed]
            # Numbers may leave: the report names the lines and goes on.
            with lines, number_policy("off"):
                tracked.call(copy.deepcopy(self.kwargs), check=False)
        except Exception as error:  # an unsupported call raises TypeError, the user's code whatever it likes
            self._failed("recording stops at a call that is not supported", error)
            return False
        shapes = (f"{name} {_described(_host(leaf))}" for name, leaf in zip(self.names, self.inputs, strict=True))
        self.report.facts.insert(0, ("arguments", ", ".join(shapes)))
        self.tracked, self.lines = tracked, lines
        self.nodes = nodes_behind([edge_of(t).node for t in self._tracked()])
        self._fact("recorded", f"{sum(node.name() != 'AccumulateGrad' for node in self.nodes)} operations")
        self._compare_values(args)
        return not self.report.problems

    def _tracked(self):
        return [t for t in self.tracked.outputs if isinstance(t, Tensor) and t.requires_grad]

    def _compare_values(self, args):
        outputs = self.tracked.outputs
        if self.tracked.out_structure != self.structure:
            self._problem(
                f"recorded, the function returns {self.tracked.out_structure!r}, as a plain call {self.structure!r}"
            )
            return
        for i in self.live:
            found = _host(outputs[i])
            if found is None or not _close(found, self.plain[i]):
                self._problem(f"{self._result(i)} is {found} recorded, but {self.plain[i]} in a plain call")
            elif found.dtype != self.plain[i].dtype:
                self._problem(f"{self._result(i)} has dtype {found.dtype} recorded, but {self.plain[i].dtype} plainly")
        before, after = (flatten(tuple(a[i] for i in self.argnums))[0] for a in (self.args, args))
        for k, name in zip(self.followed, self.names, strict=True):
            if not _close(_host(after[k]), _host(before[k])):
                self._note(f"{name} is written in place: the caller's array changes, as in a plain call")

    # Differentiated

    def _gradients(self):
        weights = {}
        for i in self.live:
            value = self.plain[i]
            weight = self.rng.standard_normal(value.shape) if value.size > 1 or len(self.live) > 1 else numpy.ones(())
            if value.dtype.kind == "c":
                weight = weight + 1j * self.rng.standard_normal(value.shape)
            weights[i] = numpy.broadcast_to(weight, value.shape)
        self.weights = weights
        tracked = self.tracked
        self.indices = [i for i in tracked.roots() if i in weights]
        cotangents = []
        for i in self.indices:
            meta = meta_of(tracked.outputs[i])
            cotangents.append(meta.ops.asarray(weights[i].astype(self.plain[i].dtype), meta.dtype, meta.device))
        self.cotangents = cotangents
        try:
            with numpy.errstate(all="ignore"):
                found = tracked.pull(self.indices, cotangents, create_graph=False, keep_graph=True)
        except Exception as error:  # a rule refuses what its forward did
            self._failed("backward fails", error)
            return None
        gradients = []
        for name, meta, g in zip(self.names, [meta for _, meta in tracked.live()], found, strict=True):
            gradient = numpy.zeros(meta.shape) if g is None else _host(g)
            if not numpy.all(numpy.isfinite(gradient)):
                self._problem(f"the gradient of {name} is not finite{self._first_not_finite()}")
            gradients.append(gradient)
        return None if self.report.problems else gradients

    def _first_not_finite(self):
        """Where a finite gradient became one that is not, in words."""
        guilty = []

        def watch(node):
            def hook(grad_inputs, grad_outputs):
                if not guilty and _finite(grad_outputs) and not _finite(grad_inputs):
                    guilty.append(node)

            return node.register_hook(hook)

        handles = [watch(node) for node in self.nodes if node.name() != "AccumulateGrad"]
        try:
            with numpy.errstate(all="ignore"):
                self.tracked.pull(self.indices, self.cotangents, create_graph=False, keep_graph=True)
        finally:
            for handle in handles:
                handle.remove()
        if not guilty:
            return ""
        return (
            f": {guilty[0].name()} makes it so, recorded at\n{shown(self.lines.of(guilty[0]))}\n"
            "(where the value does not matter, arraygrad.zero_annihilates() keeps a zero gradient zero)"
        )

    def _dtypes(self):
        """Where the precision changes on the way."""
        seen = set()
        for node in self.nodes:
            own = _bits(node.input_metadata)
            below = [
                bits
                for child, nr in node.next_functions
                if child is not None and (bits := _bits(child.input_metadata[nr : nr + 1])) is not None
            ]
            place = self.lines.of(node)
            if own is None or not below or own == max(below) or place in seen:
                continue
            seen.add(place)
            self._note(
                f"the precision changes from {max(below)} to {own} bits a number ({node.name()}) at\n{shown(place)}"
            )

    # Differenced

    def _compare(self, gradients):
        single = any(_bits_of(self.plain[i].dtype) < 64 for i in self.live)
        hosts = [_double(_host(leaf)) for leaf in self.inputs]
        like = self.inputs

        def loss(moved):
            with numpy.errstate(all="ignore"):
                values = flatten(self._call([_as(leaf, host) for leaf, host in zip(like, moved, strict=True)]))[0]
            return float(sum(numpy.sum(numpy.real(numpy.conj(w) * _host(values[i]))) for i, w in self.weights.items()))

        try:
            in_double = not any(
                _bits_of(_host(v).dtype) < 64
                for i, v in enumerate(flatten(self._call([_as(a, h) for a, h in zip(like, hosts, strict=True)]))[0])
                if i in self.weights
            )
            precision = "double" if in_double else "single"
            differences = compare(loss, hosts, [_double(g) for g in gradients], self.rng, STEP[precision])
        except Exception as error:  # e.g. the function leaves its domain beside the inputs
            self._failed("finite differences cannot be taken: the function fails beside these inputs", error)
            return False
        # float32 gradients have float32's own rounding, however exactly they are differenced.
        most = max(MOST_ERROR[precision], 1e-3 if single else 0.0)
        tested = [d for d in differences if numpy.isfinite(d.expected)]
        if len(tested) < len(differences):
            self._note(
                f"{len(differences) - len(tested)} of {len(differences)} differences are not finite: the function "
                "leaves its domain beside these inputs"
            )
        wrong = [d for d in tested if not d.error <= max(most, d.noise)]
        kinks = [d for d in wrong if d.kink()]
        wrong = [d for d in wrong if not d.kink()]
        right = [d for d in tested if d not in wrong and d not in kinks]
        largest = max((d.error for d in tested if d not in kinks), default=0.0)
        self._fact(
            "gradient",
            f"{largest:.1e} largest relative difference to central differences ({len(right)} of {len(differences)} "
            "derivatives agree)",
        )
        if kinks:
            d = kinks[0]
            self._note(
                f"{self._place(d)} is at a kink: from the left the derivative is {d.left:.6g}, from the right "
                f"{d.right:.6g}; the gradient {d.found:.6g} lies between" + _more(len(kinks))
            )
        if wrong:
            d = max(wrong, key=lambda d: d.error)
            self._problem(
                f"the gradient is wrong: {self._place(d)} has the derivative {d.found:.8g}, but the differences say "
                f"{d.expected:.8g}" + _more(len(wrong)) + self._rules()
            )
        return not wrong

    def _rules(self):
        told = told_rules(self._tracked())
        return f"\n{told}" if told else ""

    def _place(self, d):
        name = self.names[d.leaf]
        if d.index is None:
            return f"{name} along a random direction"
        where = f"[{', '.join(map(str, d.index))}]" if d.index else ""
        return f"{name}{where}" + (f" ({d.part} part)" if d.part else "")

    def _conversions(self, right):
        """Where values left the graph, and which results have none."""
        detached = [
            i
            for i in self.live
            if not (isinstance(self.tracked.outputs[i], Tensor) and self.tracked.outputs[i].requires_grad)
        ]
        tell = self._note if right else self._problem
        for i in detached:
            tell(
                f"{self._result(i)} has no graph: it was computed without the differentiated arguments"
                + ("" if right else ", or from values that had left the graph")
            )
        for (filename, line, how), count in self.lines.conversions.items():
            times = f" ({count} times)" if count > 1 else ""
            if how in ("float", "complex"):
                tell = self._problem
                what = "makes a Python number of a value, which transforms such as grad refuse: its gradient is lost"
                if not self.adopts:
                    what += " (grad(f, adopt=True) keeps it; check it so with --adopt)"
            else:
                tell = self._note if right else self._problem
                what = "takes a value out of the graph, and with it its gradient"
            if how == "no_grad":
                tell(f"what is computed without recording (no_grad) has no gradient{times}, from here on\n"
                     f"{shown((filename, line))}")  # fmt: skip
            else:
                tell(f"{'.array' if how == 'array' else f'{how}()'} {what}{times}, at\n{shown((filename, line))}")

    def _time(self):
        def gradient():
            tracked = TrackedCall("check", self.recorded, copy.deepcopy(self.args), self.argnums)
            tracked.call(copy.deepcopy(self.kwargs), check=False)
            tracked.pull(self.indices, self.cotangents, create_graph=False, keep_graph=False)

        with numpy.errstate(all="ignore"), number_policy("off"):
            plain, both = _median(self._call), _median(gradient)
        self._fact(
            "time", f"{1e3 * plain:.3g} ms a call, {1e3 * both:.3g} ms with the gradient: ratio {both / plain:.2f}"
        )

    # Telling

    def _failed(self, what, error):
        place = own_line(error, self.own)
        at = f" at\n{shown(place)}" if place is not None else ""
        self._problem(f"{what}{at}\n{type(error).__name__}: {error}")

    def _result(self, i):
        return leaf_names(self.structure, "the result")[i]

    def _fact(self, title, text):
        self.report.facts.append((title, text))

    def _problem(self, text):
        self.report.problems.append(text)

    def _note(self, text):
        self.report.notes.append(text)


# Helpers


def _file_of(function):
    """The file that a function, a partial, a method or an object that can be called was written in; None if unknown."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return None if code is None else code.co_filename


def _host(value):
    """A NumPy array of any array or number; None for what is neither."""
    if isinstance(value, Tensor):
        return value.detach().numpy()
    if isinstance(value, (bool, int, float, complex, numpy.generic, numpy.ndarray)):
        return numpy.asarray(value)
    try:
        return meta_of(value) and numpy.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def _described(value):
    return f"{value.shape} {value.dtype}" if value.shape else f"{value.dtype}"


def _double(value):
    return value.astype(numpy.complex128 if value.dtype.kind == "c" else numpy.float64)


def _as(leaf, host):
    """`host` in the form of the leaf it stands for, in double precision."""
    if isinstance(leaf, (float, complex)) and not isinstance(leaf, numpy.generic):
        return host.item()
    if isinstance(leaf, (numpy.generic, numpy.ndarray)):
        return host[()] if isinstance(leaf, numpy.generic) else host.copy()
    meta = meta_of(leaf)
    raw = meta.ops.asarray(host, meta.ops.xp.complex128 if meta.is_complex else meta.ops.xp.float64, meta.device)
    return raw


def _close(a, b):
    if a is None or b is None or a.shape != b.shape:
        return a is b
    tolerance = 1e-4 if min(_bits_of(a.dtype), _bits_of(b.dtype)) < 64 else 1e-9
    return bool(numpy.allclose(a, b, rtol=tolerance, atol=tolerance * 1e-3, equal_nan=True))


def _bits_of(dtype):
    if dtype.kind not in "fc":
        return 64
    return dtype.itemsize * (4 if dtype.kind == "c" else 8)


def _bits(metas):
    """Bits of a real number in the first known metadata of a node's results."""
    for meta in metas:
        if meta is not None and meta.is_floating:
            return int(meta.ops.xp.finfo(meta.dtype).bits)
    return None


def _finite(gradients):
    return all(g is None or bool(numpy.all(numpy.isfinite(_host(g)))) for g in gradients)


def _more(n):
    return f" (and {n - 1} more)" if n > 1 else ""


def _median(call):
    times = []
    begin = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begin < TIMING_SECONDS and len(times) < 1000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
