// The gradient of a complex product over plain memory, and weights of frequencies.
// May include: inner_loops.hpp, shared_loops.hpp. Knows neither Python objects nor NumPy.
#pragma once
#include "inner_loops.hpp"
#include "shared_loops.hpp"

namespace arraygrad {

// out = g * conj(y), for n pairs (real part, imaginary part). out may be g.
template <typename T>
static inline void conjugate_product_of(const T* g, const T* y, T* out, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < 2 * n; i += 2) {
        T re = g[i] * y[i] + g[i + 1] * y[i + 1], im = g[i + 1] * y[i] - g[i] * y[i + 1];
        out[i] = re;
        out[i + 1] = im;
    }
}

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

static inline int run_conjugate_product(int slot, const char* g, const char* y, char* out, std::ptrdiff_t n) {
    fp_begin();
    if (slot == SLOT_C128) conjugate_product_of((const double*)g, (const double*)y, (double*)out, n);
    else conjugate_product_of((const float*)g, (const float*)y, (float*)out, n);
    return fp_end();
}

// The same, shared by several threads where that pays.
static inline int share_conjugate_product(Team* team, int slot, const char* g, const char* y, char* out,
                                          std::ptrdiff_t n) {
    const std::ptrdiff_t item = item_size(slot);
    return unlocked(n, [=] {
        return in_pieces(team, n, worth_sharing(COST_MEMORY, item), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
            return run_conjugate_product(slot, g + i * item, y + i * item, out + i * item, m);
        });
    });
}

}  // namespace arraygrad
