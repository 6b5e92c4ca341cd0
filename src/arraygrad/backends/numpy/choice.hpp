// Elements of one of two arrays, as a mask says, by element size.
// May include: shared_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
#pragma once
#include <cstddef>
#include <cstdint>

#include "shared_loops.hpp"

namespace arraygrad {

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

// The same, shared by several threads where that pays.
static inline void share_choose(Team* team, std::ptrdiff_t item, const char* mask, const char* x, std::ptrdiff_t sx,
                                const char* y, std::ptrdiff_t sy, char* out, std::ptrdiff_t n) {
    in_pieces(team, n, worth_sharing(COST_MEMORY, item), [=](std::ptrdiff_t i, std::ptrdiff_t m) {
        choose(item, mask + i, x + i * sx * item, sx, y + i * sy * item, sy, out + i * item, m);
        return 0;
    });
}

}  // namespace arraygrad
