// Threads that share the elements of one kernel: plain C++ threads, which never touch Python.
// May include: the C++ library. Knows neither Python objects nor arrays.
//
// Note [Shared kernels]
// ~~~~~~~~~~~~~~~~~~~~~
// A kernel over many elements may be computed piece by piece by several threads (set_num_threads). The caller has given
// up the GIL, begins at once, and takes pieces until none is left; helpers take pieces beside it as soon as they are
// awake. So a helper that the system does not run costs nothing but its share, and nobody waits for one that has not
// begun.
// (1) Pieces begin at multiples of UNIT elements, so vector code and its rest meet the elements that they would meet in
//     one run over all: results are the same bit by bit. Only the last piece has a rest.
// (2) Each piece reads its own floating-point status and returns it; `share` returns all of it together. Helpers take
//     rounding mode and the treatment of denormal numbers from the caller.
// (3) `threads` bounds all that kernels use at a time in the process, and never more than there are cores: callers that
//     are in `share` count, so a second Python thread finds what the first has left, and helpers leave at the end of
//     their piece where more callers have come.
// (4) Nothing is shared while other threads compute for the same program anyway (`elsewhere`): engine workers that are
//     in a run (set_cpu_workers), and products of matrices, for which BLAS has threads of its own.
// (5) A helper ends after `IDLE` without work. One that can't be started is done without; the next try is a second
//     later. In a forked child, which has the caller's thread only, everything starts anew (`renew`), and what the parent
//     left is never touched again. At the end of the interpreter (`stop`) helpers end; one that is still at a piece would
//     only be cut off by the end of the process.
// (6) Where all cores are busy, Linux wakes a helper on the core of its caller and leaves it there: kernels of some 100
//     us then take 1.1 times as long as without it, where beside each other they take 0.7. So a helper that finds
//     itself on its caller's core moves to another one that it may use.
// Guarded by tests/threads/test_kernel_threads.py.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cfenv>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__SSE__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace arraygrad {

// Computes elements [start, start + n) and returns its error bits. Runs on any thread, without the GIL; raises nothing.
typedef int (*piece_fn)(const void* work, std::ptrdiff_t start, std::ptrdiff_t n);

class Team {
public:
    enum { UNIT = 4096 };                               // elements; a multiple of every vector and block width
    static constexpr std::chrono::milliseconds IDLE{5000}, PAUSE{1000};

    std::atomic<int> threads{1};                        // set_num_threads; 1: nothing below is ever used
    std::atomic<int> elsewhere{0};                      // (4)

    // All elements of [0, n): at least `least` a piece, beginning at multiples of `unit`. Returns the error bits of
    // all.
    int share(piece_fn piece, const void* work, std::ptrdiff_t n, std::ptrdiff_t least, std::ptrdiff_t unit) noexcept {
        State* s = state_.load(std::memory_order_acquire);
        Job job;
        const std::ptrdiff_t most = std::min<std::ptrdiff_t>(threads.load(std::memory_order_relaxed), cores.load());
        const std::ptrdiff_t even = n / (most * PIECES_EACH) + 1;
        job.piece = piece;
        job.work = work;
        job.n = n;
        job.step = (std::max(even, least) + unit - 1) / unit * unit;
        job.modes = Modes::here();
        job.most = int(most);
        int helpers = 0;
        {
            std::lock_guard<std::mutex> lock(s->mutex);
            s->busy++;
            if (elsewhere.load(std::memory_order_relaxed) == 0) {
                std::ptrdiff_t wanted = std::min(most - s->busy, (n - 1) / job.step);
                while (helpers < wanted && call_helper(s, &job)) helpers++;
            }
            s->most = std::max(s->most, s->busy.load());
        }
        job.run(nullptr);
        std::unique_lock<std::mutex> lock(s->mutex);
        if (helpers) {
            // Those that have not begun yet are not waited for.
            for (Helper* h : s->helpers)
                if (h->job == &job) {
                    h->job = nullptr;
                    s->idle.push_back(h);
                    s->busy--;
                }
            job.done.wait(lock, [&job] { return job.helping == 0; });
        }
        s->busy--;
        return job.errors.load(std::memory_order_relaxed);
    }

    // While something computes that has threads of its own; `leave` gets what `enter` returned.
    bool enter() noexcept {
        if (threads.load(std::memory_order_relaxed) < 2) return false;
        elsewhere.fetch_add(1, std::memory_order_relaxed);
        return true;
    }
    void leave(bool entered) noexcept {
        if (entered) elsewhere.fetch_sub(1, std::memory_order_relaxed);
    }

    // In a forked child. The old state may be locked for ever, and is left as it is.
    void renew() {
        state_.store(new State, std::memory_order_release);
        elsewhere.store(0);
    }

    // End the helpers, and wait for them for a moment: nothing is shared from now on.
    void stop() {
        threads.store(1);
        State* s = state_.load(std::memory_order_acquire);
        std::unique_lock<std::mutex> lock(s->mutex);
        s->ending = true;
        for (Helper* h : s->idle) h->wake.notify_one();
        s->ended.wait_for(lock, PAUSE, [s] { return s->helpers.empty(); });
    }

    // For tests.
    std::atomic<int> cores{1};                          // that this process may use; set when the module is imported
    std::atomic<int> failing{0};                        // this many starts of threads fail
    std::atomic<int> idle_milliseconds{int(IDLE.count())};
    std::atomic<int> divisor{1};                        // so much smaller kernels are shared as well
    int living() {
        State* s = state_.load(std::memory_order_acquire);
        std::lock_guard<std::mutex> lock(s->mutex);
        return int(s->helpers.size());
    }
    // The most threads that were in kernels at one time since the last call, and now.
    void counts(int* most, int* busy) {
        State* s = state_.load(std::memory_order_acquire);
        std::lock_guard<std::mutex> lock(s->mutex);
        *most = s->most;
        *busy = s->busy;
        s->most = 0;
    }

private:
    typedef std::chrono::steady_clock Clock;
    enum { PIECES_EACH = 4 };       // more than one each: a thread that is late, or slower, takes fewer

    // What a thread's floating-point unit is told, without its status.
    struct Modes {
#if defined(__SSE__) || defined(_M_X64)
        unsigned value;
        static Modes here() { return Modes{_mm_getcsr() & ~0x3fu}; }
        void apply() const { _mm_setcsr(value); }
#else
        std::fenv_t value;
        static Modes here() {
            Modes m;
            std::fegetenv(&m.value);
            return m;
        }
        void apply() const { std::fesetenv(&value); }
#endif
    };

    // On the stack of its caller.
    struct Job {
        piece_fn piece;
        const void* work;
        std::ptrdiff_t n, step;
        int most;
        std::atomic<std::ptrdiff_t> next{0};
        std::atomic<int> errors{0};
        Modes modes;
        int helping = 0;                                // guarded by State::mutex
        std::condition_variable done;

        // `busy`: given by helpers, which leave where callers that came later are too many with them.
        void run(const std::atomic<int>* busy) {
            int found = 0;
            while (!busy || busy->load(std::memory_order_relaxed) <= most) {
                std::ptrdiff_t start = next.fetch_add(step, std::memory_order_relaxed);
                if (start >= n) break;
                found |= piece(work, start, std::min(step, n - start));
            }
            if (found) errors.fetch_or(found, std::memory_order_relaxed);
        }
    };

    struct Helper {
        Job* job = nullptr;                             // guarded by State::mutex, as all that follows
        int called_from = -1;                           // the core that the caller ran on; -1: not called since
        std::condition_variable wake;
    };

    struct State {                                      // never destroyed: threads may outlive the interpreter
        std::mutex mutex;
        std::vector<Helper*> helpers, idle;             // the last to become idle is the first to work again
        std::atomic<int> busy{0};                       // written under the mutex
        int most = 0;
        bool ending = false;
        Clock::time_point not_before{};                 // after a thread could not be started
        std::condition_variable ended;
    };

    // Hand `job` to one more helper. False: there is none.
    bool call_helper(State* s, Job* job) noexcept {
        if (s->ending) return false;
        if (!s->idle.empty()) {
            Helper* h = s->idle.back();
            s->idle.pop_back();
            h->job = job;
            h->called_from = here();
            s->busy++;
            h->wake.notify_one();
            return true;
        }
        if (s->not_before != Clock::time_point{} && Clock::now() < s->not_before) return false;
        Helper* h = nullptr;
        try {
            if (failing.load(std::memory_order_relaxed) > 0) {
                failing--;
                throw std::bad_alloc();
            }
            s->idle.reserve(s->helpers.size() + 1);     // so that nothing fails later
            s->helpers.reserve(s->helpers.size() + 1);
            h = new Helper;
            h->job = job;
            h->called_from = here();
            start(s, h);
        } catch (...) {
            delete h;
            s->not_before = Clock::now() + PAUSE;
            return false;
        }
        s->helpers.push_back(h);
        s->busy++;
        return true;
    }

    void start(State* s, Helper* h) {
#if !defined(_WIN32)
        // Signals are for the threads that run Python.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        struct Restore {
            sigset_t* before;
            ~Restore() { pthread_sigmask(SIG_SETMASK, before, nullptr); }
        } restore{&before};
#endif
        std::thread(serve, this, s, h).detach();
    }

    static void serve(Team* team, State* s, Helper* h) {
        std::unique_lock<std::mutex> lock(s->mutex);
        for (;;) {
            const int beside = h->called_from;
            h->called_from = -1;
            if (beside >= 0 && beside == here()) {
                lock.unlock();
                leave_core(beside);
                lock.lock();
            }
            if (Job* job = h->job) {
                h->job = nullptr;
                job->helping++;
                lock.unlock();
                job->modes.apply();
                job->run(&s->busy);
                lock.lock();
                s->busy--;
                s->idle.push_back(h);
                if (--job->helping == 0) job->done.notify_one();
            }
            if (s->ending) break;
            auto until = Clock::now() + std::chrono::milliseconds(team->idle_milliseconds.load());
            if (!h->wake.wait_until(lock, until, [s, h] { return h->job || h->called_from >= 0 || s->ending; })) break;
        }
        auto gone = [h](std::vector<Helper*>& list) { list.erase(std::remove(list.begin(), list.end(), h), list.end()); };
        gone(s->idle);
        gone(s->helpers);
        delete h;
        if (s->ending && s->helpers.empty()) s->ended.notify_all();
    }

    // (6)
#if defined(__linux__)
    static int here() { return sched_getcpu(); }
    static void leave_core(int core) {
        cpu_set_t allowed, others;
        if (sched_getaffinity(0, sizeof allowed, &allowed) || core >= CPU_SETSIZE) return;
        others = allowed;
        CPU_CLR(core, &others);
        if (CPU_COUNT(&others) && !sched_setaffinity(0, sizeof others, &others))
            sched_setaffinity(0, sizeof allowed, &allowed);
    }
#else
    static int here() { return -1; }
    static void leave_core(int) {}
#endif

    std::atomic<State*> state_{new State};
};

// All elements of [0, n) by f(start, n), which returns error bits; shared where there are as many as `worth`.
template <typename F>
static inline int in_pieces(Team* team, std::ptrdiff_t n, std::ptrdiff_t worth, F f) {
    if (team->threads.load(std::memory_order_relaxed) < 2) return f(0, n);
    worth /= team->divisor.load(std::memory_order_relaxed);
    if (n < worth) return f(0, n);
    return team->share([](const void* work, std::ptrdiff_t start, std::ptrdiff_t m) { return (*(const F*)work)(start, m); },
                       &f, n, worth / 4, Team::UNIT);
}

// The same for `rows` of `inner` elements each; pieces are whole rows.
template <typename F>
static inline int in_rows(Team* team, std::ptrdiff_t rows, std::ptrdiff_t inner, std::ptrdiff_t worth, F f) {
    if (team->threads.load(std::memory_order_relaxed) < 2 || rows < 2) return f(0, rows);
    worth /= team->divisor.load(std::memory_order_relaxed);
    if (rows * inner < worth) return f(0, rows);
    return team->share([](const void* work, std::ptrdiff_t start, std::ptrdiff_t m) { return (*(const F*)work)(start, m); },
                       &f, rows, worth / 4 / inner + 1, 1);
}

}  // namespace arraygrad
