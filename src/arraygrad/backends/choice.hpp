// Elements of one of two arrays, as a mask says, by element size.
// May include: the C++ library. Knows neither Python objects nor NumPy.
#pragma once
#include <cstddef>
#include <cstdint>

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

}  // namespace arraygrad
