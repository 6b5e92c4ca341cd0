// Comparisons and logic over dense memory: exact by definition, and NumPy reports no floating-point errors for them.
// May include: shared_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
#pragma once
#include <cmath>
#include <cstddef>

#include "shared_loops.hpp"

namespace arraygrad {

enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE };
enum { ASK_NAN, ASK_INF, ASK_FINITE };
enum { LOGIC_AND, LOGIC_OR };

template <typename T, typename F>
static inline void each_pair(const T* a, std::ptrdiff_t sa, const T* b, std::ptrdiff_t sb, unsigned char* out,
                             std::ptrdiff_t n, F f) {
    for (std::ptrdiff_t i = 0; i < n; i++) out[i] = f(a[i * sa], b[i * sb]);
}

// out[i] = a[i * sa] <code> b[i * sb]; steps are 0 or 1.
template <typename T>
static inline void compare(int code, const T* a, std::ptrdiff_t sa, const T* b, std::ptrdiff_t sb, unsigned char* out,
                           std::ptrdiff_t n) {
    switch (code) {
        case CMP_EQ: return each_pair(a, sa, b, sb, out, n, [](T x, T y) { return x == y; });
        case CMP_NE: return each_pair(a, sa, b, sb, out, n, [](T x, T y) { return x != y; });
        case CMP_LT: return each_pair(a, sa, b, sb, out, n, [](T x, T y) { return x < y; });
        case CMP_LE: return each_pair(a, sa, b, sb, out, n, [](T x, T y) { return x <= y; });
        case CMP_GT: return each_pair(a, sa, b, sb, out, n, [](T x, T y) { return x > y; });
        default: return each_pair(a, sa, b, sb, out, n, [](T x, T y) { return x >= y; });
    }
}

// The same, shared by several threads where that pays.
template <typename T>
static inline void share_compare(Team* team, int code, const T* a, std::ptrdiff_t sa, const T* b, std::ptrdiff_t sb,
                                 unsigned char* out, std::ptrdiff_t n) {
    in_pieces(team, n, worth_sharing(COST_MEMORY, sizeof(T)), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
        compare(code, a + i * sa, sa, b + i * sb, sb, out + i, m);
        return 0;
    });
}

template <typename T>
static inline void ask(int code, const T* x, unsigned char* out, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; i++)
        out[i] = code == ASK_NAN ? std::isnan(x[i]) : code == ASK_INF ? std::isinf(x[i]) : std::isfinite(x[i]);
}

static inline void logic(int code, const unsigned char* a, const unsigned char* b, unsigned char* out,
                         std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; i++) out[i] = code == LOGIC_AND ? (a[i] && b[i]) : (a[i] || b[i]);
}

}  // namespace arraygrad
