// Generalized ufuncs' own inner loops, as PyUFuncObject holds them.
// May include: capture.hpp, inner_loops.hpp, NumPy's headers.
#pragma once
#include <Python.h>

#include <numpy/ndarraytypes.h>
#include <numpy/ufuncobject.h>

#include "capture.hpp"
#include "inner_loops.hpp"

namespace arraygrad {

struct Gufunc {
    const char* name;       // the ufunc's, for warnings
    loop_fn fn;
    void* data;
    bool everywhere;        // errors may be noted elsewhere than in SSE's register: see fp_begin
};

// The loop for one of the combinations of types that the ufunc lists.
static inline void take_loop(PyObject* ufunc, std::ptrdiff_t number, bool everywhere, Gufunc* g) {
    PyUFuncObject* u = (PyUFuncObject*)ufunc;
    if (number >= u->ntypes || !u->functions) return;
    g->name = u->name;
    g->fn = (loop_fn)u->functions[number];
    g->data = u->data ? u->data[number] : nullptr;
    g->everywhere = everywhere;
}

// The error bits that the loop raised.
static inline int run_gufunc(const Gufunc* g, char** args, const std::ptrdiff_t* dims, const std::ptrdiff_t* steps) {
    fp_begin(g->everywhere);
    g->fn(args, dims, steps, g->data);
    return fp_end(g->everywhere);
}

// The same, noted: n arrays (at most four), of which the first `n_in` are read. A replay with invalid values stops there.
static inline int captured_gufunc(const Gufunc* g, const ArrayView* v, int n, int n_in, const std::ptrdiff_t* dims,
                                  int n_dims, const std::ptrdiff_t* steps, int n_steps) {
    struct Sizes {
        std::ptrdiff_t dims[5], steps[12];
    } sizes = {};
    Span spans[4];
    std::memcpy(sizes.dims, dims, n_dims * sizeof dims[0]);
    std::memcpy(sizes.steps, steps, n_steps * sizeof steps[0]);
    for (int i = 0; i < 4; i++)
        spans[i] = i < n ? span_of(v[i], item_size(v[i].slot), i >= n_in) : run_of(nullptr, 0, 1, 1, READ);
    return captured(capture(), g->name, {spans[0], spans[1], spans[2], spans[3]},
                    [=](char* const* p) {
                        char* args[4] = {p[0], p[1], p[2], p[3]};
                        return run_gufunc(g, args, sizes.dims, sizes.steps);
                    },
                    FPE_INVALID);
}

}  // namespace arraygrad
