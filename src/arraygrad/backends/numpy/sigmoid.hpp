// The logistic function, in one pass over plain memory.
// May include: inner_loops.hpp, shared_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
//
// It computes what the table spells, in the same order of operations, with NumPy's own loop for exp, block by block, so
// that nothing in between leaves the first cache. Comparisons, which may raise "invalid" for nan, stand before the loop
// for exp, where nobody looks. A choice is a sum with one factor of zero and one of one, which is exact and vectorises.
#pragma once
#include <cmath>

#include "inner_loops.hpp"
#include "shared_loops.hpp"

namespace arraygrad {

enum { SIGMOID_BLOCK = 512 };

// out = 1 / (1 + exp(-x)), from e = exp(-|x|), which never overflows. `first` collects the errors of exp, `second`
// others.
template <typename T>
static inline void sigmoid_of(const LoopSet* exp, int slot, const T* x, T* out, std::ptrdiff_t n, int* first,
                              int* second) {
    alignas(64) T e[SIGMOID_BLOCK], w[SIGMOID_BLOCK];
    for (std::ptrdiff_t i = 0; i < n; i += SIGMOID_BLOCK) {
        std::ptrdiff_t m = n - i < SIGMOID_BLOCK ? n - i : (std::ptrdiff_t)SIGMOID_BLOCK;
        for (std::ptrdiff_t k = 0; k < m; k++) {
            e[k] = -std::fabs(x[i + k]);
            w[k] = x[i + k] >= T(0) ? T(1) : T(0);
        }
        *first |= run_unary(exp, slot, (char*)e, (char*)e, sizeof(T), m);
        fp_begin();
        for (std::ptrdiff_t k = 0; k < m; k++) out[i + k] = (w[k] + (T(1) - w[k]) * e[k]) / (T(1) + e[k]);
        *second |= fp_end();
    }
}

static inline void run_sigmoid(const LoopSet* exp, int slot, const char* x, char* out, std::ptrdiff_t n, int* first,
                               int* second) {
    if (slot == SLOT_F64) sigmoid_of(exp, slot, (const double*)x, (double*)out, n, first, second);
    else sigmoid_of(exp, slot, (const float*)x, (float*)out, n, first, second);
}

static_assert(Team::UNIT % SIGMOID_BLOCK == 0, "pieces must be whole blocks");

// Shared by several threads where that pays.
static inline void share_sigmoid(Team* team, const LoopSet* exp, int slot, const char* x, char* out, std::ptrdiff_t n,
                                 int* first, int* second) {
    const std::ptrdiff_t item = item_size(slot);
    const int both = in_pieces(team, n, worth_sharing(COST_DEAR, item), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
        int one = 0, two = 0;
        run_sigmoid(exp, slot, x + i * item, out + i * item, m, &one, &two);
        return one | two << 8;
    });
    *first |= both & 0xff;
    *second |= both >> 8;
}

}  // namespace arraygrad
