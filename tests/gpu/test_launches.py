"""What one backward starts on the device and whether the host waits for it, counted by the stand-in for CuPy.

Each test runs in a process of its own (stand_in). tests/gpu/test_cupy.py counts the same on a device.
"""

import pytest
from programs import run


def test_an_elementwise_node_is_one_launch_forward_and_one_backward():
    assert run("""
        rows = []
        x = ag.asarray(cupy.asarray([0.3, 0.5]), requires_grad=True)
        y = ag.asarray(cupy.asarray([0.2, 0.7]), requires_grad=True)
        one = cupy.asarray([1.0, 1.0])
        unary = "negative reciprocal square sqrt exp expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh"
        unary += " tanh asinh atanh abs sign sigmoid relu"
        for name in unary.split() + ["add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "hypot",
                                     "atan2", "copysign", "remainder", "floor_divide", "logaddexp"]:
            f = getattr(ag, name)
            f(x, y) if name not in unary.split() else f(x)
            del launches[:]
            z = f(x, y) if name not in unary.split() else f(x)
            forward = len(launches)
            del launches[:], syncs[:]
            ag.autograd.grad(z, [x, y], one, allow_unused=True)
            if forward != 1 or len(launches) > 1 or syncs:
                rows.append((name, forward, list(launches), list(syncs)))
        print(rows)
    """) == ["[]"]


def test_without_kernels_the_values_are_the_same_and_the_launches_more():
    assert run("""
        from arraygrad.backends.cupy import set_fused
        def gradients():
            x = ag.asarray(cupy.asarray([[0.3, 0.5, -1.0], [2.0, 0.1, 0.4]]), requires_grad=True)
            y = ag.softmax(ag.tanh(x) * ag.sigmoid(x) / (1 + x * x), axis=1)
            z = ag.logsumexp(y, axis=0) * ag.std(x, axis=0) + ag.var(x, axis=0, correction=1) + ag.max(x, axis=0)
            del launches[:], syncs[:]
            ag.sum(z * ag.log_softmax(x, axis=-1)).backward()
            return x.grad.numpy(), len(launches), syncs[:-1]
        first, few, waits = gradients()
        print(set_fused(False), waits)
        second, many, _ = gradients()
        print(set_fused(True), few < many, float(abs(first - second).max()) < 1e-12)
    """) == ["True []", "False True True"]


def test_reductions_are_one_launch_forward_and_one_backward():
    assert run("""
        rows = []
        data = cupy.asarray([[0.3, 0.5, -1.0], [2.0, 0.1, 0.4]])
        for name, options in [("softmax", {}), ("log_softmax", {}), ("logsumexp", dict(axis=1)), ("var", dict(axis=1)),
                              ("std", dict(axis=(0, 1), correction=1)), ("max", dict(axis=1)), ("min", dict(axis=0))]:
            x = ag.asarray(data, requires_grad=True)
            getattr(ag, name)(x, **options)
            del launches[:]
            z = getattr(ag, name)(x, **options)
            forward = len(launches)
            g = cupy.asarray(np.ones(z.shape))
            del launches[:], syncs[:]
            ag.autograd.grad(z, x, g)
            if (forward, len(launches), syncs) != (1, 1, []):
                rows.append((name, forward, list(launches), list(syncs)))
        print(rows)
    """) == ["[]"]


def test_a_choice_is_one_launch_for_both_branches():
    assert run("""
        x = ag.asarray(cupy.asarray([0.3, 0.5]), requires_grad=True)
        y = ag.asarray(cupy.asarray([0.2, 0.7]), requires_grad=True)
        one = cupy.asarray([1.0, 1.0])
        for z in (ag.where(x > y, x, y), ag.clip(x, 0.4, y)):
            del launches[:]
            a, b = ag.autograd.grad(z, [x, y], one)
            print(launches, a.numpy().tolist(), b.numpy().tolist())
    """) == [
        "['arraygrad_where_backward'] [1.0, 0.0] [0.0, 1.0]",
        "['arraygrad_clip_backward'] [0.0, 1.0] [1.0, 0.0]",
    ]


def test_an_accumulation_is_one_launch():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
        z = x * 2.0
        a, b = ag.sin(z), ag.cos(z)
        g = cupy.asarray([1.0, 1.0])
        del launches[:]
        ag.autograd.grad([a, b], z, [g, g])
        print(launches)
    """) == ["['arraygrad_cos_backward', 'arraygrad_sin_backward', 'arraygrad_accumulate']"]


def test_an_update_in_place_is_one_launch_beside_that_of_its_product():
    assert run("""
        p = ag.asarray(cupy.asarray([[1.0, 2.0], [3.0, 4.0]]), requires_grad=True)
        g = ag.asarray(cupy.asarray([[1.0, 1.0], [1.0, 2.0]]))
        saved = ag.sum(p * p)
        del launches[:], syncs[:]
        with ag.no_grad():
            p -= 0.5 * g
            p *= g
        print(launches, syncs, p.version)
        saved.backward()
        print(p.numpy().tolist(), p.grad.numpy().tolist())
    """) == [
        "['arraygrad_multiply', 'copy', 'arraygrad_subtract', 'arraygrad_multiply'] [] 2",
        "[[0.5, 1.5], [2.5, 6.0]] [[2.0, 4.0], [6.0, 8.0]]",
    ]


NETWORK = """
    rng = np.random.default_rng(0)
    n, sizes = 8, (5, 7, 3)
    x = cupy.asarray(rng.normal(size=(n, sizes[0])).astype(np.float32))
    labels = cupy.asarray(rng.integers(0, 3, n))
    rows, one_hot = cupy.asarray(np.arange(n)), cupy.asarray(np.eye(3, dtype=np.float32)[labels.get()])
    leaves = [ag.asarray(cupy.asarray(rng.normal(size=s).astype(np.float32)), requires_grad=True)
              for s in ((5, 7), (7,), (7, 3), (3,))]
    def scores():
        w, b, v, c = leaves
        return ag.relu(x @ w + b) @ v + c
    def step():
        LOSS
        del launches[:]
        value = loss()
        forward = list(launches)
        del launches[:]
        value.backward()
        for p in leaves:
            p.grad = None
        return forward, list(launches)
    for _ in range(3):
        forward, backward = step()
    print(*[name.removeprefix("arraygrad_") for name in forward])
    print(*[name.removeprefix("arraygrad_") for name in backward])
"""
LOSSES = {
    "one-hot": "loss = lambda: -ag.sum(one_hot * ag.log_softmax(scores())) / n",
    "rows": "loss = lambda: -(ag.log_softmax(scores())[rows, labels]).mean()",
    "logsumexp": "loss = lambda: (lambda z: ag.mean(ag.logsumexp(z, axis=1) - z[rows, labels]))(scores())",
}
LAYERS = "sum gemmEx gemmEx relu_backward_keeping gemmEx"
LAUNCHES = {
    "one-hot": ["gemmEx add_relu gemmEx add_log_softmax multiply_sum_negative_divide",
                f"multiply_backward_log_softmax {LAYERS}"],
    "rows": ["gemmEx add_relu gemmEx add_log_softmax gather_mean_negative",
             f"scatter_log_softmax_backward {LAYERS}"],
    "logsumexp": ["gemmEx add_relu gemmEx add_logsumexp gather subtract_mean",
                  f"scatter_rows logsumexp_backward_added {LAYERS}"],
}  # fmt: skip


@pytest.mark.parametrize("spelling", LOSSES)
def test_a_networks_step_is_few_launches(spelling):
    """A map is computed with its sum, a bias's gradient with the map's; what begins a backward is launched once."""
    assert run(NETWORK.replace("LOSS", LOSSES[spelling])) == LAUNCHES[spelling]


def test_a_leafs_gradient_is_the_buffer_that_the_kernel_made():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
        y = ag.sin(x)
        g = cupy.asarray([1.0, 1.0])
        del launches[:]
        y.backward(g)
        print(launches)
        y = x @ x
        y.backward()
    """) == ["['arraygrad_sin_backward']"]


def test_a_python_number_is_an_argument_of_the_kernel():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0, 2.0], dtype=np.float32), requires_grad=True)
        one = cupy.asarray([1.0, 1.0], dtype=np.float32)
        for factor in (2.0, 3.0, 4):
            z = x * factor
            del launches[:]
            (grad,) = ag.autograd.grad(z, x, one)
            print(launches, grad.dtype, grad.numpy().tolist())
        from arraygrad.backends.cupy import BACKEND
        from arraygrad.ops import OPS
        print(len(BACKEND.rules_of(OPS["multiply"])))
    """) == [
        "['arraygrad_multiply_backward'] float32 [2.0, 2.0]",
        "['arraygrad_multiply_backward'] float32 [3.0, 3.0]",
        "['arraygrad_multiply_backward'] float32 [4.0, 4.0]",
        "1",
    ]


def test_a_gradient_of_another_precision_is_cast_by_the_kernel():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0, 2.0], dtype=np.float32), requires_grad=True)
        y = ag.asarray(cupy.asarray([3.0, 4.0]), requires_grad=True)
        z, one = x * y, cupy.asarray([1.0, 1.0])
        del launches[:]
        a, b = ag.autograd.grad(z, [x, y], one)
        print(launches, a.dtype, b.dtype)
    """) == ["['arraygrad_multiply_backward'] float32 float64"]


def test_zero_annihilates_costs_no_launch():
    assert run("""
        with ag.zero_annihilates():
            x = ag.asarray(cupy.asarray([0.0, 2.0]), requires_grad=True)
            y = ag.log(x)
        g = cupy.asarray([0.0, 1.0])
        del launches[:]
        (grad,) = ag.autograd.grad(y, x, g)
        print(launches, grad.numpy().tolist())
    """) == ["['arraygrad_log_backward'] [0.0, 0.5]"]


def test_recorded_gradients_come_from_the_tables_rules():
    assert run("""
        x = ag.asarray(cupy.asarray([0.5]), requires_grad=True)
        (g,) = ag.autograd.grad(ag.sum(ag.sin(x)), x, create_graph=True)
        (h,) = ag.autograd.grad(ag.sum(g), x)
        print(abs(h.item() + np.sin(0.5)) < 1e-15)
    """) == ["True"]


def test_complex_gradients_come_from_one_launch():
    assert run("""
        values = np.asarray([0.5 + 1j, -0.25j])
        def f(xp, x): return xp.sum(xp.abs(xp.exp(x) * xp.conj(x) / (x + 2)) ** 2)
        expected = ag.grad(lambda x: f(ag.numpy, x))(values)
        found = ag.grad(lambda x: f(ag.cupy, x))(cupy.asarray(values))
        print(np.allclose(found.get(), expected, rtol=1e-12), found.dtype)
    """) == ["True complex128"]


def test_saved_values_are_unpacked_once_for_kernels_and_rules():
    assert run("""
        seen = []
        hooks = ag.autograd.graph.saved_tensors_hooks(lambda t: t.array, lambda a: seen.append(1) or a)
        with hooks:
            x = ag.asarray(cupy.asarray([[1.0, 2.0], [0.5, 4.0]]), requires_grad=True)
            y = ag.sum(ag.sin(x))
            z = ag.linalg.inv(x)
        (y + ag.sum(z)).backward()
        print(len(seen))
    """) == ["2"]


# The rules that look at values on the host: whether a matrix is singular, whether a gradient may be asked for at all.
WAITS = {"linalg.det", "linalg.slogdet"}


@pytest.mark.parametrize(
    "name",
    [
        "matmul", "linalg.inv", "linalg.solve", "linalg.cholesky", "linalg.qr", "linalg.eigh", "linalg.svd",
        "linalg.det", "linalg.slogdet", "fft.fft", "fft.rfft", "take", "getitem", "sort", "cumulative_sum",
        "cumulative_prod", "prod", "where", "clip", "concat", "einsum", "norm", "pad", "logsumexp_columns",
        "conv_step", "setitem",
    ],
)  # fmt: skip
def test_a_backward_does_not_wait_for_the_device(name):
    lines = run(f"""
        name = {name!r}
        x = ag.asarray(cupy.asarray([[2.0, 0.5], [0.25, 1.5]]), requires_grad=True)
        i = cupy.asarray([1, 0, 1])
        def setitem(x):
            y = x * 1.0
            y[0] = x[1] * 2.0
            return y
        f = {{
            "matmul": lambda x: x @ x,
            "linalg.inv": ag.linalg.inv, "linalg.solve": lambda x: ag.linalg.solve(x, x[0] * 2.0),
            "linalg.cholesky": lambda x: ag.linalg.cholesky(x @ x.mT), "linalg.qr": lambda x: ag.linalg.qr(x)[1],
            "linalg.eigh": lambda x: ag.linalg.eigh(x @ x.mT)[0], "linalg.svd": lambda x: ag.linalg.svd(x)[1],
            "linalg.det": ag.linalg.det, "linalg.slogdet": lambda x: ag.linalg.slogdet(x)[1],
            "fft.fft": lambda x: ag.abs(ag.fft.fft(x)), "fft.rfft": lambda x: ag.abs(ag.fft.rfft(x)),
            "take": lambda x: ag.take(x, i, axis=0), "getitem": lambda x: x[i], "sort": lambda x: ag.sort(x, axis=0),
            "cumulative_sum": lambda x: ag.cumulative_sum(x, axis=0),
            "cumulative_prod": lambda x: ag.cumulative_prod(x, axis=0), "prod": ag.prod,
            "where": lambda x: ag.where(x > 1, x, x * 2), "clip": lambda x: ag.clip(x, 0.3, 1.7),
            "concat": lambda x: ag.concat([x, x * 2]), "einsum": lambda x: ag.einsum("ij,kj->ik", x, x),
            "norm": ag.norm, "pad": lambda x: ag.pad(x, 1), "logsumexp_columns": lambda x: ag.logsumexp(x.T, axis=1),
            "conv_step": lambda x: ag.relu(x @ x + x[0]), "setitem": setitem,
        }}[name]
        loss = ag.sum(f(x) * 1.0)
        del syncs[:]
        loss.backward()
        waited = bool(syncs)
        host = ag.asarray(x.numpy(), requires_grad=True)
        i = np.asarray([1, 0, 1])
        ag.sum(f(host) * 1.0).backward()
        print(waited, np.allclose(x.grad.numpy(), host.grad.numpy(), rtol=1e-10, atol=1e-10))
    """)
    assert lines == [f"{name in WAITS} True"]


def test_cublas_is_asked_to_compute_in_the_type_that_cupy_was_told():
    assert run("""
        for dtype in "fdFD":
            x = ag.asarray(cupy.asarray(np.ones((2, 3)).astype(dtype)), requires_grad=True)
            for kind in (1, 2, 7):
                compute_types[dtype] = kind
                del products[:]
                y = x @ cupy.asarray(np.ones((3, 4)).astype(dtype))
                print(dtype, kind, [p["compute"] for p in products], [p["algorithm"] for p in products])
    """) == [
        "f 1 [68] [99]", "f 2 [69] [99]", "f 7 [77] [99]",
        "d 1 [70] [99]", "d 2 [71] [99]", "d 7 [70] [99]",
        "F 1 [68] [99]", "F 2 [69] [99]", "F 7 [77] [99]",
        "D 1 [70] [99]", "D 2 [71] [99]", "D 7 [70] [99]",
    ]  # fmt: skip


def test_gradients_of_products_read_transposes_and_make_none():
    assert run("""
        for shape in ((2, 3), (5, 2, 3)):
            x = ag.asarray(cupy.asarray(np.ones(shape)), requires_grad=True)
            w = ag.asarray(cupy.asarray(np.ones((*shape[:-2], 3, 4))), requires_grad=True)
            g = cupy.asarray(np.ones((*shape[:-1], 4)))
            z = x @ w
            del launches[:]
            ag.autograd.grad(z, [x, w], g)
            print(launches)
    """) == ["['gemmEx', 'gemmEx']", "['gemmStridedBatchedEx', 'gemmStridedBatchedEx']"]


def test_triangular_systems_are_solved_as_such():
    assert run("""
        x = ag.asarray(cupy.asarray([[2.0, 0.5], [0.25, 1.5]]), requires_grad=True)
        ag.sum(ag.linalg.cholesky(x @ x.mT)).backward()
        print(calls.count("solve_triangular"))
        ag.sum(ag.linalg.qr(x)[1]).backward()
        print(calls.count("solve_triangular"))
    """) == ["2", "3"]


def test_complex_gradients_are_scattered_by_parts():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0 + 1j, 2.0, 3.0j]), requires_grad=True)
        y = x[cupy.asarray([0, 2, 0])]
        y.backward(cupy.asarray([1.0, 2.0j, 3.0 - 1j]))
        print(x.grad.numpy().tolist(), calls.count("add.at"))
    """) == ["[(4-1j), 0j, 2j] 2"]
