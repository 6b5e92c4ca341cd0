"""One call or more of each declared function, with the arrays it is differentiated in: `SAMPLES`.

May import: numpy. A sample is (name, call, arrays, options); `call(f, *arrays)` calls ours or SciPy's function. Options
are those of `differences.check`. Chapters add theirs by `sample`.
"""

import numpy as np

SAMPLES = []


def plain(f, *arrays):
    return f(*arrays)


def sample(name, *arrays, call=plain, **options):
    """Add a sample of the functions named, separated by blanks."""
    for one in name.split():
        SAMPLES.append((one, call, [np.asarray(a, dtype=complex if np.iscomplexobj(a) else float) for a in arrays],
                        options))  # fmt: skip


def spread(*shape, low=0.3, high=1.9, seed=0):
    """Distinct numbers between `low` and `high` in no order."""
    n = int(np.prod(shape))
    rng = np.random.default_rng([seed, n])
    return (low + (high - low) * rng.permutation((np.arange(n) + 0.3 + 0.4 * rng.uniform(size=n)) / n)).reshape(shape)


def positive_definite(n, seed=0):
    """A symmetric matrix with eigenvalues well apart from zero and from each other."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))
    return q @ np.diag(1.0 + 0.8 * np.arange(n)) @ q.T


X = spread(4)
UNIT = spread(4, low=0.15, high=0.85)
SIGNED = spread(4, low=-1.6, high=1.6)
A, B = spread(4, low=1.1, high=2.6, seed=1), spread(4, low=0.7, high=2.2, seed=2)
M = spread(3, 4, seed=3)
COV = positive_definite(3)
