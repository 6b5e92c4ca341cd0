"""Kernels made of the table's elementwise rules, compiled for the host: the values are the table's own over NumPy.

Imports ops, ops.expression, backends.fused, backends.fusion and the NumPy backend's namespaces. No GPU is needed.
"""

import numpy as np
import pytest
from host_kernels import COMPILER, compile_text, elementwise_text, run_elementwise

import arraygrad as ag
from arraygrad.backends.cuda.fused import Spec, trace_forward, trace_rules
from arraygrad.backends.cuda.fusion import c_type
from arraygrad.core.tensor import backend_of
from arraygrad.ops import OPS
from arraygrad.ops.expression import Expression, ExpressionNamespace, Symbol, Untraceable

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

XP = backend_of(ag.asarray(np.ones(1))).rule_xp
DTYPES = ("float32", "float64", "complex64", "complex128")
TOLERANCE = {"f": 2e-5, "d": 1e-12, "F": 1e-4, "D": 1e-11}

# Elementwise operations of the standard and beyond it that a kernel serves, by what their dtypes can be.
REAL_ONLY = frozenset(
    "remainder logaddexp atan2 hypot maximum minimum clip copysign nextafter sigmoid relu floor_divide _cbrt "
    "ceil floor trunc _fmax _fmin _fmod _logaddexp2 _fabs _deg2rad _rad2deg".split()
)
NO_KERNEL = ("_zero_unknown",)
ELEMENTWISE = [
    op.name
    for op in OPS.values()
    if op.kind == "elementwise"
    and op.differentiable
    and op.entry.chapter in ("elementwise", "beyond", "internal")
    and op.name not in NO_KERNEL
]
CASES = [(name, dtype) for name in ELEMENTWISE for dtype in DTYPES if dtype[0] == "f" or name not in REAL_ONLY]
# Whoever calls _float_power gives it double precision, and the two of real numbers real ones.
CASES = [
    (name, dtype)
    for name, dtype in CASES
    if not (name == "_float_power" and dtype in ("float32", "complex64"))
    and not (name.endswith("_of_real") and dtype.startswith("complex"))
]
FORWARDS = [("relu", "f"), ("sigmoid", "f"), ("floor_divide", "f"), ("tanh", "F"), ("sign", "F")]
FORWARDS = [(name, d) for name, kind in FORWARDS for d in (("float32", "float64") if kind == "f" else DTYPES[2:])]

# Where the arguments of a function lie; the others take any number.
DOMAINS = {"log1p": (-0.9, 4), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atanh": (-0.9, 0.9), "acosh": (1.1, 4)}
POSITIVE = frozenset("log log2 log10 sqrt pow _float_power".split())


class Meta:
    """Metadata of an array that a rule asks the dtype of."""

    def __init__(self, dtype):
        self.dtype = np.dtype(dtype)


def spec_of(name, dtype, *, absorbs=False):
    """The Spec of all rules of an operation whose arrays have one dtype, g included."""
    op = OPS[name]
    result = result_dtype(name, dtype)
    saved = []
    for what in op.saves:
        saved.append(Meta(dtype) if what.endswith("_meta") else result if what == "ans" else np.dtype(dtype))
    return trace_rules(op, result, (1 << len(op.rules)) - 1, saved, [], [None] * len(op.rules), absorbs)


def result_dtype(name, dtype):
    """The dtype of the operation's result."""
    return np.dtype(np.dtype(dtype).char.lower() if name in ("abs", "real", "imag") else dtype)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("no C++ compiler was found")
    specs = [spec_of(name, dtype) for name, dtype in CASES]
    specs += [trace_forward(OPS[name], [np.dtype(dtype)] * len(OPS[name].params)) for name, dtype in FORWARDS]
    specs.append(spec_of("log", "float64", absorbs=True))
    texts = [elementwise_text(i, spec) for i, spec in enumerate(specs)]
    return compile_text(texts, tmp_path_factory.mktemp("kernels")), specs


def arguments(name, dtype, rng, size=300):
    """Arrays for each array parameter of an operation, and the gradient of its result."""
    op = OPS[name]
    low, high = DOMAINS.get(name, (0.1, 4) if name in POSITIVE else (-4, 4))
    arrays = {}
    for parameter in op.params:
        x = rng.uniform(low, high, size)
        if dtype[0] == "c":
            x = x + 1j * rng.uniform(-2, 2, size)
        x = x.astype(dtype)
        if parameter == "x2":
            x[::7] = arrays["x1"][::7]  # ties
        arrays[parameter] = x
    g = rng.normal(size=size) + (1j * rng.normal(size=size) if dtype[0] == "c" else 0)
    return arrays, g.astype(result_dtype(name, dtype))


def special(arrays, dtype):
    """The arrays, with all pairs of special numbers in front."""
    numbers = np.asarray([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, -3e20, 2.5], dtype=dtype)
    pairs = np.meshgrid(numbers, numbers, indexing="ij")
    for k, name in enumerate(arrays):
        part = pairs[min(k, 1)].ravel()
        arrays[name][: part.size] = part
    return arrays


def by_table(op, g, arrays):
    """What the table's own rules give over NumPy, with the conjugation that the engine does."""
    ans = getattr(XP, op.name)(*[arrays[p] for p in op.params])
    conj = op.holomorphic and g.dtype.kind == "c"
    found = []
    for parameter, rule in zip([op.params[i] for i in op.inputs], op.rules, strict=True):
        names = rule.__code__.co_varnames[: rule.__code__.co_argcount]
        values = {**arrays, "xp": XP, "g": np.conj(g) if conj else g, "ans": ans}
        values.update({f"{p}_dtype": a.dtype for p, a in arrays.items()})
        value = rule(*[values[n] for n in names])
        found.append((parameter, np.conj(value) if conj else value))
    return ans, found


@pytest.mark.parametrize(("number", "case"), list(enumerate(CASES)), ids=[f"{n}-{d}" for n, d in CASES])
def test_kernel_of_all_gradients_gives_what_the_rules_give(library, number, case):
    name, dtype = case
    op = OPS[name]
    arrays, g = arguments(name, dtype, np.random.default_rng(7))
    if dtype[0] == "f":
        arrays = special(arrays, dtype)
    ans, wanted = by_table(op, g, arrays)
    rtol, atol = TOLERANCE[np.dtype(dtype).char], 1e-6 if dtype in ("float32", "complex64") else 1e-14
    compiled, specs = library
    spec = specs[number]
    inputs = {"g": g}
    for k, what in enumerate(op.saves):
        if not what.endswith("_meta"):
            inputs[f"a{k}"] = ans if what == "ans" else arrays[what]
    outputs = run_elementwise(compiled, number, spec, inputs)
    for (parameter, expected), place in zip(wanted, spec.results, strict=True):
        found = g if place == "g" else outputs[place]
        assert found.dtype == expected.dtype
        what = f"{name}, gradient of {parameter}, {dtype}"
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True, err_msg=what)


@pytest.mark.parametrize(("place", "case"), list(enumerate(FORWARDS)), ids=[f"{n}-{d}" for n, d in FORWARDS])
def test_kernel_of_a_composed_forward_gives_what_it_gives(library, place, case):
    name, dtype = case
    op = OPS[name]
    arrays, _ = arguments(name, dtype, np.random.default_rng(8))
    if dtype[0] == "f":
        arrays = special(arrays, dtype)
    expected = op.entry.forward(XP, *arrays.values())
    compiled, specs = library
    number = len(CASES) + place
    (found,) = run_elementwise(compiled, number, specs[number], {f"a{k}": a for k, a in enumerate(arrays.values())})
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE[np.dtype(dtype).char], atol=1e-7, equal_nan=True)
    assert found.dtype == expected.dtype
    if dtype[0] == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected) | (np.isnan(found) & np.signbit(found)))


def test_zero_annihilates_is_part_of_the_kernel(library):
    compiled, specs = library
    number = len(specs) - 1
    g = np.asarray([0.0, -0.0, 2.0])
    (found,) = run_elementwise(compiled, number, specs[number], {"g": g, "a0": np.asarray([0.0, 0.0, 4.0])})
    assert found.tolist() == [0.0, 0.0, 0.5]


def test_every_elementwise_operation_of_the_standard_has_a_kernel():
    missing = []
    for name in ELEMENTWISE:
        try:
            spec_of(name, "float32")
        except Untraceable as error:
            missing.append(f"{name}: {error}")
    assert missing == []
    assert len(ELEMENTWISE) > 45


def test_what_is_handed_on_as_it_is_takes_no_kernel():
    assert spec_of("add", "float32").results == ["g", "g"]
    assert spec_of("add", "float32").outputs == []
    assert spec_of("subtract", "float32").results == ["g", 0]


def test_each_value_is_computed_once():
    spec = spec_of("hypot", "float64")
    assert spec.body.count("== double(0.0)") == 1


def test_only_what_is_read_is_an_argument():
    op = OPS["multiply"]
    one = trace_rules(op, np.dtype("f4"), 1, [np.dtype("f4"), None], [], [None, None], False)
    assert [name for name, _ in one.inputs] == ["g", "a0"]
    assert one.results == [0, None]


def test_gradients_have_the_dtype_of_their_targets():
    op = OPS["multiply"]
    f4, f8 = np.dtype("f4"), np.dtype("f8")
    spec = trace_rules(op, f8, 3, [f8, f4], [], [f4, f8], False)
    assert [dtype for _, dtype in spec.outputs] == [f4, f8]


def test_a_complex_gradient_of_a_real_input_is_left_to_the_engine():
    op = OPS["multiply"]
    spec = trace_rules(op, np.dtype("c8"), 1, [np.dtype("c8"), None], [], [np.dtype("f4"), None], False)
    assert spec.outputs[0][1] == np.dtype("c8")


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_powers_of_zero_are_the_tables(library, dtype):
    compiled, specs = library
    number = CASES.index(("pow", dtype))
    op, powers = OPS["pow"], np.asarray([0.0, 1.0, 2.0, 0.5, 3.0], dtype=dtype)
    arrays = {"x1": np.zeros_like(powers), "x2": powers}
    g = np.ones_like(powers)
    ans, wanted = by_table(op, g, arrays)
    inputs = {"g": g, **{f"a{k}": ans if what == "ans" else arrays[what] for k, what in enumerate(op.saves)}}
    outputs = run_elementwise(compiled, number, specs[number], inputs)
    for (_, expected), place in zip(wanted, specs[number].results, strict=True):
        known = np.isfinite(expected)
        assert known[:3].all()  # the derivative of x ** 0.5 at zero is infinite
        np.testing.assert_array_equal(outputs[place][known], expected[known])


@pytest.mark.parametrize("name", ["matmul", "outer", "tensordot", "vecdot", "cross", *NO_KERNEL])
def test_what_is_not_elementwise_has_no_kernel(name):
    op = OPS[name]
    saved = [Meta("f4") if what.endswith("_meta") else np.dtype("f4") for what in op.saves]
    with pytest.raises((Untraceable, TypeError, AttributeError)):
        trace_rules(op, np.dtype("f4"), 3, saved, [None] * len(op.static_positions), [None, None], False)


@pytest.mark.parametrize("rule", [lambda x: bool(x > 0), lambda x: x[0], lambda x: x.shape, lambda x: len(x), iter])
def test_a_symbol_is_no_array(rule):
    x = Expression().input("x", "float32")
    with pytest.raises((Untraceable, TypeError, AttributeError)):
        rule(x)


@pytest.mark.parametrize("dtype", ["float16", "longdouble", "object"])
def test_unknown_dtypes_are_refused(dtype):
    with pytest.raises(Untraceable, match="kernels have no type"):
        c_type(dtype)


def test_python_numbers_take_the_dtype_of_arrays():
    expression = Expression()
    x = expression.input("x", "float32")
    assert (x * 2).dtype == (2.5 * x).dtype == (x**2).dtype == np.dtype("f4")
    assert (x * 1j).dtype == np.dtype("c8")
    assert (expression.input("n", "int32") / 2).dtype == np.dtype("f8")


def test_a_namespace_says_what_kernels_lack():
    xp = ExpressionNamespace(Expression())
    with pytest.raises(Untraceable, match="kernels have no sort"):
        xp.sort(None)


def test_a_spec_stores_constants_too():
    expression = Expression()
    g = expression.input("g", "float32")
    spec = Spec(expression, [ExpressionNamespace(expression).zeros_like(g)])
    assert spec.body == "o0 = float(0.0);"
    assert isinstance(g, Symbol)
    assert spec.signature() == ("float32 g", "float32 o0")
