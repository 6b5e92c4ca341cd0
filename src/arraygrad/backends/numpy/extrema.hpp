// Largest and smallest elements, and their gradients: of reductions over any axes.
// May include: lines.hpp, rules.hpp, rows.hpp, the C++ library. Knows neither Python objects nor NumPy.
#pragma once
#include <cmath>
#include <cstdlib>
#include <limits>

#include "lines.hpp"
#include "rows.hpp"
#include "rules.hpp"

namespace arraygrad {

// Calls f(from, to) for each row: its first element, and the first one of the result that it belongs to. Stops where f
// returns false.
template <typename F> static inline bool by_rows(const Lines& r, F f) {
    isize at[8] = {}, to = 0;
    const isize row = r.n[r.nd - 1];
    for (isize from = 0; from < r.size; from += row) {
        if (!f(from, to)) return false;
        for (int d = r.nd - 2; d >= 0; d--) {
            to += r.step[d];
            if (++at[d] < r.n[d]) break;
            to -= r.step[d] * r.n[d];
            at[d] = 0;
        }
    }
    return true;
}

// Few elements are extrema where many are reduced to one: they are looked for once, the rest of the gradient is zeros.

struct Hit {
    isize at, of;               // an element, and the result that it is equal to
};

#define ARRAYGRAD_LOOK(EQUAL, RESULT)                                       \
    enum { LOOK_AT = 64 };                                                  \
    isize m = 0, i = 0;                                                     \
    for (; i + LOOK_AT <= n; i += LOOK_AT) {                                \
        Bits<T>::word any = 0;                                              \
        for (isize j = i; j < i + LOOK_AT; j++) any += EQUAL;               \
        if (!any) continue;                                                 \
        for (isize j = i; j < i + LOOK_AT; j++)                             \
            if (EQUAL) {                                                    \
                if (m == most) return most + 1;                             \
                found[m++] = Hit{at + j, RESULT};                           \
            }                                                               \
    }                                                                       \
    for (isize j = i; j < n; j++)                                           \
        if (EQUAL) {                                                        \
            if (m == most) return most + 1;                                 \
            found[m++] = Hit{at + j, RESULT};                               \
        }                                                                   \
    return m;
// The elements of a row that equal `a`, or their own element of it: how many, or `most` + 1 if there are more.
ARRAYGRAD_ROW_FUNCTION(hits_of_one, , isize, (const T* x, T a, isize n, isize at, isize of, Hit* found, isize most),
                       ARRAYGRAD_LOOK(x[j] == a, of))
ARRAYGRAD_ROW_FUNCTION(hits_of_each, , isize, (const T* x, const T* a, isize n, isize at, isize of, Hit* found,
                                               isize most),
                       ARRAYGRAD_LOOK(x[j] == a[j], of + j))
#undef ARRAYGRAD_LOOK

// Zeros with the signs of the shares: what is no extremum gets zero times the share.
ARRAYGRAD_ROW_FUNCTION(put_zeros, , void, (const T* share, T* out, const Lines& r),
    const isize n = r.n[r.nd - 1];
    by_rows(r, [&](isize from, isize of) {
        T* to = out + from;
        const T *s = share + of, zero = T(0) * *s;
        if (r.step[r.nd - 1] != 0)
            for (isize j = 0; j < n; j++) to[j] = T(0) * s[j];
        else
            for (isize j = 0; j < n; j++) to[j] = zero;
        return true;
    });)

// Elements to one result from which on this is done.
enum { MANY_TO_ONE = 32 };

// out = g shared by the elements that equal `ans`, written or (`add`) added. False: nothing was done; there are many of
// them, a result is nan, or a share is not finite, of which zero times is no zero. `ties`: room for all results.
template <typename T>
static bool share_by_places(const T* g, const T* x, const T* ans, T* out, T* ties, const Lines& r, bool add) {
    if (r.size / MANY_TO_ONE < r.results || any_nan(ans, r.results)) return false;
    const isize most = 2 * r.results + 8;
    Hit* found = (Hit*)std::malloc((size_t)most * sizeof(Hit));
    if (!found) return false;
    isize m = 0;
    const isize n = r.n[r.nd - 1];
    const bool each = r.step[r.nd - 1] != 0;
    bool good = by_rows(r, [&](isize from, isize of) {
        m += each ? hits_of_each(x + from, ans + of, n, from, of, found + m, most - m)
                  : hits_of_one(x + from, ans[of], n, from, of, found + m, most - m);
        return m <= most;
    });
    bool negative = false;
    if (good) {
        for (isize k = 0; k < r.results; k++) ties[k] = T(0);
        for (isize k = 0; k < m; k++) ties[found[k].of] += T(1);
        for (isize k = 0; k < r.results; k++) {
            ties[k] = g[k] / ties[k];
            good = good && std::fabs(ties[k]) <= std::numeric_limits<T>::max();
            negative = negative || std::signbit(ties[k]);
        }
    }
    if (good) {
        if (!add && !negative) std::memset((void*)out, 0, (size_t)r.size * sizeof(T));
        if (!add && negative) put_zeros(ties, out, r);
        for (isize k = 0; k < m; k++) {
            T* const to = out + found[k].at;
            *to = add ? *to + ties[found[k].of] : ties[found[k].of];
        }
    }
    std::free(found);
    return good;
}

// Whether an element gets a part of the gradient: it is the extremum, or one of those that made it nan (NANS).
template <bool NANS, typename T> static inline bool is_hit(T x, T a) { return NANS ? (x == a) | (x != x) : x == a; }

template <bool NANS, typename T> ARRAYGRAD_INLINED static inline isize count_hits(const T* x, T a, isize n) {
    // Counted in integers of T's width, so that the loop vectorises, in pieces that can't overflow them.
    const isize COUNTED = isize(1) << 30;
    isize found = 0;
    for (isize start = 0; start < n; start += COUNTED) {
        const isize end = n - start < COUNTED ? n : start + COUNTED;
        typename Bits<T>::word m = 0;
        for (isize j = start; j < end; j++) m += is_hit<NANS>(x[j], a);
        found += m;
    }
    return found;
}

template <bool NANS, bool ADD, typename T>
ARRAYGRAD_INLINED static inline void share_in_row(const T* x, T a, T share, T* to, isize n) {
    ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) {
        const T part = (is_hit<NANS>(x[j], a) ? T(1) : T(0)) * share;
        to[j] = ADD ? to[j] + part : part;
    }
}

// The same by a look at every element. NANS: some of `ans` are nan, and the elements that are nan share there. Inlined,
// so that it is compiled for each processor as its callers are.
template <bool NANS, bool ADD, typename T>
ARRAYGRAD_INLINED static inline void share_extremum(const T* g, const T* x, const T* ans, T* out, T* ties,
                                                    const Lines& r) {
    const isize n = r.n[r.nd - 1];
    const bool each = r.step[r.nd - 1] != 0;
    if (!each && r.nd <= 2) {                   // within rows, each of which is read twice at once
        for (isize k = 0, from = 0; from < r.size; k++, from += n) {
            const T share = g[k] / T(count_hits<NANS>(x + from, ans[k], n));
            share_in_row<NANS, ADD>(x + from, ans[k], share, out + from, n);
        }
        return;
    }
    for (isize k = 0; k < r.results; k++) ties[k] = T(0);
    by_rows(r, [&](isize from, isize of) {
        if (!each) {
            ties[of] += T(count_hits<NANS>(x + from, ans[of], n));
            return true;
        }
        for (isize j = 0; j < n; j++) ties[of + j] += T(is_hit<NANS>(x[from + j], ans[of + j]));
        return true;
    });
    for (isize k = 0; k < r.results; k++) ties[k] = g[k] / ties[k];
    by_rows(r, [&](isize from, isize of) {
        if (!each) {
            share_in_row<NANS, ADD>(x + from, ans[of], ties[of], out + from, n);
            return true;
        }
        const T *row = x + from, *a = ans + of, *share = ties + of;
        T* to = out + from;
        ARRAYGRAD_INDEPENDENT for (isize j = 0; j < n; j++) {
            const T part = (is_hit<NANS>(row[j], a[j]) ? T(1) : T(0)) * share[j];
            to[j] = ADD ? to[j] + part : part;
        }
        return true;
    });
}

#define ARRAYGRAD_EXTREMUM(ADD)                                            \
    if (nans) share_extremum<true, ADD>(g, x, ans, out, ties, r);          \
    else share_extremum<false, ADD>(g, x, ans, out, ties, r);
ARRAYGRAD_ROW_FUNCTION(write_extremum, , void, (const T* g, const T* x, const T* ans, T* out, T* ties, const Lines& r,
                                                bool nans), ARRAYGRAD_EXTREMUM(false))
ARRAYGRAD_ROW_FUNCTION(add_extremum, , void, (const T* g, const T* x, const T* ans, T* out, T* ties, const Lines& r,
                                              bool nans), ARRAYGRAD_EXTREMUM(true))
#undef ARRAYGRAD_EXTREMUM

template <typename T>
static inline void extremum_gradient_of(const T* g, const T* x, const T* ans, T* out, T* ties, const Lines& r,
                                        bool add) {
    if (share_by_places(g, x, ans, out, ties, r, add)) return;
    const bool nans = any_nan(ans, r.results);
    if (add) add_extremum(g, x, ans, out, ties, r, nans);
    else write_extremum(g, x, ans, out, ties, r, nans);
}

template <bool ADD, typename T>
static inline void extremum_rule_of(const RowLoops&, const T* const* in, T* const* out, const Lines& l) {
    extremum_gradient_of(in[1], in[0], in[2], out[0], out[1], l, ADD);
}
template <typename T>
static void extremum_gradient_of(const RowLoops& f, const T* const* in, T* const* out, const Lines& l) {
    extremum_rule_of<false>(f, in, out, l);
}
template <typename T>
static void extremum_added_of(const RowLoops& f, const T* const* in, T* const* out, const Lines& l) {
    extremum_rule_of<true>(f, in, out, l);
}
ARRAYGRAD_ROW_KERNEL(extremum_gradient)
ARRAYGRAD_ROW_KERNEL(extremum_added)

// maximum.reduce and minimum.reduce by the ufunc's own loop, called as they call it: on rows, each after the others, or
// within each.
template <typename T>
static inline void fold_lines(const LoopSet* fold, const T* x, T* out, const Lines& l) {
    const loop_fn loop = fold->fn[l.slot];
    void* const data = fold->data[l.slot];
    const isize item = sizeof(T), n = l.along - 1;
    if (l.behind > 1) {
        const isize steps[3] = {item, item, item};
        for (isize i = 0; i < l.before; i++, out += l.behind) {
            std::memcpy((void*)out, x, (std::size_t)(l.behind * item));
            x += l.behind;
            for (isize k = 0; k < n; k++, x += l.behind) {
                char* args[3] = {(char*)out, (char*)x, (char*)out};
                loop(args, &l.behind, steps, data);
            }
        }
        return;
    }
    const isize steps[3] = {0, item, 0};
    for (isize i = 0; i < l.before; i++, out++, x += l.along) {
        *out = *x;
        char* args[3] = {(char*)out, (char*)(x + 1), (char*)out};
        if (n) loop(args, &n, steps, data);
    }
}
template <typename T> static void largest_of(const RowLoops& f, const T* const* in, T* const* out, const Lines& l) {
    fold_lines(f.maximum, in[0], out[0], l);
}
template <typename T> static void smallest_of(const RowLoops& f, const T* const* in, T* const* out, const Lines& l) {
    fold_lines(f.minimum, in[0], out[0], l);
}
ARRAYGRAD_ROW_KERNEL(largest)
ARRAYGRAD_ROW_KERNEL(smallest)

}  // namespace arraygrad
