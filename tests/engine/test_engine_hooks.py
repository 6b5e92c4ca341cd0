"""Node hooks on plain floats: order (CF), what they get and may return (HK4)."""

import gc
import weakref

import pytest
from engine_fakes import FLOAT, capture, node, run, sink


def test_CF1_prehooks_then_the_node_then_posthooks():
    log = []
    top = node("top", [sink("end", log=log)], log=log)
    top.register_hook(lambda grads, outputs: log.append("post 1"))
    top.register_prehook(lambda outputs: log.append("pre 1"))
    top.register_hook(lambda grads, outputs: log.append("post 2"))
    top.register_prehook(lambda outputs: log.append("pre 2"))
    run([top], [1.0])
    assert log == ["pre 1", "pre 2", "top", "post 1", "post 2", "end"]


def test_CF1_saved_values_are_there_for_the_node_and_gone_after_it():
    log = []
    top = node("top", [sink("end", log=log)], log=log, release=lambda: log.append("release"))
    top.register_prehook(lambda outputs: log.append("pre"))
    run([top], [1.0])
    assert log == ["pre", "top", "release", "end"]


def test_CF3_posthooks_get_grad_inputs_and_grad_outputs():
    seen = []
    top = node("top", [sink(), sink()], fn=lambda a, b: (a + b, a * b), metas=(FLOAT, FLOAT))
    top.register_hook(lambda grads, outputs: seen.append((grads, outputs)))
    feed = node("feed", [(top, 0), (top, 1)], fn=lambda g: (3.0, 4.0))
    run([feed], [1.0])
    assert seen == [((7.0, 12.0), (3.0, 4.0))]


def test_CF3_posthooks_get_what_prehooks_made_of_the_gradient():
    seen = []
    top = node("top", [sink()], fn=lambda g: 2 * g)
    top.register_prehook(lambda outputs: (10 * outputs[0],))
    top.register_hook(lambda grads, outputs: seen.append((grads, outputs)))
    run([top], [1.0])
    assert seen == [((20.0,), (10.0,))]


def test_CF3_a_posthook_registered_while_the_node_runs_gets_no_grad_outputs():
    seen = []

    def register(g):
        top.register_hook(lambda grads, outputs: seen.append((grads, outputs)))
        return g

    top = node("top", [sink()], fn=register)
    run([top], [1.0])
    assert seen == [((1.0,), ())]


def test_CF3_a_node_without_edges_has_no_grad_inputs():
    seen = []
    end = sink()
    end.register_hook(lambda grads, outputs: seen.append((grads, outputs)))
    run([end], [2.0])
    assert seen == [((), (2.0,))]


def test_CF5_posthooks_see_gradients_that_match_the_target():
    seen = []
    top = node("top", [sink()], fn=lambda g: 3)  # an int for a float input
    top.register_hook(lambda grads, outputs: seen.append(type(grads[0])))
    run([top], [1.0])
    assert seen == [float]


def test_CF5_what_posthooks_return_goes_on():
    got = []
    top = node("top", [sink(store=got), sink(store=got)])
    top.register_hook(lambda grads, outputs: (grads[0] * 2, grads[1]))
    top.register_hook(lambda grads, outputs: (grads[0] * 5, grads[1] * 7))
    run([top], [1.0])
    assert sorted(got) == [7.0, 10.0]


def test_HK4_prehooks_may_replace_the_gradients():
    got = []
    top = node("top", [sink(store=got)])
    top.register_prehook(lambda outputs: (outputs[0] * 3,))
    top.register_prehook(lambda outputs: (outputs[0] + 1,))
    run([top], [1.0])
    assert got == [4.0]


def test_HK4_a_prehook_that_returns_none_changes_nothing():
    got = []
    top = node("top", [sink(store=got)])
    top.register_prehook(lambda outputs: None)
    run([top], [1.0])
    assert got == [1.0]


def test_HK4_a_prehook_may_make_a_gradient_undefined():
    got = []
    top = node("top", [], fn=lambda g: got.append(g) or ())
    top.register_prehook(lambda outputs: (None,))
    run([top], [1.0])
    assert got == [None]


def test_HK4_a_posthook_may_make_a_gradient_undefined():
    got = []
    top = node("top", [sink(store=got)])
    top.register_hook(lambda grads, outputs: (None,))
    run([top], [1.0])
    assert got == [None]


def test_HK4_undefined_gradients_are_shown_as_none():
    seen = []
    top = node("top", [sink()], fn=lambda a, b: None, metas=(FLOAT, FLOAT))
    top.register_prehook(lambda outputs: seen.append(outputs))
    top.register_hook(lambda grads, outputs: seen.append((grads, outputs)))
    run([(top, 1)], [1.0])
    assert seen == [(None, 1.0), ((None,), (None, 1.0))]


@pytest.mark.parametrize("kind", ["register_prehook", "register_hook"])
def test_HK4_a_hook_must_return_a_tuple(kind):
    top = node("top", [sink()])
    getattr(top, kind)(lambda *grads: 1.0)
    with pytest.raises(TypeError, match="expected tuple, but hook returned 'float'"):
        run([top], [1.0])


@pytest.mark.parametrize("kind", ["register_prehook", "register_hook"])
def test_HK4_a_hook_must_return_as_many_values_as_it_got(kind):
    def doubles(*grads):
        return (1.0, 1.0)

    top = node("top", [sink()])
    getattr(top, kind)(doubles)
    with pytest.raises(
        RuntimeError, match=r"hook 'doubles' has returned an incorrect number of values \(got 2, but expected 1\)"
    ):
        run([top], [1.0])


@pytest.mark.parametrize("kind", ["register_prehook", "register_hook"])
def test_HK4_a_hook_cannot_replace_an_undefined_gradient(kind):
    top = node("top", [sink()], fn=lambda a, b: None, metas=(FLOAT, FLOAT))
    getattr(top, kind)(lambda *grads: tuple(1.0 for _ in grads[0]))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        run([(top, 1)], [1.0])


def test_HK4_a_handle_removes_its_hook_and_only_that():
    log = []
    top = node("top", [sink()])
    first = top.register_prehook(lambda outputs: log.append("first"))
    top.register_prehook(lambda outputs: log.append("second"))
    post = top.register_hook(lambda grads, outputs: log.append("post"))
    first.remove()
    post.remove()
    first.remove()  # the second time nothing happens
    run([top], [1.0])
    assert log == ["second"]


def test_HK4_a_handle_is_a_context_manager():
    log = []
    top = node("top", [sink()])
    with top.register_prehook(lambda outputs: log.append("pre")):
        run([top], [1.0], keep_graph=True)
    run([top], [1.0])
    assert log == ["pre"]


def test_HK4_a_hook_may_remove_itself():
    log = []
    top = node("top", [sink()])

    def once(outputs):
        log.append("once")
        handle.remove()

    handle = top.register_prehook(once)
    top.register_prehook(lambda outputs: log.append("always"))
    for _ in range(2):
        run([top], [1.0], keep_graph=True)
    assert log == ["once", "always", "always"]


def test_HK4_hooks_of_a_node_that_does_not_run_are_not_called():
    log = []
    left, right = sink("left"), sink("right")
    a, b = node("a", [left]), node("b", [right])
    for n in (a, left):
        n.register_prehook(lambda outputs: log.append("pre"))
        n.register_hook(lambda grads, outputs: log.append("post"))
    capture([node("top", [a, b])], [1.0], [right])
    assert log == []


def test_HK4_a_hook_added_during_backward_to_a_later_node_is_honoured():
    got = []
    end = sink(store=got)
    mid = node("mid", [end])
    top = node("top", [mid])
    top.register_hook(lambda grads, outputs: mid.register_prehook(lambda outputs: (outputs[0] * 5,)) and None)
    run([top], [1.0])
    assert got == [5.0]


def test_HK4_hooks_may_run_a_backward_of_their_own():
    got = []
    other = node("other", [sink(store=got)])
    top = node("top", [sink(store=got)])
    top.register_prehook(lambda outputs: run([other], [7.0]) or None)
    run([top], [1.0])
    assert got == [7.0, 1.0]


def test_hooks_die_with_their_node():
    class Held:
        pass

    held = Held()
    alive = weakref.ref(held)
    top = node("top", [sink()])
    top.register_prehook(lambda outputs, held=held: None)
    del held, top
    assert alive() is None


def test_a_cycle_through_a_hook_is_collected():
    top = node("top", [sink()])
    top.register_prehook(lambda outputs, top=top: None)
    alive = weakref.ref(top)
    del top
    gc.collect()
    assert alive() is None
