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

// Tensors that adopted calls have made know which calls those were: Note [What the program keeps] in adoption/kept.py.
// The first call that begins while none runs gives its number to all that overlap it.
inline std::atomic<unsigned char> calls_number{0};
inline std::atomic<long long> made_tensors{0};          // how many of these Tensors are alive

inline void count_adopted(int by) noexcept {
  if (adopted_calls.fetch_add(by, std::memory_order_relaxed) == 0 && by > 0) {
    const unsigned char next = calls_number.load(std::memory_order_relaxed) + 1;
    calls_number.store(next ? next : 1, std::memory_order_relaxed);
  }
}

inline void count_made(int by) noexcept {
#ifdef Py_GIL_DISABLED
  made_tensors.fetch_add(by, std::memory_order_relaxed);
#else
  made_tensors.store(made_tensors.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
#endif
}

// A Tensor is made, or its last reference has gone.
template <class Tensor>
static inline void note_made(Tensor* t) noexcept {
  if (any_adopted() && arraygrad_adopting) {
    t->made = calls_number.load(std::memory_order_relaxed);
    count_made(1);
  }
}

template <class Tensor>
static inline void note_gone(Tensor* t) noexcept {
  if (t->made) {
    t->made = 0;
    count_made(-1);
  }
}

}  // namespace arraygrad
