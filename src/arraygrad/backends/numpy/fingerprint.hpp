// A number that tells whether the content of an array is what it was.
// May include: layouts.hpp, the C++ library, NumPy's headers (included before this one by the generated code). Calls
// nothing of NumPy. For contents.pyx.
//
// Note [Fingerprints]
// ~~~~~~~~~~~~~~~~~~~
// (1) The content counts as a row of bytes, which are mixed block by block into states that take turns. Each block
//     meets the state that all earlier blocks of its turn left, and what comes out is not linear in either: by a round of AES
//     where the processor has that (16 bytes, 8 states, 80 GB/s), else by products (two words, one xored with a secret,
//     the other with the state, the halves of the product of 128 bits folded together; 4 states, 28 GB/s). So no
//     rewriting that anybody would do by hand cancels out, and two contents meet by chance with probability 2^-64.
// (2) The row is the memory of the array where that has no gaps, whatever the order of its axes, and the elements in
//     row-major order elsewhere. That is how a saved value's copy is laid out too (`cloned` in backends/numpy/loops.pyx), so a
//     value and its copy have one fingerprint. Bytes of no meaning in an extended-precision number count as zero.
// (3) All of the row counts up to ALL_BYTES (and with `full`). Of more, both ends and pieces of one line count: PIECES
//     of them, and one more for every PIECE_STEP bytes, spread evenly, each one's place within its step jumping about,
//     so that no column of a matrix is passed over; and pieces 0.5, 1, 2, 4, ... KB from either end, so that a loop
//     that fills an array row by row is seen from its second row on, however long a row is. These limits keep what is
//     recorded and compared near or below 3 % of any row of the speed tables (docs/performance.md).
// Guarded by tests/reliability/test_changed_arrays.py and test_rewritten_constants.py.
#pragma once
#include <cfloat>
#include <cstdint>
#include <cstring>

#include "layouts.hpp"
#if defined(__x86_64__) && defined(__GNUC__)
#include <smmintrin.h>
#include <wmmintrin.h>
#define ARRAYGRAD_AES 1
#elif defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

namespace arraygrad {

enum : npy_intp {
    LINE_BYTES = 64,                // of a cache
    PIECE_BYTES = LINE_BYTES,       // an array of this size is rarely in a cache, and lines are what fetching costs
    ALL_BYTES = 1 << 15,
    END_BYTES = 1 << 9,             // at either end
    PIECES = 12,                    // of the smallest row of which not all counts
    PIECE_STEP = 1 << 15,           // one piece more for so many bytes
    TURN_BYTES = 128,               // one block for each state
    MOST_AXES = 64,                 // NumPy 2's limit
};

static const std::uint64_t SECRETS[8] = {
    0x9ac3f1a7d20be395ull, 0x5e17c4b8a96d20f3ull, 0xd6028f3b71c59e4dull, 0x2f9be65d08a4c371ull,
    0xb84d135ea7f26c09ull, 0x73e0a92c5bd1846full, 0xc95b7e0416fa38d3ull, 0x14a6d83fe97b520dull};

static inline std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (std::uint64_t)product ^ (std::uint64_t)(product >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
    std::uint64_t high;
    const std::uint64_t low = _umul128(a, b, &high);
    return low ^ high;
#else
    const std::uint64_t a0 = (std::uint32_t)a, a1 = a >> 32, b0 = (std::uint32_t)b, b1 = b >> 32;
    const std::uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (std::uint32_t)middle;
    return ((other << 32) | (std::uint32_t)low) ^ (a1 * b1 + (middle >> 32) + (other >> 32));
#endif
}

static inline std::uint64_t word_at(const char* p) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    return word;
}

// A row of less than LINE_BYTES: a few numbers, the commonest of all.
static inline std::uint64_t short_row(const char* p, npy_intp bytes, std::uint64_t state) {
    for (; bytes >= 16; bytes -= 16, p += 16) state = folded(word_at(p) ^ SECRETS[4], word_at(p + 8) ^ state);
    if (bytes == 8) return folded(folded(word_at(p) ^ SECRETS[5], state), SECRETS[2]);
    if (bytes) {
        std::uint64_t rest[2] = {0, 0};
        std::memcpy(rest, p, (std::size_t)bytes);
        state = folded(rest[0] ^ SECRETS[4], rest[1] ^ state);
    }
    return folded(state ^ SECRETS[3], SECRETS[2]);
}

// The states of (1), for rows that come in several pieces: each but the last a multiple of TURN_BYTES.
struct States {
    alignas(16) std::uint64_t words[16];

    explicit States(std::uint64_t seed) {
        for (int i = 0; i < 16; i++) words[i] = seed ^ SECRETS[i & 7];
    }
};

struct Products {
    std::uint64_t a, b, c, d;

    inline void mix(const char* p, npy_intp bytes) {
        for (; bytes >= LINE_BYTES; bytes -= LINE_BYTES, p += LINE_BYTES) {
            a = folded(word_at(p) ^ SECRETS[4], word_at(p + 8) ^ a);
            b = folded(word_at(p + 16) ^ SECRETS[5], word_at(p + 24) ^ b);
            c = folded(word_at(p + 32) ^ SECRETS[6], word_at(p + 40) ^ c);
            d = folded(word_at(p + 48) ^ SECRETS[7], word_at(p + 56) ^ d);
        }
        if (bytes) a = short_row(p, bytes, a);
    }

    inline std::uint64_t result() const { return folded(folded(a, b ^ SECRETS[2]) ^ d, c ^ SECRETS[3]); }
};

#ifdef ARRAYGRAD_AES
#define ARRAYGRAD_ROUNDS __attribute__((target("aes,sse4.1")))

struct Rounds {
    __m128i a, b, c, d, e, f, g, h;

    ARRAYGRAD_ROUNDS static inline __m128i block(const void* p) { return _mm_loadu_si128((const __m128i*)p); }

    ARRAYGRAD_ROUNDS inline void mix(const char* p, npy_intp bytes) {
        for (; bytes >= TURN_BYTES; bytes -= TURN_BYTES, p += TURN_BYTES) {
            a = _mm_aesenc_si128(a, block(p));
            b = _mm_aesenc_si128(b, block(p + 16));
            c = _mm_aesenc_si128(c, block(p + 32));
            d = _mm_aesenc_si128(d, block(p + 48));
            e = _mm_aesenc_si128(e, block(p + 64));
            f = _mm_aesenc_si128(f, block(p + 80));
            g = _mm_aesenc_si128(g, block(p + 96));
            h = _mm_aesenc_si128(h, block(p + 112));
        }
        if (bytes & 64) {
            a = _mm_aesenc_si128(a, block(p));
            b = _mm_aesenc_si128(b, block(p + 16));
            c = _mm_aesenc_si128(c, block(p + 32));
            d = _mm_aesenc_si128(d, block(p + 48));
            p += 64;
        }
        if (bytes & 32) {
            e = _mm_aesenc_si128(e, block(p));
            f = _mm_aesenc_si128(f, block(p + 16));
            p += 32;
        }
        if (bytes & 16) {
            g = _mm_aesenc_si128(g, block(p));
            p += 16;
        }
        if (bytes & 15) {
            std::uint64_t rest[2] = {0, 0};
            if (bytes & 8) rest[0] = word_at(p);
            if (bytes & 7) std::memcpy(rest + (bytes & 8) / 8, p + (bytes & 8), (std::size_t)(bytes & 7));
            h = _mm_aesenc_si128(h, _mm_set_epi64x((long long)rest[1], (long long)rest[0]));
        }
    }

    ARRAYGRAD_ROUNDS inline std::uint64_t result() const {
        const __m128i left = _mm_aesenc_si128(_mm_aesenc_si128(a, e), _mm_aesenc_si128(b, f));
        const __m128i right = _mm_aesenc_si128(_mm_aesenc_si128(c, g), _mm_aesenc_si128(d, h));
        __m128i all = _mm_aesenc_si128(left, right);
        all = _mm_aesenc_si128(_mm_aesenc_si128(all, block(SECRETS)), block(SECRETS + 4));
        return (std::uint64_t)_mm_cvtsi128_si64(all) ^ (std::uint64_t)_mm_extract_epi64(all, 1);
    }
};

ARRAYGRAD_ROUNDS static void rounds(States& states, const char* p, npy_intp bytes) {
    __m128i* const s = (__m128i*)states.words;
    Rounds r = {s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]};
    r.mix(p, bytes);
    s[0] = r.a, s[1] = r.b, s[2] = r.c, s[3] = r.d, s[4] = r.e, s[5] = r.f, s[6] = r.g, s[7] = r.h;
}

ARRAYGRAD_ROUNDS static std::uint64_t rounds_of(States& states) {
    const __m128i* const s = (const __m128i*)states.words;
    return Rounds{s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]}.result();
}

// As `rounds` with new states and rounds_of: what most rows take.
ARRAYGRAD_ROUNDS static std::uint64_t rounds_of_row(const char* p, npy_intp bytes, std::uint64_t seed) {
    const __m128i all = _mm_set1_epi64x((long long)seed);
    const __m128i a = _mm_xor_si128(all, Rounds::block(SECRETS)), b = _mm_xor_si128(all, Rounds::block(SECRETS + 2));
    const __m128i c = _mm_xor_si128(all, Rounds::block(SECRETS + 4)), d = _mm_xor_si128(all, Rounds::block(SECRETS + 6));
    Rounds r = {a, b, c, d, a, b, c, d};
    r.mix(p, bytes);
    return r.result();
}

static bool use_rounds = __builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1");
#else
static bool use_rounds = false;
#endif

static inline void mix(States& states, const char* p, npy_intp bytes) {
#ifdef ARRAYGRAD_AES
    if (use_rounds) return rounds(states, p, bytes);
#endif
    std::uint64_t* const s = states.words;
    Products products = {s[0], s[1], s[2], s[3]};
    products.mix(p, bytes);
    s[0] = products.a, s[1] = products.b, s[2] = products.c, s[3] = products.d;
}

static inline std::uint64_t result_of(States& states) {
#ifdef ARRAYGRAD_AES
    if (use_rounds) return rounds_of(states);
#endif
    return Products{states.words[0], states.words[1], states.words[2], states.words[3]}.result();
}

static inline std::uint64_t row_of(const char* p, npy_intp bytes, std::uint64_t seed) {
#ifdef ARRAYGRAD_AES
    if (use_rounds) return rounds_of_row(p, bytes, seed);
#endif
    Products products = {seed ^ SECRETS[0], seed ^ SECRETS[1], seed ^ SECRETS[2], seed ^ SECRETS[3]};
    products.mix(p, bytes);
    return products.result();
}

// For tests: fingerprints by rounds of AES or by products. Returns what was used before.
static bool set_fingerprint_rounds(bool on) {
    const bool before = use_rounds;
#ifdef ARRAYGRAD_AES
    use_rounds = on && __builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1");
#else
    (void)on;
#endif
    return before;
}

// The elements of an array in row-major order, from any one on, copied out of memory with gaps.
class Gathering {
public:
    Gathering(PyArrayObject* a, bool padded)
        : array_(a), nd_(PyArray_NDIM(a)), item_(PyArray_ITEMSIZE(a)), padded_(padded) {}

    void go_to(npy_intp element) {
        at_ = PyArray_BYTES(array_);
        for (int i = nd_ - 1; i >= 0; i--) {
            const npy_intp n = PyArray_DIM(array_, i);
            index_[i] = element % n;
            at_ += index_[i] * PyArray_STRIDE(array_, i);
            element /= n;
        }
    }

    void copy(npy_intp count, char* to) {
        const int last = nd_ - 1;
        const npy_intp n = nd_ ? PyArray_DIM(array_, last) : 1, stride = nd_ ? PyArray_STRIDE(array_, last) : 0;
        while (count > 0) {
            const npy_intp left = nd_ ? n - index_[last] : 1, run = left < count ? left : count;
            copy_run(to, stride, run);
            to += run * item_;
            count -= run;
            if (nd_) advance(run, stride);
        }
    }

private:
    PyArrayObject* array_;
    int nd_;
    npy_intp item_;
    bool padded_;
    char* at_ = nullptr;
    npy_intp index_[MOST_AXES];

    template <int SIZE>
    void copy_items(char* to, npy_intp stride, npy_intp run) const {
        const char* from = at_;
        for (npy_intp k = 0; k < run; k++, from += stride, to += SIZE) std::memcpy(to, from, SIZE);
    }

    void copy_run(char* to, npy_intp stride, npy_intp run) const {
        if (stride == item_ && !padded_) {
            std::memcpy(to, at_, (std::size_t)(run * item_));
            return;
        }
        switch (item_) {
            case 1: return copy_items<1>(to, stride, run);
            case 2: return copy_items<2>(to, stride, run);
            case 4: return copy_items<4>(to, stride, run);
            case 8: return copy_items<8>(to, stride, run);
        }
        const char* from = at_;
        for (npy_intp k = 0; k < run; k++, from += stride, to += item_) {
            std::memcpy(to, from, (std::size_t)item_);
            if (padded_) {
                for (npy_intp number = 0; number < item_; number += (npy_intp)sizeof(long double))
                    std::memset(to + number + 10, 0, sizeof(long double) - 10);
            }
        }
    }

    void advance(npy_intp run, npy_intp stride) {
        int i = nd_ - 1;
        index_[i] += run;
        at_ += run * stride;
        while (index_[i] == PyArray_DIM(array_, i)) {
            at_ -= index_[i] * PyArray_STRIDE(array_, i);
            index_[i] = 0;
            if (--i < 0) return;
            index_[i]++;
            at_ += PyArray_STRIDE(array_, i);
        }
    }
};

// Whether numbers of this type have bytes of no meaning: the extended precision of x87 in a place of 12 or 16.
static inline bool is_padded(int typenum) {
    return LDBL_MANT_DIG == 64 && sizeof(long double) > 10 && (typenum == NPY_LONGDOUBLE || typenum == NPY_CLONGDOUBLE);
}

// Pieces of a row, gathered in a buffer and mixed when that is full.
class Pieces {
public:
    explicit Pieces(std::uint64_t seed) : states_(seed) {}

    // Where the next `bytes` are to be put: at most ROOM.
    char* next(npy_intp bytes) {
        if (used_ + bytes > ROOM) flush();
        char* to = buffer_ + used_;
        used_ += bytes;
        return to;
    }

    std::uint64_t result() {
        mix(states_, buffer_, used_);
        return result_of(states_);
    }

    enum : npy_intp { ROOM = 4096 };

private:
    States states_;
    npy_intp used_ = 0;
    char buffer_[ROOM];

    void flush() {
        const npy_intp whole = used_ / TURN_BYTES * TURN_BYTES;
        mix(states_, buffer_, whole);
        std::memmove(buffer_, buffer_ + whole, (std::size_t)(used_ - whole));
        used_ -= whole;
    }
};

// Calls piece(from, bytes) for the pieces of a row that count (3), where not all do.
template <class Piece>
static inline void for_pieces(npy_intp bytes, const Piece& piece) {
    const npy_intp middle = (bytes - 2 * END_BYTES) / PIECE_BYTES;              // places for pieces between the ends
    const npy_intp count = PIECES + bytes / PIECE_STEP;                         // never more than there are places
    const npy_intp step = middle / count, more = middle % count;
    std::uint32_t jump = 0;
    npy_intp start = END_BYTES, over = 0;
    piece((npy_intp)0, (npy_intp)END_BYTES);
    for (npy_intp k = 0; k < count; k++) {
        npy_intp width = step;                                                  // of this step, in places
        if ((over += more) >= count) {
            over -= count;
            width++;
        }
        jump += 0x9e3779b9u;                                                    // the golden ratio
        const npy_intp place = (npy_intp)((std::uint64_t)jump * (std::uint64_t)width >> 32);
        piece(start + place * PIECE_BYTES, (npy_intp)PIECE_BYTES);
        start += width * PIECE_BYTES;
    }
    for (npy_intp far = END_BYTES; far < bytes / 2; far *= 2) {
        piece(far, (npy_intp)PIECE_BYTES);
        piece(bytes - far - PIECE_BYTES, (npy_intp)PIECE_BYTES);
    }
    piece(start, bytes - start);                                                // less than END_BYTES + PIECE_BYTES
}

static std::uint64_t gathered_fingerprint(PyArrayObject* a, npy_intp bytes, bool padded, bool full,
                                          std::uint64_t seed) {
    Gathering gathering(a, padded);
    const npy_intp item = PyArray_ITEMSIZE(a), elements = bytes / item;
    if (bytes < LINE_BYTES) {
        char row[LINE_BYTES];
        gathering.go_to(0);
        gathering.copy(elements, row);
        return short_row(row, bytes, seed);
    }
    Pieces pieces(seed);
    if (full || bytes <= ALL_BYTES) {
        const npy_intp most = Pieces::ROOM / 2 / item;
        gathering.go_to(0);
        for (npy_intp left = elements; left > 0; left -= most) {
            const npy_intp count = left < most ? left : most;
            gathering.copy(count, pieces.next(count * item));
        }
        return pieces.result();
    }
    for_pieces(bytes, [&](npy_intp from, npy_intp count) {
        const npy_intp first = from / item, last = (from + count + item - 1) / item;
        gathering.go_to(first);
        gathering.copy(last - first, pieces.next((last - first) * item));
    });
    return pieces.result();
}

// The pieces of a large array without gaps.
static std::uint64_t sampled_fingerprint(const char* data, npy_intp bytes, std::uint64_t seed) {
    Pieces pieces(seed);
#if defined(__GNUC__)
    // The array is rarely in a cache. Asked for at once, the pieces come in the time of a few.
    for_pieces(bytes, [&](npy_intp from, npy_intp) { __builtin_prefetch(data + from); });
#endif
    for_pieces(bytes, [&](npy_intp from, npy_intp n) { std::memcpy(pieces.next(n), data + from, (std::size_t)n); });
    return pieces.result();
}

// The fingerprint of an array's shape, dtype and content; `full`: of every byte.
static inline std::uint64_t fingerprint(PyArrayObject* a, bool full) {
    const int nd = PyArray_NDIM(a), typenum = PyArray_TYPE(a);
    const npy_intp* shape = PyArray_DIMS(a);
    npy_intp bytes = PyArray_ITEMSIZE(a);
    std::uint64_t seed = SECRETS[0] + ((std::uint64_t)typenum << 8) + (std::uint64_t)nd;
    for (int i = 0; i < nd; i++) {
        bytes *= shape[i];
        seed = folded(seed ^ (std::uint64_t)shape[i], SECRETS[1]);
    }
    if (bytes == 0) return seed | 1;
    const bool padded = is_padded(typenum);
    if (padded || (!(PyArray_FLAGS(a) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)) && !is_dense(a)))
        return gathered_fingerprint(a, bytes, padded, full, seed);
    const char* data = PyArray_BYTES(a);
    if (bytes < LINE_BYTES) return short_row(data, bytes, seed);
    return full || bytes <= ALL_BYTES ? row_of(data, bytes, seed) : sampled_fingerprint(data, bytes, seed);
}

}  // namespace arraygrad
