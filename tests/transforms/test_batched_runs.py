"""Rows of Jacobians computed together: Note [Batched runs] in transforms/batched.pyx.

Held to the same rows computed one by one (`set_batched_runs(False)`), and in some programs to derivatives by hand.
"""

import numpy as np
import pytest
from function_helpers import Cube

import arraygrad as ag
from arraygrad.autograd import graph, set_detect_anomaly
from arraygrad.ops import OPS
from arraygrad.transforms.batched import set_batched_runs
from arraygrad.transforms.tracked_call import TrackedCall


@pytest.fixture(autouse=True)
def always():
    """However few rows there are."""
    before = set_batched_runs("always")
    yield
    set_batched_runs(before)


@pytest.fixture
def single_runs(monkeypatch):
    """How many backward runs were made one by one."""
    made = []
    pull = TrackedCall.pull

    def counted(self, *args, **options):
        made.append(args)
        return pull(self, *args, **options)

    monkeypatch.setattr(TrackedCall, "pull", counted)
    return made


def one_by_one(transformed, *args):
    before = set_batched_runs(False)
    try:
        return transformed(*args)
    finally:
        set_batched_runs(before)


def check(f, *args, argnums=0, **tolerance):
    transformed = ag.jacobian(f, argnums=argnums)
    found = transformed(*args)
    expected = one_by_one(transformed, *args)
    pairs = zip(found, expected, strict=True) if isinstance(argnums, tuple) else [(found, expected)]
    for a, b in pairs:
        assert a.dtype == b.dtype
        assert a.flags.writeable
        assert a.flags.c_contiguous
        np.testing.assert_allclose(a, b, **{"rtol": 1e-13, "atol": 1e-14, **tolerance})


rng = np.random.default_rng(0)
M = rng.normal(size=(4, 3))
V = rng.normal(size=3)
T = rng.normal(size=(2, 4, 3))

PROGRAMS = {
    "matmul matrix vector": lambda x: np.tanh(M @ x),
    "matmul vector matrix": lambda x: x @ M.T,
    "matmul vector vector": lambda x: np.stack([x @ V, V @ x]),
    "matmul of both": lambda x: (x[:, None] * x) @ (x[:, None] + M.T[:, :3]),
    "matmul of a matrix made of x": lambda x: (M * x) @ M.T,
    "matmul of a matrix made of x and a vector": lambda x: (M * x) @ x,
    "matmul of stacks": lambda x: (T * x) @ np.swapaxes(T + x, -1, -2),
    "matmul of a stack and a vector": lambda x: (T * x) @ x,
    "matmul of a vector and a stack": lambda x: x @ np.swapaxes(T * x, -1, -2),
    "matmul of a stack and a matrix": lambda x: (T * x) @ (M * x).T,
    "matmul of a matrix and a stack": lambda x: (M * x) @ np.swapaxes(T * x, -1, -2),
    "sum": lambda x: np.sum(M * x, axis=0) + np.sum(x),
    "sum over a last axis": lambda x: np.sum(M * x, axis=-1) * np.sum(x, keepdims=True),
    "sum over two axes": lambda x: np.sum(T * x, axis=(0, -1), keepdims=True),
    "mean": lambda x: np.mean(T * x, axis=(0, 1)) + np.mean(x) + np.mean(M * x, axis=1, keepdims=True),
    "shapes": lambda x: np.transpose(np.reshape(T * x, (4, 2, 3)), (2, 0, 1)) + np.expand_dims(x, (1, 2)),
    "squeeze": lambda x: np.squeeze((M * x)[:, None], axis=1).T * np.flip(x)[:, None],
    "transpose": lambda x: ag.matrix_transpose(T * x) * np.transpose(T * x, (0, 2, 1)),
    "flip of some axes": lambda x: np.flip(T * x, axis=(0, 2)),
    "broadcast_to": lambda x: np.broadcast_to(x, (4, 3)) * M,
    "astype": lambda x: ag.astype(ag.astype(x, ag.float32) * 2, ag.float64) * x,
    "where": lambda x: np.where(x > 0.4, x * x, np.where(M > 0, x, 2.0)),
    "elements": lambda x: np.stack([x[0] * x[1], x[2] * x[2], x[-1] + x[0]]),
    "regions": lambda x: (T * x)[1, ::2, None, 1:] * x[1:] + x[..., :2],
    "one place after another": lambda x: x[:2] + x[1:] + (x * x)[:2] + (x * x)[1:],
    "written regions": lambda x: written(x),
    "concat": lambda x: np.concatenate([M * x, np.ones((1, 3)), (x * x)[None]], axis=0),
    "concat of a last axis": lambda x: np.concatenate([M * x, M[:, :1], (M * x * x)[:, :2]], axis=-1),
    "concat flattened": lambda x: np.concatenate([M * x, x], axis=None),
    "stack": lambda x: np.stack([x, V, x * x], axis=-1),
    "powers": lambda x: (x**2 + x**3.5) ** 0.5 + 2.0**x,
    "python numbers": lambda x: 1.0 / (1.0 + 2.0 * x) - (3 - x),
    "itself": lambda x: x,
    "a copy": lambda x: x.copy(),
    "one of one result": lambda x: ag.unstack((M * x)[..., None], axis=-1)[0] * ag.broadcast_arrays(x * x)[0],
    "a gather": lambda x: x[np.array([2, 0, 2])] * 2.0,
    "a gather of separated axes": lambda x: (T * x)[np.array([1, 0]), :, np.array([2, 2])],
    "a mask": lambda x: x[np.array([True, False, True])] * 2.0,
    "a put": lambda x: put(x),
    "running sums": lambda x: np.cumsum(x) * np.cumprod(x),
    "sorted": lambda x: np.sort(M * x, axis=0) * np.max(x) + np.min(M * x, axis=0),
    "moments": lambda x: np.var(M * x, axis=0) + np.std(x) + np.prod(T * x, axis=(0, 1)),
    "softmax": lambda x: ag.softmax(M * x, axis=-1) * ag.logsumexp(x),
    "einsum": lambda x: np.einsum("aij,j,ik->ak", T, x, M * x),
    "systems": lambda x: np.linalg.solve(np.eye(3) + np.outer(x, x), x) * np.linalg.det(np.diag(x) + 1.0),
    "factors": lambda x: np.linalg.cholesky(np.eye(3) + np.outer(x, x)) + np.linalg.inv(np.diag(x + 1.0)),
    "padded": lambda x: np.pad(M * x, 1, mode="reflect") * np.tile(x[:1], 5),
    "norms": lambda x: np.linalg.norm(M * x, axis=0) * np.linalg.norm(x),
    "differences": lambda x: np.diff(M * x, axis=0) + np.roll(x, 1),
    "elements in their order": lambda x: np.exp(M[0] * (x * x))[None, :, None][0, ..., 0][:][::1],
    "elements in another order": lambda x: np.exp(M[0] * x)[::-1][None, ::-1][0] * np.sin(x),
    "elements and their squares": lambda x: np.sin(x) + x * x + np.exp(x) * x,
    "elements beside all": lambda x: np.sin(x) * np.sum(x * x) + x,
    "reshaped elements": lambda x: np.reshape(np.sin(x), (3, 1)).T.copy()[0].astype(np.float64),
    "row times matrix": lambda x: np.tanh(x[None] @ M.T),
    "matrix times column": lambda x: np.tanh(M @ (x * x)[:, None])[:, 0],
    "matrix times columns": lambda x: np.tanh(M @ (x[:, None] * M[:2].T)),
    "triangle": lambda x: np.tril(np.exp(M[:3] * x)),
    "matrix of x times x": lambda x: np.exp((M * x) @ x) + M @ np.sin(x),
    "a constant row": lambda x: np.stack([x[0] * 0.0 + 1.0, x[1]]),
}


def put(x):
    y = np.zeros_like(M) + M * x
    y[np.array([0, 2]), 1:] = x[1:]
    return y * x


def written(x):
    y = np.zeros_like(M) + M * x
    y[1:3] = x * x
    y[0, 0] = x[2]
    return y * x


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_together_are_those_made_one_by_one(name, dtype, single_runs):
    x = np.array([0.3, 0.7, 0.5], dtype)
    transformed = ag.jacobian(PROGRAMS[name])
    found = transformed(x)
    assert name == "itself" or not single_runs
    expected = one_by_one(transformed, x)
    assert found.dtype == expected.dtype
    assert found.flags.writeable
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "float32" else 1e-13, atol=1e-6)


INFINITE = {
    "a weight": lambda x: x * np.array([np.inf, 2.0, 3.0]),
    "a weight that is nan": lambda x: np.sin(x) * np.array([1.0, np.nan, 3.0]),
    "an element of a matrix": lambda x: np.where(M == M[1, 1], np.inf, M) @ x,
    "an element of a matrix of columns": lambda x: np.where(M == M[1, 1], np.inf, M) @ (x * x)[:, None],
    "a slope": lambda x: np.sqrt(x - x[0]),
    "a slope that meets zero": lambda x: (np.sqrt(x - x[0])) * np.array([0.0, 1.0, 2.0]),
    "an overflow": lambda x: np.exp(1000.0 * x),
    "squares that overflow": lambda x: x * 1e200,
}


@pytest.mark.parametrize("name", INFINITE)
def test_rows_beside_infinities_are_those_made_one_by_one(name):
    """0 * inf is nan, in each row: an identity matrix has zeros to meet it."""
    x = np.array([0.3, 0.7, 0.5])
    transformed = ag.jacobian(INFINITE[name])
    with np.errstate(all="ignore"):
        found, expected = transformed(x), one_by_one(transformed, x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_jacobian_shares_no_memory(name):
    """Neither with the argument, nor with what the function holds, nor with the block of another argument."""
    x, y = np.array([0.3, 0.7, 0.5]), np.array([0.4, 0.2, 0.6])
    blocks = ag.jacobian(lambda x, y: PROGRAMS[name](x + y), argnums=(0, 1))(x, y)
    for i, block in enumerate(blocks):
        others = [x, y, M, V, T, *blocks[:i]]
        assert not any(np.shares_memory(block, other) for other in others)
    kept = [block.copy() for block in blocks]
    again = ag.jacobian(lambda x, y: PROGRAMS[name](x + y), argnums=(0, 1))(x, y)
    for block in again:
        block[...] = 7.0
    for block, before in zip(blocks, kept, strict=True):
        np.testing.assert_array_equal(block, before)


@pytest.mark.parametrize("f", [lambda x: np.exp(M @ x), lambda x: np.sum(np.log(1.0 + np.exp(M @ x)))])
def test_rows_of_an_identity_are_kept_as_its_diagonal(f, monkeypatch):
    """A product of two matrices is what they would cost otherwise."""
    made = []
    zeros = np.zeros
    monkeypatch.setattr(np, "zeros", lambda *args, **kwargs: made.append(args) or zeros(*args, **kwargs))
    transformed = ag.jacobian(f) if f(V).ndim else ag.hessian(f)
    transformed(V)
    assert not made


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ("astype",)])
def test_hessians_together_are_those_made_one_by_one(name):
    def loss(x):
        return np.sum(np.sin(PROGRAMS[name](x)))

    x = np.array([0.3, 0.7, 0.5])
    transformed = ag.hessian(loss)
    np.testing.assert_allclose(transformed(x), one_by_one(transformed, x), rtol=1e-12, atol=1e-12)


def elementwise():
    return [op for op in OPS.values() if op.elementwise and not op.multi and op.sequence < 0 and op.differentiable]


@pytest.mark.parametrize("op", elementwise(), ids=lambda op: op.name)
def test_rules_of_elementwise_operations_serve_several_runs(op):
    if op.params not in (("x",), ("x1", "x2")) or len(op.inputs) != len(op.params) or op.name.startswith("_"):
        pytest.skip("no function of one or two arrays alone")
    for namespace in (ag, ag.special):
        f = getattr(namespace, op.name, None)
        if f is not None:
            break
    else:
        pytest.skip("no public function")
    x, y = np.array([0.31, 0.72, 0.53]), np.array([[0.42], [0.83]])
    with np.errstate(invalid="ignore"):
        if len(op.params) == 1:
            check(f, x)
            check(lambda x: f(x[:, None] * x + 1.0), x)
        else:
            check(f, x, y, argnums=(0, 1))
            check(lambda x: f(x, x * 0.5), x)
            check(lambda x: f(2.0, x[0]) + f(x, 3.0), x)


def test_jacobian_of_a_layer_is_that_by_hand(single_runs):
    w = rng.normal(size=(30, 20))
    x = rng.normal(size=20)
    found = ag.jacobian(lambda x: np.tanh(w @ x))(x)
    np.testing.assert_allclose(found, (1 - np.tanh(w @ x) ** 2)[:, None] * w, rtol=1e-12)
    assert not single_runs


def test_hessian_of_a_logistic_loss_is_that_by_hand():
    a = rng.normal(size=(40, 7))
    x = rng.normal(size=7)
    s = 1 / (1 + np.exp(-a @ x))
    found = ag.hessian(lambda x: np.sum(np.log(1.0 + np.exp(a @ x))))(x)
    np.testing.assert_allclose(found, a.T @ (a * (s * (1 - s))[:, None]), rtol=1e-11)


def test_many_rows_are_made_in_several_parts(single_runs):
    w = rng.normal(size=(300, 3000))
    x = rng.normal(size=3000) * 0.01
    found = ag.jacobian(lambda x: np.sin(w @ np.exp(x)))(x)
    np.testing.assert_allclose(found, np.cos(w @ np.exp(x))[:, None] * w * np.exp(x), rtol=1e-10, atol=1e-12)
    assert not single_runs


@pytest.mark.parametrize("chunk_size", [1, 3, 4, 100])
def test_chunks_give_the_same_rows(chunk_size, single_runs):
    w = rng.normal(size=(10, 5))
    x = rng.normal(size=5)
    found = ag.jacobian(lambda x: np.tanh(w @ x), chunk_size=chunk_size)(x)
    np.testing.assert_allclose(found, (1 - np.tanh(w @ x) ** 2)[:, None] * w, rtol=1e-12)
    assert len(single_runs) == (10 if chunk_size == 1 else 0)


def test_few_rows_of_many_operations_run_one_by_one(single_runs):
    def f(x):
        for _ in range(50):
            x = np.sin(x)
        return x

    set_batched_runs(True)
    found = ag.jacobian(f)(np.array([0.3, 0.7]))
    assert len(single_runs) == 2
    set_batched_runs("always")
    np.testing.assert_allclose(found, ag.jacobian(f)(np.array([0.3, 0.7])), rtol=1e-12)
    assert len(single_runs) == 2


def test_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="'sometimes'"):
        set_batched_runs("sometimes")


def test_blocks_of_two_arguments_share_no_memory():
    first, second = ag.jacobian(lambda x, y: x + y, argnums=(0, 1))(V, V.copy())
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, np.eye(3))
    np.testing.assert_array_equal(second, np.eye(3))


def test_argument_that_a_result_does_not_depend_on_has_a_block_of_zeros():
    first, second = ag.jacobian(lambda x, y: x * 2.0, argnums=(0, 1))(V, np.ones((2, 2)))
    np.testing.assert_array_equal(first, 2 * np.eye(3))
    np.testing.assert_array_equal(second, np.zeros((3, 2, 2)))


@ag.primitive
def doubled(x):
    return 2 * x


ag.defvjp(doubled, lambda ans, x: lambda g: 2 * g)


def hooked(x):
    y = x * 2.0
    y.register_hook(lambda g: g * 10)
    return y * x


def node_hooked(x):
    y = x * 2.0
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10, *inputs[1:]))
    return y * x


def leaf_hooked(x):
    x.register_hook(lambda g: g * 10)
    return x * x


UNUSUAL = {
    "a Function": (Cube.apply, lambda x: np.diag(3 * x**2)),
    "a primitive": (lambda x: doubled(x) * x, lambda x: np.diag(4 * x)),
    "a hook": (hooked, lambda x: np.diag(22 * x)),
    "a hook of a node": (node_hooked, lambda x: np.diag(22 * x)),
    "a hook of the argument": (leaf_hooked, lambda x: np.diag(20 * x)),
    "written views": (lambda x: write_view(x), lambda x: np.diag([3.0, 2.0, 2.0])),
}


def write_view(x):
    y = x * 2.0
    y[:1] *= 1.5
    return y * 1.0


@pytest.mark.parametrize("name", UNUSUAL)
def test_graphs_with_more_than_batched_rules_run_row_by_row(name, single_runs):
    f, expected = UNUSUAL[name]
    x = np.array([0.3, 0.7, 0.5])
    np.testing.assert_allclose(ag.jacobian(f)(x), expected(x), rtol=1e-13)
    assert len(single_runs) == len(expected(x)) or name == "written views"


def test_packed_values_are_unpacked_for_each_row(single_runs):
    unpacked = []

    def unpack(t):
        unpacked.append(t)
        return t

    def f(x):
        with graph.saved_tensors_hooks(lambda t: t, unpack):
            return np.sin(x) * 1.0

    found = ag.jacobian(f)(np.array([0.3, 0.7]))
    np.testing.assert_allclose(found, np.diag(np.cos([0.3, 0.7])))
    assert len(single_runs) == len(unpacked) == 2


def test_each_row_is_seen_by_anomaly_mode(single_runs):
    with set_detect_anomaly(True):
        ag.jacobian(np.sin)(np.array([0.3, 0.7]))
    assert len(single_runs) == 2


def test_each_row_is_seen_by_a_profile(single_runs):
    with graph.profile():
        ag.jacobian(np.sin)(np.array([0.3, 0.7]))
    assert len(single_runs) == 2


@pytest.mark.parametrize("x", [[0.0, 1.0], [np.inf, 1.0], [-1.0, 2.0], [np.nan, 1.0], [1e308, 1.0]])
@pytest.mark.parametrize("f", [np.sqrt, np.log, lambda x: x / (x - 1), lambda x: np.exp(x) * x**2, lambda x: x**0.5])
def test_infinities_and_nan_are_those_of_single_rows(f, x):
    x = np.array(x)
    with np.errstate(all="ignore"):
        found = ag.jacobian(lambda x: f(x))(x)
        np.testing.assert_array_equal(found, one_by_one(ag.jacobian(lambda x: f(x)), x))


def test_zero_gradients_stay_zero_where_that_was_asked_for():
    with np.errstate(all="ignore"), ag.zero_annihilates():
        found = ag.jacobian(lambda x: np.sqrt(x) * np.array([1.0, 2.0]))(np.array([0.0, 4.0]))
    np.testing.assert_array_equal(found, [[np.inf, 0.0], [0.0, 0.5]])


def test_complex_functions_run_row_by_row(single_runs):
    found = ag.jacobian(lambda z: z * z)(np.array([1 + 1j, 2.0]))
    np.testing.assert_allclose(found, np.diag([2 + 2j, 4.0]))
    assert single_runs


def test_constant_that_is_written_during_the_call_is_an_error():
    a = np.array([1.0, 2.0])

    def f(x):
        y = x * a
        a[:] = 0.0
        return y

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        ag.jacobian(f, adopt=False)(np.array([0.3, 0.7]))
    a[:] = 1.0, 2.0
    np.testing.assert_array_equal(ag.jacobian(f)(np.array([0.3, 0.7])), np.diag([1.0, 2.0]))  # recorded, and kept
    assert not a.any()


def test_rows_that_are_recorded_can_be_differentiated():
    def f(x):
        return ag.jacobian(lambda z: np.sin(z) * z)(x)

    x = np.array([0.3, 0.7])
    found = ag.grad(lambda x: np.sum(f(x)))(x)
    np.testing.assert_allclose(found, 2 * np.cos(x) - x * np.sin(x), rtol=1e-12)


def test_number_of_rows_may_be_one(single_runs):
    np.testing.assert_allclose(ag.jacobian(lambda x: np.sum(x * x, keepdims=True))(V), 2 * V[None])
    assert len(single_runs) == 1


def test_functions_of_numbers_give_numbers():
    found = ag.jacobian(lambda x: np.stack([x * x, np.sin(x)]))(0.5)
    expected = one_by_one(ag.jacobian(lambda x: np.stack([x * x, np.sin(x)])), 0.5)
    assert type(found) is type(expected)
    np.testing.assert_allclose(found, expected)
