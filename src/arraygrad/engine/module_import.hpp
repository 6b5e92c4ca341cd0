// How compiled modules import each other: what Cython writes for `cimport` calls this (see `mended` in setup.py).
//
// PyImport_ImportModule("arraygrad.core.value") ends as the statement `import arraygrad.core.value` does, with the first
// part of the name. That is the package, and while the package itself is being imported each such look takes and gives
// back its lock in Python code: 3 us, 600 times.
#pragma once

#include "Python.h"

// A new reference to the module of that dotted name, as `from name import ...` finds it. NULL with an error set.
static inline PyObject* arraygrad_import_module(const char* name) {
    PyObject* text = PyUnicode_FromString(name);
    if (text == nullptr) return nullptr;
    PyObject* wanted = PyTuple_Pack(1, text);  // not empty: the module itself is returned. A module has no submodules.
    PyObject* module = wanted == nullptr ? nullptr : PyImport_ImportModuleLevelObject(text, nullptr, nullptr, wanted, 0);
    Py_XDECREF(wanted);
    Py_DECREF(text);
    return module;
}
