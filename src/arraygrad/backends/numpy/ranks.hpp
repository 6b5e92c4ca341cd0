// Order along one axis of row-major arrays, taken as outer x n x inner: sorting, distinct values, quantiles, medians, and
// where each element came from.
// May include: arrangements.hpp, shared_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
//
// A nan comes last, as NumPy has it; elements that tie keep their order. Where NumPy's order of elements that compare
// equal is its algorithm's (zeros of both signs, several nan), a kernel declines if the values could tell.
#pragma once
#include <algorithm>
#include <cmath>

#include "arrangements.hpp"

namespace arraygrad {

enum { RANKS_DECLINED = -1, SHORT_LANE = 32 };

template <typename T> static inline bool precedes(T a, T b) { return a < b || (b != b && a == a); }

template <typename T> static inline void sort_values(T* x, std::ptrdiff_t n) {
    if (n > SHORT_LANE) {
        std::stable_sort(x, x + n, precedes<T>);
        return;
    }
    for (std::ptrdiff_t i = 1; i < n; i++) {
        const T value = x[i];
        std::ptrdiff_t k = i;
        for (; k > 0 && precedes(value, x[k - 1]); k--) x[k] = x[k - 1];
        x[k] = value;
    }
}

// The permutation that sorts x, stable; x is left as it is.
template <typename T> static inline void stable_order(const T* x, std::ptrdiff_t n, int64_t* order) {
    if (n > SHORT_LANE) {
        for (std::ptrdiff_t i = 0; i < n; i++) order[i] = i;
        std::stable_sort(order, order + n, [x](int64_t a, int64_t b) { return precedes(x[a], x[b]); });
        return;
    }
    for (std::ptrdiff_t i = 0; i < n; i++) {
        const T value = x[i];
        std::ptrdiff_t k = i;
        for (; k > 0 && precedes(value, x[order[k - 1]]); k--) order[k] = order[k - 1];
        order[k] = i;
    }
}

// Whether elements that compare equal differ: zeros of both signs, or more than one nan.
template <typename T> static inline bool has_twins(const T* x, std::ptrdiff_t n) {
    std::ptrdiff_t plus = 0, minus = 0, lost = 0;
    for (std::ptrdiff_t i = 0; i < n; i++) {
        lost += x[i] != x[i];
        plus += x[i] == T(0) && !std::signbit(x[i]);
        minus += x[i] == T(0) && std::signbit(x[i]);
    }
    return lost > 1 || (plus && minus);
}

template <typename T, typename U> static inline void gather(const T* x, U* to, std::ptrdiff_t n, std::ptrdiff_t step) {
    for (std::ptrdiff_t i = 0; i < n; i++) to[i] = x[i * step];
}

// f(lane, first element) for each of the lanes; stops and returns false where f does.
template <typename F> static inline bool each_lane(Around a, F f) {
    for (std::ptrdiff_t o = 0; o < a.outer; o++)
        for (std::ptrdiff_t k = 0; k < a.inner; k++)
            if (!f(o * a.inner + k, o * a.n * a.inner + k)) return false;
    return true;
}

// -- sorting ----------------------------------------------------------------------------------------------------------

template <typename T> static inline bool sorted_of(const T* x, T* out, Around a, bool stable) {
    Room<T> room(a.n);
    if (!room.data) return false;
    T* row = room.data;
    return each_lane(a, [=](std::ptrdiff_t, std::ptrdiff_t at) {
        gather(x + at, row, a.n, a.inner);
        if (!stable && has_twins(row, a.n)) return false;
        sort_values(row, a.n);
        for (std::ptrdiff_t i = 0; i < a.n; i++) out[at + i * a.inner] = row[i];
        return true;
    });
}

// x sorted; false: declined, or no memory.
static inline bool sorted_lanes(int slot, const char* x, char* out, Around a, bool stable) {
    return unlocked(a.outer * a.n * a.inner, [=] {
        ARRAYGRAD_REAL(slot, return (int)sorted_of((const T*)x, (T*)out, a, stable));
    });
}

// The gradient g of sorted elements where those came from. With `y` not NULL: of the elements of y, which are those of x
// in another order.
template <typename T> static inline bool unsorted_of(const T* x, const T* y, const T* g, T* out, Around a) {
    Room<T> room(a.n);
    Room<int64_t> places(2 * a.n);
    if (!room.data || !places.data) return false;
    T* row = room.data;
    int64_t *from = places.data, *to = places.data + a.n;
    return each_lane(a, [=](std::ptrdiff_t, std::ptrdiff_t at) {
        gather(x + at, row, a.n, a.inner);
        stable_order(row, a.n, from);
        if (y) {
            gather(y + at, row, a.n, a.inner);
            stable_order(row, a.n, to);
        }
        for (std::ptrdiff_t i = 0; i < a.n; i++) out[at + from[i] * a.inner] = g[at + (y ? to[i] : i) * a.inner];
        return true;
    });
}

static inline bool unsorted_lanes(int slot, const char* x, const char* y, const char* g, char* out, Around a) {
    return unlocked(a.outer * a.n * a.inner, [=] {
        ARRAYGRAD_REAL(slot, return (int)unsorted_of((const T*)x, (const T*)y, (const T*)g, (T*)out, a));
    });
}

// -- distinct values --------------------------------------------------------------------------------------------------

// -- quantiles --------------------------------------------------------------------------------------------------------

// The elements of ranks low <= high, high at most one more, of n values without nan, which are reordered.
template <typename T>
static inline void select_two(T* x, std::ptrdiff_t n, std::ptrdiff_t low, std::ptrdiff_t high, T* at_low, T* at_high) {
    if (n <= SHORT_LANE) sort_values(x, n);
    else {
        std::nth_element(x, x + low, x + n);
        if (high > low) std::iter_swap(x + high, std::min_element(x + high, x + n));
    }
    *at_low = x[low];
    *at_high = x[high];
}

struct Quantiles {
    const double* q;            // fractions, in [0, 1]
    std::ptrdiff_t count;
    bool ignoring;              // nan is left out
    bool last;                  // the last nan has the whole gradient; otherwise all share it
};

// The values of a lane that count, together; how many. -1: a nan is among them, which is not ignored.
template <typename T>
static inline std::ptrdiff_t lane_values(const T* x, T* row, Around a, bool ignoring) {
    std::ptrdiff_t m = 0;
    for (std::ptrdiff_t i = 0; i < a.n; i++) {
        const T value = x[i * a.inner];
        if (value == value) row[m++] = value;
        else if (!ignoring) return -1;
    }
    return m;
}

// Where the elements of ranks low and high = low + 1 (or low) are, which have these values: elements that tie keep
// their order.
template <typename T>
static inline void find_two(const T* x, Around a, T at_low, T at_high, std::ptrdiff_t low, std::ptrdiff_t high,
                            std::ptrdiff_t* place_low, std::ptrdiff_t* place_high) {
    std::ptrdiff_t less = 0, seen = 0, first_high = -1;
    for (std::ptrdiff_t i = 0; i < a.n; i++) less += x[i * a.inner] < at_low;
    *place_low = *place_high = 0;
    for (std::ptrdiff_t i = 0; i < a.n; i++) {
        const T value = x[i * a.inner];
        if (value == at_low) {
            if (less + seen == low) *place_low = i;
            if (less + seen == high) first_high = i;
            seen++;
        } else if (value == at_high && first_high < 0 && at_high != at_low) {
            first_high = i;
        }
    }
    *place_high = first_high;
}

template <typename T>
static inline bool quantiles_gradient_of(const T* x, const T* ans, const T* g, T* out, Around a, Quantiles p) {
    Room<T> room(a.n);
    if (!room.data) return false;
    T* row = room.data;
    const std::ptrdiff_t lanes = a.outer * a.inner, size = a.outer * a.n * a.inner;
    for (std::ptrdiff_t i = 0; i < size; i++) out[i] = T(0);
    return each_lane(a, [=](std::ptrdiff_t lane, std::ptrdiff_t at) {
        std::ptrdiff_t m = lane_values(x + at, row, a, p.ignoring);
        for (std::ptrdiff_t k = 0; k < p.count; k++) {
            const T gradient = g[k * lanes + lane], result = ans[k * lanes + lane];
            if (m <= 0) {                               // nan: those that made it share
                std::ptrdiff_t lost = 0, end = -1;
                for (std::ptrdiff_t i = 0; i < a.n; i++) {
                    if (x[at + i * a.inner] == x[at + i * a.inner]) continue;
                    lost++;
                    end = i;
                }
                if (p.last && end >= 0) out[at + end * a.inner] += gradient;
                for (std::ptrdiff_t i = 0; i < a.n && !p.last; i++)
                    if (x[at + i * a.inner] != x[at + i * a.inner]) out[at + i * a.inner] += gradient / T(lost);
                continue;
            }
            const double where = p.q[k] * double(m - 1);
            const std::ptrdiff_t low = (std::ptrdiff_t)std::floor(where), high = low + 1 < m ? low + 1 : m - 1;
            // Of inf alone NumPy makes nan: the gradient of both neighbours is nan.
            const T weight = result == result ? T(where - double(low)) : result;
            T at_low, at_high;
            std::ptrdiff_t place_low, place_high;
            select_two(row, m, low, high, &at_low, &at_high);
            find_two(x + at, a, at_low, at_high, low, high, &place_low, &place_high);
            out[at + place_low * a.inner] += gradient * (T(1) - weight);
            if (weight != T(0)) out[at + place_high * a.inner] += gradient * weight;
        }
        return true;
    });
}

static inline bool quantiles_gradient(int slot, const char* x, const char* ans, const char* g, char* out, Around a,
                                      Quantiles p) {
    return unlocked(a.outer * a.n * a.inner, [=] {
        ARRAYGRAD_REAL(slot, return (int)quantiles_gradient_of((const T*)x, (const T*)ans, (const T*)g, (T*)out, a, p));
    });
}

}  // namespace arraygrad
