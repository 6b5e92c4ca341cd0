// Products of many small matrices: where each takes a few dozen multiplications, a call of BLAS costs more than they do.
// May include: shared_loops.hpp. Knows neither Python objects nor NumPy.
#pragma once
#include "shared_loops.hpp"

namespace arraygrad {

// n products of rows x inner by inner x columns. `a`, `b`: steps in elements from one matrix, row and column to the next.
struct SmallProduct {
    std::ptrdiff_t n, rows, inner, columns, a[3], b[3];
};

// INNER, COLUMNS: 0 where they are not known to the compiler. Sums are in the order of the inner axis.
template <int INNER, int COLUMNS, typename T>
static void small_products_of(const T* a, const T* b, T* out, const SmallProduct& p) {
    const std::ptrdiff_t inner = INNER ? INNER : p.inner, columns = COLUMNS ? COLUMNS : p.columns;
    for (std::ptrdiff_t m = 0; m < p.n; m++, a += p.a[0], b += p.b[0]) {
        const T* row = a;
        for (std::ptrdiff_t i = 0; i < p.rows; i++, row += p.a[1], out += columns) {
            for (std::ptrdiff_t k = 0; k < columns; k++) {
                const T* column = b + k * p.b[2];
                T sum = row[0] * column[0];
                for (std::ptrdiff_t j = 1; j < inner; j++) sum += row[j * p.a[2]] * column[j * p.b[1]];
                out[k] = sum;
            }
        }
    }
}

template <int INNER, typename T> static void small_products_by(const T* a, const T* b, T* out, const SmallProduct& p) {
    switch (p.columns) {
    case 1: return small_products_of<INNER, 1>(a, b, out, p);
    case 2: return small_products_of<INNER, 2>(a, b, out, p);
    case 3: return small_products_of<INNER, 3>(a, b, out, p);
    case 4: return small_products_of<INNER, 4>(a, b, out, p);
    }
    small_products_of<INNER, 0>(a, b, out, p);
}

template <typename T> static void small_products(const T* a, const T* b, T* out, const SmallProduct& p) {
    switch (p.inner) {
    case 1: return small_products_by<1>(a, b, out, p);
    case 2: return small_products_by<2>(a, b, out, p);
    case 3: return small_products_by<3>(a, b, out, p);
    case 4: return small_products_by<4>(a, b, out, p);
    }
    small_products_by<0>(a, b, out, p);
}

// Returns the error bits.
static inline int run_small_products(int slot, const char* a, const char* b, char* out, const SmallProduct& p) {
    not_captured("products of small matrices");
    return unlocked(p.n * p.rows * p.inner * p.columns, [=] {
        fp_begin();
        if (slot == SLOT_F64) small_products((const double*)a, (const double*)b, (double*)out, p);
        else small_products((const float*)a, (const float*)b, (float*)out, p);
        return fp_end();
    });
}

}  // namespace arraygrad
