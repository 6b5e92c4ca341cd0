"""A failing program made small: statements are left out while it still fails so. Imports nothing of arraygrad."""

from dataclasses import replace

import numpy as np

from .program import Invalid


def shrink(program, fails, rounds=6):
    """The smallest program found for which `fails(program)` still gives the same kind of failure."""
    kind = fails(program)
    for _ in range(rounds):
        smaller = next((p for p in candidates(program) if attempt(fails, p) == kind), None)
        if smaller is None:
            return program
        while smaller is not None:
            program = smaller
            smaller = next((p for p in candidates(program) if attempt(fails, p) == kind), None)
    return program


def attempt(fails, program):
    try:
        return fails(program)
    except (Invalid, NameError):
        return None


def candidates(program):
    """Programs with a little less: later statements first, then roots, observed registers, leaves, simpler numbers."""
    steps = program.steps
    width = len(steps) // 2
    while width:
        for start in range(len(steps) - width, -1, -width):
            yield from rewired(program, steps[:start] + steps[start + width :])
        width //= 2
    for name in program.weights:
        if len(program.weights) > 1:
            yield replace(program, weights={k: v for k, v in program.weights.items() if k != name})
    for name in program.observed:
        yield replace(program, observed=tuple(n for n in program.observed if n != name))
    for name in program.leaves:
        if len(program.leaves) > 1:
            yield replace(program, leaves={k: v for k, v in program.leaves.items() if k != name})
    for name in program.constants:
        yield replace(program, constants={k: v for k, v in program.constants.items() if k != name})
    for name, value in program.leaves.items():
        rounded = np.round(value, 1)
        if not np.array_equal(rounded, value):
            yield replace(program, leaves={**program.leaves, name: rounded})


def rewired(program, steps):
    """With these statements: roots and observed registers that are gone are dropped."""
    made = {n for s in steps for n in s.outs}
    known = made | set(program.leaves) | set(program.constants)
    if any(n not in known for s in steps for n in registers(s) - set(s.outs)):
        return
    weights = {n: w for n, w in program.weights.items() if n in made}
    observed = tuple(n for n in program.observed if n in made)
    if weights:
        yield replace(program, steps=tuple(steps), weights=weights, observed=observed)
        return
    # The root is gone: the last results become roots.
    last = {n for s in steps[-1:] for n in s.outs}
    if last:
        yield replace(program, steps=tuple(steps), weights=dict.fromkeys(last), observed=observed)


def registers(step):
    """The registers that a statement names."""
    text = "".join(c if c.isalnum() or c == "_" else " " for c in step.code).split()
    return {w.rstrip("_") for w in text if w[0] in "rxc" and w[1:].rstrip("_").isdigit()}
