"""Arguments that no function of the table takes: the class and the words of the error, and that nothing has happened.

Errors are of the class that NumPy and the standard use. Their message says which value was wrong, in NumPy's words
where those do. One table, CASES, by family of functions. Imports the public names of arraygrad.
"""

from functools import partial

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.numpy as xp
from arraygrad.ops import OPS

LinAlgError = np.linalg.LinAlgError


def leaf(*shape):
    """A tensor of distinct numbers that requires grad."""
    return ag.tensor(np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape), requires_grad=True)


def _axes(names, *cases, shape=(2, 3), owner=xp):
    """(id, function of x, shape of x, error, words) for each function and each (axis, error, words)."""
    return [
        (f"{name}, axis={axis!r}", partial(getattr(owner, name), axis=axis), shape, error, words)
        for name in names.split()
        for axis, error, words in cases
    ]


def _of_complex(name, number=1):
    return lambda x: getattr(xp, name)(*[x + 1j] * number)


def _of_two(name):
    return lambda x: getattr(xp, name)(x, x)


def _calls(family, *cases):
    """The same for (label, function of x, shape of x, error, words)."""
    return [(f"{family}: {label}", *rest) for label, *rest in cases]


OUT_OF_RANGE = (5, IndexError, r"axis 5 is out of bounds for array of dimension 2")
BELOW = (-3, IndexError, r"axis -3 is out of bounds for array of dimension 2")
TWICE = ((0, 0), ValueError, r"duplicate value in 'axis'")
TWICE_FROM_BOTH_ENDS = ((0, -2), ValueError, r"duplicate value in 'axis'")
BROKEN = (1.5, TypeError, r"float")
TEXT = ("a", TypeError, r"str")

REDUCTIONS = "sum mean prod max min var std all any count_nonzero"
ONE_AXIS = "cumulative_sum cumulative_prod sort argsort argmax argmin diff unstack softmax log_softmax logsumexp"
SQUARE = "inv det slogdet cholesky eigh eigvalsh eig eigvals"
MATRICES = f"{SQUARE} svd svdvals qr pinv"

CASES = [
    # -- axes
    *_axes(REDUCTIONS, OUT_OF_RANGE, BELOW, TWICE, TWICE_FROM_BOTH_ENDS, BROKEN, TEXT),
    *_axes(ONE_AXIS, OUT_OF_RANGE, BELOW, BROKEN),
    *_axes("logsumexp softmax log_softmax", TWICE),
    *_axes("flip", OUT_OF_RANGE, BELOW, BROKEN, ((0, 0), ValueError, "repeated axis")),
    *_axes("expand_dims", (9, IndexError, "axis 9 is out of bounds"), ((0, 0), ValueError, "repeated axis")),
    *_axes("squeeze", OUT_OF_RANGE, (0, ValueError, "squeeze out which has size not equal to one")),
    *_axes("vector_norm", OUT_OF_RANGE, ((0, 0), ValueError, "repeated axis|duplicate"), owner=xp.linalg),
    *_axes("fft ifft rfft irfft hfft ihfft", (5, IndexError, "fft: axis 5 is out of bounds"), owner=xp.fft),
    *_calls(
        "axes",
        ("scan of a matrix", lambda x: xp.cumulative_sum(x), (2, 3), ValueError, "axis"),
        ("largest of two axes", lambda x: xp.argmax(x, axis=(0, 1)), (2, 3), TypeError, "tuple"),
        ("too few to permute", lambda x: xp.permute_dims(x, (0,)), (2, 3), ValueError, "axes"),
        ("permuted twice", lambda x: xp.permute_dims(x, (0, 0)), (2, 3), ValueError, "repeated axis"),
        ("permuted out of range", lambda x: xp.permute_dims(x, (0, 5)), (2, 3), IndexError, "axis 5"),
        ("moved out of range", lambda x: xp.moveaxis(x, 0, 5), (2, 3), IndexError, "destination: axis 5"),
        ("moved twice", lambda x: xp.moveaxis(x, (0, 0), (0, 1)), (2, 3), ValueError, "repeated axis in `source`"),
        ("moved to too few", lambda x: xp.moveaxis(x, (0, 1), (0,)), (2, 3), ValueError, "`source` and `destination`"),
        ("rolled out of range", lambda x: xp.roll(x, 1, axis=5), (2, 3), IndexError, "axis 5"),
        ("three shifts", lambda x: xp.roll(x, (1, 2, 3), axis=(0, 1)), (2, 3), ValueError, r"\(3,\).*\(2,\)"),
        ("repeated out of range", lambda x: xp.repeat(x, 2, axis=5), (2, 3), IndexError, "axis 5"),
        ("joined out of range", lambda x: xp.concat([x, x], axis=5), (2, 3), IndexError, "axis 5"),
        ("stacked out of range", lambda x: xp.stack([x, x], axis=5), (2, 3), IndexError, "axis 5.*dimension 3"),
        ("taken out of range", lambda x: xp.take(x, xp.asarray([0]), axis=5), (2, 3), IndexError, "axis 5"),
        ("taken along", lambda x: xp.take_along_axis(x, xp.asarray([[0]]), axis=5), (2, 3), IndexError, "axis 5"),
        ("crossed out of range", lambda x: xp.linalg.cross(x, x, axis=7), (2, 3), IndexError, "cross: axis 7 is out"),
        ("vecdot", lambda x: xp.vecdot(x, x, axis=5), (2, 3), IndexError, "axis 5"),
        ("fftn", lambda x: xp.fft.fftn(x, axes=(0, 5)), (2, 3), IndexError, "fftn: axis 5 is out of bounds"),
        ("fftshift", lambda x: xp.fft.fftshift(x, axes=9), (2, 3), IndexError, "fftshift: axis 9 is out of bounds"),
        ("tensordot of 5", lambda x: xp.tensordot(x, x, axes=5), (2, 3), IndexError, "tensordot: axes=5.* 2 dim"),
        ("tensordot", lambda x: xp.tensordot(x, x, axes=((5,), (0,))), (2, 3), IndexError, "tensordot: axis 5 is out"),
        ("no axis to split", lambda x: xp.unstack(x), (), ValueError, "1-d"),
    ),
    # -- shapes
    *_calls(
        "shapes",
        ("sum", lambda x: x + leaf(4), (2, 3), ValueError, r"broadcast.*\(2,3\) \(4,\)"),
        ("power", lambda x: x ** leaf(4), (2, 3), ValueError, r"broadcast.*\(2,3\) \(4,\)"),
        ("atan2", lambda x: xp.atan2(x, leaf(4)), (2, 3), ValueError, r"broadcast.*\(2,3\) \(4,\)"),
        ("maximum", lambda x: xp.maximum(x, leaf(4)), (2, 3), ValueError, r"broadcast.*\(2,3\) \(4,\)"),
        ("clip", lambda x: xp.clip(x, leaf(4)), (2, 3), ValueError, r"broadcast.*\(2,3\) \(4,\)"),
        ("where", lambda x: xp.where(xp.asarray([True, False]), x, 0.0), (2, 3), ValueError, r"broadcast.*\(2,3\)"),
        ("broadcast_to", lambda x: xp.broadcast_to(x, (2, 4)), (2, 3), ValueError, r"\(2,3\).*\(2,4\)"),
        ("broadcast_to fewer axes", lambda x: xp.broadcast_to(x, (3,)), (2, 3), ValueError, "more dimensions"),
        ("broadcast_arrays", lambda x: xp.broadcast_arrays(x, leaf(4)), (2, 3), ValueError, r"\(2, 3\).*\(4,\)"),
        ("broadcast_shapes", lambda x: xp.broadcast_shapes(x.shape, (4,)), (2, 3), ValueError, r"lengths 3 and 4"),
        ("reshape", lambda x: xp.reshape(x, (4, 2)), (2, 3), ValueError, r"size 6 into shape \(4,2\)"),
        ("reshape, two unknown", lambda x: xp.reshape(x, (-1, -1)), (2, 3), ValueError, "one unknown dimension"),
        ("reshape, floats", lambda x: xp.reshape(x, (2.0, 3.0)), (2, 3), TypeError, "'float'"),
        ("reshape, no copy", lambda x: xp.reshape(x.T, (6,), copy=False), (2, 3), ValueError, "copy"),
        ("concat", lambda x: xp.concat([x, leaf(3, 4)]), (2, 3), ValueError, "dimension 1.*size 3.*size 4"),
        ("concat of ranks", lambda x: xp.concat([x, leaf(3)]), (2, 3), ValueError, r"2 dimension\(s\).*1 dimension"),
        ("concat of 0-d", lambda x: xp.concat([x, x]), (), ValueError, "zero-dimensional"),
        ("concat of nothing", lambda x: xp.concat([]), (), (TypeError, ValueError), "at least one array"),
        ("stack", lambda x: xp.stack([x, leaf(3, 3)]), (2, 3), ValueError, "same shape"),
        ("stack of nothing", lambda x: xp.stack([]), (), (TypeError, ValueError), "at least one array"),
        ("diff", lambda x: xp.diff(x, prepend=leaf(4, 4)), (2, 3), ValueError, "dimension 0.*size 4.*size 2"),
        ("matmul", lambda x: x @ x, (2, 3), ValueError, "matmul:.*size 2 is different from 3"),
        ("matmul of 0-d", lambda x: x @ ag.tensor(1.0), (2, 3), ValueError, "matmul:.*does not have enough dimensions"),
        ("matmul of stacks", lambda x: xp.matmul(x, leaf(3, 4, 5)), (2, 3, 4), ValueError, r"\(2,3,4\).*\(3,4,5\)"),
        (
            "tensordot",
            lambda x: xp.tensordot(x, x, axes=((0,), (1,))),
            (2, 3),
            ValueError,
            r"tensordot: axes=\(\(0,\), \(1,\)\) pairs lengths \(2,\) of x1 with \(3,\) of x2",
        ),
        ("vecdot", lambda x: xp.vecdot(x, leaf(4)), (2, 3), ValueError, "vecdot:.*size 4 is different from 3"),
        ("transpose of a vector", lambda x: xp.matrix_transpose(x), (3,), ValueError, "2-dimensional, but it is 1"),
        ("outer", lambda x: xp.linalg.outer(x, x), (2, 3), ValueError, "one-dimensional.*x1.ndim=2"),
        ("cross", lambda x: xp.linalg.cross(x, x), (4,), ValueError, "3-dimensional vectors.*4 and 4"),
        ("diagonal", lambda x: xp.linalg.diagonal(x), (3,), ValueError, "two dimensions"),
        ("trace", lambda x: xp.linalg.trace(x), (3,), ValueError, "two dimensions"),
        ("solve, not square", lambda x: xp.linalg.solve(x, x), (2, 3), LinAlgError, "square"),
        ("solve", lambda x: xp.linalg.solve(x, leaf(2)), (3, 3), ValueError, "size 2 is different from 3"),
        ("matrix_power", lambda x: xp.linalg.matrix_power(x, 2), (2, 3), LinAlgError, "square"),
        ("matrix_norm", lambda x: xp.linalg.matrix_norm(x), (3,), IndexError, "dimension 1"),
        ("einsum", lambda x: xp.einsum("ij,jk", x, x), (2, 3), ValueError, "label 'j'"),
        ("searchsorted", lambda x: xp.searchsorted(x.detach(), x.detach()), (2, 3), ValueError, "deep"),
        ("mask", lambda x: x[xp.asarray([True, False, True])], (2, 3), IndexError, "axis 0.*2.*3"),
        ("largest of nothing", lambda x: xp.max(x), (0,), ValueError, "zero-size array"),
        ("index of the largest of nothing", lambda x: xp.argmax(x), (0,), ValueError, "empty"),
    ),
    *[
        (f"{name}: not square", getattr(xp.linalg, name), (2, 3), LinAlgError, "must be square")
        for name in SQUARE.split()
    ],
    *[
        (f"{name}: a vector", getattr(xp.linalg, name), (3,), LinAlgError, "1-dim.*two-dimensional")
        for name in MATRICES.split()
    ],
    # -- counts, indices and modes
    *_calls(
        "values",
        ("index", lambda x: x[5], (2, 3), IndexError, "index 5 is out of bounds for axis 0 with size 2"),
        ("too many indices", lambda x: x[0, 0, 0], (2, 3), IndexError, "2-dimensional, but 3 were indexed"),
        ("float index", lambda x: x[1.5], (2, 3), IndexError, "only integers"),
        ("text index", lambda x: x["a"], (2, 3), IndexError, "only integers"),
        ("take", lambda x: xp.take(x, xp.asarray([7])), (3,), IndexError, "index 7 is out of bounds for axis 0"),
        ("take floats", lambda x: xp.take(x, xp.asarray([1.0])), (3,), TypeError, "float64"),
        (
            "take_along_axis",
            lambda x: xp.take_along_axis(x, xp.asarray([[9]]), axis=1),
            (1, 3),
            IndexError,
            "index 9 is out of bounds for axis 1 with size 3",
        ),
        ("negative repeats", lambda x: xp.repeat(x, -1), (2, 3), ValueError, "negative"),
        ("repeats of other length", lambda x: xp.repeat(x, xp.asarray([1, 2])), (3,), ValueError, r"\(3,\) \(2,\)"),
        ("negative tiles", lambda x: xp.tile(x, (-1,)), (2, 3), ValueError, "negative"),
        ("broken tiles", lambda x: xp.tile(x, (1.5,)), (2, 3), TypeError, "'float'"),
        ("differences", lambda x: xp.diff(x, n=-1), (3,), ValueError, "non-negative but got -1"),
        ("power of a matrix", lambda x: xp.linalg.matrix_power(x, 1.5), (3, 3), TypeError, "integer"),
        ("qr mode", lambda x: xp.linalg.qr(x, mode="r"), (2, 3), ValueError, "qr: expected mode as .*got 'r'"),
        ("matrix norm", lambda x: xp.linalg.matrix_norm(x, ord=3), (2, 3), ValueError, "norm order"),
        ("vector norm", lambda x: xp.linalg.vector_norm(x, ord="fro"), (3,), ValueError, "norm order 'fro'"),
        ("transform of length 0", lambda x: xp.fft.fft(x, n=0), (3,), ValueError, r"points \(0\)"),
        ("norm of a transform", lambda x: xp.fft.fft(x, norm="o"), (3,), ValueError, "norm value o"),
        ("lengths", lambda x: xp.fft.fftn(x, s=(1, 2, 3), axes=(0, 1)), (2, 3), ValueError, "different lengths"),
        ("indexing of a mesh", lambda x: xp.meshgrid(x, x, indexing="zz"), (3,), ValueError, "`indexing`"),
        ("side", lambda x: xp.searchsorted(x.detach(), x.detach(), side="mid"), (3,), ValueError, "'mid'"),
        ("padding", lambda x: xp.pad(x, -1), (3,), ValueError, "pad: pad_width.*-1"),
        ("padding mode", lambda x: xp.pad(x, 1, mode="z"), (3,), ValueError, "pad: expected mode.*'z'"),
        ("subscripts", lambda x: xp.einsum("i1", x), (3,), ValueError, "einsum: 'i1'"),
        ("new length", lambda x: xp.zeros(-3), (), ValueError, "negative"),
        ("new broken length", lambda x: xp.zeros(1.5), (), TypeError, "1.5"),
        ("number of steps", lambda x: xp.linspace(0, 1, -3), (), ValueError, "-3"),
        ("new diagonal", lambda x: xp.eye(-1), (), ValueError, "negative"),
        ("step of zero", lambda x: xp.arange(0, 1, 0), (), (ValueError, ZeroDivisionError), "zero|step"),
        ("dtype kind", lambda x: xp.isdtype(x.dtype, "nope"), (), ValueError, "'nope'"),
        ("singular", lambda x: xp.linalg.inv(x * 0.0), (2, 2), LinAlgError, "Singular"),
        ("not positive", lambda x: xp.linalg.cholesky(-x), (2, 2), LinAlgError, "positive definite"),
    ),
    # -- dtypes and devices
    *_calls(
        "dtypes",
        ("complex to real", lambda x: xp.astype(x + 1j, xp.float64), (3,), TypeError, "imaginary parts of complex128"),
        ("complex to real, method", lambda x: (x + 1j).astype("float32"), (3,), TypeError, "float32.*complex128"),
        ("complex to integer", lambda x: xp.astype(x + 1j, xp.int64), (3,), TypeError, "int64.*complex128"),
        ("unknown", lambda x: xp.astype(x, "nope"), (3,), TypeError, "'nope'"),
        ("objects", lambda x: xp.astype(x, object), (3,), TypeError, "astype: dtype=.*object.* holds no numbers"),
        ("of a sum", lambda x: xp.sum(x, dtype="nope"), (3,), TypeError, "'nope'"),
        ("text", lambda x: xp.sin("a"), (3,), TypeError, "str"),
        ("nothing", lambda x: xp.add(x, None), (3,), TypeError, "add:.*NoneType"),
        ("negative of booleans", lambda x: -(x > 1), (3,), TypeError, "boolean negative"),
        ("difference of booleans", lambda x: (x > 1) - (x > 2), (3,), TypeError, "boolean subtract"),
        ("sign of booleans", lambda x: xp.sign(x > 1), (3,), TypeError, "sign"),
        ("real transform", lambda x: xp.fft.rfft(x + 1j), (3,), TypeError, "rfft"),
    ),
    *[
        (f"{name}: complex", _of_complex(name), (3,), TypeError, rf"'{name}' not supported")
        for name in ("floor", "ceil", "trunc")
    ],
    *[
        (f"{name}: complex", _of_complex(name, 2), (3,), TypeError, rf"{raw}.* not supported")
        for name, raw in (
            ("atan2", "arctan2"),
            ("hypot", "hypot"),
            ("logaddexp", "logaddexp"),
            ("copysign", "copysign"),
            ("remainder", "remainder"),
            ("floor_divide", "floor_divide"),
        )
    ],
    *[
        (
            f"{name}: floats",
            _of_two(name),
            (3,),
            TypeError,
            "not supported for the input types",
        )
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift")
    ],
    *_calls(
        "devices",
        ("move", lambda x: x.to_device("gpu"), (3,), ValueError, "gpu"),
        ("cast", lambda x: xp.astype(x, xp.float32, device="gpu"), (3,), ValueError, "gpu"),
        ("new", lambda x: xp.zeros(3, device="gpu"), (), ValueError, "gpu"),
        ("from a list", lambda x: xp.asarray([1.0], device="gpu"), (), ValueError, "gpu"),
        ("like another", lambda x: xp.ones_like(x, device="gpu"), (3,), ValueError, "gpu"),
    ),
]


@pytest.mark.parametrize(("call", "shape", "error", "words"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_bad_argument_is_refused_and_nothing_has_happened(call, shape, error, words):
    x = leaf(*shape)
    before, version = x.numpy().copy(), x.version
    with pytest.raises(error, match=words):
        call(x)
    assert x.version == version
    assert x.is_leaf
    assert x.grad is None
    np.testing.assert_array_equal(x.numpy(), before)
    if x.size:
        xp.sum(x * 2.0).backward()  # the next computation is untouched by the failed one
        np.testing.assert_array_equal(x.grad.numpy(), np.full(shape, 2.0))


def test_every_function_with_an_axis_refuses_one_that_is_not_there():
    refused = {case[0].split(",")[0] for case in CASES if "axis=" in case[0]}
    with_axis = {name for name, op in OPS.items() if "axis" in op.params and not name.startswith("_")}
    by_call = {"take", "take_along_axis", "roll", "repeat", "concat", "stack", "cross", "vecdot"}
    own_tests = {"norm"}
    assert with_axis - refused - by_call - own_tests == set()


# -- what NumPy takes beside the standard's arguments has the right gradient, or is refused at once --------------------


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda x: xp.tile(x, 2), (2, 3)),
        (lambda x: xp.tile(x, np.int64(2)), (2, 3)),
        (lambda x: xp.take(x, xp.asarray([1, 4, 4])), (2, 3)),
        (lambda x: xp.take(x, xp.asarray([[1, 4], [4, 0]])), (2, 3)),
        (lambda x: xp.take(x, xp.asarray([[1, 2], [2, 0]]), axis=1), (2, 3)),
        (lambda x: xp.sort(-x, axis=None), (2, 3)),
        (lambda x: xp.permute_dims(x, None), (2, 3)),
        (lambda x: xp.repeat(x, True, axis=0), (2, 3)),
        (lambda x: xp.repeat(x, np.int64(2), axis=0), (2, 3)),
        (lambda x: xp.tensordot(x, x, axes=np.int64(2)), (2, 3)),
        (lambda x: xp.tensordot(x, x, axes=(1, 1)), (2, 3)),
        (lambda x: xp.linalg.vector_norm(x, ord=None), (2, 3)),
        (lambda x: xp.diff(x * x, prepend=0.0), (4,)),
        (lambda x: xp.diff(x * x, prepend=0.0, append=1.0, n=2), (2, 4)),
        (lambda x: xp.diff(x * x, prepend=xp.sum(x), axis=0), (2, 4)),
        (lambda x: xp.diff(x * x, append=xp.sum(x), axis=-2), (2, 4)),
        (lambda x: xp.meshgrid(x, x)[0], (2, 2)),
        (lambda x: xp.tril(x), (3,)),
        (lambda x: xp.fft.fftn(x, axes=(0, 0)).real, (2, 3)),
        (lambda x: xp.roll(x, (1, 2), axis=0), (3, 2)),
    ],
)
def test_argument_of_numpys_beyond_the_standard_has_the_right_gradient(call, shape):
    assert ag.gradcheck(call, [np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape) / 3.0])
