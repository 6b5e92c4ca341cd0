// How the kernels of elementwise rules run: what is written out of the table (table_kernels.cpp) includes this.
// May include: inner_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
//
// Each kernel computes what the table's rule spells, in the same order of operations, so results are those of the rule
// bit for bit as long as the compiler may not contract a * b + c. See Note [Kernels of the table] in
// backends/numpy/kernels.py.
#pragma once
#include <cmath>

#include "inner_loops.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#define ARRAYGRAD_INDEPENDENT _Pragma("GCC ivdep")      // `out` is one of the inputs or none of them, element by element
// A comparison may raise "invalid", which keeps GCC from choosing by mask; here nobody looks. Values are the same.
#define ARRAYGRAD_QUIET __attribute__((optimize("no-trapping-math")))
#else
#define ARRAYGRAD_INDEPENDENT
#define ARRAYGRAD_QUIET
#endif

namespace arraygrad {

typedef std::ptrdiff_t isize;

template <typename T> static inline T sign_of(T x) {
    // No ordered comparison: those raise "invalid" for nan. Written so that it vectorises.
    T s = x == T(0) ? T(0) : std::copysign(T(1), x);
    return x == x ? s : x;
}

template <typename T> struct Bits { typedef std::int64_t word; };
template <> struct Bits<float> { typedef std::int32_t word; };

template <typename T> static inline typename Bits<T>::word bits_of(T x) {
    typename Bits<T>::word bits;
    std::memcpy(&bits, &x, sizeof x);
    return bits;
}

// c ? a : b without a branch: both were computed.
template <typename T> static inline T choose(bool c, T a, T b) {
    const typename Bits<T>::word mask = -(typename Bits<T>::word)c, bits = (bits_of(a) & mask) | (bits_of(b) & ~mask);
    T x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// An integer that is ordered as the numbers are, but for -0.0 before 0.0; nan is anywhere.
template <typename T> static inline typename Bits<T>::word order_of(T x) {
    const typename Bits<T>::word bits = bits_of(x);
    return bits ^ ((bits < 0 ? -1 : 0) & std::numeric_limits<typename Bits<T>::word>::max());
}

// a < b and a <= b, which raise nothing for nan.
template <typename T> static inline bool less(T a, T b) {
    return (order_of(a) < order_of(b)) & (a != b) & (a == a) & (b == b);
}
template <typename T> static inline bool less_equal(T a, T b) {
    return ((order_of(a) < order_of(b)) | (a == b)) & (a == a) & (b == b);
}

// Complex numbers with the products that NumPy computes.
template <typename R> struct Complex {
    R re, im;
    Complex(R real, R imaginary = R(0)) : re(real), im(imaginary) {}
};
template <typename R> static inline Complex<R> operator+(Complex<R> a, Complex<R> b) {
    return {a.re + b.re, a.im + b.im};
}
template <typename R> static inline Complex<R> operator-(Complex<R> a, Complex<R> b) {
    return {a.re - b.re, a.im - b.im};
}
template <typename R> static inline Complex<R> operator-(Complex<R> a) { return {-a.re, -a.im}; }
template <typename R> static inline Complex<R> operator*(Complex<R> a, Complex<R> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <typename R> static inline Complex<R> conj(Complex<R> a) { return {a.re, -a.im}; }

// One step of plain arithmetic, for both types. The statements read in0[i], in1[i], ... and set out[i]; all are dense,
// but for the gradient, of which there may be `one` for all elements. ARRAYGRAD_STEP_OF_GRADIENT: in0 is the gradient,
// and its element is called g.
#define ARRAYGRAD_READS_0
#define ARRAYGRAD_READS_1 const T* in0 = (const T*)in[0];
#define ARRAYGRAD_READS_2 ARRAYGRAD_READS_1 const T* in1 = (const T*)in[1];
#define ARRAYGRAD_READS_3 ARRAYGRAD_READS_2 const T* in2 = (const T*)in[2];
#define ARRAYGRAD_READS_4 ARRAYGRAD_READS_3 const T* in3 = (const T*)in[3];
#define ARRAYGRAD_READS_5 ARRAYGRAD_READS_4 const T* in4 = (const T*)in[4];
#define ARRAYGRAD_READS_6 ARRAYGRAD_READS_5 const T* in5 = (const T*)in[5];
#define ARRAYGRAD_READS_7 ARRAYGRAD_READS_6 const T* in6 = (const T*)in[6];
#define ARRAYGRAD_READS_8 ARRAYGRAD_READS_7 const T* in7 = (const T*)in[7];
#define ARRAYGRAD_LOOP(...) ARRAYGRAD_INDEPENDENT for (isize i = 0; i < n; i++) { __VA_ARGS__ }
#define ARRAYGRAD_FUNCTION(NAME, TYPE, ATTRIBUTE, COUNT, LOOPS)                                         \
    ARRAYGRAD_CLONES ATTRIBUTE static void NAME(const char* const* in, int one, char* to, isize n)  {   \
        typedef TYPE T;                                                                                 \
        ARRAYGRAD_READS_##COUNT                                                                         \
        T* out = (T*)to;                                                                                \
        (void)in, (void)one;                                                                            \
        LOOPS                                                                                           \
    }
#define ARRAYGRAD_STEP(NAME, ATTRIBUTE, COUNT, ...)                                             \
    ARRAYGRAD_FUNCTION(NAME##_f32, float, ATTRIBUTE, COUNT, ARRAYGRAD_LOOP(__VA_ARGS__))        \
    ARRAYGRAD_FUNCTION(NAME##_f64, double, ATTRIBUTE, COUNT, ARRAYGRAD_LOOP(__VA_ARGS__))
#define ARRAYGRAD_EITHER(...)                                                                                       \
    if (one) { const T g = in0[0]; ARRAYGRAD_LOOP(__VA_ARGS__) } else { ARRAYGRAD_LOOP(const T g = in0[i]; __VA_ARGS__) }
// The same for three operands, each of which may be one for all elements (`one`: a bit for each), with the names of the
// second and the third.
#define ARRAYGRAD_ANY(B, C, ...)                                                                            \
    const T g0 = n ? in0[0] : T(0), b0 = n ? in1[0] : T(0), c0 = n ? in2[0] : T(0);                         \
    switch (one) {                                                                                          \
        case 0: ARRAYGRAD_LOOP(const T g = in0[i]; const T B = in1[i]; const T C = in2[i]; __VA_ARGS__) break;  \
        case 1: ARRAYGRAD_LOOP(const T g = g0; const T B = in1[i]; const T C = in2[i]; __VA_ARGS__) break;      \
        case 2: ARRAYGRAD_LOOP(const T g = in0[i]; const T B = b0; const T C = in2[i]; __VA_ARGS__) break;      \
        case 3: ARRAYGRAD_LOOP(const T g = g0; const T B = b0; const T C = in2[i]; __VA_ARGS__) break;          \
        case 4: ARRAYGRAD_LOOP(const T g = in0[i]; const T B = in1[i]; const T C = c0; __VA_ARGS__) break;      \
        case 5: ARRAYGRAD_LOOP(const T g = g0; const T B = in1[i]; const T C = c0; __VA_ARGS__) break;          \
        default: ARRAYGRAD_LOOP(const T g = in0[i * !(one & 1)]; const T B = b0; const T C = c0; __VA_ARGS__)   \
    }
#define ARRAYGRAD_STEP_OF_THREE(NAME, ATTRIBUTE, B, C, ...)                                     \
    ARRAYGRAD_FUNCTION(NAME##_f32, float, ATTRIBUTE, 3, ARRAYGRAD_ANY(B, C, __VA_ARGS__))       \
    ARRAYGRAD_FUNCTION(NAME##_f64, double, ATTRIBUTE, 3, ARRAYGRAD_ANY(B, C, __VA_ARGS__))
#define ARRAYGRAD_STEP_OF_GRADIENT(NAME, ATTRIBUTE, COUNT, ...)                                 \
    ARRAYGRAD_FUNCTION(NAME##_f32, float, ATTRIBUTE, COUNT, ARRAYGRAD_EITHER(__VA_ARGS__))      \
    ARRAYGRAD_FUNCTION(NAME##_f64, double, ATTRIBUTE, COUNT, ARRAYGRAD_EITHER(__VA_ARGS__))

// A function of `n` elements for both types, compiled for several processors; T is the type.
#define ARRAYGRAD_ROW_FUNCTION(NAME, ATTRIBUTE, RESULT, ARGUMENTS, ...)                                         \
    namespace f32 { typedef float T; ARRAYGRAD_CLONES ATTRIBUTE static RESULT NAME ARGUMENTS { __VA_ARGS__ } }  \
    namespace f64 { typedef double T; ARRAYGRAD_CLONES ATTRIBUTE static RESULT NAME ARGUMENTS { __VA_ARGS__ } } \
    using f32::NAME;                                                                                            \
    using f64::NAME;

#define ARRAYGRAD_COMPLEX_STEP(NAME, COUNT, ...)                                                    \
    ARRAYGRAD_FUNCTION(NAME##_c64, Complex<float>, , COUNT, ARRAYGRAD_LOOP(__VA_ARGS__))            \
    ARRAYGRAD_FUNCTION(NAME##_c128, Complex<double>, , COUNT, ARRAYGRAD_LOOP(__VA_ARGS__))

// `one`: which operands stand for all elements, a bit for each.
typedef void (*step_fn)(const char* const* in, int one, char* out, isize n);

enum { MOST_OPERANDS = 4, MOST_READ = 8, MOST_STEPS = 7, MOST_LOOPS = 64, MOST_PLACES = MOST_OPERANDS + MOST_STEPS };

struct Step {
    const char* name;           // the ufunc in whose name floating-point errors are reported
    step_fn single, twice;      // for float32 and float64, or complex64 and complex128; NULL: NumPy's own loop
    int loop;                   // which of the table's loops, -1: none
    int n_read;
    signed char read[MOST_READ];        // places: the operands of the rule, then what steps before this one gave
    bool quiet;                 // "invalid" is not reported
    int any;                    // the operands that may stand for all elements, a bit for each
};

struct RuleKernel {
    const char* operation;
    const char* name;           // of the parameter whose gradient it is
    const char* reads[MOST_OPERANDS];   // the parameters of the rule that it reads, the gradient first
    int n_operands;
    const Step* steps;
    int n_steps;                // 0: the gradient as it is
    bool pairs;                 // calls a loop of two operands
    bool dear;                  // saves so many passes that a copy of what is not dense pays
    bool is_complex;            // for complex dtypes alone
};

// In table_kernels.cpp: the kernels, the names of NumPy's loops that they call, and a digest of their text.
extern const RuleKernel table_kernels[];
extern const char* const table_loops[];
extern const int n_table_kernels, n_table_loops;
extern const char* const table_digest;

// `step`: 1, or 0 for one value everywhere. `bytes`: the step of a single element, as NumPy has it.
struct Operand {
    const char* data;
    isize step, bytes;
};

// Rules run block by block where they have several steps, so that what is between them never leaves the first cache.
// Where one step needs a single value for each element, that is repeated in a longer block. Lengths are in float64.
enum { BLOCK = 512, LONG_BLOCK = 1024 };

static inline step_fn function_of(const Step* s, int slot) { return slot & 1 ? s->twice : s->single; }

// The errors of a step that are reported: what comparisons with nan raise is none.
static inline int reported(const Step* s, int errors) { return s->quiet ? errors & ~FPE_INVALID : errors; }

static inline int run_arithmetic(const Step* s, int slot, const char* const* in, int one, char* out, isize n) {
    fp_begin();
    function_of(s, slot)(in, one, out, n);
    return reported(s, fp_end());
}

static inline int run_loop(const Step* s, const LoopSet* const* loops, int slot, const char* const* in, const isize* bytes,
                           char* out, isize n) {
    const isize item = item_size(slot);
    if (s->n_read == 1) return run_unary(loops[s->loop], slot, (char*)in[0], bytes[0], out, item, n);
    return run_binary(loops[s->loop], slot, (char*)in[0], bytes[0], (char*)in[1], bytes[1], out, item, n);
}

template <typename T> static inline void repeat(const char* value, char* block, isize n) {
    const T x = *(const T*)value;
    for (isize i = 0; i < n; i++) ((T*)block)[i] = x;
}

static inline void repeat(int slot, const char* value, char* block, isize n) {
    if (slot == SLOT_C128) repeat<Complex<double>>(value, block, n);
    else if (slot == SLOT_F32) repeat<float>(value, block, n);
    else repeat<double>(value, block, n);       // or complex64, of as many bytes
}

// The error bits of each step, four to a step. Blocks are not a whole page apart, which caches would mistake.
static inline int run_blocks(const RuleKernel* k, const LoopSet* const* loops, int slot, const Operand* given, char* out, isize n) {
    alignas(64) char blocks[MOST_PLACES][BLOCK * sizeof(double) + 128];
    const char* at[MOST_PLACES];
    isize step[MOST_PLACES], bytes[MOST_PLACES];
    bool repeated[MOST_PLACES] = {false}, done[MOST_STEPS] = {false};
    const isize item = item_size(slot), block = BLOCK * sizeof(double) / item, room = n < block ? n : block;
    const int last = k->n_steps - 1;
    const char* in[MOST_READ];
    isize in_bytes[MOST_READ];
    int errors = 0;
    for (int p = 0; p < k->n_operands; p++) {
        at[p] = given[p].data;
        step[p] = given[p].step;
        bytes[p] = n == 1 ? given[p].bytes : step[p] * item;
    }
    // What depends on single values alone is computed once; where arithmetic needs it for each element it is repeated.
    for (int s = 0; s <= last; s++) {
        const Step* now = &k->steps[s];
        const int place = k->n_operands + s;
        isize each = s == last;
        for (int r = 0; r < now->n_read; r++) each |= step[now->read[r]];
        at[place] = blocks[place];
        step[place] = each;
        bytes[place] = each * item;
        if (!each) {
            for (int r = 0; r < now->n_read; r++) {
                in[r] = at[now->read[r]];
                in_bytes[r] = 0;
            }
            errors |= (now->loop < 0 ? run_arithmetic(now, slot, in, 0, blocks[place], 1)
                                     : run_loop(now, loops, slot, in, in_bytes, blocks[place], 1)) << 4 * s;
            done[s] = true;
        } else if (now->loop < 0 && n > 1) {
            for (int r = 0; r < now->n_read; r++) {
                const int p = now->read[r];
                if (step[p] || repeated[p] || now->any >> r & 1) continue;
                repeat(slot, at[p], blocks[p], room);
                at[p] = blocks[p];
                repeated[p] = true;
            }
        }
    }
    for (isize i = 0; i < n; i += block) {
        const isize m = n - i < block ? n - i : block;
        for (int s = 0; s <= last; s++) {
            if (done[s]) continue;
            const Step* now = &k->steps[s];
            int one = 0;
            for (int r = 0; r < now->n_read; r++) {
                const int p = now->read[r];
                in[r] = p < k->n_operands ? at[p] + i * step[p] * item : at[p];
                in_bytes[r] = bytes[p];
                one |= !step[p] << r;
            }
            char* to = s == last ? out + i * item : blocks[k->n_operands + s];
            errors |= (now->loop < 0 ? run_arithmetic(now, slot, in, one & now->any, to, m)
                                     : run_loop(now, loops, slot, in, in_bytes, to, m)) << 4 * s;
        }
    }
    return errors;
}

// The same where all operands are dense, but perhaps the gradient: no value is computed once or repeated.
static inline int run_dense_blocks(const RuleKernel* k, const LoopSet* const* loops, int slot, const Operand* given, char* out,
                            isize n) {
    alignas(64) char blocks[MOST_STEPS][BLOCK * sizeof(double) + 128];
    const char* at[MOST_PLACES];
    const char* in[MOST_READ];
    const isize item = item_size(slot), block = BLOCK * sizeof(double) / item;
    const int last = k->n_steps - 1, operands = k->n_operands, one = !given[0].step;
    int errors = 0;
    for (isize i = 0; i < n; i += block) {
        const isize m = n - i < block ? n - i : block;
        at[0] = given[0].data + (one ? 0 : i * item);
        for (int p = 1; p < operands; p++) at[p] = given[p].data + i * item;
        for (int s = 0; s <= last; s++) {
            const Step* now = &k->steps[s];
            char* to = s == last ? out + i * item : blocks[s];
            isize bytes[2] = {item, item};
            for (int r = 0; r < now->n_read; r++) in[r] = at[now->read[r]];
            at[operands + s] = to;
            if (now->loop < 0) {
                errors |= run_arithmetic(now, slot, in, one & now->any, to, m) << 4 * s;
                continue;
            }
            for (int r = 0; n == 1 && r < now->n_read; r++)
                if (now->read[r] < operands) bytes[r] = given[now->read[r]].bytes;
            errors |= run_loop(now, loops, slot, in, bytes, to, m) << 4 * s;
        }
    }
    return errors;
}

// A kernel of one step, in which single values stand for all elements though it has no loop for that.
static inline int run_repeated(const Step* s, int slot, const Operand* given, int one, char* out, isize n) {
    alignas(64) char blocks[MOST_OPERANDS][LONG_BLOCK * sizeof(double) + 128];
    const char* in[MOST_OPERANDS];
    isize move[MOST_OPERANDS];
    const isize item = item_size(slot), block = LONG_BLOCK * sizeof(double) / item, room = n < block ? n : block;
    const step_fn function = function_of(s, slot);
    for (int r = 0; r < s->n_read; r++) {
        const Operand* x = &given[s->read[r]];
        in[r] = x->data;
        move[r] = x->step * room * item;
        if (x->step || (one & s->any) >> r & 1) continue;
        repeat(slot, x->data, blocks[r], room);
        in[r] = blocks[r];
    }
    fp_begin();
    for (isize i = 0; i < n; i += room) {
        function(in, one & s->any, out + i * item, n - i < room ? n - i : room);
        for (int r = 0; r < s->n_read; r++) in[r] += move[r];
    }
    return reported(s, fp_end());
}

static inline int run_rule(const RuleKernel* k, const LoopSet* const* loops, int slot, const Operand* given, char* out,
                           isize n) {
    const Step* only = k->steps;
    if (n == 0) return 0;
    if (k->n_steps > 1 || only->loop >= 0) {
        for (int p = 1; p < k->n_operands; p++)
            if (!given[p].step) return run_blocks(k, loops, slot, given, out, n);
        return run_dense_blocks(k, loops, slot, given, out, n);
    }
    const char* in[MOST_OPERANDS];
    int one = 0;
    for (int r = 0; r < only->n_read; r++) {
        const Operand* x = &given[only->read[r]];
        in[r] = x->data;
        one |= !x->step << r;
    }
    if (n == 1) one = 0;
    if (one & ~only->any) return run_repeated(only, slot, given, one, out, n);
    return run_arithmetic(only, slot, in, one, out, n);
}

}  // namespace arraygrad
