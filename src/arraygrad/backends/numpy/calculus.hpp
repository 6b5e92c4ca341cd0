// Differences, gradients, the trapezoidal rule, interpolation, correlation and weighted counts, and what they send back.
// May include: arrangements.hpp, the C++ library. Knows neither Python objects nor NumPy. Sizes were checked.
//
// Values are computed with one rounding for each of NumPy's operations, in its order. What returns int returns the
// error bits raised.
#pragma once
#include <cmath>
#include <cstdint>

#include "arrangements.hpp"

namespace arraygrad {

// numpy.gradient of n >= 2 values that are `h` apart.
template <typename T> static inline void slopes_of(const T* f, T* out, std::ptrdiff_t n, double h) {
    const T step = T(h), two = T(2.0 * h);
    for (std::ptrdiff_t i = 1; i < n - 1; i++) out[i] = (f[i + 1] - f[i - 1]) / two;
    out[0] = (f[1] - f[0]) / step;
    out[n - 1] = (f[n - 1] - f[n - 2]) / step;
}

template <typename T> static inline void slopes_back_of(const T* g, T* out, std::ptrdiff_t n, double h) {
    const T step = T(h), two = T(2.0 * h);
    for (std::ptrdiff_t i = 0; i < n; i++) {
        T sum = T(0);
        if (i == 0) sum -= g[0] / step;
        else if (i > 1) sum += g[i - 1] / two;
        if (i == 1) sum += g[0] / step;
        if (i == n - 2) sum -= g[n - 1] / step;
        else if (i < n - 2) sum -= g[i + 1] / two;
        if (i == n - 1) sum += g[n - 1] / step;
        out[i] = sum;
    }
}

static inline int slopes(int slot, const char* f, char* out, std::ptrdiff_t n, double h, bool back) {
    return unlocked(n, [=] {
        fp_begin();
        ARRAYGRAD_REAL(slot, if (back) slopes_back_of((const T*)f, (T*)out, n, h);
                       else slopes_of((const T*)f, (T*)out, n, h);)
        return fp_end();
    });
}

// The n - 1 differences of n values; or (`back`) the gradient of n values from that of their differences.
static inline int steps(int slot, const char* x, char* out, std::ptrdiff_t n, bool back) {
    return unlocked(n, [=] {
        fp_begin();
        ARRAYGRAD_REAL(slot, {
            const T* from = (const T*)x;
            T* to = (T*)out;
            if (back)
                for (std::ptrdiff_t i = 0; i < n; i++) to[i] = (i ? from[i - 1] : T(0)) - (i < n - 1 ? from[i] : T(0));
            else
                for (std::ptrdiff_t i = 0; i < n - 1; i++) to[i] = from[i + 1] - from[i];
        })
        return fp_end();
    });
}

// dx * (y[i + 1] + y[i]) / 2 along the axis, of which a.n - 1 are made.
template <typename T> static inline void panels_of(const T* y, T* out, Around a, double dx) {
    const T d = T(dx);
    for (std::ptrdiff_t o = 0; o < a.outer; o++)
        for (std::ptrdiff_t i = 0; i < (a.n - 1) * a.inner; i++) {
            const T* at = y + o * a.n * a.inner + i;
            out[o * (a.n - 1) * a.inner + i] = d * (at[a.inner] + at[0]) / T(2);
        }
}

static inline int panels(int slot, const char* y, char* out, Around a, double dx) {
    return unlocked(a.outer * a.n * a.inner, [=] {
        fp_begin();
        ARRAYGRAD_REAL(slot, panels_of((const T*)y, (T*)out, a, dx));
        return fp_end();
    });
}

// g * dx inside, half of that at both ends of the axis.
template <typename T> static inline void panels_back_of(const T* g, T* out, Around a, double dx) {
    const T d = T(dx);
    for (std::ptrdiff_t o = 0; o < a.outer; o++)
        for (std::ptrdiff_t i = 0; i < a.n; i++)
            for (std::ptrdiff_t k = 0; k < a.inner; k++) {
                const T share = g[o * a.inner + k] * d;
                out[(o * a.n + i) * a.inner + k] = i == 0 || i == a.n - 1 ? share * T(0.5) : share;
            }
}

static inline int panels_back(int slot, const char* g, char* out, Around a, double dx) {
    return unlocked(a.outer * a.n * a.inner, [=] {
        fp_begin();
        ARRAYGRAD_REAL(slot, panels_back_of((const T*)g, (T*)out, a, dx));
        return fp_end();
    });
}

// (x[i + 1] - x[i]) * (y[i + 1] + y[i]) / 2 of n points, n - 1 numbers.
static inline int panels_between(int slot, const char* y, const char* x, char* out, std::ptrdiff_t n) {
    return unlocked(n, [=] {
        fp_begin();
        ARRAYGRAD_REAL(slot, {
            const T *f = (const T*)y, *at = (const T*)x;
            for (std::ptrdiff_t i = 0; i < n - 1; i++) ((T*)out)[i] = (at[i + 1] - at[i]) * (f[i + 1] + f[i]) / T(2);
        })
        return fp_end();
    });
}

// Half of the number g times the differences of what lies on both sides of a point, which are points of their own at
// the ends: the gradient of y where `other` is x, and with `sums` that of x where it is y, of sums for differences.
static inline int sides(int slot, const char* g, const char* other, char* out, std::ptrdiff_t n, bool sums) {
    return unlocked(n, [=] {
        fp_begin();
        ARRAYGRAD_REAL(slot, {
            const T* from = (const T*)other;
            const T half = *(const T*)g * T(0.5);
            for (std::ptrdiff_t i = 0; i < n; i++) {
                T before = T(0), behind = T(0);
                if (i) before = sums ? from[i - 1] + from[i] : from[i] - from[i - 1];
                if (i < n - 1) behind = sums ? from[i] + from[i + 1] : from[i + 1] - from[i];
                ((T*)out)[i] = half * (sums ? before - behind : before + behind);
            }
        })
        return fp_end();
    });
}

// Weights summed by the number of their bin. `bins` begins as zeros.
static inline int count_weights(int slot, const int64_t* at, const char* w, double* bins, std::ptrdiff_t n) {
    return unlocked(n, [=] {
        fp_begin();
        ARRAYGRAD_REAL(slot, for (std::ptrdiff_t i = 0; i < n; i++) bins[at[i]] += double(((const T*)w)[i]);)
        return fp_end();
    });
}

// The greatest of n numbers, -1: one is less than zero.
ARRAYGRAD_CLONES static int64_t greatest(const int64_t* at, std::ptrdiff_t n) {
    int64_t most = 0, least = 0;
    for (std::ptrdiff_t i = 0; i < n; i++) {
        most = at[i] > most ? at[i] : most;
        least = at[i] < least ? at[i] : least;
    }
    return least < 0 ? -1 : most;
}

enum { SEVERAL_POINTS = 64 };

// The last of n rising knots that is not beyond a point, the first where all are.
static inline std::ptrdiff_t knot_before(const double* knots, std::ptrdiff_t n, double point) {
    const double* low = knots;
    while (n > 1) {
        const std::ptrdiff_t half = n / 2;
        low = low[half] <= point ? low + half : low;
        n -= half;
    }
    return low - knots;
}

// The same for up to SEVERAL_POINTS points, of which none waits for another, without a branch: they come in any order.
// Only knots between those of the least and the greatest point are looked at, which are few where points rise.
ARRAYGRAD_CLONES static void knots_before(const double* knots, std::ptrdiff_t n, const double* x, std::ptrdiff_t m,
                                          std::ptrdiff_t* at) {
    double least = x[0], most = x[0];
    for (std::ptrdiff_t i = 0; i < m; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
        at[i] = 0;
    }
    if (x[0] != x[0]) least = knots[0], most = knots[n - 1];    // comparisons with nan say nothing
    const std::ptrdiff_t first = knot_before(knots, n, least);
    std::ptrdiff_t rest = knot_before(knots, n, most) - first + 1;
    const double* from = knots + first;
    while (rest > 1) {
        const std::ptrdiff_t half = rest / 2;
        for (std::ptrdiff_t i = 0; i < m; i++) at[i] += from[at[i] + half] <= x[i] ? half : 0;
        rest -= half;
    }
    for (std::ptrdiff_t i = 0; i < m; i++) at[i] += first;
}

static inline bool rises(const double* knots, std::ptrdiff_t n) {
    bool so = true;
    for (std::ptrdiff_t k = 0; k + 1 < n; k++) so &= knots[k] <= knots[k + 1];
    return so;
}

// numpy.interp of m points between n > 1 rising knots.
static inline void interpolated(const double* x, std::ptrdiff_t m, const double* knots, const double* values,
                                std::ptrdiff_t n, double* out) {
    unlocked(m + n, [=] {
        std::ptrdiff_t before[SEVERAL_POINTS];
        for (std::ptrdiff_t i = 0; i < m; i++) {
            const std::ptrdiff_t j = i % SEVERAL_POINTS;
            if (j == 0) knots_before(knots, n, x + i, m - i < SEVERAL_POINTS ? m - i : SEVERAL_POINTS, before);
            const std::ptrdiff_t k = before[j];
            const double point = x[i];
            if (!(point >= knots[0] && point < knots[n - 1])) {
                out[i] = point != point ? point : values[point < knots[0] ? 0 : n - 1];
                continue;
            }
            if (knots[k] == point) {
                out[i] = values[k];
                continue;
            }
            const double slope = (values[k + 1] - values[k]) / (knots[k + 1] - knots[k]);
            double found = slope * (point - knots[k]) + values[k];
            if (found != found) {                       // from the other end
                found = slope * (point - knots[k + 1]) + values[k + 1];
                if (found != found && values[k] == values[k + 1]) found = values[k];
            }
            out[i] = found;
        }
        return 0;
    });
}

// The gradients of linear interpolation between n > 1 knots at m points; NULL for those that nobody wants.
static inline int between_knots(const double* x, std::ptrdiff_t m, const double* knots, const double* values,
                                std::ptrdiff_t n, const double* g, double* to_x, double* to_knots, double* to_values) {
    return unlocked(m + n, [=] {
        fp_begin();
        for (std::ptrdiff_t k = 0; k < n; k++) {
            if (to_knots) to_knots[k] = 0.0;
            if (to_values) to_values[k] = 0.0;
        }
        std::ptrdiff_t before[SEVERAL_POINTS];
        int errors = 0;
        for (std::ptrdiff_t i = 0; i < m; i++) {
            const std::ptrdiff_t j = i % SEVERAL_POINTS;
            if (j == 0) {                                   // looking for nan is no error of the caller's
                errors |= fp_end();
                knots_before(knots, n, x + i, m - i < SEVERAL_POINTS ? m - i : SEVERAL_POINTS, before);
                fp_begin();
            }
            const double point = x[i], gradient = g[i];
            if (point != point) {
                if (to_x) to_x[i] = gradient;
                continue;
            }
            const bool below = point < knots[0], above = point > knots[n - 1];
            if (below || above) {
                if (to_x) to_x[i] = 0.0;
                if (to_values) to_values[above ? n - 1 : 0] += gradient;
                continue;
            }
            const std::ptrdiff_t at = before[j] < n - 2 ? before[j] : n - 2;
            const double width = knots[at + 1] - knots[at], part = (point - knots[at]) / width;
            if (to_x || to_knots) {
                const double slope = gradient * ((values[at + 1] - values[at]) / width);
                if (to_x) to_x[i] = slope;
                if (to_knots) {
                    to_knots[at] += slope * (part - 1.0);
                    to_knots[at + 1] -= slope * part;
                }
            }
            if (to_values) {
                to_values[at] += gradient * (1.0 - part);
                to_values[at + 1] += gradient * part;
            }
        }
        return errors | fp_end();
    });
}

// Sums of up to so many products are added up one by one by numpy.correlate; longer ones by `dot`.
enum { SHORT_SUM = 11 };

// numpy.correlate of n elements and m <= n: `left` and `right` sums where they overlap in part stand before and behind
// those where they overlap in full.
template <typename T> static inline void correlated_of(dot_fn dot, const T* x, std::ptrdiff_t n, const T* w,
                                                       std::ptrdiff_t m, std::ptrdiff_t left, std::ptrdiff_t right,
                                                       T* out) {
    const std::ptrdiff_t item = sizeof(T), whole = n - m + 1;
    for (std::ptrdiff_t k = left; k > 0; k--) dot((void*)x, item, (void*)(w + k), item, out++, m - k, nullptr);
    if (m <= SHORT_SUM) {
        slide_product_of(x, w, out, whole, m, 1);
        x += whole;
        out += whole;
    } else
        for (std::ptrdiff_t i = 0; i < whole; i++) dot((void*)x++, item, (void*)w, item, out++, m, nullptr);
    for (std::ptrdiff_t k = 1; k <= right; k++) dot((void*)x++, item, (void*)w, item, out++, m - k, nullptr);
}

static inline void correlated(int slot, dot_fn dot, const char* x, std::ptrdiff_t n, const char* w, std::ptrdiff_t m,
                              std::ptrdiff_t left, std::ptrdiff_t right, char* out) {
    unlocked(n * m, [=] {
        ARRAYGRAD_REAL(slot, correlated_of(dot, (const T*)x, n, (const T*)w, m, left, right, (T*)out))
        return 0;
    });
}

}  // namespace arraygrad
