// Whether the garbage collector has to see a node that is complete, and where a node's references stand.
// May include: untracked.hpp, whose Note [What the collector does not see] this is (1) of, Python's headers.
#pragma once
#include <Python.h>

#include "untracked.hpp"

namespace arraygrad {

constexpr int HEAD = 6;          // references in every node: e0, e1, meta, hooks, g0, op
constexpr int TAIL = 5;          // references in whole nodes only: more, s0, s1, s2, args

struct NodeLayout {
    Py_ssize_t weak;             // offset of the weak references; the vtable stands before, HEAD references after it
    Py_ssize_t tail;             // offset of the TAIL references
    Py_ssize_t whole;            // size of a whole node
    Py_ssize_t bare;             // size of a node without its end
};

inline NodeLayout layout;       // set by node.pyx before there are nodes

inline PyObject** slot_at(PyObject* node, Py_ssize_t offset) {
    return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(node) + offset);
}
inline PyObject** head_of(PyObject* node) { return slot_at(node, layout.weak) + 1; }
inline PyObject** tail_of(PyObject* node) { return slot_at(node, layout.tail); }
inline bool is_bare(PyTypeObject* type) { return type->tp_basicsize < layout.whole; }

constexpr int NESTED = 4;        // how deep tuples and lists of static arguments are looked into

#ifndef Py_GIL_DISABLED
// Whether an object can never lead to a Tensor or a node: the collector has no business with it.
inline bool is_plain(PyObject* o, int depth) {
    PyTypeObject* type = Py_TYPE(o);
    if (!PyType_IS_GC(type)) return true;
    if (PyType_Check(o)) return !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o), Py_TPFLAGS_HEAPTYPE);
    if (!depth) return false;
    if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) {
            PyObject* item = PySequence_Fast_GET_ITEM(o, i);
            if (item && !is_plain(item, depth - 1)) return false;
        }
        return true;
    }
    if (PySlice_Check(o)) {
        auto* s = reinterpret_cast<PySliceObject*>(o);
        return is_plain(s->start, depth - 1) && is_plain(s->stop, depth - 1) && is_plain(s->step, depth - 1);
    }
    return false;
}

// A list of a node's that nodes share: the first one untracked it. Nothing is put into such a list later.
inline bool was_plain(PyObject* o) { return PyList_CheckExact(o) && !is_seen(o); }

inline bool is_closed_edge(PyObject* next) { return next == Py_None || !is_seen(next); }

// Whether nothing that a node holds leads to the program's own objects. `plain`: its saved values are arrays or numbers.
inline bool is_closed(PyObject* node, bool plain) {
    PyObject** head = head_of(node);             // e0, e1, meta, hooks, g0, op
    if (!is_closed_edge(head[0]) || !is_closed_edge(head[1]) || head[3] != Py_None || head[4] != Py_None) return false;
    if (is_bare(Py_TYPE(node))) return true;
    PyObject** tail = tail_of(node);             // more, s0, s1, s2, args
    if (tail[0] != Py_None) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tail[0]); i += 2) {
            if (!is_closed_edge(PyList_GET_ITEM(tail[0], i))) return false;
        }
    }
    if (plain && tail[TAIL - 1] == Py_None && !PyList_CheckExact(tail[1])) return true;
    for (int i = 1; i < TAIL; i++) {
        if (tail[i] != Py_None && !was_plain(tail[i]) && !is_plain(tail[i], NESTED)) return false;
    }
    for (int i = 1; i < TAIL; i++) {
        if (PyList_CheckExact(tail[i]) && is_seen(tail[i])) PyObject_GC_UnTrack(tail[i]);
    }
    return true;
}
#endif

// Tracks a complete node, unless nothing that it holds leads to the program's own objects. Returns whether it did.
inline bool settle_node(PyObject* node, bool plain) {
#ifndef Py_GIL_DISABLED
    if (untracks_now() && is_closed(node, plain)) return false;
    track(node);
#else
    (void)node;
    (void)plain;
#endif
    return true;
}

// Tracks a node of which the caller knows whether what it holds may lead back to it.
inline void settle_end(PyObject* node, bool leads_back) {
#ifndef Py_GIL_DISABLED
    if (leads_back || !untracks_now()) track(node);
#else
    (void)node;
    (void)leads_back;
#endif
}

}  // namespace arraygrad
