// The Python floats in which gradients that are single numbers wait in nodes: Note [Numbers] in numbers.pyx.
// May include: Python's headers. Used by numbers.pyx alone.
#pragma once
#include <Python.h>

namespace arraygrad {

// Floats that nobody else holds, for the next numbers of a run: one comes from each node that has run, and one goes to
// each that a first number arrives at.
struct FloatBoxes {
    enum { ROOM = 8 };
    PyObject* spare[ROOM];
    int n = 0;

    ~FloatBoxes() {
        while (n) Py_DECREF(spare[--n]);
    }
};

// The float that waits in a node leaves it.
template <class Node>
static inline void take_box(FloatBoxes& boxes, Node* node) {
    PyObject* const held = (PyObject*)node->g0;
    *(PyObject**)&node->g0 = Py_NewRef(Py_None);
    if (Py_REFCNT(held) == 1 && boxes.n < FloatBoxes::ROOM) boxes.spare[boxes.n++] = held;
    else Py_DECREF(held);
}

// x waits in a node whose slot is empty. False: no memory, an exception is set.
template <class Node>
static inline bool put_box(FloatBoxes& boxes, Node* node, double x) {
    PyObject* box;
    if (boxes.n) {
        box = boxes.spare[--boxes.n];
        ((PyFloatObject*)box)->ob_fval = x;
    } else if (!(box = PyFloat_FromDouble(x))) {
        return false;
    }
    PyObject* const empty = (PyObject*)node->g0;
    *(PyObject**)&node->g0 = box;
    Py_DECREF(empty);
    return true;
}

}  // namespace arraygrad
