// How many adopted calls run in the process: Tensors ask before what only such calls answer otherwise.
#pragma once
#include <Python.h>

#include <atomic>

#ifdef Py_GIL_DISABLED
inline constexpr int arraygrad_has_gil = 0;
#else
inline constexpr int arraygrad_has_gil = 1;
#endif
// What the adopted call that this thread runs has put into place, a tuple that the call owns; NULL outside of one. A
// thread that such a call starts is outside.
inline thread_local PyObject* arraygrad_adopting = nullptr;

inline PyObject* arraygrad_set_adopting(PyObject* found) noexcept {
  PyObject* before = arraygrad_adopting;
  arraygrad_adopting = found;
  return before;
}

namespace arraygrad {

inline std::atomic<int> adopted_calls{0};

inline bool any_adopted() noexcept { return adopted_calls.load(std::memory_order_relaxed) != 0; }
inline void count_adopted(int by) noexcept { adopted_calls.fetch_add(by, std::memory_order_relaxed); }

}  // namespace arraygrad
