// Bytes put side by side: copies of a run, and of rows that lie apart. What it copies lies nowhere in what it writes.
// May include: the C++ library. Knows neither Python objects nor NumPy.
#pragma once
#include <cstddef>
#include <cstring>

namespace arraygrad {

template <int ROW>
static inline void copy_short_rows(char* out, std::ptrdiff_t to_step, const char* x, std::ptrdiff_t step,
                                   std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; i++) std::memcpy(out + i * to_step, x + i * step, ROW);
}

// n rows of `row` bytes, `step` bytes apart, to places `to_step` apart. Of rows of one element or two the length is known
// to the compiler: a call of memcpy takes longer than they do.
static inline void copy_rows_apart(char* out, std::ptrdiff_t to_step, const char* x, std::ptrdiff_t step,
                                   std::ptrdiff_t row, std::ptrdiff_t n) {
    switch (row) {
        case 0: return;
        case 4: return copy_short_rows<4>(out, to_step, x, step, n);
        case 8: return copy_short_rows<8>(out, to_step, x, step, n);
        case 16: return copy_short_rows<16>(out, to_step, x, step, n);
        case 32: return copy_short_rows<32>(out, to_step, x, step, n);
        default:
            for (std::ptrdiff_t i = 0; i < n; i++) std::memcpy(out + i * to_step, x + i * step, (std::size_t)row);
    }
}

}  // namespace arraygrad
