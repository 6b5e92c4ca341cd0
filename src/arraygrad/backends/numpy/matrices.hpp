// What stands between NumPy's loops for matrices: checks, triangles, reciprocals.
// May include: inner_loops.hpp. Knows neither Python objects nor NumPy.
#pragma once
#include <cmath>
#include <complex>

#include "inner_loops.hpp"

namespace arraygrad {

typedef std::ptrdiff_t isize;

// Whether all numbers of an array of one or two axes are finite.
template <typename T> static bool all_finite(const char* x, isize rows, isize columns, isize row, isize column, int parts) {
    for (isize i = 0; i < rows; i++)
        for (isize j = 0; j < columns; j++) {
            const T* at = (const T*)(x + i * row + j * column);
            for (int k = 0; k < parts; k++)
                if (!std::isfinite(at[k])) return false;
        }
    return true;
}

static inline bool run_all_finite(int slot, const char* x, isize rows, isize columns, isize row, isize column) {
    const int parts = slot >= SLOT_C64 ? 2 : 1;
    return slot & 1 ? all_finite<double>(x, rows, columns, row, column, parts)
                    : all_finite<float>(x, rows, columns, row, column, parts);
}

// Real numbers of one or two axes in another precision, row-major.
template <typename T, typename U>
static void convert(const char* x, U* out, isize rows, isize columns, isize row, isize column) {
    for (isize i = 0; i < rows; i++)
        for (isize j = 0; j < columns; j++) *out++ = (U)*(const T*)(x + i * row + j * column);
}

static inline void run_widen(const char* x, char* out, isize rows, isize columns, isize row, isize column) {
    convert<float>(x, (double*)out, rows, columns, row, column);
}

static inline void run_narrow(const char* x, char* out, isize n) { convert<double>(x, (float*)out, 1, n, 0, 8); }

// -- parts of gradients, of dense row-major matrices ---------------------------------------------------------------------

template <typename T> static void negate_of(T* x, isize n) {
    for (isize i = 0; i < n; i++) x[i] = -x[i];
}

template <typename T> static void add_to(T* x, const T* y, isize n) {
    for (isize i = 0; i < n; i++) x[i] += y[i];
}

template <typename T> static void subtract_from(T* x, const T* y, isize n) {
    for (isize i = 0; i < n; i++) x[i] -= y[i];
}

// The part above the diagonal becomes the mirror image of the one below.
template <typename T> static void mirror_lower(T* x, isize n) {
    for (isize i = 0; i < n; i++)
        for (isize j = 0; j < i; j++) x[j * n + i] = x[i * n + j];
}

// Each of m rows becomes the solution y of r y = row, for an upper triangular r. False: a zero in its diagonal.
template <typename T> static bool substitute_rows(const T* r, T* rows, isize n, isize m) {
    for (isize i = 0; i < n; i++)
        if (r[i * n + i] == T(0)) return false;
    for (isize k = 0; k < m; k++) {
        T* y = rows + k * n;
        for (isize i = n - 1; i >= 0; i--) {
            T sum = y[i];
            for (isize j = i + 1; j < n; j++) sum -= r[i * n + j] * y[j];
            y[i] = sum / r[i * n + i];
        }
    }
    return true;
}

// How far apart two of n values may be that are equal up to rounding: as ops/_factorizations.py has it.
template <typename T> static T rounding_of(const T* values, isize n) {
    T largest = T(0);
    for (isize i = 0; i < n; i++) largest = std::max(largest, std::abs(values[i]));
    return T(8 * n) * std::numeric_limits<T>::epsilon() * largest;
}

// a / gap, with an error where values are equal and a gradient needs their vectors, or nothing says that none does.
template <typename T> static inline T over_gap(T a, T gap, bool equal) {
    return !equal || (a == T(0) && gap != T(0)) ? a / gap : a / T(0);
}

// What stands between U and V^T in the gradient of a singular value decomposition.
template <typename T> static void svd_inner(const T* s, const T* g, const T* u, const T* v, T* out, isize k) {
    const T rounding = rounding_of(s, k);
    for (isize i = 0; i < k; i++)
        for (isize j = 0; j < k; j++) {
            T sum = T(0);
            if (i == j) sum = g ? g[i] : T(0);
            else {
                const T gap = (s[j] - s[i]) * (s[j] + s[i]);
                const bool equal = std::abs(s[j] - s[i]) <= rounding;
                if (u) sum += over_gap(u[i * k + j] - u[j * k + i], gap, equal) * s[j];
                if (v) sum += s[i] * over_gap(v[i * k + j] - v[j * k + i], gap, equal);
            }
            out[i * k + j] = sum;
        }
}

// x becomes (g - x) / s, where s goes along rows or columns.
template <typename T> static void outside_of(const T* g, T* x, const T* s, isize rows, isize columns, bool by_row) {
    const T rounding = rounding_of(s, by_row ? rows : columns);
    for (isize i = 0; i < rows; i++)
        for (isize j = 0; j < columns; j++) {
            T& at = x[i * columns + j];
            const T value = s[by_row ? i : j];
            at = over_gap(g[i * columns + j] - at, value, std::abs(value) <= rounding);
        }
}

// What stands between V and V^T in the gradient of a symmetric eigenvalue decomposition; `turn` is V^T times that of V.
template <typename T> static void eigh_inner(const T* values, const T* g, T* turn, isize n) {
    const T rounding = rounding_of(values, n);
    for (isize i = 0; i < n; i++)
        for (isize j = 0; j < n; j++) {
            T& at = turn[i * n + j];
            const T gap = values[j] - values[i];
            at = i == j ? (g ? g[i] : T(0)) : over_gap(at, gap, std::abs(gap) <= rounding);
        }
}

template <typename T> static void scale_columns(const T* factors, const T* x, T* out, isize rows, isize columns) {
    for (isize i = 0; i < rows; i++)
        for (isize j = 0; j < columns; j++) out[i * columns + j] = x[i * columns + j] * factors[j];
}

// The gradient of a symmetric matrix as that of one triangle, whose elements off the diagonal stand for two.
template <typename T> static void fold_of(const T* x, T* out, isize n, bool upper) {
    for (isize i = 0; i < n; i++)
        for (isize j = 0; j < n; j++) {
            const bool read = upper ? j > i : j < i;
            out[i * n + j] = i == j ? x[i * n + i] : read ? x[i * n + j] + x[j * n + i] : T(0);
        }
}

// The transpose of x times one number, or two.
template <typename T> static void turned_times(const T* x, const T* g, const T* factor, T* out, isize n) {
    for (isize i = 0; i < n; i++)
        for (isize j = 0; j < n; j++) out[i * n + j] = factor ? *g * (*factor * x[j * n + i]) : *g * x[j * n + i];
}

// Whether dividing by the determinant keeps half of the digits: as ops/_cofactor.py has it.
template <typename T> static bool well_conditioned(const T* x, const T* inverse, const T* det, isize n) {
    double first = 0, second = 0;
    for (isize i = 0; i < n * n; i++) {
        first += (double)x[i] * x[i];
        second += (double)inverse[i] * inverse[i];
    }
    return *det != T(0) && std::sqrt(first) * std::sqrt(second) < 1.0 / std::sqrt((double)std::numeric_limits<T>::epsilon());
}

#define ARRAYGRAD_BOTH(call) \
    if (slot == SLOT_F64) { typedef double T; call; } else { typedef float T; call; }

static inline void run_negate(int slot, char* x, isize n) { ARRAYGRAD_BOTH(negate_of((T*)x, n)) }
static inline void run_add(int slot, char* x, const char* y, isize n) { ARRAYGRAD_BOTH(add_to((T*)x, (const T*)y, n)) }
static inline void run_subtract(int slot, char* x, const char* y, isize n) {
    ARRAYGRAD_BOTH(subtract_from((T*)x, (const T*)y, n))
}
static inline void run_mirror_lower(int slot, char* x, isize n) { ARRAYGRAD_BOTH(mirror_lower((T*)x, n)) }
static inline bool run_substitute_rows(int slot, const char* r, char* rows, isize n, isize m) {
    ARRAYGRAD_BOTH(return substitute_rows((const T*)r, (T*)rows, n, m))
}
static inline void run_svd_inner(int slot, const char* s, const char* g, const char* u, const char* v, char* out,
                                 isize k) {
    ARRAYGRAD_BOTH(svd_inner((const T*)s, (const T*)g, (const T*)u, (const T*)v, (T*)out, k))
}
static inline void run_outside(int slot, const char* g, char* x, const char* s, isize rows, isize columns, bool by_row) {
    ARRAYGRAD_BOTH(outside_of((const T*)g, (T*)x, (const T*)s, rows, columns, by_row))
}
static inline void run_eigh_inner(int slot, const char* values, const char* g, char* turn, isize n) {
    ARRAYGRAD_BOTH(eigh_inner((const T*)values, (const T*)g, (T*)turn, n))
}
static inline void run_scale_columns(int slot, const char* factors, const char* x, char* out, isize rows,
                                     isize columns) {
    ARRAYGRAD_BOTH(scale_columns((const T*)factors, (const T*)x, (T*)out, rows, columns))
}
static inline void run_fold(int slot, const char* x, char* out, isize n, bool upper) {
    ARRAYGRAD_BOTH(fold_of((const T*)x, (T*)out, n, upper))
}
static inline void run_turned_times(int slot, const char* x, const char* g, const char* factor, char* out, isize n) {
    ARRAYGRAD_BOTH(turned_times((const T*)x, (const T*)g, (const T*)factor, (T*)out, n))
}
static inline bool run_well_conditioned(int slot, const char* x, const char* inverse, const char* det, isize n) {
    ARRAYGRAD_BOTH(return well_conditioned((const T*)x, (const T*)inverse, (const T*)det, n))
}

#undef ARRAYGRAD_BOTH

}  // namespace arraygrad
