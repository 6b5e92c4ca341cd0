// Variances and what they send back, and quotients by something broadcast: one pass over memory each.
// May include: inner_loops.hpp. Knows neither Python objects nor NumPy.
//
// An array counts as `outer` rows of `inner` elements. `leading`: sums run over the rows, and a mean, a divisor or a
// gradient has `inner` elements; else they run within each row, and there is one element for each.
#pragma once
#include "inner_loops.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#define ARRAYGRAD_SEPARATE _Pragma("GCC ivdep")     // results are one of the inputs, element by element, or none
#else
#define ARRAYGRAD_SEPARATE
#endif

namespace arraygrad {

// Elements that are worked on at a time, so that what is read twice stays in the first cache.
enum { PART = 1024 };

#define ARRAYGRAD_MOMENTS(T, SUFFIX)                                                                                  \
    ARRAYGRAD_CLONES static void add_squares_##SUFFIX(const T* x, const T* mean, T* out, std::ptrdiff_t n) {          \
        ARRAYGRAD_SEPARATE for (std::ptrdiff_t j = 0; j < n; j++) {                                                   \
            T d = x[j] - mean[j];                                                                                     \
            out[j] += d * d;                                                                                          \
        }                                                                                                             \
    }                                                                                                                 \
    ARRAYGRAD_CLONES static void squares_##SUFFIX(const T* x, T mean, T* out, std::ptrdiff_t n) {                     \
        for (std::ptrdiff_t j = 0; j < n; j++) {                                                                      \
            T d = x[j] - mean;                                                                                        \
            out[j] = d * d;                                                                                           \
        }                                                                                                             \
    }                                                                                                                 \
    ARRAYGRAD_CLONES static void spread_rows_##SUFFIX(const T* x, const T* mean, const T* g, T* out,                  \
                                                      std::ptrdiff_t n) {                                             \
        ARRAYGRAD_SEPARATE for (std::ptrdiff_t j = 0; j < n; j++) out[j] = (x[j] - mean[j]) * g[j];                   \
    }                                                                                                                 \
    ARRAYGRAD_CLONES static void spread_row_##SUFFIX(const T* x, T mean, T g, T* out, std::ptrdiff_t n) {             \
        for (std::ptrdiff_t j = 0; j < n; j++) out[j] = (x[j] - mean) * g;                                            \
    }                                                                                                                 \
    ARRAYGRAD_CLONES static void quotient_rows_##SUFFIX(const T* g, const T* y, const T* z, T* out, T* sum,           \
                                                        std::ptrdiff_t n) {                                           \
        ARRAYGRAD_SEPARATE for (std::ptrdiff_t j = 0; j < n; j++) {                                                   \
            T gj = g[j];                                                                                              \
            sum[j] += gj * y[j];                                                                                      \
            out[j] = gj / z[j];                                                                                       \
        }                                                                                                             \
    }                                                                                                                 \
    ARRAYGRAD_CLONES static void quotient_row_##SUFFIX(const T* g, const T* y, T z, T* out, T* product,               \
                                                       std::ptrdiff_t n) {                                            \
        ARRAYGRAD_SEPARATE for (std::ptrdiff_t j = 0; j < n; j++) {                                                   \
            T gj = g[j];                                                                                              \
            product[j] = gj * y[j];                                                                                   \
            out[j] = gj / z;                                                                                          \
        }                                                                                                             \
    }                                                                                                                 \
    static inline void add_squares(const T* x, const T* m, T* o, std::ptrdiff_t n) { add_squares_##SUFFIX(x, m, o, n); } \
    static inline void squares(const T* x, T m, T* o, std::ptrdiff_t n) { squares_##SUFFIX(x, m, o, n); }             \
    static inline void spread_rows(const T* x, const T* m, const T* g, T* o, std::ptrdiff_t n) {                      \
        spread_rows_##SUFFIX(x, m, g, o, n);                                                                          \
    }                                                                                                                 \
    static inline void spread_row(const T* x, T m, T g, T* o, std::ptrdiff_t n) { spread_row_##SUFFIX(x, m, g, o, n); } \
    static inline void quotient_rows(const T* g, const T* y, const T* z, T* o, T* s, std::ptrdiff_t n) {              \
        quotient_rows_##SUFFIX(g, y, z, o, s, n);                                                                     \
    }                                                                                                                 \
    static inline void quotient_row(const T* g, const T* y, T z, T* o, T* p, std::ptrdiff_t n) {                      \
        quotient_row_##SUFFIX(g, y, z, o, p, n);                                                                      \
    }
ARRAYGRAD_MOMENTS(float, f32)
ARRAYGRAD_MOMENTS(double, f64)
#undef ARRAYGRAD_MOMENTS

// The sum of n terms that `make(from, count, to)` writes, in the order of numpy.add's loop (pairwise): halves, cut at a
// multiple of eight, until a part fits. Minus zero changes no sum.
template <typename T, typename Make>
static T pairwise_sum(const LoopSet* add, int slot, Make& make, std::ptrdiff_t from, std::ptrdiff_t n) {
    if (n <= PART) {
        alignas(64) T terms[PART];
        T sum = T(-0.0);
        make(from, n, terms);
        char* args[3] = {(char*)&sum, (char*)terms, (char*)&sum};
        const std::ptrdiff_t steps[3] = {0, (std::ptrdiff_t)sizeof(T), 0};
        add->fn[slot](args, &n, steps, add->data[slot]);
        return sum;
    }
    const std::ptrdiff_t half = n / 2 - n / 2 % 8;
    const T first = pairwise_sum<T>(add, slot, make, from, half);
    return first + pairwise_sum<T>(add, slot, make, from + half, n - half);
}

// Sums of (x - mean)^2, each begun with `start`.
template <typename T>
static void squares_of(const LoopSet* add, int slot, const T* x, const T* mean, T* out, std::ptrdiff_t outer,
                       std::ptrdiff_t inner, bool leading, T start) {
    if (!leading) {
        for (std::ptrdiff_t i = 0; i < outer; i++) {
            auto make = [&](std::ptrdiff_t from, std::ptrdiff_t n, T* to) { squares(x + i * inner + from, mean[i], to, n); };
            out[i] = start + pairwise_sum<T>(add, slot, make, 0, inner);
        }
        return;
    }
    for (std::ptrdiff_t k = 0; k < inner; k += PART) {
        const std::ptrdiff_t n = inner - k < PART ? inner - k : (std::ptrdiff_t)PART;
        for (std::ptrdiff_t j = 0; j < n; j++) out[k + j] = start;
        for (std::ptrdiff_t i = 0; i < outer; i++) add_squares(x + i * inner + k, mean + k, out + k, n);
    }
}

// out = (x - mean) * g. out may be x.
template <typename T>
static void spread_of(const T* x, const T* mean, const T* g, T* out, std::ptrdiff_t outer, std::ptrdiff_t inner,
                      bool leading) {
    for (std::ptrdiff_t i = 0; i < outer; i++) {
        if (leading) spread_rows(x + i * inner, mean, g, out + i * inner, inner);
        else spread_row(x + i * inner, mean[i], g[i], out + i * inner, inner);
    }
}

// out = g / z, sum = the sums of g * y. out may be g.
template <typename T>
static void quotients_of(const LoopSet* add, int slot, const T* g, const T* y, const T* z, T* out, T* sum,
                         std::ptrdiff_t outer, std::ptrdiff_t inner, bool leading, T start) {
    if (!leading) {
        for (std::ptrdiff_t i = 0; i < outer; i++) {
            auto make = [&](std::ptrdiff_t from, std::ptrdiff_t n, T* to) {
                const std::ptrdiff_t k = i * inner + from;
                quotient_row(g + k, y + k, z[i], out + k, to, n);
            };
            sum[i] = start + pairwise_sum<T>(add, slot, make, 0, inner);
        }
        return;
    }
    for (std::ptrdiff_t k = 0; k < inner; k += PART) {
        const std::ptrdiff_t n = inner - k < PART ? inner - k : (std::ptrdiff_t)PART;
        for (std::ptrdiff_t j = 0; j < n; j++) sum[k + j] = start;
        for (std::ptrdiff_t i = 0; i < outer; i++) {
            const std::ptrdiff_t at = i * inner + k;
            quotient_rows(g + at, y + at, z + k, out + at, sum + k, n);
        }
    }
}

// Each returns the error bits raised.
static inline int run_squares(const LoopSet* add, int slot, const char* x, const char* mean, char* out,
                              std::ptrdiff_t outer, std::ptrdiff_t inner, bool leading, double start) {
    fp_begin();
    if (slot == SLOT_F64)
        squares_of(add, slot, (const double*)x, (const double*)mean, (double*)out, outer, inner, leading, start);
    else
        squares_of(add, slot, (const float*)x, (const float*)mean, (float*)out, outer, inner, leading, (float)start);
    return fp_end();
}

static inline int run_spread(int slot, const char* x, const char* mean, const char* g, char* out, std::ptrdiff_t outer,
                             std::ptrdiff_t inner, bool leading) {
    fp_begin();
    if (slot == SLOT_F64)
        spread_of((const double*)x, (const double*)mean, (const double*)g, (double*)out, outer, inner, leading);
    else
        spread_of((const float*)x, (const float*)mean, (const float*)g, (float*)out, outer, inner, leading);
    return fp_end();
}

static inline int run_quotients(const LoopSet* add, int slot, const char* g, const char* y, const char* z, char* out,
                                char* sum, std::ptrdiff_t outer, std::ptrdiff_t inner, bool leading, double start) {
    fp_begin();
    if (slot == SLOT_F64)
        quotients_of(add, slot, (const double*)g, (const double*)y, (const double*)z, (double*)out, (double*)sum, outer,
                     inner, leading, start);
    else
        quotients_of(add, slot, (const float*)g, (const float*)y, (const float*)z, (float*)out, (float*)sum, outer,
                     inner, leading, (float)start);
    return fp_end();
}

}  // namespace arraygrad
