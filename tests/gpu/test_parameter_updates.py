"""`autograd.add_scaled` over CuPy: the values of as many statements in place, by one launch where it can be one.

Imports the public names of arraygrad and the CuPy backend's switches. Runs on a device, and on the stand-in by
test_device_tests.py.
"""

import numpy as np
import pytest

import arraygrad as ag

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng(11)
SHAPES = [(5,), (3, 4), (1,), (), (2, 0), (700, 3), (2, 2, 2)]


def made(cupy, shapes, dtype="float64"):
    """(Tensors over CuPy that require grad, the same over NumPy) of random numbers."""
    values = [RNG.normal(size=shape).astype(dtype) for shape in shapes]
    return (
        [ag.asarray(cupy.asarray(v), requires_grad=True) for v in values],
        [ag.asarray(v.copy(), requires_grad=True) for v in values],
    )


def statements(targets, terms, factor):
    """What add_scaled has to do."""
    with ag.no_grad():
        for target, term in zip(targets, terms, strict=True):
            if term is not None:
                target += factor * term


def compare(found, wanted, dtype="float64"):
    for a, b in zip(found, wanted, strict=True):
        assert (a.dtype, a.shape, a.version) == (b.dtype, b.shape, b.version)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5 if dtype == "float32" else 1e-13, atol=1e-6)


@pytest.mark.parametrize("factor", [-0.1, 2, np.float32(0.5)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_values_and_versions_are_those_of_statements(cupy, switches, dtype, factor):
    for step in (None, *reversed(switches)):
        if step is not None:
            step(False)
        (ours, numpys), (terms, numpy_terms) = made(cupy, SHAPES, dtype), made(cupy, SHAPES, dtype)
        terms[1] = numpy_terms[1] = None
        ag.autograd.add_scaled(ours, terms, factor)
        statements(numpys, numpy_terms, float(factor))
        if dtype == "float16":
            for a, b in zip(ours, numpys, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-2, atol=1e-2)
        else:
            compare(ours, numpys, dtype)


# Pairs of targets and terms over three vectors of six numbers, of which some share memory.
PAIRS = {
    "a target twice": lambda p, q, r: ([p, p, q], [q, r, p]),
    "a target that is the term of another": lambda p, q, r: ([p, q, r], [q, r, p]),
    "its own term": lambda p, q, r: ([p, q], [p, q]),
    "views of one memory": lambda p, q, r: ([p[:4], p[2:], q[:3]], [q[:4], r[2:], p[:3]]),
    "its own neighbours": lambda p, q, r: ([p[:5], q[1:]], [p[1:], q[:5]]),
    "with gaps": lambda p, q, r: ([p, q[::2], r[::-1], p], [r, p[::2], q, q]),
    "spread": lambda p, q, r: ([p, q, r], [q[:1], r[0], p]),
    "numbers": lambda p, q, r: ([p, q, r], [2.0, p, np.float64(0.5)]),
}


@pytest.mark.parametrize("pairs", PAIRS)
def test_what_shares_memory_is_updated_in_order(cupy, switches, pairs):
    ours, numpys = made(cupy, [(6,)] * 3)
    with ag.no_grad():
        ag.autograd.add_scaled(*PAIRS[pairs](*ours), -0.5)
        statements(*PAIRS[pairs](*numpys), -0.5)
    for a, b in zip(ours, numpys, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13)


def test_more_arrays_than_a_launch_takes_and_two_dtypes(cupy, switches):
    shapes = [(k % 7 + 1, 3) for k in range(75)]
    (ours, numpys), (terms, numpy_terms) = made(cupy, shapes), made(cupy, shapes)
    (more, numpy_more), (others, numpy_others) = made(cupy, shapes[:3], "float32"), made(cupy, shapes[:3], "float32")
    ag.autograd.add_scaled([*more, *ours], [*others, *terms], 0.25)
    statements([*numpy_more, *numpys], [*numpy_others, *numpy_terms], 0.25)
    compare(ours, numpys)
    compare(more, numpy_more, "float32")


def test_what_a_node_has_saved_stays(cupy, switches):
    ours, numpys = made(cupy, [(4,), (2, 3)])
    for tensors in (ours, numpys):
        loss = ag.sum(tensors[0] ** 3) + ag.sum(tensors[1] * tensors[1])
        ag.autograd.add_scaled(tensors, [t.detach() for t in tensors], 1.0)
        loss.backward()
    for a, b in zip(ours, numpys, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-13)


def test_hooks_on_operations_see_each_of_them(cupy, switches):
    (p, q), _ = made(cupy, [(4,), (2, 3)])
    seen = []
    terms = [p.detach() * 1.0, q.detach() * 1.0]
    with ag.autograd.graph.op_hooks(lambda name, args: seen.append(name)):
        ag.autograd.add_scaled([p, q], terms, 0.5)
    assert seen.count("multiply") == seen.count("add") == 2


def test_all_parameters_are_one_launch_without_memory(cupy, switches):
    host_cuda = pytest.importorskip("host_cuda")
    (ours, _), (terms, _) = made(cupy, SHAPES[:4] * 7, "float32"), made(cupy, SHAPES[:4] * 7, "float32")

    def counted(update):
        update(ours, terms, -0.1)
        cupy.cuda.Device().synchronize()
        cupy.get_default_memory_pool().free_all_blocks()
        host_cuda.reset_counters()
        update(ours, terms, -0.1)
        found = host_cuda.counters()
        return found.get("launch", 0), found.get("malloc", 0), found.get("on_device", 0)

    assert counted(ag.autograd.add_scaled) == (1, 0, 0)
    assert counted(statements)[0] == 2 * len(ours)
    switches[1](False)
    assert counted(ag.autograd.add_scaled)[0] > 1


def test_an_update_in_a_captured_step_runs_at_each_launch(cupy, switches):
    if "stand-in" in cupy.__version__:
        pytest.skip("the stand-in's graphs run nothing")
    (p,), (numpy_p,) = made(cupy, [(4,)])
    g = ag.asarray(cupy.ones(4))
    ag.autograd.add_scaled([p], [g], 1.0)
    with ag.cupy.capture() as graph:
        ag.autograd.add_scaled([p], [g], 1.0)
    graph.launch()
    graph.launch()
    cupy.cuda.Device().synchronize()
    np.testing.assert_allclose(p.numpy(), numpy_p.numpy() + 3.0, rtol=1e-13)
