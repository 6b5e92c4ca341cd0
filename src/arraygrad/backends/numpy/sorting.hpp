// The order of numbers by their digits, and elements put back to where they came from.
// May include: shared_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
//
// Note [Order by digits]
// ~~~~~~~~~~~~~~~~~~~~~~
// A number becomes an unsigned integer, its key, which is ordered as NumPy orders numbers: -0.0 is 0.0, and nan comes
// after everything (the first of a descending order). Keys are sorted by digits, the last one first, which keeps the
// order of equal ones and costs the same for all arrays of a size, where sorting by comparison costs a guess that the
// processor gets wrong at every second one.
// (1) Only the leading bits are sorted so, counted from the first that differs between the least key and the largest;
//     the place of an element takes the other half of the word that is moved. What still ties in them, few elements in
//     most arrays, is told apart afterwards by whole keys: by insertion, or if there are many in the same way again,
//     from the leading bits of their own. So at most three rounds sort anything.
// (2) An array that is in order already, and a digit that all elements share, cost one look.
// (3) Columns are read some at a time, so that a line of the cache is read once.
// Guarded by tests/ops/test_fast_sorting.py.
#pragma once
#include <cmath>

#include "shared_loops.hpp"

namespace arraygrad {

typedef std::uint64_t sort_key;

static inline sort_key key_of(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, 8);
    const std::uint64_t sign = std::uint64_t(1) << 63, infinity = 0x7ffull << 52;
    if ((bits & ~sign) > infinity) return (infinity | sign) + 1;
    const std::uint64_t key = bits & sign ? ~bits : bits | sign;
    return key + (key == ~sign);                // -0.0
}

static inline sort_key key_of(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    const std::uint32_t sign = std::uint32_t(1) << 31, infinity = 0xffu << 23;
    if ((bits & ~sign) > infinity) return (infinity | sign) + 1u;
    const std::uint32_t key = bits & sign ? ~bits : bits | sign;
    return key + (key == ~sign);
}

static inline sort_key key_of(std::int64_t x) { return (std::uint64_t)x ^ (std::uint64_t(1) << 63); }

enum {
    FEW_KEYS = 32,              // sorted by insertion
    MANY_KEYS = 1 << 12,        // elements from which on wider digits pay for their counters
    LEADING_FEW = 24, LEADING_MANY = 32, DIGIT_FEW = 8, DIGIT_MANY = 11, MOST_DIGITS = 3,
    COLUMNS_AT_ONCE = 8,
};

// A line that is sorted: its keys, the places of its elements, room for two words an element, and the counters.
struct SortLine {
    sort_key* keys;
    std::uint32_t* places;
    std::uint64_t* words;
    std::uint32_t counts[MOST_DIGITS][1 << DIGIT_MANY];
};

// All of this return whether elements tie.
static inline bool insert_sorted(const sort_key* keys, std::uint32_t* places, std::ptrdiff_t n) {
    bool ties = false;
    for (std::ptrdiff_t i = 1; i < n; i++) {
        const std::uint32_t place = places[i];
        const sort_key key = keys[place];
        std::ptrdiff_t j = i;
        for (; j > 0 && keys[places[j - 1]] > key; j--) places[j] = places[j - 1];
        ties |= j > 0 && keys[places[j - 1]] == key;
        places[j] = place;
    }
    return ties;
}

static inline int bits_in(sort_key x) {
    int n = 0;
    for (; x; x >>= 1) n++;
    return n;
}

static bool sort_range(SortLine& line, std::uint32_t* places, std::ptrdiff_t n, std::uint64_t* a, std::uint64_t* b);

// Digits of the leading bits, which are the upper half of a word.
struct Digits {
    int n, width;
    Digits(int bits, bool many) {
        const int widest = many ? DIGIT_MANY : DIGIT_FEW;
        n = (bits + widest - 1) / widest;
        width = (bits + n - 1) / n;
    }
    std::uint32_t of(std::uint64_t word, int d) const { return (word >> 32 >> d * width) & ((1u << width) - 1); }
};

static inline void count_digits(SortLine& line, const Digits& digits, std::uint64_t word) {
    for (int d = 0; d < digits.n; d++) line.counts[d][digits.of(word, d)]++;
}

static inline void clear_counts(SortLine& line, const Digits& digits) {
    for (int d = 0; d < digits.n; d++) std::memset(line.counts[d], 0, sizeof(std::uint32_t) << digits.width);
}

// Sort n words of `a` by digits that have been counted; returns a or b, where they are then.
static inline std::uint64_t* sort_words(SortLine& line, const Digits& digits, std::uint64_t* a, std::uint64_t* b,
                                        std::ptrdiff_t n) {
    for (int d = 0; d < digits.n; d++) {
        std::uint32_t* next = line.counts[d];
        if (next[digits.of(a[0], d)] == (std::uint32_t)n) continue;
        std::uint32_t at = 0;
        for (std::uint32_t k = 0; k < 1u << digits.width; k++) {
            const std::uint32_t count = next[k];
            next[k] = at;
            at += count;
        }
        for (std::ptrdiff_t i = 0; i < n; i++) b[next[digits.of(a[i], d)]++] = a[i];
        std::uint64_t* from = a;
        a = b;
        b = from;
    }
    return a;
}

// Sort n places by their keys, which lie from `least` to `most`; those of equal keys stay in the order in which they
// stand. WHOLE: they are 0 to n - 1. `a`, `b`: room for n words each.
template <bool WHOLE>
static bool sort_places(SortLine& line, std::uint32_t* places, std::ptrdiff_t n, std::uint64_t* a, std::uint64_t* b,
                        sort_key least, sort_key most) {
    if (least == most) return n > 1;
    const bool many = n >= MANY_KEYS;
    const int leading = many ? LEADING_MANY : LEADING_FEW, bits = bits_in(most - least);
    const int sorted = bits < leading ? bits : leading, below = bits - sorted;
    const Digits digits(sorted, many);
    clear_counts(line, digits);
    for (std::ptrdiff_t i = 0; i < n; i++) {
        const std::uint32_t place = WHOLE ? (std::uint32_t)i : places[i];
        a[i] = ((line.keys[place] - least) >> below) << 32 | place;
        count_digits(line, digits, a[i]);
    }
    if (sort_words(line, digits, a, b, n) == b) {
        std::uint64_t* from = a;
        a = b;
        b = from;
    }
    bool same = false;
    for (std::ptrdiff_t i = 0; i < n; i++) {
        places[i] = (std::uint32_t)a[i];
        same |= i > 0 && a[i] >> 32 == a[i - 1] >> 32;
    }
    if (below == 0 || !same) return same;
    bool ties = false;
    for (std::ptrdiff_t i = 0; i < n;) {
        const std::uint64_t lead = a[i] >> 32;
        const std::ptrdiff_t from = i;
        do i++; while (i < n && a[i] >> 32 == lead);
        if (i - from > 1) ties |= sort_range(line, places + from, i - from, a + from, b + from);
    }
    return ties;
}

static bool sort_range(SortLine& line, std::uint32_t* places, std::ptrdiff_t n, std::uint64_t* a, std::uint64_t* b) {
    if (n <= FEW_KEYS) return insert_sorted(line.keys, places, n);
    sort_key least = line.keys[places[0]], most = least;
    for (std::ptrdiff_t i = 1; i < n; i++) {
        const sort_key key = line.keys[places[i]];
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    return sort_places<false>(line, places, n, a, b, least, most);
}

static bool sort_line(SortLine& line, std::ptrdiff_t n) {
    const sort_key* keys = line.keys;
    sort_key least = keys[0], most = least;
    bool sorted = true, ties = false;
    for (std::ptrdiff_t i = 1; i < n; i++) {
        least = keys[i] < least ? keys[i] : least;
        most = keys[i] > most ? keys[i] : most;
        sorted &= keys[i] >= keys[i - 1];
        ties |= keys[i] == keys[i - 1];
    }
    if (!sorted && n > FEW_KEYS) return sort_places<true>(line, line.places, n, line.words, line.words + n, least, most);
    for (std::ptrdiff_t i = 0; i < n; i++) line.places[i] = (std::uint32_t)i;
    return sorted ? ties : insert_sorted(keys, line.places, n);
}

// What may tell NumPy's result from this one: equal elements; nan, or a negative zero.
enum { HAS_TIES = 1, HAS_SPECIAL = 2 };

static inline bool is_special(double x) { return x != x || (x == 0 && std::signbit(x)); }
static inline bool is_special(float x) { return x != x || (x == 0 && std::signbit(x)); }
static inline bool is_special(std::int64_t) { return false; }

static inline std::ptrdiff_t columns_at_once(std::ptrdiff_t inner) {
    return inner < COLUMNS_AT_ONCE ? inner : (std::ptrdiff_t)COLUMNS_AT_ONCE;
}

// Words of 64 bits that ordering lines of n elements, `inner` beside each other, needs room for.
static inline std::ptrdiff_t sorting_room(std::ptrdiff_t n, std::ptrdiff_t inner) {
    const std::ptrdiff_t columns = columns_at_once(inner);
    return columns * n + 2 * n + (columns * n + 1) / 2;
}

// Lines along an axis: `outer` times n elements, `inner` elements apart.
template <typename T>
static int order_lines_of(const T* x, std::int64_t* order, T* values, char* room, std::ptrdiff_t outer,
                          std::ptrdiff_t n, std::ptrdiff_t inner, bool descending) {
    const std::ptrdiff_t most = columns_at_once(inner);
    const sort_key turned = descending ? ~sort_key(0) : 0;
    sort_key* keys = (sort_key*)room;
    std::uint32_t* places = (std::uint32_t*)(keys + (most + 2) * n);
    SortLine line;
    line.words = (std::uint64_t*)(keys + most * n);
    int found = 0;
    for (std::ptrdiff_t o = 0; o < outer; o++)
        for (std::ptrdiff_t from = 0; from < inner; from += most) {
            const std::ptrdiff_t columns = inner - from < most ? inner - from : most, first = o * n * inner + from;
            const T* lines = x + first;
            bool special = false;
            for (std::ptrdiff_t k = 0; k < n; k++)
                for (std::ptrdiff_t j = 0; j < columns; j++) {
                    const T v = lines[k * inner + j];
                    special |= is_special(v);
                    keys[j * n + k] = key_of(v) ^ turned;
                }
            if (special) found |= HAS_SPECIAL;
            for (std::ptrdiff_t j = 0; j < columns; j++) {
                line.keys = keys + j * n;
                line.places = places + j * n;
                if (sort_line(line, n)) found |= HAS_TIES;
            }
            for (std::ptrdiff_t k = 0; k < n; k++)
                for (std::ptrdiff_t j = 0; j < columns; j++) {
                    const std::ptrdiff_t place = places[j * n + k], to = first + k * inner + j;
                    if (order) order[to] = place;
                    if (values) values[to] = lines[place * inner + j];
                }
        }
    return found;
}

// `kind`: SLOT_F32, SLOT_F64, or SORT_I64. `order`, `values`: NULL if not wanted. Returns bits of HAS_*.
enum { SORT_I64 = N_SLOTS };

static inline int order_lines(int kind, const char* x, std::int64_t* order, char* values, char* room,
                              std::ptrdiff_t outer, std::ptrdiff_t n, std::ptrdiff_t inner, bool descending) {
    return unlocked(outer * n * inner, [=] {
        if (kind == SLOT_F64)
            return order_lines_of((const double*)x, order, (double*)values, room, outer, n, inner, descending);
        if (kind == SLOT_F32)
            return order_lines_of((const float*)x, order, (float*)values, room, outer, n, inner, descending);
        return order_lines_of((const std::int64_t*)x, order, (std::int64_t*)values, room, outer, n, inner, descending);
    });
}

// out[o, order[o, k, i], i] = g[o, k, i].
template <typename T>
static inline void put_along_of(const T* g, const std::int64_t* order, T* out, std::ptrdiff_t outer, std::ptrdiff_t n,
                                std::ptrdiff_t inner) {
    for (std::ptrdiff_t o = 0; o < outer; o++, g += n * inner, order += n * inner, out += n * inner)
        for (std::ptrdiff_t k = 0; k < n; k++)
            for (std::ptrdiff_t i = 0; i < inner; i++) {
                const std::ptrdiff_t at = k * inner + i;
                out[order[at] * inner + i] = g[at];
            }
}

static inline void put_along(std::ptrdiff_t item, const char* g, const std::int64_t* order, char* out,
                             std::ptrdiff_t outer, std::ptrdiff_t n, std::ptrdiff_t inner) {
    unlocked(outer * n * inner, [=] {
        if (item == 8) put_along_of((const std::uint64_t*)g, order, (std::uint64_t*)out, outer, n, inner);
        else put_along_of((const std::uint32_t*)g, order, (std::uint32_t*)out, outer, n, inner);
        return 0;
    });
}

}  // namespace arraygrad
