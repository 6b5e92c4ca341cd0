// What the garbage collector does not see: nodes and Tensors that can be in no cycle.
// May include: Python's headers.
//
// Note [What the collector does not see]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// A node or a Tensor refers to what was there before it, so these alone make no cycle. One is closed only by what
// changes later and leads back: a hook, metadata, an attribute, an argument or a function of the program's, a leaf's
// `.grad`. So one of them is tracked by the collector only if it holds such a thing, or leads to one that is tracked.
// The collector then sees every object of a cycle, and a graph of a million others costs it nothing (as CPython
// untracks tuples).
// (1) New ones are untracked. Who records a node calls `settle` when it is complete, which tracks it if it must; a
//     Tensor is tracked with the node of its history (`attach`), and with a `.grad` or an Extra. An accumulator is
//     tracked if its leaf leads back to it. Nodes of other classes than operations' are always tracked.
// (2) What comes later is told. Where a first hook, attribute or `.grad` is put on something that others may lead to,
//     all untracked ones become tracked (`track_all`). A graph that a `.grad` leads to becomes tracked (`track_below`).
// (3) They are found by the places where they lie: `ObjectBlocks` has a bit for each. A block that is free, but kept for the
//     next one, keeps its bit, and is told by its reference count, which is 0.
// (4) A search takes as long as there are blocks. So all searches together may take as many steps as nodes were
//     recorded; beyond that all is tracked, until as many more have been.
// (5) Static arguments and lists of saved values are the node's own. They are untracked with it. Slices are not:
//     CPython's deallocation of a slice wants it tracked.
// (6) Blocks count as allocations, tracked or not, so that graphs that only the collector can free call it.
// (7) Without the GIL all are tracked: the collector stops the threads, and keeps no list that grows.
// Guarded by tests/engine/test_untracked_nodes.py and test_cycles.py.
#pragma once
#include <Python.h>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <unordered_map>

namespace arraygrad {

inline std::atomic<std::uint64_t> sequence;      // the number of the node that was recorded last

#ifndef Py_GIL_DISABLED
// The places of blocks: one bit for 16 bytes of memory, in regions of 64 KB. All of it is guarded by the GIL.
class ObjectBlocks {
    struct Region {
        std::uint64_t bits[64] = {};
    };
    std::unordered_map<std::uintptr_t, Region> regions;
    Region* last = nullptr;
    std::uintptr_t last_key = 0;
    std::uintptr_t skew = 0;                     // of all places, from multiples of 16

    Region* find(std::uintptr_t at, bool make) {
        const std::uintptr_t key = at >> 16;
        if (last && key == last_key) return last;
        auto found = regions.find(key);
        if (found == regions.end()) {
            if (!make) return nullptr;
            found = regions.emplace(key, Region()).first;
        }
        last_key = key;
        return last = &found->second;
    }

public:
    bool add(PyObject* o) {                      // false: no memory
        const auto at = reinterpret_cast<std::uintptr_t>(o);
        try {
            Region* const region = find(at, true);
            region->bits[at >> 10 & 63] |= std::uint64_t(1) << (at >> 4 & 63);
        } catch (const std::bad_alloc&) {
            return false;
        }
        skew = at & 15;
        return true;
    }

    void remove(PyObject* o) {
        const auto at = reinterpret_cast<std::uintptr_t>(o);
        Region* const region = find(at, false);
        if (region) region->bits[at >> 10 & 63] &= ~(std::uint64_t(1) << (at >> 4 & 63));
    }

    // Calls use(object) for each that is alive. Returns how many blocks there were.
    template <class Use> std::uint64_t each(Use use) {
        std::uint64_t steps = 0;
        for (auto& entry : regions) {
            for (std::uintptr_t word = 0; word < 64; word++) {
                for (std::uint64_t bits = entry.second.bits[word]; bits; bits &= bits - 1) {
                    std::uintptr_t place = 0;
                    while (!(bits >> place & 1)) place++;
                    auto* o = reinterpret_cast<PyObject*>(entry.first << 16 | word << 10 | place << 4 | skew);
                    if (Py_REFCNT(o) > 0) use(o);
                    steps++;
                }
            }
        }
        return steps;
    }
};

constexpr std::uint64_t ALLOWED = 1 << 14;       // steps of searches that are not counted

inline ObjectBlocks& object_blocks() {
    static auto* const all = new ObjectBlocks;         // never freed: objects go after static variables did
    return *all;
}
inline bool untracks = true;                     // false: all are tracked, new ones too
inline std::uint64_t spent;                      // steps that searches took

inline bool may_search() { return spent <= sequence.load(std::memory_order_relaxed) + ALLOWED; }

// Whether new ones may be untracked: (4).
inline bool untracks_now() { return untracks || (untracks = may_search()); }
#endif

#ifndef Py_GIL_DISABLED
// Whether the collector sees an object of a class that it may see, as nodes and Tensors are. CPython's headers keep
// the two words before an object to themselves; the first is 0 where it is untracked. `probe_heads` looks whether that
// holds, and it is asked by a call where it does not.
inline bool reads_heads = false;
inline bool head_says(PyObject* o) { return reinterpret_cast<std::uintptr_t*>(o)[-2] != 0; }
inline bool is_seen(PyObject* o) { return reads_heads ? head_says(o) : PyObject_GC_IsTracked(o) != 0; }
#endif

// Once, while the library is imported. -1 with an error: no memory.
inline int probe_heads() {
#ifndef Py_GIL_DISABLED
    PyObject* const probe = PyList_New(0);
    if (!probe) return -1;
    const bool tracked = PyObject_GC_IsTracked(probe) && head_says(probe);
    PyObject_GC_UnTrack(probe);
    const bool untracked = !PyObject_GC_IsTracked(probe) && !head_says(probe);
    PyObject_GC_Track(probe);
    reads_heads = tracked && untracked && head_says(probe);
    Py_DECREF(probe);
#endif
    return 0;
}

inline void track(PyObject* o) {
#ifndef Py_GIL_DISABLED
    if (!is_seen(o)) PyObject_GC_Track(o);
#else
    (void)o;
#endif
}

// `holder` was given `held`: it is tracked if that is.
inline void track_with(PyObject* holder, PyObject* held) {
#ifndef Py_GIL_DISABLED
    if (held != Py_None && is_seen(held)) track(holder);
#else
    (void)holder;
    (void)held;
#endif
}

inline bool is_tracked(void* o) {
#ifndef Py_GIL_DISABLED
    return is_seen(static_cast<PyObject*>(o));
#else
    (void)o;
    return true;
#endif
}

// A complete new object that has no cycle yet.
inline void untrack(PyObject* o) {
#ifndef Py_GIL_DISABLED
    if (untracks_now()) PyObject_GC_UnTrack(o);
#else
    (void)o;
#endif
}

// Tracks all that are untracked.
inline void track_all() {
#ifndef Py_GIL_DISABLED
    if (!untracks) return;
    spent += object_blocks().each(track);
    untracks = may_search();
#endif
}

// Memory for an object of `type`, which is one of those that are found again. Neither it nor its fields are set.
inline PyObject* new_block(PyTypeObject* type) {
    PyObject* const o = PyObject_GC_New(PyObject, type);
#ifndef Py_GIL_DISABLED
    if (o && !object_blocks().add(o)) {
        PyObject_GC_Del(o);
        return PyErr_NoMemory();
    }
#endif
    return o;
}

inline PyObject* alloc_block(PyTypeObject* type, Py_ssize_t) {
    PyObject* const o = new_block(type);
    if (!o) return nullptr;
    std::memset(reinterpret_cast<char*>(o) + sizeof(PyObject), 0, type->tp_basicsize - sizeof(PyObject));
    PyObject_GC_Track(o);
    return o;
}

inline void free_block(void* o) {
#ifndef Py_GIL_DISABLED
    object_blocks().remove(static_cast<PyObject*>(o));
#endif
    PyObject_GC_Del(o);
}

// Has the objects of a compiled class lie in blocks. Before there are any, and before classes are derived from it.
inline void use_blocks(PyTypeObject* type) {
#ifndef Py_GIL_DISABLED
    type->tp_alloc = alloc_block;
    type->tp_free = free_block;
#else
    (void)type;
#endif
}

}  // namespace arraygrad
