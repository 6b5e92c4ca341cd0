"""Random programs with their gradients, recorded and replayed with other values: bits of plain runs."""

import warnings

import numpy as np

import arraygrad as ag
from arraygrad.program.replay import capture, plainly

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


def moved(arrays, seed):
    rng = np.random.default_rng(seed)
    return [np.asarray(a * rng.uniform(0.7, 1.3, a.shape), a.dtype) for a in arrays]


def test_random_programs_replay_with_the_bits_of_plain_runs():
    recorded = tried = 0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(120):
            program = Generator(seed).program()
            if program is None:
                continue
            run, arrays = program_function(program), [np.array(a) for a in program.leaves.values()]
            replay = capture(run, arrays, moved(arrays, seed))
            tried += 1
            recorded += replay.failure is None
            for values in (arrays, *(moved(arrays, seed + k) for k in (1, 2, 3))):
                same(replay(*values), plainly(run, values))
    assert tried > 100
    assert recorded > 10  # many make arrays of their own, which are refused


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
