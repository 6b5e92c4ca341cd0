// Arithmetic of the compiled backward rules: one pass over plain memory each.
// May include: inner_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
//
// Each kernel computes what the table's rule spells, in the same order of operations, so results are those of the rule
// bit for bit as long as the compiler may not contract a * b + c. `g` is the gradient (step 0: one value everywhere),
// `y` and `z` what the node saved; `out` may be the gradient's own memory, or y's or z's.
#pragma once
#include <cmath>

#include "inner_loops.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#define ARRAYGRAD_INDEPENDENT _Pragma("GCC ivdep")      // `out` is one of the inputs or none of them, element by element
#else
#define ARRAYGRAD_INDEPENDENT
#endif

namespace arraygrad {

typedef std::ptrdiff_t isize;

template <typename T> static inline T sign_of(T x) {
    // No ordered comparison: those raise "invalid" for nan. Written so that it vectorises.
    T s = x == T(0) ? T(0) : std::copysign(T(1), x);
    return x == x ? s : x;
}

// One saved operand. `sg` is 0 or 1, in elements.
#define ARRAYGRAD_KERNEL2(NAME, FORMULA)                                                                 \
    template <typename T> static inline T NAME##_of(T g, T y) { return FORMULA; }                        \
    ARRAYGRAD_CLONES static void NAME##_f32(const float* g, isize sg, const float* y, float* out, isize n) {  \
        if (sg) { ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) out[i] = NAME##_of(g[i], y[i]); }  \
        else { float c = *g; ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) out[i] = NAME##_of(c, y[i]); } \
    }                                                                                                    \
    ARRAYGRAD_CLONES static void NAME##_f64(const double* g, isize sg, const double* y, double* out, isize n) { \
        if (sg) { ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) out[i] = NAME##_of(g[i], y[i]); }  \
        else { double c = *g; ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) out[i] = NAME##_of(c, y[i]); } \
    }

ARRAYGRAD_KERNEL2(times, g * y)                                     // exp
ARRAYGRAD_KERNEL2(minus_times, -g * y)
ARRAYGRAD_KERNEL2(over, g / y)                                      // log
ARRAYGRAD_KERNEL2(square, T(2) * g * y)
ARRAYGRAD_KERNEL2(power2, g * (T(2) * y))
ARRAYGRAD_KERNEL2(sqrt, T(0.5) * g / y)
ARRAYGRAD_KERNEL2(reciprocal, -g * y * y)
ARRAYGRAD_KERNEL2(expm1, g * (y + T(1)))
ARRAYGRAD_KERNEL2(log1p, g / (T(1) + y))
ARRAYGRAD_KERNEL2(log2, g / (y * T(0.6931471805599453)))
ARRAYGRAD_KERNEL2(log10, g / (y * T(2.302585092994046)))
ARRAYGRAD_KERNEL2(tan, g * (T(1) + y * y))
ARRAYGRAD_KERNEL2(tanh, g * (T(1) - y * y))
ARRAYGRAD_KERNEL2(atan, g / (T(1) + y * y))
ARRAYGRAD_KERNEL2(asin, g / std::sqrt((T(1) - y) * (T(1) + y)))
ARRAYGRAD_KERNEL2(acos, -g / std::sqrt((T(1) - y) * (T(1) + y)))
ARRAYGRAD_KERNEL2(asinh, g / std::sqrt(y * y + T(1)))
ARRAYGRAD_KERNEL2(acosh, g / (std::sqrt(y - T(1)) * std::sqrt(y + T(1))))
ARRAYGRAD_KERNEL2(atanh, g / ((T(1) - y) * (T(1) + y)))
ARRAYGRAD_KERNEL2(abs, g * sign_of(y))
ARRAYGRAD_KERNEL2(over_nonzero, y == T(0) ? T(0) : g / y)             // std: a constant has no direction
ARRAYGRAD_KERNEL2(twice, g * y + g * y)                               // x * x, both edges together
#undef ARRAYGRAD_KERNEL2

// Two saved operands, each with a step of 0 or 1.
#define ARRAYGRAD_KERNEL3(NAME, FORMULA)                                                                 \
    template <typename T> static inline T NAME##_of(T g, T y, T z) { return FORMULA; }                   \
    template <typename T>                                                                                \
    static inline void NAME##_run(const T* g, isize sg, const T* y, isize sy, const T* z, isize sz, T* out, isize n) { \
        if (sg & sy & sz) {                                                                              \
            ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) out[i] = NAME##_of(g[i], y[i], z[i]);    \
        } else {                                                                                         \
            for (isize i = 0; i < n; i++) out[i] = NAME##_of(g[i * sg], y[i * sy], z[i * sz]);           \
        }                                                                                                \
    }                                                                                                    \
    static void NAME##_f32(const float* g, isize sg, const float* y, isize sy, const float* z, isize sz, float* out, \
                           isize n) { NAME##_run(g, sg, y, sy, z, sz, out, n); }                         \
    static void NAME##_f64(const double* g, isize sg, const double* y, isize sy, const double* z, isize sz,  \
                           double* out, isize n) { NAME##_run(g, sg, y, sy, z, sz, out, n); }

ARRAYGRAD_KERNEL3(quotient, -g * y / z)                             // x2 of divide: y the quotient, z the divisor
// Of maximum(y, z), the gradient of y; ties share. Comparisons with nan are false: g goes to both. The
// caller leaves out the errors that this may raise.
#if defined(__GNUC__) && !defined(__clang__)
// A comparison may raise "invalid", which keeps GCC from choosing by mask; here nobody looks at it. Values are the
// same.
#define ARRAYGRAD_QUIET __attribute__((optimize("no-trapping-math")))
#else
#define ARRAYGRAD_QUIET
#endif
#define ARRAYGRAD_CHOICE(NAME, SUFFIX, T, LOSES)                                                                \
    ARRAYGRAD_CLONES ARRAYGRAD_QUIET static void NAME##_##SUFFIX(const T* g, isize sg, const T* y, isize sy, const T* z, isize sz, \
                                                 T* out, isize n) {                                     \
        if (sg & sy & sz) {                                                                              \
            ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) out[i] = (y[i] == z[i] ? g[i] * T(0.5) : y[i] LOSES z[i] ? T(0) : g[i]);    \
        } else if (sg & sy) {                                                                            \
            T c = *z;                                                                                    \
            ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) out[i] = (y[i] == c ? g[i] * T(0.5) : y[i] LOSES c ? T(0) : g[i]);       \
        } else {                                                                                         \
            for (isize i = 0; i < n; i++) out[i] = (y[i * sy] == z[i * sz] ? g[i * sg] * T(0.5) : y[i * sy] LOSES z[i * sz] ? T(0) : g[i * sg]);           \
        }                                                                                                \
    }
ARRAYGRAD_CHOICE(larger, f32, float, <)
ARRAYGRAD_CHOICE(larger, f64, double, <)
ARRAYGRAD_CHOICE(smaller, f32, float, >)
ARRAYGRAD_CHOICE(smaller, f64, double, >)
#undef ARRAYGRAD_CHOICE
ARRAYGRAD_KERNEL3(scaled, g * (y * z))
#undef ARRAYGRAD_KERNEL3

typedef void (*kernel2_f32)(const float*, isize, const float*, float*, isize);
typedef void (*kernel2_f64)(const double*, isize, const double*, double*, isize);
typedef void (*kernel3_f32)(const float*, isize, const float*, isize, const float*, isize, float*, isize);
typedef void (*kernel3_f64)(const double*, isize, const double*, isize, const double*, isize, double*, isize);

struct Kernel2 {
    const char* name;           // the ufunc in whose name floating-point errors are reported: the last one of the rule
    kernel2_f32 f32;
    kernel2_f64 f64;
};

struct Kernel3 {
    const char* name;
    kernel3_f32 f32;
    kernel3_f64 f64;
};

#define ARRAYGRAD_ROW(NAME, UFUNC) {UFUNC, NAME##_f32, NAME##_f64}
enum {
    K_TIMES, K_MINUS_TIMES, K_OVER, K_SQUARE, K_POWER2, K_SQRT, K_RECIPROCAL, K_EXPM1, K_LOG1P, K_LOG2, K_LOG10, K_TAN,
    K_TANH, K_ATAN, K_ASIN, K_ACOS, K_ASINH, K_ACOSH, K_ATANH, K_ABS,
    K_OVER_NONZERO, K_TWICE
};
static const Kernel2 kernels2[] = {
    ARRAYGRAD_ROW(times, "multiply"), ARRAYGRAD_ROW(minus_times, "multiply"), ARRAYGRAD_ROW(over, "divide"),
    ARRAYGRAD_ROW(square, "multiply"),
    ARRAYGRAD_ROW(power2, "multiply"), ARRAYGRAD_ROW(sqrt, "divide"), ARRAYGRAD_ROW(reciprocal, "multiply"),
    ARRAYGRAD_ROW(expm1, "multiply"), ARRAYGRAD_ROW(log1p, "divide"), ARRAYGRAD_ROW(log2, "divide"),
    ARRAYGRAD_ROW(log10, "divide"), ARRAYGRAD_ROW(tan, "multiply"), ARRAYGRAD_ROW(tanh, "multiply"),
    ARRAYGRAD_ROW(atan, "divide"), ARRAYGRAD_ROW(asin, "divide"), ARRAYGRAD_ROW(acos, "divide"),
    ARRAYGRAD_ROW(asinh, "divide"), ARRAYGRAD_ROW(acosh, "divide"), ARRAYGRAD_ROW(atanh, "divide"),
    ARRAYGRAD_ROW(abs, "multiply"), ARRAYGRAD_ROW(over_nonzero, "divide"),
    ARRAYGRAD_ROW(twice, "multiply"),
};
enum { K_QUOTIENT, K_LARGER, K_SMALLER, K_SCALED };
static const Kernel3 kernels3[] = {
    ARRAYGRAD_ROW(quotient, "divide"), ARRAYGRAD_ROW(larger, "divide"), ARRAYGRAD_ROW(smaller, "divide"),
    ARRAYGRAD_ROW(scaled, "multiply"),
};
#undef ARRAYGRAD_ROW

// Steps are 0 or 1 elements. Each returns the error bits raised.
static inline int run_kernel2(const Kernel2* k, int slot, const char* g, isize sg, const char* y, char* out, isize n) {
    fp_begin();
    if (slot == SLOT_F64) k->f64((const double*)g, sg, (const double*)y, (double*)out, n);
    else k->f32((const float*)g, sg, (const float*)y, (float*)out, n);
    return fp_end();
}

static inline int run_kernel3(const Kernel3* k, int slot, const char* g, isize sg, const char* y, isize sy,
                              const char* z, isize sz, char* out, isize n) {
    fp_begin();
    if (slot == SLOT_F64)
        k->f64((const double*)g, sg, (const double*)y, sy, (const double*)z, sz, (double*)out, n);
    else
        k->f32((const float*)g, sg, (const float*)y, sy, (const float*)z, sz, (float*)out, n);
    return fp_end();
}

// Rules with NumPy's own loop for a part of them: block by block, so that the part never leaves the first cache.
// `first` and `second` collect the errors of the part and of the rest.
enum { BLOCK = 512 };

// g * f(x), or -g * f(x) if `product` says so.
static inline void run_chain(const LoopSet* f, const Kernel2* product, int slot, const char* g, isize sg, const char* x,
                             char* out, isize n, int* first, int* second) {
    alignas(64) char part[BLOCK * sizeof(double)];
    const isize item = item_size(slot);
    for (isize i = 0; i < n; i += BLOCK) {
        isize m = n - i < BLOCK ? n - i : (isize)BLOCK;
        *first |= run_unary(f, slot, (char*)x + i * item, part, item, m);
        *second |= run_kernel2(product, slot, g + i * sg * item, sg, part, out + i * item, m);
    }
}

// g * (p * x ** (p - 1)), the exponent given to NumPy's loop as NumPy gives it a number. `sx`: the step of x in bytes,
// for one element; for more it is an element.
static inline void run_power(const LoopSet* power, int slot, const char* g, isize sg, const char* x, isize sx, double p,
                             char* out, isize n, int* first, int* second) {
    alignas(64) char part[BLOCK * sizeof(double)];
    const isize item = item_size(slot);
    double p64 = p, less64 = p - 1.0;
    float p32 = (float)p, less32 = p32 - 1.0f;
    char* factor = slot == SLOT_F64 ? (char*)&p64 : (char*)&p32;
    char* exponent = slot == SLOT_F64 ? (char*)&less64 : (char*)&less32;
    for (isize i = 0; i < n; i += BLOCK) {
        isize m = n - i < BLOCK ? n - i : (isize)BLOCK;
        *first |= run_binary(power, slot, (char*)x + i * item, n == 1 ? sx : item, exponent, 0, part, item, m);
        *second |= run_kernel3(&kernels3[K_SCALED], slot, g + i * sg * item, sg, factor, 0, part, 1, out + i * item, m);
    }
}

}  // namespace arraygrad
