// A cache of freed array memory.
// May include: the C++ library. Knows neither Python objects nor NumPy.
//
// Note [Memory pool]
// ~~~~~~~~~~~~~~~~~~
// The C library gives freed memory back to the system when there is much of it, and page faults on the way in again
// can cost ten times the arithmetic (a 3-operation expression on 0.8 MB: 249 us with fresh results, 24 with pooled
// ones). So results that compiled paths make live in blocks of this pool, which a freed block returns to.
// (1) A request is served by a free block of the same size class (64 bytes below 4 KB, pages above), else by the C
//     library. The block used last is taken first: its pages are in the cache.
// (2) A request that no free block serves gives the least recently used free blocks back, as many bytes as it asks
//     for: the pool is never larger than what was in use at one time.
// (3) Free blocks beyond `limit` bytes are given back at once.
// (4) Free blocks are linked through their own memory. On ordinary Python the GIL guards everything (arrays are made
//     and destroyed under it); free-threaded builds take a mutex.
// Guarded by tests/ops/test_memory_pool.py.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#ifdef Py_GIL_DISABLED
#include <mutex>
#define ARRAYGRAD_POOL_LOCK std::lock_guard<std::mutex> guard(mutex_)
#else
#define ARRAYGRAD_POOL_LOCK ((void)0)
#endif

namespace arraygrad {

class MemoryPool {
public:
    // Statistics: bytes in free blocks, and the most that may be.
    std::size_t cached = 0;
#if defined(ARRAYGRAD_DEBUG) || defined(__SANITIZE_ADDRESS__)
    std::size_t limit = 0;      // a block that is kept would hide its use after free
#else
    std::size_t limit = std::size_t(128) << 20;
#endif

    void* allocate(std::size_t bytes) {
        bytes = rounded(bytes);
        {
            ARRAYGRAD_POOL_LOCK;
            Block*& head = list_of(bytes);
            if (head) {
                Block* b = head;
                unlink(b, head);
                return b;
            }
            if (bytes >= PAGE) shrink(cached > bytes ? cached - bytes : 0);
        }
        return fresh(bytes);
    }

    void release(void* memory, std::size_t bytes) {
        if (!memory) return;
        bytes = rounded(bytes);
        ARRAYGRAD_POOL_LOCK;
        if (bytes > limit) {
            std::free(memory);
            return;
        }
        Block* b = (Block*)memory;
        Block*& head = list_of(bytes);
        b->bytes = bytes;
        b->previous = nullptr;
        b->next = head;
        if (head) head->previous = b;
        head = b;
        b->older = newest_;
        b->newer = nullptr;
        if (newest_) newest_->newer = b;
        newest_ = b;
        if (!oldest_) oldest_ = b;
        cached += bytes;
        shrink(limit);
    }

    void* reallocate(void* memory, std::size_t bytes) { return std::realloc(memory, rounded(bytes)); }

    void set_limit(std::size_t bytes) {
        ARRAYGRAD_POOL_LOCK;
        limit = bytes;
        shrink(limit);
    }

    static std::size_t rounded(std::size_t bytes) {
        if (bytes < PAGE) return bytes <= UNIT ? (std::size_t)UNIT : (bytes + UNIT - 1) / UNIT * UNIT;
        return (bytes + PAGE - 1) / PAGE * PAGE;
    }

private:
    enum { UNIT = 64, PAGE = 4096, HUGE_SIZE = 1 << 22 };
    struct Block {              // at the start of a free block
        std::size_t bytes;
        Block *next, *previous; // of its size class
        Block *older, *newer;
    };
    static_assert(sizeof(Block) <= UNIT, "a free block must fit its links");
    Block* small_[PAGE / UNIT + 1] = {};
    std::unordered_map<std::size_t, Block*> large_;
    Block* newest_ = nullptr;
    Block* oldest_ = nullptr;
#ifdef Py_GIL_DISABLED
    std::mutex mutex_;
#endif

    static void* fresh(std::size_t bytes) {
#if defined(_MSC_VER)
        return std::malloc(bytes);
#else
        if (bytes < PAGE) return std::malloc(bytes);
        void* memory = std::aligned_alloc(64, bytes);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        // As NumPy does: far fewer page faults, where the kernel has huge pages to give.
        if (memory && bytes >= HUGE_SIZE) {
            std::uintptr_t start = ((std::uintptr_t)memory + PAGE - 1) / PAGE * PAGE;
            madvise((void*)start, bytes - PAGE, MADV_HUGEPAGE);
        }
#endif
        return memory;
#endif
    }

    Block*& list_of(std::size_t bytes) { return bytes < PAGE ? small_[bytes / UNIT] : large_[bytes]; }

    void unlink(Block* b, Block*& head) {
        if (b->next) b->next->previous = b->previous;
        if (b->previous) b->previous->next = b->next;
        else head = b->next;
        if (b->older) b->older->newer = b->newer;
        else oldest_ = b->newer;
        if (b->newer) b->newer->older = b->older;
        else newest_ = b->older;
        cached -= b->bytes;
    }

    void shrink(std::size_t most) {
        while (cached > most && oldest_) {
            Block* b = oldest_;
            Block*& head = list_of(b->bytes);
            std::size_t bytes = b->bytes;
            unlink(b, head);
            if (!head && bytes >= PAGE) large_.erase(bytes);
            std::free(b);
        }
    }
};

}  // namespace arraygrad
