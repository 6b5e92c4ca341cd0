"""A write in place looks at the views that something may have saved, and finds every one of them.

Each program is also run with every write looking at all views (`set_watched(False)`), and compared with NumPy's values
or with a gradient written by hand. See Note [Watched members] in core/value_memory.hpp.
"""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import Function
from arraygrad.autograd.graph import saved_tensors_hooks
from arraygrad.core.write_protection import COUNTS_TELL, members_of, set_watched


@pytest.fixture(params=[True, False], ids=["watched", "all"])
def watched(request):
    before = set_watched(request.param)
    yield request.param
    set_watched(before)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return ag.asarray(x.detach() * x.detach())

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


@ag.primitive
def cube(x):
    return x * x * x


ag.defvjp(cube, lambda ans, x: lambda g: g * 3 * x * x)


def packed(x):
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        return np.sin(x)


KEEPERS = {
    "an input": (np.sin, np.cos),
    "a result": (np.exp, np.exp),
    "two inputs": (lambda x: x * x, lambda x: 2 * x),
    "a list of inputs": (lambda x: ag.einsum("i,i->i", x, x), lambda x: 2 * x),
    "a Function": (Square.apply, lambda x: 2 * x),
    "a primitive": (cube, lambda x: 3 * x * x),
    "a pack hook": (packed, np.cos),
    "a checkpoint": (lambda x: ag.checkpoint(np.sin)(x), np.cos),
}


@pytest.mark.parametrize("keeper", KEEPERS)
@pytest.mark.parametrize("through", ["base", "view", "alias"])
def test_view_that_was_not_saved_at_one_write_is_protected_at_the_next(watched, keeper, through):
    f, slope = KEEPERS[keeper]
    w = ag.tensor(np.array([0.3, 0.7, -0.2, 0.5]), requires_grad=True)
    x = w * 1.0
    view = x[1:3]
    x += 1.0  # nobody saved the view: writes need not look at it any more
    content = np.array([0.7, -0.2]) + 1.0
    y = f(view)
    target = {"base": x, "view": x[:], "alias": x.detach()}[through]
    target *= 3.0
    target[2] = 7.0
    y.sum().backward()
    expected = np.zeros(4)
    expected[1:3] = slope(content)
    np.testing.assert_allclose(w.grad.array, expected, rtol=1e-14)


@pytest.mark.skipif(not COUNTS_TELL, reason="without the GIL every write looks at all views")
def test_write_looks_at_no_view_that_nobody_saved():
    x = ag.tensor(np.zeros(8)) * 1.0
    views = [x[i % 8 :] for i in range(1000)]
    x += 1.0
    assert members_of(x) == (0, 1001)
    views += [x[:1], x[1:]]
    assert members_of(x) == (2, 1003)
    x += 1.0
    assert members_of(x) == (0, 1003)
    del views
    assert members_of(x)[1] == 1


@pytest.mark.skipif(not COUNTS_TELL, reason="without the GIL every write looks at all views")
def test_writes_beside_saved_views_look_at_few_of_them():
    w = ag.tensor(np.ones(4), requires_grad=True)
    x = ag.zeros((200, 4)) * 1.0
    kept = []
    for i in range(199):
        view = x[i + 1]
        view += np.sin(x[i]) * w
        kept.append(x[i])
        assert members_of(x)[0] < 60
    x[199].sum().backward()
    assert np.isfinite(w.grad.array).all()


@pytest.mark.parametrize("seed", range(10))
def test_views_that_go_in_any_order_leave_the_others_in_order(seed):
    rng = np.random.default_rng(seed)
    x = ag.zeros(5) * 1.0
    views = []
    for _ in range(300):
        what = rng.integers(4)
        if what < 2:
            views.append(x[int(rng.integers(5)) :])
        elif what == 2 and views:
            del views[int(rng.integers(len(views)))]
        elif rng.integers(8) == 0:
            x += 1.0
        watched, members = members_of(x)
        assert watched <= members == len(views) + 1


def test_saved_views_beside_many_writes_keep_their_content(watched):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(40, 3))
    x = ag.tensor(start) * 1.0
    w = ag.tensor(rng.normal(size=3), requires_grad=True)
    terms, expected = [], np.zeros(3)
    for i in range(39):
        terms.append((x[i] * w).sum())  # saves x[i], which no write below touches before it is read
        expected += x[i].numpy()
        row = x[i + 1]
        row += x[i].detach()
    x *= 0.0
    sum(terms).backward()
    np.testing.assert_allclose(w.grad.array, expected, rtol=1e-13)


@pytest.mark.parametrize("mode", ["copy", "error"])
@pytest.mark.parametrize("seed", range(20))
def test_random_programs_of_views_and_writes_do_the_same_when_all_views_are_looked_at(seed, mode):
    results = []
    previous = ag.set_saved_mutation(mode)
    before = set_watched(True)
    try:
        for on in (True, False):
            set_watched(on)
            results.append(program(seed))
    finally:
        set_watched(before)
        ag.set_saved_mutation(previous)
    assert results[0] == results[1]


def program(seed):
    """Bytes of the value and the gradient of a random program, or the type of the error that backward raises."""
    rng = np.random.default_rng(seed)
    w = ag.tensor(rng.normal(size=12), requires_grad=True)
    tensors = [w * 1.0]
    total = tensors[0].sum() * 0.0
    for _ in range(60):
        t = tensors[rng.integers(len(tensors))]
        what = rng.integers(6)
        lo = int(rng.integers(t.shape[0]))
        if what == 0:
            tensors.append(t[lo:])
        elif what == 1:
            tensors.append(t.detach())
        elif what == 2:
            total = total + (np.sin(t) * t).sum()
        elif what == 3:
            t *= 0.9
        elif what == 4:
            t[lo] = total * 0.01
        elif len(tensors) > 1:
            del tensors[int(rng.integers(1, len(tensors)))]
        for t in tensors:
            watched, members = members_of(t)
            assert 0 <= watched <= members
            assert members >= 1
    try:
        total.backward()
    except RuntimeError as error:
        return type(error).__name__
    return total.numpy().tobytes() + w.grad.array.tobytes()


def test_arrays_taken_out_of_many_views_are_compared_in_backward():
    w = ag.tensor(np.ones(2), requires_grad=True)
    x = ag.zeros((600, 2)) * 1.0
    views = [x[i] for i in range(600)]
    taken = views[0].array  # so many views stand beside it that they count as given too
    y = (views[599] * w).sum()
    z = (views[300] * w).sum()
    views[599].array[:] = 5.0
    z.backward()  # not written
    np.testing.assert_array_equal(w.grad.array, [0.0, 0.0])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    assert taken.shape == (2,)
