// Arithmetic on two single float64 values, and one element of an array by its place.
// May include: inner_loops.hpp, Python's headers. Knows no NumPy.
//
// Note [Single numbers]
// ~~~~~~~~~~~~~~~~~~~~~
// A loop over one element spends most of its time around the operation: finding the loop's function, the thread team,
// two accesses to the status of floating-point errors. Sums, differences, products and quotients of two doubles are one
// instruction each, rounded as every other way rounds them. Errors show in the result: one that is finite, and not zero
// or subnormal by underflow, has raised none. Any other is declined, and takes the loop, which reports.
// Guarded by tests/backends/test_single_numbers.py.
#pragma once
#include <Python.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "inner_loops.hpp"

namespace arraygrad {

enum { NO_SINGLE = 0, SINGLE_ADD, SINGLE_SUBTRACT, SINGLE_MULTIPLY, SINGLE_DIVIDE };

static inline int single_code(const char* ufunc) {
    if (!std::strcmp(ufunc, "add")) return SINGLE_ADD;
    if (!std::strcmp(ufunc, "subtract")) return SINGLE_SUBTRACT;
    if (!std::strcmp(ufunc, "multiply")) return SINGLE_MULTIPLY;
    return std::strcmp(ufunc, "divide") ? NO_SINGLE : SINGLE_DIVIDE;
}

// x (code) y into `out`; false: a floating-point error is possible, and nothing is written.
static inline bool single_result(int code, double x, double y, double* out) {
    double r;
    switch (code) {
        case SINGLE_ADD: r = x + y; break;
        case SINGLE_SUBTRACT: r = x - y; break;
        case SINGLE_MULTIPLY:
            r = x * y;
            if (std::fabs(r) < std::numeric_limits<double>::min() && x != 0 && y != 0) return false;
            break;
        case SINGLE_DIVIDE:
            if (y == 0) return false;
            r = x / y;
            if (std::fabs(r) < std::numeric_limits<double>::min() && x != 0) return false;
            break;
        default: return false;
    }
    if (!(std::fabs(r) <= std::numeric_limits<double>::max())) return false;
    *out = r;
    return true;
}

// The element of a view that an int, or a tuple of one int for each axis, names, and its number in row-major order.
// NULL: it is no such key, or no element.
static inline char* element_at(const ArrayView* v, PyObject* key, std::uint64_t* number) {
    char* place = v->data;
    std::uint64_t n = 0;
    const bool one = PyLong_CheckExact(key);
    if (one ? v->ndim != 1 : !PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) != v->ndim || !v->ndim) return nullptr;
    for (int d = 0; d < v->ndim; d++) {
        PyObject* item = one ? key : PyTuple_GET_ITEM(key, d);
        if (!PyLong_CheckExact(item)) return nullptr;
        int overflow = 0;
        long i = PyLong_AsLongAndOverflow(item, &overflow);
        if (overflow) return nullptr;
        if (i < 0) i += v->dims[d];
        if (i < 0 || i >= v->dims[d]) return nullptr;
        place += i * v->strides[d];
        n = n * static_cast<std::uint64_t>(v->dims[d]) + static_cast<std::uint64_t>(i);
    }
    *number = n;
    return place;
}

static inline char* element_at(const ArrayView* v, PyObject* key) {
    std::uint64_t number;
    return element_at(v, key, &number);
}

// The element of that number, which is one of the view's.
static inline char* numbered_element(const ArrayView* v, std::uint64_t number) {
    if (v->c_order) return v->data + number * sizeof(double);
    char* place = v->data;
    for (int d = v->ndim - 1; d >= 0; d--) {
        const std::uint64_t n = static_cast<std::uint64_t>(v->dims[d]);
        place += static_cast<std::ptrdiff_t>(number % n) * v->strides[d];
        number /= n;
    }
    return place;
}

// a + b, of one type; false: it is not finite, and a warning may be due.
template <typename T> static inline bool finite_sum(char* to, const char* b) {
    const T sum = *(const T*)to + *(const T*)b;
    if (!(std::fabs(sum) <= std::numeric_limits<T>::max())) return false;
    *(T*)to = sum;
    return true;
}

}  // namespace arraygrad
