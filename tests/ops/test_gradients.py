"""Gradients of every operation of the table, against finite differences and known values.

Parametrised over the table: an operation with rules and no samples fails. Every sample is checked in double precision
to first and second order, at kinks and ties against known values, and in single precision for its dtype. Where the
gradient of an elementwise function proves to be smooth at a kink's point, so must its second derivative be right.
"""

from collections import Counter

import numpy as np
import pytest
from samples import samples
from samples._case import kink

import arraygrad as ag
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.ops import OPS, TABLE

DIFFERENTIABLE = [name for name, entry in TABLE.items() if entry.rules]
CHECKED = Counter()

# Functions that the standard has for real numbers alone, and that NumPy computes for complex ones by an order of its
# own, the real parts first.
ORDERED = ("maximum", "minimum", "_fmax", "_fmin", "clip", "max", "min", "sort", "round")

# what rules see under create_graph: the public functions and the internal operations, recorded
XP = backend_of(np.zeros(1)).graph_xp


@pytest.fixture(scope="module", autouse=True)
def _report(request):
    """Prints how many combinations of function, variant, dtype and order were checked."""
    yield
    counts = ", ".join(f"{count} {what}" for what, count in sorted(CHECKED.items()))
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\ngradients checked: {CHECKED.total()} (function, variant, dtype, order): {counts}")


def results_of(output):
    """The floating-point Tensors in a result, in order."""
    if isinstance(output, Tensor):
        return [output] if output.dtype.kind in "fc" else []
    return [found for item in output for found in results_of(item)]


def projected(sample):
    """The sample as a function with one real result: random weights times all its results, summed."""

    def f(*arrays):
        rng = np.random.default_rng(3)
        total = 0.0
        for result in results_of(sample.call(XP, *arrays)):
            weights = rng.uniform(0.5, 1.5, result.shape)
            if result.dtype.kind == "c":
                weights = weights + 1j * rng.uniform(-1.0, 1.0, result.shape)
                total = total + XP.sum(XP.real(result * weights))
            else:
                total = total + XP.sum(result * weights)
        return total

    return f


def gradients(sample, arrays, create_graph=False):
    """Gradients of the sum of all results, at kinks, or of a weighted sum; zeros where there is none."""
    leaves = [ag.tensor(a, requires_grad=True) for a in arrays]
    results = results_of(sample.call(XP, *leaves))
    rng = np.random.default_rng(4)
    weights = [np.ones(r.shape) if sample.expected else rng.uniform(0.5, 1.5, r.shape) for r in results]
    weights = [ag.asarray(np.asarray(w, dtype=r.dtype)) for w, r in zip(weights, results, strict=True)]
    found = ag.autograd.grad(results, leaves, weights, create_graph=create_graph, allow_unused=True)
    return [np.zeros_like(a) if g is None else g.numpy() for g, a in zip(found, arrays, strict=True)]


def label(sample, name):
    return f"{name}: {sample.label}"


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_operation_has_samples(name):
    assert samples(name), f"{name} has rules but no samples: add them to tests/ops/samples/{TABLE[name].chapter}.py"


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_operation_is_sampled_to_second_order_unless_it_is_piecewise_constant(name):
    if name == "_zero_unknown":  # it has no derivative: that is nan
        return
    # the table's word for it is the derivative "zero"
    assert any(s.order >= 2 and s.expected is None for s in samples(name)) != (TABLE[name].derivative == "zero")


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_operation_that_takes_complex_numbers_has_complex_samples(name):
    if name in ORDERED or any(a.dtype.kind == "c" for s in samples(name) for a in s.arrays):
        return
    # TypeError is the answer of a function of real numbers, to the call itself or to its derivative
    usual = next(s for s in samples(name) if s.arrays and s.arrays[0].size)
    with np.errstate(all="ignore"), pytest.raises(TypeError):
        gradients(usual, [a.astype(np.complex128) for a in usual.arrays])


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_equals_finite_differences(name):
    for sample in samples(name):
        if sample.expected is None:
            try:
                ag.gradcheck(projected(sample), list(sample.arrays))
            except Exception as error:
                raise AssertionError(label(sample, name)) from error
            CHECKED["double, first order"] += 1


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_second_derivative_equals_finite_differences(name):
    for sample in samples(name):
        if sample.expected is None and sample.order >= 2:
            try:
                ag.gradgradcheck(projected(sample), list(sample.arrays), atol=1e-4)
            except Exception as error:
                raise AssertionError(label(sample, name)) from error
            CHECKED["double, second order"] += 1


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_at_kinks_and_ties_is_as_documented(name):
    for sample in samples(name):
        if sample.expected is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                found = gradients(sample, sample.arrays)
            for g, expected in zip(found, sample.expected, strict=True):
                np.testing.assert_allclose(g, expected, rtol=1e-12, err_msg=label(sample, name))
            CHECKED["double, known values"] += 1


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_second_derivative_at_kinks_and_ties_is_as_documented(name):
    for sample in samples(name):
        if sample.second is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                found = own_second_gradients(sample, sample.arrays)
            for g, expected in zip(found, sample.second, strict=True):
                np.testing.assert_allclose(g, expected, rtol=1e-9, err_msg=label(sample, name))
            CHECKED["double, known second derivatives"] += 1


@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if OPS[name].elementwise])
def test_second_derivative_is_right_at_a_kinks_point_where_the_gradient_is_smooth(name):
    """A removable singularity is often written as a choice, whose own derivative is that of a constant."""
    for sample in samples(name):
        if sample.expected is not None and all(a.dtype.kind == "f" for a in sample.arrays):
            compare_second_derivatives_with_differences(sample, label(sample, name))


@pytest.mark.parametrize("x", [0.0, [0.5, 0.0]])
def test_a_second_derivative_that_a_choice_makes_wrong_is_found(x):
    def call(xp, x):  # sinh(x) / x, whose second derivative at zero is 1/3 and not 0
        return xp.where(x == 0, 1.0, xp.sinh(x) / xp.where(x == 0, 1.0, x))

    sample = kink("zero", call, [x], [np.zeros_like(x)])
    with pytest.raises(AssertionError, match="planted"):
        compare_second_derivatives_with_differences(sample, "planted")


def compare_second_derivatives_with_differences(sample, what):
    """Of the elements where the differences of the gradient to both sides agree, with a long step and a short one."""
    with np.errstate(all="ignore"):
        found = own_second_gradients(sample, sample.arrays)
        for i, x in enumerate(sample.arrays):

            def slope(low, high, i=i, x=x):
                ends = [x + h for h in (low, high)]
                moved = [[*sample.arrays[:i], end, *sample.arrays[i + 1 :]] for end in ends]
                return np.subtract(*[gradients(sample, arrays)[i] for arrays in reversed(moved)]) / (high - low)

            step = 1e-4
            slopes = [slope(-step, step), slope(-step / 4, step / 4), slope(0.0, step), slope(-step, 0.0)]
            near = 1e-2 * (1 + np.abs(slopes[1]))
            smooth = (np.abs(x) < 100) & np.all([np.abs(s - slopes[1]) < near for s in slopes], axis=0)
            wrong = smooth & ~(np.abs(found[i] - slopes[1]) < near)
            assert not np.any(wrong), f"{what}: second derivative {found[i]}, by differences {slopes[1]}"


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_is_the_same_with_create_graph(name):
    for sample in samples(name):
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = gradients(sample, sample.arrays)
            recorded = gradients(sample, sample.arrays, create_graph=True)
        for a, b in zip(plain, recorded, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=label(sample, name))
        CHECKED["double, create_graph"] += 1


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_of_single_precision_is_single_precision(name):
    for sample in samples(name):
        if not sample.single:
            continue
        narrow = [a.astype(np.complex64 if a.dtype.kind == "c" else np.float32) for a in sample.arrays]
        with np.errstate(divide="ignore", invalid="ignore"):
            single = gradients(sample, narrow)
            double = gradients(sample, sample.arrays)
        _check_single(sample, name, narrow, single, double)
        CHECKED["single, first order"] += 1


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_second_derivative_of_single_precision_is_single_precision(name):
    for sample in samples(name):
        if not sample.single or sample.expected is not None or sample.order < 2:
            continue
        narrow = [a.astype(np.complex64 if a.dtype.kind == "c" else np.float32) for a in sample.arrays]
        with np.errstate(all="ignore"):
            single, double = second_gradients(sample, narrow), second_gradients(sample, sample.arrays)
        _check_single(sample, name, narrow, single, double, loose=20.0)
        CHECKED["single, second order"] += 1


def second_gradients(sample, arrays):
    """Gradients of the sum of squares of the gradients: zeros where there is none."""
    leaves = [ag.tensor(a, requires_grad=True) for a in arrays]
    results = results_of(sample.call(XP, *leaves))
    rng = np.random.default_rng(4)
    weights = [ag.asarray(np.asarray(rng.uniform(0.5, 1.5, r.shape), dtype=r.dtype)) for r in results]
    first = ag.autograd.grad(results, leaves, weights, create_graph=True, allow_unused=True)
    first = [g for g in first if g is not None and g.requires_grad]
    found = [None] * len(leaves)
    if first:
        found = ag.autograd.grad(first, leaves, [g.detach() for g in first], allow_unused=True)
    return [np.zeros_like(a) if g is None else g.numpy() for g, a in zip(found, arrays, strict=True)]


def own_second_gradients(sample, arrays):
    """Of each array: the gradient of the sum of its gradient, which is that of the sum of the results."""
    leaves = [ag.tensor(a, requires_grad=True) for a in arrays]
    results = results_of(sample.call(XP, *leaves))
    ones = [ag.asarray(np.ones_like(r.numpy())) for r in results]
    gradient, found = ag.autograd.grad(results, leaves, ones, create_graph=True, allow_unused=True), []
    for first, leaf in zip(gradient, leaves, strict=True):
        second = None
        if first is not None and first.requires_grad:
            one = ag.asarray(np.ones_like(first.numpy()))
            (second,) = ag.autograd.grad([first], [leaf], [one], allow_unused=True, retain_graph=True)
        found.append(np.zeros_like(leaf.numpy()) if second is None else second.numpy())
    return found


def _check_single(sample, name, narrow, single, double, loose=1.0):
    """Each gradient has its array's dtype, and the values of double precision but for rounding."""
    for a, g, wide in zip(narrow, single, double, strict=True):
        assert g.dtype == a.dtype, f"{label(sample, name)}: gradient of {a.dtype} is {g.dtype}"
        finite = wide[np.isfinite(wide)]
        scale = np.max(np.abs(finite)) if finite.size else 0.0
        atol = loose * (5e-3 * scale + 5e-6)
        np.testing.assert_allclose(g, wide, rtol=loose * 5e-3, atol=atol, err_msg=label(sample, name))
