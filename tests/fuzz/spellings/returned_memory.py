"""Functions of the user's own and memory: what they return, write and read, who writes it when, and who looks again.

A member is a small program around one function on arrays: a primitive's or a Function's. The function returns a new
array, a buffer, a part of one, a cached array, its argument or a view of it, or writes its argument. Then comes an
event: a second call, a write to the buffer, to the result or to the argument, a changed constant. Then the program uses
the result, the argument, both or neither. The value is that of the plain program, or a RuntimeError says what to do.
"""

import numpy as np

import arraygrad as ag

from .spelling import Spelling

RETURNS = ("new", "buffer", "row of a buffer", "cached", "argument", "reversed argument", "written argument")
EVENTS = ("none", "second call", "buffer", "result", "part of the result", "argument", "constant")
USES = ("none", "result", "view of the result", "argument", "both")
HOLDERS = ("dict", "list", "object", "array")


class Constants:
    def __init__(self, value):
        self.value = value


def holder_of(kind):
    """(holder, read, change) of the number 2."""
    if kind == "dict":
        held = {"k": 2.0}
        return held, lambda h: h["k"], lambda h: h.__setitem__("k", 5.0)
    if kind == "list":
        held = [2.0]
        return held, lambda h: h[0], lambda h: h.__setitem__(0, 5.0)
    if kind == "array":
        held = np.full((), 2.0)
        return held, lambda h: h, lambda h: h.fill(5.0)
    held = Constants(2.0)
    return held, lambda h: h.value, lambda h: setattr(h, "value", 5.0)


def function_of(returns, kind, shape):
    """(function of an array, derivative: rule(x, g), change of its constant, its memory)."""
    held, read, change = holder_of(kind)
    memory, cache = np.zeros((2, *shape)), {}

    def scaled(x):
        if returns == "new":
            return x * read(held)
        if returns == "buffer":
            np.multiply(x, read(held), out=memory[0, ...])
            return memory[0, ...]
        if returns == "row of a buffer":
            memory[1, ...] = x * read(held)
            return memory[1, ...]
        if returns == "cached":
            key = x.tobytes()
            if key not in cache:
                cache[key] = np.asarray(x * read(held))
            return cache[key]
        if returns == "argument":
            return x
        if returns == "reversed argument":
            return x[::-1]
        return np.multiply(x, read(held), out=x)

    def rule(g):
        if returns == "argument":
            return g
        return g[::-1] if returns == "reversed argument" else g * read(held)

    return scaled, rule, lambda: change(held), memory


def recorded(way, scaled, rule):
    if way == "primitive":
        made = ag.primitive(scaled)
        made.defvjp(lambda ans, x: lambda g: rule(g))
        return made

    class Scaled(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            found = scaled(x.array)
            return ag.asarray(found) if way == "Function, Tensor" else found

        @staticmethod
        def backward(ctx, g):
            return rule(g)

    return Scaled.apply


def draw(rng):
    returns, event, use = (str(rng.choice(names)) for names in (RETURNS, EVENTS, USES))
    way, kind = str(rng.choice(["primitive", "Function", "Function, Tensor"])), str(rng.choice(HOLDERS))
    ndim = int(rng.integers(0, 3))
    if returns == "reversed argument":
        ndim = max(ndim, 1)
    shape = tuple(int(n) for n in rng.choice([1, 2, 3], size=ndim))
    if ndim == 0 and event in ("result", "part of the result", "argument"):
        event = "second call"
    x = rng.normal(size=shape)
    weights = rng.normal(size=shape)

    def program(x, wrap):
        scaled, rule, change, memory = function_of(returns, kind, shape)
        f = wrap(scaled, rule)
        u = x * 1.0 if ndim else np.reshape(x, (1,)).reshape(())
        y = f(u)
        total = np.sum(y * y * weights)
        if event == "second call":
            f(u * 3.0)
        elif event == "buffer":
            memory[...] = 7.0
        elif event == "result":
            y[...] = 5.0
        elif event == "part of the result":
            y[:1] *= 2.0
        elif event == "argument":
            u[...] = u * 2.0
        elif event == "constant":
            change()
        if use in ("result", "both"):
            total = total + np.sum(np.sin(y))
        if use == "view of the result":
            total = total + np.sum(np.sin(y[..., None]))
        if use in ("argument", "both"):
            total = total + np.sum(u * u)
        return total

    def ours(x):
        return program(x, lambda scaled, rule: recorded(way, scaled, rule))

    def plain(x):
        return program(np.array(x), lambda scaled, rule: scaled)

    what = f"{way} that returns {returns} of shape {shape}, constant in a {kind}; then {event}; then uses {use}"
    return Spelling(what, ours, plain, (x,), order=1, may_refuse=(RuntimeError,), must_refuse=False)
