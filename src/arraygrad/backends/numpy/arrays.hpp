// What the loops have to know of NumPy's arrays and ufuncs.
// May include: blocks.hpp, capture.hpp, inner_loops.hpp, array_freelist.hpp, layouts.hpp, memory_pool.hpp,
// shared_loops.hpp, sines.hpp, single.hpp, NumPy's headers (included before this one by the generated code).
#pragma once
#if !defined(_WIN32)
#include <dlfcn.h>
#endif

#include <complex>

#include "blocks.hpp"
#include "capture.hpp"
#include "inner_loops.hpp"
#include "array_freelist.hpp"
#include "layouts.hpp"
#include "memory_pool.hpp"
#include "shared_loops.hpp"
#include "sines.hpp"
#include "single.hpp"

namespace arraygrad {

static_assert(sizeof(npy_intp) == sizeof(std::ptrdiff_t), "npy_intp and ptrdiff_t have one size in NumPy 2");

static inline int slot_of_type(int typenum) {
    switch (typenum) {
        case NPY_FLOAT: return SLOT_F32;
        case NPY_DOUBLE: return SLOT_F64;
        case NPY_CFLOAT: return SLOT_C64;
        case NPY_CDOUBLE: return SLOT_C128;
        default: return -1;
    }
}

static inline int type_of_slot(int slot) {
    static const int types[N_SLOTS] = {NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};
    return types[slot];
}

// Slot of an array that a loop may read: aligned, native byte order, one of our dtypes. Else -1.
static inline int plain_slot(PyArrayObject* a) {
    if (!(PyArray_FLAGS(a) & NPY_ARRAY_ALIGNED)) return -1;
    PyArray_Descr* d = PyArray_DESCR(a);
    if (d->byteorder == NPY_OPPBYTE) return -1;
    return slot_of_type(d->type_num);
}

// The same, for an array that can be walked as one dense run: C- or F-contiguous.
static inline int dense_slot(PyArrayObject* a) {
    if (!(PyArray_FLAGS(a) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS))) return -1;
    return plain_slot(a);
}

static inline bool is_run(PyArrayObject* a) {
    return (PyArray_FLAGS(a) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)) != 0;
}

// One element, or the same one everywhere (a broadcast view).
static inline bool is_repeated(PyArrayObject* a) {
    int nd = PyArray_NDIM(a);
    for (int i = 0; i < nd; i++)
        if (PyArray_DIM(a, i) != 1 && PyArray_STRIDE(a, i) != 0) return false;
    return true;
}

static inline bool same_dims(PyArrayObject* a, PyArrayObject* b) {
    int nd = PyArray_NDIM(a);
    if (nd != PyArray_NDIM(b)) return false;
    const npy_intp *x = PyArray_DIMS(a), *y = PyArray_DIMS(b);
    for (int i = 0; i < nd; i++)
        if (x[i] != y[i]) return false;
    return true;
}

// Whether two dense arrays have one shape and list their elements in the same order.
static inline bool aligned_runs(PyArrayObject* a, PyArrayObject* b) {
    return (PyArray_FLAGS(a) & PyArray_FLAGS(b) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)) && same_dims(a, b);
}

// The steps with which NumPy's own call gives one element to a loop. Loops may look at them: that of power takes an
// exponent with step zero for a number and squares for 2, and others take the vector library for steps of an element.
static inline npy_intp single_step(PyArrayObject* a) {
    const int nd = PyArray_NDIM(a);
    return nd == 0 ? 0 : nd == 1 ? PyArray_STRIDE(a, 0) : PyArray_ITEMSIZE(a);
}

// The same for two operands, of which one may be a number (its step is zero already), and for their result.
static inline void single_steps(PyObject* a, PyObject* b, npy_intp* sa, npy_intp* sb, npy_intp* so) {
    PyArrayObject* x = PyArray_CheckExact(a) ? (PyArrayObject*)a : nullptr;
    PyArrayObject* y = PyArray_CheckExact(b) ? (PyArrayObject*)b : nullptr;
    if (x && y && PyArray_NDIM(x) && PyArray_NDIM(y) && PyArray_NDIM(x) != PyArray_NDIM(y)) {
        *sa = *sb = *so = 0;            // by NumPy's iterator
        return;
    }
    if (x) *sa = single_step(x);
    if (y) *sb = single_step(y);
}

static inline int fill_view(PyArrayObject* a, ArrayView* v) {
    int flags = PyArray_FLAGS(a);
    v->slot = plain_slot(a);
    v->data = PyArray_BYTES(a);
    v->dims = (const std::ptrdiff_t*)PyArray_DIMS(a);
    v->strides = (const std::ptrdiff_t*)PyArray_STRIDES(a);
    v->ndim = PyArray_NDIM(a);
    v->size = size_of(a);
    v->c_order = (flags & NPY_ARRAY_C_CONTIGUOUS) != 0;
    v->f_order = (flags & NPY_ARRAY_F_CONTIGUOUS) != 0;
    v->writeable = (flags & NPY_ARRAY_WRITEABLE) != 0;
    return v->slot;
}

// A plain float64 array without axes, or a plain number that a double holds exactly.
static inline bool number_of(PyObject* x, double* number) {
    if (PyArray_CheckExact(x)) {
        PyArrayObject* a = (PyArrayObject*)x;
        if (PyArray_NDIM(a) || plain_slot(a) != SLOT_F64) return false;
        *number = *(const double*)PyArray_BYTES(a);
        return true;
    }
    if (PyFloat_CheckExact(x)) {
        *number = PyFloat_AS_DOUBLE(x);
        return true;
    }
    int overflow = 0;
    if (!PyLong_CheckExact(x)) return false;
    const long long integer = PyLong_AsLongLongAndOverflow(x, &overflow);
    *number = (double)integer;
    return !overflow && integer <= 1LL << 53 && integer >= -(1LL << 53);
}

// Whether `other` broadcasts to the row-major `like` by repeating for each of `outer` rows of `inner` elements, or by
// one element for each row (inner < 0). Rows of fewer than four elements are left to NumPy, which may pick another
// order.
static inline bool row_pattern(PyArrayObject* like, PyArrayObject* other, npy_intp* outer, npy_intp* inner) {
    int nd = PyArray_NDIM(like), lead = nd - PyArray_NDIM(other);
    if (lead < 0 || !(PyArray_FLAGS(like) & PyArray_FLAGS(other) & NPY_ARRAY_C_CONTIGUOUS)) return false;
    npy_intp total = size_of(like), part = size_of(other), expected = 1;
    if (total == 0 || part == 0) return false;
    const npy_intp *x = PyArray_DIMS(like), *y = PyArray_DIMS(other);
    int k = nd;
    while (k > lead && y[k - 1 - lead] == x[k - 1]) expected *= x[--k];
    if (expected == part && k < nd) {                       // what is left of `other` has length one
        *outer = total / part;
        *inner = part;
        return part >= 4;
    }
    if (lead) return false;
    for (k = 0, expected = 1; k < nd && y[k] == x[k]; k++) expected *= x[k];
    if (expected != part) return false;
    *outer = part;
    *inner = -(total / part);
    return total / part >= 4;
}

// Equal strides, but for axes of one element.
static inline bool same_strides(PyArrayObject* a, PyArrayObject* b) {
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (PyArray_DIM(a, i) != 1 && PyArray_STRIDE(a, i) != PyArray_STRIDE(b, i)) return false;
    return true;
}

// The pool behind arrays made here.
static inline MemoryPool& pool() { return Pools::here(); }

static void* pool_malloc(void*, size_t bytes) {
    not_captured("memory of the pool");         // an array that NumPy makes: it would count as a constant
    return pool().allocate(bytes);
}

static void* pool_calloc(void*, size_t count, size_t bytes) {
    not_captured("memory of the pool");
    void* memory = pool().allocate(count * bytes);
    if (memory) std::memset(memory, 0, count * bytes);
    return memory;
}

static void* pool_realloc(void*, void* memory, size_t bytes) { return pool().reallocate(memory, bytes); }

static void pool_free(void*, void* memory, size_t bytes) { pool().release(memory, bytes); }

static PyDataMem_Handler pool_handler = {
    "arraygrad", 1, {nullptr, pool_malloc, pool_calloc, pool_realloc, pool_free}};

// Python's tracemalloc learns of the memory as of any array's (NumPy tells it when the memory is freed). Looked up by
// name: some versions of Python declare the functions without C linkage.
enum { NUMPY_TRACE_DOMAIN = 389047 };

static inline void* python_function(const char* name) {
#if defined(_WIN32)
    (void)name;
    return nullptr;
#else
    return dlsym(RTLD_DEFAULT, name);
#endif
}

static inline void track(void* memory, size_t bytes) {
    typedef int (*function)(unsigned int, std::uintptr_t, std::size_t);
    static const function found = (function)python_function("PyTraceMalloc_Track");
    if (found) found(NUMPY_TRACE_DOMAIN, (std::uintptr_t)memory, bytes);
}

static inline void untrack(void* memory) {
    typedef int (*function)(unsigned int, std::uintptr_t);
    static const function found = (function)python_function("PyTraceMalloc_Untrack");
    if (found) found(NUMPY_TRACE_DOMAIN, (std::uintptr_t)memory);
}

#ifndef Py_GIL_DISABLED
inline PyObject* handler_of_kept;

#endif

// Whether the one reference to a dead array is taken over; if not it is still the caller's (Note [Free list of
// arrays]).
static bool keep_array(PyObject* array) noexcept {
#ifdef Py_GIL_DISABLED
    (void)array;
    return false;
#else
    MemoryPool& its_pool = pool();
    if (!dead_arrays.keep(array, handler_of_kept, its_pool.limit - its_pool.cached)) return false;
    untrack(PyArray_DATA((PyArrayObject*)array));
    return true;
#endif
}

// Where one float64 without axes stands, NULL for any other array.
static double* number_place(PyObject* array) noexcept {
    PyArrayObject* a = (PyArrayObject*)array;
    if (!PyArray_CheckExact(array) || PyArray_NDIM(a) || !(PyArray_FLAGS(a) & NPY_ARRAY_ALIGNED)) return nullptr;
    const PyArray_Descr* d = PyArray_DESCR(a);
    return d->type_num == NPY_DOUBLE && d->byteorder != NPY_OPPBYTE ? (double*)PyArray_BYTES(a) : nullptr;
}

// ArrayOps.number_kept and number_used.
static double* keep_number(PyObject* array) noexcept {
#ifdef Py_GIL_DISABLED
    (void)array;
    return nullptr;
#else
    MemoryPool& its_pool = pool();
    if (!dead_arrays.count_number(array, handler_of_kept, its_pool.limit - its_pool.cached)) return nullptr;
    untrack(PyArray_DATA((PyArrayObject*)array));
    return (double*)PyArray_DATA((PyArrayObject*)array);
#endif
}

static void use_number(double* place) noexcept {
#ifndef Py_GIL_DISABLED
    dead_arrays.use_number();
    pool().hits++;
    track(place, sizeof(double));
#else
    (void)place;
#endif
}

static inline void at_limit_change(void (*drop)()) {
#ifndef Py_GIL_DISABLED
    drop_kept_tensors = drop;
#else
    (void)drop;
#endif
}

// An uninitialised array in memory of the pool (NEP 49: it carries the handler that will free it). `handler` is the
// capsule of pool_handler. Asking for the memory here instead of through NumPy saves the look-up of the context's
// handler, a fifth of what an empty array costs.
static inline PyObject* new_array(PyObject* handler, int nd, const npy_intp* dims, int typenum, int column_major) {
    size_t bytes;
    Capture* capturing = capture();
#ifndef Py_GIL_DISABLED
    if (capturing) handler = (PyObject*)capturing->handler();
    else if (PyObject* kept = dead_arrays.take(nd, dims, typenum, column_major, &bytes)) {
        pool().hits++;
        track(PyArray_DATA((PyArrayObject*)kept), bytes);
        return kept;
    }
#endif
    PyArray_Descr* descr = PyArray_DescrFromType(typenum);
    bytes = (size_t)PyDataType_ELSIZE(descr);
    for (int i = 0; i < nd; i++) bytes *= (size_t)dims[i];
#ifndef Py_GIL_DISABLED
    dead_arrays.note(descr);
    if (!capturing) handler_of_kept = handler;
#endif
    if (bytes == 0) bytes = 1;
    void* memory = capturing ? capturing->allocate(bytes) : pool().allocate(bytes);
    if (!memory) {
        Py_DECREF(descr);
        return PyErr_NoMemory();
    }
    PyObject* out = PyArray_NewFromDescr(&PyArray_Type, descr, nd, (npy_intp*)dims, nullptr, memory,
                                         column_major ? NPY_ARRAY_FARRAY : NPY_ARRAY_CARRAY, nullptr);
    if (!out) {
        if (!capturing) pool().release(memory, bytes);
        return nullptr;
    }
    track(memory, bytes);
    PyArrayObject_fields* fields = (PyArrayObject_fields*)out;
    fields->flags |= NPY_ARRAY_OWNDATA;
    Py_INCREF(handler);
    fields->mem_handler = handler;
    return out;
}

// out[...] = x, of one dtype, x of the shape of `out` or one that broadcasts to it. False: others, nothing was done.
static inline bool captured_assign(Capture* c, PyArrayObject* out, PyArrayObject* x) {
    const int nd = PyArray_NDIM(out), lead = nd - PyArray_NDIM(x);
    if (PyArray_TYPE(out) != PyArray_TYPE(x) || nd > 8 || !PyArray_ISNOTSWAPPED(out) || !PyArray_ISNOTSWAPPED(x) ||
        PyDataType_REFCHK(PyArray_DESCR(x)))
        return false;
    for (int i = 0; i < -lead; i++)
        if (PyArray_DIM(x, i) != 1) return false;
    Copy copy = {nd, PyArray_ITEMSIZE(out), {}, {}, {}};
    for (int i = 0; i < nd; i++) {
        const int k = i - lead;
        const npy_intp n = k < 0 ? 1 : PyArray_DIM(x, k);
        if (n != 1 && n != PyArray_DIM(out, i)) return false;
        copy.dims[i] = PyArray_DIM(out, i);
        copy.to[i] = PyArray_STRIDE(out, i);
        copy.from[i] = n == 1 ? 0 : PyArray_STRIDE(x, k);
    }
    captured_copy(c, copy, PyArray_BYTES(out), PyArray_BYTES(x));
    return true;
}

// out[...] = x
static inline int assign(PyArrayObject* out, PyArrayObject* x) {
    if (Capture* c = capture()) {
        if (captured_assign(c, out, x)) return 0;
        c->fail("a copy that casts");
    }
    return PyArray_CopyInto(out, x);
}

static inline void set_bytes(char* out, npy_intp n, int value) {
    if (Capture* c = capture()) captured_fill(c, out, n, value);
    else std::memset(out, value, (std::size_t)n);
}

// Ones in a new array of real numbers.
static inline bool captured_ones(PyArrayObject* out) {
    Capture* c = capture();
    if (!c) return false;
    const double one = 1;
    const float single = 1;
    Copy copy = {1, PyArray_ITEMSIZE(out), {PyArray_SIZE(out)}, {PyArray_ITEMSIZE(out)}, {0}};
    if (PyArray_TYPE(out) != NPY_DOUBLE && PyArray_TYPE(out) != NPY_FLOAT) return false;
    captured_copy(c, copy, PyArray_BYTES(out), PyArray_TYPE(out) == NPY_DOUBLE ? (const char*)&one : (const char*)&single);
    return true;
}

static inline PyObject* row_major_copy(PyArrayObject* x) {
    if (!capture()) return PyArray_NewCopy(x, NPY_CORDER);
    PyObject* out = PyArray_NewLikeArray(x, NPY_CORDER, nullptr, 0);
    if (out && assign((PyArrayObject*)out, x) < 0) Py_CLEAR(out);
    return out;
}

// What PyArray_Newshape copied, as it lies row-major in `out`, is noted as a copy.
static inline void note_reshaped(PyArrayObject* a, PyArrayObject* out) {
    Capture* c = capture();
    if (!c || PyArray_BYTES(a) == PyArray_BYTES(out) || PyArray_SIZE(a) == 0) return;
    Copy copy = {PyArray_NDIM(a), PyArray_ITEMSIZE(a), {}, {}, {}};
    npy_intp step = copy.item;
    if (copy.ndim > 8 || !PyArray_IS_C_CONTIGUOUS(out)) return c->fail("a copy by reshape");
    for (int i = copy.ndim - 1; i >= 0; i--) {
        copy.dims[i] = PyArray_DIM(a, i);
        copy.to[i] = step;
        copy.from[i] = PyArray_STRIDE(a, i);
        step *= PyArray_DIM(a, i);
    }
    captured_copy(c, copy, PyArray_BYTES(out), PyArray_BYTES(a));
}

static const double RELEASED = 1 << 16;         // multiplications; below, giving up the GIL costs more than it may bring

// Products by BLAS, which has threads of its own: no kernel is shared meanwhile. `out` may be NULL.
static inline PyObject* matrix_product(Team* team, PyObject* a, PyObject* b, PyObject* out) {
    not_captured("numpy.dot");
    const bool entered = team->enter();
    PyObject* result = PyArray_MatrixProduct2(a, b, (PyArrayObject*)out);
    team->leave(entered);
    return result;
}

// Whether the axes before an array's last two can be walked with one step, which becomes `step`: 0 where there are
// none.
static inline bool stack_step(PyArrayObject* x, npy_intp* step) {
    const int lead = PyArray_NDIM(x) - 2;
    *step = lead > 0 ? PyArray_STRIDE(x, lead - 1) : 0;
    for (int i = 0; i + 1 < lead; i++)
        if (PyArray_STRIDE(x, i) != PyArray_STRIDE(x, i + 1) * PyArray_DIM(x, i + 1)) return false;
    return true;
}

// Whether BLAS can read the matrices of a stack: rows or columns without gaps within.
static inline bool has_runs(PyArrayObject* x) {
    const int d = PyArray_NDIM(x);
    const npy_intp item = PyArray_ITEMSIZE(x), row = PyArray_STRIDE(x, d - 2), column = PyArray_STRIDE(x, d - 1);
    return (column == item && row >= PyArray_DIM(x, d - 1) * item) ||
           (row == item && column >= PyArray_DIM(x, d - 2) * item);
}

// What an array shows.
static inline Span elements_of(PyArrayObject* x, bool written) {
    ArrayView v;
    fill_view(x, &v);
    return span_of(v, PyArray_ITEMSIZE(x), written);
}

static inline int captured_matmul(Capture* c, Team* team, const LoopSet* s, int slot, PyArrayObject* a, PyArrayObject* b,
                                  PyArrayObject* out, const npy_intp* dims, const npy_intp* steps) {
    struct Sizes {
        npy_intp dims[4], steps[9];
    } sizes;
    std::memcpy(sizes.dims, dims, sizeof sizes.dims);
    std::memcpy(sizes.steps, steps, sizeof sizes.steps);
    if (PyArray_SIZE(out) == 0) return 0;
    return captured(c, "matmul", {elements_of(a, READ), elements_of(b, READ), elements_of(out, WRITTEN)},
                    [=](char* const* p) {
                        char* args[3] = {p[0], p[1], p[2]};
                        const bool entered = team->enter();
                        fp_begin();
                        s->fn[slot](args, sizes.dims, sizes.steps, s->data[slot]);
                        const int errors = fp_end();
                        team->leave(entered);
                        return errors;
                    });
}

// Products by numpy.matmul's own loop (`s`), in its name where errors are reported. What the loop can't walk is copied.
// `a` and `b` are vectors, matrices or stacks of matrices, of which both, or `a` alone, have the same leading axes; a
// vector is a row as `a` and a column as `b`; `out` is as matmul's result. Bits of `turned`: the matrix `a` (1) or `b`
// (2) is read transposed. Returns the error bits, -1 with an exception set.
static inline int run_matmul(Team* team, const LoopSet* s, PyArrayObject* a, PyArrayObject* b, PyArrayObject* out,
                             int turned) {
    const int slot = slot_of_type(PyArray_TYPE(out));
    const npy_intp item = PyArray_ITEMSIZE(out);
    const bool loop = s->fn[slot] != nullptr;
    PyArrayObject* operands[2] = {a, b};
    npy_intp stack[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        PyArrayObject*& x = operands[i];
        const int nd = PyArray_NDIM(x);
        const bool readable = !loop || (nd > 2 ? stack_step(x, &stack[i]) && has_runs(x)
                                        : nd == 1 ? PyArray_STRIDE(x, 0) >= item && PyArray_STRIDE(x, 0) % item == 0
                                                  : is_dense(x));
        if (!loop && turned & (1 << i)) x = (PyArrayObject*)PyArray_Transpose(x, nullptr);
        else if (readable) Py_INCREF(x);
        else x = (PyArrayObject*)row_major_copy(x);
        if (x) stack_step(x, &stack[i]);
    }
    a = operands[0];
    b = operands[1];
    if (!a || !b) {
        Py_XDECREF(a);
        Py_XDECREF(b);
        return -1;
    }
    int errors = 0;
    if (loop) {
        const int da = PyArray_NDIM(a), db = PyArray_NDIM(b);
        const bool row = da == 1, column = db == 1;
        // the axes that are summed over, and those that stay
        const int over = row ? 0 : da - (turned & 1 ? 2 : 1), rows = da - (turned & 1 ? 1 : 2);
        const int down = column ? 0 : db - (turned & 2 ? 1 : 2), columns = db - (turned & 2 ? 2 : 1);
        const npy_intp m = row ? 1 : PyArray_DIM(a, rows), k = PyArray_DIM(a, over);
        const npy_intp n = column ? 1 : PyArray_DIM(b, columns);
        npy_intp count = 1;
        for (int i = 0; i < da - 2; i++) count *= PyArray_DIM(a, i);
        const int last = PyArray_NDIM(out) - 1;
        const npy_intp dims[4] = {count, m, k, n};
        const npy_intp steps[9] = {stack[0], stack[1], m * n * item, row ? k * item : PyArray_STRIDE(a, rows),
                                   PyArray_STRIDE(a, over), PyArray_STRIDE(b, down),
                                   column ? item : PyArray_STRIDE(b, columns),
                                   row ? n * item : PyArray_STRIDE(out, column ? last : last - 1),
                                   column ? item : PyArray_STRIDE(out, last)};
        char* args[3] = {PyArray_BYTES(a), PyArray_BYTES(b), PyArray_BYTES(out)};
        if (Capture* c = capture()) {
            errors = captured_matmul(c, team, s, slot, a, b, out, dims, steps);
            Py_DECREF(a);
            Py_DECREF(b);
            return errors;
        }
        const bool entered = team->enter();
        PyThreadState* state =
            double(count) * double(m) * double(k) * double(n) < RELEASED ? nullptr : PyEval_SaveThread();
        fp_begin();
        s->fn[slot](args, dims, steps, s->data[slot]);
        errors = fp_end();
        if (state) PyEval_RestoreThread(state);
        team->leave(entered);
    } else {
        not_captured("numpy.dot");
        PyObject* result = PyArray_MatrixProduct2((PyObject*)a, (PyObject*)b, out);
        Py_XDECREF(result);
        errors = result ? 0 : -1;
    }
    Py_DECREF(a);
    Py_DECREF(b);
    return errors;
}

// Fill `s` with the loops of a ufunc whose operands all have one of our types, and whose result has it too or is bool.
static inline void find_loops(PyUFuncObject* u, LoopSet* s) {
    s->name = u->name;
    s->ufunc = (void*)u;
    s->cost = cost_of(u->name);
    s->raises_elsewhere = 0;
    s->single = single_code(u->name);
    s->to_bool = false;
    for (int k = 0; k < u->ntypes; k++)
        if (u->types[k * u->nargs] == (char)NPY_DOUBLE) s->to_bool = u->types[k * u->nargs + u->nin] == (char)NPY_BOOL;
    for (int slot = 0; slot < N_SLOTS; slot++) {
        s->fn[slot] = nullptr;
        s->data[slot] = nullptr;
        for (int k = 0; k < u->ntypes && !s->fn[slot]; k++) {
            bool uniform = true;
            for (int i = 0; i < (s->to_bool ? u->nin : u->nargs); i++)
                uniform &= u->types[k * u->nargs + i] == (char)type_of_slot(slot);
            if (!uniform) continue;
            s->fn[slot] = (loop_fn)u->functions[k];
            s->data[slot] = u->data ? (void*)u->data[k] : nullptr;
        }
    }
    if (!std::strcmp(u->name, "exp")) {
        if (s->fn[SLOT_F32] && overflow_is_elsewhere<float>(s->fn[SLOT_F32], s->data[SLOT_F32]))
            s->raises_elsewhere |= 1 << SLOT_F32;
        if (s->fn[SLOT_F64] && overflow_is_elsewhere<double>(s->fn[SLOT_F64], s->data[SLOT_F64]))
            s->raises_elsewhere |= 1 << SLOT_F64;
    }
}

// Whether numpy.matmul's loop for a type takes what we hand it: (1 2; 3 4) (5 6; 7 8).
template <typename T> static inline bool multiplies(const LoopSet* matmul, int slot) {
    T a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, out[4] = {};
    char* args[3] = {(char*)a, (char*)b, (char*)out};
    const std::ptrdiff_t item = sizeof(T), dims[4] = {1, 2, 2, 2};
    const std::ptrdiff_t steps[9] = {0, 0, 0, 2 * item, item, 2 * item, item, 2 * item, item};
    if (!matmul->fn[slot]) return false;
    matmul->fn[slot](args, dims, steps, matmul->data[slot]);
    return out[0] == T(19) && out[1] == T(22) && out[2] == T(43) && out[3] == T(50);
}

// numpy.matmul's loops, those that take what we hand them.
static inline void find_products(PyUFuncObject* matmul, LoopSet* s) {
    find_loops(matmul, s);
    const bool good[N_SLOTS] = {multiplies<float>(s, SLOT_F32), multiplies<double>(s, SLOT_F64),
                                multiplies<std::complex<float>>(s, SLOT_C64), multiplies<std::complex<double>>(s, SLOT_C128)};
    for (int slot = 0; slot < N_SLOTS; slot++)
        if (!matmul->core_enabled || !good[slot]) s->fn[slot] = nullptr;
}

}  // namespace arraygrad
