// The gradient of a sum: each element stands for all that were added. Written out, or read so by a rule.
// May include: rules.hpp. Knows neither Python objects nor NumPy.
#pragma once
#include "rules.hpp"

namespace arraygrad {

// An array that repeats along axes beside each other: element [o, k, j] of (any, times, behind) is g[o * behind + j].
struct Repeats {
    isize times, behind;
};

// Whether a view is that of a row-major array, which has strides of zero along the axes that repeat it. False: nothing
// repeats, or there are no elements.
static inline bool is_repeats(const ArrayView* v, Repeats* r) {
    enum { BEHIND, AMONG, BEFORE } at = BEHIND;
    isize dense = item_size(v->slot);
    r->times = r->behind = 1;
    for (int d = v->ndim - 1; d >= 0; d--) {
        const isize n = v->dims[d];
        if (n == 1) continue;
        if (v->strides[d] == 0) {
            if (at == BEFORE) return false;
            at = AMONG;
            r->times *= n;
            continue;
        }
        if (v->strides[d] != dense) return false;
        dense *= n;
        if (at == BEHIND) r->behind *= n;
        else at = BEFORE;
    }
    return at != BEHIND && v->size > 0;
}

// Whether vectors can be permuted by places that are known to the compiler.
#if defined(__clang__) || defined(__GNUC__) && __GNUC__ >= 12
#define ARRAYGRAD_PERMUTES 1
template <typename T> struct Lanes {            // 32 bytes, anywhere in memory
    enum { COUNT = 32 / sizeof(T) };
    typedef T Vector __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
};

// The vector at place K of those that repeat each element of x N times.
template <int N, int K> ARRAYGRAD_INLINED static inline void repeat_part(const double* x, double* out) {
    typedef Lanes<double>::Vector V;
    const V v = *(const V*)x;
    *(V*)(out + 4 * K) = __builtin_shufflevector(v, v, 4 * K / N, (4 * K + 1) / N, (4 * K + 2) / N, (4 * K + 3) / N);
}
template <int N, int K> ARRAYGRAD_INLINED static inline void repeat_part(const float* x, float* out) {
    typedef Lanes<float>::Vector V;
    const V v = *(const V*)x;
    *(V*)(out + 8 * K) = __builtin_shufflevector(v, v, 8 * K / N, (8 * K + 1) / N, (8 * K + 2) / N, (8 * K + 3) / N,
                                                 (8 * K + 4) / N, (8 * K + 5) / N, (8 * K + 6) / N, (8 * K + 7) / N);
}
#endif

template <int N, typename T> ARRAYGRAD_INLINED static inline void repeat_by(const T* g, T* out, isize n) {
    isize i = 0;
#ifdef ARRAYGRAD_PERMUTES
    const isize lanes = Lanes<T>::COUNT;
    for (; i + lanes <= n; i += lanes) {
        repeat_part<N, 0>(g + i, out + i * N);
        if (N > 1) repeat_part<N, (N > 1 ? 1 : 0)>(g + i, out + i * N);
        if (N > 2) repeat_part<N, (N > 2 ? 2 : 0)>(g + i, out + i * N);
        if (N > 3) repeat_part<N, (N > 3 ? 3 : 0)>(g + i, out + i * N);
    }
#endif
    for (; i < n; i++)
        for (int k = 0; k < N; k++) out[i * N + k] = g[i];
}

ARRAYGRAD_ROW_FUNCTION(repeat_elements, , void, (const T* g, T* out, isize n, isize times),
    switch (times) {
    case 1: return repeat_by<1>(g, out, n);
    case 2: return repeat_by<2>(g, out, n);
    case 3: return repeat_by<3>(g, out, n);
    case 4: return repeat_by<4>(g, out, n);
    }
    for (isize i = 0; i < n; i++)
        for (isize k = 0; k < times; k++) out[i * times + k] = g[i];)

// Elements from `i` on, `n` of them.
template <typename T> static inline void write_repeats(const T* g, const Repeats& r, T* out, isize i, isize n) {
    T* const end = out + n;
    if (r.behind == 1) {
        isize from = i / r.times;
        if (i % r.times) {
            for (isize k = i % r.times; k < r.times && out < end; k++) *out++ = g[from];
            from++;
        }
        const isize whole = (end - out) / r.times;
        repeat_elements(g + from, out, whole, r.times);
        for (out += whole * r.times; out < end; out++) *out = g[from + whole];
        return;
    }
    isize row = i / r.behind, column = i % r.behind;
    while (out < end) {
        const isize left = r.behind - column, m = end - out < left ? end - out : left;
        std::memcpy(out, g + row / r.times * r.behind + column, (std::size_t)m * sizeof(T));
        out += m;
        row++;
        column = 0;
    }
}

static inline void write_repeats(int slot, const char* g, const Repeats& r, char* out, isize i, isize n) {
    if (slot == SLOT_F64) write_repeats((const double*)g, r, (double*)out, i, n);
    else write_repeats((const float*)g, r, (float*)out, i, n);
}

// run_rule for elements from `from` on of a gradient that repeats, which is written out a block at a time: it never
// leaves the first cache. `given` and `out` begin at `from`.
static inline int run_rule_of_repeats(const RuleKernel* k, const LoopSet* const* loops, int slot, const Operand* given,
                                      const Repeats& r, char* out, isize from, isize n) {
    alignas(64) char block[LONG_BLOCK * sizeof(double)];
    const isize item = item_size(slot), most = LONG_BLOCK * sizeof(double) / item;
    Operand part[MOST_OPERANDS];
    int errors = 0;
    for (isize i = 0; i < n; i += most) {
        const isize m = n - i < most ? n - i : most, column = (from + i) % r.behind;
        for (int p = 1; p < k->n_operands; p++)
            part[p] = {given[p].data + i * given[p].step * item, given[p].step, given[p].step * item};
        if (m <= r.behind - column) {
            part[0] = {given[0].data + ((from + i) / r.behind / r.times * r.behind + column) * item, 1, item};
        } else {
            write_repeats(slot, given[0].data, r, block, from + i, m);
            part[0] = {block, 1, item};
        }
        errors |= run_rule(k, loops, slot, part, out + i * item, m);
    }
    return errors;
}

}  // namespace arraygrad
