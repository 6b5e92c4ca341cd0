// How compiled modules give references up where that happens rarely: on the way out with an error, and in functions that
// are seldom called (packaging/mending.py puts these names in the place of Python's). Python's macros copy 20 bytes of
// code to each place, from Python 3.12 on at any level of optimisation. A call takes 8.
#pragma once

#include "Python.h"

#if defined(_MSC_VER)
__declspec(noinline)
#else
__attribute__((cold, noinline))
#endif
inline void arraygrad_drop(PyObject* object) noexcept {
  Py_DECREF(object);
}

// __Pyx_DECREF, __Pyx_XDECREF, __Pyx_DECREF_SET and __Pyx_XDECREF_SET. As theirs, the arguments are evaluated once.
#define ARRAYGRAD_DECREF(reference) arraygrad_drop((PyObject*)(reference))
#define ARRAYGRAD_XDECREF(reference)                       \
  do {                                                     \
    PyObject* arraygrad_object = (PyObject*)(reference);   \
    if (arraygrad_object != NULL)                          \
      arraygrad_drop(arraygrad_object);                    \
  } while (0)
#define ARRAYGRAD_DECREF_SET(variable, value)              \
  do {                                                     \
    PyObject* arraygrad_before = (PyObject*)(variable);    \
    variable = value;                                      \
    arraygrad_drop(arraygrad_before);                      \
  } while (0)
#define ARRAYGRAD_XDECREF_SET(variable, value)             \
  do {                                                     \
    PyObject* arraygrad_before = (PyObject*)(variable);    \
    variable = value;                                      \
    ARRAYGRAD_XDECREF(arraygrad_before);                   \
  } while (0)
