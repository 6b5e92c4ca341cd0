// Tensors of single numbers that have died, kept whole to be handed out again.
// May include: engine/untracked.hpp, Python's headers.
//
// Note [Free list of Tensors]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~
// A program that computes number by number makes a Tensor, a Value and an array for each result, and frees them soon
// after: three times what its arithmetic takes. So such a Tensor is kept with both when it dies, and `number_tensor`
// hands it out again with another number.
// (1) Kept is only what nobody can tell from a new one: no other reference to the Value or the array, no Storage, no
//     owner, no mark on the Value, no .grad, nothing that is rare (Extra), no weak reference; and an array as Note
//     [Free list of arrays] wants it.
// (2) As many are kept as were asked for by number_tensor. Results of other operations are kept in parts, as ever.
// (3) Their arrays count as memory of the pool, and all are freed where that changes.
// (4) The GIL guards them; free-threaded builds keep none. The garbage collector does not see what is kept.
// Guarded by tests/backends/test_tensor_freelist.py.
#pragma once
#include <Python.h>

#include "untracked.hpp"

namespace arraygrad {

#ifndef Py_GIL_DISABLED
enum { MOST_TENSORS = 2048 };
static PyObject* dead_tensors[MOST_TENSORS];
static double* dead_numbers[MOST_TENSORS];      // where the number of each stands
static int n_dead;
static Py_ssize_t asked_tensors;                // asked for and not kept since
#endif

// Whether a Tensor whose last reference has gone is kept.
template <class Tensor>
static inline bool keep_tensor(Tensor* t) {
#ifndef Py_GIL_DISABLED
    auto* const v = t->value;
    if (asked_tensors <= 0 || n_dead == MOST_TENSORS || (PyObject*)v == Py_None) return false;
    if ((PyObject*)t->grad_ != Py_None || (PyObject*)t->extra != Py_None) return false;
    if (t->__weakref__ || t->accumulator || Py_REFCNT((PyObject*)v) != 1) return false;
    if ((PyObject*)v->storage != Py_None || v->owner || v->tensor != (void*)t) return false;
    if (v->overwritten || v->exposed || v->inference || v->kept_by_hook || (PyObject*)v->meta == Py_None) return false;
    if (!v->meta->ops->number_kept || PyType_HasFeature(Py_TYPE((PyObject*)t), Py_TPFLAGS_HEAPTYPE)) return false;
    double* const place = v->meta->ops->number_kept(v->raw);
    if (!place) return false;
    PyObject_GC_UnTrack((PyObject*)t);
    PyObject* const history = (PyObject*)t->grad_fn_;
    Py_INCREF(Py_None);
    *(PyObject**)&t->grad_fn_ = Py_None;
    t->output_nr_ = 0;
    t->tracked = t->array0d = t->is_grad = t->keyed = t->python = 0;
    v->version = 0;
    dead_tensors[n_dead] = (PyObject*)t;
    dead_numbers[n_dead++] = place;
    asked_tensors--;
    Py_DECREF(history);                         // last: it may run anything
    return true;
#else
    (void)t;
    return false;
#endif
}

// A Tensor over the number x, of that metadata; NULL: none is kept.
template <class Tensor, class Meta>
static inline PyObject* take_result(double x, Meta* meta, Tensor*) {
#ifndef Py_GIL_DISABLED
    asked_tensors++;
    if (!n_dead) return nullptr;
    Tensor* const t = (Tensor*)dead_tensors[--n_dead];
    Meta* const before = t->value->meta;
    before->ops->number_used(dead_numbers[n_dead]);
    *dead_numbers[n_dead] = x;
    _Py_NewReference((PyObject*)t);
    if (!untracks_now()) track((PyObject*)t);
    if (before != meta) {
        Py_INCREF((PyObject*)meta);
        t->value->meta = meta;
        Py_DECREF((PyObject*)before);
    }
    return (PyObject*)t;
#else
    (void)x;
    (void)meta;
    return nullptr;
#endif
}

// Free all that are kept, by the way in which any Tensor goes.
template <class Tensor>
static inline void drop_results(destructor free_tensor, Tensor*) {
#ifndef Py_GIL_DISABLED
    while (n_dead) {
        Tensor* const t = (Tensor*)dead_tensors[--n_dead];
        t->value->meta->ops->number_used(dead_numbers[n_dead]);
        t->value->tensor = nullptr;
        _Py_NewReference((PyObject*)t);
        Py_SET_REFCNT((PyObject*)t, 0);
        free_tensor((PyObject*)t);
    }
    asked_tensors = 0;
#else
    (void)free_tensor;
#endif
}

}  // namespace arraygrad
