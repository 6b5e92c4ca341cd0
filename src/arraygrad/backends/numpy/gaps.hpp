// Gradients of reductions and scans that leave out nan, over row-major arrays taken as outer x n x inner.
// May include: arrangements.hpp, shared_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
//
// What is reduced, and its gradient, has one element for each lane: outer x inner.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "arrangements.hpp"

namespace arraygrad {

enum GapRule { GAP_SUM, GAP_MEAN, GAP_EXTREMUM, GAP_PRODUCT, GAP_VARIANCE, GAP_DEVIATION, GAP_SUMS, GAP_PRODUCTS };

// The gradient of one lane of x, every `s`-th element, from g (of a scan: one for each element).
template <typename T>
static inline void gap_lane(GapRule rule, const T* x, T ans, const T* g, T* out, std::ptrdiff_t n, std::ptrdiff_t s,
                            double ddof) {
    T total = T(0), share = g[0];
    std::ptrdiff_t count = 0;
    switch (rule) {
        case GAP_SUM:
            for (std::ptrdiff_t i = 0; i < n; i++) out[i * s] = x[i * s] == x[i * s] ? share : T(0);
            return;
        case GAP_MEAN:
            for (std::ptrdiff_t i = 0; i < n; i++) count += x[i * s] == x[i * s];
            share = count ? share / T(count) : T(0);
            for (std::ptrdiff_t i = 0; i < n; i++) out[i * s] = x[i * s] == x[i * s] ? share : T(0);
            return;
        case GAP_EXTREMUM:
            for (std::ptrdiff_t i = 0; i < n; i++) count += x[i * s] == ans;
            share = share / T(count ? count : 1);
            for (std::ptrdiff_t i = 0; i < n; i++) out[i * s] = x[i * s] == ans ? share : T(0);
            return;
        case GAP_PRODUCT:               // what comes before times what comes after: nothing is divided
            total = T(1);
            for (std::ptrdiff_t i = 0; i < n; i++) {
                out[i * s] = total;
                if (x[i * s] == x[i * s]) total *= x[i * s];
            }
            total = T(1);
            for (std::ptrdiff_t i = n - 1; i >= 0; i--) {
                if (x[i * s] == x[i * s]) {
                    out[i * s] = share * (out[i * s] * total);
                    total *= x[i * s];
                } else {
                    out[i * s] = T(0);
                }
            }
            return;
        case GAP_VARIANCE:
        case GAP_DEVIATION: {
            for (std::ptrdiff_t i = 0; i < n; i++)
                if (x[i * s] == x[i * s]) {
                    total += x[i * s];
                    count++;
                }
            const T mean = total / T(count ? count : 1), left = T(double(count) - ddof);
            if (rule == GAP_VARIANCE) share = left > T(0) ? T(2) * share / left : T(0);
            else share = left > T(0) && ans != T(0) ? share / (ans * left) : T(0);
            for (std::ptrdiff_t i = 0; i < n; i++)
                out[i * s] = x[i * s] == x[i * s] && left > T(0) ? share * (x[i * s] - mean) : T(0);
            return;
        }
        case GAP_SUMS:
            for (std::ptrdiff_t i = n - 1; i >= 0; i--) {
                total += g[i * s];
                out[i * s] = x[i * s] == x[i * s] ? total : T(0);
            }
            return;
        case GAP_PRODUCTS:              // as cumulative_prod's, with ones for nan
            for (std::ptrdiff_t i = n - 1; i >= 0; i--) {
                out[i * s] = total = g[i * s] + total;
                total *= x[i * s] == x[i * s] ? x[i * s] : T(1);
            }
            total = T(1);
            for (std::ptrdiff_t i = 0; i < n; i++) {
                if (x[i * s] == x[i * s]) {
                    out[i * s] *= total;
                    total *= x[i * s];
                } else {
                    out[i * s] = T(0);
                }
            }
            return;
    }
}

// GAP_SUM, GAP_MEAN, GAP_VARIANCE and GAP_DEVIATION of a.inner lanes side by side: row by row, as memory lies. `room`
// has place for three rows. In the order of gap_lane's operations.
template <typename T>
static inline void gap_rows(GapRule rule, const T* x, const T* ans, const T* g, T* out, Around a, double ddof, T* room) {
    const std::ptrdiff_t m = a.inner;
    T *share = room, *mean = room + m, *count = room + 2 * m;
    const bool moved = rule == GAP_VARIANCE || rule == GAP_DEVIATION;
    for (std::ptrdiff_t k = 0; k < m; k++) share[k] = g[k], mean[k] = count[k] = T(0);
    if (rule != GAP_SUM) {
        for (std::ptrdiff_t i = 0; i < a.n; i++)
            for (std::ptrdiff_t k = 0; k < m; k++) {
                const T v = x[i * m + k];
                mean[k] += v == v ? v : T(0);
                count[k] += v == v ? T(1) : T(0);
            }
        for (std::ptrdiff_t k = 0; k < m; k++) {
            if (!moved) {
                share[k] = count[k] > T(0) ? share[k] / count[k] : T(0);
                continue;
            }
            const T left = T(double(count[k]) - ddof);
            mean[k] /= count[k] > T(0) ? count[k] : T(1);
            if (rule == GAP_VARIANCE) share[k] = left > T(0) ? T(2) * share[k] / left : T(0);
            else share[k] = left > T(0) && ans[k] != T(0) ? share[k] / (ans[k] * left) : T(0);
        }
    }
    for (std::ptrdiff_t i = 0; i < a.n; i++)
        for (std::ptrdiff_t k = 0; k < m; k++) {
            const T v = x[i * m + k];
            out[i * m + k] = v == v ? moved ? share[k] * (v - mean[k]) : share[k] : T(0);
        }
}

template <typename T>
static inline void gap_gradient_of(GapRule rule, const T* x, const T* ans, const T* g, T* out, Around a, double ddof) {
    const bool scan = rule == GAP_SUMS || rule == GAP_PRODUCTS;
    const bool by_rows = rule == GAP_SUM || rule == GAP_MEAN || rule == GAP_VARIANCE || rule == GAP_DEVIATION;
    Room<T> room(a.inner > 1 && by_rows ? 3 * a.inner : 1);
    if (a.inner > 1 && by_rows && room.data) {
        for (std::ptrdiff_t o = 0; o < a.outer; o++) {
            const std::ptrdiff_t at = o * a.n * a.inner, lane = o * a.inner;
            gap_rows(rule, x + at, ans ? ans + lane : nullptr, g + lane, out + at, a, ddof, room.data);
        }
        return;
    }
    for (std::ptrdiff_t o = 0; o < a.outer; o++)
        for (std::ptrdiff_t k = 0; k < a.inner; k++) {
            const std::ptrdiff_t lane = o * a.inner + k, at = o * a.n * a.inner + k;
            gap_lane(rule, x + at, ans ? ans[lane] : T(0), g + (scan ? at : lane), out + at, a.n, a.inner, ddof);
        }
}

static inline int gap_gradient(int rule, int slot, const char* x, const char* ans, const char* g, char* out, Around a,
                               double ddof) {
    return unlocked(a.outer * a.n * a.inner, [=] {
        fp_begin();
        ARRAYGRAD_REAL(slot, gap_gradient_of((GapRule)rule, (const T*)x, (const T*)ans, (const T*)g, (T*)out, a, ddof));
        return fp_end() & ~FPE_INVALID;         // comparisons with nan raise that
    });
}

}  // namespace arraygrad
