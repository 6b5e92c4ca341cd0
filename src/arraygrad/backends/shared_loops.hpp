// The inner loops and kernels of inner_loops.hpp, each shared by several threads where that pays (sharing.hpp).
// May include: inner_loops.hpp, sharing.hpp. Knows neither Python objects nor NumPy.
//
// When it pays was measured (two cores, AMD Zen; docs/performance.md, Threads): waking a helper takes 10 to 60 us, so one
// thread has to have a multiple of that to do.
#pragma once
#include "inner_loops.hpp"
#include "sharing.hpp"

namespace arraygrad {

enum {
    WORTH_DEAR = 1 << 16,       // elements, of functions of 1.3 ns an element and more: exp, sin, pow
    WORTH_BYTES = 1 << 22       // bytes of the result, of what memory bounds: add, sqrt, comparisons
};

static inline std::ptrdiff_t worth_sharing(bool dear, std::ptrdiff_t item) {
    return dear ? (std::ptrdiff_t)WORTH_DEAR : WORTH_BYTES / item;
}

// Whether a ufunc computes longer than its operands take to come.
static inline bool is_dear(const char* ufunc) {
    static const char* const cheap[] = {"absolute", "add", "ceil", "copysign", "divide", "floor", "maximum", "minimum",
                                        "multiply", "negative", "reciprocal", "rint", "sign", "sqrt", "square",
                                        "subtract", "trunc"};
    for (const char* name : cheap)
        if (!std::strcmp(name, ufunc)) return false;
    return true;
}

static inline int share_unary(Team* team, const LoopSet* s, int slot, char* x, char* out, std::ptrdiff_t step,
                              std::ptrdiff_t n) {
    return in_pieces(team, n, worth_sharing(s->dear, step), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
        return run_unary(s, slot, x + i * step, out + i * step, step, m);
    });
}

static inline int share_binary(Team* team, const LoopSet* s, int slot, char* a, std::ptrdiff_t sa, char* b,
                               std::ptrdiff_t sb, char* out, std::ptrdiff_t so, std::ptrdiff_t n) {
    return in_pieces(team, n, worth_sharing(s->dear, so), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
        return run_binary(s, slot, a + i * sa, sa, b + i * sb, sb, out + i * so, so, m);
    });
}

static inline int share_rows(Team* team, const LoopSet* s, int slot, char* a, char* b, bool first, char* out,
                             std::ptrdiff_t outer, std::ptrdiff_t inner) {
    const std::ptrdiff_t item = item_size(slot), row = (inner < 0 ? -inner : inner) * item, part = inner < 0 ? item : 0;
    return in_rows(team, outer, row / item, worth_sharing(s->dear, item), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
        return run_rows(s, slot, a + i * (first ? row : part), b + i * (first ? part : row), first, out + i * row, m, inner);
    });
}

// Sums within rows: a row is one thread's, so its order stays. Sums over all rows are one thread's altogether.
static inline int share_sum(Team* team, const LoopSet* s, int slot, char* x, char* out, std::ptrdiff_t outer,
                            std::ptrdiff_t inner, bool leading, char* start) {
    if (leading) return run_sum(s, slot, x, out, outer, inner, leading, start);
    const std::ptrdiff_t item = item_size(slot);
    return in_rows(team, outer, inner, worth_sharing(false, item), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
        return run_sum(s, slot, x + i * inner * item, out + i * item, m, inner, false, start);
    });
}

}  // namespace arraygrad
