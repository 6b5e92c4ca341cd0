// Weights of frequencies, and parts of them.
// May include: shared_loops.hpp. Knows neither Python objects nor NumPy.
#pragma once
#include "shared_loops.hpp"

namespace arraygrad {

// Multiply the frequencies from `start` to `end` (exclusive) of each row of `length` frequencies by a real factor.
template <typename T>
static inline void weigh_of(T* x, std::ptrdiff_t rows, std::ptrdiff_t length, std::ptrdiff_t start, std::ptrdiff_t end,
                            T factor) {
    for (std::ptrdiff_t i = 0; i < rows; i++) {
        T* row = x + 2 * i * length;
        for (std::ptrdiff_t j = 2 * start; j < 2 * end; j++) row[j] *= factor;
    }
}

static inline void run_weigh(int slot, char* x, std::ptrdiff_t rows, std::ptrdiff_t length, std::ptrdiff_t start,
                             std::ptrdiff_t end, double factor) {
    unlocked(rows * (end - start), [=] {
        if (slot == SLOT_C128) weigh_of((double*)x, rows, length, start, end, factor);
        else weigh_of((float*)x, rows, length, start, end, (float)factor);
        return 0;
    });
}

// Dense complex arrays: conjugated in place, and their real parts.
template <typename T> static inline void conjugate_of(T* x, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; i++) x[2 * i + 1] = -x[2 * i + 1];
}

template <typename T> static inline void real_parts_of(const T* x, T* out, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; i++) out[i] = x[2 * i];
}

static inline void run_conjugate(int slot, char* x, std::ptrdiff_t n) {
    unlocked(n, [=] {
        if (slot == SLOT_C128) conjugate_of((double*)x, n);
        else conjugate_of((float*)x, n);
        return 0;
    });
}

static inline void run_real_parts(int slot, const char* x, char* out, std::ptrdiff_t n) {
    unlocked(n, [=] {
        if (slot == SLOT_C128) real_parts_of((const double*)x, (double*)out, n);
        else real_parts_of((const float*)x, (float*)out, n);
        return 0;
    });
}

}  // namespace arraygrad
