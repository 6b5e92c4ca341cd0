// Elements that go to places and come from them: rows of a gather, and choices by a mask.
// May include: shared_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
#pragma once
#include <cstdlib>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "shared_loops.hpp"

namespace arraygrad {

// The loops over rows for both types, compiled for several processors. T is the type.
#define ARRAYGRAD_PLACES(NAME, ARGUMENTS, ...)                                                         \
    namespace f32 { typedef float T; ARRAYGRAD_CLONES static void NAME ARGUMENTS { __VA_ARGS__ } }     \
    namespace f64 { typedef double T; ARRAYGRAD_CLONES static void NAME ARGUMENTS { __VA_ARGS__ } }    \
    using f32::NAME;                                                                                   \
    using f64::NAME;

// Add n rows of `inner` elements at `places` of an array of `count` rows. Places were checked.
ARRAYGRAD_PLACES(add_rows_of, (T* __restrict out, const std::int64_t* __restrict places, const T* __restrict g,
                               std::ptrdiff_t n, std::ptrdiff_t inner, std::ptrdiff_t count),
    if (inner == 1) {
        for (std::ptrdiff_t k = 0; k < n; k++) out[places[k] < 0 ? places[k] + count : places[k]] += g[k];
        return;
    }
    for (std::ptrdiff_t k = 0; k < n; k++) {
        const std::int64_t at = places[k] < 0 ? places[k] + count : places[k];
        T* row = out + at * inner;
        const T* from = g + k * inner;
        ARRAYGRAD_APART for (std::ptrdiff_t i = 0; i < inner; i++) row[i] += from[i];
    })

// The same where nothing is in `out` yet: each row of it is written once, by the first row of g that goes there
// (plus zero, which has a sign) or with zeros. `seen`: a byte for each row of out, all zero.
ARRAYGRAD_PLACES(place_rows_of, (T* __restrict out, const std::int64_t* __restrict places, const T* __restrict g,
                                 std::ptrdiff_t n, std::ptrdiff_t inner, std::ptrdiff_t count, char* __restrict seen),
    for (std::ptrdiff_t k = 0; k < n; k++) {
        const std::int64_t at = places[k] < 0 ? places[k] + count : places[k];
        T* row = out + at * inner;
        const T* from = g + k * inner;
        if (seen[at]) {
            ARRAYGRAD_APART for (std::ptrdiff_t i = 0; i < inner; i++) row[i] += from[i];
        } else {
            ARRAYGRAD_APART for (std::ptrdiff_t i = 0; i < inner; i++) row[i] = from[i] + T(0);
        }
        seen[at] = 1;
    }
    for (std::ptrdiff_t k = 0; k < count;) {
        if (seen[k]) { k++; continue; }
        const std::ptrdiff_t from = k;
        while (k < count && !seen[k]) k++;
        std::memset((void*)(out + from * inner), 0, (size_t)((k - from) * inner) * sizeof(T));
    })

// Elements of a row up to which zeros that are added to cost less than asking of each row whether it was written, which
// no processor foresees where places are random: 200,000 rows of one number take 0.7 ms for 2.6 ms.
enum { NARROW_ROW = 4 };

// Rows of g at `places`, added to what is in `out` or (`fresh`) to zeros. False: no memory, nothing done.
template <typename T>
static inline bool put_rows_of(T* out, const std::int64_t* places, const T* g, std::ptrdiff_t n, std::ptrdiff_t inner,
                               std::ptrdiff_t count, bool fresh) {
    if (fresh && inner <= NARROW_ROW) std::memset((void*)out, 0, (size_t)(count * inner) * sizeof(T));
    if (!fresh || inner <= NARROW_ROW) {
        add_rows_of(out, places, g, n, inner, count);
        return true;
    }
    char* seen = (char*)std::calloc((size_t)count + 1, 1);
    if (!seen) return false;
    place_rows_of(out, places, g, n, inner, count, seen);
    std::free(seen);
    return true;
}

// Returns the error bits, -1 without memory.
static inline int put_rows(int slot, char* out, const std::int64_t* places, const char* g, std::ptrdiff_t n,
                           std::ptrdiff_t inner, std::ptrdiff_t count, bool fresh) {
    return unlocked(n * inner, [=] {
        fp_begin();
        const bool done = slot == SLOT_F64
                              ? put_rows_of((double*)out, places, (const double*)g, n, inner, count, fresh)
                              : put_rows_of((float*)out, places, (const float*)g, n, inner, count, fresh);
        const int errors = fp_end();
        return done ? errors : -1;
    });
}

// out = the rows of x at `places`, of `bytes` each.
static inline void take_rows(const char* x, const std::int64_t* places, char* out, std::ptrdiff_t n, std::ptrdiff_t bytes,
                             std::ptrdiff_t count) {
    unlocked(n * bytes / 8, [=] {
        for (std::ptrdiff_t k = 0; k < n; k++) {
            const char* row = x + (places[k] < 0 ? places[k] + count : places[k]) * bytes;
            if (bytes == 8) std::memcpy(out + k * 8, row, 8);           // one load and one store, no call
            else if (bytes == 4) std::memcpy(out + k * 4, row, 4);
            else std::memcpy(out + k * bytes, row, (size_t)bytes);
        }
        return 0;
    });
}

// memcpy to memory that will not be read before it has left the caches: lines that are written whole need not be read
// first, which for 8 MB takes as long as the copy.
static inline void copy_past_caches(char* out, const char* x, std::size_t bytes) {
#if defined(__SSE2__)
    std::size_t head = (std::size_t)(-(std::uintptr_t)out & 63);
    if (head > bytes) head = bytes;
    std::memcpy(out, x, head);
    out += head;
    x += head;
    bytes -= head;
    for (; bytes >= 64; bytes -= 64, out += 64, x += 64)
        for (int i = 0; i < 4; i++) _mm_stream_si128((__m128i*)out + i, _mm_loadu_si128((const __m128i*)x + i));
    _mm_sfence();
#endif
    std::memcpy(out, x, bytes);
}

// Rows of a region of an array, of `count` rows of `columns` elements, and zeros between them, to what was not written
// before: in pieces that stay in the first cache. `row`, `step`: bytes from one row, one element to the next;
// `from_row`, `from_step`: those of g. The last row's end is the end of what is written.
template <typename T>
static inline void put_gapped_of(char* out, const char* g, std::ptrdiff_t count, std::ptrdiff_t columns, std::ptrdiff_t row,
                                 std::ptrdiff_t step, std::ptrdiff_t from_row, std::ptrdiff_t from_step) {
    const std::ptrdiff_t most = row < (1 << 13) ? (1 << 13) / row : 1;
    const std::ptrdiff_t end = (count - 1) * row + (columns - 1) * step + (std::ptrdiff_t)sizeof(T);
    for (std::ptrdiff_t i = 0; i < count; i += most) {
        const std::ptrdiff_t stop = count - i < most ? count : i + most;
        std::memset(out + i * row, 0, (std::size_t)((stop == count ? end : stop * row) - i * row));
        for (std::ptrdiff_t k = 0; k < columns; k++) {
            const char* from = g + i * from_row + k * from_step;
            char* to = out + i * row + k * step;
            for (std::ptrdiff_t j = i; j < stop; j++, from += from_row, to += row) *(T*)to = *(const T*)from;
        }
    }
}

static inline void put_gapped(std::ptrdiff_t item, char* out, const char* g, std::ptrdiff_t count, std::ptrdiff_t columns,
                              std::ptrdiff_t row, std::ptrdiff_t step, std::ptrdiff_t from_row,
                              std::ptrdiff_t from_step) {
    unlocked(count * columns, [=] {
        if (item == 8) put_gapped_of<double>(out, g, count, columns, row, step, from_row, from_step);
        else put_gapped_of<float>(out, g, count, columns, row, step, from_row, from_step);
        return 0;
    });
}

static inline bool all_within(const std::int64_t* places, std::ptrdiff_t n, std::ptrdiff_t count) {
    bool good = true;
    for (std::ptrdiff_t k = 0; k < n; k++) good &= places[k] >= -count && places[k] < count;
    return good;
}

// Choices

struct Wide {
    std::uint64_t low, high;
};

template <typename T>
static inline void choose_as(const char* mask, const T* x, std::ptrdiff_t sx, const T* y, std::ptrdiff_t sy, T* out,
                             std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; i++) out[i] = mask[i] ? x[i * sx] : y[i * sy];
}

// out[i] = mask[i] ? x[i * sx] : y[i * sy] for elements of 4, 8 or 16 bytes; steps are 0 or 1.
static inline void choose(std::ptrdiff_t item, const char* mask, const char* x, std::ptrdiff_t sx, const char* y,
                          std::ptrdiff_t sy, char* out, std::ptrdiff_t n) {
    if (item == 8) {
        typedef std::uint64_t T;
        choose_as<T>(mask, (const T*)x, sx, (const T*)y, sy, (T*)out, n);
    } else if (item == 4) {
        typedef std::uint32_t T;
        choose_as<T>(mask, (const T*)x, sx, (const T*)y, sy, (T*)out, n);
    } else {
        choose_as<Wide>(mask, (const Wide*)x, sx, (const Wide*)y, sy, (Wide*)out, n);
    }
}

// The same for arrays, shared by several threads where that pays.
static inline void share_choose(Team* team, std::ptrdiff_t item, const char* mask, const char* x, std::ptrdiff_t sx,
                                const char* y, std::ptrdiff_t sy, char* out, std::ptrdiff_t n) {
    unlocked(n, [=] {
        return in_pieces(team, n, worth_sharing(COST_MEMORY, item), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
            choose(item, mask + i, x + i * sx * item, sx, y + i * sy * item, sy, out + i * item, m);
            return 0;
        });
    });
}

}  // namespace arraygrad
