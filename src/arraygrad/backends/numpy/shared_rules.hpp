// The kernels of compiled backward rules, each shared by several threads where that pays (sharing.hpp).
// May include: backends/numpy/rules.hpp, shared_loops.hpp. Knows neither Python objects nor NumPy.
#pragma once
#include "rules.hpp"
#include "shared_loops.hpp"

namespace arraygrad {

static inline int share_kernel2(Team* team, const Kernel2* k, int slot, const char* g, isize sg, const char* y,
                                char* out, isize n) {
    const isize item = item_size(slot);
    return in_pieces(team, n, worth_sharing(COST_MEMORY, item), [=](isize i, isize m) {
        return run_kernel2(k, slot, g + i * sg * item, sg, y + i * item, out + i * item, m);
    });
}

static inline int share_kernel3(Team* team, const Kernel3* k, int slot, const char* g, isize sg, const char* y, isize sy,
                                const char* z, isize sz, char* out, isize n) {
    const isize item = item_size(slot);
    return in_pieces(team, n, worth_sharing(COST_MEMORY, item), [=](isize i, isize m) {
        return run_kernel3(k, slot, g + i * sg * item, sg, y + i * sy * item, sy, z + i * sz * item, sz, out + i * item, m);
    });
}

// Pieces begin at multiples of BLOCK, so blocks are those of one run over all.
static_assert(Team::UNIT % BLOCK == 0, "pieces must be whole blocks");

static inline void share_chain(Team* team, const LoopSet* f, const Kernel2* product, int slot, const char* g, isize sg,
                               const char* x, char* out, isize n, int* first, int* second) {
    const isize item = item_size(slot);
    const int both = in_pieces(team, n, worth_sharing(COST_DEAR, item), [=](isize i, isize m) {
        int one = 0, two = 0;
        run_chain(f, product, slot, g + i * sg * item, sg, x + i * item, out + i * item, m, &one, &two);
        return one | two << 8;
    });
    *first |= both & 0xff;
    *second |= both >> 8;
}

static inline void share_power(Team* team, const LoopSet* power, int slot, const char* g, isize sg, const char* x,
                               isize sx, double p, char* out, isize n, int* first, int* second) {
    const isize item = item_size(slot);
    const int both = in_pieces(team, n, worth_sharing(COST_DEAR, item), [=](isize i, isize m) {
        int one = 0, two = 0;
        run_power(power, slot, g + i * sg * item, sg, x + i * item, sx, p, out + i * item, m, &one, &two);
        return one | two << 8;
    });
    *first |= both & 0xff;
    *second |= both >> 8;
}

}  // namespace arraygrad
