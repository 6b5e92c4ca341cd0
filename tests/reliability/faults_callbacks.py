"""Faults in everything of the user's that forward and backward call: hooks, Functions, conversions, finalisers.

Imports of arraygrad: the public face.
"""

import gc
import sys
import warnings
from contextlib import ExitStack

import numpy as np
from injector import Injected, Injector, check_whole, kind

import arraygrad as ag
from arraygrad.autograd import graph

MODES = ("backward", "atomic", "create_graph", "grad")


class _Cube(ag.autograd.Function):
    injector = None

    @staticmethod
    def forward(ctx, x):
        _Cube.injector("Function.forward")
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        _Cube.injector("Function.backward")
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


class _Apart(ag.autograd.Function):
    injector = None

    @staticmethod
    def forward(x):
        return x * 2.0

    @staticmethod
    def setup_context(ctx, inputs, output):
        _Apart.injector("Function.setup_context")

    @staticmethod
    def backward(ctx, g):
        return g * 2.0


class _Liar:
    """An array-like whose conversion may fail."""

    def __init__(self, injector, values):
        self.injector = injector
        self.values = values

    def __array__(self, dtype=None, copy=None):
        self.injector("__array__")
        return np.asarray(self.values, dtype=dtype)


class _Last:
    """Something that a graph keeps alive, whose end is a call of Python code."""

    injector = staticmethod(lambda kind: None)  # of one whose construction was interrupted

    def __init__(self, injector):
        self.injector = injector

    def __call__(self, *args):
        """A hook that does nothing."""

    def __del__(self):
        self.injector("__del__")


@ag.primitive
def _twice(x):
    return 2.0 * x


def _twice_vjp(ans, x):
    _Cube.injector("primitive's rule maker")

    def rule(g):
        _Cube.injector("primitive's rule")
        return 2.0 * g

    return rule


_twice.defvjp(_twice_vjp)


def program(at, leaves):
    """Everything that calls back, in one graph of two new leaves, put into the list `leaves`; returns the loss."""
    _Cube.injector = _Apart.injector = at
    x = ag.tensor(np.linspace(0.5, 1.5, 6), requires_grad=True)
    w = ag.tensor(np.linspace(-1.0, 1.0, 6), requires_grad=True)
    leaves[:] = x, w

    def noted(kind, result=None):
        def call(*args):
            at(kind)
            return args[0] if result == "same" else None

        return call

    def inner(t):
        at("checkpointed function")
        return ag.exp(t * 0.1) * t

    with ExitStack() as stack:
        stack.enter_context(graph.op_hooks(noted("op_hooks before"), noted("op_hooks after")))
        with graph.saved_tensors_hooks(noted("pack", "same"), noted("unpack", "same")):
            a = x * w + ag.sin(x)
        b = _Cube.apply(_Apart.apply(a))
        c = ag.checkpoint(inner)(b)
        d = _twice(c * 1.0)
        d[1:3] = _Liar(at, [0.25, 0.5])
        d *= 2.0
        d.retain_grad()
        e = d.reshape(2, 3)
        e[0] += w[:3]
        loss = (e * e).mean() + ag.concat([b, d]).sum()
    a.register_hook(noted("tensor hook"))
    b.register_hook(noted("tensor hook"))
    d.register_hook(_Last(at))
    x.register_hook(noted("hook of a leaf"))
    loss.grad_fn.register_prehook(noted("node pre-hook"))
    b.grad_fn.register_hook(noted("node post-hook"))
    w.register_post_accumulate_grad_hook(noted("post-accumulate hook"))
    graph.register_multi_grad_hook([a, b], noted("multi-grad hook"))
    graph.register_multi_grad_hook([a, b], noted("multi-grad hook of any"), mode="any")

    def queue(g):
        graph.queue_callback(noted("callback"))
        graph.queue_callback(noted("callback"))

    c.register_hook(queue)
    return loss


def differentiate(mode, leaves, loss):
    """One run of a mode; returns the gradients of grad(), else None."""
    if mode == "grad":
        return ag.autograd.grad(loss, list(leaves), create_graph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # create_graph of backward() warns
        ag.autograd.backward(loss, create_graph=mode == "create_graph", atomic=mode == "atomic")
    return None


def _good():
    leaves = []
    program(Injector(), leaves).backward()
    return [leaf.grad.array for leaf in leaves]


EXPECTED = _good()

CALLBACKS = (
    "Function.forward", "Function.setup_context", "Function.backward", "primitive's rule maker", "primitive's rule",
    "__array__", "checkpointed function", "op_hooks before", "op_hooks after", "pack", "unpack", "tensor hook",
    "hook of a leaf", "node pre-hook", "node post-hook", "post-accumulate hook", "multi-grad hook",
    "multi-grad hook of any", "callback",
)  # fmt: skip
# The gradients were already added when these run, in atomic runs too.
AFTER_ACCUMULATION = {"callback", "post-accumulate hook"}


def strike_callback(name, n):
    """In the mode n % 4, occasion n // 4 of a callback raises: the error itself arrives, `.grad` is as promised."""
    mode, n = MODES[n % 4], n // 4
    at = Injector(name, n)
    leaves, loss, caught, before = [], None, None, None
    try:
        loss = program(at, leaves)
        if mode == "atomic":
            before = [ag.tensor(np.full(6, 0.5)) for _ in leaves]
            for leaf, grad in zip(leaves, before, strict=True):
                leaf.grad = grad
        differentiate(mode, leaves, loss)
    except Injected as error:
        caught = str(error)
    assert (caught is not None) == at.fired, f"{name} {n} in mode {mode}: raised and did not arrive"
    assert caught is None or caught == f"{name} {n}"
    if mode == "atomic":
        late = caught is not None and name in AFTER_ACCUMULATION
        whole = [0.5 + g for g in EXPECTED]
        if loss is not None:
            check_atomic(leaves, whole, at.fired and not late, before)
    elif mode == "grad":
        assert all(leaf.grad is None for leaf in leaves)
    else:
        check_whole(leaves, EXPECTED, at.fired)
    objects = [*leaves, *([] if loss is None else [loss])]
    for leaf in leaves:
        leaf.grad = None  # with create_graph it holds the graph, and the graph the leaf
    return at.fired, objects


def check_atomic(leaves, whole, failed, before):
    """All gradients or none."""
    for leaf, gradient, held in zip(leaves, whole, before, strict=True):
        if failed:
            assert leaf.grad is held
            np.testing.assert_array_equal(held.array, np.full(6, 0.5))
        else:
            np.testing.assert_allclose(leaf.grad.array, gradient, rtol=1e-12)


for _name in CALLBACKS:
    kind(_name)(lambda n, name=_name: strike_callback(name, n))


@kind("__del__")
def strike_del(n):
    """`__del__` of what a graph keeps raises: Python reports it as unraisable, the engine goes on."""
    mode, n = MODES[n % 4], n // 4
    seen = []
    old, sys.unraisablehook = sys.unraisablehook, lambda u: seen.append(type(u.exc_value))
    at = Injector("__del__", n)
    leaves = []
    try:
        loss = program(at, leaves)
        differentiate(mode, leaves, loss)
        for leaf in leaves:
            leaf.grad = None
        del loss
        gc.collect()
    finally:
        sys.unraisablehook = old
    assert at.fired == (seen == [Injected])
    return at.fired, leaves
