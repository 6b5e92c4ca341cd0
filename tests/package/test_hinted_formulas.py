"""Hints that are formulas: what stands in the place of PyTorch's function has its value and its gradient."""

import re

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.scipy.linalg
import arraygrad.scipy.special
from arraygrad import _hints

X = np.array([[-1.5, 0.4, 2.5], [0.3, -0.7, 1.2]])
Y = np.array([[0.3, 0.9, 0.6], [0.8, 0.2, 0.5]])  # between 0 and 1
SQUARE = np.array([[2.0, 0.5, 0.1], [0.4, 3.0, 0.2], [0.3, 0.6, 1.5]])
LOW, HIGH, N = -0.5, 0.5, 3

# PyTorch's name, what the variables of its hint are, and PyTorch's call with them.
FORMULAS = {
    "binary_cross_entropy": ("p=Y, y=1 - Y", "F.binary_cross_entropy(p, y)"),
    "binary_cross_entropy_with_logits": ("z=X, y=Y", "F.binary_cross_entropy_with_logits(z, y)"),
    "mse_loss": ("t=X, target=Y", "F.mse_loss(t, target)"),
    "l1_loss": ("t=X, target=Y", "F.l1_loss(t, target)"),
    "smooth_l1_loss": ("t=X, target=Y", "F.smooth_l1_loss(t, target)"),
    "huber_loss": ("t=X, target=Y, delta=0.7", "F.huber_loss(t, target, delta=0.7)"),
    "kl_div": ("p=Y, q=Y[::-1] + 0.1", "F.kl_div(torch.log(q), p, reduction='sum')"),
    "cross_entropy": ("logits=X, labels=[2, 0], n=2", "F.cross_entropy(logits, torch.tensor([2, 0]))"),
    "elu": ("t=X", "F.elu(t)"),
    "selu": ("t=X", "F.selu(t)"),
    "relu6": ("t=4 * X", "F.relu6(t)"),
    "hardtanh": ("t=X", "F.hardtanh(t)"),
    "softsign": ("t=X", "F.softsign(t)"),
    "silu": ("t=X", "F.silu(t)"),
    "mish": ("t=X", "F.mish(t)"),
    "gelu": ("t=X", "F.gelu(t)"),
    "softplus": ("t=X", "F.softplus(t)"),
    "logsigmoid": ("t=X", "F.logsigmoid(t)"),
    "leaky_relu": ("t=X, slope=0.1", "F.leaky_relu(t, 0.1)"),
    "normalize": ("t=X", "F.normalize(t, dim=-1)"),
    "layer_norm": ("t=X", "F.layer_norm(t, (3,))"),
    "cosine_similarity": ("a=X[0], b=X[1]", "F.cosine_similarity(a, b, dim=0)"),
    "linear": ("x=X, weights=SQUARE, bias=X[0]", "F.linear(x, weights.T, bias)"),
    "addmm": ("t=X, a=Y, b=SQUARE", "torch.addmm(t, a, b)"),
    "addcmul": ("t=X, value=0.5, a=X, b=Y", "torch.addcmul(t, a, b, value=0.5)"),
    "addcdiv": ("t=X, value=0.5, a=X, b=Y", "torch.addcdiv(t, a, b, value=0.5)"),
    "lerp": ("t=X, weight=0.3, other=Y", "torch.lerp(t, other, 0.3)"),
    "clamp_min": ("t=X, low=LOW", "torch.clamp_min(t, LOW)"),
    "clamp_max": ("t=X, high=HIGH", "torch.clamp_max(t, HIGH)"),
    "dist": ("t=X, other=Y", "torch.dist(t, other)"),
    "frac": ("t=X", "torch.frac(t)"),
    "rsqrt": ("t=Y", "torch.rsqrt(t)"),
    "cummax": ("t=X[0]", "torch.cummax(t, 0)[0]"),
    "cummin": ("t=X[0]", "torch.cummin(t, 0)[0]"),
    "logcumsumexp": ("t=X[0]", "torch.logcumsumexp(t, 0)"),
    "kthvalue": ("t=X[0], k=2", "torch.kthvalue(t, 2)[0]"),
    "solve": ("t=SQUARE, other=X[0]", "torch.linalg.solve(t, other)"),
    "pinverse": ("t=X", "torch.pinverse(t)"),
    "matrix_power": ("t=SQUARE, n=3", "torch.matrix_power(t, 3)"),
    "matrix_exp": ("t=SQUARE", "torch.matrix_exp(t)"),
    "lgamma": ("t=Y", "torch.lgamma(t)"),
    "digamma": ("t=Y", "torch.digamma(t)"),
    "polygamma": ("t=Y, n=2", "torch.polygamma(2, t)"),
    "erfc": ("t=X", "torch.erfc(t)"),
    "erfinv": ("t=Y", "torch.erfinv(t)"),
    "logit": ("t=Y", "torch.logit(t)"),
    "xlogy": ("t=X, other=Y", "torch.xlogy(t, other)"),
    "take_along_dim": ("t=X, indices=[[0], [2]], axis=1", "torch.take_along_dim(t, torch.tensor([[0], [2]]), 1)"),
    "repeat_interleave": ("t=X, n=2, axis=1", "torch.repeat_interleave(t, 2, 1)"),
    "swapdims": ("t=X, axis1=0, axis2=1", "torch.swapdims(t, 0, 1)"),
    "diag": ("t=X[0]", "torch.diag(t)"),
    "fliplr": ("t=X", "torch.fliplr(t)"),
    "nan_to_num": ("t=X", "torch.nan_to_num(t)"),
    "median": ("t=X[0]", "torch.median(t)"),
    "sinc": ("t=X", "torch.sinc(t)"),
    "fmod": ("t=1.03 * X, other=Y", "torch.fmod(t, other)"),
    "kron": ("t=X, other=Y", "torch.kron(t, other)"),
    "logaddexp2": ("t=X, other=Y", "torch.logaddexp2(t, other)"),
    "reduce_logsumexp": ("t=X, axis=1", "torch.logsumexp(t, 1)"),
}


def formula(name):
    """The code that a hint says to use."""
    text = _hints._MODULES[""].get(name) or _hints._TENSOR.get(name) or _hints.missing("arraygrad", name)[0]
    code = text.partition("use ")[2]
    return re.split(r", or | of the |, which ", code)[0]


def variables(text):
    return eval(f"dict({text})", {"X": X, "Y": Y, "SQUARE": SQUARE, "LOW": LOW, "HIGH": HIGH})


@pytest.mark.parametrize("name", FORMULAS)
def test_the_formula_is_that_of_pytorch(name):
    torch = pytest.importorskip("torch")
    text, call = FORMULAS[name]
    given = variables(text)
    arrays = {key: value for key, value in given.items() if isinstance(value, np.ndarray)}
    ours = {key: ag.tensor(value, requires_grad=True) for key, value in arrays.items()}
    theirs = {key: torch.tensor(value.copy(), requires_grad=True) for key, value in arrays.items()}
    names = {"arraygrad": ag, "numpy": np}
    found = eval(
        formula(name), {**names, **given, **{k: np.array(v) for k, v in given.items() if type(v) is list}, **ours}
    )
    expected = eval(call, {"torch": torch, "F": torch.nn.functional, "LOW": LOW, "HIGH": HIGH, **given, **theirs})
    digits = 1e-4 if name == "selu" else 1e-9  # the formula has the constants to five digits
    np.testing.assert_allclose(found.detach().array, expected.detach().numpy(), rtol=digits)
    weights = np.linspace(0.5, 1.5, found.size).reshape(found.shape)
    (found * weights).sum().backward()
    (expected * torch.tensor(weights)).sum().backward()
    for key, t in ours.items():
        grad = theirs[key].grad
        if grad is not None:
            np.testing.assert_allclose(t.grad.array, grad.numpy(), rtol=digits, atol=1e-10)


@pytest.mark.parametrize("name", FORMULAS)
def test_the_formula_runs_in_a_transform(name):
    text, _ = FORMULAS[name]
    given = {k: np.array(v) if type(v) is list else v for k, v in variables(text).items()}
    first = next(iter(given))

    def f(x):
        return np.sum(eval(formula(name), {"arraygrad": ag, "numpy": np, **given, first: x}))

    assert np.isfinite(ag.grad(f)(np.array(given[first]))).all()
    assert ag.gradcheck(f, [np.array(given[first])])
