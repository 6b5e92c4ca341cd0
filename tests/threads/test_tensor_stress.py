"""Invariants under stress, on Tensors: random graphs over devices, errors in every kind of callback (INV7).

Graphs lie on array_api_strict's CPU and its two virtual devices; four threads run them at once. What the engine itself
calls back (rules, node hooks, additions, device changes) is in tests/engine/test_engine_stress.py; here it is what
users of Tensors write: Functions, tensor hooks, post-accumulate hooks, pack and unpack, final callbacks, checkpoints,
transfers between devices.
"""

import faulthandler
import gc
import operator
import os
import random
import sys
import threading
import weakref

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import Function, graph
from arraygrad.engine import engine

strict = pytest.importorskip("array_api_strict")

SCALE = int(os.environ.get("ARRAYGRAD_TEST_SCALE", "1"))  # tools/sanitize.sh: slower by so much
RUNS = 1600 // SCALE  # in all
THREADS = 4
WATCHDOG = 240 * SCALE  # seconds until all stacks are printed and the process ends
DEVICES = [strict.Device("CPU_DEVICE"), strict.Device("device1"), strict.Device("device2")]
KINDS = [
    "forward", "backward", "tensor hook", "prehook", "posthook", "post-accumulate", "pack", "unpack",
    "callback", "recompute", "transfer",
]  # fmt: skip


class Fault(Exception):
    """What is raised on purpose."""


class Plan:
    """Which kind of callback raises, once.

    Its turn is an iterator, which nothing compares: callbacks of one run are at it in several threads, and a backward
    that read an attribute which a hook has changed meanwhile would be refused, and rightly.
    """

    def __init__(self, kind):
        self.kind = kind
        self.error = Fault(kind)
        self.turn = iter([True])

    def check(self, kind):
        if kind == self.kind and next(self.turn, False):
            raise self.error

    def has_raised(self):
        return operator.length_hint(self.turn) == 0


class Triple(Function):
    """Three times its argument; both passes may raise."""

    @staticmethod
    def forward(ctx, x, plan):
        plan.check("forward")
        ctx.plan = plan
        return x * 3.0

    @staticmethod
    def backward(ctx, g):
        ctx.plan.check("backward")
        return g * 3.0, None


class Moved(Function):
    """A copy on another device."""

    @staticmethod
    def forward(ctx, x, device, plan):
        ctx.device_before = x.device
        ctx.plan = plan
        return x.to_device(device)

    @staticmethod
    def backward(ctx, g):
        ctx.plan.check("transfer")
        return g.to_device(ctx.device_before), None, None


def build(rng, plan, leaves):
    """A loss of the leaves, with one of each kind of callback somewhere in it, and the gradients it should give."""
    factors = [1.0] * len(leaves)
    terms = []

    def pack(t):
        plan.check("pack")
        return t

    def unpack(t):
        plan.check("unpack")
        return t

    for k, leaf in enumerate(leaves):
        y = Triple.apply(leaf, plan)
        factors[k] *= 3.0
        with graph.saved_tensors_hooks(pack, unpack):
            c = ag.asarray(strict.asarray([2.0] * 3, device=leaf.device))
            y = y * c
            factors[k] *= 2.0

        def again(t):
            if engine.current_graph_task_id() >= 0:
                plan.check("recompute")
            return t * ag.asarray(strict.asarray([5.0] * 3, device=t.device)) + 1.0

        if rng.random() < 0.5:
            y = ag.checkpoint(again)(y)
        else:
            y = again(y)
        factors[k] *= 5.0
        y.register_hook(lambda g: plan.check("tensor hook"))
        if rng.random() < 0.5:
            y.retain_grad()
        y.grad_fn.register_prehook(lambda grads: plan.check("prehook"))
        y.grad_fn.register_hook(lambda gi, go: plan.check("posthook"))
        device = rng.choice(DEVICES)
        y = Moved.apply(y, device, plan)
        weight = float(rng.randint(1, 4))
        factors[k] *= weight
        terms.append((y * weight).to_device(DEVICES[0]))
    total = terms[0]
    for term in terms[1:]:
        total = total + term

    def with_callback(g):
        graph.queue_callback(lambda: plan.check("callback"))

    total.register_hook(with_callback)
    return total.sum(), factors


def campaign(seed, runs, counts, watched):
    rng = random.Random(seed)
    for _ in range(runs):
        plan = Plan(rng.choice([*KINDS, None]))
        leaves = [
            ag.asarray(strict.asarray([1.0, 2.0, 3.0], device=rng.choice(DEVICES)), requires_grad=True)
            for _ in range(rng.randint(1, 3))
        ]
        for leaf in leaves:
            leaf.register_post_accumulate_grad_hook(lambda t, plan=plan: plan.check("post-accumulate"))
            watched.append(weakref.ref(leaf))
        modes = ag.is_grad_enabled(), engine.current_graph_task_id(), engine.current_node()
        error = None
        try:
            loss, factors = build(rng, plan, leaves)
            loss.backward()
        except Exception as raised:
            error = raised
        assert (ag.is_grad_enabled(), engine.current_graph_task_id(), engine.current_node()) == modes
        assert engine.queued_tasks() == 0
        if error is None:
            assert not plan.has_raised()
            for leaf, factor in zip(leaves, factors, strict=True):
                np.testing.assert_array_equal(leaf.grad.numpy(), [factor] * 3)
        else:
            assert error is plan.error
            counts[plan.kind] = counts.get(plan.kind, 0) + 1
            error.__traceback__ = None
        counts["runs"] = counts.get("runs", 0) + 1
        # A run after the error, on the same leaves, is good.
        for leaf in leaves:
            leaf.grad = None
        next(plan.turn, None)
        loss, factors = build(rng, plan, leaves)
        loss.backward()
        for leaf, factor in zip(leaves, factors, strict=True):
            np.testing.assert_array_equal(leaf.grad.numpy(), [factor] * 3)
        del loss, error


@pytest.mark.timeout(WATCHDOG + 60)
def test_INV7_an_error_in_any_callback_has_the_same_effect_and_loses_nothing():
    faulthandler.dump_traceback_later(WATCHDOG, exit=True, file=sys.__stderr__)
    counts = [{} for _ in range(THREADS)]
    watched = [[] for _ in range(THREADS)]
    errors = []

    def work(i):
        try:
            campaign(i, RUNS // (2 * THREADS), counts[i], watched[i])
        except BaseException as error:
            errors.append(error)

    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        faulthandler.cancel_dump_traceback_later()
    if errors:
        raise errors[0]
    assert sum(c["runs"] for c in counts) == RUNS // 2
    assert set().union(*counts) - {"runs", None} == set(KINDS)
    # Device threads may hold their last node for a moment longer: give each one more to do.
    for device in DEVICES[1:]:
        x = ag.asarray(strict.asarray([1.0], device=device), requires_grad=True)
        (x * 1.0).sum().backward()
    gc.collect()
    assert [ref for refs in watched for ref in refs if ref() is not None] == []


def test_ER5_the_call_waits_for_a_node_that_still_runs_elsewhere():
    ended = []
    failed, started = threading.Event(), threading.Event()

    class Slow(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            started.set()
            assert failed.wait(60)
            for _ in range(200):
                threading.Event().wait(0.001)
            ended.append(True)
            return g

    x = ag.asarray(strict.asarray([1.0], device=DEVICES[1]), requires_grad=True)
    z = ag.asarray(strict.asarray([1.0]), requires_grad=True)

    def fail(g):
        assert started.wait(60)
        failed.set()
        raise ValueError("on the host")

    bad = z * 1.0
    bad.register_hook(fail)
    with pytest.raises(ValueError, match="on the host"):
        ag.autograd.backward([Slow.apply(x).sum(), bad.sum()])
    assert ended == [True]
