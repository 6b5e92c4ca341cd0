"""The NumPy backend's kernels of elementwise rules, which setup.py writes out of the table, bit by bit against it.

Also that nothing else computes a derivative of an elementwise operation: the formulas stand in the table alone.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from fast_path_cases import DTYPES, OTHER, SPECIAL, gradients, outcome, plain, quiet, recorded, same, values_of
from samples import samples

from arraygrad.backends.numpy.elementwise import complex_kernel_names, kernel_names, kernels_digest, rule_by_hand
from arraygrad.backends.numpy.kernels import kernels, source
from arraygrad.backends.numpy.table import try_rule
from arraygrad.ops import OPS

BACKENDS = Path(__file__).parents[2] / "src" / "arraygrad" / "backends" / "numpy"  # a wheel has no .pyx
KERNELS, REASONS = kernels()
NAMES = sorted({k.operation for k in KERNELS if OPS[k.operation].elementwise and len(OPS[k.operation].inputs) < 3})
VALUES = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-310, 3e38, -2.5, 5e-324)

# Rules that are written by hand, and what they do besides running kernels.
BY_HAND = {
    "add": "hands the gradient on",
    "positive": "hands the gradient on",
    "where": "asks for the condition, which no kernel reads",
    "subtract": "hands the gradient on to x1, and negates the sum for a broadcast x2",
    "multiply": "loops of NumPy's for broadcast operands, sums on the way, complex products, x * x as one product",
    "divide": "loops of NumPy's for broadcast operands, sums on the way, complex quotients in one pass",
    "sin": "takes the cosine that the forward left",
    "cos": "takes the sine that the forward left",
    "pow": "leaves out the power that is x itself, and what a number as exponent decides at once, complex squares",
    "_float_power": "as pow",
    "abs": "complex sizes in one pass; the table's kernel for real ones",
    "square": "complex squares in one pass; the table's kernel for real ones",
    "clip": "bounds that are numbers, in one pass",
    "real": "the part of a complex gradient, in what waits of the whole",
    "imag": "the part of a complex gradient, in what waits of the whole",
}


def test_the_compiled_kernels_are_those_of_the_table():
    again = "the table has changed since the package was built: python setup.py build_ext --inplace"
    assert f'"{kernels_digest()}"' in source(), again
    assert kernel_names() == [(k.operation, k.name) for k in KERNELS if not k.is_complex], again
    assert complex_kernel_names() == [(k.operation, k.name) for k in KERNELS if k.is_complex], again


def test_every_elementwise_rule_has_a_kernel_or_a_reason_not_to():
    for op in OPS.values():
        for i in op.inputs if op.elementwise else ():
            rule = (op.name, op.params[i])
            assert (rule in kernel_names()) != (rule in REASONS), (rule, REASONS.get(rule, "build the package again"))


def test_what_has_no_kernel_asks_for_something_that_is_no_array_or_for_functions_that_numpy_lacks():
    special = {"j0", "j1", "y0", "y1", "i0", "i1", "i0e", "i1e", "k0", "k1", "k0e", "k1e"}
    special |= {"digamma", "polygamma", "erfcx", "expit", "gamma", "rgamma"}
    for (name, parameter), reason in REASONS.items():
        if OPS[name].entry.chapter != "special" or not OPS[name].elementwise or parameter == "forward":
            continue
        found = re.fullmatch(r"kernels have no (\w+)|its rule asks for (\w+)", reason)
        assert found, (name, parameter, reason)
        lacking, asked = found.groups()
        assert lacking in special or OPS[name].positions[asked] not in OPS[name].inputs, (name, parameter, reason)


def test_elementwise_rules_outside_of_the_special_functions_have_kernels_but_for_those_named_here():
    lacking = {rule: reason for rule, reason in REASONS.items() if OPS[rule[0]].elementwise and rule[1] != "forward"}
    lacking = {rule: reason for rule, reason in lacking.items() if OPS[rule[0]].entry.chapter != "special"}
    assert lacking == {
        ("imag", "x"): "its rule asks for x_dtype",
        ("where", "x1"): "its rule asks for condition",
        ("where", "x2"): "its rule asks for condition",
        ("tril", "x"): "its rule asks for k",
        ("triu", "x"): "its rule asks for k",
        ("_zero_unknown", "x"): "kernels have no full_like",
    }, "write the rule with operators and with the functions of ExpressionNamespace (ops/expression.py)"


def test_composed_operations_of_one_operand_have_a_kernel_of_their_value_or_a_reason_not_to():
    made = {k.operation for k in KERNELS if k.name == "forward"}
    assert {"relu", "sigmoid"} <= made
    composed = {name for name, op in OPS.items() if op.elementwise and op.entry.forward and op.params == ("x",)}
    assert made <= composed
    for name in composed:
        assert (name in made) != bool(REASONS.get((name, "forward"))), name


def arrays_of(name, dtype, kind):
    """Arrays for the parameters of an operation, and a gradient."""
    n = len(OPS[name].params) + 1
    if kind == "special":
        return [a.copy() for a in np.array(list(itertools.product(VALUES, repeat=n))).astype(dtype).T]
    shape = {"0-d": (), "one": (1,), "few": (5,), "blocks": (3, 701), "none": (0, 3)}[kind]
    return [values_of(dtype, i, -1.5, 2.5)(shape) for i in range(n)]


GRADIENTS = {"its own": lambda g: g, "one for all": lambda g: np.full((), g.flat[0] if g.size else 0, g.dtype)}


@pytest.mark.parametrize("kind", ["special", "0-d", "one", "few", "blocks", "none"])
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_gives_the_tables_gradient_bit_by_bit(name, kind):
    for dtype, spread in itertools.product(DTYPES, GRADIENTS.values()):
        *operands, g = arrays_of(name, dtype, kind)
        g = np.broadcast_to(spread(g), g.shape)
        with quiet():
            got, expected = gradients(name, operands, g), plain(gradients, name, operands, g)
        assert len(got) == len(expected) > 0
        for a, b in zip(got, expected, strict=True):
            same(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_operands_and_gradients_of_both_orders_give_the_tables_gradient_bit_by_bit(name):
    n = len(OPS[name].params)
    for dtype in DTYPES:
        for orders in itertools.product("CF", repeat=n + 1):
            *operands, g = [
                np.array(values_of(dtype, i, -1.5, 2.5)((4, 3)), order=order) for i, order in enumerate(orders)
            ]
            with quiet():
                got, expected = gradients(name, operands, g), plain(gradients, name, operands, g)
            assert len(got) == len(expected) > 0
            for a, b in zip(got, expected, strict=True):
                same(a, b)


@pytest.mark.parametrize("name", [name for name in NAMES if not rule_by_hand(OPS[name])])
def test_small_operands_of_another_order_than_the_gradient_are_served_in_numpys_layout(name):
    n = len(OPS[name].params)
    for dtype, turned in itertools.product(DTYPES, range(n + 1)):
        *operands, g = [
            np.array(values_of(dtype, i, -1.5, 2.5)((4, 3)), order="F" if i == turned else "C") for i in range(n + 1)
        ]
        with quiet():
            _, out = recorded(name, operands)
            if out.dtype != g.dtype:  # _float_power of single precision
                continue
            kept = g.copy()
            served = try_rule(out.grad_fn, g)
        assert served is not None
        same(g, kept)
        for a, is_owned in served:
            assert a is g or not is_owned or a.flags.c_contiguous or a.flags.f_contiguous


@pytest.mark.parametrize("name", [name for name in NAMES if not rule_by_hand(OPS[name])])
def test_a_kernel_serves_plain_arrays_and_overwrites_the_gradient_that_the_engine_owns(name):
    for dtype, kind in itertools.product(DTYPES, ("few", "blocks")):
        *operands, g = arrays_of(name, dtype, kind)
        with quiet():
            _, out = recorded(name, operands)
            fresh, kept = try_rule(out.grad_fn, g), g.copy()
            if out.dtype != g.dtype:  # _float_power of single precision
                assert fresh is None
                continue
            assert fresh is not None, "its rule has no compiled kernel: python setup.py build_ext --inplace"
            same(g, kept)
            owned = try_rule(out.grad_fn, g, owned=True)
        for (a, _), (b, _) in zip(fresh, owned, strict=True):
            same(kept if a is g else a, b)
        computed = [a for a, is_owned in fresh if a is not g and is_owned]
        handed_on = [a for a, _ in fresh if a is g]
        assert len(computed) + len(handed_on) == len(fresh)
        # Its memory goes to one gradient, and only where no edge gets the gradient as it is.
        assert sum(b is g for b, _ in owned) == (len(handed_on) or 1)
        assert all(is_owned for _, is_owned in owned) == (len(handed_on) < 2)


@pytest.mark.parametrize("name", [name for name in NAMES if len(OPS[name].inputs) == 2])
def test_a_number_beside_an_array_gives_the_tables_gradient(name):
    for dtype, kind, number in itertools.product(DTYPES, ("special", "0-d", "few", "blocks"), (2, 0.5, 0, -1.5)):
        x, _, g = arrays_of(name, dtype, kind)
        for operands in ((x, number), (number, x)):
            with quiet():
                got, expected = gradients(name, operands, g), plain(gradients, name, operands, g)
            for a, b in zip(got, expected, strict=True):
                same(a, b)


@pytest.mark.parametrize("layout", ["every second", "reversed", "columns", "permuted", "unaligned"])
@pytest.mark.parametrize("name", NAMES)
def test_operands_that_are_not_dense_have_the_tables_gradient(name, layout):
    for dtype in DTYPES:
        operands = [OTHER[layout](values_of(dtype, i, -1.5, 2.5)) for i in range(len(OPS[name].params))]
        g = values_of(dtype, 7)(operands[0].shape)
        with quiet():
            got, expected = gradients(name, operands, g), plain(gradients, name, operands, g)
        for a, b in zip(got, expected, strict=True):
            same(a, b)


@pytest.mark.parametrize("name", [name for name in NAMES if len(OPS[name].inputs) == 2 and name != "divide"])
def test_operands_that_are_broadcast_have_the_tables_gradients(name):
    for shapes in (((4, 5), (5,)), ((4, 5), ()), ((1,), (4, 5)), ((4, 1), (1, 5)), ((3,), (1,))):
        x1, x2 = (values_of("float64", i, 0.5, 2)(shape) for i, shape in enumerate(shapes))
        g = values_of("float64", 5)(np.broadcast_shapes(*shapes))
        for a, b in zip(gradients(name, (x1, x2), g), plain(gradients, name, (x1, x2), g), strict=True):
            same(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_reports_the_errors_of_the_table_and_none_for_nan(name):
    for dtype, value in itertools.product(DTYPES, (np.nan, 0.0, np.inf, 1e-30, 3e38)):
        operands = [np.full(5, value, dtype) for _ in OPS[name].params]
        with quiet():
            _, out = recorded(name, operands)
        g = np.full(5, 2.0, dtype)

        def run(out=out, g=g):
            with np.errstate(all="warn", under="ignore"):
                out.backward(g, retain_graph=True)

        (_, errors), (_, expected) = outcome(run), outcome(lambda run=run: plain(run))
        told, wanted = ({text.split(" encountered")[0] for _, text in found} for found in (errors, expected))
        assert told == wanted, (dtype, value)


COMPLEX = [(k.operation, k.name) for k in KERNELS if k.is_complex]


def test_products_and_their_kin_have_kernels_for_complex_numbers():
    assert {("multiply", "x1"), ("multiply", "x2"), ("conj", "x"), ("subtract", "x2")} <= set(COMPLEX)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", sorted({name for name, _ in COMPLEX} - {"remainder", "_fmod"}))  # NumPy has none
def test_a_complex_kernel_gives_the_tables_gradient(name, dtype):
    """Not bit by bit: on some processors NumPy's complex products are fused."""
    parts = np.array(list(itertools.product(VALUES, repeat=2))).astype("float32" if dtype == "complex64" else "float64")
    special = parts.view(dtype)[:, 0]
    for shape in ((), (1,), (5,), (3, 701), (0, 3), *([] if name == "multiply" else [None])):
        if shape is None:  # what overflows on its way in a product may not where it is fused
            *operands, g = [np.roll(special, 7 * i) for i in range(len(OPS[name].params) + 1)]
        else:
            numbers = [values_of("float64", i)((*shape, 2)) for i in range(len(OPS[name].params) + 1)]
            *operands, g = [x.view("complex128")[..., 0].astype(dtype) for x in numbers]
        for strided in (False, True):
            if strided and g.ndim == 2:
                operands = [np.asfortranarray(a) for a in operands]
            with quiet():
                got, expected = gradients(name, operands, g), plain(gradients, name, operands, g)
            assert len(got) == len(expected) > 0
            for a, b in zip(got, expected, strict=True):
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                assert a.strides == b.strides or not a.size
                if shape is None:
                    np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
                else:
                    eps = np.finfo(dtype).eps
                    np.testing.assert_allclose(a, b, rtol=32 * eps, atol=256 * eps)


# One formula


def test_rules_that_are_written_by_hand_are_known():
    by_hand = {op.name for op in OPS.values() if op.elementwise and rule_by_hand(op)}
    assert by_hand == set(BY_HAND)


def test_rules_that_are_written_by_hand_compute_derivatives_by_kernels_and_by_loops_of_numpy():
    """No kernel of an elementwise rule stands in the sources."""
    assert any(path.suffix == ".pyx" for path in BACKENDS.iterdir())
    for path in sorted(p for p in BACKENDS.iterdir() if p.suffix in (".hpp", ".pyx", ".pxd")):
        text = re.sub(r"#define.*?[^\\]\n", "", path.read_text(), flags=re.S)
        assert not re.search(r"ARRAYGRAD_STEP\w*\(", text), path.name
        assert not re.search(r"\bK_[A-Z]+\b|ARRAYGRAD_KERNEL|kernels[23]\b", text), path.name


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_with_kernels_has_samples(name):
    assert samples(name)


def test_every_special_value_is_among_the_values():
    assert {str(v) for v in VALUES} >= {str(v) for v in SPECIAL} - {"0.5"}
