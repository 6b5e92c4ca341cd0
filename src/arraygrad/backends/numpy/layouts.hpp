// Where in memory the elements of an array lie.
// May include: the C++ library, NumPy's headers (included before this one by the generated code). Calls nothing of
// NumPy.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace arraygrad {

static inline npy_intp size_of(PyArrayObject* a) {
    npy_intp n = 1;
    const npy_intp* d = PyArray_DIMS(a);
    for (int i = PyArray_NDIM(a) - 1; i >= 0; i--) n *= d[i];
    return n;
}

// Whether strides run through memory without gaps or overlap, in whatever order of axes. Axes of one element don't
// count.
static inline bool is_dense(PyArrayObject* a) {
    int nd = PyArray_NDIM(a);
    npy_intp expected = PyArray_ITEMSIZE(a);
    unsigned long long done = 0;
    if (size_of(a) == 0) return true;
    for (;;) {
        int next = -1;
        bool left = false;
        for (int i = 0; i < nd; i++) {
            if (((done >> i) & 1) || PyArray_DIM(a, i) == 1) continue;
            left = true;
            if (PyArray_STRIDE(a, i) == expected) next = i;
        }
        if (!left) return true;
        if (next < 0) return false;
        done |= 1ull << next;
        expected *= PyArray_DIM(a, next);
    }
}

// Lowest and highest byte (exclusive) that an array's elements occupy; false where it has none.
static inline bool memory_bounds(PyArrayObject* a, char** low, char** high) {
    char *lo = PyArray_BYTES(a), *hi = lo + PyArray_ITEMSIZE(a);
    for (int i = 0; i < PyArray_NDIM(a); i++) {
        npy_intp n = PyArray_DIM(a, i), s = PyArray_STRIDE(a, i);
        if (n == 0) return false;
        if (s >= 0) hi += (n - 1) * s;
        else lo += (n - 1) * s;
    }
    *low = lo;
    *high = hi;
    return true;
}

// Whether two elements share a byte: as_strided and broadcast_to make such arrays. Of large arrays whose strides leave
// it open, yes.
static bool overlaps_itself(PyArrayObject* a) {
    const npy_intp item = PyArray_ITEMSIZE(a);
    if (PyArray_FLAGS(a) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS) || size_of(a) < 2) return false;
    std::vector<std::pair<npy_intp, npy_intp>> axes;                // (stride, length), by stride
    for (int i = 0; i < PyArray_NDIM(a); i++) {
        const npy_intp n = PyArray_DIM(a, i), stride = PyArray_STRIDE(a, i);
        if (n > 1) axes.emplace_back(stride < 0 ? -stride : stride, n);
    }
    std::sort(axes.begin(), axes.end());
    npy_intp extent = item;
    bool nested = true;                 // each axis steps over all that the smaller ones reach: nothing can overlap
    for (const auto& [stride, n] : axes) {
        if (stride < extent) nested = false;
        extent += (n - 1) * stride;
    }
    if (nested) return false;
    if (axes[0].first == 0 || size_of(a) > 1 << 20) return true;
    std::vector<npy_intp> places{0};
    for (const auto& [stride, n] : axes) {
        const std::size_t before = places.size();
        for (npy_intp k = 1; k < n; k++)
            for (std::size_t j = 0; j < before; j++) places.push_back(places[j] + k * stride);
    }
    std::sort(places.begin(), places.end());
    for (std::size_t j = 1; j < places.size(); j++)
        if (places[j] - places[j - 1] < item) return true;
    return false;
}

// A number that arrays have in common whose memory comes from one place: the first byte of the array that they are
// views of, or the object that lent it its memory. Views of one buffer that are made elsewhere may have different ones.
static inline std::uintptr_t owner_of(PyArrayObject* a) {
    PyObject* base = PyArray_BASE(a);
    while (base) {
        if (PyArray_Check(base)) {
            a = (PyArrayObject*)base;
            base = PyArray_BASE(a);
        } else if (PyMemoryView_Check(base) && PyMemoryView_GET_BUFFER(base)->obj) {
            base = PyMemoryView_GET_BUFFER(base)->obj;
        } else {
            break;
        }
    }
    if (base && PyObject_CheckBuffer(base)) return (std::uintptr_t)base;
    return (std::uintptr_t)PyArray_DATA(a);
}

}  // namespace arraygrad
