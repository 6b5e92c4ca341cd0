// Loops over row-major arrays taken as outer x n x inner: triangles, diagonals, shifts, differences, sums at places.
// May include: shared_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
//
// What only moves elements knows their size; what computes is for float and double. Sizes and places were checked.
#pragma once
#include <cstdlib>
#include <limits>

#include "shared_loops.hpp"

namespace arraygrad {

// A row-major array around one of its axes.
struct Around {
    std::ptrdiff_t outer, n, inner;
};

enum { ROOM_HERE = 64 };

// Memory for n elements; `data` is NULL where there is none.
template <typename T> struct Room {
    T here[ROOM_HERE];
    T* data;
    explicit Room(std::ptrdiff_t n) : data(n <= ROOM_HERE ? here : (T*)std::malloc((std::size_t)n * sizeof(T))) {}
    ~Room() {
        if (data != here) std::free(data);
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
};

#define ARRAYGRAD_REAL(slot, ...)                                                                                       \
    if ((slot) == SLOT_F64) { typedef double T; __VA_ARGS__; } else { typedef float T; __VA_ARGS__; }

// n elements of x, `step` bytes apart, each written to every `to_step`-th byte of out.
static inline void put_steps(std::ptrdiff_t item, const char* x, std::ptrdiff_t step, char* out, std::ptrdiff_t to_step,
                             std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; i++) std::memcpy(out + i * to_step, x + i * step, (std::size_t)item);
}

// The adjoint: g added to zeros, in the order of its elements.
static inline void add_along(int slot, const char* g, const std::int64_t* at, char* out, Around a, std::ptrdiff_t m) {
    unlocked(a.outer * (a.n + m) * a.inner, [=] {
        std::memset(out, 0, (std::size_t)(a.outer * a.n * a.inner * item_size(slot)));
        ARRAYGRAD_REAL(slot,
            for (std::ptrdiff_t o = 0; o < a.outer; o++)
                for (std::ptrdiff_t k = 0; k < m; k++)
                    for (std::ptrdiff_t i = 0; i < a.inner; i++) {
                        const std::ptrdiff_t from = (o * m + k) * a.inner + i;
                        const std::int64_t place = at[from] < 0 ? at[from] + a.n : at[from];
                        ((T*)out)[(o * a.n + place) * a.inner + i] += ((const T*)g)[from];
                    })
        return 0;
    });
}

// The adjoint of taking what is at m places of the axis: g added to zeros, in the order of its elements.
static inline void add_at_places(int slot, const char* g, const std::int64_t* at, char* out, Around a, std::ptrdiff_t m) {
    unlocked(a.outer * (a.n + m) * a.inner, [=] {
        std::memset(out, 0, (std::size_t)(a.outer * a.n * a.inner * item_size(slot)));
        ARRAYGRAD_REAL(slot,
            const T* from = (const T*)g; T* start = (T*)out;
            for (std::ptrdiff_t o = 0; o < a.outer; o++, start += a.n * a.inner) {
                if (a.inner == 1) {
                    for (std::ptrdiff_t k = 0; k < m; k++) start[at[k] < 0 ? at[k] + a.n : at[k]] += from[k];
                    from += m;
                    continue;
                }
                for (std::ptrdiff_t k = 0; k < m; k++, from += a.inner) {
                    T* to = start + (at[k] < 0 ? at[k] + a.n : at[k]) * a.inner;
                    ARRAYGRAD_APART for (std::ptrdiff_t i = 0; i < a.inner; i++) to[i] += from[i];
                }
            })
        return 0;
    });
}

// The axis over which to loop innermost: the last, or a longer one where that is short and no two places coincide, so
// that the order of additions is free.
static inline int inner_axis(const std::ptrdiff_t* dims, const std::ptrdiff_t* steps, int nd) {
    enum { SHORT = 8 };
    int order[16], n = 0, longest = nd - 1;
    if (dims[nd - 1] > SHORT) return nd - 1;
    for (int d = 0; d < nd; d++) {
        if (dims[d] == 1) continue;
        int k = n++;
        for (; k > 0 && steps[order[k - 1]] > steps[d]; k--) order[k] = order[k - 1];
        order[k] = d;
        if (dims[d] >= dims[longest]) longest = d;
    }
    std::ptrdiff_t span = 0;
    for (int k = 0; k < n; k++) {
        if (steps[order[k]] <= span) return nd - 1;
        span += steps[order[k]] * (dims[order[k]] - 1);
    }
    return longest;
}

// Row-major g added to what stands at `steps` (in elements) of out, where places may coincide, in the order of g.
template <typename T>
static inline void add_strided_of(const T* g, T* out, const std::ptrdiff_t* dims, const std::ptrdiff_t* steps, int nd) {
    if (nd == 0) {
        *out += *g;
        return;
    }
    const int inner = inner_axis(dims, steps, nd);
    const std::ptrdiff_t n = dims[inner], step = steps[inner];
    std::ptrdiff_t at[16] = {}, from[16];
    from[nd - 1] = 1;
    for (int d = nd - 2; d >= 0; d--) from[d] = from[d + 1] * dims[d + 1];
    const std::ptrdiff_t apart = from[inner];
    while (true) {
        if (step == 1 && apart == 1) {
            ARRAYGRAD_APART for (std::ptrdiff_t i = 0; i < n; i++) out[i] += g[i];
        } else if (apart == 1) {
            for (std::ptrdiff_t i = 0; i < n; i++) out[i * step] += g[i];
        } else {
            for (std::ptrdiff_t i = 0; i < n; i++) out[i * step] += g[i * apart];
        }
        int d = nd - 1;
        for (; d >= 0; d--) {
            if (d == inner) continue;
            out += steps[d];
            g += from[d];
            if (++at[d] < dims[d]) break;
            out -= steps[d] * dims[d];
            g -= from[d] * dims[d];
            at[d] = 0;
        }
        if (d < 0) return;
    }
}

// Windows of a line: rows of elements of which each row begins where the one before it began, or some elements later.

// A function of both types, compiled for several processors; T is the type.
#define ARRAYGRAD_LINES(NAME, ARGUMENTS, ...)                                                               \
    namespace f32 { typedef float T; ARRAYGRAD_CLONES static inline void NAME ARGUMENTS { __VA_ARGS__ } }   \
    namespace f64 { typedef double T; ARRAYGRAD_CLONES static inline void NAME ARGUMENTS { __VA_ARGS__ } }  \
    using f32::NAME;                                                                                        \
    using f64::NAME;

// out[m + v] += g[m * step + v] for `rows` windows of `width`, each sum in the order of the windows: of a block of them
// the last elements first, so that what was just written is not read again at another place.
ARRAYGRAD_LINES(add_windows_of, (const T* g, T* out, std::ptrdiff_t rows, std::ptrdiff_t width, std::ptrdiff_t step),
    const std::ptrdiff_t most = width < 128 ? 2048 / width : 16;
    for (std::ptrdiff_t m = 0; m < rows; m += most) {
        const std::ptrdiff_t n = rows - m < most ? rows - m : most;
        for (std::ptrdiff_t v = width - 1; v >= 0; v--) {
            const T* from = g + m * step + v;
            T* to = out + m + v;
            ARRAYGRAD_APART for (std::ptrdiff_t i = 0; i < n; i++) to[i] += from[i * step];
        }
    })

// out[m] = the sum of x[m * step + v] * w[v], begun with zero, from the first to the last.
ARRAYGRAD_LINES(slide_product_of, (const T* x, const T* w, T* out, std::ptrdiff_t rows, std::ptrdiff_t width,
                                   std::ptrdiff_t step),
    enum { BLOCK = 512 };
    for (std::ptrdiff_t m = 0; m < rows; m += BLOCK) {
        const std::ptrdiff_t n = rows - m < BLOCK ? rows - m : (std::ptrdiff_t)BLOCK;
        T* to = out + m;
        for (std::ptrdiff_t i = 0; i < n; i++) to[i] = T(0);
        for (std::ptrdiff_t v = 0; v < width; v++) {
            const T* from = x + m * step + v;
            const T factor = w[v];
            if (step == 1) {
                ARRAYGRAD_APART for (std::ptrdiff_t i = 0; i < n; i++) to[i] += from[i] * factor;
            } else {
                ARRAYGRAD_APART for (std::ptrdiff_t i = 0; i < n; i++) to[i] += from[i * step] * factor;
            }
        }
    })

// out[v] = the sum of x[m * step + v] * g[m]. `part`: room for a window; sums of blocks are added.
ARRAYGRAD_LINES(slide_adjoint_of, (const T* x, const T* g, T* out, T* part, std::ptrdiff_t rows, std::ptrdiff_t width,
                                   std::ptrdiff_t step),
    enum { BLOCK = 256 };
    for (std::ptrdiff_t v = 0; v < width; v++) out[v] = T(0);
    for (std::ptrdiff_t m = 0; m < rows; m += BLOCK) {
        const std::ptrdiff_t n = rows - m < BLOCK ? rows - m : (std::ptrdiff_t)BLOCK;
        for (std::ptrdiff_t v = 0; v < width; v++) part[v] = T(0);
        std::ptrdiff_t i = m;
        for (; i + 4 <= m + n; i += 4) {        // a part of a sum waits for what was written to it before
            const T *a = x + i * step, *b = a + step, *c = b + step, *d = c + step;
            const T ga = g[i], gb = g[i + 1], gc = g[i + 2], gd = g[i + 3];
            ARRAYGRAD_APART for (std::ptrdiff_t v = 0; v < width; v++)
                part[v] += (a[v] * ga + b[v] * gb) + (c[v] * gc + d[v] * gd);
        }
        for (; i < m + n; i++)
            ARRAYGRAD_APART for (std::ptrdiff_t v = 0; v < width; v++) part[v] += x[i * step + v] * g[i];
        for (std::ptrdiff_t v = 0; v < width; v++) out[v] += part[v];
    })

// out[i, j] = a[i] * b[j]
ARRAYGRAD_LINES(outer_product_of, (const T* a, const T* b, T* out, std::ptrdiff_t n, std::ptrdiff_t m),
    for (std::ptrdiff_t i = 0; i < n; i++, out += m) {
        const T factor = a[i];
        ARRAYGRAD_APART for (std::ptrdiff_t j = 0; j < m; j++) out[j] = factor * b[j];
    })

static inline int outer_product(int slot, const char* a, const char* b, char* out, std::ptrdiff_t n,
                                std::ptrdiff_t m) {
    if (Capture* c = capture()) {
        const std::ptrdiff_t item = item_size(slot);
        return captured(c, "outer product",
                        {run_of(a, n, item, item, READ), run_of(b, m, item, item, READ),
                         run_of(out, n * m, item, item, WRITTEN)},
                        [=](char* const* p) {
                            fp_begin();
                            ARRAYGRAD_REAL(slot, outer_product_of((const T*)p[0], (const T*)p[1], (T*)p[2], n, m))
                            return fp_end();
                        });
    }
    return unlocked(n * m, [=] {
        fp_begin();
        ARRAYGRAD_REAL(slot, outer_product_of((const T*)a, (const T*)b, (T*)out, n, m))
        return fp_end();
    });
}

static inline void add_windows(int slot, const char* g, char* out, std::ptrdiff_t rows, std::ptrdiff_t width,
                               std::ptrdiff_t step) {
    ARRAYGRAD_REAL(slot, add_windows_of((const T*)g, (T*)out, rows, width, step))
}

static inline int slide_product(int slot, const char* x, const char* w, char* out, std::ptrdiff_t rows,
                                std::ptrdiff_t width, std::ptrdiff_t step) {
    return unlocked(rows * width, [=] {
        fp_begin();
        ARRAYGRAD_REAL(slot, slide_product_of((const T*)x, (const T*)w, (T*)out, rows, width, step))
        return fp_end();
    });
}

static inline int slide_adjoint(int slot, const char* x, const char* g, char* out, char* part, std::ptrdiff_t rows,
                                std::ptrdiff_t width, std::ptrdiff_t step) {
    return unlocked(rows * width, [=] {
        fp_begin();
        ARRAYGRAD_REAL(slot, slide_adjoint_of((const T*)x, (const T*)g, (T*)out, (T*)part, rows, width, step))
        return fp_end();
    });
}

// add_strided where the last axis slides along axis `along` of the array, whose elements are neighbours.
static inline void add_sliding(int slot, const char* g, char* out, const std::ptrdiff_t* dims,
                               const std::ptrdiff_t* steps, int nd, int along) {
    const std::ptrdiff_t item = item_size(slot);
    std::ptrdiff_t at[16] = {}, step = dims[nd - 1], from[16];
    for (int d = nd - 2; d >= 0; d--) {
        from[d] = step;
        step *= dims[d];
    }
    while (true) {
        add_windows(slot, g, out, dims[along], dims[nd - 1], from[along]);
        int d = nd - 2;
        for (; d >= 0; d--) {
            if (d == along) continue;
            g += from[d] * item;
            out += steps[d] * item;
            if (++at[d] < dims[d]) break;
            g -= from[d] * dims[d] * item;
            out -= steps[d] * dims[d] * item;
            at[d] = 0;
        }
        if (d < 0) return;
    }
}

// `along`: the axis of the array along which the last axis of g slides, alone and over neighbours; -1: there is none.
static inline int add_strided(int slot, const char* g, char* out, const std::ptrdiff_t* dims,
                              const std::ptrdiff_t* steps, int nd, std::ptrdiff_t size, int along) {
    if (size == 0) return 0;
    return unlocked(size, [=] {
        fp_begin();
        if (along >= 0) add_sliding(slot, g, out, dims, steps, nd, along);
        else { ARRAYGRAD_REAL(slot, add_strided_of<T>((const T*)g, (T*)out, dims, steps, nd)) }
        return fp_end();
    });
}

// Blocks of g, over the axes from `lead` on, each added where its place says, which counts over the axes before: `dims`
// and `steps` (in elements) are those of all axes. Places were checked; negative ones count from the end.
static inline int add_strided_at(int slot, const char* g, char* out, const std::int64_t* places, std::ptrdiff_t n,
                                 const std::ptrdiff_t* dims, const std::ptrdiff_t* steps, int lead, int nd) {
    std::ptrdiff_t inner = 1, count = 1;
    for (int d = 0; d < lead; d++) count *= dims[d];
    for (int d = lead; d < nd; d++) inner *= dims[d];
    return unlocked(n * inner, [=] {
        fp_begin();
        ARRAYGRAD_REAL(slot,
            const T* from = (const T*)g;
            for (std::ptrdiff_t k = 0; k < n; k++, from += inner) {
                std::ptrdiff_t place = places[k] < 0 ? places[k] + count : places[k];
                T* to = (T*)out;
                for (int d = lead - 1; d > 0; d--) {
                    to += place % dims[d] * steps[d];
                    place /= dims[d];
                }
                to += place * steps[0];
                if (nd - lead == 1 && steps[lead] == 1)
                    for (std::ptrdiff_t i = 0; i < inner; i++) to[i] += from[i];
                else
                    add_strided_of<T>(from, to, dims + lead, steps + lead, nd - lead);
            })
        return fp_end();
    });
}

// Padding that repeats elements, as numpy.pad's modes of these names.

enum { PAD_EDGE, PAD_REFLECT, PAD_SYMMETRIC, PAD_WRAP };

}  // namespace arraygrad
