// The memory of nodes: where it comes from, how it is given back, what the garbage collector sees of it.
// May include: settled.hpp, Python's headers. Used by node.pyx alone.
//
// Note [Freeing a graph]
// ~~~~~~~~~~~~~~~~~~~~~~
// A node owns the nodes it leads to, so the last reference to a result frees a chain as long as the program was. Left
// to ordinary deallocation that recurses once per node and overflows the C stack at about 10^5 nodes. So a node whose
// turn comes while DEPTH others are being freed on this thread is put on a list (linked through its weak reference
// slot, which is empty by then), and the frame at that depth frees what is on the list, one after the other. Classes
// with a deallocation of their own, those of Python among them, use it up and are bounded by CPython's trashcan.
// Cycles (a leaf whose .grad has a graph that leads back to the leaf) are found by the garbage collector.
// Guarded by test_DG1_* and test_CP4_*.
//
// Note [Bare nodes]
// ~~~~~~~~~~~~~~~~~
// What rules keep stands at the end of a node. A class of nodes that keep nothing (of sums, differences, negatives) has
// the same layout without that end: its instances are shorter by LAYOUT.whole - LAYOUT.bare bytes, and nobody may look
// there. All other classes, and everything that names a saved slot, mean whole nodes.
//
// Note [Nodes and the collector]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// CPython collects after so many allocations more than frees, and looks at every young object then: a third of the time
// of a graph of 20,000 small nodes, which free themselves without it. A block that is kept for the next node does not
// count as an allocation, so a program that makes and frees such a graph again and again is left alone. Graphs that
// only the collector can free never come back to the kept blocks: theirs are new ones, and count.
// Slots that hold None are not shown to the collector. All else is, arrays too: gc.get_referents lists what is kept.
// Which nodes it sees at all: Note [What the collector does not see] in untracked.hpp.
// Guarded by test_CP4_*, and by tests/engine/test_node_memory.py.
#pragma once
#include <Python.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <unordered_set>
#include <vector>

#include "settled.hpp"

namespace arraygrad {

constexpr int DEPTH = 16;
constexpr int KEPT = 1 << 14;    // free blocks of each size that are kept for the next nodes, 4 MB at most in all

static std::atomic<std::int64_t> live_nodes;
struct Freeing {
    PyObject* waiting;           // nodes that are put off
    int depth;                   // how many are being freed
};
static thread_local Freeing freeing;

#ifndef Py_GIL_DISABLED
static PyObject* kept_nodes[2];  // linked through their weak reference slots
static int n_kept[2];
static Py_ssize_t n_taken[2];    // blocks given out by alloc_node and not given back: nodes that others allocate
                                 // are freed here too, and would pile up if more were kept than are asked for
#endif

// Counting to None once for several slots: before Python 3.12 it has a count like any object.
static inline void count_none(Py_ssize_t n) {
#if PY_VERSION_HEX < 0x030C0000
    Py_SET_REFCNT(Py_None, Py_REFCNT(Py_None) + n);
#else
    (void)n;
#endif
}

template <int N> static inline Py_ssize_t drop(PyObject** slots) {      // how many were None
    Py_ssize_t nones = 0;
#if defined(__GNUC__)
#pragma GCC unroll 8
#endif
    for (int i = 0; i < N; i++) {
        if (slots[i] == Py_None) nones++;
        else Py_XDECREF(slots[i]);
    }
    return nones;
}

// Takes over the one reference to an array that is kept for the next one of its kind, or says no. Set by a backend.
static int (*recycler)(PyObject* array) = nullptr;

// What a node keeps of static arguments is about to go: copies of the program's arrays of indices and orders, which the
// next call of the kind asks for again.
static void recycle_args(PyObject* args) {
#ifndef Py_GIL_DISABLED
    if (!recycler || !PyList_CheckExact(args) || Py_REFCNT(args) != 1) return;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args); i++) {
        PyObject* item = PyList_GET_ITEM(args, i);
        if (!item || Py_REFCNT(item) != 1) continue;
        if (PyTuple_CheckExact(item)) {                             // several arrays of indices
            for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(item); k++) {
                PyObject* part = PyTuple_GET_ITEM(item, k);
                if (part && Py_REFCNT(part) == 1 && recycler(part)) PyTuple_SET_ITEM(item, k, nullptr);
            }
        } else if (recycler(item)) {
            PyList_SET_ITEM(args, i, nullptr);
        }
    }
#else
    (void)args;
#endif
}

static void free_node(PyObject* node) {
    PyTypeObject* type = Py_TYPE(node);
    const bool bare = is_bare(type);
    Py_ssize_t nones = drop<HEAD>(head_of(node));
    if (!bare) {
        recycle_args(tail_of(node)[TAIL - 1]);
        nones += drop<TAIL>(tail_of(node));
    }
    count_none(-nones);
#if defined(ARRAYGRAD_DEBUG) && ARRAYGRAD_DEBUG
    live_nodes.fetch_sub(1);
#endif
#ifndef Py_GIL_DISABLED
    if (n_taken[bare] > 0 && (bare || type->tp_basicsize == layout.whole) && type->tp_free == free_block) {
        n_taken[bare]--;
        if (n_kept[bare] < KEPT) {
            *slot_at(node, layout.weak) = kept_nodes[bare];
            kept_nodes[bare] = node;
            n_kept[bare]++;
            return;
        }
    }
#endif
    type->tp_free(node);
}

static void dealloc_node(PyObject* node) {
    PyObject_GC_UnTrack(node);
    PyObject** weak = slot_at(node, layout.weak);
    if (*weak) PyObject_ClearWeakRefs(node);
    Freeing& here = freeing;
    if (here.depth >= DEPTH && Py_TYPE(node)->tp_dealloc == dealloc_node) {
        *weak = here.waiting;
        here.waiting = node;
        return;
    }
    const bool drains = ++here.depth == DEPTH;
    free_node(node);
    while (drains && here.waiting) {
        PyObject* next = here.waiting;
        weak = slot_at(next, layout.weak);
        here.waiting = *weak;
        *weak = nullptr;
        free_node(next);
    }
    --here.depth;
}

static int visit_slots(PyObject** slots, int n, visitproc visit, void* arg) {
    for (int i = 0; i < n; i++) {
        if (slots[i] != Py_None) Py_VISIT(slots[i]);
    }
    return 0;
}

static int traverse_node(PyObject* node, visitproc visit, void* arg) {
    const int rc = visit_slots(head_of(node), HEAD, visit, arg);
    if (rc || is_bare(Py_TYPE(node))) return rc;
    return visit_slots(tail_of(node), TAIL, visit, arg);
}

static void clear_slots(PyObject** slots, int n) {
    for (int i = 0; i < n; i++) {
        PyObject* old = slots[i];
        Py_INCREF(Py_None);
        slots[i] = Py_None;
        Py_XDECREF(old);
    }
}

static int clear_node(PyObject* node) {
    clear_slots(head_of(node), HEAD);
    if (!is_bare(Py_TYPE(node))) clear_slots(tail_of(node), TAIL);
    return 0;
}

// Tracks a node and all that it leads to, behind tracked ones too. -1 with an error: no memory.
static int track_below(PyObject* node) {
#ifndef Py_GIL_DISABLED
    if (!untracks) return 0;
    std::vector<PyObject*> found;
    std::unordered_set<PyObject*> seen;
    try {
        found.push_back(node);
        while (!found.empty()) {
            PyObject* one = found.back();
            found.pop_back();
            if (!seen.insert(one).second) continue;
            track(one);
            PyObject** head = head_of(one);
            for (int i = 0; i < 2; i++) {
                if (head[i] != Py_None) found.push_back(head[i]);
            }
            PyObject* more = is_bare(Py_TYPE(one)) ? Py_None : tail_of(one)[0];
            for (Py_ssize_t i = 0; more != Py_None && i < PyList_GET_SIZE(more); i += 2) {
                if (PyList_GET_ITEM(more, i) != Py_None) found.push_back(PyList_GET_ITEM(more, i));
            }
        }
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
        return -1;
    }
    spent += seen.size();
    if (!may_search()) track_all();
#else
    (void)node;
#endif
    return 0;
}

// Memory for a new node of a compiled class that adds no fields.
static inline PyObject* node_block(PyTypeObject* type, bool bare) {
    PyObject* node;
#ifndef Py_GIL_DISABLED
    n_taken[bare]++;
    if (n_kept[bare]) {
        node = kept_nodes[bare];
        kept_nodes[bare] = *slot_at(node, layout.weak);
        n_kept[bare]--;
        PyObject_Init(node, type);
    } else
#endif
    {
        node = new_block(type);
        if (!node) return nullptr;
    }
#if defined(ARRAYGRAD_DEBUG) && ARRAYGRAD_DEBUG
    live_nodes.fetch_add(1);
#endif
    return node;
}

// A new node: everything zero, every reference None.
static PyObject* alloc_node(void* cls, void* vtable) {
    PyTypeObject* type = static_cast<PyTypeObject*>(cls);
    const bool bare = is_bare(type);
    PyObject* node = node_block(type, bare);
    if (!node) return nullptr;
    std::memset(reinterpret_cast<char*>(node) + sizeof(PyObject), 0, type->tp_basicsize - sizeof(PyObject));
    *slot_at(node, layout.weak - static_cast<Py_ssize_t>(sizeof(void*))) = static_cast<PyObject*>(vtable);
    PyObject** head = head_of(node);
    for (int i = 0; i < HEAD; i++) head[i] = Py_None;
    if (!bare) {
        PyObject** tail = tail_of(node);
        for (int i = 0; i < TAIL; i++) tail[i] = Py_None;
    }
    count_none(bare ? HEAD : HEAD + TAIL);
#ifdef Py_GIL_DISABLED
    PyObject_GC_Track(node);
#endif
    return node;
}

template <class Slot> static inline Py_ssize_t fill(Slot** slot, PyObject* value) {      // references to None that it took
    *slot = reinterpret_cast<Slot*>(value ? value : Py_None);
    return !value;
}

// A new node that holds `parts` (NodeParts), and of the rest as much as alloc_node sets.
template <class Node, class Parts>
static inline PyObject* alloc_node_of(void* cls, void* vtable, const Parts* parts, Node*) {
    PyTypeObject* type = static_cast<PyTypeObject*>(cls);
    const bool bare = is_bare(type);
    Node* const node = reinterpret_cast<Node*>(node_block(type, bare));
    if (!node) {
        Py_XDECREF(parts->s0);
        Py_XDECREF(parts->s1);
        return nullptr;
    }
    Py_XINCREF(parts->e0);
    Py_XINCREF(parts->e1);
    Py_INCREF(parts->meta);
    Py_INCREF(parts->op);
    PyObject* const object = reinterpret_cast<PyObject*>(node);
    *slot_at(object, layout.weak - static_cast<Py_ssize_t>(sizeof(void*))) = static_cast<PyObject*>(vtable);
    node->__weakref__ = nullptr;
    Py_ssize_t nones = 2 + fill(&node->e0, parts->e0) + fill(&node->e1, parts->e1);
    node->meta = parts->meta;
    fill(&node->hooks, nullptr);
    node->g0 = Py_None;
    node->op = parts->op;
    node->stamp = 0;
    node->deps = 0;
    node->rflags = 0;
    node->flags = static_cast<std::uint16_t>(parts->flags);
    node->n0 = parts->n0;
    node->n1 = parts->n1;
    node->n_edges = parts->n_edges;
    node->n_inputs = 1;
    node->topo = parts->topo;
    node->thread_id = parts->thread_id;
    if (!bare) {
        nones += 3 + fill(&node->s0, parts->s0) + fill(&node->s1, parts->s1);
        fill(&node->more, nullptr);
        node->s2 = node->args = Py_None;
        node->print = 0;
        node->gate = 0;
    }
    count_none(nones);
#ifdef Py_GIL_DISABLED
    PyObject_GC_Track(object);
#endif
    return object;
}

// Once, before other nodes are made: `head_end` is where the fields end that every node has.
static void use_layout(void* cls, Py_ssize_t head_end) {
    PyTypeObject* type = static_cast<PyTypeObject*>(cls);
    layout.weak = type->tp_weaklistoffset;
    layout.tail = layout.bare = (head_end + alignof(PyObject*) - 1) / alignof(PyObject*) * alignof(PyObject*);
    layout.whole = type->tp_basicsize;
    use_blocks(type);
    type->tp_dealloc = dealloc_node;
    type->tp_traverse = traverse_node;
    type->tp_clear = clear_node;
}

static void make_bare(void* cls) { static_cast<PyTypeObject*>(cls)->tp_basicsize = layout.bare; }

}  // namespace arraygrad
