// What the core needs where there is no GIL: locks, borrowed pointers that can be followed, immortal objects. On
// ordinary Python all of it is empty or a plain operation, because the GIL is the lock.
// May include: Python.h, the C++ library. See docs/architecture.md for which lock guards what.
#pragma once
#include <Python.h>
#include <atomic>
#include <cstdint>

namespace arraygrad {

#ifdef Py_GIL_DISABLED
enum { FREE_THREADED = 1 };
#else
enum { FREE_THREADED = 0 };
#endif

// A lock for a few plain loads and stores. Never held over anything that may run Python code or destroy an object.
// (A thread that has to wait detaches, so nothing that stops all threads waits for it.)
class Guard {
public:
#ifdef Py_GIL_DISABLED
    void lock() { PyMutex_Lock(&mutex_); }
    void unlock() { PyMutex_Unlock(&mutex_); }

private:
    PyMutex mutex_ = {0};
#else
    void lock() {}
    void unlock() {}
#endif
};

// A critical section on an object, for hot paths: `with cython.critical_section` counts a reference even where there
// is a GIL, and loses one when it is left by break. Nothing may raise or return between begin and end.
class Section {
public:
#ifdef Py_GIL_DISABLED
    void begin(PyObject* object) { PyCriticalSection_Begin(&section_, object); }
    void end() { PyCriticalSection_End(&section_); }

private:
    PyCriticalSection section_;
#else
    void begin(PyObject*) {}
    void end() {}
#endif
};

// A lock that its owner may take again: what runs under it may destroy objects, and so run anything.
class OwnedLock {
public:
#ifdef Py_GIL_DISABLED
    void lock() {
        const void* me = this_thread();
        if (owner_.load(std::memory_order_relaxed) != me) {     // only its owner can find itself there
            PyMutex_Lock(&mutex_);
            owner_.store(me, std::memory_order_relaxed);
        }
        depth_++;
    }
    void unlock() {
        if (--depth_) return;
        owner_.store(nullptr, std::memory_order_relaxed);
        PyMutex_Unlock(&mutex_);
    }

private:
    static const void* this_thread() {
        static thread_local char mark;
        return &mark;
    }
    PyMutex mutex_ = {0};
    std::atomic<const void*> owner_{nullptr};
    int depth_ = 0;
#else
    void lock() {}
    void unlock() {}
#endif
};

// Note [Borrowed pointers]
// ~~~~~~~~~~~~~~~~~~~~~~~~
// A leaf knows its AccumulateGrad, a Value its Tensor, a Storage its Values by pointers that own nothing; the object
// pointed to takes itself out when it dies. Without the GIL its last reference may go while another thread is about to
// follow the pointer. So
// (1) pointer and removal are guarded by one lock: while a thread has it, what it finds has not been freed, though its
//     destruction may have begun;
// (2) under that lock the pointer is followed by `try_incref`, which adds a reference unless the last one has gone
//     already;
// (3) an object that is pointed to so is marked by `enable_try_incref` when it is made: for others the interpreter may
//     drop the last reference without looking whether another thread adds one.
// Guarded by tests/threads/test_stress.py.
static inline bool try_incref(PyObject* object) {
#ifndef Py_GIL_DISABLED
    if (Py_REFCNT(object) <= 0) return false;       // it waits for its destruction
    Py_INCREF(object);
    return true;
#elif PY_VERSION_HEX >= 0x030E00B1
    return PyUnstable_TryIncRef(object) != 0;
#else
    std::uint32_t local = __atomic_load_n(&object->ob_ref_local, __ATOMIC_RELAXED);
    if (local == UINT32_MAX) return true;           // immortal
    if (_Py_IsOwnedByCurrentThread(object)) {
        __atomic_store_n(&object->ob_ref_local, local + 1, __ATOMIC_RELAXED);
        return true;
    }
    Py_ssize_t shared = __atomic_load_n(&object->ob_ref_shared, __ATOMIC_RELAXED);
    do {
        if (shared == 0 || shared == _Py_REF_MERGED) return false;
    } while (!__atomic_compare_exchange_n(&object->ob_ref_shared, &shared,
                                          shared + ((Py_ssize_t)1 << _Py_REF_SHARED_SHIFT), true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    return true;
#endif
}

static inline void enable_try_incref(PyObject* object) {
#if !defined(Py_GIL_DISABLED)
    (void)object;
#elif PY_VERSION_HEX >= 0x030E00B1
    PyUnstable_EnableTryIncRef(object);
#else
    Py_ssize_t shared = __atomic_load_n(&object->ob_ref_shared, __ATOMIC_RELAXED);
    while (!(shared & _Py_REF_SHARED_FLAG_MASK) &&
           !__atomic_compare_exchange_n(&object->ob_ref_shared, &shared, shared | _Py_REF_MAYBE_WEAKREF, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
#endif
}

// Stop counting references to an object that lives as long as the process. Threads that use one object all the time
// otherwise write its count all the time, each into the other's cache. Only an object that belongs to the calling
// thread: its owner alone writes the local count.
static inline void make_immortal(PyObject* object) {
#ifdef Py_GIL_DISABLED
    if (_Py_IsOwnedByCurrentThread(object)) __atomic_store_n(&object->ob_ref_local, UINT32_MAX, __ATOMIC_RELAXED);
#else
    (void)object;
#endif
}

// Note [Gates]
// ~~~~~~~~~~~~
// Two runs may meet at a node, one of which frees what it saved while the other's rule reads it (ND14). A gate counts
// the rules inside. (1) Who enters a gate that is closed is refused. (2) Closing lets those inside finish: the saved
// values go when the last of them leaves, or at once. (3) Exactly one thread is told to free them.
// Guarded by test_ND14_*.
enum : std::int32_t { GATE_CLOSED = 1 << 30, GATE_FREED = 1 << 29 };

#ifdef Py_GIL_DISABLED
static inline bool gate_empty(std::int32_t* gate) {        // (3)
    std::int32_t closed = GATE_CLOSED;
    return __atomic_compare_exchange_n(gate, &closed, GATE_CLOSED | GATE_FREED, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}
static inline bool gate_leave(std::int32_t* gate) {        // True: free now
    return __atomic_sub_fetch(gate, 1, __ATOMIC_ACQ_REL) == GATE_CLOSED && gate_empty(gate);
}
static inline bool gate_close(std::int32_t* gate) {        // True: free now
    return !(__atomic_fetch_or(gate, GATE_CLOSED, __ATOMIC_ACQ_REL) & GATE_CLOSED) && gate_empty(gate);
}
static inline void gate_enter(std::int32_t* gate) { __atomic_fetch_add(gate, 1, __ATOMIC_ACQ_REL); }
static inline bool gate_closed(const std::int32_t* gate) {
    return (__atomic_load_n(gate, __ATOMIC_ACQUIRE) & GATE_CLOSED) != 0;
}
#else
static inline bool gate_leave(std::int32_t* gate) {
    if (--*gate != GATE_CLOSED) return false;
    *gate |= GATE_FREED;
    return true;
}
static inline bool gate_close(std::int32_t* gate) {
    if (*gate & GATE_CLOSED) return false;
    *gate |= GATE_CLOSED;
    if (*gate != GATE_CLOSED) return false;
    *gate |= GATE_FREED;
    return true;
}
static inline void gate_enter(std::int32_t* gate) { ++*gate; }
static inline bool gate_closed(const std::int32_t* gate) { return (*gate & GATE_CLOSED) != 0; }
#endif

// Adds to a counter that is written under the GIL alone, though it may be read without; returns what it was.
template <class T>
static inline T add_held(std::atomic<T>& counter, std::int64_t change) {
#ifdef Py_GIL_DISABLED
    return counter.fetch_add((T)change);
#else
    const T before = counter.load(std::memory_order_relaxed);       // a locked instruction would cost 5 ns
    counter.store(before + (T)change, std::memory_order_relaxed);
    return before;
#endif
}

// Put `wanted` into a node's stamp if it is still `found`.
static inline bool swap_stamp(std::uint64_t* stamp, std::uint64_t found, std::uint64_t wanted) {
#ifdef Py_GIL_DISABLED
    return __atomic_compare_exchange_n(stamp, &found, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
#else
    (void)found;
    *stamp = wanted;
    return true;
#endif
}

// Bits of a node that threads may set and test at once. The other bits of the word don't change any more by then.
static inline bool has_bit(const std::uint16_t* word, std::uint16_t bit) {
#ifdef Py_GIL_DISABLED
    return (__atomic_load_n(word, __ATOMIC_RELAXED) & bit) != 0;
#else
    return (*word & bit) != 0;
#endif
}

static inline void set_bit(std::uint16_t* word, std::uint16_t bit) {
#ifdef Py_GIL_DISABLED
    __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
#else
    *word |= bit;
#endif
}

// `tensor.extra`, which is set once, looked at without a lock: whoever finds it finds it complete.
template <class T>
static inline bool has_extra(T* tensor) {
#ifdef Py_GIL_DISABLED
    return __atomic_load_n(reinterpret_cast<PyObject**>(&tensor->extra), __ATOMIC_ACQUIRE) != Py_None;
#else
    return reinterpret_cast<PyObject*>(tensor->extra) != Py_None;
#endif
}

template <class T>
static inline void set_extra(T* tensor, PyObject* extra) {      // in place of None
    Py_INCREF(extra);
#ifdef Py_GIL_DISABLED
    __atomic_store_n(reinterpret_cast<PyObject**>(&tensor->extra), extra, __ATOMIC_RELEASE);
#else
    *reinterpret_cast<PyObject**>(&tensor->extra) = extra;
#endif
    Py_DECREF(Py_None);
}

static inline std::uint64_t read_stamp(const std::uint64_t* stamp) {
#ifdef Py_GIL_DISABLED
    return __atomic_load_n(stamp, __ATOMIC_ACQUIRE);
#else
    return *stamp;
#endif
}

}  // namespace arraygrad
