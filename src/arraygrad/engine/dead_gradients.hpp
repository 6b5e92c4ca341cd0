// How the engine lets go of gradients.
// May include: Python's headers. Used by evaluate.pyx and by those that begin a run.
//
// Note [Dead gradients]
// ~~~~~~~~~~~~~~~~~~~~~
// A backward makes an array for each gradient, and lets go of it one node later. Making and freeing an array costs more
// instructions than the arithmetic on a hundred numbers. So the backend gets what nobody else holds (ArrayOps.recycle),
// and hands it out again for the next gradient of its shape.
// (1) One reference is left, ours: no hook, no Tensor, no view and no rule's result has the array.
// (2) The backend decides what it keeps. It may refuse any object.
// Guarded by tests/backends/test_array_freelist.py.
#pragma once
#include <Python.h>

namespace arraygrad {

static inline void let_go(PyObject** slot, int (*recycle)(PyObject*)) {
    PyObject* dead = *slot;
    Py_INCREF(Py_None);
    *slot = Py_None;
#ifndef Py_GIL_DISABLED
    if (Py_REFCNT(dead) == 1 && recycle && recycle(dead)) return;
#else
    (void)recycle;
#endif
    Py_DECREF(dead);
}

}  // namespace arraygrad

// Of a variable, and of the gradient in a Frame: they are None then.
#define ARRAYGRAD_LET_GO(variable, recycle) arraygrad::let_go(&(variable), recycle)
#define ARRAYGRAD_LET_GO_OF_GRAD(frame, recycle) arraygrad::let_go(&(frame)->grad, recycle)
