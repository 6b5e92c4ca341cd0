"""Cycles through graphs, generated: in each way in which an object of the program's comes into a node or a Tensor, at
each moment at which it may, holding each thing that leads back.

The object is a list. It is attached first and filled afterwards, so that nothing can tell when the cycle closes.
"""

import subprocess
import sys
import textwrap

import pytest

START = """
import gc, itertools, weakref
import numpy as np
import arraygrad as ag
from arraygrad.autograd import Function, graph

class Canary:
    pass

class Holding(Function):
    @staticmethod
    def forward(ctx, x, held):
        ctx.held = held
        return x * 1.0
    @staticmethod
    def backward(ctx, g):
        return g * 1.0, None

class Packed:
    def __init__(self, t, held):
        self.array, self.held = t.numpy().copy(), held

def hook_of(held):
    return lambda *args: (held, None)[1]

def post_hook_of(held):
    return lambda t: (held, None)[1]

class Graph:
    \"\"\"t -> mid -> parts, joined and written -> y, and a Tensor beside each.\"\"\"
    def __init__(self, moment, way, held):
        self.moment, self.way, self.held = moment, way, held
        self.t = ag.tensor(np.arange(1.0, 4.0), requires_grad=True)
        self.at("leaf")
        self.mid = self.t * 2.0
        self.beside = self.mid + 1.0
        self.number = self.mid[1] * 2.0
        self.at("mid")
        around = AROUND.get(way, lambda mid, held: mid)
        self.passed = around(self.mid, held)
        written = ag.sin(self.passed)
        written[1:] = self.beside[1:] * self.number
        written[0] *= 3.0
        joined = ag.concat([written, self.beside, ag.stack([self.number, self.number * 2.0, self.mid[0]])])
        self.view = written[1:]
        self.y = ag.sum(joined * joined)
        self.at("result")
        ag.autograd.grad(self.y, [self.t], retain_graph=True)
        self.at("grad")
        self.y.backward(retain_graph=True)
        self.at("kept backward")
        self.again = ag.sum(self.mid * self.y)
        self.at("used again")
        self.again.backward()
        self.at("backward")

    def at(self, moment):
        if moment == self.moment and self.way in LATER:
            LATER[self.way](self, self.held)

def node(t):
    return t.grad_fn

def below(t):
    return t.grad_fn.next_functions[0][0]

def with_gradient(g):
    return g.t.grad if g.t.grad is not None else given(g)

def given(g):
    g.t.grad = ag.tensor(np.ones(3))
    return g.t.grad

def last(g):
    return getattr(g, "y", getattr(g, "mid", g.t * 1.0))

# Ways that work at any moment after the one named; at those before it the graph has no such object yet.
LATER = {
    "hook of the leaf": lambda g, held: g.t.register_hook(hook_of(held)),
    "two hooks of the leaf": lambda g, held: [g.t.register_hook(lambda grad: None), g.t.register_hook(hook_of(held))],
    "hook of the leaf in place of another": lambda g, held: [
        g.t.register_hook(lambda grad: None).remove(), g.t.register_hook(hook_of(held))],
    "hook after accumulation": lambda g, held: g.t.register_post_accumulate_grad_hook(post_hook_of(held)),
    "attribute of the leaf": lambda g, held: setattr(g.t, "own", held),
    "dict of the leaf": lambda g, held: g.t.__dict__.update(own=held),
    "attribute of the gradient": lambda g, held: setattr(with_gradient(g), "own", held),
    "attribute of a gradient's gradient": lambda g, held: [
        setattr(with_gradient(g), "grad", ag.tensor(np.ones(3))), setattr(g.t.grad.grad, "own", held)],
    "hook of the gradient": lambda g, held: with_gradient(g).requires_grad_().register_hook(hook_of(held)),
    "gradient with an attribute": lambda g, held: [
        grad := ag.tensor(np.ones(3)), setattr(grad, "own", held), setattr(g.t, "grad", grad)],
    "gradient with a history": lambda g, held: [
        grad := g.t * 5.0, grad.grad_fn.metadata.update(own=held), setattr(g.t, "grad", grad)],
    "accumulator's hook": lambda g, held: last(g) is not None and accumulator(g).register_hook(hook_of(held)),
    "accumulator's metadata": lambda g, held: last(g) is not None and accumulator(g).metadata.update(own=held),
}
for who in ("mid", "beside", "number", "y", "view"):
    LATER |= {
        f"hook of {who}": lambda g, held, who=who: getattr(g, who).register_hook(hook_of(held)),
        f"attribute of {who}": lambda g, held, who=who: setattr(getattr(g, who), "own", held),
        f"retained gradient of {who}": lambda g, held, who=who: [
            getattr(g, who).retain_grad(), getattr(g, who).register_hook(hook_of(held))],
        f"hook of the node of {who}": lambda g, held, who=who: node(getattr(g, who)).register_hook(hook_of(held)),
        f"prehook of the node of {who}": lambda g, held, who=who: node(getattr(g, who)).register_prehook(hook_of(held)),
        f"metadata of the node of {who}": lambda g, held, who=who: node(getattr(g, who)).metadata.update(own=held),
        f"hook below {who}": lambda g, held, who=who: below(getattr(g, who)).register_hook(hook_of(held)),
    }

def accumulator(g):
    found = below(g.mid) if hasattr(g, "mid") else below(g.t * 1.0)
    return found

# Ways that are part of the recording.
def by_primitive(mid, held):
    f = ag.primitive(lambda x: x * 2.0)
    f.defvjp(lambda ans, x: lambda g: (held, g)[1])
    return f(mid)

def by_saved_hooks(mid, held):
    with graph.saved_tensors_hooks(lambda t: Packed(t, held), lambda p: ag.asarray(p.array)):
        return ag.exp(mid * mid) * 0.0 + mid

AROUND = {
    "state of a Function": lambda mid, held: Holding.apply(mid, held),
    "primitive": by_primitive,
    "saved tensors' hooks": by_saved_hooks,
    "list as a key": lambda mid, held: [held.extend([0, 1, 2]), mid[held]][1],
    "list of places": lambda mid, held: [held.extend([0, 1, 2]), np.take(mid, held)][1],
    "list as an operand": lambda mid, held: [held.extend([1.0, 2.0, 3.0]), np.multiply(mid, held)][1],
    "list of widths": lambda mid, held: [held.append((0, 0)), np.pad(mid, held)][1],
    "checkpoint": lambda mid, held: ag.checkpoint(lambda x: (held, x * 2.0)[1])(mid),
}

# What leads back, put into the list at the end.
BACK = {
    "result": lambda g: g.y,
    "view": lambda g: g.view,
    "result of another use": lambda g: g.again,
    "what is beside": lambda g: g.beside,
    "leaf": lambda g: g.t,
    "node": lambda g: g.y.grad_fn,
    "result made afterwards": lambda g: ag.sum(ag.sin(g.mid) * g.t),
    "all": lambda g: g,
}

def left_by(moment, way, back):
    held = []
    canary = Canary()
    made = weakref.ref(canary)
    g = Graph(moment, way, held)
    held.append(BACK[back](g))
    held.append(canary)
    g = held = canary = None
    gc.collect()
    return made() is not None

AFTER = {"mid": ["leaf"], "beside": ["leaf"], "number": ["leaf"], "y": ["leaf", "mid"], "view": ["leaf", "mid"]}

def applies(moment, way):
    who = way.rsplit(" ", 1)[-1]
    return moment not in AFTER.get(who, ())
"""

MOMENTS = ("leaf", "mid", "result", "grad", "kept backward", "used again", "backward")


def run(program):
    text = START + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.parametrize("moment", MOMENTS)
def test_every_cycle_is_collected(moment):
    run(
        f"""
        gc.disable()
        gc.freeze()
        names = [name for name in LATER if applies({moment!r}, name)]
        assert len(names) > 12
        left = [(way, back) for way, back in itertools.product(names, BACK) if left_by({moment!r}, way, back)]
        assert not left, left
        """
    )


@pytest.mark.parametrize("anomaly", [False, True])
def test_every_cycle_of_a_recording_is_collected(anomaly):
    run(
        f"""
        gc.disable()
        gc.freeze()
        with ag.autograd.set_detect_anomaly({anomaly}):
            left = [(way, back) for way, back in itertools.product(AROUND, BACK) if left_by("never", way, back)]
        assert not left, left
        """
    )


def test_every_cycle_made_inside_a_transform_is_collected():
    run(
        """
        gc.disable()
        gc.freeze()
        WAYS = {
            "hook of an intermediate result": lambda x, y, held: y.register_hook(hook_of(held)),
            "attribute of an intermediate result": lambda x, y, held: setattr(y, "own", held),
            "hook of an argument": lambda x, y, held: x.register_hook(hook_of(held)),
            "attribute of an argument": lambda x, y, held: setattr(x, "own", held),
            "metadata": lambda x, y, held: y.grad_fn.metadata.update(own=held),
            "nothing": lambda x, y, held: None,
        }

        def left_by(transform, adopt, way):
            held, canary = [], Canary()
            made = weakref.ref(canary)
            buffer = np.zeros(3)

            def f(x):
                y = np.sin(x)
                WAYS[way](x, y, held)
                if adopt:
                    buffer[1:] = y[1:]          # a lent array
                    held.append(buffer)
                held.extend((x, y, y[1:], np.exp(y)))
                return np.sum(y * y + (buffer if adopt else 0.0))

            held += [f, canary]
            transform(f, adopt=adopt)(np.arange(1.0, 4.0))
            held = canary = f = buffer = None
            gc.collect()
            return made() is not None

        transforms = (ag.grad, ag.value_and_grad, ag.hessian, ag.jacobian)
        left = [(t.__name__, *case) for t, *case in itertools.product(transforms, (False, True), WAYS)
                if left_by(t, *case)]
        assert not left, left
        """
    )


def test_cycles_that_an_exception_leaves_are_collected():
    run(
        """
        gc.disable()
        gc.freeze()

        def left_by(way, back):
            held, canary = [], Canary()
            made = weakref.ref(canary)
            g = Graph("kept backward", way, held)

            def stop(grad):
                raise KeyError(held)

            y = ag.sum(g.mid * g.t)
            g.mid.register_hook(stop)
            try:
                y.backward()
            except KeyError as error:
                held.append(error)
            held += [BACK[back](g), canary]
            g = held = canary = y = stop = None
            gc.collect()
            return made() is not None

        names = [name for name in LATER if applies("kept backward", name)]
        left = [(way, back) for way, back in itertools.product(names, ("result", "leaf", "all")) if left_by(way, back)]
        assert not left, left
        """
    )


def test_graphs_beside_a_cycle_keep_what_they_hold():
    run(
        """
        for moment, way in itertools.product(("leaf", "result", "backward"), LATER):
            if not applies(moment, way):
                continue
            held = []
            g = Graph(moment, way, held)
            held.append(g)
            z = ag.sum(g.t * g.t)
            beside = [ag.sin(g.t) for _ in range(3)]
            g = held = None
            gc.collect()
            assert float(z) == 14.0
            assert np.array_equal(beside[1].numpy(), np.sin([1.0, 2.0, 3.0]))
            z.backward()
        """
    )
