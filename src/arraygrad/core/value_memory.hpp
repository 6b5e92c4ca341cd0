// How Tensors and Values are freed, and the members of a Storage kept, as far as it takes C.
// May include: memory_owners.hpp, engine/untracked.hpp, Python's headers.
#pragma once
#include <Python.h>

#include <vector>

#include "memory_owners.hpp"
#include "untracked.hpp"

namespace arraygrad {

// Tensor, once it is defined: one variable for all modules. No other class derived from TensorBase has instances.
inline PyTypeObject* tensor_type = nullptr;

// Whether untracked objects may lead to a Tensor: by its accumulator, or by a Tensor of which it is the `.grad`. Also
// where the accumulator is tracked: `track_below` leaves what is above.
template <class Tensor>
static inline bool is_led_to(Tensor* t) {
    return t->is_grad || t->accumulator;
}

static inline void use_tensor_blocks() { use_blocks(tensor_type); }

// The reference to the array was taken over.
template <class Value>
static inline void forget_raw(Value* value) {
    value->raw = nullptr;
}

// Puts a member of a Storage where another one stood.
template <class Storage, class Value>
static inline void put_member(Storage* s, std::size_t place, Value* value) {
    s->members[place] = value;
    value->place = (std::uint32_t)place;
}

// Note [Watched members]
// ~~~~~~~~~~~~~~~~~~~~~~
// Before memory is written, what nodes saved of it is protected (Note [Saved values] in value.pyx). A Storage may have
// many members, most of them views that nobody saved, so a write must not look at all of them.
// (1) members[:watched] may have an owner beside their Tensor, the others have none. New members are watched, and so is
//     a Value that something is about to keep: whoever keeps a Value beyond a call takes it by `kept_value`.
// (2) A write looks at the watched ones. One that only its Tensor refers to is watched no more; one that was copied
//     leaves the Storage. So each is looked at once for each time that it is kept.
// (3) Saved views that a write does not touch stay watched. Where a write meets many of them, small ones get their copy
//     at once (protect_all in write_protection.pyx).
// (4) Without the GIL a count does not tell who refers to a Value: all are looked at.
// overwriting.set_watched(False) has every write look at all members. Guarded by tests/core/test_watched_views.py.
template <class Storage, class Value>
static inline void move_in(Storage* s, Value* value) {
#ifndef Py_GIL_DISABLED
    const std::size_t place = value->place, watched = s->watched;
    if (place < watched) return;
    s->watched = watched + 1;
    if (place == watched) return;
    put_member(s, place, (Value*)s->members[watched]);
    put_member(s, watched, value);
#endif
}

// Something is about to keep `value` (1).
template <class Value>
static inline void watch(Value* value) {
#ifndef Py_GIL_DISABLED
    if ((PyObject*)value->storage != Py_None) move_in(value->storage, value);
#endif
}

// Makes a Value a member of a Storage.
template <class Storage, class Value>
static inline void put_in(Storage* s, Value* value) {
    s->members.push_back(value);
    value->place = (std::uint32_t)(s->members.size() - 1);
    move_in(s, value);
}

// Takes a Value out of the members of its Storage. Others take its place, which may be going too, so no reference is
// made.
template <class Storage, class Value>
static inline void take_out(Storage* s, Value* value) {
    std::size_t place = value->place;
    if (place >= s->members.size() || s->members[place] != value) return;
    if (place < s->watched) {
        const std::size_t watched = --s->watched;
        if (place != watched) put_member(s, place, (Value*)s->members[watched]);
        place = watched;
    }
    Value* const last = (Value*)s->members.back();
    s->members.pop_back();
    if (place < s->members.size()) put_member(s, place, last);
}

// Whether every member knows its place. For tests.
template <class Storage, class Value>
static inline bool in_order(Storage* s, Value*) {
    for (std::size_t place = 0; place < s->members.size(); place++) {
        if (((Value*)s->members[place])->place != place || ((Value*)s->members[place])->storage != s) return false;
    }
    return s->watched <= s->members.size();
}

// Of the members of a Storage those that more than a Tensor refers to, or may: each is held. Under the GIL a count says
// so at once, and what is WRITTEN (value.pxd) has nothing left to protect. Looked at are watched members, or all.
template <class Storage, class Value>
static inline void hold_saved(Storage* s, std::vector<void*>& held, bool all, Value*) {
#ifdef Py_GIL_DISABLED
    all = true;
#endif
    for (std::size_t place = 0; place < (all ? s->members.size() : s->watched);) {
        Value* const member = (Value*)s->members[place];
#ifndef Py_GIL_DISABLED
        if (Py_REFCNT((PyObject*)member) <= (member->tensor && !member->kept_by_hook ? 1 : 0) || member->overwritten == 1) {
            if (all) {
                place++;
            } else {
                put_member(s, place, (Value*)s->members[--s->watched]);
                put_member(s, s->watched, member);
            }
            continue;
        }
#endif
        if (try_incref((PyObject*)member)) held.push_back(member);
        place++;
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
            if (candidate != value && candidate->exposed && !candidate->owner) {
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
