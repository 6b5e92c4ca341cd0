"""Hard cases of numerics, and docs/numerics.md, which shows what arraygrad, PyTorch and JAX answer to them.

    python tests/reference/hard_cases.py          writes the page; needs torch and jax

`test_numerics_page.py` holds the page to arraygrad's own answers. A case is an expression of x (and y, z) over `xp`,
and where; its gradients are those of the sum of its results. Imports the public names of arraygrad, through `peers`.
"""

import sys
from pathlib import Path

import numpy as np
from peers import XP, jaxs, ones, torchs
from peers import ours as gradients_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "numerics.md"

INF = float("inf")
NAN = float("nan")

# section -> (expression, arrays, what to know)
CASES = {
    "Logarithms and exponentials": [
        ("xp.log(x)", (1e-300,), ""),
        ("xp.log(x)", (0.0,), "a pole"),
        ("xp.log1p(x)", (1e-20,), ""),
        ("xp.expm1(x)", (1e-20,), ""),
        ("xp.expm1(x)", (-40.0,), "exp(x); ans + 1 has no digits left"),
        ("xp.exp(x)", (800.0,), "overflow"),
        ("xp.cosh(x)", (-800.0,), "overflow"),
        ("xp.tanh(x)", (20.0,), "1 - ans * ans has no digits left: 1.7e-17 in truth"),
        ("xp.logaddexp(x, y)", (1e16, 1e16), "log(2) does not fit into the result; the shares do not need it"),
        ("xp.logaddexp(x, y)", (-INF, -INF), "equal infinities share"),
        ("xp.where(x > 0, xp.log(x), 0.0 * x)", ([0.0, 1.0],), "0 * inf; `zero_annihilates()` makes it zero"),
    ],
    "Softmax and its kin": [
        ("xp.softmax(x, axis=-1)[0]", ([1e4, 0.0, -1e4],), ""),
        ("xp.softmax(x, axis=-1)[0]", ([50.0, 0.0],), "1 - ans has no digits left: 1.9e-22 in truth"),
        ("xp.log_softmax(x, axis=-1)[1]", ([1e4, 0.0, -1e4],), ""),
        ("xp.logsumexp(x)", ([1e4, 1e4],), ""),
        ("xp.logsumexp(x)", ([1e16, 1e16],), "weights sum to one"),
        ("xp.logsumexp(x)", ([-INF, -INF],), "the sum is log(0)"),
        ("xp.logsumexp(x)", ([INF, 0.0],), ""),
        ("xp.sigmoid(x)", (40.0,), "exp(-40)"),
        ("xp.sigmoid(x)", (-700.0,), ""),
    ],
    "Powers and roots": [
        ("xp.sqrt(x)", (0.0,), "a pole"),
        ("xp.pow(x, y)", (0.0, 0.0), ""),
        ("xp.pow(x, y)", (0.0, 2.0), ""),
        ("xp.pow(x, y)", (0.0, -1.0), "the limits"),
        ("xp.pow(x, y)", (-2.0, 3.0), "no derivative by the exponent"),
        ("xp.pow(x, y)", (-2.0, 0.5), "outside of the domain"),
        ("x**0", ([0.0, 2.0],), ""),
        ("xp.divide(x, y)", (1e-200, 1e-200), "y * y underflows"),
    ],
    "Norms and angles": [
        ("xp.abs(x)", (0.0,), "a kink"),
        ("xp.linalg.vector_norm(x)", ([0.0, 0.0],), "a kink"),
        ("xp.linalg.vector_norm(x, ord=1)", ([0.0, 0.0],), "a kink"),
        ("xp.linalg.vector_norm(x, ord=float('inf'))", ([2.0, -2.0],), "a tie"),
        ("xp.linalg.vector_norm(x)", ([3e200, 4e200],), "squares overflow in the value already"),
        ("xp.linalg.vector_norm(x)", ([3e-200, 4e-200],), "squares underflow in the value already"),
        ("xp.hypot(x, y)", (0.0, 0.0), "a kink"),
        ("xp.hypot(x, y)", (3e200, 4e200), ""),
        ("xp.hypot(x, y)", (3e-200, 4e-200), ""),
        ("xp.atan2(x, y)", (0.0, 0.0), "no limit"),
        ("xp.atan2(x, y)", (3e-200, 4e-200), ""),
    ],
    "Complex functions far out and on cuts": [
        ("xp.atan(x)", (1e200 + 1e200j,), "x * x overflows"),
        ("xp.asinh(x)", (1e200 + 1e200j,), "x * x overflows"),
        ("xp.asinh(x)", (1e200,), "the same of real numbers"),
        ("xp.asin(x)", (2 + 0j,), "above the cut"),
        ("xp.asin(x)", (complex(2, -0.0),), "below the cut"),
        ("xp.acosh(x)", (complex(-2, -0.0),), "below the cut"),
    ],
    "Reductions": [
        ("xp.max(x)", ([1.0, 2.0, 2.0],), "a tie"),
        ("xp.prod(x)", ([2.0, 0.0, 3.0],), ""),
        ("xp.prod(x)", ([0.0, 0.0, 3.0],), ""),
        ("xp.prod(x)", ([1e200, 1e200, 1e-300],), "overflow on the way"),
        ("xp.cumulative_prod(x)", ([2.0, 0.0, 3.0, 0.0],), ""),
        ("xp.std(x)", ([2.0, 2.0],), "a kink"),
        ("xp.var(x)", ([1e8, 1e8 + 1, 1e8 + 2],), "cancellation"),
        ("xp.var(x, correction=1)", ([2.0],), "no degree of freedom"),
        ("xp.sum(x)", ([1e16, 1.0, -1e16],), "cancellation"),
        ("xp.mean(x)", ([1e308, 1e308],), "overflow on the way"),
        ("xp.mean(xp.exp(xp.broadcast_to(x, (1000000,))))", (0.5,), "a million elements"),
    ],
    "Linear algebra": [
        ("xp.linalg.det(x)", ([[1.0, 2.0], [2.0, 4.0]],), "singular: the cofactors"),
        ("xp.linalg.det(x)", ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],), "singular but for rounding"),
        (
            "xp.linalg.slogdet(x)[1]",
            ([[1.0, 2.0], [2.0, 4.0]],),
            "singular: no limit, the sign is that of the side from which the determinant goes to 0",
        ),
        ("xp.linalg.inv(x)", ([[1.0, 1.0], [1.0, 1.0001]],), "near singular"),
        (
            "xp.linalg.cholesky(x)",
            ([[1.0, 1.0], [1.0, 1.0 + 1e-8]],),
            "near singular; ours is that of the lower triangle",
        ),
        ("xp.linalg.pinv(x)", ([[1.0, 2.0], [2.0, 4.0]],), "singular"),
        ("xp.linalg.eigvalsh(x)", ([[1.0, 0.0], [0.0, 1.0]],), "repeated eigenvalues"),
        (
            "xp.linalg.eigh(x)[1] ** 2",
            ([[1.0, 0.0], [0.0, 1.0]],),
            "undefined: vectors of repeated eigenvalues; the 0 is above the diagonal, which eigh does not read",
        ),
        ("xp.linalg.svdvals(x)", ([[1.0, 0.0], [0.0, 1.0]],), "repeated singular values"),
        ("xp.linalg.matrix_norm(x, ord='nuc')", ([[0.0, 0.0], [0.0, 0.0]],), "any subgradient"),
    ],
    "Choice": [
        ("xp.maximum(x, y)", (2.0, 2.0), "a tie"),
        ("xp.clip(x, -1.0, 1.0)", ([-1.0, 1.0, 2.0],), "at the bounds"),
        ("xp.relu(x)", (0.0,), "a kink"),
        ("xp.copysign(x, y)", (0.0, -1.0), "a kink"),
        ("xp.sort(x)", ([2.0, NAN, 1.0],), ""),
        ("xp.remainder(x, y)", (-5.0, 3.0), ""),
    ],
}

HEADER = """\
# Numerics: hard cases

Where formulas overflow, underflow or cancel, and at poles, kinks and ties: the answers of arraygrad, beside those of
PyTorch {torch} and JAX {jax}, in double precision.

- *at* gives the arguments, *value* and *gradient* the answers of arraygrad. The gradient is that of the sum of the
  results; complex gradients follow PyTorch's convention. `same` means: equal to arraygrad's answer to four digits.
- `python tests/reference/hard_cases.py` runs all three libraries and writes this page. A test compares it with
  arraygrad's own answers.

Four principles explain most rows:

1. A divisor that is zero is replaced before the division, so that no nan comes up in the second derivative either.
2. A share, a weight or a ratio is computed from differences of the inputs, not from a rounded result. `tanh`,
   `softmax` and `log_softmax` are the exceptions: their rules know the result alone, as in PyTorch and JAX, because
   anything else would take another pass or another exponential for each element. What is left of 1 - ans has an
   absolute error of the precision: 1e-16, so that the slope of `tanh` is 0 from 20 on, and 1e-7 in single precision,
   where it is 0 from 9.1 on and has one digit before. Of `softmax` the gradient of an element whose share is nearly
   one has that error. Where those digits count, compute with `sigmoid` of a difference, whose slope has them.
3. Of several subgradients the one of least norm is taken. Its own derivative is nan where the gradient jumps, and the
   right number where the function is smooth, as the square of a norm is: see
   [Conventions](derivatives.md#conventions), *Kinks*.
4. The *value* of an operation is the library's own. Where that is inf or 0 only because numbers overflow or underflow
   on the way, the gradient is computed from it all the same: `vector_norm` of 3e200 and 4e200 is inf, and x / inf is 0.
   Scale such arguments first.

The slopes of all other elementwise functions have their digits over the whole range, in both precisions; a test holds
them to 16 units in the last place. Two are further off: `logaddexp2` far in its tail (300 units at -1000: the exponent
is rounded), and `sinc` at large arguments, of which the product with pi is rounded, as in its value.
Complex `tanh` and `tan` have the error of 1 - ans * ans and of 1 + ans * ans.
"""


def function(expression):
    """The case as a function of a namespace and arrays."""
    code = compile(expression, "<case>", "eval")
    return lambda xp, *arrays: eval(code, {"xp": xp}, dict(zip("xyz", arrays, strict=False)))


def inputs(arrays):
    return [np.asarray(a) for a in arrays]


def text(arrays):
    """Numbers in four digits, arrays separated by semicolons."""
    return "; ".join([", ".join([_number(v) for v in np.ravel(a)]) for a in arrays])


def _number(v):
    if isinstance(v, complex):
        return f"{complex(v):.4g}"
    return f"{float(v) + 0.0:.4g}"


def numbers(cell):
    """What `text` wrote, as one flat array of complex numbers."""
    return np.array([complex(part) for part in cell.replace(";", ",").split(",")])


def close(a, b):
    """Whether two flat arrays agree to four digits, infinities and nan included."""
    if a.shape != b.shape:
        return False
    parts = [(a.real, b.real), (a.imag, b.imag)]
    return all(np.allclose(p, q, rtol=2e-3, atol=1e-12 if np.abs(q).max() > 1e-9 else 0, equal_nan=True)
               for p, q in parts)  # fmt: skip


def answer(value, gradients):
    """(value, gradients) as text."""
    return text([value]), text(gradients)


def ours(expression, arrays):
    """(value, gradients) of arraygrad, as text."""
    f, arrays = function(expression), inputs(arrays)
    value = f(XP, *[XP.asarray(a) for a in arrays]).numpy()
    return answer(value, gradients_of(f, arrays, 1, ones))


def page(of_torch, of_jax, versions):
    """The text of the page; `of_torch` and `of_jax` give what `ours` gives, or the name of an error."""
    parts = [HEADER.format(**versions).rstrip("\n")]
    for section, cases in CASES.items():
        parts.append(f"\n## {section}\n")
        parts.append("| case | at | value | gradient | PyTorch | JAX | |")
        parts.append("|---|---|---|---|---|---|---|")
        for expression, arrays, note in cases:
            mine = ours(expression, arrays)
            others = [_beside(mine, theirs(expression, arrays)) for theirs in (of_torch, of_jax)]
            at = text(inputs(arrays))
            cells = [f"`{expression.replace('xp.', '')}`", at, *mine, *others, note]
            parts.append("| " + " | ".join(cells) + " |")
    return "\n".join(parts) + "\n"


def _beside(mine, theirs):
    if isinstance(theirs, str):
        return theirs
    equal = [close(numbers(a), numbers(b)) for a, b in zip(mine, theirs, strict=True)]
    if all(equal):
        return "same"
    value = "" if equal[0] else f"value {theirs[0]} "
    return value + ("gradient same" if equal[1] else theirs[1])


def main():
    """Write the page."""
    sys.path.insert(0, str(ROOT / "tests" / "ops"))
    import jax
    import test_against_jax
    import test_against_torch
    import torch

    jax.config.update("jax_enable_x64", True)
    torch.set_default_dtype(torch.float64)

    def of_torch(expression, arrays):
        f, arrays = function(expression), inputs(arrays)
        try:
            value = f(test_against_torch.NAMESPACE, *[torch.tensor(a) for a in arrays]).numpy()
            return answer(value, torchs(torch, test_against_torch.NAMESPACE, f, arrays, 1, ones))
        except Exception as error:
            return type(error).__name__

    def of_jax(expression, arrays):
        f, arrays = function(expression), inputs(arrays)
        try:
            value = np.asarray(f(test_against_jax.NAMESPACE, *[jax.numpy.asarray(a) for a in arrays]))
            return answer(value, jaxs(jax, test_against_jax.NAMESPACE, f, arrays, 1, ones))
        except Exception as error:
            return type(error).__name__

    versions = {"torch": torch.__version__.partition("+")[0], "jax": jax.__version__}
    with np.errstate(all="ignore"):
        PAGE.write_text(page(of_torch, of_jax, versions), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
