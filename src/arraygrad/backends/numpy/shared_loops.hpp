// The inner loops of inner_loops.hpp as rules call them: without the GIL where that pays, and shared by several threads
// where that does (sharing.hpp).
// May include: capture.hpp, inner_loops.hpp, sharing.hpp, Python.h for the GIL. Knows neither Python objects nor NumPy.
//
// When sharing pays was measured (docs/performance.md, Threads): a helper comes 10 to 60 us after it is called, and what
// memory bounds gains only where caches no longer serve it.
#pragma once
#include "capture.hpp"
#include "inner_loops.hpp"
#include "sharing.hpp"

namespace arraygrad {

// Elements; below, giving up the GIL (28 ns) and the switch it invites cost more than it.
enum { NOGIL_SIZE = 20000 };

// f() for so many elements, which returns error bits: without the GIL where there are enough of them.
template <typename F> static inline int unlocked(std::ptrdiff_t size, F f) {
    if (size < NOGIL_SIZE || is_replaying) return f();
    PyThreadState* state = PyEval_SaveThread();
    const int errors = f();
    PyEval_RestoreThread(state);
    return errors;
}

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
    static const char* const memory[] = {
        "absolute", "add", "ceil", "divide", "equal", "floor", "greater", "greater_equal", "isfinite", "isinf", "isnan",
        "less", "less_equal", "logical_and", "logical_or", "maximum", "minimum", "multiply", "negative", "not_equal",
        "rint", "square", "subtract", "trunc"};
    static const char* const some[] = {"copysign", "reciprocal", "sign", "sqrt"};
    for (const char* name : memory)
        if (!std::strcmp(name, ufunc)) return COST_MEMORY;
    for (const char* name : some)
        if (!std::strcmp(name, ufunc)) return COST_SOME;
    return COST_DEAR;
}

// Large arrays, and all while something records (capture.hpp); the functions below are copied into what calls them.
static int share_many_unary(Team* team, const LoopSet* s, int slot, char* x, std::ptrdiff_t sx, char* out,
                            std::ptrdiff_t so, std::ptrdiff_t n) {
    return unlocked(n, [=] {
        return in_pieces(team, n, worth_sharing(s->cost, sx), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
            return run_unary(s, slot, x + i * sx, sx, out + i * so, so, m);
        });
    });
}

static int captured_unary(Capture* c, Team* team, const LoopSet* s, int slot, char* x, std::ptrdiff_t sx, char* out,
                          std::ptrdiff_t so, std::ptrdiff_t n) {
    const std::ptrdiff_t item = item_size(slot), to = s->to_bool ? 1 : item;
    const Span given = run_of(x, n, sx, item, READ), made = run_of(out, n, so ? so : to, to, WRITTEN);
    if (n == 0) return 0;
    if (n < NOGIL_SIZE)
        return captured(c, s->name, {given, made},
                        [=](char* const* p) { return run_unary(s, slot, p[0], sx, p[1], so, n); });
    return captured(c, s->name, {given, made},
                    [=](char* const* p) { return share_many_unary(team, s, slot, p[0], sx, p[1], so, n); });
}

static inline int share_unary(Team* team, const LoopSet* s, int slot, char* x, std::ptrdiff_t sx, char* out,
                              std::ptrdiff_t so, std::ptrdiff_t n) {
    if (Capture* c = capture()) return captured_unary(c, team, s, slot, x, sx, out, so, n);
    if (n < NOGIL_SIZE) return n ? run_unary(s, slot, x, sx, out, so, n) : 0;
    return share_many_unary(team, s, slot, x, sx, out, so, n);
}

static int share_many_binary(Team* team, const LoopSet* s, int slot, char* a, std::ptrdiff_t sa, char* b,
                             std::ptrdiff_t sb, char* out, std::ptrdiff_t so, std::ptrdiff_t n) {
    return unlocked(n, [=] {
        return in_pieces(team, n, worth_sharing(s->cost, item_size(slot)), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
            return run_binary(s, slot, a + i * sa, sa, b + i * sb, sb, out + i * so, so, m);
        });
    });
}

static int captured_binary(Capture* c, Team* team, const LoopSet* s, int slot, char* a, std::ptrdiff_t sa, char* b,
                           std::ptrdiff_t sb, char* out, std::ptrdiff_t so, std::ptrdiff_t n) {
    const std::ptrdiff_t item = item_size(slot), to = s->to_bool ? 1 : item;
    const Span first = run_of(a, n, sa, item, READ), second = run_of(b, n, sb, item, READ);
    const Span made = run_of(out, n, so ? so : to, to, WRITTEN);
    if (n == 0) return 0;
    if (n < NOGIL_SIZE)
        return captured(c, s->name, {first, second, made}, [=](char* const* p) {
            return run_binary(s, slot, p[0], sa, p[1], sb, p[2], so, n);
        });
    return captured(c, s->name, {first, second, made}, [=](char* const* p) {
        return share_many_binary(team, s, slot, p[0], sa, p[1], sb, p[2], so, n);
    });
}

static inline int share_binary(Team* team, const LoopSet* s, int slot, char* a, std::ptrdiff_t sa, char* b,
                               std::ptrdiff_t sb, char* out, std::ptrdiff_t so, std::ptrdiff_t n) {
    if (Capture* c = capture()) return captured_binary(c, team, s, slot, a, sa, b, sb, out, so, n);
    if (n < NOGIL_SIZE) return n ? run_binary(s, slot, a, sa, b, sb, out, so, n) : 0;
    return share_many_binary(team, s, slot, a, sa, b, sb, out, so, n);
}

static inline int share_rows_now(Team* team, const LoopSet* s, int slot, char* a, char* b, bool first, char* out,
                                 std::ptrdiff_t outer, std::ptrdiff_t inner) {
    const std::ptrdiff_t item = item_size(slot), n = inner < 0 ? -inner : inner, row = n * item;
    const std::ptrdiff_t part = inner < 0 ? item : 0, to = s->to_bool ? n : row;
    return unlocked(outer * n, [=] {
        return in_rows(team, outer, n, worth_sharing(s->cost, item), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
            return run_rows(s, slot, a + i * (first ? row : part), b + i * (first ? part : row), first, out + i * to, m,
                            inner);
        });
    });
}

static inline int share_rows(Team* team, const LoopSet* s, int slot, char* a, char* b, bool first, char* out,
                             std::ptrdiff_t outer, std::ptrdiff_t inner) {
    if (Capture* c = capture()) {
        const std::ptrdiff_t item = item_size(slot), n = inner < 0 ? -inner : inner, part = inner < 0 ? outer : n;
        const std::ptrdiff_t to = s->to_bool ? 1 : item;
        return captured(c, s->name,
                        {run_of(a, first ? outer * n : part, item, item, READ),
                         run_of(b, first ? part : outer * n, item, item, READ), run_of(out, outer * n, to, to, WRITTEN)},
                        [=](char* const* p) {
                            return share_rows_now(team, s, slot, p[0], p[1], first, p[2], outer, inner);
                        });
    }
    return share_rows_now(team, s, slot, a, b, first, out, outer, inner);
}

// Sums within rows: a row is one thread's, so its order stays. Sums over all rows are one thread's altogether.
static inline int share_sum_now(Team* team, const LoopSet* s, int slot, char* x, char* out, const Rows& r, char* start,
                                std::ptrdiff_t groups) {
    return unlocked(groups * r.outer * r.inner, [=] {
        if (r.leading) return run_sum(s, slot, x, out, r, start, groups);
        const std::ptrdiff_t item = item_size(slot);
        return in_rows(team, r.outer, r.inner, worth_sharing(COST_MEMORY, item), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
            return run_sum(s, slot, x + i * r.inner * item, out + i * item, Rows{m, r.inner, false, 1}, start);
        });
    });
}

static inline int share_sum(Team* team, const LoopSet* s, int slot, char* x, char* out, const Rows& r, char* start,
                            std::ptrdiff_t groups) {
    if (Capture* c = capture()) {
        const std::ptrdiff_t item = item_size(slot), made = groups * (r.leading ? r.inner : r.outer);
        const Rows rows = r;
        return captured(c, "add.reduce",
                        {run_of(x, groups * r.outer * r.inner, item, item, READ), run_of(start, 1, item, item, READ),
                         run_of(out, made, item, item, WRITTEN)},
                        [=](char* const* p) { return share_sum_now(team, s, slot, p[0], p[2], rows, p[1], groups); });
    }
    return share_sum_now(team, s, slot, x, out, r, start, groups);
}

// What two operands get of a gradient over which one was broadcast along the first axes and the other along the next:
// a row-major array of groups of rows.
struct SumsBothWays {
    std::ptrdiff_t groups, rows, inner;
};

// `over` and `within`: the axes that each sum goes over.
static inline bool sums_both_ways(const ArrayView* v, unsigned long long over, unsigned long long within, SumsBothWays* s) {
    enum { FIRST, NEXT, BEHIND } at = FIRST;
    s->groups = s->rows = s->inner = 1;
    for (int d = 0; d < v->ndim; d++) {
        const std::ptrdiff_t n = v->dims[d];
        const int of = (int)(over >> d & 1) + 2 * (int)(within >> d & 1);
        if (n == 1) continue;
        if (of == 3 || (of == 1 && at > FIRST) || (of == 2 && at > NEXT)) return false;
        at = of == 1 ? FIRST : of == 2 ? NEXT : BEHIND;
        (of == 1 ? s->groups : of == 2 ? s->rows : s->inner) *= n;
    }
    return v->c_order && at == BEHIND && s->groups > 1 && s->rows > 1 && s->rows * s->inner >= SHORT_ROW;
}

// Both sums in one pass, each in the order of run_sum: a few groups at a time, which stay in the first cache.
static inline int run_sums_both_ways(const LoopSet* add, int slot, char* x, char* over, char* within,
                                     const SumsBothWays& s, double begin) {
    const std::ptrdiff_t item = item_size(slot), n = s.rows * s.inner;
    const Rows r = {s.rows, s.inner, true, 1};
    const float single = (float)begin;
    char* start = slot == SLOT_F64 ? (char*)&begin : (char*)&single;
    int errors = 0;
    for (std::ptrdiff_t g = 0; g < s.groups; g += ROWS_AT_ONCE) {
        const std::ptrdiff_t m = s.groups - g < ROWS_AT_ONCE ? s.groups - g : (std::ptrdiff_t)ROWS_AT_ONCE;
        fp_begin();
        add_over_rows(slot, x + g * n * item, nullptr, over, Rows{m, n, true, 1}, g ? nullptr : start);
        errors |= fp_end();
        errors |= run_sum(add, slot, x + g * n * item, within + g * s.inner * item, r, start, m);
    }
    return errors;
}

static inline int share_sums_both_ways(const LoopSet* add, int slot, char* x, char* over, char* within,
                                       const SumsBothWays& s, double begin) {
    if (Capture* c = capture()) {
        const std::ptrdiff_t item = item_size(slot);
        const SumsBothWays sums = s;
        return captured(c, "add.reduce",
                        {run_of(x, s.groups * s.rows * s.inner, item, item, READ),
                         run_of(over, s.rows * s.inner, item, item, WRITTEN),
                         run_of(within, s.groups * s.inner, item, item, WRITTEN)},
                        [=](char* const* p) { return run_sums_both_ways(add, slot, p[0], p[1], p[2], sums, begin); });
    }
    return unlocked(s.groups * s.rows * s.inner,
                    [&] { return run_sums_both_ways(add, slot, x, over, within, s, begin); });
}

static inline int share_product_sum(const LoopSet* add, const LoopSet* multiply, int slot, char* a, char* b, char* out,
                                    const Rows& r, char* start, char* row) {
    if (Capture* c = capture()) {
        const std::ptrdiff_t item = item_size(slot), n = r.outer * r.inner;
        const Rows rows = r;
        return captured(c, "multiply and add.reduce",
                        {run_of(a, n, item, item, READ), run_of(b, n, item, item, READ),
                         run_of(start, 1, item, item, READ),
                         run_of(out, r.leading ? r.inner : r.outer, item, item, WRITTEN),
                         run_of(row, r.inner, item, item, WRITTEN)},
                        [=](char* const* p) {
                            return run_product_sum(add, multiply, slot, p[0], p[1], p[3], rows, p[2], p[4]);
                        });
    }
    return unlocked(r.outer * r.inner, [=] { return run_product_sum(add, multiply, slot, a, b, out, r, start, row); });
}

}  // namespace arraygrad
