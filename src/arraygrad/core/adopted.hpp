// How many adopted calls run in the process: Tensors ask before what only such calls answer otherwise.
#pragma once
#include <atomic>

namespace arraygrad {

inline std::atomic<int> adopted_calls{0};

inline bool any_adopted() noexcept { return adopted_calls.load(std::memory_order_relaxed) != 0; }
inline void count_adopted(int by) noexcept { adopted_calls.fetch_add(by, std::memory_order_relaxed); }

}  // namespace arraygrad
