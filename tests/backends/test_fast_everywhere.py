"""Every operation of the table with compiled paths on and off: random layouts, dtypes, sizes and special values.

The other test_fast_* files look at one path each, closely; here nothing is left out. Each sample of the table is run on
random layouts of its arrays, with a gradient that the engine owns and one that two operations share, and must give with
all compiled paths what it gives without any: values, gradients, dtypes, or the same error.
"""

import warnings

import numpy as np
import pytest
from fast_path_cases import plain, unaligned
from samples import samples

import arraygrad as ag
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.ops import TABLE

XP = backend_of(np.zeros(1)).graph_xp
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 3e38, 5e-324])
NAMES = [name for name, entry in TABLE.items() if entry.rules and samples(name)]
SEEDS = 4
# LAPACK may search singular values and eigenvalues of what is not finite for ever.
SEARCHING = (
    "_cofactor",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "matrix_norm",
    "matrix_rank",
    "pinv",
    "svd",
    "svdvals",
    "det",
)
SINGLE = {"d": "f", "D": "F"}


def strided(a):
    """Every second element of a larger array along each axis."""
    out = np.zeros(tuple(2 * n for n in a.shape), a.dtype)
    out[(slice(None, None, 2),) * a.ndim] = a
    return out[(slice(None, None, 2),) * a.ndim] if a.ndim else out


def permuted(a):
    """Axes in memory in another order than in the array."""
    return np.ascontiguousarray(np.moveaxis(a, 0, -1)).transpose(a.ndim - 1, *range(a.ndim - 1)) if a.ndim > 2 else a.T


def repeated(a):
    """One row for all (stride 0)."""
    return np.broadcast_to(a[:1], a.shape) if a.ndim and len(a) else a


LAYOUTS = {
    "row-major": np.ascontiguousarray,
    "column-major": np.asfortranarray,
    "every second": strided,
    "reversed": lambda a: a[::-1].copy()[::-1] if a.ndim else a,
    "offset": lambda a: np.concatenate([np.zeros(1, a.dtype), a.ravel()])[1:].reshape(a.shape),
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "unaligned": lambda a: unaligned(a.ravel()).reshape(a.shape),
    "repeated": repeated,
    "memory order": lambda a: permuted(permuted(a)) if a.ndim == 2 else permuted(a) if a.ndim > 2 else a,
}


# Complex products and quotients of NumPy's are fused on some processors, and those in one pass are not.
ROUNDED_OTHERWISE = ("abs", "pow", "square")


def laid_out(a, rng, special):
    """`a` in a random layout, some elements replaced by special values."""
    a = a.copy()
    if special and a.size:
        at = rng.integers(0, a.size, max(1, a.size // 4))
        a.reshape(-1)[at] = rng.choice(SPECIAL, len(at)).astype(a.real.dtype)
    return LAYOUTS[rng.choice(list(LAYOUTS))](a)


def seeds_of(out, rng):
    """A gradient for a result, with some zeros."""
    g = rng.normal(size=out.shape)
    g = np.where(rng.uniform(size=out.shape) < 0.2, 0.0, g) + (1j * g if out.array.dtype.kind == "c" else 0)
    return LAYOUTS[rng.choice(["row-major", "column-major", "every second"])](np.asarray(g).astype(out.array.dtype))


def results_of(output):
    outputs = output if isinstance(output, tuple | list) else [output]
    return [out for out in outputs if isinstance(out, Tensor) and out.array.dtype.kind in "fc"]


def run(case, arrays, seed, twice):
    """Results and gradients of a case, or the type of the error it ends with."""
    rng = np.random.default_rng(seed)
    leaves = [ag.asarray(a, requires_grad=True) for a in arrays]
    found = []
    try:
        inner = [leaf * 1 if rng.integers(2) else leaf for leaf in leaves]
        outputs = results_of(case.call(XP, *inner))
        if twice:
            outputs += results_of(case.call(XP, *inner))
        found += [out.numpy() for out in map(ag.Tensor.detach, outputs)]
        outputs = [out for out in outputs if out.requires_grad]
        if outputs:
            given = [seeds_of(out, rng) for out in outputs]
            scaled = [out * 2.0 if rng.integers(2) else out for out in outputs]  # the engine owns what 2.0 gives
            ag.autograd.backward(scaled, given)
    except (ValueError, TypeError, RuntimeError, IndexError, ArithmeticError) as error:
        return [type(error)]
    return found + [None if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]


def agree(got, expected, exact, single, special):
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        if not isinstance(other, np.ndarray):
            assert one is other
            continue
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if exact:
            np.testing.assert_array_equal(one, other)
        elif special:
            # Sums in another order spread infinities and nan to the same places, as one or the other.
            np.testing.assert_array_equal(np.isfinite(one), np.isfinite(other))
        else:
            scale = np.abs(other[np.isfinite(other)]).max(initial=1e-30)
            np.testing.assert_allclose(one / scale, other / scale, atol=3e-5 if single else 1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_paths_give_what_the_plain_ones_give(name):
    entry = TABLE[name]
    exact = entry.kind == "elementwise" or (entry.derivative == "linear" and entry.kind != "reduction")
    exact = exact and name not in ("multiply", "divide", "sigmoid")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for i, case in enumerate(samples(name)):
            for seed in range(SEEDS):
                rng = np.random.default_rng([i, seed])
                special = seed % 2 == 1 and name not in SEARCHING
                single = case.single and seed >= SEEDS // 2
                arrays = [laid_out(a.astype(SINGLE[a.dtype.char]) if single else a, rng, special) for a in case.arrays]
                got = run(case, arrays, [i, seed], seed == 0)
                expected = plain(run, case, arrays, [i, seed], seed == 0)
                rounds = name in ROUNDED_OTHERWISE and any(a.dtype.kind == "c" for a in arrays)
                try:
                    agree(got, expected, exact and not rounds, single, special)
                except AssertionError as error:
                    told = [(a.dtype.str, a.shape, a.strides) for a in arrays]
                    raise AssertionError(f"{case.label}, seed {seed}, arrays {told}: {error}") from None
