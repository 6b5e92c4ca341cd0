// The kernels of compiled backward rules, each shared by several threads where that pays (sharing.hpp).
// May include: backends/numpy/repeats.hpp, rules.hpp, shared_loops.hpp. Knows neither Python objects nor NumPy.
#pragma once
#include "repeats.hpp"
#include "rules.hpp"
#include "shared_loops.hpp"

namespace arraygrad {

// Pieces begin at multiples of BLOCK, so blocks are those of one run over all.
static_assert(Team::UNIT % (2 * BLOCK) == 0, "pieces must be whole blocks");

// The step in bytes with which NumPy goes through a single element.
static inline isize single_step(const ArrayView* v, int slot) {
    return v->ndim <= 0 ? 0 : v->ndim == 1 ? v->strides[0] : item_size(slot);
}

// How a kernel goes through its operands, the gradient first. Returns which one the result is laid out like: one that
// is dense and of the gradient's shape, the gradient itself last. -1: they have no layout in common. A view with less
// than no axes is that of a number.
static inline int lay_out(const RuleKernel* k, const ArrayView* v, int slot, Operand* given) {
    const int n = k->n_operands;
    bool alike = v[0].c_order;
    for (int i = 1; i < n && alike; i++) alike = v[i].c_order && same_shape(&v[0], &v[i]);
    if (alike) {
        for (int i = 0; i < n; i++) {
            given[i].data = v[i].data;
            given[i].step = 1;
            given[i].bytes = v[i].size != 1 ? 0 : single_step(&v[i], slot);
        }
        return n > 1;
    }
    int like = -1;
    for (int i = 1; i < n && like < 0; i++)
        if ((v[i].c_order || v[i].f_order) && same_shape(&v[0], &v[i])) like = i;
    if (like < 0) {
        if (!v[0].c_order && !v[0].f_order) return -1;
        like = 0;
    }
    const bool single = v[like].size == 1;
    for (int i = 0; i < n; i++) {
        given[i].data = v[i].data;
        given[i].step = single && v[i].ndim >= 0 ? 1 : i == like ? 1 : common_step(&v[i], &v[like]);
        // What is repeated over the full shape is full in NumPy's results, and its loops of two operands see that.
        if (given[i].step < 0 || (k->pairs && given[i].step == 0 && i > 0 && v[i].size != 1)) return -1;
        given[i].bytes = single_step(&v[i], slot);
    }
    return like;
}

// Called with the GIL, which they give up where that pays. `run(given, i, m)` computes m elements from i on, where
// `given` begins.
template <typename F>
static inline int share_by(Team* team, const RuleKernel* k, int slot, const Operand* given, isize n, F run) {
    const isize item = item_size(slot);
    int cost = COST_MEMORY;
    for (int s = 0; s < k->n_steps; s++)
        if (k->steps[s].loop >= 0) cost = COST_DEAR;
    return unlocked(n, [=] {
        return in_pieces(team, n, worth_sharing(cost, item), [=](isize i, isize m) {
            Operand part[MOST_OPERANDS];
            for (int p = 0; p < k->n_operands; p++) {
                part[p] = given[p];
                part[p].data += i * part[p].step * item;
            }
            return run(part, i, m);
        });
    });
}

static inline int share_rule_now(Team* team, const RuleKernel* k, const LoopSet* const* loops, int slot,
                                 const Operand* given, char* out, isize n) {
    if (n < NOGIL_SIZE) return run_rule(k, loops, slot, given, out, n);
    return share_by(team, k, slot, given, n, [=](const Operand* part, isize i, isize m) {
        return run_rule(k, loops, slot, part, out + i * item_size(slot), m);
    });
}

// The operands of a rule's kernel, for a capture: the places that it gets in their order.
struct Operands {
    Operand given[MOST_OPERANDS];
    const Operand* at(char* const* p, int n) {
        for (int i = 0; i < n; i++) given[i].data = p[i];
        return given;
    }
};

// f(operands, out), run and noted. `first`: elements of the gradient, -1: as its step says.
template <typename F>
static inline int captured_rule(Capture* c, const RuleKernel* k, int slot, const Operand* given, char* out, isize n,
                                isize first, F f) {
    const isize item = item_size(slot);
    const int count = k->n_operands;
    Operands operands = {};
    Span spans[MOST_OPERANDS];
    for (int i = 0; i < MOST_OPERANDS; i++) {
        operands.given[i] = given[i < count ? i : 0];
        spans[i] = run_of(operands.given[i].data, i == 0 && first >= 0 ? first : operands.given[i].step ? n : 1, item, item,
                          READ);
    }
    const Span made = run_of(out, n, item, item, WRITTEN);
    static_assert(MOST_OPERANDS == 4, "places of a kernel");
    return captured(c, k->operation, {spans[0], spans[1], spans[2], spans[3], made}, [=](char* const* p) {
        Operands here = operands;
        return f(here.at(p, count), p[4]);
    });
}

static inline int share_rule(Team* team, const RuleKernel* k, const LoopSet* const* loops, int slot, const Operand* given,
                             char* out, isize n) {
    if (Capture* c = capture()) {
        if (n == 0) return 0;
        return captured_rule(c, k, slot, given, out, n, -1, [=](const Operand* at, char* to) {
            return share_rule_now(team, k, loops, slot, at, to, n);
        });
    }
    return share_rule_now(team, k, loops, slot, given, out, n);
}

// The same for a gradient that repeats; the step that `given` has for it does not count.
static inline int share_rule_of_repeats(Team* team, const RuleKernel* k, const LoopSet* const* loops, int slot,
                                        Operand* given, const Repeats& repeats, char* out, isize n) {
    const Repeats r = repeats;
    given[0].step = 0;
    if (Capture* c = capture())
        return captured_rule(c, k, slot, given, out, n, n / r.times, [=](const Operand* at, char* to) {
            return share_by(team, k, slot, at, n, [=](const Operand* part, isize i, isize m) {
                return run_rule_of_repeats(k, loops, slot, part, r, to + i * item_size(slot), i, m);
            });
        });
    return share_by(team, k, slot, given, n, [=](const Operand* part, isize i, isize m) {
        return run_rule_of_repeats(k, loops, slot, part, r, out + i * item_size(slot), i, m);
    });
}

// Written out: what stands for `n` elements.
static inline void unlocked_repeats(int slot, const char* g, const Repeats& r, char* out, isize n) {
    if (Capture* c = capture()) {
        const isize item = item_size(slot);
        const Repeats repeats = r;
        captured(c, "repeat", {run_of(g, n / r.times, item, item, READ), run_of(out, n, item, item, WRITTEN)},
                 [=](char* const* p) {
                     write_repeats(slot, p[0], repeats, p[1], 0, n);
                     return 0;
                 });
        return;
    }
    unlocked(n, [=] {
        write_repeats(slot, g, r, out, 0, n);
        return 0;
    });
}

// A kernel of the gradient (step 0 or 1) and one dense operand.
static inline int share_pair(Team* team, const RuleKernel* k, const LoopSet* const* loops, int slot, const char* g,
                             isize sg, const ArrayView* y, char* out) {
    const isize n = y->size;
    const Operand given[2] = {{g, sg, 0}, {y->data, 1, n == 1 ? single_step(y, slot) : 0}};
    if (Capture* c = capture()) {
        if (n == 0) return 0;
        return captured_rule(c, k, slot, given, out, n, -1, [=](const Operand* at, char* to) {
            if (n >= NOGIL_SIZE) return share_rule_now(team, k, loops, slot, at, to, n);
            if (k->n_steps > 1) return run_dense_blocks(k, loops, slot, at, to, n);
            const char* in[2] = {at[0].data, at[1].data};
            return run_arithmetic(k->steps, slot, in, sg ? 0 : k->steps->any, to, n);
        });
    }
    if (n >= NOGIL_SIZE) return share_rule(team, k, loops, slot, given, out, n);
    if (k->n_steps > 1) return n ? run_dense_blocks(k, loops, slot, given, out, n) : 0;
    const char* in[2] = {g, y->data};
    return run_arithmetic(k->steps, slot, in, sg ? 0 : k->steps->any, out, n);
}

}  // namespace arraygrad
