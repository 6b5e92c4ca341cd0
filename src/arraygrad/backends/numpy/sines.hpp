// Sine and cosine of the same numbers in one pass, and loops for those of float32.
// May include: capture.hpp, inner_loops.hpp.
//
// Note [Sines and cosines]
// ~~~~~~~~~~~~~~~~~~~~~~~~
// The derivative of the one is the other. To compute both costs hardly more than one: the reduction of the argument by
// multiples of pi/2 is shared. So where a sine is recorded its cosine is computed with it and left to the rule, and the
// other way round.
// (1) Values are NumPy's, bit for bit. That is proved on `SAMPLES` numbers when the loops are first asked for. Where one
//     differs none of this is used.
// (2) For float64 NumPy takes the C library's functions, in most builds; `sincos` of the C library gives both.
// (3) For float32 NumPy has a loop of its own where the processor multiplies and adds at once (FMA): Cody and Waite's
//     reduction and two polynomials of degree 8 and 9 (numpy/_core/src/umath/loops_trigonometric.dispatch.cpp, which the
//     constants here are from). Both polynomials are computed for every number, and one is thrown away. Ours has the same
//     operations in the same order, keeps both, and takes no masks for rests and steps: a third of NumPy's time for one
//     function, a fifth for two. It replaces NumPy's loop in the loop set, so rules that recompute a cosine have it too.
// (4) Numbers above NEAR_LIMIT, infinities and nan go to NumPy's loop, eight at a time, with their warnings.
// (5) What is left costs memory and an array, so large arrays, and those of a few elements, keep to one function in
//     forward and the other in backward.
// Guarded by tests/backends/test_fast_sines.py.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "capture.hpp"
#include "inner_loops.hpp"
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ARRAYGRAD_FMA __attribute__((target("avx2,fma")))
#endif

namespace arraygrad {

// A loop of NumPy that one of ours stands for.
struct NumpyLoop {
    loop_fn fn;
    void* data;
};

#ifdef ARRAYGRAD_FMA

enum { EIGHT = 8 };
static const float NEAR_LIMIT = 71476.0625f;      // up to which the reduction of NumPy's cosine is taken; its sine's reaches further

ARRAYGRAD_FMA static inline bool are_near(__m256 x) {
    const __m256 magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
    return _mm256_movemask_ps(_mm256_cmp_ps(magnitude, _mm256_set1_ps(NEAR_LIMIT), _CMP_LE_OQ)) == 0xff;
}

// Of numbers within NEAR_LIMIT.
ARRAYGRAD_FMA static inline void eight_sines(__m256 x, __m256* sine, __m256* cosine) {
    const __m256 zero = _mm256_setzero_ps(), round = _mm256_set1_ps(0x1.8p+23f);
    // x = turns * pi/2 + r; pi/2 in three parts
    __m256 turns = _mm256_sub_ps(_mm256_fmadd_ps(x, _mm256_set1_ps(0x1.45f306p-1f), round), round);
    __m256 r = _mm256_fmadd_ps(turns, _mm256_set1_ps(-0x1.921fb0p+0f), x);
    r = _mm256_fmadd_ps(turns, _mm256_set1_ps(-0x1.5110b4p-22f), r);
    r = _mm256_fmadd_ps(turns, _mm256_set1_ps(-0x1.846988p-48f), r);
    const __m256 r2 = _mm256_mul_ps(r, r);
    __m256 even = _mm256_fmadd_ps(_mm256_set1_ps(0x1.98e616p-16f), r2, _mm256_set1_ps(-0x1.6c06dcp-10f));
    even = _mm256_fmadd_ps(even, r2, _mm256_set1_ps(0x1.55553cp-5f));
    even = _mm256_fmadd_ps(even, r2, _mm256_set1_ps(-0.5f));
    even = _mm256_fmadd_ps(even, r2, _mm256_set1_ps(1.0f));
    __m256 odd = _mm256_fmadd_ps(_mm256_set1_ps(0x1.7d3bbcp-19f), r2, _mm256_set1_ps(-0x1.a06bbap-13f));
    odd = _mm256_fmadd_ps(odd, r2, _mm256_set1_ps(0x1.11119ap-7f));
    odd = _mm256_fmadd_ps(odd, r2, _mm256_set1_ps(-0x1.555556p-3f));
    odd = _mm256_fmadd_ps(odd, r2, zero);
    odd = _mm256_fmadd_ps(odd, r, r);
    // An odd number of quarter turns exchanges the two. The sine is negative after two and three, the cosine after one
    // and two. A blend reads the sign bit of its mask.
    const __m256i quarters = _mm256_cvtps_epi32(turns);
    const __m256 exchange = _mm256_castsi256_ps(_mm256_slli_epi32(quarters, 31));
    const __m256 s = _mm256_blendv_ps(odd, even, exchange), c = _mm256_blendv_ps(even, odd, exchange);
    const __m256i next = _mm256_add_epi32(quarters, _mm256_set1_epi32(1));
    *sine = _mm256_blendv_ps(s, _mm256_sub_ps(zero, s), _mm256_castsi256_ps(_mm256_slli_epi32(quarters, 30)));
    *cosine = _mm256_blendv_ps(c, _mm256_sub_ps(zero, c), _mm256_castsi256_ps(_mm256_slli_epi32(next, 30)));
}

static inline void by_numpy(const NumpyLoop* loop, const float* x, float* out) {
    char* args[2] = {(char*)x, (char*)out};
    const std::ptrdiff_t n = EIGHT, steps[2] = {sizeof(float), sizeof(float)};
    loop->fn(args, &n, steps, loop->data);
}

// Eight numbers; what is null isn't written.
ARRAYGRAD_FMA static inline void eight_of(const NumpyLoop* sine_loop, const NumpyLoop* cosine_loop, const float* x,
                                          float* sine, float* cosine) {
    const __m256 v = _mm256_loadu_ps(x);
    if (are_near(v)) {
        __m256 s, c;
        eight_sines(v, &s, &c);
        if (sine) _mm256_storeu_ps(sine, s);
        if (cosine) _mm256_storeu_ps(cosine, c);
    } else {
        if (sine) by_numpy(sine_loop, x, sine);
        if (cosine) by_numpy(cosine_loop, x, cosine);
    }
}

// Dense arrays; `x` may be the one of the others that is alone.
template <bool SINE, bool COSINE>
ARRAYGRAD_FMA inline void float_sines(const NumpyLoop* sine_loop, const NumpyLoop* cosine_loop, const float* x,
                                      float* sine, float* cosine, std::ptrdiff_t n) {
    std::ptrdiff_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT)
        eight_of(sine_loop, cosine_loop, x + i, SINE ? sine + i : nullptr, COSINE ? cosine + i : nullptr);
    if (i == n) return;
    float rest[3][EIGHT] = {};
    const std::size_t bytes = (std::size_t)(n - i) * sizeof(float);
    std::memcpy(rest[0], x + i, bytes);
    eight_of(sine_loop, cosine_loop, rest[0], SINE ? rest[1] : nullptr, COSINE ? rest[2] : nullptr);
    if (SINE) std::memcpy(sine + i, rest[1], bytes);
    if (COSINE) std::memcpy(cosine + i, rest[2], bytes);
}

// As a ufunc's inner loop; `data` is NumPy's. Not static: one address for all that include this.
template <bool SINE>
inline void float_sine_loop(char** args, const std::ptrdiff_t* dims, const std::ptrdiff_t* steps, void* data) {
    const NumpyLoop* numpys = (const NumpyLoop*)data;
    if (steps[0] != sizeof(float) || steps[1] != sizeof(float)) return numpys->fn(args, dims, steps, numpys->data);
    float* out = (float*)args[1];
    float_sines<SINE, !SINE>(numpys, numpys, (const float*)args[0], out, out, *dims);
}

static inline bool are_ours(const LoopSet* sine, const LoopSet* cosine) {
    return sine->fn[SLOT_F32] == float_sine_loop<true> && cosine->fn[SLOT_F32] == float_sine_loop<false>;
}

#else

static inline bool are_ours(const LoopSet*, const LoopSet*) { return false; }

#endif

enum { SAMPLES = 4096 };

// Numbers to prove it on: a quarter of the magnitudes 2^-60 to 2^60; a quarter nearest to odd multiples of pi/4, where the
// last bit of a quotient by pi/2 decides which polynomial is taken (a compiler may have joined NumPy's product and sum of
// that step, and has in its wheels); the rest where programs have them.
template <class T>
static inline std::vector<T> sine_samples() {
    std::vector<T> x(SAMPLES);
    std::uint64_t state = 88172645463325252u;       // Marsaglia's xorshift64
    for (int i = 0; i < SAMPLES; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const T unit = (T)((double)(std::int64_t)state / 9223372036854775808.0);       // [-1, 1]
        if (i % 4 == 1) x[(std::size_t)i] = (T)((2 * (std::int64_t)(state % 45000) + 1) * 0.78539816339744830962);
        else x[(std::size_t)i] = i % 2 ? unit * (T)8 : std::ldexp(unit, (int)(state % 121) - 60);
    }
    x[0] = (T)0;
    x[2] = -(T)0;
    x[4] = std::numeric_limits<T>::denorm_min();
    x[6] = std::numeric_limits<T>::max();
    return x;
}

template <class T>
static inline bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return !std::memcmp(a.data(), b.data(), a.size() * sizeof(T));
}

// Put our float32 loop into the loop set of `sin` or `cos`, if it gives the bits of NumPy's, which is kept in `numpys`.
static inline void take_float_sines(LoopSet* s, NumpyLoop* numpys) {
#ifdef ARRAYGRAD_FMA
    const bool sine = !std::strcmp(s->name, "sin");
    if ((!sine && std::strcmp(s->name, "cos")) || !s->fn[SLOT_F32] || !__builtin_cpu_supports("avx2") ||
        !__builtin_cpu_supports("fma"))
        return;
    *numpys = {s->fn[SLOT_F32], s->data[SLOT_F32]};
    LoopSet ours = *s;
    ours.fn[SLOT_F32] = sine ? float_sine_loop<true> : float_sine_loop<false>;
    ours.data[SLOT_F32] = numpys;
    std::vector<float> x = sine_samples<float>(), by_ours(SAMPLES), by_theirs(SAMPLES);
    run_unary(&ours, SLOT_F32, (char*)x.data(), (char*)by_ours.data(), sizeof(float), SAMPLES);
    run_unary(s, SLOT_F32, (char*)x.data(), (char*)by_theirs.data(), sizeof(float), SAMPLES);
    if (same_bits(by_ours, by_theirs)) *s = ours;
#else
    (void)s, (void)numpys;
#endif
}

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

// Both functions of dense arrays. Returns the error bits. float32: only where `are_ours`.
static inline int run_sines_now(const LoopSet* sine_loops, const LoopSet* cosine_loops, int slot, const char* x,
                                char* sine, char* cosine, std::ptrdiff_t n) {
    fp_begin();
    if (slot == SLOT_F64) {
        const double* from = (const double*)x;
        double* s = (double*)sine;
        double* c = (double*)cosine;
        for (std::ptrdiff_t i = 0; i < n; i++) sine_and_cosine(from[i], s + i, c + i);
    }
#ifdef ARRAYGRAD_FMA
    else {
        float_sines<true, true>((const NumpyLoop*)sine_loops->data[SLOT_F32],
                                (const NumpyLoop*)cosine_loops->data[SLOT_F32], (const float*)x, (float*)sine,
                                (float*)cosine, n);
    }
#endif
    (void)sine_loops, (void)cosine_loops;
    return fp_end();
}

static inline int run_sines(const LoopSet* sine_loops, const LoopSet* cosine_loops, int slot, const char* x, char* sine,
                            char* cosine, std::ptrdiff_t n) {
    if (Capture* c = capture()) {
        const std::ptrdiff_t item = item_size(slot);
        return captured(c, "sine and cosine",
                        {run_of(x, n, item, item, READ), run_of(sine, n, item, item, WRITTEN),
                         run_of(cosine, n, item, item, WRITTEN)},
                        [=](char* const* p) {
                            return run_sines_now(sine_loops, cosine_loops, slot, p[0], p[1], p[2], n);
                        });
    }
    return run_sines_now(sine_loops, cosine_loops, slot, x, sine, cosine, n);
}

// Whether the float64 loops of NumPy give the bits of sincos.
static inline bool same_sines(const LoopSet* sine, const LoopSet* cosine) {
    if (!SINES || !sine->fn[SLOT_F64] || !cosine->fn[SLOT_F64]) return false;
    std::vector<double> x = sine_samples<double>(), s(SAMPLES), c(SAMPLES), their_s(SAMPLES), their_c(SAMPLES);
    run_unary(sine, SLOT_F64, (char*)x.data(), (char*)their_s.data(), sizeof(double), SAMPLES);
    run_unary(cosine, SLOT_F64, (char*)x.data(), (char*)their_c.data(), sizeof(double), SAMPLES);
    run_sines(sine, cosine, SLOT_F64, (char*)x.data(), (char*)s.data(), (char*)c.data(), SAMPLES);
    return same_bits(s, their_s) && same_bits(c, their_c);
}

}  // namespace arraygrad
