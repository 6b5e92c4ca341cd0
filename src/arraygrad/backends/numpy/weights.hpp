// Weights of frequencies.
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

}  // namespace arraygrad
