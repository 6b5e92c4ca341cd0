// numpy.clip by bounds that are arrays, and its gradients, in one pass each.
// May include: rules.hpp, shared_loops.hpp. Knows neither Python objects nor NumPy.
#pragma once
#include "rules.hpp"
#include "shared_loops.hpp"

namespace arraygrad {

enum { CLIP_LOW, CLIP_HIGH, CLIP_GRAD, CLIP_OPERANDS };

// How operands go along with an array without gaps of nd axes: steps in elements, 0 or 1 along the last axis.
struct Beside {
    int nd;
    isize n[8], step[CLIP_OPERANDS][8];
    isize size;
};

// A comparison that is not true for a nan, as in numpy.clip: a nan stays, and a bound that is nan is taken.
ARRAYGRAD_ROW_FUNCTION(clip_row, ARRAYGRAD_QUIET, void, (const T* x, const T* low, const T* high, T* out, isize n),
    ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) {
        T v = x[i];
        v = (v != v) | (v > low[i]) ? v : low[i];
        out[i] = (v != v) | (v < high[i]) ? v : high[i];
    })
// The same for bounds that are one number for all, where NumPy has another loop: an element that equals a bound stays,
// which shows in the signs of zeros.
ARRAYGRAD_ROW_FUNCTION(clip_row_by_numbers, ARRAYGRAD_QUIET, void, (const T* x, T low, T high, T* out, isize n),
    if (low != low || high != high) {
        const T one = low != low ? low : high;
        for (isize i = 0; i < n; i++) out[i] = one;
        return;
    }
    ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) {
        T v = x[i];
        v = v < low ? low : v;
        out[i] = v > high ? high : v;
    })
ARRAYGRAD_ROW_FUNCTION(clip_gradient_row, ARRAYGRAD_QUIET, void, (const T* x, const T* low, const T* high, const T* g,
                                                                  T* out, isize n),
    ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) {
        const T v = g[i];
        out[i] = (x[i] < low[i]) | (x[i] > high[i]) ? T(0) : v;
    })
ARRAYGRAD_ROW_FUNCTION(clip_low_row, ARRAYGRAD_QUIET, void, (const T* x, const T* low, const T* high, const T* g, T* out,
                                                             isize n),
    ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) {
        const T v = g[i];
        out[i] = (x[i] < low[i]) & (low[i] <= high[i]) ? v : T(0);
    })
ARRAYGRAD_ROW_FUNCTION(clip_high_row, ARRAYGRAD_QUIET, void, (const T* x, const T* low, const T* high, const T* g,
                                                              T* out, isize n),
    ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) {
        const T v = g[i];
        out[i] = (x[i] > high[i]) | (high[i] < low[i]) ? v : T(0);
    })

// Calls f(at, given, n) for parts of rows: the first element, and its partners in the operands, side by side. An operand
// that is one number along a row is written out, as far as the parts are long.
template <typename T, typename F> static inline void by_parts(const Beside& b, const T* const* operands, int count, F f) {
    enum { PART_LENGTH = 512 };
    alignas(64) T room[CLIP_OPERANDS][PART_LENGTH];
    isize at[8] = {}, from[CLIP_OPERANDS] = {};
    const isize row = b.n[b.nd - 1], most = row < PART_LENGTH ? row : (isize)PART_LENGTH;
    for (isize i = 0; i < b.size; i += row) {
        const T* given[CLIP_OPERANDS];
        for (int p = 0; p < count; p++) {
            given[p] = operands[p] + from[p];
            if (b.step[p][b.nd - 1] != 0) continue;
            const T one = *given[p];
            if (i == 0 || std::memcmp(room[p], &one, sizeof one) != 0)      // the signs of zeros count
                for (isize j = 0; j < most; j++) room[p][j] = one;
        }
        for (isize k = 0; k < row; k += most) {
            const T* part[CLIP_OPERANDS];
            for (int p = 0; p < count; p++) part[p] = b.step[p][b.nd - 1] != 0 ? given[p] + k : room[p];
            f(i + k, part, row - k < most ? row - k : most);
        }
        for (int d = b.nd - 2; d >= 0; d--) {
            for (int p = 0; p < count; p++) from[p] += b.step[p][d];
            if (++at[d] < b.n[d]) break;
            for (int p = 0; p < count; p++) from[p] -= b.step[p][d] * b.n[d];
            at[d] = 0;
        }
    }
}

template <typename T> static void clip_of(const T* x, const T* const* operands, T* out, const Beside& b) {
    bool numbers = true;
    for (int d = 0; d < b.nd; d++) numbers = numbers && b.step[CLIP_LOW][d] == 0 && b.step[CLIP_HIGH][d] == 0;
    by_parts(b, operands, CLIP_GRAD, [&](isize i, const T* const* part, isize n) {
        if (numbers) clip_row_by_numbers(x + i, *part[CLIP_LOW], *part[CLIP_HIGH], out + i, n);
        else clip_row(x + i, part[CLIP_LOW], part[CLIP_HIGH], out + i, n);
    });
}

// `out`: gradients of the array, the lower and the upper bound; NULL: not asked for. The first may be the result's.
template <typename T>
static void clip_gradients_of(const T* x, const T* const* operands, T* const* out, const Beside& b) {
    by_parts(b, operands, CLIP_OPERANDS, [&](isize i, const T* const* part, isize n) {
        const T *low = part[CLIP_LOW], *high = part[CLIP_HIGH], *g = part[CLIP_GRAD];
        if (out[1]) clip_low_row(x + i, low, high, g, out[1] + i, n);
        if (out[2]) clip_high_row(x + i, low, high, g, out[2] + i, n);
        if (out[0]) clip_gradient_row(x + i, low, high, g, out[0] + i, n);
    });
}

static inline void clip_by(int slot, const char* x, const char* const* operands, char* out, const Beside& b) {
    unlocked(b.size, [=] {
        if (slot == SLOT_F64) clip_of((const double*)x, (const double* const*)operands, (double*)out, b);
        else clip_of((const float*)x, (const float* const*)operands, (float*)out, b);
        return 0;
    });
}

static inline void clip_gradients(int slot, const char* x, const char* const* operands, char* const* out,
                                  const Beside& b) {
    unlocked(b.size, [=] {
        if (slot == SLOT_F64)
            clip_gradients_of((const double*)x, (const double* const*)operands, (double* const*)out, b);
        else
            clip_gradients_of((const float*)x, (const float* const*)operands, (float* const*)out, b);
        return 0;
    });
}

}  // namespace arraygrad
