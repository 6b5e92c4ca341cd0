"""Python numbers as arguments of programs over CuPy: the gradient is that of the plain call, by central differences."""

import cmath

import numpy as np
import pytest

import arraygrad as ag

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]

PROGRAMS = [
    *["return cp.sum(z * k)", "return cp.sum(k * z)", "return cp.sum(k - z)", "return cp.sum(z / k)"],
    *["return cp.sum(k**z)", "return cp.sum(z**k)", "return cp.sum(cp.exp(-1j * z * k).imag)"],
    *[
        "return cp.sum(cp.tanh(z * 0.5) + cp.tanh(z * (k - 0.5)))",
        "return cp.sum(k) * z * 2",
        "return cp.sum(k / z, axis=0)",
    ],
    *[
        "return cp.sum(cp.where(k > 1.5, z * z, k))",
        "return cp.sum(cp.clip(k, 0.0, z))",
        "return cp.sum(cp.maximum(k, z))",
    ],
    *["return cp.sum(cp.add(k, z) * cp.multiply(z, k))", "return cp.sum(cp.full(3, z) * k)"],
    *[
        "return cp.sum(cp.array([z, z * z]) * k[:2])",
        "return cp.sum(cp.asarray(z) * k)",
        "return cp.sum(cp.arctan2(z, k))",
    ],
    *["return cp.sum(cp.linspace(0.0, z, 3) * k)", "return cp.sum(cp.arange(z, z + 2.5) * k)"],
    *["return cp.sum(cp.arange(3) * z * k)", "return cp.sum(math.sin(z) * k)", "return cp.sum(np.sqrt(z) * k)"],
    *["out = cp.zeros(3); out[0] = z; out[1:] += z * z; return cp.sum(out * k)"],
    *["out = cp.ones(3, dtype=complex); out[1] = 1j * z; return cp.sum((out * out).real)"],
    *["a = cp.zeros(3) + k; a *= z; return cp.sum(a * a)"],
    *["return cp.sum(cp.where(k > z, k * z, k + z))", "return cp.einsum('i,i->', k, k) * z", "return cp.dot(k, k * z)"],
]


def run(text, cp):
    names = {"cp": cp, "np": np, "math": __import__("math"), "cmath": cmath}
    body = "\n".join(f"    {line.strip()}" for line in text.split(";"))
    exec(f"def f(z, k):\n{body}", names)
    return names["f"]


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_number_beside_arrays_of_the_device(text):
    import cupy

    f, k = run(text, cupy), cupy.asarray([1.0, 2.0, 3.5])
    plain = lambda z: float(f(z, k))
    value, (slope, of_k) = ag.value_and_grad(f, argnums=(0, 1))(1.3, k)
    assert float(value) == pytest.approx(plain(1.3))
    assert slope == pytest.approx((plain(1.3 + 1e-6) - plain(1.3 - 1e-6)) / 2e-6, rel=1e-5)
    assert ag.grad(f)(1.3, k) == pytest.approx(slope)  # where `k` is a constant
    d = np.asarray([0.3, -0.7, 0.4])
    moved = [float(f(1.3, k + h * cupy.asarray(d))) for h in (1e-6, -1e-6)]
    assert of_k.get() @ d == pytest.approx((moved[0] - moved[1]) / 2e-6, rel=1e-5, abs=1e-8)


def test_the_precision_of_the_array_is_kept():
    import cupy

    k = cupy.asarray([1.0, 2.0], dtype=cupy.float32)
    assert ag.vjp(lambda z: z * k, 1.3)[0].dtype == np.float32
    assert ag.vjp(lambda z: cupy.where(k > 1.5, z, k), 1.3)[0].dtype == np.float32
    wide = k.astype(cupy.float64) / 3.0
    value = ag.vjp(lambda z: cupy.clip(wide, k - 1.0, z), 0.1)[0]
    assert value.dtype == np.float64
    assert value.get().tolist() == [0.1, 0.1]
    assert ag.vjp(lambda z: cupy.where(k > 1.5, z, wide), 0.1)[0].get()[1] == 0.1


def test_bounds_of_a_range_that_lie_on_the_device():
    import cupy

    def f(x):
        return cupy.sum(cupy.arange(x[0], x[0] + 2.5, dtype=float) ** 2)

    x = cupy.asarray([1.3, 0.2])
    at = lambda a: float(np.sum(np.arange(a, a + 2.5) ** 2))
    assert ag.grad(f)(x).get() == pytest.approx([(at(1.3 + 1e-6) - at(1.3 - 1e-6)) / 2e-6, 0.0], rel=1e-6)


def test_values_that_a_program_gets_from_the_device_are_recorded():
    import cupy

    x = cupy.arange(1.0, 4.0)
    assert ag.grad(lambda x: np.sum(x.get() ** 2))(x).get().tolist() == [2.0, 4.0, 6.0]
    assert ag.grad(lambda x: np.sum((x.get() if hasattr(x, "get") else 0.0 * x) ** 2))(x).get().tolist() == [2, 4, 6]
    assert not hasattr(ag.tensor([1.0]), "get")
    with pytest.raises(AttributeError, match=r"over numpy has no attribute 'get'.*t\.numpy\(\)"):
        _ = ag.tensor([1.0]).get
    with pytest.raises(TypeError, match="out= and blocking=False"):
        ag.grad(lambda x: np.sum(x.get(out=np.zeros(3))))(x)
