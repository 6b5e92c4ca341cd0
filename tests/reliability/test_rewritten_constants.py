"""Rewrites of constants that a weak comparison would miss: every one is seen where all of an array is compared."""

import itertools

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends.numpy.contents import fingerprint_of, use_rounds

MODIFIED = "has been modified by an inplace operation"
ALL = 1 << 15  # bytes of which every one is compared in the default mode


@pytest.fixture(autouse=True)
def _default_check():
    yield
    ag.set_constant_check("sample")


@pytest.fixture(params=[True, False], ids=["rounds", "products"], autouse=True)
def _both_ways_to_mix(request):
    before = use_rounds(request.param)
    yield
    use_rounds(before)


def is_seen(array, rewrite):
    """Whether a rewrite of a constant between forward and backward is refused; None: it changed nothing.

    Small integers are promoted, so that backward reads a copy: the gradient is right, and the fingerprints differ.
    """
    floating = array.dtype.kind == "f"
    x = ag.tensor(np.ones(array.shape, array.dtype if floating else None), requires_grad=True)
    before, full = array.copy(), ag.set_constant_check("sample") == "full"
    ag.set_constant_check("full" if full else "sample")
    y = (x * array).sum()
    rewrite(array)
    if array.tobytes() == before.tobytes():
        return None
    if not floating and array.size <= 4096:
        y.backward()
        return np.array_equal(x.grad.numpy(), before) and fingerprint_of(before, full) != fingerprint_of(array, full)
    try:
        y.backward()
    except RuntimeError as error:
        return MODIFIED in str(error)
    return False


def set_to(value):
    def rewrite(array):
        array[...] = value

    return rewrite


def checkerboard(n):
    return (np.indices((n, n)).sum(0) % 2).astype(bool)


NAMED = {
    "complemented checkerboard": (checkerboard(8), ~checkerboard(8)),
    "complemented checkerboard of floats": (checkerboard(16).astype(float), 1.0 - checkerboard(16)),
    "identity with its rows reversed": (np.eye(6), np.eye(6)[::-1]),
    "0 2 0 to 1 0 1": (np.array([0.0, 2.0, 0.0]), np.array([1.0, 0.0, 1.0])),
    "abba to baab": (np.array([1.0, 3.0, 3.0, 1.0]), np.array([3.0, 1.0, 1.0, 3.0])),
    "second differences that cancel": (np.zeros(40), np.tile([1.0, -2.0, 1.0, 0.0], 10)),
    "signs of zero": (np.zeros(5), -np.zeros(5)),
    "nan to another nan": (np.full(3, np.nan), np.copysign(np.full(3, np.nan), -1)),
    "one bit": (np.ones(100), np.nextafter(np.ones(100), 2)),
    "rows exchanged": (np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4)[[1, 0, 2]]),
}


@pytest.mark.parametrize(("before", "after"), NAMED.values(), ids=NAMED)
def test_a_rewrite_whose_differences_cancel_is_refused(before, after):
    assert is_seen(before.copy(), set_to(after))


def rewrites(rng):
    """Rewrites that people write, by name; each draws its places anew."""
    return {
        "permutation": lambda a: a.__setitem__(slice(None), rng.permutation(a)),
        "reversal": lambda a: a.__setitem__(slice(None), a[::-1].copy()),
        "roll": lambda a: a.__setitem__(slice(None), np.roll(a, int(rng.integers(1, 9)))),
        "complement": lambda a: np.subtract(a.max(), a, out=a),
        "negation": lambda a: np.negative(a, out=a),
        "swap of two": lambda a: exchange(a, *rng.integers(0, len(a), 2)),
        "swap of neighbours": lambda a: exchange(a, *(rng.integers(0, len(a)) + np.arange(2)) % len(a)),
        "increment of one": lambda a: a.__setitem__(int(rng.integers(0, len(a))), a[0] + 1),
        "one up, one down": lambda a: a.__iadd__(up_and_down(rng, len(a)).astype(a.dtype)),
        "blocks exchanged": lambda a: exchange_blocks(a, rng),
        "signs of some": lambda a: np.copyto(a, -a, where=rng.random(len(a)) < 0.5),
        "sorted": lambda a: a.sort(),
    }


def exchange(a, i, j):
    a[[i, j]] = a[[j, i]]


def exchange_blocks(a, rng):
    size = int(rng.integers(1, 1 + max(len(a) // 2, 1)))
    if 2 * size <= len(a):
        a[:size], a[-size:] = a[-size:].copy(), a[:size].copy()


def up_and_down(rng, n):
    change = np.zeros(n)
    np.add.at(change, rng.integers(0, n, 1), 1)
    np.add.at(change, rng.integers(0, n, 1), -1)
    return change


CONTENTS = {
    "zeros and ones": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "small integers": lambda rng, n: rng.integers(-3, 4, n).astype(float),
    "numbers": lambda rng, n: rng.normal(size=n),
    "float32": lambda rng, n: rng.integers(0, 3, n).astype(np.float32),
    "bytes": lambda rng, n: rng.integers(0, 2, n).astype(np.int8),
    "a ramp": lambda rng, n: np.arange(float(n)),
}


@pytest.mark.parametrize("mode", ["sample", "full"])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_random_rewrites_are_refused(content, mode):
    ag.set_constant_check(mode)
    for n in (1, 2, 3, 4, 7, 8, 9, 16, 31, 64, 100, 129, 1000, 4096):
        rng = np.random.default_rng(n)
        for name, rewrite in rewrites(rng).items():
            array = content(rng, n)
            assert array.nbytes <= ALL
            assert is_seen(array, rewrite) is not False, (name, n)


@pytest.mark.parametrize("n", [5_000, 100_000])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_random_rewrites_of_large_arrays_are_refused_in_mode_full(content, n):
    ag.set_constant_check("full")
    rng = np.random.default_rng(n)
    for name, rewrite in rewrites(rng).items():
        assert is_seen(content(rng, n), rewrite) is not False, name


@pytest.mark.parametrize("n", [1, 5, 100, 4096])
def test_every_single_element_is_compared_up_to_32_kilobytes(n):
    array = np.ones(n)
    before = fingerprint_of(array)
    for place in range(n):
        array[place] = np.nextafter(1.0, 2.0)
        assert fingerprint_of(array) != before, place
        array[place] = 1.0
    assert fingerprint_of(array) == before


def test_all_ways_to_place_a_few_ones_have_fingerprints_of_their_own():
    seen = set()
    for places in itertools.combinations(range(40), 3):
        array = np.zeros(40)
        array[list(places)] = 1.0
        seen.add(fingerprint_of(array))
    assert len(seen) == 40 * 39 * 38 // 6


@pytest.mark.parametrize("size", [10_000, 1_000_000])
@pytest.mark.parametrize("first", [0, -1], ids=["from the front", "from the back"])
def test_a_history_that_a_loop_fills_and_uses_is_refused(size, first):
    w = ag.tensor(np.ones(size), requires_grad=True)
    history, loss = np.zeros(size), 0.0
    for t in range(3):
        history[t if first == 0 else -1 - t] = t + 1.0
        loss = loss + (history * w).sum()
    with pytest.raises(RuntimeError, match=MODIFIED):
        loss.backward()


def test_a_history_of_rows_that_a_loop_fills_and_uses_is_refused():
    w = ag.tensor(np.ones(300), requires_grad=True)
    history, loss = np.zeros((400, 300)), 0.0
    for t in range(3):
        history[t] = t + 1.0
        loss = loss + (history @ w).sum()
    with pytest.raises(RuntimeError, match=MODIFIED):
        loss.backward()


@pytest.mark.parametrize("shape", [(5000, 20), (3000, 8), (20_000, 16)])
def test_a_rewritten_row_or_column_of_a_large_matrix_is_refused(shape):
    """A row near an end, or a column: the places of the sample come to every one of them."""
    for part in (np.s_[1:3], np.s_[-3:-1], np.s_[:, 5], np.s_[:, -3]):
        matrix = np.ones(shape)
        before = fingerprint_of(matrix)
        matrix[part] = 2.0
        if False and matrix[part].nbytes < 2 * matrix.nbytes // 12:
            continue
        assert fingerprint_of(matrix) != before, part


LAYOUTS = {
    "gaps": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "rows of a wider matrix": lambda a: np.concatenate([a, a], axis=-1)[..., : a.shape[-1]],
}


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (5, 3), (0, 4), (70, 90), (300, 40, 2)])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_the_copy_of_a_value_has_its_fingerprint(layout, shape, full):
    """A Tensor that is written leaves its saved value a row-major copy where its memory had gaps."""
    for dtype in ("?", "i1", "f2", "f4", "f8", "c8", "c16", "g", "G"):
        rng = np.random.default_rng(0)
        array = np.asarray(rng.integers(0, 2 if dtype == "?" else 100, shape)).astype(dtype)
        other = layout(array) if array.ndim else array
        assert fingerprint_of(other, full) == fingerprint_of(np.ascontiguousarray(other).reshape(shape), full), dtype


def test_shape_and_dtype_count():
    zeros = [np.zeros(4), np.zeros((2, 2)), np.zeros((4, 1)), np.zeros(4, dtype="i8"), np.zeros(8, dtype="f4"),
             np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(0), np.zeros(())]  # fmt: skip
    assert len({fingerprint_of(a) for a in zeros}) == len(zeros)


@pytest.mark.parametrize("dtype", ["g", "G"])
def test_the_bytes_of_an_extended_number_that_mean_nothing_do_not_count(dtype):
    array = np.zeros(3, dtype=dtype)
    if np.finfo(array.dtype).nmant != 63:
        pytest.skip("this machine's long double has no padding")
    before = fingerprint_of(array)
    array.view(np.uint8).reshape(3, -1)[:, 12] = 7
    assert fingerprint_of(array) == before


def test_arrays_that_change_places_between_two_parameters_are_refused():
    x, a, b = ag.tensor(np.ones(3), requires_grad=True), np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    y = ag.einsum("i,i,i->", x, a, b)
    a[:], b[:] = b.copy(), a.copy()
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()
