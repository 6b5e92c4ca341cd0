// Differences, gradients, the trapezoidal rule, interpolation and weighted counts, and what they send back.
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
static inline int64_t greatest(const int64_t* at, std::ptrdiff_t n) {
    int64_t most = 0;
    for (std::ptrdiff_t i = 0; i < n; i++) {
        if (at[i] < 0) return -1;
        if (at[i] > most) most = at[i];
    }
    return most;
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
        std::ptrdiff_t last = 0;
        for (std::ptrdiff_t i = 0; i < m; i++) {
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
            std::ptrdiff_t low = 0, high = n;               // the first knot beyond the point is in (low, high]
            if (knots[last] <= point && (last + 1 == n || point < knots[last + 1])) low = last;
            else {
                while (high - low > 1) {
                    const std::ptrdiff_t middle = low + (high - low) / 2;
                    if (knots[middle] <= point) low = middle;
                    else high = middle;
                }
            }
            last = low;
            const std::ptrdiff_t at = low < n - 2 ? low : n - 2;
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
        return fp_end();
    });
}

}  // namespace arraygrad
