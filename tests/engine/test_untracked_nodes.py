"""Which nodes and Tensors the garbage collector sees: those that may be in a cycle, and no others.

Each case runs in an interpreter of its own: what it does (a hook on a node that others lead to) may decide what is
tracked in the next. Cycles that need more than one thing at one moment are in test_cycles.py.
"""

import subprocess
import sys
import sysconfig
import textwrap

import pytest

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))

START = """
import gc, weakref
import numpy as np
import arraygrad as ag

class Canary:
    pass

def leaf():
    return ag.tensor(np.arange(3.0), requires_grad=True)

def graph(t):
    y = t * 2.0
    for _ in range(5):
        y = ag.sin(y) + 1.0
    return ag.sum(ag.reshape(y[1:], (2, 1)), axis=0)

def nodes_below(y):
    found, stack = [], [y]
    while stack:
        node = stack.pop()
        found.append(node)
        stack += [n for n in gc.get_referents(node) if isinstance(n, ag.autograd.graph.Node)]
    return found
"""


def run(program):
    text = START + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


# What makes a cycle out of a leaf `t` and what was computed from it, with a canary in it. `{late}` runs after the graph
# was recorded.
CYCLES = {
    "hook of a leaf": """
        t = leaf(); y = graph(t)
        t.register_hook(lambda g, y=y, c=canary: None)
    """,
    "hook of a leaf before the graph": """
        t = leaf(); held = []
        t.register_hook(lambda g, c=canary: held and None)
        held.append(graph(t))
    """,
    "hook that is removed, and another": """
        t = leaf()
        t.register_hook(lambda g: None).remove()
        y = graph(t)
        t.register_hook(lambda g, y=y, c=canary: None)
    """,
    "hook of a result": """
        t = leaf(); y = graph(t)
        y.register_hook(lambda g, y=y, c=canary: None)
    """,
    "hook of a result that others were computed from": """
        t = leaf(); y = t * 2.0; z = graph(y)
        y.register_hook(lambda g, z=z, c=canary: None)
    """,
    "hook of a node below": """
        t = leaf(); y = graph(t)
        y.grad_fn.next_functions[0][0].register_hook(lambda *g, y=y, c=canary: None)
    """,
    "metadata of a node": """
        t = leaf(); y = graph(t)
        y.grad_fn.metadata["y"] = (y, canary)
    """,
    "attribute of a leaf": """
        t = leaf(); y = graph(t)
        t.own = (y, canary)
    """,
    "attribute of a leaf's gradient": """
        t = leaf(); y = graph(t)
        y.sum().backward(retain_graph=True)
        t.grad.own = (y, canary)
    """,
    "gradient with a history": """
        t = leaf(); y = (t * t * t).sum()
        y.backward(create_graph=True)
        t.grad.grad_fn.metadata["c"] = canary
    """,
    "gradient that was assigned": """
        t = leaf(); y = t * ag.sum(graph(t))
        t.grad = y
        t.register_hook(lambda g, c=canary: None)
    """,
    "gradient that was assigned, and nothing else": """
        t = leaf(); y = t * ag.sum(graph(t))
        t.grad = y
        del canary; canary = t
    """,
    "gradient's gradient": """
        t = leaf(); y = t * 1.0
        y.sum().backward(retain_graph=True)
        t.grad.requires_grad_()
        t.grad.grad = t * ag.sum(graph(t))
        canary = t
    """,
    "gradient that is written": """
        t = leaf(); y = t * ag.sum(graph(t))
        y.sum().backward(retain_graph=True)
        t.grad[:] = y
        canary = t
    """,
    "custom function": """
        class Held(ag.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.held = Held.box = []
                return x * 2.0
            @staticmethod
            def backward(ctx, g):
                return g
        t = leaf(); y = graph(Held.apply(t * 3.0))
        Held.box.extend((y, canary))
        del Held.box
    """,
    "primitive": """
        held = [canary]
        f = ag.primitive(lambda x: x * 2.0)
        f.defvjp(lambda ans, x: lambda g: (held, g)[1])
        t = leaf(); y = graph(f(t * 3.0))
        held.append(y); held.append(f)
        del f
    """,
    "retained gradient": """
        t = leaf(); y = t * 2.0; z = graph(y)
        y.retain_grad()
        z.backward()
        y.own = (z, y, canary)
    """,
}


@pytest.mark.parametrize("name", CYCLES)
def test_cycle_is_collected(name):
    run(
        f"""
gc.disable()
def make():
    canary = Canary()
    made = weakref.ref(canary)
{textwrap.indent(textwrap.dedent(CYCLES[name]), "    ")}
    return made if isinstance(canary, Canary) else weakref.ref(canary)
for _ in range(6):          # the last ones after nodes are all tracked
    made = make()
    gc.collect()
    assert made() is None
"""
    )


def test_what_may_be_a_cycle_is_not_collected_while_it_is_held():
    # A rule whose function's variables have changed is refused: the cycle of a primitive makes one.
    bodies = {name: text for name, text in CYCLES.items() if name != "primitive"}
    makers = "".join(
        f"""
def make():
    canary = Canary()
{textwrap.indent(textwrap.dedent(body), "    ")}
    return t, y if "y" in dir() else t * 2.0
makers.append(make)
"""
        for body in bodies.values()
    )
    run(
        f"""
makers = []
{makers}
for make in makers:
    t, y = make()
    gc.collect()
    ag.autograd.grad(ag.sum(y), [t], allow_unused=True)
    assert np.array_equal(t.numpy(), [0.0, 1.0, 2.0])
"""
    )


@pytest.mark.skipif(FREE_THREADED, reason="without the GIL all nodes are tracked")
def test_graph_without_anything_of_the_programs_is_untracked():
    run(
        """
        t = leaf(); y = graph(t)
        below = nodes_below([n for n in gc.get_referents(y) if isinstance(n, ag.autograd.graph.Node)][0])
        assert len(below) > 10
        assert not any(gc.is_tracked(node) for node in below)
        y.backward()
        assert t.grad is not None
        """
    )


@pytest.mark.skipif(FREE_THREADED, reason="without the GIL all are tracked")
def test_tensors_are_untracked_until_something_of_the_programs_is_in_them():
    run(
        """
        t = leaf(); y = graph(t); number = t[0] * 2.0
        assert not any(gc.is_tracked(one) for one in (t, y, number, t.detach() * 2.0, y.grad_fn))
        t.own = 1
        assert gc.is_tracked(t)
        z = graph(t)
        assert gc.is_tracked(z) and gc.is_tracked(z.grad_fn)    # an attribute of the leaf may lead back to them
        assert gc.is_tracked(y) and gc.is_tracked(number)
        """
    )


@pytest.mark.skipif(FREE_THREADED, reason="without the GIL all are tracked")
def test_what_is_put_on_a_result_leaves_other_graphs_untracked():
    run(
        """
        s = leaf(); other = graph(s)
        t = leaf(); y = graph(t)
        y.register_hook(lambda g: None)     # nothing else leads to it
        assert gc.is_tracked(y) and not gc.is_tracked(other)
        z = y * 2.0
        assert gc.is_tracked(z)             # it leads to the hook
        y.own = 1
        assert not gc.is_tracked(other)
        """
    )


@pytest.mark.skipif(FREE_THREADED, reason="without the GIL all are tracked")
def test_after_many_searches_all_is_tracked_for_a_while():
    run(
        """
        def untracked():
            return not gc.is_tracked(leaf() * 2.0)

        assert untracked()
        held = [leaf() * 1.0 for _ in range(1000)]
        found = set()
        for _ in range(200):                # each is a search over all that there is
            t = leaf(); y = t * 2.0
            t.register_hook(lambda g: None)
            found.add(untracked())
        assert False in found
        y = leaf()
        for _ in range(300_000):
            y = y * 1.0
        assert untracked()
        """
    )


@pytest.mark.skipif(FREE_THREADED, reason="without the GIL all are tracked")
def test_writes_into_parts_leave_a_graph_untracked():
    run(
        """
        t = leaf()
        y = t * 1.0
        for i in range(1, 3):
            y[i:] *= y[i - 1]
            y[i] = ag.sin(y[i])
        z = ag.sum(y)
        assert not gc.is_tracked(z)
        assert not any(gc.is_tracked(node) for node in nodes_below(z.grad_fn))
        """
    )


@pytest.mark.skipif(FREE_THREADED, reason="without the GIL all are tracked")
def test_lists_of_tensors_add_nothing_but_themselves():
    run(
        """
        t = leaf()
        gc.collect()
        before = len(gc.get_objects())
        y, found = t, []
        for _ in range(1000):
            y = ag.sin(y * 1.5) + t
            found.append(y)
        assert len(gc.get_objects()) < before + 100
        """
    )


@pytest.mark.skipif(FREE_THREADED, reason="without the GIL all nodes are tracked")
def test_a_graph_adds_nothing_to_what_the_collector_visits():
    run(
        """
        t = leaf()
        y = t * 2.0
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(1000):
            y = ag.sin(y * 1.5) + t
        assert len(gc.get_objects()) < before + 100
        """
    )


def test_a_long_chain_is_freed_whether_it_is_tracked_or_not():
    run(
        """
        for hooked in (False, True):
            t = leaf()
            if hooked:
                t.register_hook(lambda g: None)
            y = t
            for _ in range(200_000):
                y = y * 1.0
            if hooked:
                y.grad_fn.register_hook(lambda *g: None)
            del y, t
            gc.collect()
        """
    )
