// The gradient of max and min over plain memory, written or (`add`) added to what is there.
// May include: inner_loops.hpp. Knows neither Python objects nor NumPy.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "inner_loops.hpp"

namespace arraygrad {

typedef std::ptrdiff_t isize;

enum { FEW = 8, LOOK_AT = 64 };

// Add `share` where x is a: a few places, and what waits elsewhere is not even read. (It keeps a negative zero, to
// which adding zero would give the other sign.)
template <typename T> static inline void add_few(const T* x, T a, T share, T* out, isize n) {
    typedef typename std::conditional<sizeof(T) == 4, std::int32_t, std::int64_t>::type count_type;
    isize i = 0;
    for (; i + LOOK_AT <= n; i += LOOK_AT) {
        count_type hits = 0;
        for (isize j = 0; j < LOOK_AT; j++) hits += x[i + j] == a;
        if (!hits) continue;
        for (isize j = i; j < i + LOOK_AT; j++)
            if (x[j] == a) out[j] += share;
    }
    for (; i < n; i++)
        if (x[i] == a) out[i] += share;
}

// Whether an element gets a part of the gradient: it is the extremum, or one of those that made it nan (NANS).
template <bool NANS, typename T> static inline bool is_hit(T x, T a) { return NANS ? (x == a) | (x != x) : x == a; }

// max and min over the first axes (`leading`: result of `inner` elements, `ties` holds as many) or the last ones
// (result of `outer` elements) of a row-major array: g, shared by the elements of x that equal the extremum. NANS: some
// of `ans` are nan, and the elements that are nan share there.
template <bool NANS, typename T>
static inline void extremum_run(const T* g, const T* x, const T* ans, T* out, T* ties, isize outer, isize inner,
                                bool leading, bool add) {
    // Counted in integers of T's width, so that the loop vectorises, in pieces that can't overflow them.
    typedef typename std::conditional<sizeof(T) == 4, std::int32_t, std::int64_t>::type count_type;
    const isize COUNTED = isize(1) << 30;
    if (leading) {
        for (isize j = 0; j < inner; j++) ties[j] = T(0);
        for (isize i = 0; i < outer; i++)
            for (isize j = 0; j < inner; j++) ties[j] += T(is_hit<NANS>(x[i * inner + j], ans[j]));
        for (isize j = 0; j < inner; j++) ties[j] = g[j] / ties[j];
        for (isize i = 0; i < outer; i++) {
            const T* row = x + i * inner;
            T* to = out + i * inner;
            if (add)
                for (isize j = 0; j < inner; j++) to[j] += T(is_hit<NANS>(row[j], ans[j])) * ties[j];
            else
                for (isize j = 0; j < inner; j++) to[j] = T(is_hit<NANS>(row[j], ans[j])) * ties[j];
        }
    } else {
        for (isize i = 0; i < outer; i++) {
            const T* row = x + i * inner;
            const T a = ans[i];
            isize n = 0;
            for (isize start = 0; start < inner; start += COUNTED) {
                isize end = inner - start < COUNTED ? inner : start + COUNTED;
                count_type m = 0;
                for (isize j = start; j < end; j++) m += is_hit<NANS>(row[j], a);
                n += m;
            }
            T share = g[i] / T(n);
            T* to = out + i * inner;
            if (add && !NANS && n <= FEW && std::fabs(share) <= std::numeric_limits<T>::max())
                add_few(row, a, share, to, inner);
            else if (add)
                for (isize j = 0; j < inner; j++) to[j] += T(is_hit<NANS>(row[j], a)) * share;
            else
                for (isize j = 0; j < inner; j++) to[j] = T(is_hit<NANS>(row[j], a)) * share;
        }
    }
}

template <typename T> static inline bool any_is_nan(const T* a, isize n) {
    bool found = false;
    for (isize i = 0; i < n; i++) found |= a[i] != a[i];
    return found;
}

ARRAYGRAD_CLONES static void extremum_f32(const float* g, const float* x, const float* ans, float* out, float* ties,
                                         isize outer, isize inner, bool leading, bool add) {
    if (any_is_nan(ans, leading ? inner : outer))
        extremum_run<true>(g, x, ans, out, ties, outer, inner, leading, add);
    else
        extremum_run<false>(g, x, ans, out, ties, outer, inner, leading, add);
}

ARRAYGRAD_CLONES static void extremum_f64(const double* g, const double* x, const double* ans, double* out, double* ties,
                                         isize outer, isize inner, bool leading, bool add) {
    if (any_is_nan(ans, leading ? inner : outer))
        extremum_run<true>(g, x, ans, out, ties, outer, inner, leading, add);
    else
        extremum_run<false>(g, x, ans, out, ties, outer, inner, leading, add);
}

static inline int run_extremum(int slot, const char* g, const char* x, const char* ans, char* out, char* ties,
                               isize outer, isize inner, bool leading, bool add) {
    fp_begin();
    if (slot == SLOT_F64)
        extremum_f64((const double*)g, (const double*)x, (const double*)ans, (double*)out, (double*)ties, outer, inner,
                     leading, add);
    else
        extremum_f32((const float*)g, (const float*)x, (const float*)ans, (float*)out, (float*)ties, outer, inner,
                     leading, add);
    return fp_end();
}

}  // namespace arraygrad
