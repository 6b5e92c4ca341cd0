// The order of numbers by their digits, and elements put back to where they came from.
// May include: ranks.hpp, shared_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
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
// (4) Short lines are sorted by NumPy, as words of a key and a place, of which no two are equal: its vector instructions
//     sort up to SORTED_AT_ONCE words several times as fast as digits do, and where the processor has none, its sort is
//     what the values alone would cost. Longer lines are sorted in pieces, which are merged. Keys lose so many of their
//     last bits as a place needs; what ties then is told apart by whole keys.
// Guarded by tests/backends/test_fast_sorting.py.
#pragma once
#include <algorithm>
#include <cmath>

#include "ranks.hpp"

namespace arraygrad {

typedef std::uint64_t sort_key;

// The magnitude of a negative number is subtracted: so -0.0 is 0.0, and the last bits of round numbers are zeros whatever
// the sign. Without branches, so that loops over them are vectors.
static inline sort_key key_of(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, 8);
    const std::uint64_t sign = std::uint64_t(1) << 63, infinity = 0x7ffull << 52;
    const std::uint64_t size = bits & ~sign, minus = (std::uint64_t)((std::int64_t)bits >> 63);
    const std::uint64_t key = ((size ^ minus) - minus) ^ sign;
    return size > infinity ? (infinity | sign) + 1 : key;
}

static inline std::uint32_t key_of(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    const std::uint32_t sign = std::uint32_t(1) << 31, infinity = 0xffu << 23;
    const std::uint32_t size = bits & ~sign, minus = (std::uint32_t)((std::int32_t)bits >> 31);
    const std::uint32_t key = ((size ^ minus) - minus) ^ sign;
    return size > infinity ? (infinity | sign) + 1u : key;
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
#if defined(__GNUC__)
    return x ? 64 - __builtin_clzll(x) : 0;
#else
    int n = 0;
    for (; x; x >>= 1) n++;
    return n;
#endif
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

// What may tell NumPy's result from this one: equal elements; nan, or a negative zero. And, of lines of words, whether
// some have not the whole of a key.
enum { HAS_TIES = 1, HAS_SPECIAL = 2, HAS_CUT_KEYS = 4 };

static inline bool is_special(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, 8);
    const std::uint64_t sign = std::uint64_t(1) << 63;
    return ((bits & ~sign) > 0x7ffull << 52) | (bits == sign);
}

static inline bool is_special(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    const std::uint32_t sign = std::uint32_t(1) << 31;
    return ((bits & ~sign) > 0xffu << 23) | (bits == sign);
}

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
                    keys[j * n + k] = (sort_key)key_of(v) ^ turned;
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

// -- short lines, sorted as words by NumPy (4) ------------------------------------------------------------------------

enum { LINE_OF_WORDS = 2048, SORTED_AT_ONCE = 256 };

// A line as words: `pieces` times `length` of them, the last ones without an element; a word's last `bits` are a place.
struct Pieces {
    std::ptrdiff_t pieces, length;
    int bits;
};

static inline Pieces pieces_of(std::ptrdiff_t n) {
    Pieces p;
    p.pieces = (n + SORTED_AT_ONCE - 1) / SORTED_AT_ONCE;
    p.length = (n + p.pieces - 1) / p.pieces;
    p.bits = bits_in((sort_key)(n - 1));
    return p;
}

// The words of a line of n elements, every element's place in the last `bits`. Returns bits of HAS_*.
ARRAYGRAD_CLONES static int pack_line(const float* x, std::uint64_t* words, std::ptrdiff_t n, int bits, sort_key turned) {
    const std::uint32_t turn = (std::uint32_t)turned;
    std::uint32_t special = 0;
    for (std::ptrdiff_t k = 0; k < n; k++) {
        special |= (std::uint32_t)is_special(x[k]);
        words[k] = (std::uint64_t)(key_of(x[k]) ^ turn) << bits | (std::uint64_t)k;
    }
    return special ? HAS_SPECIAL : 0;
}

// Of the bits in which the keys of the line differ, the first ones.
template <typename T>
ARRAYGRAD_INLINED static inline int pack_long(const T* x, std::uint64_t* words, std::ptrdiff_t n, int bits,
                                              sort_key turned) {
    const sort_key turn = turned ^ std::uint64_t(1) << 63;      // as signed numbers, which vectors compare
    const sort_key first = key_of(x[0]) ^ turn;
    std::uint64_t special = 0, differ = 0;
    std::int64_t least = INT64_MAX, most = INT64_MIN;
    for (std::ptrdiff_t k = 0; k < n; k++) {
        special |= (std::uint64_t)is_special(x[k]);
        const std::int64_t key = (std::int64_t)(key_of(x[k]) ^ turn);
        least = key < least ? key : least;
        most = key > most ? key : most;
        words[k] = (std::uint64_t)key;
        differ |= (std::uint64_t)key ^ first;
    }
    const std::uint64_t start = (std::uint64_t)least;
    const int lost = bits_in((std::uint64_t)most - start) - (64 - bits), below = lost > 0 ? lost : 0;
    for (std::ptrdiff_t k = 0; k < n; k++) words[k] = (words[k] - start) >> below << bits | (std::uint64_t)k;
    const bool cut = (differ & ((std::uint64_t(1) << below) - 1)) != 0;      // the bits that are lost are not all equal
    return (special ? HAS_SPECIAL : 0) | (cut ? HAS_CUT_KEYS : 0);
}

ARRAYGRAD_CLONES static int pack_line(const double* x, std::uint64_t* words, std::ptrdiff_t n, int bits,
                                      sort_key turned) {
    return pack_long(x, words, n, bits, turned);
}

ARRAYGRAD_CLONES static int pack_line(const std::int64_t* x, std::uint64_t* words, std::ptrdiff_t n, int bits,
                                      sort_key turned) {
    return pack_long(x, words, n, bits, turned);
}

// `spare`: room for COLUMNS_AT_ONCE lines, where lines lie beside each other.
template <typename T>
static int pack_lines_of(const T* x, std::uint64_t* words, T* spare, Around a, Pieces p, bool descending) {
    const std::ptrdiff_t columns = columns_at_once(a.inner), row = p.pieces * p.length;
    const sort_key turned = descending ? ~sort_key(0) : 0;
    int found = 0;
    for (std::ptrdiff_t o = 0; o < a.outer; o++)
        for (std::ptrdiff_t from = 0; from < a.inner; from += columns) {
            const std::ptrdiff_t m = a.inner - from < columns ? a.inner - from : columns;
            const T* lines = x + o * a.n * a.inner + from;
            if (a.inner > 1) {
                for (std::ptrdiff_t k = 0; k < a.n; k++)
                    for (std::ptrdiff_t j = 0; j < m; j++) spare[j * a.n + k] = lines[k * a.inner + j];
                lines = spare;
            }
            for (std::ptrdiff_t j = 0; j < m; j++, words += row) {
                found |= pack_line(lines + j * a.n, words, a.n, p.bits, turned);
                for (std::ptrdiff_t k = a.n; k < row; k++) words[k] = ~std::uint64_t(0);
            }
        }
    return found;
}

// From both ends at once, two chains of steps that need no guess: what the smaller of a and b has is written twice over
// before either can be empty. No two words are equal.
static inline void merge_words(const std::uint64_t* a, const std::uint64_t* a_end, const std::uint64_t* b,
                               const std::uint64_t* b_end, std::uint64_t* out) {
    const std::ptrdiff_t n = (a_end - a) + (b_end - b), sure = std::min(a_end - a, b_end - b);
    const std::uint64_t *a_last = a_end - 1, *b_last = b_end - 1;
    std::uint64_t* out_last = out + n - 1;
    for (std::ptrdiff_t i = 0; i < sure; i++) {
        const std::uint64_t p = *a, q = *b, r = *a_last, s = *b_last;
        const std::ptrdiff_t second = q < p, third = r < s;
        *out++ = second ? q : p;
        a += 1 - second;
        b += second;
        *out_last-- = third ? s : r;
        a_last -= 1 - third;
        b_last -= third;
    }
    while (a <= a_last && b <= b_last) *out++ = *b < *a ? *b++ : *a++;
    while (a <= a_last) *out++ = *a++;
    while (b <= b_last) *out++ = *b++;
}

// The n words of a line in order, whose pieces are; where they are: `words` or `spare`.
static inline std::uint64_t* merge_pieces(std::uint64_t* words, std::uint64_t* spare, std::ptrdiff_t n, Pieces p) {
    std::uint64_t *from = words, *to = spare;
    for (std::ptrdiff_t length = p.length; length < n; length *= 2) {
        for (std::ptrdiff_t at = 0; at < n; at += 2 * length) {
            const std::ptrdiff_t middle = std::min(at + length, n), end = std::min(middle + length, n);
            merge_words(from + at, from + middle, from + middle, from + end, to + at);
        }
        std::swap(from, to);
    }
    return from;
}

// Words with the same bits of keys, sorted by whole keys; returns whether some of those are equal.
template <typename T>
static bool sort_run(const T* line, std::ptrdiff_t step, std::uint64_t* words, std::ptrdiff_t n, std::uint64_t mask,
                     bool descending) {
    const sort_key turned = descending ? ~sort_key(0) : 0;
    auto key = [=](std::uint64_t word) { return (sort_key)key_of(line[(std::ptrdiff_t)(word & mask) * step]) ^ turned; };
    const sort_key first = key(words[0]);
    std::ptrdiff_t same = 1;
    while (same < n && key(words[same]) == first) same++;
    if (same == n) return true;
    std::sort(words, words + n, [&](std::uint64_t a, std::uint64_t b) {
        const sort_key ka = key(a), kb = key(b);
        return ka < kb || (ka == kb && a < b);
    });
    bool ties = false;
    for (std::ptrdiff_t i = 1; i < n; i++) ties |= key(words[i]) == key(words[i - 1]);
    return ties;
}

ARRAYGRAD_CLONES static bool any_run(const std::uint64_t* words, std::ptrdiff_t n, int bits) {
    std::uint64_t found = 0;
    for (std::ptrdiff_t k = 1; k < n; k++) found |= (std::uint64_t)((words[k] ^ words[k - 1]) >> bits == 0);
    return found != 0;
}

// Sort runs of words that tie in their bits of keys, if keys were cut; returns whether elements tie.
template <typename T>
static bool sort_runs(const T* line, std::ptrdiff_t step, std::uint64_t* words, std::ptrdiff_t n, int bits, bool cut,
                      bool descending) {
    if (!any_run(words, n, bits)) return false;
    if (!cut) return true;
    bool ties = false;
    for (std::ptrdiff_t k = 0; k < n;) {
        const std::ptrdiff_t from = k;
        do k++; while (k < n && words[k] >> bits == words[from] >> bits);
        if (k - from > 1) ties |= sort_run(line, step, words + from, k - from, (std::uint64_t(1) << bits) - 1, descending);
    }
    return ties;
}

template <typename T>
static inline void put_line(const T* x, const std::uint64_t* words, std::ptrdiff_t n, std::uint64_t mask,
                            std::int64_t* order, T* values) {
    if (order && values)
        for (std::ptrdiff_t k = 0; k < n; k++) values[k] = x[order[k] = (std::int64_t)(words[k] & mask)];
    else if (order)
        for (std::ptrdiff_t k = 0; k < n; k++) order[k] = (std::int64_t)(words[k] & mask);
    else
        for (std::ptrdiff_t k = 0; k < n; k++) values[k] = x[words[k] & mask];
}

template <typename T>
static int unpack_lines_of(const T* x, std::uint64_t* words, std::int64_t* order, T* values, std::uint64_t* spare,
                           Around a, Pieces p, bool cut, bool descending) {
    const std::ptrdiff_t columns = columns_at_once(a.inner), row = p.pieces * p.length;
    const std::uint64_t mask = (std::uint64_t(1) << p.bits) - 1;
    bool ties = false;
    for (std::ptrdiff_t o = 0; o < a.outer; o++)
        for (std::ptrdiff_t from = 0; from < a.inner; from += columns) {
            const std::ptrdiff_t m = a.inner - from < columns ? a.inner - from : columns;
            const std::ptrdiff_t first = o * a.n * a.inner + from;
            std::uint64_t* lines[COLUMNS_AT_ONCE];
            for (std::ptrdiff_t j = 0; j < m; j++, words += row) {
                lines[j] = merge_pieces(words, spare + j * a.n, a.n, p);
                ties |= sort_runs(x + first + j, a.inner, lines[j], a.n, p.bits, cut, descending);
            }
            if (a.inner == 1) {
                put_line(x + first, lines[0], a.n, mask, order ? order + first : NULL, values ? values + first : NULL);
                continue;
            }
            for (std::ptrdiff_t k = 0; k < a.n; k++)
                for (std::ptrdiff_t j = 0; j < m; j++) {
                    const std::ptrdiff_t place = (std::ptrdiff_t)(lines[j][k] & mask), to = first + k * a.inner + j;
                    if (order) order[to] = place;
                    if (values) values[to] = x[first + place * a.inner + j];
                }
        }
    return ties ? HAS_TIES : 0;
}

// `kind`: SLOT_F32, SLOT_F64, or SORT_I64. `order`, `values`: NULL if not wanted. Returns bits of HAS_*.
enum { SORT_I64 = N_SLOTS };

#define ARRAYGRAD_SORTED(size, CALL)                                    \
    return unlocked(size, [=] {                                         \
        if (kind == SLOT_F64) { typedef double T; return CALL; }        \
        if (kind == SLOT_F32) { typedef float T; return CALL; }         \
        typedef std::int64_t T;                                         \
        return CALL;                                                    \
    });

// `spare`: room for COLUMNS_AT_ONCE lines where a line has several pieces, or lines lie beside each other.
static inline int pack_lines(int kind, const char* x, char* words, char* spare, Around a, Pieces p, bool descending) {
    ARRAYGRAD_SORTED(a.outer * a.n * a.inner,
                     pack_lines_of((const T*)x, (std::uint64_t*)words, (T*)spare, a, p, descending))
}

// `found`: what pack_lines returned, to which this adds.
static inline int unpack_lines(int kind, const char* x, char* words, std::int64_t* order, char* values, char* spare,
                               Around a, Pieces p, int found, bool descending) {
    const bool cut = found & HAS_CUT_KEYS;
    ARRAYGRAD_SORTED(a.outer * a.n * a.inner,
                     found | unpack_lines_of((const T*)x, (std::uint64_t*)words, order, (T*)values,
                                             (std::uint64_t*)spare, a, p, cut, descending))
}

static inline int order_lines(int kind, const char* x, std::int64_t* order, char* values, char* room, Around a,
                              bool descending) {
    ARRAYGRAD_SORTED(a.outer * a.n * a.inner,
                     order_lines_of((const T*)x, order, (T*)values, room, a.outer, a.n, a.inner, descending))
}
#undef ARRAYGRAD_SORTED

// Zeros with g, one for each distinct value of x in order, where that occurs first. `g` has m elements; false: x has
// another number of values. `order` may be NULL, if there are at most ROOM_HERE elements.
template <typename T>
static inline bool put_first_of(const T* x, const std::int64_t* order, const T* g, std::ptrdiff_t m, T* out,
                                std::ptrdiff_t n) {
    Room<int64_t> places(order ? 0 : n);
    std::ptrdiff_t found = 0;
    if (!order) {
        stable_order(x, n, places.data);
        order = places.data;
    }
    for (std::ptrdiff_t i = 0; i < n; i++) {
        const std::int64_t at = order[i];
        const bool is_new = i == 0 || x[at] != x[order[i - 1]];
        if (is_new && found == m) return false;
        out[at] = is_new ? g[found++] : T(0);
    }
    return found == m;
}

static inline bool put_first(int slot, const char* x, const std::int64_t* order, const char* g, std::ptrdiff_t m,
                             char* out, std::ptrdiff_t n) {
    return unlocked(n, [=] {
        ARRAYGRAD_REAL(slot, return (int)put_first_of((const T*)x, order, (const T*)g, m, (T*)out, n));
    });
}

// out[o, to[o, k, i], i] = g[o, from[o, k, i], i], where `from` may be NULL: k then.
template <typename T>
static inline void put_along_of(const T* g, const std::int64_t* to, const std::int64_t* from, T* out, Around a) {
    const std::ptrdiff_t size = a.n * a.inner;
    for (std::ptrdiff_t o = 0; o < a.outer; o++, g += size, to += size, out += size) {
        if (a.inner == 1 && !from) {
            for (std::ptrdiff_t k = 0; k < a.n; k++) out[to[k]] = g[k];
            continue;
        }
        for (std::ptrdiff_t k = 0; k < a.n; k++)
            for (std::ptrdiff_t i = 0; i < a.inner; i++) {
                const std::ptrdiff_t at = k * a.inner + i;
                out[to[at] * a.inner + i] = g[from ? from[at] * a.inner + i : at];
            }
        if (from) from += size;
    }
}

static inline void put_along(std::ptrdiff_t item, const char* g, const std::int64_t* to, const std::int64_t* from,
                             char* out, Around a) {
    unlocked(a.outer * a.n * a.inner, [=] {
        if (item == 8) put_along_of((const std::uint64_t*)g, to, from, (std::uint64_t*)out, a);
        else put_along_of((const std::uint32_t*)g, to, from, (std::uint32_t*)out, a);
        return 0;
    });
}

}  // namespace arraygrad
