"""The column of structure: what each operation of the table says of its axes, held to NumPy.

Calls are drawn from the signature alone: stacks of every kind, core axes at each place by numbers of both signs,
operands of different numbers of dimensions, lengths of zero and one. What is given for an operation by hand are the
parameters that are no arrays. Of each call the derived shapes are those of the result, values and dtypes are NumPy's,
and each gradient has its argument's shape and dtype.
"""

import contextlib
import itertools
import warnings

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.op import parse_signature
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.numpy_api.primitives import ENTRIES
from arraygrad.ops import TABLE
from arraygrad.ops._axes import CODES
from arraygrad.ops.kinds import DERIVATIVES, KINDS
from arraygrad.ops.structure import axis_parameter, core_axes, result_shapes, structure_of

# Operations of the table, and functions of NumPy's beyond it under their full names.
ALL = {**TABLE, **{entry.name: entry for entry in ENTRIES.values()}}
PARAMETERS = {name: parse_signature(entry.signature).parameters for name, entry in ALL.items()}
XP = backend_of(np.zeros(1)).graph_xp
STACKS = [(), (2,), (0,), (1, 2)]
PAIRS = [((), ()), ((2,), ()), ((), (2,)), ((2, 1), (3,)), ((1, 2), (2, 2)), ((0,), (1,))]
LENGTHS = [
    {"m": 3, "n": 4, "k": 2, "p": 2, "q": 1},
    {"m": 4, "n": 2, "k": 3, "p": 1, "q": 2},
    {"m": 1, "n": 1, "k": 1, "p": 1, "q": 1},
    {"m": 0, "n": 0, "k": 0, "p": 0, "q": 0},
]
# Of these there is no array to ask for: no array goes in, or a function of others' stands behind them.
NO_CALLS = {
    "from_dlpack": "takes an exporter",
    "_strided": "strides in bytes say what it shows, which tests/numpy_api/test_views_by_strides.py draws",
    "einsum": "subscripts name the axes, which test_einsum draws",
    "_einsum": "as einsum",
    "_einsum_view": "as einsum",
    "_implicit": "its problem says what it computes",
    "_to_backend": "between libraries",
    "numpy.linalg.tensorinv": "ind splits the axes",
    "numpy.linalg.tensorsolve": "the axes of b are first in a",
    **{f"numpy.{name}": "of arrays of any shapes" for name in ("block", "vstack", "hstack", "dstack", "column_stack")},
    **{name: "no array" for name, entry in TABLE.items() if entry.kind == "query"},
}
WHOLE = {name for name, e in TABLE.items() if name.startswith("bitwise_")}
INTEGERS = {("numpy.ldexp", "x2"), ("numpy.choose", "a"), ("numpy.bincount", "x")}
# NumPy's function takes only such arrays, or has none at all.
OWN_FUNCTION = {"asarray", "_identity", "_copy", "_to_device", "eye"}


def positive_orders(shapes):
    return [{"n": 2}]


def by_length(options):
    return lambda shapes: options(next(iter(shapes.values())))


def permutations(shape):
    return [{"axes": order} for order in itertools.islice(itertools.permutations(range(-len(shape), 0)), 4)]


def of_one(shape):
    return [{"axis": i - len(shape)} for i, n in enumerate(shape) if n == 1] or None


# Parameters that are no arrays: from the shapes of the arrays by name to what to try; None: no such call.
STATIC = {
    "reshape": lambda s: [{"shape": s["x"]}, {"shape": (-1, 1)}] if 0 not in s["x"] else [{"shape": (0, 2)}],
    "expand_dims": by_length(lambda s: [{"axis": 0}, {"axis": -1}, {"axis": (0, -2)}]),
    "squeeze": by_length(of_one),
    "permute_dims": by_length(permutations),
    "moveaxis": by_length(
        lambda s: [{"source": 0, "destination": -1}, {"source": -1, "destination": 0}] if s else None
    ),
    "roll": by_length(lambda s: [{"shift": 2}]),
    "broadcast_to": by_length(lambda s: [{"shape": s}, {"shape": (2, *s)}]),
    "repeat": by_length(lambda s: [{"repeats": 0}, {"repeats": 3}]),
    "tile": by_length(lambda s: [{"repetitions": (2,)}, {"repetitions": (2, 1, 3)}]),
    "pad": by_length(lambda s: [{"pad_width": 1}, {"pad_width": [(1, 2)] * len(s)}] if s else None),
    "full": by_length(lambda s: [{"shape": 3}, {"shape": (2, 0)}] if not s else None),
    "full_like": lambda s: [{}] if s["fill_value"] == () else None,
    "linspace": lambda s: [{"num": 4}, {"num": 0}] if s["start"] == s["stop"] == () else None,
    "arange": lambda s: [{"start": 4}, {"start": 1, "stop": 1}],
    "empty": lambda s: [{"shape": 3}, {"shape": (2, 0)}],
    "zeros": lambda s: [{"shape": 3}, {"shape": (2, 0)}],
    "ones": lambda s: [{"shape": 3}, {"shape": (2, 0)}],
    "eye": lambda s: [{"n_rows": 3}, {"n_rows": 0, "n_cols": 2}],
    "fftfreq": lambda s: [{"n": 5}, {"n": 1}],
    "rfftfreq": lambda s: [{"n": 5}, {"n": 1}],
    "astype": by_length(lambda s: [{"dtype": np.float32}]),
    "matrix_power": by_length(lambda s: [{"n": 2}, {"n": 0}, {"n": -1}]),
    "diagonal": by_length(lambda s: [{}, {"offset": 1}, {"offset": -2}]),
    "trace": by_length(lambda s: [{}, {"offset": 1}, {"offset": -2}]),
    "tensordot": lambda s: [{"axes": 0}, {"axes": ([0], [-1])}] if s["x1"][:1] == s["x2"][-1:] else [{"axes": 0}],
    "qr": by_length(lambda s: [{}, {"mode": "complete"}]),
    "svd": by_length(lambda s: [{"full_matrices": False}, {"full_matrices": True}]),
    "pinv": by_length(lambda s: [{}]),
    "fftn": by_length(lambda s: [{}, {"s": (3,)}] if s else None),
    "ifftn": by_length(lambda s: [{}, {"s": (3,)}] if s else None),
    "rfftn": by_length(lambda s: [{}, {"s": (3,)}] if s else None),
    "irfftn": by_length(lambda s: [{}, {"s": (3,)}] if s else None),
    **{name: by_length(lambda s: [{}, {"n": 3}]) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    "diff": lambda s: [{}, {"n": 2}, {"n": 0}],
    "cumulative_sum": by_length(lambda s: [{}, {"include_initial": True}]),
    "cumulative_prod": by_length(lambda s: [{}, {"include_initial": True}]),
    "meshgrid": lambda s: [{"indexing": "xy"}, {"indexing": "ij"}] if len(s["arrays"][0]) == 1 else None,
    "_windows": by_length(lambda s: [{"lengths": (2,), "axes": (i,)} for i, n in enumerate(s) if n > 1] or None),
    "_segment_sums": by_length(
        lambda s: [{"ufunc": "add", "starts": (0, 1), "axis": i} for i, n in enumerate(s) if n > 1]
    ),
    "_segment_folds": by_length(
        lambda s: [{"ufunc": "maximum", "starts": (0, 1), "axis": i} for i, n in enumerate(s) if n > 1]
    ),
    "_running_folds": by_length(lambda s: [{"ufunc": "maximum"}]),
    "_getitem": by_length(lambda s: [{"key": (..., None)}, {"key": slice(1, None)}] if s else None),
    "_getitem_adjoint": by_length(lambda s: [{"shape": (*s, 2), "key": (..., 0)}]),
    "_add_at": by_length(lambda s: [{"key": 0, "value": 2.0}] if s and s[0] else None),
    "_setitem": by_length(lambda s: [{"key": 0, "value": 2.0}] if s and s[0] else None),
    "_take_adjoint": by_length(
        lambda s: [{"indices": np.zeros(s[-1], int), "shape": (*s[:-1], 5), "axis": -1}] if s else None
    ),
    "_take_along_axis_adjoint": by_length(
        lambda s: [{"indices": np.zeros(s, int), "shape": (*s[:-1], 5), "axis": -1}] if s else None
    ),
    "_to_device": by_length(lambda s: [{"device": "cpu"}]),
    "polygamma": positive_orders,
    "expn": positive_orders,
    "yn": positive_orders,
    "kn": positive_orders,
    "multigammaln": lambda s: [{"d": 2}],
    "numpy.partition": by_length(lambda s: [{"kth": 0}]),
    "numpy.bincount": by_length(lambda s: [{}]),
    "numpy.delete": by_length(lambda s: [{"obj": 0}]),
    "numpy.insert": by_length(lambda s: [{"obj": 0, "values": 2.0}]),
    "numpy.resize": by_length(lambda s: [{"new_shape": (2, 3)}]),
    "numpy.compress": by_length(lambda s: [{"condition": [True, False, True]}]),
    "numpy.extract": by_length(lambda s: [{"condition": np.ones(s, bool)}]),
    "numpy.diag": by_length(lambda s: [{}, {"k": 1}, {"k": -2}] if len(s) == 1 else None),
    "numpy.diagflat": by_length(lambda s: [{}, {"k": 1}, {"k": -2}]),
    "numpy.vander": by_length(lambda s: [{}, {"N": 2}]),
    "numpy.convolve": lambda s: [{}, {"mode": "same"}, {"mode": "valid"}],
    "numpy.correlate": lambda s: [{}, {"mode": "same"}, {"mode": "full"}],
    "numpy.logspace": lambda s: [{"num": 4}] if s["start"] == s["stop"] == () else None,
    "numpy.full_like": lambda s: [{}] if s["fill_value"] == () else None,
    "numpy.polyint": by_length(lambda s: [{}, {"m": 2}]),
    "numpy.polyder": by_length(lambda s: [{}, {"m": 2}]),
    "numpy.polyfit": lambda s: [{"deg": 1}] if s["x"][0] > 2 else None,
    "numpy.linalg.norm": by_length(lambda s: [{"ord": 1}] if len(s) == 2 else None),
    "numpy.linalg.cond": by_length(lambda s: [{}]),
    "numpy.ediff1d": by_length(lambda s: [{}]),
    "numpy.gradient": by_length(lambda s: [{"axis": -1}]),
    "numpy.unwrap": by_length(lambda s: [{}]),
}


# -- the column itself ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_signature_is_read_and_names_parameters(name):
    entry = ALL[name]
    found = structure_of(entry)
    assert entry.kind in KINDS
    assert entry.derivative in DERIVATIVES
    assert len({operand.name for operand in found.operands}) == len(found.operands)
    assert entry.counted in CODES
    if entry.kind not in ("query", "call"):
        assert found.results
        assert entry.results is None or entry.results == ("*",) or len(entry.results) == len(found.results)


@pytest.mark.parametrize("name", [name for name, entry in ALL.items() if "axis" in PARAMETERS[name]])
def test_axis_says_where_core_axes_stand_or_a_formula_of_the_signature_uses_it(name):
    dims = [dim for result in structure_of(ALL[name]).results for dim in result.dims or ()]
    assert ALL[name].kind == "scatter" or axis_parameter(ALL[name]) == "axis" or any("axis" in dim for dim in dims)


def test_every_kind_and_derivative_is_used():
    assert {entry.kind for entry in TABLE.values()} == set(KINDS)
    assert {entry.derivative for entry in TABLE.values()} == set(DERIVATIVES)


# -- calls drawn from the signature -----------------------------------------------------------------------------------


def calls(name):
    """[(shapes, static parameters)] of an operation, shapes by parameter."""
    entry = ALL[name]
    operands = structure_of(entry).operands
    along = axis_parameter(entry)
    found = []
    for lengths in LENGTHS:
        for stacks in _stacks(operands):
            for axis in _axes(entry, along, stacks):
                shapes = _shapes(entry, operands, stacks, lengths, along, axis)
                if shapes is None:
                    continue
                options = STATIC.get(name, lambda _: [{}])(shapes) or []
                for static in options:
                    static = dict(static) if along is None or along in static else {**static, along: axis}
                    found.append((shapes, static))
                    if "keepdims" in PARAMETERS[name]:
                        found.append((shapes, {**static, "keepdims": True}))
    unique = {repr(call): call for call in found}
    return list(unique.values())[:: max(1, len(unique) // 24)]


def _stacks(operands):
    if not operands:
        return [()]
    if len(operands) == 1 and not operands[0].listed:
        return [(stack,) for stack in STACKS]
    if operands[0].listed:
        return [((2,), (2,)), ((), ()), ((1, 2), (1, 2))] if operands[0].dims else PAIRS
    return [pair if len(operands) == 2 else (*pair, *[pair[0]] * (len(operands) - 2)) for pair in PAIRS]


def _axes(entry, along, stacks):
    """What to give for `axis`: places in the smallest operand, of both signs, None, tuples for groups."""
    if along is None:
        return [None]
    group = any(dim.endswith("*") for dim in structure_of(entry).operands[0].dims)
    ndim = min(map(len, stacks)) + 1
    default = PARAMETERS[entry.name][along].default
    none = [None] if default is None or entry.name in ("sort", "argsort") else []
    if not group:
        return [*none, *range(-ndim, ndim)]
    one = (0, -1) if along == "axis" else ((0,), (-1,))
    return [*none, *one, *([(0, -1), (-2, 0), (1,)] if ndim > 1 else [])]


def _shapes(entry, operands, stacks, lengths, along, axis):
    shapes = {}
    for i, (operand, stack) in enumerate(zip(operands, stacks, strict=False)):
        core = []
        for dim in operand.dims:
            name = dim.rstrip("?*")
            if dim.endswith("?") and not stack and lengths["m"] == 4:
                continue
            core += [int(name)] if name.isdecimal() else [lengths[name]] * (2 if dim.endswith("*") and i else 1)
        whole = any(dim.endswith("*") for dim in operand.dims)
        if along is None or (entry.counted == "first" and i) or not core:
            shape = (*([] if whole and i else stack), *core)
        elif axis is None:
            shape = (*stack, *core)
        elif whole:
            shape = (*stack, *core)
        else:
            stack = stacks[0] if entry.counted == "equal" else stack
            at = axis % (len(stack) + 1)
            shape = (*stack[:at], *core, *stack[at:])
        shapes[operand.name] = [shape, shape] if operand.listed else shape
    return shapes


def array_of(rng, name, operand, shape, dtype):
    if operand.name == "indices" or (name, operand.name) in INTEGERS:
        return np.zeros(shape, np.int64)
    if operand.name in ("condition", "condlist"):
        return rng.random(shape) < 0.5
    if operand.name == "knots":
        return np.sort(rng.uniform(0.2, 0.8, shape))
    if name in WHOLE:
        return rng.integers(1, 5, shape)
    if name == "searchsorted" and operand.name == "x1":
        return np.sort(rng.uniform(0.2, 0.8, shape)).astype(dtype)
    a = rng.uniform(0.2, 0.8, shape).astype(dtype)
    if operand.dims == ("n", "n") or operand.dims == ("m", "m"):
        a = (a + np.swapaxes(a, -1, -2)) / 2 + shape[-1] * np.eye(shape[-1], dtype=dtype) * np.arange(1, shape[-1] + 1)
    return a.astype(dtype)


def arguments(name, arrays, static):
    """(args, kwargs) by the operation's own signature."""
    args, kwargs, skipped = [], {}, False
    for parameter in PARAMETERS[name].values():
        given = {**arrays, **static}
        if parameter.name not in given:
            skipped = True
        elif parameter.kind is parameter.VAR_POSITIONAL:
            args += given[parameter.name]
        elif parameter.kind is parameter.KEYWORD_ONLY or skipped:
            kwargs[parameter.name] = given[parameter.name]
        else:
            args.append(given[parameter.name])
    return args, kwargs


def function_of(name, space=XP):
    entry = ALL[name]
    if name not in TABLE:
        return numpy_function(name)
    owner = getattr(space, entry.extension) if entry.extension else space
    return getattr(owner, name)


def numpy_function(name):
    """NumPy's function, or SciPy's special one, of the same parameters; None where there is none."""
    if name in OWN_FUNCTION or (name.startswith("_") and not ALL[name].numpy):
        return None
    if ALL[name].extension == "special" or name == "gammaln":
        special = pytest.importorskip("scipy.special")
        return getattr(special, name, None)
    found = np
    for part in (ALL[name].numpy or (name.removeprefix("numpy."),))[0].split("."):
        found = getattr(found, part, None)
    if found is None and ALL[name].extension == "fft":
        found = getattr(np.fft, name)
    return found


@contextlib.contextmanager
def quietly():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def flat(found):
    return [found] if isinstance(found, (np.ndarray, np.generic, Tensor)) else list(found)


@pytest.mark.parametrize("name", [name for name in ALL if name not in NO_CALLS])
def test_calls_drawn_from_the_signature_have_derived_shapes_and_what_numpy_gives(name):
    rng = np.random.default_rng(5)
    entry, theirs = ALL[name], numpy_function(name)
    done = 0
    drawn = calls(name)
    assert drawn
    for place, (shapes, static) in enumerate(drawn):
        dtype = np.float32 if place % 4 == 3 and entry.chapter != "special" else np.float64
        arrays = {}
        for operand in structure_of(entry).operands:
            if operand.name not in shapes or operand.name in static:
                continue
            shape = shapes[operand.name]
            each = [array_of(rng, name, operand, one, dtype) for one in (shape if operand.listed else [shape])]
            arrays[operand.name] = each if operand.listed else each[0]
        done += _compared(name, arrays, static, theirs)
    assert done > 1


def _compared(name, arrays, static, theirs):
    """Runs one call; returns whether it is one that NumPy has."""
    entry = ALL[name]
    args, kwargs = arguments(name, arrays, static)
    said = f"{name}{[np.shape(a) for a in args]} {static}"
    expected = None
    with quietly():
        if theirs is not None:
            try:
                expected = theirs(*args, **kwargs)
            except (ValueError, IndexError, np.linalg.LinAlgError, ZeroDivisionError):
                return False
            except TypeError:  # other parameters
                theirs = None
        tracked = {key: _tracked(entry, key, value) for key, value in arrays.items()}
        args, kwargs = arguments(name, tracked, static)
        try:
            found = function_of(name)(*args, **kwargs)
        except (ValueError, IndexError, np.linalg.LinAlgError):
            assert theirs is None, said
            return False
        derived = result_shapes(
            entry, {key: [a.shape for a in v] if isinstance(v, list) else v.shape for key, v in arrays.items()},
            {**DEFAULTS[name], **static},
        )  # fmt: skip
        _check_shapes(entry, found, derived, said)
        if expected is not None and name not in ("empty", "empty_like"):
            for ours, plain in zip(flat(found), flat(expected), strict=True):
                plain = np.asarray(plain)
                ours = np.asarray(ours.detach() if isinstance(ours, Tensor) else ours)
                assert ours.shape == plain.shape, said
                if name not in ("eig", "eigvals"):  # NumPy's are real where they can be
                    assert ours.dtype == plain.dtype or entry.kind == "creation", said
                np.testing.assert_allclose(
                    ours, plain, rtol=2e-4 if plain.itemsize < 8 else 1e-9, atol=1e-6, err_msg=said
                )
        if name in ("rfftn", "irfftn") and _names_one_twice(static.get("axes"), args[0].ndim):
            with pytest.raises(TypeError, match="repeated, has no recorded gradient"):
                _check_gradients(entry, found, tracked, said)
        else:
            _check_gradients(entry, found, tracked, said)
    return True


def _names_one_twice(axes, ndim):
    return axes is not None and len({axis % ndim for axis in axes}) < len(axes)


DEFAULTS = {
    name: {p.name: p.default for p in parameters.values() if p.default is not p.empty}
    for name, parameters in PARAMETERS.items()
}


def _tracked(entry, key, value):
    if isinstance(value, list):
        return [_tracked(entry, key, one) for one in value]
    wanted = key in entry.rules and value.dtype.kind == "f"
    return ag.tensor(value, requires_grad=True) if wanted else value


def _check_shapes(entry, found, derived, said):
    results = flat(found) if isinstance(found, (tuple, list)) else [found]
    if len(derived) == 1 and isinstance(derived[0], list):
        derived = derived[0]
    assert len(results) == len(derived), said
    for result, shape in zip(results, derived, strict=True):
        if shape is not None:
            assert len(shape) == len(result.shape), (said, shape, result.shape)
            assert all(n in (m, None) for n, m in zip(shape, result.shape, strict=True)), (said, shape, result.shape)


def _check_gradients(entry, found, tracked, said):
    leaves = [t for value in tracked.values() for t in (value if isinstance(value, list) else [value])]
    leaves = [t for t in leaves if isinstance(t, Tensor) and t.requires_grad]
    results = [r for r in flat(found) if isinstance(r, Tensor) and r.requires_grad]
    if not leaves or not results or entry.name in ("eig", "qr", "svd", "eigh", "_eigh_upper"):
        return  # gradients of arbitrary vectors are refused
    try:
        total = sum([XP.sum(XP.real(r)) for r in results])
        gradients = ag.autograd.grad(total, leaves, allow_unused=True)
    except (RuntimeError, np.linalg.LinAlgError):  # a singular matrix
        return
    for leaf, gradient in zip(leaves, gradients, strict=True):
        assert gradient is None or (gradient.shape == leaf.shape and gradient.dtype == leaf.dtype), said


# Rules of parameters that these calls give as numbers.
WITH_NUMBERS = {"_add_at", "_setitem", "numpy.insert"}
LINEAR = [
    name
    for name, entry in ALL.items()
    if entry.derivative == "linear" and entry.rules and name not in NO_CALLS and name not in WITH_NUMBERS
]


@pytest.mark.parametrize("name", LINEAR)
def test_what_is_said_to_be_linear_is(name):
    rng = np.random.default_rng(6)
    entry = ALL[name]
    for shapes, static in calls(name)[:6]:
        arrays, others, sums = {}, {}, {}
        for operand in structure_of(entry).operands:
            if operand.name not in shapes or operand.name in static:
                continue
            x, y = [array_of(rng, name, operand, _one(shapes, operand), np.float64) for _ in "xy"]
            fixed = operand.name not in entry.rules
            made = (x, x, x) if fixed else (x, y, x + 2.0 * y)
            for given, one in zip((arrays, others, sums), made, strict=True):
                given[operand.name] = [one, one] if operand.listed else one
        with quietly():
            try:
                found = [_results(name, given, static) for given in (arrays, others, sums)]
            except (ValueError, IndexError, TypeError):
                continue
        for at_x, at_y, at_sum in zip(*found, strict=True):
            if at_x.dtype.kind in "fc":
                np.testing.assert_allclose(at_sum, at_x + 2.0 * at_y, rtol=1e-6, atol=1e-12, err_msg=f"{static}")


def _one(shapes, operand):
    return shapes[operand.name][0] if operand.listed else shapes[operand.name]


def _results(name, arrays, static):
    args, kwargs = arguments(name, arrays, static)
    return [np.asarray(r.detach() if isinstance(r, Tensor) else r) for r in flat(function_of(name)(*args, **kwargs))]


# -- errors -----------------------------------------------------------------------------------------------------------


def test_axis_out_of_bounds_names_the_operation():
    with pytest.raises(IndexError, match="sum: axis 2 is out of bounds for an array of 2 dimensions"):
        result_shapes(TABLE["sum"], {"x": (2, 3)}, {"axis": 2})


def test_core_lengths_that_differ_are_refused():
    with pytest.raises(ValueError, match="matmul: the core axis k of x2 has length 4, expected 3"):
        result_shapes(TABLE["matmul"], {"x1": (2, 3), "x2": (4, 5)}, {})


def test_loops_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match=r"add: loops of shapes \(2,\), \(3,\) do not broadcast"):
        result_shapes(TABLE["add"], {"x1": (2,), "x2": (3,)}, {})


def test_an_array_with_too_few_axes_is_refused():
    with pytest.raises(ValueError, match="det: x needs 2 axes or more, found 1"):
        result_shapes(TABLE["det"], {"x": (2,)}, {})


def test_axes_are_counted_by_each_operand():
    assert core_axes(TABLE["vecdot"], {"x1": (3, 2), "x2": (4, 3, 2)}, {"axis": 0}) == {"x1": (-2,), "x2": (-3,)}
    assert core_axes(TABLE["concat"], {"arrays": [(3, 2), (1, 2)]}, {"axis": -2}) == {"arrays": [(-2,), (-2,)]}
    assert core_axes(TABLE["take"], {"x": (3, 2), "indices": (5, 6)}, {"axis": 1}) == {"x": (-1,), "indices": (-2, -1)}
