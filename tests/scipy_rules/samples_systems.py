"""Samples of scipy.signal: responses of linear systems.

May import: numpy, scipy_samples.
"""

import numpy as np
from samples_designs import CLOSE, SYSTEM, A, B
from scipy_samples import X, sample, spread

TIMES = np.linspace(0.2, 2.0, 6)
W = np.array([0.3, 0.9, 1.7])
STABLE = (SYSTEM[0] - 4.0 * np.eye(3), *SYSTEM[1:])
TWO = (STABLE[0], spread(3, 2, seed=6), spread(2, 3, seed=7), spread(2, 2, seed=8))

for _interp in (True, False):
    sample("signal.lsim", *STABLE, spread(6), X[:3], **CLOSE, call=lambda f, a, b, c, d, u, x, interp=_interp: f(
        (a, b, c, d), u, TIMES, x, interp)[1:])  # fmt: skip
    sample("signal.lsim", *TWO, spread(6, 2), **CLOSE, call=lambda f, a, b, c, d, u, interp=_interp: f(
        (a, b, c, d), u, TIMES, interp=interp)[1:])  # fmt: skip
sample("signal.lsim", B, A, spread(6), call=lambda f, b, a, u: f((b, a), u, TIMES)[1:], **CLOSE)
sample("signal.step signal.impulse", B, A, call=lambda f, b, a: f((b, a), T=TIMES)[1], **CLOSE)
sample("signal.step", *STABLE, X[:3], call=lambda f, a, b, c, d, x: f((a, b, c, d), x, TIMES)[1], **CLOSE)
sample("signal.impulse", *STABLE, spread(3, 1), call=lambda f, a, b, c, d, x: f((a, b, c, d), x, TIMES)[1], **CLOSE)
sample("signal.step signal.impulse", X[:1], -X[1:], 1.3, call=lambda f, z, p, k: f((z, p, k), T=TIMES)[1], **CLOSE)
for _system in ((B, A), (np.array([0.2, 0.6]), np.array([-0.3, -0.7]), np.array(1.3)), SYSTEM):
    sample("signal.freqresp signal.bode", *_system, call=lambda f, *system: f(system, W)[1:], **CLOSE)
    sample("signal.dfreqresp signal.dbode", *_system, call=lambda f, *system: f((*system, 0.5), W)[1:], **CLOSE)
    sample("signal.dimpulse signal.dstep", *_system, call=lambda f, *system: f((*system, 0.5), n=5)[1], **CLOSE)
    sample("signal.dlsim", *_system, spread(5), call=lambda f, *given: f((*given[:-1], 0.5), given[-1])[1:], **CLOSE)
    for _method in ("zoh", "bilinear", "euler", "backward_diff", "foh"):
        sample("signal.cont2discrete", *_system, 0.4, **CLOSE,
               call=lambda f, *given, method=_method: f(given[:-1], given[-1], method))  # fmt: skip
sample("signal.cont2discrete", *SYSTEM[:3], 0.4, call=lambda f, *given: f((*given[:3], [[0.0]]), given[3], "impulse"),
       **CLOSE)  # fmt: skip
sample("signal.cont2discrete", *SYSTEM, 0.4, 0.3, call=lambda f, *given: f(given[:4], given[4], "gbt", given[5]),
       **CLOSE)  # fmt: skip
sample("signal.dlsim", *SYSTEM, spread(4), X[:3], **CLOSE,
       call=lambda f, *given: f((*given[:4], 0.5), given[4], [0.0, 0.7, 1.1, 2.0], given[5])[1:])  # fmt: skip
sample("signal.dstep", *TWO, X[:3], call=lambda f, *given: f((*given[:4], 0.5), given[4], n=4)[1], **CLOSE)
sample("signal.group_delay", B, A, call=lambda f, b, a: f((b, a), W)[1], **CLOSE)
