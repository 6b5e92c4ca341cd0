"""What can be tested: each backend's library, the anchor that it is compared with, and its expected failures.

May import: expected.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path

from .expected import Expectation, read

EXPECTED = Path(__file__).parent / "expected"


@dataclass(frozen=True)
class Backend:
    """A backend of arraygrad as the suite meets it."""

    name: str
    library: str
    """Top-level module that must be importable."""
    anchor: str
    """The library's own Array-API namespace, whose score stands beside ours."""
    environment: dict[str, str] = field(default_factory=dict)
    """Set for our run and for the anchor's, so that both face the same tests."""

    @property
    def module(self) -> str:
        """Our namespace, in the suite's notation for one that must be made."""
        return f"exec('import arraygrad; xp = arraygrad.namespace(\"{self.name}\")')"

    @property
    def recording_module(self) -> str:
        """Our namespace with every new floating array requiring grad."""
        return f"exec('import conformance.recording as r; xp = r.recording_namespace(\"{self.name}\")')"

    def missing(self) -> list[str]:
        """Top-level modules that the two namespaces need and that are not installed."""
        return [m for m in (self.library, self.anchor.partition(".")[0]) if importlib.util.find_spec(m) is None]


BACKENDS = {
    b.name: b
    for b in (
        Backend("numpy", "numpy", "array_api_compat.numpy"),
        Backend("array_api_strict", "array_api_strict", "array_api_strict"),
        # torch has only a few functions for these dtypes; upstream leaves them out as well.
        Backend("torch", "torch", "array_api_compat.torch", {"ARRAY_API_TESTS_SKIP_DTYPES": "uint16,uint32,uint64"}),
        # Without it jax has no float64, which the standard's default dtypes need.
        Backend("jax", "jax", "jax.numpy", {"JAX_ENABLE_X64": "1"}),
        Backend("cupy", "cupy", "array_api_compat.cupy"),
        Backend("dask", "dask", "array_api_compat.dask.array"),
    )
}


def expectations(backend: str, version: str | None, requires_grad: bool) -> list[Expectation]:
    """Failures expected of a run: the backend's faults, an older version's rules, and what recording refuses.

    Parameters
    ----------
    backend
        Name in BACKENDS.
    version
        Version of the standard that the suite is told to test; None: the newest.
    requires_grad
        Whether new floating arrays require grad.
    """
    names = [backend]
    # Versions are dates, so text compares as they do; "draft" comes after all of them.
    if version is not None and version < "2025.12":
        names.append("before-2025.12")
    if requires_grad:
        names.append("requires-grad")
    return [e for name in names if (EXPECTED / f"{name}.txt").is_file() for e in read(EXPECTED / f"{name}.txt")]
