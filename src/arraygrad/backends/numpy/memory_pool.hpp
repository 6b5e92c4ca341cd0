// A cache of freed array memory.
// May include: the C++ library. Knows neither Python objects nor NumPy.
//
// Note [Memory pool]
// ~~~~~~~~~~~~~~~~~~
// The C library gives freed memory back to the system when there is much of it, and page faults on the way in again
// can cost ten times the arithmetic (a 3-operation expression on 0.8 MB: 249 us with fresh results, 24 with pooled
// ones). So results that compiled paths make live in blocks of this pool, which a freed block returns to.
// (1) A request is served by a free block of the same size class (64 bytes below 4 KB, pages above), or one hardly
//     larger where the C library tells how large a block is (half a spectrum is a column larger than its array: two
//     classes that took turns would never hit), else by the C library. The block used last is taken first: its pages
//     are in the cache.
// (2) A request that no free block serves gives the least recently used free blocks back, as many bytes as it asks
//     for, down to 4 MB: the pool is hardly larger than what was in use at one time. Without those 4 MB a program whose
//     arrays have two sizes in turn would drive the blocks of one size out by those of the other, each time.
// (3) Free blocks beyond `limit` bytes are given back at once. Of large ones the kernel is told, wherever they lie: the
//     C library would keep their pages (the large MLP at batch 4096 needs 71 MB, not 88). Below 8 MB
//     the page faults on their next use cost more than that: a tenth of the large MLP's time at batch 128.
// (4) Free blocks are linked through their own memory. On ordinary Python the GIL guards everything (arrays are made
//     and destroyed under it).
// (5) Free-threaded builds give each thread a pool of its own, so that threads don't wait for each other; a block goes
//     to the pool of the thread that frees it, and `limit` is each pool's. A pool has a mutex all the same: settings
//     and statistics come from any thread (Pools), and with a thread its pool ends.
// Guarded by tests/backends/test_memory_pool.py.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#ifdef Py_GIL_DISABLED
#include <algorithm>
#include <mutex>
#include <vector>
#define ARRAYGRAD_POOL_LOCK std::lock_guard<std::mutex> guard(mutex_)
#else
#define ARRAYGRAD_POOL_LOCK ((void)0)
#endif

namespace arraygrad {

class MemoryPool {
public:
    // Statistics: bytes in free blocks, and the most that may be.
    std::size_t cached = 0;
    std::size_t hits = 0, misses = 0;       // requests served by a free block, and by the C library
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
            if (head) return taken(head);
            if (bytes >= PAGE) {
                Block** larger = hardly_larger(bytes);
                if (larger) return taken(*larger);
            }
            misses++;
            if (bytes >= PAGE) shrink(cached > bytes + SPARED ? cached - bytes : (std::size_t)SPARED);
        }
        return fresh(bytes);
    }

    void release(void* memory, std::size_t bytes) {
        if (!memory) return;
        bytes = rounded(bytes);
        if (bytes >= PAGE) bytes = capacity(memory, bytes);
        ARRAYGRAD_POOL_LOCK;
        if (bytes > limit) {
            give_back(memory, bytes);
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

    std::size_t requests(bool served) {
        ARRAYGRAD_POOL_LOCK;
        return served ? hits : misses;
    }

    void set_limit(std::size_t bytes) {
        ARRAYGRAD_POOL_LOCK;
        limit = bytes;
        shrink(limit);
    }

    std::size_t free_bytes() {
        ARRAYGRAD_POOL_LOCK;
        return cached;
    }

    static std::size_t rounded(std::size_t bytes) {
        if (bytes < PAGE) return bytes <= UNIT ? (std::size_t)UNIT : (bytes + UNIT - 1) / UNIT * UNIT;
        return (bytes + PAGE - 1) / PAGE * PAGE;
    }

private:
    enum { UNIT = 64, PAGE = 4096, HUGE_SIZE = 1 << 22, RETURNED_SIZE = 1 << 23, SPARED = 1 << 22 };
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

    // How many bytes more than it asks for a request may get.
    static std::size_t slack(std::size_t bytes) {
#if defined(__GLIBC__)
        return bytes / 64 < 64 * std::size_t(PAGE) ? bytes / 64 : 64 * std::size_t(PAGE);
#else
        return 0;
#endif
    }

    // The list of the smallest free blocks that serve a request of which there is no block itself. Not inlined: small
    // requests never come here.
#if defined(__GNUC__)
    __attribute__((noinline))
#endif
    Block** hardly_larger(std::size_t bytes) {
        const std::size_t most = bytes + slack(bytes);
        for (std::size_t more = bytes + PAGE; more <= most; more += PAGE) {
            auto found = large_.find(more);
            if (found != large_.end() && found->second) return &found->second;
        }
        return nullptr;
    }

    // The size class of a block of at least a page that was handed out for `bytes`.
    static std::size_t capacity(void* memory, std::size_t bytes) {
#if defined(__GLIBC__)
        const std::size_t whole = malloc_usable_size(memory) / PAGE * PAGE;
        if (whole > bytes && whole <= bytes + slack(bytes)) return whole;
#endif
        return bytes;
    }

    void* taken(Block*& head) {
        Block* b = head;
        unlink(b, head);
        hits++;
        return b;
    }

    // The C library keeps what is freed in the middle of its heap; of large blocks the pages go back all the same.
    static void give_back(void* memory, std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (bytes >= RETURNED_SIZE) {
            std::uintptr_t start = ((std::uintptr_t)memory + PAGE - 1) / PAGE * PAGE;
            std::uintptr_t end = ((std::uintptr_t)memory + bytes) / PAGE * PAGE;
            madvise((void*)start, end - start, MADV_DONTNEED);
        }
#endif
        std::free(memory);
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
            give_back(b, bytes);
        }
    }
};

// The pools of the process: one, or on free-threaded builds one for each thread that makes arrays.
class Pools {
public:
    static Pools& all() {
        static Pools* pools = new Pools;        // never destroyed: arrays may outlive the module at exit
        return *pools;
    }

#ifndef Py_GIL_DISABLED
    static MemoryPool& here() {
        static MemoryPool* the_pool = new MemoryPool;
        return *the_pool;
    }
    std::size_t cached() { return here().cached; }
    std::size_t limit() { return here().limit; }
    std::size_t hits() { return here().hits; }
    std::size_t misses() { return here().misses; }
    void set_limit(std::size_t bytes) { here().set_limit(bytes); }
#else
    // The pool of the calling thread. Arrays that it still frees after its end (`over`) go to a pool that keeps
    // nothing.
    static MemoryPool& here() {
        Mine& mine = of_this_thread();
        return mine.pool ? *mine.pool : all().adopt(mine);
    }
    std::size_t cached() {
        std::lock_guard<std::mutex> guard(mutex_);
        std::size_t sum = 0;
        for (MemoryPool* pool : pools_) sum += pool->free_bytes();
        return sum;
    }
    std::size_t limit() {
        std::lock_guard<std::mutex> guard(mutex_);
        return limit_;
    }
    std::size_t hits() {
        std::lock_guard<std::mutex> guard(mutex_);
        std::size_t sum = 0;
        for (MemoryPool* pool : pools_) sum += pool->requests(true);
        return sum;
    }
    std::size_t misses() {
        std::lock_guard<std::mutex> guard(mutex_);
        std::size_t sum = 0;
        for (MemoryPool* pool : pools_) sum += pool->requests(false);
        return sum;
    }
    void set_limit(std::size_t bytes) {
        std::lock_guard<std::mutex> guard(mutex_);
        limit_ = bytes;
        for (MemoryPool* pool : pools_) pool->set_limit(bytes);
    }

private:
    struct Mine {               // no destructor: it is read until the thread is gone
        MemoryPool* pool;
        bool over;
    };
    static Mine& of_this_thread() {
        static thread_local Mine mine = {nullptr, false};
        return mine;
    }
    struct End {
        ~End() {
            Mine& mine = of_this_thread();
            mine.over = true;
            if (mine.pool) all().end(mine.pool);
            mine.pool = nullptr;
        }
    };
    MemoryPool& adopt(Mine& mine) {
        static MemoryPool* nothing_kept = [] {
            MemoryPool* pool = new MemoryPool;
            pool->set_limit(0);
            return pool;
        }();
        if (mine.over) return *nothing_kept;
        static thread_local End end;
        (void)end;
        MemoryPool* pool = new MemoryPool;
        std::lock_guard<std::mutex> guard(mutex_);
        pool->limit = limit_;
        pools_.push_back(pool);
        mine.pool = pool;
        return *pool;
    }
    void end(MemoryPool* pool) {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            pools_.erase(std::find(pools_.begin(), pools_.end(), pool));
        }
        pool->set_limit(0);
        delete pool;
    }

    std::mutex mutex_;          // taken before a pool's own
    std::vector<MemoryPool*> pools_;
    std::size_t limit_ = MemoryPool().limit;
#endif
};

}  // namespace arraygrad
