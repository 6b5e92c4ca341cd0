// Two operands that broadcast against each other over short rows, as in x[:, None] - x[None]: by blocks of many rows.
// May include: layouts.hpp, shared_loops.hpp, NumPy's headers (included before this one by the generated code).
//
// NumPy calls its loop once for each innermost row, which costs more than a row of three elements does. Here the last
// axes make a block of some hundred elements; an operand that repeats within a block is written out once, and again
// only where it changes. The loop, and so every element, is NumPy's.
// Guarded by tests/backends/test_fast_blocks.py.
#pragma once
#include "layouts.hpp"
#include "shared_loops.hpp"

namespace arraygrad {

struct Blocks {
    int nd, split;                      // axes, merged where both operands go on; those from `split` on are the block's
    std::ptrdiff_t dims[8];
    std::ptrdiff_t steps[2][8];         // of each operand, in bytes, 0 where it repeats
    std::ptrdiff_t block, size;         // elements
    int result_nd;
    npy_intp result[8];
};

enum { BLOCK_MOST = 1 << 15, BLOCK_GOOD = 256, BLOCK_ROW = 64, BLOCK_SIZE = 1024 };    // elements; rows from 64 on pay

// Whether row-major a and b broadcast to an array that is worth it; NumPy's result is row-major then.
static inline bool block_pattern(PyArrayObject* a, PyArrayObject* b, Blocks* p) {
    PyArrayObject* both[2] = {a, b};
    if (!(PyArray_FLAGS(a) & PyArray_FLAGS(b) & NPY_ARRAY_C_CONTIGUOUS)) return false;
    const int nd = PyArray_NDIM(a) > PyArray_NDIM(b) ? PyArray_NDIM(a) : PyArray_NDIM(b);
    if (nd < 2 || nd > 8) return false;
    std::ptrdiff_t dense[2] = {PyArray_ITEMSIZE(a), PyArray_ITEMSIZE(b)}, dims[8], steps[2][8];
    p->size = 1;
    p->result_nd = nd;
    for (int d = nd - 1; d >= 0; d--) {
        std::ptrdiff_t n[2];
        for (int k = 0; k < 2; k++) {
            const int at = d - (nd - PyArray_NDIM(both[k]));
            n[k] = at < 0 ? 1 : PyArray_DIM(both[k], at);
        }
        if (n[0] != n[1] && n[0] != 1 && n[1] != 1) return false;
        dims[d] = n[0] == 1 ? n[1] : n[0];
        for (int k = 0; k < 2; k++) {
            steps[k][d] = n[k] == 1 ? 0 : dense[k];
            dense[k] *= n[k];
        }
        p->result[d] = dims[d];
        p->size *= dims[d];
    }
    if (p->size < BLOCK_SIZE) return false;
    p->nd = 0;
    for (int d = 0; d < nd; d++) {
        if (dims[d] == 1) continue;
        const int last = p->nd - 1;
        bool merged = last >= 0;
        for (int k = 0; k < 2 && merged; k++) merged = p->steps[k][last] == steps[k][d] * dims[d];
        if (merged) p->dims[last] *= dims[d];
        else p->dims[p->nd++] = dims[d];
        for (int k = 0; k < 2; k++) p->steps[k][p->nd - 1] = steps[k][d];
    }
    if (p->nd < 2 || p->dims[p->nd - 1] >= BLOCK_ROW) return false;
    p->split = p->nd;
    p->block = 1;
    while (p->split > 0 && p->block < BLOCK_GOOD && p->block * p->dims[p->split - 1] <= BLOCK_MOST)
        p->block *= p->dims[--p->split];
    return p->block >= BLOCK_ROW;
}

// Write an operand out over the axes from `d` on; returns the end.
static inline char* written_out(const Blocks& p, int k, int d, const char* x, char* out, std::ptrdiff_t item) {
    const std::ptrdiff_t step = p.steps[k][d];
    if (d == p.nd - 1) {
        if (step) std::memcpy(out, x, (std::size_t)(p.dims[d] * item));
        else for (std::ptrdiff_t i = 0; i < p.dims[d]; i++) std::memcpy(out + i * item, x, (std::size_t)item);
        return out + p.dims[d] * item;
    }
    char* end = written_out(p, k, d + 1, x, out, item);
    for (std::ptrdiff_t i = 1; i < p.dims[d]; i++) {
        if (step) {
            end = written_out(p, k, d + 1, x + i * step, end, item);
        } else {                        // what was written so far, once more, as far as it goes
            const std::ptrdiff_t done = end - out, one = done / i, left = (p.dims[d] - i) * one;
            const std::ptrdiff_t more = done < left ? done : left;
            std::memcpy(end, out, (std::size_t)more);
            end += more;
            i += more / one - 1;
        }
    }
    return end;
}

// `room`: for one block of each operand.
static inline int run_blocks(const LoopSet* s, int slot, const Blocks& p, const char* a, const char* b, char* out,
                             char* room) {
    const std::ptrdiff_t item = item_size(slot), to = s->to_bool ? 1 : item, n = p.block;
    const std::ptrdiff_t steps[3] = {item, item, to};
    const char *from[2] = {a, b}, *seen[2] = {nullptr, nullptr};
    std::ptrdiff_t at[8] = {};
    char* args[3];
    bool whole[2];
    for (int k = 0; k < 2; k++) {       // whether it stands in memory as the block has it
        std::ptrdiff_t dense = item;
        whole[k] = true;
        for (int d = p.nd - 1; d >= p.split; d--) {
            whole[k] = whole[k] && p.steps[k][d] == dense;
            dense *= p.dims[d];
        }
    }
    fp_begin();
    while (true) {
        for (int k = 0; k < 2; k++) {
            args[k] = whole[k] ? (char*)from[k] : room + k * n * item;
            if (!whole[k] && from[k] != seen[k]) written_out(p, k, p.split, from[k], args[k], item);
            seen[k] = from[k];
        }
        args[2] = out;
        s->fn[slot](args, &n, steps, s->data[slot]);
        out += n * to;
        int d = p.split - 1;
        for (; d >= 0; d--) {
            for (int k = 0; k < 2; k++) from[k] += p.steps[k][d];
            if (++at[d] < p.dims[d]) break;
            for (int k = 0; k < 2; k++) from[k] -= p.steps[k][d] * p.dims[d];
            at[d] = 0;
        }
        if (d < 0) return fp_end();
    }
}

static inline int share_blocks(const LoopSet* s, int slot, const Blocks& p, const char* a, const char* b, char* out,
                               char* room) {
    if (Capture* c = capture()) {
        const std::ptrdiff_t item = item_size(slot), to = s->to_bool ? 1 : item;
        std::ptrdiff_t n[2] = {1, 1};
        for (int k = 0; k < 2; k++)
            for (int d = 0; d < p.nd; d++)
                if (p.steps[k][d]) n[k] *= p.dims[d];
        const Blocks blocks = p;
        return captured(c, s->name,
                        {run_of(a, n[0], item, item, READ), run_of(b, n[1], item, item, READ),
                         run_of(out, p.size, to, to, WRITTEN), run_of(room, 2 * p.block, item, item, WRITTEN)},
                        [=](char* const* q) { return run_blocks(s, slot, blocks, q[0], q[1], q[2], q[3]); });
    }
    return unlocked(p.size, [&] { return run_blocks(s, slot, p, a, b, out, room); });
}

// Sums over axes beside each other in the middle of a row-major array: `groups` sums over the rows of r, one row after
// the other as NumPy has it. False: the axes end or begin the array, or they are not beside each other.
static inline bool split_middle(PyArrayObject* a, unsigned long long mask, npy_intp* groups, Rows* r) {
    enum { BEFORE, AMONG, BEHIND } at = BEFORE;
    *groups = r->outer = r->inner = r->behind = 1;
    r->leading = true;
    if (!(PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS)) return false;
    for (int i = 0; i < PyArray_NDIM(a); i++) {
        const npy_intp n = PyArray_DIM(a, i);
        if (n == 1) continue;
        if (mask >> i & 1) {
            if (at == BEHIND) return false;
            at = AMONG;
            r->outer *= n;
        } else if (at == BEFORE) {
            *groups *= n;
        } else {
            at = BEHIND;
            r->inner *= n;
        }
    }
    return at == BEHIND;
}

}  // namespace arraygrad
