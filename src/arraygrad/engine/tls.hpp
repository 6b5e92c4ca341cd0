// Per-thread state of the engine. Defined once, in node.pyx; other modules reach it through thread_state().
#pragma once
#include <cstdint>

namespace arraygrad {

struct ThreadState {
    int grad_mode = 1;
    int depth = 0;
    int total_depth = 0;
    int worker = 0;
    int64_t task_id = -1;
    uint32_t thread_id = 0;
    void* node = nullptr;
    void* task = nullptr;
    int zero_annihilates = 0;
    int multithreading = 1;
    int inference = 0;              // bit 0: inference mode; bit 1: grad mode was switched on within it
    const void* stack_base = nullptr;   // an address in the frame of the outermost execute() on this thread
    void* saved_hooks = nullptr;   // top of the stack of saved-tensor hooks (owned), see saved_tensors_hooks.pyx
    int transforms = 0;             // function transforms that are calling their functions
    void* op_hooks = nullptr;      // the hooks around operations (owned), see apply.pyx
};

}  // namespace arraygrad
