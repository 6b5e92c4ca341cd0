// Gradients of complex arrays in one pass: of sizes, quotients and squares. Complex numbers are pairs of real ones.
// May include: inner_loops.hpp. Used by complex_rules.pyx alone.
//
// Steps count elements: 0 for one value everywhere. Products and quotients are those of NumPy's loops: a quotient is
// Smith's, a product the sum of the four of the parts.
#pragma once
#include <cmath>
#include <cstddef>
#include <limits>
#include "inner_loops.hpp"

namespace arraygrad {

template <typename T>
static inline void quotient_of_parts(T a, T b, T c, T d, T* re, T* im) {
    const T size_c = std::fabs(c), size_d = std::fabs(d);
    if (size_c >= size_d) {
        if (size_c == 0 && size_d == 0) {
            *re = a / size_c;
            *im = b / size_c;
            return;
        }
        const T ratio = d / c, scale = T(1) / (c + d * ratio);
        *re = (a + b * ratio) * scale;
        *im = (b - a * ratio) * scale;
    } else {
        const T ratio = c / d, scale = T(1) / (c * ratio + d);
        *re = (a * ratio + b) * scale;
        *im = (b * ratio - a) * scale;
    }
}

static inline bool size_of(double re, double im, double* size) {
    const double square = re * re + im * im;
    *size = square >= 1e-290 && square <= 1e290 ? std::sqrt(square) : std::hypot(re, im);
    return *size >= std::numeric_limits<double>::min() && *size <= std::numeric_limits<double>::max();
}

static inline bool size_of(float re, float im, float* size) {
    *size = (float)std::sqrt((double)re * re + (double)im * im);
    return *size >= std::numeric_limits<float>::min() && *size <= std::numeric_limits<float>::max();
}

// out = g * x / |x|, 0 where x is 0. False where a size is no normal number: nothing of `out` counts then.
template <typename T>
static bool size_gradient_of(const T* x, const T* g, std::ptrdiff_t step, T* out, std::ptrdiff_t n) {
    bool plain = true;
    for (std::ptrdiff_t i = 0; i < n; i++) {
        const T by = g[i * step], re = x[2 * i], im = x[2 * i + 1];
        T size;
        if (size_of(re, im, &size)) {
            out[2 * i] = re / size * by;
            out[2 * i + 1] = im / size * by;
        } else {
            plain = plain && re == 0 && im == 0;
            out[2 * i] = out[2 * i + 1] = T(0) * by;
        }
    }
    return plain;
}

enum { SIZES_AT_ONCE = 256 };

// The same for as many numbers at once, none of which is near the ends of the range. False: one is, nothing counts.
// `step`: 0 or 1.
#define ARRAYGRAD_SIZES(T, LEAST, MOST)                                                                         \
    ARRAYGRAD_CLONES static bool moderate_sizes(const T* x, const T* g, std::ptrdiff_t step, T* out, std::ptrdiff_t n) { \
        double re[SIZES_AT_ONCE], im[SIZES_AT_ONCE];                                                            \
        T by[SIZES_AT_ONCE], size[SIZES_AT_ONCE];                                                               \
        std::ptrdiff_t beyond = 0;                                                                              \
        for (std::ptrdiff_t i = 0; i < n; i++) {                                                                \
            re[i] = x[2 * i];                                                                                   \
            im[i] = x[2 * i + 1];                                                                               \
        }                                                                                                       \
        if (step) for (std::ptrdiff_t i = 0; i < n; i++) by[i] = g[i];                                          \
        else for (std::ptrdiff_t i = 0; i < n; i++) by[i] = *g;                                                 \
        for (std::ptrdiff_t i = 0; i < n; i++) {                                                                \
            const double square = re[i] * re[i] + im[i] * im[i];                                                \
            beyond += !(square >= LEAST) | !(square <= MOST);                                                   \
            size[i] = (T)std::sqrt(square);                                                                     \
        }                                                                                                       \
        if (beyond) return false;                                                                               \
        for (std::ptrdiff_t i = 0; i < n; i++) {                                                                \
            out[2 * i] = (T)re[i] / size[i] * by[i];                                                            \
            out[2 * i + 1] = (T)im[i] / size[i] * by[i];                                                        \
        }                                                                                                       \
        return true;                                                                                            \
    }
ARRAYGRAD_SIZES(double, 1e-290, 1e290)
ARRAYGRAD_SIZES(float, 1e-74, 1e76)
#undef ARRAYGRAD_SIZES

template <typename T>
static bool size_gradients_of(const T* x, const T* g, std::ptrdiff_t step, T* out, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; i += SIZES_AT_ONCE) {
        const std::ptrdiff_t m = n - i < SIZES_AT_ONCE ? n - i : (std::ptrdiff_t)SIZES_AT_ONCE;
        if (!moderate_sizes(x + 2 * i, g + i * step, step, out + 2 * i, m)
            && !size_gradient_of(x + 2 * i, g + i * step, step, out + 2 * i, m))
            return false;
    }
    return true;
}

// The gradient of an array from that of its real (`at` 0) or imaginary (1) parts: zeros beside them, or added.
template <typename T> static void put_parts_of(const T* g, std::ptrdiff_t step, T* out, std::ptrdiff_t n, int at, bool add) {
    if (add) {
        for (std::ptrdiff_t i = 0; i < n; i++) out[2 * i + at] += g[i * step];
    } else if (at) {
        for (std::ptrdiff_t i = 0; i < n; i++) {
            out[2 * i] = T(0);
            out[2 * i + 1] = g[i * step];
        }
    } else {
        for (std::ptrdiff_t i = 0; i < n; i++) {
            out[2 * i] = g[i * step];
            out[2 * i + 1] = T(0);
        }
    }
}

// to_x = g / conj(y), to_y = -to_x * conj(ans). `to_y`: may be null; to_x is room then and is always written.
template <typename T>
static void quotient_gradients_of(const T* g, std::ptrdiff_t step, const T* y, const T* ans, T* to_x, T* to_y,
                                  std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; i++) {
        T re, im;
        quotient_of_parts(g[2 * i * step], g[2 * i * step + 1], y[2 * i], -y[2 * i + 1], &re, &im);
        if (to_y) {
            const T c = ans[2 * i], d = ans[2 * i + 1];
            to_y[2 * i] = -(re * c + im * d);
            to_y[2 * i + 1] = -(im * c - re * d);
        }
        if (to_x) {
            to_x[2 * i] = re;
            to_x[2 * i + 1] = im;
        }
    }
}

// The same for real divisors: the gradient of y is real.
template <typename T>
static void real_quotient_gradients_of(const T* g, std::ptrdiff_t step, const T* y, std::ptrdiff_t step_y, const T* ans,
                                       T* to_x, T* to_y, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; i++) {
        const T re = g[2 * i * step] / y[i * step_y], im = g[2 * i * step + 1] / y[i * step_y];
        if (to_y) to_y[i] = -(re * ans[2 * i] + im * ans[2 * i + 1]);
        if (to_x) {
            to_x[2 * i] = re;
            to_x[2 * i + 1] = im;
        }
    }
}

// out = g * conj(2 * x). False where x is infinite or nan: nothing of `out` counts then.
template <typename T>
static bool square_gradient_of(const T* x, const T* g, std::ptrdiff_t step, T* out, std::ptrdiff_t n) {
    const T most = std::numeric_limits<T>::max();
    bool finite = true;
    for (std::ptrdiff_t i = 0; i < n; i++) {
        const T a = g[2 * i * step], b = g[2 * i * step + 1], c = 2 * x[2 * i], d = 2 * x[2 * i + 1];
        finite = finite & (std::fabs(x[2 * i]) <= most) & (std::fabs(x[2 * i + 1]) <= most);
        out[2 * i] = a * c + b * d;
        out[2 * i + 1] = b * c - a * d;
    }
    return finite;
}

#define ARRAYGRAD_PARTS(call) \
    fp_begin(); \
    if (single) { typedef float T; call; } else { typedef double T; call; } \
    return fp_end()

// Each returns the floating-point errors; -1: declined. gradient_fn: of one complex operand.
typedef int (*gradient_fn)(bool single, const char* x, const char* g, std::ptrdiff_t step, char* out, std::ptrdiff_t n);

static inline int size_gradient(bool single, const char* x, const char* g, std::ptrdiff_t step, char* out,
                                std::ptrdiff_t n) {
    fp_begin();
    const bool plain = single ? size_gradients_of((const float*)x, (const float*)g, step, (float*)out, n)
                              : size_gradients_of((const double*)x, (const double*)g, step, (double*)out, n);
    const int errors = fp_end();
    return plain ? errors : -1;
}

static inline int quotient_gradients(bool single, const char* g, std::ptrdiff_t step, const char* y, const char* ans,
                                     char* to_x, char* to_y, std::ptrdiff_t n) {
    ARRAYGRAD_PARTS(quotient_gradients_of((const T*)g, step, (const T*)y, (const T*)ans, (T*)to_x, (T*)to_y, n));
}

static inline int real_quotient_gradients(bool single, const char* g, std::ptrdiff_t step, const char* y,
                                          std::ptrdiff_t step_y, const char* ans, char* to_x, char* to_y,
                                          std::ptrdiff_t n) {
    ARRAYGRAD_PARTS(real_quotient_gradients_of((const T*)g, step, (const T*)y, step_y, (const T*)ans, (T*)to_x,
                                               (T*)to_y, n));
}

static inline int put_parts(bool single, const char* g, std::ptrdiff_t step, char* out, std::ptrdiff_t n, int at,
                            bool add) {
    ARRAYGRAD_PARTS(put_parts_of((const T*)g, step, (T*)out, n, at, add));
}

static inline int square_gradient(bool single, const char* x, const char* g, std::ptrdiff_t step, char* out,
                                  std::ptrdiff_t n) {
    fp_begin();
    const bool finite = single ? square_gradient_of((const float*)x, (const float*)g, step, (float*)out, n)
                               : square_gradient_of((const double*)x, (const double*)g, step, (double*)out, n);
    const int errors = fp_end();
    return finite ? errors : -1;
}

}  // namespace arraygrad
