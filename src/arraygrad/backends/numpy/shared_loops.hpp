// The inner loops and kernels of inner_loops.hpp, each shared by several threads where that pays (sharing.hpp).
// May include: inner_loops.hpp, sharing.hpp. Knows neither Python objects nor NumPy.
//
// When it pays was measured (docs/performance.md, Threads): a helper comes 10 to 60 us after it is called, and what
// memory bounds gains only where caches no longer serve it.
#pragma once
#include "inner_loops.hpp"
#include "sharing.hpp"

namespace arraygrad {

// From how many bytes of its result on two threads are faster than one.
static inline std::ptrdiff_t worth_sharing(int cost, std::ptrdiff_t item) {
    static const std::ptrdiff_t bytes[] = {
        1 << 23,        // up to 0.05 ns a byte: add, comparisons, most backward rules
        1 << 21,        // about 0.1: sqrt
        1 << 18,        // 0.4 and more: exp, sin, pow
    };
    return bytes[cost] / item;
}

static inline int cost_of(const char* ufunc) {
    static const char* const memory[] = {"absolute", "add", "ceil", "divide", "floor", "maximum", "minimum", "multiply",
                                         "negative", "rint", "square", "subtract", "trunc"};
    static const char* const some[] = {"copysign", "reciprocal", "sign", "sqrt"};
    for (const char* name : memory)
        if (!std::strcmp(name, ufunc)) return COST_MEMORY;
    for (const char* name : some)
        if (!std::strcmp(name, ufunc)) return COST_SOME;
    return COST_DEAR;
}

static inline int share_unary(Team* team, const LoopSet* s, int slot, char* x, char* out, std::ptrdiff_t step,
                              std::ptrdiff_t n) {
    return in_pieces(team, n, worth_sharing(s->cost, step), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
        return run_unary(s, slot, x + i * step, out + i * step, step, m);
    });
}

static inline int share_binary(Team* team, const LoopSet* s, int slot, char* a, std::ptrdiff_t sa, char* b,
                               std::ptrdiff_t sb, char* out, std::ptrdiff_t so, std::ptrdiff_t n) {
    return in_pieces(team, n, worth_sharing(s->cost, so), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
        return run_binary(s, slot, a + i * sa, sa, b + i * sb, sb, out + i * so, so, m);
    });
}

static inline int share_rows(Team* team, const LoopSet* s, int slot, char* a, char* b, bool first, char* out,
                             std::ptrdiff_t outer, std::ptrdiff_t inner) {
    const std::ptrdiff_t item = item_size(slot), row = (inner < 0 ? -inner : inner) * item, part = inner < 0 ? item : 0;
    return in_rows(team, outer, row / item, worth_sharing(s->cost, item), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
        return run_rows(s, slot, a + i * (first ? row : part), b + i * (first ? part : row), first, out + i * row, m, inner);
    });
}

// Sums within rows: a row is one thread's, so its order stays. Sums over all rows are one thread's altogether.
static inline int share_sum(Team* team, const LoopSet* s, int slot, char* x, char* out, std::ptrdiff_t outer,
                            std::ptrdiff_t inner, bool leading, char* start) {
    if (leading) return run_sum(s, slot, x, out, outer, inner, leading, start);
    const std::ptrdiff_t item = item_size(slot);
    return in_rows(team, outer, inner, worth_sharing(COST_MEMORY, item), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
        return run_sum(s, slot, x + i * inner * item, out + i * item, m, inner, false, start);
    });
}

}  // namespace arraygrad
