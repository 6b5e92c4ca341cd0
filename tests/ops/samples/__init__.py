"""Samples of every differentiable operation, one module per chapter of the table.

Each chapter's module has SAMPLES: name of the operation -> list of `Case`; `variants` adds to every chapter. An
operation without samples fails tests/ops/test_gradients.py.
"""

from samples import (
    beyond,
    creation,
    data_type,
    elementwise,
    fft,
    indexing,
    internal,
    linalg,
    linear_algebra,
    manipulation,
    searching,
    set,
    sorting,
    special,
    statistical,
    utility,
    variants,
)
from samples._case import Case

_CHAPTERS = (
    beyond,
    creation,
    data_type,
    elementwise,
    fft,
    indexing,
    internal,
    linalg,
    linear_algebra,
    manipulation,
    searching,
    set,
    sorting,
    special,
    statistical,
    utility,
    variants,
)


def samples(name: str) -> list[Case]:
    """The cases of an operation, by its name in the table; empty if it has none."""
    return [case for chapter in _CHAPTERS for case in chapter.SAMPLES.get(name, ())]
