// Gradients of linear interpolation between knots.
// May include: arrangements.hpp, the C++ library. Knows neither Python objects nor NumPy. Sizes were checked.
//
// What returns int returns the error bits raised.
#pragma once
#include <cmath>
#include <cstdint>

#include "arrangements.hpp"

namespace arraygrad {

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
            const double width = knots[at + 1] - knots[at];
            if (width == 0.0) {                             // the last knots tie: NumPy takes the last value, as beyond
                if (to_x) to_x[i] = 0.0;
                if (to_values) to_values[at + 1] += gradient;
                continue;
            }
            const double part = (point - knots[at]) / width;
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

}  // namespace arraygrad
