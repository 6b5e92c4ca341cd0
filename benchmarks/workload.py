"""What a timed workload is: its data, its formula (one text for every library) and its hand-written NumPy gradient.

May import: numpy, libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .libraries import Library

Run = Callable[[], list[Any]]
"""One forward and backward. Returns [value, gradient of leaf 0, gradient of leaf 1, ...]."""


@dataclass(frozen=True)
class Data:
    """Inputs of one workload, as NumPy arrays.

    leaves: what the gradient is taken of. constants: everything else the formula reads. seed: gradient of the result,
    None where the result is a scalar loss. vectors: one per leaf, for Hessian-vector products only.
    """

    leaves: Sequence[np.ndarray]
    constants: SimpleNamespace = field(default_factory=SimpleNamespace)
    seed: np.ndarray | None = None
    vectors: Sequence[np.ndarray] | None = None


@dataclass(frozen=True)
class Workload:
    """One row of the table of ratios.

    bar, moonshot: ratios over hand that are to be reached (docs/performance.md).
    data: makes the inputs as they are timed. tiny: the same, small and in float64, for the tests.
    formula: (library, data) -> f(*leaves) -> result, in terms of library.xp and the library's methods only.
    hand: data -> Run, the leanest NumPy forward and backward that a careful user would write.
    kind: what is taken of the formula: "gradient" (a backward from the result), "function" (value and gradient by the
    library's transform of functions, of code in terms of library.plain), "hessian" or "jacobian" (the one matrix).
    without: libraries that are not timed, with the reason.
    """

    name: str
    title: str
    bar: float
    moonshot: float
    data: Callable[[], Data]
    tiny: Callable[[], Data]
    formula: Callable[[Library, Data], Callable[..., Any]]
    hand: Callable[[Data], Run]
    kind: str = "gradient"
    without: dict[str, str] = field(default_factory=dict)

    def run_of(self, library: Library, data: Data) -> Run:
        """Forward and backward of the formula in `library`."""
        f = self.formula(library, data)
        if data.vectors is not None:
            return library.hessian_vector(f, data.leaves, data.vectors)
        if self.kind == "function":
            return library.function(f, data.leaves)
        if self.kind != "gradient":
            return library.matrix(self.kind, f, data.leaves[0])
        return library.gradient(f, data.leaves, data.seed)
