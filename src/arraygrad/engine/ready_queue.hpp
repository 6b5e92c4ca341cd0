// Tasks that are ready to run, ordered as PyTorch's ReadyQueue orders them: shutdown tasks, empty (wake-up) tasks,
// tasks of dead graph tasks, then deeper reentrant depth, then higher sequence number.
#pragma once
#include <Python.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace arraygrad {

constexpr int64_t DEPTH_SHUTDOWN = INT64_MAX;      // "depth" of the tasks that come before every node
constexpr int64_t DEPTH_EMPTY = INT64_MAX - 1;
constexpr int64_t DEPTH_DEAD = INT64_MAX - 2;

struct NodeTask {
    PyObject* task = nullptr;   // GraphTask, owned while in a queue; null for shutdown
    PyObject* node = nullptr;   // Node, owned while in a queue; null for shutdown and wake-ups
    int64_t depth = 0;
    uint64_t seq = 0;
};

inline bool runs_later(const NodeTask& a, const NodeTask& b) {
    return a.depth != b.depth ? a.depth < b.depth : a.seq < b.seq;
}

// `heap` is guarded by `mutex` once `shared` is above zero. While it is zero only the owning thread touches the queue,
// so it takes no lock; the owner itself raises `shared`, before it hands work to another thread.
class ReadyQueue {
public:
    void push(const NodeTask& task) {
        if (shared.load(std::memory_order_acquire) == 0) {
            insert(task);
            return;
        }
        {
            std::lock_guard<std::mutex> lock(mutex);
            insert(task);
        }
        nonempty.notify_one();
    }

    bool try_pop(NodeTask* out) {
        if (shared.load(std::memory_order_acquire) == 0) return remove(out);
        std::lock_guard<std::mutex> lock(mutex);
        return remove(out);
    }

    // Whether a task of this depth and sequence number would be the next one. For the thread that alone uses the queue.
    bool precedes(int64_t depth, uint64_t seq) const {
        if (heap.empty()) return true;
        const NodeTask& first = heap.front();
        return first.depth != depth ? first.depth < depth : first.seq < seq;
    }

    // Wait until there is a task, at most `milliseconds` (negative: for ever). The caller does not hold the GIL.
    bool wait(int milliseconds) {
        std::unique_lock<std::mutex> lock(mutex);
        auto ready = [this] { return closed || !heap.empty(); };
        if (milliseconds < 0) {
            nonempty.wait(lock, ready);
            return true;
        }
        return nonempty.wait_for(lock, std::chrono::milliseconds(milliseconds), ready);
    }

    size_t size() {
        if (shared.load(std::memory_order_acquire) == 0) return heap.size();
        std::lock_guard<std::mutex> lock(mutex);
        return heap.size();
    }

    // Whoever waits here wakes up: the one run that this queue serves is complete.
    void close() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            closed = true;
        }
        nonempty.notify_all();
    }

    void share() { shared.fetch_add(1); }
    void unshare() { shared.fetch_sub(1); }

private:
    void insert(const NodeTask& task) {
        heap.push_back(task);
        std::push_heap(heap.begin(), heap.end(), runs_later);
    }

    bool remove(NodeTask* out) {
        if (heap.empty()) return false;
        if (heap.size() > 1) std::pop_heap(heap.begin(), heap.end(), runs_later);
        *out = heap.back();
        heap.pop_back();
        return true;
    }

    std::vector<NodeTask> heap;
    std::mutex mutex;
    std::condition_variable nonempty;
    std::atomic<int> shared{0};
    bool closed = false;
};

// The CPU queue of the calling thread, kept between runs. A device thread's own queue takes its place there.
inline std::shared_ptr<ReadyQueue>& local_queue() {
    static thread_local std::shared_ptr<ReadyQueue> queue = std::make_shared<ReadyQueue>();
    return queue;
}

}  // namespace arraygrad
