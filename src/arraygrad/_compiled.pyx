"""The library that holds every compiled module of arraygrad, and how `import` finds them in it.

May import: the standard library only; modules.hpp is written by setup.py. One file for all of them: each file of its
own would cost an import a search of the folders and a call of the dynamic linker, a fifth of the whole. Python finds
this module by the library's name; the others it asks `Finder` for, which knows their names from the library itself.

Compiled modules load each other without asking Python's machinery, which takes longer over each than most of them take
to run (Note [Loading]).
"""

import sys
from importlib import _bootstrap
from importlib.machinery import ExtensionFileLoader, ModuleSpec

from cpython.object cimport PyObject
from libc.string cimport strlen

cdef extern from "Python.h":
    ctypedef struct PyModuleDef
    object PyModule_FromDefAndSpec(PyModuleDef* definition, object spec)
    int PyModule_ExecDef(object module, PyModuleDef* definition) except -1
    object PyImport_ImportModuleLevelObject(object name, PyObject* globals, PyObject* locals, object names, int level)

cdef extern from "modules.hpp":
    ctypedef PyObject* (*module_init)() except NULL     # borrowed: nobody counts references to a definition
    ctypedef struct CompiledModule:
        const char* name        # dotted
        module_init init        # PyInit_<last part>: gives the module's definition
    const CompiledModule ARRAYGRAD_MODULES[]
    const int ARRAYGRAD_MODULE_COUNT

__all__ = ["NAMES", "Finder", "install"]

cdef dict places = {ARRAYGRAD_MODULES[i].name.decode(): i for i in range(ARRAYGRAD_MODULE_COUNT)}
cdef object library = __spec__.origin
# locked(name): holds the lock of a module that is being imported. None where this Python has no such thing: see (3).
cdef object locked = getattr(_bootstrap, "_ModuleLockManager", None)
NAMES = frozenset(places)


class Finder:
    """Answers `import` for the modules in the library, and for nothing else. See `importlib.abc.MetaPathFinder`."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """The spec of one of NAMES: the module is the library's function PyInit_<last part>. None for other names."""
        return spec_of(fullname) if fullname in places else None


def install():
    """Makes the modules importable. Before all other finders: a file of the same name is an older build's."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)


# Note [Loading]
# ~~~~~~~~~~~~~~
# Each compiled module imports some ten others as it starts, which is nearly all that many of them do then. By Python's
# machinery it takes 8000 instructions to find that a module is there already, and 130 000 to find one in this library
# and to make it. So `cimport` calls `arraygrad_import_module` (setup.py puts that into what Cython writes), where
#
# (1) a module that is there and complete is returned at once;
# (2) one that is not there is made here, as Python makes it: under the lock of that module, on which other threads that
#     import it wait. It has the same attributes, stands in sys.modules while it runs and no longer if it fails, and is
#     an attribute of its package when it has run;
# (3) all else is left to Python, which knows what to do about a module that is being imported.
#
# Guarded by tests/package/test_compiled_modules.py.

cdef public object arraygrad_import_module(const char* name):
    """The module of that dotted name, as `from name import ...` finds it."""
    cdef str wanted = name.decode()
    module = sys.modules.get(wanted)
    if module is None:
        if wanted in places and locked is not None:
            return loaded(wanted)   # (2)
    elif not is_being_imported(module):
        return module               # (1)
    return PyImport_ImportModuleLevelObject(wanted, NULL, NULL, (wanted,), 0)   # (3)


cdef public int arraygrad_require_modules(const char* names) except -1:
    """Imports the modules of these dotted names, each with a zero behind it."""
    while names[0]:
        arraygrad_import_module(names)
        names += strlen(names) + 1
    return 0


cdef bint is_being_imported(module) except -1:
    """Whether a module has begun to run, and not ended. Modules of others need not say."""
    return getattr(getattr(module, "__spec__", None), "_initializing", False)


cdef object spec_of(str name):
    spec = ModuleSpec(name, ExtensionFileLoader(name, library), origin=library)
    spec.has_location = True    # what makes __file__
    return spec


cdef object loaded(str name):
    """A module of the library, made and run."""
    parent_name, _, last = name.rpartition(".")
    with locked(name):
        parent = sys.modules.get(parent_name)
        if parent is None:
            parent = PyImport_ImportModuleLevelObject(parent_name, NULL, NULL, (last,), 0)
        module = sys.modules.get(name)
        if module is None:      # neither another thread has made it, nor its package as it ran
            module = made(name)
            setattr(parent, last, module)
        return module


cdef object made(str name):
    cdef PyModuleDef* definition = <PyModuleDef*>ARRAYGRAD_MODULES[<int>places[name]].init()
    spec = spec_of(name)
    module = PyModule_FromDefAndSpec(definition, spec)
    module.__spec__ = spec
    spec._initializing = True
    sys.modules[name] = module
    try:
        PyModule_ExecDef(module, definition)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    finally:
        spec._initializing = False
    return module
