// How Tensors and Values are freed, as far as it takes C. Used by value.pyx alone.
// May include: Python's headers.
#pragma once
#include <Python.h>

namespace arraygrad {

// The reference to the array was taken over.
template <class Value>
static inline void forget_raw(Value* value) {
    value->raw = nullptr;
}

// Frees a Tensor by `base`; `own` is its type's deallocation. A chain of Tensors, each the .grad of the one before, is
// freed one after the other however long it is: CPython's trashcan.
static inline void free_deep(PyObject* tensor, destructor own, destructor base) {
    PyObject_GC_UnTrack(tensor);
    Py_TRASHCAN_BEGIN(tensor, own)
    base(tensor);
    Py_TRASHCAN_END
}

}  // namespace arraygrad
