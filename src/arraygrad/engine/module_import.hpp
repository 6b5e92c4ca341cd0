// How compiled modules import each other: what Cython writes for `cimport` calls this (see `mended` in setup.py). It
// stands in _compiled.pyx: Note [Loading] there.
#pragma once

#include "Python.h"

// A new reference to the module of that dotted name, as `from name import ...` finds it. NULL with an error set.
extern "C" PyObject* arraygrad_import_module(const char* name);
