"""Programs that write into arrays which were made before the call: gradients, and what the call leaves behind.

The class: arrays in attributes, dicts, lists, globals and closures; views and other names of their memory; statements
that write, read, rename, swap and bind anew. Arrays that a tuple holds, too, may be refused.
"""

import types

import numpy as np

import arraygrad as ag

from .spelling import Spelling

N = 4
PLACES = ("o.a", "o.b", "o.p.c", "D['d']", "L[0]", "L[1]", "G")
FORMS = ("", "[::-1]", "[...]", ".reshape(2, 2).T.ravel('K')", ".reshape(N)")
CALLS = 40
HEAD = """
def touch(target, x):
    target[1:] = np.tanh(target[:-1] + x[0])
    return target

def closure(held):
    def add(x):
        held[2] += x[1] * held[0]
        return held.sum()
    return add

def make(start):
    return types.SimpleNamespace(**start)
"""


def place(rng):
    return str(rng.choice(PLACES))


def statement(rng):
    u, v, k, j = place(rng), place(rng), int(rng.integers(N)), int(rng.integers(N))
    i = int(rng.integers(3))
    return str(
        rng.choice(
            [
                f"{u}[{k}] = np.tanh(x[{i}] + {v}[{j}])",
                f"{u}[{k}] += x[{i}] * {v}[{j}]",
                f"{u}[1:3] *= 0.5 * x[{i}]",
                f"{u}[:] = 0.5 * {v} + x[{i}]",
                f"{u} += 0.25 * x[{i}] * {v}",
                f"np.multiply({v}, x[{i}], out={u})",
                f"np.copyto({u}, np.sin({v} * x[{i}]))",
                f"np.add.at({u}, [{k}, {j}], x[{i}])",
                f"touch({u}, x)",
                f"v = {u}; v[{k}] = x[{i}]; acc = acc + v[{j}] * {v}[{k}]",
                f"v = {u}[1:]; v *= x[{i}]; acc = acc + ({v} * v[0]).sum()",
                f"acc = acc + x[{i}] * ({u} * {v}).sum()",
                f"acc = acc + F(x) * {u}[{k}]",
                f"{u}, {v} = {v}, {u}",
                f"{u} = {v}",
                f"{u} = {v} * x[{i}]",
                f"for row in L: row[{k}] = x[{i}] * {u}[{j}]",
                f"for k in range(2): {u}[k + 1] = {u}[k] * x[{i}]",
                f"{u}[{v} > 0.4] = x[{i}]",
                "with ag.no_grad(): keep = float(ag.stop_gradient(acc))" if rng.random() < 0.3 else "acc = acc * 1.5",
            ]
        )
    )


def source(rng):
    start = rng.uniform(-1.0, 1.0, (len(PLACES), N)).round(3).tolist()
    lines = [HEAD, f"o = make({{'a': np.array({start[0]}), 'p': make({{}})}})"]
    made = ["o.a"]
    values = {}
    for name, numbers in zip(PLACES[1:], start[1:], strict=True):
        shown = str(rng.choice(made)) + str(rng.choice(FORMS)) if rng.random() < 0.4 else f"np.array({numbers})"
        values[name] = shown
    lines += [f"o.b = {values['o.b']}"]
    for name, variable in (("o.p.c", "o.p.c"), ("D['d']", "D"), ("L[0]", "L"), ("L[1]", ""), ("G", "G")):
        if variable == "D":
            lines.append(f"D = {{'d': {values[name]}}}")
        elif variable == "L":
            lines.append(f"L = [{values[name]}, {values['L[1]']}]")
        elif variable:
            lines.append(f"{variable} = {values[name]}")
    lines.append(f"F = closure({rng.choice(PLACES)})")
    hidden = rng.random() < 0.15
    if hidden:
        lines.append(f"T = ({rng.choice(PLACES)},)")
    body = [statement(rng) for _ in range(int(rng.integers(3, 9)))]
    lines += ["def f(x):", "    global G", "    acc = 0.0 * x[0]"]
    lines += [f"    {line}" for line in body]
    lines += [f"    return acc + {' + '.join(f'({u} * {n + 1.0}).sum()' for n, u in enumerate(PLACES))}"]
    if hidden:
        lines[-1] += " + T[0][1]"
    return "\n".join(lines), hidden


def state(space):
    """The arrays that the places hold, and which of them share memory."""
    found = [eval(name, space) for name in PLACES]
    found = [one.detach().numpy() if isinstance(one, ag.Tensor) else one for one in found]  # of what is bound anew
    return found, [[np.shares_memory(a, b) for b in found] for a in found]


def draw(rng):
    text, hidden = source(rng)

    def run():
        space = {"np": np, "ag": ag, "types": types, "N": N, "__name__": "program"}
        exec(text, space)
        return space

    def plain(x):
        return run()["f"](x)

    def ours(x):
        here, there = run(), run()
        value, gradient = ag.value_and_grad(here["f"], adopt=True)(x.numpy().copy())
        there["f"](x.numpy())
        (left, shared), (expected, expected_shared) = state(here), state(there)
        for name, one, other in zip(PLACES, left, expected, strict=True):
            if type(one) is not np.ndarray or not np.allclose(one, other, rtol=1e-12, atol=1e-14):
                raise AssertionError(f"{name} is left as {one!r}, by the plain program as {other!r}")
        if shared != expected_shared:
            raise AssertionError("other places share memory than after the plain program")
        return value + (gradient * (x - x.detach())).sum()

    refused = (TypeError,) if hidden else ()
    return Spelling(text.removeprefix(HEAD), ours, plain, (rng.uniform(0.3, 0.9, 3),), may_refuse=refused, dtypes=False)
