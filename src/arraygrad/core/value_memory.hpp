// How Tensors and Values are freed, as far as it takes C. Used by value.pyx alone.
// May include: owners.hpp, Python's headers.
#pragma once
#include <Python.h>

#include <vector>

#include "owners.hpp"

namespace arraygrad {

// The reference to the array was taken over.
template <class Value>
static inline void forget_raw(Value* value) {
    value->raw = nullptr;
}

// Takes a Value out of the members of its Storage. Another takes its place, which may be going too, so no reference is
// made.
template <class Value>
static inline void take_out(std::vector<void*>& members, Value* value) {
    const std::size_t place = value->place;
    if (place >= members.size() || members[place] != value) return;
    members[place] = members.back();
    ((Value*)members[place])->place = (std::uint32_t)place;
    members.pop_back();
}

// Of the members of a Storage those that more than a Tensor refers to, or may: each is held. Under the GIL a count says
// so at once, and most are views that no node saved.
template <class Value>
static inline void hold_saved(const std::vector<void*>& members, std::vector<void*>& held, Value*) {
    for (void* member : members) {
#ifndef Py_GIL_DISABLED
        if (Py_REFCNT((PyObject*)member) <= (((Value*)member)->tensor && !((Value*)member)->pinned ? 1 : 0)) continue;
#endif
        if (try_incref((PyObject*)member)) held.push_back(member);
    }
}

// Note [Values over one raw array], 3: another Value of the Storage is entered, or none.
template <class Value>
static inline void hand_on(Value* value) {
    Value* other = nullptr;
#ifndef Py_GIL_DISABLED
    if ((PyObject*)value->storage != Py_None) {
        for (void* member : value->storage->members) {
            Value* candidate = (Value*)member;
            if (candidate != value && candidate->foreign && !candidate->owner) {
                other = candidate;
                break;
            }
        }
    }
#endif
    guard_owners();
    owners().replace(value->owner, value, other);
    free_owners();
    if (other) other->owner = value->owner;
    value->owner = 0;
}

// `fresh` is entered in the place of `value`.
template <class Value>
static inline void move_entry(Value* value, Value* fresh) {
    guard_owners();
    owners().replace(value->owner, value, fresh);
    free_owners();
    fresh->owner = value->owner;
    value->owner = 0;
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
