"""SciPy's layout with derivatives: values by SciPy's own functions, derivatives by rules of ours.

May import: everything below, and SciPy, which is optional: `arraygrad.scipy` is imported when it is first used. Begin
with `_declare.py`; a chapter is a list of formulas, each with its source. docs/scipy.md lists them all.
"""

import importlib

from arraygrad._first_use import first_use

CHAPTERS = (
    "fft", "fftpack", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial",
    "special", "stats",
)  # fmt: skip

__all__ = [
    "NotDifferentiable", "counterparts", "fft", "fftpack", "integrate", "interpolate", "linalg", "ndimage", "optimize",
    "signal", "sparse", "spatial", "special", "stats",
]  # fmt: skip

# Rules follow the signatures and values of these versions; older ones would answer otherwise in places.
OLDEST = (1, 17)

__getattr__, __dir__ = first_use(globals(), {"NotDifferentiable": "arraygrad.scipy._guards"}, CHAPTERS)


def counterparts(*chapters):
    """dict of SciPy's functions and objects (`scipy.stats.norm`, `scipy.linalg.expm`) to ours of the same name.

    Parameters
    ----------
    *chapters : str
        Chapters wanted ("stats", "linalg", ...); all by default. Each is imported, and SciPy's module with it.
    """
    found = {}
    for chapter in chapters or CHAPTERS:
        for name, ours in _named(chapter).items():
            theirs = importlib.import_module(f"scipy.{chapter}")
            for part in name.split(".")[1:]:
                theirs = getattr(theirs, part, None)
            if theirs is not None and theirs is not ours:
                found[theirs] = ours
    return found


def serves(version):
    """Whether the rules hold for this version of SciPy, given as text."""
    return tuple(int(part) for part in version.split(".")[:2]) >= OLDEST


def _named(chapter):
    """dict of dotted name below scipy to our function or object; methods are reached through their objects."""
    module = importlib.import_module(f"arraygrad.scipy.{chapter}")
    from arraygrad.scipy._declare import REGISTRY

    objects = {f"{chapter}.{name}": value for name, value in getattr(module, "OBJECTS", {}).items()}
    found = dict(objects)
    for name, rule in REGISTRY.items():
        if name.startswith(f"{chapter}.") and not any(name.startswith(f"{owner}.") for owner in objects):
            found[name] = rule.function
    return found
