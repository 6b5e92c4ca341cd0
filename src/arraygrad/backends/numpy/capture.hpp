// Calls of kernels that are noted while they run, so that they can be repeated without Python: what headers with
// kernels see of it. kernel_program.hpp says what becomes of them.
// May include: inner_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
//
// Note [Captured kernels]
// ~~~~~~~~~~~~~~~~~~~~~~~
// A capture (program/replay.py) runs a function as ever, and notes each call of a kernel: the function pointer with its
// numbers, and the places in memory that it reads and writes. Arrays that are made meanwhile lie in memory that the
// capture owns. A replay makes the same calls in the same order on the same memory. So its values are those of the
// plain run bit by bit, nothing has to know what an operation or a derivative is, views are folded into strides, and
// memory is reused where the plain run reused it.
// (1) A kernel is noted by `captured`, which gets a function of pointers only: whatever else it reads is copied into
//     it.
// (2) What is read was written by a noted kernel, or it is older than the capture and counts as a constant. A second
//     copy of the memory holds what noted kernels wrote; where an array differs from it, something wrote that was not
//     noted, and nothing is captured (but see (4)). New memory begins with other bytes in either copy.
// (3) Kernels that decide by their error bits whether another way is taken (`declined`) end a replay that raises them.
// (4) Doors of the backend (NumpyOps.call and its like, rules of the table) note a call of themselves where their
//     result was not made by kernels: a step that needs Python.
// (5) Single numbers take the way of arrays while something is captured: doubles in registers leave no trace.
// Without a capture all of this is one load and one branch a kernel. Guarded by tests/program/test_replay.py.
#pragma once
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <new>

#include "inner_loops.hpp"

namespace arraygrad {

// Elements of `item` bytes that a kernel reads or writes.
struct Span {
    char* at;
    std::ptrdiff_t item;
    int ndim;
    bool written;
    std::ptrdiff_t dims[8], steps[8];
};

enum { READ = 0, WRITTEN = 1 };

// n elements that follow each other in steps of so many bytes; step 0: one.
static inline Span run_of(const void* at, std::ptrdiff_t n, std::ptrdiff_t step, std::ptrdiff_t item, bool written) {
    Span s = {(char*)at, item, 1, written, {step ? n : (n ? 1 : 0)}, {step}};
    return s;
}

static inline Span bytes_of(const void* at, std::ptrdiff_t n, bool written) { return run_of(at, n, 1, 1, written); }

static inline Span span_of(const ArrayView& v, std::ptrdiff_t item, bool written) {
    if (v.c_order || v.f_order) return run_of(v.data, v.size, item, item, written);
    Span s = {v.data, item, v.ndim, written, {}, {}};
    for (int i = 0; i < v.ndim; i++) {
        s.dims[i] = v.strides[i] ? v.dims[i] : (v.dims[i] ? 1 : 0);
        s.steps[i] = v.strides[i];
    }
    return s;
}

// A noted call.
struct Noted {
    int (*run)(Noted*);          // returns error bits
    int declined;               // bits that end a replay (3)
    const char* name;
    char** at;                  // the places of its spans
};

template <typename F> struct NotedOf : Noted {
    F f;
    explicit NotedOf(F f) : f(f) {}
    static int call(Noted* s) { return ((NotedOf*)s)->f(s->at); }
};

class Capture {
public:
    virtual ~Capture() {}
    virtual bool is_here() = 0;                         // whether this thread captures
    virtual void* allocate(std::size_t bytes) = 0;      // memory for an array; nullptr: none left
    virtual void* handler() = 0;                        // the capsule of what frees it
    virtual void* room(std::size_t bytes) = 0;          // for a step
    virtual int take(Noted* step, const Span* spans, int n) = 0;     // runs the step and notes it
    virtual void fail(const char* what) = 0;            // something can't be noted
};

inline std::atomic<Capture*> capturing_now{nullptr};

// The capture of this thread, nullptr: none.
static inline Capture* capture() {
    Capture* c = capturing_now.load(std::memory_order_relaxed);
    return c && c->is_here() ? c : nullptr;
}

static inline bool is_captured() { return capture() != nullptr; }

static inline void not_captured(const char* what) {
    if (Capture* c = capture()) c->fail(what);
}

// Whether this thread replays, without the GIL.
inline thread_local bool is_replaying = false;

// f(places), run and noted. The places are those of `spans` in order.
template <typename F>
static int captured(Capture* c, const char* name, std::initializer_list<Span> spans, F f, int declined = 0) {
    NotedOf<F>* s = new (c->room(sizeof(NotedOf<F>) + spans.size() * sizeof(char*))) NotedOf<F>(f);
    s->run = NotedOf<F>::call;
    s->declined = declined;
    s->name = name;
    s->at = (char**)(s + 1);
    return c->take(s, spans.begin(), (int)spans.size());
}

// A copy of elements, axis by axis: `ndim` may be 0.
struct Copy {
    int ndim;
    std::ptrdiff_t item, dims[8], to[8], from[8];
};

static inline void copy_elements(char* out, const char* x, std::ptrdiff_t n, std::ptrdiff_t to, std::ptrdiff_t from,
                                 std::ptrdiff_t item) {
    if (to == item && from == item) std::memcpy(out, x, (std::size_t)(n * item));
    else if (item == 8)
        for (std::ptrdiff_t i = 0; i < n; i++) std::memcpy(out + i * to, x + i * from, 8);
    else if (item == 4)
        for (std::ptrdiff_t i = 0; i < n; i++) std::memcpy(out + i * to, x + i * from, 4);
    else
        for (std::ptrdiff_t i = 0; i < n; i++) std::memcpy(out + i * to, x + i * from, (std::size_t)item);
}

static inline void run_copy(const Copy& c, char* out, const char* x, int d = 0) {
    if (c.ndim == 0) std::memcpy(out, x, (std::size_t)c.item);
    else if (d == c.ndim - 1) copy_elements(out, x, c.dims[d], c.to[d], c.from[d], c.item);
    else
        for (std::ptrdiff_t i = 0; i < c.dims[d]; i++) run_copy(c, out + i * c.to[d], x + i * c.from[d], d + 1);
}

// Axes of one element go, and those that are walked as one become one.
static inline void fold_axes(Copy* c) {
    int n = 0;
    for (int d = 0; d < c->ndim; d++) {
        if (c->dims[d] == 1) continue;
        if (n && c->to[n - 1] == c->to[d] * c->dims[d] && c->from[n - 1] == c->from[d] * c->dims[d]) {
            c->dims[n - 1] *= c->dims[d];
            c->to[n - 1] = c->to[d];
            c->from[n - 1] = c->from[d];
            continue;
        }
        c->dims[n] = c->dims[d];
        c->to[n] = c->to[d];
        c->from[n++] = c->from[d];
    }
    c->ndim = n;
}

static inline void captured_copy(Capture* now, const Copy& given, char* out, const char* x) {
    Copy c = given;
    for (int d = 0; d < c.ndim; d++)
        if (c.dims[d] == 0) return;
    fold_axes(&c);
    Span to = {out, c.item, c.ndim, true, {}, {}}, from = {(char*)x, c.item, c.ndim, false, {}, {}};
    for (int d = 0; d < c.ndim; d++) {
        to.dims[d] = c.dims[d];
        to.steps[d] = c.to[d];
        from.dims[d] = c.from[d] ? c.dims[d] : 1;
        from.steps[d] = c.from[d];
    }
    captured(now, "copy", {from, to}, [c](char* const* p) {
        run_copy(c, p[1], p[0]);
        return 0;
    });
}

// A ufunc's loop over operands that go along with its result in any steps: the result last.
struct Walk {
    int nd, operands;
    std::ptrdiff_t dims[8], steps[3][8];
};

static inline void walk(const LoopSet* s, int slot, const Walk& w, char* const* at, int d) {
    char* here[3];
    for (int k = 0; k < w.operands; k++) here[k] = at[k];
    if (w.nd - d <= 1) {
        const std::ptrdiff_t one = 1;
        std::ptrdiff_t steps[3];
        for (int k = 0; k < w.operands; k++) steps[k] = w.nd ? w.steps[k][d] : 0;
        s->fn[slot](here, w.nd ? &w.dims[d] : &one, steps, s->data[slot]);
        return;
    }
    for (std::ptrdiff_t i = 0; i < w.dims[d]; i++) {
        walk(s, slot, w, here, d + 1);
        for (int k = 0; k < w.operands; k++) here[k] += w.steps[k][d];
    }
}

static inline Span span_of(const Walk& w, int k, char* at, std::ptrdiff_t item, bool written) {
    Span s = {at, item, w.nd, written, {}, {}};
    for (int d = 0; d < w.nd; d++) {
        s.dims[d] = w.steps[k][d] || !w.dims[d] ? w.dims[d] : 1;
        s.steps[d] = w.steps[k][d];
    }
    return s;
}

static inline int captured_walk(Capture* c, const LoopSet* s, int slot, const Walk& w, char* const* at) {
    const std::ptrdiff_t item = item_size(slot), to = s->to_bool ? 1 : item;
    const int last = w.operands - 1;
    const Walk way = w;
    for (int d = 0; d < w.nd; d++)
        if (w.dims[d] == 0) return 0;
    const bool elsewhere = s->raises_elsewhere >> slot & 1;
    return captured(c, s->name,
                    {span_of(w, 0, at[0], last ? item : to, READ), span_of(w, last == 2, at[last == 2], item, READ),
                     span_of(w, last, at[last], to, WRITTEN)},
                    [=](char* const* p) {
                        char* const places[3] = {p[0], last == 2 ? p[1] : p[2], p[2]};
                        fp_begin(elsewhere);
                        walk(s, slot, way, places, 0);
                        return fp_end(elsewhere);
                    });
}

// Bytes of one value.
static inline void captured_fill(Capture* now, char* out, std::ptrdiff_t bytes, int value) {
    if (bytes <= 0) return;
    captured(now, "fill", {bytes_of(out, bytes, WRITTEN)}, [=](char* const* p) {
        std::memset(p[0], value, (std::size_t)bytes);
        return 0;
    });
}

}  // namespace arraygrad
