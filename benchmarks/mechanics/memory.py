"""Resident memory of this process, from the kernel (Linux). May import: the standard library."""

from __future__ import annotations

import os
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    """Bytes that are resident now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE


def reset_peak() -> None:
    """The kernel's peak becomes what is resident now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak() -> int:
    """Most bytes that were resident since reset_peak()."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("the kernel reports no VmHWM")
