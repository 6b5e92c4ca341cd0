// How compiled modules import each other: what Cython writes for `cimport` calls this (packaging/mending.py). The
// functions stand in _compiled.pyx: Note [Loading] there.
#pragma once

#include "Python.h"

// A new reference to the module of that dotted name, as `from name import ...` finds it. NULL with an error set.
extern "C" PyObject* arraygrad_import_module(const char* name);

// Imports the modules of these dotted names, each with a zero behind it. -1 with an error set.
extern "C" int arraygrad_require_modules(const char* names);

// PyTraceBack_Here for a call that has failed. Where it has set no exception, a SystemError is set first.
inline int arraygrad_traceback_here(PyFrameObject* frame) {
  if (!PyErr_Occurred())
    PyErr_SetString(PyExc_SystemError, "a call failed without setting an exception");
  return PyTraceBack_Here(frame);
}

// A function or variable of one module that others use. The library alone sees it, under its own name.
#if defined(_WIN32)
#define ARRAYGRAD_SHARED extern "C"
#define ARRAYGRAD_SHARED_DATA
#else
#define ARRAYGRAD_SHARED extern "C" __attribute__((visibility("hidden")))
#define ARRAYGRAD_SHARED_DATA __attribute__((visibility("hidden")))
#endif
