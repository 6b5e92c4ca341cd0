"""Random programs with their gradients, recorded and replayed with other values: bits of plain runs."""

import warnings

import numpy as np

import arraygrad as ag
from arraygrad.program.replay import plainly, record

from .generate import Generator
from .gradients import roots_of
from .machines import ArraygradMachine


def program_function(program):
    def run(*given):
        leaves = [x.copy().detach().requires_grad_() for x in given]
        env = ArraygradMachine().run(program, dict(zip(program.leaves, leaves, strict=True)))
        roots, weights = roots_of(program, env)
        found = ag.autograd.grad(roots, leaves, weights, allow_unused=True) if roots else []
        return [*[root.detach() for root in roots], *[g for g in found if g is not None]]

    return run


def test_random_programs_replay_with_the_bits_of_plain_runs():
    recorded = tried = 0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(120):
            program = Generator(seed).program()
            if program is None or "ag." in "".join(step.code for step in program.steps):
                continue
            run, arrays = program_function(program), [np.asarray(a).copy() for a in program.leaves.values()]
            others = [np.asarray(a * (1 + 1e-6), a.dtype) for a in arrays]
            tried += 1
            replay = record(run, arrays, others)
            recorded += replay.failure is None
            third = [np.asarray(a * (1 - 1e-6), a.dtype) for a in arrays]
            for values in (arrays, others, third):
                same(replay(*values), plainly(run, values))
    assert tried > 60
    assert recorded > 0.2 * tried


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
