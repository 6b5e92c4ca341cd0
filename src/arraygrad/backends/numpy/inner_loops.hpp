// Inner loops over plain memory, and the floating-point error state around them.
// May include: the C++ library. Knows neither Python objects nor NumPy.
#pragma once
#include <algorithm>
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#if defined(__SSE__) || defined(_M_X64)
#include <xmmintrin.h>
#define ARRAYGRAD_SSE 1
#endif

#if defined(__GNUC__)
#define ARRAYGRAD_BARRIER() __asm__ volatile("" ::: "memory")
#else
#define ARRAYGRAD_BARRIER() ((void)0)
#endif

// Compiled for AVX2 as well where the loader can choose (GNU toolchains and C library on x86-64; musl's loader can't);
// sanitizers can't run the resolver this needs. AVX2 alone brings no fused multiply-add, so both versions round alike.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define ARRAYGRAD_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define ARRAYGRAD_CLONES
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define ARRAYGRAD_APART _Pragma("GCC ivdep")        // what is written and what is read don't overlap
#else
#define ARRAYGRAD_APART
#endif

#if defined(__GNUC__)
#define ARRAYGRAD_INLINED __attribute__((always_inline))
#else
#define ARRAYGRAD_INLINED
#endif

namespace arraygrad {

// The error bits that NumPy reports, in NumPy's numbering (NPY_FPE_*).
enum { FPE_DIVIDE = 1, FPE_OVER = 2, FPE_UNDER = 4, FPE_INVALID = 8 };

#ifdef ARRAYGRAD_SSE

// float32 and float64 arithmetic is SSE here, so its status register is the whole state: reading it takes 2 ns where
// fetestexcept also asks the x87 unit. Bits: invalid 1, denormal operand 2, divide 4, overflow 8, underflow 16.
// But: loops that report by the C library's feraiseexcept (exp of float32) raise overflow and underflow in the x87
// unit, with glibc, at the same bits. Reading that unit takes 35 ns, so only such loops have it read (`all`).
static const unsigned SSE_REPORTED = 1u | 4u | 8u | 16u;

#if defined(__GNUC__)
static inline unsigned x87_status() {
    unsigned short status;
    __asm__ volatile("fnstsw %0" : "=a"(status));
    return status & SSE_REPORTED;
}
static inline void x87_clear() { __asm__ volatile("fnclex"); }
#else
static inline unsigned x87_status() { return 0; }
static inline void x87_clear() {}
#endif

ARRAYGRAD_INLINED static inline void fp_begin(bool all = false) {
    unsigned csr = _mm_getcsr();
    if (csr & SSE_REPORTED) _mm_setcsr(csr & ~0x3fu);
    if (all && x87_status()) x87_clear();
    ARRAYGRAD_BARRIER();
}

ARRAYGRAD_INLINED static inline int fp_end(bool all = false) {
    ARRAYGRAD_BARRIER();
    unsigned csr = _mm_getcsr(), other = all ? x87_status() : 0u;
    if (other) x87_clear();
    if (!((csr | other) & SSE_REPORTED)) return 0;
    _mm_setcsr(csr & ~0x3fu);
    csr |= other;
    return ((csr & 4u) ? FPE_DIVIDE : 0) | ((csr & 8u) ? FPE_OVER : 0) | ((csr & 16u) ? FPE_UNDER : 0) |
           ((csr & 1u) ? FPE_INVALID : 0);
}

#else

static const int FENV_REPORTED = FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID;

static inline void fp_begin(bool = false) {
    std::feclearexcept(FENV_REPORTED);
    ARRAYGRAD_BARRIER();
}

static inline int fp_end(bool = false) {
    ARRAYGRAD_BARRIER();
    int set = std::fetestexcept(FENV_REPORTED);
    if (!set) return 0;
    std::feclearexcept(FENV_REPORTED);
    return ((set & FE_DIVBYZERO) ? FPE_DIVIDE : 0) | ((set & FE_OVERFLOW) ? FPE_OVER : 0) |
           ((set & FE_UNDERFLOW) ? FPE_UNDER : 0) | ((set & FE_INVALID) ? FPE_INVALID : 0);
}

#endif

// A ufunc's inner loop, as PyUFuncObject.functions holds it.
typedef void (*loop_fn)(char**, const std::ptrdiff_t*, const std::ptrdiff_t*, void*);

// How long a loop computes beside what its operands take to come (cost_of in shared_loops.hpp).
enum { COST_MEMORY, COST_SOME, COST_DEAR };

// Loops for float32, float64, complex64, complex128, in this order.
enum { SLOT_F32 = 0, SLOT_F64 = 1, SLOT_C64 = 2, SLOT_C128 = 3, N_SLOTS = 4 };

struct LoopSet {
    const char* name;       // the ufunc's, for warnings
    void* ufunc;            // borrowed from the module that lives for ever
    loop_fn fn[N_SLOTS];    // NULL: no loop, or it failed its check
    void* data[N_SLOTS];
    int cost;               // one of COST_*
    int raises_elsewhere;   // bits of slots: overflow is raised by feraiseexcept, see fp_begin
    bool to_bool;           // results are booleans, of one byte
    int single;             // how two single numbers are computed (single.hpp)
};

// What rules see of an array of one of these dtypes: aligned, native byte order.
struct ArrayView {
    char* data;
    const std::ptrdiff_t* dims;
    const std::ptrdiff_t* strides;
    std::ptrdiff_t size;
    int ndim;
    int slot;
    bool c_order, f_order;  // dense, and in which order; both for at most one axis of more than one element
    bool writeable;
};

static inline bool same_shape(const ArrayView* a, const ArrayView* b) {
    if (a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

// Step in elements in which `a` goes along with a dense array: 1, 0 (one value everywhere), or -1: neither.
static inline int common_step(const ArrayView* a, const ArrayView* like) {
    if (!same_shape(a, like)) return a->size == 1 && a->ndim <= like->ndim ? 0 : -1;
    if ((a->c_order && like->c_order) || (a->f_order && like->f_order)) return 1;
    for (int i = 0; i < a->ndim; i++)
        if (a->dims[i] != 1 && a->strides[i] != 0) return -1;
    return 0;
}

static inline std::ptrdiff_t item_size(int slot) {
    static const std::ptrdiff_t sizes[N_SLOTS] = {4, 8, 8, 16};
    return sizes[slot];
}

// The elements of a vector or matrix, in row-major order.
template <int ITEM> static inline void gather_items(const ArrayView* v, char* out) {
    const std::ptrdiff_t columns = v->dims[v->ndim - 1], step = v->strides[v->ndim - 1];
    const std::ptrdiff_t rows = v->ndim == 2 ? v->dims[0] : 1;
    for (std::ptrdiff_t i = 0; i < rows; i++) {
        const char* from = v->data + i * v->strides[0];
        for (std::ptrdiff_t k = 0; k < columns; k++, from += step, out += ITEM) std::memcpy(out, from, ITEM);
    }
}

static inline void gather(const ArrayView* v, std::ptrdiff_t item, char* out) {
    if (item == 1) gather_items<1>(v, out);
    else if (item == 4) gather_items<4>(v, out);
    else if (item == 8) gather_items<8>(v, out);
    else gather_items<16>(v, out);
}

// Whether an infinite result came of something else. These comparisons raise nothing.
template <typename T>
static inline bool overflowed(const T* x, const T* out, std::ptrdiff_t n) {
    typedef typename std::conditional<sizeof(T) == 4, std::int32_t, std::int64_t>::type word;     // so that it vectorises
    const T inf = std::numeric_limits<T>::infinity();
    word infinite = 0;
    for (std::ptrdiff_t i = 0; i < n; i++) infinite |= out[i] == inf ? 1 : 0;
    if (!infinite) return false;
    bool over = false;
    for (std::ptrdiff_t i = 0; i < n; i++) over |= (out[i] == inf) & (x[i] != inf);
    return over;
}

// Elements, below which looking at results is faster than at the x87 unit.
enum { FEW_ELEMENTS = 256 };

// Both return the error bits that the loop raised.
ARRAYGRAD_INLINED static inline int run_unary(const LoopSet* s, int slot, char* x, std::ptrdiff_t sx, char* out,
                                              std::ptrdiff_t so, std::ptrdiff_t n) {
    char* args[2] = {x, out};
    std::ptrdiff_t steps[2] = {sx, so};
    const bool elsewhere = (s->raises_elsewhere >> slot) & 1, all = elsewhere && (n >= FEW_ELEMENTS || x == out);
    fp_begin(all);
    s->fn[slot](args, &n, steps, s->data[slot]);
    int errors = fp_end(all);
    if (elsewhere && !all && !(errors & FPE_OVER)) {
        bool over = slot == SLOT_F64 ? overflowed((const double*)x, (const double*)out, n)
                                     : overflowed((const float*)x, (const float*)out, n);
        if (over) errors |= FPE_OVER;
    }
    return errors;
}

static inline int run_unary(const LoopSet* s, int slot, char* x, char* out, std::ptrdiff_t step, std::ptrdiff_t n) {
    return run_unary(s, slot, x, step, out, step, n);
}

ARRAYGRAD_INLINED static inline int run_binary(const LoopSet* s, int slot, char* a, std::ptrdiff_t sa, char* b,
                                               std::ptrdiff_t sb, char* out, std::ptrdiff_t so, std::ptrdiff_t n) {
    char* args[3] = {a, b, out};
    std::ptrdiff_t steps[3] = {sa, sb, so};
    fp_begin();
    s->fn[slot](args, &n, steps, s->data[slot]);
    return fp_end();
}

// A full operand of `outer` rows and one that is the same for each row (inner > 0), or has one element for each
// (inner < 0; -inner is the length of a row). `first`: a is the full one.
static inline int run_rows(const LoopSet* s, int slot, char* a, char* b, bool first, char* out, std::ptrdiff_t outer,
                           std::ptrdiff_t inner) {
    const std::ptrdiff_t item = item_size(slot), n = inner < 0 ? -inner : inner, row = n * item;
    const std::ptrdiff_t part = inner < 0 ? item : 0, step = inner < 0 ? 0 : item, to = s->to_bool ? 1 : item;
    std::ptrdiff_t steps[3] = {first ? item : step, first ? step : item, to};
    fp_begin();
    for (std::ptrdiff_t i = 0; i < outer; i++) {
        char* args[3] = {a + i * (first ? row : part), b + i * (first ? part : row), out + i * n * to};
        s->fn[slot](args, &n, steps, s->data[slot]);
    }
    return fp_end();
}

// A dense array as rows, of which sums are taken within each, or (`leading`) over all of them, column by column.
struct Rows {
    std::ptrdiff_t outer, inner;        // rows, and the elements of each
    bool leading;
    std::ptrdiff_t behind;              // of a scan along an axis that is not the last: the elements of each step, else 1
};

// run_sum for rows of less than eight elements: a call of the loop costs more than it adds. In that order NumPy adds
// them too: within a row one by one to zero, then to the start; over rows one row after the other.
enum { SHORT_ROW = 8 };

// N elements a row, known to the compiler.
template <int N, typename T>
ARRAYGRAD_INLINED static inline void sum_within(const T* x, T* out, std::ptrdiff_t rows, T start) {
    for (std::ptrdiff_t i = 0; i < rows; i++, x += N) {
        T sum = x[0];
        for (int k = 1; k < N; k++) sum += x[k];
        out[i] = start + sum;
    }
}

#if defined(__GNUC__)
// A row of N elements in a vector of the next power of two, whose other lanes are kept at zero: what they read belongs
// to the next row, and might raise an error of its own.
template <int N, typename T> struct PaddedRow {
    enum { LANES = N <= 4 && (N > 2 || sizeof(T) == 4) ? 4 : N <= 2 ? 2 : 8 };
    typedef typename std::conditional<sizeof(T) == 4, int32_t, int64_t>::type Bits;
    typedef T Vector __attribute__((vector_size(LANES * sizeof(T))));
    typedef Bits Mask __attribute__((vector_size(LANES * sizeof(T))));
};
#endif

// GROUPS sums over `rows` rows at once, whose additions need not wait for each other.
template <int N, int GROUPS, typename T>
ARRAYGRAD_INLINED static inline void sum_over(const T* x, T* out, std::ptrdiff_t rows, T start) {
    T sums[GROUPS][N];
    std::ptrdiff_t i = 1;
#if defined(__GNUC__)
    typedef PaddedRow<N, T> Padded;
    if (N > 1 && rows > 2) {            // but for the last row, behind which nothing may be read
        typename Padded::Vector added[GROUPS], row;
        typename Padded::Mask mask;
        for (int k = 0; k < Padded::LANES; k++) mask[k] = k < N ? -1 : 0;
        for (int g = 0; g < GROUPS; g++) {
            std::memcpy(&row, x + g * rows * N, sizeof row);
            added[g] = (typename Padded::Vector)((typename Padded::Mask)row & mask) + start;
        }
        for (; i < rows - 1; i++)
            for (int g = 0; g < GROUPS; g++) {
                std::memcpy(&row, x + (g * rows + i) * N, sizeof row);
                added[g] += (typename Padded::Vector)((typename Padded::Mask)row & mask);
            }
        for (int g = 0; g < GROUPS; g++)
            for (int k = 0; k < N; k++) sums[g][k] = added[g][k];
    } else
#endif
        for (int g = 0; g < GROUPS; g++)
            for (int k = 0; k < N; k++) sums[g][k] = start + x[g * rows * N + k];
    for (; i < rows; i++)
        for (int g = 0; g < GROUPS; g++)
            for (int k = 0; k < N; k++) sums[g][k] += x[(g * rows + i) * N + k];
    for (int g = 0; g < GROUPS; g++)
        for (int k = 0; k < N; k++) out[g * N + k] = sums[g][k];
}

template <int N, typename T>
ARRAYGRAD_INLINED static inline void sum_groups(const T* x, T* out, std::ptrdiff_t groups, std::ptrdiff_t rows, T start) {
    enum { AT_ONCE = 4 };
    for (; groups >= AT_ONCE; groups -= AT_ONCE, x += AT_ONCE * rows * N, out += AT_ONCE * N)
        sum_over<N, AT_ONCE>(x, out, rows, start);
    for (; groups > 0; groups--, x += rows * N, out += N) sum_over<N, 1>(x, out, rows, start);
}

// Of a function that is compiled for several processors each module would have its own copies, which no linker makes one.
// These are large: they are compiled where ARRAYGRAD_DEFINES_SUMS is defined, in table_kernels.cpp, and declared elsewhere.
#define ARRAYGRAD_SHORT_ROWS(T)                                                                                   \
    ARRAYGRAD_CLONES void sum_short(const T* x, T* out, std::ptrdiff_t groups, const Rows& r, T start) { \
        switch (r.inner) {                                                                                        \
        case 1: r.leading ? sum_groups<1>(x, out, groups, r.outer, start) : sum_within<1>(x, out, r.outer, start); break; \
        case 2: r.leading ? sum_groups<2>(x, out, groups, r.outer, start) : sum_within<2>(x, out, r.outer, start); break; \
        case 3: r.leading ? sum_groups<3>(x, out, groups, r.outer, start) : sum_within<3>(x, out, r.outer, start); break; \
        case 4: r.leading ? sum_groups<4>(x, out, groups, r.outer, start) : sum_within<4>(x, out, r.outer, start); break; \
        case 5: r.leading ? sum_groups<5>(x, out, groups, r.outer, start) : sum_within<5>(x, out, r.outer, start); break; \
        case 6: r.leading ? sum_groups<6>(x, out, groups, r.outer, start) : sum_within<6>(x, out, r.outer, start); break; \
        default: r.leading ? sum_groups<7>(x, out, groups, r.outer, start) : sum_within<7>(x, out, r.outer, start);      \
        }                                                                                                         \
    }
#ifdef ARRAYGRAD_DEFINES_SUMS
ARRAYGRAD_SHORT_ROWS(float)
ARRAYGRAD_SHORT_ROWS(double)
#else
void sum_short(const float* x, float* out, std::ptrdiff_t groups, const Rows& r, float start);
void sum_short(const double* x, double* out, std::ptrdiff_t groups, const Rows& r, double start);
#endif
#undef ARRAYGRAD_SHORT_ROWS

// run_sum over longer rows, eight at a time: the sums are read and written once for eight rows, where a call of the loop
// for each row does so for each. The terms of a sum are added in the same order. Memory gives one stream of bytes faster
// than eight, so that arrays beyond the caches are read row by row, unless the sums themselves leave the first cache or
// a row is a few vectors only.
enum { ROWS_AT_ONCE = 8, BEYOND_CACHES = 1 << 22, SLIM_ROW = 256, WIDE_ROW = 4096 };

template <typename T> static inline bool takes_several(std::ptrdiff_t rows, std::ptrdiff_t inner) {
    const std::ptrdiff_t row = inner * (std::ptrdiff_t)sizeof(T);
    return row < SLIM_ROW || row > WIDE_ROW || rows * row <= BEYOND_CACHES;
}

// Adds term(place, column) to the sums of n columns, `rows` times; rows begin `step` places from each other.
template <int AT_ONCE, typename T, typename Term>
ARRAYGRAD_INLINED static inline void add_terms(T* sums, std::ptrdiff_t n, std::ptrdiff_t rows, std::ptrdiff_t step,
                                               Term term) {
    std::ptrdiff_t i = 0;
    if (takes_several<T>(rows, step))
        for (; i + AT_ONCE <= rows; i += AT_ONCE)
            ARRAYGRAD_APART for (std::ptrdiff_t j = 0; j < n; j++) {
                T sum = sums[j];
                for (int k = 0; k < AT_ONCE; k++) sum += term((i + k) * step + j, j);
                sums[j] = sum;
            }
    for (; i < rows; i++)
        ARRAYGRAD_APART for (std::ptrdiff_t j = 0; j < n; j++) sums[j] += term(i * step + j, j);
}

#define ARRAYGRAD_SUMS_OVER_ROWS(T)                                                                                 \
    ARRAYGRAD_CLONES void add_rows(const T* x, T* sums, const Rows& r) {                                            \
        add_terms<ROWS_AT_ONCE>(sums, r.inner, r.outer, r.inner,                                                    \
                                [=](std::ptrdiff_t at, std::ptrdiff_t) ARRAYGRAD_INLINED { return x[at]; });        \
    }                                                                                                               \
    ARRAYGRAD_CLONES void add_products(const T* a, const T* b, T* sums, const Rows& r) {                            \
        add_terms<ROWS_AT_ONCE / 2>(sums, r.inner, r.outer, r.inner,                                                \
                                    [=](std::ptrdiff_t at, std::ptrdiff_t) ARRAYGRAD_INLINED { return a[at] * b[at]; }); \
    }
#ifdef ARRAYGRAD_DEFINES_SUMS
ARRAYGRAD_SUMS_OVER_ROWS(float)
ARRAYGRAD_SUMS_OVER_ROWS(double)
#else
void add_rows(const float* x, float* sums, const Rows& r);
void add_rows(const double* x, double* sums, const Rows& r);
void add_products(const float* a, const float* b, float* sums, const Rows& r);
void add_products(const double* a, const double* b, double* sums, const Rows& r);
#endif
#undef ARRAYGRAD_SUMS_OVER_ROWS

// Adds rows (b: their products with b's) to sums over them, which begin with `start`, if that is given.
template <typename T>
static inline void add_over_rows(const char* x, const char* b, char* out, const Rows& r, const char* start) {
    if (start) std::fill_n((T*)out, r.inner, *(const T*)start);
    if (b) add_products((const T*)x, (const T*)b, (T*)out, r);
    else add_rows((const T*)x, (T*)out, r);
}

static inline void add_over_rows(int slot, const char* x, const char* b, char* out, const Rows& r, const char* start) {
    if (slot == SLOT_F64) add_over_rows<double>(x, b, out, r, start);
    else add_over_rows<float>(x, b, out, r, start);
}

static inline bool has_short_rows(int slot, const Rows& r) {
    return r.inner < SHORT_ROW && slot <= SLOT_F64 && r.outer > 1;
}

// Sums of a dense array in numpy.add.reduce's order (within rows: pairwise, by numpy.add's loop), each begun with
// `start`, one element. `groups` (of `leading` rows): as many such arrays one after the other.
static inline int run_sum(const LoopSet* s, int slot, char* x, char* out, const Rows& r, char* start,
                          std::ptrdiff_t groups = 1) {
    const std::ptrdiff_t item = item_size(slot), row = r.inner * item;
    const std::ptrdiff_t within[3] = {0, item, 0};
    fp_begin();
    if (has_short_rows(slot, r)) {
        if (slot == SLOT_F64) sum_short((const double*)x, (double*)out, groups, r, *(const double*)start);
        else sum_short((const float*)x, (float*)out, groups, r, *(const float*)start);
        return fp_end();
    }
    if (r.leading) {
        for (std::ptrdiff_t g = 0; g < groups; g++, x += r.outer * row, out += row)
            add_over_rows(slot, x, nullptr, out, r, start);
        return fp_end();
    }
    for (std::ptrdiff_t i = 0; i < r.outer; i++) {
        char* sum = out + i * item;
        std::memcpy(sum, start, item);
        char* args[3] = {sum, x + i * row, sum};
        s->fn[slot](args, &r.inner, within, s->data[slot]);
    }
    return fp_end();
}

// Sums of a * b, in the order of run_sum over the products. Within rows they stay in the first cache: `row` has room for
// those of one row.
static inline int run_product_sum(const LoopSet* add, const LoopSet* multiply, int slot, char* a, char* b, char* out,
                                  const Rows& r, char* start, char* row) {
    const std::ptrdiff_t item = item_size(slot), length = r.inner * item;
    const std::ptrdiff_t each[3] = {item, item, item}, within[3] = {0, item, 0};
    fp_begin();
    if (r.leading) {
        add_over_rows(slot, a, b, out, r, start);
        return fp_end();
    }
    for (std::ptrdiff_t i = 0; i < r.outer; i++) {
        char* factors[3] = {a + i * length, b + i * length, row};
        multiply->fn[slot](factors, &r.inner, each, multiply->data[slot]);
        char* sum = out + i * item;
        std::memcpy(sum, start, item);
        char* terms[3] = {sum, row, sum};
        add->fn[slot](terms, &r.inner, within, add->data[slot]);
    }
    return fp_end();
}

// Whether a unary loop of float32 or float64 that overflows at 10000 raises that where fp_end() doesn't look.
template <typename T>
static inline bool overflow_is_elsewhere(loop_fn fn, void* data) {
    T x = T(10000), out;
    char* args[2] = {(char*)&x, (char*)&out};
    const std::ptrdiff_t n = 1, steps[2] = {sizeof(T), sizeof(T)};
    fp_begin();
    fn(args, &n, steps, data);
    const bool seen = (fp_end() & FPE_OVER) != 0;
    fp_begin(true);
    return !seen;
}

template <typename T>
static inline bool any_nan(const T* x, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; i += 1024) {
        std::ptrdiff_t end = i + 1024 < n ? i + 1024 : n;
        bool nan = false;
        for (std::ptrdiff_t j = i; j < end; j++) nan |= !(x[j] == x[j]);
        if (nan) return true;
    }
    return false;
}

}  // namespace arraygrad
