// Elements chosen by masks and by numbers, and their gradients.
// May include: arrangements.hpp, the C++ library. Knows neither Python objects nor NumPy. Sizes were checked.
#pragma once
#include <cstdint>
#include <cstring>

#include "arrangements.hpp"

namespace arraygrad {

static inline std::ptrdiff_t count_true(const char* mask, std::ptrdiff_t n) {
    std::ptrdiff_t found = 0;
    for (std::ptrdiff_t i = 0; i < n; i++) found += mask[i] != 0;
    return found;
}

// The elements where the mask holds, of which there are `found`; or (`back`) these from `x` to where they were, and
// zeros elsewhere. Without branches: which way a mask goes is hard to foresee.
template <typename U>
static inline void masked_elements(const char* mask, const U* x, U* out, std::ptrdiff_t n, std::ptrdiff_t found,
                                   bool back) {
    std::ptrdiff_t k = 0;
    if (!back) {
        for (std::ptrdiff_t i = 0; i < n && k < found; i++) {
            out[k] = x[i];
            k += mask[i] != 0;
        }
        return;
    }
    const U none = 0;
    for (std::ptrdiff_t i = 0; i < n; i++) {
        const std::ptrdiff_t holds = mask[i] != 0;
        const U* from = holds ? x + k : &none;
        out[i] = *from;
        k += holds;
    }
}

// The same of the rows of `inner` elements of `item` bytes, for each of outer x n.
static inline void masked_rows(std::ptrdiff_t item, const char* mask, const char* x, char* out, Around a,
                               std::ptrdiff_t found, bool back) {
    const std::ptrdiff_t row = a.inner * item;
    for (std::ptrdiff_t o = 0; o < a.outer; o++) {
        std::ptrdiff_t k = 0;
        for (std::ptrdiff_t i = 0; i < a.n; i++) {
            const std::ptrdiff_t whole = (o * a.n + i) * row, part = (o * found + k) * row;
            if (mask[i]) {
                std::memcpy(out + (back ? whole : part), x + (back ? part : whole), (std::size_t)row);
                k++;
            } else if (back) {
                std::memset(out + whole, 0, (std::size_t)row);
            }
        }
    }
}

static inline void masked(std::ptrdiff_t item, const char* mask, const char* x, char* out, Around a,
                          std::ptrdiff_t found, bool back) {
    unlocked(a.outer * a.n * a.inner, [=] {
        if (a.inner > 1) {
            masked_rows(item, mask, x, out, a, found, back);
            return 0;
        }
        for (std::ptrdiff_t o = 0; o < a.outer; o++) {
            const std::ptrdiff_t whole = o * a.n * item, part = o * found * item;
            const char* from = x + (back ? part : whole);
            char* to = out + (back ? whole : part);
            if (item == 8) masked_elements(mask, (const std::uint64_t*)from, (std::uint64_t*)to, a.n, found, back);
            else masked_elements(mask, (const std::uint32_t*)from, (std::uint32_t*)to, a.n, found, back);
        }
        return 0;
    });
}

// Where masks[k] holds, and none before it, x from parts[k]; `rest` where none does. With `back`, the gradient x to the
// parts instead, which get zeros elsewhere.
template <typename T>
static inline void selected_of(const char* const* masks, T* const* parts, int count, T* x, T rest, std::ptrdiff_t n,
                               bool back) {
    for (std::ptrdiff_t i = 0; i < n; i++) {
        int k = 0;
        while (k < count && !masks[k][i]) k++;
        if (!back) {
            x[i] = k < count ? parts[k][i] : rest;
            continue;
        }
        for (int j = 0; j < count; j++) parts[j][i] = j == k ? x[i] : T(0);
    }
}

static inline void selected(int slot, const char* const* masks, char* const* parts, int count, char* x, double rest,
                            std::ptrdiff_t n, bool back) {
    unlocked(n * count, [=] {
        ARRAYGRAD_REAL(slot, selected_of(masks, (T* const*)parts, count, (T*)x, T(rest), n, back));
        return 0;
    });
}

// The same by the number of the part that each element comes from. False: a number is none.
template <typename T>
static inline bool numbered_of(const int64_t* numbers, T* const* parts, int count, T* x, std::ptrdiff_t n, bool back) {
    for (std::ptrdiff_t i = 0; i < n; i++)
        if (numbers[i] < 0 || numbers[i] >= count) return false;
    for (std::ptrdiff_t i = 0; i < n; i++) {
        if (!back) {
            x[i] = parts[numbers[i]][i];
            continue;
        }
        for (int j = 0; j < count; j++) parts[j][i] = j == numbers[i] ? x[i] : T(0);
    }
    return true;
}

static inline bool numbered(int slot, const int64_t* numbers, char* const* parts, int count, char* x, std::ptrdiff_t n,
                            bool back) {
    return unlocked(n * count, [=] {
        ARRAYGRAD_REAL(slot, return (int)numbered_of(numbers, (T* const*)parts, count, (T*)x, n, back));
    });
}

}  // namespace arraygrad
