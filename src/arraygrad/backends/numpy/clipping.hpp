// numpy.clip by numbers and by arrays, and its gradients, in one pass each.
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

// Choices stand one in another: compilers make vectors of these, not of conditions that are joined first.
// A comparison that is not true for a nan, as in numpy.clip: a nan stays, and a bound that is nan is taken.
ARRAYGRAD_ROW_FUNCTION(clip_row, ARRAYGRAD_QUIET, void, (const T* x, const T* low, const T* high, T* out, isize n),
    ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) {
        const T lowest = low[i], highest = high[i], v = x[i];
        const T raised = v > lowest ? v : lowest;
        const T w = v != v ? v : raised;
        const T lowered = w < highest ? w : highest;
        out[i] = w != w ? w : lowered;
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
        const T v = x[i];
        const T w = v < low ? low : v;
        out[i] = w > high ? high : w;
    })
// Between bounds that are one finite number the result is that number, which the upper bound stands for. (The difference
// of infinities, which stand for a bound that is not there, is no zero.)
// The gradient of the array for bounds and a gradient of each kind. A macro: compilers don't inline a function here,
// whose options are others (ARRAYGRAD_QUIET), and a loop with a call in it is no loop of vectors.
#define ARRAYGRAD_CLIP_GRADIENT(LOW, HIGH, GRAD)                            \
    ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) {                   \
        const T v = x[i], lowest = LOW, highest = HIGH, grad = GRAD;        \
        const T above = v < lowest ? T(0) : grad;                           \
        const T inside = v > highest ? T(0) : above;                        \
        const T tied = v == highest ? T(0) : inside;                        \
        out[i] = highest - lowest == T(0) ? tied : inside;                  \
    }
ARRAYGRAD_ROW_FUNCTION(clip_gradient_row, ARRAYGRAD_QUIET, void, (const T* x, const T* low, const T* high, const T* g,
                                                                  T* out, isize n),
    ARRAYGRAD_CLIP_GRADIENT(low[i], high[i], g[i]))
ARRAYGRAD_ROW_FUNCTION(clip_gradient_by_numbers, ARRAYGRAD_QUIET, void, (const T* x, T low, T high, const T* g,
                                                                         T* out, isize n),
    ARRAYGRAD_CLIP_GRADIENT(low, high, g[i]))
ARRAYGRAD_ROW_FUNCTION(clip_one_gradient_by_numbers, ARRAYGRAD_QUIET, void, (const T* x, T low, T high, T g, T* out,
                                                                             isize n),
    ARRAYGRAD_CLIP_GRADIENT(low, high, g))
#undef ARRAYGRAD_CLIP_GRADIENT
ARRAYGRAD_ROW_FUNCTION(clip_low_row, ARRAYGRAD_QUIET, void, (const T* x, const T* low, const T* high, const T* g, T* out,
                                                             isize n),
    ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) {
        const T lowest = low[i], highest = high[i], v = x[i], grad = g[i];
        const T below = v < lowest ? grad : T(0);
        out[i] = lowest <= highest ? below : T(0);
    })
ARRAYGRAD_ROW_FUNCTION(clip_high_row, ARRAYGRAD_QUIET, void, (const T* x, const T* low, const T* high, const T* g,
                                                              T* out, isize n),
    ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) {
        const T lowest = low[i], highest = high[i], v = x[i], grad = g[i];
        const T above = v > highest ? grad : T(0);
        const T crossed = highest < lowest ? grad : above;
        const T tied = v == highest ? grad : crossed;
        out[i] = highest - lowest == T(0) ? tied : crossed;
    })

// Where the operands' next row is.
static inline void next_row(const Beside& b, int count, isize* at, isize* from) {
    for (int d = b.nd - 2; d >= 0; d--) {
        for (int p = 0; p < count; p++) from[p] += b.step[p][d];
        if (++at[d] < b.n[d]) break;
        for (int p = 0; p < count; p++) from[p] -= b.step[p][d] * b.n[d];
        at[d] = 0;
    }
}

// Calls f(at, given, n) for parts of rows: the first element, and its partners in the operands, side by side. An operand
// that is one number along a row is written out, as far as the parts are long. Short rows are written out whole, many to
// a part: a call each would take longer than what it computes.
template <typename T, typename F> static inline void by_parts(const Beside& b, const T* const* operands, int count, F f) {
    enum { PART_LENGTH = 512, SHORT_ROW = 32 };
    alignas(64) T room[CLIP_OPERANDS][PART_LENGTH];
    isize at[8] = {}, from[CLIP_OPERANDS] = {}, filled = 0;
    const isize row = b.n[b.nd - 1], most = row < PART_LENGTH ? row : (isize)PART_LENGTH;
    const bool is_short = row <= SHORT_ROW && b.size > row;
    const T* const rooms[CLIP_OPERANDS] = {room[0], room[1], room[2]};
    for (isize i = 0; i < b.size; i += row) {
        if (is_short) {
            for (int p = 0; p < count; p++) {
                const T* x = operands[p] + from[p];
                const isize step = b.step[p][b.nd - 1];
                for (isize j = 0; j < row; j++) room[p][filled + j] = x[j * step];
            }
            filled += row;
            if (filled + row > PART_LENGTH || i + row == b.size) {
                f(i + row - filled, rooms, filled);
                filled = 0;
            }
            next_row(b, count, at, from);
            continue;
        }
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
        next_row(b, count, at, from);
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

struct Bounds {
    double low, high;
    bool has_low, has_high;
};

// numpy.clip for two bounds that are numbers.
static inline void clipped(int slot, const char* x, char* out, isize n, Bounds b) {
    unlocked(n, [=] {
        if (slot == SLOT_F64) clip_row_by_numbers((const double*)x, b.low, b.high, (double*)out, n);
        else clip_row_by_numbers((const float*)x, (float)b.low, (float)b.high, (float*)out, n);
        return 0;
    });
}

template <typename T> static void clip_gradient_of(const T* x, const T* g, isize step, T* out, isize n, Bounds b) {
    const T low = b.has_low ? (T)b.low : -std::numeric_limits<T>::infinity();
    const T high = b.has_high ? (T)b.high : std::numeric_limits<T>::infinity();
    if (step == 0) clip_one_gradient_by_numbers(x, low, high, *g, out, n);
    else clip_gradient_by_numbers(x, low, high, g, out, n);
}

// The gradient of numpy.clip for such bounds: g, every `step`-th element of it (0 or 1), where x is not beyond them.
static inline void clip_gradient(int slot, const char* x, const char* g, isize step, char* out, isize n, Bounds b) {
    unlocked(n, [=] {
        if (slot == SLOT_F64) clip_gradient_of((const double*)x, (const double*)g, step, (double*)out, n, b);
        else clip_gradient_of((const float*)x, (const float*)g, step, (float*)out, n, b);
        return 0;
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
