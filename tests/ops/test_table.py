"""The table itself: complete, with the standard's names and signatures, and with rules that use only the standard."""

import inspect
import re

import array_api_strict
import numpy as np
import pytest
from samples import samples

import arraygrad as ag
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.ops import OPS, TABLE, kinds
from arraygrad.ops.linear_algebra import LINALG_NAMES

# Functions of the standard 2025.12 by namespace, as array_api_strict has them.
MAIN = sorted(
    name
    for name in array_api_strict.__all__
    if callable(getattr(array_api_strict, name))
    and not inspect.isclass(getattr(array_api_strict, name))
    and not name.startswith("__")
    and not name.endswith("_array_api_strict_flags")
    and not isinstance(getattr(array_api_strict, name), array_api_strict._dtypes.DType)
)
LINALG = sorted({*array_api_strict.linalg.__all__, "eig", "eigvals"})  # the two are new in 2025.12, not in __all__
FFT = sorted(array_api_strict.fft.__all__)

# array_api_strict spells "not given" as an object of its own where the standard's default is None.
OWN_DEFAULTS = {("astype", "device"), ("from_dlpack", "device"), ("from_dlpack", "copy")}

# Chapters of functions that the standard does not have.
OWN_CHAPTERS = ("beyond", "special")

DIFFERENTIABLE = [name for name, entry in TABLE.items() if entry.rules]


def extension_of(name):
    return "linalg" if name in LINALG and name not in LINALG_NAMES else "fft" if name in FFT else ""


def standard_function(name):
    owner = getattr(array_api_strict, extension_of(name)) if extension_of(name) else array_api_strict
    return getattr(owner, name)


def shape_of_signature(signature):
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


# -- completeness and signatures --------------------------------------------------------------------------------------


def test_standard_has_the_functions_counted():
    # 136 top-level functions; `__array_namespace_info__` is no operation
    assert len(MAIN) == 135


@pytest.mark.parametrize("name", sorted({*MAIN, *LINALG, *FFT}))
def test_function_of_the_standard_is_in_the_table(name):
    assert name in TABLE
    assert TABLE[name].extension == extension_of(name)


@pytest.mark.parametrize("name", sorted({*MAIN, *LINALG, *FFT}))
def test_signature_is_the_standards(name):
    ours = shape_of_signature(OPS[name].signature)
    theirs = shape_of_signature(inspect.signature(standard_function(name)))
    theirs = [(p, kind, None if (name, p) in OWN_DEFAULTS else default) for p, kind, default in theirs]
    assert ours == theirs


@pytest.mark.parametrize("name", TABLE)
def test_operation_outside_the_standard_is_internal_or_in_a_chapter_of_its_own(name):
    outside = name.startswith("_") or TABLE[name].chapter in OWN_CHAPTERS
    assert outside != (name in {*MAIN, *LINALG, *FFT})


@pytest.mark.parametrize("name", TABLE)
def test_operation_is_documented(name):
    entry = TABLE[name]
    assert entry.doc.endswith((".", ")")), entry.doc
    assert entry.chapter


@pytest.mark.parametrize("name", TABLE)
def test_compiled_signature_is_the_entrys(name):
    assert str(OPS[name].signature) == f"({TABLE[name].signature})"


def test_every_operator_of_an_array_belongs_to_one_operation():
    arithmetic = "add sub mul truediv floordiv mod pow matmul neg pos abs"
    bits_and_relations = "and or xor lshift rshift invert eq ne lt le gt ge"
    operators = sorted(entry.operator for entry in TABLE.values() if entry.operator)
    assert operators == sorted((arithmetic + " " + bits_and_relations).split())


@pytest.mark.parametrize("name", [n for n, e in TABLE.items() if e.numpy])
def test_numpy_names_exist_in_numpy(name):
    for path in TABLE[name].numpy:
        owner = np
        for part in path.split("."):
            owner = getattr(owner, part)
        assert callable(owner)


def test_numpy_function_belongs_to_one_operation():
    owners = {}
    for entry in TABLE.values():
        for path in entry.numpy:
            owner = np
            for part in path.split("."):
                owner = getattr(owner, part)
            assert owners.setdefault(owner, entry.name) == entry.name


# -- what nodes keep --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "saves"),
    [
        ("add", ()),
        ("negative", ()),
        ("multiply", ("x2", "x1")),
        ("exp", ("ans",)),
        ("sin", ("x",)),
        ("sqrt", ("ans",)),
        ("divide", ("x2", "ans")),
        ("maximum", ("x1", "x2")),
        ("reshape", ("x_meta",)),
        ("sum", ("x_meta",)),
        ("matmul", ("x2", "x1_meta", "x1", "x2_meta")),
        ("where", ()),
        ("concat", ("arrays_meta",)),
        ("take", ("x_meta",)),
        ("_getitem", ("x_meta",)),
        ("cholesky", ("ans",)),
        ("fft", ("x_meta",)),
    ],
)
def test_node_keeps_what_the_rules_ask_for(name, saves):
    assert OPS[name].saves == saves


# -- refusals at definition -------------------------------------------------------------------------------------------


@pytest.fixture
def scratch_table(monkeypatch):
    """An empty table for definitions that a test makes."""
    table = {}
    monkeypatch.setattr(kinds, "TABLE", table)
    return table


def test_rule_that_asks_for_an_unknown_name_is_refused(scratch_table):
    with pytest.raises(ValueError, match=r"'nonsense'.*'x'.*asks for y.*g, ans, xp, x, x_shape, x_dtype, x_device"):
        kinds.unary("nonsense", lambda g, y: g * y)
    assert not scratch_table


def test_rule_with_a_default_is_refused(scratch_table):
    with pytest.raises(ValueError, match="has defaults"):
        kinds.unary("nonsense", lambda g, x=1: g * x)


def test_rule_for_no_parameter_is_refused(scratch_table):
    with pytest.raises(ValueError, match=re.escape("rule for 'y', which is no parameter, expected one of ('x',)")):
        kinds.core("nonsense", "x, /", y=lambda g: g)


def test_doubled_name_is_refused(scratch_table):
    kinds.unary("nonsense", lambda g: g)
    with pytest.raises(ValueError, match="'nonsense' is already in the table"):
        kinds.unary("nonsense", lambda g: g)


def test_unknown_derivative_is_refused(scratch_table):
    with pytest.raises(ValueError, match="unknown derivative 'trilinear', expected one of nonlinear, "):
        kinds.binary("nonsense", x1=lambda g: g, x2=lambda g: g, derivative="trilinear")


def test_unknown_sequence_is_refused(scratch_table):
    with pytest.raises(ValueError, match="sequence='arrays' is no parameter"):
        kinds.view("nonsense", "x, /", x=lambda g: g, sequence="arrays")


def test_chapter_is_the_defining_file(scratch_table):
    assert kinds.unary("nonsense", lambda g: g).chapter == __name__.rpartition(".")[2]


# -- rules use only the standard --------------------------------------------------------------------------------------


def gradients(xp, sample, make, create_graph):
    """Gradients of a weighted sum of all results, as NumPy arrays; None where there is none."""
    leaves = [ag.asarray(make(a), copy=True).requires_grad_() for a in sample.arrays]
    results = [r for r in flat(sample.call(xp, *leaves)) if r.requires_grad]
    rng = np.random.default_rng(4)
    weights = [ag.asarray(make(weight(rng, sample, r, xp))) for r in results]
    found = ag.autograd.grad(results, leaves, weights, create_graph=create_graph, allow_unused=True)
    return [None if g is None else g.numpy() for g in found]


def weight(rng, sample, result, xp):
    array = np.ones(result.shape) if sample.expected is not None else rng.uniform(0.5, 1.5, result.shape)
    return array + 0j if xp.isdtype(result.dtype, "complex floating") else array


def flat(output):
    return [output] if isinstance(output, Tensor) else [found for item in output for found in flat(item)]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_rules_use_only_the_standard(name, create_graph):
    """array_api_strict has nothing else, and refuses every promotion that the standard leaves open."""
    strict = backend_of(array_api_strict.zeros(1)).graph_xp
    plain = backend_of(np.zeros(1)).graph_xp
    for sample in samples(name):
        if not sample.standard:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            ours = gradients(strict, sample, array_api_strict.asarray, create_graph)
            expected = gradients(plain, sample, np.asarray, create_graph)
        for a, b in zip(ours, expected, strict=True):
            assert (a is None) == (b is None), sample.label
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=f"{name}: {sample.label}")
