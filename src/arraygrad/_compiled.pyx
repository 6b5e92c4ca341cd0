"""The library that holds every compiled module of arraygrad, and how `import` finds them in it.

May import: the standard library only; modules.hpp is written by setup.py. One file for all of them: each file of its
own would cost an import a search of the folders and a call of the dynamic linker, a fifth of the whole. Python finds
this module by the library's name; the others it asks `Finder` for, which knows their names from the library itself.
"""

import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec

cdef extern from "modules.hpp":
    const char* ARRAYGRAD_MODULES  # the dotted names, a blank between them

__all__ = ["NAMES", "Finder", "install"]

NAMES = frozenset(ARRAYGRAD_MODULES.decode().split())
cdef frozenset names = NAMES
cdef object library = __spec__.origin


class Finder:
    """Answers `import` for the modules in the library, and for nothing else. See `importlib.abc.MetaPathFinder`."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """The spec of one of NAMES: the module is the library's function PyInit_<last part>. None for other names."""
        if fullname not in names:
            return None
        spec = ModuleSpec(fullname, ExtensionFileLoader(fullname, library), origin=library)
        spec.has_location = True  # what makes __file__
        return spec


def install():
    """Makes the modules importable. Before all other finders: a file of the same name is an older build's."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
