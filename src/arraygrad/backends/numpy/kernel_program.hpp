// A program of kernels: memory for the arrays that are made meanwhile, the kernels that were noted, and their replay.
// May include: capture.hpp, the C++ library, NumPy's headers (included before this one by the generated code).
// See Note [Captured kernels] in capture.hpp.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "capture.hpp"

namespace arraygrad {

enum { STOPPED = 1 << 30 };             // an error bit of steps that look at a value
enum Where { AT_END, AT_CALL, AT_STOP };

class KernelProgram : public Capture {
public:
    explicit KernelProgram() {
        handler_ = {"arraygrad recording", 1, {this, malloc_of, calloc_of, realloc_of, free_of}};
        capsule = PyCapsule_New(&handler_, "mem_handler", dropped);
    }

    // The capsule that arrays hold; the capture lives as long as it does.
    PyObject* capsule;

    // -- while it captures ------------------------------------------------------------------------------------------

    bool begin() {
        Capture* nobody = nullptr;
        thread_ = std::this_thread::get_id();
        return capturing_now.compare_exchange_strong(nobody, this);
    }
    void end() { capturing_now.store(nullptr); }

    bool is_here() override { return std::this_thread::get_id() == thread_; }
    void* handler() override { return capsule; }

    void fail(const char* what) override {
        if (failure.empty()) failure = what;
    }
    std::string failure;                // why nothing can be replayed, "": it can

    void* room(std::size_t bytes) override { return constant_room(bytes); }

    void* allocate(std::size_t bytes) override {
        const std::size_t size = rounded(bytes);
        char* at;
        std::vector<char*>& same = spare_[size];
        if (!same.empty()) {
            at = same.back();
            same.pop_back();
        } else if (!(at = fresh(size))) {
            return nullptr;
        }
        live_[at] = size;
        std::memset(at, 0xA5, size);
        std::memset(shadow_of(at), 0x5A, size);
        return at;
    }

    int take(Noted* s, const Span* spans, int n) override {
        for (int i = 0; i < n; i++) s->at[i] = spans[i].at;
        if (!failure.empty()) return s->run(s);
        for (int i = 0; i < n; i++)
            if (!resolve(s, spans[i], &s->at[i])) return s->run(s);
        const int errors = s->run(s);
        if (errors & s->declined) {
            fail("a kernel that declined what it read");
            return errors;
        }
        for (int i = 0; i < n; i++)
            if (spans[i].written) note_content(spans[i]);
        steps.push_back(s);
        sign(s->name, (std::int64_t)n);
        for (int i = 0; i < n; i++) sign(spans[i], s->at[i]);
        return errors;
    }

    // A call that needs Python, in the order of the steps.
    void note_call() {
        steps.push_back(nullptr);
        sign("call", 0);
    }
    // Forget the steps behind the first `n`.
    void forget(std::size_t n, std::size_t signed_length) {
        steps.resize(n);
        signature.resize(signed_length);
    }

    // Whether the elements of a span are what noted kernels wrote, or are not the capture's.
    bool is_noted(const Span& s) {
        bool same = true;
        if (!is_own(s.at)) return true;
        each(s, [&](char* at, std::ptrdiff_t bytes) { same = same && !std::memcmp(at, shadow_of(at), (std::size_t)bytes); });
        return same;
    }
    // From here on what stands there counts as noted.
    void note_content(const Span& s) {
        if (is_own(s.at)) each(s, [&](char* at, std::ptrdiff_t bytes) { std::memcpy(shadow_of(at), at, (std::size_t)bytes); });
    }
    bool is_own(const void* at) const {
        for (const Chunk& c : chunks_)
            if ((const char*)at >= c.base && (const char*)at < c.base + c.size) return true;
        return false;
    }

    // A look at values: a replay with others stops there.
    void guard(const void* at, std::ptrdiff_t bytes) {
        char* kept = (char*)constant_room((std::size_t)bytes);
        std::memcpy(kept, at, (std::size_t)bytes);
        captured(this, "guard", {bytes_of(at, bytes, READ)},
                 [=](char* const* p) { return std::memcmp(p[0], kept, (std::size_t)bytes) ? (int)STOPPED : 0; }, STOPPED);
        signed_bytes(kept, bytes);
        guards++;
    }
    std::size_t guards = 0;

    // Arrays that are alive, but for those that begin at these places.
    std::size_t held_beside(const std::vector<const void*>& known) const {
        std::size_t n = 0;
        for (const auto& block : live_) {
            bool found = false;
            for (const void* at : known) found = found || ((const char*)at >= block.first && (const char*)at < block.first + block.second);
            n += !found;
        }
        return n;
    }

    // What tells two recordings apart: kernels, places, constants.
    std::vector<std::int64_t> signature;
    std::string contents;

    // The second copy of the memory is not needed any more.
    void settle() {
        for (Chunk& c : chunks_) {
            std::free(c.shadow);
            c.shadow = nullptr;
        }
        settled_ = true;
    }

    // -- replay ----------------------------------------------------------------------------------------------------

    // Steps from `*at` on, up to a call or the end. Without the GIL.
    Where run(std::size_t* at, int* errors) {
        const std::size_t n = steps.size();
        Noted* const* all = steps.data();
        int found = *errors;
        Where where = AT_END;
        std::size_t i = *at;
        is_replaying = true;
        for (; i < n; i++) {
            Noted* s = all[i];
            if (!s) {
                where = AT_CALL;
                break;
            }
            const int e = s->run(s);
            if (e) {
                found |= e;
                if (e & s->declined) {
                    where = AT_STOP;
                    break;
                }
            }
        }
        is_replaying = false;
        *at = i;
        *errors = found;
        return where;
    }

    // Whether this thread may use the memory from now on, until `unlock`.
    bool try_lock() { return !busy_.test_and_set(std::memory_order_acquire); }
    void unlock() { busy_.clear(std::memory_order_release); }

    std::vector<Noted*> steps;          // nullptr: a call
    std::size_t bytes = 0;              // of arrays

private:
    struct Chunk {
        char *base, *shadow;
        std::size_t size, used;
    };
    struct Constant {
        std::size_t bytes;
        char* copy;
    };

    ~KernelProgram() override {
        for (Chunk& c : chunks_) {
            std::free(c.base);
            std::free(c.shadow);
        }
        for (void* block : rooms_) std::free(block);
    }

    static std::size_t rounded(std::size_t bytes) { return (std::max<std::size_t>(bytes, 1) + 63) / 64 * 64; }

    char* fresh(std::size_t size) {
        if (chunks_.empty() || chunks_.back().used + size > chunks_.back().size) {
            const std::size_t whole = std::max<std::size_t>(size, chunks_.empty() ? 1 << 16 : 2 * chunks_.back().size);
            Chunk c = {(char*)aligned(whole), (char*)std::malloc(whole), whole, 0};
            if (!c.base || !c.shadow) return nullptr;
            chunks_.push_back(c);
            bytes += whole;
        }
        Chunk& c = chunks_.back();
        char* at = c.base + c.used;
        c.used += size;
        return at;
    }

    static void* aligned(std::size_t size) { return std::aligned_alloc(64, rounded(size)); }

    void* constant_room(std::size_t size) {
        size = rounded(size);
        if (size > room_left_) {
            const std::size_t whole = std::max<std::size_t>(size, 1 << 14);
            room_at_ = (char*)aligned(whole);
            if (!room_at_) throw std::bad_alloc();
            rooms_.push_back(room_at_);
            room_left_ = whole;
        }
        void* at = room_at_;
        room_at_ += size;
        room_left_ -= size;
        return at;
    }

    char* shadow_of(char* at) {
        for (Chunk& c : chunks_)
            if (at >= c.base && at < c.base + c.size) return c.shadow + (at - c.base);
        return nullptr;
    }

    template <typename F> static void each(const Span& s, F f, int d = 0, char* at = nullptr) {
        if (d == 0) at = s.at;
        if (s.ndim == 0) return f(at, s.item);
        if (d == s.ndim - 1) {
            if (s.steps[d] == s.item && s.dims[d] > 0) return f(at, s.dims[d] * s.item);
            for (std::ptrdiff_t i = 0; i < s.dims[d]; i++) f(at + i * s.steps[d], s.item);
            return;
        }
        for (std::ptrdiff_t i = 0; i < s.dims[d]; i++) each(s, f, d + 1, at + i * s.steps[d]);
    }

    static bool bounds(const Span& s, char** low, char** high) {
        *low = *high = s.at;
        *high += s.item;
        for (int d = 0; d < s.ndim; d++) {
            if (s.dims[d] <= 0) return false;
            const std::ptrdiff_t far = (s.dims[d] - 1) * s.steps[d];
            (far < 0 ? *low : *high) += far;
        }
        return true;
    }

    // Where a span stands in a replay: where it is, or, if it is no array of the capture's, in a copy of its own.
    bool resolve(Noted* step, const Span& s, char** at) {
        char *low, *high;
        if (!bounds(s, &low, &high)) return true;
        if (is_own(s.at)) {
            if (s.written || is_noted(s)) return true;
            failure = std::string(step->name) + " reads what no noted kernel wrote";
            return false;
        }
        if (s.written) {
            failure = std::string(step->name) + " writes an array that is older than the recording";
            return false;
        }
        *at = constant(low, (std::size_t)(high - low)) + (s.at - low);
        return true;
    }

    char* constant(const char* low, std::size_t size) {
        for (auto found = constants_.lower_bound(low); found != constants_.end() && found->first == low; ++found)
            if (found->second.bytes == size && !std::memcmp(found->second.copy, low, size)) return found->second.copy;
        char* copy = (char*)constant_room(size);
        std::memcpy(copy, low, size);
        constants_.insert({low, {size, copy}});
        signed_bytes(copy, (std::ptrdiff_t)size);
        return copy;
    }

    void signed_bytes(const char* at, std::ptrdiff_t n) { contents.append(at, (std::size_t)n); }
    void sign(const char* name, std::int64_t n) {
        std::uint64_t h = 1469598103934665603u;
        for (; *name; name++) h = (h ^ (unsigned char)*name) * 1099511628211u;
        signature.push_back((std::int64_t)h);
        signature.push_back(n);
    }
    void sign(const Span& s, const char* at) {
        std::int64_t place = -1;
        for (std::size_t i = 0; i < chunks_.size(); i++)
            if (at >= chunks_[i].base && at < chunks_[i].base + chunks_[i].size)
                place = (std::int64_t)i << 48 | (std::int64_t)(at - chunks_[i].base);
        signature.insert(signature.end(), {place, s.item, (std::int64_t)s.ndim, (std::int64_t)s.written});
        for (int d = 0; d < s.ndim; d++) signature.insert(signature.end(), {(std::int64_t)s.dims[d], (std::int64_t)s.steps[d]});
    }

    void release(void* memory) {
        auto found = live_.find((char*)memory);
        if (found == live_.end()) return;
        if (!settled_) spare_[found->second].push_back((char*)memory);
        live_.erase(found);
    }

    static void* malloc_of(void* ctx, std::size_t bytes) { return ((KernelProgram*)ctx)->allocate(bytes); }
    static void* calloc_of(void* ctx, std::size_t count, std::size_t bytes) {
        KernelProgram* r = (KernelProgram*)ctx;
        char* at = (char*)r->allocate(count * bytes);
        if (at && r == capture()) captured_fill(r, at, (std::ptrdiff_t)(count * bytes), 0);
        else if (at) std::memset(at, 0, count * bytes);
        return at;
    }
    static void* realloc_of(void* ctx, void* memory, std::size_t bytes) {
        KernelProgram* r = (KernelProgram*)ctx;
        r->fail("an array that is resized");
        void* at = r->allocate(bytes);
        auto found = r->live_.find((char*)memory);
        if (at && found != r->live_.end()) std::memcpy(at, memory, std::min(bytes, found->second));
        r->release(memory);
        return at;
    }
    static void free_of(void* ctx, void* memory, std::size_t) { ((KernelProgram*)ctx)->release(memory); }
    static void dropped(PyObject* capsule) {
        PyDataMem_Handler* h = (PyDataMem_Handler*)PyCapsule_GetPointer(capsule, "mem_handler");
        if (h) delete (KernelProgram*)h->allocator.ctx;
    }

    PyDataMem_Handler handler_;
    std::thread::id thread_;
    std::vector<Chunk> chunks_;
    std::unordered_map<char*, std::size_t> live_;
    std::unordered_map<std::size_t, std::vector<char*>> spare_;
    std::multimap<const char*, Constant> constants_;
    std::vector<void*> rooms_;
    char* room_at_ = nullptr;
    std::size_t room_left_ = 0;
    bool settled_ = false;
    std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace arraygrad
