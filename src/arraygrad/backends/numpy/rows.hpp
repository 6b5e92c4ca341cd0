// Reductions and what they send back, over plain memory: one pass each.
// May include: lines.hpp, rules.hpp, shared_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
//
// Each goes through an array as `lines` says: rows of `along` elements one after the other, or (`behind` above 1) columns
// beside each other. What is reduced, and what stands for it in a gradient, has one element for each. Each kernel computes what the table spells, in the same order of
// operations, with NumPy's own loops for exp, log and sums. A kernel of backward may write over the gradient that it
// reads.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "lines.hpp"
#include "rules.hpp"
#include "shared_loops.hpp"

namespace arraygrad {

// What kernels call of NumPy, and what NumPy begins a sum with.
struct RowLoops {
    const LoopSet *add, *exp, *log, *maximum, *minimum;
    double start;
    Team* team;
};

// Reads the arrays `in`, writes `out`; returns the error bits raised.
typedef int (*row_kernel)(const RowLoops* f, const char* const* in, char* const* out, const Lines* lines);

// The function NAME_of<T>(f, in, out, lines) as a row_kernel.
#define ARRAYGRAD_ROW_KERNEL(NAME)                                                                                     \
    static inline int NAME(const RowLoops* f, const char* const* in, char* const* out, const Lines* lines) {           \
        return unlocked(lines->size, [=] {                                                                             \
            fp_begin();                                                                                                \
            if (lines->slot == SLOT_F64) NAME##_of<double>(*f, (const double* const*)in, (double* const*)out, *lines); \
            else NAME##_of<float>(*f, (const float* const*)in, (float* const*)out, *lines);                            \
            return fp_end();                                                                                           \
        });                                                                                                            \
    }

// Elements that are worked on at a time, so that what is read twice stays in the first cache.
enum { PART = 1024, TOGETHER = 2048 };

template <typename T> static inline int slot_of() { return sizeof(T) == 8 ? SLOT_F64 : SLOT_F32; }

// NumPy's loop of one operand.
template <typename T> static inline void each_of(const LoopSet* s, const T* x, T* out, isize n) {
    char* args[2] = {(char*)x, (char*)out};
    const isize steps[2] = {(isize)sizeof(T), (isize)sizeof(T)};
    s->fn[slot_of<T>()](args, &n, steps, s->data[slot_of<T>()]);
}

// `start` and n elements, added by NumPy's loop.
template <typename T> static inline T row_sum(const LoopSet* add, const T* x, isize n, T start) {
    T sum = start;
    char* args[3] = {(char*)&sum, (char*)x, (char*)&sum};
    const isize steps[3] = {0, (isize)sizeof(T), 0};
    add->fn[slot_of<T>()](args, &n, steps, add->data[slot_of<T>()]);
    return sum;
}

// The sum of n terms that `make(from, count, to)` writes, in the order of numpy.add's loop (pairwise): halves, cut at a
// multiple of eight, until a part fits. Minus zero changes no sum.
template <typename T, typename Make> static T pairwise_sum(const LoopSet* add, Make& make, isize from, isize n) {
    if (n <= PART) {
        alignas(64) T terms[PART];
        make(from, n, terms);
        return row_sum(add, terms, n, T(-0.0));
    }
    const isize half = n / 2 - n / 2 % 8;
    const T first = pairwise_sum<T>(add, make, from, half);
    return first + pairwise_sum<T>(add, make, from + half, n - half);
}

// Calls f(k, n) for parts of the columns, whose sums have been set to the start.
template <typename T, typename F> static inline void by_columns(T* sums, T start, isize inner, F f) {
    for (isize k = 0; k < inner; k += PART) {
        const isize n = inner - k < PART ? inner - k : (isize)PART;
        for (isize j = 0; j < n; j++) sums[k + j] = start;
        f(k, n);
    }
}

// Sums, in the order of numpy.add.reduce.
static inline int sums(const RowLoops* f, const char* const* in, char* const* out, const Lines* lines) {
    const float single = (float)f->start;
    const Rows rows = lines->behind > 1 ? Rows{lines->along, lines->behind, true, 1}
                                        : Rows{lines->before, lines->along, false, 1};
    return share_sum(f->team, f->add, lines->slot, (char*)in[0], out[0], rows,
                     lines->slot == SLOT_F64 ? (char*)&f->start : (char*)&single, lines->behind > 1 ? lines->before : 1);
}

// Variances: sums of (x - mean)^2, and (x - mean) * g.

ARRAYGRAD_ROW_FUNCTION(add_squares, , void, (const T* x, const T* mean, T* out, isize n, isize rows, isize step),
    add_terms<ROWS_AT_ONCE>(out, n, rows, step, [=](isize at, isize j) ARRAYGRAD_INLINED {
        const T d = x[at] - mean[j];
        return d * d;
    });)
ARRAYGRAD_ROW_FUNCTION(squares, , void, (const T* x, T mean, T* out, isize n),
    for (isize j = 0; j < n; j++) {
        const T d = x[j] - mean;
        out[j] = d * d;
    })
ARRAYGRAD_ROW_FUNCTION(deviations_of_columns, , void, (const T* x, const T* mean, const T* g, T* out, isize n),
    ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[j] = (x[j] - mean[j]) * g[j];)
ARRAYGRAD_ROW_FUNCTION(deviations_of_row, , void, (const T* x, T mean, T g, T* out, isize n),
    for (isize j = 0; j < n; j++) out[j] = (x[j] - mean) * g;)

template <typename T> static void sum_squares_of(const RowLoops& f, const T* const* in, T* const* out, const Lines& r) {
    const T *x = in[0], *mean = in[1];
    if (r.behind > 1) {
        T* sums = out[0];
        for (isize i = 0; i < r.before; i++, x += r.along * r.behind, mean += r.behind, sums += r.behind)
            by_columns(sums, T(f.start), r.behind, [&](isize k, isize n) {
                add_squares(x + k, mean + k, sums + k, n, r.along, r.behind);
            });
        return;
    }
    for (isize i = 0; i < r.before; i++) {
        auto make = [&](isize from, isize n, T* to) { squares(x + i * r.along + from, mean[i], to, n); };
        out[0][i] = T(f.start) + pairwise_sum<T>(f.add, make, 0, r.along);
    }
}
ARRAYGRAD_ROW_KERNEL(sum_squares)

template <typename T> static void deviations_of(const RowLoops&, const T* const* in, T* const* out, const Lines& r) {
    const T *x = in[0], *mean = in[1], *g = in[2];
    T* to = out[0];
    for (isize i = 0; i < r.before; i++) {
        if (r.behind == 1) {
            deviations_of_row(x + i * r.along, mean[i], g[i], to + i * r.along, r.along);
            continue;
        }
        for (isize k = 0; k < r.along; k++, x += r.behind, to += r.behind)
            deviations_of_columns(x, mean, g, to, r.behind);
        mean += r.behind;
        g += r.behind;
    }
}
ARRAYGRAD_ROW_KERNEL(deviations)

// Quotients by what was broadcast: out = g / z, and the sums of g * y.

ARRAYGRAD_ROW_FUNCTION(quotients_of_columns, , void, (const T* g, const T* y, const T* z, T* out, T* sum, isize n),
    ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) {
        const T gj = g[j];
        sum[j] += gj * y[j];
        out[j] = gj / z[j];
    })
ARRAYGRAD_ROW_FUNCTION(quotients_of_row, , void, (const T* g, const T* y, T z, T* out, T* product, isize n),
    ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) {
        const T gj = g[j];
        product[j] = gj * y[j];
        out[j] = gj / z;
    })

template <typename T> static void quotients_of(const RowLoops& f, const T* const* in, T* const* out, const Lines& r) {
    const T *g = in[0], *y = in[1], *z = in[2];
    T *to = out[0], *sum = out[1];
    if (r.behind > 1) {
        for (isize i = 0; i < r.before; i++, z += r.behind, sum += r.behind) {
            by_columns(sum, T(f.start), r.behind, [&](isize k, isize n) {
                for (isize j = 0; j < r.along; j++) {
                    const isize at = (i * r.along + j) * r.behind + k;
                    quotients_of_columns(g + at, y + at, z + k, to + at, sum + k, n);
                }
            });
        }
        return;
    }
    for (isize i = 0; i < r.before; i++) {
        auto make = [&](isize from, isize n, T* terms) {
            const isize at = i * r.along + from;
            quotients_of_row(g + at, y + at, z[i], to + at, terms, n);
        };
        sum[i] = T(f.start) + pairwise_sum<T>(f.add, make, 0, r.along);
    }
}
ARRAYGRAD_ROW_KERNEL(quotients)

// softmax, log_softmax and logsumexp along an axis: within rows, which are worked on together as far as the first cache
// reaches, so that short ones don't cost a call each; or (`behind` above 1) within columns, as many as fit there.

// The largest element, nan if there is one; zero in the place of an infinity or nan.
ARRAYGRAD_ROW_FUNCTION(finite_top, ARRAYGRAD_QUIET, T, (const T* x, isize n),
    T lanes[8];
    isize j = 0;
    bool nan = false;
    T top = x[0];
    if (n >= 16) {
        for (int k = 0; k < 8; k++) lanes[k] = x[k];
        for (; j + 8 <= n; j += 8)
            for (int k = 0; k < 8; k++) lanes[k] = x[j + k] > lanes[k] ? x[j + k] : lanes[k];
        for (int k = 0; k < 8; k++) top = lanes[k] > top ? lanes[k] : top;
    }
    for (; j < n; j++) top = x[j] > top ? x[j] : top;
    for (j = 0; j < n; j++) nan |= !(x[j] == x[j]);
    return nan || !(std::fabs(top) <= std::numeric_limits<T>::max()) ? T(0) : top;)
ARRAYGRAD_ROW_FUNCTION(less_by, , void, (const T* x, T top, T* out, isize n),
    ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[j] = x[j] - top;)
ARRAYGRAD_ROW_FUNCTION(divided_by, , void, (const T* x, T sum, T* out, isize n),
    ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[j] = x[j] / sum;)
ARRAYGRAD_ROW_FUNCTION(products, , void, (const T* x, const T* y, T* out, isize n),
    ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[j] = x[j] * y[j];)
ARRAYGRAD_ROW_FUNCTION(softmax_back, , void, (const T* g, const T* y, T sum, T* out, isize n),
    ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[j] = y[j] * (g[j] - sum);)
ARRAYGRAD_ROW_FUNCTION(log_softmax_back, , void, (const T* g, const T* e, T sum, T* out, isize n),
    ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[j] = g[j] - e[j] * sum;)

static inline isize rows_together(const Lines& r) {
    const isize most = r.along < TOGETHER ? TOGETHER / r.along : 1;
    return most < r.before ? most : r.before;
}

static inline isize columns_together(const Lines& r) {
    const isize most = r.along < TOGETHER / 32 ? TOGETHER / r.along : 64;       // loops over fewer cost more than memory
    return most < r.behind ? most : r.behind;
}

// Elements of the working space (the second of `out`) of the kernels that follow.
static inline isize softmax_room(const Lines* r) {
    return r->behind > 1 ? columns_together(*r) * (r->along + 2) : rows_together(*r) * (r->along + 1);
}

// The steps of some columns, `behind` elements apart, go into dense memory and back.
ARRAYGRAD_ROW_FUNCTION(column_tops, ARRAYGRAD_QUIET, void, (const T* x, T* top, isize steps, isize behind, isize n),
    for (isize j = 0; j < n; j++) top[j] = x[j];
    for (isize k = 1; k < steps; k++)
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) {
            const T v = x[k * behind + j];
            top[j] = v > top[j] || v != v ? v : top[j];             // a nan stays: nothing is above it
        }
    for (isize j = 0; j < n; j++) top[j] = std::fabs(top[j]) <= std::numeric_limits<T>::max() ? top[j] : T(0);)
ARRAYGRAD_ROW_FUNCTION(columns_less, , void, (const T* x, const T* top, T* out, isize behind, isize to, isize steps,
                                              isize n),
    for (isize k = 0; k < steps; k++)
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[k * to + j] = x[k * behind + j] - top[j];)
ARRAYGRAD_ROW_FUNCTION(column_sums, , void, (const T* x, T* sums, T start, isize behind, isize steps, isize n),
    for (isize j = 0; j < n; j++) sums[j] = start;
    for (isize k = 0; k < steps; k++)
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) sums[j] += x[k * behind + j];)
ARRAYGRAD_ROW_FUNCTION(column_products, , void, (const T* x, const T* y, T* sums, T start, isize behind, isize steps,
                                                 isize n),
    for (isize j = 0; j < n; j++) sums[j] = start;
    for (isize k = 0; k < steps; k++)
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) sums[j] += x[k * behind + j] * y[k * behind + j];)
ARRAYGRAD_ROW_FUNCTION(columns_divided, , void, (const T* e, const T* sums, T* out, isize behind, isize steps, isize n),
    for (isize k = 0; k < steps; k++)
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[k * behind + j] = e[k * n + j] / sums[j];)
ARRAYGRAD_ROW_FUNCTION(columns_weighted, , void, (const T* g, const T* e, const T* sums, T* out, isize behind,
                                                  isize steps, isize n),
    for (isize k = 0; k < steps; k++)
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[k * behind + j] = g[j] * (e[k * n + j] / sums[j]);)
ARRAYGRAD_ROW_FUNCTION(columns_softmax_back, , void, (const T* g, const T* y, const T* sums, T* out, isize behind,
                                                      isize steps, isize n),
    for (isize k = 0; k < steps; k++)
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) {
            const isize at = k * behind + j;
            out[at] = y[at] * (g[at] - sums[j]);
        })
ARRAYGRAD_ROW_FUNCTION(columns_log_softmax_back, , void, (const T* g, const T* e, const T* sums, T* out, isize behind,
                                                          isize steps, isize n),
    for (isize k = 0; k < steps; k++)
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++)
            out[k * behind + j] = g[k * behind + j] - e[k * n + j] * sums[j];)

// Calls f(at, first, n) for groups of columns: where the group begins in the array, and among the columns of all.
template <typename F> static inline void by_groups(const Lines& r, F f) {
    const isize most = columns_together(r);
    for (isize i = 0; i < r.before; i++)
        for (isize j = 0; j < r.behind; j += most)
            f(i * r.along * r.behind + j, i * r.behind + j, r.behind - j < most ? r.behind - j : most);
}

// exp(x - the largest of each column) in `work`, and then those, and the sums.
template <typename T>
static inline void exp_of_columns(const RowLoops& f, const T* x, T* work, const Lines& r, isize n) {
    T *tops = work + r.along * n, *sums = tops + n;
    column_tops(x, tops, r.along, r.behind, n);
    columns_less(x, tops, work, r.behind, n, r.along, n);
    each_of(f.exp, work, work, r.along * n);
    column_sums(work, sums, T(f.start), n, r.along, n);
}

// What comparisons with nan raise is among the errors, though the table's operations don't raise it.
template <bool LOG, typename T>
static inline void softmax_by(const RowLoops& f, const T* x, T* out, T* work, const Lines& r) {
    if (r.behind > 1) {
        by_groups(r, [&](isize at, isize, isize n) {
            T *tops = work + r.along * n, *sums = tops + n;
            exp_of_columns(f, x + at, work, r, n);
            if (!LOG) return columns_divided(work, sums, out + at, r.behind, r.along, n);
            each_of(f.log, sums, sums, n);
            columns_less(x + at, tops, out + at, r.behind, r.behind, r.along, n);
            columns_less(out + at, sums, out + at, r.behind, r.behind, r.along, n);
        });
        return;
    }
    const isize most = rows_together(r), inner = r.along;
    T* sums = work + most * inner;
    for (isize i = 0; i < r.before; i += most) {
        const isize rows = r.before - i < most ? r.before - i : most;
        T* to = out + i * inner;
        for (isize k = 0; k < rows; k++) {
            const T* row = x + (i + k) * inner;
            less_by(row, finite_top(row, inner), to + k * inner, inner);
        }
        each_of(f.exp, to, work, rows * inner);
        for (isize k = 0; k < rows; k++) sums[k] = row_sum(f.add, work + k * inner, inner, T(f.start));
        if (LOG) each_of(f.log, sums, sums, rows);
        for (isize k = 0; k < rows; k++) {
            if (LOG) less_by(to + k * inner, sums[k], to + k * inner, inner);
            else divided_by(work + k * inner, sums[k], to + k * inner, inner);
        }
    }
}

template <bool LOG, typename T>
static inline void softmax_rule_by(const RowLoops& f, const T* g, const T* y, T* out, T* work, const Lines& r) {
    if (r.behind > 1) {
        by_groups(r, [&](isize at, isize, isize n) {
            T* sums = work + r.along * n;
            if (LOG) {
                for (isize k = 0; k < r.along; k++) std::memcpy(work + k * n, y + at + k * r.behind, n * sizeof(T));
                each_of(f.exp, work, work, r.along * n);
                column_sums(g + at, sums, T(f.start), r.behind, r.along, n);
                columns_log_softmax_back(g + at, work, sums, out + at, r.behind, r.along, n);
            } else {
                column_products(g + at, y + at, sums, T(f.start), r.behind, r.along, n);
                columns_softmax_back(g + at, y + at, sums, out + at, r.behind, r.along, n);
            }
        });
        return;
    }
    const isize most = rows_together(r), inner = r.along;
    for (isize i = 0; i < r.before; i += most) {
        const isize rows = r.before - i < most ? r.before - i : most, at = i * inner;
        if (LOG) each_of(f.exp, y + at, work, rows * inner);
        else products(g + at, y + at, work, rows * inner);
        for (isize k = 0; k < rows; k++) {
            const isize from = k * inner, row = at + from;
            const T sum = row_sum(f.add, LOG ? g + row : work + from, inner, T(f.start));
            if (LOG) log_softmax_back(g + row, work + from, sum, out + row, inner);
            else softmax_back(g + row, y + row, sum, out + row, inner);
        }
    }
}

#define ARRAYGRAD_SOFTMAX(NAME, LOG)                                                                                   \
    template <typename T> static void NAME##_of(const RowLoops& f, const T* const* in, T* const* out, const Lines& r) { \
        softmax_by<LOG>(f, in[0], out[0], out[1], r);                                                                  \
    }                                                                                                                  \
    template <typename T>                                                                                              \
    static void NAME##_gradient_of(const RowLoops& f, const T* const* in, T* const* out, const Lines& r) {              \
        softmax_rule_by<LOG>(f, in[0], in[1], out[0], out[1], r);                                                      \
    }                                                                                                                  \
    ARRAYGRAD_ROW_KERNEL(NAME)                                                                                         \
    ARRAYGRAD_ROW_KERNEL(NAME##_gradient)
ARRAYGRAD_SOFTMAX(softmax, false)
ARRAYGRAD_SOFTMAX(log_softmax, true)
#undef ARRAYGRAD_SOFTMAX

// logsumexp: its value from the largest element on, and the weights that it gives elements.

ARRAYGRAD_ROW_FUNCTION(weighted, , void, (const T* g, const T* e, T sum, T* out, isize n),
    const T factor = g[0];
    ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) out[j] = factor * (e[j] / sum);)

template <typename T> static void logsumexp_of(const RowLoops& f, const T* const* in, T* const* out, const Lines& r) {
    if (r.behind > 1) {
        by_groups(r, [&](isize at, isize first, isize n) {
            T *tops = out[1] + r.along * n, *sums = tops + n;
            exp_of_columns(f, in[0] + at, out[1], r, n);
            each_of(f.log, sums, sums, n);
            for (isize j = 0; j < n; j++) out[0][first + j] = sums[j] + tops[j];
        });
        return;
    }
    const isize most = rows_together(r), inner = r.along;
    T *work = out[1], *sums = work + most * inner;
    for (isize i = 0; i < r.before; i += most) {
        const isize rows = r.before - i < most ? r.before - i : most;
        T* to = out[0] + i;
        for (isize k = 0; k < rows; k++) {
            const T* row = in[0] + (i + k) * inner;
            to[k] = finite_top(row, inner);
            less_by(row, to[k], work + k * inner, inner);
        }
        each_of(f.exp, work, work, rows * inner);
        for (isize k = 0; k < rows; k++) sums[k] = row_sum(f.add, work + k * inner, inner, T(f.start));
        each_of(f.log, sums, sums, rows);
        for (isize k = 0; k < rows; k++) to[k] = sums[k] + to[k];
    }
}
ARRAYGRAD_ROW_KERNEL(logsumexp)

// Of rows whose value is finite.
template <typename T>
static void logsumexp_gradient_of(const RowLoops& f, const T* const* in, T* const* out, const Lines& r) {
    if (r.behind > 1) {
        by_groups(r, [&](isize at, isize first, isize n) {
            T *e = out[1], *sums = e + r.along * n;
            columns_less(in[0] + at, in[1] + first, e, r.behind, n, r.along, n);
            each_of(f.exp, e, e, r.along * n);
            column_sums(e, sums, T(f.start), n, r.along, n);
            columns_weighted(in[2] + first, e, sums, out[0] + at, r.behind, r.along, n);
        });
        return;
    }
    const isize most = rows_together(r), inner = r.along;
    T* work = out[1];
    for (isize i = 0; i < r.before; i += most) {
        const isize rows = r.before - i < most ? r.before - i : most;
        for (isize k = 0; k < rows; k++) less_by(in[0] + (i + k) * inner, in[1][i + k], work + k * inner, inner);
        each_of(f.exp, work, work, rows * inner);
        for (isize k = 0; k < rows; k++) {
            const T* e = work + k * inner;
            weighted(in[2] + i + k, e, row_sum(f.add, e, inner, T(f.start)), out[0] + (i + k) * inner, inner);
        }
    }
}
ARRAYGRAD_ROW_KERNEL(logsumexp_gradient)

template <typename T> static inline bool all_finite(const T* x, isize n) {
    bool finite = true;
    for (isize i = 0; i < n; i++) finite &= std::fabs(x[i]) <= std::numeric_limits<T>::max();
    return finite;
}

static inline bool all_finite(int slot, const char* x, isize n) {
    return slot == SLOT_F64 ? all_finite((const double*)x, n) : all_finite((const float*)x, n);
}

// Scans: `before` times `along` steps, each of `behind` elements. Gradients are recurrences from the end.

// Sums or products of what comes before, one step after the other, as NumPy accumulates.
template <bool PRODUCTS, typename T> static inline void accumulate(const T* x, T* out, const Lines& r) {
    const isize n = r.behind;
    for (isize i = 0; i < r.before; i++, x += r.along * n, out += r.along * n) {
        if (n == 1) {                                       // what has come together stays in a register
            T last = out[0] = x[0];
            for (isize k = 1; k < r.along; k++) out[k] = last = PRODUCTS ? last * x[k] : last + x[k];
            continue;
        }
        std::memcpy(out, x, (std::size_t)n * sizeof(T));
        for (isize k = 1; k < r.along; k++) {
            const T *last = out + (k - 1) * n, *next = x + k * n;
            T* to = out + k * n;
            ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) to[j] = PRODUCTS ? last[j] * next[j] : last[j] + next[j];
        }
    }
}
template <typename T> static void cumulative_sum_of(const RowLoops&, const T* const* in, T* const* out, const Lines& r) {
    accumulate<false>(in[0], out[0], r);
}
template <typename T> static void cumulative_prod_of(const RowLoops&, const T* const* in, T* const* out, const Lines& r) {
    accumulate<true>(in[0], out[0], r);
}
ARRAYGRAD_ROW_KERNEL(cumulative_sum)
ARRAYGRAD_ROW_KERNEL(cumulative_prod)

template <typename T>
static void cumulative_sum_gradient_of(const RowLoops&, const T* const* in, T* const* out, const Lines& r) {
    const isize n = r.behind;
    for (isize i = 0; i < r.before; i++) {
        const T* g = in[0] + i * r.along * n;
        T* to = out[0] + i * r.along * n;
        if (n == 1) {                                       // the sum stays in a register
            T sum = to[r.along - 1] = g[r.along - 1];
            for (isize k = r.along - 2; k >= 0; k--) to[k] = sum = sum + g[k];
            continue;
        }
        for (isize k = r.along - 1; k >= 0; k--)
            ARRAYGRAD_INDEPENDENT for (isize j = k * n; j < k * n + n; j++)
                to[j] = k == r.along - 1 ? g[j] : to[j + n] + g[j];
    }
}
ARRAYGRAD_ROW_KERNEL(cumulative_sum_gradient)

// The product of what comes before an element times s, with s[k] = g[k] + x[k + 1] s[k + 1]: nothing is divided. The
// second of `out` has room for one step.
template <typename T>
static void cumulative_prod_gradient_of(const RowLoops&, const T* const* in, T* const* out, const Lines& r) {
    const isize n = r.behind;
    T* before = out[1];
    for (isize i = 0; i < r.before; i++) {
        const T *x = in[0] + i * r.along * n, *g = in[1] + i * r.along * n;
        T* to = out[0] + i * r.along * n;
        if (n == 1) {
            T s = to[r.along - 1] = g[r.along - 1], product = T(1);
            for (isize k = r.along - 2; k >= 0; k--) to[k] = s = g[k] + x[k + 1] * s;
            for (isize k = 0; k < r.along; k++) {
                to[k] = product * to[k];
                product *= x[k];
            }
            continue;
        }
        for (isize k = r.along - 1; k >= 0; k--)
            ARRAYGRAD_INDEPENDENT for (isize j = k * n; j < k * n + n; j++)
                to[j] = k == r.along - 1 ? g[j] : g[j] + x[j + n] * to[j + n];
        for (isize j = 0; j < n; j++) before[j] = T(1);
        for (isize k = 0; k < r.along; k++)
            ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) {
                to[k * n + j] = before[j] * to[k * n + j];
                before[j] *= x[k * n + j];
            }
    }
}
ARRAYGRAD_ROW_KERNEL(cumulative_prod_gradient)

// s with s[k] = g[k] + x[k + 1] s[k + 1]; what x does not pass on is not touched, so that zero times infinity is nothing.
template <typename T>
static void reversed_recurrence_of(const RowLoops&, const T* const* in, T* const* out, const Lines& r) {
    for (isize i = 0; i < r.before; i++) {
        const T *x = in[0] + i * r.along, *g = in[1] + i * r.along;
        T *to = out[0] + i * r.along, s = to[r.along - 1] = g[r.along - 1];
        for (isize k = r.along - 2; k >= 0; k--) to[k] = s = x[k + 1] == T(0) ? g[k] : g[k] + x[k + 1] * s;
    }
}
ARRAYGRAD_ROW_KERNEL(reversed_recurrence)

// g times the product of what comes before an element and the product of what comes after it.
template <typename T>
static void prod_gradient_of(const RowLoops&, const T* const* in, T* const* out, const Lines& r) {
    const isize n = r.behind;
    T* product = out[1];
    for (isize i = 0; i < r.before; i++) {
        const T *x = in[0] + i * r.along * n, *g = in[1] + i * n;
        T* to = out[0] + i * r.along * n;
        if (n == 1) {
            T before = T(1), after = T(1);
            for (isize k = 0; k < r.along; k++) {
                to[k] = before;
                before *= x[k];
            }
            for (isize k = r.along - 1; k >= 0; k--) {
                to[k] = g[0] * (to[k] * after);
                after *= x[k];
            }
            continue;
        }
        for (isize j = 0; j < n; j++) product[j] = T(1);
        for (isize k = 0; k < r.along; k++)
            ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) {
                to[k * n + j] = product[j];
                product[j] *= x[k * n + j];
            }
        for (isize j = 0; j < n; j++) product[j] = T(1);
        for (isize k = r.along - 1; k >= 0; k--)
            ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) {
                to[k * n + j] = g[j] * (to[k * n + j] * product[j]);
                product[j] *= x[k * n + j];
            }
    }
}
ARRAYGRAD_ROW_KERNEL(prod_gradient)

}  // namespace arraygrad
