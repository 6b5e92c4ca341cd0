"""Arrays that one module of a program makes and keeps, and that another one writes into.

The class: how parameters are drawn x where an object keeps them (attribute, dict that is written out, `dict(...)`,
items under text) x how an optimiser in another module writes into them (attribute, item, names of a generator) x
modules in a folder or a package. The gradient by the rate of learning is that of differences.
"""

import importlib
import itertools
import sys

import numpy as np
import pytest

import arraygrad as ag

DRAWS = {
    "randn": "np.random.randn({0}, {1}) / 2.0",
    "normal": "np.random.normal(0.0, 0.5, ({0}, {1}))",
    "reshaped": "np.random.uniform(-1.0, 1.0, {0} * {1}).reshape({0}, {1})",
    "generator": "np.random.default_rng(1).normal(size=({0}, {1}))",
}

KEPT = {  # what __init__ does; the parameters of a layer by their names
    "attributes": ("self.w = {w}\n        self.b = {b}", "{'w': self.w, 'b': self.b}"),
    "written out": ("self.params = {{'w': {w}, 'b': {b}}}", "self.params"),
    "dict": ("self.params = dict(w={w}, b={b})", "self.params"),
    "items": ("self.params = {{}}\n        self.params['w'] = {w}\n        self.params['b'] = {b}", "self.params"),
    "formatted": (
        "self.params = {{}}\n        self.params[f'w'] = {w}\n        self.params['' + 'b'] = {b}", "self.params"
    ),
}  # fmt: skip

STEPS = {
    "attributes": "layer.w -= self.rate * layer.grads['w']\n        layer.b -= self.rate * layer.grads['b']",
    "items": "for name in layer.grads:\n            layer.params[name] -= self.rate * layer.grads[name]",
    "generator": "for value, slope in layer.pairs():\n            value -= self.rate * slope",
    "in place": "for value, slope in layer.pairs():\n            value[...] = value - self.rate * slope",
    "out": "for value, slope in layer.pairs():\n            np.subtract(value, self.rate * slope, out=value)",
}

LAYERS = """
import numpy as np

class Layer:
    def __init__(self, n, m):
        {init}
        self.grads = {{}}

    def values(self):
        return {values}

    def pairs(self):
        for name, value in {values}.items():
            yield value, self.grads[name]

    def loss(self, X, Y):
        values = self.values()
        rest = X @ values["w"] + values["b"] - Y
        self.grads["w"] = X.T @ rest / len(X)
        self.grads["b"] = np.sum(rest, axis=0, keepdims=True) / len(X)
        return np.sum(rest**2) / len(X)
"""

OPTIMISERS = """
import numpy as np

class Descent:
    def __init__(self, rate):
        self.rate = rate

    def step(self, layer):
        {step}
"""

PROGRAM = """
import numpy as np
from {prefix}layers import Layer
from {prefix}optimisers import Descent

X = np.sin(np.arange(24.0)).reshape(8, 3)
Y = np.cos(np.arange(16.0)).reshape(8, 2)

def run(rate):
    np.random.seed(3)
    layer, descent = Layer(3, 2), Descent(rate)
    for _ in range(4):
        layer.loss(X, Y)
        descent.step(layer)
    return layer.loss(X, Y)
"""

CASES = [
    (draw, kept, step, home)
    for draw, kept, step, home in itertools.product(DRAWS, KEPT, STEPS, ("folder", "package"))
    if (step == "attributes") == (kept == "attributes") or (kept == "attributes" and step != "items")
]


@pytest.fixture
def made(tmp_path, monkeypatch, request):
    """The module of a program that is written into a folder."""
    draw, kept, step, home = request.param
    init, values = KEPT[kept]
    init = init.format(w=DRAWS[draw].format("n", "m"), b=DRAWS[draw].format("1", "m"))
    before = set(sys.modules)
    folder = tmp_path / "program_of_a_test" if home == "package" else tmp_path
    folder.mkdir(exist_ok=True)
    prefix = "program_of_a_test." if home == "package" else "its_"
    names = dict.fromkeys(("layers", "optimisers", "program"))
    for name in names:
        names[name] = folder / (f"{name}.py" if home == "package" else f"its_{name}.py")
    if home == "package":
        (folder / "__init__.py").write_text("")
    names["layers"].write_text(LAYERS.format(init=init, values=values))
    names["optimisers"].write_text(OPTIMISERS.format(step=STEPS[step]))
    names["program"].write_text(PROGRAM.format(prefix=prefix))
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield importlib.import_module(f"{prefix}program")
    for name in set(sys.modules) - before:
        if name.startswith(("program_of_a_test", "its_")):
            del sys.modules[name]


@pytest.mark.parametrize("made", CASES, indirect=True, ids="-".join)
def test_gradient_by_the_rate_of_an_optimiser_in_another_module(made):
    value, gradient = ag.value_and_grad(made.run)(0.11)
    assert value == made.run(0.11)
    assert type(made.run(0.11)) is np.float64
    rates = 0.11 + 1e-4 * np.array([-2.0, -1.0, 1.0, 2.0])
    differences = np.dot([1.0, -8.0, 8.0, -1.0], [made.run(rate) for rate in rates]) / 12e-4
    assert gradient == pytest.approx(differences, rel=1e-8)


def test_data_that_no_module_writes_into_stays_plain(tmp_path, monkeypatch):
    (tmp_path / "its_layers.py").write_text(
        "import numpy as np\n\nclass Data:\n    def __init__(self):\n        self.rows = np.random.rand(4) * 2.0\n"
    )
    (tmp_path / "its_program.py").write_text(
        "from its_layers import Data\n\nKINDS = []\n\ndef run(x):\n    data = Data()\n"
        "    KINDS.append(type(data.rows))\n    return (x * data.rows).sum()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    program = importlib.import_module("its_program")
    try:
        ag.grad(program.run)(2.0)
        assert program.KINDS == [np.ndarray]
    finally:
        del sys.modules["its_program"], sys.modules["its_layers"]
