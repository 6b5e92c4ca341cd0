"""Mistakes of people who come from PyTorch, HIPS autograd, JAX or NumPy: the error of each names the way out."""

import functools
import importlib.util
import io
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import _hints

ROOT = Path(__file__).resolve().parents[2]

VECTOR = [1.0, 2.0, 3.0]


def leaf():
    return ag.tensor(VECTOR, requires_grad=True)


def matrix():
    return ag.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


def imported(name):
    exec(f"from arraygrad import {name}", {})


def branch(t):
    return 1 if t > 0 else 2


def add_in_place(t):
    t += 1.0


def twice(t):
    loss = (t * t).sum()
    loss.backward()
    loss.backward()


def unrecorded(t):
    with ag.no_grad():
        loss = (t * t).sum()
    loss.backward()


def filled(x):
    out = np.zeros(3)
    out[0] = x[0]
    return np.sum(out)


def solved(rate, solver):
    return solver(lambda t, y: [-rate * y[0]], (0.0, 1.0), [1.0]).y[0, -1]


def into_an_array(t):
    out = np.zeros(3)
    out += t


unadopted = functools.partial(ag.grad, adopt=False)
unadopted_check = functools.partial(ag.gradcheck, adopt=False)


def by_name(out):
    """Writes into an array that was made outside, by a ufunc."""
    return ag.grad(lambda x: np.sum(np.add(x, 1.0, out=out)), adopt=False)(np.ones(3))


class Parameters:
    """Holds an array, and is no dataclass."""

    def __init__(self):
        self.w = np.ones(3)


def of_pandas(f):
    """f(a Series, an array), differentiated in the array."""
    pandas = pytest.importorskip("pandas")
    return ag.grad(lambda x: np.sum(f(pandas.Series(VECTOR), x)))(np.ones(3))


def by_scipy(call):
    """A call of SciPy's own function, which is the argument of the call, in adopted code."""
    scipy = pytest.importorskip("scipy.integrate")
    return ag.grad(call, adopt=True)(2.0, scipy.solve_ivp)


def squares(x, power):
    return np.sum(x**power)


def density(mean):
    from scipy import stats

    return np.sum(stats.t.logpdf(np.ones(3), 3.0, mean))


def returns_nothing(x):
    np.sum(x)


# What is written, the error, and what its message has to name.
MISTAKES = [
    # Transforms at a point, and what they are given
    ("vjp(f)(x)", lambda: ag.vjp(np.sum)(np.ones(2)), TypeError, "value, pull = vjp(f, x)"),
    ("linearize(f)(x)", lambda: ag.linearize(np.sum)(np.ones(2)), TypeError, "value, push = linearize(f, x)"),
    ("jvp(f, x, v)", lambda: ag.jvp(np.sum, np.ones(2), np.ones(2)), TypeError, "jvp(f, (x,), (v,))"),
    (
        "json.dumps(x)",
        lambda: ag.grad(lambda x: json.dumps(x))(2.0),
        TypeError,
        "numpy.asarray(arraygrad.stop_gradient(x)).tolist()",
    ),
    ("gradcheck, random", lambda: ag.gradcheck(lambda x: x * np.random.random(), 2.0), RuntimeError, "a fixed seed"),
    # JAX's and HIPS autograd's names
    ("ag.custom_jvp", lambda: ag.custom_jvp, AttributeError, "f.defvjp(...)"),
    ("ag.scan", lambda: ag.scan, AttributeError, "a Python loop"),
    ("ag.ravel_pytree", lambda: ag.ravel_pytree, AttributeError, "arraygrad.ravel_tree(tree)"),
    ("ag.grad_and_value", lambda: ag.grad_and_value, AttributeError, "arraygrad.value_and_grad(f)(x)"),
    ("ag.misc", lambda: ag.misc, AttributeError, "arraygrad.ravel_tree"),
    ("ag.interp", lambda: ag.interp, AttributeError, "numpy.interp"),
    ("from arraygrad import custom_jvp", lambda: imported("custom_jvp"), ImportError, "f.defvjp(...)"),
    ("from arraygrad import median", lambda: imported("median"), ImportError, "numpy.median"),
    # PyTorch's methods
    ("t.unsqueeze(0)", lambda: leaf().unsqueeze(0), AttributeError, "t[None]"),
    ("t.to('cuda')", lambda: leaf().to("cuda"), AttributeError, "t.to_device(device)"),
    ("t.cuda()", lambda: leaf().cuda(), AttributeError, "arraygrad.to_backend(t, 'cupy')"),
    ("t.cpu()", lambda: leaf().cpu(), AttributeError, "t.numpy()"),
    ("t.data", lambda: leaf().data, AttributeError, "t.detach()"),
    ("t.zero_()", lambda: leaf().zero_(), AttributeError, "t[...] = 0"),
    ("t.add_(1)", lambda: leaf().add_(1), AttributeError, "t += other"),
    ("t.clone()", lambda: leaf().clone(), AttributeError, "t.copy()"),
    ("t.permute(1, 0)", lambda: matrix().permute(1, 0), AttributeError, "arraygrad.permute_dims"),
    ("t.view(4)", lambda: matrix().view(4), TypeError, "t.reshape(shape)"),
    ("t.exp()", lambda: leaf().exp(), AttributeError, "arraygrad.exp"),
    ("t.mm(t)", lambda: matrix().mm(matrix()), AttributeError, "t @ other"),
    ("t.float()", lambda: leaf().float(), AttributeError, "t.astype(arraygrad.float32)"),
    ("t.numel()", lambda: leaf().numel(), AttributeError, "t.size"),
    ("t.masked_fill(...)", lambda: leaf().masked_fill(leaf() > 0, 0.0), AttributeError, "arraygrad.where"),
    # PyTorch's functions and keywords
    ("ag.masked_fill", lambda: ag.masked_fill, AttributeError, "arraygrad.where(mask, value, t)"),
    ("ag.cross_entropy", lambda: ag.cross_entropy, AttributeError, "arraygrad.log_softmax"),
    ("ag.conv2d", lambda: ag.conv2d, AttributeError, "from_torch"),
    ("ag.max_pool2d", lambda: ag.max_pool2d, AttributeError, "t.reshape"),
    ("ag.gelu", lambda: ag.gelu, AttributeError, "arraygrad.erf"),
    ("ag.softplus", lambda: ag.softplus, AttributeError, "arraygrad.logaddexp(t, 0.0)"),
    ("ag.dropout", lambda: ag.dropout, AttributeError, "default_rng"),
    ("ag.topk", lambda: ag.topk, AttributeError, "numpy.argsort"),
    ("ag.scatter_add", lambda: ag.scatter_add, AttributeError, "numpy.add.at"),
    ("ag.detect_anomaly", lambda: ag.detect_anomaly, AttributeError, "arraygrad.autograd.detect_anomaly"),
    ("ag.func", lambda: ag.func, AttributeError, "arraygrad.grad"),
    ("ag.checkpoint(f, t)", lambda: ag.checkpoint(ag.sin, leaf()), TypeError, "arraygrad.checkpoint(f)(t)"),
    (
        "ag.checkpoint(f, use_reentrant=False)",
        lambda: ag.checkpoint(ag.sin, use_reentrant=False),
        TypeError,
        "arraygrad.checkpoint(f)(t)",
    ),
    # MyGrad's
    ("t.constant", lambda: leaf().constant, AttributeError, "not t.requires_grad"),
    ("t.null_grad()", lambda: leaf().null_grad(), AttributeError, "t.grad = None"),
    ("t.creator", lambda: leaf().creator, AttributeError, "t.grad_fn"),
    ("ag.no_autodiff", lambda: ag.no_autodiff, AttributeError, "arraygrad.no_grad()"),
    # What NumPy takes by position
    ("np.sum(t, 0) of arraygrad.numpy", lambda: ag.numpy.sum(leaf(), 0), TypeError, "give what follows by name, axis="),
    ("np.zeros(3, float)", lambda: ag.numpy.zeros(3, float), TypeError, "zeros(shape, dtype=arraygrad.float64)"),
    ("np.zeros(2, 3)", lambda: ag.numpy.zeros(2, 3), TypeError, "zeros((2, 3))"),
    ("ag.cat([t, t])", lambda: ag.cat([leaf(), leaf()]), AttributeError, "arraygrad.concat"),
    ("ag.sum(t, dim=0)", lambda: ag.sum(matrix(), dim=0), TypeError, "axis="),
    ("t.sum(dim=0)", lambda: matrix().sum(dim=0), TypeError, "axis="),
    ("t.mean(0, keepdim=True)", lambda: matrix().mean(0, keepdim=True), TypeError, "keepdims="),
    ("ag.softmax(t, dim=-1)", lambda: ag.softmax(matrix(), dim=-1), TypeError, "axis="),
    ("t.var(unbiased=False)", lambda: matrix().var(unbiased=False), TypeError, "correction="),
    ("ag.zeros(2, 3)", lambda: ag.zeros(2, 3), TypeError, "zeros((2, 3))"),
    ("ag.Tensor([1.0])", lambda: ag.Tensor([1.0]), TypeError, "arraygrad.tensor(data)"),
    ("ag.from_numpy(x)", lambda: ag.from_numpy(np.ones(3)), AttributeError, "arraygrad.asarray"),
    ("ag.Variable(x)", lambda: ag.Variable(np.ones(3)), AttributeError, "requires_grad=True"),
    ("ag.nn.Linear(2, 3)", lambda: ag.nn.Linear(2, 3), AttributeError, "write the layer with arrays"),
    ("ag.optim.SGD(p)", lambda: ag.optim.SGD([leaf()]), AttributeError, "scipy.optimize.minimize"),
    # gradients
    ("ag.grad(y, x)", lambda: ag.grad(leaf().sum(), leaf()), TypeError, "arraygrad.autograd.grad(output, inputs)"),
    ("ag.grad(f(x))", lambda: ag.grad(np.float64(3.0)), TypeError, "grad(f)(x)"),
    ("ag.grad(f, x)", lambda: ag.grad(np.sum, np.ones(3)), TypeError, "grad(f)(x)"),
    ("non-scalar backward", lambda: (leaf() * 2).backward(), RuntimeError, "t.sum().backward()"),
    ("non-scalar grad", lambda: ag.grad(np.sin)(np.ones(3)), ValueError, "elementwise_grad"),
    ("a function without return", lambda: ag.grad(returns_nothing)(np.ones(3)), TypeError, "return statement"),
    ("backward twice", lambda: twice(leaf()), RuntimeError, "retain_graph=True"),
    ("backward of what was not recorded", lambda: unrecorded(leaf()), RuntimeError, "requires_grad=True"),
    ("integer leaves", lambda: ag.tensor([1, 2], requires_grad=True), RuntimeError, "dtype=arraygrad.float64"),
    ("integer arguments", lambda: ag.grad(np.sum)(np.array([1, 2])), TypeError, "floating-point value"),
    ("a leaf written in place", lambda: add_in_place(leaf()), RuntimeError, "arraygrad.no_grad()"),
    # HIPS autograd
    ("ag.grad(f, argnum=1)", lambda: ag.grad(np.sum, argnum=1), TypeError, "argnums="),
    ("ag.jacobian(f, argnum=1)", lambda: ag.jacobian(np.sum, argnum=1), TypeError, "argnums="),
    ("ag.make_vjp(f)", lambda: ag.make_vjp(np.sum), AttributeError, "arraygrad.vjp(f, x)"),
    ("ag.multigrad(f)", lambda: ag.multigrad(np.sum), AttributeError, "argnums=(0, 1)"),
    ("ag.autograd.numpy", lambda: ag.autograd.numpy, AttributeError, "arraygrad.numpy"),
    ("t._value", lambda: leaf()._value, AttributeError, "t.array"),
    # JAX
    ("t.at[0].set(1)", lambda: leaf().at[0].set(1.0), AttributeError, "copy[index] = value"),
    ("ag.jit(f)", lambda: ag.jit(np.sum), AttributeError, "operations run as they are called"),
    ("ag.vmap(f)", lambda: ag.vmap(np.sum), AttributeError, "arraygrad.stack([f(x) for x in xs])"),
    ("ag.custom_vjp(f)", lambda: ag.custom_vjp(np.sum), AttributeError, "arraygrad.primitive"),
    # NumPy
    ("ag.arcsin(t)", lambda: ag.arcsin(leaf()), AttributeError, "arraygrad.asin"),
    ("ag.linalg.inverse(t)", lambda: ag.linalg.inverse(matrix()), AttributeError, "arraygrad.linalg.inv"),
    ("ag.random.rand(3)", lambda: ag.random.rand(3), AttributeError, "numpy.random.default_rng"),
    ("if t > 0 on an array", lambda: branch(leaf()), ValueError, "arraygrad.where(condition, a, b)"),
    ("float(t) of an array", lambda: float(leaf()), TypeError, "t.numpy()"),
    ("np.asarray(t)", lambda: np.asarray(leaf()), TypeError, "t.detach()"),
    ("np.save(file, t)", lambda: np.save(io.BytesIO(), leaf()), TypeError, "t.numpy()"),
    ("array += t", lambda: into_an_array(leaf()), TypeError, "x = x + t"),
    ("array += t, its line", lambda: into_an_array(leaf()), TypeError, "in into_an_array: out += t"),
    ("np.add(t, t, out=array)", lambda: by_name(np.zeros(3)), TypeError, "in by_name.<locals>.<lambda>: np.add("),
    (
        "np.array([t])",
        lambda: unadopted(lambda x: np.array([x, 1.0]).sum())(1.0),
        TypeError,
        "arraygrad.asarray([...])",
    ),
    (
        "np.array([t]), its name",
        lambda: unadopted(lambda x: np.array([x]).sum())(1.0),
        TypeError,
        ": numpy.array of a",
    ),
    # arguments of transforms
    ("ag.hvp(f)(x)", lambda: ag.hvp(np.sum)(np.ones(3)), TypeError, "the vector, the last argument, is missing"),
    ("ag.hvp(f)(x, y)", lambda: ag.hvp(squares)(np.ones(3), 2.0), TypeError, "the last argument, is missing"),
    ("ag.hvp(f)(x, [1, 0, 0])", lambda: ag.hvp(np.sum)(np.ones(3), [1.0, 0.0, 0.0]), TypeError, "of shape (3,)"),
    ("ag.grad(f)(x=x)", lambda: ag.grad(np.sum)(a=np.ones(3)), TypeError, "argnames="),
    ("integers in a container", lambda: ag.grad(lambda p: p["n"])({"n": 3}), TypeError, "pass it as another argument"),
    (
        "an object of parameters",
        lambda: ag.grad(lambda p: p.w)(Parameters()),
        TypeError,
        "register_container(Parameters)",
    ),
    ("elementwise_grad of a sum", lambda: ag.elementwise_grad(np.sum)(np.ones(3)), ValueError, "not elementwise"),
    ("ag.gradcheck(f, [dict])", lambda: ag.gradcheck(lambda p: p["a"], [{"a": 1.0}]), TypeError, "ravel_tree"),
    (
        "ag.gradcheck of a filled array",
        lambda: unadopted_check(filled, [np.ones(3)]),
        TypeError,
        "arraygrad.adopt(f)",
    ),
    # pandas and SciPy
    ("t * series", lambda: of_pandas(lambda series, x: x * series), TypeError, "series.to_numpy()"),
    ("series * t, its line", lambda: of_pandas(lambda series, x: series * x), TypeError, "<lambda>: series * x"),
    (
        "scipy.stats.t.logpdf(x, 3, t)",
        lambda: unadopted(density)(0.5),
        TypeError,
        "arraygrad.scipy.stats.t.logpdf",
    ),
    ("SciPy's solver as an argument", lambda: by_scipy(solved), TypeError, "Take arraygrad.scipy.integrate.solve_ivp"),
    # NumPy's arrays that hold no numbers, attributes that are assigned, memory that is read anew
    ("a structured array", lambda: ag.tensor(np.zeros(2, [("a", float)])), TypeError, "one field of it, raw['a']"),
    ("an array of objects", lambda: ag.asarray(np.array([1.0, None])), TypeError, "each element is one number"),
    ("dates", lambda: ag.asarray(np.array(["2020-01-01"], "M8[D]")), TypeError, "numpy.timedelta64(1, 's')"),
    ("durations", lambda: ag.asarray(np.array([1], "m8[D]")), TypeError, "raw / numpy.timedelta64(1, 's')"),
    ("t.shape = ...", lambda: setattr(leaf(), "shape", (3, 1)), AttributeError, "t = t.reshape(shape)"),
    ("t.grad = array", lambda: setattr(leaf(), "grad", np.ones(3)), TypeError, "arraygrad.asarray(value)"),
    (
        "as_strided(t)",
        lambda: np.lib.stride_tricks.as_strided(leaf(), (2, 2), (8, 8)),
        TypeError,
        "sliding_window_view",
    ),
    (
        "np.add(out=array)",
        lambda: np.add(leaf(), 1.0, out=np.zeros(3)),
        TypeError,
        "leave out= out and take",
    ),
    # methods of Python's floats
    ("x.hex()", lambda: ag.grad(lambda x: x.hex())(0.5), AttributeError, "float(arraygrad.stop_gradient(t)).hex()"),
    (
        "x.as_integer_ratio()",
        lambda: ag.grad(lambda x: x.as_integer_ratio()[0])(0.5),
        TypeError,
        "compute with the Tensor itself",
    ),
    # what goes into backward, and what comes out of functions
    ("backward([1, 1])", lambda: (leaf() * 2).backward([1.0, 1.0, 1.0]), TypeError, "arraygrad.asarray([...])"),
    ("jacobian of None", lambda: ag.jacobian(returns_nothing)(np.ones(3)), TypeError, "lack a return statement"),
    ("vjp of None", lambda: ag.vjp(returns_nothing, np.ones(3)), TypeError, "lack a return statement"),
    (
        "jvp of None",
        lambda: ag.jvp(returns_nothing, (np.ones(3),), (np.ones(3),)),
        TypeError,
        "lack a return statement",
    ),
    (
        "auxiliary data first",
        lambda: ag.grad(lambda x: (2 * x, x.sum()), has_aux=True)(np.ones(3)),
        ValueError,
        "with has_aux=True return (scalar, auxiliary data)",
    ),
    ("jacobian with has_aux", lambda: ag.jacobian(np.sin, has_aux=True), TypeError, "differentiate lambda x: f(x)[0]"),
    ("hessian with has_aux", lambda: ag.hessian(np.sum, has_aux=True), TypeError, "differentiate lambda x: f(x)[0]"),
    (
        "defvjp with argnums=1",
        lambda: ag.primitive(np.add).defvjp(lambda a, x, y: None, argnums=1),
        TypeError,
        "argnums=(1,)",
    ),
    ("f.defgrad", lambda: ag.primitive(np.sin).defgrad, AttributeError, "f.defvjp(lambda ans, x:"),
    ("f.defjvp", lambda: ag.primitive(np.sin).defjvp, AttributeError, "forward derivatives are made of the reverse"),
    ("has_aux of three", lambda: ag.grad(lambda x: (x, 1, 2), has_aux=True)(1.0), TypeError, "got a tuple of 3"),
]


def test_the_table_has_forty_mistakes():
    assert len({name for name, *_ in MISTAKES}) == len(MISTAKES) >= 40


@pytest.mark.parametrize(
    ("mistake", "error", "way_out"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES]
)
def test_the_error_names_the_way_out(mistake, error, way_out):
    with pytest.raises(error) as caught:
        mistake()
    assert way_out in str(caught.value)


@pytest.mark.parametrize("name", sorted(_hints.HINTED))
def test_a_hinted_attribute_is_missing(name):
    t = leaf()
    assert not hasattr(t, name)
    assert not hasattr(ag.Tensor, name)
    assert getattr(t, name, "default") == "default"
    assert name not in dir(t)


def test_a_hinted_attribute_can_be_set_and_deleted():
    t = leaf()
    t.clone = "mine"
    assert t.clone == "mine"
    assert "clone" in dir(t)
    del t.clone
    with pytest.raises(AttributeError, match=r"t\.copy"):
        _ = t.clone


@pytest.mark.parametrize(("module", "names"), _hints._MODULES.items())
def test_hinted_names_of_modules_are_missing(module, names):
    found = importlib.import_module(f"arraygrad.{module}".rstrip("."))
    assert [name for name in names if hasattr(found, name) or name in dir(found)] == []


def test_imports_of_hinted_names_say_what_to_write():
    """As `import arraygrad.optim as optim` does. Who only asks whether it is there gets Python's answer."""
    hints = {f"arraygrad.{name}": hint for name, hint in _hints._MODULES[""].items()} | _hints._ATTRIBUTES
    assert len(hints) > 200
    for name, hint in hints.items():
        with pytest.raises(ModuleNotFoundError) as info:
            importlib.import_module(name)
        assert str(info.value) == f"No module named {name!r}: {hint}"
        assert info.value.name == name
        assert importlib.util.find_spec(name) is None


def test_an_import_below_a_hinted_name_says_what_to_write():
    with pytest.raises(ModuleNotFoundError, match="write the layer with arrays"):
        importlib.import_module("arraygrad.nn.functional")


@pytest.mark.parametrize("name", ["arraygrad.of_no_library", "arraygrad.numpy.of_no_library"])
def test_an_import_without_a_hint_fails_in_pythons_words(name):
    with pytest.raises(ModuleNotFoundError) as info:
        importlib.import_module(name)
    assert str(info.value) == f"No module named {name!r}"


def test_methods_that_tensors_lack_are_hinted_as_functions_too():
    """`arraygrad.mul(t, other)` as `t.mul(other)`, unless arraygrad or NumPy has a function of that name."""
    names = [name for name, text in _hints._TENSOR.items() if text.startswith("use ") and not hasattr(ag, name)]
    assert len(names) > 150
    for name in names:
        with pytest.raises(AttributeError, match=re.escape(f"module 'arraygrad' has no attribute {name!r}: ")):
            getattr(ag, name)


def test_a_name_without_a_hint_is_missing_in_pythons_words():
    with pytest.raises(AttributeError, match=r"^module 'arraygrad' has no attribute 'nothing_of_the_kind'$"):
        _ = ag.nothing_of_the_kind
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing_of_the_kind'$"):
        _ = leaf().nothing_of_the_kind


def test_a_keyword_without_a_hint_is_unexpected_in_pythons_words():
    with pytest.raises(TypeError, match=r"^Tensor.sum\(\) got an unexpected keyword argument 'foo'$"):
        leaf().sum(foo=1)
    with pytest.raises(TypeError, match=r"^sum\(\) got an unexpected keyword argument 'foo'$"):
        ag.sum(leaf(), foo=1)
    with pytest.raises(TypeError, match=r"^grad\(\) got an unexpected keyword argument 'foo'$"):
        ag.grad(np.sum, foo=1)


def test_a_keyword_is_hinted_only_where_its_counterpart_is_known():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'dim'$"):
        ag.reshape(leaf(), (3,), dim=0)


def texts():
    """Every hint."""
    yield from _hints._TENSOR.values()
    for names in _hints._MODULES.values():
        yield from names.values()
    for _, hint in _hints._KEYWORDS.values():
        yield hint


NAMED = sorted({name for text in texts() for name in re.findall(r"\barraygrad((?:\.\w+)+)", text)})


@pytest.mark.parametrize("name", NAMED)
def test_a_hint_names_what_is_there(name):
    value = ag
    for part in name.strip(".").split("."):
        if part in ("dask", "tools"):  # a library that may not be installed; a package of commands
            assert importlib.util.find_spec(f"arraygrad.{part}") is not None
            return
        value = getattr(value, part)
    assert value is not None


ATTRIBUTES = sorted({name for text in texts() for name in re.findall(r"(?<![\w.])t\.([A-Za-z_]\w*)", text)})


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_hint_names_attributes_that_tensors_have(name):
    assert hasattr(matrix(), name)


@pytest.mark.filterwarnings("ignore:.*becomes a Python number by float:UserWarning")
def test_plots_show_a_tensor_that_needs_no_gradient_and_name_detach_otherwise():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    (line,) = axes.plot(ag.tensor(VECTOR))
    assert line.get_ydata().tolist() == VECTOR
    with pytest.raises(TypeError, match=r"t\.detach\(\)"):
        axes.plot(leaf())


def test_rare_keywords_of_reductions_at_their_defaults_change_nothing():
    t = matrix()
    assert t.sum(out=None, where=True, initial=None).item() == 10.0
    assert t.var(correction=1, out=None).item() == pytest.approx(np.var(t.array, ddof=1))
    with pytest.raises(TypeError, match="both ddof and correction"):
        t.var(ddof=1, correction=1)


def test_a_function_compiled_by_numba_says_what_to_do_with_a_tensor():
    numba = pytest.importorskip("numba")
    from arraygrad.interop import numba as hints

    hints.init()
    with pytest.raises(numba.core.errors.TypingError, match=r"t\.numpy\(\).*arraygrad\.primitive"):
        numba.njit(lambda x: x.sum())(leaf())


def test_numba_finds_the_hint_by_an_entry_point():
    text = (ROOT / "pyproject.toml").read_text()
    (module, function) = tomllib.loads(text)["project"]["entry-points"]["numba_extensions"]["init"].split(":")
    path = ROOT / "src" / Path(*module.split(".")).with_suffix(".py")
    assert f"\ndef {function}():" in path.read_text()
