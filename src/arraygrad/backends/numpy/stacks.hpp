// Gradients of factorizations, determinants and equations of stacks of small real matrices, one matrix after the other
// with nothing but arithmetic between. May include: the C++ library, inner_loops.hpp. Knows neither Python objects nor
// NumPy.
//
// Matrices are dense and row-major. Single precision is computed in double and rounded at the end, as NumPy's linear
// algebra has it. Inner loops go along rows, without sums: those are what compilers make vectors of. A function gives
// false where it declines, and leaves floating-point errors to its caller, who asks the table's rule then.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "inner_loops.hpp"

namespace arraygrad {

typedef std::ptrdiff_t isize;

#if defined(_MSC_VER)
#define ARRAYGRAD_ALONE __restrict
#else
#define ARRAYGRAD_ALONE __restrict__
#endif

// Numbers of a size known to the compiler (N > 0), or not: loops of two to four steps are written out.
template <int N> struct Size {
    isize n;
    operator isize() const { return N > 0 ? N : n; }
};

// -- arithmetic of one matrix ------------------------------------------------------------------------------------------

template <typename T> static inline void load(const T* x, double* out, isize n) {
    for (isize i = 0; i < n; i++) out[i] = (double)x[i];
}

template <typename T, typename M, typename N> static inline void load_turned(const T* x, double* out, M m, N n) {
    for (isize i = 0; i < m; i++)
        for (isize j = 0; j < n; j++) out[j * m + i] = (double)x[i * n + j];
}

// out -= factor * row
template <typename N>
static inline void take_away(double factor, const double* ARRAYGRAD_ALONE row, double* ARRAYGRAD_ALONE out, N n) {
    for (isize j = 0; j < n; j++) out[j] -= factor * row[j];
}

// a (m, k) @ b (k, n)
template <typename M, typename K, typename N>
static inline void multiply(const double* ARRAYGRAD_ALONE a, const double* ARRAYGRAD_ALONE b,
                            double* ARRAYGRAD_ALONE out, M m, K k, N n) {
    for (isize i = 0; i < m; i++) {
        double* row = out + i * n;
        for (isize j = 0; j < n; j++) row[j] = 0.0;
        for (isize p = 0; p < k; p++) {
            const double factor = a[i * k + p];
            for (isize j = 0; j < n; j++) row[j] += factor * b[p * n + j];
        }
    }
}

// LU decomposition in place, with rows exchanged for the largest pivot. The sign of the exchanges; 0: singular.
template <typename N> static inline int decompose_rows(double* a, int* places, N n) {
    int sign = 1;
    for (isize k = 0; k < n; k++) {
        isize best = k;
        for (isize i = k + 1; i < n; i++)
            if (std::fabs(a[i * n + k]) > std::fabs(a[best * n + k])) best = i;
        places[k] = (int)best;
        if (best != k) {
            std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
            sign = -sign;
        }
        const double pivot = a[k * n + k];
        if (!(std::fabs(pivot) > 0.0)) return 0;
        for (isize i = k + 1; i < n; i++) {
            const double factor = a[i * n + k] /= pivot;
            for (isize j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return sign;
}

// The inverse from that decomposition.
template <typename N> static inline void invert_decomposed(const double* lu, const int* places, double* out, N n) {
    for (isize i = 0; i < n * n; i++) out[i] = 0.0;
    for (isize i = 0; i < n; i++) out[i * n + i] = 1.0;
    for (isize k = 0; k < n; k++)
        if (places[k] != k) std::swap_ranges(out + k * n, out + (k + 1) * n, out + places[k] * n);
    for (isize i = 1; i < n; i++)
        for (isize p = 0; p < i; p++) take_away(lu[i * n + p], out + p * n, out + i * n, n);
    for (isize i = n - 1; i >= 0; i--) {
        for (isize p = i + 1; p < n; p++) take_away(lu[i * n + p], out + p * n, out + i * n, n);
        const double pivot = lu[i * n + i];
        for (isize j = 0; j < n; j++) out[i * n + j] /= pivot;
    }
}

// Rows of b (n, columns) become solutions of the transposed equation.
template <typename N> static inline void substitute_turned(const double* lu, const int* places, double* b, N n, isize columns) {
    for (isize i = 0; i < n; i++) {
        double* row = b + i * columns;
        const double pivot = lu[i * n + i];
        for (isize j = 0; j < columns; j++) row[j] /= pivot;
        for (isize p = i + 1; p < n; p++) take_away(lu[i * n + p], row, b + p * columns, columns);
    }
    for (isize i = n - 1; i > 0; i--)
        for (isize p = 0; p < i; p++) take_away(lu[i * n + p], b + i * columns, b + p * columns, columns);
    for (isize k = n - 1; k >= 0; k--)
        if (places[k] != k) std::swap_ranges(b + k * columns, b + (k + 1) * columns, b + places[k] * columns);
}

// -- rules -------------------------------------------------------------------------------------------------------------

// As ops/_cofactor.py has it: whether dividing by the determinant keeps half of the digits of T.
template <typename T> static bool keeps_half(const double* x, const double* inverse, double det, isize n) {
    double first = 0, second = 0;
    for (isize i = 0; i < n; i++) {
        first += x[i] * x[i];
        second += inverse[i] * inverse[i];
    }
    return det != 0.0 && std::sqrt(first) * std::sqrt(second) < 1.0 / std::sqrt((double)std::numeric_limits<T>::epsilon());
}

// g inv(x)^T, times det(x) if it is the determinant that is differentiated. Scratch: 3 n^2.
template <typename T, typename N>
static bool determinant_rule(const T* x, const T* g, T* out, isize count, N n, bool logarithm, double* scratch, int* places) {
    const isize size = n * n;
    double *given = scratch, *lu = given + size, *inverse = lu + size;
    for (isize c = 0; c < count; c++, x += size, out += size) {
        load(x, given, size);
        std::memcpy(lu, given, (size_t)size * sizeof(double));
        const int sign = decompose_rows(lu, places, n);
        if (sign == 0) return false;
        invert_decomposed(lu, places, inverse, n);
        double factor = (double)g[c];
        if (!logarithm) {
            double det = sign;
            for (isize i = 0; i < n; i++) det *= lu[i * n + i];
            if (!keeps_half<T>(given, inverse, det, size)) return false;
            factor *= det;
        }
        for (isize i = 0; i < n; i++)
            for (isize j = 0; j < n; j++) out[i * n + j] = (T)(factor * inverse[j * n + i]);
    }
    return true;
}

// y becomes L^-T y, for a lower triangular L: its columns up to `columns`, or up to each row's own number.
template <typename N> static inline void substitute_lower_turned(const double* factor, double* y, N n, bool lower_only) {
    for (isize i = n - 1; i >= 0; i--) {
        const isize columns = lower_only ? i + 1 : (isize)n;
        for (isize p = i + 1; p < n; p++) take_away(factor[p * n + i], y + p * n, y + i * n, columns);
        for (isize j = 0; j < columns; j++) y[i * n + j] /= factor[i * n + i];
    }
}

// L^-T P L^-1 folded into one triangle, where P is the lower triangle of L^T g, halved and mirrored. Scratch: 4 n^2.
template <typename T, typename N>
static bool cholesky_rule(const T* factor, const T* g, T* out, isize count, N n, bool upper, double* scratch, int*) {
    const isize size = n * n;
    double *l = scratch, *given = l + size, *y = given + size, *z = y + size;
    for (isize c = 0; c < count; c++, factor += size, g += size, out += size) {
        if (upper) {
            load_turned(factor, l, n, n);
            load_turned(g, given, n, n);
        } else {
            load(factor, l, size);
            load(g, given, size);
        }
        for (isize i = 0; i < n; i++) {
            for (isize j = 0; j <= i; j++) y[i * n + j] = 0.0;
            for (isize p = i; p < n; p++) {
                const double half = 0.5 * l[p * n + i];
                for (isize j = 0; j <= i; j++) y[i * n + j] += half * given[p * n + j];
            }
            for (isize j = 0; j < i; j++) y[j * n + i] = y[i * n + j];
        }
        substitute_lower_turned(l, y, n, false);
        load_turned(y, z, n, n);
        substitute_lower_turned(l, z, n, true);
        for (isize i = 0; i < n; i++)
            for (isize j = 0; j <= i; j++) {
                const isize at = i * n + j, mirrored = j * n + i;
                out[upper ? at : mirrored] = T(0);
                out[upper ? mirrored : at] = (T)(i == j ? z[at] : 2.0 * z[at]);
            }
    }
    return true;
}

// Both gradients of solve(x, b): of b the solution of the transposed equation, of x that times -ans^T; either may be
// null. Scratch: n^2 + 2 n columns.
template <typename T, typename N>
static bool solve_rule(const T* x, const T* g, const T* ans, T* out_x, T* out_b, isize count, N n, isize columns,
                       double* scratch, int* places) {
    const isize size = n * n, side = n * columns;
    double *lu = scratch, *back = lu + size, *turned = back + side;
    for (isize c = 0; c < count; c++, x += size, g += side) {
        load(x, lu, size);
        load(g, back, side);
        if (decompose_rows(lu, places, n) == 0) return false;
        substitute_turned(lu, places, back, n, columns);
        if (out_b)
            for (isize i = 0; i < side; i++) *out_b++ = (T)back[i];
        if (out_x) {
            load_turned(ans, turned, n, columns);
            ans += side;
            multiply(back, turned, lu, n, columns, n);
            for (isize i = 0; i < size; i++) *out_x++ = (T)-lu[i];
        }
    }
    return true;
}

// (g_q + Q S) R^-T, where the symmetric S has the lower triangle of R g_R^T - g_Q^T Q; either gradient may be null.
// Scratch: 3 n^2 + 4 m n.
template <typename T, typename N>
static bool qr_rule(const T* q, const T* r, const T* g_q, const T* g_r, T* out, isize count, isize m, N n,
                    double* scratch, int*) {
    const isize size = n * n, side = m * n;
    double *factor = scratch, *turned = factor + size, *lower = turned + size;
    double *vectors = lower + size, *given = vectors + side, *total = given + side, *y = total + side;
    for (isize c = 0; c < count; c++, q += side, r += size, out += side) {
        load(q, vectors, side);
        load(r, factor, size);
        if (g_r) {
            load_turned(g_r, turned, n, n);
            multiply(factor, turned, lower, n, n, n);
            g_r += size;
        } else {
            for (isize i = 0; i < size; i++) lower[i] = 0.0;
        }
        if (g_q) {
            load(g_q, given, side);
            for (isize p = 0; p < m; p++)
                for (isize i = 0; i < n; i++) take_away(given[p * n + i], vectors + p * n, lower + i * n, n);
            g_q += side;
        }
        for (isize i = 0; i < n; i++)
            for (isize j = 0; j < i; j++) lower[j * n + i] = lower[i * n + j];
        multiply(vectors, lower, total, m, n, n);
        if (g_q)
            for (isize i = 0; i < side; i++) total[i] += given[i];
        load_turned(total, y, m, n);
        for (isize i = n - 1; i >= 0; i--) {
            if (factor[i * n + i] == 0.0) return false;
            for (isize p = i + 1; p < n; p++) take_away(factor[i * n + p], y + p * m, y + i * m, m);
            for (isize j = 0; j < m; j++) y[i * m + j] /= factor[i * n + i];
        }
        for (isize i = 0; i < m; i++)
            for (isize j = 0; j < n; j++) out[i * n + j] = (T)y[j * m + i];
    }
    return true;
}

// The rule of Golub and Pereyra for P = pinv(x), x (m, n), with A = P g^T in the middle:
// P^T (A - A P x - A^T) + g^T P P^T - x A P P^T. Scratch: 5 n^2 + 6 m n.
template <typename T, typename N>
static bool pinv_rule(const T* p, const T* x, const T* g, T* out, isize count, isize m, N n, double* scratch, int*) {
    const isize size = n * n, side = m * n;
    double *a = scratch, *b = a + size, *px = b + size, *middle = px + size, *ab = middle + size;
    double *inverse = ab + size, *turned = inverse + side, *given = turned + side, *g_turned = given + side;
    double *first = g_turned + side, *second = first + side;
    for (isize c = 0; c < count; c++, p += side, x += side, g += side, out += side) {
        load(p, inverse, side);
        load(x, given, side);
        load_turned(p, turned, n, m);
        load_turned(g, g_turned, n, m);
        multiply(inverse, g_turned, a, n, m, n);
        multiply(inverse, turned, b, n, m, n);
        multiply(inverse, given, px, n, m, n);
        multiply(a, px, middle, n, n, n);
        for (isize i = 0; i < n; i++)
            for (isize j = 0; j < n; j++) middle[i * n + j] = a[i * n + j] - middle[i * n + j] - a[j * n + i];
        multiply(turned, middle, first, m, n, n);
        multiply(a, b, ab, n, n, n);
        multiply(given, ab, second, m, n, n);
        for (isize i = 0; i < side; i++) first[i] -= second[i];
        multiply(g_turned, b, second, m, n, n);
        for (isize i = 0; i < side; i++) out[i] = (T)(first[i] + second[i]);
    }
    return true;
}

// Turns rows i and j of a matrix with so many columns.
static inline void turn_rows(double* a, isize i, isize j, isize columns, double c, double s) {
    for (isize k = 0; k < columns; k++) {
        const double first = a[i * columns + k], second = a[j * columns + k];
        a[i * columns + k] = c * first - s * second;
        a[j * columns + k] = s * first + c * second;
    }
}

// The turn of Jacobi's methods, of tan(2 angle) = 1 / zeta.
static inline void small_turn(double zeta, double* c, double* s) {
    const double t = (zeta < 0 ? -1.0 : 1.0) / (std::fabs(zeta) + std::sqrt(1.0 + zeta * zeta));
    *c = 1.0 / std::sqrt(1.0 + t * t);
    *s = *c * t;
}

enum { MOST_SWEEPS = 30 };      // of Jacobi's methods; six are usual
static const double TURNED = 4e-16;

// U diag(g) V^T of x = U S V^T, by Jacobi's method on one side: rows of w, the columns of x, become orthogonal. Declines
// where values differ by four digits or more, which costs vectors as many. Scratch: m n + n^2 + n, for n <= m.
template <typename T>
static bool svdvals_rule(const T* x, const T* g, T* out, isize count, isize m, isize n, double* scratch, int* order) {
    const bool wide = m < n;
    const isize size = m * n, k = wide ? m : n, length = wide ? n : m;
    double *w = scratch, *v = w + size, *values = v + k * k;
    for (isize at = 0; at < count; at++, x += size, out += size, g += k) {
        if (wide) load(x, w, size);
        else load_turned(x, w, m, n);
        for (isize i = 0; i < k * k; i++) v[i] = i % (k + 1) ? 0.0 : 1.0;
        bool turned = true;
        for (int sweep = 0; turned; sweep++) {
            if (sweep == MOST_SWEEPS) return false;
            turned = false;
            for (isize i = 0; i < k; i++)
                for (isize j = i + 1; j < k; j++) {
                    double first = 0, second = 0, both = 0, c, s;
                    for (isize p = 0; p < length; p++) {
                        const double a = w[i * length + p], b = w[j * length + p];
                        first += a * a;
                        second += b * b;
                        both += a * b;
                    }
                    if (!(std::fabs(both) > TURNED * std::sqrt(first * second))) continue;
                    turned = true;
                    small_turn((second - first) / (2.0 * both), &c, &s);
                    turn_rows(w, i, j, length, c, s);
                    turn_rows(v, i, j, k, c, s);
                }
        }
        for (isize i = 0; i < k; i++) {
            double sum = 0;
            for (isize p = 0; p < length; p++) sum += w[i * length + p] * w[i * length + p];
            values[i] = std::sqrt(sum);
            order[i] = (int)i;
        }
        std::sort(order, order + k, [=](int a, int b) { return values[a] > values[b]; });
        if (!(values[order[k - 1]] > 1e-4 * values[order[0]])) return false;
        for (isize p = 0; p < m; p++)
            for (isize q = 0; q < n; q++) {
                double sum = 0;
                for (isize i = 0; i < k; i++) {
                    const isize o = order[i];
                    sum += (double)g[i] / values[o] *
                           (wide ? v[o * k + p] * w[o * length + q] : w[o * length + p] * v[o * k + q]);
                }
                out[p * n + q] = (T)sum;
            }
    }
    return true;
}

// V diag(g) V^T of a symmetric x, of which a triangle is read, as the gradient of that triangle's elements; by Jacobi's
// method. Scratch: 2 n^2.
template <typename T>
static bool eigvalsh_rule(const T* x, const T* g, T* out, isize count, isize n, bool upper, double* scratch, int* order) {
    const isize size = n * n;
    double *a = scratch, *v = a + size;
    for (isize at = 0; at < count; at++, x += size, out += size, g += n) {
        double norm = 0;
        for (isize i = 0; i < n; i++)
            for (isize j = 0; j <= i; j++) {
                a[i * n + j] = a[j * n + i] = (double)x[upper ? j * n + i : i * n + j];
                norm += a[i * n + j] * a[i * n + j];
            }
        norm = TURNED / 4 * std::sqrt(norm);
        for (isize i = 0; i < size; i++) v[i] = i % (n + 1) ? 0.0 : 1.0;
        bool turned = true;
        for (int sweep = 0; turned; sweep++) {
            if (sweep == MOST_SWEEPS) return false;
            turned = false;
            for (isize i = 0; i < n; i++)
                for (isize j = i + 1; j < n; j++) {
                    if (!(std::fabs(a[i * n + j]) > norm)) continue;
                    double c, s;
                    turned = true;
                    small_turn((a[j * n + j] - a[i * n + i]) / (2.0 * a[i * n + j]), &c, &s);
                    turn_rows(a, i, j, n, c, s);
                    for (isize p = 0; p < n; p++) {
                        const double first = a[p * n + i], second = a[p * n + j];
                        a[p * n + i] = c * first - s * second;
                        a[p * n + j] = s * first + c * second;
                    }
                    a[i * n + j] = a[j * n + i] = 0.0;
                    turn_rows(v, i, j, n, c, s);
                }
        }
        for (isize i = 0; i < n; i++) order[i] = (int)i;
        std::sort(order, order + n, [=](int b, int c) { return a[b * n + b] < a[c * n + c]; });
        for (isize i = 0; i < n; i++)
            for (isize j = 0; j <= i; j++) {
                double sum = 0;
                for (isize k = 0; k < n; k++) sum += (double)g[k] * v[order[k] * n + i] * v[order[k] * n + j];
                const isize lower = i * n + j, mirrored = j * n + i;
                out[upper ? lower : mirrored] = T(0);
                out[upper ? mirrored : lower] = (T)(i == j ? sum : 2.0 * sum);
            }
    }
    return true;
}

// -- the same for arrays of a slot ---------------------------------------------------------------------------------------

template <typename T> static bool finite_numbers(const T* x, isize n) {
    bool good = true;
    for (isize i = 0; i < n; i++) good &= std::fabs(x[i]) <= std::numeric_limits<T>::max();
    return good;
}

// Calls rule(T(), Size<N>, scratch, places) with so many doubles of scratch.
template <typename Rule> static bool with_size(int slot, isize n, isize doubles, Rule rule) {
    std::unique_ptr<double[]> scratch(new (std::nothrow) double[doubles]);
    std::unique_ptr<int[]> places(new (std::nothrow) int[n]);
    if (!scratch || !places) return false;
    auto of = [&](auto size) {
        return slot == SLOT_F64 ? rule(double(), size, scratch.get(), places.get())
                                : rule(float(), size, scratch.get(), places.get());
    };
    switch (n) {
        case 2: return of(Size<2>{2});
        case 3: return of(Size<3>{3});
        case 4: return of(Size<4>{4});
        default: return of(Size<0>{n});
    }
}

static inline bool stack_determinant(int slot, const char* x, const char* g, char* out, isize count, isize n,
                                     bool logarithm) {
    return with_size(slot, n, 3 * n * n, [=](auto zero, auto size, double* scratch, int* places) {
        typedef decltype(zero) T;
        return determinant_rule((const T*)x, (const T*)g, (T*)out, count, size, logarithm, scratch, places) &&
               finite_numbers((const T*)out, count * n * n);
    });
}

static inline bool stack_cholesky(int slot, const char* factor, const char* g, char* out, isize count, isize n,
                                  bool upper) {
    return with_size(slot, n, 4 * n * n, [=](auto zero, auto size, double* scratch, int* places) {
        typedef decltype(zero) T;
        return cholesky_rule((const T*)factor, (const T*)g, (T*)out, count, size, upper, scratch, places) &&
               finite_numbers((const T*)out, count * n * n);
    });
}

static inline bool stack_solve(int slot, const char* x, const char* g, const char* ans, char* out_x, char* out_b,
                               isize count, isize n, isize columns) {
    return with_size(slot, n, n * n + 2 * n * columns, [=](auto zero, auto size, double* scratch, int* places) {
        typedef decltype(zero) T;
        return solve_rule((const T*)x, (const T*)g, (const T*)ans, (T*)out_x, (T*)out_b, count, size, columns, scratch,
                          places) &&
               (!out_x || finite_numbers((const T*)out_x, count * n * n)) &&
               (!out_b || finite_numbers((const T*)out_b, count * n * columns));
    });
}

static inline bool stack_qr(int slot, const char* q, const char* r, const char* g_q, const char* g_r, char* out,
                            isize count, isize m, isize n) {
    return with_size(slot, n, 3 * n * n + 4 * m * n, [=](auto zero, auto size, double* scratch, int* places) {
        typedef decltype(zero) T;
        return qr_rule((const T*)q, (const T*)r, (const T*)g_q, (const T*)g_r, (T*)out, count, m, size, scratch,
                       places) &&
               finite_numbers((const T*)out, count * m * n);
    });
}

static inline bool stack_pinv(int slot, const char* p, const char* x, const char* g, char* out, isize count, isize m,
                              isize n) {
    return with_size(slot, n, 5 * n * n + 6 * m * n, [=](auto zero, auto size, double* scratch, int* places) {
        typedef decltype(zero) T;
        return pinv_rule((const T*)p, (const T*)x, (const T*)g, (T*)out, count, m, size, scratch, places) &&
               finite_numbers((const T*)out, count * m * n);
    });
}

static inline bool stack_svdvals(int slot, const char* x, const char* g, char* out, isize count, isize m, isize n) {
    const isize k = std::min(m, n);
    return with_size(slot, k, m * n + k * k + k, [=](auto zero, auto, double* scratch, int* places) {
        typedef decltype(zero) T;
        return svdvals_rule((const T*)x, (const T*)g, (T*)out, count, m, n, scratch, places) &&
               finite_numbers((const T*)out, count * m * n);
    });
}

static inline bool stack_eigvalsh(int slot, const char* x, const char* g, char* out, isize count, isize n, bool upper) {
    return with_size(slot, n, 2 * n * n, [=](auto zero, auto, double* scratch, int* places) {
        typedef decltype(zero) T;
        return eigvalsh_rule((const T*)x, (const T*)g, (T*)out, count, n, upper, scratch, places) &&
               finite_numbers((const T*)out, count * n * n);
    });
}

#undef ARRAYGRAD_ALONE

}  // namespace arraygrad
