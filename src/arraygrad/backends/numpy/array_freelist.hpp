// Dead arrays that are kept to be handed out again.
// May include: memory_pool.hpp, NumPy's headers (included before this one by the generated code). For
// backends/numpy/arrays.hpp.
//
// Note [Free list of arrays]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~
// Making an ndarray and freeing it costs some 600 instructions, more than the arithmetic on a hundred elements, and
// programs ask for the same few shapes again and again. So a small array of the pool's that dies where we see it (the
// engine's last reference to a result) is kept whole, and handed out when one of its dtype and shape is asked for.
// (1) Kept is only what nobody can tell from a new array: the one reference to an exact ndarray that owns memory of the
//     pool, row-major or column-major, writeable, in native byte order, without weak references.
// (2) Slots hold arrays of one dtype, shape and order each. One that comes to a slot of others takes one of them out of
//     it and is not kept itself: what is not asked for any more leaves.
// (3) They count as memory of the pool: as free bytes, as requests served, under its limit (0: nothing is kept), and
//     they are freed where that changes. Python's tracemalloc is told as of any array.
// (4) The GIL guards it; free-threaded builds keep none.
// Guarded by tests/backends/test_array_freelist.py.
#pragma once
#include "memory_pool.hpp"

namespace arraygrad {

#ifndef Py_GIL_DISABLED
class ArrayFreelist {
public:
    std::size_t bytes = 0;      // of all that are kept

    // One of this dtype, shape and order, NULL if there is none. `size` becomes its bytes.
    PyObject* take(int nd, const npy_intp* dims, int typenum, bool columns, std::size_t* size) {
        if (nd > DIMS) return nullptr;
        Slot& slot = slot_of(nd, dims, typenum, columns);
        if (!slot.count || !slot.holds(nd, dims, typenum, columns)) return nullptr;
        bytes -= *size = slot.size;
        return slot.arrays[--slot.count];
    }

    // Whether `array`, to which there is one reference, is kept: the reference is ours then.
    bool keep(PyObject* array, PyObject* handler, std::size_t limit) {
        PyArrayObject* a = (PyArrayObject*)array;
        const PyArrayObject_fields* f = (const PyArrayObject_fields*)array;
        const int nd = PyArray_NDIM(a), wanted = NPY_ARRAY_BEHAVED | NPY_ARRAY_OWNDATA;
        const int orders = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS;
        if (!PyArray_CheckExact(array) || f->mem_handler != handler || nd > DIMS) return false;
        if ((f->flags & ~orders) != wanted || !(f->flags & orders) || f->base || f->weakreflist) return false;
        const bool columns = !(f->flags & NPY_ARRAY_C_CONTIGUOUS);
        const int typenum = f->descr->type_num;
        if (typenum < 0 || typenum >= TYPES || (PyArray_Descr*)f->descr != builtin_[typenum]) return false;
        std::size_t size = (std::size_t)PyDataType_ELSIZE(f->descr);
        for (int k = 0; k < nd; k++) {
            const int i = columns ? k : nd - 1 - k;
            if (f->strides[i] != (npy_intp)size) return false;
            size *= (std::size_t)f->dimensions[i];
        }
        if (size == 0 || size > MOST || bytes + size > (limit < ALL ? limit : ALL)) return false;
        Slot& slot = slot_of(nd, f->dimensions, typenum, columns);
        if (!slot.holds(nd, f->dimensions, typenum, columns)) {
            if (slot.count) {
                drop(slot);
                return false;
            }
            slot.typenum = typenum;
            slot.nd = nd;
            slot.columns = columns;
            for (int i = 0; i < nd; i++) slot.dims[i] = f->dimensions[i];
        }
        if (slot.count == DEPTH) return false;
        slot.size = size;
        slot.arrays[slot.count++] = array;
        bytes += size;
        return true;
    }

    // Whether `array`, of one float64 without axes, counts as kept where it is: a Tensor that is kept holds it (Note
    // [Free list of Tensors] in core/tensor_freelist.hpp).
    bool count_number(PyObject* array, PyObject* handler, std::size_t limit) {
        const PyArrayObject_fields* f = (const PyArrayObject_fields*)array;
        const int wanted = NPY_ARRAY_CARRAY | NPY_ARRAY_OWNDATA;
        if (!PyArray_CheckExact(array) || Py_REFCNT(array) != 1 || f->nd || f->mem_handler != handler) return false;
        if ((f->flags & ~NPY_ARRAY_F_CONTIGUOUS) != wanted || f->base || f->weakreflist) return false;
        if ((PyArray_Descr*)f->descr != builtin_[NPY_DOUBLE]) return false;
        if (bytes + sizeof(double) > (limit < ALL ? limit : ALL)) return false;
        bytes += sizeof(double);
        return true;
    }
    void use_number() { bytes -= sizeof(double); }

    void clear() {
        for (Slot& slot : slots_) {
            while (slot.count) drop(slot);
        }
    }

    // `descr` is NumPy's one descriptor of the dtype.
    void note(PyArray_Descr* descr) {
        const int typenum = descr->type_num;
        if (typenum < 0 || typenum >= TYPES || builtin_[typenum]) return;
        Py_INCREF(descr);       // for ever
        builtin_[typenum] = descr;
    }

private:
    enum { SLOTS = 32, DEPTH = 2048, DIMS = 3, MOST = 4096, ALL = 1 << 20, TYPES = NPY_CDOUBLE + 1 };
    struct Slot {
        int typenum, nd, count;
        bool columns;
        std::size_t size;
        npy_intp dims[DIMS];
        PyObject* arrays[DEPTH];

        bool holds(int n, const npy_intp* d, int type, bool column_major) const {
            if (typenum != type || nd != n || columns != column_major) return false;
            for (int i = 0; i < n; i++) {
                if (dims[i] != d[i]) return false;
            }
            return true;
        }
    };
    Slot slots_[SLOTS] = {};
    PyArray_Descr* builtin_[TYPES] = {};

    Slot& slot_of(int nd, const npy_intp* dims, int typenum, bool columns) {
        std::size_t sum = (std::size_t)(typenum + 5 * nd + 17 * columns);
        for (int i = 0; i < nd; i++) sum = sum * 31 + (std::size_t)dims[i];
        return slots_[(sum ^ (sum >> 5)) % SLOTS];
    }

    void drop(Slot& slot) {
        PyObject* array = slot.arrays[--slot.count];
        bytes -= slot.size;
        Py_DECREF(array);
    }
};

inline ArrayFreelist dead_arrays;      // without a destructor: the pool has none either
inline void (*drop_kept_tensors)() = nullptr;       // set by the backend
#endif

// Memory of the pool that is free, kept arrays included.
static inline std::size_t cached_bytes() {
#ifdef Py_GIL_DISABLED
    return Pools::all().cached();
#else
    return Pools::all().cached() + dead_arrays.bytes;
#endif
}

static inline void limit_pool(std::size_t bytes) {
#ifndef Py_GIL_DISABLED
    if (drop_kept_tensors) drop_kept_tensors();
    dead_arrays.clear();
#endif
    Pools::all().set_limit(bytes);
}

}  // namespace arraygrad
