// Bytes put side by side: copies of a run, and of rows that lie apart. What it copies lies nowhere in what it writes.
// May include: the C++ library. Knows neither Python objects nor NumPy.
#pragma once
#include <cstddef>
#include <cstring>

namespace arraygrad {

// out, of so many bytes, filled with the `of` bytes of x again and again.
static inline void cycle(char* out, std::ptrdiff_t bytes, const char* x, std::ptrdiff_t of) {
    std::ptrdiff_t done = of < bytes ? of : bytes;
    if (done <= 0) return;
    std::memcpy(out, x, (std::size_t)done);
    while (done < bytes) {  // what is there twice over: few long copies, whatever `of` is
        const std::ptrdiff_t more = done < bytes - done ? done : bytes - done;
        std::memcpy(out + done, out, (std::size_t)more);
        done += more;
    }
}

// n rows of `row` bytes, `step` bytes apart, to places `to_step` apart.
static inline void copy_rows_apart(char* out, std::ptrdiff_t to_step, const char* x, std::ptrdiff_t step,
                                   std::ptrdiff_t row, std::ptrdiff_t n) {
    if (row <= 0) return;
    for (std::ptrdiff_t i = 0; i < n; i++) std::memcpy(out + i * to_step, x + i * step, (std::size_t)row);
}

}  // namespace arraygrad
