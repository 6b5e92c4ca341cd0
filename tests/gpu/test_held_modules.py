"""Programs whose objects hold the module, `self.xp = cupy`, beside code that asks importlib for modules.

Such attributes keep the real module (Note [What adoption reaches], 8), and CuPy's functions know no Tensor. The refusal
names the way out, which is taken here.
"""

import sys
import types

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu

TEXT = """
class Model:
    def __init__(self, xp):
        self.xp = xp

    def run(self, x):
        return {}
"""
COMPUTED = {
    "product": ("self.xp.sum(self.xp.matmul(x, x) ** 2)", lambda x: np.sum((x @ x) ** 2)),
    "asarray": ("(self.xp.asarray(x, dtype=x.dtype) ** 3).sum()", lambda x: np.sum(x**3)),
    "linalg": ("self.xp.sum(self.xp.linalg.matrix_power(x, 3))", lambda x: np.sum(x @ x @ x)),
    "sums of products": ("self.xp.sum(self.xp.einsum('ij,kj->ik', x, x))", lambda x: np.sum(x @ x.T)),
}


def program(monkeypatch, name, text):
    """A module of a program's, imported under a name."""
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(text, module.__dict__)
    return module


@pytest.mark.parametrize("name", COMPUTED)
def test_the_refusal_names_a_way_out_that_records(cupy, monkeypatch, name):
    text, over_numpy = COMPUTED[name]
    model = program(monkeypatch, "held_model", TEXT.format(text)).Model(cupy)
    asks = program(
        monkeypatch, "held_helpers", "import importlib\ndef load(name):\n    return importlib.import_module(name)\n"
    )
    model.helper = asks.load
    x = np.array([[2.0, 0.5], [0.3, 1.5]])
    steps = 1e-6 * np.eye(4).reshape(2, 2, 2, 2)
    expected = [[(over_numpy(x + s) - over_numpy(x - s)) / 2e-6 for s in row] for row in steps]
    with pytest.raises(TypeError, match=r"asks importlib or sys\.modules for modules.*adopt=\('package\.module',\)"):
        ag.grad(model.run)(cupy.asarray(x))
    found = ag.grad(model.run, adopt=("held_model",))(cupy.asarray(x))
    np.testing.assert_allclose(found.get(), expected, rtol=1e-7)
    del model.helper  # nothing asks: the attribute has a stand-in
    np.testing.assert_allclose(ag.grad(model.run)(cupy.asarray(x)).get(), expected, rtol=1e-7)
