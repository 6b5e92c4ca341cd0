"""The classes of generated calls: each module of this folder that has a `draw`. Imports nothing of arraygrad."""

import importlib
import pkgutil
import zlib

import numpy as np

OTHER = {
    "spelling",
    "arrays_of_numpy",
    "calls_of_numpy",
    "drawn_arrays",
    "classes",
    "test_spellings",
    "test_truth_values",
    "__main__",
}


def classes():
    """Module of each class by its name."""
    package = importlib.import_module(__package__)
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__))
    names = [name for name in names if name not in OTHER and not name.startswith("test_")]
    return {name: importlib.import_module(f"{__package__}.{name}") for name in names}


def drawn(name, module, seed):
    """The member of a class that belongs to a seed: the same in every run."""
    return module.draw(np.random.default_rng([zlib.crc32(name.encode()), seed]))
