// The LAPACK and BLAS routines behind NumPy's own linear algebra, where the library that holds them can be told for
// sure: its names end in 64_, which says that integers have eight bytes. NumPy's wheels bring such a library. May
// include: the C++ library, the system's dynamic loader. Knows neither Python objects nor NumPy.
//
// A row-major matrix is to these routines its transpose: a lower triangle is an upper one.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <new>
#if !defined(_WIN32)
#include <dlfcn.h>
#endif

#include "inner_loops.hpp"

namespace arraygrad {

typedef std::ptrdiff_t isize;
typedef std::int64_t lint;

// Fortran's calling convention: everything by address, the lengths of texts at the end (libraries written in C ignore
// them).
template <typename T> struct Routines {
    void (*getrf)(const lint* m, const lint* n, T* a, const lint* lda, lint* pivots, lint* info);
    void (*getrs)(const char* trans, const lint* n, const lint* columns, const T* a, const lint* lda, const lint* pivots,
                  T* b, const lint* ldb, lint* info, size_t);
    void (*trtri)(const char* uplo, const char* diag, const lint* n, T* a, const lint* lda, lint* info, size_t, size_t);
    void (*lauum)(const char* uplo, const lint* n, T* a, const lint* lda, lint* info, size_t);
    void (*trsm)(const char* side, const char* uplo, const char* trans, const char* diag, const lint* m, const lint* n,
                 const T* alpha, const T* a, const lint* lda, T* b, const lint* ldb, size_t, size_t, size_t, size_t);
    void (*trmm)(const char* side, const char* uplo, const char* trans, const char* diag, const lint* m, const lint* n,
                 const T* alpha, const T* a, const lint* lda, T* b, const lint* ldb, size_t, size_t, size_t, size_t);
};

struct Lapack {
    Routines<float> f32;
    Routines<double> f64;
};

static inline const Routines<float>& routines(const Lapack& l, float) { return l.f32; }
static inline const Routines<double>& routines(const Lapack& l, double) { return l.f64; }

// LU decomposition of a column-major matrix in place. False: singular.
template <typename T> static bool decompose(const Lapack& l, T* a, lint* pivots, lint n) {
    lint info = 0;
    routines(l, T()).getrf(&n, &n, a, &n, pivots, &info);
    return info == 0;
}

// Columns of b become solutions of the decomposed equation, or (`turned`) of the transposed one.
template <typename T>
static bool substitute(const Lapack& l, const T* a, const lint* pivots, T* b, lint n, lint columns, bool turned) {
    lint info = 0;
    routines(l, T()).getrs(turned ? "T" : "N", &n, &columns, a, &n, pivots, b, &n, &info, 1);
    return info == 0;
}

// The upper triangle of a row-major matrix becomes the lower one's mirror image. In blocks, for the cache's sake.
template <typename T> static void mirror(T* a, isize n) {
    const isize block = 32;
    for (isize i = 0; i < n; i += block)
        for (isize j = 0; j <= i; j += block)
            for (isize k = i; k < n && k < i + block; k++)
                for (isize m = j; m < k && m < j + block; m++) a[m * n + k] = a[k * n + m];
}

enum { FACTOR_BAD = 1, FACTOR_DIAGONAL = 2, FACTOR_SIGNED = 4 };

// What a row-major gradient and factor are: FACTOR_BAD: not finite, or a zero in the factor's diagonal;
// FACTOR_DIAGONAL: nothing but the gradient's diagonal counts; FACTOR_SIGNED: with negative elements there.
template <typename T, typename Int> static int look_at(const T* factor, const T* g, isize n) {
    const T largest = std::numeric_limits<T>::max();
    Int bad = 0, off = 0;
    bool negative = false;
    for (isize i = 0; i < n; i++) {
        const T *row = g + i * n, *line = factor + i * n;
        for (isize j = 0; j < n; j++) bad |= (Int)!(std::fabs(row[j]) <= largest) | (Int)!(std::fabs(line[j]) <= largest);
        for (isize j = 0; j < i; j++) off |= (Int)(row[j] != T(0));
        for (isize j = i + 1; j < n; j++) off |= (Int)(row[j] != T(0));
        negative |= row[i] * line[i] < T(0);
        bad |= (Int)(line[i] == T(0) || !(std::fabs(row[i] * line[i]) <= largest));
    }
    return bad ? FACTOR_BAD : (off ? 0 : FACTOR_DIAGONAL) | (negative ? FACTOR_SIGNED : 0);
}

static inline int look_at(const double* factor, const double* g, isize n) {
    return look_at<double, std::int64_t>(factor, g, n);
}
static inline int look_at(const float* factor, const float* g, isize n) {
    return look_at<float, std::int32_t>(factor, g, n);
}

// The gradient of a symmetric row-major matrix, of which the lower triangle is given, as that of this triangle's
// elements alone: each of them stands for two outside of the diagonal. Zeros above it.
template <typename T> static void fold(T* a, isize n) {
    for (isize i = 0; i < n; i++) {
        T* row = a + i * n;
        for (isize j = 0; j < i; j++) row[j] *= T(2);
        for (isize j = i + 1; j < n; j++) row[j] = T(0);
    }
}

// The gradient of the lower triangle of x = L L^T for that of L, both row-major: L^-T P L^-1 folded, where P is the
// lower triangle of L^T g, halved and mirrored. `work` starts as a copy of g and ends as the result. False: declined.
template <typename T> static bool factor_gradient(const Lapack& l, const T* factor, T* work, isize n) {
    const Routines<T>& r = routines(l, T());
    const int found = look_at(factor, work, n);
    const lint m = n;
    lint info = 0;
    const T one = T(1);
    if (found & FACTOR_BAD) return false;
    if (found == FACTOR_DIAGONAL) {
        // Only the diagonal was used, as for a log-determinant: P is diagonal too, and the result (sqrt(P) L^-1)^T of
        // itself.
        T* roots = new (std::nothrow) T[n];
        if (!roots) return false;
        for (isize i = 0; i < n; i++) roots[i] = std::sqrt(work[i * n + i] * factor[i * n + i] * T(0.5));
        std::memcpy(work, factor, (size_t)(n * n) * sizeof(T));
        r.trtri("U", "N", &m, work, &m, &info, 1, 1);
        for (isize i = 0; i < n; i++)
            for (isize j = 0; j <= i; j++) work[i * n + j] *= roots[i];
        delete[] roots;
        if (info) return false;
        r.lauum("U", &m, work, &m, &info, 1);
        fold(work, n);
        return info == 0;
    }
    r.trmm("R", "U", "T", "N", &m, &m, &one, factor, &m, work, &m, 1, 1, 1, 1);
    for (isize i = 0; i < n; i++)
        for (isize j = 0; j <= i; j++) work[i * n + j] *= T(0.5);
    mirror(work, n);
    r.trsm("L", "U", "N", "N", &m, &m, &one, factor, &m, work, &m, 1, 1, 1, 1);
    r.trsm("R", "U", "T", "N", &m, &m, &one, factor, &m, work, &m, 1, 1, 1, 1);
    fold(work, n);
    return true;
}

// The same for arrays of a slot.
static inline bool run_decompose(const Lapack* l, int slot, char* a, lint* pivots, isize n) {
    return slot == SLOT_F64 ? decompose(*l, (double*)a, pivots, n) : decompose(*l, (float*)a, pivots, n);
}

static inline bool run_substitute(const Lapack* l, int slot, const char* a, const lint* pivots, char* b, isize n,
                                  isize columns, bool turned) {
    return slot == SLOT_F64 ? substitute(*l, (const double*)a, pivots, (double*)b, n, columns, turned)
                            : substitute(*l, (const float*)a, pivots, (float*)b, n, columns, turned);
}

static inline bool run_factor_gradient(const Lapack* l, int slot, const char* factor, char* work, isize n) {
    return slot == SLOT_F64 ? factor_gradient(*l, (const double*)factor, (double*)work, n)
                            : factor_gradient(*l, (const float*)factor, (float*)work, n);
}

// Whether the routines do what they are for: a matrix that is no triangle and needs a pivot, and a factor.
template <typename T> static bool proved(const Lapack& l) {
    const T tolerance = sizeof(T) == 8 ? T(1e-12) : T(1e-4);
    T a[9] = {T(0), T(2), T(1), T(3), T(1), T(4), T(1), T(5), T(2)};            // columns (0 2 1), (3 1 4), (1 5 2)
    T b[3] = {T(9), T(19), T(15)}, c[3] = {T(7), T(17), T(17)};                 // times (1 2 3), and the rows
    lint pivots[3] = {0, 0, 0};
    if (!decompose(l, a, pivots, 3) || !substitute(l, a, pivots, b, 3, 1, false) ||
        !substitute(l, a, pivots, c, 3, 1, true))
        return false;
    for (int i = 0; i < 3; i++)
        if (!(std::fabs(b[i] - T(i + 1)) < tolerance) || !(std::fabs(c[i] - T(i + 1)) < tolerance)) return false;
    const T factor[4] = {T(2), T(0), T(1), T(4)};
    T diagonal[4] = {T(1), T(0), T(0), T(1)}, full[4] = {T(1), T(0), T(2), T(1)};
    if (!factor_gradient(l, factor, diagonal, 2) || !factor_gradient(l, factor, full, 2)) return false;
    const T expected[4] = {T(0.28125), T(0), T(-0.125), T(0.125)};
    const T other[4] = {T(0.03125), T(0), T(0.875), T(0.125)};
    for (int i = 0; i < 4; i++)
        if (!(std::fabs(diagonal[i] - expected[i]) < tolerance) || !(std::fabs(full[i] - other[i]) < tolerance)) return false;
    return true;
}

// The routines in what the shared library at `path` was linked with; null: not there, or not what they should be.
static inline const Lapack* find_lapack(const char* path) {
#if defined(_WIN32)
    return nullptr;
#else
    void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library) return nullptr;
    for (const char* prefix : {"scipy_", ""}) {
        Lapack* l = new (std::nothrow) Lapack;
        if (!l) return nullptr;
        bool all = true;
        auto find = [&](char kind, const char* name, auto& to) {
            char text[32];
            std::snprintf(text, sizeof(text), "%s%c%s_64_", prefix, kind, name);
            void* found = dlsym(library, text);
            std::memcpy((void*)&to, (void*)&found, sizeof(to));
            all = all && found;
        };
        auto fill = [&](char kind, auto& r) {
            find(kind, "getrf", r.getrf);
            find(kind, "getrs", r.getrs);
            find(kind, "trtri", r.trtri);
            find(kind, "lauum", r.lauum);
            find(kind, "trsm", r.trsm);
            find(kind, "trmm", r.trmm);
        };
        fill('s', l->f32);
        fill('d', l->f64);
        if (all && proved<float>(*l) && proved<double>(*l)) return l;       // for the life of the process
        delete l;
    }
    return nullptr;
#endif
}

}  // namespace arraygrad
