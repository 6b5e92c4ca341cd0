// softmax and log_softmax within rows, forward and backward, and the values of relu, over plain memory.
// May include: inner_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
//
// Each computes what the table spells, in the same order of operations, by NumPy's own loops for exp, log and sums.
// Rows are worked on together as far as the first cache reaches, so that short ones don't cost a call each.
#pragma once
#include <cmath>
#include <limits>

#include "inner_loops.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#define ARRAYGRAD_INDEPENDENT _Pragma("GCC ivdep")      // `out` is one of the inputs or none of them, element by element
// A comparison may raise "invalid", which keeps GCC from choosing by mask; nobody looks at it. Values are the same.
#define ARRAYGRAD_QUIET __attribute__((optimize("no-trapping-math")))
#else
#define ARRAYGRAD_INDEPENDENT
#define ARRAYGRAD_QUIET
#endif

namespace arraygrad {

typedef std::ptrdiff_t isize;

enum { TOGETHER = 2048 };       // elements

struct RowLoops {
    const LoopSet *exp, *log, *add;
};

template <typename T> static inline void each_of(const LoopSet* s, int slot, T* x, T* out, isize n) {
    char* args[2] = {(char*)x, (char*)out};
    const isize steps[2] = {(isize)sizeof(T), (isize)sizeof(T)};
    s->fn[slot](args, &n, steps, s->data[slot]);
}

template <typename T> static inline T row_sum(const LoopSet* add, int slot, const T* x, isize n, T start) {
    T sum = start;
    char* args[3] = {(char*)&sum, (char*)x, (char*)&sum};
    const isize steps[3] = {0, (isize)sizeof(T), 0};
    add->fn[slot](args, &n, steps, add->data[slot]);
    return sum;
}

#define ARRAYGRAD_ROWS(T, SUFFIX)                                                                                      \
    /* The largest element, nan if there is one; zero in the place of an infinity or nan. */                           \
    ARRAYGRAD_CLONES ARRAYGRAD_QUIET static T finite_top_##SUFFIX(const T* x, isize n) {                               \
        T lanes[8];                                                                                                    \
        isize j = 0;                                                                                                   \
        bool nan = false;                                                                                              \
        T top = x[0];                                                                                                  \
        if (n >= 16) {                                                                                                 \
            for (int k = 0; k < 8; k++) lanes[k] = x[k];                                                               \
            for (; j + 8 <= n; j += 8)                                                                                 \
                for (int k = 0; k < 8; k++) lanes[k] = x[j + k] > lanes[k] ? x[j + k] : lanes[k];                      \
            for (int k = 0; k < 8; k++) top = lanes[k] > top ? lanes[k] : top;                                         \
        }                                                                                                              \
        for (; j < n; j++) top = x[j] > top ? x[j] : top;                                                              \
        for (j = 0; j < n; j++) nan |= !(x[j] == x[j]);                                                                \
        return nan || !(std::fabs(top) <= std::numeric_limits<T>::max()) ? T(0) : top;                                 \
    }                                                                                                                  \
    ARRAYGRAD_CLONES static void less_##SUFFIX(const T* x, T top, T* out, isize n) {                                   \
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[j] = x[j] - top;                                       \
    }                                                                                                                  \
    ARRAYGRAD_CLONES static void by_##SUFFIX(const T* x, T sum, T* out, isize n) {                                     \
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[j] = x[j] / sum;                                       \
    }                                                                                                                  \
    ARRAYGRAD_CLONES static void products_##SUFFIX(const T* x, const T* y, T* out, isize n) {                          \
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[j] = x[j] * y[j];                                      \
    }                                                                                                                  \
    ARRAYGRAD_CLONES static void softmax_back_##SUFFIX(const T* g, const T* y, T sum, T* out, isize n) {               \
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[j] = y[j] * (g[j] - sum);                              \
    }                                                                                                                  \
    ARRAYGRAD_CLONES static void log_softmax_back_##SUFFIX(const T* g, const T* e, T sum, T* out, isize n) {           \
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[j] = g[j] - e[j] * sum;                                \
    }                                                                                                                  \
    ARRAYGRAD_CLONES ARRAYGRAD_QUIET static void relu_##SUFFIX(const T* x, T* out, isize n) {                          \
        for (isize j = 0; j < n; j++) out[j] = x[j] > T(0) ? x[j] : (x[j] == x[j] ? T(0) : x[j]);                      \
    }                                                                                                                  \
    static inline T finite_top(const T* x, isize n) { return finite_top_##SUFFIX(x, n); }                              \
    static inline void less(const T* x, T top, T* out, isize n) { less_##SUFFIX(x, top, out, n); }                     \
    static inline void by(const T* x, T sum, T* out, isize n) { by_##SUFFIX(x, sum, out, n); }                         \
    static inline void products(const T* x, const T* y, T* out, isize n) { products_##SUFFIX(x, y, out, n); }          \
    static inline void softmax_back(const T* g, const T* y, T sum, T* out, isize n) {                                  \
        softmax_back_##SUFFIX(g, y, sum, out, n);                                                                      \
    }                                                                                                                  \
    static inline void log_softmax_back(const T* g, const T* e, T sum, T* out, isize n) {                              \
        log_softmax_back_##SUFFIX(g, e, sum, out, n);                                                                  \
    }                                                                                                                  \
    static inline void relu_of(const T* x, T* out, isize n) { relu_##SUFFIX(x, out, n); }
ARRAYGRAD_ROWS(float, f32)
ARRAYGRAD_ROWS(double, f64)
#undef ARRAYGRAD_ROWS

static inline isize rows_together(isize outer, isize inner) {
    const isize most = inner < TOGETHER ? TOGETHER / inner : 1;
    return most < outer ? most : outer;
}

// Elements that `work` has to have room for.
static inline isize softmax_room(isize outer, isize inner) { return rows_together(outer, inner) * (inner + 1); }

// Neither x nor g is written unless it is `out`.
template <typename T>
static void softmax_of(const RowLoops* f, int slot, bool logarithm, T* x, T* out, T* work, isize outer, isize inner,
                       T start) {
    const isize most = rows_together(outer, inner);
    T* sums = work + most * inner;
    for (isize i = 0; i < outer; i += most) {
        const isize rows = outer - i < most ? outer - i : most;
        T* to = out + i * inner;
        for (isize k = 0; k < rows; k++) {
            const T* row = x + (i + k) * inner;
            less(row, finite_top(row, inner), to + k * inner, inner);
        }
        // What comparisons with nan raise is nothing that the table's operations report.
        each_of(f->exp, slot, to, work, rows * inner);
        for (isize k = 0; k < rows; k++) sums[k] = row_sum(f->add, slot, work + k * inner, inner, start);
        if (logarithm) {
            each_of(f->log, slot, sums, sums, rows);
            for (isize k = 0; k < rows; k++) less(to + k * inner, sums[k], to + k * inner, inner);
        } else {
            for (isize k = 0; k < rows; k++) by(work + k * inner, sums[k], to + k * inner, inner);
        }
    }
}

template <typename T>
static void softmax_rule(const RowLoops* f, int slot, bool logarithm, const T* g, T* y, T* out, T* work, isize outer,
                         isize inner, T start) {
    const isize most = rows_together(outer, inner);
    for (isize i = 0; i < outer; i += most) {
        const isize rows = outer - i < most ? outer - i : most, at = i * inner;
        if (logarithm) each_of(f->exp, slot, y + at, work, rows * inner);
        else products(g + at, y + at, work, rows * inner);
        for (isize k = 0; k < rows; k++) {
            const isize from = k * inner, row = at + from;
            if (logarithm)
                log_softmax_back(g + row, work + from, row_sum(f->add, slot, g + row, inner, start), out + row, inner);
            else
                softmax_back(g + row, y + row, row_sum(f->add, slot, work + from, inner, start), out + row, inner);
        }
    }
}

// Each returns the error bits raised; of a row with nan also those of comparisons, which the table's operations don't
// raise.
static inline int run_softmax(const RowLoops* f, int slot, bool logarithm, char* x, char* out, char* work, isize outer,
                              isize inner, double start) {
    fp_begin();
    if (slot == SLOT_F64) softmax_of(f, slot, logarithm, (double*)x, (double*)out, (double*)work, outer, inner, start);
    else softmax_of(f, slot, logarithm, (float*)x, (float*)out, (float*)work, outer, inner, (float)start);
    return fp_end();
}

static inline int run_softmax_rule(const RowLoops* f, int slot, bool logarithm, const char* g, char* y, char* out,
                                   char* work, isize outer, isize inner, double start) {
    fp_begin();
    if (slot == SLOT_F64)
        softmax_rule(f, slot, logarithm, (const double*)g, (double*)y, (double*)out, (double*)work, outer, inner, start);
    else
        softmax_rule(f, slot, logarithm, (const float*)g, (float*)y, (float*)out, (float*)work, outer, inner,
                     (float)start);
    return fp_end();
}

static inline void run_relu(int slot, const char* x, char* out, isize n) {
    if (slot == SLOT_F64) relu_of((const double*)x, (double*)out, n);
    else relu_of((const float*)x, (float*)out, n);
    fp_begin();                 // forgets what comparisons with nan raised
}

}  // namespace arraygrad
