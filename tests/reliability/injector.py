"""Faults on purpose: what each kind of fault is made of, the campaign over them, and what must hold after each.

A *kind* is a function `strike(n)` that runs one program in which the n-th occasion of that kind fails, checks what
docs/reliability.md promises of `.grad`, and returns (whether there was an n-th occasion, objects that must be gone once
nobody holds them). The modules `faults_*` register theirs. AssertionError is raised where a promise does not hold.

Imports of arraygrad: the public face, engine.engine, engine.node.
"""

import gc
import random
import sys
import weakref
from collections import Counter

import numpy as np

import arraygrad as ag
from arraygrad.engine import engine
from arraygrad.engine.node import live_counts

__all__ = ["KINDS", "Injected", "Injector", "campaign", "check_usable", "check_whole", "kind", "strike"]

KINDS = {}  # name -> strike(n)


class Injected(Exception):
    """The fault. It is of no type that the engine or NumPy would raise."""


class Injector:
    """Counts occasions of each kind and raises at the n-th (from 0) of one."""

    def __init__(self, kind=None, n=0, error=Injected):
        self.kind = kind
        self.n = n
        self.error = error
        self.seen = Counter()
        self.fired = False

    def __call__(self, kind):
        """An occasion of `kind` comes by."""
        number = self.seen[kind]
        self.seen[kind] += 1
        if kind == self.kind and number == self.n:
            self.fired = True
            raise self.error(f"{kind} {number}")


def kind(name):
    """Register strike(n) as a kind of fault."""

    def register(function):
        KINDS[name] = function
        return function

    return register


def usable_run():
    """One small run with a fan-in, a view, a write in place and a custom node: its gradients."""
    x = ag.tensor([0.5, 1.0, 1.5, 2.0], requires_grad=True)
    w = ag.tensor([1.0, -1.0], requires_grad=True)
    y = ag.exp(x).reshape(2, 2) * w
    z = y * 1.0
    z[0] += x[:2]
    loss = (z * y).sum() + ag.checkpoint(ag.sin)(x).sum()
    loss.backward()
    return x.grad.array, w.grad.array


_EXPECTED = usable_run()


def check_usable():
    """Nothing is queued, the modes are those of a fresh thread, and a good run gives what it always gave."""
    assert engine.queued_tasks() == 0
    assert engine.current_graph_task_id() == -1
    assert engine.current_node() is None
    assert ag.is_grad_enabled()
    assert not ag.is_inference_mode_enabled()
    for got, expected in zip(usable_run(), _EXPECTED, strict=True):
        np.testing.assert_array_equal(got, expected)


def check_whole(leaves, expected, failed, before=None):
    """Each `.grad` is as it was or holds the whole gradient: after a failure some of them, after success all.

    `before` (atomic runs, and runs that do not touch `.grad`): after a failure all of them are that very Tensor.
    """
    for leaf, gradient in zip(leaves, expected, strict=True):
        if failed and before is not None:
            assert leaf.grad is before, "a .grad changed although the run failed"
        elif leaf.grad is None:
            assert failed, "no gradient, and no error"
        else:
            np.testing.assert_allclose(leaf.grad.detach().numpy(), gradient, rtol=1e-12, err_msg="half a gradient")


def references(objects):
    """Weak references to Tensors or nodes and to the nodes of the Tensors."""
    found = [weakref.ref(t) for t in objects]
    return found + [weakref.ref(t.grad_fn) for t in objects if getattr(t, "grad_fn", None) is not None]


def strike(name, n):
    """One fault. Returns (whether the occasion came, weak references to what must be gone)."""
    fired, objects = KINDS[name](n)
    return fired, references(objects)


def campaign(count, seed=0, report=None, kinds=None, every=50):
    """`count` faults of random kinds and places; returns a Counter by kind. AssertionError at the first that fails."""
    rng = random.Random(seed)
    done = Counter()
    kinds = list(KINDS if kinds is None else kinds)
    alive = []
    limits = {}  # kind -> how many occasions there are at most
    baseline = None
    while done.total() < count:
        name = rng.choice(kinds)
        n = rng.randrange(limits.get(name, 400))
        try:
            fired, refs = strike(name, n)
        except Exception as error:
            raise AssertionError(f"{name} {n}: {type(error).__name__}: {error}") from error
        alive += refs
        if not fired:
            limits[name] = max(1, min(n + 1, limits.get(name, 400)))
            continue
        done[name] += 1
        total = done.total()
        if total % every == 0 or total == count:
            check_usable()
            check_nothing_left(alive)
            if baseline is None and total >= 10 * every:
                baseline = held_now()
            elif baseline is not None:
                check_growth(baseline)
        if report is not None:
            report(total, done)
    return done


def check_nothing_left(refs):
    """Nothing of failed runs is alive."""
    gc.collect()
    left = [r() for r in refs if r() is not None]
    assert not left, f"{len(left)} objects outlive their failed run, e.g. {left[0]!r}"
    refs.clear()


def held_now():
    """What a leak would raise: containers, memory blocks, and engine objects where the build counts them."""
    gc.collect()
    return len(gc.get_objects()), sys.getallocatedblocks(), sum(live_counts().values())


def check_growth(baseline):
    """As many objects as there were, but for caches that fill (a few thousand blocks over thousands of faults)."""
    names = ("containers", "memory blocks", "engine objects")
    allowed = (500, 5000, 0)
    for name, before, now, slack in zip(names, baseline, held_now(), allowed, strict=True):
        assert now <= before + slack, f"{name} grew from {before} to {now}"
