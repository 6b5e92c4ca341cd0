// How an array is gone through that is reduced, or scanned, over some of its axes.
// May include: inner_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
#pragma once
#include "inner_loops.hpp"

namespace arraygrad {

// The axes of an array in the order of its memory: those of one element are dropped, and neighbours that are both reduced
// or both kept count as one.
struct Lines {
    unsigned long long mask;            // the axes that are reduced, by their places in the shape
    int slot;
    bool turned;                        // column-major: axes are counted from the last one on
    bool regular;                       // `before` times `along` times `behind` elements, of which `along` are reduced
    std::ptrdiff_t before, along, behind;
    std::ptrdiff_t size, results;
    int nd;
    std::ptrdiff_t n[8], step[8];       // `step`: in elements of the result, 0 along what is reduced
};

// Plan to go through a dense array with elements. `mask`: of one axis at least.
static inline void plan_lines(const ArrayView* v, unsigned long long mask, Lines* l) {
    l->mask = mask;
    l->slot = v->slot;
    l->turned = !v->c_order;
    l->size = v->size;
    l->along = 1;
    int nd = 0;
    bool last = false;
    std::ptrdiff_t kept[2] = {1, 1};    // elements before and behind what is reduced first
    for (int k = 0; k < v->ndim; k++) {
        const int d = l->turned ? v->ndim - 1 - k : k;
        const std::ptrdiff_t length = v->dims[d];
        if (length == 1) continue;
        const bool reduced = mask >> d & 1;
        if (nd && reduced == last) l->n[nd - 1] *= length;
        else l->n[nd++] = length;
        l->step[nd - 1] = !reduced;
        last = reduced;
    }
    if (nd == 0) {
        l->n[0] = 1;
        l->step[0] = 0;
        nd = 1;
    }
    l->nd = nd;
    l->results = 1;
    int groups = 0;
    for (int k = nd - 1; k >= 0; k--) {
        if (l->step[k]) {
            kept[groups == 0] *= l->n[k];
            l->step[k] = l->results;
            l->results *= l->n[k];
        } else {
            groups++;
            l->along = l->n[k];
        }
    }
    if (groups == 0) {                  // of axes of one element: each element is a row
        kept[0] = kept[1];
        kept[1] = 1;
    }
    l->before = kept[0];
    l->behind = kept[1];
    l->regular = groups <= 1;
}

}  // namespace arraygrad
