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

}  // namespace arraygrad
