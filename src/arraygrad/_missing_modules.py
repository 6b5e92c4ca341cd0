"""What an import of a module that arraygrad has not says: `from arraygrad.misc.optimizers import adam`.

May import: _hints.

A module that is missing stays missing: every hint is the text of a ModuleNotFoundError that would be raised anyway.
The finder is the last of `sys.meta_path`, so it is asked when no other one has found the module, and has an answer
for imports of arraygrad's modules alone: `importlib.util.find_spec` gives None as ever.
"""

import sys

from arraygrad._hints import missing_module

__all__ = ["install"]


class Finder:
    """Finds nothing, and says what to write in place of an import."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """None, or a ModuleNotFoundError for a module of arraygrad that an import asks for."""
        if not name.startswith("arraygrad.") or not _is_imported():
            return None
        hint = missing_module(name)
        if hint is not None:
            raise ModuleNotFoundError(f"No module named {name!r}: {hint}", name=name)
        return None


def _is_imported():
    """Whether an import asks, not `importlib.util.find_spec`."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_name == "_find_spec":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == "_find_and_load_unlocked"


def install():
    """Have imports of missing modules say what to write."""
    if Finder not in sys.meta_path:
        sys.meta_path.append(Finder)
