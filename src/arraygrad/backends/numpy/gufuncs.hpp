// Generalized ufuncs' own inner loops, as PyUFuncObject holds them.
// May include: inner_loops.hpp, NumPy's headers.
#pragma once
#include <Python.h>

#include <numpy/ndarraytypes.h>
#include <numpy/ufuncobject.h>

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

}  // namespace arraygrad
