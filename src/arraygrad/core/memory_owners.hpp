// Which live Value stands over memory that the program holds too, by whose memory it is. For value.pyx and
// exposed_memory.pyx, whose Note [Who may write this memory] says what for.
// May include: free_threading.hpp, the C++ library.
//
// Note [Values over one raw array]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// `a = asarray(x)`, `b = asarray(x[1:])`: two Tensors over one memory, made apart. A write through one must be known to
// the other (Note [Saved values] in value.pyx, 3), so the second joins the Storage of the first.
// (1) The table knows one Value for each owner of memory (Backend.owner, 0: unknown), by a pointer that owns nothing. A
//     Value that finds its owner there joins; one that does not is entered.
// (2) Entered are Values over arrays that asarray or a transform wrapped, and those whose memory a Tensor gave away
//     (`t.array`, t.numpy(), DLPack): asarray of such an array finds them.
// (3) An entered Value that dies, or gets a copy of its own, hands its entry to another of its Storage. Without the GIL
//     the entry is dropped instead, because the other may be dying too.
// (4) What is not found (memory lent to another library in between) is still told by its content: Note [Constants that
//     change].
// Open addressing with linear probing; a removal moves what follows back, so there are no tombstones.
// Guarded by tests/reliability/test_arrays_under_several_tensors.py.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "free_threading.hpp"

namespace arraygrad {

class Owners {
public:
    // The Value entered for `owner`, NULL if there is none.
    void* find(std::uint64_t owner) const {
        if (entries_.empty()) return nullptr;
        for (std::size_t i = start(owner);; i = next(i)) {
            if (entries_[i].owner == owner) return entries_[i].value;
            if (!entries_[i].owner) return nullptr;
        }
    }

    // Enters `value` for `owner`, which is not 0, in place of what was entered.
    void put(std::uint64_t owner, void* value) {
        if (2 * (count_ + 1) > entries_.size()) grow();
        std::size_t i = start(owner);
        while (entries_[i].owner && entries_[i].owner != owner) i = next(i);
        count_ += !entries_[i].owner;
        entries_[i] = {owner, value};
    }

    // `value` is not entered for `owner` any more; `other`, if it is not NULL, is.
    void replace(std::uint64_t owner, void* value, void* other) {
        if (entries_.empty()) return;
        std::size_t i = start(owner);
        for (; entries_[i].owner != owner; i = next(i)) {
            if (!entries_[i].owner) return;
        }
        if (entries_[i].value != value) return;
        if (other) {
            entries_[i].value = other;
            return;
        }
        count_--;
        for (std::size_t j = next(i);; j = next(j)) {       // entries that were put further on because of this one
            entries_[i] = {0, nullptr};
            std::size_t home;
            for (;; j = next(j)) {
                if (!entries_[j].owner) return;
                home = start(entries_[j].owner);
                if (i <= j ? home <= i || home > j : home <= i && home > j) break;
            }
            entries_[i] = entries_[j];
            i = j;
        }
    }

private:
    struct Entry {
        std::uint64_t owner;        // 0: free
        void* value;
    };
    std::vector<Entry> entries_;    // a power of two of them, at most half in use
    std::size_t count_ = 0;

    std::size_t start(std::uint64_t owner) const {
        return (std::size_t)(owner * 0x9e3779b97f4a7c15ull >> 32) & (entries_.size() - 1);
    }

    std::size_t next(std::size_t i) const { return (i + 1) & (entries_.size() - 1); }

    void grow() {
        std::vector<Entry> before(entries_.empty() ? 64 : 2 * entries_.size(), Entry{0, nullptr});
        before.swap(entries_);
        count_ = 0;
        for (const Entry& entry : before) {
            if (entry.owner) put(entry.owner, entry.value);
        }
    }
};

// One table for all compiled modules, and what guards it.
inline Owners& owners() {
    static Owners* const all = new Owners;      // for ever: Values die after everything else
    return *all;
}

inline Guard& owners_guard() {
    static Guard* const guard = new Guard;
    return *guard;
}

inline void guard_owners() { owners_guard().lock(); }

inline void free_owners() { owners_guard().unlock(); }

}  // namespace arraygrad
