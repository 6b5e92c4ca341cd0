// The catalogue of reductions and scans: what reductions.pyx plans by.
// May include: extrema.hpp, rows.hpp. Knows neither Python objects nor NumPy.
#pragma once
#include "extrema.hpp"
#include "rows.hpp"

namespace arraygrad {

// The parameters of an operation behind the array.
enum Parameters { AXIS, AXIS_KEEPDIMS, AXIS_DTYPE_KEEPDIMS, AXIS_CORRECTION_KEEPDIMS, AXIS_DTYPE_INITIAL };
// Working space of a kernel, the second of what it writes.
enum Space { NO_ROOM, ROOM_OF_LINES, ROOM_OF_A_STEP, ROOM_OF_RESULTS };
// NumPy's loops that a kernel calls.
enum { NO_LOOPS = 0, LOOP_ADD = 1, LOOP_EXP = 2, LOOP_MAXIMUM = 4, LOOP_MINIMUM = 8 };
// The ufunc whose `reduce` serves the arrays that the kernel does not.
enum Fold { NO_FOLD = -1, FOLD_ADD, FOLD_MAXIMUM, FOLD_MINIMUM, FOLD_MULTIPLY };
// What is made of the kernel's sums.
enum Finish { AS_IT_IS, MEAN, VARIANCE, DEVIATION };
// The array that a rule goes through.
enum Base { OF_INPUT, OF_RESULT, OF_GRADIENT };

struct RowStep {
    row_kernel kernel;          // null: none
    Space room;
    int loops;
    const char* name;           // of the ufunc that errors are reported for
    int declined;               // errors that are left to the plain way
};

struct Reduction {
    const char* operation;
    Parameters parameters;
    RowStep value;
    bool keeps_shape;           // the result has the array's shape
    Fold fold;
    isize most;                 // elements up to which the kernel is as fast as the fold
    Finish finish;
    RowStep rule;
    Base base;
    // What the kernel of the rule reads: x the array; y the result, of its shape; a the result, r the gradient, both
    // reduced; g the gradient of its shape, where it lies alike; l the same, copied where it does not; m the means; v and
    // d the gradient of each sum of squares, by a variance or a deviation.
    const char* operands;
    row_kernel adding;          // the same, added to the gradient that waits
    bool any_axes;              // not only axes beside each other
    bool finite;                // the result has to be
};

enum { ALL_ERRORS = FPE_DIVIDE | FPE_OVER | FPE_UNDER | FPE_INVALID, BUT_UNDERFLOW = ALL_ERRORS & ~FPE_UNDER };
static const isize ANY_SIZE = std::numeric_limits<isize>::max();
static const isize BUFFER = 8192;       // elements of NumPy's buffers, unless np.setbufsize changes that
static const RowStep NOT_BY_ROWS = {nullptr, NO_ROOM, NO_LOOPS, "", 0};
static const RowStep SUMS = {sums, NO_ROOM, LOOP_ADD, "reduce", 0};
static const RowStep SQUARES = {sum_squares, NO_ROOM, LOOP_ADD, "add", ALL_ERRORS};
static const RowStep EXTREMUM = {extremum_gradient, ROOM_OF_RESULTS, NO_LOOPS, "divide", 0};
static const RowStep DEVIATIONS = {deviations, NO_ROOM, NO_LOOPS, "multiply", 0};

// A sum's gradient is repeated, by no kernel (rule_repeated).
static const Reduction reductions[] = {
    {"sum", AXIS_DTYPE_KEEPDIMS, SUMS, false, FOLD_ADD, ANY_SIZE, AS_IT_IS,
     NOT_BY_ROWS, OF_GRADIENT, "", nullptr, true, false},
    {"mean", AXIS_KEEPDIMS, SUMS, false, FOLD_ADD, ANY_SIZE, MEAN,
     NOT_BY_ROWS, OF_GRADIENT, "", nullptr, true, false},
    {"var", AXIS_CORRECTION_KEEPDIMS, SQUARES, false, NO_FOLD, ANY_SIZE, VARIANCE,
     DEVIATIONS, OF_INPUT, "xmv", nullptr, false, false},
    {"std", AXIS_CORRECTION_KEEPDIMS, SQUARES, false, NO_FOLD, ANY_SIZE, DEVIATION,
     DEVIATIONS, OF_INPUT, "xmd", nullptr, false, false},
    {"max", AXIS_KEEPDIMS, {largest, NO_ROOM, LOOP_MAXIMUM, "maximum", ALL_ERRORS}, false, FOLD_MAXIMUM, BUFFER, AS_IT_IS,
     EXTREMUM, OF_INPUT, "xra", extremum_added, true, false},
    {"min", AXIS_KEEPDIMS, {smallest, NO_ROOM, LOOP_MINIMUM, "minimum", ALL_ERRORS}, false, FOLD_MINIMUM, BUFFER, AS_IT_IS,
     EXTREMUM, OF_INPUT, "xra", extremum_added, true, false},
    {"prod", AXIS_DTYPE_KEEPDIMS, NOT_BY_ROWS, false, FOLD_MULTIPLY, ANY_SIZE, AS_IT_IS,
     // the table's rule tells overflow beside zeros from infinities
     {prod_gradient, ROOM_OF_A_STEP, NO_LOOPS, "multiply", FPE_INVALID}, OF_INPUT, "xr", nullptr, false, false},
    {"logsumexp", AXIS_KEEPDIMS, {logsumexp, ROOM_OF_LINES, LOOP_EXP, "exp", BUT_UNDERFLOW}, false, NO_FOLD, ANY_SIZE,
     AS_IT_IS, {logsumexp_gradient, ROOM_OF_LINES, LOOP_EXP, "exp", 0}, OF_INPUT, "xar", nullptr, false, true},
    {"softmax", AXIS, {softmax, ROOM_OF_LINES, LOOP_EXP, "exp", BUT_UNDERFLOW}, true, NO_FOLD, ANY_SIZE, AS_IT_IS,
     {softmax_gradient, ROOM_OF_LINES, LOOP_EXP, "multiply", 0}, OF_RESULT, "gy", nullptr, false, false},
    {"log_softmax", AXIS, {log_softmax, ROOM_OF_LINES, LOOP_EXP, "exp", BUT_UNDERFLOW}, true, NO_FOLD, ANY_SIZE, AS_IT_IS,
     {log_softmax_gradient, ROOM_OF_LINES, LOOP_EXP, "subtract", 0}, OF_RESULT, "gy", nullptr, false, false},
    {"cumulative_sum", AXIS_DTYPE_INITIAL, {cumulative_sum, NO_ROOM, NO_LOOPS, "accumulate", 0}, true, NO_FOLD, ANY_SIZE,
     AS_IT_IS, {cumulative_sum_gradient, NO_ROOM, NO_LOOPS, "add", 0}, OF_GRADIENT, "g", nullptr, false, false},
    {"cumulative_prod", AXIS_DTYPE_INITIAL, {cumulative_prod, NO_ROOM, NO_LOOPS, "accumulate", 0}, true, NO_FOLD, ANY_SIZE,
     AS_IT_IS, {cumulative_prod_gradient, ROOM_OF_A_STEP, NO_LOOPS, "multiply", 0}, OF_INPUT, "xl", nullptr, false, false},
};

// The row of an operation, or null.
static inline const Reduction* reduction_named(const char* operation) {
    for (const Reduction& r : reductions)
        if (!std::strcmp(r.operation, operation)) return &r;
    return nullptr;
}

// A kernel on arrays that lie as it reads them; `room` is its working space. Returns the error bits.
static inline int run_rows_of(const RowStep* step, row_kernel kernel, const RowLoops* loops, const ArrayView* given, int n,
                              const ArrayView* out, char* room, isize room_size, const Lines* lines, bool adds) {
    const char* in[3] = {};
    for (int i = 0; i < n; i++) in[i] = given[i].data;
    char* made[2] = {out->data, room};
    Capture* c = capture();
    if (!c) return kernel(loops, in, made, lines);
    const isize item = item_size(lines->slot);
    const Lines l = *lines;
    Span read[3];
    for (int i = 0; i < 3; i++)
        read[i] = i < n ? run_of(in[i], given[i].size, item, item, READ) : run_of(room, 0, item, item, WRITTEN);
    return captured(c, step->name,
                    {read[0], read[1], read[2], run_of(out->data, adds ? out->size : 0, item, item, READ),
                     run_of(out->data, out->size, item, item, WRITTEN), run_of(room, room_size, item, item, WRITTEN)},
                    [=](char* const* p) {
                        const char* from[3] = {p[0], p[1], p[2]};
                        char* to[2] = {p[4], p[5]};
                        return kernel(loops, from, to, &l);
                    },
                    step->declined);
}

// all_finite, as a look of a rule: a replay with other values stops there.
static inline bool looks_finite(int slot, const char* x, isize n) {
    const bool finite = all_finite(slot, x, n);
    Capture* c = capture();
    if (c && !finite) c->fail("a rule of what is not finite");
    else if (c) {
        const int stopped = 1 << 30;
        captured(c, "finite", {run_of(x, n, item_size(slot), item_size(slot), READ)},
                 [=](char* const* p) { return all_finite(slot, p[0], n) ? 0 : stopped; }, stopped);
    }
    return finite;
}

// Elements of the working space of a step.
static inline isize room_for(const RowStep* s, const Lines* l) {
    return s->room == ROOM_OF_LINES ? softmax_room(l) : s->room == ROOM_OF_A_STEP ? l->behind : l->results;
}

}  // namespace arraygrad
