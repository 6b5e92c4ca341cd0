"""GM1, GM3: no_grad, enable_grad, set_grad_enabled as context managers and decorators."""

import asyncio
import functools
import inspect
import threading

import pytest

import arraygrad as ag


@pytest.fixture(autouse=True)
def _recording_is_on_before_and_after():
    assert ag.is_grad_enabled()
    yield
    assert ag.is_grad_enabled()


def test_no_grad_switches_recording_off_in_its_block():
    with ag.no_grad():
        assert not ag.is_grad_enabled()
    assert ag.is_grad_enabled()


def test_enable_grad_switches_recording_on_within_no_grad():
    with ag.no_grad(), ag.enable_grad():
        assert ag.is_grad_enabled()


def test_mode_comes_back_after_an_exception():
    with pytest.raises(KeyError), ag.no_grad():
        raise KeyError
    assert ag.is_grad_enabled()


def test_one_object_can_be_entered_again_within_itself():
    mode = ag.no_grad()
    with mode:
        with mode:
            pass
        assert not ag.is_grad_enabled()
    assert ag.is_grad_enabled()


def test_set_grad_enabled_acts_at_once():
    ag.set_grad_enabled(False)
    assert not ag.is_grad_enabled()
    ag.set_grad_enabled(True)
    assert ag.is_grad_enabled()


def test_set_grad_enabled_restores_after_its_block():
    with ag.set_grad_enabled(False):
        assert not ag.is_grad_enabled()
    assert ag.is_grad_enabled()


def test_set_grad_enabled_restores_the_mode_before_the_call_that_made_it():
    mode = ag.set_grad_enabled(False)
    with mode:
        assert not ag.is_grad_enabled()
    assert ag.is_grad_enabled()


def test_set_grad_enabled_as_decorator_acts_on_calls_only():
    @ag.set_grad_enabled(False)
    def mode():
        return ag.is_grad_enabled()

    assert ag.is_grad_enabled()
    assert not mode()


def test_set_grad_enabled_refuses_what_is_no_bool():
    with pytest.raises(TypeError, match="mode must be True or False, got function"):
        ag.set_grad_enabled(lambda: None)


@pytest.mark.parametrize("decorator", [ag.no_grad, ag.no_grad()], ids=["bare", "with parentheses"])
def test_decorated_function_runs_without_recording(decorator):
    @decorator
    def mode():
        """Doc."""
        return ag.is_grad_enabled()

    assert not mode()
    assert (mode.__name__, mode.__doc__) == ("mode", "Doc.")


def test_decorated_method_gets_its_instance():
    class Model:
        @ag.no_grad
        def mode(self, value):
            return ag.is_grad_enabled(), value

    assert Model().mode(3) == (False, 3)


def test_decorated_recursive_function_keeps_the_mode():
    @ag.no_grad
    def depth(n):
        return [ag.is_grad_enabled(), *(depth(n - 1) if n else [])]

    assert depth(3) == [False] * 4


def test_decorated_function_restores_the_mode_after_an_exception():
    @ag.no_grad
    def fail():
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert ag.is_grad_enabled()


def test_decorated_partial_works():
    assert not ag.no_grad(functools.partial(ag.is_grad_enabled))()


def test_decorating_something_that_is_no_function_raises():
    with pytest.raises(TypeError, match="decorates functions, got int"):
        ag.no_grad(3)


def test_decorating_a_class_warns():
    class Thing:
        def __init__(self):
            self.mode = ag.is_grad_enabled()

    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        decorated = ag.no_grad()(Thing)
    assert isinstance(decorated(), Thing)
    assert not decorated().mode


# Generators


def test_generator_has_the_mode_and_its_caller_does_not():
    @ag.no_grad
    def modes():
        yield ag.is_grad_enabled()
        yield ag.is_grad_enabled()

    for inside in modes():
        assert not inside
        assert ag.is_grad_enabled()


def test_generator_receives_what_is_sent_and_thrown_and_returns():
    @ag.no_grad()
    def talk():
        got = yield "first"
        assert not ag.is_grad_enabled()
        try:
            yield got
        except KeyError:
            yield ag.is_grad_enabled()
        return "done"

    generator = talk()
    assert next(generator) == "first"
    assert generator.send("sent") == "sent"
    assert generator.throw(KeyError()) is False
    assert ag.is_grad_enabled()
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "done"


def test_generator_cleans_up_in_the_mode_when_closed():
    seen = []

    @ag.no_grad
    def cleanup():
        try:
            yield
        finally:
            seen.append(ag.is_grad_enabled())

    generator = cleanup()
    next(generator)
    generator.close()
    assert seen == [False]


def test_generator_keeps_a_mode_it_was_suspended_in_to_itself():
    @ag.enable_grad
    def modes():
        with ag.no_grad():
            yield ag.is_grad_enabled()

    generator = modes()
    assert next(generator) is False
    assert ag.is_grad_enabled()
    generator.close()


# Coroutines and asynchronous generators


def test_coroutine_has_the_mode_and_others_in_the_loop_do_not():
    seen = {"inside": [], "outside": []}

    @ag.no_grad
    async def inside():
        for _ in range(3):
            seen["inside"].append(ag.is_grad_enabled())
            await asyncio.sleep(0)
        return "result"

    async def outside():
        for _ in range(3):
            seen["outside"].append(ag.is_grad_enabled())
            await asyncio.sleep(0)

    async def both():
        return await asyncio.gather(inside(), outside())

    assert asyncio.run(both())[0] == "result"
    assert seen == {"inside": [False] * 3, "outside": [True] * 3}


def test_decorated_coroutine_is_still_a_coroutine_function():
    @ag.no_grad
    async def work():
        return None

    assert inspect.iscoroutinefunction(work)
    work().close()


def test_coroutine_sees_exceptions_in_the_mode():
    async def fail():
        await asyncio.sleep(0)
        raise KeyError

    @ag.no_grad
    async def work():
        try:
            await fail()
        except KeyError:
            return ag.is_grad_enabled()

    assert asyncio.run(work()) is False


def test_asynchronous_generator_has_the_mode_and_its_caller_does_not():
    @ag.no_grad()
    async def modes():
        got = yield ag.is_grad_enabled()
        await asyncio.sleep(0)
        try:
            yield ag.is_grad_enabled(), got
        except KeyError:
            yield "caught"

    async def main():
        generator = modes()
        assert await generator.asend(None) is False
        assert ag.is_grad_enabled()
        assert await generator.asend("sent") == (False, "sent")
        assert await generator.athrow(KeyError()) == "caught"
        assert [item async for item in generator] == []

    asyncio.run(main())


def test_asynchronous_generator_cleans_up_in_the_mode_when_closed():
    seen = []

    @ag.no_grad
    async def cleanup():
        try:
            yield
        finally:
            seen.append(ag.is_grad_enabled())

    async def main():
        generator = cleanup()
        await generator.asend(None)
        await generator.aclose()

    asyncio.run(main())
    assert seen == [False]


# Effects


def test_new_thread_starts_with_recording_on():
    seen = []
    with ag.no_grad():
        thread = threading.Thread(target=lambda: seen.append(ag.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_results_under_no_grad_do_not_require_grad():
    x = ag.tensor([1.0], requires_grad=True)
    with ag.no_grad():
        y = x * 2.0
    assert not y.requires_grad
    assert y.grad_fn is None


def test_new_leaves_under_no_grad_may_require_grad():
    with ag.no_grad():
        assert ag.tensor([1.0], requires_grad=True).requires_grad


def test_backward_under_no_grad_works():
    x = ag.tensor([3.0], requires_grad=True)
    y = (x * x).sum()
    with ag.no_grad():
        y.backward()
    assert x.grad.tolist() == [6.0]
