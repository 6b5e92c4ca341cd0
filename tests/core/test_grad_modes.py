"""no_grad, enable_grad, set_grad_enabled (GM1), the mode inside backward (GM2), forwards without it (GM3)."""

import asyncio
import threading

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag


@pytest.fixture(params=[False, True], ids=["outside enabled", "outside disabled"])
def outer(request):
    """The mode around the test; restored in any case."""
    with ag.set_grad_enabled(not request.param):
        yield not request.param
        assert ag.is_grad_enabled() is (not request.param)


CONTEXTS = [
    (lambda: ag.no_grad(), False),
    (lambda: ag.enable_grad(), True),
    (lambda: ag.set_grad_enabled(False), False),
    (lambda: ag.set_grad_enabled(True), True),
]
IDS = ["no_grad", "enable_grad", "set false", "set true"]


@pytest.mark.parametrize(("make", "inside"), CONTEXTS, ids=IDS)
def test_GM1_context_managers_set_and_restore(outer, make, inside):
    with make():
        assert ag.is_grad_enabled() is inside
    assert ag.is_grad_enabled() is outer


@pytest.mark.parametrize(("make", "inside"), CONTEXTS, ids=IDS)
def test_GM1_context_managers_restore_after_an_exception(outer, make, inside):
    with pytest.raises(KeyError), make():
        raise KeyError
    assert ag.is_grad_enabled() is outer


def test_GM1_context_managers_nest(outer):
    with ag.no_grad():
        with ag.enable_grad():
            assert ag.is_grad_enabled()
            with ag.no_grad():
                assert not ag.is_grad_enabled()
            assert ag.is_grad_enabled()
        assert not ag.is_grad_enabled()


def test_GM1_one_object_may_be_entered_again(outer):
    mode = ag.no_grad()
    with mode, mode:
        assert not ag.is_grad_enabled()
    with mode:
        assert not ag.is_grad_enabled()
    assert ag.is_grad_enabled() is outer


@pytest.mark.parametrize(("make", "inside"), CONTEXTS, ids=IDS)
def test_GM1_decorated_functions_run_in_the_mode(outer, make, inside):
    @make()
    def f(a, *, b):
        """The docstring."""
        return ag.is_grad_enabled(), a, b

    assert f(1, b=2) == (inside, 1, 2)
    assert ag.is_grad_enabled() is outer
    assert f.__name__ == "f"
    assert f.__doc__ == "The docstring."


@pytest.mark.parametrize(("decorator", "inside"), [(ag.no_grad, False), (ag.enable_grad, True)], ids=["no", "enable"])
def test_GM1_decorators_work_without_parentheses(outer, decorator, inside):
    @decorator
    def f():
        return ag.is_grad_enabled()

    assert f() is inside


def test_GM1_decorated_functions_may_recurse(outer):
    @ag.no_grad
    def f(n):
        return [ag.is_grad_enabled()] + (f(n - 1) if n else [])

    assert f(3) == [False] * 4


@pytest.mark.parametrize(("make", "inside"), CONTEXTS, ids=IDS)
def test_GM1_generators_have_the_mode_between_suspensions_only(outer, make, inside):
    @make()
    def gen():
        seen = []
        for i in range(3):
            seen.append(ag.is_grad_enabled())
            got = yield i
            seen.append(got)
        return seen

    g = gen()
    assert next(g) == 0
    assert ag.is_grad_enabled() is outer
    assert g.send("a") == 1
    assert ag.is_grad_enabled() is outer
    assert g.send("b") == 2
    with pytest.raises(StopIteration) as stop:
        g.send("c")
    assert stop.value.value == [inside, "a", inside, "b", inside, "c"]


def test_GM1_exceptions_thrown_into_a_generator_arrive_in_the_mode(outer):
    seen = []

    @ag.no_grad()
    def gen():
        try:
            yield 1
        except KeyError:
            seen.append(ag.is_grad_enabled())
            yield 2
        finally:
            seen.append(ag.is_grad_enabled())

    g = gen()
    next(g)
    assert g.throw(KeyError()) == 2
    g.close()
    assert seen == [False, False]
    assert ag.is_grad_enabled() is outer


@pytest.mark.parametrize(("make", "inside"), CONTEXTS, ids=IDS)
def test_GM1_coroutines_have_the_mode_between_suspensions_only(make, inside):
    seen = []

    async def outside():
        for _ in range(3):
            seen.append(("outside", ag.is_grad_enabled()))
            await asyncio.sleep(0)

    @make()
    async def work():
        for _ in range(3):
            seen.append(("inside", ag.is_grad_enabled()))
            await asyncio.sleep(0)
        return "done"

    async def main():
        result, _ = await asyncio.gather(work(), outside())
        return result

    assert asyncio.run(main()) == "done"
    assert set(seen) == {("inside", inside), ("outside", True)}
    assert ag.is_grad_enabled()


def test_GM1_set_grad_enabled_acts_at_once():
    ag.set_grad_enabled(False)
    try:
        assert not ag.is_grad_enabled()
        ag.set_grad_enabled(True)
        assert ag.is_grad_enabled()
    finally:
        ag.set_grad_enabled(True)


def test_GM1_decorating_a_class_warns():
    with pytest.warns(FutureWarning, match="^Decorating classes is deprecated"):

        @ag.no_grad()
        class C:
            pass

    assert C is not None


def test_GM1_new_threads_start_enabled_and_keep_their_mode_to_themselves():
    seen = []

    def work():
        seen.append(ag.is_grad_enabled())
        ag.set_grad_enabled(False)
        seen.append(ag.is_grad_enabled())

    with ag.no_grad():
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        assert not ag.is_grad_enabled()
    assert seen == [True, False]
    assert ag.is_grad_enabled()


@pytest.mark.parametrize("create_graph", [False, True])
def test_GM2_the_mode_in_backward_is_create_graph(outer, create_graph):
    seen = []
    with ag.enable_grad():
        x = leaf(2.0)
        y = x * x

    def look(*args):
        seen.append(ag.is_grad_enabled())

    x.register_hook(look)
    y.register_hook(look)
    y.grad_fn.register_prehook(look)
    y.grad_fn.register_hook(look)
    y.register_hook(lambda g: ag.autograd.graph.queue_callback(look) or None)
    if create_graph:
        ag.autograd.grad(y, x, create_graph=True)
    else:
        y.backward()
    assert seen == [create_graph] * 5
    assert ag.is_grad_enabled() is outer


def test_GM2_post_accumulate_hooks_run_in_the_mode_too():
    seen = []
    x = leaf(2.0)
    x.register_post_accumulate_grad_hook(lambda t: seen.append(ag.is_grad_enabled()))
    (x * x).backward()
    assert seen == [False]


def test_GM2_a_hook_may_change_the_mode_for_itself():
    seen = []
    x = leaf(2.0)

    def hook(g):
        with ag.enable_grad():
            z = x * x
            seen.append(z.requires_grad)

    x.register_hook(hook)
    (x * 3.0).backward()
    assert seen == [True]


def test_GM2_a_mode_left_set_by_a_hook_does_not_leak():
    seen = []
    x = leaf(2.0)
    y = x * 3.0
    y.register_hook(lambda g: ag.set_grad_enabled(True) and None)
    x.register_hook(lambda g: seen.append(ag.is_grad_enabled()))
    with ag.no_grad():
        y.backward()
        assert not ag.is_grad_enabled()
    assert seen == [False]


def test_GM2_backward_under_no_grad_works():
    x = leaf(2.0)
    y = x * x
    with ag.no_grad():
        y.backward()
    same(x.grad, 4.0)


def test_GM2_create_graph_under_no_grad_records():
    x = leaf(2.0)
    y = x * x * x
    with ag.no_grad():
        (g,) = ag.autograd.grad(y, x, create_graph=True)
    assert g.requires_grad
    same(ag.autograd.grad(g, x)[0], 12.0)


def test_GM3_a_forward_under_no_grad_is_not_recorded():
    x = leaf([1.0, 2.0])
    with ag.no_grad():
        for y in (x * 2.0, ag.exp(x), x.sum(), x[0], x.reshape((2, 1)), np.sin(x), ag.concat([x, x])):
            assert not y.requires_grad
            assert y.grad_fn is None
            assert y.is_leaf


def test_GM3_factories_with_requires_grad_are_unaffected():
    with ag.no_grad():
        assert ag.tensor([1.0], requires_grad=True).requires_grad
        assert ag.asarray(np.ones(2), requires_grad=True).requires_grad


def test_GM3_a_view_under_no_grad_is_no_part_of_the_graph():
    x = leaf([1.0, 2.0])
    with ag.no_grad():
        v = x[:1]
    y = v * 3.0
    assert not y.requires_grad


def test_GM3_nothing_is_saved_under_no_grad():
    import weakref

    x = leaf([1.0, 2.0])
    with ag.no_grad():
        y = ag.exp(x)
        z = ag.exp(y)
    alive = weakref.ref(y.array)
    del y
    assert alive() is None
    assert z is not None
