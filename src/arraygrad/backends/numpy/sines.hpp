// Sine and cosine of the same numbers in one pass.
// May include: inner_loops.hpp.
//
// Note [Sines and cosines]
// ~~~~~~~~~~~~~~~~~~~~~~~~
// The derivative of the one is the other, and a C library that has `sincos` gives both at the cost of one and a half.
// So where a sine of float64 is recorded its cosine is computed with it and left to the rule, and the other way round.
// (1) Values are NumPy's. NumPy takes float64 sines from the C library too, in most builds; that sincos gives the same
//     bits is proved on `SAMPLES` numbers when it is first asked for. Where one differs none of this is used.
// (2) What is left costs memory and an array, so large arrays, and those of a few elements, keep to NumPy's loop in
//     forward and again in backward.
// Guarded by tests/ops/test_fast_sines.py.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "inner_loops.hpp"

namespace arraygrad {

#if defined(__GLIBC__)
enum { SINES = 1 };
static inline void sine_and_cosine(double x, double* sine, double* cosine) { ::sincos(x, sine, cosine); }
#else
enum { SINES = 0 };
static inline void sine_and_cosine(double x, double* sine, double* cosine) {
    *sine = std::sin(x);
    *cosine = std::cos(x);
}
#endif

// The error bits of both.
static inline int run_sines(const char* x, char* sine, char* cosine, std::ptrdiff_t n) {
    const double* from = (const double*)x;
    double* s = (double*)sine;
    double* c = (double*)cosine;
    fp_begin();
    for (std::ptrdiff_t i = 0; i < n; i++) sine_and_cosine(from[i], s + i, c + i);
    return fp_end();
}

// Whether the loops of NumPy give the bits of sincos.
static inline bool same_sines(const LoopSet* sine, const LoopSet* cosine) {
    enum { SAMPLES = 4096 };
    if (!SINES || !sine->fn[SLOT_F64] || !cosine->fn[SLOT_F64]) return false;
    double* x = new double[5 * SAMPLES];
    double *s = x + SAMPLES, *c = s + SAMPLES, *their_s = c + SAMPLES, *their_c = their_s + SAMPLES;
    std::uint64_t state = 88172645463325252u;       // Marsaglia's xorshift64
    for (int i = 0; i < SAMPLES; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const double unit = (double)(std::int64_t)state / 9223372036854775808.0;       // [-1, 1)
        // Half of them where programs have them, half from 2^-60 to 2^60.
        x[i] = i % 2 ? unit * 8.0 : std::ldexp(unit, (int)(state % 121) - 60);
    }
    x[0] = 0.0;
    x[2] = -0.0;
    x[4] = std::numeric_limits<double>::denorm_min();
    x[6] = std::numeric_limits<double>::max();
    run_unary(sine, SLOT_F64, (char*)x, (char*)their_s, sizeof(double), SAMPLES);
    run_unary(cosine, SLOT_F64, (char*)x, (char*)their_c, sizeof(double), SAMPLES);
    run_sines((const char*)x, (char*)s, (char*)c, SAMPLES);
    const bool same = !std::memcmp(s, their_s, SAMPLES * sizeof(double)) &&
                      !std::memcmp(c, their_c, SAMPLES * sizeof(double));
    delete[] x;
    return same;
}

}  // namespace arraygrad
